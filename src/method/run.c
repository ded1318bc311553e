// A method driven by a clip, as a sequence. Frames follow from each other, so going back means restoring a state that
// was stored on the way and repeating from there; as many are stored as fit into a fixed room.
//
//     frame    0 1 2 3 4 5 6 7 8 ...
//     stored   S     S     S        every `stride` frames, the state after that frame
#include "io/sequence.h"
#include "math/mat3.h"
#include "math/pose_curve.h"
#include "method/method.h"

static const size_t STORE_ROOM = (size_t)64 << 20;

struct FaRun {
    FaMethod *method;
    const FaClip *clip; // NULL: one frame of the rig at rest
    FaDriver driver;
    FaPose *head;       // world from the mesh's own frame; NULL: still        (nframe)
    FaPoseCurve *curve; // through them; NULL: still
    FaSequence *seq;
    float *weights; // of the frame at hand                                (nshape)
    int nframe;
    int at;             // the state is that after this frame; -1: none
    int stride, stored; // states stored so far, from frame 0 on
    size_t size;        // of a state
    unsigned char *store;
    FaRunStats stats;
};

static FaCode advance(FaRun *r, int frame, float *x, FaError *err) {
    fai_driver_weights(&r->driver, frame, r->weights);
    FaInput in = {.time = r->clip ? r->clip->time[frame] : 0, .weights = r->weights, .motion = r->curve};
    if (r->head) in.head = r->head[frame];
    FaStats stats = {0};
    if (frame == 0)
        FA_TRY(fa_method_reset(r->method, &in, x, err));
    else
        FA_TRY(fa_method_step(r->method, &in, x, &stats, err));
    r->at = frame;
    r->stats.frames++;
    r->stats.seconds += stats.seconds;
    r->stats.slowest = FA_MAX(r->stats.slowest, stats.seconds);
    r->stats.clamped += stats.clamped;
    r->stats.worst_iterations = FA_MAX(r->stats.worst_iterations, stats.iterations);
    if (frame == r->stored * r->stride) fa_method_save(r->method, r->store + (size_t)r->stored++ * r->size);
    return FA_OK;
}

static FaCode read_frame(void *user, int frame, float *x, FaError *err) {
    FaRun *r = user;
    // the nearest state before the frame: the present one, or one of the store
    int from = r->at < frame ? r->at : -1;
    int slot = frame > 0 ? FA_MIN((frame - 1) / r->stride, r->stored - 1) : -1;
    if (slot >= 0 && slot * r->stride > from) {
        from = slot * r->stride;
        FA_TRY(fa_method_load(r->method, r->store + (size_t)slot * r->size, r->size, err));
    }
    r->at = from;
    for (int f = from + 1; f <= frame; f++) {
        FaCode rc = advance(r, f, x, err);
        if (rc < 0) {
            r->at = -1; // whatever the state is now, it is not used
            if (err && !err->place[0]) snprintf(err->place, sizeof err->place, "frame %d", f);
            return rc;
        }
    }
    return FA_OK;
}

// Clips that came with the rig move its mesh's own frame; others speak of a head with y up, seen from the front.
static FaCode head_motion(FaRun *r, FaError *err) {
    const FaClip *clip = r->clip;
    const FaRig *rig = fa_method_rig(r->method);
    if (!clip || !clip->head) return FA_OK;
    r->head = FA_NEW(clip->nframe, FaPose);
    if (!r->head) return FA_FAIL_MEMORY(err);
    FaPose axes = fai_pose_identity();
    if (clip != rig->clip) fai_q_from_m3(rig->axes, axes.q);
    for (int f = 0; f < clip->nframe; f++) r->head[f] = fai_pose_mul(&clip->head[f], &axes);
    return fai_pose_curve_new(clip->nframe, clip->time, r->head, FA_ENDS_FREE, &r->curve, err);
}

static FaCode set_up(FaRun *r, FaError *err) {
    const FaRig *rig = fa_method_rig(r->method);
    r->nframe = r->clip ? r->clip->nframe : 1;
    r->size = fa_method_state_size(r->method);
    size_t slots = FA_MAX(STORE_ROOM / r->size, (size_t)1);
    r->stride = (int)(((size_t)r->nframe + slots - 1) / slots);
    r->store = FA_NEW((((size_t)r->nframe - 1) / (size_t)r->stride + 1) * r->size, unsigned char);
    r->weights = FA_NEW(rig->nshape, float);
    if (!r->store || !r->weights) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_driver_open(rig, r->clip, &r->driver, err));
    FA_TRY(head_motion(r, err));
    FA_TRY(fa_sequence_custom(rig->mesh.nvert, r->nframe, r->clip ? r->clip->fps : 0, read_frame, r, &r->seq, err));
    if (!r->clip) return FA_OK;
    double *time = FA_NEW(r->nframe, double);
    if (!time) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < r->nframe; f++) time[f] = r->clip->time[f] - r->clip->time[0];
    fai_sequence_own(r->seq, NULL, time);
    return FA_OK;
}

FaCode fa_run_new(FaMethod *method, const FaClip *clip, FaRun **run, FaError *err) {
    *run = NULL;
    FaRun *r = FA_NEW(1, FaRun);
    if (!r) return FA_FAIL_MEMORY(err);
    r->method = method;
    r->clip = clip ? clip : fa_method_rig(method)->clip;
    r->at = -1;
    FaCode rc = set_up(r, err);
    if (rc < 0)
        fa_run_free(r);
    else
        *run = r;
    return rc;
}

void fa_run_free(FaRun *r) {
    if (!r) return;
    fa_sequence_close(r->seq);
    fai_pose_curve_free(r->curve);
    fai_driver_close(&r->driver);
    fa_free(r->head);
    fa_free(r->weights);
    fa_free(r->store);
    fa_free(r);
}

FaSequence *fa_run_sequence(FaRun *run) { return run->seq; }
const FaClip *fa_run_clip(const FaRun *run) { return run->clip; }
FaRunStats fa_run_stats(const FaRun *run) { return run->stats; }
