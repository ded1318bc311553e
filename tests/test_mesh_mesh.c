// Triangulation, checks, topology, normals, areas and volumes of meshes.
#include "test_mesh_shapes.h"

#include <math.h>

// --- triangulation ------------------------------------------------------------------------------------------------

static double tri_area_z(const FaMesh *m, int t) {
    const float *a = m->x + 3 * m->tri[3 * t], *b = m->x + 3 * m->tri[3 * t + 1], *c = m->x + 3 * m->tri[3 * t + 2];
    return ((double)(b[0] - a[0]) * (c[1] - a[1]) - (double)(b[1] - a[1]) * (c[0] - a[0])) / 2;
}

// A polygon in the z = 0 plane: n - 2 triangles, all turning the same way, whose areas add up to its own.
static void check_cut(int n, const double (*p)[2], double tilt) {
    float *x = FA_PUSH(arena, 3 * n, float);
    int *corner = FA_PUSH(arena, n, int), failed = -1;
    double area = 0;
    for (int i = 0; i < n; i++) {
        const double *a = p[i], *b = p[(i + 1) % n];
        area += (a[0] * b[1] - a[1] * b[0]) / 2;
        x[3 * i] = (float)a[0];
        x[3 * i + 1] = (float)a[1];
        x[3 * i + 2] = (float)(tilt * a[0] - 2 * tilt * a[1]);
        corner[i] = i;
    }
    FaMesh m = shape_polygons(n, x, 1, &n, corner);
    assert_int_equal(fai_mesh_triangulate(&m, arena, &failed, NULL), FA_OK);
    assert_int_equal(failed, 0);
    assert_int_equal(m.ntri, n - 2);
    double sum = 0;
    for (int t = 0; t < m.ntri; t++) {
        double one = tri_area_z(&m, t);
        assert_true(one * area > 1e-9 * area * area / n);
        assert_int_equal(m.tri_face[t], 0);
        sum += one;
    }
    CHECK_NEAR(sum, area, 1e-5 * fabs(area));
    // every corner is used, and each side of the polygon by exactly one triangle
    FaTopology topo;
    assert_int_equal(fai_topology_build(&m, &topo, NULL), FA_OK);
    assert_int_equal(topo.boundary, n);
    assert_int_equal(topo.nedge, 2 * n - 3);
    assert_int_equal(topo.nonmanifold + topo.flipped + topo.unused, 0);
    fai_topology_free(&topo);
}

static void cuts_convex_as_fan(void **state) {
    (void)state;
    const float x[] = {0, 0, 0, 1, 0, 0, 1.2f, 1, 0.1f, 0.5f, 1.5f, 0, -0.2f, 1, 0};
    FaMesh m = shape_polygons(5, x, 2, (int[]){5, 4}, (int[]){0, 1, 2, 3, 4, 1, 2, 3, 0});
    assert_int_equal(fai_mesh_triangulate(&m, arena, NULL, NULL), FA_OK);
    assert_int_equal(m.ntri, 5);
    assert_memory_equal(m.tri, ((int[]){0, 1, 2, 0, 2, 3, 0, 3, 4, 1, 2, 3, 1, 3, 0}), 15 * sizeof(int));
    assert_memory_equal(m.tri_face, ((int[]){0, 0, 0, 1, 1}), 5 * sizeof(int));
}

static void cuts_concave(void **state) {
    (void)state;
    // an arrowhead with its dent at each of the four places
    const double arrow[4][2] = {{0, 0}, {2, -1}, {0.5, 0}, {2, 1}};
    for (int turn = 0; turn < 4; turn++) {
        double p[4][2];
        for (int i = 0; i < 4; i++) memcpy(p[i], arrow[(i + turn) % 4], sizeof p[i]);
        // the arrow's tip is at 0: reversed order is clockwise, seen from below counter-clockwise
        check_cut(4, (const double(*)[2])p, 0.3);
    }
    const double ell[6][2] = {{0, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 3}, {0, 3}};
    check_cut(6, ell, 0);
    const double comb[12][2] = {{0, 0}, {7, 0}, {7, 3}, {6, 3}, {6, 1}, {4, 1},
                                {4, 3}, {3, 3}, {3, 1}, {1, 1}, {1, 3}, {0, 3}};
    check_cut(12, comb, -0.7);
}

