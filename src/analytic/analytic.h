// Inside of the analytic method that tests and benches see.
#ifndef FAI_ANALYTIC_H
#define FAI_ANALYTIC_H

#include "fascia/analytic.h"

const double *fai_analytic_weights(const FaMethod *m);   // filtered weights, before they are rounded    (nshape)
FaOscillator fai_analytic_oscillator(const FaMethod *m); // of shapes without one of their own

#endif
