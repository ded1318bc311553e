// Linear blending: inside of FaBlender that the bench and the tests see.
//
// Both fa_rig_blend and fa_blender_eval compute, for each coordinate on its own, in shape order,
//     x = neutral;  x = fma(weight, delta, x) for each shape that moves it and has a weight;  x + 0
// so that they agree bit for bit, for any thread count and with or without SIMD. A weight that is not finite counts as
// 0 (a tracker's hiccup must not blow the face up). "+ 0" turns a negative zero into a plain one: the blender also adds
// weight * 0 where it fills gaps, which may do the same.
#ifndef FAI_BLEND_H
#define FAI_BLEND_H

#include "fascia/rig.h"

enum {
    FA_BLEND_TILE = 1024, // vertices whose results stay in the first-level cache; a thread's unit of work
    FA_BLEND_BLOCK = 48,  // coordinates whose results stay in registers
};

// "avx2" or "ref", as chosen when the blender was made (environment FA_SIMD=ref forces the plain C twin).
const char *fai_blender_kernel(const FaBlender *blender);
size_t fai_blender_size(const FaBlender *blender); // bytes of deltas held, filled gaps included

// Memory for large tables that are streamed, in huge pages where the system has them. Free *base with fa_free.
void *fai_huge_alloc(size_t bytes, void **base);

#endif
