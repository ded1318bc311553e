#include "base/task.h"

#include "base/base.h"

#ifdef _OPENMP
#include <omp.h>
#endif

static int thread_limit;  // 0: all cores

void fa_threads_set(int count) { thread_limit = FA_MAX(count, 0); }

int fa_threads(void) {
#ifdef _OPENMP
    return thread_limit ? thread_limit : omp_get_num_procs();
#else
    return 1;
#endif
}

int fai_chunks(int n, int chunk_size) { return n <= 0 ? 0 : (n - 1) / chunk_size + 1; }

void fai_parallel(int n, int chunk_size, FaTaskFn *fn, void *ctx) {
    int chunks = fai_chunks(n, chunk_size);
#ifdef _OPENMP
    int threads = FA_MIN(fa_threads(), chunks);
    if (threads > 1 && !omp_in_parallel()) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
        for (int c = 0; c < chunks; c++) fn(ctx, c * chunk_size, FA_MIN(n, (c + 1) * chunk_size), c);
        return;
    }
#endif
    for (int c = 0; c < chunks; c++) fn(ctx, c * chunk_size, FA_MIN(n, (c + 1) * chunk_size), c);
}
