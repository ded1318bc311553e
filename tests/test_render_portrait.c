// Pictures find the face: the head of a body, upright and towards the camera whatever axes the file has, also when it
// walks away.
// labels: heavy
#include "test.h"

#include "fascia/head.h"
#include "fascia/render.h"
#include "io/png.h"
#include "render/portrait.h"
#include "rig/face_box.h"

enum { SIZE = 96 };

static FaRig *animal(const char *name) {
    FaError err = {0};
    char path[700];
    FaRig *rig;
    for (int i = 0; i < fa_zoo_count(); i++) {
        FaZooAnimal a = fa_zoo_animal(i);
        if (strcmp(a.name, name) != 0) continue;
        snprintf(path, sizeof path, "%s/%s%s", test_dir(), a.name, a.ext);
        CHECK_OK(fa_zoo_save(i, 0, NULL, path, &err), &err);
        CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
        return rig;
    }
    fail_msg("no animal '%s'", name);
    return NULL;
}

// --- pixels -------------------------------------------------------------------------------------------------------

// Skin is warm, the background is not.
static bool is_subject(const unsigned char *p) { return p[0] > p[2] + 18; }

typedef struct Seen {
    double share;  // of the picture that is subject
    double middle; // of it, from the picture's left, 0..1
    double top;    // first row that has some, 0..1
} Seen;

static Seen look_at(const FaImage *im, int x0, int y0, int size) {
    Seen s = {.top = 1};
    int n = 0;
    for (int y = y0; y < y0 + size; y++)
        for (int x = x0; x < x0 + size; x++) {
            if (!is_subject(im->rgb + 3 * ((size_t)y * (size_t)im->width + (size_t)x))) continue;
            n++;
            s.middle += (x - x0 + 0.5) / size;
            s.top = fmin(s.top, (double)(y - y0) / size);
        }
    s.share = (double)n / (size * size);
    s.middle = n ? s.middle / n : 0;
    return s;
}

static FaImage draw(const FaRig *rig, const FaClip *clip, FaRenderJob job, const char *name) {
    FaError err = {0};
    FaSequence *seq;
    FaImage im;
    job.look.width = job.look.height = SIZE;
    job.look.samples = 2;
    job.alone = true;
    CHECK_OK(fa_sequence_of_clip(rig, clip, &seq, &err), &err);
    CHECK_OK(fa_render_file(seq, &job, test_path(name), &err), &err);
    CHECK_OK(fai_png_read(test_path(name), &im.rgb, &im.width, &im.height, &err), &err);
    fa_sequence_close(seq);
    return im;
}

static double difference(const FaImage *a, const FaImage *b) {
    double sum = 0;
    assert_int_equal(a->width, b->width);
    for (int i = 0; i < 3 * a->width * a->height; i++) sum += fabs((double)a->rgb[i] - b->rgb[i]);
    return sum / (3 * a->width * a->height);
}

// --- the head of a body -------------------------------------------------------------------------------------------

static void the_head_of_a_body(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool body;
    } rows[] = {{"plain", false}, {"body", true},  {"web_avatar", true}, {"crowd_avatar", true},
                {"low", false},   {"z_up", false}, {"stylised", false},  {"inch", false}};
    for (int i = 0; i < FA_COUNT(rows); i++) {
        FaRig *rig = animal(rows[i].name);
        unsigned char *keep = calloc((size_t)rig->mesh.nvert, 1);
        bool body = fai_portrait(rig, keep);
        double lo = INFINITY, hi = -INFINITY;
        for (int v = 0; v < rig->mesh.nvert; v++) {
            const float *x = rig->mesh.x + 3 * v;
            double y = rig->axes[3] * x[0] + rig->axes[4] * x[1] + rig->axes[5] * x[2];
            if (keep[v]) lo = fmin(lo, y), hi = fmax(hi, y);
        }
        print_message("%-14s %s, %.3f m are fitted\n", rows[i].name, body ? "body" : "head", hi - lo);
        assert_int_equal(body, rows[i].body);
        assert_true(hi - lo < 0.40 && hi - lo > 0.09);
        free(keep);
        fa_rig_free(rig);
    }
}

static void a_body_is_framed_as_its_head_is(void **state) {
    (void)state;
    FaRig *plain = animal("plain"), *body = animal("body");
    FaImage a = draw(plain, NULL, fa_render_job(), "plain.png"), b = draw(body, NULL, fa_render_job(), "body.png");
    Seen x = look_at(&a, 0, 0, SIZE), y = look_at(&b, 0, 0, SIZE);
    print_message("head %.2f of the picture, head of the body %.2f\n", x.share, y.share);
    assert_true(y.share > 0.6 * x.share && y.share < 0.8);
    // and all of it on request
    FaRenderJob job = fa_render_job();
    job.whole = true;
    FaImage c = draw(body, NULL, job, "whole.png");
    assert_true(look_at(&c, 0, 0, SIZE).share < 0.5 * y.share);
    FaImage *all[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) fa_image_free(all[i]);
    fa_rig_free(plain);
    fa_rig_free(body);
}

