// A curve that reshapes weights: through given points, smooth, and nowhere falling where they do not fall (monotone
// cubic pieces, Fritsch and Carlson 1980). Paper 002, section 5: the spline that scales a snap's weights.
#ifndef FAI_FALLOFF_H
#define FAI_FALLOFF_H

#include "base/base.h"

enum { FA_FALLOFF_MOST = 32 };
typedef struct FaFalloff {
    int n; // 0: the straight line from 0 to 1
    double x[FA_FALLOFF_MOST], y[FA_FALLOFF_MOST], slope[FA_FALLOFF_MOST];
} FaFalloff;

// n points of x, y: x rises strictly from 0 to 1, y begins at 0 and does not fall, at most 1. NULL, or what is wrong.
const char *fai_falloff_set(FaFalloff *f, int n, const double (*point)[2]);
double fai_falloff_at(const FaFalloff *f, double x); // x is clamped to 0..1

#endif
