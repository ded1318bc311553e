#include "face/vertex_color.h"

#include "base/file.h"
#include "base/number.h"
#include "io/gltf/gltf.h"
#include "io/obj.h"
#include "mesh/mesh.h"

#include <ctype.h>
#include <math.h>

enum { FILE_MOST = 1 << 30 };
static const char *const REMEDY_COUNT =
    "paint the rig's own mesh: the same file, or an export of it with vertices in the same order";
static const char *const REMEDY_NONE =
    "paint vertex colours and export them: COLOR_0 of a .glb, or v x y z r g b of an .obj";

bool fai_vertex_colors_named(const char *path) {
    return fai_dir_exists(path) || fai_path_has_ext(path, "glb") || fai_path_has_ext(path, "gltf") ||
           fai_path_has_ext(path, "obj");
}

static float *new_layer(FaVertexColors *c, const FaRig *rig) {
    return FA_PUSH(c->arena, 2 * (size_t)rig->mesh.nvert, float);
}

static int shape_named(const FaRig *rig, const char *name) {
    for (int s = 0; s < rig->nshape; s++)
        if (!strcmp(rig->shape[s].name, name)) return s;
    return -1;
}

static FaCode check_number(double v, int vertex, FaError *err) {
    if (v >= -1e-6 && v <= 1 + 1e-6) return FA_OK;
    return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("vertex %d", vertex), "write colours as numbers from 0 to 1",
                   "%g is no part of a colour", v);
}

static FaCode check_layer(const FaRig *rig, float *layer, FaError *err) {
    for (int i = 0; i < 2 * rig->mesh.nvert; i++) {
        FA_TRY(check_number((double)layer[i], i / 2, err));
        layer[i] = fminf(fmaxf(layer[i], 0), 1);
    }
    for (int v = 0; v < rig->mesh.nvert; v++) // one colour where a file splits a vertex at a seam
        memcpy(layer + 2 * (size_t)v, layer + 2 * (size_t)fai_weld(&rig->mesh, v), 2 * sizeof *layer);
    return FA_OK;
}

// --- glTF -----------------------------------------------------------------------------------------------------------

// Where each primitive's vertices are among the mesh's: those that share positions share vertices. Their number.
static int place_prims(const FaGltf *doc, const FaGltfMesh *mesh, int *first) {
    int total = 0;
    for (int p = 0; p < mesh->nprim; p++) {
        first[p] = -1;
        if (mesh->prim[p].mode < FA_GLTF_TRIANGLES || mesh->prim[p].position < 0) continue;
        for (int q = 0; q < p && first[p] < 0; q++)
            if (first[q] >= 0 && mesh->prim[q].position == mesh->prim[p].position) first[p] = first[q];
        if (first[p] >= 0) continue;
        first[p] = total;
        int n = doc->accessor[mesh->prim[p].position].count;
        if (n > INT32_MAX - total) return -1;
        total += n;
    }
    return total;
}

// Red and green of one attribute added to a layer from `first` on.
static FaCode add_accessor(const FaGltf *doc, const FaJson *attributes, int count, float *layer, bool *any,
                           FaError *err) {
    int64_t at;
    if (!fai_json_get(attributes, "COLOR_0")) return FA_OK;
    FA_TRY(fai_json_int(attributes, "COLOR_0", 0, doc->naccessor - 1, &at, err));
    const FaGltfAccessor *a = &doc->accessor[at];
    if ((a->type != FA_GLTF_VEC3 && a->type != FA_GLTF_VEC4) || a->count != count)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(attributes).text, "export the file again",
                       "COLOR_0 has no colour for each vertex");
    float *value = FA_NEW((size_t)a->count * (size_t)a->width, float);
    if (!value) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_gltf_floats(doc, (int)at, value, err);
    for (size_t v = 0; rc >= 0 && v < (size_t)count; v++)
        for (size_t k = 0; k < 2; k++) layer[2 * v + k] += value[v * (size_t)a->width + k];
    fa_free(value);
    *any = true;
    return rc;
}

