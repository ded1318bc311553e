// Forces from outside under enrich: pushes, wind and gravity move the flesh the way they should, and nothing else does.
// labels: unit
#include "test_head_tools.h"

#include "enrich/outer_force.h"
#include "face/face.h"
#include "fascia/head.h"

typedef struct Scene {
    FaHead *head;
    FaRig *whole, rig; // the latter with one shape: its volumes are quick
    FaFace *face;
    int nose; // foremost vertex
} Scene;

static int set_up(void **state) {
    static Scene s;
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    FaVolumesReport report;
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &s.head, &err), &err);
    CHECK_OK(fa_head_rig(s.head, 0, &s.whole, &err), &err);
    s.rig = *s.whole;
    s.rig.nshape = 1;
    CHECK_OK(fa_face_build(&s.rig, NULL, &s.face, &err), &err);
    CHECK_OK(fa_face_materials(s.face, &s.rig, NULL, &err), &err);
    CHECK_OK(fa_face_volumes(s.face, &s.rig, NULL, &report, &err), &err);
    for (int v = 0; v < s.rig.mesh.nvert; v++)
        if (s.rig.mesh.x[3 * v + 2] > s.rig.mesh.x[3 * s.nose + 2]) s.nose = v;
    *state = &s;
    return 0;
}

static int tear_down(void **state) {
    Scene *s = *state;
    fa_face_free(s->face);
    fa_rig_free(s->whole);
    fa_head_free(s->head);
    return 0;
}

// What these forces add to the neutral in its last frame, mean over the skin that moves, mm.
static void play(const Scene *s, const char *text, int frames, double mean[3], double *most) {
    FaError err = {0};
    FaParams *params;
    FaMethod *m;
    char path[4096];
    size_t size = 3 * (size_t)s->rig.mesh.nvert * sizeof(float);
    float *x = malloc(size), weight[1] = {0};
    snprintf(path, sizeof path, "%s", test_path("forces.json"));
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
    CHECK_OK(fa_params_new("enrich", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "forces", path, &err), &err);
    CHECK_OK(fa_params_set(params, "rate", "60", &err), &err);
    CHECK_OK(fa_params_set(params, "contact", "off", &err), &err);
    CHECK_OK(fa_method_open("enrich", &(FaMethodSetup){.rig = &s->rig, .face = s->face, .params = params}, &m, &err),
             &err);
    for (int i = 0; i <= frames; i++) {
        FaInput in = {.time = i / 60.0, .weights = weight};
        CHECK_OK(i ? fa_method_step(m, &in, x, NULL, &err) : fa_method_reset(m, &in, x, &err), &err);
    }
    *most = 0;
    for (int k = 0; k < 3; k++) mean[k] = 0;
    int moved = 0;
    for (int v = 0; v < s->rig.mesh.nvert; v++) {
        double d[3], far = 0;
        for (int k = 0; k < 3; k++) far += pow(d[k] = 1e3 * (double)(x[3 * v + k] - s->rig.mesh.x[3 * v + k]), 2);
        if (far > 0) moved++;
        for (int k = 0; k < 3; k++) mean[k] += d[k];
        *most = fmax(*most, sqrt(far));
    }
    for (int k = 0; k < 3 && moved; k++) mean[k] /= moved;
    fa_method_close(m);
    fa_params_free(params);
    free(x);
}

static void test_pushes(void **state) {
    const Scene *s = *state;
    double one[3], two[3], none[3], a, b, c;
    char text[400];
    snprintf(text, sizeof text, "{\"pushes\": [{\"vertices\": [%d], \"radius\": 30, \"force\": [0, 0, -0.2]}]}",
             s->nose);
    play(s, text, 0, one, &a); // a reset: as if it had lasted for ever
    snprintf(text, sizeof text, "{\"pushes\": [{\"vertices\": [%d], \"radius\": 30, \"force\": [0, 0, -0.4]}]}",
             s->nose);
    play(s, text, 0, two, &b);
    print_message("0.2 N: %.3f mm back on average, %.2f at most; 0.4 N: %.3f, %.2f\n", -one[2], a, -two[2], b);
    assert_true(one[2] < 0 && a > 0.05 && fabs(one[0]) < 0.2 * fabs(one[2]));
    CHECK_NEAR(two[2] / one[2], 2, 0.5);
    // over time: nothing before it begins, to the last bit
    snprintf(
        text, sizeof text,
        "{\"pushes\": [{\"vertices\": [%d], \"radius\": 30, \"force\": [0, 0, -0.4], \"keys\": [[0.1, 0], [0.2, 1]]}]}",
        s->nose);
    play(s, text, 5, none, &c);
    assert_true(c == 0);
    play(s, text, 9, none, &c);
    assert_true(c > 0.05 * a && none[2] < 0);
}

