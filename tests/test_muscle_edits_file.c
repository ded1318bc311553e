// Edits and curves as files: what they mean, and what is told of what is wrong.
// labels: unit
#include "test.h"

#include "muscle/clip_edits.h"
#include "muscle/curves.h"
#include "muscle/edits.h"

#include <math.h>

static void reads_all(void **state) {
    (void)state;
    const char *json =
        "{\"unit\":\"cm\",\"spring\":5e10,\"edits\":["
        "{\"muscle\":\"inc_*\",\"u\":0.25,\"move\":{\"lateral\":0.8,\"up\":0.1,\"back\":0.2},\"falloff\":0.3,"
        "\"key\":0.5},{\"muscle\":\"dao\",\"activation\":0.4},{\"muscle\":\"lao\",\"activation\":\"length\"},"
        "{\"muscle\":\"*\",\"retime\":[[0,0],[0.3,0.5],[1,1]]},{\"jaw\":{\"open\":6,\"side\":-0.2}}]}";
    FaEdits e;
    FaError err = {0};
    CHECK_OK(fai_edits_parse(json, strlen(json), &e, &err), &err);
    assert_int_equal(e.n, 5);
    CHECK_NEAR(e.edit[0].move[0], -8e-3, 1e-12);
    CHECK_NEAR(e.edit[0].move[1], 1e-3, 1e-12);
    CHECK_NEAR(e.edit[0].move[2], -2e-3, 1e-12);
    assert_true(e.edit[0].fall == FA_FALL_WIDTH && e.edit[0].width == 0.3 && e.edit[0].key == 0.5);
    assert_true(e.edit[1].how == FA_ACTIVATION_SET && e.edit[1].activation == 0.4 && e.edit[1].u == 1);
    assert_true(e.edit[2].how == FA_ACTIVATION_LENGTH && e.edit[3].nretime == 3 && e.spring == 5e10);
    assert_true(e.edit[4].jaw[0] && !e.edit[4].jaw[1] && e.edit[4].open == 6);
    CHECK_NEAR(e.edit[4].side, -2e-3, 1e-12);
    fai_edits_free(&e);
}

static void reads_times(void **state) {
    (void)state;
    const char *json =
        "{\"fps\":24,\"edits\":[{\"muscle\":\"dao\",\"activation\":1,\"frames\":[48,60],\"ease\":6},"
        "{\"muscle\":\"dao\",\"activation\":1,\"seconds\":[2,2]},{\"muscle\":\"dao\",\"activation\":1}]}";
    FaEdits e;
    FaError err = {0};
    CHECK_OK(fai_edits_parse(json, strlen(json), &e, &err), &err);
    assert_true(e.edit[0].timed && e.edit[1].timed && !e.edit[2].timed);
    CHECK_NEAR(e.edit[0].from, 2, 1e-12);
    CHECK_NEAR(e.edit[0].to, 2.5, 1e-12);
    CHECK_NEAR(e.edit[0].ease, 0.25, 1e-12);
    CHECK_NEAR(fai_clip_edit_share(&e.edit[0], 1.875), 0.5, 1e-12);
    CHECK_NEAR(fai_clip_edit_share(&e.edit[0], 1.75), 0, 0);
    CHECK_NEAR(fai_clip_edit_share(&e.edit[0], 2.501), 1, 0); // times of frames are written in milliseconds
    CHECK_NEAR(fai_clip_edit_share(&e.edit[0], 1.999), 1, 0);
    CHECK_NEAR(fai_clip_edit_share(&e.edit[0], 2.7), 0.2 * 0.2 * (3 - 2 * 0.2), 1e-9);
    assert_true(fai_clip_edit_share(&e.edit[2], 1e6) == 1 && e.edit[1].ease > 0.1);
    fai_edits_free(&e);
}

static void refuses(const char *edit, const char *place, const char *what, const char *remedy) {
    char json[1000];
    FaEdits e;
    FaError err = {0};
    snprintf(json, sizeof json, "{\"edits\":[{\"muscle\":\"dao\",\"activation\":1},%s]}", edit);
    assert_int_equal(fai_edits_parse(json, strlen(json), &e, &err), FA_E_FORMAT);
    if (!strstr(err.place, place) || !strstr(err.what, what) || !strstr(err.remedy, remedy))
        fail_msg("%s: %s (%s)", err.place, err.what, err.remedy);
}

