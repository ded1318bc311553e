// The interface that all methods share: stepping without allocation, states that can be stored, frames in any order,
// and every failure handed back.
// labels: unit hash
#include "test_rig_head.h"

#include "base/file.h"
#include "fascia/analytic.h"
#include "math/mat3.h"
#include "method/run.h"
#include "method/run_store.h"

static FaClip *make_clip(const FaRig *rig, int nframe, bool head) {
    FaError err = {0};
    const char *names[HEAD_SHAPES];
    FaClip *clip;
    for (int s = 0; s < rig->nshape; s++) names[s] = rig->shape[s].name;
    CHECK_OK(fa_clip_new(nframe, rig->nshape, names, 60, &clip, &err), &err);
    for (int i = 0; i < nframe * rig->nshape; i++) clip->weight[i] = (float)fai_random_unit(3, (uint64_t)i);
    if (!head) return clip;
    clip->head = fai_resize(NULL, (size_t)nframe * sizeof *clip->head);
    for (int f = 0; f < nframe; f++) {
        double turn[3] = {0.2 * sin(0.3 * f), 0.3 * cos(0.2 * f), 0};
        fai_q_exp(turn, clip->head[f].q);
        fai_v3_set(clip->head[f].p, 0.02 * sin(0.15 * f), 0, 0.01 * cos(0.2 * f));
    }
    return clip;
}

// One method per way to run: linear, shapes, vertices.
static FaMethod *open_kind(const FaRig *rig, int kind, FaError *err) {
    FaMethod *m = NULL;
    if (kind == 0)
        fa_method_open("linear", &(FaMethodSetup){.rig = rig}, &m, err);
    else if (kind == 1) { // without regions: a note about them that finds no memory is not an error
        FaParams *p;
        if (fa_params_new("analytic", &p, err) < 0) return NULL;
        if (fa_params_set(p, "regions", "off", err) >= 0)
            fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = p}, &m, err);
        fa_params_free(p);
    } else {
        FaMaps maps = {.vertex = calloc((size_t)rig->mesh.nvert, sizeof(FaOscillator))};
        for (int v = 0; v < rig->mesh.nvert; v++) maps.vertex[v] = fa_oscillator_of(1, 3 + v % 4, 0.3);
        fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .maps = &maps}, &m, err);
        free(maps.vertex);
    }
    return m;
}

static size_t bytes(const FaRig *rig) { return 3 * (size_t)rig->mesh.nvert * sizeof(float); }

static void test_linear(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 5, true);
    FaMethod *m = open_kind(rig, 0, &err);
    FaRun *run;
    CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
    float *x = malloc(bytes(rig)), *want = malloc(bytes(rig));
    for (int f = 0; f < 5; f++) {
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        fa_rig_blend(rig, clip->weight + f * rig->nshape, want);
        assert_memory_equal(x, want, bytes(rig));
    }
    assert_int_equal(fa_run_stats(run).frames, 5);
    fa_run_free(run);
    fa_method_close(m);
    fa_clip_free(clip);
    fa_rig_free(rig);
    free(x), free(want);
}

// --- no allocation ------------------------------------------------------------------------------------------------

static long calls;
static void *counting(void *user, void *old, size_t size) {
    (void)user;
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (size) return realloc(old, size);
    free(old);
    return NULL;
}

static void test_no_allocation(void **state) {
    (void)state;
    FaError err = {0};
    fa_allocator_set(&(FaAllocator){counting, NULL});
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 40, true);
    float *x = malloc(bytes(rig));
    for (int kind = 0; kind < 3; kind++) {
        FaMethod *m = open_kind(rig, kind, &err);
        FaRun *run;
        CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
        assert_true(calls > 0); // the hook works
        calls = 0;
        for (int f = 0; f < 40; f++) CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        for (int f = 0; f < 20; f++) {
            FaInput in = {.time = 100 + 0.01 * f,
                          .weights = clip->weight,
                          .head = {.q = {0, 0, 0, 1}, .p = {0.001 * f * f, 0, 0}}};
            CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
        }
        assert_int_equal(calls, 0);
        fa_run_free(run);
        fa_method_close(m);
    }
    fa_clip_free(clip);
    fa_rig_free(rig);
    fa_allocator_set(NULL);
    free(x);
}

// --- states -------------------------------------------------------------------------------------------------------

