// From a glTF document to a rig: one mesh, all of its triangles, its morph targets.
//
// Frames: file coordinates are those of POSITION. A node (or, on a skinned mesh, the joint that carries the face)
// places them in the world by M = R S + t. The stretch S goes into the rig, so that the rig has the size the artist
// sees; the rotation and translation stay outside and become the head's pose (gltf_clip.c):
//     rig = unit * S * file          world = R * rig + unit * t
#include "io/gltf/gltf_parse.h"

#include "rig/rig_build.h"

#include <math.h>

typedef struct Build {
    FaGltf *doc;
    const FaGltfMesh *src;
    FaRigDraft *draft;
    FaArena *arena; // the future rig's
    FaNotes *notes; // likewise
    FaMesh mesh;
    int *uv_first;        // first uv of each primitive, -1 = none       (nprim)
    unsigned char *moved; // vertices that some target moves             (nvert)
    int *row;             // one target: the vertices it moves           (nvert)
    float *delta;         // and how                                     (nvert x 3)
    int *with;            // primitives that have the target at hand     (nwith)
    int nwith;
    bool *joins; // triangles that belong to the polygon of the one before (FB_ngon_encoding), while faces are read
    size_t left; // bytes of targets that may still be read, so that many targets of one accessor cannot stall us
} Build;

enum { READ_BASE = 256 << 20, READ_PER_BYTE = 16 };

static bool is_triangles(const FaGltfPrim *p) { return p->mode >= FA_GLTF_TRIANGLES && p->position >= 0; }

// --- which mesh, which node ---------------------------------------------------------------------------------------

static int64_t mesh_vertices(const FaGltf *doc, const FaGltfMesh *m) {
    int64_t n = 0;
    for (int i = 0; i < m->nprim; i++)
        if (is_triangles(&m->prim[i])) n += doc->accessor[m->prim[i].position].count;
    return n;
}

static FaCode find_mesh(const FaGltf *doc, const char *name, int *mesh, FaError *err) {
    for (int i = 0; i < doc->nmesh; i++)
        if (!strcmp(doc->mesh[i].name, name)) return *mesh = i, FA_OK;
    for (int i = 0; i < doc->nnode; i++) // artists know the name of the object, not that of its data
        if (doc->node[i].mesh >= 0 && !strcmp(doc->node[i].name, name)) return *mesh = doc->node[i].mesh, FA_OK;
    int number = 0;
    const char *p = name;
    for (; *p >= '0' && *p <= '9' && number < 100000000; p++) number = number * 10 + (*p - '0');
    if (*p || p == name || number >= doc->nmesh)
        return FA_FAIL(err, FA_E_ARG, NULL, "fascia info lists the meshes; give a name or a number",
                       "there is no mesh \"%.80s\" among the %d of the file", name, doc->nmesh);
    *mesh = number;
    return FA_OK;
}

// The mesh with most targets, then with most vertices, then the first.
static FaCode pick_mesh(const FaGltf *doc, const char *name, int *mesh, FaError *err) {
    if (!doc->nmesh) return FA_FAIL(err, FA_E_MESH, "/meshes", "export the face with its mesh", "the file has no mesh");
    if (name) return find_mesh(doc, name, mesh, err);
    int64_t most = -1;
    *mesh = -1;
    for (int i = 0; i < doc->nmesh; i++) {
        int64_t n = mesh_vertices(doc, &doc->mesh[i]);
        if (!n) continue;
        bool better = *mesh < 0 || doc->mesh[i].ntarget > doc->mesh[*mesh].ntarget ||
                      (doc->mesh[i].ntarget == doc->mesh[*mesh].ntarget && n > most);
        if (better) *mesh = i, most = n;
    }
    if (*mesh < 0)
        return FA_FAIL(err, FA_E_MESH, "/meshes", "export a mesh of triangles", "no mesh of the file has triangles");
    return FA_OK;
}

// All meshes of the file; those without a name by that of a node.
static FaCode list_meshes(const Build *b, int taken, FaError *err) {
    const FaGltf *doc = b->doc;
    for (int i = 0; i < doc->nmesh; i++) {
        const char *name = doc->mesh[i].name;
        for (int n = 0; !name[0] && n < FA_MIN(doc->nnode, 1000); n++)
            if (doc->node[n].mesh == i) name = doc->node[n].name;
        FA_TRY(fai_draft_file_mesh(b->draft, name, mesh_vertices(doc, &doc->mesh[i]), doc->mesh[i].ntarget, i == taken,
                                   err));
    }
    return FA_OK;
}

static bool weights_animated(const FaGltf *doc, int node) {
    for (int i = 0; i < doc->nanim; i++)
        for (int c = 0; c < doc->anim[i].nchannel; c++)
            if (doc->anim[i].channel[c].node == node && doc->anim[i].channel[c].path == FA_GLTF_WEIGHTS) return true;
    return false;
}

