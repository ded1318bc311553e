// Where the face is: what the shapes move, whatever else the mesh holds (a body, hair, clothes).
#ifndef FAI_FACE_BOX_H
#define FAI_FACE_BOX_H

#include "base/base.h"
#include "fascia/rig.h"

// The box of the vertices that the shapes move distinctly, canonical axes, m. Shapes with ARKit names decide where
// there are some: others may shape the body. False: nothing moves.
bool fai_face_box(const FaRig *rig, double lo[3], double hi[3]);

#endif
