// The head's motion on the node that carries the face: the way back from gltf_clip.c.
//
// The rig has taken the stretch S out of the carrier's matrix: world = R (unit S file) + p for a pose (R, p) of its own
// frame, which fa_rig_pose makes of a head's. So the
// carrier's matrix is W = [R S | p / unit] * offset^-1, and below its parent (at rest) it is parent^-1 W, which is
// split into translation, rotation and the scale that the node has anyway.
#include "io/clip_tools.h"
#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_parse.h"

#include <math.h>

bool fai_gltf_invert(const double m[16], double out[16]) {
    double c[9], det = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            c[3 * i + j] = m[4 * i1 + j1] * m[4 * i2 + j2] - m[4 * i1 + j2] * m[4 * i2 + j1];
        }
    for (int j = 0; j < 3; j++) det += m[j] * c[j];
    if (!(fabs(det) > 0) || !isfinite(1 / det)) return false;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) out[4 * j + i] = c[3 * i + j] / det;
        out[4 * i + 3] = 0;
    }
    for (int j = 0; j < 3; j++) out[12 + j] = -(out[j] * m[12] + out[4 + j] * m[13] + out[8 + j] * m[14]);
    out[15] = 1;
    return true;
}

// The node's own scale, also where it is given as a matrix; false where that shears or flattens.
bool fai_gltf_own_scale(const FaGltfNode *n, double s[3]) {
    double r[9], stretch[9], size = 0;
    memcpy(s, n->s, 3 * sizeof *s);
    if (n->has_matrix) {
        if (!fai_gltf_split(n->matrix, r, stretch)) return false;
        for (int i = 0; i < 9; i++) size = fmax(size, fabs(stretch[i]));
        for (int i = 0; i < 9; i++)
            if (i % 4 && fabs(stretch[i]) > 1e-5 * size) return false;
        for (int i = 0; i < 3; i++) s[i] = stretch[4 * i];
    }
    return s[0] != 0 && s[1] != 0 && s[2] != 0;
}

static void set_numbers(FaGltfOut *out, FaJson *object, const char *key, const double *x, int n) {
    FaJson *array = fai_json_new_array(out->json);
    for (int i = 0; i < n; i++) fai_out_push_float(out, array, (float)x[i]);
    out->failed |= !fai_json_set(out->json, object, key, array);
}

// Animated nodes are not allowed a matrix.
void fai_gltf_split_matrix(FaGltfOut *out, int node, const FaGltfNode *n, const double s[3]) {
    FaJson *json = fai_json_at(fai_json_get(out->root, "nodes"), node);
    double r[9], stretch[9];
    FaPose pose = {{0, 0, 0, 1}, {0, 0, 0}};
    fai_gltf_split(n->matrix, r, stretch);
    fai_pose_rotate(&pose, r, NULL);
    fai_json_remove(json, "matrix");
    set_numbers(out, json, "translation", n->matrix + 12, 3);
    set_numbers(out, json, "rotation", pose.q, 4);
    set_numbers(out, json, "scale", s, 3);
}

static void warn_moving_parents(const FaGltf *doc, int carrier) {
    for (int p = doc->node[carrier].parent; p >= 0; p = doc->node[p].parent)
        for (int a = 0; a < doc->nanim; a++)
            for (int c = 0; c < doc->anim[a].nchannel; c++)
                if (doc->anim[a].channel[c].node == p && doc->anim[a].channel[c].path != FA_GLTF_WEIGHTS) {
                    fai_log(FA_LOG_WARN, "io", -1,
                            "node %d above the head is animated, too: the head's new motion adds to it", p);
                    return;
                }
}

FaCode fai_gltf_local_keys(int node, int nframe, const double *world, const double parent[16], const double scale[3],
                           float *translation, float *rotation, double *sheared, FaError *err) {
    double up[16];
    FaPose before = {{0, 0, 0, 1}, {0, 0, 0}};
    *sheared = INFINITY;
    if (!fai_gltf_invert(parent, up)) return FA_OK;
    *sheared = 0;
    for (int f = 0; f < nframe; f++) {
        double m[16], r[9], stretch[9];
        fai_gltf_multiply(up, world + 16 * (size_t)f, m);
        for (int i = 0; i < 3; i++) {
            translation[3 * (size_t)f + (size_t)i] = (float)m[12 + i];
            for (int j = 0; j < 3; j++) m[4 * j + i] /= scale[j];
        }
        if (!fai_gltf_split(m, r, stretch))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("frame %d", f), NULL, "the head's pose cannot be put on node %d",
                           node);
        for (int i = 0; i < 9; i++) *sheared = fmax(*sheared, fabs(stretch[i] - (i % 4 == 0)));
        FaPose pose = before;
        fai_pose_rotate(&pose, r, f ? &before : NULL);
        for (int i = 0; i < 4; i++) rotation[4 * (size_t)f + (size_t)i] = (float)pose.q[i];
        before = pose;
    }
    return FA_OK;
}

void fai_gltf_parent_world(const FaGltf *doc, int node, double m[16]) {
    for (int i = 0; i < 16; i++) m[i] = i % 5 == 0;
    if (doc->node[node].parent >= 0) fai_gltf_node_world(doc, doc->node[node].parent, m);
}

// Where the carrier stands in the document's world.
static void carrier_world(const FaRig *rig, const FaPose *head, const double offset[16], double m[16]) {
    double r[9];
    FaPose at = fa_rig_pose(rig, head);
    fai_pose_matrix(&at, r);
    memset(m, 0, 16 * sizeof *m);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) m[4 * j + i] += r[3 * i + k] * rig->local[3 * k + j] / rig->unit;
        m[12 + i] = at.p[i] / rig->unit;
    }
    m[15] = 1;
    fai_gltf_multiply(m, offset, m);
}

FaCode fai_gltf_head_keys(FaGltfOut *out, const FaRig *rig, int nframe, const FaPose *head, float *translation,
                          float *rotation, bool *possible, FaError *err) {
    const FaGltf *doc = out->src;
    int carrier = doc->face.carrier;
    const FaGltfNode *n = &doc->node[carrier];
    double parent[16], offset[16], scale[3], sheared = INFINITY; // some shear is borne: else the head stood still
    double *world = FA_NEW(16 * (size_t)nframe, double);
    *possible = false;
    if (!world) return FA_FAIL_MEMORY(err);
    fai_gltf_parent_world(doc, carrier, parent);
    FaCode rc = FA_OK;
    if (fai_gltf_own_scale(n, scale) && fai_gltf_invert(doc->face.offset, offset)) {
        for (int f = 0; f < nframe; f++) carrier_world(rig, &head[f], offset, world + 16 * (size_t)f);
        rc = fai_gltf_local_keys(carrier, nframe, world, parent, scale, translation, rotation, &sheared, err);
    }
    fa_free(world);
    FA_TRY(rc);
    if (!isfinite(sheared)) {
        fai_log(FA_LOG_WARN, "io", -1,
                "%s: the node that carries the face is sheared or flat; the head's motion is left out",
                fai_json_path(n->json).text);
        return FA_OK;
    }
    if (n->has_matrix) fai_gltf_split_matrix(out, carrier, n, scale);
    if (carrier != doc->face.node)
        warn_moving_parents(doc, carrier); // a joint of a skin; else what is above stands still
    *possible = true;
    return FA_OK;
}
