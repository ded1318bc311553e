// fascia blend RIG --weights ...: the paper's sliders: one source, several targets, each with a weight and a moment.
#include "blend_jobs.h"

#include <stdlib.h>
#include <string.h>

typedef struct Still {
    Job job;
    FaClip *clip; // one channel per shape
    FaSequence *seq;
    FaOscillator o;
    int n;
    int *target;    // (n)
    double *weight; // (n)
    double *time;   // (n)
} Still;

// --- what is shared with candidates -------------------------------------------------------------------------------

FaCode blend_shape(const FaRig *rig, const char *name, size_t n, int *shape, FaError *err) {
    for (int pass = 0; pass < 2; pass++)
        for (*shape = 0; *shape < rig->nshape; ++*shape) {
            const FaShape *s = &rig->shape[*shape];
            const char *own = pass == 0 ? s->name : s->arkit >= 0 && s->half == 0 ? fa_arkit_name(s->arkit) : "";
            if (strlen(own) == n && !strncmp(own, name, n)) return FA_OK;
        }
    return cli_wrong(err, "the rig has no shape '%.*s'; fascia info %s names them", (int)n, name, rig->path);
}

bool blend_number(const char *text, size_t n, double *v) {
    char copy[64], *end;
    if (n == 0 || n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    *v = strtod(copy, &end); // the program never calls setlocale: "C" rules
    return !*end && *v - *v == 0;
}

void blend_oscillator(FaOscillator *o) {
    *o = (FaOscillator){1.5, 8, 10}; // the paper's first example: close to linear interpolation
    if (cli_given("mass")) o->mass = fa_params_get(cli_params, "mass");
    if (cli_given("damping")) o->damping = fa_params_get(cli_params, "damping");
    if (cli_given("stiffness")) o->stiffness = fa_params_get(cli_params, "stiffness");
}

FaCode blend_clip_new(const FaRig *rig, int nframe, FaClip **clip, FaError *err) {
    const char **names = malloc((size_t)(rig->nshape + 1) * sizeof *names);
    if (!names) return cli_no_memory(err);
    for (int i = 0; i < rig->nshape; i++) names[i] = rig->shape[i].name;
    FaCode rc = fa_clip_new(nframe, rig->nshape, names, common.fps > 0 ? common.fps : 30, clip, err);
    free(names);
    return rc;
}

// --- stills -------------------------------------------------------------------------------------------------------

// "jawOpen=0.5,mouthSmileLeft=1@0.4"; moments that are not given are --time's.
static FaCode load(Job *job, FaError *err) {
    Still *s = (Still *)job;
    double moment = 1;
    if (blend.time && (!blend_number(blend.time, strlen(blend.time), &moment) || moment < 0))
        return cli_wrong(err, "--time takes one number from 0 (source) on, not '%s'", blend.time);
    size_t room = strlen(blend.weights) + 1;
    s->target = malloc(room * sizeof *s->target);
    s->weight = malloc(room * sizeof *s->weight);
    s->time = malloc(room * sizeof *s->time);
    if (!s->target || !s->weight || !s->time) return cli_no_memory(err);
    for (const char *at = blend.weights; *at; s->n++) {
        size_t n = strcspn(at, ","), name = strcspn(at, "="), end = strcspn(at, "@");
        end = end < n ? end : n;
        s->time[s->n] = moment;
        bool good = name < end && blend_number(at + name + 1, end - name - 1, &s->weight[s->n]);
        if (good && end < n) good = blend_number(at + end + 1, n - end - 1, &s->time[s->n]) && s->time[s->n] >= 0;
        if (!good) return cli_wrong(err, "--weights takes NAME=VALUE or NAME=VALUE@MOMENT, not '%.*s'", (int)n, at);
        if (!job_is_weight(s->weight[s->n]))
            return cli_wrong(err, "--weights: %.*s: no rig means that; 1 is a whole shape", (int)n, at);
        TRY(blend_shape(job->rig, at, name, &s->target[s->n], err));
        at += n + (at[n] == ',');
    }
    blend_oscillator(&s->o);
    return FA_OK;
}

// One frame, or --slider frames from the source to the moment, as a clip of the rig's shapes.
static FaCode make(Job *job, FaError *err) {
    Still *s = (Still *)job;
    int nframe = blend.slider > 0 ? blend.slider : 1, nshape = job->rig->nshape;
    float *out = malloc((size_t)(s->n + 1) * sizeof *out);
    double *time = malloc((size_t)(s->n + 1) * sizeof *time);
    FaCode rc = out && time ? blend_clip_new(job->rig, nframe, &s->clip, err) : cli_no_memory(err);
    for (int f = 0; rc >= 0 && f < nframe; f++) {
        for (int i = 0; i < s->n; i++) time[i] = nframe > 1 ? s->time[i] * f / (nframe - 1) : s->time[i];
        rc = fa_analytic_slider(&s->o, s->n, s->weight, time, out, err);
        for (int i = 0; rc >= 0 && i < s->n; i++) s->clip->weight[f * nshape + s->target[i]] += out[i];
    }
    free(out);
    free(time);
    if (rc >= 0) rc = fa_sequence_of_clip(job->rig, s->clip, &s->seq, err);
    snprintf(job->generator, sizeof job->generator, "fascia %s blend --weights %.120s", fa_version(), blend.weights);
    job->frames = s->seq;
    job->played = s->clip;
    job->last = nframe - 1;
    job->one_picture = nframe == 1;
    return rc;
}

static double weight_at_end(const Still *s, int i) {
    return (double)s->clip->weight[(s->clip->nframe - 1) * s->job.rig->nshape + s->target[i]];
}

static void say(Job *job) {
    const Still *s = (const Still *)job;
    double over = fa_analytic_overshoot(&s->o);
    for (int i = 0; i < s->n; i++)
        cli_say("%-24s weight %g at %g: %.6f", job->rig->shape[s->target[i]].name, s->weight[i], s->time[i],
                weight_at_end(s, i));
    if (over > 2) cli_say("note: on its way it goes %.1f times as far as the target; raise the damping", over);
}

static void json(Job *job, FaJsonWriter *w) {
    const Still *s = (const Still *)job;
    fa_json_int(w, "frames", s->clip->nframe);
    fa_json_number(w, "overshoot", fa_analytic_overshoot(&s->o));
    fa_json_begin(w, "weights", '{');
    for (int i = 0; i < s->n; i++) fa_json_number(w, job->rig->shape[s->target[i]].name, weight_at_end(s, i));
    fa_json_end(w);
}

static void still_free(Job *job) {
    Still *s = (Still *)job;
    fa_sequence_close(s->seq);
    fa_clip_free(s->clip);
    free(s->target);
    free(s->weight);
    free(s->time);
}

int blend_still(const char *rig_path) {
    Still s = {.job = {.verb = "blend",
                       .doctor = true,
                       .track = "still",
                       .rig_path = rig_path,
                       .load = load,
                       .make = make,
                       .write = job_save_still,
                       .say = say,
                       .json = json,
                       .free = still_free}};
    return job_walk(&s.job);
}
