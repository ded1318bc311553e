// Frames come from three places, in this order: the unfinished file of an interrupted run, the finished file of the
// last run as long as the input is the same, and the method. After a changed frame the method runs until its state is
// that of the finished file again and all later input is the same; what follows is copied.
#include "fascia/take.h"

#include "base/file.h"
#include "base/text.h"
#include "method/method.h"
#include "method/run.h"
#include "method/take_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static const double SAME = 1e-9; // relative: a head's curve through other poses far away differs by less

struct FaTake {
    FaMethod *method;
    FaRun *run;
    FaTakeFile *out, *old;
    FaTakeShape shape;
    FaTakeReport report;
    FaRunStats stats;
    FaSequence *seq;
    char *path, *part;
    int every, nframe;
    int last_changed; // the last frame whose input differs from the old file's; -1: none, nframe: no old file
    int state_at;     // the method's state is that after this frame; -1: none
    double rejoin;
    float *surface;
    void *state;
};

// --- what a take was made from ------------------------------------------------------------------------------------

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

static void input_of(FaTake *t, int frame, FaInput *in, FaTakeInput *stored) {
    fai_run_input(t->run, frame, in);
    *stored = (FaTakeInput){.time = in->time, .weights = in->weights};
    stored->motion.pose = in->head;
    if (in->motion) fai_pose_curve_eval(in->motion, in->time, &stored->motion);
}

static bool near(const double *a, const double *b, int n, double scale) {
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= SAME * scale)) return false;
    return true;
}

static bool same_input(const FaTake *t, const FaTakeInput *a, const FaTakeInput *b) {
    return a->time == b->time && !memcmp(a->weights, b->weights, (size_t)t->shape.nshape * sizeof(float)) &&
           near(a->motion.pose.q, b->motion.pose.q, 4, 1) && near(a->motion.pose.p, b->motion.pose.p, 3, 1) &&
           near(a->motion.a, b->motion.a, 3, 10) && near(a->motion.alpha, b->motion.alpha, 3, 100);
}

// First and last frame whose input is not that of a file.
static FaCode changes(FaTake *t, FaTakeFile *file, int *first, int *last, FaError *err) {
    int n = t->nframe, stored = FA_MIN(fai_take_file_count(file), n);
    *first = n;
    *last = stored < n ? n : -1;
    for (int f = 0; f < n; f++) {
        FaInput in;
        FaTakeInput now, then;
        bool same = false;
        if (f < stored) {
            input_of(t, f, &in, &now);
            FA_TRY(fai_take_file_read(file, f, &then, NULL, NULL, err));
            same = same_input(t, &now, &then);
        }
        if (same) continue;
        *first = FA_MIN(*first, f);
        *last = FA_MAX(*last, f);
    }
    return FA_OK;
}

// --- frames -------------------------------------------------------------------------------------------------------

static bool is_state_frame(const FaTake *t, int frame) { return frame % t->every == 0 || frame == t->nframe - 1; }

// Simulate one frame; the method's state is that before it.
static FaCode step(FaTake *t, int frame, FaTakeInput *stored, FaError *err) {
    FaInput in;
    FaStats stats = {0};
    input_of(t, frame, &in, stored);
    FaCode rc = frame == 0 ? fa_method_reset(t->method, &in, t->surface, err)
                           : fa_method_step(t->method, &in, t->surface, &stats, err);
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
    return FA_OK;
}

// Bring the method to the state after `frame`: from the nearest stored one, repeating what is between.
static FaCode come_to(FaTake *t, int frame, FaError *err) {
    if (t->state_at == frame) return FA_OK;
    int from = frame;
    while (from >= 0 && !fai_take_file_has_state(t->out, from)) from--;
    if (from >= 0) {
        FA_TRY(fai_take_file_read(t->out, from, NULL, NULL, t->state, err));
        FA_TRY(fa_method_load(t->method, t->state, (size_t)t->shape.state, err));
    }
    FaTakeInput stored;
    for (int f = from + 1; f <= frame; f++) FA_TRY(step(t, f, &stored, err));
    t->state_at = frame;
    return FA_OK;
}

static FaCode make_frame(FaTake *t, int frame, FaError *err) {
    FaTakeInput stored;
    FA_TRY(come_to(t, frame - 1, err));
    FA_TRY(step(t, frame, &stored, err));
    bool keep = is_state_frame(t, frame);
    if (keep) fa_method_save(t->method, t->state);
    return fai_take_file_append(t->out, &stored, t->surface, keep ? t->state : NULL, err);
}

static FaCode copy_frame(FaTake *t, int frame, FaError *err) {
    FaTakeInput stored;
    bool state = fai_take_file_has_state(t->old, frame);
    FA_TRY(fai_take_file_read(t->old, frame, &stored, t->surface, state ? t->state : NULL, err));
    t->report.kept++;
    return fai_take_file_append(t->out, &stored, t->surface, state ? t->state : NULL, err);
}

