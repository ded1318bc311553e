// Based on: thesis 001 section 4.3.2; Nocedal, Wright, Numerical Optimization, alg. 7.4 (L-BFGS).
#include "build/equilibrium_fit.h"

#include "base/task.h"
#include "build/equilibrium_step.h"
#include "math/mat3.h"

#include <math.h>

enum { WORKERS = 4, HISTORY = 10, MOST_HALVINGS = 12, KINDS = 3 };
static const double FLOOR = 0.1;      // of edges and bends
static const double ANCHOR_FLOOR = 1; // they stay: free ones give 5 % more, and cost the control accuracy
static const double PRIOR = 0.1;
static const double NEAR = 2e-5;  // m: |r| is smooth below it
static const double MOVED = 1e-5; // m: a node counts as moved by a shape
static const double TOLERANCE = 1e-2;
static const double SLOW_ANCHORS = 0.01;      // steps of anchors: E is far more curved along them
static const double FIRST = 0.3, LONGEST = 2; // steps of z, in the first iteration and in any
static const double ARMIJO = 1e-4;
static const double SETTLED = 1e-3; // relative fall of E in one iteration: enough

typedef struct Worker {
    FaRestStep *step;
    double *load, *u, *d; // of the shape at hand                                  (n x 4)
    double *slope;        // dD/dw of its shapes                                   (nterm)
    long products;
    FaCode rc;
    FaError err;
} Worker;

struct FaStiffFit {
    const FaElastic *e;
    FaEquilibriumOptions options;
    double tolerance;
    int nterm, nshape, n;
    int first[KINDS + 1]; // terms of each kind
    const float *b;
    double *force;    // K                                                     (n)
    double *share;    // usual stiffness over that of the kind                 (nterm)
    int *moved;       // nodes of each shape                                   (nshape)
    double *s, *y;    // steps and adjoints, where the next ones start         (nshape x n x 4)
    double *distance; // m                                                     (nshape)
    double start;     // D(1); 0: not yet known
    Worker worker[WORKERS];
    const double *w; // of the evaluation at hand
    FaCsr a;
    bool sloped;
    long products;
    FaArena *arena;
};

int fai_stiff_fit_terms(const FaStiffFit *f) { return f->nterm; }

double fai_stiff_fit_least(const FaStiffFit *f, int term) {
    return term < f->e->nanchor ? f->options.anchor_floor : f->options.floor;
}

void fai_stiff_fit_means(const FaStiffFit *f, const double *w, double mean[3]) {
    for (int q = 0; q < KINDS; q++) {
        mean[q] = 0;
        for (int k = f->first[q]; k < f->first[q + 1]; k++) mean[q] += f->share[k] * w[k];
    }
}

void fai_stiff_fit_free(FaStiffFit *f) {
    if (!f) return;
    for (int i = 0; i < WORKERS; i++) fai_rest_step_free(f->worker[i].step);
    fai_arena_free(f->arena);
    fa_free(f);
}

// --- building ---------------------------------------------------------------------------------------

static void set_shares(FaStiffFit *f) {
    const FaElastic *e = f->e;
    const double *weight[KINDS] = {e->anchor_weight, e->edge_weight, e->bend_weight};
    const int count[KINDS] = {e->nanchor, e->nedge, e->nbend};
    for (int q = 0; q < KINDS; q++) {
        double sum = 0;
        f->first[q + 1] = f->first[q] + count[q];
        for (int i = 0; i < count[q]; i++) sum += weight[q][i];
        for (int i = 0; i < count[q]; i++)
            f->share[f->first[q] + i] = f->options.even ? 1.0 / count[q] : sum > 0 ? weight[q][i] / sum : 0;
    }
}

static bool is_moved(const float *b) {
    return fai_v3_norm((double[3]){(double)b[0], (double)b[1], (double)b[2]}) > MOVED;
}

