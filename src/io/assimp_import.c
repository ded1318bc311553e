#include "io/assimp_import.h"

#include "base/file.h"

#include <strings.h>

bool fai_assimp_reads(const char *ext) {
    static const char *const known[] = {"fbx", "dae", "blend", "3ds",     "ply", "stl", "lwo",
                                        "lws", "ase", "x",     "off",     "ac",  "x3d", "ms3d",
                                        "cob", "scn", "dxf",   "md5mesh", "mdl", "b3d", "iqm"};
    for (int i = 0; i < FA_COUNT(known); i++)
        if (!strcasecmp(ext, known[i])) return true;
    return false;
}

#ifndef FA_HAVE_ASSIMP

FaCode fai_assimp_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    (void)options;
    *rig = NULL;
    return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "install assimp and build fascia again, or export the rig as .glb",
                   ".%.20s is read through assimp, which is not built in", fai_path_ext(path));
}

#else

#include "io/clip_tools.h"
#include "io/gltf/gltf.h"
#include "rig/rig_build.h"

#include <assimp/cimport.h>
#include <assimp/scene.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 512, MAX_SHAPES = 10000, MAX_FRAMES = 1000000 };
static const int64_t MAX_FILE = 512ll << 20;

// The node whose meshes become the rig, and what was made of it so far.
typedef struct Import {
    const struct aiScene *scene;
    const struct aiNode *node;
    bool fbx;
    int candidates; // nodes with faces
    int nshape;
    const char **shape; // full names, in order of appearance over the parts            (nshape)
    size_t prefix;      // bytes that all of them have in common and that are no part of a name
    int ncorner;        // vertices as assimp gives them, all parts
    int *weld;          // control point of each                                         (ncorner)
    int *first;         // a corner of each control point                                (nvert)
    int nvert;
    double world[16]; // of the node, column-major
    double stretch[9], turn[9];
    bool mirrored;
    FaArena *work;
} Import;

// --- the scene ----------------------------------------------------------------------------------------------------

static void to_columns(const struct aiMatrix4x4 *m, double out[16]) {
    const double rows[16] = {m->a1, m->a2, m->a3, m->a4, m->b1, m->b2, m->b3, m->b4,
                             m->c1, m->c2, m->c3, m->c4, m->d1, m->d2, m->d3, m->d4};
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) out[4 * c + r] = rows[4 * r + c];
}

static void multiply(const double a[16], const double b[16], double out[16]) {
    double m[16];
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 4; r++) {
            m[4 * c + r] = 0;
            for (int k = 0; k < 4; k++) m[4 * c + r] += a[4 * k + r] * b[4 * c + k];
        }
    memcpy(out, m, sizeof m);
}

static bool has_faces(const struct aiMesh *m) {
    for (unsigned f = 0; f < m->mNumFaces; f++)
        if (m->mFaces[f].mNumIndices >= 3) return true;
    return false;
}

static unsigned shapes_of(const struct aiScene *scene, const struct aiNode *node) {
    unsigned most = 0;
    for (unsigned i = 0; i < node->mNumMeshes; i++)
        most = FA_MAX(most, scene->mMeshes[node->mMeshes[i]]->mNumAnimMeshes);
    return most;
}

static int64_t size_of(const struct aiScene *scene, const struct aiNode *node) {
    int64_t n = 0;
    for (unsigned i = 0; i < node->mNumMeshes; i++) {
        const struct aiMesh *m = scene->mMeshes[node->mMeshes[i]];
        if (has_faces(m)) n += m->mNumVertices;
    }
    return n;
}

// The node with most shapes, then with most vertices; or the one asked for, by name or number.
static void choose_node(Import *im, const struct aiNode *node, const char *wanted, int depth) {
    if (size_of(im->scene, node) > 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", im->candidates++);
        bool better = !im->node;
        if (wanted)
            better &= !strcmp(node->mName.data, wanted) || !strcmp(number, wanted);
        else if (im->node) {
            unsigned a = shapes_of(im->scene, node), b = shapes_of(im->scene, im->node);
            better = a > b || (a == b && size_of(im->scene, node) > size_of(im->scene, im->node));
        }
        if (better) im->node = node;
    }
    for (unsigned i = 0; i < node->mNumChildren && depth < MAX_DEPTH; i++)
        choose_node(im, node->mChildren[i], wanted, depth + 1);
}

