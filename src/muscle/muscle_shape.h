// Muscles as closed meshes that go along with the flesh, for pictures and pages.
//
// Lattices follow a pose by least squares: their displacement is the one that comes nearest to that of the samples in
// the flesh, smooth where there are none. A mesh is its solid with edges and ends rounded off.
#ifndef FAI_MUSCLE_SHAPE_H
#define FAI_MUSCLE_SHAPE_H

#include "muscle/muscle_model.h"

// Control points of a muscle for flesh at x (nnode x 3, m): c as the solid's own is laid out. Where none of it is in
// the flesh it stays at rest.
FaCode fai_muscle_follow(const FaMuscleModel *model, int muscle, const double *x, double *c, FaError *err);

// All muscles as meshes at rest, made once and kept in the model.
FaCode fai_muscle_shapes(FaMuscleModel *model, FaError *err);
// Vertices of a muscle's mesh as the model was posed last (nvert x 3); fai_muscle_shapes comes first.
FaCode fai_muscle_shape_posed(const FaMuscleModel *model, int muscle, float *x, FaError *err);

#endif
