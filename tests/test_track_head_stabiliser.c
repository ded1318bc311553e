// The head's pose from markers as they come: exact where nothing else moves, deaf to outliers and to a marker that
// wanders, kept where too few are seen, the same after its state was copied.
// labels: unit
#include "test_blendforces_tools.h"

#include "math/mat3.h"
#include "track/head_stabiliser.h"

static FaPose pose_of(int f) {
    double turn[3] = {0.2 * sin(0.2 * f), 0.03 * f, 0.4};
    FaPose pose = {.p = {0.1 * f, 1.5, -0.2}};
    fai_q_exp(turn, pose.q);
    return pose;
}

// s->x: the markers of s->mesh in the world.
static void put(Marked *s, const FaPose *pose) {
    marked_read(s);
    for (int i = 0; i < s->n; i++) {
        double x[3];
        fai_v3_load(s->x, i, x);
        fai_pose_apply(pose, x, x);
        for (int k = 0; k < 3; k++) s->x[3 * i + k] = (float)x[k];
    }
}

static double degrees(const FaPose *a, const FaPose *b) {
    return 2 * acos(fmin(fabs(fai_q_dot(a->q, b->q)), 1)) * 180 / M_PI;
}

static void poses_are_found(void **state) {
    (void)state;
    Marked s = marked_open(0, 60);
    FaError err = {0};
    FaHeadStabiliser *h;
    bool known = true;
    FaPose found;
    CHECK_OK(fai_head_stabiliser_new(s.rig, s.map, &h, &err), &err);
    memcpy(s.mesh, s.rig->mesh.x, 3 * (size_t)s.rig->mesh.nvert * sizeof(float));
    memset(s.ok, 0, (size_t)s.n);
    assert_false(fai_head_stabiliser_find(h, s.x, s.ok, &found, &known));
    assert_false(known);
    memset(s.ok, 1, (size_t)s.n);
    double rigid = 0, jaw = 0;
    for (int f = 0; f < 20; f++) {
        FaPose pose = pose_of(f);
        put(&s, &pose);
        s.x[3 * ((7 * f) % s.n)] += 0.05f; // one that is elsewhere
        assert_true(fai_head_stabiliser_find(h, s.x, s.ok, &found, &known));
        fai_head_stabiliser_learn(h, s.x, s.ok, &found);
        rigid = fmax(rigid, degrees(&found, &pose));
        fai_v3_sub(found.p, pose.p, found.p);
        assert_true(fai_v3_norm(found.p) < 2e-4);
    }
    s.w[marked_shape(&s, "jawOpen")] = 1;
    marked_blend(&s);
    for (int f = 20; f < 30; f++) {
        FaPose pose = pose_of(f);
        put(&s, &pose);
        assert_true(fai_head_stabiliser_find(h, s.x, s.ok, &found, NULL));
        fai_head_stabiliser_learn(h, s.x, s.ok, &found);
        jaw = fmax(jaw, degrees(&found, &pose));
    }
    print_message("rigid, one marker 5 cm off: %.5f degrees; jaw wide open: %.4f\n", rigid, jaw);
    assert_true(rigid < 0.02 && jaw < 0.3);
    // too few: the last pose
    FaPose last = found;
    memset(s.ok, 0, (size_t)s.n);
    assert_false(fai_head_stabiliser_find(h, s.x, s.ok, &found, &known));
    assert_true(known);
    assert_memory_equal(&found, &last, sizeof last);
    fai_head_stabiliser_free(h);
    marked_close(&s);
}

// A marker that slides about is believed less and less; and the state is all that decides.
static void what_moves_loses_its_say(void **state) {
    (void)state;
    Marked s = marked_open(0, 20);
    FaError err = {0};
    FaHeadStabiliser *h, *other;
    FaPose found, again, none = fai_pose_identity();
    size_t size, same;
    double early = 0, late = 0;
    float rest[3 * 20], trust[20];
    CHECK_OK(fai_head_stabiliser_new(s.rig, s.map, &h, &err), &err);
    CHECK_OK(fai_head_stabiliser_new(s.rig, s.map, &other, &err), &err);
    CHECK_OK(fai_head_rest(s.rig, s.map, rest, trust, &err), &err);
    int bad = 0;
    while (bad < s.n && trust[bad] == 0) bad++;
    assert_true(bad < s.n);
    memcpy(s.mesh, s.rig->mesh.x, 3 * (size_t)s.rig->mesh.nvert * sizeof(float));
    for (int f = 0; f < 200; f++) {
        put(&s, &none);
        s.x[3 * bad + 1] += (float)(2e-3 * sin(1.7 * f)); // not enough to be an outlier
        assert_true(fai_head_stabiliser_find(h, s.x, s.ok, &found, NULL));
        fai_head_stabiliser_learn(h, s.x, s.ok, &found);
        double *worst = f < 10 ? &early : &late;
        if (f < 10 || f >= 190) *worst = fmax(*worst, degrees(&found, &none));
    }
    print_message("a marker that slides by 2 mm: %.4f degrees at first, %.4f after 200 frames\n", early, late);
    assert_true(early > 1e-4 && late < 0.7 * early);
    void *from = fai_head_stabiliser_state(h, &size), *to = fai_head_stabiliser_state(other, &same);
    assert_int_equal(size, same);
    memcpy(to, from, size);
    fai_head_stabiliser_find(h, s.x, s.ok, &found, NULL);
    fai_head_stabiliser_find(other, s.x, s.ok, &again, NULL);
    assert_memory_equal(&found, &again, sizeof found);
    fai_head_stabiliser_free(other);
    fai_head_stabiliser_free(h);
    marked_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(poses_are_found), cmocka_unit_test(what_moves_loses_its_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
