// Faces driven by markers, on the vertices that carry none: each way against SBS on truths that it did not make; how a
// released smile comes back; and the measure itself.
// labels: heavy
#include "bench/dense_truth.h"
#include "bench/relaxation.h"

#include "fascia/drive.h"
#include "rig/transfer.h"
#include "test.h"

enum { MARKERS = 80 };

typedef struct Scene {
    FaTruth *truth;
    FaRig *rig; // that solves
    FaFace *face;
    FaMarkerMap *map;
    FaMarkerTake *take;
    FaDense *dense;
} Scene;

static FaTruth *head_truth(const char *clip, FaStretch s) {
    FaError err = {0};
    FaTruth *t;
    FaHeadParams p = fa_head_params_default();
    p.level = 0;
    CHECK_OK(fai_truth_of_head(&p, clip, s, &t, &err), &err);
    return t;
}

// rig: taken over; NULL: the truth's own.
static Scene scene_of(FaTruth *t, FaRig *rig, double noise) {
    FaError err = {0};
    Scene s = {.truth = t, .rig = rig ? rig : t->rig};
    CHECK_OK(fa_face_build(s.rig, NULL, &s.face, &err), &err);
    CHECK_OK(fa_markers_choose(t->rig, MARKERS, &s.map, &err), &err);
    CHECK_OK(fai_truth_markers(t, s.map, noise, 11, &s.take, &err), &err);
    CHECK_OK(fai_dense_new(t, s.map, &s.dense, &err), &err);
    return s;
}

static void scene_free(Scene *s) {
    fai_dense_free(s->dense);
    fa_markers_free(s->take);
    fa_marker_map_free(s->map);
    fa_face_free(s->face);
    if (s->rig != s->truth->rig) fa_rig_free(s->rig);
    fai_truth_free(s->truth);
}

static FaDenseFigures solve(const Scene *s, FaDriveOptions o) {
    FaError err = {0};
    FaDrive *drive;
    o.head_frame = true;
    float *x = malloc(3 * (size_t)s->truth->nvert * sizeof *x);
    CHECK_OK(fa_drive_open(s->rig, s->face, s->take, s->map, &o, &drive, &err), &err);
    fai_dense_reset(s->dense);
    for (int f = 0; f < s->truth->nframe; f++) {
        CHECK_OK(fa_sequence_read(fa_drive_sequence(drive), f, x, &err), &err);
        fai_dense_frame(s->dense, f, x);
    }
    fa_drive_close(drive);
    free(x);
    return fai_dense_figures(s->dense);
}

typedef struct Errors {
    double sbs, sbs_res, ours, automatic; // mm
} Errors;

static Errors errors_of(const char *name, Scene s) {
    Errors e = {
        solve(&s, (FaDriveOptions){.kind = FA_DRIVE_SBS, .no_jaw = true, .no_residual = true}).mean[FA_DENSE_ALL],
        solve(&s, (FaDriveOptions){.kind = FA_DRIVE_SBS}).mean[FA_DENSE_ALL],
        solve(&s, (FaDriveOptions){.kind = FA_DRIVE_BF}).mean[FA_DENSE_ALL],
        solve(&s, (FaDriveOptions){.kind = FA_DRIVE_AUTO}).mean[FA_DENSE_ALL]};
    print_message("%-24s SBS %.3f mm; SBS jaw+res %.2f, BF jaw+res %.2f, auto %.2f of it\n", name, e.sbs,
                  e.sbs_res / e.sbs, e.ours / e.sbs, e.automatic / e.sbs);
    scene_free(&s);
    return e;
}

// --- the measure --------------------------------------------------------------------------------------------------

static void measure(void **state) {
    (void)state;
    Scene s = scene_of(head_truth("talk", (FaStretch){60, 6, 2}), NULL, 0);
    const FaTruth *t = s.truth;
    float *x = malloc(3 * (size_t)t->nvert * sizeof *x);
    // the truth itself is exact; off by 1 mm everywhere is 1 mm everywhere
    for (int off = 0; off < 2; off++) {
        fai_dense_reset(s.dense);
        for (int f = 0; f < t->nframe; f++) {
            memcpy(x, t->x + (size_t)f * 3 * (size_t)t->nvert, 3 * (size_t)t->nvert * sizeof *x);
            for (int v = 0; off && v < t->nvert; v++) x[3 * v + 1] += 1e-3f;
            fai_dense_frame(s.dense, f, x);
        }
        FaDenseFigures g = fai_dense_figures(s.dense);
        int sum = 0;
        for (int p = 1; p < FA_DENSE_PARTS; p++) {
            assert_true(g.nvert[p] > 20);
            sum += g.nvert[p];
            CHECK_NEAR(g.mean[p], off, 1e-4);
            CHECK_NEAR(g.p95[p], off, 4e-3);
        }
        assert_int_equal(sum, g.nvert[FA_DENSE_ALL]);
        CHECK_NEAR(g.marked, off, 1e-4);
        CHECK_NEAR(g.jitter, 0, 1e-3);
    }
    free(x);
    scene_free(&s);
}

