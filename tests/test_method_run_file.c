// Takes on disk: interrupted and continued to the same bytes, edited and made again only where it matters, damaged and
// refused.
// labels: heavy
#include "test.h"

#include "base/base.h"
#include "face/face.h"
#include "method/method.h"

typedef struct Scene {
    FaHead *head;
    FaRig *rig;
    FaClip *clip;
} Scene;

static int set_up(void **state) {
    FaError err = {0};
    Scene *s = calloc(1, sizeof *s);
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &s->head, &err), &err);
    CHECK_OK(fa_head_rig(s->head, 0, &s->rig, &err), &err);
    const char *names[] = {"mouthSmileLeft", "mouthSmileRight"};
    CHECK_OK(fa_clip_new(90, 2, names, 30, &s->clip, &err), &err);
    for (int f = 0; f < 90; f++)
        s->clip->weight[2 * f] = s->clip->weight[2 * f + 1] = (float)(0.3 + 0.3 * sin(0.3 * f));
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    Scene *s = *state;
    fa_clip_free(s->clip);
    fa_rig_free(s->rig);
    fa_head_free(s->head);
    free(s);
    return 0;
}

static FaMethod *open_method(const Scene *s, const char *name, double drag) {
    FaError err = {0};
    FaMethod *m;
    FaParams *params;
    CHECK_OK(fa_params_new(name, &params, &err), &err);
    if (drag > 0) CHECK_OK(fa_params_set_number(params, "drag", drag, &err), &err);
    if (!strcmp(name, "projective")) CHECK_OK(fa_params_set(params, "contact", "off", &err), &err);
    CHECK_OK(fa_method_open(name, &(FaMethodSetup){.rig = s->rig, .params = params}, &m, &err), &err);
    fa_params_free(params);
    return m;
}

static uint64_t hash_frames(FaSequence *seq, int nvert, int nframe) {
    float *x = malloc(3 * (size_t)nvert * sizeof *x);
    uint64_t h = 0;
    for (int f = 0; f < nframe; f++) {
        FaError err = {0};
        CHECK_OK(fa_sequence_read(seq, f, x, &err), &err);
        h = fai_hash64(x, 3 * (size_t)nvert * sizeof *x, h);
    }
    free(x);
    return h;
}

static bool stop_at(void *user, const char *stage, double done) {
    (void)stage;
    return done < *(double *)user;
}

// Stopped three times, the last time with half a record at the end: the frames are those of a run without a stop.
static void test_continue(void **state) {
    Scene *s = *state;
    FaError err = {0};
    const char *path = test_path("continued.take");
    FaMethod *m = open_method(s, "projective", 0);
    FaRun *run;
    CHECK_OK(fa_run_new(m, s->clip, &run, &err), &err);
    uint64_t want = hash_frames(fa_run_sequence(run), s->rig->mesh.nvert, 90);
    fa_run_free(run);
    FaRunFile *take = NULL;
    FaRunFileReport report;
    double stop[] = {0.1, 0.4, 0.77};
    for (int i = 0; i < 3; i++) {
        FaMethod *again = open_method(s, "projective", 0);
        FaRunFileOptions o = {.progress = stop_at, .progress_user = &stop[i]};
        err = (FaError){0};
        assert_int_equal(fa_run_file_open(again, s->clip, path, &o, &take, &report, &err), FA_E_CANCELLED);
        assert_non_null(strstr(err.what, "frames made so far are kept"));
        assert_null(take);
        fa_method_close(again);
    }
    err = (FaError){0};
    char part[4096];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "ab");
    assert_non_null(f);
    fwrite("FRAMhalf a record", 1, 17, f);
    fclose(f);
    FaMethod *last = open_method(s, "projective", 0);
    CHECK_OK(fa_run_file_open(last, s->clip, path, NULL, &take, &report, &err), &err);
    assert_true(report.continued_at >= 60 && report.made < 40 && report.made > 15);
    assert_true(hash_frames(fa_run_file_sequence(take), s->rig->mesh.nvert, 90) == want);
    fa_run_file_close(take);
    // and once more: nothing to do
    CHECK_OK(fa_run_file_open(last, s->clip, path, NULL, &take, &report, &err), &err);
    assert_int_equal(report.made, 0);
    assert_int_equal(report.kept, 90);
    assert_true(hash_frames(fa_run_file_sequence(take), s->rig->mesh.nvert, 90) == want);
    fa_run_file_close(take);
    fa_method_close(last);
    fa_method_close(m);
}