static void cuts_collinear_corners(void **state) {
    (void)state;
    // T junctions: the extra corners must not end in triangles without area
    const double square[8][2] = {{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
    check_cut(8, square, 0.1);
    const double triangle[6][2] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {1, 3}};
    check_cut(6, triangle, 0);
}

static void cuts_random_stars(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        enum { MOST = 120 };
        double p[MOST][2];
        int n = 4 + (int)(fai_random_u64(seed, 0) % (seed % 10 ? 20 : MOST - 4));
        for (int i = 0; i < n; i++) {
            double r = 0.1 + fai_random_unit(seed, 10 + (uint64_t)i);
            double angle = 6.283185307179586 * i / n;
            p[i][0] = r * cos(angle);
            p[i][1] = r * sin(angle);
        }
        check_cut(n, (const double(*)[2])p, fai_random_normal(seed, 5));
    }
}

// So thin that no corner encloses enough to be called an ear, but not without area.
static void cuts_thin_polygons(void **state) {
    (void)state;
    const float h = 2e-12f, x[] = {0, 0, 0, 1, 0, 0, 2, 0, 0, 2, h, 0, 1, h, 0, 0, h, 0};
    FaMesh m = shape_polygons(6, x, 1, (int[]){6}, (int[]){0, 1, 2, 3, 4, 5});
    int failed = -1;
    double sum = 0;
    assert_int_equal(fai_mesh_triangulate(&m, arena, &failed, NULL), FA_OK);
    assert_int_equal(failed, 0);
    for (int t = 0; t < m.ntri; t++) sum += fabs(tri_area_z(&m, t));
    CHECK_NEAR(sum, 4e-12, 1e-17);
}

// A square with a square hole, joined by a bridge that is walked twice: two pairs of corners share their place.
static void cuts_bridged_hole(void **state) {
    (void)state;
    const float x[] = {0, 0, 0, 3, 0, 0, 3, 3, 0, 0, 3, 0, 1, 1, 0, 1, 2, 0, 2, 2, 0, 2, 1, 0};
    FaMesh m = shape_polygons(8, x, 1, (int[]){10}, (int[]){0, 1, 2, 3, 0, 4, 5, 6, 7, 4});
    int failed = -1;
    assert_int_equal(fai_mesh_triangulate(&m, arena, &failed, NULL), FA_OK);
    assert_int_equal(failed, 0);
    double sum = 0;
    for (int t = 0; t < m.ntri; t++) {
        assert_true(tri_area_z(&m, t) > 0);
        sum += tri_area_z(&m, t);
    }
    CHECK_NEAR(sum, 8, 1e-6);
}

// Stars rounded to a coarse lattice: corners repeat, spikes, pinches and straight sides are common, a few cross
// themselves. No triangle turns back, so the areas add up unless the polygon was counted as failed.
static void cuts_polygons_that_touch_themselves(void **state) {
    (void)state;
    int failed_sum = 0, flat = 0;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        int n = 4 + (int)(fai_random_u64(seed, 0) % 12), corner[16], failed;
        double size = 2 + (double)(fai_random_u64(seed, 1) % 6), area = 0, sum = 0;
        float x[3 * 16] = {0};
        for (int i = 0; i < n; i++) {
            double r = size * (0.2 + fai_random_unit(seed, 10 + (uint64_t)i)), angle = 6.283185307179586 * i / n;
            x[3 * i] = (float)round(r * cos(angle));
            x[3 * i + 1] = (float)round(r * sin(angle));
            corner[i] = i;
        }
        for (int i = 0; i < n; i++) {
            const float *a = x + 3 * i, *b = x + 3 * ((i + 1) % n);
            area += (double)(a[0] * b[1] - a[1] * b[0]) / 2;
        }
        if (area <= 0) continue;
        FaMark mark = fai_arena_mark(arena);
        FaMesh m = shape_polygons(n, x, 1, &n, corner);
        assert_int_equal(fai_mesh_triangulate(&m, arena, &failed, NULL), FA_OK);
        assert_int_equal(m.ntri, n - 2);
        for (int t = 0; t < m.ntri; t++) {
            sum += fabs(tri_area_z(&m, t));
            flat += tri_area_z(&m, t) == 0;
        }
        failed_sum += failed;
        if (!failed) CHECK_NEAR(sum, area, 1e-9);
        fai_arena_release(arena, mark);
    }
    print_message("%d failed\n", failed_sum);
    assert_true(flat > 1000 && failed_sum < 6);
}

