// BVH: the grammar, forward kinematics, the choice of joint and unit, the CMU takes, bad input.
#include "test_io_clip_tools.h"

#include "base/base.h"
#include "base/file.h"
#include "io/bvh.h"
#include "io/clip_tools.h"

static FaCode parse(const char *text, const FaClipOptions *options, FaClip **clip, FaError *err) {
    *err = (FaError){0};
    FaCode rc = fai_bvh_parse(text, strlen(text), options, clip, err);
    if (rc >= 0)
        CHECK_OK(fa_clip_check(*clip, err), err);
    else
        assert_null(*clip);
    return rc;
}

static FaClip *load(const char *text, const FaClipOptions *options) {
    FaError err;
    FaClip *clip;
    CHECK_OK(parse(text, options, &clip, &err), &err);
    return clip;
}

static void check_refused(const char *text, FaCode code, const char *place, const char *what) {
    FaError err;
    FaClip *clip;
    assert_int_equal(parse(text, NULL, &clip, &err), code);
    assert_string_equal(err.place, place);
    if (!strstr(err.what, what)) fail_msg("'%s' does not say '%s'", err.what, what);
}

static const FaNote *note(const FaClip *clip, const char *code) { return fai_note_find(&clip->notes, code); }

// A person of `height` units: hips, spine, neck, head, its end, and a foot.
static char *person(double height, const char *head, const char *rows) {
    static char text[8192];
    double h = height / 100;
    snprintf(
        text, sizeof text,
        "HIERARCHY\nROOT Hips\n{\n OFFSET 0 0 0\n CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation "
        "Yrotation\n"
        " JOINT Spine\n {\n  OFFSET 0 %.17g 0\n  CHANNELS 3 Zrotation Xrotation Yrotation\n"
        "  JOINT Neck\n  {\n   OFFSET 0 %.17g 0\n   CHANNELS 0\n"
        "   JOINT %s\n   {\n    OFFSET 0 %.17g %.17g\n    CHANNELS 3 Yrotation Zrotation Xrotation\n"
        "    End Site\n    {\n     OFFSET 0 %.17g 0\n    }\n   }\n  }\n }\n"
        " JOINT Foot\n {\n  OFFSET 0 %.17g 0\n  CHANNELS 1 Xrotation\n  End Site\n  {\n   OFFSET 0 0 5\n  }\n }\n}\n%s",
        10 * h, 25 * h, head, 8 * h, 2 * h, 12 * h, -45 * h, rows);
    return text;
}

#define STILL "MOTION\nFrames: 1\nFrame Time: 0.04\n0 45 0 0 0 0 0 0 0 0 0 0 0\n"

// --- forward kinematics -------------------------------------------------------------------------------------------

static void test_rest(void **state) {
    (void)state;
    FaClip *clip = load(person(170, "Head", STILL), NULL);
    assert_int_equal(clip->nframe, 1);
    assert_int_equal(clip->nchan, 0);
    assert_true(clip->fps == 25 && clip->time[0] == 0);
    assert_string_equal(note(clip, "head-joint")->where, "Head");
    assert_non_null(
        strstr(note(clip, "bvh-unit")->text, "centimetres, 0.01 m per unit: at rest the skeleton is 1.7 m tall"));
    const FaPose *p = &clip->head[0];
    CHECK_NEAR(p->q[3], 1, 1e-15);
    CHECK_NEAR(p->p[0], 0, 1e-15);
    CHECK_NEAR(p->p[1], 0.45 + 0.43 * 1.7, 1e-12);
    CHECK_NEAR(p->p[2], 0.02 * 1.7, 1e-12);
    fa_clip_free(clip);
}

// The same chain multiplied out by hand with other means: axis-angle vectors turned one after another.
static void turn(double v[3], int axis, double degrees) {
    double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    int i = (axis + 1) % 3, j = (axis + 2) % 3;
    double a = v[i], b = v[j];
    v[i] = c * a - s * b;
    v[j] = s * a + c * b;
}

