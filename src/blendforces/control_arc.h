// Shapes that turn skin, on arcs: lips that roll, lids that slide on the eye. A linear shape cuts the corner on its
// way.
//
// Between rest and the sculpted shape each triangle turns by part of its rotation and stretches by part of its stretch,
// and the surface that fits those triangles best is found by a Poisson solve (once per shape, half way). What that adds
// to the linear way, times 4 w (1 - w), is the arc: a second column per shape,
//     d(w) = w b + w (1 - w) c,        c = 4 (half way - b / 2),
// exact at 0 and 1, and a tenth of the linear way's error on a turn of 50 degrees.
#ifndef FAI_CONTROL_ARC_H
#define FAI_CONTROL_ARC_H

#include "face/face.h"

typedef struct FaArcs {
    FaRig rig; // c as shapes, over a neutral of zeros: blending it gives displacements
    FaArena *arena;
} FaArcs;

// basis: the shapes as they act in the rest frame, on the face's rig; it is not kept, but its mesh's arrays are.
FaCode fai_arcs_new(const FaFace *face, const FaRig *basis, FaArcs **arcs, FaError *err);
void fai_arcs_free(FaArcs *arcs); // NULL is fine

// Weight of the arc of a shape at weight w. Beyond 1 the turn goes on; beyond 1.5 it does not.
static inline float fai_arc_weight(float w) {
    float c = w < 0 ? 0 : w > 1.5f ? 1.5f : w;
    return c * (1 - c);
}

#endif
