// What a picture shows: light from the upper left, shadows, occlusion, materials, wires, and the same bytes always.
#include "test.h"

#include "fascia/render.h"
#include "test_render_shapes.h"

static FaArena *arena;
static const double origin[3] = {0, 0, 0};

static int open_arena(void **state) {
    (void)state;
    return (arena = fai_arena_new(0)) ? 0 : 1;
}

static int close_arena(void **state) {
    (void)state;
    fai_arena_free(arena);
    return 0;
}

static FaImage draw(const FaRenderPart *parts, int n, const FaRenderOptions *o) {
    FaError err = {0};
    FaRenderer *r;
    FaImage image;
    CHECK_OK(fa_renderer_new(parts, n, o, &r, &err), &err);
    CHECK_OK(fa_renderer_draw(r, &image, &err), &err);
    fa_renderer_free(r);
    return image;
}

static FaRenderOptions small(int size) {
    FaRenderOptions o = fa_render_options_default();
    o.width = o.height = size;
    return o;
}

static void a_ball_is_lit_from_the_upper_left(void **state) {
    (void)state;
    FaMesh ball = make_ball(arena, 0.1, origin, 40, 60);
    FaRenderPart part = {.mesh = &ball};
    FaRenderOptions o = small(128);
    FaImage im = draw(&part, 1, &o);
    double upper_left = brightness(&im, 44, 44, 4), lower_right = brightness(&im, 96, 96, 4),
           middle = brightness(&im, 64, 64, 4);
    assert_true(upper_left > 1.3 * lower_right);
    assert_true(middle > lower_right);
    // warm skin: red over green over blue
    const unsigned char *p = pixel(&im, 50, 50);
    assert_true(p[0] > p[1] && p[1] > p[2]);
    // the background is neutral, darkest in the corners
    const unsigned char *corner = pixel(&im, 0, 0);
    assert_true(abs(corner[0] - corner[2]) < 12);
    assert_true(brightness(&im, 2, 2, 1) < brightness(&im, 64, 1, 1));
    fa_image_free(&im);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    const double left[3] = {-0.05, 0.02, 0.06};
    FaMesh ball = make_ball(arena, 0.1, origin, 40, 60), eye = make_ball(arena, 0.012, left, 20, 24);
    FaRenderPart part[2] = {{.mesh = &ball}, {.mesh = &eye, .material = FA_RENDER_EYE}};
    FaRenderOptions o = small(150);
    o.wire = true;
    FaImage im[3];
    const int threads[3] = {1, 2, 8};
    for (int i = 0; i < 3; i++) {
        fa_threads_set(threads[i]);
        im[i] = draw(part, 2, &o);
    }
    fa_threads_set(0);
    assert_memory_equal(im[0].rgb, im[1].rgb, 3 * 150 * 150);
    assert_memory_equal(im[0].rgb, im[2].rgb, 3 * 150 * 150);
    for (int i = 0; i < 3; i++) fa_image_free(&im[i]);
}

// Reusing a renderer for the frames of an animation gives what a fresh one gives.
static void poses_leave_no_trace(void **state) {
    (void)state;
    FaError err = {0};
    FaMesh ball = make_ball(arena, 0.1, origin, 30, 40);
    FaRenderPart part = {.mesh = &ball};
    FaRenderOptions o = small(96);
    FaRenderer *r;
    FaImage first, moved, again;
    float *x = FA_PUSH(arena, 3 * ball.nvert, float);
    for (int i = 0; i < 3 * ball.nvert; i++) x[i] = ball.x[i] * (i % 3 == 0 ? 0.5f : 1.0f);
    const float *pose[1] = {x};
    CHECK_OK(fa_renderer_new(&part, 1, &o, &r, &err), &err);
    CHECK_OK(fa_renderer_draw(r, &first, &err), &err);
    CHECK_OK(fa_renderer_pose(r, pose, NULL, &err), &err);
    CHECK_OK(fa_renderer_draw(r, &moved, &err), &err);
    CHECK_OK(fa_renderer_pose(r, NULL, NULL, &err), &err);
    CHECK_OK(fa_renderer_draw(r, &again, &err), &err);
    assert_memory_equal(first.rgb, again.rgb, 3 * 96 * 96);
    assert_true(memcmp(first.rgb, moved.rgb, 3 * 96 * 96) != 0);
    // the camera stayed: half as wide
    assert_true(brightness(&first, 20, 48, 2) > brightness(&moved, 20, 48, 2) + 10);
    fa_image_free(&first);
    fa_image_free(&moved);
    fa_image_free(&again);
    fa_renderer_free(r);
}

