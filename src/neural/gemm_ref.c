// The scalar twin of gemm_avx2.c: the same source on one float, the same bits.
#include "neural/gemm_kernels.inc"

void fai_gemm_rows_ref(const FaGemm *g, int begin, int end) { rows_of(g, begin, end); }
