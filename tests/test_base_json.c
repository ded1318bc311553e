// The JSON reader and writer against JSONTestSuite; bytes that stay bytes; edits that touch nothing else.
#include "test.h"

#include "base/file.h"
#include "base/json.h"

// --- JSONTestSuite ------------------------------------------------------------------------------------------------

// What a reader is free to decide, and what ours does. Refused: text that is not UTF-8, halves of surrogate pairs (they
// have no UTF-8 form), depth over 256. Accepted: numbers beyond a double's range, which read as infinity or 0 and keep
// their digits in the file; typed reads (fai_json_num_or ...) refuse an infinity. Accepted: a byte order mark, which is
// skipped.
static const struct {
    const char *name;
    bool accepted;
} free_choice[] = {
    {"i_number_double_huge_neg_exp", true},
    {"i_number_huge_exp", true},
    {"i_number_neg_int_huge_exp", true},
    {"i_number_pos_double_huge_exp", true},
    {"i_number_real_neg_overflow", true},
    {"i_number_real_pos_overflow", true},
    {"i_number_real_underflow", true},
    {"i_number_too_big_neg_int", true},
    {"i_number_too_big_pos_int", true},
    {"i_number_very_big_negative_int", true},
    {"i_object_key_lone_2nd_surrogate", false},
    {"i_string_1st_surrogate_but_2nd_missing", false},
    {"i_string_1st_valid_surrogate_2nd_invalid", false},
    {"i_string_UTF-16LE_with_BOM", false},
    {"i_string_UTF-8_invalid_sequence", false},
    {"i_string_UTF8_surrogate_U+D800", false},
    {"i_string_incomplete_surrogate_and_escape_valid", false},
    {"i_string_incomplete_surrogate_pair", false},
    {"i_string_incomplete_surrogates_escape_valid", false},
    {"i_string_invalid_lonely_surrogate", false},
    {"i_string_invalid_surrogate", false},
    {"i_string_invalid_utf-8", false},
    {"i_string_inverted_surrogates_U+1D11E", false},
    {"i_string_iso_latin_1", false},
    {"i_string_lone_second_surrogate", false},
    {"i_string_lone_utf8_continuation_byte", false},
    {"i_string_not_in_unicode_range", false},
    {"i_string_overlong_sequence_2_bytes", false},
    {"i_string_overlong_sequence_6_bytes", false},
    {"i_string_overlong_sequence_6_bytes_null", false},
    {"i_string_truncated-utf-8", false},
    {"i_string_utf16BE_no_BOM", false},
    {"i_string_utf16LE_no_BOM", false},
    {"i_structure_500_nested_arrays", false},
    {"i_structure_UTF-8_BOM_empty_object", true},
};

static int chosen(const char *base) {
    for (size_t i = 0; i < sizeof free_choice / sizeof *free_choice; i++)
        if (!strncmp(base, free_choice[i].name, strlen(free_choice[i].name)) &&
            !strcmp(base + strlen(free_choice[i].name), ".json"))
            return free_choice[i].accepted;
    return -1;
}

// The document as it is written back: the value, and the spaces around it, which belong to the file.
static void check_same_bytes(const FaJsonDoc *doc, const FaBytes *bytes) {
    FaText out = {0};
    fai_json_write(doc->root, &out);
    size_t before = (size_t)(doc->root->src - doc->text);
    assert_true(before + out.size <= bytes->size);
    assert_memory_equal(out.data, bytes->data + before, out.size);
    for (size_t i = before + out.size; i < bytes->size; i++) assert_non_null(strchr(" \t\r\n", bytes->data[i]));
    fai_text_free(&out);
}

static void test_parsing_suite(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(dir, "suites/JSONTestSuite/test_parsing");
    char **list = test_list(dir, ".json");
    int must = 0, must_not = 0, may = 0, n = 0;
    for (; list[n]; n++) {
        const char *base = strrchr(list[n], '/') + 1;
        FaBytes bytes;
        FaError err = {0};
        FaJsonDoc *doc;
        CHECK_OK(fai_file_read(list[n], 0, &bytes, &err), &err);
        FaCode rc = fai_json_parse((const char *)bytes.data, bytes.size, &doc, NULL, &err);
        int expected = base[0] == 'y' ? 1 : base[0] == 'n' ? 0 : chosen(base);
        if (expected < 0) fail_msg("%s: not decided", base);
        if ((rc >= 0) != expected) fail_msg("%s: %s", base, rc < 0 ? err.what : "accepted");
        must += base[0] == 'y', must_not += base[0] == 'n', may += base[0] == 'i';
        if (rc >= 0)
            check_same_bytes(doc, &bytes);
        else {
            assert_int_equal(rc, FA_E_FORMAT);
            assert_memory_equal(err.place, "line ", 5);
            assert_null(doc);
        }
        fai_json_free(doc);
        fai_bytes_free(&bytes);
    }
    test_list_free(list);
    print_message("%d accepted, %d refused, %d decided\n", must, must_not, may);
    assert_int_equal(n, 318);
    assert_int_equal(may, sizeof free_choice / sizeof *free_choice);
}

