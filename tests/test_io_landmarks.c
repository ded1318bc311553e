// Landmark streams: our JSON, MediaPipe dumps, OpenFace and other CSV, pixels and times, bad input.
#include "test.h"

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"
#include "io/landmarks.h"

static FaCode parse(const char *text, size_t size, const FaLandmarkOptions *o, FaLandmarkTake **take, FaError *err) {
    *err = (FaError){0};
    FaCode rc = fai_landmarks_parse(text, size, o, take, err);
    FaError bad = {0};
    if (rc >= 0)
        CHECK_OK(fa_landmarks_check(*take, &bad), &bad);
    else
        assert_null(*take);
    return rc;
}

static FaLandmarkTake *load(const FaText *text, const FaLandmarkOptions *o) {
    FaError err;
    FaLandmarkTake *t;
    CHECK_OK(parse(text->data, text->size, o, &t, &err), &err);
    return t;
}

static void check_refused(FaText *text, FaCode code, const char *place, const char *what) {
    FaError err;
    FaLandmarkTake *t;
    FaCode rc = parse(text->data ? text->data : "", text->size, NULL, &t, &err);
    if (rc != code || strcmp(err.place, place) || !strstr(err.what, what))
        fail_msg("%.60s...: %d at '%s': '%s', not '%s'", text->data ? text->data : "", rc, err.place, err.what, what);
    fai_text_free(text);
}

static const FaNote *note(const FaLandmarkTake *take, const char *code) { return fai_note_find(&take->notes, code); }

// Coordinate k of point i in frame f, between 0 and 1 and exact as text.
static double value(int f, int i, int k) { return (k == 2 ? -0.125 : 0.25) + (i % 64) / 128.0 + (f + k) / 256.0; }

static void put(FaText *t, double v) { fai_text_double(t, v); }

// One frame's points: "[[x,y,z],...]" or "[{"x":..},...]".
static void put_points(FaText *t, int f, int count, int dims, bool objects, double scale) {
    static const char *const key[] = {"\"x\":", ",\"y\":", ",\"z\":"};
    fai_text_str(t, "[");
    for (int i = 0; i < count; i++) {
        fai_text_str(t, i ? "," : "");
        fai_text_str(t, objects ? "{" : "[");
        for (int k = 0; k < dims; k++) {
            fai_text_str(t, objects ? key[k] : k ? "," : "");
            put(t, scale * value(f, i, k));
        }
        fai_text_str(t, objects ? "}" : "]");
    }
    fai_text_str(t, "]");
}

static void check_points(const FaLandmarkTake *t, int f, int f_file, double sx, double sy) {
    double scale[3] = {sx, sy, sx};
    for (int i = 0; i < t->count; i++) {
        assert_true(t->visibility[f * t->count + i] > 0);
        for (int k = 0; k < t->dims; k++)
            CHECK_NEAR(t->x[(f * t->count + i) * t->dims + k], scale[k] * value(f_file, i, k), 1e-4);
    }
}

static FaText ours(int nframe, int count, int dims, const char *head, double scale) {
    FaText t = {0};
    fai_text_printf(&t, "{%s\"frames\":[", head);
    for (int f = 0; f < nframe; f++) {
        fai_text_printf(&t, "%s{\"time\":", f ? "," : "");
        put(&t, 2 + f / 25.0);
        fai_text_str(&t, ",\"points\":");
        put_points(&t, f, count, dims, false, scale);
        fai_text_str(&t, "}");
    }
    fai_text_str(&t, "]}");
    return t;
}

