// The head's motion as flesh feels it between two inputs: all of it, or a share; gravity as far as the head leans.
#ifndef FAI_FELT_HEAD_H
#define FAI_FELT_HEAD_H

#include "fascia/method.h"
#include "math/pose_curve.h"

typedef struct FaFeltHead {
    double share;   // of the head's motion
    double gravity; // how much of gravity the sculpted shapes hold already
    double up[3];   // upright direction in the head's axes
    FaPose head;    // of the last input or step
    FaPose felt;    // the same, as much of its motion as the flesh feels
} FaFeltHead;

// motion: of the head as a whole where it is known (FaMethod.motion); NULL: the inputs' poses are all there is.
bool fai_head_still(const FaPoseCurve *motion, const FaInput *in); // the input says nothing of the head
FaFeltHead fai_felt_head(const FaRig *rig, double share, double gravity);
// Back to the pose of an input, with nothing felt yet.
void fai_felt_reset(FaFeltHead *f, const FaPoseCurve *motion, const FaInput *in);
// The head at a moment `part` (0..1) of the way from `from` (the last input's) to this input.
FaPose fai_felt_at(const FaFeltHead *f, const FaPoseCurve *motion, const FaInput *in, const FaPose *from, double time,
                   double part);
// Where the felt head is when the head goes to `to`.
FaPose fai_felt_pose(const FaFeltHead *f, const FaPose *to);
// Velocities of the felt head at an input: world, m/s; head axes, rad/s. 0 where the motion as a whole is not known.
void fai_felt_velocity(const FaFeltHead *f, const FaPoseCurve *motion, double time, double v[3], double omega[3]);
// A cut: the head is at `to` now, as if it had come there without a jump in `h` seconds. Velocities as above, at
// `time`.
void fai_felt_restart(FaFeltHead *f, const FaPoseCurve *motion, double time, const FaPose *to, double h, double v[3],
                      double omega[3]);
// R'g - s g0, as much of its change as the flesh feels; none, to the bit, while the head is upright.
void fai_felt_gravity(const FaFeltHead *f, const FaPose *to, double accel[3]);

#endif
