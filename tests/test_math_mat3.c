// 3x3 algebra, singular values, polar decomposition, quaternions, poses.
#include "test.h"

#include "base/base.h"
#include "math/mat3.h"

static const double PI = 3.14159265358979323846;

static void random_matrix(uint64_t seed, double a[9]) {
    for (int i = 0; i < 9; i++) a[i] = fai_random_normal(seed, (uint64_t)i);
}

static void random_rotation(uint64_t seed, double q[4]) {
    for (int i = 0; i < 4; i++) q[i] = fai_random_normal(seed, 20 + (uint64_t)i);
    assert_true(fai_q_normalize(q));
}

static void check_same(int n, const double *a, const double *b, double tol) {
    for (int i = 0; i < n; i++) CHECK_NEAR(a[i], b[i], tol);
}

static void check_rotation(const double r[9]) {
    double t[9], m[9], one[9];
    fai_m3_transpose(r, t);
    fai_m3_mul(r, t, m);
    fai_m3_identity(one);
    check_same(9, m, one, 1e-14);
    CHECK_NEAR(fai_m3_det(r), 1, 1e-14);
}

static void algebra(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        double a[9], b[9], m[9], inverse[9], one[9], v[3] = {1, -2, 0.5}, x[3], y[3];
        random_matrix(seed, a);
        random_matrix(seed + 1000, b);
        fai_m3_identity(one);
        assert_true(fai_m3_inverse(a, inverse));
        fai_m3_mul(a, inverse, m);
        check_same(9, m, one, 1e-10);
        fai_m3_mul(a, b, m);
        CHECK_NEAR(fai_m3_det(m), fai_m3_det(a) * fai_m3_det(b), 1e-11);
        fai_m3_mulv(b, v, x);
        fai_m3_mulv(a, x, x);
        fai_m3_mulv(m, v, y);
        check_same(3, x, y, 1e-13);
        fai_m3_transpose(a, m);
        fai_m3_mulv(m, v, x);
        fai_m3_tmulv(a, v, y);
        check_same(3, x, y, 1e-15);
        // in place
        memcpy(m, a, sizeof m);
        fai_m3_mul(m, b, m);
        fai_m3_mul(a, b, a);
        check_same(9, m, a, 0);
        fai_v3_cross(a, b, x);
        CHECK_NEAR(fai_v3_dot(x, a), 0, 1e-13);
        CHECK_NEAR(fai_v3_dot(x, b), 0, 1e-13);
    }
    double flat[9] = {1, 2, 3, 2, 4, 6, 0, 0, 1}, out[9];
    assert_false(fai_m3_inverse(flat, out));
    double huge[3] = {1e300, 0, 1e300}, tiny[3] = {0, 1e-300, 0}, none[3] = {0, 0, 0}, bad[3] = {INFINITY, 0, 0};
    assert_true(fai_v3_normalize(huge) && fai_v3_normalize(tiny));
    CHECK_NEAR(huge[0], sqrt(0.5), 1e-15);
    CHECK_NEAR(tiny[1], 1, 0);
    assert_false(fai_v3_normalize(none) || fai_v3_normalize(bad));
}

static void check_svd(const double a[9], double tol) {
    double u[9], s[3], v[9], m[9], vt[9], r[9], stretch[9];
    fai_m3_svd(a, u, s, v);
    check_rotation(u);
    check_rotation(v);
    assert_true(s[0] >= s[1] && s[1] >= fabs(s[2]));
    for (int i = 0; i < 9; i++) m[i] = u[i] * s[i % 3];
    fai_m3_transpose(v, vt);
    fai_m3_mul(m, vt, m);
    check_same(9, m, a, tol * fmax(s[0], 1e-300));
    fai_m3_polar(a, r, stretch);
    check_rotation(r);
    fai_m3_mul(r, stretch, m);
    check_same(9, m, a, tol * fmax(s[0], 1e-300));
    assert_true(stretch[1] == stretch[3] && stretch[2] == stretch[6] && stretch[5] == stretch[7]);
}

