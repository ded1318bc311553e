// Mass, damping and stiffness found from captured frames: known ones come back, and what cannot be told is refused.
#include "test_rig_head.h"

#include "fascia/analytic.h"

enum { N = 150 };

// Quick movements between random values, held in between: words and blinks.
static FaClip *make_clip(const FaRig *rig, double fps, double size) {
    FaError err = {0};
    const char *names[HEAD_SHAPES];
    FaClip *clip;
    for (int s = 0; s < rig->nshape; s++) names[s] = rig->shape[s].name;
    CHECK_OK(fa_clip_new(N, rig->nshape, names, fps, &clip, &err), &err);
    for (int f = 0; f < N; f++)
        for (int s = 0; s < rig->nshape; s++) {
            double t = clip->time[f] * 3 + 0.13 * s, u = fmin((t - floor(t)) * 4, 1);
            double a = fai_random_unit(1, (uint64_t)(100 * s) + (uint64_t)t),
                   b = fai_random_unit(1, (uint64_t)(100 * s) + (uint64_t)t + 1);
            clip->weight[f * rig->nshape + s] = (float)(size * (a + u * (b - a)));
        }
    return clip;
}

typedef struct Capture {
    float *x; // (N x nvert x 3)
    int nvert;
} Capture;

static FaCode read_capture(void *user, int frame, float *x, FaError *err) {
    (void)err;
    const Capture *c = user;
    memcpy(x, c->x + (size_t)frame * 3 * (size_t)c->nvert, 3 * (size_t)c->nvert * sizeof *x);
    return FA_OK;
}

// The clip under an oscillator (per vertex if maps are given; NULL: linear), with noise in m per coordinate.
static FaSequence *capture(const FaRig *rig, const FaClip *clip, const FaOscillator *o, const FaOscillator *vertex,
                           double noise, Capture *c) {
    FaError err = {0};
    size_t n3 = 3 * (size_t)rig->mesh.nvert;
    *c = (Capture){malloc(N * n3 * sizeof(float)), rig->mesh.nvert};
    FaParams *p;
    FaMethod *m;
    FaRun *run;
    CHECK_OK(fa_params_new("analytic", &p, &err), &err);
    CHECK_OK(fa_params_set(p, "regions", "off", &err), &err);
    if (o) {
        CHECK_OK(fa_params_set_number(p, "mass", o->mass, &err), &err);
        CHECK_OK(fa_params_set_number(p, "damping", o->damping, &err), &err);
        CHECK_OK(fa_params_set_number(p, "stiffness", o->stiffness, &err), &err);
    }
    FaMaps maps = {.vertex = (FaOscillator *)vertex};
    if (!o && !vertex)
        CHECK_OK(fa_method_open("linear", &(FaMethodSetup){.rig = rig}, &m, &err), &err);
    else
        CHECK_OK(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = p, .maps = &maps}, &m, &err), &err);
    CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
    for (int f = 0; f < N; f++) {
        float *x = c->x + (size_t)f * n3;
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        for (size_t i = 0; noise > 0 && i < n3; i++)
            x[i] += (float)(noise * fai_random_normal(9, (uint64_t)f * n3 + i));
    }
    fa_run_free(run);
    fa_method_close(m);
    fa_params_free(p);
    FaSequence *seq;
    CHECK_OK(fa_sequence_custom(rig->mesh.nvert, N, clip->fps, read_capture, c, &seq, &err), &err);
    return seq;
}

static bool stop_at_once(void *user, const char *stage, double done) {
    (void)user, (void)stage, (void)done;
    return false;
}

static void test_global(void **state) {
    (void)state;
    static const struct {
        double hz, ratio, noise, within;
    } cases[] = {
        {6, 0.5, 0, 0.01},   {3, 0.15, 0, 0.01},   {9, 1.0, 0, 0.01},   {2, 2.0, 0, 0.01},
        {6, 0.5, 1e-4, 0.1}, {3, 0.15, 1e-4, 0.1}, {9, 1.0, 1e-4, 0.1}, {2, 2.0, 1e-4, 0.1},
    };
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 60, 1);
    for (int i = 0; i < FA_COUNT(cases); i++) {
        FaError err = {0};
        FaOscillator o = fa_oscillator_of(2, cases[i].hz, cases[i].ratio);
        Capture c;
        FaSequence *seq = capture(rig, clip, &o, NULL, cases[i].noise, &c);
        FaEstimate e;
        if (i == 0) {
            FaEstimateOptions stop = {.mass = 2, .progress = stop_at_once};
            assert_int_equal(fa_analytic_estimate(rig, clip, seq, &stop, &e, &err), FA_E_CANCELLED);
            err = (FaError){0};
        }
        CHECK_OK(fa_analytic_estimate(rig, clip, seq, &(FaEstimateOptions){.mass = 2}, &e, &err), &err);
        print_message("%.0f Hz, ratio %.2f, noise %.1f mm: off by %.2g %% and %.2g %% (says %.2g and %.2g), residual "
                      "%.4f mm of %.3f\n",
                      cases[i].hz, cases[i].ratio, 1e3 * cases[i].noise,
                      100 * fabs(e.oscillator.damping / o.damping - 1),
                      100 * fabs(e.oscillator.stiffness / o.stiffness - 1), 100 * e.ratio_error,
                      100 * e.frequency_error, e.residual_mm, e.linear_mm);
        CHECK_NEAR(e.oscillator.mass, 2, 0);
        CHECK_NEAR(e.oscillator.damping / o.damping, 1, cases[i].within);
        CHECK_NEAR(e.oscillator.stiffness / o.stiffness, 1, cases[i].within);
        CHECK_NEAR(e.residual_mm, 1e3 * cases[i].noise * sqrt(3), 0.01);
        assert_true(e.linear_mm > 2 * e.residual_mm || cases[i].noise > 0);
        // the error it states is of the size of the one it makes
        assert_true(fabs(e.frequency / cases[i].hz - 1) < 5 * e.frequency_error + 1e-3);
        char *json;
        CHECK_OK(fa_estimate_json(&e, &json, &err), &err);
        assert_non_null(strstr(json, "\"residual_mm\":"));
        fa_free(json);
        fa_estimate_free(&e);
        fa_sequence_close(seq);
        free(c.x);
    }
    fa_clip_free(clip);
    fa_rig_free(rig);
}

