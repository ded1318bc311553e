// The lift: where the flesh is when the skin is somewhere (paper 004's phi+ with the skin held exactly). Soft and
// muscle tissue keep shape and volume as well as they can, the skull layer glides on its bones
// (projective/deep_goal.h).
#ifndef FAI_LIFT_H
#define FAI_LIFT_H

#include "solve/projective.h"
#include "volumetric/layered.h"

typedef struct FaLiftOptions {
    FaLayeredBody body; // skin: not used
    int iterations;     // of a lift, always as many: what one pose and another get can be compared
} FaLiftOptions;

typedef struct FaLift FaLift;

FaCode fai_lift_new(const FaLayered *layered, const FaLiftOptions *options, FaLift **lift, FaError *err);
void fai_lift_free(FaLift *lift); // NULL is fine
// u: displacements; those of the skin given, the others found (nnode x 4, aligned to 16 bytes). Weights move the jaw.
// No allocation. FA_STALLED: as fai_projective_solve. report is nullable.
FaCode fai_lift(FaLift *lift, const float *weights, float *u, FaProjectiveReport *report, FaError *err);
// Where fai_lift begins: the skull layer where its bones and its skin want it, the muscle layer in between.
void fai_lift_start(FaLift *lift, const float *weights, float *u);

#endif
