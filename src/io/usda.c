#include "io/usda.h"

#include "base/file.h"
#include "io/decimal.h"
#include "io/sequence.h"
#include "math/mat3.h"
#include "rig/head_frame.h"

#include <float.h>
#include <math.h>

enum { IDENT = 128, COMPARED = 4096, FLUSH = 1 << 16, CODE_WIDTH = 26 };

// Text on its way to the file; `bytes` is the file offset of its beginning.
typedef struct Out {
    FaOutput *file;
    FaText text;
    uint64_t bytes;
} Out;

static FaCode flush(Out *o, size_t keep, FaError *err) {
    if (o->text.failed) return FA_FAIL_MEMORY(err);
    if (o->text.size <= keep) return FA_OK;
    FA_TRY(fai_output_write(o->file, o->text.data, o->text.size, err));
    o->bytes += o->text.size;
    o->text.size = 0;
    return FA_OK;
}

// --- words --------------------------------------------------------------------------------------------------------

static void put_string(FaText *t, const char *s) {
    fai_text_bytes(t, "\"", 1);
    for (; s && *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fai_text_printf(t, "\\%c", c);
        else if (c == '\n')
            fai_text_str(t, "\\n");
        else if (c < 0x20 || c == 0x7f)
            fai_text_printf(t, "\\x%02x", c);
        else
            fai_text_bytes(t, s, 1);
    }
    fai_text_bytes(t, "\"", 1);
}

// A prim name: letters, digits and '_', not a digit first. False if it had to change.
static bool identifier(const char *name, const char *fallback, char out[IDENT]) {
    size_t n = 0;
    const char *p = name && *name ? name : fallback;
    if (*p >= '0' && *p <= '9') out[n++] = '_';
    for (; *p && n < IDENT - 16; p++) {
        bool ok = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_';
        out[n++] = ok ? *p : '_';
    }
    out[n] = 0;
    return name && !strcmp(out, name);
}