static FaCode find_node(Import *im, const char *wanted, FaError *err) {
    choose_node(im, im->scene->mRootNode, wanted, 0);
    if (!im->node && im->candidates)
        return FA_FAIL(err, FA_E_ARG, NULL, "fascia info lists the meshes of a file", "no mesh '%s' among %d", wanted,
                       im->candidates);
    if (!im->node)
        return FA_FAIL(err, FA_E_MESH, NULL, "export the mesh with its faces", "no mesh with faces in the file");
    double m[16];
    to_columns(&im->node->mTransformation, im->world);
    for (const struct aiNode *n = im->node->mParent; n; n = n->mParent) {
        to_columns(&n->mTransformation, m);
        multiply(m, im->world, im->world);
    }
    for (int i = 0; i < 16; i++)
        if (!isfinite(im->world[i]))
            return FA_FAIL(err, FA_E_FORMAT, im->node->mName.data, "reset its transform",
                           "the node's transform is not finite");
    if (!fai_gltf_split(im->world, im->turn, im->stretch))
        return FA_FAIL(err, FA_E_MESH, im->node->mName.data, "reset its scale", "the node's scale is zero");
    const double *w = im->world;
    im->mirrored =
        w[0] * (w[5] * w[10] - w[9] * w[6]) - w[4] * (w[1] * w[10] - w[9] * w[2]) + w[8] * (w[1] * w[6] - w[5] * w[2]) <
        0;
    return FA_OK;
}

static const struct aiMesh *part(const Import *im, unsigned i) { return im->scene->mMeshes[im->node->mMeshes[i]]; }

// --- shapes -------------------------------------------------------------------------------------------------------

static int shape_index(const Import *im, const char *name) {
    for (int s = 0; s < im->nshape; s++)
        if (!strcmp(im->shape[s], name)) return s;
    return -1;
}

// Parts of one mesh have the same shapes; should one lack some, it stays where it is.
static FaCode collect_shapes(Import *im, FaError *err) {
    size_t room = 0;
    for (unsigned i = 0; i < im->node->mNumMeshes; i++) room += part(im, i)->mNumAnimMeshes;
    if (room > MAX_SHAPES)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "split the rig", "more than %d shapes over all parts", MAX_SHAPES);
    im->shape = FA_PUSH(im->work, room, const char *);
    if (!im->shape) return FA_FAIL_MEMORY(err);
    for (unsigned i = 0; i < im->node->mNumMeshes; i++) {
        const struct aiMesh *m = part(im, i);
        // in the first part all count, equal names too; later ones are matched by name
        for (unsigned k = 0; k < m->mNumAnimMeshes; k++)
            if (i == 0 || shape_index(im, m->mAnimMeshes[k]->mName.data) < 0)
                im->shape[im->nshape++] = m->mAnimMeshes[k]->mName.data;
    }
    // "shapes.browInnerUp", "face:browInnerUp": what all have before the last such sign is the deformer's name
    for (size_t n = 0; im->nshape && im->shape[0][n]; n++) {
        if (im->shape[0][n] != '.' && im->shape[0][n] != ':') continue;
        bool common = true;
        for (int s = 0; s < im->nshape && common; s++)
            common = !strncmp(im->shape[s], im->shape[0], n + 1) && im->shape[s][n + 1];
        if (common) im->prefix = n + 1;
    }
    return FA_OK;
}

// The shape's part for one mesh, or NULL. Parts mostly have the same shapes in the same order.
static const struct aiAnimMesh *anim_mesh(const Import *im, const struct aiMesh *m, int s) {
    if ((unsigned)s < m->mNumAnimMeshes && !strcmp(m->mAnimMeshes[s]->mName.data, im->shape[s]))
        return m->mAnimMeshes[s];
    for (unsigned k = 0; k < m->mNumAnimMeshes; k++)
        if (!strcmp(m->mAnimMeshes[k]->mName.data, im->shape[s])) return m->mAnimMeshes[k];
    return NULL;
}

// --- welding ------------------------------------------------------------------------------------------------------

// Numbers of rows that are equal in all `width` values: weld[i] counts from 0 in order of first appearance, first[] is
// a row of each. Zero and minus zero are the same.
static FaCode weld_rows(FaArena *work, const float *row, int n, size_t width, int *weld, int *first, int *count,
                        FaError *err) {
    FaMark mark = fai_arena_mark(work);
    size_t slots = 16;
    while (slots < 2 * (size_t)n) slots *= 2;
    int *table = FA_PUSH(work, slots, int);
    if (!table) return FA_FAIL_MEMORY(err);
    *count = 0;
    for (int i = 0; i < n; i++) {
        const float *r = row + (size_t)i * width;
        size_t at = (size_t)fai_hash64(r, width * sizeof *r, 0) & (slots - 1);
        while (table[at] && memcmp(row + (size_t)first[table[at] - 1] * width, r, width * sizeof *r))
            at = (at + 1) & (slots - 1);
        if (!table[at]) {
            first[*count] = i;
            table[at] = ++*count;
        }
        weld[i] = table[at] - 1;
    }
    fai_arena_release(work, mark);
    return FA_OK;
}

