// B-spline solids: basis, derivatives, fits, volumes, and the way back from space to the cube.
// labels: unit hash
#include "math/mat3.h"
#include "muscle/bspline.h"

#include "test.h"

static double uniform(uint64_t *c) { return 2 * fai_random_unit(17, (*c)++) - 1; }

static void test_basis(void **state) {
    (void)state;
    for (int ring = 0; ring < 2; ring++)
        for (int n = ring ? 4 : 2; n <= 14; n++) {
            double mean[FA_BSPLINE_MAX] = {0};
            for (int k = 0; k <= 1000; k++) {
                double t = k / 1000.0, b[4], slope[4], up[4], down[4], none[4], sum = 0, flat = 0, h = 1e-6;
                int at[4], same[4], count = fai_bspline_basis(n, ring, t, at, b, slope);
                double inner = fmin(fmax(t, h), 1 - h);
                for (int i = 0; i < count; i++) {
                    sum += b[i], flat += slope[i];
                    assert_true(b[i] >= -1e-15 && at[i] >= 0 && at[i] < n);
                    mean[at[i]] += b[i];
                }
                CHECK_NEAR(sum, 1, 1e-14);
                CHECK_NEAR(flat, 0, 1e-11);
                fai_bspline_basis(n, ring, inner + h / 2, same, up, none);
                if (memcmp(same, at, sizeof(int) * (size_t)count) != 0) continue; // across a knot
                fai_bspline_basis(n, ring, inner - h / 2, same, down, none);
                if (memcmp(same, at, sizeof(int) * (size_t)count) != 0 || inner != t) continue;
                for (int i = 0; i < count; i++) CHECK_NEAR((up[i] - down[i]) / h, slope[i], 1e-4);
            }
            for (int i = 0; i < n; i++) assert_true(mean[i] > 0);
            int at[4];
            double b[4], slope[4];
            if (ring) continue;
            fai_bspline_basis(n, false, 0, at, b, slope);
            assert_true(at[0] == 0 && b[0] == 1);
            int count = fai_bspline_basis(n, false, 1, at, b, slope);
            assert_true(at[count - 1] == n - 1);
            CHECK_NEAR(b[count - 1], 1, 1e-15);
        }
}

// A bent strap: an arc of `turn` radians, radius 40 mm, 10 wide, 3 thick. A whole turn is a ring.
static FaBspline arc(int nu, int nv, int nw, double turn, bool ring, double *c) {
    FaBspline s = {{nu, nv, nw}, ring, c};
    for (int k = 0; k < nw; k++)
        for (int j = 0; j < nv; j++)
            for (int i = 0; i < nu; i++) {
                double a = turn * fai_bspline_greville(nu, ring, i), v = fai_bspline_greville(nv, false, j),
                       w = fai_bspline_greville(nw, false, k), r = 0.04 + 0.003 * (w - 0.5),
                       *x = fai_bspline_point(&s, i, j, k);
                x[0] = r * cos(a), x[1] = r * sin(a), x[2] = 0.01 * (v - 0.5);
            }
    FaError err = {0};
    CHECK_OK(fai_bspline_fit(&s, c, &err), &err);
    return s;
}

static void test_shape(void **state) {
    (void)state;
    for (int ring = 0; ring < 2; ring++) {
        double c[3 * 14 * 4 * 2], turn = ring ? 2 * acos(-1) : 1.5, folded;
        FaBspline s = arc(ring ? 14 : 7, 4, 2, turn, ring, c);
        CHECK_NEAR(fai_bspline_length(&s) / (0.04 * turn), 1, 2e-3);
        CHECK_NEAR(fai_bspline_volume(&s, &folded) / (0.04 * turn * 0.01 * 0.003), 1, 2e-3);
        CHECK_NEAR(folded, ring ? 0 : 0, 0);
        uint64_t r = 1;
        for (int k = 0; k < 100; k++) {
            double uvw[3] = {0.5 + 0.49 * uniform(&r), 0.5 + 0.49 * uniform(&r), 0.5 + 0.49 * uniform(&r)}, x[3], J[9],
                   up[3], down[3], h = 1e-5;
            fai_bspline_at(&s, uvw, x, J);
            CHECK_NEAR(hypot(x[0], x[1]), 0.04 + 0.003 * (uvw[2] - 0.5), 3e-5);
            for (int a = 0; a < 3; a++) {
                double keep = uvw[a];
                uvw[a] = keep + h, fai_bspline_at(&s, uvw, up, NULL);
                uvw[a] = keep - h, fai_bspline_at(&s, uvw, down, NULL);
                uvw[a] = keep;
                for (int i = 0; i < 3; i++) CHECK_NEAR((up[i] - down[i]) / (2 * h), J[3 * i + a], 1e-6);
            }
            // fibres go round
            double along[3] = {J[0], J[3], J[6]}, radius[3] = {x[0], x[1], 0};
            CHECK_NEAR(fai_v3_dot(along, radius) / fai_v3_norm(along) / fai_v3_norm(radius), 0, 0.02);
        }
    }
}

