// Sparse Cholesky against residuals, dense algebra, CHOLMOD, and itself: other orders, threads, kernels, and by the
// zone.
// labels: unit hash
#include "test.h"

#include "base/base.h"
#include "base/number.h"
#include "base/task.h"
#include "bench/chol_cholmod.h"
#include "math/chol.h"

// --- matrices -----------------------------------------------------------------------------------------------------

typedef struct Build {
    FaTriplet *entry;
    int count, room;
} Build;

static void put(Build *b, int row, int col, double val) {
    FaTriplet *e = fai_grow_array(b->entry, &b->room, b->count + 1, sizeof *e);
    assert_non_null(e);
    b->entry = e;
    b->entry[b->count++] = (FaTriplet){row, col, val};
}

static void edge(Build *b, int i, int j, double w) {
    put(b, i, i, w);
    put(b, j, j, w);
    put(b, i, j, -w);
    put(b, j, i, -w);
}

static FaCsr finish(Build *b, int n) {
    FaCsr a;
    assert_int_equal(fai_csr_from_triplets(n, n, b->count, b->entry, &a, NULL), FA_OK);
    fa_free(b->entry);
    *b = (Build){0};
    return a;
}

// A grid with springs of random stiffness to its neighbours, also across when `fat`, and to the ground.
static FaCsr grid(int nx, int ny, int nz, bool fat, double ground, uint64_t seed) {
    Build b = {0};
    uint64_t k = 0;
    for (int z = 0; z < nz; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; x < nx; x++) {
                int i = (z * ny + y) * nx + x;
                put(&b, i, i, ground);
                for (int d = 1; d < 8; d++) {
                    int dx = d & 1, dy = d >> 1 & 1, dz = d >> 2;
                    if ((!fat && dx + dy + dz > 1) || x + dx >= nx || y + dy >= ny || z + dz >= nz) continue;
                    edge(&b, i, i + (dz * ny + dy) * nx + dx, 0.5 + fai_random_unit(seed, k++));
                }
            }
    return finish(&b, nx * ny * nz);
}

// Random places, random signs, a diagonal that dominates by a little.
static FaCsr random_spd(int n, int per_row, uint64_t seed) {
    Build b = {0};
    uint64_t k = 0;
    for (int i = 0; i < n; i++) {
        put(&b, i, i, 0.01);
        for (int q = 0; q < per_row; q++) {
            int j = (int)(fai_random_u64(seed, k++) % (uint64_t)n);
            double w = fai_random_normal(seed + 1, k);
            if (i == j) continue;
            put(&b, i, i, fabs(w));
            put(&b, j, j, fabs(w));
            put(&b, i, j, w);
            put(&b, j, i, w);
        }
    }
    return finish(&b, n);
}

// "row column value" of the lower triangle, one per line.
static FaCsr read_matrix(const char *path) {
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    Build b = {0};
    char line[256];
    int n = 0;
    while (fgets(line, sizeof line, f)) {
        char *rest;
        long row = strtol(line, &rest, 10), col = strtol(rest, &rest, 10);
        rest += strspn(rest, " ");
        double val;
        assert_non_null(fai_parse_double(rest, rest + strlen(rest), &val));
        put(&b, (int)row, (int)col, val);
        if (row != col) put(&b, (int)col, (int)row, val);
        n = FA_MAX(n, (int)FA_MAX(row, col) + 1);
    }
    fclose(f);
    return finish(&b, n);
}

// --- measures -----------------------------------------------------------------------------------------------------

static double *right_side(int n, uint64_t seed) {
    double *b = FA_NEW(4 * n, double);
    for (int i = 0; i < 4 * n; i++) b[i] = (double)(float)fai_random_normal(seed, (uint64_t)i);
    return b;
}

static float *to_float(const double *x, int n) {
    float *f = FA_NEW(n, float);
    for (int i = 0; i < n; i++) f[i] = (float)x[i];
    return f;
}

// r = b - A x (n x 4); its largest number, relative to |A| |x| + |b|: what a stable solver keeps at rounding size.
static double residual(const FaCsr *a, const double *x, const double *b, double *r) {
    double worst = 0, na = 0, nx = 0, nb = 0;
    for (int i = 0; i < a->nrow; i++) {
        double sum[4] = {0}, row = 0;
        for (int k = a->start[i]; k < a->start[i + 1]; k++) {
            row += fabs(a->val[k]);
            for (int q = 0; q < 4; q++) sum[q] += a->val[k] * x[4 * a->col[k] + q];
        }
        na = fmax(na, row);
        for (int q = 0; q < 4; q++) {
            double d = b[4 * i + q] - sum[q];
            if (!(fabs(d) <= worst)) worst = fabs(d);
            nx = fmax(nx, fabs(x[4 * i + q]));
            nb = fmax(nb, fabs(b[4 * i + q]));
            if (r) r[4 * i + q] = d;
        }
    }
    return a->nrow ? worst / (na * nx + nb) : 0;
}