// Position and all deltas of each corner, side by side: what must agree for two corners to be one control point.
static FaCode weld_corners(Import *im, float **rows, FaError *err) {
    size_t width = 3 + 3 * (size_t)im->nshape;
    int64_t n = 0;
    for (unsigned i = 0; i < im->node->mNumMeshes; i++) n += part(im, i)->mNumVertices;
    if (n > INT32_MAX / 16) return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "the mesh is too large");
    im->ncorner = (int)n;
    *rows = FA_PUSH(im->work, (size_t)n * width, float);
    im->weld = FA_PUSH(im->work, n, int);
    im->first = FA_PUSH(im->work, n, int);
    if (!*rows || !im->weld || !im->first) return FA_FAIL_MEMORY(err);
    float *r = *rows;
    for (unsigned i = 0; i < im->node->mNumMeshes; i++) {
        const struct aiMesh *m = part(im, i);
        for (int s = -1; s < im->nshape; s++) {
            const struct aiAnimMesh *a = s < 0 ? NULL : anim_mesh(im, m, s);
            if (s >= 0 && (!a || !a->mVertices || a->mNumVertices != m->mNumVertices)) continue;
            for (unsigned v = 0; v < m->mNumVertices; v++) {
                struct aiVector3D x = m->mVertices[v];
                if (a)
                    x = (struct aiVector3D){a->mVertices[v].x - x.x, a->mVertices[v].y - x.y, a->mVertices[v].z - x.z};
                float *out = r + v * width + 3 * (size_t)(s + 1);
                out[0] = x.x + 0.0f; // makes -0 into 0
                out[1] = x.y + 0.0f;
                out[2] = x.z + 0.0f;
            }
        }
        r += (size_t)m->mNumVertices * width;
    }
    return weld_rows(im->work, *rows, im->ncorner, width, im->weld, im->first, &im->nvert, err);
}

// --- the draft ----------------------------------------------------------------------------------------------------

static FaCode add_uvs(Import *im, FaArena *arena, FaMesh *mesh, const int *face_corner, FaError *err) {
    bool any = false;
    for (unsigned i = 0; i < im->node->mNumMeshes; i++) any |= part(im, i)->mTextureCoords[0] != NULL;
    if (!any) return FA_OK;
    int corners = mesh->face_start[mesh->nface], n = 0;
    float *uv = FA_PUSH(im->work, 2 * (size_t)im->ncorner, float);
    int *weld = FA_PUSH(im->work, im->ncorner, int), *first = FA_PUSH(im->work, im->ncorner, int);
    mesh->face_uv = FA_PUSH(arena, corners, int);
    if (!uv || !weld || !first || !mesh->face_uv) return FA_FAIL_MEMORY(err);
    int base = 0;
    for (unsigned i = 0; i < im->node->mNumMeshes; i++) {
        const struct aiMesh *m = part(im, i);
        for (unsigned v = 0; v < m->mNumVertices && m->mTextureCoords[0]; v++) {
            struct aiVector3D t = m->mTextureCoords[0][v];
            uv[2 * (size_t)base + 2 * v] = isfinite(t.x) ? t.x + 0.0f : 0.0f;
            uv[2 * (size_t)base + 2 * v + 1] = isfinite(t.y) ? t.y + 0.0f : 0.0f;
        }
        base += (int)m->mNumVertices;
    }
    FA_TRY(weld_rows(im->work, uv, im->ncorner, 2, weld, first, &n, err));
    mesh->nuv = n;
    mesh->uv = FA_PUSH(arena, 2 * (size_t)n, float);
    if (!mesh->uv) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < n; i++) memcpy(mesh->uv + 2 * (size_t)i, uv + 2 * (size_t)first[i], 2 * sizeof(float));
    for (int c = 0; c < corners; c++) mesh->face_uv[c] = weld[face_corner[c]];
    return FA_OK;
}

