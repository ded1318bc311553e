// The warp through pairs of points: exact, affine where the pairs are, sensible where they decide too little.
#include "test.h"

#include "base/base.h"
#include "math/mat3.h"
#include "math/rbf.h"

enum { N = 120 };

static void cloud(int n, uint64_t seed, double *x) { // a face's size, off the origin
    for (int i = 0; i < 3 * n; i++) x[i] = 0.1 * fai_random_normal(seed, (uint64_t)i) + (i % 3 == 1 ? 1.7 : 0);
}

static void affine(const double m[9], const double t[3], const double x[3], double y[3]) {
    double r[3];
    fai_m3_mulv(m, x, r);
    fai_v3_add(r, t, y);
}

static double miss(const double a[3], const double b[3]) {
    double d[3];
    fai_v3_sub(a, b, d);
    return fai_v3_norm(d);
}

static void exact_at_the_points(void **state) {
    (void)state;
    double *x = FA_NEW(6 * N, double), *y = x + 3 * N;
    cloud(N, 1, x);
    for (int i = 0; i < 3 * N; i++) y[i] = 1.3 * x[i] + 0.02 * fai_random_normal(2, (uint64_t)i);
    for (int kernel = 0; kernel < 2; kernel++) {
        FaError err = {0};
        FaRbf *r;
        CHECK_OK(fai_rbf_new(N, x, y, &(FaRbfOptions){.kernel = (FaRbfKernel)kernel}, &r, &err), &err);
        double worst = 0;
        for (int i = 0; i < N; i++) {
            double at[3];
            fai_rbf_point(r, x + 3 * i, at);
            worst = fmax(worst, miss(at, y + 3 * i));
        }
        print_message("%s: worst miss %.1e m\n", kernel ? "r^3" : "r", worst);
        CHECK_NEAR(worst, 0, 1e-9 * 0.1);
        CHECK_NEAR(fai_rbf_report(r).miss, worst, 1e-15);
        assert_int_equal(fai_rbf_report(r).rank, 3);
        assert_int_equal(fai_rbf_report(r).used, N);
        fai_rbf_free(r);
    }
    fa_free(x);
}

static void affine_maps_are_reproduced(void **state) {
    (void)state;
    double x[3 * 40], y[3 * 40];
    const double m[9] = {1.2, 0.3, -0.1, -0.2, 0.7, 0.4, 0.05, -0.3, 1.5}, t[3] = {0.3, -2, 0.1};
    static const int counts[] = {4, 5, 40};
    for (int c = 0; c < 3; c++)
        for (int kernel = 0; kernel < 2; kernel++)
            for (int smooth = 0; smooth < 2; smooth++) {
                int n = counts[c];
                cloud(n, 7, x);
                for (int i = 0; i < n; i++) affine(m, t, x + 3 * i, y + 3 * i);
                FaError err = {0};
                FaRbf *r;
                FaRbfOptions o = {.kernel = (FaRbfKernel)kernel,
                                  .lambda = smooth ? 0.1 : 0}; // an affine map bends nothing
                CHECK_OK(fai_rbf_new(n, x, y, &o, &r, &err), &err);
                for (int k = 0; k < 50; k++) {
                    double p[3], want[3], got[3];
                    for (int q = 0; q < 3; q++)
                        p[q] = 0.5 * fai_random_normal(9, (uint64_t)(3 * k + q)) + (q == 1 ? 1.7 : 0);
                    affine(m, t, p, want);
                    fai_rbf_point(r, p, got);
                    CHECK_NEAR(miss(got, want), 0, 1e-9);
                }
                fai_rbf_free(r);
            }
}

