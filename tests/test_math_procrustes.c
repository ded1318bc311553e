// Alignment of point sets, and the head's pose from markers that also move by expression.
#include "test.h"

#include "base/base.h"
#include "math/mat3.h"
#include "math/procrustes.h"

static void rotation_about(double x, double y, double z, double m[9]) {
    double r[3] = {x, y, z}, q[4];
    fai_q_exp(r, q);
    fai_q_to_m3(q, m);
}

static void cloud(int n, uint64_t seed, double *x) {
    for (int i = 0; i < 3 * n; i++) x[i] = 0.1 * fai_random_normal(seed, (uint64_t)i) + (i % 3 == 2 ? 3 : 0);
}

static void map(const double r[9], double s, const double t[3], int n, const double *x, double *y) {
    for (int i = 0; i < n; i++) {
        double p[3];
        fai_v3_scale(s, x + 3 * i, p);
        fai_m3_mulv(r, p, y + 3 * i);
        fai_v3_add(y + 3 * i, t, y + 3 * i);
    }
}

static double angle(const double a[9], const double b[9]) { // rad
    double t[9], m[9], q[4], r[3];
    fai_m3_transpose(b, t);
    fai_m3_mul(a, t, m);
    fai_q_from_m3(m, q);
    fai_q_log(q, r);
    return fai_v3_norm(r);
}

static void recovers_motion_with_weights_and_gaps(void **state) {
    (void)state;
    enum { N = 30 };
    double x[3 * N], y[3 * N], w[N], r[9], t[3] = {0.4, -1, 2};
    for (int run = 0; run < 20; run++) {
        rotation_about(run * 0.3 - 3, 0.2 * run, 1 - 0.1 * run, r);
        double s = run % 2 ? 0.5 + 0.1 * run : 1;
        cloud(N, (uint64_t)run, x);
        map(r, s, t, N, x, y);
        for (int i = 0; i < N; i++) w[i] = 0.1 + i;
        x[3 * 4] = NAN;
        y[3 * 7 + 2] = INFINITY;
        w[9] = 0;
        w[10] = NAN;
        w[11] = -1;
        y[3 * 9] = y[3 * 10] = y[3 * 11] = 99;
        FaAlign a = fai_align(N, x, y, w, run % 2);
        assert_int_equal(a.kind, FA_ALIGN_FULL);
        assert_int_equal(a.used, N - 5);
        CHECK_NEAR(angle(a.rotation, r), 0, 1e-9);
        CHECK_NEAR(a.scale, s, 1e-12);
        CHECK_NEAR(a.worst, 0, 1e-12);
        CHECK_NEAR(fai_m3_det(a.rotation), 1, 1e-12);
        double p[3] = {1, 2, 3}, there[3], back[3];
        fai_align_apply(&a, p, there);
        if (s == 1) {
            FaPose pose = fai_align_pose(&a);
            fai_pose_apply(&pose, p, back);
            for (int k = 0; k < 3; k++) CHECK_NEAR(back[k], there[k], 1e-11);
        }
    }
}

// No small turn, shift or change of scale is better: the answer is a least-squares one.
static void is_a_minimum(void **state) {
    (void)state;
    enum { N = 12 };
    double x[3 * N], y[3 * N], w[N];
    cloud(N, 4, x);
    cloud(N, 5, y);
    for (int i = 0; i < N; i++) w[i] = fai_random_unit(6, (uint64_t)i);
    FaAlign a = fai_align(N, x, y, w, true);
    for (int run = 0; run < 200; run++) {
        FaAlign b = a;
        double m[9], e[7], total = 0, sum = 0;
        for (int k = 0; k < 7; k++) e[k] = 1e-3 * fai_random_normal(7, (uint64_t)(7 * run + k));
        rotation_about(e[0], e[1], e[2], m);
        fai_m3_mul(m, a.rotation, b.rotation);
        b.scale *= 1 + e[3];
        for (int k = 0; k < 3; k++) b.translation[k] += 1e-1 * e[4 + k];
        for (int i = 0; i < N; i++) {
            double p[3], d[3];
            fai_align_apply(&b, x + 3 * i, p);
            fai_v3_sub(p, y + 3 * i, d);
            sum += w[i] * fai_v3_dot(d, d);
            total += w[i];
        }
        assert_true(sqrt(sum / total) > a.rms);
    }
}