static FaCode make_workers(FaStiffFit *f, FaError *err) {
    size_t n = 4 * (size_t)f->n;
    FaCsr a;
    double *one = FA_PUSH(f->arena, f->nterm, double);
    if (!one) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < f->nterm; k++) one[k] = 1;
    FA_TRY(fai_rest_step_matrix(f->e, one, &a, err));
    FaCode rc = FA_OK;
    for (int i = 0; rc >= 0 && i < WORKERS; i++) {
        Worker *w = &f->worker[i];
        w->load = FA_PUSH(f->arena, n, double);
        w->u = FA_PUSH(f->arena, n, double);
        w->d = FA_PUSH(f->arena, n, double);
        w->slope = FA_PUSH(f->arena, f->nterm, double);
        if (!w->load || !w->u || !w->d || !w->slope) rc = FA_FAIL_MEMORY(err);
        if (rc >= 0) rc = fai_rest_step_new(f->e, i ? f->worker[0].step : NULL, &w->step, err);
        if (rc >= 0 && i == 0) rc = fai_rest_step_weights(w->step, one, &a, err); // the analysis that the others share
    }
    fai_csr_free(&a);
    return rc;
}

static FaCode fill(FaStiffFit *f, const double *force, FaError *err) {
    size_t n = (size_t)f->n, shapes = (size_t)f->nshape;
    f->force = FA_PUSH(f->arena, n, double);
    f->share = FA_PUSH(f->arena, f->nterm, double);
    f->moved = FA_PUSH(f->arena, shapes, int);
    f->s = FA_PUSH(f->arena, 4 * n * shapes, double);
    f->y = FA_PUSH(f->arena, 4 * n * shapes, double);
    f->distance = FA_PUSH(f->arena, shapes, double);
    if (!f->force || !f->share || !f->moved || !f->s || !f->y || !f->distance) return FA_FAIL_MEMORY(err);
    memcpy(f->force, force, n * sizeof *force);
    set_shares(f);
    for (size_t j = 0; j < shapes; j++)
        for (size_t i = 0; i < n; i++) f->moved[j] += is_moved(f->b + 3 * (n * j + i));
    return make_workers(f, err);
}

FaEquilibriumOptions fa_equilibrium_options_default(void) {
    return (FaEquilibriumOptions){.floor = FLOOR, .anchor_floor = ANCHOR_FLOOR, .prior = PRIOR, .iterations = 20};
}

FaCode fai_stiff_fit_new(const FaElastic *e, int nshape, const float *b, const double *force,
                         const FaEquilibriumOptions *options, double tolerance, FaStiffFit **fit, FaError *err) {
    *fit = NULL;
    FaStiffFit *f = FA_NEW(1, FaStiffFit);
    if (!f) return FA_FAIL_MEMORY(err);
    f->e = e;
    f->b = b;
    f->n = e->nnode;
    f->nshape = nshape;
    f->nterm = e->nanchor + e->nedge + e->nbend;
    if (options) f->options = *options;
    const FaEquilibriumOptions usual = fa_equilibrium_options_default();
    if (!(f->options.floor > 0)) f->options.floor = usual.floor;
    if (!(f->options.anchor_floor > 0)) f->options.anchor_floor = usual.anchor_floor;
    if (!(f->options.prior > 0)) f->options.prior = usual.prior;
    if (f->options.iterations <= 0) f->options.iterations = usual.iterations;
    f->tolerance = tolerance > 0 ? tolerance : TOLERANCE;
    f->arena = fai_arena_new(0);
    FaCode rc = f->arena ? fill(f, force, err) : FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_stiff_fit_free(f);
    else
        *fit = f;
    return rc;
}

// --- the distance -----------------------------------------------------------------------------------

