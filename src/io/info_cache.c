// The doctor's view of a vertex cache.
#include "base/base.h"
#include "fascia/report.h"

#include <math.h>

// Box of the first frame in the cache's own axes (y up), and whether the numbers are sound.
static FaCode examine_frame(const float *x, int nvert, int frame, bool measure, FaInfo *info, FaError *err) {
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < 3 * (size_t)nvert; i++) {
        if (!isfinite(x[i]))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("frame %d, vertex %d", frame, (int)(i / 3)),
                           "write the cache again", "the position is not a finite number");
        lo[i % 3] = fminf(lo[i % 3], x[i]);
        hi[i % 3] = fmaxf(hi[i % 3], x[i]);
    }
    if (!measure) return FA_OK;
    info->width_m = (double)hi[0] - (double)lo[0];
    info->height_m = (double)hi[1] - (double)lo[1];
    info->depth_m = (double)hi[2] - (double)lo[2];
    return FA_OK;
}

static FaCode examine(FaSequence *seq, FaInfo *info, float *x, FaError *err) {
    for (int f = 0; f < info->frames; f++) {
        FA_TRY(fa_sequence_read(seq, f, x, err));
        FA_TRY(examine_frame(x, info->vertices, f, f == 0, info, err));
    }
    if (info->frames < 2) fai_note(&info->notes, "one-frame", "", "", "the cache holds a single frame");
    if (!(info->fps > 0))
        fai_note(&info->notes, "rate-unknown", "", "give the rate with --fps",
                 "the cache does not say at which rate it plays");
    if (info->height_m > 3 || (info->height_m > 0 && info->height_m < 0.05))
        fai_note(&info->notes, "unit-suspect", "frame 0", "give the unit: --unit m|cm|mm|in|ft, or metres per unit",
                 "taken as metres the mesh is not the size of a head: a cache is in the unit of its rig, which it does "
                 "not say");
    return FA_OK;
}

FaCode fa_info_of_sequence(FaSequence *seq, FaInfo *info, FaError *err) {
    int frames = fa_sequence_nframe(seq);
    *info = (FaInfo){.kind = "cache",
                     .intersections = -1,
                     .vertices = fa_sequence_nvert(seq),
                     .frames = frames,
                     .fps = fa_sequence_fps(seq),
                     .unit = 1,
                     .unit_name = "m",
                     .up = "+y",
                     .front = "+z"};
    if (frames > 0) info->seconds = fa_sequence_time(seq, frames - 1);
    float *x = FA_NEW(3 * (size_t)info->vertices, float);
    FaCode rc = x ? examine(seq, info, x, err) : FA_FAIL_MEMORY(err);
    fa_free(x);
    if (rc < 0) fa_info_free(info);
    return rc;
}
