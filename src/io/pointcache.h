// Point caches: exact vertex positions per frame, PC2 and MDD. Frames are read with pread, one at a time.
//
// PC2: little-endian, 32 bytes: "POINTCACHE2\0", i32 version 1, i32 points, f32 start, f32 rate, i32 samples; then xyz
//   per point and sample. Programs disagree about `start` and `rate`; we write what 3ds Max defines and most others do:
//   start = the first frame's number, rate = 1 frame per sample. No frame rate is stored: fps is 0 (unknown) when read,
//   unless rate is at most 0.1: then it can only be seconds per sample, as Blender's time mode reads it, and
//   fps = 1 / rate.
// MDD: big-endian, i32 frames, i32 points, f32 times[frames] in seconds, then xyz. Times must increase.
#ifndef FAI_POINTCACHE_H
#define FAI_POINTCACHE_H

#include "base/base.h"

typedef enum FaCacheKind { FA_CACHE_PC2, FA_CACHE_MDD } FaCacheKind;

typedef struct FaPointCache {
    FaCacheKind kind;
    int nvert;
    int nframe;
    double fps;      // 0: the file does not say
    double start;    // time of the first frame, s; 0 where unknown
    double *time;    // s from the first frame; NULL: evenly spaced at fps          (nframe)
    uint64_t offset; // of the first frame in the file
    int fd;
    char *path;
} FaPointCache;

// PC2 is known by its first bytes, MDD by the extension alone. The header is checked against the size of the file.
FaCode fai_cache_open(const char *path, FaPointCache **cache, FaError *err);
// x: nvert x 3, as the file has them. Numbers that are not finite are an error naming frame and vertex.
FaCode fai_cache_read(const FaPointCache *cache, int frame, float *x, FaError *err);
void fai_cache_close(FaPointCache *cache); // NULL is fine

bool fai_cache_sniff(const void *data, size_t size); // PC2

// Writing, one frame after the other; atomic.
typedef struct FaCacheWriter FaCacheWriter;
FaCode fai_cache_create(const char *path, FaCacheKind kind, int nvert, double fps, double start, FaCacheWriter **writer,
                        FaError *err);
FaCode fai_cache_push(FaCacheWriter *writer, double time, const float *x, FaError *err); // s from the first frame
FaCode fai_cache_finish(FaCacheWriter *writer, FaError *err); // frees the writer, also on failure
void fai_cache_abandon(FaCacheWriter *writer);                // NULL is fine

#endif
