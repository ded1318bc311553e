// AUTO: shapes or forces, by markers that are left out.
//
// Shapes that are right for the face are hard to beat; shapes of somebody else are better used as forces. Nobody says
// which they are, but the markers can: each n-th of them is left out in turn, frames sampled over the take are solved
// both ways, residual pass included, and what counts is how far the markers left out are from where they should be. The
// jaw's frame is asked about in the same way.
#include "blendforces/drive_work.h"

#include "math/mat3.h"

#include <math.h>

enum { FOLDS = 5, SAMPLES = 24, LEAD = 2 }; // LEAD: frames before a sample, so that forces have a past
static const double NOISY = 0.3;
static const double JAW_MARGIN = 0.97; // the jaw's frame is left out only if that is plainly better
static const double MARGIN = 0.995;    // forces must be better by this much: shapes cost less

typedef struct Tally {
    double sum;
    int count;
} Tally;

// One sample with one part of the markers left out.
static FaCode try_frame(FaDrive *d, FaControl *c, FaControlFrame *f, int frame, int fold, double *at, Tally *tally,
                        FaError *err) {
    const int *place = fai_control_points(c);
    int lead = fai_control_passes(c) ? FA_MIN(LEAD, frame) : 0;
    fai_control_reset(c);
    for (int k = frame - lead; k <= frame; k++) {
        FaMarkers m = fai_drive_markers_of(d, k);
        FA_TRY(fai_control_solve(c, &m, d->take->time[k], f, err));
    }
    if (f->fit.held) return FA_OK;
    fai_control_predict(c, f, f->coef, at);
    for (int i = fold; i < fai_control_npoint(c); i += FOLDS) {
        size_t s = (size_t)frame * (size_t)d->take->nmarker + (size_t)place[i];
        double x[3];
        if (!d->take->ok[s]) continue;
        for (size_t k = 0; k < 3; k++) x[k] = (double)d->take->x[3 * s + k];
        fai_v3_sub(x, at + 3 * (size_t)i, x);
        tally->sum += fmin(fai_v3_norm(x), 0.02); // an outlier decides nothing
        tally->count++;
    }
    return FA_OK;
}

