// Learning of the network's g (net.h): forward, backward, Adam. Rows of a batch are samples; widths are padded to
// multiples of FA_GEMM_WIDE with zeros, which stay zeros.
//
//     p = g(z, q) - g(0, q)      loss = mean over the batch of sum_c omega_c (p_c - t_c)^2
//
// t: the sample's components over su, less the ridge part; omega: su^2 over their sum, so that the loss is a squared
// distance.
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
    float *target, *omega;                                   //                  (batch x pad[n]) (pad[n])
    double beta1, beta2;                                     // powers of Adam's, so far
    FaArena *arena;
} FaMlp;

FaCode fai_mlp_new(int nlayer, const int *width, int nd, int batch, FaMlp *mlp, FaError *err);
void fai_mlp_free(FaMlp *mlp);                 // empty is fine
void fai_mlp_start(FaMlp *mlp, uint64_t seed); // the last layer is zero: learning starts from the ridge part

// The caller fills in[0] of the first `rows` rows of a batch with z and q (fai_mlp_row) and target. Gives the loss;
// grad, if wanted. With `param` as given (one of mlp's).
void fai_mlp_row(FaMlp *mlp, int row, const float *z, const float *q, const float *target);
double fai_mlp_loss(FaMlp *mlp, const float *param, int rows, bool want_grad);
// One step along grad; the running mean follows by the share `follow`.
void fai_mlp_adam(FaMlp *mlp, double rate, double decay, double follow);

void fai_mlp_to_net(const FaMlp *mlp, const float *param, FaNet *net); // weights and biases, allocated there

#endif
