#include "io/gltf/glb_build.h"

#include "base/file.h"
#include "base/text.h"
#include "mesh/mesh.h"

#include <math.h>

enum { F32 = 5126, U32 = 5125, U16 = 5123, VERTEX_DATA = 34962, INDEX_DATA = 34963 };

// The document while it grows: JSON arrays as text, one binary buffer.
typedef struct Build {
    FaText bin, views, accessors, meshes, nodes, samplers, channels, materials;
    int nviews, naccessors, nmeshes, nnodes, nsamplers, nmaterials;
    const char *material[16]; // names
    FaError *err;
} Build;

static void comma(FaText *t) {
    if (t->size) fai_text_str(t, ",");
}

// Append bytes as a buffer view; its number.
static int add_view(Build *b, const void *data, size_t size, int target) {
    static const char zeros[4];
    fai_text_bytes(&b->bin, zeros, (4 - b->bin.size % 4) % 4);
    comma(&b->views);
    fai_text_printf(&b->views, "{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu", b->bin.size, size);
    if (target) fai_text_printf(&b->views, ",\"target\":%d", target);
    fai_text_str(&b->views, "}");
    fai_text_bytes(&b->bin, data, size);
    return b->nviews++;
}

static void add_bounds(FaText *t, const float *x, int n, int width, bool with_zero) {
    for (int side = 0; side < 2; side++) {
        fai_text_str(t, side ? ",\"max\":[" : ",\"min\":[");
        for (int k = 0; k < width; k++) {
            float best = n && !with_zero ? x[k] : 0;
            for (int i = 0; i < n; i++) {
                float v = x[(size_t)i * (size_t)width + (size_t)k];
                best = side ? fmaxf(best, v) : fminf(best, v);
            }
            if (k) fai_text_str(t, ",");
            fai_text_float(t, best);
        }
        fai_text_str(t, "]");
    }
}

static const char *type_name(int width) {
    static const char *const name[] = {"SCALAR", "VEC2", "VEC3", "VEC4"};
    return name[width - 1];
}

static int add_floats(Build *b, const float *x, int n, int width, int target, bool bounds) {
    int view = add_view(b, x, (size_t)n * (size_t)width * sizeof *x, target);
    comma(&b->accessors);
    fai_text_printf(&b->accessors, "{\"bufferView\":%d,\"componentType\":%d,\"count\":%d,\"type\":\"%s\"", view, F32, n,
                    type_name(width));
    if (bounds) add_bounds(&b->accessors, x, n, width, false);
    fai_text_str(&b->accessors, "}");
    return b->naccessors++;
}

static int add_indices(Build *b, const int *index, int n, int nvert) {
    int view = -1;
    bool small = nvert <= 65535;
    if (small) {
        uint16_t *narrow = FA_NEW(n, uint16_t);
        if (!narrow) return FA_FAIL_MEMORY(b->err);
        for (int i = 0; i < n; i++) narrow[i] = (uint16_t)index[i];
        view = add_view(b, narrow, (size_t)n * sizeof *narrow, INDEX_DATA);
        fa_free(narrow);
    } else
        view = add_view(b, index, (size_t)n * sizeof *index, INDEX_DATA);
    comma(&b->accessors);
    fai_text_printf(&b->accessors, "{\"bufferView\":%d,\"componentType\":%d,\"count\":%d,\"type\":\"SCALAR\"}", view,
                    small ? U16 : U32, n);
    return b->naccessors++;
}

// --- vertices: the rig's, then copies for further texture coordinates ------------------------------------------------

typedef struct Verts {
    int n;       // with the copies
    int *origin; // rig vertex of each                    (n)
    int *corner; // vertex of each polygon corner         (corners)
    int *uv;     // texture coordinate of each, -1 = none (n)
} Verts;

static void free_verts(Verts *v) {
    fa_free(v->origin);
    fa_free(v->corner);
    fa_free(v->uv);
}

