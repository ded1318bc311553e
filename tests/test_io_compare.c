// Comparison of two animations.
#include "test_rig_head.h"

#include "base/json.h"

// Frames made by rule: vertex v of frame f is at (v, f * rate, 0) plus an offset.
typedef struct Rule {
    double speed;  // m per frame along y
    double offset; // m along z for vertex `vertex` in frame `frame`, for all others 0
    int frame, vertex;
    double all; // m along x for all
    int nan_frame;
} Rule;
enum { N = 250 };

static FaCode rule_read(void *user, int frame, float *x, FaError *err) {
    const Rule *r = user;
    if (frame == -1) return FA_FAIL(err, FA_E_FILE, NULL, NULL, "no such frame");
    for (int v = 0; v < N; v++) {
        x[3 * v] = (float)(0.01 * v + r->all);
        x[3 * v + 1] = (float)(r->speed * frame);
        x[3 * v + 2] = (float)(frame == r->frame && v == r->vertex ? r->offset : 0);
    }
    if (r->nan_frame == frame + 1) x[100] = NAN;
    return FA_OK;
}

static FaSequence *sequence(Rule *r, int nframe, double fps) {
    FaError err = {0};
    FaSequence *seq;
    CHECK_OK(fa_sequence_custom(N, nframe, fps, rule_read, r, &seq, &err), &err);
    return seq;
}

static void identical_animations_are_at_distance_0(void **state) {
    (void)state;
    FaError err = {0};
    Rule r = {.speed = 0.01};
    FaSequence *a = sequence(&r, 5, 30), *b = sequence(&r, 5, 30);
    FaCompare c;
    CHECK_OK(fa_compare(a, b, NULL, &c, &err), &err);
    assert_int_equal(c.frames, 5);
    assert_int_equal(c.vertices, N);
    CHECK_NEAR(c.max_mm, 0, 0);
    CHECK_NEAR(c.p99_mm, 0, 0);
    assert_int_equal(c.intersections_a, -1);
    CHECK_NEAR(c.volume_change_a, 0, 0);
    fa_compare_free(&c);
    fa_sequence_close(a);
    fa_sequence_close(b);
}

static void the_worst_vertex_is_named(void **state) {
    (void)state;
    FaError err = {0};
    Rule r = {0}, s = {.offset = 0.002, .frame = 3, .vertex = 77};
    FaSequence *a = sequence(&r, 6, 30), *b = sequence(&s, 4, 30); // the shorter one decides
    FaCompare c;
    CHECK_OK(fa_compare(a, b, NULL, &c, &err), &err);
    assert_int_equal(c.frames, 4);
    CHECK_NEAR(c.max_mm, 2, 1e-6);
    assert_int_equal(c.worst_frame, 3);
    assert_int_equal(c.worst_vertex, 77);
    CHECK_NEAR(c.mean_mm, 2.0 / (4 * N), 1e-9);
    CHECK_NEAR(c.frame_max_mm[2], 0, 0);
    CHECK_NEAR(c.frame_max_mm[3], 2, 1e-6);
    CHECK_NEAR(c.frame_mean_mm[3], 2.0 / N, 1e-9);
    CHECK_NEAR(c.frame_p99_mm[3], 0, 0); // one of 250 is less than a hundredth
    fa_compare_free(&c);
    fa_sequence_close(a);
    fa_sequence_close(b);
}

// Distances 1..N mm in each frame: the 99th percentile is known exactly.
static FaCode ramp_read(void *user, int frame, float *x, FaError *err) {
    (void)err;
    for (int v = 0; v < N; v++) {
        x[3 * v] = *(const int *)user ? 0.001f * (float)((v * 7 + frame) % N + 1) : 0;
        x[3 * v + 1] = x[3 * v + 2] = 0;
    }
    return FA_OK;
}

static void p99_is_exact(void **state) {
    (void)state;
    FaError err = {0};
    FaSequence *a, *b;
    FaCompare c;
    int off = 0, on = 1;
    CHECK_OK(fa_sequence_custom(N, 8, 30, ramp_read, &off, &a, &err), &err);
    CHECK_OK(fa_sequence_custom(N, 8, 30, ramp_read, &on, &b, &err), &err);
    CHECK_OK(fa_compare(a, b, NULL, &c, &err), &err);
    for (int f = 0; f < 8; f++) CHECK_NEAR(c.frame_p99_mm[f], 248, 1e-4); // 2 of 250 are above
    CHECK_NEAR(c.p99_mm, 248, 1e-4);
    CHECK_NEAR(c.mean_mm, (N + 1) / 2.0, 1e-4);
    fa_compare_free(&c);
    // many frames: a histogram, to 1 part in 2000
    fa_sequence_close(a);
    fa_sequence_close(b);
    int many = (1 << 24) / N + 2;
    CHECK_OK(fa_sequence_custom(N, many, 30, ramp_read, &off, &a, &err), &err);
    CHECK_OK(fa_sequence_custom(N, many, 30, ramp_read, &on, &b, &err), &err);
    CHECK_OK(fa_compare(a, b, NULL, &c, &err), &err);
    assert_int_equal(c.frames, many);
    CHECK_NEAR(c.p99_mm, 248, 248 / 2000.0);
    CHECK_NEAR(c.max_mm, 250, 1e-4);
    fa_compare_free(&c);
    fa_sequence_close(a);
    fa_sequence_close(b);
}

