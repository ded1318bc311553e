// Inertia in the head frame against a simulation in the world: the same motion, for a head that spins, jerks and tilts.
#include "test_solve_slab.h"

#include "math/mat3.h"
#include "math/pose_curve.h"
#include "solve/inertia.h"

static const double H = 1 / 120.0, GRAVITY[3] = {0, -9.80665, 0}, UP0[3] = {0, -9.80665, 0};

static float *field(int n) {
    float *f = aligned_alloc(64, (16 * (size_t)n + 63) / 64 * 64);
    assert_non_null(f);
    memset(f, 0, 16 * (size_t)n);
    return f;
}

// A violent head: 3 turns a second about a tumbling axis, shaken by 2 g.
static FaPose head_at(double t) {
    double r[3] = {6 * sin(3 * t), 4 * t + 2 * t * t, 3 * sin(5 * t + 1)};
    FaPose p = {.p = {0.05 * sin(20 * t), 0.04 * cos(17 * t) + 0.3 * t * t, 0.1 * t}};
    for (int k = 0; k < 3; k++) r[k] *= 1.5;
    fai_q_exp(r, p.q);
    return p;
}

static void turn(const FaPose *p, const double v[3], double out[3]) { fai_q_rotate(p->q, v, out); }

static void turn_back(const FaPose *p, const double v[3], double out[3]) {
    double back[4];
    fai_q_conj(p->q, back);
    fai_q_rotate(back, v, out);
}

// The world: positions X and velocities V of two steps, plainly integrated in double. The body itself (rest shape,
// anchors) is carried by the head, so energies are those of the head frame at R'(X - p) - x0.
typedef struct World {
    double *x[2], *v[2];
} World;

static void world_step(const Slab *s, World *w, FaScheme scheme, const FaPose *before, const FaPose *now,
                       const FaPose *next, double c, double tolerance) {
    int n = 3 * s->e.nnode;
    double a0 = scheme == FA_SCHEME_EULER ? 1 : 4 / 3.0, a1 = 1 - a0, eta = scheme == FA_SCHEME_EULER ? H : 2 * H / 3;
    double *y = FA_NEW(n, double), *u = FA_NEW(n, double), share[3], extra[3];
    turn(next, UP0, extra); // - s R g0
    for (int k = 0; k < 3; k++) share[k] = GRAVITY[k] - extra[k];
    for (int i = 0; i < n; i += 3) {
        double to[3], carried[3] = {0};
        // drag: towards where the head carries what the scheme remembers of the node in it
        for (int level = 0; level < 2; level++) {
            double local[3], d[3];
            const FaPose *p = level ? before : now;
            if (level && a1 == 0) break;
            fai_v3_sub(w->x[level] + i, p->p, d);
            turn_back(p, d, local);
            fai_v3_mad(carried, level ? a1 : a0, local, carried);
        }
        turn(next, carried, carried);
        fai_v3_add(carried, next->p, carried);
        for (int k = 0; k < 3; k++) {
            double free = a0 * w->x[0][i + k] + a1 * w->x[1][i + k] +
                          eta * (a0 * w->v[0][i + k] + a1 * w->v[1][i + k]) + eta * eta * share[k];
            to[k] = (free + c * eta * carried[k]) / (1 + c * eta) - next->p[k];
        }
        turn_back(next, to, y + i);
        fai_v3_sub(y + i, s->e.x0 + i, y + i);
        double d[3];
        fai_v3_sub(w->x[0] + i, now->p, d);
        turn_back(now, d, u + i);
        fai_v3_sub(u + i, s->e.x0 + i, u + i);
    }
    FaReferenceInput in = {.y = y, .inertia = (1 + c * eta) / (eta * eta), .iterations = 500, .tolerance = tolerance};
    FaError err = {0};
    CHECK_OK(fai_reference_solve(&s->e, &in, u, NULL, NULL, &err), &err);
    for (int i = 0; i < n; i += 3) {
        double at[3], x[3], v[3];
        fai_v3_add(s->e.x0 + i, u + i, at);
        turn(next, at, x);
        fai_v3_add(x, next->p, x);
        for (int k = 0; k < 3; k++) v[k] = (x[k] - a0 * w->x[0][i + k] - a1 * w->x[1][i + k]) / eta;
        memcpy(w->x[1] + i, w->x[0] + i, sizeof x);
        memcpy(w->v[1] + i, w->v[0] + i, sizeof v);
        memcpy(w->x[0] + i, x, sizeof x);
        memcpy(w->v[0] + i, v, sizeof v);
    }
    fa_free(y);
    fa_free(u);
}

