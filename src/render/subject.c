#include "render/subject.h"

#include "io/gltf/gltf.h"
#include "math/mat3.h"
#include "render/portrait.h"
#include "rig/bind.h"
#include "rig/head_frame.h"

#include <math.h>

enum { MAX_COMPANIONS = 64 };

// --- placing ------------------------------------------------------------------------------------------------------

static bool invert3(const double a[9], double out[9]) {
    double c0 = a[4] * a[8] - a[5] * a[7], c1 = a[5] * a[6] - a[3] * a[8], c2 = a[3] * a[7] - a[4] * a[6];
    double det = a[0] * c0 + a[1] * c1 + a[2] * c2;
    if (!(fabs(det) > 1e-30)) return false;
    double d = 1 / det;
    out[0] = c0 * d, out[1] = (a[2] * a[7] - a[1] * a[8]) * d, out[2] = (a[1] * a[5] - a[2] * a[4]) * d;
    out[3] = c1 * d, out[4] = (a[0] * a[8] - a[2] * a[6]) * d, out[5] = (a[2] * a[3] - a[0] * a[5]) * d;
    out[6] = c2 * d, out[7] = (a[1] * a[6] - a[0] * a[7]) * d, out[8] = (a[0] * a[4] - a[1] * a[3]) * d;
    return true;
}

// World (metres) from the rig's own frame, 3x4: the rig took the stretch, the node keeps rotation and place.
static bool world_of_rig(const FaRig *rig, int node, double unit, double m[12]) {
    const FaGltf *doc = fai_gltf_of_rig(rig);
    double w[16], inverse[9];
    if (node == doc->face.node)
        fai_gltf_face_world(doc, w);
    else
        fai_gltf_node_world(doc, node, w);
    if (!invert3(rig->local, inverse)) return false;
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += w[4 * k + r] * inverse[3 * k + c];
            m[4 * r + c] = unit * sum;
        }
        m[4 * r + 3] = unit * w[12 + r];
    }
    for (int i = 0; i < 12; i++)
        if (!isfinite(m[i])) return false;
    return true;
}

static void pose_matrix(const FaPose *p, double m[12]) {
    double x = p->q[0], y = p->q[1], z = p->q[2], w = p->q[3];
    const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                         2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                         2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) m[4 * i + j] = r[3 * i + j];
        m[4 * i + 3] = p->p[i];
    }
}

// out = inverse(a) * b, where the 3x3 part of a need not be a rotation.
static bool relative(const double a[12], const double b[12], double out[12]) {
    const double r[9] = {a[0], a[1], a[2], a[4], a[5], a[6], a[8], a[9], a[10]};
    double inverse[9];
    if (!invert3(r, inverse)) return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += inverse[3 * i + k] * (b[4 * k + j] - (j == 3 ? a[4 * k + 3] : 0));
            out[4 * i + j] = sum;
        }
    return true;
}

static void transform(const double m[12], const float *x, int n, float *out) {
    for (int i = 0; i < n; i++) {
        double p[3] = {x[3 * i], x[3 * i + 1], x[3 * i + 2]};
        for (int k = 0; k < 3; k++)
            out[3 * i + k] = (float)(m[4 * k] * p[0] + m[4 * k + 1] * p[1] + m[4 * k + 2] * p[2] + m[4 * k + 3]);
    }
}

// --- materials ----------------------------------------------------------------------------------------------------

// Triangles that a primitive gave to the rig; the importer adds them in the primitives' order.
static int64_t triangles_of(const FaGltf *doc, int p) {
    const FaGltfPrim *prim = &doc->mesh[doc->face.mesh].prim[p];
    if (doc->face.prim[p].first < 0) return 0;
    int n = doc->accessor[prim->indices >= 0 ? prim->indices : prim->position].count;
    return prim->mode == FA_GLTF_TRIANGLES ? n / 3 : FA_MAX(n - 2, 0);
}

