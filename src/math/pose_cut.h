// Cuts in a head's motion: places where it jumps as no neck does (a teleport, another camera, a loop's seam).
//
// Between two poses a head goes about as far as in the interval before or in the one after. What is beyond both was put
// there by an acceleration; a cut is where that would be more than 10 g, or 600 rad/s2 of turning (a runner's head
// feels 3 g, a shaken one 400 rad/s2), and more than noise.
#ifndef FAI_POSE_CUT_H
#define FAI_POSE_CUT_H

#include "base/base.h"
#include "fascia/clip.h"

// cut[i]: between pose i and i + 1 (n; the last is false). Returns how many.
int fai_pose_cuts(int n, const double *time, const FaPose *pose, bool *cut);
// The same of a tracker's two last poses, `span` seconds apart: what came before and comes after is not known.
bool fai_pose_jumps(const FaPose *from, const FaPose *to, double span);

#endif
