// What the verbs say of their input: channels used and dropped, shapes left aside, what is odd about the rig; and that
// the remedies they name work.
#include "test_app_tools.h"

#include <sys/stat.h>

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void copy_file(const char *from, const char *to) {
    static char buffer[1 << 22];
    FILE *a = fopen(from, "rb"), *b = fopen(to, "wb");
    assert_non_null(a);
    assert_non_null(b);
    size_t n = fread(buffer, 1, sizeof buffer, a);
    assert_int_equal(fwrite(buffer, 1, n, b), n);
    fclose(a);
    fclose(b);
}

// The shipped head with its jaw under three names and one smile for both sides, in a folder of OBJ files.
static char folder[4096], clip[4096];

static int make_rig(void **state) {
    static const char *const names[] = {"neutral", "mouthSmileLeft", "mouthSmileRight", "eyeBlinkLeft",
                                        "eyeBlinkRight"};
    char from[8192], to[8192];
    (void)state;
    if (RUN("head", "--level", "0", "-o", test_path("shipped.glb"), "-q")) return -1;
    if (RUN("convert", test_path("shipped.glb"), test_path("shipped/"), "-q")) return -1;
    snprintf(folder, sizeof folder, "%s", test_path("many/"));
    mkdir(folder, 0755);
    for (int i = 0; i < 5; i++) {
        snprintf(from, sizeof from, "%s%s.obj", test_path("shipped/"), names[i]);
        snprintf(to, sizeof to, "%s%s.obj", folder, names[i]);
        copy_file(from, to);
    }
    snprintf(from, sizeof from, "%sjawOpen.obj", test_path("shipped/"));
    static const char *const jaws[] = {"AK_25_JawOpen", "AU_26_JawDrop", "SR_21_Jaw_Open"};
    for (int i = 0; i < 3; i++) {
        snprintf(to, sizeof to, "%s%s.obj", folder, jaws[i]);
        copy_file(from, to);
    }
    snprintf(from, sizeof from, "%smouthSmileLeft.obj", test_path("shipped/"));
    snprintf(to, sizeof to, "%smouthSmile.obj", folder);
    copy_file(from, to);
    snprintf(clip, sizeof clip, "%s", test_path("clip.csv"));
    put(clip, "time,jawOpen,mouthSmileLeft,mouthSmileRight,earLeft\n0,0,0,0,0\n0.1,0.5,0.2,0.2,0.5\n0.2,1,0,0,1\n");
    return 0;
}

static void channels_and_shapes_are_said(void **state) {
    (void)state;
    static const char *const verbs[] = {"blend", "drive", "enrich"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(RUN(verbs[i], folder, clip, "--dry-run", "--frames", "0-1"), 0);
        SAID("clip.csv: 3 of 4 channels drive 3 of 8 shapes");
        SAID("AU_26_JawDrop (AK_25_JawOpen)");
        SAID("SR_21_Jaw_Open (AK_25_JawOpen)");
        SAID("mouthSmile (mouthSmile");
        SAID("drives no shape: earLeft");
        assert_int_equal(RUN(verbs[i], folder, clip, "--dry-run", "--frames", "0-1", "--json"), 0);
        SAID("\"code\":\"shapes-aside\"");
        SAID("\"code\":\"channels-unused\"");
        CHECK_NEAR(said_number("used"), 3, 0);
        CHECK_NEAR(said_number("unused"), 1, 0);
        CHECK_NEAR(said_number("aside"), 3, 0);
    }
    assert_int_equal(RUN("markers", folder, clip, "-o", test_path("m.csv")), 0);
    SAID("clip.csv: 3 of 4 channels drive 3 of 8 shapes");
    assert_int_equal(RUN("blend", folder, clip, "--dry-run", "-q"), 0);
    assert_string_equal(output, "");
}

