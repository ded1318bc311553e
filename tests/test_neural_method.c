// The method `neural`: what it adds is what the bound face adds, contact leaves no pair crossed that the artist's own
// pose has not.
// labels: unit hash
#include "test.h"

#include "face/face.h"
#include "mesh/intersect.h"
#include "neural/bind_net.h"

static FaRig *rig;
static FaFace *face;

static FaMethod *open_with(const char *contact, const char *amount) {
    FaParams *params;
    FaMethod *m;
    FaError err = {0};
    CHECK_OK(fa_params_new("neural", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "contact", contact, &err), &err);
    CHECK_OK(fa_params_set(params, "amount", amount, &err), &err);
    CHECK_OK(fa_method_open("neural", &(FaMethodSetup){.rig = rig, .face = face, .params = params}, &m, &err), &err);
    fa_params_free(params);
    return m;
}

static int shape(const char *name) {
    int a = fa_arkit_match(name, NULL), s = 0;
    while (s < rig->nshape && rig->shape[s].arkit != a) s++;
    assert_true(s < rig->nshape);
    return s;
}

static double apart(const float *a, const float *b) {
    double worst = 0;
    for (int i = 0; i < 3 * rig->mesh.nvert; i++) worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    return worst;
}

static void it_adds_what_the_network_says(void **state) {
    (void)state;
    FaError err = {0};
    float *x[3], *w = calloc((size_t)rig->nshape, sizeof *w),
                 *linear = malloc(3 * sizeof *linear * (size_t)rig->mesh.nvert);
    w[shape("jawOpen")] = 0.5f, w[shape("mouthSmileLeft")] = 0.7f;
    fa_rig_blend(rig, w, linear);
    static const char *const amount[] = {"0", "0.5", "1"};
    for (int i = 0; i < 3; i++) {
        x[i] = malloc(3 * sizeof *x[i] * (size_t)rig->mesh.nvert);
        FaMethod *m = open_with("off", amount[i]);
        CHECK_OK(fa_method_reset(m, &(FaInput){.weights = w}, x[i], &err), &err);
        fa_method_close(m);
    }
    assert_true(apart(x[0], linear) == 0);
    CHECK_NEAR(apart(x[1], linear) / apart(x[2], linear), 0.5, 1e-3);
    assert_true(apart(x[2], linear) > 1e-4);
    for (int i = 0; i < 3; i++) free(x[i]);
    free(w), free(linear);
}

// Of the skin that is simulated.
static int crossings(const float *x) {
    FaMesh skin = {.nvert = face->nskin, .ntri = face->ntri, .tri = face->tri};
    float *at = malloc(3 * sizeof *at * (size_t)face->nskin);
    for (int i = 0; i < face->nskin; i++)
        memcpy(at + 3 * (size_t)i, x + 3 * (size_t)face->skin_vertex[i], 3 * sizeof *at);
    int n = 0;
    FaError err = {0};
    skin.x = at;
    CHECK_OK(fai_self_intersections(&skin, at, NULL, NULL, 0, &n, &err), &err);
    free(at);
    return n;
}

// Lips pressed and lids shut farther than they go: linear blending crosses, the method does not.
static void lips_and_lids_do_not_cross(void **state) {
    (void)state;
    FaError err = {0};
    float *x = malloc(3 * sizeof *x * (size_t)rig->mesh.nvert), *w = calloc((size_t)rig->nshape, sizeof *w);
    FaMethod *with = open_with("openings", "1"), *without = open_with("off", "1");
    int before = 0, after = 0;
    fa_rig_blend(rig, w, x);
    int rest = crossings(x);
    for (int f = 0; f < 12; f++) {
        float t = (float)f / 11;
        static const char *const press[] = {"mouthPressLeft", "mouthPressRight", "mouthRollUpper", "mouthShrugLower"};
        for (int i = 0; i < 4; i++) w[shape(press[i])] = 1.4f * t;
        w[shape("eyeBlinkLeft")] = w[shape("eyeBlinkRight")] = 1.1f * t;
        FaInput in = {.time = f / 30.0, .weights = w};
        CHECK_OK(fa_method_step(without, &in, x, NULL, &err), &err);
        before += crossings(x) - rest;
        CHECK_OK(fa_method_step(with, &in, x, NULL, &err), &err);
        after += crossings(x) - rest;
    }
    print_message("pairs that cross, beyond those at rest, over 12 frames: %d without contact, %d with\n", before,
                  after);
    assert_true(before > 0);
    assert_int_equal(after, 0);
    fa_method_close(with);
    fa_method_close(without);
    free(x), free(w);
}

static int set_up(void **state) {
    (void)state;
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaError err = {0};
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    fa_head_free(head);
    CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fa_face_free(face);
    fa_rig_free(rig);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_adds_what_the_network_says),
        cmocka_unit_test(lips_and_lids_do_not_cross),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
