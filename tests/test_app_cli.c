// The program as a user meets it: exit codes, help, errors that name file and remedy, outputs that are whole.
// labels: heavy
#include "test_app_tools.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void put_obj(const char *path, double jaw) {
    char text[1000];
    snprintf(text, sizeof text,
             "v -0.08 -0.12 0\nv 0.08 -0.12 0\nv 0.08 0.12 0\nv -0.08 0.12 0\nv 0 %.4f 0.1\n"
             "f 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n",
             -0.02 - jaw);
    write_file(path, text);
}

// A tiny rig: neutral and two shapes, and a clip for them.
static const char *make_rig(void) {
    static char dir[4096];
    snprintf(dir, sizeof dir, "%s", test_path("rig"));
    mkdir(dir, 0755);
    put_obj(test_path("rig/neutral.obj"), 0);
    put_obj(test_path("rig/jawOpen.obj"), 0.02);
    put_obj(test_path("rig/mouthSmile_L.obj"), -0.005);
    write_file(test_path("clip.csv"), "time,jawOpen,mouthSmileLeft\n0,0,0\n0.1,0.5,0.25\n0.2,1,0.5\n");
    return dir;
}

static void test_help_and_usage(void **state) {
    (void)state;
    assert_int_equal(RUN("--help"), 0);
    SAID("info");
    assert_int_equal(RUN("info", "--help"), 0);
    SAID("Examples:");
    assert_int_equal(RUN("--version"), 0);
    assert_int_equal(RUN("inof", "x"), 2);
    SAID("did you mean info");
    assert_int_equal(RUN("info"), 2);
    assert_int_equal(RUN("info", "x", "--jsn"), 2);
    SAID("did you mean --json");
    assert_int_equal(RUN("info", "x", "--unit", "stone"), 2);
    SAID("m, dm, cm, mm, in, ft or metres per unit, not 'stone'");
    assert_int_equal(RUN("info", "x", "--threads", "many"), 2);
    assert_int_equal(RUN("info", "x", "--threads"), 2);
    // what is missing, in plain words
    static const char *const writes[] = {"blend", "drive", "enrich", "markers", "build", "render"};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(RUN(writes[i], "x.glb"), 2);
        SAID("no output file: add -o OUT, for example -o ");
    }
    assert_int_equal(RUN("convert", "x.glb"), 2);
    SAID("no output file");
    // a value that is none is not a file
    assert_int_equal(RUN("drive", "x.glb", "--sticky", "abc", "-o", "y.glb"), 2);
    SAID("sticky cannot be 'abc' (it takes on or off)");
    assert_int_equal(RUN("blend", "x.glb", "--mass", "-o", "y.glb"), 2);
    SAID("--mass needs a value (kg), and -o is another option");
    assert_int_equal(RUN("blend", "x.glb", "--preset", "jello", "-o", "y.glb"), 2);
    SAID("soft|heavy|snappy|firm|jelly");
}

static void test_errors_name_file_and_remedy(void **state) {
    (void)state;
    assert_int_equal(RUN("info", test_path("none.glb")), 5);
    SAID("none.glb");
    write_file(test_path("bad.glb"), "glTF but not really");
    assert_int_equal(RUN("info", test_path("bad.glb")), 3);
    SAID("bad.glb");
    write_file(test_path("odd.xyz"), "what is this");
    assert_int_equal(RUN("info", test_path("odd.xyz")), 3);
}

