// Solids that map a unit cube to space: trivariate B-splines x(u, v, w) over a lattice of control points. A muscle is
// one: u runs along its fibres from origin to insertion, v across, w from the skin inwards.
//
//            v = 1  o-----o-----o-----o
//                  /     /     /     /|        clamped: corners of the lattice are corners of the solid
//            v = 0 o-----o-----o-----o |       ring: u closes, 1 is 0 again
//             u = 0                 u = 1
//
// Degrees are 3, or less where the lattice is short (2 points: 1). The fibre direction is dx/du.
#ifndef FAI_BSPLINE_H
#define FAI_BSPLINE_H

#include "base/base.h"

enum { FA_BSPLINE_MAX = 32 }; // control points of one direction at most

typedef struct FaBspline {
    int n[3];  // control points along u, v, w: at least 2; a ring at least 4 along u
    bool ring; // u closes
    double *c; // m: the caller's       (n[2] x n[1] x n[0] x 3)
} FaBspline;

static inline int fai_bspline_points(const FaBspline *s) { return s->n[0] * s->n[1] * s->n[2]; }
static inline double *fai_bspline_point(const FaBspline *s, int i, int j, int k) {
    return s->c + 3 * (size_t)((k * s->n[1] + j) * s->n[0] + i);
}

// Basis of one direction at t (0..1; a ring takes any): index of control points, their weights and slopes. Returns how
// many.
int fai_bspline_basis(int n, bool ring, double t, int index[4], double b[4], double slope[4]);
double fai_bspline_greville(int n, bool ring, int i); // t where control point i weighs most
// Control points that a place is made of, and their weights, which sum to 1. Returns how many.
enum { FA_BSPLINE_WEIGHTS = 64 };
int fai_bspline_weights(const FaBspline *s, const double uvw[3], int point[FA_BSPLINE_WEIGHTS],
                        double weight[FA_BSPLINE_WEIGHTS]);
// Squares of second differences of the lattice along an axis, k times, added to the matrix of a least-squares problem
// in its control points (points x points).
void fai_bspline_bends(const FaBspline *s, int axis, double k, double *matrix);
void fai_bspline_couples(const FaBspline *s, double k, double *matrix); // the same of first differences along w
// Position, and derivatives by u, v, w in columns (row-major 3x3; nullable).
void fai_bspline_at(const FaBspline *s, const double uvw[3], double x[3], double J[9]);
// Control points such that the solid passes through `at` at the Greville parameters (as s->c is laid out; may be s->c).
// FA_E_NUMERIC where a number is not finite.
FaCode fai_bspline_fit(FaBspline *s, const double *at, FaError *err);
void fai_bspline_reverse(FaBspline *s);                        // u runs the other way; not of a ring
double fai_bspline_length(const FaBspline *s);                 // of the fibre in the middle, m
double fai_bspline_volume(const FaBspline *s, double *folded); // m3; folded (nullable): share turned inside out

// --- from space to the cube ---------------------------------------------------------------------------------------

// Where starts are looked for: points of a solid on a grid.
typedef struct FaBsplineFinder {
    const FaBspline *s;
    int n[3];
    double *x;           // (n[2] x n[1] x n[0] x 3)
    double lo[3], hi[3]; // box of the solid
    double reach;        // no point of the solid is farther than this from the grid
} FaBsplineFinder;
FaCode fai_bspline_finder(const FaBspline *s, FaArena *arena, FaBsplineFinder *finder, FaError *err);
double fai_bspline_start(const FaBsplineFinder *finder, const double x[3],
                         double uvw[3]); // m to the nearest of the grid
// Newton within the bounds, from uvw on; at its end uvw is the nearest point found. True: x is inside.
bool fai_bspline_inverse(const FaBspline *s, const double x[3], double uvw[3]);
bool fai_bspline_inside(const FaBsplineFinder *finder, const double x[3], double uvw[3]); // both

// --- pictures -----------------------------------------------------------------------------------------------------

typedef struct FaBsplineSurface {
    int nvert, ntri;
    float *x;   // m                   (nvert x 3)
    int *tri;   // seen from outside   (ntri x 3)
    float *uvw; // of each vertex      (nvert x 3)
} FaBsplineSurface;
// cells: along u, v, w. Arrays live in the arena.
FaCode fai_bspline_surface(const FaBspline *s, const int cells[3], FaArena *arena, FaBsplineSurface *out, FaError *err);

#endif
