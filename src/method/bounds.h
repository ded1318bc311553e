// A bound on every frame, whatever the method: positions are numbers, no vertex is farther from the rig's own surface
// than a head's flesh can be, and no edge is torn. What is beyond is blended back towards that surface around the
// place, and counted; a frame within the bounds is not touched.
#ifndef FAI_BOUNDS_H
#define FAI_BOUNDS_H

#include "method/method.h"

typedef struct FaBounds FaBounds;

// face (nullable): what hangs free may swing as far as the head is large.
FaCode fai_bounds_new(const FaRig *rig, const FaFace *face, FaBounds **bounds, FaError *err);
void fai_bounds_free(FaBounds *b); // NULL is fine
// Weights of 1e30 are a mistake that no method survives: what is no weight becomes no number, which every method takes
// for the last that was one. The same array where all are sane. stats: limited is added to.
const float *fai_bounds_weights(FaBounds *b, const float *weights, FaStats *stats);
// The frame that a method made of `in` (in the rig's frame). stats: limited, worst and clamped are added to.
FaCode fai_bounds_check(FaBounds *b, FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err);

#endif
