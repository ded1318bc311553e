// Shapes that repeat each other, shapes that cannot make what the markers do, and markers on the right lip.
// labels: unit
#include "test.h"

#include "blendforces/shape_solve.h"
#include "fascia/drive.h"
#include "fascia/retarget.h"
#include "rig/bind.h"

// A rig by hand: one entry per shape, all on one triangle.
typedef struct Made {
    FaShape shape[80];
    int row[80];
    float delta[240], x[9];
    int tri[3];
    FaRig rig;
} Made;

static void add_shape(Made *m, char *name, int vert, float move) {
    int i = m->rig.nshape++;
    m->shape[i] = (FaShape){.name = name, .first = i, .count = 1};
    m->shape[i].arkit = fa_arkit_match(name, &m->shape[i].half);
    m->row[i] = vert;
    m->delta[3 * i] = move;
    m->rig.nentry++;
}

static void begin(Made *m) {
    *m = (Made){.x = {0, 0, 0, 0.1f, 0, 0, 0, 0.1f, 0}, .tri = {0, 1, 2}};
    m->rig = (FaRig){.shape = m->shape, .row = m->row, .delta = m->delta};
    m->rig.mesh = (FaMesh){.nvert = 3, .ntri = 1, .x = m->x, .tri = m->tri};
}

static int fit(const Made *m, unsigned char *use) {
    FaError err = {0};
    int left;
    CHECK_OK(fai_shapes_to_fit(&m->rig, use, &left, &err), &err);
    return left;
}

static void one_family_is_fitted(void **state) {
    (void)state;
    static Made m;
    static char name[80][48];
    unsigned char use[80];
    int n = 0;
    begin(&m);
    for (int i = 0; i < FA_ARKIT_COUNT; i++) {
        snprintf(name[n], sizeof name[n], "AK_%02d_%s", i, fa_arkit_name(i));
        add_shape(&m, name[n++], 0, 0.01f);
    }
    // a name of nobody's: without a second family it is a shape like any other
    add_shape(&m, "Sneer_Of_Mine", 1, 0.01f);
    assert_int_equal(fit(&m, use), 0);
    // both sides in one, where they are there already: this one is out, nothing else
    add_shape(&m, "AU_12_LipCornerPuller", 0, 0.01f);
    assert_int_equal(fit(&m, use), 1);
    assert_true(use[52] && !use[53]);
    // a second family: what has no place in ARKit may be any of its shapes
    for (int i = 0; i < 10; i++) {
        snprintf(name[n], sizeof name[n], "SR_%02d_%s", i, fa_arkit_name(i));
        add_shape(&m, name[n++], 0, 0.01f);
    }
    assert_int_equal(fit(&m, use), 12);
    for (int i = 0; i < m.rig.nshape; i++) assert_int_equal(use[i], i < 52);
}

// Two shapes that almost cancel: to come 0.05 mm nearer to a marker that none of them reaches, they would both go to
// their limit. The same shapes find what they can make, prior or not.
static void shapes_that_cannot_do_not_fight(void **state) {
    (void)state;
    static Made m;
    FaError err = {0};
    FaSurfacePoint point[2] = {{{0, 0, 0}, {1, 0, 0}}, {{1, 1, 1}, {1, 0, 0}}};
    begin(&m);
    add_shape(&m, "a", 0, 0.01f);
    add_shape(&m, "b", 0, -0.01f);
    // b also moves the second point a little
    m.shape[1].count = 2;
    m.row[2] = 1;
    m.delta[3 * 2] = 1e-4f;
    m.rig.nentry = 3;
    for (int prior = 0; prior < 2; prior++) {
        FaShapeSolveOptions o = {.upper = 1.5, .prior = prior ? 3 : 0};
        FaShapeSolver *s;
        CHECK_OK(fai_shape_solver_new(&m.rig, 2, point, &o, &s, &err), &err);
        float x[6] = {0, 0, 0, 0.105f, 0.01f, 0}, w[2];
        fai_shape_solve(s, &(FaShapeMarkers){.x = x}, w, NULL);
        print_message("prior %d: %.3f against %.3f\n", prior, (double)w[0], (double)w[1]);
        if (prior)
            assert_true(w[0] < 0.05f && w[1] < 0.05f);
        else
            assert_true(w[0] > 1.4f && w[1] > 1.4f);
        fai_shape_solver_reset(s);
        float made[6] = {0.006f, 0, 0, 0.1f, 0, 0};
        fai_shape_solve(s, &(FaShapeMarkers){.x = made}, w, NULL);
        CHECK_NEAR((double)w[0], 0.6, 1e-3);
        CHECK_NEAR((double)w[1], 0, 1e-3);
        fai_shape_solver_free(s);
    }
}