static void outside_of_the_span(void **state) {
    (void)state;
    FaError err = {0};
    double share, differ;
    FaRig *moved;
    FaTruth *t = head_truth("talk", (FaStretch){60, 40, 4});
    CHECK_OK(fai_truth_outside(t, t->rig, &share, &err), &err);
    assert_true(share > 0.01 && share < 0.2);
    // linear frames are inside
    float w[FA_ARKIT_COUNT] = {0};
    w[3] = 0.4f, w[17] = 0.7f, w[23] = 0.5f;
    for (int f = 0; f < t->nframe; f++) fa_rig_blend(t->rig, w, t->x + (size_t)f * 3 * (size_t)t->nvert);
    CHECK_OK(fai_truth_outside(t, t->rig, &share, &err), &err);
    CHECK_NEAR(share, 0, 1e-5);
    // other shapes are other shapes
    CHECK_NEAR(fai_shapes_difference(t->rig, t->rig), 0, 1e-9);
    CHECK_OK(fai_truth_transferred(t, 3, -1, &moved, &differ, &err), &err);
    assert_true(differ > 0.01 && differ < 0.3);
    CHECK_OK(fai_truth_outside(t, moved, &share, &err), &err);
    assert_true(share > 1e-3);
    fa_rig_free(moved);
    fai_truth_free(t);
}

// --- driven faces -------------------------------------------------------------------------------------------------

static void exact_shapes(void **state) {
    (void)state;
    Errors talk = errors_of("talk, exact", scene_of(head_truth("talk", (FaStretch){60, 60, 2}), NULL, 0));
    assert_true(talk.automatic < 0.65 * talk.sbs);
    if (!getenv("FASCIA_FULL")) return; // press is below with other shapes
    Errors press = errors_of("press, exact", scene_of(head_truth("press", (FaStretch){0, 60, 2}), NULL, 0));
    assert_true(press.automatic < 0.65 * press.sbs);
    Errors rom = errors_of("rom, exact", scene_of(head_truth("rom", (FaStretch){590, 45, 4}), NULL, 0));
    assert_true(rom.automatic < 0.65 * rom.sbs);
}

static void shapes_of_another_identity(void **state) {
    (void)state;
    FaError err = {0};
    static const char *const clip[] = {"talk", "press"};
    for (int i = getenv("FASCIA_FULL") ? 0 : 1; i < 2; i++) { // talk with other shapes is below
        FaRig *moved;
        FaTruth *t = head_truth(clip[i], (FaStretch){i ? 0 : 60, 60, 2});
        CHECK_OK(fai_truth_transferred(t, 3, -1, &moved, NULL, &err), &err);
        Errors e = errors_of(i ? "press, identity" : "talk, identity", scene_of(t, moved, 0));
        assert_true(e.ours < 0.65 * e.sbs);
        assert_true(e.ours < e.sbs_res);
        assert_true(e.automatic < 0.65 * e.sbs);
    }
}

// Pairs of identities that were not tuned on. 55 to 8: the jaw's hinge is off, and auto has to find out; there and on
// `press`, 21 to 34 (0.67), what holds is less than the aim of 0.65.
static void shapes_of_fresh_identities(void **state) {
    (void)state;
    FaError err = {0};
    static const struct {
        const char *clip;
        uint64_t from, to;
        double ours, automatic; // of SBS, at most
    } pair[] = {{"talk", 21, 34, 0.65, 0.65}, {"talk", 55, 8, 0.65, 0.65}, {"press", 21, 34, 0.69, 0.69}};
    for (int i = 0; i < FA_COUNT(pair); i++) {
        if (i != 1 && !getenv("FASCIA_FULL")) continue; // the hard one
        FaRig *moved;
        FaTruth *t;
        FaHeadParams p = fa_head_params_default();
        p.level = 0;
        fa_head_params_seed(&p, pair[i].to);
        CHECK_OK(fai_truth_of_head(&p, pair[i].clip, (FaStretch){i == 2 ? 0 : 60, 60, 2}, &t, &err), &err);
        CHECK_OK(fai_truth_transferred(t, pair[i].from, -1, &moved, NULL, &err), &err);
        char name[64];
        snprintf(name, sizeof name, "%s, %d to %d", pair[i].clip, (int)pair[i].from, (int)pair[i].to);
        Errors e = errors_of(name, scene_of(t, moved, 0));
        assert_true(e.ours < pair[i].ours * e.sbs);
        assert_true(e.automatic < pair[i].automatic * e.sbs);
        assert_true(e.ours < e.sbs_res);
    }
}

