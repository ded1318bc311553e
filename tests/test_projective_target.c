// A surface as the goal of flesh: the same as the rig's own where it is the rig's own, followed where it is another,
// same bits when frames are read again.
// labels: heavy
#include "test.h"

#include "fascia/head.h"
#include "fascia/projective.h"

enum { FRAMES = 24 };

typedef struct Bench {
    FaHead *head;
    FaRig *rig;
    FaFace *face;
    FaClip *clip;
    FaSequence *linear, *target;
    FaParams *params;
    FaMethod *method;
    int nan_at;  // vertex that is not a number in the target; -1: none
    double lift; // m along z, of all vertices in front
} Bench;

static FaCode read_target(void *user, int frame, float *x, FaError *err) {
    Bench *b = user;
    FaCode rc = fa_sequence_read(b->linear, frame, x, err);
    for (int v = 0; rc >= 0 && v < b->rig->mesh.nvert; v++)
        if (b->rig->mesh.x[3 * v + 2] > 0.06f) x[3 * v + 2] += (float)(b->lift * frame / FRAMES);
    if (b->nan_at >= 0) x[3 * b->nan_at] = NAN;
    return rc;
}

static void make(Bench *b) {
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    FaClip *whole;
    *b = (Bench){.nan_at = -1};
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &b->head, &err), &err);
    CHECK_OK(fa_head_rig(b->head, 0, &b->rig, &err), &err);
    CHECK_OK(fa_head_clip("talk", &whole, &err), &err);
    CHECK_OK(fa_clip_slice(whole, 60, 60 + FRAMES - 1, &b->clip, &err), &err);
    fa_clip_free(whole);
    CHECK_OK(fa_face_build(b->rig, NULL, &b->face, &err), &err);
    CHECK_OK(fa_sequence_of_clip(b->rig, b->clip, &b->linear, &err), &err);
    CHECK_OK(fa_sequence_custom(b->rig->mesh.nvert, FRAMES, 60, read_target, b, &b->target, &err), &err);
    CHECK_OK(fa_params_new("projective", &b->params, &err), &err);
    CHECK_OK(fa_params_set_number(b->params, "goal", 60, &err), &err);
    CHECK_OK(fa_params_set_number(b->params, "head", 0, &err), &err);
    CHECK_OK(fa_method_open("projective", &(FaMethodSetup){.rig = b->rig, .face = b->face, .params = b->params},
                            &b->method, &err),
             &err);
}

static void drop(Bench *b) {
    fa_method_close(b->method);
    fa_params_free(b->params);
    fa_sequence_close(b->target);
    fa_sequence_close(b->linear);
    fa_face_free(b->face);
    fa_clip_free(b->clip);
    fa_rig_free(b->rig);
    fa_head_free(b->head);
}

static float *frames_of(FaRun *run, int nvert) {
    FaError err = {0};
    float *x = malloc(sizeof *x * 3 * (size_t)nvert * FRAMES);
    assert_non_null(x);
    for (int f = 0; f < FRAMES; f++)
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x + 3 * (size_t)nvert * (size_t)f, &err), &err);
    return x;
}

