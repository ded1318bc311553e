// A directed pose on another head (paper 002, section 8): activations by the names of muscles, the jaw by the two rigs'
// own jaws, tracks by deformation transfer of the muscles' surfaces, and, if asked for, the snap by that of the skin.
//
// Muscles of both heads come from one template, so a place (u, v, w) of one solid is the same place of the other. From
// the neutral with the jaw where the pose has it, not from the raw pose, whose crushed muscles have no surface to speak
// of; what is near the jaw goes along with it on both heads before anything is compared. Muscles that lie partly
// outside of the flesh would be dragged by what nothing tells of: they follow their activation alone.
#ifndef FAI_MUSCLE_RETARGET_H
#define FAI_MUSCLE_RETARGET_H

#include "muscle/directed.h"
#include "muscle/muscle_shape.h"

// One head: its muscles' surfaces, and how much of every control point goes with the jaw.
typedef struct FaRetargetSide {
    FaMuscleDirector *d;
    FaMuscleModel *m;
    double *share; // 0 with the skull .. 1 with the jaw                                        (npoint)
} FaRetargetSide;
FaCode fai_retarget_side(FaMuscleModel *model, FaArena *arena, FaRetargetSide *side, FaError *err);

// Displacements of B's control points of one muscle (points x 3, m) from those of A's, with the jaws there. FA_E_ARG:
// the two are not alike (a ring and a strap).
FaCode fai_retarget_muscle(const FaRetargetSide *a, const FaRetargetSide *b, int from, int to, const FaPose *jaw_a,
                           const FaPose *jaw_b, const double *track, double *out, FaError *err);

// Displacements of the skin of A (nvert x 3, m; what is not skin is left out) on the skin of B, by the neutrals: the
// same topology, or one laid over the other from landmarks. fit: rms distance between them, m; 0: the same topology.
// FA_E_MESH: they cannot be laid over each other.
FaCode fai_retarget_skin(const FaMuscleModel *a, const float *delta, const FaMuscleModel *b, bool closest, float *out,
                         double *fit, FaError *err);

#endif
