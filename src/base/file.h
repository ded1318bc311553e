// Whole files in; files out that appear complete or not at all.
#ifndef FAI_FILE_H
#define FAI_FILE_H

#include "base/base.h"

typedef struct FaBytes {
    unsigned char *data; // followed by one zero byte that does not count
    size_t size;
} FaBytes;

// Read all of a regular file. max 0: no limit but memory. Free with fai_bytes_free.
FaCode fai_file_read(const char *path, size_t max, FaBytes *bytes, FaError *err);
// The same of a file that this process goes on with and replaces, such as a partial one: no input (fa_inputs_protect).
FaCode fai_file_read_own(const char *path, FaBytes *bytes, FaError *err);
void fai_bytes_free(FaBytes *bytes);
size_t fai_file_start(const char *path, void *start, size_t room); // its first bytes; how many. 0: none, or no file
bool fai_file_exists(const char *path);
bool fai_dir_exists(const char *path);

// Output: bytes go to a temporary file beside `path` (base/scratch.h); finish syncs and renames it, so that a kill or a
// full disk leaves the old file or the new one, never half. abandon (also after a failure) removes the temporary file.
// A link stays a link, a device or a pipe is written through (seek fails there).
typedef struct FaOutput FaOutput;
FaCode fai_output_open(const char *path, FaOutput **out, FaError *err);
FaCode fai_output_write(FaOutput *out, const void *data, size_t size, FaError *err);
FaCode fai_output_seek(FaOutput *out, uint64_t offset, FaError *err);
FaCode fai_output_finish(FaOutput *out, FaError *err);                                // frees out, also on failure
void fai_output_abandon(FaOutput *out);                                               // frees out; NULL is fine
FaCode fai_file_write(const char *path, const void *data, size_t size, FaError *err); // all of the above at once

// Paths.
const char *fai_path_base(const char *path);              // after the last slash
const char *fai_path_ext(const char *path);               // after the last dot of the base name, "" if none
bool fai_path_has_ext(const char *path, const char *ext); // ASCII case is ignored
char *fai_path_join(const char *dir, const char *name);   // NULL on no memory
char *fai_path_dir(const char *path);                     // "." where there is none
char *fai_path_stem(const char *path);                    // base name without extension

#endif
