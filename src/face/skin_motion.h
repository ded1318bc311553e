// From the rig's surface to the simulated skin, and back.
#ifndef FAI_SKIN_MOTION_H
#define FAI_SKIN_MOTION_H

#include "face/face.h"

// Displacements of the skin nodes to where a surface of the rig has them: linear nvert x 3, m; u nskin x 4.
void fai_face_skin_to(const FaFace *face, const float *linear, float *u);
// All of the rig's vertices: simulated ones as skin has them (nskin x 3, m), riding ones moved along, others as in
// linear. surface, linear: nvert x 3, m.
void fai_face_surface(const FaFace *face, const float *linear, const float *skin, float *surface);

#endif