static FaCode add_mesh(Import *im, FaRigDraft *draft, const float *rows, FaError *err) {
    FaArena *arena = fai_draft_arena(draft);
    size_t width = 3 + 3 * (size_t)im->nshape;
    int64_t faces = 0, corners = 0, lines = 0;
    for (unsigned i = 0; i < im->node->mNumMeshes; i++)
        for (unsigned f = 0; f < part(im, i)->mNumFaces; f++) {
            unsigned n = part(im, i)->mFaces[f].mNumIndices;
            if (n < 3)
                lines++;
            else
                faces++, corners += n;
        }
    if (corners > INT32_MAX / 4) return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "the mesh is too large");
    FaMesh mesh = {.nvert = im->nvert, .nface = (int)faces};
    mesh.x = FA_PUSH(arena, 3 * (size_t)im->nvert, float);
    mesh.face_start = FA_PUSH(arena, faces + 1, int);
    mesh.face_vert = FA_PUSH(arena, corners, int);
    int *face_corner = FA_PUSH(im->work, corners, int);
    if (!mesh.x || !mesh.face_start || !mesh.face_vert || !face_corner) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < im->nvert; v++)
        memcpy(mesh.x + 3 * (size_t)v, rows + (size_t)im->first[v] * width, 3 * sizeof(float));

    int face = 0, at = 0, base = 0;
    for (unsigned i = 0; i < im->node->mNumMeshes; i++) {
        const struct aiMesh *m = part(im, i);
        for (unsigned f = 0; f < m->mNumFaces; f++) {
            const struct aiFace *p = &m->mFaces[f];
            for (unsigned k = 0; p->mNumIndices >= 3 && k < p->mNumIndices; k++) {
                unsigned v = p->mIndices[im->mirrored ? p->mNumIndices - 1 - k : k];
                if (v >= m->mNumVertices)
                    return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("face %u", f), "export it again",
                                   "a face refers to vertex %u of %u", v, m->mNumVertices);
                face_corner[at] = base + (int)v;
                mesh.face_vert[at++] = im->weld[base + (int)v];
            }
            if (p->mNumIndices >= 3) mesh.face_start[++face] = at;
        }
        base += (int)m->mNumVertices;
    }
    FA_TRY(add_uvs(im, arena, &mesh, face_corner, err));
    fai_draft_mesh(draft, &mesh);
    if (lines)
        fai_note_count(fai_draft_notes(draft), (int)FA_MIN(lines, INT32_MAX), "lines-and-points-dropped", "", "",
                       "lines and points are passed over, only faces count");
    return FA_OK;
}

static FaCode add_shapes(const Import *im, FaRigDraft *draft, const float *rows, FaError *err) {
    size_t width = 3 + 3 * (size_t)im->nshape;
    float *delta = FA_PUSH(im->work, 3 * (size_t)im->nvert, float);
    if (!delta) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < im->nshape; s++) {
        for (int v = 0; v < im->nvert; v++)
            memcpy(delta + 3 * (size_t)v, rows + (size_t)im->first[v] * width + 3 * (size_t)(s + 1), 3 * sizeof(float));
        FA_TRY(fai_draft_shape_dense(draft, im->shape[s] + im->prefix, delta, 0.0f, err));
    }
    return FA_OK;
}

static void add_notes(const Import *im, FaRigDraft *draft) {
    FaNotes *notes = fai_draft_notes(draft);
    bool skin = false;
    for (unsigned i = 0; i < im->node->mNumMeshes; i++) skin |= part(im, i)->mNumBones > 0;
    if (skin)
        fai_note(notes, "skin-dropped", im->node->mName.data, "use glTF where the skin must be kept",
                 "the bones of the mesh are not read");
    if (im->candidates > 1)
        fai_note_count(notes, im->candidates - 1, "meshes-dropped", im->node->mName.data,
                       "choose another one with --mesh", "other meshes of the file are not read");
    if (im->ncorner > im->nvert)
        fai_note(notes, "vertex-order", "", "export .glb or .obj where the order matters",
                 "vertices are numbered in order of first use, not as in the file (%d corners gave %d vertices)",
                 im->ncorner, im->nvert);
}

// All meshes of the file, in the order in which choose_node numbers them.
// Joints of the skin, for the hinge of the jaw. Parts of a mesh share them.
static FaCode list_joints(const Import *im, FaRigDraft *draft, FaError *err) {
    for (unsigned i = 0; i < im->node->mNumMeshes; i++) {
        const struct aiMesh *m = part(im, i);
        for (unsigned k = 0; k < m->mNumBones; k++) {
            double bind[16];
            to_columns(&m->mBones[k]->mOffsetMatrix, bind);
            FA_TRY(fai_draft_joint(draft, m->mBones[k]->mName.data, bind, err));
        }
    }
    return FA_OK;
}

