// --head-motion FILE [--loop-motion]: the head's motion of another file on a clip.
#ifndef FASCIA_HEAD_MOTION_H
#define FASCIA_HEAD_MOTION_H

#include "job.h"

typedef struct HeadMotion {
    const char *path; // NULL: not given
    bool loop;
} HeadMotion;
extern HeadMotion head_motion;

#define HEAD_MOTION_OPTIONS                                                                                            \
    {"head-motion", 0, OPT_TEXT, &head_motion.path, "FILE", 0, 0, "take the head's motion from this BVH or clip"}, {   \
        "loop-motion", 0, OPT_FLAG, &head_motion.loop, NULL, 0, 0,                                                     \
            "repeat a --head-motion that is shorter than the clip; without it the head comes to a stop"                \
    }

// What is known of the file beside its motion.
typedef struct HeadMotionFile {
    FaPose begins; // world of the motion from that of its file
    bool rested;   // it began with a rest pose
} HeadMotionFile;

FaCode head_motion_check(FaError *err); // --loop-motion without a file
// *moved: the job's clip with that motion, from its first frame on, without jitter, as long as the clip; *felt: as the
// flesh of a body feels it, NULL: the same. file: nullable.
FaCode head_motion_add(Job *job, FaClip **moved, FaClip **felt, HeadMotionFile *file, FaError *err);

#endif
