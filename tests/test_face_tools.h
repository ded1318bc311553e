// What the tests of jaws and regions share: rigs of the shipped head, changed in known ways, and their skin.
#ifndef TEST_FACE_TOOLS_H
#define TEST_FACE_TOOLS_H

#include "test_head_tools.h"

#include "face/face.h"
#include "math/mat3.h"

static inline FaRig *skin_rig(const FaHead *head) {
    FaError err = {0};
    FaRig *rig = NULL;
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    return rig;
}

static inline int shape_of(const FaRig *rig, const char *name) {
    for (int s = 0; s < rig->nshape; s++)
        if (rig->shape[s].arkit >= 0 && !strcmp(fa_arkit_name(rig->shape[s].arkit), name)) return s;
    return -1;
}

// Forget all shapes but the named ones (NULL-terminated): they keep their deltas and lose their names.
static inline void keep_shapes(FaRig *rig, const char *const *names) {
    for (int s = 0; s < rig->nshape; s++) {
        bool keep = false;
        for (const char *const *n = names; *n; n++)
            keep |= rig->shape[s].arkit >= 0 && !strcmp(fa_arkit_name(rig->shape[s].arkit), *n);
        if (keep) continue;
        rig->shape[s].arkit = -1;
        rig->shape[s].name = "other";
    }
}

static inline void turn_vector(const double r[9], double scale, float *x) {
    double p[3] = {(double)x[0], (double)x[1], (double)x[2]}, q[3];
    fai_m3_mulv(r, p, q);
    for (int k = 0; k < 3; k++) x[k] = (float)(scale * q[k]);
}

// rig' = scale r rig: positions, deltas, axes.
static inline void turn_rig(FaRig *rig, const double r[9], double scale) {
    double back[9];
    for (int v = 0; v < rig->mesh.nvert; v++) turn_vector(r, scale, rig->mesh.x + 3 * (size_t)v);
    for (int i = 0; i < rig->nentry; i++) turn_vector(r, scale, rig->delta + 3 * (size_t)i);
    fai_m3_transpose(r, back);
    fai_m3_mul(rig->axes, back, rig->axes);
}

static inline void some_turn(double r[9]) {
    double q[4];
    fai_q_exp((double[]){-1.2, 0.7, 2.1}, q);
    fai_q_to_m3(q, r);
}

// Crossings within what may touch: both end corners of a pair in the mouth's region; others are the rig's own business.
static inline int lip_crossings(const FaFace *face, const FaMesh *mesh, const float *x) {
    enum { MOST = 4096 };
    static int pair[MOST][2];
    FaError err = {0};
    int count = 0, lips = 0;
    CHECK_OK(fai_self_intersections(mesh, x, NULL, pair, MOST, &count, &err), &err);
    for (int i = 0; i < FA_MIN(count, MOST); i++) {
        bool in = true;
        for (int t = 0; t < 2; t++)
            for (int c = 0; c < 3; c++) {
                int node = face->node_of_vertex[mesh->tri[3 * pair[i][t] + c]];
                in &= node >= 0 && face->region[FA_REGION_MOUTH][node] > 0.05f;
            }
        lips += in;
    }
    return lips;
}

#endif
