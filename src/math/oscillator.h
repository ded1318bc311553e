// The damped oscillator m x'' + c x' + k x = f(t), solved exactly over a step in which the force is linear in time.
//
// Symbols: z1, z2 = the roots of m r^2 + c r + k = 0 times the step h (both real, or a conjugate pair; real parts <=
// 0). Everything needed is a divided difference of exp: impulse exp[z1,z2], step exp[0,z1,z2], ramp exp[0,0,z1,z2].
// Their evaluation below loses no digits anywhere: not near critical damping (z1 = z2), not for k -> 0 (z1 -> 0), not
// for small or large h.
#ifndef FAI_OSCILLATOR_H
#define FAI_OSCILLATOR_H

#include "base/base.h"

// One step of length h:  x' = xx x + xv v + x0 f0 + x1 (f1 - f0),   v' = vx x + vv v + v0 f0 + v1 (f1 - f0).
typedef struct FaOscillatorStep {
    double xx, xv, x0, x1;
    double vx, vv, v0, v1;
} FaOscillatorStep;

// m > 0, c >= 0, k >= 0, h >= 0.
FaOscillatorStep fai_oscillator_step(double m, double c, double k, double h);

// Displacement at time t after a unit force is switched on at rest (unit step response; k g(t) is the table of
// docs/method/analytic.md). t >= 0.
double fai_oscillator_response(double m, double c, double k, double t);

#endif
