// Inside of the sparse Cholesky: what its files share. The outline:
//
//     chol_order     unknowns   -> an order with little fill
//     chol_symbolic  order      -> supernodes (columns of like structure, made wider where that is faster), their tree,
//                                  and parts: pieces of the tree that threads work on
//     chol_factor    values     -> panels, by fronts: each supernode is a small dense matrix that takes in its
//     children's;
//                                  chol_dense has the kernels
//     chol_solve     panels     -> x
//
// Parts. The tree is cut into stages; a stage's parts are independent subtrees of what later stages leave over:
//
//     stage 2              [ top ]                         a part has its own columns, contiguous, and a tail: the
//     stage 1        [ a ]         [ b ]                   columns of later parts that its rows reach. It works on
//     stage 0     [1][2][3]     [4][5][6][7]               a vector of its own, columns then tail; the parent takes
//     zone last                                            in the tails of its children in order.
//
// So nothing is shared between threads, and the sums have one order whatever their number.
//
// Panels. The columns of a supernode are taken FA_CHOL_WIDTH at a time. A panel holds the inverse of its triangle, then
// the rows below, in the order of the supernode's rows; a row has the panel's width, made even by a zero column.
#ifndef FAI_CHOL_WORK_H
#define FAI_CHOL_WORK_H

#include "base/base.h"
#include "math/chol.h"

#include <stdatomic.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define FA_CHOL_AVX2 1
#define AVX2 __attribute__((target("avx2,fma")))
#endif
// Loops over registers: arrays of them stay registers only if every index is a constant early.
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { FA_CHOL_WIDTH = 8, FA_CHOL_STAGES = 6 };

// Columns [first, first + width) and the rows below them that are not zero. Its front is (width + nrow) square.
typedef struct FaCholSuper {
    int first, width, nrow;
    int parent; // supernode of the first row, -1: none
    int part;
    int child_begin, child_end; // in plan->child
    int entry_begin, entry_end; // of the matrix, in plan->entry
    size_t row;                 // of its nrow rows in plan->row and plan->place
    size_t local;               // of its width + nrow places in plan->local
    size_t panel, last_panel;   // first numbers of its first panel and of its last
    size_t update;              // what it leaves to its parent (nrow x nrow), in the numbers of its part's stack
} FaCholSuper;

typedef struct FaCholPart {
    int super_begin, super_end;
    int col_begin, ncol, ntail;
    int parent;                 // part that takes in the tail, -1: there is none
    int child_begin, child_end; // in plan->part_child
    size_t tail;                // of its ntail rows in plan->tail and plan->tail_place
    size_t vec;                 // of its vector, in quadruples
    size_t front, stack;        // of its dense memory, in numbers
} FaCholPart;

typedef struct FaCholEntry {
    int from; // in FaCsr.val
    int to;   // in the front
} FaCholEntry;

// Everything that depends on the pattern only; shared by twins, read only.
typedef struct FaCholPlan {
    atomic_int owners;
    FaArena *arena;
    int n, nzone, ninner; // ninner = n - nzone
    int nnz_a;
    uint64_t pattern;   // fingerprint of start and col
    int *perm;          // unknown of each column                                            (n)
    int nsuper;         // the zone, if any, is the last
    FaCholSuper *super; //                                                                   (nsuper)
    int *child;         // supernodes, in order
    int *row;           // columns' numbers of the rows, increasing
    int *place;         // of the rows in the parent's front
    int *run;           // behind the last of the rows from each one on whose places there are consecutive
    int *local;         // of columns and rows in the part's vector
    FaCholEntry *entry; // of the lower triangle, by supernode
    int npart, nstage;
    FaCholPart *part;              // by stage; the zone, if any, is the last                           (npart)
    int stage[FA_CHOL_STAGES + 1]; // first part of each stage, zone excluded, then their number
    int *part_child;
    int *tail;                   // columns' numbers
    int *tail_place;             // in the parent's vector
    size_t nvec;                 // quadruples of all vectors
    size_t npanel, npanel_inner; // numbers of all panels; without the zone's
    size_t ndense;               // numbers of all fronts and stacks
    size_t nnz;
    double flops;
} FaCholPlan;

struct FaChol {
    FaCholPlan *plan;
    FaArena *arena;
    double drop;
    bool single, rough, avx2, ready;
    float *panel_f, *vec_f;  // single; rough: no panels                                          (npanel, 4 nvec)
    uint16_t *panel_r;       // rough: upper halves of floats                                     (npanel)
    double *panel_d, *vec_d; // double
    double *dense;           // fronts and stacks                                                 (ndense)
    double *work;            // the zone's front by fours of rows              (nzone rounded up to 4, squared)
    float *inverse;          // S^-1                                                              (nzone x nzone)
    float *pairs;            // the zone's right-hand side in pairs; then its result              (4 (nzone + 1))
    int *fail;               // first column of each part whose pivot is not positive, or -1      (npart)
    const FaCholPeer *peer;  // with mod
    void *mod;               // another library's factor; NULL: our own
};

// Row r of the front of a supernode: where columns begin, a multiple of 4 numbers with 4 to spare.
static inline size_t fai_front_stride(const FaCholSuper *s) { return ((size_t)(s->width + s->nrow) + 3) / 4 * 4 + 4; }
static inline int fai_even(int w) { return (w + 1) & ~1; }

// order[0..n): which of the n nodes of a graph without loops comes k-th. start, neighbor: both directions of every
// edge.
FaCode fai_chol_order(FaCholOrder how, int n, const int *start, const int *neighbor, int *order, FaError *err);
FaCode fai_chol_plan(const FaCsr *a, const FaCholOptions *options, FaCholPlan **plan, FaError *err);
void fai_chol_plan_free(FaCholPlan *plan);              // when the last owner is gone
void fai_chol_factor_own(FaChol *c, const double *val); // fills c->fail

#endif
