// Faces of filled flesh under drive and enrich: sound, kept in files, exact at rest, the same for any number of
// threads, and within the bounds that test_zoo.c has for layers. Rows are printed beside those of layers;
// docs/figures/face.md has them as a table. FASCIA_FULL=1: the rigs of that table, whole clips.
// labels: heavy
#include "test_face_tools.h"

#include "base/task.h"
#include "build/face_get.h"
#include "face/face_file.h"
#include "head/zoo.h"
#include "mesh/intersect.h"

static FaRig *head_rig(int level) {
    FaError err = {0};
    FaRig *rig;
    FaHead *head;
    FaHeadParams params = fa_head_params_default();
    params.level = level;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_save(head, NULL, true, NULL, test_path("head.glb"), &err), &err);
    fa_head_free(head);
    CHECK_OK(fa_rig_load(test_path("head.glb"), NULL, &rig, &err), &err);
    return rig;
}

// keep: a name below FASCIA_FACES, where faces stay if that is set, since volumes take minutes; NULL: never.
static FaFace *get_kept(const FaRig *rig, unsigned needs, bool filled, int size, int vertices, const char *keep) {
    FaError err = {0};
    FaFace *face;
    FaFaceOptions o = fa_face_options_for(needs);
    o.filled = filled, o.flesh_size = size;
    if (vertices) o.simulate_vertices = vertices;
    char file[4096];
    const char *folder = keep ? getenv("FASCIA_FACES") : NULL;
    if (folder) snprintf(file, sizeof file, "%s/%s.%s.face", folder, keep, filled ? "filled" : "layer");
    CHECK_OK(fa_face_get(rig, needs, &(FaFaceGet){.options = &o, .cache = folder ? file : NULL}, &face, &err), &err);
    CHECK_OK(fai_face_check(face, &err), &err);
    assert_int_equal(fai_face_filled(face), filled);
    return face;
}

static FaFace *get(const FaRig *rig, unsigned needs, bool filled, int size, int vertices) {
    return get_kept(rig, needs, filled, size, vertices, NULL);
}

// --- the face -------------------------------------------------------------------------------------------------------

static void sound(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(0);
    FaFace *face = get(rig, FA_NEED_FACE | FA_NEED_MATERIALS, true, 2500, 0), *back;
    int carried[FA_CARRIERS] = {0}, n;
    for (int i = 0; i < face->nnode; i++) carried[face->carrier[i]]++;
    print_message("%d nodes, %d of the skin, %d tets; free %d, skull %d, jaw %d\n", face->nnode, face->nskin,
                  face->ntet, carried[0], carried[1], carried[2]);
    assert_true(carried[1] > 100 && carried[2] > 20 && face->nskin > 1700);
    // the skin is that of the layers, and all mass goes with some of it
    double *column = malloc((size_t)face->nskin * sizeof *column), all = 0, sum = 0;
    CHECK_OK(fai_face_column_mass(face, column, &err), &err);
    for (int i = 0; i < face->nnode; i++) all += (double)face->mass[i];
    for (int i = 0; i < face->nskin; i++) {
        sum += column[i];
        assert_true(column[i] > 0);
        assert_memory_equal(face->x0 + 3 * (size_t)i, rig->mesh.x + 3 * (size_t)face->skin_vertex[i], 12);
    }
    CHECK_NEAR(sum / all, 1, 1e-9);
    free(column);
    // a file and back, the same bytes again
    unsigned char *a, *b;
    size_t na, nb;
    CHECK_OK(fa_face_save(face, test_path("filled.face"), &err), &err);
    CHECK_OK(fa_face_load(test_path("filled.face"), &back, &err), &err);
    assert_true(fai_face_hash(face) == fai_face_hash(back) && fai_face_filled(back));
    CHECK_OK(fai_face_pack(face, &a, &na, &err), &err);
    CHECK_OK(fai_face_pack(back, &b, &nb, &err), &err);
    assert_int_equal(na, nb);
    fa_free(a);
    fa_free(b);
    // a cache of layers is not taken for it, nor the other way round
    FaFaceOptions o = fa_face_options_default();
    FaFaceGot got;
    for (int i = 0; i < 4; i++) {
        FaFace *other;
        o.filled = i < 2, o.flesh_size = 2500;
        const FaFaceGet how = {.options = &o, .cache = test_path("cache.face"), .got = &got};
        CHECK_OK(fa_face_get(rig, FA_NEED_FACE, &how, &other, &err), &err);
        assert_int_equal(got.loaded != 0, i % 2);
        assert_int_equal(fai_face_filled(other), o.filled);
        fa_face_free(other);
    }
    // a method that is asked for it refuses layers
    FaMethod *m;
    FaParams *params;
    o.filled = false;
    CHECK_OK(fa_params_new("projective", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "flesh", "filled", &err), &err);
    FaFace *layers = get(rig, FA_NEED_FACE, false, 0, 0);
    assert_int_equal(
        fa_method_open("projective", &(FaMethodSetup){.rig = rig, .face = layers, .params = params}, &m, &err),
        FA_E_ARG);
    fa_params_free(params);
    fa_face_free(layers);
    // damage is told
    n = back->above[back->nnode - 1], back->above[back->nnode - 1] = back->nskin;
    assert_int_equal(fai_face_check(back, &err), FA_E_FORMAT);
    back->above[back->nnode - 1] = n, back->carrier[back->nnode - 1] = 3;
    assert_int_equal(fai_face_check(back, &err), FA_E_FORMAT);
    fa_face_free(back);
    fa_face_free(face);
    fa_rig_free(rig);
}

