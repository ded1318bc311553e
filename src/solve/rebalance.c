#include "solve/rebalance.h"

#include "math/mat3.h"

#include <math.h>

// WORN: conjugate gradient iterations (L-BFGS: steps) lost that are worth a new factor, by measurement
// (docs/figures/enrich.md)
enum { FIELDS = 8, WORN_CG = 90, WORN_LBFGS = 8 }; // FIELDS of the state
static const double FORCING =
    0.01; // starts are good, so steps are nearly linear: more of CG, fewer Hessians and gradients

struct FaRebalance {
    const FaSolid *solid;
    FaRebalanceOptions o;
    size_t n, ntet;
    FaNewton *newton[2];       // of FaRebalanceFactor
    FaSolidRest *rest[2];      // of the state, and the next one's
    unsigned char *fixed;      //                                       (n)
    double *mass;              //                                       (n)
    double *mu[2], *lambda[2]; // as in rest[]                          (ntet)
    double floor;              // N
    FaArena *arena;

    // scratch, n x 3
    double *x, *x_new;             // after a step of time within the old rest shape; within the new one
    double *carried, *carried_new; // what elasticity and contact carry there, N
    double *y, *from;              // inertial prediction; where damping measures from
    double *stepped;               // displacement from the old rest shape after the step of time
    double *start, *force, *d_new, *w_new;

    // the state
    double *d, *d_last;  // from X; a step ago, carried to X      (n x 3)
    double *w, *w_last;  // in the world, in the axes of the pose (n x 3)
    double *gain_last;   // what d gained in the step before the last: for a good start   (n x 3)
    double *shift;       // what the last static solve added to d                        (n x 3)
    double *d_factor[2]; // d that each factor was made at                               (n x 3)
    struct Frame {
        FaPose pose, pose_last;
        double rate[9]; // 1/s, fai_inertial_rate of the step that made w
        double h_last;  // 0: no step before
        struct Factor {
            double h;     // step for which it was made; 0: there is none
            int64_t worn; // is it to be made anew (not a bool: the state's bytes have no gaps)
            double fresh; // iterations of the first solve on it; -1: not made yet
            double lost;  // more than those, in all solves since
        } factor[2];
    } frame;
};

// --- opening ------------------------------------------------------------------------------------------------------

