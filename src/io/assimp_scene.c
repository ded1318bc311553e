#include "base/base.h"

#ifdef FA_HAVE_ASSIMP

#include "io/assimp_scene.h"

#include "io/clip_tools.h"

#include <math.h>
#include <stdlib.h>

// --- small things -------------------------------------------------------------------------------------------------

const char *fai_scene_name(const FaScene *s, const struct aiString *name) {
    return fai_clip_name(s->work, name->data, strnlen(name->data, sizeof name->data), false);
}

bool fai_scene_faces(const struct aiMesh *m) {
    for (unsigned f = 0; f < m->mNumFaces; f++)
        if (m->mFaces[f].mNumIndices >= 3) return true;
    return false;
}

void fai_scene_columns(const struct aiMatrix4x4 *m, double unit, double out[16]) {
    const double rows[16] = {m->a1, m->a2, m->a3, m->a4, m->b1, m->b2, m->b3, m->b4,
                             m->c1, m->c2, m->c3, m->c4, m->d1, m->d2, m->d3, m->d4};
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) out[4 * c + r] = rows[4 * r + c];
    for (int k = 0; k < 3; k++) out[12 + k] *= unit;
}

// --- nodes --------------------------------------------------------------------------------------------------------

static int count_nodes(const struct aiNode *node, int depth) {
    int n = 1;
    for (unsigned i = 0; i < node->mNumChildren && depth < FA_SCENE_DEPTH; i++)
        n += count_nodes(node->mChildren[i], depth + 1);
    return n;
}

static void list_nodes(FaScene *s, const struct aiNode *node, int parent, int depth) {
    int own = s->nnode++;
    s->node[own] = node;
    s->parent[own] = parent;
    for (unsigned i = 0; i < node->mNumChildren && depth < FA_SCENE_DEPTH; i++)
        list_nodes(s, node->mChildren[i], own, depth + 1);
}

typedef struct Named {
    const char *name;
    int node;
} Named;

static int by_name(const void *a, const void *b) {
    const Named *p = a, *q = b;
    int c = strcmp(p->name, q->name);
    return c ? c : p->node - q->node;
}

static FaCode find_nodes(FaScene *s, FaError *err) {
    size_t n = (size_t)count_nodes(s->ai->mRootNode, 0);
    s->node = FA_PUSH(s->work, n, const struct aiNode *);
    s->parent = FA_PUSH(s->work, n, int);
    s->by_name = FA_PUSH(s->work, n, int);
    s->mesh = FA_PUSH(s->work, n, int);
    s->skin = FA_PUSH(s->work, n, int);
    s->moves = FA_PUSH(s->work, n, bool);
    Named *named = FA_PUSH(s->work, n, Named);
    if (!s->node || !s->parent || !s->by_name || !s->mesh || !s->skin || !s->moves || !named)
        return FA_FAIL_MEMORY(err);
    list_nodes(s, s->ai->mRootNode, -1, 0);
    for (int i = 0; i < s->nnode; i++) {
        named[i] = (Named){s->node[i]->mName.data, i};
        s->mesh[i] = s->skin[i] = -1;
    }
    qsort(named, n, sizeof *named, by_name);
    for (size_t i = 0; i < n; i++) s->by_name[i] = named[i].node;
    return FA_OK;
}

