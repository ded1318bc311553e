// The parts of the solvers, each against something plain: field arithmetic, L-BFGS, Gauss-Seidel, folded rows.
#include "test_solve_slab.h"

#include "energy/push_pull.h"
#include "solve/field.h"
#include "solve/gauss_seidel.h"
#include "solve/lbfgs.h"
#include "solve/woodbury.h"

static double noise(uint64_t seed, int i) { return 2 * fai_random_unit(seed, (uint64_t)i) - 1; }

static float *random_field(const FaFieldShape *f, FaArena *a, int nnode, uint64_t seed) {
    float *x = fai_field_new(f, a);
    for (int i = 0; i < 3 * nnode; i++) x[4 * (i / 3) + i % 3] = (float)noise(seed, i);
    return x;
}

static void fields(void **state) {
    (void)state;
    static const int SIZE[] = {1, 2, 3, 4, 5, 63, 64, 65, 2047, 2048, 2049, 9000};
    for (int s = 0; s < FA_COUNT(SIZE); s++) {
        FaArena *a = fai_arena_new(0);
        FaFieldShape f, plain;
        FaError err = {0};
        int n = SIZE[s];
        CHECK_OK(fai_field_shape(a, n, &f, &err), &err);
        setenv("FA_SIMD", "ref", 1);
        CHECK_OK(fai_field_shape(a, n, &plain, &err), &err);
        unsetenv("FA_SIMD");
        const float *v[12];
        for (int k = 0; k < 12; k++) v[k] = random_field(&f, a, n, (uint64_t)k + 5);
        float *b = random_field(&f, a, n, 1), *out = fai_field_new(&f, a), *out2 = fai_field_new(&f, a);
        for (int count = 0; count <= 12; count++) {
            double dot[12], dot2[12], coef[12];
            fai_field_dots(&f, count, v, b, dot);
            fai_field_dots(&plain, count, v, b, dot2);
            assert_memory_equal(dot, dot2, sizeof *dot * (size_t)count);
            for (int k = 0; k < count; k++) {
                double want = 0, size = 0;
                for (int i = 0; i < 4 * n; i++) {
                    want += (double)v[k][i] * (double)b[i];
                    size += fabs((double)v[k][i] * (double)b[i]);
                }
                CHECK_NEAR(dot[k], want, 3e-7 * size + 1e-15);
                coef[k] = noise(40, k);
            }
            fai_field_sum(&f, 0.5, b, count, coef, v, out);
            fai_field_sum(&plain, 0.5, b, count, coef, v, out2);
            assert_memory_equal(out, out2, f.n * 4);
            for (int i = 0; i < 4 * n; i++) {
                double want = 0.5 * (double)b[i];
                for (int k = 0; k < count; k++) want += coef[k] * (double)v[k][i];
                CHECK_NEAR(out[i], want, 2e-6);
            }
            for (size_t i = 4 * (size_t)n; i < f.n; i++) assert_true(out[i] == 0);
            double with, with2;
            float *to = fai_field_new(&f, a);
            fai_field_sum_more(&plain, 0.5, b, count, coef, v, out2, &(FaFieldMore){v[0], &with, v[1], to});
            assert_memory_equal(out, out2, f.n * 4);
            fai_field_dots(&f, 1, v, out, &with2);
            CHECK_NEAR(with, with2, 1e-6 * n);
            for (int i = 0; i < 4 * n; i++) assert_true(to[i] == v[1][i] + out[i]);
            memcpy(out2, b, f.n * 4);
            fai_field_sum(&f, 0.5, out2, count, coef, v, out2); // in place
            assert_memory_equal(out, out2, f.n * 4);
        }
        fai_arena_free(a);
    }
}

