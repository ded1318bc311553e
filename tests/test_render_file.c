// Pictures of animations: stills, sheets, films, and what is said when something is missing.
// labels: heavy
#include "test.h"
#include "test_rig_head.h"

#include "base/file.h"
#include "fascia/render.h"
#include "io/png.h"
#include "render/movie.h"
#include "render/subject.h"
#include "test_render_shapes.h"

#include <sys/stat.h>
#include <unistd.h>

static FaRig *rig;
static FaClip *clip;
static FaSequence *seq;

enum { FRAMES = 9 };

static int open_all(void **state) {
    (void)state;
    FaError err = {0};
    rig = head_rig(NULL);
    const char *names[] = {"jawOpen", "mouthSmileLeft"};
    CHECK_OK(fa_clip_new(FRAMES, 2, names, 30, &clip, &err), &err);
    for (int f = 0; f < FRAMES; f++)
        clip->weight[2 * f] = (float)f / (FRAMES - 1), clip->weight[2 * f + 1] = f % 2 ? 0.5f : 0;
    CHECK_OK(fa_sequence_of_clip(rig, clip, &seq, &err), &err);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    fa_sequence_close(seq);
    fa_clip_free(clip);
    fa_rig_free(rig);
    return 0;
}

static FaImage read_png(const char *path) {
    FaError err = {0};
    FaImage im;
    CHECK_OK(fai_png_read(path, &im.rgb, &im.width, &im.height, &err), &err);
    return im;
}

static FaRenderJob small(int size) {
    FaRenderJob job = fa_render_job();
    job.look.width = job.look.height = size;
    job.look.samples = 4;
    return job;
}

static void stills_show_their_frame(void **state) {
    (void)state;
    FaError err = {0};
    FaRenderJob job = small(80);
    const char *a = test_path("first.png"), *b = test_path("last.png");
    CHECK_OK(fa_render_file(seq, &job, a, &err), &err);
    job.frame = FRAMES - 1;
    CHECK_OK(fa_render_file(seq, &job, b, &err), &err);
    FaImage x = read_png(a), y = read_png(b);
    assert_int_equal(x.width, 80);
    assert_true(memcmp(x.rgb, y.rgb, 3 * 80 * 80) != 0);
    fa_image_free(&x);
    fa_image_free(&y);
    // how it was made stands in the file
    FaBytes bytes;
    CHECK_OK(fai_file_read(b, 0, &bytes, &err), &err);
    assert_non_null(memmem(bytes.data, bytes.size, "fascia " FA_VERSION_TEXT, strlen("fascia " FA_VERSION_TEXT)));
    assert_non_null(memmem(bytes.data, bytes.size, "frame 8", 7));
    fai_bytes_free(&bytes);
}

static void weights_show_in_place_of_a_frame(void **state) {
    (void)state;
    FaError err = {0};
    FaRenderJob job = small(64);
    float weights[HEAD_SHAPES] = {0};
    const char *a = test_path("w0.png"), *b = test_path("w1.png"), *c = test_path("w2.png");
    job.weights = weights;
    CHECK_OK(fa_render_file(seq, &job, a, &err), &err);
    weights[6] = 1;
    CHECK_OK(fa_render_file(seq, &job, b, &err), &err);
    job.weights = NULL;
    job.frame = FRAMES - 1; // jawOpen 1 as well
    CHECK_OK(fa_render_file(seq, &job, c, &err), &err);
    FaImage x = read_png(a), y = read_png(b), z = read_png(c);
    assert_true(memcmp(x.rgb, y.rgb, 3 * 64 * 64) != 0);
    assert_memory_equal(y.rgb, z.rgb, 3 * 64 * 64);
    fa_image_free(&x);
    fa_image_free(&y);
    fa_image_free(&z);
}

