// 3x3 decompositions in lanes: exact for any matrix, the same bits as the scalar twin whatever the neighbours; and the
// memoised scheme of thesis 001 section 6.3 beside the exact one.
// labels: unit hash
#include "test.h"

#include "math/mat3.h"
#include "math/svd.h"
#include "math/svd_kernels.h"

// --- matrices -----------------------------------------------------------------------------------------------------

typedef struct Batch {
    int n, stride;
    float *a, *r;
    FaSvd3 out;
    void *base;
} Batch;

static Batch batch_new(int n) {
    Batch b = {.n = n, .stride = (n + 7) / 8 * 8 + 8};
    size_t row = (size_t)b.stride;
    b.base = FA_NEW(39 * row + 16, float);
    b.a = (float *)(((uintptr_t)b.base + 63) / 64 * 64);
    b.r = b.a + 9 * row;
    b.out = (FaSvd3){b.r + 9 * row, b.r + 18 * row, b.r + 21 * row, b.stride};
    return b;
}

static void get(const float *rows, int stride, int i, int n, double *out) {
    for (int e = 0; e < n; e++) out[e] = (double)rows[e * stride + i];
}

static void random_rotation(uint64_t seed, uint64_t at, double m[9]) {
    double q[4];
    for (int k = 0; k < 4; k++) q[k] = fai_random_normal(seed, at + (uint64_t)k);
    fai_q_normalize(q);
    fai_q_to_m3(q, m);
}

static void compose(const double u[9], const double s[3], const double v[9], double a[9]) {
    double us[9], vt[9];
    for (int e = 0; e < 9; e++) us[e] = u[e] * s[e % 3];
    fai_m3_transpose(v, vt);
    fai_m3_mul(us, vt, a);
}

enum { GAUSS, PAIR, CLUSTER, THIN, GRADED, OPPOSITE, RANK1, RANK2, ZERO, SCALES, IDENTITY, DIAGONAL, LIMITS, KINDS };

static void values_of(int kind, uint64_t at, double s[3]) {
    for (int k = 0; k < 3; k++) s[k] = 1 + 0.5 * fai_random_normal(2, at + (uint64_t)k); // as section 6.3.4 draws them
    double r = fai_random_unit(3, at), q = fai_random_unit(4, at);
    if (kind == PAIR) s[1] = s[0] * (1 + pow(10, -8 * r));
    if (kind == CLUSTER)
        for (int k = 0; k < 3; k++) s[k] = 1 + pow(10, -9 * r) * fai_random_normal(5, at + (uint64_t)k);
    if (kind == THIN) s[2] = pow(10, -9 * r);
    if (kind == GRADED) s[1] = pow(10, -20 * r), s[2] = pow(10, -20 * q);
    if (kind == OPPOSITE) s[1] = -s[2], s[0] = q < 0.5 ? s[1] : s[0];
    if (kind == RANK1) s[1] = s[2] = 0;
    if (kind == RANK2) s[2] = 0;
    if (kind == ZERO) s[0] = s[1] = s[2] = 0;
    if (kind == SCALES)
        for (int k = 0; k < 3; k++) s[k] *= pow(10, 30 * r - 15);
    if (kind == LIMITS)
        for (int k = 0; k < 3; k++) s[k] *= q < 0.5 ? 5e37 : 1e-39;
}

static void fill(Batch *b, int kind, uint64_t seed) {
    for (int i = 0; i < b->n; i++) {
        uint64_t at = seed + 16 * (uint64_t)i;
        double u[9], v[9], s[3], a[9];
        random_rotation(10, at, u);
        random_rotation(11, at, v);
        values_of(kind, at, s);
        compose(u, s, v, a);
        for (int e = 0; e < 9; e++) {
            if (kind == IDENTITY) a[e] = (e % 4 == 0) + (i % 4) * 1e-4 * fai_random_normal(12, at + (uint64_t)e);
            if (kind == DIAGONAL) a[e] = e % 4 ? 0 : e / 4 == i % 3 ? -0.0 : (i >> (e / 4)) % 2 ? -s[e / 4] : s[e / 4];
            b->a[e * b->stride + i] = (float)a[e];
        }
    }
}

// --- exact --------------------------------------------------------------------------------------------------------

