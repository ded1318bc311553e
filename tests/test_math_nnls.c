// Bounded quadratic programs: optimal against two independent references, whatever the matrix; bounded work; real time.
#include "test.h"

#include "base/base.h"
#include "math/nnls.h"

enum { MAX = 200 };

static double rnd(uint64_t seed, int i) { return fai_random_normal(seed, (uint64_t)i); }

// G = M'M and f = M'b of a random m x n problem; columns `twin[k]` repeat an earlier one, `zero` ones are 0.
static void make(int m, int n, uint64_t seed, int twins, int zeros, double *g, double *f) {
    double *a = FA_NEW((size_t)m * (size_t)n, double), *b = FA_NEW(m, double);
    for (int i = 0; i < m * n; i++) a[i] = rnd(seed, i);
    for (int i = 0; i < m; i++) b[i] = rnd(seed + 1, i);
    // shapes differ in size by orders of magnitude
    for (int j = 0; j < n; j++) {
        double s = pow(10, 2 * fai_random_unit(seed + 2, (uint64_t)j) - 1);
        for (int i = 0; i < m; i++) a[i * n + j] *= s;
    }
    for (int t = 0; t < twins; t++)
        for (int i = 0; i < m; i++) a[i * n + (n - 1 - t)] = a[i * n + t];
    for (int t = 0; t < zeros; t++)
        for (int i = 0; i < m; i++) a[i * n + n / 2 + t] = 0;
    for (int j = 0; j < n; j++) {
        f[j] = 0;
        for (int i = 0; i < m; i++) f[j] += a[i * n + j] * b[i];
        for (int k = 0; k < n; k++) {
            g[j * n + k] = 0;
            for (int i = 0; i < m; i++) g[j * n + k] += a[i * n + j] * a[i * n + k];
        }
    }
    fa_free(a);
    fa_free(b);
}

// Largest violation of the conditions of optimality, relative, in long double and from the definition.
static double kkt(const FaNnlsProblem *q, const double *x) {
    long double worst = 0, size = 0;
    for (int j = 0; j < q->n; j++) {
        double lo = q->lo ? q->lo[j] : 0, hi = q->hi ? q->hi[j] : INFINITY;
        long double gx = 0, c = (long double)q->f[j] - (lo >= 0 ? q->l1 : 0);
        for (int k = 0; k < q->n; k++) gx += (long double)q->g[j * q->n + k] * x[k];
        long double s = q->g[j * q->n + j] > 0 ? 1 / sqrtl(q->g[j * q->n + j]) : 1, w = (gx - c) * s;
        assert_true(x[j] >= lo && x[j] <= hi);
        if (lo == hi)
            w = 0;
        else if (x[j] == lo)
            w = w < 0 ? -w : 0;
        else if (x[j] == hi)
            w = w > 0 ? w : 0;
        worst = fmaxl(worst, fabsl(w));
        size = fmaxl(size, fmaxl(fabsl(c), fabsl(gx)) * s);
    }
    return (double)(size > 0 ? worst / size : worst);
}

static double value(const FaNnlsProblem *q, const double *x) {
    double v = 0;
    for (int j = 0; j < q->n; j++) {
        double gx = 0;
        for (int k = 0; k < q->n; k++) gx += q->g[j * q->n + k] * x[k];
        v += x[j] * (0.5 * gx - q->f[j] + (!q->lo || q->lo[j] >= 0 ? q->l1 : 0));
    }
    return v;
}

