// Inside of sequences: what sequence_edit.c, usda.c and others need besides the public header.
#ifndef FAI_SEQUENCE_H
#define FAI_SEQUENCE_H

#include "base/base.h"
#include "fascia/sequence.h"

// Let the sequence own `user` and `time` (s from the first frame, nframe; both nullable, freed with fa_free on close).
void fai_sequence_own(FaSequence *seq, void *user, double *time);

// Whether a clip is the rig's own: the one that came in its file, or a part of it. Its channels are the rig's shapes,
// in order, and what else moves in the file moves with it.
bool fai_clip_is_own(const FaRig *rig, const FaClip *clip);

// Shape weights of a rig under a clip. The rig's own clip has one channel per shape, in order; others are bound by
// name. Shapes that nothing drives stay at rest.
typedef struct FaDriver {
    const FaRig *rig;
    const FaClip *clip;
    FaBinding binding;
    bool direct;
} FaDriver;
FaCode fai_driver_open(const FaRig *rig, const FaClip *clip, FaDriver *driver, FaError *err);
void fai_driver_weights(const FaDriver *driver, int frame, float *weights); // nshape
void fai_driver_close(FaDriver *driver);

#endif
