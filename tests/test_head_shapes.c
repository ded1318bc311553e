// The 52 shapes and the nonlinear truth behind them.
// labels: heavy
#include "test_head_tools.h"

static int arkit(const char *name) {
    for (int i = 0; i < FA_ARKIT_COUNT; i++)
        if (strcmp(fa_arkit_name(i), name) == 0) return i;
    fail_msg("no shape %s", name);
    return -1;
}

static void test_names(void **state) {
    (void)state;
    FaHead *head = head_at(0, 0, true);
    bool seen[FA_ARKIT_COUNT] = {false};
    for (int p = 0; p < head->npart; p++) {
        const FaHeadPart *part = &head->part[p];
        for (int s = 0; s < part->nshape; s++) {
            const FaHeadShape *shape = &part->shape[s];
            assert_string_equal(shape->name, fa_arkit_name(shape->arkit));
            assert_true(shape->count > 0);
            for (int i = 0; i < shape->count; i++) {
                assert_in_range(shape->row[i], 0, part->mesh.nvert - 1);
                if (i) assert_true(shape->row[i] > shape->row[i - 1]);
            }
            seen[shape->arkit] = true;
        }
    }
    for (int i = 0; i < FA_ARKIT_COUNT; i++) assert_true(seen[i]);
    // the skin has all but the tongue's, bones of the skull none
    assert_int_equal(head->part[0].nshape, FA_ARKIT_COUNT - 1);
    assert_int_equal(head_part(head, "skull")->nshape, 0);
    assert_non_null(head_shape(head_part(head, "mandible"), "jawOpen"));
    assert_non_null(head_shape(head_part(head, "eye_left"), "eyeLookInLeft"));
    assert_non_null(head_shape(head_part(head, "tongue"), "tongueOut"));
    fa_head_free(head);
}

// Largest motion and its direction, against measurements of a scanned rig: mm, left side.
static const struct {
    const char *name;
    double peak, dir[3];
} measured[] = {
    {"browDownLeft", 6.5, {-4.6, -3.5, 2.9}},
    {"browInnerUp", 6.1, {0.6, 6.1, 0.1}},
    {"browOuterUpLeft", 8.6, {1.9, 8, -2.7}},
    {"cheekSquintLeft", 6.3, {-0.8, 5.8, 2.2}},
    {"eyeBlinkLeft", 9.6, {-0.7, -9.6, 0.2}},
    {"eyeLookDownLeft", 7.7, {-0.2, -7.7, -0.1}},
    {"eyeLookUpLeft", 3.7, {0.3, 3.5, -1.1}},
    {"eyeSquintLeft", 3.7, {-2.7, 2.6, 0.3}},
    {"eyeWideLeft", 3.5, {0.4, 3.3, -1.1}},
    {"jawForward", 11.2, {0, -1.7, 11}},
    {"jawLeft", 8.9, {8.9, 0.3, -0.1}},
    {"jawOpen", 42, {0, -30, -29}},
    {"mouthClose", 41.8, {0, 38, 17}},
    {"mouthDimpleLeft", 8.9, {1.3, 5.8, -6.5}},
    {"mouthFrownLeft", 6.1, {1.9, -5.1, -2.7}},
    {"mouthFunnel", 11.7, {-0.5, -8.4, 8.1}},
    {"mouthLeft", 18.8, {17.2, -0.4, 7.7}},
    {"mouthLowerDownLeft", 4.6, {1, -4.2, -1.5}},
    {"mouthPressLeft", 4.3, {-0.3, 4.1, 1.4}},
    {"mouthPucker", 12.4, {-5.1, 2.3, 11}},
    {"mouthRollUpper", 11.6, {0, -0.9, -11.6}},
    {"mouthShrugLower", 11.3, {0, 11.1, 2.1}},
    {"mouthShrugUpper", 6.2, {0, 6.1, 1}},
    {"mouthSmileLeft", 15.8, {7.3, 10.5, -9.2}},
    {"mouthStretchLeft", 10.3, {7.5, -2.3, -6.7}},
    {"mouthUpperUpLeft", 8.8, {2.2, 8.1, -2.8}},
    {"noseSneerLeft", 10.3, {-1.5, 10.2, -0.1}},
    {"mouthRollLower", 14.2, {0, 0.5, -14.2}},
    {"cheekPuff", 14.1, {-2.4, 1.3, 13.8}},
};