static FaCode split_seams(const FaMesh *m, Verts *v, FaError *err) {
    int corners = m->face_start[m->nface];
    int room = m->nvert + (m->face_uv ? corners : 0);
    *v = (Verts){m->nvert, FA_NEW(room, int), FA_NEW(corners, int), FA_NEW(room, int)};
    int *next = FA_NEW(room, int); // further copies of the same vertex, 0 = none (0 is never a copy)
    if (!v->origin || !v->corner || !v->uv || !next) {
        free_verts(v);
        fa_free(next);
        return FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < m->nvert; i++) v->origin[i] = i, v->uv[i] = -2; // -2: not used yet
    for (int c = 0; c < corners; c++) {
        int at = m->face_vert[c], uv = m->face_uv ? m->face_uv[c] : -1;
        if (v->uv[at] == -2) v->uv[at] = uv;
        while (v->uv[at] != uv && next[at]) at = next[at];
        if (v->uv[at] != uv) {
            v->origin[v->n] = m->face_vert[c];
            v->uv[v->n] = uv;
            at = next[at] = v->n++;
        }
        v->corner[c] = at;
    }
    fa_free(next);
    return FA_OK;
}

// Triangles in terms of the split vertices: a triangle's corners are found again in its polygon.
static void split_triangles(const FaMesh *m, const Verts *v, int *tri) {
    for (int t = 0; t < m->ntri; t++) {
        int f = m->tri_face[t];
        for (int k = 0; k < 3; k++) {
            int want = m->tri[3 * t + k], at = want;
            for (int c = m->face_start[f]; c < m->face_start[f + 1]; c++)
                if (m->face_vert[c] == want) {
                    at = v->corner[c];
                    break;
                }
            tri[3 * t + k] = at;
        }
    }
}

// --- morph targets --------------------------------------------------------------------------------------------------

// One target as an accessor: sparse where that is smaller.
static FaCode add_target(Build *b, const FaRig *rig, const FaShape *s, const Verts *v, const int *slot, FaError *err) {
    // entries of the split vertices, in increasing order
    int room = s->count;
    for (int i = rig->mesh.nvert; i < v->n; i++) room += slot[v->origin[i]] >= 0;
    uint32_t *row = FA_NEW(room, uint32_t);
    float *delta = FA_NEW(3 * (size_t)room, float);
    if (!row || !delta) {
        fa_free(row);
        fa_free(delta);
        return FA_FAIL_MEMORY(err);
    }
    int n = 0;
    for (int e = s->first; e < s->first + s->count; e++, n++) {
        row[n] = (uint32_t)rig->row[e];
        memcpy(delta + 3 * n, rig->delta + 3 * (size_t)e, 3 * sizeof *delta);
    }
    for (int i = rig->mesh.nvert; i < v->n; i++) {
        int e = slot[v->origin[i]];
        if (e < 0) continue;
        row[n] = (uint32_t)i;
        memcpy(delta + 3 * n++, rig->delta + 3 * (size_t)e, 3 * sizeof *delta);
    }
    if (n * 16 >= v->n * 12) {
        float *dense = FA_NEW(3 * (size_t)v->n, float);
        if (dense) {
            for (int i = 0; i < n; i++) memcpy(dense + 3 * (size_t)row[i], delta + 3 * i, 3 * sizeof *delta);
            add_floats(b, dense, v->n, 3, VERTEX_DATA, true);
        }
        fa_free(row);
        fa_free(delta);
        if (!dense) return FA_FAIL_MEMORY(err);
        fa_free(dense);
        return FA_OK;
    }
    int rows = n ? add_view(b, row, (size_t)n * sizeof *row, 0) : 0,
        values = n ? add_view(b, delta, 3 * (size_t)n * sizeof *delta, 0) : 0;
    comma(&b->accessors);
    fai_text_printf(&b->accessors, "{\"componentType\":%d,\"count\":%d,\"type\":\"VEC3\"", F32, v->n);
    add_bounds(&b->accessors, delta, n, 3, true);
    if (n)
        fai_text_printf(&b->accessors,
                        ",\"sparse\":{\"count\":%d,\"indices\":{\"bufferView\":%d,\"componentType\":%d},\"values\":{"
                        "\"bufferView\":%d}}",
                        n, rows, U32, values);
    fai_text_str(&b->accessors, "}");
    b->naccessors++;
    fa_free(row);
    fa_free(delta);
    return FA_OK;
}

static FaCode add_targets(Build *b, const FaRig *rig, const Verts *v, FaError *err) {
    int *slot = FA_NEW(rig->mesh.nvert, int);
    if (!slot) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    for (int s = 0; s < rig->nshape && rc >= 0; s++) {
        const FaShape *shape = &rig->shape[s];
        for (int i = 0; i < rig->mesh.nvert; i++) slot[i] = -1;
        for (int e = shape->first; e < shape->first + shape->count; e++) slot[rig->row[e]] = e;
        rc = add_target(b, rig, shape, v, slot, err);
    }
    fa_free(slot);
    return rc;
}

