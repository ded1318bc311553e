// The skin of the mean head: topology, symmetry, levels, landmarks, lids on the eye, lips that meet.
// labels: unit hash
#include "test_head_tools.h"

// clang-format off
static const float landmarks[][3] = {  // mm, left half; the mean of adult faces
    {73.5f, 29, 14.5f}, {73, 7, 17.5f}, {69.5f, -12.5f, 23.5f}, {65.5f, -31.5f, 29.5f}, {57, -53, 39.5f},
    {43, -70, 51.5f}, {30.5f, -77, 65.5f}, {15.5f, -80.5f, 80.5f}, {0, -83.5f, 82.5f}, {58, 44, 57},
    {49.5f, 52, 68}, {38, 54.5f, 76.5f}, {24, 54, 83}, {11.5f, 51, 85.5f}, {0, 29.5f, 85.5f},
    {0, 18.5f, 93}, {0, 8, 101}, {0, -4, 108.5f}, {12.5f, -19.5f, 86.5f}, {6, -19.5f, 92},
    {0, -20, 93.5f}, {44.5f, 26.5f, 64}, {38.5f, 30.5f, 71.5f}, {28, 31.5f, 73.5f}, {18.5f, 24.5f, 70},
    {27.5f, 23, 72}, {38.5f, 22.5f, 70.5f}, {25.5f, -43, 80}, {17, -36, 90}, {7.5f, -32, 95.5f},
    {0, -33, 96.5f}, {0, -52, 93.5f}, {10.5f, -51, 92}, {18, -48.5f, 87}, {22, -43, 79.5f},
    {10, -41, 89}, {0, -41, 91}, {0, -42, 90.5f}, {10.5f, -42, 88.5f}, {0, 137, -22},
    {0, 44, -109}, {0, 47, 85.5f}, {0, 34, 84.5f}, {0, -7, 109}, {0, -21.5f, 93.5f},
    {0, -61, 87.5f}, {0, -70, 88.5f}, {0, -88, 73.5f}, {0, -93, 43}, {74, 5.5f, -11.5f},
    {62.5f, -47.5f, 7.5f}, {79, 52, -23.5f}, {18.5f, -11, 85.5f}, {48, -5.5f, 70}, {33, 9, 72.5f},
    {86, 28, -20.5f}, {78, -26, -15.5f}, {91, 8, -37.5f},
};
// clang-format on

static void test_topology(void **state) {
    (void)state;
    static const int least[3] = {1500, 6000, 24000}, most[3] = {3000, 11000, 43000};
    for (int level = 0; level < 3; level++) {
        FaHead *head = head_at(level, 0, false);
        const FaMesh *m = &head->part[0].mesh;
        assert_string_equal(head->part[0].name, "skin");
        assert_in_range(m->nvert, least[level], most[level]);
        for (int f = 0; f < m->nface; f++) assert_int_equal(m->face_start[f + 1] - m->face_start[f], 4);
        FaTopology topo;
        FaError err = {0};
        CHECK_OK(fai_topology_build(m, &topo, &err), &err);
        assert_int_equal(topo.nparts, 1);
        assert_int_equal(topo.nonmanifold + topo.flipped + topo.degenerate + topo.unused, 0);
        // the only boundary is the neck's cut, and it is level
        assert_true(topo.boundary > 0);
        for (int e = 0; e < topo.nedge; e++)
            if (topo.edge_tris[e] == 1) CHECK_NEAR(m->x[3 * topo.edge[e][0] + 1], -0.120, 1e-5);
        // a surface with one hole has Euler number 1
        assert_int_equal(m->nvert - topo.nedge + m->ntri, 1);
        fai_topology_free(&topo);
        assert_int_equal(head_crossings(m, m->x), 0);
        fa_head_free(head);
    }
}

static void test_symmetry(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        FaHead *head = head_at(1, seed, false);
        const FaHeadPart *s = &head->part[0];
        int middle = 0;
        for (int v = 0; v < s->mesh.nvert; v++) {
            int o = s->mirror[v];
            assert_int_equal(s->mirror[o], v);
            middle += o == v;
            const float *a = s->mesh.x + 3 * v, *b = s->mesh.x + 3 * o;
            CHECK_NEAR(a[0], -b[0], 1e-6);
            CHECK_NEAR(a[1], b[1], 1e-6);
            CHECK_NEAR(a[2], b[2], 1e-6);
        }
        assert_true(middle > 50);
        fa_head_free(head);
    }
}