// COLOR_0 of a mesh, or of one of its targets, on top of what is in the layer.
static FaCode add_mesh(const FaGltf *doc, const FaGltfMesh *mesh, const int *first, int target, float *layer, bool *any,
                       FaError *err) {
    for (int p = 0; p < mesh->nprim; p++) {
        const FaJson *json = mesh->prim[p].json;
        const FaJson *from =
            target < 0 ? fai_json_get(json, "attributes") : fai_json_at(fai_json_get(json, "targets"), target);
        bool again = false;
        for (int q = 0; q < p; q++) again |= first[q] == first[p];
        if (first[p] < 0 || again) continue;
        FA_TRY(add_accessor(doc, from, doc->accessor[mesh->prim[p].position].count, layer + 2 * (size_t)first[p], any,
                            err));
    }
    return FA_OK;
}

static FaCode wrong_count(int found, const char *name, const FaRig *rig, FaError *err) {
    return FA_FAIL(err, FA_E_MESH, name, REMEDY_COUNT, "%d vertices are painted, the rig has %d", found,
                   rig->mesh.nvert);
}

static FaCode read_targets(const FaGltf *doc, const FaGltfMesh *mesh, const FaRig *own, const int *first,
                           const FaRig *rig, FaVertexColors *c, FaError *err) {
    for (int t = 0; t < FA_MIN(mesh->ntarget, own->nshape); t++) {
        int s = shape_named(rig, own->shape[t].name);
        bool any = false;
        for (int p = 0; p < mesh->nprim; p++)
            any |= fai_json_get(fai_json_at(fai_json_get(mesh->prim[p].json, "targets"), t), "COLOR_0") != NULL;
        if (!any || s < 0) continue;
        float *layer = new_layer(c, rig);
        if (!layer) return FA_FAIL_MEMORY(err);
        if (c->whole) memcpy(layer, c->whole, 2 * (size_t)rig->mesh.nvert * sizeof *layer);
        FA_TRY(add_mesh(doc, mesh, first, t, layer, &any, err));
        c->shape[s] = layer;
        c->nshape++;
    }
    return FA_OK;
}

static FaCode read_doc(const FaGltf *doc, const FaRig *own, const FaRig *rig, FaVertexColors *c, FaError *err) {
    for (int pass = 0; pass < 2; pass++) // the whole first: differences are on top of it
        for (int m = 0; m < doc->nmesh; m++) {
            const FaGltfMesh *mesh = &doc->mesh[m];
            const char *name = mesh->name;
            for (int i = 0; i < doc->nnode && shape_named(rig, name) < 0; i++)
                if (doc->node[i].mesh == m) name = doc->node[i].name;
            int s = m == doc->face.mesh ? -1 : shape_named(rig, name);
            if ((m == doc->face.mesh) != (pass == 0) || (pass && s < 0)) continue;
            int *first = FA_PUSH(c->arena, mesh->nprim, int);
            float *layer = new_layer(c, rig);
            if (!first || !layer) return FA_FAIL_MEMORY(err);
            int n = place_prims(doc, mesh, first);
            if (n != rig->mesh.nvert) return wrong_count(n, pass ? name : NULL, rig, err);
            bool any = false;
            FA_TRY(add_mesh(doc, mesh, first, -1, layer, &any, err));
            if (any && s >= 0 && !c->shape[s]) c->shape[s] = layer, c->nshape++;
            if (any && s < 0) c->whole = layer;
            if (s < 0) FA_TRY(read_targets(doc, mesh, own, first, rig, c, err));
        }
    return FA_OK;
}

static FaCode read_gltf(const char *path, const FaRig *rig, FaVertexColors *c, FaError *err) {
    FaRig *own;
    FA_TRY(fai_gltf_load_rig(path, &(FaRigOptions){.any_size = true}, &own, err));
    FaCode rc = read_doc(fai_gltf_of_rig(own), own, rig, c, err);
    fa_rig_free(own);
    return rc;
}

// --- OBJ ------------------------------------------------------------------------------------------------------------

// The numbers after "v": how many, the last three in out.
static int read_line(const char *at, const char *end, double out[3]) {
    int n = 0;
    for (;;) {
        double v;
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
        const char *next = at < end ? fai_parse_double(at, end, &v) : NULL;
        if (!next || next == at) return n;
        out[0] = out[1], out[1] = out[2], out[2] = v;
        n++;
        at = next;
    }
}

