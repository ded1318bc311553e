// Poses to learn from: frames of clips, frames with more on top, and a few shapes at random, as one could record them.
//
// Each pose follows from (seed, identity, pose) alone, whoever makes it and when. A third of an identity's poses is of
// each kind (FaSampleKind). What a tracker cannot report is not drawn: poses_rules in poses.c.
#ifndef FAI_POSES_H
#define FAI_POSES_H

#include "fascia/clip.h"
#include "fascia/rig.h"
#include "neural/shard.h"

// A frame that moves the face: of the clip, its weights in ARKit's order.
typedef struct FaPoseClip {
    char name[64]; // of the file or of the shipped head's clip
    int nframe;    // frames that move the face
    int nrecorded; // all of them
    float *weight; //                                              (nframe x 52)
} FaPoseClip;

typedef struct FaPoses {
    uint64_t seed;
    int nclip;
    FaPoseClip *clip;
    int nable;                // shapes that the rig has
    int able[FA_ARKIT_COUNT]; // which
    FaNotes notes;            // channels that drive nothing, clips without a frame that moves the face
    FaArena *arena;
} FaPoses;

// clips: files; none: the shipped head's own. has: which of the 52 the rig has. FA_E_ARG: no frame moves the face.
FaCode fai_poses_open(uint64_t seed, const char *const *clips, int nclip, const bool has[FA_ARKIT_COUNT],
                      FaPoses *poses, FaError *err);
void fai_poses_close(FaPoses *poses); // empty is fine

// Weights of a pose (52), its kind, and the clip it is from (-1: none).
void fai_pose_draw(const FaPoses *poses, uint64_t identity, int pose, float *weight, FaSampleKind *kind, int *clip);
// What a tracker cannot report is taken out of weights (52): see the table in poses.c.
void fai_pose_obey(float *weight);
uint64_t fai_poses_print(const FaPoses *poses); // of clips and shapes, for the key of a set

#endif
