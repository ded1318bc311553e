// Commands from markers: u >= 0 that bring the markers' points nearest to the markers (thesis 001 eq. 4.8 and 3.4),
// with columns that never change, so that a frame costs one right-hand side and a warm-started active set.
//
//     min (t - C u)' W (t - C u) + ridge u'u + l1 sum u        lo <= u <= hi
// W: weights of the markers, or the metric of the residual pass (spread.h): then what a smooth remainder explains is
// not forced upon the shapes (generalised least squares; the remainder is found afterwards and the two together are the
// best linear estimate).
#ifndef FAI_CONTROL_FIT_H
#define FAI_CONTROL_FIT_H

#include "math/nnls.h"

typedef struct FaCommandFit FaCommandFit;

// columns: by shape, then point (nshape x npoint x 3); copied.
FaCode fai_command_fit_new(int nshape, int npoint, const double *columns, FaCommandFit **fit, FaError *err);
void fai_command_fit_free(FaCommandFit *fit); // NULL is fine
// Another metric: weights (npoint), or a full matrix (npoint x npoint); one of them NULL. ridge: times the median
// diagonal of C'WC; < 0: its size itself, m2.
void fai_command_fit_metric(FaCommandFit *fit, const double *weight, const double *full, double ridge);
// t: npoint x 3. u: start and solution (nshape). lo, hi: as in nnls.h. Gradient of the objective (nullable, nshape).
FaNnlsResult fai_command_fit_solve(FaCommandFit *fit, const double *t, double l1, const double *lo, const double *hi,
                                   double *u);
void fai_command_fit_points(const FaCommandFit *fit, const double *u, double *at); // C u (npoint x 3)
const double *fai_command_fit_gram(const FaCommandFit *fit);  // C'WC + ridge, of the last metric     (nshape x nshape)
const double *fai_command_fit_right(const FaCommandFit *fit); // C'W t of the last solve              (nshape)

double fai_median(double *x, int n); // of n > 0 numbers, which are put in some other order; the upper one of two

#endif
