// Eigenvectors of symmetric matrices, Gram matrices, mixed rows.
#include "test.h"

#include "base/base.h"
#include "math/dense.h"

static double *random_symmetric(int n, uint64_t seed) {
    double *a = FA_NEW((size_t)n * n, double);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            a[(size_t)i * n + j] = a[(size_t)j * n + i] = fai_random_normal(seed, (uint64_t)i * 4096 + (uint64_t)j);
    return a;
}

// |A v - w v| and |v v' - 1| relative to the largest entry, checked for all of them.
static void check_eigen(int n, const double *a, double tol) {
    size_t size = (size_t)n * n;
    double *copy = FA_NEW(size, double), *w = FA_NEW(n, double), *v = FA_NEW(size, double);
    double largest = 0;
    for (size_t i = 0; i < size; i++) largest = fmax(largest, fabs(a[i]));
    // the upper half must not be read
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) copy[(size_t)i * n + j] = j <= i ? a[(size_t)i * n + j] : NAN;
    FaError err = {0};
    assert_int_equal(fai_eigen_symmetric(n, copy, w, v, &err), FA_OK);
    double residual = 0, orthogonality = 0;
    for (int i = 0; i < n; i++) {
        const double *vi = v + (size_t)i * n;
        if (i > 0) assert_true(w[i] <= w[i - 1]);
        double peak = 0;
        for (int r = 0; r < n; r++) {
            double s = 0;
            for (int c = 0; c < n; c++) s += a[(size_t)r * n + c] * vi[c];
            residual = fmax(residual, fabs(s - w[i] * vi[r]));
            if (fabs(vi[r]) > fabs(peak)) peak = vi[r];
        }
        assert_true(peak > 0);
        for (int j = 0; j <= i; j++) {
            double s = 0;
            for (int c = 0; c < n; c++) s += vi[c] * v[(size_t)j * n + c];
            orthogonality = fmax(orthogonality, fabs(s - (i == j)));
        }
    }
    CHECK_NEAR(residual, 0, tol * largest);
    CHECK_NEAR(orthogonality, 0, 1e-12);
    fa_free(copy);
    fa_free(w);
    fa_free(v);
}

static void random_matrices(void **state) {
    (void)state;
    int sizes[] = {1, 2, 3, 4, 5, 9, 17, 64, 150, 257};
    for (int k = 0; k < FA_COUNT(sizes); k++) {
        double *a = random_symmetric(sizes[k], (uint64_t)k + 1);
        check_eigen(sizes[k], a, 1e-12);
        fa_free(a);
    }
}

// Known eigenvalues: the second-difference matrix has 2 - 2 cos(k pi / (n + 1)).
static void known_values(void **state) {
    (void)state;
    enum { N = 40 };
    double a[N * N] = {0}, w[N], v[N * N];
    for (int i = 0; i < N; i++) {
        a[i * N + i] = 2;
        if (i > 0) a[i * N + i - 1] = -1;
    }
    assert_int_equal(fai_eigen_symmetric(N, a, w, v, NULL), FA_OK);
    for (int i = 0; i < N; i++) CHECK_NEAR(w[i], 2 - 2 * cos((N - i) * acos(-1) / (N + 1)), 1e-14);
}

// Zero, identity, rank one, equal eigenvalues, entries near the ends of the exponent range, and graded ones.
static void hard_matrices(void **state) {
    (void)state;
    enum { N = 30 };
    double a[N * N];
    memset(a, 0, sizeof a);
    check_eigen(N, a, 1);
    for (int i = 0; i < N; i++) a[i * N + i] = 1;
    check_eigen(N, a, 1e-14);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i * N + j] = (i + 1.0) * (j + 1.0);
    check_eigen(N, a, 1e-12);
    double powers[] = {1e-300, 1e-160, 1e160, 1e300};
    for (int k = 0; k < FA_COUNT(powers); k++) {
        double *r = random_symmetric(N, 77);
        for (int i = 0; i < N * N; i++) a[i] = r[i] * powers[k];
        check_eigen(N, a, 1e-12);
        fa_free(r);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i * N + j] = pow(10, -(i + j) / 2.0);
    check_eigen(N, a, 1e-12);
}

static void refuses_nan(void **state) {
    (void)state;
    double a[4] = {1, 0, NAN, 1}, w[2], v[4];
    FaError err = {0};
    assert_int_equal(fai_eigen_symmetric(2, a, w, v, &err), FA_E_NUMERIC);
    assert_non_null(strstr(err.place, "row 1, column 0"));
}

static void large_is_quick(void **state) {
    (void)state;
    enum { N = 600 };
    double *a = random_symmetric(N, 5), *w = FA_NEW(N, double), *v = FA_NEW((size_t)N * N, double);
    double trace = 0, sum = 0, start = fai_seconds();
    for (int i = 0; i < N; i++) trace += a[(size_t)i * N + i];
    assert_int_equal(fai_eigen_symmetric(N, a, w, v, NULL), FA_OK);
    print_message("n = %d: %.2f s\n", N, fai_seconds() - start);
    for (int i = 0; i < N; i++) sum += w[i];
    CHECK_NEAR(sum, trace, 1e-9);
    fa_free(a);
    fa_free(w);
    fa_free(v);
}

// A low-rank animation: the Gram matrix against the plain sum, its modes rebuild the frames, the same for any threads.
static void principal_components(void **state) {
    (void)state;
    enum { N = 37, M = 5003, RANK = 5 };
    float *rows = FA_NEW((size_t)N * M, float), *mode = FA_NEW((size_t)RANK * M, float),
          *back = FA_NEW((size_t)N * M, float);
    double gram[N * N], twin[N * N], w[N], v[N * N], coef[RANK * N], again[N * RANK];
    for (int i = 0; i < N; i++)
        for (int t = 0; t < M; t++) {
            double s = 0;
            for (int k = 0; k < RANK; k++)
                s += sin(0.3 * (k + 1) * i + k) * fai_random_normal(9, (uint64_t)k * M + (uint64_t)t) / (k + 1);
            rows[i * M + t] = (float)s;
        }
    fa_threads_set(1);
    fai_gram(N, M, rows, gram);
    fa_threads_set(3);
    fai_gram(N, M, rows, twin);
    assert_memory_equal(gram, twin, sizeof gram);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int t = 0; t < M; t++) s += (double)rows[i * M + t] * (double)rows[j * M + t];
            CHECK_NEAR(gram[i * N + j], s, 1e-9);
        }
    assert_int_equal(fai_eigen_symmetric(N, twin, w, v, NULL), FA_OK);
    assert_true(w[RANK - 1] > 1 && w[RANK] < 1e-6 * w[0]);
    for (int k = 0; k < RANK; k++)
        for (int i = 0; i < N; i++) {
            coef[k * N + i] = v[k * N + i] / sqrt(w[k]);
            again[i * RANK + k] = v[k * N + i] * sqrt(w[k]);
        }
    fai_mix_rows(RANK, N, M, coef, rows, mode);
    fai_mix_rows(N, RANK, M, again, mode, back);
    double worst = 0;
    for (int i = 0; i < N * M; i++) worst = fmax(worst, fabs((double)back[i] - (double)rows[i]));
    CHECK_NEAR(worst, 0, 2e-6);
    fa_threads_set(0);
    fa_free(rows);
    fa_free(mode);
    fa_free(back);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_matrices), cmocka_unit_test(known_values),   cmocka_unit_test(hard_matrices),
        cmocka_unit_test(refuses_nan),     cmocka_unit_test(large_is_quick), cmocka_unit_test(principal_components),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
