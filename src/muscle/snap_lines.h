// The file that says where a sculpt is to show on top of flesh (paper 002, section 5): lines on its features, a region
// around them, and how the weight falls off in between.
//
//     {"lines": [[120, 340, "corner_left"], "nasolabial"],
//      "region": {"around_mm": 12},
//      "falloff": [[0, 0], [0.5, 0.8], [1, 1]]}
//
// lines     polylines of vertices (numbers of the rig, from 0, or landmarks), joined along the shortest edges; or
// names:
//           "nasolabial" (".L", ".R"), or a region of the face, all of which then counts as line. Without lines the
//           region's painted values are the weights.
// region    "mouth" (a region of the face); [12, 13, ...] (vertices); {"triangles": [...]}; {"around_mm": 12} (from the
//           lines, along the skin; that, 12 mm, where it is missing); else painted as in face/skin_paint.h, by strokes.
//           Painted values below 1 dim the weights.
// falloff   points of a curve from weight (0 at the edge, 1 on lines) to weight
//
// All over vertices of the rig; anything else in the file is an error that names its place.
#ifndef FAI_SNAP_LINES_H
#define FAI_SNAP_LINES_H

#include "face/face.h"
#include "fascia/muscle.h"

enum { FA_SNAP_FOLD = 5 };
typedef struct FaSnapPlaces {
    const FaRig *rig;
    const FaFace *face; // nullable: regions have no names then
    int nname;
    const char *const *name;   // of landmarks                                     (nname)
    const int *vertex;         // -1: not found                                    (nname)
    int fold[2][FA_SNAP_FOLD]; // the nasolabial folds, left and right; -1: not found
} FaSnapPlaces;

// weight: 0..1 (nvert). report is nullable.
FaCode fai_snap_parse(const char *text, size_t size, const FaSnapPlaces *places, float *weight,
                      FaMuscleSnapReport *report, FaError *err);

#endif
