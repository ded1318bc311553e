// Marker takes: CSV, TRC, C3D of all three processors, units, missing samples, bad input.
#include "test.h"

#include "base/file.h"
#include "base/text.h"
#include "io/markers.h"

static FaCode parse(const void *text, size_t size, const FaMarkerOptions *options, FaMarkerTake **take, FaError *err) {
    *err = (FaError){0};
    FaCode rc = fai_markers_parse(text, size, NULL, options, take, err);
    FaError bad = {0};
    if (rc >= 0)
        CHECK_OK(fa_markers_check(*take, &bad), &bad);
    else
        assert_null(*take);
    return rc;
}

static FaMarkerTake *load(const char *text, const FaMarkerOptions *options) {
    FaError err;
    FaMarkerTake *take;
    CHECK_OK(parse(text, strlen(text), options, &take, &err), &err);
    return take;
}

static void check_refused_with(const char *text, const FaMarkerOptions *options, FaCode code, const char *place,
                               const char *what) {
    FaError err;
    FaMarkerTake *take;
    FaCode rc = parse(text, strlen(text), options, &take, &err);
    if (rc != code) print_error("'%s' gave %d, not %d: %s\n", text, rc, code, err.what);
    assert_int_equal(rc, code);
    assert_string_equal(err.place, place);
    if (!strstr(err.what, what)) fail_msg("'%s' does not say '%s'", err.what, what);
    assert_true(err.remedy[0]);
}

static void check_refused(const char *text, FaCode code, const char *place, const char *what) {
    check_refused_with(text, NULL, code, place, what);
}

static const FaNote *note(const FaMarkerTake *take, const char *code) { return fai_note_find(&take->notes, code); }

static const float *at(const FaMarkerTake *t, int f, int m) {
    return t->x + 3 * ((size_t)f * (size_t)t->nmarker + (size_t)m);
}
static int ok(const FaMarkerTake *t, int f, int m) { return t->ok[f * t->nmarker + m]; }

// --- CSV ----------------------------------------------------------------------------------------------------------

#define HEADER "time,brow.x,brow.y,brow.z,chin.x,chin.y,chin.z\n"

static void test_csv(void **state) {
    (void)state;
    FaMarkerTake *t =
        load(HEADER "5,0.01,0.06,0.1,0,-0.05,0.09\n5.05,0.011,0.061,0.1,,,\n5.1,0.012,0.062,0.1,nan,NaN,NAN\n", NULL);
    assert_int_equal(t->nframe, 3);
    assert_int_equal(t->nmarker, 2);
    assert_string_equal(t->name[0], "brow");
    assert_int_equal(fa_markers_find(t, "chin"), 1);
    assert_int_equal(fa_markers_find(t, "nose"), -1);
    CHECK_NEAR(t->fps, 20, 1e-9);
    assert_true(t->time[0] == 0 && t->start == 5);
    CHECK_NEAR(t->time[2], 0.1, 1e-12);
    assert_true(at(t, 1, 0)[1] == 0.061f);
    assert_true(ok(t, 0, 1) && !ok(t, 1, 1) && !ok(t, 2, 1) && isnan(at(t, 1, 1)[0]));
    assert_int_equal(note(t, "missing-samples")->count, 2);
    assert_non_null(strstr(note(t, "missing-samples")->text, "chin (2); the longest gap is 2 frames"));
    assert_string_equal(note(t, "missing-samples")->where, "frames 1-2, marker 'chin'");
    assert_int_equal(note(t, "nan-cells")->count, 3);
    assert_string_equal(t->unit_how, "by size");
    assert_null(note(t, "marker-unit"));
    fa_markers_free(t);

    // any order, other columns, semicolons and decimal commas, a head, one row
    t = load("frame;a.z;a.x;time;a.y;b.X;b.Y;b.Z;extra;head.qx;head.qy;head.qz;head.qw\n"
             "1;0,3;0,1;0;0,2;0,1;0,3;0,3;9;0;0;0;2\n",
             NULL);
    assert_true(at(t, 0, 0)[0] == 0.1f && at(t, 0, 0)[1] == 0.2f && at(t, 0, 0)[2] == 0.3f && at(t, 0, 1)[1] == 0.3f);
    assert_non_null(note(t, "decimal-comma"));
    assert_int_equal(note(t, "unknown-columns")->count, 1);
    assert_non_null(note(t, "quaternion-length"));
    assert_true(t->head && t->head[0].q[3] == 1);
    fa_markers_free(t);

    // frames and a rate in the place of times
    FaMarkerOptions o = {.fps = 50};
    t = load("frame,a.x,a.y,a.z,b.x,b.y,b.z\n10,0,0,0,0.1,0,0\n11,0,0,0,0.1,0,0\n13,0,0,0,0.1,0,0\n", &o);
    CHECK_NEAR(t->time[2], 0.06, 1e-12);
    CHECK_NEAR(t->fps, 50, 1e-9);
    fa_markers_free(t);
    // a rate from outside plays faster
    o.fps = 40;
    t = load(HEADER "0,0,0.1,0,0,0,0\n0.05,0,0.1,0,0,0,0\n0.1,0,0.1,0,0,0,0\n", &o);
    CHECK_NEAR(t->time[2], 0.05, 1e-12);
    assert_true(t->fps == 40);
    fa_markers_free(t);
}

