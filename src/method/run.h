// Inside of runs: what a clip gives a method in a frame.
#ifndef FAI_RUN_H
#define FAI_RUN_H

#include "fascia/method.h"

// One frame: from rest for frame 0, else from the state after the frame before it. The method sees the head's motion as
// a whole. surface: nvert x 3, m.
FaCode fai_run_step(FaRun *run, int frame, float *surface, FaStats *stats, FaError *err);
const struct FaPoseCurve *fai_run_motion(const FaRun *run); // of the head, in the mesh's own frame; NULL: still
// The input of a frame; its pointers are valid until the next call.
void fai_run_input(FaRun *run, int frame, FaInput *in);
void fai_run_count_limited(FaRunStats *run, int frame, const FaStats *stats);
void fai_run_note_limited(FaNotes *notes, const FaRunStats *run);
// Where the head's motion is cut, from `begin` (s, of the clip) on, which counts as frame 0.
void fai_run_note_cuts(FaNotes *notes, const FaRun *run, double begin);
int fai_run_nframe(const FaRun *run);

#endif
