// Clips: making, checking, sampling.
#include "base/base.h"
#include "fascia/rig.h"

#include <math.h>

// --- clips --------------------------------------------------------------------------------------------------------

// The names live behind their own pointers, in one block.
static const char **copy_names(int n, const char *const *names) {
    size_t bytes = (size_t)n * sizeof *names;
    for (int i = 0; i < n; i++) bytes += strlen(names[i]) + 1;
    const char **copy = fai_alloc_array(bytes, 1);
    if (!copy) return NULL;
    char *at = (char *)(copy + n);
    for (int i = 0; i < n; i++) {
        size_t size = strlen(names[i]) + 1;
        copy[i] = memcpy(at, names[i], size);
        at += size;
    }
    return copy;
}

FaCode fa_clip_new(int nframe, int nchan, const char *const *names, double fps, FaClip **clip, FaError *err) {
    *clip = NULL;
    if (nframe < 1 || nchan < 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give at least one frame", "a clip of %d frames and %d channels", nframe,
                       nchan);
    if (!(fps > 0) || !isfinite(fps))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rate above 0", "the frame rate is no rate");
    FaClip *c = FA_NEW(1, FaClip);
    if (!c) return FA_FAIL_MEMORY(err);
    c->nframe = nframe;
    c->nchan = nchan;
    c->fps = fps;
    c->time = FA_NEW(nframe, double);
    c->name = copy_names(nchan, names);
    c->weight = (size_t)nchan <= SIZE_MAX / sizeof(float) / (size_t)nframe
                    ? FA_NEW((size_t)nframe * (size_t)nchan, float)
                    : NULL;
    if (!c->time || !c->name || !c->weight) {
        fa_clip_free(c);
        return FA_FAIL_MEMORY(err);
    }
    for (int f = 0; f < nframe; f++) c->time[f] = f / fps;
    *clip = c;
    return FA_OK;
}

void fa_clip_free(FaClip *clip) {
    if (!clip) return;
    fa_free(clip->time);
    fa_free(clip->name);
    fa_free(clip->weight);
    fa_free(clip->head);
    fa_free(clip->path);
    fai_notes_free(&clip->notes);
    fa_free(clip);
}

static FaCode check_pose(const FaPose *pose, int frame, FaError *err) {
    double n = 0;
    for (int k = 0; k < 4; k++) n += pose->q[k] * pose->q[k];
    if (!(fabs(n - 1) <= 1e-5))
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", frame), NULL,
                       "the head's quaternion is not of unit length");
    for (int k = 0; k < 3; k++)
        if (!isfinite(pose->p[k]))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", frame), NULL,
                           "the head's position is not a finite number");
    return FA_OK;
}

FaCode fa_clip_check(const FaClip *clip, FaError *err) {
    if (clip->nframe < 1 || clip->nchan < 0) return FA_FAIL(err, FA_E_FORMAT, NULL, NULL, "the clip has no frames");
    if (!clip->time || (clip->nchan && (!clip->name || !clip->weight)))
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "the clip has counts but no arrays");
    if (!(clip->fps > 0) || !isfinite(clip->fps))
        return FA_FAIL(err, FA_E_FORMAT, NULL, NULL, "the frame rate is no rate");
    if (!isfinite(clip->start)) return FA_FAIL(err, FA_E_FORMAT, NULL, NULL, "the start is not a finite number");
    for (int c = 0; c < clip->nchan; c++)
        if (!clip->name[c])
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("channel %d", c), NULL, "the channel has no name");
    for (int f = 0; f < clip->nframe; f++) {
        double t = clip->time[f];
        if (!isfinite(t) || (f == 0 ? t != 0 : !(t > clip->time[f - 1])))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", f), NULL, "times must start at 0 and increase");
        for (int c = 0; c < clip->nchan; c++)
            if (!isfinite(clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c]))
                return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d, channel '%.80s'", f, clip->name[c]), NULL,
                               "the weight is not a finite number");
        if (clip->head) FA_TRY(check_pose(&clip->head[f], f, err));
    }
    return FA_OK;
}

// Spherical interpolation along the shorter arc.
static void slerp(const double a[4], const double b[4], double u, double out[4]) {
    double dot = 0, n = 0;
    for (int k = 0; k < 4; k++) dot += a[k] * b[k];
    double sign = dot < 0 ? -1 : 1, wa = 1 - u, wb = u;
    dot = fabs(dot);
    if (dot < 1 - 1e-8) { // nearer than this the straight line is as good
        double angle = acos(dot), s = sin(angle);
        wa = sin((1 - u) * angle) / s;
        wb = sin(u * angle) / s;
    }
    for (int k = 0; k < 4; k++) {
        out[k] = wa * a[k] + sign * wb * b[k];
        n += out[k] * out[k];
    }
    n = sqrt(n);
    for (int k = 0; k < 4; k++) out[k] = n > 0 ? out[k] / n : a[k];
}

void fa_clip_sample(const FaClip *clip, double time, float *weights, FaPose *head) {
    // the last frame at or before the time; NaN gives the first
    int lo = 0, hi = clip->nframe - 1;
    if (!(time > clip->time[0])) hi = 0;
    while (lo < hi) {
        int mid = lo + (hi - lo + 1) / 2;
        if (clip->time[mid] <= time)
            lo = mid;
        else
            hi = mid - 1;
    }
    int next = lo + 1 < clip->nframe ? lo + 1 : lo;
    double step = clip->time[next] - clip->time[lo];
    double u = step > 0 && time > clip->time[lo] ? (time - clip->time[lo]) / step : 0;
    const float *a = clip->weight + (size_t)lo * (size_t)clip->nchan,
                *b = clip->weight + (size_t)next * (size_t)clip->nchan;
    for (int c = 0; weights && c < clip->nchan; c++)
        weights[c] = u > 0 ? (float)((1 - u) * (double)a[c] + u * (double)b[c]) : a[c];
    if (!head) return;
    *head = clip->head ? clip->head[lo] : (FaPose){{0, 0, 0, 1}, {0, 0, 0}};
    if (!clip->head || u == 0) return;
    const FaPose *p = &clip->head[lo], *q = &clip->head[next];
    slerp(p->q, q->q, u, head->q);
    for (int k = 0; k < 3; k++) head->p[k] = (1 - u) * p->p[k] + u * q->p[k];
}
