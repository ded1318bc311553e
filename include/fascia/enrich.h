// fascia/enrich.h: secondary motion of flesh, fa_method_open("enrich", ...): what it has beside the interface of all.
#ifndef FASCIA_ENRICH_H
#define FASCIA_ENRICH_H

#include "fascia/face.h"
#include "fascia/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Since it was opened: how deep skin was in a collider at the end of a step, at most, m.
FA_API double fa_enrich_collider_depth(const FaMethod *method);

#ifdef __cplusplus
}
#endif
#endif
