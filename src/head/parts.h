// What is inside the skin: eyes, teeth, gums, tongue, skull, mandible. All closed, all of the mean head, mm.
#ifndef FAI_HEAD_PARTS_H
#define FAI_HEAD_PARTS_H

#include "head/skin.h"

typedef enum FaiFollow { FOLLOW_SKULL, FOLLOW_JAW, FOLLOW_TONGUE, FOLLOW_EYE_L, FOLLOW_EYE_R } FaiFollow;

typedef struct FaiPart {
    const char *name;
    FaiFollow follow;
    int nvert, nface, ncorner;
    int room_vert, room_face, room_corner;
    double *x;             // (nvert x 3)
    int *face_start;       // (nface + 1)
    int *face_vert;        // (ncorner)
    int *face_region;      // index into region                                   (nface)
    const char *region[4]; // names of materials
    int nregion;
} FaiPart;

enum { FAI_PARTS = 9 };

// eye_left, eye_right, teeth_upper, teeth_lower, gum_upper, gum_lower, tongue, skull, mandible.
FaCode fai_parts_build(FaArena *arena, const FaiSkin *skin, int level, FaiPart part[FAI_PARTS], FaError *err);

#endif
