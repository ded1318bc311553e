// Meshes, skins, nodes and scenes: structure only. Numbers are looked at in gltf_check.c.
#include "io/gltf/gltf_parse.h"

#include <math.h>

enum { MAX_JOINT_SETS = 16 }; // 64 joints per vertex

// --- meshes -------------------------------------------------------------------------------------------------------

static const char *format_text(const FaGltfAccessor *a, char text[40]) {
    static const char *const type[] = {"SCALAR", "VEC2", "VEC3", "VEC4", "MAT2", "MAT3", "MAT4"};
    snprintf(text, 40, "%s of type %d%s", type[a->type], (int)a->comp, a->normalized ? ", normalized" : "");
    return text;
}

static FaCode wrong_format(const FaGltfAccessor *a, const FaJson *json, const char *what, FaError *err) {
    char text[40];
    return BAD_AT(err, json, "%s cannot be %s", what, format_text(a, text));
}

// Positions and their deltas: three floats, or integers where the file says that it is quantised.
static bool position_format(const FaGltf *doc, const FaGltfAccessor *a) {
    if (a->type != FA_GLTF_VEC3) return false;
    return a->comp == FA_GLTF_F32 || (a->comp != FA_GLTF_U32 && doc->quantized);
}

static FaCode check_attribute(const FaGltf *doc, const FaJson *json, int accessor, FaError *err) {
    const FaGltfAccessor *a = &doc->accessor[accessor];
    const char *key = json->key;
    bool small = a->comp == FA_GLTF_U8 || a->comp == FA_GLTF_U16;
    if (!strcmp(key, "POSITION") && !position_format(doc, a)) return wrong_format(a, json, "POSITION", err);
    if (!strcmp(key, "TEXCOORD_0") && a->type != FA_GLTF_VEC2) return wrong_format(a, json, "TEXCOORD_0", err);
    if (!strncmp(key, "JOINTS_", 7) && (a->type != FA_GLTF_VEC4 || !small || a->normalized))
        return wrong_format(a, json, "JOINTS", err);
    if (!strncmp(key, "WEIGHTS_", 8) &&
        (a->type != FA_GLTF_VEC4 || (a->comp != FA_GLTF_F32 && !(small && a->normalized))))
        return wrong_format(a, json, "WEIGHTS", err);
    return FA_OK;
}

static FaCode parse_joint_sets(FaGltf *doc, const FaJson *attributes, FaGltfPrim *p, FaError *err) {
    int joints[MAX_JOINT_SETS], weights[MAX_JOINT_SETS], n = 0;
    for (; n < MAX_JOINT_SETS; n++) {
        char key[2][16];
        snprintf(key[0], sizeof key[0], "JOINTS_%d", n);
        snprintf(key[1], sizeof key[1], "WEIGHTS_%d", n);
        FA_TRY(fai_gltf_ref_or(attributes, key[0], doc->naccessor, "accessor", &joints[n], err));
        FA_TRY(fai_gltf_ref_or(attributes, key[1], doc->naccessor, "accessor", &weights[n], err));
        if ((joints[n] < 0) != (weights[n] < 0))
            NOTE_AT(doc, "joints-without-weights", attributes, "export the skin again",
                    "%s has no partner and is ignored", key[joints[n] < 0]);
        if (joints[n] < 0 || weights[n] < 0) break;
    }
    if (!n) return FA_OK;
    p->joints = PUSH(doc, n, int);
    p->weights = PUSH(doc, n, int);
    if (!p->joints || !p->weights) return fai_gltf_no_room(doc, attributes, err);
    memcpy(p->joints, joints, (size_t)n * sizeof *joints);
    memcpy(p->weights, weights, (size_t)n * sizeof *weights);
    p->njoints = n;
    return FA_OK;
}

