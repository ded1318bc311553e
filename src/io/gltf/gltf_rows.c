// Upper and lower teeth in one mesh: the lower row as a mesh of its own, on a node below the first.
#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_parse.h"

enum { ELEMENT_ARRAY_BUFFER = 34963 };

static bool is_triangles(const FaGltfPrim *p) { return p->mode >= FA_GLTF_TRIANGLES && p->position >= 0; }

// Its corners (count), local vertex numbers; fa_free.
static FaCode read_corners(const FaGltf *doc, const FaGltfPrim *p, uint32_t **corner, int *count, FaError *err) {
    int nvert = doc->accessor[p->position].count;
    *count = p->indices >= 0 ? doc->accessor[p->indices].count : nvert;
    *count -= *count % 3;
    *corner = FA_NEW(FA_MAX(p->indices >= 0 ? doc->accessor[p->indices].count : nvert, 1), uint32_t);
    FaCode rc = *corner ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0 && p->indices >= 0) rc = fai_gltf_uints(doc, p->indices, *corner, err);
    for (int i = 0; i < *count && rc >= 0; i++) {
        if (p->indices < 0) (*corner)[i] = (uint32_t)i;
        if ((*corner)[i] >= (uint32_t)nvert)
            rc = BAD_AT(err, fai_json_get(p->json, "indices"), "index %u, but there are %d vertices", (*corner)[i],
                        nvert);
    }
    if (rc >= 0) return FA_OK;
    fa_free(*corner);
    *corner = NULL;
    return rc;
}

FaCode fai_gltf_mesh_triangles(const FaGltf *doc, int mesh, int **tri, int *ntri, bool *plain, FaError *err) {
    const FaGltfMesh *m = &doc->mesh[mesh];
    int64_t corners = 0;
    *tri = NULL;
    *ntri = 0;
    *plain = true;
    for (int i = 0; i < m->nprim; i++) {
        const FaGltfPrim *p = &m->prim[i];
        if (!is_triangles(p)) continue;
        *plain &= p->mode == FA_GLTF_TRIANGLES && fai_gltf_has_data(doc, p->position) &&
                  !fai_gltf_extension(p->json, "KHR_draco_mesh_compression") &&
                  (p->indices < 0 || fai_gltf_has_data(doc, p->indices));
        corners += doc->accessor[p->indices >= 0 ? p->indices : p->position].count;
    }
    *plain &= corners < INT32_MAX;
    if (!*plain || !(*tri = FA_NEW(FA_MAX(corners, 1), int))) return *plain ? FA_FAIL_MEMORY(err) : FA_OK;
    FaCode rc = FA_OK;
    for (int i = 0, first = 0; i < m->nprim && rc >= 0; i++) {
        if (!is_triangles(&m->prim[i])) continue;
        uint32_t *corner;
        int count;
        rc = read_corners(doc, &m->prim[i], &corner, &count, err);
        for (int k = 0; k < count && rc >= 0; k++) (*tri)[3 * *ntri + k] = first + (int)corner[k];
        if (rc >= 0) *ntri += count / 3, fa_free(corner);
        first += doc->accessor[m->prim[i].position].count;
    }
    if (rc < 0) fa_free(*tri), *tri = NULL;
    return rc;
}

void fai_gltf_lower_of_rig(const FaGltf *doc, const FaGltfPart *part, unsigned char *lower) {
    const FaGltfMesh *m = &doc->mesh[doc->face.mesh];
    const unsigned char *from = part->lower;
    for (int i = 0; i < doc->face.nprim; i++)
        if (doc->face.prim[i].count) memset(lower + doc->face.prim[i].first, 0, (size_t)doc->face.prim[i].count);
    for (int i = 0; i < m->nprim; i++) {
        if (!is_triangles(&m->prim[i])) continue;
        const FaGltfFacePrim *p = &doc->face.prim[i];
        // primitives may share vertices, and each knows of those that it uses
        for (int v = 0; v < p->count; v++) lower[p->first + v] |= from[v];
        from += doc->accessor[m->prim[i].position].count;
    }
}

// --- writing ------------------------------------------------------------------------------------------------------

// Corners of one of the rows as an accessor; -1: it has none.
static int add_row(FaGltfOut *out, const uint32_t *corner, int count, const unsigned char *lower, bool want) {
    int view, n = 0;
    for (int i = 0; i < count; i += 3) n += lower[corner[i]] == want ? 3 : 0;
    if (!n) return -1;
    uint32_t *to = fai_out_view(out, (size_t)n * sizeof *to, 0, ELEMENT_ARRAY_BUFFER, &view);
    for (int i = 0, at = 0; i < count && to; i += 3)
        for (int k = 0; k < 3 && lower[corner[i]] == want; k++) to[at++] = corner[i + k];
    return fai_out_accessor(out, view, FA_GLTF_U32, n, "SCALAR");
}

// The primitive with other triangles; NULL: none.
static FaJson *row_of(FaGltfOut *out, const FaGltfPrim *p, int indices) {
    if (indices < 0) return NULL;
    FaJson *json = fai_json_copy(out->json, p->json);
    out->failed |= !json;
    fai_out_int(out, json, "indices", indices);
    return json;
}

// A mesh of both rows becomes the upper one; *below: the list of the lower one's primitives.
static FaCode part_mesh(FaGltfOut *out, const FaGltfPart *part, int mesh, FaJson **below, FaError *err) {
    const FaGltf *doc = out->src;
    const FaGltfMesh *m = &doc->mesh[mesh];
    const unsigned char *lower = part->lower;
    FaJson *above = fai_json_new_array(out->json);
    *below = fai_json_new_array(out->json);
    if (!above || !*below) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < m->nprim; i++) {
        const FaGltfPrim *p = &m->prim[i];
        if (!is_triangles(p)) {
            out->failed |= !fai_json_append(out->json, above, fai_json_copy(out->json, p->json));
            continue;
        }
        uint32_t *corner;
        int count;
        FA_TRY(read_corners(doc, p, &corner, &count, err));
        for (int want = 0; want < 2; want++) {
            FaJson *row = row_of(out, p, add_row(out, corner, count, lower, want));
            if (row) out->failed |= !fai_json_append(out->json, want ? *below : above, row);
        }
        fa_free(corner);
        lower += doc->accessor[p->position].count;
    }
    out->failed |= !fai_json_set(out->json, fai_json_at(fai_json_get(out->root, "meshes"), mesh), "primitives", above);
    return FA_OK;
}

FaCode fai_gltf_part_rows(FaGltfOut *out, const FaGltfPart *part, int *node, FaError *err) {
    int mesh = out->src->node[part->node].mesh;
    FaJson *below, *meshes = fai_json_get(out->root, "meshes"), *nodes = fai_json_get(out->root, "nodes");
    FA_TRY(part_mesh(out, part, mesh, &below, err));
    FaJson *made = fai_json_append(out->json, meshes, fai_json_copy(out->json, out->src->mesh[mesh].json));
    out->failed |= !made || !fai_json_set(out->json, made, "primitives", below);
    fai_out_str(out, made, "name", part->lower_name);
    *node = fai_json_count(nodes);
    FaJson *n = fai_out_push(out, nodes);
    fai_out_str(out, n, "name", part->lower_name);
    fai_out_int(out, n, "mesh", fai_json_count(meshes) - 1);
    fai_out_push_int(out, fai_out_array(out, fai_json_at(nodes, part->node), "children"), *node);
    return out->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}