// What test_transform asks: how values come out that readers understand differently.
static void test_transform_suite(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *shown;
    } truth[] = {
        // [value] as a number with 17 digits, a string's bytes in hex, or an object's keys and what look-up by the
        // first finds
        {"number_-9223372036854775808", "-9.2233720368547758e+18"},
        {"number_-9223372036854775809", "-9.2233720368547758e+18"},
        {"number_1.0", "1"},
        {"number_1.000000000000000005", "1"},
        {"number_1000000000000000", "1000000000000000"},
        {"number_10000000000000000999", "1e+19"},
        {"number_1e-999", "0"},
        {"number_1e6", "1000000"},
        {"number_9223372036854775807", "9.2233720368547758e+18"},
        {"number_9223372036854775808", "9.2233720368547758e+18"},
        {"object_key_nfc_nfd", "2 keys, first NFC"}, // composed and decomposed forms are two keys
        {"object_key_nfd_nfc", "2 keys, first NFD"},
        {"object_same_key_different_values", "2 keys, first 1"}, // both stay in the file, look-up finds the first
        {"object_same_key_same_value", "2 keys, first 1"},
        {"object_same_key_unclear_values", "2 keys, first 0"},
        {"string_1_escaped_invalid_codepoint", "refused"},
        {"string_1_invalid_codepoint", "refused"},
        {"string_2_escaped_invalid_codepoints", "refused"},
        {"string_2_invalid_codepoints", "refused"},
        {"string_3_escaped_invalid_codepoints", "refused"},
        {"string_3_invalid_codepoints", "refused"},
        {"string_with_escaped_NULL", "41 00 42 "},
    };
    TEST_DATA_OR_SKIP(dir, "suites/JSONTestSuite/test_transform");
    for (size_t i = 0; i < sizeof truth / sizeof *truth; i++) {
        char path[4200], shown[100] = "refused";
        snprintf(path, sizeof path, "%s/%s.json", dir, truth[i].name);
        FaBytes bytes;
        FaError err = {0};
        FaJsonDoc *doc;
        CHECK_OK(fai_file_read(path, 0, &bytes, &err), &err);
        if (fai_json_parse((const char *)bytes.data, bytes.size, &doc, NULL, &err) >= 0) {
            check_same_bytes(doc, &bytes);
            const FaJson *v = fai_json_at(doc->root, 0);
            if (fai_json_is(v, FA_JSON_NUMBER))
                snprintf(shown, sizeof shown, "%.17g", v->number);
            else if (fai_json_is(v, FA_JSON_STRING)) {
                shown[0] = 0;
                for (int k = 0; k < v->string_size; k++) sprintf(shown + 3 * k, "%02x ", (unsigned char)v->string[k]);
            } else {
                const FaJson *f = doc->root->first, *hit = fai_json_get(doc->root, f->key);
                assert_ptr_equal(hit, f);
                if (fai_json_is(f, FA_JSON_STRING))
                    snprintf(shown, sizeof shown, "%d keys, first %s", doc->root->count, f->string);
                else
                    snprintf(shown, sizeof shown, "%d keys, first %g", doc->root->count, f->number);
            }
        }
        if (strcmp(shown, truth[i].shown)) fail_msg("%s: '%s', expected '%s'", truth[i].name, shown, truth[i].shown);
        fai_json_free(doc);
        fai_bytes_free(&bytes);
    }
}

// --- edits --------------------------------------------------------------------------------------------------------

static FaJsonDoc *parse(const char *text) {
    FaError err = {0};
    FaJsonDoc *doc;
    CHECK_OK(fai_json_parse(text, strlen(text), &doc, NULL, &err), &err);
    return doc;
}

