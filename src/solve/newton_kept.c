// H^-1 times right-hand sides of the caller's, for sensitivities (newton.h).
//
// The blocks are floats, so a direct solve with them ends at some 1e-5 on stiff flesh. Here they and the factor are
// only the preconditioner M of conjugate gradients in double, whose products are of the terms' own second derivatives:
//
//     z = M^-1 r,  beta = z . (r - r before) / (z . r) before,  p = z + beta p,  a = (z . r) / (p . H p)
//
// M is applied in float and so not quite linear; this beta (Polak and Ribiere's) forgives that where Fletcher and
// Reeves' does not. r - r before = -a H p is at hand. At the end r is taken anew from the right-hand side, and where
// rounding had it too small another round follows on what is left.
#include "solve/newton_work.h"

#include <math.h>

enum { ROUNDS = 4, PRODUCTS = 4000 };

typedef struct Kept {
    FaNewton *n;
    const double *b; // right-hand side, 0 at fixed nodes                               (nnode x 3)
    double *out;     // (nnode x 3)
    double *r, *p, *hp;
    double goal; // N
    int products;
} Kept;

static double dot(const FaNewton *n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)n->nnode; i++) sum += a[i] * b[i];
    return sum;
}

// n->z = M^-1 r / |r|: scaled, so that floats hold it.
static void precondition(const Kept *k, double size) {
    FaNewton *n = k->n;
    for (size_t i = 0; i < (size_t)n->nfree; i++)
        for (size_t a = 0; a < 3; a++) n->r[4 * i + a] = (float)(k->r[3 * (size_t)n->blocks->node[i] + a] / size);
    fai_newton_kept(n, n->r, n->z);
}

static double dot_z(const FaNewton *n, const double *v) {
    double sum = 0;
    for (size_t i = 0; i < (size_t)n->nfree; i++)
        for (size_t a = 0; a < 3; a++) sum += (double)n->z[4 * i + a] * v[3 * (size_t)n->blocks->node[i] + a];
    return sum;
}

// p = size z + beta p
static void turn(const Kept *k, double size, double beta) {
    const FaNewton *n = k->n;
    for (size_t i = 0; i < (size_t)n->nfree; i++)
        for (size_t a = 0; a < 3; a++) {
            double *p = k->p + 3 * (size_t)n->blocks->node[i] + a;
            *p = size * (double)n->z[4 * i + a] + beta * *p;
        }
}

// r = b - H out; returns its size.
static double leave(Kept *k) {
    size_t n = 3 * (size_t)k->n->nnode;
    fai_newton_product(k->n, k->out, k->hp);
    k->products++;
    for (size_t i = 0; i < n; i++) k->r[i] = k->b[i] - k->hp[i];
    return sqrt(dot(k->n, k->r, k->r));
}

// One round on r as it is; false: H is not positive definite. *size: |r|, as far as it knows.
static bool conjugate(Kept *k, double *size) {
    FaNewton *n = k->n;
    size_t count = 3 * (size_t)n->nnode;
    double rz_before = 0, a = 0;
    memset(k->p, 0, count * sizeof *k->p);
    for (int i = 0; *size > k->goal && k->products < PRODUCTS; i++) {
        precondition(k, *size);
        double rz = *size * dot_z(n, k->r), beta = i ? -a * *size * dot_z(n, k->hp) / rz_before : 0;
        if (!(rz > 0)) return true; // as far as floats tell
        turn(k, *size, fmax(beta, 0));
        fai_newton_product(n, k->p, k->hp);
        k->products++;
        double curve = dot(n, k->p, k->hp);
        if (!(curve > 0)) return false;
        a = dot(n, k->p, k->r) / curve;
        for (size_t j = 0; j < count; j++) k->out[j] += a * k->p[j], k->r[j] -= a * k->hp[j];
        rz_before = rz;
        *size = sqrt(dot(n, k->r, k->r));
    }
    return true;
}

static FaCode solve_one(FaNewton *n, const double *rhs, double *out, double tolerance, FaNewtonKept *report,
                        FaError *err) {
    Kept k = {n, n->rhs, out, n->x_next, n->g_next, n->g, 0, 0};
    for (size_t i = 0; i < 3 * (size_t)n->nnode; i++) n->rhs[i] = n->blocks->row[i / 3] < 0 ? 0 : rhs[i];
    double whole = sqrt(dot(n, n->rhs, n->rhs)), size = whole;
    if (!isfinite(whole))
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "check the right-hand sides", "a right-hand side is not a number");
    memset(out, 0, 3 * (size_t)n->nnode * sizeof *out);
    if (whole == 0) return FA_OK;
    k.goal = tolerance * whole;
    memcpy(k.r, n->rhs, 3 * (size_t)n->nnode * sizeof *k.r);
    for (int round = 0; round < ROUNDS && size > k.goal; round++) {
        if (!conjugate(&k, &size) && size > 1e-9 * whole)
            return FA_FAIL(err, FA_E_NUMERIC, NULL, "minimise first, and further",
                           "the second derivatives are not positive definite there");
        size = leave(&k);
    }
    report->products += k.products;
    report->residual = fmax(report->residual, size / whole);
    if (!isfinite(size))
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "check the terms' products", "second derivatives are not numbers");
    return size > k.goal ? FA_STALLED : FA_OK;
}

// A preconditioner of about the problem at n->x.
static bool make_ready(FaNewton *n) {
    n->hessian = FA_HESSIAN_TRUE;
    n->proximal = 0;
    if (n->options.kind == FA_NEWTON_JACOBI) {
        fai_newton_second(n, FA_HESSIAN_TRUE);
        fai_newton_jacobi(n);
        return true;
    }
    return n->nfree == 0 || fai_newton_fits(n) || fai_newton_definite(n);
}

FaCode fai_newton_kept_solve(FaNewton *n, const FaNewtonInput *in, const double *x, FaNewtonKept *kept, FaError *err) {
    kept->products = kept->refreshes = 0;
    kept->residual = 0;
    FA_TRY(fai_newton_check(n, in, x, err));
    for (int t = 0; t < n->nterm; t++)
        if (!n->term[t].product)
            return FA_FAIL(err, FA_E_UNSUPPORTED, FA_PLACE("term %s", n->term[t].name), "give it a product",
                           "it has no second derivatives in double");
    FaNewtonReport r = {0};
    n->in = in;
    n->report = &r;
    fai_newton_place(n, in, x, n->x);
    fai_newton_total(n, n->x, n->g, &n->scale);
    fai_newton_accept(n);
    bool ready = make_ready(n);
    kept->refreshes = r.refreshes;
    if (!ready)
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "paint attachments, or build the face again: fascia build RIG -o FACE",
                       "some flesh is held by nothing: its stiffness is not definite");
    FaCode worst = FA_OK;
    const double tolerance = kept->tolerance > 0 ? kept->tolerance : 1e-10;
    for (int i = 0; i < kept->nrhs && worst >= 0; i++) {
        size_t at = 3 * (size_t)n->nnode * (size_t)i;
        FaCode rc = solve_one(n, kept->rhs + at, kept->out + at, tolerance, kept, err);
        worst = rc < 0 ? rc : FA_MAX(worst, rc);
    }
    if (n->options.manual && r.refreshes > 0) n->ready = false;
    return worst;
}