// One shape: D's share of it, and its part of dD/dw.
static void weigh_shape(FaStiffFit *f, Worker *w, int j) {
    size_t n = (size_t)f->n, at = 4 * n * (size_t)j;
    const float *b = f->b + 3 * n * (size_t)j;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) {
            w->u[4 * i + c] = (double)b[3 * i + c];
            w->load[4 * i + c] = f->force[i] * w->u[4 * i + c];
        }
    w->products += fai_rest_step_solve(w->step, w->load, w->u, f->tolerance, f->s + at);
    double sum = 0, each = f->moved[j] ? 1.0 / f->moved[j] / f->nshape : 0;
    for (size_t i = 0; i < n; i++) {
        const double *r = f->s + at + 4 * i; // away by -r
        double len = sqrt(fai_v3_dot(r, r) + NEAR * NEAR);
        bool counts = is_moved(b + 3 * i);
        if (counts) sum += len - NEAR;
        for (size_t c = 0; c < 3; c++) w->d[4 * i + c] = counts ? -r[c] / len * each : 0;
    }
    f->distance[j] = sum * each;
    if (f->sloped)
        w->products += fai_rest_step_adjoint(w->step, w->u, f->s + at, w->d, f->tolerance, f->y + at, w->slope);
}

// Shapes are dealt out to workers whatever the number of threads.
static void weigh_shapes(void *ctx, int begin, int end, int chunk) {
    FaStiffFit *f = ctx;
    (void)chunk;
    for (int i = begin; i < end; i++) {
        Worker *w = &f->worker[i];
        memset(w->slope, 0, (size_t)f->nterm * sizeof *w->slope);
        w->products = 0;
        w->rc = fai_rest_step_weights(w->step, f->w, &f->a, &w->err);
        for (int j = i; w->rc >= 0 && j < f->nshape; j += WORKERS) weigh_shape(f, w, j);
    }
}

// D(w) and (nullable) dD/dw.
static FaCode distance(FaStiffFit *f, const double *w, double *slope, double *d, FaError *err) {
    FA_TRY(fai_rest_step_matrix(f->e, w, &f->a, err));
    f->w = w;
    f->sloped = slope != NULL;
    fai_parallel(WORKERS, 1, weigh_shapes, f);
    fai_csr_free(&f->a);
    *d = 0;
    for (int i = 0; i < WORKERS; i++) {
        if (f->worker[i].rc < 0) {
            if (err) *err = f->worker[i].err;
            return f->worker[i].rc;
        }
        f->products += f->worker[i].products;
    }
    for (int j = 0; j < f->nshape; j++) *d += f->distance[j];
    for (int k = 0; slope && k < f->nterm; k++) {
        slope[k] = 0;
        for (int i = 0; i < WORKERS; i++) slope[k] += f->worker[i].slope[k];
    }
    return FA_OK;
}

// --- z to w -----------------------------------------------------------------------------------------

// v of one kind: the mean of m tanh((z + v) / m) is 0. Newton between bounds that close in.
static double level(const FaStiffFit *f, int kind, double m, const double *z) {
    double low = 0, high = 0, v = 0;
    for (int k = f->first[kind]; k < f->first[kind + 1]; k++) low = fmin(low, -z[k]), high = fmax(high, -z[k]);
    for (int it = 0; it < 100; it++) {
        double sum = 0, slope = 0;
        for (int k = f->first[kind]; k < f->first[kind + 1]; k++) {
            double t = tanh((z[k] + v) / m);
            sum += f->share[k] * m * t;
            slope += f->share[k] * (1 - t * t);
        }
        if (fabs(sum) < 1e-13) break;
        if (sum > 0)
            high = fmin(high, v);
        else
            low = fmax(low, v);
        double next = slope > 0 ? v - sum / slope : low;
        v = next > low && next < high ? next : (low + high) / 2;
    }
    return v;
}

// w, and dw/dz with v held.
static void weights(const FaStiffFit *f, const double *z, double *w, double *dw) {
    for (int q = 0; q < KINDS; q++) {
        if (f->first[q] == f->first[q + 1]) continue;
        double m = -log(fai_stiff_fit_least(f, f->first[q]));
        double v = m > 0 ? level(f, q, m, z) : 0;
        for (int k = f->first[q]; k < f->first[q + 1]; k++) {
            double t = m > 0 ? tanh((z[k] + v) / m) : 0;
            w[k] = exp(m * t);
            dw[k] = m > 0 ? w[k] * (1 - t * t) : 0;
        }
    }
}