// --- playing --------------------------------------------------------------------------------------------------------

typedef struct Result {
    double lips, cheeks; // mm: mean over the region, in the frame where it is largest
    double mm, stretch;  // as in test_zoo.c
    double volume;       // cm3 within the skin, at most, against linear blending
    int crossing, linear;
    double open, ms; // s, ms
} Result;

static double apart(const float *a, const float *b, int v) {
    double p[3], q[3];
    fai_v3_load(a, v, p), fai_v3_load(b, v, q);
    fai_v3_sub(p, q, p);
    return fai_v3_norm(p);
}

static double region_mm(const FaFace *f, int first, int last, const float *x, const float *linear) {
    double sum = 0, all = 0;
    for (int r = first; r <= last; r++)
        for (int i = 0; i < f->nskin; i++) {
            sum += (double)f->region[r][i] * apart(x, linear, f->skin_vertex[i]);
            all += (double)f->region[r][i];
        }
    return all > 0 ? 1e3 * sum / all : 0;
}

static double volume_of(const FaFace *f, const float *x) {
    double volume = 0;
    for (int t = 0; t < f->ntri; t++) {
        double p[3][3], n[3];
        for (int k = 0; k < 3; k++) fai_v3_load(x, f->skin_vertex[f->tri[3 * (size_t)t + (size_t)k]], p[k]);
        fai_v3_cross(p[1], p[2], n);
        volume += fai_v3_dot(p[0], n) / 6;
    }
    return 1e6 * volume;
}

static int crossings(const FaFace *f, const float *x) {
    enum { MOST = 8192 };
    static int pair[MOST][2];
    FaError err = {0};
    const FaMesh skin = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    float *y = malloc(3 * (size_t)f->nskin * sizeof *y);
    int count;
    for (int i = 0; i < f->nskin; i++) memcpy(y + 3 * (size_t)i, x + 3 * (size_t)f->skin_vertex[i], 3 * sizeof *y);
    CHECK_OK(fai_self_intersections(&skin, y, NULL, pair, MOST, &count, &err), &err);
    free(y);
    return count;
}

static double stretch_of(const FaTopology *topo, const float *x, const float *linear) {
    double worst = 1;
    for (int e = 0; e < topo->nedge; e++) {
        double d[2], p[3], q[3];
        for (int k = 0; k < 2; k++) {
            fai_v3_load(k ? linear : x, topo->edge[e][0], p), fai_v3_load(k ? linear : x, topo->edge[e][1], q);
            fai_v3_sub(p, q, p);
            d[k] = fai_v3_norm(p);
        }
        if (d[1] > 3e-4) worst = fmax(worst, d[0] / d[1]);
    }
    return worst;
}