static void mirrored_points_still_give_a_rotation(void **state) {
    (void)state;
    enum { N = 20 };
    double x[3 * N], y[3 * N];
    cloud(N, 8, x);
    for (int i = 0; i < N; i++) {
        memcpy(y + 3 * i, x + 3 * i, 3 * sizeof *y);
        y[3 * i] = -y[3 * i];
    }
    FaAlign a = fai_align(N, x, y, NULL, false);
    CHECK_NEAR(fai_m3_det(a.rotation), 1, 1e-12);
    assert_true(a.rms > 0.01);
    // a mirrored cube: every face would do
    double cube[24], mirror[24];
    for (int i = 0; i < 24; i++) cube[i] = i / 3 >> i % 3 & 1 ? 1 : -1;
    for (int i = 0; i < 24; i++) mirror[i] = -cube[i];
    assert_int_equal(fai_align(8, cube, mirror, NULL, false).kind, FA_ALIGN_AMBIGUOUS);
    assert_int_equal(fai_align(8, cube, cube, NULL, false).kind, FA_ALIGN_FULL);
}

static void too_few_points_are_named(void **state) {
    (void)state;
    double x[30], y[30], gap[30];
    cloud(10, 1, x);
    for (int i = 0; i < 30; i++) gap[i] = NAN;
    FaAlign a = fai_align(10, x, gap, NULL, true);
    assert_int_equal(a.kind, FA_ALIGN_NONE);
    assert_int_equal(a.used, 0);
    CHECK_NEAR(angle(a.rotation, (double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}), 0, 0);
    assert_int_equal(fai_align(0, x, y, NULL, true).kind, FA_ALIGN_NONE);

    for (int i = 0; i < 30; i++) y[i] = x[i] + 0.5;
    a = fai_align(1, x, y, NULL, true);
    assert_int_equal(a.kind, FA_ALIGN_TRANSLATION);
    CHECK_NEAR(a.worst, 0, 1e-15);
    CHECK_NEAR(a.scale, 1, 0);
    double same[9] = {1, 2, 3, 1, 2, 3, 1, 2, 3};
    assert_int_equal(fai_align(3, same, y, NULL, true).kind, FA_ALIGN_TRANSLATION);

    // a line turned by a right angle, and one turned round
    for (int way = 0; way < 3; way++) {
        for (int i = 0; i < 5; i++) {
            double p[3] = {0.1 * i, 0, 0},
                   q[3] = {way == 2 ? -0.2 * i : 0, way == 0 ? 0.2 * i : 0, way == 1 ? 0.2 * i : 0};
            memcpy(x + 3 * i, p, sizeof p);
            memcpy(y + 3 * i, q, sizeof q);
        }
        a = fai_align(way ? 5 : 2, x, y, NULL, true);
        assert_int_equal(a.kind, FA_ALIGN_AXIS);
        CHECK_NEAR(a.scale, 2, 1e-12);
        CHECK_NEAR(a.worst, 0, 1e-12);
        CHECK_NEAR(fai_m3_det(a.rotation), 1, 1e-12);
        CHECK_NEAR(angle(a.rotation, (double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}), way == 2 ? M_PI : M_PI / 2,
                   1e-9); // no more than needed
    }
    // three points in a plane are enough
    double tri[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, turned[9], r[9], t[3] = {1, 2, 3};
    rotation_about(1, 2, -1, r);
    map(r, 1, t, 3, tri, turned);
    a = fai_align(3, tri, turned, NULL, false);
    assert_int_equal(a.kind, FA_ALIGN_FULL);
    CHECK_NEAR(angle(a.rotation, r), 0, 1e-9);
}

static void outliers_lose_their_say(void **state) {
    (void)state;
    enum { N = 40 };
    double x[3 * N], y[3 * N], own[N], r[9], t[3] = {0.1, 0.2, -0.3};
    double plain = 0, robust = 0;
    for (int run = 0; run < 20; run++) {
        rotation_about(0.3, 0.1 * run, -0.2, r);
        cloud(N, 60 + (uint64_t)run, x);
        map(r, 1, t, N, x, y);
        for (int i = 0; i < 3 * N; i++) y[i] += 0.0002 * fai_random_normal(61, (uint64_t)(i + run * 3 * N));
        // a third are moved by up to 5 cm, all the same way: what an opening jaw does
        for (int i = 0; i < N / 3; i++) y[3 * i + 1] -= 0.01 + 0.04 * i / (N / 3);
        FaAlign a = fai_align(N, x, y, NULL, false), b = fai_align_robust(N, x, y, NULL, false, 0.001, own);
        plain = fmax(plain, angle(a.rotation, r));
        robust = fmax(robust, angle(b.rotation, r));
        for (int i = 0; i < N; i++) assert_true(i < N / 3 ? own[i] < 0.02 : own[i] > 0.3);
    }
    print_message("a third displaced: %.3f degrees plain, %.4f robust\n", plain * 180 / M_PI, robust * 180 / M_PI);
    assert_true(plain > 0.02 && robust < 0.002);
    // all equal, none can be an outlier; nothing usable stays harmless
    FaAlign a = fai_align_robust(N, x, x, NULL, true, 0.001, own);
    assert_int_equal(a.kind, FA_ALIGN_FULL);
    assert_int_equal(fai_align_robust(1, x, y, NULL, false, 0.001, own).kind, FA_ALIGN_TRANSLATION);
}

// A synthetic take: markers 0..19 on the skull, 20..39 on brows and cheeks, 40..59 on the jaw.
enum { MARKERS = 60, FRAMES = 200 };

static void make_take(float *rest, float *x, FaPose *truth) {
    for (int i = 0; i < MARKERS; i++) {
        double y = i < 20 ? 0.06 : i < 40 ? 0.0 : -0.06;
        rest[3 * i] = (float)(0.12 * (fai_random_unit(1, (uint64_t)i) - 0.5));
        rest[3 * i + 1] = (float)(y + 0.04 * (fai_random_unit(2, (uint64_t)i) - 0.5));
        rest[3 * i + 2] = (float)(0.05 * fai_random_unit(3, (uint64_t)i));
    }
    for (int f = 0; f < FRAMES; f++) {
        double rot[3] = {0.3 * sin(0.05 * f), 0.5 * sin(0.033 * f), 0.1 * sin(0.08 * f)};
        truth[f] = fai_pose_identity();
        fai_q_exp(rot, truth[f].q);
        truth[f].p[0] = 0.2 * sin(0.02 * f);
        truth[f].p[1] = 1.6;
        double jaw = fmax(0, sin(0.11 * f)), smile = fmax(0, sin(0.07 * f + 1));
        for (int i = 0; i < MARKERS; i++) {
            double p[3];
            fai_v3_load(rest, i, p);
            if (i >= 40) p[1] -= 0.03 * jaw, p[2] -= 0.01 * jaw;
            if (i >= 20 && i < 40) p[1] += 0.006 * smile * (0.5 + fai_random_unit(4, (uint64_t)i));
            for (int k = 0; k < 3; k++) p[k] += 0.0001 * fai_random_normal(5, (uint64_t)((f * MARKERS + i) * 3 + k));
            double w[3];
            fai_pose_apply(&truth[f], p, w);
            for (int k = 0; k < 3; k++) x[3 * (f * MARKERS + i) + k] = (float)w[k];
            if (fai_random_unit(6, (uint64_t)(f * MARKERS + i)) < 0.05) x[3 * (f * MARKERS + i) + 1] = NAN;
        }
    }
}

static void head_pose_from_a_moving_face(void **state) {
    (void)state;
    float *rest = FA_NEW(3 * MARKERS, float), *x = FA_NEW(3 * MARKERS * FRAMES, float), still[MARKERS];
    FaPose *truth = FA_NEW(2 * FRAMES, FaPose), *pose = truth + FRAMES;
    unsigned char found[FRAMES];
    make_take(rest, x, truth);
    for (int f = 90; f < 95; f++) // the actor is behind something
        for (int i = 2; i < MARKERS; i++) x[3 * (f * MARKERS + i)] = NAN;
    FaStillTake take = {.nframe = FRAMES, .nmarker = MARKERS, .x = x, .rest = rest, .floor = 0.0002};
    FaStillReport rep;
    FaError err = {0};
    uint64_t hash = 0;
    for (int threads = 1; threads <= 4; threads *= 2) {
        fa_threads_set(threads);
        CHECK_OK(fai_still_poses(&take, pose, found, still, &rep, &err), &err);
        uint64_t h = fai_hash64(pose, FRAMES * sizeof *pose, 1);
        assert_true(threads == 1 || h == hash);
        hash = h;
    }
    fa_threads_set(0);
    double worst = 0, shift = 0, plain = 0, oracle = 0;
    for (int f = 0; f < FRAMES; f++) {
        double a[9], b[9], from[3 * MARKERS], to[3 * MARKERS];
        assert_int_equal(found[f], f < 90 || f >= 95);
        if (!found[f]) {
            assert_memory_equal(&pose[f], &pose[89], sizeof *pose); // held
            continue;
        }
        fai_q_to_m3(pose[f].q, a);
        fai_q_to_m3(truth[f].q, b);
        worst = fmax(worst, angle(a, b));
        double d[3];
        fai_v3_sub(pose[f].p, truth[f].p, d);
        shift = fmax(shift, fai_v3_norm(d));
        for (int i = 0; i < 3 * MARKERS; i++) from[i] = (double)rest[i], to[i] = (double)x[3 * MARKERS * f + i];
        FaAlign all = fai_align(MARKERS, from, to, NULL, false);
        plain = fmax(plain, angle(all.rotation, b));
        all = fai_align(20, from, to, NULL, false); // those that are on the skull, as if one knew
        oracle = fmax(oracle, angle(all.rotation, b));
    }
    print_message("worst of %d frames: %.3f degrees, %.2f mm (all alike: %.2f degrees, the skull's only: %.3f); %.1f "
                  "markers, motion %.2f mm\n",
                  rep.frames_found, worst * 180 / M_PI, 1e3 * shift, plain * 180 / M_PI, oracle * 180 / M_PI,
                  rep.effective, 1e3 * rep.motion);
    assert_true(worst < 1.3 * oracle && shift < 4e-4 && plain > 1 * M_PI / 180);
    assert_int_equal(rep.first_lost, 90);
    for (int i = 0; i < MARKERS; i++) assert_true(i < 20 ? still[i] > 0.5 : still[i] < 0.1);
    // the caller's word counts
    float trust[MARKERS];
    for (int i = 0; i < MARKERS; i++) trust[i] = i != 5;
    take.trust = trust;
    CHECK_OK(fai_still_poses(&take, pose, found, still, NULL, &err), &err);
    assert_true(still[5] == 0 && still[6] > 0.5);
    fa_free(rest);
    fa_free(x);
    fa_free(truth);
}

static void bad_takes(void **state) {
    (void)state;
    float *rest = FA_NEW(3 * MARKERS, float), *x = FA_NEW(3 * MARKERS * FRAMES, float), still[MARKERS];
    FaPose *truth = FA_NEW(2 * FRAMES, FaPose), *pose = truth + FRAMES;
    unsigned char found[FRAMES];
    make_take(rest, x, truth);
    FaStillTake take = {.nframe = 1, .nmarker = MARKERS, .x = x, .rest = rest};
    FaError err = {0};
    CHECK_OK(fai_still_poses(&take, pose, found, still, NULL, &err), &err); // one frame is a take
    assert_true(found[0]);
    take.nmarker = 2;
    assert_int_equal(fai_still_poses(&take, pose, found, still, NULL, &err), FA_E_ARG);
    take.nmarker = MARKERS;
    take.nframe = 20;
    err = (FaError){0};
    for (int i = 0; i < 3 * MARKERS * FRAMES; i++) x[i] = NAN;
    assert_int_equal(fai_still_poses(&take, pose, found, still, NULL, &err), FA_E_NUMERIC);
    assert_true(strlen(err.what) > 10 && strlen(err.remedy) > 10);
    make_take(rest, x, truth);
    for (int k = 1;; k++) {
        err = (FaError){0};
        test_fail_alloc(k);
        FaCode rc = fai_still_poses(&take, pose, found, still, NULL, &err);
        bool hit = test_alloc_failed();
        test_fail_alloc(0);
        assert_int_equal(rc, hit ? FA_E_MEMORY : FA_OK);
        if (!hit) break;
    }
    fa_free(rest);
    fa_free(x);
    fa_free(truth);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers_motion_with_weights_and_gaps),
        cmocka_unit_test(is_a_minimum),
        cmocka_unit_test(mirrored_points_still_give_a_rotation),
        cmocka_unit_test(too_few_points_are_named),
        cmocka_unit_test(outliers_lose_their_say),
        cmocka_unit_test(head_pose_from_a_moving_face),
        cmocka_unit_test(bad_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
