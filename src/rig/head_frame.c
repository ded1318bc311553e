#include "rig/head_frame.h"

#include "math/mat3.h"

FaPose fai_head_axes(const FaRig *rig) {
    FaPose axes = fai_pose_identity();
    bool same = true, none = true;
    for (int i = 0; rig && i < 9; i++) same &= rig->axes[i] == (i % 4 == 0), none &= rig->axes[i] == 0;
    if (rig && !same && !none) fai_q_from_m3(rig->axes, axes.q);
    return axes;
}

// Identity is left out, not multiplied by: a product may turn -0 to 0.
static FaPose turned(const FaPose *pose, const FaPose *first) {
    return first->q[3] == 1 ? *pose : fai_pose_mul(pose, first);
}

FaPose fa_rig_pose(const FaRig *rig, const FaPose *head) {
    FaPose axes = fai_head_axes(rig);
    return turned(head, &axes);
}

FaPose fa_rig_head(const FaRig *rig, const FaPose *pose) {
    FaPose axes = fai_head_axes(rig), back = fai_pose_inverse(&axes);
    return turned(pose, &back);
}
