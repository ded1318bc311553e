// The frame of a head's pose is one and the same in every clip: whatever a clip has been through (cut, extended,
// resampled, saved and loaded again), every consumer puts the head where the rig's own clip does. Made heads with odd
// axes, against the same head upright, which has nothing to get wrong; facecap where it is there. Written .glb files
// are read back by code of this file, nodes and animation, not by the importer.
#include "test_gltf_fixture.h"
#include "test_rig_head.h"

#include "io/png.h"
#include "math/mat3.h"
#include "render/portrait.h"
#include "render/subject.h"

#ifdef FA_HAVE_ZLIB
#include <zlib.h>
#endif

enum { FRAMES = 24, VARIANTS = 8 };
static const double NEAR = 1e-6; // m

// file = turn * canonical: -z up and +y front as facecap has it; z up, facing -y; x up
static const double turns[3][9] = {
    {1, 0, 0, 0, 0, 1, 0, -1, 0}, {1, 0, 0, 0, 0, -1, 0, 1, 0}, {0, 1, 0, 0, 0, 1, 1, 0, 0}};

typedef struct Made {
    FaRig *up;       // upright
    FaRig *odd;      // the same with other axes, from a .glb, with its own clip
    FaClip *clip;    // that clip, before it was written
    FaPose place;    // of the node that the file hangs on
    double turn[9];  // odd = turn up
    char path[4096]; // of the .glb
    FaClip *other[VARIANTS];
} Made;

static const char *const variant_name[VARIANTS] = {"own", "sliced", "extended", "resampled",
                                                   "glb", "json",   "csv",      "given"};

static FaClip *make_clip(void) {
    FaError err = {0};
    const char *name[HEAD_SHAPES + 1];
    for (int s = 0; s < HEAD_SHAPES; s++) name[s] = head_shapes[s].name;
    name[HEAD_SHAPES] = "spare"; // no ARKit name: a Live Link file has no room for where the head is
    FaClip *clip;
    CHECK_OK(fa_clip_new(FRAMES, HEAD_SHAPES + 1, name, 32, &clip, &err), &err);
    clip->head = FA_NEW(FRAMES, FaPose);
    for (int f = 0; f < FRAMES; f++) {
        double turn[3] = {0.3 * sin(0.9 * f), 0.5 * sin(0.5 * f), 0.2 * cos(0.7 * f)};
        fai_q_exp(turn, clip->head[f].q);
        fai_v3_set(clip->head[f].p, 0.05 * sin(0.8 * f), 0.3 + 0.04 * cos(1.1 * f), 0.03 * sin(0.6 * f));
        for (int s = 0; s < HEAD_SHAPES; s++) clip->weight[f * clip->nchan + s] = (float)(0.5 + 0.5 * sin(0.4 * f + s));
    }
    return clip;
}

static char *read_text(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *data = calloc(*size + 1, 1);
    assert_int_equal(fread(data, 1, *size, file), *size);
    fclose(file);
    return data;
}