// The node that shows the mesh: the first one whose weights move, or else the first.
static int pick_node(Build *b, int mesh) {
    const FaGltf *doc = b->doc;
    int first = -1, animated = -1, count = 0;
    for (int i = 0; i < doc->nnode; i++) {
        if (doc->node[i].mesh != mesh) continue;
        if (first < 0) first = i;
        if (animated < 0 && count < 64 && weights_animated(doc, i)) animated = i;
        count++;
    }
    if (count > 1)
        fai_note(b->notes, "mesh-instanced", fai_json_path(doc->node[animated >= 0 ? animated : first].json).text, "",
                 "%d nodes show the mesh; the place and motion of this one are taken", count);
    if (count == 0)
        fai_note(b->notes, "mesh-without-node", fai_json_path(b->src->json).text, "", "no node shows the mesh");
    return animated >= 0 ? animated : first;
}

// --- vertices -----------------------------------------------------------------------------------------------------

// Draco data are only readable where the file also has them plainly.
static FaCode check_draco(const FaGltf *doc, const FaGltfPrim *p, FaError *err) {
    const FaJson *e = fai_gltf_extension(p->json, "KHR_draco_mesh_compression");
    if (!e || doc->accessor[p->position].view >= 0) return FA_OK;
    return FAIL_AT(err, FA_E_UNSUPPORTED, e, "export without Draco, or decompress: gltf-transform copy in.glb out.glb",
                   "the mesh is compressed with KHR_draco_mesh_compression, which fascia does not read");
}

static bool same_vertices(const FaGltfPrim *a, const FaGltfPrim *b) {
    return a->position == b->position && a->ntarget == b->ntarget &&
           (!a->ntarget || !memcmp(a->target, b->target, (size_t)a->ntarget * sizeof *a->target));
}

// Lay the primitives out one after the other; those that refer to the same vertices and targets share them. The table
// finds an equal earlier one without comparing all pairs.
static FaCode lay_out(Build *b, FaError *err) {
    FaGltf *doc = b->doc;
    FaGltfFace *face = &doc->face;
    face->nprim = b->src->nprim;
    face->prim = PUSH(doc, face->nprim, FaGltfFacePrim);
    size_t mask = 1;
    while (mask < 2 * (size_t)face->nprim) mask *= 2;
    int *table = FA_NEW(mask, int); // 1 + primitive
    if (!face->prim || !table) {
        fa_free(table);
        return fai_gltf_no_room(doc, b->src->json, err);
    }
    mask--;
    int64_t nvert = 0;
    FaCode rc = FA_OK;
    for (int i = 0; i < face->nprim && rc >= 0; i++) {
        const FaGltfPrim *p = &b->src->prim[i];
        face->prim[i] = (FaGltfFacePrim){-1, 0, i};
        if (!is_triangles(p)) {
            NOTE_AT(doc, "not-triangles", p->json, "", "a primitive of points or lines is left out");
            continue;
        }
        FA_TRY_GOTO(done, rc, check_draco(doc, p, err));
        uint64_t h = fai_hash64(p->target, (size_t)p->ntarget * sizeof *p->target, (uint64_t)p->position);
        size_t slot = h & mask;
        while (table[slot] && !same_vertices(&b->src->prim[table[slot] - 1], p)) slot = (slot + 1) & mask;
        if (table[slot]) {
            face->prim[i] = face->prim[table[slot] - 1];
            continue;
        }
        table[slot] = i + 1;
        int count = doc->accessor[p->position].count;
        face->prim[i] = (FaGltfFacePrim){(int)nvert, count, i};
        nvert += count;
        if (nvert > INT32_MAX / 64)
            rc = FAIL_AT(err, FA_E_LIMIT, p->json, NULL, "the mesh has more than %d vertices", INT32_MAX / 64);
    }
    if (rc >= 0 && !nvert)
        rc = FAIL_AT(err, FA_E_MESH, b->src->json, "choose another mesh", "the mesh has no triangles");
    b->mesh.nvert = (int)nvert;
done:
    fa_free(table);
    return rc;
}

static bool owns(const FaGltfFace *face, int prim) {
    return face->prim[prim].first >= 0 && face->prim[prim].owner == prim;
}

static FaCode read_positions(Build *b, FaError *err) {
    const FaGltfFace *face = &b->doc->face;
    size_t nvert = (size_t)b->mesh.nvert;
    FA_TRY(fai_gltf_spend(b->doc, nvert, 12, b->src->json, err));
    b->mesh.x = FA_PUSH(b->arena, 3 * nvert, float);
    if (!b->mesh.x) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < face->nprim; i++)
        if (owns(face, i))
            FA_TRY(fai_gltf_floats(b->doc, b->src->prim[i].position, b->mesh.x + 3 * (size_t)face->prim[i].first, err));
    return FA_OK;
}

