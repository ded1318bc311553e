// USDA: what we write is parsed again by a small reader of its own, which knows the grammar and nothing of the writer.
#include "test.h"

#include "base/base.h"
#include "base/file.h"
#include "base/number.h"
#include "io/usda.h"
#include "math/mat3.h"
#include "rig/head_frame.h"

#include <ctype.h>
#include <unistd.h>

// --- a reader of .usda --------------------------------------------------------------------------------------------
//   layer      = "#usda 1.0" [metadata] prim*
//   metadata   = "(" (string | ["prepend"] name "=" value)* ")"
//   prim       = "def" type string [metadata] "{" (property | prim)* "}"
//   property   = ["uniform"] type ["[]"] name [".timeSamples"] "=" value [metadata]  |  "rel" name "=" value
//   value      = number | string | path | "(" list ")" | "[" list "]" | "{" dictionary or samples "}"

typedef struct Usd {
    const char *text, *p;
    const char *wanted; // "/Head/Mesh.points": its value is recorded
    char here[1000];    // path of the prim being read
    double *number;     // numbers of the wanted value, in order
    int count, room;
    int tuples, samples; // how many tuples, and how many time samples
    char strings[4000];  // strings and paths of the wanted value, each followed by '|'
    bool found, taking;
    char type[100]; // of the wanted property
    int prims, props;
} Usd;

static void stop(const Usd *u, const char *what) {
    int line = 1;
    for (const char *q = u->text; q < u->p; q++) line += *q == '\n';
    print_error("usda line %d: %s at '%.30s'\n", line, what, u->p);
    fail();
}

static void blank(Usd *u) {
    while (isspace((unsigned char)*u->p) || *u->p == '#')
        if (*u->p == '#')
            u->p += strcspn(u->p, "\n");
        else
            u->p++;
}
static bool at(Usd *u, const char *word) {
    blank(u);
    size_t n = strlen(word);
    bool name = isalpha((unsigned char)word[0]);
    return !strncmp(u->p, word, n) && !(name && (isalnum((unsigned char)u->p[n]) || u->p[n] == '_'));
}
static bool take(Usd *u, const char *word) {
    if (!at(u, word)) return false;
    u->p += strlen(word);
    return true;
}
static void expect(Usd *u, const char *word) {
    if (!take(u, word)) stop(u, word);
}

static void take_string(Usd *u, char *out, size_t size) {
    expect(u, "\"");
    size_t n = 0;
    for (; *u->p != '"'; u->p++) {
        if (!*u->p || *u->p == '\n') stop(u, "a string does not end");
        if (*u->p == '\\') {
            u->p++;
            if (*u->p == 'x') {
                if (!isxdigit((unsigned char)u->p[1]) || !isxdigit((unsigned char)u->p[2])) stop(u, "escape");
                u->p += 2;
            } else if (!strchr("\"\\nt", *u->p))
                stop(u, "escape");
        }
        if (n + 1 < size) out[n++] = *u->p;
    }
    u->p++;
    out[n] = 0;
}

static void take_name(Usd *u, char *out, size_t size, const char *extra) {
    blank(u);
    size_t n = 0;
    if (!isalpha((unsigned char)*u->p) && *u->p != '_') stop(u, "a name is expected");
    while (isalnum((unsigned char)*u->p) || *u->p == '_' || (*u->p && strchr(extra, *u->p))) {
        if (n + 1 < size) out[n++] = *u->p;
        u->p++;
    }
    out[n] = 0;
}

static void record_text(Usd *u, const char *s) {
    if (!u->taking) return;
    size_t n = strlen(u->strings);
    snprintf(u->strings + n, sizeof u->strings - n, "%s|", s);
}

static void take_value(Usd *u, int depth);

static void take_list(Usd *u, const char *close, int depth) {
    while (!take(u, close)) {
        take_value(u, depth + 1);
        if (!take(u, ",")) {
            expect(u, close);
            return;
        }
    }
}