static FaCode push_arrays(FaRebalance *r, FaError *err) {
    double **field[] = {&r->x,         &r->x_new,   &r->carried,     &r->carried_new, &r->y,
                        &r->from,      &r->stepped, &r->start,       &r->force,       &r->d_new,
                        &r->w_new,     &r->d,       &r->d_last,      &r->w,           &r->w_last,
                        &r->gain_last, &r->shift,   &r->d_factor[0], &r->d_factor[1]};
    bool ok = true;
    for (int i = 0; i < FA_COUNT(field); i++) ok &= (*field[i] = FA_PUSH(r->arena, 3 * r->n + 1, double)) != NULL;
    for (int i = 0; i < 2; i++) {
        ok &= (r->mu[i] = FA_PUSH(r->arena, r->ntet + 1, double)) != NULL;
        ok &= (r->lambda[i] = FA_PUSH(r->arena, r->ntet + 1, double)) != NULL;
    }
    ok &= (r->mass = FA_PUSH(r->arena, r->n + 1, double)) != NULL;
    ok &= (r->fixed = FA_PUSH(r->arena, r->n + 1, unsigned char)) != NULL;
    return ok ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode set_up(FaRebalance *r, const unsigned char *fixed, const double *mass, FaError *err) {
    r->n = (size_t)fai_solid_nodes(r->solid);
    r->ntet = (size_t)fai_solid_tets(r->solid);
    r->arena = fai_arena_new(0);
    if (!r->arena) return FA_FAIL_MEMORY(err);
    FA_TRY(push_arrays(r, err));
    memcpy(r->mass, mass, r->n * sizeof *mass);
    if (fixed) memcpy(r->fixed, fixed, r->n);
    double sum = 0, calm = r->o.calm > 0 ? r->o.calm : 0.1 * (r->o.tolerance > 0 ? r->o.tolerance : 1e-3);
    for (size_t i = 0; i < r->n; i++)
        if (!r->fixed[i]) sum += mass[i] * mass[i];
    r->floor = calm * sqrt(sum);
    for (int i = 0; i < 2; i++) FA_TRY(fai_solid_rest_new(r->solid, &r->rest[i], err));
    for (int i = 0; i < 2; i++) FA_TRY(fai_newton_new(r->solid, r->fixed, mass, &r->o.newton, &r->newton[i], err));
    return FA_OK;
}

FaCode fai_rebalance_new(const FaSolid *solid, const unsigned char *fixed, const double *mass,
                         const FaRebalanceOptions *options, FaRebalance **out, FaError *err) {
    *out = NULL;
    FaRebalance *r = FA_NEW(1, FaRebalance);
    if (!r) return FA_FAIL_MEMORY(err);
    r->solid = solid;
    r->o = *options;
    r->o.newton.manual = r->o.newton.brief = true;
    FaCode rc = set_up(r, fixed, mass, err);
    if (rc < 0)
        fai_rebalance_free(r);
    else
        *out = r;
    return rc;
}

void fai_rebalance_free(FaRebalance *r) {
    if (!r) return;
    fai_newton_free(r->newton[0]);
    fai_newton_free(r->newton[1]);
    fai_solid_rest_free(r->rest[0]);
    fai_solid_rest_free(r->rest[1]);
    fai_arena_free(r->arena);
    fa_free(r);
}

// --- rest shapes --------------------------------------------------------------------------------------------------

static FaCode set_rest(FaRebalance *r, int which, const double *X, const double *mu, const double *lambda, int *clamped,
                       FaError *err) {
    FA_TRY(fai_solid_rest_set(r->rest[which], X, mu, lambda, clamped, err));
    memcpy(r->mu[which], mu, r->ntet * sizeof *mu);
    memcpy(r->lambda[which], lambda, r->ntet * sizeof *lambda);
    return FA_OK;
}

static bool same_rest(const FaRebalance *r, const FaRebalanceInput *in) {
    return !memcmp(fai_solid_rest_x(r->rest[0]), in->X, 3 * r->n * sizeof(double)) &&
           !memcmp(r->mu[0], in->mu, r->ntet * sizeof(double)) &&
           !memcmp(r->lambda[0], in->lambda, r->ntet * sizeof(double));
}

// The next rest shape becomes the state's.
static void swap_rest(FaRebalance *r) {
    FaSolidRest *rest = r->rest[0];
    double *mu = r->mu[0], *lambda = r->lambda[0];
    r->rest[0] = r->rest[1];
    r->mu[0] = r->mu[1];
    r->lambda[0] = r->lambda[1];
    r->rest[1] = rest;
    r->mu[1] = mu;
    r->lambda[1] = lambda;
}

FaCode fai_rebalance_reset(FaRebalance *r, const double *X, const double *mu, const double *lambda, const FaPose *pose,
                           const double v[3], const double omega[3], FaError *err) {
    FA_TRY(set_rest(r, 0, X, mu, lambda, NULL, err));
    memset(r->d, 0, 3 * r->n * sizeof(double));
    memset(r->d_last, 0, 3 * r->n * sizeof(double));
    memset(r->w_last, 0, 3 * r->n * sizeof(double));
    memset(r->gain_last, 0, 3 * r->n * sizeof(double));
    memset(r->shift, 0, 3 * r->n * sizeof(double));
    for (int i = 0; i < 2; i++) memset(r->d_factor[i], 0, 3 * r->n * sizeof(double));
    fai_inertial_start_d(pose, v, omega, (int)r->n, X, r->w);
    double skew[9] = {0, -omega[2], omega[1], omega[2], 0, -omega[0], -omega[1], omega[0], 0};
    r->frame = (struct Frame){.pose = *pose, .pose_last = *pose};
    memcpy(r->frame.rate, skew, sizeof skew);
    return FA_OK;
}

void fai_rebalance_restart(FaRebalance *r, const FaPose *pose, const double v[3], const double omega[3]) {
    const double *X = fai_solid_rest_x(r->rest[0]);
    for (size_t i = 0; i < 3 * r->n; i++) r->start[i] = X[i] + r->d[i];
    fai_inertial_start_d(pose, v, omega, (int)r->n, r->start, r->w);
    memcpy(r->d_last, r->d, 3 * r->n * sizeof(double));
    memset(r->gain_last, 0, 3 * r->n * sizeof(double));
    double skew[9] = {0, -omega[2], omega[1], omega[2], 0, -omega[0], -omega[1], omega[0], 0};
    r->frame.pose = r->frame.pose_last = *pose;
    memcpy(r->frame.rate, skew, sizeof skew);
    r->frame.h_last = 0;
}

static FaCode make_factor(FaRebalance *r, FaRebalanceFactor which, const double *X, const double *mu,
                          const double *lambda, double h, FaError *err) {
    double eta = (r->o.scheme == FA_SCHEME_BDF2 ? 2.0 / 3 : 1) * h;
    FA_TRY(set_rest(r, 1, X, mu, lambda, NULL, err));
    double *x = r->start;
    for (size_t i = 0; i < 3 * r->n; i++) x[i] = X[i] + r->d_factor[which][i];
    FaNewtonInput p = {.rest = r->rest[1], .fixed_at = X};
    if (which == FA_REBALANCE_DYNAMIC) {
        p.inertia = 1 / (eta * eta);
        p.y = x;
        p.damping = (FaSolidDamping){r->o.beta / eta, x};
        p.drag = r->o.drag / eta;
    }
    return fai_newton_prepare(r->newton[which], &p, x, err);
}

FaCode fai_rebalance_prepare(FaRebalance *r, FaRebalanceFactor which, const double *X, const double *mu,
                             const double *lambda, FaError *err) {
    const struct Factor *f = &r->frame.factor[which];
    return f->h > 0 && !f->worn ? make_factor(r, which, X, mu, lambda, f->h, err) : FA_OK;
}

// --- a step -------------------------------------------------------------------------------------------------------

// Does any of the rows from `first` on push at x?
static bool pushes(const FaNewtonInput *p, int first, const double *x) {
    for (int i = first; i < p->nrow; i++) {
        const FaRow *row = &p->row[i];
        double depth = (double)row->gap;
        for (int k = 0; k < 3; k++) {
            double s = (double)row->offset[k];
            for (int j = 0; j < 4; j++)
                if (row->node[j] >= 0)
                    s += (double)row->weight[j] * (x[3 * row->node[j] + k] - p->row_base[3 * row->node[j] + k]);
            depth -= (double)row->normal[k] * s;
        }
        if (row->kind != FA_ROW_PUSH || depth > 0) return true;
    }
    return false;
}

// What the solve before spent, added.
static void add_spent(FaNewtonReport *r, const FaNewtonReport *before) {
    r->iterations += before->iterations;
    r->cg += before->cg;
    r->evaluations += before->evaluations;
    r->backtracks += before->backtracks;
    r->hessians += before->hessians;
    r->refreshes += before->refreshes;
    r->negative += before->negative;
    r->proximal += before->proximal;
    r->seconds += before->seconds;
    r->seconds_gradient += before->seconds_gradient;
    r->seconds_hessian += before->seconds_hessian;
    r->seconds_factor += before->seconds_factor;
    r->seconds_linear += before->seconds_linear;
}

// Solve, look what was met on the way, and once more if that is new.
static FaCode solve(FaRebalance *r, FaNewton *newton, const FaRebalanceInput *in, FaNewtonInput *p, double *x,
                    FaNewtonReport *report, int *stalled, FaError *err) {
    p->iterations = r->o.iterations;
    p->tolerance = r->o.tolerance;
    p->floor = r->floor;
    p->forcing = FORCING;
    p->row_base = in->base;
    bool stuck = false; // with what it touched first, or with all of it
    for (int pass = 0; pass < 2; pass++) {
        int before = p->nrow;
        if (in->collect) p->nrow = in->collect(in->collect_user, x, &p->row);
        if (pass > 0 && !pushes(p, before, x)) break;
        FaNewtonReport spent = *report;
        FaCode rc = fai_newton_solve(newton, p, x, report, err);
        if (rc < 0) return rc;
        if (pass > 0) add_spent(report, &spent);
        stuck |= rc == FA_STALLED;
        if (!in->collect) break;
    }
    *stalled += stuck;
    return FA_OK;
}

// Where inertia alone would bring the nodes, and what damping measures from; positions.
static double predict(FaRebalance *r, const FaInertia *inertia, const double *X) {
    double k = fai_inertial_prediction_d(inertia, r->y);
    bool two = inertia->scheme == FA_SCHEME_BDF2;
    double ratio = two ? inertia->h / inertia->h_before : 0, all = 1 + 2 * ratio;
    double a0 = two ? (1 + ratio) * (1 + ratio) / all : 1, a1 = two ? -ratio * ratio / all : 0;
    for (size_t i = 0; i < 3 * r->n; i++) {
        r->y[i] += X[i];
        r->from[i] = X[i] + (two ? a0 * r->d[i] + a1 * r->d_last[i] : r->d[i]);
    }
    return k;
}

// What elasticity and contact carry at x: the force that the static solve has to find again.
static void carry(FaRebalance *r, FaSolidRest *rest, const FaRebalanceInput *in, const FaNewtonInput *solved,
                  const double *x, double *carried) {
    FaNewtonInput only = {
        .rest = rest, .nrow = solved->nrow, .row = solved->row, .row_base = in->base, .fixed_at = solved->fixed_at};
    fai_newton_energy(r->newton[FA_REBALANCE_STATIC], &only, x, carried, NULL);
}

// Norm of a force over the free nodes: what a solve's gradient is compared with.
static double norm_of(const FaRebalance *r, const double *force) {
    double sum = 0;
    for (size_t i = 0; i < r->n; i++)
        if (!r->fixed[i]) sum += fai_v3_dot(force + 3 * i, force + 3 * i);
    return sqrt(sum);
}

// A step of time within rest shape `which`, the old or the new one: positions, and what is carried there.
static FaCode step_within(FaRebalance *r, const FaRebalanceInput *in, int which, double inertia, FaNewtonInput *p,
                          FaRebalanceReport *report, FaError *err) {
    double *x = which ? r->x_new : r->x, *carried = which ? r->carried_new : r->carried;
    const double *X = fai_solid_rest_x(r->rest[0]);
    double eta = 1 / sqrt(inertia), ahead = r->frame.h_last > 0 ? in->h / r->frame.h_last : 0;
    *p = (FaNewtonInput){.rest = r->rest[which],
                         .inertia = inertia,
                         .y = r->y,
                         .fixed_at = fai_solid_rest_x(r->rest[which]),
                         .force = in->force};
    p->damping = (FaSolidDamping){r->o.beta / eta, r->from};
    p->drag = r->o.drag / eta;
    // what inertia and gravity would push with if nothing moved
    for (size_t i = 0; i < 3 * r->n; i++)
        carried[i] = inertia * r->mass[i / 3] * (X[i] + r->d[i] - r->y[i]) - (in->force ? in->force[i] : 0);
    p->reference = norm_of(r, carried);
    // start where the motion against the head goes on, as it changed before
    for (size_t i = 0; i < 3 * r->n; i++)
        x[i] = X[i] + r->d[i] + ahead * (2 * (r->d[i] - r->d_last[i]) - r->gain_last[i]);
    FA_TRY(solve(r, r->newton[FA_REBALANCE_DYNAMIC], in, p, x, which ? &report->naive : &report->dynamic,
                 &report->stalled, err));
    carry(r, r->rest[which], in, p, x, carried);
    return FA_OK;
}

// From x' of the old rest shape (and x'' of the new one) to x, which carries the same in the new one.
static FaCode settle(FaRebalance *r, const FaRebalanceInput *in, double alpha, FaNewtonInput *p,
                     FaRebalanceReport *report, FaError *err) {
    const double *X = fai_solid_rest_x(r->rest[0]);
    for (size_t i = 0; i < 3 * r->n; i++) {
        r->force[i] = alpha == 1 ? r->carried[i] : alpha * r->carried[i] + (1 - alpha) * r->carried_new[i];
        r->start[i] = in->X[i] +
                      (alpha == 1 ? r->x[i] - X[i] : alpha * (r->x[i] - X[i]) + (1 - alpha) * (r->x_new[i] - in->X[i]));
        if (alpha == 1) r->start[i] += r->shift[i]; // as the last one
    }
    *p = (FaNewtonInput){
        .rest = r->rest[1], .fixed_at = in->X, .force = r->force, .nrow = p->nrow, .row = p->row, .row_base = in->base};
    p->reference = norm_of(r, r->force);
    FA_TRY(solve(r, r->newton[FA_REBALANCE_STATIC], in, p, r->start, &report->settle, &report->stalled, err));
    for (size_t i = 0; i < 3 * r->n; i++) r->d_new[i] = r->start[i] - in->X[i];
    return FA_OK;
}

// The new state: increment and velocity are those of the step of time; the rest's own motion carries the head's
// velocity along.
static void finish(FaRebalance *r, const FaRebalanceInput *in, const FaInertia *inertia, bool moved,
                   double carried_share) {
    const double *X = fai_solid_rest_x(r->rest[0]);
    double rate[9];
    fai_inertial_rate(inertia, rate);
    fai_inertial_velocity_d(inertia, r->stepped, r->w_new);
    for (size_t i = 0; i < r->n; i++) {
        double shift[3], now[3], last[3];
        for (size_t k = 0; k < 3; k++) shift[k] = carried_share * (in->X[3 * i + k] - X[3 * i + k]);
        fai_m3_mulv(rate, shift, now);
        fai_m3_mulv(r->frame.rate, shift, last);
        for (size_t k = 0; k < 3; k++) {
            size_t j = 3 * i + k;
            r->gain_last[j] = r->d[j] - r->d_last[j];
            r->shift[j] = moved && carried_share == 1 ? r->d_new[j] - r->stepped[j] : 0;
            r->d_last[j] = r->d_new[j] - (r->stepped[j] - r->d[j]);
            r->d[j] = r->d_new[j];
            r->w_last[j] = r->w[j] + last[k];
            r->w[j] = r->w_new[j] + now[k];
        }
    }
    memcpy(r->frame.rate, rate, sizeof rate);
    r->frame.pose_last = r->frame.pose;
    r->frame.pose = in->pose;
    r->frame.h_last = in->h;
}

static FaInertia inertia_of(const FaRebalance *r, const FaRebalanceInput *in) {
    FaInertia inertia = {.scheme = r->frame.h_last > 0 ? r->o.scheme : FA_SCHEME_EULER,
                         .nnode = (int)r->n,
                         .x0 = fai_solid_rest_x(r->rest[0]),
                         .h = in->h,
                         .h_before = r->frame.h_last,
                         .pose = in->pose,
                         .now = {.pose = r->frame.pose, .ud = r->d, .wd = r->w},
                         .before = {.pose = r->frame.pose_last, .ud = r->d_last, .wd = r->w_last}};
    memcpy(inertia.accel, in->accel, sizeof inertia.accel);
    return inertia;
}

// Is a new factor due? When that much was lost against the first solve on this one.
static void wear(FaRebalance *r, FaRebalanceFactor which, const FaNewtonReport *report) {
    struct Factor *f = &r->frame.factor[which];
    bool lbfgs = r->o.newton.kind == FA_NEWTON_LBFGS;
    if (fai_newton_worn(r->newton[which])) f->worn = true;
    if (f->worn || (!lbfgs && r->o.newton.kind != FA_NEWTON_PCG)) return;
    double spent = lbfgs ? report->iterations : report->cg;
    if (f->fresh < 0) f->fresh = spent;
    f->lost += fmax(spent - f->fresh, 0);
    f->worn = f->lost > (lbfgs ? WORN_LBFGS : WORN_CG);
}

// Before a solve on it that is of the body as the step found it.
static FaCode renew(FaRebalance *r, FaRebalanceFactor which, double h, FaRebalanceReport *report, FaError *err) {
    struct Factor *f = &r->frame.factor[which];
    report->prepared[which] = f->h == 0 || f->worn;
    if (!report->prepared[which]) return FA_OK;
    memcpy(r->d_factor[which], r->d, 3 * r->n * sizeof(double));
    FA_TRY(make_factor(r, which, fai_solid_rest_x(r->rest[0]), r->mu[0], r->lambda[0], h, err));
    *f = (struct Factor){.h = h, .fresh = -1};
    return FA_OK;
}

FaCode fai_rebalance_step(FaRebalance *r, const FaRebalanceInput *in, FaRebalanceReport *report, FaError *err) {
    FaRebalanceReport own;
    if (!report) report = &own;
    *report = (FaRebalanceReport){0};
    double begin = fai_seconds();
    const double *X = fai_solid_rest_x(r->rest[0]);
    bool moved = !same_rest(r, in);
    double alpha = moved ? r->o.alpha : 1;
    FA_TRY(renew(r, FA_REBALANCE_DYNAMIC, in->h, report, err));
    if (moved && alpha > 0) FA_TRY(renew(r, FA_REBALANCE_STATIC, in->h, report, err));
    if (moved) FA_TRY(set_rest(r, 1, in->X, in->mu, in->lambda, &report->clamped, err));
    FaInertia inertia = inertia_of(r, in);
    double k = predict(r, &inertia, X);
    FaNewtonInput p = {0};
    if (alpha > 0) FA_TRY(step_within(r, in, 0, k, &p, report, err));
    if (alpha < 1) FA_TRY(step_within(r, in, 1, k, &p, report, err));
    for (size_t i = 0; i < 3 * r->n; i++) {
        if (alpha == 0) r->x[i] = r->x_new[i];
        r->stepped[i] = alpha == 1 || alpha == 0 ? r->x[i] - X[i] : alpha * r->x[i] + (1 - alpha) * r->x_new[i] - X[i];
        r->d_new[i] = moved ? r->x[i] - in->X[i] : r->stepped[i];
    }
    if (moved && alpha > 0) FA_TRY(settle(r, in, alpha, &p, report, err));
    finish(r, in, &inertia, moved, alpha);
    if (alpha > 0) wear(r, FA_REBALANCE_DYNAMIC, &report->dynamic);
    if (alpha < 1) wear(r, FA_REBALANCE_DYNAMIC, &report->naive);
    if (moved && alpha > 0) wear(r, FA_REBALANCE_STATIC, &report->settle);
    if (moved) swap_rest(r);
    report->seconds = fai_seconds() - begin;
    return report->stalled ? FA_STALLED : FA_OK;
}

FaCode fai_rebalance_settle(FaRebalance *r, const FaRebalanceInput *in, FaRebalanceReport *report, FaError *err) {
    FaRebalanceReport own;
    if (!report) report = &own;
    *report = (FaRebalanceReport){0};
    double begin = fai_seconds();
    FA_TRY(set_rest(r, 1, in->X, in->mu, in->lambda, &report->clamped, err));
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < 3; k++) {
            r->force[3 * i + k] = r->mass[i] * in->accel[k] + (in->force ? in->force[3 * i + k] : 0);
            r->x[3 * i + k] = in->X[3 * i + k] + r->d[3 * i + k];
        }
    FaNewtonInput p = {.rest = r->rest[1], .fixed_at = in->X, .force = r->force};
    FA_TRY(solve(r, r->newton[FA_REBALANCE_STATIC], in, &p, r->x, &report->settle, &report->stalled, err));
    for (size_t i = 0; i < 3 * r->n; i++) r->d[i] = r->d_last[i] = r->x[i] - in->X[i];
    memset(r->gain_last, 0, 3 * r->n * sizeof(double));
    memset(r->shift, 0, 3 * r->n * sizeof(double));
    r->frame.h_last = 0;
    swap_rest(r);
    report->seconds = fai_seconds() - begin;
    return report->stalled ? FA_STALLED : FA_OK;
}

