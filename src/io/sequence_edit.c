// Sequences made from sequences: a range of frames, and the head's motion applied.
#include "base/base.h"
#include "base/task.h"
#include "io/sequence.h"

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

typedef struct Rigid {
    double r[9], p[3];
    float *x;
} Rigid;

static void rotation(const double q[4], double r[9]) {
    double x = q[0], y = q[1], z = q[2], w = q[3];
    double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                   2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                   2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
    memcpy(r, m, sizeof m);
}

static void apply_rigid(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Rigid *t = ctx;
    for (int v = begin; v < end; v++) {
        double in[3] = {t->x[3 * v], t->x[3 * v + 1], t->x[3 * v + 2]};
        for (int k = 0; k < 3; k++)
            t->x[3 * v + k] =
                (float)(t->r[3 * k] * in[0] + t->r[3 * k + 1] * in[1] + t->r[3 * k + 2] * in[2] + t->p[k]);
    }
}

static FaCode read_world(void *user, int frame, float *x, FaError *err) {
    const Derived *d = user;
    FA_TRY(fa_sequence_read(d->inner, frame, x, err));
    FaPose head, pose;
    fa_clip_sample(d->clip, fai_sequence_clip_time(d->inner, d->clip, frame), NULL, &head);
    pose = fa_rig_pose(d->rig, &head);
    Rigid t = {.p = {pose.p[0], pose.p[1], pose.p[2]}, .x = x};
    rotation(pose.q, t.r);
    fai_parallel(fa_sequence_nvert(d->inner), 4096, apply_rigid, &t);
    return FA_OK;
}

FaCode fa_sequence_world(FaSequence *inner, const FaRig *rig, const FaClip *clip, FaSequence **seq, FaError *err) {
    return make(inner, rig, clip, 0, fa_sequence_nframe(inner), read_world, seq, err);
}
