// C2 curves through poses: interpolation, derivatives by differences, continuity at the poses, turns, orders.
#include "test.h"

#include "base/base.h"
#include "math/mat3.h"
#include "math/pose_curve.h"

static const double PI = 3.14159265358979323846;

static FaPoseCurve *make(int n, const double *time, const FaPose *pose, FaCurveEnds ends) {
    FaPoseCurve *curve = NULL;
    FaError err = {0};
    CHECK_OK(fai_pose_curve_new(n, time, pose, ends, &curve, &err), &err);
    return curve;
}

// Angle between two rotations.
static double angle_between(const double a[4], const double b[4]) {
    double c[4], q[4], r[3];
    fai_q_conj(a, c);
    fai_q_mul(c, b, q);
    fai_q_log(q, r);
    return fai_v3_norm(r);
}

static double apart(const double a[3], const double b[3]) {
    double d[3];
    fai_v3_sub(a, b, d);
    return fai_v3_norm(d);
}

// Random poses at uneven times; steps of up to `step` radians, signs and lengths of the quaternions at random.
static void random_poses(int n, double step, uint64_t seed, double *time, FaPose *pose) {
    double q[4] = {0, 0, 0, 1}, t = -3;
    for (int i = 0; i < n; i++) {
        double r[3], turn[4];
        for (int k = 0; k < 3; k++) {
            pose[i].p[k] = fai_random_normal(seed, 10 * (uint64_t)i + (uint64_t)k);
            r[k] = fai_random_normal(seed, 10 * (uint64_t)i + 3 + (uint64_t)k);
        }
        fai_v3_normalize(r);
        fai_v3_scale(step * fai_random_unit(seed, 10 * (uint64_t)i + 7), r, r);
        fai_q_exp(r, turn);
        fai_q_mul(q, turn, q);
        double length = (fai_random_unit(seed, 10 * (uint64_t)i + 8) + 0.5) *
                        (fai_random_u64(seed, 10 * (uint64_t)i + 9) % 2 ? 1 : -1);
        for (int k = 0; k < 4; k++) pose[i].q[k] = length * q[k];
        time[i] = t;
        t += 0.02 + 0.2 * fai_random_unit(seed, 1000 + (uint64_t)i);
    }
}

static void passes_through_poses(void **state) {
    (void)state;
    enum { N = 40 };
    double time[N];
    FaPose pose[N];
    for (int ends = 0; ends < 2; ends++)
        for (int n = 1; n <= N; n = n < 4 ? n + 1 : n * 2 + 1) {
            random_poses(n, 2.5, (uint64_t)n, time, pose);
            FaPoseCurve *curve = make(n, time, pose, ends ? FA_ENDS_REST : FA_ENDS_FREE);
            for (int i = 0; i < n; i++) {
                FaMotion m;
                fai_pose_curve_eval(curve, time[i], &m);
                assert_memory_equal(m.pose.p, pose[i].p, sizeof m.pose.p);
                double q[4];
                memcpy(q, pose[i].q, sizeof q);
                fai_q_normalize(q);
                CHECK_NEAR(angle_between(m.pose.q, q), 0, 1e-14);
                CHECK_NEAR(fai_q_dot(m.pose.q, m.pose.q), 1, 1e-15);
            }
            fai_pose_curve_free(curve);
        }
}