// --- looking and keeping ------------------------------------------------------------------------------------------

double *fai_rebalance_d(FaRebalance *r) { return r->d; }
const double *fai_rebalance_rest(const FaRebalance *r) { return fai_solid_rest_x(r->rest[0]); }

void fai_rebalance_calm(FaRebalance *r, const float *keep) {
    double mean[3] = {0};
    int whole = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (keep[i] < 1) continue;
        for (size_t k = 0; k < 3; k++) mean[k] += r->w[3 * i + k];
        whole++;
    }
    double *shrink[] = {r->d, r->d_last, r->gain_last, r->shift}, *calm[] = {r->w, r->w_last};
    for (size_t i = 0; i < 3 * r->n; i++) {
        double g = (double)keep[i / 3];
        if (g >= 1) continue;
        for (int a = 0; a < FA_COUNT(shrink); a++) shrink[a][i] *= g;
        for (int a = 0; a < FA_COUNT(calm); a++) calm[a][i] = g * calm[a][i] + (1 - g) * mean[i % 3] / FA_MAX(whole, 1);
    }
}

void fai_rebalance_energy(FaRebalance *r, double *kinetic, double *elastic) {
    const double *X = fai_solid_rest_x(r->rest[0]);
    double sum = 0, h = r->frame.h_last;
    for (size_t i = 0; i < r->n && h > 0; i++)
        for (size_t k = 0; k < 3; k++) {
            double v = (r->d[3 * i + k] - r->d_last[3 * i + k]) / h;
            sum += 0.5 * r->mass[i] * v * v;
        }
    for (size_t i = 0; i < 3 * r->n; i++) r->x[i] = X[i] + r->d[i];
    *kinetic = sum;
    *elastic = fai_solid_energy(r->rest[0], r->x, NULL, NULL);
}

