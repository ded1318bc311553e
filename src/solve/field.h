// Arithmetic on fields: one quadruple of floats per node, all in one array. Products are summed
// in double, runs of 16 numbers in float (relative to the sum of their sizes some 1e-7 is lost), chunk by chunk in
// order.
#ifndef FAI_FIELD_H
#define FAI_FIELD_H

#include "base/base.h"

enum { FA_FIELD_MAX = 48 }; // products of one call

// The shape that all fields of a solver share, and scratch for sums.
typedef struct FaFieldShape {
    size_t n; // floats of a field: 4 per node, rounded up to 16; what is past the nodes stays 0
    bool wide;
    double *part; // chunks x FA_FIELD_MAX
} FaFieldShape;

FaCode fai_field_shape(FaArena *arena, int nnode, FaFieldShape *shape, FaError *err);
float *fai_field_new(const FaFieldShape *shape, FaArena *arena); // zeros, 64-byte aligned; NULL: no memory

// dot[k] = a[k] . b
void fai_field_dots(const FaFieldShape *f, int count, const float *const *a, const float *b, double *dot);
double fai_field_dot(const FaFieldShape *f, const float *a, const float *b);
// out = scale * base + sum of coef[k] v[k]; rounded to float after each term. out may be base.
void fai_field_sum(const FaFieldShape *f, double scale, const float *base, int count, const double *coef,
                   const float *const *v, float *out);

// What may be done with a sum while it is at hand; each part may be left out (NULL).
typedef struct FaFieldMore {
    const float *with; // dot = out . with
    double *dot;
    const float *from; // to = from + out
    float *to;
} FaFieldMore;
void fai_field_sum_more(const FaFieldShape *f, double scale, const float *base, int count, const double *coef,
                        const float *const *v, float *out, const FaFieldMore *more);

// s[n] = a d and y = g1 - g0, and in the same pass their products: sy[i] = s[i] . y and sg[i] = s[i] . g1 for i <= n,
// own = {s[n] . s[n], y . y}.
typedef struct FaFieldPair {
    double a;
    const float *d, *g0, *g1;
    int n;
    float *const *s;
    float *y;
} FaFieldPair;
void fai_field_pair(const FaFieldShape *f, const FaFieldPair *pair, double *sy, double *sg, double own[2]);

#endif
