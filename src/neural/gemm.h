// Products of float matrices, for training: the same bits for any number of threads, with and without AVX2.
//
// Every number of the result is one chain of fused multiply-adds in the order of k, whoever computes it.
#ifndef FAI_GEMM_H
#define FAI_GEMM_H

#include "base/base.h"

enum { FA_GEMM_WIDE = 16 }; // columns go by so many

// C (m x n) = A (m x k) B (k x n), or C += A B. a[i * row + p * column] is A's, so that a transposed A needs no copy;
// rows of B and C are ldb and ldc apart. n, ldb, ldc: multiples of FA_GEMM_WIDE; b, c: aligned to 32 bytes. Parallel.
typedef struct FaGemm {
    int m, n, k;
    const float *a;
    size_t row, column;
    const float *b;
    size_t ldb;
    float *c;
    size_t ldc;
    bool add;
} FaGemm;

void fai_gemm(const FaGemm *g);
void fai_gemm_ref(const FaGemm *g); // the scalar twin, for tests

typedef void FaGemmRows(const FaGemm *g, int begin, int end); // rows of C
extern FaGemmRows fai_gemm_rows_avx2, fai_gemm_rows_ref, fai_gemm_rows_ref_fma;

static inline int fai_gemm_up(int n) { return (n + FA_GEMM_WIDE - 1) / FA_GEMM_WIDE * FA_GEMM_WIDE; }

#endif