static FaCode parse_attributes(FaGltf *doc, const FaJson *json, FaGltfPrim *p, int *nvert, FaError *err) {
    FaJson *attributes;
    FA_TRY(fai_json_object_or_null(json, "attributes", &attributes, err));
    if (!attributes) return BAD_AT(err, json, "\"attributes\" is missing");
    if (!attributes->count) return BAD_AT(err, attributes, "a primitive without attributes");
    FA_TRY(fai_gltf_ref_or(attributes, "POSITION", doc->naccessor, "accessor", &p->position, err));
    FA_TRY(fai_gltf_ref_or(attributes, "TEXCOORD_0", doc->naccessor, "accessor", &p->texcoord, err));
    *nvert = p->position >= 0 ? doc->accessor[p->position].count : -1;
    for (const FaJson *c = attributes->first; c; c = c->next) {
        int i;
        FA_TRY(fai_gltf_ref_value(c, doc->naccessor, "accessor", &i, err));
        FA_TRY(check_attribute(doc, c, i, err));
        if (*nvert < 0) *nvert = doc->accessor[i].count;
        if (doc->accessor[i].count != *nvert)
            return BAD_AT(err, c, "%d elements where the other attributes have %d", doc->accessor[i].count, *nvert);
    }
    if (p->position < 0)
        NOTE_AT(doc, "no-positions", attributes, "", "a primitive without POSITION is not drawn");
    else if (!fai_json_get(doc->accessor[p->position].json, "min") ||
             !fai_json_get(doc->accessor[p->position].json, "max"))
        NOTE_AT(doc, "no-bounds", doc->accessor[p->position].json, "export the file again",
                "positions without min and max, which glTF demands");
    return parse_joint_sets(doc, attributes, p, err);
}

// Bytes that serve as indices and as positions at once belong to a broken file.
static bool share_bytes(const FaGltf *doc, int a, int b) {
    const FaGltfAccessor *x = &doc->accessor[a], *y = &doc->accessor[b];
    if (x->view < 0 || x->view != y->view) return false;
    size_t xe =
        x->offset + (size_t)(x->count - 1) * (size_t)x->stride + (size_t)fai_gltf_element_size(x->comp, x->type);
    size_t ye =
        y->offset + (size_t)(y->count - 1) * (size_t)y->stride + (size_t)fai_gltf_element_size(y->comp, y->type);
    return x->offset < ye && y->offset < xe;
}

static FaCode parse_indices(FaGltf *doc, const FaJson *json, FaGltfPrim *p, FaError *err) {
    FA_TRY(fai_gltf_ref_or(json, "indices", doc->naccessor, "accessor", &p->indices, err));
    if (p->indices < 0) return FA_OK;
    const FaJson *at = fai_json_get(json, "indices");
    const FaGltfAccessor *a = &doc->accessor[p->indices];
    bool whole = a->comp == FA_GLTF_U8 || a->comp == FA_GLTF_U16 || a->comp == FA_GLTF_U32;
    if (a->type != FA_GLTF_SCALAR || !whole || a->normalized) return wrong_format(a, at, "indices", err);
    if (a->view >= 0 && doc->view[a->view].stride) return BAD_AT(err, at, "a view of indices has no stride");
    if (p->position >= 0 && share_bytes(doc, p->indices, p->position))
        return BAD_AT(err, at, "the same bytes are indices and positions");
    return FA_OK;
}

static FaCode parse_target(FaGltf *doc, const FaJson *json, const FaGltfPrim *p, int nvert, int *position,
                           FaError *err) {
    *position = -1;
    if (json->type != FA_JSON_OBJECT) return BAD_AT(err, json, "expected an object");
    for (const FaJson *c = json->first; c; c = c->next) {
        int i;
        FA_TRY(fai_gltf_ref_value(c, doc->naccessor, "accessor", &i, err));
        const FaGltfAccessor *a = &doc->accessor[i];
        if (a->count != nvert) return BAD_AT(err, c, "%d deltas for %d vertices", a->count, nvert);
        if (strcmp(c->key, "POSITION")) continue;
        if (!position_format(doc, a)) return wrong_format(a, c, "POSITION of a target", err);
        if (p->indices >= 0 && share_bytes(doc, p->indices, i))
            return BAD_AT(err, c, "the same bytes are indices and deltas");
        if (p->position >= 0) *position = i;
    }
    return FA_OK;
}