// Has the motion come back to that of the old file, for good?
static FaCode rejoined(FaTake *t, int frame, bool *yes, FaError *err) {
    *yes = false;
    if (!t->old || frame <= t->last_changed || frame >= fai_take_file_count(t->old) ||
        !fai_take_file_has_state(t->old, frame) || t->state_at != frame)
        return FA_OK;
    FA_TRY(fai_take_file_read(t->old, frame, NULL, NULL, t->state, err));
    double gap = fai_method_distance(t->method, t->state);
    *yes = gap <= t->rejoin;
    if (!*yes) return FA_OK;
    t->report.rejoined_at = frame;
    t->report.gap = gap;
    return FA_OK;
}

static FaCode make_all(FaTake *t, const FaTakeOptions *o, int first_changed, FaError *err) {
    int n = t->nframe, begin = fai_take_file_count(t->out);
    bool copy = t->old && begin == 0; // what follows an interruption has to prove that it is on the old path
    for (int f = begin; f < n; f++) {
        if (o->progress && !o->progress(o->progress_user, "simulating", (double)f / n))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("frame %d", f), "run it again: what was made is kept", "stopped");
        if (copy && (f < first_changed || f > t->last_changed)) {
            FA_TRY(copy_frame(t, f, err));
            continue;
        }
        copy = false;
        FA_TRY(make_frame(t, f, err));
        FA_TRY(rejoined(t, f, &copy, err));
    }
    if (o->progress) o->progress(o->progress_user, "simulating", 1);
    return fai_take_file_sync(t->out, err);
}

// --- opening ------------------------------------------------------------------------------------------------------

static FaCode read_frame(void *user, int frame, float *x, FaError *err) {
    FaTake *t = user;
    return fai_take_file_read(t->out, frame, NULL, x, NULL, err);
}

static FaCode prepare(FaTake *t, const FaClip *clip, const char *path, const FaTakeOptions *o, FaError *err) {
    const FaRig *rig = fa_method_rig(t->method);
    FaText part = {0};
    fai_text_printf(&part, "%s.part", path);
    t->part = part.data;
    FaText copy = {0};
    fai_text_printf(&copy, "%s", path);
    t->path = copy.data;
    t->every = o->every > 0 ? o->every : 10;
    t->rejoin = o->rejoin > 0 ? o->rejoin : 1e-7;
    t->shape =
        (FaTakeShape){hash_rig(rig), (uint64_t)rig->mesh.nvert, (uint64_t)rig->nshape, fa_method_state_size(t->method)};
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

static FaCode open_files(FaTake *t, int *first_changed, FaError *err) {
    const char *why = "", *none = "";
    int n = t->nframe, first = 0, last;
    *first_changed = 0;
    t->last_changed = n;
    FA_TRY(fai_take_file_open(t->path, &t->shape, false, &t->old, &why, err));
    t->report.fresh = why;
    if (t->old) FA_TRY(changes(t, t->old, first_changed, &t->last_changed, err));
    if (t->old && *first_changed < n) t->report.changed_at = *first_changed;
    FA_TRY(fai_take_file_open(t->part, &t->shape, true, &t->out, &none, err));
    if (t->out && fai_take_file_count(t->out) > 0) {
        FA_TRY(changes(t, t->out, &first, &last, err));
        FA_TRY(fai_take_file_cut(t->out, FA_MIN(first, fai_take_file_count(t->out)), err));
        t->report.kept = fai_take_file_count(t->out);
        t->report.continued_at = t->report.kept;
        return FA_OK;
    }
    fai_take_file_close(t->out);
    t->out = NULL;
    if (t->old && *first_changed == n && fai_take_file_count(t->old) == n) { // nothing to do
        t->out = t->old;
        t->old = NULL;
        t->report.kept = n;
        remove(t->part);
        return FA_OK;
    }
    return fai_take_file_new(t->part, &t->shape, &t->out, err);
}

FaCode fa_take_make(FaMethod *method, const FaClip *clip, const char *path, const FaTakeOptions *options, FaTake **take,
                    FaTakeReport *report, FaError *err) {
    *take = NULL;
    FaTakeOptions o = options ? *options : (FaTakeOptions){0};
    FaTake *t = FA_NEW(1, FaTake);
    if (!t) return FA_FAIL_MEMORY(err);
    t->method = method;
    t->state_at = -1;
    t->report = (FaTakeReport){.changed_at = -1, .rejoined_at = -1, .continued_at = -1, .fresh = ""};
    int first_changed = 0;
    FaCode rc = prepare(t, clip, path, &o, err);
    if (rc >= 0) rc = open_files(t, &first_changed, err);
    if (rc >= 0) t->report.frames = t->nframe;
    bool make = rc >= 0 && !(fai_take_file_count(t->out) == t->report.frames && t->report.continued_at < 0);
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
        fa_take_free(t);
    else
        *take = t;
    return rc;
}

FaSequence *fa_take_sequence(FaTake *t) { return t->seq; }
const FaClip *fa_take_clip(const FaTake *t) { return fa_run_clip(t->run); }
FaRunStats fa_take_stats(const FaTake *t) { return t->stats; }

void fa_take_free(FaTake *t) {
    if (!t) return;
    fa_sequence_close(t->seq);
    fa_run_free(t->run);
    fai_take_file_close(t->out);
    fai_take_file_close(t->old);
    fa_free(t->path);
    fa_free(t->part);
    fa_free(t->surface);
    fa_free(t->state);
    fa_free(t);
}
