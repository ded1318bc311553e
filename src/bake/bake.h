// Baking: displacement fields over time become a few sparse morph targets and a weight per frame and target, so that
// no vertex is ever further from its exact place than a given distance.
//
// Typical order: fill an FaBakeSource, fai_bake, use the FaBake, fai_bake_free. The frames are read several times, in
// order, a block at a time: memory does not depend on their number (but for 4 bytes per frame and component).
#ifndef FAI_BAKE_H
#define FAI_BAKE_H

#include "base/base.h"

typedef struct FaBakeSource {
    int nvert;
    int nframe;
    // Displacements of one frame, m (nvert x 3). Called from one thread, frames increasing in each pass.
    FaCode (*read)(void *user, int frame, float *r, FaError *err);
    void *user;
} FaBakeSource;

typedef struct FaBakeParams {
    double max_error;       // m, > 0: largest distance allowed
    int max_targets;        // > 0
    const double *local;    // rig = local * file coordinates (row-major 3x3): targets are rounded to float in the
                            // file's coordinates, where they will be stored; NULL: identity
    FaProgressFn *progress; // nullable
    void *progress_user;
} FaBakeParams;

// Weights lie in 0..1: tools and engines clamp what does not (8-bit weights, sliders). The price is at most one target
// more, which stays at 1 and moves the origin of the others.
typedef struct FaBake {
    int nvert, nframe;
    int ntarget;
    int *first;        // entries [first[i], first[i + 1]) of row and delta are target i      (ntarget + 1)
    int *row;          // vertex, increasing within a target                                  (first[ntarget])
    float *delta;      // displacement at weight 1, in the file's coordinates                 (first[ntarget] x 3)
    float *weight;     //                                                                     (nframe x ntarget)
    double max_error;  // m: largest distance over all vertices and frames, measured on the data above
    double mean_error; // m
    int worst_frame, worst_vertex;
} FaBake;

// FA_STALLED: max_targets was reached before max_error; the result is the best found and says how far off it is.
// Same result for any number of threads. FA_E_NUMERIC names the frame and vertex that is not finite.
FaCode fai_bake(const FaBakeSource *source, const FaBakeParams *params, FaBake **bake, FaError *err);
void fai_bake_free(FaBake *bake); // NULL is fine

#endif
