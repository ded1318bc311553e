// The camera's fit frame by frame, as frames come: pose and expression from the last frame's, identity by adding up
// what frames that are unlike each other say about it (their information, pose and expression eliminated), until enough
// have spoken; then it stays.
#include "math/mat3.h"
#include "track/camera_fit.h"

#include <math.h>

enum { WARM = 4 };
static const double FORGET = 0.95;  // what early frames, seen with a wrong identity, keep of their say per new one
static const double NOVEL = 1.0;    // unlikeness that is worth another look, see fai_fit_unlike
static const double NOVEL_FADE = 1; // s: how fast less will do

struct FaCameraTracker {
    FaFitSetup setup;
    FaFitShared shared;
    FaCameraOptions o;
    int count; // landmarks of a frame
    double fps;
    FaFitWork *work;
    FaFitSeen seen;
    FaFitVars vars;
    FaFitFilter filter;
    FaNnls *nnls;
    double *info, *eta;  // of the identity                           (nid x nid, nid)
    double *sum, *s, *g; // scratch                       (nid x nid, ns x ns, ns)
    double *lo, *hi;     // (nid)
    double *spoken;      // frames that have told of the identity     (id_frames x (7 + nexp))
    int nspoken;
    double since;               // s since the last of them
    double *raw, *shown, *held; // (7 + nexp)
    bool irises;
    int gaze[2][5];          // see fai_gaze_channels
    bool known;              // vars are the last frame's
    bool started;            // something was shown
    bool sized;              // sigma is measured
    double time, lost, back; // s: of the last frame; without a face; since it came back
    bool up;                 // metric: y of the file points up
    FaPose first;
    float *weight, *identity;
    FaArena *arena;
};

void fa_camera_tracker_free(FaCameraTracker *t) {
    if (!t) return;
    fai_fit_work_free(t->work);
    fai_nnls_free(t->nnls);
    fai_arena_free(t->arena);
    fa_free(t);
}

static bool push_all(FaCameraTracker *t) {
    const FaFaceModel *m = t->setup.model;
    size_t nid = (size_t)m->nid, ns = nid + 1, n = 7 + (size_t)m->nexp, l = (size_t)t->setup.n;
    double **list[] = {&t->shared.id, &t->shared.face, &t->seen.x, &t->seen.a, &t->vars.w, &t->info,
                       &t->eta,       &t->sum,         &t->s,      &t->g,      &t->lo,     &t->hi,
                       &t->spoken,    &t->raw,         &t->shown,  &t->held};
    size_t size[] = {
        nid, 3 * l, 3 * l, l, n, nid * nid, nid, nid * nid, ns * ns, ns, nid, nid, n * (size_t)t->o.id_frames, n, n, n};
    for (int i = 0; i < FA_COUNT(list); i++)
        if (!(*list[i] = FA_PUSH(t->arena, size[i], double))) return false;
    t->weight = FA_PUSH(t->arena, n, float);
    t->identity = FA_PUSH(t->arena, nid, float);
    return t->weight && t->identity && fai_filter_new(&t->filter, m->nexp, t->o.smooth, t->arena);
}

FaCode fa_camera_tracker_new(const FaFaceModel *model, const FaCameraInput *in, const FaCameraOptions *options,
                             FaCameraTracker **tracker, FaError *err) {
    FA_ASSERT(model && in && tracker && (in->dims == 2 || in->dims == 3));
    *tracker = NULL;
    FaCameraOptions o = options ? *options : fa_camera_options_default();
    if (!(in->fps > 0) || !isfinite(in->fps) || o.id_frames < 0 || o.id_frames > 1000)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the frames per second, and up to 1000 frames for the identity",
                       "the tracker's rate or its number of frames makes no sense");
    FaFitSetup setup;
    FA_TRY(fai_fit_setup(model, in, &o, &setup, err));
    FaCameraTracker *t = FA_NEW(1, FaCameraTracker);
    if (!t || !(t->arena = fai_arena_new(0))) {
        fa_free(t);
        return FA_FAIL_MEMORY(err);
    }
    t->setup = setup;
    t->setup.focal_free = false;
    t->irises = fai_gaze_channels(&t->setup, t->gaze);
    t->o = o;
    t->o.id_frames = FA_MAX(o.id_frames, 1);
    t->fps = in->fps;
    t->count = in->layout == FA_LANDMARKS_68 ? 68 : in->layout == FA_LANDMARKS_468 ? 468 : 478;
    t->shared.focal = setup.focal0;
    FaCode rc = push_all(t) ? fai_fit_work_new(&t->setup, &t->work, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_nnls_new(FA_MAX(model->nid, 1), &t->nnls, err);
    if (rc < 0) {
        fa_camera_tracker_free(t);
        return rc;
    }
    fa_camera_tracker_reset(t, false);
    *tracker = t;
    return FA_OK;
}