static FaCode left_out_error(FaDrive *d, FaDriveKind kind, bool learn, double *error, FaError *err) {
    FaDriveOptions o = d->o;
    o.kind = kind;
    o.refine = true;
    FaControl *c = NULL;
    FaControlFrame f;
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? fai_control_open(d->rig, d->face, d->map, &o, NULL, &c, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_control_frame_new(c, arena, &f, err);
    if (rc >= 0 && learn) rc = fai_drive_learn_jaw(d, c, err);
    if (rc >= 0 && learn) rc = fai_drive_learn_arcs(d, c, err);
    if (rc >= 0) fai_drive_apply_learnt(d, c);
    float *trust = arena ? FA_PUSH(arena, d->map->count, float) : NULL;
    double *at = arena && c ? FA_PUSH(arena, 3 * (size_t)fai_control_npoint(c), double) : NULL;
    if (rc >= 0 && (!trust || !at)) rc = FA_FAIL_MEMORY(err);
    Tally tally = {0};
    int n = FA_MIN(SAMPLES, d->take->nframe);
    for (int fold = 0; rc >= 0 && fold < FOLDS; fold++) {
        for (int i = 0; i < d->map->count; i++) trust[i] = d->o.trust ? d->o.trust[i] : 1;
        for (int i = fold; i < fai_control_npoint(c); i += FOLDS) trust[fai_control_points(c)[i]] = 0;
        fai_control_trust(c, trust);
        for (int s = 0; rc >= 0 && s < n; s++)
            rc = try_frame(d, c, &f, (int)(((double)s + 0.5) * d->take->nframe / n), fold, at, &tally, err);
        rc = FA_MIN(rc, FA_OK);
    }
    *error = tally.count ? tally.sum / tally.count : NAN;
    fai_control_free(c);
    fai_arena_free(arena);
    return rc;
}

// The jaw and, if wanted, arcs for a take whose way to solve was given.
static FaCode learn_alone(FaDrive *d, bool arcs, FaError *err) {
    FaDriveOptions o = d->o;
    FaControl *c;
    o.kind = FA_DRIVE_SBS;
    o.refine = arcs;
    o.no_residual = !arcs;
    FA_TRY(fai_control_open(d->rig, d->face, d->map, &o, NULL, &c, err));
    FaCode rc = fai_drive_learn_jaw(d, c, err);
    if (rc >= 0 && arcs) rc = fai_drive_learn_arcs(d, c, err);
    fai_control_free(c);
    return rc;
}

// The jaw's frame turns skin on the hinge that the rig's shapes show; on shapes moved from a face of other build the
// hinge may be off.
static FaCode try_without_jaw(FaDrive *d, double *shapes, FaError *err) {
    size_t size = (size_t)d->rig->nshape * sizeof *d->arc_gain;
    double without, noise = d->noise, ridge = d->ridge, *gain = FA_NEW(d->rig->nshape, double);
    if (d->o.no_jaw || !gain) {
        fa_free(gain);
        return d->o.no_jaw ? FA_OK : FA_FAIL_MEMORY(err);
    }
    memcpy(gain, d->arc_gain, size);
    d->o.no_jaw = true;
    FaCode rc = left_out_error(d, FA_DRIVE_SBS, true, &without, err);
    if (rc >= 0 && without < JAW_MARGIN * *shapes) {
        *shapes = without;
    } else {
        d->o.no_jaw = false;
        d->noise = noise;
        d->ridge = ridge;
        memcpy(d->arc_gain, gain, size);
    }
    fa_free(gain);
    return rc;
}

FaCode fai_drive_decide(FaDrive *d, FaError *err) {
    double shapes, forces;
    bool given = d->o.no_jaw;
    FaDriveReport *r = &d->report;
    r->held_out_mm = r->held_out_shapes_mm = r->held_out_forces_mm = NAN;
    if (d->o.kind != FA_DRIVE_AUTO) {
        r->kind = d->o.kind;
        snprintf(d->why, sizeof d->why, "as asked");
        bool arcs = !d->o.literal && !d->o.no_residual && (d->o.kind == FA_DRIVE_BF || d->o.refine);
        return arcs || (!d->o.literal && !d->o.no_jaw) ? learn_alone(d, arcs, err) : FA_OK;
    }
    FA_TRY(left_out_error(d, FA_DRIVE_SBS, true, &shapes, err));
    if (d->noise > NOISY) { // fast motion at a low rate looks like noise: believe it only if that helps
        double noise = d->noise, quiet;
        d->noise = 0;
        FA_TRY(left_out_error(d, FA_DRIVE_SBS, false, &quiet, err));
        if (quiet < shapes)
            shapes = quiet;
        else
            d->noise = noise;
    }
    FA_TRY(try_without_jaw(d, &shapes, err));
    FA_TRY(left_out_error(d, FA_DRIVE_BF, false, &forces, err));
    r->held_out_shapes_mm = 1e3 * shapes;
    r->held_out_forces_mm = 1e3 * forces;
    if (isnan(shapes) || isnan(forces)) {
        r->kind = FA_DRIVE_BF;
        snprintf(d->why, sizeof d->why, "forces: there are too few markers to leave some out and compare");
        return FA_OK;
    }
    r->kind = forces < MARGIN * shapes ? FA_DRIVE_BF : FA_DRIVE_SBS;
    r->held_out_mm = r->kind == FA_DRIVE_BF ? r->held_out_forces_mm : r->held_out_shapes_mm;
    snprintf(d->why, sizeof d->why, "%s: they predict markers that were left out to %.2f mm, %s to %.2f mm%s",
             r->kind == FA_DRIVE_BF ? "forces" : "shapes", r->held_out_mm, r->kind == FA_DRIVE_BF ? "shapes" : "forces",
             r->kind == FA_DRIVE_BF ? r->held_out_shapes_mm : r->held_out_forces_mm,
             d->o.no_jaw && !given ? "; the rigid jaw made it worse and is off" : "");
    return FA_OK;
}
