#include "solve/newton_work.h"

#include "base/task.h"
#include "energy/push_pull.h"

#include <math.h>

enum { NODES = 1024, HALVINGS = 40 };
static const double KEEP = 0.1; // a step that leaves less of the gradient than this share keeps its Hessian

const char *const fai_newton_kind_name[FA_NEWTON_KINDS] = {"pcg", "jacobi", "lbfgs", "chol"};

const char *fai_newton_status_name(FaNewtonStatus status) {
    static const char *const name[FA_NEWTON_STATUSES] = {"converged", "at the floor", "rounded", "iterations used up",
                                                         "stalled"};
    return (unsigned)status < FA_NEWTON_STATUSES ? name[status] : "unknown";
}

// --- making -------------------------------------------------------------------------------------------------------

static FaCode push_arrays(FaNewton *n, FaError *err) {
    size_t nodes = 3 * (size_t)n->nnode, rows = (size_t)FA_MAX(n->options.max_rows, 1),
           chunks = (size_t)fai_chunks(n->nnode, NODES);
    FaArena *a = n->arena;
    bool ok = (n->x = FA_PUSH(a, nodes, double)) && (n->g = FA_PUSH(a, nodes, double)) &&
              (n->x_next = FA_PUSH(a, nodes, double)) && (n->g_next = FA_PUSH(a, nodes, double)) &&
              (n->rhs = FA_PUSH(a, nodes, double)) && (n->part = FA_PUSH(a, 2 * chunks, double)) &&
              (n->active = FA_PUSH(a, rows, FaRowAct)) && (n->active_next = FA_PUSH(a, rows, FaRowAct)) &&
              (n->one = FA_PUSH(a, 3 * (size_t)n->nfree, float)) &&
              (n->jacobi = FA_PUSH(a, 9 * (size_t)n->nfree, float));
    if (ok && n->options.kind == FA_NEWTON_CHOL) ok = (n->four = FA_PUSH(a, 12 * (size_t)n->nfree, double)) != NULL;
    FA_TRY(fai_field_shape(a, n->nfree, &n->shape, err));
    float **field[] = {&n->gf, &n->gf_next, &n->d, &n->r, &n->z, &n->p, &n->ap};
    for (int i = 0; i < FA_COUNT(field); i++) ok = ok && (*field[i] = fai_field_new(&n->shape, a));
    return ok ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode copy_mass(FaNewton *n, const double *mass, FaError *err) {
    n->mass_mean = 1;
    if (!mass) return FA_OK;
    n->mass = FA_PUSH(n->arena, n->nnode, double);
    if (!n->mass) return FA_FAIL_MEMORY(err);
    double sum = 0;
    for (int v = 0; v < n->nnode; v++) {
        if (!(mass[v] > 0 && mass[v] < 1e12))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("node %d", v), "masses are positive, kg", "a mass of %g", mass[v]);
        n->mass[v] = mass[v];
        if (n->blocks->row[v] >= 0) sum += mass[v];
    }
    n->mass_mean = n->nfree ? sum / n->nfree : 1;
    return FA_OK;
}

// The pattern: pairs of nodes of elements, and those that terms ask for.
static FaCode make_blocks(FaNewton *n, const unsigned char *fixed, FaError *err) {
    size_t total = 0;
    for (int t = 0; t < n->nterm; t++) {
        const FaTerm *term = &n->term[t];
        for (int i = 0; i < 2 * term->npair; i++)
            if (term->pair[i] < 0 || term->pair[i] >= n->nnode)
                return FA_FAIL(err, FA_E_ARG, FA_PLACE("term %s, pair %d", term->name, i / 2), "use nodes of the solid",
                               "node %d of %d", term->pair[i], n->nnode);
        total += (size_t)term->npair;
    }
    if (total > INT32_MAX / 16)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "couple fewer nodes", "%zu pairs of nodes are too many", total);
    int *pair = total ? FA_NEW(2 * total, int) : NULL, at = 0;
    if (total && !pair) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < n->nterm; t++)
        for (int i = 0; i < 2 * n->term[t].npair; i++) pair[at++] = n->term[t].pair[i];
    FaCode rc = fai_blocks_new(n->solid, fixed, (int)total, pair, &n->blocks, err);
    fa_free(pair);
    return rc;
}

