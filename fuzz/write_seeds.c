// Writes the seeds that the library itself can make: small files of every format, so that a fuzzer starts behind the
// header. usage: write_seeds FOLDER. One folder per target in it. Formats that we only read have theirs in fuzz/seeds.
#include "small_rig.h"

#include "base/file.h"
#include "base/text.h"
#include "build/volume_part.h"
#include "face/face_file.h"
#include "fascia/fascia.h"
#include "io/import_answer.h"
#include "method/run_store.h"
#include "muscle/blendmuscle.h"
#include "neural/net.h"
#include "neural/net_template.h"
#include "neural/rt_layout.h"
#include "neural/shard.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { FRAMES = 4 };
static const char *out;
static FaError err;

static void ok(FaCode rc) {
    if (rc >= 0) return;
    fa_error_print(&err, stderr);
    exit(1);
}

// Valid until the next call.
static const char *path_of(const char *target, const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", out, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", out, target, name);
    return path;
}

static void put(const char *target, const char *name, const void *data, size_t size) {
    ok(fai_file_write(path_of(target, name), data, size, &err));
}

// --- motion -------------------------------------------------------------------------------------------------------

static FaClip *make_clip(int nchan, const char *const *name) {
    FaClip *clip;
    ok(fa_clip_new(FRAMES, nchan, name, 30, &clip, &err));
    for (int i = 0; i < FRAMES * nchan; i++) clip->weight[i] = 0.25f * (float)(i % 5);
    return clip;
}

static void clips(void) {
    const char *arkit[52];
    for (int i = 0; i < 52; i++) arkit[i] = fa_arkit_name(i);
    FaClip *all = make_clip(52, arkit), *two = make_clip(2, (const char *const[]){"jawOpen", "my shape, left"});
    ok(fa_clip_save(all, path_of("fuzz_csv", "arkit.csv"), &err));
    ok(fa_clip_save(two, path_of("fuzz_csv", "own.csv"), &err));
    two->head = FA_NEW(FRAMES, FaPose);
    for (int f = 0; f < FRAMES; f++) two->head[f] = (FaPose){.q = {1, 0, 0, 0}, .p = {0, 0.01 * f, 0}};
    ok(fa_clip_save(two, path_of("fuzz_csv", "head.csv"), &err));
    ok(fa_clip_save(two, path_of("fuzz_clip_json", "head.json"), &err));
    fa_clip_free(all);
    fa_clip_free(two);
}

static void markers(void) {
    static const char *const name[] = {"v3", "lip", "chin \"low\""}, *const file[] = {"m.csv", "m.trc", "m.c3d"};
    FaMarkerTake *take;
    ok(fa_markers_new(FRAMES, 3, name, 60, &take, &err));
    for (int i = 0; i < FRAMES * 3; i++) {
        take->ok[i] = i != 5;
        for (int k = 0; k < 3 && take->ok[i]; k++)
            take->x[3 * i + k] = 0.05f * (float)((i + k) % 3) + 0.001f * (float)i;
    }
    for (int i = 0; i < 3; i++) ok(fa_markers_save(take, path_of("fuzz_markers", file[i]), &err));
    fa_markers_free(take);
}

static void landmarks(void) {
    FaLandmarkTake *take;
    ok(fa_landmarks_new(FA_LANDMARKS_68, 2, 2, 25, &take, &err));
    take->width = 640, take->height = 480;
    for (int i = 0; i < 2 * 68; i++) {
        take->visibility[i] = i == 7 ? 0 : 1;
        for (int k = 0; k < 2 && i != 7; k++) take->x[2 * i + k] = (float)(100 + 3 * i + 40 * k);
    }
    ok(fa_landmarks_save(take, path_of("fuzz_markers", "l.json"), &err));
    ok(fa_landmarks_save(take, path_of("fuzz_markers", "l.csv"), &err));
    fa_landmarks_free(take);
}