static FaCode parse_targets(FaGltf *doc, const FaJson *json, FaGltfPrim *p, int nvert, FaError *err) {
    FaJson *targets;
    FA_TRY(fai_json_array_or_null(json, "targets", &targets, err));
    if (!targets) return FA_OK;
    p->target = PUSH(doc, targets->count, int);
    if (!p->target) return fai_gltf_no_room(doc, targets, err);
    for (const FaJson *c = targets->first; c; c = c->next)
        FA_TRY(parse_target(doc, c, p, nvert, &p->target[p->ntarget++], err));
    return FA_OK;
}

static FaCode parse_prim(FaGltf *doc, const FaJson *json, FaGltfPrim *p, FaError *err) {
    int nvert = 0, material;
    int64_t mode;
    p->json = json;
    if (json->type != FA_JSON_OBJECT) return BAD_AT(err, json, "expected an object");
    FA_TRY(parse_attributes(doc, json, p, &nvert, err));
    FA_TRY(parse_indices(doc, json, p, err));
    FA_TRY(fai_gltf_ref_or(json, "material", doc->nmaterial, "material", &material, err));
    FA_TRY(fai_json_int_or(json, "mode", 0, INT32_MAX, FA_GLTF_TRIANGLES, &mode, err));
    if (mode > FA_GLTF_TRIANGLE_FAN)
        return FAIL_AT(err, FA_E_UNSUPPORTED, fai_json_get(json, "mode"), NULL, "the primitive mode %d is not read",
                       (int)mode);
    p->mode = (FaGltfMode)mode;
    return parse_targets(doc, json, p, nvert, err);
}

static FaCode parse_mesh(FaGltf *doc, const FaJson *json, FaGltfMesh *m, FaError *err) {
    FaJson *prims;
    m->json = json;
    FA_TRY(fai_gltf_name(json, &m->name, err));
    FA_TRY(fai_json_array_or_null(json, "primitives", &prims, err));
    if (!prims) return BAD_AT(err, json, "\"primitives\" is missing");
    if (!prims->count) return BAD_AT(err, prims, "a mesh without primitives");
    m->prim = PUSH(doc, prims->count, FaGltfPrim);
    if (!m->prim) return fai_gltf_no_room(doc, prims, err);
    for (const FaJson *c = prims->first; c; c = c->next) {
        FaGltfPrim *p = &m->prim[m->nprim++];
        FA_TRY(parse_prim(doc, c, p, err));
        m->ntarget = FA_MAX(m->ntarget, p->ntarget);
    }
    for (int i = 0; i < m->nprim; i++)
        if (m->prim[i].ntarget != m->ntarget)
            NOTE_AT(doc, "unequal-targets", m->prim[i].json, "export the file again if shapes seem to miss a part",
                    "a primitive has %d morph targets where another one has %d: the rest of it does not move",
                    m->prim[i].ntarget, m->ntarget);
    return fai_gltf_weights(doc, json, m->ntarget, &m->nweight, &m->weight, err);
}

static FaCode parse_meshes(FaGltf *doc, FaError *err) {
    FaJson *array;
    FA_TRY(fai_gltf_collection(doc, "meshes", true, &array, &doc->nmesh, err));
    doc->mesh = PUSH(doc, doc->nmesh, FaGltfMesh);
    if (!doc->mesh) return fai_gltf_no_room(doc, array, err);
    FaGltfMesh *m = doc->mesh;
    for (const FaJson *c = array ? array->first : NULL; c; c = c->next) FA_TRY(parse_mesh(doc, c, m++, err));
    return FA_OK;
}

