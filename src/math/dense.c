// Symmetric eigenproblem by Householder reduction to a tridiagonal matrix and implicit QL with Wilkinson's shift.
//
// Based on: Golub and Van Loan, Matrix Computations, the chapter on the symmetric eigenvalue problem.
// Symbols: A = Q T Q', T = Z diag(w) Z'; v = Z' Q', so that every step works on whole rows.
// Dot products run in a fixed number of lanes and the loops carry no threads: the bits depend on the input only.
#include "math/dense.h"

#include "base/task.h"

#include <float.h>
#include <math.h>

enum { QL_MAX = 60 }; // sweeps per eigenvalue; two are typical

// Two numbers side by side: every machine we run on has such registers, and a compiler without them uses scalars.
typedef double Pair __attribute__((vector_size(16)));

static Pair pair_at(const double *p) {
    Pair v;
    memcpy(&v, p, sizeof v);
    return v;
}

double fai_dot_n(const double *a, const double *b, int n) {
    Pair s0 = {0, 0}, s1 = s0, s2 = s0, s3 = s0;
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        s0 += pair_at(a + i) * pair_at(b + i);
        s1 += pair_at(a + i + 2) * pair_at(b + i + 2);
        s2 += pair_at(a + i + 4) * pair_at(b + i + 4);
        s3 += pair_at(a + i + 6) * pair_at(b + i + 6);
    }
    s0 = (s0 + s1) + (s2 + s3);
    double sum = s0[0] + s0[1];
    for (; i < n; i++) sum += a[i] * b[i];
    return sum;
}

// y += s x
static void add_scaled(double *restrict y, double s, const double *restrict x, int n) {
    for (int i = 0; i < n; i++) y[i] += s * x[i];
}

// Householder vector of x (n): H x = (beta, 0, ...) with H = I - tau u u'. u overwrites x. Returns tau; 0: nothing to
// do.
static double householder(double *x, int n, double *beta) {
    double tail = fai_dot_n(x + 1, x + 1, n - 1);
    *beta = x[0];
    if (tail <= DBL_MIN) {
        memset(x, 0, (size_t)n * sizeof *x);
        return 0;
    }
    double length = sqrt(x[0] * x[0] + tail);
    *beta = x[0] > 0 ? -length : length;
    x[0] -= *beta;
    return 2 / (x[0] * x[0] + tail);
}

// A = Q T Q': diagonal of T to d, the one beside it to e (e[i] joins i and i + 1). Row k of A keeps u_k, tau keeps the
// factors. p: scratch (n).
static void tridiagonal(int n, double *a, double *d, double *e, double *tau, double *p) {
    for (int k = 0; k + 1 < n; k++) {
        double *u = a + (size_t)k * n + k + 1;
        int m = n - k - 1;
        d[k] = a[(size_t)k * n + k];
        tau[k] = m > 1 ? householder(u, m, &e[k]) : 0;
        if (m == 1) e[k] = u[0];
        if (tau[k] == 0) continue;
        // the rest becomes A - u q' - q u' with q = p - (tau/2)(p.u) u, p = tau A u
        double *rest = a + (size_t)(k + 1) * n + k + 1;
        for (int i = 0; i < m; i++) p[i] = tau[k] * fai_dot_n(rest + (size_t)i * n, u, m);
        add_scaled(p, -tau[k] / 2 * fai_dot_n(p, u, m), u, m);
        for (int i = 0; i < m; i++) {
            double *row = rest + (size_t)i * n, ui = u[i], pi = p[i];
            for (int j = 0; j < m; j++) row[j] -= ui * p[j] + pi * u[j];
        }
    }
    d[n - 1] = a[(size_t)n * n - 1];
}

// v = Q', from the last reflection to the first, so that each only touches the corner that is not yet the identity.
static void accumulate(int n, const double *a, const double *tau, double *v) {
    memset(v, 0, (size_t)n * n * sizeof *v);
    for (int i = 0; i < n; i++) v[(size_t)i * n + i] = 1;
    for (int k = n - 3; k >= 0; k--) {
        if (tau[k] == 0) continue;
        const double *u = a + (size_t)k * n + k + 1;
        for (int i = k + 1; i < n; i++) {
            double *row = v + (size_t)i * n + k + 1;
            add_scaled(row, -tau[k] * fai_dot_n(row, u, n - k - 1), u, n - k - 1);
        }
    }
}

static void rotate_rows(double *restrict x, double *restrict y, double c, double s, int n) {
    for (int i = 0; i < n; i++) {
        double f = y[i];
        y[i] = s * x[i] + c * f;
        x[i] = c * x[i] - s * f;
    }
}

