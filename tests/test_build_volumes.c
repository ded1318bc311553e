// The volumes of whole heads, and dense rigs on fewer vertices: all 52 shapes of ours, and what a real file gives.
// labels: heavy
#include "test_face_tools.h"

#include "build/blendvolume.h"
#include "face/columns.h"
#include "face/face_file.h"
#include "face/restore.h"
#include "fascia/face.h"

static uint64_t hash_of(const FaFace *f) {
    const FaColumns *c = &f->volumes;
    const size_t n = (size_t)c->first[c->nshape];
    return fai_hash64(c->value, 3 * n * sizeof(float), fai_hash64(c->item, n * sizeof(int), 1));
}

// Skin to the bit, nothing inverted (mouthClose: on top of the jawOpen it closes).
static void check_volumes(const FaFace *f, const FaRig *rig) {
    float *dense = malloc(12 * (size_t)f->nnode), *skin = malloc(12 * (size_t)f->nvert),
          *w = calloc((size_t)rig->nshape, sizeof *w);
    double *X = malloc(24 * (size_t)f->nnode), least = 1;
    int open = shape_of(rig, "jawOpen"), shut = shape_of(rig, "mouthClose"), clamped = 0;
    for (int s = 0; s < rig->nshape; s++) {
        const FaShape *sh = &rig->shape[s];
        fai_columns_dense(&f->volumes, s, f->nnode, dense);
        memset(skin, 0, 12 * (size_t)f->nvert);
        for (int e = sh->first; e < sh->first + sh->count; e++)
            memcpy(skin + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 12);
        for (int i = 0; i < f->nskin; i++)
            for (int k = 0; k < 3; k++)
                assert_true(dense[3 * i + k] == skin[3 * (size_t)f->skin_vertex[i] + (size_t)k]);
        memset(w, 0, (size_t)rig->nshape * sizeof *w);
        w[s] = 1;
        if (s == shut) w[open] = 1;
        fai_volume_at(f, w, X);
        FaVolumeQuality q = fai_volume_quality(f, X);
        if (q.inverted) print_message("%s: %d inverted, %g\n", sh->name, q.inverted, q.least);
        assert_int_equal(q.inverted, 0);
        least = fmin(least, q.least);
        clamped += q.clamped;
    }
    print_message("least stretch %.3f; %d tets of %d x %d under 0.2\n", least, clamped, f->ntet, rig->nshape);
    free(dense);
    free(skin);
    free(w);
    free(X);
}

static void test_head(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head = head_at(0, 0, true);
    FaRig *rig = skin_rig(head);
    FaFace *face, *again;
    FaVolumesReport r;
    fa_head_free(head);
    CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
    CHECK_OK(fa_face_volumes(face, rig, NULL, &r, &err), &err);
    print_message("%d nodes, %d shapes: %.1f s; unfolded %d; mixed: least %.2f, clamped %.3f %%, inverted %.3f %%\n",
                  face->nnode, r.nshape, r.seconds, r.unfolded, r.mixed_least, 100 * r.mixed_clamped,
                  100 * r.mixed_inverted);
    assert_int_equal(r.inverted, 0);
    assert_true(r.gap < 2e-5);
    assert_true(r.mixed_inverted < 0.01);
    check_volumes(face, rig);
    // eight threads: the same bits. The eyes' shapes will do.
    CHECK_OK(fa_face_build(rig, NULL, &again, &err), &err);
    uint64_t hash[2];
    const int all = rig->nshape;
    for (int i = 0; i < 2; i++) {
        FaVolumeModel *m;
        FaVolumeShape report;
        float *d = malloc(12 * (size_t)face->nnode), *kept = malloc(12 * (size_t)face->nnode);
        fa_threads_set(i ? 8 : 1);
        CHECK_OK(fai_volume_model_new(again, rig, &m, &err), &err);
        CHECK_OK(fai_volume_shape(m, shape_of(rig, "mouthSmileLeft"), NULL, d, &report, &err), &err);
        fai_columns_dense(&face->volumes, shape_of(rig, "mouthSmileLeft"), face->nnode, kept);
        for (int k = 0; k < 3 * face->nnode; k++) assert_true(d[k] == kept[k]);
        hash[i] = fai_hash64(d, 12 * (size_t)face->nnode, 1);
        fai_volume_model_free(m);
        free(d);
        free(kept);
    }
    fa_threads_set(0);
    assert_true(hash[0] == hash[1] && all == 52 && hash_of(face) != 0);
    fa_face_free(again);
    fa_face_free(face);
    fa_rig_free(rig);
}