// --- texture coordinates ------------------------------------------------------------------------------------------

typedef struct UvMap {
    double offset[2], scale[2], c, s;
} UvMap;

// Quantised coordinates only make sense with the transform of the texture they were made for.
static UvMap uv_map(const FaGltf *doc, const FaGltfPrim *p) {
    UvMap m = {{0, 0}, {1, 1}, 1, 0};
    const FaJson *index = fai_json_get(p->json, "material"), *root = doc->json->root;
    const FaJson *material = index ? fai_json_at(fai_json_get(root, "materials"), (int)index->number) : NULL;
    const FaJson *texture = fai_json_get(fai_json_get(material, "pbrMetallicRoughness"), "baseColorTexture");
    const FaJson *e = fai_gltf_extension(texture, "KHR_texture_transform");
    double rotation;
    bool present;
    FaError ignored = {0};
    if (!e) return m;
    UvMap t = m;
    if (fai_json_nums(e, "offset", 2, t.offset, &present, &ignored) < 0 ||
        fai_json_nums(e, "scale", 2, t.scale, &present, &ignored) < 0 ||
        fai_json_num_or(e, "rotation", 0, &rotation, &ignored) < 0)
        return m;
    t.c = cos(rotation);
    t.s = sin(rotation);
    return t;
}

static FaCode read_uv(Build *b, FaError *err) {
    const FaGltf *doc = b->doc;
    const FaGltfFace *face = &doc->face;
    b->uv_first = FA_NEW(face->nprim, int);
    if (!b->uv_first) return FA_FAIL_MEMORY(err);
    int64_t n = 0;
    for (int i = 0; i < face->nprim; i++) {
        const FaGltfPrim *p = &b->src->prim[i];
        int owner = face->prim[i].owner;
        b->uv_first[i] = -1;
        if (face->prim[i].first < 0 || p->texcoord < 0 || !fai_gltf_has_data(doc, p->texcoord)) continue;
        if (owner != i && b->src->prim[owner].texcoord == p->texcoord)
            b->uv_first[i] = b->uv_first[owner];
        else
            b->uv_first[i] = (int)n, n += face->prim[i].count;
        if (n > INT32_MAX / 64) return FAIL_AT(err, FA_E_LIMIT, p->json, NULL, "too many texture coordinates");
    }
    if (!n) return FA_OK;
    FA_TRY(fai_gltf_spend(b->doc, (size_t)n, 8, b->src->json, err));
    b->mesh.nuv = (int)n;
    b->mesh.uv = FA_PUSH(b->arena, 2 * (size_t)n, float);
    if (!b->mesh.uv) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < face->nprim; i++) {
        int owner = face->prim[i].owner;
        if (b->uv_first[i] < 0 || (owner != i && b->uv_first[i] == b->uv_first[owner])) continue;
        float *uv = b->mesh.uv + 2 * (size_t)b->uv_first[i];
        FA_TRY(fai_gltf_floats(doc, b->src->prim[i].texcoord, uv, err));
        UvMap m = uv_map(doc, &b->src->prim[i]);
        for (int v = 0; v < face->prim[i].count; v++, uv += 2) {
            double x = m.scale[0] * (double)uv[0], y = m.scale[1] * (double)uv[1];
            float u = (float)(m.offset[0] + m.c * x + m.s * y), w = (float)(1 - (m.offset[1] - m.s * x + m.c * y));
            bool finite = isfinite(u) && isfinite(w);
            uv[0] = finite ? u : 0;
            uv[1] = finite ? w : 0; // glTF counts v from the top, FaMesh from the bottom
        }
    }
    return FA_OK;
}

// --- faces --------------------------------------------------------------------------------------------------------

static int64_t triangles_of(const FaGltf *doc, const FaGltfPrim *p) {
    int64_t n = p->indices >= 0 ? doc->accessor[p->indices].count : doc->accessor[p->position].count;
    return p->mode == FA_GLTF_TRIANGLES ? n / 3 : FA_MAX(n - 2, 0);
}

// Corners of triangle t within the list of indices; every other triangle of a strip runs the other way.
static void corners(FaGltfMode mode, int t, int out[3]) {
    switch (mode) {
    case FA_GLTF_TRIANGLE_STRIP: out[0] = t, out[1] = t + 1 + t % 2, out[2] = t + 2 - t % 2; break;
    case FA_GLTF_TRIANGLE_FAN: out[0] = t + 1, out[1] = t + 2, out[2] = 0; break;
    default: out[0] = 3 * t, out[1] = 3 * t + 1, out[2] = 3 * t + 2;
    }
}