// { 0: value, 1: value } or { string name = "x" }
static void take_braces(Usd *u, int depth) {
    double last = -INFINITY;
    while (!take(u, "}")) {
        blank(u);
        if (isalpha((unsigned char)*u->p)) {
            char word[100];
            take_name(u, word, sizeof word, "[]");
            take_name(u, word, sizeof word, ":");
            expect(u, "=");
            take_value(u, depth + 1);
            continue;
        }
        double time;
        const char *q = fai_parse_double(u->p, u->p + strlen(u->p), &time);
        if (!q || !(time > last)) stop(u, "time samples must increase");
        last = time;
        u->p = q;
        expect(u, ":");
        if (u->taking) u->samples++;
        take_value(u, depth + 1);
        if (!take(u, ",") && !at(u, "}")) stop(u, "',' or '}'");
    }
}

static void take_value(Usd *u, int depth) {
    char text[1000];
    if (depth > 8) stop(u, "too deep");
    blank(u);
    if (take(u, "(")) {
        if (u->taking) u->tuples++;
        take_list(u, ")", depth);
    } else if (take(u, "["))
        take_list(u, "]", depth);
    else if (take(u, "{"))
        take_braces(u, depth);
    else if (*u->p == '"') {
        take_string(u, text, sizeof text);
        record_text(u, text);
    } else if (take(u, "<")) {
        size_t n = strcspn(u->p, ">\n");
        snprintf(text, sizeof text, "%.*s", (int)n, u->p);
        u->p += n;
        expect(u, ">");
        record_text(u, text);
    } else {
        double v;
        const char *q = fai_parse_double(u->p, u->p + strlen(u->p), &v);
        if (!q || !isfinite(v)) stop(u, "a value is expected");
        u->p = q;
        if (!u->taking) return;
        if (u->count == u->room)
            u->number = realloc(u->number, (size_t)(u->room = 2 * u->room + 64) * sizeof *u->number);
        u->number[u->count++] = v;
    }
}

static void want(Usd *u, const char *name, const char *suffix, const char *type) {
    char path[1200];
    snprintf(path, sizeof path, "%s.%s%s", u->here, name, suffix);
    u->taking = u->wanted && !strcmp(path, u->wanted);
    if (u->taking) snprintf(u->type, sizeof u->type, "%.39s", type);
    u->found |= u->taking;
}

static void take_metadata(Usd *u) {
    if (!take(u, "(")) return;
    while (!take(u, ")")) {
        char name[100];
        take(u, "prepend");
        take_name(u, name, sizeof name, "");
        expect(u, "=");
        want(u, name, "", "metadata");
        take_value(u, 0);
        u->taking = false;
    }
}

static void take_property(Usd *u) {
    char type[100], name[200];
    bool uniform = take(u, "uniform");
    (void)uniform;
    take_name(u, type, sizeof type, "[]");
    take_name(u, name, sizeof name, ":");
    bool samples = take(u, ".timeSamples");
    expect(u, "=");
    want(u, name, samples ? ".timeSamples" : "", type);
    take_value(u, 0);
    u->taking = false;
    u->props++;
    take_metadata(u);
}

static void take_prim(Usd *u) {
    char type[100], name[200], *end = u->here + strlen(u->here);
    take_name(u, type, sizeof type, "");
    take_string(u, name, sizeof name);
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') stop(u, "a prim name is no identifier");
    if (isdigit((unsigned char)name[0]) || !name[0]) stop(u, "a prim name is no identifier");
    snprintf(end, sizeof u->here - (size_t)(end - u->here), "/%s", name);
    u->prims++;
    take_metadata(u);
    expect(u, "{");
    while (!take(u, "}")) {
        if (take(u, "def"))
            take_prim(u);
        else
            take_property(u);
    }
    *end = 0;
}

