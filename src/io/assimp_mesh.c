// The meshes of a node as one glTF mesh.
//
// Assimp gives a vertex per polygon corner. Corners of the same place and motion that are one point of the surface
// (mesh/weld.h) are joined, and split again only where normal, texture coordinate, colour or skin differ, as glTF wants
// it: each part of one material has its own vertices, all of them used, in the order of first use. So the order is the
// same for whoever reads the document. Polygons are kept as FB_ngon_encoding has it: triangles of one polygon follow
// one another and begin with the same vertex, those of the next one with another.
#include "base/base.h"

#ifdef FA_HAVE_ASSIMP

#include "io/assimp_scene.h"
#include "io/clip_tools.h"
#include "mesh/weld.h"

#include <math.h>

enum { ARRAY_BUFFER = 34962, INDEX_BUFFER = 34963, MAX_SHAPES = 10000, MOST_FAN = 64 };

typedef struct Surface {
    FaScene *s;
    const struct aiNode *node;
    int number; // of the node
    int npart;
    const struct aiMesh **part; // those with faces                                    (npart)
    int *first;                 // corner that each begins with, then the total        (npart + 1)
    int *first_face;            // likewise                                            (npart + 1)
    FaMesh mesh;                // vertices are assimp's, metres
    const char **shape;         // names in the file, over all parts                   (nshape)
    int nshape;
    size_t prefix;
    int *point;          // control point of each corner: the first of its corners     (corners)
    float *normal;       // of each corner                                             (corners x 3)
    unsigned *joint;     // of each corner; NULL: no skin                              (corners x 4)
    float *weight;       //                                                            (corners x 4)
    int njoint;          //
    int *joint_node;     //                                                            (njoint)
    float *inverse_bind; //                                                            (njoint x 16)
    int *vertex;         // of each corner, counted over all parts                     (corners)
    int *origin;         // a corner of each vertex                                    (nvert)
    int nvert;
} Surface;

// --- shapes -------------------------------------------------------------------------------------------------------

static bool has_shape(const char *const *shape, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(shape[i], name)) return true;
    return false;
}

// Parts of one mesh have the same shapes; should one lack some, it stays where it is.
FaCode fai_scene_shape_names(FaScene *s, const struct aiNode *node, const char ***shape, int *nshape, size_t *prefix,
                             FaError *err) {
    size_t room = 0;
    int n = 0;
    for (unsigned i = 0; i < node->mNumMeshes; i++) room += s->ai->mMeshes[node->mMeshes[i]]->mNumAnimMeshes;
    if (room > MAX_SHAPES)
        return FA_FAIL(err, FA_E_LIMIT, node->mName.data, "split the rig", "more than %d shapes over all parts",
                       MAX_SHAPES);
    const char **name = FA_PUSH(s->work, room, const char *);
    if (!name) return FA_FAIL_MEMORY(err);
    for (unsigned i = 0; i < node->mNumMeshes; i++) {
        const struct aiMesh *m = s->ai->mMeshes[node->mMeshes[i]];
        // in the first part all count, equal names too; later ones are matched by name
        for (unsigned k = 0; k < m->mNumAnimMeshes; k++)
            if (i == 0 || !has_shape(name, n, m->mAnimMeshes[k]->mName.data)) name[n++] = m->mAnimMeshes[k]->mName.data;
    }
    // "shapes.browInnerUp", "face:browInnerUp": what all have before the last such sign is the deformer's name
    *prefix = 0;
    for (size_t at = 0; n && name[0][at]; at++) {
        if (name[0][at] != '.' && name[0][at] != ':') continue;
        bool common = true;
        for (int i = 0; i < n && common; i++) common = !strncmp(name[i], name[0], at + 1) && name[i][at + 1];
        if (common) *prefix = at + 1;
    }
    *shape = name;
    *nshape = n;
    return FA_OK;
}

// The shape's part for one mesh, or NULL. Parts mostly have the same shapes in the same order.
static const struct aiAnimMesh *anim_mesh(const Surface *f, const struct aiMesh *m, int i) {
    const struct aiAnimMesh *found = NULL;
    if ((unsigned)i < m->mNumAnimMeshes && !strcmp(m->mAnimMeshes[i]->mName.data, f->shape[i]))
        found = m->mAnimMeshes[i];
    for (unsigned k = 0; k < m->mNumAnimMeshes && !found; k++)
        if (!strcmp(m->mAnimMeshes[k]->mName.data, f->shape[i])) found = m->mAnimMeshes[k];
    return found && found->mVertices && found->mNumVertices == m->mNumVertices ? found : NULL;
}

