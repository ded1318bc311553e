// Local moves that leave no tet inverted or nearly flat: what is left to do where elastic solves end folded.
#ifndef FAI_UNFOLD_H
#define FAI_UNFOLD_H

#include "base/base.h"

typedef struct FaUnfoldInput {
    int n, ntet;
    const int *tet;             //                                        (ntet x 4)
    const double *x0;           // every tet positive here                (n x 3)
    const unsigned char *fixed; // nodes that stay                        (n)
    int tries; // where tets stay inverted: how often the nodes around them are scattered, to begin from elsewhere
} FaUnfoldInput;

// x in and out (n x 3): nodes around bad tets move as little as they must, all others keep their bits. *bad: bad tets
// at the start, *left: inverted ones at the end (folded between fixed nodes). Serial, same bits always.
FaCode fai_unfold(const FaUnfoldInput *in, double *x, int *bad, int *left, FaError *err);

// F of a tet against x0: row-major; its determinant is returned.
double fai_tet_gradient(const double *x0, const double *x, const int tet[4], double F[9]);

#endif