// Saved in the middle, loaded into another method, both go on alike; loaded back, the first repeats itself.
static void test_state(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 40, false);
    float *x = malloc(bytes(rig)), *y = malloc(bytes(rig));
    for (int kind = 0; kind < 3; kind++) {
        FaMethod *a = open_kind(rig, kind, &err), *b = open_kind(rig, kind, &err);
        size_t size = fa_method_state_size(a);
        unsigned char *saved = malloc(size);
        uint64_t mid = 0, end = 0;
        for (int f = 0; f < 40; f++) {
            FaInput in = {.time = f / 60.0,
                          .weights = clip->weight + f * rig->nshape,
                          .head = {.q = {0.1 * sin(f), 0, 0, 1}, .p = {0.01 * cos(f), 0, 0}}};
            uint64_t before = fa_method_hash(a);
            CHECK_OK(fa_method_step(a, &in, x, NULL, &err), &err);
            assert_true(fa_method_hash(a) != before);
            if (f == 19) {
                fa_method_save(a, saved);
                mid = fa_method_hash(a);
            }
        }
        end = fa_method_hash(a);
        CHECK_OK(fa_method_load(b, saved, size, &err), &err);
        assert_true(fa_method_hash(b) == mid);
        for (int f = 20; f < 40; f++) {
            FaInput in = {.time = f / 60.0,
                          .weights = clip->weight + f * rig->nshape,
                          .head = {.q = {0.1 * sin(f), 0, 0, 1}, .p = {0.01 * cos(f), 0, 0}}};
            CHECK_OK(fa_method_step(b, &in, y, NULL, &err), &err);
        }
        assert_true(fa_method_hash(b) == end);
        assert_memory_equal(x, y, bytes(rig));
        assert_true(fa_method_load(b, saved, size - 1, &err) == FA_E_ARG);
        err = (FaError){0};
        free(saved);
        fa_method_close(a);
        fa_method_close(b);
    }
    fa_clip_free(clip);
    fa_rig_free(rig);
    free(x), free(y);
}

// Frames read in any order are those read in order.
static void test_any_order(void **state) {
    (void)state;
    FaError err = {0};
    enum { N = 50 };
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, N, true);
    float *x = malloc(bytes(rig)), *all = malloc(N * bytes(rig));
    for (int kind = 1; kind < 3; kind++) {
        FaMethod *m = open_kind(rig, kind, &err);
        FaRun *run;
        CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
        FaSequence *seq = fa_run_sequence(run);
        assert_int_equal(fa_sequence_nframe(seq), N);
        CHECK_NEAR(fa_sequence_time(seq, 30), 0.5, 1e-12);
        size_t n = bytes(rig) / sizeof(float);
        for (int f = 0; f < N; f++) CHECK_OK(fa_sequence_read(seq, f, all + (size_t)f * n, &err), &err);
        assert_true(memcmp(all, all + n, bytes(rig)) != 0);
        for (int i = 0; i < 120; i++) {
            int f = (int)(fai_random_u64(4, (uint64_t)i) % N);
            CHECK_OK(fa_sequence_read(seq, f, x, &err), &err);
            assert_memory_equal(x, all + (size_t)f * n, bytes(rig));
            CHECK_OK(fa_sequence_read(seq, f, x, &err), &err); // the same again
            assert_memory_equal(x, all + (size_t)f * n, bytes(rig));
        }
        fa_run_free(run);
        // a fresh run that starts in the middle
        CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), 33, x, &err), &err);
        assert_memory_equal(x, all + 33 * n, bytes(rig));
        fa_run_free(run);
        fa_method_close(m);
    }
    fa_clip_free(clip);
    fa_rig_free(rig);
    free(x), free(all);
}

// A rig without a clip is one frame, at rest.
static void test_no_clip(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMethod *m = open_kind(rig, 1, &err);
    FaRun *run;
    CHECK_OK(fa_run_new(m, NULL, &run, &err), &err);
    assert_int_equal(fa_sequence_nframe(fa_run_sequence(run)), 1);
    float *x = malloc(bytes(rig));
    CHECK_OK(fa_sequence_read(fa_run_sequence(run), 0, x, &err), &err);
    assert_memory_equal(x, rig->mesh.x, bytes(rig));
    fa_run_free(run);
    fa_method_close(m);
    fa_rig_free(rig);
    free(x);
}