static void counts_hopeless_polygons(void **state) {
    (void)state;
    // a pentagram: every corner turns left, but it goes round twice
    float star[15] = {0};
    for (int i = 0; i < 5; i++) {
        star[3 * i] = (float)cos(2 * 6.283185307179586 * i / 5);
        star[3 * i + 1] = (float)sin(2 * 6.283185307179586 * i / 5);
    }
    FaMesh pentagram = shape_polygons(5, star, 1, (int[]){5}, (int[]){0, 1, 2, 3, 4});
    int crossed = -1;
    assert_int_equal(fai_mesh_triangulate(&pentagram, arena, &crossed, NULL), FA_OK);
    assert_int_equal(crossed, 1);

    // all in one point, all on one line, a figure of eight without net area, and two polygons that are none
    const float x[] = {0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 0, 1, 0, 1, 1, 0};
    FaMesh m = shape_polygons(6, x, 5, (int[]){4, 4, 4, 2, 0}, (int[]){0, 0, 0, 0, 0, 1, 2, 3, 0, 5, 1, 4, 2, 3});
    int failed = -1;
    assert_int_equal(fai_mesh_triangulate(&m, arena, &failed, NULL), FA_OK);
    assert_int_equal(failed, 3);
    assert_int_equal(m.ntri, 6);
    assert_int_equal(fai_mesh_check(&m, NULL), FA_OK);
}

// A saw with 300,000 teeth must not take quadratic time; it is fanned and counted.
static void survives_huge_polygon(void **state) {
    (void)state;
    int n = 300002, failed = -1;
    float *x = FA_PUSH(arena, 3 * n, float);
    int *corner = FA_PUSH(arena, n, int);
    for (int i = 0; i < n; i++) {
        x[3 * i] = i < n - 2 ? (float)i : i == n - 2 ? (float)n : -1.0f;
        x[3 * i + 1] = i < n - 2 ? (float)(i % 2) : 5.0f;
        corner[i] = n - 1 - i;
    }
    FaMesh m = shape_polygons(n, x, 1, &n, corner);
    double start = fai_seconds();
    assert_int_equal(fai_mesh_triangulate(&m, arena, &failed, NULL), FA_OK);
    print_message("%d corners: %.2f s, failed %d\n", n, fai_seconds() - start, failed);
    assert_int_equal(failed, 1); // it ran into the budget, which bounds the time whatever the machine
    assert_int_equal(m.ntri, n - 2);
    assert_int_equal(fai_mesh_check(&m, NULL), FA_OK);
}

// --- check --------------------------------------------------------------------------------------------------------

static FaMesh tetra(void) {
    const float x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    return shape_triangles(4, x, 4, (int[]){0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2});
}

static void expect_bad(const FaMesh *m, const char *place) {
    FaError err = {0};
    assert_int_equal(fai_mesh_check(m, &err), FA_E_MESH);
    assert_string_equal(err.place, place);
    assert_true(err.what[0] != 0);
}