// Largest error of matrix i: of A = U s V', of the values, both relative to the largest value, and of U'U = V'V = 1.
static double error_of(const Batch *b, int i) {
    double a[9], u[9], s[3], v[9], back[9], ut[9], vt[9], uu[9], vv[9], tu[9], ts[3], tv[9], worst = 0;
    get(b->a, b->stride, i, 9, a);
    get(b->out.u, b->stride, i, 9, u);
    get(b->out.s, b->stride, i, 3, s);
    get(b->out.v, b->stride, i, 9, v);
    fai_m3_svd(a, tu, ts, tv);
    double size = ts[0] > 0 ? ts[0] : 1;
    compose(u, s, v, back);
    fai_m3_transpose(u, ut);
    fai_m3_transpose(v, vt);
    fai_m3_mul(ut, u, uu);
    fai_m3_mul(vt, v, vv);
    for (int e = 0; e < 9; e++) {
        assert_true(isfinite(u[e]) && isfinite(v[e]));
        worst = fmax(worst, fabs(back[e] - a[e]) / size);
        worst = fmax(worst, fabs(uu[e] - (e % 4 == 0)));
        worst = fmax(worst, fabs(vv[e] - (e % 4 == 0)));
    }
    for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(s[k] - ts[k]) / size);
    assert_true(fai_m3_det(u) > 0.9 && fai_m3_det(v) > 0.9);
    assert_true(s[0] >= s[1] && s[1] >= fabs(s[2]));
    return worst;
}

// The polar rotation: proper, and as good as the best, which is s0 + s1 + s2 in trace(R'A) (unique or not).
static double polar_error_of(const Batch *b, int i) {
    double a[9], r[9], rt[9], rr[9], u[9], s[3], v[9], worst = 0, trace = 0;
    get(b->a, b->stride, i, 9, a);
    get(b->r, b->stride, i, 9, r);
    fai_m3_transpose(r, rt);
    fai_m3_mul(rt, r, rr);
    fai_m3_svd(a, u, s, v);
    for (int e = 0; e < 9; e++) worst = fmax(worst, fabs(rr[e] - (e % 4 == 0))), trace += r[e] * a[e];
    assert_true(fai_m3_det(r) > 0.9);
    double best = s[0] + s[1] + s[2];
    worst = fmax(worst, fabs(trace - best) / (s[0] > 0 ? s[0] : 1));
    if (s[1] + s[2] > 0.05 * s[0]) { // well posed: the rotation itself
        double vt[9], want[9];
        fai_m3_transpose(v, vt);
        fai_m3_mul(u, vt, want);
        for (int e = 0; e < 9; e++) worst = fmax(worst, fabs(r[e] - want[e]) * (s[1] + s[2]) / s[0]);
    }
    return worst;
}

static void any_matrix_is_decomposed_exactly(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        Batch b = batch_new(3000);
        fill(&b, kind, 1);
        uint64_t before = fai_hash64(b.a, 9 * (size_t)b.stride * sizeof *b.a, 1);
        fai_svd3_many(b.n, b.a, b.stride, &b.out);
        fai_polar3_many(b.n, b.a, b.stride, b.r);
        assert_true(before == fai_hash64(b.a, 9 * (size_t)b.stride * sizeof *b.a, 1));
        double worst = 0, polar = 0;
        for (int i = 0; i < b.n; i++) worst = fmax(worst, error_of(&b, i)), polar = fmax(polar, polar_error_of(&b, i));
        print_message("kind %d: largest error %.2g, polar %.2g\n", kind, worst, polar);
        assert_true(worst < 3e-6);
        assert_true(polar < 3e-6);
        fa_free(b.base);
    }
}

static void zero_and_identity_are_exact(void **state) {
    (void)state;
    Batch b = batch_new(8);
    for (int e = 0; e < 9; e++)
        for (int i = 0; i < 8; i++) b.a[e * b.stride + i] = i % 2 && e % 4 == 0;
    fai_svd3_many(8, b.a, b.stride, &b.out);
    fai_polar3_many(8, b.a, b.stride, b.r);
    for (int i = 0; i < 8; i++)
        for (int e = 0; e < 9; e++) {
            assert_true(b.r[e * b.stride + i] == (e % 4 == 0));
            if (e < 3) assert_true(b.out.s[e * b.stride + i] == i % 2);
        }
    fa_free(b.base);
}

// --- twins --------------------------------------------------------------------------------------------------------

static void same_columns(const Batch *x, int i, const Batch *y, int j) {
    const float *p[] = {x->out.u, x->out.s, x->out.v, x->r}, *q[] = {y->out.u, y->out.s, y->out.v, y->r};
    static const int rows[] = {9, 3, 9, 9};
    for (int k = 0; k < 4; k++)
        for (int e = 0; e < rows[k]; e++)
            if (memcmp(p[k] + e * x->stride + i, q[k] + e * y->stride + j, sizeof(float)))
                fail_msg("array %d, entry %d: column %d has %.9g, column %d %.9g", k, e, i,
                         (double)p[k][e * x->stride + i], j, (double)q[k][e * y->stride + j]);
}