static void check_written(FaJsonDoc *doc, const char *expected) {
    FaText out = {0};
    fai_json_write(doc->root, &out);
    assert_string_equal(out.data, expected);
    fai_text_free(&out);
    fai_json_free(doc);
}

static void test_set(void **state) {
    (void)state;
    // one value: everything else keeps its bytes, however it is spaced and spelled
    FaJsonDoc *doc = parse("{ \"a\" :1.50 ,\"b\":  [1e2,\t2 , 3],\n\n  \"c\":{\"d\\u0041\":null}}");
    fai_json_set(doc, doc->root, "a", fai_json_new_num(doc, 0.1));
    check_written(doc, "{ \"a\" :0.1 ,\"b\":  [1e2,\t2 , 3],\n\n  \"c\":{\"d\\u0041\":null}}");

    doc = parse("{ \"a\" :1.50 ,\"b\":  [1e2,\t2 , 3],\n\n  \"c\":{\"d\\u0041\":null}}");
    fai_json_set(doc, fai_json_get(doc->root, "c"), "dA", fai_json_new_str(doc, "x\"y"));
    check_written(doc, "{ \"a\" :1.50 ,\"b\":  [1e2,\t2 , 3],\n\n  \"c\":{\"d\\u0041\":\"x\\\"y\"}}");

    // deep inside a file indented by hand
    const char *text = "{\n  \"meshes\": [ {\n      \"name\": \"a\", \"weights\": [0.0, 0.10, 1.0]\n    },\n    "
                       "{\"name\": \"b\"} ],\n  \"x\": 1.000\n}";
    doc = parse(text);
    fai_json_set(doc, fai_json_at(fai_json_get(doc->root, "meshes"), 1), "name", fai_json_new_str(doc, "B"));
    check_written(doc, "{\n  \"meshes\": [ {\n      \"name\": \"a\", \"weights\": [0.0, 0.10, 1.0]\n    },\n    "
                       "{\"name\": \"B\"} ],\n  \"x\": 1.000\n}");
}

static void test_add_and_remove(void **state) {
    (void)state;
    FaJsonDoc *doc = parse("{\"a\":1,\"b\":[1,2]}");
    fai_json_set(doc, doc->root, "c", fai_json_new_int(doc, -7));
    fai_json_append(doc, fai_json_get(doc->root, "b"), fai_json_new_float(doc, 0.1f));
    check_written(doc, "{\"a\":1,\"b\":[1,2,0.1],\"c\":-7}");

    // additions to an indented file are indented
    doc = parse("{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ]\n}");
    fai_json_append(doc, fai_json_get(doc->root, "b"), fai_json_new_int(doc, 3));
    fai_json_set(doc, doc->root, "c", fai_json_new_str(doc, "z"));
    check_written(doc, "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2,\n    3\n  ],\n  \"c\": \"z\"\n}");

    // removal leaves the others as they were
    doc = parse("{\"a\":1.0,\"b\":2.0,\"c\":3.0}");
    assert_true(fai_json_remove(doc->root, "b"));
    assert_false(fai_json_remove(doc->root, "b"));
    assert_int_equal(fai_json_count(doc->root), 2);
    check_written(doc, "{\"a\":1.0,\"c\":3.0}");

    doc = parse("{\"a\":1}");
    assert_true(fai_json_remove(doc->root, "a"));
    check_written(doc, "{}");

    // new containers
    doc = parse("{}");
    FaJson *list = fai_json_set(doc, doc->root, "list", fai_json_new_array(doc));
    FaJson *object = fai_json_append(doc, list, fai_json_new_object(doc));
    fai_json_set(doc, object, "k\n", fai_json_new_num(doc, 1e300));
    assert_string_equal(fai_json_path(fai_json_get(object, "k\n")).text, "/list/0/k\n");
    check_written(doc, "{\"list\":[{\"k\\n\":1e+300}]}");
}

