// Muscles on other people: all of them in the flesh, on bone, not folded, alike on both sides, and the same
// activations make a smile and raised brows. Four identities and facecap; all there are: FASCIA_FULL=1.
// labels: heavy
#include "fascia/muscle.h"
#include "test_head_tools.h"

#include <math.h>

typedef struct Want {
    double least, oris; // share in flesh: of any muscle, of orbicularis oris
    double corner;      // mm up in a smile
    bool bones;         // the same lengths left and right
} Want;

static double up(const FaMusclePosed *p, FaMuscleMark mark) { return 1e3 * p->mark[mark][1]; }

static void check_muscles(const char *name, const FaMuscleModel *m, const Want *want) {
    const FaMuscleBuilt *b = fa_muscle_built(m);
    int bad = 0, n = fa_muscle_count(m);
    assert_true(n >= 49 && b->inverted == 0);
    for (int i = 0; i < n; i++) {
        const FaMuscleInfo a = fa_muscle_info(m, i);
        double least = strncmp(a.name, "orbicularis_oris", 16) ? want->least : want->oris;
        bool good = a.held && a.share >= least && a.folded <= 0.01 && a.length > 0.005 && a.volume > 1e-8;
        double other = a.side > 0 ? fa_muscle_info(m, i + 1).length : a.length;
        if (want->bones && fabs(a.length - other) > 0.1 * a.length) good = false;
        if (!good)
            print_message("%s: %s: %.0f %% in flesh, %.1f %% folded, %s, %.1f mm, other side %.1f\n", name, a.name,
                          100 * a.share, 100 * a.folded, a.held ? "on bone" : "off bone", 1e3 * a.length, 1e3 * other);
        bad += !good;
    }
    print_message("%s: %d free nodes, %d muscles, %d of %d ends on bone, least in flesh %.0f %% %s, %.1f s\n", name,
                  b->free, n, b->held, b->ends, 100 * b->least_share, b->least, b->seconds);
    assert_int_equal(bad, 0);
    assert_int_equal(b->held, b->ends);
}

static void check_rig(const char *name, const char *path, const Want *want) {
    FaError err = {0};
    FaRig *rig;
    FaFace *face;
    FaMuscleModel *m;
    FaMusclePosed smile, brows;
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
    CHECK_OK(fa_muscle_open(rig, face, NULL, &m, &err), &err);
    check_muscles(name, m, want);
    float *x = malloc(3 * (size_t)rig->mesh.nvert * sizeof *x);
    double act[FA_MUSCLES_MOST] = {0};
    CHECK_OK(fa_muscle_activate(m, "zygomaticus_major=1,zyg_min=.5,risorius=.3", act, &err), &err);
    assert_true(fa_muscle_pose(m, &(FaMusclePose){.activation = act}, x, &smile, &err) >= 0);
    memset(act, 0, sizeof act);
    CHECK_OK(fa_muscle_activate(m, "frontalis*=1", act, &err), &err);
    assert_true(fa_muscle_pose(m, &(FaMusclePose){.activation = act}, x, &brows, &err) >= 0);
    const double *l = smile.mark[FA_MUSCLE_CORNER_LEFT], *r = smile.mark[FA_MUSCLE_CORNER_RIGHT];
    print_message("%s: corners %.1f %.1f up, %.1f %.1f out; brows %.1f %.1f up\n", name, 1e3 * l[1], 1e3 * r[1],
                  1e3 * l[0], -1e3 * r[0], up(&brows, FA_MUSCLE_BROW_LEFT), up(&brows, FA_MUSCLE_BROW_RIGHT));
    assert_true(fabs(l[1] - r[1]) < 1e-3); // flesh left out at one corner holds it back
    assert_true(1e3 * l[1] > want->corner && 1e3 * r[1] > want->corner && l[0] > 1.5e-3 && r[0] < -1.5e-3);
    assert_true(up(&brows, FA_MUSCLE_BROW_LEFT) > 4 && up(&brows, FA_MUSCLE_BROW_RIGHT) > 4);
    free(x);
    fa_muscle_close(m);
    fa_face_free(face);
    fa_rig_free(rig);
}

static void identities(void **state) {
    (void)state;
    FaError err = {0};
    for (uint64_t seed = 1; seed <= (getenv("FASCIA_FULL") ? 20 : 4); seed++) {
        FaHeadParams p = fa_head_params_default();
        FaHead *head;
        char name[40];
        p.level = 0;
        fa_head_params_seed(&p, seed);
        CHECK_OK(fa_head_new(&p, &head, &err), &err);
        CHECK_OK(fa_head_save(head, NULL, true, NULL, test_path("someone.glb"), &err), &err);
        fa_head_free(head);
        snprintf(name, sizeof name, "identity %d", (int)seed);
        check_rig(name, test_path("someone.glb"), &(Want){0.65, 0.95, 4, true});
    }
}

static void facecap(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/facecap.glb");
    check_rig("facecap", path, &(Want){0.4, 0.95, 4, false});
}

static void wild(void **state) {
    (void)state;
    static const struct {
        const char *path;
        Want want;
    } rigs[] = {{"rigs/facecap/FaceCapHeadGeneric.fbx", {0.4, 0.8, 4, false}},
                {"rigs/wild/FaceCapLiveMode.fbx", {0.6, 0.8, 4, false}},
                {"rigs/wild/Female_Adult_01.fbx", {0.5, 0.95, 3, false}},
                {"rigs/wild/Male_Adult_12.fbx", {0.4, 0.95, 4, false}}};
    for (int i = 0; i < FA_COUNT(rigs) && getenv("FASCIA_FULL"); i++) {
        const char *path = test_data(rigs[i].path);
        if (path) check_rig(rigs[i].path, path, &rigs[i].want);
    }
}

// A drawn head, whose eyes are far larger: the rings around them lie in the lids.
static void drawn(void **state) {
    (void)state;
    FaError err = {0};
    for (int i = 0; i < fa_zoo_count(); i++) {
        if (strcmp(fa_zoo_animal(i).name, "stylised")) continue;
        CHECK_OK(fa_zoo_save(i, 0, NULL, test_path("stylised.glb"), &err), &err);
        check_rig("stylised", test_path("stylised.glb"), &(Want){0.75, 0.86, 1.5, false});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(identities), cmocka_unit_test(facecap), cmocka_unit_test(drawn),
                                       cmocka_unit_test(wild)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
