// One energy among those that a solver minimises together:  E(x) = sum over terms of E_t(x), x the positions of nodes.
//
// Newton's method (solve/newton.h) knows nothing else of an energy. Its own terms are the solid with its damping;
// inertia, drag and forces; springs; rows of contact. A caller adds more by FaNewtonOptions.term: muscles, volumes,
// wires between far nodes. How to add an energy:
//
//   1. energy    E_t and its gradient, in double. That alone decides where the minimum is.
//   2. second    its second derivatives, blocks of 3x3 (fai_blocks_add). Floats: they shape the direction, no more.
//                Pairs of nodes of one tet have a block already; others are declared in `pair` when the solver is made,
//                so that patterns and factors are analysed once. A dense term fills the factor: think of `outside`.
//   3. curve     can E_t bend downwards? Most energies of stretch can. Make each element's small matrix definite when
//                `second` asks for it (PROJECTED: nearest; SAFE: the more careful one, may be the same) and return how
//                many needed it: FA_TERM_PROJECTED. Where nobody knows how, FA_TERM_INDEFINITE.
//   4. product   second derivatives times a step in double; only sensitivities need it (fai_newton_kept_solve).
//   5. check it as tests/test_solve_terms.c does: gradient and product against differences, blocks against product,
//      1, 2, 3 and 8 threads the same bits.
//
// Functions are called one at a time, and may be parallel inside (base/task.h). They give the same bits for any number
// of threads: chunks by size, sums in the order of chunks, two threads never add to one place. They allocate nothing.
// What a term depends on (rest lengths, activations) is changed between solves, by its owner.
#ifndef FAI_TERM_H
#define FAI_TERM_H

#include "energy/solid_blocks.h"

// Can second derivatives be negative?
typedef enum FaTermCurve {
    FA_TERM_CONVEX,     // never: `second` is asked for FA_HESSIAN_TRUE only
    FA_TERM_PROJECTED,  // they can; `second` makes them definite where it is asked for that
    FA_TERM_INDEFINITE, // they can, and nothing helps: asked for TRUE only. Where the sum is not definite the solver
                        // adds a mass to the diagonal (report.proximal), which costs factors and steps
} FaTermCurve;

typedef struct FaTermSum {
    double energy; // J
    double size;   // J: sum of sizes of what was added to energy, for its rounding; at least |energy|
} FaTermSum;

typedef struct FaTermCount {
    int active;   // rows that push or pull
    int inverted; // elements turned inside out
} FaTermCount;

typedef struct FaTerm {
    const char *name; // for messages
    void *self;       // given to every function; must outlive the solver
    FaTermCurve curve;
    bool stores; // energy, second and product fill what others add to: the first of a list only (the solid)
    int npair;
    const int *pair; // nodes that `second` couples and no tet does; read once, when the solver is made   (npair x 2)

    // E_t at x (m, nnode x 3) added to *sum; its gradient (N) added to g, nullable (nnode x 3). What is added at fixed
    // nodes is dropped. Where E_t has no value: add INFINITY or NAN, and the line search comes back.
    void (*energy)(void *self, const double *x, double *g, FaTermSum *sum);
    // The point of the last call of energy is where the solver stands now: what outside and acts are about. Nullable.
    void (*accept)(void *self);
    // Second derivatives at x (where the solver stands) added to blocks, N/m. Returns how many elements were made
    // definite; -1: not counted. Nullable: all of it is outside.
    int (*second)(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks);
    // y += (what `second` left out) p: quadruples by rows of blocks (nfree x 4). Nullable: nothing is left out. For
    // couplings that come and go (contact). Factors do not see it: conjugate gradients take it up.
    void (*outside)(void *self, const FaBlocks *blocks, const float *p, float *y);
    bool (*acts)(void *self); // would outside add anything now? Nullable: it would
    // y += (all true second derivatives at x) p, in double; p is 0 at fixed nodes (nnode x 3). Nullable: no
    // sensitivities with this term.
    void (*product)(void *self, const double *x, const double *p, double *y);
    void (*count)(void *self, const double *x, FaTermCount *count); // adds to what the report tells of x; nullable
} FaTerm;

#endif
