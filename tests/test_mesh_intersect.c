// Crossing triangles: the pair test against rational arithmetic, the mesh search against all pairs.
// labels: unit hash
#include "test_mesh_shapes.h"

#include "mesh/box_tree.h"
#include "mesh/intersect.h"

#include <float.h>

// --- the truth, by other means ------------------------------------------------------------------------------------

typedef int64_t Point[3];
typedef struct Fraction {
    __int128 top, bottom; // bottom > 0
} Fraction;

static bool less(Fraction a, Fraction b) { return a.top * b.bottom < b.top * a.bottom; }

static void cross_product(const Point a, const Point b, Point out) {
    for (int k = 0; k < 3; k++) out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static int64_t dot(const Point a, const Point b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void normal_of(const Point t[3], Point n) {
    Point u, v;
    for (int k = 0; k < 3; k++) {
        u[k] = t[1][k] - t[0][k];
        v[k] = t[2][k] - t[0][k];
    }
    cross_product(u, v, n);
}

// Where a triangle cuts the line of direction `along` in the other's plane. False: it does not pass through the plane.
static bool cut(const Point t[3], const Point normal, const Point base, const Point along, Fraction *lo, Fraction *hi) {
    int64_t d[3];
    for (int i = 0; i < 3; i++) d[i] = dot(normal, t[i]) - dot(normal, base);
    bool above = d[0] > 0 || d[1] > 0 || d[2] > 0, below = d[0] < 0 || d[1] < 0 || d[2] < 0, any = false;
    if (!above || !below) return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            if (!(d[i] >= 0 && d[j] < 0) && !(d[i] == 0 && i == j)) continue;
            Fraction f = {dot(along, t[i]), 1};
            if (i != j)
                f = (Fraction){(__int128)dot(along, t[j]) * d[i] - (__int128)dot(along, t[i]) * d[j], d[i] - d[j]};
            if (!any || less(f, *lo)) *lo = f;
            if (!any || less(*hi, f)) *hi = f;
            any = true;
        }
    return true;
}

// Area of the overlap of two flat triangles by clipping one with the other's edges, in double.
static double overlap_area(double a[3][2], double b[3][2]) {
    double poly[16][2], next[16][2];
    int n = 3;
    memcpy(poly, a, 3 * sizeof poly[0]);
    double turn = (b[1][0] - b[0][0]) * (b[2][1] - b[0][1]) - (b[1][1] - b[0][1]) * (b[2][0] - b[0][0]);
    for (int e = 0; e < 3; e++) {
        int m = 0;
        for (int i = 0; i < n; i++) {
            double *p = poly[i], *q = poly[(i + 1) % n], *s = b[e], *t = b[(e + 1) % 3];
            double dp = turn * ((t[0] - s[0]) * (p[1] - s[1]) - (t[1] - s[1]) * (p[0] - s[0]));
            double dq = turn * ((t[0] - s[0]) * (q[1] - s[1]) - (t[1] - s[1]) * (q[0] - s[0]));
            if (dp >= 0) memcpy(next[m++], p, sizeof poly[0]);
            if ((dp > 0 && dq < 0) || (dp < 0 && dq > 0)) {
                for (int k = 0; k < 2; k++) next[m][k] = p[k] + (q[k] - p[k]) * dp / (dp - dq);
                m++;
            }
        }
        memcpy(poly, next, sizeof poly);
        n = m;
    }
    double area = 0;
    for (int i = 0; i < n; i++) area += poly[i][0] * poly[(i + 1) % n][1] - poly[i][1] * poly[(i + 1) % n][0];
    return turn == 0 ? 0 : fabs(area) / 2;
}

static bool truly_cross(const Point a[3], const Point b[3]) {
    Point na, nb, along;
    normal_of(a, na);
    normal_of(b, nb);
    cross_product(na, nb, along);
    Fraction alo, ahi, blo, bhi;
    if (!cut(a, nb, b[0], along, &alo, &ahi) || !cut(b, na, a[0], along, &blo, &bhi)) return false;
    Fraction lo = less(alo, blo) ? blo : alo, hi = less(ahi, bhi) ? ahi : bhi;
    return less(lo, hi);
}

static int whole(uint64_t seed, uint64_t i, int range) {
    return (int)(fai_random_u64(seed, i) % (uint64_t)(2 * range + 1)) - range;
}

static void to_floats(const Point t[3], float f[3][3]) {
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) f[i][k] = (float)t[i][k];
}

