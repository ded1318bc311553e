// Sequences, sinks, and which reader or writer a path means.
// labels: unit hash
#include "test.h"

#include "base/base.h"
#include "base/file.h"
#include "base/number.h"
#include "io/decimal.h"
#include "io/fileset.h"
#include "io/sequence.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const FaRigOptions metres = {.unit = FA_UNIT_M, .up = FA_UP_Y, .any_size = true};

#define CUBE_V "v 0 0 0\nv 0.2 0 0\nv 0.2 0.2 0\nv 0 0.2 0\nv 0 0 0.2\nv 0.2 0 0.2\nv 0.2 0.2 0.2\nv 0 0.2 0.2\n"
#define CUBE_F "f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"
enum { NV = 8 };

static void write_in(const char *dir, const char *name, const char *text) {
    FaError err = {0};
    char *path = fai_path_join(dir, name);
    CHECK_OK(fai_file_write(path, text, strlen(text), &err), &err);
    fa_free(path);
}

// A cube with two shapes.
static FaRig *cube_rig(void) {
    const char *dir = test_path("cube");
    if (mkdir(dir, 0777) == 0) {
        write_in(dir, "neutral.obj", CUBE_V CUBE_F);
        write_in(
            dir, "jawOpen.obj",
            "v 0 -0.1 0\nv 0.2 -0.05 0\nv 0.2 0.2 0\nv 0 0.2 0\nv 0 0 0.2\nv 0.2 0 0.2\nv 0.2 0.2 0.2\nv 0 0.2 0.2\n");
        write_in(dir, "smile.obj",
                 "v 0 0 0\nv 0.2 0 0\nv 0.2 0.2 0\nv 0 0.2 0\nv 0 0 0.2\nv 0.2 0 0.2\nv 0.2 0.2 0.2\nv -0.1 0.3 0.2\n");
    }
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(dir, &metres, &rig, &err), &err);
    return rig;
}

static FaClip *jaw_clip(int nframe, double fps) {
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_new(nframe, 1, (const char *const[]){"JawOpen"}, fps, &clip, &err), &err);
    for (int f = 0; f < nframe; f++) clip->weight[f] = (float)f / (float)nframe;
    return clip;
}

// Frames that no shape explains.
static FaCode wobble(void *user, int frame, float *x, FaError *err) {
    (void)err;
    const FaRig *rig = user;
    for (int i = 0; i < 3 * NV; i++) x[i] = rig->mesh.x[i] + 0.003f * sinf(1.7f * (float)i + 0.9f * (float)frame);
    return FA_OK;
}

static void check_same(FaSequence *a, FaSequence *b, double tol) {
    assert_int_equal(fa_sequence_nvert(a), fa_sequence_nvert(b));
    assert_int_equal(fa_sequence_nframe(a), fa_sequence_nframe(b));
    FaError err = {0};
    float x[3 * NV], y[3 * NV];
    double moved = 0;
    for (int f = 0; f < fa_sequence_nframe(a); f++) {
        CHECK_OK(fa_sequence_read(a, f, x, &err), &err);
        CHECK_OK(fa_sequence_read(b, f, y, &err), &err);
        for (int i = 0; i < 3 * NV; i++) {
            CHECK_NEAR(x[i], y[i], tol);
            moved = fmax(moved, fabs(x[i]));
        }
    }
    assert_true(moved > 0);
}

static void ignore_log(void *user, const FaLogRec *rec) {
    (void)rec;
    if (user) ++*(int *)user;
}

// --- numbers ------------------------------------------------------------------------------------------------------

// Every float comes back, and no text is longer than need be.
static void test_decimal(void **state) {
    (void)state;
    char text[FA_NUMBER_SIZE], slow[FA_NUMBER_SIZE];
    long checked = 0;
    for (uint64_t i = 0; i < 400000; i++) {
        uint32_t bits = (uint32_t)(fai_random_u64(1, i) >> 32);
        if (i % 2) bits = 0x38000000u + (bits >> 3); // the sizes that coordinates have
        if (i % 16 == 1) bits &= 0xFF800000u;        // powers of two, where the interval is lopsided
        float v;
        memcpy(&v, &bits, 4);
        if (!isfinite(v)) continue;
        int n = fai_decimal_float(text, v);
        text[n] = 0;
        double back = 0;
        assert_ptr_equal(fai_parse_double(text, text + n, &back), text + n);
        if ((float)back != v || strtof(text, NULL) != v) {
            print_error("%a became %s\n", (double)v, text);
            fail();
        }
        if (i % 64 == 1 && fabsf(v) < 1e6f) assert_true(n <= fai_format_float(slow, v));
        checked++;
    }
    assert_true(checked > 300000);
}

