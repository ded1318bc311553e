// Sparse matrices against dense ones.
// labels: unit hash
#include "test.h"

#include "base/base.h"
#include "math/csr.h"

enum { ROWS = 23, COLS = 31, ENTRIES = 400 };

static void random_entries(FaTriplet *entry, double dense[ROWS][COLS]) {
    memset(dense, 0, ROWS * sizeof *dense);
    for (int i = 0; i < ENTRIES; i++) {
        entry[i].row = (int)(fai_random_u64(1, (uint64_t)i) % (ROWS - 2)) + (i % 2 ? 1 : 0);
        entry[i].col = (int)(fai_random_u64(2, (uint64_t)i) % COLS);
        entry[i].val = fai_random_normal(3, (uint64_t)i) * pow(10, i % 20 - 10);
        dense[entry[i].row][entry[i].col] += entry[i].val; // in the order given: the same bits
    }
}

static void from_triplets(void **state) {
    (void)state;
    FaTriplet entry[ENTRIES];
    double dense[ROWS][COLS];
    random_entries(entry, dense);
    FaCsr a;
    assert_int_equal(fai_csr_from_triplets(ROWS, COLS, ENTRIES, entry, &a, NULL), FA_OK);
    assert_int_equal(fai_csr_check(&a, NULL), FA_OK);
    assert_true(a.start[ROWS] < ENTRIES);
    int places = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++) {
            assert_true(fai_csr_at(&a, r, c) == dense[r][c]);
            places += dense[r][c] != 0;
        }
    assert_int_equal(places, a.start[ROWS]);
    assert_int_equal(a.start[ROWS - 1], a.start[ROWS]); // the last row is empty

    FaCsr t, back;
    assert_int_equal(fai_csr_transpose(&a, &t, NULL), FA_OK);
    assert_int_equal(fai_csr_check(&t, NULL), FA_OK);
    assert_int_equal(t.nrow, COLS);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++) assert_true(fai_csr_at(&t, c, r) == dense[r][c]);
    assert_int_equal(fai_csr_transpose(&t, &back, NULL), FA_OK);
    assert_memory_equal(back.start, a.start, (ROWS + 1) * sizeof(int));
    assert_memory_equal(back.val, a.val, (size_t)a.start[ROWS] * sizeof(double));
    fai_csr_free(&a);
    fai_csr_free(&t);
    fai_csr_free(&back);
}

static void zeros_are_kept(void **state) {
    (void)state;
    FaTriplet entry[] = {{0, 1, 2}, {0, 1, -2}, {1, 0, 0}};
    FaCsr a;
    assert_int_equal(fai_csr_from_triplets(2, 2, 3, entry, &a, NULL), FA_OK);
    assert_int_equal(a.start[2], 2);
    fai_csr_free(&a);
    assert_int_equal(fai_csr_from_triplets(0, 0, 0, NULL, &a, NULL), FA_OK);
    assert_int_equal(fai_csr_check(&a, NULL), FA_OK);
    fai_csr_mul(&a, NULL, NULL);
    fai_csr_free(&a);
}

static void refuses(void **state) {
    (void)state;
    int bad[4][2] = {{-1, 0}, {0, -1}, {2, 0}, {0, 3}};
    for (int k = 0; k < 4; k++) {
        FaTriplet entry[] = {{1, 2, 1}, {bad[k][0], bad[k][1], 1}};
        FaCsr a;
        FaError err = {0};
        assert_int_equal(fai_csr_from_triplets(2, 3, 2, entry, &a, &err), FA_E_ARG);
        assert_string_equal(err.place, "entry 1");
        assert_null(a.start);
    }
    int start[3] = {0, 2, 3}, col[3] = {0, 1, 1};
    double val[3] = {1, 2, 3};
    FaCsr a = {2, 2, start, col, val};
    assert_int_equal(fai_csr_check(&a, NULL), FA_OK);
    col[1] = 0;
    assert_int_equal(fai_csr_check(&a, NULL), FA_E_ARG);
    col[1] = 2;
    assert_int_equal(fai_csr_check(&a, NULL), FA_E_ARG);
    col[1] = 1;
    val[2] = NAN;
    assert_int_equal(fai_csr_check(&a, NULL), FA_E_NUMERIC);
    val[2] = 1;
    start[1] = 4;
    assert_int_equal(fai_csr_check(&a, NULL), FA_E_ARG);
}

// Products against the plain sum, the same for any number of threads; large enough for several chunks.
static void products(void **state) {
    (void)state;
    enum { N = 3000, PER_ROW = 7 };
    FaTriplet *entry = FA_NEW(N * PER_ROW, FaTriplet);
    double *x = FA_NEW(3 * N, double), *y = FA_NEW(3 * N, double), *z = FA_NEW(3 * N, double),
           *truth = FA_NEW(3 * N, double);
    for (int i = 0; i < 3 * N; i++) x[i] = fai_random_normal(5, (uint64_t)i);
    for (int i = 0; i < N * PER_ROW; i++) {
        entry[i] = (FaTriplet){i % N, (int)(fai_random_u64(4, (uint64_t)i) % N), fai_random_normal(6, (uint64_t)i)};
        for (int k = 0; k < 3; k++) truth[3 * entry[i].row + k] += entry[i].val * x[3 * entry[i].col + k];
    }
    FaCsr a;
    assert_int_equal(fai_csr_from_triplets(N, N, N * PER_ROW, entry, &a, NULL), FA_OK);
    int threads[] = {1, 2, 3, 8};
    for (int t = 0; t < FA_COUNT(threads); t++) {
        fa_threads_set(threads[t]);
        fai_csr_mul3(&a, x, t ? z : y);
        if (t) assert_memory_equal(y, z, 3 * N * sizeof *y);
    }
    fa_threads_set(0);
    double worst = 0;
    for (int i = 0; i < 3 * N; i++) worst = fmax(worst, fabs(y[i] - truth[i]));
    CHECK_NEAR(worst, 0, 1e-13);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < N; i++) z[i] = x[3 * i + k];
        fai_csr_mul(&a, z, truth);
        for (int i = 0; i < N; i++) assert_true(truth[i] == y[3 * i + k]);
    }
    fai_csr_free(&a);
    fa_free(entry);
    fa_free(x);
    fa_free(y);
    fa_free(z);
    fa_free(truth);
}

static void survives_no_memory(void **state) {
    (void)state;
    FaTriplet entry[] = {{0, 1, 2}, {1, 0, -2}};
    for (int k = 1;; k++) {
        assert_true(k < 20);
        long before = test_alloc_balance();
        test_fail_alloc(k);
        FaCsr a, t = {0};
        FaCode code = fai_csr_from_triplets(2, 2, 2, entry, &a, NULL);
        if (code == FA_OK) code = fai_csr_transpose(&a, &t, NULL);
        bool delivered = test_alloc_failed();
        assert_int_equal(code, delivered ? FA_E_MEMORY : FA_OK);
        fai_csr_free(&a);
        fai_csr_free(&t);
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), before);
        if (!delivered) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_triplets), cmocka_unit_test(zeros_are_kept),     cmocka_unit_test(refuses),
        cmocka_unit_test(products),      cmocka_unit_test(survives_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
