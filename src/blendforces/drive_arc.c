// Which shapes turn the skin on its way, learnt from the take: some do (a lip that rolls, a lid on its eye), others
// pull it straight, and a rig does not say. The arcs that control_arc.h proposes get a gain each: over sampled frames
// the markers' residual r after the straight solve is explained as well as it can be by  sum of gain_j w_j (1 - w_j)
// c_j,  0 <= gain <= 1, in the metric of the residual pass. A shape that the take does not use keeps to its straight
// line.
//
// And how much the markers' noise is of that residual: noise is what fifth differences in time show (motion hardly
// does), the residual is what the shapes leave. Where noise is most of it the residual pass must not spread it. What
// the shapes leave also says how well they are to be trusted: the ridge of the commands is its variance over that of a
// weight, so that shapes of somebody else are used for what is large, and those that fit are hardly held back.
#include "blendforces/drive_work.h"

#include "blendforces/control_fit.h"

#include <math.h>

enum { SAMPLES = 120, ROUNDS = 2 };
enum { DIFFERENCES = 60000 };     // at most
static const double CLEAN = 0.02; // noise of markers that show none
static const double WEIGHT =
    0.14; // what a weight is thought to be: shapes that leave much are not to be used for little things
static const double FIRM = 5e-9;  // m2: at least
static const double RIDGE = 0.02; // of the mean diagonal: what is hardly seen stays straight

FaCode fai_drive_marker_noise(const FaDrive *d, double *sigma, FaError *err) {
    static const double binomial[6] = {1, -5, 10, -10, 5, -1};
    const FaMarkerTake *t = d->take;
    size_t all = (size_t)FA_MAX(t->nframe - 5, 0) * (size_t)t->nmarker, stride = 1 + 3 * all / DIFFERENCES;
    double *size = FA_NEW(DIFFERENCES + 3, double);
    int n = 0;
    *sigma = 0;
    if (!size) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < all && n < DIFFERENCES; i += stride) {
        bool ok = d->map->point[i % (size_t)t->nmarker].vert[0] >= 0;
        double sum[3] = {0};
        for (size_t q = 0; q < 6 && ok; q++) {
            size_t at = i + q * (size_t)t->nmarker;
            ok = t->ok[at];
            for (size_t k = 0; k < 3 && ok; k++) sum[k] += binomial[q] * (double)t->x[3 * at + k];
        }
        for (int k = 0; k < 3 && ok; k++) size[n++] = fabs(sum[k]);
    }
    if (n >= 100) *sigma = fai_median(size, n) / (0.6745 * sqrt(252)); // of a normal distribution; 252 = sum of squares
    fa_free(size);
    return FA_OK;
}

// The noise as the residual pass wants it: against the variance of the residual, and as the filter in time leaves it.
static FaCode set_noise(FaDrive *d, FaControl *c, double residual, FaError *err) {
    double sigma, smooth = d->o.smooth == 0 ? 1.5 : d->o.smooth,
                  pass = smooth > 0 ? fmin(1 / (2 * sqrt(M_PI) * smooth), 1) : 1;
    FA_TRY(fai_drive_marker_noise(d, &sigma, err));
    if (d->left > 0) sigma = d->left, pass = 1; // as it was left by the smoothing, which differences do not see
    double real = fmax(residual - sigma * sigma, 0.05 * residual);
    d->sigma = sigma;
    d->noise = CLEAN;
    d->ridge = fmax(real / (WEIGHT * WEIGHT), FIRM);
    if (real > 0) d->noise = fmin(fmax(d->noise, pass * sigma * sigma / real), 100);
    fai_control_set_noise(c, d->noise);
    fai_control_set_ridge(c, d->ridge);
    return FA_OK;
}

static FaCode gather(FaDrive *d, FaControl *c, FaControlFrame *f, double *g, double *right, double *residual,
                     FaError *err) {
    int n = FA_MIN(SAMPLES, d->take->nframe), used = 0;
    *residual = 0;
    for (int s = 0; s < n; s++) {
        int frame = (int)(((double)s + 0.5) * d->take->nframe / n);
        FaMarkers m = fai_drive_markers_of(d, frame);
        fai_control_reset(c);
        FA_TRY(fai_control_solve(c, &m, d->take->time[frame], f, err));
        if (f->fit.held) continue;
        fai_control_arc_evidence(c, f, g, right);
        *residual += f->fit.before * f->fit.before / 3;
        used++;
    }
    *residual /= FA_MAX(used, 1);
    return FA_OK;
}

FaCode fai_drive_learn_arcs(FaDrive *d, FaControl *c, FaError *err) {
    size_t n = (size_t)d->rig->nshape;
    if (!fai_control_has_arcs(c)) return FA_OK;
    FaArena *arena = fai_arena_new(0);
    FaNnls *nnls = NULL;
    FaControlFrame f;
    FaCode rc = arena ? fai_nnls_new((int)n, &nnls, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_control_frame_new(c, arena, &f, err);
    double *g = rc >= 0 ? FA_PUSH(arena, n * n, double) : NULL, *right = rc >= 0 ? FA_PUSH(arena, n, double) : NULL;
    double *lo = rc >= 0 ? FA_PUSH(arena, n, double) : NULL, *hi = rc >= 0 ? FA_PUSH(arena, n, double) : NULL;
    double *gain = rc >= 0 ? FA_PUSH(arena, n, double) : NULL;
    if (rc >= 0 && (!g || !right || !lo || !hi || !gain)) rc = FA_FAIL_MEMORY(err);
    for (int round = 0; rc >= 0 && round < ROUNDS; round++) {
        double residual;
        memset(g, 0, n * n * sizeof *g);
        memset(right, 0, n * sizeof *right);
        rc = gather(d, c, &f, g, right, &residual, err);
        if (rc >= 0 && round == 0) rc = set_noise(d, c, residual, err);
        if (rc < 0) break;
        double mean = 0;
        for (size_t j = 0; j < n; j++) mean += g[j * n + j] / (double)n;
        for (size_t j = 0; j < n; j++) {
            // the residual is that of the gains so far
            for (size_t k = 0; k < n; k++) right[j] += g[j * n + k] * gain[k];
            hi[j] = 1;
        }
        for (size_t j = 0; j < n; j++) g[j * n + j] += RIDGE * mean;
        fai_nnls_solve(nnls, &(FaNnlsProblem){.n = (int)n, .g = g, .f = right, .lo = lo, .hi = hi}, gain);
        fai_control_set_arcs(c, gain);
    }
    if (rc >= 0 && gain) memcpy(d->arc_gain, gain, n * sizeof *gain);
    fai_control_reset(c);
    fai_nnls_free(nnls);
    fai_arena_free(arena);
    return FA_MIN(rc, FA_OK);
}