// The recursions on kept products against the two loops of the textbook, over a history that wraps.
static void lbfgs(void **state) {
    (void)state;
    enum { N = 50, M = 5, D = 4 * N };
    FaArena *a = fai_arena_new(0);
    FaFieldShape f;
    FaLbfgs h;
    FaError err = {0};
    CHECK_OK(fai_field_shape(a, N, &f, &err), &err);
    CHECK_OK(fai_lbfgs_init(&h, &f, M, a, &err), &err);
    double s[16][D], y[16][D];
    int first = 0, count = 0;
    float *d = fai_field_new(&f, a), *g0 = fai_field_new(&f, a), *g1 = fai_field_new(&f, a), *q = fai_field_new(&f, a),
          *r = fai_field_new(&f, a);
    for (int step = 0; step < 14; step++) {
        double length = 0.3 + 0.1 * step;
        bool bad = step == 6; // negative curvature: left out
        for (int i = 0; i < 3 * N; i++) {
            int at = 4 * (i / 3) + i % 3;
            d[at] = (float)noise(50 + (uint64_t)step, i);
            g0[at] = (float)noise(80 + (uint64_t)step, i);
            g1[at] = (float)((double)g0[at] +
                             (bad ? -1 : 1) * (1 + fai_random_unit(3, (uint64_t)i)) * length * (double)d[at]);
        }
        assert_int_equal(fai_lbfgs_push(&h, length, d, g0, g1), !bad);
        if (!bad) {
            for (int i = 0; i < D; i++)
                s[count][i] = (double)((float)length * d[i]), y[count][i] = (double)(g1[i] - g0[i]);
            count++;
        }
        first = FA_MAX(0, count - M);
        if (bad) first = FA_MAX(0, count - (M - 1)); // the oldest made room for it
        if (bad) first = FA_MIN(first, count);
        assert_int_equal(h.count, count - first < M ? count - first : M);
        // textbook, with H0 = 1/2
        double x[D], alpha[16];
        for (int i = 0; i < D; i++) x[i] = (double)g1[i];
        int oldest = count - h.count;
        for (int k = count - 1; k >= oldest; k--) {
            double sy = 0, sq = 0;
            for (int i = 0; i < D; i++) sy += s[k][i] * y[k][i], sq += s[k][i] * x[i];
            alpha[k] = sq / sy;
            for (int i = 0; i < D; i++) x[i] -= alpha[k] * y[k][i];
        }
        for (int i = 0; i < D; i++) x[i] *= 0.5;
        for (int k = oldest; k < count; k++) {
            double sy = 0, yr = 0;
            for (int i = 0; i < D; i++) sy += s[k][i] * y[k][i], yr += y[k][i] * x[i];
            for (int i = 0; i < D; i++) x[i] += (alpha[k] - yr / sy) * s[k][i];
        }
        fai_lbfgs_forward(&h, g1, q);
        for (int i = 0; i < D; i++) r[i] = 0.5f * q[i];
        fai_lbfgs_backward(&h, r, d, NULL);
        for (int i = 0; i < D; i++) CHECK_NEAR(d[i], -x[i], 2e-5);
    }
    fai_lbfgs_clear(&h);
    fai_lbfgs_forward(&h, g1, q);
    assert_memory_equal(q, g1, f.n * 4);
    fai_arena_free(a);
}

// --- matrices with rows, densely ----------------------------------------------------------------------------------

// A (x) 1 + rows, 3n x 3n. active NULL: all.
static double *dense_matrix(const Slab *s, double inertia, const unsigned char *active) {
    FaCsr a;
    FaError err = {0};
    CHECK_OK(fai_elastic_matrix(&s->e, inertia, &a, &err), &err);
    size_t n = 3 * (size_t)s->e.nnode;
    double *m = FA_NEW(n * n, double);
    for (int i = 0; i < s->e.nnode; i++)
        for (int k = a.start[i]; k < a.start[i + 1]; k++)
            for (int c = 0; c < 3; c++) m[(size_t)(3 * i + c) * n + (size_t)(3 * a.col[k] + c)] += a.val[k];
    for (int r = 0; r < s->nrow; r++) {
        const FaRow *row = &s->row[r];
        if (active && row->kind == FA_ROW_PUSH && !active[r]) continue;
        for (int p = 0; p < 4; p++)
            for (int q = 0; q < 4; q++)
                for (int c = 0; c < 9 && row->node[p] >= 0 && row->node[q] >= 0; c++) {
                    double dir = row->kind == FA_ROW_PULL ? c / 3 == c % 3
                                                          : (double)row->normal[c / 3] * (double)row->normal[c % 3];
                    m[(size_t)(3 * row->node[p] + c / 3) * n + (size_t)(3 * row->node[q] + c % 3)] +=
                        (double)row->stiffness * (double)row->weight[p] * (double)row->weight[q] * dir;
                }
    }
    fai_csr_free(&a);
    return m;
}

static void dense_solve(int n, double *m, double *x) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = m[i * n + j];
            for (int k = 0; k < j; k++) sum -= m[i * n + k] * m[j * n + k];
            m[i * n + j] = i == j ? sqrt(sum) : sum / m[j * n + j];
        }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= m[i * n + k] * x[k];
        x[i] /= m[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) x[i] -= m[k * n + i] * x[k];
        x[i] /= m[i * n + i];
    }
}