static void test_peaks(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, true);
    for (int i = 0; i < FA_COUNT(measured); i++) {
        const FaHeadShape *s = head_shape(&head->part[0], measured[i].name);
        double most = 0, cosine = 0, len = 0;
        for (int k = 0; k < s->count; k++) {
            double d[3] = {1e3 * s->delta[3 * k], 1e3 * s->delta[3 * k + 1], 1e3 * s->delta[3 * k + 2]};
            double l = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            if (l <= most || head->part[0].mesh.x[3 * s->row[k]] < -1e-6f) continue;
            most = l;
            len = sqrt(measured[i].dir[0] * measured[i].dir[0] + measured[i].dir[1] * measured[i].dir[1] +
                       measured[i].dir[2] * measured[i].dir[2]);
            cosine = (d[0] * measured[i].dir[0] + d[1] * measured[i].dir[1] + d[2] * measured[i].dir[2]) / (l * len);
        }
        if (fabs(most - measured[i].peak) > 0.4 * measured[i].peak)
            fail_msg("%s moves %.1f mm, measured %.1f", s->name, most, measured[i].peak);
        // mouthLeft is told at the far corner, whichever side that is
        if (cosine < 0.75) fail_msg("%s goes another way: cosine %.2f", s->name, cosine);
    }
    fa_head_free(head);
}

static void test_sides_mirror(void **state) {
    (void)state;
    FaHead *head = head_at(1, 3, true);
    const FaHeadPart *skin = &head->part[0];
    int pairs = 0;
    for (int i = 0; i < skin->nshape; i++) {
        const char *left = strstr(skin->shape[i].name, "Left");
        if (!left) continue;
        char name[64];
        snprintf(name, sizeof name, "%.*sRight", (int)(left - skin->shape[i].name), skin->shape[i].name);
        const FaHeadShape *r = head_shape(skin, name);
        assert_non_null(r);
        pairs++;
        float *a = head_apply(skin, &skin->shape[i]), *b = head_apply(skin, r);
        for (int v = 0; v < skin->mesh.nvert; v++) {
            int o = skin->mirror[v];
            CHECK_NEAR(a[3 * v], -b[3 * o], 1e-6);
            CHECK_NEAR(a[3 * v + 1], b[3 * o + 1], 1e-6);
            CHECK_NEAR(a[3 * v + 2], b[3 * o + 2], 1e-6);
        }
        free(a), free(b);
    }
    assert_int_equal(pairs, 20);
    fa_head_free(head);
}

// mouthClose is made to be added to jawOpen: alone it lifts the lower lip through the upper one.
static void test_nothing_crosses(void **state) {
    (void)state;
    int levels = getenv("FASCIA_FULL") ? 3 : 2; // the finest on demand
    for (int level = 0; level < levels; level++) {
        FaHead *head = head_at(level, 0, true);
        const FaHeadPart *skin = &head->part[0];
        for (int i = 0; i < skin->nshape; i++) {
            float *x = head_apply(skin, &skin->shape[i]);
            int n = head_crossings(&skin->mesh, x);
            if (n && strcmp(skin->shape[i].name, "mouthClose") != 0)
                fail_msg("level %d: %s: %d crossings", level, skin->shape[i].name, n);
            free(x);
        }
        fa_head_free(head);
    }
}

