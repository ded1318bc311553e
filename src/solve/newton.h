// Minimises over the free nodes (paper 000 eq. 6-8; enrich-notes)
//
//     inertia/2 |x - y|_M^2 + solid(x; X, mu, lambda) + damping + rows + springs - force . x + terms of the caller's
//
// Each is a term (energy/term.h), and the solver knows no more of them: an energy is added by FaNewtonOptions.term.
//
//   FA_NEWTON_PCG      Newton, double gradient, float block Hessian; conjugate gradients (forcing 0.1) on a factor of
//                      an earlier Hessian, remade when they need more than `refresh` iterations. A step that leaves
//                      less than a tenth of the gradient keeps its Hessian for the next. The default
//   FA_NEWTON_JACOBI   the same on the inverses of the 3x3 diagonal blocks: nothing is factored
//   FA_NEWTON_LBFGS    L-BFGS on the kept factor: no Hessian, no products
//   FA_NEWTON_CHOL     Newton with a factor per iteration: true Hessian, projected where that is not positive definite
//
// Negative curvature (CG or Cholesky) is met by reassembling a definite Hessian; a static solve that is indefinite for
// good gets a proximal mass term, which the report tells. Line search; the energy never rises. A solve depends on its
// input and, for PCG and LBFGS, on the kept factor.
// Same bits for any number of threads. No allocation in fai_newton_solve.
//
// Use. One FaNewton per kind of solve (dynamic, static): each keeps the factor of its own matrix. Warm starts: x + h v,
// better with
// + h (v - v before); not x + h v + h^2 a / 2, which moves free nodes against the bone they lie on: in thin layers that
// starts with ten times the gradient and costs three more Newton steps. Static: x + (X - X before).
#ifndef FAI_NEWTON_H
#define FAI_NEWTON_H

#include "contact/rows.h"
#include "energy/term.h"
#include "math/chol.h"

typedef enum FaNewtonKind {
    FA_NEWTON_PCG,
    FA_NEWTON_JACOBI,
    FA_NEWTON_LBFGS,
    FA_NEWTON_CHOL,
    FA_NEWTON_KINDS
} FaNewtonKind;
extern const char *const fai_newton_kind_name[FA_NEWTON_KINDS]; // "pcg", "jacobi", "lbfgs", "chol"

typedef struct FaNewtonOptions {
    FaNewtonKind kind;
    FaCholBackend backend; // CHOL: FA_CHOL_OWN or FA_CHOL_PEER
    FaCholOrder order;
    int max_rows;    // contact rows at most per solve
    int max_springs; // springs at most per solve
    int nterm;
    const FaTerm *term; // energies of the caller's; copied, what they point to must outlive the solver   (nterm)
    int refresh;        // PCG: CG iterations of one Newton step from which the factor is remade; 0: 15
    int relax;          // PCG: sweeps over nodes of rows around the kept factor, which has no rows in it; 0: none
    int history;        // LBFGS: pairs; 0: 10, at most 20
    bool manual; // PCG, LBFGS: the factor is the caller's business (fai_newton_prepare), so that it is known from what
                 // it was made; a solve that had to make its own drops it at the end
    bool brief;  // report.inverted is not counted
} FaNewtonOptions;

// k/2 |x - to|^2, or k/2 (normal . (x - to))^2 where the normal is not 0: a node on a plane, free to slide; one_sided:
// only where normal . (x - to) < 0.
typedef struct FaSpring {
    int node;
    double stiffness; // N/m
    double to[3];     // m
    double normal[3]; // unit, or 0
    bool one_sided;
} FaSpring;

typedef struct FaNewtonInput {
    FaSolidRest *rest;      // rest shape and materials (fai_solid_rest_set before)
    double inertia;         // 1/s2; 0: static
    const double *y;        // inertial prediction, m; NULL if inertia is 0                (nnode x 3)
    FaSolidDamping damping; // share 0: none
    double drag;            // 1/s2: drag/2 |x - damping.from|_M^2, mass-proportional damping (alpha / eta)
    const double *fixed_at; // where fixed nodes are, m; others are not read; NULL: where x has them   (nnode x 3)
    const double *force;    // N; NULL: none                                               (nnode x 3)
    int nrow;
    const FaRow *row;       // contact; displacements are from row_base                    (nrow)
    const double *row_base; // m: X0 of the rows                                           (nnode x 3)
    int nspring;
    const FaSpring *spring; //                                                             (nspring)
    int iterations;         // at most; 0: 50
    double tolerance;       // stop at |g| <= tolerance * reference; 0: 1e-3
    double reference; // N: what the gradient is compared with; 0: its norm at the start. With a warm start give the
                      // norm at the cold one, or a good guess is punished
    double floor;     // N: stop at |g| <= floor whatever the reference (else what rests is solved down to round-off)
    double forcing;   // CG stops at forcing * |g|; 0: 0.1
} FaNewtonInput;

