// PNG, 8-bit RGB: what the renderer writes and the tests read back.
#ifndef FAI_PNG_H
#define FAI_PNG_H

#include "base/base.h"
#include "base/file.h"

// Encode to memory. `software` and `comment` (nullable) become text chunks. Free with fai_bytes_free.
FaCode fai_png_encode(const unsigned char *rgb, int width, int height, const char *software, const char *comment,
                      FaBytes *png, FaError *err);
// Decode any PNG to 8-bit RGB (alpha is dropped); free rgb with fa_free.
FaCode fai_png_decode(const void *data, size_t size, unsigned char **rgb, int *width, int *height, FaError *err);

// The same on files; writing is atomic.
FaCode fai_png_write(const char *path, const unsigned char *rgb, int width, int height, const char *software,
                     const char *comment, FaError *err);
FaCode fai_png_read(const char *path, unsigned char **rgb, int *width, int *height, FaError *err);

#endif
