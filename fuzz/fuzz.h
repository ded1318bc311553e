// What a fuzz target defines: one run of its parser on some bytes. It aborts where a promise is broken; target.c holds
// every target to the rest: no leak, and no more memory than 4 times the input and 64 MiB.
#ifndef FASCIA_FUZZ_H
#define FASCIA_FUZZ_H

#include <stddef.h>
#include <stdint.h>

void fuzz_one(const uint8_t *data, size_t size);

// Run `use` on the bytes as they are; and, where there are at least `least`, on a copy that `mend` has made the check
// sums of right, or no change would get past them.
typedef void FuzzUse(const uint8_t *data, size_t size);
void fuzz_mended(const uint8_t *data, size_t size, size_t least, void (*mend)(uint8_t *data, size_t size),
                 FuzzUse *use);

// A file that holds the bytes, for what reads by name. Close with fuzz_file_close.
typedef struct FuzzFile {
    char path[64];
    int fd;
} FuzzFile;
FuzzFile fuzz_file(const uint8_t *data, size_t size);
void fuzz_file_close(FuzzFile *file);

// A path with this name in a folder of this process, which goes when it ends, for readers that go by the ending. The
// bytes are written to it unless data is NULL.
const char *fuzz_named_file(const char *name, const uint8_t *data, size_t size);

#endif
