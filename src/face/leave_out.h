// Triangles taken out of a face that is built: where a shape folds the skin so that no flesh fits below it, as the
// builder does where the neutral does (face_build.c).
#ifndef FAI_LEAVE_OUT_H
#define FAI_LEAVE_OUT_H

#include "face/face.h"

// Which pieces (fai_face_piece: prisms below a triangle, or tets of filled flesh) go along with those marked, so that
// the skin that stays is one piece with one fan of triangles at each node, else flesh would hang by an edge; and of
// filled flesh so that every skin node has a tet and every part that hangs together by faces hangs on what holds it by
// three nodes or more that are not in a line. out: in and out (fai_face_pieces). Returns how many are marked in the
// end, FA_E_MESH: all of them.
FaCode fai_leave_out_more(const FaFace *face, unsigned char *out, int *count, FaError *err);

// The marked pieces go, triangles that are left without, and nodes that are left without any. out: as
// fai_leave_out_more left it. Everything else keeps its numbers: materials, volumes and stiffness too; corners of the
// hole are no rim. node: the new number of each node, -1: gone (nnode, of before).
FaCode fai_leave_out(FaFace *face, const unsigned char *out, int *node, FaError *err);

#endif
