// Energies of contact and sticky rows (contact/rows.h; thesis 001 eq. 5.14-5.17).
//
// They are few (hundreds), so they are summed in double, one after another.
#ifndef FAI_PUSH_PULL_H
#define FAI_PUSH_PULL_H

#include "base/base.h"
#include "contact/rows.h"

// FA_E_ARG names the row whose node, weight, normal, gap or stiffness makes no sense. max_rows: FA_E_LIMIT beyond.
FaCode fai_rows_check(int nrow, const FaRow *row, int nnode, int max_rows, FaError *err);

// Energy at u (nnode x 4); adds the gradient to g where it is given. active (nullable, nrow): does the row act at u?
// PULL rows always do, PUSH rows while n.s < gap.
double fai_rows_eval(int nrow, const FaRow *row, const float *u, float *g, unsigned char *active);

// One row in double; u in the row's slots. Unused slots are left out. gradient nullable.
double fai_row_energy_ref(const FaRow *row, const double u[4][3], double gradient[4][3]);

// How far n.s is above the gap (PUSH), m.
double fai_row_slack(const FaRow *row, const float *u);

#endif
