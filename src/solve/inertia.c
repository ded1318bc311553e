#include "solve/inertia.h"

#include "base/task.h"
#include "math/mat3.h"

#include <math.h>

enum { CHUNK = 1024 };

typedef struct Scheme {
    double a[2], eta;
} Scheme;

static Scheme scheme_of(const FaInertia *in) {
    if (in->scheme == FA_SCHEME_EULER) return (Scheme){{1, 0}, in->h};
    double r = in->h / in->h_before, all = 1 + 2 * r;
    return (Scheme){{(1 + r) * (1 + r) / all, -r * r / all}, in->h * (1 + r) / all};
}

// From one head pose to another: x -> x + turn x + shift. turn = R - 1 from the quaternion's vector part, so that it is
// 0 to the bit between equal poses.
typedef struct Change {
    double turn[9], shift[3];
} Change;

static void change_of(const FaPose *from, const FaPose *to, Change *c) {
    double back[4], q[4], p[3];
    fai_q_conj(to->q, back);
    fai_q_mul(back, from->q, q);
    double s = 2 / fai_q_dot(q, q), x = q[0], y = q[1], z = q[2], w = q[3];
    double turn[9] = {-s * (y * y + z * z), s * (x * y - w * z),  s * (x * z + w * y),
                      s * (x * y + w * z),  -s * (x * x + z * z), s * (y * z - w * x),
                      s * (x * z - w * y),  s * (y * z + w * x),  -s * (x * x + y * y)};
    memcpy(c->turn, turn, sizeof turn);
    fai_v3_sub(from->p, to->p, p);
    fai_q_rotate(back, p, c->shift);
}

static bool is_none(const Change *c) {
    double sum = 0;
    for (int k = 0; k < 9; k++) sum += fabs(c->turn[k]);
    for (int k = 0; k < 3; k++) sum += fabs(c->shift[k]);
    return sum == 0;
}

typedef struct Task {
    const FaInertia *in;
    Scheme s;
    Change now, before;
    bool still; // both changes are none
    double accel[3];
    const float *u;
    float *y, *w, *v;
    const double *ud; // in double, n x 3
    double *yd, *wd;
} Task;

static void load(const float *f, const double *d, int i, double x[3]) {
    for (size_t k = 0; k < 3; k++) x[k] = d ? d[3 * (size_t)i + k] : (double)f[4 * (size_t)i + k];
}

// The same as below for a head that does not move.
static void past_still(const Task *t, int i, double x[3], double w[3], double u[3]) {
    const FaInertiaLevel *l = &t->in->now, *m = &t->in->before;
    double d[3], vel[3], a = t->s.a[0], b = t->s.a[1];
    load(l->u, l->ud, i, d);
    load(l->w, l->wd, i, vel);
    for (int k = 0; k < 3; k++) {
        u[k] = a * d[k];
        w[k] = a * vel[k];
    }
    if (b != 0) {
        load(m->u, m->ud, i, d);
        load(m->w, m->wd, i, vel);
        for (int k = 0; k < 3; k++) {
            u[k] += b * d[k];
            w[k] += b * vel[k];
        }
    }
    memcpy(x, u, 3 * sizeof *x);
}

// What a scheme makes of the past: of positions, less x0, and of velocities, in the axes of the end of the step; and of
// displacements as if the head had not moved.
static void past(const Task *t, int i, double x[3], double w[3], double u[3]) {
    const FaInertia *in = t->in;
    if (t->still) {
        past_still(t, i, x, w, u);
        return;
    }
    memset(x, 0, 3 * sizeof *x);
    memset(w, 0, 3 * sizeof *w);
    memset(u, 0, 3 * sizeof *u);
    for (int level = 0; level < 2 && t->s.a[level] != 0; level++) {
        const FaInertiaLevel *l = level ? &in->before : &in->now;
        const Change *c = level ? &t->before : &t->now;
        double at[3], d[3], turned[3], vel[3], swung[3];
        load(l->u, l->ud, i, d);
        load(l->w, l->wd, i, vel);
        fai_v3_add(in->x0 + 3 * (size_t)i, d, at);
        fai_m3_mulv(c->turn, at, turned);
        fai_m3_mulv(c->turn, vel, swung);
        for (int k = 0; k < 3; k++) {
            double a = t->s.a[level];
            u[k] += a * d[k];
            x[k] += a * (d[k] + (turned[k] + c->shift[k]));
            w[k] += a * (vel[k] + swung[k]);
        }
    }
}