// --- meshes ---------------------------------------------------------------------------------------------------------

// The number of a material; the same name is the same material.
static int add_material(Build *b, const FaGlbMaterial *m) {
    for (int i = 0; i < b->nmaterials; i++)
        if (!strcmp(b->material[i], m->name)) return i;
    if (b->nmaterials == FA_COUNT(b->material)) return 0;
    b->material[b->nmaterials] = m->name;
    comma(&b->materials);
    fai_text_str(&b->materials, "{\"name\":");
    fai_text_json_string(&b->materials, m->name, strlen(m->name));
    fai_text_str(&b->materials, ",\"pbrMetallicRoughness\":{\"baseColorFactor\":[");
    for (int k = 0; k < 3; k++) {
        fai_text_float(&b->materials, m->color[k]);
        fai_text_str(&b->materials, ",");
    }
    fai_text_str(&b->materials, "1],\"metallicFactor\":0,\"roughnessFactor\":");
    fai_text_float(&b->materials, m->roughness);
    fai_text_str(&b->materials, "},\"doubleSided\":true}");
    return b->nmaterials++;
}

// Attributes of the split vertices; accessor numbers out.
static FaCode add_attributes(Build *b, const FaMesh *m, const Verts *v, int *position, int *normal, int *texcoord,
                             FaError *err) {
    float *x = FA_NEW(3 * (size_t)v->n, float), *nrm = FA_NEW(3 * (size_t)v->n, float),
          *uv = FA_NEW(2 * (size_t)v->n, float);
    FaCode rc = x && nrm && uv ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fai_mesh_normals(m, m->x, nrm);
        for (int i = v->n - 1; i >= 0; i--) {
            memcpy(x + 3 * (size_t)i, m->x + 3 * (size_t)v->origin[i], 3 * sizeof *x);
            memmove(nrm + 3 * (size_t)i, nrm + 3 * (size_t)v->origin[i], 3 * sizeof *nrm);
            // a vertex without faces has no normal: any unit vector is valid
            if (!(nrm[3 * i] != 0 || nrm[3 * i + 1] != 0 || nrm[3 * i + 2] != 0)) nrm[3 * i + 1] = 1;
            if (v->uv[i] >= 0) {
                uv[2 * i] = m->uv[2 * v->uv[i]];
                uv[2 * i + 1] = 1 - m->uv[2 * v->uv[i] + 1];
            }
        }
        *position = add_floats(b, x, v->n, 3, VERTEX_DATA, true);
        *normal = add_floats(b, nrm, v->n, 3, VERTEX_DATA, false);
        *texcoord = m->face_uv ? add_floats(b, uv, v->n, 2, VERTEX_DATA, false) : -1;
    }
    fa_free(x);
    fa_free(nrm);
    fa_free(uv);
    return rc;
}

static void write_targets(FaText *t, int nshape, int first) {
    if (!nshape) return;
    fai_text_str(t, ",\"targets\":[");
    for (int s = 0; s < nshape; s++) fai_text_printf(t, "%s{\"POSITION\":%d}", s ? "," : "", first + s);
    fai_text_str(t, "]");
}

// The primitives: the triangles of each material in use, all on the same vertices and targets.
static FaCode add_primitives(Build *b, const FaGlbPart *part, const Verts *v, const char *attributes, int first_target,
                             FaError *err) {
    static const FaGlbMaterial skin = {"skin", {0.72f, 0.46f, 0.36f}, 0.6f};
    const FaMesh *m = &part->rig->mesh;
    int *tri = FA_NEW(3 * (size_t)m->ntri, int), *group = FA_NEW(3 * (size_t)m->ntri, int);
    FaCode rc = tri && group ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) split_triangles(m, v, tri);
    int written = 0;
    for (int k = 0; k < FA_MAX(part->nmaterial, 1) && rc >= 0; k++) {
        int n = 0;
        for (int t = 0; t < m->ntri; t++) {
            if (part->face_material && part->face_material[m->tri_face[t]] != k) continue;
            memcpy(group + n, tri + 3 * (size_t)t, 3 * sizeof *tri);
            n += 3;
        }
        if (!n || (!part->face_material && k)) continue;
        int indices = add_indices(b, group, n, v->n);
        if (indices < 0) rc = (FaCode)indices;
        if (written++) fai_text_str(&b->meshes, ",");
        fai_text_printf(&b->meshes, "{\"attributes\":%s,\"indices\":%d,\"material\":%d", attributes, indices,
                        add_material(b, part->material ? &part->material[k] : &skin));
        write_targets(&b->meshes, part->rig->nshape, first_target);
        fai_text_str(&b->meshes, "}");
    }
    fa_free(tri);
    fa_free(group);
    if (rc >= 0 && !written)
        rc = FA_FAIL(err, FA_E_MESH, part->rig->name, NULL, "a mesh without triangles cannot be written as glTF");
    return rc;
}

