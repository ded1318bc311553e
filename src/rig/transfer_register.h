// One neutral laid over another: the similarity between them, the source warped onto the target, and which point of the
// warped source each target vertex corresponds to.
#ifndef FAI_TRANSFER_REGISTER_H
#define FAI_TRANSFER_REGISTER_H

#include "base/base.h"
#include "math/procrustes.h"
#include "mesh/closest.h"

typedef struct FaRegisterInput {
    const FaMesh *source, *target;
    int npair;
    const int *from, *to;      // corresponding vertices                            (npair)
    double reach;              // m
    const FaAlign *similarity; // from source to target, where the caller knows it; NULL: by closest points, from the
                               // pairs, or from centre and size with no turn
    bool lay_only;             // only align and x are wanted: no matter how much of the target has no counterpart
} FaRegisterInput;

typedef struct FaRegister {
    FaAlign align; // source to target
    float *x;      // the source's vertices on the target's surface        (source nvert x 3)
    FaHit *hit;    // of each target vertex, on the warped source; tri -1: none  (target nvert)
    int *tri;      // of each target triangle, the triangle of the warped source at its middle; -1: none  (target ntri)
    int unmatched; // vertices
    double rms, worst; // distances of the matched, m
} FaRegister;

// The closest point to p within reach, of the mesh at x that the tree is of, that faces as n does; tri -1: none.
FaHit fai_facing(const FaClosest *tree, const FaMesh *mesh, const float *x, const float p[3], const float n[3],
                 float reach);
double fai_mesh_extent(
    const FaMesh *mesh); // twice the root mean square distance of the triangles' vertices from their centre, m
// Same topology: least squares over all vertices in triangles.
FaCode fai_register_same(const FaMesh *source, const FaMesh *target, FaArena *work, FaAlign *align, FaError *err);
// Different topology. Arrays live in the arena. FA_E_MESH where fewer than half of the target's vertices find a
// counterpart.
FaCode fai_register(const FaRegisterInput *in, FaArena *work, FaRegister *out, FaError *err);

#endif