// One implicit QL sweep over the unreduced block [l, m]: chases a bulge from m up to l, turning the rows of v along.
static void ql_sweep(int n, int l, int m, double *d, double *e, double *v) {
    // Wilkinson's shift: the eigenvalue of the leading 2x2 block that is nearer to d[l]
    double half = (d[l + 1] - d[l]) / (2 * e[l]);
    double root = sqrt(half * half + 1);
    double g = d[m] - d[l] + e[l] / (half + (half < 0 ? -root : root));
    double s = 1, c = 1, p = 0;
    for (int i = m - 1; i >= l; i--) {
        double f = s * e[i], b = c * e[i];
        double r = sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0) {
            // the block falls apart here: what was done so far stands
            d[i + 1] -= p;
            e[m] = 0;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        rotate_rows(v + (size_t)i * n, v + (size_t)(i + 1) * n, c, s, n);
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0;
}

// Eigenvalues to d; rows of v turned along. False: no convergence, which finite input has not been seen to cause.
static bool ql(int n, double *d, double *e, double *v) {
    double norm = 0;
    for (int i = 0; i < n; i++) norm = fmax(norm, fabs(d[i]) + fabs(e[i]));
    for (int l = 0; l < n; l++) {
        for (int sweep = 0;; sweep++) {
            int m = l;
            while (m + 1 < n && fabs(e[m]) > DBL_EPSILON * (fabs(d[m]) + fabs(d[m + 1]) + DBL_EPSILON * norm)) m++;
            if (m == l) break;
            if (sweep == QL_MAX) return false;
            ql_sweep(n, l, m, d, e, v);
        }
    }
    return true;
}

// Largest first; equal ones keep their order. Rows are swapped, n - 1 times at most.
static void sort_decreasing(int n, double *w, double *v, double *row) {
    size_t bytes = (size_t)n * sizeof *row;
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int j = i + 1; j < n; j++)
            if (w[j] > w[best]) best = j;
        if (best == i) continue;
        double t = w[i];
        w[i] = w[best];
        w[best] = t;
        memcpy(row, v + (size_t)i * n, bytes);
        memcpy(v + (size_t)i * n, v + (size_t)best * n, bytes);
        memcpy(v + (size_t)best * n, row, bytes);
    }
}

static void fix_sign(int n, double *row) {
    int peak = 0;
    for (int i = 1; i < n; i++)
        if (fabs(row[i]) > fabs(row[peak])) peak = i;
    if (row[peak] < 0)
        for (int i = 0; i < n; i++) row[i] = -row[i];
}

FaCode fai_eigen_symmetric(int n, double *a, double *w, double *v, FaError *err) {
    if (n <= 0) return FA_OK;
    // a power of two as scale: squares neither overflow nor vanish, and no bit is lost
    double largest = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double q = a[(size_t)i * n + j];
            if (!isfinite(q))
                return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("row %d, column %d", i, j), NULL,
                               "eigenvectors of a matrix with a number that is not finite");
            largest = fmax(largest, fabs(q));
        }
    int exponent = 0;
    frexp(largest, &exponent);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            a[(size_t)j * n + i] = a[(size_t)i * n + j] = ldexp(a[(size_t)i * n + j], -exponent);

    double *work = FA_NEW(3 * (size_t)n, double);
    if (!work) return FA_FAIL_MEMORY(err);
    double *e = work, *tau = work + n, *row = work + 2 * (size_t)n;
    tridiagonal(n, a, w, e, tau, row);
    accumulate(n, a, tau, v);
    bool converged = ql(n, w, e, v);
    if (converged) {
        sort_decreasing(n, w, v, row);
        for (int i = 0; i < n; i++) {
            w[i] = ldexp(w[i], exponent);
            fix_sign(n, v + (size_t)i * n);
        }
    }
    fa_free(work);
    if (!converged)
        return FA_FAIL(err, FA_E_NUMERIC, NULL, NULL, "the eigenvalues of a %d x %d matrix did not converge", n, n);
    return FA_OK;
}

// --- around a principal component analysis ------------------------------------------------------------------------

// The Gram matrix is built in bands of rows, stretch by stretch of columns, tile by tile: a band's stretch stays in the
// cache while all other rows pass by, and a tile's sums stay in registers.
enum { GRAM_BAND = 16, GRAM_TILE_I = 4, GRAM_TILE_J = 2, GRAM_STRETCH = 1024, MIX_WIDTH = 512 };

typedef struct GramJob {
    int n;
    size_t m;
    const float *rows;
    double *gram;
} GramJob;

