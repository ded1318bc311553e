#include "muscle/muscle_motion.h"

#include "math/mat3.h"
#include "muscle/muscle_body_work.h"

#include <math.h>

enum { PASSES = 2 };
static const double HOLD = 5700;    // 1/s2, 12 Hz: holds flesh about a pose, also where there is no muscle
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
    double *force;           // that holds the flesh in a pose                            (n)
    double *pull_k, *pull_y; // tracks about that                                         (nsample; nsample x 3)
    FaArena *arena;
};

FaMuscleMotionOptions fai_muscle_motion_options_default(void) {
    return (FaMuscleMotionOptions){.scheme = FA_SCHEME_BDF2,
                                   .density = 1000,
                                   .beta = fai_muscle_motion_beta(0.3),
                                   .tolerance = 1e-3,
                                   .calm = 0.01};
}

double fai_muscle_motion_beta(double ratio) {
    const double pi = 3.14159265358979323846;
    return 2 * ratio / (2 * pi * 8);
}

static FaCode build(FaMuscleMotion *m, FaError *err) {
    const FaMuscleBody *b = m->body;
    m->arena = fai_arena_new(0);
    if (!m->arena) return FA_FAIL_MEMORY(err);
    double **array[] = {&m->d, &m->d_last, &m->w, &m->w_last, &m->x, &m->y, &m->from, &m->d_new, &m->w_new, &m->force};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(m->arena, m->n + 1, double))) return FA_FAIL_MEMORY(err);
    m->mass = FA_PUSH(m->arena, b->nnode + 1, double);
    m->pull_k = FA_PUSH(m->arena, b->nsample + 1, double);
    m->pull_y = FA_PUSH(m->arena, 3 * (size_t)b->nsample + 1, double);
    if (!m->mass || !m->pull_k || !m->pull_y) return FA_FAIL_MEMORY(err);
    const double *volume = fai_solid_rest_volume(b->rest);
    for (int e = 0; e < 4 * b->ntet; e++) m->mass[b->tet[e]] += m->o.density * volume[e / 4] / 4;
    double sum = 0;
    for (int i = 0; i < b->nnode; i++) {
        if (!(m->mass[i] > 0)) m->mass[i] = 1e-9; // of no tet
        if (!b->fixed[i]) sum += m->mass[i] * m->mass[i];
    }
    m->floor = m->o.calm * sqrt(sum);
    FaNewtonOptions o = {.kind = FA_NEWTON_PCG,
                         .nterm = FA_COUNT(b->term),
                         .term = b->term,
                         .manual = m->o.manual,
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
    if (m->body->touch && !(m->o.soft > 0)) fai_muscle_touch_begin(m->body->touch, m->x);
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

static FaNewtonInput input_of(const FaMuscleMotion *m, double inertia, const double *fixed_at) {
    const FaMuscleBody *b = m->body;
    const double eta = 1 / sqrt(inertia);
    return (FaNewtonInput){.rest = b->rest,
                           .inertia = inertia,
                           .y = m->y,
                           .damping = {m->o.beta / eta, m->from},
                           .drag = m->o.drag / eta,
                           .fixed_at = fixed_at,
                           .row_base = b->rest_x,
                           .nspring = b->nspring,
                           .spring = b->spring,
                           .iterations = b->stuff.iterations,
                           .tolerance = m->o.tolerance,
                           .floor = m->floor};
}

// Tracks end where the flesh of a pose has them.
static void pull_about(FaMuscleMotion *m, const double *x, const double *firm) {
    const FaMuscleBody *b = m->body;
    for (int s = 0; s < b->nsample; s++) {
        m->pull_k[s] = fmin(m->o.soft + (firm ? firm[s] : 0), 1) * b->pull_k[s];
        for (int i = 0; i < 3; i++) {
            double at = 0;
            for (int c = 4 * s; c < 4 * s + 4; c++) at += b->bary[c] * x[3 * (size_t)b->corner[c] + (size_t)i];
            m->pull_y[3 * (size_t)s + (size_t)i] = at;
        }
    }
    fai_pull_set(b->pull, m->pull_k, m->pull_y);
}

// The forces that hold the flesh in a pose, against its own; and a search that begins with the flesh gone along.
static void hold_pose(FaMuscleMotion *m, const FaMuscleMoment *in, FaNewtonInput *p) {
    FaNewtonInput own = *p;
    own.inertia = own.drag = 0, own.y = NULL, own.damping = (FaSolidDamping){0};
    pull_about(m, in->pose_x, in->firm);
    fai_newton_energy(m->newton, &own, in->pose_x, m->force, NULL);
    p->force = m->force;
    const double k = p->inertia, per = 1 / (sqrt(k) * in->h);
    p->inertia = k + HOLD; // two parabolas are one
    // a swing about the pose is damped, the way of the pose is not
    for (size_t i = 0; i < m->n; i++) m->from[i] += per * (in->pose_x[i] - in->pose_was[i]);
    for (size_t i = 0; i < m->n; i++) m->y[i] = (k * m->y[i] + HOLD * in->pose_x[i]) / p->inertia;
    for (size_t i = 0; i < m->n; i++) m->x[i] = m->body->rest_x[i] + m->d[i] + (in->pose_x[i] - in->pose_was[i]);
}

FaCode fai_muscle_motion_prepare(FaMuscleMotion *m, double h, FaError *err) {
    FaMuscleBody *b = m->body;
    const double eta = m->o.scheme == FA_SCHEME_BDF2 ? 2 * h / 3 : h;
    memcpy(m->y, b->rest_x, m->n * sizeof *m->y);
    memcpy(m->from, b->rest_x, m->n * sizeof *m->from);
    memset(b->rising, 0, (size_t)b->nmuscle * sizeof *b->rising);
    fai_fibre_activate(b->fibre, b->rising);
    if (m->o.soft > 0) pull_about(m, b->rest_x, NULL);
    const FaNewtonInput in = input_of(m, 1 / (eta * eta), b->rest_x);
    return fai_newton_prepare(m->newton, &in, b->rest_x, err);
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
static FaCode solve(FaMuscleMotion *m, FaMuscleTouch *touch, FaNewtonInput *p, FaMuscleReport *r, FaError *err) {
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
    const double *goal = in->pose_x ? in->pose_x : in->fixed_at ? in->fixed_at : b->rest_x;
    FaMuscleTouch *touch = in->pose_x ? NULL : b->touch;
    FA_TRY(check(m, in, goal, err));
    if (in->h == 0) return rest(m, in, x, report, err);
    const FaInertia inertia = inertia_of(m, in);
    double k = predict(m, &inertia);
    FaNewtonInput p = input_of(m, k, goal);
    p.reference = fmax(push_of(m, k), 1e-300);
    for (size_t i = 0; i < m->n; i++) m->d_new[i] = b->rest_x[i] + m->d[i];
    if (touch) fai_muscle_touch_step(touch, m->d_new, goal);
    fai_fibre_activate(b->fibre, in->activation);
    if (in->pose_x) hold_pose(m, in, &p);
    FaCode rc = solve(m, touch, &p, &r, err);
    if (rc < 0) return rc;
    if (touch) r.stopped = fai_muscle_touch_stop(touch, m->x);
    // the state goes on
    for (size_t i = 0; i < m->n; i++) m->d_new[i] = m->x[i] - b->rest_x[i];
    fai_inertial_velocity_d(&inertia, m->d_new, m->w_new);
    double *d = m->d_last, *w = m->w_last;
    m->d_last = m->d, m->d = m->d_new, m->d_new = d;
    m->w_last = m->w, m->w = m->w_new, m->w_new = w;
    m->pose_last = m->pose, m->pose = in->pose;
    m->h_last = in->h;
    memcpy(x, m->x, m->n * sizeof *x);
    if (!in->pose_x) memcpy(b->active, in->activation, (size_t)b->nmuscle * sizeof *b->active);
    r.seconds = fai_seconds() - begin;
    if (report) *report = r;
    return rc;
}

bool fai_muscle_motion_calm(const FaMuscleMotion *m) {
    const double near = 1e-6, slow = 1e-5; // m, m/s
    if (memcmp(&m->pose, &m->pose_last, sizeof m->pose) != 0) return false;
    for (size_t i = 0; i < m->n; i++)
        if (!(fabs(m->d[i]) < near && fabs(m->d_last[i]) < near && fabs(m->w[i]) < slow && fabs(m->w_last[i]) < slow))
            return false;
    return true;
}

void fai_muscle_motion_state(FaMuscleMotion *m, FaStream *s) {
    double *node[] = {m->d, m->d_last, m->w, m->w_last};
    for (int i = 0; i < FA_COUNT(node); i++) fai_stream(s, node[i], m->n * sizeof *node[i]);
    fai_stream(s, &m->pose, sizeof m->pose);
    fai_stream(s, &m->pose_last, sizeof m->pose_last);
    fai_stream(s, &m->h_last, sizeof m->h_last);
}

double fai_muscle_motion_distance(const FaMuscleMotion *m, const void *state, double h) {
    const double *node[] = {m->d, m->d_last, m->w, m->w_last}, scale[] = {1, 1, h, h};
    const unsigned char *at = state;
    double far = 0;
    for (int a = 0; a < FA_COUNT(node); a++)
        for (size_t i = 0; i < m->n; i++, at += sizeof(double)) {
            double was;
            memcpy(&was, at, sizeof was);
            far = fmax(far, scale[a] * fabs(node[a][i] - was));
        }
    return far;
}
