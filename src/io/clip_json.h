// fascia's own clip JSON: all of a clip, lossless.
//
//     {"fascia": "clip", "version": 1, "fps": 30, "start": 0,
//      "names": ["jawOpen", ...],
//      "times": [0, 0.033333, ...],                       seconds, increasing; may be left out where fps is given
//      "weights": [[0.25, ...], ...],                     per frame, one number per name
//      "head": [[qx, qy, qz, qw, px, py, pz], ...]}       world from head, unit quaternion and metres; may be left out
//
// Keys in any order. Unknown keys are skipped, "unknown-keys". times wins over fps where they disagree, "fps-mismatch".
// Errors name the JSON path. A quaternion off unit length by over 1e-6 is scaled, "quaternion-length". Channels of one
// name are kept, "duplicate-names". NaN does not exist in JSON; null, or a number over 3e38, is an error. Written
// numbers read back to the same bits.
//
// The big arrays are read straight into the clip: a tree (base/json.h) would take over a hundred bytes per number.
#ifndef FAI_CLIP_JSON_H
#define FAI_CLIP_JSON_H

#include "base/text.h"
#include "fascia/clip.h"

FaCode fai_clip_json_parse(const void *data, size_t size, FaClip **clip, FaError *err);
FaCode fai_clip_json_write(const FaClip *clip, FaText *out, FaError *err);

#endif
