// Every kind of bad input that real files hold, with what is decided for it: refused with a place and a remedy,
// accepted with a note, or accepted in silence. docs/guide/bad-input.md is the same table in words. Hostile glTF is in
// test_io_gltf.c.
#include "test.h"

#include <sys/stat.h>

typedef enum Action { REFUSE, NOTE, ACCEPT } Action;

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool has_note(const FaNotes *notes, const char *code) {
    for (int i = 0; i < notes->count; i++)
        if (!strcmp(notes->note[i].code, code)) return true;
    return false;
}

static void print_notes(const char *name, const FaNotes *notes) {
    for (int i = 0; i < notes->count; i++)
        print_message("%s: noted %s: %s\n", name, notes->note[i].code, notes->note[i].text);
}

// --- clips
// ------------------------------------------------------------------------------------------------------------

typedef struct ClipCase {
    const char *name, *file, *text;
    Action action;
    const char *say; // REFUSE: in the message; NOTE: the code
    int frames;      // expected when accepted
} ClipCase;

#define HEAD "time,jawOpen,mouthClose\n"
static const ClipCase clip_cases[] = {
    {"NaN", "a.csv", HEAD "0,0,0\n0.1,nan,0\n", REFUSE, "line 3", 0},
    {"Inf", "a.csv", HEAD "0,0,0\n0.1,inf,0\n", REFUSE, "line 3", 0},
    {"weights above 1", "a.csv", HEAD "0,0,0\n0.1,1.4,0\n", NOTE, "weights-over-1", 2},
    {"weights below 0", "a.csv", HEAD "0,0,0\n0.1,-0.4,0\n", NOTE, "weights-below-0", 2},
    {"1e38", "a.csv", HEAD "0,0,0\n0.1,1e38,0\n", NOTE, "huge-weights", 2},
    {"over float range", "a.csv", HEAD "0,0,0\n0.1,1e39,0\n", REFUSE, "line 3", 0},
    {"denormals", "a.csv", HEAD "0,0,0\n0.1,1e-40,0\n", NOTE, "denormal-weights", 2},
    {"decimal comma", "a.csv", "time;jawOpen\n0;0\n0,1;0,5\n", NOTE, "decimal-comma", 2},
    {"empty cells", "a.csv", HEAD "0,0,0\n0.1,,0\n", NOTE, "empty-cells", 2},
    {"byte order mark", "a.csv", "\xEF\xBB\xBF" HEAD "0,0,0\n0.1,0.5,0\n", ACCEPT, NULL, 2},
    {"ragged row", "a.csv", HEAD "0,0,0\n0.1,0.5\n0.2,0,0\n", REFUSE, "line 3", 0},
    {"no rows", "a.csv", HEAD, REFUSE, "", 0},
    {"one row", "a.csv", HEAD "0,0.5,0\n", ACCEPT, NULL, 1},
    {"time backwards", "a.csv", HEAD "0,0,0\n0.2,0,0\n0.1,0,0\n", REFUSE, "line 4", 0},
    {"equal times", "a.csv", HEAD "0,0,0\n0.1,0,0\n0.1,0.5,0\n0.2,0,0\n", REFUSE, "line 4", 0},
    {"equal stamps", "a.csv",
     "Timecode,BlendShapeCount,JawOpen\n10:00:00:00.000,61,0\n10:00:00:01.000,61,0\n10:00:00:01.000,61,0.5\n10:00:00:"
     "02.000,61,0\n",
     NOTE, "equal-stamps", 3},
    {"dropped frames", "a.csv",
     "Timecode,BlendShapeCount,JawOpen\n10:00:00:00.000,61,0\n10:00:00:01.000,61,0\n10:00:00:02.000,61,0\n10:00:00:05."
     "000,61,0\n10:00:00:06.000,61,0\n"
     "10:00:00:59.000,61,0\n",
     NOTE, "dropped-frames", 6},
    {"midnight", "a.csv",
     "Timecode,BlendShapeCount,JawOpen\n23:59:59:58.000,61,0\n23:59:59:59.000,61,0\n00:00:00:00.000,61,0\n00:00:00:01."
     "000,61,0\n",
     NOTE, "midnight-wrap", 4},
    {"fps 0", "a.json", "{\"fascia\":\"clip\",\"version\":1,\"fps\":0,\"names\":[\"jawOpen\"],\"weights\":[[0],[1]]}",
     REFUSE, "/fps", 0},
    {"negative fps", "a.json",
     "{\"fascia\":\"clip\",\"version\":1,\"fps\":-30,\"names\":[\"jawOpen\"],\"weights\":[[0],[1]]}", REFUSE, "/fps",
     0},
    {"wrong row", "a.json",
     "{\"fascia\":\"clip\",\"version\":1,\"fps\":30,\"names\":[\"jawOpen\"],\"weights\":[[0],[1,2]]}", REFUSE,
     "/weights/1", 0},
    {"cut JSON", "a.json", "{\"fascia\":\"clip\",\"version\":1,\"fps\":30,\"names\":[\"jaw", REFUSE, "line 1", 0},
    {"BVH frame time 0", "a.bvh",
     "HIERARCHY\nROOT Head\n{\nOFFSET 0 1.6 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 0.1 "
     "0\n}\n}\nMOTION\nFrames: 1\nFrame Time: 0\n0 0 0\n",
     REFUSE, "line", 0},
    {"BVH NaN time", "a.bvh",
     "HIERARCHY\nROOT Head\n{\nOFFSET 0 1.6 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 0.1 "
     "0\n}\n}\nMOTION\nFrames: 1\nFrame Time: nan\n0 0 0\n",
     REFUSE, "line", 0},
    {"BVH cut", "a.bvh", "HIERARCHY\nROOT Head\n{\nOFFSET 0 1.6", REFUSE, "line", 0},
};

