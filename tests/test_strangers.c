// Rigs as people have them: lips that cross or touch at rest, clips that begin in mid-expression. Whatever the method
// does, the face stays a face: no vertex far from linear blending, no edge torn, no row of frames that jump.
// The rows of docs/figures/strangers.md are what it prints.
// labels: heavy
#include "base/base.h"
#include "face/face.h"
#include "mesh/intersect.h"
#include "mesh/mesh.h"
#include "test_head_tools.h"

typedef struct Worst {
    double far;        // m, from linear blending
    double stretch;    // of an edge's length: over linear blending's, or a third of that at rest where that is more
    int flesh, linear; // pairs of triangles that cross, in the worst frame
    int far_frame, clamped;
} Worst;

static double edge_length(const float *x, const int e[2]) {
    return head_distance(x + 3 * (size_t)e[0], x + 3 * (size_t)e[1]);
}

static void measure(const FaRig *rig, const FaTopology *topo, const float *linear, const float *x, int frame,
                    Worst *w) {
    for (int v = 0; v < rig->mesh.nvert; v++) {
        double d = head_distance(linear + 3 * (size_t)v, x + 3 * (size_t)v);
        if (d > w->far) w->far_frame = frame;
        w->far = fmax(w->far, d);
    }
    for (int e = 0; e < topo->nedge; e++) {
        double own = fmax(edge_length(linear, topo->edge[e]), edge_length(rig->mesh.x, topo->edge[e]) / 3);
        if (own > 1e-5) w->stretch = fmax(w->stretch, edge_length(x, topo->edge[e]) / own);
    }
    if (frame % 10 == 9) w->flesh = FA_MAX(w->flesh, head_crossings(&rig->mesh, x));
    if (frame % 10 == 9) w->linear = FA_MAX(w->linear, head_crossings(&rig->mesh, linear));
}

static Worst play(const FaRig *rig, const FaClip *clip, const char *method) {
    FaError err = {0};
    FaMethod *m;
    FaBinding bind;
    FaTopology topo;
    Worst worst = {0};
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = calloc(n, sizeof(float)), *linear = calloc(n, sizeof(float));
    float *w = calloc((size_t)rig->nshape, sizeof(float));
    CHECK_OK(fa_method_open(method, &(FaMethodSetup){.rig = rig}, &m, &err), &err);
    CHECK_OK(fa_clip_bind(clip, rig, &bind, &err), &err);
    CHECK_OK(fai_topology_build(&rig->mesh, &topo, &err), &err);
    for (int f = 0; f < clip->nframe; f++) {
        FaStats stats = {0};
        fa_binding_weights(&bind, clip->weight + (size_t)f * (size_t)clip->nchan, w);
        FaInput in = {.time = clip->time[f], .weights = w};
        if (clip->head) in.head = clip->head[f];
        CHECK_OK(fa_method_step(m, &in, x, &stats, &err), &err);
        fa_rig_blend(rig, w, linear);
        measure(rig, &topo, linear, x, f, &worst);
        worst.clamped += stats.clamped;
    }
    fai_topology_free(&topo);
    fa_binding_free(&bind);
    fa_method_close(m);
    free(x);
    free(linear);
    free(w);
    return worst;
}

// --- made ---------------------------------------------------------------------------------------------------------

// The shipped head with its upper lip `down` m lower, where it goes through the lower one.
static FaRig *crossed_lips(double down) {
    FaError err = {0};
    FaHead *head = head_at(0, 0, true);
    FaRig *rig;
    FaFace *face;
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
    int before = head_crossings(&rig->mesh, rig->mesh.x);
    for (int v = 0; v < rig->mesh.nvert; v++) {
        int node = face->node_of_vertex[v];
        if (node >= 0) rig->mesh.x[3 * v + 1] -= (float)down * face->region[FA_REGION_LIP_UPPER][node];
    }
    assert_true(head_crossings(&rig->mesh, rig->mesh.x) > before + 5);
    fa_face_free(face);
    fa_head_free(head);
    return rig;
}

static void lips_that_cross_at_rest(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *rom, *clip;
    CHECK_OK(fa_head_clip("rom", &rom, &err), &err);
    for (int i = 0; i < 2; i++) {
        FaRig *rig = crossed_lips(i ? 4e-3 : 2e-3);
        for (int first = 0; first < rom->nframe - 30; first += rom->nframe / 4) { // all but one begin in mid-expression
            CHECK_OK(fa_clip_slice(rom, first, first + test_few(29, 5), &clip, &err), &err);
            Worst w = play(rig, clip, "projective");
            print_message("upper lip %d mm down, from frame %d: %.2f mm, edges x %.2f, %d limited\n", i ? 4 : 2, first,
                          1e3 * w.far, w.stretch, w.clamped);
            assert_true(w.far < 8e-3 && w.stretch < 3.5);
            fa_clip_free(clip);
        }
        fa_rig_free(rig);
    }
    fa_clip_free(rom);
}

// --- the wild -----------------------------------------------------------------------------------------------------

static const struct {
    const char *name;
    int first, last; // rows of the range of motion
} part[] = {{"speaking", 300, 359}, {"ROM", 1500, 1529}, {"mid-expression", 2300, 2329}};

static void check_rig(const char *name, const char *path) {
    FaError err = {0};
    FaRig *rig;
    FaClip *rom, *clip;
    const char *rows = test_data("clips/livelink/alex_rom_3.csv");
    if (!rows || !path) skip();
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    CHECK_OK(fa_clip_load(rows, NULL, &rom, &err), &err);
    for (int p = 0; p < FA_COUNT(part); p++) {
        CHECK_OK(
            fa_clip_slice(rom, part[p].first, part[p].first + test_few(part[p].last - part[p].first, 5), &clip, &err),
            &err);
        Worst w = play(rig, clip, "projective");
        assert_true(w.far < 5e-3 && w.stretch < 3.5);
        test_attack("extreme clips and rigs on a method", 1);
        print_message("| %s | %s | %.2f | %.2f | %d | %d | %d |\n", name, part[p].name, 1e3 * w.far, w.stretch,
                      w.linear, w.flesh, w.clamped);
        fa_clip_free(clip);
    }
    fa_clip_free(rom);
    fa_rig_free(rig);
}

static void the_wild(void **state) {
    (void)state;
    static const char *const names[] = {"FaceCapLiveMode.fbx", "Female_Adult_01.fbx", "Male_Adult_12.fbx",
                                        "Police_Female_01.fbx", "Female_Adult_16.fbx"};
    for (int i = 0; i < test_few(FA_COUNT(names), 1); i++) {
        char path[200];
        snprintf(path, sizeof path, "rigs/wild/%s", names[i]);
        check_rig(names[i], test_data(path));
    }
}

static void the_known(void **state) {
    (void)state;
    check_rig("facecap.glb", test_data("rigs/facecap/facecap_decoded.glb"));
    check_rig("ICT", test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lips_that_cross_at_rest), cmocka_unit_test(the_wild),
                                       cmocka_unit_test(the_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