// Few distinct coordinates, so that touching, shared edges and flat pairs are common.
static void pairs_against_rationals(void **state) {
    (void)state;
    int crossing = 0, touching = 0;
    for (uint64_t t = 0; t < 200000; t++) {
        int range = (int)(1 + t % 9 * (t % 9));
        Point a[3], b[3];
        float fa[3][3], fb[3][3];
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) {
                a[i][k] = whole(t, (uint64_t)(3 * i + k), range);
                b[i][k] = whole(t, (uint64_t)(30 + 3 * i + k), range);
            }
        to_floats(a, fa);
        to_floats(b, fb);
        Point na, nb, along;
        normal_of(a, na);
        normal_of(b, nb);
        cross_product(na, nb, along);
        bool parallel = dot(along, along) == 0;
        if (parallel && dot(na, na) && dot(nb, nb) && dot(na, a[0]) == dot(na, b[0])) continue; // flat: the next test
        bool truth = truly_cross(a, b);
        if (fai_triangles_cross(fa, fb) != truth || fai_triangles_cross(fb, fa) != truth)
            fail_msg("pair %d: should %s", (int)t, truth ? "cross" : "not cross");
        crossing += truth;
        touching += !truth && !parallel;
    }
    assert_true(crossing > 10000 && touching > 10000);
}

static void flat_pairs_against_clipping(void **state) {
    (void)state;
    int overlapping = 0, apart = 0;
    for (uint64_t t = 0; t < 100000; t++) {
        int range = (int)(1 + t % 6);
        double a[3][2], b[3][2];
        float fa[3][3], fb[3][3];
        // a whole-numbered map into space keeps them flat exactly
        int map[6];
        for (int k = 0; k < 6; k++) map[k] = whole(t, (uint64_t)(90 + k), 3);
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 2; k++) {
                a[i][k] = whole(t, (uint64_t)(2 * i + k), range);
                b[i][k] = whole(t, (uint64_t)(30 + 2 * i + k), range);
            }
            for (int k = 0; k < 3; k++) {
                fa[i][k] = (float)(map[2 * k] * a[i][0] + map[2 * k + 1] * a[i][1] + 7);
                fb[i][k] = (float)(map[2 * k] * b[i][0] + map[2 * k + 1] * b[i][1] + 7);
            }
        }
        int minor0 = map[0] * map[3] - map[1] * map[2], minor1 = map[2] * map[5] - map[3] * map[4];
        int minor2 = map[4] * map[1] - map[5] * map[0];
        bool truth = (minor0 || minor1 || minor2) && overlap_area(a, b) > 1e-9;
        if (fai_triangles_cross(fa, fb) != truth || fai_triangles_cross(fb, fa) != truth)
            fail_msg("flat pair %d: should %s", (int)t, truth ? "overlap" : "not overlap");
        overlapping += truth;
        apart += !truth;
    }
    assert_true(overlapping > 10000 && apart > 10000);
}

// --- meshes -------------------------------------------------------------------------------------------------------

static FaMesh soup(int n, double size, uint64_t seed) {
    float *x = FA_PUSH(arena, 9 * (size_t)n, float);
    int *tri = FA_PUSH(arena, 3 * (size_t)n, int);
    for (int t = 0; t < n; t++)
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++) {
                double middle = fai_random_unit(seed, 1000000 + 3 * (uint64_t)t + (uint64_t)k);
                double shift = size * fai_random_normal(seed, 9 * (uint64_t)t + 3 * (uint64_t)i + (uint64_t)k);
                x[9 * (size_t)t + 3 * i + k] = (float)(middle + shift);
            }
            tri[3 * t + i] = 3 * t + i;
        }
    return shape_triangles(3 * n, x, n, tri);
}

static bool joined(const FaMesh *m, int i, int j) {
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            int p = m->tri[3 * i + a], q = m->tri[3 * j + b], same = fai_weld(m, p) == fai_weld(m, q) ? 3 : 0;
            for (int k = 0; k < 3; k++) same += m->x[3 * p + k] == m->x[3 * q + k];
            if (same >= 3) return true;
        }
    return false;
}