static void test_clips(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof clip_cases / sizeof *clip_cases; i++) {
        const ClipCase *c = &clip_cases[i];
        const char *path = test_path(c->file);
        put(path, c->text);
        FaError err = {0};
        FaClip *clip = NULL;
        FaCode rc = fa_clip_load(path, NULL, &clip, &err);
        char text[1200] = "";
        if (rc < 0) fa_error_text(&err, text, sizeof text);
        if (c->action == REFUSE) {
            if (rc >= 0) fail_msg("%s: should be refused", c->name);
            assert_null(clip);
            if (!strstr(text, c->say) || !strstr(text, c->file))
                fail_msg("%s: says '%s', expected '%s' and the file", c->name, text, c->say);
            continue;
        }
        if (rc < 0) fail_msg("%s: refused: %s", c->name, text);
        if (clip->nframe != c->frames) fail_msg("%s: %d frames, expected %d", c->name, clip->nframe, c->frames);
        if (c->action == NOTE && !has_note(&clip->notes, c->say)) {
            print_notes(c->name, &clip->notes);
            fail_msg("%s: no note '%s'", c->name, c->say);
        }
        fa_clip_free(clip);
    }
}

// --- meshes
// -----------------------------------------------------------------------------------------------------------

// A closed box of the size of a head, with one vertex or face changed by each case.
#define BOX_V                                                                                                          \
    "v -0.08 -0.12 -0.1\nv 0.08 -0.12 -0.1\nv 0.08 0.12 -0.1\nv -0.08 0.12 -0.1\nv -0.08 -0.12 0.1\nv 0.08 -0.12 "     \
    "0.1\nv 0.08 0.12 0.1\nv -0.08 0.12 0.1\n"
#define BOX_F "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"

typedef struct MeshCase {
    const char *name, *text;
    Action action;
    const char *say;
    bool deep;
} MeshCase;

