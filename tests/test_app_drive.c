// fascia build and fascia drive as a user meets them: a face once, a clip with flesh, parameters as options, refusals.
// labels: heavy
#include "test_app_tools.h"

#include <sys/wait.h>

#include "base/json.h"
#include "fascia/head.h"
#include "fascia/markers.h"
#include "test_film.h"

static char rig[4096];

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
    SAID("none inside out");
    assert_int_equal(output[strlen(output) - 1], '\n');
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
    // the method's --model is reached
    assert_int_equal(
        RUN("drive", rig, "--model", "surface", "--frames", "0-3", "-o", test_path("surface.pc2"), "--json"), 0);
    SAID("\"model\":\"surface\"");
    assert_int_equal(RUN("drive", rig, "--model", rig, "-o", test_path("x.pc2")), 2);
    SAID("volume|surface");
    assert_int_equal(RUN("drive", "--help"), 0);
    SAID("--sticky-stiffness");
}

// --- markers ------------------------------------------------------------------------------------------------------

// What the program printed is one JSON object; a number in it, by path ("control", "after_mm").
static double number(const char *outer, const char *name) {
    FaError err = {0};
    FaJsonDoc *doc;
    bool bom;
    const char *begin = strchr(output, '{');
    assert_non_null(begin);
    CHECK_OK(fai_json_parse(begin, strlen(begin), &doc, &bom, &err), &err);
    const FaJson *at = outer ? fai_json_get(doc->root, outer) : doc->root;
    const FaJson *v = at ? fai_json_get(at, name) : NULL;
    if (!v) print_error("%s.%s is not in %s\n", outer ? outer : "", name, output);
    assert_non_null(v);
    double value = v->number;
    fai_json_free(doc);
    return value;
}

// A take of the rig's own clip, in the format of the name.
static const char *sampled(const char *name) {
    const char *path = test_path(name);
    assert_int_equal(RUN("markers", rig, "-o", path, "--frames", "0-40", "--json"), 0);
    assert_true(number(NULL, "frames") == 41 && number("markers", "mapped") == 80);
    return path;
}

// The same markers in three formats, three ways to solve: near the clip that they came from.
static void clip_to_markers_and_back(void **state) {
    (void)state;
    static const char *const format[] = {"markers.csv", "markers.trc", "markers.c3d"}, *const method[] = {"bf", "sbs",
                                                                                                          "auto"};
    FaError err = {0};
    FaRig *loaded;
    FaSequence *own, *a;
    FaCompare c;
    CHECK_OK(fa_rig_load(rig, NULL, &loaded, &err), &err);
    CHECK_OK(fa_sequence_of_clip(loaded, NULL, &own, &err), &err);
    for (int i = 0; i < 3; i++) {
        char take[4096], out[4096];
        snprintf(take, sizeof take, "%s", sampled(format[i]));
        snprintf(out, sizeof out, "%s", test_path("markers.pc2"));
        assert_int_equal(RUN("drive", rig, take, "--method", method[i], "--physics", i == 2 ? "contact" : "off", "-o",
                             out, "--json"),
                         0);
        assert_true(number(NULL, "frames") == 41 && number("markers", "mapped") == 80 &&
                    number("control", "lost") == 0);
        assert_true(number("control", "after_mm") < 0.2 && number("control", "inside_mm") > 0.1);
        CHECK_OK(fa_sequence_open(out, NULL, &a, &err), &err);
        CHECK_OK(fa_compare(own, a, NULL, &c, &err), &err);
        print_message("%s by %s: mean %.3f mm, max %.2f mm\n", format[i], method[i], c.mean_mm, c.max_mm);
        assert_true(c.frames == 41 && c.mean_mm < 0.1 && c.max_mm < 4);
        fa_compare_free(&c);
        fa_sequence_close(a);
    }
    fa_sequence_close(own);
    fa_rig_free(loaded);
}

static void into_a_glb_with_a_page(void **state) {
    (void)state;
    char take[4096], glb[4096], page[4096];
    snprintf(take, sizeof take, "%s", sampled("page.csv"));
    snprintf(glb, sizeof glb, "%s", test_path("markers.glb"));
    snprintf(page, sizeof page, "%s", test_path("markers.html"));
    // its own clip is a truth of the same vertices
    assert_int_equal(RUN("drive", rig, take, "--physics", "off", "-o", glb, "--report", page, "--truth", rig, "--json"),
                     0);
    SAID("\"tracks\":[{");
    SAID("\"lip_upper\":");
    assert_true(number("bake", "max_mm") <= 0.05);
    assert_int_equal(RUN("info", glb, "--json"), 0);
    assert_true(number(NULL, "frames") == 41);
    FILE *file = fopen(page, "rb");
    assert_non_null(file);
    char begin[64] = "";
    assert_true(fread(begin, 1, 63, file) == 63);
    fclose(file);
    assert_non_null(strstr(begin, "<!"));
    char **left = test_list(test_dir(), ".pc2");
    for (int n = 0; left[n]; n++) assert_null(strstr(left[n], ".fascia-"));
    test_list_free(left);
}