// --- of strangers -------------------------------------------------------------------------------------------------

// Of the most that jawOpen moves any marker.
static void jaw_shares(const FaRig *rig, const FaMarkerMap *map, double *share) {
    double most = 0;
    int s = 0, jaw = fa_arkit_match("jawOpen", NULL);
    while (rig->shape[s].arkit != jaw) s++;
    for (int m = 0; m < map->count; m++) {
        double d[3] = {0};
        for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++)
            for (int k = 0; k < 9; k++)
                if (rig->row[e] == map->point[m].vert[k / 3])
                    d[k % 3] += (double)map->point[m].bary[k / 3] * (double)rig->delta[3 * e + k % 3];
        share[m] = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        most = fmax(most, share[m]);
    }
    for (int m = 0; m < map->count; m++) share[m] /= most;
}

// A body with 175 shapes in four families, driven by markers of another face: no marker goes to the other lip, no shape
// that repeats another moves, none goes far over 1.
static void markers_of_another_face(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(mask, "rigs/facecap/facecap.glb");
    TEST_DATA_OR_SKIP(body, "rigs/wild/Female_Adult_01.fbx");
    TEST_DATA_OR_SKIP(rows, "clips/livelink/alex_rom_3.csv");
    FaError err = {0};
    FaRig *from, *to;
    FaClip *rom, *clip;
    FaSequence *seq;
    FaMarkerMap *map, *on;
    FaMarkerTake *take, *moved;
    FaDrive *drive;
    double a[80], b[80];
    unsigned char use[256];
    CHECK_OK(fa_rig_load(mask, NULL, &from, &err), &err);
    CHECK_OK(fa_rig_load(body, NULL, &to, &err), &err);
    CHECK_OK(fa_clip_load(rows, NULL, &rom, &err), &err);
    CHECK_OK(fa_clip_slice(rom, 3660, 3719, &clip, &err), &err);
    CHECK_OK(fa_markers_choose(from, 80, &map, &err), &err);
    CHECK_OK(fa_sequence_of_clip(from, clip, &seq, &err), &err);
    CHECK_OK(fa_markers_sample(seq, map, 0, &take, &err), &err);
    FaRetargetOptions o = fa_retarget_options_default();
    o.source = from;
    o.from = map;
    o.head_frame = true;
    CHECK_OK(fa_retarget(take, to, &o, &moved, &on, NULL, &err), &err);
    assert_int_equal(on->count, 80);
    jaw_shares(from, map, a);
    jaw_shares(to, on, b);
    for (int m = 0; m < 80; m++) assert_false((a[m] > 0.6 && b[m] < 0.2) || (a[m] < 0.2 && b[m] > 0.6));
    FaDriveOptions how = {.kind = FA_DRIVE_SBS, .no_residual = true, .head_frame = true};
    CHECK_OK(fa_drive_open(to, NULL, moved, on, &how, &drive, &err), &err);
    CHECK_OK(fai_shapes_to_fit(to, use, NULL, &err), &err);
    const FaClip *made = fa_drive_clip(drive);
    for (int f = 0; f < made->nframe; f++)
        for (int s = 0; s < to->nshape; s++) {
            double w = (double)made->weight[f * made->nchan + s];
            assert_true(w <= 1.5 && (use[s] || w == 0));
        }
    fa_drive_close(drive);
    fa_markers_free(moved);
    fa_marker_map_free(on);
    fa_markers_free(take);
    fa_sequence_close(seq);
    fa_marker_map_free(map);
    fa_clip_free(clip);
    fa_clip_free(rom);
    fa_rig_free(to);
    fa_rig_free(from);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_family_is_fitted),
                                       cmocka_unit_test(shapes_that_cannot_do_not_fight),
                                       cmocka_unit_test(markers_of_another_face)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
