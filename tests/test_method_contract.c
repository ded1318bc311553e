// What every method promises, whatever it computes, over all names that fa_method_names gives and one that is not the
// library's own: nothing allocated in a step, states that can be saved and loaded, the same bits for any number of
// threads and without SIMD, bad input that does no lasting harm, memory that runs out, rest that stays rest, frame
// rates that agree.
// labels: unit hash
#include "test.h"

#include "base/base.h"
#include "base/sanitized.h"
#include "fascia/muscle.h"
#include "math/mat3.h"
#include "method/method.h"
#include "test_toy_method.h"

static struct {
    FaHead *head;
    FaRig *rig;
    FaFace *face;
    size_t bytes;
    float *weights;
    float *x, *y;
} scene;

static int set_up(void **state) {
    (void)state;
    FaError err = {0};
    CHECK_OK(fai_method_add(&toy_method, &err), &err); // the one line
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &scene.head, &err), &err);
    CHECK_OK(fa_head_rig(scene.head, 0, &scene.rig, &err), &err);
    FaFaceOptions o = {.layers = 1, .simulate_vertices = 500}; // small: what is proven does not depend on the size
    CHECK_OK(fa_face_build(scene.rig, &o, &scene.face, &err), &err);
    CHECK_OK(fa_face_materials(scene.face, scene.rig, NULL, &err), &err);
    CHECK_OK(fa_face_volumes(scene.face, scene.rig, NULL, NULL, &err), &err);
    // muscles of some shapes that the clip below moves, in coarse flesh; others are added as they are
    FaMuscleModel *model;
    unsigned char wanted[64] = {0};
    assert_true(scene.rig->nshape <= 64);
    for (int s = 0; s < scene.rig->nshape; s += FA_SANITIZED ? 24 : 6) wanted[s] = 1;
    CHECK_OK(fa_muscle_open(scene.rig, scene.face, &(FaMuscleOptions){.flesh_size = 500}, &model, &err), &err);
    CHECK_OK(fa_muscle_shapes(model, scene.face, &(FaMuscleShapesOptions){.wanted = wanted}, NULL, &err), &err);
    fa_muscle_close(model);
    scene.bytes = 3 * (size_t)scene.rig->mesh.nvert * sizeof(float);
    scene.weights = calloc((size_t)scene.rig->nshape, sizeof(float));
    scene.x = malloc(scene.bytes);
    scene.y = malloc(scene.bytes);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(scene.weights);
    free(scene.x);
    free(scene.y);
    fa_face_free(scene.face);
    fa_rig_free(scene.rig);
    fa_head_free(scene.head);
    return 0;
}

static FaCode try_open(const char *name, FaMethod **m, FaError *err) {
    bool face = fai_method_ops(name)->takes & FA_TAKES_FACE;
    return fa_method_open(name, &(FaMethodSetup){.rig = scene.rig, .face = face ? scene.face : NULL}, m, err);
}

static FaMethod *open_method(const char *name) {
    FaError err = {0};
    FaMethod *m;
    CHECK_OK(try_open(name, &m, &err), &err);
    assert_string_equal(fa_method_name(m), name);
    return m;
}

// A mouth that speaks and presses on a head that shakes: weights are linear between knots 1/12 s apart, so that frame
// rates that are multiples of 12 see the same motion.
static FaInput input_at(double time) {
    double knot = floor(12 * time + 1e-9), part = 12 * time - knot;
    for (int s = 0; s < scene.rig->nshape; s++) {
        double a = fai_random_unit(7, (uint64_t)(1000 * s + knot)),
               b = fai_random_unit(7, (uint64_t)(1000 * s + knot + 1));
        scene.weights[s] = s % 3 ? 0 : (float)(0.5 * (a + part * (b - a)));
    }
    FaInput in = {.time = time, .weights = scene.weights};
    double turn[3] = {0.1 * sin(5 * time), 0.3 * sin(9 * time), 0.05 * sin(3 * time)};
    fai_q_exp(turn, in.head.q);
    fai_v3_set(in.head.p, 0.02 * sin(8 * time), 1.5, 0.01 * cos(7 * time));
    return in;
}

