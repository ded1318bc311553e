// Errors, notes, memory, numbers, text, tasks, random numbers.
#include "base/base.h"
#include "base/number.h"
#include "base/task.h"
#include "base/text.h"
#include "test.h"

#include <locale.h>

static FaCode inner(FaError *err) { return FA_FAIL(err, FA_E_FORMAT, "line 3", "save it again", "bad value %d", 7); }

static void test_error_keeps_the_first(void **state) {
    (void)state;
    FaError err = {0};
    assert_int_equal(inner(&err), FA_E_FORMAT);
    FA_FAIL(&err, FA_E_MEMORY, NULL, NULL, "later");
    fai_fail_in(&err, FA_E_FORMAT, "a.glb");
    fai_fail_in(&err, FA_E_FORMAT, "b.glb");
    char text[400];
    fa_error_text(&err, text, sizeof text);
    assert_string_equal(text, "a.glb: line 3: bad value 7 (save it again)");
    assert_int_equal(inner(NULL), FA_E_FORMAT); // err is nullable
}

static void test_error_cuts_long_paths_at_characters(void **state) {
    (void)state;
    char path[1000];
    for (int i = 0; i < 999; i += 3) memcpy(path + i, "\xE2\x99\xBB", 3);
    path[999] = 0;
    FaError err = {0};
    inner(&err);
    fai_fail_in(&err, FA_E_FORMAT, path);
    assert_int_equal(strlen(err.path) % 3, 0);
    assert_true(strlen(err.path) > 300);
}

// Whatever a file holds, what is said of it is one line of whole characters.
static void test_error_is_one_line(void **state) {
    (void)state;
    FaError err = {0};
    FA_FAIL(&err, FA_E_FORMAT, "/a\nb", NULL, "'%s' is not known", "x\r\ny\tz\x1b[0m");
    assert_string_equal(err.place, "/a b");
    assert_string_equal(err.what, "'x  y z [0m' is not known");
    char name[600];
    for (size_t i = 0; i < sizeof name - 3; i += 3) memcpy(name + i, "\xE2\x99\xBB", 4);
    for (int shift = 0; shift < 3; shift++) {
        err = (FaError){0};
        FA_FAIL(&err, FA_E_FORMAT, NULL, NULL, "%.*s%s", shift, "abc", name);
        assert_int_equal((strlen(err.what) - (size_t)shift) % 3, 0);
        assert_true(strlen(err.what) > 300);
    }
    err = (FaError){0};
    FA_FAIL(&err, FA_E_FORMAT, NULL, NULL, "\xE2\x99\xBB");
    assert_string_equal(err.what, "\xE2\x99\xBB");
    FaNotes notes = {0};
    fai_note(&notes, "n", "two\nlines", "", "a\nb");
    assert_string_equal(notes.note[0].where, "two lines");
    assert_string_equal(notes.note[0].text, "a b");
    fai_notes_free(&notes);
}

static void test_notes_count(void **state) {
    (void)state;
    FaNotes notes = {0}, copy = {0};
    for (int i = 0; i < 5; i++) fai_note(&notes, "dup", FA_PLACE("line %d", i), "fix it", "seen at %d", i);
    fai_note_count(&notes, 0, "none", NULL, NULL, "nothing");
    fai_note_count(&notes, 92, "over", NULL, NULL, "%d weights", 92);
    assert_int_equal(notes.count, 2);
    assert_int_equal(fai_note_find(&notes, "dup")->count, 5);
    assert_string_equal(fai_note_find(&notes, "dup")->where, "line 0");
    assert_int_equal(fai_note_find(&notes, "over")->count, 92);
    fai_notes_copy(&copy, &notes);
    assert_int_equal(copy.count, 2);
    fai_notes_free(&notes);
    fai_notes_free(&copy);
}

static void test_arrays_refuse_overflow(void **state) {
    (void)state;
    assert_null(fai_alloc_array(SIZE_MAX / 2, 4));
    assert_null(fai_alloc_array(SIZE_MAX, 1));
    void *empty = fai_alloc_array(0, 8);
    assert_non_null(empty);
    fa_free(empty);
}

