// A whole take: who it is and the camera's focal length from frames that are well spread, then every frame with these.
//
// Identity and focal length: rounds of (1) fit each chosen frame with what is shared held, within bounds; (2) solve for
// the shared unknowns with pose and free expressions of every frame eliminated, a Gauss-Newton step of the joint
// problem. Frames are fitted in parallel, in chunks that do not depend on the number of threads, and added in order.
#include "base/task.h"
#include "io/landmarks.h"
#include "math/dense.h"
#include "math/mat3.h"
#include "track/camera_fit.h"

#include <math.h>
#include <stdlib.h>

enum { CANDIDATES = 72, JITTER_ROOM = 20000, ROUNDS = 10, CHUNK = 48, WARM = 6, WARM_ROUND = 3 };
static const double POOR = 0.04; // rms over the size of the face from which on a frame fits badly

FaCameraOptions fa_camera_options_default(void) {
    return (FaCameraOptions){.smooth = 1,
                             .id_prior = 1,
                             .exp_prior = 1,
                             .sparse = 1,
                             .z_weight = 0.1,
                             .id_frames = 24,
                             .hold = 0.3,
                             .ease = 0.4};
}

void fa_camera_fit_free(FaCameraFit *fit) {
    if (!fit) return;
    fai_notes_free(&fit->notes);
    fa_free(fit->time);
    fa_free(fit->pose);
    fa_free(fit->weight);
    fa_free(fit->identity);
    fa_free(fit->ok);
    fa_free(fit->error);
    fa_free(fit->used);
    fa_free(fit);
}

// --- shared unknowns ----------------------------------------------------------------------------------------------

double fai_fit_sigma(const FaFitSetup *setup, double median, double size) {
    double s = median / (setup->metric ? 1.538 : 1.177); // of a distance, to that of a coordinate
    double rows = (setup->metric ? 3.0 : 2.0) * setup->n, spent = fmin(6 + 0.4 * setup->model->nexp, 0.5 * rows);
    s *= sqrt(rows / (rows - spent)); // the fit has followed some of the noise
    return fmin(fmax(s, 0.0005 * size), 0.02 * size);
}

double fai_fit_shared_step(const FaFitSetup *setup, FaFitShared *shared, double *s, double *g, double frames,
                           FaNnls *nnls, double *scratch, double *unsure) {
    const FaFaceModel *m = setup->model;
    int nid = m->nid, ns = nid + 1;
    size_t n = (size_t)ns;
    double *lo = scratch, *hi = lo + ns, *d = hi + ns, most = 0;
    // errors of landmarks that repeat from frame to frame do not average out: frames count less than they are
    double s2 = shared->sigma * shared->sigma, j2 = fmin(shared->jitter * shared->jitter, s2), f = fmax(frames, 1);
    double weight = fmin(s2 * sqrt(f), j2 + f * (s2 - j2)) * setup->id_prior + 1e-9 * s2 + 1e-15;
    for (int k = 0; k < nid; k++) {
        s[(size_t)k * n + (size_t)k] += weight;
        g[k] -= weight * shared->id[k];
        lo[k] = fmax((double)m->id_lo[k] - shared->id[k], -1.5);
        hi[k] = fmin((double)m->id_hi[k] - shared->id[k], 1.5);
        if (setup->id_fixed || lo[k] > hi[k]) lo[k] = hi[k] = 0;
        d[k] = 0;
    }
    double tight = s2 / (FA_FIT_FOCAL_SD * FA_FIT_FOCAL_SD);
    s[n * n - 1] += tight + 1e-15;
    g[nid] -= setup->focal_free ? tight * log(shared->focal / setup->focal0) : 0;
    lo[nid] = setup->focal_free ? -0.3 : 0;
    hi[nid] = setup->focal_free ? 0.3 : 0;
    d[nid] = 0;
    FaNnlsProblem problem = {.n = ns, .g = s, .f = g, .lo = lo, .hi = hi};
    fai_nnls_solve(nnls, &problem, d);
    for (int k = 0; k < nid; k++) {
        shared->id[k] += d[k];
        most = fmax(most, fabs(d[k]));
    }
    if (setup->focal_free) shared->focal *= exp(d[nid]);
    most = fmax(most, 5 * fabs(d[nid]));
    if (unsure && fai_dense_cholesky(ns, ns, s)) *unsure = shared->sigma / s[n * n - 1];
    fai_fit_shared_set(setup, shared);
    return most;
}