static void checks(void **state) {
    (void)state;
    FaMesh m = tetra();
    assert_int_equal(fai_mesh_check(&m, NULL), FA_OK);
    assert_int_equal(fai_mesh_check(&(FaMesh){0}, NULL), FA_OK);
    m.x[7] = INFINITY;
    expect_bad(&m, "vertex 2, y");
    m = tetra();
    m.face_vert[4] = 4;
    expect_bad(&m, "face 1, corner 1");
    m = tetra();
    m.face_vert[11] = -1;
    expect_bad(&m, "face 3, corner 2");
    m = tetra();
    m.face_start[2] = 2;
    expect_bad(&m, "face 1");
    m = tetra();
    m.tri[5] = 9;
    expect_bad(&m, "triangle 1, corner 2");
    m = tetra();
    m.tri_face[2] = 4;
    expect_bad(&m, "triangle 2");
    m = tetra();
    m.nuv = 1;
    m.uv = (float[]){0, NAN};
    expect_bad(&m, "texture coordinate 0");
    m.uv = (float[]){0, 0};
    m.face_uv = (int[]){0, 0, 0, -1, -1, -1, 0, 1, 0, 0, 0, 0};
    expect_bad(&m, "face 2, corner 1");
    m = tetra();
    m.weld = (int[]){0, 0, 1, 3};
    expect_bad(&m, "vertex 2");
    m.weld = (int[]){0, 0, 2, 4};
    expect_bad(&m, "vertex 3");
    m.weld = (int[]){0, 0, 2, 3};
    assert_int_equal(fai_mesh_check(&m, NULL), FA_OK);
    m.nvert = -1;
    expect_bad(&m, "");
}

// --- topology -----------------------------------------------------------------------------------------------------

static void topology_of_closed_and_open(void **state) {
    (void)state;
    FaTopology t;
    FaMesh m = shape_sphere(10, 16, 0.1);
    assert_int_equal(fai_topology_build(&m, &t, NULL), FA_OK);
    assert_int_equal(m.nvert - t.nedge + m.ntri, 2); // Euler
    assert_int_equal(t.boundary + t.nonmanifold + t.flipped + t.unused + t.degenerate + t.duplicate, 0);
    assert_int_equal(t.nparts, 1);
    fai_topology_free(&t);

    m = shape_grid(7, 0.3, 1);
    assert_int_equal(fai_topology_build(&m, &t, NULL), FA_OK);
    assert_int_equal(m.nvert - t.nedge + m.ntri, 1);
    assert_int_equal(t.boundary, 28);
    fai_topology_free(&t);

    assert_int_equal(fai_topology_build(&(FaMesh){0}, &t, NULL), FA_OK);
    assert_int_equal(t.nedge + t.nparts, 0);
    fai_topology_free(&t);
}

static void topology_counts_defects(void **state) {
    (void)state;
    // two triangles that agree (0 1 2, 0 2 3), a third on their common edge, a copy of the first turned round, one with
    // a repeated vertex, one without area, an island, a vertex of its own
    const float x[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 5, 0, 0, 6, 0, 0, 7, 0, 0, 9, 9, 9};
    const int tri[] = {0, 1, 2, 0, 2, 3, 0, 2, 4, 2, 0, 1, 1, 1, 2, 5, 6, 7};
    FaMesh m = shape_triangles(9, x, 6, tri);
    FaTopology t;
    assert_int_equal(fai_topology_build(&m, &t, NULL), FA_OK);
    assert_int_equal(t.nparts, 2);
    assert_int_equal(t.part[4], 0);
    assert_int_equal(t.part[7], 1);
    assert_int_equal(t.part[8], -1);
    assert_int_equal(t.unused, 1);
    assert_int_equal(t.degenerate, 2);
    assert_int_equal(t.duplicate, 1);
    assert_int_equal(t.nonmanifold, 1); // 0-2, four triangles
    assert_int_equal(t.edge_tris[1], 4);
    assert_int_equal(t.edge_tri[2], 0);
    assert_int_equal(t.edge_tri[3], 1);
    assert_int_equal(t.flipped, 2); // 0-1 and 1-2, both of the copy
    assert_int_equal(t.boundary, 2 + 2 + 3);
    fai_topology_free(&t);

    // one triangle of a closed mesh turned round: its three edges disagree
    m = tetra();
    int v = m.tri[3];
    m.tri[3] = m.tri[4];
    m.tri[4] = v;
    assert_int_equal(fai_topology_build(&m, &t, NULL), FA_OK);
    assert_int_equal(t.flipped, 3);
    fai_topology_free(&t);
}