// Every scalar of real documents changed, one at a time: the bytes before and after it stay.
static void check_each_edit(FaJsonDoc *doc, FaJson *v, int *edits) {
    for (FaJson *c = v->first; c; c = c->next) {
        if (c->first)
            check_each_edit(doc, c, edits);
        else if (v->type == FA_JSON_OBJECT && c->type != FA_JSON_OBJECT && c->type != FA_JSON_ARRAY && *edits < 300) {
            if (fai_json_get(v, c->key) != c) continue; // a second one of that name
            // parse afresh, so that edits do not add up
            FaError err = {0};
            FaJsonDoc *copy;
            CHECK_OK(fai_json_parse(doc->text, doc->size, &copy, NULL, &err), &err);
            size_t at = (size_t)(c->src - doc->text), after = at + (size_t)c->src_size;
            // the same value in the copy, by its place in the text
            FaJson *w = copy->root;
            while (w && (size_t)(w->src - copy->text) != at) {
                FaJson *next = NULL;
                for (FaJson *k = w->first; k; k = k->next)
                    if ((size_t)(k->src - copy->text) <= at && at < (size_t)(k->src - copy->text) + (size_t)k->src_size)
                        next = k;
                w = next;
            }
            assert_non_null(w);
            fai_json_set(copy, w->parent, w->key, fai_json_new_str(copy, "EDITED"));
            FaText out = {0};
            fai_json_write(copy->root, &out);
            size_t start = (size_t)(copy->root->src - copy->text), tail = start + (size_t)copy->root->src_size - after;
            assert_int_equal(out.size, at - start + 8 + tail);
            assert_memory_equal(out.data, doc->text + start, at - start);
            assert_memory_equal(out.data + (at - start), "\"EDITED\"", 8);
            assert_memory_equal(out.data + out.size - tail, doc->text + after, tail);
            fai_text_free(&out);
            fai_json_free(copy);
            ++*edits;
        }
    }
}

static void test_edit_real_files(void **state) {
    (void)state;
    static const char *const suites[] = {"suites/JSONTestSuite/test_parsing", "suites/gltf-validator"};
    int files = 0, total = 0;
    for (int s = 0; s < 2; s++) {
        TEST_DATA_OR_SKIP(dir, suites[s]);
        char **list = test_list(dir, s ? ".gltf" : ".json");
        for (int i = 0; list[i]; i++) {
            FaBytes bytes;
            FaError err = {0};
            FaJsonDoc *doc;
            CHECK_OK(fai_file_read(list[i], 0, &bytes, &err), &err);
            if (bytes.size < 20000 && fai_json_parse((const char *)bytes.data, bytes.size, &doc, NULL, &err) >= 0) {
                int edits = 0;
                check_each_edit(doc, doc->root, &edits);
                total += edits;
                files += edits > 0;
                fai_json_free(doc);
            }
            fai_bytes_free(&bytes);
        }
        test_list_free(list);
    }
    print_message("%d edits in %d files\n", total, files);
    assert_true(files > 300 && total > 2000);
}

// --- typed reads, paths, limits -----------------------------------------------------------------------------------

static void test_typed(void **state) {
    (void)state;
    FaJsonDoc *doc =
        parse("{\"i\":3,\"f\":2.5,\"big\":1e999,\"s\":\"x\",\"v\":[1,2,3],\"o\":{\"~k/\":[0,{\"z\":true}]}}");
    const FaJson *root = doc->root;
    FaError err = {0};
    int64_t i;
    double d, v[3];
    bool present;
    CHECK_OK(fai_json_int(root, "i", 0, 10, &i, &err), &err);
    assert_int_equal(i, 3);
    CHECK_OK(fai_json_int_or(root, "none", 0, 10, 7, &i, &err), &err);
    assert_int_equal(i, 7);
    assert_int_equal(fai_json_int(root, "i", 0, 2, &i, &err), FA_E_FORMAT);
    assert_string_equal(err.place, "/i");
    err = (FaError){0};
    assert_int_equal(fai_json_int(root, "f", 0, 10, &i, &err), FA_E_FORMAT);
    err = (FaError){0};
    assert_int_equal(fai_json_int(root, "none", 0, 10, &i, &err), FA_E_FORMAT);
    err = (FaError){0};
    assert_int_equal(fai_json_num_or(root, "big", 0, &d, &err), FA_E_FORMAT); // an infinity is no use
    assert_string_equal(err.place, "/big");
    err = (FaError){0};
    CHECK_OK(fai_json_nums(root, "v", 3, v, &present, &err), &err);
    assert_true(present && v[2] == 3);
    assert_int_equal(fai_json_nums(root, "v", 2, v, &present, &err), FA_E_FORMAT);
    const FaJson *z = fai_json_get(fai_json_at(fai_json_get(fai_json_get(root, "o"), "~k/"), 1), "z");
    assert_true(fai_json_is(z, FA_JSON_TRUE));
    assert_memory_equal(fai_json_path(z).text, "/o/", 3);
    assert_null(fai_json_get(fai_json_at(fai_json_get(root, "absent"), 4), "mesh")); // chains are safe
    assert_null(fai_json_at(fai_json_get(root, "v"), 3));
    assert_null(fai_json_at(fai_json_get(root, "v"), -1));
    fai_json_free(doc);
}

