// fascia muscle play as a user meets it: muscles that are missing are made, kept and used again; options act; figures.
// labels: heavy
#include "test_app_tools.h"

#include "base/file.h"
#include "fascia/head.h"

static char rig[4096], face[4096], clip[4096];

static int make_all(void **state) {
    (void)state;
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    char plain[4096];
    params.level = 0;
    snprintf(rig, sizeof rig, "%s", test_path("play_head.glb"));
    snprintf(plain, sizeof plain, "%s", test_path("play_plain.face"));
    snprintf(face, sizeof face, "%s", test_path("play_head.face"));
    snprintf(clip, sizeof clip, "%s", test_path("play.csv"));
    if (fa_head_new(&params, &head, &err) < 0 || fa_head_save(head, NULL, true, NULL, rig, &err) < 0) return -1;
    fa_head_free(head);
    FILE *file = fopen(clip, "w");
    if (!file) return -1;
    fprintf(file, "time,browInnerUp,mouthSmileLeft\n");
    for (int f = 0; f < 6; f++) fprintf(file, "%.4f,%.2f,%.2f\n", f / 30.0, 0.2 * f, 0.1 * f);
    fclose(file);
    assert_int_equal(RUN("build", rig, "--simulate-vertices", "400", "--layers", "1", "-o", plain, "-q"), 0);
    assert_int_equal(RUN("muscle", "build", plain, "--flesh-size", "500", "-o", face, "-q"), 0);
    return 0;
}

static bool same_file(const char *a, const char *b) {
    FaBytes x, y;
    FaError err = {0};
    CHECK_OK(fai_file_read(a, 0, &x, &err), &err);
    CHECK_OK(fai_file_read(b, 0, &y, &err), &err);
    bool same = x.size == y.size && !memcmp(x.data, y.data, x.size);
    fai_bytes_free(&x);
    fai_bytes_free(&y);
    return same;
}

static void test_play(void **state) {
    (void)state;
    const char *one = test_path("one.pc2"), *many = test_path("many.pc2");
    assert_int_equal(RUN("muscle", "play", face, clip, "-o", one, "--threads", "1", "--check", "--json"), 0);
    assert_true(said_number("frames") == 6 && said_number("shapes_used") == 2 && said_number("shapes_made") == 2);
    assert_true(said_number("max_displacement_mm") > 0.01 && said_number("max_displacement_mm") < 5);
    assert_true(said_number("intersections") == 0 && said_number("clamped") == 0 && said_number("unsolved") == 0);
    SAID("\"warnings\":[");
    // kept beside the output, and no longer made
    assert_int_equal(RUN("muscle", "play", face, clip, "-o", many, "--threads", "8", "--json"), 0);
    assert_true(said_number("shapes_made") == 0);
    assert_true(same_file(one, many));
    assert_int_equal(RUN("muscle", "play", face, clip, "-o", test_path("play.html"), "-q"), 0);
    assert_int_equal(RUN("muscle", "play", face, clip, "--frames", "2-4", "-o", test_path("part.pc2"), "--json"), 0);
    assert_true(said_number("frames") == 3);
}