// Velocities and accelerations against central differences of what they are derivatives of.
static void derivatives_by_differences(void **state) {
    (void)state;
    enum { N = 12 };
    double time[N], worst[4] = {0}, size[4] = {0};
    FaPose pose[N];
    for (uint64_t seed = 0; seed < 20; seed++) {
        random_poses(N, 2, seed, time, pose);
        FaPoseCurve *curve = make(N, time, pose, seed % 2 ? FA_ENDS_REST : FA_ENDS_FREE);
        for (int i = 0; i + 1 < N; i++)
            for (int s = 1; s < 4; s++) {
                double h = time[i + 1] - time[i], t = time[i] + h * s / 4, d = 1e-5 * h;
                FaMotion a, b, c;
                fai_pose_curve_eval(curve, t - d, &a);
                fai_pose_curve_eval(curve, t, &b);
                fai_pose_curve_eval(curve, t + d, &c);
                double back[4], turn[4], r[3];
                fai_q_conj(a.pose.q, back);
                fai_q_mul(back, c.pose.q, turn);
                fai_q_log(turn, r);
                for (int k = 0; k < 3; k++) {
                    double truth[4] = {(c.pose.p[k] - a.pose.p[k]) / (2 * d), (c.v[k] - a.v[k]) / (2 * d),
                                       r[k] / (2 * d), (c.omega[k] - a.omega[k]) / (2 * d)};
                    double given[4] = {b.v[k], b.a[k], b.omega[k], b.alpha[k]};
                    for (int j = 0; j < 4; j++) {
                        worst[j] = fmax(worst[j], fabs(truth[j] - given[j]));
                        size[j] = fmax(size[j], fabs(given[j]));
                    }
                }
            }
        fai_pose_curve_free(curve);
    }
    for (int j = 0; j < 4; j++) {
        assert_true(size[j] > 1);
        CHECK_NEAR(worst[j] / size[j], 0, 1e-7);
    }
}

// Nothing jumps at a pose: the last number before it and the pose itself.
static void continuous_at_poses(void **state) {
    (void)state;
    enum { N = 25 };
    double time[N];
    FaPose pose[N];
    for (uint64_t seed = 0; seed < 20; seed++) {
        random_poses(N, 2.8, 100 + seed, time, pose);
        FaPoseCurve *curve = make(N, time, pose, FA_ENDS_FREE);
        for (int i = 1; i + 1 < N; i++) {
            FaMotion a, b;
            fai_pose_curve_eval(curve, nextafter(time[i], -10), &a);
            fai_pose_curve_eval(curve, time[i], &b);
            CHECK_NEAR(apart(a.pose.p, b.pose.p), 0, 1e-12);
            CHECK_NEAR(angle_between(a.pose.q, b.pose.q), 0, 1e-12);
            CHECK_NEAR(apart(a.v, b.v), 0, 1e-11 * (1 + fai_v3_norm(b.v)));
            CHECK_NEAR(apart(a.omega, b.omega), 0, 1e-11 * (1 + fai_v3_norm(b.omega)));
            CHECK_NEAR(apart(a.a, b.a), 0, 1e-10 * (1 + fai_v3_norm(b.a)));
            CHECK_NEAR(apart(a.alpha, b.alpha), 0,
                       1e-10 * (1 + fai_v3_norm(b.alpha) + fai_v3_norm(b.omega) * fai_v3_norm(b.omega)));
        }
        fai_pose_curve_free(curve);
    }
}

// Three turns at constant speed about a tilted axis, sampled at uneven times up to 170 degrees apart: exact.
static void constant_turning_is_exact(void **state) {
    (void)state;
    enum { N = 14 };
    double time[N], axis[3] = {1, 2, -1}, speed = 3 * 2 * PI;
    FaPose pose[N];
    fai_v3_normalize(axis);
    for (int i = 0; i < N; i++) {
        time[i] = i == 0 ? 0 : time[i - 1] + (0.2 + 0.8 * fai_random_unit(3, (uint64_t)i)) * PI * 0.94 / speed;
        double r[3];
        fai_v3_scale(speed * time[i], axis, r);
        fai_q_exp(r, pose[i].q);
        fai_v3_set(pose[i].p, 1 + 2 * time[i], -time[i], 0.5);
    }
    assert_true(speed * time[N - 1] > 2 * 2 * PI);
    FaPoseCurve *curve = make(N, time, pose, FA_ENDS_FREE);
    for (int s = 0; s <= 1000; s++) {
        double t = time[N - 1] * s / 1000, r[3], q[4], omega[3], zero[3] = {0, 0, 0};
        FaMotion m;
        fai_pose_curve_eval(curve, t, &m);
        fai_v3_scale(speed * t, axis, r);
        fai_v3_scale(speed, axis, omega);
        fai_q_exp(r, q);
        CHECK_NEAR(angle_between(m.pose.q, q), 0, 1e-13);
        CHECK_NEAR(apart(m.omega, omega), 0, 1e-11);
        CHECK_NEAR(apart(m.alpha, zero), 0, 1e-9);
        CHECK_NEAR(apart(m.v, (double[]){2, -1, 0}), 0, 1e-12);
        CHECK_NEAR(apart(m.a, zero), 0, 1e-10);
    }
    fai_pose_curve_free(curve);
}

