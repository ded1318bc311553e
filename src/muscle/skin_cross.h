// Does a skin cross itself where it is? One tree, built at rest, whose boxes follow: 2 ms where a continuous test of
// the way there takes 35 to 100, so that this is asked first.
//
// Left out: triangles that share a vertex, and pairs that cross at rest. No allocation after fai_skin_cross_new.
#ifndef FAI_SKIN_CROSS_H
#define FAI_SKIN_CROSS_H

#include "base/base.h"

typedef struct FaSkinCross FaSkinCross;

// tri: ntri x 3, copied. x: rest (nnode x 3, m).
FaCode fai_skin_cross_new(int nnode, int ntri, const int *tri, const float *x, FaSkinCross **cross, FaError *err);
void fai_skin_cross_free(FaSkinCross *cross); // NULL is fine
// How many pairs cross at x that do not at rest; pair (nullable) gets the first `most` of them. Same for any number of
// threads.
int fai_skin_cross_count(FaSkinCross *cross, const float *x, int (*pair)[2], int most);

#endif
