// Painted faces: every way to paint, every mistake named with its place, nothing lost at seams, no file that hangs or
// leaks.
#include "test.h"

#include "base/base.h"
#include "base/file.h"
#include "face/skin_paint.h"

enum { VERTS = 12 };

// Vertices 0..11; 3 and 7 are copies of 1 at a seam. cheekPuff moves 2, 5 (most) and 9; "Bulge" only 4.
static FaRig *small_rig(void) {
    static float x[3 * VERTS], delta[] = {0.01f, 0, 0, 0, -0.02f, 0, 0.005f, 0, 0, 0, 0, 0.3f};
    static int row[] = {2, 5, 9, 4}, weld[VERTS];
    static FaShape shape[] = {{"blendShape1.cheekPuff", -1, 0, 0, 3, FA_SAID_NOTHING},
                              {"Bulge", -1, 0, 3, 1, FA_SAID_NOTHING}};
    static FaRig rig;
    for (int v = 0; v < VERTS; v++) weld[v] = v == 3 || v == 7 ? 1 : v;
    shape[0].arkit = fa_arkit_match("cheekPuff", NULL);
    rig = (FaRig){.mesh = {.nvert = VERTS, .x = x, .weld = weld},
                  .nshape = 2,
                  .nentry = 4,
                  .shape = shape,
                  .row = row,
                  .delta = delta};
    return &rig;
}

static FaCode parse(const char *text, FaPaint *paint, FaError *err) {
    *err = (FaError){0};
    return fai_paint_parse(text, strlen(text), small_rig(), paint, err);
}

static FaPaint good(const char *text) {
    FaPaint paint;
    FaError err;
    CHECK_OK(parse(text, &paint, &err), &err);
    return paint;
}

static void expect(const float *a, const double want[VERTS]) {
    for (int v = 0; v < VERTS; v++) {
        if (isnan(want[v]) != isnan((double)a[v])) fail_msg("vertex %d: %g, wanted %g", v, (double)a[v], want[v]);
        if (!isnan(want[v])) CHECK_NEAR(a[v], want[v], 1e-6);
    }
}

#define N NAN

static void empty_paints_nothing(void **state) {
    (void)state;
    FaPaint p = good("{\"version\": 1}");
    const double none[VERTS] = {N, N, N, N, N, N, N, N, N, N, N, N};
    expect(p.thickness, none);
    expect(p.skull, none);
    expect(p.jaw, none);
    for (int r = 0; r < FA_REGIONS; r++) expect(p.region[r], none);
    fai_paint_free(&p);
    assert_null(p.thickness);
    fai_paint_free(&p);
}

static void every_way_to_paint(void **state) {
    (void)state;
    FaPaint p = good("{\"version\": 1, \"thickness_mm\": {\"all\": 6, \"vertices\": {\"2\": 3.5, \"11\": 0.05}},"
                     " \"skull\": 0.25,"
                     " \"jaw\": [{\"all\": 0}, {\"vertices\": [4, 5]}, {\"ranges\": [[5, 6], [9, 9]], \"value\": 0.5}],"
                     " \"regions\": {\"mouth\": {\"vertices\": [0]},"
                     "  \"free\": {\"values\": [null, 0.5, 1, null, 0, null, null, null, null, null, null, 1]}}}");
    expect(p.thickness, (double[]){.006, .006, .0035, .006, .006, .006, .006, .006, .006, .006, .006, 5e-5});
    expect(p.skull, (double[]){.25, .25, .25, .25, .25, .25, .25, .25, .25, .25, .25, .25});
    expect(p.jaw, (double[]){0, 0, 0, 0, 1, .5, .5, 0, 0, .5, 0, 0});
    expect(p.region[FA_REGION_MOUTH], (double[]){1, N, N, N, N, N, N, N, N, N, N, N});
    expect(p.region[FA_REGION_FREE], (double[]){N, .5, 1, .5, 0, N, N, .5, N, N, N, 1});
    fai_paint_free(&p);
}

static void by_shape(void **state) {
    (void)state;
    // by ARKit's name, doubled and clamped; by the rig's own name; thickness on top of a base, never below the least
    FaPaint p = good("{\"version\": 1, \"thickness_mm\": {\"all\": 5, \"shape\": \"cheekPuff\", \"scale\": -8},"
                     " \"jaw\": {\"shape\": \"Bulge\", \"all\": 0.25, \"scale\": 0.5},"
                     " \"regions\": {\"cheeks\": {\"shape\": \"cheekPuff\", \"scale\": 2, \"vertices\": [0]}}}");
    expect(p.thickness, (double[]){.005, .005, .001, .005, .005, 5e-5, .005, .005, .005, .003, .005, .005});
    expect(p.jaw, (double[]){.25, .25, .25, .25, .75, .25, .25, .25, .25, .25, .25, .25});
    expect(p.region[FA_REGION_CHEEKS], (double[]){1, 0, 1, 0, 0, 1, 0, 0, 0, .5, 0, 0});
    fai_paint_free(&p);
}

