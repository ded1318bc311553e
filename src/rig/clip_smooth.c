// A low-pass filter for the head's motion that shifts nothing in time: a second-order Butterworth filter run forwards
// and backwards. Positions and quaternions (signs made continuous, lengths restored) are filtered alike, number by
// number. Where the head jumps (math/pose_cut.h) the pieces are filtered apart.
#include "rig/clip_smooth.h"

#include "base/base.h"
#include "math/pose_cut.h"

#include <math.h>

enum { NUMBERS = 7 };
static const double TWICE = 0.802;  // (sqrt 2 - 1)^(1/4): two passes at fc / 0.802 are 3 dB down at fc
static const double HIGHEST = 0.45; // of the frame rate: beyond there is nothing to take away
static const double SETTLES = 3;    // periods of fc, mirrored beyond the ends

typedef struct Filter {
    double b0, a1, a2; // b1 = 2 b0, b2 = b0
} Filter;

static Filter filter_of(double hz, double fps) {
    double k = tan(3.14159265358979323846 * hz / TWICE / fps), root = sqrt(2.0), norm = 1 / (1 + root * k + k * k);
    return (Filter){k * k * norm, 2 * (k * k - 1) * norm, (1 - root * k + k * k) * norm};
}

// In place, step 1 or -1 from `x`; as if the first value had always been.
static void pass(const Filter *f, int n, int step, double *x) {
    double z2 = (f->b0 - f->a2) * *x, z1 = (2 * f->b0 - f->a1) * *x + z2;
    for (int i = 0; i < n; i++, x += step) {
        double in = *x, out = f->b0 * in + z1;
        z1 = 2 * f->b0 * in - f->a1 * out + z2;
        z2 = f->b0 * in - f->a2 * out;
        *x = out;
    }
}

// One number per frame, out of and back into rows of `width`. work: n + 2 pad.
static void smooth(const Filter *f, int n, int pad, size_t width, double *row, double *work) {
    double first = row[0], last = row[width * (size_t)(n - 1)];
    for (int i = 0; i < n; i++) work[pad + i] = row[width * (size_t)i];
    for (int i = 1; i <= pad; i++) { // the ends' own motion goes on
        work[pad - i] = 2 * first - work[pad + i];
        work[pad + n - 1 + i] = 2 * last - work[pad + n - 1 - i];
    }
    pass(f, n + 2 * pad, 1, work);
    pass(f, n + 2 * pad, -1, work + n + 2 * pad - 1);
    for (int i = 0; i < n; i++) row[width * (size_t)i] = work[pad + i];
}

static int pad_of(double hz, double fps, int n) { return (int)fmin(ceil(SETTLES * fps / hz), n - 1); }

FaCode fai_smooth_numbers(int n, double fps, double hz, double *x, FaError *err) {
    if (n < 3 || hz / TWICE >= HIGHEST * fps) return FA_OK;
    int pad = pad_of(hz, fps, n);
    double *work = FA_NEW((size_t)n + 2 * (size_t)pad, double);
    if (!work) return FA_FAIL_MEMORY(err);
    const Filter f = filter_of(hz, fps);
    smooth(&f, n, pad, 1, x, work);
    fa_free(work);
    return FA_OK;
}

FaCode fa_clip_smooth_head(FaClip *clip, double hz, FaError *err) {
    if (!(hz > 0) || !isfinite(hz))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a frequency above 0", "%g Hz is no frequency", hz);
    const int n = clip->nframe;
    if (!clip->head || n < 3 || !(clip->fps > 0) || hz / TWICE >= HIGHEST * clip->fps) return FA_OK;
    double *row = FA_NEW(NUMBERS * (size_t)n, double),
           *work = FA_NEW((size_t)n + 2 * (size_t)pad_of(hz, clip->fps, n), double);
    bool *cut = FA_NEW(n, bool);
    if (!row || !work || !cut) {
        fa_free(row);
        fa_free(work);
        fa_free(cut);
        return FA_FAIL_MEMORY(err);
    }
    fai_pose_cuts(n, clip->time, clip->head, cut);
    for (int i = 0; i < n; i++) {
        double *r = row + NUMBERS * (size_t)i, dot = 0;
        memcpy(r, clip->head[i].q, 4 * sizeof *r);
        memcpy(r + 4, clip->head[i].p, 3 * sizeof *r);
        for (int k = 0; i > 0 && k < 4; k++) dot += r[k] * r[k - NUMBERS];
        for (int k = 0; dot < 0 && k < 4; k++) r[k] = -r[k];
    }
    const Filter f = filter_of(hz, clip->fps);
    for (int first = 0, i = 0; i < n; i++) {
        if (i + 1 < n && !cut[i]) continue;
        int m = i + 1 - first;
        for (int k = 0; m >= 3 && k < NUMBERS; k++)
            smooth(&f, m, pad_of(hz, clip->fps, m), NUMBERS, row + NUMBERS * (size_t)first + k, work);
        first = i + 1;
    }
    for (int i = 0; i < n; i++) {
        const double *r = row + NUMBERS * (size_t)i;
        double length = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
        for (int k = 0; length > 1e-6 && k < 4; k++) clip->head[i].q[k] = r[k] / length;
        memcpy(clip->head[i].p, r + 4, 3 * sizeof *r);
    }
    fa_free(row);
    fa_free(work);
    fa_free(cut);
    return FA_OK;
}
