// Which tets a muscle fills, how much of each, and where its fibres go there: the samples of energy/fibre.h, with their
// places in the muscle and in the tet.
//
// Points stand in every tet on a fixed lattice; those inside of the muscle's solid are counted. Deterministic: the same
// bits for any number of threads.
#ifndef FAI_SAMPLE_H
#define FAI_SAMPLE_H

#include "energy/fibre.h"
#include "muscle/bspline.h"
#include "muscle/flesh_inside.h"

typedef struct FaMuscleSamples {
    int n;
    FaFibreSample *fibre; // by muscles, then by tets                              (n)
    float *uvw;           // mean place of the points that are inside              (n x 3)
    float *bary;          // and their centre in the tet                           (n x 4)
    int *start;           // first sample of each muscle, then their number        (nmuscle + 1)
    float *inside;        // share of each muscle's volume that is in flesh        (nmuscle)
    double *volume;       // of each muscle's solid, m3                            (nmuscle)
    FaArena *arena;
} FaMuscleSamples;

// All zero after failure. Free with fai_muscle_samples_free.
FaCode fai_muscle_sample(const FaMuscleFlesh *flesh, int nmuscle, const FaBspline *solid, FaMuscleSamples *out,
                         FaError *err);
void fai_muscle_samples_free(FaMuscleSamples *samples);

#endif
