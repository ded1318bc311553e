// Production surfaces are simulated on fewer vertices chosen among their own (paper 000, section 7), so that every
// shape's rows carry over exactly. fa_face_build makes the flesh below the coarse skin; what was left out rides on it,
// and comes back smoothly by face/restore.h.
#ifndef FAI_COARSE_H
#define FAI_COARSE_H

#include "face/face.h"
#include "face/patch.h"

typedef struct FaCoarse {
    FaRig *rig;      // the chosen vertices, their triangles, the rows of all shapes as they are; no seams, no uvs
    FaTopology topo; // of that rig
    int nvert;       // of the full rig
    int *vertex;     // of the full rig, increasing                                                (rig->mesh.nvert)
    int *home;       // the coarse vertex each vertex of the patch went into, -1 = not of the patch  (nvert)
    FaArena *arena;
} FaCoarse;

// From the patch of a rig down to `target` vertices. region: FA_REGIONS arrays over the patch's nodes, or NULL: lips
// and lids keep more. All zero after failure; free with fai_coarse_free, also one that is all zero.
FaCode fai_coarse_new(const FaRig *rig, const FaPatch *patch, const float *const *region, int target, FaCoarse *coarse,
                      FaError *err);
void fai_coarse_free(FaCoarse *coarse);

// A patch of the coarse rig, told in vertices of the full one: skin_vertex in place, node_of_vertex anew from the
// arena. full_part: the skin's part in the full rig.
FaCode fai_coarse_lift(const FaCoarse *coarse, const FaRig *rig, int full_part, FaArena *arena, FaPatch *patch,
                       FaError *err);
// What was left out rides on the nearest triangle around the vertex it went into (never on the other lip).
FaCode fai_coarse_ride(const FaCoarse *coarse, const FaRig *rig, FaFace *face, FaError *err);

#endif
