// Networks as ONNX files: our own protobuf, IR 8, operators of opset 17 that every runtime has (MatMul, Add, Sub, Mul,
// Sigmoid, Tanh), all numbers 32-bit floats.
#ifndef FAI_ONNX_H
#define FAI_ONNX_H

#include "neural/net.h"

// difference, neutral [1, 3 nvert] -> correction [1, 3 nvert], m: fai_net_apply.
FaCode fai_onnx_save(const FaNet *net, const char *path, FaError *err);

// Bound to a rig: weights [1, nweight] -> correction [1, nout], m.
//     z = squash(encode w)   t = ridge z + g(z) - still   correction = sum of t_k basis_k
// g's first bias holds what the rig's neutral says; still: g of z = 0; basis: times su. All row-major; borrowed.
typedef struct FaOnnxBound {
    int nweight, nd, nc, nout, nlayer;
    const int *width;           // nd, hidden, ..., nc                       (nlayer + 1)
    const float *encode;        //                                           (nd x nweight)
    const float *const *weight; // rows of outputs                           (width[i + 1] x width[i])
    const float *const *bias;   //                                           (width[i + 1])
    const float *still;         //                                           (nc)
    const float *ridge;         //                                           (nc x nd)
    const float *basis;         //                                           (nc x nout)
    const char *made;           // for people
} FaOnnxBound;
FaCode fai_onnx_save_bound(const FaOnnxBound *bound, const char *path, FaError *err);

#endif
