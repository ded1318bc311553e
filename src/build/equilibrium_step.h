// Where a body comes to rest from a given pose, one Newton step ahead, and how that answers to a change of stiffness.
//
// Terms are relative weights w: of anchors, then edges, then bends (elastic.h). From a pose u under a load, with g the
// gradient of the energy and H its Hessian, made definite term by term (a spring under pressure has no stiffness
// across),
//     rest = u - s,     H(w) s = g(w)
// Both are sums over terms, linear in w, so that for any function of the rest with derivative D the adjoint y = H^-1 D
// gives
//     d/dw_k = -y . (g_k - H_k s)
// for all terms at once. H is not assembled: conjugate gradients on the factor of the projective matrix A(w) >= H(w)
// (thesis 001 eq. 3.15). One per thread; the body is shared and read only.
#ifndef FAI_EQUILIBRIUM_STEP_H
#define FAI_EQUILIBRIUM_STEP_H

#include "energy/elastic.h"

typedef struct FaRestStep FaRestStep;

// e: anchors, edges, bends with their usual weights, no tets; must outlive it. of (nullable): another one of the same
// body, whose analysis of A is shared.
FaCode fai_rest_step_new(const FaElastic *e, const FaRestStep *of, FaRestStep **step, FaError *err);
void fai_rest_step_free(FaRestStep *step); // NULL is fine
// Relative weights, positive (nanchor + nedge + nbend), kept as a reference; a: A(w) for them, by fai_rest_step_matrix.
FaCode fai_rest_step_matrix(const FaElastic *e, const double *w, FaCsr *a, FaError *err);
FaCode fai_rest_step_weights(FaRestStep *step, const double *w, const FaCsr *a, FaError *err);
// Arrays of nodes are quadruples, the fourth 0, 32-byte aligned (nnode x 4). load: N. out: the step, guess in, result
// out, to `tolerance` of g (in the norm of A^-1). Products with H: the return value. No allocation.
int fai_rest_step_solve(FaRestStep *s, const double *load, const double *u, double tolerance, double *out);
// After solve at the same u: y = H^-1 d, guess in, result out; adds -y . (g_k - H_k step) to slope (nterm).
int fai_rest_step_adjoint(FaRestStep *s, const double *u, const double *step, const double *d, double tolerance,
                          double *y, double *slope);

#endif
