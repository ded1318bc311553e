// The scalar twin once more, with the processor's own fma instead of a library call: the same bits, sooner.
#if defined(__x86_64__)
#define FA_LANES_FMA 1
#include "energy/tet_kernels.inc"

double fai_tet_run_ref_fma(const FaTetJob *job, int begin, int end, FaSvdShares *shares) {
    return run(job, begin, end, shares);
}

void fai_tet_deform_ref_fma(const FaTetJob *job, int begin, int end, float floor, float *rest, int stride, bool *far) {
    deform(job, begin, end, floor, rest, stride, far);
}
#else
typedef int FaNoFma; // a file must not be empty
#endif
