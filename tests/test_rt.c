// libfascia-rt: a bound face as a file. Damaged ones are refused, kernels agree to the bit, soft weights are those of
// the closed form, and the library needs libc and libm alone.
// labels: unit hash
#include "test.h"
#include "toy_net.h"

#include "base/file.h"
#include "fascia_rt.h"
#include "math/oscillator.h"
#include "neural/bind_net.h"

static FaRig *rig;
static FaNeural *bound[3]; // by precision

static FaRt *place(const void *data, size_t size, void **memory, char *why) {
    FaRt *rt = NULL;
    size_t room = (fa_rt_room(data, size) + 63) / 64 * 64;
    *memory = room ? aligned_alloc(64, room) : NULL;
    if (!room || fa_rt_place(data, size, *memory, room, &rt, why) < 0) {
        free(*memory);
        *memory = NULL;
        return NULL;
    }
    return rt;
}

static float *some_weights(uint64_t seed) {
    float *w = calloc((size_t)rig->nshape, sizeof *w);
    for (int s = 0; s < rig->nshape; s++)
        if (s % 3 == 0) w[s] = (float)(1.2 * fai_random_unit(seed, (uint64_t)s));
    return w;
}

static void kernels_agree_to_the_bit(void **state) {
    (void)state;
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y), *linear = calloc(n, sizeof *linear);
    for (int p = 0; p < 3; p++) {
        size_t size;
        void *memory;
        const void *data = fa_neural_bytes(bound[p], &size);
        FaRt *rt = place(data, size, &memory, NULL);
        uint64_t hash = 0;
        for (uint64_t seed = 1; seed <= 4; seed++) {
            float *w = some_weights(seed);
            if (seed == 4) w[0] = NAN, w[3] = INFINITY; // count as 0
            fa_rt_simd(rt, 1);
            fa_rt_frame(rt, w, x);
            fa_rt_simd(rt, 0);
            fa_rt_frame(rt, w, y);
            assert_memory_equal(x, y, n * sizeof *x);
            fa_rt_linear(rt, w, x);
            fa_rig_blend(rig, w, linear);
            assert_memory_equal(x, linear, n * sizeof *x);
            hash = fai_hash64(y, n * sizeof *y, hash);
            free(w);
        }
        print_message("precision %d: frames %016llx\n", p, (unsigned long long)hash);
        free(memory);
    }
    free(x), free(y), free(linear);
}

static void int8_is_near(void **state) {
    (void)state;
    size_t n = 3 * (size_t)rig->mesh.nvert, size;
    float *x[3], *w = some_weights(9);
    for (int p = 0; p < 3; p++) {
        void *memory;
        x[p] = calloc(n, sizeof *x[p]);
        const void *data = fa_neural_bytes(bound[p], &size);
        FaRt *rt = place(data, size, &memory, NULL);
        fa_rt_frame(rt, w, x[p]);
        free(memory);
    }
    double f16 = 0, int8 = 0;
    for (size_t i = 0; i < n; i++) {
        f16 = fmax(f16, fabs((double)x[FA_NEURAL_F16][i] - (double)x[FA_NEURAL_F32][i]));
        int8 = fmax(int8, fabs((double)x[FA_NEURAL_INT8][i] - (double)x[FA_NEURAL_F32][i]));
    }
    print_message("f16 %.5f mm, int8 %.5f mm off\n", 1e3 * f16, 1e3 * int8);
    assert_true(f16 < 5e-6 && int8 < 2e-4 && int8 > 0);
    for (int p = 0; p < 3; p++) free(x[p]);
    free(w);
}

// --- files --------------------------------------------------------------------------------------------------------

