// Based on: [SLS12] Seol et al., Spacetime expression cloning for blendshapes, 2012 (warp of markers by r with an
// affine part); [Wen04] Wendland, Scattered data approximation, 2004, section 8.5 (conditional definiteness), 10.3.
//
// With P the affine terms at the points (n x m), coefficients are sought in the null space of P', where +-phi is
// positive definite: c = Z y, Z'(+-K + lambda I) Z y = Z'u, by Cholesky. Z comes from Householder reflections of P,
// never formed. The affine part is what is left over. Points are centred and scaled first; one refinement against the
// residual at the points brings exactness to rounding.
#include "math/rbf.h"

#include "base/task.h"
#include "math/dense.h"
#include "math/mat3.h"
#include "math/procrustes.h"

#include <math.h>

enum { BLOCK = 8, CHUNK = 512 };

struct FaRbf {
    FaRbfKernel kernel;
    FaRbfReport report;
    int n, m;               // centres; affine terms: 1 + rank
    double middle[3], unit; // points are taken as (x - middle) / unit
    FaAlign base;
    double *p;           // centres, scaled                          (n x 3)
    double *c;           // coefficients, m                          (n x 3)
    double axis[9];      // rows: principal directions, the spanned ones first
    double affine[4][3]; // of 1 and the first `rank` directions, m
    FaArena *arena;
};

static double phi(FaRbfKernel kernel, double r2) {
    double r = sqrt(r2);
    return kernel == FA_RBF_LINEAR ? r : r * r2;
}

// --- the points ---------------------------------------------------------------------------------------------------

static bool finite3(const double *p) { return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]); }

// Usable pairs, scaled, without doubles. to: mean targets (n x 3).
static void collect(FaRbf *r, int n, const double *from, const double *to, double *target) {
    int used = 0;
    double sum[3] = {0}, spread = 0;
    for (int i = 0; i < n; i++) {
        if (!finite3(from + 3 * (size_t)i) || !finite3(to + 3 * (size_t)i)) continue;
        fai_v3_add(sum, from + 3 * (size_t)i, sum);
        used++;
    }
    r->report.missing = n - used;
    if (!used) return;
    fai_v3_scale(1.0 / used, sum, r->middle);
    for (int i = 0; i < n; i++) {
        double d[3];
        if (!finite3(from + 3 * (size_t)i) || !finite3(to + 3 * (size_t)i)) continue;
        fai_v3_sub(from + 3 * (size_t)i, r->middle, d);
        spread += fai_v3_dot(d, d);
    }
    r->unit = sqrt(spread / used);
    // all in one place, to rounding
    if (!(r->unit > 1e-14 * fai_v3_norm(r->middle)) || !isfinite(1 / r->unit)) r->unit = 1;

    double *first = target + 3 * (size_t)n; // the first target of each, and how many: (n x 4)
    for (int i = 0; i < n; i++) {
        const double *x = from + 3 * (size_t)i, *y = to + 3 * (size_t)i;
        if (!finite3(x) || !finite3(y)) continue;
        double at[3], d[3];
        fai_v3_sub(x, r->middle, at);
        fai_v3_scale(1 / r->unit, at, at);
        int k = 0;
        for (; k < r->n; k++) {
            fai_v3_sub(at, r->p + 3 * (size_t)k, d);
            if (fai_v3_dot(d, d) <= 1e-14) break;
        }
        double *t = target + 3 * (size_t)k, *f = first + 4 * (size_t)k;
        if (k == r->n) {
            memcpy(r->p + 3 * (size_t)k, at, sizeof at);
            memcpy(t, y, 3 * sizeof *t);
            memcpy(f, y, 3 * sizeof *f);
            f[3] = 1;
            r->n++;
        } else {
            fai_v3_sub(y, f, d);
            r->report.conflict = fmax(r->report.conflict, fai_v3_norm(d));
            r->report.merged++;
            f[3]++;
            for (int c = 0; c < 3; c++) t[c] += (y[c] - t[c]) / f[3];
        }
    }
    r->report.used = r->n;
}

// Principal directions and how many of them the points span.
static void find_rank(FaRbf *r) {
    double cov[9] = {0}, mean[3] = {0}, u[9], s[3], v[9];
    for (int i = 0; i < r->n; i++) fai_v3_mad(mean, 1.0 / r->n, r->p + 3 * (size_t)i, mean);
    for (int i = 0; i < r->n; i++) {
        double d[3];
        fai_v3_sub(r->p + 3 * (size_t)i, mean, d);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) cov[3 * a + b] += d[a] * d[b] / r->n;
    }
    fai_m3_svd(cov, u, s, v);
    fai_m3_transpose(u, r->axis);
    r->report.rank = 0;
    for (int k = 0; k < 3; k++) r->report.rank += s[k] > 1e-8 * s[0] && s[k] > 0 && r->report.rank == k;
    // fewer points than directions
    r->report.rank = FA_MIN(r->report.rank, r->n - 1);
    r->m = 1 + r->report.rank;
}