static int all_pairs(const FaMesh *m, const int *part, int (*pair)[2], int max) {
    int n = 0;
    for (int i = 0; i < m->ntri; i++)
        for (int j = i + 1; j < m->ntri; j++) {
            if (joined(m, i, j) || (part && part[m->tri[3 * i]] != part[m->tri[3 * j]])) continue;
            float a[3][3], b[3][3];
            for (int k = 0; k < 3; k++) {
                memcpy(a[k], m->x + 3 * m->tri[3 * i + k], sizeof a[k]);
                memcpy(b[k], m->x + 3 * m->tri[3 * j + k], sizeof b[k]);
            }
            if (!fai_triangles_cross(a, b)) continue;
            if (n < max) {
                pair[n][0] = i;
                pair[n][1] = j;
            }
            n++;
        }
    return n;
}

enum { MAX_PAIRS = 20000 };

static void check_search(const FaMesh *m, const int *part, int at_least) {
    int(*truth)[2] = fai_arena_push(arena, MAX_PAIRS, sizeof *truth),
    (*pair)[2] = fai_arena_push(arena, MAX_PAIRS, sizeof *pair);
    int expected = all_pairs(m, part, truth, MAX_PAIRS), count = -1;
    if (expected < at_least || expected > MAX_PAIRS) fail_msg("%d crossings", expected);
    int threads[] = {1, 2, 3, 8};
    for (int k = 0; k < FA_COUNT(threads); k++) {
        fa_threads_set(threads[k]);
        memset(pair, 0, (size_t)MAX_PAIRS * sizeof *pair);
        assert_int_equal(fai_self_intersections(m, NULL, part, pair, MAX_PAIRS, &count, NULL), FA_OK);
        assert_int_equal(count, expected);
        assert_memory_equal(pair, truth, (size_t)MAX_PAIRS * sizeof *pair);
    }
    fa_threads_set(0);
    // fewer asked for than there are: the first ones
    if (expected < 3) return;
    int few = expected / 2;
    memset(pair, 0x5a, (size_t)MAX_PAIRS * sizeof *pair);
    assert_int_equal(fai_self_intersections(m, m->x, part, pair, few, &count, NULL), FA_OK);
    assert_int_equal(count, expected);
    assert_memory_equal(pair, truth, (size_t)few * sizeof *pair);
    assert_int_equal(pair[few][0], 0x5a5a5a5a);
}

static void soups_against_all_pairs(void **state) {
    (void)state;
    FaMesh m = soup(1500, 0.03, 1);
    check_search(&m, NULL, 100);
    m = soup(300, 0.3, 2);
    check_search(&m, NULL, 1000);
    m = soup(3, 0.001, 3);
    check_search(&m, NULL, 0);
    // on a coarse lattice: everything touches, much is flat
    m = soup(900, 0.1, 4);
    for (int i = 0; i < 3 * m.nvert; i++) m.x[i] = roundf(m.x[i] * 12) / 12;
    check_search(&m, NULL, 100);
    FaMesh none = {0};
    int count = -1;
    assert_int_equal(fai_self_intersections(&none, NULL, NULL, NULL, 0, &count, NULL), FA_OK);
    assert_int_equal(count, 0);
}

// Two spheres: whole apart, crossing when moved into each other, and told apart by part ids.
static void spheres(void **state) {
    (void)state;
    FaMesh one = shape_sphere(12, 20, 1);
    int n = one.nvert, t = one.ntri;
    float *x = FA_PUSH(arena, 6 * (size_t)n, float);
    int *tri = FA_PUSH(arena, 6 * (size_t)t, int), *part = FA_PUSH(arena, 2 * (size_t)n, int);
    memcpy(x, one.x, 3 * (size_t)n * sizeof *x);
    memcpy(x + 3 * n, one.x, 3 * (size_t)n * sizeof *x);
    for (int i = 0; i < 3 * t; i++) {
        tri[i] = one.tri[i];
        tri[3 * t + i] = one.tri[i] + n;
    }
    for (int v = 0; v < n; v++) {
        x[3 * (n + v)] += 1.01f;
        x[3 * (n + v) + 1] += 0.013f;
        part[n + v] = 1;
    }
    FaMesh m = shape_triangles(2 * n, x, 2 * t, tri);
    check_search(&m, NULL, 20);
    int count;
    assert_int_equal(fai_self_intersections(&m, NULL, part, NULL, 0, &count, NULL), FA_OK);
    assert_int_equal(count, 0);
    for (int v = 0; v < n; v++) m.x[3 * (n + v)] += 1.5f;
    assert_int_equal(fai_self_intersections(&m, NULL, NULL, NULL, 0, &count, NULL), FA_OK);
    assert_int_equal(count, 0);
}

