// Cutting and resampling clips.
#include "base/base.h"
#include "fascia/clip.h"

#include <math.h>

static FaCode clip_like(const FaClip *clip, int nframe, double fps, FaClip **out, FaError *err) {
    FA_TRY(fa_clip_new(nframe, clip->nchan, clip->name, fps, out, err));
    FaClip *c = *out;
    fai_notes_copy(&c->notes, &clip->notes);
    c->start = clip->start;
    if (clip->path) c->path = fai_strdup(clip->path);
    if (clip->head) c->head = FA_NEW(nframe, FaPose);
    if ((clip->head && !c->head) || (clip->path && !c->path)) {
        fa_clip_free(c);
        *out = NULL;
        return FA_FAIL_MEMORY(err);
    }
    return FA_OK;
}

FaCode fa_clip_slice(const FaClip *clip, int first, int last, FaClip **out, FaError *err) {
    *out = NULL;
    if (first < 0 || last < first || last >= clip->nframe)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "frames %d-%d are not inside 0-%d", first, last, clip->nframe - 1);
    int n = last - first + 1;
    FA_TRY(clip_like(clip, n, clip->fps, out, err));
    FaClip *c = *out;
    c->start += clip->time[first];
    for (int f = 0; f < n; f++) c->time[f] = clip->time[first + f] - clip->time[first];
    memcpy(c->weight, clip->weight + (size_t)first * (size_t)clip->nchan, (size_t)n * (size_t)clip->nchan * sizeof *c->weight);
    if (c->head) memcpy(c->head, clip->head + first, (size_t)n * sizeof *c->head);
    return FA_OK;
}

FaCode fa_clip_resample(const FaClip *clip, double fps, FaClip **out, FaError *err) {
    *out = NULL;
    if (!(fps > 0) || !isfinite(fps)) return FA_FAIL(err, FA_E_ARG, NULL, NULL, "a frame rate of %g is no rate", fps);
    double frames = clip->time[clip->nframe - 1] * fps;
    if (frames > 1e8) return FA_FAIL(err, FA_E_LIMIT, NULL, "use a lower rate", "%.0f frames are too many", frames);
    int n = 1 + (int)floor(frames + 1e-6);
    FA_TRY(clip_like(clip, n, fps, out, err));
    FaClip *c = *out;
    for (int f = 0; f < n; f++) {
        c->time[f] = f / fps;
        fa_clip_sample(clip, c->time[f], c->weight + (size_t)f * (size_t)c->nchan, c->head ? &c->head[f] : NULL);
    }
    return FA_OK;
}