static void delta_at(const Surface *f, const struct aiMesh *m, const struct aiAnimMesh *a, unsigned v, float d[3]) {
    const double u = f->s->place.unit;
    const struct aiVector3D *x = &m->mVertices[v], *y = &a->mVertices[v];
    d[0] = (float)(u * (double)(y->x - x->x)) + 0.0f; // + 0: no negative zeros
    d[1] = (float)(u * (double)(y->y - x->y)) + 0.0f;
    d[2] = (float)(u * (double)(y->z - x->z)) + 0.0f;
}

// --- corners ------------------------------------------------------------------------------------------------------

static FaCode lay_out(Surface *f, FaError *err) {
    FaScene *s = f->s;
    int64_t corners = 0, faces = 0, refs = 0, lines = 0;
    f->part = FA_PUSH(s->work, f->node->mNumMeshes, const struct aiMesh *);
    f->first = FA_PUSH(s->work, f->node->mNumMeshes + 1, int);
    f->first_face = FA_PUSH(s->work, f->node->mNumMeshes + 1, int);
    if (!f->part || !f->first || !f->first_face) return FA_FAIL_MEMORY(err);
    for (unsigned i = 0; i < f->node->mNumMeshes; i++) {
        const struct aiMesh *m = s->ai->mMeshes[f->node->mMeshes[i]];
        for (unsigned k = 0; k < m->mNumFaces; k++) {
            bool face = m->mFaces[k].mNumIndices >= 3;
            lines += !face;
            faces += face;
            if (face) refs += m->mFaces[k].mNumIndices;
        }
        if (!fai_scene_faces(m)) continue;
        corners += m->mNumVertices;
        f->part[f->npart++] = m;
        if (corners > INT32_MAX / 64 || refs > INT32_MAX / 64)
            return FA_FAIL(err, FA_E_LIMIT, f->node->mName.data, "use a coarser mesh", "the mesh is too large");
        f->first[f->npart] = (int)corners;
        f->first_face[f->npart] = (int)faces;
    }
    if (lines)
        fai_note_count(s->notes, (int)FA_MIN(lines, INT32_MAX), "lines-and-points-dropped", "", "",
                       "lines and points are passed over, only faces count");
    f->mesh = (FaMesh){.nvert = (int)corners, .nface = (int)faces};
    f->mesh.x = FA_PUSH(s->work, 3 * (size_t)corners, float);
    f->mesh.face_start = FA_PUSH(s->work, (size_t)faces + 1, int);
    f->mesh.face_vert = FA_PUSH(s->work, (size_t)refs, int);
    return f->mesh.x && f->mesh.face_start && f->mesh.face_vert ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode read_corners(Surface *f, FaError *err) {
    int face = 0, at = 0;
    for (int p = 0; p < f->npart; p++) {
        const struct aiMesh *m = f->part[p];
        float *x = f->mesh.x + 3 * (size_t)f->first[p];
        for (unsigned v = 0; v < m->mNumVertices; v++, x += 3) {
            const struct aiVector3D *y = &m->mVertices[v];
            const double from[3] = {y->x, y->y, y->z};
            for (int k = 0; k < 3; k++) x[k] = (float)(f->s->place.unit * from[k]) + 0.0f;
            if (!isfinite(x[0]) || !isfinite(x[1]) || !isfinite(x[2]))
                return FA_FAIL(err, FA_E_MESH, FA_PLACE("%.80s, vertex %u", f->node->mName.data, v),
                               "repair the vertex in a modelling program and export again",
                               "the position is not a finite number");
        }
        for (unsigned i = 0; i < m->mNumFaces; i++) {
            const struct aiFace *q = &m->mFaces[i];
            if (q->mNumIndices < 3) continue;
            for (unsigned k = 0; k < q->mNumIndices; k++) {
                if (q->mIndices[k] >= m->mNumVertices)
                    return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("face %u", i), "export it again",
                                   "a face refers to vertex %u of %u", q->mIndices[k], m->mNumVertices);
                f->mesh.face_vert[at++] = f->first[p] + (int)q->mIndices[k];
            }
            f->mesh.face_start[++face] = at;
        }
    }
    return FA_OK;
}