// --- reading ------------------------------------------------------------------------------------------------------

static void test_of_clip(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = cube_rig();
    FaClip *clip = jaw_clip(5, 25);
    rig->weight[1] = 0.5f; // smile, which the clip does not drive, rests at a half
    FaSequence *seq;
    CHECK_OK(fa_sequence_of_clip(rig, clip, &seq, &err), &err);
    assert_int_equal(fa_sequence_nframe(seq), 5);
    CHECK_NEAR(fa_sequence_fps(seq), 25, 0);
    CHECK_NEAR(fa_sequence_time(seq, 3), 0.12, 1e-12);
    assert_ptr_equal(fa_sequence_rig(seq), rig);
    assert_ptr_equal(fa_sequence_clip(seq), clip);
    float x[3 * NV], expect[3 * NV], w[2] = {0.6f, 0.5f};
    CHECK_OK(fa_sequence_read(seq, 3, x, &err), &err);
    fa_rig_blend(rig, w, expect);
    for (int i = 0; i < 3 * NV; i++) CHECK_NEAR(x[i], expect[i], 1e-8);
    CHECK_NEAR(x[1], -0.06, 1e-7);
    assert_int_equal(fa_sequence_read(seq, 5, x, &err), FA_E_ARG);
    assert_string_equal(err.place, "frame 5");
    fa_sequence_close(seq);

    // no clip at all: one frame, at rest
    err = (FaError){0};
    CHECK_OK(fa_sequence_of_clip(rig, NULL, &seq, &err), &err);
    assert_int_equal(fa_sequence_nframe(seq), 1);
    CHECK_OK(fa_sequence_read(seq, 0, x, &err), &err);
    CHECK_NEAR(x[3 * 7], -0.05, 1e-7);
    fa_sequence_close(seq);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// A GLB with animation gives what an engine shows: neutral + sum of weight x target at each key.
static void test_open_glb(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/facecap_decoded.glb");
    FaError err = {0};
    FaSequence *seq;
    FaRigOptions o = {.any_size = true};
    CHECK_OK(fa_sequence_open(path, &o, &seq, &err), &err);
    const FaRig *rig = fa_sequence_rig(seq);
    const FaClip *clip = fa_sequence_clip(seq);
    assert_int_equal(fa_sequence_nframe(seq), 335);
    int n = 3 * rig->mesh.nvert, frame = 100, used = 0;
    float *x = malloc(sizeof(float) * (size_t)n);
    double *expect = malloc(sizeof(double) * (size_t)n), worst = 0;
    for (int i = 0; i < n; i++) expect[i] = rig->mesh.x[i];
    for (int s = 0; s < rig->nshape; s++) {
        double w = clip->weight[frame * clip->nchan + s];
        used += w != 0;
        for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++)
            for (int k = 0; k < 3; k++) expect[3 * rig->row[e] + k] += w * rig->delta[3 * e + k];
    }
    CHECK_OK(fa_sequence_read(seq, frame, x, &err), &err);
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - expect[i]));
    assert_true(used > 5);
    CHECK_NEAR(worst, 0, 3e-6); // the mesh is 2.8 units wide: a dozen roundings
    free(x);
    free(expect);
    fa_sequence_close(seq);
}