// One key changes: few frames are made, and they are those of a full run.
static void test_edit(void **state) {
    Scene *s = *state;
    FaError err = {0};
    const char *path = test_path("edited.take");
    FaMethod *m = open_method(s, "projective", 60);
    FaRunFile *take;
    FaRunFileReport report;
    FaRunFileOptions o = {.every = 5, .rejoin = 2e-7};
    FaParams *params;
    CHECK_OK(fa_params_new("projective", &params, &err), &err);
    CHECK_OK(fa_params_set_number(params, "drag", 60, &err), &err);
    o.params = params;
    CHECK_OK(fa_run_file_open(m, s->clip, path, &o, &take, &report, &err), &err);
    assert_int_equal(report.made, 90);
    fa_run_file_close(take);
    float was = s->clip->weight[2 * 30];
    s->clip->weight[2 * 30] += 0.2f;
    CHECK_OK(fa_run_file_open(m, s->clip, path, &o, &take, &report, &err), &err);
    print_message("edit at frame 30 of 90: %d made, rejoined at %d, gap %.2g m\n", report.made, report.rejoined_at,
                  report.gap);
    assert_int_equal(report.changed_at, 30);
    assert_true(report.rejoined_at > 30 && report.made < 60);
    FaRun *run;
    CHECK_OK(fa_run_new(m, s->clip, &run, &err), &err);
    size_t n = 3 * (size_t)s->rig->mesh.nvert;
    float *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    double worst = 0;
    for (int f = 0; f < 90; f++) {
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, a, &err), &err);
        CHECK_OK(fa_sequence_read(fa_run_file_sequence(take), f, b, &err), &err);
        for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    }
    assert_true(worst < 1e-6);
    free(a);
    free(b);
    fa_run_free(run);
    fa_run_file_close(take);
    // other parameters: nothing of it is used
    o.params = NULL;
    CHECK_OK(fa_run_file_open(m, s->clip, path, &o, &take, &report, &err), &err);
    assert_int_equal(report.made, 90);
    assert_true(strlen(report.fresh) > 0);
    fa_run_file_close(take);
    s->clip->weight[2 * 30] = was;
    fa_params_free(params);
    fa_method_close(m);
}

// A run belongs to its face: on one that differs in a single number nothing of it is used.
static void test_other_face(void **state) {
    Scene *s = *state;
    FaError err = {0};
    const char *path = test_path("face.take");
    const FaRunFileOptions o = {.count = 5};
    FaFace *face;
    CHECK_OK(fa_face_get(s->rig, FA_NEED_FACE, NULL, &face, &err), &err);
    for (int i = 0; i < 3; i++) {
        FaMethod *m;
        FaRunFile *take;
        FaRunFileReport report;
        if (i == 2) face->mass[7] *= 1.5f;
        CHECK_OK(fa_method_open("projective", &(FaMethodSetup){.rig = s->rig, .face = face}, &m, &err), &err);
        CHECK_OK(fa_run_file_open(m, s->clip, path, &o, &take, &report, &err), &err);
        assert_int_equal(report.made, i == 1 ? 0 : 5);
        fa_run_file_close(take);
        fa_method_close(m);
    }
    fa_face_free(face);
}

// A byte anywhere in the file: what comes after is made again, and the result is the same.
static void test_damage(void **state) {
    Scene *s = *state;
    FaError err = {0};
    const char *path = test_path("damaged.take");
    FaMethod *m = open_method(s, "linear", 0);
    FaRunFile *take;
    FaRunFileReport report;
    CHECK_OK(fa_run_file_open(m, s->clip, path, NULL, &take, &report, &err), &err);
    uint64_t want = hash_frames(fa_run_file_sequence(take), s->rig->mesh.nvert, 90);
    fa_run_file_close(take);
    FILE *f = fopen(path, "r+b");
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    fclose(f);
    for (int i = 0; i < 12; i++) {
        long at = i < 4 ? 7 + 13 * i : (long)(fai_random_unit(5, (uint64_t)i) * (double)size);
        f = fopen(path, "r+b");
        fseek(f, at, SEEK_SET);
        int c = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(c ^ 0x41, f);
        fclose(f);
        CHECK_OK(fa_run_file_open(m, s->clip, path, NULL, &take, &report, &err), &err);
        assert_true(report.made > 0);
        assert_true(hash_frames(fa_run_file_sequence(take), s->rig->mesh.nvert, 90) == want);
        fa_run_file_close(take);
    }
    fa_method_close(m);
}

static void test_memory(void **state) {
    Scene *s = *state;
    FaMethod *m = open_method(s, "linear", 0);
    long before = test_alloc_balance();
    for (long n = 1; n < 400; n++) {
        FaError err = {0};
        FaRunFile *take;
        remove(test_path("memory.take"));
        test_fail_alloc(n);
        FaCode rc = fa_run_file_open(m, s->clip, test_path("memory.take"), NULL, &take, NULL, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fa_run_file_close(take);
        assert_int_equal(test_alloc_balance(), before);
        if (!failed) break;
        assert_true(rc == FA_E_MEMORY || rc >= 0);
    }
    fa_method_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_continue), cmocka_unit_test(test_edit),   cmocka_unit_test(test_other_face),
        cmocka_unit_test(test_damage),   cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
