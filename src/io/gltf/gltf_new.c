// Baked targets become further shapes of a rig, and their weights further channels of a clip: what remains is a rig
// with a clip, which glb_build.c writes.
#include "io/gltf/gltf_new.h"

#include "io/gltf/glb_build.h"

static FaCode write_rig(const FaRig *rig, const FaClip *clip, const char *generator, const char *path, FaError *err) {
    FaGlbPart part = {.rig = rig};
    return fai_glb_build(&part, 1, clip, generator, path, err);
}

// The rig with the baked targets after its own shapes. Arrays are new, the rest is borrowed.
static FaCode with_targets(const FaRig *rig, const FaBake *b, FaArena *arena, FaRig *out, FaError *err) {
    size_t nold = (size_t)rig->nentry, nnew = (size_t)b->first[b->ntarget], nshape = (size_t)rig->nshape;
    *out = *rig;
    if (nold + nnew > INT32_MAX / 4)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "allow a larger error",
                       "the rig and its baked targets have too many entries");
    out->nshape = rig->nshape + b->ntarget;
    out->nentry = (int)(nold + nnew);
    out->shape = FA_PUSH(arena, out->nshape, FaShape);
    out->row = FA_PUSH(arena, out->nentry, int);
    out->delta = FA_PUSH(arena, 3 * (size_t)out->nentry, float);
    out->weight = FA_PUSH(arena, out->nshape, float);
    if (!out->shape || !out->row || !out->delta || !out->weight) return FA_FAIL_MEMORY(err);
    if (nshape) memcpy(out->shape, rig->shape, nshape * sizeof *rig->shape);
    if (nshape) memcpy(out->weight, rig->weight, nshape * sizeof *rig->weight);
    if (nold) memcpy(out->row, rig->row, nold * sizeof *rig->row);
    if (nold) memcpy(out->delta, rig->delta, 3 * nold * sizeof *rig->delta);
    if (nnew) memcpy(out->row + nold, b->row, nnew * sizeof *b->row);
    if (nnew) memcpy(out->delta + 3 * nold, b->delta, 3 * nnew * sizeof *b->delta);
    for (int t = 0; t < b->ntarget; t++) {
        const char *name = fai_arena_printf(arena, "fascia_%03d", t);
        if (!name) return FA_FAIL_MEMORY(err);
        out->shape[nshape + (size_t)t] =
            (FaShape){name, -1, 0, rig->nentry + b->first[t], b->first[t + 1] - b->first[t], FA_SAID_NOTHING};
    }
    return FA_OK;
}

// One channel per shape, in the order of the shapes and under their names.
static FaCode clip_of(const FaRig *rig, const FaGltfMotion *m, int nuser, FaArena *arena, FaClip *clip, FaError *err) {
    size_t n = (size_t)rig->nshape, user = (size_t)nuser, nbake = n - user;
    *clip = (FaClip){
        .nframe = m->nframe, .nchan = rig->nshape, .fps = 30, .time = (double *)m->time, .head = (FaPose *)m->head};
    clip->name = FA_PUSH(arena, n, const char *);
    clip->weight = FA_PUSH(arena, (size_t)m->nframe * n, float);
    if (!clip->name || !clip->weight) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n; i++) clip->name[i] = rig->shape[i].name;
    for (size_t f = 0; f < (size_t)m->nframe; f++) {
        if (user) memcpy(clip->weight + f * n, m->weight + f * user, user * sizeof *m->weight);
        if (nbake && m->bake)
            memcpy(clip->weight + f * n + user, m->bake->weight + f * nbake, nbake * sizeof *m->weight);
    }
    return FA_OK;
}

FaCode fai_gltf_new_save(const FaRig *rig, const FaClip *clip, const FaGltfMotion *motion, const char *generator,
                         const char *path, size_t *added, FaError *err) {
    if (!motion) return write_rig(rig, clip, generator, path, err);
    FaArena *arena = fai_arena_new(0);
    if (!arena) return FA_FAIL_MEMORY(err);
    FaRig more = *rig;
    FaClip play;
    FaCode rc = motion->bake && motion->bake->ntarget ? with_targets(rig, motion->bake, arena, &more, err) : FA_OK;
    if (rc >= 0) rc = clip_of(&more, motion, rig->nshape, arena, &play, err);
    if (rc >= 0) rc = write_rig(&more, &play, generator, path, err);
    if (added && rc >= 0 && motion->bake)
        *added = 16 * (size_t)motion->bake->first[motion->bake->ntarget] +
                 4 * (size_t)motion->nframe * (size_t)motion->bake->ntarget;
    fai_arena_free(arena);
    return rc;
}