static void test_jaw_turns_rigidly(void **state) {
    (void)state;
    FaHead *head = head_at(0, 2, true);
    static const char *const parts[] = {"mandible", "teeth_lower", "gum_lower", "tongue"};
    float w[FA_ARKIT_COUNT] = {0};
    w[arkit("jawOpen")] = 1;
    double r[9], t[3];
    fa_head_jaw(head, w, r, t);
    CHECK_NEAR(acos((r[0] + r[4] + r[8] - 1) / 2) * 180 / M_PI, 25.33, 1e-9);
    for (int i = 0; i < FA_COUNT(parts); i++) {
        const FaHeadPart *p = head_part(head, parts[i]);
        float *x = head_apply(p, head_shape(p, "jawOpen"));
        for (int v = 0; v < p->mesh.nvert; v++)
            for (int k = 0; k < 3; k++) {
                const float *y = p->mesh.x + 3 * v;
                CHECK_NEAR(x[3 * v + k], r[3 * k] * y[0] + r[3 * k + 1] * y[1] + r[3 * k + 2] * y[2] + t[k], 1e-6);
            }
        free(x);
    }
    fa_head_free(head);
}

static void test_eyes_turn(void **state) {
    (void)state;
    FaHead *head = head_at(0, 2, true);
    const FaHeadPart *eye = head_part(head, "eye_left");
    float c[3] = {(float)head->eye[0][0], (float)head->eye[0][1], (float)head->eye[0][2]};
    // the front pole is the vertex farthest ahead
    int pole = 0;
    for (int v = 0; v < eye->mesh.nvert; v++)
        if (eye->mesh.x[3 * v + 2] > eye->mesh.x[3 * pole + 2]) pole = v;
    static const struct {
        const char *name;
        int axis, sign;
    } look[] = {
        {"eyeLookUpLeft", 1, 1}, {"eyeLookDownLeft", 1, -1}, {"eyeLookOutLeft", 0, 1}, {"eyeLookInLeft", 0, -1}};
    for (int i = 0; i < FA_COUNT(look); i++) {
        float *x = head_apply(eye, head_shape(eye, look[i].name));
        assert_true(look[i].sign * (x[3 * pole + look[i].axis] - eye->mesh.x[3 * pole + look[i].axis]) > 4e-3);
        for (int v = 0; v < eye->mesh.nvert; v++)
            CHECK_NEAR(head_distance(x + 3 * v, c), head_distance(eye->mesh.x + 3 * v, c), 1e-6);
        free(x);
    }
    assert_null(head_shape(eye, "eyeLookUpRight"));
    fa_head_free(head);
}

// Seen from the front through the closed lids there is no eye, and no lid lies inside it.
static void test_blink_closes(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        FaHead *head = head_at(2, seed, true);
        const FaHeadPart *skin = &head->part[0], *eye = head_part(head, "eye_left");
        float *x = head_apply(skin, head_shape(skin, "eyeBlinkLeft"));
        FaClosest *lids = NULL, *globe = NULL;
        FaError err = {0};
        CHECK_OK(fai_closest_new(&skin->mesh, x, &lids, &err), &err);
        CHECK_OK(fai_closest_new(&eye->mesh, NULL, &globe, &err), &err);
        int seen = 0, rays = 0;
        for (int i = -40; i <= 40; i++) {
            for (int j = -40; j <= 40; j++) {
                float o[3] = {(float)head->eye[0][0] + 0.3e-3f * (float)i, (float)head->eye[0][1] + 0.3e-3f * (float)j,
                              0.15f},
                      back[3] = {0, 0, -1};
                FaHit e = fai_closest_ray(globe, o, back, 0, 1), l = fai_closest_ray(lids, o, back, 0, 1);
                if (e.tri < 0) continue;
                rays++;
                seen += l.tri < 0 || l.distance > e.distance + 1e-5f;
            }
        }
        // what is left is a slit of less than 0.3 mm along 27 mm: at that raster under 90 rays
        assert_true(rays > 4000);
        if (seen > 90) fail_msg("%d of %d rays see the eye", seen, rays);
        float c[3] = {(float)head->eye[0][0], (float)head->eye[0][1], (float)head->eye[0][2]};
        for (int v = 0; v < skin->mesh.nvert; v++)
            assert_true(head_distance(x + 3 * v, c) > head->eye_radius + 0.05e-3);
        fai_closest_free(lids);
        fai_closest_free(globe);
        free(x);
        fa_head_free(head);
    }
}