static void test_inverse(void **state) {
    (void)state;
    for (int ring = 0; ring < 2; ring++) {
        double c[3 * 14 * 4 * 2];
        FaBspline s = arc(ring ? 14 : 7, 4, 2, ring ? 2 * acos(-1) : 1.5, ring, c);
        FaArena *arena = fai_arena_new(0);
        FaBsplineFinder finder;
        FaError err = {0};
        CHECK_OK(fai_bspline_finder(&s, arena, &finder, &err), &err);
        uint64_t r = 7;
        int inside = 0, wrong = 0;
        for (int k = 0; k < 3000; k++) {
            double want[3], x[3], got[3], y[3], d[3];
            for (int a = 0; a < 3; a++) want[a] = 0.5 + 0.499 * uniform(&r);
            fai_bspline_at(&s, want, x, NULL);
            assert_true(fai_bspline_inside(&finder, x, got));
            fai_bspline_at(&s, got, y, NULL);
            fai_v3_sub(x, y, d);
            CHECK_NEAR(fai_v3_norm(d), 0, 1e-7);
            double round = fabs(got[0] - want[0]);
            CHECK_NEAR(fmin(round, ring ? 1 - round : round), 0, 1e-4);
            CHECK_NEAR(got[1], want[1], 1e-4);
            CHECK_NEAR(got[2], want[2], 1e-3);
            // anywhere: against the closed form of the arc, but for a skin of 0.03 mm
            for (int a = 0; a < 3; a++) x[a] = (a < 2 ? 0.05 : 0.008) * uniform(&r);
            double radius = hypot(x[0], x[1]), turn = atan2(x[1], x[0]),
                   off = fmax(fabs(radius - 0.04) - 0.0015, fabs(x[2]) - 0.005);
            if (!ring) off = fmax(off, fmax(-turn, turn - 1.5) * radius);
            bool is = fai_bspline_inside(&finder, x, got);
            inside += is;
            wrong += fabs(off) > 3e-5 && is != (off < 0);
        }
        assert_true(inside > 20);
        assert_int_equal(wrong, 0);
        fai_arena_free(arena);
    }
}

// Closed, every edge shared by two triangles of opposite sense (by position), the volume that quadrature finds.
static void test_surface(void **state) {
    (void)state;
    for (int ring = 0; ring < 2; ring++)
        for (int flip = 0; flip < 2; flip++) {
            double c[3 * 14 * 4 * 2], sum = 0;
            FaBspline s = arc(ring ? 14 : 7, 4, 2, ring ? 2 * acos(-1) : 1.5, ring, c);
            for (int i = 0; flip && i < fai_bspline_points(&s); i++) c[3 * i] = -c[3 * i];
            FaArena *arena = fai_arena_new(0);
            FaBsplineSurface out;
            FaError err = {0};
            CHECK_OK(fai_bspline_surface(&s, (int[]){60, 4, 2}, arena, &out, &err), &err);
            for (int t = 0; t < out.ntri; t++) {
                double p[3][3], n[3];
                for (int k = 0; k < 3; k++) {
                    assert_in_range(out.tri[3 * t + k], 0, out.nvert - 1);
                    fai_v3_load(out.x, out.tri[3 * t + k], p[k]);
                }
                fai_v3_cross(p[0], p[1], n);
                sum += fai_v3_dot(n, p[2]) / 6;
            }
            CHECK_NEAR(sum / fai_bspline_volume(&s, NULL), 1, 5e-3);
            fai_arena_free(arena);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basis),
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_surface),
    };
    return cmocka_run_group_tests_name("muscle_bspline", tests, NULL, NULL);
}
