// Closest points on a triangle mesh and ray queries: by Embree where it is built in, by our own tree else.
//
// Distances are computed in double by the same code either way, and among equally close triangles the first is taken,
// so closest points do not depend on which tree finds them. Rays agree to the rounding of floats.
#ifndef FAI_CLOSEST_H
#define FAI_CLOSEST_H

#include "base/base.h"
#include "fascia/mesh.h"

typedef struct FaClosest FaClosest;
typedef struct FaHit {
    int tri;       // -1: nothing within reach
    float bary[3]; // weights of the triangle's corners
    float point[3];
    float distance; // m
} FaHit;

// x NULL: mesh->x. Both are copied. Free with fai_closest_free. FA_E_NUMERIC: a position is not finite.
FaCode fai_closest_new(const FaMesh *mesh, const float *x, FaClosest **closest, FaError *err);
FaCode fai_closest_new_own(const FaMesh *mesh, const float *x, FaClosest **closest, FaError *err); // never Embree
void fai_closest_free(FaClosest *closest);                                                         // NULL is fine

FaHit fai_closest_point(const FaClosest *closest, const float p[3], float reach); // reach may be INFINITY; thread-safe
// First hit with near <= t <= far of origin + t dir, from either side; distance is t: in metres if dir is a unit
// vector.
FaHit fai_closest_ray(const FaClosest *closest, const float origin[3], const float dir[3], float near, float far);
void fai_closest_points(const FaClosest *closest, int n, const float *p, float reach, FaHit *hits); // parallel

#endif
