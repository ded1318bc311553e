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

// Sheets say what they leave out, a name means both halves, names of picks never meet those of the rig.
static void test_sheets(void **state) {
    (void)state;
    const char *two = "jawOpen,mouthSmile";
    char png[4096], more[4096], third[4096];
    snprintf(png, sizeof png, "%s", test_path("sheet.png"));
    snprintf(more, sizeof more, "%s", test_path("again.glb"));
    snprintf(third, sizeof third, "%s", test_path("third.glb"));
    assert_int_equal(
        BLEND(rig, "--targets", two, "--explore", "3", "--time", "0.5,1", "--tiles", "6", "--page", "3", "-o", png), 0);
    SAID("page 3 of 3: 4 of 16 candidates");
    assert_int_equal(BLEND(rig, "--targets", two, "--explore", "3", "--tiles", "6", "--page", "3", "-o", png), 2);
    SAID("there are 2 pages");
    assert_int_equal(BLEND(rig, "--targets", two, "--explore", "3", "--page", "1", "-o", more), 2);
    assert_int_equal(BLEND(rig, "--targets", two, "--explore", "3", "--every", "4", "--json"), 0);
    SAID("\"label\":\"4: jawOpen 0.67, mouthSmile 0.33\"");
    assert_null(strstr(output, "\"number\":5"));
    assert_int_equal(BLEND(rig, "--targets", two, "--random", "2", "--time", "0.2", "--json"), 0);
    SAID("t 0.20, order");
    assert_int_equal(BLEND(rig, "--targets", two, "--explore", "3", "--pick", "2", "-o", more), 0);
    assert_int_equal(BLEND(more, "--targets", "cheekPuff,jawOpen", "--explore", "3", "--pick", "2", "-o", third), 0);
    FaError err = {0};
    FaRig *a;
    CHECK_OK(fa_rig_load(third, NULL, &a, &err), &err);
    assert_string_equal(a->shape[a->nshape - 2].name, "blend_2");
    assert_string_equal(a->shape[a->nshape - 1].name, "blend_2_2");
    // the pick of "mouthSmile" moves both corners of the mouth
    double most[2] = {0};
    for (int i = a->shape[a->nshape - 2].first; i < a->shape[a->nshape - 2].first + a->shape[a->nshape - 2].count;
         i++) {
        double side = (double)a->mesh.x[3 * a->row[i]], up = (double)a->delta[3 * i + 1];
        if (fabs(side) > 0.01) most[side > 0] = fmax(most[side > 0], up);
    }
    assert_true(most[0] > 1e-3 && most[1] > 1e-3);
    fa_rig_free(a);
    assert_int_equal(BLEND(rig, "--targets", two, "-o", test_path("sliders.html")), 0);
    assert_int_equal(BLEND(rig, "--targets", two, "-o", png), 2);
}

// Maps, forces on shapes and handles act on stills; where a spring cannot show, that is said.
static void test_forces(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *r;
    FaMaps maps;
    char file[4096];
    snprintf(file, sizeof file, "%s", test_path("handle.json"));
    const FaOscillator o = {1.5, 8, 10};
    FILE *f = fopen(file, "w");
    fputs("{\"shapes\": {\"mouthSmile\": {\"mass\": 1, \"damping\": 4, \"stiffness\": 4}},"
          " \"forces\": [{\"vertices\": [40], \"radius\": 20, \"force\": \"constant:5\", \"direction\": [0, 0, 2]}]}",
          f);
    fclose(f);
    CHECK_OK(fa_rig_load(rig, NULL, &r, &err), &err);
    CHECK_OK(fa_analytic_maps_load(file, r, &o, &maps, &err), &err);
    int smile[FA_NAMED_MOST], n;
    CHECK_OK(fa_rig_shapes_named(r, "mouthSmile", smile, FA_NAMED_MOST, &n, &err), &err);
    assert_int_equal(n, 2);
    assert_true(maps.shape[smile[0]].mass == 1 && maps.shape[smile[1]].mass == 1 && maps.nhandle == 1);
    // a handle goes where the closed form says, on its vertex in full, and falls to nothing at its radius
    const double one = 1, moment = 0.6;
    float *w = malloc((size_t)r->nshape * sizeof *w), *x = malloc(3 * (size_t)r->mesh.nvert * sizeof *x);
    float *plain = malloc(3 * (size_t)r->mesh.nvert * sizeof *plain);
    FaStill still = {.n = 1, .shape = smile, .weight = &one, .moment = &moment, .maps = &maps, .time = 0.4};
    CHECK_OK(fa_analytic_still(r, &o, &still, w, x, &err), &err);
    CHECK_NEAR((double)w[smile[0]], 0.567973, 1e-6);
    fa_rig_blend(r, w, plain);
    FaForce force = maps.handle[0].force;
    CHECK_NEAR(force.size, 0.005, 1e-12);
    CHECK_NEAR((double)(x[3 * 40 + 2] - plain[3 * 40 + 2]), fa_analytic_force(&o, &force, 0.4), 1e-7);
    int reached = 0;
    for (int v = 0; v < r->mesh.nvert; v++) {
        double d = 0;
        for (int k = 0; k < 3; k++) d += pow((double)(r->mesh.x[3 * v + k] - r->mesh.x[3 * 40 + k]), 2);
        reached += x[3 * v + 2] != plain[3 * v + 2];
        if (sqrt(d) > 0.02) assert_true(x[3 * v + 2] == plain[3 * v + 2]);
    }
    assert_true(reached > 3);
    free(w), free(x), free(plain);
    fa_analytic_maps_free(&maps);
    // on a clip the same force has come to rest after its second
    assert_int_equal(BLEND(rig, "-o", test_path("handle.pc2"), "--maps", file, "--head", "0", "--json"), 0);
    SAID("\"frames\":121");
    fa_rig_free(r);
    assert_int_equal(BLEND(rig, "--weights", "mouthSmile=1", "--mass", "2", "-o", test_path("one.png")), 0);
    SAID("whatever the spring is");
    assert_int_equal(BLEND(rig, "--weights", "jawOpen=0", "--sculpt", "cheekPuff=constant:1", "--time", "0.5", "--json",
                           "-o", test_path("push.obj")),
                     0);
    assert_int_equal(BLEND(rig, "--weights", "jawOpen=1", "--maps", "nothing.json", "-o", test_path("push.obj")), 5);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clip),   cmocka_unit_test(test_still),
                                       cmocka_unit_test(test_choose), cmocka_unit_test(test_sheets),
                                       cmocka_unit_test(test_forces), cmocka_unit_test(test_usage)};
    return cmocka_run_group_tests(tests, make_head, NULL);
}
