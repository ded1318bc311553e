// Fewer simulated vertices: chosen among the originals, still a manifold, rows as they were; and the way back to the
// full surface: nothing for nothing, rigid for rigid, small errors for the shapes themselves.
#include "test_face_made.h"
#include "test_face_tools.h"

#include "face/coarse.h"
#include "face/face_file.h"
#include "face/restore.h"
#include "fascia/face.h"
#include "mesh/decimate.h"

// --- decimation -----------------------------------------------------------------------------------------------------

// Every edge at most twice, one fan per vertex, the same number of boundary loops' ends: Euler's number.
static void check_manifold(int nvert, int ntri, const int *tri, int euler) {
    FaError err = {0};
    FaTopology topo;
    float *x = calloc(3 * (size_t)nvert, sizeof *x);
    FaMesh mesh = {.nvert = nvert, .ntri = ntri, .x = x, .tri = (int *)tri};
    for (int i = 0; i < 3 * nvert; i++) x[i] = (float)fai_random_unit(3, (uint64_t)i);
    CHECK_OK(fai_topology_build(&mesh, &topo, &err), &err);
    assert_int_equal(topo.nonmanifold, 0);
    assert_int_equal(topo.flipped, 0);
    assert_int_equal(topo.duplicate, 0);
    assert_int_equal(nvert - topo.unused - topo.nedge + ntri, euler);
    // open edges at a vertex: none or two, else fans meet in a point
    int *open = calloc((size_t)nvert, sizeof *open);
    for (int e = 0; e < topo.nedge; e++)
        if (topo.edge_tris[e] == 1) open[topo.edge[e][0]]++, open[topo.edge[e][1]]++;
    for (int v = 0; v < nvert; v++) assert_true(open[v] == 0 || open[v] == 2);
    free(open);
    free(x);
    fai_topology_free(&topo);
}

static void test_sheet(void **state) {
    (void)state;
    Made m = {0};
    FaError err = {0};
    enum { N = 20, TARGET = 90 };
    made_sheet(&m, N, 2e-3);
    int *home = calloc((size_t)m.nvert, sizeof *home), *tri = calloc(3 * (size_t)m.ntri, sizeof *tri), ntri, left;
    const FaDecimateInput in = {
        .nvert = m.nvert, .ntri = m.ntri, .x = m.x, .tri = m.tri, .nattr = 3, .attr = m.d, .target = TARGET};
    CHECK_OK(fai_decimate(&in, home, tri, &ntri, &left, &err), &err);
    assert_int_equal(left, TARGET);
    check_manifold(m.nvert, ntri, tri, 1);
    // a flat sheet stays flat, faces the same way and keeps its area: the edge of the sheet has not moved
    double area = 0;
    for (int t = 0; t < ntri; t++) {
        const float *a = m.x + 3 * tri[3 * t], *b = m.x + 3 * tri[3 * t + 1], *c = m.x + 3 * tri[3 * t + 2];
        double z = 0.5 * ((double)(b[0] - a[0]) * (c[1] - a[1]) - (double)(b[1] - a[1]) * (c[0] - a[0]));
        assert_true(z > 0);
        area += z;
    }
    CHECK_NEAR(area, pow(N * 2e-3, 2), 1e-9);
    int kept = 0;
    for (int v = 0; v < m.nvert; v++) {
        kept += home[v] == v;
        assert_int_equal(home[home[v]], home[v]);
    }
    assert_int_equal(kept, TARGET);
    // the step in what is carried is kept sharp: vertices gather around it
    int near = 0;
    for (int v = 0; v < m.nvert; v++) {
        double r = hypot((double)m.x[3 * v], (double)m.x[3 * v + 1]) / (0.35 * N * 2e-3);
        near += home[v] == v && r > 0.7 && r < 1.3;
    }
    assert_true(near > 45);
    free(home);
    free(tri);
    made_free(&m);
}

// As few as it can: it stops at a surface that is still one, and says where.
static void test_to_nothing(void **state) {
    (void)state;
    Made m = {0};
    FaError err = {0};
    made_creature(&m, 12, 0.1, 6, 0.1, 0.01);
    int *home = calloc((size_t)m.nvert, sizeof *home), *tri = calloc(3 * (size_t)m.ntri, sizeof *tri), ntri, left;
    const FaDecimateInput in = {.nvert = m.nvert, .ntri = m.ntri, .x = m.x, .tri = m.tri, .target = 0};
    CHECK_OK(fai_decimate(&in, home, tri, &ntri, &left, &err), &err);
    assert_true(left >= 4 && left < m.nvert / 4);
    check_manifold(m.nvert, ntri, tri, 2);
    free(home);
    free(tri);
    made_free(&m);
}

