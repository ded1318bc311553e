// A head on a body: which joint carries it, where that is, and how much of each vertex goes with it.
#include "io/gltf/gltf_parse.h"

#include "math/mat3.h"

#include <math.h>

static const double MOST_OF_FACE = 0.6; // of the skin weights of what shapes move

FaPose fai_gltf_rest_pose(const FaRig *rig) {
    FaPose pose = fai_pose_identity();
    const FaGltf *doc = fai_gltf_of_rig(rig);
    if (!doc || doc->face.carrier < 0) return pose;
    double world[16], r[9], s[9];
    fai_gltf_face_world(doc, world);
    if (fai_gltf_split(world, r, s)) fai_q_from_m3(r, pose.q);
    for (int k = 0; k < 3; k++) pose.p[k] = rig->unit * world[12 + k];
    return pose;
}

// Nodes, parents before what hangs on them; NULL: no memory. Free with fa_free.
static int *top_down(const FaGltf *doc) {
    int *order = FA_NEW(doc->nnode, int), *stack = FA_NEW(doc->nnode, int), count = 0;
    bool *placed = FA_NEW(doc->nnode, bool), ok = order && stack && placed;
    for (int i = 0; ok && i < doc->nnode; i++) {
        int k = 0;
        for (int n = i; n >= 0 && !placed[n]; n = doc->node[n].parent) stack[k++] = n;
        while (k > 0) placed[stack[--k]] = true, order[count++] = stack[k];
    }
    fa_free(stack);
    fa_free(placed);
    if (ok) return order;
    fa_free(order);
    return NULL;
}

static bool *joints_of(const FaGltf *doc) {
    bool *joint = FA_NEW(doc->nnode, bool);
    for (int s = 0; joint && s < doc->nskin; s++)
        for (int j = 0; j < doc->skin[s].njoint; j++) joint[doc->skin[s].joint[j]] = true;
    return joint;
}

// --- which joint --------------------------------------------------------------------------------------------------

FaCode fai_gltf_head_joint(const FaGltf *doc, const FaGltfSkin *s, const double *sum, int *best, FaError *err) {
    int *order = top_down(doc), *depth = FA_NEW(doc->nnode, int), at = -1;
    double *below = FA_NEW(doc->nnode, double), total = 0;
    *best = 0;
    if (order && depth && below) {
        for (int j = 0; j < s->njoint; j++) total += sum[j], below[s->joint[j]] += sum[j];
        for (int i = 0; i < doc->nnode; i++) {
            int parent = doc->node[order[i]].parent;
            depth[order[i]] = parent < 0 ? 0 : depth[parent] + 1;
        }
        for (int i = doc->nnode - 1; i >= 0; i--)
            if (doc->node[order[i]].parent >= 0) below[doc->node[order[i]].parent] += below[order[i]];
        for (int j = 0; j < s->njoint; j++) {
            int n = s->joint[j];
            if (!(below[n] > 0) || below[n] < MOST_OF_FACE * total) continue;
            if (at >= 0 && (depth[n] < depth[at] || (depth[n] == depth[at] && below[n] <= below[at]))) continue;
            *best = j, at = n;
        }
    }
    FaCode rc = order && depth && below ? FA_OK : FA_FAIL_MEMORY(err);
    fa_free(order);
    fa_free(depth);
    fa_free(below);
    return rc;
}

// A face that no skin moves may hang on a joint of a body (robots do): that joint is its head, unless something between
// the two moves.
FaCode fai_gltf_joint_above(FaGltf *doc, FaError *err) {
    FaGltfFace *face = &doc->face;
    double way[16];
    if (!doc->nskin) return FA_OK;
    bool *joint = joints_of(doc), *moves = FA_NEW(doc->nnode, bool);
    FaCode rc = joint && moves ? FA_OK : FA_FAIL_MEMORY(err);
    for (int a = 0; rc >= 0 && a < doc->nanim; a++)
        for (int c = 0; c < doc->anim[a].nchannel; c++) {
            const FaGltfChannel *ch = &doc->anim[a].channel[c];
            if (ch->node >= 0 && ch->path != FA_GLTF_WEIGHTS) moves[ch->node] = true;
        }
    for (int i = 0; i < 16; i++) way[i] = i % 5 == 0;
    for (int n = rc >= 0 ? face->node : -1; n >= 0; n = doc->node[n].parent) {
        if (joint[n]) {
            face->carrier = n;
            memcpy(face->offset, way, sizeof way);
            break;
        }
        if (moves[n]) break;
        fai_gltf_multiply(doc->node[n].matrix, way, way);
    }
    fa_free(joint);
    fa_free(moves);
    return rc;
}

