// The kernels of solids for any processor: the same source as solid_avx2.c, the same bits.
#define KERNEL
#define NAME fai_solid_kernels_ref
#include "energy/solid_kernels.inc"
