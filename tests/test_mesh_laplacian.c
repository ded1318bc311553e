// The cotangent Laplacian: symmetry, row sums, linear precision, energy of a harmonic, slivers, seams.
#include "test_mesh_shapes.h"

#include "mesh/laplacian.h"

static const double PI = 3.14159265358979323846;

// Symmetric to the bit, rows sum to 0, and no negative energy for random functions; the largest entry.
static double check_sound(const FaCsr *l) {
    double largest = 0;
    assert_int_equal(fai_csr_check(l, NULL), FA_OK);
    for (int i = 0; i < l->start[l->nrow]; i++) largest = fmax(largest, fabs(l->val[i]));
    for (int r = 0; r < l->nrow; r++) {
        double sum = 0;
        for (int i = l->start[r]; i < l->start[r + 1]; i++) {
            assert_true(l->val[i] == fai_csr_at(l, l->col[i], r));
            sum += l->val[i];
        }
        CHECK_NEAR(sum, 0, 1e-14 * largest);
    }
    double *f = FA_PUSH(arena, l->nrow, double), *lf = FA_PUSH(arena, l->nrow, double);
    for (uint64_t seed = 0; seed < 20; seed++) {
        double energy = 0;
        for (int i = 0; i < l->nrow; i++) f[i] = fai_random_normal(seed, (uint64_t)i);
        fai_csr_mul(l, f, lf);
        for (int i = 0; i < l->nrow; i++) energy += f[i] * lf[i];
        assert_true(energy >= -1e-10 * largest);
    }
    return largest;
}

// On a flat, irregular mesh the Laplacian of every linear function is 0 inside, and its energy is slope^2 times area.
static void linear_precision(void **state) {
    (void)state;
    enum { N = 12 };
    FaMesh m = shape_grid(N, 0.7, 3);
    FaCsr l;
    double mass[(N + 1) * (N + 1)], f[(N + 1) * (N + 1)], lf[(N + 1) * (N + 1)], total = 0, energy = 0, outside = 0;
    int clamped = -1;
    assert_int_equal(fai_laplacian_build(&m, NULL, &l, mass, &clamped, NULL), FA_OK);
    assert_int_equal(clamped, 0);
    check_sound(&l);
    for (int v = 0; v < m.nvert; v++) {
        f[v] = 3 * (double)m.x[3 * v] - 2 * (double)m.x[3 * v + 1] + 1;
        total += mass[v];
    }
    fai_csr_mul(&l, f, lf);
    for (int v = 0; v < m.nvert; v++) {
        int i = v % (N + 1), j = v / (N + 1);
        bool inside = i > 0 && i < N && j > 0 && j < N;
        if (inside)
            CHECK_NEAR(lf[v], 0, 1e-12);
        else
            outside = fmax(outside, fabs(lf[v]));
        energy += f[v] * lf[v];
    }
    assert_true(outside > 0.01);
    CHECK_NEAR(total, 1, 1e-12);
    CHECK_NEAR(energy, 13, 1e-11);
    fai_csr_free(&l);
}

// z on the unit sphere is a harmonic: eigenvalue 2, energy 8 pi / 3; the error falls with the square of the step.
static double sphere_error(int rings) {
    FaMesh m = shape_sphere(rings, 2 * rings, 1);
    FaCsr l;
    assert_int_equal(fai_laplacian_build(&m, NULL, &l, NULL, NULL, NULL), FA_OK);
    check_sound(&l);
    double *f = FA_PUSH(arena, m.nvert, double), *lf = FA_PUSH(arena, m.nvert, double), energy = 0;
    for (int v = 0; v < m.nvert; v++) f[v] = (double)m.x[3 * v + 2];
    fai_csr_mul(&l, f, lf);
    for (int v = 0; v < m.nvert; v++) energy += f[v] * lf[v];
    fai_csr_free(&l);
    return fabs(energy - 8 * PI / 3);
}

static void sphere_harmonic(void **state) {
    (void)state;
    double coarse = sphere_error(20), fine = sphere_error(40);
    print_message("energy off by %.1e, %.1e\n", coarse, fine);
    assert_true(coarse < 0.1 && log2(coarse / fine) > 1.9);
}

// Known triangle: right angle at the first corner, so its cotangent is 0 and the others' are 1.
static void one_triangle(void **state) {
    (void)state;
    const float x[] = {0, 0, 5, 2, 0, 5, 0, 2, 5};
    FaMesh m = shape_triangles(3, x, 1, (int[]){0, 1, 2});
    FaCsr l;
    double mass[3];
    assert_int_equal(fai_laplacian_build(&m, NULL, &l, mass, NULL, NULL), FA_OK);
    const double truth[3][3] = {{1, -0.5, -0.5}, {-0.5, 0.5, 0}, {-0.5, 0, 0.5}};
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(mass[i], 2.0 / 3, 1e-15);
        for (int j = 0; j < 3; j++) CHECK_NEAR(fai_csr_at(&l, i, j), truth[i][j], 1e-15);
    }
    fai_csr_free(&l);
}