static FaCode list_meshes(const Import *im, const struct aiNode *node, int depth, FaRigDraft *draft, FaError *err) {
    int64_t size = size_of(im->scene, node);
    if (size > 0)
        FA_TRY(
            fai_draft_file_mesh(draft, node->mName.data, size, (int)shapes_of(im->scene, node), node == im->node, err));
    for (unsigned i = 0; i < node->mNumChildren && depth < MAX_DEPTH; i++)
        FA_TRY(list_meshes(im, node->mChildren[i], depth + 1, draft, err));
    return FA_OK;
}

// --- units and axes -----------------------------------------------------------------------------------------------

static double metadata(const struct aiScene *scene, const char *key, double absent) {
    const struct aiMetadata *md = scene->mMetaData;
    for (unsigned i = 0; md && i < md->mNumProperties; i++) {
        const struct aiMetadataEntry *e = &md->mValues[i];
        if (strcmp(md->mKeys[i].data, key) || !e->mData) continue;
        if (e->mType == AI_DOUBLE) return *(const double *)e->mData;
        if (e->mType == AI_FLOAT) return (double)*(const float *)e->mData;
        if (e->mType == AI_INT32) return *(const int32_t *)e->mData;
    }
    return absent;
}

// Which way is up in the file's world; AUTO where it says nothing.
static FaUp world_up(const Import *im) {
    if (!im->fbx) return FA_UP_Y;
    int up = (int)metadata(im->scene, "UpAxis", 1), sign = (int)metadata(im->scene, "UpAxisSign", 1);
    // later versions of assimp turn the root so that y is up, and leave the statement as it was
    double root[16];
    to_columns(&im->scene->mRootNode->mTransformation, root);
    bool done = up == 2 && root[9] > 0.99 * (fabs(root[8]) + fabs(root[9]) + fabs(root[10]));
    if (sign < 0 || up == 0) return FA_UP_AUTO;
    return up == 1 || done ? FA_UP_Y : FA_UP_Z;
}

// `up` and `rest` belong together: where the node turns one axis onto another (as Blender's exporters do), that is said
// in the mesh's own frame; any other turn is handed on.
static void set_up(const Import *im, FaUp up, FaRigHints *h) {
    h->up = up;
    memcpy(h->rest, im->turn, sizeof h->rest);
    if (!up) return;
    const double *local =
        im->turn + (up == FA_UP_Z ? 6 : 3); // the world's up seen from the mesh: a row of the rotation
    if (local[1] > 0.999)
        h->up = FA_UP_Y;
    else if (local[2] > 0.999)
        h->up = FA_UP_Z;
    else
        return;
    memset(h->rest, 0, sizeof h->rest);
}

static FaRigHints hints_of(const Import *im, const char *path) {
    FaRigHints h = {.name = im->node->mName.data, .path = path};
    if (im->fbx) {
        double factor = metadata(im->scene, "UnitScaleFactor", 1); // in centimetres
        h.unit = factor > 0 && isfinite(factor) ? 0.01 * factor : 0.01;
        h.unit_is_custom = true;
        set_up(im, world_up(im), &h);
    } else if (fai_path_has_ext(path, "dae") || fai_path_has_ext(path, "blend")) {
        h.unit = 1; // assimp puts what the file says into the root's transform
        h.unit_is_custom = true;
        set_up(im, FA_UP_Y, &h);
    }
    memcpy(h.linear, im->stretch, sizeof h.linear);
    return h;
}

// --- animation ----------------------------------------------------------------------------------------------------

// Value of a key list at a time, linear between keys. Keys hold only some of the shapes each.
typedef struct Track {
    double *time;
    float *value;
    int count;
} Track;

static float sample(const Track *t, double time, int *at) {
    if (t->count == 0) return 0;
    while (*at + 1 < t->count && t->time[*at + 1] <= time) ++*at;
    if (time <= t->time[*at] || *at + 1 == t->count) return t->value[*at];
    double u = (time - t->time[*at]) / (t->time[*at + 1] - t->time[*at]);
    return (float)((double)t->value[*at] + u * ((double)t->value[*at + 1] - (double)t->value[*at]));
}

