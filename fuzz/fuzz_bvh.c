// BVH: what is accepted must hold the clip's invariants; a joint and a rate from outside change nothing about that.
#include "fuzz.h"

#include "base/base.h"
#include "io/bvh.h"

#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size) {
    static const FaClipOptions options[] = {{0}, {.joint = "Hips", .unit = 0.01, .fps = 60}};
    for (int i = 0; i < FA_COUNT(options); i++) {
        FaClip *clip;
        FaError err = {0}, bad = {0};
        FaCode rc = fai_bvh_parse(data, size, &options[i], &clip, &err);
        if (rc < 0 ? clip || !err.what[0] : fa_clip_check(clip, &bad) < 0) abort();
        fa_clip_free(clip);
    }
}