static void caches(void) {
    static const char *const file[] = {"c.pc2", "c.mdd"};
    for (int i = 0; i < 2; i++) {
        FaSink *sink;
        float x[12] = {0};
        ok(fa_sink_open(path_of("fuzz_pointcache", file[i]), 4, &(FaSinkOptions){.fps = 30}, &sink, &err));
        for (int f = 0; f < FRAMES; f++) {
            for (int k = 0; k < 12; k++) x[k] = 0.01f * (float)(k + f);
            ok(fa_sink_push(sink, x, &err));
        }
        ok(fa_sink_finish(sink, NULL, &err));
    }
}

// --- rigs ---------------------------------------------------------------------------------------------------------

static void base64(FaText *text, const unsigned char *data, size_t size) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        unsigned v = (unsigned)data[i] << 16 | (i + 1 < size ? (unsigned)data[i + 1] << 8 : 0) |
                     (i + 2 < size ? data[i + 2] : 0);
        char quad[4] = {digit[v >> 18], digit[v >> 12 & 63], i + 1 < size ? digit[v >> 6 & 63] : '=',
                        i + 2 < size ? digit[v & 63] : '='};
        fai_text_bytes(text, quad, 4);
    }
}

// The parts of a GLB as the targets like them: JSON, a zero, the binary chunk; and one JSON with the bytes inside.
static void unpack_glb(const FaBytes *glb) {
    uint32_t json, bin;
    memcpy(&json, glb->data + 12, 4);
    memcpy(&bin, glb->data + 20 + json, 4);
    const char *text = (const char *)glb->data + 20;
    const unsigned char *tail = glb->data + 28 + json;
    FaText wrapped = {0}, whole = {0};
    fai_text_bytes(&wrapped, text, json);
    fai_text_bytes(&wrapped, "", 1);
    fai_text_bytes(&wrapped, tail, bin);
    put("fuzz_glb", "rig", wrapped.data, wrapped.size);
    static const char list[] = "\"buffers\":[{";
    const char *at = memmem(text, json, list, sizeof list - 1);
    if (!at) exit(1);
    at += sizeof list - 1;
    fai_text_bytes(&whole, text, (size_t)(at - text));
    fai_text_str(&whole, "\"uri\":\"data:application/octet-stream;base64,");
    base64(&whole, tail, bin);
    fai_text_str(&whole, "\",");
    fai_text_bytes(&whole, at, json - (size_t)(at - text));
    put("fuzz_gltf", "rig.gltf", whole.data, whole.size);
    put("fuzz_colors", "rig.gltf", whole.data, whole.size);
    fai_text_free(&wrapped);
    fai_text_free(&whole);
}