static void test_json(void **state) {
    (void)state;
    static const int counts[] = {68, 468, 478};
    for (int c = 0; c < 3; c++)
        for (int dims = 2; dims <= 3; dims++) {
            FaText text = ours(3, counts[c], dims, "\"layout\":\"any\",\"width\":640,\"height\":480,\"fps\":25,", 1);
            FaLandmarkTake *t = load(&text, NULL);
            assert_int_equal(t->count, counts[c]);
            assert_int_equal(t->layout, c);
            assert_int_equal(t->dims, dims);
            assert_int_equal(t->nframe, 3);
            assert_true(t->fps == 25 && t->start == 2 && t->time[0] == 0 && t->width == 640 && t->height == 480 &&
                        !t->metric);
            CHECK_NEAR(t->time[2], 0.08, 1e-12);
            for (int f = 0; f < 3; f++) check_points(t, f, f, 640, 480); // pixels
            assert_int_equal(t->notes.count, 0);
            fa_landmarks_free(t);
            fai_text_free(&text);
        }
    // pixels stay; the size may come from outside
    FaText text = ours(1, 68, 2, "", 300);
    FaLandmarkTake *t = load(&text, NULL);
    check_points(t, 0, 0, 300, 300);
    assert_non_null(note(t, "image-size"));
    fa_landmarks_free(t);
    t = load(&text, &(FaLandmarkOptions){.width = 320, .height = 200, .fps = 12});
    check_points(t, 0, 0, 300, 300);
    assert_true(t->width == 320 && t->fps == 12 && !note(t, "image-size"));
    fa_landmarks_free(t);
    fai_text_free(&text);
    // said to be pixels, though small; said to be metres
    text = ours(1, 68, 3, "\"units\":\"pixels\",\"width\":640,\"height\":480,", 1);
    t = load(&text, NULL);
    check_points(t, 0, 0, 1, 1);
    fa_landmarks_free(t);
    fai_text_free(&text);
    text = ours(1, 68, 3, "\"units\":\"m\",", 1);
    t = load(&text, NULL);
    assert_true(t->metric);
    fa_landmarks_free(t);
    fai_text_free(&text);
}

// What people dump from MediaPipe.
static void test_dumps(void **state) {
    (void)state;
    FaLandmarkOptions size = {.width = 100, .height = 50};
    for (int kind = 0; kind < 6; kind++) {
        FaText text = {0};
        bool single = kind == 1 || kind == 3;
        fai_text_str(&text, single ? "" : "[");
        for (int f = 0; f < (single ? 1 : 3); f++) {
            fai_text_str(&text, f ? "," : "");
            static const char *const before[] = {
                "", "", "{\"faceLandmarks\":[", "{\"multiFaceLandmarks\":[", "[", "{\"timestamp\":"};
            static const char *const after[] = {"", "", "],\"faceBlendshapes\":[]}", "]}", "]", "}"};
            fai_text_str(&text, before[kind]);
            if (kind == 5) fai_text_printf(&text, "%d,\"landmarks\":", 1000 + 40 * f);
            put_points(&text, f, 478, 3, true, 1);
            fai_text_str(&text, after[kind]);
        }
        fai_text_str(&text, single ? "" : "]");
        FaLandmarkTake *t = load(&text, &size);
        assert_int_equal(t->nframe, single ? 1 : 3);
        assert_int_equal(t->count, 478);
        for (int f = 0; f < t->nframe; f++) check_points(t, f, f, 100, 50);
        if (kind == 5) {
            assert_true(t->fps == 25 && t->start == 1); // milliseconds
            assert_null(note(t, "rate-unknown"));
        } else
            assert_int_equal(note(t, "rate-unknown") != NULL, !single);
        fa_landmarks_free(t);
        fai_text_free(&text);
    }
    // frames without a face, two faces, points that are null, no size of the image
    FaText text = {0};
    fai_text_str(&text, "{\"fps\":50,\"frames\":[null,{\"points\":[]},{\"faceLandmarks\":[");
    put_points(&text, 0, 68, 2, false, 1);
    fai_text_str(&text, ",");
    put_points(&text, 1, 68, 2, false, 1);
    fai_text_str(&text, "]},{\"points\":[null");
    for (int i = 1; i < 68; i++) fai_text_str(&text, ",[0.5,0.5]");
    fai_text_str(&text, "]}]}");
    FaLandmarkTake *t = load(&text, NULL);
    assert_int_equal(t->nframe, 4);
    assert_true(t->fps == 50 && t->width == 1);
    assert_int_equal(note(t, "face-lost")->count, 2);
    assert_string_equal(note(t, "face-lost")->where, "frame 0");
    assert_int_equal(note(t, "several-faces")->count, 1);
    assert_int_equal(note(t, "missing-samples")->count, 1);
    assert_non_null(note(t, "image-size"));
    assert_true(isnan(t->x[0]) && t->visibility[0] == 0 && t->visibility[3 * 68] == 0 &&
                t->visibility[3 * 68 + 1] == 1);
    check_points(t, 2, 0, 1, 1);
    fa_landmarks_free(t);
    fai_text_free(&text);
}

