// What a bound face's file holds (.fart), for those who write it and for libfascia-rt, which knows nothing of fascia.
//
//   0 8 signature   8 8 size of all   16 8 checksum of what follows   24 FaRtNumbers, then the sections in their order,
//   each at a multiple of 64. Little endian.
//
//     z = squash(sum of w_s encode_s)                      g: swish layers, the neutral folded into the first bias
//     t = ridge z + g(z) - g(0)                            weights of the K targets
//     c = sum of t_k scale_k basis_k                       on the template's nodes, in the rig's frame
//     x = neutral + sum of w_s shape_s + carry c           carry: a few nodes for each vertex that follows
#ifndef FAI_RT_LAYOUT_H
#define FAI_RT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define FA_RT_SIGNATURE 0x3130545241464146u // "FAFART01"

enum { FA_RT_LAYERS = 8, FA_RT_LANES = 8, FA_RT_BLOCK = 32, FA_RT_MOST = 1 << 24, FA_RT_WIDE = 4096 };
typedef enum FaRtPrecision { FA_RT_F32, FA_RT_F16, FA_RT_INT8 } FaRtPrecision;

typedef struct FaRtNumbers {
    int32_t nvert, nshape, names; // names: bytes of them, each ends with 0
    int32_t nrun, ndelta;         // of shapes: runs of vertices, vertices in them
    int32_t nd, nt, nlayer;       // components, targets, layers of g
    int32_t width[FA_RT_LAYERS + 1];
    int32_t precision, nnode; // of the basis
    int32_t nactive, ncarry;  // vertices that follow, and their nodes
    int32_t spare;
} FaRtNumbers;

typedef struct FaRtRun {
    int32_t begin, count, first; // vertices; first of their deltas
} FaRtRun;

enum {
    FA_RT_NAMES,   // char                                (names)
    FA_RT_NEUTRAL, // float, m                            (nvert x 3)
    FA_RT_SHAPE,   // int32, first run of each            (nshape + 1)
    FA_RT_RUN,     // FaRtRun                             (nrun)
    FA_RT_DELTA,   // float, m                            (ndelta x 3)
    FA_RT_ENCODE,  // float                               (nshape x pad nd)
    FA_RT_NET,     // float: of each layer weights by input (width[i] x pad width[i+1]), then biases (pad width[i+1])
    FA_RT_RIDGE,   // float                               (nd x pad nt)
    FA_RT_SCALE,   // float, m                            (pad nt)
    FA_RT_BASIS,   // float, half or int8, at most 1      (blocks of 32 coordinates x nt x 32)
    FA_RT_ACTIVE,  // int32, increasing                   (nactive)
    FA_RT_START,   // int32                               (nactive + 1)
    FA_RT_NODE,    // uint16                              (ncarry)
    FA_RT_WEIGHT,  // float                               (ncarry)
    FA_RT_SECTIONS
};

enum { FA_RT_HEAD = 24 };

static inline size_t fa_rt_pad(int n) { return ((size_t)n + FA_RT_LANES - 1) / FA_RT_LANES * FA_RT_LANES; }
static inline int fa_rt_blocks(int nnode) { return (3 * nnode + FA_RT_BLOCK - 1) / FA_RT_BLOCK; }
static inline int fa_rt_bytes(int precision) { return precision == FA_RT_F32 ? 4 : precision == FA_RT_F16 ? 2 : 1; }

static inline size_t fa_rt_net_size(const FaRtNumbers *n) {
    size_t sum = 0;
    for (int i = 0; i < n->nlayer; i++) sum += ((size_t)n->width[i] + 1) * fa_rt_pad(n->width[i + 1]);
    return sum;
}

// Where each section begins; at[FA_RT_SECTIONS]: the file's size. The numbers are in range.
static inline void fa_rt_sections(const FaRtNumbers *n, size_t at[FA_RT_SECTIONS + 1]) {
    const size_t size[FA_RT_SECTIONS] = {
        [FA_RT_NAMES] = (size_t)n->names,
        [FA_RT_NEUTRAL] = 12 * (size_t)n->nvert,
        [FA_RT_SHAPE] = 4 * ((size_t)n->nshape + 1),
        [FA_RT_RUN] = sizeof(FaRtRun) * (size_t)n->nrun,
        [FA_RT_DELTA] = 12 * (size_t)n->ndelta,
        [FA_RT_ENCODE] = 4 * (size_t)n->nshape * fa_rt_pad(n->nd),
        [FA_RT_NET] = 4 * fa_rt_net_size(n),
        [FA_RT_RIDGE] = 4 * (size_t)n->nd * fa_rt_pad(n->nt),
        [FA_RT_SCALE] = 4 * fa_rt_pad(n->nt),
        [FA_RT_BASIS] =
            (size_t)fa_rt_blocks(n->nnode) * (size_t)n->nt * FA_RT_BLOCK * (size_t)fa_rt_bytes(n->precision),
        [FA_RT_ACTIVE] = 4 * (size_t)n->nactive,
        [FA_RT_START] = 4 * ((size_t)n->nactive + 1),
        [FA_RT_NODE] = 2 * (size_t)n->ncarry,
        [FA_RT_WEIGHT] = 4 * (size_t)n->ncarry,
    };
    size_t next = FA_RT_HEAD + sizeof *n;
    for (int i = 0; i < FA_RT_SECTIONS; i++) {
        next = (next + 63) / 64 * 64;
        at[i] = next;
        next += size[i];
    }
    at[FA_RT_SECTIONS] = (next + 63) / 64 * 64;
}

// Of everything after the checksum.
static inline uint64_t fa_rt_sum(const unsigned char *p, size_t size) {
    uint64_t h = 0x9E3779B97F4A7C15u ^ size;
    for (size_t i = 0; i < size; i++) { // sizes are multiples of 8, the loop is not in a frame
        h = (h ^ p[i]) * 0x100000001B3u;
        h ^= h >> 29;
    }
    return h;
}

#endif
