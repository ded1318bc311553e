// The inside of FaProjective, shared by its files:
//
//     projective.c     set-up, the loop over iterations, the log
//     total_energy.c   energy and gradient of everything at a point: the local step
//     global_step.c    a direction from a gradient, the three ways
//     line_search.c    how far along it
//
// One iteration: direction d from g, then the energy and gradient at u + d. Where that is accepted at once (nearly
// always) it is at the same time the local step of the next iteration, so that the search costs nothing.
#ifndef FAI_SOLVER_H
#define FAI_SOLVER_H

#include "energy/anchor.h"
#include "energy/bend.h"
#include "energy/edge.h"
#include "energy/membrane.h"
#include "energy/tet.h"
#include "math/chol.h"
#include "solve/field.h"
#include "solve/gauss_seidel.h"
#include "solve/lbfgs.h"
#include "solve/projective.h"
#include "solve/refactor.h"
#include "solve/woodbury.h"

struct FaProjective {
    const FaElastic *e;
    FaProjectiveOptions options;
    FaArena *arena;

    // energies
    FaTets *tets;
    FaEdges *edges;
    FaBends *bends;
    FaAnchors *anchors;
    FaMembranes *membranes; // NULL: none
    FaSvdMemo *memo;        // NULL: exact
    float *mass;            // kg                                                           (nnode)
    double *part;           // sums of chunks of nodes

    // the matrix
    FaChol *chol;           // QUICK, PD
    FaFold *fold;           // QUICK, PD: NULL without a zone
    FaSweeper *sweeper;     // GS, PD
    FaRefactor *refactor;   // QUICK, if asked for
    float *zone_b, *zone_x; // (nzone x 4)
    bool exact;             // PD: the factor with its folded rows is the very matrix

    // fields
    FaFieldShape shape;
    FaLbfgs history;
    float *u, *g;           // where we are, gradient there
    float *u_next, *g_next; // where we try
    float *d, *q, *r;       // direction; scratch of its making
    float *cg[3];           // PD: scratch of conjugate gradients
    unsigned char *active;  // rows that act at u                                           (max_rows)
    unsigned char *active_next;

    // of the solve under way
    const FaProjectiveInput *in;
    FaProjectiveReport *report;
    double energy;    // at u
    float tau0, tau1; // of the memoised SVD, halved per iteration (thesis section 6.3.3)
    int sweeps;       // GS: n of alg. 3
    bool rested;      // tets are not asked
    bool once;        // fai_projective_once: rows are settled in the one step
};

typedef struct FaStep {
    double slope;  // g . d
    double length; // accepted multiple of d
    double energy; // there
    double fall;   // of the energy, negative; not always energy - before: see line_search.c
} FaStep;

double fai_total_energy(FaProjective *p, const FaProjectiveInput *in, const float *u, float *g, unsigned char *active);

int fai_global_rows(FaProjective *p);                      // a new set of rows; returns how many could not be folded in
void fai_global_direction(FaProjective *p, double *slope); // p->d from p->g

bool fai_search(FaProjective *p, FaStep *step); // u_next, g_next, active_next; false: no lower energy along d

#endif
