// Linear blending: the prepared blender gives the reference's bits, whatever the mesh, the weights and the threads.
// labels: unit hash
#include "test_rig_head.h"

#include "base/file.h"
#include "bench/bench_tools.h"
#include "io/obj.h"
#include "rig/blend.h"

// A rig of any size with random shapes; `fill` is the share of vertices that a shape moves.
static FaRig *random_rig(int nvert, int nshape, double fill, uint64_t seed) {
    FaRig *rig = FA_NEW(1, FaRig);
    rig->arena = fai_arena_new(0);
    rig->mesh.nvert = nvert;
    rig->mesh.x = FA_PUSH(rig->arena, 3 * (size_t)nvert, float);
    rig->nshape = nshape;
    rig->shape = FA_PUSH(rig->arena, nshape, FaShape);
    rig->weight = FA_PUSH(rig->arena, nshape, float);
    rig->row = FA_PUSH(rig->arena, (size_t)nvert * (size_t)nshape, int);
    rig->delta = FA_PUSH(rig->arena, 3 * (size_t)nvert * (size_t)nshape, float);
    rig->name = rig->path = rig->unit_how = rig->axes_how = "";
    for (int i = 0; i < 3 * nvert; i++) rig->mesh.x[i] = (float)(0.2 * fai_random_unit(seed, (uint64_t)i) - 0.1);
    for (int i = 0; i < 3 * nvert; i += 7) rig->mesh.x[i] = i % 2 ? -0.0f : 0.0f;
    uint64_t at = 1u << 30;
    for (int s = 0; s < nshape; s++) {
        rig->shape[s] = (FaShape){"s", -1, 0, rig->nentry, 0, FA_SAID_NOTHING};
        // runs, as real shapes have them
        bool in = false;
        for (int v = 0; v < nvert; v++) {
            if (fai_random_unit(seed, at++) < 0.1) in = fai_random_unit(seed, at++) < fill;
            if (!in) continue;
            float *d = rig->delta + 3 * (size_t)rig->nentry;
            for (int k = 0; k < 3; k++) d[k] = (float)(0.02 * fai_random_unit(seed, at++) - 0.01);
            if (v % 11 == 0) d[0] = 0, d[1] = -0.0f, d[2] = -1e-40f; // denormal: underflows to a negative zero
            rig->row[rig->nentry++] = v;
        }
        rig->shape[s].count = rig->nentry - rig->shape[s].first;
    }
    return rig;
}

static void random_weights(int n, uint64_t seed, bool odd, float *w) {
    static const float strange[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e-38f, -0.0f, 1e-45f};
    for (int s = 0; s < n; s++) {
        double u = fai_random_unit(seed, (uint64_t)s);
        w[s] = u < 0.3 ? 0 : (float)(1.8 * u - 0.6);
        if (odd && s % 5 == 0) w[s] = strange[s / 5 % FA_COUNT(strange)];
    }
}

static void expect_bits(const float *a, const float *b, int nvert, const char *what) {
    for (int i = 0; i < 3 * nvert; i++)
        if (memcmp(&a[i], &b[i], sizeof *a))
            fail_msg("%s: vertex %d, coordinate %d: %.9g and %.9g", what, i / 3, i % 3, (double)a[i], (double)b[i]);
}

// The plainest possible sum, in double.
static void expect_near_double(const FaRig *rig, const float *w, const float *x) {
    double *want = FA_NEW(3 * (size_t)rig->mesh.nvert, double);
    for (int i = 0; i < 3 * rig->mesh.nvert; i++) want[i] = (double)rig->mesh.x[i];
    for (int s = 0; s < rig->nshape; s++)
        for (int i = rig->shape[s].first; isfinite(w[s]) && i < rig->shape[s].first + rig->shape[s].count; i++)
            for (int k = 0; k < 3; k++)
                want[3 * (size_t)rig->row[i] + (size_t)k] +=
                    (double)w[s] * (double)rig->delta[3 * (size_t)i + (size_t)k];
    for (int i = 0; i < 3 * rig->mesh.nvert; i++) CHECK_NEAR(x[i], want[i], 1e-7 * (rig->nshape + 1));
    fa_free(want);
}