static void heat_maps_have_a_legend(void **state) {
    (void)state;
    FaError err = {0};
    FaRenderJob job = small(160);
    job.frame = FRAMES - 1;
    job.heat = true;
    const char *path = test_path("heat.png");
    CHECK_OK(fa_render_file(seq, &job, path, &err), &err);
    FaImage im = read_png(path);
    // the jaw is warm, the forehead grey
    const unsigned char *jaw = pixel(&im, 80, 120), *brow = pixel(&im, 80, 30);
    assert_true(abs(brow[0] - brow[2]) < 25);
    assert_true(abs(jaw[0] - jaw[2]) > 40);
    // red at the top of the bar, at the right
    int red = 0;
    for (int y = 40; y < 60; y++)
        for (int x = 120; x < 160; x++)
            red += pixel(&im, x, y)[0] > 2 * pixel(&im, x, y)[2] && pixel(&im, x, y)[0] > 120;
    assert_true(red > 10);
    fa_image_free(&im);
    // against itself there is no heat: all grey, no jaw to be seen
    FaSequence *same;
    CHECK_OK(fa_sequence_of_clip(rig, clip, &same, &err), &err);
    job.against = same;
    CHECK_OK(fa_render_file(seq, &job, path, &err), &err);
    im = read_png(path);
    jaw = pixel(&im, 80, 120);
    assert_true(abs(jaw[0] - jaw[2]) < 25);
    fa_image_free(&im);
    fa_sequence_close(same);
}

static void sheets_have_a_tile_each(void **state) {
    (void)state;
    FaError err = {0};
    FaRenderJob job = small(48);
    const char *path = test_path("sheet.png");
    const struct {
        FaPicture picture;
        int columns, tiles, rows;
    } cases[] = {{FA_PICTURE_SHAPES, 4, 0, 2},
                 {FA_PICTURE_FRAMES, 2, 6, 3},
                 {FA_PICTURE_VIEWS, 4, 0, 1},
                 {FA_PICTURE_TURNTABLE, 4, 0, 2}};
    for (int i = 0; i < FA_COUNT(cases); i++) {
        job.picture = cases[i].picture;
        job.columns = cases[i].columns;
        job.tiles = cases[i].tiles;
        job.look.caption = i ? NULL : "a title";
        CHECK_OK(fa_render_file(seq, &job, path, &err), &err);
        FaImage im = read_png(path);
        assert_int_equal(im.width / 48, cases[i].columns);
        assert_int_equal(im.height / 60, cases[i].rows); // tile and caption
        fa_image_free(&im);
    }
}

static void the_same_file_for_any_thread_count(void **state) {
    (void)state;
    FaError err = {0};
    FaRenderJob job = small(40);
    job.picture = FA_PICTURE_SHAPES;
    job.heat = true;
    FaBytes bytes[2];
    for (int i = 0; i < 2; i++) {
        fa_threads_set(i ? 5 : 1);
        CHECK_OK(fa_render_file(seq, &job, test_path("threads.png"), &err), &err);
        CHECK_OK(fai_file_read(test_path("threads.png"), 0, &bytes[i], &err), &err);
    }
    fa_threads_set(0);
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
    fai_bytes_free(&bytes[0]);
    fai_bytes_free(&bytes[1]);
}

static void films_play(void **state) {
    (void)state;
    if (!test_program("ffmpeg")) {
        print_message("ffmpeg is not installed\n");
        skip();
    }
    FaError err = {0};
    FaRenderJob job = small(31); // odd: padded to 32
    job.label = true;
    const char *mp4 = test_path("film.mp4"), *gif = test_path("film.gif");
    CHECK_OK(fa_render_file(seq, &job, mp4, &err), &err);
    CHECK_OK(fa_render_file(seq, &job, gif, &err), &err);
    FaBytes bytes;
    CHECK_OK(fai_file_read(mp4, 0, &bytes, &err), &err);
    assert_memory_equal(bytes.data + 4, "ftyp", 4);
    fai_bytes_free(&bytes);
    CHECK_OK(fai_file_read(gif, 0, &bytes, &err), &err);
    assert_memory_equal(bytes.data, "GIF89a", 6);
    fai_bytes_free(&bytes);
    // frames come back: the last one differs from the first
    if (test_program("ffprobe")) {
        const char *argv[] = {"ffprobe",
                              "-v",
                              "error",
                              "-count_frames",
                              "-select_streams",
                              "v",
                              "-show_entries",
                              "stream=nb_read_frames,width,height,pix_fmt",
                              "-of",
                              "csv=p=0",
                              mp4,
                              NULL};
        const char *out = test_path("probe.txt");
        assert_int_equal(test_run(argv, out), 0);
        CHECK_OK(fai_file_read(out, 0, &bytes, &err), &err);
        assert_non_null(strstr((char *)bytes.data, "32,32,yuv420p,9"));
        fai_bytes_free(&bytes);
    }
    // a rate above what GIF shows drops frames, never slows down
    CHECK_NEAR(fai_movie_rate("x.gif", 60), 25, 0);
    CHECK_NEAR(fai_movie_rate("x.mp4", 60), 60, 0);
}