static void test_arena(void **state) {
    (void)state;
    FaArena *a = fai_arena_new(1024);
    char *keep = fai_arena_printf(a, "%s-%d", "kept", 1);
    FaMark mark = fai_arena_mark(a);
    for (int i = 0; i < 100; i++) {
        float *p = FA_PUSH(a, 100, float);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (int k = 0; k < 100; k++) assert_true(p[k] == 0);
        p[99] = 1;
    }
    fai_arena_release(a, mark);
    assert_string_equal(keep, "kept-1");
    float *again = FA_PUSH(a, 10, float);
    for (int k = 0; k < 10; k++) assert_true(again[k] == 0); // zeroed again after a release
    assert_true(fai_arena_peak(a) >= 100 * 400);
    assert_null(FA_PUSH(a, SIZE_MAX / 4, double));
    fai_arena_free(a);
}

static void check_number(const char *s, double want, int used) {
    double v = -1;
    const char *end = fai_parse_double(s, s + strlen(s), &v);
    if (used < 0) {
        assert_null(end);
        return;
    }
    assert_non_null(end);
    assert_int_equal(end - s, used);
    if (isnan(want))
        assert_true(isnan(v));
    else
        assert_true(v == want && signbit(v) == signbit(want));
}

static void test_numbers_in(void **state) {
    (void)state;
    check_number("0", 0, 1);
    check_number("-0", -0.0, 2);
    check_number("+1.5e2x", 150, 6);
    check_number(".5", 0.5, 2);
    check_number("5.", 5, 2);
    check_number("1e", 1, 1); // an exponent without digits is not one
    check_number("1e400", INFINITY, 5);
    check_number("4.9e-324", 4.9e-324, 8);
    check_number("nan", NAN, 3);
    check_number("-Infinity", -INFINITY, 9);
    check_number("", 0, -1);
    check_number(".", 0, -1);
    check_number("-", 0, -1);
    check_number("0.1234567890123456789012345", 0.1234567890123456789012345, 27);
    check_number("123456789012345678901234567890", 123456789012345678901234567890.0, 30);
    check_number("00000000000000000000000000000000000000001.5", 1.5, 43);
    int64_t i;
    const char *min = "-9223372036854775808", *over = "9223372036854775808";
    assert_non_null(fai_parse_int(min, min + strlen(min), &i));
    assert_true(i == INT64_MIN);
    assert_null(fai_parse_int(over, over + strlen(over), &i));
}

static void test_numbers_agree_with_strtod(void **state) {
    (void)state;
    for (uint64_t k = 0; k < 200000; k++) {
        uint64_t bits = fai_random_u64(1, k);
        double v;
        memcpy(&v, &bits, 8);
        if (!isfinite(v)) continue;
        if (k % 2) v = fai_random_unit(2, k) * 100 - 50; // half of them the sizes files hold
        char text[40];
        snprintf(text, sizeof text, k % 3 ? "%.17g" : "%.10g", v);
        double got;
        assert_non_null(fai_parse_double(text, text + strlen(text), &got));
        assert_true(got == strtod(text, NULL));
    }
}

static void test_numbers_out_round_trip(void **state) {
    (void)state;
    char text[FA_NUMBER_SIZE];
    for (uint64_t k = 0; k < 100000; k++) {
        uint64_t bits = fai_random_u64(3, k);
        double d;
        float f;
        memcpy(&d, &bits, 8);
        memcpy(&f, &bits, 4);
        double back;
        if (isfinite(d)) {
            int n = fai_format_double(text, d);
            assert_int_equal(n, strlen(text));
            fai_parse_double(text, text + n, &back);
            assert_true(back == d);
        }
        if (isfinite(f)) {
            int n = fai_format_float(text, f);
            fai_parse_double(text, text + n, &back);
            assert_true((float)back == f);
        }
    }
    fai_format_float(text, 0.1f);
    assert_string_equal(text, "0.1");
    fai_format_double(text, -0.0);
    assert_string_equal(text, "-0");
}

