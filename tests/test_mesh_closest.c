// Closest points and rays: both trees against each other and against all triangles.
#include "test_mesh_shapes.h"

#include "math/mat3.h"
#include "mesh/closest.h"

#include <float.h>

static FaMesh soup(int n, double size, uint64_t seed) {
    float *x = FA_PUSH(arena, 9 * (size_t)n, float);
    int *tri = FA_PUSH(arena, 3 * (size_t)n, int);
    for (int t = 0; t < n; t++)
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++)
                x[9 * (size_t)t + 3 * i + k] =
                    (float)(fai_random_unit(seed, 1000000 + 3 * (uint64_t)t + (uint64_t)k) +
                            size * fai_random_normal(seed, 9 * (uint64_t)t + 3 * (uint64_t)i + (uint64_t)k));
            tri[3 * t + i] = 3 * t + i;
        }
    return shape_triangles(3 * n, x, n, tri);
}

// Distance to a triangle by a way of its own: the foot of the perpendicular if it is inside, else the edges, with
// everything decided by cross products.
static double plain_distance(const FaMesh *m, int t, const double p[3]) {
    double c[3][3], n[3], best = HUGE_VAL;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) c[i][k] = (double)m->x[3 * m->tri[3 * t + i] + k];
    double u[3], v[3];
    for (int k = 0; k < 3; k++) {
        u[k] = c[1][k] - c[0][k];
        v[k] = c[2][k] - c[0][k];
    }
    for (int k = 0; k < 3; k++) n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    double nn = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    bool inside = nn > 0;
    for (int i = 0; i < 3; i++) {
        double *a = c[i], *b = c[(i + 1) % 3], e[3], w[3], ee = 0, ew = 0, side = 0, d2 = 0;
        for (int k = 0; k < 3; k++) {
            e[k] = b[k] - a[k];
            w[k] = p[k] - a[k];
            ee += e[k] * e[k];
            ew += e[k] * w[k];
        }
        for (int k = 0; k < 3; k++) side += n[k] * (e[(k + 1) % 3] * w[(k + 2) % 3] - e[(k + 2) % 3] * w[(k + 1) % 3]);
        inside = inside && side >= 0;
        double s = ee > 0 ? fmin(1, fmax(0, ew / ee)) : 0;
        for (int k = 0; k < 3; k++) d2 += (w[k] - s * e[k]) * (w[k] - s * e[k]);
        best = fmin(best, sqrt(d2));
    }
    if (!inside) return best;
    double along = 0;
    for (int k = 0; k < 3; k++) along += n[k] * (p[k] - c[0][k]);
    return fmin(best, fabs(along) / sqrt(nn));
}

static double plain_closest(const FaMesh *m, const float p[3]) {
    double q[3] = {(double)p[0], (double)p[1], (double)p[2]}, best = HUGE_VAL;
    for (int t = 0; t < m->ntri; t++) best = fmin(best, plain_distance(m, t, q));
    return best;
}

static void check_hit(const FaMesh *m, const FaHit *h) {
    assert_true(h->tri >= 0 && h->tri < m->ntri);
    CHECK_NEAR(h->bary[0] + h->bary[1] + h->bary[2], 1, 1e-6);
    for (int k = 0; k < 3; k++) {
        assert_true(h->bary[k] >= -1e-6f);
        double q = 0, size = 0;
        for (int i = 0; i < 3; i++) {
            q += (double)h->bary[i] * m->x[3 * m->tri[3 * h->tri + i] + k];
            size = fmax(size, fabs((double)m->x[3 * m->tri[3 * h->tri + i] + k]));
        }
        CHECK_NEAR(h->point[k], q, 1e-6 * size + 1e-30);
    }
}

static void same_hit(const FaHit *a, const FaHit *b) { assert_memory_equal(a, b, sizeof *a); }

