// What README and guides promise of enrich, with all its defaults on, contact and teeth included: a head that does not
// move leaves the animation as it is, bit for bit. On the head that ships (with its teeth), on lips that lie on each
// other, on faces of others.
// labels: heavy
#include "test.h"

typedef struct Found {
    int frames;  // that are not the animation's
    double most; // m
} Found;

// The clip on a head that stands still and upright somewhere, against linear blending.
static Found play(const FaRig *rig, const FaFace *face, const FaClip *clip) {
    FaError err = {0};
    FaMethod *m;
    FaRun *run;
    FaSequence *linear;
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    Found found = {0};
    CHECK_OK(fa_method_open("enrich", &(FaMethodSetup){.rig = rig, .face = face}, &m, &err), &err);
    CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
    CHECK_OK(fa_sequence_of_clip(rig, clip, &linear, &err), &err);
    for (int f = 0; f < clip->nframe; f++) {
        double most = 0;
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        CHECK_OK(fa_sequence_read(linear, f, y, &err), &err);
        for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)x[i] - (double)y[i]));
        found.frames += most > 0;
        found.most = fmax(found.most, most);
    }
    fa_sequence_close(linear);
    fa_run_free(run);
    fa_method_close(m);
    free(x);
    free(y);
    return found;
}

static FaClip *still_talk(void) {
    FaError err = {0};
    FaClip *whole, *clip;
    bool full = getenv("FASCIA_FULL") != NULL;
    CHECK_OK(fa_head_clip("talk", &whole, &err), &err);
    CHECK_OK(fa_clip_slice(whole, full ? 0 : 90, full ? whole->nframe - 1 : 101, &clip, &err), &err);
    fa_clip_free(whole);
    for (int f = 0; f < clip->nframe; f++) clip->head[f] = (FaPose){.q = {0, 0, 0, 1}, .p = {0.2, 1.6, -0.1}};
    return clip;
}

// simulate: 0 for the default.
static void check(const char *name, const char *path, FaUnit unit, int simulate) {
    FaError err = {0};
    FaRig *rig;
    FaFace *face;
    FaClip *clip = still_talk();
    FaRigOptions options = fa_rig_options_default();
    FaFaceOptions build = fa_face_options_for(fa_method_needs("enrich"));
    options.unit = unit;
    if (simulate) build.simulate_vertices = getenv("FASCIA_FULL") ? simulate : simulate / 2;
    CHECK_OK(fa_rig_load(path, &options, &rig, &err), &err);
    CHECK_OK(fa_face_get(rig, fa_method_needs("enrich"), &(FaFaceGet){.options = &build}, &face, &err), &err);
    Found found = play(rig, face, clip);
    print_message("%s: %d of %d frames differ, by %g mm at most\n", name, found.frames, clip->nframe, 1e3 * found.most);
    assert_int_equal(found.frames, 0);
    fa_face_free(face);
    fa_rig_free(rig);
    fa_clip_free(clip);
}

static void test_head(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head;
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_save(head, NULL, false, NULL, test_path("head.glb"), &err), &err);
    fa_head_free(head);
    check("head", test_path("head.glb"), FA_UNIT_AUTO, 1500);
}

static void test_lips_touch(void **state) {
    (void)state;
    FaError err = {0};
    int i = 0;
    while (strcmp(fa_zoo_animal(i).name, "lips_touch")) i++;
    CHECK_OK(fa_zoo_save(i, 0, NULL, test_path("lips_touch.glb"), &err), &err);
    check("lips_touch", test_path("lips_touch.glb"), FA_UNIT_AUTO, 800);
}

static void test_facecap(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/facecap_decoded.glb");
    check("facecap", path, FA_UNIT_AUTO, 800);
}

static void test_ict(void **state) {
    (void)state;
    if (!getenv("FASCIA_FULL")) skip(); // in make soak
    const char *folder = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    if (!folder) skip();
    check("ICT", folder, FA_UNIT_CM, 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_lips_touch),
        cmocka_unit_test(test_facecap),
        cmocka_unit_test(test_ict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