// *any: some vertex has a colour.
static FaCode read_obj(const char *path, const FaRig *rig, float *layer, bool *any, FaError *err) {
    FaBytes bytes;
    FA_TRY(fai_file_read(path, FILE_MOST, &bytes, err));
    const char *at = (const char *)bytes.data, *end = at + bytes.size;
    int n = 0;
    FaCode rc = FA_OK;
    *any = false;
    while (at < end && rc >= 0) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        while (at < stop && (*at == ' ' || *at == '\t')) at++;
        if (stop - at > 1 && at[0] == 'v' && (at[1] == ' ' || at[1] == '\t')) {
            double last[3] = {0};
            if (read_line(at + 1, stop, last) >= 6 && n < rig->mesh.nvert) {
                for (int k = 0; k < 2 && rc >= 0; k++) rc = check_number(last[k], n, err);
                layer[2 * (size_t)n] = (float)last[0], layer[2 * (size_t)n + 1] = (float)last[1];
                *any = true;
            }
            n++;
        }
        at = stop < end ? stop + 1 : end;
    }
    fai_bytes_free(&bytes);
    if (rc >= 0 && *any && n != rig->mesh.nvert) rc = wrong_count(n, NULL, rig, err);
    return rc;
}

static bool is_neutral(const char *stem) {
    static const char *const name[] = {"base", "basis", "rest"};
    char low[256];
    size_t n = 0;
    for (; stem[n] && n + 1 < sizeof low; n++) low[n] = (char)tolower((unsigned char)stem[n]);
    low[n] = 0;
    for (int i = 0; i < FA_COUNT(name); i++)
        if (!strcmp(low, name[i])) return true;
    return strstr(low, "neutral") != NULL;
}

static FaCode read_folder(const char *path, const FaRig *rig, FaVertexColors *c, FaError *err) {
    FaNames names = {0};
    FaCode rc = fai_obj_list(path, &names, err);
    for (int i = 0; rc >= 0 && i < names.count; i++) {
        char *file = fai_path_join(path, names.name[i]), *stem = fai_path_stem(names.name[i]);
        float *layer = new_layer(c, rig);
        bool any = false;
        if (!file || !stem || !layer) rc = FA_FAIL_MEMORY(err);
        int s = rc >= 0 ? shape_named(rig, stem) : -1;
        bool whole = rc >= 0 && s < 0 && is_neutral(stem);
        if (s >= 0 || whole) rc = fai_fail_in(err, read_obj(file, rig, layer, &any, err), file);
        if (rc >= 0 && any && whole) c->whole = layer;
        if (rc >= 0 && any && s >= 0) c->shape[s] = layer, c->nshape++;
        fa_free(file);
        fa_free(stem);
    }
    fai_names_free(&names);
    return rc;
}

// --- any of them ----------------------------------------------------------------------------------------------------

static FaCode load(const char *path, const FaRig *rig, FaVertexColors *c, FaError *err) {
    c->arena = fai_arena_new(0);
    c->shape = c->arena ? FA_PUSH(c->arena, rig->nshape, float *) : NULL;
    if (!c->shape) return FA_FAIL_MEMORY(err);
    if (fai_dir_exists(path)) {
        FA_TRY(read_folder(path, rig, c, err));
    } else if (fai_path_has_ext(path, "obj")) {
        bool any = false;
        float *layer = new_layer(c, rig);
        if (!layer) return FA_FAIL_MEMORY(err);
        FA_TRY(read_obj(path, rig, layer, &any, err));
        if (any) c->whole = layer;
    } else {
        FA_TRY(read_gltf(path, rig, c, err));
    }
    if (!c->whole && !c->nshape) return FA_FAIL(err, FA_E_FORMAT, NULL, REMEDY_NONE, "there are no vertex colours");
    if (c->whole) FA_TRY(check_layer(rig, c->whole, err));
    for (int s = 0; s < rig->nshape; s++)
        if (c->shape[s]) FA_TRY(check_layer(rig, c->shape[s], err));
    return FA_OK;
}

FaCode fai_vertex_colors_load(const char *path, const FaRig *rig, FaVertexColors *colors, FaError *err) {
    *colors = (FaVertexColors){0};
    return fai_fail_in(err, load(path, rig, colors, err), path);
}

void fai_vertex_colors_free(FaVertexColors *c) {
    fai_arena_free(c->arena);
    *c = (FaVertexColors){0};
}
