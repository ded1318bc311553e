// A factor for another time step, made beside the frames that still use the old one.
//
// The prefactored matrix of QUICK knows one inertia. Where a simulation goes on with another (a fifth and more: another
// frame rate, other substeps), a new factor is made on a thread of its own; the pattern is the same, so that the
// analysis is shared. It is adopted a fixed number of solves later, waited for if need be: results depend on the
// sequence of solves, never on the speed of the machine.
//
// Tried and left: contact rows outside the zone as stiffness on the diagonal of their nodes. It is too stiff along the
// other two directions and for what two lips do together: after eight iterations the energy is 1 % (a tenth of the
// stiffness) to 20 % (all of it) further from the minimum than without, where L-BFGS learns the rows by itself.
#ifndef FAI_REFACTOR_H
#define FAI_REFACTOR_H

#include "math/chol.h"

typedef struct FaRefactor FaRefactor;

// a: A without inertia; mass: kg (n); like: factored for `inertia`. patience: solves for which a need must persist (>=
// 1).
FaCode fai_refactor_new(const FaCsr *a, const double *mass, const FaChol *like, double inertia, int patience,
                        FaRefactor **refactor, FaError *err);
void fai_refactor_free(FaRefactor *r); // waits for work under way; NULL is fine
// Once per solve, before it: may exchange *chol for the new factor (and keeps the old one to make the next in). Returns
// whether it did. No allocation.
bool fai_refactor_turn(FaRefactor *r, double inertia, FaChol **chol);

#endif
