// The figures a verb prints are those `fascia compare` finds between linear blending and its output: for every verb
// that simulates, on the shipped head and on a real rig, whole and with --frames, --fps and --world.
// labels: heavy
#include "test_app_tools.h"

#include "base/json.h"
#include "fascia/head.h"

// Paths last: test_path's are valid for a few calls only.
#define PATH(name, file)                                                                                               \
    char name[4096];                                                                                                   \
    snprintf(name, sizeof name, "%s", test_path(file))

static char head[4096]; // the shipped head with 40 frames of a running head and a talking mouth

static int make_head(void **state) {
    (void)state;
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    FaHead *made;
    FaClip *clip, *cut;
    params.level = 0;
    snprintf(head, sizeof head, "%s", test_path("head.glb"));
    if (fa_head_new(&params, &made, &err) < 0 || fa_head_clip("run", &clip, &err) < 0) return -1;
    if (fa_clip_slice(clip, 20, 59, &cut, &err) < 0) return -1;
    // motion that grows: the figures of a part are not those of the whole
    for (int f = 0; f < cut->nframe; f++)
        for (int c = 0; c < cut->nchan; c++)
            if (strstr(cut->name[c], "jawOpen"))
                cut->weight[f * cut->nchan + c] = (float)(f * (0.5 - 0.5 * cos(0.7 * f)) / cut->nframe);
    if (fa_head_save(made, cut, true, NULL, head, &err) < 0) return -1;
    fa_clip_free(cut);
    fa_clip_free(clip);
    fa_head_free(made);
    return 0;
}

// --- one run of a verb --------------------------------------------------------------------------------------------

typedef struct Case {
    const char *rig;
    const char *const *args; // the verb and what is its own, ended by NULL
    const char *clip;        // that linear blending plays; NULL: the rig's own
    const char *frames;      // "5-12"; NULL: all
    const char *fps;         // NULL: its own
} Case;

static int run_case(const Case *c, const char *out, const char *more) {
    const char *args[32];
    int n = 0;
    for (int i = 0; c->args[i]; i++) args[n++] = c->args[i];
    if (c->frames) args[n++] = "--frames", args[n++] = c->frames;
    if (c->fps) args[n++] = "--fps", args[n++] = c->fps;
    if (more) args[n++] = more;
    args[n++] = "-o";
    args[n++] = out;
    args[n] = NULL;
    return run(args);
}

// The last output is one JSON object, no key twice, with the fields that docs/guide/cli.md promises.
static void check_fields(int frames) {
    static const char *const field[] = {
        "frames", "seconds",    "ms_per_frame", "max_displacement_mm", "intersections", "clamped", "warnings",
        "output", "parameters", "bake",         "mean_displacement_mm"};
    FaError err = {0};
    FaJsonDoc *doc;
    const char *json = strchr(output, '{');
    assert_non_null(json);
    CHECK_OK(fai_json_parse(json, strlen(json), &doc, NULL, &err), &err);
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        if (!fai_json_get(doc->root, field[i])) fail_msg("%s is not in %s", field[i], json);
    for (const FaJson *a = doc->root->first; a; a = a->next)
        for (const FaJson *b = a->next; b; b = b->next) assert_string_not_equal(a->key, b->key);
    const FaJson *bake = fai_json_get(doc->root, "bake");
    assert_true(fai_json_get(bake, "targets") && fai_json_get(bake, "max_mm"));
    if (frames > 0) assert_true(fai_json_get(doc->root, "frames")->number == frames);
    fai_json_free(doc);
}

// What compare finds between linear blending and `out`, mm: the largest distance.
static double compared(const Case *c, const char *out, bool world) {
    PATH(linear, "linear.pc2");
    const char *args[16] = {"convert", c->rig, linear, "-q"};
    int n = 4;
    if (c->clip) args[n++] = "--clip", args[n++] = c->clip;
    if (c->frames) args[n++] = "--frames", args[n++] = c->frames;
    if (c->fps && c->clip) args[n++] = "--fps", args[n++] = c->fps;
    if (world) args[n++] = "--world";
    assert_int_equal(run(args), 0);
    // in whatever unit the rig's own file has
    assert_int_equal(RUN("compare", linear, out, "--rig", c->rig, "--no-intersections", "--json"), 0);
    return said_number("max_mm");
}

// Exact frames to the rounding of their floats; a .glb within the error of its bake. Returns the printed figure.
static double check_case(const Case *c) {
    PATH(out, "out.pc2");
    assert_int_equal(run_case(c, out, "--json"), 0);
    int first, last;
    check_fields(c->frames && sscanf(c->frames, "%d-%d", &first, &last) == 2 ? last - first + 1 : 0);
    double printed = said_number("max_displacement_mm"), found = compared(c, out, false);
    print_message("%-8s %-6s frames %-6s fps %-4s: printed %.6f mm, compare %.6f mm\n", c->args[0],
                  strstr(c->rig, "facecap") ? "facecap" : "head", c->frames ? c->frames : "all",
                  c->fps ? c->fps : "own", printed, found);
    assert_true(found > 1e-4);
    CHECK_NEAR(printed, found, 1e-6 * found + 3e-5); // floats in the coordinates of the file
    return found;
}

// All four of --frames and --fps; the later frames move more.
static void check_verb(Case c) {
    Case part = c, slow = c, both = c;
    part.frames = both.frames = "5-12";
    slow.fps = both.fps = "24";
    double whole = check_case(&c), early = check_case(&part), slower = check_case(&slow);
    check_case(&both);
    if (c.rig == head) assert_true(early < 0.9 * whole); // of these frames and no others
    assert_true(fabs(slower - whole) > 1e-3 * whole);    // the rate is that of the rig's own animation too
}