// --- control points -----------------------------------------------------------------------------------------------

// Numbers of rows that are equal in all `width` words: number[i] counts from 0 in order of first appearance, first[] is
// a row of each.
static FaCode number_rows(FaArena *work, const uint32_t *row, int n, size_t width, int *number, int *first, int *count,
                          FaError *err) {
    FaMark mark = fai_arena_mark(work);
    size_t slots = 16;
    while (slots < 2 * (size_t)n) slots *= 2;
    int *table = FA_PUSH(work, slots, int);
    if (!table) return FA_FAIL_MEMORY(err);
    *count = 0;
    for (int i = 0; i < n; i++) {
        const uint32_t *r = row + (size_t)i * width;
        size_t at = (size_t)fai_hash64(r, width * sizeof *r, 0) & (slots - 1);
        while (table[at] && memcmp(row + (size_t)first[table[at] - 1] * width, r, width * sizeof *r))
            at = (at + 1) & (slots - 1);
        if (!table[at]) {
            first[*count] = i;
            table[at] = ++*count;
        }
        number[i] = table[at] - 1;
    }
    fai_arena_release(work, mark);
    return FA_OK;
}

// A fingerprint of each corner's motion in all shapes, 128 bits of it: what differs there is another point.
static FaCode fingerprints(const Surface *f, uint64_t *print, FaError *err) {
    for (int i = 0; i < f->nshape; i++)
        for (int p = 0; p < f->npart; p++) {
            const struct aiMesh *m = f->part[p];
            const struct aiAnimMesh *a = anim_mesh(f, m, i);
            uint64_t *to = print + 2 * (size_t)f->first[p];
            for (unsigned v = 0; a && v < m->mNumVertices; v++, to += 2) {
                float d[3];
                delta_at(f, m, a, v, d);
                if (!isfinite(d[0]) || !isfinite(d[1]) || !isfinite(d[2]))
                    return FA_FAIL(err, FA_E_MESH, FA_PLACE("shape '%.80s', vertex %u", f->shape[i] + f->prefix, v),
                                   "repair the shape in a modelling program and export again",
                                   "the displacement is not a finite number");
                if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
                to[0] = fai_hash64(d, sizeof d, to[0] + (uint64_t)i + 1);
                to[1] = fai_hash64(d, sizeof d, ~to[1] - (uint64_t)i);
            }
        }
    return FA_OK;
}

static FaCode find_points(Surface *f, FaError *err) {
    FaArena *work = f->s->work;
    size_t n = (size_t)f->mesh.nvert;
    f->point = FA_PUSH(work, n, int);
    FaMark mark = fai_arena_mark(work);
    uint64_t *print = FA_PUSH(work, 2 * n, uint64_t);
    uint32_t *row = FA_PUSH(work, 7 * n, uint32_t);
    int *number = FA_PUSH(work, n, int), *first = FA_PUSH(work, n, int), count;
    if (!f->point || !print || !row || !number || !first) return FA_FAIL_MEMORY(err);
    FA_TRY(fingerprints(f, print, err));
    for (size_t i = 0; i < n; i++) {
        memcpy(row + 7 * i, f->mesh.x + 3 * i, 12);
        memcpy(row + 7 * i + 3, print + 2 * i, 16);
    }
    FA_TRY(number_rows(work, row, (int)n, 7, number, first, &count, err));
    for (size_t i = 0; i < n; i++) number[i] = first[number[i]];
    FA_TRY(fai_weld_points(&f->mesh, number, f->point, err));
    fai_arena_release(work, mark);
    return FA_OK;
}

// The file's normals; where it has none, those of the surface.
static FaCode find_normals(Surface *f, FaError *err) {
    size_t n = (size_t)f->mesh.nvert;
    f->normal = FA_PUSH(f->s->work, 3 * n, float);
    FaMesh joined = f->mesh;
    joined.weld = f->point;
    if (!f->normal) return FA_FAIL_MEMORY(err);
    fai_mesh_normals(&joined, joined.x, f->normal);
    for (int p = 0; p < f->npart; p++) {
        const struct aiMesh *m = f->part[p];
        float *to = f->normal + 3 * (size_t)f->first[p];
        for (unsigned v = 0; v < m->mNumVertices; v++, to += 3) {
            if (to[0] == 0 && to[1] == 0 && to[2] == 0) to[1] = 1; // without area: any is valid
            if (!m->mNormals) continue;
            const double g[3] = {m->mNormals[v].x, m->mNormals[v].y, m->mNormals[v].z};
            double size = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
            for (int k = 0; k < 3 && size > 1e-6 && isfinite(size); k++) to[k] = (float)(g[k] / size) + 0.0f;
        }
    }
    return FA_OK;
}

