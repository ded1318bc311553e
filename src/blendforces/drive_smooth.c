// Noisy markers are smoothed in time before anything is solved: a solve that meets noise turns it into expressions,
// which no later filter takes out.
//
// Every sample is replaced by a parabola fitted to its neighbours under a Gaussian of some width (a quiet marker bears
// a wide one, a lip in speech hardly any). With sigma the noise of a coordinate and k0 the weight that a sample has in
// its own estimate y, the expected square error is  |y - x|^2 + 3 sigma^2 (2 k0 - 1)  (Stein's estimate); averaged over
// some frames around, the width with the least of it is taken, marker by marker and frame by frame. Missing samples
// stay missing.
#include "blendforces/drive_work.h"

#include "math/mat3.h"

#include <math.h>

static const double width[] = {0, 0.6, 0.8, 1, 1.4, 2, 2.8, 4}; // frames
enum { WIDTHS = FA_COUNT(width), AROUND = 6 };                  // frames on each side over which the risk is averaged
static const double QUIET = 3e-5;                               // m: below it markers are taken as they are

typedef struct Trial {
    double y[3]; // the estimate
    double own;  // k0
    double left; // sum of squared weights: the share of the variance that is left
    double risk; // m2
} Trial;

// The parabola of one width at a sample.
static void fit(const FaDrive *d, size_t marker, int frame, double s, Trial *t) {
    const FaMarkerTake *take = d->take;
    size_t stride = (size_t)take->nmarker;
    const float *x0 = take->x + 3 * ((size_t)frame * stride + marker);
    int reach = (int)ceil(3 * s);
    double m[9] = {0}, inv[9] = {0};
    *t = (Trial){.y = {(double)x0[0], (double)x0[1], (double)x0[2]}, .own = 1, .left = 1};
    int first = FA_MAX(frame - reach, 0), last = FA_MIN(frame + reach, take->nframe - 1), seen = 0;
    for (int f = first; f <= last && reach; f++) {
        double at = (take->time[f] - take->time[frame]) * d->o.fps, p[3] = {1, at, at * at};
        if (!take->ok[(size_t)f * stride + marker]) continue;
        double w = exp(-0.5 * at * at / (s * s));
        seen++;
        for (int a = 0; a < 9; a++) m[a] += w * p[a / 3] * p[a % 3];
    }
    if (seen < 5 || !fai_m3_inverse(m, inv)) return;
    memset(t->y, 0, sizeof t->y);
    t->left = 0;
    for (int f = first; f <= last; f++) {
        double at = (take->time[f] - take->time[frame]) * d->o.fps;
        size_t i = (size_t)f * stride + marker;
        if (!take->ok[i]) continue;
        double k = exp(-0.5 * at * at / (s * s)) * (inv[0] + inv[1] * at + inv[2] * at * at);
        for (size_t c = 0; c < 3; c++) t->y[c] += k * (double)take->x[3 * i + c];
        t->left += k * k;
        if (f == frame) t->own = k;
    }
}

// All widths of a marker; the best of each frame into out. Returns the sum of the shares of the variance that are left.
static double smooth_marker(const FaDrive *d, size_t marker, double sigma, Trial *trial, float *out) {
    const FaMarkerTake *take = d->take;
    double left = 0;
    for (int f = 0; f < take->nframe; f++)
        for (int s = 0; s < WIDTHS && take->ok[(size_t)f * (size_t)take->nmarker + marker]; s++) {
            Trial *t = &trial[f * WIDTHS + s];
            const float *x = take->x + 3 * ((size_t)f * (size_t)take->nmarker + marker);
            fit(d, marker, f, width[s], t);
            t->risk = 3 * sigma * sigma * (2 * t->own - 1);
            for (int c = 0; c < 3; c++) t->risk += (t->y[c] - (double)x[c]) * (t->y[c] - (double)x[c]);
        }
    for (int f = 0; f < take->nframe; f++) {
        if (!take->ok[(size_t)f * (size_t)take->nmarker + marker]) continue;
        double best = INFINITY;
        const Trial *use = NULL;
        for (int s = 0; s < WIDTHS; s++) {
            double sum = 0;
            int count = 0;
            for (int q = FA_MAX(f - AROUND, 0); q <= FA_MIN(f + AROUND, take->nframe - 1); q++)
                if (take->ok[(size_t)q * (size_t)take->nmarker + marker]) sum += trial[q * WIDTHS + s].risk, count++;
            if (sum / count >= best) continue;
            best = sum / count;
            use = &trial[f * WIDTHS + s];
        }
        for (int c = 0; c < 3; c++) out[3 * f + c] = (float)use->y[c];
        left += use->left;
    }
    return left;
}

FaCode fai_drive_smooth_markers(FaDrive *d, FaError *err) {
    FaMarkerTake *take = d->take;
    size_t nf = (size_t)take->nframe, nm = (size_t)take->nmarker;
    double sigma, left = 0;
    size_t count = 0;
    d->left = 0;
    FA_TRY(fai_drive_marker_noise(d, &sigma, err));
    if (sigma < QUIET) return FA_OK;
    Trial *trial = fai_alloc_array(nf * WIDTHS, sizeof *trial);
    float *out = fai_alloc_array(nf, 3 * sizeof *out);
    FaCode rc = trial && out ? FA_OK : FA_FAIL_MEMORY(err);
    for (size_t m = 0; rc >= 0 && m < nm; m++) {
        left += smooth_marker(d, m, sigma, trial, out);
        for (size_t f = 0; f < nf; f++) {
            if (!take->ok[f * nm + m]) continue;
            memcpy(take->x + 3 * (f * nm + m), out + 3 * f, 3 * sizeof *out);
            count++;
        }
    }
    if (count) d->left = sigma * sqrt(left / (double)count);
    fa_free(trial);
    fa_free(out);
    return rc;
}