// --- skins --------------------------------------------------------------------------------------------------------

static FaCode parse_skin(FaGltf *doc, const FaJson *json, FaGltfSkin *s, FaError *err) {
    FaJson *joints;
    int skeleton;
    s->json = json;
    FA_TRY(fai_json_array_or_null(json, "joints", &joints, err));
    if (!joints) return BAD_AT(err, json, "\"joints\" is missing");
    if (!joints->count) return BAD_AT(err, joints, "a skin without joints");
    s->joint = PUSH(doc, joints->count, int);
    if (!s->joint) return fai_gltf_no_room(doc, joints, err);
    for (const FaJson *c = joints->first; c; c = c->next)
        FA_TRY(fai_gltf_ref_value(c, doc->nnode, "node", &s->joint[s->njoint++], err));
    FA_TRY(fai_gltf_ref_or(json, "skeleton", doc->nnode, "node", &skeleton, err));
    FA_TRY(fai_gltf_ref_or(json, "inverseBindMatrices", doc->naccessor, "accessor", &s->inverse_bind, err));
    if (s->inverse_bind < 0) return FA_OK;
    const FaJson *at = fai_json_get(json, "inverseBindMatrices");
    const FaGltfAccessor *a = &doc->accessor[s->inverse_bind];
    if (a->type != FA_GLTF_MAT4 || a->comp != FA_GLTF_F32) return wrong_format(a, at, "inverse bind matrices", err);
    if (a->view >= 0 && doc->view[a->view].stride)
        return BAD_AT(err, at, "a view of inverse bind matrices has no stride");
    if (a->count < s->njoint) return BAD_AT(err, at, "%d inverse bind matrices for %d joints", a->count, s->njoint);
    return FA_OK;
}

static FaCode parse_skins(FaGltf *doc, FaError *err) {
    FaJson *array;
    FA_TRY(fai_gltf_collection(doc, "skins", true, &array, &doc->nskin, err));
    doc->skin = PUSH(doc, doc->nskin, FaGltfSkin);
    if (!doc->skin) return fai_gltf_no_room(doc, array, err);
    FaGltfSkin *s = doc->skin;
    for (const FaJson *c = array ? array->first : NULL; c; c = c->next) FA_TRY(parse_skin(doc, c, s++, err));
    return FA_OK;
}

// --- nodes --------------------------------------------------------------------------------------------------------

void fai_gltf_compose(const double t[3], const double q[4], const double s[3], double m[16]) {
    double x = q[0], y = q[1], z = q[2], w = q[3];
    const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                         2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                         2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < 3; i++) m[4 * c + i] = r[3 * i + c] * s[c];
        m[4 * c + 3] = 0;
        m[12 + c] = t[c];
    }
    m[15] = 1;
}

static FaCode parse_transform(FaGltf *doc, const FaJson *json, FaGltfNode *n, FaError *err) {
    bool has[3];
    n->r[3] = n->s[0] = n->s[1] = n->s[2] = 1;
    FA_TRY(fai_json_nums(json, "matrix", 16, n->matrix, &n->has_matrix, err));
    FA_TRY(fai_json_nums(json, "translation", 3, n->t, &has[0], err));
    FA_TRY(fai_json_nums(json, "rotation", 4, n->r, &has[1], err));
    FA_TRY(fai_json_nums(json, "scale", 3, n->s, &has[2], err));
    if (n->has_matrix && (has[0] || has[1] || has[2]))
        return BAD_AT(err, fai_json_get(json, "matrix"),
                      "a node has a matrix, or translation, rotation and scale, not both");
    if (n->has_matrix) return FA_OK;
    double length = sqrt(n->r[0] * n->r[0] + n->r[1] * n->r[1] + n->r[2] * n->r[2] + n->r[3] * n->r[3]);
    if (!(length > 1e-3 && length < 1e3))
        return BAD_AT(err, fai_json_get(json, "rotation"), "a quaternion of this length is no rotation");
    if (fabs(length - 1) > 1e-3)
        NOTE_AT(doc, "rotation-not-unit", fai_json_get(json, "rotation"), "",
                "a rotation is not a unit quaternion; it is normalised");
    for (int i = 0; i < 4; i++) n->r[i] /= length;
    fai_gltf_compose(n->t, n->r, n->s, n->matrix);
    return FA_OK;
}

