// The residual pass: what markers still miss, spread over the skin.
//
// Of all smooth fields e on the skin the one that best meets the markers' residual r: with S the markers' points,
//     H = M + lm^2 L + lb^4 L M^-1 L         membrane and bending over the lengths lm and lb, 0 on the rim
//     min  e'He / g + (S e - r)' N^-1 (S e - r)      ->   e = E W r,   E = H^-1 S'/g,   W = (G + N)^-1,   G = S E
// g makes the mean diagonal of G 1, so that a marker's noise N is a share of that: 0 meets it exactly. Each coordinate
// on its own. H lives on the surface: lips and lids are as far from each other as the way along the skin, not as the
// gap between them.
//
// W is also the metric in which a solve knows that a smooth remainder costs little (generalised least squares).
// E is made once; W when the markers' noises change (a dense n x n factor), no allocation.
#ifndef FAI_SPREAD_H
#define FAI_SPREAD_H

#include "face/face.h"

typedef struct FaSpreadPoint {
    int node[3]; // skin nodes; node[0] < 0: the marker is not on the skin, and takes no part
    float bary[3];
} FaSpreadPoint;

typedef struct FaSpreadOptions {
    double membrane;     // m; 0: 20 mm
    double bending;      // m; 0: 14 mm
    const double *scale; // how far off each node is thought to be, in any unit: e becomes scale times a smooth field;
                         // NULL: 1 (nskin)
} FaSpreadOptions;

typedef struct FaSpread FaSpread;

FaCode fai_spread_new(const FaFace *face, int npoint, const FaSpreadPoint *point, const FaSpreadOptions *options,
                      FaSpread **spread, FaError *err);
void fai_spread_free(FaSpread *spread);                // NULL is fine
const double *fai_spread_gram(const FaSpread *spread); // G, symmetric                         (npoint x npoint)
// Noise of each marker (npoint): not finite or negative: missing. Remembered: nothing is done where nothing changed.
// Returns true where W changed.
bool fai_spread_noise(FaSpread *spread, const double *noise);
const double *fai_spread_metric(const FaSpread *spread); // W, symmetric, rows of missing markers 0 (npoint x npoint)
// coef = W r: npoint x 3 each, may not overlap.
void fai_spread_coefficients(const FaSpread *spread, const double *r, double *coef);
// e += E coef at the skin nodes (nskin x 4); and at the markers' points (npoint x 3), set.
void fai_spread_add(const FaSpread *spread, const double *coef, float *e);
void fai_spread_at_points(const FaSpread *spread, const double *coef, double *at);

#endif