static FaChol *factored(const FaCsr *a, const FaCholOptions *o) {
    FaError err = {0};
    FaChol *c = NULL;
    CHECK_OK(fai_chol_analyze(a, o, &c, &err), &err);
    CHECK_OK(fai_chol_factor(c, a, &err), &err);
    return c;
}

static double largest_difference(const double *a, const double *b, int n) {
    double d = 0, s = 0;
    for (int i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= d)) d = fabs(a[i] - b[i]);
        s = fmax(s, fabs(b[i]));
    }
    return s > 0 ? d / s : d;
}

// --- residuals ----------------------------------------------------------------------------------------------------

static const FaCholOrder orders[] = {
    FA_CHOL_BEST,  FA_CHOL_MIN_DEGREE, FA_CHOL_NATURAL,
#ifdef FA_HAVE_METIS
    FA_CHOL_METIS,
#endif
#ifdef FA_HAVE_AMD
    FA_CHOL_AMD,
#endif
};

// All orders, double and single with and without one step of refinement. tol: of double.
static void check_matrix(const FaCsr *a, double tol, double tol_single) {
    int n = a->nrow;
    double *b = right_side(n, 7), *x = FA_NEW(4 * n, double), *r = FA_NEW(4 * n, double);
    float *bf = to_float(b, 4 * n), *xf = FA_NEW(4 * n, float);
    for (int k = 0; k < FA_COUNT(orders); k++) {
        FaChol *c = factored(a, &(FaCholOptions){.order = orders[k]});
        fai_chol_solve_d(c, b, x);
        assert_true(residual(a, x, b, NULL) <= tol);
        // in place
        memcpy(r, b, 4 * (size_t)n * sizeof *r);
        fai_chol_solve_d(c, r, r);
        assert_memory_equal(r, x, 4 * (size_t)n * sizeof *r);
        fai_chol_free(c);

        c = factored(a, &(FaCholOptions){.order = orders[k], .single = true});
        fai_chol_solve_f(c, bf, xf);
        for (int i = 0; i < 4 * n; i++) x[i] = (double)xf[i];
        double first = residual(a, x, b, r);
        assert_true(first <= tol_single);
        float *rf = to_float(r, 4 * n);
        fai_chol_solve_f(c, rf, rf);
        for (int i = 0; i < 4 * n; i++) x[i] += (double)rf[i];
        double second = residual(a, x, b, NULL);
        assert_true(second <= fmax(first * 0.05, tol));
        fa_free(rf);
        fai_chol_free(c);
    }
    fa_free(b);
    fa_free(x);
    fa_free(r);
    fa_free(bf);
    fa_free(xf);
}

static void small_and_odd(void **state) {
    (void)state;
    for (int n = 0; n <= 40; n++) { // every width of a panel, with and without rows below
        FaCsr a = random_spd(n, 3, (uint64_t)n);
        check_matrix(&a, 1e-14, 1e-6);
        fai_csr_free(&a);
        a = random_spd(n, n, (uint64_t)n); // full
        check_matrix(&a, 1e-14, 1e-6);
        fai_csr_free(&a);
    }
}

static void grids(void **state) {
    (void)state;
    struct {
        int x, y, z;
        bool fat;
        double ground;
    } g[] = {{500, 1, 1, false, 0.1},
             {30, 31, 1, false, 1e-3},
             {32, 30, 2, true, 1e-2},
             {9, 10, 11, true, 1e-2},
             {40, 40, 1, true, 1e-4}};
    for (int k = 0; k < FA_COUNT(g); k++) {
        FaCsr a = grid(g[k].x, g[k].y, g[k].z, g[k].fat, g[k].ground, (uint64_t)k);
        check_matrix(&a, 1e-14, 1e-6);
        fai_csr_free(&a);
    }
}

// Several pieces, lone unknowns among them; a star; a matrix that is only a diagonal.
static void loose_pieces(void **state) {
    (void)state;
    Build b = {0};
    int n = 3000;
    for (int i = 0; i < n; i++) put(&b, i, i, 1 + fai_random_unit(3, (uint64_t)i));
    FaCsr a = finish(&b, n);
    check_matrix(&a, 1e-15, 1e-7);
    fai_csr_free(&a);
    for (int i = 0; i < n; i++) {
        put(&b, i, i, 1);
        if (i % 300 > 20) edge(&b, i, i - 1 - (int)(fai_random_u64(4, (uint64_t)i) % 20), 1);
    }
    a = finish(&b, n);
    check_matrix(&a, 1e-15, 1e-6);
    fai_csr_free(&a);
    n = 500; // full in the natural order
    for (int i = 0; i < n; i++) {
        put(&b, i, i, 1);
        if (i) edge(&b, i, 0, 1);
    }
    a = finish(&b, n);
    check_matrix(&a, 1e-14, 1e-6);
    fai_csr_free(&a);
}