static void test_chain(void **state) {
    (void)state;
    FaClipOptions metres = {.unit = 1};
    FaClip *clip = load(person(100, "Head",
                               "MOTION\nFrames: 2\nFrame Time: 0.01\n"
                               "1 2 3 10 20 30 40 50 60 70 80 90 0\n"
                               "-1 2 -3 -15 25 35 45 -55 65 75 -85 95 7\n"),
                        &metres);
    static const double row[2][12] = {{1, 2, 3, 10, 20, 30, 40, 50, 60, 70, 80, 90},
                                      {-1, 2, -3, -15, 25, 35, 45, -55, 65, 75, -85, 95}};
    assert_null(note(clip, "bvh-unit"));
    for (int f = 0; f < 2; f++) {
        const double *v = row[f];
        // a point of the head's own frame through: head (Y Z X), neck (none), spine (Z X Y), hips (Z X Y); last listed
        // first
        for (int k = 0; k < 4; k++) {
            double x[3] = {k == 1, k == 2, k == 3};
            turn(x, 0, v[11]), turn(x, 2, v[10]), turn(x, 1, v[9]);
            x[1] += 8 + 25, x[2] += 2;
            turn(x, 1, v[8]), turn(x, 0, v[7]), turn(x, 2, v[6]);
            x[1] += 10;
            turn(x, 1, v[5]), turn(x, 0, v[4]), turn(x, 2, v[3]);
            for (int i = 0; i < 3; i++) x[i] += v[i];
            double r[9];
            fai_pose_matrix(&clip->head[f], r);
            for (int i = 0; i < 3; i++) CHECK_NEAR(clip->head[f].p[i] + (k ? r[3 * i + k - 1] : 0), x[i], 1e-12);
        }
    }
    // quaternions do not flip between frames
    double dot = 0;
    for (int k = 0; k < 4; k++) dot += clip->head[0].q[k] * clip->head[1].q[k];
    assert_true(dot >= 0);
    fa_clip_free(clip);
}

// A position channel takes the offset's place; components without one keep it.
static void test_positions(void **state) {
    (void)state;
    FaClipOptions metres = {.unit = 1};
    FaClip *clip = load(
        "HIERARCHY ROOT a { OFFSET 5 6 7 CHANNELS 1 Yposition JOINT head{OFFSET 1 2 3 CHANNELS 2 Zposition Yrotation "
        "End Site{OFFSET 0 1 0}}} MOTION Frames:1 Frame Time:0.5 10 20 90",
        &metres);
    CHECK_NEAR(clip->head[0].p[0], 6, 1e-12);
    CHECK_NEAR(clip->head[0].p[1], 12, 1e-12);
    CHECK_NEAR(clip->head[0].p[2], 27, 1e-12);
    assert_true(clip->fps == 2);
    fa_clip_free(clip);
}

// --- joint, unit, up ----------------------------------------------------------------------------------------------