// --- skin ---------------------------------------------------------------------------------------------------------

static int joint_slot(Surface *f, int node, const float m[16], int *slot) {
    if (slot[node] < 0) {
        slot[node] = f->njoint;
        f->joint_node[f->njoint] = node;
        memcpy(f->inverse_bind + 16 * (size_t)f->njoint++, m, 16 * sizeof *m);
    }
    return slot[node];
}

// The four largest influences of a corner, the largest first. True if one had to go.
static bool add_influence(Surface *f, int corner, int joint, float w) {
    unsigned *j = f->joint + 4 * (size_t)corner;
    float *have = f->weight + 4 * (size_t)corner;
    int at = 4;
    while (at > 0 && w > have[at - 1]) at--;
    bool lost = at == 4 || have[3] > 0;
    for (int k = 3; k > at; k--) j[k] = j[k - 1], have[k] = have[k - 1];
    if (at < 4) j[at] = (unsigned)joint, have[at] = w;
    return lost;
}

static void add_bones(Surface *f, int *slot, int *lost, int *orphans) {
    for (int p = 0; p < f->npart; p++)
        for (unsigned b = 0; b < f->part[p]->mNumBones; b++) {
            const struct aiBone *bone = f->part[p]->mBones[b];
            int node = fai_scene_node(f->s, bone->mName.data);
            double m[16];
            float inverse[16];
            fai_scene_columns(&bone->mOffsetMatrix, f->s->place.unit, m);
            bool fine = node >= 0;
            for (int k = 0; k < 16; k++) fine &= isfinite(inverse[k] = (float)m[k] + 0.0f) != 0;
            *orphans += !fine;
            if (!fine) continue;
            int joint = joint_slot(f, node, inverse, slot);
            for (unsigned i = 0; i < bone->mNumWeights; i++) {
                const struct aiVertexWeight *w = &bone->mWeights[i];
                if (w->mVertexId < f->part[p]->mNumVertices && w->mWeight > 0 && isfinite(w->mWeight))
                    *lost += add_influence(f, f->first[p] + (int)w->mVertexId, joint, w->mWeight);
            }
        }
}

// Weights that sum to 1. What no bone holds goes with the mesh's own node.
static void settle_weights(Surface *f, int *slot) {
    static const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    for (int i = 0; i < f->mesh.nvert; i++) {
        float *w = f->weight + 4 * (size_t)i, sum = w[0] + w[1] + w[2] + w[3];
        unsigned *j = f->joint + 4 * (size_t)i;
        if (!(sum > 1e-6f)) {
            j[0] = (unsigned)joint_slot(f, f->number, identity, slot);
            w[0] = 1;
            w[1] = w[2] = w[3] = 0;
        }
        for (int k = 1; k < 4; k++) w[k] = sum > 1e-6f ? w[k] / sum : 0;
        w[0] = 1 - (w[1] + w[2] + w[3]);
        for (int k = 0; k < 4; k++)
            if (w[k] == 0) j[k] = 0;
    }
}

static FaCode find_skin(Surface *f, FaError *err) {
    FaScene *s = f->s;
    bool any = false;
    for (int p = 0; p < f->npart; p++) any |= f->part[p]->mNumBones > 0;
    if (!any) return FA_OK;
    size_t n = (size_t)f->mesh.nvert;
    int *slot = FA_PUSH(s->work, s->nnode, int), lost = 0, orphans = 0;
    f->joint = FA_PUSH(s->work, 4 * n, unsigned);
    f->weight = FA_PUSH(s->work, 4 * n, float);
    f->joint_node = FA_PUSH(s->work, s->nnode, int);
    f->inverse_bind = FA_PUSH(s->work, 16 * (size_t)s->nnode, float);
    if (!slot || !f->joint || !f->weight || !f->joint_node || !f->inverse_bind) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < s->nnode; i++) slot[i] = -1;
    add_bones(f, slot, &lost, &orphans);
    settle_weights(f, slot);
    if (f->njoint > UINT16_MAX)
        return FA_FAIL(err, FA_E_LIMIT, f->node->mName.data, "split the skeleton", "more than %d joints", UINT16_MAX);
    if (lost)
        fai_note_count(s->notes, lost, "skin-influences", f->node->mName.data, "",
                       "a vertex follows at most four joints; weaker ones were left out");
    if (orphans)
        fai_note_count(s->notes, orphans, "bones-dropped", f->node->mName.data, "export the skeleton with the mesh",
                       "bones without a node, or with a broken matrix; what they held goes with the mesh");
    return FA_OK;
}