// clip's weights with the head of `head`, 30 frames a second.
static Result play(const FaRig *rig, const FaClip *clip, const FaPose *head, const char *method, const FaFace *face,
                   int frames) {
    FaError err = {0};
    FaMethod *m;
    FaBinding bind;
    FaTopology topo;
    Result r = {0};
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = malloc(n * sizeof *x), *linear = malloc(n * sizeof *x), *w = calloc((size_t)rig->nshape, sizeof *w);
    double begin = fai_seconds();
    CHECK_OK(fai_topology_build(&rig->mesh, &topo, &err), &err);
    CHECK_OK(fa_method_open(method, &(FaMethodSetup){.rig = rig, .face = face}, &m, &err), &err);
    r.open = fai_seconds() - begin;
    CHECK_OK(fa_clip_bind(clip, rig, &bind, &err), &err);
    for (int i = 0; i < frames; i++) {
        const int f = 2 * i % clip->nframe;
        fa_binding_weights(&bind, clip->weight + (size_t)f * (size_t)clip->nchan, w);
        FaInput in = {.time = i / 30.0, .weights = w, .head = head[i]};
        begin = fai_seconds();
        CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
        if (i) r.ms += 1e3 * (fai_seconds() - begin) / (frames - 1);
        for (size_t k = 0; k < n; k++) assert_true(isfinite(x[k]));
        fa_rig_blend(rig, w, linear);
        r.lips = fmax(r.lips, region_mm(face, FA_REGION_LIP_UPPER, FA_REGION_LIP_LOWER, x, linear));
        r.cheeks = fmax(r.cheeks, region_mm(face, FA_REGION_CHEEKS, FA_REGION_CHEEKS, x, linear));
        r.stretch = fmax(r.stretch, stretch_of(&topo, x, linear));
        for (int v = 0; v < rig->mesh.nvert; v++) r.mm = fmax(r.mm, 1e3 * apart(x, linear, v));
        r.volume = fmax(r.volume, fabs(volume_of(face, x) - volume_of(face, linear)));
        if (i % 5) continue;
        r.crossing = FA_MAX(r.crossing, crossings(face, x));
        r.linear = FA_MAX(r.linear, crossings(face, linear));
    }
    fa_binding_free(&bind);
    fa_method_close(m);
    fai_topology_free(&topo);
    free(x), free(linear), free(w);
    return r;
}

static bool torn(const char *method, const Result *r) {
    const double far = strcmp(method, "enrich") ? 4 : 6;
    return r->mm > far || r->stretch > 3 || r->crossing > (r->linear ? 5 + 2 * r->linear : 0);
}

// One row: what a rig does on a runner's head, with this flesh. How many bounds are broken.
static int row(const char *name, const FaRig *rig, const FaClip *clip, const char *method, bool filled, int size,
               int vertices, int frames) {
    FaClip *runner;
    FaPose *head = calloc((size_t)frames, sizeof *head);
    CHECK_OK(fa_head_clip("run", &runner, &(FaError){0}), NULL);
    for (int i = 0; i < frames; i++) head[i] = runner->head[2 * i % runner->nframe];
    double begin = fai_seconds();
    const char *keep = strcmp(method, "enrich") || size ? NULL : name;
    FaFace *face = get_kept(rig, fa_method_needs(method), filled, size, vertices, keep);
    double made = fai_seconds() - begin;
    Result r = play(rig, clip, head, method, face, frames);
    const bool bad = torn(method, &r);
    print_message("| %s | %s | %s | %d, %d | %.2f | %.2f | %.2f | %.2f | %d (%d) | %.1f | %.1f | %.1f |%s\n", name,
                  method, filled ? "filled" : "layer", face->nnode, face->ntet, r.lips, r.cheeks, r.mm, r.volume,
                  r.crossing, r.linear, r.ms, made, r.open, bad ? " torn" : "");
    fa_face_free(face);
    fa_clip_free(runner);
    free(head);
    return bad;
}