// The right-hand side's own measure, |b - A x| / |b|, on the size and kind that real time is about.
static void slab(void **state) {
    (void)state;
    FaCsr a = grid(84, 84, 2, true, 0.1, 5);
    int n = a.nrow;
    double *b = right_side(n, 8), *x = FA_NEW(4 * n, double), *r = FA_NEW(4 * n, double), nb = 0, nr = 0, nf = 0;
    float *xf = to_float(b, 4 * n);
    FaChol *c = factored(&a, NULL), *s = factored(&a, &(FaCholOptions){.single = true});
    FaCholStats st = fai_chol_stats(s);
    assert_int_equal(st.n, n);
    assert_int_equal(st.nzone, 0);
    assert_true(st.nnz < 2000000 && st.nnz > 300000 && st.bytes >= 4 * st.nnz && st.flops > 1e7 && st.nsuper < n / 4);
    fai_chol_solve_d(c, b, x);
    residual(&a, x, b, r);
    for (int i = 0; i < 4 * n; i++) nb = fmax(nb, fabs(b[i])), nr = fmax(nr, fabs(r[i]));
    assert_true(nr <= 1e-12 * nb);
    fai_chol_solve_f(s, xf, xf);
    for (int i = 0; i < 4 * n; i++) x[i] = (double)xf[i];
    residual(&a, x, b, r);
    for (int i = 0; i < 4 * n; i++) nf = fmax(nf, fabs(r[i]));
    assert_true(nf <= 1e-5 * nb);
    fai_chol_free(c);
    fai_chol_free(s);
    fai_csr_free(&a);
    fa_free(b);
    fa_free(x);
    fa_free(r);
    fa_free(xf);
}

static void suite(void **state) {
    (void)state;
    const char *name[] = {"suites/spd-matrices/bcsstk01", "suites/spd-matrices/bcsstk16"};
    for (int k = 0; k < 2; k++) {
        TEST_DATA_OR_SKIP(path, name[k]);
        FaCsr a = read_matrix(path);
        assert_int_equal(a.nrow, k ? 4884 : 48);
        check_matrix(&a, 1e-13, 1e-6);
        fai_csr_free(&a);
    }
}

// --- against others -----------------------------------------------------------------------------------------------

static void agrees_with_cholmod(void **state) {
    (void)state;
    FaCsr a = grid(30, 30, 2, true, 0.1, 3);
    int n = a.nrow;
    FaChol *mod = NULL;
    FaError err = {0};
    FaCholOptions o = {.backend = FA_CHOL_PEER};
    fai_bench_cholmod();
#ifndef FA_HAVE_CHOLMOD
    assert_int_equal(fai_chol_analyze(&a, &o, &mod, &err), FA_E_UNSUPPORTED);
    assert_true(strlen(err.remedy) > 0);
    fai_csr_free(&a);
    print_message("built without CHOLMOD\n");
    skip();
#endif
    double *b = right_side(n, 1), *x = FA_NEW(4 * n, double), *y = FA_NEW(4 * n, double);
    FaChol *own = factored(&a, NULL), *twin = NULL;
    for (int k = 0; k < FA_COUNT(orders); k++) {
        o.order = orders[k];
        mod = factored(&a, &o);
        assert_true(fai_chol_stats(mod).nnz > (size_t)n && fai_chol_stats(mod).n == n);
        fai_chol_solve_d(own, b, x);
        fai_chol_solve_d(mod, b, y);
        assert_true(largest_difference(x, y, 4 * n) < 1e-10);
        CHECK_OK(fai_chol_twin(mod, &twin, &err), &err);
        CHECK_OK(fai_chol_factor(twin, &a, &err), &err);
        fai_chol_free(mod);
        memset(y, 0, 4 * (size_t)n * sizeof *y);
        fai_chol_solve_d(twin, b, y);
        assert_true(largest_difference(x, y, 4 * n) < 1e-10);
        fai_chol_free(twin);
    }
    // what is refused, and what fails
    assert_int_equal(fai_chol_analyze(&a, &(FaCholOptions){.backend = FA_CHOL_PEER, .single = true}, &mod, NULL),
                     FA_E_UNSUPPORTED);
    int zone = 0;
    assert_int_equal(
        fai_chol_analyze(&a, &(FaCholOptions){.backend = FA_CHOL_PEER, .nzone = 1, .zone = &zone}, &mod, NULL),
        FA_E_UNSUPPORTED);
    o.order = FA_CHOL_NATURAL;
    CHECK_OK(fai_chol_analyze(&a, &o, &mod, &err), &err);
    for (int k = a.start[77]; k < a.start[78]; k++)
        if (a.col[k] == 77) a.val[k] = -1;
    assert_int_equal(fai_chol_factor(mod, &a, &err), FA_E_NUMERIC);
    assert_string_equal(err.place, "row 77");
    fai_chol_free(mod);
    fai_chol_free(own);
    fai_csr_free(&a);
    fa_free(b);
    fa_free(x);
    fa_free(y);
}

