// One identity's training samples: a neutral, and poses of it with what the physics adds to linear blending.
//
// A file, little endian, written aside and renamed; one changed byte is noticed:
//   0 8 signature   8 8 size of all   16 8 checksum of what follows   24 FaShard's numbers, then the arrays in its
//   order
// Differences and corrections are halfs: 0.02 mm at 40 mm for the former, which are inputs; corrections are small.
#ifndef FAI_SHARD_H
#define FAI_SHARD_H

#include "base/base.h"
#include "neural/pack.h" // fai_half, fai_half_float

typedef enum FaSampleKind { FA_SAMPLE_CLIP, FA_SAMPLE_MIXED, FA_SAMPLE_RANDOM } FaSampleKind;

typedef struct FaShard {
    uint64_t key;      // of everything that decides the samples: physics and its parameters, source, sampling, template
    uint64_t identity; // number of the identity, from 0; the same number is the same person for the same key
    int nvert;         // of the template
    int nweight;       // of a pose: 52, in ARKit's order
    int npose;
    int dropped;          // poses that did not converge, or crossed: not among them
    float *neutral;       // m                                              (nvert x 3)
    int *kind;            // FaSampleKind                                   (npose)
    int *clip;            // number of the clip a pose is from, -1: none    (npose)
    float *weight;        //                                                (npose x nweight)
    uint16_t *difference; // linear pose - neutral, m, half              (npose x nvert x 3)
    uint16_t *correction; // physics - linear pose, m, half              (npose x nvert x 3)
} FaShard;

FaCode fai_shard_write(const char *path, const FaShard *shard, FaError *err);
// Bounded by the file's size. Free with fai_shard_free. FA_E_FORMAT: damaged, or of another version.
FaCode fai_shard_read(const char *path, FaShard *shard, FaError *err);
void fai_shard_free(FaShard *shard); // arrays; empty is fine

#endif
