// Definite second derivatives of one element in the frame of its singular vectors: shared by the reference and the
// assembly.
#ifndef FAI_SOLID_SECOND_H
#define FAI_SOLID_SECOND_H

#include "energy/solid.h"

// d2W/dF2 for dF = U D V': scale acts on D's diagonal, pair p (axes i = p + 1, j = p + 2) on (D_ij, D_ji) as [0 1; 1
// 2].
typedef struct FaSolidFrame {
    double scale[9];
    double flip[3], twist[3]; // eigenvalues on (D_ij + D_ji) and (D_ij - D_ji); of fai_solid_project
    double pair[3][3];
} FaSolidFrame;

bool fai_solid_project(FaSolidLaw law, double mu, double lambda, const double s[3],
                       FaSolidFrame *out); // was any negative
void fai_solid_pairs(FaSolidFrame *f);     // pair from flip and twist
void fai_solid_safe(FaSolidLaw law, double mu, double lambda, const double s[3], FaSolidFrame *out);

#endif
