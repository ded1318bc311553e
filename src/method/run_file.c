// Frames come from three places, in this order: the unfinished file of an interrupted run, the finished file of the
// last run as long as the input is the same, and the method. After a changed frame the method runs until its state is
// that of the finished file again and all later input is the same; what follows is copied.
#include "fascia/run_file.h"
#include "fascia/output.h"

#include "base/file.h"
#include "base/text.h"
#include "method/method.h"
#include "method/run.h"
#include "method/run_store.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static const double SAME = 1e-9; // relative: a head's curve through other poses far away differs by less

struct FaRunFile {
    FaMethod *method;
    FaRun *run;
    FaRunStore *out, *old;
    FaRunStoreShape shape;
    FaRunFileReport report;
    FaRunStats stats;
    FaNotes notes;
    FaSequence *seq;
    char *path, *part;
    int every, nframe;
    int last_changed; // the last frame whose input differs from the old file's; -1: none, nframe: no old file
    int state_at;     // the method's state is that after this frame; -1: none
    double rejoin, begin;
    float *surface;
    void *state;
};

// --- what a run was made from -------------------------------------------------------------------------------------

static uint64_t hash_rig(const FaRig *rig) {
    uint64_t h = fai_hash64(rig->mesh.x, 3 * (size_t)rig->mesh.nvert * sizeof(float), 1);
    h = fai_hash64(rig->mesh.tri, 3 * (size_t)rig->mesh.ntri * sizeof(int), h);
    for (int s = 0; s < rig->nshape; s++)
        h = fai_hash64(rig->shape[s].name, strlen(rig->shape[s].name), h ^ (uint64_t)rig->shape[s].count);
    h = fai_hash64(rig->row, (size_t)rig->nentry * sizeof(int), h);
    return fai_hash64(rig->delta, 3 * (size_t)rig->nentry * sizeof(float), h);
}

// Parameters, and what is in the files that they name.
static FaCode hash_params(const FaMethod *m, const FaParams *params, uint64_t *key, FaError *err) {
    FaParams *defaults = NULL;
    char *json = NULL;
    if (!params) FA_TRY(fa_params_new(fa_method_name(m), &defaults, err));
    if (!params) params = defaults;
    FaCode rc = fa_params_json(params, &json, err);
    if (rc >= 0) *key = fai_hash64(json, strlen(json), *key);
    for (const FaParamInfo *p = fa_method_params(fa_method_name(m)); rc >= 0 && p->name; p++) {
        if (p->type != FA_PARAM_TEXT || !fai_file_exists(fa_params_text(params, p->name))) continue;
        FaBytes bytes;
        rc = fai_file_read(fa_params_text(params, p->name), 0, &bytes, err);
        if (rc < 0) break;
        *key = fai_hash64(bytes.data, bytes.size, *key);
        fai_bytes_free(&bytes);
    }
    fa_free(json);
    fa_params_free(defaults);
    return rc;
}

static void input_of(FaRunFile *t, int frame, FaRunStoreInput *stored) {
    FaInput in;
    fai_run_input(t->run, frame, &in);
    *stored = (FaRunStoreInput){.time = in.time, .weights = in.weights};
    stored->motion.pose = in.head;
    const FaPoseCurve *motion = fai_run_motion(t->run);
    if (motion) fai_pose_curve_eval(motion, in.time, &stored->motion);
}

static bool near(const double *a, const double *b, int n, double scale) {
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= SAME * scale)) return false;
    return true;
}

static bool same_input(const FaRunFile *t, const FaRunStoreInput *a, const FaRunStoreInput *b) {
    return a->time == b->time && !memcmp(a->weights, b->weights, (size_t)t->shape.nshape * sizeof(float)) &&
           near(a->motion.pose.q, b->motion.pose.q, 4, 1) && near(a->motion.pose.p, b->motion.pose.p, 3, 1) &&
           near(a->motion.a, b->motion.a, 3, 10) && near(a->motion.alpha, b->motion.alpha, 3, 100);
}

// First and last frame whose input is not that of a file.
static FaCode changes(FaRunFile *t, FaRunStore *file, int *first, int *last, FaError *err) {
    int n = t->nframe, stored = FA_MIN(fai_run_store_count(file), n);
    *first = n;
    *last = stored < n ? n : -1;
    for (int f = 0; f < n; f++) {
        FaRunStoreInput now, then;
        bool same = false;
        if (f < stored) {
            input_of(t, f, &now);
            FA_TRY(fai_run_store_read(file, f, &then, NULL, NULL, err));
            same = same_input(t, &now, &then);
        }
        if (same) continue;
        *first = FA_MIN(*first, f);
        *last = FA_MAX(*last, f);
    }
    return FA_OK;
}

// --- frames -------------------------------------------------------------------------------------------------------

static bool is_state_frame(const FaRunFile *t, int frame) { return frame % t->every == 0 || frame == t->nframe - 1; }

