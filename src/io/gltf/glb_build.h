// A new glTF document from rigs that did not come from one: an OBJ folder, an FBX, the head's parts.
//
// POSITION keeps the rig's vertex order; where a vertex has several texture coordinates, the further ones are appended
// after all the others, so that indices below nvert stay what they were. Coordinates are metres. Morph targets carry
// positions only: engines and Blender recompute normals from them at need, and baked normal deltas would double the
// file.
#ifndef FAI_GLB_BUILD_H
#define FAI_GLB_BUILD_H

#include "base/text.h"
#include "fascia/rig.h"

typedef struct FaGlbMaterial {
    const char *name; // materials of the same name are shared by all parts
    float color[3];   // base colour, linear
    float roughness;
} FaGlbMaterial;

typedef struct FaGlbPart {
    const FaRig *rig;              // its shapes become targets, its name the mesh's
    const FaGlbMaterial *material; // NULL: one neutral skin tone                              (nmaterial)
    int nmaterial;
    const int *face_material; // one primitive per material in use; NULL: all the first   (nface)
} FaGlbPart;

// One node per part below one node that carries the head's motion. clip (nullable) is bound to each part by name.
// .gltf writes a .bin beside it, anything else is a GLB. Atomic.
FaCode fai_glb_build(const FaGlbPart *parts, int nparts, const FaClip *clip, const char *generator, const char *path,
                     FaError *err);

// The same into memory, as a GLB. glb: fai_text_free, also on failure.
FaCode fai_glb_bytes(const FaGlbPart *parts, int nparts, const FaClip *clip, const char *generator, FaText *glb,
                     FaError *err);

#endif