double fai_fit_unlike(int nexp, const double *a, const double *b) {
    double inv[4], q[4], w[3], sum = 0;
    fai_q_conj(a, inv);
    fai_q_mul(b, inv, q);
    fai_q_log(q, w);
    sum = fai_v3_dot(w, w) / (0.175 * 0.175);
    for (int j = 0; j < nexp; j++) sum += (a[7 + j] - b[7 + j]) * (a[7 + j] - b[7 + j]) / 0.09;
    return sqrt(sum);
}

void fai_fit_load(const FaFitSetup *setup, const double *value, FaFitVars *v) {
    double c[3];
    fai_q_to_m3(value, v->pose.r);
    fai_m3_mulv(v->pose.r, setup->rows->centre, c);
    fai_v3_sub(value + 4, c, v->pose.t);
    memcpy(v->w, value + 7, (size_t)setup->model->nexp * sizeof *v->w);
}

// --- a take's frames ----------------------------------------------------------------------------------------------

typedef struct Frame { // of those that decide the identity
    int frame;
    FaFitReport rep;
    double size;
    double *value; // 7 + nexp
    double *s, *g; // what it says about the shared unknowns
    bool chosen, told;
} Frame;

typedef struct Job {
    const FaFitSetup *setup;
    FaFitShared *shared;
    const FaLandmarkTake *take;
    Frame *frame; // of the batch
    bool cold;
    double *raw; // of the take
    unsigned char *ok;
    FaFitReport *rep;
    double *size;
    _Atomic bool failed;
} Job;

typedef struct Desk { // scratch of a chunk
    FaFitWork *work;
    FaFitSeen seen;
    FaFitVars vars;
    FaArena *arena;
} Desk;

static void desk_close(Desk *d) {
    fai_fit_work_free(d->work);
    fai_arena_free(d->arena);
}

static bool desk_open(Desk *d, const FaFitSetup *setup) {
    *d = (Desk){.arena = fai_arena_new(0)};
    if (!d->arena) return false;
    d->seen.x = FA_PUSH(d->arena, 3 * (size_t)setup->n, double);
    d->seen.a = FA_PUSH(d->arena, (size_t)setup->n, double);
    d->vars.w = FA_PUSH(d->arena, (size_t)setup->model->nexp, double);
    if (d->seen.x && d->seen.a && d->vars.w && fai_fit_work_new(setup, &d->work, NULL) >= 0) return true;
    desk_close(d);
    return false;
}

static void look(const Job *job, int frame, FaFitSeen *seen) {
    const FaLandmarkTake *t = job->take;
    size_t at = (size_t)frame * (size_t)t->count;
    fai_fit_see(job->setup, t->count, t->x + at * (size_t)t->dims, t->visibility + at, seen);
}

// Fit the chosen frames, and ask each about identity and focal length.
static void batch_chunk(void *ctx, int begin, int end, int chunk) {
    Job *job = ctx;
    Desk desk;
    (void)chunk;
    if (!desk_open(&desk, job->setup)) {
        job->failed = true;
        return;
    }
    for (int i = begin; i < end; i++) {
        Frame *f = &job->frame[i];
        if (!job->cold && !f->chosen) continue;
        look(job, f->frame, &desk.seen);
        f->size = desk.seen.size;
        if (job->cold)
            f->rep = fai_fit_cold(desk.work, job->setup, job->shared, &desk.seen, &desk.vars);
        else {
            fai_fit_load(job->setup, f->value, &desk.vars);
            f->rep = fai_fit_warm(desk.work, job->setup, job->shared, &desk.seen, &desk.vars, WARM_ROUND);
            f->told = f->rep.ok &&
                      fai_fit_shared_info(desk.work, job->setup, job->shared, &desk.seen, &desk.vars, f->s, f->g);
        }
        if (f->rep.ok) fai_fit_pack(job->setup, &desk.vars, f->value);
    }
    desk_close(&desk);
}

