// The benchmark's output: fields, sanity, and that it leaves the number of threads alone.
// labels: heavy
#include "test_rig_head.h"

#include "base/json.h"
#include "bench/bench.h"
#include "bench/bench_tools.h"

static FaJsonDoc *bench(const FaRig *rig, const FaClip *clip) {
    FaError err = {0};
    char *json;
    FaJsonDoc *doc;
    CHECK_OK(fa_bench("blend", rig, clip, &json, &err), &err);
    CHECK_OK(fai_json_parse(json, strlen(json), &doc, NULL, &err), &err);
    fa_free(json);
    return doc;
}

static void fields_of_bench_blend(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    fa_threads_set(2);
    FaJsonDoc *doc = bench(rig, NULL);
    assert_int_equal(fa_threads(), 2);
    assert_string_equal(fai_json_get(doc->root, "name")->string, "blend");
    assert_true(fai_json_is(fai_json_get(doc->root, "machine"), FA_JSON_STRING));
    CHECK_NEAR(fai_json_get(doc->root, "threads")->number, 2, 0);
    FaJson *rows = fai_json_get(doc->root, "rows");
    assert_true(fai_json_count(rows) >= 5);
    for (int i = 0; i < fai_json_count(rows); i++) {
        FaJson *row = fai_json_at(rows, i);
        assert_true(fai_json_is(fai_json_get(row, "case"), FA_JSON_STRING));
        assert_true(fai_json_is(fai_json_get(row, "note"), FA_JSON_STRING));
        double med = fai_json_get(row, "ms_med")->number, min = fai_json_get(row, "ms_min")->number;
        assert_true(min > 0 && med >= min && med < 1000);
        FaJson *accuracy = fai_json_get(row, "accuracy");
        if (strcmp(fai_json_get(row, "case")->string, "copy"))
            assert_true(accuracy->number >= 0 && accuracy->number < 1e-3);
        else
            assert_true(fai_json_is(accuracy, FA_JSON_NULL));
    }
    assert_true(fai_json_is(fai_json_get(doc->root, "identical"), FA_JSON_TRUE));
    assert_true(fai_json_get(fai_json_get(doc->root, "ratios"), "copy")->number > 0);
    assert_non_null(fai_json_get(fai_json_get(doc->root, "ratios"), "sgemv"));
    fai_json_free(doc);
    fa_threads_set(0);
    fa_rig_free(rig);
}

// What docs/guide/cli.md promises of every benchmark's rows, and the ratios that others read. Minutes: FASCIA_FULL=1.
static void fields_of_the_others(void **state) {
    (void)state;
    static const struct {
        const char *name, *ratio[2];
    } benches[] = {{"analytic", {"paper", "linear"}}, {"svd", {"eigen"}},     {"projective", {"eigen", "thesis"}},
                   {"enrich", {"paper", "newton"}},   {"muscle", {"newton"}}, {"methods", {NULL}}};
    if (!getenv("FASCIA_FULL")) {
        print_message("skipped: FASCIA_FULL is not set\n");
        skip();
    }
    for (int b = 0; b < FA_COUNT(benches); b++) {
        FaError err = {0};
        char *json;
        FaJsonDoc *doc;
        CHECK_OK(fa_bench(benches[b].name, NULL, NULL, &json, &err), &err);
        CHECK_OK(fai_json_parse(json, strlen(json), &doc, NULL, &err), &err);
        FaJson *rows = fai_json_get(doc->root, "rows");
        assert_true(fai_json_count(rows) > 1);
        for (int i = 0; i < fai_json_count(rows); i++) {
            FaJson *row = fai_json_at(rows, i);
            assert_true(fai_json_is(fai_json_get(row, "case"), FA_JSON_STRING) &&
                        fai_json_is(fai_json_get(row, "note"), FA_JSON_STRING));
            assert_true(fai_json_get(row, "threads")->number >= 1 && fai_json_get(row, "accuracy"));
            assert_true(fai_json_get(row, "ms_min")->number > 0 &&
                        fai_json_get(row, "ms_med")->number >= fai_json_get(row, "ms_min")->number);
        }
        for (int i = 0; i < 2 && benches[b].ratio[i]; i++)
            assert_true(fai_json_get(fai_json_get(doc->root, "ratios"), benches[b].ratio[i])->number > 0);
        fai_json_free(doc);
        fa_free(json);
    }
}

static void the_rig_made_for_it_is_like_a_real_one(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    FaClip *clip;
    CHECK_OK(fai_bench_rig(&rig, &err), &err);
    CHECK_OK(fa_rig_check(rig, &err), &err);
    assert_int_equal(rig->mesh.nvert, 26719);
    assert_int_equal(rig->nshape, 57);
    CHECK_NEAR(rig->nentry / (26719.0 * 57), 0.44, 0.03);
    CHECK_OK(fai_bench_clip(rig, 100, &clip, &err), &err);
    CHECK_OK(fa_clip_check(clip, &err), &err);
    int zero = 0;
    for (int i = 0; i < 5700; i++) zero += clip->weight[i] == 0;
    CHECK_NEAR(zero / 5700.0, 0.33, 0.05);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

static void what_cannot_be_measured(void **state) {
    (void)state;
    FaError err = {0};
    char *json;
    assert_int_equal(fa_bench("blnd", NULL, NULL, &json, &err), FA_E_ARG);
    assert_non_null(strstr(err.remedy, "blend"));
    assert_null(json);
    FaRig *bare = head_rig(&(HeadOptions){.no_shapes = true});
    assert_int_equal(fa_bench("blend", bare, NULL, &json, NULL), FA_E_ARG);
    fa_rig_free(bare);
    FaRig *rig = head_rig(NULL);
    FaClip *clip;
    static const char *const names[] = {"tail"};
    CHECK_OK(fa_clip_new(3, 1, names, 30, &clip, &err), &err);
    assert_int_equal(fa_bench("blend", rig, clip, &json, NULL), FA_E_ARG); // drives nothing
    fa_clip_free(clip);
    fa_rig_free(rig);
    const char *const *list = fa_bench_names();
    assert_string_equal(list[0], "blend");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_bench_blend),
        cmocka_unit_test(fields_of_the_others),
        cmocka_unit_test(the_rig_made_for_it_is_like_a_real_one),
        cmocka_unit_test(what_cannot_be_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
