// Markers over pictures: seen where nothing hides them, in their colours, joined to where they belong; and in step with
// frames.
#include "test.h"

#include "fascia/head.h"
#include "fascia/page.h"
#include "fascia/render.h"
#include "render/renderer.h"
#include "test_render_shapes.h"

static const double origin[3] = {0, 0, 0};

static bool near(const unsigned char *p, int r, int g, int b) {
    return abs(p[0] - r) < 25 && abs(p[1] - g) < 25 && abs(p[2] - b) < 25;
}

static int count_pixels(const FaImage *im, int r, int g, int b) {
    int n = 0;
    for (int i = 0; i < im->width * im->height; i++) n += near(im->rgb + 3 * i, r, g, b);
    return n;
}

static void hidden_and_seen(void **state) {
    (void)state;
    FaError err = {0};
    FaArena *arena = fai_arena_new(0);
    FaMesh ball = make_ball(arena, 0.1, origin, 40, 60);
    FaRenderPart part = {.mesh = &ball};
    FaRenderOptions o = fa_render_options_default();
    o.width = o.height = 200;
    FaRenderer *r;
    FaImage im;
    CHECK_OK(fa_renderer_new(&part, 1, &o, &r, &err), &err);
    const FaRenderMarker marker[] = {
        {{0, 0, 0.1f}, {NAN, NAN, NAN}, {255, 0, 0}, NULL},              // on the front
        {{0.03f, 0, 0.0938f}, {NAN, NAN, NAN}, {0, 255, 0}, "v1"},       // 1.5 mm under the skin: still seen
        {{0, 0.03f, -0.1f}, {NAN, NAN, NAN}, {0, 0, 255}, NULL},         // behind
        {{0, 0.05f, 0.05f}, {NAN, NAN, NAN}, {255, 0, 255}, NULL},       // well inside
        {{NAN, 0, 0}, {NAN, NAN, NAN}, {255, 255, 0}, NULL},             // not there
        {{-0.04f, 0, 0.1f}, {-0.04f, 0.03f, 0.1f}, {0, 255, 255}, NULL}, // with a line upwards
    };
    CHECK_OK(fa_renderer_markers(r, marker, FA_COUNT(marker), 0.004, &err), &err);
    CHECK_OK(fa_renderer_draw(r, &im, &err), &err);
    assert_true(near(pixel(&im, 100, 100), 255, 0, 0));
    assert_true(count_pixels(&im, 255, 0, 0) > 20);
    assert_true(count_pixels(&im, 0, 255, 0) > 20);
    assert_int_equal(count_pixels(&im, 0, 0, 255), 0);
    assert_int_equal(count_pixels(&im, 255, 0, 255), 0);
    assert_int_equal(count_pixels(&im, 255, 255, 0), 0);
    assert_true(count_pixels(&im, 0, 255, 255) > 20);
    assert_true(count_pixels(&im, 255, 240, 200) > 20);
    fa_image_free(&im);
    // from behind only the one there
    FaRenderView back = o.view;
    assert_true(fa_render_view("back", &back));
    CHECK_OK(fa_renderer_look(r, &back, &err), &err);
    CHECK_OK(fa_renderer_draw(r, &im, &err), &err);
    assert_true(count_pixels(&im, 0, 0, 255) > 20);
    assert_int_equal(count_pixels(&im, 255, 0, 0), 0);
    fa_image_free(&im);
    CHECK_OK(fa_renderer_markers(r, NULL, 0, 0, &err), &err);
    CHECK_OK(fa_renderer_draw(r, &im, &err), &err);
    assert_int_equal(count_pixels(&im, 0, 0, 255), 0);
    fa_image_free(&im);
    assert_int_equal(fa_renderer_markers(r, marker, 1, NAN, &err), FA_E_ARG);
    fa_renderer_free(r);
    fai_arena_free(arena);
}

static void frames_in_step(void **state) {
    (void)state;
    FaError err = {0};
    FaMarkerTake *take;
    const char *const names[] = {"a"};
    CHECK_OK(fa_markers_new(10, 1, names, 30, &take, &err), &err);
    for (int f = 0; f < 10; f++) assert_int_equal(fai_markers_frame(take, f, 10, NAN), f); // as many: by number
    assert_int_equal(fai_markers_frame(take, 7, 20, 7 / 60.0 - 0.001), 3);                 // else by time
    assert_int_equal(fai_markers_frame(take, 19, 20, 19 / 60.0), 9);
    assert_int_equal(fai_markers_frame(take, 30, 40, 30 / 60.0), -1); // long over
    assert_int_equal(fai_markers_frame(take, 3, 40, NAN), -1);
    fa_markers_free(take);
}

typedef struct Job {
    FaRig *rig;
    FaSequence *all, *seq;
    FaMarkerMap *map;
    FaMarkerTake *take;
    FaHead *head;
    FaClip *clip;
} Job;

static void job_open(Job *j) {
    FaError err = {0};
    FaHeadParams p = fa_head_params_default();
    p.level = 0;
    CHECK_OK(fa_head_new(&p, &j->head, &err), &err);
    CHECK_OK(fa_head_rig(j->head, 0, &j->rig, &err), &err);
    CHECK_OK(fa_head_clip("nod", &j->clip, &err), &err);
    CHECK_OK(fa_sequence_of_clip(j->rig, j->clip, &j->all, &err), &err);
    CHECK_OK(fa_sequence_slice(j->all, 0, 9, &j->seq, &err), &err);
    CHECK_OK(fa_markers_choose(j->rig, 20, &j->map, &err), &err);
    CHECK_OK(fa_markers_sample(j->seq, j->map, 0, &j->take, &err), &err);
}

static void job_close(Job *j) {
    fa_sequence_close(j->seq);
    fa_sequence_close(j->all);
    fa_marker_map_free(j->map);
    fa_markers_free(j->take);
    fa_rig_free(j->rig);
    fa_clip_free(j->clip);
    fa_head_free(j->head);
}

static unsigned long file_sum(const char *path) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    unsigned long sum = 5381;
    for (int c; (c = getc(f)) != EOF;) sum = 33 * sum + (unsigned long)c;
    fclose(f);
    return sum;
}

// A file with markers differs from one without; a map of other markers is refused.
static void in_files(void **state) {
    (void)state;
    FaError err = {0};
    Job j;
    job_open(&j);
    FaRenderJob job = fa_render_job();
    job.look.width = 160, job.look.samples = 1, job.rig = j.rig;
    const char *plain = test_path("markers_plain.png"), *with = test_path("markers_with.png"),
               *page = test_path("markers.html");
    CHECK_OK(fa_render_file(j.seq, &job, plain, &err), &err);
    job.markers = j.take, job.marker_map = j.map;
    CHECK_OK(fa_render_file(j.seq, &job, with, &err), &err);
    assert_true(file_sum(plain) != file_sum(with));
    FaMarkerMap *other;
    CHECK_OK(fa_markers_choose(j.rig, 30, &other, &err), &err);
    job.marker_map = other;
    assert_int_equal(fa_render_file(j.seq, &job, with, &err), FA_E_ARG);
    FaPageTrack track = {.name = "nod", .seq = j.seq, .markers = j.take, .map = other};
    err = (FaError){0};
    FaCode rc = fa_page_save(page, j.rig, &track, 1, NULL, &err);
    assert_true(rc == FA_E_ARG || rc == FA_E_UNSUPPORTED);
    fa_marker_map_free(other);
    job_close(&j);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hidden_and_seen), cmocka_unit_test(frames_in_step),
                                       cmocka_unit_test(in_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