static const struct aiMeshMorphAnim *morph_of(const Import *im, const struct aiAnimation *a) {
    for (unsigned i = 0; i < a->mNumMorphMeshChannels; i++) {
        const char *name = a->mMorphMeshChannels[i]->mName.data, *node = im->node->mName.data;
        size_t n = strlen(node);
        if (!strncmp(name, node, n) && (name[n] == 0 || name[n] == '*')) return a->mMorphMeshChannels[i];
    }
    return NULL;
}

// Spread the keys over one track per shape. Keys that do not advance are left out.
static FaCode make_tracks(const Import *im, const struct aiMeshMorphAnim *morph, Track *track, FaError *err) {
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned k = 0; k < morph->mNumKeys; k++) {
            const struct aiMeshMorphKey *key = &morph->mKeys[k];
            for (unsigned i = 0; i < key->mNumValuesAndWeights; i++) {
                unsigned s = key->mValues[i];
                if (s >= (unsigned)im->nshape || !isfinite(key->mTime) || !isfinite(key->mWeights[i])) continue;
                Track *t = &track[s];
                if (pass && t->count && !(key->mTime > t->time[t->count - 1])) continue;
                if (pass) t->time[t->count] = key->mTime, t->value[t->count] = (float)key->mWeights[i];
                t->count++;
            }
        }
        for (int s = 0; s < im->nshape && pass == 0; s++) {
            track[s].time = FA_PUSH(im->work, track[s].count, double);
            track[s].value = FA_PUSH(im->work, track[s].count, float);
            if (!track[s].time || !track[s].value) return FA_FAIL_MEMORY(err);
            track[s].count = 0;
        }
    }
    return FA_OK;
}

static const struct aiNodeAnim *node_anim(const struct aiAnimation *a, const struct aiNode *node) {
    for (unsigned i = 0; i < a->mNumChannels; i++)
        if (!strcmp(a->mChannels[i]->mNodeName.data, node->mName.data)) return a->mChannels[i];
    return NULL;
}

// Where a time lies among n keys, `stride` bytes apart, each beginning with its time: the key before it, and how far
// on.
static unsigned find_key(const void *keys, unsigned n, size_t stride, double time, double *u) {
    unsigned lo = 0, hi = n - 1;
    *u = 0;
    while (lo < hi) {
        unsigned mid = lo + (hi - lo + 1) / 2;
        double t;
        memcpy(&t, (const char *)keys + mid * stride, sizeof t);
        if (t <= time)
            lo = mid;
        else
            hi = mid - 1;
    }
    if (lo + 1 < n) {
        double a, b;
        memcpy(&a, (const char *)keys + lo * stride, sizeof a);
        memcpy(&b, (const char *)keys + (lo + 1) * stride, sizeof b);
        if (b > a && time > a) *u = FA_MIN((time - a) / (b - a), 1.0);
    }
    return lo;
}

static void vector_at(const struct aiVectorKey *keys, unsigned n, double time, double out[3]) {
    if (n == 0) return;
    double u;
    unsigned i = find_key(keys, n, sizeof *keys, time, &u), j = FA_MIN(i + 1, n - 1);
    const struct aiVector3D *a = &keys[i].mValue, *b = &keys[j].mValue;
    out[0] = (1 - u) * (double)a->x + u * (double)b->x;
    out[1] = (1 - u) * (double)a->y + u * (double)b->y;
    out[2] = (1 - u) * (double)a->z + u * (double)b->z;
}

// Between keys the quaternions are mixed and made unit again: keys are a frame apart in practice.
static void rotation_at(const struct aiQuatKey *keys, unsigned n, double time, double r[9]) {
    FaPose pose = {.q = {0, 0, 0, 1}};
    if (n) {
        double u, dot, size = 0;
        unsigned i = find_key(keys, n, sizeof *keys, time, &u), j = FA_MIN(i + 1, n - 1);
        const struct aiQuaternion *a = &keys[i].mValue, *b = &keys[j].mValue;
        const double qa[4] = {a->x, a->y, a->z, a->w}, qb[4] = {b->x, b->y, b->z, b->w};
        dot = qa[0] * qb[0] + qa[1] * qb[1] + qa[2] * qb[2] + qa[3] * qb[3];
        for (int k = 0; k < 4; k++) {
            pose.q[k] = (1 - u) * qa[k] + u * (dot < 0 ? -qb[k] : qb[k]);
            size += pose.q[k] * pose.q[k];
        }
        for (int k = 0; k < 4; k++) pose.q[k] = size > 0 ? pose.q[k] / sqrt(size) : k == 3;
    }
    fai_pose_matrix(&pose, r);
}

