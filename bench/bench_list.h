// Benchmarks of methods; see bench/bench_tools.h for what they share.
#ifndef FAI_BENCH_LIST_H
#define FAI_BENCH_LIST_H

#include "bench/bench_tools.h"

FaBenchFn fai_bench_live, fai_bench_svd, fai_bench_analytic, fai_bench_projective, fai_bench_enrich, fai_bench_drive,
    fai_bench_drive_full;
FaBenchFn fai_bench_drive_rig, fai_bench_muscle, fai_bench_neural, fai_bench_methods;

#endif
