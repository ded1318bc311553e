// Which unit and which axes a file is in, found from what a face looks like.
#ifndef FAI_RIG_FRAME_H
#define FAI_RIG_FRAME_H

#include "base/base.h"
#include "rig/rig_build.h"

// One shape of a draft, in file coordinates.
// A shape whose largest motion is below this share of the rig's largest holds the rounding errors of an exporter: they
// are 1e-5 of it where they were seen, the faintest sculpted shapes 1e-2.
#define FA_NOISE_SHARE 1e-3

typedef struct FaDraftShape {
    const char *name;
    int arkit, half; // as in FaShape
    FaSaid said;     // likewise
    int count;
    int *row;     // (count)
    float *delta; // (count x 3)
    float weight;
} FaDraftShape;

typedef struct FaFrameInput {
    const FaMesh *mesh;        // faces tell which vertices count; x in file coordinates
    const FaDraftShape *shape; // (nshape)
    int nshape;
    double scale[9]; // S of the hints
    const FaRigHints *hints;
    const FaRigOptions *options;
    FaArena *arena; // for the two sentences
    FaNotes *notes;
} FaFrameInput;

typedef struct FaFrame {
    double unit;
    double axes[9];
    const char *unit_how, *axes_how;
} FaFrame;

// Fails with FA_E_MESH where the unit cannot be found and any_size is not set.
FaCode fai_frame_find(const FaFrameInput *in, FaFrame *frame, FaError *err);

#endif
