// Files on the way to being whole. Each has a name of its own beside the final one, NAME.part-XXXXXX, and a lock that
// ends with its maker: what a killed run left is known by being unlocked, and the next one to write there removes it.
#ifndef FAI_SCRATCH_H
#define FAI_SCRATCH_H

#include "base/base.h"
#include "fascia/output.h"

typedef struct FaScratch {
    int fd;     // open for writing, locked; -1: none
    char *path; // final name: what a link points to
    char *name; // until then; NULL: path is a device or a pipe, which is written through
} FaScratch;

// A new one for `path`. Fails with FA_E_ARG where path is an input of this process (fa_inputs_protect).
FaCode fai_scratch_open(const char *path, FaScratch *s, FaError *err);
FaCode fai_scratch_finish(FaScratch *s, FaError *err); // to the disk, and to its name; *s is gone then, in any case
void fai_scratch_drop(FaScratch *s);                   // nothing of it stays; all zero is fine

// The same for a folder: `pattern` ends in ".part-XXXXXX". Its files are called 0, 1, 2, ... until it is finished.
typedef struct FaScratchFolder {
    int fd;
    char *name;
    int slot;
} FaScratchFolder;
FaCode fai_scratch_folder_open(const char *pattern, FaScratchFolder *s, FaError *err);
void fai_scratch_folder_count(FaScratchFolder *s, int count); // files 0 .. count - 1 may be there
void fai_scratch_folder_keep(FaScratchFolder *s);             // fa_scratch_remove leaves it from now on
void fai_scratch_folder_close(FaScratchFolder *s);            // it has its final name, or is removed

// What fa_inputs_protect guards: an open file that is read; a file that this process wrote.
void fai_input_read(int fd);
void fai_input_written(int fd);

// fa_claim_new, and whether it failed because another run has the claim.
FaCode fai_claim_new(const char *path, const char *who, FaClaim **claim, bool *taken, FaError *err);

FaCode fai_fail_errno(FaError *err, const char *path, const char *verb); // "cannot write: No space left on device"

#endif
