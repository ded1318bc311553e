// Lists of trust: what counts, and what is refused with its line.
#include "test.h"

#include "base/file.h"
#include "track/markers_trust.h"

static const char *name[] = {"a", "lip, upper", "nose tip"};
static const FaMarkerMap map = {.count = 3, .name = name};

static FaCode parse(const char *text, float trust[3], FaError *err) {
    *err = (FaError){0};
    return fai_marker_trust_parse(text, strlen(text), &map, trust, err);
}

static void test_accepted(void **state) {
    (void)state;
    static const struct {
        const char *text;
        float trust[3];
    } cases[] = {{"", {1, 1, 1}},
                 {"a,0.5", {0.5f, 1, 1}},
                 {"\xEF\xBB\xBF# remark, 7\r\n\r\n a , 2 \r\nnose tip,0\r\n", {2, 1, 0}},
                 {"lip, upper,3\nnose tip,1e-1\n", {1, 3, 0.1f}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float trust[3];
        FaError err;
        CHECK_OK(parse(cases[i].text, trust, &err), &err);
        assert_memory_equal(trust, cases[i].trust, sizeof trust);
    }
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *place, *what;
    } cases[] = {{"a", "line 1", "no weight"},     {"a,1\nb,1", "line 2", "no marker is called 'b'"},
                 {"a,", "line 1", "no weight"},    {"a,-1", "line 1", "no weight"},
                 {"a,nan", "line 1", "no weight"}, {"a,1e30", "line 1", "no weight"},
                 {",1", "line 1", "no weight"},    {"a,1 2", "line 1", "no weight"},
                 {"a,1\n\na,2", "line 3", "twice"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float trust[3];
        FaError err;
        assert_int_equal(parse(cases[i].text, trust, &err), FA_E_FORMAT);
        assert_string_equal(err.place, cases[i].place);
        assert_non_null(strstr(err.what, cases[i].what));
    }
}

static void test_files(void **state) {
    (void)state;
    float trust[3];
    FaError err = {0};
    CHECK_OK(fai_file_write(test_path("trust.txt"), "a,2\n", 4, &err), &err);
    CHECK_OK(fa_marker_trust_load(test_path("trust.txt"), &map, trust, &err), &err);
    assert_true(trust[0] == 2);
    assert_int_equal(fa_marker_trust_load(test_path("none.txt"), &map, trust, &err), FA_E_FILE);
    assert_non_null(strstr(err.path, "none.txt"));
    err = (FaError){0};
    assert_true(fa_marker_trust_load(test_dir(), &map, trust, &err) < 0); // a folder is no list of nothing
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accepted), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