static void one_and_two_poses(void **state) {
    (void)state;
    double time[2] = {1, 3};
    FaPose pose[2] = {{{0, 0, 0, 2}, {1, 2, 3}}, {{0, 0, 0, 1}, {5, 2, 1}}};
    fai_q_exp((double[]){0.3, -2.4, 0.7}, pose[1].q);
    FaMotion m;
    FaPoseCurve *curve = make(1, time, pose, FA_ENDS_REST);
    for (int t = 0; t < 3; t++) {
        fai_pose_curve_eval(curve, t, &m);
        assert_memory_equal(m.pose.p, pose[0].p, sizeof m.pose.p);
        assert_true(m.pose.q[3] == 1 && fai_v3_norm(m.v) == 0 && fai_v3_norm(m.omega) == 0 &&
                    fai_v3_norm(m.alpha) == 0);
    }
    fai_pose_curve_free(curve);

    // two: a straight line and slerp
    double unit[4] = {0, 0, 0, 1};
    curve = make(2, time, pose, FA_ENDS_FREE);
    for (int s = 0; s <= 10; s++) {
        double q[4], omega[3];
        fai_pose_curve_eval(curve, 1 + 0.2 * s, &m);
        fai_q_slerp(unit, pose[1].q, 0.1 * s, q);
        fai_v3_scale(0.5, (double[]){0.3, -2.4, 0.7}, omega);
        CHECK_NEAR(angle_between(m.pose.q, q), 0, 1e-14);
        CHECK_NEAR(apart(m.omega, omega), 0, 1e-13);
        CHECK_NEAR(apart(m.pose.p, (double[]){1 + 0.4 * s, 2, 3 - 0.2 * s}), 0, 1e-14);
    }
    fai_pose_curve_free(curve);

    // at rest at both ends: smoothstep, 1.5 times the mean speed in the middle
    curve = make(2, time, pose, FA_ENDS_REST);
    for (int end = 0; end < 2; end++) {
        fai_pose_curve_eval(curve, time[end], &m);
        CHECK_NEAR(fai_v3_norm(m.v), 0, 1e-14);
        CHECK_NEAR(fai_v3_norm(m.omega), 0, 1e-14);
        assert_true(fai_v3_norm(m.a) > 1 && fai_v3_norm(m.alpha) > 1);
    }
    fai_pose_curve_eval(curve, 2, &m);
    CHECK_NEAR(apart(m.v, (double[]){3, 0, -1.5}), 0, 1e-14);
    double half[4];
    fai_q_slerp(unit, pose[1].q, 0.5, half);
    CHECK_NEAR(angle_between(m.pose.q, half), 0, 1e-14);
    fai_pose_curve_free(curve);
}

static void held_outside(void **state) {
    (void)state;
    enum { N = 5 };
    double time[N];
    FaPose pose[N];
    random_poses(N, 1, 7, time, pose);
    FaPoseCurve *curve = make(N, time, pose, FA_ENDS_FREE);
    double when[3] = {time[0] - 1, time[N - 1] + 1e-9, NAN};
    for (int k = 0; k < 3; k++) {
        FaMotion m;
        fai_pose_curve_eval(curve, when[k], &m);
        assert_memory_equal(m.pose.p, pose[k == 1 ? N - 1 : 0].p, sizeof m.pose.p);
        assert_true(fai_v3_norm(m.v) == 0 && fai_v3_norm(m.omega) == 0);
    }
    fai_pose_curve_free(curve);
}

