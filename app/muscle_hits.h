// Frames of a clip that must be as the sculpts have them (paper 002, section 7): from one expression to the next the
// flesh takes a way of its own, and ends a little beside the sculpt. What it lacks in such a frame is that transition's
// final snap; between two of them it goes over, linearly in time, from the one to the other. The clip's first and last
// frame count as such.
#ifndef FASCIA_MUSCLE_HITS_H
#define FASCIA_MUSCLE_HITS_H

#include "fascia/sequence.h"

typedef struct MuscleHits {
    int count;
    int *frame;     // ascending; the first and the last frame are among them  (count)
    float **lacks;  // what is added there                                     (count; nvert x 3 each)
    FaSequence *of; // the flesh; borrowed
    double worst;   // of what is lacking in those frames: the farthest vertex, mm
} MuscleHits;

// "0,24,60", of frames 0 to last.
FaCode muscle_hits_read(const char *text, int last, MuscleHits *hits, FaError *err);
// goal: the frames as sculpted. *out has the frames of `of` with what they lack; the hits and `of` must outlive it.
FaCode muscle_hits_add(MuscleHits *hits, FaSequence *goal, FaSequence *of, FaSequence **out, FaError *err);
void muscle_hits_free(MuscleHits *hits);

#endif