static void seams_are_painted_whole(void **state) {
    (void)state;
    FaPaint p = good("{\"version\": 1, \"skull\": {\"vertices\": {\"7\": 0.5}}}");
    expect(p.skull, (double[]){N, .5, N, .5, N, N, N, .5, N, N, N, N});
    fai_paint_free(&p);
}

static void mistakes_name_their_place(void **state) {
    (void)state;
    static const struct {
        const char *text, *place, *what;
    } bad[] = {
        {"[]", "", "expected an object"},
        {"{}", "", "\"version\" is missing"},
        {"{\"version\": 2}", "/version", "out of range"},
        {"{\"version\": \"1\"}", "/version", "integer"},
        {"{\"version\": 1, \"lips\": 1}", "/lips", "unknown key"},
        {"{\"version\": 1, \"free\": {\"all\": 1}}", "/free", "unknown key"},
        {"{\"version\": 1, \"jaw\": 1, \"jaw\": 0}", "/jaw", "twice"},
        {"{\"version\": 1, \"jaw\": 1.01}", "/jaw", "out of range"},
        {"{\"version\": 1, \"jaw\": -0.01}", "/jaw", "out of range"},
        {"{\"version\": 1, \"jaw\": 1e999}", "", ""},
        {"{\"version\": 1, \"jaw\": null}", "/jaw", "expected paint"},
        {"{\"version\": 1, \"jaw\": [1, 2]}", "/jaw/0", "expected a stroke"},
        {"{\"version\": 1, \"jaw\": [{\"all\": 1}, {\"al\": 1}]}", "/jaw/1/al", "unknown key"},
        {"{\"version\": 1, \"thickness_mm\": 0}", "/thickness_mm", "out of range"},
        {"{\"version\": 1, \"thickness_mm\": 101}", "/thickness_mm", "out of range"},
        {"{\"version\": 1, \"thickness_mm\": {\"vertices\": [1]}}", "/thickness_mm", "\"value\" is missing"},
        {"{\"version\": 1, \"thickness_mm\": {\"shape\": \"Bulge\"}}", "/thickness_mm", "\"all\" is missing"},
        {"{\"version\": 1, \"skull\": {\"vertices\": [12]}}", "/skull/vertices/0", "no vertex 12"},
        {"{\"version\": 1, \"skull\": {\"vertices\": [0, -1]}}", "/skull/vertices/1", "no vertex -1"},
        {"{\"version\": 1, \"skull\": {\"vertices\": [0.5]}}", "/skull/vertices/0", "whole number"},
        {"{\"version\": 1, \"skull\": {\"vertices\": [\"0\"]}}", "/skull/vertices/0", "whole number"},
        {"{\"version\": 1, \"skull\": {\"vertices\": {\"12\": 1}}}", "/skull/vertices/12", "no vertex 12"},
        {"{\"version\": 1, \"skull\": {\"vertices\": {\"x\": 1}}}", "/skull/vertices/x", "not the number"},
        {"{\"version\": 1, \"skull\": {\"vertices\": {\"1 \": 1}}}", "/skull/vertices/1 ", "not the number"},
        {"{\"version\": 1, \"skull\": {\"vertices\": {\"-0\": 1}}}", "/skull/vertices/-0", "not the number"},
        {"{\"version\": 1, \"skull\": {\"vertices\": {\"99999999999999999999\": 1}}}", "/skull/vertices/99",
         "not the number"},
        {"{\"version\": 1, \"skull\": {\"vertices\": {\"1\": \"1\"}}}", "/skull/vertices/1", "expected a number"},
        {"{\"version\": 1, \"skull\": {\"vertices\": 3}}", "/skull/vertices", "expected vertices"},
        {"{\"version\": 1, \"skull\": {\"ranges\": [[3, 2]]}}", "/skull/ranges/0", "backwards"},
        {"{\"version\": 1, \"skull\": {\"ranges\": [[3]]}}", "/skull/ranges/0", "pair"},
        {"{\"version\": 1, \"skull\": {\"ranges\": [[0, 12]]}}", "/skull/ranges/0/1", "no vertex 12"},
        {"{\"version\": 1, \"skull\": {\"values\": [1, 1]}}", "/skull/values", "2 values for 12"},
        {"{\"version\": 1, \"skull\": {\"value\": 1}}", "/skull", "without what it is for"},
        {"{\"version\": 1, \"skull\": {\"all\": 1, \"scale\": 1}}", "/skull", "without what it is for"},
        {"{\"version\": 1, \"skull\": {\"shape\": \"nosuch\"}}", "/skull/shape", "no shape \"nosuch\""},
        {"{\"version\": 1, \"skull\": {\"shape\": 7}}", "/skull/shape", "string"},
        {"{\"version\": 1, \"skull\": {\"shape\": \"Bulge\", \"scale\": \"x\"}}", "/skull/scale", "number"},
        {"{\"version\": 1, \"regions\": []}", "/regions", "expected an object"},
        {"{\"version\": 1, \"regions\": {\"nose\": 1}}", "/regions/nose", "unknown key"},
    };
    for (int i = 0; i < FA_COUNT(bad); i++) {
        FaPaint p;
        FaError err;
        FaCode rc = parse(bad[i].text, &p, &err);
        if (rc >= 0) fail_msg("accepted: %s", bad[i].text);
        assert_null(p.arena);
        assert_null(p.thickness);
        char text[1024];
        fa_error_text(&err, text, sizeof text);
        if (!strstr(text, bad[i].place) || !strstr(text, bad[i].what)) fail_msg("%s: %s", bad[i].text, text);
    }
}

