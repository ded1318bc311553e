// Cutting and resampling clips.
#include "base/base.h"
#include "fascia/clip.h"
#include "math/pose_cut.h"

#include <limits.h>
#include <math.h>

// The head of a clip at any time, where it may jump (math/pose_cut.h): there is nothing half way through a cut.
typedef struct HeadAt {
    const FaClip *clip;
    bool *cut; // (nframe)
    int at;    // times are asked for in order
} HeadAt;

static FaCode head_open(const FaClip *clip, HeadAt *h, FaError *err) {
    *h = (HeadAt){.clip = clip, .cut = FA_NEW(clip->nframe, bool)};
    if (!h->cut) return FA_FAIL_MEMORY(err);
    if (clip->head) fai_pose_cuts(clip->nframe, clip->time, clip->head, h->cut);
    return FA_OK;
}

static void head_at(HeadAt *h, double time, FaPose *pose) {
    const FaClip *c = h->clip;
    while (h->at + 1 < c->nframe && c->time[h->at + 1] <= time) h->at++;
    int i = h->at;
    if (h->cut[i])
        *pose = c->head[time >= 0.5 * (c->time[i] + c->time[i + 1]) ? i + 1 : i];
    else
        fa_clip_sample(c, time, NULL, pose);
}

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
    memcpy(c->weight, clip->weight + (size_t)first * (size_t)clip->nchan,
           (size_t)n * (size_t)clip->nchan * sizeof *c->weight);
    if (c->head) memcpy(c->head, clip->head + first, (size_t)n * sizeof *c->head);
    return FA_OK;
}

int fa_clip_frames(const FaClip *clip, double fps) {
    // recorded times jitter by up to half a step: a take that ends a little early has its last frame all the same
    double frames = clip->time[clip->nframe - 1] * fps, jitter = 0.5 * fmin(1, fps / clip->fps);
    return frames < 1e9 ? 1 + (int)floor(frames + jitter) : INT_MAX;
}

FaCode fa_clip_resample(const FaClip *clip, double fps, FaClip **out, FaError *err) {
    *out = NULL;
    if (!(fps > 0) || !isfinite(fps)) return FA_FAIL(err, FA_E_ARG, NULL, NULL, "a frame rate of %g is no rate", fps);
    double frames = clip->time[clip->nframe - 1] * fps;
    if (frames > 1e8) return FA_FAIL(err, FA_E_LIMIT, NULL, "use a lower rate", "%.0f frames are too many", frames);
    int n = fa_clip_frames(clip, fps);
    HeadAt head;
    FA_TRY(clip_like(clip, n, fps, out, err));
    FaClip *c = *out;
    FaCode rc = head_open(clip, &head, err);
    for (int f = 0; rc >= 0 && f < n; f++) {
        c->time[f] = f / fps;
        fa_clip_sample(clip, c->time[f], c->weight + (size_t)f * (size_t)c->nchan, NULL);
        if (c->head) head_at(&head, c->time[f], &c->head[f]);
    }
    fa_free(head.cut);
    if (rc >= 0) return rc;
    fa_clip_free(c);
    *out = NULL;
    return rc;
}

// Seconds from the last frame to the one after it.
static double beat(const FaClip *clip) { return clip->fps > 0 ? 1 / clip->fps : 1.0 / 30; }

FaCode fa_clip_extend(const FaClip *clip, int hold, int passes, FaClip **out, FaError *err) {
    *out = NULL;
    if (hold < 0 || passes < 1 || (double)passes * clip->nframe + hold > 1e8)
        return FA_FAIL(err, FA_E_ARG, NULL, "give frames to hold of 0 or more, and at least one pass",
                       "%d frames held and %d passes of %d", hold, passes, clip->nframe);
    FA_TRY(clip_like(clip, hold + passes * clip->nframe, clip->fps, out, err));
    FaClip *c = *out;
    double step = beat(clip), length = clip->time[clip->nframe - 1] + step;
    for (int f = 0; f < c->nframe; f++) {
        int pass = f < hold ? 0 : (f - hold) / clip->nframe, from = f < hold ? 0 : (f - hold) % clip->nframe;
        c->time[f] = f < hold ? f * step : hold * step + pass * length + clip->time[from];
        memcpy(c->weight + (size_t)f * (size_t)c->nchan, clip->weight + (size_t)from * (size_t)c->nchan,
               (size_t)c->nchan * sizeof(float));
        if (c->head) c->head[f] = clip->head[from];
    }
    return FA_OK;
}

FaCode fa_clip_with_head(const FaClip *clip, const FaClip *motion, FaClip **out, FaError *err) {
    *out = NULL;
    if (!motion->head)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a BVH, or a clip with head angles", "%s has no head motion",
                       motion->path ? motion->path : "the motion");
    // a rate that keeps what the motion has: 2-3 g impacts do not survive 30 frames a second
    double fps = motion->fps > clip->fps ? clip->fps * ceil(motion->fps / clip->fps - 1e-9) : clip->fps;
    int n = fa_clip_frames(clip->nframe > 1 ? clip : motion, fps);
    HeadAt head;
    FA_TRY(clip_like(clip, n, fps, out, err));
    FaClip *c = *out;
    FaCode rc = head_open(motion, &head, err);
    if (rc >= 0 && !c->head && !(c->head = FA_NEW(n, FaPose))) rc = FA_FAIL_MEMORY(err);
    for (int f = 0; rc >= 0 && f < n; f++) {
        c->time[f] = f / fps;
        fa_clip_sample(clip, c->time[f], c->weight + (size_t)f * (size_t)c->nchan, NULL);
        head_at(&head, c->time[f], &c->head[f]);
    }
    fa_free(head.cut);
    if (rc >= 0) return rc;
    fa_clip_free(c);
    *out = NULL;
    return rc;
}
