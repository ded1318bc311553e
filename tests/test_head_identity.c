// Identities: the table, random people, extremes of every parameter; nothing crosses, bones stay under the skin.
// labels: heavy
#include "test_head_tools.h"

static void test_table(void **state) {
    (void)state;
    assert_true(FA_HEAD_IDENTITY_COUNT >= 24);
    for (int i = 0; i < FA_HEAD_IDENTITY_COUNT; i++) {
        FaHeadInfo info = fa_head_identity(i);
        assert_int_equal(fa_head_identity_find(info.name), i);
        assert_true(info.min < 0 && info.max > 0 && strlen(info.help) > 8);
    }
    assert_int_equal(fa_head_identity_find("third_eye"), -1);
}

static void test_bad_values(void **state) {
    (void)state;
    FaHead *head = (FaHead *)1;
    FaHeadParams p = fa_head_params_default();
    FaError err = {0};
    p.identity[FA_HEAD_nose_width] = 3.5;
    assert_int_equal(fa_head_new(&p, &head, &err), FA_E_ARG);
    assert_null(head);
    assert_string_equal(err.place, "nose_width");
    assert_non_null(strstr(err.remedy, "-3 to 3"));
    p.identity[FA_HEAD_nose_width] = NAN;
    assert_int_equal(fa_head_new(&p, &head, NULL), FA_E_ARG);
    p = fa_head_params_default();
    p.level = 3;
    assert_int_equal(fa_head_new(&p, &head, NULL), FA_E_ARG);
}

static void test_seeds(void **state) {
    (void)state;
    FaHeadParams a = fa_head_params_default(), b = a, c = a;
    a.level = 2;
    fa_head_params_seed(&a, 42);
    fa_head_params_seed(&b, 42);
    fa_head_params_seed(&c, 43);
    assert_int_equal(a.level, 2);
    assert_memory_equal(a.identity, b.identity, sizeof a.identity);
    assert_memory_not_equal(a.identity, c.identity, sizeof a.identity);
    fa_head_params_seed(&a, 0);
    for (int i = 0; i < FA_HEAD_IDENTITY_COUNT; i++) assert_true(a.identity[i] == 0);
}

// No crossing triangle, none turned inside out against the mean, bones at least 2 mm deep.
static void check_head(const FaHead *head, const FaHead *mean, const char *who) {
    const FaMesh *m = &head->part[0].mesh;
    if (head_crossings(m, m->x) != 0) fail_msg("%s: the skin crosses itself", who);
    int turned = 0;
    for (int t = 0; t < m->ntri; t++) {
        const int *v = m->tri + 3 * t;
        double dot = 0;
        for (int k = 0; k < 3; k++) {
            double n[2];
            for (int h = 0; h < 2; h++) {
                const float *x = h ? mean->part[0].mesh.x : m->x;
                int i = (k + 1) % 3, j = (k + 2) % 3;
                n[h] = ((double)x[3 * v[1] + i] - x[3 * v[0] + i]) * ((double)x[3 * v[2] + j] - x[3 * v[0] + j]) -
                       ((double)x[3 * v[1] + j] - x[3 * v[0] + j]) * ((double)x[3 * v[2] + i] - x[3 * v[0] + i]);
            }
            dot += n[0] * n[1];
        }
        turned += dot <= 0;
    }
    if (turned) fail_msg("%s: %d triangles are turned over", who, turned);
    FaClosest *c = NULL;
    FaError err = {0};
    CHECK_OK(fai_closest_new(m, NULL, &c, &err), &err);
    for (int p = 1; p < head->npart; p++) {
        if (strcmp(head->part[p].region[0], "bone") != 0) continue;
        const FaMesh *b = &head->part[p].mesh;
        for (int v = 0; v < b->nvert; v++) {
            double d = fai_closest_point(c, b->x + 3 * v, 1).distance;
            if (d < 1.4e-3) // nasal bones lie under 3 mm of an average face
                fail_msg("%s: %s only %.2f mm deep at %.1f %.1f %.1f mm", who, head->part[p].name, 1e3 * d,
                         1e3 * b->x[3 * v], 1e3 * b->x[3 * v + 1], 1e3 * b->x[3 * v + 2]);
        }
    }
    fai_closest_free(c);
}