static void test_places(void **state) {
    (void)state;
    static const struct {
        const char *text, *place;
    } cases[] = {{"", "line 1, column 1"},
                 {"[1,\n 2,\n  x]", "line 3, column 3"},
                 {"{\"é\": tru}", "line 1, column 7"},
                 {"[\"a\nb\"]", "line 1, column 4"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FaError err = {0};
        FaJsonDoc *doc;
        assert_int_equal(fai_json_parse(cases[i].text, strlen(cases[i].text), &doc, NULL, &err), FA_E_FORMAT);
        assert_string_equal(err.place, cases[i].place);
    }
}

static void test_limits(void **state) {
    (void)state;
    // depth: 256 levels are read, 257 are not, a million do not overflow the stack
    enum { MANY = 1000000 };
    char *deep = malloc(2 * MANY);
    memset(deep, '[', MANY);
    memset(deep + MANY, ']', MANY);
    static const struct {
        int depth;
        bool good;
    } cases[] = {{256, true}, {257, false}, {MANY, false}};
    for (int i = 0; i < 3; i++) {
        FaError err = {0};
        FaJsonDoc *doc;
        FaCode rc = fai_json_parse(deep + MANY - cases[i].depth, 2 * (size_t)cases[i].depth, &doc, NULL, &err);
        assert_int_equal(rc >= 0, cases[i].good);
        fai_json_free(doc);
    }
    // a long flat array and long strings take linear time
    for (int kind = 0; kind < 2; kind++) {
        memset(deep, kind ? 'a' : '1', 2 * MANY);
        if (!kind)
            for (int i = 2; i < 2 * MANY - 2; i += 2) deep[i] = ',';
        deep[0] = kind ? '"' : '[';
        deep[2 * MANY - 1] = kind ? '"' : ']';
        FaError err = {0};
        FaJsonDoc *doc;
        CHECK_OK(fai_json_parse(deep, 2 * MANY, &doc, NULL, &err), &err);
        if (kind)
            assert_int_equal(doc->root->string_size, 2 * MANY - 2);
        else
            assert_non_null(fai_json_at(doc->root, MANY - 2));
        fai_json_free(doc);
    }
    free(deep);
}

// --- bad input ----------------------------------------------------------------------------------------------------

static const char tricky[] =
    "\xEF\xBB\xBF{\"a\\n\\u00e9\\ud83d\\ude00\":[1.5e-3,-0,true,null,\"\",\"x\xC3\xA9\"],\"b\":{\"c\":{}}}";

static void test_mangled(void **state) {
    (void)state;
    int good = 0;
    for (size_t n = 0; n < sizeof tricky; n++) {
        char *copy = calloc(n ? n : 1, 1);
        memcpy(copy, tricky, n);
        for (size_t i = 0; i <= n; i++) {
            FaError err = {0};
            FaJsonDoc *doc;
            if (i < n) copy[i] ^= 1 << (i % 8);
            if (fai_json_parse(copy, n, &doc, NULL, &err) >= 0) {
                good += i == n;
                FaBytes bytes = {(unsigned char *)copy, n};
                check_same_bytes(doc, &bytes);
            }
            fai_json_free(doc);
            if (i < n) copy[i] ^= 1 << (i % 8);
        }
        free(copy);
    }
    assert_int_equal(good, 1); // only the whole text
}

static void test_no_memory(void **state) {
    (void)state;
    long failures = 0;
    for (long n = 1; n < 1000; n++) {
        test_fail_alloc(n);
        long before = test_alloc_balance();
        FaError err = {0};
        FaJsonDoc *doc;
        FaText out = {0};
        FaCode rc = fai_json_parse(tricky, sizeof tricky - 1, &doc, NULL, &err);
        if (rc >= 0) {
            fai_json_set(doc, doc->root, "b", fai_json_new_str(doc, "long enough to need room of its own"));
            fai_json_write(doc->root, &out);
        } else
            assert_int_equal(rc, FA_E_MEMORY);
        fai_text_free(&out);
        fai_json_free(doc);
        assert_int_equal(test_alloc_balance(), before);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        if (!failed) break;
        failures++;
    }
    assert_in_range(failures, 4, 100);
}

// The writer of the public header: nesting, escapes, what is not a number, objects joined into one.
static void test_public_writer(void **state) {
    (void)state;
    FaError err = {0};
    FaJsonWriter *w;
    char *json;
    CHECK_OK(fa_json_new(&w, &err), &err);
    fa_json_begin(w, NULL, '{');
    fa_json_text(w, "a \"b\"", "line\n\x01");
    fa_json_text(w, "none", NULL);
    fa_json_number(w, "x", 0.1);
    fa_json_number(w, "nan", (double)NAN);
    fa_json_int(w, "n", -3);
    fa_json_bool(w, "yes", true);
    fa_json_begin(w, "list", '[');
    fa_json_int(w, NULL, 1);
    fa_json_raw(w, NULL, "{\"k\":2}");
    fa_json_end(w);
    fa_json_members(w, " {\"p\":1, \"q\":[2]} \n");
    fa_json_members(w, "{ }");
    fa_json_int(w, "last", 9);
    fa_json_end(w);
    CHECK_OK(fa_json_finish(w, &json, &err), &err);
    assert_string_equal(json, "{\"a \\\"b\\\"\":\"line\\n\\u0001\",\"none\":null,\"x\":0.1,\"nan\":null,\"n\":-3,"
                              "\"yes\":true,\"list\":[1,{\"k\":2}],\"p\":1, \"q\":[2],\"last\":9}");
    fa_free(json);
    fa_json_free(NULL);
    // memory that is missing in between is told at the end
    CHECK_OK(fa_json_new(&w, &err), &err);
    fa_json_begin(w, NULL, '[');
    test_fail_alloc(1);
    for (int i = 0; i < 5000; i++) fa_json_int(w, NULL, i);
    assert_true(test_alloc_failed());
    test_fail_alloc(0);
    fa_json_end(w);
    assert_int_equal(fa_json_finish(w, &json, &err), FA_E_MEMORY);
    assert_null(json);
}

// An error shows the line that it means, in short.
static void test_quotes(void **state) {
    (void)state;
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"{\n  \"mu\": 3 \"x\": 4\n}", "a comma or a closing bracket is missing, at '  \"mu\": 3 \"x\": 4'"},
        {"[1, 2\n\n", "an array is not closed"},
        {"", "the text ends where a value should be"},
        {"[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 17,18,19,20,21,22,23,24,25]",
         "at ',9,10,11,12,13,14,15,16 17,18,19,20,21,2'"},
        {"[\"\xff\"]", "a string is not UTF-8, at '[\"?\"]'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FaJsonDoc *doc;
        FaError err = {0};
        assert_int_equal(fai_json_parse(cases[i].text, strlen(cases[i].text), &doc, NULL, &err), FA_E_FORMAT);
        if (!strstr(err.what, cases[i].what)) fail_msg("%s", err.what);
        assert_true(strlen(err.what) < 110 && !strchr(err.what, '\n'));
    }
    // a value that is of another kind than expected: its beginning, in one line
    static const char text[] =
        "{\"n\": [\n    {\n      \"deep\": 1,\n      \"more\": [1, 2, 3, 4, 5, 6, 7, 8, 9]\n    }\n  ],"
        " \"u\": \"0123456789012345678901234567890123456\xE2\x99\xBB\xE2\x99\xBB\"}";
    FaJsonDoc *doc;
    FaError err = {0}, odd = {0};
    int64_t value;
    CHECK_OK(fai_json_parse(text, sizeof text - 1, &doc, NULL, &err), &err);
    assert_int_equal(fai_json_int(doc->root, "n", 0, 9, &value, &err), FA_E_FORMAT);
    assert_string_equal(err.what, "expected an integer, found [ { \"deep\": 1, \"more\": [1, 2, 3, 4, 5, 6...");
    assert_int_equal(fai_json_int(doc->root, "u", 0, 9, &value, &odd), FA_E_FORMAT);
    assert_string_equal(odd.what, "expected an integer, found \"0123456789012345678901234567890123456...");
    fai_json_free(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parsing_suite),  cmocka_unit_test(test_transform_suite), cmocka_unit_test(test_set),
        cmocka_unit_test(test_add_and_remove), cmocka_unit_test(test_edit_real_files), cmocka_unit_test(test_typed),
        cmocka_unit_test(test_places),         cmocka_unit_test(test_limits),          cmocka_unit_test(test_mangled),
        cmocka_unit_test(test_no_memory),      cmocka_unit_test(test_public_writer),   cmocka_unit_test(test_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
