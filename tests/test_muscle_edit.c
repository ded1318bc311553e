// Edits of poses of the shipped head: figure 3 of paper 002 (a mouth made narrower by its incisivi, then by their
// tracks), keys along the way, retiming, jaw, activation by length, dragging.
// labels: heavy
#include "test_head_tools.h"

#include "math/mat3.h"
#include "muscle/curves.h"

#include <stdlib.h>

static FaRig *rig;
static FaFace *face;
static FaMuscleModel *model;
static FaDirected *narrow;
static float *surface;

static int make(void **state) {
    (void)state;
    FaError err = {0};
    double act[FA_MUSCLES_MOST] = {0};
    FaHead *head = head_at(0, 0, true);
    CHECK_OK(fa_head_save(head, NULL, true, NULL, test_path("head.glb"), &err), &err);
    fa_head_free(head);
    CHECK_OK(fa_rig_load(test_path("head.glb"), NULL, &rig, &err), &err);
    CHECK_OK(fa_face_get(rig, FA_NEED_FACE, NULL, &face, &err), &err);
    CHECK_OK(fa_muscle_open(rig, face, &(FaMuscleOptions){.flesh_size = 4000}, &model, &err), &err);
    CHECK_OK(fa_muscle_activate(model, "inc_*=1", act, &err), &err);
    CHECK_OK(fa_muscle_directed(model, &(FaMusclePose){.activation = act}, &narrow, &err), &err);
    return (surface = FA_NEW(6 * (size_t)rig->mesh.nvert, float)) ? 0 : -1;
}

static int drop(void **state) {
    (void)state;
    fa_directed_free(narrow);
    fa_muscle_close(model);
    fa_face_free(face);
    fa_rig_free(rig);
    fa_free(surface);
    return 0;
}

static FaDirected *edited(const FaDirected *from, const char *edits) {
    FaError err = {0};
    FaDirected *out;
    char json[400];
    snprintf(json, sizeof json, "{\"edits\":[%s]}", edits);
    CHECK_OK(fa_directed_edit(model, from, json, &out, &err), &err);
    return out;
}

static int index_of(const char *name) {
    int i = 0;
    while (strcmp(fa_muscle_info(model, i).name, name) != 0) i++;
    return i;
}

// Figure 3. Springs are of the muscles that were edited alone.
static void test_figure_3(void **state) {
    (void)state;
    FaError err = {0};
    FaMusclePosed rest, raw, eight, twelve;
    FaDirected *a =
        edited(narrow, "{\"muscle\":\"inc_*\",\"u\":1,\"move\":{\"medial\":8},\"falloff\":\"linear\",\"key\":1}");
    FaDirected *b = edited(narrow, "{\"muscle\":\"inc_*\",\"move\":{\"medial\":12}}");
    CHECK_OK(fa_muscle_pose(model, &(FaMusclePose){0}, surface, &rest, &err), &err);
    CHECK_OK(fa_muscle_direct(model, narrow, 1, surface, &raw, &err), &err);
    CHECK_OK(fa_muscle_direct(model, a, 1, surface, &eight, &err), &err);
    CHECK_OK(fa_muscle_direct(model, b, 1, surface, &twelve, &err), &err);
    print_message("mouth: %.1f mm, incisivi %.1f, 8 mm %.1f, 12 mm %.1f and lips %.1f apart\n", 1e3 * rest.mouth_width,
                  1e3 * raw.mouth_width, 1e3 * eight.mouth_width, 1e3 * twelve.mouth_width, 1e3 * twelve.mouth_open);
    assert_true(rest.mouth_width > 0.045 && raw.mouth_width < 0.047 && raw.mouth_width < 0.92 * rest.mouth_width);
    assert_true(eight.mouth_width < 0.038 && twelve.mouth_width < eight.mouth_width - 1e-3);
    assert_true(twelve.mouth_open > 3e-3 && twelve.inverted < 20);
    for (int i = 0; i < a->nmuscle; i++) assert_int_equal(a->sprung[i], !strncmp(a->name[i], "incisivus", 9));
    fa_directed_free(a);
    fa_directed_free(b);
}

