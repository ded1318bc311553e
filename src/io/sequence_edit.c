// Sequences made from sequences: a range of frames, and the head's motion applied.
#include "base/base.h"
#include "base/task.h"
#include "io/sequence.h"
#include "rig/head_frame.h"

typedef struct Derived {
    FaSequence *inner;
    const FaRig *rig;
    const FaClip *clip;
    int first;
} Derived;

static FaCode read_slice(void *user, int frame, float *x, FaError *err) {
    const Derived *d = user;
    return fa_sequence_read(d->inner, d->first + frame, x, err);
}

static FaCode make(FaSequence *inner, const FaRig *rig, const FaClip *clip, int first, int n, FaSequenceReadFn *read,
                   FaSequence **seq, FaError *err) {
    *seq = NULL;
    Derived *d = FA_NEW(1, Derived);
    double *time = FA_NEW(n, double);
    FaCode rc = FA_OK;
    if (!d || !time)
        rc = FA_FAIL_MEMORY(err);
    else
        rc = fa_sequence_custom(fa_sequence_nvert(inner), n, fa_sequence_fps(inner), read, d, seq, err);
    if (rc < 0) {
        fa_free(d);
        fa_free(time);
        return rc;
    }
    *d = (Derived){inner, rig, clip, first};
    for (int f = 0; f < n; f++) time[f] = fa_sequence_time(inner, first + f) - fa_sequence_time(inner, first);
    fai_sequence_own(*seq, d, time);
    return FA_OK;
}

FaCode fa_sequence_slice(FaSequence *inner, int first, int last, FaSequence **seq, FaError *err) {
    *seq = NULL;
    int n = fa_sequence_nframe(inner);
    if (first < 0 || last < first || last >= n)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "frames %d-%d are not inside 0-%d", first, last, n - 1);
    return make(inner, NULL, NULL, first, last - first + 1, read_slice, seq, err);
}

// --- world positions ----------------------------------------------------------------------------------------------

typedef struct Moved {
    FaCarry carry;
    const float *share;
    float *x;
} Moved;

static void move_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Moved *m = ctx;
    fai_carry_points(&m->carry, m->share, begin, end, m->x);
}

static FaCode read_world(void *user, int frame, float *x, FaError *err) {
    const Derived *d = user;
    FA_TRY(fa_sequence_read(d->inner, frame, x, err));
    FaPose head, pose;
    fa_clip_sample(d->clip, fai_sequence_clip_time(d->inner, d->clip, frame), NULL, &head);
    pose = fa_rig_pose(d->rig, &head);
    Moved m = {.carry = fai_carry(d->rig, &pose), .share = d->rig ? d->rig->head_share : NULL, .x = x};
    fai_parallel(fa_sequence_nvert(d->inner), 4096, move_chunk, &m);
    return FA_OK;
}

FaCode fa_sequence_world(FaSequence *inner, const FaRig *rig, const FaClip *clip, FaSequence **seq, FaError *err) {
    return make(inner, rig, clip, 0, fa_sequence_nframe(inner), read_world, seq, err);
}
