// What the flesh of a rig may do in a pose: the stretches and volumes that each tet has in the lifts of the shapes that
// are on, as far as they are on. What a shape sculpts is wanted; what sums of shapes do beyond the strongest of them is
// not, and is taken back to it.
#ifndef FAI_RANGE_H
#define FAI_RANGE_H

#include "rig/jaw.h"
#include "volumetric/lift.h"

typedef struct FaRange {
    int ntet, stride;   // stride: ntet rounded up to 8
    int nshape;         // shapes that move the skin, those of one group side by side
    int *shape, *group; // of the rig; left and right of one shape are one group               (nshape)
    float *least;       // smallest singular value less 1 of each shape's lift, at most 0      (nshape x stride)
    float *most;        // largest, less 1, at least 0                                         (nshape x stride)
    float *swell;       // determinant less 1                                                  (nshape x stride)
    float *low, *high;  // of singular values, in the pose at hand                              (ntet)
    float *less, *more; // of determinants                                                     (ntet)
    unsigned char *on;  // 0: left as it is, since it is in a thin column or crushed by a shape (ntet)
    double margin;
    int unsolved; // lifts that ended before their goal
    double seconds;
    FaArena *arena;
} FaRange;

// Of all shapes of the rig that move the skin, each lifted at weight 1; margin: relative, 0.01.
FaCode fai_range_new(const FaRig *rig, const FaLayered *layered, FaLift *lift, double margin, FaRange **range,
                     FaError *err);
void fai_range_free(FaRange *range); // NULL is fine

// low, high, less and more for these weights of the rig. No allocation.
void fai_range_pose(FaRange *range, const float *weights);
// Deformation gradients (9 rows of stride, SoA) taken into the ranges, in place; others keep their bits. How many were
// outside. work: 21 rows of stride, aligned to 32 bytes; count: one per 1024 tets.
int fai_range_clamp(const FaRange *range, float *f, float *work, int *count);

#endif