static FaCode build(FaNewton *n, const unsigned char *fixed, const double *mass, FaError *err) {
    n->arena = fai_arena_new(0);
    if (!n->arena) return FA_FAIL_MEMORY(err);
    n->nnode = fai_solid_nodes(n->solid);
    FA_TRY(fai_newton_terms(n, n->options.nterm, n->options.term, err));
    FA_TRY(make_blocks(n, fixed, err));
    n->nfree = n->blocks->nfree;
    FA_TRY(copy_mass(n, mass, err));
    FA_TRY(push_arrays(n, err));
    if (n->options.kind == FA_NEWTON_PCG) FA_TRY(fai_newton_smooth_new(n, n->options.relax, err));
    if (n->options.kind == FA_NEWTON_LBFGS)
        FA_TRY(fai_lbfgs_init(&n->history, &n->shape, n->options.history, n->arena, err));
    if (n->options.kind == FA_NEWTON_JACOBI || n->nfree == 0) return FA_OK;
    FA_TRY(fai_blocks_pattern(n->blocks, &n->csr, err));
    bool rough = n->options.kind != FA_NEWTON_CHOL;
    FaCholOptions chol = {.order = n->options.order, .single = rough, .rough = rough};
    if (!rough) chol.backend = n->options.backend;
    return fai_chol_analyze(&n->csr, &chol, &n->chol, err);
}

FaCode fai_newton_new(const FaSolid *solid, const unsigned char *fixed, const double *mass,
                      const FaNewtonOptions *options, FaNewton **newton, FaError *err) {
    *newton = NULL;
    FaNewtonOptions o = options ? *options : (FaNewtonOptions){0};
    if (o.history == 0) o.history = 10;
    if ((unsigned)o.kind >= FA_NEWTON_KINDS || o.max_rows < 0 || o.max_springs < 0 || o.nterm < 0 || o.refresh < 0 ||
        o.relax < 0 || o.history < 1 || o.history > FA_LBFGS_MAX)
        return FA_FAIL(err, FA_E_ARG, NULL, "use the documented ranges", "there is no such solver");
    FaNewton *n = FA_NEW(1, FaNewton);
    if (!n) return FA_FAIL_MEMORY(err);
    n->solid = solid;
    n->options = o;
    FaCode rc = build(n, fixed, mass, err);
    if (rc < 0)
        fai_newton_free(n);
    else
        *newton = n;
    return rc;
}

void fai_newton_free(FaNewton *n) {
    if (!n) return;
    fai_blocks_free(n->blocks);
    fai_chol_free(n->chol);
    fai_csr_free(&n->csr);
    fai_arena_free(n->arena);
    fa_free(n);
}

// --- checks -------------------------------------------------------------------------------------------------------

static FaCode check_array(const double *a, int n, const char *what, FaError *err) {
    if (!a) return FA_OK;
    for (int i = 0; i < 3 * n; i++)
        if (!(fabs(a[i]) < 1e15))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("node %d", i / 3), "check the input of this step", "%s: %g",
                           what, a[i]);
    return FA_OK;
}

FaCode fai_newton_check(const FaNewton *n, const FaNewtonInput *in, const double *x, FaError *err) {
    FA_ASSERT(in->rest && !(in->inertia > 0 && !in->y) &&
              !((in->drag > 0 || in->damping.share > 0) && !in->damping.from));
    FA_ASSERT(!(in->nrow > 0 && !in->row_base));
    if (!(in->inertia >= 0 && in->inertia < 1e15 && in->drag >= 0 && in->drag < 1e15 && in->damping.share >= 0 &&
          in->damping.share < 1e12))
        return FA_FAIL(err, FA_E_ARG, NULL, "they are 0 or more", "inertia %g, drag %g, damping %g", in->inertia,
                       in->drag, in->damping.share);
    if ((in->inertia > 0 || in->drag > 0) && !n->mass)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the solver masses", "inertia without masses");
    FA_TRY(fai_rows_check(in->nrow, in->row, n->nnode, n->options.max_rows, err));
    if (in->nspring > n->options.max_springs)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "make the solver with room for them", "%d springs, room for %d",
                       in->nspring, n->options.max_springs);
    for (int i = 0; i < in->nspring; i++) {
        const FaSpring *s = &in->spring[i];
        bool good = s->node >= 0 && s->node < n->nnode && s->stiffness >= 0 && s->stiffness < 1e15;
        for (int k = 0; k < 3; k++) good = good && fabs(s->to[k]) < 1e15 && fabs(s->normal[k]) < 2;
        if (!good)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("spring %d", i), "check its node, stiffness and target",
                           "a spring that makes no sense");
    }
    FA_TRY(check_array(x, n->nnode, "a start position", err));
    FA_TRY(check_array(in->inertia > 0 ? in->y : NULL, n->nnode, "an inertial prediction", err));
    FA_TRY(check_array(in->drag > 0 || in->damping.share > 0 ? in->damping.from : NULL, n->nnode,
                       "a position that damping starts from", err));
    FA_TRY(check_array(in->force, n->nnode, "a force", err));
    if (!in->fixed_at) return FA_OK;
    for (int v = 0; v < n->nnode; v++)
        for (int k = 0; n->blocks->row[v] < 0 && k < 3; k++)
            if (!(fabs(in->fixed_at[3 * v + k]) < 1e6))
                return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("node %d", v), "check the pose of this frame",
                               "a fixed node at %g", in->fixed_at[3 * v + k]);
    return FA_OK;
}

