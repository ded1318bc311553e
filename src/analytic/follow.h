// How a damped oscillator follows a target that moves linearly over one step, exactly (math/oscillator.h).
//
// Written in the distance to the target, e = y - w, so that what rests stays at rest to the last bit:
//     y1 = w1 + xx e + xv v - lag (w1 - w0),   v1 = vx e + vv v + push (w1 - w0)
// and, under an acceleration a of the whole frame (linear from a0 to a1), additionally
//     y1 += x0 a0 + x1 (a1 - a0),              v1 += v0 a0 + v1 (a1 - a0).
#ifndef FAI_FOLLOW_H
#define FAI_FOLLOW_H

#include "fascia/analytic.h"
#include "math/oscillator.h"

typedef struct FaFollow {
    double xx, xv, lag;
    double vx, vv, push;
    double x0, x1, v0, v1;
} FaFollow;

static inline FaFollow fai_follow(const FaOscillator *o, double h) {
    FaOscillatorStep s = fai_oscillator_step(o->mass, o->damping, o->stiffness, h);
    double m = o->mass, k = o->stiffness;
    return (FaFollow){s.xx, s.xv, 1 - k * s.x1, s.vx, s.vv, k * s.v1, m * s.x0, m * s.x1, m * s.v0, m * s.v1};
}

#endif