static void twins_agree_to_the_bit(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int n = 0; n < 52; n++) {
            Batch fast = batch_new(n), plain = batch_new(n);
            fill(&fast, kind, (uint64_t)n * 977);
            memcpy(plain.a, fast.a, 9 * (size_t)fast.stride * sizeof(float));
            for (int e = 0; e < 30 * fast.stride; e++) fast.r[e] = plain.r[e] = 7;
            fai_svd3_many(n, fast.a, fast.stride, &fast.out);
            fai_polar3_many(n, fast.a, fast.stride, fast.r);
            fai_svd3_many_ref(n, plain.a, plain.stride, &plain.out);
            fai_polar3_many_ref(n, plain.a, plain.stride, plain.r);
            for (int i = 0; i < n; i++) same_columns(&fast, i, &plain, i);
            fai_svd_kernels_ref.svd(n, plain.a, plain.stride, &plain.out); // with the library's fma
            fai_svd_kernels_ref.polar(n, plain.a, plain.stride, plain.r);
            for (int i = 0; i < n; i++) same_columns(&fast, i, &plain, i);
            for (int i = (n + 7) / 8 * 8; i < fast.stride; i++) // beyond what is scratch nothing is written
                for (int e = 0; e < 30; e++) assert_true(fast.r[e * fast.stride + i] == 7);
            fa_free(fast.base);
            fa_free(plain.base);
        }
    }
}

// A matrix's bits do not depend on who its neighbours are, nor on its lane.
static void neighbours_do_not_matter(void **state) {
    (void)state;
    Batch all = batch_new(240), mixed = batch_new(240);
    for (int i = 0; i < all.n; i++) {
        Batch one = batch_new(1);
        fill(&one, i % KINDS, 31 * (uint64_t)i);
        for (int e = 0; e < 9; e++) {
            all.a[e * all.stride + i] = one.a[e * one.stride];
            mixed.a[e * mixed.stride + (i * 77 + 5) % 240] = one.a[e * one.stride];
        }
        fa_free(one.base);
    }
    Batch *both[] = {&all, &mixed};
    for (int k = 0; k < 2; k++) {
        fai_svd3_many(240, both[k]->a, both[k]->stride, &both[k]->out);
        fai_polar3_many(240, both[k]->a, both[k]->stride, both[k]->r);
    }
    for (int i = 0; i < all.n; i++) same_columns(&all, i, &mixed, (i * 77 + 5) % 240);
    fa_free(all.base);
    fa_free(mixed.base);
}

static void rotations_may_be_left_out(void **state) {
    (void)state;
    Batch b = batch_new(40), c = batch_new(40);
    fill(&b, GAUSS, 5);
    memcpy(c.a, b.a, 9 * (size_t)b.stride * sizeof(float));
    fai_svd3_many(40, b.a, b.stride, &b.out);
    fai_svd3_many(40, c.a, c.stride, &(FaSvd3){NULL, c.out.s, NULL, c.stride});
    assert_memory_equal(b.out.s, c.out.s, 40 * sizeof(float));
    for (int e = 0; e < 9; e++) assert_true(c.out.u[e * c.stride] == 0 && c.out.v[e * c.stride] == 0);
    fa_free(b.base);
    fa_free(c.base);
}

// --- memoised -----------------------------------------------------------------------------------------------------

// Distinct values, well apart: 2, 1.2, 0.5 and their like.
static void fill_distinct(Batch *b, uint64_t seed) {
    for (int i = 0; i < b->n; i++) {
        uint64_t at = seed + 16 * (uint64_t)i;
        double u[9], v[9], a[9],
            s[3] = {1.8 + 0.4 * fai_random_unit(1, at), 1 + 0.3 * fai_random_unit(1, at + 1),
                    (i % 4 ? 1 : -1) * (0.3 + 0.3 * fai_random_unit(1, at + 2))};
        random_rotation(10, at, u);
        random_rotation(11, at, v);
        compose(u, s, v, a);
        for (int e = 0; e < 9; e++) b->a[e * b->stride + i] = (float)a[e];
    }
}

static void disturb(Batch *b, double size, uint64_t seed) {
    for (int i = 0; i < b->n; i++)
        for (int e = 0; e < 9; e++)
            b->a[e * b->stride + i] += (float)(size * (2 * fai_random_unit(seed, (uint64_t)(9 * i + e)) - 1));
}

