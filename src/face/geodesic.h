// Distances along a surface: fast marching over triangles, so that they depend on the surface and not on how it is cut.
#ifndef FAI_GEODESIC_H
#define FAI_GEODESIC_H

#include "base/base.h"

// A surface to walk on; x and tri are borrowed.
typedef struct FaSurface {
    int n, ntri;
    const double *x; // m                                              (n x 3)
    const int *tri;  //                                                (ntri x 3)
    int *tri_start;  // triangles around each vertex                   (n + 1)
    int *tri_at;     //
    double *area;    // a third of the triangles around, m2            (n)
    double *normal;  // unit, 0 0 0 where there is none                (n x 3)
    bool *border;    // on an edge with one triangle                   (n)
    double edge;     // mean length of the edges, m
} FaSurface;

// Arrays from the arena. Indices must be in range.
FaCode fai_surface_build(int n, const double *x, int ntri, const int *tri, FaArena *arena, FaSurface *surface,
                         FaError *err);

// Distance of every vertex from the seeds (start[i] true: 0), INFINITY beyond `reach` and in other parts. dist: n.
// First-order fast marching: a plane front through each triangle, else along edges. Never too short; right from a line,
// up to a tenth and a third of an edge too long near a single point.
FaCode fai_geodesic(const FaSurface *surface, const bool *start, double reach, double *dist, FaError *err);

#endif
