// Delaunay tetrahedra of points in space: no point lies strictly inside the sphere through the corners of a tet.
//
// Exact for floats (math/predicates.h): lattices, points in one plane or on one sphere and points given twice need no
// care of the caller's. Where more than four points lie on one empty sphere, the order of insertion decides; it is a
// function of the points alone. Same bits always. 20,000 points: a quarter of a second.
#ifndef FAI_DELAUNAY_H
#define FAI_DELAUNAY_H

#include "base/base.h"

typedef struct FaDelaunay {
    int ntet;     // 0: all points lie in one plane
    int *tet;     // corners, of positive volume (fai_orient3d > 0)                       (ntet x 4)
    int *near;    // tet opposite to each corner, -1: none                                (ntet x 4)
    int *same;    // the point that stands for each: an earlier one at its place, or itself (npoint)
    int repeated; // points that another stands for: they are corners of nothing
} FaDelaunay;

// x: finite (n x 3). All zero after failure: FA_E_MEMORY, FA_E_NUMERIC (a coordinate that is not finite).
FaCode fai_delaunay(int n, const float *x, FaDelaunay *out, FaError *err);
void fai_delaunay_free(FaDelaunay *d); // all zero is fine

#endif
