// The .face file. Little-endian throughout:
//
//   0   8   signature: 89 'F' 'A' 'C' 'E' 0d 0a 1a (a transfer as text would break it visibly)
//   8   4   version of the format
//   12  4   0
//   16  8   size of the file
//   24  8   checksum of everything after these 32 bytes
//   32      chunks: tag (4 letters), 0 (4 bytes), size (8), data, zeros up to a multiple of 8
//
// A reader passes over chunks it does not know whose tag starts with a small letter, and refuses others. HEAD comes
// first: all sizes follow from it, and are compared with the bytes that are there before anything is allocated.
#ifndef FAI_FACE_FILE_H
#define FAI_FACE_FILE_H

#include "face/face.h"

enum { FA_FACE_VERSION = 1 };

// The file as bytes; free *data with fa_free.
FaCode fai_face_pack(const FaFace *face, unsigned char **data, size_t *size, FaError *err);
// Hostile bytes give an error, never a crash; what is returned has passed fai_face_check.
FaCode fai_face_unpack(const unsigned char *data, size_t size, FaFace **face, FaError *err);

#endif