// The thin plate is the smoothest of all maps through the points: between them it stays near what a smooth map does.
static void follows_a_smooth_map_between_points(void **state) {
    (void)state;
    double *x = FA_NEW(6 * 400, double), *y = x + 3 * 400, error[2][2];
    for (int kernel = 0; kernel < 2; kernel++)
        for (int dense = 0; dense < 2; dense++) {
            int n = dense ? 400 : 50;
            for (int i = 0; i < 3 * n; i++) x[i] = fai_random_unit(5, (uint64_t)i) - 0.5;
            for (int i = 0; i < n; i++)
                for (int k = 0; k < 3; k++)
                    y[3 * i + k] =
                        x[3 * i + k] + 0.1 * sin(4 * x[3 * i + (k + 1) % 3]) * cos(3 * x[3 * i + (k + 2) % 3]);
            FaError err = {0};
            FaRbf *r;
            CHECK_OK(fai_rbf_new(n, x, y, &(FaRbfOptions){.kernel = (FaRbfKernel)kernel}, &r, &err), &err);
            double sum = 0;
            for (int i = 0; i < 500; i++) {
                double p[3], want[3], got[3];
                for (int k = 0; k < 3; k++) p[k] = 0.7 * (fai_random_unit(6, (uint64_t)(3 * i + k)) - 0.5);
                for (int k = 0; k < 3; k++) want[k] = p[k] + 0.1 * sin(4 * p[(k + 1) % 3]) * cos(3 * p[(k + 2) % 3]);
                fai_rbf_point(r, p, got);
                sum += miss(got, want);
            }
            error[kernel][dense] = sum / 500;
            fai_rbf_free(r);
        }
    print_message("mean error between points, 50 and 400: r %.1e %.1e, r^3 %.1e %.1e\n", error[0][0], error[0][1],
                  error[1][0], error[1][1]);
    for (int k = 0; k < 2; k++) assert_true(error[k][1] < 0.35 * error[k][0] && error[k][1] < 0.01);
    assert_true(error[1][1] < error[0][1]);
    fa_free(x);
}

static void smoothing_averages_noise(void **state) {
    (void)state;
    double *x = FA_NEW(6 * N, double), *y = x + 3 * N, off[3];
    cloud(N, 3, x);
    for (int i = 0; i < 3 * N; i++) y[i] = x[i] + 0.002 * fai_random_normal(4, (uint64_t)i);
    static const double lambda[] = {0, 1, 1e6};
    for (int c = 0; c < 3; c++) {
        FaError err = {0};
        FaRbf *r;
        CHECK_OK(fai_rbf_new(N, x, y, &(FaRbfOptions){.lambda = lambda[c]}, &r, &err), &err);
        double sum = 0;
        for (int i = 0; i < N; i++) {
            double at[3];
            fai_rbf_point(r, x + 3 * i, at);
            sum += miss(at, x + 3 * i);
        }
        off[c] = sum / N;
        fai_rbf_free(r);
    }
    print_message("noise left: %.2f mm exact, %.2f and %.2f mm smoothed\n", 1e3 * off[0], 1e3 * off[1], 1e3 * off[2]);
    assert_true(off[1] < 0.7 * off[0] && off[2] < 0.35 * off[0]);
    fa_free(x);
}

// Coplanar, collinear, two, one: the rest of the map is the similarity that the points suggest.
static void points_that_decide_too_little(void **state) {
    (void)state;
    const double q[4] = {0.1, -0.3, 0.2, 0.9};
    double unit[4], rot[9], x[3 * 30], y[3 * 30];
    memcpy(unit, q, sizeof q);
    fai_q_normalize(unit);
    fai_q_to_m3(unit, rot);
    for (int rank = 0; rank < 3; rank++) {
        int n = rank == 0 ? 1 : 30;
        for (int i = 0; i < n; i++) {
            double u = fai_random_normal(8, (uint64_t)(2 * i)),
                   v = rank == 2 ? fai_random_normal(8, (uint64_t)(2 * i + 1)) : 0;
            double p[3] = {0.1 * u + 0.03 * v, 0.05 * u - 0.08 * v + 1, 0.02 * u + 0.07 * v};
            memcpy(x + 3 * i, p, sizeof p);
            double s[3];
            fai_v3_scale(2, p, s);
            fai_m3_mulv(rot, s, y + 3 * i);
        }
        FaError err = {0};
        FaRbf *r;
        CHECK_OK(fai_rbf_new(n, x, y, NULL, &r, &err), &err);
        assert_int_equal(fai_rbf_report(r).rank, rank);
        CHECK_NEAR(fai_rbf_report(r).miss, 0, 1e-10);
        double p[3] = {0.2, 1.1, 0.3}, got[3], want[3], s[3];
        fai_rbf_point(r, p, got);
        fai_v3_scale(2, p, s);
        fai_m3_mulv(rot, s, want);
        for (int k = 0; k < 3; k++) assert_true(isfinite(got[k]));
        if (rank == 2) CHECK_NEAR(miss(got, want), 0, 1e-9); // off the plane too
        fai_rbf_free(r);
    }
}

