// What is inside of a body of muscles: for muscle_body.c and muscle_motion.c.
#ifndef FAI_MUSCLE_BODY_WORK_H
#define FAI_MUSCLE_BODY_WORK_H

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
    FaTerm term;
    FaNewton *newton;
    int nspring;
    FaSpring *spring;     //                                                        (nspring)
    FaMuscleTouch *touch; // NULL: nothing touches
    double *active;       // of the last pose                                        (nmuscle)
    double *rising;       // of the step                                             (nmuscle)
    double reference;     // N: what gradients are compared with
    double volume;        // m3, at rest
    // scratch
    double *x, *at, *move, *rhs; // (nnode x 3)
    FaArena *arena;
};

#endif
