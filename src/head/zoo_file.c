// An animal as a file. The writer of new documents (glb_build) makes meshes and materials; nodes, joints, skins and the
// clip are added to its document, since only an animal has several heads or a shape that is driven by another's
// channel.
#include "head/head_file.h"
#include "head/zoo.h"
#include "io/gltf/gltf_out.h"
#include "io/obj_write.h"
#include "math/mat3.h"
#include "rig/rig_build.h"

#include <math.h>

enum { ARRAY_BUFFER = 34962 };

static void turn(const double m[9], const float *from, float *to) {
    double p[3];
    fai_v3_load(from, 0, p);
    for (int k = 0; k < 3; k++) to[k] = (float)fai_v3_dot(m + 3 * k, p);
}

// --- meshes -------------------------------------------------------------------------------------------------------

// A mirrored mesh keeps its outside outside: its faces turn round.
static FaCode file_mesh(const FaZoo *zoo, const FaZooMesh *m, FaArena *arena, FaMesh *to, FaError *err) {
    int corners = m->face_start[m->nface];
    *to = (FaMesh){.nvert = m->nvert, .nface = m->nface};
    to->x = FA_PUSH(arena, 3 * (size_t)m->nvert, float);
    to->face_start = FA_PUSH(arena, (size_t)m->nface + 1, int);
    to->face_vert = FA_PUSH(arena, corners, int);
    if (!to->x || !to->face_start || !to->face_vert) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < m->nvert; v++) turn(zoo->file, m->x + 3 * (size_t)v, to->x + 3 * (size_t)v);
    memcpy(to->face_start, m->face_start, ((size_t)m->nface + 1) * sizeof *to->face_start);
    bool mirrored = fai_m3_det(zoo->file) < 0;
    for (int f = 0; f < m->nface; f++)
        for (int c = m->face_start[f], last = m->face_start[f + 1] - 1; c <= last; c++)
            to->face_vert[c] = m->face_vert[mirrored ? m->face_start[f] + last - c : c];
    return FA_OK;
}

static FaCode mesh_rig(const FaZoo *zoo, const FaZooMesh *m, FaRig **rig, FaError *err) {
    FaRigDraft *draft;
    FaMesh mesh;
    FA_TRY(fai_draft_new(&draft, err));
    FaCode rc = file_mesh(zoo, m, fai_draft_arena(draft), &mesh, err);
    if (rc >= 0) fai_draft_mesh(draft, &mesh);
    float *delta = FA_NEW(3 * (size_t)m->nvert, float);
    if (rc >= 0 && !delta) rc = FA_FAIL_MEMORY(err);
    for (int s = 0; s < m->nshape && rc >= 0; s++) {
        for (int v = 0; v < m->nvert; v++) turn(zoo->file, m->shape[s].delta + 3 * (size_t)v, delta + 3 * (size_t)v);
        rc = fai_draft_shape_dense(draft, m->shape[s].name, delta, 0, err);
    }
    fa_free(delta);
    if (rc < 0) {
        fai_draft_free(draft);
        return rc;
    }
    FaRigHints hints = {.unit = 1, .up = FA_UP_Y, .name = m->name, .path = ""};
    FaRigOptions options = {.unit = FA_UNIT_M, .up = FA_UP_Y, .any_size = true};
    FA_TRY(fai_draft_finish(draft, &hints, &options, rig, err));
    // the file says nothing of how it stands: that is for its reader to find
    for (int i = 0; i < 9; i++) (*rig)->axes[i] = i % 4 == 0;
    return FA_OK;
}

static FaCode write_meshes(const FaZoo *zoo, const char *generator, const char *path, FaError *err) {
    FaRig *rig[FAI_ZOO_MESHES];
    FaGlbPart part[FAI_ZOO_MESHES];
    FaGlbMaterial material[FAI_ZOO_MESHES][FA_COUNT(zoo->mesh->region)];
    int n = 0;
    FaCode rc = FA_OK;
    for (; n < zoo->nmesh; n++) {
        const FaZooMesh *m = &zoo->mesh[n];
        if ((rc = mesh_rig(zoo, m, &rig[n], err)) < 0) break;
        for (int k = 0; k < m->nregion; k++) material[n][k] = fai_head_material(m->region[k]);
        part[n] = (FaGlbPart){rig[n], material[n], m->nregion, m->face_region};
    }
    if (rc >= 0) rc = fai_glb_build(part, n, NULL, generator, path, err);
    while (n > 0) fa_rig_free(rig[--n]);
    return rc;
}

