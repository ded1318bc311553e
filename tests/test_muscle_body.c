// Flesh with muscles between two bones: activations, and a bone that moves far.
// labels: unit hash
#include "base/task.h"
#include "muscle/muscle_body.h"

#include "test_solve_body.h"

// A block between a plate on the left ("skull") and one on the right ("jaw"), a strap from plate to plate and another
// one above it.
typedef struct Scene {
    Body b;
    double c[2][3 * 7 * 4 * 2];
    FaBspline solid[2];
    FaMuscleFlesh flesh;
    FaMuscleSamples samples;
    FaMuscleBody *body;
    double *at;
} Scene;

static void scene_new(Scene *s, const FaMuscleStuff *stuff) {
    *s = (Scene){.b = body_new(12, 6, 6, (double[]){0.06, 0.03, 0.03}, FA_SOLID_MOONEY, 5000, 96667, 1100, 0.15)};
    FaError err = {0};
    for (int m = 0; m < 2; m++) {
        s->solid[m] = (FaBspline){{7, 4, 2}, false, s->c[m]};
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < 4; j++)
                for (int i = 0; i < 7; i++) {
                    double *x = fai_bspline_point(&s->solid[m], i, j, k);
                    x[0] = 0.06 * fai_bspline_greville(7, false, i);
                    x[1] = 0.0153 + 0.010 * (fai_bspline_greville(4, false, j) - 0.5);
                    x[2] = 0.007 + 0.016 * m + 0.003 * k;
                }
        CHECK_OK(fai_bspline_fit(&s->solid[m], s->c[m], &err), &err);
    }
    s->flesh = (FaMuscleFlesh){s->b.nnode, s->b.ntet, s->b.x0, s->b.tet};
    CHECK_OK(fai_muscle_sample(&s->flesh, 2, s->solid, &s->samples, &err), &err);
    for (int v = 0; v < s->b.nnode; v++) s->b.fixed[v] = s->b.x0[3 * v] == 0 || s->b.x0[3 * v] == 0.06;
    CHECK_OK(fai_muscle_body_new(&s->flesh, s->b.fixed, 2, &s->samples, stuff, &s->body, &err), &err);
    s->at = calloc(3 * (size_t)s->b.nnode, sizeof(double));
    memcpy(s->at, s->b.x0, 3 * (size_t)s->b.nnode * sizeof(double));
}

static void scene_free(Scene *s) {
    fai_muscle_body_free(s->body);
    fai_muscle_samples_free(&s->samples);
    free(s->at);
    body_free(&s->b);
}

// The right plate turned about the z axis through the left one's middle, as a jaw opens.
static void open_jaw(Scene *s, double degrees) {
    double a = degrees * acos(-1) / 180, c = cos(a), d = sin(a);
    for (int v = 0; v < s->b.nnode; v++) {
        if (s->b.x0[3 * v] != 0.06) continue;
        double x = s->b.x0[3 * v] + 0.04, y = s->b.x0[3 * v + 1] - 0.015;
        s->at[3 * v] = c * x + d * y - 0.04, s->at[3 * v + 1] = -d * x + c * y + 0.015;
    }
}

static double middle(const Scene *s, int axis) {
    return s->b.x[3 * node_of(&s->b, 6, 3, 6) + axis] - s->b.x0[3 * node_of(&s->b, 6, 3, 6) + axis];
}

static void test_activation(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, NULL);
    FaMuscleReport r;
    FaError err = {0};
    // nothing is active: rest, to the bit
    CHECK_OK(fai_muscle_body_pose(s.body, (double[]){0, 0}, NULL, s.b.x, &r, &err), &err);
    assert_memory_equal(s.b.x, s.b.x0, 3 * (size_t)s.b.nnode * sizeof(double));
    assert_true(r.iterations == 0 && r.volume == 1);
    // both ends are held, so an active strap moves flesh little; more activation, more of it
    double moved[3];
    for (int k = 0; k < 3; k++) {
        CHECK_OK(fai_muscle_body_pose(s.body, (double[]){0, (double[]){0.2, 0.6, 1}[k]}, NULL, s.b.x, &r, &err), &err);
        moved[k] = 0;
        for (int i = 0; i < 3 * s.b.nnode; i++) moved[k] = fmax(moved[k], fabs(s.b.x[i] - s.b.x0[i]));
        assert_true(r.inverted == 0 && r.steps == 1 && fabs(r.volume - 1) < 0.05);
    }
    printf("moved %.2f %.2f %.2f mm, %d steps, volume %.4f\n", 1e3 * moved[0], 1e3 * moved[1], 1e3 * moved[2],
           r.iterations, r.volume);
    assert_true(moved[0] > 1e-4 && moved[1] > moved[0] && moved[2] > moved[1]);
    scene_free(&s);
}

