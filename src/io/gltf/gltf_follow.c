// Keys for nodes that go rigidly with the head or its jaw: teeth, tongue, eyes that have no shapes of their own.
//
// A node stands at W in the document's world, at rest. Where the head has moved by D (world, rigid), and the jaw by J
// against it, the node stands at D J W; below a parent that stands at P the node's matrix is P^-1 D J W, and below a
// parent that the head carries along P^-1 J W. Its scale stays what it is.
#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_parse.h"

#include "io/clip_tools.h"

#include <math.h>

static const double MOST_SHEAR = 1e-2; // parents of unequal scale would shear it: that is no node's motion

// Below a parent that stays at `parent`, for a node that stands where `node` does.
static FaCode moved_keys(const FaGltf *doc, int node, int nframe, const double *move, const double parent[16],
                         const double scale[3], float *translation, float *rotation, bool *possible, FaError *err) {
    double rest[16], sheared;
    double *world = FA_NEW(16 * (size_t)nframe, double);
    if (!world) return FA_FAIL_MEMORY(err);
    fai_gltf_node_world(doc, node, rest);
    for (size_t f = 0; f < (size_t)nframe; f++) fai_gltf_multiply(move + 16 * f, rest, world + 16 * f);
    FaCode rc = fai_gltf_local_keys(node, nframe, world, parent, scale, translation, rotation, &sheared, err);
    *possible = rc >= 0 && sheared <= MOST_SHEAR;
    fa_free(world);
    return rc;
}

FaCode fai_gltf_node_keys(FaGltfOut *out, int node, int nframe, const double *move, float *translation, float *rotation,
                          bool *possible, FaError *err) {
    const FaGltfNode *n = &out->src->node[node];
    double parent[16], scale[3];
    *possible = false;
    if (!fai_gltf_own_scale(n, scale)) return FA_OK;
    fai_gltf_parent_world(out->src, node, parent);
    FA_TRY(moved_keys(out->src, node, nframe, move, parent, scale, translation, rotation, possible, err));
    if (*possible && n->has_matrix) fai_gltf_split_matrix(out, node, n, scale);
    return FA_OK;
}

FaCode fai_gltf_child_keys(const FaGltf *doc, int node, int nframe, const double *move, float *translation,
                           float *rotation, bool *possible, FaError *err) {
    const double scale[3] = {1, 1, 1};
    double parent[16];
    *possible = false;
    fai_gltf_node_world(doc, node, parent);
    return moved_keys(doc, node, nframe, move, parent, scale, translation, rotation, possible, err);
}

// Where the head has moved to, from the keys of the node that carries it.
bool fai_gltf_head_moves(const FaGltf *doc, int nframe, const float *translation, const float *rotation, double *move) {
    int carrier = doc->face.carrier;
    const FaGltfNode *n = &doc->node[carrier];
    double parent[16], rest[16], back[16], scale[3];
    fai_gltf_parent_world(doc, carrier, parent);
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
