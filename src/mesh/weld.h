// Which vertices at one place are one point of the surface, and which are two that only lie there.
//
// Formats split a point at seams of texture and normal; a reader joins what has the same place and the same motion. But
// a card of hair that lies on its own back has two points at each place, and a file that holds both means both. What
// tells them apart is the surface around: where two faces lie upon one another (on the same side of an edge, in one
// plane) the sheet is double there, and only faces that go on from one another are joined, each with the one that it
// goes on into most smoothly. Everywhere else all that is the same is joined.
#ifndef FAI_WELD_H
#define FAI_WELD_H

#include "mesh/mesh.h"

// same: for each vertex the first one that equals it (nvert); out weld: the first one that it is one point with
// (nvert). Faces and positions of the mesh are read, nothing else.
FaCode fai_weld_points(const FaMesh *mesh, const int *same, int *weld, FaError *err);

#endif