// The grid rolled into a tube with the seam's vertices doubled: open without the weld map, a tube with it.
static void topology_through_weld(void **state) {
    (void)state;
    enum { N = 6, W = N + 1 };
    FaMesh m = shape_grid(N, 0, 1);
    int *weld = FA_PUSH(arena, m.nvert, int);
    for (int v = 0; v < m.nvert; v++) {
        double angle = 6.283185307179586 * (v % W % N) / N;
        m.x[3 * v] = (float)cos(angle);
        m.x[3 * v + 2] = (float)sin(angle);
        weld[v] = v % W == N ? v - N : v;
    }
    FaTopology t;
    assert_int_equal(fai_topology_build(&m, &t, NULL), FA_OK);
    assert_int_equal(t.boundary, 4 * N);
    fai_topology_free(&t);
    assert_int_equal(fai_mesh_coincident(&m), W);
    m.weld = weld;
    assert_int_equal(fai_mesh_check(&m, NULL), FA_OK);
    assert_int_equal(fai_mesh_coincident(&m), 0);
    assert_int_equal(fai_topology_build(&m, &t, NULL), FA_OK);
    assert_int_equal(t.boundary, 2 * N);
    assert_int_equal(t.nparts, 1);
    assert_int_equal(t.part[N], 0);
    assert_int_equal(t.around_start[N + 1] - t.around_start[N], 0); // a copy has no neighbours of its own
    assert_int_equal(t.flipped, 0);

    // normals agree across the seam; areas add up to the surface
    float normal[W * W * 3], area[W * W];
    fai_mesh_normals(&m, m.x, normal);
    fai_mesh_areas(&m, m.x, area);
    assert_memory_equal(normal, normal + 3 * N, 3 * sizeof(float));
    double sum = 0;
    for (int v = 0; v < m.nvert; v++) {
        double out = (double)(normal[3 * v] * m.x[3 * v] + normal[3 * v + 2] * m.x[3 * v + 2]);
        CHECK_NEAR(fabs(out), 1, v < W || v >= W * N ? 0.02 : 1e-6); // the rims see more of one side
        sum += area[v];
    }
    CHECK_NEAR(sum, N * 2 * sin(3.14159265358979 / N), 1e-5);
    fai_topology_free(&t);
}

// Random triangles on few vertices against the definition, edge by edge.
static void topology_against_brute_force(void **state) {
    (void)state;
    enum { V = 9, T = 14 };
    for (uint64_t seed = 0; seed < 200; seed++) {
        float x[3 * V];
        int tri[3 * T], nedge = 0, boundary = 0, nonmanifold = 0;
        for (int i = 0; i < 3 * V; i++) x[i] = (float)fai_random_unit(seed, (uint64_t)i);
        for (int i = 0; i < 3 * T; i++) tri[i] = (int)(fai_random_u64(seed, 100 + (uint64_t)i) % V);
        FaMesh m = shape_triangles(V, x, T, tri);
        FaTopology t;
        assert_int_equal(fai_topology_build(&m, &t, NULL), FA_OK);
        for (int a = 0; a < V; a++)
            for (int b = a + 1; b < V; b++) {
                int count = 0, first[2] = {-1, -1};
                for (int f = 0; f < T; f++) {
                    const int *v = tri + 3 * f;
                    bool whole = v[0] != v[1] && v[1] != v[2] && v[2] != v[0];
                    bool has_a = v[0] == a || v[1] == a || v[2] == a, has_b = v[0] == b || v[1] == b || v[2] == b;
                    if (!whole || !has_a || !has_b) continue;
                    if (count < 2) first[count] = f;
                    count++;
                }
                if (count == 0) continue;
                assert_int_equal(t.edge[nedge][0], a);
                assert_int_equal(t.edge[nedge][1], b);
                assert_int_equal(t.edge_tris[nedge], count);
                assert_memory_equal(t.edge_tri + 2 * nedge, first, sizeof first);
                bool listed = false;
                for (int i = t.around_start[a]; i < t.around_start[a + 1]; i++) listed |= t.around[i] == b;
                assert_true(listed);
                nedge++;
                boundary += count == 1;
                nonmanifold += count > 2;
            }
        assert_int_equal(t.nedge, nedge);
        assert_int_equal(t.boundary, boundary);
        assert_int_equal(t.nonmanifold, nonmanifold);
        assert_int_equal(t.around_start[V], 2 * nedge);
        for (int v = 0; v < V; v++)
            for (int i = t.around_start[v] + 1; i < t.around_start[v + 1]; i++)
                assert_true(t.around[i - 1] < t.around[i]);
        for (int f = 0; f < T; f++) {
            assert_int_equal(t.part[tri[3 * f]], t.part[tri[3 * f + 1]]);
            assert_int_equal(t.part[tri[3 * f]], t.part[tri[3 * f + 2]]);
        }
        fai_topology_free(&t);
    }
}

