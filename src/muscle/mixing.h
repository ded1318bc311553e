// A fixed-point iteration x <- x + step(x) made faster from its own history (Anderson mixing, type II): of the last few
// points and steps the combination is taken that leaves the least residual,
//     min over c of |r - sum c_i dr_i|^2,     next = x + step - sum c_i (dx_i + dstep_i).
// What is minimised may be another vector than the step (here: the snap of the skin, and the change of tracks).
#ifndef FAI_MIXING_H
#define FAI_MIXING_H

#include "base/base.h"

enum { FA_MIXING = 4 }; // points before the last one at most
typedef struct FaMixing {
    int n, m;                                       // of x and step; of the residual
    int count;                                      // points kept, the newest last
    double *x[FA_MIXING + 1], *step[FA_MIXING + 1]; // (n)
    double *residual[FA_MIXING + 1];                // (m)
} FaMixing;

FaCode fai_mixing_new(int n, int m, FaArena *arena, FaMixing *mixing, FaError *err);
void fai_mixing_forget(FaMixing *mixing);
// Keeps x, its step (n) and residual (m), and gives the next x, which may be x itself.
void fai_mixing_next(FaMixing *mixing, const double *x, const double *step, const double *residual, double *next);

#endif
