// Learning of the network (net.h): forward, backward, Adam. Rows of a batch are samples; widths are padded to multiples
// of FA_GEMM_WIDE with zeros, which stay zeros.
//
//     p = R z + g(z, q) - g(0, q)      e = basis (p - t)      loss = mean over the batch of the weighted mean of |e_v|
//
// t: the sample's components over su. e is what is wrong at each vertex, mm, and |e_v| = sqrt(e_v^2 + eps^2) - eps: a
// distance, not its square, for a few contacts of many millimetres would have all of a square's attention. A step looks
// at one in `every` blocks of vertices, another each time.
#ifndef FAI_TRAIN_MLP_H
#define FAI_TRAIN_MLP_H

#include "neural/gemm.h"
#include "neural/net.h"

typedef struct FaMlp {
    int nlayer, batch, nd, nn, nc;
    int width[FA_NET_LAYERS + 1], pad[FA_NET_LAYERS + 1];    // pad[i] >= width[i]
    size_t count;                                            // parameters, padding among them
    size_t at_weight[FA_NET_LAYERS], at_bias[FA_NET_LAYERS]; // rows of inputs            (pad[i] x pad[i + 1])
    float *param, *grad, *first, *second, *mean, *best;      // Adam's moments; running mean; best so far  (count)
    float *turned;                                           // scratch: a transposed weight
    float *in[FA_NET_LAYERS + 1], *sum[FA_NET_LAYERS];       // rows: batch moved, batch still (2 batch x pad)
    float *slope[2];                                         // scratch, a layer's        (2 batch x widest)
    float *target;                                           // (batch x pad[n])
    size_t at_ridge;                                         // R                          (nd x pad[n])
    float *basis;                                            // u su, mm, padded vertices  (nc x nall)
    float *share;                                            // weights of vertices        (nall / 3)
    int nall, every;
    double *row_sum;                   // (batch)
    float *some, *turned_some, *error; // of a step (pad[n] x most) (most x pad[n]) (batch x most)
    double beta1, beta2;               // powers of Adam's, so far
    FaArena *arena;
} FaMlp;

enum { FA_MLP_BLOCK = 48 }; // coordinates that a step looks at or not, together
// basis: (nc x 3 nvert) and share (nvert) are copied.
FaCode fai_mlp_new(int nlayer, const int *width, int nd, int batch, int nvert, const float *basis, const float *share,
                   FaMlp *mlp, FaError *err);
void fai_mlp_free(FaMlp *mlp); // empty is fine
// The last layer is zero: learning starts from the ridge part (nc x nd).
void fai_mlp_start(FaMlp *mlp, uint64_t seed, const float *ridge);

// The caller fills in[0] of the first `rows` rows of a batch with z and q (fai_mlp_row) and target. Gives the loss;
// grad, if wanted. With `param` as given (one of mlp's).
void fai_mlp_row(FaMlp *mlp, int row, const float *z, const float *q, const float *target);
double fai_mlp_loss(FaMlp *mlp, const float *param, int rows, int turn, bool want_grad); // turn: which vertices
// One step along grad; the running mean follows by the share `follow`.
void fai_mlp_adam(FaMlp *mlp, double rate, double decay, double follow);

void fai_mlp_to_net(const FaMlp *mlp, const float *param, FaNet *net); // weights, biases and ridge, allocated there

#endif
