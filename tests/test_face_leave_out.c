// Triangles taken out of a built face: what stays is a face again, hangs together, and keeps its numbers.
#include "test_face_made.h"

#include "face/columns.h"
#include "face/face.h"
#include "face/leave_out.h"
#include "face/tetra.h"
#include "fascia/face.h"
#include "mesh/mesh.h"

enum { SIDE = 8, ROW = SIDE + 1 }; // squares of the sheet

// A sheet's face with everything that a face may have: stiffness, materials and volumes that tell nodes, edges and tets
// apart.
static FaFace *full_face(FaRig **rig, int layers) {
    FaError err = {0};
    Made m = {0};
    FaFace *f;
    made_sheet(&m, SIDE, 4e-3);
    *rig = made_rig(&m);
    made_free(&m);
    const FaFaceOptions o = {.layers = layers, .thickness = 6e-3, .whole = true, .no_bones = true};
    CHECK_OK(fa_face_build(*rig, &o, &f, &err), &err);
    assert_int_equal(f->nskin, ROW * ROW);
    FaTopology topo;
    CHECK_OK(fai_topology_build(&(FaMesh){.nvert = f->nskin, .ntri = f->ntri, .tri = f->tri, .x = f->x0}, &topo, &err),
             &err);
    f->stiff_edges = topo.nedge;
    f->stiff_edge = FA_PUSH(f->arena, topo.nedge, float);
    f->stiff_anchor = FA_PUSH(f->arena, f->nskin, float);
    f->stiff_bend = FA_PUSH(f->arena, f->nskin, float);
    f->mu0 = FA_PUSH(f->arena, f->ntet, float);
    f->lambda0 = FA_PUSH(f->arena, f->ntet, float);
    for (int e = 0; e < topo.nedge; e++) f->stiff_edge[e] = 1 + 1e-3f * (float)(topo.edge[e][0] + topo.edge[e][1]);
    for (int i = 0; i < f->nskin; i++) f->stiff_anchor[i] = f->stiff_bend[i] = 1 + 1e-3f * (float)i;
    for (int t = 0; t < f->ntet; t++) f->mu0[t] = f->lambda0[t] = 1000 + (float)t;
    fai_topology_free(&topo);
    FaColumnsMaker nodes = {.width = 3}, tets = {.width = 2};
    float *dense = calloc(3 * (size_t)f->nnode + 2 * (size_t)f->ntet, sizeof *dense);
    for (int i = 0; i < 3 * f->nnode; i++) dense[i] = 1e-6f * (float)(i + 1);
    CHECK_OK(fai_columns_push(&nodes, f->nnode, dense, 0, &err), &err);
    for (int t = 0; t < 2 * f->ntet; t++) dense[t] = t / 2 % 2 ? (float)t : 0; // every other one
    CHECK_OK(fai_columns_push(&tets, f->ntet, dense, 0, &err), &err);
    CHECK_OK(fai_columns_finish(&nodes, f->arena, &f->volumes, &err), &err);
    CHECK_OK(fai_columns_finish(&tets, f->arena, &f->materials, &err), &err);
    free(dense);
    CHECK_OK(fai_face_check(f, &err), &err);
    return f;
}

// Fans of triangles at the nodes that have any, less their number; and pieces.
static int extra_fans(const FaFace *f, int *pieces) {
    FaError err = {0};
    FaTopology topo;
    CHECK_OK(fai_topology_build(&(FaMesh){.nvert = f->nskin, .ntri = f->ntri, .tri = f->tri, .x = f->x0}, &topo, &err),
             &err);
    int *corners = calloc((size_t)f->nskin, sizeof *corners), *inner = calloc((size_t)f->nskin, sizeof *inner),
        extra = 0;
    for (int k = 0; k < 3 * f->ntri; k++) corners[f->tri[k]]++;
    for (int e = 0; e < topo.nedge; e++)
        for (int k = 0; k < 2; k++) inner[topo.edge[e][k]] += topo.edge_tris[e] == 2;
    // a closed fan has as many inner edges as triangles, an open one fewer by one
    for (int i = 0; i < f->nskin; i++) extra += FA_MAX(corners[i] - inner[i], 1) - 1;
    assert_int_equal(topo.nonmanifold, 0);
    *pieces = topo.nparts;
    fai_topology_free(&topo);
    free(corners);
    free(inner);
    return extra;
}

static double mass_error(const FaFace *f) {
    double *m = calloc((size_t)f->nnode, sizeof *m), worst = 0;
    for (int t = 0; t < f->ntet; t++)
        for (int k = 0; k < 4; k++) m[f->tet[4 * t + k]] += 1100 * fai_tet_volume(f->x0, f->tet + 4 * t) / 4;
    for (int i = 0; i < f->nnode; i++) worst = fmax(worst, fabs(m[i] / (double)f->mass[i] - 1));
    free(m);
    return worst;
}