// --- axes ---------------------------------------------------------------------------------------------------------

// The files' own clips move their nodes in a world that has other axes than the face.
static void the_face_looks_at_the_camera(void **state) {
    (void)state;
    static const char *const names[] = {"z_up", "x_front", "z_up_node", "mirrored"};
    FaRenderJob job = fa_render_job();
    job.world = true;
    job.frame = 40;
    FaRig *plain = animal("plain");
    FaImage want = draw(plain, NULL, job, "want.png");
    for (int i = 0; i < FA_COUNT(names); i++) {
        FaRig *rig = animal(names[i]);
        assert_non_null(rig->clip->head);
        FaImage got = draw(rig, NULL, job, "axes.png");
        print_message("%-10s differs by %.2f of 255\n", names[i], difference(&got, &want));
        assert_true(difference(&got, &want) < 2);
        fa_image_free(&got);
        fa_rig_free(rig);
    }
    fa_image_free(&want);
    fa_rig_free(plain);
}

// A clip whose head turns by `turn` about y, or lies on its back, and walks `way` m along x.
static FaClip *walk(int n, double turn, bool lying, double way) {
    FaError err = {0};
    const char *names[] = {"jawOpen"};
    FaClip *clip;
    CHECK_OK(fa_clip_new(n, 1, names, 30, &clip, &err), &err);
    clip->head = calloc((size_t)n, sizeof *clip->head);
    for (int f = 0; f < n; f++) {
        double a = turn + 0.2 * sin(f), u = (double)f / (n - 1);
        clip->head[f] = lying ? (FaPose){{-sqrt(0.5), 0, 0, sqrt(0.5)}, {way * u, 0, 0}}
                              : (FaPose){{0, sin(a / 2), 0, cos(a / 2)}, {way * u, 0, 0}};
    }
    return clip;
}

static void turns_are_found(void **state) {
    (void)state;
    double t[9], y[3] = {0, 1, 0};
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    fai_portrait_turn(NULL, t);
    assert_memory_equal(t, identity, sizeof t);
    FaClip *small = walk(20, 0.5, false, 0), *away = walk(20, 3, false, 0), *lies = walk(20, 0, true, 0);
    fai_portrait_turn(small, t); // an actor who looks aside does so in the picture
    assert_memory_equal(t, identity, sizeof t);
    fai_portrait_turn(away, t);
    CHECK_NEAR(t[0], cos(3.0), 0.02);
    CHECK_NEAR(t[4], 1, 0);
    fai_portrait_turn(lies, t); // up is -z there
    for (int k = 0; k < 3; k++) CHECK_NEAR(t[3 + k], k == 2 ? -1 : 0, 0);
    for (int k = 0; k < 3; k++) CHECK_NEAR(t[6 + k], y[k], 0);
    fa_clip_free(small);
    fa_clip_free(away);
    fa_clip_free(lies);
}

// --- walks --------------------------------------------------------------------------------------------------------

// In every tile of a sheet the head is as large as in a still, and in its middle.
static void a_walk_is_followed(void **state) {
    (void)state;
    static const char *const names[] = {"plain", "body", "z_up"};
    for (int i = 0; i < FA_COUNT(names); i++) {
        FaRig *rig = animal(names[i]);
        FaClip *clip = walk(9, 0, false, 3);
        FaRenderJob job = fa_render_job();
        job.world = true;
        job.picture = FA_PICTURE_FRAMES;
        job.tiles = job.columns = 9;
        FaImage im = draw(rig, clip, job, "walk.png");
        int gap = (im.width - 9 * SIZE) / 10;
        for (int f = 0; f < 9; f++) {
            Seen s = look_at(&im, gap + f * (SIZE + gap), gap, SIZE);
            if (f % 4 == 0) print_message("%-6s frame %d: %.2f, middle %.2f\n", names[i], f, s.share, s.middle);
            assert_true(s.share > 0.2 && s.share < 0.8);
            CHECK_NEAR(s.middle, 0.5, 0.1);
        }
        fa_image_free(&im);
        fa_clip_free(clip);
        fa_rig_free(rig);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_of_a_body),           cmocka_unit_test(a_body_is_framed_as_its_head_is),
        cmocka_unit_test(the_face_looks_at_the_camera), cmocka_unit_test(turns_are_found),
        cmocka_unit_test(a_walk_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