size_t fai_rebalance_state_size(const FaRebalance *r) { return FIELDS * 3 * r->n * sizeof(double) + sizeof r->frame; }

void fai_rebalance_save(const FaRebalance *r, void *state) {
    const double *field[FIELDS] = {r->d,         r->d_last, r->w,           r->w_last,
                                   r->gain_last, r->shift,  r->d_factor[0], r->d_factor[1]};
    size_t size = 3 * r->n * sizeof(double);
    unsigned char *at = state;
    for (int i = 0; i < FIELDS; i++, at += size) memcpy(at, field[i], size);
    memcpy(at, &r->frame, sizeof r->frame);
}

FaCode fai_rebalance_load(FaRebalance *r, const void *state, const double *X, const double *mu, const double *lambda,
                          FaError *err) {
    FA_TRY(set_rest(r, 0, X, mu, lambda, NULL, err));
    double *field[FIELDS] = {r->d, r->d_last, r->w, r->w_last, r->gain_last, r->shift, r->d_factor[0], r->d_factor[1]};
    size_t size = 3 * r->n * sizeof(double);
    const unsigned char *at = state;
    for (int i = 0; i < FIELDS; i++, at += size) memcpy(field[i], at, size);
    memcpy(&r->frame, at, sizeof r->frame);
    return FA_OK;
}

double fai_rebalance_distance(const FaRebalance *r, const void *state, double h) {
    const double *field[] = {r->d, r->d_last, r->w, r->w_last};
    double worst = 0, scale[] = {1, 1, h, h};
    for (size_t a = 0; a < 4; a++)
        for (size_t i = 0; i < 3 * r->n; i++) {
            double was;
            memcpy(&was, (const unsigned char *)state + (3 * r->n * a + i) * sizeof was, sizeof was);
            worst = fmax(worst, scale[a] * fabs(field[a][i] - was));
        }
    return worst;
}