static void joined_triangles_are_skipped(void **state) {
    (void)state;
    // one triangle through another: counted; the same with a vertex welded, or at the same place: skipped
    float x[] = {0, 0, 0, 2, 0, 0, 0, 2, 0, 0.5f, 0.5f, -1, 0.5f, 0.5f, 1, 3, 3, 1};
    int tri[] = {0, 1, 2, 3, 4, 5}, count;
    FaMesh m = shape_triangles(6, x, 2, tri);
    assert_int_equal(fai_self_intersections(&m, NULL, NULL, NULL, 0, &count, NULL), FA_OK);
    assert_int_equal(count, 1);
    m.weld = (int[]){0, 1, 2, 3, 4, 1};
    assert_int_equal(fai_self_intersections(&m, NULL, NULL, NULL, 0, &count, NULL), FA_OK);
    assert_int_equal(count, 0);
    m.weld = NULL;
    float moved[18];
    memcpy(moved, x, sizeof x);
    moved[15] = 2;
    moved[16] = 0;
    moved[17] = -0.0f;
    assert_int_equal(fai_self_intersections(&m, moved, NULL, NULL, 0, &count, NULL), FA_OK);
    assert_int_equal(count, 0);
    moved[17] = -0.1f;
    assert_int_equal(fai_self_intersections(&m, moved, NULL, NULL, 0, &count, NULL), FA_OK);
    assert_int_equal(count, 1);
}

static void refuses_nan(void **state) {
    (void)state;
    FaMesh m = shape_sphere(5, 8, 1);
    m.x[3 * 7 + 1] = NAN;
    FaError err = {0};
    int count;
    assert_int_equal(fai_self_intersections(&m, NULL, NULL, NULL, 0, &count, &err), FA_E_NUMERIC);
    assert_string_equal(err.place, "vertex 7");
}

// Everything through everything: a thousand are counted in full. Five thousand large triangles on parallel planes,
// whose boxes all meet, and crossing pairs far from them: the search gives up on the pile in good time, and still
// counts the pairs, for any number of threads alike.
static void hostile_meshes(void **state) {
    (void)state;
    FaMesh m = soup(1000, 1, 5);
    int count, again;
    assert_int_equal(fai_self_intersections(&m, NULL, NULL, NULL, 0, &count, NULL), FA_OK);
    assert_true(count > 100000);

    enum { N = 5000, PAIRS = 200 };
    m = soup(N, 1, 6);
    for (int v = 0; v < m.nvert; v++) {
        float *x = m.x + 3 * v;
        x[2] = 1e-4f * (float)(v / 3) - x[0] - x[1];
    }
    for (int t = 0; t < 2 * PAIRS; t++) {
        float at = (float)(100 + t / 2 * 3), flat[9] = {0, 0, 0, 2, 0, 0, 0, 2, 0},
              through[9] = {0.5f, 0.5f, -1, 0.5f, 0.4f, 1, 1, 1, 1};
        for (int k = 0; k < 9; k++) m.x[9 * t + k] = (t % 2 ? flat : through)[k] + (k % 3 == 0 ? at : 0);
    }
    double start = fai_seconds();
    fa_threads_set(1);
    assert_int_equal(fai_self_intersections(&m, NULL, NULL, NULL, 0, &count, NULL), FA_CLAMPED);
    print_message("%d triangles: at least %d crossings, %.2f s\n", N, count, fai_seconds() - start);
    fa_threads_set(3);
    assert_int_equal(fai_self_intersections(&m, NULL, NULL, NULL, 0, &again, NULL), FA_CLAMPED);
    fa_threads_set(0);
    assert_int_equal(count, again);
    assert_true(count > PAIRS / 2 && count <= PAIRS);
}

