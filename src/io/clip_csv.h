// fascia's own clip CSV: any channels, times in seconds, the head's pose as numbers.
//
//     time,jawOpen,smile_L,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz
//     0,0.25,0,0,0,0,1,0,0,0
//     0.0333333,0.5,...
//
// Columns go by name, in any order; `time` must be there; the rest are channels, named as they stand. head.q* is a unit
// quaternion (world from head) and head.p* its position in metres: give all four, all three, both groups or none.
// Numbers are written so that they read back to the same bits. Times are written from 0: the clip's start is kept by
// .json only.
//
// Decisions: NaN, Inf, text, over 3e38, time backwards or equal, rows of the wrong length: error with line and column.
// An empty cell holds the value before, "empty-cells". A quaternion off unit length by over 1e-6 is scaled,
// "quaternion-length"; under 1e-3 long it is an error. Two columns of one name: kept, "duplicate-names". No rows:
// error. One row: a clip of one frame at 30 per second. Separators and decimal commas as in csv.h. A header of NAME.x,
// NAME.y, NAME.z only is a marker file: error.
#ifndef FAI_CLIP_CSV_H
#define FAI_CLIP_CSV_H

#include "base/text.h"
#include "fascia/clip.h"

FaCode fai_clip_csv_parse(const void *data, size_t size, FaClip **clip, FaError *err);
FaCode fai_clip_csv_write(const FaClip *clip, FaText *out, FaError *err);

#endif
