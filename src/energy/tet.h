// Elastic energies of tets: strain (thesis 001 eq. 5.10-5.11) and volume (5.12-5.13), eight tets per register.
//
//     F = I + Du Dm^-1      from displacements: what rests has F = I to the bit, and small strains keep their digits
//     strain                w_s/2 |F - R F_g|^2    R: the rotation closest to F F_g'
//     volume                w_v/2 |F - P|^2        P = U diag(x) V', F = U diag(s) V', x > 0 closest to s with product
//     det F_g
//
// F_g, per tet, is the posed rest shape (FaElasticFrame.tet_rest), the identity without one. Both targets are closest
// points, so the gradient is w (F - target), without derivatives of U and V. Everything is finite for any displacement,
// turned inside out or crushed. Where the closest point is not unique (s1 = -s2; expansion beyond twice the volume) the
// energy has a kink and one of the closest is taken.
#ifndef FAI_TET_H
#define FAI_TET_H

#include "energy/elastic.h"
#include "math/svd.h"

// A posed rest shape that keeps less than this of its volume, or is turned inside out, has none to keep: there the
// volume term is off.
#define FA_TET_LEAST_VOLUME 0.05f

typedef struct FaTets FaTets;

FaCode fai_tets_new(const FaElastic *e, FaTets **tets, FaError *err); // reads e now only
void fai_tets_free(FaTets *tets);
// Energy in J at displacements u (nnode x 4, 16-byte aligned); gradient: also prepare fai_tets_gather. memo (nullable,
// of ntet matrices): singular values by keeping, expanding or renewing against tau0 < tau1; else all exact. shares
// (nullable) counts. Parallel; the same bits for any number of threads. No allocation. One caller at a time per FaTets.
double fai_tets_eval(FaTets *tets, const FaElasticFrame *frame, const float *u, bool gradient, FaSvdMemo *memo,
                     float tau0, float tau1, FaSvdShares *shares);
// Add the gradient of the last eval that prepared it: g (nnode x 4, 16-byte aligned), N.
void fai_tets_gather(const FaTets *tets, float *g);
// F_g of a posed rest shape, for FaElasticFrame.tet_rest: 9 rows of ntet rounded up to 8, 32-byte aligned. Singular
// values below `floor` are raised to it, and such tets counted; floor < 0: F_g is taken as it is. u_goal: nnode x 4.
void fai_tets_pose(FaTets *tets, const float *u_goal, float floor, float *tet_rest, int *clamped);

// One tet in double, plain code: the truth for tests and the reference solver. u: displacements of its nodes (m); f_g:
// row-major or NULL; gradient: 12, nullable (N). Returns J.
double fai_tet_energy_ref(const double dm_inv[9], const double f_g[9], double w_s, double w_v, const double u[4][3],
                          double gradient[12]);
// Dm^-1 of a tet at rest positions x0 (nnode x 3); false where it has no volume.
bool fai_tet_inverse(const double *x0, const int node[4], double dm_inv[9]);
// x > 0 closest to s (s[0] >= s[1] >= |s[2]|) with product d > 0, in double.
void fai_volume_closest(const double s[3], double d, double x[3]);

#endif