// All frames of a chunk: the first from nothing, the others from the one before.
static void take_chunk(void *ctx, int begin, int end, int chunk) {
    Job *job = ctx;
    Desk desk;
    size_t n = 7 + (size_t)job->setup->model->nexp;
    bool known = false;
    (void)chunk;
    if (!desk_open(&desk, job->setup)) {
        job->failed = true;
        return;
    }
    for (int i = begin; i < end; i++) {
        look(job, i, &desk.seen);
        FaFitReport rep = {0};
        job->size[i] = desk.seen.size;
        if (known) rep = fai_fit_warm(desk.work, job->setup, job->shared, &desk.seen, &desk.vars, WARM);
        if (!known || !rep.ok || rep.rms > POOR * desk.seen.size)
            rep = fai_fit_cold(desk.work, job->setup, job->shared, &desk.seen, &desk.vars);
        known = rep.ok;
        job->ok[i] = rep.ok;
        job->rep[i] = rep;
        if (rep.ok) fai_fit_pack(job->setup, &desk.vars, job->raw + (size_t)i * n);
    }
    desk_close(&desk);
}

// The residuals of what is given out: after smoothing.
static void judge_chunk(void *ctx, int begin, int end, int chunk) {
    Job *job = ctx;
    Desk desk;
    size_t n = 7 + (size_t)job->setup->model->nexp;
    (void)chunk;
    if (!desk_open(&desk, job->setup)) {
        job->failed = true;
        return;
    }
    for (int i = begin; i < end; i++) {
        if (!job->ok[i]) continue;
        look(job, i, &desk.seen);
        fai_fit_load(job->setup, job->raw + (size_t)i * n, &desk.vars);
        job->rep[i] = fai_fit_judge(desk.work, job->setup, job->shared, &desk.seen, &desk.vars);
    }
    desk_close(&desk);
}

// --- identity and focal length ------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle_of(const Frame *frame, int n, bool size, bool chosen, double *scratch) {
    int m = 0;
    for (int i = 0; i < n; i++)
        if (frame[i].rep.ok && (!chosen || frame[i].chosen)) scratch[m++] = size ? frame[i].size : frame[i].rep.median;
    qsort(scratch, (size_t)m, sizeof *scratch, by_value);
    return m ? scratch[m / 2] : 0;
}

// Frames that are most unlike each other, beginning with the one that fits best: farthest points.
static int choose_frames(Frame *frame, int n, int want, int nexp) {
    int chosen = 0, next = -1;
    for (int i = 0; i < n; i++)
        if (frame[i].rep.ok && (next < 0 || frame[i].rep.median < frame[next].rep.median)) next = i;
    while (next >= 0 && chosen < want) {
        frame[next].chosen = true;
        chosen++;
        next = -1;
        double far = 0;
        for (int i = 0; i < n; i++) {
            double near = INFINITY;
            if (!frame[i].rep.ok || frame[i].chosen) continue;
            for (int j = 0; j < n; j++)
                if (frame[j].chosen) near = fmin(near, fai_fit_unlike(nexp, frame[i].value, frame[j].value));
            if (near > far) far = near, next = i;
        }
    }
    return chosen;
}

// How far landmarks jump from frame to frame: the median second difference, pixels.
static double take_noise(const FaLandmarkTake *t, double *scratch, int room) {
    int m = 0, step = FA_MAX(1, (int)((int64_t)t->nframe * t->count / FA_MAX(room / 2, 1)));
    for (int i = 1; i + 1 < t->nframe; i += step)
        for (int l = 0; l < t->count && m + 2 <= room; l++)
            for (int k = 0; k < 2; k++) {
                size_t c = (size_t)t->count * (size_t)t->dims, at = (size_t)i * c + (size_t)(l * t->dims + k);
                double d = (double)t->x[at - c] - 2 * (double)t->x[at] + (double)t->x[at + c];
                if (isfinite(d)) scratch[m++] = fabs(d);
            }
    qsort(scratch, (size_t)m, sizeof *scratch, by_value);
    return m ? 1.4826 * scratch[m / 2] / sqrt(6) : 0;
}