int fai_scene_node(const FaScene *s, const char *name) {
    int lo = 0, hi = s->nnode; // the first of this name
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (strcmp(s->node[s->by_name[mid]]->mName.data, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < s->nnode && !strcmp(s->node[s->by_name[lo]]->mName.data, name) ? s->by_name[lo] : -1;
}

static void push_numbers(FaGltfOut *out, FaJson *object, const char *key, const double *v, int n) {
    FaJson *list = fai_out_array(out, object, key);
    for (int i = 0; i < n; i++) fai_out_push_float(out, list, (float)v[i] + 0.0f);
}

static void turn_root(const FaScene *s, double m[16]) {
    for (int c = 0; c < 4; c++) {
        double v[3];
        for (int r = 0; r < 3; r++)
            v[r] = s->place.turn[3 * r] * m[4 * c] + s->place.turn[3 * r + 1] * m[4 * c + 1] +
                   s->place.turn[3 * r + 2] * m[4 * c + 2];
        memcpy(m + 4 * c, v, sizeof v);
    }
}

// As translation, rotation and scale where that is the same; shear needs a matrix, which no animation can move.
static void write_transform(FaScene *s, FaJson *json, const double m[16], bool moves) {
    FaGltfOut *out = &s->out;
    double r[9], stretch[9], size = 0, off = 0;
    bool turned = fai_gltf_split(m, r, stretch);
    for (int i = 0; i < 9; i++) {
        if (i % 4 == 0) size = fmax(size, fabs(stretch[i]));
        if (i % 4) off = fmax(off, fabs(stretch[i]));
    }
    if (!turned || (off > 1e-5 * size && !moves)) {
        push_numbers(out, json, "matrix", m, 16);
        return;
    }
    FaPose pose = {0};
    fai_pose_rotate(&pose, r, NULL);
    double scale[3] = {stretch[0], stretch[4], stretch[8]};
    bool scaled = false, moved = false;
    for (int k = 0; k < 3; k++) {
        if (fabs(scale[k] - 1) < 1e-6) scale[k] = 1;
        scaled |= scale[k] != 1;
        moved |= m[12 + k] != 0;
    }
    if (moved) push_numbers(out, json, "translation", m + 12, 3);
    if (fabs(pose.q[3]) < 1) push_numbers(out, json, "rotation", pose.q, 4);
    if (scaled) push_numbers(out, json, "scale", scale, 3);
}

static FaCode write_nodes(FaScene *s, FaError *err) {
    FaGltfOut *out = &s->out;
    FaJson **json = FA_PUSH(s->work, s->nnode, FaJson *), *nodes = fai_out_array(out, out->root, "nodes");
    if (!json) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < s->nnode; i++) {
        double m[16];
        fai_scene_columns(&s->node[i]->mTransformation, s->place.unit, m);
        for (int k = 0; k < 16; k++)
            if (!isfinite(m[k]))
                return FA_FAIL(err, FA_E_FORMAT, s->node[i]->mName.data, "reset its transform",
                               "the node's transform is not finite");
        if (s->parent[i] < 0) turn_root(s, m);
        const char *name = fai_scene_name(s, &s->node[i]->mName);
        if (!name) return FA_FAIL_MEMORY(err);
        json[i] = fai_out_push(out, nodes);
        if (name[0]) fai_out_str(out, json[i], "name", name);
        write_transform(s, json[i], m, s->moves[i]);
        if (s->mesh[i] >= 0) fai_out_int(out, json[i], "mesh", s->mesh[i]);
        if (s->skin[i] >= 0) fai_out_int(out, json[i], "skin", s->skin[i]);
        if (s->parent[i] >= 0) fai_out_push_int(out, fai_out_array(out, json[s->parent[i]], "children"), i);
    }
    FaJson *scene = fai_out_push(out, fai_out_array(out, out->root, "scenes"));
    fai_out_push_int(out, fai_out_array(out, scene, "nodes"), 0);
    fai_out_int(out, out->root, "scene", 0);
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode fill(FaScene *s, FaError *err) {
    FA_TRY(find_nodes(s, err));
    fai_scene_mark_moving(s);
    FA_TRY(fai_scene_materials(s, err));
    for (int i = 0; i < s->nnode; i++) FA_TRY(fai_scene_mesh(s, i, err));
    FA_TRY(write_nodes(s, err));
    return fai_scene_motion(s, err);
}

FaCode fai_scene_document(const struct aiScene *ai, const char *path, const FaScenePlace *place, FaText *glb,
                          FaNotes *notes, FaError *err) {
    static const char empty[] = "{\"asset\":{\"generator\":\"fascia " FA_VERSION_TEXT "\",\"version\":\"2.0\"}}";
    FaScene s = {.ai = ai, .path = path, .place = *place, .notes = notes, .work = fai_arena_new(0)};
    FaGltf *base = NULL;
    FaCode rc = s.work ? fai_gltf_parse_memory(empty, sizeof empty - 1, NULL, &base, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_gltf_out_open(&s.out, base, "document.glb", err);
    if (rc >= 0) rc = fill(&s, err);
    if (rc >= 0) rc = fai_gltf_out_bytes(&s.out, glb, err);
    fai_gltf_out_close(&s.out);
    fai_gltf_free(base);
    fai_arena_free(s.work);
    return rc;
}

#endif
