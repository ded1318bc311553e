// What the clip readers share: the nominal rate, poses from matrices, and the notes on odd weights.
#ifndef FAI_CLIP_TOOLS_H
#define FAI_CLIP_TOOLS_H

#include "base/base.h"
#include "fascia/clip.h"

// Any clip that is text (JSON, BVH, Live Link, our CSV), known by its content.
FaCode fai_clip_parse(const void *data, size_t size, const FaClipOptions *options, FaClip **clip, FaError *err);

// The common frame rate within 0.5 % of fps, the nearest of several; fps itself if there is none.
double fai_fps_snap(double fps);

void fai_sort_doubles(double *a, int n); // increasing; no NaN

// The step between frames that half of them do not exceed; 0 with fewer than two frames.
FaCode fai_median_step(const double *time, int nframe, double *step, FaError *err);

// Set clip->fps from the times; `alone` is for a clip of one frame.
FaCode fai_clip_find_fps(FaClip *clip, double alone, FaError *err);

// Play at another nominal rate: times are scaled, so that gaps stay gaps.
FaCode fai_clip_override_fps(FaClip *clip, double fps, FaError *err);

// Times from 0; what is taken off goes to clip->start.
FaCode fai_clip_from_zero(FaClip *clip, FaError *err);

// Fail with FA_E_FORMAT where two frames are less than a microsecond apart: no camera makes such, and no flesh can be
// moved from one to the other. For what is loaded to be used; the parsers themselves keep any times that increase.
FaCode fai_times_apart(const double *time, int nframe, FaError *err);

// The first two names that are equal: *i < *j, or -1.
FaCode fai_equal_names(const char *const *name, int n, int *i, int *j, FaError *err);
// Note channels of one name ("duplicate-names"): they are kept, what looks one up by name finds the first.
FaCode fai_clip_note_names(FaClip *clip, FaError *err);

// A channel's name from text of a file: terminated, without the spaces around it if `trim`, UTF-8 (bytes that are not
// are taken as Latin-1). NULL on no memory or for a zero byte inside.
char *fai_clip_name(FaArena *arena, const char *text, size_t size, bool trim);

// Fail with FA_E_LIMIT if a clip of this size is out of proportion to the file that asks for it.
FaCode fai_clip_room(size_t file_size, int64_t nframe, int64_t nchan, bool head, FaError *err);

// Note weights above 1, below 0, huge (over 100 in size) and denormal, with counts and the first place. All are kept as
// they are: values outside 0..1 are legal, and what is read is written back unchanged.
void fai_clip_note_weights(FaClip *clip);

// pose->q from a rotation (row-major), with the sign that is nearer to the pose before it (nullable).
void fai_pose_rotate(FaPose *pose, const double r[9], const FaPose *before);
// Bring a quaternion that is off unit length by more than 1e-6 to it, with a note; false if it is next to nothing.
bool fai_pose_unit(FaPose *pose, FaNotes *notes, const char *where);
void fai_pose_matrix(const FaPose *pose, double r[9]); // the way back

void fai_mat3_mul(const double a[9], const double b[9], double out[9]); // out may be a or b
void fai_mat3_axis(int axis, double radians, double out[9]);            // rotation about x, y or z (0, 1, 2)

#endif
