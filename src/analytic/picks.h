// A rig with further shapes that are mixtures of its own.
#ifndef FAI_PICKS_H
#define FAI_PICKS_H

#include "base/base.h"
#include "fascia/sequence.h"

// New shapes as sparse rows: entries [first[i], first[i + 1]).
typedef struct FaMoreShapes {
    int n;
    int *first;   // (n + 1)
    int *row;     // (first[n])
    float *delta; // m, rig coordinates; saving changes them      (first[n] x 3)
} FaMoreShapes;
FaCode fai_save_more_shapes(const FaRig *rig, const FaMoreShapes *more, const char (*name)[32], const char *path,
                            FaError *err);

// Write the rig and n new shapes: name[i] = sum of weights[i][s] * shape s. weights: n x nshape. A rig that came from
// glTF keeps everything that its file holds. Atomic.
FaCode fai_save_with_shapes(const FaRig *rig, int n, const char (*name)[32], const float *weights, const char *path,
                            FaError *err);

#endif
