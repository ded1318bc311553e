// Recorded head motion made fit to be played on a face: where it begins, how smooth it is, how long it lasts.
#include "base/base.h"
#include "fascia/clip.h"
#include "math/mat3.h"

#include <math.h>

static const double RECORDED_HZ = 10; // recordings jitter above it, heads hardly move there
static const double STOP = 0.5;       // s: how long a head takes to stop where its motion ends
static const double BLEND = 0.25;     // s, at most: before a loop's seam

static const FaNote *note_of(const FaNotes *notes, const char *code) {
    for (int i = 0; i < notes->count; i++)
        if (!strcmp(notes->note[i].code, code)) return &notes->note[i];
    return NULL;
}

// Which way a head looks, as a turn about the vertical; 0 where it looks up or down.
static double heading(const FaPose *head) {
    const double ahead[3] = {0, 0, 1};
    double look[3];
    fai_q_rotate(head->q, ahead, look);
    return hypot(look[0], look[2]) > 0.1 ? atan2(look[0], look[2]) : 0;
}

static FaPose turn_about_y(double angle) {
    FaPose turn = fai_pose_identity();
    const double r[3] = {0, angle, 0};
    fai_q_exp(r, turn.q);
    return turn;
}

// --- a recording --------------------------------------------------------------------------------------------------

FaCode fa_clip_skip_first(FaClip **clip, FaError *err) {
    FaClip *cut;
    if ((*clip)->nframe < 2) return FA_OK;
    FA_TRY(fa_clip_slice(*clip, 1, (*clip)->nframe - 1, &cut, err));
    cut->start = (*clip)->start; // the motion begins where the rest pose stood
    fa_clip_free(*clip);
    *clip = cut;
    return FA_OK;
}

void fa_clip_move_head(FaClip *clip, const FaPose *moved) {
    for (int f = 0; clip->head && f < clip->nframe; f++) clip->head[f] = fai_pose_mul(moved, &clip->head[f]);
}

// World of the motion counted from its first frame, from that of the recording.
static FaPose from_first(const FaPose *first) {
    FaPose out = turn_about_y(-heading(first));
    double p[3];
    fai_q_rotate(out.q, first->p, p);
    fai_v3_scale(-1, p, out.p);
    return out;
}

FaCode fa_clip_prepare_head(FaClip **clip, double hz, FaPose *moved, FaError *err) {
    bool recorded = note_of(&(*clip)->notes, "head-joint") != NULL, smooth, rest;
    if (moved) *moved = fai_pose_identity();
    if (!(*clip)->head) return FA_OK;
    if (hz < 0) hz = recorded ? RECORDED_HZ : 0;
    smooth = hz > 0;
    rest = recorded && (*clip)->nframe > 1 && note_of(&(*clip)->notes, "first-frame-rest");
    if (rest) FA_TRY(fa_clip_skip_first(clip, err));
    if (smooth) FA_TRY(fa_clip_smooth_head(*clip, hz, err));
    if (!recorded || note_of(&(*clip)->notes, "head-motion")) return FA_OK;
    FaPose out = from_first(&(*clip)->head[0]);
    if (moved) *moved = out;
    fa_clip_move_head(*clip, &out);
    char how[80] = "";
    if (smooth) snprintf(how, sizeof how, ", and smoothed below %g Hz", hz);
    fai_note(&(*clip)->notes, "head-motion", "", smooth ? "--head-smooth 0 leaves it as recorded" : "none needed",
             "%sthe head's motion is counted from its first frame%s",
             rest ? "the rest pose of frame 0 is left out; " : "", how);
    return FA_OK;
}

// --- length -------------------------------------------------------------------------------------------------------

static FaCode longer_clip(const FaClip *motion, int n, double fps, FaClip **out, FaError *err) {
    FA_TRY(fa_clip_new(n, 0, NULL, fps, out, err));
    FaClip *c = *out;
    c->head = FA_NEW(n, FaPose);
    c->path = motion->path ? fai_strdup(motion->path) : NULL;
    c->start = motion->start;
    if (c->head && (c->path || !motion->path)) return FA_OK;
    fa_clip_free(c);
    *out = NULL;
    return FA_FAIL_MEMORY(err);
}

