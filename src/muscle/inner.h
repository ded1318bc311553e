// What a rig's own mesh has beside its skin: gums, teeth, a tongue, as pieces that do not hang together with it. Flesh
// does not carry them. Those that jawOpen moves go with the jaw; those in the mouth that go with skull or jaw as a
// whole are hard, and lips may not pass through them.
//
// Teeth that the face has as bones already (face/bones.h) are not found twice. Found once, const.
#ifndef FAI_INNER_H
#define FAI_INNER_H

#include "build/filled.h"

enum { FA_INNER_BONES = 2 };

typedef struct FaMuscleInner {
    int n;        // vertices of the rig that are of no flesh and go with the jaw
    int *vertex;  //                                                                            (n)
    float *share; // of the jaw's motion, above 0, at most 1                                   (n)
    int nbone;
    FaBone bone[FA_INNER_BONES]; // gums and what else is hard, with the skull or the jaw; where there is only one of
                                 // them it is of kind FA_BONE_OTHER
} FaMuscleInner;

// Arrays are the arena's. Nothing is found on a rig whose mesh is one piece.
FaCode fai_inner_find(const FaRig *rig, const FaFace *face, const FaFilled *flesh, FaArena *arena, FaMuscleInner *inner,
                      FaError *err);
// The face as contact sees it: `more` bones before its own, and what is inside of the mouth. Free its bones (fa_free).
FaCode fai_inner_face(const FaMuscleInner *inner, const FaFace *face, int nmore, const FaBone *more, FaFace *out,
                      FaError *err);
// x += how these vertices go with the jaw; x: at rest there (nvert x 3). No allocation.
void fai_inner_ride(const FaMuscleInner *inner, const FaPose *jaw, float *x);

#endif
