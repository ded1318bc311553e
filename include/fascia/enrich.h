// fascia/enrich.h: secondary motion of flesh on a face built before: fa_method_open("enrich", ...) builds or loads one
// itself.
#ifndef FASCIA_ENRICH_H
#define FASCIA_ENRICH_H

#include "fascia/face.h"
#include "fascia/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The method "enrich" on this face, which must fit the rig (fa_face_fits), have its volumes (fa_face_volumes) and, as
/// the rig, outlive the method. Its parameter `face` is ignored. params NULL: defaults. Everything else as
/// fa_method_open.
FA_API FaCode fa_enrich_open(const FaRig *rig, const FaFace *face, const FaParams *params, FaMethod **method,
                             FaError *err);

typedef enum FaColliderFrame {
    FA_COLLIDER_AUTO,  // with a motion: the world; without: the head
    FA_COLLIDER_HEAD,  // poses are against the head, which carries the collider along: a mask, glasses
    FA_COLLIDER_WORLD, // the head moves and the collider does not follow: a hand, a pillow
} FaColliderFrame;

/// A rigid mesh that pushes the skin.
typedef struct FaEnrichCollider {
    const char *path; // .obj, .glb, ...: the mesh in the rig's frame and unit, faces outwards; best closed
    const FaClip
        *motion;  // its pose over time: `head` of a clip, as heads have it (world from collider); NULL: it stands still
    bool in_file; // motion is the animation of a node (fa_clip_load of a .glb): poses in that file's own world
    FaColliderFrame frame;
} FaEnrichCollider;

typedef struct FaEnrichOptions {
    const FaFace *face;               // NULL: by the parameter `face`, or built
    int ncollider;                    // at most 16
    const FaEnrichCollider *collider; // read while opening (ncollider)
    const FaClip
        *clip; // the clip that will be played; NULL: the rig's own. Only whose world its head poses are in is looked at
} FaEnrichOptions;
FA_API FaEnrichOptions fa_enrich_options_default(void); // all 0

/// The same with more to say. options is read while opening, but for the face. A take (fascia/take.h) made with other
/// colliders or other motions of theirs is not used.
FA_API FaCode fa_enrich_open_with(const FaRig *rig, const FaEnrichOptions *options, const FaParams *params,
                                  FaMethod **method, FaError *err);

/// Since it was opened: how deep skin was in a collider at the end of a step, at most, m.
FA_API double fa_enrich_collider_depth(const FaMethod *method);

#ifdef __cplusplus
}
#endif
#endif