// --- CSV ----------------------------------------------------------------------------------------------------------

static FaText openface(bool two_d, bool three_d) {
    FaText t = {0};
    fai_text_str(&t, "frame, face_id, timestamp, confidence, success, gaze_0_x, eye_lmk_x_0");
    for (int k = 0; two_d && k < 2; k++)
        for (int i = 0; i < 68; i++) fai_text_printf(&t, ", %c_%d", 'x' + k, i);
    for (int k = 0; three_d && k < 3; k++)
        for (int i = 0; i < 68; i++) fai_text_printf(&t, ", %c_%d", 'X' + k, i);
    fai_text_str(&t, "\n");
    // frame 2 is lost, a second face appears in frame 1
    static const int face[] = {0, 0, 1, 0, 0}, frame[] = {0, 1, 1, 2, 3}, good[] = {1, 1, 1, 0, 1};
    for (int r = 0; r < 5; r++) {
        fai_text_printf(&t, "%d, %d, 0.%d, 0.75, %d, 9, 9", frame[r] + 1, face[r], frame[r], good[r]);
        for (int k = 0; two_d && k < 2; k++)
            for (int i = 0; i < 68; i++) fai_text_str(&t, ", "), put(&t, 500 * value(frame[r], i, k));
        for (int k = 0; three_d && k < 3; k++)
            for (int i = 0; i < 68; i++) fai_text_str(&t, ", "), put(&t, 1000 * value(frame[r], i, k));
        fai_text_str(&t, "\n");
    }
    return t;
}

static void test_openface(void **state) {
    (void)state;
    FaText text = openface(true, true);
    for (int metric = 0; metric < 2; metric++) {
        FaLandmarkTake *t = load(&text, &(FaLandmarkOptions){.metric = metric, .width = 640, .height = 480});
        assert_int_equal(t->nframe, 4);
        assert_int_equal(t->count, 68);
        assert_int_equal(t->dims, metric ? 3 : 2);
        assert_int_equal(t->metric, metric);
        CHECK_NEAR(t->fps, 10, 1e-9);
        check_points(t, 0, 0, metric ? 1 : 500, metric ? 1 : 500);
        check_points(t, 3, 3, metric ? 1 : 500, metric ? 1 : 500);
        assert_true(t->visibility[0] == 0.75f && t->visibility[2 * 68] == 0);
        assert_int_equal(note(t, "face-lost")->count, 1);
        assert_int_equal(note(t, "several-faces")->count, 1);
        fa_landmarks_free(t);
    }
    fai_text_free(&text);
    text = openface(false, true);
    FaLandmarkTake *t = load(&text, NULL);
    assert_true(t->metric && t->dims == 3);
    fa_landmarks_free(t);
    fai_text_free(&text);
}