// What an importer says of a rig, and that it could not read one.
static void answers(const FaBytes *glb) {
    FaImportDoc doc = {.place = {.unit = 0.01, .turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                       .origin = {.made = true, .unit = 0.01, .up = FA_UP_Y},
                       .glb = (const char *)glb->data,
                       .glb_size = glb->size};
    FaError failure = {0};
    fai_note(&doc.notes, "some-code", "where", "a remedy", "a note");
    FA_FAIL(&failure, FA_E_FORMAT, NULL, "export the rig as .glb", "assimp cannot read it");
    for (int good = 0; good < 2; good++) {
        FaText bytes = {0};
        fai_answer_pack(good ? FA_OK : FA_E_FORMAT, &doc, &failure, &bytes);
        if (good) fai_text_bytes(&bytes, glb->data, glb->size);
        put("fuzz_import", good ? "rig" : "failure", bytes.data, bytes.size);
        fai_text_free(&bytes);
    }
    fai_notes_free(&doc.notes);
}

static void rigs(void) {
    FaClip *clip = make_clip(2, (const char *const[]){"jawOpen", "cheekPuff"});
    FaBytes glb;
    ok(fa_rig_save(small_rig(), clip, path_of("fuzz_glb", "whole.glb"), &err));
    ok(fai_file_read(path_of("fuzz_glb", "whole.glb"), 0, &glb, &err));
    unpack_glb(&glb);
    answers(&glb);
    fai_bytes_free(&glb);
    fa_clip_free(clip);
    FaText obj = {0}, painted = {0};
    const FaMesh *m = &small_rig()->mesh;
    for (int v = 0; v < m->nvert; v++) {
        const float *x = m->x + 3 * v;
        fai_text_printf(&obj, "v %g %g %g\n", (double)x[0], (double)x[1], (double)x[2]);
        fai_text_printf(&painted, "v %g %g %g %g 0.5 0\n", (double)x[0], (double)x[1], (double)x[2], v % 3 / 2.0);
    }
    for (int f = 0; f < m->nface; f++) {
        const int *c = m->face_vert + m->face_start[f];
        fai_text_printf(&obj, "f %d %d %d %d\n", c[0] + 1, c[1] + 1, c[2] + 1, c[3] + 1);
        fai_text_printf(&painted, "f %d %d %d %d\n", c[0] + 1, c[1] + 1, c[2] + 1, c[3] + 1);
    }
    put("fuzz_obj", "sheet.obj", obj.data, obj.size);
    put("fuzz_face_model", "identity.obj", obj.data, obj.size);
    put("fuzz_colors", "painted.obj", painted.data, painted.size);
    fai_text_free(&obj);
    fai_text_free(&painted);
}

// --- what we keep for ourselves -----------------------------------------------------------------------------------

static void faces(void) {
    const FaFaceOptions o = {.layers = 2, .thickness = 6e-3, .whole = true, .no_bones = true};
    FaFace *face;
    ok(fa_face_build(small_rig(), &o, &face, &err));
    ok(fa_face_materials(face, small_rig(), NULL, &err));
    ok(fa_face_save(face, path_of("fuzz_face", "sheet.face"), &err));
    fa_face_free(face);
}

static void runs(void) {
    const FaRunStoreShape shape = {.key = 7, .nvert = 3, .nshape = 2, .state = 24}; // as fuzz_run.c has it
    const float weights[2] = {0.5f, 1}, surface[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    const unsigned char state[24] = {1, 2, 3};
    FaRunStore *run;
    ok(fai_run_store_create(path_of("fuzz_run", "three.run"), &shape, &run, &err));
    for (int f = 0; f < 3; f++) {
        const FaRunStoreInput in = {.time = f / 30.0, .weights = weights};
        ok(fai_run_store_append(run, &in, surface, f == 2 ? state : NULL, &err));
    }
    fai_run_store_close(run);
}

static void parts(void) {
    int node[] = {0, 3, 39};
    float value[9] = {0.1f, 0.2f, 0.3f};
    const FaVolumeColumn column[3] = {{.done = true, .count = 3, .node = node, .value = value},
                                      {0},
                                      {.done = true, .count = 1, .node = node, .value = value}};
    FaText text = {0};
    fai_volume_part_pack(11, 3, column, &text); // as fuzz_volume_part.c has it
    put("fuzz_volume_part", "two.part", text.data, text.size);
    fai_text_free(&text);
}

static void muscle_shapes(void) {
    int vertex[] = {0, 7, 39};
    float snap[9] = {0.001f, -0.002f}, track[4 * 15] = {0.003f};
    double activation[4] = {0.5, 0, 1, 0};
    FaBlendMuscle shape[3] = {
        {.done = true,
         .nlevel = 4,
         .activation = activation,
         .track = track,
         .nsnap = 3,
         .vertex = vertex,
         .snap = snap},
        {0},
        {.done = true, .activation = activation, .track = track, .nsnap = 1, .vertex = vertex, .snap = snap}};
    const FaBlendMuscles all = {3, 4, 5, 40, 11, shape}; // as fuzz_muscle_shapes.c has it
    FaText text = {0};
    fai_blend_muscles_pack(&all, &text);
    put("fuzz_muscle_shapes", "two.part", text.data, text.size);
    fai_text_free(&text);
}

static void samples(void) {
    float mean[12] = {0, 0, 0, 0.1f, 0, 0, 0, 0.1f, 0, 0, 0, 0.1f}, shape[24] = {0.01f, 0.02f},
          weight[4] = {0, 1, 0.5f};
    int tri[6] = {0, 1, 2, 0, 2, 3}, kind[2] = {FA_SAMPLE_CLIP, FA_SAMPLE_RANDOM}, clip[2] = {0, -1};
    unsigned char region[4] = {0, 1, 2, 4};
    char clips_of[1][64] = {"alex"};
    uint16_t move[24];
    for (int i = 0; i < 24; i++) move[i] = fai_half(0.001f * (float)i);
    ok(fai_shard_write(path_of("fuzz_shard", "two.shard"),
                       &(FaShard){7, 3, 4, 2, 2, 1, mean, kind, clip, weight, move, move}, &err));
    struct {
        uint64_t header[3];
        int number[3];       // vertices, triangles, components
        float value[1 + 18]; // floor, mean, known, depth, basis, gain
    } skulls = {{0}, {2, 1, 1}, {0.0015f, 0, 0, 0, 0.1f, 0, 0, 1, 1, 0.005f, 0.006f, 1, 0, 0, 0, 0, 0, 0.1f, 0.2f}};
    put("fuzz_skulls", "two.skulls", &skulls, 24 + 12 + 19 * sizeof(float)); // its sum: the fuzzer's
    ok(fai_template_write(path_of("fuzz_template", "four"),
                          &(FaTemplate){7, 4, 2, 2, 1, mean, tri, region, shape, clips_of, "by hand"}, &err));
    float base[24] = {0.5f, -0.25f, 0, 1}, one[6] = {1, 0.5f, 2, 1, -1, 3}, bias[3] = {0.1f};
    const FaNet net = {7,    "by hand", 4,   2,   mean, tri, region, 2,         shape,        2,           1, 2, base,
                       base, base,      one, one, one,  one, 2,      {3, 3, 2}, {shape, one}, {bias, bias}};
    ok(fai_net_save(&net, path_of("fuzz_net", "small.net"), &err));
}

// The smallest bound face: one vertex of two follows one node of two.
static void bound_face(void) {
    const FaRtNumbers n = {.nvert = 2,
                           .nshape = 1,
                           .names = 2,
                           .nrun = 1,
                           .ndelta = 1,
                           .nd = 1,
                           .nt = 1,
                           .nlayer = 1,
                           .width = {1, 1},
                           .nnode = 2,
                           .nactive = 1,
                           .ncarry = 1};
    size_t at[FA_RT_SECTIONS + 1];
    fa_rt_sections(&n, at);
    unsigned char *p = calloc(1, at[FA_RT_SECTIONS]);
    const uint64_t head[2] = {FA_RT_SIGNATURE, at[FA_RT_SECTIONS]};
    const float one = 1;
    const FaRtRun run = {0, 1, 0};
    if (!p) abort();
    memcpy(p, head, sizeof head);
    memcpy(p + FA_RT_HEAD, &n, sizeof n);
    memcpy(p + at[FA_RT_NAMES], "a", 2);
    memcpy(p + at[FA_RT_RUN], &run, sizeof run);
    p[at[FA_RT_SHAPE] + 4] = p[at[FA_RT_START] + 4] = 1;
    static const int ones[] = {FA_RT_DELTA, FA_RT_ENCODE, FA_RT_NET,   FA_RT_RIDGE,
                               FA_RT_SCALE, FA_RT_BASIS,  FA_RT_WEIGHT};
    for (int i = 0; i < FA_COUNT(ones); i++) memcpy(p + at[ones[i]], &one, sizeof one);
    const uint64_t sum = fa_rt_sum(p + FA_RT_HEAD, at[FA_RT_SECTIONS] - FA_RT_HEAD);
    memcpy(p + 16, &sum, sizeof sum);
    put("fuzz_fart", "one.fart", p, at[FA_RT_SECTIONS]);
    free(p);
}

static void params(void) {
    static const char *const method[] = {"analytic", "projective", "blendforces", "enrich"};
    for (int i = 0; i < FA_COUNT(method); i++) {
        FaParams *p;
        char *json;
        ok(fa_params_new(method[i], &p, &err));
        ok(fa_params_json(p, &json, &err));
        put("fuzz_params", method[i], json, strlen(json));
        fa_free(json);
        fa_params_free(p);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: write_seeds FOLDER\n"), 2;
    out = argv[1];
    mkdir(out, 0777);
    fa_threads_set(1);
    clips();
    markers();
    landmarks();
    caches();
    rigs();
    faces();
    runs();
    parts();
    muscle_shapes();
    samples();
    bound_face();
    params();
    return 0;
}