// Parse the whole file; record the value at `wanted` (nullable).
static Usd parse_usda(const char *path, const char *wanted) {
    FaError err = {0};
    FaBytes b;
    CHECK_OK(fai_file_read(path, 0, &b, &err), &err);
    Usd u = {.text = (const char *)b.data, .wanted = wanted};
    u.p = u.text;
    if (strncmp(u.p, "#usda 1.0\n", 10)) stop(&u, "#usda 1.0");
    take_metadata(&u);
    for (blank(&u); *u.p; blank(&u)) {
        expect(&u, "def");
        take_prim(&u);
    }
    if (wanted && !u.found) {
        print_error("%s is not in the file\n", wanted);
        fail();
    }
    fai_bytes_free(&b);
    u.text = u.p = NULL;
    return u;
}

static double number_at(const char *path, const char *wanted) {
    Usd u = parse_usda(path, wanted);
    assert_int_equal(u.count, 1);
    double v = u.number[0];
    free(u.number);
    return v;
}

static void check_text(const char *path, const char *wanted, const char *expected) {
    Usd u = parse_usda(path, wanted);
    assert_string_equal(u.strings, expected);
    free(u.number);
}

static void check_numbers(const char *path, const char *wanted, const char *type, int n, const double *expected) {
    Usd u = parse_usda(path, wanted);
    assert_string_equal(u.type, type);
    assert_int_equal(u.count, n);
    for (int i = 0; i < n; i++) CHECK_NEAR(u.number[i], expected[i], 1e-12);
    free(u.number);
}

// --- what is written ----------------------------------------------------------------------------------------------

static float cube_x[] = {0, 0, 0, 0.2f, 0, 0, 0.2f, 0.2f, 0, 0, 0.2f, 0.1f, 0.1f, 0.3f, 1e-7f};
static int start[] = {0, 4, 7}, vert[] = {0, 1, 2, 3, 3, 2, 4}, face_uv[] = {0, 1, 0, 1, -1, -1, -1};
static float uv[] = {0.25f, 0.5f, 0, 1};
static FaShape shapes[] = {{.name = "jawOpen", .first = 0, .count = 2},
                           {.name = "smile \"L\"/1", .first = 2, .count = 1},
                           {.name = "smile__L__1", .first = 3, .count = 0}};
static int rows[] = {1, 4, 0};
static float deltas[] = {0, -0.01f, 0, 0.5f, 0.25f, -1e-9f, 1, 2, 3}, rest[] = {0, 0.5f, 0};

static FaRig make_rig(void) {
    return (FaRig){.mesh = {.nvert = 5,
                            .nface = 2,
                            .nuv = 2,
                            .x = cube_x,
                            .face_start = start,
                            .face_vert = vert,
                            .face_uv = face_uv,
                            .uv = uv},
                   .nshape = 3,
                   .nentry = 3,
                   .shape = shapes,
                   .row = rows,
                   .delta = deltas,
                   .weight = rest,
                   .name = "my head.001",
                   .path = "",
                   .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
}

static FaClip *make_clip(int nframe) {
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_new(nframe, 2, (const char *const[]){"smile \"L\"/1", "jawOpen"}, 24, &clip, &err), &err);
    for (int f = 0; f < nframe; f++)
        clip->weight[2 * f] = 0.125f * (float)f, clip->weight[2 * f + 1] = 1 - 0.25f * (float)f;
    clip->head = fai_alloc_array((size_t)nframe, sizeof(FaPose));
    for (int f = 0; f < nframe; f++) clip->head[f] = (FaPose){{0, 0, sin(0.1 * f), cos(0.1 * f)}, {0.5 * f, 0, -1}};
    return clip;
}