static FaCode add_faces(Build *b, int prim, FaError *err) {
    const FaGltf *doc = b->doc;
    const FaGltfPrim *p = &b->src->prim[prim];
    const FaGltfFacePrim *at = &doc->face.prim[prim];
    int n = (int)triangles_of(doc, p), listed = p->indices >= 0 ? doc->accessor[p->indices].count : at->count;
    uint32_t *index = NULL;
    bool ngons = p->mode == FA_GLTF_TRIANGLES && fai_gltf_extension(p->json, "FB_ngon_encoding");
    if (p->indices >= 0) {
        index = FA_NEW(listed, uint32_t);
        FaCode rc = index ? fai_gltf_uints(doc, p->indices, index, err) : FA_FAIL_MEMORY(err);
        for (int i = 0; i < listed && rc >= 0; i++)
            if (index[i] >= (uint32_t)at->count)
                rc = BAD_AT(err, fai_json_get(p->json, "indices"), "index %u, but there are %d vertices", index[i],
                            at->count);
        if (rc < 0) {
            fa_free(index);
            return rc;
        }
    }
    for (int t = 0; t < n; t++) {
        int c[3], v[3];
        corners(p->mode, t, c);
        for (int k = 0; k < 3; k++) v[k] = index ? (int)index[c[k]] : c[k];
        if (p->mode != FA_GLTF_TRIANGLES && (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]))
            continue; // strips turn on these
        int *face = b->mesh.face_vert + 3 * (size_t)b->mesh.nface;
        int *uv = b->mesh.face_uv ? b->mesh.face_uv + 3 * (size_t)b->mesh.nface : NULL;
        for (int k = 0; k < 3; k++) {
            face[k] = at->first + v[k];
            if (uv) uv[k] = b->uv_first[prim] < 0 ? -1 : b->uv_first[prim] + v[k];
        }
        b->joins[b->mesh.nface] = ngons && t > 0 && face[0] == face[-3] && face[1] == face[-1];
        b->mesh.nface++;
    }
    if (p->mode == FA_GLTF_TRIANGLES && listed % 3)
        NOTE_AT(b->doc, "triangle-incomplete", p->json, "export the mesh again",
                "%d corners are left over after the last triangle", listed % 3);
    fa_free(index);
    return FA_OK;
}

// Triangles of one polygon become it again: each adds its last corner. What is written never passes what is read.
static void join_polygons(Build *b) {
    FaMesh *m = &b->mesh;
    int ntri = m->nface, at = 0;
    m->nface = 0;
    for (int t = 0; t < ntri; t++) {
        for (int k = b->joins[t] ? 2 : 0; k < 3; k++, at++) {
            m->face_vert[at] = m->face_vert[3 * (size_t)t + (size_t)k];
            if (m->face_uv) m->face_uv[at] = m->face_uv[3 * (size_t)t + (size_t)k];
        }
        m->nface += !b->joins[t];
        m->face_start[m->nface] = at;
    }
}

static FaCode read_faces(Build *b, FaError *err) {
    const FaGltfFace *face = &b->doc->face;
    int64_t n = 0;
    for (int i = 0; i < face->nprim; i++)
        if (face->prim[i].first >= 0) n += triangles_of(b->doc, &b->src->prim[i]);
    if (n > INT32_MAX / 64)
        return FAIL_AT(err, FA_E_LIMIT, b->src->json, NULL, "the mesh has more than %d triangles", INT32_MAX / 64);
    FA_TRY(fai_gltf_spend(b->doc, (size_t)n, b->mesh.uv ? 28 : 16, b->src->json, err));
    b->mesh.face_start = FA_PUSH(b->arena, (size_t)n + 1, int);
    b->mesh.face_vert = FA_PUSH(b->arena, 3 * (size_t)n, int);
    if (b->mesh.uv) b->mesh.face_uv = FA_PUSH(b->arena, 3 * (size_t)n, int);
    b->joins = FA_NEW(n, bool);
    if (!b->mesh.face_start || !b->mesh.face_vert || (b->mesh.uv && !b->mesh.face_uv) || !b->joins)
        return FA_FAIL_MEMORY(err);
    for (int i = 0; i < face->nprim; i++)
        if (face->prim[i].first >= 0) FA_TRY(add_faces(b, i, err));
    join_polygons(b);
    if (!b->mesh.nface)
        return FAIL_AT(err, FA_E_MESH, b->src->json, "choose another mesh", "the mesh has no triangles");
    return FA_OK;
}

// A mirroring node turns the faces inside out (specification, 3.7.4): their corners run the other way.
static void turn_faces(FaMesh *mesh) {
    for (int f = 0; f < mesh->nface; f++)
        for (int k = 0; k < 2; k++) {
            int *list = k ? mesh->face_uv : mesh->face_vert;
            for (int i = mesh->face_start[f], j = mesh->face_start[f + 1] - 1; list && i < j; i++, j--) {
                int last = list[j];
                list[j] = list[i];
                list[i] = last;
            }
        }
}

// --- names of the targets -----------------------------------------------------------------------------------------