static FaCode parse_children(FaGltf *doc, const FaJson *json, int self, FaError *err) {
    FaJson *children;
    FA_TRY(fai_json_array_or_null(json, "children", &children, err));
    for (const FaJson *c = children ? children->first : NULL; c; c = c->next) {
        int i;
        FA_TRY(fai_gltf_ref_value(c, doc->nnode, "node", &i, err));
        if (doc->node[i].parent >= 0)
            return FAIL_AT(err, FA_E_FORMAT, c, "export the file again", "node %d is already a child of node %d", i,
                           doc->node[i].parent);
        doc->node[i].parent = self;
    }
    return FA_OK;
}

static FaCode parse_node(FaGltf *doc, const FaJson *json, FaGltfNode *n, FaError *err) {
    int camera;
    n->json = json;
    FA_TRY(fai_gltf_name(json, &n->name, err));
    FA_TRY(parse_transform(doc, json, n, err));
    FA_TRY(fai_gltf_ref_or(json, "mesh", doc->nmesh, "mesh", &n->mesh, err));
    FA_TRY(fai_gltf_ref_or(json, "skin", doc->nskin, "skin", &n->skin, err));
    FA_TRY(fai_gltf_ref_or(json, "camera", doc->ncamera, "camera", &camera, err));
    const FaJson *weights = fai_json_get(json, "weights");
    if (n->mesh < 0 && (weights || n->skin >= 0))
        NOTE_AT(doc, "node-without-mesh", json, "", "a node has weights or a skin but no mesh; they are ignored");
    if (n->mesh < 0) return FA_OK;
    return fai_gltf_weights(doc, json, doc->mesh[n->mesh].ntarget, &n->nweight, &n->weight, err);
}

// Every node has one parent at most; from there, walking up from any node must end.
static FaCode check_loops(FaGltf *doc, FaError *err) {
    int *seen = FA_NEW(doc->nnode, int); // the walk that visited a node, 0 = none did
    if (!seen) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    for (int i = 0; i < doc->nnode && rc >= 0; i++) {
        int k = i;
        for (; k >= 0 && !seen[k]; k = doc->node[k].parent) seen[k] = i + 1;
        if (k >= 0 && seen[k] == i + 1)
            rc =
                FAIL_AT(err, FA_E_FORMAT, doc->node[k].json, "export the file again", "node %d is its own ancestor", k);
    }
    fa_free(seen);
    return rc;
}

static FaCode parse_nodes(FaGltf *doc, const FaJson *array, FaError *err) {
    for (int i = 0; i < doc->nnode; i++) doc->node[i].parent = -1;
    int i = 0;
    for (const FaJson *c = array ? array->first : NULL; c; c = c->next, i++) {
        FA_TRY(parse_node(doc, c, &doc->node[i], err));
        FA_TRY(parse_children(doc, c, i, err));
    }
    return check_loops(doc, err);
}

static FaCode parse_scenes(FaGltf *doc, FaError *err) {
    FaJson *array, *nodes;
    int nscene, i;
    FA_TRY(fai_gltf_collection(doc, "scenes", true, &array, &nscene, err));
    FA_TRY(fai_gltf_ref_or(doc->json->root, "scene", nscene, "scene", &i, err));
    for (const FaJson *c = array ? array->first : NULL; c; c = c->next) {
        FA_TRY(fai_json_array_or_null(c, "nodes", &nodes, err));
        for (const FaJson *n = nodes ? nodes->first : NULL; n; n = n->next) {
            FA_TRY(fai_gltf_ref_value(n, doc->nnode, "node", &i, err));
            if (doc->node[i].parent >= 0)
                NOTE_AT(doc, "scene-node-not-root", n, "", "a scene lists node %d, which has a parent", i);
        }
    }
    return FA_OK;
}