// By the names of a glTF mesh: the material of each primitive, else the mesh, else the node or what it hangs on. False
// if none tells more than that there is skin.
static bool materials_by_name(const FaRig *rig, int node, unsigned char *material) {
    const FaGltf *doc = fai_gltf_of_rig(rig);
    const FaGltfMesh *mesh = &doc->mesh[doc->face.mesh];
    int whole = fai_material_of_name(mesh->name);
    for (int n = node, up = 0; whole < 0 && n >= 0 && up < 3; n = doc->node[n].parent, up++)
        whole = fai_material_of_name(doc->node[n].name);
    bool said = whole > FA_RENDER_SKIN;
    memset(material, whole >= 0 ? whole : FA_RENDER_SKIN, (size_t)rig->mesh.ntri);
    int64_t total = 0, end = 0;
    for (int p = 0; p < doc->face.nprim; p++) total += triangles_of(doc, p);
    if (total != rig->mesh.ntri) return said; // the importer dropped some: who owns which cannot be told
    const FaJson *list = fai_json_get(doc->json->root, "materials");
    for (int p = 0, t = 0; p < doc->face.nprim; p++) {
        const FaJson *index = fai_json_get(mesh->prim[p].json, "material");
        const FaJson *name = index ? fai_json_get(fai_json_at(list, (int)index->number), "name") : NULL;
        int m = fai_json_is(name, FA_JSON_STRING) ? fai_material_of_name(name->string) : -1;
        said |= m > FA_RENDER_SKIN;
        end += triangles_of(doc, p);
        for (; t < end; t++)
            if (m >= 0) material[t] = (unsigned char)m;
    }
    return said;
}

static FaCode set_materials(FaSubject *s, int i, const FaRig *rig, const FaMesh *mesh, int node, bool may_guess,
                            FaError *err) {
    unsigned char *material = FA_PUSH(s->arena, mesh->ntri, unsigned char);
    if (!material) return FA_FAIL_MEMORY(err);
    bool said = fai_gltf_of_rig(rig) && materials_by_name(rig, node, material);
    if (!said && may_guess) FA_TRY(fai_material_guess(mesh, s->rig->axes, material, err));
    s->part[i] = (FaRenderPart){.mesh = mesh, .material = FA_RENDER_SKIN, .tri_material = material};
    return FA_OK;
}

// --- companions ---------------------------------------------------------------------------------------------------

static const FaGltfPart *part_of(const FaGltf *doc, int node) {
    for (int i = 0; i < doc->parts.n; i++)
        if (doc->parts.part[i].node == node) return &doc->parts.part[i];
    return NULL;
}

// What it follows where the clip is not the file's own.
static FaCode set_part(FaSubject *s, FaCompanion *c, const FaGltfPart *part, FaError *err) {
    c->follows = part != NULL;
    c->jaw = part && part->jaw;
    if (!part || !part->shapes || part->shapes->nshape != c->rig->nshape) return FA_OK;
    return fai_gltf_part_binding(s->rig, s->rig->nshape, part, &c->shared, err);
}

// Leave one row of teeth of a mesh that has two: its polygons, their triangles and materials.
static FaCode keep_row(FaSubject *s, int i, const FaGltfPart *part, bool lower, FaError *err) {
    FaRig *rig = s->companion[i].rig;
    FaMesh *m = &s->mesh[i];
    unsigned char *of = FA_PUSH(s->arena, m->nvert, unsigned char),
                  *material = (unsigned char *)s->part[i].tri_material;
    int *face = FA_PUSH(s->arena, m->nface, int), nface = 0, ntri = 0, at = 0;
    if (!of || !face) return FA_FAIL_MEMORY(err);
    fai_gltf_lower_of_rig(fai_gltf_of_rig(rig), part, of);
    for (int f = 0; f < m->nface; f++) {
        int first = m->face_start[f], end = m->face_start[f + 1];
        face[f] = -1;
        if (first == end || of[m->face_vert[first]] != lower) continue;
        face[f] = nface;
        m->face_start[nface++] = at;
        for (int c = first; c < end; c++, at++) {
            m->face_vert[at] = m->face_vert[c];
            if (m->face_uv) m->face_uv[at] = m->face_uv[c];
        }
    }
    for (int t = 0; t < m->ntri; t++) {
        if (face[m->tri_face[t]] < 0) continue;
        memmove(m->tri + 3 * (size_t)ntri, m->tri + 3 * (size_t)t, 3 * sizeof *m->tri);
        m->tri_face[ntri] = face[m->tri_face[t]];
        material[ntri++] = material[t];
    }
    m->face_start[nface] = at;
    m->nface = nface, m->ntri = ntri;
    rig->mesh.nface = nface, rig->mesh.ntri = ntri;
    if (lower) rig->name = part->lower_name;
    s->companion[i].jaw = lower;
    return FA_OK;
}