static void set_name(const char **name, int i, int n, const FaJson *value) {
    if (i >= 0 && i < n && !name[i] && fai_json_is(value, FA_JSON_STRING) && value->string[0]) name[i] = value->string;
}

// extras.targetNames, by convention of the mesh, sometimes of a primitive. quiet: nothing is noted.
static void names_from_extras(FaGltf *doc, const FaJson *owner, bool quiet, const char **name, int n) {
    const FaJson *list = fai_json_get(fai_json_get(owner, "extras"), "targetNames");
    if (!fai_json_is(list, FA_JSON_ARRAY)) return;
    if (list->count != n && !quiet)
        NOTE_AT(doc, "target-names-count", list, "make targetNames as long as the list of targets",
                "%d target names for %d targets: they go by position", list->count, n);
    int i = 0;
    for (const FaJson *c = list->first; c && i < n; c = c->next) set_name(name, i++, n, c);
}

// An expression that drives one target of this mesh, and nothing else, names it.
static void name_from_binds(const FaGltf *doc, int mesh, const FaJson *binds, const FaJson *value, const char **name,
                            int n) {
    if (fai_json_count(binds) != 1) return;
    const FaJson *bind = binds->first, *by_mesh = fai_json_get(bind, "mesh"), *by_node = fai_json_get(bind, "node"),
                 *index = fai_json_get(bind, "index");
    if (!fai_json_is(index, FA_JSON_NUMBER) || !(index->number >= 0 && index->number < n)) return;
    bool ours = false; // VRM 0 binds by mesh, VRM 1 by node
    if (fai_json_is(by_mesh, FA_JSON_NUMBER))
        ours = by_mesh->number == mesh;
    else if (fai_json_is(by_node, FA_JSON_NUMBER) && by_node->number >= 0 && by_node->number < doc->nnode)
        ours = doc->node[(int)by_node->number].mesh == mesh;
    if (ours) set_name(name, (int)index->number, n, value);
}

static void names_from_vrm(const FaGltf *doc, int mesh, const char **name, int n) {
    const FaJson *root = doc->json->root;
    const FaJson *groups =
        fai_json_get(fai_json_get(fai_gltf_extension(root, "VRM"), "blendShapeMaster"), "blendShapeGroups");
    if (fai_json_is(groups, FA_JSON_ARRAY))
        for (const FaJson *g = groups->first; g; g = g->next) {
            const FaJson *preset = fai_json_get(g, "presetName"), *own = fai_json_get(g, "name");
            bool known = fai_json_is(preset, FA_JSON_STRING) && preset->string[0] && strcmp(preset->string, "unknown");
            name_from_binds(doc, mesh, fai_json_get(g, "binds"), known ? preset : own, name, n);
        }
    static const char *const kind[] = {"preset", "custom"};
    for (int k = 0; k < 2; k++) {
        const FaJson *list = fai_json_get(fai_json_get(fai_gltf_extension(root, "VRMC_vrm"), "expressions"), kind[k]);
        if (!fai_json_is(list, FA_JSON_OBJECT)) continue;
        for (const FaJson *e = list->first; e; e = e->next) {
            FaJson key = {.type = FA_JSON_STRING, .string = e->key};
            name_from_binds(doc, mesh, fai_json_get(e, "morphTargetBinds"), &key, name, n);
        }
    }
}

FaCode fai_gltf_target_names(FaGltf *doc, int mesh, FaArena *arena, FaNotes *notes, const char **name, FaError *err) {
    const FaGltfMesh *m = &doc->mesh[mesh];
    int n = m->ntarget, missing = 0, first = -1;
    names_from_extras(doc, m->json, !notes, name, n);
    for (int i = 0; i < m->nprim; i++)
        if (m->prim[i].ntarget) names_from_extras(doc, m->prim[i].json, !notes, name, n);
    for (int i = 0; i < n; i++) missing += !name[i];
    if (missing) names_from_vrm(doc, mesh, name, n);
    missing = 0;
    for (int i = 0; i < n; i++) {
        if (name[i]) continue;
        if (first < 0) first = i;
        missing++;
        if (!(name[i] = fai_arena_printf(arena, "target_%03d", i))) return FA_FAIL_MEMORY(err);
    }
    if (missing && notes)
        fai_note(notes, "missing-shape-names", fai_json_path(m->json).text,
                 "list the names in the mesh's extras.targetNames, or name them with --map",
                 "%d of %d shapes have no name, the first one is called %s", missing, n, name[first]);
    return FA_OK;
}

// --- targets ------------------------------------------------------------------------------------------------------