// --- the verbs ----------------------------------------------------------------------------------------------------

static void blend_head(void **state) {
    (void)state;
    check_verb((Case){.rig = head, .args = (const char *const[]){"blend", head, NULL}});
}

static void drive_head(void **state) {
    (void)state;
    check_verb((Case){.rig = head, .args = (const char *const[]){"drive", head, NULL}});
}

static void enrich_head(void **state) {
    (void)state;
    PATH(face, "head.face");
    assert_int_equal(
        RUN("build", head, "-o", face, "--volumes", "--materials", "auto", "--simulate-vertices", "400", "-q"), 0);
    check_verb((Case){
        .rig = head,
        .args = (const char *const[]){"enrich", head, "--face", face, "--rate", "60", "--tolerance", "1e-2", NULL}});
}

// The weights that the control found are what linear blending plays: drive writes them as a clip.
static void drive_markers(void **state) {
    (void)state;
    PATH(markers, "m.csv");
    PATH(weights, "w.csv");
    PATH(flesh_pc2, "flesh.pc2"); // motion that shapes alone do not have
    assert_int_equal(RUN("drive", head, "-o", flesh_pc2, "-q"), 0);
    assert_int_equal(RUN("markers", head, flesh_pc2, "-o", markers, "-q"), 0);
    static const char *const physics[] = {"off", "full"};
    for (int i = 0; i < 2; i++) {
        const char *const args[] = {"drive", head, markers, "--physics", physics[i], NULL};
        Case all = {.rig = head, .args = args, .clip = weights}, part = all;
        assert_int_equal(run_case(&all, weights, "-q"), 0);
        double whole = check_case(&all);
        part.frames = "5-12";
        assert_true(check_case(&part) <= whole); // the worst frame may be among them
    }
}

static void real_rig(void **state) {
    (void)state;
    const char *data = test_data("rigs/facecap/facecap_decoded.glb");
    if (!data) skip();
    PATH(face, "cap.face");
    char cap[4096];
    snprintf(cap, sizeof cap, "%s", data);
    // the frames after these move three times as far
    Case drive = {.rig = cap, .args = (const char *const[]){"drive", cap, NULL}, .frames = "0-99"};
    check_case(&drive);
    drive.fps = "24";
    check_case(&drive);
    const char *const blend[] = {"blend", cap, NULL};
    check_verb((Case){.rig = cap, .args = blend});
    // its own rate given by hand changes nothing, on a rig whose node is turned
    double own = check_case(&(Case){.rig = cap, .args = blend, .frames = "5-12"});
    CHECK_NEAR(check_case(&(Case){.rig = cap, .args = blend, .frames = "5-12", .fps = "30"}), own, 0.01 * own);
    if (!getenv("FASCIA_FULL")) return; // enrich is above, on the head
    assert_int_equal(
        RUN("build", cap, "-o", face, "--volumes", "--materials", "auto", "--simulate-vertices", "500", "-q"), 0);
    const char *const args[] = {"enrich", cap, "--face", face, "--rate", "30", "--tolerance", "1e-2", NULL};
    Case enrich = {.rig = cap, .args = args, .frames = "20-30"};
    check_case(&enrich);
    enrich.fps = "24";
    check_case(&enrich);
}

// --- what else is written and said --------------------------------------------------------------------------------

static void baked_within_its_error(void **state) {
    (void)state;
    PATH(out, "baked.glb");
    Case c = {.rig = head, .args = (const char *const[]){"drive", head, NULL}, .frames = "5-30"};
    assert_int_equal(run_case(&c, out, "--json"), 0);
    double printed = said_number("max_displacement_mm");
    CHECK_NEAR(printed, compared(&c, out, false), 0.05);
}

static void text_says_the_same(void **state) {
    (void)state;
    PATH(out, "text.pc2");
    Case c = {.rig = head, .args = (const char *const[]){"blend", head, NULL}, .frames = "5-12"};
    char line[80];
    assert_int_equal(run_case(&c, out, NULL), 0);
    const char *at = strstr(output, "up to ");
    assert_non_null(at);
    double said = strtod(at + 6, NULL);
    snprintf(line, sizeof line, "up to %.2f mm from linear blending", compared(&c, out, false));
    assert_true(said > 0);
    assert_int_equal(run_case(&c, out, NULL), 0);
    SAID(line);
    SAID("8 frames");
}

// The head's motion moves both alike: distances stay, at any rate of the clip.
static void world_keeps_distances(void **state) {
    (void)state;
    static const char *const verb[] = {"blend", "drive"};
    PATH(out, "world.pc2");
    for (int i = 0; i < 2; i++) {
        const char *const args[] = {verb[i], head, "--world", NULL};
        Case c = {.rig = head, .args = args, .frames = "3-35"};
        assert_int_equal(run_case(&c, out, "--json"), 0);
        double printed = said_number("max_displacement_mm");
        CHECK_NEAR(printed, compared(&c, out, true), 1e-3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blend_head),
        cmocka_unit_test(drive_head),
        cmocka_unit_test(enrich_head),
        cmocka_unit_test(drive_markers),
        cmocka_unit_test(baked_within_its_error),
        cmocka_unit_test(text_says_the_same),
        cmocka_unit_test(world_keeps_distances),
        cmocka_unit_test(real_rig),
    };
    return cmocka_run_group_tests(tests, make_head, NULL);
}
