// Points that hang in tets, d = sum over the corners of w_c x_c, and what energies of such points add up to at the
// nodes. A fibre's direction is one (energy/fibre.h), and so is a place in the flesh that something pulls at
// (energy/pull.h): all derivatives by nodes are those by d times these weights.
//
// Everything is gathered: points are computed side by side, then each node sums over its entries (4 point + corner) and
// each pair of nodes over its own (10 point + pair of corners), in the order of the points. Same bits for any number of
// threads.
#ifndef FAI_TET_POINTS_H
#define FAI_TET_POINTS_H

#include "energy/incidence.h"
#include "energy/term.h"

typedef struct FaTetPoints {
    int nnode, n, npair;
    int *node;      // of each corner                                                 (n x 4)
    double *weight; // w_c                                                            (n x 4)
    FaIncidence by_node, by_pair;
    int *pair; // nodes of each pair, the lower first                                 (npair x 2)
    int *hint; // where their block was, and that of its transpose                    (npair x 2)
    // what the owner fills before it gathers
    double *pull;   // by d: first derivatives, or second ones times a step           (n x 3)
    double *matrix; // by d: second derivatives, xx xy xz yy yz zz                     (n x 6)
} FaTetPoints;

// Arrays for n points, in the arena; then the owner fills node and weight, and connects.
FaCode fai_tet_points_new(FaTetPoints *points, int nnode, int n, FaArena *arena, FaError *err);
FaCode fai_tet_points_connect(FaTetPoints *points, FaArena *arena, FaError *err);

static inline void fai_tet_point(const FaTetPoints *p, int i, const double *x, double d[3]) {
    const int *node = p->node + 4 * (size_t)i;
    const double *w = p->weight + 4 * (size_t)i;
    for (int k = 0; k < 3; k++) {
        d[k] = 0;
        for (int c = 0; c < 4; c++) d[k] += w[c] * x[3 * (size_t)node[c] + (size_t)k];
    }
}

void fai_tet_points_gather(FaTetPoints *points, double *g);        // pull, added to nodes             (nnode x 3)
void fai_tet_points_blocks(FaTetPoints *points, FaBlocks *blocks); // matrix, added to blocks
// pull = matrix times the step, point by point.
void fai_tet_points_step(FaTetPoints *points, const double *step);

#endif
