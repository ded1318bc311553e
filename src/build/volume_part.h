// The partial file of the volumes, rewritten as a whole after each batch of shapes, this machine's byte order:
//   0 8 signature   8 8 key: what the volumes depend on   16 8 size   24 8 checksum of the rest
//   then per finished shape: number, entries; nodes (entries), displacements (entries x 3)
#ifndef FAI_VOLUME_PART_H
#define FAI_VOLUME_PART_H

#include "base/text.h"
#include "build/blendvolume.h"

// What is made of one shape.
typedef struct FaVolumeColumn {
    bool done, resumed;
    int count;
    int *node;
    float *value; // m (count x 3)
    FaVolumeShape report;
    int left_out; // triangles
    bool measured;
} FaVolumeColumn;

// Append the file's bytes; out->failed on no memory.
void fai_volume_part_pack(uint64_t key, int nshape, const FaVolumeColumn *column, FaText *out);
// Take what the bytes hold into columns that are empty; how many shapes. A file with another key, or with anything odd
// in it, is not used: 0, and the columns stay empty.
int fai_volume_part_unpack(const void *data, size_t size, uint64_t key, int nshape, int nnode, FaVolumeColumn *column);
void fai_volume_columns_free(int nshape, FaVolumeColumn *column); // the columns are empty again

#endif