// Reference 1: every subset of variables, solved by Gauss elimination; the best that is feasible.
static double exhaustive(const FaNnlsProblem *q) {
    int n = q->n;
    double best = 0, x[12], a[12][13];
    for (int set = 1; set < 1 << n; set++) {
        int idx[12], p = 0;
        for (int j = 0; j < n; j++)
            if (set >> j & 1) idx[p++] = j;
        for (int i = 0; i < p; i++) {
            for (int k = 0; k < p; k++) a[i][k] = q->g[idx[i] * n + idx[k]];
            a[i][p] = q->f[idx[i]] - q->l1;
        }
        bool ok = true;
        for (int c = 0; c < p && ok; c++) {
            int piv = c;
            for (int r = c; r < p; r++) piv = fabs(a[r][c]) > fabs(a[piv][c]) ? r : piv;
            ok = fabs(a[piv][c]) > 1e-10;
            for (int k = 0; k <= p && ok; k++) {
                double t = a[c][k];
                a[c][k] = a[piv][k];
                a[piv][k] = t;
            }
            for (int r = 0; r < p && ok; r++) {
                double s = r == c ? 0 : a[r][c] / a[c][c];
                for (int k = c; k <= p; k++) a[r][k] -= s * a[c][k];
            }
        }
        memset(x, 0, sizeof x);
        for (int i = 0; i < p && ok; i++) {
            x[idx[i]] = a[i][p] / a[i][i];
            ok = x[idx[i]] >= 0;
        }
        if (ok) best = fmin(best, value(q, x));
    }
    return best;
}

// Reference 2: projected coordinate descent, for ever.
static void coordinate_descent(const FaNnlsProblem *q, double *x) {
    for (int j = 0; j < q->n; j++) x[j] = fmin(fmax(0, q->lo ? q->lo[j] : 0), q->hi ? q->hi[j] : INFINITY);
    for (int sweep = 0; sweep < 20000; sweep++) {
        double moved = 0;
        for (int j = 0; j < q->n; j++) {
            double lo = q->lo ? q->lo[j] : 0, hi = q->hi ? q->hi[j] : INFINITY;
            double r = q->f[j] - (lo >= 0 ? q->l1 : 0), d = q->g[j * q->n + j];
            for (int k = 0; k < q->n; k++) r -= q->g[j * q->n + k] * x[k];
            double to = d > 0 ? fmin(fmax(x[j] + r / d, lo), hi) : x[j];
            moved = fmax(moved, fabs(to - x[j]) * sqrt(d));
            x[j] = to;
        }
        if (moved < 1e-15) break;
    }
}

typedef struct Fixture {
    FaNnls *work;
    double *g, *f, *x, *y, *lo, *hi;
} Fixture;

static Fixture open_fixture(void) {
    Fixture t = {0};
    FaError err = {0};
    CHECK_OK(fai_nnls_new(MAX, &t.work, &err), &err);
    t.g = FA_NEW(MAX * MAX, double);
    t.f = FA_NEW(5 * MAX, double);
    t.x = t.f + MAX, t.y = t.f + 2 * MAX, t.lo = t.f + 3 * MAX, t.hi = t.f + 4 * MAX;
    return t;
}

static void close_fixture(Fixture *t) {
    fai_nnls_free(t->work);
    fa_free(t->g);
    fa_free(t->f);
}

static void equals_every_subset_tried(void **state) {
    (void)state;
    Fixture t = open_fixture();
    int at_bound = 0, inside = 0;
    for (int run = 0; run < 60; run++) {
        int n = 1 + run % 9, m = run % 3 == 0 ? n / 2 + 1 : n + 3; // some have fewer equations than unknowns
        make(m, n, 100 + (uint64_t)run, run % 4 == 1 && n > 3 ? 1 : 0, run % 5 == 2 && n > 4 ? 1 : 0, t.g, t.f);
        FaNnlsProblem q = {.n = n, .g = t.g, .f = t.f, .l1 = run % 2 ? 0.3 : 0};
        memset(t.x, 0, MAX * sizeof(double));
        FaNnlsResult r = fai_nnls_solve(t.work, &q, t.x);
        assert_int_equal(r.status, FA_NNLS_OK);
        double best = exhaustive(&q);
        CHECK_NEAR(r.value, best, 1e-9 * (fabs(best) + 1e-3));
        CHECK_NEAR(r.value, value(&q, t.x), 1e-10 * (fabs(best) + 1e-3));
        CHECK_NEAR(kkt(&q, t.x), 0, 1e-9);
        inside += r.inside;
        at_bound += n - r.inside;
    }
    assert_true(inside > 50 && at_bound > 50); // the constraints mattered
    close_fixture(&t);
}

