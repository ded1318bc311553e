// Springs of no length from places in the flesh to places in space:
//
//     E = 1/2 sum over s of k_s |x_s - y_s|^2,      x_s = sum over the corners of its tet of b_c x_c
//
// Muscles that are directed pull the flesh along their tracks by these (paper 002, section 4). Convex; its second
// derivatives do not change with x. A term of the list that Newton minimises, beside a solid of the same tets.
#ifndef FAI_PULL_H
#define FAI_PULL_H

#include "energy/term.h"

typedef struct FaPull FaPull;

// node: corners of each place (n x 4), of one tet; bary: their weights (n x 4). All is copied. Springs start at 0 N/m.
FaCode fai_pull_new(int nnode, int n, const int *node, const double *bary, FaPull **pull, FaError *err);
void fai_pull_free(FaPull *pull); // NULL is fine
// k: N/m, 0 or more (n); y: m (n x 3). Copied; both are finite.
void fai_pull_set(FaPull *pull, const double *k, const double *y);
FaTerm fai_pull_term(FaPull *pull); // pull must outlive the solver

#endif
