// Small dense matrices: the eigenvectors of a symmetric one, and what a principal component analysis needs around it.
//
// PCA of n frames of m numbers (m much larger): fai_gram, fai_eigen_symmetric, fai_mix_rows with the leading
// eigenvectors divided by the root of their eigenvalue. Matrices are row-major. Same bits for any thread count.
#ifndef FAI_DENSE_H
#define FAI_DENSE_H

#include "base/base.h"

// Eigenvalues w, decreasing (n), and unit eigenvectors: row i of v goes with w[i], its largest component (the first of
// equals) is positive (n x n). a is symmetric (n x n), only its lower half is read, and it is destroyed; v must not
// overlap it. Residual and orthogonality are within about n rounding errors of the norm, so tiny eigenvalues of a Gram
// matrix carry no more than that, and may come out below 0. Time grows with n^3, half a second for n = 600.
// Fails with FA_E_NUMERIC on numbers that are not finite, FA_E_MEMORY.
FaCode fai_eigen_symmetric(int n, double *a, double *w, double *v, FaError *err);

// gram[i][j] = row i . row j, summed in double (n x n, symmetric). rows: n x m. Parallel.
void fai_gram(int n, size_t m, const float *rows, double *gram);

// out = coef * rows: out k x m, coef k x n, rows n x m; summed in double. out must not overlap rows. Parallel.
void fai_mix_rows(int k, int n, size_t m, const double *coef, const float *rows, float *out);

// Cholesky of the leading n x n of a (rows of `stride`), lower triangle in place; false where it is not positive.
bool fai_dense_cholesky(int n, int stride, double *a);
void fai_dense_forward(int n, int stride, const double *l, double *b);  // L y = b
void fai_dense_backward(int n, int stride, const double *l, double *b); // L' x = y

// a . b (n), in eight sums of a fixed order.
double fai_dot_n(const double *a, const double *b, int n);

#endif