static void test_vertices(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 60, 1);
    int n = rig->mesh.nvert;
    FaOscillator *o = calloc((size_t)n, sizeof *o);
    for (int v = 0; v < n; v++)
        o[v] = fa_oscillator_of(1, rig->mesh.x[3 * v] > 0 ? 4 : 7, 0.3 + 2 * fabs((double)rig->mesh.x[3 * v + 1]));
    for (int noisy = 0; noisy < 2; noisy++) {
        FaError err = {0};
        Capture c;
        FaSequence *seq = capture(rig, clip, NULL, o, noisy ? 1e-4 : 0, &c);
        FaEstimate e;
        CHECK_OK(fa_analytic_estimate(rig, clip, seq, &(FaEstimateOptions){.per_vertex = true}, &e, &err), &err);
        int far = 0, known = 0;
        for (int v = 0; v < n; v++) {
            if (!e.known[v]) {
                CHECK_NEAR(e.vertex[v].stiffness, e.oscillator.stiffness, 0);
                continue;
            }
            known++;
            // vertices that move by millimetres; those at the rim of a shape carry little but noise
            double within = noisy ? 0.1 : 0.01;
            far += fabs(e.vertex[v].damping / o[v].damping - 1) > within ||
                   fabs(e.vertex[v].stiffness / o[v].stiffness - 1) > within;
        }
        print_message("per vertex, noise %.1f mm: %d of %d told, %d of them off by more\n", noisy * 0.1, known, n, far);
        assert_int_equal(known, e.vertices_known);
        assert_true(known > (noisy ? 60 : 100));
        assert_true(noisy ? far < known / 4 : far == 0);
        fa_estimate_free(&e);
        fa_sequence_close(seq);
        free(c.x);
    }
    free(o);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

static void refuse(const FaRig *rig, const FaClip *clip, FaSequence *seq, const char *why) {
    FaError err = {0};
    FaEstimate e;
    FaCode rc = fa_analytic_estimate(rig, clip, seq, NULL, &e, &err);
    if (rc != FA_E_NUMERIC || !strstr(err.what, why)) print_error("%d %s, wanted: %s\n", rc, err.what, why);
    assert_true(rc == FA_E_NUMERIC && strstr(err.what, why) && err.remedy[0]);
    assert_null(e.vertex);
}

static void test_refusals(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 60, 1), *still = make_clip(rig, 60, 1), *tiny = make_clip(rig, 60, 1e-3);
    FaOscillator soft;
    fa_oscillator_preset("soft", &soft);
    Capture c;
    // the rig alone, with and without noise
    FaSequence *seq = capture(rig, clip, NULL, NULL, 0, &c);
    refuse(rig, clip, seq, "as the rig alone does");
    fa_sequence_close(seq);
    free(c.x);
    seq = capture(rig, clip, NULL, NULL, 1e-4, &c);
    refuse(rig, clip, seq, "as the rig alone does");
    fa_sequence_close(seq);
    free(c.x);
    // nothing moves
    for (int f = 1; f < N; f++)
        memcpy(still->weight + f * rig->nshape, still->weight, (size_t)rig->nshape * sizeof(float));
    seq = capture(rig, still, &soft, NULL, 0, &c);
    refuse(rig, still, seq, "nothing moves");
    fa_sequence_close(seq);
    free(c.x);
    // movements that drown in noise
    seq = capture(rig, tiny, &soft, NULL, 1e-3, &c);
    refuse(rig, tiny, seq, "capture");
    fa_sequence_close(seq);
    // another mesh, no clip, a number that is none
    FaError err = {0};
    FaEstimate e;
    FaSequence *other;
    CHECK_OK(fa_sequence_custom(5, N, 60, read_capture, &c, &other, &err), &err);
    assert_true(fa_analytic_estimate(rig, clip, other, NULL, &e, &err) == FA_E_ARG);
    fa_sequence_close(other);
    err = (FaError){0};
    CHECK_OK(fa_sequence_custom(rig->mesh.nvert, N, 60, read_capture, &c, &other, &err), &err);
    c.x[3 * rig->mesh.nvert * 7 + 33] = NAN;
    assert_true(fa_analytic_estimate(rig, clip, other, NULL, &e, &err) == FA_E_FORMAT);
    assert_string_equal(err.place, "frame 7, vertex 11");
    err = (FaError){0};
    assert_true(fa_analytic_estimate(rig, NULL, other, NULL, &e, &err) == FA_E_ARG);
    fa_sequence_close(other);
    free(c.x);
    fa_clip_free(clip);
    fa_clip_free(still);
    fa_clip_free(tiny);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_global), cmocka_unit_test(test_vertices),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