// Append the vertices that one accessor moves, from vertex `first` of the rig on.
static FaCode add_deltas(Build *b, int accessor, int first, int *count, FaError *err) {
    const FaGltfAccessor *a = &b->doc->accessor[accessor];
    int *row = b->row + *count;
    float *delta = b->delta + 3 * (size_t)*count;
    bool sparse = a->view < 0;
    int n = sparse ? a->nsparse : a->count, kept = 0;
    if (sparse)
        FA_TRY(fai_gltf_sparse(b->doc, accessor, row, delta, err));
    else
        FA_TRY(fai_gltf_floats(b->doc, accessor, delta, err));
    for (int i = 0; i < n; i++) {
        const float *d = delta + 3 * (size_t)i;
        if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
        int v = first + (sparse ? row[i] : i);
        row[kept] = v;
        memmove(delta + 3 * (size_t)kept++, d, 3 * sizeof *d);
        b->moved[v] = 1;
    }
    *count += kept;
    return FA_OK;
}

static FaCode add_target(Build *b, int target, const char *name, float weight, FaError *err) {
    const FaGltfFace *face = &b->doc->face;
    int count = 0, nwith = 0;
    for (int i = 0; i < b->nwith; i++) {
        const FaGltfPrim *p = &b->src->prim[b->with[i]];
        if (target >= p->ntarget) continue;
        b->with[nwith++] = b->with[i];
        int accessor = p->target[target];
        if (accessor < 0) continue;
        size_t bytes = 12 * (size_t)b->doc->accessor[accessor].count;
        if (bytes > b->left)
            return FAIL_AT(err, FA_E_LIMIT, p->json, "export the file again",
                           "its targets refer to the same data more than %d times", READ_PER_BYTE);
        b->left -= bytes;
        FA_TRY(add_deltas(b, accessor, face->prim[b->with[i]].first, &count, err));
    }
    b->nwith = nwith;
    FA_TRY(fai_gltf_spend(b->doc, (size_t)count, 16, b->src->json, err));
    return fai_draft_shape_sparse(b->draft, name, count, b->row, b->delta, weight, err);
}

static FaCode add_targets(Build *b, int mesh, const FaGltfNode *node, FaError *err) {
    const FaGltfMesh *m = b->src;
    size_t nvert = (size_t)b->mesh.nvert;
    const char **name = FA_NEW(m->ntarget, const char *);
    b->moved = FA_NEW(nvert, unsigned char);
    b->row = FA_NEW(nvert, int);
    b->delta = FA_NEW(3 * nvert, float);
    b->with = FA_NEW(m->nprim, int);
    FaCode rc = name && b->moved && b->row && b->delta && b->with ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_gltf_target_names(b->doc, mesh, b->arena, b->notes, name, err);
    for (int i = 0; i < m->nprim && rc >= 0; i++)
        if (owns(&b->doc->face, i) && m->prim[i].ntarget) b->with[b->nwith++] = i;
    if (__builtin_mul_overflow(b->doc->bytes, (size_t)READ_PER_BYTE, &b->left)) b->left = SIZE_MAX / 2;
    b->left += READ_BASE;
    for (int t = 0; t < m->ntarget && rc >= 0; t++) {
        float weight = node && node->nweight ? node->weight[t] : m->nweight ? m->weight[t] : 0;
        rc = add_target(b, t, name[t], weight, err);
    }
    fa_free(name);
    return rc;
}

// --- what carries the face ----------------------------------------------------------------------------------------

FaCode fai_gltf_joint_sums(const FaGltf *doc, const FaGltfPrim *p, const unsigned char *counts, int njoint, double *sum,
                           FaError *err) {
    if (p->position < 0) return FA_OK;
    size_t n = 4 * (size_t)doc->accessor[p->position].count;
    uint32_t *joint = FA_NEW(n, uint32_t);
    float *weight = FA_NEW(n, float);
    FaCode rc = joint && weight ? FA_OK : FA_FAIL_MEMORY(err);
    for (int set = 0; set < p->njoints && rc >= 0; set++) {
        rc = fai_gltf_uints(doc, p->joints[set], joint, err);
        if (rc >= 0) rc = fai_gltf_floats(doc, p->weights[set], weight, err);
        for (size_t k = 0; k < n && rc >= 0; k++)
            if ((!counts || counts[k / 4]) && joint[k] < (uint32_t)njoint && weight[k] > 0)
                sum[joint[k]] += (double)weight[k];
    }
    fa_free(joint);
    fa_free(weight);
    return rc;
}

// Sum of the skin weights of each joint over the vertices that shapes move (all of them if none does).
static FaCode joint_weights(const Build *b, int njoint, double *sum, FaError *err) {
    const FaGltfFace *face = &b->doc->face;
    bool any = memchr(b->moved, 1, (size_t)b->mesh.nvert) != NULL;
    for (int i = 0; i < b->src->nprim; i++)
        if (owns(face, i))
            FA_TRY(fai_gltf_joint_sums(b->doc, &b->src->prim[i], any ? b->moved + face->prim[i].first : NULL, njoint,
                                       sum, err));
    return FA_OK;
}