void fai_newton_place(FaNewton *n, const FaNewtonInput *in, const double *x, double *to) {
    memcpy(to, x, 3 * (size_t)n->nnode * sizeof *to);
    if (!in->fixed_at) return;
    for (int v = 0; v < n->nnode; v++)
        if (n->blocks->row[v] < 0) memcpy(to + 3 * (size_t)v, in->fixed_at + 3 * (size_t)v, 3 * sizeof *to);
}

double fai_newton_energy(FaNewton *n, const FaNewtonInput *in, const double *x, double *gradient, double *norm) {
    FaNewtonReport report = {0};
    n->in = in;
    n->report = &report;
    fai_newton_place(n, in, x, n->x_next);
    double *g = gradient ? gradient : n->g_next, energy = fai_newton_total(n, n->x_next, g, NULL);
    if (norm) *norm = fai_newton_norm(n, g, NULL);
    n->report = NULL; // it ends with this call
    return energy;
}

// --- line search --------------------------------------------------------------------------------------------------

typedef struct Step {
    double slope, length, energy, fall, scale;
    bool rounded; // the fall is below the rounding of energies
} Step;

static void try_point(FaNewton *n, Step *s) {
    double before = fai_seconds();
    for (int i = 0; i < n->nfree; i++) {
        size_t v = 3 * (size_t)n->blocks->node[i];
        for (size_t k = 0; k < 3; k++) n->x_next[v + k] = n->x[v + k] + s->length * (double)n->d[4 * (size_t)i + k];
    }
    s->energy = fai_newton_total(n, n->x_next, n->g_next, &s->scale);
    n->report->evaluations++;
    n->report->seconds_gradient += fai_seconds() - before;
}

// Armijo; where the fall is lost in the rounding of the energies, by the slope at the new point (Hager and Zhang's
// approximate Wolfe rule), with the fall by the trapezoid of the slopes. False: no lower energy.
static bool search(FaNewton *n, Step *s) {
    s->slope = 0;
    for (int i = 0; i < n->nfree; i++) {
        const double *g = n->g + 3 * (size_t)n->blocks->node[i];
        const float *d = n->d + 4 * (size_t)i;
        s->slope += g[0] * (double)d[0] + g[1] * (double)d[1] + g[2] * (double)d[2];
    }
    if (!(s->slope < 0)) return false;
    s->length = 1;
    for (int k = 0; k < HALVINGS; k++) {
        try_point(n, s);
        double fall = s->energy - n->energy, rounding = 4e-15 * (s->scale + n->scale), after = 0;
        if (isfinite(s->energy)) {
            if (fall < -rounding && fall <= 1e-4 * s->length * s->slope) {
                s->fall = fall;
                return true;
            }
            if (fabs(fall) <= rounding) {
                for (int i = 0; i < n->nfree; i++) {
                    const double *g = n->g_next + 3 * (size_t)n->blocks->node[i];
                    const float *d = n->d + 4 * (size_t)i;
                    after += g[0] * (double)d[0] + g[1] * (double)d[1] + g[2] * (double)d[2];
                }
                if (after <= -0.9998 * s->slope) {
                    s->fall = 0.5 * s->length * (s->slope + after);
                    s->rounded = true;
                    return s->fall < 0;
                }
            }
        }
        n->report->backtracks++;
        // the minimum of the parabola through value, slope and new value, within a tenth and a half
        double curve = fall - s->slope * s->length,
               best = isfinite(curve) && curve > 0 ? -0.5 * s->slope * s->length / curve : 0.1;
        s->length *= fmin(fmax(best, 0.1), 0.5);
    }
    return false;
}

static void accept(FaNewton *n, const Step *s) {
    double *x = n->x, *g = n->g;
    n->x = n->x_next, n->x_next = x;
    n->g = n->g_next, n->g_next = g;
    fai_newton_accept(n);
    n->energy = s->energy;
    n->scale = s->scale;
}

// --- steps --------------------------------------------------------------------------------------------------------

