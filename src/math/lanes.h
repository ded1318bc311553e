// Floats side by side: one source for a kernel and its scalar twin.
//
// A kernel is written once, on FaV: eight floats of an AVX2 register where FA_LANES_AVX2 is defined before this header,
// else one float. Every operation here rounds the same way in both, so the twins agree to the last bit; + - * / are the
// compiler's own operators (never fused: -ffp-contract=off), v_fma is fused in both. No sum runs across lanes, and
// nothing here approximates (rcpps and rsqrtps differ between processors).
//
// A kernel and what it calls are FA_LANE functions: inlined into one function that has the target attribute.
#ifndef FAI_LANES_H
#define FAI_LANES_H

#include "base/base.h"

#ifdef FA_LANES_AVX2

#include <immintrin.h>
#define FA_LANE_TARGET __attribute__((target("avx2,fma")))
#define FA_LANE __attribute__((target("avx2,fma"), always_inline)) static inline
enum { FA_LANES = 8 };
typedef __m256 FaV;  // values
typedef __m256 FaVm; // masks: all bits of a lane, or none

FA_LANE FaV v_set(float x) { return _mm256_set1_ps(x); }
FA_LANE FaV v_load(const float *p) { return _mm256_load_ps(p); }
FA_LANE void v_store(float *p, FaV x) { _mm256_store_ps(p, x); }
FA_LANE FaV v_fma(FaV a, FaV b, FaV c) { return _mm256_fmadd_ps(a, b, c); }   // a b + c
FA_LANE FaV v_fms(FaV a, FaV b, FaV c) { return _mm256_fmsub_ps(a, b, c); }   // a b - c
FA_LANE FaV v_fnma(FaV a, FaV b, FaV c) { return _mm256_fnmadd_ps(a, b, c); } // c - a b
FA_LANE FaV v_sqrt(FaV x) { return _mm256_sqrt_ps(x); }
FA_LANE FaV v_max(FaV a, FaV b) { return _mm256_max_ps(a, b); } // b where either is no number
FA_LANE FaV v_min(FaV a, FaV b) { return _mm256_min_ps(a, b); }
FA_LANE FaV v_abs(FaV x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
FA_LANE FaV v_copysign(FaV size, FaV sign) {
    FaV bit = _mm256_set1_ps(-0.0f);
    return _mm256_or_ps(_mm256_andnot_ps(bit, size), _mm256_and_ps(bit, sign));
}
FA_LANE FaVm v_gt(FaV a, FaV b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
FA_LANE FaVm v_lt(FaV a, FaV b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
FA_LANE FaVm v_all(void) { return _mm256_castsi256_ps(_mm256_set1_epi32(-1)); }
FA_LANE FaVm v_none(void) { return _mm256_setzero_ps(); }
FA_LANE FaVm v_both(FaVm a, FaVm b) { return _mm256_and_ps(a, b); }
FA_LANE FaVm v_either(FaVm a, FaVm b) { return _mm256_or_ps(a, b); }
FA_LANE FaVm v_not(FaVm a) { return _mm256_xor_ps(a, v_all()); }
FA_LANE FaV v_if(FaVm m, FaV a, FaV b) { return _mm256_blendv_ps(b, a, m); } // m ? a : b
FA_LANE FaV v_keep(FaVm m, FaV a) { return _mm256_and_ps(m, a); }            // m ? a : 0
FA_LANE unsigned v_bits(FaVm m) { return (unsigned)_mm256_movemask_ps(m); }  // bit l: lane l
FA_LANE bool v_any(FaVm m) { return v_bits(m) != 0; }
FA_LANE bool v_every(FaVm m) { return v_bits(m) == 0xff; }
// The power of two 2^e of a size >= 0, e from -126 to 126: size / 2^e is in [1, 4), or less where size is subnormal or
// 0.
FA_LANE FaV v_power(FaV size) {
    __m256i e = _mm256_and_si256(_mm256_castps_si256(size), _mm256_set1_epi32(0x7f800000));
    e = _mm256_max_epi32(_mm256_min_epi32(e, _mm256_set1_epi32(253 << 23)), _mm256_set1_epi32(1 << 23));
    return _mm256_castsi256_ps(e);
}
FA_LANE FaV v_power_inverse(FaV power) { // exactly
    return _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_set1_epi32(254 << 23), _mm256_castps_si256(power)));
}

#else

#ifdef FA_LANES_FMA // the same with the processor's own fma instead of a library call
#define FA_LANE_TARGET __attribute__((target("fma")))
#define FA_LANE __attribute__((target("fma"), always_inline)) static inline
#else
#define FA_LANE_TARGET
#define FA_LANE __attribute__((always_inline)) static inline
#endif
enum { FA_LANES = 1 };
typedef float FaV;
typedef bool FaVm;

FA_LANE FaV v_set(float x) { return x; }
FA_LANE FaV v_load(const float *p) { return *p; }
FA_LANE void v_store(float *p, FaV x) { *p = x; }
FA_LANE FaV v_fma(FaV a, FaV b, FaV c) { return __builtin_fmaf(a, b, c); }
FA_LANE FaV v_fms(FaV a, FaV b, FaV c) { return __builtin_fmaf(a, b, -c); }
FA_LANE FaV v_fnma(FaV a, FaV b, FaV c) { return __builtin_fmaf(-a, b, c); }
FA_LANE FaV v_sqrt(FaV x) { return __builtin_sqrtf(x); }
FA_LANE FaV v_max(FaV a, FaV b) { return a > b ? a : b; }
FA_LANE FaV v_min(FaV a, FaV b) { return a < b ? a : b; }
FA_LANE FaV v_abs(FaV x) { return __builtin_fabsf(x); }
FA_LANE FaV v_copysign(FaV size, FaV sign) { return __builtin_copysignf(size, sign); }
FA_LANE FaVm v_gt(FaV a, FaV b) { return a > b; }
FA_LANE FaVm v_lt(FaV a, FaV b) { return a < b; }
FA_LANE FaVm v_all(void) { return true; }
FA_LANE FaVm v_none(void) { return false; }
FA_LANE FaVm v_both(FaVm a, FaVm b) { return a && b; }
FA_LANE FaVm v_either(FaVm a, FaVm b) { return a || b; }
FA_LANE FaVm v_not(FaVm a) { return !a; }
FA_LANE FaV v_if(FaVm m, FaV a, FaV b) { return m ? a : b; }
FA_LANE FaV v_keep(FaVm m, FaV a) { return m ? a : 0; }
FA_LANE unsigned v_bits(FaVm m) { return m; }
FA_LANE bool v_any(FaVm m) { return m; }
FA_LANE bool v_every(FaVm m) { return m; }
FA_LANE FaV v_power(FaV size) {
    int32_t e;
    memcpy(&e, &size, sizeof e);
    e &= 0x7f800000;
    e = e < (253 << 23) ? e : 253 << 23;
    e = e > (1 << 23) ? e : 1 << 23;
    memcpy(&size, &e, sizeof e);
    return size;
}
FA_LANE FaV v_power_inverse(FaV power) {
    int32_t e;
    memcpy(&e, &power, sizeof e);
    e = (254 << 23) - e;
    memcpy(&power, &e, sizeof e);
    return power;
}

#endif

#endif
