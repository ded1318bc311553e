// The run file: a header and one record per frame, appended in order; what a kill leaves half written is cut off.
//
//     header   "FATAKE01", key, sizes, checksum
//     record   frame, flags, input, surface, state if flagged, checksum
// Numbers are as in memory: the file belongs to the machine that made it, like any cache. Everything read is checked.
#ifndef FAI_RUN_STORE_H
#define FAI_RUN_STORE_H

#include "base/base.h"
#include "fascia/method.h"
#include "math/pose_curve.h"

typedef struct FaRunStoreShape {
    uint64_t key;                  // rig, method and parameters
    uint64_t nvert, nshape, state; // sizes of a record's parts: vertices, weights, bytes
} FaRunStoreShape;

// What a frame was made from.
typedef struct FaRunStoreInput {
    double time;
    FaMotion motion;      // of the head; all 0: still
    const float *weights; // (nshape)
} FaRunStoreInput;

typedef struct FaRunStore FaRunStore;

// Open for reading, or for reading and appending. *why: "" or why what is there cannot be used (then *file is NULL and
// the code FA_OK). Records from the first damaged one on are left out, and cut off where the file is to be appended to.
// A file that is appended to is locked: FA_E_FILE where another run has it.
FaCode fai_run_store_open(const char *path, const FaRunStoreShape *shape, bool append, FaRunStore **file,
                          const char **why, FaError *err);
FaCode fai_run_store_create(const char *path, const FaRunStoreShape *shape, FaRunStore **file, FaError *err);
void fai_run_store_close(FaRunStore *file);                // NULL is fine
FaCode fai_run_store_sync(FaRunStore *file, FaError *err); // to the disk

int fai_run_store_count(const FaRunStore *file); // frames 0 .. count - 1 are there
bool fai_run_store_has_state(const FaRunStore *file, int frame);
FaCode fai_run_store_cut(FaRunStore *file, int count, FaError *err); // forget what comes after
FaCode fai_run_store_append(FaRunStore *file, const FaRunStoreInput *in, const float *surface, const void *state,
                            FaError *err);
// Any of the parts may be NULL. in->weights points into the file's own buffer, valid until the next call.
FaCode fai_run_store_read(FaRunStore *file, int frame, FaRunStoreInput *in, float *surface, void *state, FaError *err);

#endif
