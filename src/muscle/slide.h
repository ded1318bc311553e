// Where skin slides on bone: the scalp glides over the forehead, which lattice nodes that stick to the skull would not
// let it do. Nodes of the skull above the brows and in front are set free on the plane of the bone; the top of the
// forehead, where the muscles that raise the brows begin, is held.
//
// And where the throat gives way: an opening jaw comes back by 3 cm. Flesh has no bone there, but filled flesh ends
// below it at nodes that the skull carries; these are set free, with weak springs for what hangs in the throat.
// And the upper lid: a raised brow takes its skin along, but the septum that joins it to the rim of the orbit does not
// follow. Weak springs hold it back from going up; down it is free, to close the eye. Tendons hold the corners of the
// eye: weak springs, or the ring that closes the lids would gather them in the middle.
#ifndef FAI_SLIDE_H
#define FAI_SLIDE_H

#include "build/filled.h"
#include "muscle/place.h"
#include "solve/newton.h"

// fixed, spring: of the flesh's nodes; what slides is set to 0 in fixed and gets a spring, lids too (room for nnode).
// Returns how many, or an error.
int fai_muscle_slide(const FaMuscleGround *ground, const FaFilled *filled, unsigned char *fixed, FaSpring *spring,
                     FaError *err);

#endif