// In the middle of the way: ends stay, to the bit, and the neutral too; a key between levels makes more of them.
static void test_key(void **state) {
    (void)state;
    const int m = index_of("zygomaticus_major.L");
    FaDirected *a = edited(narrow, "{\"muscle\":\"zyg_maj.L\",\"move\":{\"up\":4},\"key\":0.5}"),
               *b = edited(narrow, "{\"muscle\":\"zyg_maj.L\",\"move\":{\"up\":4},\"key\":0.3}");
    const size_t n = 3 * (size_t)a->npoint, p = 3 * (size_t)a->start[m + 1] - 3; // its last point
    assert_int_equal(a->nlevel, 4);
    assert_memory_equal(a->track + 3 * n, narrow->track + 3 * n, n * sizeof *a->track);
    double by[3];
    for (int k = 0; k < 3; k++) by[k] = a->track[n + p + (size_t)k] - narrow->track[n + p + (size_t)k];
    fai_m3_mulv(rig->axes, by, by);
    CHECK_NEAR(by[1], 4e-3, 1e-12);
    assert_true(fabs(by[0]) < 1e-12);
    for (int k = 0; k < 3; k++) by[k] = a->track[n + 3 * (size_t)a->start[m] + (size_t)k];
    CHECK_NEAR(by[1], narrow->track[n + 3 * (size_t)a->start[m] + 1], 1e-12); // the origin stays
    assert_int_equal(b->nlevel, 16);
    double *there = FA_NEW(2 * n, double);
    fai_directed_track(b, 5. / 16, there);
    fai_directed_track(narrow, 5. / 16, there + n);
    for (int k = 0; k < 3; k++) by[k] = there[p + (size_t)k] - there[n + p + (size_t)k];
    CHECK_NEAR(fai_v3_norm(by), 4e-3, 1e-9);
    fa_free(there);
    fa_directed_free(a);
    fa_directed_free(b);
}

// Medial is inwards on both sides, and on both halves of a muscle in the middle.
static void test_medial(void **state) {
    (void)state;
    FaDirected *a = edited(narrow, "{\"muscle\":\"*\",\"move\":{\"medial\":2},\"falloff\":\"none\"}");
    const double *end = a->track + 9 * (size_t)a->npoint, *was = narrow->track + 9 * (size_t)a->npoint;
    for (int m = 0; m < a->nmuscle; m++)
        for (int p = a->start[m]; p < a->start[m + 1]; p++) {
            const double *c = model->muscles.muscle[m].solid.c + 3 * (size_t)(p - a->start[m]);
            double by[3], at[3];
            for (int k = 0; k < 3; k++) by[k] = end[3 * p + k] - was[3 * p + k];
            fai_m3_mulv(rig->axes, by, by);
            fai_m3_mulv(rig->axes, c, at);
            if (fabs(at[0]) > 8e-3) CHECK_NEAR(by[0], at[0] > 0 ? -2e-3 : 2e-3, 1e-9);
        }
    fa_directed_free(a);
}

// Muscles that were sprung and lie near the edited one go along with it, those that are far stay, to the bit; of a pose
// without springs none does.
static void test_around(void **state) {
    (void)state;
    FaError err = {0};
    FaDirected *sprung, *a;
    const char *text = "{\"muscle\":\"zyg_maj.L\",\"move\":{\"down\":4}}";
    const int near = index_of("risorius.L"), far = index_of("frontalis_medial.L"), other = index_of("risorius.R");
    CHECK_OK(fai_directed_copy(narrow, &sprung, &err), &err);
    memset(sprung->sprung, 1, (size_t)sprung->nmuscle);
    for (int k = 0; k < 2; k++) {
        const int muscles[] = {near, far, other};
        double most[3] = {0};
        a = edited(k ? sprung : narrow, text);
        for (int i = 0; i < 3; i++)
            for (int p = 3 * a->start[muscles[i]]; p < 3 * a->start[muscles[i] + 1]; p++)
                most[i] = fmax(most[i], fabs(a->track[9 * a->npoint + p] - narrow->track[9 * a->npoint + p]));
        assert_true(k ? most[0] > 2e-3 && most[0] <= 4e-3 : most[0] == 0);
        assert_true(most[1] == 0 && most[2] == 0);
        fa_directed_free(a);
    }
    a = edited(sprung, "{\"muscle\":\"zyg_maj.L\",\"move\":{\"down\":4},\"around\":0}");
    assert_memory_equal(a->track + 9 * (size_t)a->npoint + 3 * (size_t)a->start[near],
                        narrow->track + 9 * (size_t)a->npoint + 3 * (size_t)a->start[near],
                        3 * (size_t)(a->start[near + 1] - a->start[near]) * sizeof *a->track);
    fa_directed_free(a);
    fa_directed_free(sprung);
}

