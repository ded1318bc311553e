// A take driven: markers to the head frame, the way to solve decided, weights of every frame, frames when they are
// read.
//
// Opening solves every frame once and keeps what is small: weights, commands of the forces, coefficients of the
// residual. A frame that is read is made from those: the coefficients are filtered over the frames before and after it
// (a centred Gaussian), the forces are run from their commands, which for frames in order is one linear solve each.
#include "blendforces/drive_work.h"

#include "io/sequence.h"
#include "math/mat3.h"

#include <math.h>

// --- solving ------------------------------------------------------------------------------------------------------

static void count_doubts(FaDrive *d, int frame) {
    const float *belief = fai_control_belief(d->control);
    for (int i = 0; i < fai_control_npoint(d->control); i++) {
        int m = fai_control_points(d->control)[i];
        if (belief[i] >= 0.5f) continue;
        if (!d->doubted[m]++) d->first_doubt[m] = frame;
    }
}

static FaCode solve_frame(FaDrive *d, int f, FaError *err) {
    FaMarkers m = fai_drive_markers_of(d, f);
    FaControl *c = d->control;
    size_t n = (size_t)d->rig->nshape, p = 3 * (size_t)fai_control_npoint(c), passes = (size_t)fai_control_passes(c);
    FA_TRY(fai_control_solve(c, &m, d->take->time[f], &d->frame, err));
    memcpy(d->clip->weight + (size_t)f * n, d->frame.weights, n * sizeof(float));
    memcpy(d->carried + (size_t)f * n, d->frame.carried, n * sizeof(float));
    for (size_t i = 0; i < p; i++) d->coef[(size_t)f * p + i] = (float)d->frame.coef[i];
    if (passes) memcpy(d->commands + (size_t)f * passes * n, fai_control_commands(c), passes * n * sizeof(double));
    const FaControlFit *fit = &d->frame.fit;
    double *per = d->per_frame;
    int nf = d->take->nframe;
    per[f] = 1e3 * fit->before;
    per[nf + f] = 1e3 * fit->after;
    per[2 * nf + f] = 1e3 * fit->inside;
    per[3 * nf + f] = 1e3 * fit->outside;
    d->report.lost += fit->held;
    if (!fit->held) count_doubts(d, f);
    return FA_OK;
}

static void sum_up(FaDrive *d) {
    FaDriveReport *r = &d->report;
    int nf = d->take->nframe, used = FA_MAX(nf - r->lost, 1);
    double square[2] = {0};
    for (int f = 0; f < nf; f++) {
        r->before_mm += d->per_frame[f] / used;
        r->after_mm += d->per_frame[nf + f] / used;
        for (int k = 0; k < 2; k++) square[k] += d->per_frame[(2 + k) * nf + f] * d->per_frame[(2 + k) * nf + f] / used;
    }
    r->inside_mm = sqrt(square[0]);
    r->outside_mm = sqrt(square[1]);
    int left = fai_control_left(d->control);
    fai_note_count(&d->notes, left, "shapes-aside", "", "none needed; map those that are to move with --names",
                   "%d of %d shapes stay at rest: they do over again what others do", left, d->rig->nshape);
    fai_note_count(&d->notes, r->lost, "frames-without-markers", NULL, "look at the take there",
                   "%d frames have no usable marker: the face relaxes there", r->lost);
    int doubted = 0, which[2] = {-1, -1}; // those doubted most come first: two that were swapped
    for (int m = 0; m < d->map->count; m++) {
        doubted += d->doubted[m] > 0;
        if (d->doubted[m] && (which[0] < 0 || d->doubted[m] > d->doubted[which[0]]))
            which[1] = which[0], which[0] = m;
        else if (d->doubted[m] && (which[1] < 0 || d->doubted[m] > d->doubted[which[1]]))
            which[1] = m;
    }
    if (doubted)
        fai_note_count(
            &d->notes, doubted, "marker-doubted",
            FA_PLACE("%s, first in frame %d", d->map->name[which[0]], d->first_doubt[which[0]]),
            "check their places in the map, and whether they were swapped",
            "%d marker%s far from where the others put %s, with little weight there: %s in %d of %d frames%s%s%s",
            doubted, doubted == 1 ? " is" : "s are", doubted == 1 ? "it" : "them", d->map->name[which[0]],
            d->doubted[which[0]], nf, doubted > 1 ? ", " : "", doubted > 1 ? d->map->name[which[1]] : "",
            doubted > 2 ? ", ..." : "");
}