static void test_csv_refused(void **state) {
    (void)state;
    check_refused("", FA_E_FORMAT, "", "empty");
    check_refused(HEADER, FA_E_FORMAT, "line 2", "no frames");
    check_refused("time,smile\n0,1\n", FA_E_FORMAT, "line 1", "no markers");
    check_refused("time,a.x,a.y\n0,1,1\n", FA_E_FORMAT, "line 1", "'a' has no column .z");
    check_refused("time,a.x,a.y,a.z,a.x\n0,1,1,1,1\n", FA_E_FORMAT, "line 1, column 18", "two columns are called a.x");
    check_refused("a.x,a.y,a.z\n1,1,1\n", FA_E_FORMAT, "line 1", "no column of times");
    check_refused("frame,a.x,a.y,a.z\n1,1,1,1\n", FA_E_FORMAT, "line 1", "no column of times");
    check_refused(HEADER "0,0,0.1,inf,0,0,0\n", FA_E_FORMAT, "line 2, column 9 (brow)", "no finite number");
    check_refused(HEADER "0,0,0.1,zero,0,0,0\n", FA_E_FORMAT, "line 2, column 9 (brow)", "no number");
    check_refused(HEADER "0,0,0.1,1e39,0,0,0\n", FA_E_FORMAT, "line 2, column 9 (brow)", "too large");
    check_refused(HEADER "nan,0,0.1,0,0,0,0\n", FA_E_FORMAT, "line 2, column 1 (time)", "no time");
    check_refused(HEADER "0,0,0.1,0,0,0,0\n0,0,0.1,0,0,0,0\n", FA_E_FORMAT, "line 3, column 1 (time)",
                  "not after the row before");
    check_refused(HEADER "1,0,0.1,0,0,0,0\n0.5,0,0.1,0,0,0,0\n", FA_E_FORMAT, "line 3, column 1 (time)", "not after");
    check_refused(HEADER "0,0,0.1,0,0,0\n", FA_E_FORMAT, "line 2", "6 cells, the header has 7");
    check_refused(HEADER "0,,,,,,\n1,,,,,,\n", FA_E_FORMAT, "", "no marker is seen in any of the 2 frames");
    check_refused("time,a.x,a.y,a.z,head.qx\n0,1,1,1,1\n", FA_E_FORMAT, "line 1", "head's columns");
    check_refused("time,a.x,a.y,a.z,head.qx,head.qy,head.qz,head.qw\n0,0,0,0,0,0,0,0\n", FA_E_FORMAT, "line 2",
                  "no direction");
    FaMarkerOptions o = {.fps = -1};
    check_refused_with(HEADER "0,0,0.1,0,0,0,0\n", &o, FA_E_ARG, "", "frame rate");
    o.fps = NAN;
    check_refused_with(HEADER "0,0,0.1,0,0,0,0\n", &o, FA_E_ARG, "", "frame rate");
    // the last row cut: left out
    FaMarkerTake *t = load(HEADER "0,0,0.1,0,0,0,0\n1,0,0.1,0,0", NULL);
    assert_int_equal(t->nframe, 1);
    assert_non_null(note(t, "last-row-cut"));
    fa_markers_free(t);
}

// --- units --------------------------------------------------------------------------------------------------------

static FaMarkerTake *two(double height, const FaMarkerOptions *o) {
    char text[200];
    snprintf(text, sizeof text, HEADER "0,0,0,0,0,%.17g,0\n", height);
    return load(text, o);
}

static void test_units(void **state) {
    (void)state;
    static const struct {
        double size, unit;
        const char *how;
        bool noted;
    } cases[] = {{0.15, 1, "by size", false},           {15, 0.01, "by size", true},
                 {150, 0.001, "by size", true},         {0.08, 1, "by size", false},
                 {250, 0.001, "by size", true},         {0.03, 1, "metres by convention", true},
                 {0.4, 1, "metres by convention", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FaMarkerTake *t = two(cases[i].size, NULL);
        CHECK_NEAR(t->unit, cases[i].unit, 0);
        assert_string_equal(t->unit_how, cases[i].how);
        assert_int_equal(note(t, "marker-unit") != NULL, cases[i].noted);
        CHECK_NEAR(at(t, 0, 1)[1], cases[i].size * cases[i].unit, 1e-7);
        fa_markers_free(t);
    }
    char text[200];
    static const double bad[] = {0.9, 3, 50, 1700, 1e6};
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, HEADER "0,0,0,0,0,%.17g,0\n", bad[i]);
        check_refused(text, FA_E_FORMAT, "", "a face (0.08 to 0.25 m) neither in m, cm nor mm");
        // the option says what it is
        FaMarkerTake *t = load(text, &(FaMarkerOptions){.unit = FA_UNIT_MM});
        CHECK_NEAR(at(t, 0, 1)[1], bad[i] / 1000, 1e-6 * bad[i]);
        assert_string_equal(t->unit_how, "given");
        fa_markers_free(t);
        t = load(text, &(FaMarkerOptions){.any_size = true});
        assert_true(t->unit == 1);
        fa_markers_free(t);
    }
    // no face, but one in another unit (--unit was meant for the rig): that one, and both are named
    FaMarkerTake *t = two(15, &(FaMarkerOptions){.unit = FA_UNIT_M});
    assert_non_null(note(t, "marker-unit"));
    CHECK_NEAR(at(t, 0, 1)[1], 0.15, 1e-7);
    fa_markers_free(t);
    t = two(3.5, &(FaMarkerOptions){.unit = FA_UNIT_M});
    assert_non_null(note(t, "unit-suspect"));
    CHECK_NEAR(at(t, 0, 1)[1], 3.5, 1e-6);
    fa_markers_free(t);
    assert_true(fai_unit_named("mm ", 3) == 0.001 && fai_unit_named("Meters", 6) == 1 &&
                fai_unit_named("in", 2) == 0.0254);
    assert_true(fai_unit_named("furlong", 7) == 0 && fai_unit_named("", 0) == 0);
}

