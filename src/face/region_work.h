// What the finders of regions share: the skin in canonical axes, its shapes, its scale. Internal to src/face.
#ifndef FAI_REGION_WORK_H
#define FAI_REGION_WORK_H

#include "face/geodesic.h"
#include "face/regions.h"
#include "math/mat3.h"

typedef struct FaRegionWork {
    const FaRig *rig;
    const int *vertex; // rig vertex of each node                                             (n)
    int n;
    double *x;      // canonical: x subject's left, y up, z front; m                       (n x 3)
    FaSurface skin; // at x
    float *d;       // a motion of the whole rig, scratch, m                               (nvert x 3)
    double *move;   // a motion of the nodes, canonical, scratch, m                        (n x 3)
    double scale;   // of the face against an average adult's
    // the mouth, once it is found
    bool mouth;        // it was found
    double *lower;     // 0: goes with the upper lip .. 1: with the lower                     (n)
    double centre[3];  // of the mouth, m
    double half_width; // of the mouth, m
    float **region;    // results                                                             (FA_REGIONS x n)
    FaNotes *notes;    // nullable
    FaArena *arena;
    FaError *err;
} FaRegionWork;

// Sum of the named shapes' motion, into w->move. False if the rig has none of them.
bool fai_region_motion(FaRegionWork *w, const char *const *names, int n);
// The point around which w->move is, by area and squared length, over nodes where keep (nullable) is set; false if
// nothing moves.
bool fai_region_centre(const FaRegionWork *w, const bool *keep, double out[3]);
double fai_region_most(const FaRegionWork *w); // near the largest length of w->move: one stray node does not count

static inline double fai_region_length(const double *x, int i) { return fai_v3_norm(x + 3 * (size_t)i); }
// 0 below a, 1 above b, smooth between.
static inline double fai_ramp(double a, double b, double x) {
    double u = fmin(1, fmax(0, (x - a) / (b - a)));
    return u * u * (3 - 2 * u);
}

// Nodes in the order of a coordinate, so that neighbours are found in a window.
typedef struct FaByKey {
    double key;
    int i;
} FaByKey;
void fai_sort_keys(FaByKey *item, int n); // by key, then by i

FaCode fai_find_mouth(FaRegionWork *w);                     // region_mouth.c: FA_REGION_LIP_UPPER, LIP_LOWER, MOUTH
FaCode fai_find_lids(FaRegionWork *w);                      // region_lids.c: FA_REGION_EYELIDS
FaCode fai_find_cheeks(FaRegionWork *w);                    // regions.c: FA_REGION_CHEEKS
FaCode fai_find_limbs(FaRegionWork *w, double *free_share); // region_limbs.c: 1 on tentacles                  (n)

#endif