static void doubles_and_gaps(void **state) {
    (void)state;
    double x[3 * 24], y[3 * 24];
    cloud(20, 12, x);
    for (int i = 0; i < 60; i++) y[i] = x[i] + 0.01;
    memcpy(x + 60, x, 6 * sizeof *x); // two doubles, one of them with another target
    memcpy(y + 60, y, 6 * sizeof *y);
    y[63] += 0.004;
    cloud(2, 13, x + 66);
    cloud(2, 14, y + 66);
    x[66] = NAN;
    y[70] = INFINITY;
    FaError err = {0};
    FaRbf *r;
    CHECK_OK(fai_rbf_new(24, x, y, NULL, &r, &err), &err);
    FaRbfReport rep = fai_rbf_report(r);
    assert_int_equal(rep.used, 20);
    assert_int_equal(rep.missing, 2);
    assert_int_equal(rep.merged, 2);
    CHECK_NEAR(rep.conflict, 0.004, 1e-12);
    double got[3];
    fai_rbf_point(r, x + 3, got);
    CHECK_NEAR(got[0], y[3] + 0.002, 1e-10); // in the middle
    fai_rbf_free(r);

    for (int i = 0; i < 72; i++) x[i] = NAN;
    assert_int_equal(fai_rbf_new(24, x, y, NULL, &r, &err), FA_E_ARG);
    assert_null(r);
    assert_true(strlen(err.remedy) > 5);
    assert_int_equal(fai_rbf_new(24, x, y, &(FaRbfOptions){.lambda = NAN}, &r, NULL), FA_E_ARG);
    assert_int_equal(fai_rbf_new(FA_RBF_MAX + 1, x, y, NULL, &r, NULL), FA_E_LIMIT);
    fai_rbf_free(NULL);
}

static void many_points_are_the_same_bits_for_any_thread_count(void **state) {
    (void)state;
    enum { MANY = 5003 };
    double x[3 * 80], y[3 * 80];
    cloud(80, 1, x);
    for (int i = 0; i < 240; i++) y[i] = 0.9 * x[i] + 0.01 * fai_random_normal(2, (uint64_t)i);
    float *p = FA_NEW(6 * MANY, float), *a = p + 3 * MANY;
    for (int i = 0; i < 3 * MANY; i++) p[i] = (float)fai_random_normal(3, (uint64_t)i);
    uint64_t hash[3];
    static const int threads[] = {1, 2, 8};
    for (int t = 0; t < 3; t++) {
        fa_threads_set(threads[t]);
        FaError err = {0};
        FaRbf *r;
        CHECK_OK(fai_rbf_new(80, x, y, NULL, &r, &err), &err);
        double at = fai_seconds();
        fai_rbf_points(r, MANY, p, a);
        print_message("%d threads: %.2f ms for %d points, 80 centres\n", threads[t], 1e3 * (fai_seconds() - at), MANY);
        hash[t] = fai_hash64(a, 3 * MANY * sizeof *a, 0);
        for (int i = 0; i < MANY; i += 371) {
            double one[3] = {(double)p[3 * i], (double)p[3 * i + 1], (double)p[3 * i + 2]};
            fai_rbf_point(r, one, one);
            for (int k = 0; k < 3; k++) assert_true((float)one[k] == a[3 * i + k]);
        }
        fai_rbf_free(r);
    }
    fa_threads_set(0);
    assert_true(hash[0] == hash[1] && hash[0] == hash[2]);
    fa_free(p);
}

static void memory_failures(void **state) {
    (void)state;
    double x[3 * 30], y[3 * 30];
    cloud(30, 1, x);
    cloud(30, 2, y);
    for (int k = 1;; k++) {
        FaError err = {0};
        FaRbf *r;
        test_fail_alloc(k);
        FaCode rc = fai_rbf_new(30, x, y, NULL, &r, &err);
        bool hit = test_alloc_failed();
        test_fail_alloc(0);
        fai_rbf_free(r);
        assert_int_equal(rc, hit ? FA_E_MEMORY : FA_OK);
        if (!hit) break;
    }
    assert_int_equal(test_alloc_balance(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_failures),
        cmocka_unit_test(exact_at_the_points),
        cmocka_unit_test(affine_maps_are_reproduced),
        cmocka_unit_test(follows_a_smooth_map_between_points),
        cmocka_unit_test(smoothing_averages_noise),
        cmocka_unit_test(points_that_decide_too_little),
        cmocka_unit_test(doubles_and_gaps),
        cmocka_unit_test(many_points_are_the_same_bits_for_any_thread_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
