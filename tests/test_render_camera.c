// The camera: every view holds the whole subject, points and rays agree.
#include "test.h"

#include "fascia/render.h"
#include "render/camera.h"

enum { N = 500 };
static float cloud[3 * N];

static int fill(void **state) {
    (void)state;
    for (int i = 0; i < 3 * N; i++)
        cloud[i] = (float)((fai_random_unit(7, (uint64_t)i) - 0.5) * (i % 3 == 1 ? 0.3 : 0.2) + 0.05);
    return 0;
}

static void views_hold_the_subject(void **state) {
    (void)state;
    const char *names[] = {"front", "three_quarter", "profile", "left", "right", "back", "top", "below"};
    const int sizes[][2] = {{100, 100}, {200, 80}, {60, 150}};
    for (int i = 0; i < 8; i++)
        for (int lens = 0; lens < 2; lens++)
            for (int s = 0; s < 3; s++) {
                FaError err = {0};
                FaCamera c;
                FaRenderView v = fa_render_options_default().view;
                assert_true(fa_render_view(names[i], &v));
                if (lens) v.fov = 0;
                CHECK_OK(fai_camera_fit(&c, &v, cloud, N, NULL, sizes[s][0], sizes[s][1], &err), &err);
                float lo[2] = {1e9f, 1e9f}, hi[2] = {-1e9f, -1e9f};
                for (int p = 0; p < N; p++) {
                    float q[2], scale;
                    assert_true(fai_camera_project(&c, fai_vec_of(cloud + 3 * p), &q[0], &q[1], &scale));
                    for (int k = 0; k < 2; k++) lo[k] = FA_MIN(lo[k], q[k]), hi[k] = FA_MAX(hi[k], q[k]);
                }
                for (int k = 0; k < 2; k++) assert_true(lo[k] > 0 && hi[k] < (float)sizes[s][k]);
                // and no more than that: it fills the tighter side
                assert_true((hi[0] - lo[0]) / (float)sizes[s][0] > 0.8 || (hi[1] - lo[1]) / (float)sizes[s][1] > 0.8);
            }
    FaRenderView v;
    assert_false(fa_render_view("sideways", &v));
}

static void rays_go_where_points_fall(void **state) {
    (void)state;
    for (int lens = 0; lens < 2; lens++) {
        FaError err = {0};
        FaCamera c;
        FaRenderView v = {.yaw = 30, .pitch = -20, .roll = 10, .zoom = 1.7, .fov = lens ? 20 : 0};
        CHECK_OK(fai_camera_fit(&c, &v, cloud, N, NULL, 120, 90, &err), &err);
        CHECK_NEAR(fai_dot(c.right, c.up), 0, 1e-6);
        CHECK_NEAR(fai_dot(fai_cross(c.right, c.up), c.back), 1, 1e-6);
        for (int p = 0; p < N; p++) {
            float x, y, scale;
            FaVec at = fai_vec_of(cloud + 3 * p), from, dir;
            assert_true(fai_camera_project(&c, at, &x, &y, &scale));
            fai_camera_ray(&c, x, y, &from, &dir);
            FaVec d = fai_sub(at, from);
            CHECK_NEAR(fai_len(fai_sub(d, fai_scale(dir, fai_dot(d, dir)))), 0, 1e-6);
        }
    }
}

static void left_and_up_are_where_they_should_be(void **state) {
    (void)state;
    FaError err = {0};
    FaCamera c;
    FaRenderView v = fa_render_options_default().view;
    float x, y, scale;
    CHECK_OK(fai_camera_fit(&c, &v, cloud, N, NULL, 100, 100, &err), &err);
    // from the front the subject's left is on the right of the picture
    fai_camera_project(&c, fai_vec(0.15f, 0.05f, 0.05f), &x, &y, &scale);
    assert_true(x > 50);
    fai_camera_project(&c, fai_vec(0.05f, 0.2f, 0.05f), &x, &y, &scale);
    assert_true(y < 50);
    // in profile we see its left side: the front points to the left of the picture
    fa_render_view("profile", &v);
    CHECK_OK(fai_camera_fit(&c, &v, cloud, N, NULL, 100, 100, &err), &err);
    CHECK_NEAR(c.back.x, 1, 1e-6);
    fai_camera_project(&c, fai_vec(0.05f, 0.05f, 0.15f), &x, &y, &scale);
    assert_true(x < 50);
    // from above the back of the head is at the top
    fa_render_view("top", &v);
    CHECK_OK(fai_camera_fit(&c, &v, cloud, N, NULL, 100, 100, &err), &err);
    assert_true(c.back.y > 0.99f);
    fai_camera_project(&c, fai_vec(0.05f, 0.05f, -0.05f), &x, &y, &scale);
    assert_true(y < 50);
}

static void zoom_and_focus(void **state) {
    (void)state;
    FaError err = {0};
    FaCamera one, four;
    FaRenderView v = fa_render_options_default().view;
    v.aim = true;
    v.focus[0] = 0.1, v.focus[1] = -0.05, v.focus[2] = 0.12;
    CHECK_OK(fai_camera_fit(&one, &v, cloud, N, NULL, 100, 100, &err), &err);
    v.zoom = 4;
    CHECK_OK(fai_camera_fit(&four, &v, cloud, N, NULL, 100, 100, &err), &err);
    float x, y, a, b;
    fai_camera_project(&one, fai_vec(0.1f, -0.05f, 0.12f), &x, &y, &a);
    CHECK_NEAR(x, 50, 1e-3);
    CHECK_NEAR(y, 50, 1e-3);
    fai_camera_project(&four, fai_vec(0.1f, -0.05f, 0.12f), &x, &y, &b);
    CHECK_NEAR(x, 50, 1e-3);
    CHECK_NEAR(b / a, 4, 1e-4);
}

static void senseless_views_are_refused(void **state) {
    (void)state;
    const FaRenderView bad[] = {{.zoom = 0},
                                {.zoom = -1},
                                {.zoom = NAN},
                                {.zoom = 1, .yaw = INFINITY},
                                {.zoom = 1, .fov = -3},
                                {.zoom = 1, .fov = 170}};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        FaError err = {0};
        FaCamera c;
        assert_int_equal(fai_camera_fit(&c, &bad[i], cloud, N, NULL, 10, 10, &err), FA_E_ARG);
        assert_true(err.what[0] != 0);
    }
    FaError err = {0};
    FaCamera c;
    FaRenderView v = {.zoom = 1, .fov = 14};
    CHECK_OK(fai_camera_fit(&c, &v, NULL, 0, NULL, 10, 10, &err), &err);  // nothing to see is fine
    CHECK_OK(fai_camera_fit(&c, &v, cloud, 1, NULL, 10, 10, &err), &err); // a point too
    assert_true(c.half > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_hold_the_subject),
        cmocka_unit_test(rays_go_where_points_fall),
        cmocka_unit_test(left_and_up_are_where_they_should_be),
        cmocka_unit_test(zoom_and_focus),
        cmocka_unit_test(senseless_views_are_refused),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