static void test_options(void **state) {
    (void)state;
    static const char *const option[][2] = {{"--snap", "0"}, {"--spring", "1e9"}};
    static char one[4096], other[4096], edits[4096]; // test_path's own do not last
    snprintf(one, sizeof one, "%s", test_path("one.pc2"));
    snprintf(other, sizeof other, "%s", test_path("other.pc2"));
    snprintf(edits, sizeof edits, "%s", test_path("frames.json"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(RUN("muscle", "play", face, clip, option[i][0], option[i][1], "-o", other, "-q"), 0);
        assert_false(same_file(one, other));
    }
    const char *text =
        "{\"fps\":30,\"edits\":[{\"muscle\":\"dao\",\"move\":{\"down\":5},\"frames\":[3,4],\"ease\":1}]}";
    CHECK_OK(fai_file_write(edits, text, strlen(text), &(FaError){0}), &(FaError){0});
    assert_int_equal(RUN("muscle", "play", face, clip, "--edits", edits, "-o", other, "--json"), 0);
    assert_true(said_number("unsolved") == 0);
    assert_false(same_file(one, other));
    text = "{\"edits\":[{\"muscle\":\"dao\",\"move\":{\"downwards\":5}}]}";
    CHECK_OK(fai_file_write(edits, text, strlen(text), &(FaError){0}), &(FaError){0});
    assert_int_equal(RUN("muscle", "play", face, clip, "--edits", edits, "-o", other), 3);
    SAID("frames.json");
    SAID("'downwards' is no direction");
    text = "{\"edits\":[{\"muscle\":\"biceps\",\"activation\":1}]}";
    CHECK_OK(fai_file_write(edits, text, strlen(text), &(FaError){0}), &(FaError){0});
    assert_int_equal(RUN("muscle", "play", face, clip, "--edits", edits, "-o", other), 2);
    SAID("/edits/0/muscle");
    assert_int_equal(RUN("muscle", "play", face, clip, "--edits", "nowhere.json", "-o", other), 5);
    assert_int_equal(RUN("muscle", "play", face, clip, "--face", face, "-o", other), 2);
    SAID("the face is the first file");
    assert_int_equal(RUN("muscle", "play", rig, "-o", other), 2);
    SAID("has no animation: give a CLIP");
    assert_int_equal(RUN("muscle", "play", face, clip), 2);
}

// Frames that are hit are as sculpted, others are not; what no frame is, is said before minutes are spent.
static void test_hits(void **state) {
    (void)state;
    static char flesh[4096], hits[4096], linear[4096];
    snprintf(flesh, sizeof flesh, "%s", test_path("flesh.pc2"));
    snprintf(hits, sizeof hits, "%s", test_path("hits.pc2"));
    snprintf(linear, sizeof linear, "%s", test_path("linear.pc2"));
    assert_int_equal(RUN("convert", rig, linear, "--clip", clip), 0);
    assert_int_equal(RUN("muscle", "play", face, clip, "--snap", "0", "-o", flesh, "-q"), 0);
    assert_int_equal(RUN("muscle", "play", face, clip, "--snap", "0", "--hit", "3", "-o", hits, "--json"), 0);
    assert_true(said_number("hits") == 3 && said_number("hits_lacked_mm") > 0.1);
    static const struct {
        const char *frames;
        bool hit;
    } frame[] = {{"0-0", true}, {"2-2", false}, {"3-3", true}, {"4-4", false}, {"5-5", true}};
    for (int i = 0; i < FA_COUNT(frame); i++) {
        assert_int_equal(RUN("compare", linear, hits, "--frames", frame[i].frames, "--no-intersections", "--json"), 0);
        const double off = said_number("max_mm");
        assert_true(frame[i].hit ? off < 1e-3 : off > 1e-3);
    }
    // between them less is added than what the flesh lacks by itself
    assert_int_equal(RUN("compare", flesh, hits, "--frames", "2-2", "--no-intersections", "--json"), 0);
    assert_true(said_number("max_mm") > 0.01);
    assert_int_equal(RUN("muscle", "play", face, clip, "--hit", "3,6", "-o", hits), 2);
    SAID("'6' is none of the frames 0 to 5");
    assert_int_equal(RUN("muscle", "play", face, clip, "--hit", "3,x", "-o", hits), 2);
}

// The head's motion is written with the frames; with --motion dynamic it moves the flesh too.
static void test_head_motion(void **state) {
    (void)state;
    static const char *const option[][2] = {
        {"--rate", "240"}, {"--ratio", "1"}, {"--drag", "50"}, {"--head", "0"}, {"--gravity", "0"}};
    static const char *const name[] = {"nods.pc2", "nod.glb", "plain.glb", "other.pc2", "swings.pc2", "nod.csv"};
    static char path[6][4200];
    for (int i = 0; i < 6; i++) snprintf(path[i], sizeof path[i], "%s", test_path(name[i]));
    const char *one = path[0], *glb = path[1], *plain = path[2], *other = path[3], *swings = path[4], *nod = path[5];
    FILE *file = fopen(nod, "w");
    assert_non_null(file);
    fprintf(file, "time,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n");
    for (int i = 0; i < 4; i++) fprintf(file, "%.6f,0,0,0,1,0,%g,0\n", i / 30.0, 0.01 * (i % 2));
    fclose(file);
    // flesh at rest does not feel it; frames are on the clock of both
    assert_int_equal(RUN("muscle", "play", face, clip, "-o", other, "--json"), 0);
    double far = said_number("max_displacement_mm");
    assert_int_equal(RUN("muscle", "play", face, clip, "--head-motion", nod, "-o", one, "--json"), 0);
    CHECK_NEAR(said_number("max_displacement_mm"), far, 0.02);
    assert_int_equal(RUN("muscle", "play", face, clip, "-o", plain, "-q"), 0);
    assert_int_equal(RUN("muscle", "play", face, clip, "--head-motion", nod, "-o", glb, "-q"), 0);
    assert_false(same_file(plain, glb));
    assert_int_equal(
        RUN("muscle", "play", face, clip, "--head-motion", nod, "--motion", "dynamic", "-o", swings, "--json"), 0);
    assert_true(said_number("unsolved") == 0);
    assert_false(same_file(one, swings));
    assert_int_equal(RUN("muscle", "play", face, clip, "--head-motion", nod, "--loop-motion", "--motion", "dynamic",
                         "-o", other, "-q"),
                     0);
    assert_false(same_file(swings, other));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(RUN("muscle", "play", face, clip, "--head-motion", nod, "--motion", "dynamic", option[i][0],
                             option[i][1], "-o", other, "-q"),
                         0);
        assert_false(same_file(swings, other));
        assert_int_equal(RUN("muscle", "play", face, clip, option[i][0], option[i][1], "-o", other), 2);
        SAID("goes with --motion dynamic");
    }
    assert_int_not_equal(RUN("muscle", "play", face, clip, "--loop-motion", "-o", other), 0);
    SAID("--loop-motion goes with --head-motion FILE");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_play), cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_hits), cmocka_unit_test(test_head_motion)};
    return cmocka_run_group_tests_name("app_muscle_play", tests, make_all, NULL);
}
