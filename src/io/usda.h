// USD as text (.usda): exact frames (points.timeSamples), or a rig (BlendShapes driven by a SkelAnimation).
//
// metersPerUnit 1, upAxis Y, timeCodesPerSecond = the frame rate, so that time codes are frame numbers. Points are in
// the mesh's own frame; what turns that frame upright and the head's motion are transforms of the parent. A body whose
// head moves stands: its frames are points in the world, and a rig has a joint for the head. Prim names
// are the original ones as far as identifiers allow; the original is kept as customData "name" where it had to change.
// Nothing is kept in memory but the box of each frame.
#ifndef FAI_USDA_H
#define FAI_USDA_H

#include "base/base.h"
#include "fascia/rig.h"

// Exact frames. clip (nullable) gives the head's motion. rig, clip and generator must outlive the writer. Atomic.
typedef struct FaUsdaWriter FaUsdaWriter;
FaCode fai_usda_create(const char *path, const FaRig *rig, const FaClip *clip, double fps, double start,
                       const char *generator, FaUsdaWriter **writer, FaError *err);
FaCode fai_usda_push(FaUsdaWriter *writer, double time, const float *x, FaError *err); // s from the first frame
FaCode fai_usda_finish(FaUsdaWriter *writer, FaError *err); // frees the writer, also on failure
void fai_usda_abandon(FaUsdaWriter *writer);                // NULL is fine

// The neutral, its shapes, and the clip (NULL: none).
FaCode fai_usda_save_rig(const FaRig *rig, const FaClip *clip, const char *path, FaError *err);

#endif