static void check_points(const FaMesh *m, int n, const float *p) {
    FaClosest *any, *own;
    assert_int_equal(fai_closest_new(m, NULL, &any, NULL), FA_OK);
    assert_int_equal(fai_closest_new_own(m, NULL, &own, NULL), FA_OK);
    FaHit *hits = FA_PUSH(arena, n, FaHit);
    fa_threads_set(3);
    fai_closest_points(any, n, p, INFINITY, hits);
    fa_threads_set(0);
    for (int i = 0; i < n; i++) {
        const float *q = p + 3 * i;
        FaHit a = fai_closest_point(any, q, INFINITY), b = fai_closest_point(own, q, INFINITY);
        check_hit(m, &a);
        same_hit(&a, &b);
        same_hit(&a, &hits[i]);
        double truth = plain_closest(m, q);
        CHECK_NEAR(a.distance, truth, 1e-6 * truth + 1e-12);
        double apart = 0;
        for (int k = 0; k < 3; k++) apart += ((double)a.point[k] - q[k]) * ((double)a.point[k] - q[k]);
        CHECK_NEAR(sqrt(apart), truth, 1e-5 * (truth + 1));
        // within reach, and just out of it
        if (truth < 1e-6) continue;
        b = fai_closest_point(any, q, (float)(truth * 1.00001));
        same_hit(&a, &b);
        for (int k = 0; k < 2; k++) {
            b = fai_closest_point(k ? own : any, q, (float)(truth * 0.99999));
            assert_int_equal(b.tri, -1);
        }
    }
    fai_closest_free(any);
    fai_closest_free(own);
}

static void points_on_soups(void **state) {
    (void)state;
    float p[3 * 300];
    for (int i = 0; i < 900; i++) p[i] = (float)(fai_random_normal(7, (uint64_t)i) * (i < 450 ? 1 : 20));
    FaMesh m = soup(2000, 0.03, 1);
    check_points(&m, 300, p);
    m = soup(1, 1, 2);
    check_points(&m, 300, p);
    m = soup(500, 1e-9, 3); // as good as points
    check_points(&m, 100, p);
    // slivers: the third corner next to the middle of the edge
    m = soup(300, 0.3, 4);
    for (int t = 0; t < 300; t++)
        for (int k = 0; k < 3; k++) m.x[9 * t + 6 + k] = (m.x[9 * t + k] + m.x[9 * t + 3 + k]) / 2;
    check_points(&m, 200, p);
    // and one after the other, from points right above them, where the foot in the plane is all rounding
    for (int t = 0; t < 300; t++) {
        FaMesh one = {.nvert = 3, .ntri = 1, .x = m.x + 9 * t, .tri = (int[]){0, 1, 2}};
        double u[3], v[3], n[3];
        for (int k = 0; k < 3; k++) {
            u[k] = (double)one.x[3 + k] - one.x[k];
            v[k] = (double)one.x[6 + k] - one.x[k];
        }
        fai_v3_cross(u, v, n);
        if (!fai_v3_normalize(n)) continue;
        for (int k = 0; k < 3; k++) p[k] = (float)(one.x[k] + fai_random_unit(9, (uint64_t)t) * u[k] + 1e-3 * n[k]);
        check_points(&one, 1, p);
    }
}

// Points on vertices and edges of a closed mesh are as close to several triangles: the first is taken.
static void ties_go_to_the_first(void **state) {
    (void)state;
    FaMesh m = shape_sphere(16, 24, 1);
    check_points(&m, m.nvert, m.x);
    FaClosest *c;
    assert_int_equal(fai_closest_new(&m, NULL, &c, NULL), FA_OK);
    for (int v = 0; v < m.nvert; v++) {
        FaHit h = fai_closest_point(c, m.x + 3 * v, 1);
        int first = 0;
        while (m.tri[3 * first] != v && m.tri[3 * first + 1] != v && m.tri[3 * first + 2] != v) first++;
        assert_int_equal(h.tri, first);
        assert_true(h.distance == 0);
    }
    fai_closest_free(c);
}

