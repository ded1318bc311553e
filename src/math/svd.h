// Singular values of many 3x3 matrices at once: eight per AVX2 register, with a scalar twin that gives the same bits.
//
// Structure of arrays: entry e (row-major, 0..8) of matrix i is a[e * stride + i]. Convention of thesis 001
// section 3.3.2: A = U diag(s) V', U and V proper rotations, s[0] >= s[1] >= |s[2]|, s[2] < 0 where A mirrors. Any
// finite input: repeated, zero and negative values, rank 0..3. n is any number; arrays hold a multiple of 8 columns
// (stride >= n rounded up to 8, 32-byte aligned), columns past n are scratch.
#ifndef FAI_SVD_H
#define FAI_SVD_H

#include "base/base.h"

typedef struct FaSvd3 {
    float *u, *s, *v; // 9, 3 and 9 rows of `stride`; u and v may be NULL
    int stride;
} FaSvd3;

void fai_svd3_many(int n, const float *a, int stride, const FaSvd3 *out);     // fastest for this processor
void fai_svd3_many_ref(int n, const float *a, int stride, const FaSvd3 *out); // scalar twin: the same bits
// The closest proper rotation (U V'), without the rest.
void fai_polar3_many(int n, const float *a, int stride, float *r);
void fai_polar3_many_ref(int n, const float *a, int stride, float *r);

// --- thesis 001 section 6.3, appendix A: memoised and Taylor-updated ------------------------------------------------

typedef struct FaSvdMemo
    FaSvdMemo; // per matrix: where its last exact decomposition was made, and the six Jacobian values
typedef struct FaSvdShares {
    int reused, taylor, full;
} FaSvdShares;

FaCode fai_svd_memo_new(int n, FaSvdMemo **memo, FaError *err);
void fai_svd_memo_free(FaSvdMemo *memo);
void fai_svd_memo_restart(FaSvdMemo *memo); // a new time step: the next update decomposes everything exactly
// Decompose matrices [begin, end) (begin a multiple of 8): keep, expand or renew each by eq. 6.14 against tau0 < tau1.
// Columns of a and out are counted from begin: column 0 is matrix `begin`. Threads may update ranges of one memo that
// share no matrix. Matrices of order 1, as deformation gradients are (1e-15..1e15 do no harm). A renewed one starts
// from where it was, and is as exact as fai_svd3_many, though not to the bit.
FaSvdShares fai_svd_memo_update(FaSvdMemo *memo, int begin, int end, const float *a, int stride, float tau0, float tau1,
                                const FaSvd3 *out);

#endif