static void a_ball_throws_a_soft_shadow(void **state) {
    (void)state;
    const double above[3] = {0, 0, 0.06};
    FaMesh wall = make_square(arena, 0.1, 0, 4), ball = make_ball(arena, 0.02, above, 20, 30);
    FaRenderPart part[2] = {{.mesh = &wall}, {.mesh = &ball}};
    FaRenderOptions o = small(160);
    o.view.fov = 0;
    FaImage alone = draw(part, 1, &o), both = draw(part, 2, &o);
    // the light comes from the upper left and the viewer: the shadow falls to the lower right of the ball
    double lit = brightness(&both, 30, 30, 4), shadow = brightness(&both, 118, 128, 3);
    assert_true(shadow < 0.8 * lit);
    CHECK_NEAR(brightness(&alone, 118, 128, 3), brightness(&alone, 30, 30, 4), 12);
    // soft: somewhere it is half dark
    int between = 0;
    for (int i = 0; i < 80; i++) {
        double b = brightness(&both, 75 + i, 85 + i > 157 ? 157 : 85 + i, 0);
        between += b > shadow + 0.3 * (lit - shadow) && b < shadow + 0.7 * (lit - shadow);
    }
    assert_true(between >= 3);
    fa_image_free(&alone);
    fa_image_free(&both);
}

static void hollows_are_dark(void **state) {
    (void)state;
    // looking into an open box: its floor sees less of the sky than a floor without walls
    FaMesh wall = make_square(arena, 0.05, 0, 8);
    FaMesh tube = make_ball(arena, 0.05, origin, 40, 40);
    for (int v = 0; v < tube.nvert; v++) { // a cylinder around the line of sight
        float *p = tube.x + 3 * v, r = hypotf(p[0], p[1]);
        float z = 0.15f * (float)(0.5 + 0.5 * p[2] / 0.05);
        if (r > 0) p[0] *= 0.05f / r, p[1] *= 0.05f / r;
        p[2] = z;
    }
    FaRenderPart part[2] = {{.mesh = &wall}, {.mesh = &tube}};
    FaRenderOptions o = small(96);
    o.view.fov = 0;
    FaImage flat = draw(part, 1, &o), deep = draw(part, 2, &o);
    assert_true(brightness(&deep, 60, 60, 3) < 0.6 * brightness(&flat, 60, 60, 3));
    fa_image_free(&flat);
    fa_image_free(&deep);
}

static void materials_are_told_apart(void **state) {
    (void)state;
    FaMesh ball = make_ball(arena, 0.012, origin, 40, 60);
    FaRenderOptions o = small(96);
    FaImage im[FA_RENDER_MATERIALS];
    for (int m = 0; m < FA_RENDER_HIDDEN; m++) {
        FaRenderPart part = {.mesh = &ball, .material = (FaRenderMaterial)m};
        im[m] = draw(&part, 1, &o);
        for (int k = 0; k < m; k++) assert_true(memcmp(im[m].rgb, im[k].rgb, 3 * 96 * 96) != 0);
    }
    // teeth are lighter than skin, the mouth is redder
    assert_true(brightness(&im[FA_RENDER_TEETH], 40, 40, 3) > brightness(&im[FA_RENDER_SKIN], 40, 40, 3));
    const unsigned char *mouth = pixel(&im[FA_RENDER_MOUTH], 40, 44), *skin = pixel(&im[FA_RENDER_SKIN], 40, 44);
    assert_true((double)mouth[0] / mouth[1] > 1.2 * skin[0] / skin[1]);
    // an eye looks at us: dark pupil, coloured iris, white around it
    const FaImage *eye = &im[FA_RENDER_EYE];
    double pupil = brightness(eye, 48, 48, 1), iris = brightness(eye, 48, 61, 1), white = brightness(eye, 48, 82, 1);
    assert_true(pupil < 60);
    assert_true(iris > pupil + 15 && iris < white - 30);
    for (int m = 0; m < FA_RENDER_HIDDEN; m++) fa_image_free(&im[m]);
}

