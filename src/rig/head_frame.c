#include "rig/head_frame.h"

#include "math/mat3.h"

FaPose fai_head_axes(const FaRig *rig) {
    FaPose axes = fai_pose_identity();
    bool same = true, none = true;
    for (int i = 0; rig && i < 9; i++) same &= rig->axes[i] == (i % 4 == 0), none &= rig->axes[i] == 0;
    if (rig && !same && !none) fai_q_from_m3(rig->axes, axes.q);
    return axes;
}

static void rows_of(const FaPose *pose, double m[12]) {
    double r[9];
    fai_q_to_m3(pose->q, r);
    for (int i = 0; i < 3; i++) {
        memcpy(m + 4 * i, r + 3 * i, 3 * sizeof *m);
        m[4 * i + 3] = pose->p[i];
    }
}

// At rest, where the joint is.
FaPose fai_body_pose(const FaRig *rig, const FaPose *pose) {
    if (!rig || !rig->body) return *pose;
    double at[3], turned[3];
    FaPose body = rig->rest;
    fai_pose_apply(pose, rig->pivot, at);
    fai_q_rotate(body.q, rig->pivot, turned);
    fai_v3_sub(at, turned, body.p);
    return body;
}

FaCarry fai_carry(const FaRig *rig, const FaPose *pose) {
    FaCarry carry;
    FaPose body = fai_body_pose(rig, pose);
    rows_of(pose, carry.head);
    rows_of(&body, carry.body);
    return carry;
}

void fai_carry_points(const FaCarry *carry, const float *share, int begin, int end, float *x) {
    for (int v = begin; v < end; v++) {
        double in[3] = {x[3 * v], x[3 * v + 1], x[3 * v + 2]}, out[2][3];
        for (int w = 0; w < (share ? 2 : 1); w++) {
            const double *m = w ? carry->body : carry->head;
            for (int k = 0; k < 3; k++)
                out[w][k] = m[4 * k] * in[0] + m[4 * k + 1] * in[1] + m[4 * k + 2] * in[2] + m[4 * k + 3];
        }
        double s = share ? (double)share[v] : 1;
        for (int k = 0; k < 3; k++) x[3 * v + k] = (float)(share ? s * out[0][k] + (1 - s) * out[1][k] : out[0][k]);
    }
}

// Identity is left out, not multiplied by: a product may turn -0 to 0.
static FaPose turned(const FaPose *pose, const FaPose *first) {
    return first->q[3] == 1 ? *pose : fai_pose_mul(pose, first);
}

void fa_rig_from_file(const FaRig *rig, double m[9]) {
    for (int i = 0; i < 9; i++) m[i] = rig->local[i] * (rig->file_unit / rig->unit);
}

void fa_rig_to_file(const FaRig *rig, double m[9]) {
    double from[9];
    fa_rig_from_file(rig, from);
    if (fai_m3_inverse(from, m)) return;
    for (int i = 0; i < 9; i++) m[i] = i % 4 == 0; // a node that flattens is not let through by the readers
}

FaPose fa_rig_pose(const FaRig *rig, const FaPose *head) {
    FaPose axes = fai_head_axes(rig);
    return turned(head, &axes);
}

FaPose fa_rig_head(const FaRig *rig, const FaPose *pose) {
    FaPose axes = fai_head_axes(rig), back = fai_pose_inverse(&axes);
    return turned(pose, &back);
}