// --- vertices -----------------------------------------------------------------------------------------------------

enum { UV_SETS = 2 }; // all that glTF promises to show

static void texcoord_at(const struct aiMesh *m, int set, unsigned v, float uv[2]) {
    const struct aiVector3D *t = &m->mTextureCoords[set][v];
    uv[0] = isfinite(t->x) ? t->x + 0.0f : 0;
    uv[1] = isfinite(t->y) ? 1 - t->y + 0.0f : 0; // glTF counts from the top
}

static void color_at(const struct aiMesh *m, unsigned v, float rgba[4]) {
    const struct aiColor4D *c = &m->mColors[0][v];
    const float from[4] = {c->r, c->g, c->b, c->a};
    for (int k = 0; k < 4; k++) rgba[k] = from[k] > 0 ? fminf(from[k], 1) : 0; // NaN becomes 0
}

enum { KEY = 21 }; // part, point, normal 3, colour 4, joints 4, weights 4, uv 2 x 2

static FaCode find_vertices(Surface *f, FaError *err) {
    FaArena *work = f->s->work;
    size_t n = (size_t)f->mesh.nvert;
    f->vertex = FA_PUSH(work, n, int);
    f->origin = FA_PUSH(work, n, int);
    FaMark mark = fai_arena_mark(work);
    uint32_t *row = FA_PUSH(work, KEY * n, uint32_t);
    if (!f->vertex || !f->origin || !row) return FA_FAIL_MEMORY(err);
    for (int p = 0; p < f->npart; p++) {
        const struct aiMesh *m = f->part[p];
        for (unsigned v = 0; v < m->mNumVertices; v++) {
            size_t c = (size_t)f->first[p] + v;
            uint32_t *r = row + KEY * c;
            float uv[2], rgba[4];
            r[0] = (uint32_t)p;
            r[1] = (uint32_t)f->point[c];
            memcpy(r + 2, f->normal + 3 * c, 12);
            if (m->mColors[0]) color_at(m, v, rgba), memcpy(r + 5, rgba, sizeof rgba);
            if (f->joint) memcpy(r + 9, f->joint + 4 * c, 16), memcpy(r + 13, f->weight + 4 * c, 16);
            for (int i = 0; i < UV_SETS; i++)
                if (m->mTextureCoords[i]) texcoord_at(m, i, v, uv), memcpy(r + 17 + 2 * i, uv, sizeof uv);
        }
    }
    FA_TRY(number_rows(work, row, (int)n, KEY, f->vertex, f->origin, &f->nvert, err));
    fai_arena_release(work, mark);
    return FA_OK;
}

// Vertices of a part: [*first, end).
static int part_vertices(const Surface *f, int p, int *first) {
    int lo = 0, hi = f->nvert;
    for (int k = 0; k < 2; k++) {
        int bound = f->first[p + k], a = k ? *first : 0, b = f->nvert; // the first vertex whose corner is at it or on
        while (a < b) {
            int mid = (a + b) / 2;
            if (f->origin[mid] < bound)
                a = mid + 1;
            else
                b = mid;
        }
        if (k)
            hi = a;
        else
            *first = lo = a;
    }
    return hi - lo;
}

static int floats_of(Surface *f, const float *all, int width, int first, int n, bool bounds, FaError *err) {
    float *x = FA_PUSH(f->s->work, (size_t)n * (size_t)width, float);
    if (!x) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < n; i++)
        memcpy(x + (size_t)(i * width), all + (size_t)(f->origin[first + i] * width), (size_t)width * sizeof *x);
    return fai_out_floats(&f->s->out, x, n, width, bounds);
}

