// Strain of triangles: skin and bone (paper 004 eq. 14, 15, 17).
//
//     F = F0 + Du Dm^-1     3x2, from displacements; F0: the rest triangle's own plane, orthonormal
//     E = w/2 |F - R|^2     R: the closest 3x2 matrix with orthonormal columns, F (F'F)^-1/2
//
// Turned or bent, one costs nothing; stretched or sheared it does. Everything is finite for any displacement; where
// F has lost a dimension R is not unique and a bounded one is taken.
#ifndef FAI_MEMBRANE_H
#define FAI_MEMBRANE_H

#include "energy/elastic.h"

typedef struct FaMembranes FaMembranes;

FaCode fai_membranes_new(const FaElastic *e, FaMembranes **membranes, FaError *err);
void fai_membranes_free(FaMembranes *membranes); // NULL is fine
// Energy in J at displacements u (nnode x 4); its gradient is added to g where that is given. The same bits for any
// number of threads. No allocation.
double fai_membranes_eval(FaMembranes *membranes, const float *u, float *g);

// One triangle in double. u: displacements of its corners (m); gradient: 9, nullable (N). Returns J.
double fai_membrane_energy_ref(const double *x0, const int node[3], double w, const double u[3][3], double gradient[9]);
bool fai_membrane_sound(const double *x0, const int node[3]); // it has an area
void fai_membrane_triplets(const FaElastic *e, FaTriplet *t); // 9 for each: its share of A

#endif