bool fai_newton_definite(FaNewton *n) {
    static const FaSolidHessian order[] = {FA_HESSIAN_TRUE, FA_HESSIAN_PROJECTED, FA_HESSIAN_SAFE};
    for (int k = n->hessian == FA_HESSIAN_TRUE ? 0 : (int)n->hessian; k < FA_COUNT(order); k++) {
        if (order[k] != n->hessian || k == 0) fai_newton_second(n, order[k]);
        if (fai_newton_factor(n)) return true;
        n->report->negative++;
    }
    // indefinite for good: single elements without any stiffness. A mass term that only bends the direction
    for (int tries = 0; tries < 12; tries++) {
        n->proximal = n->proximal > 0 ? 10 * n->proximal : 1e3;
        fai_newton_second(n, FA_HESSIAN_SAFE);
        if (fai_newton_factor(n)) return true;
    }
    return false;
}

bool fai_newton_fits(const FaNewton *n) {
    double now = n->in->inertia + n->in->drag + n->proximal, was = n->factor_inertia;
    if (n->options.manual && n->ready && n->report->refreshes == 0) return true;
    return n->ready && !n->stale && fabs(now - was) <= 0.3 * fmax(now, was);
}

// One step: direction and line search. False: no lower energy even with a definite, damped Hessian.
static bool newton_step(FaNewton *n, double forcing, Step *s) {
    FaNewtonKind kind = n->options.kind;
    n->hessian = FA_HESSIAN_TRUE;
    n->proximal = 0;
    bool assembled = false;
    if (kind == FA_NEWTON_CHOL || (kind != FA_NEWTON_JACOBI && !fai_newton_fits(n))) {
        if (!fai_newton_definite(n)) return false;
        assembled = true;
        n->kept = false;
        if (kind == FA_NEWTON_LBFGS) fai_lbfgs_clear(&n->history);
    }
    for (int tries = 0; tries < 14; tries++) {
        if (!assembled && !n->kept && kind != FA_NEWTON_LBFGS) fai_newton_second(n, n->hessian);
        assembled = false;
        FaLinear linear = fai_newton_direction(n, forcing);
        if (linear != FA_LINEAR_NEGATIVE && search(n, s)) {
            n->report->proximal += n->proximal > 0;
            return true;
        }
        if (fabs(s->slope) <= 1e-15 * n->scale && linear != FA_LINEAR_NEGATIVE) return false; // rounding
        if (n->kept) {                                                                        // here, then
            n->kept = false;
            continue;
        }
        n->report->negative += linear == FA_LINEAR_NEGATIVE;
        // a definite Hessian; then ever heavier ones
        if (kind == FA_NEWTON_LBFGS && n->history.count) {
            fai_lbfgs_clear(&n->history);
            continue;
        }
        if (n->hessian == FA_HESSIAN_TRUE)
            n->hessian = FA_HESSIAN_SAFE;
        else
            n->proximal = n->proximal > 0 ? 10 * n->proximal : 1e3;
        if (kind == FA_NEWTON_CHOL || kind == FA_NEWTON_LBFGS || n->proximal > 0) {
            fai_newton_second(n, n->hessian);
            assembled = true;
            if (kind != FA_NEWTON_JACOBI && !fai_newton_definite(n)) return false;
        }
    }
    return false;
}

static void log_energy(FaNewtonReport *r, double energy) {
    if (r->iterations > FA_NEWTON_LOG) memmove(r->energy, r->energy + 1, FA_NEWTON_LOG * sizeof *r->energy);
    r->energy[FA_MIN(r->iterations, FA_NEWTON_LOG)] = energy;
}

