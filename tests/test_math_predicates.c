// Exact orientation against integer arithmetic, and where rounding would lie.
#include "test.h"

#include "base/base.h"
#include "math/predicates.h"

#include <float.h>

static int sign128(__int128 v) { return (v > 0) - (v < 0); }

static int whole(uint64_t seed, uint64_t i, int range) {
    return (int)(fai_random_u64(seed, i) % (uint64_t)(2 * range + 1)) - range;
}

// Points with whole coordinates, in every range from where most are flat to where doubles round.
static void against_integers(void **state) {
    (void)state;
    int ranges[] = {1, 3, 100, 4000, 1 << 20, (1 << 24) - 1}, zeros = 0, unsure = 0;
    for (uint64_t t = 0; t < 30000; t++) {
        int range = ranges[t / 6 % 6];
        int64_t p[4][3];
        float f[4][3];
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 3; k++) p[i][k] = whole(t, (uint64_t)(3 * i + k), range);
        // every third time the last point is put next to the others' plane: an affine combination, off by at most one
        if (t % 3 == 0) {
            int m = whole(t, 50, 3), n = whole(t, 51, 3);
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++) p[i][k] /= 8;
            for (int k = 0; k < 3; k++)
                p[3][k] = p[0][k] + m * (p[1][k] - p[0][k]) + n * (p[2][k] - p[0][k]) + (t % 2 && k == 0);
        }
        __int128 v[3][3];
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) v[i][k] = p[i + 1][k] - p[0][k];
        __int128 det = v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) +
                       v[0][1] * (v[1][2] * v[2][0] - v[1][0] * v[2][2]) +
                       v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
        __int128 flat = v[0][0] * v[1][1] - v[0][1] * v[1][0];
        // a common power of two changes nothing, down to where squares would vanish and up to where cubes overflow
        float scale = t % 5 == 0 ? 0x1p-120f : t % 5 == 1 ? 0x1p100f : 1;
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 3; k++) f[i][k] = (float)p[i][k] * scale;
        assert_int_equal(fai_orient3d(f[0], f[1], f[2], f[3]), sign128(det));
        assert_int_equal(fai_orient3d_exact(f[0], f[1], f[2], f[3]), sign128(det));
        assert_int_equal(fai_orient3d(f[1], f[0], f[2], f[3]), -sign128(det));
        assert_int_equal(fai_orient2d(f[0], f[1], f[2], 0, 1), sign128(flat));
        assert_int_equal(fai_orient2d(f[0], f[1], f[2], 1, 0), -sign128(flat));
        zeros += det == 0;
        unsure += fai_orient3d_quick(f[0], f[1], f[2], f[3]) == FA_UNSURE;
    }
    print_message("%d flat, %d left to exact arithmetic\n", zeros, unsure);
    assert_true(zeros > 1000 && unsure > 1000);
}

// Far and near coordinates mixed, so that differences do not fit a double.
static void across_scales(void **state) {
    (void)state;
    const float a[3] = {0, 0, 0}, b[3] = {1, 0, 0}, c[3] = {0, 1, 0};
    assert_int_equal(fai_orient3d(a, b, c, (float[3]){1e30f, -1e30f, FLT_TRUE_MIN}), 1);
    assert_int_equal(fai_orient3d(a, b, c, (float[3]){1e30f, -1e30f, -FLT_TRUE_MIN}), -1);
    const float d[3] = {1e-20f, 0, 1}, e[3] = {1e20f, 0, 1}, f[3] = {1e20f, 1, 1};
    assert_int_equal(fai_orient3d(d, e, f, (float[3]){0, 0, 1}), 0);
    // three points on a line through tiny and huge ones, then one of them moved by the least step
    assert_int_equal(fai_orient2d((float[]){1e-20f, 1e-20f}, (float[]){1, 1}, (float[]){1e15f, 1e15f}, 0, 1), 0);
    assert_int_equal(
        fai_orient2d((float[]){nextafterf(1e-20f, 1), 1e-20f}, (float[]){1, 1}, (float[]){1e15f, 1e15f}, 0, 1), -1);
}

