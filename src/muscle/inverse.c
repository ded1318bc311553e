// From landmarks to activations (paper 002, section 4; Sifakis et al. 2005): Gauss-Newton on
//
//     mean over landmarks of |goal - L x(a, jaw)|^2 + PRIOR^2 |a|^2 + prior of the jaw,      0 <= a <= 1
//
// with dx/da = -H^-1 dg/da by the factor that the last pose kept. A step is tried whole, then shorter.
#include "math/dense.h"
#include "math/mat3.h"
#include "math/nnls.h"
#include "muscle/free_bones.h"

#include <math.h>
#include <string.h>

static const double PRIOR = 2e-4;                  // m per unit of activation
static const double JAW_PRIOR[3] = {3e-4, .5, .5}; // m per degree; m per m, forward and to the side
static const double TRY[] = {1, 0.4, 0.15};
static const double ENOUGH = 0.03; // of the objective: a step that gains less is the last
enum { STEPS = 6, BONES = 3 };

static const double DEGREE = 0.017453292519943295;

// State of a search: parameters are activations, then degrees, metres forward, metres to the side, against the jaw that
// was given.
typedef struct Search {
    FaMuscleDirector *d;
    FaMuscleModel *m;
    const float *goal;
    FaPose begin;
    int nbone, n;                         // n: parameters
    double *p, *trial, *lo, *hi, *change; // (n)
    double *slope;                        // (n x nnode x 3)
    double *bone;                         // (BONES x nnode x 3)
    double *at, *x, *trial_x;             // (nnode x 3)
    double *matrix, *right;               // (n x n; n)
    FaNnls *nnls;
} Search;

static FaPose jaw_of(const Search *s, const double *p) {
    const FaJaw *jaw = &s->m->face->jaw;
    if (!s->nbone) return s->begin;
    FaPose turn = fai_pose_identity();
    double angle = 0.5 * p[0] * DEGREE, back[3], by[3];
    for (int k = 0; k < 3; k++) turn.q[k] = sin(angle) * jaw->axis[k];
    turn.q[3] = cos(angle);
    fai_q_rotate(turn.q, jaw->hinge, back);
    fai_m3_tmulv(s->m->rig->axes, (double[]){p[2], 0, p[1]}, by);
    for (int k = 0; k < 3; k++) turn.p[k] = jaw->hinge[k] - back[k] + by[k];
    return fai_pose_mul(&turn, &s->begin);
}

static void place_bones(const Search *s, const double *p, double *at) {
    const FaMuscleModel *m = s->m;
    FaPose jaw = jaw_of(s, p + m->muscles.n);
    memcpy(at, m->rest, 3 * (size_t)m->flesh.nnode * sizeof *at);
    for (int i = 0; i < m->flesh.nnode; i++)
        if (m->flesh.kind[i] == FA_FILLED_JAW) fai_pose_apply(&jaw, m->rest + 3 * (size_t)i, at + 3 * (size_t)i);
}

static double landmarks_off(const Search *s, const double *x) {
    double sum = 0;
    for (int i = 0; i < s->d->nlandmark; i++)
        for (int k = 0; k < 3; k++) {
            double off =
                (double)s->goal[3 * (size_t)s->d->seen[i] + (size_t)k] - x[3 * (size_t)s->d->seen_node[i] + (size_t)k];
            sum += off * off;
        }
    return sum / s->d->nlandmark;
}

static double weight_of(const Search *s, int i) { return i < s->m->muscles.n ? PRIOR : JAW_PRIOR[i - s->m->muscles.n]; }

static double objective(const Search *s, const double *p, const double *x) {
    double sum = landmarks_off(s, x);
    for (int i = 0; i < s->n; i++) sum += weight_of(s, i) * weight_of(s, i) * p[i] * p[i];
    return sum;
}

static FaCode pose(Search *s, const double *p, double *x, FaError *err) {
    place_bones(s, p, s->at);
    return fai_muscle_body_pose(s->m->body, p, s->at, x, NULL, err);
}

// Motions of the jaw per degree and metre, at where it is.
static void move_bones(Search *s) {
    size_t n = 3 * (size_t)s->m->flesh.nnode;
    double step[BONES] = {0.1, 1e-4, 1e-4};
    place_bones(s, s->p, s->at);
    for (int k = 0; k < s->nbone; k++) {
        double *p = s->trial, *to = s->bone + (size_t)k * n;
        memcpy(p, s->p, (size_t)s->n * sizeof *p);
        p[s->m->muscles.n + k] += step[k];
        place_bones(s, p, to);
        for (size_t i = 0; i < n; i++) to[i] = (to[i] - s->at[i]) / step[k];
    }
}

// What is left to the limits of the jaw; parameters are against where it began.
static void limit_jaw(Search *s) {
    const FaMuscleJawLimits *l = s->d->limits;
    const FaMuscleJaw begin = fai_muscle_jaw_of(s->m, &s->begin);
    const double at[BONES] = {begin.open, begin.forward, begin.side}, *range[BONES] = {l->open, l->forward, l->side};
    for (int k = 0; k < BONES; k++) {
        const int i = s->m->muscles.n + k;
        s->lo[i] = fmin(range[k][0] - at[k] - s->p[i], 0);
        s->hi[i] = fmax(range[k][1] - at[k] - s->p[i], 0);
    }
}