// Other axes for the world or for the body turn the whole curve along: no frame is special.
static void independent_of_frames(void **state) {
    (void)state;
    enum { N = 10 };
    double time[N], world[4], body[4], back[4];
    FaPose pose[N], other[N];
    random_poses(N, 2.5, 11, time, pose);
    fai_q_exp((double[]){2, -1, 0.5}, world);
    fai_q_exp((double[]){-0.4, 2, 1}, body);
    fai_q_conj(body, back);
    for (int i = 0; i < N; i++) {
        other[i] = pose[i];
        fai_q_mul(world, pose[i].q, other[i].q);
        fai_q_mul(other[i].q, body, other[i].q);
    }
    FaPoseCurve *a = make(N, time, pose, FA_ENDS_REST), *b = make(N, time, other, FA_ENDS_REST);
    for (int s = 0; s <= 100; s++) {
        double t = time[0] + (time[N - 1] - time[0]) * s / 100, q[4], omega[3], alpha[3];
        FaMotion m, n;
        fai_pose_curve_eval(a, t, &m);
        fai_pose_curve_eval(b, t, &n);
        fai_q_mul(world, m.pose.q, q);
        fai_q_mul(q, body, q);
        CHECK_NEAR(angle_between(q, n.pose.q), 0, 1e-13);
        fai_q_rotate(back, m.omega, omega);
        fai_q_rotate(back, m.alpha, alpha);
        CHECK_NEAR(apart(omega, n.omega), 0, 1e-11);
        CHECK_NEAR(apart(alpha, n.alpha), 0, 1e-9 * (1 + fai_v3_norm(alpha)));
    }
    fai_pose_curve_free(a);
    fai_pose_curve_free(b);
}

// A smooth head motion sampled at h and h/2: pose to fourth order, acceleration to second, away from the ends.
static double smooth_error(int n, double *alpha_error) {
    double *time = FA_NEW(n + 1, double), worst = 0;
    FaPose *pose = FA_NEW(n + 1, FaPose);
    for (int i = 0; i <= n; i++) {
        double t = time[i] = 2.0 * i / n;
        double yaw[4], pitch[4];
        fai_q_exp((double[]){0, 0.8 * sin(3 * t), 0}, yaw);
        fai_q_exp((double[]){0.5 * cos(5 * t), 0, 0}, pitch);
        fai_q_mul(yaw, pitch, pose[i].q);
        fai_v3_set(pose[i].p, sin(4 * t), 0, 0);
    }
    FaPoseCurve *curve = make(n + 1, time, pose, FA_ENDS_FREE);
    *alpha_error = 0;
    for (int s = 600; s <= 1400; s++) {
        double t = s / 1000.0, yaw[4], pitch[4], q[4], y1 = 2.4 * cos(3 * t), y2 = -7.2 * sin(3 * t);
        double a = 0.5 * cos(5 * t), a1 = -2.5 * sin(5 * t), a2 = -12.5 * cos(5 * t);
        fai_q_exp((double[]){0, 0.8 * sin(3 * t), 0}, yaw);
        fai_q_exp((double[]){a, 0, 0}, pitch);
        fai_q_mul(yaw, pitch, q);
        FaMotion m;
        fai_pose_curve_eval(curve, t, &m);
        worst = fmax(worst, angle_between(q, m.pose.q));
        // omega = (a', y' cos a, -y' sin a) in the body's axes; alpha its derivative
        double alpha[3] = {a2, y2 * cos(a) - y1 * a1 * sin(a), -y2 * sin(a) - y1 * a1 * cos(a)};
        *alpha_error = fmax(*alpha_error, apart(alpha, m.alpha));
    }
    fai_pose_curve_free(curve);
    fa_free(time);
    fa_free(pose);
    return worst;
}

static void converges(void **state) {
    (void)state;
    double alpha[2], coarse = smooth_error(60, &alpha[0]), fine = smooth_error(120, &alpha[1]);
    print_message("30/s: %.1e rad, %.1e rad/s2; order %.2f, %.2f\n", coarse, alpha[0], log2(coarse / fine),
                  log2(alpha[0] / alpha[1]));
    assert_true(coarse < 1e-5 && coarse > 0);
    assert_true(log2(coarse / fine) > 3.8);
    assert_true(log2(alpha[0] / alpha[1]) > 1.9);
}