// --- a head ---------------------------------------------------------------------------------------------------------

enum { TARGET = 900 };

typedef struct Fixture {
    FaRig *rig;
    FaFace *full, *coarse;
} Fixture;
static Fixture fix;

static int make(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head = head_at(0, 0, true);
    fix.rig = skin_rig(head);
    fa_head_free(head);
    const FaFaceOptions o = {.simulate_vertices = TARGET};
    CHECK_OK(fa_face_build(fix.rig, NULL, &fix.full, &err), &err);
    CHECK_OK(fa_face_build(fix.rig, &o, &fix.coarse, &err), &err);
    return 0;
}

static int drop(void **state) {
    (void)state;
    fa_face_free(fix.full);
    fa_face_free(fix.coarse);
    fa_rig_free(fix.rig);
    return 0;
}

static void test_face(void **state) {
    (void)state;
    FaError err = {0};
    const FaFace *f = fix.coarse;
    assert_true(fix.full->nskin > 1.5 * TARGET);
    assert_true(f->nskin <= TARGET && f->nskin > 0.95 * TARGET);
    assert_non_null(fai_note_find(&f->notes, "skin-decimated"));
    assert_null(fai_note_find(&fix.full->notes, "skin-decimated"));
    CHECK_OK(fa_face_fits(f, fix.rig, &err), &err);
    // vertices of the rig itself, so that every shape's rows are theirs
    for (int i = 0; i < f->nskin; i++) {
        assert_true(f->skin_vertex[i] >= 0 && f->skin_vertex[i] < fix.rig->mesh.nvert);
        assert_memory_equal(f->x0 + 3 * i, fix.rig->mesh.x + 3 * (size_t)f->skin_vertex[i], 12);
        assert_int_equal(f->node_of_vertex[f->skin_vertex[i]], i);
    }
    // who was simulated still is, or follows
    int lost = 0;
    for (int v = 0; v < f->nvert; v++)
        if (fix.full->node_of_vertex[v] >= 0 && f->node_of_vertex[v] < 0) lost += f->ride_node[3 * v] < 0;
    assert_int_equal(lost, 0);
    // lips keep more of theirs than the rest
    double lips[2] = {0}, all[2] = {0};
    for (int i = 0; i < fix.full->nskin; i++) {
        double w =
            fmax((double)fix.full->region[FA_REGION_LIP_UPPER][i], (double)fix.full->region[FA_REGION_LIP_LOWER][i]);
        bool kept = f->node_of_vertex[fix.full->skin_vertex[i]] >= 0;
        lips[0] += w, lips[1] += kept * w;
        all[0] += 1 - w, all[1] += kept * (1 - w);
    }
    assert_true(lips[1] / lips[0] > all[1] / all[0]);
    // regions are those of the full surface
    for (int i = 0; i < f->nskin; i++) {
        int at = fix.full->node_of_vertex[f->skin_vertex[i]];
        if (at >= 0) CHECK_NEAR(f->region[FA_REGION_MOUTH][i], fix.full->region[FA_REGION_MOUTH][at], 0);
    }
}

static void test_same_bits(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *again;
    unsigned char *a, *b;
    size_t na, nb;
    const FaFaceOptions o = {.simulate_vertices = TARGET};
    fa_threads_set(1);
    CHECK_OK(fa_face_build(fix.rig, &o, &again, &err), &err);
    fa_threads_set(0);
    CHECK_OK(fai_face_pack(fix.coarse, &a, &na, &err), &err);
    CHECK_OK(fai_face_pack(again, &b, &nb, &err), &err);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    fa_free(a);
    fa_free(b);
    fa_face_free(again);
}