static void overlapping_ranges_end(void **state) {
    (void)state;
    char *text = malloc(400000);
    int n = sprintf(text, "{\"version\": 1, \"skull\": {\"ranges\": [[0, 11]");
    for (int i = 0; i < 20000; i++) n += sprintf(text + n, ", [0, 11]");
    sprintf(text + n, "]}}");
    FaPaint p;
    FaError err;
    assert_int_equal(parse(text, &p, &err), FA_E_LIMIT);
    free(text);
}

static const char whole[] =
    "{\"version\": 1, \"thickness_mm\": [{\"all\": 6}, {\"vertices\": {\"2\": 3.5}}], \"jaw\": {\"shape\": \"Bulge\"},"
    " \"regions\": {\"mouth\": {\"ranges\": [[0, 3]], \"value\": 0.5}, \"free\": {\"vertices\": [1, 2]}}}";

// Every prefix is refused, every changed byte is refused or read: nothing crashes or leaks.
static void damaged_files(void **state) {
    (void)state;
    FaPaint p;
    FaError err;
    char text[sizeof whole];
    for (size_t n = 0; n + 1 < sizeof whole; n++) {
        err = (FaError){0};
        assert_true(fai_paint_parse(whole, n, small_rig(), &p, &err) < 0);
    }
    for (size_t at = 0; at + 1 < sizeof whole; at++)
        for (const char *c = "{}[],:\"019.-x\xff"; *c; c++) {
            memcpy(text, whole, sizeof whole);
            text[at] = *c;
            err = (FaError){0};
            if (fai_paint_parse(text, sizeof whole - 1, small_rig(), &p, &err) >= 0) fai_paint_free(&p);
        }
}

static void files_are_named(void **state) {
    (void)state;
    FaPaint p;
    FaError err = {0};
    assert_int_equal(fai_paint_load(test_path("absent.json"), small_rig(), &p, &err), FA_E_FILE);
    const char *path = test_path("paint.json");
    CHECK_OK(fai_file_write(path, "{\"version\": 9}", 14, &err), NULL);
    err = (FaError){0};
    assert_true(fai_paint_load(path, small_rig(), &p, &err) < 0);
    assert_string_equal(err.path, path);
    err = (FaError){0};
    CHECK_OK(fai_file_write(path, whole, sizeof whole - 1, &err), &err);
    CHECK_OK(fai_paint_load(path, small_rig(), &p, &err), &err);
    CHECK_NEAR(p.thickness[2], 0.0035, 1e-8);
    fai_paint_free(&p);
}

static void no_memory(void **state) {
    (void)state;
    long balance = test_alloc_balance();
    for (long k = 1; k < 200; k++) {
        FaPaint p;
        FaError err = {0};
        FaRig *rig = small_rig();
        test_fail_alloc(k);
        FaCode rc = fai_paint_parse(whole, sizeof whole - 1, rig, &p, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        if (rc >= 0)
            fai_paint_free(&p);
        else
            assert_int_equal(rc, FA_E_MEMORY);
        assert_int_equal(test_alloc_balance(), balance);
        if (!failed) return;
        assert_true(rc < 0);
    }
    fail_msg("it never ended");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_paints_nothing),
        cmocka_unit_test(every_way_to_paint),
        cmocka_unit_test(by_shape),
        cmocka_unit_test(seams_are_painted_whole),
        cmocka_unit_test(mistakes_name_their_place),
        cmocka_unit_test(overlapping_ranges_end),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(files_are_named),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