static void play(FaMethod *m, double from, int nframe, float *x) {
    FaError err = {0};
    for (int f = 0; f < nframe; f++) {
        FaInput in = input_at(from + f / 60.0);
        CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
    }
}

static bool is_finite(const float *x) {
    for (int i = 0; i < 3 * scene.rig->mesh.nvert; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static double apart(const float *a, const float *b) {
    double worst = 0;
    for (int v = 0; v < scene.rig->mesh.nvert; v++) {
        double p[3], q[3];
        fai_v3_load(a, v, p), fai_v3_load(b, v, q);
        fai_v3_sub(p, q, p);
        worst = fmax(worst, fai_v3_norm(p));
    }
    return worst;
}

#define FOR_METHODS(name)                                                                                              \
    for (const char *const *name##_at = fa_method_names(), *name; (name = *name##_at); name##_at++)

// --- the table ----------------------------------------------------------------------------------------------------

static void every_parameter_explains_itself(void **state) {
    (void)state;
    int n = 0;
    FOR_METHODS(name) {
        n++;
        assert_true(strlen(fa_method_help(name)) > 10);
        FaParams *params;
        FaError err = {0};
        CHECK_OK(fa_params_new(name, &params, &err), &err);
        for (const FaParamInfo *p = fa_method_params(name); p->name; p++) {
            assert_true(strlen(p->help) > 10 && p->unit);
            bool text = p->type == FA_PARAM_TEXT;
            assert_true(text || isnan(p->value) || (p->value >= p->min && p->value <= p->max));
            if (p->type == FA_PARAM_CHOICE) assert_non_null(p->choices);
            if (text || isnan(p->value)) continue;
            CHECK_OK(fa_params_set_number(params, p->name, p->value, &err), &err); // its default is within its range
            assert_true(fa_params_get(params, p->name) == p->value);
            assert_int_equal(fa_params_set_number(params, p->name, p->max + 1, NULL), FA_E_ARG);
        }
        fa_params_free(params);
    }
    assert_true(n >= 5);
}

// A name means the same thing in every method: one kind of value, in one unit.
static void a_name_means_one_thing(void **state) {
    (void)state;
    FOR_METHODS(a) {
        for (const FaParamInfo *p = fa_method_params(a); p->name; p++) {
            FOR_METHODS(b) {
                for (const FaParamInfo *q = fa_method_params(b); q->name; q++) {
                    if (strcmp(p->name, q->name)) continue;
                    if (p->type != q->type || strcmp(p->unit, q->unit))
                        print_message("'%s' of %s is not '%s' of %s\n", p->name, a, q->name, b);
                    assert_int_equal(p->type, q->type);
                    assert_string_equal(p->unit, q->unit);
                }
            }
        }
    }
}

static void a_setup_is_checked(void **state) {
    (void)state;
    FaMethod *m = NULL;
    FOR_METHODS(name) {
        FaError err = {0};
        unsigned takes = fai_method_ops(name)->takes;
        assert_int_equal(fa_method_open(name, &(FaMethodSetup){0}, &m, &err), FA_E_ARG);
        assert_null(m);
        FaParams *other;
        CHECK_OK(fa_params_new(strcmp(name, "linear") ? "linear" : "analytic", &other, &err), &err);
        assert_int_equal(fa_method_open(name, &(FaMethodSetup){.rig = scene.rig, .params = other}, &m, &err), FA_E_ARG);
        fa_params_free(other);
        err = (FaError){0};
        FaCode rc = fa_method_open(name, &(FaMethodSetup){.rig = scene.rig, .face = scene.face}, &m, &err);
        if (takes & FA_TAKES_FACE) {
            CHECK_OK(rc, &err);
            fa_method_close(m);
        } else {
            assert_int_equal(rc, FA_E_ARG);
            assert_non_null(strstr(err.what, "no use for"));
        }
    }
    FaError err = {0};
    assert_int_equal(fa_method_open("magic", &(FaMethodSetup){.rig = scene.rig}, &m, &err), FA_E_ARG);
    assert_non_null(strstr(err.remedy, "toy")); // all that are known are named
}

// --- memory -------------------------------------------------------------------------------------------------------

static long calls;
static void *counting(void *user, void *old, size_t size) {
    (void)user;
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (size) return realloc(old, size);
    free(old);
    return NULL;
}

static void nothing_is_allocated_in_a_step(void **state) {
    (void)state;
    FaError err = {0};
    FOR_METHODS(name) {
        fa_allocator_set(&(FaAllocator){counting, NULL});
        calls = 0;
        FaMethod *m = open_method(name);
        assert_true(calls > 0); // the hook works
        FaInput in = input_at(0);
        CHECK_OK(fa_method_reset(m, &in, scene.x, &err), &err);
        calls = 0;
        play(m, 0.1, 12, scene.x);
        assert_int_equal(calls, 0);
        fa_method_close(m);
        fa_allocator_set(NULL);
    }
}

// Every allocation of a small method; of larger ones the first thirty and then some of them all.
static void memory_runs_out(void **state) {
    (void)state;
    FOR_METHODS(name) {
        int failures = 0;
        bool done = false;
        for (double k = 1; !done; k = k < 30 ? k + 1 : ceil(1.4 * k)) {
            FaError err = {0};
            FaMethod *m = NULL;
            long before = test_alloc_balance();
            test_fail_alloc((long)k);
            FaCode rc = try_open(name, &m, &err);
            done = !test_alloc_failed();
            if (done) assert_true(rc >= 0 && m);
            if (!done) assert_true(rc == FA_E_MEMORY && !m);
            failures += !done;
            FaInput in = input_at(0);
            if (m) { // a step needs none, so that none can be missing
                CHECK_OK(fa_method_reset(m, &in, scene.x, &err), &err);
                test_fail_alloc(1);
                play(m, 0.1, 2, scene.x);
                assert_false(test_alloc_failed());
            }
            fa_method_close(m);
            test_fail_alloc(0);
            assert_int_equal(test_alloc_balance(), before);
        }
        print_message("%s: open failed cleanly %d times\n", name, failures);
        assert_true(failures >= 2);
        fa_allocator_set(NULL);
    }
}

// --- states -------------------------------------------------------------------------------------------------------

static void a_state_goes_on(void **state) {
    (void)state;
    FaError err = {0};
    FOR_METHODS(name) {
        FaMethod *a = open_method(name), *b = open_method(name);
        size_t size = fa_method_state_size(a);
        void *saved = malloc(size);
        play(a, 0, 6, scene.x);
        fa_method_save(a, saved);
        uint64_t then = fa_method_hash(a);
        play(a, 0.1, 6, scene.x);
        assert_int_equal(fa_method_state_size(a), size);
        assert_true(fa_method_hash(a) != then);
        play(b, 3, 4, scene.y); // has been elsewhere
        CHECK_OK(fa_method_load(b, saved, size, &err), &err);
        assert_true(fa_method_hash(b) == then);
        assert_true(fai_method_distance(b, saved) == 0);
        play(b, 0.1, 6, scene.y);
        assert_memory_equal(scene.x, scene.y, scene.bytes);
        assert_true(fa_method_hash(a) == fa_method_hash(b));
        assert_int_equal(fa_method_load(b, saved, size - 1, &err), FA_E_ARG);
        free(saved);
        fa_method_close(a);
        fa_method_close(b);
    }
}

static uint64_t hash_of(const char *name) {
    uint64_t h = 1;
    FaMethod *m = open_method(name);
    for (int f = 0; f < 8; f++) {
        play(m, f / 60.0, 1, scene.x);
        h = fai_hash64(scene.x, scene.bytes, h);
    }
    h ^= fa_method_hash(m);
    fa_method_close(m);
    return h;
}

static void same_bits(void **state) {
    (void)state;
    int before = fa_threads();
    FOR_METHODS(name) {
        uint64_t want = hash_of(name);
        for (int threads = 1; threads <= 8; threads += FA_SANITIZED ? 7 : 1) {
            fa_threads_set(threads);
            assert_true(hash_of(name) == want);
            test_attack("methods with 1 to 8 threads, bit for bit", 1);
        }
        fa_threads_set(before);
        setenv("FA_SIMD", "ref", 1);
        uint64_t plain = hash_of(name);
        unsetenv("FA_SIMD");
        assert_true(plain == want);
    }
}

// --- bad input ----------------------------------------------------------------------------------------------------

static void numbers_that_are_none(void **state) {
    (void)state;
    FaError err = {0};
    FOR_METHODS(name) {
        FaMethod *m = open_method(name);
        play(m, 0, 4, scene.x);
        FaInput in = input_at(0.1);
        scene.weights[0] = NAN, scene.weights[3] = INFINITY;
        in.head.q[1] = NAN, in.head.p[2] = INFINITY;
        FaStats stats = {0};
        CHECK_OK(fa_method_step(m, &in, scene.x, &stats, &err), &err);
        assert_true(is_finite(scene.x));
        if (strcmp(name, "linear")) assert_true(stats.clamped >= 2); // and it is said
        play(m, 0.2, 4, scene.x);
        assert_true(is_finite(scene.x));
        assert_true(apart(scene.x, scene.rig->mesh.x) < 0.1);
        test_attack("extreme clips and rigs on a method", 1);
        fa_method_close(m);
    }
}

// A head that jumps by metres, weights of 30, and back: every frame stays within the bounds (method/bounds.h), what was
// limited is counted, and the face comes back.
static void violent_input_stays_a_face(void **state) {
    (void)state;
    FaError err = {0};
    int limited = 0;
    FOR_METHODS(name) {
        FaMethod *m = open_method(name);
        double most = 0;
        play(m, 0, 4, scene.x);
        for (int f = 4; f < 20; f++) {
            FaInput in = input_at(f / 60.0);
            if (f == 6 || f == 7) in.head.p[0] += 3;
            if (f == 12) scene.weights[0] = scene.weights[3] = 30;
            FaStats stats = {0};
            CHECK_OK(fa_method_step(m, &in, scene.x, &stats, &err), &err);
            fa_rig_blend(scene.rig, scene.weights, scene.y);
            assert_true(is_finite(scene.x));
            most = fmax(most, apart(scene.y, scene.rig->mesh.x));
            assert_true(apart(scene.x, scene.y) <
                        0.08 + most); // a fifth of the head, and as far as the rig itself moved
            assert_true((stats.limited > 0) == (stats.worst > 0) && (!stats.limited || stats.clamped > 0));
            limited += stats.limited > 0;
        }
        memset(scene.weights, 0, (size_t)scene.rig->nshape * sizeof(float));
        for (int f = 20; f < 80; f++) {
            FaInput in = {.time = f / 60.0, .weights = scene.weights};
            CHECK_OK(fa_method_step(m, &in, scene.x, NULL, &err), &err);
        }
        print_message("%s: %.2f mm from rest a second later\n", name, 1e3 * apart(scene.x, scene.rig->mesh.x));
        assert_true(apart(scene.x, scene.rig->mesh.x) < 1e-2);
        test_attack("extreme clips and rigs on a method", 1);
        fa_method_close(m);
    }
    assert_true(limited > 0); // it was violent
}

static void time_goes_forward(void **state) {
    (void)state;
    FaError err = {0};
    FOR_METHODS(name) {
        FaMethod *m = open_method(name);
        play(m, 1, 4, scene.x);
        uint64_t before = fa_method_hash(m);
        memcpy(scene.y, scene.x, scene.bytes);
        const double bad[] = {1 + 3 / 60.0, 0.5, -1, NAN};
        for (int i = 0; i < FA_COUNT(bad); i++) {
            FaInput in = input_at(1);
            in.time = bad[i];
            assert_int_equal(fa_method_step(m, &in, scene.x, NULL, &err), FA_E_ARG);
            assert_true(err.remedy[0]);
        }
        assert_true(fa_method_hash(m) == before);
        assert_memory_equal(scene.x, scene.y, scene.bytes);
        play(m, 1.1, 2, scene.x); // and goes on
        fa_method_close(m);
    }
}

// --- motion -------------------------------------------------------------------------------------------------------

static void rest_stays_rest(void **state) {
    (void)state;
    FaError err = {0};
    FOR_METHODS(name) {
        FaMethod *m = open_method(name);
        memset(scene.weights, 0, (size_t)scene.rig->nshape * sizeof(float));
        double worst = 0;
        for (int f = 0; f < test_few(300, 12); f++) {
            FaInput in = {.time = f / 60.0, .weights = scene.weights};
            CHECK_OK(fa_method_step(m, &in, scene.x, NULL, &err), &err);
            worst = fmax(worst, apart(scene.x, scene.rig->mesh.x));
        }
        print_message("%s: %.2g m from rest in 300 frames\n", name, worst);
        assert_true(worst <= 1e-6);
        fa_method_close(m);
    }
}

// Surfaces every 1/12 s at some frame rate, through a run: the head's motion as a whole is the clip's own. rate: steps
// per second of methods that integrate; NULL: their default. Without contact: what touches first is decided step by
// step.
static float *surfaces(const char *name, const char *rate, const FaClip *clip, double fps) {
    FaError err = {0};
    FaParams *params;
    FaMethod *m;
    FaRun *run;
    CHECK_OK(fa_params_new(name, &params, &err), &err);
    if (rate && !isnan(fa_params_get(params, "rate"))) CHECK_OK(fa_params_set(params, "rate", rate, &err), &err);
    if (!isnan(fa_params_get(params, "contact"))) CHECK_OK(fa_params_set(params, "contact", "off", &err), &err);
    bool face = fai_method_ops(name)->takes & FA_TAKES_FACE;
    FaMethodSetup setup = {.rig = scene.rig, .face = face ? scene.face : NULL, .params = params};
    CHECK_OK(fa_method_open(name, &setup, &m, &err), &err);
    CHECK_OK(fa_run_new_fps(m, clip, fps, &run, &err), &err);
    float *x = malloc((size_t)clip->nframe * scene.bytes);
    for (int k = 0; k < clip->nframe; k++) {
        int frame = (int)lrint(k * fps / 12);
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), frame, x + (size_t)k * scene.bytes / sizeof *x, &err), &err);
    }
    fa_run_free(run);
    fa_method_close(m);
    fa_params_free(params);
    return x;
}