static const MeshCase mesh_cases[] = {
    {"as it should be", BOX_V BOX_F, ACCEPT, NULL, true},
    {"NaN position", "v nan 0 0\n" BOX_V BOX_F, REFUSE, "line 1", false},
    {"infinite position", BOX_V "v 0 inf 0\n" BOX_F, REFUSE, "line 9", false},
    {"a vertex at 1e38", BOX_V "v 1e38 0 0\n" BOX_F "f 1 2 9\n", NOTE, "stray-vertices", false},
    {"zero-area face", BOX_V BOX_F "f 1 2 1\n", NOTE, "degenerate", false},
    {"duplicate face", BOX_V BOX_F "f 4 3 2 1\n", NOTE, "duplicate-triangles", false},
    {"coincident vertices", BOX_V "v 0.08 0.12 0.1\nv 0 0.119 0\nv 0 0.118 0.02\n" BOX_F "f 9 10 11\n", NOTE,
     "coincident-vertices", false},
    {"non-manifold edge", BOX_V "v 0 0.11 0\n" BOX_F "f 5 6 9\n", NOTE, "nonmanifold-edges", false},
    {"flipped winding", BOX_V "f 1 2 3 4\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n", NOTE,
     "flipped-winding", false},
    {"unreferenced vertex", BOX_V "v 0 0 0\n" BOX_F, NOTE, "unused-vertices", false},
    {"index out of range", BOX_V BOX_F "f 1 2 99\n", REFUSE, "line 15", false},
    {"index zero", BOX_V BOX_F "f 0 1 2\n", REFUSE, "line 15", false},
    {"negative index too far", BOX_V BOX_F "f -1 -2 -99\n", REFUSE, "line 15", false},
    {"open mesh", BOX_V "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\n", NOTE, "open-mesh", false},
    {"crossing at rest", BOX_V "v -0.2 0 0\nv 0.2 0 0.01\nv 0 0.01 0.09\n" BOX_F "f 9 10 11\n", NOTE,
     "self-intersections", true},
    {"no vertices", "# nothing\n", REFUSE, "", false},
    {"no faces", BOX_V, REFUSE, "", false},
    {"not a number", BOX_V "v 0 zero 0\n" BOX_F, REFUSE, "line 9", false},
};

static void test_meshes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mesh_cases / sizeof *mesh_cases; i++) {
        const MeshCase *c = &mesh_cases[i];
        const char *path = test_path("mesh.obj");
        put(path, c->text);
        FaError err = {0};
        FaRig *rig = NULL;
        FaInfo info = {0};
        FaCode rc = fa_rig_load(path, NULL, &rig, &err);
        char text[1200] = "";
        if (rc < 0) fa_error_text(&err, text, sizeof text);
        if (c->action == REFUSE) {
            if (rc >= 0) fail_msg("%s: should be refused", c->name);
            assert_null(rig);
            if (!strstr(text, c->say) || !strstr(text, "mesh.obj"))
                fail_msg("%s: says '%s', expected '%s' and the file", c->name, text, c->say);
            continue;
        }
        if (rc < 0) fail_msg("%s: refused: %s", c->name, text);
        CHECK_OK(fa_info_of_rig(rig, c->deep, &info, &err), &err);
        bool found = false;
        for (int k = 0; k < info.notes.count; k++)
            found = found || (c->say && !strncmp(info.notes.note[k].code, c->say, strlen(c->say)));
        if (c->action == NOTE && !found) {
            print_notes(c->name, &info.notes);
            fail_msg("%s: no note '%s'", c->name, c->say);
        }
        if (c->action == ACCEPT && info.notes.count > 1) { // a box has no shapes, which is worth one note
            print_notes(c->name, &info.notes);
            fail_msg("%s: a clean mesh should give no notes", c->name);
        }
        fa_info_free(&info);
        fa_rig_free(rig);
    }
}

