// Kernels that exist twice: one body, compiled for any machine and again for AVX2. The body adds in a fixed order and
// fuses nothing (-ffp-contract=off), so both give the same bits; only the width of the registers differs. FA_SIMD=ref
// in the environment picks the plain one.
#ifndef FAI_KERNEL_H
#define FAI_KERNEL_H

#include "base/base.h"
#include "base/simd.h"

#if defined(__x86_64__)
#define FAI_WIDE __attribute__((target("avx2")))
#else
#define FAI_WIDE
#endif
#define FAI_BODY static inline __attribute__((always_inline))

// Four floats of one node: x, y, z and a spare. Memory is 16-byte aligned wherever it is used.
typedef float FaV4 __attribute__((vector_size(16), may_alias));

static inline double fai_v4_dot3(FaV4 a, FaV4 b) {
    return (double)a[0] * (double)b[0] + (double)a[1] * (double)b[1] + (double)a[2] * (double)b[2];
}

#endif
