// The jaw as a frame: every point of the face carried by as much of the jaw's rigid motion as it belongs to the jaw.
//
// A point that belongs to the jaw by b turns by b times the angle about the hinge and slides b times the way:
//     x -> h + R^b (x - h) + b s,        R, s: fai_jaw_pose of the frame's weights, h: hinge
// which is what an opening jaw does to skin between chin and cheekbone; half the matrix would shrink it. What a carried
// shape does beyond its frame stays as a linear shape in the rest frame (the leftover), so that at weight 1 the
// sculpted shape is met.
//
// Where a take shows that its jaw turns or slides by other amounts per unit of jawOpen (drive_jaw.c), the frame has
// them added and the leftover stays, so that the shape itself becomes this face's.
//
// Only jawOpen turns: the jaw's slides are a few millimetres, and linear shapes (in the turned frame) serve them
// better. mouthClose is sculpted on top of an open jaw: it is added after the frame, not turned by it.
#ifndef FAI_JAW_CARRY_H
#define FAI_JAW_CARRY_H

#include "blendforces/shape_solve.h"
#include "face/face.h"

enum { FA_JAW_STEPS = 64 }; // frames of a table over b; between them linear: 1e-7 m off at most

typedef struct FaJawCarry {
    FaJaw jaw;
    int nshape; // carried: 0 where the rig has no jaw that turns
    int shape[2];
    int close;          // mouthClose; -1: none
    float *close_point; // what it does to the markers' points                         (npoint x 3)
    const FaRig *rig;
    int nvert;
    float *belong; // 0 with the skull .. 1 with the jaw                          (nvert)
    int npoint;
    double *point;  // the same of the markers' points                             (npoint)
    float *weight;  // of all shapes, scratch: those that are not carried stay 0   (rig nshape)
    double more[3]; // of the take's jaw, per unit of jawOpen: turn, rad; slide up and to the front, m
    FaRig *rest;    // the rig with its carried shapes replaced by their leftovers; NULL where nothing is carried
    FaArena *arena;
} FaJawCarry;

// Fits the jaw to the rig's own shapes. A rig without a jaw is no error: nshape is 0. rig must outlive it.
FaCode fai_jaw_carry_new(const FaRig *rig, int npoint, const FaSurfacePoint *point, FaJawCarry **carry, FaError *err);
// A jaw that turns and slides by other amounts per unit of jawOpen than the rig's shape says; leftovers stay as they
// are.
static inline void fai_jaw_set_more(FaJawCarry *carry, const double more[3]) {
    memcpy(carry->more, more, sizeof carry->more);
}
void fai_jaw_carry_free(FaJawCarry *carry); // NULL is fine
// For fai_shape_solver_new. All zero where nothing is carried.
FaShapeCarrier fai_jaw_carrier(FaJawCarry *carry);

typedef struct FaJawTable {
    bool still;                        // the identity
    float frame[FA_JAW_STEPS + 2][12]; // row-major 3 x 4, at b = i / FA_JAW_STEPS; one more to interpolate with
} FaJawTable;
void fai_jaw_table(const FaJawCarry *carry, const float *weights, FaJawTable *table);
void fai_jaw_point_frames(FaJawCarry *carry, const float *weights,
                          double *frame); // of the markers' points (npoint x 12)
void fai_jaw_close(const FaJawCarry *carry, const float *weights, float *surface);    // adds mouthClose (nvert x 3)
void fai_jaw_apply(const FaJawTable *table, float b, const float x[3], float out[3]); // may be the same

#endif
