#include "muscle/muscle_motion.h"

#include "math/mat3.h"
#include "muscle/muscle_body_work.h"

#include <math.h>

enum { PASSES = 2 };
static const double SHALLOW = 1e-4; // m: deep enough to be solved again

struct FaMuscleMotion {
    FaMuscleBody *body;
    FaMuscleMotionOptions o;
    size_t n; // numbers: nnode x 3
    double *mass;
    double floor; // N
    FaNewton *newton;
    // the state
    double *d, *d_last; // from rest, head frame                                       (n)
    double *w, *w_last; // in the world, in the axes of the pose                       (n)
    FaPose pose, pose_last;
    double h_last; // s; 0: no step before
    // scratch, n each
    double *x, *y, *from, *d_new, *w_new;
    FaArena *arena;
};

FaMuscleMotionOptions fai_muscle_motion_options_default(void) {
    const double pi = 3.14159265358979323846;
    return (FaMuscleMotionOptions){
        .scheme = FA_SCHEME_BDF2, .density = 1000, .beta = 2 * 0.3 / (2 * pi * 8), .tolerance = 1e-3, .calm = 0.01};
}

static FaCode build(FaMuscleMotion *m, FaError *err) {
    const FaMuscleBody *b = m->body;
    m->arena = fai_arena_new(0);
    if (!m->arena) return FA_FAIL_MEMORY(err);
    double **array[] = {&m->d, &m->d_last, &m->w, &m->w_last, &m->x, &m->y, &m->from, &m->d_new, &m->w_new};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(m->arena, m->n + 1, double))) return FA_FAIL_MEMORY(err);
    if (!(m->mass = FA_PUSH(m->arena, b->nnode + 1, double))) return FA_FAIL_MEMORY(err);
    const double *volume = fai_solid_rest_volume(b->rest);
    for (int e = 0; e < 4 * b->ntet; e++) m->mass[b->tet[e]] += m->o.density * volume[e / 4] / 4;
    double sum = 0;
    for (int i = 0; i < b->nnode; i++) {
        if (!(m->mass[i] > 0)) m->mass[i] = 1e-9; // of no tet
        if (!b->fixed[i]) sum += m->mass[i] * m->mass[i];
    }
    m->floor = m->o.calm * sqrt(sum);
    FaNewtonOptions o = {.kind = FA_NEWTON_PCG,
                         .nterm = 1,
                         .term = &b->term,
                         .max_springs = b->nspring,
                         .max_rows = b->touch ? FA_MUSCLE_ROWS : 0};
    FA_TRY(fai_newton_new(b->solid, b->fixed, m->mass, &o, &m->newton, err));
    return FA_OK;
}

FaCode fai_muscle_motion_new(FaMuscleBody *body, const FaMuscleMotionOptions *options, FaMuscleMotion **motion,
                             FaError *err) {
    *motion = NULL;
    FaMuscleMotion *m = FA_NEW(1, FaMuscleMotion);
    if (!m) return FA_FAIL_MEMORY(err);
    m->body = body;
    m->o = options ? *options : fai_muscle_motion_options_default();
    m->n = 3 * (size_t)body->nnode;
    FaCode rc = build(m, err);
    if (rc >= 0) {
        fai_muscle_motion_reset(m, NULL, NULL, NULL);
        *motion = m;
    } else {
        fai_muscle_motion_free(m);
    }
    return rc;
}

void fai_muscle_motion_free(FaMuscleMotion *m) {
    if (!m) return;
    fai_newton_free(m->newton);
    fai_arena_free(m->arena);
    fa_free(m);
}

void fai_muscle_motion_reset(FaMuscleMotion *m, const double *x, const double *v, const FaPose *pose) {
    const double *rest = m->body->rest_x;
    for (size_t i = 0; i < m->n; i++) m->d[i] = m->d_last[i] = x ? x[i] - rest[i] : 0, m->w[i] = v ? v[i] : 0;
    memcpy(m->w_last, m->w, m->n * sizeof *m->w);
    m->pose = m->pose_last = pose ? *pose : fai_pose_identity();
    m->h_last = 0;
    for (size_t i = 0; i < m->n; i++) m->x[i] = rest[i] + m->d[i];
    if (m->body->touch) fai_muscle_touch_begin(m->body->touch, m->x);
}

static FaInertia inertia_of(const FaMuscleMotion *m, const FaMuscleMoment *in) {
    FaInertia inertia = {.scheme = m->h_last > 0 ? m->o.scheme : FA_SCHEME_EULER,
                         .nnode = m->body->nnode,
                         .x0 = m->body->rest_x,
                         .h = in->h,
                         .h_before = m->h_last,
                         .pose = in->pose,
                         .now = {.pose = m->pose, .ud = m->d, .wd = m->w},
                         .before = {.pose = m->pose_last, .ud = m->d_last, .wd = m->w_last}};
    memcpy(inertia.accel, in->accel, sizeof inertia.accel);
    return inertia;
}