// Vertices keep their numbers from level to level: the coarse skin is a sample of the fine one.
static void test_levels_agree(void **state) {
    (void)state;
    FaHead *h[3];
    for (int l = 0; l < 3; l++) h[l] = head_at(l, 7, false);
    const FaMesh *fine = &h[2]->part[0].mesh;
    double worst = 0;
    for (int l = 0; l < 2; l++)
        for (int v = 0; v < h[l]->part[0].mesh.nvert; v++)
            worst = fmax(worst, head_distance(h[l]->part[0].mesh.x + 3 * v, fine->x + 3 * v));
    assert_true(worst < 0.5e-3);
    for (int l = 0; l < 3; l++) fa_head_free(h[l]);
}

static void test_landmarks(void **state) {
    (void)state;
    FaHead *head = head_at(2, 0, false);
    FaClosest *c = NULL;
    FaError err = {0};
    CHECK_OK(fai_closest_new(&head->part[0].mesh, NULL, &c, &err), &err);
    for (int i = 0; i < FA_COUNT(landmarks); i++) {
        float p[3] = {1e-3f * landmarks[i][0], 1e-3f * landmarks[i][1], 1e-3f * landmarks[i][2]};
        CHECK_NEAR(fai_closest_point(c, p, 1).distance, 0, 2e-3);
    }
    fai_closest_free(c);
    fa_head_free(head);
}

static void test_lids_lie_on_the_eye(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        FaHead *head = head_at(1, seed, false);
        const FaMesh *m = &head->part[0].mesh;
        for (int side = 0; side < 2; side++) {
            float c[3] = {(float)head->eye[side][0], (float)head->eye[side][1], (float)head->eye[side][2]};
            double least = 1;
            for (int v = 0; v < m->nvert; v++) least = fmin(least, head_distance(m->x + 3 * v, c));
            // nothing inside the globe, the lids' inner edges within half a millimetre of it
            assert_true(least > head->eye_radius + 0.1e-3);
            assert_true(least < head->eye_radius + 0.5e-3);
        }
        fa_head_free(head);
    }
}

// The lips part nowhere by more than half a millimetre: looked at from the front, along the seam.
static void test_lips_meet(void **state) {
    (void)state;
    FaHead *head = head_at(2, 0, false);
    const FaHeadPart *s = &head->part[0];
    FaClosest *c = NULL;
    FaError err = {0};
    CHECK_OK(fai_closest_new(&s->mesh, NULL, &c, &err), &err);
    for (int i = -9; i <= 9; i++) {
        // a ray that climbs through the contact crosses the lower lip's face, then the upper one's
        float x = 0.002f * (float)i, z = 0.0914f - 26.7f * x * x, o[3] = {x, -0.0455f, z}, up[3] = {0, 1, 0};
        FaHit low = fai_closest_ray(c, o, up, 0, 1);
        assert_true(low.tri >= 0);
        FaHit high = fai_closest_ray(c, o, up, low.distance + 1e-6f, 1);
        assert_true(high.tri >= 0);
        assert_true(high.distance - low.distance < 0.5e-3);
        assert_true(high.distance > low.distance);
    }
    fai_closest_free(c);
    fa_head_free(head);
}

static void test_same_bits_on_any_threads(void **state) {
    (void)state;
    uint64_t hash[2] = {0};
    for (int run = 0; run < 2; run++) {
        fa_threads_set(run ? 3 : 1);
        FaHead *head = head_at(0, 5, true);
        for (int p = 0; p < head->npart; p++) {
            const FaHeadPart *part = &head->part[p];
            hash[run] = fai_hash64(part->mesh.x, (size_t)part->mesh.nvert * 3 * sizeof(float), hash[run]);
            for (int s = 0; s < part->nshape; s++)
                hash[run] =
                    fai_hash64(part->shape[s].delta, (size_t)part->shape[s].count * 3 * sizeof(float), hash[run]);
        }
        fa_head_free(head);
    }
    fa_threads_set(0);
    assert_true(hash[0] == hash[1]);
}

static void test_failing_allocations(void **state) {
    (void)state;
    FaHeadParams p = fa_head_params_default();
    p.level = 0;
    for (long n = 1; n < 60; n += 3) {
        FaError err = {0};
        FaHead *head = NULL;
        long before = test_alloc_balance();
        test_fail_alloc(n);
        FaCode rc = fa_head_new(&p, &head, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        if (failed) {
            assert_int_equal(rc, FA_E_MEMORY);
            assert_null(head);
        } else {
            assert_int_equal(rc, FA_OK);
        }
        fa_head_free(head);
        assert_int_equal(test_alloc_balance(), before);
        if (!failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology),
        cmocka_unit_test(test_symmetry),
        cmocka_unit_test(test_levels_agree),
        cmocka_unit_test(test_landmarks),
        cmocka_unit_test(test_lids_lie_on_the_eye),
        cmocka_unit_test(test_lips_meet),
        cmocka_unit_test(test_same_bits_on_any_threads),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
