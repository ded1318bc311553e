// fascia/projective.h: flesh in real time on a face built before: fa_method_open("projective", ...) builds or loads one
// itself.
#ifndef FASCIA_PROJECTIVE_H
#define FASCIA_PROJECTIVE_H

#include "fascia/face.h"
#include "fascia/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The method "projective" on this face, which must fit the rig (fa_face_fits) and, as the rig, outlive the method. Its
/// parameter `face` is ignored. params NULL: defaults. Everything else as fa_method_open.
FA_API FaCode fa_projective_open(const FaRig *rig, const FaFace *face, const FaParams *params, FaMethod **method,
                                 FaError *err);

/// Parameters for a surface that is the actor's own (FaInput.target: from markers): lips stop each other, nothing else
/// is added. Goals so firm that timing stays the actor's; no motion of the head and no sticking, whose effects markers
/// show already; no teeth, on which lips that open within a frame get caught. Values that are not the default stay as
/// they are.
FA_API FaCode fa_projective_contact(FaParams *params, FaError *err);

#ifdef __cplusplus
}
#endif
#endif
