// Dense kernels of the sparse Cholesky, in double, for lower triangles that are stored by columns or by fours of rows.
//
//     by columns   the rows of a column are contiguous; any row may be first. For fronts: quad 4, col: their stride
//     by fours     four rows of a column are contiguous, then the next column's. For large ones: everything that a tile
//                  reads is then in one run of memory. quad: 4 x columns, col 4; rows begin at multiples of 4
//
// Tiles have no remainders by row: up to three rows beyond the last are read and written, and must be zero.
// Every element is one chain of fused multiply-adds per pass of DEPTH columns: the same bits with and without AVX2, for
// any number of threads.
#ifndef FAI_CHOL_DENSE_H
#define FAI_CHOL_DENSE_H

#include "base/base.h"

typedef struct FaCholDense {
    double *f;
    size_t quad, col; // from four rows to the next, from column to column
} FaCholDense;

static inline double *fai_dense_at(FaCholDense d, int row, int col) {
    return d.f + (size_t)(row / 4) * d.quad + (size_t)(row % 4) + (size_t)col * d.col;
}

// L of the first w of m columns in place, and the rest brought up to date. The first column whose pivot is not
// positive, -1: all are. Parallel if it is large.
int fai_dense_factor(bool avx2, FaCholDense f, int m, int w);

// The inverse of a w x w lower triangle (w <= 8, from column `at` on), by rows of `stride`, zero elsewhere.
void fai_dense_invert_block(bool avx2, FaCholDense f, int at, int w, double *out, int stride);

// (L L')^-1, negated, lower triangle, over l (n x n, by fours). x: scratch of the same shape. Parallel.
void fai_dense_inverse(bool avx2, FaCholDense l, FaCholDense x, int n);

#endif
