// The projective method on the small head: what rests stays, what is held is met, what moves lags and settles, the same
// bits always.
// labels: unit hash
#include "projective/projective_method.h"

#include "base/base.h"
#include "math/mat3.h"
#include "test_head_tools.h"

typedef struct Scene {
    FaHead *head;
    FaRig *rig;
    FaFace *face;
    float *x, *weights;
    int n;
} Scene;

static Scene scene;

static int set_up(void **state) {
    (void)state;
    FaError err = {0};
    scene.head = head_at(0, 0, true);
    CHECK_OK(fa_head_rig(scene.head, 0, &scene.rig, &err), &err);
    CHECK_OK(fa_face_build(scene.rig, NULL, &scene.face, &err), &err);
    scene.n = 3 * scene.rig->mesh.nvert;
    scene.x = calloc((size_t)scene.n, sizeof(float));
    scene.weights = calloc((size_t)scene.rig->nshape, sizeof(float));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(scene.x);
    free(scene.weights);
    fa_face_free(scene.face);
    fa_rig_free(scene.rig);
    fa_head_free(scene.head);
    return 0;
}

static FaMethod *open_with(const char *const (*set)[2], int n) {
    FaError err = {0};
    FaParams *p;
    FaMethod *m;
    CHECK_OK(fa_params_new("projective", &p, &err), &err);
    for (int i = 0; i < n; i++) CHECK_OK(fa_params_set(p, set[i][0], set[i][1], &err), &err);
    CHECK_OK(
        fa_method_open("projective", &(FaMethodSetup){.rig = scene.rig, .face = scene.face, .params = p}, &m, &err),
        &err);
    fa_params_free(p);
    memset(scene.weights, 0, (size_t)scene.rig->nshape * sizeof(float));
    return m;
}

static void set_weight(const char *arkit, float value) {
    for (int s = 0; s < scene.rig->nshape; s++)
        if (scene.rig->shape[s].arkit >= 0 && !strcmp(fa_arkit_name(scene.rig->shape[s].arkit), arkit))
            scene.weights[s] = value;
}

static void step_to(FaMethod *m, double time, const FaPose *head, FaStats *stats) {
    FaError err = {0};
    FaInput in = {.time = time, .weights = scene.weights};
    if (head) in.head = *head;
    CHECK_OK(fa_method_step(m, &in, scene.x, stats, &err), &err);
}

// Largest distance of the surface from x, m.
static double apart(const float *x) {
    double worst = 0;
    for (int v = 0; v < scene.n / 3; v++) {
        double d[3], e[3];
        fai_v3_load(scene.x, v, d);
        fai_v3_load(x, v, e);
        fai_v3_sub(d, e, d);
        worst = fmax(worst, fai_v3_norm(d));
    }
    return worst;
}

static float *linear_now(void) {
    float *x = malloc((size_t)scene.n * sizeof(float));
    fa_rig_blend(scene.rig, scene.weights, x);
    return x;
}

// --- tests --------------------------------------------------------------------------------------------------------

static void rest_stays(void **state) {
    (void)state;
    static const char *const kinds[][2] = {
        {"solver", "quick"}, {"solver", "gs"}, {"solver", "pd"}, {"model", "surface"}};
    for (int k = 0; k < FA_COUNT(kinds); k++) {
        FaMethod *m = open_with(&kinds[k], 1);
        for (int i = 0; i < (k ? 20 : 200); i++) step_to(m, i / 60.0, NULL, NULL);
        assert_true(apart(scene.rig->mesh.x) == 0); // displacements: to the last bit
        fa_method_close(m);
    }
}

