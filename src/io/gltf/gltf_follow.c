// Keys for nodes that go rigidly with the head or its jaw: teeth, tongue, eyes that have no shapes of their own.
//
// A node stands at W in the document's world, at rest. Where the head has moved by D (world, rigid), and the jaw by J
// against it, the node stands at D J W; below a parent that stands at P the node's matrix is P^-1 D J W, and below a
// parent that the head carries along P^-1 J W. Its scale stays what it is.
#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_parse.h"

#include "io/clip_tools.h"

#include <math.h>

FaCode fai_gltf_node_keys(FaGltfOut *out, int node, int nframe, const double *move, float *translation, float *rotation,
                          bool *possible, FaError *err) {
    const FaGltf *doc = out->src;
    const FaGltfNode *n = &doc->node[node];
    double parent[16], up[16], rest[16], scale[3];
    *possible = false;
    for (int i = 0; i < 16; i++) parent[i] = i % 5 == 0;
    if (n->parent >= 0) fai_gltf_node_world(doc, n->parent, parent);
    fai_gltf_node_world(doc, node, rest);
    if (!fai_gltf_own_scale(n, scale) || !fai_gltf_invert(parent, up)) return FA_OK;
    FaPose before = {{0, 0, 0, 1}, {0, 0, 0}};
    for (int f = 0; f < nframe; f++) {
        double m[16], r[9], stretch[9], size = 0;
        fai_gltf_multiply(move + 16 * (size_t)f, rest, m);
        fai_gltf_multiply(up, m, m);
        for (int i = 0; i < 3; i++) {
            translation[3 * (size_t)f + (size_t)i] = (float)m[12 + i];
            for (int j = 0; j < 3; j++) m[4 * j + i] /= scale[j];
        }
        if (!fai_gltf_split(m, r, stretch))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("frame %d", f), NULL, "the head's pose cannot be put on node %d",
                           node);
        // parents of unequal scale would shear it: that is no node's motion
        for (int i = 0; i < 9; i++) size = fmax(size, fabs(stretch[i] - (i % 4 == 0)));
        if (size > 1e-2) return FA_OK;
        FaPose pose = before;
        fai_pose_rotate(&pose, r, f ? &before : NULL);
        for (int i = 0; i < 4; i++) rotation[4 * (size_t)f + (size_t)i] = (float)pose.q[i];
        before = pose;
    }
    if (n->has_matrix) fai_gltf_split_matrix(out, node, n, scale);
    *possible = true;
    return FA_OK;
}

// Where the head has moved to, from the keys of the node that carries it.
bool fai_gltf_head_moves(const FaGltf *doc, int nframe, const float *translation, const float *rotation, double *move) {
    int carrier = doc->face.carrier;
    const FaGltfNode *n = &doc->node[carrier];
    double parent[16], rest[16], back[16], scale[3];
    for (int i = 0; i < 16; i++) parent[i] = i % 5 == 0;
    if (n->parent >= 0) fai_gltf_node_world(doc, n->parent, parent);
    fai_gltf_node_world(doc, carrier, rest);
    if (!fai_gltf_own_scale(n, scale) || !fai_gltf_invert(rest, back)) return false;
    for (size_t f = 0; f < (size_t)nframe; f++) {
        double t[3], q[4], *m = move + 16 * f;
        for (size_t k = 0; k < 3; k++) t[k] = (double)translation[3 * f + k];
        for (size_t k = 0; k < 4; k++) q[k] = (double)rotation[4 * f + k];
        fai_gltf_compose(t, q, scale, m);
        fai_gltf_multiply(parent, m, m);
        fai_gltf_multiply(m, back, m);
    }
    return true;
}

// The jaw's pose is of the rig's own frame: world = A rig with A = face * local^-1.
bool fai_gltf_jaw_moves(const FaGltf *doc, const FaRig *rig, int nframe, const float *weight, int nweight,
                        double *move) {
    double face[16], local[16] = {[15] = 1}, a[16], back[16];
    FaArena *arena = fai_arena_new(0);
    float *all = arena ? FA_PUSH(arena, rig->nshape, float) : NULL;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) local[4 * j + i] = rig->local[3 * i + j];
    fai_gltf_face_world(doc, face);
    bool fine = all && fai_gltf_invert(local, a);
    if (fine) {
        fai_gltf_multiply(face, a, a);
        fine = fai_gltf_invert(a, back);
    }
    for (size_t f = 0; fine && f < (size_t)nframe; f++) {
        const double one[3] = {1, 1, 1};
        double *m = move + 16 * f;
        memcpy(all, weight + f * (size_t)nweight, (size_t)nweight * sizeof *all);
        FaPose jaw = fai_jaw_pose(&doc->parts.jaw, all);
        fai_gltf_compose(jaw.p, jaw.q, one, m);
        fai_gltf_multiply(a, m, m);
        fai_gltf_multiply(m, back, m);
    }
    fai_arena_free(arena);
    return fine;
}
