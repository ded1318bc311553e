// Forces from outside that a user gives: another gravity, wind, pushes on places over time. Paper 000, eq. 6: f_ext.
//
//     {"gravity": {"size": 3.7, "direction": [0, -1, 0]},                      m/s2, world; in place of the earth's
//      "wind":    {"velocity": [0, 0, -12], "keys": [[0, 0], [1, 1]]},         m/s, world
//      "pushes":  [{"region": "cheeks", "force": [0, 0, -2], "keys": [[0.2, 0], [0.5, 1], [0.6, 0]]}]}   N, head
//
// World and head: x the subject's left, y up, z front. Keys: [seconds, share], linear between, held before and after;
// without keys always 1. A place: "region" of the face, "shape" (as far as it moves the skin), or "vertices" with
// "radius" in mm. A push is spread over its place by the area of the skin; the wind presses on what faces it.
#ifndef FAI_OUTER_FORCE_H
#define FAI_OUTER_FORCE_H

#include "face/face.h"
#include "method/method.h"

typedef struct FaOuterForce FaOuterForce;

// path "": *out is NULL. *inputs takes the file's fingerprint.
FaCode fai_outer_force_new(const char *path, const FaRig *rig, const FaFace *face, FaOuterForce **out, uint64_t *inputs,
                           FaError *err);
FaCode fai_outer_force_parse(const char *text, size_t size, const FaRig *rig, const FaFace *face, FaOuterForce **out,
                             FaError *err);
void fai_outer_force_free(FaOuterForce *o); // NULL is fine
// At this time, the head there (world from head; NULL: upright), the skin at `skin` (nskin x 3): adds to accel (m/s2,
// head axes); the force on each node (N, head axes, nnode x 3; borrowed), NULL: none.
const double *fai_outer_force_at(FaOuterForce *o, double time, const FaPose *head, const float *skin, double accel[3]);

#endif