static double affine_term(const FaRbf *r, const double at[3], int k) {
    return k == 0 ? 1 : fai_v3_dot(r->axis + 3 * (k - 1), at);
}

// --- the system ---------------------------------------------------------------------------------------------------

typedef struct System {
    int n, m;
    double *house; // Householder vectors of P, unit length            (m x n)
    double *tri;   // upper triangle of its QR                          (m x m)
    double *a;     // Q'(+-K + lambda I)Q, then the factor of its lower right (n - m) block   (n x n)
    double *k;     // +-K + lambda I                                    (n x n)
} System;

static void reflect(const double *h, int n, double *x, int stride) {
    double s = 0;
    for (int i = 0; i < n; i++) s += h[i] * x[(size_t)i * (size_t)stride];
    for (int i = 0; i < n; i++) x[(size_t)i * (size_t)stride] -= 2 * s * h[i];
}

static void qr(const FaRbf *r, System *s, double *p) {
    int n = s->n, m = s->m;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++) p[(size_t)k * (size_t)n + (size_t)i] = affine_term(r, r->p + 3 * (size_t)i, k);
    for (int k = 0; k < m; k++) {
        double *col = p + (size_t)k * (size_t)n, *h = s->house + (size_t)k * (size_t)n, norm = 0, len = 0;
        for (int i = k; i < n; i++) norm += col[i] * col[i];
        norm = sqrt(norm);
        for (int i = 0; i < n; i++) h[i] = i < k ? 0 : col[i];
        h[k] += col[k] < 0 ? -norm : norm;
        for (int i = k; i < n; i++) len += h[i] * h[i];
        for (int i = k; i < n && len > 0; i++) h[i] /= sqrt(len);
        for (int j = k; j < m; j++) reflect(h, n, p + (size_t)j * (size_t)n, 1);
        for (int i = 0; i <= k; i++) s->tri[i * m + k] = col[i];
    }
}

static void rows_times_q(void *ctx, int begin, int end, int chunk) {
    System *s = ctx;
    (void)chunk;
    for (int i = begin; i < end; i++)
        for (int k = 0; k < s->m; k++)
            reflect(s->house + (size_t)k * (size_t)s->n, s->n, s->a + (size_t)i * (size_t)s->n, 1);
}

typedef struct Below {
    System *s;
    int col;
} Below;

// Column `col` of the factor, rows below it: left-looking, one dot product per row.
static void below(void *ctx, int begin, int end, int chunk) {
    Below *b = ctx;
    System *s = b->s;
    (void)chunk;
    size_t n = (size_t)s->n;
    const double *top = s->a + (size_t)b->col * n + (size_t)s->m;
    int done = b->col - s->m;
    for (int i = b->col + 1 + begin; i < b->col + 1 + end; i++) {
        double *row = s->a + (size_t)i * n + (size_t)s->m;
        row[done] = (row[done] - fai_dot_n(row, top, done)) / top[done];
    }
}

static FaCode factor(FaRbf *r, System *s, double lambda, FaError *err) {
    size_t n = (size_t)s->n;
    double sign =
        r->kernel == FA_RBF_LINEAR ? -1 : 1; // [Wen04]: -r and r^3 are conditionally positive definite of order 1 and 2
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double d[3];
            fai_v3_sub(r->p + 3 * i, r->p + 3 * j, d);
            s->k[i * n + j] = sign * phi(r->kernel, fai_v3_dot(d, d)) + (i == j ? lambda : 0);
        }
    memcpy(s->a, s->k, n * n * sizeof *s->a);
    // Q' K Q: all rows by the right, then, since K is symmetric, the transpose by the same
    fai_parallel(s->n, 32, rows_times_q, s);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double t = s->a[i * n + j];
            s->a[i * n + j] = s->a[j * n + i];
            s->a[j * n + i] = t;
        }
    fai_parallel(s->n, 32, rows_times_q, s);
    for (int c = s->m; c < s->n; c++) {
        double *row = s->a + (size_t)c * n + (size_t)s->m, was = row[c - s->m];
        double pivot = was - fai_dot_n(row, row, c - s->m);
        if (!(pivot > 0))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("point %d", c),
                           "raise the smoothing a little, or leave out points that nearly coincide",
                           "the warp through these points cannot be solved for");
        row[c - s->m] = sqrt(pivot);
        fai_parallel(s->n - c - 1, 128, below, &(Below){s, c});
    }
    return FA_OK;
}