bool fai_gltf_inverse_bind(const FaGltf *doc, const FaGltfSkin *s, int joint, double out[16]) {
    if (s->inverse_bind < 0) return false;
    const FaGltfAccessor *a = &doc->accessor[s->inverse_bind];
    const unsigned char *p = fai_gltf_bytes(doc, s->inverse_bind);
    if (!p) return false; // zeros say nothing
    float m[16];
    memcpy(m, p + (size_t)joint * (size_t)a->stride, sizeof m);
    for (int i = 0; i < 16; i++) out[i] = (double)m[i];
    out[3] = out[7] = out[11] = 0;
    out[15] = 1;
    return true;
}

// For the hinge of the jaw.
static FaCode list_joints(const Build *b, const FaGltfSkin *s, FaError *err) {
    double m[16];
    for (int i = 0; i < s->njoint; i++)
        if (fai_gltf_inverse_bind(b->doc, s, i, m))
            FA_TRY(fai_draft_joint(b->draft, b->doc->node[s->joint[i]].name, m, err));
    return FA_OK;
}

static FaCode find_joint(Build *b, const FaGltfSkin *s, FaError *err) {
    FaGltfFace *face = &b->doc->face;
    double *sum = FA_NEW(s->njoint, double);
    if (!sum) return FA_FAIL_MEMORY(err);
    FaCode rc = joint_weights(b, s->njoint, sum, err);
    int best = 0;
    if (rc >= 0) rc = fai_gltf_head_joint(b->doc, s, sum, &best, err);
    fa_free(sum);
    FA_TRY(rc);
    face->carrier = s->joint[best];
    fai_gltf_inverse_bind(b->doc, s, best, face->offset);
    return FA_OK;
}

bool fai_gltf_skinned(const FaGltfMesh *m) {
    for (int i = 0; i < m->nprim; i++)
        if (m->prim[i].njoints) return true;
    return false;
}

static FaCode find_carrier(Build *b, FaError *err) {
    FaGltfFace *face = &b->doc->face;
    for (int i = 0; i < 16; i++) face->offset[i] = i % 5 == 0;
    face->carrier = face->node;
    if (face->node < 0) return FA_OK;
    int skin = b->doc->node[face->node].skin;
    if (skin < 0 || !fai_gltf_skinned(b->src)) return fai_gltf_joint_above(b->doc, err);
    FA_TRY(list_joints(b, &b->doc->skin[skin], err));
    return find_joint(b, &b->doc->skin[skin], err);
}

// Rounding in node matrices must not make a plain mesh slightly crooked: snap to a uniform scale, and to 1.
static void snap_stretch(double s[9]) {
    double size = fmax(fabs(s[0]), fmax(fabs(s[4]), fabs(s[8]))), mean = (fabs(s[0]) + s[4] + s[8]) / 3;
    bool uniform = true;
    for (int i = 0; i < 9; i++) {
        if (i % 4 && fabs(s[i]) < 1e-6 * size) s[i] = 0;
        uniform &= i % 4 ? s[i] == 0 : fabs(fabs(s[i]) - mean) < 1e-6 * size;
    }
    if (!uniform) return;
    if (fabs(mean - 1) < 1e-6) mean = 1;
    for (int i = 0; i < 9; i += 4) s[i] = i == 0 && s[0] < 0 ? -mean : mean;
}