// A face that is given keeps its flesh: the report says which, and what contradicts it is refused.
static void flesh_of_a_face(void **state) {
    (void)state;
    static const char *const flesh[] = {"layer", "filled"};
    char out[4096], face[4096], said[64];
    snprintf(out, sizeof out, "%s", test_path("flesh.pc2"));
    snprintf(face, sizeof face, "%s", test_path("flesh.face"));
    for (int i = 0; i < 2; i++) {
        snprintf(said, sizeof said, "\"flesh\":\"%s\"", flesh[i]);
        assert_int_equal(RUN("build", rig, "--flesh", flesh[i], "--simulate-vertices", "400", "-o", face, "--json"), 0);
        SAID(said);
        assert_int_equal(RUN("drive", face, "--frames", "0-1", "-o", out, "--json"), 0);
        SAID(said);
        assert_int_equal(RUN("drive", face, "--flesh", flesh[i], "--frames", "0-1", "-o", out, "--json"), 0);
        assert_int_equal(RUN("drive", face, "--flesh", flesh[1 - i], "--frames", "0-1", "-o", out), 2);
        SAID("is asked for, and");
    }
}

// Where the markers of a take sit, and the take driven by that map; another face's animation and take.
static void maps_and_other_faces(void **state) {
    (void)state;
    char take[4096], map[4096], other[4096], out[4096];
    snprintf(take, sizeof take, "%s", sampled("map.csv"));
    snprintf(map, sizeof map, "%s", test_path("map.json"));
    snprintf(other, sizeof other, "%s", test_path("other.glb"));
    snprintf(out, sizeof out, "%s", test_path("map.pc2"));
    assert_int_equal(RUN("markers", rig, take, "-o", map), 0);
    SAID("80 of 80 markers");
    assert_int_equal(RUN("drive", rig, take, "--map", map, "--method", "sbs", "-o", out, "--json"), 0);
    assert_int_equal(RUN("head", "--level", "1", "--seed", "5", "--clip", "press", "-o", other, "-q"), 0);
    assert_int_equal(
        RUN("drive", rig, other, "--from", other, "--method", "sbs", "--frames", "0-40", "-o", out, "--json"), 0);
    SAID("through the source rig");
    assert_true(number("retarget", "used") > 70 && number("retarget", "shape_mm") > 0.5);
    CHECK_NEAR(number("retarget", "after_mm") / number("retarget", "before_mm"), number("retarget", "scale"), 0.15);
    assert_int_equal(RUN("drive", rig, take, "--retarget", "--method", "sbs", "-o", out, "--json"), 0);
    SAID("by vertex names");
    // markers of another face, and the face that they are of
    assert_int_equal(RUN("markers", other, "-o", test_path("theirs.csv"), "--frames", "0-10"), 0);
    assert_int_equal(
        RUN("drive", rig, test_path("theirs.csv"), "--from", other, "--method", "sbs", "-o", out, "--json"), 0);
    SAID("through the source rig");
    assert_true(number("retarget", "used") > 70);
    assert_int_equal(RUN("drive", rig, test_path("theirs.csv"), "--method", "sbs", "-o", out), 0);
    SAID("vertices of another rig (the take says so)");
    // the verb builds what it needs
    assert_int_equal(RUN("drive", rig, take, "--method", "sbs", "--residual", "on", "--frames", "0-3", "-o", out), 0);
    SAID("the rest spread over the skin");
    assert_int_equal(RUN("drive", rig, "--retarget", "-o", out), 2);
    assert_int_equal(RUN("markers", rig, other, "-o", test_path("other.csv"), "--json"), 0);
    assert_true(number("markers", "mapped") > 70 && number("markers", "worst_mm") < 10);
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// A result that exists stays as it was when the next run fails.
static void bad_markers(void **state) {
    (void)state;
    char take[4096], bad[4096], out[4096], trust[4096];
    snprintf(take, sizeof take, "%s", sampled("bad.csv"));
    snprintf(bad, sizeof bad, "%s", test_path("worse.csv"));
    snprintf(out, sizeof out, "%s", test_path("kept_as_is.pc2"));
    snprintf(trust, sizeof trust, "%s", test_path("trust.txt"));
    write_text(out, "POINTCACHE2 as it was");
    write_text(bad, "time,v1.x,v1.y,v1.z\n0,,,\n0.1,,,\n");
    assert_int_equal(RUN("drive", rig, bad, "-o", out), 3);
    write_text(bad, "time,v1.x,v1.y,v1.z\n0,0,0,zero\n");
    assert_int_equal(RUN("drive", rig, bad, "-o", out), 3);
    SAID("line 2");
    write_text(bad, "time,v999999.x,v999999.y,v999999.z\n0,0,0.1,0\n0.1,0,0.1,0\n");
    assert_int_equal(RUN("drive", rig, bad, "-o", out), 3);
    SAID("v999999");
    write_text(bad, "time,v1.x,v1.y,v1.z,v40.x,v40.y,v40.z\n0,0,0.1,0,0.1,0.1,0\n0.1,0,0.1,0,0.1,0.1,0\n");
    assert_int_equal(RUN("drive", rig, bad, "--method", "sbs", "-o", out), 3);
    SAID("too few for the head's pose");
    write_text(bad, "{\"v1\": 99999999}");
    assert_int_equal(RUN("drive", rig, take, "--map", bad, "-o", out), 3);
    write_text(bad, "{\"v1\": 1");
    assert_int_equal(RUN("drive", rig, take, "--map", bad, "-o", out), 3);
    assert_int_equal(RUN("drive", rig, test_path("none.c3d"), "-o", out), 5);
    write_text(trust, "nobody,1\n");
    assert_int_equal(RUN("drive", rig, take, "--trust", trust, "--method", "sbs", "-o", out), 3);
    SAID("line 1");
    assert_int_equal(RUN("drive", rig, take, "--literal", "--method", "sbs", "-o", out), 2);
    assert_int_equal(RUN("drive", rig, take, "--method", "magic", "-o", out), 2);
    assert_int_equal(
        RUN("drive", rig, take, "--method", "sbs", "--truth", test_path("none.pc2"), "--dry-run", "-o", out), 5);
    assert_int_equal(RUN("drive", rig, take, "--method", "sbs", "--frames", "90-95", "-o", out), 2);
    assert_int_equal(RUN("markers", rig, "-o", test_path("x.glb")), 2);
    assert_int_equal(RUN("markers", rig, "-o", test_path("x.csv"), "--count", "100000"), 2);
    FILE *file = fopen(out, "rb");
    char text[32] = "";
    assert_non_null(file);
    assert_true(fread(text, 1, 31, file) == 21);
    fclose(file);
    assert_string_equal(text, "POINTCACHE2 as it was");
    assert_int_equal(RUN("drive", rig, take, "--method", "sbs", "-o", out, "--dry-run", "--json"), 0);
    SAID("\"output\":null");
}

// --- landmarks ----------------------------------------------------------------------------------------------------

static void landmarks(void **state) {
    (void)state;
    static const struct {
        const char *name;
        FaLandmarkLayout layout;
    } CASE[] = {{"few.csv", FA_LANDMARKS_68}, {"many.json", FA_LANDMARKS_478}};
    FaError err = {0};
    FaFaceModel *model;
    FaRig *loaded;
    FaClip *clip;
    FaSequence *own, *a;
    FaCompare c;
    char take[4096], out[4096];
    snprintf(out, sizeof out, "%s", test_path("seen.pc2"));
    CHECK_OK(fa_face_model_head(&model, &err), &err);
    CHECK_OK(fa_rig_load(rig, NULL, &loaded, &err), &err);
    for (int i = 0; i < 2; i++) {
        snprintf(take, sizeof take, "%s", test_path(CASE[i].name));
        film(model, CASE[i].layout, false, take, &clip);
        assert_int_equal(RUN("drive", rig, take, "--method", "sbs", "--focal", "1100", "-o", out, "--overlay",
                             test_path("seen.png"), "--json"),
                         0);
        assert_true(number(NULL, "frames") == LOOKS && number("camera", "error_rms") < 1 &&
                    number("camera", "focal") == 1100);
        if (i == 0) SAID("1280 x 720 was taken"); // a CSV does not say
        CHECK_OK(fa_sequence_of_clip(loaded, clip, &own, &err), &err);
        CHECK_OK(fa_sequence_open(out, NULL, &a, &err), &err);
        CHECK_OK(fa_compare(own, a, NULL, &c, &err), &err);
        print_message("%s: mean %.3f mm, max %.2f mm\n", CASE[i].name, c.mean_mm, c.max_mm);
        assert_true(c.frames == LOOKS && c.mean_mm < 0.35 && c.max_mm < 4);
        fa_compare_free(&c);
        fa_sequence_close(a);
        fa_sequence_close(own);
        fa_clip_free(clip);
    }
    assert_int_equal(RUN("drive", rig, take, "--method", "sbs", "--image", "12y", "-o", out), 2);
    assert_int_equal(RUN("drive", rig, take, "--method", "sbs", "--face-model", rig, "-o", out), 2);
    SAID("--landmarks");
    assert_int_equal(RUN("drive", rig, sampled("no_landmarks.csv"), "--method", "sbs", "--focal", "1000", "-o", out),
                     2);
    SAID("does not hold");
    film(model, FA_LANDMARKS_68, true, take, &clip);
    assert_int_equal(RUN("drive", rig, take, "--method", "sbs", "-o", out), 3);
    SAID("mirror image");
    fa_clip_free(clip);
    write_text(take, "{\"frames\": [{\"points\": []}, {\"points\": []}]}");
    assert_int_equal(RUN("drive", rig, take, "-o", out), 3);
    SAID("many.json");
    write_text(take, "{\"frames\": [{\"points\": [[1, 2], [3, 4]]}]}");
    assert_int_equal(RUN("drive", rig, take, "-o", out), 3);
    SAID("68, 468 or 478");
    fa_rig_free(loaded);
    fa_face_model_free(model);
}

// A stream: a line per frame in, a line out; lines without a face and broken ones are frames too.
static void stream(void **state) {
    (void)state;
    FaError err = {0};
    FaFaceModel *model;
    FaLandmarkTake *take;
    FaClip *clip;
    char file[4096], lines[4096], out[4096], command[20000];
    snprintf(file, sizeof file, "%s", test_path("stream.json"));
    snprintf(lines, sizeof lines, "%s", test_path("stream.jsonl"));
    snprintf(out, sizeof out, "%s", test_path("stream.out"));
    CHECK_OK(fa_face_model_head(&model, &err), &err);
    film(model, FA_LANDMARKS_68, false, file, &clip);
    CHECK_OK(fa_landmarks_load(file, NULL, &take, &err), &err);
    FILE *f = fopen(lines, "w");
    for (int i = 0; i < 6; i++) {
        fprintf(f, "{\"width\": %g, \"height\": %g, \"time\": %g, \"points\": [", take->width, take->height,
                take->time[i]);
        for (int p = 0; p < take->count; p++) {
            const float *x = take->x + (size_t)((i * take->count + p) * take->dims);
            fprintf(f, "%s[%g, %g]", p ? "," : "", (double)x[0], (double)x[1]);
        }
        fputs(i == 3 ? "]}\nnull\n{\"points\": [[1\n" : "]}\n", f);
    }
    fclose(f);
    snprintf(command, sizeof command, "'%s' drive '%s' - --stream weights --threads 2 < '%s' > '%s' 2> '%s.log'",
             PROGRAM, rig, lines, out, out);
    assert_int_equal(system(command), 0);
    f = fopen(out, "r");
    int n = 0, faces = 0;
    static char line[1 << 16];
    for (; fgets(line, sizeof line, f); n++) {
        faces += strstr(line, "\"face\":true") != NULL;
        assert_int_equal(line[0], '{');
        assert_non_null(n ? strstr(line, "\"weights\":[") : strstr(line, "\"shapes\":[\"eyeBlinkLeft\""));
    }
    fclose(f);
    assert_true(n == 9 && faces >= 6);
    snprintf(command, sizeof command, "'%s' drive '%s' - < /dev/null > '%s' 2> '%s.log'", PROGRAM, rig, out, out);
    assert_int_equal(WEXITSTATUS(system(command)), 3);
    assert_int_equal(RUN("drive", rig, "-", "-o", out), 2);
    fa_landmarks_free(take);
    fa_clip_free(clip);
    fa_face_model_free(model);
}

// Markers of linear blending: the jaw moves on straight lines, so auto leaves the rigid jaw out, and says what it used.
static void auto_says_what_it_used(void **state) {
    (void)state;
    const char *csv = test_path("linear.csv"), *out = test_path("linear.pc2");
    assert_int_equal(RUN("markers", rig, "-o", csv, "-q"), 0);
    assert_int_equal(RUN("drive", rig, csv, "--physics", "off", "-o", out, "--json"), 0);
    SAID("the rigid jaw made it worse and is off");
    SAID("\"jaw\":false");
    assert_int_equal(RUN("drive", rig, csv, "--physics", "off", "-o", out), 0);
    assert_null(strstr(output, ", rigid jaw"));
    assert_int_equal(RUN("drive", rig, csv, "--physics", "off", "-o", out, "--method", "bf"), 0);
    SAID(", rigid jaw");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(face_then_clip),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(clip_to_markers_and_back),
                                       cmocka_unit_test(into_a_glb_with_a_page),
                                       cmocka_unit_test(maps_and_other_faces),
                                       cmocka_unit_test(flesh_of_a_face),
                                       cmocka_unit_test(bad_markers),
                                       cmocka_unit_test(landmarks),
                                       cmocka_unit_test(stream),
                                       cmocka_unit_test(auto_says_what_it_used)};
    return cmocka_run_group_tests(tests, make_head, NULL);
}
