// The head's pose and the shapes' weights found together, from the markers of one frame.
//
// A face that moves everywhere leaves no marker quite still, and shapes follow much of a wrong pose. So both are
// unknown: with B the shapes that are on, J the six motions of a rigid head, r what the markers are off the control's
// answer (its own conditions met), a Newton step of the pose with the weights eliminated is
//
//     (J'J - (1 - t) J'B (B'B)^-1 B'J) step = J'r        rows weighted by belief in the marker
//
// t: 0 where the shapes meet the markers. Where they do not, for noise or because they are wrong, all of the step would
// follow that; 1 lays the markers over the answer without regard to what the weights would do, and a few such steps go
// part of the way.
#ifndef FAI_HEAD_REFINE_H
#define FAI_HEAD_REFINE_H

#include "blendforces/control.h"

enum { FA_HEAD_TURNS = 6, FA_HEAD_TURNS_LIVE = 3 }; // steps of a frame: of a take, and where there is no time for more

typedef struct FaHeadRefine FaHeadRefine;

// rig, face (nullable) and map are needed while it is there. trust: as in FaDriveOptions.
FaCode fai_head_refine_new(const FaRig *rig, const FaFace *face, const FaMarkerMap *map, const float *trust,
                           FaHeadRefine **refine, FaError *err);
void fai_head_refine_free(FaHeadRefine *refine); // NULL is fine
// `turns` steps. x: the map's markers in the head's frame as `head` has it (count x 3, m), ok where seen; both are
// moved to where the pose is better. Nothing happens with too few markers to tell expression from motion. A frame is on
// its own: nothing is kept for the next. No allocation.
FaCode fai_head_refine(FaHeadRefine *refine, int turns, float *x, const unsigned char *ok, FaPose *head, FaError *err);

#endif