static void own_order_is_good(void **state) {
    (void)state;
    FaCsr a = grid(60, 60, 1, true, 0.1, 3);
    size_t nnz[FA_COUNT(orders)];
    for (int k = 0; k < FA_COUNT(orders); k++) {
        FaChol *c = NULL;
        assert_int_equal(fai_chol_analyze(&a, &(FaCholOptions){.order = orders[k]}, &c, NULL), FA_OK);
        nnz[k] = fai_chol_stats(c).nnz;
        fai_chol_free(c);
    }
    assert_true(nnz[1] < nnz[2] * 2 / 3); // minimum degree against the natural order, a band
    for (int k = 3; k < FA_COUNT(orders); k++) assert_true((double)nnz[1] < 1.4 * (double)nnz[k]);
    fai_csr_free(&a);
}

// --- dense algebra to compare with --------------------------------------------------------------------------------

// x = a^-1 b in place, a: n x n SPD, destroyed; b: n x m.
static void dense_solve(int n, double *a, int m, double *b) {
    for (int k = 0; k < n; k++) {
        double d = 1 / a[k * n + k];
        for (int i = k + 1; i < n; i++) {
            double f = a[i * n + k] * d;
            for (int j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
            for (int j = 0; j < m; j++) b[i * m + j] -= f * b[k * m + j];
        }
    }
    for (int k = n; k-- > 0;)
        for (int j = 0; j < m; j++) {
            for (int i = k + 1; i < n; i++) b[k * m + j] -= a[k * n + i] * b[i * m + j];
            b[k * m + j] /= a[k * n + k];
        }
}

static double *dense_of(const FaCsr *a) {
    double *d = FA_NEW((size_t)a->nrow * (size_t)a->nrow, double);
    for (int i = 0; i < a->nrow; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            d[(size_t)i * (size_t)a->nrow + (size_t)a->col[k]] = a->val[k];
    return d;
}

// --- the zone -----------------------------------------------------------------------------------------------------

// Two patches, in an order of chance.
static int *pick_zone(int n, int nzone, uint64_t seed) {
    int *zone = FA_NEW(nzone + 1, int);
    for (int k = 0; k < nzone; k++) zone[k] = 2 * nzone > n ? k : k < nzone / 2 ? n / 3 + k : n - 1 - (k - nzone / 2);
    for (int k = nzone; k-- > 1;) {
        int j = (int)(fai_random_u64(seed, (uint64_t)k) % (uint64_t)(k + 1)), t = zone[k];
        zone[k] = zone[j];
        zone[j] = t;
    }
    return zone;
}

static void zone_is_the_same(void **state) {
    (void)state;
    FaCsr a = grid(24, 20, 2, true, 0.05, 6);
    int n = a.nrow, sizes[] = {1, 2, 7, 8, 61, 128, 200, n - 1, n};
    double *b = right_side(n, 2), *x = FA_NEW(4 * n, double), *y = FA_NEW(4 * n, double);
    float *bf = to_float(b, 4 * n), *xf = FA_NEW(4 * n, float), *yf = FA_NEW(4 * n, float), *zf = FA_NEW(4 * n, float);
    FaChol *plain = factored(&a, NULL);
    fai_chol_solve_d(plain, b, y);
    for (int k = 0; k < FA_COUNT(sizes); k++) {
        int *zone = pick_zone(n, sizes[k], (uint64_t)k);
        FaCholOptions o = {.nzone = sizes[k], .zone = zone, .order = orders[k % FA_COUNT(orders)]};
        FaChol *d = factored(&a, &o);
        fai_chol_solve_d(d, b, x);
        assert_true(largest_difference(x, y, 4 * n) < 1e-12);
        fai_chol_free(d);
        o.single = true;
        FaChol *s = factored(&a, &o);
        assert_int_equal(fai_chol_stats(s).nzone, sizes[k]);
        fai_chol_solve_f(s, bf, xf);
        for (int i = 0; i < 4 * n; i++) x[i] = (double)xf[i];
        assert_true(largest_difference(x, y, 4 * n) < 2e-5);
        // in three parts: the same bits
        fai_chol_forward_f(s, bf, zf);
        fai_chol_zone_f(s, zf, zf);
        for (int j = 0; j < sizes[k]; j++) assert_memory_equal(zf + 4 * j, xf + 4 * zone[j], 4 * sizeof *zf);
        fai_chol_backward_f(s, zf, yf);
        assert_memory_equal(xf, yf, 4 * (size_t)n * sizeof *xf);
        fai_chol_free(s);
        fa_free(zone);
    }
    fai_chol_free(plain);
    fai_csr_free(&a);
    fa_free(b);
    fa_free(x);
    fa_free(y);
    fa_free(bf);
    fa_free(xf);
    fa_free(yf);
    fa_free(zf);
}

// S^-1 is the zone's block of A^-1; forward gives S times the solution at the zone.
static void zone_inverse(void **state) {
    (void)state;
    FaCsr a = grid(9, 8, 3, true, 0.05, 6);
    int n = a.nrow, nz = 57;
    int *zone = pick_zone(n, nz, 1);
    FaChol *c = factored(&a, &(FaCholOptions){.single = true, .nzone = nz, .zone = zone});
    double *full = dense_of(&a), *inv = FA_NEW(n * nz, double), most = 0;
    for (int j = 0; j < nz; j++) inv[zone[j] * nz + j] = 1;
    dense_solve(n, full, nz, inv);
    const float *s = fai_chol_zone_inverse(c);
    for (int i = 0; i < nz * nz; i++) most = fmax(most, fabs(inv[zone[i / nz] * nz + i % nz]));
    for (int i = 0; i < nz; i++)
        for (int j = 0; j < nz; j++) {
            CHECK_NEAR((double)s[i * nz + j], inv[zone[i] * nz + j], 1e-6 * most);
            assert_true(s[i * nz + j] == s[j * nz + i]);
        }
    // zone_f multiplies by it
    double *b = right_side(nz, 3);
    float *bf = to_float(b, 4 * nz);
    fai_chol_zone_f(c, bf, bf);
    for (int i = 0; i < nz; i++)
        for (int q = 0; q < 4; q++) {
            double sum = 0;
            for (int j = 0; j < nz; j++) sum += (double)s[i * nz + j] * b[4 * j + q];
            CHECK_NEAR((double)bf[4 * i + q], sum, 1e-5 * most * nz);
        }
    fai_chol_free(c);
    fai_csr_free(&a);
    fa_free(zone);
    fa_free(full);
    fa_free(inv);
    fa_free(b);
    fa_free(bf);
}

// (A + W' W)^-1 b with rows W on the zone, by Woodbury on S^-1 alone, against a dense solve of the whole.
static void zone_woodbury(void **state) {
    (void)state;
    enum { ROWS = 5 };
    FaCsr a = grid(9, 8, 3, true, 0.05, 6);
    int n = a.nrow, nz = 40;
    int *zone = pick_zone(n, nz, 1);
    FaChol *c = factored(&a, &(FaCholOptions){.single = true, .nzone = nz, .zone = zone});
    double w[ROWS][40], *full = dense_of(&a), *b = right_side(n, 4), *truth = FA_NEW(4 * n, double);
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < nz; j++) w[r][j] = j % ROWS == r ? 3 * fai_random_normal(9, (uint64_t)(r * nz + j)) : 0;
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < nz; i++)
            for (int j = 0; j < nz; j++) full[zone[i] * n + zone[j]] += w[r][i] * w[r][j];
    memcpy(truth, b, 4 * (size_t)n * sizeof *b);
    dense_solve(n, full, 4, truth);

    // g = S^-1 z;  x_z = g - S^-1 W' (I + W S^-1 W')^-1 W g
    float *bf = to_float(b, 4 * n), *g = FA_NEW(4 * nz, float), *x = FA_NEW(4 * n, float);
    const float *s = fai_chol_zone_inverse(c);
    fai_chol_forward_f(c, bf, g);
    fai_chol_zone_f(c, g, g);
    double small[ROWS * ROWS] = {0}, rhs[ROWS * 4] = {0}, sw[40][ROWS] = {{0}};
    for (int i = 0; i < nz; i++)
        for (int r = 0; r < ROWS; r++)
            for (int j = 0; j < nz; j++) sw[i][r] += (double)s[i * nz + j] * w[r][j];
    for (int r = 0; r < ROWS; r++) {
        small[r * ROWS + r] = 1;
        for (int j = 0; j < nz; j++) {
            for (int q = 0; q < ROWS; q++) small[r * ROWS + q] += w[r][j] * sw[j][q];
            for (int q = 0; q < 4; q++) rhs[r * 4 + q] += w[r][j] * (double)g[4 * j + q];
        }
    }
    dense_solve(ROWS, small, 4, rhs);
    for (int i = 0; i < nz; i++)
        for (int q = 0; q < 4; q++) {
            double v = (double)g[4 * i + q];
            for (int r = 0; r < ROWS; r++) v -= sw[i][r] * rhs[r * 4 + q];
            g[4 * i + q] = (float)v;
        }
    fai_chol_backward_f(c, g, x);
    for (int i = 0; i < 4 * n; i++) b[i] = (double)x[i];
    assert_true(largest_difference(b, truth, 4 * n) < 2e-5);
    fai_chol_free(c);
    fai_csr_free(&a);
    fa_free(zone);
    fa_free(full);
    fa_free(b);
    fa_free(truth);
    fa_free(bf);
    fa_free(g);
    fa_free(x);
}

