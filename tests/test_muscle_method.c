// The shapes of a rig as muscles make them, and clips played with them: resumed builds and threads give the same bytes,
// sculpts are met, half a weight is about half of the way, rest is rest to the bit.
// labels: heavy
#include "base/file.h"
#include "face/face.h"
#include "fascia/muscle.h"
#include "math/mat3.h"
#include "muscle/blendmuscle.h"

#include "test.h"

static FaHead *head;
static FaRig *rig;
static FaFace *face; // with muscles of five shapes
static FaMuscleModel *model;
static unsigned char wanted[64];
static int left, funnel, open_jaw, brow, look; // shapes
static float *weights, *x, *linear;
static size_t bytes;

static int shape_named(const char *name) {
    for (int s = 0; s < rig->nshape; s++)
        if (!strcmp(rig->shape[s].name, name)) return s;
    fail_msg("no shape %s", name);
    return -1;
}

static FaFace *small_face(void) {
    FaError err = {0};
    FaFace *f;
    const FaFaceOptions o = {.layers = 1, .simulate_vertices = 500};
    CHECK_OK(fa_face_build(rig, &o, &f, &err), &err);
    return f;
}

static int open_all(void **state) {
    (void)state;
    FaError err = {0};
    FaHeadParams p = fa_head_params_default();
    p.level = 0;
    CHECK_OK(fa_head_new(&p, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    assert_true(rig->nshape <= 64);
    left = shape_named("mouthSmileLeft"), funnel = shape_named("mouthFunnel"), open_jaw = shape_named("jawOpen");
    brow = shape_named("browOuterUpRight"), look = shape_named("eyeLookUpLeft");
    wanted[left] = wanted[funnel] = wanted[open_jaw] = wanted[brow] = wanted[look] = 1;
    face = small_face();
    CHECK_OK(fa_muscle_open(rig, face, &(FaMuscleOptions){.flesh_size = 500}, &model, &err), &err);
    bytes = 3 * (size_t)rig->mesh.nvert * sizeof(float);
    weights = calloc((size_t)rig->nshape + 1, sizeof *weights);
    x = malloc(bytes), linear = malloc(bytes);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    free(weights);
    free(x);
    free(linear);
    fa_muscle_close(model);
    fa_face_free(face);
    fa_rig_free(rig);
    fa_head_free(head);
    return 0;
}

// --- making -------------------------------------------------------------------------------------------------------

static bool stop_after_one(void *user, const char *stage, double done) {
    (void)user;
    return strcmp(stage, "shapes") != 0 || done < 0.3;
}

static void remake(FaFace *to, const FaMuscleShapesOptions *o, FaCode want, FaMuscleShapesReport *r) {
    FaError err = {0};
    FaMuscleModel *m;
    CHECK_OK(fa_muscle_open(rig, to, &(FaMuscleOptions){.flesh_size = 500}, &m, &err), &err);
    FaCode rc = fa_muscle_shapes(m, to, o, r, &err);
    if (rc != want) CHECK_OK(rc, &err);
    assert_int_equal(rc, want);
    fa_muscle_close(m);
}

// Stopped, gone on with another number of threads, and on a damaged file: always the same bytes.
static void test_made_again(void **state) {
    (void)state;
    FaError err = {0};
    FaMuscleShapesReport r;
    const char *part = test_path("shapes.part");
    const int before = fa_threads();
    unsigned char some[64] = {0}; // quick ones
    some[brow] = some[look] = some[left] = 1;
    FaMuscleShapesOptions o = {.wanted = some};
    fa_threads_set(1);
    CHECK_OK(fa_muscle_shapes(model, face, &o, &r, &err), &err);
    assert_int_equal(r.shapes, 3);
    assert_int_equal(r.made, 3);

    FaFace *other = small_face();
    o.partial = part, o.progress = stop_after_one;
    remake(other, &o, FA_E_CANCELLED, &r);
    assert_true(other->shapes_size == 0);
    fa_inputs_protect(true); // as the program does: the partial file is read, and written again
    fa_threads_set(3);
    o.progress = NULL;
    remake(other, &o, FA_OK, &r);
    assert_int_equal(r.made, 2);
    assert_int_equal(r.shapes, 3);
    assert_int_equal(other->shapes_size, face->shapes_size);
    assert_memory_equal(other->shapes, face->shapes, face->shapes_size);

    unsigned char byte;
    FILE *file = fopen(part, "r+b");
    assert_non_null(file);
    fseek(file, 3000, SEEK_SET);
    assert_true(fread(&byte, 1, 1, file) == 1);
    fseek(file, 3000, SEEK_SET);
    byte ^= 1;
    fwrite(&byte, 1, 1, file);
    fclose(file);
    other->shapes_size = 0;
    remake(other, &o, FA_OK, &r);
    assert_int_equal(r.made, 3);
    assert_memory_equal(other->shapes, face->shapes, face->shapes_size);
    fa_inputs_protect(false);
    fa_face_free(other);
    fa_threads_set(before);
}

// More shapes into a face that has some: those stay.
static void test_more(void **state) {
    (void)state;
    FaError err = {0};
    FaMuscleShapesReport r;
    CHECK_OK(fa_muscle_shapes(model, face, &(FaMuscleShapesOptions){.wanted = wanted}, &r, &err), &err);
    print_message("%d shapes more in %.1f s: rms %.2f mm at rest, %.2f in the end; worst %s\n", r.made, r.seconds,
                  1e3 * r.neutral, 1e3 * r.rms, r.worst);
    assert_int_equal(r.shapes, 5);
    assert_int_equal(r.made, 2);
    assert_true(r.rms < 0.6 * r.neutral);
}

// In the file of the face, and back; a face of other muscles does not take them.
static void test_kept(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *back;
    FaMuscleModel *m;
    unsigned char kept[64];
    const char *path = test_path("shapes.face");
    CHECK_OK(fa_face_save(face, path, &err), &err);
    CHECK_OK(fa_face_load(path, &back, &err), &err);
    CHECK_OK(fa_muscle_open(rig, back, NULL, &m, &err), &err);
    CHECK_OK(fa_muscle_shapes_kept(m, back, kept, &err), &err);
    for (int s = 0; s < rig->nshape; s++) assert_int_equal(kept[s], wanted[s]);
    fa_muscle_close(m);
    CHECK_OK(fa_muscle_open(rig, back, &(FaMuscleOptions){.flesh_size = 700}, &m, &err), &err);
    CHECK_OK(fa_muscle_shapes_kept(m, back, kept, &err), &err);
    for (int s = 0; s < rig->nshape; s++) assert_int_equal(kept[s], 0);
    fa_muscle_close(m);
    fa_face_free(back);
}

// Bytes with any number wrong, sums made right: no crash, and what is taken is sound.
static void test_odd_bytes(void **state) {
    (void)state;
    FaError err = {0};
    FaMuscleDirector *d;
    FaBlendMuscles b;
    CHECK_OK(fai_muscle_director(model, &d, &err), &err);
    unsigned char *data = malloc(face->shapes_size);
    int refused = 0;
    for (int i = 0; i < 200; i++) {
        uint64_t top[4];
        memcpy(data, face->shapes, face->shapes_size);
        const size_t at = 48 + (size_t)(fai_random_unit(3, (uint64_t)i) * 700);
        data[at] ^= (unsigned char)(1 << (i % 8));
        memcpy(top, data, sizeof top);
        top[3] = fai_hash64(data + 32, face->shapes_size - 32, top[1]);
        memcpy(data, top, sizeof top);
        CHECK_OK(fai_blend_muscles_new(d, &b, &err), &err);
        refused += fai_blend_muscles_unpack(&b, data, face->shapes_size, &err) < 5;
        fai_blend_muscles_free(&b);
    }
    CHECK_OK(fai_blend_muscles_new(d, &b, &err), &err);
    for (size_t n = 0; n < face->shapes_size; n += 997)
        assert_int_equal(fai_blend_muscles_unpack(&b, face->shapes, n, &err), 0);
    fai_blend_muscles_free(&b);
    print_message("%d of 200 with one bit wrong lost shapes\n", refused);
    free(data);
}

// --- playing ------------------------------------------------------------------------------------------------------

static FaMethod *open_playing(const char *name, const char *value) {
    FaError err = {0};
    FaMethod *m;
    FaParams *params;
    CHECK_OK(fa_params_new("muscle", &params, &err), &err);
    if (name) CHECK_OK(fa_params_set(params, name, value, &err), &err);
    CHECK_OK(fa_method_open("muscle", &(FaMethodSetup){.rig = rig, .face = face, .params = params}, &m, &err), &err);
    fa_params_free(params);
    return m;
}

static void step_to(FaMethod *m, double time) {
    FaError err = {0};
    CHECK_OK(fa_method_step(m, &(FaInput){.time = time, .weights = weights}, x, NULL, &err), &err);
    fa_rig_blend(rig, weights, linear);
}

// From the neutral to a pose of one shape in ten frames, then there.
static void go_to(FaMethod *m, double *time, int shape, float from, float to) {
    for (int f = 1; f <= 10; f++) {
        weights[shape] = from + (to - from) * (float)f / 10;
        step_to(m, *time += 1 / 30.0);
    }
}

static double farthest(const float *a, const float *b) {
    double far = 0;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        double p[3], q[3];
        fai_v3_load(a, v, p), fai_v3_load(b, v, q);
        fai_v3_sub(p, q, p);
        far = fmax(far, fai_v3_norm(p));
    }
    return far;
}

// The part of the shape's way that x has gone, by least squares.
static double way_gone(const float *at, int shape) {
    double along = 0, all = 0;
    const FaShape *s = &rig->shape[shape];
    for (int e = s->first; e < s->first + s->count; e++)
        for (int k = 0; k < 3; k++) {
            size_t v = 3 * (size_t)rig->row[e] + (size_t)k;
            double d = (double)rig->delta[3 * e + k];
            along += d * ((double)at[v] - (double)rig->mesh.x[v]);
            all += d * d;
        }
    return along / all;
}

static void test_sculpts_are_met(void **state) {
    (void)state;
    const int shape[] = {left, funnel, open_jaw, brow};
    FaMethod *m = open_playing(NULL, NULL), *flesh = open_playing("snap", "0");
    double time = 0, other = 0;
    memset(weights, 0, (size_t)rig->nshape * sizeof *weights);
    step_to(m, 0), step_to(flesh, 0);
    for (int i = 0; i < FA_COUNT(shape); i++) {
        go_to(m, &time, shape[i], 0, 0.5f);
        double half = way_gone(x, shape[i]);
        go_to(m, &time, shape[i], 0.5f, 1);
        double all = way_gone(x, shape[i]), off = farthest(x, linear);
        go_to(m, &time, shape[i], 1, 0);
        assert_memory_equal(x, rig->mesh.x, bytes); // the neutral, to the bit
        go_to(flesh, &other, shape[i], 0, 1);
        double alone = way_gone(x, shape[i]);
        go_to(flesh, &other, shape[i], 1, 0);
        print_message("%-18s at 0.5 %.3f of the way, at 1 %.3f, %.3f mm off; flesh alone %.3f\n",
                      rig->shape[shape[i]].name, half, all, 1e3 * off, alone);
        assert_true(half > 0.42 && half < 0.62);
        assert_true(fabs(all - 1) < 0.02 && off < 1e-3);
        assert_true(alone > 0.5 && alone < 1.2);
    }
    fa_method_close(m);
    fa_method_close(flesh);
}

// Shapes without muscles, and weights that no muscle makes, are added as they are; a face without any is refused.
static void test_without_muscles(void **state) {
    (void)state;
    FaError err = {0};
    FaMethod *m = open_playing(NULL, NULL), *none = NULL;
    const FaNotes *notes = fa_method_notes(m);
    assert_int_equal(notes->count, 1);
    assert_string_equal(notes->note[0].code, "muscle-shapes-missing");
    memset(weights, 0, (size_t)rig->nshape * sizeof *weights);
    weights[shape_named("cheekPuff")] = 0.7f;
    step_to(m, 0);
    assert_true(farthest(x, linear) < 1e-7);
    memset(weights, 0, (size_t)rig->nshape * sizeof *weights);
    fa_method_close(m);
    FaFace *plain = small_face();
    assert_int_equal(fa_method_open("muscle", &(FaMethodSetup){.rig = rig, .face = plain}, &none, &err), FA_E_ARG);
    assert_non_null(strstr(err.remedy, "--shapes"));
    assert_null(none);
    fa_face_free(plain);
}

static void write_edits(const char *path, const char *text) {
    CHECK_OK(fai_file_write(path, text, strlen(text), &(FaError){0}), &(FaError){0});
}

static FaCode try_edits(const char *path, FaError *err) {
    FaMethod *m = NULL;
    FaParams *params;
    CHECK_OK(fa_params_new("muscle", &params, err), err);
    CHECK_OK(fa_params_set(params, "edits", path, err), err);
    FaCode rc = fa_method_open("muscle", &(FaMethodSetup){.rig = rig, .face = face, .params = params}, &m, err);
    fa_method_close(m);
    fa_params_free(params);
    return rc;
}

// Edits act in their frames, ease in and out, also where all weights are 0; before them nothing changes by a bit, and
// a state that is loaded in the middle goes on to the same bits.
static void test_clip_edits(void **state) {
    (void)state;
    FaError err = {0};
    const char *path = test_path("clip_edits.json");
    write_edits(path,
                "{\"fps\":30,\"edits\":[{\"muscle\":\"zyg_maj.L\",\"move\":{\"up\":6,\"lateral\":4},\"around\":25,"
                "\"frames\":[6,9],\"ease\":3},{\"muscle\":\"frontalis*\",\"activation\":0.5,\"frames\":[6,9],"
                "\"ease\":0}]}");
    FaMethod *plain = open_playing(NULL, NULL), *m = open_playing("edits", path);
    float *with = malloc(bytes);
    unsigned char *kept = malloc(fa_method_state_size(m));
    double off[16];
    memset(weights, 0, (size_t)rig->nshape * sizeof *weights);
    for (int f = 0; f < 15; f++) {
        weights[left] = f < 12 ? 0.04f * (float)f : 0;
        step_to(m, f / 30.0);
        memcpy(with, x, bytes);
        if (f == 7) fa_method_save(m, kept);
        step_to(plain, f / 30.0);
        off[f] = farthest(with, x);
    }
    print_message("edited frames: %.2f %.2f %.2f mm off, before %.2f, after %.2f\n", 1e3 * off[5], 1e3 * off[7],
                  1e3 * off[9], 1e3 * off[3], 1e3 * off[14]);
    assert_true(off[0] == 0 && off[3] == 0 && off[4] > 1e-4 && off[4] < off[5] && off[5] < off[7]);
    assert_true(off[7] > 1.5e-3 && off[9] > 1.5e-3 && off[10] < off[9] && off[14] == 0);
    weights[left] = 0.04f * 8;
    CHECK_OK(fa_method_load(m, kept, fa_method_state_size(m), &err), &err);
    step_to(m, 8 / 30.0);
    memcpy(with, x, bytes);
    CHECK_OK(fa_method_load(m, kept, fa_method_state_size(m), &err), &err);
    step_to(m, 8 / 30.0);
    assert_memory_equal(with, x, bytes);
    fa_method_close(m);
    fa_method_close(plain);
    free(with);
    free(kept);
    memset(weights, 0, (size_t)rig->nshape * sizeof *weights);

    static const char *const wrong[][2] = {
        {"{\"edits\":[{\"jaw\":{\"open\":6}}]}", "the jaw is an edit of a pose"},
        {"{\"edits\":[{\"muscle\":\"*\",\"retime\":[[0,0],[1,1]]}]}", "retiming is an edit"},
        {"{\"edits\":[{\"muscle\":\"dao\",\"activation\":\"length\"}]}", "by length"},
        {"{\"edits\":[{\"muscle\":\"dao\",\"move\":{\"up\":1},\"key\":0.5}]}", "a key"},
        {"{\"spring\":1e10,\"edits\":[]}", "one spring"},
        {"{\"edits\":[{\"muscle\":\"biceps\",\"activation\":0.5}]}", "no muscle 'biceps'"}};
    for (int i = 0; i < FA_COUNT(wrong); i++) {
        write_edits(path, wrong[i][0]);
        err = (FaError){0};
        assert_true(try_edits(path, &err) < 0);
        if (!strstr(err.what, wrong[i][1])) fail_msg("%s: %s", wrong[i][0], err.what);
    }
}

// --- in time ------------------------------------------------------------------------------------------------------

// A head that is shaken from side to side for 0.3 s, 40 mm at 5 Hz.
static FaPose shaken(double time) {
    FaPose pose = fai_pose_identity();
    if (time < 0.3)
        pose.p[0] = 0.02 * (1 - cos(2 * M_PI * 5 * time));
    else
        pose.p[0] = 0.04;
    return pose;
}

static void shake_to(FaMethod *m, double time, bool smile) {
    FaError err = {0};
    weights[left] = smile ? (float)fmin(time / 0.1, 0.6) : 0;
    const FaInput in = {.time = time, .weights = weights, .head = shaken(time)};
    CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
}

// Flesh with mass lags behind a shaken head and settles, where flesh without rests; the same bits for any number of
// threads, and from a state that was saved on the way.
static void test_swings(void **state) {
    (void)state;
    FaError err = {0};
    enum { FRAMES = 12, SAVED = 5 };
    const int before = fa_threads();
    FaMethod *still = open_playing(NULL, NULL), *m = open_playing("motion", "dynamic");
    float *rests = malloc(bytes), *at_end = malloc(bytes);
    double lag = 0, end = 0;
    void *saved = malloc(fa_method_state_size(m));
    memset(weights, 0, (size_t)rig->nshape * sizeof *weights);
    fa_threads_set(1);
    for (int f = 0; f <= FRAMES; f++) {
        shake_to(still, f / 30.0, true);
        memcpy(rests, x, bytes);
        shake_to(m, f / 30.0, true);
        lag = fmax(lag, farthest(x, rests));
        if (f == SAVED) fa_method_save(m, saved);
    }
    memcpy(at_end, x, bytes);
    fa_threads_set(3);
    CHECK_OK(fa_method_load(m, saved, fa_method_state_size(m), &err), &err);
    for (int f = SAVED + 1; f <= FRAMES; f++) shake_to(m, f / 30.0, true);
    assert_memory_equal(x, at_end, bytes);
    fa_method_close(m);
    m = open_playing("motion", "dynamic"); // from the beginning, three threads
    for (int f = 0; f <= FRAMES; f++) shake_to(m, f / 30.0, true);
    assert_memory_equal(x, at_end, bytes);
    for (int f = FRAMES + 1; f <= FRAMES + 30; f++) shake_to(m, f / 30.0, true);
    end = farthest(x, rests);
    print_message("a shaken head: %.2f mm behind at most, %.4f mm a second later\n", 1e3 * lag, 1e3 * end);
    assert_true(lag > 0.3e-3 && lag < 20e-3 && end < 0.05e-3);
    fa_threads_set(before);
    fa_method_close(still);
    fa_method_close(m);
    free(rests);
    free(at_end);
    free(saved);
}

// A pose that is held is in the end the one that flesh without mass has, also where tracks and contact pull hard.
static void test_settles(void **state) {
    (void)state;
    const int shape[] = {funnel, open_jaw};
    FaMethod *still = open_playing(NULL, NULL), *m = open_playing("motion", "dynamic");
    float *rests = malloc(bytes);
    double t = 0;
    bool good = true;
    memset(weights, 0, (size_t)rig->nshape * sizeof *weights);
    step_to(still, 0), step_to(m, 0);
    for (int i = 0; i < FA_COUNT(shape); i++) {
        double most = 0, end = 0;
        for (int f = 0; f < 20; f++) {
            weights[shape[i]] = (float)fmin(0.34 * (f + 1), 1); // in three frames
            step_to(still, t += 1 / 30.0);
            memcpy(rests, x, bytes);
            step_to(m, t);
            most = fmax(most, end = farthest(x, rests));
        }
        weights[shape[i]] = 0;
        print_message("%s: %.2f mm behind at most, %.4f mm in the end\n", rig->shape[shape[i]].name, 1e3 * most,
                      1e3 * end);
        good &= most > 0.02e-3 && most < 2e-3 && end < 0.15e-3; // how lips slide is decided by the tolerance
    }
    assert_true(good);
    fa_method_close(still);
    fa_method_close(m);
    free(rests);
}

// Nothing moves: the neutral, to the bit; so does what was shaken, in the end.
static void test_rests(void **state) {
    (void)state;
    FaMethod *m = open_playing("motion", "dynamic");
    memset(weights, 0, (size_t)rig->nshape * sizeof *weights);
    for (int f = 0; f < 5; f++) {
        step_to(m, f / 30.0);
        assert_memory_equal(x, rig->mesh.x, bytes);
    }
    double t = 5 / 30.0;
    for (int f = 5; f < 60; f++, t = f / 30.0) { shake_to(m, t, false); }
    assert_memory_equal(x, rig->mesh.x, bytes);
    fa_method_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_made_again),
                                       cmocka_unit_test(test_more),
                                       cmocka_unit_test(test_kept),
                                       cmocka_unit_test(test_odd_bytes),
                                       cmocka_unit_test(test_sculpts_are_met),
                                       cmocka_unit_test(test_without_muscles),
                                       cmocka_unit_test(test_clip_edits),
                                       cmocka_unit_test(test_swings),
                                       cmocka_unit_test(test_settles),
                                       cmocka_unit_test(test_rests)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