// The same box in m, cm and mm; z up; and an unknown size.
static void test_units_and_axes(void **state) {
    (void)state;
    static const struct {
        double scale;
        const char *unit;
    } sizes[] = {{1, "m"}, {100, "cm"}, {1000, "mm"}};
    for (int i = 0; i < 3; i++) {
        char text[2000] = "";
        double s = sizes[i].scale;
        for (int v = 0; v < 8; v++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "v %g %g %g\n", s * (v & 1 ? .08 : -.08),
                     s * (v & 2 ? .12 : -.12), s * (v & 4 ? .1 : -.1));
        strcat(text, "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 2 4 8 6\nf 4 3 7 8\nf 3 1 5 7\n");
        put(test_path("unit.obj"), text);
        FaError err = {0};
        FaRig *rig;
        FaInfo info;
        CHECK_OK(fa_rig_load(test_path("unit.obj"), NULL, &rig, &err), &err);
        CHECK_OK(fa_info_of_rig(rig, false, &info, &err), &err);
        assert_string_equal(info.unit_name, sizes[i].unit);
        CHECK_NEAR(info.height_m, 0.24, 1e-6);
        fa_info_free(&info);
        fa_rig_free(rig);
        // the override wins
        FaRigOptions force = {.unit = FA_UNIT_M, .any_size = true};
        CHECK_OK(fa_rig_load(test_path("unit.obj"), &force, &rig, &err), &err);
        CHECK_NEAR(rig->mesh.x[1], -0.12 * s, 1e-4 * s);
        fa_rig_free(rig);
    }
    put(test_path("unit.obj"), "v 0 0 0\nv 7 0 0\nv 0 7 0\nf 1 2 3\n");
    FaError err = {0};
    FaRig *rig;
    assert_true(fa_rig_load(test_path("unit.obj"), NULL, &rig, &err) < 0);
    assert_non_null(strstr(err.remedy, "--unit"));
}

static void test_folders(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    mkdir(test_path("f"), 0755);
    put(test_path("f/neutral.obj"), BOX_V BOX_F);
    put(test_path("f/jawOpen.obj"), BOX_V "v 0 0 0\n" BOX_F);
    assert_true(fa_rig_load(test_path("f"), NULL, &rig, &err) < 0); // another vertex count
    assert_non_null(strstr(err.path, "jawOpen.obj"));
    err = (FaError){0};
    mkdir(test_path("empty"), 0755);
    assert_true(fa_rig_load(test_path("empty"), NULL, &rig, &err) < 0);
    assert_true(err.remedy[0] || err.what[0]);
}

// --- every allocation fails once
// --------------------------------------------------------------------------------------

typedef FaCode LoadFn(const char *path, FaError *err);
static FaCode load_rig(const char *path, FaError *err) {
    FaRig *rig = NULL;
    FaCode rc = fa_rig_load(path, NULL, &rig, err);
    fa_rig_free(rig);
    return rc;
}
static FaCode load_clip(const char *path, FaError *err) {
    FaClip *clip = NULL;
    FaCode rc = fa_clip_load(path, NULL, &clip, err);
    fa_clip_free(clip);
    return rc;
}
static FaCode load_frames(const char *path, FaError *err) {
    FaSequence *seq = NULL;
    FaCode rc = fa_sequence_open(path, &(FaRigOptions){.any_size = true}, &seq, err);
    float x[1000];
    if (rc >= 0 && fa_sequence_nvert(seq) * 3 < 1000) rc = fa_sequence_read(seq, 0, x, err);
    fa_sequence_close(seq);
    return rc;
}
static FaCode examine(const char *path, FaError *err) {
    FaRig *rig = NULL;
    FaInfo info = {0};
    char *text = NULL;
    FaCode rc = fa_rig_load(path, NULL, &rig, err);
    if (rc >= 0) rc = fa_info_of_rig(rig, true, &info, err);
    if (rc >= 0) rc = fa_info_json(&info, &text, err);
    fa_free(text);
    fa_info_free(&info);
    fa_rig_free(rig);
    return rc;
}