static double rounds(Job *job, int n, int chosen, bool fixed, FaNnls *nnls, double *sum, double *scratch,
                     double *unsure) {
    int ns = job->setup->model->nid + 1;
    size_t m = (size_t)ns;
    double *s = sum, *g = sum + m * m, most = 0;
    for (int round = 0; round < ROUNDS && !job->failed; round++) {
        fai_parallel(n, 2, batch_chunk, job);
        job->shared->sigma = fai_fit_sigma(job->setup, middle_of(job->frame, n, false, true, scratch),
                                           middle_of(job->frame, n, true, true, scratch));
        if (fixed) {
            if (round == 1) break;
            continue;
        }
        memset(sum, 0, (m * m + m) * sizeof *sum);
        for (int i = 0; i < n; i++) {
            if (!job->frame[i].chosen || !job->frame[i].told) continue;
            for (size_t e = 0; e < m * m; e++) s[e] += job->frame[i].s[e];
            for (size_t e = 0; e < m; e++) g[e] += job->frame[i].g[e];
        }
        most = fai_fit_shared_step(job->setup, job->shared, s, g, chosen, nnls, scratch, unsure);
        if (most < 0.02) break;
    }
    return most;
}

static FaCode find_shared(Job *job, const FaCameraOptions *o, FaArena *arena, double *size, double *unsure,
                          FaError *err) {
    const FaFaceModel *m = job->setup->model;
    const FaLandmarkTake *t = job->take;
    int n = FA_MIN(t->nframe, CANDIDATES), ns = m->nid + 1;
    size_t ss = (size_t)ns * (size_t)ns;
    job->frame = FA_PUSH(arena, n, Frame);
    double *sum = FA_PUSH(arena, ss + (size_t)ns, double), *scratch = FA_PUSH(arena, FA_MAX(3 * ns, n), double);
    bool ok = job->frame && sum && scratch;
    for (int i = 0; ok && i < n; i++) {
        Frame *f = &job->frame[i];
        f->frame = (int)((int64_t)i * t->nframe / n);
        f->value = FA_PUSH(arena, 7 + (size_t)m->nexp, double);
        f->s = FA_PUSH(arena, ss, double);
        f->g = FA_PUSH(arena, (size_t)ns, double);
        ok = f->value && f->s && f->g;
    }
    if (!ok) return FA_FAIL_MEMORY(err);
    FaNnls *nnls = NULL;
    FA_TRY(fai_nnls_new(ns, &nnls, err));
    // a first look at all: noise is not known yet, half a percent of the face
    job->cold = true;
    job->shared->sigma = 0.005 * (job->setup->metric ? 400 : fmax(job->setup->cx, job->setup->cy) / 2);
    fai_parallel(n, 2, batch_chunk, job);
    double *differ = FA_PUSH(arena, JITTER_ROOM, double);
    if (!differ) {
        fai_nnls_free(nnls);
        return FA_FAIL_MEMORY(err);
    }
    job->shared->jitter = take_noise(t, differ, JITTER_ROOM) * (job->setup->metric ? FA_FIT_METRIC_PX : 1);
    *size = middle_of(job->frame, n, true, false, scratch);
    int chosen = choose_frames(job->frame, n, FA_MAX(o->id_frames, 1), m->nexp);
    job->cold = false;
    bool fixed = job->setup->id_fixed && !job->setup->focal_free;
    if (chosen) {
        job->shared->sigma = fai_fit_sigma(job->setup, middle_of(job->frame, n, false, true, scratch), *size);
        rounds(job, n, chosen, fixed, nnls, sum, scratch, unsure);
    }
    fai_nnls_free(nnls);
    if (job->failed) return FA_FAIL_MEMORY(err);
    return FA_OK;
}

// --- the result ---------------------------------------------------------------------------------------------------

// Frames without a face between two with one: from one to the other, smoothly; at the ends: held.
static int fill_gaps(int nframe, int nexp, const unsigned char *ok, double *raw) {
    size_t n = 7 + (size_t)nexp;
    int last = -1, lost = 0;
    for (int i = 0; i <= nframe; i++) {
        if (i < nframe && !ok[i]) {
            lost++;
            continue;
        }
        for (int k = last + 1; k < i; k++) {
            double u = (double)(k - last) / (i - last);
            if (last < 0)
                memcpy(raw + (size_t)k * n, raw + (size_t)i * n, n * sizeof *raw);
            else if (i == nframe)
                memcpy(raw + (size_t)k * n, raw + (size_t)last * n, n * sizeof *raw);
            else
                fai_filter_mix(nexp, raw + (size_t)last * n, raw + (size_t)i * n, u * u * (3 - 2 * u),
                               raw + (size_t)k * n);
        }
        last = i;
    }
    return lost;
}