typedef enum FaNewtonStatus {
    FA_NEWTON_CONVERGED, // tolerance reached
    FA_NEWTON_AT_FLOOR,  // below the floor
    FA_NEWTON_ROUNDED,   // no lower energy in floating point, gradient within rounding of it: as good as it gets
    FA_NEWTON_LIMIT,     // iterations used up
    FA_NEWTON_STALLED,   // no lower energy found although the gradient is not small
    FA_NEWTON_STATUSES
} FaNewtonStatus;
const char *fai_newton_status_name(FaNewtonStatus status);

enum { FA_NEWTON_LOG = 128 };
typedef struct FaNewtonReport {
    FaNewtonStatus status;
    int iterations;         // Newton or L-BFGS steps
    int cg;                 // CG iterations of all of them
    int evaluations;        // of energy and gradient
    int backtracks;         // of the line search
    int hessians;           // assembled
    int refreshes;          // factors made
    int negative;           // times negative curvature was met
    int projected;          // elements of all terms that a definite Hessian changed, at most in one assembly
    int proximal;           // steps that needed the proximal term
    int inverted;           // elements with J <= 0 at the end
    int active;             // rows that push or pull at the end
    double start, residual; // |g| over free coordinates at the start and at the end, N
    double
        energy[FA_NEWTON_LOG + 1]; // before the first and after each iteration, J (the last ones where there are more)
    double seconds, seconds_gradient, seconds_hessian, seconds_factor, seconds_linear;
} FaNewtonReport;

typedef struct FaNewton FaNewton;

// fixed: nonzero for Dirichlet nodes (nnode), NULL: none. mass: kg (nnode), NULL: only static solves without drag. Both
// copied. solid must outlive it.
FaCode fai_newton_new(const FaSolid *solid, const unsigned char *fixed, const double *mass,
                      const FaNewtonOptions *options, FaNewton **newton, FaError *err);
void fai_newton_free(FaNewton *n); // NULL is fine
// x: start in, result out (m, nnode x 3). FA_OK if converged, at the floor or rounded; FA_STALLED if LIMIT or STALLED
// (the result is usable, the energy lower than at the start). FA_E_NUMERIC for numbers that are not finite; FA_E_LIMIT,
// FA_E_ARG for rows and springs that do not fit. x is untouched on a negative code. report: nullable.
FaCode fai_newton_solve(FaNewton *n, const FaNewtonInput *in, double *x, FaNewtonReport *report, FaError *err);
// Energy at x, J, fixed nodes where in says; gradient (nullable, N, nnode x 3) with fixed rows set to 0; *norm
// (nullable): |gradient|.
double fai_newton_energy(FaNewton *n, const FaNewtonInput *in, const double *x, double *gradient, double *norm);
// Make the factor now, of the Hessian at x. FA_E_NUMERIC: not definite even where it is made so.
FaCode fai_newton_prepare(FaNewton *n, const FaNewtonInput *in, const double *x, FaError *err);
bool fai_newton_worn(const FaNewton *n); // there is no factor, or the last solves needed many iterations on it

// Sensitivities. At a minimum the gradient g(x, q) stays 0 while parameters q (an activation, a force, a rest length)
// change:  H dx + (dg/dq) dq = 0,  so  dx/dq = -H^-1 dg/dq;  and of a goal L(x), dL/dq = -(H^-1 dL/dx) . dg/dq.
typedef struct FaNewtonKept {
    int nrhs;
    const double *rhs; // not read at fixed nodes                              (nrhs x nnode x 3)
    double *out;       // 0 there; may be the same array                       (nrhs x nnode x 3)
    double tolerance;  // of the residual; 0: 1e-10
    // what it took
    int products;    // with the true Hessian in double, of all right-hand sides
    int refreshes;   // factors made
    double residual; // |rhs - H out| / |rhs|, the worst
} FaNewtonKept;

// out = H^-1 rhs over free nodes, H the true second derivatives at x of all that fai_newton_solve minimises for the
// same input (x: its result). Conjugate gradients in double on the factor that solve kept (JACOBI: on diagonal blocks
// made here). Where there is none it is made here, and the next solve begins with it (manual: it is dropped).
// No allocation.
// FA_STALLED: the tolerance was not reached, out is the best there is. FA_E_NUMERIC: H is not positive definite at x,
// or a number is not finite. FA_E_UNSUPPORTED names a term without `product`.
FaCode fai_newton_kept_solve(FaNewton *n, const FaNewtonInput *in, const double *x, FaNewtonKept *kept, FaError *err);

#endif