static FaCode add_mesh(Build *b, const FaGlbPart *part, FaError *err) {
    const FaRig *rig = part->rig;
    Verts v;
    int position, normal, texcoord;
    char attributes[120], uv[40] = "";
    FaText *t = &b->meshes;
    FA_TRY(split_seams(&rig->mesh, &v, err));
    FaCode rc = add_attributes(b, &rig->mesh, &v, &position, &normal, &texcoord, err);
    int first_target = b->naccessors;
    if (rc >= 0) rc = add_targets(b, rig, &v, err);
    if (rc >= 0) {
        if (texcoord >= 0) snprintf(uv, sizeof uv, ",\"TEXCOORD_0\":%d", texcoord);
        snprintf(attributes, sizeof attributes, "{\"POSITION\":%d,\"NORMAL\":%d%s}", position, normal, uv);
        comma(t);
        fai_text_str(t, "{\"name\":");
        fai_text_json_string(t, rig->name, strlen(rig->name));
        fai_text_str(t, ",\"primitives\":[");
        rc = add_primitives(b, part, &v, attributes, first_target, err);
        fai_text_str(t, "]");
    }
    free_verts(&v);
    FA_TRY(rc);
    if (rig->nshape) {
        fai_text_str(t, ",\"weights\":[");
        for (int s = 0; s < rig->nshape; s++) {
            if (s) fai_text_str(t, ",");
            fai_text_float(t, rig->weight ? rig->weight[s] : 0);
        }
        fai_text_str(t, "],\"extras\":{\"targetNames\":[");
        for (int s = 0; s < rig->nshape; s++) {
            if (s) fai_text_str(t, ",");
            fai_text_json_string(t, rig->shape[s].name, strlen(rig->shape[s].name));
        }
        fai_text_str(t, "]}");
    }
    fai_text_str(t, "}");
    b->nmeshes++;
    return FA_OK;
}

// --- nodes and animation
// ----------------------------------------------------------------------------------------------

// Quaternion of a row-major rotation matrix.
static void quaternion(const double m[9], double q[4]) {
    double w = 1 + m[0] + m[4] + m[8], x = 1 + m[0] - m[4] - m[8], y = 1 - m[0] + m[4] - m[8],
           z = 1 - m[0] - m[4] + m[8];
    q[0] = copysign(sqrt(fmax(0, x)) / 2, m[7] - m[5]);
    q[1] = copysign(sqrt(fmax(0, y)) / 2, m[2] - m[6]);
    q[2] = copysign(sqrt(fmax(0, z)) / 2, m[3] - m[1]);
    q[3] = sqrt(fmax(0, w)) / 2;
}

static bool is_identity(const double m[9]) {
    for (int i = 0; i < 9; i++)
        if (fabs(m[i] - (i % 4 == 0)) > 1e-12) return false;
    return true;
}

// Node 0 carries the head's motion; each part hangs below it, turned to y up where the rig has other axes.
static void add_nodes(Build *b, const FaGlbPart *parts, int nparts) {
    FaText *t = &b->nodes;
    fai_text_str(t, "{\"name\":\"head\",\"children\":[");
    for (int p = 0; p < nparts; p++) fai_text_printf(t, "%s%d", p ? "," : "", p + 1);
    fai_text_str(t, "]}");
    for (int p = 0; p < nparts; p++) {
        const FaRig *rig = parts[p].rig;
        fai_text_str(t, ",{\"name\":");
        fai_text_json_string(t, rig->name, strlen(rig->name));
        fai_text_printf(t, ",\"mesh\":%d", p);
        if (!is_identity(rig->axes)) {
            double q[4];
            quaternion(rig->axes, q);
            fai_text_str(t, ",\"rotation\":[");
            for (int k = 0; k < 4; k++) {
                if (k) fai_text_str(t, ",");
                fai_text_float(t, (float)q[k]);
            }
            fai_text_str(t, "]");
        }
        fai_text_str(t, "}");
    }
    b->nnodes = nparts + 1;
}

