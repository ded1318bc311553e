// Springs on the length of a linear function of nodes: what edges (5.2-5.5) and bending (5.6-5.7) have in common.
//
//     v = sum of coef[k] x[node[k]]        an edge, or a row of the Laplacian; coefficients sum to 0
//     E = w/2 (|v| - rest)^2  +  w2/2 max(|v| - (1 + slack) rest, 0)^2
// which is w/2 |v - p|^2 with p = rest v/|v|, the projection of eq. 5.3 and 5.7.
//
// In floats |v| - rest would lose the digits that matter. With v = v0 + d, d from the displacements alone,
//     |v| - |v0| = (2 v0 + d).d / (|v| + |v0|)
// keeps them, and is 0 to the bit at rest. Where |v| = 0 the direction of v0 stands in: a point of no derivative.
#ifndef FAI_STRETCH_H
#define FAI_STRETCH_H

#include "base/base.h"

typedef struct FaStretchInput {
    int nnode, n;
    const int *start;      // entries of each spring                        (n + 1)
    const int *node;       //
    const double *coef;    //
    const double *x0;      // rest positions, m                             (nnode x 3)
    const double *weight;  //                                               (n)
    const double *weight2; // NULL: no second spring                        (n)
    double slack;          // elongation where the second one starts
} FaStretchInput;

typedef struct FaStretch FaStretch;

FaCode fai_stretch_new(const FaStretchInput *in, FaStretch **stretch, FaError *err);
void fai_stretch_free(FaStretch *s); // NULL is fine
// Energy at displacements u (nnode x 4); with `gradient` the forces stay inside for fai_stretch_gather. rest: NULL =
// |v0|.
double fai_stretch_eval(FaStretch *s, const float *rest, const float *u, bool gradient);
void fai_stretch_gather(const FaStretch *s, float *g); // adds to g (nnode x 4)
const float *fai_stretch_rest(const FaStretch *s);     // |v0| as the kernel has it: given as rest it changes nothing

// The same for one spring in double, written as the formula stands. r (nullable): dE/dv.
double fai_stretch_energy_ref(const double v[3], const double v0[3], double rest, double w, double w2, double slack,
                              double r[3]);

#endif
