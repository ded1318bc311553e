// Flesh with muscles that has mass: a block that hangs on a plate swings with a frequency and a decay that the step
// does not change, rests where it rests, and goes with its head. labels: unit hash
#include "base/task.h"
#include "muscle/muscle_motion.h"

#include "test_solve_body.h"

typedef struct Scene {
    Body b;
    double c[3 * 7 * 4 * 2];
    FaBspline solid;
    FaMuscleSamples samples;
    FaMuscleBody *body;
    FaMuscleMotion *motion;
} Scene;

static const double PI = 3.14159265358979323846;

// A strap along the block, held at its left end.
static void scene_new(Scene *s, const FaMuscleMotionOptions *o) {
    *s = (Scene){.b = body_new(6, 3, 3, (double[]){0.06, 0.03, 0.03}, FA_SOLID_MOONEY, 5000, 96667, 1100, 0.15)};
    FaError err = {0};
    FaMuscleStuff tight = fai_muscle_stuff_default();
    tight.tolerance = 1e-6;
    s->solid = (FaBspline){{7, 4, 2}, false, s->c};
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 7; i++) {
                double *x = fai_bspline_point(&s->solid, i, j, k);
                x[0] = 0.06 * fai_bspline_greville(7, false, i);
                x[1] = 0.0153 + 0.010 * (fai_bspline_greville(4, false, j) - 0.5);
                x[2] = 0.023 + 0.003 * k;
            }
    CHECK_OK(fai_bspline_fit(&s->solid, s->c, &err), &err);
    const FaMuscleFlesh flesh = {s->b.nnode, s->b.ntet, s->b.x0, s->b.tet};
    CHECK_OK(fai_muscle_sample(&flesh, 1, &s->solid, &s->samples, &err), &err);
    for (int v = 0; v < s->b.nnode; v++) s->b.fixed[v] = s->b.x0[3 * v] == 0;
    CHECK_OK(fai_muscle_body_new(&flesh, s->b.fixed, 1, &s->samples, &tight, &s->body, &err), &err);
    CHECK_OK(fai_muscle_motion_new(s->body, o, &s->motion, &err), &err);
}

static void scene_free(Scene *s) {
    fai_muscle_motion_free(s->motion);
    fai_muscle_body_free(s->body);
    fai_muscle_samples_free(&s->samples);
    body_free(&s->b);
}

static int tip(const Scene *s) { return 3 * node_of(&s->b, 6, 1, 1) + 1; }

static void step(Scene *s, const FaMuscleMoment *in) {
    FaError err = {0};
    test_fail_alloc(1);
    FaCode rc = fai_muscle_motion_step(s->motion, in, s->b.x, NULL, &err);
    assert_false(test_alloc_failed());
    test_fail_alloc(0);
    CHECK_OK(rc, &err);
}

static void test_rest(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, NULL);
    for (int f = 0; f < 5; f++)
        step(&s, &(FaMuscleMoment){.h = 1.0 / 60, .activation = (double[]){0}, .pose = fai_pose_identity()});
    assert_memory_equal(s.b.x, s.b.x0, 3 * (size_t)s.b.nnode * sizeof(double));
    FaError err = {0};
    FaMuscleMoment bad = {.h = -1, .activation = (double[]){0}, .pose = fai_pose_identity()};
    assert_int_equal(fai_muscle_motion_step(s.motion, &bad, s.b.x, NULL, &err), FA_E_ARG);
    scene_free(&s);
}

// A push at the start; frequency by its zeros, damping ratio by its peaks.
static void swing(const FaMuscleMotionOptions *o, double h, double seconds, double *hertz, double *ratio) {
    Scene s;
    scene_new(&s, o);
    double *v = calloc(3 * (size_t)s.b.nnode, sizeof(double));
    for (int i = 0; i < s.b.nnode; i++) v[3 * i + 1] = 0.02 * pow(s.b.x0[3 * i] / 0.06, 2);
    fai_muscle_motion_reset(s.motion, NULL, v, NULL);
    double zero[64], peak[64] = {0}, before = 0;
    int zeros = 0;
    for (int f = 1; f * h < seconds && zeros < 60; f++) {
        step(&s, &(FaMuscleMoment){.h = h, .activation = (double[]){0}, .pose = fai_pose_identity()});
        double y = s.b.x[tip(&s)] - s.b.x0[tip(&s)];
        if (f > 1 && (y > 0) != (before > 0)) zero[zeros++] = h * (f - 1 + before / (before - y));
        peak[zeros] = fmax(peak[zeros], fabs(y));
        before = y;
    }
    assert_true(zeros >= 5);
    *hertz = 0.5 * 3 / (zero[3] - zero[0]);
    double decrement = log(peak[1] / peak[3]); // of a whole turn
    *ratio = decrement / sqrt(4 * PI * PI + decrement * decrement);
    free(v);
    scene_free(&s);
}

