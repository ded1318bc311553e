// fascia blend as a user meets it: a take with flesh, stills, sheets of combinations, estimation; and its refusals.
// labels: heavy
#include "test_app_tools.h"

#include "fascia/analytic.h"
#include "fascia/head.h"

#define BLEND(...) RUN("blend", __VA_ARGS__, "--threads", "2")

static char rig[4096];

static int make_head(void **state) {
    (void)state;
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaClip *clip, *cut;
    params.level = 0;
    snprintf(rig, sizeof rig, "%s", test_path("head.glb"));
    if (fa_head_new(&params, &head, &err) < 0 || fa_head_clip("talk", &clip, &err) < 0) return -1;
    if (fa_clip_slice(clip, 0, 120, &cut, &err) < 0 || fa_head_save(head, cut, false, NULL, rig, &err) < 0) return -1;
    fa_clip_free(cut);
    fa_clip_free(clip);
    fa_head_free(head);
    return 0;
}

static void test_clip(void **state) {
    (void)state;
    FaError err = {0};
    const char *cache = test_path("out.pc2"), *baked = test_path("out.glb");
    assert_int_equal(BLEND(rig, "-o", cache, "--preset", "jelly", "--json"), 0);
    assert_true(said_number("frames") == 121 && said_number("max_displacement_mm") > 1 && said_number("clamped") == 0);
    assert_true(said_number("intersections") == -1);
    SAID("\"preset\":\"jelly\"");
    // the library gives the same frames
    FaRig *r;
    FaParams *p;
    FaMethod *m;
    FaRun *play;
    FaSequence *seq;
    CHECK_OK(fa_rig_load(rig, NULL, &r, &err), &err);
    CHECK_OK(fa_params_new("analytic", &p, &err), &err);
    CHECK_OK(fa_params_set(p, "preset", "jelly", &err), &err);
    CHECK_OK(fa_method_open("analytic", &(FaMethodSetup){.rig = r, .params = p}, &m, &err), &err);
    CHECK_OK(fa_run_new(m, NULL, &play, &err), &err);
    CHECK_OK(fa_sequence_open(cache, NULL, &seq, &err), &err);
    assert_int_equal(fa_sequence_nframe(seq), 121);
    size_t n = 3 * (size_t)r->mesh.nvert * sizeof(float);
    float *a = malloc(n), *b = malloc(n);
    for (int f = 0; f < 121; f += 30) {
        CHECK_OK(fa_sequence_read(fa_run_sequence(play), f, a, &err), &err);
        CHECK_OK(fa_sequence_read(seq, f, b, &err), &err);
        assert_memory_equal(a, b, n);
    }
    free(a), free(b);
    fa_sequence_close(seq);
    fa_run_free(play);
    fa_method_close(m);
    fa_params_free(p);
    fa_rig_free(r);
    // baked, and found again by estimation: what was put in comes out
    assert_int_equal(BLEND(rig, "-o", baked, "--frames", "10-60", "--json"), 0);
    assert_true(said_number("frames") == 51 && said_number("targets") > 0 && said_number("max_mm") <= 0.05);
    assert_int_equal(
        BLEND(rig, "-o", cache, "--head-motion", "0", "--frequency", "5", "--ratio", "0.4", "--regions", "off", "-q"),
        0);
    assert_int_equal(BLEND(rig, "--estimate", cache, "--json"), 0);
    CHECK_NEAR(said_number("frequency_hz"), 5, 0.05);
    CHECK_NEAR(said_number("ratio"), 0.4, 0.004);
}

