// What must not lag: lids, lips, and what is no flesh (eyes, teeth, tongue). There the spring of a shape is passed by,
// as far as a vertex belongs to it: surface = soft + sharp (linear - soft).
#ifndef FAI_SHARP_H
#define FAI_SHARP_H

#include "base/base.h"
#include "fascia/rig.h"

// How far each vertex keeps the clip's own timing, 0..1, smooth over the skin (nvert). Lids and lips are found from the
// shapes (face/regions.h); where they are not, a note says so. *any: some vertex does.
FaCode fai_sharp_find(const FaRig *rig, float *sharp, bool *any, FaNotes *notes, FaError *err);

// The shapes of those vertices alone, each as far as its vertex is sharp, laid out as a blender's.
typedef struct FaSharp {
    int n;
    int *vertex;        // (n)
    float *x;           // scratch: what is added to each           (n x 3)
    float *weight;      // scratch                                  (nshape)
    FaRig *rig;         // a rig of the vertices, at 0
    FaBlender *blender; // of it
    FaArena *arena;
} FaSharp;
FaCode fai_sharp_new(const FaRig *rig, const float *sharp, FaSharp **out, FaError *err);
void fai_sharp_free(FaSharp *sharp); // NULL is fine
// Add to the surface what takes its sharp vertices from the soft weights to those of the clip: sharp->weight, clip less
// soft.
void fai_sharp_add(FaSharp *sharp, float *surface);

#endif
