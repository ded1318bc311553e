#include "muscle/mended_skin.h"

#include "mesh/mesh.h"
#include "muscle/skin_cross.h"

enum { SMOOTH = 3, ROUNDS = 4, RINGS = 3, PAIRS = 512 };

struct FaMendedSkin {
    const FaRig *rig;
    FaTopology topo;
    FaSkinCross *cross;
    float *off, *next;  // of the frame from the rig's own, m                 (nvert x 3)
    float *back, *wide; // how much of the way back a vertex goes, 0..1       (nvert)
    int pair[PAIRS][2];
};

FaCode fai_mended_skin_new(const FaRig *rig, FaMendedSkin **out, FaError *err) {
    const FaMesh *mesh = &rig->mesh;
    const size_t n = (size_t)mesh->nvert + 1;
    *out = NULL;
    FaMendedSkin *s = FA_NEW(1, FaMendedSkin);
    int *tri = FA_NEW(3 * (size_t)mesh->ntri + 1, int);
    FaCode rc = s && tri ? FA_OK : FA_FAIL_MEMORY(err);
    for (int i = 0; rc >= 0 && i < 3 * mesh->ntri; i++) tri[i] = fai_weld(mesh, mesh->tri[i]);
    if (rc >= 0) s->rig = rig;
    if (rc >= 0) rc = fai_topology_build(mesh, &s->topo, err);
    if (rc >= 0) rc = fai_skin_cross_new(mesh->nvert, mesh->ntri, tri, mesh->x, &s->cross, err);
    if (rc >= 0 && !((s->off = FA_NEW(3 * n, float)) && (s->next = FA_NEW(3 * n, float)) &&
                     (s->back = FA_NEW(n, float)) && (s->wide = FA_NEW(n, float))))
        rc = FA_FAIL_MEMORY(err);
    fa_free(tri);
    if (rc < 0)
        fai_mended_skin_free(s);
    else
        *out = s;
    return rc;
}

void fai_mended_skin_free(FaMendedSkin *s) {
    if (!s) return;
    fai_topology_free(&s->topo);
    fai_skin_cross_free(s->cross);
    void *all[] = {s->off, s->next, s->back, s->wide};
    for (int i = 0; i < FA_COUNT(all); i++) fa_free(all[i]);
    fa_free(s);
}

// Half of each, half of the mean of those around it.
static void smooth_once(FaMendedSkin *s) {
    const FaTopology *t = &s->topo;
    for (int v = 0; v < t->nvert; v++) {
        const int first = t->around_start[v], end = t->around_start[v + 1];
        for (int k = 0; k < 3; k++) {
            float sum = 0;
            for (int n = first; n < end; n++) sum += s->off[3 * t->around[n] + k];
            s->next[3 * v + k] =
                end > first ? 0.5f * s->off[3 * v + k] + 0.5f * sum / (float)(end - first) : s->off[3 * v + k];
        }
    }
    float *swap = s->off;
    s->off = s->next, s->next = swap;
}

// Vertices of what crosses go back wholly, those around them less and less.
static void mark(FaMendedSkin *s, int npair, int rings) {
    const FaTopology *t = &s->topo;
    const FaMesh *mesh = &s->rig->mesh;
    for (int i = 0; i < 2 * npair; i++)
        for (int k = 0; k < 3; k++) s->back[fai_weld(mesh, mesh->tri[3 * s->pair[i / 2][i % 2] + k])] = 1;
    for (int ring = 1; ring <= rings; ring++) {
        memcpy(s->wide, s->back, (size_t)t->nvert * sizeof *s->wide);
        for (int v = 0; v < t->nvert; v++)
            for (int n = t->around_start[v]; n < t->around_start[v + 1]; n++) {
                const float from = s->back[t->around[n]] - 1 / (float)(rings + 1);
                if (from > s->wide[v]) s->wide[v] = from;
            }
        float *swap = s->back;
        s->back = s->wide, s->wide = swap;
    }
}

static void show(const FaMendedSkin *s, double share, const float *linear, float *surface) {
    const FaMesh *mesh = &s->rig->mesh;
    for (int v = 0; v < mesh->nvert; v++) {
        const int w = fai_weld(mesh, v);
        const float keep = 1 - (float)share * s->back[w];
        for (int k = 0; k < 3; k++) surface[3 * v + k] = linear[3 * v + k] + keep * s->off[3 * w + k];
    }
}

int fai_mended_skin(FaMendedSkin *s, double share, bool may_cross, const float *linear, float *surface) {
    const int nvert = s->rig->mesh.nvert;
    int crossed = 0;
    if (!(share > 0)) return 0;
    for (int i = 0; i < 3 * nvert; i++) s->off[i] = surface[i] - linear[i];
    memset(s->back, 0, (size_t)nvert * sizeof *s->back);
    for (int i = 0; i < SMOOTH; i++) smooth_once(s);
    for (int i = 0; i < 3 * nvert && share < 1; i++) // a part of it
        s->off[i] = (float)share * s->off[i] + (1 - (float)share) * (surface[i] - linear[i]);
    show(s, share, linear, surface);
    for (int round = 0; round < ROUNDS && !may_cross; round++) {
        const int n = fai_skin_cross_count(s->cross, surface, s->pair, PAIRS);
        if (n == 0) break;
        if (round == 0) crossed = n;
        mark(s, FA_MIN(n, PAIRS), RINGS * (round + 1));
        show(s, share, linear, surface);
    }
    return crossed;
}