static void local_at(const struct aiAnimation *a, const struct aiNode *node, double time, double m[16]) {
    const struct aiNodeAnim *c = node_anim(a, node);
    if (!c) {
        to_columns(&node->mTransformation, m);
        return;
    }
    double p[3] = {0, 0, 0}, s[3] = {1, 1, 1}, r[9];
    vector_at(c->mPositionKeys, c->mNumPositionKeys, time, p);
    vector_at(c->mScalingKeys, c->mNumScalingKeys, time, s);
    rotation_at(c->mRotationKeys, c->mNumRotationKeys, time, r);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) m[4 * k + i] = r[3 * i + k] * s[k];
        m[4 * k + 3] = 0;
        m[12 + k] = p[k];
    }
    m[15] = 1;
}

static bool moves(const Import *im, const struct aiAnimation *a) {
    for (const struct aiNode *n = im->node; n; n = n->mParent) {
        const struct aiNodeAnim *c = node_anim(a, n);
        if (c && (c->mNumPositionKeys > 1 || c->mNumRotationKeys > 1)) return true;
    }
    return false;
}

// First and last key of everything that moves this mesh, in ticks.
static void span_of(const Import *im, const struct aiAnimation *a, const struct aiMeshMorphAnim *morph,
                    double span[2]) {
    span[0] = INFINITY, span[1] = -INFINITY;
    for (unsigned k = 0; morph && k < morph->mNumKeys; k++)
        span[0] = fmin(span[0], morph->mKeys[k].mTime), span[1] = fmax(span[1], morph->mKeys[k].mTime);
    for (const struct aiNode *n = im->node; n; n = n->mParent) {
        const struct aiNodeAnim *c = node_anim(a, n);
        for (unsigned k = 0; c && k < c->mNumPositionKeys; k++)
            span[0] = fmin(span[0], c->mPositionKeys[k].mTime), span[1] = fmax(span[1], c->mPositionKeys[k].mTime);
        for (unsigned k = 0; c && k < c->mNumRotationKeys; k++)
            span[0] = fmin(span[0], c->mRotationKeys[k].mTime), span[1] = fmax(span[1], c->mRotationKeys[k].mTime);
    }
}

static FaCode fill_head(const Import *im, const struct aiAnimation *a, const FaRig *rig, double first, double tick,
                        FaClip *clip, FaError *err) {
    clip->head = FA_NEW(clip->nframe, FaPose);
    if (!clip->head) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < clip->nframe; f++) {
        double world[16], m[16], r[9], s[9], time = first + clip->time[f] * tick;
        local_at(a, im->node, time, world);
        for (const struct aiNode *n = im->node->mParent; n; n = n->mParent) {
            local_at(a, n, time, m);
            multiply(m, world, world);
        }
        if (!fai_gltf_split(world, r, s))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", f), "remove the keys that scale it to zero",
                           "the node's scale is zero");
        double *p = clip->head[f].p;
        for (int k = 0; k < 3; k++) p[k] = rig->unit * world[12 + k];
        if (world_up(im) == FA_UP_Z) { // the world of a clip has y up
            static const double upright[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0};
            fai_mat3_mul(upright, r, r);
            double z = p[2];
            p[2] = -p[1];
            p[1] = z;
        }
        fai_pose_rotate(&clip->head[f], r, f ? &clip->head[f - 1] : NULL);
    }
    for (int f = 0; f < clip->nframe; f++) clip->head[f] = fa_rig_head(rig, &clip->head[f]);
    return FA_OK;
}

static FaCode fill_weights(const Import *im, const struct aiMeshMorphAnim *morph, double first, double tick,
                           FaClip *clip, FaError *err) {
    Track *track = FA_PUSH(im->work, im->nshape, Track);
    int *at = FA_PUSH(im->work, im->nshape, int);
    if (!track || !at) return FA_FAIL_MEMORY(err);
    FA_TRY(make_tracks(im, morph, track, err));
    for (int f = 0; f < clip->nframe; f++)
        for (int s = 0; s < im->nshape; s++)
            clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)s] =
                sample(&track[s], first + clip->time[f] * tick, &at[s]);
    return FA_OK;
}