static void test_joint(void **state) {
    (void)state;
    static const struct {
        const char *name, *found;
    } cases[] = {{"Head", "Head"},
                 {"head", "head"},
                 {"mixamorig:Head", "mixamorig:Head"},
                 {"Bip01 Head", "Bip01 Head"},
                 {"HeadBone", "HeadBone"},
                 {"head_joint", "head_joint"},
                 {"Kopf", "Neck"},
                 {"HeadNub", "Neck"},
                 {"Head_End", "Neck"},
                 {"forehead", "Neck"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FaClip *clip = load(person(170, cases[i].name, STILL), NULL);
        assert_string_equal(note(clip, "head-joint")->where, cases[i].found);
        fa_clip_free(clip);
    }
    // by name, in any case
    FaClipOptions options = {.joint = "spine"};
    FaClip *clip = load(person(170, "Head", STILL), &options);
    CHECK_NEAR(clip->head[0].p[1], 0.45 + 0.17, 1e-12);
    fa_clip_free(clip);
    FaError err;
    options.joint = "Tail";
    assert_int_equal(parse(person(170, "Head", STILL), &options, &clip, &err), FA_E_ARG);
    assert_non_null(strstr(err.remedy, "Hips, Spine, Neck, Head, Foot"));
    assert_int_equal(parse("HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 1 Xrotation } MOTION Frames: 1 Frame Time: 1 0",
                           NULL, &clip, &err),
                     FA_E_FORMAT);
    assert_string_equal(err.remedy, "choose the joint: a");
}

static void test_units(void **state) {
    (void)state;
    static const struct {
        double height, unit;
        const char *name;
    } cases[] = {{1.75, 1, "metres"},
                 {160, 0.01, "centimetres"},
                 {1850, 0.001, "millimetres"},
                 {70, 0.0254, "inches"},
                 {5.8, 0.3048, "feet"},
                 {26, 0.0254 / 0.45, "CMU"},
                 {11, 1.6 / 11, "none of the usual units"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FaClip *clip = load(person(cases[i].height, "Head", STILL), NULL);
        CHECK_NEAR(clip->head[0].p[1], (45 + 0.43 * cases[i].height) * cases[i].unit, 1e-9 * 45);
        assert_non_null(strstr(note(clip, "bvh-unit")->text, cases[i].name));
        fa_clip_free(clip);
    }
}

static void test_z_up(void **state) {
    (void)state;
    const char *text =
        "HIERARCHY ROOT Hips { OFFSET 0 0 0 CHANNELS 6 Xposition Yposition Zposition Xrotation Yrotation Zrotation "
        "JOINT Head { OFFSET 0 0 0.7 CHANNELS 0 End Site { OFFSET 0 0 0.2 } } End Site { OFFSET 0 0 -0.9 } } "
        "MOTION Frames: 2 Frame Time: 0.1  1 2 3 0 0 0  0 0 0 0 0 90";
    FaClip *clip = load(text, NULL);
    assert_non_null(note(clip, "z-up"));
    CHECK_NEAR(clip->head[0].p[0], 1, 1e-12);
    CHECK_NEAR(clip->head[0].p[1], 3.7, 1e-12);
    CHECK_NEAR(clip->head[0].p[2], -2, 1e-12);
    CHECK_NEAR(clip->head[0].q[3], 1, 1e-12);
    // a quarter turn about the file's up is one about y
    CHECK_NEAR(clip->head[1].q[1], sqrt(0.5), 1e-12);
    CHECK_NEAR(clip->head[1].q[3], sqrt(0.5), 1e-12);
    fa_clip_free(clip);
}

// --- real takes ---------------------------------------------------------------------------------------------------

static void test_cmu(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int frames;
        double low, high, speed, turn;
    } takes[] = {// lowest and highest head, m; fastest head after frame 1: m/s and degrees/s, with room
                 {"02_03", 174, 1.29, 1.46, 3.5, 400},  {"09_01", 149, 1.37, 1.49, 4.5, 300},
                 {"13_11", 416, 1.22, 1.75, 3.5, 300},  {"13_39", 352, 1.13, 1.90, 3.5, 300},
                 {"16_01", 323, 1.21, 1.70, 2.7, 300},  {"42_01", 1135, 1.35, 1.44, 1.5, 800},
                 {"49_02", 2086, 0.69, 1.72, 4.5, 400}, {"79_96", 560, 1.42, 1.45, 0.6, 300}};
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
        char rel[64];
        snprintf(rel, sizeof rel, "clips/cmu_bvh/%s.bvh", takes[i].name);
        TEST_DATA_OR_SKIP(path, rel);
        FaError err = {0};
        FaClip *clip;
        CHECK_OK(fa_clip_load(path, NULL, &clip, &err), &err);
        assert_int_equal(clip->nframe, takes[i].frames);
        assert_true(clip->fps == 120);
        assert_true(clip->time[clip->nframe - 1] == (clip->nframe - 1) * .0083333);
        assert_non_null(strstr(note(clip, "bvh-unit")->text, "0.056444 m per unit"));
        assert_non_null(note(clip, "first-frame-rest")); // the T-pose put before every take
        double speed = 0, rate = 0;
        for (int f = 0; f < clip->nframe; f++) {
            const FaPose *a = &clip->head[f], *b = &clip->head[FA_MAX(f, 2) - 1];
            assert_in_range((int)(1000 * a->p[1]), (int)(1000 * takes[i].low), (int)(1000 * takes[i].high));
            if (f < 2) continue;
            double d = 0, dot = 0;
            for (int k = 0; k < 3; k++) d += (a->p[k] - b->p[k]) * (a->p[k] - b->p[k]);
            for (int k = 0; k < 4; k++) dot += a->q[k] * b->q[k];
            speed = fmax(speed, sqrt(d) * 120);
            rate = fmax(rate, 2 * acos(fmin(1, dot)) * 180 / M_PI * 120);
        }
        assert_true(speed > 0.3 * takes[i].speed && speed < takes[i].speed);
        assert_true(rate > 0.3 * takes[i].turn && rate < takes[i].turn);
        fa_clip_free(clip);
    }
}

