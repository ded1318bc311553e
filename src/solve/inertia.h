// Inertia of flesh in a moving head, exactly as a simulation in the world would have it.
//
// The unknowns live in the head frame, Newton's law in the world. A scheme predicts where a node would be without
// internal forces, from its past positions and velocities in the world; here that prediction is turned into the head
// frame at the end of the step:
//     y = R'( sum of a_k X_k + eta sum of a_k V_k + eta^2 a - p ) - x0,        X_k = R_k (x0 + u_k) + p_k
// It holds all fictitious accelerations of methods.md section 0 (also Coriolis) without naming one: what is solved is
// the very scheme of the world frame, at any rate of turning. Where the head rests, y is exact: relative rotations
// enter as R - 1.
//
//     scheme   a_0              a_1            eta
//     EULER    1                0              h                      first order; eats motion (methods.md section 4)
//     BDF2     (1+r)^2/(1+2r)   -r^2/(1+2r)    h (1+r)/(1+2r)         second order, r = h / previous h
//
// Damping, 1/s, is a force c m (goal velocity - velocity), both relative to the head, at the end of the step.
//
// Typical order, per step: fai_inertial_prediction -> y and inertia for the solver -> u -> fai_inertial_velocity.
#ifndef FAI_INERTIA_H
#define FAI_INERTIA_H

#include "base/base.h"
#include "fascia/clip.h"

typedef enum FaScheme { FA_SCHEME_EULER, FA_SCHEME_BDF2 } FaScheme;

typedef struct FaInertiaLevel {
    FaPose pose;           // world from head at that time
    const float *u;        // displacements, head frame, m                                          (nnode x 4)
    const float *w;        // velocities in the world, in the axes of `pose`, m/s                    (nnode x 4)
    const double *ud, *wd; // the same in double, instead of u and w: for the _d functions    (nnode x 3)
} FaInertiaLevel;

typedef struct FaInertia {
    FaScheme scheme;
    int nnode;
    const double *x0;           // rest positions, m                                        (nnode x 3)
    double h, h_before;         // s: this step and the one before (BDF2)
    FaPose pose;                // at the end of the step
    FaInertiaLevel now, before; // before: BDF2 only
    double accel[3];            // head axes at the end of the step, m/s2: gravity (below) and what else acts on mass
    double damping;             // 1/s
    const float *goal_velocity; // relative to the head, m/s; NULL: 0                       (nnode x 4)
} FaInertia;

// Relative gravity of methods.md section 0: R'g - s g0. g in the world, g0 in head axes, m/s2.
void fai_relative_gravity(const FaPose *pose, const double g[3], const double g0[3], double share, double accel[3]);

// y (nnode x 4); returns the inertia for the solver, 1/s2.
double fai_inertial_prediction(const FaInertia *in, float *y);
// Velocities that belong to u at the end of the step. w: in the world, in the axes of in->pose; v: relative to the
// head. Either may be NULL; neither may be an array of `in`.
void fai_inertial_velocity(const FaInertia *in, const float *u, float *w, float *v);
// Both in double: the levels' ud and wd are read, y, u and w are n x 3. goal_velocity must be NULL.
double fai_inertial_prediction_d(const FaInertia *in, double *y);
void fai_inertial_velocity_d(const FaInertia *in, const double *u, double *w);
// How velocities of points fixed in the head differ from place to place, as this step's scheme has it: w(x + dx) = w(x)
// + rate dx (row-major, 1/s; the angular velocity's matrix but for the scheme's error; 0 to the bit where the head did
// not turn).
void fai_inertial_rate(const FaInertia *in, double rate[9]);
// A head that has been moving as it does now: w of nodes at rest in it. v: m/s of the origin, world; omega: head axes,
// rad/s.
void fai_inertial_start(const FaPose *pose, const double v[3], const double omega[3], int nnode, const double *x0,
                        float *w);
void fai_inertial_start_d(const FaPose *pose, const double v[3], const double omega[3], int nnode, const double *x0,
                          double *w);

#endif