// --- failures -----------------------------------------------------------------------------------------------------

static void names_the_row(void **state) {
    (void)state;
    FaCsr a = grid(50, 40, 2, true, 0.05, 6);
    int zone[] = {5, 1234, 17}, bad[] = {0, 1234, 3999, 2017};
    FaCholOptions o[] = {{.order = FA_CHOL_BEST},
                         {.order = FA_CHOL_MIN_DEGREE, .single = true},
                         {.single = true, .nzone = 3, .zone = zone},
                         {.nzone = 3, .zone = zone}};
    for (int k = 0; k < FA_COUNT(o); k++) {
        FaChol *c = NULL;
        FaError err = {0};
        CHECK_OK(fai_chol_analyze(&a, &o[k], &c, &err), &err);
        for (int i = 0; i < FA_COUNT(bad); i++)
            for (int how = 0; how < 3; how++) {
                int at = a.start[bad[i]];
                while (a.col[at] != bad[i]) at++;
                double old = a.val[at], values[] = {-1, 0, NAN};
                a.val[at] = values[how];
                char place[32];
                snprintf(place, sizeof place, "row %d", bad[i]);
                memset(&err, 0, sizeof err);
                assert_int_equal(fai_chol_factor(c, &a, &err), FA_E_NUMERIC);
                assert_string_equal(err.place, place);
                assert_true(strlen(err.remedy) > 0);
                a.val[at] = old;
            }
        memset(&err, 0, sizeof err);
        CHECK_OK(fai_chol_factor(c, &a, &err), &err); // and recovers
        fai_chol_free(c);
    }
    fai_csr_free(&a);
}

