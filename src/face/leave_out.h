// Triangles taken out of a face that is built: where a shape folds the skin so that no flesh fits below it, as the
// builder does where the neutral does (face_build.c).
#ifndef FAI_LEAVE_OUT_H
#define FAI_LEAVE_OUT_H

#include "face/face.h"

// Which triangles go along with those marked so that what stays is one piece with one fan of triangles at each node:
// else flesh would hang by an edge. out: in and out (ntri). Returns how many are marked in the end, FA_E_MESH: all of
// them.
FaCode fai_leave_out_more(const FaFace *face, unsigned char *out, int *count, FaError *err);

// The marked triangles and the prisms below them go, and nodes that are left without any. Everything else keeps its
// numbers: materials, volumes and stiffness too; corners of the hole are no rim. node: the new number of each node, -1:
// gone (nnode, of before).
FaCode fai_leave_out(FaFace *face, const unsigned char *out, int *node, FaError *err);

#endif