// --- how much of a vertex -----------------------------------------------------------------------------------------

// Nodes at or below another one.
static bool *below_of(const FaGltf *doc, int joint) {
    int *order = top_down(doc);
    bool *below = order ? FA_NEW(doc->nnode, bool) : NULL;
    for (int i = 0; below && i < doc->nnode; i++) {
        int n = order[i], parent = doc->node[n].parent;
        below[n] = n == joint || (parent >= 0 && below[parent]);
    }
    fa_free(order);
    return below;
}

// Adds the weights of one set to what is below (part) and to all.
static FaCode add_set(const FaGltf *doc, const FaGltfSkin *skin, const bool *below, int joints, int weights, int count,
                      float *part, float *all, FaError *err) {
    size_t n = 4 * (size_t)count;
    uint32_t *joint = FA_NEW(n, uint32_t);
    float *weight = FA_NEW(n, float);
    FaCode rc = joint && weight ? fai_gltf_uints(doc, joints, joint, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_gltf_floats(doc, weights, weight, err);
    for (size_t k = 0; rc >= 0 && k < n; k++) {
        if (!(weight[k] > 0) || joint[k] >= (uint32_t)skin->njoint) continue;
        all[k / 4] += weight[k];
        if (below[skin->joint[joint[k]]]) part[k / 4] += weight[k];
    }
    fa_free(joint);
    fa_free(weight);
    return rc;
}

FaCode fai_gltf_joint_share(const FaGltf *doc, int joint, float *share, FaError *err) {
    const FaGltfFace *face = &doc->face;
    const FaGltfMesh *mesh = &doc->mesh[face->mesh];
    const FaGltfSkin *skin =
        face->node >= 0 && doc->node[face->node].skin >= 0 ? &doc->skin[doc->node[face->node].skin] : NULL;
    bool *below = below_of(doc, joint);
    FaCode rc = below ? FA_OK : FA_FAIL_MEMORY(err);
    for (int i = 0; rc >= 0 && i < face->nprim; i++) {
        const FaGltfFacePrim *p = &face->prim[i];
        if (p->first < 0 || p->owner != i) continue;
        float *part = share + p->first, *all = FA_NEW(p->count, float);
        if (!all) rc = FA_FAIL_MEMORY(err);
        memset(part, 0, (size_t)p->count * sizeof *part);
        for (int k = 0; rc >= 0 && skin && k < mesh->prim[i].njoints; k++)
            rc = add_set(doc, skin, below, mesh->prim[i].joints[k], mesh->prim[i].weights[k], p->count, part, all, err);
        // what no skin moves goes with its node
        float rigid = face->node >= 0 && below[face->node] ? 1 : 0;
        for (int v = 0; rc >= 0 && v < p->count; v++) part[v] = all[v] > 0 ? part[v] / all[v] : rigid;
        fa_free(all);
    }
    fa_free(below);
    return rc;
}

// --- the rig ------------------------------------------------------------------------------------------------------

// A joint below another one is part of a body; one that all hangs on moves all of it.
static FaCode has_body(const FaGltf *doc, bool *body, FaError *err) {
    const FaGltfFace *face = &doc->face;
    *body = false;
    if (face->carrier < 0 || face->carrier == face->node) return FA_OK;
    bool *joint = joints_of(doc);
    if (!joint) return FA_FAIL_MEMORY(err);
    for (int n = doc->node[face->carrier].parent; n >= 0; n = doc->node[n].parent) *body |= joint[n];
    fa_free(joint);
    return FA_OK;
}

FaCode fai_gltf_set_body(FaRig *rig, FaError *err) {
    const FaGltf *doc = fai_gltf_of_rig(rig);
    double back[16];
    bool body;
    rig->joint = "";
    FA_TRY(has_body(doc, &body, err));
    if (!body || !fai_gltf_invert(doc->face.offset, back)) return FA_OK;
    size_t n = (size_t)rig->mesh.nvert;
    rig->head_share = FA_PUSH(rig->arena, n, float);
    if (!rig->head_share) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_gltf_joint_share(doc, doc->face.carrier, rig->head_share, err));
    bool all = true;
    for (size_t v = 0; v < n; v++) all &= rig->head_share[v] == 1;
    if (all) rig->head_share = NULL;
    fai_m3_mulv(rig->local, back + 12, rig->pivot);
    rig->rest = fai_gltf_rest_pose(rig);
    rig->joint = doc->node[doc->face.carrier].name;
    rig->body = true;
    return FA_OK;
}