// Shapes brought back from the chosen vertices: rms and worst over the skin, mm; ms per frame.
static void way_back(const FaRig *rig, const FaFace *f, double *rms, double *worst, double *ms) {
    FaError err = {0};
    FaRestore *r;
    FaTopology topo;
    const size_t n = (size_t)f->nvert;
    CHECK_OK(fai_restore_new(rig, f, &r, &err), &err);
    CHECK_OK(fai_topology_build(&rig->mesh, &topo, &err), &err);
    float *x = malloc(12 * n), *truth = malloc(12 * n), *d = malloc(12 * (size_t)f->nskin);
    double sum = 0, count = 0;
    *worst = 0, *ms = 1e9;
    for (int s = 0; s < rig->nshape; s++) {
        memset(truth, 0, 12 * n);
        memset(x, 0, 12 * n);
        for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++)
            memcpy(truth + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 12);
        bool any = false;
        for (int i = 0; i < 3 * f->nskin; i++)
            any |= (d[i] = truth[3 * (size_t)f->skin_vertex[i / 3] + (size_t)(i % 3)]) != 0;
        double t0 = fai_seconds();
        fai_restore_add(r, d, x);
        if (any) *ms = fmin(*ms, 1e3 * (fai_seconds() - t0));
        for (size_t v = 0; v < n; v++) {
            if (topo.part[fai_weld(&rig->mesh, (int)v)] != topo.part[f->skin_vertex[0]]) continue;
            if (f->node_of_vertex[v] < 0 && f->ride_node[3 * v] < 0) continue;
            double e = 1e3 * head_distance(x + 3 * v, truth + 3 * v);
            sum += e * e, count++;
            *worst = fmax(*worst, e);
        }
    }
    *rms = sqrt(sum / count);
    print_message("%d of %.0f vertices: rms %.4f mm, worst %.2f mm, %.2f ms\n", f->nskin, count / rig->nshape, *rms,
                  *worst, *ms);
    free(x);
    free(truth);
    free(d);
    fai_topology_free(&topo);
    fai_restore_free(r);
}

static void test_dense_head(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head = head_at(2, 0, true);
    FaRig *rig = skin_rig(head);
    FaFace *f;
    double rms, worst, ms;
    fa_head_free(head);
    const FaFaceOptions o = {.simulate_vertices = 5000};
    CHECK_OK(fa_face_build(rig, &o, &f, &err), &err);
    assert_true(f->nskin > 4900 && f->nskin <= 5000);
    way_back(rig, f, &rms, &worst, &ms);
    assert_true(rms < 0.03 && worst < 2);
    fa_face_free(f);
    fa_rig_free(rig);
}

static void test_real_file(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    FaFace *f;
    double rms, worst, ms;
    const char *path = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    if (!path) skip();
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    const FaFaceOptions o = {.simulate_vertices = 5000};
    CHECK_OK(fa_face_build(rig, &o, &f, &err), &err);
    assert_true(f->nskin > 4900 && f->nskin <= 5000);
    way_back(rig, f, &rms, &worst, &ms);
    assert_true(rms < 0.05 && worst < 2);
    CHECK_OK(fa_face_materials(f, rig, NULL, &err), &err);
    assert_true(f->materials.first[f->materials.nshape] > 10000);
    // one shape of it: the eyes
    FaVolumeModel *m;
    FaVolumeShape report;
    float *d = malloc(12 * (size_t)f->nnode);
    CHECK_OK(fai_volume_model_new(f, rig, &m, &err), &err);
    CHECK_OK(fai_volume_shape(m, shape_of(rig, "eyeBlinkLeft"), NULL, d, &report, &err), &err);
    assert_int_equal(report.inverted, 0);
    assert_true(report.active > 100 && report.least > 0);
    free(d);
    fai_volume_model_free(m);
    fa_face_free(f);
    fa_rig_free(rig);
}

// Rigs whose shapes fold the skin at the corners of the lips: no tet is inverted in any shape, and a handful of
// triangles is what that costs.
static void check_folding(const char *path, const FaFaceOptions *o, int most) {
    FaError err = {0};
    FaRig *rig;
    FaFace *f;
    FaVolumesReport r;
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    CHECK_OK(fa_face_build(rig, o, &f, &err), &err);
    CHECK_OK(fa_face_volumes(f, rig, NULL, &r, &err), &err);
    print_message("%s: %d of %d triangles left out, %.1f s; ", path, r.left_out, f->ntri + r.left_out, r.seconds);
    assert_int_equal(r.inverted, 0);
    assert_true(r.left_out <= most);
    CHECK_OK(fai_face_check(f, &err), &err);
    check_volumes(f, rig);
    fa_face_free(f);
    fa_rig_free(rig);
}

static void test_folding_file(void **state) {
    (void)state;
    const char *path = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    if (!path) skip();
    check_folding(path, &(FaFaceOptions){.layers = 1, .simulate_vertices = 3400}, 20);
}

static void test_small_file(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/facecap.glb");
    check_folding(path, NULL, 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_head), cmocka_unit_test(test_dense_head),
                                       cmocka_unit_test(test_real_file), cmocka_unit_test(test_folding_file),
                                       cmocka_unit_test(test_small_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
