// Takes that do not begin with a neutral face: how much expression a frame shows, and which frame shows least.
#ifndef FAI_MARKERS_NEUTRAL_H
#define FAI_MARKERS_NEUTRAL_H

#include "fascia/markers.h"
#include "track/markers_face.h"

// Shapes and pose together, so that the markers lie on the face that they make. Which marker is where is not known:
// each belongs to the closest point, as in [CM92], and the shapes are moved with the pose.
typedef struct FaExpression {
    FaPose pose;        // rig from cloud: where to start, and what is found
    double before, rms; // m off the surface, the worst tenth left out: with the neutral face, with this one
    double moved;       // m rms: how far the shapes move the markers' points
    double *weight;     // of the shapes                                               (nshape)
    float *x;           // the face they make                                          (nvert x 3)
} FaExpression;

// weight and x from the arena.
FaCode fai_expression_fit(const FaRig *rig, const FaMarkerFace *face, int n, const double *p, FaArena *arena,
                          FaExpression *fit, FaError *err);

// The frame of a take that shows (nearly) all markers and the least expression on this rig; the first of them unless
// another shows clearly less. aligned: the take is in the rig's own frame.
FaCode fai_neutral_frame(const FaMarkerTake *take, const FaRig *rig, bool aligned, int *frame, FaError *err);
int fai_first_frame(const FaMarkerTake *take); // the first that shows (nearly) all markers

#endif
