// fascia/projective.h: flesh in real time, fa_method_open("projective", ...): what it has beside the interface of all.
#ifndef FASCIA_PROJECTIVE_H
#define FASCIA_PROJECTIVE_H

#include "fascia/face.h"
#include "fascia/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Parameters for a surface that is the actor's own (FaInput.target: from markers): lips stop each other, nothing else
/// is added. Goals so firm that timing stays the actor's; no motion of the head and no sticking, whose effects markers
/// show already; no teeth, on which lips that open within a frame get caught. Values that are not the default stay as
/// they are.
FA_API FaCode fa_projective_contact(FaParams *params, FaError *err);

#ifdef __cplusplus
}
#endif
#endif