// From dE/dw to dE/dz: v moves so that the mean stays.
static void pull_back(const FaStiffFit *f, const double *w, const double *dw, double *g) {
    for (int q = 0; q < KINDS; q++) {
        double all = 0, mean = 0;
        for (int k = f->first[q]; k < f->first[q + 1]; k++) {
            all += g[k] * dw[k];
            mean += f->share[k] * dw[k] / w[k];
        }
        for (int k = f->first[q]; k < f->first[q + 1]; k++)
            g[k] = g[k] * dw[k] - (mean > 0 ? all / mean * f->share[k] * dw[k] / w[k] : 0);
    }
}

FaCode fai_stiff_fit_energy(FaStiffFit *f, const double *z, double *w, double *gradient, double *energy, FaError *err) {
    double d, prior = f->options.prior / KINDS;
    double *dw = FA_NEW(f->nterm, double);
    if (!dw) return FA_FAIL_MEMORY(err);
    weights(f, z, w, dw);
    FaCode rc = distance(f, w, gradient, &d, err);
    if (rc >= 0) {
        if (!(f->start > 0)) f->start = d > 0 ? d : 1;
        *energy = d / f->start;
        for (int k = 0; k < f->nterm; k++) {
            double l = log(w[k]);
            *energy += prior / 2 * f->share[k] * l * l;
            if (gradient) gradient[k] = gradient[k] / f->start + prior * f->share[k] * l / w[k];
        }
        if (gradient) pull_back(f, w, dw, gradient);
    }
    fa_free(dw);
    return rc;
}

// --- L-BFGS -----------------------------------------------------------------------------------------

typedef struct Descent {
    FaStiffFit *f;
    double *z, *g, *next, *g_next, *d, *scale; //                                 (nterm)
    double *s[HISTORY], *y[HISTORY], sy[HISTORY];
    int count;
} Descent;

static double inner(const double *a, const double *b, int n) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

// The first guess of 1/curvature: steps of about one size within a kind, however small the slopes of its terms are.
static void set_scale(Descent *s) {
    const FaStiffFit *f = s->f;
    for (int q = 0; q < KINDS; q++) {
        double mean = 0;
        int count = f->first[q + 1] - f->first[q];
        for (int k = f->first[q]; k < f->first[q + 1]; k++) mean += fabs(s->g[k]) / count;
        for (int k = f->first[q]; k < f->first[q + 1]; k++)
            s->scale[k] = mean > 0 ? (q == 0 ? SLOW_ANCHORS : 1) / (fabs(s->g[k]) + mean) : 0;
    }
}

static void direction(Descent *s) {
    int n = s->f->nterm;
    double alpha[HISTORY] = {0}, gain = 0, most = 0;
    memcpy(s->d, s->g, (size_t)n * sizeof *s->d);
    for (int i = s->count - 1; i >= 0; i--) {
        alpha[i] = inner(s->s[i], s->d, n) / s->sy[i];
        for (int k = 0; k < n; k++) s->d[k] -= alpha[i] * s->y[i][k];
    }
    for (int k = 0; k < n && s->count; k++) gain += s->y[s->count - 1][k] * s->scale[k] * s->y[s->count - 1][k];
    for (int k = 0; k < n; k++) {
        s->d[k] *= s->scale[k] * (gain > 0 ? s->sy[s->count - 1] / gain : 1);
        most = fmax(most, fabs(s->d[k]));
    }
    if (!s->count && most > 0)
        for (int k = 0; k < n; k++) s->d[k] *= FIRST / most;
    for (int i = 0; i < s->count; i++) {
        double beta = inner(s->y[i], s->d, n) / s->sy[i];
        for (int k = 0; k < n; k++) s->d[k] += (alpha[i] - beta) * s->s[i][k];
    }
    most = 0;
    for (int k = 0; k < n; k++) most = fmax(most, fabs(s->d[k]));
    for (int k = 0; k < n && most > LONGEST; k++) s->d[k] *= LONGEST / most;
}