static void one_rig(int nvert, int nshape, double fill, uint64_t seed) {
    FaError err = {0};
    FaRig *rig = random_rig(nvert, nshape, fill, seed);
    uint64_t before = fai_hash64(rig->delta, 12 * (size_t)rig->nentry, 1);
    float *w = FA_NEW(nshape, float), *want = FA_NEW(3 * (size_t)nvert, float),
          *x = FA_NEW(3 * (size_t)nvert + 8, float);
    FaBlender *fast, *plain;
    CHECK_OK(fa_blender_new(rig, &fast, &err), &err);
    setenv("FA_SIMD", "ref", 1);
    CHECK_OK(fa_blender_new(rig, &plain, &err), &err);
    assert_string_equal(fai_blender_kernel(plain), "ref");
    unsetenv("FA_SIMD");
    for (int odd = 0; odd < 2; odd++) {
        random_weights(nshape, seed + 17, odd, w);
        fa_rig_blend(rig, w, want);
        if (!odd) expect_near_double(rig, w, want);
        static const int threads[] = {1, 2, 3, 8};
        for (int t = 0; t < FA_COUNT(threads); t++)
            for (int k = 0; k < 2; k++) {
                fa_threads_set(threads[t]);
                memset(x, 0xAB, (3 * (size_t)nvert + 8) * sizeof *x);
                fa_blender_eval(k ? plain : fast, w, x);
                expect_bits(x, want, nvert, k ? "ref" : "simd");
                for (int i = 0; i < 8; i++)
                    assert_memory_equal(&x[3 * nvert + i], "\xAB\xAB\xAB\xAB", 4); // nothing past the end
            }
        setenv("FA_SIMD", "ref", 1);
        fa_rig_blend(rig, w, x);
        unsetenv("FA_SIMD");
        expect_bits(x, want, nvert, "entries, ref");
    }
    fa_threads_set(0);
    assert_true(before == fai_hash64(rig->delta, 12 * (size_t)rig->nentry, 1));
    fa_blender_free(fast);
    fa_blender_free(plain);
    fa_free(w);
    fa_free(want);
    fa_free(x);
    fa_rig_free(rig);
}

static void all_sizes_around_blocks_and_tiles(void **state) {
    (void)state;
    static const int verts[] = {1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 33, 47, 1023, 1024, 1025, 1039, 1041, 2500};
    for (int i = 0; i < FA_COUNT(verts); i++) one_rig(verts[i], 9, 0.5, (uint64_t)i);
}

static void all_counts_of_shapes_around_words_and_passes(void **state) {
    (void)state;
    static const int shapes[] = {0, 1, 2, 63, 64, 65, 127, 129, 300, 511, 512, 513, 1100};
    for (int i = 0; i < FA_COUNT(shapes); i++) one_rig(150, shapes[i], 0.4, 100 + (uint64_t)i);
}

static void all_densities(void **state) {
    (void)state;
    static const double fills[] = {0, 0.01, 0.3, 0.9, 1};
    for (int i = 0; i < FA_COUNT(fills); i++) one_rig(1500, 20, fills[i], 200 + (uint64_t)i);
}

// A body: one tile in which nothing moves, one in which a few coordinates do, runs that cross tiles.
static void what_no_shape_moves_is_copied(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = random_rig(5000, 3, 1, 300);
    rig->nentry = 0;
    for (int s = 0; s < 3; s++) {
        rig->shape[s].first = rig->nentry;
        for (int v = 900 + s; v < 4200; v += v < 1100 ? 1 + s : v < 3000 ? 1900 : 37) rig->row[rig->nentry++] = v;
        rig->shape[s].count = rig->nentry - rig->shape[s].first;
    }
    FaBlender *b;
    CHECK_OK(fa_blender_new(rig, &b, &err), &err);
    float w[3] = {0.3f, -1, 2}, *x = FA_NEW(3 * 5000, float), *want = FA_NEW(3 * 5000, float);
    fa_rig_blend(rig, w, want);
    fa_blender_eval(b, w, x);
    expect_bits(x, want, 5000, "mostly still");
    assert_true(memcmp(want, rig->mesh.x, 3 * 5000 * sizeof *x) != 0);
    fa_free(x);
    fa_free(want);
    fa_blender_free(b);
    fa_rig_free(rig);
}

