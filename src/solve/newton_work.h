// The inside of FaNewton, shared by its files:
//
//     newton.c         set-up, checks, the loop over steps, the line search
//     newton_terms.c   the terms that Newton brings itself
//     newton_total.c   sums over all terms at a point
//     newton_linear.c  a direction from a gradient: conjugate gradients, factors, L-BFGS
//     newton_smooth.c  rows in the preconditioner
//     newton_kept.c    right-hand sides other than the gradient
#ifndef FAI_NEWTON_WORK_H
#define FAI_NEWTON_WORK_H

#include "energy/term.h"
#include "solve/field.h"
#include "solve/lbfgs.h"
#include "solve/newton.h"

// What of a row acts at a point: its second derivatives.
typedef struct FaRowAct {
    float share;         // of its stiffness: 0 none, 1 all of it
    float across, along; // N/m: of friction, across the slip and along it; 0: none
    float way[3];        // unit, of the slip; 0 where there is none
} FaRowAct;

// Nodes of the rows that act (newton_smooth.c).
typedef struct FaNewtonSmooth {
    int sweeps; // before the factor and after it; 0: none
    int nnode, nrow;
    int *node;      // block rows                                                 (nnode of nfree)
    int *at;        // of a block row in node[], while they are listed            (nfree)
    int *start;     // first of its rows in of[], then their number               (nnode + 1)
    int *fill;      // how many are listed                                        (nnode)
    int *row;       // of the input, those that act                               (nrow of max_rows)
    int *of;        // 4 times a row of row[], plus which of its nodes            (start[nnode])
    float *inverse; // of the node's own second derivatives, row-major            (nnode x 9)
    float *gap;     // what a row gives by                                        (nrow x 3)
    float *y;       // a field
} FaNewtonSmooth;

struct FaNewton {
    const FaSolid *solid;
    FaNewtonOptions options;
    FaArena *arena;
    int nnode, nfree;
    double *mass;     // kg; NULL: none                                           (nnode)
    double mass_mean; // of free nodes; 1 without masses
    FaBlocks *blocks;
    int nterm;
    FaTerm *term; // the solid, the caller's, the other ones of our own

    // points
    double *x, *g; // where we are, gradient there                             (nnode x 3)
    double *x_next, *g_next;
    double *rhs;      // of fai_newton_kept_solve
    double *part;     // sums of chunks of nodes
    FaRowAct *active; // at x                                                     (max_rows)
    FaRowAct *active_next;

    // fields of the free nodes
    FaFieldShape shape;
    float *gf, *gf_next; // gradient, rounded
    float *d, *r, *z, *p, *ap;
    float *jacobi; // inverses of diagonal blocks                              (nfree x 9)
    float *one;    // one number per unknown                                   (3 nfree)
    double *four;  // CHOL: right-hand sides                                   (3 nfree x 4)
    FaLbfgs history;
    FaNewtonSmooth smooth;

    // factor
    FaCsr csr;
    FaChol *chol;          // single for PCG and LBFGS, double for CHOL
    bool ready, stale;     // is there a factor; should it be made anew
    double factor_inertia; // of the diagonal it was made with, 1/s2

    // of the solve under way
    const FaNewtonInput *in;
    FaNewtonReport *report;
    FaSolidHessian hessian; // as assembled
    bool kept;              // the blocks are of a point before x, where the last step began; good enough for another
    double proximal;        // 1/s2 on the diagonal, direction only
    double energy, scale;   // at x; sum of sizes of its terms, for rounding
    double
        linear; // |g + H d| of the last direction, N: what a full step would leave of the gradient if all were linear
};

FaCode fai_newton_terms(FaNewton *n, int nterm, const FaTerm *term, FaError *err); // n->term, the caller's among them
// Energy, gradient (nullable: energy alone) with fixed rows 0, *scale (nullable).
double fai_newton_total(FaNewton *n, const double *x, double *g, double *scale);
void fai_newton_accept(FaNewton *n); // the last point of fai_newton_total is where we are
double fai_newton_norm(const FaNewton *n, const double *g,
                       float *field);                             // |g| of free nodes; field: rounded copy, nullable
void fai_newton_second(FaNewton *n, FaSolidHessian kind);         // blocks at n->x
bool fai_newton_outside(const FaNewton *n);                       // is there more than blocks now?
void fai_newton_mul(const FaNewton *n, const float *x, float *y); // blocks and what is outside of them
void fai_newton_product(const FaNewton *n, const double *p, double *y); // y = H(n->x) p in double (nnode x 3)

typedef enum FaLinear { FA_LINEAR_OK, FA_LINEAR_NEGATIVE, FA_LINEAR_SLOW } FaLinear;
FaLinear fai_newton_direction(FaNewton *n, double forcing); // n->d from n->gf with the blocks as they are
bool fai_newton_factor(FaNewton *n);                        // from the blocks as they are; false: not positive definite
bool fai_newton_definite(
    FaNewton *n); // a factor of the Hessian at x, of the mildest kind that is definite; false: none
bool fai_newton_fits(const FaNewton *n);                     // is there a factor, and is it of about this problem?
void fai_newton_jacobi(FaNewton *n);                         // JACOBI: inverses of the diagonal blocks as they are
void fai_newton_kept(FaNewton *n, const float *r, float *z); // z = M^-1 r

// for newton_kept.c
FaCode fai_newton_check(const FaNewton *n, const FaNewtonInput *in, const double *x, FaError *err);
void fai_newton_place(FaNewton *n, const FaNewtonInput *in, const double *x, double *to); // fixed nodes where in says

// PCG with rows that act: the kept factor between sweeps over their nodes. begin: for the blocks and rows at n->x.
FaCode fai_newton_smooth_new(FaNewton *n, int sweeps, FaError *err);
bool fai_newton_smooth_begin(FaNewton *n); // false: no row acts
void fai_newton_smoothed(FaNewton *n, const float *r, float *z);

#endif
