// Muscles of the user's own: files of closed meshes, each fitted by a solid (muscle/fit.h), put among those of the
// template.
#ifndef FAI_OWN_H
#define FAI_OWN_H

#include "muscle/muscle_model.h"

// A muscle's name from that of its file: "left zygomaticus-major.stl" is "zygomaticus_major.L". left, right, L, R at
// the beginning or the end tell the side (1, -1, 0: in the middle); a leading number of an atlas ("FMA46813_") is left
// out.
FaMuscleId fai_own_name(const char *path);

// Reads and fits the files of model->options; those named as a muscle of the template replace it, others are added.
// Ends nearest to a bone are origins. Before the muscles are sampled.
FaCode fai_own_muscles(FaMuscleModel *model, FaError *err);

#endif