static void refuses(void **state) {
    (void)state;
    FaCsr a = grid(5, 5, 1, true, 0.05, 6), other = grid(5, 5, 1, false, 0.05, 6), small = grid(5, 4, 1, true, 0.05, 6);
    FaChol *c = (FaChol *)&a;
    FaError err = {0};
    int out[] = {3, 25}, twice[] = {3, 4, 3}, below[] = {-1};
    assert_int_equal(fai_chol_analyze(&a, &(FaCholOptions){.nzone = 2, .zone = out}, &c, &err), FA_E_ARG);
    assert_string_equal(err.place, "zone, place 1");
    assert_null(c);
    memset(&err, 0, sizeof err);
    assert_int_equal(fai_chol_analyze(&a, &(FaCholOptions){.nzone = 3, .zone = twice}, &c, &err), FA_E_ARG);
    assert_string_equal(err.place, "zone, place 2");
    assert_int_equal(fai_chol_analyze(&a, &(FaCholOptions){.nzone = 1, .zone = below}, &c, NULL), FA_E_ARG);
    assert_int_equal(fai_chol_analyze(&a, &(FaCholOptions){.nzone = -1}, &c, NULL), FA_E_ARG);
    assert_int_equal(fai_chol_analyze(&a, &(FaCholOptions){.nzone = 26, .zone = out}, &c, NULL), FA_E_ARG);
    assert_int_equal(fai_chol_analyze(&a, &(FaCholOptions){.order = (FaCholOrder)9}, &c, NULL), FA_E_ARG);
    a.ncol = 24;
    assert_int_equal(fai_chol_analyze(&a, NULL, &c, NULL), FA_E_ARG);
    a.ncol = 25;

    CHECK_OK(fai_chol_analyze(&a, NULL, &c, &(FaError){0}), NULL);
    assert_int_equal(fai_chol_factor(c, &other, NULL), FA_E_ARG);
    assert_int_equal(fai_chol_factor(c, &small, NULL), FA_E_ARG);
    fai_chol_free(c);

    // one triangle missing an entry
    FaTriplet lower[] = {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {2, 0, 0.1}},
              upper[] = {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {1, 2, 0.1}};
    FaCsr half;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(fai_csr_from_triplets(3, 3, 4, k ? upper : lower, &half, NULL), FA_OK);
        memset(&err, 0, sizeof err);
        assert_int_equal(fai_chol_analyze(&half, NULL, &c, &err), FA_E_ARG);
        assert_true(strlen(err.place) > 0);
        fai_csr_free(&half);
    }
    fai_csr_free(&a);
    fai_csr_free(&other);
    fai_csr_free(&small);
    fai_chol_free(NULL);
}