// --- round trips --------------------------------------------------------------------------------------------------

// A take with gaps and numbers of all kinds.
static FaMarkerTake *wild(int nframe, int nmarker) {
    FaError err = {0};
    FaMarkerTake *t;
    char text[64][16];
    const char *name[64];
    for (int m = 0; m < nmarker; m++) {
        snprintf(text[m], sizeof text[m], m == 0 ? "a b,\"c\"" : m == 1 ? "v17" : "m%d", m);
        name[m] = text[m];
    }
    CHECK_OK(fa_markers_new(nframe, nmarker, name, 120, &t, &err), &err);
    for (int f = 0; f < nframe; f++)
        for (int m = 0; m < nmarker; m++) {
            size_t i = (size_t)f * (size_t)nmarker + (size_t)m;
            if ((f * 7 + m * 3) % 11 == 0) continue;
            t->ok[i] = 1;
            for (size_t k = 0; k < 3; k++)
                t->x[3 * i + k] =
                    (float)(0.1 * (fai_random_unit(5, 3 * i + k) - 0.5) + (k == 1 ? 0.15 * m / nmarker : 0));
        }
    return t;
}

static void check_same(const FaMarkerTake *a, const FaMarkerTake *b, double tol) {
    assert_int_equal(a->nframe, b->nframe);
    assert_int_equal(a->nmarker, b->nmarker);
    CHECK_NEAR(a->fps, b->fps, 1e-6 * a->fps);
    int seen = 0, missing = 0;
    for (int m = 0; m < a->nmarker; m++) assert_string_equal(a->name[m], b->name[m]);
    for (int f = 0; f < a->nframe; f++) {
        CHECK_NEAR(a->time[f], b->time[f], 1e-9);
        for (int m = 0; m < a->nmarker; m++) {
            assert_int_equal(ok(a, f, m), ok(b, f, m));
            seen += ok(a, f, m);
            missing += !ok(a, f, m);
            for (int k = 0; ok(a, f, m) && k < 3; k++) CHECK_NEAR(at(a, f, m)[k], at(b, f, m)[k], tol);
        }
    }
    assert_true(seen > 0 && missing > 0);
}

static void test_round_trip(void **state) {
    (void)state;
    static const struct {
        const char *file;
        double tol;
    } out[] = {{"t.csv", 0}, {"t.trc", 0}, {"t.c3d", 1.5e-8}};
    for (int i = 0; i < 3; i++) {
        FaError err = {0};
        FaMarkerTake *a = wild(9, 30), *b;
        a->mesh = 0x0123456789abcdefu * (unsigned)(i + 1); // of which rig
        if (i == 0) {
            a->head = FA_NEW(9, FaPose);
            for (int f = 0; f < 9; f++) a->head[f] = (FaPose){{0, 0.6, 0, 0.8}, {0.1 * f, 1.7, 1e-3}};
        }
        CHECK_OK(fa_markers_save(a, test_path(out[i].file), &err), &err);
        CHECK_OK(fa_markers_load(test_path(out[i].file), NULL, &b, &err), &err);
        check_same(a, b, out[i].tol);
        assert_string_equal(b->path, test_path(out[i].file));
        assert_string_equal(b->unit_how, i ? "declared by the file" : "by size");
        assert_true(a->mesh == b->mesh && !fai_note_find(&b->notes, "unknown-columns"));
        if (i == 0) assert_memory_equal(a->head, b->head, 9 * sizeof *a->head);
        fa_markers_free(a);
        fa_markers_free(b);
    }
    FaError err = {0};
    FaMarkerTake *a = wild(3, 3);
    assert_int_equal(fa_markers_save(a, test_path("t.xyz"), &err), FA_E_ARG);
    assert_non_null(strstr(err.what, "not .xyz"));
    a->time[2] = 0.5; // C3D has no times
    err = (FaError){0};
    assert_int_equal(fa_markers_save(a, test_path("u.c3d"), &err), FA_E_UNSUPPORTED);
    assert_string_equal(err.place, "frame 2");
    a->x[3] = 7; // what check refuses is not written
    a->ok[1] = 0;
    err = (FaError){0};
    assert_true(fa_markers_save(a, test_path("u.csv"), &err) < 0);
    assert_false(fai_file_exists(test_path("u.csv")));
    fa_markers_free(a);
    err = (FaError){0};
    assert_int_equal(fa_markers_load(test_path("absent.c3d"), NULL, &a, &err), FA_E_FILE);
    assert_null(a);
}

// --- TRC ----------------------------------------------------------------------------------------------------------

#define TRC_KEYS "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
#define TRC_HEAD(rate, frames, markers, unit)                                                                          \
    "PathFileType\t4\t(X/Y/Z)\tx.trc\n" TRC_KEYS rate "\t" rate "\t" frames "\t" markers "\t" unit "\t" rate           \
    "\t1\t" frames "\n"
#define TRC_NAMES "Frame#\tTime\tbrow\t\t\tchin\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n"

