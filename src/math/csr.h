// Sparse matrices by rows (CSR), in double. Products give the same bits for any number of threads: each row is summed
// by one thread, in the order of its columns.
#ifndef FAI_CSR_H
#define FAI_CSR_H

#include "base/base.h"

typedef struct FaTriplet {
    int row, col;
    double val;
} FaTriplet;

typedef struct FaCsr {
    int nrow, ncol;
    int *start;  // first entry of each row, then the total      (nrow + 1)
    int *col;    // increasing within a row                      (start[nrow])
    double *val; //                                              (start[nrow])
} FaCsr;

// From entries in any order; those at the same place are summed in the order given, zeros are kept (they are part of
// the pattern). FA_E_ARG names an entry that is out of range. Time: linear. Free with fai_csr_free; *out is empty after
// a failure.
FaCode fai_csr_from_triplets(int nrow, int ncol, int n, const FaTriplet *entry, FaCsr *out, FaError *err);
FaCode fai_csr_transpose(const FaCsr *a, FaCsr *out, FaError *err);
FaCode fai_csr_check(const FaCsr *a, FaError *err); // starts increase, columns in range and sorted, values finite
void fai_csr_free(FaCsr *a);

double fai_csr_at(const FaCsr *a, int row, int col); // 0 where there is no entry

// y = a x. y must not overlap x. Parallel.
void fai_csr_mul(const FaCsr *a, const double *x, double *y);
void fai_csr_mul3(const FaCsr *a, const double *x, double *y); // x: ncol x 3, y: nrow x 3

#endif
