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
    d->at = FA_PUSH(d->arena, 3 * (size_t)f->nnode + 1, double);
    d->y = FA_PUSH(d->arena, 3 * (size_t)d->tracks.nsample + 1, double);
    d->moved = FA_PUSH(d->arena, 3 * (size_t)d->tracks.nsample + 1, double);
    d->k = FA_PUSH(d->arena, (size_t)d->tracks.nsample + 1, double);
    d->track = FA_PUSH(d->arena, 3 * (size_t)d->tracks.npoint + 1, double);
    if (!d->known || !d->at || !d->y || !d->moved || !d->k || !d->track) return FA_FAIL_MEMORY(err);
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

FaCode fai_muscle_director(FaMuscleModel *m, FaMuscleDirector **director, FaError *err) {
    *director = m->director;
    if (m->director) return FA_OK;
    FaMuscleDirector *d = FA_PUSH(m->arena, 1, FaMuscleDirector);
    if (!d) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_muscle_director_new(m, 0, d, err));
    *director = m->director = d;
    return FA_OK;
}

// --- views --------------------------------------------------------------------------------------------------------

static const double NEAR = 3e-3; // m: a landmark may be so far from the next vertex that is looked at

int fai_muscle_seen_near(const FaMuscleDirector *d, const double at[3], double reach) {
    double least = reach * reach;
    int best = -1;
    for (int i = 0; i < d->nseen; i++) {
        double p[3];
        fai_v3_load(d->model->rig->mesh.x, d->seen[i], p);
        fai_v3_sub(p, at, p);
        if (fai_v3_dot(p, p) < least) least = fai_v3_dot(p, p), best = i;
    }
    return best;
}

// Those that are given to the front, in their order.
static FaCode choose_landmarks(FaMuscleDirector *d, int n, const int *landmark, FaError *err) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        const bool there = landmark[i] >= 0 && landmark[i] < d->model->rig->mesh.nvert;
        double where[3] = {0};
        if (there) fai_v3_load(d->model->rig->mesh.x, landmark[i], where);
        const int at = there ? fai_muscle_seen_near(d, where, NEAR) : -1;
        if (at < 0)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("landmark %d, vertex %d", i, landmark[i]),
                           "give --landmarks vertices of the face's skin, outside, that its shapes move",
                           there ? "nothing of the moving face is within 3 mm of it" : "the rig has no such vertex");
        if (at < count) continue; // again
        const int v = d->seen[at], node = d->seen_node[at];
        d->seen[at] = d->seen[count], d->seen_node[at] = d->seen_node[count];
        d->seen[count] = v, d->seen_node[count++] = node;
    }
    d->nlandmark = count;
    return count >= 3 ? FA_OK
                      : FA_FAIL(err, FA_E_ARG, NULL, "give at least 3, well apart", "%d landmarks are too few", count);
}

static FaCode view_known(const FaMuscleDirector *d, const unsigned char *known, FaArena *arena, FaMuscleDirector *view,
                         FaError *err) {
    const FaFilled *f = &d->model->flesh;
    int n = 0;
    view->known = FA_PUSH(arena, f->nnode + 1, unsigned char);
    if (!view->known) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < d->nseen; i++)
        if (known[d->seen[i]]) view->seen[n] = d->seen[i], view->seen_node[n++] = d->seen_node[i];
    view->nseen = n, view->nlandmark = FA_MIN(d->nlandmark, n);
    if (n < 3)
        return FA_FAIL(err, FA_E_ARG, NULL, "give more of the face",
                       "the goal is known at %d vertices of the moving face", n);
    for (int i = 0; i < f->nnode; i++) {
        const int skin = f->skin_of_node[i];
        view->known[i] = f->kind[i] != FA_FILLED_FREE || (skin >= 0 && known[d->model->face->skin_vertex[skin]]);
    }
    return fai_morph_new(f->nnode, f->ntet, f->tet, d->model->rest, view->known, &view->morph, err);
}

FaCode fai_muscle_director_view(const FaMuscleDirector *d, const unsigned char *known, int n, const int *landmark,
                                FaArena *arena, FaMuscleDirector *view, FaError *err) {
    *view = *d;
    view->seen = FA_PUSH(arena, d->nseen + 1, int), view->seen_node = FA_PUSH(arena, d->nseen + 1, int);
    if (!view->seen || !view->seen_node) return FA_FAIL_MEMORY(err);
    memcpy(view->seen, d->seen, (size_t)d->nseen * sizeof *d->seen);
    memcpy(view->seen_node, d->seen_node, (size_t)d->nseen * sizeof *d->seen_node);
    if (known) FA_TRY(view_known(d, known, arena, view, err));
    return n > 0 ? choose_landmarks(view, n, landmark, err) : FA_OK;
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