static double worst_error(const Batch *b) {
    double worst = 0;
    for (int i = 0; i < b->n; i++) worst = fmax(worst, error_of(b, i));
    return worst;
}

static void memo_keeps_expands_and_renews(void **state) {
    (void)state;
    FaError err = {0};
    FaSvdMemo *memo;
    Batch b = batch_new(333), was = batch_new(333);
    fill_distinct(&b, 3);
    CHECK_OK(fai_svd_memo_new(b.n, &memo, &err), &err);
    FaSvdShares s = fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 0.01f, 0.1f, &b.out);
    assert_int_equal(s.full, b.n);
    assert_int_equal(s.reused + s.taylor, 0);
    assert_true(worst_error(&b) < 3e-6);
    // nothing moved: kept, to the bit
    memcpy(was.a, b.a, 39 * (size_t)b.stride * sizeof(float));
    s = fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 0.01f, 0.1f, &b.out);
    assert_int_equal(s.reused, b.n);
    for (int i = 0; i < b.n; i++) same_columns(&b, i, &was, i);
    // less than tau0: kept although it moved
    disturb(&b, 1e-4, 1);
    s = fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 0.01f, 0.1f, &b.out);
    assert_int_equal(s.reused, b.n);
    for (int i = 0; i < b.n; i++) same_columns(&b, i, &was, i);
    // between: expanded, far better than kept
    s = fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 1e-9f, 0.1f, &b.out);
    assert_int_equal(s.taylor, b.n);
    double expanded = worst_error(&b);
    assert_true(expanded < 2e-6);
    // far: renewed, exact
    disturb(&b, 0.3, 2);
    s = fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 1e-9f, 0.1f, &b.out);
    assert_true(s.full > b.n * 9 / 10 && s.full + s.taylor == b.n);
    assert_true(worst_error(&b) < 0.05);
    s = fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 0, 0, &b.out);
    assert_true(worst_error(&b) < 3e-6);
    // a new step forgets
    fai_svd_memo_restart(memo);
    s = fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 0.01f, 0.1f, &b.out);
    assert_int_equal(s.full, b.n);
    fai_svd_memo_free(memo);
    fa_free(b.base);
    fa_free(was.base);
}

// The expansion's error falls with the square of the distance, and stays below what eq. 6.14 lets through.
static void expansion_is_of_first_order(void **state) {
    (void)state;
    FaError err = {0};
    FaSvdMemo *memo;
    double last = 0;
    for (int k = 0; k < 4; k++) {
        Batch b = batch_new(1000);
        fill_distinct(&b, 7);
        CHECK_OK(fai_svd_memo_new(b.n, &memo, &err), &err);
        fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 0, 1e6f, &b.out);
        disturb(&b, 0.02 / (1 << k), 9);
        FaSvdShares s = fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 0, 1e6f, &b.out);
        assert_int_equal(s.taylor, b.n);
        double sum = 0;
        for (int i = 0; i < b.n; i++) {
            double a[9], u[9], v[9], t[3], back[9], d = 0;
            get(b.a, b.stride, i, 9, a);
            get(b.out.u, b.stride, i, 9, u);
            get(b.out.s, b.stride, i, 3, t);
            get(b.out.v, b.stride, i, 9, v);
            compose(u, t, v, back);
            for (int e = 0; e < 9; e++) d += (a[e] - back[e]) * (a[e] - back[e]);
            sum += sqrt(d) / b.n;
        }
        print_message("distance %.4f: mean error %.3g\n", 0.02 / (1 << k), sum);
        if (k) assert_true(last / sum > 3.6 && last / sum < 4.4);
        last = sum;
        fai_svd_memo_free(memo);
        fa_free(b.base);
    }
    assert_true(last > 1e-7);
}

// Many small steps away from an exact state: the error does not add up, and crossing tau1 renews.
static void expansions_do_not_drift(void **state) {
    (void)state;
    FaError err = {0};
    FaSvdMemo *memo;
    Batch b = batch_new(64);
    fill_distinct(&b, 21);
    CHECK_OK(fai_svd_memo_new(b.n, &memo, &err), &err);
    FaSvdShares all = {0};
    double worst = 0;
    for (int k = 0; k < 500; k++) {
        disturb(&b, 2e-3, 100 + (uint64_t)k);
        FaSvdShares s = fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 1e-4f, 0.05f, &b.out);
        all.taylor += s.taylor, all.full += s.full, all.reused += s.reused;
        double e = worst_error(&b);
        worst = fmax(worst, e);
    }
    print_message("500 steps: %d kept, %d expanded, %d renewed, worst error %.2g\n", all.reused, all.taylor, all.full,
                  worst);
    assert_true(all.taylor > all.full && all.full > b.n);
    assert_true(worst < 6 * 0.05 * 0.05);
    fai_svd_memo_free(memo);
    fa_free(b.base);
}