// The mesh of one node beside the face. A mesh that cannot be read is left out with a word in the log: the face itself
// can still be seen.
static FaCode add_companion(FaSubject *s, const FaGltf *doc, int node, bool lower, FaError *err) {
    char number[16];
    snprintf(number, sizeof number, "%d", doc->node[node].mesh);
    FaRigOptions options = {.unit = s->rig->unit, .up = FA_UP_Y, .mesh = number, .one_mesh = true, .any_size = true};
    FaRig *rig = NULL;
    FaError why = {0};
    FaCode rc = fai_gltf_another_rig(doc, &options, &rig, &why);
    if (rc == FA_E_MEMORY) return FA_FAIL_MEMORY(err);
    if (rc < 0) {
        fai_log(FA_LOG_WARN, "render", -1, "mesh %s of %s is not drawn: %s", number, doc->path, why.what);
        return FA_OK;
    }
    const FaGltf *own = fai_gltf_of_rig(rig);
    double here[12], rest[12];
    bool placed =
        rig->mesh.ntri > 0 && own && world_of_rig(rig, node, s->rig->unit, here) && relative(s->at_rest, here, rest);
    if (!placed) {
        fa_rig_free(rig);
        return FA_OK;
    }
    int i = s->nparts++;
    FaCompanion *c = &s->companion[i];
    c->rig = rig;
    memcpy(c->rest, rest, sizeof rest);
    memcpy(c->at_rest, here, sizeof here);
    if (own->face.node != node) { // the clip is of another node that shows the same mesh
        fa_clip_free(rig->clip);
        rig->clip = NULL;
    }
    c->weights = FA_PUSH(s->arena, rig->nshape, float);
    s->x[i] = FA_PUSH(s->arena, 3 * (size_t)rig->mesh.nvert, float);
    float *at_rest = FA_PUSH(s->arena, 3 * (size_t)rig->mesh.nvert, float);
    if (!c->weights || !s->x[i] || !at_rest) return FA_FAIL_MEMORY(err);
    const FaGltfPart *part = part_of(doc, node);
    FA_TRY(set_part(s, c, part, err));
    bool rigid = part && !part->skinned, moves = s->own && s->clip->head && rig->clip && rig->clip->head;
    if (s->rig->body && !rigid && !moves) {
        s->share[i] = FA_PUSH(s->arena, rig->mesh.nvert, float);
        if (!s->share[i]) return FA_FAIL_MEMORY(err);
        FA_TRY(fai_gltf_joint_share(own, doc->face.carrier, s->share[i], err));
    }
    s->mesh[i] = rig->mesh;
    s->mesh[i].x = at_rest;
    transform(rest, rig->mesh.x, rig->mesh.nvert, at_rest);
    FA_TRY(set_materials(s, i, rig, &s->mesh[i], node, false, err));
    return part && part->lower ? keep_row(s, i, part, lower, err) : FA_OK;
}