// Take them out, and compare with a copy that has them.
static void take_out(int layers, unsigned char *out, int want, int nodes_gone) {
    FaError err = {0};
    FaRig *rig, *same;
    FaFace *was = full_face(&same, layers), *f = full_face(&rig, layers);
    int count, pieces, *node = malloc((size_t)f->nnode * sizeof *node), nedge = 0;
    CHECK_OK(fai_leave_out_more(f, out, &count, &err), &err);
    assert_int_equal(count, want);
    CHECK_OK(fai_leave_out(f, out, node, &err), &err);
    CHECK_OK(fai_face_check(f, &err), &err);
    assert_int_equal(f->ntri, was->ntri - want);
    assert_int_equal(f->nskin, was->nskin - nodes_gone);
    assert_int_equal(extra_fans(f, &pieces), 0);
    assert_int_equal(pieces, 1);
    assert_true(mass_error(f) < 1e-5);
    for (int i = 0; i < was->nnode; i++) {
        const int to = node[i], skin = i % was->nskin;
        if (to < 0) {
            assert_int_equal(f->node_of_vertex[was->skin_vertex[skin]], -1);
            continue;
        }
        assert_int_equal(to % f->nskin, node[skin]);
        assert_memory_equal(f->x0 + 3 * to, was->x0 + 3 * i, 12);
        if (i != skin) continue;
        assert_int_equal(f->skin_vertex[to], was->skin_vertex[i]);
        assert_int_equal(f->node_of_vertex[was->skin_vertex[i]], to);
        assert_int_equal(f->rim[to], was->rim[i]); // a hole is no rim
        assert_true(f->stiff_anchor[to] == was->stiff_anchor[i] && f->thickness[to] == was->thickness[i]);
    }
    // each tet, its stiffness and what shapes add go together
    for (int t = 0, n = 0; t < was->ntet; t++) {
        if (out[t / 3 / layers]) continue;
        for (int k = 0; k < 4; k++) assert_int_equal(f->tet[4 * n + k], node[was->tet[4 * t + k]]);
        assert_true(f->mu0[n] == was->mu0[t] && f->lambda0[n] == was->lambda0[t]);
        n++;
    }
    float *a = malloc(12 * (size_t)was->ntet), *b = malloc(12 * (size_t)was->ntet);
    fai_columns_dense(&was->volumes, 0, was->nnode, a);
    fai_columns_dense(&f->volumes, 0, f->nnode, b);
    for (int i = 0; i < was->nnode; i++)
        if (node[i] >= 0) assert_memory_equal(b + 3 * node[i], a + 3 * i, 12);
    fai_columns_dense(&was->materials, 0, was->ntet, a);
    fai_columns_dense(&f->materials, 0, f->ntet, b);
    for (int t = 0, n = 0; t < was->ntet; t++)
        if (!out[t / 3 / layers]) assert_memory_equal(b + 2 * n++, a + 2 * t, 8);
    // edges are told by their ends
    FaTopology topo;
    CHECK_OK(fai_topology_build(&(FaMesh){.nvert = f->nskin, .ntri = f->ntri, .tri = f->tri, .x = f->x0}, &topo, &err),
             &err);
    nedge = topo.nedge;
    assert_int_equal(f->stiff_edges, nedge);
    for (int i = 0, e = 0; i < was->nskin; i++) // the old number of each new node
        for (; node[i] >= 0 && e < nedge && topo.edge[e][0] == node[i]; e++)
            for (int j = 0; j < was->nskin; j++)
                if (node[j] == topo.edge[e][1]) assert_true(f->stiff_edge[e] == 1 + 1e-3f * (float)(i + j));
    fai_topology_free(&topo);
    free(a);
    free(b);
    free(node);
    fa_face_free(f);
    fa_face_free(was);
    fa_rig_free(rig);
    fa_rig_free(same);
}

static int triangle_at(int column, int row, int half) { return 2 * (row * SIDE + column) + half; }

static void test_one(void **state) {
    (void)state;
    for (int layers = 1; layers <= 2; layers++) {
        unsigned char out[2 * SIDE * SIDE] = {0};
        out[triangle_at(3, 4, 1)] = 1;
        take_out(layers, out, 1, 0);
    }
}

// All around a node: it goes, and the others move up. Squares are cut from their first corner to the one above on the
// right.
static void test_node(void **state) {
    (void)state;
    for (int layers = 1; layers <= 2; layers++) {
        unsigned char out[2 * SIDE * SIDE] = {0};
        out[triangle_at(2, 3, 0)] = out[triangle_at(2, 3, 1)] = out[triangle_at(3, 3, 1)] = 1;
        out[triangle_at(3, 4, 0)] = out[triangle_at(3, 4, 1)] = out[triangle_at(2, 4, 0)] = 1;
        take_out(layers, out, 6, 1);
    }
}

// Two triangles that meet in a node only: the smaller of the fans between them goes too; a corner cut off goes whole.
static void test_fans(void **state) {
    (void)state;
    unsigned char out[2 * SIDE * SIDE] = {0};
    out[triangle_at(2, 3, 1)] = out[triangle_at(3, 4, 0)] = 1; // opposite at the node between them: two fans of two
    take_out(1, out, 4, 0);
    memset(out, 0, sizeof out);
    for (int k = 0; k < 4; k++)
        out[triangle_at(k, 3 - k, 0)] = out[triangle_at(k, 3 - k, 1)] = 1; // a cut across the corner
    take_out(1, out, 2 * 10, 10);
}

static void test_all(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    FaFace *f = full_face(&rig, 1);
    unsigned char out[2 * SIDE * SIDE];
    int count;
    memset(out, 1, sizeof out);
    assert_int_equal(fai_leave_out_more(f, out, &count, &err), FA_E_MESH);
    memset(out, 0, sizeof out);
    CHECK_OK(fai_leave_out_more(f, out, &count, &err), &err);
    assert_int_equal(count, 0);
    fa_face_free(f);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one), cmocka_unit_test(test_node),
                                       cmocka_unit_test(test_fans), cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