static void survives_no_memory(void **state) {
    (void)state;
    FaCsr a = grid(10, 10, 2, true, 0.05, 6);
    int zone[] = {3, 77, 12};
    for (int mode = 0; mode < 4; mode++) {
        FaCholOptions o = {.order = mode % 2 ? FA_CHOL_MIN_DEGREE : FA_CHOL_BEST,
                           .single = mode >= 2,
                           .nzone = mode >= 2 ? 3 : 0,
                           .zone = zone};
        if (mode == 1) o.backend = FA_CHOL_PEER;
        if (mode == 1 && !fai_bench_cholmod()) continue;
        int failures = 0;
        for (long k = 1;; k++) {
            FaChol *c = NULL, *twin = NULL;
            FaError err = {0};
            long before = test_alloc_balance();
            test_fail_alloc(k);
            FaCode rc = fai_chol_analyze(&a, &o, &c, &err);
            if (rc >= 0) rc = fai_chol_twin(c, &twin, &err);
            bool failed = test_alloc_failed();
            test_fail_alloc(0);
            assert_int_equal(rc, failed ? FA_E_MEMORY : FA_OK);
            fai_chol_free(c);
            fai_chol_free(twin);
            assert_int_equal(test_alloc_balance(), before);
            if (!failed) break;
            failures++;
        }
        assert_true(failures >= (mode == 1 ? 2 : 8));
    }
    fa_allocator_set(NULL);
    fai_csr_free(&a);
}

static void allocates_nothing(void **state) {
    (void)state;
    FaCsr a = grid(40, 30, 2, true, 0.05, 6);
    int n = a.nrow, nz = 50;
    int *zone = pick_zone(n, nz, 1);
    double *b = right_side(n, 4);
    float *bf = to_float(b, 4 * n), *z = FA_NEW(4 * nz, float);
    FaChol *d = NULL, *s = NULL;
    assert_int_equal(fai_chol_analyze(&a, NULL, &d, NULL), FA_OK);
    assert_int_equal(fai_chol_analyze(&a, &(FaCholOptions){.single = true, .nzone = nz, .zone = zone}, &s, NULL),
                     FA_OK);
    test_fail_alloc(1);
    assert_int_equal(fai_chol_factor(d, &a, NULL), FA_OK);
    assert_int_equal(fai_chol_factor(s, &a, NULL), FA_OK);
    fai_chol_solve_d(d, b, b);
    fai_chol_solve_f(s, bf, bf);
    fai_chol_forward_f(s, bf, z);
    fai_chol_zone_f(s, z, z);
    fai_chol_backward_f(s, z, bf);
    assert_non_null(fai_chol_zone_inverse(s));
    assert_false(test_alloc_failed());
    fa_allocator_set(NULL);
    fai_chol_free(d);
    fai_chol_free(s);
    fai_csr_free(&a);
    fa_free(zone);
    fa_free(b);
    fa_free(bf);
    fa_free(z);
}

// --- the same bits ------------------------------------------------------------------------------------------------

static uint64_t bits_of(const FaCsr *a, const FaCholOptions *o) {
    int n = a->nrow;
    double *b = right_side(n, 11);
    float *bf = to_float(b, 4 * n);
    FaChol *c = factored(a, o);
    if (o->single)
        fai_chol_solve_f(c, bf, bf);
    else
        fai_chol_solve_d(c, b, b);
    uint64_t h =
        fai_hash64(o->single ? (void *)bf : (void *)b, 4 * (size_t)n * (o->single ? sizeof *bf : sizeof *b), 1);
    if (o->single && o->nzone)
        h = fai_hash64(fai_chol_zone_inverse(c), (size_t)o->nzone * (size_t)o->nzone * sizeof(float), h);
    fai_chol_free(c);
    fa_free(b);
    fa_free(bf);
    return h;
}