static double worst_of(const float *a, const float *b, int n) {
    double worst = 0;
    for (int k = 0; k < n; k++) {
        size_t at = (size_t)k * scene.bytes / sizeof *a;
        worst = fmax(worst, apart(a + at, b + at));
    }
    return worst;
}

static FaClip *knots(int n) {
    FaError err = {0};
    FaClip *clip;
    size_t shapes = (size_t)scene.rig->nshape;
    const char **names = malloc(shapes * sizeof *names);
    for (size_t s = 0; s < shapes; s++) names[s] = scene.rig->shape[s].name;
    CHECK_OK(fa_clip_new(n, scene.rig->nshape, names, 12, &clip, &err), &err);
    clip->head = fai_resize(NULL, (size_t)n * sizeof *clip->head);
    for (int k = 0; k < n; k++) {
        clip->head[k] = input_at(k / 12.0).head;
        for (size_t i = 0; i < shapes; i += 3)
            clip->weight[(size_t)k * shapes + i] = (float)(0.2 + 0.2 * sin(5 * k / 12.0 + (double)i));
    }
    free(names);
    return clip;
}

// In shares of how far the method's own surface is from the linear one. With steps of about the same length every frame
// rate gives the same motion; with the default rate the steps of a high frame rate are finer, which real-time methods
// show: that share is printed, and bounded.
static void frame_rates_agree(void **state) {
    (void)state;
    if (FA_SANITIZED) return;                        // a matter of numbers, and minutes there
    static const double rates[] = {24, 120, 36, 60}; // the ones between: FASCIA_FULL=1
    const int count = getenv("FASCIA_FULL") ? FA_COUNT(rates) : 2;
    FaClip *clip = knots(10);
    FOR_METHODS(name) {
        float *linear = surfaces("linear", NULL, clip, 300);
        for (int usual = 0; usual < 2; usual++) {
            const char *rate = usual ? NULL : "300";
            float *fine = surfaces(name, rate, clip, 300);
            double own = worst_of(fine, linear, clip->nframe);
            for (int i = 0; i < count; i++) {
                float *x = surfaces(name, rate, clip, rates[i]);
                double worst = worst_of(x, fine, clip->nframe);
                print_message("%-12s %3.0f fps, %s: %.4f mm from 300 fps; the method moves %.2f mm\n", name, rates[i],
                              usual ? "default steps" : "300 steps/s", 1e3 * worst, 1e3 * own);
                assert_true(worst <= 1e-6 + (usual ? 0.2 : 0.1) * own);
                free(x);
            }
            free(fine);
        }
        free(linear);
    }
    fa_clip_free(clip);
}

