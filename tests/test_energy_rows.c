// Contact and sticky rows, anchors: gradients against differences, floats against the formula, what is refused.
#include "test_solve_slab.h"

#include "energy/anchor.h"
#include "energy/push_pull.h"

static double noise(uint64_t seed, uint64_t i) { return 2 * fai_random_unit(seed, i) - 1; }

static FaRow random_row(int i, int nnode) {
    FaRow r = {.gap = 1e-3f, .stiffness = (float)(1 + i % 7), .kind = i % 3 == 0 ? FA_ROW_PULL : FA_ROW_PUSH};
    double n[3], len = 0;
    for (int k = 0; k < 4; k++) {
        r.node[k] = k == i % 5 ? -1 : (i + 3 * k) % nnode;
        r.weight[k] = (float)noise(1, (uint64_t)(4 * i + k));
    }
    for (int k = 0; k < 3; k++) {
        n[k] = noise(2, (uint64_t)(3 * i + k));
        len += n[k] * n[k];
    }
    for (int k = 0; k < 3; k++)
        r.normal[k] = (float)(n[k] / sqrt(len)), r.offset[k] = (float)(0.1 * noise(3, (uint64_t)(3 * i + k)));
    return r;
}

static void row_gradient(void **state) {
    (void)state;
    int act = 0;
    for (int i = 0; i < 1000; i++) {
        FaRow r = random_row(i, 40);
        double u[4][3], g[4][3], y[4][3], diff = 0, size = 0;
        for (int k = 0; k < 12; k++) u[k / 3][k % 3] = 0.1 * noise(4, (uint64_t)(12 * i + k));
        double e = fai_row_energy_ref(&r, (const double(*)[3])u, g);
        act += e > 0;
        for (int k = 0; k < 12; k++) {
            double at[2];
            for (int side = 0; side < 2; side++) {
                memcpy(y, u, sizeof y);
                y[k / 3][k % 3] += (side ? 1 : -1) * 1e-6;
                at[side] = fai_row_energy_ref(&r, (const double(*)[3])y, NULL);
            }
            double d = (at[1] - at[0]) / 2e-6;
            diff += (d - g[k / 3][k % 3]) * (d - g[k / 3][k % 3]);
            size += g[k / 3][k % 3] * g[k / 3][k % 3];
        }
        if (e > 1e-10)
            CHECK_NEAR(sqrt(diff / size), 0, 1e-6);
        else
            assert_true(diff < 1e-12);
    }
    assert_in_range(act, 400, 900); // pulls, and about half of the pushes
}

static void rows_batched(void **state) {
    (void)state;
    enum { N = 40, ROWS = 100 };
    static FaRow row[ROWS];
    _Alignas(16) static float u[4 * N], g[4 * N];
    static double want_g[3 * N];
    unsigned char active[ROWS];
    double want = 0;
    for (int i = 0; i < 3 * N; i++) u[4 * (i / 3) + i % 3] = (float)(0.1 * noise(9, (uint64_t)i));
    for (int i = 0; i < ROWS; i++) row[i] = random_row(i, N);
    double e = fai_rows_eval(ROWS, row, u, g, active);
    for (int i = 0; i < ROWS; i++) {
        double x[4][3] = {{0}}, gr[4][3], one;
        for (int k = 0; k < 12; k++)
            if (row[i].node[k / 3] >= 0) x[k / 3][k % 3] = (double)u[4 * row[i].node[k / 3] + k % 3];
        want += one = fai_row_energy_ref(&row[i], (const double(*)[3])x, gr);
        assert_int_equal(active[i], one > 0);
        if (row[i].kind == FA_ROW_PUSH) assert_int_equal(fai_row_slack(&row[i], u) < 0, one > 0);
        for (int k = 0; k < 12; k++)
            if (row[i].node[k / 3] >= 0) want_g[3 * row[i].node[k / 3] + k % 3] += gr[k / 3][k % 3];
    }
    assert_true(want > 0);
    CHECK_NEAR(e / want, 1, 1e-12);
    for (int i = 0; i < 3 * N; i++) CHECK_NEAR(g[4 * (i / 3) + i % 3], want_g[i], 2e-6);
}

