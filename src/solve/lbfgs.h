// Limited-memory BFGS whose initial Hessian is somebody else's: the two loops, apart (thesis 001 alg. 2: forwardLbfgs
// and backwardLbfgs; Liu et al. 2017).
//
// The loops need s_i . (q - sum of a_j y_j) and the like. Kept products s_i . y_j turn them into recursions on numbers,
// so that each loop is one pass of products and one of sums over the fields, however long the history; the first loop's
// products come with the pass that makes a pair.
#ifndef FAI_LBFGS_H
#define FAI_LBFGS_H

#include "solve/field.h"

enum { FA_LBFGS_MAX = 20 };

typedef struct FaLbfgs {
    const FaFieldShape *shape;
    int room, count;                          // pairs at most, pairs now
    float *s[FA_LBFGS_MAX], *y[FA_LBFGS_MAX]; // steps and changes of the gradient, oldest first
    double sy[FA_LBFGS_MAX][FA_LBFGS_MAX];    // s_i . y_j for i <= j
    double alpha[FA_LBFGS_MAX];               // of the last forward loop
    const float *seen;       // the gradient of the last push, and s_i . that: a forward loop on it needs no
    double sg[FA_LBFGS_MAX]; // products
} FaLbfgs;

FaCode fai_lbfgs_init(FaLbfgs *h, const FaFieldShape *shape, int room, FaArena *arena, FaError *err);
void fai_lbfgs_clear(FaLbfgs *h);
// Remember the step a*d and what it did to the gradient. A pair of no or negative curvature is left out: false. g1 is
// to stay as it is until the next forward loop on it.
bool fai_lbfgs_push(FaLbfgs *h, double a, const float *d, const float *g0, const float *g1);
void fai_lbfgs_forward(FaLbfgs *h, const float *g, float *q); // q = g - sum of alpha_i y_i
// d = -(r + sum of (alpha_i - beta_i) s_i). more: see field.h; NULL: nothing
void fai_lbfgs_backward(FaLbfgs *h, const float *r, float *d, const FaFieldMore *more);

#endif