// Rides lie in their triangle, next to the vertex, and never on the other lip.
static void test_rides(void **state) {
    (void)state;
    const FaFace *f = fix.coarse;
    for (int v = 0; v < f->nvert; v++) {
        if (f->node_of_vertex[v] >= 0 || f->ride_node[3 * v] < 0 || fix.full->node_of_vertex[v] < 0) continue;
        double p[3] = {0}, sum = 0;
        for (int j = 0; j < 3; j++) {
            double w = (double)f->ride_weight[3 * v + j];
            sum += w;
            for (int k = 0; k < 3; k++) p[k] += w * (double)f->x0[3 * f->ride_node[3 * v + j] + k];
        }
        CHECK_NEAR(sum, 1, 1e-5);
        double d = 0;
        for (int k = 0; k < 3; k++) d += pow(p[k] - (double)fix.rig->mesh.x[3 * (size_t)v + k], 2);
        assert_true(sqrt(d) < 6e-3);
        int own = fix.full->node_of_vertex[v];
        bool upper = fix.full->region[FA_REGION_LIP_UPPER][own] > 0.9f,
             lower = fix.full->region[FA_REGION_LIP_LOWER][own] > 0.9f;
        double other = 0;
        for (int j = 0; j < 3; j++)
            other += (double)f->ride_weight[3 * v + j] *
                     (double)f->region[upper ? FA_REGION_LIP_LOWER : FA_REGION_LIP_UPPER][f->ride_node[3 * v + j]];
        if (upper != lower) assert_true(other < 0.9);
    }
}

// --- the way back ---------------------------------------------------------------------------------------------------

static void test_nothing(void **state) {
    (void)state;
    FaError err = {0};
    FaRestore *r;
    const size_t n = 3 * (size_t)fix.rig->mesh.nvert;
    CHECK_OK(fai_restore_new(fix.rig, fix.coarse, &r, &err), &err);
    assert_true(fai_restore_free_count(r) > 500);
    float *x = malloc(n * sizeof *x), *was = malloc(n * sizeof *was),
          *d = calloc(3 * (size_t)fix.coarse->nskin, sizeof *d);
    memcpy(x, fix.rig->mesh.x, n * sizeof *x);
    x[5] = -0.0f;
    memcpy(was, x, n * sizeof *x);
    for (int k = 0; k < 3 * fix.coarse->nskin; k += 2) d[k] = -0.0f;
    fai_restore_add(r, d, x);
    assert_memory_equal(x, was, n * sizeof *x);
    // one node moved, and back: nothing is remembered
    d[30] = 1e-3f;
    fai_restore_add(r, d, x);
    assert_memory_not_equal(x, was, n * sizeof *x);
    memcpy(x, was, n * sizeof *x);
    d[30] = 0;
    fai_restore_add(r, d, x);
    assert_memory_equal(x, was, n * sizeof *x);
    free(x);
    free(was);
    free(d);
    fai_restore_free(r);
}

// All nodes alike: all vertices of the patch alike. Same bits for any number of threads; simulated vertices exactly.
static void test_constant(void **state) {
    (void)state;
    FaError err = {0};
    FaRestore *r;
    const FaFace *f = fix.coarse;
    const int n = f->nvert;
    CHECK_OK(fai_restore_new(fix.rig, f, &r, &err), &err);
    float *x = calloc(3 * (size_t)n, sizeof *x), *y = calloc(3 * (size_t)n, sizeof *y),
          *d = calloc(3 * (size_t)f->nskin, sizeof *d);
    for (int i = 0; i < f->nskin; i++) d[3 * i] = 0.01f, d[3 * i + 1] = -0.02f, d[3 * i + 2] = 0.005f;
    fa_threads_set(1);
    fai_restore_add(r, d, x);
    fa_threads_set(4);
    fai_restore_add(r, d, y);
    fa_threads_set(0);
    assert_memory_equal(x, y, 12 * (size_t)n);
    for (int v = 0; v < n; v++) {
        bool moves = f->node_of_vertex[v] >= 0 || f->ride_node[3 * v] >= 0;
        CHECK_NEAR(x[3 * v], moves ? 0.01 : 0, 2e-7);
        CHECK_NEAR(x[3 * v + 1], moves ? -0.02 : 0, 4e-7);
        if (f->node_of_vertex[v] >= 0) assert_memory_equal(x + 3 * v, d, 12);
    }
    free(x);
    free(y);
    free(d);
    fai_restore_free(r);
}

