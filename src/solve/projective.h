// Projective dynamics: x = argmin  inertia/2 |x - y|_M^2 + sum of energies(x)      (thesis 001 eq. 3.12), three ways.
//
//   FA_SOLVE_GS      thesis algorithms 2-3: L-BFGS (history 5) whose initial Hessian is Gauss-Seidel sweeps on A with
//   the
//                    contact rows in it, swept again until the direction descends, doubled when the line search
//                    backtracks
//   FA_SOLVE_PD      plain projective dynamics: x = A^-1 (M y inertia + sum of w G' p) with all rows in A: folded in as
//   below, or,
//                    where they are outside the zone or the inertia is another, by conjugate gradients on the factor
//   FA_SOLVE_QUICK   ours, the default: L-BFGS on the prefactored A; contact and sticky rows that touch the zone's
//   nodes are
//                    folded in by Woodbury on the zone's dense Schur complement (math/chol.h), so they cost no second
//                    solve
//
// Every step logs its energies; they never rise (PD has that by construction while rows stay; the others by line
// search). A solve depends on its input alone: no history is carried over, a snapshot needs nothing of the solver (but
// see `refactor`). Same bits for any number of threads. No allocation in fai_projective_solve; more than max_rows rows:
// FA_E_LIMIT.
#ifndef FAI_PROJECTIVE_H
#define FAI_PROJECTIVE_H

#include "contact/rows.h"
#include "energy/elastic.h"
#include "solve/touch_zone.h"

typedef enum FaSolveKind { FA_SOLVE_QUICK, FA_SOLVE_GS, FA_SOLVE_PD } FaSolveKind;
typedef enum FaSvdKind { FA_SVD_EXACT, FA_SVD_TAYLOR } FaSvdKind;

typedef struct FaProjectiveOptions {
    FaSolveKind kind;
    FaSvdKind svd;
    double inertia;   // 1/s2: the usual one (1/h^2 for implicit Euler); QUICK factors A with it once
    int max_rows;     // contact rows at most per solve: memory is set aside for them
    int nzone;        // nodes that may be in rows (QUICK); rows elsewhere are handled by L-BFGS alone, and slower
    const int *zone;  // (nzone); see touch_zone.h
    float tau0, tau1; // of the memoised SVD; 0: the defaults
    bool tau_fixed;   // do not halve them after each iteration (the comparison of section 6.3.4)
    int gs_sweeps;    // GS: sweeps to begin with; 0: 2, as the thesis
    bool gs_fixed;    // GS: never more sweeps than that unless the direction does not descend (the comparison of
                      // figure 6.2)
    int refactor; // QUICK: make a new factor beside the frames when inertia has been off by a fifth for so many solves;
                  // 0: never. A solve then depends on those before it (see refactor.h)
} FaProjectiveOptions;

typedef struct FaProjectiveInput {
    const float *y; // inertial prediction, displacement                              (nnode x 4)
    double inertia; // 1/s2; where it differs from the options' QUICK keeps its factor and the energy is still exact
    FaElasticFrame frame;
    int nrow;
    const FaRow *row; //                                                                (nrow)
    int iterations;   // at most
    double tolerance; // stop when the gradient's norm, in units of A (|g|_{A^-1} or the nearest cheap one), fell by it;
                      // 0: never
    bool rested; // the start is the pose that frame.tet_rest is made of: tets have no energy there, and are not asked
    double
        floor; // J: stop where the next step promises less; without it what rests is solved down to rounding; 0: never
} FaProjectiveInput;

enum { FA_SOLVE_LOG = 256 };
typedef struct FaProjectiveReport {
    int iterations;  // made
    int evaluations; // of energy and gradient
    int backtracks;  // of the line search
    int sweeps;      // GS
    bool stalled;    // the line search found no lower energy: as low as floats go, or an error in a gradient
    double
        energy[FA_SOLVE_LOG + 1]; // before the first and after each iteration, J (of the last LOG where there are more)
    double seconds_local, seconds_global, seconds_search, seconds_setup;
    double at[FA_SOLVE_LOG + 1]; // s since the start of the solve, of each energy
    int svd_reused, svd_taylor, svd_full;
    bool refactored;  // a new factor is used from this solve on
    int rows_outside; // rows that were not folded in: L-BFGS (QUICK) or conjugate gradients (PD) see to them
} FaProjectiveReport;

typedef struct FaProjective FaProjective;

FaCode fai_projective_new(const FaElastic *e, const FaProjectiveOptions *options, FaProjective **p,
                          FaError *err); // e must outlive it
void fai_projective_free(FaProjective *p);
// u: start in, result out (nnode x 4). Returns FA_STALLED if not even one iteration lowered the energy although the
// gradient is not small.
FaCode fai_projective_solve(FaProjective *p, const FaProjectiveInput *in, float *u, FaProjectiveReport *report,
                            FaError *err);
// Will a solve of this input do without any local step? QUICK, one iteration from a rested start, all rows in the zone
// and the inertia within half of the options'. With the targets of the tets held, which are F_g, the energy is a
// quadratic above the true one (a majorant; with the rows' half springs a convex function), and the step goes to its
// minimum, no higher than the start: there is nothing to search for, and nothing is evaluated; frame.tet_rest may be
// NULL. Where the rows that act are not settled in ROUNDS the last guess is taken.
bool fai_projective_once(const FaProjective *p, const FaProjectiveInput *in);
// Energy and (nullable) gradient at u, as the solvers see them: for tests and logs.
double fai_projective_energy(FaProjective *p, const FaProjectiveInput *in, const float *u, float *gradient);

// The reference: the same energies in double, element by element, plain code. Minimises by L-BFGS to `tolerance`
// (relative fall of the gradient) or until nothing changes. u, y, anchors in double (n x 3); slow. For tests, truth in
// benchmarks, verification.
typedef struct FaReferenceInput {
    const double *y;
    double inertia;
    const double *anchor, *tet_rest, *edge_rest,
        *bend_rest; // as FaElasticFrame, (nanchor x 3), (ntet x 9), ...; NULL: rest
    int nrow;
    const FaRow *row;
    int iterations;
    double tolerance;
} FaReferenceInput;
FaCode fai_reference_solve(const FaElastic *e, const FaReferenceInput *in, double *u, double *energy, int *iterations,
                           FaError *err);
double fai_reference_energy(const FaElastic *e, const FaReferenceInput *in, const double *u, double *gradient);

#endif
