// fascia blend RIG --weights ...: the paper's sliders: one source, several targets, each with a weight and a moment.
#include "blend_jobs.h"

#include <stdlib.h>
#include <string.h>

typedef struct Still {
    Job job;
    FaClip *clip; // one channel per shape
    FaSequence *seq;
    FaOscillator o;
    FaMaps maps;
    double moment; // of those without one of their own, and of forces
    int n;
    int *target;    // (n)
    double *weight; // (n)
    double *time;   // (n)
    float *room;    // weights of one frame      (nshape)
} Still;

// --- what is shared with candidates -------------------------------------------------------------------------------

FaCode blend_shapes(const FaRig *rig, const char *name, size_t n, int shape[FA_NAMED_MOST], int *count, FaError *err) {
    char text[200];
    if (n >= sizeof text) return cli_wrong(err, "'%.40s...' is no name of a shape", name);
    snprintf(text, sizeof text, "%.*s", (int)n, name);
    return fa_rig_shapes_named(rig, text, shape, FA_NAMED_MOST, count, err);
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

bool blend_spring_given(void) {
    return cli_given("mass") || cli_given("damping") || cli_given("stiffness") || cli_given("maps");
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

// One NAME=VALUE[@MOMENT], on all shapes that the name means.
static FaCode parse_weight(Still *s, const char *at, size_t n, FaError *err) {
    size_t name = strcspn(at, "="), end = strcspn(at, "@");
    double weight = 0, time = s->moment;
    int shape[FA_NAMED_MOST], count;
    end = end < n ? end : n;
    bool good = name < end && blend_number(at + name + 1, end - name - 1, &weight);
    if (good && end < n) good = blend_number(at + end + 1, n - end - 1, &time) && time >= 0;
    if (!good) return cli_wrong(err, "--weights takes NAME=VALUE or NAME=VALUE@MOMENT, not '%.*s'", (int)n, at);
    if (!job_is_weight(weight))
        return cli_wrong(err, "--weights: %.*s: no rig means that; 1 is a whole shape", (int)n, at);
    TRY(blend_shapes(s->job.rig, at, name, shape, &count, err));
    for (int i = 0; i < count; i++, s->n++) {
        s->target[s->n] = shape[i];
        s->weight[s->n] = weight;
        s->time[s->n] = time;
    }
    return FA_OK;
}

// "jawOpen=0.5,mouthSmileLeft=1@0.4"; moments that are not given are --time's.
static FaCode load(Job *job, FaError *err) {
    Still *s = (Still *)job;
    const char *maps = fa_params_text(cli_params, "maps");
    s->moment = 1;
    if (blend.time && (!blend_number(blend.time, strlen(blend.time), &s->moment) || s->moment < 0))
        return cli_wrong(err, "--time takes one number from 0 (source) on, not '%s'", blend.time);
    size_t room = FA_NAMED_MOST * (strlen(blend.weights) / 3 + 1); // "a=1," at least, for each
    s->target = malloc(room * sizeof *s->target);
    s->weight = malloc(room * sizeof *s->weight);
    s->time = malloc(room * sizeof *s->time);
    s->room = malloc((size_t)(job->rig->nshape + 1) * sizeof *s->room);
    if (!s->target || !s->weight || !s->time || !s->room) return cli_no_memory(err);
    for (const char *at = blend.weights; *at;) {
        size_t n = strcspn(at, ",");
        TRY(parse_weight(s, at, n, err));
        at += n + (at[n] == ',');
    }
    blend_oscillator(&s->o);
    return *maps ? fa_analytic_maps_load(maps, job->rig, &s->o, &s->maps, err) : FA_OK;
}

// Frame f of --slider on the way from the source to the moment; of one frame that is the moment. x nullable.
static FaCode pose(Still *s, int f, float *weights, float *x, FaError *err) {
    int nframe = s->clip->nframe;
    double part = nframe > 1 ? (double)f / (nframe - 1) : 1;
    float *surface = x ? x : malloc(3 * (size_t)s->job.rig->mesh.nvert * sizeof *surface);
    double *time = malloc((size_t)(s->n + 1) * sizeof *time);
    for (int i = 0; time && i < s->n; i++) time[i] = part * s->time[i];
    FaStill still = {.n = s->n,
                     .shape = s->target,
                     .weight = s->weight,
                     .moment = time,
                     .sculpt = fa_params_text(cli_params, "sculpt"),
                     .maps = &s->maps,
                     .time = part * s->moment};
    FaCode rc =
        surface && time ? fa_analytic_still(s->job.rig, &s->o, &still, weights, surface, err) : cli_no_memory(err);
    free(time);
    if (!x) free(surface);
    return rc;
}

static FaCode read_pose(void *user, int frame, float *x, FaError *err) {
    Still *s = user;
    return pose(s, frame, s->room, x, err);
}

// One frame, or --slider frames from the source to the moment; the weights go along as a clip.
static FaCode make(Job *job, FaError *err) {
    Still *s = (Still *)job;
    int nframe = blend.slider > 0 ? blend.slider : 1, nshape = job->rig->nshape;
    TRY(blend_clip_new(job->rig, nframe, &s->clip, err));
    for (int f = 0; f < nframe; f++) TRY(pose(s, f, s->clip->weight + (size_t)f * (size_t)nshape, NULL, err));
    TRY(fa_sequence_custom(job->rig->mesh.nvert, nframe, s->clip->fps, read_pose, s, &s->seq, err));
    snprintf(job->generator, sizeof job->generator, "fascia %s blend --weights %.120s", fa_version(), blend.weights);
    job->frames = s->seq;
    job->played = s->clip;
    job->last = nframe - 1;
    job->one_picture = nframe == 1;
    return FA_OK;
}

// At 0 and 1 every spring is where it must be.
static bool spring_shows(const Still *s) {
    bool shows = blend.slider > 2 || *fa_params_text(cli_params, "sculpt") || s->maps.nhandle;
    for (int i = 0; i < s->n; i++) shows |= s->time[i] != 0 && s->time[i] != 1;
    return shows;
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
    if (!spring_shows(s) && blend_spring_given())
        cli_say("note: at 0 and 1 the source and the target are met whatever the spring is; --time 0.5 shows it");
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
    free(s->room);
    fa_analytic_maps_free(&s->maps);
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