static void test_trc(void **state) {
    (void)state;
    FaMarkerTake *t = load(TRC_HEAD("50", "3", "2", "mm") TRC_NAMES
                           "1\t0\t10\t60\t100\t0\t-50\t90\n2\t0.02\t11\t61\t100\n3\t0.04\t0\t0\t0\t1\t-51\t90\t\t\n",
                           NULL);
    assert_int_equal(t->nframe, 3);
    assert_true(t->fps == 50);
    assert_true(at(t, 0, 0)[1] == 0.06f);
    assert_true(!ok(t, 1, 1) && !ok(t, 2, 0)); // a short row, and 0 0 0
    assert_int_equal(note(t, "zero-samples")->count, 1);
    assert_int_equal(note(t, "missing-samples")->count, 2);
    assert_null(note(t, "frames-missing"));
    fa_markers_free(t);

    // Windows line ends, names side by side, no blank line, counts that are wrong, metres, duplicate names
    t = load("PathFileType\t4\r\n" TRC_KEYS
             "100\t100\t9\t5\tm\t100\t1\t9\r\nFrame#\tTime\ta\ta\r\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\r\n"
             "1\t1,00\t0,1\t0\t0\t0\t0,1\t0\r\n2\t1.01\t0.1\t0\t0\t0\t0.1\t0\r\n",
             NULL);
    assert_string_equal(t->name[1], "a#2");
    assert_non_null(note(t, "duplicate-names"));
    assert_non_null(note(t, "frames-missing"));
    assert_non_null(note(t, "marker-count"));
    assert_non_null(note(t, "decimal-comma"));
    assert_true(t->start == 1 && t->fps == 100 && at(t, 0, 1)[1] == 0.1f);
    fa_markers_free(t);

    // the times win over the rate; a marker without a name; an unknown unit is found by size
    t = load(TRC_HEAD("60", "2", "2",
                      "ell") "Frame#\tTime\t\t\t\tchin\n\n1\t0\t1\t2\t3\t1\t17\t3\n2\t0.1\t1\t2\t3\t1\t17\t3\n",
             NULL);
    assert_non_null(note(t, "fps-mismatch"));
    assert_non_null(note(t, "unit-unknown"));
    assert_true(t->fps == 10 && t->unit == 0.01);
    assert_string_equal(t->name[0], "marker_1");
    fa_markers_free(t);
}

static void test_trc_refused(void **state) {
    (void)state;
    static const char *const rate[] = {"0", "-30", "nan", "inf", "x", ""};
    for (int i = 0; i < 6; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "PathFileType\t4\n" TRC_KEYS "%s\t60\t1\t2\tm\t60\t1\t1\n" TRC_NAMES "1\t0\t0\t0.1\t0\t0\t0.2\t0\n",
                 rate[i]);
        check_refused(text, FA_E_FORMAT, "line 3, cell 1 (DataRate)", "no frame rate");
        FaMarkerTake *t = load(text, &(FaMarkerOptions){.fps = 24});
        assert_true(t->fps == 24);
        fa_markers_free(t);
    }
    check_refused("PathFileType\t4\n", FA_E_FORMAT, "line 1", "DataRate");
    check_refused(TRC_HEAD("60", "1", "2", "m"), FA_E_FORMAT, "line 3", "line of names is missing");
    check_refused(TRC_HEAD("60", "1", "2", "m") TRC_NAMES, FA_E_FORMAT, "line 6", "no frames");
    check_refused(TRC_HEAD("60", "1", "2", "m") TRC_NAMES "1\t0\t1\tx\t1\t1\t1\t1\n", FA_E_FORMAT,
                  "line 7, cell 4 (brow)", "'x' is no finite number");
    check_refused(TRC_HEAD("60", "1", "2", "m") TRC_NAMES "1\t0\t1\t1\tInf\t1\t1\t1\n", FA_E_FORMAT,
                  "line 7, cell 5 (brow)", "no finite");
    check_refused(TRC_HEAD("60", "1", "2", "m") TRC_NAMES "1\t0\t1\t1\t1\t1\t1\t1\t1\n", FA_E_FORMAT, "line 7, cell 9",
                  "more than 2 markers");
    check_refused(TRC_HEAD("60", "1", "2", "m") TRC_NAMES "1\t\t1\t1\t1\n", FA_E_FORMAT, "line 7, cell 2 (Time)",
                  "no time");
    check_refused(TRC_HEAD("60", "1", "2", "m") TRC_NAMES "1\t1\t0\t0.1\t1\t1\t1\t1\n2\t0\t1\t1\t1\n", FA_E_FORMAT,
                  "line 8, cell 2 (Time)", "not after");
    check_refused(TRC_HEAD("60", "1", "2", "m") TRC_NAMES "1\t1\t0\t0\t0\n", FA_E_FORMAT, "", "no marker is seen");
}

// --- C3D ----------------------------------------------------------------------------------------------------------

// A writer of our own for the tests: any processor, integers or floats, parameters as asked for.
typedef struct Maker {
    int processor; // 1 Intel, 2 DEC, 3 MIPS
    FaText text;
} Maker;

static void m_byte(Maker *m, int v) { fai_text_bytes(&m->text, &(char){(char)v}, 1); }

static void m_word(Maker *m, int v) {
    m_byte(m, m->processor == 3 ? v >> 8 : v);
    m_byte(m, m->processor == 3 ? v : v >> 8);
}

static void m_float(Maker *m, float v) {
    uint32_t u;
    if (m->processor == 2) v *= 4; // VAX F: twice 0.5, and an exponent larger by one
    memcpy(&u, &v, 4);
    int b[4] = {(int)(u & 255), (int)(u >> 8 & 255), (int)(u >> 16 & 255), (int)(u >> 24)};
    static const int order[4][4] = {{0}, {0, 1, 2, 3}, {2, 3, 0, 1}, {3, 2, 1, 0}};
    for (int i = 0; i < 4; i++) m_byte(m, b[order[m->processor][i]]);
}