// Boxes on one spot, in one line, growing by powers: the tree keeps its depth and holds every item once.
static void tree_is_sound(void **state) {
    (void)state;
    enum { N = 3000 };
    FaBox box[N];
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 3; k++) {
                double p = kind == 0   ? 1
                           : kind == 1 ? i
                           : kind == 2 ? ldexp(1, i % 250 - 125)
                                       : fai_random_normal(3, (uint64_t)(3 * i + k));
                box[i].lo[k] = (float)p;
                box[i].hi[k] = kind == 3 ? (float)(p + fai_random_unit(4, (uint64_t)(3 * i + k))) : (float)p;
            }
        FaBoxTree tree;
        assert_int_equal(fai_box_tree_build(N, box, &tree, NULL), FA_OK);
        int seen[N] = {0}, depth[2 * N] = {0};
        for (int n = 0; n < tree.nnode; n++) {
            const FaBoxNode *node = &tree.node[n];
            assert_true(depth[n] < FA_BOX_TREE_STACK - 1 && node->count <= FA_BOX_TREE_LEAF);
            for (int i = node->first; i < node->first + node->count; i++) {
                const FaBox *b = &box[tree.prim[i]];
                for (int k = 0; k < 3; k++) assert_true(b->lo[k] >= node->lo[k] && b->hi[k] <= node->hi[k]);
                seen[tree.prim[i]]++;
            }
            for (int c = node->first; node->count == 0 && c < node->first + 2; c++) {
                assert_true(c > n && c < tree.nnode);
                for (int k = 0; k < 3; k++)
                    assert_true(tree.node[c].lo[k] >= node->lo[k] && tree.node[c].hi[k] <= node->hi[k]);
                depth[c] = depth[n] + 1;
            }
        }
        for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
        fai_box_tree_free(&tree);
    }
}

static void ict_neutral(void **state) {
    (void)state;
    FaMesh m;
    if (!shape_ict_neutral(&m)) skip();
    FaTopology topo;
    assert_int_equal(fai_topology_build(&m, &topo, NULL), FA_OK);
    int all, within, two;
    fa_threads_set(1);
    double start = fai_seconds();
    assert_int_equal(fai_self_intersections(&m, NULL, NULL, NULL, 0, &all, NULL), FA_OK);
    double one = fai_seconds() - start;
    assert_int_equal(fai_self_intersections(&m, NULL, topo.part, NULL, 0, &within, NULL), FA_OK);
    fa_threads_set(2);
    assert_int_equal(fai_self_intersections(&m, NULL, NULL, NULL, 0, &two, NULL), FA_OK);
    fa_threads_set(0);
    print_message("%d triangles: %d crossings, %d within parts, %.3f s on one thread\n", m.ntri, all, within, one);
    assert_int_equal(all, two);
    assert_true(within < all);
    fai_topology_free(&topo);

    // the first 1,500 triangles folded along y at their middle, against all pairs
    m.ntri = 1500;
    double middle = 0;
    for (int i = 0; i < 3 * m.ntri; i++) middle += (double)m.x[3 * m.tri[i] + 1] / (3 * m.ntri);
    for (int v = 0; v < m.nvert; v++) m.x[3 * v + 1] = fabsf(m.x[3 * v + 1] - (float)middle);
    check_search(&m, NULL, 10);
}

static void survives_no_memory(void **state) {
    (void)state;
    FaMesh m = soup(50, 0.3, 2);
    for (int k = 1;; k++) {
        assert_true(k < 50);
        long before = test_alloc_balance();
        test_fail_alloc(k);
        FaError err = {0};
        int count, pair[10][2];
        FaCode code = fai_self_intersections(&m, NULL, NULL, pair, 10, &count, &err);
        bool delivered = test_alloc_failed();
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), before);
        assert_int_equal(code, delivered ? FA_E_MEMORY : FA_OK);
        if (!delivered) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_against_rationals),
        cmocka_unit_test(flat_pairs_against_clipping),
        cmocka_unit_test_setup_teardown(soups_against_all_pairs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spheres, set_up, tear_down),
        cmocka_unit_test_setup_teardown(joined_triangles_are_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_nan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_meshes, set_up, tear_down),
        cmocka_unit_test(tree_is_sound),
        cmocka_unit_test_setup_teardown(ict_neutral, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