static void hidden_triangles_are_not_there(void **state) {
    (void)state;
    const double beside[3] = {0.2, 0, 0};
    FaMesh ball = make_ball(arena, 0.05, origin, 20, 30), other = make_ball(arena, 0.05, beside, 20, 30);
    FaRenderPart part[2] = {{.mesh = &ball}, {.mesh = &other, .material = FA_RENDER_HIDDEN}};
    FaRenderOptions o = small(64);
    FaImage one = draw(part, 1, &o), both = draw(part, 2, &o);
    assert_memory_equal(one.rgb, both.rgb, 3 * 64 * 64);
    // the same by triangle
    unsigned char *material = FA_PUSH(arena, other.ntri, unsigned char);
    memset(material, FA_RENDER_HIDDEN, (size_t)other.ntri);
    part[1] = (FaRenderPart){.mesh = &other, .tri_material = material};
    FaImage third = draw(part, 2, &o);
    assert_memory_equal(one.rgb, third.rgb, 3 * 64 * 64);
    fa_image_free(&one);
    fa_image_free(&both);
    fa_image_free(&third);
}

static void the_iris_moves_with_its_vertices(void **state) {
    (void)state;
    FaError err = {0};
    FaMesh ball = make_ball(arena, 0.012, origin, 40, 60);
    FaRenderPart part = {.mesh = &ball, .material = FA_RENDER_EYE};
    FaRenderOptions o = small(96);
    FaRenderer *r;
    FaImage ahead, aside;
    CHECK_OK(fa_renderer_new(&part, 1, &o, &r, &err), &err);
    CHECK_OK(fa_renderer_draw(r, &ahead, &err), &err);
    float *x = FA_PUSH(arena, 3 * ball.nvert, float);
    double c = cos(0.6), s = sin(0.6); // to the subject's left: the right of the picture
    for (int v = 0; v < ball.nvert; v++) {
        const float *p = ball.x + 3 * v;
        x[3 * v] = (float)(c * p[0] + s * p[2]), x[3 * v + 1] = p[1], x[3 * v + 2] = (float)(c * p[2] - s * p[0]);
    }
    const float *pose[1] = {x};
    CHECK_OK(fa_renderer_pose(r, pose, NULL, &err), &err);
    CHECK_OK(fa_renderer_draw(r, &aside, &err), &err);
    assert_true(brightness(&ahead, 48, 48, 1) < 60);
    assert_true(brightness(&aside, 48 + (int)(45 * s), 48, 1) < 60);
    assert_true(brightness(&aside, 48, 48, 1) > 80);
    fa_image_free(&ahead);
    fa_image_free(&aside);
    fa_renderer_free(r);
}

