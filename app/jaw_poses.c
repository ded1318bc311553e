#include "jaw_poses.h"

#include <stdlib.h>

static FaCode of_clip(const char *path, const FaRig *rig, const FaMuscleModel *model, FaMuscleJawLimits *limits,
                      FaError *err) {
    FaClip *clip;
    FaBinding b = {0};
    TRY(load_clip(path, &clip, err));
    float *w = malloc(((size_t)rig->nshape + 1) * sizeof *w);
    FaCode rc = w ? fa_clip_bind(clip, rig, &b, err) : cli_no_memory(err);
    for (int f = 0; f < clip->nframe && rc >= 0; f++) {
        fa_binding_weights(&b, clip->weight + (size_t)f * (size_t)clip->nchan, w);
        const FaMuscleJaw jaw = fa_muscle_jaw_of_weights(model, w);
        fa_muscle_jaw_widen(limits, &jaw);
    }
    fa_binding_free(&b);
    free(w);
    fa_clip_free(clip);
    return rc;
}

static FaCode of_pose(const char *path, const FaMuscleModel *model, FaMuscleJawLimits *limits, FaError *err) {
    FaDirected *pose;
    TRY(fa_directed_load(path, &pose, err));
    const FaMuscleJaw jaw = fa_directed_jaw(model, pose, 1);
    fa_muscle_jaw_widen(limits, &jaw);
    fa_directed_free(pose);
    return FA_OK;
}

static FaCode of_mesh(const char *path, const FaRig *rig, const FaMuscleModel *model, FaMuscleJawLimits *limits,
                      FaError *err) {
    FaSequence *seq;
    TRY(open_frames(path, rig, &seq, err));
    float *x = malloc(3 * (size_t)rig->mesh.nvert * sizeof *x);
    FaCode rc = x ? FA_OK : cli_no_memory(err);
    if (rc >= 0 && fa_sequence_nvert(seq) != rig->mesh.nvert)
        rc = cli_wrong(err,
                       "--jaw-poses: %s has %d vertices and the rig %d: make a pose of it first, fascia muscle target",
                       path, fa_sequence_nvert(seq), rig->mesh.nvert);
    for (int f = 0; rc >= 0 && f < fa_sequence_nframe(seq); f++) {
        rc = fa_sequence_read(seq, f, x, err);
        if (rc < 0) break;
        const FaMuscleJaw jaw = fa_muscle_jaw_of_surface(model, x);
        fa_muscle_jaw_widen(limits, &jaw);
    }
    free(x);
    fa_sequence_close(seq);
    return rc;
}

FaCode jaw_poses_read(const char *text, const FaRig *rig, const FaMuscleModel *model, FaMuscleJawLimits *limits,
                      FaError *err) {
    int n = 0;
    char **list = split_list(text, &n);
    FaMuscleJawLimits rest;
    *limits = (FaMuscleJawLimits){0};
    FaCode rc = list ? fa_muscle_jaw_limits(model, &rest, err) : cli_no_memory(err); // is there a jaw?
    for (int i = 0; i < n && rc >= 0; i++)
        rc = path_has_ext(list[i], "pose")           ? of_pose(list[i], model, limits, err)
             : fa_file_kind(list[i]) == FA_KIND_CLIP ? of_clip(list[i], rig, model, limits, err)
                                                     : of_mesh(list[i], rig, model, limits, err);
    free(list);
    return rc < 0 ? rc : FA_OK;
}
