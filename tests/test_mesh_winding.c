// Winding numbers: closed, open, inverted and doubled surfaces; the tree against the sum of all solid angles.
// labels: unit hash
#include "test.h"

#include "base/base.h"
#include "mesh/winding.h"

enum { RINGS = 40, AROUND = 80 };
static float x[3 * (RINGS + 1) * AROUND];
static int tri[6 * RINGS * AROUND];

// A ball of radius 1 about (cx, 0, 0) from its north pole down to `rings`; the triangles, facing outwards or inwards.
static int ball(double cx, int rings, bool inwards) {
    const double pi = 3.14159265358979323846;
    int n = 0;
    for (int j = 0; j <= RINGS; j++)
        for (int i = 0; i < AROUND; i++) {
            double a = pi * j / RINGS, b = 2 * pi * i / AROUND;
            float *v = x + 3 * (j * AROUND + i);
            v[0] = (float)(cx + sin(a) * sin(b)), v[1] = (float)cos(a), v[2] = (float)(sin(a) * cos(b));
        }
    for (int j = 0; j < rings; j++)
        for (int i = 0; i < AROUND; i++) {
            int a = j * AROUND + i, b = j * AROUND + (i + 1) % AROUND, c = a + AROUND, d = b + AROUND;
            const int q[6] = {a, c, d, a, d, b};
            for (int k = 0; k < 6; k++) tri[3 * n + k] = q[inwards ? 3 * (k / 3) + 2 - k % 3 : k];
            n += 2;
        }
    return n;
}

static FaWinding *make(int ntri) {
    FaError err = {0};
    FaWinding *w = NULL;
    CHECK_OK(fai_winding_new(x, ntri, tri, &w, &err), &err);
    return w;
}

static void some_point(uint64_t i, double p[3]) {
    for (int k = 0; k < 3; k++) p[k] = 4 * fai_random_unit(3, 3 * i + (uint64_t)k) - 2;
}

static void closed(void **state) {
    (void)state;
    for (int inwards = 0; inwards < 2; inwards++) {
        FaWinding *w = make(ball(0, RINGS, inwards));
        double worst = 0;
        int inside = 0;
        for (uint64_t i = 0; i < 3000; i++) {
            double p[3];
            some_point(i, p);
            double r = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]), in = r < 1 ? 1 : 0;
            double near = fai_winding_at(w, p);
            if (fabs(r - 1) < 0.01) continue;
            if (i % 10 == 0) CHECK_NEAR(fai_winding_exact(w, p), inwards ? -in : in, 1e-9);
            worst = fmax(worst, fabs(near - (inwards ? -in : in)));
            inside += r < 1;
        }
        print_message("%s: %d inside, the tree is off by %.4f at most\n", inwards ? "inwards" : "outwards", inside,
                      worst);
        assert_true(inside > 100 && worst < 0.06);
        fai_winding_free(w);
    }
}

// Half a ball: at its centre exactly half of the world is covered, for any cut a share that falls from 1 to 0.
static void open_surface(void **state) {
    (void)state;
    FaWinding *w = make(ball(0, RINGS / 2, false));
    CHECK_NEAR(fai_winding_exact(w, (double[3]){0, 0, 0}), 0.5, 1e-6);
    CHECK_NEAR(fai_winding_at(w, (double[3]){0, 0, 0}), 0.5, 0.02);
    double last = 2;
    for (double y = 0.95; y > -2; y -= 0.05) {
        double v = fai_winding_exact(w, (double[3]){0, y, 0});
        assert_true(v < last && v > -1e-9);
        CHECK_NEAR(fai_winding_at(w, (double[3]){0, y, 0}), v, 0.06);
        last = v;
    }
    fai_winding_free(w);
}

// The same surface twice counts twice; none at all, never; a broken vertex is said; memory fails.
static void soups(void **state) {
    (void)state;
    FaError err = {0};
    int n = ball(0, RINGS / 2, false);
    memcpy(tri + 3 * n, tri, 12 * (size_t)n);
    FaWinding *w = make(2 * n);
    CHECK_NEAR(fai_winding_exact(w, (double[3]){0, 0, 0}), 1, 1e-6);
    fai_winding_free(w);
    w = make(0);
    CHECK_NEAR(fai_winding_at(w, (double[3]){0, 0, 0}), 0, 0);
    fai_winding_free(w);
    x[3 * tri[0]] = NAN;
    assert_int_equal(fai_winding_new(x, n, tri, &w, &err), FA_E_NUMERIC);
    assert_null(w);
    ball(0, RINGS, false);
    long before = test_alloc_balance();
    for (long k = 1;; k++) {
        test_fail_alloc(k);
        FaCode rc = fai_winding_new(x, n, tri, &w, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fai_winding_free(w);
        assert_int_equal(test_alloc_balance(), before);
        if (!failed) break;
        assert_int_equal(rc, FA_E_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(closed), cmocka_unit_test(open_surface),
                                       cmocka_unit_test(soups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