static FaCode write_skin_of(Surface *f, FaJson *attributes, int first, int n, FaError *err) {
    FaScene *s = f->s;
    int view, weights = floats_of(f, f->weight, 4, first, n, false, err);
    if (weights < 0) return (FaCode)weights;
    uint16_t *joint = fai_out_view(&s->out, 8 * (size_t)n, 0, ARRAY_BUFFER, &view);
    for (int i = 0; joint && i < n; i++)
        for (int k = 0; k < 4; k++) joint[4 * i + k] = (uint16_t)f->joint[4 * (size_t)f->origin[first + i] + (size_t)k];
    fai_out_int(&s->out, attributes, "JOINTS_0", fai_out_accessor(&s->out, view, FA_GLTF_U16, n, "VEC4"));
    fai_out_int(&s->out, attributes, "WEIGHTS_0", weights);
    return FA_OK;
}

static bool all_white(const struct aiMesh *m) {
    float c[4];
    for (unsigned v = 0; v < m->mNumVertices; v++) {
        color_at(m, v, c);
        if (c[0] < 1 || c[1] < 1 || c[2] < 1 || c[3] < 1) return false;
    }
    return true;
}

static FaCode write_attributes(Surface *f, int p, FaJson *attributes, int first, int n, FaError *err) {
    FaGltfOut *out = &f->s->out;
    const struct aiMesh *m = f->part[p];
    int position = floats_of(f, f->mesh.x, 3, first, n, true, err), normal;
    if (position < 0) return (FaCode)position;
    if ((normal = floats_of(f, f->normal, 3, first, n, false, err)) < 0) return (FaCode)normal;
    fai_out_int(out, attributes, "POSITION", position);
    fai_out_int(out, attributes, "NORMAL", normal);
    int sets = 0; // TEXCOORD_1 must not be there without TEXCOORD_0
    while (sets < UV_SETS && m->mTextureCoords[sets]) sets++;
    if (sets == UV_SETS && m->mTextureCoords[sets])
        fai_note(f->s->notes, "uv-sets-dropped", f->node->mName.data, "",
                 "texture coordinates beyond the second set are left out");
    bool colors = m->mColors[0] && !all_white(m);
    float *value = FA_PUSH(f->s->work, 4 * (size_t)n, float);
    if (!value) return FA_FAIL_MEMORY(err);
    for (int set = 0; set < sets; set++) {
        for (int i = 0; i < n; i++)
            texcoord_at(m, set, (unsigned)(f->origin[first + i] - f->first[p]), value + 2 * (size_t)i);
        fai_out_int(out, attributes, set ? "TEXCOORD_1" : "TEXCOORD_0", fai_out_floats(out, value, n, 2, false));
    }
    for (int i = 0; colors && i < n; i++)
        color_at(m, (unsigned)(f->origin[first + i] - f->first[p]), value + 4 * (size_t)i);
    if (colors) fai_out_int(out, attributes, "COLOR_0", fai_out_floats(out, value, n, 4, false));
    return f->joint ? write_skin_of(f, attributes, first, n, err) : FA_OK;
}

// --- targets ------------------------------------------------------------------------------------------------------

static FaCode write_targets(Surface *f, int p, FaJson *prim, int first, int n, FaError *err) {
    FaGltfOut *out = &f->s->out;
    const struct aiMesh *m = f->part[p];
    int *start = FA_NEW((size_t)f->nshape + 1, int), *accessor = FA_NEW(f->nshape, int), *row = NULL, room = 0,
        count = 0;
    float *value = NULL;
    FaCode rc = start && accessor ? FA_OK : FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nshape && rc >= 0; i++) {
        const struct aiAnimMesh *a = anim_mesh(f, m, i);
        if (room - count < n) { // for a shape that moves all of it
            int more = count > INT32_MAX / 4 ? INT32_MAX / 2 : 2 * count + n;
            int *rows = fai_resize(row, (size_t)more * sizeof *row);
            if (rows) row = rows;
            float *values = rows ? fai_resize(value, 3 * (size_t)more * sizeof *value) : NULL;
            if (values) value = values, room = more;
            if (!values) rc = FA_FAIL_MEMORY(err);
        }
        for (int v = 0; a && v < n && rc >= 0; v++) {
            float *d = value + 3 * (size_t)count;
            delta_at(f, m, a, (unsigned)(f->origin[first + v] - f->first[p]), d);
            if (d[0] != 0 || d[1] != 0 || d[2] != 0) row[count++] = v;
        }
        start[i + 1] = count;
        if (count > INT32_MAX / 4)
            rc = FA_FAIL(err, FA_E_LIMIT, f->node->mName.data, "use fewer shapes or a smaller mesh",
                         "too many displacements");
    }
    if (rc >= 0) fai_out_fields(out, f->nshape, n, start, row, value, accessor);
    FaJson *targets = rc >= 0 && f->nshape ? fai_out_array(out, prim, "targets") : NULL;
    for (int i = 0; targets && i < f->nshape; i++)
        fai_out_int(out, fai_out_push(out, targets), "POSITION", accessor[i]);
    fa_free(start);
    fa_free(accessor);
    fa_free(row);
    fa_free(value);
    return rc;
}

