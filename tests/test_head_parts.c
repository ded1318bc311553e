// What is inside: closed bodies that face outward, teeth in the mouth, bones under the skin, eyes behind the lids.
#include "test_head_tools.h"

static void test_parts_are_closed(void **state) {
    (void)state;
    static const char *const names[] = {"skin",      "eye_left",  "eye_right", "teeth_upper", "teeth_lower",
                                        "gum_upper", "gum_lower", "tongue",    "skull",       "mandible"};
    for (int level = 0; level < 2; level++) {
        FaHead *head = head_at(level, 0, false);
        assert_int_equal(head->npart, FA_COUNT(names));
        for (int i = 1; i < head->npart; i++) {
            const FaHeadPart *p = &head->part[i];
            assert_string_equal(p->name, names[i]);
            FaTopology topo;
            FaError err = {0};
            CHECK_OK(fai_topology_build(&p->mesh, &topo, &err), &err);
            assert_int_equal(topo.boundary + topo.nonmanifold + topo.flipped + topo.unused, 0);
            assert_int_equal(topo.nparts, strncmp(p->name, "teeth", 5) == 0 ? 14 : 1);
            double volume[16];
            bool closed[16];
            fai_mesh_volumes(&p->mesh, &topo, p->mesh.x, volume, closed);
            for (int k = 0; k < topo.nparts; k++) assert_true(closed[k] && volume[k] > 0);
            fai_topology_free(&topo);
            assert_int_equal(head_crossings(&p->mesh, p->mesh.x), 0);
            for (int f = 0; f < p->mesh.nface; f++) assert_in_range(p->face_region[f], 0, p->nregion - 1);
        }
        fa_head_free(head);
    }
}

// Eyes, teeth and tongue lie in the openings of the skin, bones in the flesh, at least 2 mm deep.
static void test_parts_are_in_place(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, false);
    FaClosest *c = NULL;
    FaError err = {0};
    CHECK_OK(fai_closest_new(&head->part[0].mesh, NULL, &c, &err), &err);
    for (int i = 1; i < head->npart; i++) {
        const FaHeadPart *p = &head->part[i];
        bool bone = strcmp(p->region[0], "bone") == 0;
        double least = 1;
        for (int v = 0; v < p->mesh.nvert; v++) {
            float q[3] = {p->mesh.x[3 * v] + 1e-5f, p->mesh.x[3 * v + 1], p->mesh.x[3 * v + 2]};
            least = fmin(least, fai_closest_point(c, q, 1).distance);
            // the neck is open: rays that leave through it are not told apart, so ask only above it
            if (q[1] > -0.09f) assert_true(head_inside(c, q) == bone);
        }
        if (bone)
            assert_true(least > 2e-3);
        else
            assert_true(least > 0);
    }
    fai_closest_free(c);
    fa_head_free(head);
}

static void test_eyes_and_joints(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, false);
    CHECK_NEAR(head->condyle, 0.048, 1e-6);
    CHECK_NEAR(head->eye_radius, 0.0121, 1e-6);
    CHECK_NEAR(head->eye[0][0], 0.0315, 1e-6);
    CHECK_NEAR(head->eye[1][0], -0.0315, 1e-6);
    // cornea: the front of the eye stands out by about a millimetre
    const FaHeadPart *eye = head_part(head, "eye_left");
    double front = 0;
    for (int v = 0; v < eye->mesh.nvert; v++) front = fmax(front, eye->mesh.x[3 * v + 2]);
    CHECK_NEAR(front - head->eye[0][2], 0.0132, 0.0002);
    // upper incisors overlap and stand before the lower ones
    const FaHeadPart *up = head_part(head, "teeth_upper"), *low = head_part(head, "teeth_lower");
    double uy = 1, uz = 0, ly = -1, lz = 0;
    for (int v = 0; v < up->mesh.nvert; v++)
        if (fabsf(up->mesh.x[3 * v]) < 0.006f)
            uy = fmin(uy, up->mesh.x[3 * v + 1]), uz = fmax(uz, up->mesh.x[3 * v + 2]);
    for (int v = 0; v < low->mesh.nvert; v++)
        if (fabsf(low->mesh.x[3 * v]) < 0.006f)
            ly = fmax(ly, low->mesh.x[3 * v + 1]), lz = fmax(lz, low->mesh.x[3 * v + 2]);
    assert_true(uz - lz > 0.5e-3);
    CHECK_NEAR(uy, -0.0428, 1e-3);
    CHECK_NEAR(ly, -0.0424, 1e-3);
    // the mandible reaches from the joints to the chin, 11 mm under the skin of the pogonion
    const FaHeadPart *jaw = head_part(head, "mandible");
    double chin = 0, top = -1;
    for (int v = 0; v < jaw->mesh.nvert; v++) {
        if (fabsf(jaw->mesh.x[3 * v]) < 0.002f) chin = fmax(chin, jaw->mesh.x[3 * v + 2]);
        if (fabsf(jaw->mesh.x[3 * v] - 0.048f) < 0.004f) top = fmax(top, jaw->mesh.x[3 * v + 1]);
    }
    CHECK_NEAR(chin, 0.0775, 0.0015);
    CHECK_NEAR(top, 0.0034, 0.001);
    fa_head_free(head);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_closed),
        cmocka_unit_test(test_parts_are_in_place),
        cmocka_unit_test(test_eyes_and_joints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
