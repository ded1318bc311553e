#include "muscle/direct.h"

#include "math/mat3.h"

#include <math.h>
#include <string.h>

static const double MOVES = 5e-4; // m: what no shape moves farther is not the face: neck, back of the head

// Nodes of tets that are skin, outside; the lining of the mouth is what no one sees.
static void find_outside(const FaFilled *f, unsigned char *outside) {
    for (int t = 0; t < f->ntet; t++)
        for (int k = 4 * t; k < 4 * t + 4 && f->tissue[t] == FA_TISSUE_SKIN; k++) outside[f->tet[k]] = 1;
}

static void find_moving(const FaRig *rig, unsigned char *moves) {
    for (int e = 0; e < rig->nentry; e++) {
        double d[3];
        fai_v3_load(rig->delta, e, d);
        if (fai_v3_norm(d) > MOVES) moves[rig->row[e]] = 1;
    }
}

// Farthest points first: each of the first n is the one farthest from those before it.
static void order_landmarks(FaMuscleDirector *d, int n, double *far) {
    const float *x = d->model->rig->mesh.x;
    for (int i = 0; i < d->nseen; i++) far[i] = INFINITY;
    for (int k = 0; k < FA_MIN(n, d->nseen); k++) {
        int best = k;
        for (int i = k; i < d->nseen; i++)
            if (far[i] > far[best]) best = i;
        int *lists[2] = {d->seen, d->seen_node};
        for (int l = 0; l < 2; l++) {
            int swap = lists[l][k];
            lists[l][k] = lists[l][best], lists[l][best] = swap;
        }
        double keep = far[k], at[3];
        far[k] = far[best], far[best] = keep;
        fai_v3_load(x, d->seen[k], at);
        for (int i = k + 1; i < d->nseen; i++) {
            double p[3];
            fai_v3_load(x, d->seen[i], p);
            fai_v3_sub(p, at, p);
            far[i] = fmin(far[i], fai_v3_dot(p, p));
        }
    }
    d->nlandmark = FA_MIN(n, d->nseen);
}

static FaCode find_seen(FaMuscleDirector *d, int landmarks, FaError *err) {
    const FaMuscleModel *m = d->model;
    const FaFilled *f = &m->flesh;
    unsigned char *outside = FA_NEW(f->nnode + 1, unsigned char), *moves = FA_NEW(f->nvert + 1, unsigned char);
    double *far = FA_NEW(f->nskin + 1, double);
    d->seen = FA_PUSH(d->arena, f->nskin + 1, int);
    d->seen_node = FA_PUSH(d->arena, f->nskin + 1, int);
    FaCode rc = outside && moves && far && d->seen && d->seen_node ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        find_outside(f, outside);
        find_moving(m->rig, moves);
        for (int i = 0; i < f->nskin; i++) {
            int v = m->face->skin_vertex[i], node = f->node_of_skin[i];
            if (node < 0 || !outside[node] || !moves[v] || f->kind[node] != FA_FILLED_FREE) continue;
            d->seen[d->nseen] = v, d->seen_node[d->nseen++] = node;
        }
        order_landmarks(d, landmarks > 0 ? landmarks : 480, far);
        if (d->nlandmark < 8)
            rc = FA_FAIL(err, FA_E_MESH, NULL, "check the rig with fascia info",
                         "too little of the skin moves with any shape: %d vertices", d->nseen);
    }
    fa_free(outside);
    fa_free(moves);
    fa_free(far);
    return rc;
}

static FaCode build(FaMuscleDirector *d, int landmarks, FaError *err) {
    const FaMuscleModel *m = d->model;
    const FaFilled *f = &m->flesh;
    const FaMuscleFlesh flesh = {f->nnode, f->ntet, m->rest, f->tet};
    if (!(d->arena = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
    FA_TRY(find_seen(d, landmarks, err));
    FA_TRY(fai_muscle_tracks_new(&flesh, &m->muscles, &m->samples, &d->tracks, err));
    d->known = FA_PUSH(d->arena, f->nnode + 1, unsigned char);
    if (!d->known) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nnode; i++) d->known[i] = f->kind[i] != FA_FILLED_FREE || f->skin_of_node[i] >= 0;
    return fai_morph_new(f->nnode, f->ntet, f->tet, m->rest, d->known, &d->morph, err);
}

FaCode fai_muscle_director_new(FaMuscleModel *model, int landmarks, FaMuscleDirector *out, FaError *err) {
    *out = (FaMuscleDirector){.model = model};
    FaCode rc = build(out, landmarks, err);
    if (rc < 0) fai_muscle_director_free(out);
    return rc;
}

void fai_muscle_director_free(FaMuscleDirector *d) {
    fai_morph_free(d->morph);
    fai_muscle_tracks_free(&d->tracks);
    fai_arena_free(d->arena);
    *d = (FaMuscleDirector){0};
}

double fai_muscle_snap(const FaMuscleDirector *d, const float *goal, const double *x) {
    double sum = 0;
    for (int i = 0; i < d->nseen; i++)
        for (int k = 0; k < 3; k++) {
            double off = (double)goal[3 * (size_t)d->seen[i] + (size_t)k] - x[3 * (size_t)d->seen_node[i] + (size_t)k];
            sum += off * off;
        }
    return sqrt(sum / FA_MAX(d->nseen, 1));
}