static void rest_is_the_neutral(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaBlender *b;
    CHECK_OK(fa_blender_new(rig, &b, &err), &err);
    float w[HEAD_SHAPES] = {0}, *x = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    fa_blender_eval(b, w, x);
    expect_bits(x, rig->mesh.x, rig->mesh.nvert, "rest");
    // one shape alone is the neutral plus its delta
    w[6] = 1;
    fa_blender_eval(b, w, x);
    const FaShape *jaw = &rig->shape[6];
    for (int i = jaw->first; i < jaw->first + jaw->count; i++)
        for (int k = 0; k < 3; k++)
            assert_true(x[3 * rig->row[i] + k] == rig->mesh.x[3 * rig->row[i] + k] + rig->delta[3 * i + k]);
    assert_int_equal(fa_blender_bytes(b, w), 24 * (size_t)rig->mesh.nvert + 12 * (size_t)jaw->count);
    w[0] = NAN;
    assert_int_equal(fa_blender_bytes(b, w), 24 * (size_t)rig->mesh.nvert + 12 * (size_t)jaw->count);
    fa_free(x);
    fa_blender_free(b);
    fa_blender_free(NULL);
    fa_rig_free(rig);
}

static void weights_that_are_no_numbers_are_left_out(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    float w[HEAD_SHAPES] = {NAN, INFINITY, -INFINITY, 0.5f}, clean[HEAD_SHAPES] = {0, 0, 0, 0.5f};
    float *x = FA_NEW(3 * (size_t)rig->mesh.nvert, float), *y = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    fa_rig_blend(rig, w, x);
    fa_rig_blend(rig, clean, y);
    expect_bits(x, y, rig->mesh.nvert, "not finite");
    fa_free(x);
    fa_free(y);
    fa_rig_free(rig);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    FaRig *rig = random_rig(2500, 70, 0.4, 5);
    for (long n = 1;; n++) {
        FaError err = {0};
        FaBlender *b;
        test_fail_alloc(n);
        long before = test_alloc_balance();
        FaCode rc = fa_blender_new(rig, &b, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fa_blender_free(b);
        assert_int_equal(test_alloc_balance(), before);
        assert_int_equal(rc, failed ? FA_E_MEMORY : FA_OK);
        if (!failed) break;
    }
    fa_allocator_set(NULL);
    fa_rig_free(rig);
}

// The main rig of the benchmarks: the layout holds little more than the deltas, and nothing is lost.
static void ict_facekit(void **state) {
    (void)state;
    const char *dir = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    if (!dir) skip();
    FaError err = {0};
    FaRig *rig;
    FaClip *clip;
    FaBlender *b;
    CHECK_OK(fai_obj_rig(dir, NULL, &rig, &err), &err);
    CHECK_OK(fai_bench_clip(rig, 40, &clip, &err), &err);
    CHECK_OK(fa_blender_new(rig, &b, &err), &err);
    assert_true((double)fai_blender_size(b) < 0.95 * 12 * rig->nentry); // zero coordinates are left out as well
    float *x = FA_NEW(3 * (size_t)rig->mesh.nvert, float), *want = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    for (int f = 0; f < clip->nframe; f += 13) {
        const float *w = clip->weight + f * clip->nchan;
        fa_rig_blend(rig, w, want);
        expect_near_double(rig, w, want);
        for (int threads = 1; threads <= 3; threads++) {
            fa_threads_set(threads);
            fa_blender_eval(b, w, x);
            expect_bits(x, want, rig->mesh.nvert, "ict");
        }
    }
    fa_threads_set(0);
    fa_free(x);
    fa_free(want);
    fa_blender_free(b);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sizes_around_blocks_and_tiles),
        cmocka_unit_test(all_counts_of_shapes_around_words_and_passes),
        cmocka_unit_test(all_densities),
        cmocka_unit_test(what_no_shape_moves_is_copied),
        cmocka_unit_test(rest_is_the_neutral),
        cmocka_unit_test(weights_that_are_no_numbers_are_left_out),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(ict_facekit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
