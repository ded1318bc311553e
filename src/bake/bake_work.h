// What the stages of a bake share. Internal to bake*.c; see bake.c for the order of the stages.
#ifndef FAI_BAKE_WORK_H
#define FAI_BAKE_WORK_H

#include "bake/bake.h"
#include "bake/bake_stack.h"

typedef struct FaBakeWork {
    const FaBakeSource *source;
    const FaBakeParams *params;
    int nvert, nframe;
    int block;    // frames read at a time
    float goal;   // m: distance to stay within; params->max_error unless that proved out of reach
    double spent; // operations that went into finding fewer components, against a limit

    FaStack frames; // a block of frames, or what is left of them                          (block)
    FaStack spare;  //                                                                     (block)
    float *frame;   // one frame as it is read                                             (nvert x 3)
    float *span2;   // largest squared displacement of each vertex over all frames         (nvert)

    FaStack basis; // orthonormal fields that hold every frame nearly                     (nbasis)
    int nbasis;
    float *coef;   // frame f ~ sum over i of coef[i * nframe + f] basis_i                (nbasis x nframe)
    int coef_room; // rows
    float *rows;   // a block's coefficients, frame by frame                              (block x row_room)
    int row_room;
} FaBakeWork;

// Read frames [first, first + count) into w->frames.
FaCode fai_bake_read(FaBakeWork *w, int first, int count, FaError *err);
FaCode fai_bake_progress(const FaBakeWork *w, const char *stage, double done, FaError *err);
// w->rows[j * n + i] = scale * coef[i * nframe + first + j]: the coefficients of a block, frame by frame.
FaCode fai_bake_rows(FaBakeWork *w, const float *coef, int n, int first, int count, float scale, FaError *err);

// Eigenvalues, decreasing, and eigenvectors (rows of v) of a Gram matrix, which may be singular. g is destroyed.
FaCode fai_bake_eigen(int n, double *g, double *lambda, double *v, FaError *err);

// --- bake_basis.c -------------------------------------------------------------------------------------------------
// Find the basis, streaming: afterwards every frame is within a share of the goal of its image (unless the number of
// vectors reached its limit). Ordered by how far a vector moves any vertex.
FaCode fai_bake_basis(FaBakeWork *w, FaError *err);
// What the leading vectors of the basis leave over at worst, for every number of them: left[k], k = 0..nbasis, m,
// beside the mean of all frames (left[0]: the mean alone).
FaCode fai_bake_left(FaBakeWork *w, float *left, FaError *err);
// Row means, and the rows less their mean.
void fai_bake_centre(int n, int nframe, const float *coef, double *mean, float *centred);
// Eigenvectors of the rows' covariance: v (n x n), by decreasing variance.
FaCode fai_bake_axes(int n, int nframe, const float *rows, double *v, FaError *err);

// --- bake_shrink.c ------------------------------------------------------------------------------------------------
bool fai_bake_tired(const FaBakeWork *w); // fai_bake_shrink has had its share of time and will not find anything more
// The leading `rank` rows of w->coef, the others at their mean.
void fai_bake_leading(const FaBakeWork *w, int rank, float *coef);
// Coefficients (nbasis x nframe) of small rank about their mean that keep the sampled vertices (increasing) within the
// goal. lower: of as small a rank as can be found at or below `from`, starting at w->coef; *rank tells (at worst
// `from`, and coef is its truncation). Else of rank `from`, starting at coef; *rank is `from`, or 0 where none was
// found, and coef is unchanged.
FaCode fai_bake_shrink(FaBakeWork *w, int nsample, const int *sample, int from, bool lower, float *coef, int *rank,
                       FaError *err);

// --- bake_store.c -------------------------------------------------------------------------------------------------
// Sparse targets and weights from coefficients of that rank about their mean, measured on all vertices of all frames.
// *bake is NULL where the goal was missed (unless any is set): missed[v] (nvert) is then set for vertices where it was.
FaCode fai_bake_store(FaBakeWork *w, const float *coef, int rank, bool any, char *missed, FaBake **bake, FaError *err);

#endif
