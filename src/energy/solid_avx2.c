// The kernels of solids for AVX2.
#if defined(__x86_64__)
#define KERNEL __attribute__((target("avx2")))
#define NAME fai_solid_kernels_avx2
#include "energy/solid_kernels.inc"
#else
typedef int FaNoSolidAvx2; // a file must not be empty
#endif