static void m_group(Maker *m, int id, const char *name) {
    m_byte(m, (int)strlen(name));
    m_byte(m, -id);
    fai_text_str(&m->text, name);
    m_word(m, 3 + 4);
    m_byte(m, 4);
    fai_text_str(&m->text, "text");
}

static void m_param(Maker *m, int id, const char *name, int type, int ndim, int d0, int d1, size_t bytes) {
    m_byte(m, -(int)strlen(name)); // locked
    m_byte(m, id);
    fai_text_str(&m->text, name);
    m_word(m, (int)(2 + 2 + (size_t)ndim + bytes + 1));
    m_byte(m, type);
    m_byte(m, ndim);
    if (ndim > 0) m_byte(m, d0);
    if (ndim > 1) m_byte(m, d1);
}

typedef struct C3dOptions {
    int processor;
    bool floats;
    int nframe, npoint, nanalog;
    int stated;        // POINT:FRAMES; 0: nframe
    int trial;         // TRIAL:ACTUAL_END_FIELD; 0: none
    const char *units; // NULL: none
    float rate, scale;
    int labels; // how many labels; pages of 255
} C3dOptions;

// Point p of frame f, mm; every fifth is missing.
static double c3d_value(int f, int p, int k) { return k == 1 ? 2.5 * p : 10.0 * k + 0.5 * f + p; }
static bool c3d_missing(int f, int p) { return (f + p) % 5 == 4; }

static FaText c3d_file(const C3dOptions *o) {
    Maker m = {.processor = o->processor};
    enum { START = 22 }; // data block
    float scale = o->floats ? -fabsf(o->scale) : o->scale;
    m_byte(&m, 2), m_byte(&m, 0x50);
    m_word(&m, o->npoint), m_word(&m, o->nanalog), m_word(&m, 100), m_word(&m, 117); // a raw range that must not count
    m_word(&m, 0), m_float(&m, scale), m_word(&m, START), m_word(&m, 1), m_float(&m, o->rate);
    while (m.text.size < 512) m_byte(&m, 0);
    m_byte(&m, 1), m_byte(&m, 0x50), m_byte(&m, START - 2), m_byte(&m, 83 + o->processor);
    // a parameter may come before its group
    m_param(&m, 1, "USED", 2, 0, 0, 0, 2), m_word(&m, o->npoint), m_byte(&m, 0);
    m_group(&m, 1, "POINT");
    m_param(&m, 1, "SCALE", 4, 0, 0, 0, 4), m_float(&m, scale), m_byte(&m, 0);
    m_param(&m, 1, "RATE", 4, 0, 0, 0, 4), m_float(&m, o->rate), m_byte(&m, 0);
    m_param(&m, 1, "DATA_START", 2, 0, 0, 0, 2), m_word(&m, START), m_byte(&m, 0);
    m_param(&m, 1, "FRAMES", 2, 0, 0, 0, 2), m_word(&m, o->stated ? o->stated : o->nframe), m_byte(&m, 0);
    if (o->units) {
        m_param(&m, 1, "UNITS", -1, 1, 4, 0, 4);
        fai_text_printf(&m.text, "%-4s", o->units), m_byte(&m, 0);
    }
    for (int from = 0, page = 1; from < o->labels; from += 255, page++) {
        char name[16];
        snprintf(name, sizeof name, page > 1 ? "LABELS%d" : "LABELS", page);
        int n = FA_MIN(255, o->labels - from);
        m_param(&m, 1, name, -1, 2, 8, n, 8 * (size_t)n);
        for (int i = from; i < from + n; i++) fai_text_printf(&m.text, "p%-7d", i);
        m_byte(&m, 0);
    }
    m_group(&m, 7, "TRIAL");
    if (o->trial) {
        m_param(&m, 7, "ACTUAL_START_FIELD", 2, 1, 2, 0, 4), m_word(&m, 1), m_word(&m, 0), m_byte(&m, 0);
        m_param(&m, 7, "ACTUAL_END_FIELD", 2, 1, 2, 0, 4), m_word(&m, o->trial & 0xFFFF), m_word(&m, o->trial >> 16),
            m_byte(&m, 0);
    }
    m_byte(&m, 0);
    assert_true(m.text.size <= (START - 1) * 512);
    while (m.text.size < (START - 1) * 512) m_byte(&m, 0);
    for (int f = 0; f < o->nframe; f++) {
        for (int p = 0; p < o->npoint; p++) {
            bool gone = c3d_missing(f, p);
            for (int k = 0; k < 3; k++) {
                double v = gone ? 0 : c3d_value(f, p, k);
                if (o->floats)
                    m_float(&m, (float)v);
                else
                    m_word(&m, (int)lround(v / (double)o->scale));
            }
            if (o->floats)
                m_float(&m, gone ? -1 : 12);
            else
                m_word(&m, gone ? -1 : 0x0312); // cameras 1 and 2, residual
        }
        for (int a = 0; a < o->nanalog; a++)
            if (o->floats)
                m_float(&m, 1e9f);
            else
                m_word(&m, 12345);
    }
    return m.text;
}

