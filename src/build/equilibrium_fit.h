// Stiffness under which full shapes rest, by their distance to rest itself (thesis 001 section 4.3.2, not its
// eq. 4.15).
//
// Under unit blendforce B_j = K b_j shape j should rest at x0 + b_j. It rests r_j(w) away, found by one Newton step
// from there (equilibrium_step.h: within 3 % of the nonlinear rest on the shipped head). Minimised over relative
// weights w of anchors, edges, bends:
//
//     E(w) = D(w) / D(1)  +  prior/6 sum over the kinds of mean (log w)^2
//     floor <= w <= 1/floor (anchors stay at 1 unless asked for),      mean of log w = 0 in each kind
//
// D is the mean over shapes of the mean of |r_j| over the nodes that the shape moves. The last holds the geometric mean
// of the stiffness: what is softened by a factor somewhere is stiffened by it elsewhere, so that softening everything
// gains nothing; the arithmetic mean can only grow. (With that one held instead, a few percent of edges that no shape
// strains go to the upper bound and the rest to the floor.) Means are weighted by the usual stiffness: a bend counts by
// its area (`even`: every term alike). Bounds and means hold by construction: log w = m tanh((z + v) / m), m = -log
// floor, v of each kind such that its mean is 0. z by L-BFGS, the gradient by adjoints; E falls with every iteration.
// Same bits for any number of threads.
#ifndef FAI_EQUILIBRIUM_FIT_H
#define FAI_EQUILIBRIUM_FIT_H

#include "energy/elastic.h"
#include "fascia/face.h"

typedef struct FaStiffFit FaStiffFit;

typedef struct FaStiffFitReport {
    int iterations, evaluations; // of E and its gradient
    long products;               // with Hessians, of one shape each
} FaStiffFitReport;

// e, b, force: as in fai_equilibrium_new; e and b must outlive it. tolerance: of the linear solves; 0: 0.01.
FaCode fai_stiff_fit_new(const FaElastic *e, int nshape, const float *b, const double *force,
                         const FaEquilibriumOptions *options, double tolerance, FaStiffFit **fit, FaError *err);
void fai_stiff_fit_free(FaStiffFit *f);       // NULL is fine
int fai_stiff_fit_terms(const FaStiffFit *f); // anchors, then edges, then bends
// w and E at z, and the gradient with respect to z (nullable); all (nterm).
FaCode fai_stiff_fit_energy(FaStiffFit *f, const double *z, double *w, double *gradient, double *energy, FaError *err);
// From w = 1. energy (nullable): before the first and after each iteration (iterations + 1). FA_E_ARG: stopped by
// progress.
FaCode fai_stiff_fit_minimise(FaStiffFit *f, double *w, double *energy, FaStiffFitReport *report, FaError *err);
double fai_stiff_fit_least(const FaStiffFit *f, int term); // bound below; above: one over it
// Means of w over each kind (anchors, edges, bends), by the usual stiffness; those of log w are 0.
void fai_stiff_fit_means(const FaStiffFit *f, const double *w, double mean[3]);

#endif