// y, where damping measures from, and where the search begins; returns 1/s2.
static double predict(FaMuscleMotion *m, const FaInertia *in) {
    const double *rest = m->body->rest_x;
    double k = fai_inertial_prediction_d(in, m->y);
    bool two = in->scheme == FA_SCHEME_BDF2;
    double r = two ? in->h / in->h_before : 0, all = 1 + 2 * r;
    double a0 = two ? (1 + r) * (1 + r) / all : 1, a1 = two ? -r * r / all : 0;
    for (size_t i = 0; i < m->n; i++) {
        m->y[i] += rest[i];
        m->from[i] = rest[i] + (two ? a0 * m->d[i] + a1 * m->d_last[i] : m->d[i]);
        m->x[i] = rest[i] + m->d[i] + (two ? r * (m->d[i] - m->d_last[i]) : 0);
    }
    return k;
}

// What inertia would push with if nothing moved.
static double push_of(const FaMuscleMotion *m, double inertia) {
    double sum = 0;
    for (size_t i = 0; i < m->n; i++) {
        double f = inertia * m->mass[i / 3] * (m->body->rest_x[i] + m->d[i] - m->y[i]);
        if (!m->body->fixed[i / 3]) sum += f * f;
    }
    return sqrt(sum);
}

// Rows, a solve, and once more where something is deep.
static FaCode solve(FaMuscleMotion *m, FaNewtonInput *p, FaMuscleReport *r, FaError *err) {
    FaMuscleTouch *touch = m->body->touch;
    FaCode rc = FA_OK;
    for (int pass = 0; pass < PASSES && rc >= 0; pass++) {
        FaNewtonReport one;
        if (touch) p->nrow = fai_muscle_touch_collect(touch, m->x, &p->row);
        rc = fai_newton_solve(m->newton, p, m->x, &one, err);
        if (rc < 0) return rc;
        r->iterations += one.iterations, r->inverted = one.inverted, r->residual = one.residual, r->status = one.status;
        r->solves++, r->rows = p->nrow, r->active = one.active;
        if (!touch) return rc;
        r->deep = fai_muscle_touch_settle(touch, m->x);
        if (r->deep < SHALLOW) break;
    }
    return rc;
}

// No time passes: a frame of the body; what it moved by is no velocity.
static FaCode rest(FaMuscleMotion *m, const FaMuscleMoment *in, double *x, FaMuscleReport *report, FaError *err) {
    for (size_t i = 0; i < m->n; i++) m->x[i] = m->body->rest_x[i] + m->d[i];
    FaCode rc = fai_muscle_body_frame(m->body, in->activation, in->fixed_at, m->x, report, err);
    if (rc < 0) return rc;
    fai_muscle_motion_reset(m, m->x, NULL, &in->pose);
    memcpy(x, m->x, m->n * sizeof *x);
    return rc;
}

static FaCode check(const FaMuscleMotion *m, const FaMuscleMoment *in, const double *goal, FaError *err) {
    if (!(in->h >= 0 && in->h < 10)) return FA_FAIL(err, FA_E_ARG, NULL, "give 0 to 10 s", "a step of %g s", in->h);
    for (size_t i = 0; i < m->n; i++)
        if (m->body->fixed[i / 3] && !(fabs(goal[i]) < 1e6))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("node %zu", i / 3), "check the pose of the jaw",
                           "a position is not a number");
    return FA_OK;
}

FaCode fai_muscle_motion_step(FaMuscleMotion *m, const FaMuscleMoment *in, double *x, FaMuscleReport *report,
                              FaError *err) {
    FaMuscleBody *b = m->body;
    FaMuscleReport r = {.steps = 1};
    double begin = fai_seconds();
    const double *goal = in->fixed_at ? in->fixed_at : b->rest_x;
    FA_TRY(check(m, in, goal, err));
    if (in->h == 0) return rest(m, in, x, report, err);
    const FaInertia inertia = inertia_of(m, in);
    double k = predict(m, &inertia), eta = 1 / sqrt(k);
    FaNewtonInput p = {.rest = b->rest,
                       .inertia = k,
                       .y = m->y,
                       .damping = {m->o.beta / eta, m->from},
                       .drag = m->o.drag / eta,
                       .fixed_at = goal,
                       .row_base = b->rest_x,
                       .nspring = b->nspring,
                       .spring = b->spring,
                       .iterations = b->stuff.iterations,
                       .tolerance = m->o.tolerance,
                       .reference = fmax(push_of(m, k), 1e-300),
                       .floor = m->floor};
    for (size_t i = 0; i < m->n; i++) m->d_new[i] = b->rest_x[i] + m->d[i];
    if (b->touch) fai_muscle_touch_step(b->touch, m->d_new, goal);
    fai_fibre_activate(b->fibre, in->activation);
    FaCode rc = solve(m, &p, &r, err);
    if (rc < 0) return rc;
    if (b->touch) r.stopped = fai_muscle_touch_stop(b->touch, m->x);
    // the state goes on
    for (size_t i = 0; i < m->n; i++) m->d_new[i] = m->x[i] - b->rest_x[i];
    fai_inertial_velocity_d(&inertia, m->d_new, m->w_new);
    double *d = m->d_last, *w = m->w_last;
    m->d_last = m->d, m->d = m->d_new, m->d_new = d;
    m->w_last = m->w, m->w = m->w_new, m->w_new = w;
    m->pose_last = m->pose, m->pose = in->pose;
    m->h_last = in->h;
    memcpy(x, m->x, m->n * sizeof *x);
    memcpy(b->active, in->activation, (size_t)b->nmuscle * sizeof *b->active);
    r.seconds = fai_seconds() - begin;
    if (report) *report = r;
    return rc;
}