static void wires_follow_polygons(void **state) {
    (void)state;
    FaMesh wall = make_square(arena, 0.1, 0, 4);
    FaRenderPart part = {.mesh = &wall};
    FaRenderOptions o = small(212); // 1.06 * 200: a quad is 50 pixels wide
    o.view.fov = 0;
    FaImage plain = draw(&part, 1, &o);
    o.wire = true;
    FaImage wired = draw(&part, 1, &o);
    // dark on the edges between quads, untouched inside them and on the diagonal that cuts them
    double across = 0, down = 0; // in widths of a black line
    for (int i = -3; i < 3; i++) {
        across += 1 - brightness(&wired, 106 + i, 80, 0) / brightness(&plain, 106 + i, 80, 0);
        down += 1 - brightness(&wired, 80, 56 + i, 0) / brightness(&plain, 80, 56 + i, 0);
    }
    assert_true(across > 0.25 && across < 2);
    CHECK_NEAR(down, across, 0.2);
    CHECK_NEAR(brightness(&wired, 81, 81, 1), brightness(&plain, 81, 81, 1), 2);
    CHECK_NEAR(brightness(&wired, 70, 92, 1), brightness(&plain, 70, 92, 1), 2);
    fa_image_free(&plain);
    fa_image_free(&wired);
}

static void flat_shows_facets(void **state) {
    (void)state;
    FaMesh ball = make_ball(arena, 0.1, origin, 8, 12);
    FaRenderPart part = {.mesh = &ball};
    FaRenderOptions o = small(128);
    FaImage smooth = draw(&part, 1, &o);
    o.flat = true;
    FaImage flat = draw(&part, 1, &o);
    // steps between neighbours along a line: few and large on facets
    int steps[2] = {0, 0};
    const FaImage *im[2] = {&smooth, &flat};
    for (int k = 0; k < 2; k++)
        for (int x = 30; x < 98; x++)
            steps[k] += fabs(brightness(im[k], x + 1, 60, 0) - brightness(im[k], x, 60, 0)) > 6;
    assert_true(steps[1] >= 2);
    assert_int_equal(steps[0], 0);
    fa_image_free(&smooth);
    fa_image_free(&flat);
}

static void backs_can_be_marked(void **state) {
    (void)state;
    FaMesh wall = make_square(arena, 0.1, 0, 2);
    FaRenderPart part = {.mesh = &wall};
    FaRenderOptions o = small(64);
    fa_render_view("back", &o.view);
    FaImage plain = draw(&part, 1, &o);
    o.backfaces = true;
    FaImage marked = draw(&part, 1, &o);
    const unsigned char *p = pixel(&plain, 32, 32), *q = pixel(&marked, 32, 32);
    assert_true(p[0] > p[2]);                // skin
    assert_true(q[2] > q[1] && q[0] > q[1]); // violet
    fa_image_free(&plain);
    fa_image_free(&marked);
}

static void bad_input_is_refused(void **state) {
    (void)state;
    FaMesh ball = make_ball(arena, 0.1, origin, 8, 12);
    FaRenderPart part = {.mesh = &ball};
    FaRenderer *r;
    const struct {
        int width, height, samples;
        double heat;
    } bad[] = {{-1, 10, 8, 0}, {100000, 10, 8, 0}, {10, 10, 1000, 0}, {10, 10, 8, -1}, {10, 10, 8, NAN}};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        FaError err = {0};
        FaRenderOptions o = fa_render_options_default();
        o.width = bad[i].width, o.height = bad[i].height, o.samples = bad[i].samples, o.heat_max_mm = bad[i].heat;
        assert_int_equal(fa_renderer_new(&part, 1, &o, &r, &err), FA_E_ARG);
        assert_null(r);
        assert_true(err.remedy[0] != 0);
    }
    FaError err = {0};
    FaRenderOptions o = small(16);
    CHECK_OK(fa_renderer_new(&part, 1, &o, &r, &err), &err);
    float *x = FA_PUSH(arena, 3 * ball.nvert, float);
    memcpy(x, ball.x, 3 * (size_t)ball.nvert * sizeof(float));
    x[3 * 7 + 1] = NAN;
    const float *pose[1] = {x};
    assert_int_equal(fa_renderer_pose(r, pose, NULL, &err), FA_E_MESH);
    assert_string_equal(err.place, "mesh 0, vertex 7");
    FaRenderView view = o.view;
    view.zoom = 0;
    err = (FaError){0};
    assert_int_equal(fa_renderer_look(r, &view, &err), FA_E_ARG);
    fa_renderer_free(r);
}