static void zoo(void **state) {
    (void)state;
    static const char *const some[] = {"mask", "lips_cross_5", "no_bag", "low", "stylised"};
    const bool full = getenv("FASCIA_FULL") != NULL;
    int wrong = 0;
    for (int i = 0; i < (full ? FA_COUNT(some) : 3); i++) {
        FaError err = {0};
        FaRig *rig;
        int animal = 0;
        while (strcmp(fa_zoo_animal(animal).name, some[i])) animal++;
        CHECK_OK(fa_zoo_save(animal, 0, NULL, test_path("animal.glb"), &err), &err);
        CHECK_OK(fa_rig_load(test_path("animal.glb"), NULL, &rig, &err), &err);
        wrong += row(some[i], rig, rig->clip, "projective", true, 2000, 0, 30);
        if (i == 0 || i == 3) wrong += row(some[i], rig, rig->clip, "enrich", true, 800, 400, 12);
        fa_rig_free(rig);
    }
    assert_int_equal(wrong, 0);
}

static FaClip *talk(void) {
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_head_clip("talk", &clip, &err), &err);
    return clip;
}

// Layers beside filled flesh. FASCIA_FULL=1: with enrich, and the other rigs.
static void beside_layers(void **state) {
    (void)state;
    const bool full = getenv("FASCIA_FULL") != NULL;
    const int frames = full ? 120 : 20;
    FaClip *clip = talk();
    for (int level = 0; level <= full; level++) {
        FaRig *rig = head_rig(level);
        char name[32];
        snprintf(name, sizeof name, "head %d", level);
        for (int k = 0; k < 2; k++) assert_true(row(name, rig, clip, "projective", k, 0, 0, frames) == 0 || full);
        for (int k = 0; full && k < 2; k++) row(name, rig, clip, "enrich", k, 0, 0, frames / 3);
        fa_rig_free(rig);
    }
    fa_clip_free(clip);
}

static void stranger(const char *name, const char *path, int vertices) {
    FaError err = {0};
    FaRig *rig;
    FaClip *clip = talk();
    const bool full = getenv("FASCIA_FULL") != NULL;
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    for (int k = full ? 0 : 1; k < 2; k++)
        row(name, rig, clip, "projective", k, full ? 0 : 2500, vertices, full ? 120 : 15);
    fa_rig_free(rig);
    fa_clip_free(clip);
}

static void enrich_stranger(const char *name, const char *path) {
    FaError err = {0};
    FaRig *rig;
    FaClip *clip = talk();
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    for (int k = 0; k < 2; k++) row(name, rig, clip, "enrich", k, 0, 0, 40);
    fa_rig_free(rig);
    fa_clip_free(clip);
}

static void facecap(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/facecap.glb");
    stranger("facecap", path, 0);
}

static void ict(void **state) {
    (void)state;
    const char *path = getenv("FASCIA_FULL") ? test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz") : NULL;
    if (!path) skip();
    stranger("ICT, 3,500 vertices", path, 3500);
}

static void wild(void **state) {
    (void)state;
    static const char *const name[] = {"FaceCapLiveMode.fbx", "Male_Adult_12.fbx"};
    if (!getenv("FASCIA_FULL")) skip();
    for (int i = 0; i < 2; i++) {
        char place[64];
        snprintf(place, sizeof place, "rigs/wild/%s", name[i]);
        TEST_DATA_OR_SKIP(path, place);
        stranger(name[i], path, 0);
    }
}

// The minutes of their volumes: FASCIA_FULL=1 alone.
static void enrich_strangers(void **state) {
    (void)state;
    static const char *const name[] = {"facecap", "FaceCapLiveMode", "Male_Adult_12", "Female_Adult_01", "ict"};
    if (!getenv("FASCIA_FULL")) skip();
    for (int i = 0; i < FA_COUNT(name); i++) {
        char place[64];
        const bool wild = i > 0 && i < 4;
        snprintf(place, sizeof place, wild ? "rigs/wild/%s.fbx" : "rigs/facecap/%s.glb", name[i]);
        const char *path = i == 4 ? test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz") : test_data(place);
        if (!path) skip();
        enrich_stranger(name[i], path);
    }
}

