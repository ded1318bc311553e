// Head motion of another file on a body that stands: turns about the head's joint are shown, all of it is felt.
//
// A clip's pose may be of the head's joint (a BVH, a Live Link recording: p is where the joint is) or of the rig's own
// frame (written by fascia from the same body: the joint is at R c + p). A head is not thrown about by a lever of 1.6
// m: of the two readings the one that shakes the joint less is taken.
#include "base/base.h"
#include "fascia/rig.h"
#include "math/mat3.h"
#include "rig/bind.h"
#include "rig/clip_smooth.h"
#include "rig/head_frame.h"

#include <math.h>

static const double FAR_ROUND = 80 * 3.14159265358979323846 / 180; // what a neck turns to either side
static const double BODY_HZ = 0.5; // slower turns than this are the body's, where a neck does not suffice

// Sum of squares of second differences of where the joint goes; c (nullable): the joint in the pose's frame.
static double shaking(const FaClip *clip, const double *c) {
    double sum = 0, last[2][3] = {{0}};
    for (int f = 0; f < clip->nframe; f++) {
        double at[3];
        memcpy(at, clip->head[f].p, sizeof at);
        if (c) fai_pose_apply(&clip->head[f], c, at);
        for (int k = 0; k < 3; k++) {
            double d = at[k] - 2 * last[1][k] + last[0][k];
            if (f > 1) sum += d * d;
            last[0][k] = last[1][k];
            last[1][k] = at[k];
        }
    }
    return sum;
}

// Whether it has been put on the body already.
static bool is_on_neck(const FaClip *clip, const double c[3], const double neck[3]) {
    double far = 0, at[3];
    for (int f = 0; f < clip->nframe; f++) {
        fai_pose_apply(&clip->head[f], c, at);
        fai_v3_sub(at, neck, at);
        far = fmax(far, fai_v3_norm(at));
    }
    return far < 1e-4;
}

// How the head looks round, without jumps of a full turn.
static void headings(const FaClip *clip, double *angle) {
    const double ahead[3] = {0, 0, 1}, turn = 2 * 3.14159265358979323846;
    for (int f = 0; f < clip->nframe; f++) {
        double look[3];
        fai_q_rotate(clip->head[f].q, ahead, look);
        double last = f ? angle[f - 1] : 0, a = hypot(look[0], look[2]) > 0.1 ? atan2(look[0], look[2]) : last;
        angle[f] = a + turn * round((last - a) / turn);
    }
}

// The turns that are left to the body (angle): those of a performer who walks round.
static FaCode body_turns(const FaClip *clip, double *angle, double *most, FaError *err) {
    double range = 0;
    headings(clip, angle);
    for (int f = 0; f < clip->nframe; f++) range = fmax(range, fabs(angle[f]));
    *most = range > FAR_ROUND ? range : 0;
    if (*most > 0) return fai_smooth_numbers(clip->nframe, clip->fps > 0 ? clip->fps : 30, BODY_HZ, angle, err);
    memset(angle, 0, (size_t)clip->nframe * sizeof *angle);
    return FA_OK;
}

static void say(FaClip *shown, const FaRig *rig, const FaClip *felt, double turned) {
    double far = 0, d[3];
    for (int f = 0; f < felt->nframe; f++) {
        double at[2][3];
        for (int i = 0; i < 2; i++) fai_pose_apply(&felt->head[i ? f : 0], rig->pivot, at[i]);
        fai_v3_sub(at[1], at[0], d);
        far = fmax(far, fai_v3_norm(d));
    }
    char more[120] = "", round[80] = "";
    if (far > 1e-3) snprintf(more, sizeof more, "; the way it goes (%.2f m) is felt by the flesh, not shown", far);
    if (turned > 0)
        snprintf(round, sizeof round, "; slow turns (up to %.0f degrees) are left to the body",
                 turned * (180 / 3.14159265358979323846));
    fai_notes_free(&shown->notes);
    fai_note(&shown->notes, "head-on-body", rig->joint, "none needed",
             "the head is part of a body: it turns about its joint%s%s", more, round);
}

static FaCode split(const FaRig *rig, FaClip *shown, FaClip *felt, double *slow, FaError *err) {
    FaPose axes = fai_head_axes(rig), rest = fa_rig_head(rig, &rig->rest);
    double c[3], neck[3], turned = 0;
    fai_pose_apply(&axes, rig->pivot, c);
    fai_pose_apply(&rest, c, neck);
    double moving = shaking(felt, NULL); // 0: turns alone say nothing of the frame
    bool of_rig = moving > 0 && (is_on_neck(felt, c, neck) || shaking(felt, c) < 0.25 * moving);
    memset(slow, 0, (size_t)felt->nframe * sizeof *slow);
    if (!of_rig) FA_TRY(body_turns(felt, slow, &turned, err));
    for (int f = 0; f < felt->nframe; f++) {
        const double back[3] = {0, -slow[f], 0};
        FaPose *s = &shown->head[f], *p = &felt->head[f];
        double q[4], way[3];
        fai_q_exp(back, q);
        fai_q_mul(q, p->q, s->q);
        if (!of_rig) fai_q_mul(rest.q, s->q, s->q); // in the canonical frame; a file's world may face elsewhere
        fai_q_normalize(s->q);
        fai_q_rotate(s->q, c, way);
        fai_v3_sub(neck, way, s->p);
        if (of_rig) continue;
        fai_q_rotate(p->q, c, way);
        fai_v3_sub(p->p, way, p->p);
    }
    say(shown, rig, felt, turned);
    return FA_OK;
}

FaCode fa_clip_on_body(const FaRig *rig, const FaClip *clip, FaClip **shown, FaClip **felt, FaError *err) {
    *shown = *felt = NULL;
    if (!rig->body || !clip || !clip->head || fai_clip_is_own(rig, clip)) return FA_OK;
    double *slow = FA_NEW(clip->nframe, double);
    FaCode rc = slow ? fa_clip_slice(clip, 0, clip->nframe - 1, felt, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fa_clip_slice(clip, 0, clip->nframe - 1, shown, err);
    if (rc >= 0) rc = split(rig, *shown, *felt, slow, err);
    fa_free(slow);
    if (rc >= 0) return rc;
    fa_clip_free(*shown);
    fa_clip_free(*felt);
    *shown = *felt = NULL;
    return rc;
}