// The thesis's case: shapes made for another character.
static void shapes_of_another_character(void **state) {
    (void)state;
    FaError err = {0};
    TEST_DATA_OR_SKIP(path, "rigs/facecap/FaceCapHeadGeneric.fbx");
    FaRig *other, *moved;
    if (fa_rig_load(path, NULL, &other, &err) < 0) {
        print_message("%s\n", err.what);
        skip();
    }
    FaTransferOptions o = {.force_closest = true};
    FaTruth *t = head_truth("talk", (FaStretch){60, 60, 2});
    CHECK_OK(fai_transfer(other, &t->rig->mesh, &o, &moved, NULL, &err), &err);
    fa_rig_free(other);
    Errors e = errors_of("talk, another character", scene_of(t, moved, 0));
    assert_true(e.ours < 0.65 * e.sbs);
    assert_true(e.ours < e.sbs_res);
    assert_true(e.automatic < 0.65 * e.sbs);
}

static void flesh_under_physics(void **state) {
    (void)state;
    FaError err = {0};
    FaTruth *still = head_truth("talk", (FaStretch){0, 1, 1}), *t;
    FaClip *talk, *run, *clip;
    CHECK_OK(fa_head_clip("talk", &talk, &err), &err);
    CHECK_OK(fa_head_clip("run", &run, &err), &err);
    CHECK_OK(fa_clip_slice(talk, 60, 119, &clip, &err), &err);
    for (int f = 0; f < clip->nframe; f++) clip->head[f] = run->head[f];
    CHECK_OK(fai_truth_of_physics(still->rig, clip, &t, &err), &err);
    Errors e = errors_of("flesh, exact", scene_of(t, NULL, 0));
    assert_true(e.automatic < 0.65 * e.sbs);
    fa_clip_free(clip);
    fa_clip_free(run);
    fa_clip_free(talk);
    fai_truth_free(still);
}

// 0.3 mm of noise on every marker: the residual pass must not copy it.
static void noisy_markers(void **state) {
    (void)state;
    Scene s = scene_of(head_truth("talk", (FaStretch){60, 60, 2}), NULL, 0.3e-3);
    FaDenseFigures sbs = solve(&s, (FaDriveOptions){.kind = FA_DRIVE_SBS, .no_jaw = true, .no_residual = true});
    FaDenseFigures ours = solve(&s, (FaDriveOptions){.kind = FA_DRIVE_AUTO});
    print_message("noise 0.3 mm: SBS %.3f mm, jitter %.3f; auto %.3f, %.3f\n", sbs.mean[0], sbs.jitter, ours.mean[0],
                  ours.jitter);
    assert_true(ours.mean[0] < sbs.mean[0]);
    assert_true(ours.jitter < sbs.jitter);
    scene_free(&s);
}

// --- release (fig. 5.6) -------------------------------------------------------------------------------------------

static void relaxation(void **state) {
    (void)state;
    FaError err = {0};
    FaRelaxation r;
    int n[FA_RELAX_CURVES];
    CHECK_OK(fai_relaxation(&r, &err), &err);
    for (int c = 0; c < FA_RELAX_CURVES; c++) {
        n[c] = fai_relax_frames(&r, (FaRelaxCurve)c, 0.02);
        print_message("%s: %d frames\n", fai_relax_name[c], n[c]);
        CHECK_NEAR(r.share[c][FA_RELAX_BEFORE - 1], 1, 0.05);
        CHECK_NEAR(r.share[c][FA_RELAX_FRAMES - 1], 0, 0.02);
    }
    assert_true(n[FA_RELAX_TRUTH] <= 1 && n[FA_RELAX_SBS] <= 1);
    assert_true(n[FA_RELAX_LITERAL] >= 3 && n[FA_RELAX_BF] >= 2 && n[FA_RELAX_SOFT] >= 4);
    // and never beyond rest
    for (int f = FA_RELAX_BEFORE; f < FA_RELAX_FRAMES; f++) assert_true(r.share[FA_RELAX_BF][f] > -0.03);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measure),
        cmocka_unit_test(outside_of_the_span),
        cmocka_unit_test(relaxation),
        cmocka_unit_test(exact_shapes),
        cmocka_unit_test(shapes_of_another_identity),
        cmocka_unit_test(shapes_of_fresh_identities),
        cmocka_unit_test(shapes_of_another_character),
        cmocka_unit_test(flesh_under_physics),
        cmocka_unit_test(noisy_markers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