static void test_csv(void **state) {
    (void)state;
    // spellings of a column; numbers from 1; points side by side; decimal commas
    for (int s = 0; s < 4; s++) {
        FaText text = {0};
        fai_text_str(&text, "time");
        for (int i = 0; i < 468; i++)
            for (int k = 0; k < 3; k++) {
                char name[32];
                if (s == 0) snprintf(name, sizeof name, "%c_%d", 'x' + k, i + s % 2);
                if (s == 1) snprintf(name, sizeof name, "%c%d", 'x' + k, i + s % 2);
                if (s == 2) snprintf(name, sizeof name, "lm_%d_%c", i + s % 2, 'x' + k);
                if (s == 3) snprintf(name, sizeof name, "Landmark %d.%c", i + s % 2, 'X' + k);
                fai_text_printf(&text, ";%s", name);
            }
        fai_text_str(&text, "\n");
        for (int f = 0; f < 2; f++) {
            fai_text_printf(&text, "%d,5", f);
            for (int i = 0; i < 468; i++)
                for (int k = 0; k < 3; k++) fai_text_str(&text, ";"), put(&text, value(f, i, k));
            fai_text_str(&text, "\n");
        }
        FaLandmarkTake *t = load(&text, &(FaLandmarkOptions){.width = 200, .height = 100});
        assert_int_equal(t->count, 468);
        assert_true(t->fps == 1 && t->start == 0.5 && !t->metric);
        check_points(t, 1, 1, 200, 100);
        assert_non_null(note(t, "decimal-comma"));
        fa_landmarks_free(t);
        fai_text_free(&text);
    }
}

// --- saving -------------------------------------------------------------------------------------------------------

static void test_round_trip(void **state) {
    (void)state;
    FaError err = {0};
    for (int csv = 0; csv < 2; csv++)
        for (int dims = 2; dims <= 3; dims++) {
            FaLandmarkTake *a, *b;
            CHECK_OK(fa_landmarks_new(FA_LANDMARKS_478, dims, 4, 30, &a, &err), &err);
            a->width = 1280, a->height = 720;
            for (int i = 0; i < 4 * 478; i++) {
                if (i % 9 == 0 || i / 478 == 2) continue; // frame 2 is lost
                a->visibility[i] = i % 2 ? 1 : 0.3f;
                for (int k = 0; k < dims; k++)
                    a->x[i * dims + k] = (float)(700 * fai_random_unit(1, (uint64_t)(3 * i + k)));
            }
            const char *path = test_path(csv ? "l.csv" : "l.json");
            CHECK_OK(fa_landmarks_save(a, path, &err), &err);
            FaLandmarkOptions o = {.width = csv ? 1280 : 0, .height = csv ? 720 : 0};
            CHECK_OK(fa_landmarks_load(path, &o, &b, &err), &err);
            assert_string_equal(b->path, path);
            assert_true(a->fps == b->fps && a->width == b->width && a->height == b->height && a->dims == b->dims);
            assert_memory_equal(a->visibility, b->visibility, 4 * 478 * sizeof(float));
            assert_memory_equal(a->time, b->time, 4 * sizeof(double));
            for (int i = 0; i < 4 * 478 * dims; i++)
                assert_true(a->x[i] == b->x[i] || (isnan(a->x[i]) && isnan(b->x[i])));
            fa_landmarks_free(a);
            fa_landmarks_free(b);
        }
    FaLandmarkTake *a;
    assert_int_equal(fa_landmarks_new(FA_LANDMARKS_68, 4, 1, 30, &a, &err), FA_E_ARG);
    assert_null(a);
    CHECK_OK(fa_landmarks_new(FA_LANDMARKS_68, 2, 1, 30, &a, &err), &err);
    assert_int_equal(fa_landmarks_save(a, test_path("l.txt"), &err), FA_E_ARG);
    a->visibility[0] = 1; // seen, but nowhere
    err = (FaError){0};
    assert_int_equal(fa_landmarks_save(a, test_path("m.json"), &err), FA_E_FORMAT);
    assert_string_equal(err.place, "frame 0, point 0");
    assert_false(fai_file_exists(test_path("m.json")));
    fa_landmarks_free(a);
}

// --- bad input ----------------------------------------------------------------------------------------------------

static FaText plain(const char *s) {
    FaText t = {0};
    fai_text_str(&t, s);
    return t;
}

