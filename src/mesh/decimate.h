// Fewer vertices for the same surface, all of them vertices of the original: half-edge collapses in the order of the
// error they make, measured on the surface and on whatever is carried by its vertices (the motion of the shapes).
#ifndef FAI_DECIMATE_H
#define FAI_DECIMATE_H

#include "base/base.h"

typedef struct FaDecimateInput {
    int nvert, ntri;
    const float *x;          // m                                                                     (nvert x 3)
    const int *tri;          // manifold, one way round, one fan per vertex                           (ntri x 3)
    int nattr;               // 0: none
    const float *attr;       // carried numbers, in metres: an error counts as one of the surface     (nvert x nattr)
    const float *importance; // errors count this many times more, squared; NULL: 1                   (nvert)
    int target;              // vertices wanted
} FaDecimateInput;

// What is left: home[v] = v for vertices that stay, else the vertex that v went into (nvert). tri (room ntri x 3) and
// *ntri: the triangles over the original numbers. Manifold like the input, with the same edges of the same form; no
// triangle turns by more than 70 degrees in one step. Stops above the target where nothing more may go: *left says
// where. Same bits always.
FaCode fai_decimate(const FaDecimateInput *in, int *home, int *tri, int *ntri, int *left, FaError *err);

#endif
