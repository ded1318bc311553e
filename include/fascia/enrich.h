// fascia/enrich.h: secondary motion of flesh on a face built before: fa_method_open("enrich", ...) builds or loads one itself.
#ifndef FASCIA_ENRICH_H
#define FASCIA_ENRICH_H

#include "fascia/face.h"
#include "fascia/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The method "enrich" on this face, which must fit the rig (fa_face_fits), have its volumes (fa_face_volumes) and, as the rig,
/// outlive the method. Its parameter `face` is ignored. params NULL: defaults. Everything else as fa_method_open.
FA_API FaCode fa_enrich_open(const FaRig *rig, const FaFace *face, const FaParams *params, FaMethod **method, FaError *err);

#ifdef __cplusplus
}
#endif
#endif
