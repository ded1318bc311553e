// A smooth motion through given poses: position, velocity and acceleration are continuous, and so are angular velocity
// and acceleration (C2). It passes exactly through every pose; times need not be evenly spaced.
//
// Typical order: fai_pose_curve_new, fai_pose_curve_eval per step, fai_pose_curve_free. A curve is const and may be
// shared by threads. How rotations are interpolated, and why, is told in pose_curve.c.
#ifndef FAI_POSE_CURVE_H
#define FAI_POSE_CURVE_H

#include "base/base.h"
#include "fascia/clip.h"

typedef struct FaPoseCurve FaPoseCurve;

typedef enum FaCurveEnds {
    FA_ENDS_FREE, // no acceleration (next to none in rotation) at the first and the last pose: part of a longer motion
    FA_ENDS_REST, // no velocity there: it starts and ends at rest
} FaCurveEnds;

typedef struct FaMotion {
    FaPose pose;     // world from body
    double v[3];     // velocity of the body's origin, world, m/s
    double a[3];     // its acceleration, world, m/s2
    double omega[3]; // angular velocity, in the body's axes, rad/s
    double alpha[3]; // angular acceleration, in the body's axes, rad/s2
} FaMotion;

// n >= 1 poses at strictly increasing times, s. Quaternions need not be of unit length, and q and -q are the same
// rotation: from pose to pose the short way is taken. FA_E_ARG names the pose that is wrong; FA_E_NUMERIC: poses too
// close in time for their distance. Time and memory: linear in n.
FaCode fai_pose_curve_new(int n, const double *time, const FaPose *pose, FaCurveEnds ends, FaPoseCurve **curve,
                          FaError *err);
// The same of a head that may be cut (math/pose_cut.h): the pieces between cuts are curves of their own. Half way
// through a cut the motion jumps from one, going on as it ended, to the other, as it will begin: no acceleration.
FaCode fai_pose_curve_new_cut(int n, const double *time, const FaPose *pose, FaCurveEnds ends, FaPoseCurve **curve,
                              FaError *err);
void fai_pose_curve_free(FaPoseCurve *curve); // NULL is fine

// The motion at a time; before the first and after the last pose it is held, without velocity. Thread-safe.
void fai_pose_curve_eval(const FaPoseCurve *curve, double time, FaMotion *motion);
bool fai_pose_curve_cut(const FaPoseCurve *curve, double from, double to); // a jump after `from`, at `to` or before

#endif
