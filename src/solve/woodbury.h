// Contact rows folded into a factored matrix: x = (S + C K C')^-1 b, S^-1 known densely on the zone (math/chol.h).
//
// Rows are scalar combinations w of zone nodes. PULL rows act on the three coordinates alike, so they only ask for a
// scalar matrix T = K^-1 + G, G = w' S^-1 w; they are folded first. On top of them PUSH rows, each along its normal n:
//     B = K^-1 + (n_i . n_j) (G - G_p T^-1 G_p')_ij        over those that act
// G is made for a row when it acts first, B's factor anew from the first row on that acts no more: what changes little
// costs little.
#ifndef FAI_WOODBURY_H
#define FAI_WOODBURY_H

#include "contact/rows.h"
#include "math/chol.h"

enum { FA_FOLD_MAX = 1024 }; // rows of each kind; further ones are left out

typedef struct FaFold FaFold;

FaCode fai_fold_new(int nnode, int nzone, const int *zone, int max_rows, FaFold **fold, FaError *err);
void fai_fold_free(FaFold *f); // NULL is fine
// Another set of rows. inverse: S^-1 (nzone x nzone), read until the next set. Returns how many rows are left out
// (nodes outside the zone). No allocation.
int fai_fold_rows(FaFold *f, int nrow, const FaRow *row, const float *inverse);
bool fai_fold_takes(const FaFold *f, int nrow,
                    const FaRow *row); // will it leave none of these out, were they all to act?
// Which rows act (nrow); NULL: all. Of very many only the first 512 PUSH rows are folded in.
void fai_fold_active(FaFold *f, const unsigned char *active);
bool fai_fold_empty(const FaFold *f); // no row acts
// Both of them for a step from u to u - x, with the PUSH rows that act at its end rather than at its begin: a row that
// is free now but in the way pushes in time, one that comes free does not hold back. Found by trial: `rounds` at most,
// each with the rows that the one before ends with, the first with `active` (nrow): those whose forces are in b.
// Returns how many rows changed in the last.
int fai_fold_step(FaFold *f, FaChol *chol, const FaRow *row, const float *u, const unsigned char *active, int rounds,
                  const float *b, float *x);
// x at the zone, given b at the zone (both nzone x 4; b is changed).
void fai_fold_solve(FaFold *f, FaChol *chol, float *b, float *x);

#endif