static void write_bytes(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static uint32_t u32_at(const char *p) {
    const unsigned char *b = (const unsigned char *)p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

// Hang everything on a further node, turned and away.
static void place_glb(const char *path, const FaPose *place) {
    size_t size;
    char *data = read_text(path, &size), *json = strndup(data + 20, u32_at(data + 12));
    const char *bin = data + 20 + u32_at(data + 12), *nodes = strstr(json, "]}]"),
               *meshes = strstr(json, ",\"meshes\"");
    assert_true(nodes && meshes && meshes[-1] == ']');
    char *text = malloc(strlen(json) + 400);
    sprintf(text, "%.*s", (int)(meshes - 1 - json), json);
    char *scene = strstr(text, "\"scenes\":[{\"nodes\":[0");
    assert_non_null(scene);
    scene[strlen("\"scenes\":[{\"nodes\":[")] = '2';
    sprintf(text + strlen(text),
            ",{\"children\":[0],\"translation\":[%.9g,%.9g,%.9g],\"rotation\":[%.9g,%.9g,%.9g,%.9g]}]%s", place->p[0],
            place->p[1], place->p[2], place->q[0], place->q[1], place->q[2], place->q[3], meshes);
    Bytes b = fixture_glb(text, bin + 8, u32_at(bin));
    write_bytes(path, b.data, b.size);
    free(b.data);
    free(text);
    free(json);
    free(data);
}

static FaClip *reload(const FaClip *clip, const char *name) {
    FaError err = {0};
    FaClip *out;
    CHECK_OK(fa_clip_save(clip, test_path(name), &err), &err);
    CHECK_OK(fa_clip_load(test_path(name), NULL, &out, &err), &err);
    return out;
}

// The rig's clip under a further channel that no shape has.
static FaClip *with_spare(const FaClip *clip) {
    FaError err = {0};
    const char **name = malloc(((size_t)clip->nchan + 1) * sizeof *name);
    memcpy(name, clip->name, (size_t)clip->nchan * sizeof *name);
    name[clip->nchan] = "spare";
    FaClip *out;
    CHECK_OK(fa_clip_new(clip->nframe, clip->nchan + 1, name, clip->fps, &out, &err), &err);
    memcpy(out->time, clip->time, (size_t)clip->nframe * sizeof *clip->time);
    out->head = FA_NEW(clip->nframe, FaPose);
    memcpy(out->head, clip->head, (size_t)clip->nframe * sizeof *clip->head);
    for (int f = 0; f < clip->nframe; f++)
        memcpy(out->weight + f * out->nchan, clip->weight + f * clip->nchan, (size_t)clip->nchan * sizeof(float));
    free(name);
    return out;
}

// All that may become of a rig's own clip. given (nullable): the clip it was written from.
static void make_variants(const FaRig *rig, const FaClip *given, FaClip *out[VARIANTS]) {
    FaError err = {0};
    const FaClip *own = rig->clip;
    out[0] = rig->clip;
    CHECK_OK(fa_clip_slice(own, 0, own->nframe - 1, &out[1], &err), &err);
    CHECK_OK(fa_clip_extend(own, 0, 1, &out[2], &err), &err);
    CHECK_OK(fa_clip_resample(own, own->fps, &out[3], &err), &err);
    CHECK_OK(fa_rig_save(rig, out[1], test_path("again.glb"), &err), &err);
    FaRig *again;
    CHECK_OK(fa_rig_load(test_path("again.glb"), NULL, &again, &err), &err);
    out[4] = again->clip;
    again->clip = NULL;
    fa_rig_free(again);
    out[5] = reload(own, "own.json");
    FaClip *spare = with_spare(own);
    out[6] = reload(spare, "own.csv");
    fa_clip_free(spare);
    if (given)
        CHECK_OK(fa_clip_slice(given, 0, given->nframe - 1, &out[7], &err), &err);
    else
        CHECK_OK(fa_clip_slice(own, 0, own->nframe - 1, &out[7], &err), &err);
}

static void free_variants(FaClip *clip[VARIANTS]) {
    for (int i = 1; i < VARIANTS; i++) fa_clip_free(clip[i]);
}

static Made make(int which, bool placed) {
    FaError err = {0};
    Made m = {.up = head_rig(NULL), .clip = make_clip(), .place = fai_pose_identity()};
    HeadOptions o = {0};
    memcpy(o.turn, turns[which], sizeof o.turn);
    memcpy(m.turn, turns[which], sizeof m.turn);
    FaRig *flat = head_rig(&o);
    snprintf(m.path, sizeof m.path, "%s", test_path(placed ? "placed.glb" : "odd.glb"));
    CHECK_OK(fa_rig_save(flat, m.clip, m.path, &err), &err);
    fa_rig_free(flat);
    if (placed) {
        m.place = (FaPose){{0, 0.6, 0, 0.8}, {0.5, 1.5, -0.25}};
        place_glb(m.path, &m.place);
    }
    CHECK_OK(fa_rig_load(m.path, NULL, &m.odd, &err), &err);
    assert_int_equal(m.odd->mesh.nvert, m.up->mesh.nvert);
    assert_non_null(m.odd->clip->head);
    for (int i = 0; i < 9; i++) CHECK_NEAR(m.odd->axes[i], turns[which][3 * (i % 3) + i / 3], 1e-9);
    for (int f = 0; f < FRAMES; f++) m.clip->head[f] = fai_pose_mul(&m.place, &m.clip->head[f]);
    make_variants(m.odd, m.clip, m.other);
    return m;
}

static void unmake(Made *m) {
    free_variants(m->other);
    fa_rig_free(m->odd);
    fa_rig_free(m->up);
    fa_clip_free(m->clip);
}

// Where the clip has a vertex of the upright head, given in its frame.
static void world_at(const Made *m, int f, const float *x, double out[3]) {
    const double p[3] = {(double)x[0], (double)x[1], (double)x[2]};
    fai_pose_apply(&m->clip->head[f], p, out);
}

static void check_near(const char *what, int frame, const double is[3], const double want[3], double tolerance) {
    double d[3];
    fai_v3_sub(is, want, d);
    if (fai_v3_norm(d) <= tolerance) return;
    print_error("%s, frame %d: %g %g %g, not %g %g %g\n", what, frame, is[0], is[1], is[2], want[0], want[1], want[2]);
    fail();
}

static void check_point(const char *what, int frame, const double is[3], const double want[3]) {
    check_near(what, frame, is, want, NEAR);
}

// --- a .glb, read here --------------------------------------------------------------------------------------------

typedef struct Glb {
    char *data;
    const char *bin;
    FaJsonDoc *doc;
} Glb;

static Glb open_glb(const char *path) {
    FaError err = {0};
    size_t size;
    Glb g = {.data = read_text(path, &size)};
    bool bom;
    uint32_t n = u32_at(g.data + 12);
    CHECK_OK(fai_json_parse(g.data + 20, n, &g.doc, &bom, &err), &err);
    g.bin = g.data + 20 + n + 8;
    return g;
}

static void close_glb(Glb *g) {
    fai_json_free(g->doc);
    free(g->data);
}

static int int_of(const FaJson *object, const char *key, int absent) {
    const FaJson *v = fai_json_get(object, key);
    return v ? (int)v->number : absent;
}

// Number k of element i: floats, or the 16-bit turns of a quantised file.
static double value_of(const Glb *g, int accessor, int width, int i, int k) {
    const FaJson *a = fai_json_at(fai_json_get(g->doc->root, "accessors"), accessor);
    const FaJson *view = fai_json_at(fai_json_get(g->doc->root, "bufferViews"), int_of(a, "bufferView", -1));
    int type = int_of(a, "componentType", 0), size = type == 5126 ? 4 : 2;
    assert_true(type == 5126 || type == 5122);
    const char *at = g->bin + int_of(view, "byteOffset", 0) + int_of(a, "byteOffset", 0) +
                     (size_t)i * (size_t)int_of(view, "byteStride", width * size) + (size_t)(k * size);
    float number;
    int16_t part;
    memcpy(&number, at, sizeof number);
    memcpy(&part, at, sizeof part);
    return type == 5126 ? (double)number : fmax(part / 32767.0, -1);
}

static int count_of(const Glb *g, int accessor) {
    return int_of(fai_json_at(fai_json_get(g->doc->root, "accessors"), accessor), "count", 0);
}

static void numbers_of(const FaJson *node, const char *key, int n, double *out) {
    const FaJson *list = fai_json_get(node, key);
    for (int i = 0; list && i < n; i++) out[i] = fai_json_at(list, i)->number;
}

// The value of an animated property at a time; as it is where nothing moves it. Turns between keys: straight, then made
// a unit again, which is near enough for keys this close.
static void animated(const Glb *g, int node, const char *path, double time, int n, double *out) {
    const FaJson *anims = fai_json_get(g->doc->root, "animations");
    for (const FaJson *a = anims ? anims->first : NULL; a; a = a->next)
        for (const FaJson *c = fai_json_get(a, "channels")->first; c; c = c->next) {
            const FaJson *target = fai_json_get(c, "target");
            if (int_of(target, "node", -1) != node || strcmp(fai_json_get(target, "path")->string, path) != 0) continue;
            const FaJson *s = fai_json_at(fai_json_get(a, "samplers"), int_of(c, "sampler", -1));
            int in = int_of(s, "input", -1), to = int_of(s, "output", -1), last = count_of(g, in) - 1, k = 0;
            while (k < last - 1 && value_of(g, in, 1, k + 1, 0) <= time) k++;
            double t0 = value_of(g, in, 1, k, 0), t1 = last ? value_of(g, in, 1, k + 1, 0) : t0 + 1, size = 0, dot = 0,
                   u = fmin(fmax((time - t0) / (t1 - t0), 0), 1);
            int next = last ? k + 1 : k;
            for (int i = 0; i < n; i++) dot += value_of(g, to, n, k, i) * value_of(g, to, n, next, i);
            for (int i = 0; i < n; i++) {
                out[i] =
                    (1 - u) * value_of(g, to, n, k, i) + u * value_of(g, to, n, next, i) * (n == 4 && dot < 0 ? -1 : 1);
                size += out[i] * out[i];
            }
            for (int i = 0; i < n && n == 4; i++) out[i] /= sqrt(size);
        }
}

static int parent_of(const Glb *g, int node) {
    int i = 0;
    for (const FaJson *n = fai_json_get(g->doc->root, "nodes")->first; n; n = n->next, i++) {
        const FaJson *list = fai_json_get(n, "children");
        for (const FaJson *c = list ? list->first : NULL; c; c = c->next)
            if ((int)c->number == node) return i;
    }
    return -1;
}

// Where a file's position goes: up through the nodes, each with what moves it.
static void glb_world(const Glb *g, int node, double time, double x[3]) {
    for (; node >= 0; node = parent_of(g, node)) {
        const FaJson *n = fai_json_at(fai_json_get(g->doc->root, "nodes"), node);
        double t[3] = {0}, q[4] = {0, 0, 0, 1}, s[3] = {1, 1, 1}, y[3];
        assert_null(fai_json_get(n, "matrix"));
        numbers_of(n, "translation", 3, t);
        numbers_of(n, "rotation", 4, q);
        numbers_of(n, "scale", 3, s);
        animated(g, node, "translation", time, 3, t);
        animated(g, node, "rotation", time, 4, q);
        animated(g, node, "scale", time, 3, s);
        for (int k = 0; k < 3; k++) y[k] = s[k] * x[k];
        double length = sqrt(fai_q_dot(q, q));
        for (int k = 0; k < 4; k++) q[k] /= length;
        fai_q_rotate(q, y, x);
        fai_v3_add(x, t, x);
    }
}

// The node whose mesh has most targets.
static int face_node(const Glb *g) {
    int i = 0, best = -1, most = -1;
    for (const FaJson *n = fai_json_get(g->doc->root, "nodes")->first; n; n = n->next, i++) {
        int mesh = int_of(n, "mesh", -1);
        if (mesh < 0) continue;
        const FaJson *m = fai_json_at(fai_json_get(g->doc->root, "meshes"), mesh);
        int count = fai_json_count(fai_json_get(fai_json_at(fai_json_get(m, "primitives"), 0), "targets"));
        if (count > most) most = count, best = i;
    }
    return best;
}

// A vertex of the rig at rest in the coordinates of its file.
static void in_file(const FaRig *rig, int v, double out[3]) {
    const double *a = rig->local;
    double c[9], det = 0, x[3];
    fai_v3_load(rig->mesh.x, v, x);
    for (int i = 0; i < 9; i++) {
        int r = i / 3, k = i % 3, r1 = (r + 1) % 3, r2 = (r + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
        c[3 * k + r] = a[3 * r1 + k1] * a[3 * r2 + k2] - a[3 * r1 + k2] * a[3 * r2 + k1];
    }
    for (int k = 0; k < 3; k++) det += a[k] * c[3 * k];
    for (int i = 0; i < 9; i++) c[i] /= det;
    fai_m3_mulv(c, x, out);
}

// --- the tests ----------------------------------------------------------------------------------------------------

static void each(void (*check)(const Made *m)) {
    for (int which = 0; which < 3; which++)
        for (int placed = 0; placed < 2; placed++) {
            Made m = make(which, placed);
            check(&m);
            unmake(&m);
        }
}

// The poses themselves: those the clip was written with, and the two calls undo each other.
static void poses(const Made *m) {
    for (int i = 0; i < VARIANTS; i++)
        for (int f = 0; f < FRAMES; f++) {
            const FaPose *is = &m->other[i]->head[f], *want = &m->clip->head[f];
            CHECK_NEAR(fabs(fai_q_dot(is->q, want->q)), 1, 1e-9);
            for (int k = 0; k < 3; k++) CHECK_NEAR(is->p[k], want->p[k], NEAR);
            FaPose there = fa_rig_pose(m->odd, is), back = fa_rig_head(m->odd, &there);
            for (int k = 0; k < 4; k++) CHECK_NEAR(back.q[k], is->q[k], 1e-12);
            assert_memory_equal(back.p, is->p, sizeof is->p);
        }
    // canonical axes: one frame, bit for bit
    FaPose odd = {{-0.0, 0.6, -0.0, 0.8}, {-0.0, 1, 2}}, same = fa_rig_pose(m->up, &odd);
    assert_memory_equal(&same, &odd, sizeof odd);
    same = fa_rig_head(m->up, &odd);
    assert_memory_equal(&same, &odd, sizeof odd);
}
static void test_poses(void **state) {
    (void)state;
    each(poses);
}

static FaMethod *open_feeling(const FaRig *rig) {
    FaError err = {0};
    FaParams *params;
    FaMethod *method;
    CHECK_OK(fa_params_new("analytic", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "head", "1", &err), &err);
    CHECK_OK(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = params}, &method, &err), &err);
    fa_params_free(params);
    return method;
}

static FaRun *open_run(const FaRig *rig, const FaClip *clip, FaMethod **method) {
    FaError err = {0};
    FaRun *run;
    *method = open_feeling(rig);
    CHECK_OK(fa_run_new(*method, clip, &run, &err), &err);
    return run;
}

// Flesh that feels the head: all as the rig's own clip moves it, and that as the upright head's, turned, up to what
// accelerations make of a file's keys being floats.
static void runs(const Made *m) {
    FaError err = {0};
    FaMethod *up, *odd, *another;
    FaRun *want = open_run(m->up, m->clip, &up), *own = open_run(m->odd, NULL, &odd);
    size_t n = (size_t)m->up->mesh.nvert;
    float *x = malloc(3 * n * sizeof *x), *y = malloc(3 * n * sizeof *y), *z = malloc(3 * n * sizeof *z);
    double felt = 0;
    for (int i = 1; i < VARIANTS; i++) {
        FaRun *is = open_run(m->odd, m->other[i], &another);
        for (int f = 0; f < FRAMES; f++) {
            CHECK_OK(fa_sequence_read(fa_run_sequence(want), f, x, &err), &err);
            CHECK_OK(fa_sequence_read(fa_run_sequence(own), f, y, &err), &err);
            CHECK_OK(fa_sequence_read(fa_run_sequence(is), f, z, &err), &err);
            for (int v = 0; v < (int)n; v++) {
                double a[3], b[3], c[3], turned[3];
                fai_v3_load(x, v, a);
                fai_v3_load(y, v, b);
                fai_v3_load(z, v, c);
                fai_m3_mulv(m->turn, a, turned);
                check_near("own, against upright", f, b, turned, 5 * NEAR);
                check_near(variant_name[i], f, c, b, i == VARIANTS - 1 ? 5 * NEAR : NEAR);
            }
            fa_rig_blend(m->up, m->clip->weight + f * m->clip->nchan, y);
            for (size_t k = 0; k < 3 * n; k++) felt = fmax(felt, fabs((double)x[k] - (double)y[k]));
        }
        fa_run_free(is);
        fa_method_close(another);
    }
    assert_true(felt > 1e-3); // there is something to get wrong
    free(x);
    free(y);
    free(z);
    fa_run_free(want);
    fa_run_free(own);
    fa_method_close(up);
    fa_method_close(odd);
}
// Live: an input's head is canonical too, whatever the rig's axes.
static void live(const Made *m) {
    FaError err = {0};
    FaMethod *up = open_feeling(m->up), *odd = open_feeling(m->odd);
    size_t n = (size_t)m->up->mesh.nvert;
    float *x = malloc(3 * n * sizeof *x), *y = malloc(3 * n * sizeof *y), *w = calloc((size_t)m->up->nshape, sizeof *w);
    double felt = 0;
    for (int f = 0; f < FRAMES; f++) {
        FaInput in = {.time = m->clip->time[f], .weights = w, .head = m->clip->head[f]};
        CHECK_OK(fa_method_step(up, &in, x, NULL, &err), &err);
        CHECK_OK(fa_method_step(odd, &in, y, NULL, &err), &err);
        for (int v = 0; v < (int)n; v++) {
            double a[3], b[3], rest[3], turned[3];
            fai_v3_load(x, v, a);
            fai_v3_load(y, v, b);
            fai_v3_load(m->up->mesh.x, v, rest);
            fai_m3_mulv(m->turn, a, turned);
            check_point("live", f, b, turned);
            fai_v3_sub(a, rest, a);
            felt = fmax(felt, fai_v3_norm(a));
        }
    }
    assert_true(felt > 1e-3);
    free(x);
    free(y);
    free(w);
    fa_method_close(up);
    fa_method_close(odd);
}
static void test_live(void **state) {
    (void)state;
    each(live);
}

static void test_runs(void **state) {
    (void)state;
    each(runs);
}

// Positions in the world, and markers with the head's pose.
static void worlds(const Made *m) {
    FaError err = {0};
    size_t n = (size_t)m->up->mesh.nvert;
    float *x = malloc(3 * n * sizeof *x), *y = malloc(3 * n * sizeof *y);
    FaMarkerMap *map;
    CHECK_OK(fa_markers_choose(m->odd, 12, &map, &err), &err);
    for (int i = 0; i < VARIANTS; i++) {
        FaSequence *seq, *world;
        FaMarkerTake *take;
        CHECK_OK(fa_sequence_of_clip(m->odd, m->other[i], &seq, &err), &err);
        CHECK_OK(fa_sequence_world(seq, m->odd, m->other[i], &world, &err), &err);
        CHECK_OK(fa_markers_sample(seq, map, 0, &take, &err), &err);
        for (int f = 0; f < FRAMES; f++) {
            CHECK_OK(fa_sequence_read(world, f, x, &err), &err);
            fa_rig_blend(m->up, m->clip->weight + f * m->clip->nchan, y);
            for (int v = 0; v < (int)n; v++) {
                double is[3], want[3];
                fai_v3_load(x, v, is);
                world_at(m, f, y + 3 * v, want);
                check_point(variant_name[i], f, is, want);
            }
            CHECK_NEAR(fabs(fai_q_dot(take->head[f].q, m->clip->head[f].q)), 1, 1e-9);
        }
        fa_markers_free(take);
        fa_sequence_close(world);
        fa_sequence_close(seq);
    }
    fa_marker_map_free(map);
    free(x);
    free(y);
}
static void test_worlds(void **state) {
    (void)state;
    each(worlds);
}

// The head in a written .glb is where the clip has it, and its crown is up.
static void check_glb(const Made *m, const FaRig *rig, const char *path, const char *what) {
    Glb g = open_glb(path);
    int node = face_node(&g), top = 0, bottom = 0;
    for (int v = 0; v < m->up->mesh.nvert; v++) {
        if (m->up->mesh.x[3 * v + 1] > m->up->mesh.x[3 * top + 1]) top = v;
        if (m->up->mesh.x[3 * v + 1] < m->up->mesh.x[3 * bottom + 1]) bottom = v;
    }
    for (int f = 0; f < FRAMES; f++)
        for (int v = 0; v < m->up->mesh.nvert; v += 7) {
            double is[3], want[3];
            in_file(rig, v, is);
            glb_world(&g, node, m->clip->time[f], is);
            world_at(m, f, m->up->mesh.x + 3 * v, want);
            check_point(what, f, is, want);
        }
    for (int f = 0; f < FRAMES; f++) {
        double a[3], b[3], d[3];
        in_file(rig, top, a);
        in_file(rig, bottom, b);
        glb_world(&g, node, m->clip->time[f], a);
        glb_world(&g, node, m->clip->time[f], b);
        fai_v3_sub(a, b, d);
        assert_true(d[1] > 0.7 * fai_v3_norm(d));
    }
    close_glb(&g);
}

static void glbs(const Made *m) {
    FaError err = {0};
    check_glb(m, m->odd, m->path, "the file itself");
    for (int i = 0; i < VARIANTS; i++) {
        const char *path = test_path("out.glb"), *baked = test_path("baked.glb");
        CHECK_OK(fa_rig_save(m->odd, m->other[i], path, &err), &err);
        check_glb(m, m->odd, path, variant_name[i]);
        if (i == 0) { // nothing was changed: not a byte either
            size_t a, b;
            char *before = read_text(m->path, &a), *after = read_text(path, &b);
            assert_int_equal(a, b);
            assert_memory_equal(before, after, a);
            free(before);
            free(after);
        }
        FaSequence *seq;
        CHECK_OK(fa_sequence_of_clip(m->odd, m->other[i], &seq, &err), &err);
        FaSinkOptions o = {.rig = m->odd, .clip = m->other[i], .fps = 32};
        CHECK_OK(fa_sequence_save(seq, baked, &o, NULL, &err), &err);
        check_glb(m, m->odd, baked, variant_name[i]);
        fa_sequence_close(seq);
    }
}
static void test_glbs(void **state) {
    (void)state;
    each(glbs);
}

// USD: the operations in their order, as numbers behind their names.
static const char *after(const char *text, const char *name) {
    const char *at = strstr(text, name);
    assert_non_null(at);
    return at + strlen(name);
}

static void skip_to_numbers(const char **at, int n, double *out) {
    for (int i = 0; i < n; i++) {
        *at += strcspn(*at, "-0123456789");
        char *end;
        out[i] = strtod(*at, &end);
        *at = end;
    }
}

static void usdas(const Made *m) {
    FaError err = {0};
    for (int i = 0; i < VARIANTS; i++) {
        CHECK_OK(fa_rig_save(m->odd, m->other[i], test_path("out.usda"), &err), &err);
        size_t size;
        char *text = read_text(test_path("out.usda"), &size);
        assert_non_null(
            strstr(text, "[\"xformOp:translate:head\", \"xformOp:orient:head\", \"xformOp:transform:axes\"]"));
        const char *p = after(text, "translate:head.timeSamples = {"), *q = after(text, "orient:head.timeSamples = {"),
                   *a = after(text, "transform:axes = (");
        double rows[16];
        skip_to_numbers(&a, 16, rows);
        for (int f = 0; f < FRAMES; f++) {
            double t[4], r[5];
            skip_to_numbers(&p, 4, t); // time code, then x y z
            skip_to_numbers(&q, 5, r); // time code, then w x y z
            for (int v = 0; v < m->up->mesh.nvert; v += 50) {
                double x[3], y[3] = {0}, want[3];
                const double turn[4] = {r[2], r[3], r[4], r[1]};
                fai_v3_load(m->odd->mesh.x, v, x);
                for (int k = 0; k < 9; k++) y[k % 3] += x[k / 3] * rows[4 * (k / 3) + k % 3];
                fai_q_rotate(turn, y, x);
                fai_v3_add(x, t + 1, x);
                world_at(m, f, m->up->mesh.x + 3 * v, want);
                check_point(variant_name[i], f, x, want);
            }
        }
        free(text);
    }
}
static void test_usda(void **state) {
    (void)state;
    each(usdas);
}

// What is drawn: axes * motion * mesh is the world, turned so that the face looks at the camera.
static void subjects(const Made *m) {
    FaError err = {0};
    double turn[9];
    fai_portrait_turn(m->clip, turn);
    for (int i = 0; i < VARIANTS; i++) {
        FaSubject *s;
        CHECK_OK(fai_subject_new(m->odd, m->other[i], true, &s, &err), &err);
        for (int f = 0; f < FRAMES; f++) {
            double a[12];
            assert_true(fai_subject_motion(s, m->other[i]->time[f], a));
            for (int v = 0; v < m->up->mesh.nvert; v += 50) {
                double x[3], y[3], is[3], want[3];
                fai_v3_load(m->odd->mesh.x, v, x);
                for (int k = 0; k < 3; k++) y[k] = fai_v3_dot(a + 4 * k, x) + a[4 * k + 3];
                fai_m3_mulv(m->odd->axes, y, is);
                world_at(m, f, m->up->mesh.x + 3 * v, want);
                fai_m3_mulv(turn, want, x);
                check_point(variant_name[i], f, is, x);
            }
        }
        fai_subject_free(s);
    }
}
static void test_subjects(void **state) {
    (void)state;
    each(subjects);
}

#ifdef FA_HAVE_ZLIB
static int digit(char c) {
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(all, c) : NULL;
    return at ? (int)(at - all) : -1;
}

// The page's block, unpacked; free it.
static char *page_block(const char *path, size_t *size) {
    size_t n, used = 0;
    char *text = read_text(path, &n);
    const char *p = after(text, "<script id=\"fascia-data\" type=\"text/plain\">");
    unsigned char *zipped = malloc(n);
    for (; digit(p[0]) >= 0; p += 4) {
        int v[4] = {digit(p[0]), digit(p[1]), digit(p[2]), digit(p[3])};
        zipped[used++] = (unsigned char)(v[0] << 2 | v[1] >> 4);
        if (v[2] >= 0) zipped[used++] = (unsigned char)(v[1] << 4 | v[2] >> 2);
        if (v[3] >= 0) zipped[used++] = (unsigned char)(v[2] << 6 | v[3]);
    }
    free(text);
    size_t room = 64 << 20;
    char *out = malloc(room);
    z_stream z = {
        .next_in = zipped, .avail_in = (unsigned)used, .next_out = (unsigned char *)out, .avail_out = (unsigned)room};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    *size = z.total_out;
    inflateEnd(&z);
    free(zipped);
    return out;
}

// The page turns the mesh as it is by its poses, from the first on: here as its viewer does it.
static void pages(const Made *m) {
    FaError err = {0};
    for (int i = 0; i < VARIANTS; i += 7) { // the rig's own, and one from elsewhere
        FaSequence *seq;
        CHECK_OK(fa_sequence_of_clip(m->odd, m->other[i], &seq, &err), &err);
        FaPageTrack track = {.name = "a", .seq = seq, .clip = m->other[i]};
        FaCode rc = fa_page_save(test_path("page.html"), m->odd, &track, 1, NULL, &err);
        fa_sequence_close(seq);
        if (rc == FA_E_UNSUPPORTED) return; // a build without the viewer
        CHECK_OK(rc, &err);
        size_t size;
        char *block = page_block(test_path("page.html"), &size);
        uint32_t n = u32_at(block + 8);
        FaJsonDoc *doc;
        bool bom;
        CHECK_OK(fai_json_parse(block + 12, n, &doc, &bom, &err), &err);
        const FaJson *head = fai_json_get(fai_json_at(fai_json_get(doc->root, "tracks"), 0), "head");
        assert_non_null(head);
        const float *h = (const float *)(block + (12 + n + 7) / 8 * 8 + int_of(head, "offset", 0));
        FaPose first = fai_pose_identity(), begun = fai_pose_inverse(&m->clip->head[0]);
        for (int f = 0; f < FRAMES; f++) {
            FaPose at;
            for (int k = 0; k < 4; k++) at.q[k] = (double)h[7 * f + k];
            for (int k = 0; k < 3; k++) at.p[k] = (double)h[7 * f + 4 + k];
            if (f == 0) first = fai_pose_inverse(&at);
            at = fai_pose_mul(&first, &at);
            double x[3], y[3], want[3];
            fai_v3_load(m->odd->mesh.x, 200, x);
            fai_pose_apply(&at, x, y);
            world_at(m, f, m->up->mesh.x + 600, x);
            fai_pose_apply(&begun, x, want);
            fai_m3_mulv(m->turn, want, x);
            check_point(variant_name[i], f, y, x);
        }
        fai_json_free(doc);
        free(block);
    }
}
static void test_pages(void **state) {
    (void)state;
    each(pages);
}
#endif

// A picture aimed at the mouth shows it in every frame: the middle of each picture is skin, and of the same place.
static void check_middle(const unsigned char *rgb, int width, int x, int y, const char *what) {
    const unsigned char *p = rgb + 3 * ((size_t)y * (size_t)width + (size_t)x);
    if (p[0] > p[2] + 20) return; // the ground is grey
    print_error("%s: the middle is %d %d %d\n", what, p[0], p[1], p[2]);
    fail();
}

static void focus(const Made *m) {
    FaError err = {0};
    unsigned char *rgb;
    int width, height;
    for (int i = 0; i < VARIANTS; i += 7) {
        FaClip *clip;
        CHECK_OK(fa_clip_slice(m->other[i], 0, FRAMES - 1, &clip, &err), &err);
        for (int f = 0; f < FRAMES; f++) clip->head[f].p[0] += 0.05 * f; // it walks away
        FaSequence *seq;
        CHECK_OK(fa_sequence_of_clip(m->odd, clip, &seq, &err), &err);
        FaRenderJob job = fa_render_job();
        job.rig = m->odd, job.clip = clip, job.world = true;
        job.look.width = job.look.height = 32, job.look.samples = 1;
        assert_true(fa_render_focus(m->odd, "mouth", job.look.view.focus));
        job.look.view.aim = true, job.look.view.zoom = 3.5;
        job.look.view.yaw = 360 / M_PI * atan2(m->place.q[1], m->place.q[3]); // from where it looks at rest
        for (job.frame = 0; job.frame < FRAMES; job.frame += 11) {
            CHECK_OK(fa_render_file(seq, &job, test_path("still.png"), &err), &err);
            CHECK_OK(fai_png_read(test_path("still.png"), &rgb, &width, &height, &err), &err);
            check_middle(rgb, width, width / 2, height / 2, "a still");
            fa_free(rgb);
        }
        job.picture = FA_PICTURE_FRAMES, job.tiles = 4, job.columns = 4, job.frame = 0;
        CHECK_OK(fa_render_file(seq, &job, test_path("sheet.png"), &err), &err);
        CHECK_OK(fai_png_read(test_path("sheet.png"), &rgb, &width, &height, &err), &err);
        for (int k = 0; k < 4; k++) check_middle(rgb, width, (2 * k + 1) * width / 8, 16, "a sheet");
        fa_free(rgb);
        fa_sequence_close(seq);
        fa_clip_free(clip);
    }
}
static void test_focus(void **state) {
    (void)state;
    each(focus);
}

// facecap: the node's animation, read here, is what every clip writes again; flesh does not know the difference.
static void test_facecap(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/facecap_decoded.glb");
    FaError err = {0};
    FaRig *rig;
    FaClip *other[VARIANTS];
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    make_variants(rig, NULL, other);
    Glb before = open_glb(path);
    FaMethod *method[2];
    FaRun *own = open_run(rig, rig->clip, &method[0]);
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    int crown = 0, node = face_node(&before);
    for (int v = 0; v < rig->mesh.nvert; v++) {
        double a[3], b[3];
        fai_v3_load(rig->mesh.x, v, a);
        fai_v3_load(rig->mesh.x, crown, b);
        if (fai_v3_dot(rig->axes + 3, a) > fai_v3_dot(rig->axes + 3, b)) crown = v;
    }
    for (int i = 1; i < VARIANTS; i++) {
        CHECK_OK(fa_rig_save(rig, other[i], test_path("out.glb"), &err), &err);
        Glb g = open_glb(test_path("out.glb"));
        FaRun *is = open_run(rig, other[i], &method[1]);
        for (int f = 0; f < rig->clip->nframe; f += 37) {
            double t = rig->clip->time[f];
            for (int v = 0; v < rig->mesh.nvert; v += 99) {
                double want[3], has[3];
                in_file(rig, v, want);
                in_file(rig, v, has);
                glb_world(&before, node, rig->clip->start + t, want);
                glb_world(&g, node, t, has);
                for (int k = 0; k < 3; k++) want[k] *= rig->unit, has[k] *= rig->unit;
                check_point(variant_name[i], f, has, want);
            }
            CHECK_OK(fa_sequence_read(fa_run_sequence(own), f, x, &err), &err);
            CHECK_OK(fa_sequence_read(fa_run_sequence(is), f, y, &err), &err);
            for (size_t k = 0; k < n; k++) CHECK_NEAR(x[k], y[k], NEAR);
        }
        fa_run_free(is);
        fa_method_close(method[1]);
        close_glb(&g);
    }
    // a clip from elsewhere: upright, as it says
    FaClip *still;
    CHECK_OK(fa_clip_slice(rig->clip, 0, 3, &still, &err), &err);
    for (int f = 0; f < 4; f++) still->head[f] = (FaPose){{0, 0, 0, 1}, {0.01 * f, 0, 0}};
    CHECK_OK(fa_rig_save(rig, still, test_path("out.glb"), &err), &err);
    Glb g = open_glb(test_path("out.glb"));
    double top[3], middle[3], d[3], centre[3] = {0};
    for (int v = 0; v < rig->mesh.nvert; v++) {
        in_file(rig, v, top);
        glb_world(&g, node, 0, top);
        fai_v3_mad(centre, 1.0 / rig->mesh.nvert, top, middle);
        memcpy(centre, middle, sizeof centre);
    }
    in_file(rig, crown, top);
    glb_world(&g, node, 0, top);
    fai_v3_sub(top, centre, d);
    assert_true(d[1] > 0.8 * fai_v3_norm(d));
    close_glb(&g);
    fa_clip_free(still);
    fa_run_free(own);
    fa_method_close(method[0]);
    close_glb(&before);
    free(x);
    free(y);
    free_variants(other);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poses),    cmocka_unit_test(test_runs),    cmocka_unit_test(test_live),
        cmocka_unit_test(test_worlds),   cmocka_unit_test(test_glbs),    cmocka_unit_test(test_usda),
        cmocka_unit_test(test_subjects),
#ifdef FA_HAVE_ZLIB
        cmocka_unit_test(test_pages),
#endif
        cmocka_unit_test(test_focus),    cmocka_unit_test(test_facecap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
