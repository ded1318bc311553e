// A method driven by a clip, as a sequence. Frames follow from each other, so going back means restoring a state that
// was stored on the way and repeating from there; as many are stored as fit into a fixed room.
//
//     frame    0 1 2 3 4 5 6 7 8 ...
//     stored   S     S     S        every `stride` frames, the state after that frame
#include "method/run.h"
#include "base/text.h"
#include "io/sequence.h"
#include "math/mat3.h"
#include "math/pose_curve.h"
#include "math/pose_cut.h"
#include "method/method.h"

#include <math.h>
#include <stdio.h>

static const size_t STORE_ROOM = (size_t)64 << 20;

struct FaRun {
    FaMethod *method;
    const FaClip *clip;  // NULL: one frame of the rig at rest
    FaClip *own;         // the clip at another rate; NULL: as given
    const FaClip *moves; // whose head's motion it is: the clip as given
    FaDriver driver;
    FaPose *head;       // world from the mesh's own frame; NULL: still        (nframe)
    FaPoseCurve *curve; // through them; NULL: still
    bool *cut;          // after these frames of `moves` the head jumps            (its nframe)
    FaSequence *target; // surfaces wanted in place of the rig's; NULL: none
    float *surface;     // of the frame at hand                                (nvert x 3)
    FaSequence *seq;
    float *weights; // of the frame at hand                                (nshape)
    int nframe;
    int at;             // the state is that after this frame; -1: none
    int stride, stored; // states stored so far, from frame 0 on
    size_t size;        // of a state
    unsigned char *store;
    FaRunStats stats;
    FaNotes notes;
};

void fai_run_input(FaRun *r, int frame, FaInput *in) {
    fai_driver_weights(&r->driver, frame, r->weights);
    *in = (FaInput){.time = r->clip ? r->clip->time[frame] : 0, .weights = r->weights};
    if (r->head) in->head = fa_rig_head(fa_method_rig(r->method), &r->head[frame]);
}

int fai_run_nframe(const FaRun *r) { return r->nframe; }

const FaPoseCurve *fai_run_motion(const FaRun *r) { return r->curve; }

FaCode fai_run_step(FaRun *r, int frame, float *x, FaStats *stats, FaError *err) {
    FaInput in;
    fai_run_input(r, frame, &in);
    if (r->target) {
        FA_TRY(fa_sequence_read(r->target, frame, r->surface, err));
        in.target = r->surface;
    }
    *stats = (FaStats){0};
    r->method->motion = r->curve;
    FaCode rc = frame == 0 ? fa_method_reset(r->method, &in, x, err) : fa_method_step(r->method, &in, x, stats, err);
    if (frame == 0) *stats = r->method->rested;
    r->method->motion = NULL;
    return rc;
}

static void count(int *n, int *first, int frame) {
    *first = *n ? FA_MIN(*first, frame) : frame;
    ++*n;
}

void fai_run_count_limited(FaRunStats *run, int frame, const FaStats *stats) {
    if (stats->limited) count(&run->limited, &run->first_limited, frame);
    if (stats->held) count(&run->held, &run->first_held, frame);
    if (stats->unsolved) count(&run->unsolved, &run->first_unsolved, frame);
    if (stats->skipped > 0) count(&run->gaps, &run->first_gap, frame);
    run->worst_limited = fmax(run->worst_limited, stats->worst);
    run->longest_gap = fmax(run->longest_gap, stats->skipped);
}

static void note_gaps(FaNotes *notes, const FaRunStats *run) {
    if (run->gaps)
        fai_note_count(notes, run->gaps, "gap", FA_PLACE("frame %d", run->first_gap),
                       "nothing if the clip is meant to pause; else mend its times, or cut it into two with --frames",
                       "%d gap%s of up to %.0f s between two frames: only the last 5 s before the next one are "
                       "simulated",
                       run->gaps, run->gaps == 1 ? "" : "s", run->longest_gap + 5);
    if (run->held)
        fai_note_count(
            notes, run->held, "held-back", FA_PLACE("frame %d", run->first_held),
            "look at the weights there: a face moves by a few mm from frame to frame",
            "in %d frame%s the skin would go too far at once for contact to follow: where it can touch it is held back",
            run->held, run->held == 1 ? "" : "s");
}

void fai_run_note_limited(FaNotes *notes, const FaRunStats *run) {
    note_gaps(notes, run);
    fai_note_count(notes, run->unsolved, "not-solved", FA_PLACE("frame %d", run->first_unsolved),
                   "look at these frames; jumps of the head or of weights do this, and a higher --rate helps",
                   "in %d frame%s a step was not solved to the end", run->unsolved, run->unsolved == 1 ? "" : "s");
    if (!run->limited) return;
    char how[64] = "by weights over 10000";
    if (run->worst_limited > 0)
        snprintf(how, sizeof how, run->worst_limited < 10 ? "up to %.1f mm from linear blending" : "by metres",
                 1e3 * run->worst_limited);
    fai_note_count(
        notes, run->limited, "limited-frames", FA_PLACE("frame %d", run->first_limited),
        "look at these frames; lips that cross at rest, weights far over 1 and jumps of the head do this, and "
        "--contact off shows whether contact does",
        "%d frame%s would have torn the face (%s) and %s blended back towards linear blending", run->limited,
        run->limited == 1 ? "" : "s", how, run->limited == 1 ? "was" : "were");
}