// The first animation that moves the mesh or its shapes, sampled at the file's frame rate.
static FaCode add_clip(const Import *im, FaRig *rig, FaError *err) {
    const struct aiAnimation *a = NULL;
    const struct aiMeshMorphAnim *morph = NULL;
    for (unsigned i = 0; i < im->scene->mNumAnimations && !a; i++) {
        morph = im->nshape ? morph_of(im, im->scene->mAnimations[i]) : NULL;
        if (morph || moves(im, im->scene->mAnimations[i])) a = im->scene->mAnimations[i];
    }
    if (!a) {
        if (im->scene->mNumAnimations)
            fai_note(&rig->notes, "animation-dropped", "", "export .glb where it must be kept",
                     "the animations of the file do not move this mesh, or assimp does not read them");
        return FA_OK;
    }
    double span[2], tick = a->mTicksPerSecond > 0 ? a->mTicksPerSecond : 25;
    span_of(im, a, morph, span);
    double fps = tick >= 10 && tick <= 250 ? tick : 30, frames = (span[1] - span[0]) / tick * fps;
    if (!(frames >= 0) || frames > MAX_FRAMES)
        return FA_FAIL(err, FA_E_FORMAT, a->mName.data, "check the animation's range", "an animation of %g frames",
                       frames);
    const char **names = FA_PUSH(im->work, im->nshape, const char *);
    if (!names) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < im->nshape; s++) names[s] = rig->shape[s].name;
    FA_TRY(fa_clip_new((int)floor(frames + 1e-3) + 1, im->nshape, names, fps, &rig->clip, err));
    if (morph) FA_TRY(fill_weights(im, morph, span[0], tick, rig->clip, err));
    if (moves(im, a)) FA_TRY(fill_head(im, a, rig, span[0], tick, rig->clip, err));
    rig->clip->path = fai_strdup(rig->path);
    return rig->clip->path ? fa_clip_check(rig->clip, err) : FA_FAIL_MEMORY(err);
}

// --- import -------------------------------------------------------------------------------------------------------

// Assimp's error text is shared by all threads.
static pthread_mutex_t import_lock = PTHREAD_MUTEX_INITIALIZER;

static FaCode import_scene(const char *path, const struct aiScene **scene, FaError *err) {
    *scene = NULL;
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size > MAX_FILE)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "export the rig alone, as .glb",
                       "files over 512 MB are not given to assimp");
    struct aiPropertyStore *props = aiCreatePropertyStore();
    if (!props) return FA_FAIL_MEMORY(err);
    aiSetImportPropertyInteger(props, "IMPORT_FBX_PRESERVE_PIVOTS", 0); // else a node becomes a chain of them
    FaCode rc = FA_OK;
    pthread_mutex_lock(&import_lock);
    *scene = aiImportFileExWithProperties(path, 0, NULL, props);
    if (!*scene)
        rc = FA_FAIL(err, FA_E_FORMAT, NULL, "export the rig as .glb", "assimp cannot read it: %.200s",
                     aiGetErrorString());
    pthread_mutex_unlock(&import_lock);
    aiReleasePropertyStore(props);
    return rc;
}

static FaCode build(Import *im, const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    FA_TRY(find_node(im, options ? options->mesh : NULL, err));
    FA_TRY(collect_shapes(im, err));
    float *rows = NULL;
    FA_TRY(weld_corners(im, &rows, err));
    FaRigDraft *draft;
    FA_TRY(fai_draft_new(&draft, err));
    FaCode rc = add_mesh(im, draft, rows, err);
    if (rc >= 0) rc = add_shapes(im, draft, rows, err);
    if (rc >= 0) rc = list_meshes(im, im->scene->mRootNode, 0, draft, err);
    if (rc >= 0) rc = list_joints(im, draft, err);
    if (rc < 0) {
        fai_draft_free(draft);
        return rc;
    }
    add_notes(im, draft);
    FaRigHints hints = hints_of(im, path);
    FaRigOptions rest = options ? *options : (FaRigOptions){0};
    rest.mesh = NULL; // has done its work
    FA_TRY(fai_draft_finish(draft, &hints, &rest, rig, err));
    rc = add_clip(im, *rig, err);
    if (rc < 0) {
        fa_rig_free(*rig);
        *rig = NULL;
    }
    return rc;
}

FaCode fai_assimp_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    *rig = NULL;
    Import im = {0};
    FA_TRY(import_scene(path, &im.scene, err));
    im.fbx = metadata(im.scene, "UnitScaleFactor", 0) > 0; // only FBX says it, whatever the file is called
    im.work = fai_arena_new(0);
    FaCode rc = im.work && im.scene->mRootNode ? build(&im, path, options, rig, err) : FA_FAIL_MEMORY(err);
    fai_arena_free(im.work);
    aiReleaseImport(im.scene);
    return rc;
}

#endif
