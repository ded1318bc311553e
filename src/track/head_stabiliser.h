// The head's motion taken out of markers as they come: world from head, frame by frame, from those that hold still.
//
// A marker is trusted by how little it moves against the head: at first by what the rig's shapes do to its place (the
// jaw's not at all), then by what was seen of it so far; within a frame those that are off lose their say
// (fai_align_robust). Causal: a pose depends on this frame and those before it.
//
//     fai_head_stabiliser_find  -> pose  (-> a better one, where the caller knows more)  -> fai_head_stabiliser_learn
#ifndef FAI_HEAD_STABILISER_H
#define FAI_HEAD_STABILISER_H

#include "base/base.h"
#include "fascia/markers.h"

// Where a map's markers are on the rig at rest, NAN where they are not mapped (count x 3, m); trust: 1, and 0 for those
// on the jaw and those not mapped (count).
FaCode fai_head_rest(const FaRig *rig, const FaMarkerMap *map, float *rest, float *trust, FaError *err);
// Points from the world, or whatever the pose leads to, to the head, in place (n x 3); ok: 0 where there is none.
void fai_bring_to_head(const FaPose *pose, int n, const unsigned char *ok, float *x);

typedef struct FaHeadStabiliser FaHeadStabiliser;

FaCode fai_head_stabiliser_new(const FaRig *rig, const FaMarkerMap *map, FaHeadStabiliser **stabiliser, FaError *err);
void fai_head_stabiliser_free(FaHeadStabiliser *stabiliser); // NULL is fine
void fai_head_stabiliser_reset(FaHeadStabiliser *stabiliser);
// The rig's own frame in the world, from markers in the map's order (n x 3, m; ok as above). False: too few hold still,
// and the pose is the last one; *known (nullable) false: there was none yet, and it is the identity. No allocation.
bool fai_head_stabiliser_find(FaHeadStabiliser *stabiliser, const float *x, const unsigned char *ok, FaPose *pose,
                              bool *known);
// The pose of this frame, found or better: the last one from now on; and what each marker was off it.
void fai_head_stabiliser_learn(FaHeadStabiliser *stabiliser, const float *x, const unsigned char *ok,
                               const FaPose *pose);
// What is kept between frames, to be copied out and in.
void *fai_head_stabiliser_state(FaHeadStabiliser *stabiliser, size_t *size);

#endif
