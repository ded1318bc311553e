// A direction from a gradient. d = -H g with H the inverse of (nearly) A, corrected by the history where there is one.
//
// QUICK  H0: prefactored A; forward to the zone, contact rows there by Woodbury, backward. Of the PUSH rows those that
// will act. GS     H0: Gauss-Seidel sweeps on A with all rows (thesis 001 alg. 2) PD     H0: the inverse of A with all
// rows, no history: d is the step of eq. 3.14
#include "energy/kernel.h"
#include "solve/solver.h"

#include <math.h>

enum { MOST_SWEEPS = 4096, MOST_CG = 400, ROUNDS = 2, ROUNDS_ONCE = 6 };
static const double CG_TOLERANCE = 1e-7; // of the residual's norm

int fai_global_rows(FaProjective *p) {
    const FaProjectiveInput *in = p->in;
    int left = in->nrow;
    if (p->refactor) p->report->refactored = fai_refactor_turn(p->refactor, in->inertia, &p->chol);
    if (p->sweeper) fai_sweeper_rows(p->sweeper, in->inertia, in->nrow, in->row);
    if (p->fold) left = fai_fold_rows(p->fold, in->nrow, in->row, fai_chol_zone_inverse(p->chol));
    if (p->fold && p->options.kind == FA_SOLVE_PD) fai_fold_active(p->fold, NULL);
    p->exact = left == 0 && in->inertia == p->options.inertia;
    return p->options.kind == FA_SOLVE_GS ? 0 : left;
}

// r = H0 q by the factor and the folded rows
static void apply_factor(FaProjective *p, const float *q, float *r) {
    if (!p->fold || fai_fold_empty(p->fold)) {
        fai_chol_solve_f(p->chol, q, r);
        return;
    }
    fai_chol_forward_f(p->chol, q, p->zone_b);
    fai_fold_solve(p->fold, p->chol, p->zone_b, p->zone_x);
    fai_chol_backward_f(p->chol, p->zone_x, r);
}

// Plain projective dynamics where the factor is not quite the matrix (rows outside the zone, another inertia):
// conjugate gradients on the very matrix, with the factor as preconditioner. Few steps: the two differ by few rows.
static void solve_exactly(FaProjective *p, const float *b, float *x) {
    const FaFieldShape *f = &p->shape;
    float *res = p->cg[0], *dir = p->cg[1], *prod = p->cg[2];
    memset(x, 0, f->n * sizeof *x);
    memcpy(res, b, f->n * sizeof *res);
    apply_factor(p, res, p->q);
    memcpy(dir, p->q, f->n * sizeof *dir);
    double rz = fai_field_dot(f, res, p->q), first = rz;
    for (int k = 0; k < MOST_CG && rz > CG_TOLERANCE * CG_TOLERANCE * first; k++) {
        fai_sweeper_mul(p->sweeper, dir, prod);
        double step = rz / fai_field_dot(f, dir, prod);
        if (!isfinite(step)) break;
        fai_field_sum(f, 1, x, 1, &step, &(const float *){dir}, x);
        fai_field_sum(f, 1, res, 1, &(double){-step}, &(const float *){prod}, res);
        apply_factor(p, res, p->q);
        double next = fai_field_dot(f, res, p->q);
        fai_field_sum(f, 1, p->q, 1, &(double){next / rz}, &(const float *){dir}, dir);
        rz = next;
    }
}

// Also leaves u + d in u_next, where the line search begins.
static void direction_quick(FaProjective *p, double *slope) {
    const float *q = p->g;
    FaFieldMore more = {p->g, slope, p->u, p->u_next};
    if (p->history.count) fai_lbfgs_forward(&p->history, p->g, p->q), q = p->q;
    if (!p->fold || !p->in->nrow) {
        fai_chol_solve_f(p->chol, q, p->r);
        fai_lbfgs_backward(&p->history, p->r, p->d, &more);
        return;
    }
    fai_chol_forward_f(p->chol, q, p->zone_b);
    // with the rows that act at the end of the step; where guessing those led uphill, with those that act now
    for (int rounds = p->once ? ROUNDS_ONCE : ROUNDS; rounds > 0; rounds = rounds > 1 ? 1 : 0) {
        fai_fold_step(p->fold, p->chol, p->in->row, p->u, p->active, rounds, p->zone_b, p->zone_x);
        fai_chol_backward_f(p->chol, p->zone_x, p->r);
        fai_lbfgs_backward(&p->history, p->r, p->d, &more);
        if (*slope < 0) return;
    }
}

static void direction_pd(FaProjective *p, double *slope) {
    if (p->exact)
        apply_factor(p, p->g, p->r);
    else
        solve_exactly(p, p->g, p->r);
    fai_field_sum_more(&p->shape, -1, p->r, 0, NULL, NULL, p->d, &(FaFieldMore){.with = p->g, .dot = slope});
}

// Alg. 2. Its sweeps start from q, a force, taken for a displacement: what that means depends on the units. In ours it
// is a start far out, from which line search doubles the sweeps at once; where A is large it never recovers. We read it
// in units of A's diagonal, the only ones at hand.
static void direction_gs(FaProjective *p, double *slope) {
    fai_lbfgs_forward(&p->history, p->g, p->q);
    fai_sweeper_start(p->sweeper, p->q, p->r);
    int sweeps = p->sweeps - 1;
    fai_sweeper_sweep(p->sweeper, sweeps, p->q, p->r);
    do {
        fai_sweeper_sweep(p->sweeper, 1, p->q, p->r);
        sweeps++;
        fai_lbfgs_backward(&p->history, p->r, p->d, &(FaFieldMore){.with = p->g, .dot = slope});
    } while (!(*slope < 0) && sweeps < MOST_SWEEPS);
    p->report->sweeps += sweeps;
}

void fai_global_direction(FaProjective *p, double *slope) {
    if (p->options.kind == FA_SOLVE_GS) {
        // where nothing pulls no number of sweeps finds a descent
        *slope = -fai_field_dot(&p->shape, p->g, p->g);
        if (*slope < 0) direction_gs(p, slope);
        return;
    }
    if (p->options.kind == FA_SOLVE_PD)
        direction_pd(p, slope);
    else
        direction_quick(p, slope);
}
