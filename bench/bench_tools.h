// Benchmarks: one function each, listed in bench/bench.c (the lowest folder that sees all of them).
#ifndef FAI_BENCH_H
#define FAI_BENCH_H

#include "base/text.h"
#include "fascia/report.h"

typedef FaCode FaBenchFn(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err);
FaBenchFn fai_bench_blend;

// A rig of about the size and sparsity of ICT-FaceKit: 26,719 vertices, 57 shapes, 44 % of the deltas non-zero.
FaCode fai_bench_rig(FaRig **rig, FaError *err);
// Channels named after the rig's shapes, moving smoothly, about a third of them at 0 at any time.
FaCode fai_bench_clip(const FaRig *rig, int nframe, FaClip **clip, FaError *err);

// Times of one case over all frames, in ms: sorts them.
typedef struct FaBenchTimes {
    double med, min;
} FaBenchTimes;
FaBenchTimes fai_bench_times(double *ms, int n);
void fai_bench_machine(FaText *t); // "AMD EPYC, 2 cores, gcc 12.2.0"

#endif