// The node's stretch and rotation at rest.
static void place(Build *b, FaRigHints *hints) {
    FaGltfFace *face = &b->doc->face;
    for (int i = 0; i < 9; i++) hints->linear[i] = hints->rest[i] = i % 4 == 0;
    if (face->carrier < 0) return;
    double m[16], r[9], s[9];
    fai_gltf_face_world(b->doc, m);
    FaPlace where = fai_json_path(b->doc->node[face->carrier].json);
    if (!fai_gltf_split(m, r, s)) {
        fai_note(b->notes, "node-flat", where.text, "give the node a scale other than 0",
                 "the node that carries the mesh flattens it; its scale is ignored");
        return;
    }
    snap_stretch(s);
    face->mirrored =
        s[0] * (s[4] * s[8] - s[5] * s[7]) - s[1] * (s[3] * s[8] - s[5] * s[6]) + s[2] * (s[3] * s[7] - s[4] * s[6]) <
        0;
    if (face->mirrored)
        fai_note(
            b->notes, "node-mirrored", where.text,
            "apply the scale in the modelling program if left and right are swapped",
            "the node that carries the mesh mirrors it: left and right are swapped, and the faces are turned round");
    memcpy(hints->linear, s, sizeof s);
    memcpy(hints->rest, r, sizeof r);
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode build(Build *b, const FaRigOptions *options, FaRigHints *hints, FaError *err) {
    FaGltf *doc = b->doc;
    int mesh = -1;
    FA_TRY(pick_mesh(doc, options ? options->mesh : NULL, &mesh, err));
    FA_TRY(list_meshes(b, mesh, err));
    b->src = &doc->mesh[mesh];
    doc->face = (FaGltfFace){.mesh = mesh, .node = -1, .carrier = -1};
    doc->face.node = pick_node(b, mesh);
    const FaGltfNode *node = doc->face.node >= 0 ? &doc->node[doc->face.node] : NULL;
    FA_TRY(lay_out(b, err));
    FA_TRY(read_positions(b, err));
    FA_TRY(read_uv(b, err));
    FA_TRY(read_faces(b, err));
    fai_draft_mesh(b->draft, &b->mesh);
    FA_TRY(add_targets(b, mesh, node, err));
    FA_TRY(find_carrier(b, err));
    place(b, hints);
    if (doc->face.mirrored) turn_faces(&b->mesh); // the draft refers to the same arrays
    fai_notes_copy(b->notes, &doc->notes);
    const FaGltfOrigin *from = &doc->origin;
    hints->unit = from->made && !(from->unit > 0) ? 0 : 1;
    hints->file_unit = from->made ? from->unit : 0;
    hints->unit_is_custom = true; // many exporters write centimetres
    hints->up = from->made ? from->up : FA_UP_Y;
    hints->splits_seams = true;
    hints->name = b->src->name[0] || !node ? b->src->name : node->name;
    hints->path = doc->path;
    return FA_OK;
}

static void free_source(void *source) { fai_gltf_free(source); }

FaCode fai_gltf_rig(FaGltf *doc, const FaRigOptions *options, FaRig **rig, FaError *err) {
    *rig = NULL;
    Build b = {.doc = doc};
    FaRigHints hints = {0};
    FA_TRY(fai_draft_new(&b.draft, err));
    b.arena = fai_draft_arena(b.draft);
    b.notes = fai_draft_notes(b.draft);
    FaCode rc = build(&b, options, &hints, err);
    fa_free(b.uv_first);
    fa_free(b.joins);
    fa_free(b.moved);
    fa_free(b.row);
    fa_free(b.delta);
    fa_free(b.with);
    if (rc >= 0)
        rc = fai_draft_finish(b.draft, &hints, options, rig, err);
    else
        fai_draft_free(b.draft);
    if (rc < 0) {
        doc->face = (FaGltfFace){.mesh = -1, .node = -1, .carrier = -1};
        return doc->path ? fai_fail_in(err, rc, doc->path) : rc;
    }
    rc = options && options->one_mesh ? FA_OK : fai_gltf_find_parts(doc, *rig, err);
    if (rc < 0) {
        fa_rig_free(*rig);
        *rig = NULL;
        return rc;
    }
    (*rig)->source = doc;
    (*rig)->source_free = free_source;
    rc = fai_gltf_set_body(*rig, err);
    if (rc >= 0) return rc;
    (*rig)->source_free = NULL; // the caller keeps it
    fa_rig_free(*rig);
    *rig = NULL;
    return rc;
}

FaGltf *fai_gltf_of_rig(const FaRig *rig) { return rig && rig->source_free == free_source ? rig->source : NULL; }

// The document's rig with its clip; takes the document, also on failure.
static FaCode rig_of(FaGltf *doc, const FaRigOptions *options, FaRig **rig, FaError *err) {
    FaCode rc = fai_gltf_rig(doc, options, rig, err);
    if (rc < 0) {
        fai_gltf_free(doc);
        return rc;
    }
    rc = fai_gltf_clip(doc, *rig, &(*rig)->clip, err);
    if (rc >= 0) return FA_OK;
    rc = doc->path ? fai_fail_in(err, rc, doc->path) : rc;
    fa_rig_free(*rig);
    *rig = NULL;
    return rc;
}

FaCode fai_gltf_load_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    *rig = NULL;
    FaGltf *doc;
    FA_TRY(fai_gltf_load(path, &doc, err));
    return rig_of(doc, options, rig, err);
}

FaCode fai_gltf_made_rig(const void *glb, size_t size, const char *path, const FaGltfOrigin *origin,
                         const FaNotes *notes, const FaRigOptions *options, FaRig **rig, FaError *err) {
    *rig = NULL;
    FaGltf *doc;
    FA_TRY(fai_gltf_parse_memory(glb, size, NULL, &doc, err));
    doc->origin = *origin;
    doc->path = fai_strdup(path);
    if (!doc->path) {
        fai_gltf_free(doc);
        return FA_FAIL_MEMORY(err);
    }
    if (notes) fai_notes_copy(&doc->notes, notes);
    return rig_of(doc, options, rig, err);
}

FaCode fai_gltf_another_rig(const FaGltf *doc, const FaRigOptions *options, FaRig **rig, FaError *err) {
    if (!doc->origin.made) return fai_gltf_load_rig(doc->path, options, rig, err);
    return fai_gltf_made_rig(doc->file.data, doc->file.size, doc->path, &doc->origin, NULL, options, rig, err);
}