static int files_beside(const char *prefix) {
    char **list = test_list(test_dir(), "");
    int n = 0;
    for (char **f = list; *f; f++) n += strstr(*f, prefix) != NULL;
    test_list_free(list);
    return n;
}

static void a_missing_ffmpeg_is_told(void **state) {
    (void)state;
    FaError err = {0};
    FaRenderJob job = small(16);
    char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
    setenv("PATH", test_dir(), 1);
    FaCode rc = fa_render_file(seq, &job, test_path("none.mp4"), &err);
    assert_int_equal(rc, FA_E_UNSUPPORTED);
    assert_non_null(strstr(err.remedy, "ffmpeg"));
    assert_int_equal(files_beside("none.mp4"), 0);
    // one that fails leaves the old film as it was, and its words are passed on
    const char *fake = test_path("ffmpeg");
    CHECK_OK(fai_file_write(fake, "#!/bin/sh\necho 'Unknown encoder libx264' >&2\nexit 1\n", 53, &(FaError){0}), NULL);
    chmod(fake, 0755);
    CHECK_OK(fai_file_write(test_path("old.mp4"), "old", 3, &(FaError){0}), NULL);
    err = (FaError){0};
    rc = fa_render_file(seq, &job, test_path("old.mp4"), &err);
    setenv("PATH", path, 1);
    assert_int_equal(rc, FA_E_FILE);
    assert_non_null(strstr(err.what, "Unknown encoder"));
    assert_non_null(strstr(err.remedy, "libx264"));
    assert_int_equal(files_beside("old.mp4"), 1);
    FaBytes bytes;
    CHECK_OK(fai_file_read(test_path("old.mp4"), 0, &bytes, &err), &err);
    assert_memory_equal(bytes.data, "old", 3);
    fai_bytes_free(&bytes);
    unlink(fake);
    free(path);
}

static bool stop_at_once(void *user, const char *stage, double done) {
    (void)user, (void)stage;
    return done < 0.3;
}

static void wrong_wishes_are_refused(void **state) {
    (void)state;
    const struct {
        const char *path;
        FaPicture picture;
        int frame, first;
        FaCode code;
    } bad[] = {{"a.jpg", FA_PICTURE_AUTO, 0, 0, FA_E_ARG},
               {"a.png", FA_PICTURE_MOVIE, 0, 0, FA_E_ARG},
               {"a.mp4", FA_PICTURE_SHAPES, 0, 0, FA_E_ARG},
               {"a.png", FA_PICTURE_STILL, FRAMES, 0, FA_E_ARG},
               {"a.png", FA_PICTURE_STILL, -1, 0, FA_E_ARG},
               {"a.mp4", FA_PICTURE_MOVIE, 0, FRAMES, FA_E_ARG},
               {"no/such/folder/a.png", FA_PICTURE_STILL, 0, 0, FA_E_FILE}};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        FaError err = {0};
        FaRenderJob job = small(16);
        job.picture = bad[i].picture, job.frame = bad[i].frame, job.first = bad[i].first;
        assert_int_equal(fa_render_file(seq, &job, test_path(bad[i].path), &err), bad[i].code);
        assert_true(err.what[0] != 0);
    }
    FaError err = {0};
    FaRenderJob job = small(16);
    job.picture = FA_PICTURE_SHAPES;
    job.progress = stop_at_once;
    assert_int_equal(fa_render_file(seq, &job, test_path("cancelled.png"), &err), FA_E_CANCELLED);
    assert_int_equal(files_beside("cancelled"), 0);
}