// Random, mirrored, of every rank, of every size, with close values, and graded so that squares would lose them.
static void singular_values(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        double a[9];
        random_matrix(seed, a);
        check_svd(a, 1e-14);
        for (int i = 0; i < 9; i++) a[i] = (double)(int)(3 * a[i]); // zeros and repeated rows
        check_svd(a, 1e-14);
        random_matrix(seed, a);
        for (int i = 0; i < 3; i++) a[3 * i + 2] = a[3 * i] - 2 * a[3 * i + 1];
        check_svd(a, 1e-14);
        for (int i = 0; i < 3; i++) a[3 * i + 1] = 3 * a[3 * i];
        check_svd(a, 1e-14);
        for (int i = 0; i < 9; i++) a[i] *= seed % 2 ? 1e200 : 1e-200;
        check_svd(a, 1e-14);
    }
    double zero[9] = {0}, one[9], mirror[9] = {-1, 0, 0, 0, 1, 0, 0, 0, 1};
    fai_m3_identity(one);
    check_svd(zero, 1e-14);
    check_svd(one, 1e-15);
    check_svd(mirror, 1e-15);
    double u[9], s[3], v[9], q[4], p[4], a[9];
    fai_m3_svd(mirror, u, s, v);
    CHECK_NEAR(s[2], -1, 1e-15);
    // known values over sixteen orders of magnitude: relative accuracy needs a graded matrix, columns scaled
    random_rotation(5, q);
    random_rotation(6, p);
    fai_q_to_m3(q, u);
    for (int i = 0; i < 9; i++) a[i] = u[i] * (i % 3 == 0 ? 1 : i % 3 == 1 ? 1e-8 : 1e-16);
    fai_m3_svd(a, u, s, v);
    CHECK_NEAR(s[0], 1, 1e-15);
    CHECK_NEAR(s[1] / 1e-8, 1, 1e-14);
    CHECK_NEAR(s[2] / 1e-16, 1, 1e-14);
}

// The polar rotation is the closest one: no small turn comes nearer, also for mirrored matrices.
static void polar_is_closest(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        double a[9], r[9], q[4], turn[9], near[9], best = 0;
        random_matrix(seed, a);
        fai_m3_polar(a, r, NULL);
        for (int i = 0; i < 9; i++) best += (a[i] - r[i]) * (a[i] - r[i]);
        for (uint64_t k = 0; k < 20; k++) {
            double axis[3], d = 0;
            for (uint64_t c = 0; c < 3; c++) axis[c] = 0.05 * fai_random_normal(seed, 100 + 3 * k + c);
            fai_q_exp(axis, q);
            fai_q_to_m3(q, turn);
            fai_m3_mul(turn, r, near);
            for (int i = 0; i < 9; i++) d += (a[i] - near[i]) * (a[i] - near[i]);
            assert_true(d >= best - 1e-12);
        }
    }
}