static void remember(Descent *s) {
    int n = s->f->nterm;
    if (s->count == HISTORY) {
        double *a = s->s[0], *b = s->y[0];
        for (int i = 1; i < HISTORY; i++) s->s[i - 1] = s->s[i], s->y[i - 1] = s->y[i], s->sy[i - 1] = s->sy[i];
        s->s[HISTORY - 1] = a;
        s->y[HISTORY - 1] = b;
        s->count--;
    }
    for (int k = 0; k < n; k++) {
        s->s[s->count][k] = s->next[k] - s->z[k];
        s->y[s->count][k] = s->g_next[k] - s->g[k];
    }
    s->sy[s->count] = inner(s->s[s->count], s->y[s->count], n);
    if (s->sy[s->count] > 0) s->count++;
}

// A shorter and shorter part of the direction until E falls enough; false: it does not.
static FaCode search(Descent *s, double *w, double *energy, bool *fell, FaStiffFitReport *report, FaError *err) {
    int n = s->f->nterm;
    double slope = inner(s->g, s->d, n), t = 1;
    *fell = false;
    for (int trial = 0; trial < MOST_HALVINGS && slope > 0; trial++, t /= 2) {
        double there;
        for (int k = 0; k < n; k++) s->next[k] = s->z[k] - t * s->d[k];
        FA_TRY(fai_stiff_fit_energy(s->f, s->next, w, s->g_next, &there, err));
        report->evaluations++;
        if (!(there <= *energy - ARMIJO * t * slope)) continue;
        remember(s);
        memcpy(s->z, s->next, (size_t)n * sizeof *s->z);
        memcpy(s->g, s->g_next, (size_t)n * sizeof *s->g);
        *energy = there;
        *fell = true;
        break;
    }
    return FA_OK;
}

static FaCode descend(Descent *s, double *w, double *log, FaStiffFitReport *report, FaError *err) {
    const FaEquilibriumOptions *o = &s->f->options;
    double energy, before;
    FA_TRY(fai_stiff_fit_energy(s->f, s->z, w, s->g, &energy, err));
    report->evaluations = 1;
    if (log) log[0] = energy;
    set_scale(s);
    while (report->iterations < o->iterations) {
        bool fell;
        before = energy;
        direction(s);
        FA_TRY(search(s, w, &energy, &fell, report, err));
        if (!fell && s->count) { // what was remembered misleads
            s->count = 0;
            continue;
        }
        if (!fell) break;
        report->iterations++;
        if (log) log[report->iterations] = energy;
        FA_TRY(fai_progress(o->progress, o->progress_user, "equilibrium", (double)report->iterations / o->iterations,
                            "the face is as it was", err));
        if (before - energy <= SETTLED * before) break;
    }
    return FA_OK;
}

FaCode fai_stiff_fit_minimise(FaStiffFit *f, double *w, double *energy, FaStiffFitReport *report, FaError *err) {
    Descent s = {.f = f};
    FaArena *arena = fai_arena_new(0);
    *report = (FaStiffFitReport){0};
    bool ok = arena != NULL;
    double **of[] = {&s.z, &s.g, &s.next, &s.g_next, &s.d, &s.scale};
    for (int i = 0; ok && i < FA_COUNT(of); i++) ok &= (*of[i] = FA_PUSH(arena, f->nterm, double)) != NULL;
    for (int i = 0; ok && i < HISTORY; i++) {
        s.s[i] = FA_PUSH(arena, f->nterm, double);
        s.y[i] = FA_PUSH(arena, f->nterm, double);
        ok &= s.s[i] && s.y[i];
    }
    f->products = 0;
    FaCode rc = ok ? descend(&s, w, energy, report, err) : FA_FAIL_MEMORY(err);
    double *dw = rc >= 0 ? FA_NEW(f->nterm, double) : NULL;
    if (rc >= 0 && !dw) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) weights(f, s.z, w, dw); // of the last step that was taken
    report->products = f->products;
    fa_free(dw);
    fai_arena_free(arena);
    return rc;
}
