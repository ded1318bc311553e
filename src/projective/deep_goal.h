// Goals below the skin: where flesh is wanted, given where the skin is.
//
// Layers: the deepest node of a column goes with its bone, gliding on it towards its skin; where it is free, with its
// skin alone; layers between them in proportion.
//
// Filled flesh: displacements are conducted from the skin inwards, which gives back any linear motion, so that what
// moves as a whole stays as it is. Where bone carries the flesh it is drawn to the bone's motion as weakly as fascia
// glides: at 10 mm below skin that moves by 1, flesh on a bone at rest moves by 0.8, nearer more, deeper less.
//
//     inside  K u = 0,      on bone  K u + g A (u - u_bone) = 0,      on the skin  u = u_skin
//
// K: conduction of the tets, A: area of a node on bone, g: 25 / m. One factor, one solve a step.
#ifndef FAI_DEEP_GOAL_H
#define FAI_DEEP_GOAL_H

#include "face/face.h"

typedef struct FaDeepGoal FaDeepGoal;
FaCode fai_deep_goal_new(const FaFace *face, FaDeepGoal **deep, FaError *err); // face: borrowed
void fai_deep_goal_free(FaDeepGoal *deep);                                     // NULL is fine
// goal: displacements, those of the skin given, the others found (nnode x 4, aligned to 16 bytes). No allocation; one
// thread at a time.
void fai_deep_goal(FaDeepGoal *deep, const float *weights, float *goal);

#endif
