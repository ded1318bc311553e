#include "neural/gemm.h"

#include "base/simd.h"
#include "base/task.h"

enum { ROWS = 48 }; // of a chunk

static FaGemmRows *twin(void) {
#if defined(__x86_64__)
    if (fai_fma_here()) return fai_gemm_rows_ref_fma;
#endif
    return fai_gemm_rows_ref;
}

static FaGemmRows *pick(void) {
#if defined(__x86_64__)
    if (fai_simd_wanted()) return fai_gemm_rows_avx2;
#endif
    return twin();
}

typedef struct Work {
    const FaGemm *g;
    FaGemmRows *rows;
} Work;

static void some_rows(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Work *w = ctx;
    w->rows(w->g, begin, end);
}

static void run(const FaGemm *g, FaGemmRows *rows) {
    FA_ASSERT(g->n % FA_GEMM_WIDE == 0 && g->ldb % FA_GEMM_WIDE == 0 && g->ldc % FA_GEMM_WIDE == 0);
    FA_ASSERT((uintptr_t)g->b % 32 == 0 && (uintptr_t)g->c % 32 == 0);
    Work w = {g, rows};
    fai_parallel(g->m, ROWS, some_rows, &w);
}

void fai_gemm(const FaGemm *g) { run(g, pick()); }
void fai_gemm_ref(const FaGemm *g) { run(g, twin()); }