static FaCode new_fit(const FaFaceModel *m, const FaLandmarkTake *t, const FaFitSetup *setup, FaCameraFit **fit,
                      FaError *err) {
    FaCameraFit *f = *fit = FA_NEW(1, FaCameraFit);
    if (!f) return FA_FAIL_MEMORY(err);
    size_t n = (size_t)t->nframe;
    f->nframe = t->nframe;
    f->nexp = m->nexp;
    f->nid = m->nid;
    f->layout = t->layout;
    f->metric = setup->metric;
    f->fps = t->fps;
    f->width = t->width;
    f->height = t->height;
    f->worst_frame = -1;
    f->time = FA_NEW(n, double);
    f->pose = FA_NEW(n, FaPose);
    f->weight = FA_NEW(n * (size_t)m->nexp, float);
    f->identity = FA_NEW((size_t)m->nid, float);
    f->ok = FA_NEW(n, unsigned char);
    f->error = FA_NEW(n, float);
    f->used = FA_NEW(n, int);
    if (!f->time || !f->pose || !f->weight || !f->identity || !f->ok || !f->error || !f->used)
        return FA_FAIL_MEMORY(err);
    memcpy(f->time, t->time, n * sizeof *f->time);
    return FA_OK;
}

static void report(const Job *job, double unit, FaCameraFit *f) {
    double sum = 0, total = 0;
    int poor = 0, first_poor = -1, first_lost = -1, lost = 0, outliers = 0;
    for (int i = 0; i < f->nframe; i++) {
        f->ok[i] = job->ok[i];
        f->error[i] = NAN;
        if (!f->ok[i]) {
            if (!lost++) first_lost = i;
            continue;
        }
        const FaFitReport *rep = &job->rep[i];
        f->error[i] = (float)(rep->rms * unit);
        f->used[i] = rep->used;
        sum += rep->rms * rep->rms * rep->used;
        total += rep->used;
        if (f->worst_frame < 0 || f->error[i] > f->error[f->worst_frame]) f->worst_frame = i;
        if (rep->rms > POOR * job->size[i] && !poor++) first_poor = i;
        outliers += rep->used < 0.85 * job->setup->n;
    }
    f->error_rms = total > 0 ? sqrt(sum / total) * unit : 0;
    f->error_worst = f->worst_frame >= 0 ? (double)f->error[f->worst_frame] : 0;
    fai_note_count(&f->notes, lost, "face-lost", FA_PLACE("frame %d", first_lost), "",
                   "%d frames show no face that can be fitted: the frames around them are joined smoothly", lost);
    fai_note_count(&f->notes, poor, "fit-poor", FA_PLACE("frame %d", first_poor), "look at the overlay of that frame",
                   "%d frames miss their landmarks by over %g %% of the face", poor, POOR * 100);
    fai_note_count(&f->notes, outliers, "landmarks-outlying", "", "nothing to do; if the result is bad, check --image",
                   "in %d frames over 15 %% of the landmarks are missing or too far off to count", outliers);
}

// Every frame, gaps, smoothing, errors.
static FaCode fit_frames(Job *job, const FaCameraOptions *o, FaArena *arena, FaCameraFit *f, FaError *err) {
    const FaFaceModel *m = job->setup->model;
    size_t nframe = (size_t)f->nframe, n = 7 + (size_t)m->nexp;
    FaFitFilter filter;
    size_t room = FA_MAX(FA_MAX(nframe, n), 20000);
    double *scratch = FA_PUSH(arena, room, double), *raw = FA_PUSH(arena, nframe * n, double);
    double *smooth = FA_PUSH(arena, nframe * n, double);
    job->ok = FA_PUSH(arena, nframe, unsigned char);
    job->rep = FA_PUSH(arena, nframe, FaFitReport);
    job->size = FA_PUSH(arena, nframe, double);
    if (!scratch || !raw || !smooth || !job->ok || !job->rep || !job->size ||
        !fai_filter_new(&filter, m->nexp, o->smooth, arena))
        return FA_FAIL_MEMORY(err);
    job->raw = raw;
    fai_parallel(f->nframe, CHUNK, take_chunk, job);
    if (job->failed) return FA_FAIL_MEMORY(err);
    int found = 0, behind = 0;
    for (int i = 0; i < f->nframe; i++) found += job->ok[i], behind += job->rep[i].behind;
    if (found < behind && 2 * behind > f->nframe)
        return FA_FAIL(
            err, FA_E_FORMAT, NULL, "swap x and y, or turn one of them: x to the right, y down, left and right as seen",
            "the landmarks are a mirror image: in %d of %d frames they fit a face seen from behind", behind, f->nframe);
    if (!found)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "check layout, picture size and which way up the landmarks are",
                       "no frame shows a face that the model fits");
    fai_filter_noise(&filter, f->nframe, raw, job->ok, scratch);
    fill_gaps(f->nframe, m->nexp, job->ok, raw);
    fai_gaze_take(job->setup, f->nframe, raw, &filter);
    if (o->smooth > 0)
        fai_filter_take(&filter, f->nframe, raw, f->fps, smooth, scratch);
    else
        memcpy(smooth, raw, nframe * n * sizeof *raw);
    for (size_t i = 0; i < nframe; i++)
        fai_fit_unpack(job->setup, smooth + i * n, &f->pose[i], f->weight + i * (size_t)m->nexp);
    job->raw = smooth;
    fai_parallel(f->nframe, CHUNK, judge_chunk, job);
    if (job->failed) return FA_FAIL_MEMORY(err);
    double unit = job->setup->metric ? 1000 / FA_FIT_METRIC_PX : 1;
    f->noise = take_noise(job->take, scratch, (int)room) * (job->setup->metric ? 1000 : 1);
    report(job, unit, f);
    return FA_OK;
}