// --- exact, and the same for all ------------------------------------------------------------------------------------

// A head that stands still: enrich gives back the animation, drive the neutral, bit for bit.
static void at_rest(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(0);
    FaClip *whole = talk(), *clip;
    FaFace *face = get(rig, fa_method_needs("enrich"), true, 1200, 1500);
    FaMethod *m;
    FaRun *run;
    FaSequence *linear;
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), *w = calloc((size_t)rig->nshape, sizeof *w);
    CHECK_OK(fa_clip_slice(whole, 90, 101, &clip, &err), &err);
    for (int f = 0; f < clip->nframe; f++) clip->head[f] = (FaPose){.q = {0, 0, 0, 1}, .p = {0.2, 1.6, -0.1}};
    CHECK_OK(fa_method_open("enrich", &(FaMethodSetup){.rig = rig, .face = face}, &m, &err), &err);
    CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
    CHECK_OK(fa_sequence_of_clip(rig, clip, &linear, &err), &err);
    for (int f = 0; f < clip->nframe; f++) {
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        CHECK_OK(fa_sequence_read(linear, f, y, &err), &err);
        assert_memory_equal(x, y, n * sizeof *x);
    }
    fa_sequence_close(linear);
    fa_run_free(run);
    fa_method_close(m);
    CHECK_OK(fa_method_open("projective", &(FaMethodSetup){.rig = rig, .face = face}, &m, &err), &err);
    for (int f = 0; f < 5; f++) {
        FaInput in = {.time = f / 30.0, .weights = w, .head = {.q = {0, 0, 0, 1}}};
        CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
        assert_memory_equal(x, rig->mesh.x, n * sizeof *x);
    }
    fa_method_close(m);
    free(x), free(y), free(w);
    fa_face_free(face);
    fa_clip_free(clip);
    fa_clip_free(whole);
    fa_rig_free(rig);
}

static uint64_t hash_of(const FaRig *rig, const FaClip *clip) {
    FaError err = {0};
    FaFace *face = get(rig, FA_NEED_FACE | FA_NEED_MATERIALS, true, 1500, 800);
    FaMethod *m;
    uint64_t h = fai_face_hash(face);
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = malloc(n * sizeof *x), *w = calloc((size_t)rig->nshape, sizeof *w);
    FaBinding bind;
    CHECK_OK(fa_clip_bind(clip, rig, &bind, &err), &err);
    CHECK_OK(fa_method_open("projective", &(FaMethodSetup){.rig = rig, .face = face}, &m, &err), &err);
    for (int f = 0; f < 6; f++) {
        fa_binding_weights(&bind, clip->weight + (size_t)(90 + f) * (size_t)clip->nchan, w);
        FaInput in = {.time = f / 30.0, .weights = w, .head = clip->head[90 + f]};
        CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
        h = fai_hash64(x, n * sizeof *x, h);
    }
    fa_method_close(m);
    fa_binding_free(&bind);
    fa_face_free(face);
    free(x), free(w);
    return h;
}

static void any_threads(void **state) {
    (void)state;
    static const int threads[] = {1, 3, 2, 8};
    const int count = getenv("FASCIA_FULL") ? FA_COUNT(threads) : 2;
    FaRig *rig = head_rig(0);
    FaClip *clip = talk();
    uint64_t first = 0;
    for (int i = 0; i < count; i++) {
        fa_threads_set(threads[i]);
        uint64_t h = hash_of(rig, clip);
        if (i == 0) first = h;
        assert_true(h == first);
    }
    fa_threads_set(0);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound), cmocka_unit_test(at_rest),       cmocka_unit_test(any_threads),
        cmocka_unit_test(zoo),   cmocka_unit_test(beside_layers), cmocka_unit_test(facecap),
        cmocka_unit_test(ict),   cmocka_unit_test(wild),          cmocka_unit_test(enrich_strangers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
