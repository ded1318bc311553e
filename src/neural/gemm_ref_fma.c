// The scalar twin once more, with the processor's own fma instead of a library call: the same bits, sooner.
#if defined(__x86_64__)
#define FA_LANES_FMA 1
#include "neural/gemm_kernels.inc"

void fai_gemm_rows_ref_fma(const FaGemm *g, int begin, int end) { rows_of(g, begin, end); }
#else
typedef int FaNoFmaGemm; // a file must not be empty
#endif
