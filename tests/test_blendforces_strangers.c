// Markers between a mask and a whole body: chosen on the head, moved from one to the other, and driven, whatever the
// unit and the axes of the files.
#include "test.h"

#include "base/base.h"
#include "fascia/drive.h"
#include "fascia/head.h"
#include "fascia/retarget.h"
#include "math/mat3.h"
#include "math/procrustes.h"
#include "track/markers_face.h"

static FaRig *animal(const char *name) {
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(test_animal(name), NULL, &rig, &err), &err);
    return rig;
}

// Fingers and toes are no face, though the body is one mesh.
static void markers_are_on_the_head(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = animal("body");
    FaMarkerMap *map;
    FaMarkerFace face;
    CHECK_OK(fai_marker_face(rig, &face, &err), &err);
    assert_true(face.radius > 0.05 && face.radius < 0.2 && face.centre[1] > 1.4);
    int head = 0, far = 0;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        bool on = fai_on_head(face.centre, face.radius, rig->mesh.x + 3 * v);
        head += on;
        far += face.open[v] && !on;
    }
    assert_true(head > 500 && head < rig->mesh.nvert - 500);
    assert_int_equal(far, 0);
    CHECK_OK(fa_markers_choose(rig, 80, &map, &err), &err);
    for (int i = 0; i < map->count; i++) assert_true(rig->mesh.x[3 * map->point[i].vert[0] + 1] > 1.4f);
    fa_marker_map_free(map);
    fai_marker_face_free(&face);
    fa_rig_free(rig);
}

// The zoo's animals are one head: its points are the same on all of them, once unit, axes and place are undone.
static void mask_and_body(void **state) {
    (void)state;
    FaRig *rig[2] = {animal("mask"), animal("body")};
    for (int way = 0; way < 2; way++) {
        const FaRig *from = rig[way], *to = rig[!way];
        FaError err = {0};
        FaMarkerMap *map, *there;
        CHECK_OK(fa_markers_choose(from, 80, &map, &err), &err);
        CHECK_OK(fa_marker_map_move(map, from, to, 0, &there, &err), &err);
        double *p = FA_NEW(240, double), *q = FA_NEW(240, double);
        int n = 0;
        for (int i = 0; i < 80; i++) {
            if (there->point[i].vert[0] < 0) continue;
            fa_marker_point_at(&map->point[i], from->mesh.x, false, p + 3 * n);
            fa_marker_point_at(&there->point[i], to->mesh.x, false, q + 3 * n++);
        }
        FaAlign a = fai_align(n, p, q, NULL, true);
        print_message("%s: %d points, size %.3f, %.2f mm rms\n", way ? "body to mask" : "mask to body", n, a.scale,
                      1e3 * a.rms);
        assert_true(n >= 78);
        CHECK_NEAR(a.scale, 1, 0.03);
        assert_true(a.rms < 0.0015);
        fa_free(p);
        fa_free(q);
        fa_marker_map_free(map);
        fa_marker_map_free(there);
    }
    fa_rig_free(rig[0]);
    fa_rig_free(rig[1]);
}

// A shape that is the rounding of an exporter at the markers, and large elsewhere: a body's 175 shapes have many. Its
// weight grew to thousands, and the rest of the face went metres away.
static void rounding_is_no_direction(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = animal("body");
    FaMarkerMap *map;
    FaMarkerTake *take;
    FaDrive *drive;
    CHECK_OK(fa_markers_choose(rig, 80, &map, &err), &err);
    int noisy = -1;
    for (int s = 0; s < rig->nshape; s++)
        if (!strcmp(rig->shape[s].name, "cheekPuff")) noisy = s;
    assert_true(noisy >= 0);
    FaShape *shape = &rig->shape[noisy];
    for (int e = shape->first; e < shape->first + shape->count; e++)
        for (int i = 0; i < 80; i++)
            for (int k = 0; k < 3 && rig->row[e] == map->point[i].vert[0]; k++) rig->delta[3 * e + k] *= 1e-6f;
    CHECK_OK(fa_markers_new(4, 80, map->name, 30, &take, &err), &err);
    for (int f = 0; f < 4; f++)
        for (int i = 0; i < 80; i++) {
            double p[3];
            fa_marker_point_at(&map->point[i], rig->mesh.x, false, p);
            for (int k = 0; k < 3; k++) // half a millimetre of noise
                take->x[3 * (80 * f + i) + k] = (float)(p[k] + 5e-4 * sin(12.9898 * (i + 80 * f) + 78.233 * k));
            take->ok[80 * f + i] = 1;
        }
    FaDriveOptions o = {.kind = FA_DRIVE_SBS, .no_jaw = true, .no_residual = true};
    CHECK_OK(fa_drive_open(rig, NULL, take, map, &o, &drive, &err), &err);
    const FaClip *clip = fa_drive_clip(drive);
    float *x = FA_NEW(3 * rig->mesh.nvert, float), most = 0;
    for (int f = 0; f < 4; f++) {
        CHECK_OK(fa_sequence_read(fa_drive_sequence(drive), f, x, &err), &err);
        for (int c = 0; c < clip->nchan; c++) most = fmaxf(most, clip->weight[f * clip->nchan + c]);
    }
    print_message("largest weight %g\n", (double)most);
    assert_true(most <= 3);
    fa_free(x);
    fa_drive_close(drive);
    fa_markers_free(take);
    fa_marker_map_free(map);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rounding_is_no_direction),
                                       cmocka_unit_test(markers_are_on_the_head), cmocka_unit_test(mask_and_body)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