void fa_camera_tracker_reset(FaCameraTracker *t, bool keep_identity) {
    size_t nid = (size_t)t->setup.model->nid;
    t->known = t->started = false;
    t->lost = t->back = 0;
    fai_filter_reset(&t->filter);
    if (keep_identity) return;
    t->nspoken = 0;
    t->since = 0;
    t->sized = false;
    memset(t->info, 0, nid * nid * sizeof *t->info);
    memset(t->eta, 0, nid * sizeof *t->eta);
    for (size_t k = 0; k < nid; k++) {
        t->shared.id[k] = t->o.identity ? (double)t->o.identity[k] : 0;
        t->identity[k] = (float)t->shared.id[k];
    }
    fai_fit_shared_set(&t->setup, &t->shared);
}

// --- identity -----------------------------------------------------------------------------------------------------

static bool worth_asking(FaCameraTracker *t) {
    size_t n = 7 + (size_t)t->setup.model->nexp;
    if (t->setup.id_fixed || t->nspoken >= t->o.id_frames) return false;
    double near = INFINITY;
    for (int i = 0; i < t->nspoken; i++)
        near = fmin(near, fai_fit_unlike(t->setup.model->nexp, t->spoken + (size_t)i * n, t->raw));
    return t->nspoken == 0 || near > NOVEL * exp(-t->since / NOVEL_FADE);
}

// What this frame says is added as a pull towards where it would have the identity: info, and eta = info x that place.
static void ask(FaCameraTracker *t) {
    const FaFaceModel *m = t->setup.model;
    size_t nid = (size_t)m->nid, ns = nid + 1, n = 7 + (size_t)m->nexp;
    if (!fai_fit_shared_info(t->work, &t->setup, &t->shared, &t->seen, &t->vars, t->s, t->g)) return;
    double frames = 0, share = 1, s2 = t->shared.sigma * t->shared.sigma;
    memcpy(t->spoken + (size_t)t->nspoken * n, t->raw, n * sizeof *t->raw);
    t->nspoken++;
    t->since = 0;
    for (int i = 0; i < t->nspoken; i++, share *= FORGET) frames += share;
    double prior = s2 * t->setup.id_prior * sqrt(frames) + 1e-9 * s2 + 1e-15;
    for (size_t a = 0; a < nid; a++) {
        double pull = t->g[a];
        for (size_t b = 0; b < nid; b++) {
            pull += t->s[a * ns + b] * t->shared.id[b];
            t->info[a * nid + b] = FORGET * t->info[a * nid + b] + t->s[a * ns + b];
            t->sum[a * nid + b] = t->info[a * nid + b] + (a == b ? prior : 0);
        }
        t->eta[a] = FORGET * t->eta[a] + pull;
        t->lo[a] = (double)m->id_lo[a];
        t->hi[a] = (double)m->id_hi[a];
    }
    FaNnlsProblem problem = {.n = m->nid, .g = t->sum, .f = t->eta, .lo = t->lo, .hi = t->hi};
    fai_nnls_solve(t->nnls, &problem, t->shared.id);
    fai_fit_shared_set(&t->setup, &t->shared);
    for (size_t k = 0; k < nid; k++) t->identity[k] = (float)t->shared.id[k];
}

// --- a frame ------------------------------------------------------------------------------------------------------

