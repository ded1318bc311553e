// The inside of FaNewton, shared by its files:
//
//     newton.c         set-up, checks, the loop over steps, the line search
//     newton_total.c   energy, gradient and second derivatives of everything at a point
//     newton_linear.c  a direction from a gradient: conjugate gradients, factors, L-BFGS
#ifndef FAI_NEWTON_WORK_H
#define FAI_NEWTON_WORK_H

#include "energy/solid_blocks.h"
#include "solve/field.h"
#include "solve/lbfgs.h"
#include "solve/newton.h"

// What of a row acts at a point: its second derivatives.
typedef struct FaRowAct {
    float share;         // of its stiffness: 0 none, 1 all of it
    float across, along; // N/m: of friction, across the slip and along it; 0: none
    float way[3];        // unit, of the slip; 0 where there is none
} FaRowAct;

struct FaNewton {
    const FaSolid *solid;
    FaNewtonOptions options;
    FaArena *arena;
    int nnode, nfree;
    double *mass;     // kg; NULL: none                                           (nnode)
    double mass_mean; // of free nodes; 1 without masses
    FaBlocks *blocks;

    // points
    double *x, *g; // where we are, gradient there                             (nnode x 3)
    double *x_next, *g_next;
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

// Energy, gradient (nullable: energy alone) with fixed rows 0, *scale (nullable). active: nullable.
double fai_newton_total(FaNewton *n, const double *x, double *g, FaRowAct *active, double *scale);
double fai_newton_norm(const FaNewton *n, const double *g,
                       float *field);                     // |g| of free nodes; field: rounded copy, nullable
void fai_newton_second(FaNewton *n, FaSolidHessian kind); // blocks at n->x; of rows the diagonal blocks, PCG: nothing
void fai_newton_mul(const FaNewton *n, const float *x, float *y); // blocks and rows

typedef enum FaLinear { FA_LINEAR_OK, FA_LINEAR_NEGATIVE, FA_LINEAR_SLOW } FaLinear;
FaLinear fai_newton_direction(FaNewton *n, double forcing); // n->d from n->gf with the blocks as they are
bool fai_newton_factor(FaNewton *n);                        // from the blocks as they are; false: not positive definite
void fai_newton_kept(FaNewton *n, const float *r, float *z); // z = M^-1 r

#endif