// The quadratic model of the objective in the change of parameters.
static void assemble(Search *s) {
    const FaMuscleDirector *d = s->d;
    size_t n = 3 * (size_t)s->m->flesh.nnode;
    for (int i = 0; i < s->n; i++) {
        const double *a = s->slope + (size_t)i * n;
        for (int j = 0; j <= i; j++) {
            const double *b = s->slope + (size_t)j * n;
            double sum = 0;
            for (int l = 0; l < d->nlandmark; l++)
                for (size_t k = 3 * (size_t)d->seen_node[l]; k < 3 * (size_t)d->seen_node[l] + 3; k++)
                    sum += a[k] * b[k];
            s->matrix[i * s->n + j] = s->matrix[j * s->n + i] = sum / d->nlandmark;
        }
        double sum = 0, w2 = weight_of(s, i) * weight_of(s, i);
        for (int l = 0; l < d->nlandmark; l++)
            for (int k = 0; k < 3; k++) {
                size_t at = 3 * (size_t)d->seen_node[l] + (size_t)k;
                sum += a[at] * ((double)s->goal[3 * (size_t)d->seen[l] + (size_t)k] - s->x[at]);
            }
        s->matrix[i * s->n + i] += w2;
        s->right[i] = sum / d->nlandmark - w2 * s->p[i];
        s->lo[i] = i < s->m->muscles.n ? -s->p[i] : -INFINITY;
        s->hi[i] = i < s->m->muscles.n ? 1 - s->p[i] : INFINITY;
    }
    if (s->d->limits && s->nbone) limit_jaw(s);
}

// One step; *gain: share of the objective.
static FaCode advance(Search *s, double *value, double *gain, FaError *err) {
    size_t bytes = 3 * (size_t)s->m->flesh.nnode * sizeof *s->x;
    *gain = 0;
    move_bones(s);
    FaCode rc = fai_muscle_body_slopes(s->m->body, s->x, s->nbone, s->bone, s->slope, err);
    if (rc < 0) return rc == FA_E_NUMERIC ? FA_OK : rc; // no stable rest: what there is has to do
    assemble(s);
    memset(s->change, 0, (size_t)s->n * sizeof *s->change);
    fai_nnls_solve(s->nnls, &(FaNnlsProblem){.n = s->n, .g = s->matrix, .f = s->right, .lo = s->lo, .hi = s->hi},
                   s->change);
    for (int k = 0; k < FA_COUNT(TRY); k++) {
        for (int i = 0; i < s->n; i++) {
            s->trial[i] = s->p[i] + TRY[k] * s->change[i];
            if (i < s->m->muscles.n) s->trial[i] = fmin(fmax(s->trial[i], 0), 1);
        }
        memcpy(s->trial_x, s->x, bytes);
        FA_TRY(pose(s, s->trial, s->trial_x, err));
        double now = objective(s, s->trial, s->trial_x);
        if (!(now < *value)) continue;
        *gain = 1 - now / *value;
        *value = now;
        memcpy(s->p, s->trial, (size_t)s->n * sizeof *s->p);
        memcpy(s->x, s->trial_x, bytes);
        return FA_OK;
    }
    return FA_OK;
}

static FaCode search(Search *s, FaMuscleInverse *r, FaError *err) {
    FA_TRY(pose(s, s->p, s->x, err));
    double value = objective(s, s->p, s->x), gain = 1;
    r->before = sqrt(landmarks_off(s, s->x));
    while (r->steps < STEPS && gain > ENOUGH) {
        FA_TRY(advance(s, &value, &gain, err));
        r->steps++;
    }
    r->after = sqrt(landmarks_off(s, s->x));
    return FA_OK;
}

static FaCode allocate(Search *s, FaArena *arena, FaError *err) {
    size_t n = 3 * (size_t)s->m->flesh.nnode, p = (size_t)s->n;
    double **array[] = {&s->p, &s->trial, &s->lo, &s->hi, &s->change, &s->right, &s->at, &s->trial_x};
    const size_t size[] = {p, p, p, p, p, p, n, n};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(arena, size[i], double))) return FA_FAIL_MEMORY(err);
    s->slope = FA_PUSH(arena, p * n, double);
    s->bone = FA_PUSH(arena, BONES * n, double);
    s->matrix = FA_PUSH(arena, p * p, double);
    if (!s->slope || !s->bone || !s->matrix) return FA_FAIL_MEMORY(err);
    return fai_nnls_new(s->n, &s->nnls, err);
}

FaCode fai_muscle_inverse(FaMuscleDirector *d, const float *goal, FaPose *jaw, double *activation, double *x,
                          FaMuscleInverse *report, FaError *err) {
    FaMuscleModel *m = d->model;
    double begin = fai_seconds();
    FaMuscleInverse r = {0};
    const bool moves = m->face->jaw.found && fabs(m->face->jaw.open_angle) > 1e-3;
    Search s = {.d = d, .m = m, .goal = goal, .begin = *jaw, .nbone = moves ? BONES : 0, .x = x};
    s.n = m->muscles.n + s.nbone;
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? allocate(&s, arena, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = search(&s, &r, err);
    if (rc >= 0) {
        memcpy(activation, s.p, (size_t)m->muscles.n * sizeof *activation);
        *jaw = jaw_of(&s, s.p + m->muscles.n);
        r.seconds = fai_seconds() - begin;
        if (report) *report = r;
    }
    fai_nnls_free(s.nnls);
    fai_arena_free(arena);
    return rc < 0 ? rc : FA_OK;
}
