// phi of paper 004 (eq. 22, 23): where flesh is that has given deformation gradients, its skull layer drawn to where
// the bones are. The skin follows; nothing draws it.
#ifndef FAI_FORWARD_H
#define FAI_FORWARD_H

#include "solve/projective.h"
#include "volumetric/layered.h"

typedef struct FaForwardOptions {
    bool passive;  // soft tissue is not told: it keeps its own shape and volume (section 4.2)
    double volume; // of passive soft tissue, as FaLayeredBody has it
} FaForwardOptions;

typedef struct FaForward FaForward;

FaCode fai_forward_new(const FaLayered *layered, const FaForwardOptions *options, FaForward **forward, FaError *err);
void fai_forward_free(FaForward *forward); // NULL is fine
// gradient: 9 rows of tets rounded up to 8, SoA, aligned to 32 bytes; skull: displacements wanted of the skull layer
// (nskin x 4); u: where it begins, and the result (nnode x 4). No allocation.
FaCode fai_forward(FaForward *forward, const float *gradient, const float *skull, int iterations, float *u,
                   FaProjectiveReport *report, FaError *err);

#endif
