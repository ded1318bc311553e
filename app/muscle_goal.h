// Where `fascia muscle target` goes: a pose of the rig's shapes, a sculpt of its vertices, a scan of any others, or one
// frame of markers.
#ifndef FASCIA_MUSCLE_GOAL_H
#define FASCIA_MUSCLE_GOAL_H

#include "muscle.h"

typedef struct Goal {
    // what is asked for; one of the first three
    const char *weights_text, *to, *markers;
    FaUnit to_unit;
    const char *landmarks, *map;
    int frame, neutral;
    // what came of it
    float *x;             // (nvert x 3)
    float *weights;       // of the shapes, for the jaw; NULL: none                    (nshape)
    unsigned char *known; // NULL: everywhere                                          (nvert)
    int *landmark;        // NULL: found                                               (nlandmark)
    int nlandmark;
    int used; // markers
    FaMuscleScan scan;
    bool scanned;
} Goal;

const char *goal_name(const Goal *goal);                                            // what was given
FaCode goal_read(Goal *goal, const FaRig *rig, FaMuscleModel *model, FaError *err); // all of it
void goal_say(const Goal *goal);
void goal_json(const Goal *goal, FaJsonWriter *w);
void goal_free(Goal *goal);

#endif