// Twice as soon: half of the way is where the end was.
static void test_retime(void **state) {
    (void)state;
    FaDirected *a = edited(narrow, "{\"muscle\":\"*\",\"retime\":[[0,0],[0.5,1],[1,1]]}");
    const size_t n = 3 * (size_t)a->npoint;
    assert_int_equal(a->nlevel, 8);
    assert_memory_equal(a->track + 3 * n, narrow->track + 3 * n, n * sizeof *a->track);
    assert_memory_equal(a->track + 1 * n, narrow->track + 1 * n, n * sizeof *a->track);
    fa_directed_free(a);
}

// A muscle as long as it is at half of its strength is at half of it; names that no one has are told.
static void test_length(void **state) {
    (void)state;
    FaError err = {0};
    const int m = index_of("zygomaticus_major.L");
    FaMuscleCurve c;
    double act[FA_MUSCLES_MOST] = {0};
    CHECK_OK(fa_muscle_curve(model, m, &c, &err), &err);
    assert_int_equal(c.n, 7);
    for (int k = 1; k < c.n; k++) assert_true(c.length[k] < c.length[k - 1]);
    CHECK_NEAR(c.length[0], fa_muscle_info(model, m).length, 1e-9);
    act[m] = 0.5;
    FaDirected *half, *a;
    CHECK_OK(fa_muscle_directed(model, &(FaMusclePose){.activation = act}, &half, &err), &err);
    half->activation[m] = 0.9;
    a = edited(half, "{\"muscle\":\"zyg_maj.L\",\"activation\":\"length\"},{\"muscle\":\"dao\",\"activation\":0.4}");
    print_message("zygomaticus major: %.1f mm, at full strength %.1f; found again at %.3f\n", 1e3 * c.length[0],
                  1e3 * c.length[6], a->activation[m]);
    CHECK_NEAR(a->activation[m], 0.5, 0.03);
    CHECK_NEAR(a->activation[index_of("depressor_anguli_oris.R")], 0.4, 0);
    assert_int_equal(a->sprung[m], 0);
    fa_directed_free(a);
    assert_int_equal(
        fa_directed_edit(model, half, "{\"edits\":[{\"muscle\":\"zygomatikus\",\"move\":{\"up\":1}}]}", &a, &err),
        FA_E_ARG);
    assert_string_equal(err.place, "/edits/0/muscle");
    assert_non_null(strstr(err.remedy, "zygomaticus_m"));
    fa_directed_free(half);
}

// The jaw of an edit is the pose's; tracks go with it.
static void test_jaw(void **state) {
    (void)state;
    FaError err = {0};
    FaMusclePosed r;
    FaDirected *a = edited(narrow, "{\"muscle\":\"inc_*\",\"move\":{\"medial\":4}},{\"jaw\":{\"open\":6}}");
    CHECK_OK(fa_muscle_direct(model, a, 1, surface, &r, &err), &err);
    CHECK_NEAR(r.open, 6, 1e-6);
    print_message("jaw at 6 degrees: lips %.1f mm apart, %d inside out\n", 1e3 * r.mouth_open, r.inverted);
    assert_true(r.mouth_open > 4e-3 && r.inverted < 20);
    fa_directed_free(a);
}

// Dragged to 4 mm in steps is near to what is made from rest: the way decides how lips lie on each other and on teeth.
static void test_drag(void **state) {
    (void)state;
    FaError err = {0};
    FaMusclePosed r, from_rest;
    const size_t n = 3 * (size_t)rig->mesh.nvert;
    double most = 0;
    CHECK_OK(fa_muscle_direct(model, narrow, 1, surface, &r, &err), &err);
    for (int mm = 1; mm <= 4; mm++) {
        char text[100];
        snprintf(text, sizeof text, "{\"muscle\":\"inc_*\",\"move\":{\"medial\":%d}}", mm);
        FaDirected *a = edited(narrow, text);
        CHECK_OK(fa_muscle_drag(model, a, surface, &r, &err), &err);
        if (mm == 4) CHECK_OK(fa_muscle_direct(model, a, 1, surface + n, &from_rest, &err), &err);
        fa_directed_free(a);
    }
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)surface[i] - (double)surface[n + i]));
    print_message("dragged: mouth %.2f mm, from rest %.2f; farthest %.2f mm; %.0f ms\n", 1e3 * r.mouth_width,
                  1e3 * from_rest.mouth_width, 1e3 * most, 1e3 * r.seconds);
    CHECK_NEAR(r.mouth_width, from_rest.mouth_width, 1.5e-3);
    assert_true(most < 3e-3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_3), cmocka_unit_test(test_key),    cmocka_unit_test(test_medial),
        cmocka_unit_test(test_retime),   cmocka_unit_test(test_around), cmocka_unit_test(test_length),
        cmocka_unit_test(test_jaw),      cmocka_unit_test(test_drag),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