static double apart(const float *a, const float *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

static void the_rigs_own(void **state) {
    (void)state;
    FaError err = {0};
    Bench b;
    FaRun *run;
    make(&b);
    size_t n = 3 * (size_t)b.rig->mesh.nvert * FRAMES;
    CHECK_OK(fa_run_new(b.method, b.clip, &run, &err), &err);
    float *plain = frames_of(run, b.rig->mesh.nvert);
    fa_run_free(run);
    CHECK_OK(fa_run_new_target(b.method, b.clip, b.target, &run, &err), &err);
    float *same = frames_of(run, b.rig->mesh.nvert);
    CHECK_NEAR(apart(plain, same, n), 0, 2e-5);
    // going back repeats the same bits
    float *again = malloc(sizeof *again * n / FRAMES);
    CHECK_OK(fa_sequence_read(fa_run_sequence(run), 7, again, &err), &err);
    assert_memory_equal(again, same + 7 * (n / FRAMES), sizeof *again * n / FRAMES);
    fa_run_free(run);
    free(again);
    free(plain);
    free(same);
    drop(&b);
}

static void another(void **state) {
    (void)state;
    FaError err = {0};
    Bench b;
    FaRun *run;
    make(&b);
    size_t n = 3 * (size_t)b.rig->mesh.nvert;
    b.lift = 0.004;
    CHECK_OK(fa_run_new_target(b.method, b.clip, b.target, &run, &err), &err);
    float *x = frames_of(run, b.rig->mesh.nvert), *want = malloc(sizeof *want * n),
          *linear = malloc(sizeof *linear * n);
    CHECK_OK(fa_sequence_read(b.target, FRAMES - 1, want, &err), &err);
    CHECK_OK(fa_sequence_read(b.linear, FRAMES - 1, linear, &err), &err);
    double miss = 0, moved = 0;
    int count = 0;
    for (size_t v = 0; v < n / 3; v++) {
        if (b.rig->mesh.x[3 * v + 2] <= 0.08f) continue;
        miss += fabs((double)x[n * (FRAMES - 1) + 3 * v + 2] - (double)want[3 * v + 2]);
        moved += fabs((double)linear[3 * v + 2] - (double)want[3 * v + 2]);
        count++;
    }
    print_message("lifted by %.2f mm, missed by %.3f mm\n", 1e3 * moved / count, 1e3 * miss / count);
    assert_true(count > 100 && moved / count > 3e-3 && miss < 0.1 * moved);
    fa_run_free(run);
    // a vertex that is no number stays where its goal was, and is counted
    b.nan_at = b.rig->row[0];
    CHECK_OK(fa_run_new_target(b.method, b.clip, b.target, &run, &err), &err);
    float *odd = frames_of(run, b.rig->mesh.nvert);
    for (size_t i = 0; i < n * FRAMES; i++) assert_true(isfinite(odd[i]));
    assert_true(fa_run_stats(run).clamped >= FRAMES - 1);
    fa_run_free(run);
    // a target of another length
    FaSequence *cut;
    CHECK_OK(fa_sequence_slice(b.target, 0, 3, &cut, &err), &err);
    assert_int_equal(fa_run_new_target(b.method, b.clip, cut, &run, &err), FA_E_ARG);
    assert_null(run);
    fa_sequence_close(cut);
    free(odd);
    free(x);
    free(want);
    free(linear);
    drop(&b);
}

// --- markers' flesh -----------------------------------------------------------------------------------------------

// All frames with these iterations (0: those of fa_projective_contact), on so many threads.
static float *contact_frames(Bench *b, int iterations, int threads) {
    FaError err = {0};
    FaParams *params;
    FaMethod *m;
    FaRun *run;
    fa_threads_set(threads);
    CHECK_OK(fa_params_new("projective", &params, &err), &err);
    if (iterations) CHECK_OK(fa_params_set_number(params, "iterations", iterations, &err), &err);
    CHECK_OK(fa_params_set_number(params, "friction", 0.2, &err), &err);
    CHECK_OK(fa_projective_contact(params, &err), &err);
    assert_true(fa_params_get(params, "goal") == 60 && fa_params_get(params, "sticky") == 0);
    assert_true(fa_params_get(params, "friction") == 0.2 &&
                fa_params_get(params, "iterations") == (iterations ? iterations : 1));
    CHECK_OK(fa_method_open("projective", &(FaMethodSetup){.rig = b->rig, .face = b->face, .params = params}, &m, &err),
             &err);
    CHECK_OK(fa_run_new_target(m, b->clip, b->target, &run, &err), &err);
    float *x = frames_of(run, b->rig->mesh.nvert);
    fa_run_free(run);
    fa_method_close(m);
    fa_params_free(params);
    fa_threads_set(0);
    return x;
}

// One step without local steps: the same bits on any number of threads, and near what many iterations find.
static void by_markers(void **state) {
    (void)state;
    Bench b;
    make(&b);
    size_t n = 3 * (size_t)b.rig->mesh.nvert * FRAMES;
    b.lift = 0.004;
    float *x = contact_frames(&b, 0, 1), *same = contact_frames(&b, 0, 8), *far = contact_frames(&b, 30, 0);
    assert_memory_equal(x, same, sizeof *x * n);
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += fabs((double)x[i] - (double)far[i]);
    print_message("one step and thirty: %.4f mm apart on average, %.3f mm at most\n", 1e3 * sum / (double)n,
                  1e3 * apart(x, far, n));
    assert_true(sum / (double)n < 5e-6 && apart(x, far, n) < 3e-4);
    free(x);
    free(same);
    free(far);
    drop(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_rigs_own), cmocka_unit_test(another),
                                       cmocka_unit_test(by_markers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
