// The files of this room: 24 bytes of header, then numbers and arrays one after another, little endian.
//   0 8 signature   8 8 size of all   16 8 checksum of what follows
#ifndef FAI_PACK_H
#define FAI_PACK_H

#include "base/base.h"
#include "base/text.h"

void fai_pack_begin(FaText *t, const char signature[8]);
FaCode fai_pack_end(FaText *t, FaError *err);                     // header made right; FA_E_MEMORY where t failed
FaCode fai_pack_write(FaText *t, const char *path, FaError *err); // the same, into a file; frees t in any case
void fai_pack_halfs(FaText *t, const float *x, size_t n);         // as halfs
void fai_pack_name(FaText *t, const char *text, size_t room);     // terminated, the rest zero

typedef struct FaUnpack {
    const unsigned char *at, *end;
    bool bad;    // more was asked for than is there, or a number makes no sense
    bool memory; // none left
} FaUnpack;

bool fai_unpack_begin(FaUnpack *u, const void *data, size_t size, const char signature[8]); // false: damaged
uint64_t fai_unpack_u64(FaUnpack *u);
int fai_unpack_int(FaUnpack *u, int least, int most); // least where it is bad
// count x size bytes, copied: NULL where that fails (u says why).
void *fai_unpack_array(FaUnpack *u, size_t count, size_t size);
float *fai_unpack_floats(FaUnpack *u, size_t count, float least, float most); // each between
float *fai_unpack_halfs(FaUnpack *u, size_t count);                           // finite; floats
void fai_unpack_name(FaUnpack *u, char *text, size_t room);                   // terminated, or bad
// All was read and nothing was odd, or the error.
FaCode fai_unpack_end(const FaUnpack *u, const char *kind, const char *remedy, FaError *err);

uint16_t fai_half(float x); // to nearest even; beyond 65504: infinite
float fai_half_float(uint16_t h);

#endif