static FaText spoiled(const char *head, const char *from, const char *to) {
    FaText whole = ours(2, 68, 2, head, 1), t = {0};
    const char *at = strstr(whole.data, from);
    assert_non_null(at);
    fai_text_bytes(&t, whole.data, (size_t)(at - whole.data));
    fai_text_str(&t, to);
    fai_text_str(&t, at + strlen(from));
    fai_text_free(&whole);
    return t;
}

static void test_refused(void **state) {
    (void)state;
    FaText t;
    check_refused(&(FaText){0}, FA_E_FORMAT, "", "empty");
    t = plain("  \n"), check_refused(&t, FA_E_FORMAT, "", "empty");
    t = plain("[]"), check_refused(&t, FA_E_FORMAT, "", "no frames");
    t = plain("{\"frames\":[]}"), check_refused(&t, FA_E_FORMAT, "", "no frames");
    t = plain("{\"frames\":{}}"), check_refused(&t, FA_E_FORMAT, "line 1, column 11", "must be a list");
    t = plain("{\"frames\":[null,null]}"), check_refused(&t, FA_E_FORMAT, "", "no face in any of the 2 frames");
    t = plain("{\"a\":1}"), check_refused(&t, FA_E_FORMAT, "frame 0", "no points");
    t = plain("[[1,2,3,4,5,6]]"), check_refused(&t, FA_E_FORMAT, "frame 0/0", "no landmarks");
    t = plain("[[[1,2],[3,4]]]"), check_refused(&t, FA_E_FORMAT, "frame 0", "2 points are in no layout");
    t = plain("[[[1,2],[3,4]]"), check_refused(&t, FA_E_FORMAT, "line 1, column 15", "ends inside");
    t = plain("[[[1,2],[3,4]]]]"), check_refused(&t, FA_E_FORMAT, "line 1, column 16", "after the end");
    t = plain("{\"fps\":0,\"frames\":[null]}"), check_refused(&t, FA_E_FORMAT, "/fps", "no frame rate");
    t = plain("{\"fps\":-5,\"frames\":[null]}"), check_refused(&t, FA_E_FORMAT, "/fps", "no frame rate");
    t = plain("{\"width\":0,\"frames\":[null]}"), check_refused(&t, FA_E_FORMAT, "/width", "no size of an image");
    t = plain("{\"units\":\"ells\",\"frames\":[null]}"), check_refused(&t, FA_E_FORMAT, "/units", "not known");
    t = spoiled("", "0.25,", "1e99,"), check_refused(&t, FA_E_FORMAT, "frame 0, point 0", "x is no finite number");
    t = spoiled("", "[0.25,", "[\"a\","), check_refused(&t, FA_E_FORMAT, "frame 0/points/0/0", "no landmarks");
    t = spoiled("", "]]", "],[1,2]]"), check_refused(&t, FA_E_FORMAT, "frame 0", "69 points are in no layout");
    t = spoiled("", "\"time\":2,", "\"time\":3,"),
    check_refused(&t, FA_E_FORMAT, "frame 1", "not after the frame before");
    t = spoiled("", "\"time\":2,", "\"time\":null,"),
    check_refused(&t, FA_E_FORMAT, "frame 0/time", "no finite number");
    t = spoiled("", "\"time\":2,", ""), check_refused(&t, FA_E_FORMAT, "", "1 of 2 frames have a time");
    t = spoiled("", "\"time\":2,", "\"visibility\":[1],\"time\":2,"),
    check_refused(&t, FA_E_FORMAT, "frame 0/visibility", "does not fit");
    t = spoiled("", "]]},", "]],}"), check_refused(&t, FA_E_FORMAT, "line 1, column 1528", "a key in quotes");
    // CSV
    t = plain("time,a\n0,1\n"), check_refused(&t, FA_E_FORMAT, "line 1", "names no landmarks");
    t = plain("time,x_0,y_0\n0,1,1\n"), check_refused(&t, FA_E_FORMAT, "line 1", "1 landmarks, from 0 to 0");
    t = plain("time,x_0,y_0,x_0\n0,1,1,1\n"),
    check_refused(&t, FA_E_FORMAT, "line 1, column 14", "two columns are called x_0");
    t = plain("time,x_0,y_0\n"), check_refused(&t, FA_E_FORMAT, "line 2", "no frames");
    FaText of = openface(true, false);
    FaText cut = {0};
    fai_text_bytes(&cut, of.data, of.size - 200);
    FaLandmarkTake *take = load(&cut, NULL); // the last row is cut
    assert_int_equal(take->nframe, 3);
    assert_non_null(note(take, "last-row-cut"));
    fa_landmarks_free(take);
    fai_text_free(&cut);
    char *at = strstr(of.data, "0.1,");
    memcpy(at, "0.0,", 4); // equal times
    check_refused(&of, FA_E_FORMAT, "frame 1", "not after");
    FaError err = {0};
    assert_int_equal(fai_landmarks_parse("{}", 2, &(FaLandmarkOptions){.fps = -1}, &take, &err), FA_E_ARG);
    assert_int_equal(fai_landmarks_parse("{}", 2, &(FaLandmarkOptions){.width = NAN}, &take, &err), FA_E_ARG);
    // many frames without a face ask for no memory that the file does not pay for
    FaText many = {0};
    fai_text_str(&many, "[");
    put_points(&many, 0, 478, 3, false, 1);
    for (int i = 0; i < 400000; i++) fai_text_str(&many, ",0");
    fai_text_str(&many, "]");
    err = (FaError){0};
    assert_true(fai_landmarks_parse(many.data, many.size, NULL, &take, &err) < 0);
    assert_null(take);
    fai_text_free(&many);
}

