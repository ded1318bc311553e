// What the verbs of `fascia muscle` share: the face with its muscles, and one pose of it on its way to a file.
#ifndef FASCIA_MUSCLE_VERBS_H
#define FASCIA_MUSCLE_VERBS_H

#include "job.h"

typedef struct Muscle {
    Job job;
    const char *path; // FACE or RIG
    bool again;       // to be used, not to be built
    FaFace *face;
    FaMuscleModel *model;
    // a pose
    double activation[FA_MUSCLES_MOST];
    FaMusclePose pose;
    FaMusclePosed posed;
    float *x; // (nvert x 3)
    FaClip *clip;
    FaSequence *seq, *rest;
    int crossings, crossings_rest;
    bool stalled;
    char **own; // files of muscles                                                     (nown)
    int nown;
    bool own_listed; // by us: each is to be freed
} Muscle;

FaCode muscle_open(Job *j, FaError *err); // face and model
void muscle_free(Job *j);
FaCode muscle_posed(Muscle *m,
                    FaError *err); // m->x becomes the one frame; triangles that cross, as `fascia compare` counts them
FaCode muscle_clip(const FaRig *rig, int nframe, FaClip **clip, FaError *err); // all shapes at 0

extern const Command cmd_muscle_target;

#endif