// --- nodes --------------------------------------------------------------------------------------------------------

static void set_numbers(FaGltfOut *out, FaJson *object, const char *key, const double *v, int n) {
    fai_json_remove(object, key);
    FaJson *list = fai_out_array(out, object, key);
    for (int k = 0; k < n; k++) fai_out_push_float(out, list, (float)v[k]);
}

static FaJson *node_at(FaGltfOut *out, int i) { return fai_json_at(fai_json_get(out->root, "nodes"), i); }

// The writer has node 0 for the head and 1 + i for mesh i. A second head gets a node of its own; meshes hang below
// theirs.
static int add_heads(FaGltfOut *out, const FaZoo *zoo) {
    FaJson *nodes = fai_out_array(out, out->root, "nodes"),
           *roots = fai_out_array(out, fai_json_at(fai_json_get(out->root, "scenes"), 0), "nodes");
    int next = 1 + zoo->nmesh;
    for (int h = 0; h < zoo->nhead; h++) {
        FaJson *node = h ? fai_out_push(out, nodes) : node_at(out, 0);
        if (h) fai_out_str(out, node, "name", "head.001"), fai_out_push_int(out, roots, next);
        fai_json_remove(node, "children");
        FaJson *children = fai_out_array(out, node, "children");
        for (int i = 0; i < zoo->nmesh; i++)
            if (zoo->mesh[i].head == h) fai_out_push_int(out, children, 1 + i);
        double at[3];
        for (int k = 0; k < 3; k++) at[k] = fai_v3_dot(zoo->file + 3 * k, zoo->place[h]);
        if (h) set_numbers(out, node, "translation", at, 3);
    }
    return next;
}

// What takes the file's coordinates back to canonical ones, where the file has it: a rotation, a scale or a mirror.
static void add_correction(FaGltfOut *out, const FaZoo *zoo) {
    double det = fai_m3_det(zoo->file), size = cbrt(fabs(det)), r[9], q[4];
    for (int i = 0; i < zoo->nmesh && zoo->node_undoes; i++) {
        FaJson *node = node_at(out, 1 + i);
        // file = R * scale * diag(+-1, 1, 1): only a mirror without a turn is needed here
        double scale[3] = {det < 0 ? -1 / size : 1 / size, 1 / size, 1 / size};
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) r[3 * a + b] = zoo->file[3 * b + a] / size * (det < 0 && b == 0 ? -1 : 1);
        fai_q_from_m3(r, q);
        set_numbers(out, node, "rotation", q, 4);
        set_numbers(out, node, "scale", scale, 3);
    }
}

// --- skin ---------------------------------------------------------------------------------------------------------

static int add_data(FaGltfOut *out, const void *data, size_t bytes, int count, FaGltfComp comp, const char *type,
                    int target) {
    int view;
    void *to = fai_out_view(out, bytes, 0, target, &view);
    if (to) memcpy(to, data, bytes);
    return fai_out_accessor(out, view, comp, count, type);
}

static FaCode skin_mesh(FaGltfOut *out, const FaZooMesh *m, int mesh, FaError *err) {
    unsigned char *joint = FA_NEW(4 * (size_t)m->nvert, unsigned char);
    float *weight = FA_NEW(4 * (size_t)m->nvert, float);
    if (!joint || !weight) {
        fa_free(joint);
        fa_free(weight);
        return FA_FAIL_MEMORY(err);
    }
    for (int v = 0; v < m->nvert; v++) {
        const float share[2] = {m->share[v], 1 - m->share[v]};
        for (int k = 0; k < 2; k++) // a joint without weight is 0, as the validator wants it
            weight[4 * v + k] = share[k], joint[4 * v + k] = share[k] > 0 ? m->joint[2 * v + k] : 0;
    }
    int joints = add_data(out, joint, 4 * (size_t)m->nvert, m->nvert, FA_GLTF_U8, "VEC4", ARRAY_BUFFER),
        weights = add_data(out, weight, 16 * (size_t)m->nvert, m->nvert, FA_GLTF_F32, "VEC4", ARRAY_BUFFER);
    const FaJson *prims = fai_json_get(fai_json_at(fai_json_get(out->root, "meshes"), mesh), "primitives");
    for (int p = 0; p < fai_json_count(prims); p++) {
        FaJson *attributes = fai_json_get(fai_json_at(prims, p), "attributes");
        fai_out_int(out, attributes, "JOINTS_0", joints);
        fai_out_int(out, attributes, "WEIGHTS_0", weights);
    }
    fa_free(joint);
    fa_free(weight);
    return FA_OK;
}