static void optimal_with_any_bounds_and_equals_coordinate_descent(void **state) {
    (void)state;
    Fixture t = open_fixture();
    int free_negative = 0, at_upper = 0;
    for (int run = 0; run < 40; run++) {
        int n = 5 + 3 * (run % 16);
        make(3 * n, n, 500 + (uint64_t)run, 0, 0, t.g, t.f);
        for (int j = 0; j < n; j++) {
            double u = fai_random_unit(900 + (uint64_t)run, (uint64_t)j), w = 0.2 / sqrt(t.g[j * n + j]);
            t.lo[j] = u < 0.3 ? -INFINITY : u < 0.4 ? -w : u < 0.5 ? 0.5 * w : 0;
            t.hi[j] = u > 0.25 && u < 0.7 ? w : u > 0.95 ? 0 : INFINITY;
        }
        FaNnlsProblem q = {.n = n, .g = t.g, .f = t.f, .l1 = 0.1 * (run % 3), .lo = t.lo, .hi = t.hi};
        for (int j = 0; j < n; j++) t.x[j] = run % 2 ? 10 * rnd(3, j) : 0; // an infeasible start is fine
        if (run % 7 == 0) t.x[0] = NAN;
        FaNnlsResult r = fai_nnls_solve(t.work, &q, t.x);
        assert_int_equal(r.status, FA_NNLS_OK);
        CHECK_NEAR(kkt(&q, t.x), 0, 1e-9);
        coordinate_descent(&q, t.y);
        for (int j = 0; j < n; j++) {
            CHECK_NEAR(t.x[j] * sqrt(t.g[j * n + j]), t.y[j] * sqrt(t.g[j * n + j]), 1e-8);
            free_negative += t.x[j] < 0;
            at_upper += t.x[j] == t.hi[j];
        }
    }
    assert_true(free_negative > 20 && at_upper > 20);
    close_fixture(&t);
}

static void degenerate_problems_end(void **state) {
    (void)state;
    Fixture t = open_fixture();
    int most = -1000;
    double worst = 0;
    for (int run = 0; run < 120; run++) {
        int n = 20 + run % 60, kind = run % 4;
        // many twins, zero columns, rank far below n; a solution that sits on many bounds at once (f = G x for a sparse
        // x)
        make(kind == 1 ? 10 : n + 5, n, 2000 + (uint64_t)run, kind == 0 ? n / 3 : 0, kind == 2 ? 5 : 0, t.g, t.f);
        if (kind == 3)
            for (int j = 0; j < n; j++) {
                t.f[j] = 0;
                for (int k = 0; k < n; k += 4) t.f[j] += t.g[j * n + k];
            }
        FaNnlsProblem q = {.n = n, .g = t.g, .f = t.f, .l1 = run % 8 == 5 ? 0.5 : 0};
        for (int j = 0; j < n; j++) t.x[j] = run % 3 ? fabs(rnd(4, j)) : 0;
        FaNnlsResult r = fai_nnls_solve(t.work, &q, t.x);
        if (r.status != FA_NNLS_OK) print_error("run %d: %s, kkt %g\n", run, fai_nnls_text(r.status), r.kkt);
        assert_int_equal(r.status, FA_NNLS_OK);
        worst = fmax(worst, kkt(&q, t.x));
        CHECK_NEAR(kkt(&q, t.x), 0, 1e-9);
        most = FA_MAX(most, r.steps - 6 * n);
    }
    print_message("degenerate: worst kkt %.1e\n", worst);
    assert_true(most < 0); // far from the bound on the work
    close_fixture(&t);
}

// Columns within 1e-6 of each other: conditioning 1e12, still optimal in the sense of the gradient.
static void nearly_dependent_columns(void **state) {
    (void)state;
    Fixture t = open_fixture();
    enum { M = 40, N = 24 };
    for (int run = 0; run < 20; run++) {
        double a[M][N], b[M];
        double off = pow(10, -3 - run % 5);
        for (int i = 0; i < M; i++) {
            b[i] = rnd(70 + (uint64_t)run, i);
            for (int j = 0; j < N; j++)
                a[i][j] = rnd(7, i * N + j / 2) + (j % 2 ? off * rnd(8 + (uint64_t)run, i * N + j) : 0);
        }
        for (int j = 0; j < N; j++) {
            t.f[j] = 0;
            for (int i = 0; i < M; i++) t.f[j] += a[i][j] * b[i];
            for (int k = 0; k < N; k++) {
                t.g[j * N + k] = 0;
                for (int i = 0; i < M; i++) t.g[j * N + k] += a[i][j] * a[i][k];
            }
        }
        FaNnlsProblem q = {.n = N, .g = t.g, .f = t.f};
        memset(t.x, 0, MAX * sizeof(double));
        FaNnlsResult r = fai_nnls_solve(t.work, &q, t.x);
        if (r.status != FA_NNLS_OK)
            print_message("off %g: %s, kkt %.1e, steps %d\n", off, fai_nnls_text(r.status), r.kkt, r.steps);
        if (off > 1e-7) assert_int_equal(r.status, FA_NNLS_OK);
        assert_true(r.kkt < 1e-5);
    }
    close_fixture(&t);
}

