// fascia/clip.h: animation curves: times, one weight per channel and frame, and the head's motion.
//
// Typical order: fa_clip_load, fa_clip_bind (channels to a rig's shapes), fa_clip_weights per frame, fa_clip_free.
#ifndef FASCIA_CLIP_H
#define FASCIA_CLIP_H

#include "fascia/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A rigid pose: world = R(q) x + p.
///
/// Poses of heads, in clips and takes, are canonical, whatever file they came from: x is in the head's canonical axes
/// (x to the subject's left, y up, z out of the face; origin and metres are the rig's), the world has y up, z towards
/// who is looked at from the front. Identity: upright, facing +z. The world of a .glb, .fbx or BVH is the file's own,
/// turned to y up where it has another custom; a camera's begins where the head is first seen. What a file says of its
/// mesh's own axes is divided out once, on reading (fa_rig_head), and multiplied in again by whoever moves vertices
/// (fa_rig_pose in fascia/rig.h).
typedef struct FaPose {
    double q[4]; // unit quaternion x y z w
    double p[3]; // m
} FaPose;

/// Weights outside 0..1 are legal. Times increase strictly. Plain data; made by fa_clip_load or fa_clip_new.
typedef struct FaClip {
    int nframe;
    int nchan;
    double fps;        // nominal rate: the median step's inverse, snapped to a common rate when within 0.5 %
    double *time;      // s from the first frame                                        (nframe)
    const char **name; // channel names as in the file                                  (nchan)
    float *weight;     //                                                               (nframe x nchan)
    FaPose *head;      // world from head, canonical; NULL: the head is still          (nframe)
    double start;      // s: time of frame 0 in the file (a time of day for Live Link)
    FaNotes notes;     // what was odd in the file
    char *path;        // the file it came from, or NULL
} FaClip;

typedef enum FaHeadUnits { FA_HEAD_AUTO, FA_HEAD_NORM180, FA_HEAD_RAD, FA_HEAD_DEG } FaHeadUnits;

typedef struct FaClipOptions {
    FaHeadUnits head_units; // Live Link head angles; auto decides by their range and says so
    const char *joint;      // BVH: the head joint's name; NULL: found by name
    double unit;            // BVH: metres per unit of length; 0: found from the skeleton's size
    double fps;             // override the file's rate; 0: keep
} FaClipOptions;
FA_API FaClipOptions fa_clip_options_default(void); // all 0

/// Load Live Link CSV, our clip CSV or JSON, BVH (head motion only), or the animation inside a rig file.
/// options NULL: defaults. *clip is NULL on failure. Free with fa_clip_free.
FA_API FaCode fa_clip_load(const char *path, const FaClipOptions *options, FaClip **clip, FaError *err);

/// Save as .csv (Live Link layout when every channel is an ARKit name, our own layout else) or .json (lossless).
/// Atomic.
FA_API FaCode fa_clip_save(const FaClip *clip, const char *path, FaError *err);

/// An empty clip with room for the frames: times at 1/fps, weights 0, no head motion.
FA_API FaCode fa_clip_new(int nframe, int nchan, const char *const *names, double fps, FaClip **clip, FaError *err);
FA_API FaCode fa_clip_check(const FaClip *clip, FaError *err); // the invariants above
FA_API void fa_clip_free(FaClip *clip);

/// Frames first..last of a clip, times from its new first frame.
FA_API FaCode fa_clip_slice(const FaClip *clip, int first, int last, FaClip **out, FaError *err);
/// How many frames the clip has at an even rate. The last one counts where recorded times jitter and it came early, by
/// up to half a step of the clip.
FA_API int fa_clip_frames(const FaClip *clip, double fps);
/// The clip at an even rate, sampled as fa_clip_sample does; the same length to within one frame.
FA_API FaCode fa_clip_resample(const FaClip *clip, double fps, FaClip **out, FaError *err);

/// The first frame held for `hold` frames, then the clip `passes` times over: time for flesh to settle, and loops
/// without a seam.
FA_API FaCode fa_clip_extend(const FaClip *clip, int hold, int passes, FaClip **out, FaError *err);
/// The clip with the head's motion of another one (a BVH), from their beginnings; at a multiple of the clip's rate
/// where the motion's is higher. A clip of one frame becomes as long as the motion; past the motion's end the head
/// stays.
FA_API FaCode fa_clip_with_head(const FaClip *clip, const FaClip *motion, FaClip **out, FaError *err);
/// Take what is faster than `hz` (3 dB down there) out of the head's motion, in place and without delay: recorded
/// motion jitters, and flesh feels accelerations. Frames are taken as evenly spaced. Nothing happens where hz is beyond
/// what the rate holds.
FA_API FaCode fa_clip_smooth_head(FaClip *clip, double hz, FaError *err);

/// The head's motion of a recording (a BVH), fit to be played: without the rest pose that some collections put first,
/// smoothed, and counted from its first frame: the head begins at the origin and looks along +z, leaning as it does. hz
/// as for fa_clip_smooth_head; 0: not smoothed, below 0: 10. *moved (nullable): world of the new motion from that of
/// the recording, for what else it moves. A note says what was done. Clips of other formats are smoothed only, if hz is
/// above 0.
FA_API FaCode fa_clip_prepare_head(FaClip **clip, double hz, FaPose *moved, FaError *err);
FA_API FaCode fa_clip_skip_first(FaClip **clip, FaError *err);    // without its first frame, the others as early
FA_API void fa_clip_move_head(FaClip *clip, const FaPose *moved); // the world of its poses is moved by this
/// A motion that lasts `seconds`, if it is shorter: it comes to a stop within half a second and stays; or, with loop,
/// it goes on from where it ended as often as it takes. *longer is NULL (and FA_OK) where it is long enough.
FA_API FaCode fa_clip_lengthen_head(const FaClip *motion, double seconds, bool loop, FaClip **longer, FaError *err);

/// Weights (nchan) and head pose at any time, linear between frames (slerp for the head), held outside.
/// weights and head are nullable.
FA_API void fa_clip_sample(const FaClip *clip, double time, float *weights, FaPose *head);

#ifdef __cplusplus
}
#endif
#endif
