// Flesh with muscles that has mass: it swings after the head and after its own muscles, and comes to rest where
// fai_muscle_body_pose has it.
//
// A step minimises  inertia/2 |x - y|_M^2 + all energies of the pose + damping,  with y and the fictitious
// accelerations of a moving head from solve/inertia.h. Damping is physical: beta K (rates of strain) and drag M, so
// that frequency and decay depend on neither the step nor the frame rate.
//
// Use: fai_muscle_motion_new, fai_muscle_motion_reset where it begins, fai_muscle_motion_step for each step; free it
// before its body. The body may be posed in between, its contact forgets then. One thread per body; same bits for any
// number of threads. No allocation in a step.
#ifndef FAI_MUSCLE_MOTION_H
#define FAI_MUSCLE_MOTION_H

#include "muscle/muscle_body.h"
#include "solve/inertia.h"

typedef struct FaMuscleMotionOptions {
    FaScheme scheme;
    double density;   // kg/m3
    double beta;      // s: of the stiffness of flesh. 2 ratio / (2 pi frequency) damps that frequency by the ratio
    double drag;      // 1/s: of the mass
    double tolerance; // of the gradient, against the inertia of not moving
    double calm;      // m/s2: an acceleration not worth a step of Newton
} FaMuscleMotionOptions;
FaMuscleMotionOptions fai_muscle_motion_options_default(void); // BDF2, 1000, 0.3 at 8 Hz, 0, 1e-3, 0.01

typedef struct FaMuscleMotion FaMuscleMotion;

// One step's input.
typedef struct FaMuscleMoment {
    double h;                 // s; 0: no time passes, the flesh goes to where it rests (a frame of the body)
    const double *activation; // 0..1 at the end of the step                                  (nmuscle)
    const double *fixed_at;   // where fixed nodes are at its end, m, head frame; NULL: at rest     (nnode x 3)
    FaPose pose;              // of the head at its end
    double accel[3];          // on all mass, head axes at its end, m/s2: gravity (fai_relative_gravity)
} FaMuscleMoment;

// options NULL: default. The body must outlive it.
FaCode fai_muscle_motion_new(FaMuscleBody *body, const FaMuscleMotionOptions *options, FaMuscleMotion **motion,
                             FaError *err);
void fai_muscle_motion_free(FaMuscleMotion *motion); // NULL is fine
// Begin at x with velocities v against a head that rests at `pose` (nnode x 3, m, m/s; NULL: at rest, none).
void fai_muscle_motion_reset(FaMuscleMotion *motion, const double *x, const double *v, const FaPose *pose);
// x (out): positions at the end, m, head frame (nnode x 3). report: nullable. FA_STALLED: usable. On a negative code
// the state is as before.
FaCode fai_muscle_motion_step(FaMuscleMotion *motion, const FaMuscleMoment *in, double *x, FaMuscleReport *report,
                              FaError *err);

#endif
