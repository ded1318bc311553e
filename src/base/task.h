// Parallel loops whose result does not depend on the number of threads: chunks depend on n only, each chunk writes
// its own memory, and partial results are combined by the caller in chunk order.
#ifndef FAI_TASK_H
#define FAI_TASK_H

typedef void FaTaskFn(void *ctx, int begin, int end, int chunk);

int fai_chunks(int n, int chunk_size);  // how many calls fai_parallel makes
// fn(ctx, begin, end, chunk) for each chunk of [0, n); serial inside another parallel loop.
void fai_parallel(int n, int chunk_size, FaTaskFn *fn, void *ctx);

#endif