// Every width of a panel, every remainder of a tile: the fast kernels and the plain ones.
static void same_bits_small(void **state) {
    (void)state;
    for (int n = 1; n <= 60; n++)
        for (int mode = 0; mode < 4; mode++) {
            FaCsr a = random_spd(n, n % 3 ? 2 : n, (uint64_t)n);
            int *zone = pick_zone(n, n / 3, (uint64_t)n);
            FaCholOptions o = {.single = mode % 2, .nzone = mode >= 2 ? n / 3 : 0, .zone = zone};
            uint64_t fast = bits_of(&a, &o);
            setenv("FA_SIMD", "ref", 1);
            assert_true(bits_of(&a, &o) == fast);
            unsetenv("FA_SIMD");
            fa_free(zone);
            fai_csr_free(&a);
        }
}

static void same_bits(void **state) {
    (void)state;
    FaCsr a = grid(48, 45, 2, true, 0.05, 6);
    int threads[] = {1, 2, 3, 8}, nz = 151;
    int *zone = pick_zone(a.nrow, nz, 1);
    for (int mode = 0; mode < 4; mode++) {
        // minimum degree: the same order in every build, so that the hash is too
        FaCholOptions o = {.single = mode % 2, .nzone = mode >= 2 ? nz : 0, .zone = zone, .order = FA_CHOL_MIN_DEGREE};
        uint64_t first = 0;
        for (int ref = 0; ref < 2; ref++) {
            if (ref) setenv("FA_SIMD", "ref", 1);
            for (int t = 0; t < FA_COUNT(threads); t++) {
                fa_threads_set(threads[t]);
                uint64_t h = bits_of(&a, &o);
                if (!first) first = h;
                assert_true(h == first);
            }
            if (ref) unsetenv("FA_SIMD");
        }
        print_message("hash %d: %016llx\n", mode, (unsigned long long)first);
    }
    fa_threads_set(0);
    fa_free(zone);
    fai_csr_free(&a);
}

// --- twins --------------------------------------------------------------------------------------------------------

typedef struct Again {
    FaChol *c;
    const FaCsr *a;
    FaCode rc;
} Again;

static void factor_again(void *ctx) {
    Again *g = ctx;
    g->rc = fai_chol_factor(g->c, g->a, NULL);
}

// One is solved with while the other is factored, with other values, on a thread of its own.
static void twins(void **state) {
    (void)state;
    FaCsr a = grid(40, 40, 2, true, 0.05, 6), stiff = grid(40, 40, 2, true, 0.05, 6);
    int n = a.nrow;
    for (int k = 0; k < stiff.start[n]; k++) stiff.val[k] *= 4;
    double *b = right_side(n, 4);
    float *bf = to_float(b, 4 * n), *x = FA_NEW(4 * n, float), *y = FA_NEW(4 * n, float), *z = FA_NEW(4 * n, float);
    FaChol *c = factored(&a, &(FaCholOptions){.single = true}), *twin = NULL;
    fai_chol_solve_f(c, bf, x);
    CHECK_OK(fai_chol_twin(c, &twin, &(FaError){0}), NULL);
    FaJob job = {0};
    Again again = {twin, &stiff, FA_E_ARG};
    fai_job_start(&job, factor_again, &again);
    for (int k = 0; k < 20; k++) {
        fai_chol_solve_f(c, bf, y);
        assert_memory_equal(x, y, 4 * (size_t)n * sizeof *x);
    }
    fai_job_free(&job);
    assert_int_equal(again.rc, FA_OK);
    fai_chol_free(c); // the analysis stays as long as somebody needs it
    fai_chol_solve_f(twin, bf, z);
    for (int i = 0; i < 4 * n; i++) assert_true(z[i] == x[i] / 4); // powers of two are exact, and so are their roots
    fai_chol_free(twin);
    fai_csr_free(&a);
    fai_csr_free(&stiff);
    fa_free(b);
    fa_free(bf);
    fa_free(x);
    fa_free(y);
    fa_free(z);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_and_odd),
        cmocka_unit_test(grids),
        cmocka_unit_test(loose_pieces),
        cmocka_unit_test(slab),
        cmocka_unit_test(suite),
        cmocka_unit_test(agrees_with_cholmod),
        cmocka_unit_test(own_order_is_good),
        cmocka_unit_test(zone_is_the_same),
        cmocka_unit_test(zone_inverse),
        cmocka_unit_test(zone_woodbury),
        cmocka_unit_test(names_the_row),
        cmocka_unit_test(refuses),
        cmocka_unit_test(survives_no_memory),
        cmocka_unit_test(allocates_nothing),
        cmocka_unit_test(same_bits_small),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(twins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
