// The network: what physics adds to a pose, from the pose's difference to the neutral and the neutral itself.
//
//     z = squash(Vd' d / sd)   q = squash(Vn' (n - mean) / sn)      squash(x) = 3 tanh(x/3)
//     f(d, n) = U (su (R z + g(z, q) - g(0, q)))                    so that f(0, n) = 0: the neutral stays
//     g: fully connected, swish between, widths nd + nn -> hidden ... -> nc; bounded, as what goes in is
//
// Vd, Vn, U: principal components of differences, neutrals and corrections over the training set, columns orthonormal;
// R: ridge regression. All of the template: a mesh of nvert vertices, whose neutral mean and triangles are kept, so
// that other meshes can be laid over it. Paper 004 eq. 11, 28-30; docs/method/neural.md says what differs.
#ifndef FAI_NET_H
#define FAI_NET_H

#include "base/base.h"

enum { FA_NET_LAYERS = 8, FA_NET_WIDTH = 4096 }; // and of components, of each kind, as many as FA_NET_WIDTH

typedef struct FaNet {
    uint64_t key;                 // of the samples it was trained on (FaShard)
    char made[512];               // the command, version and seed, for people
    int nvert, ntri;              // of the template
    float *mean;                  // mean neutral, m                                         (nvert x 3)
    int *tri;                     //                                                         (ntri x 3)
    unsigned char *region;        // 0, 1 upper lip, 2 lower lip, 3 upper lid, 4 lower lid         (nvert)
    int nweight;                  // shapes of the mean rig, in ARKit's order: 52
    float *shape;                 // their deltas, m: for pairs in registration               (nweight x nvert x 3)
    int nd, nn, nc;               // components
    float *vd, *vn, *u;           // columns one after another                               (nd|nn|nc x nvert x 3)
    float *sd, *sn, *su;          // standard deviations                                     (nd) (nn) (nc)
    float *ridge;                 //                                                         (nc x nd)
    int nlayer;                   // of g
    int width[FA_NET_LAYERS + 1]; // nd + nn, hidden, ..., nc
    float *weight[FA_NET_LAYERS]; // rows of outputs                                      (width[i+1] x width[i])
    float *bias[FA_NET_LAYERS];   //                                                      (width[i+1])
} FaNet;

void fai_net_free(FaNet *net); // arrays; empty is fine
// A file with a check sum, written aside and renamed. Bases and shapes int8 with a scale per column, vertices that
// nothing moves left out; weights halfs, scales and biases floats: a network read back is the rounded one, and written
// again gives the same bytes. Reading is bounded by the file's size, 8 times and 32 MB.
FaCode fai_net_save(const FaNet *net, const char *path, FaError *err);
FaCode fai_net_load(const char *path, FaNet *net, FaError *err);
void fai_net_round(FaNet *net); // to what the file holds, without one; the bases alone where there is no ridge yet
FaCode fai_net_parse(const void *data, size_t size, const char *name, FaNet *net, FaError *err); // from memory

// Inputs in components: z of a difference and q of a neutral (both nvert x 3), squashed.
void fai_net_difference(const FaNet *net, const float *difference, float *z);
void fai_net_neutral(const FaNet *net, const float *neutral, float *q);
// To components of the correction, already times su: z (nd), q (nn), out (nc). work: at least fai_net_work(net)
// floats. Same bits on every machine: no library's tanh or exp (neural/net_math.h).
size_t fai_net_work(const FaNet *net);
void fai_net_components(const FaNet *net, const float *z, const float *q, float *out, float *work);
// All of it, for tests and training figures: difference, neutral -> correction, m (nvert x 3 each).
void fai_net_apply(const FaNet *net, const float *difference, const float *neutral, float *correction, float *work);

#endif