static void test_frames(void **state) {
    (void)state;
    FaRig rig = make_rig();
    FaClip *clip = make_clip(3);
    const char *path = test_path("frames.usda");
    FaError err = {0};
    FaUsdaWriter *w;
    CHECK_OK(fai_usda_create(path, &rig, clip, 24, 0.5, "made \"here\"\nby us", &w, &err), &err);
    float x[3][15];
    for (int f = 0; f < 3; f++) {
        for (int i = 0; i < 15; i++) x[f][i] = cube_x[i] + 0.1f * (float)f;
        CHECK_OK(fai_usda_push(w, f / 24.0, x[f], &err), &err);
    }
    CHECK_OK(fai_usda_finish(w, &err), &err);

    Usd u = parse_usda(path, "/my_head_001/Mesh.points.timeSamples");
    assert_int_equal(u.prims, 2);
    assert_string_equal(u.type, "point3f[]");
    assert_int_equal(u.samples, 3);
    assert_int_equal(u.tuples, 15);
    for (int i = 0; i < 45; i++) assert_true((float)u.number[i] == x[i / 15][i % 15]); // to the last bit
    free(u.number);
    CHECK_NEAR(number_at(path, ".startTimeCode"), 12, 0);
    CHECK_NEAR(number_at(path, ".endTimeCode"), 14, 0);
    CHECK_NEAR(number_at(path, ".timeCodesPerSecond"), 24, 0);
    CHECK_NEAR(number_at(path, ".framesPerSecond"), 24, 0);
    CHECK_NEAR(number_at(path, ".metersPerUnit"), 1, 0);
    check_text(path, ".upAxis", "Y|");
    check_text(path, ".defaultPrim", "my_head_001|");
    check_text(path, ".doc", "made \"here\"nby us|");
    check_text(path, "/my_head_001.customData", "my head.001|");
    check_text(path, "/my_head_001/Mesh.subdivisionScheme", "none|");
    check_numbers(path, "/my_head_001/Mesh.faceVertexCounts", "int[]", 2, (double[]){4, 3});
    check_numbers(path, "/my_head_001/Mesh.faceVertexIndices", "int[]", 7, (double[]){0, 1, 2, 3, 3, 2, 4});
    check_numbers(path, "/my_head_001/Mesh.primvars:st", "texCoord2f[]", 6, (double[]){0.25, 0.5, 0, 1, 0, 0});
    check_numbers(path, "/my_head_001/Mesh.primvars:st:indices", "int[]", 7, (double[]){0, 1, 0, 1, 2, 2, 2});
    check_numbers(path, "/my_head_001.xformOp:translate:head.timeSamples", "double3", 9,
                  (double[]){0, 0, -1, 0.5, 0, -1, 1, 0, -1});
    check_numbers(path, "/my_head_001.xformOp:orient:head.timeSamples", "quatd", 12,
                  (double[]){1, 0, 0, 0, cos(0.1), 0, 0, sin(0.1), cos(0.2), 0, 0, sin(0.2)});
    check_text(path, "/my_head_001.xformOpOrder", "xformOp:translate:head|xformOp:orient:head|");
    u = parse_usda(path, "/my_head_001/Mesh.extent.timeSamples");
    assert_int_equal(u.samples, 3);
    CHECK_NEAR(u.number[2 * 6 + 4], 0.3f + 0.2f, 1e-7); // largest y of the last frame
    free(u.number);
    fa_clip_free(clip);
}

