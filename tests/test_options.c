// Options: what fa_..._options_default() fills in is what NULL and 0 mean.
#include "test.h"

#include "base/file.h"

// --- the numbers --------------------------------------------------------------------------------------------------

static void check_filled(void **state) {
    (void)state;
    FaFaceOptions face = fa_face_options_default();
    assert_int_equal(face.layers, 1);
    CHECK_NEAR(face.lip_thickness, 1.5e-3, 1e-12);
    CHECK_NEAR(face.density, 1100, 1e-9);
    CHECK_NEAR(face.margin, 25e-3, 1e-12);
    FaEquilibriumOptions eq = fa_equilibrium_options_default();
    CHECK_NEAR(eq.floor, 0.1, 1e-12);
    CHECK_NEAR(eq.anchor_floor, 1, 1e-12);
    CHECK_NEAR(eq.prior, 0.1, 1e-12);
    assert_int_equal(eq.iterations, 20);
    FaCandidateOptions candidate = fa_candidate_options_default();
    assert_int_equal(candidate.draws, 50);
    assert_int_equal(candidate.limit, 1000000);
    CHECK_NEAR(fa_estimate_options_default().mass, 1, 1e-12);
    assert_int_equal(fa_drive_options_default().relinearise, 2);
    assert_int_equal(fa_map_options_default().frame, -1);
    CHECK_NEAR(fa_map_options_default().reach, 0.01, 1e-12);
    assert_int_equal(fa_retarget_options_default().frame, -1);
    CHECK_NEAR(fa_retarget_options_default().smooth, 5, 1e-12);
    CHECK_NEAR(fa_retarget_options_default().reach, 0.03, 1e-12);
    CHECK_NEAR(fa_page_options_default().bake_error_mm, 0.02, 1e-12);
    assert_int_equal(fa_run_file_options_default().every, 10);
    CHECK_NEAR(fa_run_file_options_default().rejoin, 1e-7, 1e-20);
    CHECK_NEAR(fa_sink_options_default().bake_error_mm, 0.05, 1e-12);
    assert_int_equal(fa_sink_options_default().max_targets, 512);
    CHECK_NEAR(fa_render_options_default().view.zoom, 1, 1e-12);
    CHECK_NEAR(fa_camera_options_default().smooth, 1, 1e-12);
}

// Where 0 is not a stand-in for a number but a choice ("as the file says"), the default is all 0.
static void check_plain(void **state) {
    (void)state;
#define CHECK_ZERO(T, f)                                                                                               \
    do {                                                                                                               \
        T zero, is = f();                                                                                              \
        memset(&zero, 0, sizeof zero);                                                                                 \
        assert_memory_equal(&zero, &is, sizeof zero);                                                                  \
    } while (0)
    CHECK_ZERO(FaRigOptions, fa_rig_options_default);
    CHECK_ZERO(FaClipOptions, fa_clip_options_default);
    CHECK_ZERO(FaMarkerOptions, fa_marker_options_default);
    CHECK_ZERO(FaLandmarkOptions, fa_landmark_options_default);
    CHECK_ZERO(FaFaceModelOptions, fa_face_model_options_default);
    CHECK_ZERO(FaVolumeOptions, fa_volume_options_default);
    CHECK_ZERO(FaFaceGet, fa_face_get_default);
    CHECK_ZERO(FaCompareOptions, fa_compare_options_default);
#undef CHECK_ZERO
}

// --- the results --------------------------------------------------------------------------------------------------

static FaRig *small_head(void) {
    FaError err = {0};
    FaHead *head = NULL;
    FaRig *rig = NULL;
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    fa_head_free(head);
    return rig;
}

static void check_same_file(const char *a, const char *b) {
    FaError err = {0};
    FaBytes x = {0}, y = {0};
    CHECK_OK(fai_file_read(a, 0, &x, &err), &err);
    CHECK_OK(fai_file_read(b, 0, &y, &err), &err);
    assert_true(x.size > 100);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    fai_bytes_free(&x);
    fai_bytes_free(&y);
}

static void check_face(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = small_head();
    const FaFaceOptions usual = fa_face_options_default(), zero = {0}, *how[3] = {NULL, &zero, &usual};
    static const char *const name[3] = {"null.face", "zero.face", "default.face"};
    for (int i = 0; i < 3; i++) {
        FaFace *face = NULL;
        CHECK_OK(fa_face_build(rig, how[i], &face, &err), &err);
        CHECK_OK(fa_face_save(face, test_path(name[i]), &err), &err);
        fa_face_free(face);
    }
    check_same_file(test_path(name[0]), test_path(name[1]));
    check_same_file(test_path(name[0]), test_path(name[2]));
    fa_rig_free(rig);
}

// Frames that no weights make, so that the number of baked targets depends on the error allowed.
static FaCode wobble(void *user, int frame, float *x, FaError *err) {
    (void)err;
    const FaRig *rig = user;
    for (int i = 0; i < 3 * rig->mesh.nvert; i++)
        x[i] = rig->mesh.x[i] + 1e-3f * sinf(0.01f * (float)i + (float)frame * (1 + 0.0007f * (float)i));
    return FA_OK;
}

static void check_sink_and_page(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = small_head();
    FaSequence *seq = NULL;
    CHECK_OK(fa_sequence_custom(rig->mesh.nvert, 8, 30, wobble, rig, &seq, &err), &err);
    FaSinkOptions sink = fa_sink_options_default(), zero = {.rig = rig};
    sink.rig = rig;
    CHECK_OK(fa_sequence_save(seq, test_path("zero.glb"), &zero, NULL, &err), &err);
    CHECK_OK(fa_sequence_save(seq, test_path("default.glb"), &sink, NULL, &err), &err);
    check_same_file(test_path("zero.glb"), test_path("default.glb"));
    const FaPageOptions page = fa_page_options_default();
    const FaPageTrack track = {.name = "wobble", .seq = seq};
    if (fa_page_save(test_path("null.html"), rig, &track, 1, NULL, &err) >= 0) { // built without node: no page
        CHECK_OK(fa_page_save(test_path("default.html"), rig, &track, 1, &page, &err), &err);
        check_same_file(test_path("null.html"), test_path("default.html"));
    } else
        assert_int_equal(err.code, FA_E_UNSUPPORTED);
    fa_sequence_close(seq);
    fa_rig_free(rig);
}

static void check_candidates(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = small_head();
    static const int target[] = {0, 3, 5, 7, 9};
    FaOscillator o;
    assert_true(fa_oscillator_preset("soft", &o));
    FaCandidateOptions usual = fa_candidate_options_default(), zero = {.target = target, .ntarget = 5};
    usual.target = target;
    usual.ntarget = 5;
    FaCandidates *a = NULL, *b = NULL;
    CHECK_OK(fa_candidates_new(rig, &o, &zero, &a, &err), &err);
    CHECK_OK(fa_candidates_new(rig, &o, &usual, &b, &err), &err);
    assert_int_equal(fa_candidates_count(a), 50);
    assert_int_equal(fa_candidates_count(b), 50);
    float x[200], y[200];
    assert_true(rig->nshape <= 200);
    for (uint64_t i = 0; i < 50; i++) {
        fa_candidates_weights(a, i, x);
        fa_candidates_weights(b, i, y);
        assert_memory_equal(x, y, (size_t)rig->nshape * sizeof *x);
    }
    fa_candidates_free(a);
    fa_candidates_free(b);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(check_filled), cmocka_unit_test(check_plain),
                                       cmocka_unit_test(check_face), cmocka_unit_test(check_sink_and_page),
                                       cmocka_unit_test(check_candidates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