static void damage_is_noticed(void **state) {
    (void)state;
    size_t size;
    const unsigned char *good = fa_neural_bytes(bound[2], &size);
    unsigned char *bad = malloc(size);
    char why[FA_RT_TEXT];
    void *memory;
    for (uint64_t k = 0; k < 60; k++) {
        memcpy(bad, good, size);
        size_t at = k < 20 ? 8 * k : (size_t)(fai_random_unit(3, k) * (double)size);
        bad[at] ^= 0x41;
        why[0] = 0;
        if (place(bad, size, &memory, why)) fail_msg("a changed byte at %zu was not noticed", at);
    }
    for (size_t cut = 0; cut < size; cut += size / 9) assert_null(place(good, cut, &memory, why));
    free(bad);
}

// With a checksum that is right again: whatever is accepted plays.
static void lies_are_refused_or_harmless(void **state) {
    (void)state;
    size_t size, accepted = 0;
    const unsigned char *good = fa_neural_bytes(bound[0], &size);
    unsigned char *bad = malloc(size);
    float *x = calloc(3 * (size_t)rig->mesh.nvert, sizeof *x), *w = some_weights(5);
    for (uint64_t k = 0; k < 200; k++) {
        void *memory;
        char why[FA_RT_TEXT];
        memcpy(bad, good, size);
        for (uint64_t j = 0; j < 3; j++) {
            double u = fai_random_unit(11, 10 * k + j);
            size_t at = k % 2 ? 24 + (size_t)(u * 88) : 112 + (size_t)(u * (double)(size - 112));
            bad[at] = (unsigned char)fai_random_u64(12, 10 * k + j);
        }
        uint64_t sum = fa_rt_sum(bad + FA_RT_HEAD, size - FA_RT_HEAD);
        memcpy(bad + 16, &sum, sizeof sum);
        FaRt *rt = place(bad, size, &memory, why);
        if (!rt || fa_rt_vertices(rt) != rig->mesh.nvert || fa_rt_shapes(rt) != rig->nshape) {
            free(memory);
            continue;
        }
        fa_rt_frame(rt, w, x);
        accepted++;
        free(memory);
    }
    print_message("%zu of 200 were played\n", accepted);
    assert_true(accepted > 0 && accepted < 200);
    free(bad), free(x), free(w);
}

static void names_are_found(void **state) {
    (void)state;
    size_t size;
    void *memory;
    const void *data = fa_neural_bytes(bound[1], &size);
    FaRt *rt = place(data, size, &memory, NULL);
    for (int s = 0; s < rig->nshape; s++) {
        assert_string_equal(fa_rt_shape_name(rt, s), rig->shape[s].name);
        assert_int_equal(fa_rt_find(rt, rig->shape[s].name), s);
    }
    assert_int_equal(fa_rt_find(rt, "nothing"), -1);
    assert_string_equal(fa_rt_shape_name(rt, -1), "");
    free(memory);
}

// --- soft weights -------------------------------------------------------------------------------------------------

static void soft_weights_are_the_closed_form(void **state) {
    (void)state;
    const double m = 1.5, c = 8, k = 120;
    size_t size;
    void *memory;
    const void *data = fa_neural_bytes(bound[1], &size);
    FaRt *rt = place(data, size, &memory, NULL);
    float *goal = calloc((size_t)rig->nshape, sizeof *goal), *out = calloc((size_t)rig->nshape, sizeof *out);
    assert_true(fa_rt_spring(rt, 0, 1, 1) < 0);
    fa_rt_soften(rt, 0.01, goal, out); // no spring: the goals themselves
    assert_true(fa_rt_spring(rt, m, c, k) == 0);
    fa_rt_soften(rt, 0, goal, out);
    goal[2] = 1;
    const double ramp = 1e-7; // as good as a step
    fa_rt_soften(rt, ramp, goal, out);
    for (int i = 1; i <= 50; i++) {
        fa_rt_soften(rt, 0.02, goal, out);
        CHECK_NEAR((double)out[2], k * fai_oscillator_response(m, c, k, ramp / 2 + 0.02 * i), 1e-5);
        assert_true(out[3] == 0);
    }
    free(goal), free(out), free(memory);
}

// --- the library --------------------------------------------------------------------------------------------------

#define LIBRARY FASCIA_BINARY_DIR "/libfascia-rt.a"