// --- triangles ----------------------------------------------------------------------------------------------------

typedef struct Triangles {
    uint32_t *index; // of the part's vertices
    int count;
    uint32_t last; // first corner of the last triangle
    bool polygons; // some have more than three corners
} Triangles;

static void add_triangle(Triangles *t, const uint32_t v[3], int turn) {
    for (int k = 0; k < 3; k++) t->index[t->count++] = v[(turn + k) % 3];
    t->last = v[turn];
}

static void add_single(Triangles *t, const uint32_t v[3]) {
    int turn = 0;
    while (t->count && turn < 2 && v[turn] == t->last) turn++;
    add_triangle(t, v, turn);
}

static int corner_of(const uint32_t v[3], uint32_t at) { return v[0] == at ? 0 : v[1] == at ? 1 : v[2] == at ? 2 : -1; }

// All triangles of a polygon from one corner on, in the order of a fan.
static bool add_fan(Triangles *t, const uint32_t (*v)[3], int n, uint32_t at) {
    int order[MOST_FAN], turn[MOST_FAN];
    if (t->count && at == t->last) return false;
    for (int i = 0; i < n; i++)
        if ((turn[i] = corner_of(v[i], at)) < 0) return false;
    for (int i = 0; i < n; i++) { // the one before which none comes, then always the next
        int found = -1;
        for (int k = 0; k < n && found < 0; k++) {
            uint32_t begins = v[k][(turn[k] + 1) % 3];
            bool fits = i ? begins == v[order[i - 1]][(turn[order[i - 1]] + 2) % 3] : true;
            for (int j = 0; j < n && i == 0; j++) fits &= v[j][(turn[j] + 2) % 3] != begins;
            if (fits) found = k;
        }
        if (found < 0) return false;
        order[i] = found;
    }
    for (int i = 0; i < n; i++) add_triangle(t, v[order[i]], turn[order[i]]);
    return true;
}

static void add_polygon(Triangles *t, const uint32_t (*v)[3], int n) {
    if (n > 1 && n <= MOST_FAN)
        for (int k = 0; k < 3; k++)
            if (add_fan(t, v, n, v[0][k])) {
                t->polygons = true;
                return;
            }
    for (int i = 0; i < n; i++) add_single(t, v[i]);
}

// Triangles of faces [face, end), *at is the first of them.
static void collect(const Surface *f, int *at, int end, int first, Triangles *t) {
    const FaMesh *m = &f->mesh;
    uint32_t v[MOST_FAN + 1][3];
    while (*at < m->ntri && m->tri_face[*at] < end) {
        int face = m->tri_face[*at], n = 0;
        for (; *at < m->ntri && m->tri_face[*at] == face; ++*at) {
            for (int k = 0; k < 3; k++) v[n][k] = (uint32_t)(f->vertex[m->tri[3 * (size_t)*at + (size_t)k]] - first);
            if (n < MOST_FAN)
                n++;
            else
                add_single(t, v[n]);
        }
        add_polygon(t, v, n);
    }
}

static FaCode write_indices(Surface *f, int p, FaJson *prim, int first, int n, int *tri, bool *polygons, FaError *err) {
    FaScene *s = f->s;
    int view;
    Triangles t = {.index = FA_PUSH(s->work, 3 * (size_t)f->mesh.ntri, uint32_t)};
    if (!t.index) return FA_FAIL_MEMORY(err);
    collect(f, tri, f->first_face[p + 1], first, &t);
    bool narrow = n <= 65535;
    void *to = fai_out_view(&s->out, (size_t)t.count * (narrow ? 2 : 4), 0, INDEX_BUFFER, &view);
    for (int i = 0; to && i < t.count; i++) {
        if (narrow)
            ((uint16_t *)to)[i] = (uint16_t)t.index[i];
        else
            ((uint32_t *)to)[i] = t.index[i];
    }
    fai_out_int(&s->out, prim, "indices",
                fai_out_accessor(&s->out, view, narrow ? FA_GLTF_U16 : FA_GLTF_U32, t.count, "SCALAR"));
    if (t.polygons) fai_out_object(&s->out, fai_out_object(&s->out, prim, "extensions"), "FB_ngon_encoding");
    *polygons |= t.polygons;
    return FA_OK;
}

