// Algorithm 1 of paper 000: a body whose rest shape X and materials P change from step to step swings and settles as
// flesh does, but the change itself moves nothing. On any body of tets; knows nothing of faces.
//
//     dynamic   x' = argmin of eq. 10 with the rest shape and materials that were          (inertia, forces, damping,
//     contact) balance   f  = what elasticity and contact, with its friction, carry at x' static    x  = where they
//     carry the same in the new rest shape, with the new materials        (eq. 11-12)
//
// The state is the displacement d = x - X: where nothing pushes it is 0 to the last bit, whatever X does, and stays so.
// alpha < 1 mixes in what a step straight in the new rest shape would carry (section 7): 0 is a simulation without
// rebalancing.
//
// Inertia is that of solve/inertia.h: the scheme of the world, seen from the moving head. A change of X carries the
// velocity that the head has at the new place, so that only motion against the head is momentum.
//
// Damping is physical: beta K (strain rates) and drag M (velocity against the head), both at the end of the step, both
// second order with BDF2, so that the result depends on neither the step nor the output's rate.
#ifndef FAI_REBALANCE_H
#define FAI_REBALANCE_H

#include "solve/inertia.h"
#include "solve/newton.h"

typedef struct FaRebalanceOptions {
    FaNewtonOptions newton;
    FaScheme scheme;  // EULER is the paper's; BDF2 keeps what rings
    double alpha;     // 1: full rebalancing .. 0: none
    double beta;      // s: stiffness-proportional damping (fai_damping_beta)
    double drag;      // 1/s: mass-proportional damping
    double tolerance; // of the gradient, relative to that of not moving; 0: 1e-3
    double calm;      // m/s2: an acceleration not worth a step (the absolute floor); 0: a tenth of the tolerance
    int iterations;   // of each solve; 0: 50
} FaRebalanceOptions;

// Rows for the path from where the step began to x (m, nnode x 3); they may only grow within a step. Displacements are
// from `base`.
typedef int FaCollectFn(void *user, const double *x, const FaRow **row);

typedef struct FaRebalanceInput {
    double h;                  // s
    const double *X;           // rest shape at the end of the step, m                          (nnode x 3)
    const double *mu, *lambda; // Pa                                                       (ntet)
    FaPose pose;               // of the head at the end of the step
    double accel[3];           // on all mass, head axes at the end of the step, m/s2
    const double *force;       // N, head axes; NULL: none                                      (nnode x 3)
    FaCollectFn *collect;      // NULL: no contact
    void *collect_user;
    const double *base; // m: X0 of the rows                                             (nnode x 3)
} FaRebalanceInput;

// Two matrices are solved with: with inertia, and without.
typedef enum FaRebalanceFactor { FA_REBALANCE_DYNAMIC, FA_REBALANCE_STATIC } FaRebalanceFactor;

typedef struct FaRebalanceReport {
    FaNewtonReport dynamic, naive, settle; // of the three solves; zero where one was not made
    bool prepared[2]; // a factor (FaRebalanceFactor) was made of the rest shape, materials and displacements that the
                      // step began with
    int clamped;      // elements of the new rest shape that were crushed (energy/solid.h)
    int stalled;      // solves that did not converge
    double seconds;
} FaRebalanceReport;

typedef struct FaRebalance FaRebalance;

// fixed: nonzero where a node is held at X (bone); mass in kg. Copied. solid must outlive it.
FaCode fai_rebalance_new(const FaSolid *solid, const unsigned char *fixed, const double *mass,
                         const FaRebalanceOptions *options, FaRebalance **r, FaError *err);
void fai_rebalance_free(FaRebalance *r); // NULL is fine
// At rest in X, carried by a head that moves with v (world, m/s) and omega (head axes, rad/s).
FaCode fai_rebalance_reset(FaRebalance *r, const double *X, const double *mu, const double *lambda, const FaPose *pose,
                           const double v[3], const double omega[3], FaError *err);
// The head is cut to another pose and motion: the body stays as it is in the head and begins anew there, without a
// swing.
void fai_rebalance_restart(FaRebalance *r, const FaPose *pose, const double v[3], const double omega[3]);
// The state is replaced only on success. FA_STALLED: usable, see report. No allocation.
FaCode fai_rebalance_step(FaRebalance *r, const FaRebalanceInput *in, FaRebalanceReport *report, FaError *err);
// Come to rest under constant forces: static solves without inertia, momentum gone.
FaCode fai_rebalance_settle(FaRebalance *r, const FaRebalanceInput *in, FaRebalanceReport *report, FaError *err);

double *fai_rebalance_d(
    FaRebalance *r); // displacements from X, m; may be changed between steps (stopped contacts)   (nnode x 3)
// Between steps: each node keeps a share of its displacement, 0..1, and where that is less than 1 it moves on as the
// whole ones do on the mean (n).
void fai_rebalance_calm(FaRebalance *r, const float *keep);
// Energy of motion against the head, J; elastic energy, J.
void fai_rebalance_energy(FaRebalance *r, double *kinetic, double *elastic);

// Each solver's factor is made of the body as it is when a step begins that finds it missing or worn, and says so
// (report.prepared): worn when conjugate gradients have spent more than a new one costs. After a load each is made
// again from what it was made of then, rest shape and materials given here and displacements of the state, so that the
// run goes on to the same bits; nothing to do where the next step makes a new one.
FaCode fai_rebalance_prepare(FaRebalance *r, FaRebalanceFactor which, const double *X, const double *mu,
                             const double *lambda, FaError *err);

// The state as one block: size, copy out, copy in. X and materials of the state are the caller's to keep: give them
// again, and those of the factors (fai_rebalance_prepare).
size_t fai_rebalance_state_size(const FaRebalance *r);
void fai_rebalance_save(const FaRebalance *r, void *state);
FaCode fai_rebalance_load(FaRebalance *r, const void *state, const double *X, const double *mu, const double *lambda,
                          FaError *err);
// How far the state is from a saved one: displacements, and what velocities make in h, m.
double fai_rebalance_distance(const FaRebalance *r, const void *state, double h);

#endif