static void test_swing(void **state) {
    (void)state;
    FaMuscleMotionOptions o = fai_muscle_motion_options_default();
    double hertz[3], ratio[3];
    o.beta = 0, o.tolerance = 1e-4, o.calm = 1e-4;
    swing(&o, 1.0 / 480, 1.2, &hertz[0], &ratio[0]);
    printf("undamped: %.3f Hz, ratio %.4f\n", hertz[0], ratio[0]);
    assert_true(hertz[0] > 2 && hertz[0] < 12 && fabs(ratio[0]) < 0.01);
    // damped by a tenth at that frequency, in steps of two sizes
    o.beta = 2 * 0.1 / (2 * PI * hertz[0]);
    for (int i = 1; i < 3; i++) {
        swing(&o, i == 1 ? 1.0 / 240 : 1.0 / 480, 1.2, &hertz[i], &ratio[i]);
        printf("damped: %.3f Hz, ratio %.4f\n", hertz[i], ratio[i]);
        CHECK_NEAR(ratio[i], 0.1, 0.01);
        CHECK_NEAR(hertz[i] / (hertz[0] * sqrt(1 - 0.01)), 1, 0.03);
    }
    CHECK_NEAR(hertz[1] / hertz[2], 1, 0.02);
}

// A slow pull of the muscle ends where the pose is; so does a step that takes no time.
static void test_slow(void **state) {
    (void)state;
    Scene s, one;
    FaError err = {0};
    FaMuscleMotionOptions o = fai_muscle_motion_options_default();
    o.drag = 10;
    scene_new(&s, &o);
    scene_new(&one, &o);
    CHECK_OK(fai_muscle_body_pose(one.body, (double[]){0.4}, NULL, one.b.x, NULL, &err), &err);
    double moved = 0, worst[2] = {0};
    for (int f = 1; f <= 60; f++) {
        double part = fmin(1, f / 40.0);
        step(&s, &(FaMuscleMoment){.h = 1.0 / 30, .activation = (double[]){0.4 * part}, .pose = fai_pose_identity()});
    }
    for (int i = 0; i < 3 * s.b.nnode; i++) {
        moved = fmax(moved, fabs(one.b.x[i] - one.b.x0[i]));
        worst[0] = fmax(worst[0], fabs(one.b.x[i] - s.b.x[i]));
    }
    step(&s, &(FaMuscleMoment){.activation = (double[]){0.4}, .pose = fai_pose_identity()});
    for (int i = 0; i < 3 * s.b.nnode; i++) worst[1] = fmax(worst[1], fabs(one.b.x[i] - s.b.x[i]));
    printf("moved %.2f mm; %.4f mm from the pose, %.6f without time\n", 1e3 * moved, 1e3 * worst[0], 1e3 * worst[1]);
    assert_true(moved > 1e-3 && worst[0] < 0.01 * moved && worst[1] < 1e-3 * moved);
    scene_free(&one);
    scene_free(&s);
}

// A head that speeds up, and a head at rest whose flesh is accelerated the other way: the same. And the same bits for
// any number of threads.
static void test_head(void **state) {
    (void)state;
    const double h = 1.0 / 60, a = 3;
    uint64_t hash[2];
    for (int t = 0; t < 2; t++) {
        Scene s, still;
        fa_threads_set(t ? 5 : 1);
        scene_new(&s, NULL);
        scene_new(&still, NULL);
        double worst = 0, moved = 0;
        for (int f = 1; f <= 12; f++) {
            FaMuscleMoment in = {.h = h, .activation = (double[]){0.2}, .pose = fai_pose_identity()};
            in.accel[1] = -a;
            step(&still, &in);
            in.accel[1] = 0;
            // what a scheme of constant acceleration passes through: its first step is Euler's
            in.pose.p[1] = 0.5 * a * h * h * f * f;
            step(&s, &in);
            for (int i = 0; i < 3 * s.b.nnode; i++) {
                worst = fmax(worst, fabs(s.b.x[i] - still.b.x[i]));
                moved = fmax(moved, fabs(s.b.x[i] - s.b.x0[i]));
            }
        }
        printf("moved %.2f mm by the head, %.3f mm apart\n", 1e3 * moved, 1e3 * worst);
        assert_true(moved > 1e-3 && worst < 0.15 * moved);
        hash[t] = fai_hash64(s.b.x, 3 * (size_t)s.b.nnode * sizeof(double), 0);
        assert_true(hash[t] == hash[0]);
        scene_free(&still);
        scene_free(&s);
    }
    fa_threads_set(0);
    printf("%016llx\n", (unsigned long long)hash[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rest), cmocka_unit_test(test_swing),
                                       cmocka_unit_test(test_slow), cmocka_unit_test(test_head)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