static void test_random_people(void **state) {
    (void)state;
    // a thousand on demand: FASCIA_FULL=1
    int count = getenv("FASCIA_FULL") ? 1000 : 25;
    FaHead *mean = head_at(0, 0, false);
    for (int s = 1; s <= count; s++) {
        FaHead *head = head_at(0, (uint64_t)s, false);
        char who[32];
        snprintf(who, sizeof who, "seed %d", s);
        check_head(head, mean, who);
        fa_head_free(head);
    }
    fa_head_free(mean);
}

static void test_extremes(void **state) {
    (void)state;
    FaHead *mean = head_at(0, 0, false);
    for (int i = 0; i < FA_HEAD_IDENTITY_COUNT; i++) {
        FaHeadInfo info = fa_head_identity(i);
        for (int end = 0; end < 2; end++) {
            FaHeadParams p = fa_head_params_default();
            p.level = 0, p.shapes = false;
            p.identity[i] = end ? info.max : info.min;
            FaHead *head = head_new(&p);
            char who[64];
            snprintf(who, sizeof who, "%s at its %s", info.name, end ? "highest" : "lowest");
            check_head(head, mean, who);
            // it does something, and only what one person differs by from another
            double most = 0;
            for (int v = 0; v < mean->part[0].mesh.nvert; v++)
                most = fmax(most, head_distance(head->part[0].mesh.x + 3 * v, mean->part[0].mesh.x + 3 * v));
            assert_true(most > 0.8e-3 && most < 30e-3);
            fa_head_free(head);
        }
    }
    fa_head_free(mean);
}

static double width_between(const FaHead *head, double y0, double y1, double z0) {
    double w = 0;
    const FaMesh *m = &head->part[0].mesh;
    for (int v = 0; v < m->nvert; v++)
        if (m->x[3 * v + 1] > y0 && m->x[3 * v + 1] < y1 && m->x[3 * v + 2] > z0) w = fmax(w, m->x[3 * v]);
    return w;
}

static void test_meaning(void **state) {
    (void)state;
    FaHead *mean = head_at(1, 0, false);
    FaHeadParams p = fa_head_params_default();
    p.shapes = false;
    // the wings of the nose part by 3.4 mm per deviation, the eyes by the same
    p.identity[FA_HEAD_nose_width] = 2;
    FaHead *head = head_new(&p);
    CHECK_NEAR(width_between(head, -0.016, -0.006, 0.086) - width_between(mean, -0.016, -0.006, 0.086), 0.0034, 0.0012);
    fa_head_free(head);
    p = fa_head_params_default(), p.shapes = false;
    p.identity[FA_HEAD_eye_spacing] = -1;
    head = head_new(&p);
    CHECK_NEAR(head->eye[0][0] - head->eye[1][0], 0.063 - 0.0034, 1e-5);
    fa_head_free(head);
    // whoever it is, the jaw's axis stays the x axis
    head = head_at(0, 11, false);
    const FaHeadPart *jaw = head_part(head, "mandible");
    double top = -1, at = 0;
    for (int v = 0; v < jaw->mesh.nvert; v++)
        if (jaw->mesh.x[3 * v + 1] > top) top = jaw->mesh.x[3 * v + 1], at = jaw->mesh.x[3 * v + 2];
    CHECK_NEAR(top, 0.0034, 0.002);
    CHECK_NEAR(at, 0, 0.003);
    fa_head_free(head);
    fa_head_free(mean);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),         cmocka_unit_test(test_bad_values), cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_random_people), cmocka_unit_test(test_extremes),   cmocka_unit_test(test_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
