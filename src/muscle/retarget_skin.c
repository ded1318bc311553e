// Displacements of one head's skin on another's: deformation transfer of the surface itself (rig/transfer.h).
#include "muscle/muscle_retarget.h"
#include "rig/transfer.h"

#include <math.h>

// Landmarks that both heads have.
static int find_pairs(const FaMuscleModel *a, const FaMuscleModel *b, int *from, int *to) {
    int n = 0;
    for (int i = 0; i < FA_MUSCLE_MARKS; i++)
        if (a->mark[i] >= 0 && b->mark[i] >= 0) from[n] = a->mark[i], to[n++] = b->mark[i];
    return n;
}

// The rig with this as its only shape; arrays but those of the shape are borrowed.
static FaCode one_shape(const FaMuscleModel *a, const float *delta, FaArena *arena, FaRig *out, FaError *err) {
    const FaRig *rig = a->rig;
    const size_t n = (size_t)rig->mesh.nvert;
    bool *skin = FA_PUSH(arena, n + 1, bool);
    *out = *rig;
    out->clip = NULL;
    out->nshape = 1, out->nentry = 0;
    out->row = FA_PUSH(arena, n + 1, int);
    out->delta = FA_PUSH(arena, 3 * n + 1, float);
    out->shape = FA_PUSH(arena, 1, FaShape);
    out->weight = FA_PUSH(arena, 1, float);
    if (!skin || !out->row || !out->delta || !out->shape || !out->weight) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < a->face->nskin; i++) skin[a->face->skin_vertex[i]] = true;
    for (size_t v = 0; v < n; v++) {
        const float *d = delta + 3 * v;
        if (!skin[v] || (d[0] == 0 && d[1] == 0 && d[2] == 0)) continue;
        memcpy(out->delta + 3 * (size_t)out->nentry, d, 3 * sizeof *d);
        out->row[out->nentry++] = (int)v;
    }
    if (rig->nshape) *out->shape = rig->shape[0];
    out->shape->name = "skin", out->shape->first = 0, out->shape->count = out->nentry;
    return FA_OK;
}

static FaCode transfer(const FaMuscleModel *a, const float *delta, const FaMuscleModel *b, bool closest, FaArena *arena,
                       float *out, double *fit, FaError *err) {
    int from[FA_MUSCLE_MARKS], to[FA_MUSCLE_MARKS];
    FaTransferOptions o = {.npair = find_pairs(a, b, from, to), .from = from, .to = to, .force_closest = closest};
    FaTransferReport r;
    FaRig source, *rig;
    FA_TRY(one_shape(a, delta, arena, &source, err));
    memset(out, 0, 3 * (size_t)b->rig->mesh.nvert * sizeof *out);
    *fit = 0;
    if (!source.nentry) return FA_OK;
    FA_TRY(fai_transfer(&source, &b->rig->mesh, &o, &rig, &r, err));
    for (int i = 0; i < rig->nentry; i++)
        memcpy(out + 3 * (size_t)rig->row[i], rig->delta + 3 * (size_t)i, 3 * sizeof *out);
    *fit = r.same_topology ? 0 : r.fit_rms;
    fa_rig_free(rig);
    return FA_OK;
}

FaCode fai_retarget_skin(const FaMuscleModel *a, const float *delta, const FaMuscleModel *b, bool closest, float *out,
                         double *fit, FaError *err) {
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? transfer(a, delta, b, closest, arena, out, fit, err) : FA_FAIL_MEMORY(err);
    fai_arena_free(arena);
    return rc;
}
