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

#include "method/method.h"
#include "muscle/muscle_body.h"
#include "solve/inertia.h"

typedef struct FaMuscleMotionOptions {
    FaScheme scheme;
    double density;   // kg/m3
    double beta;      // s: of the stiffness of flesh. 2 ratio / (2 pi frequency) damps that frequency by the ratio
    double drag;      // 1/s: of the mass
    double tolerance; // of the gradient, against the inertia of not moving
    double calm;      // m/s2: an acceleration not worth a step of Newton
    double soft;      // of the stiffness of tracks: all steps are about a pose, contact is not touched; 0: none is
    bool manual;      // the factor is of fai_muscle_motion_prepare for good: a step depends on its state alone
} FaMuscleMotionOptions;
FaMuscleMotionOptions fai_muscle_motion_options_default(void); // BDF2, 1000, 0.3 at 8 Hz, 0, 1e-3, 0.01
double fai_muscle_motion_beta(double ratio);                   // s: damps 8 Hz by that

typedef struct FaMuscleMotion FaMuscleMotion;

// One step's input.
typedef struct FaMuscleMoment {
    double h;                 // s; 0: no time passes, the flesh goes to where it rests (a frame of the body)
    const double *activation; // 0..1 at the end of the step                                  (nmuscle)
    const double *fixed_at;   // where fixed nodes are at its end, m, head frame; NULL: at rest     (nnode x 3)
    FaPose pose;              // of the head at its end
    double accel[3];          // on all mass, head axes at its end, m/s2: gravity (fai_relative_gravity)
    // Flesh that swings about a pose which was solved before: forces hold it there, whatever made it (tracks, contact,
    // a solver that stopped), as enrich rebalances a sculpt. Tracks hold with o.soft about it; nothing touches.
    const double *pose_x;   // at the step's end, fixed nodes too, m; NULL: no such pose               (nnode x 3)
    const double *pose_was; // a step ago                                                       (nnode x 3)
    const double *firm;     // more than o.soft of the stiffness of tracks; NULL: none          (samples of the body)
} FaMuscleMoment;

// options NULL: default. The body must outlive it.
FaCode fai_muscle_motion_new(FaMuscleBody *body, const FaMuscleMotionOptions *options, FaMuscleMotion **motion,
                             FaError *err);
void fai_muscle_motion_free(FaMuscleMotion *motion); // NULL is fine
// Begin at x with velocities v against a head that rests at `pose` (nnode x 3, m, m/s; NULL: at rest, none).
void fai_muscle_motion_reset(FaMuscleMotion *motion, const double *x, const double *v, const FaPose *pose);
// The factor of flesh at rest for steps of h, with the springs that the body has now. `manual`: before the first step.
FaCode fai_muscle_motion_prepare(FaMuscleMotion *motion, double h, FaError *err);
// x (out): positions at the end, m, head frame (nnode x 3). report: nullable. FA_STALLED: usable. On a negative code
// the state is as before.
FaCode fai_muscle_motion_step(FaMuscleMotion *motion, const FaMuscleMoment *in, double *x, FaMuscleReport *report,
                              FaError *err);
// Within a thousandth of a mm of rest, with hardly any velocity, in a head that has not moved for two steps.
bool fai_muscle_motion_calm(const FaMuscleMotion *motion);

// What the next step depends on beside the body's own state (fai_muscle_body_save) and its springs: places, then
// velocities, now and a step ago (nnode x 3 each, m and m/s), poses, the step.
void fai_muscle_motion_state(FaMuscleMotion *motion, FaStream *stream);
// How far it is from a state as saved, m: places, and what velocities make in a step of h.
double fai_muscle_motion_distance(const FaMuscleMotion *motion, const void *state, double h);

#endif
