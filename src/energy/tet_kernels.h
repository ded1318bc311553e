// What tet.c chooses between: the AVX2 kernel and its scalar twin, one source (tet_kernels.inc).
#ifndef FAI_TET_KERNELS_H
#define FAI_TET_KERNELS_H

#include "energy/tet.h"

enum { FA_TET_CHUNK = 768, FA_TET_PATCH = 96 }; // tets of a task; of a call to the memo within it

// Eight tets. Fillers at the end have weight 0 and a slot that nobody gathers.
typedef struct FaTetBlock {
    int node[4][8];
    int slot[4][8];             // where the gradient of each corner goes: nodes' slots are consecutive
    float inverse[9][8];        // Dm^-1, 1/m
    float strain[8], volume[8]; // weights, J
} FaTetBlock;

typedef struct FaTetJob {
    const FaTetBlock *block;
    const float *u;    // (nnode x 4)
    const float *rest; // F_g, nullable
    int rest_stride;
    float *slot;     // gradients, nullable                                    (slots x 4)
    bool volume;     // is any weight of volume not zero
    FaSvdMemo *memo; // nullable
    float tau0, tau1;
} FaTetJob;

// Tets [begin, end) of one chunk: the energy, and shares of the memo added.
typedef double FaTetFn(const FaTetJob *job, int begin, int end, FaSvdShares *shares);
// Deformation gradients into rows of `stride`; far[b]: may block b (counted from begin) have a singular value below
// floor.
typedef void FaTetDeformFn(const FaTetJob *job, int begin, int end, float floor, float *rest, int stride, bool *far);
extern FaTetFn fai_tet_run_ref;
extern FaTetDeformFn fai_tet_deform_ref;
#if defined(__x86_64__)
extern FaTetFn fai_tet_run_avx2, fai_tet_run_ref_fma;
extern FaTetDeformFn fai_tet_deform_avx2, fai_tet_deform_ref_fma;
#endif

#endif