// --- positions ----------------------------------------------------------------------------------------------------

static void coincident_vertices(void **state) {
    (void)state;
    const float x[] = {1, 2, 3, 0.0f, 0, 0, 1, 2, 3, -0.0f, 0, -0.0f, 1, 2, 3.0000002f, 1, 2, 3, -1, 2, 3};
    FaMesh m = {.nvert = 7, .x = (float *)x};
    assert_int_equal(fai_mesh_coincident(&m), 3);
    m.weld = (int[]){0, 1, 0, 3, 4, 5, 6};
    assert_int_equal(fai_mesh_coincident(&m), 2);
    m.weld = (int[]){0, 1, 0, 1, 4, 0, 6};
    assert_int_equal(fai_mesh_coincident(&m), 0);
    assert_int_equal(fai_mesh_coincident(&(FaMesh){0}), 0);
}

static void sphere_measures(void **state) {
    (void)state;
    FaMesh m = shape_sphere(80, 160, 0.1);
    float *normal = FA_PUSH(arena, 3 * m.nvert, float), *area = FA_PUSH(arena, m.nvert, float);
    fai_mesh_normals(&m, m.x, normal);
    fai_mesh_areas(&m, m.x, area);
    double sum = 0, worst = 0;
    for (int v = 0; v < m.nvert; v++) {
        double along = 0;
        for (int k = 0; k < 3; k++) along += (double)normal[3 * v + k] * m.x[3 * v + k] / 0.1;
        worst = fmax(worst, 1 - along);
        sum += area[v];
    }
    const double pi = 3.14159265358979323846;
    CHECK_NEAR(worst, 0, 2e-3);
    CHECK_NEAR(sum, 4 * pi * 0.01, 1e-3 * 4 * pi * 0.01);
    FaTopology t;
    assert_int_equal(fai_topology_build(&m, &t, NULL), FA_OK);
    double volume[1];
    bool closed[1];
    fai_mesh_volumes(&m, &t, m.x, volume, closed);
    assert_true(closed[0]);
    double whole = 4 * pi * 1e-3 / 3;
    CHECK_NEAR(volume[0], whole, 2e-3 * whole);
    // far from the origin, and turned inside out
    for (int v = 0; v < m.nvert; v++) m.x[3 * v] += 1;
    double moved[1];
    fai_mesh_volumes(&m, &t, m.x, moved, closed);
    CHECK_NEAR(moved[0], volume[0], 1e-6 * whole);
    for (int i = 0; i < m.nvert; i++) m.x[3 * i] = -m.x[3 * i];
    fai_mesh_volumes(&m, &t, m.x, moved, closed);
    CHECK_NEAR(moved[0], -volume[0], 1e-6 * whole);
    fai_topology_free(&t);
}

