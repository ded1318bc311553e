// The energies of tets, eight per register.
#if defined(__x86_64__)
#define FA_LANES_AVX2 1
#include "energy/tet_kernels.inc"

double fai_tet_run_avx2(const FaTetJob *job, int begin, int end, FaSvdShares *shares) {
    return run(job, begin, end, shares);
}

void fai_tet_deform_avx2(const FaTetJob *job, int begin, int end, float floor, float *rest, int stride, bool *far) {
    deform(job, begin, end, floor, rest, stride, far);
}
#else
typedef int FaNoAvx2; // a file must not be empty
#endif
