// The hand-laid control cage of the skin: closed loops around lips and eyes, a mouth bag, eye sockets, ears, neck.
#ifndef FAI_HEAD_CAGE_H
#define FAI_HEAD_CAGE_H

#include "base/base.h"

// What each vertex carries through subdivision beside its place.
enum {
    CAGE_X,
    CAGE_Y,
    CAGE_Z,       // mm; where the limit surface passes
    CAGE_MOUTH_U, // along the lips: 0 upper middle, 4 corner, 8 lower middle
    CAGE_MOUTH_V, // across: 0 nasolabial, 2 red border, 4 seam, 5 end of the contact, 7 back of the bag
    CAGE_MOUTH,   // 1 inside that chart, 0 elsewhere
    CAGE_EYE_V,   // across the lids: 0 orbital rim, 1 fold, 2 lash line, 3 inner edge, 4 equator, 5 behind
    CAGE_EYE_UP,  // +1 upper lid, -1 lower lid, 0 corners
    CAGE_EYE,     // 1 inside that chart
    CAGE_JAW,     // how much the skin follows the mandible
    CAGE_EAR,     // 1 on the ear
    CAGE_CHANNELS
};

typedef struct FaiCage {
    int nvert, nface, ncorner;
    double *val;     // (nvert x CAGE_CHANNELS)
    int *steps;      // corrections towards passing through the point: fair or exact (nvert)
    int *mirror;     // the vertex on the other side, itself on the midline     (nvert)
    int *face_start; // (nface + 1)
    int *face_vert;  // outward, counter-clockwise                             (ncorner)
} FaiCage;

FaCode fai_cage_build(FaArena *arena, FaiCage *cage, FaError *err);

#endif
