// Smoothing the head's motion: what is slow stays, without delay; jitter goes, and the accelerations that flesh feels
// with it.
#include "test.h"

#include "math/mat3.h"
#include "math/pose_curve.h"

static FaClip *motion_of(int n, double fps, double hz, double jitter) {
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_new(n, 0, NULL, fps, &clip, &err), &err);
    clip->head = FA_NEW(n, FaPose);
    for (int f = 0; f < n; f++) {
        double s = sin(2 * M_PI * hz * clip->time[f]), turn[3];
        for (int k = 0; k < 3; k++)
            turn[k] = (k == 1 ? 0.4 * s : 0) + 3 * jitter * (fai_random_unit(3, 8 * (uint64_t)f + (uint64_t)k) - 0.5);
        for (int k = 0; k < 3; k++)
            clip->head[f].p[k] =
                (k == 1 ? 0.04 * s : 0.3 * k) + jitter * (fai_random_unit(3, 8 * (uint64_t)f + 4 + (uint64_t)k) - 0.5);
        fai_q_exp(turn, clip->head[f].q);
        if (f % 7 == 3) // the same rotation
            for (int k = 0; k < 4; k++) clip->head[f].q[k] = -clip->head[f].q[k];
    }
    return clip;
}

// Root mean square of the accelerations that a run would feel, m/s2 and rad/s2; largest, in m/s2.
static void feel(const FaClip *clip, double *linear, double *angular, double *most) {
    FaError err = {0};
    FaPoseCurve *curve;
    CHECK_OK(fai_pose_curve_new(clip->nframe, clip->time, clip->head, FA_ENDS_FREE, &curve, &err), &err);
    double sum[2] = {0}, end = clip->time[clip->nframe - 1];
    int n = (int)(300 * end);
    *most = 0;
    for (int i = 0; i < n; i++) {
        FaMotion m;
        fai_pose_curve_eval(curve, i / 300.0, &m);
        double a = fai_v3_dot(m.a, m.a);
        sum[0] += a, sum[1] += fai_v3_dot(m.alpha, m.alpha);
        *most = fmax(*most, sqrt(a));
    }
    *linear = sqrt(sum[0] / n), *angular = sqrt(sum[1] / n);
    fai_pose_curve_free(curve);
}

static void test_slow_stays(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *clean = motion_of(360, 120, 2, 0), *smooth = motion_of(360, 120, 2, 0);
    CHECK_OK(fa_clip_smooth_head(smooth, 10, &err), &err);
    double far = 0, turned = 0;
    for (int f = 0; f < 360; f++) {
        double dot = 0, length = 0;
        for (int k = 0; k < 3; k++) far = fmax(far, fabs(smooth->head[f].p[k] - clean->head[f].p[k]));
        for (int k = 0; k < 4; k++)
            dot += smooth->head[f].q[k] * clean->head[f].q[k], length += smooth->head[f].q[k] * smooth->head[f].q[k];
        turned = fmax(turned, 2 * acos(fmin(fabs(dot), 1)));
        CHECK_NEAR(length, 1, 1e-12);
    }
    print_message("2 Hz through 10 Hz: %.3f mm of 40, %.3f degrees of 23 off\n", 1e3 * far, turned * 180 / M_PI);
    assert_true(far > 0 && far < 0.0006); // 0.16 % by the filter's gain; the ends as well
    assert_true(turned < 0.006);
    // nothing faster than the frames hold: nothing to do
    FaClip *same = motion_of(60, 30, 2, 1e-3), *before = motion_of(60, 30, 2, 1e-3);
    CHECK_OK(fa_clip_smooth_head(same, 20, &err), &err);
    assert_memory_equal(same->head, before->head, 60 * sizeof(FaPose));
    assert_int_equal(fa_clip_smooth_head(same, 0, &err), FA_E_ARG);
    err = (FaError){0};
    assert_int_equal(fa_clip_smooth_head(same, NAN, &err), FA_E_ARG);
    fa_clip_free(same);
    fa_clip_free(before);
    fa_clip_free(clean);
    fa_clip_free(smooth);
}

static void test_jitter_goes(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *clean = motion_of(360, 120, 2, 0), *clip = motion_of(360, 120, 2, 1e-3);
    double truth[3], raw[3], after[3];
    feel(clean, &truth[0], &truth[1], &truth[2]);
    feel(clip, &raw[0], &raw[1], &raw[2]);
    CHECK_OK(fa_clip_smooth_head(clip, 10, &err), &err);
    feel(clip, &after[0], &after[1], &after[2]);
    print_message(
        "jitter of 0.5 mm at 120 fps: %.1f m/s2 rms become %.1f, true %.1f; %.0f rad/s2 become %.0f, true %.0f\n",
        raw[0], after[0], truth[0], raw[1], after[1], truth[1]);
    assert_true(raw[0] > 2 * truth[0] && after[0] < 1.15 * truth[0] && after[0] > 0.95 * truth[0]);
    assert_true(raw[1] > 1.5 * truth[1] && after[1] < 1.15 * truth[1] && after[1] > 0.95 * truth[1]);
    fa_clip_free(clean);
    fa_clip_free(clip);
}

static void test_recorded(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *clip, *cut;
    const char *path = test_data("clips/cmu_bvh/09_01.bvh"); // running
    if (!path) skip();
    CHECK_OK(fa_clip_load(path, NULL, &clip, &err), &err);
    CHECK_OK(fa_clip_slice(clip, 1, clip->nframe - 1, &cut, &err), &err); // frame 0 is a rest pose
    double raw[3], after[3], far = 0;
    feel(cut, &raw[0], &raw[1], &raw[2]);
    CHECK_OK(fa_clip_smooth_head(cut, 10, &err), &err);
    feel(cut, &after[0], &after[1], &after[2]);
    for (int f = 0; f < cut->nframe; f++)
        for (int k = 0; k < 3; k++) far = fmax(far, fabs(cut->head[f].p[k] - clip->head[f + 1].p[k]));
    print_message("CMU 09_01, %.0f fps: %.1f m/s2 rms (most %.0f) become %.1f (%.0f); %.0f rad/s2 become %.0f; poses "
                  "move by at most %.1f mm\n",
                  cut->fps, raw[0], raw[2], after[0], after[2], raw[1], after[1], 1e3 * far);
    assert_true(raw[2] > 100 && after[2] < 40 && after[0] > 5 && after[0] < 0.4 * raw[0] && after[1] < 0.4 * raw[1] &&
                far < 0.005);
    fa_clip_free(cut);
    fa_clip_free(clip);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slow_stays), cmocka_unit_test(test_jitter_goes),
                                       cmocka_unit_test(test_recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