static void rays_against_all(void **state) {
    (void)state;
    FaMesh m = soup(1500, 0.05, 5);
    FaClosest *tree[2];
    assert_int_equal(fai_closest_new(&m, NULL, &tree[0], NULL), FA_OK);
    assert_int_equal(fai_closest_new_own(&m, NULL, &tree[1], NULL), FA_OK);
    int hits = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        float o[3], d[3];
        double length = 0;
        for (uint64_t k = 0; k < 3; k++) {
            o[k] = (float)(0.5 + 2 * fai_random_normal(8, 6 * i + k));
            double target = fai_random_unit(8, 6 * i + 3 + k);
            d[k] = (float)(target - o[k]);
            if (i % 4 == 0 && k != i / 4 % 3) { // along an axis
                o[k] = (float)target;
                d[k] = 0;
            }
            length += (double)d[k] * d[k];
        }
        // all triangles, by solving for the three barycentric coordinates and t at once (Cramer)
        double best = HUGE_VAL;
        for (int t = 0; t < m.ntri; t++) {
            double u[3], v[3], w[3];
            for (int k = 0; k < 3; k++) {
                double a = (double)m.x[3 * m.tri[3 * t] + k];
                u[k] = (double)m.x[3 * m.tri[3 * t + 1] + k] - a;
                v[k] = (double)m.x[3 * m.tri[3 * t + 2] + k] - a;
                w[k] = (double)o[k] - a;
            }
#define DET(p, q, r)                                                                                                   \
    ((p)[0] * ((q)[1] * (r)[2] - (q)[2] * (r)[1]) + (p)[1] * ((q)[2] * (r)[0] - (q)[0] * (r)[2]) +                     \
     (p)[2] * ((q)[0] * (r)[1] - (q)[1] * (r)[0]))
            double e[3] = {-(double)d[0], -(double)d[1], -(double)d[2]};
            double det = DET(u, v, e), s = DET(w, v, e) / det, r = DET(u, w, e) / det, at = DET(u, v, w) / det;
            if (det != 0 && s >= 0 && r >= 0 && s + r <= 1 && at >= 0) best = fmin(best, at);
        }
        for (int b = 0; b < 2; b++) {
            FaHit h = fai_closest_ray(tree[b], o, d, 0, INFINITY);
            assert_int_equal(h.tri >= 0, best < HUGE_VAL);
            if (h.tri < 0) continue;
            hits++;
            check_hit(&m, &h);
            CHECK_NEAR(h.distance, best, 1e-5 * best + 1e-6);
            for (int k = 0; k < 3; k++)
                CHECK_NEAR(h.point[k], o[k] + (double)h.distance * d[k], 2e-6 * (1 + sqrt(length)));
            // near and far are limits
            assert_int_equal(fai_closest_ray(tree[b], o, d, 0, h.distance * 0.9999f).tri, -1);
            FaHit beyond = fai_closest_ray(tree[b], o, d, h.distance * 1.001f + 1e-6f, INFINITY);
            assert_true(beyond.tri < 0 || beyond.distance > h.distance);
        }
    }
    assert_true(hits > 1000);
    fai_closest_free(tree[0]);
    fai_closest_free(tree[1]);
}

// From inside a closed mesh every ray hits, also through vertices and edges.
static void rays_do_not_leak(void **state) {
    (void)state;
    FaMesh m = shape_sphere(16, 24, 1);
    FaClosest *tree[2];
    assert_int_equal(fai_closest_new(&m, NULL, &tree[0], NULL), FA_OK);
    assert_int_equal(fai_closest_new_own(&m, NULL, &tree[1], NULL), FA_OK);
    float o[3] = {0.1f, -0.05f, 0.02f};
    for (int b = 0; b < 2; b++)
        for (int t = 0; t < m.ntri; t++)
            for (int i = 0; i < 3; i++) {
                const float *p = m.x + 3 * m.tri[3 * t + i], *q = m.x + 3 * m.tri[3 * t + (i + 1) % 3];
                for (int s = 0; s < 4; s++) {
                    float d[3];
                    for (int k = 0; k < 3; k++) d[k] = p[k] + (q[k] - p[k]) * (float)s / 4 - o[k];
                    FaHit h = fai_closest_ray(tree[b], o, d, 0, INFINITY);
                    assert_true(h.tri >= 0);
                    CHECK_NEAR(h.distance, 1, 1e-4);
                }
            }
    fai_closest_free(tree[0]);
    fai_closest_free(tree[1]);
}