static void one_scheme(FaScheme scheme, double damping) {
    Slab *s = slab_new(6, 5, 3, 0.5, false, 0, 0, false);
    int n = s->e.nnode;
    for (int i = 0; i < s->e.nanchor; i++) s->e.anchor_weight[i] = 30;
    FaProjectiveOptions o = {.inertia = 1 / (H * H)};
    FaProjective *p;
    FaError err = {0};
    CHECK_OK(fai_projective_new(&s->e, &o, &p, &err), &err);
    float *u[3], *w[3], *y = field(n);
    World world;
    for (int k = 0; k < 3; k++) u[k] = field(n), w[k] = field(n);
    // both start at rest in a head that stands still at its first two poses' mean motion: velocities of the world
    FaPose pose[3] = {head_at(0), head_at(-H), head_at(H)};
    for (int k = 0; k < 2; k++) {
        world.x[k] = FA_NEW(3 * n, double);
        world.v[k] = FA_NEW(3 * n, double);
        for (int i = 0; i < n; i++) {
            double x[3], other[3];
            FaPose earlier = head_at(-(k + 1) * H), here = head_at(-k * H);
            fai_pose_apply(&here, s->e.x0 + 3 * i, x);
            fai_pose_apply(&earlier, s->e.x0 + 3 * i, other);
            double v[3], local[3];
            for (int c = 0; c < 3; c++) v[c] = (x[c] - other[c]) / H;
            turn_back(&here, v, local);
            memcpy(world.x[k] + 3 * i, x, sizeof x);
            for (int c = 0; c < 3; c++) w[k][4 * i + c] = (float)local[c];
            for (int c = 0; c < 3; c++) local[c] = (double)w[k][4 * i + c];
            turn(&here, local, world.v[k] + 3 * i); // the same start, rounding included
        }
    }
    double most = 0, worst = 0;
    for (int step = 0; step < 60; step++) {
        pose[2] = head_at((step + 1) * H);
        FaInertia in = {
            .scheme = scheme, .nnode = n, .x0 = s->e.x0, .h = H, .h_before = H, .pose = pose[2], .damping = damping};
        in.now = (FaInertiaLevel){.pose = pose[0], .u = u[0], .w = w[0]};
        in.before = (FaInertiaLevel){.pose = pose[1], .u = u[1], .w = w[1]};
        fai_relative_gravity(&pose[2], GRAVITY, UP0, 1, in.accel);
        FaProjectiveInput pi = {.y = y, .inertia = fai_inertial_prediction(&in, y), .iterations = 60};
        memcpy(u[2], u[0], 16 * (size_t)n);
        CHECK_OK(fai_projective_solve(p, &pi, u[2], NULL, &err), &err);
        fai_inertial_velocity(&in, u[2], w[2], NULL);
        world_step(s, &world, scheme, &pose[1], &pose[0], &pose[2], damping, 1e-10);
        float *su = u[1], *sw = w[1];
        u[1] = u[0], u[0] = u[2], u[2] = su;
        w[1] = w[0], w[0] = w[2], w[2] = sw;
        pose[1] = pose[0];
        pose[0] = pose[2];
        for (int i = 0; i < n; i++) {
            double at[3], x[3], d[3];
            for (int k = 0; k < 3; k++) at[k] = s->e.x0[3 * i + k] + (double)u[0][4 * i + k];
            fai_pose_apply(&pose[0], at, x);
            fai_v3_sub(x, world.x[0] + 3 * i, d);
            worst = fmax(worst, fai_v3_norm(d));
            for (int k = 0; k < 3; k++) most = fmax(most, fabs((double)u[0][4 * i + k]));
        }
    }
    print_message("%s: flesh moves %.3f mm in the head, head frame and world differ by %.2e of it\n",
                  scheme ? "BDF2" : "Euler", 1e3 * most, worst / most);
    assert_true(most > 5e-4);
    CHECK_NEAR(worst / most, 0, 1e-5); // floats: the state itself is rounded to 6e-8 in each of 60 steps
    CHECK_NEAR(worst, 0, 1e-6 * 0.05); // to 1e-6 of the head's own motion (5 cm and more)
    for (int k = 0; k < 3; k++) free(u[k]), free(w[k]);
    for (int k = 0; k < 2; k++) fa_free(world.x[k]), fa_free(world.v[k]);
    free(y);
    fai_projective_free(p);
    slab_free(s);
}

static void world_and_head(void **state) {
    (void)state;
    one_scheme(FA_SCHEME_EULER, 0);
    one_scheme(FA_SCHEME_BDF2, 0);
    one_scheme(FA_SCHEME_BDF2, 8);
}