// Joints are the nodes from `first` on, but the head's, which is node 0 already.
static int joint_node(int joint, int first) {
    return joint == FAI_ZOO_HEAD_JOINT ? 0 : first + joint - (joint > FAI_ZOO_HEAD_JOINT);
}

static FaCode add_skin(FaGltfOut *out, const FaZoo *zoo, int next, FaError *err) {
    FaJson *nodes = fai_out_array(out, out->root, "nodes"), *scene = fai_json_at(fai_json_get(out->root, "scenes"), 0);
    FaJson *skin = fai_out_push(out, fai_out_array(out, out->root, "skins")),
           *joints = fai_out_array(out, skin, "joints");
    float bind[16 * FAI_ZOO_JOINTS] = {0};
    for (int j = 0; j < FAI_ZOO_JOINTS; j++) {
        const FaZooJoint *joint = &fai_zoo_joints[j];
        FaJson *node = j == FAI_ZOO_HEAD_JOINT ? node_at(out, 0) : fai_out_push(out, nodes);
        fai_out_str(out, node, "name", joint->name);
        fai_json_remove(node, "children"); // the head's were the meshes, which a skin moves
        double from[3] = {0}, at[3], local[3];
        if (joint->parent >= 0) memcpy(from, fai_zoo_joints[joint->parent].at, sizeof from);
        fai_v3_sub(joint->at, from, from);
        for (int k = 0; k < 3; k++) {
            local[k] = fai_v3_dot(zoo->file + 3 * k, from);
            at[k] = fai_v3_dot(zoo->file + 3 * k, joint->at);
            bind[16 * j + 5 * k] = 1;
            bind[16 * j + 12 + k] = (float)-at[k];
        }
        bind[16 * j + 15] = 1;
        set_numbers(out, node, "translation", local, 3);
        if (joint->parent >= 0)
            fai_out_push_int(out, fai_out_array(out, node_at(out, joint_node(joint->parent, next)), "children"),
                             joint_node(j, next));
        fai_out_push_int(out, joints, joint_node(j, next));
    }
    fai_out_int(out, skin, "inverseBindMatrices",
                add_data(out, bind, sizeof bind, FAI_ZOO_JOINTS, FA_GLTF_F32, "MAT4", 0));
    fai_json_remove(scene, "nodes");
    FaJson *roots = fai_out_array(out, scene, "nodes");
    fai_out_push_int(out, roots, next);
    for (int i = 0; i < zoo->nmesh; i++) {
        fai_out_push_int(out, roots, 1 + i);
        fai_out_int(out, node_at(out, 1 + i), "skin", 0);
        FA_TRY(skin_mesh(out, &zoo->mesh[i], i, err));
    }
    return FA_OK;
}

// --- the clip -----------------------------------------------------------------------------------------------------

static void add_channel(FaGltfOut *out, FaJson *anim, int input, int output, int node, const char *path) {
    FaJson *samplers = fai_out_array(out, anim, "samplers"), *sampler = fai_out_push(out, samplers);
    fai_out_int(out, sampler, "input", input);
    fai_out_int(out, sampler, "output", output);
    FaJson *channel = fai_out_push(out, fai_out_array(out, anim, "channels"));
    fai_out_int(out, channel, "sampler", fai_json_count(samplers) - 1);
    FaJson *target = fai_out_object(out, channel, "target");
    fai_out_int(out, target, "node", node);
    fai_out_str(out, target, "path", path);
}

static FaCode add_weights(FaGltfOut *out, FaJson *anim, const FaZoo *zoo, int mesh, int input, FaError *err) {
    const FaZooMesh *m = &zoo->mesh[mesh];
    const FaClip *clip = zoo->clip;
    if (!m->nshape) return FA_OK;
    float *w = FA_NEW((size_t)clip->nframe * (size_t)m->nshape, float);
    if (!w) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < clip->nframe; f++)
        for (int s = 0; s < m->nshape; s++)
            if (m->shape[s].drive >= 0) w[f * m->nshape + s] = clip->weight[f * clip->nchan + m->shape[s].drive];
    add_channel(out, anim, input, fai_out_floats(out, w, clip->nframe * m->nshape, 1, false), 1 + mesh, "weights");
    fa_free(w);
    return FA_OK;
}

