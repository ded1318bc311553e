#include "math/svd.h"

#include "base/simd.h"
#include "math/svd_kernels.h"

#include <math.h>
#include <stdlib.h>

static const FaSvdKernels *twin(void) {
#ifdef FA_SVD_HAVE_AVX2
    if (fai_fma_here()) return &fai_svd_kernels_ref_fma;
#endif
    return &fai_svd_kernels_ref;
}

static const FaSvdKernels *pick(void) {
#ifdef FA_SVD_HAVE_AVX2
    if (fai_simd_wanted()) return &fai_svd_kernels_avx2;
#endif
    return twin();
}

void fai_svd3_many(int n, const float *a, int stride, const FaSvd3 *out) { pick()->svd(n, a, stride, out); }
void fai_svd3_many_ref(int n, const float *a, int stride, const FaSvd3 *out) { twin()->svd(n, a, stride, out); }
void fai_polar3_many(int n, const float *a, int stride, float *r) { pick()->polar(n, a, stride, r); }
void fai_polar3_many_ref(int n, const float *a, int stride, float *r) { twin()->polar(n, a, stride, r); }

// --- memo ---------------------------------------------------------------------------------------------------------

struct FaSvdMemo {
    int n;
    const FaSvdKernels *kernels;
    float *block; // 64-byte aligned                                   (n / 8 rounded up x FA_MEMO_ROWS x 8)
    void *base;   // what was allocated
};

FaCode fai_svd_memo_new(int n, FaSvdMemo **memo, FaError *err) {
    *memo = NULL;
    FaSvdMemo *m = FA_NEW(1, FaSvdMemo);
    size_t blocks = ((size_t)FA_MAX(n, 0) + 7) / 8;
    if (m) m->base = fai_alloc_array(blocks * 8 * FA_MEMO_ROWS + 16, sizeof(float));
    if (!m || !m->base) {
        fai_svd_memo_free(m);
        return FA_FAIL_MEMORY(err);
    }
    m->n = FA_MAX(n, 0);
    m->kernels = pick();
    m->block = (float *)(((uintptr_t)m->base + 63) / 64 * 64);
    fai_svd_memo_restart(m);
    *memo = m;
    return FA_OK;
}

void fai_svd_memo_free(FaSvdMemo *memo) {
    if (!memo) return;
    fa_free(memo->base);
    fa_free(memo);
}

// The state of before is forgotten wholly, also as a first guess: a step's bits do not depend on the steps before it.
void fai_svd_memo_restart(FaSvdMemo *memo) {
    size_t blocks = ((size_t)memo->n + 7) / 8;
    for (size_t b = 0; b < blocks; b++) {
        float *block = memo->block + b * 8 * FA_MEMO_ROWS;
        for (int l = 0; l < 8; l++) {
            block[8 * FA_MEMO_F + l] = NAN;
            for (int e = 0; e < 9; e++) block[8 * (FA_MEMO_V + e) + l] = e % 4 == 0;
        }
    }
}

FaSvdShares fai_svd_memo_update(FaSvdMemo *memo, int begin, int end, const float *a, int stride, float tau0, float tau1,
                                const FaSvd3 *out) {
    FA_ASSERT(begin % 8 == 0 && begin >= 0 && end <= memo->n);
    float *block = memo->block + (size_t)(begin / 8) * 8 * FA_MEMO_ROWS;
    return memo->kernels->memo(block, end - begin, a, stride, tau0, tau1, out);
}
