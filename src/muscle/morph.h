// A Poisson morph: displacements that are known at some nodes of a tet mesh (skin, bone), spread smoothly to the
// others,
//     min sum over tets of V |grad d|^2,      d given where `known`
// on the mesh as it is deformed, so that what is pressed together stays so (paper 002, section 5).
#ifndef FAI_MORPH_H
#define FAI_MORPH_H

#include "base/base.h"

typedef struct FaMorph FaMorph;

// tet: ntet x 4; rest: m, nnode x 3; known: nonzero where displacements are given (nnode). All is copied.
FaCode fai_morph_new(int nnode, int ntet, const int *tet, const double *rest, const unsigned char *known,
                     FaMorph **morph, FaError *err);
void fai_morph_free(FaMorph *morph); // NULL is fine
// x: where the mesh is, m; tets that are flat or inside out there count as they are at rest. d: in at known nodes, out
// at all (nnode x 3). FA_E_NUMERIC where that fails.
FaCode fai_morph_solve(FaMorph *morph, const double *x, double *d, FaError *err);
// The same in two parts, for many fields on one mesh.
FaCode fai_morph_at(FaMorph *morph, const double *x, FaError *err);
void fai_morph_spread(FaMorph *morph, double *d);

#endif