// Ten steps after a pose is held it is met; the flesh was behind it in between.
static void held_pose_is_met(void **state) {
    (void)state;
    static const char *const set[][2] = {{"contact", "off"}};
    FaMethod *m = open_with(set, 1);
    step_to(m, 0, NULL, NULL);
    set_weight("mouthSmileLeft", 0.8f);
    set_weight("jawOpen", 0.5f);
    set_weight("browInnerUp", 1);
    float *goal = linear_now();
    step_to(m, 1 / 60.0, NULL, NULL);
    double first = apart(goal);
    for (int i = 2; i < 240; i++) step_to(m, i / 60.0, NULL, NULL);
    double last = apart(goal);
    print_message("held pose: %.3f mm behind after one step, %.5f mm after 4 s\n", 1e3 * first, 1e3 * last);
    assert_true(first > 1e-3);
    assert_true(last < 2e-5);
    // and reset goes there at once
    FaError err = {0};
    FaInput in = {.time = 10, .weights = scene.weights};
    CHECK_OK(fa_method_reset(m, &in, scene.x, &err), &err);
    assert_true(apart(goal) < 2e-4);
    free(goal);
    fa_method_close(m);
}

// A head that jerks to the side leaves its cheeks behind, more than its forehead, and they come back.
static void cheeks_lag(void **state) {
    (void)state;
    FaMethod *m = open_with(NULL, 0);
    FaPose pose = fai_pose_identity();
    double worst = 0, cheek = 0, brow = 0;
    for (int i = 0; i < 240; i++) {
        double t = i / 60.0, go = fmin(t, 0.2) / 0.2;
        pose.p[0] = 0.1 * go * go * (3 - 2 * go); // 10 cm in 0.2 s: 1.5 g
        step_to(m, t, &pose, NULL);
        worst = fmax(worst, apart(scene.rig->mesh.x));
        for (int s = 0; s < scene.face->nskin; s++) {
            int v = scene.face->skin_vertex[s];
            double d = fabs((double)(scene.x[3 * v] - scene.rig->mesh.x[3 * v]));
            if (scene.face->region[FA_REGION_CHEEKS][s] > 0.5f) cheek = fmax(cheek, d);
            if (scene.face->x0[3 * s + 1] > 0.05f) brow = fmax(brow, d);
        }
    }
    print_message("shake: cheeks %.2f mm, forehead %.2f mm, left after 3.8 s %.5f mm\n", 1e3 * cheek, 1e3 * brow,
                  1e3 * apart(scene.rig->mesh.x));
    assert_true(cheek > 3e-4 && cheek < 2e-2);
    assert_true(brow < cheek);
    assert_true(apart(scene.rig->mesh.x) < 2e-5);
    fa_method_close(m);
}

static uint64_t press_hash(int frames, FaMethod *m, long *allocations) {
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_head_clip("press", &clip, &err), &err);
    uint64_t hash = 0;
    memset(scene.weights, 0, (size_t)scene.rig->nshape * sizeof(float));
    for (int f = 0; f < frames; f++) {
        FaInput in = {.time = clip->time[f], .weights = clip->weight + (size_t)f * (size_t)clip->nchan};
        if (f == 5 && allocations) test_fail_alloc(1); // any allocation from now on fails, and the step with it
        CHECK_OK(f ? fa_method_step(m, &in, scene.x, NULL, &err) : fa_method_reset(m, &in, scene.x, &err), &err);
        hash = fai_hash64(scene.x, (size_t)scene.n * sizeof(float), hash ^ fa_method_hash(m));
    }
    if (allocations) {
        *allocations = test_alloc_failed();
        test_fail_alloc(0);
    }
    fa_clip_free(clip);
    return hash;
}

static void same_bits(void **state) {
    (void)state;
    int threads = fa_threads();
    uint64_t want = 0;
    static const int counts[] = {1, 2, 3, 8};
    for (int i = 0; i < FA_COUNT(counts); i++) {
        fa_threads_set(counts[i]);
        FaMethod *m = open_with(NULL, 0);
        uint64_t hash = press_hash(60, m, NULL);
        if (i == 0) want = hash;
        assert_true(hash == want);
        fa_method_close(m);
    }
    setenv("FA_SIMD", "ref", 1);
    FaMethod *m = open_with(NULL, 0);
    assert_true(press_hash(60, m, NULL) == want);
    fa_method_close(m);
    unsetenv("FA_SIMD");
    fa_threads_set(threads);
}

