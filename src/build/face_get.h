// The one policy of where faces come from: fa_face_get (fascia/face.h). Methods name what they need of a face in their
// FaMethodOps; nobody else knows which options, stages and files that means.
#ifndef FAI_FACE_GET_H
#define FAI_FACE_GET_H

#include "face/face.h"

// The stages of a face that hold for this rig: volumes of an earlier version or of other shapes do not.
unsigned fai_face_stages_for(const FaFace *face, const FaRig *rig);

#endif
