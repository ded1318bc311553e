// Gauss-Seidel sweeps on  inertia M + sum of w G'G + contact rows,  three coordinates at once; and products with it.
//
// In parallel and yet always the same: nodes are coloured so that no two of a colour are neighbours, colours go one
// after another. Contact rows join nodes that the colours know nothing of, so nodes in rows are left out of the colours
// and swept after them, one by one, with their 3x3 blocks.
#ifndef FAI_GAUSS_SEIDEL_H
#define FAI_GAUSS_SEIDEL_H

#include "contact/rows.h"
#include "math/csr.h"

typedef struct FaSweeper FaSweeper;

// a: without inertia (its share comes with fai_sweeper_rows), symmetric, positive semi-definite. mass: kg (n).
FaCode fai_sweeper_new(const FaCsr *a, const double *mass, int max_rows, FaSweeper **sweeper, FaError *err);
void fai_sweeper_free(FaSweeper *s); // NULL is fine
// The matrix of this solve: all rows are in it. row must stay where it is. No allocation.
void fai_sweeper_rows(FaSweeper *s, double inertia, int nrow, const FaRow *row);
void fai_sweeper_sweep(FaSweeper *s, int sweeps, const float *q, float *x); // on A x = q, from x; n x 4
void fai_sweeper_start(const FaSweeper *s, const float *q, float *x);       // x = q over the diagonal; n x 4
void fai_sweeper_mul(const FaSweeper *s, const float *x, float *y);         // y = A x; n x 4

#endif
