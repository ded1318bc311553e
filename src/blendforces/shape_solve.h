// Weights of blendshapes from marker positions: SBS and RSBS of thesis 001 (eq. 3.4 and 3.5), per frame, in real time.
//
// With p_i(w) the surface points that carry the markers, m_i the markers, in metres, minimise over 0 <= w (<= upper)
//
//     sum_i a_i |p_i(w) - m_i|^2  +  l1 s sum_j w_j  +  sum_j D_j (ridge w_j^2 + smooth (w_j - w_j of the last
//     frame)^2)
//
// a_i: weight of a marker that is visible, else 0; s: the visible share of the marker weights, so that missing markers
// do not shift the balance; D_j: what shape j moves all markers, sum_i |b_ij|^2. l1 is an area (m^2): eq. 3.5 has no
// factor, so its unit of length is its weight: 1e-4 m^2 is the equation in centimetres (the unit of most production
// rigs, and our RSBS), 1e-6 m^2 in millimetres. ridge and smooth are pure numbers.
//
// prior, a pure number too: the frame is solved once more with prior e^2 sum_j w_j^2 added, e^2 the mean square by
// which the first solution misses the markers. Shapes that can make what the markers do are left alone; shapes that
// cannot (another face's markers) do not go to their limits, against each other, for a last tenth of a millimetre.
//
// Markers that are not finite are missing. A shape that no visible marker sees keeps the last frame's weight. SBS is
// all zeros.
//
// Typical order: fai_shape_solver_new, fai_shape_solve per frame (no allocation), fai_shape_solver_free. One thread per
// solver.
#ifndef FAI_SHAPE_SOLVE_H
#define FAI_SHAPE_SOLVE_H

#include "fascia/rig.h"
#include "math/nnls.h"
#include "method/method.h"

// A point of the surface: a vertex ({v, v, v}, {1, 0, 0}) or a point of a triangle.
typedef struct FaSurfacePoint {
    int vert[3];
    float bary[3]; // sum 1
} FaSurfacePoint;

// Shapes whose motion is not linear: the caller moves the points by an affine frame each, as a function of those
// shapes' weights (jawOpen: the mandible's rigid motion, blended with rest by how much a point belongs to the jaw):
//     p_i(w) = A_i(c) (x_i + sum_j w_j b_ij) + t_i(c),      c: weights of the carried shapes
// so that what the other shapes do is carried along. A point that belongs to the jaw by half turns by half the angle:
// on the shipped head that fits an opening jaw to 0.001 mm, half the matrix only to 0.1 mm.
typedef struct FaShapeCarrier {
    int nshape;       // 0: none
    const int *shape; // carried shapes                                                 (nshape)
    // frame: A_i and t_i, row-major 3 x 4 (npoint x 12). Smooth in c; c may leave 0..1 slightly. Must not allocate.
    void (*frame)(void *user, const double *c, int npoint, double *frame);
    void *user;
    bool exact; // keep what a carried shape does beyond its frame, linearly: at weight 1 the sculpted shape is met
} FaShapeCarrier;

typedef struct FaShapeSolveOptions {
    double l1, ridge, smooth, prior;
    double upper;             // 0: none
    const unsigned char *use; // 0: this shape stays at 0; NULL: all are used                (nshape)
    FaShapeCarrier carrier;   // copied, its list too
    int iterations;           // Gauss-Newton with a carrier; 0: 4
} FaShapeSolveOptions;

static inline FaShapeSolveOptions fai_shape_options_sbs(void) { return (FaShapeSolveOptions){0}; }
static inline FaShapeSolveOptions fai_shape_options_rsbs(void) { return (FaShapeSolveOptions){.l1 = 1e-4}; }

typedef struct FaShapeMarkers {
    const float *x;               // m; not finite: missing                                  (npoint x 3)
    const float *weight;          // >= 0; NULL: all 1. Not finite: missing                  (npoint)
    const unsigned char *visible; // NULL: all                                               (npoint)
} FaShapeMarkers;

typedef struct FaShapeFit {
    int used;   // markers
    int held;   // shapes that none of them sees
    int active; // shapes off 0
    int iterations;
    FaNnlsStatus status;
    double mean, rms, worst; // distances of the used markers from their points, m, unweighted
    int worst_at;            // marker, -1: none used
    double cost;             // the objective
} FaShapeFit;

typedef struct FaShapeSolver FaShapeSolver;

// Fails with FA_E_ARG (a point, shape or option out of range: named), FA_E_MEMORY. The rig is not kept.
FaCode fai_shape_solver_new(const FaRig *rig, int npoint, const FaSurfacePoint *point,
                            const FaShapeSolveOptions *options, FaShapeSolver **solver, FaError *err);
void fai_shape_solver_free(FaShapeSolver *solver);                     // NULL is fine
void fai_shape_solver_reset(FaShapeSolver *solver);                    // the next frame is a first one
void fai_shape_solver_stream(FaShapeSolver *solver, FaStream *stream); // what is kept between frames
// Shapes that move some marker (nshape): 1. The others can never be found from these markers.
const unsigned char *fai_shape_solver_seen(const FaShapeSolver *solver);

// weight: nshape. fit nullable. FA_CLAMPED: no marker is usable, the weights are the last frame's (0 before the first);
// FA_STALLED: see fit->status, the weights are usable.
FaCode fai_shape_solve(FaShapeSolver *solver, const FaShapeMarkers *markers, float *weight, FaShapeFit *fit);
// Where the points are at these weights: what the solver compares with the markers (npoint x 3).
void fai_shape_solver_points(FaShapeSolver *solver, const float *weight, float *x);

#endif