static void nothing_to_see_is_background(void **state) {
    (void)state;
    FaMesh empty = {.nvert = 0, .face_start = FA_PUSH(arena, 1, int)};
    FaRenderPart part = {.mesh = &empty};
    FaRenderOptions o = small(32);
    FaImage im = draw(&part, 1, &o);
    for (int i = 0; i < 32 * 32; i++) assert_true(abs(im.rgb[3 * i] - im.rgb[3 * i + 2]) < 12);
    fa_image_free(&im);
}

static void degenerate_triangles_do_no_harm(void **state) {
    (void)state;
    FaMesh ball = make_ball(arena, 0.1, origin, 8, 12);
    for (int v = 20; v < 60; v++) memcpy(ball.x + 3 * v, ball.x + 3 * 19, 3 * sizeof(float));
    FaRenderPart part = {.mesh = &ball};
    FaRenderOptions o = small(48);
    o.wire = true;
    FaImage im = draw(&part, 1, &o);
    assert_true(brightness(&im, 24, 14, 1) > 0);
    fa_image_free(&im);
}

static void memory_runs_out(void **state) {
    (void)state;
    const double left[3] = {-0.05, 0.02, 0.06};
    FaMesh ball = make_ball(arena, 0.1, origin, 12, 16), eye = make_ball(arena, 0.012, left, 8, 12);
    FaRenderPart part[2] = {{.mesh = &ball}, {.mesh = &eye, .material = FA_RENDER_EYE}};
    FaRenderOptions o = small(16);
    o.wire = true;
    test_fail_alloc(0);
    long before = test_alloc_balance();
    int failures = 0;
    for (long n = 1;; n++) {
        FaError err = {0};
        FaRenderer *r = NULL;
        FaImage im = {0};
        test_fail_alloc(n);
        FaCode rc = fa_renderer_new(part, 2, &o, &r, &err);
        if (rc >= 0) rc = fa_renderer_draw(r, &im, &err);
        bool delivered = test_alloc_failed();
        test_fail_alloc(0);
        fa_image_free(&im);
        fa_renderer_free(r);
        assert_int_equal(test_alloc_balance(), before);
        if (!delivered) {
            assert_int_equal(rc, FA_OK);
            break;
        }
        assert_int_equal(rc, FA_E_MEMORY);
        failures++;
    }
    assert_true(failures > 5);
}

#ifndef FA_HAVE_EMBREE
static void a_build_without_embree_says_so(void **state) {
    (void)state;
    FaError err = {0};
    FaMesh ball = make_ball(arena, 0.1, origin, 8, 12);
    FaRenderPart part = {.mesh = &ball};
    FaRenderer *r;
    assert_int_equal(fa_renderer_new(&part, 1, NULL, &r, &err), FA_E_UNSUPPORTED);
    assert_null(r);
    assert_non_null(strstr(err.remedy, "embree"));
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ball_is_lit_from_the_upper_left),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(poses_leave_no_trace),
        cmocka_unit_test(a_ball_throws_a_soft_shadow),
        cmocka_unit_test(hollows_are_dark),
        cmocka_unit_test(materials_are_told_apart),
        cmocka_unit_test(hidden_triangles_are_not_there),
        cmocka_unit_test(the_iris_moves_with_its_vertices),
        cmocka_unit_test(wires_follow_polygons),
        cmocka_unit_test(flat_shows_facets),
        cmocka_unit_test(backs_can_be_marked),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(nothing_to_see_is_background),
        cmocka_unit_test(degenerate_triangles_do_no_harm),
        cmocka_unit_test(memory_runs_out),
    };
#ifndef FA_HAVE_EMBREE
    const struct CMUnitTest without[] = {cmocka_unit_test(a_build_without_embree_says_so)};
    (void)tests;
    return cmocka_run_group_tests(without, open_arena, close_arena);
#else
    return cmocka_run_group_tests(tests, open_arena, close_arena);
#endif
}
