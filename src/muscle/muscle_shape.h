// Muscles as closed meshes that go along with the flesh, for pictures and pages.
//
// Lattices follow a pose by least squares over the samples in the flesh (muscle/tracks.h). A mesh is its solid with
// edges and ends rounded off.
#ifndef FAI_MUSCLE_SHAPE_H
#define FAI_MUSCLE_SHAPE_H

#include "muscle/muscle_model.h"

// All muscles as meshes at rest, made once and kept in the model.
FaCode fai_muscle_shapes(FaMuscleModel *model, FaError *err);
// Vertices of a muscle's mesh as the model was posed last (nvert x 3); fai_muscle_shapes comes first.
FaCode fai_muscle_shape_posed(FaMuscleModel *model, int muscle, float *x, FaError *err);

#endif