static void test_round_trip(void **state) {
    (void)state;
    const char *rig = make_rig();
    char glb[4096], pc2[4096], back[4096], clip[4096];
    snprintf(glb, sizeof glb, "%s", test_path("out.glb"));
    snprintf(pc2, sizeof pc2, "%s", test_path("out.pc2"));
    snprintf(back, sizeof back, "%s", test_path("back.glb"));
    snprintf(clip, sizeof clip, "%s", test_path("clip.csv"));
    assert_int_equal(RUN("info", rig, "--json"), 0);
    SAID("\"matched\": 2");
    assert_int_equal(RUN("convert", rig, glb, "--clip", clip), 0);
    assert_int_equal(RUN("convert", rig, pc2, "--clip", clip), 0);
    assert_int_equal(RUN("compare", glb, pc2, "--max-mm", "0.0001"), 0);
    assert_int_equal(RUN("convert", pc2, back, "--rig", rig), 0);
    assert_int_equal(RUN("compare", back, pc2, "--max-mm", "0.05"), 0);
    // moved by a millimetre: the check notices
    assert_int_equal(RUN("compare", rig, pc2, "--max-mm", "0.05"), 0); // one frame against frame 0: equal
    assert_int_equal(RUN("convert", pc2, test_path("cut.pc2"), "--frames", "2-2"), 0);
    assert_int_equal(RUN("compare", rig, test_path("cut.pc2"), "--max-mm", "1"), 1);
}

static void test_dry_run_writes_nothing(void **state) {
    (void)state;
    const char *rig = make_rig();
    char out[4096];
    snprintf(out, sizeof out, "%s", test_path("never.glb"));
    assert_int_equal(RUN("convert", rig, out, "--dry-run"), 0);
    assert_int_not_equal(access(out, F_OK), 0);
}

// Killed at any moment, the program leaves the old output or the new one.
static void test_kill_during_convert(void **state) {
    (void)state;
    const char *rig = make_rig();
    char out[4096], clip[4096];
    snprintf(out, sizeof out, "%s", test_path("killed.pc2"));
    snprintf(clip, sizeof clip, "%s", test_path("long.csv"));
    FILE *f = fopen(clip, "wb");
    fprintf(f, "time,jawOpen\n");
    for (int i = 0; i < 3000; i++) fprintf(f, "%.4f,%.4f\n", i / 60.0, (i % 60) / 60.0);
    fclose(f);
    write_file(out, "POINTCACHE2old"); // of the kind that replaces it
    int old = 0, whole = 0;
    for (int round = 0; round < 25; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            freopen("/dev/null", "w", stderr);
            execl(PROGRAM, PROGRAM, "convert", rig, out, "--clip", clip, (char *)NULL);
            _exit(127);
        }
        usleep((useconds_t)(round * 1500));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        struct stat st;
        assert_int_equal(stat(out, &st), 0);
        if (st.st_size == 14)
            old++;
        else {
            assert_int_equal(st.st_size, 32 + 3000 * 5 * 12);
            whole++;
        }
    }
    assert_int_equal(RUN("convert", rig, out, "--clip", clip), 0);
    assert_true(old + whole == 25);
    print_message("killed 25 times: %d old, %d new\n", old, whole);
}

static void test_json_is_json(void **state) {
    (void)state;
    if (!test_program("python3")) skip();
    const char *rig = make_rig();
    const char *log = test_path("json.txt");
    const char *info[] = {PROGRAM, "info", rig, "--json", "-q", NULL};
    assert_int_equal(test_run(info, log), 0);
    const char *check[] = {"python3", "-c",
                           "import json,sys; d=json.load(open(sys.argv[1])); "
                           "[d[k] for k in 'vertices triangles components boundary_edges unit height_m frames fps "
                           "shapes matched warnings'.split()]",
                           log, NULL};
    assert_int_equal(test_run(check, NULL), 0);
}

// Help that fits a terminal, with examples to copy.
static void test_help_reads_well(void **state) {
    (void)state;
    static const char *const verb[] = {"info",  "head",       "build",   "blend",   "drive",  "enrich",
                                       "run",   "markers",    "convert", "compare", "render", "dataset",
                                       "train", "fit-skulls", "bench",   "demo"};
    for (int i = 0; i < (int)(sizeof verb / sizeof *verb); i++) {
        int examples = 0;
        assert_int_equal(RUN(verb[i], "--help"), 0);
        for (const char *at = output; (at = strstr(at, "\n  fascia ")); at++) examples++;
        if (examples < 3) fail_msg("%s has %d examples", verb[i], examples);
        for (const char *line = output; *line; line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > 110) fail_msg("%s: %.*s", verb[i], (int)strcspn(line, "\n"), line);
    }
}

