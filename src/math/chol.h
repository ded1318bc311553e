// Sparse Cholesky, A = L L' after a fill-reducing permutation: analyse once, factor when values change, solve often.
//
// Typical order: fai_chol_analyze (pattern) -> fai_chol_factor (values) -> fai_chol_solve*, any number of times.
// Several right-hand sides are solved at once: arrays are n x 4, one 16-byte aligned quadruple per unknown (three
// coordinates and a spare that is solved as well). The result does not depend on the number of threads.
//
// The zone: unknowns that the caller wants eliminated last, as one dense block (the nodes that may touch: lips). With
// it a solve splits into forward elimination down to the zone, whatever the caller does with the zone's dense system
// (fold in contact rows by Woodbury), and back substitution: contact then costs no second solve.
#ifndef FAI_CHOL_H
#define FAI_CHOL_H

#include "math/csr.h"

typedef enum FaCholOrder { FA_CHOL_BEST, FA_CHOL_METIS, FA_CHOL_AMD, FA_CHOL_MIN_DEGREE, FA_CHOL_NATURAL } FaCholOrder;
typedef enum FaCholBackend { FA_CHOL_OWN, FA_CHOL_PEER } FaCholBackend;

typedef struct FaCholOptions {
    FaCholBackend backend; // PEER: double, no zone; FA_E_UNSUPPORTED where none is set
    FaCholOrder order;     // BEST: METIS where built in, else AMD where built in, else MIN_DEGREE, our own
    bool single;           // store and solve in float; factored in double and rounded last
    double drop; // single: entries of L below this share of their column's pivot are stored as 0; 0: none. For matrices
                 // near a diagonal, whose fill fades below what floats hold and is slow there (denormal numbers)
    bool rough;  // with single: stored in 16 bits (8 of them precision), for preconditioners: fai_chol_solve_rough only
    int nzone;   // 0: none
    const int *zone; // distinct unknowns, any order; copied                              (nzone)
} FaCholOptions;

typedef struct FaChol FaChol;

typedef struct FaCholStats {
    int n, nzone, nsuper;
    size_t nnz;   // of L, zone included
    size_t bytes; // of the numeric factor as stored
    double flops; // of one factorisation
} FaCholStats;

// a: symmetric, full pattern (both triangles), n x n. options NULL: own, BEST, double, no zone.
FaCode fai_chol_analyze(const FaCsr *a, const FaCholOptions *options, FaChol **chol, FaError *err);
// Another numeric factor, empty, of the same analysis (shared, read only), so that one can be solved with while the
// other is made on another thread.
FaCode fai_chol_twin(const FaChol *chol, FaChol **twin, FaError *err);
void fai_chol_free(FaChol *chol); // NULL is fine

// Same pattern as analysed. FA_E_NUMERIC names the row of the first pivot that is not positive; the old factor is gone
// then, and nothing may be solved. FA_E_ARG: another pattern. No allocation. Parallel.
FaCode fai_chol_factor(FaChol *chol, const FaCsr *a, FaError *err);

// x = A^-1 b; n x 4; may be the same array. No allocation; scratch belongs to chol: one thread at a time per FaChol.
void fai_chol_solve_f(FaChol *chol, const float *b, float *x);   // of a single factor
void fai_chol_solve_d(FaChol *chol, const double *b, double *x); // of a double factor (either backend)
// One right-hand side of n numbers, of a rough factor. May be the same array.
void fai_chol_solve_rough(FaChol *chol, const float *b, float *x);

// The same in three parts, and the same bits (own backend, single, nzone > 0). A zone's arrays are nzone x 4, in the
// order of options->zone. Forward and backward belong together: in between, chol holds the state of the inner unknowns.
void fai_chol_forward_f(FaChol *chol, const float *b, float *zone);  // zone = b_z - A_zi A_ii^-1 b_i
void fai_chol_zone_f(FaChol *chol, const float *b, float *x);        // x = S^-1 b, S: Schur complement; may be the same
void fai_chol_backward_f(FaChol *chol, const float *zone, float *x); // x whole (n x 4), given x at the zone
// S^-1, which is the zone's block of A^-1: symmetric, dense, row-major; made with the factor (in double, stored as
// float), valid until the next factorisation                                                    (nzone x nzone)
const float *fai_chol_zone_inverse(const FaChol *chol);

FaCholStats fai_chol_stats(const FaChol *chol);

// Another library's factor behind the same calls, to compare ours with: the benchmarks bring CHOLMOD
// (bench/chol_cholmod.h), the library itself needs none. `it` is the peer's own; solve: n x 4, as fai_chol_solve_d.
typedef struct FaCholPeer {
    const char *name;
    FaCode (*open)(const FaCsr *a, FaCholOrder order, void **it, FaError *err);
    FaCode (*twin)(const void *it, void **twin, FaError *err);
    void (*close)(void *it);
    FaCode (*factor)(void *it, const FaCsr *a, FaError *err);
    void (*solve)(void *it, const double *b, double *x);
    FaCholStats (*stats)(const void *it);
} FaCholPeer;
void fai_chol_set_peer(const FaCholPeer *peer); // for the whole process, before anything is analysed; NULL: none

#endif