static FaNewtonStatus iterate(FaNewton *n, double norm) {
    const FaNewtonInput *in = n->in;
    FaNewtonReport *r = n->report;
    double tolerance = in->tolerance > 0 ? in->tolerance : 1e-3, reference = in->reference > 0 ? in->reference : norm;
    double goal = fmax(tolerance * reference, in->floor), forcing = in->forcing > 0 ? in->forcing : 0.1,
           logged = n->energy;
    int limit = in->iterations > 0 ? in->iterations : 50, idle = 0;
    double best = norm, eta = forcing;
    log_energy(r, logged);
    while (norm > goal) {
        if (r->iterations >= limit) return FA_NEWTON_LIMIT;
        Step s = {0};
        // a step need not be solved further than to the goal, nor than the next one is linear
        n->linear = 0;
        if (!newton_step(n, fmin(fmax(eta, 0.5 * goal / norm), 0.5), &s)) {
            n->stale = true;
            return fabs(s.slope) <= 1e-13 * n->scale ? FA_NEWTON_ROUNDED : FA_NEWTON_STALLED;
        }
        double next = fai_newton_norm(n, n->g_next, n->gf_next);
        // second derivatives change with x as the gradient's remainder tells: where that is small they serve once more
        bool plain = s.length == 1 && n->hessian == FA_HESSIAN_TRUE && n->proximal == 0;
        n->kept = n->options.kind == FA_NEWTON_PCG && plain && next <= KEEP * norm;
        if (n->options.kind == FA_NEWTON_LBFGS) fai_lbfgs_push(&n->history, s.length, n->d, n->gf, n->gf_next);
        // how far from linear this step was (Eisenstat and Walker's first choice)
        eta = s.length == 1 ? fmin(fmax(fabs(next - n->linear) / norm, 0.01 * forcing), forcing) : forcing;
        float *swap = n->gf;
        n->gf = n->gf_next, n->gf_next = swap;
        accept(n, &s);
        norm = next;
        r->residual = norm;
        r->iterations++;
        logged += s.fall;
        log_energy(r, logged);
        // steps too small for the energy that do not help the gradient either: the end of double
        idle = s.rounded && norm > 0.7 * best ? idle + 1 : 0;
        best = fmin(best, norm);
        if (idle >= 4 && norm > goal) return FA_NEWTON_ROUNDED;
    }
    return norm <= in->floor && norm > tolerance * reference ? FA_NEWTON_AT_FLOOR : FA_NEWTON_CONVERGED;
}

FaCode fai_newton_solve(FaNewton *n, const FaNewtonInput *in, double *x, FaNewtonReport *report, FaError *err) {
    FaNewtonReport own, *r = report ? report : &own;
    *r = (FaNewtonReport){0};
    double begin = fai_seconds();
    FA_TRY(fai_newton_check(n, in, x, err));
    n->in = in;
    n->report = r;
    n->kept = false;
    fai_newton_place(n, in, x, n->x);
    memcpy(n->x_next, n->x, 3 * (size_t)n->nnode * sizeof *n->x);
    n->energy = fai_newton_total(n, n->x, n->g, &n->scale);
    fai_newton_accept(n);
    r->evaluations = 1;
    double norm = fai_newton_norm(n, n->g, n->gf);
    if (!isfinite(n->energy) || !isfinite(norm))
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "start from a finite shape", "the energy at the start is not a number");
    r->seconds_gradient = fai_seconds() - begin;
    r->start = r->residual = norm;
    if (n->options.kind == FA_NEWTON_LBFGS) fai_lbfgs_clear(&n->history);
    r->status = iterate(n, norm);
    // L-BFGS has no CG to tell that its factor is old
    if (n->options.kind == FA_NEWTON_LBFGS && !n->options.manual &&
        r->iterations > 2 * (n->options.refresh ? n->options.refresh : 15))
        n->stale = true;
    if (n->options.manual && r->refreshes > 0) n->ready = false;
    FaTermCount count = {0};
    for (int t = 0; t < n->nterm; t++)
        if (n->term[t].count) n->term[t].count(n->term[t].self, n->x, &count);
    r->active = count.active, r->inverted = count.inverted;
    memcpy(x, n->x, 3 * (size_t)n->nnode * sizeof *x);
    r->seconds = fai_seconds() - begin;
    return r->status >= FA_NEWTON_LIMIT ? FA_STALLED : FA_OK;
}

FaCode fai_newton_prepare(FaNewton *n, const FaNewtonInput *in, const double *x, FaError *err) {
    if (n->options.kind == FA_NEWTON_JACOBI || n->options.kind == FA_NEWTON_CHOL) return FA_OK;
    FaNewtonReport r = {0};
    FA_TRY(fai_newton_check(n, in, x, err));
    n->in = in;
    n->report = &r;
    n->hessian = FA_HESSIAN_TRUE;
    n->proximal = 0;
    fai_newton_place(n, in, x, n->x);
    fai_newton_total(n, n->x, n->g, &n->scale);
    fai_newton_accept(n);
    n->stale = false;
    bool made = fai_newton_definite(n);
    n->report = NULL; // it ends with this call
    if (made) return FA_OK;
    return FA_FAIL(err, FA_E_NUMERIC, NULL, "paint attachments, or build the face again: fascia build RIG -o FACE",
                   "some flesh is held by nothing: its stiffness is not definite");
}

bool fai_newton_worn(const FaNewton *n) {
    bool factored = n->options.kind == FA_NEWTON_PCG || n->options.kind == FA_NEWTON_LBFGS;
    return factored && (!n->ready || n->stale);
}