static FaCode solve_all(FaDrive *d, FaError *err) {
    double start = fai_seconds();
    for (int f = 0; f < d->take->nframe; f++) {
        FaCode rc = solve_frame(d, f, err);
        if (rc < 0) return rc;
        FA_TRY(fai_progress(d->o.progress, d->o.progress_user, "solve", (f + 1.0) / d->take->nframe, "nothing is kept",
                            err));
    }
    FA_TRY(fai_drive_choose_filter(d, err));
    sum_up(d);
    d->report.seconds += fai_seconds() - start;
    d->at = -1;
    fai_control_reset(d->control);
    return FA_OK;
}

// --- frames -------------------------------------------------------------------------------------------------------

static void filter(FaDrive *d, int frame) {
    size_t p = 3 * (size_t)fai_control_npoint(d->control);
    double total = 0;
    int reach = (int)ceil(3 * d->smooth);
    memset(d->filtered, 0, p * sizeof *d->filtered);
    for (int f = FA_MAX(frame - reach, 0); f <= FA_MIN(frame + reach, d->take->nframe - 1); f++) {
        double w = fai_kernel_at(d->smooth, f - frame);
        const float *c = d->coef + (size_t)f * p;
        total += w;
        for (size_t i = 0; i < p; i++) d->filtered[i] += w * (double)c[i];
    }
    for (size_t i = 0; i < p; i++) d->filtered[i] /= total;
}

static FaCode read_frame(void *user, int frame, float *x, FaError *err) {
    FaDrive *d = user;
    (void)err;
    double start = fai_seconds();
    size_t n = (size_t)d->rig->nshape, passes = (size_t)fai_control_passes(d->control);
    if (passes && d->at != frame) {
        if (d->at > frame) {
            d->at = -1;
            fai_control_reset(d->control);
        }
        for (int f = d->at + 1; f <= frame; f++)
            fai_control_replay(d->control, d->commands + (size_t)f * passes * n, d->take->time[f], &d->frame);
        d->at = frame;
    }
    memcpy(d->frame.weights, d->clip->weight + (size_t)frame * n, n * sizeof(float));
    memcpy(d->frame.carried, d->carried + (size_t)frame * n, n * sizeof(float));
    filter(d, frame);
    fai_control_surface(d->control, &d->frame, d->filtered, x);
    d->report.seconds += fai_seconds() - start;
    return FA_OK;
}

// --- opening ------------------------------------------------------------------------------------------------------

static FaCode make_room(FaDrive *d, FaError *err) {
    size_t nf = (size_t)d->take->nframe, n = (size_t)d->rig->nshape, p = 3 * (size_t)fai_control_npoint(d->control);
    size_t passes = (size_t)fai_control_passes(d->control);
    d->coef = fai_alloc_array(nf, p * sizeof(float));
    d->carried = fai_alloc_array(nf, n * sizeof(float));
    d->commands = passes ? fai_alloc_array(nf, passes * n * sizeof(double)) : NULL;
    d->per_frame = FA_NEW(4 * nf, double);
    d->doubted = FA_NEW(2 * (size_t)d->map->count, int);
    d->filtered = FA_PUSH(d->arena, p, double);
    if (!d->coef || !d->carried || (passes && !d->commands) || !d->per_frame || !d->doubted || !d->filtered)
        return FA_FAIL_MEMORY(err);
    d->first_doubt = d->doubted + d->map->count;
    return fai_control_frame_new(d->control, d->arena, &d->frame, err);
}

static FaCode make_clip(FaDrive *d, const FaMarkerTake *take, FaError *err) {
    const char **name = FA_NEW(d->rig->nshape, const char *);
    FaPose *head = FA_NEW(take->nframe, FaPose);
    bool known = false;
    FaCode rc = name && head ? FA_OK : FA_FAIL_MEMORY(err);
    for (int j = 0; rc >= 0 && j < d->rig->nshape; j++) name[j] = d->rig->shape[j].name;
    if (rc >= 0) rc = fa_clip_new(take->nframe, d->rig->nshape, name, d->o.fps, &d->clip, err);
    if (rc >= 0) rc = fai_drive_head(d, take, head, &known, err);
    if (rc >= 0) {
        memcpy(d->clip->time, take->time, (size_t)take->nframe * sizeof *take->time);
        d->clip->start = take->start;
    }
    if (rc >= 0 && known)
        d->clip->head = head;
    else
        fa_free(head);
    fa_free(name);
    return rc;
}