static void places_to_aim_at(void **state) {
    (void)state;
    double mouth[3], left[3], right[3];
    assert_true(fa_render_focus(rig, "mouth", mouth));
    assert_true(fa_render_focus(rig, "eye_left", left));
    assert_true(fa_render_focus(rig, "eye_right", right));
    assert_true(left[0] > 0.02 && right[0] < -0.02);
    assert_true(mouth[1] < left[1] - 0.04 && fabs(mouth[0]) < 0.005);
    assert_false(fa_render_focus(rig, "nose", mouth)); // no shape of this rig moves it
    assert_false(fa_render_focus(rig, "elbow", mouth));
}

static void names_tell_materials(void **state) {
    (void)state;
    const struct {
        const char *name;
        int material;
    } cases[] = {{"Eye_L", FA_RENDER_EYE},         {"eyelashes", FA_RENDER_HIDDEN},
                 {"EyeLid", FA_RENDER_SKIN},       {"teeth_upper", FA_RENDER_TEETH},
                 {"Tongue", FA_RENDER_MOUTH},      {"mandible", FA_RENDER_BONE},
                 {"Head_Skin", FA_RENDER_SKIN},    {"lambert5", -1},
                 {"mouth socket", FA_RENDER_SKIN}, {"", -1},
                 {"Eye Brow", FA_RENDER_OTHER},    {"skull", FA_RENDER_BONE}};
    for (int i = 0; i < FA_COUNT(cases); i++) assert_int_equal(fai_material_of_name(cases[i].name), cases[i].material);
}

// A head with eyeballs, teeth and a shell before each eye, all in one mesh without names.
static void forms_tell_materials(void **state) {
    (void)state;
    FaArena *arena = fai_arena_new(0);
    const double at[][3] = {
        {0, 0, 0},       {0.032, 0.03, 0.08}, {-0.032, 0.03, 0.08}, {0.003, -0.04, 0.08}, {-0.006, -0.04, 0.08},
        {0, -0.04, 0.06}};
    const double radius[] = {0.1, 0.012, 0.012, 0.004, 0.004, 0.02};
    const int want[] = {FA_RENDER_SKIN,  FA_RENDER_EYE,   FA_RENDER_EYE,
                        FA_RENDER_TEETH, FA_RENDER_TEETH, FA_RENDER_MOUTH};
    FaMesh part[6], all = {0};
    for (int i = 0; i < 6; i++) {
        part[i] = make_ball(arena, radius[i], at[i], 10, 12);
        all.nvert += part[i].nvert;
        all.ntri += part[i].ntri;
    }
    // stretch the last, so that it is no ball
    for (int v = 0; v < part[5].nvert; v++) part[5].x[3 * v] *= 1.3f;
    all.x = FA_PUSH(arena, 3 * all.nvert, float);
    all.tri = FA_PUSH(arena, 3 * all.ntri, int);
    for (int i = 0, v = 0, t = 0; i < 6; i++) {
        memcpy(all.x + 3 * v, part[i].x, 3 * (size_t)part[i].nvert * sizeof(float));
        for (int k = 0; k < 3 * part[i].ntri; k++) all.tri[3 * t + k] = v + part[i].tri[k];
        v += part[i].nvert;
        t += part[i].ntri;
    }
    FaError err = {0};
    const double axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    unsigned char *material = FA_PUSH(arena, all.ntri, unsigned char);
    CHECK_OK(fai_material_guess(&all, axes, material, &err), &err);
    for (int i = 0, t = 0; i < 6; t += part[i].ntri, i++) assert_int_equal(material[t], want[i]);
    // without eyes nothing is guessed
    CHECK_OK(fai_material_guess(&part[0], axes, material, &err), &err);
    for (int t = 0; t < part[0].ntri; t++) assert_int_equal(material[t], FA_RENDER_SKIN);
    fai_arena_free(arena);
}