static void try_bytes(const char *data, size_t n, int *good) {
    FaError err = {0}, bad = {0};
    FaLandmarkTake *t;
    FaCode rc = fai_landmarks_parse(data, n, NULL, &t, &err);
    if (rc >= 0)
        CHECK_OK(fa_landmarks_check(t, &bad), &bad);
    else
        assert_true(!t && err.what[0]);
    *good += rc >= 0;
    fa_landmarks_free(t);
}

static void test_truncated(void **state) {
    (void)state;
    for (int csv = 0; csv < 2; csv++) {
        FaText text = csv ? openface(true, false) : ours(2, 68, 2, "\"fps\":25,\"width\":64,\"height\":48,", 1);
        int whole = 0, flipped = 0;
        for (size_t n = 0; n <= text.size; n += n > 200 && n + 200 < text.size ? 13 : 1) {
            char *copy = calloc(n ? n : 1, 1);
            memcpy(copy, text.data, n);
            try_bytes(copy, n, &whole);
            free(copy);
        }
        for (size_t i = 0; i<text.size; i += i> 300 ? 11 : 1)
            for (int bit = 0; bit < 8; bit++) {
                text.data[i] ^= (char)(1 << bit);
                try_bytes(text.data, text.size, &flipped);
                text.data[i] ^= (char)(1 << bit);
            }
        assert_true(whole > 0 && flipped > 10);
        fai_text_free(&text);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    for (int csv = 0; csv < 2; csv++) {
        FaText text = csv ? openface(true, false) : ours(2, 68, 2, "", 1);
        long failures = 0, dropped = 0;
        for (long n = 1; n < 5000; n++) {
            test_fail_alloc(n);
            long before = test_alloc_balance();
            FaError err = {0};
            FaLandmarkTake *t;
            FaCode rc = fai_landmarks_parse(text.data, text.size, NULL, &t, &err);
            bool failed = test_alloc_failed();
            if (failed && rc >= 0)
                dropped++;
            else if (failed)
                assert_int_equal(rc, FA_E_MEMORY);
            failures += failed;
            fa_landmarks_free(t);
            assert_int_equal(test_alloc_balance(), before);
            test_fail_alloc(0);
            if (!failed) break;
        }
        assert_in_range(failures - dropped, 5, 2000);
        fai_text_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),      cmocka_unit_test(test_dumps),      cmocka_unit_test(test_openface),
        cmocka_unit_test(test_csv),       cmocka_unit_test(test_round_trip), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_truncated), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