static FaCode advance(FaRun *r, int frame, float *x, FaError *err) {
    FaStats stats;
    FA_TRY(fai_run_step(r, frame, x, &stats, err));
    r->at = frame;
    r->stats.frames++;
    r->stats.seconds += stats.seconds;
    r->stats.slowest = FA_MAX(r->stats.slowest, stats.seconds);
    r->stats.clamped += stats.clamped;
    r->stats.worst_iterations = FA_MAX(r->stats.worst_iterations, stats.iterations);
    fai_run_count_limited(&r->stats, frame, &stats);
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

// Methods move the rig's own frame; clips speak of the canonical one.
static FaCode head_motion(FaRun *r, FaError *err) {
    const FaClip *clip = r->moves;
    const FaRig *rig = fa_method_rig(r->method);
    if (!clip || !clip->head) return FA_OK;
    r->head = FA_NEW(FA_MAX(clip->nframe, r->nframe), FaPose);
    if (!r->head) return FA_FAIL_MEMORY(err);
    r->cut = FA_NEW(clip->nframe, bool);
    if (!r->cut) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < clip->nframe; f++) r->head[f] = fa_rig_pose(rig, &clip->head[f]);
    fai_pose_cuts(clip->nframe, clip->time, r->head, r->cut);
    FA_TRY(fai_pose_curve_new_cut(clip->nframe, clip->time, r->head, FA_ENDS_FREE, &r->curve, err));
    for (int f = 0; f < r->nframe && r->own; f++) {
        FaMotion motion;
        fai_pose_curve_eval(r->curve, r->own->time[f], &motion);
        r->head[f] = motion.pose;
    }
    return FA_OK;
}

static FaCode set_up(FaRun *r, double fps, FaError *err) {
    const FaRig *rig = fa_method_rig(r->method);
    r->moves = r->clip;
    if (r->clip && fps > 0) FA_TRY(fa_clip_resample(r->clip, fps, &r->own, err));
    if (r->own) r->clip = r->own;
    r->nframe = r->clip ? r->clip->nframe : 1;
    r->size = fa_method_state_size(r->method);
    size_t slots = FA_MAX(STORE_ROOM / r->size, (size_t)1);
    r->stride = (int)(((size_t)r->nframe + slots - 1) / slots);
    r->store = FA_NEW((((size_t)r->nframe - 1) / (size_t)r->stride + 1) * r->size, unsigned char);
    r->weights = FA_NEW(rig->nshape, float);
    if (!r->store || !r->weights) return FA_FAIL_MEMORY(err);
    if (r->target) {
        if (fa_sequence_nvert(r->target) != rig->mesh.nvert || fa_sequence_nframe(r->target) != r->nframe)
            return FA_FAIL(err, FA_E_ARG, NULL, "give surfaces of this rig, one per frame of the clip",
                           "the surfaces are %d frames of %d vertices, the clip and the rig %d of %d",
                           fa_sequence_nframe(r->target), fa_sequence_nvert(r->target), r->nframe, rig->mesh.nvert);
        r->surface = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
        if (!r->surface) return FA_FAIL_MEMORY(err);
    }
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

static FaCode new_run(FaMethod *method, const FaClip *clip, FaSequence *target, double fps, FaRun **run, FaError *err) {
    *run = NULL;
    FaRun *r = FA_NEW(1, FaRun);
    if (!r) return FA_FAIL_MEMORY(err);
    r->method = method;
    r->clip = clip ? clip : fa_method_rig(method)->clip;
    r->target = target;
    r->at = -1;
    FaCode rc = set_up(r, fps, err);
    if (rc < 0)
        fa_run_free(r);
    else
        *run = r;
    return rc;
}

FaCode fa_run_new(FaMethod *method, const FaClip *clip, FaRun **run, FaError *err) {
    return fa_run_new_target(method, clip, NULL, run, err);
}

FaCode fa_run_new_target(FaMethod *method, const FaClip *clip, FaSequence *target, FaRun **run, FaError *err) {
    return new_run(method, clip, target, 0, run, err);
}

FaCode fa_run_new_fps(FaMethod *method, const FaClip *clip, double fps, FaRun **run, FaError *err) {
    return new_run(method, clip, NULL, fps, run, err);
}

void fa_run_free(FaRun *r) {
    if (!r) return;
    fa_sequence_close(r->seq);
    fai_pose_curve_free(r->curve);
    fai_driver_close(&r->driver);
    fa_clip_free(r->own);
    fa_free(r->head);
    fa_free(r->cut);
    fa_free(r->weights);
    fai_notes_free(&r->notes);
    fa_free(r->surface);
    fa_free(r->store);
    fa_free(r);
}

FaSequence *fa_run_sequence(FaRun *run) { return run->seq; }
const FaClip *fa_run_clip(const FaRun *run) { return run->clip; }
FaRunStats fa_run_stats(const FaRun *run) { return run->stats; }

void fai_run_note_cuts(FaNotes *notes, const FaRun *run, double begin) {
    enum { NAMED = 4 };
    int count = 0, first = -1;
    FaText list = {0};
    for (int f = 0, from = -1; run->cut && f < run->moves->nframe; f++) {
        double time = run->moves->time[f] - begin;
        if (from < 0 && time > -1e-9) from = f;
        if (from < 0 || !run->cut[f]) continue;
        if (count < NAMED) fai_text_printf(&list, "%s%d (%.2f s)", count ? ", " : "", f - from, time);
        if (!count++) first = f - from;
    }
    if (count)
        fai_note_count(
            notes, count, "head-cut", FA_PLACE("frame %d", first), "mend the motion there if it is no cut",
            "the head jumps as no neck does after frame%s %s%s: the flesh begins anew there, without a swing",
            count == 1 ? "" : "s", list.data ? list.data : "", count > NAMED ? ", ..." : "");
    fai_text_free(&list);
}

const FaNotes *fa_run_notes(FaRun *run) {
    fai_notes_free(&run->notes); // counts have changed since
    fai_run_note_limited(&run->notes, &run->stats);
    fai_run_note_cuts(&run->notes, run, 0);
    return &run->notes;
}