// The plate turned by 25 degrees at once: in steps, flesh predicted; the same place as in many small ones, and back.
static void test_jaw(void **state) {
    (void)state;
    FaMuscleStuff fine = fai_muscle_stuff_default();
    fine.step = 0.001, fine.tolerance = 1e-6;
    FaMuscleStuff coarse = fai_muscle_stuff_default();
    coarse.tolerance = 1e-6;
    double x[2];
    for (int k = 0; k < 2; k++) {
        Scene s;
        scene_new(&s, k ? &fine : &coarse);
        FaMuscleReport r;
        FaError err = {0};
        open_jaw(&s, 25);
        test_fail_alloc(1);
        FaCode rc = fai_muscle_body_pose(s.body, (double[]){0.3, 0}, s.at, s.b.x, &r, &err);
        assert_false(test_alloc_failed());
        test_fail_alloc(0);
        CHECK_OK(rc, &err);
        assert_int_equal(rc, FA_OK);
        printf("opened: %d steps, %d iterations, %d inverted, volume %.3f\n", r.steps, r.iterations, r.inverted,
               r.volume);
        assert_true(k ? r.steps > 30 : r.steps >= 4 && r.steps <= 8);
        assert_true(r.inverted == 0 && r.iterations <= 10 * r.steps);
        for (int i = 0; i < 3 * s.b.nnode; i++)
            if (s.b.fixed[i / 3]) assert_true(s.b.x[i] == s.at[i]);
        x[k] = middle(&s, 1);
        CHECK_OK(fai_muscle_body_pose(s.body, (double[]){0, 0}, NULL, s.b.x, &r, &err), &err);
        double worst = 0;
        for (int i = 0; i < 3 * s.b.nnode; i++) worst = fmax(worst, fabs(s.b.x[i] - s.b.x0[i]));
        CHECK_NEAR(worst, 0, 1e-6);
        scene_free(&s);
    }
    assert_true(x[0] < -0.005);
    CHECK_NEAR(x[0], x[1], 1e-6);
}

static void test_threads(void **state) {
    (void)state;
    uint64_t hash[3];
    for (int t = 0; t < 3; t++) {
        fa_threads_set((int[]){1, 2, 5}[t]);
        Scene s;
        scene_new(&s, NULL);
        FaError err = {0};
        open_jaw(&s, 12);
        CHECK_OK(fai_muscle_body_pose(s.body, (double[]){0.5, 1}, s.at, s.b.x, NULL, &err), &err);
        hash[t] = fai_hash64(s.b.x, 3 * (size_t)s.b.nnode * sizeof(double), 0);
        assert_true(hash[t] == hash[0]);
        s.at[3 * s.b.nnode - 3] = NAN; // a corner of the right plate
        double before = s.b.x[4];
        assert_int_equal(fai_muscle_body_pose(s.body, (double[]){0.5, 1}, s.at, s.b.x, NULL, &err), FA_E_NUMERIC);
        assert_true(s.b.x[4] == before);
        scene_free(&s);
    }
    fa_threads_set(0);
    printf("%016llx\n", (unsigned long long)hash[0]);
}

// Frame by frame to the same place as at once.
static void test_frames(void **state) {
    (void)state;
    enum { FRAMES = 12 };
    FaMuscleStuff tight = fai_muscle_stuff_default();
    tight.tolerance = 1e-7;
    Scene s, one;
    FaMuscleReport r;
    FaError err = {0};
    scene_new(&s, &tight);
    scene_new(&one, &tight);
    int most = 0;
    for (int f = 1; f <= FRAMES; f++) {
        open_jaw(&s, 12.0 * f / FRAMES);
        test_fail_alloc(1);
        FaCode rc =
            fai_muscle_body_frame(s.body, (double[]){0.5 * f / FRAMES, 1.0 * f / FRAMES}, s.at, s.b.x, &r, &err);
        assert_false(test_alloc_failed());
        test_fail_alloc(0);
        CHECK_OK(rc, &err);
        most = FA_MAX(most, r.iterations);
    }
    open_jaw(&one, 12);
    CHECK_OK(fai_muscle_body_pose(one.body, (double[]){0.5, 1}, one.at, one.b.x, &r, &err), &err);
    double worst = 0;
    for (int i = 0; i < 3 * s.b.nnode; i++) worst = fmax(worst, fabs(s.b.x[i] - one.b.x[i]));
    printf("%d iterations of a frame at most, %d of the pose\n", most, r.iterations);
    assert_true(most < r.iterations);
    CHECK_NEAR(worst, 0, 1e-7);
    scene_free(&one);
    scene_free(&s);
}

// Memory that runs out anywhere is an error, and nothing is left behind.
static void test_memory(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, NULL);
    for (int what = 0; what < 2; what++)
        for (int k = 1;; k++) {
            FaError err = {0};
            FaMuscleSamples samples;
            FaMuscleBody *body = NULL;
            test_fail_alloc(k);
            FaCode rc = what ? fai_muscle_body_new(&s.flesh, s.b.fixed, 2, &s.samples, NULL, &body, &err)
                             : fai_muscle_sample(&s.flesh, 2, s.solid, &samples, &err);
            bool failed = test_alloc_failed();
            test_fail_alloc(0);
            if (!failed) {
                CHECK_OK(rc, &err);
                assert_true(k > 5);
                if (what)
                    fai_muscle_body_free(body);
                else
                    fai_muscle_samples_free(&samples);
                break;
            }
            assert_int_equal(rc, FA_E_MEMORY);
            if (what)
                assert_null(body);
            else
                assert_null(samples.arena);
        }
    scene_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activation), cmocka_unit_test(test_jaw),    cmocka_unit_test(test_frames),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("muscle_body", tests, NULL, NULL);
}
