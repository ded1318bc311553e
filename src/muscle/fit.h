// A B-spline solid for a muscle that somebody else made: from a closed mesh to u along the fibres, v across, w through.
//
//     mesh ──▶ points inside ──▶ line through the middle ──▶ cross-sections ──▶ chords ──▶ control points
//
// The line begins as the longest axis of the points, or, where the mesh is bent, as the way between its two ends on the
// surface; it is then drawn through the middles of slices across it, a few times. Fibres run along it.
//
// Made for straps, sheets and halves of rings. What is closed into a ring, or about as wide as it is long, has no line
// that a muscle would pull along, and is refused.
#ifndef FAI_FIT_H
#define FAI_FIT_H

#include "fascia/mesh.h"
#include "muscle/bspline.h"

enum { FA_FIT_ALONG = 14, FA_FIT_ACROSS = 8, FA_FIT_DEEP = 3 };

typedef struct FaFit {
    double volume;       // of the mesh, m3
    double volume_error; // of the solid, relative: 0.03 is 3 % too large
    double covered;      // share of the mesh that is in the solid
    double beyond;       // share of the solid that is outside of the mesh
    double median, p95;  // m: from vertices of the mesh to the surface of the solid
    double length;       // m: along the line in the middle
    double elongation;   // that against the width
} FaFit;

// mesh: m; polygons are not read, coincident vertices must be one. solid->c lives in the arena. FA_E_MESH with a
// remedy: open, of several pieces, not elongated, or of a form that cross-sections do not describe.
FaCode fai_fit_solid(const FaMesh *mesh, FaArena *arena, FaBspline *solid, FaFit *fit, FaError *err);

#endif