static void rows_refused(void **state) {
    (void)state;
    FaError err = {0};
    FaRow good[3] = {random_row(1, 20), random_row(2, 20), random_row(3, 20)};
    assert_int_equal(fai_rows_check(3, good, 20, 3, &err), FA_OK);
    assert_int_equal(fai_rows_check(3, good, 20, 2, &err), FA_E_LIMIT);
    assert_int_equal(fai_rows_check(0, NULL, 20, 0, &err), FA_OK);
    for (int k = 0; k < 8; k++) {
        FaRow r[3] = {good[0], good[1], good[1]};
        if (k == 0) r[2].node[3] = 20;
        if (k == 1) r[2].node[0] = -2;
        if (k == 2) r[2].weight[0] = NAN;
        if (k == 3) r[2].stiffness = 0;
        if (k == 4) r[2].normal[1] += 0.5f;
        if (k == 5) r[2].offset[2] = INFINITY;
        if (k == 6) r[2].node[0] = r[2].node[1];
        if (k == 7) r[2].gap = NAN;
        err = (FaError){0};
        assert_int_equal(fai_rows_check(3, r, 20, 3, &err), FA_E_ARG);
        assert_non_null(strstr(err.place, "row 2"));
    }
}

// Several anchors on a node, targets or none.
static void anchors(void **state) {
    (void)state;
    enum { N = 3000, A = 4000 };
    FaArena *a = fai_arena_new(0);
    FaError err = {0};
    FaElastic e = {.nnode = N, .nanchor = A};
    e.anchor_node = FA_PUSH(a, A, int);
    e.anchor_weight = FA_PUSH(a, A, double);
    float *u = FA_PUSH(a, 4 * N, float), *g = FA_PUSH(a, 4 * N, float), *target = FA_PUSH(a, 4 * A, float);
    double *want_g = FA_PUSH(a, 3 * N, double);
    for (int i = 0; i < A; i++)
        e.anchor_node[i] = (int)(fai_random_u64(1, (uint64_t)i) % N), e.anchor_weight[i] = 1 + i % 5;
    for (int i = 0; i < 3 * N; i++) u[4 * (i / 3) + i % 3] = (float)noise(2, (uint64_t)i);
    for (int i = 0; i < 3 * A; i++) target[4 * (i / 3) + i % 3] = (float)noise(3, (uint64_t)i);
    FaAnchors *an;
    CHECK_OK(fai_anchors_new(&e, &an, &err), &err);
    for (int with = 0; with < 2; with++) {
        memset(g, 0, 16 * N);
        memset(want_g, 0, 24 * N);
        double energy = fai_anchors_eval(an, with ? target : NULL, u, g), want = 0;
        assert_true(energy == fai_anchors_eval(an, with ? target : NULL, u, NULL));
        for (int i = 0; i < A; i++) {
            double x[3], t[3], gr[3];
            for (int k = 0; k < 3; k++) x[k] = (double)u[4 * e.anchor_node[i] + k], t[k] = (double)target[4 * i + k];
            want += fai_anchor_energy_ref(e.anchor_weight[i], x, with ? t : NULL, gr);
            for (int k = 0; k < 3; k++) want_g[3 * e.anchor_node[i] + k] += gr[k];
        }
        CHECK_NEAR(energy / want, 1, 1e-7);
        for (int i = 0; i < 3 * N; i++) CHECK_NEAR(g[4 * (i / 3) + i % 3], want_g[i], 1e-5);
    }
    fai_anchors_free(an);
    fai_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_gradient),
        cmocka_unit_test(rows_batched),
        cmocka_unit_test(rows_refused),
        cmocka_unit_test(anchors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