static void impossible_input_is_named(void **state) {
    (void)state;
    Fixture t = open_fixture();
    int n = 6;
    make(10, n, 5, 0, 0, t.g, t.f);
    double keep[6] = {1, 2, 3, 4, 5, 6};
    FaNnlsProblem q = {.n = n, .g = t.g, .f = t.f, .lo = t.lo, .hi = t.hi};
    for (int j = 0; j < n; j++) t.lo[j] = 0, t.hi[j] = 10;
    memcpy(t.x, keep, sizeof keep);
    t.lo[2] = 11;
    FaNnlsResult r = fai_nnls_solve(t.work, &q, t.x);
    assert_int_equal(r.status, FA_NNLS_BAD_BOUNDS);
    assert_int_equal(r.at, 2);
    t.lo[2] = NAN;
    assert_int_equal(fai_nnls_solve(t.work, &q, t.x).status, FA_NNLS_BAD_BOUNDS);
    t.lo[2] = 0;
    t.f[4] = NAN;
    r = fai_nnls_solve(t.work, &q, t.x);
    assert_int_equal(r.status, FA_NNLS_BAD_NUMBER);
    assert_int_equal(r.at, 4);
    t.f[4] = 1;
    t.g[1] = INFINITY;
    assert_int_equal(fai_nnls_solve(t.work, &q, t.x).status, FA_NNLS_BAD_NUMBER);
    t.g[1] = t.g[n];
    q.l1 = -1;
    assert_int_equal(fai_nnls_solve(t.work, &q, t.x).status, FA_NNLS_BAD_NUMBER);
    q.l1 = 0;
    assert_memory_equal(t.x, keep, sizeof keep);

    // a zero column that f wants more and more of; with an upper bound it goes there
    q.hi = NULL;
    for (int k = 0; k < n; k++) t.g[3 * n + k] = t.g[k * n + 3] = 0;
    t.f[3] = 1;
    r = fai_nnls_solve(t.work, &q, t.x);
    assert_int_equal(r.status, FA_NNLS_UNBOUNDED);
    assert_int_equal(r.at, 3);
    q.hi = t.hi;
    r = fai_nnls_solve(t.work, &q, t.x);
    assert_int_equal(r.status, FA_NNLS_OK);
    assert_true(t.x[3] == 10);
    // and one it has no opinion about
    t.f[3] = 0;
    q.hi = NULL;
    t.x[3] = 5;
    assert_int_equal(fai_nnls_solve(t.work, &q, t.x).status, FA_NNLS_OK);
    assert_true(t.x[3] == 0);

    t.g[2 * n + 2] = -1;
    r = fai_nnls_solve(t.work, &q, t.x);
    assert_int_equal(r.status, FA_NNLS_INDEFINITE);
    assert_int_equal(r.at, 2);
    q.n = 0;
    assert_int_equal(fai_nnls_solve(t.work, &q, t.x).status, FA_NNLS_OK);
    for (int s = FA_NNLS_OK; s <= FA_NNLS_BAD_NUMBER; s++) assert_true(strlen(fai_nnls_text((FaNnlsStatus)s)) > 3);
    close_fixture(&t);
}

