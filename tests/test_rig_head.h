// A small head for tests: an ellipsoid with a few ARKit shapes, in any unit and any axes, through the rig's own
// builder.
#ifndef TEST_RIG_HEAD_H
#define TEST_RIG_HEAD_H

#include "test.h"

#include "base/base.h"
#include "rig/rig_build.h"

enum { HEAD_RINGS = 24, HEAD_COLS = 32, HEAD_VERTS = HEAD_RINGS * HEAD_COLS + 2 };

typedef struct HeadOptions {
    double scale;   // file units per metre; 0: 1
    double turn[9]; // file = turn * canonical; all 0: identity
    bool mirror;    // left and right of the positions swapped, names kept
    bool nameless;  // shapes called s0, s1, ...
    bool no_shapes;
    double stretch;            // height factor; 0: 1
    double body;               // height of a body below, m; 0: none
    bool stray;                // one vertex far away, in a face
    int nan_vertex, nan_shape; // 1-based: spoil this vertex (of this shape, 0: of the neutral); 0: nothing
} HeadOptions;

typedef struct HeadShape {
    const char *name;
    double at[3], move[3], reach; // m, canonical
} HeadShape;

static const HeadShape head_shapes[] = {
    {"eyeBlinkLeft", {0.032, 0.035, 0.09}, {0, -0.009, 0.001}, 0.02},
    {"eyeBlinkRight", {-0.032, 0.035, 0.09}, {0, -0.009, 0.001}, 0.02},
    {"browInnerUp", {0, 0.06, 0.09}, {0, 0.006, 0}, 0.04},
    {"mouthSmileLeft", {0.03, -0.045, 0.09}, {0.007, 0.008, -0.006}, 0.035},
    {"mouthSmileRight", {-0.03, -0.045, 0.09}, {-0.007, 0.008, -0.006}, 0.035},
    {"mouthPucker", {0, -0.045, 0.095}, {0, 0, 0.011}, 0.03},
    {"jawOpen", {0, -0.085, 0.06}, {0, -0.03, -0.028}, 0.05},
};
enum { HEAD_SHAPES = sizeof head_shapes / sizeof *head_shapes };

static inline void head_place(const HeadOptions *o, const double p[3], float *out) {
    double scale = o->scale > 0 ? o->scale : 1, q[3] = {o->mirror ? -p[0] : p[0], p[1], p[2]};
    bool turned = false;
    for (int i = 0; i < 9; i++) turned |= o->turn[i] != 0;
    for (int k = 0; k < 3; k++)
        out[k] = (float)(scale * (turned ? o->turn[3 * k] * q[0] + o->turn[3 * k + 1] * q[1] + o->turn[3 * k + 2] * q[2]
                                         : q[k]));
}

static inline void head_point(const HeadOptions *o, int v, double p[3]) {
    double stretch = o->stretch > 0 ? o->stretch : 1;
    double a = v < HEAD_VERTS - 2 ? M_PI * (v / HEAD_COLS + 0.5) / HEAD_RINGS : v == HEAD_VERTS - 2 ? 0 : M_PI;
    double b = 2 * M_PI * (v % HEAD_COLS) / HEAD_COLS;
    p[0] = 0.08 * sin(a) * sin(b);
    p[1] = 0.12 * stretch * cos(a);
    p[2] = 0.10 * sin(a) * cos(b);
}

// Quads and two fans of triangles, all facing outwards (or inwards, if mirrored).
static inline int head_faces(int *start, int *corner) {
    int f = 0, c = 0;
    start[0] = 0;
    for (int r = 0; r + 1 < HEAD_RINGS; r++)
        for (int k = 0; k < HEAD_COLS; k++) {
            int n = (k + 1) % HEAD_COLS;
            int q[4] = {r * HEAD_COLS + k, (r + 1) * HEAD_COLS + k, (r + 1) * HEAD_COLS + n, r * HEAD_COLS + n};
            for (int i = 0; i < 4; i++) corner[c++] = q[i];
            start[++f] = c;
        }
    for (int k = 0; k < HEAD_COLS; k++) {
        int n = (k + 1) % HEAD_COLS, last = (HEAD_RINGS - 1) * HEAD_COLS;
        corner[c++] = HEAD_VERTS - 2, corner[c++] = k, corner[c++] = n, start[++f] = c;
        corner[c++] = HEAD_VERTS - 1, corner[c++] = last + n, corner[c++] = last + k, start[++f] = c;
    }
    return f;
}

