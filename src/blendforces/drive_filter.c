// How wide the residual's filter in time is, by what the take shows: clean markers need none, and flesh that rings
// would lose by one; noisy markers need it, or the skin trembles.
//
// Noise: motion is smooth over the face, noise of one marker knows nothing of the next one's. With r the residual at
// the points and G, W as in spread.h, z = W r is what no smooth field explains, and its fifth differences in time
// (motion hardly has any) are almost all noise: each z_i / |W_i| has the noise's deviation, by the median. Width: of
// the field a = G W r that is spread, filtered by a kernel k, the expected square error is
//     mean |k * a - a|^2 + sigma^2 mean |(G W)_i|^2 (2 k_0 - 1)                                    (Stein's estimate)
// and the width with the least of it is taken.
#include "blendforces/drive_work.h"

#include "blendforces/control_fit.h"

#include <math.h>

static const double width[] = {0, 0.4, 0.5, 0.6, 0.75, 1, 1.25, 1.5}; // frames
static const double ROUGH = 0.02;                                     // noise of W where z is looked at
enum { DIFFERENCES = 60000 };                                         // at most

typedef struct Look {
    const FaSpread *spread;
    int n; // points
    size_t nframe, row;
    float *z, *a;  // what no smooth field explains, the field                 (nframe x npoint x 3)
    double *size;  // of rows of W, then of G W                                (npoint)
    double *r, *q; //                                                          (npoint x 3)
} Look;

double fai_kernel_at(double s, int k) { return s > 0 ? exp(-0.5 * k * k / (s * s)) : k == 0; }

static void row_sizes(const Look *k, const double *m) {
    for (int i = 0; i < k->n; i++) {
        double sum = 0;
        for (int j = 0; j < k->n; j++)
            sum += m[(size_t)i * (size_t)k->n + (size_t)j] * m[(size_t)i * (size_t)k->n + (size_t)j];
        k->size[i] = sqrt(sum);
    }
}

static FaCode deviation(const FaDrive *d, const Look *k, double *sigma, FaError *err) {
    static const double binomial[6] = {1, -5, 10, -10, 5, -1};
    const int *place = fai_control_points(d->control);
    size_t all = (k->nframe - 5) * (size_t)k->n, stride = 1 + 3 * all / DIFFERENCES, nm = (size_t)d->take->nmarker;
    double *size = FA_NEW(DIFFERENCES + 3, double);
    int count = 0;
    *sigma = 0;
    if (!size) return FA_FAIL_MEMORY(err);
    for (size_t e = 0; e < all && count < DIFFERENCES; e += stride) {
        size_t f = e / (size_t)k->n, i = e % (size_t)k->n;
        bool ok = k->size[i] > 0;
        for (size_t q = 0; q < 6; q++) ok &= d->take->ok[(f + q) * nm + (size_t)place[i]] != 0;
        for (size_t c = 0; c < 3 && ok; c++) {
            double sum = 0;
            for (size_t q = 0; q < 6; q++) sum += binomial[q] * (double)k->z[(f + q) * k->row + 3 * i + c];
            size[count++] = fabs(sum) / k->size[i];
        }
    }
    if (count >= 100)
        *sigma = fai_median(size, count) / (0.6745 * sqrt(252)); // of a normal distribution; 252 = sum of squares
    fa_free(size);
    return FA_OK;
}

// Mean square that a width takes from the field, and the kernel's weight at 0.
static double taken(const Look *k, double s, double *middle) {
    int reach = (int)ceil(3 * s);
    double sum = 0, whole = 0;
    for (int q = -reach; q <= reach; q++) whole += fai_kernel_at(s, q);
    *middle = 1 / whole;
    for (size_t f = 0; f < k->nframe && reach; f++) {
        int first = -(int)FA_MIN((size_t)reach, f), last = (int)FA_MIN((size_t)reach, k->nframe - 1 - f);
        double total = 0;
        for (int q = first; q <= last; q++) total += fai_kernel_at(s, q);
        memset(k->r, 0, k->row * sizeof *k->r);
        for (int q = first; q <= last; q++) {
            const float *a = k->a + (size_t)((ptrdiff_t)f + q) * k->row;
            double w = fai_kernel_at(s, q) / total;
            for (size_t i = 0; i < k->row; i++) k->r[i] += w * (double)a[i];
        }
        for (size_t i = 0; i < k->row; i++) {
            double miss = k->r[i] - (double)k->a[f * k->row + i];
            sum += miss * miss;
        }
    }
    return sum / ((double)k->nframe * (double)k->row);
}

static FaCode look(FaDrive *d, Look *k, FaArena *arena, FaError *err) {
    size_t n = (size_t)k->n;
    k->z = fai_alloc_array(k->nframe, k->row * sizeof(float));
    k->a = fai_alloc_array(k->nframe, k->row * sizeof(float));
    k->size = FA_PUSH(arena, n, double);
    k->r = FA_PUSH(arena, k->row, double);
    k->q = FA_PUSH(arena, k->row, double);
    double *gw = FA_PUSH(arena, n * n, double);
    if (!k->z || !k->a || !k->size || !k->r || !k->q || !gw) return FA_FAIL_MEMORY(err);
    k->spread = fai_control_even_metric(d->control, ROUGH);
    for (size_t f = 0; f < k->nframe; f++) {
        for (size_t i = 0; i < k->row; i++) k->q[i] = (double)d->coef[f * k->row + i];
        fai_spread_at_points(k->spread, k->q, k->r);
        for (size_t i = 0; i < k->row; i++) {
            k->a[f * k->row + i] = (float)k->r[i];
            k->r[i] += fai_control_noise_of(d->control, (int)(i / 3)) * k->q[i]; // G c + N c = r
        }
        fai_spread_coefficients(k->spread, k->r, k->q);
        for (size_t i = 0; i < k->row; i++) k->z[f * k->row + i] = (float)k->q[i];
    }
    row_sizes(k, fai_spread_metric(k->spread));
    double sigma;
    FA_TRY(deviation(d, k, &sigma, err));
    // the noise in the field
    k->spread = fai_control_even_metric(d->control, 0);
    const double *g = fai_spread_gram(k->spread), *w = fai_spread_metric(k->spread);
    for (size_t i = 0; i < n; i++)
        for (size_t q = 0; q < n; q++)
            for (size_t j = 0; j < n; j++) gw[i * n + j] += g[i * n + q] * w[q * n + j];
    row_sizes(k, gw);
    double variance = 0, best = INFINITY;
    for (size_t i = 0; i < n; i++) variance += sigma * sigma * k->size[i] * k->size[i] / (double)n;
    for (int s = 0; s < FA_COUNT(width); s++) {
        double middle, risk = taken(k, width[s], &middle);
        risk += variance * (2 * middle - 1);
        if (risk >= best) continue;
        best = risk;
        d->smooth = width[s];
    }
    return FA_OK;
}

FaCode fai_drive_choose_filter(FaDrive *d, FaError *err) {
    d->smooth = d->o.smooth > 0 ? d->o.smooth : 0;
    if (d->o.smooth != 0 || !fai_control_even_metric(d->control, 0)) return FA_OK;
    if (d->take->nframe < 12) {
        d->smooth = 1.5;
        return FA_OK;
    }
    Look k = {.n = fai_control_npoint(d->control),
              .nframe = (size_t)d->take->nframe,
              .row = 3 * (size_t)fai_control_npoint(d->control)};
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? look(d, &k, arena, err) : FA_FAIL_MEMORY(err);
    fa_free(k.z);
    fa_free(k.a);
    fai_arena_free(arena);
    return rc;
}