static void predict(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Task *t = ctx;
    double eta = t->s.eta, c = t->in->damping * eta;
    for (int i = begin; i < end; i++) {
        double x[3], w[3], u[3];
        past(t, i, x, w, u);
        for (int k = 0; k < 3; k++) {
            double free = x[k] + eta * (w[k] + eta * t->accel[k]);
            double goal = t->in->goal_velocity ? (double)t->in->goal_velocity[4 * (size_t)i + (size_t)k] : 0;
            double y = (free + c * (u[k] + eta * goal)) / (1 + c);
            if (t->yd)
                t->yd[3 * (size_t)i + (size_t)k] = y;
            else
                t->y[4 * (size_t)i + (size_t)k] = (float)y;
        }
        if (t->y) t->y[4 * (size_t)i + 3] = 0;
    }
}

static Task make_task(const FaInertia *in) {
    Task t = {.in = in, .s = scheme_of(in)};
    change_of(&in->now.pose, &in->pose, &t.now);
    if (in->scheme == FA_SCHEME_BDF2) change_of(&in->before.pose, &in->pose, &t.before);
    memcpy(t.accel, in->accel, sizeof t.accel);
    t.still = is_none(&t.now) && is_none(&t.before);
    return t;
}

double fai_inertial_prediction(const FaInertia *in, float *y) {
    Task t = make_task(in);
    t.y = y;
    fai_parallel(in->nnode, CHUNK, predict, &t);
    return (1 + in->damping * t.s.eta) / (t.s.eta * t.s.eta);
}

double fai_inertial_prediction_d(const FaInertia *in, double *y) {
    Task t = make_task(in);
    t.yd = y;
    fai_parallel(in->nnode, CHUNK, predict, &t);
    return (1 + in->damping * t.s.eta) / (t.s.eta * t.s.eta);
}

// (X - sum of a_k X_k) / eta
static void velocity(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Task *t = ctx;
    for (int i = begin; i < end; i++) {
        double x[3], w[3], u[3];
        past(t, i, x, w, u);
        for (size_t k = 0; k < 3 && t->wd; k++) t->wd[3 * (size_t)i + k] = (t->ud[3 * (size_t)i + k] - x[k]) / t->s.eta;
        for (int k = 0; k < 4; k++) {
            size_t at = 4 * (size_t)i + (size_t)k;
            if (t->w) t->w[at] = k < 3 ? (float)(((double)t->u[at] - x[k]) / t->s.eta) : 0;
            if (t->v) t->v[at] = k < 3 ? (float)(((double)t->u[at] - u[k]) / t->s.eta) : 0;
        }
    }
}

void fai_inertial_velocity(const FaInertia *in, const float *u, float *w, float *v) {
    Task t = make_task(in);
    t.u = u;
    t.w = w;
    t.v = v;
    fai_parallel(in->nnode, CHUNK, velocity, &t);
}

void fai_inertial_velocity_d(const FaInertia *in, const double *u, double *w) {
    Task t = make_task(in);
    t.ud = u;
    t.wd = w;
    fai_parallel(in->nnode, CHUNK, velocity, &t);
}

void fai_inertial_rate(const FaInertia *in, double rate[9]) {
    Task t = make_task(in);
    for (int k = 0; k < 9; k++) rate[k] = -(t.s.a[0] * t.now.turn[k] + t.s.a[1] * t.before.turn[k]) / t.s.eta;
}

void fai_relative_gravity(const FaPose *pose, const double g[3], const double g0[3], double share, double accel[3]) {
    double back[4], turned[3];
    fai_q_conj(pose->q, back);
    fai_q_rotate(back, g, turned);
    for (int k = 0; k < 3; k++) accel[k] = turned[k] - share * g0[k];
}

// The head's velocity at a place in it, in its axes.
static void start_at(const FaPose *pose, const double v[3], const double omega[3], const double x[3], double w[3]) {
    double back[4], origin[3], swing[3];
    fai_q_conj(pose->q, back);
    fai_q_rotate(back, v, origin);
    fai_v3_cross(omega, x, swing);
    fai_v3_add(origin, swing, w);
}

void fai_inertial_start(const FaPose *pose, const double v[3], const double omega[3], int nnode, const double *x0,
                        float *w) {
    for (int i = 0; i < nnode; i++) {
        double at[3];
        start_at(pose, v, omega, x0 + 3 * (size_t)i, at);
        for (int k = 0; k < 3; k++) w[4 * (size_t)i + (size_t)k] = (float)at[k];
        w[4 * (size_t)i + 3] = 0;
    }
}

void fai_inertial_start_d(const FaPose *pose, const double v[3], const double omega[3], int nnode, const double *x0,
                          double *w) {
    for (int i = 0; i < nnode; i++) start_at(pose, v, omega, x0 + 3 * (size_t)i, w + 3 * (size_t)i);
}