static bool taken(char (*names)[IDENT], int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

// One identifier per shape, all different.
static void shape_identifiers(const FaRig *rig, char (*names)[IDENT]) {
    for (int s = 0; s < rig->nshape; s++) {
        char name[IDENT];
        identifier(rig->shape[s].name, "shape", name);
        if (rig->nshape > COMPARED)
            snprintf(names[s], IDENT, "%.110s_%d", name, s);
        else {
            snprintf(names[s], IDENT, "%s", name);
            for (int k = 2; taken(names, s, names[s]); k++) snprintf(names[s], IDENT, "%.110s_%d", name, k);
        }
    }
}

static void put_prim_begin(FaText *t, const char *indent, const char *type, const char *ident, const char *name,
                           const char *api) {
    fai_text_printf(t, "\n%sdef %s \"%s\"", indent, type, ident);
    bool renamed = name && *name && strcmp(name, ident);
    if (renamed || api) fai_text_str(t, " (\n");
    if (api) fai_text_printf(t, "%s    prepend apiSchemas = [\"%s\"]\n", indent, api);
    if (renamed) {
        fai_text_printf(t, "%s    customData = {\n%s        string name = ", indent, indent);
        put_string(t, name);
        fai_text_printf(t, "\n%s    }\n", indent);
    }
    if (renamed || api) fai_text_printf(t, "%s)", indent);
    fai_text_printf(t, "\n%s{\n", indent);
}

// --- numbers ------------------------------------------------------------------------------------------------------

// Time codes are frame numbers; a whole one is written as such, whatever the last bits of its time are.
static double time_code(double fps, double seconds) {
    double c = fps * seconds;
    return fabs(c - rint(c)) < 1e-4 ? rint(c) : c;
}

static FaCode put_points(Out *o, const float *x, int n, FaError *err) {
    fai_text_bytes(&o->text, "[", 1);
    for (int v = 0; v < n; v++) {
        fai_decimal_row(&o->text, v ? ", (" : "(", x + 3 * (size_t)v, 3, ", ", ")");
        FA_TRY(flush(o, FLUSH, err));
    }
    fai_text_bytes(&o->text, "]", 1);
    return FA_OK;
}

static FaCode put_ints(Out *o, const char *before, const int *v, int n, FaError *err) {
    fai_text_str(&o->text, before);
    fai_text_bytes(&o->text, "[", 1);
    for (int i = 0; i < n; i++) {
        fai_text_printf(&o->text, i ? ", %d" : "%d", v[i]);
        FA_TRY(flush(o, FLUSH, err));
    }
    fai_text_bytes(&o->text, "]\n", 2);
    return FA_OK;
}

static void box_of(const float *x, int n, float box[6]) {
    for (int k = 0; k < 3; k++) box[k] = FLT_MAX, box[3 + k] = -FLT_MAX;
    for (int v = 0; v < n; v++)
        for (int k = 0; k < 3; k++) {
            box[k] = FA_MIN(box[k], x[3 * (size_t)v + (size_t)k]);
            box[3 + k] = FA_MAX(box[3 + k], x[3 * (size_t)v + (size_t)k]);
        }
}

static void put_box(FaText *t, const float box[6]) {
    fai_decimal_row(t, "[(", box, 3, ", ", "), ");
    fai_decimal_row(t, "(", box + 3, 3, ", ", ")]");
}

// --- the parts that both kinds of file have -----------------------------------------------------------------------

// Layer metadata. The last time code may not be known yet: *patch is where it is to be written, CODE_WIDTH wide.
static void put_layer(Out *o, const char *root, const char *generator, double fps, double first, uint64_t *patch) {
    FaText *t = &o->text;
    fai_text_str(t, "#usda 1.0\n(\n    defaultPrim = ");
    put_string(t, root);
    fai_text_str(t, "\n    doc = ");
    put_string(t, generator && *generator ? generator : "fascia " FA_VERSION_TEXT);
    if (fps > 0) {
        fai_text_str(t, "\n    endTimeCode = ");
        *patch = o->bytes + t->size;
        fai_text_printf(t, "%-*d", CODE_WIDTH, 0);
        fai_text_str(t, "\n    framesPerSecond = ");
        fai_text_double(t, fps);
    }
    fai_text_str(t, "\n    metersPerUnit = 1");
    if (fps > 0) {
        fai_text_str(t, "\n    startTimeCode = ");
        fai_text_double(t, first);
        fai_text_str(t, "\n    timeCodesPerSecond = ");
        fai_text_double(t, fps);
    }
    fai_text_str(t, "\n    upAxis = \"Y\"\n)\n");
}

static FaCode patch_end(Out *o, uint64_t patch, double code, FaError *err) {
    FA_TRY(flush(o, 0, err));
    char number[FA_NUMBER_SIZE], padded[CODE_WIDTH + 1];
    int n = fai_format_double(number, code);
    snprintf(padded, sizeof padded, "%-*.*s", CODE_WIDTH, n, number);
    FA_TRY(fai_output_seek(o->file, patch, err));
    return fai_output_write(o->file, padded, CODE_WIDTH, err);
}

// A body stands while its head turns: one transform of all of it will not do.
static bool head_on_body(const FaRig *rig, const FaClip *clip) { return rig->body && clip && clip->head; }

static bool turned(const FaRig *rig) {
    for (int i = 0; i < 9; i++)
        if (fabs(rig->axes[i] - (i % 4 == 0)) > 1e-9) return true;
    return false;
}

// What stands between the world and the points: the head's motion, then the rig's axes. USD matrices act on rows.
static FaCode put_transforms(Out *o, const FaRig *rig, const FaClip *clip, double fps, double start, FaError *err) {
    FaText *t = &o->text;
    bool head = clip && clip->head && fps > 0, axes = turned(rig);
    if (axes) {
        fai_text_str(t, "    matrix4d xformOp:transform:axes = ( ");
        for (int r = 0; r < 3; r++) {
            fai_text_str(t, "(");
            for (int c = 0; c < 3; c++) {
                fai_text_double(t, rig->axes[3 * c + r]);
                fai_text_str(t, ", ");
            }
            fai_text_str(t, "0), ");
        }
        fai_text_str(t, "(0, 0, 0, 1) )\n");
    }
    if (head) {
        for (int pass = 0; pass < 2; pass++) {
            fai_text_str(t, pass ? "    quatd xformOp:orient:head.timeSamples = {\n"
                                 : "    double3 xformOp:translate:head.timeSamples = {\n");
            for (int f = 0; f < clip->nframe; f++) {
                const FaPose *p = &clip->head[f];
                const double v[4] = {pass ? p->q[3] : p->p[0], pass ? p->q[0] : p->p[1], pass ? p->q[1] : p->p[2],
                                     p->q[2]};
                fai_text_str(t, "        ");
                fai_text_double(t, time_code(fps, start + clip->time[f]));
                for (int k = 0; k < 3 + pass; k++) {
                    fai_text_str(t, k ? ", " : ": (");
                    fai_text_double(t, v[k]);
                }
                fai_text_str(t, "),\n");
                FA_TRY(flush(o, FLUSH, err));
            }
            fai_text_str(t, "    }\n");
        }
    }
    if (axes || head)
        fai_text_printf(t, "    uniform token[] xformOpOrder = [%s%s%s]\n",
                        head ? "\"xformOp:translate:head\", \"xformOp:orient:head\"" : "", axes && head ? ", " : "",
                        axes ? "\"xformOp:transform:axes\"" : "");
    return FA_OK;
}

// Faces and texture coordinates; corners without one get (0, 0), added at the end.
static FaCode put_topology(Out *o, const FaMesh *m, FaError *err) {
    FaText *t = &o->text;
    int corners = m->face_start[m->nface];
    fai_text_str(t, "        int[] faceVertexCounts = [");
    for (int f = 0; f < m->nface; f++) {
        fai_text_printf(t, f ? ", %d" : "%d", m->face_start[f + 1] - m->face_start[f]);
        FA_TRY(flush(o, FLUSH, err));
    }
    fai_text_str(t, "]\n");
    FA_TRY(put_ints(o, "        int[] faceVertexIndices = ", m->face_vert, corners, err));
    fai_text_str(t, "        uniform token subdivisionScheme = \"none\"\n");
    if (!m->face_uv || m->nuv == 0) return FA_OK;

    bool none = false;
    for (int c = 0; c < corners && !none; c++) none = m->face_uv[c] < 0;
    fai_text_str(t, "        texCoord2f[] primvars:st = [");
    for (int i = 0; i < m->nuv; i++) {
        fai_decimal_row(t, i ? ", (" : "(", m->uv + 2 * (size_t)i, 2, ", ", ")");
        FA_TRY(flush(o, FLUSH, err));
    }
    fai_text_str(t, none ? ", (0, 0)] (\n" : "] (\n");
    fai_text_str(t, "            interpolation = \"faceVarying\"\n        )\n        int[] primvars:st:indices = [");
    for (int c = 0; c < corners; c++) {
        fai_text_printf(t, c ? ", %d" : "%d", m->face_uv[c] < 0 ? m->nuv : m->face_uv[c]);
        FA_TRY(flush(o, FLUSH, err));
    }
    fai_text_str(t, "]\n");
    return FA_OK;
}

static FaCode put_rest(Out *o, const float *x, int nvert, FaError *err) {
    float box[6];
    box_of(x, nvert, box);
    fai_text_str(&o->text, "        float3[] extent = ");
    put_box(&o->text, box);
    fai_text_str(&o->text, "\n        point3f[] points = ");
    FA_TRY(put_points(o, x, nvert, err));
    fai_text_str(&o->text, "\n");
    return FA_OK;
}

// --- exact frames -------------------------------------------------------------------------------------------------

typedef struct FrameBox {
    double code;
    float box[6];
} FrameBox;

struct FaUsdaWriter {
    Out out;
    int nvert;
    double fps, start;
    uint64_t patch;
    FrameBox *box; // (count)
    int count, room;
    const FaRig *rig;
    const FaClip *clip;
    float *world; // of a body whose head moves: its points there, scratch; NULL: as they come   (nvert x 3)
};

// Where a body's points are in the world with its head in this pose.
static const float *stand(FaUsdaWriter *w, const FaPose *pose, const float *x) {
    FaCarry carry = fai_carry(w->rig, pose);
    memcpy(w->world, x, 3 * (size_t)w->nvert * sizeof *x);
    fai_carry_points(&carry, w->rig->head_share, 0, w->nvert, w->world);
    return w->world;
}

static FaCode begin_frames(FaUsdaWriter *w, const char *generator, FaError *err) {
    const FaRig *rig = w->rig;
    char root[IDENT];
    identifier(rig->name, "Head", root);
    put_layer(&w->out, root, generator, w->fps, time_code(w->fps, w->start), &w->patch);
    put_prim_begin(&w->out.text, "", "Xform", root, rig->name, NULL);
    if (!w->world) FA_TRY(put_transforms(&w->out, rig, w->clip, w->fps, w->start, err));
    put_prim_begin(&w->out.text, "    ", "Mesh", "Mesh", NULL, NULL);
    FA_TRY(put_topology(&w->out, &rig->mesh, err));
    FA_TRY(put_rest(&w->out, w->world ? stand(w, &rig->rest, rig->mesh.x) : rig->mesh.x, w->nvert, err));
    fai_text_str(&w->out.text, "        point3f[] points.timeSamples = {\n");
    return flush(&w->out, 0, err);
}

FaCode fai_usda_create(const char *path, const FaRig *rig, const FaClip *clip, double fps, double start,
                       const char *generator, FaUsdaWriter **writer, FaError *err) {
    *writer = NULL;
    FA_ASSERT(fps > 0);
    FaUsdaWriter *w = FA_NEW(1, FaUsdaWriter);
    if (!w) return FA_FAIL_MEMORY(err);
    w->nvert = rig->mesh.nvert;
    w->fps = fps;
    w->start = start;
    w->rig = rig;
    w->clip = clip;
    bool stands = head_on_body(rig, clip);
    if (stands) w->world = FA_NEW(3 * (size_t)w->nvert, float);
    FaCode rc = stands && !w->world ? FA_FAIL_MEMORY(err) : fai_output_open(path, &w->out.file, err);
    if (rc >= 0) rc = begin_frames(w, generator, err);
    if (rc >= 0)
        *writer = w;
    else
        fai_usda_abandon(w);
    return fai_fail_in(err, rc, path);
}

FaCode fai_usda_push(FaUsdaWriter *w, double time, const float *x, FaError *err) {
    FrameBox *grown = fai_grow_array(w->box, &w->room, w->count + 1, sizeof *grown);
    if (!grown) return FA_FAIL_MEMORY(err);
    w->box = grown;
    FrameBox *b = &w->box[w->count++];
    b->code = time_code(w->fps, w->start + time);
    if (w->world) {
        FaPose head;
        fa_clip_sample(w->clip, time, NULL, &head);
        head = fa_rig_pose(w->rig, &head);
        x = stand(w, &head, x);
    }
    box_of(x, w->nvert, b->box);
    fai_text_str(&w->out.text, "            ");
    fai_text_double(&w->out.text, b->code);
    fai_text_str(&w->out.text, ": ");
    FA_TRY(put_points(&w->out, x, w->nvert, err));
    fai_text_str(&w->out.text, ",\n");
    return flush(&w->out, 0, err);
}

static FaCode end_frames(FaUsdaWriter *w, FaError *err) {
    if (w->count == 0) return FA_FAIL(err, FA_E_ARG, NULL, "push at least one frame", "no frames to write");
    FaText *t = &w->out.text;
    fai_text_str(t, "        }\n        float3[] extent.timeSamples = {\n");
    for (int f = 0; f < w->count; f++) {
        fai_text_str(t, "            ");
        fai_text_double(t, w->box[f].code);
        fai_text_str(t, ": ");
        put_box(t, w->box[f].box);
        fai_text_str(t, ",\n");
        FA_TRY(flush(&w->out, FLUSH, err));
    }
    fai_text_str(t, "        }\n    }\n}\n");
    return patch_end(&w->out, w->patch, w->box[w->count - 1].code, err);
}

FaCode fai_usda_finish(FaUsdaWriter *w, FaError *err) {
    FaCode rc = end_frames(w, err);
    if (rc >= 0) {
        rc = fai_output_finish(w->out.file, err);
        w->out.file = NULL;
    }
    fai_usda_abandon(w);
    return rc;
}

void fai_usda_abandon(FaUsdaWriter *w) {
    if (!w) return;
    fai_output_abandon(w->out.file);
    fai_text_free(&w->out.text);
    fa_free(w->box);
    fa_free(w->world);
    fa_free(w);
}

// --- rigs ---------------------------------------------------------------------------------------------------------

// Shapes are matched by token, so tokens must differ; any text will do, so the original names are the best choice.
static bool names_differ(const FaRig *rig) {
    if (rig->nshape > COMPARED) return false;
    for (int s = 0; s < rig->nshape; s++) {
        if (!rig->shape[s].name[0]) return false;
        for (int k = 0; k < s; k++)
            if (!strcmp(rig->shape[s].name, rig->shape[k].name)) return false;
    }
    return true;
}

static void put_tokens(FaText *t, const char *before, const FaRig *rig, char (*names)[IDENT]) {
    bool original = names_differ(rig);
    fai_text_str(t, before);
    for (int s = 0; s < rig->nshape; s++) {
        fai_text_str(t, s ? ", " : "[");
        put_string(t, original ? rig->shape[s].name : names[s]);
    }
    fai_text_str(t, "]\n");
}

static void put_weights(FaText *t, const float *w, int n) { fai_decimal_row(t, "[", w, n, ", ", "]"); }

// A skeleton of one joint at rest: blend shapes are played by whatever animation the skeleton has. A body whose head
// moves has a second one.
static const char *joints_of(bool body) { return body ? "[\"root\", \"root/head\"]" : "[\"root\"]"; }

static void put_skeleton(FaText *t, const char *root, bool body) {
    static const char *const one = "( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1) )";
    put_prim_begin(t, "    ", "Skeleton", "Skeleton", NULL, "SkelBindingAPI");
    for (int pass = 0; pass < 2; pass++) {
        fai_text_printf(t, "        uniform matrix4d[] %s = [%s", pass ? "restTransforms" : "bindTransforms", one);
        fai_text_printf(t, "%s%s]\n", body ? ", " : "", body ? one : "");
        if (!pass) fai_text_printf(t, "        uniform token[] joints = %s\n", joints_of(body));
    }
    fai_text_printf(t, "        rel skel:animationSource = </%s/Animation>\n    }\n", root);
}

// The body and, on it, the head, below the transform of the rig's axes: A^-1 body and body^-1 head.
static FaCode put_joint_motion(Out *o, const FaRig *rig, const FaClip *clip, FaError *err) {
    FaText *t = &o->text;
    FaPose axes = fai_head_axes(rig), back = fai_pose_inverse(&axes);
    for (int pass = 0; pass < 2; pass++) {
        fai_text_str(t, pass ? "        quatf[] rotations.timeSamples = {\n"
                             : "        float3[] translations.timeSamples = {\n");
        for (int f = 0; f < clip->nframe; f++) {
            FaPose head = fa_rig_pose(rig, &clip->head[f]), body = fai_body_pose(rig, &head);
            FaPose off = fai_pose_inverse(&body), joint[2] = {fai_pose_mul(&back, &body), fai_pose_mul(&off, &head)};
            fai_text_str(t, "            ");
            fai_text_double(t, time_code(clip->fps, clip->time[f]));
            for (int j = 0; j < 2; j++) {
                const double *q = joint[j].q, *p = joint[j].p;
                const float v[4] = {(float)(pass ? q[3] : p[0]), (float)(pass ? q[0] : p[1]),
                                    (float)(pass ? q[1] : p[2]), (float)q[2]};
                fai_decimal_row(t, j ? ", (" : ": [(", v, 3 + pass, ", ", ")");
            }
            fai_text_str(t, "],\n");
            FA_TRY(flush(o, FLUSH, err));
        }
        fai_text_str(t, "        }\n");
    }
    return FA_OK;
}

static FaCode put_joints(Out *o, const FaRig *rig, const FaClip *clip, FaError *err) {
    bool body = head_on_body(rig, clip);
    fai_text_printf(&o->text, "        uniform token[] joints = %s\n", joints_of(body));
    if (body) FA_TRY(put_joint_motion(o, rig, clip, err));
    if (!body)
        fai_text_str(&o->text,
                     "        quatf[] rotations = [(1, 0, 0, 0)]\n        float3[] translations = [(0, 0, 0)]\n");
    fai_text_printf(&o->text, "        half3[] scales = [(1, 1, 1)%s]\n    }\n", body ? ", (1, 1, 1)" : "");
    return FA_OK;
}

static FaCode put_animation(Out *o, const FaRig *rig, const FaClip *clip, char (*names)[IDENT], double *last,
                            FaError *err) {
    FaText *t = &o->text;
    put_prim_begin(t, "    ", "SkelAnimation", "Animation", NULL, NULL);
    put_tokens(t, "        uniform token[] blendShapes = ", rig, names);
    fai_text_str(t, "        float[] blendShapeWeights = ");
    put_weights(t, rig->weight, rig->nshape);
    fai_text_str(t, "\n");
    if (clip) {
        FaDriver driver;
        float *w = FA_NEW(rig->nshape, float);
        FaCode rc = w ? fai_driver_open(rig, clip, &driver, err) : FA_FAIL_MEMORY(err);
        if (rc < 0) {
            fa_free(w);
            return rc;
        }
        fai_text_str(t, "        float[] blendShapeWeights.timeSamples = {\n");
        for (int f = 0; f < clip->nframe && rc >= 0; f++) {
            fai_driver_weights(&driver, f, w);
            *last = time_code(clip->fps, clip->time[f]);
            fai_text_str(t, "            ");
            fai_text_double(t, *last);
            fai_text_str(t, ": ");
            put_weights(t, w, rig->nshape);
            fai_text_str(t, ",\n");
            rc = flush(o, FLUSH, err);
        }
        fai_driver_close(&driver);
        fa_free(w);
        FA_TRY(rc);
        fai_text_str(t, "        }\n");
    }
    return put_joints(o, rig, clip, err);
}

static FaCode put_shapes(Out *o, const FaRig *rig, char (*names)[IDENT], FaError *err) {
    for (int s = 0; s < rig->nshape; s++) {
        const FaShape *shape = &rig->shape[s];
        put_prim_begin(&o->text, "        ", "BlendShape", names[s], shape->name, NULL);
        fai_text_str(&o->text, "            uniform vector3f[] offsets = ");
        FA_TRY(put_points(o, rig->delta + 3 * (size_t)shape->first, shape->count, err));
        FA_TRY(put_ints(o, "\n            uniform int[] pointIndices = ", rig->row + shape->first, shape->count, err));
        fai_text_str(&o->text, "        }\n");
    }
    return FA_OK;
}

// Every vertex follows the one joint, or on a body both. One value for all (constant) would do, but not every reader
// knows it.
static FaCode put_influences(Out *o, const FaRig *rig, bool body, bool weights, FaError *err) {
    fai_text_printf(&o->text, "        %s = [",
                    weights ? "float[] primvars:skel:jointWeights" : "int[] primvars:skel:jointIndices");
    for (int v = 0; v < rig->mesh.nvert; v++) {
        float share = rig->head_share ? rig->head_share[v] : 1;
        const float both[2] = {weights ? 1 - share : 0, weights ? share : 1}, one = weights;
        fai_decimal_row(&o->text, v ? ", " : "", body ? both : &one, body ? 2 : 1, ", ", "");
        FA_TRY(flush(o, FLUSH, err));
    }
    fai_text_printf(&o->text, "] (\n            elementSize = %d\n            interpolation = \"vertex\"\n        )\n",
                    body ? 2 : 1);
    return FA_OK;
}

static FaCode put_binding(Out *o, const FaRig *rig, const char *root, char (*names)[IDENT], bool body, FaError *err) {
    FaText *t = &o->text;
    for (int weights = 0; weights < 2; weights++) FA_TRY(put_influences(o, rig, body, weights, err));
    put_tokens(t, "        uniform token[] skel:blendShapes = ", rig, names);
    fai_text_str(t, "        rel skel:blendShapeTargets = ");
    for (int s = 0; s < rig->nshape; s++) fai_text_printf(t, "%s</%s/Mesh/%s>", s ? ", " : "[", root, names[s]);
    fai_text_printf(t, "]\n        rel skel:skeleton = </%s/Skeleton>\n", root);
    return FA_OK;
}

static FaCode put_rig(Out *o, const FaRig *rig, const FaClip *clip, char (*names)[IDENT], FaError *err) {
    char root[IDENT];
    uint64_t patch = 0;
    double fps = clip ? clip->fps : 0, last = clip ? time_code(clip->fps, clip->time[clip->nframe - 1]) : 0;
    bool shapes = rig->nshape > 0, body = shapes && head_on_body(rig, clip);
    identifier(rig->name, "Head", root);
    put_layer(o, root, NULL, fps, 0, &patch);
    put_prim_begin(&o->text, "", shapes ? "SkelRoot" : "Xform", root, rig->name, NULL);
    FA_TRY(put_transforms(o, rig, body ? NULL : clip, fps, 0, err));
    if (shapes) {
        put_skeleton(&o->text, root, body);
        FA_TRY(put_animation(o, rig, clip, names, &last, err));
    }
    put_prim_begin(&o->text, "    ", "Mesh", "Mesh", NULL, shapes ? "SkelBindingAPI" : NULL);
    FA_TRY(put_topology(o, &rig->mesh, err));
    FA_TRY(put_rest(o, rig->mesh.x, rig->mesh.nvert, err));
    if (shapes) {
        FA_TRY(put_binding(o, rig, root, names, body, err));
        FA_TRY(put_shapes(o, rig, names, err));
    }
    fai_text_str(&o->text, "    }\n}\n");
    return fps > 0 ? patch_end(o, patch, last, err) : flush(o, 0, err);
}

FaCode fai_usda_save_rig(const FaRig *rig, const FaClip *clip, const char *path, FaError *err) {
    char(*names)[IDENT] = fai_alloc_array((size_t)rig->nshape, IDENT);
    if (!names) return FA_FAIL_MEMORY(err);
    shape_identifiers(rig, names);
    Out o = {0};
    FaCode rc = fai_output_open(path, &o.file, err);
    if (rc >= 0) rc = put_rig(&o, rig, clip, names, err);
    if (rc >= 0)
        rc = fai_output_finish(o.file, err);
    else
        fai_output_abandon(o.file);
    fai_text_free(&o.text);
    fa_free(names);
    return fai_fail_in(err, rc, path);
}
