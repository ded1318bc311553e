// Principal components of rows that come in blocks: subspace iteration from random columns. The rows are seen three
// times, whatever their number, and two matrices of the components' size are all that is kept.
#ifndef FAI_TRAIN_BASIS_H
#define FAI_TRAIN_BASIS_H

#include "base/base.h"

enum { FA_BASIS_ROUNDS = 2 }; // of fai_basis_see and fai_basis_turn, before fai_basis_weigh

typedef struct FaBasis {
    int n, want, wide; // numbers of a row; components wanted; with those beside them, which make the last ones good
    float *q, *y;      // (n x wide) each
    float *z;          // a block's coefficients               (rows x wide)
    double *gram;      // of all coefficients                  (wide x wide)
    int rows;          // of a block, at most
    int64_t seen;      // rows since the last turn
    FaArena *arena;
} FaBasis;

FaCode fai_basis_new(int n, int want, int rows, uint64_t seed, FaBasis *b, FaError *err);
void fai_basis_free(FaBasis *b);                                        // empty is fine
void fai_basis_see(FaBasis *b, const float *x, size_t ld, int count);   // y += X' X q
FaCode fai_basis_turn(FaBasis *b, FaError *err);                        // q = y made orthonormal
void fai_basis_weigh(FaBasis *b, const float *x, size_t ld, int count); // gram += (X q)' X q
// Unit components, the strongest first, and the root mean square of their coefficients; how many there are: those below
// 1e-4 of the first are left out. column: (want x n), sd: (want).
FaCode fai_basis_finish(FaBasis *b, float *column, float *sd, int *count, FaError *err);

#endif
