// The hypodermal surface: the skin moved inwards by its thickness, then smoothed (thesis 001, 5.3.1).
#ifndef FAI_LAYER_H
#define FAI_LAYER_H

#include "base/base.h"
#include "fascia/mesh.h"

typedef struct FaLayerOptions {
    double w_smooth; // of eq. 5.9, as a length in units of the local thickness to the power 4: see layer.c
    double w_lap;
} FaLayerOptions;

// deep = argmin |xh - t|^2 + w_smooth |L xh|^2 + w_lap |L xh - L x|^2, t = x - thickness * normal       (eq. 5.8, 5.9)
// skin: triangles over skin nodes; normal: unit (nvert x 3); thickness: m (nvert); rim: 1 on open boundaries (nvert).
FaCode fai_layer_solve(const FaMesh *skin, const float *normal, const float *thickness, const unsigned char *rim,
                       const FaLayerOptions *options, float *deep, FaError *err);

#endif