static void wrong_edits(void **state) {
    (void)state;
    refuses("{\"muscle\":\"dao\",\"move\":{\"sideways\":8}}", "/edits/1/move", "'sideways' is no direction", "lateral");
    refuses("{\"muscle\":\"dao\",\"move\":{\"up\":800}}", "/edits/1/move/up", "800", "-100 to 100");
    refuses("{\"muscle\":\"dao\",\"move\":{\"up\":\"8\"}}", "/edits/1/move/up", "", "a number");
    refuses("{\"muscle\":\"dao\",\"move\":{\"up\":1},\"key\":1.5}", "/edits/1/key", "1.5", "to 1");
    refuses("{\"muscle\":\"dao\",\"move\":{\"up\":1},\"u\":-1}", "/edits/1/u", "-1", "0 to 1");
    refuses("{\"muscle\":\"dao\",\"move\":{\"up\":1},\"falloff\":\"hard\"}", "/edits/1/falloff", "hard", "smooth");
    refuses("{\"muscle\":\"dao\",\"mvoe\":{\"up\":1}}", "/edits/1", "'mvoe' means nothing", "move");
    refuses("{\"muscle\":\"dao\",\"activation\":2}", "/edits/1/activation", "2 is no activation", "length");
    refuses("{\"muscle\":\"dao\",\"u\":1}", "/edits/1", "without a \"move\"", "medial");
    refuses("{\"muscle\":\"dao\"}", "/edits/1", "nothing is done to 'dao'", "activation");
    refuses("{\"move\":{\"up\":1}}", "/edits/1", "whose edit", "muscle");
    refuses("{}", "/edits/1", "empty", "jaw");
    refuses("7", "/edits/1", "object", "muscle");
    refuses("{\"muscle\":\"*\",\"retime\":[[0,0],[1,0.5],[0.5,1]]}", "/edits/1/retime/2", "0.5 comes after 1",
            "[0, 0]");
    refuses("{\"muscle\":\"*\",\"retime\":[[0.1,0],[1,1]]}", "/edits/1/retime", "begins", "[0, 0]");
    refuses("{\"jaw\":{\"open\":60}}", "/edits/1/jaw/open", "60", "45");
    refuses("{\"muscle\":\"dao\",\"activation\":1,\"frames\":[1,2]}", "/edits/1/frames", "a second", "fps");
    refuses("{\"muscle\":\"dao\",\"activation\":1,\"seconds\":[2,1]}", "/edits/1/seconds/1", "1", "from 2");
    refuses("{\"muscle\":\"dao\",\"activation\":1,\"seconds\":2}", "/edits/1/seconds", "range", "[40, 60]");
    refuses("{\"muscle\":\"dao\",\"activation\":1,\"seconds\":[1,2],\"frames\":[1,2]}", "/edits/1/seconds", "there are",
            "one");
    refuses("{\"muscle\":\"dao\",\"activation\":1,\"ease\":1}", "/edits/1/ease", "without", "frames");
    refuses("{\"jaw\":{\"wide\":6}}", "/edits/1/jaw", "'wide' means nothing", "open");
}

static void curves(void **state) {
    (void)state;
    const char *json = "{\"unit\":\"mm\",\"muscles\":{\"dao.L\":[[0,40],[0.5,36],[0.75,36],[1,30]]}}";
    const char *bad = "{\"muscles\":{\"dao.L\":[[0,40],[0.5,44]]}}";
    FaCurveTable t;
    FaError err = {0};
    CHECK_OK(fai_curve_table_parse(json, strlen(json), &t, &err), &err);
    const FaMuscleCurve *c = &t.curve[0];
    CHECK_NEAR(fa_muscle_curve_activation(c, 0.041), 0, 0);
    CHECK_NEAR(fa_muscle_curve_activation(c, 0.038), 0.25, 1e-9);
    CHECK_NEAR(fa_muscle_curve_activation(c, 0.033), 0.875, 1e-9);
    CHECK_NEAR(fa_muscle_curve_activation(c, 0.02), 1, 0);
    fai_curve_table_free(&t);
    assert_int_equal(fai_curve_table_parse(bad, strlen(bad), &t, &err), FA_E_FORMAT);
    assert_string_equal(err.place, "/muscles/dao.L/1");
    assert_non_null(strstr(err.remedy, "activations rise"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_all), cmocka_unit_test(reads_times),
                                       cmocka_unit_test(wrong_edits), cmocka_unit_test(curves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