static void test_numbers_ignore_the_locale(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
    const char *set = NULL;
    for (int i = 0; i < FA_COUNT(names) && !set; i++) set = setlocale(LC_ALL, names[i]);
    if (!set) print_message("no locale with a decimal comma is installed; checked in the C locale only\n");
    char text[FA_NUMBER_SIZE];
    double v;
    fai_format_double(text, 1.0 / 3);
    assert_non_null(strchr(text, '.'));
    const char *slow = "0.12345678901234567890123"; // takes the path through strtod
    fai_parse_double(slow, slow + strlen(slow), &v);
    setlocale(LC_ALL, "C");
    assert_true(v == strtod(slow, NULL));
}

static void test_text_and_json_writer(void **state) {
    (void)state;
    FaText t = {0};
    FaJsonWriter w = {.text = &t};
    fai_jw_open(&w, NULL, '{');
    fai_jw_str(&w, "a\"b", "x\n\x01y");
    fai_jw_open(&w, "list", '[');
    fai_jw_num(&w, NULL, 0.1);
    fai_jw_num(&w, NULL, NAN);
    fai_jw_int(&w, NULL, -3);
    fai_jw_close(&w);
    fai_jw_bool(&w, "ok", true);
    fai_jw_close(&w);
    assert_string_equal(t.data, "{\"a\\\"b\":\"x\\n\\u0001y\",\"list\":[0.1,null,-3],\"ok\":true}");
    fai_text_free(&t);
}

typedef struct Sum {
    const double *x;
    double part[64];
} Sum;
static void sum_job(void *ctx, int begin, int end, int chunk) {
    Sum *s = ctx;
    double a = 0;
    for (int i = begin; i < end; i++) a += s->x[i];
    s->part[chunk] = a;
}

static void test_parallel_sums_are_the_same_bits(void **state) {
    (void)state;
    enum { N = 50001 };
    double *x = FA_NEW(N, double), first = 0;
    for (int i = 0; i < N; i++) x[i] = fai_random_normal(5, (uint64_t)i);
    for (int threads = 1; threads <= 8; threads++) {
        fa_threads_set(threads);
        Sum s = {.x = x};
        fai_parallel(N, 1024, sum_job, &s);
        double total = 0;
        for (int c = 0; c < fai_chunks(N, 1024); c++) total += s.part[c];
        if (threads == 1) first = total;
        assert_true(total == first);
    }
    fa_threads_set(0);
    assert_int_equal(fai_chunks(0, 10), 0);
    assert_int_equal(fai_chunks(10, 10), 1);
    assert_int_equal(fai_chunks(11, 10), 2);
    fa_free(x);
}

static void test_random_numbers(void **state) {
    (void)state;
    double mean = 0, var = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        double z = fai_random_normal(42, i);
        mean += z / 1e5;
        var += z * z / 1e5;
    }
    CHECK_NEAR(mean, 0, 0.02);
    CHECK_NEAR(var, 1, 0.02);
    assert_true(fai_random_u64(1, 2) != fai_random_u64(2, 1));
    assert_true(fai_hash64("abc", 3, 0) != fai_hash64("abd", 3, 0));
    assert_true(fai_hash64("", 0, 0) != fai_hash64("\0", 1, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_keeps_the_first),
        cmocka_unit_test(test_error_cuts_long_paths_at_characters),
        cmocka_unit_test(test_error_is_one_line),
        cmocka_unit_test(test_notes_count),
        cmocka_unit_test(test_arrays_refuse_overflow),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_numbers_in),
        cmocka_unit_test(test_numbers_agree_with_strtod),
        cmocka_unit_test(test_numbers_out_round_trip),
        cmocka_unit_test(test_numbers_ignore_the_locale),
        cmocka_unit_test(test_text_and_json_writer),
        cmocka_unit_test(test_parallel_sums_are_the_same_bits),
        cmocka_unit_test(test_random_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
