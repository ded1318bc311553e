// Muscle fibres in the tets of a solid: they pull along themselves, by activation and by being stretched.
//
// A sample is a part of a tet that a muscle fills. Its fibre f (unit, at rest) becomes d = F f, of stretch l = |d|;
// with e = l - 1 it stores
//     volume q sigma (a A*(e) + Q*(e)),      P = q sigma (a A + Q) / l (F f) f'
//     A(e)  force of an active fibre by its length: 1 at rest, 0 beyond 40 % and 160 % of it
//     Q(e)  of a slack one that is stretched: exponential, linear past 1.4; from a strain of the muscle's own on
// with A* and Q* their integrals, q the share of the tet that the muscle fills (it scales both), sigma its largest
// stress and a its activation. On a linear tet d is a sum over the corners, d = sum of w_c x_c with w_c = grad_c . f:
// all derivatives by nodes are those by d times these numbers.
//
// The term is of the list that Newton minimises, beside a solid of the same tets (energy/term.h): its blocks are those
// of elements. Only an active fibre that is stretched softens; PROJECTED sets that to 0.
#ifndef FAI_FIBRE_H
#define FAI_FIBRE_H

#include "energy/term.h"

typedef struct FaFibreSample {
    int tet, muscle;
    double share;        // of the tet's volume, 0..1
    double direction[3]; // at rest; any length but 0
} FaFibreSample;

typedef struct FaFibreBody {
    int nnode, ntet, nmuscle;
    const double *X;     // rest, m                                                   (nnode x 3)
    const int *tet;      //                                                           (ntet x 4)
    const double *sigma; // Pa                                                        (nmuscle)
} FaFibreBody;

typedef struct FaFibre FaFibre;

// All is copied. Several samples of one tet are fine. Activations start at 0.
FaCode fai_fibre_new(const FaFibreBody *body, int nsample, const FaFibreSample *sample, FaFibre **fibre, FaError *err);
void fai_fibre_free(FaFibre *fibre);                               // NULL is fine
void fai_fibre_activate(FaFibre *fibre, const double *activation); // 0..1, clamped                    (nmuscle)
// Strain from which each muscle resists being stretched; at first 0                                    (nmuscle)
void fai_fibre_slack(FaFibre *fibre, const double *slack);
FaTerm fai_fibre_term(FaFibre *fibre); // fibre must outlive the solver
// How the gradient at x changes with the activation of one muscle, N: added to g. For sensitivities.   (nnode x 3)
void fai_fibre_slope(const FaFibre *fibre, int muscle, const double *x, double *g);

// The curves at strain e, per unit of sigma: value, integral from 0 and slope.
typedef struct FaFibreCurve {
    double integral, value, slope;
} FaFibreCurve;
FaFibreCurve fai_fibre_active(double e);
FaFibreCurve fai_fibre_passive(double e);

#endif
