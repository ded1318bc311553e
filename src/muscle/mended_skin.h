// The skin of a played frame against the rig's own: what the frame adds to it is made smooth, and where skin crosses
// that the rig's own surface has apart, it goes back to that around the place.
//
// A snap is what a pose from rest lacks. Where lips touch, a frame may come to lie otherwise than that pose did, and
// the snap of a vertex or two is then too much: a dent, or a crossing. Nothing is remembered from frame to frame. Same
// bits for any number of threads; no allocation after fai_mended_skin_new.
#ifndef FAI_MENDED_SKIN_H
#define FAI_MENDED_SKIN_H

#include "base/base.h"
#include "fascia/rig.h"

typedef struct FaMendedSkin FaMendedSkin;

// rig must outlive it.
FaCode fai_mended_skin_new(const FaRig *rig, FaMendedSkin **out, FaError *err);
void fai_mended_skin_free(FaMendedSkin *skin); // NULL is fine
// linear: the rig's own surface at the frame's weights; surface: the frame's (nvert x 3, m). share: of all this, 0..1.
// may_cross: nothing goes back, it is only made smooth. How many pairs of triangles crossed before the skin went back.
int fai_mended_skin(FaMendedSkin *skin, double share, bool may_cross, const float *linear, float *surface);

#endif