static void refuses(void **state) {
    (void)state;
    double time[3] = {0, 1, 2};
    FaPose good[3] = {{{0, 0, 0, 1}, {0}}, {{0, 0, 0, 1}, {0}}, {{0, 0, 0, 1}, {0}}};
    FaPoseCurve *curve;
    assert_int_equal(fai_pose_curve_new(0, time, good, FA_ENDS_FREE, &curve, NULL), FA_E_ARG);
    assert_null(curve);
    for (int kind = 0; kind < 5; kind++) {
        FaPose pose[3];
        double when[3];
        memcpy(pose, good, sizeof pose);
        memcpy(when, time, sizeof when);
        if (kind == 0) pose[1].q[3] = 0;
        if (kind == 1) pose[1].q[0] = NAN;
        if (kind == 2) pose[1].p[2] = INFINITY;
        if (kind == 3) when[1] = 0;
        if (kind == 4) when[1] = NAN;
        FaError err = {0};
        assert_int_equal(fai_pose_curve_new(3, when, pose, FA_ENDS_FREE, &curve, &err), FA_E_ARG);
        assert_string_equal(err.place, "pose 1");
        assert_null(curve);
    }
}

// Times so close that dividing by them overflows.
static void refuses_impossible_speed(void **state) {
    (void)state;
    double time[3] = {0, 1e-310, 1};
    FaPose pose[3] = {{{0, 0, 0, 1}, {0}}, {{1, 0, 0, 0}, {1, 0, 0}}, {{0, 0, 0, 1}, {0}}};
    FaPoseCurve *curve;
    FaError err = {0};
    assert_int_equal(fai_pose_curve_new(3, time, pose, FA_ENDS_FREE, &curve, &err), FA_E_NUMERIC);
    assert_null(curve);
    assert_true(err.place[0] != 0);
}

// Half turns about changing axes, and times a million apart: numbers stay finite and quaternions of unit length.
static void hostile_poses(void **state) {
    (void)state;
    enum { N = 30 };
    double time[N];
    FaPose pose[N];
    for (int i = 0; i < N; i++) {
        time[i] = i == 0 ? 0 : time[i - 1] + (i % 3 ? 1e-3 : 1e3);
        pose[i] = (FaPose){{i % 4 == 0, i % 4 == 1, i % 4 == 2, i % 4 == 3}, {i % 2 ? 1e9 : -1e9, 0, 0}};
    }
    FaPoseCurve *curve = make(N, time, pose, FA_ENDS_FREE);
    for (int i = 0; i + 1 < N; i++)
        for (int s = 0; s < 50; s++) {
            FaMotion m;
            fai_pose_curve_eval(curve, time[i] + (time[i + 1] - time[i]) * s / 50, &m);
            CHECK_NEAR(fai_q_dot(m.pose.q, m.pose.q), 1, 1e-12);
            assert_true(isfinite(fai_v3_norm(m.omega)) && isfinite(fai_v3_norm(m.alpha)) && isfinite(fai_v3_norm(m.a)));
        }
    fai_pose_curve_free(curve);
}

static void survives_no_memory(void **state) {
    (void)state;
    double time[4];
    FaPose pose[4];
    random_poses(4, 1, 1, time, pose);
    for (int k = 1;; k++) {
        assert_true(k < 20);
        long before = test_alloc_balance();
        test_fail_alloc(k);
        FaPoseCurve *curve;
        FaCode code = fai_pose_curve_new(4, time, pose, FA_ENDS_FREE, &curve, NULL);
        bool delivered = test_alloc_failed();
        assert_int_equal(code, delivered ? FA_E_MEMORY : FA_OK);
        fai_pose_curve_free(curve);
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), before);
        if (!delivered) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_through_poses),
        cmocka_unit_test(derivatives_by_differences),
        cmocka_unit_test(continuous_at_poses),
        cmocka_unit_test(constant_turning_is_exact),
        cmocka_unit_test(one_and_two_poses),
        cmocka_unit_test(held_outside),
        cmocka_unit_test(independent_of_frames),
        cmocka_unit_test(converges),
        cmocka_unit_test(refuses),
        cmocka_unit_test(refuses_impossible_speed),
        cmocka_unit_test(hostile_poses),
        cmocka_unit_test(survives_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
