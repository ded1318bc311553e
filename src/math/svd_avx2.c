// The kernels of svd.h, eight matrices per register.
#if defined(__x86_64__)
#define FA_LANES_AVX2 1
#include "math/svd_kernels.inc"

const FaSvdKernels fai_svd_kernels_avx2 = {svd_many, polar_many, memo_many};
#else
typedef int FaNoAvx2; // a file must not be empty
#endif
