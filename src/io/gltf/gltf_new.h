// A new glTF document for rigs that came from elsewhere (OBJ, FBX), with baked targets.
#ifndef FAI_GLTF_NEW_H
#define FAI_GLTF_NEW_H

#include "io/gltf/gltf_edit.h"

// Exactly one of clip and motion, or neither: a clip is bound by name; motion brings weights, head and baked targets.
// *added (nullable): bytes of the baked targets and their weights.
FaCode fai_gltf_new_save(const FaRig *rig, const FaClip *clip, const FaGltfMotion *motion, const char *generator,
                         const char *path, size_t *added, FaError *err);

#endif
