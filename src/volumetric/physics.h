// From a skin to flesh at rest below it, two ways (docs/method/volumetric.md).
//
//     limited   lift, take each tet back to what single shapes show, relax towards that
//     paper     phi+ of paper 004 (eq. 12-21): skin drawn to its target, flesh and skull resist
//
// And phi (eq. 22, 23): flesh that is to have given deformation gradients, on another head maybe.
#ifndef FAI_PHYSICS_H
#define FAI_PHYSICS_H

#include "energy/tet.h"
#include "fascia/method.h"
#include "volumetric/range.h"

typedef enum FaPhysicsKind { FA_PHYSICS_LIMITED, FA_PHYSICS_PAPER } FaPhysicsKind;

typedef struct FaPhysicsOptions {
    FaPhysicsKind kind;
    double kappa;     // 1/m: what draws the skin to its target, against the strain stiffness of soft tissue
    double muscle;    // strain of muscle against that of soft tissue
    double volume;    // eq. 12: w_vol / w_str
    double margin;    // limited: relative
    double skin;      // paper, m: soft tissue so thick strains as the skin does along itself (eq. 15)
    double skull;     // paper, m: and the skull layer (eq. 17)
    double curvature; // paper, m3: its bending (eq. 18)
    int max_rows, nzone;
    const int *zone; // of fai_touch_zone                                                  (nzone)
} FaPhysicsOptions;
FaPhysicsOptions fai_physics_options(FaPhysicsKind kind);

typedef struct FaPhysics {
    FaPhysicsOptions options;
    FaLayered *layered;
    FaLift *lift;
    FaRange *range; // limited
    FaElastic e;
    FaProjective *solver;
    FaTets *tets;
    FaProjectiveInput input; // of the last solve; rows may be added
    int stride;              // tets rounded up to 8
    float *lifted;           // in: skin displacements; out: the lift, or where phi+ began  (nnode x 4)
    float *u;                // flesh at rest                                         (nnode x 4)
    float *anchor;           // (2 nskin x 4)
    float *tet_rest, *work;  // 9 and 21 rows of stride
    int *count;              // of chunks of tets
    unsigned char *whole;    // limited: not turned over in the lift                          (ntet)
    unsigned char *back;     // nodes that go back towards it                                 (nnode)
    int clamped;             // tets of the last pose that were outside their range
    FaArena *arena;
} FaPhysics;

// rig and face must outlive it.
FaCode fai_physics_new(const FaRig *rig, const FaFace *face, const FaPhysicsOptions *options, FaPhysics **physics,
                       FaError *err);
void fai_physics_free(FaPhysics *physics); // NULL is fine
// p->lifted has the skin's target: p->u. No allocation. stats: iterations, residual and unsolved are added to.
FaCode fai_physics_pose(FaPhysics *p, const float *weights, FaStats *stats, FaError *err);
// Flesh that is found already, in p->lifted (all of it): p->u, at rest there until rows are added.
void fai_physics_hold(FaPhysics *p);
// Once more from p->u, for p->input as it is: after rows were added.
FaCode fai_physics_again(FaPhysics *p, FaStats *stats, FaError *err);
// Deformation gradients of p->u into p->tet_rest.
void fai_physics_gradients(FaPhysics *p);

#endif
