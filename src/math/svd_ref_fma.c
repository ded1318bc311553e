// The scalar twins once more, with the processor's own fma instead of a library call: the same bits, sooner.
#if defined(__x86_64__)
#define FA_LANES_FMA 1
#include "math/svd_kernels.inc"

const FaSvdKernels fai_svd_kernels_ref_fma = {svd_many, polar_many, memo_many};
#else
typedef int FaNoFma; // a file must not be empty
#endif