// 128 bits hold the determinant of degree 5 for coordinates up to 2^20 or so.
static int insphere_integers(int64_t p[5][3]) {
    __int128 v[4][4], det = 0;
    for (int i = 0; i < 4; i++) {
        v[i][3] = 0;
        for (int k = 0; k < 3; k++) v[i][k] = p[i][k] - p[4][k], v[i][3] += v[i][k] * v[i][k];
    }
    for (int i = 0; i < 4; i++) {
        __int128 *r[3];
        for (int k = 0; k < 3; k++) r[k] = v[k < i ? k : k + 1];
        __int128 minor = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1]) +
                         r[0][1] * (r[1][2] * r[2][0] - r[1][0] * r[2][2]) +
                         r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
        det += (i % 2 ? v[i][3] : -v[i][3]) * minor;
    }
    return -sign128(det);
}

static void spheres_against_integers(void **state) {
    (void)state;
    int ranges[] = {1, 2, 5, 100, 4000, 1 << 20}, zeros = 0, unsure = 0;
    for (uint64_t t = 0; t < 30000; t++) {
        int64_t p[5][3];
        float f[5][3];
        for (int i = 0; i < 5; i++)
            for (int k = 0; k < 3; k++) p[i][k] = whole(t + 77, (uint64_t)(3 * i + k), ranges[t / 6 % 6]);
        // every third time all on one sphere: signs and axes of one point changed; the last at most one off
        for (int i = 1; i < 5 && t % 3 == 0; i++)
            for (int k = 0; k < 3; k++)
                p[i][k] = (i >> k & 1 ? -1 : 1) * p[0][(k + i / 2) % 3] + (i == 4 && k == 0 && t % 2);
        float scale = t % 5 == 0 ? 0x1p-120f : t % 5 == 1 ? 0x1p100f : 1;
        for (int i = 0; i < 5; i++)
            for (int k = 0; k < 3; k++) f[i][k] = (float)p[i][k] * scale;
        int is = insphere_integers(p);
        assert_int_equal(fai_insphere(f[0], f[1], f[2], f[3], f[4]), is);
        assert_int_equal(fai_insphere_exact(f[0], f[1], f[2], f[3], f[4]), is);
        assert_int_equal(fai_insphere(f[1], f[0], f[2], f[3], f[4]), -is);
        assert_int_equal(fai_insphere(f[1], f[2], f[0], f[3], f[4]), is);
        zeros += is == 0;
        unsure += fai_insphere_quick(f[0], f[1], f[2], f[3], f[4]) == FA_UNSURE;
    }
    print_message("%d on the sphere, %d left to exact arithmetic\n", zeros, unsure);
    assert_true(zeros > 1000 && unsure > 1000);
    // what is inside, by hand; then off the sphere by the least step, and across scales
    const float a[3] = {1, 0, 0}, b[3] = {0, 1, 0}, c[3] = {0, 0, 1}, d[3] = {-1, 0, 0};
    assert_int_equal(fai_orient3d(a, b, c, d), -1);
    assert_int_equal(fai_insphere(b, a, c, d, (float[3]){0, 0, 0}), 1);
    assert_int_equal(fai_insphere(b, a, c, d, (float[3]){0, -1, 0}), 0);
    assert_int_equal(fai_insphere(b, a, c, d, (float[3]){0, nextafterf(-1, 0), 0}), 1);
    assert_int_equal(fai_insphere(b, a, c, d, (float[3]){0, nextafterf(-1, -2), 0}), -1);
    assert_int_equal(fai_insphere(b, a, c, d, (float[3]){FLT_TRUE_MIN, -1, 0}), -1);
    assert_int_equal(fai_insphere(b, a, c, d, (float[3]){FLT_MAX, FLT_MAX, -FLT_MAX}), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_integers), cmocka_unit_test(across_scales),
                                       cmocka_unit_test(spheres_against_integers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