static void other_rates_are_matched_by_time(void **state) {
    (void)state;
    FaError err = {0};
    // the same straight motion at 30 and at 24 frames per second
    Rule r = {.speed = 0.1 / 30}, s = {.speed = 0.1 / 24};
    FaSequence *a = sequence(&r, 61, 30), *b = sequence(&s, 25, 24); // 2 s and 1 s
    FaCompare c;
    CHECK_OK(fa_compare(a, b, NULL, &c, &err), &err);
    assert_int_equal(c.frames, 31);
    CHECK_NEAR(c.max_mm, 0, 2e-5);
    fa_compare_free(&c);
    // the same rate but for rounding, or an unknown one: by number
    fa_sequence_close(b);
    b = sequence(&r, 61, 29.97);
    CHECK_OK(fa_compare(a, b, NULL, &c, &err), &err);
    assert_int_equal(c.frames, 61);
    CHECK_NEAR(c.max_mm, 0, 0);
    fa_compare_free(&c);
    fa_sequence_close(a);
    fa_sequence_close(b);
}

static FaCode grow_read(void *user, int frame, float *x, FaError *err) {
    (void)err;
    const FaRig *rig = user;
    for (int i = 0; i < 3 * rig->mesh.nvert; i++) x[i] = rig->mesh.x[i] * (1 + 0.01f * (float)frame);
    if (frame == 2) x[3 * 16 * HEAD_COLS + 2] = -0.15f; // one vertex through the back
    return FA_OK;
}

static void volumes_and_crossings(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaSequence *a, *b;
    FaCompare c;
    CHECK_OK(fa_sequence_of_clip(rig, NULL, &a, &err), &err);
    CHECK_OK(fa_sequence_custom(rig->mesh.nvert, 3, 30, grow_read, rig, &b, &err), &err);
    // a rig behind one of them gives faces to both
    CHECK_OK(fa_compare(a, b, &(FaCompareOptions){.intersections = true}, &c, &err), &err);
    assert_int_equal(c.frames, 1);
    assert_int_equal(c.intersections_a, 0);
    assert_int_equal(c.intersections_b, 0);
    fa_compare_free(&c);
    fa_sequence_close(a);
    CHECK_OK(fa_sequence_custom(rig->mesh.nvert, 3, 30, grow_read, rig, &a, &err), &err);
    CHECK_OK(fa_compare(a, b, &(FaCompareOptions){.intersections = true, .rig = rig}, &c, &err), &err);
    assert_int_equal(c.frames, 3);
    assert_true(c.intersections_a > 0);
    assert_int_equal(c.intersections_a, c.intersections_b);
    // by frame: the same count on both sides, the largest of them the worst
    int worst = 0;
    for (int f = 0; f < c.frames; f++) {
        assert_int_equal(c.frame_intersections_a[f], c.frame_intersections_b[f]);
        worst = FA_MAX(worst, c.frame_intersections_a[f]);
    }
    assert_int_equal(worst, c.intersections_a);
    assert_int_equal(c.frame_intersections_a[0], 0);
    assert_true(c.volume_change_a > 0.03 && c.volume_change_a < 0.08);
    char *json;
    CHECK_OK(fa_compare_json(&c, &json, &err), &err);
    FaJsonDoc *doc;
    CHECK_OK(fai_json_parse(json, strlen(json), &doc, NULL, &err), &err);
    static const char *const fields[] = {"frames",          "max_mm",          "mean_mm",
                                         "p99_mm",          "intersections_a", "intersections_b",
                                         "volume_change_a", "volume_change_b", "stretch"};
    for (int i = 0; i < FA_COUNT(fields); i++)
        assert_true(fai_json_is(fai_json_get(doc->root, fields[i]), FA_JSON_NUMBER));
    assert_int_equal(fai_json_count(fai_json_get(doc->root, "frame_intersections_b")), 3);
    fai_json_free(doc);
    fa_free(json);
    fa_compare_free(&c);
    // 1 % in each direction is 3.03 % of volume
    CHECK_OK(fa_compare(a, b, &(FaCompareOptions){.rig = rig}, &c, &err), &err);
    assert_int_equal(c.intersections_a, -1);
    assert_null(c.frame_intersections_a);
    CHECK_NEAR(c.stretch, 1, 1e-9); // the same on both sides
    fa_compare_free(&c);
    fa_sequence_close(a);
    fa_sequence_close(b);
    fa_rig_free(rig);
}

