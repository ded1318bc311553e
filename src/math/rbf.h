// A smooth warp of space through pairs of points: radial basis functions with an affine part.
//
//     s(x) = base(x) + affine(x) + sum over points of c_i phi(|x - x_i|)
//
// base is the similarity that fits the pairs best (fai_align), so that what the points do not decide turns and scales
// with them. phi(r) = r is the biharmonic kernel of three dimensions, the thin plate of Seol et al. (thesis 001
// section 3.1.2, 5.2.2.3): least bending, linear far away, not smooth at the points themselves. phi(r) = r^3,
// triharmonic, is smooth there and swings more outside. Pairs are met exactly where lambda is 0, and affine maps are
// reproduced.
#ifndef FAI_RBF_H
#define FAI_RBF_H

#include "base/base.h"

typedef enum FaRbfKernel { FA_RBF_LINEAR, FA_RBF_CUBIC } FaRbfKernel; // r, r^3

typedef struct FaRbfOptions {
    FaRbfKernel kernel;
    double
        lambda; // >= 0: smoothing; a point's miss is lambda times its coefficient, in units in which the points' root
                // mean square distance from their centre is 1. 0: exact; 0.1 to 1: noisy pairs; 1e6: the affine fit
} FaRbfOptions;

typedef struct FaRbfReport {
    int used;        // points that count
    int missing;     // pairs with a number that is not finite: skipped
    int merged;      // points within 1e-7 of the extent of an earlier one: their targets are averaged
    double conflict; // largest distance between targets so averaged, m
    int rank; // of the affine part: 3 in space, 2 coplanar (within 1e-4 of the extent), 1 collinear, 0 one place; below
              // 3 only directions that the points span get one
    double miss; // largest distance from s(x_i) to its target, m
} FaRbfReport;

typedef struct FaRbf FaRbf;

enum { FA_RBF_MAX = 4096 };

// from, to: n x 3, m. options NULL: linear, exact. At least one usable pair; FA_E_ARG, FA_E_LIMIT (n > FA_RBF_MAX),
// FA_E_NUMERIC, FA_E_MEMORY. Time grows with n^3: 2 ms for 100 points, 0.1 s for 500.
FaCode fai_rbf_new(int n, const double *from, const double *to, const FaRbfOptions *options, FaRbf **rbf, FaError *err);
void fai_rbf_free(FaRbf *rbf); // NULL is fine
FaRbfReport fai_rbf_report(const FaRbf *rbf);
void fai_rbf_point(const FaRbf *rbf, const double x[3], double y[3]);
// Many points, in parallel; y may be x. Any thread. Points that are not finite give points that are not.
void fai_rbf_points(const FaRbf *rbf, int n, const float *x, float *y); // n x 3

#endif
