// How often triangles wind around a point: 1 inside of a closed surface that faces outwards, 0 outside, -1 inside of
// one that faces inwards, 2 where two bodies overlap; a fraction near holes, where it falls smoothly from 1 to 0.
//
// Jacobson et al., Robust inside-outside segmentation using generalized winding numbers, 2013; far triangles taken
// together as one dipole: Barill et al., Fast winding numbers for soups and clouds, 2018.
#ifndef FAI_WINDING_H
#define FAI_WINDING_H

#include "base/base.h"

typedef struct FaWinding FaWinding;

// tri (ntri x 3) at x (nvert x 3, m); both are copied. Free with fai_winding_free. FA_E_NUMERIC: a position is not
// finite.
FaCode fai_winding_new(const float *x, int ntri, const int *tri, FaWinding **winding, FaError *err);
void fai_winding_free(FaWinding *winding); // NULL is fine

double fai_winding_exact(const FaWinding *winding, const double p[3]); // the sum of all solid angles
double fai_winding_at(const FaWinding *winding, const double p[3]);    // within 0.06 of it; thread-safe

#endif