// The head's motion: local to the neck on a body, in the file's axes where no node undoes them.
static FaCode add_motion(FaGltfOut *out, FaJson *anim, const FaZoo *zoo, int node, int h, int input, FaError *err) {
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const FaClip *clip = zoo->clip;
    const double *file = zoo->node_undoes ? identity : zoo->file;
    double sign = fai_m3_det(file) < 0 ? -1 : 1, size = cbrt(fabs(fai_m3_det(file))), at[3];
    memcpy(at, zoo->place[h], sizeof at);
    if (zoo->skinned) fai_v3_sub(fai_zoo_joints[FAI_ZOO_HEAD_JOINT].at, fai_zoo_joints[FAI_ZOO_HEAD_JOINT - 1].at, at);
    float *p = FA_NEW(3 * (size_t)clip->nframe, float), *q = FA_NEW(4 * (size_t)clip->nframe, float);
    FaCode rc = p && q ? FA_OK : FA_FAIL_MEMORY(err);
    for (int f = 0; f < clip->nframe && rc >= 0; f++) {
        const FaPose *head = &clip->head[f];
        double moved[3];
        fai_v3_add(head->p, at, moved);
        for (int k = 0; k < 3; k++) {
            p[3 * f + k] = (float)fai_v3_dot(file + 3 * k, moved);
            q[4 * f + k] = (float)(sign * fai_v3_dot(file + 3 * k, head->q) / size);
        }
        q[4 * f + 3] = (float)head->q[3];
    }
    if (rc >= 0) {
        add_channel(out, anim, input, fai_out_floats(out, p, clip->nframe, 3, false), node, "translation");
        add_channel(out, anim, input, fai_out_floats(out, q, clip->nframe, 4, false), node, "rotation");
    }
    fa_free(p);
    fa_free(q);
    return rc;
}

static FaCode add_clip(FaGltfOut *out, const FaZoo *zoo, FaError *err) {
    const FaClip *clip = zoo->clip;
    float *time = FA_NEW(clip->nframe, float);
    if (!time) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < clip->nframe; f++) time[f] = (float)clip->time[f];
    int input = fai_out_floats(out, time, clip->nframe, 1, true);
    fa_free(time);
    FaJson *anim = fai_out_push(out, fai_out_array(out, out->root, "animations"));
    fai_out_str(out, anim, "name", "talk");
    for (int i = 0; i < zoo->nmesh; i++) FA_TRY(add_weights(out, anim, zoo, i, input, err));
    for (int h = 0; h < zoo->nhead; h++) FA_TRY(add_motion(out, anim, zoo, h ? 1 + zoo->nmesh : 0, h, input, err));
    return FA_OK;
}

FaCode fai_zoo_glb(FaZoo *zoo, const char *generator, const char *path, FaError *err) {
    FaGltf *doc = NULL;
    FaGltfOut out;
    FA_TRY(write_meshes(zoo, generator, path, err));
    FA_TRY(fai_gltf_load(path, &doc, err));
    FaCode rc = fai_gltf_out_open(&out, doc, path, err);
    if (rc >= 0) {
        int next = add_heads(&out, zoo);
        add_correction(&out, zoo);
        if (zoo->skinned) rc = add_skin(&out, zoo, next, err);
        if (rc >= 0) rc = add_clip(&out, zoo, err);
        if (rc >= 0) rc = fai_gltf_out_write(&out, err);
        fai_gltf_out_close(&out);
    }
    fai_gltf_free(doc);
    return fai_fail_in(err, rc, path);
}

FaCode fai_zoo_obj(FaZoo *zoo, const char *dir, FaError *err) {
    FaRig *rig;
    FA_TRY(mesh_rig(zoo, &zoo->mesh[0], &rig, err));
    FaCode rc = fai_obj_save_rig(rig, dir, err);
    fa_rig_free(rig);
    char *clip = fai_arena_printf(zoo->arena, "%s.json", dir);
    if (!clip) return FA_FAIL_MEMORY(err);
    return rc < 0 ? rc : fa_clip_save(zoo->clip, clip, err);
}