// Every allocation fails once; nothing leaks, and each failure is reported.
static void test_torture(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 8, true);
    float *x = malloc(bytes(rig));
    for (int kind = 0; kind < 3; kind++) {
        bool done = false;
        int failures = 0;
        for (long n = 1; !done; n++) {
            FaError err = {0};
            FaRun *run = NULL;
            long before = test_alloc_balance();
            test_fail_alloc(n);
            FaMethod *m = open_kind(rig, kind, &err);
            FaCode rc = m ? fa_run_new(m, clip, &run, &err) : err.code;
            if (rc >= 0) rc = fa_sequence_read(fa_run_sequence(run), 7, x, &err);
            done = !test_alloc_failed();
            if (!done) {
                assert_true(rc == FA_E_MEMORY);
                failures++;
            } else
                assert_true(rc >= 0);
            fa_run_free(run);
            fa_method_close(m);
            test_fail_alloc(0);
            assert_int_equal(test_alloc_balance(), before);
        }
        assert_true(failures > 5);
    }
    fa_allocator_set(NULL);
    fa_clip_free(clip);
    fa_rig_free(rig);
    free(x);
}

// Solves that ended early are said with the first frame, not counted among other things.
static void test_unsolved_frames_are_named(void **state) {
    (void)state;
    FaRunStats run = {0};
    FaNotes notes = {0};
    fai_run_count_limited(&run, 3, &(FaStats){0});
    fai_run_note_limited(&notes, &run);
    assert_int_equal(notes.count, 0);
    fai_run_count_limited(&run, 7, &(FaStats){.unsolved = 2});
    fai_run_count_limited(&run, 5, &(FaStats){.unsolved = 1});
    fai_run_note_limited(&notes, &run);
    assert_int_equal(notes.count, 1);
    assert_string_equal(notes.note[0].code, "not-solved");
    assert_string_equal(notes.note[0].where, "frame 5");
    assert_non_null(strstr(notes.note[0].text, "in 2 frames"));
    fai_notes_free(&notes);
}

// A run file of three frames with one bit changed: it is not used, or from the damaged frame on it is not; frames that
// are given are those that were written.
static void test_damaged_store(void **state) {
    (void)state;
    enum { NV = 3, NS = 2, FRAMES = 3 };
    static const FaRunStoreShape shape = {.key = 7, .nvert = NV, .nshape = NS};
    const char *path = test_path("flipped.run");
    const float weights[NS] = {0.5f, 1};
    FaError err = {0};
    FaRunStore *store;
    float surface[FRAMES][3 * NV];
    CHECK_OK(fai_run_store_create(path, &shape, &store, &err), &err);
    for (int f = 0; f < FRAMES; f++) {
        for (int i = 0; i < 3 * NV; i++) surface[f][i] = (float)(10 * f + i);
        const FaRunStoreInput in = {.time = f / 30.0, .weights = weights};
        CHECK_OK(fai_run_store_append(store, &in, surface[f], NULL, &err), &err);
    }
    fai_run_store_close(store);
    FaBytes b;
    CHECK_OK(fai_file_read(path, 0, &b, &err), &err);
    for (size_t i = 0; i < 8 * b.size; i++) {
        const char *why;
        float x[3 * NV];
        FaRunStoreInput in;
        b.data[i / 8] ^= (unsigned char)(1u << i % 8);
        FILE *f = fopen(path, "wb");
        assert_true(f && fwrite(b.data, 1, b.size, f) == b.size && fclose(f) == 0);
        b.data[i / 8] ^= (unsigned char)(1u << i % 8);
        CHECK_OK(fai_run_store_open(path, &shape, false, &store, &why, &err), &err);
        assert_true(store ? fai_run_store_count(store) < FRAMES : why[0] != 0);
        for (int k = 0; store && k < fai_run_store_count(store); k++) {
            CHECK_OK(fai_run_store_read(store, k, &in, x, NULL, &err), &err);
            assert_true(!memcmp(x, surface[k], sizeof x) && in.time == k / 30.0 && !memcmp(in.weights, weights, 8));
        }
        fai_run_store_close(store);
    }
    test_attack("bytes changed in a file that we read back", (long)(8 * b.size));
    fai_bytes_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unsolved_frames_are_named),
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_no_clip),
        cmocka_unit_test(test_torture),
        cmocka_unit_test(test_damaged_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
