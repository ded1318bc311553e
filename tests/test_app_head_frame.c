// A head with odd axes (z up, the turn on a node) as a user meets it: its own clip, and the same clip by any other way,
// give the same result with every verb.
// labels: heavy
#include "test_app_tools.h"

#include "base/base.h"
#include "fascia/rig.h"

static const double NEAR = 1e-6; // m
static char head[4096], json[4096], box[4096], a[4096], b[4096], none[4096], again[4096];

// A small head of the shipped ones, lying on its back in its own coordinates; the clip moves it.
static int make_head(void **state) {
    (void)state;
    static const char *const keep[] = {"jawOpen.obj",     "mouthSmileLeft.obj", "mouthSmileRight.obj",
                                       "mouthPucker.obj", "eyeBlinkLeft.obj",   "eyeBlinkRight.obj",
                                       "browInnerUp.obj"};
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    FaHead *made;
    FaRig *rig, *few;
    FaClip *clip, *cut;
    params.level = 0;
    snprintf(head, sizeof head, "%s", test_path("odd.glb"));
    snprintf(json, sizeof json, "%s", test_path("own.json"));
    snprintf(box, sizeof box, "%s", test_path("box.obj"));
    snprintf(a, sizeof a, "%s", test_path("a.pc2"));
    snprintf(b, sizeof b, "%s", test_path("b.pc2"));
    snprintf(none, sizeof none, "%s", test_path("none.pc2"));
    snprintf(again, sizeof again, "%s", test_path("again.glb"));
    if (fa_head_new(&params, &made, &err) < 0 || fa_head_rig(made, 0, &rig, &err) < 0) return -1;
    for (int i = 0; i < rig->mesh.nvert + rig->nentry; i++) { // (x, y, z) becomes (x, -z, y)
        float *x = i < rig->mesh.nvert ? rig->mesh.x + 3 * (size_t)i : rig->delta + 3 * (size_t)(i - rig->mesh.nvert),
              y = x[1];
        x[1] = -x[2], x[2] = y;
    }
    if (fa_rig_save(rig, NULL, test_path("odd"), &err) < 0) return -1;
    char **files = test_list(test_path("odd"), ".obj");
    for (int i = 0; files[i]; i++) {
        const char *name = strrchr(files[i], '/') + 1;
        bool kept = !strncmp(name, "neutral", 7);
        for (int k = 0; k < FA_COUNT(keep); k++) kept |= !strcmp(name, keep[k]);
        if (!kept) remove(files[i]);
    }
    test_list_free(files);
    if (fa_rig_load(test_path("odd"), &(FaRigOptions){.unit = FA_UNIT_M}, &few, &err) < 0) return -1;
    if (few->axes[5] < 0.99) return -1; // z is up
    if (fa_head_clip("run", &clip, &err) < 0 || fa_clip_slice(clip, 0, 39, &cut, &err) < 0) return -1;
    if (fa_rig_save(few, cut, head, &err) < 0) return -1;
    fa_rig_free(few);
    if (fa_rig_load(head, NULL, &few, &err) < 0 || !few->clip->head || fa_clip_save(few->clip, json, &err) < 0)
        return -1;
    fa_clip_free(cut);
    fa_clip_free(clip);
    fa_rig_free(few);
    fa_rig_free(rig);
    fa_head_free(made);
    // a box before the left cheek, in the head's own coordinates
    FILE *f = fopen(box, "w");
    for (int i = 0; i < 8; i++)
        fprintf(f, "v %g %g %g\n", 0.041 + 0.02 * (i & 1), -(0.06 + 0.03 * (i >> 2)), -0.04 + 0.02 * (i >> 1 & 1));
    fputs("f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n", f);
    return fclose(f);
}

// The largest distance between two caches of the same frames.
static double apart(const char *one, const char *other) {
    FaError err = {0};
    FaSequence *s[2];
    CHECK_OK(fa_sequence_open(one, NULL, &s[0], &err), &err);
    CHECK_OK(fa_sequence_open(other, NULL, &s[1], &err), &err);
    assert_int_equal(fa_sequence_nframe(s[0]), fa_sequence_nframe(s[1]));
    size_t n = 3 * (size_t)fa_sequence_nvert(s[0]);
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    double most = 0;
    for (int f = 0; f < fa_sequence_nframe(s[0]); f++) {
        CHECK_OK(fa_sequence_read(s[0], f, x, &err), &err);
        CHECK_OK(fa_sequence_read(s[1], f, y, &err), &err);
        for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)x[i] - (double)y[i]));
    }
    free(x);
    free(y);
    fa_sequence_close(s[0]);
    fa_sequence_close(s[1]);
    return most;
}

