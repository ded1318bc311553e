// Rigid things between the lips: skin that lies in them is pushed out, also while the lips are pursed around them.
// labels: heavy
#include "test_head_tools.h"

#include "fascia/method.h"
#include "muscle/collide.h"

// A rod of eight sides through the closed lips, along z, off the middle; metres.
static void write_rod(const char *path, bool inside_out) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (int end = 0; end < 2; end++)
        for (int k = 0; k < 8; k++)
            fprintf(f, "v %.6f %.6f %.6f\n", 0.012 + 0.003 * cos(M_PI * k / 4), -0.0436 + 0.003 * sin(M_PI * k / 4),
                    end ? 0.115 : 0.07);
    fprintf(f, "v 0.012 -0.0436 0.07\nv 0.012 -0.0436 0.115\n");
    for (int k = 0; k < 8; k++) {
        const int a = k + 1, b = (k + 1) % 8 + 1;
        const int quad[4] = {a, b, b + 8, a + 8};
        for (int c = 0; c < 4; c++) fprintf(f, c ? " %d" : "f %d", quad[inside_out ? 3 - c : c]);
        const int cap[2] = {inside_out ? a : b, inside_out ? b : a};
        fprintf(f, "\nf 17 %d %d\nf 18 %d %d\n", cap[0], cap[1], cap[1] + 8, cap[0] + 8);
    }
    fclose(f);
}

static FaRig *rig;
static FaFace *face;

static int make(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head = head_at(0, 0, true);
    CHECK_OK(fa_head_save(head, NULL, true, NULL, test_path("head.glb"), &err), &err);
    fa_head_free(head);
    CHECK_OK(fa_rig_load(test_path("head.glb"), NULL, &rig, &err), &err);
    CHECK_OK(fa_face_get(rig, FA_NEED_FACE, NULL, &face, &err), &err);
    return 0;
}

static int drop(void **state) {
    (void)state;
    fa_face_free(face);
    fa_rig_free(rig);
    return 0;
}

static void lips_go_around_it(void **state) {
    (void)state;
    FaError err = {0};
    FaMuscleModel *model;
    FaRig *rod;
    FaMusclePosed posed, open;
    double act[FA_MUSCLES_MOST] = {0};
    float *surface = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    CHECK_OK(fa_muscle_open(rig, face, &(FaMuscleOptions){.flesh_size = 1500}, &model, &err), &err);
    for (int out = 0; out < 2; out++) {
        write_rod(test_path("rod.obj"), out == 1);
        CHECK_OK(fa_collider_load(test_path("rod.obj"), rig, &rod, &err), &err);
        CHECK_OK(fa_muscle_collide(model, rod, out == 1, &err), &err);
        fa_rig_free(rod);
    }
    const double rest = fai_muscle_colliders_depth(model, rig->mesh.x);
    CHECK_OK(fa_muscle_activate(model, "oo_*=.5", act, &err), &err);
    CHECK_OK(fa_muscle_pose(model, &(FaMusclePose){0}, surface, &open, &err), &err);
    CHECK_OK(fa_muscle_pose(model, &(FaMusclePose){.activation = act}, surface, &posed, &err), &err);
    print_message("a rod between the lips: %.2f mm deep as sculpted, %.2f at rest, %.2f pursed\n", 1e3 * rest,
                  1e3 * open.collider_depth, 1e3 * posed.collider_depth);
    assert_true(rest > 5e-4 && open.collider_depth < 0.9 * rest && posed.collider_depth < 0.9 * rest);
    assert_true(posed.collider_depth == fai_muscle_colliders_depth(model, surface));
    fa_free(surface);
    fa_muscle_close(model);
}

static void too_many_or_flat(void **state) {
    (void)state;
    FaError err = {0};
    FaMuscleModel *model;
    FaRig *rod;
    CHECK_OK(fa_muscle_open(rig, face, &(FaMuscleOptions){.flesh_size = 1500}, &model, &err), &err);
    write_rod(test_path("rod.obj"), false);
    CHECK_OK(fa_collider_load(test_path("rod.obj"), rig, &rod, &err), &err);
    for (int i = 0; i < FA_MUSCLE_COLLIDERS_MOST; i++) CHECK_OK(fa_muscle_collide(model, rod, false, &err), &err);
    assert_int_equal(fa_muscle_collide(model, rod, false, &err), FA_E_LIMIT);
    fa_rig_free(rod);
    fa_muscle_close(model);
    CHECK_OK(fa_muscle_open(rig, face, &(FaMuscleOptions){.flesh_size = 1500}, &model, &err), &err);
    FILE *flat = fopen(test_path("flat.obj"), "wb");
    assert_non_null(flat);
    fputs("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 3 2\n", flat);
    fclose(flat);
    CHECK_OK(fa_collider_load(test_path("flat.obj"), rig, &rod, &err), &err);
    assert_int_equal(fa_muscle_collide(model, rod, false, &err), FA_E_MESH);
    fa_rig_free(rod);
    fa_muscle_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lips_go_around_it), cmocka_unit_test(too_many_or_flat)};
    return cmocka_run_group_tests(tests, make, drop);
}