static void test_custom(void **state) {
    (void)state;
    FaError err = {0};
    FaSequence *seq;
    assert_int_equal(fa_sequence_custom(0, 1, 30, wobble, NULL, &seq, &err), FA_E_ARG);
    assert_int_equal(fa_sequence_custom(1, 0, 30, wobble, NULL, &seq, &err), FA_E_ARG);
    assert_int_equal(fa_sequence_custom(1, 1, NAN, wobble, NULL, &seq, &err), FA_E_ARG);
    assert_int_equal(fa_sequence_custom(1, 1, -1, wobble, NULL, &seq, &err), FA_E_ARG);
    err = (FaError){0};
    CHECK_OK(fa_sequence_custom(NV, 4, 0, wobble, NULL, &seq, &err), &err); // a rate that is not known
    double *time = fai_alloc_array(4, sizeof *time);
    for (int f = 0; f < 4; f++) time[f] = 0.5 * f * f;
    fai_sequence_own(seq, NULL, time);
    CHECK_NEAR(fa_sequence_time(seq, 3), 4.5, 0);
    fa_sequence_close(seq);
}

// --- every format -------------------------------------------------------------------------------------------------

static void test_caches(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = cube_rig();
    FaSequence *seq, *back;
    CHECK_OK(fa_sequence_custom(NV, 6, 60, wobble, rig, &seq, &err), &err);
    static const char *const names[] = {"s.pc2", "s.mdd", "s_frames", "s_###.obj"};
    for (int i = 0; i < FA_COUNT(names); i++) {
        const char *path = test_path(names[i]);
        CHECK_OK(fa_sequence_save(seq, path, &(FaSinkOptions){.rig = rig, .generator = "test"}, NULL, &err), &err);
        CHECK_OK(fa_sequence_open(path, NULL, &back, &err), &err);
        check_same(seq, back, 0); // exact
        CHECK_NEAR(fa_sequence_fps(back), i == 1 ? 60 : 0, 0);
        if (i >= 2) {
            assert_int_equal(fa_sequence_rig(back)->mesh.nface, 6);
            assert_null(fa_sequence_clip(back));
        } else
            assert_null(fa_sequence_rig(back));
        fa_sequence_close(back);
        // another unit is the user's to say
        CHECK_OK(fa_sequence_open(path, &(FaRigOptions){.unit = FA_UNIT_CM}, &back, &err), &err);
        float x[3 * NV], y[3 * NV];
        CHECK_OK(fa_sequence_read(back, 2, x, &err), &err);
        CHECK_OK(fa_sequence_read(seq, 2, y, &err), &err);
        CHECK_NEAR(x[4], 0.01 * y[4], 1e-9);
        fa_sequence_close(back);
    }
    fa_sequence_close(seq);
    fa_rig_free(rig);
}

