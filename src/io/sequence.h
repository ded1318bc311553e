// Inside of sequences: what sequence_edit.c, usda.c and others need besides the public header.
#ifndef FAI_SEQUENCE_H
#define FAI_SEQUENCE_H

#include "base/base.h"
#include "fascia/sequence.h"

// Let the sequence own `user` and `time` (s from the first frame, nframe; both nullable, freed with fa_free on close).
void fai_sequence_own(FaSequence *seq, void *user, double *time);

// The clip's time that goes with a frame. Where the clip has as many frames, and where a cache does not know its rate,
// frames go with the clip's one by one; else by time.
double fai_sequence_clip_time(const FaSequence *seq, const FaClip *clip, int frame);

// Shape weights of a rig under a clip, bound as rig/bind.h says. Shapes that nothing drives stay at rest.
typedef struct FaDriver {
    const FaRig *rig;
    const FaClip *clip;
    FaBinding binding;
} FaDriver;
FaCode fai_driver_open(const FaRig *rig, const FaClip *clip, FaDriver *driver, FaError *err);
void fai_driver_weights(const FaDriver *driver, int frame, float *weights); // nshape
void fai_driver_close(FaDriver *driver);

#endif
