// The equilibrium manifold: stiffness of the surface model such that full shapes rest (thesis 001 section 4.3.2).
//
// Two ways to it. Ours, the default, minimises how far the shapes are from rest: equilibrium_fit.h. The thesis's,
// `literal` and here, minimises the forces that are left over at them, which is another thing: on the shipped head they
// fall tenfold and the distances stay what they were, since a few stiff, small triangles rule the sum.
//
// Under unit blendforce B_j = K b_j (K: what a node's anchor weighs, N/m) the model should rest at x0 + b_j. Each term
// k (anchor, edge, bend) pulls there with w_k g_k^j at its nodes: linear in the weights w, as its projection is that of
// x0 + b_j. So
//
//     E(w) = 1/2 sum_j |K^-1 (sum_k w_k G_k' g_k^j - B_j)|^2  +  lambda/2 sum_k (1/w_k^2 + 2 w_k - 3),    w >= floor
//
// Where it leaves eq. 4.13-4.15:
//   w      is relative to the default weights, so that one lambda suits anchors (N/m) and bending (N m3).
//   2 w    the prior 1/w^2 alone sends the stiffness of what no shape moves to infinity; so it is least at 1.
//   floor  of edges and bends: without it there is a perfect, useless optimum, no elasticity at all.
//
// E is convex. Minimised by projected Newton: Xi'Xi has the pattern of terms that share a node, analysed once and
// factored in every iteration; weights held at a bound are unit rows in it. A line search on the projected path makes E
// fall with every iteration. Entries of Xi'Xi are C_kl sum_j g_k^j . g_l^j, with C_kl from the terms' coefficients at
// the nodes they share.
//
// Typical order: fai_equilibrium_optimise. The parts below it are for tests and for other bodies.
#ifndef FAI_EQUILIBRIUM_H
#define FAI_EQUILIBRIUM_H

#include "energy/elastic.h"
#include "face/face.h"
#include "fascia/face.h"

typedef struct FaEquilibrium FaEquilibrium;

// e: anchors, edges and bends (no tets), with their default weights; needed while it lives. b: displacement of each
// node in each shape, m (nshape x nnode x 3); force: K, positive where a shape moves the node (nnode).
FaCode fai_equilibrium_new(const FaElastic *e, int nshape, const float *b, const double *force,
                           const FaEquilibriumOptions *options, FaEquilibrium **equilibrium, FaError *err);
void fai_equilibrium_free(FaEquilibrium *q);                    // NULL is fine
int fai_equilibrium_terms(const FaEquilibrium *q);              // anchors, then edges, then bends
double fai_equilibrium_floor(const FaEquilibrium *q, int term); // least weight it may have
// E at w (nterm), and its gradient (nullable). The terms' share without the prior: *misfit (nullable), m2.
double fai_equilibrium_energy(FaEquilibrium *q, const double *w, double *gradient, double *misfit);
// w: start in, result out. energy (nullable): before the first and after each iteration (iterations + 1). FA_E_ARG:
// stopped by progress.
FaCode fai_equilibrium_minimise(FaEquilibrium *q, double *w, double *energy, int *iterations, FaError *err);

// |force left over| / |B_j| of each shape at w (nshape).
void fai_equilibrium_left(FaEquilibrium *q, const double *w, double *share);

// Fills the face's stiffness (face.h), which replaces what was there. The report is nullable.
FaCode fai_equilibrium_optimise(const FaRig *rig, FaFace *face, const FaEquilibriumOptions *options,
                                FaEquilibriumReport *report, FaError *err);
// Scales a surface body's weights by the face's stiffness, if it has one. Unit blendforces stay those of the weights
// before. e: made from the face's skin: anchors by node, edges in the topology's order (some may be left out), bends
// with their own node first.
FaCode fai_equilibrium_apply(const FaFace *face, FaElastic *e, FaError *err);
// How far each shape is from rest under its own unit force: the body's static equilibrium is found from x0 + b_j; mean
// distance of the nodes that the shape moves, m (nshape). e: its weights as they are; force as above, of the default
// weights.
FaCode fai_equilibrium_distance(const FaElastic *e, int nshape, const float *b, const double *force, double *distance,
                                FaError *err);

#endif
