// Catmull-Clark subdivision of any number of channels, with the limit surface.
#ifndef FAI_HEAD_SUBDIVIDE_H
#define FAI_HEAD_SUBDIVIDE_H

#include "base/base.h"

typedef struct FaiQuads {
    int nvert, nface, nchan;
    double *val;     // (nvert x nchan)
    int *mirror;     // (nvert)
    int *face_start; // polygons: (nface + 1); all quads after one step
    int *face_vert;
} FaiQuads;

// One step: the vertices, then the edges, then the faces become the new vertices. Boundaries become cubic B-splines.
FaCode fai_subdivide(FaArena *arena, const FaiQuads *in, FaiQuads *out, FaError *err);
// The limit positions of all vertices of a mesh of quads, into val (nvert x nchan).
FaCode fai_subdivide_limit(FaArena *arena, const FaiQuads *mesh, double *val, FaError *err);
// Change channels [0, 3) of `control` so that the limit surface passes through `through` (nvert x 3). Only
// `steps` (nvert) corrections are made at each: the first take the long waves, later ones may add ripples.
FaCode fai_subdivide_interpolate(FaArena *arena, FaiQuads *control, const double *through, const int *steps,
                                 FaError *err);

#endif