// Coefficients and affine part for right-hand sides u (n x 3), added to what is there. c is scratch (n).
static void solve_add(FaRbf *r, const System *s, const double *u, double *v, double *c) {
    size_t n = (size_t)s->n;
    double sign = r->kernel == FA_RBF_LINEAR ? -1 : 1;
    int m = s->m, q = s->n - m;
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++) v[i] = u[3 * i + (size_t)k];
        for (int h = 0; h < m; h++) reflect(s->house + (size_t)h * n, s->n, v, 1); // Q'u
        double *y = v + m;
        for (int i = 0; i < q; i++) {
            const double *row = s->a + (size_t)(m + i) * n + (size_t)m;
            y[i] = (y[i] - fai_dot_n(row, y, i)) / row[i];
        }
        for (int i = q; i-- > 0;) {
            const double *row = s->a + (size_t)(m + i) * n + (size_t)m;
            y[i] /= row[i];
            for (int j = 0; j < i; j++) y[j] -= y[i] * row[j];
        }
        for (int i = 0; i < m; i++) v[i] = 0;
        for (int h = m; h-- > 0;) reflect(s->house + (size_t)h * n, s->n, v, 1); // c = Q (0, y)
        // affine part: R b = first rows of Q'(u - K c)
        for (size_t i = 0; i < n; i++) c[i] = u[3 * i + (size_t)k] - fai_dot_n(s->k + i * n, v, s->n);
        for (int h = 0; h < m; h++) reflect(s->house + (size_t)h * n, s->n, c, 1);
        for (int i = m; i-- > 0;) {
            for (int j = i + 1; j < m; j++) c[i] -= s->tri[i * m + j] * c[j];
            c[i] /= s->tri[i * m + i];
            r->affine[i][k] += c[i];
        }
        for (size_t i = 0; i < n; i++) r->c[3 * i + (size_t)k] += sign * v[i];
    }
}

// --- evaluation ---------------------------------------------------------------------------------------------------

// BLOCK points at once, coordinates apart: the compiler makes vectors of it without changing a sum's order.
static void eval_block(const FaRbf *r, double at[3][BLOCK], double out[3][BLOCK]) {
    double x[3][BLOCK], y[3][BLOCK];
    for (int b = 0; b < BLOCK; b++) {
        double p[3], q[3];
        for (int k = 0; k < 3; k++) {
            p[k] = at[k][b];
            x[k][b] = (p[k] - r->middle[k]) / r->unit;
        }
        fai_align_apply(&r->base, p, q);
        for (int k = 0; k < 3; k++) y[k][b] = q[k] + r->affine[0][k];
        for (int t = 1; t < r->m; t++) {
            const double *e = r->axis + 3 * (t - 1);
            double s = e[0] * x[0][b] + e[1] * x[1][b] + e[2] * x[2][b];
            for (int k = 0; k < 3; k++) y[k][b] += s * r->affine[t][k];
        }
    }
    bool cubic = r->kernel == FA_RBF_CUBIC;
    for (int i = 0; i < r->n; i++) {
        const double *p = r->p + 3 * (size_t)i, *c = r->c + 3 * (size_t)i;
        double f[BLOCK];
        for (int b = 0; b < BLOCK; b++) {
            double dx = x[0][b] - p[0], dy = x[1][b] - p[1], dz = x[2][b] - p[2];
            double r2 = dx * dx + dy * dy + dz * dz;
            f[b] = sqrt(r2) * (cubic ? r2 : 1);
        }
        for (int b = 0; b < BLOCK; b++) {
            y[0][b] += c[0] * f[b];
            y[1][b] += c[1] * f[b];
            y[2][b] += c[2] * f[b];
        }
    }
    memcpy(out, y, sizeof y);
}

typedef struct Points {
    const FaRbf *r;
    const float *x;
    float *y;
    const double *xd;
    double *yd;
} Points;

static void eval_points(void *ctx, int begin, int end, int chunk) {
    Points *t = ctx;
    (void)chunk;
    for (int from = begin; from < end; from += BLOCK) {
        double at[3][BLOCK] = {{0}}, out[3][BLOCK];
        int count = FA_MIN(BLOCK, end - from);
        for (int b = 0; b < count; b++)
            for (int k = 0; k < 3; k++) {
                size_t i = 3 * (size_t)(from + b) + (size_t)k;
                at[k][b] = t->x ? (double)t->x[i] : t->xd[i];
            }
        eval_block(t->r, at, out);
        for (int b = 0; b < count; b++)
            for (int k = 0; k < 3; k++) {
                size_t i = 3 * (size_t)(from + b) + (size_t)k;
                if (t->y)
                    t->y[i] = (float)out[k][b];
                else
                    t->yd[i] = out[k][b];
            }
    }
}