// Where a head is that had `from`, `to` an instant `h` before the end and at it, `time` after it: it slows down and
// stops.
static FaPose stopping(const FaPose *from, const FaPose *to, double h, double time) {
    double u = fmin(time / STOP, 1), far = STOP * (1 - (1 - u) * (1 - u) * (1 - u)) / 3 / h, turn[4], back[4], r[3];
    FaPose pose = *to;
    for (int k = 0; k < 3; k++) pose.p[k] += far * (to->p[k] - from->p[k]);
    fai_q_conj(from->q, back);
    fai_q_mul(to->q, back, turn);
    for (int k = 0; turn[3] < 0 && k < 4; k++) turn[k] = -turn[k];
    fai_q_log(turn, r);
    fai_v3_scale(far, r, r);
    fai_q_exp(r, turn);
    fai_q_mul(turn, to->q, pose.q);
    fai_q_normalize(pose.q);
    return pose;
}

static void ease_out(const FaClip *motion, FaClip *c) {
    double end = motion->time[motion->nframe - 1], h = 1 / c->fps;
    FaPose last, before;
    fa_clip_sample(motion, end, NULL, &last);
    fa_clip_sample(motion, end - h, NULL, &before);
    for (int f = 0; f < c->nframe; f++) {
        if (c->time[f] <= end)
            fa_clip_sample(motion, c->time[f], NULL, &c->head[f]);
        else
            c->head[f] = stopping(&before, &last, h, c->time[f] - end);
    }
}

// The next pass goes on where the last one ended: over the ground and in its heading. Height and lean, which do not add
// up, are led back to those of the beginning before the seam.
static void loop_over(const FaClip *motion, FaClip *c) {
    const FaPose *first = &motion->head[0], *last = &motion->head[motion->nframe - 1];
    double end = motion->time[motion->nframe - 1], blend = fmin(BLEND, 0.25 * end), p[3];
    FaPose step = turn_about_y(heading(last) - heading(first)), at = fai_pose_identity();
    fai_q_rotate(step.q, first->p, p);
    step.p[0] = last->p[0] - p[0];
    step.p[2] = last->p[2] - p[2];
    FaPose seam = fai_pose_mul(&step, first);
    for (int f = 0, pass = 0; f < c->nframe; f++) {
        while (c->time[f] - pass * end >= end) at = fai_pose_mul(&at, &step), pass++;
        double time = c->time[f] - pass * end, u = fmax(0, 1 - (end - time) / blend), share = u * u * (3 - 2 * u);
        FaPose pose, fixed;
        fa_clip_sample(motion, time, NULL, &pose);
        fixed = pose;
        if (share > 0) { // share of the turn that takes the last pose to the seam's
            double back[4], turn[4], r[3];
            fai_q_conj(last->q, back);
            fai_q_mul(seam.q, back, turn);
            for (int k = 0; turn[3] < 0 && k < 4; k++) turn[k] = -turn[k];
            fai_q_log(turn, r);
            fai_v3_scale(share, r, r);
            fai_q_exp(r, turn);
            fai_q_mul(turn, pose.q, fixed.q);
            fixed.p[1] += share * (seam.p[1] - last->p[1]);
        }
        c->head[f] = fai_pose_mul(&at, &fixed);
    }
}

FaCode fa_clip_lengthen_head(const FaClip *motion, double seconds, bool loop, FaClip **longer, FaError *err) {
    *longer = NULL;
    double end = motion->time[motion->nframe - 1], fps = motion->fps > 0 ? motion->fps : 30;
    if (!motion->head || seconds <= end + 0.5 / fps) return FA_OK;
    if (!(seconds * fps < 1e7))
        return FA_FAIL(err, FA_E_LIMIT, NULL, "cut the clip", "%g s are too long for a motion of %g s", seconds, end);
    FA_TRY(longer_clip(motion, 2 + (int)(seconds * fps), fps, longer, err));
    if (!loop || !(end > 0)) {
        ease_out(motion, *longer);
        return FA_OK;
    }
    loop_over(motion, *longer);
    FaCode rc = fa_clip_smooth_head(*longer, RECORDED_HZ, err); // the seam's own jerk
    if (rc >= 0) return FA_OK;
    fa_clip_free(*longer);
    *longer = NULL;
    return rc;
}