static void the_remedy_of_a_clip_with_other_names_works(void **state) {
    (void)state;
    const char *foo = test_path("foo.csv");
    put(foo, "time,foo\n0,0\n0.1,0.5\n0.2,1\n");
    char path[4096];
    snprintf(path, sizeof path, "%s", foo);
    assert_int_not_equal(RUN("blend", folder, path, "--dry-run"), 0);
    SAID("--map names.json, such as {\"foo\": \"jawOpen\"}");
    assert_int_not_equal(RUN("drive", folder, path, "--dry-run"), 0);
    SAID("--names names.json, such as {\"foo\": \"jawOpen\"}");
    char names[4096];
    snprintf(names, sizeof names, "%s", test_path("names.json"));
    put(names, "{\"foo\": \"jawOpen\"}");
    assert_int_equal(RUN("blend", folder, path, "--dry-run", "--map", names), 0);
    SAID("foo.csv: 1 of 1 channels drive 1 of 8 shapes");
    assert_null(strstr(output, "no shape of this rig")); // it is the channel's
    assert_int_equal(RUN("drive", folder, path, "--dry-run", "--names", names), 0);
    assert_int_equal(RUN("drive", folder, path, "--dry-run", "--map", names), 0);
    put(names, "{\"foo\": \"jawOpen\", \"bar\": \"jawOpen\"}");
    assert_int_equal(RUN("blend", folder, path, "--dry-run", "--map", names), 0);
    SAID("neither a shape nor a channel: bar");
}

// A shape that is silenced does not move, in the animation of its own file either, nor in the file that is written.
static void null_silences_the_files_own_animation(void **state) {
    (void)state;
    char head[4096], names[4096], out[4096];
    snprintf(head, sizeof head, "%s", test_path("talk.glb"));
    snprintf(names, sizeof names, "%s", test_path("silent.json"));
    snprintf(out, sizeof out, "%s", test_path("silent.glb"));
    put(names, "{\"jawOpen\": null}");
    assert_int_equal(RUN("head", "--level", "0", "--clip", "talk", "-o", head, "-q"), 0);
    assert_int_equal(RUN("blend", head, "-o", out, "--map", names, "-q"), 0);
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(out, NULL, &rig, &err), &err);
    int jaw = -1;
    for (int s = 0; s < rig->nshape; s++)
        if (!strcmp(rig->shape[s].name, "jawOpen")) jaw = s;
    assert_true(jaw >= 0);
    assert_non_null(rig->clip);
    for (int f = 0; f < rig->clip->nframe; f++) CHECK_NEAR(rig->clip->weight[f * rig->clip->nchan + jaw], 0, 0);
    fa_rig_free(rig);
}

static void what_is_odd_about_a_rig_is_said(void **state) {
    (void)state;
    static const char *const verbs[] = {"blend", "drive"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(RUN(verbs[i], folder, clip, "--dry-run", "--frames", "0-1", "--json"), 0);
        assert_null(strstr(output, "unit-suspect"));
        assert_int_equal(RUN(verbs[i], folder, clip, "--dry-run", "--frames", "0-1", "--unit", "ft", "--json"), 0);
        SAID("\"code\":\"unit-suspect\"");
    }
    assert_int_equal(RUN("markers", folder, clip, "-o", test_path("m.csv"), "--unit", "0.3048"), 0);
    SAID("note: lengths given in feet make a mesh 0.08 m tall");
    SAID("by their size they are metres");
    // all that info knows, asked for
    assert_int_equal(RUN("blend", folder, clip, "--dry-run"), 0);
    assert_null(strstr(output, "ARKit's 52 shapes missing"));
    assert_int_equal(RUN("blend", folder, clip, "--dry-run", "-v"), 0);
    SAID("ARKit's 52 shapes missing");
}

static void a_rig_without_a_jaw_is_told(void **state) {
    (void)state;
    char names[4096];
    snprintf(names, sizeof names, "%s", test_path("nojaw.json"));
    put(names, "{\"AK_25_JawOpen\": null, \"AU_26_JawDrop\": null, \"SR_21_Jaw_Open\": null}");
    assert_int_equal(RUN("info", folder, "--map", names), 0);
    SAID("[no-jaw]");
    assert_int_equal(RUN("drive", folder, clip, "--dry-run", "--names", names), 0);
    SAID("note: no shape opens the jaw");
    assert_int_equal(RUN("drive", folder, clip, "--dry-run"), 0);
    assert_null(strstr(output, "no shape opens the jaw"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_and_shapes_are_said),
        cmocka_unit_test(the_remedy_of_a_clip_with_other_names_works),
        cmocka_unit_test(null_silences_the_files_own_animation),
        cmocka_unit_test(what_is_odd_about_a_rig_is_said),
        cmocka_unit_test(a_rig_without_a_jaw_is_told),
    };
    return cmocka_run_group_tests(tests, make_rig, NULL);
}
