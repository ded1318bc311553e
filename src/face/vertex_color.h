// Paint that a modelling program keeps as vertex colours, on a mesh with the rig's vertices in the rig's order.
//
//   .glb .gltf   COLOR_0 of the mesh that a rig would be read from, for the face as a whole; for single shapes either
//   COLOR_0 of its
//                morph targets (differences, as glTF has them), or other meshes of the same vertices that are named
//                like a shape
//   .obj         v x y z r g b
//   folder       of .obj files: the neutral (neutral, base, basis, rest, or a name with "neutral" in it) for the whole,
//   others by their
//                names for single shapes; files without colours are passed over
//
// 0 to 1, linear. Only red and green are read.
#ifndef FAI_VERTEX_COLOR_H
#define FAI_VERTEX_COLOR_H

#include "base/base.h"
#include "fascia/rig.h"

typedef struct FaVertexColors {
    float *whole;   // red, green of each vertex; NULL: not painted             (nvert x 2)
    float **shape;  // the same of each shape; NULL: not painted                (nshape)
    int nshape;     // painted ones
    FaArena *arena; // owns them
} FaVertexColors;

bool fai_vertex_colors_named(const char *path); // a file or folder of such a kind, by its name
// Fails where nothing is painted, where vertices are not as many as the rig's, and for numbers that are no colours.
// Free with fai_vertex_colors_free, also after a failure.
FaCode fai_vertex_colors_load(const char *path, const FaRig *rig, FaVertexColors *colors, FaError *err);
void fai_vertex_colors_free(FaVertexColors *colors);

#endif
