// What is inside of a body of muscles: for muscle_body.c, muscle_motion.c and muscle_slopes.c.
#ifndef FAI_MUSCLE_BODY_WORK_H
#define FAI_MUSCLE_BODY_WORK_H

#include "energy/pull.h"
#include "muscle/muscle_body.h"

struct FaMuscleBody {
    FaMuscleStuff stuff;
    int nnode, ntet, nmuscle;
    double *rest_x; // (nnode x 3)
    int *tet;       // (ntet x 4)
    unsigned char *fixed;
    FaSolid *solid;
    FaSolidRest *rest;
    FaFibre *fibre;
    FaPull *pull;
    FaTerm term[2]; // fibres, tracks
    FaNewton *newton;
    int nspring;
    FaSpring *spring;     //                                                        (nspring)
    FaMuscleTouch *touch; // NULL: nothing touches
    FaMuscleTouch *owned; // the same, also while contact is switched off
    int nsample;
    bool pulled;
    bool pull_known;            // pull_y is of the last pose
    double *pull_k, *pull_to;   // of the poses that follow                          (nsample; nsample x 3)
    double *pull_from, *pull_y; // where a pose begins; of its step                  (nsample x 3)
    int *corner;                // of each sample                                    (nsample x 4)
    double *bary;               //                                                   (nsample x 4)
    FaNewtonInput last;         // of the last solve
    double *active;             // of the last pose                                        (nmuscle)
    double *rising;             // of the step                                             (nmuscle)
    double reference;           // N: what gradients are compared with
    double volume;              // m3, at rest
    // scratch
    double *x, *at, *move, *rhs; // (nnode x 3)
    double *solved;              // x before what crosses went back                        (nnode x 3)
    FaArena *arena;
};

#endif
