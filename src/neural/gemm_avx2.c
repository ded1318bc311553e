// The kernel of gemm.h, sixteen columns at a time.
#if defined(__x86_64__)
#define FA_LANES_AVX2 1
#include "neural/gemm_kernels.inc"

void fai_gemm_rows_avx2(const FaGemm *g, int begin, int end) { rows_of(g, begin, end); }
#else
typedef int FaNoAvx2Gemm; // a file must not be empty
#endif