static void odd_input(void **state) {
    (void)state;
    FaMesh none = {0};
    FaClosest *c;
    assert_int_equal(fai_closest_new(&none, NULL, &c, NULL), FA_OK);
    float p[3] = {0, 0, 0}, d[3] = {1, 0, 0}, zero[3] = {0, 0, 0}, nan[3] = {NAN, 0, 0};
    assert_int_equal(fai_closest_point(c, p, 1).tri, -1);
    assert_int_equal(fai_closest_ray(c, p, d, 0, 1).tri, -1);
    fai_closest_free(c);
    fai_closest_free(NULL);

    FaMesh m = shape_sphere(6, 8, 1);
    assert_int_equal(fai_closest_new(&m, NULL, &c, NULL), FA_OK);
    assert_int_equal(fai_closest_point(c, nan, INFINITY).tri, -1);
    assert_int_equal(fai_closest_point(c, p, NAN).tri, -1);
    assert_int_equal(fai_closest_point(c, p, -1).tri, -1);
    assert_int_equal(fai_closest_ray(c, nan, d, 0, 1).tri, -1);
    assert_int_equal(fai_closest_ray(c, p, zero, 0, 1).tri, -1);
    assert_int_equal(fai_closest_ray(c, p, d, 1, 0).tri, -1);
    assert_true(fai_closest_point(c, p, INFINITY).tri >= 0);
    // small numbers still exist: nobody has changed how this thread computes
    volatile float tiny = FLT_MIN;
    assert_true(tiny / 4 > 0);
    fai_closest_free(c);

    // positions given aside, and larger than Embree takes
    float *x = FA_PUSH(arena, 3 * m.nvert, float);
    for (int i = 0; i < 3 * m.nvert; i++) x[i] = m.x[i] * 1e20f;
    assert_int_equal(fai_closest_new(&m, x, &c, NULL), FA_OK);
    float far[3] = {0, 3e20f, 0};
    CHECK_NEAR(fai_closest_point(c, far, INFINITY).distance / 2e20, 1, 1e-6);
    fai_closest_free(c);
    x[4] = INFINITY;
    FaError err = {0};
    assert_int_equal(fai_closest_new(&m, x, &c, &err), FA_E_NUMERIC);
    assert_null(c);
    assert_string_equal(err.place, "vertex 1");
}

static void ict_neutral(void **state) {
    (void)state;
    FaMesh m;
    if (!shape_ict_neutral(&m)) skip();
    float p[3 * 100];
    for (int i = 0; i < 300; i++) p[i] = m.x[3 * (i / 3 * 263) + i % 3] + (float)fai_random_normal(6, (uint64_t)i);
    check_points(&m, 100, p);
    // speed, for the record
    int n = m.nvert;
    float *q = FA_PUSH(arena, 3 * n, float);
    FaHit *hits = FA_PUSH(arena, n, FaHit);
    for (int i = 0; i < 3 * n; i++) q[i] = m.x[i] + 0.2f * (float)fai_random_normal(6, (uint64_t)i);
    fa_threads_set(1);
    for (int own = 0; own < 2; own++) {
        FaClosest *c;
        double start = fai_seconds();
        assert_int_equal((own ? fai_closest_new_own : fai_closest_new)(&m, NULL, &c, NULL), FA_OK);
        double built = fai_seconds();
        fai_closest_points(c, n, q, INFINITY, hits);
        print_message("%s tree: build %.1f ms, %.2f us per point\n", own ? "own" : "any", 1e3 * (built - start),
                      1e6 * (fai_seconds() - built) / n);
        fai_closest_free(c);
    }
    fa_threads_set(0);
}

static void survives_no_memory(void **state) {
    (void)state;
    FaMesh m = soup(50, 0.3, 2);
    for (int own = 0; own < 2; own++)
        for (int k = 1;; k++) {
            assert_true(k < 50);
            long before = test_alloc_balance();
            test_fail_alloc(k);
            FaClosest *c;
            FaCode code = (own ? fai_closest_new_own : fai_closest_new)(&m, NULL, &c, NULL);
            bool delivered = test_alloc_failed();
            assert_int_equal(code, delivered ? FA_E_MEMORY : FA_OK);
            assert_int_equal(c == NULL, delivered);
            fai_closest_free(c);
            test_fail_alloc(0);
            assert_int_equal(test_alloc_balance(), before);
            if (!delivered) break;
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(points_on_soups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ties_go_to_the_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rays_against_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rays_do_not_leak, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_input, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ict_neutral, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
