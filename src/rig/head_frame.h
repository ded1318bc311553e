// The one place where a head's pose changes frames. Poses of clips and takes are canonical (FaPose in fascia/clip.h);
// fa_rig_pose and fa_rig_head (fascia/rig.h) go from them to the rig's own frame and back. A rig whose axes are
// canonical has one frame: its poses come back bit for bit.
#ifndef FAI_HEAD_FRAME_H
#define FAI_HEAD_FRAME_H

#include "base/base.h"
#include "fascia/rig.h"

// Canonical from the rig's own frame: the rig's axes as a pose. NULL, and a rig that says nothing: identity.
FaPose fai_head_axes(const FaRig *rig);

// What a pose (world from the rig's frame) does to the rig's vertices: out = share head + (1 - share) body, rows of 3x4
// matrices. On a body whatever does not go with the head stands as at rest, below it.
typedef struct FaCarry {
    double head[12], body[12];
} FaCarry;
FaCarry fai_carry(const FaRig *rig, const FaPose *pose);
FaPose fai_body_pose(const FaRig *rig, const FaPose *pose); // where the body is; the pose itself where there is none
void fai_carry_points(const FaCarry *carry, const float *share, int begin, int end, float *x); // share NULL: 1

#endif