static void sweeps(void **state) {
    (void)state;
    Slab *s = slab_new(9, 9, 2, 1, true, 1, 40, true);
    FaArena *a = fai_arena_new(0);
    FaError err = {0};
    FaFieldShape f;
    FaCsr m;
    FaSweeper *sw;
    int n = s->e.nnode;
    CHECK_OK(fai_field_shape(a, n, &f, &err), &err);
    CHECK_OK(fai_elastic_matrix(&s->e, 0, &m, &err), &err);
    CHECK_OK(fai_sweeper_new(&m, s->e.mass, s->nrow, &sw, &err), &err);
    fai_sweeper_rows(sw, 3600, s->nrow, s->row);
    float *b = random_field(&f, a, n, 3), *x = fai_field_new(&f, a), *y = fai_field_new(&f, a);
    double *dense = dense_matrix(s, 3600, NULL), *want = FA_NEW(3 * n, double), most = 0, size = 0;
    // the product
    fai_sweeper_mul(sw, b, y);
    for (int i = 0; i < 3 * n; i++) {
        for (int j = 0; j < 3 * n; j++)
            want[i] += dense[(size_t)i * 3 * (size_t)n + (size_t)j] * (double)b[4 * (j / 3) + j % 3];
        size = fmax(size, fabs(want[i]));
    }
    for (int i = 0; i < 3 * n; i++) CHECK_NEAR(y[4 * (i / 3) + i % 3] / size, want[i] / size, 1e-6);
    // the solution that sweeps tend to; each one brings A's norm of the error down
    for (int i = 0; i < 3 * n; i++) want[i] = (double)b[4 * (i / 3) + i % 3];
    double *factor = FA_NEW(9 * (size_t)n * (size_t)n, double);
    memcpy(factor, dense, 72 * (size_t)n * (size_t)n);
    dense_solve(3 * n, factor, want);
    for (int i = 0; i < 3 * n; i++) most = fmax(most, fabs(want[i]));
    double last = INFINITY;
    for (int round = 0; round < 12; round++) {
        double norm = 0;
        for (int i = 0; i < 3 * n; i++)
            for (int j = 0; j < 3 * n; j++)
                norm += ((double)x[4 * (i / 3) + i % 3] - want[i]) * dense[(size_t)i * 3 * (size_t)n + (size_t)j] *
                        ((double)x[4 * (j / 3) + j % 3] - want[j]);
        assert_true(norm < last);
        last = norm;
        fai_sweeper_sweep(sw, 1, b, x);
    }
    fai_sweeper_sweep(sw, 3000, b, x);
    for (int i = 0; i < 3 * n; i++) CHECK_NEAR(x[4 * (i / 3) + i % 3] / most, want[i] / most, 2e-5);
    fa_free(want), fa_free(dense), fa_free(factor);
    fai_csr_free(&m);
    fai_sweeper_free(sw);
    fai_arena_free(a);
    slab_free(s);
}

// A step with the rows that act at its end: what was assumed of them holds there, and the step is the dense solution
// for them.
static void folded_step(void **state) {
    (void)state;
    Slab *s = slab_new(10, 9, 2, 1, false, 1, 40, true);
    FaArena *a = fai_arena_new(0);
    FaError err = {0};
    FaFieldShape f;
    FaCsr m;
    FaChol *chol;
    FaFold *fold;
    int n = s->e.nnode, changed = 0;
    FaCholOptions co = {.single = true, .nzone = s->nzone, .zone = s->zone};
    CHECK_OK(fai_field_shape(a, n, &f, &err), &err);
    CHECK_OK(fai_elastic_matrix(&s->e, 3600, &m, &err), &err);
    CHECK_OK(fai_chol_analyze(&m, &co, &chol, &err), &err);
    CHECK_OK(fai_chol_factor(chol, &m, &err), &err);
    CHECK_OK(fai_fold_new(n, s->nzone, s->zone, s->nrow, &fold, &err), &err);
    float *b = random_field(&f, a, n, 3), *x = fai_field_new(&f, a), *u = fai_field_new(&f, a),
          *zb = FA_PUSH(a, 4 * s->nzone, float), *zx = FA_PUSH(a, 4 * s->nzone, float);
    unsigned char begins[64], ends[64];
    double *want = FA_NEW(3 * n, double);
    fai_chol_solve_f(chol, b, x);
    float most = 0;
    for (int i = 0; i < 4 * n; i++) most = fmaxf(most, fabsf(x[i]));
    for (int r = 0; r < s->nrow; r++) { // about half of them act to begin with, some of each kind near enough to change
        FaRow *row = &s->row[r];
        if (row->kind == FA_ROW_PUSH) row->gap += (float)(fai_row_slack(row, u) - 0.05 * noise(9, r) * (double)most);
        begins[r] = row->kind == FA_ROW_PULL || fai_row_slack(row, u) < 0;
    }
    assert_int_equal(fai_fold_rows(fold, s->nrow, s->row, fai_chol_zone_inverse(chol)), 0);
    fai_chol_forward_f(chol, b, zb);
    assert_int_equal(fai_fold_step(fold, chol, s->row, u, begins, 30, zb, zx), 0);
    fai_chol_backward_f(chol, zx, x);
    for (int i = 0; i < 4 * n; i++) x[i] = -x[i];
    for (int i = 0; i < 3 * n; i++) want[i] = (double)b[4 * (i / 3) + i % 3];
    for (int r = 0; r < s->nrow; r++) {
        const FaRow *row = &s->row[r];
        ends[r] = row->kind == FA_ROW_PULL || fai_row_slack(row, x) < 0;
        changed += begins[r] != ends[r];
        double force = ((double)ends[r] - begins[r]) * (double)row->stiffness * fai_row_slack(row, u);
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 3 && row->node[j] >= 0; k++)
                want[3 * row->node[j] + k] += force * (double)row->weight[j] * (double)row->normal[k];
    }
    assert_true(changed > 1);
    double *dense = dense_matrix(s, 3600, ends);
    dense_solve(3 * n, dense, want);
    for (int i = 0; i < 3 * n; i++) CHECK_NEAR(-x[4 * (i / 3) + i % 3] / most, want[i] / (double)most, 2e-5);
    fa_free(dense), fa_free(want);
    fai_fold_free(fold);
    fai_chol_free(chol);
    fai_csr_free(&m);
    fai_arena_free(a);
    slab_free(s);
}

