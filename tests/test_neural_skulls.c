// Skulls from skins: what is learnt is kept in its file to the bit, gives depths near those of its pairs, and refuses
// what it cannot know.
#include "test.h"

#include "base/file.h"

enum { PAIRS = 5 };

static struct {
    FaRig *rig[PAIRS];
    FaFace *face[PAIRS];
} scene;

static int set_up(void **state) {
    (void)state;
    FaError err = {0};
    for (int i = 0; i < PAIRS; i++) {
        FaHeadParams params = fa_head_params_default();
        FaHead *head;
        const FaFaceOptions o = {.whole = i % 2 == 0, .simulate_vertices = 700};
        params.level = 0;
        fa_head_params_seed(&params, (uint64_t)i);
        CHECK_OK(fa_head_new(&params, &head, &err), &err);
        CHECK_OK(fa_head_save(head, NULL, true, NULL, test_path("pair.glb"), &err), &err);
        fa_head_free(head);
        CHECK_OK(fa_rig_load(test_path("pair.glb"), NULL, &scene.rig[i], &err), &err);
        CHECK_OK(fa_face_build(scene.rig[i], &o, &scene.face[i], &err), &err);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        fa_face_free(scene.face[i]);
        fa_rig_free(scene.rig[i]);
    }
    return 0;
}

static FaCode fit(int n, FaSkulls **s, FaSkullsReport *r, FaError *err) {
    return fa_skulls_fit(n, (const FaRig *const *)scene.rig, (const FaFace *const *)scene.face, NULL, s, r, err);
}

static void depths_are_learnt_and_kept(void **state) {
    (void)state;
    FaError err = {0};
    FaSkulls *s, *back;
    FaSkullsReport r;
    CHECK_OK(fit(PAIRS, &s, &r, &err), &err);
    print_message("%d vertices, spread %.2f mm; fit %.3f, left out %.3f, guessing the mean %.3f mm\n", r.vertices,
                  r.spread_mm, r.fit_mm, r.left_out_mm, r.mean_mm);
    assert_true(r.vertices > 100 && r.components == PAIRS - 2 && r.fit_mm < r.spread_mm && r.left_out_mm > 0);
    const char *path = test_path("adults.skulls");
    CHECK_OK(fa_skulls_save(s, path, &err), &err);
    CHECK_OK(fa_skulls_load(path, &back, &err), &err);
    const int n = scene.rig[0]->mesh.nvert;
    float *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    CHECK_OK(fa_skulls_depth(s, scene.rig[1], a, &err), &err);
    CHECK_OK(fa_skulls_depth(back, scene.rig[1], b, &err), &err);
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    for (int v = 0; v < n; v++) assert_true(isnan(a[v]) || a[v] >= 1.5e-3f);
    free(a), free(b);
    // and as thickness of a face
    FaFace *face;
    CHECK_OK(fa_skulls_paint(back, scene.rig[1], test_path("paint.json"), &err), &err);
    const FaFaceOptions o = {.simulate_vertices = 500, .paint = test_path("paint.json"), .no_bones = true};
    CHECK_OK(fa_face_build(scene.rig[1], &o, &face, &err), &err);
    fa_face_free(face);
    fa_skulls_free(s);
    fa_skulls_free(back);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    FaError err = {0};
    FaSkulls *s;
    FaBytes bytes;
    assert_int_equal(fit(2, &s, NULL, &err), FA_E_ARG);
    FaRig *low;
    CHECK_OK(fa_rig_load(test_animal("low"), NULL, &low, &err), &err);
    FaRig *own = scene.rig[2];
    scene.rig[2] = low;
    err = (FaError){0};
    assert_int_equal(fit(3, &s, NULL, &err), FA_E_ARG);
    assert_non_null(strstr(err.place, "pair 3"));
    scene.rig[2] = own;
    err = (FaError){0};
    CHECK_OK(fit(PAIRS, &s, NULL, &err), &err);
    CHECK_OK(fa_skulls_save(s, test_path("some.skulls"), &err), &err);
    float *depth = malloc((size_t)low->mesh.nvert * sizeof *depth);
    assert_int_equal(fa_skulls_depth(s, low, depth, &err), FA_E_ARG);
    free(depth);
    fa_rig_free(low);
    fa_skulls_free(s);
    // one changed byte anywhere
    CHECK_OK(fai_file_read(test_path("some.skulls"), 0, &bytes, &err), &err);
    for (size_t at = 0; at < bytes.size; at += 1 + bytes.size / 40) {
        bytes.data[at] ^= 4;
        CHECK_OK(fai_file_write(test_path("bad.skulls"), bytes.data, bytes.size, &err), &err);
        err = (FaError){0};
        assert_true(fa_skulls_load(test_path("bad.skulls"), &s, &err) < 0 && !s && err.what[0]);
        bytes.data[at] ^= 4;
        test_attack("changed bytes of files of skulls", 1);
    }
    fai_bytes_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(depths_are_learnt_and_kept),
                                       cmocka_unit_test(what_does_not_fit_is_refused)};
    return cmocka_run_group_tests_name("skulls", tests, set_up, tear_down);
}