static void test_rig(void **state) {
    (void)state;
    FaRig rig = make_rig();
    static const double turn[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0}; // z up
    memcpy(rig.axes, turn, sizeof turn);
    FaClip *clip = make_clip(3);
    const char *path = test_path("rig.usda");
    FaError err = {0};
    CHECK_OK(fai_usda_save_rig(&rig, clip, path, &err), &err);
#define M "/my_head_001/Mesh"
    Usd u = parse_usda(path, M ".skel:blendShapes");
    assert_int_equal(u.prims, 7);
    assert_string_equal(u.strings, "jawOpen|smile \"L\"/1|smile__L__1|"); // tokens are the names as they are
    check_text(path, M ".skel:blendShapeTargets", M "/jawOpen|" M "/smile__L__1|" M "/smile__L__1_2|");
    check_text(path, M ".skel:skeleton", "/my_head_001/Skeleton|");
    check_text(path, M ".apiSchemas", "SkelBindingAPI|");
    check_numbers(path, M ".primvars:skel:jointIndices", "int[]", 5, (double[]){0, 0, 0, 0, 0});
    check_numbers(path, M ".primvars:skel:jointWeights", "float[]", 5, (double[]){1, 1, 1, 1, 1});
    check_text(path, M "/smile__L__1.customData", "smile \"L\"/1|");
    check_text(path, "/my_head_001/Skeleton.skel:animationSource", "/my_head_001/Animation|");
    check_text(path, "/my_head_001/Animation.blendShapes", "jawOpen|smile \"L\"/1|smile__L__1|");
    check_numbers(path, M "/jawOpen.pointIndices", "int[]", 2, (double[]){1, 4});
    u = parse_usda(path, M "/jawOpen.offsets");
    assert_string_equal(u.type, "vector3f[]");
    for (int i = 0; i < 6; i++) assert_true((float)u.number[i] == deltas[i]);
    free(u.number);
    check_numbers(path, M "/smile__L__1_2.pointIndices", "int[]", 0, NULL);
    check_numbers(path, "/my_head_001/Animation.blendShapeWeights", "float[]", 3, (double[]){0, 0.5, 0});
    // driven by name; the third is driven by nothing and stays at rest
    check_numbers(path, "/my_head_001/Animation.blendShapeWeights.timeSamples", "float[]", 9,
                  (double[]){1, 0, 0, 0.75, 0.125, 0, 0.5, 0.25, 0});
    CHECK_NEAR(number_at(path, ".endTimeCode"), 2, 0);
    // matrices act on rows: the transpose of ours
    check_numbers(path, "/my_head_001.xformOp:transform:axes", "matrix4d", 16,
                  (double[]){1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1});
    check_text(path, "/my_head_001.xformOpOrder", "xformOp:translate:head|xformOp:orient:head|xformOp:transform:axes|");
    fa_clip_free(clip);

    // the rig's own clip is like any other
    CHECK_OK(fa_clip_new(2, 3, (const char *const[]){"a", "b", "c"}, 24, &clip, &err), &err);
    clip->head = fai_alloc_array(2, sizeof(FaPose));
    clip->head[0].q[3] = clip->head[1].q[3] = 1;
    clip->weight[2] = 0.75f;
    rig.clip = clip;
    CHECK_OK(fai_usda_save_rig(&rig, clip, path, &err), &err);
    check_text(path, "/my_head_001.xformOpOrder", "xformOp:translate:head|xformOp:orient:head|xformOp:transform:axes|");
    check_numbers(path, "/my_head_001/Animation.blendShapeWeights.timeSamples", "float[]", 6,
                  (double[]){0, 0, 0.75, 0, 0, 0});
    rig.clip = NULL;
    fa_clip_free(clip);

    // no shapes, no clip: a plain mesh without time
    rig.nshape = 0;
    CHECK_OK(fai_usda_save_rig(&rig, NULL, path, &err), &err);
    u = parse_usda(path, M ".points");
    assert_int_equal(u.prims, 2);
    assert_int_equal(u.count, 15);
    free(u.number);
}