FaCode fai_gltf_parse_scene(FaGltf *doc, FaError *err) {
    FaJson *nodes;
    FA_TRY(fai_gltf_collection(doc, "nodes", true, &nodes, &doc->nnode, err));
    doc->node = PUSH(doc, doc->nnode, FaGltfNode);
    if (!doc->node) return fai_gltf_no_room(doc, nodes, err);
    FA_TRY(parse_meshes(doc, err));
    FA_TRY(parse_skins(doc, err));
    FA_TRY(parse_nodes(doc, nodes, err));
    return parse_scenes(doc, err);
}

// --- transforms ---------------------------------------------------------------------------------------------------

void fai_gltf_multiply(const double a[16], const double b[16], double out[16]) {
    double m[16];
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 4; r++) {
            double sum = 0;
            for (int k = 0; k < 4; k++) sum += a[4 * k + r] * b[4 * c + k];
            m[4 * c + r] = sum;
        }
    memcpy(out, m, sizeof m);
}

void fai_gltf_node_world(const FaGltf *doc, int node, double m[16]) {
    memcpy(m, doc->node[node].matrix, 16 * sizeof *m);
    for (int p = doc->node[node].parent; p >= 0; p = doc->node[p].parent) fai_gltf_multiply(doc->node[p].matrix, m, m);
}

void fai_gltf_face_world(const FaGltf *doc, double m[16]) {
    for (int i = 0; i < 16; i++) m[i] = i % 5 == 0;
    if (doc->face.carrier < 0) return;
    fai_gltf_node_world(doc, doc->face.carrier, m);
    fai_gltf_multiply(m, doc->face.offset, m);
}

static double det3(const double m[9]) {
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}

// Newton's iteration for the polar factor (Higham 1986): q <- (g q + q^-T / g) / 2, with the scale g that makes both
// terms equally large. Quadratic; ten steps are plenty for any matrix that is not singular.
bool fai_gltf_split(const double m[16], double r[9], double s[9]) {
    double a[9], q[9], norm = 0;
    for (int i = 0; i < 9; i++) q[i] = a[i] = m[4 * (i % 3) + i / 3], norm = fmax(norm, fabs(a[i]));
    double d = det3(a);
    memcpy(s, a, sizeof a);
    for (int i = 0; i < 9; i++) r[i] = i % 4 == 0;
    if (!isfinite(d) || !(fabs(d) > 1e-12 * norm * norm * norm)) return false;
    for (int step = 0; step < 30; step++) {
        double c[9], nq = 0, nc = 0, moved = 0, det = det3(q);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) { // cofactor / det = inverse transpose
                int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
                c[3 * i + j] = (q[3 * i1 + j1] * q[3 * i2 + j2] - q[3 * i1 + j2] * q[3 * i2 + j1]) / det;
            }
        for (int i = 0; i < 9; i++) nq += q[i] * q[i], nc += c[i] * c[i];
        double g = step < 6 ? sqrt(sqrt(nc / nq)) : 1;
        for (int i = 0; i < 9; i++) {
            double next = 0.5 * (g * q[i] + c[i] / g);
            moved = fmax(moved, fabs(next - q[i]));
            q[i] = next;
        }
        if (moved < 1e-15) break;
    }
    if (d < 0) // move the mirror from q to the stretch
        for (int i = 0; i < 3; i++) q[3 * i] = -q[3 * i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) s[3 * i + j] = q[i] * a[j] + q[3 + i] * a[3 + j] + q[6 + i] * a[6 + j];
    memcpy(r, q, sizeof q);
    return true;
}
