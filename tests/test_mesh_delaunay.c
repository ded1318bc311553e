// Delaunay: empty spheres, the hull's volume, neighbours, degenerate points, memory that fails.
// labels: unit hash
#include "test.h"

#include "base/base.h"
#include "math/predicates.h"
#include "mesh/delaunay.h"

static double volume_of(const float *x, const int *t) {
    double e[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) e[i][k] = (double)x[3 * t[i + 1] + k] - (double)x[3 * t[0] + k];
    return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
            e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
           6;
}

// Neighbours know each other and their spheres are empty of each other, which makes all spheres empty; faces without
// a neighbour have every point on one side (the hull is convex), tried on `every`-th face. Volume, or fails.
static double check(int n, const float *x, const FaDelaunay *d, int every) {
    double volume = 0;
    int hull = 0;
    for (int t = 0; t < d->ntet; t++) {
        const int *v = d->tet + 4 * t;
        assert_int_equal(fai_orient3d(x + 3 * v[0], x + 3 * v[1], x + 3 * v[2], x + 3 * v[3]), 1);
        volume += volume_of(x, v);
        for (int k = 0; k < 4; k++) {
            int o = d->near[4 * t + k], back = -1;
            if (o < 0) {
                const float *c[4];
                if (hull++ % every) continue;
                for (int p = 0; p < n; p++) {
                    for (int i = 0; i < 4; i++) c[i] = x + 3 * (i == k ? p : v[i]);
                    assert_true(fai_orient3d(c[0], c[1], c[2], c[3]) >= 0);
                }
                continue;
            }
            for (int j = 0; j < 4; j++)
                if (d->near[4 * o + j] == t) back = j;
            assert_true(back >= 0);
            assert_true(fai_insphere(x + 3 * v[0], x + 3 * v[1], x + 3 * v[2], x + 3 * v[3],
                                     x + 3 * d->tet[4 * o + back]) <= 0);
        }
    }
    return volume;
}

static float *random_points(int n, uint64_t seed, double grid) {
    float *x = malloc(12 * (size_t)n);
    assert_non_null(x);
    for (int i = 0; i < 3 * n; i++) {
        double u = fai_random_unit(seed, (uint64_t)i) - 0.5;
        x[i] = (float)(grid > 0 ? round(u / grid) * grid : u);
    }
    return x;
}

static FaDelaunay make(int n, const float *x) {
    FaError err = {0};
    FaDelaunay d;
    CHECK_OK(fai_delaunay(n, x, &d, &err), &err);
    return d;
}

static void random_clouds(void **state) {
    (void)state;
    for (int n = 0; n < 60; n++) {
        float *x = random_points(n, (uint64_t)n, 0);
        FaDelaunay d = make(n, x);
        assert_true(n < 4 ? d.ntet == 0 : d.ntet > 0);
        check(n, x, &d, 1);
        // no sphere has any point in it, by trying all
        for (int t = 0; t < d.ntet; t++)
            for (int p = 0; p < n; p++) {
                const int *v = d.tet + 4 * t;
                assert_true(fai_insphere(x + 3 * v[0], x + 3 * v[1], x + 3 * v[2], x + 3 * v[3], x + 3 * p) <= 0);
            }
        fai_delaunay_free(&d);
        free(x);
    }
}

static void many(void **state) {
    (void)state;
    const int n = 20000;
    float *x = random_points(n, 5, 0);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++) x[3 * i + k] = i >> k & 1 ? 0.5f : -0.5f; // so that the hull is a cube
    double begin = fai_seconds();
    FaDelaunay d = make(n, x);
    print_message("%d points, %d tets, %.3f s\n", n, d.ntet, fai_seconds() - begin);
    CHECK_NEAR(check(n, x, &d, 10), 1, 1e-9);
    FaDelaunay again = make(n, x);
    assert_int_equal(again.ntet, d.ntet);
    assert_memory_equal(again.tet, d.tet, 16 * (size_t)d.ntet);
    fai_delaunay_free(&again);
    fai_delaunay_free(&d);
    free(x);
}

// Lattices: cubes (eight on every sphere), in floats that are exact and in some that are not; doubled; body-centred.
static void lattices(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        const int m = 11, one = m * m * m;
        const double h = kind == 1 ? 0.0041 : 0.125;
        int n = 0;
        float *x = malloc(12 * 2 * (size_t)one);
        assert_non_null(x);
        for (int copy = 0; copy < (kind >= 2 ? 2 : 1); copy++)
            for (int i = 0; i < one; i++, n++) {
                const int at[3] = {i % m, i / m % m, i / m / m};
                for (int k = 0; k < 3; k++) x[3 * n + k] = (float)(h * (at[k] + (kind == 3 && copy ? 0.5 : 0)));
            }
        double begin = fai_seconds();
        FaDelaunay d = make(n, x);
        print_message("lattice %d: %d points, %d tets, %.3f s\n", kind, n, d.ntet, fai_seconds() - begin);
        assert_int_equal(d.repeated, kind == 2 ? one : 0);
        double side = h * (m - 1), volume = check(n, x, &d, 20);
        if (kind < 3) CHECK_NEAR(volume / (side * side * side), 1, 1e-6);
        for (int i = 0; i < n; i++) assert_int_equal(d.same[d.same[i]], d.same[i]);
        fai_delaunay_free(&d);
        free(x);
    }
}

// Clouds where almost everything coincides, is flat or lies on one sphere.
static void degenerate(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        int n = 4 + (int)(seed % 60);
        float *x = random_points(n, seed, seed % 3 == 0 ? 0.5 : 0.25);
        for (int i = 0; i < n && seed % 5 == 0; i++) x[3 * i + 2] = 0.25f;        // one plane
        for (int i = 0; i < n && seed % 7 == 0; i++) x[3 * i] = x[3 * i + 1] = 1; // one line
        FaDelaunay d = make(n, x);
        if (seed % 5 == 0 || seed % 7 == 0) assert_int_equal(d.ntet, 0);
        check(n, x, &d, 1);
        int used = 0;
        unsigned char *seen = calloc((size_t)n, 1);
        for (int i = 0; i < 4 * d.ntet; i++) used += !seen[d.tet[i]], seen[d.tet[i]] = 1;
        if (d.ntet) assert_int_equal(used, n - d.repeated);
        free(seen);
        fai_delaunay_free(&d);
        free(x);
    }
    const float bad[15] = {0, 0, 0, 1, 0, 0, 0, NAN, 0, 0, 0, 1, 1, 1, 1};
    FaError err = {0};
    FaDelaunay d;
    assert_int_equal(fai_delaunay(5, bad, &d, &err), FA_E_NUMERIC);
}

static void memory_fails(void **state) {
    (void)state;
    float *x = random_points(400, 9, 0);
    long before = test_alloc_balance();
    int failures = 0;
    for (long k = 1;; k++) {
        FaError err = {0};
        FaDelaunay d;
        test_fail_alloc(k);
        FaCode rc = fai_delaunay(400, x, &d, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fai_delaunay_free(&d);
        assert_int_equal(test_alloc_balance(), before);
        if (!failed) break;
        assert_int_equal(rc, FA_E_MEMORY);
        failures++;
    }
    assert_true(failures > 10);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_clouds), cmocka_unit_test(many),
                                       cmocka_unit_test(lattices), cmocka_unit_test(degenerate),
                                       cmocka_unit_test(memory_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
