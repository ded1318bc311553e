// Bones that follow the flesh (paper 002, section 6): flesh is let go of skull and jaw, dragged to the goal, and the
// bones are put where their attachments went.
#ifndef FAI_FREE_BONES_H
#define FAI_FREE_BONES_H

#include "muscle/directed.h"

// The numbers of a jaw (degrees; m beyond the slide that goes with opening) that fai_muscle_jaw would make it from;
// turns about other axes than the hinge's are left out.
FaMuscleJaw fai_muscle_jaw_of(const FaMuscleModel *model, const FaPose *pose);

// How far skin that the jaw carries is from the goal (m, nvert x 3; known nullable) with the jaw there, m2; INFINITY:
// nothing tells.
double fai_muscle_jaw_off(const FaMuscleModel *model, const float *goal, const unsigned char *known, const FaPose *jaw);
// The jaw of a goal that says nothing of it: opened as far as the skin on it has gone, in steps of a degree.
FaPose fai_muscle_find_jaw(const FaMuscleModel *model, const float *goal, const unsigned char *known);

// pose: its jaw and cranium are where bones are now, and where they are put, out. track: ends of tracks that hold the
// flesh as it is (npoint x 3); x: that flesh, in the skull's frame (nnode x 3). goal: m (nvert x 3); known: nullable
// (nvert). limits NULL: the jaw may turn and slide as it likes. rounds of dragging.
FaCode fai_free_bones(FaMuscleDirector *d, const float *goal, const unsigned char *known, int rounds,
                      const FaMuscleJawLimits *limits, const double *track, const double *x, FaDirected *pose,
                      FaError *err);

#endif