// --frames of compare: only these are measured, and the worst one keeps its number.
static void test_compare_frames(void **state) {
    (void)state;
    const char *rig = make_rig();
    char moving[4096], still[4096], page[4096];
    snprintf(moving, sizeof moving, "%s", test_path("moving.pc2"));
    snprintf(still, sizeof still, "%s", test_path("still.pc2"));
    snprintf(page, sizeof page, "%s", test_path("part.html"));
    write_file(test_path("rest.csv"), "time,jawOpen,mouthSmileLeft\n0,0,0\n0.1,0,0\n0.2,0,0\n");
    assert_int_equal(RUN("convert", rig, moving, "--clip", test_path("clip.csv")), 0);
    assert_int_equal(RUN("convert", rig, still, "--clip", test_path("rest.csv")), 0);
    assert_int_equal(RUN("compare", still, moving, "--json"), 0);
    double all = said_number("max_mm");
    assert_true(said_number("frames") == 3 && said_number("worst_frame") == 2);
    assert_int_equal(RUN("compare", still, moving, "--json", "--frames", "1-1"), 0);
    assert_true(said_number("frames") == 1 && said_number("worst_frame") == 1);
    CHECK_NEAR(said_number("max_mm"), all / 2, 1e-3);
    assert_int_equal(RUN("compare", still, moving, "--frames", "0-0", "--max-mm", "0"), 0);
    assert_int_equal(RUN("compare", still, moving, "--frames", "1-2", "--rig", rig, "-o", page), 0);
    assert_int_equal(RUN("compare", still, moving, "--frames", "7-9"), 2);
    SAID("starts after the last frame, 2");
}

static void test_render_json(void **state) {
    (void)state;
    const char *rig = make_rig();
    assert_int_equal(RUN("render", rig, "-o", test_path("p.png"), "--size", "40x30", "--samples", "1", "--json"), 0);
    assert_true(said_number("frames") == 1 && said_number("width") == 40 && said_number("height") == 30);
    assert_int_equal(
        RUN("render", rig, "-o", test_path("s.png"), "--sheet", "--size", "40x30", "--samples", "1", "--json"), 0);
    assert_true(said_number("frames") == 2 && said_number("width") >= 40 && said_number("height") > 30);
}

// info says what a take is and which verb has a use for it.
static void test_info_takes(void **state) {
    (void)state;
    write_file(test_path("markers.csv"), "time,a.x,a.y,a.z,b.x,b.y,b.z\n0,0,0,0,0.1,0,0\n0.5,0,0,0,0.1,0,0\n");
    assert_int_equal(RUN("info", test_path("markers.csv")), 0);
    SAID("a take of markers");
    SAID("fascia markers RIG ");
    SAID("fascia drive RIG ");
    assert_int_equal(RUN("info", test_path("markers.csv"), "--json"), 0);
    assert_true(said_number("markers") == 2 && said_number("frames") == 2);
    assert_int_equal(RUN("info", test_path("none.c3d")), 5);
}

// A file that is not there is not a file of the wrong kind.
static void test_missing_motion(void **state) {
    (void)state;
    const char *rig = make_rig();
    assert_int_equal(
        RUN("drive", rig, test_path("none.json"), "--overlay", test_path("x.png"), "-o", test_path("y.glb")), 5);
    SAID("cannot open");
    SAID("none.json");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help_reads_well),
        cmocka_unit_test(test_compare_frames),
        cmocka_unit_test(test_render_json),
        cmocka_unit_test(test_info_takes),
        cmocka_unit_test(test_missing_motion),
        cmocka_unit_test(test_help_and_usage),
        cmocka_unit_test(test_errors_name_file_and_remedy),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_dry_run_writes_nothing),
        cmocka_unit_test(test_kill_during_convert),
        cmocka_unit_test(test_json_is_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
