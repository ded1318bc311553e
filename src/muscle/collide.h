// Rigid things beside the face that skin may not enter: tusks, a pipe, a bit (paper 002, figure 4). With skull or jaw.
//
// They are obstacles like teeth (muscle/muscle_touch.h), with one difference: what is inside of them at rest is pushed
// out too, since nobody sculpted the lips around them.
#ifndef FAI_COLLIDE_H
#define FAI_COLLIDE_H

#include "muscle/muscle_model.h"

void fai_muscle_colliders_free(FaMuscleModel *model);
// How deep the deepest vertex of the skin is in one of them, m, with the model's jaw where it is; 0: none is.
double fai_muscle_colliders_depth(const FaMuscleModel *model, const float *surface);

#endif