// Equal and opposite values: the Jacobian has no bound, so any move decomposes anew; none at all is kept.
static void equal_values_are_renewed(void **state) {
    (void)state;
    static const double values[][3] = {{1, 1, 1}, {2, 2, 1}, {2, 1, 1}, {2, 1, -1}, {1, 0, 0}, {0, 0, 0}};
    FaError err = {0};
    FaSvdMemo *memo;
    Batch b = batch_new(FA_COUNT(values));
    CHECK_OK(fai_svd_memo_new(b.n, &memo, &err), &err);
    for (int i = 0; i < b.n; i++) {
        double u[9], v[9], a[9];
        random_rotation(1, 8 * (uint64_t)i, u);
        random_rotation(2, 8 * (uint64_t)i, v);
        compose(u, values[i], v, a);
        for (int e = 0; e < 9; e++) b.a[e * b.stride + i] = (float)a[e];
    }
    fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 0.01f, 0.1f, &b.out);
    assert_int_equal(fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 0.01f, 0.1f, &b.out).reused, b.n);
    disturb(&b, 1e-5, 4);
    assert_int_equal(fai_svd_memo_update(memo, 0, b.n, b.a, b.stride, 0.01f, 0.1f, &b.out).full, b.n);
    assert_true(worst_error(&b) < 3e-6);
    fai_svd_memo_free(memo);
    fa_free(b.base);
}

static void memo_twins_agree(void **state) {
    (void)state;
    FaError err = {0};
    for (int n = 0; n < 44; n++) {
        FaSvdMemo *fast, *plain;
        Batch b = batch_new(n), c = batch_new(n);
        fill_distinct(&b, (uint64_t)n);
        CHECK_OK(fai_svd_memo_new(n, &fast, &err), &err);
        setenv("FA_SIMD", "ref", 1);
        CHECK_OK(fai_svd_memo_new(n, &plain, &err), &err);
        unsetenv("FA_SIMD");
        for (int k = 0; k < 8; k++) {
            memcpy(c.a, b.a, 9 * (size_t)b.stride * sizeof(float));
            int half = n > 16 ? 16 : 0; // in two calls, as chunks make them
            FaSvd3 rest = {b.out.u + half, b.out.s + half, b.out.v + half, b.stride};
            FaSvdShares p = fai_svd_memo_update(fast, 0, half, b.a, b.stride, 0.02f, 0.05f, &b.out);
            FaSvdShares r = fai_svd_memo_update(fast, half, n, b.a + half, b.stride, 0.02f, 0.05f, &rest);
            FaSvdShares q = fai_svd_memo_update(plain, 0, n, c.a, c.stride, 0.02f, 0.05f, &c.out);
            assert_true(p.full + r.full == q.full && p.taylor + r.taylor == q.taylor &&
                        p.reused + r.reused == q.reused);
            assert_int_equal(q.full + q.taylor + q.reused, n);
            for (int i = 0; i < n; i++) same_columns(&b, i, &c, i);
            disturb(&b, 0.006, 300 + (uint64_t)k);
        }
        fai_svd_memo_free(fast);
        fai_svd_memo_free(plain);
        fa_free(b.base);
        fa_free(c.base);
    }
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    for (int k = 1; k <= 2; k++) {
        FaError err = {0};
        FaSvdMemo *memo;
        test_fail_alloc(k);
        assert_int_equal(fai_svd_memo_new(100, &memo, &err), FA_E_MEMORY);
        assert_true(test_alloc_failed() && !memo);
        test_fail_alloc(0);
    }
    fai_svd_memo_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_matrix_is_decomposed_exactly),
        cmocka_unit_test(zero_and_identity_are_exact),
        cmocka_unit_test(twins_agree_to_the_bit),
        cmocka_unit_test(neighbours_do_not_matter),
        cmocka_unit_test(rotations_may_be_left_out),
        cmocka_unit_test(memo_keeps_expands_and_renews),
        cmocka_unit_test(expansion_is_of_first_order),
        cmocka_unit_test(expansions_do_not_drift),
        cmocka_unit_test(equal_values_are_renewed),
        cmocka_unit_test(memo_twins_agree),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
