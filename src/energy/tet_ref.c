// The scalar twin of tet_avx2.c: the same source on one float, the same bits.
#include "energy/tet_kernels.inc"

double fai_tet_run_ref(const FaTetJob *job, int begin, int end, FaSvdShares *shares) {
    return run(job, begin, end, shares);
}

void fai_tet_deform_ref(const FaTetJob *job, int begin, int end, float floor, float *rest, int stride, bool *far) {
    deform(job, begin, end, floor, rest, stride, far);
}
