// A face with all that its muscles need: filled flesh, muscles placed in it, the tets they fill, and the body that is
// posed. The public door is fascia/muscle.h.
#ifndef FAI_MUSCLE_MODEL_H
#define FAI_MUSCLE_MODEL_H

#include "build/filled.h"
#include "fascia/muscle.h"
#include "muscle/inner.h"
#include "muscle/marks.h"
#include "muscle/muscle_body.h"
#include "muscle/place.h"
#include "muscle/tracks.h"

// A muscle as it is drawn.
typedef struct FaMuscleShape {
    FaMesh mesh; // closed, at rest; no polygons
    float *uvw;  // of its vertices                        (nvert x 3)
} FaMuscleShape;

typedef struct FaOwnPlaced {
    int named;         // muscles that the template has too
    double scale;      // what the files' sizes were multiplied with
    double off, worst; // m: from their middle lines to the template's as one, rms; of the worst muscle
    char farthest[64]; // that muscle
} FaOwnPlaced;

struct FaMuscleModel {
    const FaRig *rig;
    const FaFace *face;
    FaMuscleOptions options; // of its making; flesh_size is the one used
    FaFilled flesh;
    FaMuscleMarks marks;
    FaMuscleGround ground; // what muscles were placed on; arrays in the arena
    FaMuscles muscles;
    FaMuscleSamples samples;
    FaMuscleInner inner; // gums and teeth of the rig's own mesh; arrays in the arena
    FaMuscleStuff stuff;
    FaMuscleBody *body;
    int mark[FA_MUSCLE_MARKS]; // vertices of the rig, -1: not found
    double chin[3];            // m
    struct FaOwnMuscle *own;   // of files, in the arena; NULL: none                           (options.nown)
    FaOwnPlaced own_placed;    // how muscles of files were moved here; all 0: they were not
    int own_lost;              // muscles of files that the face had and that could not be kept
    bool no_memory;            // for what the face has kept
    FaMuscleBuilt built;
    FaNotes notes;
    // rest and scratch
    double *rest, *x, *at;              // (nnode x 3)
    float *node;                        // (nnode x 3)
    double activation[FA_MUSCLES_MOST]; // what is posed
    bool posed;                         // x, node, activation and jaw are of a pose; else all is at rest
    FaMuscleJaw jaw;
    FaMuscleShape *shape;  // as they are drawn; NULL: not asked for yet                      (muscles.n)
    FaMuscleTracks tracks; // by which muscles follow the flesh; all zero: not asked for yet
    double *moves;         // of the samples, and their rest                                    (2 x samples.n x 3)
    struct FaMuscleColliders *colliders; // NULL: none
    struct FaMuscleDirector *director;   // NULL: not asked for yet
    FaMuscleCurve *curve; // activation by length; NULL: not asked for yet. n 0: nor that one  (muscles.n)
    FaArena *arena;
};

// fa_muscle_open with a body of other stuff; NULL: default.
FaCode fai_muscle_open(const FaRig *rig, const FaFace *face, const FaMuscleOptions *options, const FaMuscleStuff *stuff,
                       FaMuscleModel **model, FaError *err);

// Where the jaw is for these numbers: a motion of the rig's frame. degrees (nullable): how far it is open.
FaCode fai_muscle_jaw(const FaMuscleModel *model, const FaMuscleJaw *jaw, FaPose *pose, double *degrees, FaError *err);

// FA_E_ARG: there is no such muscle; the nearest are named. place is nullable.
FaCode fai_muscle_unknown(const char *place, const char *name, FaError *err);

// What a pose did, and where landmarks went; `open` is left alone.
void fai_muscle_measure(const FaMuscleModel *model, const FaMuscleReport *r, const float *surface, FaMusclePosed *out);

#endif
