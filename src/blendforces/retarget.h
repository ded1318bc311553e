// Inside of retargeting (fascia/retarget.h): the warp between two sets of neutral points, for those that test it.
#ifndef FAI_RETARGET_H
#define FAI_RETARGET_H

#include "base/base.h"
#include "fascia/retarget.h"
#include "math/rbf.h"

// Kernel of the warp: the thesis's. Exact, it is not smooth at the points: a marker that leaves its neutral place goes
// astray in one direction whichever way it goes; smoothing takes that away, and then r does as well as r^3 or better
// (docs/figures/blendforces.md).
static const FaRbfKernel FAI_RETARGET_KERNEL = FA_RBF_LINEAR;

// The same with a kernel of choice.
FaCode fai_retarget(const FaMarkerTake *take, const FaRig *target, const FaRetargetOptions *options, FaRbfKernel kernel,
                    FaMarkerTake **out, FaMarkerMap **map, FaRetargetReport *report, FaError *err);

// The nearest points of the outside of a face for points in its frame (n x 3, m), or aligned to it first; has: 0 where
// there is none. Names are p0, p1, ...
FaCode fai_marker_nearest(const FaRig *rig, int n, const double *x, const unsigned char *has, bool aligned,
                          double reach, FaMarkerMap **map, FaError *err);

#endif
