// What svd.c chooses between: the AVX2 kernels and their scalar twins, one source (svd_kernels.inc).
#ifndef FAI_SVD_KERNELS_H
#define FAI_SVD_KERNELS_H

#include "math/svd.h"

// A memo is an array of blocks of eight matrices. Rows of a block, eight floats each:
enum {
    FA_MEMO_F = 0,     // the matrix of the last exact decomposition; not a number where there is none  (9)
    FA_MEMO_U = 9,     // its decomposition                                                             (9)
    FA_MEMO_S = 18,    //                                                                               (3)
    FA_MEMO_V = 21,    //                                                                               (9)
    FA_MEMO_J = 30,    // j0..j5 of eq. A.8                                                             (6)
    FA_MEMO_NORM = 36, // the square of their norm                                                      (1)
    FA_MEMO_ROWS = 37,
};

typedef struct FaSvdKernels {
    void (*svd)(int n, const float *a, int stride, const FaSvd3 *out);
    void (*polar)(int n, const float *a, int stride, float *r);
    // block: of the first matrix; n matrices, results in columns 0..n-1
    FaSvdShares (*memo)(float *block, int n, const float *a, int stride, float tau0, float tau1, const FaSvd3 *out);
} FaSvdKernels;

extern const FaSvdKernels fai_svd_kernels_ref;
#if defined(__x86_64__)
#define FA_SVD_HAVE_AVX2 1
extern const FaSvdKernels fai_svd_kernels_avx2, fai_svd_kernels_ref_fma;
#endif

#endif
