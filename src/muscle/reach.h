// How tracks have to change so that the skin makes up for what it lacks.
//
// A morph of the flesh says where muscles are to go (paper 002, section 5), and flesh that resists goes part of the
// way. So of the changes that morphs suggest the combination is taken by which the skin, as its stiffness says, comes
// nearest: generalised conjugate residuals on
//     min over c of |r - A c|^2,      A c: the skin's motion, H^-1 K B c,      c in the span of fit(morph(what is
//     left))
// and, where a morph asks for what flesh does not do, of fit(H^-1 what is left), along which |r - A c|^2 falls (A' up
// to the fit's weights). Few iterations: what they leave is what tracks reach only by folding the flesh.
#ifndef FAI_REACH_H
#define FAI_REACH_H

#include "muscle/direct.h"

enum { FA_REACH = 8 };

typedef struct FaReach {
    FaMuscleDirector *d;
    double *track[FA_REACH];     // changes                                             (npoint x 3)
    double *moved[FA_REACH];     // what the skin does of them, of unit length          (nnode x 3)
    double *left, *field, *goes; // (nnode x 3)
    double *sample;              // (nsample x 3)
    double hoped;                // of what is lacking, the share of its square that is made up for, 0..1
} FaReach;

// Arrays from the arena. d: borrowed.
FaCode fai_reach_new(FaMuscleDirector *d, FaArena *arena, FaReach *reach, FaError *err);
// lack: what the skin lacks, m, 0 at all other nodes (nnode x 3). x: the flesh, as the last pose left it, held by the
// springs that were set last. change: out (npoint x 3). steps: iterations, at most FA_REACH; 1: the morph alone.
FaCode fai_reach(FaReach *reach, const double *x, const double *lack, int steps, double *change, FaError *err);

#endif