// Simulate one frame; the method's state is that before it.
static FaCode step(FaRunFile *t, int frame, FaRunStoreInput *stored, FaError *err) {
    FaStats stats;
    input_of(t, frame, stored);
    FaCode rc = fai_run_step(t->run, frame, t->surface, &stats, err);
    if (rc < 0) {
        if (err && !err->place[0]) snprintf(err->place, sizeof err->place, "frame %d", frame);
        return rc;
    }
    t->state_at = frame;
    t->report.made++;
    t->stats.frames++;
    t->stats.seconds += stats.seconds;
    t->stats.slowest = FA_MAX(t->stats.slowest, stats.seconds);
    t->stats.clamped += stats.clamped;
    t->stats.worst_iterations = FA_MAX(t->stats.worst_iterations, stats.iterations);
    fai_run_count_limited(&t->stats, frame, &stats);
    return FA_OK;
}

// Bring the method to the state after `frame`: from the nearest stored one, repeating what is between.
static FaCode come_to(FaRunFile *t, int frame, FaError *err) {
    if (t->state_at == frame) return FA_OK;
    int from = frame;
    while (from >= 0 && !fai_run_store_has_state(t->out, from)) from--;
    if (from >= 0) {
        FA_TRY(fai_run_store_read(t->out, from, NULL, NULL, t->state, err));
        FA_TRY(fa_method_load(t->method, t->state, (size_t)t->shape.state, err));
    }
    FaRunStoreInput stored;
    for (int f = from + 1; f <= frame; f++) FA_TRY(step(t, f, &stored, err));
    t->state_at = frame;
    return FA_OK;
}

static FaCode make_frame(FaRunFile *t, int frame, FaError *err) {
    FaRunStoreInput stored;
    FA_TRY(come_to(t, frame - 1, err));
    FA_TRY(step(t, frame, &stored, err));
    bool keep = is_state_frame(t, frame);
    if (keep) fa_method_save(t->method, t->state);
    return fai_run_store_append(t->out, &stored, t->surface, keep ? t->state : NULL, err);
}

static FaCode copy_frame(FaRunFile *t, int frame, FaError *err) {
    FaRunStoreInput stored;
    bool state = fai_run_store_has_state(t->old, frame);
    FA_TRY(fai_run_store_read(t->old, frame, &stored, t->surface, state ? t->state : NULL, err));
    t->report.kept++;
    return fai_run_store_append(t->out, &stored, t->surface, state ? t->state : NULL, err);
}

// Has the motion come back to that of the old file, for good?
static FaCode rejoined(FaRunFile *t, int frame, bool *yes, FaError *err) {
    *yes = false;
    if (!t->old || frame <= t->last_changed || frame >= fai_run_store_count(t->old) ||
        !fai_run_store_has_state(t->old, frame) || t->state_at != frame)
        return FA_OK;
    FA_TRY(fai_run_store_read(t->old, frame, NULL, NULL, t->state, err));
    double gap = fai_method_distance(t->method, t->state);
    *yes = gap <= t->rejoin;
    if (!*yes) return FA_OK;
    t->report.rejoined_at = frame;
    t->report.gap = gap;
    return FA_OK;
}

static FaCode make_all(FaRunFile *t, const FaRunFileOptions *o, int first_changed, FaError *err) {
    int n = t->nframe, begin = fai_run_store_count(t->out);
    bool copy = t->old && begin == 0; // what follows an interruption has to prove that it is on the old path
    for (int f = begin; f < n; f++) {
        FA_TRY(fai_progress(o->progress, o->progress_user, "simulating", (double)f / n,
                            "the frames made so far are kept, and the same command goes on from there", err));
        if (copy && (f < first_changed || f > t->last_changed)) {
            FA_TRY(copy_frame(t, f, err));
            continue;
        }
        copy = false;
        FA_TRY(make_frame(t, f, err));
        FA_TRY(rejoined(t, f, &copy, err));
    }
    if (o->progress) o->progress(o->progress_user, "simulating", 1);
    return fai_run_store_sync(t->out, err);
}

// --- opening ------------------------------------------------------------------------------------------------------

static FaCode read_frame(void *user, int frame, float *x, FaError *err) {
    FaRunFile *t = user;
    return fai_run_store_read(t->out, frame, NULL, x, NULL, err);
}

FaRunFileOptions fa_run_file_options_default(void) { return (FaRunFileOptions){.every = 10, .rejoin = 1e-7}; }

