// Painting a face by hand: a JSON file that overrides thickness, attachment and regions per vertex.
//
//     {"version": 1,
//      "thickness_mm": {"all": 6, "vertices": {"12": 3.5, "13": 3}},
//      "skull": {"ranges": [[0, 499]], "value": 0.2},
//      "jaw": [{"all": 0}, {"vertices": [40, 41, 42]}],
//      "regions": {"lip_upper": {"vertices": [7, 8, 9]}, "cheeks": {"shape": "cheekPuff", "scale": 1.5}, "free": 0}}
//
// Every member is optional but the version. A field is a number (all vertices), a stroke, or an array of strokes, later
// ones over earlier ones. A stroke has one or more of these, applied in this order:
//   "all": v                          every vertex
//   "shape": name, "scale": s         all + s * motion, motion = how far the shape moves the vertex against the most
//   that it
//                                     moves any (0..1); "all" counts as 0 where it is missing, but thickness needs it.
//                                     The name as in the rig, or ARKit's. scale: 1 where missing, mm for thickness.
//                                     Clamped.
//   "values": [v, null, ...]          one per vertex of the rig; null leaves it
//   "ranges": [[a, b], ...]           vertices a..b, both included, get "value"
//   "vertices": [i, ...]              these get "value";  or {"i": v, ...}: each its own
//   "value": v                        1 where missing; thickness needs it
// thickness_mm: 0.05..100; skull, jaw (attachment) and regions (lip_upper, lip_lower, mouth, eyelids, cheeks, free):
// 0..1. Vertices are the rig's, from 0, in the order of its file; where a format splits a vertex at a seam, painting
// one copy paints all. Vertex colours paint materials alone (material.h).
// Anything else in the file is an error that names its place: a typing mistake must not silently paint nothing.
#ifndef FAI_SKIN_PAINT_H
#define FAI_SKIN_PAINT_H

#include "base/json.h"
#include "face/face.h"

// All arrays are there after a successful load; NAN = not painted.
typedef struct FaPaint {
    float *thickness;          // m                              (nvert)
    float *skull, *jaw;        // 0..1                           (nvert)
    float *region[FA_REGIONS]; // 0..1                           (nvert)
    FaArena *arena;            // owns them
} FaPaint;

// paint is all zero after a failure. Free with fai_paint_free.
FaCode fai_paint_load(const char *path, const FaRig *rig, FaPaint *paint, FaError *err);
FaCode fai_paint_parse(const char *text, size_t size, const FaRig *rig, FaPaint *paint, FaError *err);
// One field of another file, in its own unit: a number, a stroke or an array of strokes. out: what is painted is
// replaced, the rest left (nvert).
FaCode fai_paint_field(const FaJson *value, const FaRig *rig, const char *unit, const char *remedy, double min,
                       double max, float *out, FaError *err);
void fai_paint_free(FaPaint *paint); // of one that is all zero too

#endif