static bool stop_at_half(void *user, const char *stage, double done) {
    (void)stage;
    ++*(int *)user;
    return done < 0.5;
}

static void what_cannot_be_compared(void **state) {
    (void)state;
    FaError err = {0};
    Rule r = {0}, bad = {.nan_frame = 3};
    FaRig *rig = head_rig(NULL);
    FaSequence *a = sequence(&r, 4, 30), *b, *c = sequence(&bad, 4, 30);
    FaCompare out;
    CHECK_OK(fa_sequence_of_clip(rig, NULL, &b, &err), &err);
    assert_int_equal(fa_compare(a, b, NULL, &out, &err), FA_E_ARG);
    assert_non_null(strstr(err.what, "250 vertices"));
    err = (FaError){0};
    assert_int_equal(fa_compare(a, c, NULL, &out, &err), FA_E_NUMERIC);
    assert_string_equal(err.place, "frame 2, vertex 33");
    assert_null(out.frame_max_mm);
    assert_int_equal(fa_compare(a, a, &(FaCompareOptions){.rig = rig}, &out, NULL), FA_E_ARG);
    int calls = 0;
    FaCompareOptions stop = {.progress = stop_at_half, .progress_user = &calls};
    assert_int_equal(fa_compare(a, a, &stop, &out, NULL), FA_E_CANCELLED);
    assert_int_equal(calls, 2);
    fa_sequence_close(a);
    fa_sequence_close(b);
    fa_sequence_close(c);
    fa_rig_free(rig);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    FaSequence *a, *b;
    FaError none = {0};
    CHECK_OK(fa_sequence_custom(rig->mesh.nvert, 3, 30, grow_read, rig, &a, &none), &none);
    CHECK_OK(fa_sequence_custom(rig->mesh.nvert, 3, 25, grow_read, rig, &b, &none), &none);
    fa_threads_set(1);
    for (long n = 1;; n++) {
        FaCompare c;
        char *json = NULL;
        test_fail_alloc(n);
        long before = test_alloc_balance();
        FaCode rc = fa_compare(a, b, &(FaCompareOptions){.intersections = true, .rig = rig}, &c, NULL);
        if (rc >= 0) rc = fa_compare_json(&c, &json, NULL);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fa_free(json);
        fa_compare_free(&c);
        assert_int_equal(test_alloc_balance(), before);
        assert_int_equal(rc, failed ? FA_E_MEMORY : FA_OK);
        if (!failed) break;
    }
    fa_threads_set(0);
    fa_allocator_set(NULL);
    fa_sequence_close(a);
    fa_sequence_close(b);
    fa_rig_free(rig);
}

// --- the doctor on caches -----------------------------------------------------------------------------------------

static void caches_are_examined(void **state) {
    (void)state;
    FaError err = {0};
    Rule r = {.speed = 0.01}, bad = {.nan_frame = 2};
    FaSequence *a = sequence(&r, 7, 25), *b = sequence(&bad, 7, 25);
    FaInfo info;
    CHECK_OK(fa_info_of_sequence(a, &info, &err), &err);
    assert_string_equal(info.kind, "cache");
    assert_int_equal(info.vertices, N);
    assert_int_equal(info.frames, 7);
    CHECK_NEAR(info.seconds, 6 / 25.0, 1e-12);
    CHECK_NEAR(info.width_m, 0.01 * (N - 1), 1e-6);
    char *text;
    CHECK_OK(fa_info_text(&info, false, &text, &err), &err);
    assert_non_null(strstr(text, "7 frames at 25 fps"));
    fa_free(text);
    fa_info_free(&info);
    assert_int_equal(fa_info_of_sequence(b, &info, &err), FA_E_NUMERIC);
    assert_string_equal(err.place, "frame 1, vertex 33");
    fa_sequence_close(a);
    fa_sequence_close(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identical_animations_are_at_distance_0),
        cmocka_unit_test(the_worst_vertex_is_named),
        cmocka_unit_test(p99_is_exact),
        cmocka_unit_test(other_rates_are_matched_by_time),
        cmocka_unit_test(volumes_and_crossings),
        cmocka_unit_test(what_cannot_be_compared),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(caches_are_examined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