static FaCode fit_take(const FaCameraOptions *o, const FaLandmarkTake *take, FaFitSetup *setup, FaArena *arena,
                       FaCameraFit *f, FaError *err) {
    const FaFaceModel *m = setup->model;
    FaFitShared shared = {.focal = setup->focal0,
                          .id = FA_PUSH(arena, m->nid, double),
                          .face = FA_PUSH(arena, 3 * (size_t)setup->n, double)};
    if (!shared.id || !shared.face) return FA_FAIL_MEMORY(err);
    for (int k = 0; o->identity && k < m->nid; k++) shared.id[k] = (double)o->identity[k];
    fai_fit_shared_set(setup, &shared);
    Job job = {.setup = setup, .shared = &shared, .take = take};
    double size = 0, unsure = 0;
    FA_TRY(find_shared(&job, o, arena, &size, &unsure, err));
    FA_TRY(fai_progress(o->progress, o->progress_user, "identity", 0.5, "nothing is kept", err));
    FA_TRY(fit_frames(&job, o, arena, f, err));
    for (int k = 0; k < m->nid; k++) f->identity[k] = (float)shared.id[k];
    f->focal = setup->metric ? 0 : shared.focal;
    f->focal_found = setup->focal_free;
    f->face_px = size;
    if (setup->focal_free && unsure > 0.08)
        fai_note(&f->notes, "focal-unsure", "", "give the camera's focal length in pixels",
                 "the focal length, %.0f pixels, is known to %.0f %% only; distances and depth of the face share that",
                 shared.focal, 100 * unsure);
    if (take->width <= 1 && take->height <= 1 && !setup->metric && !fai_note_find(&take->notes, "image-size"))
        fai_note(&f->notes, "image-size", "", "give width and height",
                 "the picture's size is not known: taken as square");
    return f->error_worst > 0 && fai_note_find(&f->notes, "fit-poor") ? FA_STALLED : FA_OK;
}

FaCode fa_camera_fit(const FaFaceModel *model, const FaLandmarkTake *take, const FaCameraOptions *options,
                     FaCameraFit **fit, FaError *err) {
    FA_ASSERT(model && take && fit);
    *fit = NULL;
    double start = fai_seconds();
    FaCameraOptions o = options ? *options : fa_camera_options_default();
    FaFitSetup setup;
    FA_TRY(fa_landmarks_check(take, err));
    const FaCameraInput in = {take->layout, take->dims, take->metric, take->width, take->height, take->fps};
    FA_TRY(fai_fit_setup(model, &in, &o, &setup, err));
    FaArena *arena = fai_arena_new(0);
    FaCameraFit *f = NULL;
    FaCode rc = arena ? new_fit(model, take, &setup, &f, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fit_take(&o, take, &setup, arena, f, err);
    fai_arena_free(arena);
    if (rc < 0) {
        fa_camera_fit_free(f);
        return take->path ? fai_fail_in(err, rc, take->path) : rc;
    }
    f->seconds = fai_seconds() - start;
    *fit = f;
    return rc;
}