static void add_channel(Build *b, int input, int output, int node, const char *path) {
    comma(&b->samplers);
    fai_text_printf(&b->samplers, "{\"input\":%d,\"output\":%d,\"interpolation\":\"LINEAR\"}", input, output);
    comma(&b->channels);
    fai_text_printf(&b->channels, "{\"sampler\":%d,\"target\":{\"node\":%d,\"path\":\"%s\"}}", b->nsamplers++, node,
                    path);
}

static FaCode add_weights(Build *b, const FaRig *rig, const FaClip *clip, int input, int node, FaError *err) {
    FaBinding binding;
    FA_TRY(fa_clip_bind(clip, rig, &binding, err));
    float *w = binding.matched ? FA_NEW((size_t)clip->nframe * (size_t)rig->nshape, float) : NULL;
    FaCode rc = binding.matched && !w ? FA_FAIL_MEMORY(err) : FA_OK;
    if (w) {
        for (int f = 0; f < clip->nframe; f++)
            fa_binding_weights(&binding, clip->weight + (size_t)f * (size_t)clip->nchan,
                               w + (size_t)f * (size_t)rig->nshape);
        int output = add_floats(b, w, clip->nframe * rig->nshape, 1, 0, false);
        add_channel(b, input, output, node, "weights");
    }
    fa_free(w);
    fa_binding_free(&binding);
    return rc;
}

static FaCode add_motion(Build *b, const FaClip *clip, int input, FaError *err) {
    float *p = FA_NEW(3 * (size_t)clip->nframe, float), *q = FA_NEW(4 * (size_t)clip->nframe, float);
    FaCode rc = p && q ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (int f = 0; f < clip->nframe; f++) {
            for (int k = 0; k < 3; k++) p[3 * f + k] = (float)clip->head[f].p[k];
            for (int k = 0; k < 4; k++) q[4 * f + k] = (float)clip->head[f].q[k];
        }
        add_channel(b, input, add_floats(b, p, clip->nframe, 3, 0, false), 0, "translation");
        add_channel(b, input, add_floats(b, q, clip->nframe, 4, 0, false), 0, "rotation");
    }
    fa_free(p);
    fa_free(q);
    return rc;
}

static FaCode add_animation(Build *b, const FaGlbPart *parts, int nparts, const FaClip *clip, FaError *err) {
    float *time = FA_NEW(clip->nframe, float);
    if (!time) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < clip->nframe; f++) {
        time[f] = (float)clip->time[f];
        if (f && !(time[f] > time[f - 1]))
            time[f] = nextafterf(time[f - 1], INFINITY); // glTF times must increase as floats
    }
    int input = add_floats(b, time, clip->nframe, 1, 0, true);
    fa_free(time);
    FaCode rc = FA_OK;
    for (int p = 0; p < nparts && rc >= 0; p++)
        if (parts[p].rig->nshape) rc = add_weights(b, parts[p].rig, clip, input, p + 1, err);
    if (rc >= 0 && clip->head) rc = add_motion(b, clip, input, err);
    return rc;
}

// --- the file
// ---------------------------------------------------------------------------------------------------------

static void array(FaText *t, const char *key, const FaText *items) {
    if (!items->size) return;
    fai_text_printf(t, ",\"%s\":[", key);
    fai_text_bytes(t, items->data, items->size);
    fai_text_str(t, "]");
}

static void write_json(const Build *b, const char *generator, const char *uri, FaText *t) {
    fai_text_str(t, "{\"asset\":{\"version\":\"2.0\",\"generator\":");
    fai_text_json_string(t, generator, strlen(generator));
    fai_text_str(t, "},\"scene\":0,\"scenes\":[{\"nodes\":[0]}]");
    array(t, "nodes", &b->nodes);
    array(t, "meshes", &b->meshes);
    array(t, "materials", &b->materials);
    if (b->nsamplers) {
        fai_text_str(t, ",\"animations\":[{\"name\":\"fascia\"");
        array(t, "samplers", &b->samplers);
        array(t, "channels", &b->channels);
        fai_text_str(t, "}]");
    }
    array(t, "accessors", &b->accessors);
    array(t, "bufferViews", &b->views);
    fai_text_printf(t, ",\"buffers\":[{\"byteLength\":%zu", b->bin.size);
    if (uri) {
        fai_text_str(t, ",\"uri\":");
        fai_text_json_string(t, uri, strlen(uri));
    }
    fai_text_str(t, "}]}");
}

