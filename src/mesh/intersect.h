// Which triangles of a mesh cross each other.
#ifndef FAI_INTERSECT_H
#define FAI_INTERSECT_H

#include "base/base.h"
#include "fascia/mesh.h"

// Do two triangles properly intersect? Exact. Crossing: each has corners strictly on both sides of the other's plane
// and they share a segment; or they lie in one plane and their insides overlap. Touching, and triangles without area,
// do not.
bool fai_triangles_cross(const float a[3][3], const float b[3][3]);

// Count pairs of triangles that properly intersect at positions x (NULL: mesh->x). Pairs that share a welded vertex, or
// a vertex at the same position, are skipped. pair (nullable) receives the first max_pairs index pairs (i < j, sorted).
// part (nullable): per-vertex ids; with it only pairs within one id count. Deterministic, parallel.
// FA_CLAMPED: so much of the mesh lies within itself that counting stopped early; *count is a lower bound.
// FA_E_NUMERIC: a position is not finite.
FaCode fai_self_intersections(const FaMesh *mesh, const float *x, const int *part, int (*pair)[2], int max_pairs,
                              int *count, FaError *err);

#endif
