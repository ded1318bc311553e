// A symmetric matrix of 3x3 float blocks over the free nodes of a solid: pattern fixed, values replaced by
// fai_solid_hessian; other energies (term.h) add theirs, and may ask for blocks of nodes that share no element.
//
// Both triangles are stored, so that a product reads rows in order and each is summed by one thread. A block is
// column-major, nine floats: three overlapping loads of four make its columns.
#ifndef FAI_SOLID_BLOCKS_H
#define FAI_SOLID_BLOCKS_H

#include "energy/solid.h"
#include "math/csr.h"

struct FaBlocks {
    int nnode;     // of the solid
    int nfree;     // block rows
    int *node;     // of each row                                                       (nfree)
    int *row;      // of each node, -1: fixed                                           (nnode)
    int *start;    // first block of each row, then their number                        (nfree + 1)
    int *col;      // rows, increasing                                                  (start[nfree])
    int *diagonal; // block of (i, i)                                                   (nfree)
    float *val;    // (9 start[nfree], padded)
    // how elements arrive: a tile (solid_work.h) sums the blocks of its elements in slots of its own, a unique block
    // (col >= row) then those of its tiles
    int nunique;
    int *unique;     // block (i, j), i <= j                                              (nunique)
    int *mirror;     // block (j, i)                                                      (nunique)
    int *from_start; // of its slots in from[], by tiles                                  (nunique + 1)
    int *from_turn;  // from here on slots have block (j, i): summed apart, added transposed   (nunique)
    int *from;       // slots
    int *tile;       // first slot of each tile, then their number; a tile's last one is for fixed nodes   (ntile + 1)
    int *slot;    // of pair p of element e within its tile, by patches: slot[(e / PATCH * 10 + p) * PATCH + e % PATCH]
    float *slots; // (tile[ntile], 9 each)
    FaArena *arena;
};

// fixed: nonzero for nodes that are not unknown (nnode), NULL: none. pair: nodes that get a block besides those of
// elements; any order, repeats and fixed nodes are fine (npair x 2).
FaCode fai_blocks_new(const FaSolid *solid, const unsigned char *fixed, int npair, const int *pair, FaBlocks **blocks,
                      FaError *err);
void fai_blocks_free(FaBlocks *blocks);

void fai_blocks_add_diagonal(FaBlocks *b, int row, const double m[9]); // + m (symmetric) to block (row, row)
// Number of the block of nodes i and j, for val + 9 number; -1: one of them is fixed, or the pattern has none.
int fai_blocks_at(const FaBlocks *b, int i, int j);
// + m (row-major) to the block of nodes i and j, and its transpose to that of j and i; i == j: m is symmetric, added
// once. Fixed nodes are left out. The pattern has the pair. Threads: different pairs only.
void fai_blocks_add(FaBlocks *b, int i, int j, const double m[9]);
// y = A x; quadruples, the spare ignored and set to 0 (nfree x 4). Parallel; same bits with and without AVX2.
void fai_blocks_mul(const FaBlocks *b, const float *x, float *y);
void fai_blocks_csr(const FaBlocks *b, FaCsr *out); // values into a matrix made by fai_blocks_pattern
FaCode fai_blocks_pattern(const FaBlocks *b, FaCsr *out,
                          FaError *err); // the 3 nfree scalar matrix; free with fai_csr_free

#endif
