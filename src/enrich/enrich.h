// Inside of the method enrich that tests and benches see.
#ifndef FAI_ENRICH_H
#define FAI_ENRICH_H

#include "fascia/enrich.h"
#include "method/method.h"
#include "solve/rebalance.h"

typedef struct FaEnrichTotals {
    int steps;                                         // of time, since the method was opened
    int clamped;                                       // rest elements, worst step
    int stalled;                                       // solves that did not converge
    int iterations, cg, refreshes, proximal, negative; // of all solves
    int rows;                                          // contact rows, worst step
    double collider_depth;                             // m: skin in the user's colliders, worst frame
    double seconds;                                    // in steps
    double seconds_dynamic, seconds_static, seconds_contact, seconds_output;
} FaEnrichTotals;
const FaEnrichTotals *fai_enrich_totals(const FaMethod *m);
FaRebalance *fai_enrich_body(FaMethod *m);
const double *fai_enrich_mu(const FaMethod *m);        // of the flesh, at the last step's end, Pa             (ntet)
struct FaColliders *fai_enrich_colliders(FaMethod *m); // NULL: there are none

#endif