static FaFitReport fit_frame(FaCameraTracker *t) {
    FaFitReport rep = {0};
    if (!t->sized) t->shared.sigma = 0.005 * t->seen.size;
    if (t->known) rep = fai_fit_warm(t->work, &t->setup, &t->shared, &t->seen, &t->vars, WARM);
    if (!rep.ok || rep.rms > 0.06 * t->seen.size)
        rep = fai_fit_cold(t->work, &t->setup, &t->shared, &t->seen, &t->vars);
    if (!rep.ok) return rep;
    fai_fit_pack(&t->setup, &t->vars, t->raw);
    if (worth_asking(t)) {
        ask(t);
        rep = fai_fit_warm(t->work, &t->setup, &t->shared, &t->seen, &t->vars, WARM);
        fai_fit_pack(&t->setup, &t->vars, t->raw);
    }
    double sigma = fai_fit_sigma(&t->setup, rep.median, t->seen.size);
    t->shared.sigma += (t->sized ? 0.05 : 0.5) * (sigma - t->shared.sigma);
    t->sized = true;
    return rep;
}

// A lost face holds, then its expression relaxes; the head stays where it was.
static void hold(FaCameraTracker *t, double dt) {
    t->known = false;
    t->lost += dt;
    if (t->lost <= t->o.hold) return;
    double keep = exp(-dt / fmax(t->o.ease, 1e-3));
    for (int j = 0; j < t->setup.model->nexp; j++) t->shown[7 + j] *= keep;
}

static void show(FaCameraTracker *t, double dt) {
    int nexp = t->setup.model->nexp;
    if (!t->started || t->lost > 0) { // it comes back from where it was, not at once
        fai_filter_reset(&t->filter);
        memcpy(t->held, t->started ? t->shown : t->raw, (7 + (size_t)nexp) * sizeof *t->held);
        t->back = t->started && t->lost > 2 / t->fps ? 0 : INFINITY;
    }
    t->lost = 0;
    t->back += dt;
    for (int side = 0; t->irises && t->started && side < 2; side++)
        if (fai_gaze_hidden(t->gaze[side], t->raw)) fai_gaze_keep(t->gaze[side], t->shown, t->raw);
    fai_filter_step(&t->filter, t->raw, 1 / dt, true, t->shown);
    double u = t->back / fmax(t->o.ease, 1e-3);
    if (u < 1) fai_filter_mix(nexp, t->held, t->shown, u * u * (3 - 2 * u), t->shown);
}

FaCode fa_camera_tracker_step(FaCameraTracker *t, const FaCameraFrame *frame, FaCameraState *state) {
    FA_ASSERT(t && frame && frame->x && state);
    double dt = t->started ? frame->time - t->time : 0;
    if (!(dt > 0) || dt > 1) dt = 1 / t->fps;
    t->time = frame->time;
    fai_fit_see(&t->setup, t->count, frame->x, frame->visibility, &t->seen);
    t->since += dt;
    FaFitReport rep = fit_frame(t);
    if (rep.ok)
        show(t, dt);
    else if (t->started)
        hold(t, dt);
    *state = (FaCameraState){.ok = rep.ok, .used = rep.used, .weight = t->weight, .identity = t->identity};
    state->pose = state->world = (FaPose){.q = {0, 0, 0, 1}};
    state->error = rep.rms * (t->setup.metric ? 1000 / FA_FIT_METRIC_PX : 1);
    state->settled = t->setup.id_fixed ? 1 : (double)t->nspoken / t->o.id_frames;
    if (rep.ok || t->started) {
        fai_fit_unpack(&t->setup, t->shown, &state->pose, t->weight);
        if (!t->started) {
            double up[3] = {t->setup.model->rig->axes[3], t->setup.model->rig->axes[4], t->setup.model->rig->axes[5]},
                   y[3];
            fai_q_rotate(state->pose.q, up, y);
            t->up = t->setup.metric && y[1] > 0;
            t->first = state->pose;
            t->started = true;
        }
        FaPose at;
        fai_fit_world(&state->pose, &t->first, t->up, &at);
        state->world = fa_rig_head(t->setup.model->rig, &at);
    }
    t->known = rep.ok;
    return rep.ok ? FA_OK : FA_CLAMPED;
}
