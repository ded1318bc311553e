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
    FaDirected *directed; // of a .pose; NULL: by activations
    float *x;             // (nvert x 3)
    FaClip *clip;
    FaSequence *seq, *rest;
    int crossings, crossings_rest;
    bool stalled;
    char **own; // files of muscles                                                     (nown)
    int nown;
    bool own_listed; // by us: each is to be freed
    FaMuscleShapesReport shapes;
} Muscle;

FaCode muscle_open(Job *j, FaError *err); // face and model
void muscle_free(Job *j);
// A .pose in m->directed, and its face in m->path: the one it names, or `on` (nullable).
FaCode muscle_load_pose(Muscle *m, const char *pose, const char *on, FaError *err);
// m->directed at `part` of the way: surface, figures, teeth and tongue that go with it.
FaCode muscle_play_pose(Muscle *m, double part, FaError *err);
void muscle_say(Job *j); // what a pose did
void muscle_json(Job *j, FaJsonWriter *w);
FaCode muscle_save_pose(const Muscle *m, FaError *err); // to -o
FaCode muscle_posed(Muscle *m,
                    FaError *err); // m->x becomes the one frame; triangles that cross, as `fascia compare` counts them
FaCode muscle_clip(const FaRig *rig, int nframe, FaClip **clip, FaError *err); // all shapes at 0

// --collider of pose, target and edit: read by muscle_open.
extern const char *muscle_colliders;
#define MUSCLE_COLLIDER_OPTION                                                                                         \
    {                                                                                                                  \
        "collider", 0, OPT_TEXT, &muscle_colliders, "FILE[:jaw],...", 0, 0,                                            \
            "rigid closed meshes that the skin may not enter: a tusk, a pipe; :jaw goes with the jaw"                  \
    }

extern const Command cmd_muscle_target, cmd_muscle_edit, cmd_muscle_play, cmd_muscle_retarget;

#endif
