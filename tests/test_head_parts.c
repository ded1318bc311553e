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

// Eyes, teeth and tongue lie in the openings of the skin, bones in the flesh, at least 1.5 mm deep.
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
            assert_true(least > 1.5e-3);
        else
            assert_true(least > 0);
    }
    fai_closest_free(c);
    fa_head_free(head);
}

// Skin to bone or tooth, mean and standard deviation of adults (Stephan and Simpson 2008), mm, at places of the mean
// head. The table has points on the skin above a place of the bone; where that is not a landmark it is estimated.
static void test_depth_of_flesh(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double at[3], mean, deviation;
    } place[] = {
        {"opisthocranion", {0, 44, -109}, 6.5, 1.5},
        {"vertex", {0, 137, -22}, 5, 1},
        {"glabella", {0, 47, 85.5}, 5.5, 1},
        {"nasion", {0, 34, 84.5}, 6.5, 1.5},
        {"mid-nasal", {0, 22, 90.5}, 4, 1},
        {"rhinion", {0, 13, 97}, 3, 1},
        {"subnasale", {0, -21.5, 93.5}, 13, 3},
        {"mid-philtrum", {0, -28, 94}, 11, 2.5},
        {"upper lip", {0, -33, 96.5}, 11.5, 3},
        {"lower lip", {0, -52, 93.5}, 13, 2.5},
        {"mentolabial", {0, -61, 87.5}, 11, 2},
        {"pogonion", {0, -70, 88.5}, 11, 2.5},
        {"gnathion", {0, -83.5, 82.5}, 8.5, 3},
        {"menton", {0, -88, 73.5}, 7, 2.5},
        {"mid-supraorbital", {31, 50, 80}, 6, 1.5},
        {"mid-infraorbital", {33, 9, 72.5}, 7, 2.5},
        {"alar crease", {19, -13, 84}, 9.5, 2},
        {"zygion", {73, 7, 17.5}, 6, 1.5},
        {"gonion", {62.5, -47.5, 7.5}, 10, 4},
        {"supra-canine", {17, -27, 86.5}, 9.5, 2},
        {"infra-canine", {17, -56, 87}, 10.5, 2.5},
        {"supra-M2", {53, -30, 58}, 26, 4.5},
        {"infra-M2", {54.5, -52, 47}, 19.5, 4.5},
        {"mid-ramus", {65, -22, 14}, 17.5, 4.5},
        {"mid-mandible border", {43, -70, 51.5}, 10.5, 4.5},
    };
    for (int level = 0; level < 2; level++) {
        FaHead *head = head_at(level, 0, false);
        FaClosest *c[16] = {NULL}, *skin = NULL;
        FaError err = {0};
        CHECK_OK(fai_closest_new(&head->part[0].mesh, NULL, &skin, &err), &err);
        for (int p = 1; p < head->npart; p++)
            if (!strcmp(head->part[p].region[0], "bone") || !strncmp(head->part[p].name, "teeth", 5))
                CHECK_OK(fai_closest_new(&head->part[p].mesh, NULL, &c[p], &err), &err);
        for (int i = 0; i < FA_COUNT(place); i++) {
            float at[3];
            for (int k = 0; k < 3; k++) at[k] = (float)(1e-3 * place[i].at[k]);
            double depth = 1;
            for (int p = 1; p < head->npart; p++)
                if (c[p]) depth = fmin(depth, fai_closest_point(c[p], at, 1).distance);
            depth *= 1e3;
            if (!(fabs(depth - place[i].mean) <= place[i].deviation))
                fail_msg("level %d, %s: %.1f mm, not %g (%g)", level, place[i].name, depth, place[i].mean,
                         place[i].deviation);
            assert_true(fai_closest_point(skin, at, 1).distance < 4e-3);
        }
        for (int p = 1; p < head->npart; p++) fai_closest_free(c[p]);
        fai_closest_free(skin);
        fa_head_free(head);
    }
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
        cmocka_unit_test(test_depth_of_flesh),
        cmocka_unit_test(test_eyes_and_joints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