static FaCode prepare(FaRunFile *t, const FaClip *clip, const char *path, const FaRunFileOptions *o, FaError *err) {
    const FaRig *rig = fa_method_rig(t->method);
    FaText part = {0};
    fai_text_printf(&part, "%s.part", path);
    t->part = part.data;
    FaText copy = {0};
    fai_text_printf(&copy, "%s", path);
    t->path = copy.data;
    const FaRunFileOptions usual = fa_run_file_options_default();
    t->every = o->every > 0 ? o->every : usual.every;
    t->rejoin = o->rejoin > 0 ? o->rejoin : usual.rejoin;
    t->begin = o->begin;
    t->shape = (FaRunStoreShape){hash_rig(rig), (uint64_t)rig->mesh.nvert, (uint64_t)rig->nshape,
                                 fa_method_state_size(t->method)};
    t->shape.key = fai_hash64(FA_VERSION_TEXT, sizeof FA_VERSION_TEXT, t->shape.key ^ (uint64_t)t->every);
    t->shape.key = fai_hash64(fa_method_name(t->method), strlen(fa_method_name(t->method)), t->shape.key);
    FA_TRY(hash_params(t->method, o->params, &t->shape.key, err));
    if (t->method->inputs) t->shape.key = fai_hash64(&t->method->inputs, sizeof t->method->inputs, t->shape.key);
    FA_TRY(fa_run_new_fps(t->method, clip, o->fps, &t->run, err));
    t->nframe = fai_run_nframe(t->run);
    if (o->count > 0) t->nframe = FA_MIN(t->nframe, o->count);
    t->surface = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    t->state = FA_NEW(t->shape.state, unsigned char);
    return t->path && t->part && t->surface && t->state ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode open_files(FaRunFile *t, int *first_changed, FaError *err) {
    const char *why = "", *none = "";
    int n = t->nframe, first = 0, last;
    *first_changed = 0;
    t->last_changed = n;
    FA_TRY(fai_run_store_open(t->path, &t->shape, false, &t->old, &why, err));
    t->report.fresh = why;
    if (t->old) FA_TRY(changes(t, t->old, first_changed, &t->last_changed, err));
    if (t->old && *first_changed < n) t->report.changed_at = *first_changed;
    FA_TRY(fai_run_store_open(t->part, &t->shape, true, &t->out, &none, err));
    if (t->out && fai_run_store_count(t->out) > 0) {
        FA_TRY(changes(t, t->out, &first, &last, err));
        FA_TRY(fai_run_store_cut(t->out, FA_MIN(first, fai_run_store_count(t->out)), err));
        t->report.kept = fai_run_store_count(t->out);
        t->report.continued_at = t->report.kept;
        return FA_OK;
    }
    fai_run_store_close(t->out);
    t->out = NULL;
    if (t->old && *first_changed == n && fai_run_store_count(t->old) == n) { // nothing to do
        t->out = t->old;
        t->old = NULL;
        t->report.kept = n;
        remove(t->part);
        return FA_OK;
    }
    return fai_run_store_create(t->part, &t->shape, &t->out, err);
}

FaCode fa_run_file_open(FaMethod *method, const FaClip *clip, const char *path, const FaRunFileOptions *options,
                        FaRunFile **take, FaRunFileReport *report, FaError *err) {
    *take = NULL;
    FaRunFileOptions o = options ? *options : (FaRunFileOptions){0};
    FaRunFile *t = FA_NEW(1, FaRunFile);
    if (!t) return FA_FAIL_MEMORY(err);
    t->method = method;
    t->state_at = -1;
    t->report = (FaRunFileReport){.changed_at = -1, .rejoined_at = -1, .continued_at = -1, .fresh = ""};
    int first_changed = 0;
    FaCode rc = prepare(t, clip, path, &o, err);
    if (rc >= 0 && !o.replace) rc = fa_output_fits(t->path, "run", err);
    if (rc >= 0) rc = open_files(t, &first_changed, err);
    if (rc >= 0) t->report.frames = t->nframe;
    bool make = rc >= 0 && !(fai_run_store_count(t->out) == t->report.frames && t->report.continued_at < 0);
    if (make) rc = make_all(t, &o, first_changed, err);
    if (rc >= 0 && make && rename(t->part, t->path) != 0)
        rc = FA_FAIL(err, FA_E_FILE, NULL, "choose a folder that can be written to", "cannot replace %s: %s", t->path,
                     strerror(errno));
    const FaClip *used = rc >= 0 ? fa_run_clip(t->run) : NULL;
    if (rc >= 0)
        rc = fa_sequence_custom(fa_method_rig(method)->mesh.nvert, t->report.frames, used ? used->fps : 0, read_frame,
                                t, &t->seq, err);
    if (report) *report = t->report;
    if (rc < 0)
        fa_run_file_close(t);
    else
        *take = t;
    return rc;
}

FaSequence *fa_run_file_sequence(FaRunFile *t) { return t->seq; }
const FaClip *fa_run_file_clip(const FaRunFile *t) { return fa_run_clip(t->run); }
FaRunStats fa_run_file_stats(const FaRunFile *t) { return t->stats; }

const FaNotes *fa_run_file_notes(FaRunFile *t) {
    fai_notes_free(&t->notes); // counts have changed since
    fai_run_note_limited(&t->notes, &t->stats);
    fai_run_note_cuts(&t->notes, t->run, t->begin);
    return &t->notes;
}

void fa_run_file_close(FaRunFile *t) {
    if (!t) return;
    fa_sequence_close(t->seq);
    fa_run_free(t->run);
    fai_notes_free(&t->notes);
    fai_run_store_close(t->out);
    fai_run_store_close(t->old);
    fa_free(t->path);
    fa_free(t->part);
    fa_free(t->surface);
    fa_free(t->state);
    fa_free(t);
}
