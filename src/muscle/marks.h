// Landmarks by which muscles are placed (muscle/place.h): the same places on the mean head and on a rig, found from
// what its shapes move and from how far its skin stands out. Nothing is asked of the user.
#ifndef FAI_MARKS_H
#define FAI_MARKS_H

#include "base/base.h"
#include "fascia/rig.h"

enum { FA_MARKS = 20 };
typedef struct FaMuscleMarks {
    int n;
    const char *name[FA_MARKS];
    double from[3 * FA_MARKS]; // on the mean head, mm                              (n x 3)
    double to[3 * FA_MARKS];   // on the rig, m                                     (n x 3)
    double eye[2]; // how much wider and higher its eyes are than an adult's on a head of its size; 1 or more
    int dropped;   // that were too far from where a face has them
    double worst;  // m: farthest from the place that eyes and mouth alone would give
} FaMuscleMarks;

// FA_E_ARG where shapes do not tell where eyes and mouth are, or landmarks contradict them.
FaCode fai_muscle_marks(const FaRig *rig, FaMuscleMarks *marks, FaError *err);

#endif