static void test_still(void **state) {
    (void)state;
    const char *obj = test_path("still.obj");
    assert_int_equal(BLEND(rig, "--weights", "jawOpen=1,cheekPuff=0.5@0.2", "--time", "0.6", "--mass", "1", "--damping",
                           "4", "--stiffness", "4", "-o", obj, "--json"),
                     0);
    CHECK_NEAR(said_number("jawOpen"), 0.567973, 1e-6);
    CHECK_NEAR(said_number("cheekPuff"), 0.5 * 0.103624, 1e-6);
    FaError err = {0};
    FaRig *a, *b;
    CHECK_OK(fa_rig_load(obj, &(FaRigOptions){.unit = FA_UNIT_M, .any_size = true}, &a, &err), &err);
    CHECK_OK(fa_rig_load(rig, NULL, &b, &err), &err);
    assert_int_equal(a->mesh.nvert, b->mesh.nvert);
    fa_rig_free(a);
    fa_rig_free(b);
    // ill-posed: exit 1, a sentence with the numbers and a damping that works
    assert_int_equal(
        BLEND(rig, "--weights", "jawOpen=1", "--mass", "1", "--damping", "0", "--stiffness", "39.4784176", "-o", obj),
        1);
    SAID("stiffness 39.4784176");
    SAID("raise the damping to 2.");
    assert_int_equal(BLEND(rig, "--weights", "jawOpen", "-o", obj), 2);
    assert_int_equal(BLEND(rig, "--weights", "noSuchShape=1", "-o", obj), 2);
    SAID("noSuchShape");
    assert_int_equal(BLEND(rig, "--weights", "jawOpen=1", "--mass", "heavy", "-o", obj), 2);
}

static void test_choose(void **state) {
    (void)state;
    const char *five = "jawOpen,cheekPuff,mouthPucker,browInnerUp,mouthSmileLeft", *more = test_path("more.glb");
    assert_int_equal(BLEND(rig, "--targets", five, "--explore", "3", "--json"), 0);
    assert_true(said_number("candidates") == 242);
    assert_int_equal(BLEND(rig, "--targets", five, "--explore", "11", "--json", "--dry-run"), 0);
    assert_true(said_number("candidates") == 161050);
    assert_int_equal(BLEND(rig, "--targets", five, "--explore", "11", "--limit", "1000"), 3);
    SAID("161050");
    assert_int_equal(BLEND(rig, "--targets", five, "--random", "7", "--seed", "3"), 0);
    SAID("\n6: ");
    assert_int_equal(BLEND(rig, "--targets", five, "--explore", "3", "--pick", "3,17,40", "-o", more), 0);
    FaError err = {0};
    FaRig *a, *b;
    CHECK_OK(fa_rig_load(rig, NULL, &a, &err), &err);
    CHECK_OK(fa_rig_load(more, NULL, &b, &err), &err);
    assert_int_equal(b->nshape, a->nshape + 3);
    assert_string_equal(b->shape[b->nshape - 1].name, "blend_40");
    assert_true(b->clip && b->clip->nframe == a->clip->nframe);
    fa_rig_free(a);
    fa_rig_free(b);
    assert_int_equal(BLEND(rig, "--targets", five, "--explore", "3", "--pick", "242", "-o", more), 2);
}

static void test_usage(void **state) {
    (void)state;
    assert_int_equal(BLEND("--help"), 0);
    SAID("--per-vertex");
    assert_int_equal(BLEND(rig), 2);
    assert_int_equal(BLEND(rig, "--weights", "jawOpen=1", "--explore", "3", "-o", "x.png"), 2);
    assert_int_equal(BLEND(rig, "--explore", "3", "-o", "x.png"), 2);
    assert_int_equal(BLEND(rig, "-o", "x.pc2", "--preset", "mushy"), 2);
    SAID("jelly");
    assert_int_equal(BLEND(rig, "-o", "x.pc2", "--mass", "-3"), 2);
    assert_int_equal(BLEND("nothing.glb", "-o", "x.pc2"), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clip), cmocka_unit_test(test_still),
                                       cmocka_unit_test(test_choose), cmocka_unit_test(test_usage)};
    return cmocka_run_group_tests(tests, make_head, NULL);
}