// Position (file units) and world rotation of the head in two frames, from a forward kinematics written in Python.
static void test_cmu_poses(void **state) {
    (void)state;
    static const struct {
        int frame;
        double p[3], r[9];
    } truth[] = {
        {0,
         {9.358440000000002, 24.17971318820926, -34.72828295497652},
         {1, 0, 0, 0, 0.9612616959383189, -0.2756373558169992, 0, 0.2756373558169992, 0.9612616959383189}},
        {100,
         {8.659709291192767, 24.966150616100407, 2.39524609687528},
         {0.998157627898552, 0.060656827544111204, -0.0014488409919561143, -0.05885825311996532, 0.9738066181096089,
          0.2196278137340346, 0.014732817368110912, -0.2191379013274738, 0.975582658873244}}};
    TEST_DATA_OR_SKIP(path, "clips/cmu_bvh/02_03.bvh");
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_load(path, NULL, &clip, &err), &err);
    for (int i = 0; i < 2; i++) {
        const FaPose *pose = &clip->head[truth[i].frame];
        double r[9];
        fai_pose_matrix(pose, r);
        for (int k = 0; k < 3; k++) CHECK_NEAR(pose->p[k], truth[i].p[k] * (0.0254 / 0.45), 1e-12);
        for (int k = 0; k < 9; k++) CHECK_NEAR(r[k], truth[i].r[k], 1e-12);
    }
    fa_clip_free(clip);
}

// --- bad input ----------------------------------------------------------------------------------------------------

static void test_refused(void **state) {
    (void)state;
#define SKELETON "HIERARCHY\nROOT head\n{\nOFFSET 0 1 0\nCHANNELS 3 Xrotation Yrotation Zrotation\n}\n"
    check_refused("", FA_E_FORMAT, "line 1, column 1", "the file ends where HIERARCHY must stand");
    check_refused("HIERARCHY\n", FA_E_FORMAT, "line 2, column 1", "ROOT or MOTION");
    check_refused("HIERARCHY\nMOTION\n", FA_E_FORMAT, "line 2, column 1", "a skeleton");
    check_refused("HIERARCHY\nJOINT x\n{\n", FA_E_FORMAT, "line 2, column 1", "ROOT or MOTION");
    check_refused("HIERARCHY\nROOT\n{\n", FA_E_FORMAT, "line 3, column 1", "a joint's name");
    check_refused("HIERARCHY\nROOT a\n", FA_E_FORMAT, "line 3, column 1", "{ must stand");
    check_refused("HIERARCHY\nROOT a\n{\n OFFSET 0 x 0\n", FA_E_FORMAT, "line 4, column 11",
                  "'x' stands where a number");
    check_refused("HIERARCHY\nROOT a\n{\n OFFSET 0 nan 0\n", FA_E_FORMAT, "line 4, column 11", "a finite number");
    check_refused("HIERARCHY\nROOT a\n{\n CHANNELS 7\n", FA_E_FORMAT, "line 4, column 11", "from 0 to 6");
    check_refused("HIERARCHY\nROOT a\n{\n CHANNELS -1\n", FA_E_FORMAT, "line 4, column 11", "from 0 to 6");
    check_refused("HIERARCHY\nROOT a\n{\n CHANNELS 1 Wrotation\n", FA_E_FORMAT, "line 4, column 13",
                  "a channel such as");
    check_refused("HIERARCHY\nROOT a\n{\n End Site\n {\n  JOINT b\n", FA_E_FORMAT, "line 6, column 3", "OFFSET or }");
    check_refused("HIERARCHY\nROOT a\n{\n}\n}\n", FA_E_FORMAT, "line 5, column 1", "ROOT or MOTION");
    check_refused(SKELETON "MOTION\nFrames: 0\nFrame Time: 0.1\n", FA_E_FORMAT, "line 9", "no frames");
    check_refused(SKELETON "MOTION\nFrames: -3\nFrame Time: 0.1\n", FA_E_FORMAT, "line 8, column 9",
                  "a number of frames");
    check_refused(SKELETON "MOTION\nFrames: 99999999999999999999\n", FA_E_FORMAT, "line 8, column 9",
                  "a number of frames");
    static const char *const bad_time[] = {"0", "-0.1", "nan", "inf", "1e-320"};
    for (int i = 0; i < 5; i++) {
        char text[400];
        snprintf(text, sizeof text, SKELETON "MOTION\nFrames: 1\nFrame Time: %s\n0 0 0\n", bad_time[i]);
        check_refused(text, FA_E_FORMAT, "line 9, column 13", "no frame time");
        // a rate from outside mends it
        FaClipOptions options = {.fps = 50};
        FaClip *clip = load(text, &options);
        assert_true(clip->fps == 50);
        fa_clip_free(clip);
    }
    check_refused(SKELETON "MOTION\nFrames: 1\nFrame Time: 0.1\n0 0 x\n", FA_E_FORMAT, "line 10, column 5",
                  "'x' stands where a number");
    check_refused(SKELETON "MOTION\nFrames: 1\nFrame Time: 0.1\n0 NaN 0\n", FA_E_FORMAT, "line 10, column 3",
                  "a finite number");
    check_refused("HIERARCHY ROOT head { OFFSET 0 0 0 } MOTION Frames: 1 Frame Time: 1", FA_E_FORMAT, "",
                  "no channels");
    // nesting
    static char deep[40000];
    size_t at = (size_t)sprintf(deep, "HIERARCHY ROOT r {");
    for (int i = 0; i < 2000; i++) at += (size_t)sprintf(deep + at, " JOINT j {");
    FaError err;
    FaClip *clip;
    assert_int_equal(parse(deep, NULL, &clip, &err), FA_E_LIMIT);
    assert_non_null(strstr(err.what, "256 deep"));
}