// A tetrahedron, one with a face missing, and one with a face doubled: only the first has a volume.
static void volumes_of_parts(void **state) {
    (void)state;
    float x[36];
    FaMesh one = tetra();
    int tri[36], n = 0;
    for (int part = 0; part < 3; part++)
        for (int v = 0; v < 4; v++)
            for (int k = 0; k < 3; k++)
                x[12 * part + 3 * v + k] = one.x[3 * v + k] + (k == 0 ? 10.0f * (float)part : 0);
    for (int part = 0; part < 3; part++)
        for (int f = 0; f < 4; f++)
            for (int k = 0; k < 3 && !(part == 1 && f == 2); k++) tri[n++] = one.tri[3 * f + k] + 4 * part;
    for (int k = 0; k < 3; k++) tri[n++] = one.tri[k] + 8;
    FaMesh m = shape_triangles(12, x, n / 3, tri);
    FaTopology t;
    assert_int_equal(fai_topology_build(&m, &t, NULL), FA_OK);
    assert_int_equal(t.nparts, 3);
    double volume[3];
    bool closed[3];
    fai_mesh_volumes(&m, &t, m.x, volume, closed);
    assert_true(closed[0] && !closed[1] && !closed[2]);
    CHECK_NEAR(volume[0], 1.0 / 6, 1e-7);
    assert_true(volume[1] == 0 && volume[2] == 0);
    fai_topology_free(&t);
}

static void lone_vertex_has_no_normal(void **state) {
    (void)state;
    const float x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 4, 4, 4};
    FaMesh m = shape_triangles(4, x, 1, (int[]){0, 1, 2});
    float normal[12];
    fai_mesh_normals(&m, m.x, normal);
    assert_true(normal[9] == 0 && normal[10] == 0 && normal[11] == 0);
    assert_true(normal[2] == 1);
}

// --- real data and no memory --------------------------------------------------------------------------------------

static void ict_neutral(void **state) {
    (void)state;
    FaMesh m;
    if (!shape_ict_neutral(&m)) skip();
    FaTopology t;
    double start = fai_seconds();
    assert_int_equal(fai_mesh_check(&m, NULL), FA_OK);
    assert_int_equal(fai_topology_build(&m, &t, NULL), FA_OK);
    print_message("%d triangles: %.1f ms; %d flipped, %d degenerate, %d non-manifold, %d duplicate, %d unused\n",
                  m.ntri, 1e3 * (fai_seconds() - start), t.flipped, t.degenerate, t.nonmanifold, t.duplicate, t.unused);
    assert_int_equal(m.nvert, 26719);
    assert_int_equal(m.ntri, 2 * 25836 + 548);
    assert_int_equal(t.nparts, 56);
    assert_int_equal(t.boundary, 1040);
    assert_int_equal(fai_mesh_coincident(&m), 345);
    fai_topology_free(&t);
}

static void survives_no_memory(void **state) {
    (void)state;
    FaMesh m = shape_sphere(5, 8, 1);
    for (int k = 1;; k++) {
        assert_true(k < 100);
        long before = test_alloc_balance();
        test_fail_alloc(k);
        FaError err = {0};
        FaTopology topo;
        FaCode built = fai_topology_build(&m, &topo, &err);
        if (built == FA_OK) fai_topology_free(&topo);
        FaArena *mine = fai_arena_new(0);
        FaMesh copy = m;
        FaCode cut = mine ? fai_mesh_triangulate(&copy, mine, NULL, NULL) : FA_E_MEMORY;
        fai_arena_free(mine);
        int coincident = fai_mesh_coincident(&m);
        bool delivered = test_alloc_failed();
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), before);
        // exactly one of the three has failed, until there are no more allocations to fail
        assert_int_equal((built != FA_OK) + (cut != FA_OK) + (coincident < 0), delivered);
        if (built != FA_OK) assert_true(built == FA_E_MEMORY && err.code == FA_E_MEMORY && !topo.arena);
        if (!delivered) {
            assert_true(k > 10);
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cuts_convex_as_fan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_concave, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_collinear_corners, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_random_stars, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_thin_polygons, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_bridged_hole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_polygons_that_touch_themselves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counts_hopeless_polygons, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_huge_polygon, set_up, tear_down),
        cmocka_unit_test_setup_teardown(checks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(topology_of_closed_and_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(topology_counts_defects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(topology_through_weld, set_up, tear_down),
        cmocka_unit_test_setup_teardown(topology_against_brute_force, set_up, tear_down),
        cmocka_unit_test_setup_teardown(coincident_vertices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sphere_measures, set_up, tear_down),
        cmocka_unit_test_setup_teardown(volumes_of_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lone_vertex_has_no_normal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ict_neutral, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
