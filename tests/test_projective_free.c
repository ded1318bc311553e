// What hangs free: the zoo's creature with tentacles swings, falls together and sticks where it is said to; goals by
// region; the control holds nothing there.
#include "projective/projective_method.h"

#include "build/skin_body.h"
#include "face/region_text.h"
#include "fascia/head.h"
#include "test_face_tools.h"

static FaRig *rig;
static FaFace *face;
static unsigned char *tip; // of the rig's vertices: on a tentacle, well beyond its root

static int setup(void **state) {
    (void)state;
    FaError err = {0};
    const char *path = test_path("tentacles.glb");
    for (int i = 0; i < fa_zoo_count(); i++)
        if (!strcmp(fa_zoo_animal(i).name, "tentacles")) CHECK_OK(fa_zoo_save(i, 0, NULL, path, &err), &err);
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
    tip = calloc((size_t)rig->mesh.nvert, 1);
    for (int i = 0; i < face->nskin; i++) tip[face->skin_vertex[i]] = fai_face_hangs(face, i) > 0.99f;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    free(tip);
    fa_face_free(face);
    fa_rig_free(rig);
    return 0;
}

typedef struct Seen {
    double tips, rest; // m: largest distance from linear blending, on tentacles and elsewhere
    int bonds;         // most at a time
} Seen;

// The animal's own clip, every frame; NULL: no goals, what sticks is the lips.
static Seen play(const char *goals, const char *sticks, int frames) {
    FaError err = {0};
    FaMethod *m;
    FaParams *p;
    FaBinding bind;
    Seen seen = {0};
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = calloc(n, sizeof *x), *linear = calloc(n, sizeof *linear);
    float *w = calloc((size_t)rig->nshape + 1, sizeof *w);
    CHECK_OK(fa_params_new("projective", &p, &err), &err);
    if (goals) CHECK_OK(fa_params_set(p, "goals", goals, &err), &err);
    if (sticks) CHECK_OK(fa_params_set(p, "sticks", sticks, &err), &err);
    CHECK_OK(fa_params_set(p, "sticky_stiffness", "2", &err), &err);
    CHECK_OK(fa_method_open("projective", &(FaMethodSetup){.rig = rig, .face = face, .params = p}, &m, &err), &err);
    CHECK_OK(fa_clip_bind(rig->clip, rig, &bind, &err), &err);
    for (int f = 0; f < frames; f++) {
        fa_binding_weights(&bind, rig->clip->weight + (size_t)f * (size_t)rig->clip->nchan, w);
        FaInput in = {.time = rig->clip->time[f], .weights = w, .head = rig->clip->head[f]};
        FaStats stats = {0};
        if (f)
            CHECK_OK(fa_method_step(m, &in, x, &stats, &err), &err);
        else
            CHECK_OK(fa_method_reset(m, &in, x, &err), &err);
        assert_int_equal(stats.limited, 0);
        fa_rig_blend(rig, w, linear);
        for (int v = 0; v < rig->mesh.nvert; v++) {
            double *most = tip[v] ? &seen.tips : &seen.rest;
            if (face->node_of_vertex[v] >= 0)
                *most = fmax(*most, head_distance(x + 3 * (size_t)v, linear + 3 * (size_t)v));
        }
        seen.bonds = FA_MAX(seen.bonds, fai_projective_times(m)->touching.bonds);
    }
    fa_binding_free(&bind);
    fa_method_close(m);
    fa_params_free(p);
    free(x), free(linear), free(w);
    return seen;
}

static void it_hangs_on_nothing(void **state) {
    (void)state;
    int nodes = 0;
    for (int i = 0; i < face->nskin; i++) {
        if (fai_face_hangs(face, i) < 0.99f) continue;
        nodes++;
        assert_true(face->to_skull[i] + face->to_jaw[i] < 0.011f);
    }
    print_message("%d nodes hang free\n", nodes);
    assert_true(nodes > 300);
    // the control's springs and its shapes as forces leave it out (thesis 6.4.2)
    FaElastic e;
    FaError err = {0};
    CHECK_OK(fai_skin_body(face, NULL, &e, &err), &err);
    double held = 0, loose = 0;
    for (int i = 0; i < face->nskin; i++) {
        const double per = e.anchor_weight[i] / e.mass[i];
        if (fai_face_hangs(face, i) > 0.999f)
            loose = fmax(loose, per);
        else if (fai_face_hangs(face, i) == 0)
            held = fmax(held, per);
    }
    assert_true(loose > 0 && loose < 2e-3 * held);
    fai_arena_free(e.arena);
}

// A shaken head (the first third of a second), with and without goals on the tentacles.
static void it_swings(void **state) {
    (void)state;
    const Seen free_ = play(NULL, NULL, 20), held = play("hanging=1", NULL, 20),
               half = play("hanging=0.5,cheeks=3", NULL, 20);
    print_message("tips %.1f mm, with goals %.1f, with half %.1f; elsewhere %.1f, %.1f, %.1f\n", 1e3 * free_.tips,
                  1e3 * held.tips, 1e3 * half.tips, 1e3 * free_.rest, 1e3 * held.rest, 1e3 * half.rest);
    assert_true(free_.tips > 0.03 && held.tips < 0.012);
    assert_true(half.tips < 0.8 * free_.tips && half.tips > 1.5 * held.tips);
}

// Lying on its side: the tentacles fall on each other, and stick if that is asked for.
static void it_sticks_where_it_is_said(void **state) {
    (void)state;
    const int frames = test_few(rig->clip->nframe, 90);
    const Seen lips = play(NULL, NULL, frames), all = play(NULL, "lips,hanging", frames),
               some = play(NULL, "hanging", frames);
    print_message("bonds: lips %d, with tentacles %d, tentacles %d\n", lips.bonds, all.bonds, some.bonds);
    assert_true(some.bonds > 0);
    assert_true(all.bonds >= FA_MAX(some.bonds, lips.bonds));
}

static void what_cannot_be_read_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *option, *text, *says;
    } bad[] = {{"goals", "cheek=2", "no region 'cheek'"},       {"goals", "cheeks", "cannot read 'cheeks'"},
               {"goals", "cheeks=-1", "cannot read"},           {"goals", "cheeks=1;lips=2", "cannot read"},
               {"sticks", "lips,tongue", "no region 'tongue'"}, {"sticks", "lips=1", "no region 'lips=1'"}};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        FaError err = {0};
        FaMethod *m = NULL;
        FaParams *p;
        CHECK_OK(fa_params_new("projective", &p, &err), &err);
        CHECK_OK(fa_params_set(p, bad[i].option, bad[i].text, &err), &err);
        assert_int_equal(
            fa_method_open("projective", &(FaMethodSetup){.rig = rig, .face = face, .params = p}, &m, &err), FA_E_ARG);
        assert_null(m);
        if (!strstr(err.what, bad[i].says)) fail_msg("%s: %s", bad[i].text, err.what);
        fa_params_free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_hangs_on_nothing), cmocka_unit_test(it_swings),
                                       cmocka_unit_test(it_sticks_where_it_is_said),
                                       cmocka_unit_test(what_cannot_be_read_is_refused)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