// A gap of 1,000 s between two inputs costs no more than one of 6 s, and is said.
static void a_gap_is_not_simulated(void **state) {
    (void)state;
    FaError err = {0};
    FaParams *params;
    FaMethod *m;
    int iterations[2];
    CHECK_OK(fa_params_new("projective", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "rate", "10", &err), &err);
    FaMethodSetup setup = {.rig = scene.rig, .face = scene.face, .params = params};
    memset(scene.weights, 0, (size_t)scene.rig->nshape * sizeof(float));
    for (int k = 0; k < 2; k++) {
        FaInput in = {.weights = scene.weights};
        FaStats stats;
        scene.weights[17] = 0;
        CHECK_OK(fa_method_open("projective", &setup, &m, &err), &err);
        CHECK_OK(fa_method_reset(m, &in, scene.y, &err), &err);
        scene.weights[17] = 0.3f;
        in.time = k ? 1000 : 6;
        CHECK_OK(fa_method_step(m, &in, k ? scene.y : scene.x, &stats, &err), &err);
        CHECK_NEAR(stats.skipped, in.time - 5, 1e-9);
        iterations[k] = stats.iterations;
        fa_method_close(m);
    }
    assert_int_equal(iterations[0], iterations[1]);
    for (int i = 0; i < 3 * scene.rig->mesh.nvert; i++) CHECK_NEAR((double)scene.y[i], (double)scene.x[i], 1e-6);
    scene.weights[17] = 0;
    fa_params_free(params);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_parameter_explains_itself),
        cmocka_unit_test(a_name_means_one_thing),
        cmocka_unit_test(a_setup_is_checked),
        cmocka_unit_test(nothing_is_allocated_in_a_step),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(a_state_goes_on),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(numbers_that_are_none),
        cmocka_unit_test(violent_input_stays_a_face),
        cmocka_unit_test(time_goes_forward),
        cmocka_unit_test(a_gap_is_not_simulated),
        cmocka_unit_test(rest_stays_rest),
        cmocka_unit_test(frame_rates_agree),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