// --- the mesh -----------------------------------------------------------------------------------------------------

static void write_skin(Surface *f) {
    FaScene *s = f->s;
    FaGltfOut *out = &s->out;
    if (!f->joint) return;
    int view;
    FaJson *skin = fai_out_push(out, fai_out_array(out, out->root, "skins"));
    float *m = fai_out_view(out, 64 * (size_t)f->njoint, 0, 0, &view);
    if (m) memcpy(m, f->inverse_bind, 64 * (size_t)f->njoint);
    fai_out_int(out, skin, "inverseBindMatrices", fai_out_accessor(&s->out, view, FA_GLTF_F32, f->njoint, "MAT4"));
    FaJson *joints = fai_out_array(out, skin, "joints");
    for (int i = 0; i < f->njoint; i++) fai_out_push_int(out, joints, f->joint_node[i]);
    s->skin[f->number] = s->nskin++;
}

static FaCode write_names(Surface *f, FaJson *mesh, FaError *err) {
    FaScene *s = f->s;
    const char *name = fai_scene_name(s, &f->node->mName);
    if (!name) return FA_FAIL_MEMORY(err);
    if (name[0]) fai_out_str(&s->out, mesh, "name", name);
    if (!f->nshape) return FA_OK;
    FaJson *weights = fai_out_array(&s->out, mesh, "weights"),
           *names = fai_out_array(&s->out, fai_out_object(&s->out, mesh, "extras"), "targetNames");
    for (int i = 0; i < f->nshape; i++) {
        const char *shape = f->shape[i] + f->prefix, *text = fai_clip_name(s->work, shape, strlen(shape), false);
        if (!text) return FA_FAIL_MEMORY(err);
        fai_out_push_int(&s->out, weights, 0);
        fai_out_push_str(&s->out, names, text);
    }
    return FA_OK;
}

static void use_extension(FaGltfOut *out) {
    if (!fai_json_get(out->root, "extensionsUsed"))
        fai_out_push_str(out, fai_out_array(out, out->root, "extensionsUsed"), "FB_ngon_encoding");
}

static FaCode write_mesh(Surface *f, FaError *err) {
    FaScene *s = f->s;
    FaGltfOut *out = &s->out;
    FaJson *mesh = fai_out_push(out, fai_out_array(out, out->root, "meshes"));
    FA_TRY(write_names(f, mesh, err));
    FaJson *prims = fai_out_array(out, mesh, "primitives");
    bool polygons = false;
    for (int p = 0, tri = 0; p < f->npart; p++) {
        int first, n = part_vertices(f, p, &first);
        FaJson *prim = fai_out_push(out, prims);
        FA_TRY(write_attributes(f, p, fai_out_object(out, prim, "attributes"), first, n, err));
        FA_TRY(write_indices(f, p, prim, first, n, &tri, &polygons, err));
        if (f->part[p]->mMaterialIndex < s->ai->mNumMaterials)
            fai_out_int(out, prim, "material", f->part[p]->mMaterialIndex);
        FA_TRY(write_targets(f, p, prim, first, n, err));
    }
    if (polygons) use_extension(out);
    s->mesh[f->number] = s->nmesh++;
    write_skin(f);
    return FA_OK;
}

FaCode fai_scene_mesh(FaScene *s, int node, FaError *err) {
    Surface f = {.s = s, .node = s->node[node], .number = node};
    FaMark mark = fai_arena_mark(s->work);
    FA_TRY(lay_out(&f, err));
    if (f.npart) {
        FA_TRY(fai_scene_shape_names(s, f.node, &f.shape, &f.nshape, &f.prefix, err));
        FA_TRY(read_corners(&f, err));
        FA_TRY(find_points(&f, err));
        FA_TRY(fai_mesh_triangulate(&f.mesh, s->work, NULL, err));
        FA_TRY(find_normals(&f, err));
        FA_TRY(find_skin(&f, err));
        FA_TRY(find_vertices(&f, err));
        FA_TRY(write_mesh(&f, err));
    }
    fai_arena_release(s->work, mark);
    return FA_OK;
}

#endif
