// Volumetric elasticity on linear tets whose rest shape and materials may change from step to step (paper 000 section
// 4).
//
//   FA_SOLID_STVK   W = mu tr(E^2) + lambda/2 (J - 1)^2,  E = (F'F - 1)/2          eq. 5, with tr(E^2) where it prints
//   (tr E)^2:
//                   that one resists no shear at all
//   FA_SOLID_NEO    W = mu/2 (|F|^2 - 3) - mu (J - 1) + (lambda + mu)/2 (J - 1)^2   stable neo-Hookean, finite through
//   inversion;
//                   the same mu and lambda mean the same for small strains
//   FA_SOLID_MOONEY W = c10 (|F|^2 - 3) + c01 (|cof F|^2 - 3) - (2 c10 + 4 c01) (J - 1) + (lambda + 2 c10)/2 (J - 1)^2
//                   Mooney-Rivlin with plain invariants: stress-free at rest, finite through inversion. mu is
//                   2 (c10 + c01), FA_MOONEY_AREA of it c01's; mu and lambda mean the same for small strains
//
// Everything is written in the displacement from the rest shape, G = D(x - X) Dm^-1, F = 1 + G, with the ones cancelled
// on paper: x == X gives energy and force that are zero to the last bit, whatever X is, and digits are not lost near
// it.
//
// FaSolid: the topology, built once, const, shared. FaSolidRest: rest shape, materials, scratch; one thread at a time
// uses one, and its calls are parallel inside. Same bits for any number of threads, with and without AVX2.
#ifndef FAI_SOLID_H
#define FAI_SOLID_H

#include "base/base.h"

typedef enum FaSolidLaw { FA_SOLID_STVK, FA_SOLID_NEO, FA_SOLID_MOONEY, FA_SOLID_LAWS } FaSolidLaw;

#define FA_MOONEY_AREA 0.24 // c01 / (c10 + c01): 0.6 of 2.5 kPa

// Which second derivatives. PROJECTED and SAFE have no negative eigenvalue.
typedef enum FaSolidHessian {
    FA_HESSIAN_TRUE,
    FA_HESSIAN_PROJECTED, // negative eigenvalues of an element's d2W/dF2 set to 0, analytically
    FA_HESSIAN_SAFE, // stress clamped to its positive part, lambda (J - 1) d2J dropped: gets out of inversions better
} FaSolidHessian;

typedef struct FaSolid FaSolid;
typedef struct FaSolidRest FaSolidRest;
typedef struct FaBlocks FaBlocks; // solid_blocks.h

// x0: the shape that elements of later rest shapes are measured against (m, nnode x 3, copied); every tet of positive
// volume there. tet: ntet x 4, copied.
FaCode fai_solid_new(int nnode, int ntet, const int *tet, const double *x0, FaSolidLaw law, FaSolid **solid,
                     FaError *err);
void fai_solid_free(FaSolid *solid); // NULL is fine
int fai_solid_nodes(const FaSolid *solid);
int fai_solid_tets(const FaSolid *solid);

FaCode fai_solid_rest_new(const FaSolid *solid, FaSolidRest **rest, FaError *err); // solid must outlive it; unset
void fai_solid_rest_free(FaSolidRest *rest);
// Rest shape and materials of a step; copied. No allocation.
// A rest element whose F against x0 has a singular value below 0.2 (crushed, flat or inverted by the animation) gets
// that value raised for its Dm^-1 and volume, and is counted in *clamped (nullable). x == X stays at rest even there.
// FA_E_NUMERIC: a number that is not finite; FA_E_ARG: a negative mu or lambda.
FaCode fai_solid_rest_set(FaSolidRest *rest, const double *X, // m                               (nnode x 3)
                          const double *mu,                   // Pa                              (ntet)
                          const double *lambda,               // Pa                              (ntet)
                          int *clamped, FaError *err);
const double *fai_solid_rest_x(const FaSolidRest *rest);      // X as set                        (nnode x 3)
const double *fai_solid_rest_volume(const FaSolidRest *rest); // of each element, m3             (ntet)

// Damping of strain rates (Kelvin-Voigt): share * dt-free quadratic
//     share/2 sum of vol [ 2 mu |e|^2 + lambda (tr e)^2 ],   e = sym(F0' D(x - from) Dm^-1),   F0 at `from`
// which for from = X is share/2 |x - X|_K^2 with K the stiffness at rest, and does not resist turning (e is the change
// of E).
typedef struct FaSolidDamping {
    double share;       // 1: dimensionless. beta / eta for velocities v = (x - from) / eta and Rayleigh damping beta K
    const double *from; // m                                                             (nnode x 3)
} FaSolidDamping;

// Energy at x (m, nnode x 3), J; where g is given, the gradient is stored there (N, nnode x 3). damping: nullable, its
// energy and gradient included. Not finite where x is not.
double fai_solid_energy(FaSolidRest *rest, const double *x, const FaSolidDamping *damping, double *g);
int fai_solid_inverted(FaSolidRest *rest, const double *x); // elements with J <= 0 at x
// Second derivatives at x into the blocks (replaced), by the pattern of blocks. Returns how many elements were not
// positive semidefinite before PROJECTED or SAFE changed them; -1 (not counted) for TRUE.
int fai_solid_hessian(FaSolidRest *rest, const double *x, const FaSolidDamping *damping, FaSolidHessian kind,
                      FaBlocks *blocks);

// Second derivatives at x, as they are, times a step p (m, nnode x 3), stored in y (N, nnode x 3): in double, for what
// floats do not settle. x and p are of all nodes, fixed or not.
void fai_solid_product(FaSolidRest *rest, const double *x, const FaSolidDamping *damping, const double *p, double *y);

// --- one element in double, plain: the reference of the tests
// -------------------------------------------------------------------- F = 1 + G, row-major. Energy density; P = dW/dF;
// H = d2W/dF2 (9 x 9, rows and columns as F). Any of P and H may be NULL.
double fai_solid_density(FaSolidLaw law, double mu, double lambda, const double G[9], double P[9], double *H);
// The same H with negative eigenvalues set to 0, or SAFE. Returns whether H was indefinite.
bool fai_solid_density_hessian(FaSolidLaw law, double mu, double lambda, const double G[9], FaSolidHessian kind,
                               double H[81]);

// --- physics for callers
// --------------------------------------------------------------------------------------------------------- Rayleigh
// damping c M + beta K with the ratio `ratio` of critical at frequency `hz` from stiffness alone: beta = ratio / (pi
// hz), s.
double fai_damping_beta(double ratio, double hz);
// First shear frequency of a layer on bone: sqrt(mu / rho) / (4 L), Hz; and its static deflection under acceleration a:
// rho a L^2 / (2 mu).
double fai_layer_frequency(double mu, double rho, double thickness);
double fai_layer_deflection(double mu, double rho, double thickness, double accel);

#endif