// One, or two where a mesh of teeth has two rows.
static FaCode add_companions(FaSubject *s, const FaGltf *doc, int node, FaError *err) {
    const FaGltfPart *part = part_of(doc, node);
    FA_TRY(add_companion(s, doc, node, false, err));
    return part && part->lower ? add_companion(s, doc, node, true, err) : FA_OK;
}

FaCode fai_subject_new(const FaRig *rig, const FaClip *clip, bool alone, FaSubject **subject, FaError *err) {
    *subject = NULL;
    FaSubject *s = FA_NEW(1, FaSubject);
    if (!s) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    s->rig = rig;
    s->clip = clip;
    fai_portrait_turn(clip, s->turn);
    s->own = fai_clip_is_own(rig, clip);
    s->arena = fai_arena_new(0);
    if (!s->arena) FA_TRY_GOTO(fail, rc, FA_FAIL_MEMORY(err));
    if (clip && !s->own) FA_TRY_GOTO(fail, rc, fa_clip_bind(clip, rig, &s->binding, err));
    const int room = 2 + MAX_COMPANIONS; // the last may be two
    s->part = FA_PUSH(s->arena, room, FaRenderPart);
    s->companion = FA_PUSH(s->arena, room, FaCompanion);
    s->mesh = FA_PUSH(s->arena, room, FaMesh);
    s->x = FA_PUSH(s->arena, room, float *);
    s->share = FA_PUSH(s->arena, room, float *);
    s->channels = FA_PUSH(s->arena, clip ? clip->nchan : 0, float);
    s->weights = FA_PUSH(s->arena, rig->nshape, float);
    if (!s->part || !s->companion || !s->mesh || !s->x || !s->share || !s->channels || !s->weights)
        FA_TRY_GOTO(fail, rc, FA_FAIL_MEMORY(err));
    s->nparts = 1;
    s->share[0] = rig->head_share;
    const FaGltf *doc = fai_gltf_of_rig(rig);
    FA_TRY_GOTO(fail, rc, set_materials(s, 0, rig, &rig->mesh, doc ? doc->face.node : -1, true, err));
    bool others =
        !alone && doc && doc->path && doc->face.node >= 0 && world_of_rig(rig, doc->face.node, rig->unit, s->at_rest);
    for (int n = 0; others && n < doc->nnode && s->nparts + 1 < room; n++)
        if (doc->node[n].mesh >= 0 && n != doc->face.node) FA_TRY_GOTO(fail, rc, add_companions(s, doc, n, err));
    *subject = s;
    return FA_OK;
fail:
    fai_subject_free(s);
    return rc;
}

// The file's own motion of it, against that of the face.
static void play_own(const FaSubject *s, FaCompanion *c, double time, const FaPose *head) {
    const FaClip *clip = c->rig->clip;
    double face[12], here[12];
    FaPose own;
    memcpy(face, s->at_rest, sizeof face);
    memcpy(here, c->at_rest, sizeof here);
    if (clip) fa_clip_sample(clip, s->clip->start + time - clip->start, c->weights, &own);
    if (s->clip->head) pose_matrix(head, face);
    if (clip && clip->head) {
        own = fa_rig_pose(c->rig, &own);
        pose_matrix(&own, here);
        // it counts in its own metres where the units differ
        for (int k = 0; k < 12; k++) here[k] *= s->rig->unit / c->rig->unit;
    }
    if (s->clip->head || (clip && clip->head)) relative(face, here, c->place);
}

// Weights of the face's shapes on it.
static void follow_face(const FaSubject *s, FaCompanion *c, const FaPose *jaw) {
    if (c->shared.nshape) {
        fa_binding_weights(&c->shared, s->weights, c->weights);
        for (int i = 0; i < c->rig->nshape; i++)
            if (c->shared.chan[i] < 0) c->weights[i] = c->rig->weight[i];
    }
    if (!c->jaw) return;
    double m[12];
    pose_matrix(jaw, m);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            double sum = j == 3 ? m[4 * i + 3] : 0;
            for (int k = 0; k < 3; k++) sum += m[4 * i + k] * c->rest[4 * k + j];
            c->place[4 * i + j] = sum;
        }
}