// Times with gaps survive where a format has times; another rate stretches them.
static void test_times(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = cube_rig();
    FaClip *clip = jaw_clip(4, 30);
    clip->time[2] += 1 / 30.0, clip->time[3] += 1 / 30.0; // one frame was dropped
    FaSequence *seq, *back;
    CHECK_OK(fa_sequence_of_clip(rig, clip, &seq, &err), &err);
    const char *path = test_path("times.mdd");
    CHECK_OK(fa_sequence_save(seq, path, NULL, NULL, &err), &err);
    CHECK_OK(fa_sequence_open(path, NULL, &back, &err), &err);
    CHECK_NEAR(fa_sequence_time(back, 3), 4 / 30.0, 1e-7);
    fa_sequence_close(back);
    CHECK_OK(fa_sequence_save(seq, path, &(FaSinkOptions){.fps = 60}, NULL, &err), &err);
    CHECK_OK(fa_sequence_open(path, NULL, &back, &err), &err);
    CHECK_NEAR(fa_sequence_time(back, 3), 4 / 60.0, 1e-7);
    CHECK_NEAR(fa_sequence_fps(back), 60, 0);
    fa_sequence_close(back);
    fa_sequence_close(seq);

    // a rate that nothing knows: 30, with a word
    CHECK_OK(fa_sequence_custom(NV, 3, 0, wobble, rig, &seq, &err), &err);
    int said = 0;
    fa_log_set(ignore_log, &said);
    CHECK_OK(fa_sequence_save(seq, path, NULL, NULL, &err), &err);
    CHECK_OK(fa_sequence_save(seq, test_path("times.pc2"), NULL, NULL, &err), &err); // needs none
    fa_log_set(NULL, NULL);
    assert_int_equal(said, 1);
    CHECK_OK(fa_sequence_open(path, NULL, &back, &err), &err);
    CHECK_NEAR(fa_sequence_fps(back), 30, 0);
    fa_sequence_close(back);
    fa_sequence_close(seq);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// Frames outside the shapes' span, baked into morph targets: read back they are within the error that was asked for.
static void test_glb(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = cube_rig();
    FaSequence *seq, *back;
    CHECK_OK(fa_sequence_custom(NV, 12, 30, wobble, rig, &seq, &err), &err);
    const char *path = test_path("baked.glb");
    FaBakeReport report;
    CHECK_OK(fa_sequence_save(seq, path, &(FaSinkOptions){.rig = rig, .bake_error_mm = 0.01}, &report, &err), &err);
    assert_true(report.targets > 0 && report.max_mm <= 0.01 && report.bytes > 0);
    CHECK_OK(fa_sequence_open(path, &metres, &back, &err), &err);
    CHECK_NEAR(fa_sequence_fps(back), 30, 1e-9);
    check_same(seq, back, 1.01e-5);
    fa_sequence_close(back);

    // pushed one by one it is the same file
    FaBytes one, two;
    CHECK_OK(fai_file_read(path, 0, &one, &err), &err);
    FaSink *sink;
    CHECK_OK(fa_sink_open(path, NV, &(FaSinkOptions){.rig = rig, .fps = 30, .bake_error_mm = 0.01}, &sink, &err), &err);
    for (int f = 0; f < 12; f++) {
        float x[3 * NV];
        wobble(rig, f, x, &err);
        CHECK_OK(fa_sink_push(sink, x, &err), &err);
    }
    CHECK_OK(fa_sink_finish(sink, &report, &err), &err);
    CHECK_OK(fai_file_read(path, 0, &two, &err), &err);
    assert_int_equal(one.size, two.size);
    assert_memory_equal(one.data, two.data, one.size);
    fai_bytes_free(&one);
    fai_bytes_free(&two);
    fa_sequence_close(seq);
    fa_rig_free(rig);
}

// --- numbered files -----------------------------------------------------------------------------------------------

static int count_files(const char *dir) {
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return n;
}

static void test_numbered(void **state) {
    (void)state;
    FaError err = {0};
    FaSequence *seq;
    const char *dir = test_path("numbers");
    assert_int_equal(mkdir(dir, 0777), 0);
    static const char *const names[] = {"f9.obj", "f10.obj", "f11.obj"};
    for (int i = 0; i < 3; i++) {
        char text[500];
        snprintf(text, sizeof text, "v %d 0 0\nv 1 0 0\nv 0 1 0\n%s", i, i ? "" : "f 1 2 3\n");
        write_in(dir, names[i], text);
    }
    CHECK_OK(fa_sequence_open(dir, NULL, &seq, &err), &err); // 9, 10, 11: by number, not by letter
    float x[9];
    for (int f = 0; f < 3; f++) {
        CHECK_OK(fa_sequence_read(seq, f, x, &err), &err);
        CHECK_NEAR(x[0], f, 0);
    }
    fa_sequence_close(seq);
    // a frame that does not fit is named when it is read
    write_in(dir, "f11.obj", "v 0 0 0\n");
    CHECK_OK(fa_sequence_open(dir, NULL, &seq, &err), &err);
    assert_int_equal(fa_sequence_read(seq, 2, x, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.path, "f11.obj"));
    assert_non_null(strstr(err.what, "1 vertices, the first frame has 3"));
    fa_sequence_close(seq);
    // a gap
    err = (FaError){0};
    write_in(dir, "f14.obj", "v 0 0 0\n");
    assert_int_equal(fa_sequence_open(dir, NULL, &seq, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "f11.obj is followed by f14.obj"));
    // nothing there
    err = (FaError){0};
    assert_int_equal(fa_sequence_open(test_path("none_##.obj"), NULL, &seq, &err), FA_E_FILE);
    assert_null(seq);
}

static void test_obj_names(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = cube_rig();
    const char *dir = test_path("out");
    char path[4300];
    FaSinkOptions o = {.rig = rig};
    FaSequence *seq;
    // a folder that does not exist appears whole; its name needs no slash
    CHECK_OK(fa_sequence_custom(NV, 3, 30, wobble, rig, &seq, &err), &err);
    CHECK_OK(fa_sequence_save(seq, dir, &o, NULL, &err), &err);
    assert_int_equal(count_files(dir), 3);
    snprintf(path, sizeof path, "%s/frame_0002.obj", dir);
    assert_true(fai_file_exists(path));
    // name.obj is that file for one frame, and numbered for more
    snprintf(path, sizeof path, "%s/many.obj", dir);
    CHECK_OK(fa_sequence_save(seq, path, &o, NULL, &err), &err);
    snprintf(path, sizeof path, "%s/many_0001.obj", dir);
    assert_true(fai_file_exists(path));
    fa_sequence_close(seq);
    CHECK_OK(fa_sequence_custom(NV, 1, 30, wobble, rig, &seq, &err), &err);
    snprintf(path, sizeof path, "%s/one.obj", dir);
    CHECK_OK(fa_sequence_save(seq, path, &o, NULL, &err), &err);
    assert_true(fai_file_exists(path));
    assert_int_equal(count_files(dir), 7);
    // a shorter run over a longer one leaves frames behind, and says so
    int said = 0;
    fa_log_set(ignore_log, &said);
    snprintf(path, sizeof path, "%s/many_####.obj", dir);
    CHECK_OK(fa_sequence_save(seq, path, &o, NULL, &err), &err);
    fa_log_set(NULL, NULL);
    assert_int_equal(said, 1);
    assert_int_equal(count_files(dir), 7);
    snprintf(path, sizeof path, "%s/a_##_b.obj", dir);
    assert_int_equal(fa_sequence_save(seq, path, &o, NULL, &err), FA_E_ARG);
    fa_sequence_close(seq);
    fa_rig_free(rig);
}

// --- sinks that must fail -----------------------------------------------------------------------------------------

static void check_sink(const char *name, int nvert, FaSinkOptions o, FaCode code, const char *words) {
    FaError err = {0};
    FaSink *sink;
    FaCode rc = fa_sink_open(test_path(name), nvert, &o, &sink, &err);
    assert_int_equal(rc, code);
    assert_null(sink);
    if (!strstr(err.what, words)) {
        print_error("'%s' does not say '%s'\n", err.what, words);
        fail();
    }
}

static void test_sink_refusals(void **state) {
    (void)state;
    FaRig *rig = cube_rig();
    check_sink("x.usda", NV, (FaSinkOptions){.fps = 30}, FA_E_ARG, "needs the faces");
    check_sink("x.glb", NV, (FaSinkOptions){.fps = 30}, FA_E_ARG, "needs the faces");
    check_sink("x_##.obj", NV, (FaSinkOptions){.fps = 30}, FA_E_ARG, "needs the faces");
    check_sink("x.pc2", 7, (FaSinkOptions){.rig = rig, .fps = 30}, FA_E_ARG, "7 vertices, the rig has 8");
    check_sink("x.pc2", 0, (FaSinkOptions){.fps = 30}, FA_E_ARG, "0 vertices");
    check_sink("x.mdd", NV, (FaSinkOptions){0}, FA_E_ARG, "rate");
    check_sink("x.mdd", NV, (FaSinkOptions){.fps = NAN}, FA_E_ARG, "rate");
    check_sink("x.pc2", NV, (FaSinkOptions){.fps = -1}, FA_E_ARG, "rate");
    check_sink("x.usda", NV, (FaSinkOptions){.rig = rig, .fps = INFINITY}, FA_E_ARG, "rate");
    check_sink("x.abc", NV, (FaSinkOptions){.rig = rig, .fps = 30}, FA_E_UNSUPPORTED, ".abc");

    // what is not finite is named; what was begun leaves nothing behind
    int files = count_files(test_dir());
    static const char *const names[] = {"x.pc2", "x.mdd", "x.usda", "x_####.obj", "x.glb"};
    for (int i = 0; i < FA_COUNT(names); i++) {
        FaError err = {0};
        FaSink *sink;
        float x[3 * NV];
        CHECK_OK(fa_sink_open(test_path(names[i]), NV, &(FaSinkOptions){.rig = rig, .fps = 30}, &sink, &err), &err);
        wobble(rig, 0, x, &err);
        CHECK_OK(fa_sink_push(sink, x, &err), &err);
        x[10] = NAN;
        assert_int_equal(fa_sink_push(sink, x, &err), FA_E_NUMERIC);
        assert_string_equal(err.place, "frame 1, vertex 3");
        fa_sink_abandon(sink);
        err = (FaError){0};
        CHECK_OK(fa_sink_open(test_path(names[i]), NV, &(FaSinkOptions){.rig = rig, .fps = 30}, &sink, &err), &err);
        assert_int_equal(fa_sink_finish(sink, NULL, &err), FA_E_ARG); // no frames
    }
    assert_int_equal(count_files(test_dir()), files);
    fa_rig_free(rig);
}

static bool stop_half_way(void *user, const char *stage, double done) {
    (void)user, (void)stage;
    return done < 0.5;
}

static void test_cancel(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = cube_rig();
    FaSequence *seq;
    CHECK_OK(fa_sequence_custom(NV, 10, 30, wobble, rig, &seq, &err), &err);
    const char *path = test_path("cancelled.pc2");
    FaSinkOptions o = {.progress = stop_half_way};
    assert_int_equal(fa_sequence_save(seq, path, &o, NULL, &err), FA_E_CANCELLED);
    assert_string_equal(err.what, "cancelled: no file is written");
    assert_string_equal(err.place, "write, 50 %");
    assert_false(fai_file_exists(path));
    fa_sequence_close(seq);
    fa_rig_free(rig);
}

// Killed at any moment, a writer leaves the old file or the new one.
static FaCode slow_wobble(void *user, int frame, float *x, FaError *err) {
    usleep(300);
    return wobble(user, frame, x, err);
}

static void test_kill(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = cube_rig();
    FaSequence *seq, *back;
    const char *path = test_path("killed.pc2");
    CHECK_OK(fa_sequence_custom(NV, 40, 30, slow_wobble, rig, &seq, &err), &err);
    CHECK_OK(fa_sequence_save(seq, path, NULL, NULL, &err), &err);
    int cut = 0;
    for (int i = 0; i < 20; i++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            for (;;)
                if (fa_sequence_save(seq, path, NULL, NULL, NULL) < 0) _exit(1);
        }
        usleep(1000 + 2300 * (useconds_t)i);
        kill(pid, SIGKILL);
        int status;
        waitpid(pid, &status, 0);
        cut += WIFSIGNALED(status);
        CHECK_OK(fa_sequence_open(path, NULL, &back, &err), &err);
        assert_int_equal(fa_sequence_nframe(back), 40);
        check_same(seq, back, 0);
        fa_sequence_close(back);
    }
    assert_int_equal(cut, 20);
    fa_sequence_close(seq);
    fa_rig_free(rig);
}

