// The file of a take: a header and one record per frame, appended in order; what a kill leaves half written is cut off.
//
//     header   "FATAKE01", key, sizes, checksum
//     record   frame, flags, input, surface, state if flagged, checksum
// Numbers are as in memory: the file belongs to the machine that made it, like any cache. Everything read is checked.
#ifndef FAI_TAKE_FILE_H
#define FAI_TAKE_FILE_H

#include "base/base.h"
#include "fascia/method.h"
#include "math/pose_curve.h"

typedef struct FaTakeShape {
    uint64_t key;                  // rig, method and parameters
    uint64_t nvert, nshape, state; // sizes of a record's parts: vertices, weights, bytes
} FaTakeShape;

// What a frame was made from.
typedef struct FaTakeInput {
    double time;
    FaMotion motion;      // of the head; all 0: still
    const float *weights; // (nshape)
} FaTakeInput;

typedef struct FaTakeFile FaTakeFile;

// Open for reading, or for reading and appending. *why: "" or why what is there cannot be used (then *file is NULL and
// the code FA_OK). Records from the first damaged one on are left out, and cut off where the file is to be appended to.
FaCode fai_take_file_open(const char *path, const FaTakeShape *shape, bool append, FaTakeFile **file, const char **why,
                          FaError *err);
FaCode fai_take_file_new(const char *path, const FaTakeShape *shape, FaTakeFile **file, FaError *err);
void fai_take_file_close(FaTakeFile *file);                // NULL is fine
FaCode fai_take_file_sync(FaTakeFile *file, FaError *err); // to the disk

int fai_take_file_count(const FaTakeFile *file); // frames 0 .. count - 1 are there
bool fai_take_file_has_state(const FaTakeFile *file, int frame);
FaCode fai_take_file_cut(FaTakeFile *file, int count, FaError *err); // forget what comes after
FaCode fai_take_file_append(FaTakeFile *file, const FaTakeInput *in, const float *surface, const void *state,
                            FaError *err);
// Any of the parts may be NULL. in->weights points into the file's own buffer, valid until the next call.
FaCode fai_take_file_read(FaTakeFile *file, int frame, FaTakeInput *in, float *surface, void *state, FaError *err);

#endif