void fai_subject_follow(FaSubject *s, double time, const float *weights) {
    bool moving = s->clip && isfinite(time);
    FaPose head = {{0, 0, 0, 1}, {0, 0, 0}}, jaw = head;
    if (moving) fa_clip_sample(s->clip, time, s->channels, &head);
    head = fa_rig_pose(s->rig, &head);
    bool bound = moving && !s->own, driven = bound || (weights && !moving);
    if (bound) fa_binding_weights(&s->binding, s->channels, s->weights);
    if (weights && !bound && s->rig->nshape) memcpy(s->weights, weights, (size_t)s->rig->nshape * sizeof *weights);
    if (driven && s->nparts > 1) jaw = fai_jaw_pose(&fai_gltf_of_rig(s->rig)->parts.jaw, s->weights);
    for (int i = 1; i < s->nparts; i++) {
        FaCompanion *c = &s->companion[i];
        memcpy(c->place, c->rest, sizeof c->place);
        if (c->rig->nshape) memcpy(c->weights, c->rig->weight, (size_t)c->rig->nshape * sizeof(float));
        if (moving && s->own)
            play_own(s, c, time, &head);
        else if (driven && c->follows)
            follow_face(s, c, &jaw);
    }
}

void fai_subject_pose(FaSubject *s, float *x, double time, const float *weights) {
    s->x[0] = x;
    fai_subject_follow(s, time, weights);
    for (int i = 1; i < s->nparts; i++) {
        FaCompanion *c = &s->companion[i];
        fa_rig_blend(c->rig, c->weights, s->x[i]);
        transform(c->place, s->x[i], c->rig->mesh.nvert, s->x[i]);
    }
}

// The picture's world is canonical = axes * mesh frame, as the head is: axes^-1 turn (head axes).
static void turn_world(const FaSubject *s, double m[12]) {
    for (int j = 0; j < 4; j++) {
        double column[3] = {m[j], m[4 + j], m[8 + j]}, turned[3], back[3];
        fai_m3_mulv(s->turn, column, turned);
        fai_m3_tmulv(s->rig->axes, turned, back);
        for (int k = 0; k < 3; k++) m[4 * k + j] = back[k];
    }
}

static bool carry_at(FaSubject *s, double time, FaCarry *carry) {
    if (!s->clip || !s->clip->head || !isfinite(time)) return false;
    FaPose head;
    fa_clip_sample(s->clip, time, s->channels, &head);
    head = fa_rig_pose(s->rig, &head);
    *carry = fai_carry(s->rig, &head);
    turn_world(s, carry->head);
    turn_world(s, carry->body);
    return true;
}

bool fai_subject_motion(FaSubject *s, double time, double all[12]) {
    FaCarry carry;
    if (!carry_at(s, time, &carry)) return false;
    memcpy(all, carry.head, sizeof carry.head);
    return true;
}

void fai_subject_turn(FaSubject *s, double time) {
    FaCarry carry;
    double still[12]; // where the head would be if it did not move
    if (!carry_at(s, time, &carry)) return;
    memcpy(still, s->at_rest, sizeof still);
    turn_world(s, still);
    for (int i = 0; i < s->nparts; i++) {
        bool alone = i > 0 && !s->own && !s->companion[i].follows && !s->rig->body;
        if (alone)
            transform(still, s->x[i], s->part[i].mesh->nvert, s->x[i]);
        else
            fai_carry_points(&carry, s->share[i], 0, s->part[i].mesh->nvert, s->x[i]);
    }
}

void fai_subject_free(FaSubject *s) {
    if (!s) return;
    for (int i = 1; i < s->nparts; i++) {
        fa_binding_free(&s->companion[i].shared);
        fa_rig_free(s->companion[i].rig);
    }
    fa_binding_free(&s->binding);
    fai_arena_free(s->arena);
    fa_free(s);
}
