// STL, binary and text: triangles as scanners, segmentation tools and CAD write them.
//
// The format has no vertices of its own: corners at exactly the same place become one. Normals and colours are passed
// over, triangles that use a place twice are left out. Refused with the triangle: coordinates that are no finite
// numbers, a file that ends early. No unit is stored.
#ifndef FAI_STL_H
#define FAI_STL_H

#include "base/base.h"
#include "fascia/mesh.h"

enum { FA_STL_MOST = 8 << 20 }; // triangles

// x, tri, nvert and ntri of the mesh are set (arrays in the arena), in the file's numbers; it has no polygons.
FaCode fai_stl_parse(const void *data, size_t size, FaArena *arena, FaMesh *mesh, FaError *err);

#endif
