// fascia build and fascia drive as a user meets them: a face once, a clip with flesh, parameters as options, refusals.
#include "test.h"

#include "fascia/head.h"

#define PROGRAM FASCIA_BINARY_DIR "/fascia"

static char output[1 << 16], rig[4096];

static int run(const char *const *args) {
    const char *argv[24] = {PROGRAM};
    int n = 1;
    for (; *args; args++) argv[n++] = *args;
    const char *log = test_path("drive.txt");
    int code = test_run(argv, log);
    FILE *file = fopen(log, "rb");
    size_t size = file ? fread(output, 1, sizeof output - 1, file) : 0;
    output[size] = 0;
    if (file) fclose(file);
    return code;
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})
#define SAID(text)                                                                                                     \
    (strstr(output, text) ? (void)0 : (print_error("%s\n", output), assert_non_null(strstr(output, text))))

static int make_head(void **state) {
    (void)state;
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaClip *clip, *cut;
    params.level = 0;
    snprintf(rig, sizeof rig, "%s", test_path("head.glb"));
    if (fa_head_new(&params, &head, &err) < 0 || fa_head_clip("press", &clip, &err) < 0) return -1;
    if (fa_clip_slice(clip, 0, 90, &cut, &err) < 0 || fa_head_save(head, cut, true, NULL, rig, &err) < 0) return -1;
    fa_clip_free(cut);
    fa_clip_free(clip);
    fa_head_free(head);
    return 0;
}

// The same frames from a face that was kept and from one built on the way.
static void face_then_clip(void **state) {
    (void)state;
    FaError err = {0};
    const char *face = test_path("head.face"), *kept = test_path("kept.pc2"), *built = test_path("built.pc2");
    assert_int_equal(RUN("build", rig, "-o", face, "--json"), 0);
    SAID("\"quality\"");
    SAID("\"inverted\":0");
    assert_int_equal(RUN("info", face), 0);
    SAID("none inverted");
    assert_int_equal(RUN("info", face, "--json"), 0);
    SAID("\"regions\"");
    assert_int_equal(RUN("drive", rig, "--face", face, "-o", kept, "--check", "--json"), 0);
    SAID("\"frames\":91");
    SAID("\"intersections\":0");
    SAID("\"bake\"");
    assert_int_equal(RUN("drive", rig, "-o", built, "-q"), 0);
    FaSequence *a, *b;
    FaCompare c;
    CHECK_OK(fa_sequence_open(kept, NULL, &a, &err), &err);
    CHECK_OK(fa_sequence_open(built, NULL, &b, &err), &err);
    CHECK_OK(fa_compare(a, b, NULL, &c, &err), &err);
    assert_true(c.frames == 91 && c.max_mm == 0);
    fa_compare_free(&c);
    fa_sequence_close(a);
    fa_sequence_close(b);
    // what the simulation was recorded in is gone
    char **left = test_list(test_dir(), ".pc2");
    int n = 0;
    for (; left[n]; n++) assert_null(strstr(left[n], ".fascia-"));
    assert_int_equal(n, 2);
    test_list_free(left);
}

static void refusals(void **state) {
    (void)state;
    assert_int_equal(RUN("drive", rig), 2);
    assert_int_equal(RUN("drive", rig, "-o", test_path("x.pc2"), "--shear", "-5"), 2);
    SAID("shear");
    assert_int_equal(RUN("drive", rig, "-o", test_path("x.pc2"), "--sheer", "5"), 2);
    assert_int_equal(RUN("drive", rig, "-o", test_path("x.pc2"), "--face", test_path("none.face")), 5);
    assert_int_equal(RUN("drive", rig, "-o", test_path("x.pc2"), "--face", rig), 3);
    assert_int_equal(RUN("build", test_path("none.glb"), "-o", test_path("x.face")), 5);
    assert_int_equal(RUN("drive", "--help"), 0);
    SAID("--sticky-stiffness");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(face_then_clip), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, make_head, NULL);
}
