// What the flesh of a rig does: the stretches and volumes that each tet has in the lifts of the single shapes. What
// shapes sculpt is wanted; what their sums do beyond it is not, and is taken back to the nearest that some shape shows.
#ifndef FAI_RANGE_H
#define FAI_RANGE_H

#include "rig/jaw.h"
#include "volumetric/lift.h"

typedef struct FaRange {
    int ntet, stride;   // stride: ntet rounded up to 8
    float *low, *high;  // of singular values                                               (ntet)
    float *less, *more; // of determinants                                                 (ntet)
    unsigned char *on;  // 0: left as it is, since it is in a thin column or crushed by a shape    (ntet)
    int nshape;         // lifts that it was made of
    int unsolved;       // of them, ended before their goal
    double seconds;
    FaArena *arena;
} FaRange;

// Of all shapes of the rig that move the skin, each at weight 1, and of rest; margin: relative, 0.05.
FaCode fai_range_new(const FaRig *rig, const FaLayered *layered, FaLift *lift, double margin, FaRange **range,
                     FaError *err);
void fai_range_free(FaRange *range); // NULL is fine

// Deformation gradients (9 rows of stride, SoA) taken into the ranges, in place; others keep their bits. How many were
// outside. work: 21 rows of stride, aligned to 32 bytes; count: one per 1024 tets.
int fai_range_clamp(const FaRange *range, float *f, float *work, int *count);

#endif
