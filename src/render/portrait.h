// What a picture is of: the head, also where the mesh is a whole body, seen from where it faces the camera.
#ifndef FAI_PORTRAIT_H
#define FAI_PORTRAIT_H

#include "base/base.h"
#include "fascia/rig.h"

// The vertices of the head, by the face that the shapes move: keep[v] is 1 for them (nvert). False: the mesh is a head,
// or nothing tells where it is; all of it is to be shown (keep is all 1).
bool fai_portrait(const FaRig *rig, unsigned char *keep);

// A turn of the scene after which a head under this clip stands upright and faces the camera: where the clip's world
// has other axes than the face, or the head is turned away all along. The clip's own turns of the head stay. Row-major.
void fai_portrait_turn(const FaClip *clip, double turn[9]);

// Whether the clip carries a point of the rig (its own frame, m) away from where it begins by more than a part of the
// head's size, m.
bool fai_portrait_travels(const FaRig *rig, const FaClip *clip, const double point[3], double size);

#endif