// Folded rows against the dense solution, for several sets of acting rows; rows outside are counted.
static void folded(void **state) {
    (void)state;
    Slab *s = slab_new(10, 9, 2, 1, false, 1, 40, true);
    FaArena *a = fai_arena_new(0);
    FaError err = {0};
    FaFieldShape f;
    FaCsr m;
    FaChol *chol;
    FaFold *fold;
    int n = s->e.nnode;
    assert_true(s->nrow > 6);
    for (int r = 0; r < s->nrow; r++) s->row[r].stiffness *= r % 4 == 0 ? 1000 : 1; // stiff ones among them
    FaCholOptions co = {.single = true, .nzone = s->nzone, .zone = s->zone};
    CHECK_OK(fai_field_shape(a, n, &f, &err), &err);
    CHECK_OK(fai_elastic_matrix(&s->e, 3600, &m, &err), &err);
    CHECK_OK(fai_chol_analyze(&m, &co, &chol, &err), &err);
    CHECK_OK(fai_chol_factor(chol, &m, &err), &err);
    CHECK_OK(fai_fold_new(n, s->nzone, s->zone, s->nrow, &fold, &err), &err);
    assert_int_equal(fai_fold_rows(fold, s->nrow, s->row, fai_chol_zone_inverse(chol)), 0);
    float *b = random_field(&f, a, n, 3), *x = fai_field_new(&f, a), *zb = FA_PUSH(a, 4 * s->nzone, float),
          *zx = FA_PUSH(a, 4 * s->nzone, float);
    unsigned char active[64];
    double *want = FA_NEW(3 * n, double);
    for (int set = 0; set < 5; set++) {
        for (int r = 0; r < s->nrow; r++) active[r] = set == 0 || (set < 4 && (r + set) % 3 != 0);
        fai_fold_active(fold, set == 0 ? NULL : active);
        assert_false(fai_fold_empty(fold));
        fai_chol_forward_f(chol, b, zb);
        fai_fold_solve(fold, chol, zb, zx);
        fai_chol_backward_f(chol, zx, x);
        double *dense = dense_matrix(s, 3600, active), most = 0;
        for (int i = 0; i < 3 * n; i++) want[i] = (double)b[4 * (i / 3) + i % 3];
        dense_solve(3 * n, dense, want);
        for (int i = 0; i < 3 * n; i++) most = fmax(most, fabs(want[i]));
        for (int i = 0; i < 3 * n; i++) CHECK_NEAR(x[4 * (i / 3) + i % 3] / most, want[i] / most, 2e-5);
        fa_free(dense);
    }
    FaRow outside[2] = {s->row[0], s->row[1]};
    outside[1].node[0] = 0; // a corner of the bottom
    assert_int_equal(fai_fold_rows(fold, 2, outside, fai_chol_zone_inverse(chol)), 1);
    assert_int_equal(fai_fold_rows(fold, 0, NULL, fai_chol_zone_inverse(chol)), 0);
    fai_fold_active(fold, NULL);
    assert_true(fai_fold_empty(fold));
    fa_free(want);
    fai_fold_free(fold);
    fai_chol_free(chol);
    fai_csr_free(&m);
    fai_arena_free(a);
    slab_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields), cmocka_unit_test(lbfgs), cmocka_unit_test(sweeps),
                                       cmocka_unit_test(folded), cmocka_unit_test(folded_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