static void test_allocation_failure(void **state) {
    (void)state;
    FaRig *rig = cube_rig();
    FaClip *clip = jaw_clip(2, 25);
    fa_threads_set(1);
    test_fail_alloc(0);
    long before = test_alloc_balance();
    static const char *const names[] = {"m.pc2", "m.mdd", "m.usda", "m_##.obj"};
    for (int i = 0; i < FA_COUNT(names); i++) {
        bool done = false;
        const char *path = test_path(names[i]);
        for (long n = 1; n < 3000 && !done; n++) {
            FaError err = {0};
            FaSequence *seq = NULL, *back = NULL;
            test_fail_alloc(n);
            FaCode rc = fa_sequence_of_clip(rig, clip, &seq, &err);
            if (rc >= 0) rc = fa_sequence_save(seq, path, &(FaSinkOptions){.rig = rig}, NULL, &err);
            if (rc >= 0 && i != 2) rc = fa_sequence_open(path, &metres, &back, &err);
            float x[3 * NV];
            if (rc >= 0 && i != 2) rc = fa_sequence_read(back, 1, x, &err);
            done = !test_alloc_failed();
            test_fail_alloc(0);
            if (rc < 0 && rc != FA_E_MEMORY) CHECK_OK(rc, &err);
            fa_sequence_close(seq);
            fa_sequence_close(back);
            assert_int_equal(test_alloc_balance(), before);
        }
        assert_true(done);
    }
    fa_allocator_set(NULL);
    fa_threads_set(0);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// --- which reader -------------------------------------------------------------------------------------------------

static void check_refused(const char *name, const char *data, size_t size, FaCode code, const char *words) {
    const char *path = test_path(name);
    FaError err = {0};
    if (data) CHECK_OK(fai_file_write(path, data, size, &err), &err);
    FaRig *rig;
    FaCode rc = fa_rig_load(path, NULL, &rig, &err);
    assert_null(rig);
    if (rc != code || !(strstr(err.what, words) || strstr(err.remedy, words)) || !err.remedy[0] ||
        !strstr(err.path, name)) {
        char text[1200];
        fa_error_text(&err, text, sizeof text);
        print_error("%d: %s\n", rc, text);
        fail();
    }
}

static void test_rig_refusals(void **state) {
    (void)state;
    check_refused("missing.glb", NULL, 0, FA_E_FILE, "check the name");
    check_refused("empty.glb", "", 0, FA_E_FORMAT, "empty");
    check_refused("a.tar.xz",
                  "\xFD"
                  "7zXZ\0\0",
                  7, FA_E_UNSUPPORTED, "tar -xJf");
    check_refused("a.zip", "PK\x03\x04....", 8, FA_E_UNSUPPORTED, "unzip");
    check_refused("a.tgz", "\x1F\x8B\x08....", 7, FA_E_UNSUPPORTED, "unpack");
    check_refused("a.pc2", "POINTCACHE2\0\1\0\0\0", 16, FA_E_FORMAT, "point cache");
    check_refused("a.csv", "Timecode,BlendshapeCount\n", 25, FA_E_FORMAT, "clip");
    check_refused("a.usda", "#usda 1.0\n", 10, FA_E_UNSUPPORTED, ".glb");
    check_refused("a.docx", "hello", 5, FA_E_UNSUPPORTED, ".obj");
    check_refused("noext", "hello", 5, FA_E_UNSUPPORTED, ".glb");
    check_refused("a.gltf", "hello", 5, FA_E_FORMAT, "");
    check_refused("a.obj", "hello", 5, FA_E_FORMAT, "no vertices");
}

// A format that can be told by its first bytes is read under any name.
static void test_content(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = cube_rig(), *back;
    const char *glb = test_path("cube.glb");
    CHECK_OK(fa_rig_save(rig, NULL, glb, &err), &err);
    FaBytes b;
    CHECK_OK(fai_file_read(glb, 0, &b, &err), &err);
    static const char *const names[] = {"cube.bin", "cube", "cube.obj", "cube.fbx"};
    for (int i = 0; i < FA_COUNT(names); i++) {
        const char *path = i == 1 ? test_path("cube-glb") : test_path(names[i]);
        CHECK_OK(fai_file_write(path, b.data, b.size, &err), &err);
        CHECK_OK(fa_rig_load(path, &metres, &back, &err), &err);
        assert_int_equal(back->nshape, 2);
        fa_rig_free(back);
    }
    fai_bytes_free(&b);
    const char *text = "# a mesh\n" CUBE_V CUBE_F;
    CHECK_OK(fai_file_write(test_path("mesh.txt"), text, strlen(text), &err), &err);
    CHECK_OK(fa_rig_load(test_path("mesh.txt"), &metres, &back, &err), &err);
    assert_int_equal(back->mesh.nvert, NV);
    fa_rig_free(back);
    fa_rig_free(rig);
}

static void test_rig_save(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = cube_rig(), *back;
    static const char *const names[] = {"saved.glb", "saved.gltf", "saved-folder/"};
    for (int i = 0; i < FA_COUNT(names); i++) {
        const char *path = test_path(names[i]);
        CHECK_OK(fa_rig_save(rig, NULL, path, &err), &err);
        CHECK_OK(fa_rig_load(path, &metres, &back, &err), &err);
        assert_int_equal(back->nshape, 2);
        assert_string_equal(back->shape[1].name, "smile");
        float w[2] = {0.25f, 1}, x[3 * NV], y[3 * NV * 3];
        assert_true(back->mesh.nvert <= 3 * NV);
        fa_rig_blend(rig, w, x);
        fa_rig_blend(back, w, y);
        double far = 0, far_back = 0;
        for (int k = 0; k < 3 * NV; k++) far = fmax(far, fabs(x[k]));
        for (int k = 0; k < 3 * back->mesh.nvert; k++) far_back = fmax(far_back, fabs(y[k]));
        CHECK_NEAR(far_back, far, 1e-7);
        fa_rig_free(back);
    }
    assert_int_equal(fa_rig_save(rig, NULL, test_path("saved.pc2"), &err), FA_E_UNSUPPORTED);
    assert_non_null(strstr(err.remedy, ".glb"));
    fa_rig_free(rig);
}

static FaCode set_again(void *user, FaError *err) {
    FaFileSet *set;
    FA_TRY(fai_fileset_open(user, &set, err));
    FaCode rc = FA_OK;
    for (int i = 0; rc >= 0 && i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d.txt", i);
        rc = fai_fileset_add(set, name, "a", 1, err);
        if (rc >= 0) rc = fai_fileset_append(set, "b", 1, err);
    }
    if (rc >= 0) rc = fai_fileset_rename(set, 0, "first.txt", err);
    if (rc >= 0) return fai_fileset_finish(set, err);
    fai_fileset_abandon(set);
    return rc;
}

// A set in a folder that is new each time, and in one that is there: nothing is left but whole sets.
static void test_set_without_memory(void **state) {
    (void)state;
    char dir[4200];
    snprintf(dir, sizeof dir, "%s", test_path("sets"));
    for (int i = 0; i < 2; i++) {
        assert_true(test_starve(set_again, dir) > 10);
        assert_int_equal(count_files(dir), 20);
    }
}

// What a killed run left to be put in place, its list damaged: nothing is moved, whatever byte it is.
static void test_damaged_list(void **state) {
    (void)state;
    static const char names[] = "one.txt\0two.txt\0";
    char dir[4200], part[4300], list[4400], file[4400], victim[4300];
    unsigned char data[sizeof names + 8];
    const uint64_t sum = fai_hash64(names, sizeof names, 0);
    memcpy(data, names, sizeof names);
    memcpy(data + sizeof names, &sum, 8);
    snprintf(dir, sizeof dir, "%s", test_path("recovered"));
    snprintf(part, sizeof part, "%s/.part-abcdef", dir);
    snprintf(list, sizeof list, "%s/commit", part);
    snprintf(file, sizeof file, "%s/0", part);
    snprintf(victim, sizeof victim, "%s/one.txt", dir);
    assert_true(mkdir(dir, 0755) == 0 && mkdir(part, 0755) == 0);
    FaError err = {0};
    for (size_t i = 0; i < 8 * sizeof data; i++) {
        unsigned char bad[sizeof data];
        memcpy(bad, data, sizeof data);
        bad[i / 8] ^= (unsigned char)(1u << i % 8);
        CHECK_OK(fai_file_write(list, bad, sizeof bad, &err), &err);
        CHECK_OK(fai_file_write(file, "a", 1, &err), &err);
        fai_fileset_recover(dir);
        assert_true(fai_file_exists(file) && count_files(dir) == 1);
    }
    test_attack("bytes changed in a file that we read back", 8 * sizeof data);
    CHECK_OK(fai_file_write(list, data, sizeof data, &err), &err);
    fai_fileset_recover(dir);
    assert_true(fai_file_exists(victim) && !fai_file_exists(part));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimal),
        cmocka_unit_test(test_of_clip),
        cmocka_unit_test(test_open_glb),
        cmocka_unit_test(test_custom),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_numbered),
        cmocka_unit_test(test_obj_names),
        cmocka_unit_test(test_sink_refusals),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_kill),
        cmocka_unit_test(test_allocation_failure),
        cmocka_unit_test(test_set_without_memory),
        cmocka_unit_test(test_damaged_list),
        cmocka_unit_test(test_rig_refusals),
        cmocka_unit_test(test_glb),
        cmocka_unit_test(test_content),
        cmocka_unit_test(test_rig_save),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