// A thin box below the head, and a stray triangle.
static inline void head_extras(const HeadOptions *o, FaMesh *mesh) {
    int c = mesh->face_start[mesh->nface];
    if (o->body > 0)
        for (int i = 0; i < 8; i++) {
            double p[3] = {i & 1 ? 0.2 : -0.2, i & 2 ? -0.13 : 0.12 - o->body, i & 4 ? 0.1 : -0.12};
            head_place(o, p, mesh->x + 3 * (size_t)(mesh->nvert + i));
        }
    if (o->body > 0) {
        static const int box[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                      {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
        for (int f = 0; f < 6; f++) {
            for (int i = 0; i < 4; i++) mesh->face_vert[c++] = mesh->nvert + box[f][i];
            mesh->face_start[++mesh->nface] = c;
        }
        mesh->nvert += 8;
    }
    if (o->stray) {
        double p[3] = {50, 70, -90};
        head_place(o, p, mesh->x + 3 * (size_t)mesh->nvert);
        mesh->face_vert[c++] = 0, mesh->face_vert[c++] = 1, mesh->face_vert[c++] = mesh->nvert++;
        mesh->face_start[++mesh->nface] = c;
    }
}

static inline FaCode head_fill(FaRigDraft *draft, const HeadOptions *o, FaError *err) {
    FaArena *a = fai_draft_arena(draft);
    FaMesh mesh = {.nvert = HEAD_VERTS,
                   .x = FA_PUSH(a, 3 * (HEAD_VERTS + 16), float),
                   .face_start = FA_PUSH(a, 4 * HEAD_VERTS, int),
                   .face_vert = FA_PUSH(a, 16 * HEAD_VERTS, int)};
    if (!mesh.x || !mesh.face_start || !mesh.face_vert) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < HEAD_VERTS; v++) {
        double p[3];
        head_point(o, v, p);
        head_place(o, p, mesh.x + 3 * (size_t)v);
    }
    mesh.nface = head_faces(mesh.face_start, mesh.face_vert);
    head_extras(o, &mesh);
    if (o->nan_vertex && !o->nan_shape) mesh.x[3 * (o->nan_vertex - 1) + 1] = NAN;
    fai_draft_mesh(draft, &mesh);
    float *delta = FA_NEW(3 * (size_t)mesh.nvert, float);
    FaCode rc = delta ? FA_OK : FA_FAIL_MEMORY(err);
    for (int s = 0; rc >= 0 && !o->no_shapes && s < HEAD_SHAPES; s++) {
        const HeadShape *h = &head_shapes[s];
        memset(delta, 0, 3 * (size_t)mesh.nvert * sizeof *delta);
        for (int v = 0; v < HEAD_VERTS; v++) {
            double p[3], d2 = 0, move[3];
            head_point(o, v, p);
            for (int k = 0; k < 3; k++) d2 += (p[k] - h->at[k]) * (p[k] - h->at[k]);
            double u = 1 - d2 / (h->reach * h->reach);
            if (u <= 0) continue;
            for (int k = 0; k < 3; k++) move[k] = u * h->move[k];
            head_place(o, move, delta + 3 * (size_t)v);
        }
        if (o->nan_vertex && o->nan_shape == s + 1) delta[3 * (o->nan_vertex - 1)] = INFINITY;
        char name[16];
        snprintf(name, sizeof name, "s%d", s);
        rc = fai_draft_shape_dense(draft, o->nameless ? name : h->name, delta, 0, err);
    }
    fa_free(delta);
    return rc;
}

static inline FaCode head_build(const HeadOptions *o, const FaRigHints *hints, const FaRigOptions *options, FaRig **rig,
                                FaError *err) {
    *rig = NULL;
    FaRigDraft *draft;
    FA_TRY(fai_draft_new(&draft, err));
    FaCode rc = head_fill(draft, o, err);
    if (rc >= 0) return fai_draft_finish(draft, hints, options, rig, err);
    fai_draft_free(draft);
    return rc;
}

static inline FaRig *head_rig(const HeadOptions *o) {
    FaError err = {0};
    FaRig *rig;
    static const HeadOptions plain = {0};
    CHECK_OK(head_build(o ? o : &plain, NULL, NULL, &rig, &err), &err);
    return rig;
}

#endif
