// The clips that are written by code.
#include "test_head_tools.h"

static void test_every_clip(void **state) {
    (void)state;
    static const double seconds[] = {10, 31.2, 6, 4, 4, 5, 2.5, 2.6, 3};
    const char *const *names = fa_head_clip_names();
    int n = 0;
    for (; names[n]; n++) {
        FaClip *clip = NULL;
        FaError err = {0};
        CHECK_OK(fa_head_clip(names[n], &clip, &err), &err);
        CHECK_OK(fa_clip_check(clip, &err), &err);
        CHECK_NEAR(clip->nframe / clip->fps, seconds[n], 1e-9);
        assert_true(clip->fps == 60);
        assert_int_equal(clip->nchan, FA_ARKIT_COUNT);
        assert_non_null(clip->head);
        bool used = false;
        for (int i = 0; i < clip->nframe * clip->nchan; i++) {
            assert_true(clip->weight[i] >= 0 && clip->weight[i] <= 1);
            used |= clip->weight[i] > 0;
        }
        assert_true(used);
        // no channel jumps: a lid falls in 80 ms, nothing is faster
        for (int f = 1; f < clip->nframe; f++)
            for (int c = 0; c < clip->nchan; c++)
                assert_true(fabsf(clip->weight[f * clip->nchan + c] - clip->weight[(f - 1) * clip->nchan + c]) < 0.35f);
        // mouthClose never asks for more than the jaw opens, but in the clips whose lips are to cross
        bool over = false;
        for (int f = 0; f < clip->nframe; f++) {
            const float *w = clip->weight + (size_t)f * clip->nchan;
            over |= w[18] > w[17];
        }
        assert_true(over == (!strcmp(names[n], "plosive") || !strcmp(names[n], "press")));
        fa_clip_free(clip);
    }
    assert_int_equal(n, 9);
}

static void test_rom_shows_all(void **state) {
    (void)state;
    FaClip *clip = NULL;
    CHECK_OK(fa_head_clip("rom", &clip, NULL), NULL);
    for (int c = 0; c < clip->nchan; c++) {
        float most = 0;
        for (int f = 0; f < clip->nframe; f++) most = fmaxf(most, clip->weight[f * clip->nchan + c]);
        assert_true(most > 0.99f);
    }
    fa_clip_free(clip);
}

static double peak_g(const FaClip *clip, const double at[3]) {
    double most = 0;
    double x[3][3];
    for (int f = 1; f + 1 < clip->nframe; f++) {
        for (int s = 0; s < 3; s++) {
            const FaPose *p = &clip->head[f - 1 + s];
            const double *q = p->q;
            // world = R(q) at + p
            double u[3] = {2 * (q[1] * at[2] - q[2] * at[1]), 2 * (q[2] * at[0] - q[0] * at[2]),
                           2 * (q[0] * at[1] - q[1] * at[0])};
            for (int k = 0; k < 3; k++)
                x[s][k] =
                    p->p[k] + at[k] + q[3] * u[k] + (q[(k + 1) % 3] * u[(k + 2) % 3] - q[(k + 2) % 3] * u[(k + 1) % 3]);
        }
        double a = 0;
        for (int k = 0; k < 3; k++) {
            double d = (x[0][k] - 2 * x[1][k] + x[2][k]) * clip->fps * clip->fps / 9.81;
            a += d * d;
        }
        most = fmax(most, sqrt(a));
    }
    return most;
}

static void test_runner_feels_two_to_three_g(void **state) {
    (void)state;
    FaClip *clip = NULL;
    CHECK_OK(fa_head_clip("run", &clip, NULL), NULL);
    double g = peak_g(clip, (const double[]){0, 0, 0});
    assert_true(g > 2 && g < 3.2);
    fa_clip_free(clip);
    CHECK_OK(fa_head_clip("shake", &clip, NULL), NULL);
    assert_true(peak_g(clip, (const double[]){0, -0.04, 0.09}) > 0.8);
    fa_clip_free(clip);
}

static void test_unknown(void **state) {
    (void)state;
    FaClip *clip = (FaClip *)1;
    FaError err = {0};
    assert_int_equal(fa_head_clip("yodel", &clip, &err), FA_E_ARG);
    assert_null(clip);
    assert_non_null(strstr(err.what, "yodel"));
    assert_non_null(strstr(err.remedy, "talk"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_clip),
        cmocka_unit_test(test_rom_shows_all),
        cmocka_unit_test(test_runner_feels_two_to_three_g),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