static void quaternions(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        double a[4], b[4], c[4], ma[9], mb[9], mc[9], m[9], v[3] = {0.3, -2, 1}, x[3], y[3], q[4];
        random_rotation(seed, a);
        random_rotation(seed + 1000, b);
        fai_q_mul(a, b, c);
        fai_q_to_m3(a, ma);
        fai_q_to_m3(b, mb);
        fai_q_to_m3(c, mc);
        check_rotation(ma);
        fai_m3_mul(ma, mb, m);
        check_same(9, m, mc, 1e-14);
        fai_q_rotate(a, v, x);
        fai_m3_mulv(ma, v, y);
        check_same(3, x, y, 1e-14);
        fai_q_from_m3(ma, q);
        CHECK_NEAR(fabs(fai_q_dot(q, a)), 1, 1e-14);
        assert_true(q[3] >= 0);
        // exp and log
        double r[3];
        fai_q_log(a, r);
        assert_true(fai_v3_norm(r) <= PI + 1e-15);
        fai_q_exp(r, q);
        CHECK_NEAR(fabs(fai_q_dot(q, a)), 1, 1e-14);
        fai_v3_scale(pow(10, -(double)(seed % 18)), r, r);
        fai_q_exp(r, q);
        fai_q_log(q, x);
        check_same(3, x, r, 1e-14 * fai_v3_norm(r));
        CHECK_NEAR(fai_q_dot(q, q), 1, 1e-15);
    }
    // about each axis by a quarter, and a half turn (all four branches of the matrix conversion)
    for (int axis = 0; axis < 3; axis++)
        for (int half = 0; half < 2; half++) {
            double r[3] = {0, 0, 0}, q[4], m[9], p[4], v[3] = {0, 0, 0}, out[3];
            r[axis] = half ? PI : PI / 2;
            v[(axis + 1) % 3] = 1;
            fai_q_exp(r, q);
            fai_q_rotate(q, v, out);
            CHECK_NEAR(half ? -out[(axis + 1) % 3] : out[(axis + 2) % 3], 1, 1e-15);
            fai_q_to_m3(q, m);
            fai_q_from_m3(m, p);
            CHECK_NEAR(fabs(fai_q_dot(p, q)), 1, 1e-15);
        }
    double none[4] = {0}, bad[4] = {1, NAN, 0, 0}, large[4] = {1e300, 0, 0, 1e300};
    assert_false(fai_q_normalize(none) || fai_q_normalize(bad));
    assert_true(fai_q_normalize(large));
    CHECK_NEAR(large[3], sqrt(0.5), 1e-15);
}

static void slerp(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        double a[4], b[4], mid[4], back[4], step[4], all[4], r[3], whole[3];
        random_rotation(seed, a);
        random_rotation(seed + 500, b);
        if (seed % 4 == 0)
            for (int k = 0; k < 4; k++) b[k] = a[k] + 1e-9 * b[k];
        fai_q_normalize(b);
        double t = fai_random_unit(seed, 77);
        fai_q_slerp(a, b, t, mid);
        CHECK_NEAR(fai_q_dot(mid, mid), 1, 1e-15);
        fai_q_conj(a, back);
        fai_q_mul(back, mid, step);
        fai_q_mul(back, b, all);
        fai_q_log(step, r);
        fai_q_log(all, whole);
        fai_v3_scale(t, whole, whole);
        check_same(3, r, whole, 1e-14);
        fai_q_slerp(a, b, 0, mid);
        CHECK_NEAR(fabs(fai_q_dot(mid, a)), 1, 1e-15);
        fai_q_slerp(a, b, 1, mid);
        CHECK_NEAR(fabs(fai_q_dot(mid, b)), 1, 1e-15);
    }
}

static void poses(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        FaPose a, b;
        random_rotation(seed, a.q);
        random_rotation(seed + 50, b.q);
        for (int k = 0; k < 3; k++) {
            a.p[k] = fai_random_normal(seed, (uint64_t)k);
            b.p[k] = fai_random_normal(seed, 3 + (uint64_t)k);
        }
        double v[3] = {1, 2, 3}, x[3], y[3];
        FaPose ab = fai_pose_mul(&a, &b), inverse = fai_pose_inverse(&ab), one = fai_pose_identity();
        fai_pose_apply(&b, v, x);
        fai_pose_apply(&a, x, x);
        fai_pose_apply(&ab, v, y);
        check_same(3, x, y, 1e-13);
        fai_pose_apply(&inverse, y, y);
        check_same(3, y, v, 1e-13);
        fai_pose_apply(&one, v, x);
        check_same(3, x, v, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algebra),     cmocka_unit_test(singular_values), cmocka_unit_test(polar_is_closest),
        cmocka_unit_test(quaternions), cmocka_unit_test(slerp),           cmocka_unit_test(poses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
