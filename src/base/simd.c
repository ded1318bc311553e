#include "base/simd.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)

bool fai_fma_here(void) { return __builtin_cpu_supports("fma"); }

bool fai_simd_wanted(void) {
    const char *env = getenv("FA_SIMD");
    if (env && !strcmp(env, "ref")) return false;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("popcnt");
}

#else

bool fai_fma_here(void) { return false; }
bool fai_simd_wanted(void) { return false; }

#endif
