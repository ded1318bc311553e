// The scalar twins of svd_avx2.c: the same source on one float, the same bits.
#include "math/svd_kernels.inc"

const FaSvdKernels fai_svd_kernels_ref = {svd_many, polar_many, memo_many};
