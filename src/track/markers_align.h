// Rigid alignment of a cloud of markers to a face, without knowing which marker is where.
#ifndef FAI_MARKERS_ALIGN_H
#define FAI_MARKERS_ALIGN_H

#include "fascia/markers.h"
#include "mesh/closest.h"
#include "track/markers_face.h"

// The rigid motion that takes points p to q (n x 3 each) with the least squares; false with fewer than 3 points, or
// where they lie on a line (then no motion is better than others).
bool fai_procrustes(int n, const double *p, const double *q, FaPose *pose);

typedef struct FaAlignment {
    FaPose pose;       // rig from cloud
    double rms;        // m, of the distances to the surface, the worst tenth left out
    double rival_rms;  // of the best alignment that is turned by over 20 degrees against it; INFINITY if there is none
    double rival_turn; // degrees between the two
} FaAlignment;

// Bring n points (n x 3, m) to the face: iterated closest points from 96 orientations to the part that the shapes move,
// the best of them refined on all of the outside (`outside`: its triangles). Deterministic.
FaCode fai_markers_align(const FaRig *rig, const FaMarkerFace *face, const FaClosest *outside, int n, const double *p,
                         FaAlignment *out, FaError *err);

// The triangles [n] of a mesh as something to search in; hits' tri are places in the list.
FaCode fai_closest_of(const FaMesh *mesh, const int *tri, int n, FaClosest **closest, FaError *err);

#endif