static FaCode glb_bytes(const FaText *json, const FaText *bin, FaText *glb, FaError *err) {
    static const char spaces[4] = "    ", zeros[4] = "";
    size_t json_pad = (4 - json->size % 4) % 4, bin_pad = (4 - bin->size % 4) % 4;
    size_t total = 12 + 8 + json->size + json_pad + 8 + bin->size + bin_pad;
    if (total > UINT32_MAX) return FA_FAIL(err, FA_E_LIMIT, NULL, "write .gltf instead", "a GLB cannot pass 4 GiB");
    uint32_t head[5] = {0x46546C67, 2, (uint32_t)total, (uint32_t)(json->size + json_pad), 0x4E4F534A};
    uint32_t chunk[2] = {(uint32_t)(bin->size + bin_pad), 0x004E4942};
    fai_text_bytes(glb, head, sizeof head);
    fai_text_bytes(glb, json->data, json->size);
    fai_text_bytes(glb, spaces, json_pad);
    fai_text_bytes(glb, chunk, sizeof chunk);
    fai_text_bytes(glb, bin->data, bin->size);
    fai_text_bytes(glb, zeros, bin_pad);
    return glb->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}

// JSON beside a .bin of the same name. The .bin first: a reader that finds the new JSON finds its data too.
static FaCode write_gltf(const Build *b, const char *generator, const char *path, FaError *err) {
    FaText json = {0};
    char *stem = fai_path_stem(path), *dir = fai_path_dir(path);
    FaText name = {0};
    FaCode rc = stem && dir ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fai_text_printf(&name, "%s.bin", stem);
        char *bin = name.failed ? NULL : fai_path_join(dir, name.data);
        if (!bin) rc = FA_FAIL_MEMORY(err);
        if (rc >= 0) rc = fai_file_write(bin, b->bin.data, b->bin.size, err);
        fa_free(bin);
    }
    if (rc >= 0) {
        write_json(b, generator, name.data, &json);
        rc = json.failed ? FA_FAIL_MEMORY(err) : fai_file_write(path, json.data, json.size, err);
    }
    fai_text_free(&json);
    fai_text_free(&name);
    fa_free(stem);
    fa_free(dir);
    return rc;
}

// path: of a .gltf that is written; NULL: a GLB into `glb`.
static FaCode build(const FaGlbPart *parts, int nparts, const FaClip *clip, const char *generator, const char *path,
                    FaText *glb, FaError *err) {
    if (!generator) generator = "fascia " FA_VERSION_TEXT;
    Build b = {.err = err};
    FaCode rc = FA_OK;
    for (int p = 0; p < nparts && rc >= 0; p++) rc = add_mesh(&b, &parts[p], err);
    add_nodes(&b, parts, nparts);
    if (rc >= 0 && clip && clip->nframe) rc = add_animation(&b, parts, nparts, clip, err);
    FaText *all[] = {&b.bin, &b.views, &b.accessors, &b.meshes, &b.nodes, &b.samplers, &b.channels, &b.materials};
    for (int i = 0; i < FA_COUNT(all) && rc >= 0; i++)
        if (all[i]->failed) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0 && path)
        rc = write_gltf(&b, generator, path, err);
    else if (rc >= 0) {
        FaText json = {0};
        write_json(&b, generator, NULL, &json);
        rc = json.failed ? FA_FAIL_MEMORY(err) : glb_bytes(&json, &b.bin, glb, err);
        fai_text_free(&json);
    }
    for (int i = 0; i < FA_COUNT(all); i++) fai_text_free(all[i]);
    return rc;
}

FaCode fai_glb_bytes(const FaGlbPart *parts, int nparts, const FaClip *clip, const char *generator, FaText *glb,
                     FaError *err) {
    return build(parts, nparts, clip, generator, NULL, glb, err);
}

FaCode fai_glb_build(const FaGlbPart *parts, int nparts, const FaClip *clip, const char *generator, const char *path,
                     FaError *err) {
    FaText glb = {0};
    bool gltf = fai_path_has_ext(path, "gltf");
    FaCode rc = build(parts, nparts, clip, generator, gltf ? path : NULL, &glb, err);
    if (rc >= 0 && !gltf) rc = fai_file_write(path, glb.data, glb.size, err);
    fai_text_free(&glb);
    return fai_fail_in(err, rc, path);
}