static void nothing_is_allocated_in_a_step(void **state) {
    (void)state;
    FaMethod *m = open_with(NULL, 0);
    long failed = -1;
    press_hash(40, m, &failed);
    assert_int_equal(failed, 0);
    fa_method_close(m);
}

// Saved in the middle of a contact and loaded into another method, it goes on with the same bits.
static void a_state_goes_on(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_head_clip("press", &clip, &err), &err);
    FaMethod *a = open_with(NULL, 0), *b = open_with(NULL, 0);
    size_t size = fa_method_state_size(a);
    void *saved = malloc(size);
    for (int f = 0; f < 80; f++) {
        FaInput in = {.time = clip->time[f], .weights = clip->weight + (size_t)f * (size_t)clip->nchan};
        CHECK_OK(fa_method_step(a, &in, scene.x, NULL, &err), &err);
        if (f == 50) {
            fa_method_save(a, saved);
            CHECK_OK(fa_method_load(b, saved, size, &err), &err);
        }
        if (f > 50) CHECK_OK(fa_method_step(b, &in, scene.x, NULL, &err), &err);
    }
    assert_true(fa_method_hash(a) == fa_method_hash(b));
    free(saved);
    fa_method_close(a);
    fa_method_close(b);
    fa_clip_free(clip);
}

// A tracker's steps: 4 to 34 ms, with gaps of a fifth of a second. Nothing explodes, and a pose that is held then is
// met.
static void uneven_steps(void **state) {
    (void)state;
    FaMethod *m = open_with(NULL, 0);
    double t = 0, worst = 0;
    for (int i = 0; i < 200; i++) {
        if (i < 150) set_weight("mouthSmileLeft", (float)(0.5 + 0.5 * sin(12 * t)));
        if (i < 150) set_weight("jawOpen", (float)(0.3 + 0.3 * sin(17 * t)));
        step_to(m, t, NULL, NULL);
        float *goal = linear_now();
        worst = i < 150 ? fmax(worst, apart(goal)) : apart(goal);
        if (i == 149) assert_true(worst > 1e-4 && worst < 0.03);
        free(goal);
        t += 0.004 + 0.03 * fai_random_unit(5, (uint64_t)i) + (i % 30 == 29 ? 0.2 : 0);
    }
    assert_true(worst < 1e-4);
    fa_method_close(m);
}

static void bad_input(void **state) {
    (void)state;
    FaError err = {0};
    FaMethod *m = open_with(NULL, 0);
    FaStats stats;
    step_to(m, 0, NULL, NULL);
    scene.weights[3] = NAN;
    step_to(m, 0.1, NULL, &stats);
    assert_true(stats.clamped > 0);
    for (int i = 0; i < scene.n; i++) assert_true(isfinite(scene.x[i]));
    fa_method_close(m);
    FaParams *p;
    CHECK_OK(fa_params_new("projective", &p, &err), &err);
    CHECK_OK(fa_params_set(p, "face", "/nowhere/no.face", &err), &err);
    assert_true(fa_method_open("projective", &(FaMethodSetup){.rig = scene.rig, .params = p}, &m, &err) == FA_E_FILE);
    assert_null(m);
    assert_true(fa_params_set(p, "shear", "-1", &err) < 0);
    fa_params_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_stays),      cmocka_unit_test(held_pose_is_met),
        cmocka_unit_test(cheeks_lag),      cmocka_unit_test(same_bits),
        cmocka_unit_test(a_state_goes_on), cmocka_unit_test(nothing_is_allocated_in_a_step),
        cmocka_unit_test(bad_input),       cmocka_unit_test(uneven_steps),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