static void test_weather(void **state) {
    const Scene *s = *state;
    double front[3], left[3], moon[3], up[3], none[3], far[5];
    play(s, "{\"wind\": {\"velocity\": [0, 0, -15]}}", 0, front, &far[0]);
    play(s, "{\"wind\": {\"velocity\": [15, 0, 0]}}", 0, left, &far[1]);
    play(s, "{\"gravity\": {\"size\": 1.62}}", 0, moon, &far[2]);
    play(s, "{\"gravity\": {\"direction\": [0, 1, 0]}}", 0, up, &far[3]);
    play(s, "{\"gravity\": {\"size\": 9.80665}}", 0, none, &far[4]);
    print_message(
        "wind of 15 m/s: %.2f mm at most from the front, %.2f from the right; on the moon %.2f, upside down %.2f\n",
        far[0], far[1], far[2], far[3]);
    assert_true(front[2] < 0 && far[0] > 0.05);
    assert_true(left[0] > 0);
    assert_true(moon[1] > 0 && up[1] > 1.5 * moon[1]);
    assert_true(far[4] < 1e-3); // what the sculpts hold already
}

static void test_refusals(void **state) {
    const Scene *s = *state;
    static const char *const bad[] = {"[]",
                                      "{\"storm\": 1}",
                                      "{\"gravity\": {\"size\": -1}}",
                                      "{\"gravity\": {\"direction\": [0, 0, 0]}}",
                                      "{\"wind\": {}}",
                                      "{\"wind\": {\"velocity\": [0, 0, 1e9]}}",
                                      "{\"wind\": {\"velocity\": [1, 0, 0], \"keys\": [[1, 1], [0, 1]]}}",
                                      "{\"pushes\": [1]}",
                                      "{\"pushes\": [{\"force\": [1, 0, 0]}]}",
                                      "{\"pushes\": [{\"region\": \"nose\", \"force\": [1, 0, 0]}]}",
                                      "{\"pushes\": [{\"shape\": \"noShape\", \"force\": [1, 0, 0]}]}",
                                      "{\"pushes\": [{\"vertices\": [-1], \"force\": [1, 0, 0]}]}",
                                      "{\"pushes\": [{\"vertices\": [], \"force\": [1, 0, 0]}]}",
                                      "{\"pushes\": [{\"region\": \"all\", \"force\": [1, 0]}]}",
                                      "{\"pushes\": [{\"region\": \"all\", \"force\": [1, 0, 0], \"keys\": []}]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FaError err = {0};
        FaOuterForce *o;
        FaCode rc = fai_outer_force_parse(bad[i], strlen(bad[i]), &s->rig, s->face, &o, &err);
        if (rc != FA_E_FORMAT) print_error("%s\n", bad[i]);
        assert_int_equal(rc, FA_E_FORMAT);
        assert_true(!o && err.what[0]);
    }
}

static FaCode attempt(void *user, FaError *err) {
    const Scene *s = user;
    static const char text[] =
        "{\"wind\": {\"velocity\": [0, 0, 1], \"keys\": [[0, 1]]}, \"pushes\": [{\"region\": \"all\", "
        "\"force\": [1, 0, 0], \"keys\": [[0, 1]]}]}";
    FaOuterForce *o;
    FaCode rc = fai_outer_force_parse(text, sizeof text - 1, &s->rig, s->face, &o, err);
    fai_outer_force_free(o);
    return rc;
}

static void test_starved(void **state) { assert_true(test_starve(attempt, *state) > 3); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pushes), cmocka_unit_test(test_weather),
                                       cmocka_unit_test(test_refusals), cmocka_unit_test(test_starved)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