static void test_c3d(void **state) {
    (void)state;
    for (int processor = 1; processor <= 3; processor++)
        for (int floats = 0; floats < 2; floats++) {
            C3dOptions o = {.processor = processor,
                            .floats = floats,
                            .nframe = 7,
                            .npoint = 60,
                            .nanalog = 3,
                            .units = "mm",
                            .rate = 119.88f,
                            .scale = 0.05f,
                            .labels = 60};
            FaText file = c3d_file(&o);
            FaError err;
            FaMarkerTake *t;
            CHECK_OK(parse(file.data, file.size, NULL, &t, &err), &err);
            assert_int_equal(t->nframe, 7);
            assert_int_equal(t->nmarker, 60);
            assert_string_equal(t->name[59], "p59");
            CHECK_NEAR(t->fps, 119.88, 1e-5);
            assert_string_equal(t->unit_how, "declared by the file");
            int missing = 0;
            for (int f = 0; f < 7; f++)
                for (int p = 0; p < 60; p++) {
                    assert_int_equal(ok(t, f, p), !c3d_missing(f, p));
                    missing += !ok(t, f, p);
                    for (int k = 0; ok(t, f, p) && k < 3; k++)
                        CHECK_NEAR(at(t, f, p)[k], c3d_value(f, p, k) / 1000, floats ? 2e-8 : 2.6e-5);
                }
            assert_int_equal(note(t, "missing-samples")->count, missing);
            fa_markers_free(t);
            fai_text_free(&file);
        }
}

static void test_c3d_counts(void **state) {
    (void)state;
    FaError err;
    FaMarkerTake *t;
    // more frames than 16 bits count; more labels than a page holds
    C3dOptions o = {.processor = 1,
                    .nframe = 66000,
                    .npoint = 2,
                    .stated = 66000 & 0xFFFF,
                    .trial = 66000,
                    .units = "cm",
                    .rate = 240,
                    .scale = 0.01f,
                    .labels = 2};
    FaText file = c3d_file(&o);
    CHECK_OK(parse(file.data, file.size, NULL, &t, &err), &err);
    assert_int_equal(t->nframe, 66000);
    CHECK_NEAR(t->time[65999], 65999 / 240.0, 1e-9);
    fa_markers_free(t);
    fai_text_free(&file);
    o = (C3dOptions){.processor = 3,
                     .floats = true,
                     .nframe = 2,
                     .npoint = 300,
                     .units = "mm",
                     .rate = 60,
                     .scale = 1,
                     .labels = 298};
    file = c3d_file(&o);
    CHECK_OK(parse(file.data, file.size, NULL, &t, &err), &err);
    assert_string_equal(t->name[297], "p297");
    assert_string_equal(t->name[299], "marker_300");
    assert_int_equal(note(t, "unnamed-markers")->count, 2);
    fa_markers_free(t);
    fai_text_free(&file);
    // announced frames that are not there
    o = (C3dOptions){.processor = 2,
                     .nframe = 4,
                     .npoint = 40,
                     .stated = 60000,
                     .units = NULL,
                     .rate = 60,
                     .scale = 0.1f,
                     .labels = 40};
    file = c3d_file(&o);
    CHECK_OK(parse(file.data, file.size, NULL, &t, &err), &err);
    assert_int_equal(t->nframe, 4);
    assert_non_null(strstr(note(t, "frames-missing")->text, "60000 frames are announced, 4 are there"));
    assert_true(t->unit == 0.001); // by size
    fa_markers_free(t);
    fai_text_free(&file);
    // our own writer, beyond 65535 frames and 255 labels
    FaMarkerTake *a;
    err = (FaError){0};
    char text[270][8];
    const char *name[270];
    for (int i = 0; i < 270; i++) snprintf(text[i], sizeof text[i], "n%d", i), name[i] = text[i];
    CHECK_OK(fa_markers_new(3, 270, name, 30, &a, &err), &err);
    for (int i = 0; i < 3 * 270; i++)
        if (i % 4) {
            a->ok[i] = 1;
            for (int k = 0; k < 3; k++) a->x[3 * i + k] = (float)(0.0005 * (i % 270) + 0.01 * k);
        }
    FaText out = {0};
    CHECK_OK(fai_markers_c3d_write(a, &out, &err), &err);
    assert_int_equal(out.size % 512, 0);
    CHECK_OK(parse(out.data, out.size, NULL, &t, &err), &err);
    check_same(a, t, 1.5e-8);
    fai_text_free(&out);
    fa_markers_free(a);
    fa_markers_free(t);
}

