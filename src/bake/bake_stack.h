// A stack of displacement fields cut into blocks, so that the products of a principal component analysis over millions
// of numbers run from cache: data[panel][block][vector of the panel][x y z of 128 vertices].
//
//     panel 0 (16 vectors)                panel 1
//     +- block 0 -+- block 1 -+ ...       ...
//     | v0 xxyyzz | v0 xxyyzz |           every function walks blocks in parallel tasks, and in each
//     | v1 xxyyzz | v1 xxyyzz |           block panel by panel: 16 x 1.5 kB stay in the first-level cache
//     +-----------+-----------+
//
// Same bits for any number of threads and with or without wide vectors: every number is the result of the same
// operations in the same order.
#ifndef FAI_BAKE_STACK_H
#define FAI_BAKE_STACK_H

#include "base/base.h"

enum { FA_STACK_VERTS = 128, FA_STACK_BLOCK = 3 * FA_STACK_VERTS, FA_STACK_PANEL = 16 };

typedef struct FaStack {
    int nvert;
    int nblock;
    int room; // vectors there is memory for
    int npanel;
    float **panel; // 64-byte aligned; vertices beyond nvert are zero                       (npanel)
    void **memory; //                                                                      (npanel)
} FaStack;

FaCode fai_stack_init(FaStack *s, int nvert, int room, FaError *err); // zeroed
FaCode fai_stack_grow(FaStack *s, int room, FaError *err);            // at least this many; new ones are zero
void fai_stack_free(FaStack *s);

void fai_stack_set(FaStack *s, int i, const float *x); // vector i from x (nvert x 3)
void fai_stack_get(const FaStack *s, int i, float *x);
void fai_stack_clear(FaStack *s, int first, int count);
void fai_stack_copy(FaStack *to, int i, const FaStack *from, int j); // to_i = from_j
// The three coordinates of vertex v in vector i lie at [0], [FA_STACK_VERTS] and [2 * FA_STACK_VERTS] of this.
static inline float *fai_stack_at(const FaStack *s, int i, int v) {
    return s->panel[i / FA_STACK_PANEL] +
           ((size_t)(v / FA_STACK_VERTS) * FA_STACK_PANEL + (size_t)(i % FA_STACK_PANEL)) * FA_STACK_BLOCK +
           v % FA_STACK_VERTS;
}

// out[i * nb + j] = a_i . b_j for i < na, j < nb; block sums in float, their total in double.
FaCode fai_stack_dots(const FaStack *a, int na, const FaStack *b, int nb, double *out, FaError *err);
// y_i += sum over j < nx of coef[i * ld + j] x_j, for i < ny.
void fai_stack_add(FaStack *y, int ny, const FaStack *x, int nx, const float *coef, size_t ld);
// s_i = sum over j < n of coef[i * n + j] s_j for i < k <= n, all at once.
FaCode fai_stack_mix(FaStack *s, int n, int k, const float *coef, FaError *err);
// As fai_stack_add, and max2[j] (nx + 1) is raised to the largest squared length of a vertex's vector in any y before
// x_j is added; max2[nx] after all: how good the first j vectors are, for every j at once.
FaCode fai_stack_add_watch(FaStack *y, int ny, const FaStack *x, int nx, const float *coef, size_t ld, float *max2,
                           FaError *err);
// Largest squared length of a vertex's vector in each of the first n, and which vertex has it (nullable).
FaCode fai_stack_peaks(const FaStack *s, int n, float *max2, int *vert, FaError *err);
// One step of the alternating direction method of multipliers for |e| <= reach at every vertex: with l = dual + e and
// l' = the part of l beyond a ball of that radius, e becomes 2 l' - dual and dual becomes l'. e_i goes with
// dual_(first + i). max2 is measured on e as it comes in.
FaCode fai_stack_reflect(FaStack *e, int n, FaStack *dual, int first, float reach, float *max2, FaError *err);
// Sum of the lengths of all vertices' vectors in the first n.
FaCode fai_stack_lengths(const FaStack *s, int n, double *sum, FaError *err);

#endif