// The prediction holds the accelerations of methods.md section 0: its second difference is -R'p'' - alpha x x - omega x
// (omega x x)
// - 2 omega x v + gravity, to the order of the step (free flight in the head frame).
static void fictitious(void **state) {
    (void)state;
    enum { N = 40 };
    FaPose pose[N];
    double time[N];
    FaPoseCurve *curve;
    FaError err = {0};
    for (int i = 0; i < N; i++) time[i] = i / 120.0, pose[i] = head_at(time[i]);
    CHECK_OK(fai_pose_curve_new(N, time, pose, FA_ENDS_FREE, &curve, &err), &err);
    double x0[3] = {0.03, 0.1, 0.08}, error[2] = {0};
    for (int fine = 0; fine < 2; fine++) {
        double h = fine ? 1e-4 : 2e-4, t = 0.151;
        FaMotion m;
        fai_pose_curve_eval(curve, t, &m);
        // a node on its way through the head frame at v, at u = 0
        double v[3] = {0.4, -0.3, 0.2}, world[3], w[3], swing[3], a[3], want[3];
        fai_v3_cross(m.omega, x0, swing);
        turn_back(&m.pose, m.v, world);
        float u[4] = {0}, wf[4] = {0}, y[4];
        for (int k = 0; k < 3; k++) w[k] = world[k] + swing[k] + v[k], wf[k] = (float)w[k];
        FaInertia in = {
            .scheme = FA_SCHEME_EULER, .nnode = 1, .x0 = x0, .h = h, .now = {.pose = m.pose, .u = u, .w = wf}};
        FaMotion next;
        fai_pose_curve_eval(curve, t + h, &next);
        in.pose = next.pose;
        CHECK_NEAR(fai_inertial_prediction(&in, y) * h * h, 1, 1e-12);
        // free flight: u(t + h) = h v + h^2/2 a
        double coriolis[3], euler[3], in1[3], in2[3];
        turn_back(&m.pose, m.a, a);
        fai_v3_cross(m.alpha, x0, euler);
        fai_v3_cross(m.omega, x0, in1);
        fai_v3_cross(m.omega, in1, in2);
        fai_v3_cross(m.omega, v, coriolis);
        double size = 0;
        for (int k = 0; k < 3; k++) {
            want[k] = -a[k] - euler[k] - in2[k] - 2 * coriolis[k];
            double got = 2 * ((double)y[k] - h * ((double)wf[k] - world[k] - swing[k])) / (h * h);
            error[fine] = fmax(error[fine], fabs(got - want[k]));
            size = fmax(size, fabs(want[k]));
        }
        assert_true(size > 5);
        CHECK_NEAR(error[fine] / size, 0, fine ? 0.02 : 0.03);
    }
    fai_pose_curve_free(curve);
}

// Variable steps: BDF2 is exact for uniform acceleration in free flight, whatever the steps; damping tends to the goal.
static void steps(void **state) {
    (void)state;
    double x0[3] = {0, 0, 0}, t = 0;
    float u[3][4] = {{0}}, w[3][4] = {{0}}, goal[4] = {0.5f, 0, 0, 0}, y[4];
    FaPose still = fai_pose_identity();
    // history of x = t^2, v = 2 t
    double at[2] = {0.02, 0};
    for (int k = 0; k < 2; k++) u[k][0] = (float)(at[k] * at[k]), w[k][0] = (float)(2 * at[k]);
    double h_before = 0.02;
    t = 0.02;
    for (int i = 0; i < 50; i++) {
        double h = 0.01 + 0.015 * fai_random_unit(3, (uint64_t)i);
        FaInertia in = {.scheme = FA_SCHEME_BDF2,
                        .nnode = 1,
                        .x0 = x0,
                        .h = h,
                        .h_before = h_before,
                        .pose = still,
                        .accel = {2, 0, 0}};
        in.now = (FaInertiaLevel){.pose = still, .u = u[0], .w = w[0]};
        in.before = (FaInertiaLevel){.pose = still, .u = u[1], .w = w[1]};
        fai_inertial_prediction(&in, y);
        memcpy(u[2], y, sizeof y);
        fai_inertial_velocity(&in, u[2], w[2], NULL);
        t += h;
        CHECK_NEAR(u[2][0], t * t, 2e-5 * t * t + 1e-7);
        CHECK_NEAR(w[2][0], 2 * t, 1e-4);
        memcpy(u[1], u[0], 16), memcpy(u[0], u[2], 16);
        memcpy(w[1], w[0], 16), memcpy(w[0], w[2], 16);
        h_before = h;
    }
    // 200 steps of drag at 30/s: the velocity is the goal's
    float v[4];
    for (int i = 0; i < 200; i++) {
        FaInertia in = {.scheme = FA_SCHEME_EULER,
                        .nnode = 1,
                        .x0 = x0,
                        .h = 0.01,
                        .pose = still,
                        .damping = 30,
                        .goal_velocity = goal};
        in.now = (FaInertiaLevel){.pose = still, .u = u[0], .w = w[0]};
        double inertia = fai_inertial_prediction(&in, y);
        CHECK_NEAR(inertia, (1 + 0.3) / 1e-4, 1e-6);
        fai_inertial_velocity(&in, y, w[2], v);
        memcpy(u[0], y, 16), memcpy(w[0], w[2], 16);
        CHECK_NEAR(v[0], w[2][0], 1e-5);
    }
    CHECK_NEAR(w[0][0], 0.5, 1e-3);
    // a head that has been turning: nodes at rest in it go round
    double omega[3] = {0, 2, 0}, vel[3] = {1, 0, 0}, rest[3] = {0, 0, 0.5};
    float start[4];
    fai_inertial_start(&still, vel, omega, 1, rest, start);
    CHECK_NEAR(start[0], 2, 1e-6);
    CHECK_NEAR(start[2], 0, 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(world_and_head), cmocka_unit_test(fictitious),
                                       cmocka_unit_test(steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