static char *read_text(const char *path) {
    FaBytes bytes;
    FaError err = {0};
    CHECK_OK(fai_file_read(path, 0, &bytes, &err), &err);
    return (char *)bytes.data;
}

// Every undefined symbol is libc's, libm's or the library's own.
static void it_needs_libc_and_libm_alone(void **state) {
    (void)state;
    static const char *const known[] = {"memcpy",
                                        "memset",
                                        "memmove",
                                        "strlen",
                                        "strcmp",
                                        "snprintf",
                                        "__snprintf_chk",
                                        "__stack_chk_fail",
                                        "fopen",
                                        "fclose",
                                        "fread",
                                        "fseek",
                                        "ftell",
                                        "free",
                                        "aligned_alloc",
                                        "exp",
                                        "expm1",
                                        "sqrt",
                                        "sin",
                                        "cos",
                                        "fmaf",
                                        "__cpu_model",
                                        "__cpu_features2",
                                        "__cpu_indicator_init",
                                        "_GLOBAL_OFFSET_TABLE_",
                                        "fai_oscillator_step",
                                        "sincos"};
    if (!test_program("nm") || !fai_file_exists(LIBRARY)) skip();
    const char *out = test_path("nm.txt");
    assert_int_equal(test_run((const char *const[]){"nm", "-u", LIBRARY, NULL}, out), 0);
    char *text = read_text(out);
    int undefined = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *u = strstr(line, " U ");
        if (!u) continue;
        const char *name = u + 3;
        bool fine = !strncmp(name, "fa_rt_", 6) || !strncmp(name, "__asan", 6) || !strncmp(name, "__ubsan", 7) ||
                    !strncmp(name, "__tsan", 6);
        for (int i = 0; i < FA_COUNT(known); i++) fine = fine || !strcmp(name, known[i]);
        if (!fine) print_message("%s\n", name);
        assert_true(fine);
        undefined++;
    }
    assert_true(undefined > 5);
    fa_free(text);
}

static void the_example_builds_with_one_command(void **state) {
    (void)state;
    if (!test_program("cc") || !fai_file_exists(LIBRARY) || strstr(FASCIA_BINARY_DIR, "san")) skip();
    FaError err = {0};
    const char *fart = test_path("face.fart"), *play = test_path("play"), *out = test_path("play.txt");
    CHECK_OK(fa_neural_write(bound[2], fart, &err), &err);
    assert_int_equal(
        test_run((const char *const[]){"cc", FASCIA_SOURCE_DIR "/rt/example.c", "-I" FASCIA_SOURCE_DIR "/include",
                                       "-L" FASCIA_BINARY_DIR, "-l:libfascia-rt.a", "-lm", "-o", play, NULL},
                 NULL),
        0);
    assert_int_equal(test_run((const char *const[]){play, fart, "jawOpen", "0.5", NULL}, out), 0);
    char *text = read_text(out);
    print_message("%s", text);
    assert_non_null(strstr(text, "targets; the network adds up to"));
    fa_free(text);
    assert_int_equal(test_run((const char *const[]){play, FASCIA_SOURCE_DIR "/README.md", "jawOpen", "0.5", NULL}, out),
                     1);
}

static int set_up(void **state) {
    (void)state;
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaNet net;
    FaError err = {0};
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    fa_head_free(head);
    toy_net(1, &net);
    for (int p = 0; p < 3; p++)
        CHECK_OK(fai_neural_bind_net(&net, rig, (FaNeuralPrecision)p, &bound[p], NULL, &err), &err);
    fai_net_free(&net);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int p = 0; p < 3; p++) fa_neural_free(bound[p]);
    fa_rig_free(rig);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_agree_to_the_bit),
        cmocka_unit_test(int8_is_near),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(lies_are_refused_or_harmless),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(soft_weights_are_the_closed_form),
        cmocka_unit_test(it_needs_libc_and_libm_alone),
        cmocka_unit_test(the_example_builds_with_one_command),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
