// From a gradient to a direction.
//
// Conjugate gradients in float on the blocks, dots in double. The kept factor is of an earlier Hessian of all
// coordinates (3 nfree unknowns, rough: fai_chol_solve_rough), so a few iterations suffice while the flesh deforms
// little.
#include "solve/newton_work.h"

#include "base/task.h"

#include <math.h>

enum { ROWS = 1024, CG_LIMIT = 400 };

// --- preconditioners ----------------------------------------------------------------------------------------------

typedef struct JacobiJob {
    const FaNewton *n;
    const float *r;
    float *z;
} JacobiJob;

static void jacobi_invert(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const FaNewton *n = ctx;
    for (int i = begin; i < end; i++) {
        const float *m = n->blocks->val + 9 * (size_t)n->blocks->diagonal[i];
        float *to = n->jacobi + 9 * (size_t)i;
        double a = (double)m[0], b = (double)m[1], c = (double)m[2], d = (double)m[4], e = (double)m[5],
               f = (double)m[8];
        double c0 = d * f - e * e, c1 = c * e - b * f, c2 = b * e - c * d, det = a * c0 + b * c1 + c * c2;
        bool good = a > 0 && a * d - b * b > 0 && det > 0 && isfinite(1 / det);
        double over = good ? 1 / det : 0;
        double inv[9] = {c0 * over,
                         c1 * over,
                         c2 * over,
                         c1 * over,
                         (a * f - c * c) * over,
                         (b * c - a * e) * over,
                         c2 * over,
                         (b * c - a * e) * over,
                         (a * d - b * b) * over};
        if (!good) { // something positive of the right size
            double size = fmax(fabs(a), fmax(fabs(d), fabs(f)));
            for (int k = 0; k < 3; k++) inv[4 * k] = size > 0 ? 1 / size : 1;
        }
        for (int k = 0; k < 9; k++) to[k] = (float)inv[k];
    }
}

void fai_newton_jacobi(FaNewton *n) { fai_parallel(n->nfree, ROWS, jacobi_invert, n); }

static void jacobi_apply(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const JacobiJob *job = ctx;
    for (size_t i = (size_t)begin; i < (size_t)end; i++) {
        const float *m = job->n->jacobi + 9 * i, *r = job->r + 4 * i;
        float *z = job->z + 4 * i;
        for (int k = 0; k < 3; k++) z[k] = m[3 * k] * r[0] + m[3 * k + 1] * r[1] + m[3 * k + 2] * r[2];
        z[3] = 0;
    }
}

static void solve_double(FaNewton *n, const float *r, float *z) {
    for (size_t i = 0; i < (size_t)n->nfree; i++)
        for (size_t k = 0; k < 3; k++) {
            double *to = n->four + 4 * (3 * i + k);
            to[0] = (double)r[4 * i + k], to[1] = to[2] = to[3] = 0;
        }
    fai_chol_solve_d(n->chol, n->four, n->four);
    for (size_t i = 0; i < (size_t)n->nfree; i++)
        for (size_t k = 0; k < 3; k++) z[4 * i + k] = (float)n->four[4 * (3 * i + k)];
}

void fai_newton_kept(FaNewton *n, const float *r, float *z) {
    size_t rows = (size_t)n->nfree;
    if (n->options.kind == FA_NEWTON_JACOBI) {
        JacobiJob job = {n, r, z};
        fai_parallel(n->nfree, ROWS, jacobi_apply, &job);
    } else if (n->options.kind == FA_NEWTON_CHOL) {
        solve_double(n, r, z);
    } else {
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < 3; k++) n->one[3 * i + k] = r[4 * i + k];
        fai_chol_solve_rough(n->chol, n->one, n->one);
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < 3; k++) z[4 * i + k] = n->one[3 * i + k];
    }
}

bool fai_newton_factor(FaNewton *n) {
    double before = fai_seconds();
    fai_blocks_csr(n->blocks, &n->csr);
    FaError err = {0};
    n->ready = fai_chol_factor(n->chol, &n->csr, &err) >= 0;
    n->stale = !n->ready;
    n->factor_inertia = n->in->inertia + n->in->drag + n->proximal;
    n->report->refreshes++;
    n->report->seconds_factor += fai_seconds() - before;
    return n->ready;
}

// --- conjugate gradients ------------------------------------------------------------------------------------------

static FaLinear conjugate(FaNewton *n, double forcing) {
    const FaFieldShape *f = &n->shape;
    size_t bytes = f->n * sizeof(float);
    memset(n->d, 0, bytes);
    fai_field_sum(f, -1, n->gf, 0, NULL, NULL, n->r);
    double goal = forcing * forcing * fai_field_dot(f, n->r, n->r), rz_before = 0;
    FaLinear result = FA_LINEAR_SLOW;
    const bool smooth = fai_newton_smooth_begin(n);
    int k = 0;
    for (; k < CG_LIMIT; k++) {
        (smooth ? fai_newton_smoothed : fai_newton_kept)(n, n->r, n->z);
        double rz = fai_field_dot(f, n->r, n->z);
        if (!(rz > 0)) { // the preconditioner is not positive: rounding, or numbers that are not finite
            result = rz == 0 ? FA_LINEAR_OK : FA_LINEAR_NEGATIVE;
            break;
        }
        if (k == 0)
            memcpy(n->p, n->z, bytes);
        else
            fai_field_sum(f, rz / rz_before, n->p, 1, (double[]){1}, (const float *const[]){n->z}, n->p);
        rz_before = rz;
        fai_newton_mul(n, n->p, n->ap);
        double curve = fai_field_dot(f, n->p, n->ap);
        if (!(curve > 0)) {
            result = FA_LINEAR_NEGATIVE;
            break;
        }
        double a = rz / curve;
        fai_field_sum(f, 1, n->d, 1, &a, (const float *const[]){n->p}, n->d);
        double minus = -a;
        fai_field_sum(f, 1, n->r, 1, &minus, (const float *const[]){n->ap}, n->r);
        double left = fai_field_dot(f, n->r, n->r);
        n->linear = sqrt(left);
        if (left <= goal) {
            result = FA_LINEAR_OK;
            k++;
            break;
        }
    }
    n->report->cg += k;
    int refresh = n->options.refresh ? n->options.refresh : 15;
    if (n->options.kind == FA_NEWTON_PCG && !n->options.manual && k > refresh) n->stale = true;
    return result;
}

FaLinear fai_newton_direction(FaNewton *n, double forcing) {
    double before = fai_seconds();
    FaLinear result = FA_LINEAR_OK;
    if (n->options.kind == FA_NEWTON_JACOBI) fai_newton_jacobi(n);
    if (n->options.kind == FA_NEWTON_LBFGS) {
        fai_lbfgs_forward(&n->history, n->gf, n->r);
        fai_newton_kept(n, n->r, n->z);
        fai_lbfgs_backward(&n->history, n->z, n->d, NULL);
    } else if (n->options.kind == FA_NEWTON_CHOL && !fai_newton_outside(n)) {
        fai_newton_kept(n, n->gf, n->z);
        fai_field_sum(&n->shape, -1, n->z, 0, NULL, NULL, n->d);
    } else {
        result = conjugate(n, n->options.kind == FA_NEWTON_CHOL ? 1e-5 : forcing);
    }
    n->report->seconds_linear += fai_seconds() - before;
    return result;
}