static void test_wrong_counts(void **state) {
    (void)state;
    FaClip *clip = load(SKELETON "MOTION\nFrames: 5\nFrame Time: 0.1\n0 0 0\n1 1 1\n2 2", NULL);
    assert_int_equal(clip->nframe, 2);
    assert_int_equal(note(clip, "frames-missing")->count, 3);
    fa_clip_free(clip);
    clip = load(SKELETON "MOTION\nFrames: 2\nFrame Time: 0.1\n0 0 0\n1 1 1\n2 2 2\n", NULL);
    assert_int_equal(clip->nframe, 2);
    assert_int_equal(note(clip, "frames-extra")->count, 1);
    fa_clip_free(clip);
    // announced frames that are not there ask for no memory
    clip = load(SKELETON "MOTION\nFrames: 2000000000\nFrame Time: 0.1\n0 0 0\n", NULL);
    assert_int_equal(clip->nframe, 1);
    fa_clip_free(clip);
}

static void test_truncated(void **state) {
    (void)state;
    const char *text =
        person(26, "Head",
               "MOTION\nFrames: 2\nFrame Time: .0083333\n0 1 2 3 4 5 6 7 8 9 10 11 12\n0 1 2 3 4 5 6 7 8 9 10 11 12\n");
    size_t size = strlen(text);
    int good = 0;
    for (size_t n = 0; n <= size; n++) {
        char *copy = calloc(n ? n : 1, 1);
        memcpy(copy, text, n);
        for (size_t i = n > 40 ? n - 40 : 0; i <= n; i++) {
            FaError err = {0};
            FaClip *clip;
            if (i < n) copy[i] ^= 1 << (i % 8);
            FaCode rc = fai_bvh_parse(copy, n, NULL, &clip, &err);
            if (rc >= 0)
                CHECK_OK(fa_clip_check(clip, &err), &err);
            else
                assert_true(err.what[0]);
            good += rc >= 0 && i == n;
            fa_clip_free(clip);
            if (i < n) copy[i] ^= 1 << (i % 8);
        }
        free(copy);
    }
    assert_in_range(good, 20, 40); // only where at least one row of motion is whole
}

static FaCode read_text(const char *text, FaClip **clip, FaError *err) {
    return fai_bvh_parse(text, strlen(text), NULL, clip, err);
}

static void test_no_memory(void **state) {
    (void)state;
    const char *text = person(26, "Head", STILL);
    starve_clip_reader(read_text, text, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest),         cmocka_unit_test(test_chain),     cmocka_unit_test(test_positions),
        cmocka_unit_test(test_joint),        cmocka_unit_test(test_units),     cmocka_unit_test(test_z_up),
        cmocka_unit_test(test_cmu),          cmocka_unit_test(test_cmu_poses), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wrong_counts), cmocka_unit_test(test_truncated), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