static void same(const char *what) {
    double off = apart(a, b);
    print_message("%s: %.2g m\n", what, off);
    assert_true(off <= NEAR);
}

static void blend(void **state) {
    (void)state;
    assert_int_equal(RUN("blend", head, "--head-motion", "1", "-o", a), 0);
    assert_int_equal(RUN("blend", head, head, "--head-motion", "1", "-o", b), 0);
    same("blend, the file twice");
    assert_int_equal(RUN("blend", head, json, "--head-motion", "1", "-o", b), 0);
    same("blend, JSON");
    assert_int_equal(RUN("blend", head, "--head-motion", "0", "-o", none), 0);
    assert_true(apart(a, none) > 1e-3);
}

static void convert(void **state) {
    (void)state;
    assert_int_equal(RUN("convert", head, a, "--world"), 0);
    assert_int_equal(RUN("convert", head, b, "--world", "--clip", json), 0);
    same("convert --world, JSON");
    assert_int_equal(RUN("convert", head, again, "--clip", json), 0);
    assert_int_equal(RUN("convert", again, b, "--world"), 0);
    same("convert --world of what was converted");
    // the crown is the highest there is, in every frame
    FaError err = {0};
    FaSequence *seq;
    FaRig *rig;
    CHECK_OK(fa_rig_load(head, NULL, &rig, &err), &err);
    CHECK_OK(fa_sequence_open(a, NULL, &seq, &err), &err);
    float *x = malloc(3 * (size_t)rig->mesh.nvert * sizeof *x);
    int crown = 0, neck = 0;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        if (rig->mesh.x[3 * v + 2] > rig->mesh.x[3 * crown + 2]) crown = v;
        if (rig->mesh.x[3 * v + 2] < rig->mesh.x[3 * neck + 2]) neck = v;
    }
    for (int f = 0; f < fa_sequence_nframe(seq); f++) {
        CHECK_OK(fa_sequence_read(seq, f, x, &err), &err);
        assert_true(x[3 * crown + 1] > x[3 * neck + 1] + 0.15f);
    }
    free(x);
    fa_sequence_close(seq);
    fa_rig_free(rig);
}

static void drive(void **state) {
    (void)state;
    assert_int_equal(RUN("drive", head, "--world", "--frames", "0-9", "-o", a), 0);
    assert_int_equal(RUN("drive", head, json, "--world", "--frames", "0-9", "-o", b), 0);
    same("drive --world, JSON");
}

#define ENRICH(out, ...)                                                                                               \
    RUN("enrich", __VA_ARGS__, "--collider", box, "--collider-frame", "world", "--rate", "60", "--contact", "off",     \
        "--tolerance", "1e-6", "--frames", "0-5", "-o", out)

static void enrich(void **state) {
    (void)state;
    assert_int_equal(ENRICH(a, head), 0);
    assert_int_equal(ENRICH(b, head, json), 0);
    same("enrich by a collider, JSON");
    // clips that are made of it on the way
    assert_int_equal(ENRICH(a, head, "--loop"), 0);
    assert_int_equal(ENRICH(b, head, json, "--loop"), 0);
    same("enrich --loop, JSON");
    assert_int_equal(ENRICH(a, head, "--preroll", "0.05"), 0);
    assert_int_equal(ENRICH(b, head, json, "--preroll", "0.05"), 0);
    same("enrich --preroll, JSON");
    // and it touches
    assert_int_equal(RUN("enrich", head, "--preroll", "0.05", "--rate", "60", "--contact", "off", "--tolerance", "1e-6",
                         "--frames", "0-5", "-o", none),
                     0);
    assert_true(apart(a, none) > 1e-4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(blend), cmocka_unit_test(convert), cmocka_unit_test(drive),
                                       cmocka_unit_test(enrich)};
    return cmocka_run_group_tests(tests, make_head, NULL);
}