// Triangles of no area in all their forms: finite, bounded, still sound, and counted.
static void slivers(void **state) {
    (void)state;
    const float x[] = {0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 1, 0, 1, 1e-7f, 0, 5, 5, 5};
    const int tri[] = {0, 1, 3, 0, 1, 2, 0, 2, 5, 3, 4, 4, 0, 3, 4, 6, 6, 6};
    FaMesh m = shape_triangles(7, x, 6, tri);
    FaCsr l;
    double mass[7];
    int clamped = -1;
    assert_int_equal(fai_laplacian_build(&m, NULL, &l, mass, &clamped, NULL), FA_OK);
    assert_int_equal(clamped, 5);
    double largest = check_sound(&l);
    assert_true(largest > 100 && largest < 1e5);
    assert_int_equal(l.start[7], l.start[6]);
    assert_true(mass[6] == 0);
    CHECK_NEAR(fai_csr_at(&l, 1, 3), 0, 1e-9); // the sound triangle's right angle is at 0
    fai_csr_free(&l);

    m.x[4] = NAN;
    FaError err = {0};
    assert_int_equal(fai_laplacian_build(&m, NULL, &l, mass, NULL, &err), FA_E_NUMERIC);
    assert_string_equal(err.place, "triangle 0");
    assert_null(l.start);
}

// A seam that the weld map closes is no boundary: the rows equal those of the mesh without the seam.
static void seams(void **state) {
    (void)state;
    FaMesh m = shape_sphere(8, 12, 1), split = m;
    // copies of the vertices of one meridian, used by the triangles on its far side
    int *weld = FA_PUSH(arena, m.nvert + 7, int), *tri = FA_PUSH(arena, 3 * m.ntri, int);
    float *x = FA_PUSH(arena, 3 * (m.nvert + 7), float);
    memcpy(x, m.x, 3 * (size_t)m.nvert * sizeof *x);
    for (int v = 0; v < m.nvert + 7; v++) weld[v] = v < m.nvert ? v : (v - m.nvert) * 12;
    for (int r = 0; r < 7; r++) memcpy(x + 3 * (m.nvert + r), m.x + 3 * 12 * r, 3 * sizeof *x);
    int moved = 0;
    for (int i = 0; i < 3 * m.ntri; i++) {
        int v = m.tri[i], t = i / 3 * 3;
        bool far_side = false;
        for (int k = 0; k < 3; k++) far_side |= m.tri[t + k] < m.nvert - 2 && m.tri[t + k] % 12 == 11;
        bool copy = v < m.nvert - 2 && v % 12 == 0 && far_side;
        tri[i] = copy ? m.nvert + v / 12 : v;
        moved += copy;
    }
    assert_true(moved > 10);
    split.nvert += 7;
    split.x = x;
    split.tri = tri;
    split.weld = weld;
    FaCsr a, b;
    assert_int_equal(fai_laplacian_build(&m, NULL, &a, NULL, NULL, NULL), FA_OK);
    assert_int_equal(fai_laplacian_build(&split, NULL, &b, NULL, NULL, NULL), FA_OK);
    assert_memory_equal(a.start, b.start, ((size_t)m.nvert + 1) * sizeof(int));
    assert_memory_equal(a.val, b.val, (size_t)a.start[m.nvert] * sizeof(double));
    assert_int_equal(b.start[split.nvert], a.start[m.nvert]);
    fai_csr_free(&a);
    fai_csr_free(&b);
}

static void ict_neutral(void **state) {
    (void)state;
    FaMesh m;
    if (!shape_ict_neutral(&m)) skip();
    FaCsr l;
    double *mass = FA_PUSH(arena, m.nvert, double), start = fai_seconds();
    int clamped;
    assert_int_equal(fai_laplacian_build(&m, NULL, &l, mass, &clamped, NULL), FA_OK);
    print_message("%d triangles: %.1f ms, %d clamped\n", m.ntri, 1e3 * (fai_seconds() - start), clamped);
    check_sound(&l);
    fai_csr_free(&l);
}

static void survives_no_memory(void **state) {
    (void)state;
    FaMesh m = shape_sphere(4, 6, 1);
    for (int k = 1;; k++) {
        assert_true(k < 20);
        long before = test_alloc_balance();
        test_fail_alloc(k);
        FaCsr l;
        FaCode code = fai_laplacian_build(&m, NULL, &l, NULL, NULL, NULL);
        bool delivered = test_alloc_failed();
        assert_int_equal(code, delivered ? FA_E_MEMORY : FA_OK);
        fai_csr_free(&l);
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), before);
        if (!delivered) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(linear_precision, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sphere_harmonic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_triangle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slivers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(seams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ict_neutral, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
