// What holds the deepest layer: skull, jaw or nothing; which parts of the rig ride on the skin.
#ifndef FAI_ATTACH_H
#define FAI_ATTACH_H

#include "face/face.h"
#include "mesh/mesh.h"

typedef struct FaAttachInput {
    const FaRig *rig;
    int nskin;
    const int *skin_vertex; //                                                            (nskin)
    const float *deep;      //                                                            (nskin x 3)
    const float *with_jaw;  // per rig vertex                                             (nvert)
    bool jaw_found;
    int nbone;
    const FaBone *bone;
    const float *paint_skull, *paint_jaw; // per rig vertex, NAN = not painted; or NULL      (nvert)
    double scale;                         // size of the head against an adult's
} FaAttachInput;

// Near a bone the flesh is held by it; without bones the deepest layer stands for them, shared by how much each vertex
// goes with the jaw. Lips, lids, what lies behind the mouth and region[FA_REGION_FREE] are held by nothing. region:
// FA_REGIONS x nskin.
FaCode fai_attach_find(const FaAttachInput *in, const float *const *region, float *to_skull, float *to_jaw,
                       FaError *err);

// Vertices of the rig outside the patch that move as the skin beneath them does (lashes, brows): three skin nodes and
// weights into the face's ride_node (-1 elsewhere) and ride_weight; its skin is there. topo: of the rig, skin_part: its
// part that is skin.
FaCode fai_ride_find(const FaRig *rig, const FaTopology *topo, int skin_part, FaFace *face, FaError *err);

#endif