static void fail_each(const char *name, LoadFn *load, const char *path) {
    long failures = 0;
    for (long k = 1;; k++) {
        FaError err = {0};
        long before = test_alloc_balance();
        test_fail_alloc(k);
        FaCode rc = load(path, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        if (test_alloc_balance() != before)
            fail_msg("%s: allocation %ld failing leaks %ld blocks", name, k, test_alloc_balance() - before);
        if (!failed) {
            CHECK_OK(rc, &err);
            break;
        }
        if (rc < 0 && rc != FA_E_MEMORY) fail_msg("%s: allocation %ld failing gives '%s'", name, k, err.what);
        failures++;
        if (k > 200000) fail_msg("%s: does not end", name);
    }
    assert_true(failures > 3);
    print_message("%s: %ld allocations, each failed once\n", name, failures);
}

static void test_allocation_failures(void **state) {
    (void)state;
    test_fail_alloc(0);
    mkdir(test_path("g"), 0755);
    put(test_path("g/neutral.obj"), BOX_V BOX_F);
    put(test_path("g/jawOpen.obj"), "v -0.08 -0.14 -0.1\nv 0.08 -0.14 -0.1\nv 0.08 0.12 -0.1\nv -0.08 0.12 -0.1\nv "
                                    "-0.08 -0.14 0.1\nv 0.08 -0.14 0.1\nv 0.08 0.12 0.1\nv -0.08 0.12 0.1\n" BOX_F);
    put(test_path("g.csv"), "time,jawOpen\n0,0\n0.1,0.5\n0.2,1\n");
    put(test_path("g.json"),
        "{\"fascia\":\"clip\",\"version\":1,\"fps\":30,\"names\":[\"jawOpen\"],\"weights\":[[0],[1]]}");
    put(test_path("g.bvh"),
        "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation "
        "Yrotation\nJOINT Head\n{\nOFFSET 0 1.6 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 0.1 "
        "0\n}\n}\n}\nMOTION\nFrames: 2\nFrame Time: 0.01\n0 0 0 0 0 0 0 0 0\n0 0 0 0 0 0 10 0 0\n");
    put(test_path("live.csv"), "Timecode,BlendShapeCount,JawOpen,HeadYaw,HeadPitch,HeadRoll\n10:00:00:00.000,61,0,0,0,"
                               "0\n10:00:00:01.000,61,0.5,0.1,0,0\n");
    FaError err = {0};
    FaRig *rig;
    FaClip *clip;
    CHECK_OK(fa_rig_load(test_path("g"), NULL, &rig, &err), &err);
    CHECK_OK(fa_clip_load(test_path("g.csv"), NULL, &clip, &err), &err);
    CHECK_OK(fa_rig_save(rig, clip, test_path("g.glb"), &err), &err);
    FaSequence *seq;
    CHECK_OK(fa_sequence_of_clip(rig, clip, &seq, &err), &err);
    CHECK_OK(fa_sequence_save(seq, test_path("g.pc2"), &(FaSinkOptions){.fps = 30}, NULL, &err), &err);
    CHECK_OK(fa_sequence_save(seq, test_path("g.mdd"), &(FaSinkOptions){.fps = 30}, NULL, &err), &err);
    fa_sequence_close(seq);
    fa_clip_free(clip);
    fa_rig_free(rig);
    fail_each("OBJ folder", load_rig, test_path("g"));
    fail_each("GLB", load_rig, test_path("g.glb"));
    fail_each("clip CSV", load_clip, test_path("g.csv"));
    fail_each("Live Link CSV", load_clip, test_path("live.csv"));
    fail_each("clip JSON", load_clip, test_path("g.json"));
    fail_each("BVH", load_clip, test_path("g.bvh"));
    fail_each("PC2", load_frames, test_path("g.pc2"));
    fail_each("MDD", load_frames, test_path("g.mdd"));
    fail_each("GLB frames", load_frames, test_path("g.glb"));
    fail_each("info", examine, test_path("g"));
    fa_allocator_set(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clips),
        cmocka_unit_test(test_meshes),
        cmocka_unit_test(test_units_and_axes),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