static void scaling_variables_changes_nothing(void **state) {
    (void)state;
    Fixture t = open_fixture();
    int n = 30;
    make(50, n, 77, 3, 0, t.g, t.f);
    FaNnlsProblem q = {.n = n, .g = t.g, .f = t.f};
    fai_nnls_solve(t.work, &q, t.x);
    for (int j = 0; j < n; j++) { // powers of two: exact
        double s = ldexp(1, (j * 7) % 41 - 20);
        t.f[j] *= s;
        for (int k = 0; k < n; k++) t.g[j * n + k] *= s, t.g[k * n + j] *= s;
    }
    assert_int_equal(fai_nnls_solve(t.work, &q, t.y).status, FA_NNLS_OK);
    for (int j = 0; j < n; j++) CHECK_NEAR(t.y[j] * ldexp(1, (j * 7) % 41 - 20), t.x[j], 1e-12 * (1 + fabs(t.x[j])));
    close_fixture(&t);
}

// A target that moves as a face does: each frame from the last, without allocation, within the budget of real time.
static void warm_frames_are_fast(void **state) {
    (void)state;
    Fixture t = open_fixture();
    static const int sizes[] = {52, 200};
    for (int c = 0; c < FA_COUNT(sizes); c++) {
        int n = sizes[c], steps = 0, cold = 0;
        make(3 * n, n, 11, 0, 0, t.g, t.f);
        double *f0 = FA_NEW(2 * n, double), *f1 = f0 + n, best = 1, best_cold = 1;
        memcpy(f0, t.f, (size_t)n * sizeof *f0);
        for (int j = 0; j < n; j++) f1[j] = sqrt(t.g[j * n + j]) * 5 * rnd(12, j);
        FaNnlsProblem q = {.n = n, .g = t.g, .f = t.f};
        long alive = test_alloc_balance();
        test_fail_alloc(1); // any allocation would fail
        for (int frame = 0; frame < 300; frame++) {
            double u = sin(frame * 0.05);
            for (int j = 0; j < n; j++) t.f[j] = f0[j] + u * f1[j];
            double at = fai_seconds();
            FaNnlsResult r = fai_nnls_solve(t.work, &q, t.x);
            if (frame > 5) best = fmin(best, fai_seconds() - at);
            if (frame > 0) steps += r.steps;
            assert_int_equal(r.status, FA_NNLS_OK);
            memset(t.y, 0, MAX * sizeof(double));
            at = fai_seconds();
            r = fai_nnls_solve(t.work, &q, t.y);
            best_cold = fmin(best_cold, fai_seconds() - at);
            cold += r.steps;
            for (int j = 0; j < n; j++) CHECK_NEAR(t.x[j] * sqrt(t.g[j * n + j]), t.y[j] * sqrt(t.g[j * n + j]), 1e-8);
        }
        assert_false(test_alloc_failed());
        test_fail_alloc(0);
        assert_int_equal(alive, test_alloc_balance());
        print_message("n = %d: warm %.1f us, %.1f steps a frame; cold %.1f us, %.1f steps\n", n, 1e6 * best,
                      steps / 299.0, 1e6 * best_cold, cold / 300.0);
        assert_true(steps < cold / 4);
#if defined(NDEBUG)
        if (n == 52) assert_true(best < 200e-6); // 50 us on an idle machine; a loaded one is not a failure
#endif
        fa_free(f0);
    }
    close_fixture(&t);
}

static void memory_failures(void **state) {
    (void)state;
    for (int k = 1;; k++) {
        FaError err = {0};
        FaNnls *w;
        test_fail_alloc(k);
        FaCode rc = fai_nnls_new(10, &w, &err);
        bool hit = test_alloc_failed();
        test_fail_alloc(0);
        if (!hit) {
            CHECK_OK(rc, &err);
            fai_nnls_free(w);
            break;
        }
        assert_int_equal(rc, FA_E_MEMORY);
        assert_null(w);
    }
    FaError err = {0};
    FaNnls *w;
    assert_int_equal(fai_nnls_new(-1, &w, &err), FA_E_ARG);
    assert_int_equal(test_alloc_balance(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_failures),
        cmocka_unit_test(equals_every_subset_tried),
        cmocka_unit_test(optimal_with_any_bounds_and_equals_coordinate_descent),
        cmocka_unit_test(degenerate_problems_end),
        cmocka_unit_test(nearly_dependent_columns),
        cmocka_unit_test(impossible_input_is_named),
        cmocka_unit_test(scaling_variables_changes_nothing),
        cmocka_unit_test(warm_frames_are_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