static void test_c3d_refused(void **state) {
    (void)state;
    static const struct {
        C3dOptions o;
        int spoil, value;
        FaCode code;
        const char *place, *what;
    } cases[] = {
        {{.processor = 1, .nframe = 1, .npoint = 0, .units = "mm", .rate = 60, .scale = 1},
         -1,
         0,
         FA_E_FORMAT,
         "POINT:USED",
         "no points"},
        {{.processor = 1, .nframe = 1, .npoint = 3, .units = "mm", .rate = 60, .scale = 0},
         -1,
         0,
         FA_E_FORMAT,
         "POINT:SCALE",
         "no scale"},
        {{.processor = 1, .nframe = 1, .npoint = 3, .units = "mm", .rate = 0, .scale = 1},
         -1,
         0,
         FA_E_FORMAT,
         "POINT:RATE",
         "no rate"},
        {{.processor = 1, .nframe = 1, .npoint = 3, .units = "mm", .rate = -60, .scale = 1},
         -1,
         0,
         FA_E_FORMAT,
         "POINT:RATE",
         "no rate"},
        {{.processor = 1, .nframe = 1, .npoint = 3, .units = "mm", .rate = NAN, .scale = 1},
         -1,
         0,
         FA_E_FORMAT,
         "POINT:RATE",
         "no rate"},
        {{.processor = 1, .nframe = 0, .npoint = 3, .units = "mm", .rate = 60, .scale = 1},
         -1,
         0,
         FA_E_FORMAT,
         "POINT:DATA_START",
         "outside of the file"},
        {{.processor = 1, .nframe = 1, .npoint = 3, .units = "mm", .rate = 60, .scale = 1},
         515,
         90,
         FA_E_UNSUPPORTED,
         "byte 515",
         "processor 7"},
        {{.processor = 1, .nframe = 1, .npoint = 3, .units = "mm", .rate = 60, .scale = 1},
         0,
         200,
         FA_E_FORMAT,
         "byte 0",
         "outside of the file"},
        {{.processor = 1, .nframe = 1, .npoint = 3, .units = "mm", .rate = 60, .scale = 1},
         1,
         0x51,
         FA_E_FORMAT,
         "byte 1",
         "no C3D file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        C3dOptions o = cases[i].o;
        if (o.scale == 0) o.scale = 1e-30f;
        FaText file = c3d_file(&o);
        if (cases[i].o.scale == 0) { // write the zero over it, in header and parameter
            o.scale = 0;
            unsigned char *p = memmem(file.data, file.size, "SCALE", 5);
            memset(p + 5 + 4, 0, 4);
        }
        if (cases[i].spoil >= 0) file.data[cases[i].spoil] = (char)cases[i].value;
        FaError err = {0};
        FaMarkerTake *t;
        FaCode rc = fai_markers_parse(file.data, file.size, "x.c3d", NULL, &t, &err);
        if (rc != cases[i].code) print_error("case %zu: %d %s: %s\n", i, rc, err.place, err.what);
        assert_int_equal(rc, cases[i].code);
        assert_null(t);
        assert_string_equal(err.place, cases[i].place);
        if (!strstr(err.what, cases[i].what)) fail_msg("'%s' does not say '%s'", err.what, cases[i].what);
        assert_true(err.remedy[0]);
        fai_text_free(&file);
    }
    // NaN and infinite coordinates are missing samples; VAX has a bit pattern that is no number
    C3dOptions o = {
        .processor = 1, .floats = true, .nframe = 1, .npoint = 60, .units = "mm", .rate = 60, .scale = 1, .labels = 60};
    FaText file = c3d_file(&o);
    memcpy(file.data + 21 * 512, &(float){NAN}, 4);
    memcpy(file.data + 21 * 512 + 16, &(float){INFINITY}, 4);
    FaError err;
    FaMarkerTake *t;
    CHECK_OK(parse(file.data, file.size, NULL, &t, &err), &err);
    assert_true(!ok(t, 0, 0) && !ok(t, 0, 1) && ok(t, 0, 2));
    assert_int_equal(note(t, "nan-cells")->count, 2);
    fa_markers_free(t);
    fai_text_free(&file);
}

// --- odd takes ----------------------------------------------------------------------------------------------------

static void test_odd(void **state) {
    (void)state;
    FaMarkerTake *t = load("time,a.x,a.y,a.z,b.x,b.y,b.z,c.x,c.y,c.z,d.x,d.y,d.z\n"
                           "0,0,0,0,0,0.1,0,0,0.1,0,,,\n1,,,,,,,,,,,,\n2,0,0,,0,0.11,0,0,0.11,0,,,\n",
                           NULL);
    assert_int_equal(note(t, "same-markers")->count, 1);
    assert_string_equal(note(t, "same-markers")->where, "b");
    assert_int_equal(note(t, "markers-never-seen")->count, 1);
    assert_string_equal(note(t, "markers-never-seen")->where, "d");
    assert_string_equal(note(t, "empty-frames")->where, "frame 1");
    assert_int_equal(note(t, "partial-samples")->count, 1);
    assert_true(!ok(t, 2, 0) && isnan(at(t, 2, 0)[0]));
    fa_markers_free(t);
    // a stray marker does not decide the unit
    FaText text = {0};
    fai_text_str(&text, "time");
    for (int i = 0; i < 40; i++) fai_text_printf(&text, ",p%d.x,p%d.y,p%d.z", i, i, i);
    fai_text_str(&text, "\n0");
    for (int i = 0; i < 40; i++) fai_text_printf(&text, ",%d,%d,%d", i == 7 ? 99999 : i, 3 * i, 0);
    fai_text_str(&text, "\n");
    FaMarkerTake *s = load(text.data, NULL);
    assert_true(s->unit == 0.001);
    fa_markers_free(s);
    fai_text_free(&text);
    FaError err = {0};
    assert_int_equal(fa_markers_new(0, 1, (const char *const[]){"a"}, 30, &t, &err), FA_E_ARG);
    assert_int_equal(fa_markers_new(1, 1, (const char *const[]){"a"}, 0, &t, &err), FA_E_ARG);
    assert_null(t);
}

// Every prefix and many flips of files of all formats: an error with a sentence, or a take that holds its invariants.
static void try_bytes(const char *data, size_t n, int *good) {
    FaError err = {0};
    FaMarkerTake *t;
    FaCode rc = fai_markers_parse(data, n, NULL, NULL, &t, &err);
    FaError bad = {0};
    if (rc >= 0)
        CHECK_OK(fa_markers_check(t, &bad), &bad);
    else
        assert_true(!t && err.what[0]);
    *good += rc >= 0;
    fa_markers_free(t);
}

static void test_truncated(void **state) {
    (void)state;
    FaError err = {0};
    FaMarkerTake *take = wild(3, 4);
    FaText file[3] = {{0}};
    CHECK_OK(fai_markers_csv_write(take, &file[0], &err), &err);
    CHECK_OK(fai_markers_trc_write(take, &file[1], &err), &err);
    file[2] = c3d_file(&(C3dOptions){.processor = 2,
                                     .floats = true,
                                     .nframe = 2,
                                     .npoint = 40,
                                     .units = "mm",
                                     .rate = 60,
                                     .scale = 1,
                                     .labels = 40});
    fa_markers_free(take);
    for (int i = 0; i < 3; i++) {
        int whole = 0, flipped = 0;
        for (size_t n = 0; n <= file[i].size; n += n > 600 && n < 10000 && i == 2 ? 37 : 1) {
            char *copy = calloc(n ? n : 1, 1); // of the exact size: reading past it is seen by the sanitizer
            memcpy(copy, file[i].data, n);
            try_bytes(copy, n, &whole);
            free(copy);
        }
        for (size_t at_byte = 0; at_byte < FA_MIN(file[i].size, 1500); at_byte++)
            for (int bit = 0; bit < 8; bit += 1 + (i == 2)) {
                file[i].data[at_byte] ^= (char)(1 << bit);
                try_bytes(file[i].data, file[i].size, &flipped);
                file[i].data[at_byte] ^= (char)(1 << bit);
            }
        assert_true(whole > 0 && flipped > 0);
        fai_text_free(&file[i]);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    FaError err = {0};
    FaMarkerTake *take = wild(3, 4);
    FaText file[3] = {{0}};
    CHECK_OK(fai_markers_csv_write(take, &file[0], &err), &err);
    CHECK_OK(fai_markers_trc_write(take, &file[1], &err), &err);
    CHECK_OK(fai_markers_c3d_write(take, &file[2], &err), &err);
    fa_markers_free(take);
    for (int i = 0; i < 3; i++) {
        long failures = 0, dropped = 0;
        for (long n = 1; n < 2000; n++) {
            test_fail_alloc(n);
            long before = test_alloc_balance();
            FaMarkerTake *t;
            err = (FaError){0};
            FaCode rc = fai_markers_parse(file[i].data, file[i].size, NULL, NULL, &t, &err);
            bool failed = test_alloc_failed();
            if (failed && rc >= 0)
                dropped++; // only a note was lost
            else if (failed)
                assert_int_equal(rc, FA_E_MEMORY);
            failures += failed;
            fa_markers_free(t);
            assert_int_equal(test_alloc_balance(), before);
            test_fail_alloc(0);
            if (!failed) break;
        }
        assert_in_range(failures - dropped, 5, 200);
        fai_text_free(&file[i]);
    }
}

// --- kinds ----------------------------------------------------------------------------------------------------------

static void write_file(const char *name, const char *text) {
    FaError err = {0};
    CHECK_OK(fai_file_write(test_path(name), text, strlen(text), &err), &err);
}

static void test_kind(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
        FaMotionKind kind;
    } cases[] = {{"k1.csv", HEADER "0,1,1,1,1,1,1\n", FA_MOTION_MARKERS},
                 {"k2.csv", "time,jawOpen,smile\n0,1,1\n", FA_MOTION_OTHER},
                 {"k3.csv", "frame, face_id, timestamp, confidence, success, x_0, x_1\n", FA_MOTION_LANDMARKS},
                 {"k4.trc", "", FA_MOTION_MARKERS},
                 {"k5.txt", TRC_HEAD("60", "1", "2", "m"), FA_MOTION_MARKERS},
                 {"k6.json", "\xEF\xBB\xBF {\"frames\": [{\"points\": []}]}", FA_MOTION_LANDMARKS},
                 {"k7.json", " [[{\"x\": 1}]]", FA_MOTION_LANDMARKS},
                 {"k8.json", "{\"fascia\": \"clip\", \"names\": [\"jawOpen\"], \"weights\": [[0]]}", FA_MOTION_OTHER},
                 {"k9.csv", "", FA_MOTION_OTHER},
                 {"k10.glb", "glTF....", FA_MOTION_OTHER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(cases[i].name, cases[i].text);
        if (fa_motion_kind(test_path(cases[i].name)) != cases[i].kind) fail_msg("%s", cases[i].name);
    }
    assert_int_equal(fa_motion_kind(test_path("absent.csv")), FA_MOTION_OTHER);
    assert_int_equal(fa_motion_kind(test_dir()), FA_MOTION_OTHER);
}

// As clips: a nanosecond between two frames is a fault of the file.
static void test_too_close(void **state) {
    (void)state;
    FaMarkerTake *take;
    FaError err = {0};
    write_file("ns.csv", "time,a.x,a.y,a.z,b.x,b.y,b.z\n0,0,0,0,0.1,0.1,0\n1e-9,0,0,0,0.1,0.1,0\n1,0,0,0,0.1,0.1,0\n");
    assert_int_equal(fa_markers_load(test_path("ns.csv"), NULL, &take, &err), FA_E_FORMAT);
    assert_string_equal(err.place, "frame 1");
    assert_null(take);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),        cmocka_unit_test(test_csv_refused), cmocka_unit_test(test_units),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_trc),         cmocka_unit_test(test_trc_refused),
        cmocka_unit_test(test_c3d),        cmocka_unit_test(test_c3d_counts),  cmocka_unit_test(test_c3d_refused),
        cmocka_unit_test(test_odd),        cmocka_unit_test(test_truncated),   cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_kind),       cmocka_unit_test(test_too_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