// gram[i..][j..] += the products over columns [from, to).
static void gram_tile(const GramJob *job, int i, int ni, int j, int nj, size_t from, size_t to) {
    Pair sum[GRAM_TILE_I][GRAM_TILE_J] = {0};
    const float *x[GRAM_TILE_I], *y[GRAM_TILE_J];
    // rows past the end repeat the first: their sums are not stored
    for (int k = 0; k < GRAM_TILE_I; k++) x[k] = job->rows + (size_t)(i + (k < ni ? k : 0)) * job->m;
    for (int k = 0; k < GRAM_TILE_J; k++) y[k] = job->rows + (size_t)(j + (k < nj ? k : 0)) * job->m;
    size_t t = from;
    for (; t + 2 <= to; t += 2) {
        Pair y0 = {(double)y[0][t], (double)y[0][t + 1]}, y1 = {(double)y[1][t], (double)y[1][t + 1]};
        for (int p = 0; p < GRAM_TILE_I; p++) {
            Pair xp = {(double)x[p][t], (double)x[p][t + 1]};
            sum[p][0] += xp * y0;
            sum[p][1] += xp * y1;
        }
    }
    for (int p = 0; p < ni; p++)
        for (int q = 0; q < nj; q++) {
            double s = sum[p][q][0] + sum[p][q][1];
            if (t < to) s += (double)x[p][t] * (double)y[q][t];
            job->gram[(size_t)(i + p) * job->n + j + q] += s;
        }
}

// Rows [begin, end) of the lower half (and a little above the diagonal), then their mirror image.
static void gram_band(void *ctx, int begin, int end, int chunk) {
    const GramJob *job = ctx;
    (void)chunk;
    size_t n = (size_t)job->n;
    for (int i = begin; i < end; i++) memset(job->gram + (size_t)i * n, 0, (size_t)end * sizeof *job->gram);
    for (size_t from = 0; from < job->m; from += GRAM_STRETCH) {
        size_t to = FA_MIN(job->m, from + GRAM_STRETCH);
        for (int j = 0; j < end; j += GRAM_TILE_J)
            for (int i = begin; i < end; i += GRAM_TILE_I)
                gram_tile(job, i, FA_MIN(GRAM_TILE_I, end - i), j, FA_MIN(GRAM_TILE_J, end - j), from, to);
    }
    for (int i = begin; i < end; i++)
        for (int j = 0; j < i; j++) job->gram[(size_t)j * n + i] = job->gram[(size_t)i * n + j];
}

void fai_gram(int n, size_t m, const float *rows, double *gram) {
    fai_parallel(n, GRAM_BAND, gram_band, &(GramJob){n, m, rows, gram});
}

typedef struct MixJob {
    int k, n;
    size_t m;
    const double *coef;
    const float *rows;
    float *out;
} MixJob;

static void mix_columns(void *ctx, int begin, int end, int chunk) {
    const MixJob *job = ctx;
    (void)chunk;
    for (int c = begin; c < end; c++) {
        size_t first = (size_t)c * MIX_WIDTH;
        int width = (int)FA_MIN((size_t)MIX_WIDTH, job->m - first);
        for (int i = 0; i < job->k; i++) {
            double sum[MIX_WIDTH] = {0};
            for (int j = 0; j < job->n; j++) {
                const float *row = job->rows + (size_t)j * job->m + first;
                double s = job->coef[(size_t)i * job->n + j];
                for (int t = 0; t < width; t++) sum[t] += s * (double)row[t];
            }
            float *out = job->out + (size_t)i * job->m + first;
            for (int t = 0; t < width; t++) out[t] = (float)sum[t];
        }
    }
}

void fai_mix_rows(int k, int n, size_t m, const double *coef, const float *rows, float *out) {
    fai_parallel((int)((m + MIX_WIDTH - 1) / MIX_WIDTH), 1, mix_columns, &(MixJob){k, n, m, coef, rows, out});
}

// --- Cholesky
// ---------------------------------------------------------------------------------------------------------

bool fai_dense_cholesky(int n, int stride, double *a) {
    for (int i = 0; i < n; i++) {
        double *ri = a + (size_t)i * (size_t)stride, scale = ri[i];
        for (int j = 0; j <= i; j++) {
            const double *rj = a + (size_t)j * (size_t)stride;
            double sum = ri[j];
            for (int k = 0; k < j; k++) sum -= ri[k] * rj[k];
            if (j < i)
                ri[j] = sum / rj[j];
            else if (!(sum > 1e-13 * scale) || !isfinite(sum))
                return false;
            else
                ri[i] = sqrt(sum);
        }
    }
    return true;
}

void fai_dense_forward(int n, int stride, const double *l, double *b) {
    for (int i = 0; i < n; i++) {
        const double *r = l + (size_t)i * (size_t)stride;
        for (int k = 0; k < i; k++) b[i] -= r[k] * b[k];
        b[i] /= r[i];
    }
}

void fai_dense_backward(int n, int stride, const double *l, double *b) {
    for (int i = n - 1; i >= 0; i--) {
        b[i] /= l[(size_t)i * (size_t)stride + (size_t)i];
        for (int k = 0; k < i; k++) b[k] -= l[(size_t)i * (size_t)stride + (size_t)k] * b[i];
    }
}