static FaCode open_take(FaDrive *d, const FaMarkerTake *take, FaError *err) {
    FA_TRY(fa_markers_check(take, err));
    if (d->o.fps == 0) d->o.fps = take->fps;
    FA_TRY(fa_markers_new(take->nframe, d->map->count, d->map->name, d->o.fps, &d->take, err));
    memcpy(d->take->time, take->time, (size_t)take->nframe * sizeof *take->time);
    d->take->start = take->start;
    FA_TRY(make_clip(d, take, err));
    d->report.nframe = take->nframe;
    d->report.nmarker = d->map->mapped;
    for (int f = 0; f < take->nframe; f++)
        for (int i = 0; i < d->map->count; i++)
            if (d->map->point[i].vert[0] >= 0)
                d->report.missing += !d->take->ok[(size_t)f * (size_t)d->map->count + (size_t)i];
    if (d->report.missing == take->nframe * d->map->mapped)
        return FA_FAIL(err, FA_E_FORMAT, take->path, "check the file and the map",
                       "no sample of any mapped marker is there");
    d->arc_gain = FA_PUSH(d->arena, d->rig->nshape, double);
    if (!d->arc_gain) return FA_FAIL_MEMORY(err);
    bool plain =
        d->o.literal || d->o.no_residual || d->o.kind == FA_DRIVE_RSBS || (d->o.kind == FA_DRIVE_SBS && !d->o.refine);
    if (!plain && d->o.smooth == 0) FA_TRY(fai_drive_smooth_markers(d, err));
    FA_TRY(fai_drive_decide(d, err));
    FaDriveOptions o = d->o;
    o.kind = d->report.kind;
    o.refine |= d->o.kind == FA_DRIVE_AUTO;
    FA_TRY(fai_control_open(d->rig, d->face, d->map, &o, NULL, &d->control, err));
    fai_drive_apply_learnt(d, d->control);
    FA_TRY(make_room(d, err));
    FA_TRY(solve_all(d, err));
    FA_TRY(fa_sequence_custom(d->rig->mesh.nvert, take->nframe, d->o.fps, read_frame, d, &d->seq, err));
    double *time = FA_NEW(take->nframe, double);
    if (!time) return FA_FAIL_MEMORY(err);
    memcpy(time, take->time, (size_t)take->nframe * sizeof *time);
    fai_sequence_own(d->seq, NULL, time);
    return FA_OK;
}

FaCode fa_drive_open(const FaRig *rig, const FaFace *face, const FaMarkerTake *take, const FaMarkerMap *map,
                     const FaDriveOptions *options, FaDrive **drive, FaError *err) {
    *drive = NULL;
    FaDrive *d = FA_NEW(1, FaDrive);
    if (!d) return FA_FAIL_MEMORY(err);
    d->rig = rig;
    d->face = face;
    d->map = map;
    d->at = -1;
    if (options) d->o = *options;
    d->arena = fai_arena_new(0);
    d->report.asked = d->o.kind;
    FaCode rc = d->arena ? open_take(d, take, err) : FA_FAIL_MEMORY(err);
    if (rc < 0) {
        fa_drive_close(d);
        return rc;
    }
    *drive = d;
    return FA_OK;
}

void fa_drive_close(FaDrive *d) {
    if (!d) return;
    fa_sequence_close(d->seq);
    fai_control_free(d->control);
    fa_markers_free(d->take);
    fa_clip_free(d->clip);
    fa_free(d->commands);
    fa_free(d->coef);
    fa_free(d->carried);
    fa_free(d->per_frame);
    fa_free(d->doubted);
    fai_notes_free(&d->notes);
    fai_arena_free(d->arena);
    fa_free(d);
}

FaSequence *fa_drive_sequence(FaDrive *d) { return d->seq; }
const FaClip *fa_drive_clip(const FaDrive *d) { return d->clip; }
const FaMarkerTake *fa_drive_markers(const FaDrive *d) { return d->take; }
const FaNotes *fa_drive_notes(const FaDrive *d) { return &d->notes; }

FaDriveReport fa_drive_report(const FaDrive *d) {
    FaDriveReport r = d->report;
    size_t n = (size_t)r.nframe;
    r.why = d->why;
    r.jaw = !d->o.no_jaw && !d->o.literal;
    r.residual = !d->o.no_residual && !d->o.literal;
    r.smooth = d->smooth;
    r.frame_before_mm = d->per_frame;
    r.frame_after_mm = d->per_frame + n;
    r.frame_inside_mm = d->per_frame + 2 * n;
    r.frame_outside_mm = d->per_frame + 3 * n;
    return r;
}