// A body stands while its head turns: as frames its points, as a rig a joint on a joint.
static void test_body(void **state) {
    (void)state;
    static float share[] = {0, 0.25f, 1, 1, 0.5f};
    static const double turn[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0}; // z up
    FaRig rig = make_rig();
    memcpy(rig.axes, turn, sizeof turn);
    rig.body = true;
    rig.head_share = share;
    rig.rest = fai_head_axes(&rig);
    rig.rest.p[1] = 1.5;
    rig.pivot[0] = rig.pivot[1] = 0.1;
    FaClip *clip = make_clip(3);
    const char *path = test_path("body.usda");
    FaError err = {0};
    FaUsdaWriter *w;
    CHECK_OK(fai_usda_create(path, &rig, clip, 24, 0, NULL, &w, &err), &err);
    float x[3][15];
    for (int f = 0; f < 3; f++) {
        FaPose pose = fa_rig_pose(&rig, &clip->head[f]);
        FaCarry carry = fai_carry(&rig, &pose);
        CHECK_OK(fai_usda_push(w, f / 24.0, cube_x, &err), &err);
        memcpy(x[f], cube_x, sizeof cube_x);
        fai_carry_points(&carry, share, 0, 5, x[f]);
    }
    CHECK_OK(fai_usda_finish(w, &err), &err);
    Usd u = parse_usda(path, "/my_head_001/Mesh.points.timeSamples");
    assert_int_equal(u.count, 45);
    for (int i = 0; i < 45; i++) CHECK_NEAR(u.number[i], (double)x[i / 15][i % 15], 1e-6);
    free(u.number);
    u = parse_usda(path, "/my_head_001/Mesh.points");
    CHECK_NEAR(u.number[1], 1.5, 1e-6); // at rest, in the same world
    free(u.number);

    CHECK_OK(fai_usda_save_rig(&rig, clip, path, &err), &err);
    check_text(path, "/my_head_001.xformOpOrder", "xformOp:transform:axes|");
    check_text(path, "/my_head_001/Animation.joints", "root|root/head|");
    check_numbers(path, M ".primvars:skel:jointIndices", "int[]", 10, (double[]){0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
    check_numbers(path, M ".primvars:skel:jointWeights", "float[]", 10,
                  (double[]){1, 0, 0.75, 0.25, 0, 1, 0, 1, 0.5, 0.5});
    Usd q = parse_usda(path, "/my_head_001/Animation.rotations.timeSamples"),
        p = parse_usda(path, "/my_head_001/Animation.translations.timeSamples");
    assert_int_equal(q.count, 24);
    assert_int_equal(p.count, 18);
    FaPose axes = fai_head_axes(&rig);
    for (int f = 0; f < 3; f++) {
        FaPose joint[2];
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 4; k++) {
                joint[j].q[(k + 3) % 4] = q.number[8 * f + 4 * j + k];
                if (k < 3) joint[j].p[k] = p.number[6 * f + 3 * j + k];
            }
        joint[0] = fai_pose_mul(&axes, &joint[0]);
        joint[1] = fai_pose_mul(&joint[0], &joint[1]);
        for (int v = 0; v < 5; v++) {
            double at[3], out[2][3];
            fai_v3_load(cube_x, v, at);
            for (int j = 0; j < 2; j++) fai_pose_apply(&joint[j], at, out[j]);
            for (int k = 0; k < 3; k++)
                CHECK_NEAR((1 - (double)share[v]) * out[0][k] + (double)share[v] * out[1][k], (double)x[f][3 * v + k],
                           1e-6);
        }
    }
    free(q.number);
    free(p.number);
    fa_clip_free(clip);
}

static void test_failures(void **state) {
    (void)state;
    FaRig rig = make_rig();
    FaError err = {0};
    FaUsdaWriter *w;
    assert_int_equal(fai_usda_create(test_path("no/folder.usda"), &rig, NULL, 24, 0, NULL, &w, &err), FA_E_FILE);
    assert_null(w);
    err = (FaError){0};
    const char *path = test_path("empty.usda");
    CHECK_OK(fai_usda_create(path, &rig, NULL, 24, 0, NULL, &w, &err), &err);
    assert_int_equal(fai_usda_finish(w, &err), FA_E_ARG);
    assert_int_not_equal(access(path, F_OK), 0);

    FaClip *clip = make_clip(2);
    test_fail_alloc(0);
    long before = test_alloc_balance();
    bool done = false;
    for (long n = 1; n < 300 && !done; n++) {
        err = (FaError){0};
        test_fail_alloc(n);
        FaCode rc = fai_usda_save_rig(&rig, clip, path, &err);
        if (rc >= 0) rc = fai_usda_create(path, &rig, clip, 24, 0, NULL, &w, &err);
        if (rc >= 0 && (rc = fai_usda_push(w, 0, cube_x, &err)) < 0)
            fai_usda_abandon(w);
        else if (rc >= 0)
            rc = fai_usda_finish(w, &err);
        done = !test_alloc_failed();
        test_fail_alloc(0);
        if (rc < 0) assert_int_equal(rc, FA_E_MEMORY);
        assert_int_equal(test_alloc_balance(), before);
    }
    assert_true(done);
    fa_allocator_set(NULL);
    fa_clip_free(clip);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_frames), cmocka_unit_test(test_rig),
                                       cmocka_unit_test(test_body), cmocka_unit_test(test_failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
