// CHOLMOD as the peer of our sparse Cholesky.
#ifndef FAI_BENCH_CHOLMOD_H
#define FAI_BENCH_CHOLMOD_H

#include <stdbool.h>

bool fai_bench_cholmod(void); // from now on FA_CHOL_PEER is CHOLMOD; false: it is not built in, or not there

#endif