// Shapes taken at the chosen vertices alone, and brought back: their own error over all of the surface.
static void test_shapes_back(void **state) {
    (void)state;
    FaError err = {0};
    FaRestore *r;
    const FaFace *f = fix.coarse;
    const FaRig *rig = fix.rig;
    const size_t n = (size_t)f->nvert;
    CHECK_OK(fai_restore_new(rig, f, &r, &err), &err);
    float *x = malloc(12 * n), *truth = malloc(12 * n), *d = malloc(12 * (size_t)f->nskin);
    double sum = 0, worst = 0, count = 0, size = 0;
    for (int s = 0; s < rig->nshape; s++) {
        memset(truth, 0, 12 * n);
        memset(x, 0, 12 * n);
        for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++)
            memcpy(truth + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 12);
        for (int i = 0; i < f->nskin; i++) memcpy(d + 3 * i, truth + 3 * (size_t)f->skin_vertex[i], 12);
        fai_restore_add(r, d, x);
        for (size_t v = 0; v < n; v++) {
            if (fix.full->node_of_vertex[v] < 0) continue;
            double e = head_distance(x + 3 * v, truth + 3 * v),
                   m = hypot((double)truth[3 * v], (double)truth[3 * v + 1]);
            sum += e * e, size += m * m, count++;
            worst = fmax(worst, e);
        }
    }
    print_message("%d of %d vertices: rms %.4f mm, worst %.2f mm (rms of the shapes %.2f mm)\n", f->nskin,
                  fix.full->nskin, 1e3 * sqrt(sum / count), 1e3 * worst, 1e3 * sqrt(size / count));
    assert_true(sqrt(sum / count) < 0.12e-3);
    assert_true(worst < 5e-3);
    free(x);
    free(truth);
    free(d);
    fai_restore_free(r);
}

// A face that was not decimated needs no solve: its nodes are the vertices.
static void test_not_decimated(void **state) {
    (void)state;
    FaError err = {0};
    FaRestore *r;
    CHECK_OK(fai_restore_new(fix.rig, fix.full, &r, &err), &err);
    assert_int_equal(fai_restore_free_count(r), 0);
    float *x = calloc(3 * (size_t)fix.full->nvert, sizeof *x), *d = calloc(3 * (size_t)fix.full->nskin, sizeof *d);
    d[31] = 0.25f;
    fai_restore_add(r, d, x);
    int changed = 0;
    for (int i = 0; i < 3 * fix.full->nvert; i++) changed += x[i] != 0;
    assert_true(changed >= 1 && changed <= 4);
    assert_true(x[3 * fix.full->skin_vertex[10] + 1] == 0.25f);
    free(x);
    free(d);
    fai_restore_free(r);
}

// Every allocation fails once, in the choice of vertices and in the way back.
static void test_memory(void **state) {
    (void)state;
    for (int what = 0; what < 2; what++) {
        long k = 1;
        for (bool failed = true; failed; k++) {
            FaError err = {0};
            Made m = {0};
            FaRestore *r = NULL;
            int ntri, left;
            made_sheet(&m, 6, 2e-3);
            int *home = calloc((size_t)m.nvert, sizeof *home), *tri = calloc(3 * (size_t)m.ntri, sizeof *tri);
            const FaDecimateInput in = {.nvert = m.nvert, .ntri = m.ntri, .x = m.x, .tri = m.tri, .target = 20};
            long balance = test_alloc_balance();
            test_fail_alloc(k);
            FaCode rc = what ? fai_restore_new(fix.rig, fix.coarse, &r, &err)
                             : fai_decimate(&in, home, tri, &ntri, &left, &err);
            failed = test_alloc_failed();
            test_fail_alloc(0);
            assert_true(failed ? rc == FA_E_MEMORY : rc == FA_OK);
            fai_restore_free(r);
            assert_int_equal(test_alloc_balance(), balance);
            free(home);
            free(tri);
            made_free(&m);
            if (k > 60) k += 7; // the solver's own are tested elsewhere
        }
        assert_true(k > 2);
    }
}

static void test_options(void **state) {
    (void)state;
    FaFace *face;
    for (int i = 0; i < 2; i++) {
        FaError err = {0};
        const FaFaceOptions bad = {.simulate_vertices = i ? -1 : 2000000000};
        assert_int_equal(fa_face_build(fix.rig, &bad, &face, &err), FA_E_ARG);
        assert_null(face);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sheet),     cmocka_unit_test(test_to_nothing),  cmocka_unit_test(test_face),
        cmocka_unit_test(test_same_bits), cmocka_unit_test(test_rides),       cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_constant),  cmocka_unit_test(test_shapes_back), cmocka_unit_test(test_not_decimated),
        cmocka_unit_test(test_options),   cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