// The other meshes of a glTF file are drawn too, each in its place.
static void companions_are_drawn(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/facecap_decoded.glb");
    FaError err = {0};
    FaRig *face;
    FaSubject *s;
    FaRigOptions any = {.any_size = true};
    CHECK_OK(fa_rig_load(path, &any, &face, &err), &err);
    CHECK_OK(fai_subject_new(face, face->clip, false, &s, &err), &err);
    assert_int_equal(s->nparts, 4); // head, two eyes, teeth
    int eyes = 0, teeth = 0;
    float *x = FA_NEW(3 * face->mesh.nvert, float);
    memcpy(x, face->mesh.x, 3 * (size_t)face->mesh.nvert * sizeof(float));
    double lo[3], hi[3];
    for (int k = 0; k < 3; k++) lo[k] = 1e9, hi[k] = -1e9;
    for (int i = 0; i < 3 * face->mesh.nvert; i++)
        lo[i % 3] = FA_MIN(lo[i % 3], (double)x[i]), hi[i % 3] = FA_MAX(hi[i % 3], (double)x[i]);
    const double times[] = {NAN, 0, 3, 7}; // at rest, then driven by the file's own clip
    for (int t = 0; t < FA_COUNT(times); t++) {
        fai_subject_pose(s, x, times[t], NULL);
        for (int i = 1; i < s->nparts; i++)
            for (int v = 0; v < 3 * s->part[i].mesh->nvert; v++)
                assert_true(s->x[i][v] > lo[v % 3] && s->x[i][v] < hi[v % 3]); // inside the head
    }
    for (int i = 1; i < s->nparts; i++) {
        eyes += s->part[i].tri_material[0] == FA_RENDER_EYE;
        teeth += s->part[i].tri_material[0] == FA_RENDER_TEETH;
    }
    assert_int_equal(eyes, 2);
    assert_int_equal(teeth, 1);
    fa_free(x);
    fai_subject_free(s);
    CHECK_OK(fai_subject_new(face, NULL, true, &s, &err), &err);
    assert_int_equal(s->nparts, 1);
    fai_subject_free(s);
    fa_rig_free(face);
}

static void memory_runs_out(void **state) {
    (void)state;
    FaRenderJob job = small(8);
    job.look.samples = 1;
    job.picture = FA_PICTURE_VIEWS;
    job.heat = true;
    test_fail_alloc(0);
    long before = test_alloc_balance();
    for (long n = 1;; n++) {
        FaError err = {0};
        test_fail_alloc(n);
        FaCode rc = fa_render_file(seq, &job, test_path("memory.png"), &err);
        bool delivered = test_alloc_failed();
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), before);
        if (!delivered) {
            CHECK_OK(rc, &err);
            assert_true(n > 20);
            break;
        }
        if (rc < 0) assert_true(rc == FA_E_MEMORY || rc == FA_E_FORMAT);
    }
    assert_int_equal(files_beside("memory.png"), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stills_show_their_frame),
        cmocka_unit_test(weights_show_in_place_of_a_frame),
        cmocka_unit_test(heat_maps_have_a_legend),
        cmocka_unit_test(sheets_have_a_tile_each),
        cmocka_unit_test(the_same_file_for_any_thread_count),
        cmocka_unit_test(films_play),
        cmocka_unit_test(a_missing_ffmpeg_is_told),
        cmocka_unit_test(wrong_wishes_are_refused),
        cmocka_unit_test(places_to_aim_at),
        cmocka_unit_test(names_tell_materials),
        cmocka_unit_test(forms_tell_materials),
        cmocka_unit_test(companions_are_drawn),
        cmocka_unit_test(memory_runs_out),
    };
#if !defined(FA_HAVE_EMBREE) || !defined(FA_HAVE_SPNG)
    return 0;
#endif
    return cmocka_run_group_tests(tests, open_all, close_all);
}
