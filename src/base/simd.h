// One answer to "which kernels?": those for AVX2 where the processor has it, their scalar twins elsewhere and where the
// environment says FA_SIMD=ref. Both give the same bits.
#ifndef FAI_SIMD_H
#define FAI_SIMD_H

#include <stdbool.h>

bool fai_simd_wanted(void); // AVX2 with all that comes with it (FMA, BMI, POPCNT), and FA_SIMD does not say ref
bool fai_fma_here(void);    // fused multiply-add: what a scalar twin of a kernel that fuses may use

#endif