static void test_close_seals_the_open_jaw(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, true);
    const FaHeadPart *skin = &head->part[0];
    float *open = head_apply(skin, head_shape(skin, "jawOpen"));
    const FaHeadShape *close = head_shape(skin, "mouthClose");
    for (int i = 0; i < close->count; i++)
        for (int k = 0; k < 3; k++) open[3 * close->row[i] + k] += close->delta[3 * i + k];
    // the red of both lips is back where it was while the chin is down
    double lips = 0, chin = 0;
    for (int v = 0; v < skin->mesh.nvert; v++) {
        const float *x = skin->mesh.x + 3 * v;
        double moved = head_distance(open + 3 * v, x);
        if (fabsf(x[0]) < 0.02f && x[1] > -0.047f && x[1] < -0.036f && x[2] > 0.088f) lips = fmax(lips, moved);
        if (fabsf(x[0]) < 0.01f && x[1] < -0.07f && x[2] > 0.08f) chin = fmax(chin, moved);
    }
    assert_true(lips < 0.5e-3);
    assert_true(chin > 25e-3);
    assert_int_equal(head_crossings(&skin->mesh, open), 0);
    free(open);
    fa_head_free(head);
}

// --- truth ----------------------------------------------------------------------------------------------------------

static double truth_against_linear(const FaHead *head, int part, const float *w, int *at) {
    const FaHeadPart *p = &head->part[part];
    FaError err = {0};
    float *t = malloc((size_t)p->mesh.nvert * 3 * sizeof(float)), *x = head_apply(p, NULL);
    for (int s = 0; s < p->nshape; s++)
        for (int i = 0; i < p->shape[s].count; i++)
            for (int k = 0; k < 3; k++)
                x[3 * p->shape[s].row[i] + k] += w[p->shape[s].arkit] * p->shape[s].delta[3 * i + k];
    CHECK_OK(fa_head_truth(head, part, w, t, &err), &err);
    double worst = 0;
    for (int v = 0; v < p->mesh.nvert; v++) {
        double d = head_distance(t + 3 * v, x + 3 * v);
        if (d > worst) worst = d, *at = v;
    }
    free(t), free(x);
    return worst;
}

static void test_truth_equals_single_shapes(void **state) {
    (void)state;
    FaHead *head = head_at(0, 4, true);
    int at;
    for (int p = 0; p < head->npart; p++) {
        float w[FA_ARKIT_COUNT] = {0};
        assert_true(truth_against_linear(head, p, w, &at) == 0);
        for (int s = 0; s < FA_ARKIT_COUNT; s++) {
            w[s] = 1;
            double d = truth_against_linear(head, p, w, &at);
            if (d > 1e-6) fail_msg("%s, %s: %.6f mm apart", head->part[p].name, fa_arkit_name(s), 1e3 * d);
            w[s] = 0;
        }
    }
    fa_head_free(head);
}

static void test_truth_differs_between(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, true);
    int at;
    float w[FA_ARKIT_COUNT] = {0};
    // half open: the arc's height over its chord, 2.7 mm at the lower incisors' distance
    w[arkit("jawOpen")] = 0.5f;
    double d = truth_against_linear(head, 0, w, &at);
    CHECK_NEAR(d, 2.7e-3, 0.6e-3);
    assert_true(head->part[0].mesh.x[3 * at + 1] < -0.04f);
    memset(w, 0, sizeof w);
    w[arkit("eyeBlinkLeft")] = 0.5f;
    assert_in_range((int)(1e6 * truth_against_linear(head, 0, w, &at)), 300, 2000);
    // muscles saturate together
    memset(w, 0, sizeof w);
    w[arkit("mouthSmileLeft")] = w[arkit("mouthUpperUpLeft")] = w[arkit("cheekSquintLeft")] = 1;
    assert_true(truth_against_linear(head, 0, w, &at) > 1e-3);
    fa_head_free(head);
}

