// Quadratic programs with bounds, small and dense, many times a second: weights of shapes, forces, stiffnesses.
//
//     min 1/2 x'Gx - f'x + l1 * sum of x      subject to lo <= x <= hi         (x >= 0 unless said otherwise)
//
// A primal active set, warm-started from x: every step minimises over the variables off their bounds with an up- and
// downdated Cholesky factor, so the objective falls strictly from face to face and no face comes twice. Least squares
// |Mx - b|^2 is G = M'M, f = M'b (the common factor 2 left out: so is that of l1).
//
// G is symmetric and positive semi-definite. Dependent, duplicate and zero columns are fine: a column that depends on
// those in use moves along the flat direction until a bound stops it. What "dependent" and "zero" mean is measured
// against G's own diagonal, so scaling a variable changes nothing. One thread per FaNnls; no allocation in solve; same
// bits everywhere.
#ifndef FAI_NNLS_H
#define FAI_NNLS_H

#include "base/base.h"

typedef struct FaNnls FaNnls; // workspace

typedef struct FaNnlsProblem {
    int n;                 // variables, at most the workspace's
    int stride;            // of g; 0: n
    const double *g;       // symmetric, both halves                                  (n x stride)
    const double *f;       //                                                         (n)
    double l1;             // >= 0; counts for variables whose lower bound is >= 0
    const double *lo, *hi; // -INFINITY, INFINITY: free that way; NULL: 0 and INFINITY      (n)
} FaNnlsProblem;

typedef enum FaNnlsStatus {
    FA_NNLS_OK,         // conditions of optimality hold to FA_NNLS_GOAL
    FA_NNLS_LIMIT,      // bounded work was used up, or rounding stops progress: x is feasible, kkt says how good
    FA_NNLS_UNBOUNDED,  // the objective falls for ever along a direction with variable `at`: x is feasible, `at` was
                        // left at rest
    FA_NNLS_INDEFINITE, // G is not positive semi-definite (first seen at `at`): x is feasible
    FA_NNLS_BAD_BOUNDS, // lo > hi, or one is NaN, at `at`: x untouched
    FA_NNLS_BAD_NUMBER, // G, f or l1 is not finite (row `at`), or l1 < 0 (at -1): x untouched
} FaNnlsStatus;

#define FA_NNLS_GOAL 1e-9

typedef struct FaNnlsResult {
    FaNnlsStatus status;
    int at;       // variable the status speaks of, -1: none
    int steps;    // variables that entered or left
    int inside;   // variables off their bounds at the end
    double kkt;   // largest violation: of the gradient times 1/sqrt(G_jj), over the largest |f_j - l1| / sqrt(G_jj) (or
                  // |Gx| if larger)
    double value; // of the objective
} FaNnlsResult;

FaCode fai_nnls_new(int max, FaNnls **work, FaError *err); // for problems of up to max variables
void fai_nnls_free(FaNnls *work);                          // NULL is fine
// x: where to start (the last frame's solution; anything, NaN included), and the solution. (n)
FaNnlsResult fai_nnls_solve(FaNnls *work, const FaNnlsProblem *problem, double *x);
const char *fai_nnls_text(FaNnlsStatus status); // "unbounded: ...", never NULL

#endif