void fai_rbf_points(const FaRbf *rbf, int n, const float *x, float *y) {
    fai_parallel(n, CHUNK, eval_points, &(Points){.r = rbf, .x = x, .y = y});
}

void fai_rbf_point(const FaRbf *rbf, const double x[3], double y[3]) {
    eval_points(&(Points){.r = rbf, .xd = x, .yd = y}, 0, 1, 0);
}

// --- making one ---------------------------------------------------------------------------------------------------

// What is still missed at the centres, as the warp itself computes it; its regularisation belongs to it.
static void residual(const FaRbf *r, const double *target, double lambda, double *u) {
    double sign = r->kernel == FA_RBF_LINEAR ? -1 : 1;
    for (int i = 0; i < r->n; i++) {
        double x[3], y[3];
        fai_v3_mad(r->middle, r->unit, r->p + 3 * (size_t)i, x);
        fai_rbf_point(r, x, y);
        for (int k = 0; k < 3; k++) {
            size_t at = 3 * (size_t)i + (size_t)k;
            u[at] = target[at] - y[k] - sign * lambda * r->c[at];
        }
    }
}

static FaCode build(FaRbf *r, const double *target, double lambda, FaArena *work, FaError *err) {
    size_t n = (size_t)r->n, m = (size_t)r->m;
    double *x = FA_PUSH(work, 3 * n, double), *u = FA_PUSH(work, 3 * n, double), *v = FA_PUSH(work, 2 * n, double);
    System s = {.n = r->n,
                .m = r->m,
                .house = FA_PUSH(work, m * n, double),
                .tri = FA_PUSH(work, m * m, double),
                .a = FA_PUSH(work, n * n, double),
                .k = FA_PUSH(work, n * n, double)};
    double *p = FA_PUSH(work, m * n, double);
    if (!x || !u || !v || !s.house || !s.tri || !s.a || !s.k || !p) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n; i++) fai_v3_mad(r->middle, r->unit, r->p + 3 * i, x + 3 * i);
    r->base = fai_align(r->n, x, target, NULL, true);
    qr(r, &s, p);
    FA_TRY(factor(r, &s, lambda, err));
    for (int round = 0; round < 3; round++) {
        residual(r, target, lambda, u);
        solve_add(r, &s, u, v, v + n);
    }
    for (size_t i = 0; i < n; i++) {
        double y[3], d[3];
        fai_rbf_point(r, x + 3 * i, y);
        fai_v3_sub(y, target + 3 * i, d);
        if (!isfinite(fai_v3_norm(d)))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("point %zu", i), "check the unit of both point sets",
                           "the warp is not finite");
        r->report.miss = fmax(r->report.miss, fai_v3_norm(d));
    }
    return FA_OK;
}

FaCode fai_rbf_new(int n, const double *from, const double *to, const FaRbfOptions *options, FaRbf **rbf,
                   FaError *err) {
    *rbf = NULL;
    FaRbfOptions plain = {0}, o = options ? *options : plain;
    if (n > FA_RBF_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "choose fewer, well spread points",
                       "a warp has at most %d points, not %d", FA_RBF_MAX, n);
    if (!(o.lambda >= 0) || !isfinite(o.lambda) || (o.kernel != FA_RBF_LINEAR && o.kernel != FA_RBF_CUBIC))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a smoothing of 0 or more", "the warp's options make no sense");
    FaArena *arena = fai_arena_new(0), *work = fai_arena_new(0);
    FaRbf *r = FA_NEW(1, FaRbf);
    FaCode rc = FA_OK;
    size_t room = (size_t)FA_MAX(n, 0);
    double *target = NULL;
    if (r && arena && work) {
        r->arena = arena;
        r->kernel = o.kernel;
        r->unit = 1;
        r->p = FA_PUSH(arena, 3 * room, double);
        r->c = FA_PUSH(arena, 3 * room, double);
        target = FA_PUSH(work, 7 * room, double);
    }
    if (!r || !arena || !work || !r->p || !r->c || !target) {
        rc = FA_FAIL_MEMORY(err);
    } else {
        collect(r, n, from, to, target);
        if (r->n < 1)
            rc = FA_FAIL(err, FA_E_ARG, NULL, "give at least one pair of finite points",
                         "none of %d pairs of points is usable", n);
    }
    if (rc >= 0) {
        find_rank(r);
        rc = build(r, target, o.lambda, work, err);
    }
    fai_arena_free(work);
    if (rc < 0) {
        fai_arena_free(arena);
        fa_free(r);
        return rc;
    }
    *rbf = r;
    return FA_OK;
}

void fai_rbf_free(FaRbf *rbf) {
    if (!rbf) return;
    fai_arena_free(rbf->arena);
    fa_free(rbf);
}

FaRbfReport fai_rbf_report(const FaRbf *rbf) { return rbf->report; }
