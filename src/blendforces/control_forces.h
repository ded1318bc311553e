// Blendforces on the skin: the surface model of thesis 001 (5.1, 5.2) under forces in the span of the shapes
// (4.1, 4.2).
//
// Nodes are the face's skin nodes; unknowns their displacements d from the rest positions, in the rest frame (the jaw's
// motion taken out). With area weights, so that the mesh's density does not matter:
//     M = rho A_v,  skull springs Ks A_v,  edges ke = Ks le^2,  bending kb = Ks lb^4,  Ks = rho (2 pi fn)^2
//     A = M / h^2 + springs + edges + bending;   B_j = Ks A_v b_j;   Phi = A^-1 B                  (4.6)
//     q = A^-1 (M y / h^2 + what edges and bending project to)                                    (4.7)
//     d = Phi u + q                                                                              (4.5)
// A, Phi and the markers' rows of Phi are made once. Deviation (blendforces-notes): no second spring beyond 10 %
// elongation.
#ifndef FAI_CONTROL_FORCES_H
#define FAI_CONTROL_FORCES_H

#include "blendforces/spread.h"
#include "build/skin_body.h"
#include "method/method.h"

typedef struct FaForceOptions {
    FaSkinBodyOptions body;
    double fps; // > 0
} FaForceOptions;

typedef struct FaForces FaForces;

// basis: the shapes as they act in the rest frame (jaw_carry.h), on the face's own rig. Neither is kept, nor is face.
FaCode fai_forces_new(const FaFace *face, const FaRig *basis, int npoint, const FaSpreadPoint *point,
                      const FaForceOptions *options, FaForces **forces, FaError *err);
void fai_forces_free(FaForces *forces);  // NULL is fine
void fai_forces_reset(FaForces *forces); // at rest
// A new frame: y = d + keep (d - d before) `stretch` times (frames of uneven length); q linearised at d, or at y.
void fai_forces_begin(FaForces *forces, double keep, double stretch, bool at_prediction);
void fai_forces_relinearise(FaForces *forces); // q again, at the d of the last fai_forces_apply
// d = Phi u + q. u: nshape.
void fai_forces_apply(FaForces *forces, const double *u);
void fai_forces_end(FaForces *forces); // d is this frame's
// Part of the way (0..1) through a step with these commands, which is not made: out n x 4.
void fai_forces_between(FaForces *forces, double keep, double stretch, bool at_prediction, const double *u, double part,
                        float *out);
void fai_forces_at(const FaForces *forces, float *out);     // d of the last frame (n x 4)
double fai_forces_way(const FaForces *forces);              // the furthest that a node went in the last frame, m
void fai_forces_stop(FaForces *forces);                     // what moves stands still
void fai_forces_stream(FaForces *forces, FaStream *stream); // what is kept between frames

const double *fai_forces_columns(const FaForces *forces);  // S Phi: by shape, then point          (nshape x npoint x 3)
void fai_forces_points(const FaForces *forces, double *q); // S q                                  (npoint x 3)
const float *fai_forces_now(const FaForces *forces);       // d, 16-byte aligned                   (nskin x 4)

#endif
