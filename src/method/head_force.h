// The head's motion as an acceleration of everything in it: a(x) = -R' p'' - alpha x x - omega x (omega x x) + (R' g -
// s g0), affine in the position x (head frame). The Coriolis term of the moving flesh itself, -2 omega x v, is left
// out: it couples the coordinates of a vertex, and at a head's speeds it is some per cent of the others.
#ifndef FAI_HEAD_FORCE_H
#define FAI_HEAD_FORCE_H

#include "math/pose_curve.h"

static const double FAI_GRAVITY = 9.80665; // m/s2

// The last poses of a tracker, for accelerations by differences.
typedef struct FaPoseTrail {
    int count; // poses seen, at most 3
    int unused;
    double time[3];
    FaPose pose[3]; // the newest last
} FaPoseTrail;

// The acceleration field of the head: a(x) = a0 + A x.
typedef struct FaAffine {
    double f[12]; // a0, then A by rows
} FaAffine;

// up: the upright direction in the head's axes (unit); share: how much of gravity the sculpted shapes hold already (s).
void fai_head_force(const FaMotion *motion, const double up[3], double share, FaAffine *a);
void fai_trail_push(FaPoseTrail *trail, double time, const FaPose *pose);
// The motion at the newest pose, as far as the trail tells: velocities from two poses on, accelerations from three.
void fai_trail_motion(const FaPoseTrail *trail, FaMotion *motion);

#endif
