// What a user means by the name of a shape: what a clip's channel of that name would drive (rig/bind.h). So a whole
// name means both halves of a rig that has only those, and jawOpen also the teeth's own jawOpen.
#include "rig/bind.h"
#include "rig/rig_frame.h"

// The whole name may be one side of what the rig has for both sides only: who asks for one side does not get two.
static bool stands_for_more(const FaRig *rig, int s, const char *name) {
    int half, arkit = fa_arkit_match(name, &half);
    const FaShape *shape = &rig->shape[s];
    return arkit >= 0 && (shape->arkit != arkit || (half != 0 && shape->half == 0));
}

static FaCode driven_by(const FaRig *rig, const char *name, FaBinding *b, FaError *err) {
    FaClip *clip;
    FA_TRY(fa_clip_new(1, 1, &name, 30, &clip, err));
    FaCode rc = fa_clip_bind(clip, rig, b, err);
    fa_clip_free(clip);
    return rc;
}

FaCode fa_rig_shapes_named(const FaRig *rig, const char *name, int *shape, int most, int *count, FaError *err) {
    FaBinding b;
    int own = -1;
    *count = 0;
    for (int s = 0; s < rig->nshape && own < 0; s++)
        if (!strcmp(rig->shape[s].name, name)) own = s;
    FA_TRY(driven_by(rig, name, &b, err));
    for (int s = 0; s < rig->nshape && *count < most; s++)
        if (s == own || (b.chan[s] >= 0 && (own >= 0 || !stands_for_more(rig, s, name)))) shape[(*count)++] = s;
    fa_binding_free(&b);
    if (*count) return FA_OK;
    return FA_FAIL(err, FA_E_ARG, rig->path,
                   FA_PLACE("fascia info --shapes %s lists them", rig->path ? rig->path : "RIG"),
                   "the rig has no shape '%.80s'", name);
}