// Whatever is asked of them together, the lips do not pass each other.
static void test_truth_stops_lips(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, false);
    const FaMesh *m = &head->part[0].mesh;
    FaError err = {0};
    float *x = malloc((size_t)m->nvert * 3 * sizeof(float));
    float w[FA_ARKIT_COUNT] = {0};
    w[arkit("mouthPressLeft")] = w[arkit("mouthPressRight")] = 1;
    w[arkit("mouthShrugLower")] = 0.8f;
    w[arkit("mouthRollLower")] = 0.3f;
    CHECK_OK(fa_head_truth(head, 0, w, x, &err), &err);
    // lips: vertices of the contact seen from the middle; upper ones stay above lower ones of the same column
    double up = 1, low = -1;
    for (int v = 0; v < m->nvert; v++) {
        const float *r = m->x + 3 * v;
        if (fabsf(r[0]) > 1e-6f || r[2] < 0.0900f || r[2] > 0.0925f) continue;
        if (r[1] > -0.0415f && r[1] < -0.0405f) up = fmin(up, x[3 * v + 1]);
        if (r[1] < -0.0415f && r[1] > -0.0425f) low = fmax(low, x[3 * v + 1]);
    }
    assert_true(up < 0.9 && low > -0.9);
    assert_true(up > low - 0.2e-3);
    free(x);
    fa_head_free(head);
}

// Another person's shapes are that person's: made along their own muscles, about their own joints and eyes. Share of
// the shape's own size that they differ by from the mean head's, rms over what moves.
static void test_shapes_follow_the_person(void **state) {
    (void)state;
    FaHead *mean = head_at(0, 0, true);
    double all = 0, least = 1;
    int same = 0, n = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        FaHead *head = head_at(0, seed, true);
        int nvert = head->part[0].mesh.nvert;
        float *a = malloc(3 * (size_t)nvert * sizeof *a), *b = malloc(3 * (size_t)nvert * sizeof *b);
        for (int s = 0; s < head->part[0].nshape; s++) {
            double off = 0, size = 0;
            memset(a, 0, 3 * (size_t)nvert * sizeof *a), memset(b, 0, 3 * (size_t)nvert * sizeof *b);
            const FaHeadShape *p = &mean->part[0].shape[s], *q = &head->part[0].shape[s];
            for (int k = 0; k < p->count; k++) memcpy(a + 3 * p->row[k], p->delta + 3 * k, 3 * sizeof *a);
            for (int k = 0; k < q->count; k++) memcpy(b + 3 * q->row[k], q->delta + 3 * k, 3 * sizeof *b);
            for (int i = 0; i < 3 * nvert; i++)
                off += (double)(a[i] - b[i]) * (double)(a[i] - b[i]), size += (double)a[i] * (double)a[i];
            double share = sqrt(off / size);
            assert_true(share < 0.5);
            same += share < 0.01 && strncmp(p->name, "eye", 3) != 0; // lids and eyes turn alike, whatever their size
            least = fmin(least, share), all += share, n++;
        }
        free(a);
        free(b);
        fa_head_free(head);
    }
    print_message(
        "shapes of five people: %.1f %% from the mean head's, the least %.1f %%; %d of %d as good as the same\n",
        100 * all / n, 100 * least, same, n);
    assert_true(same <= 2);
    assert_true(all / n > 0.05);
    fa_head_free(mean);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_sides_mirror),
        cmocka_unit_test(test_nothing_crosses),
        cmocka_unit_test(test_jaw_turns_rigidly),
        cmocka_unit_test(test_eyes_turn),
        cmocka_unit_test(test_blink_closes),
        cmocka_unit_test(test_close_seals_the_open_jaw),
        cmocka_unit_test(test_truth_equals_single_shapes),
        cmocka_unit_test(test_truth_differs_between),
        cmocka_unit_test(test_truth_stops_lips),
        cmocka_unit_test(test_shapes_follow_the_person),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
