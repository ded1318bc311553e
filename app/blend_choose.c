// fascia blend RIG --explore / --random: combinations of targets, to look at and to pick from; and --estimate.
#include "blend_jobs.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 256, MOST_FRAMES = 5000 };

typedef struct Choice {
    Job job;
    FaOscillator o;
    FaCandidates *candidates;
    FaClip *clip;
    int target[MOST], ntarget;
    double time[MOST];
    int ntime;
    uint64_t pick[MOST];
    int npick;
} Choice;

// "0,0.5,1" or "3,17,40".
static FaCode parse_numbers(const char *option, const char *text, double *to, int *count, FaError *err) {
    for (const char *at = text; at && *at; ++*count) {
        size_t n = strcspn(at, ",");
        if (*count == MOST || !blend_number(at, n, &to[*count]) || to[*count] < 0)
            return cli_wrong(err, "--%s takes numbers from 0 on, not '%.*s'", option, (int)n, at);
        at += n + (at[n] == ',');
    }
    return FA_OK;
}

static FaCode load(Job *job, FaError *err) {
    Choice *c = (Choice *)job;
    double pick[MOST] = {0};
    blend_oscillator(&c->o);
    for (const char *at = blend.targets; *at; c->ntarget++) {
        size_t n = strcspn(at, ",");
        if (c->ntarget == MOST) return cli_wrong(err, "--targets takes at most %d shapes", MOST);
        TRY(blend_shape(job->rig, at, n, &c->target[c->ntarget], err));
        at += n + (at[n] == ',');
    }
    TRY(parse_numbers("time", blend.time, c->time, &c->ntime, err));
    TRY(parse_numbers("pick", blend.pick, pick, &c->npick, err));
    for (int i = 0; i < c->npick; i++) {
        c->pick[i] = (uint64_t)pick[i];
        if ((double)c->pick[i] != pick[i]) return cli_wrong(err, "--pick takes whole numbers");
    }
    return FA_OK;
}

// The weights go along as a clip, one frame per candidate, so that pictures and pages move teeth and eyes too.
static FaCode make(Job *job, FaError *err) {
    Choice *c = (Choice *)job;
    FaCandidateOptions opt = {.target = c->target,
                              .ntarget = c->ntarget,
                              .levels = blend.explore,
                              .raw = blend.raw,
                              .seed = (uint64_t)common.seed,
                              .draws = (uint64_t)blend.random,
                              .time = c->ntime ? c->time : NULL,
                              .ntime = c->ntime,
                              .limit = (uint64_t)blend.limit};
    TRY(fa_candidates_new(job->rig, &c->o, &opt, &c->candidates, err));
    uint64_t n = fa_candidates_count(c->candidates);
    snprintf(job->generator, sizeof job->generator, "fascia %s blend --targets %.150s --%s %d --seed %d", fa_version(),
             blend.targets, blend.explore ? "explore" : "random", blend.explore ? blend.explore : blend.random,
             common.seed);
    if (!output_wanted() || c->npick) return FA_OK;
    job->frames = fa_candidates_sequence(c->candidates);
    job->last = fa_sequence_nframe(job->frames) - 1;
    if (n > MOST_FRAMES) return FA_OK;
    TRY(blend_clip_new(job->rig, (int)n, &c->clip, err));
    for (uint64_t i = 0; i < n; i++)
        fa_candidates_weights(c->candidates, i, c->clip->weight + i * (uint64_t)job->rig->nshape);
    job->played = c->clip;
    return FA_OK;
}

static FaCode write(Job *job, FaError *err) {
    const Choice *c = (const Choice *)job;
    if (!job->output) return FA_OK;
    return c->npick ? fa_candidates_save(c->candidates, c->pick, c->npick, job->output, err) : job_save(job, err);
}

static void say(Job *job) {
    const Choice *c = (const Choice *)job;
    uint64_t n = fa_candidates_count(c->candidates);
    for (uint64_t i = 0; i < n && !output_wanted() && !common.quiet; i++) {
        char label[400];
        fa_candidates_label(c->candidates, i, label, sizeof label);
        puts(label);
    }
    cli_say("%llu blended shapes of %d targets%s", (unsigned long long)n, c->ntarget,
            output_wanted() && !c->npick ? "; choose with --pick NUMBER,..." : "");
}

static void json(Job *job, FaJsonWriter *w) {
    const Choice *c = (const Choice *)job;
    fa_json_int(w, "candidates", (int64_t)fa_candidates_count(c->candidates));
    fa_json_int(w, "targets", c->ntarget);
    fa_json_int(w, "moments", c->ntime ? c->ntime : 1);
    fa_json_int(w, "picked", c->npick);
}

static void choice_free(Job *job) {
    Choice *c = (Choice *)job;
    fa_clip_free(c->clip);
    fa_candidates_free(c->candidates);
}

int blend_choose(const char *rig_path) {
    Choice c = {.job = {.verb = "blend",
                        .doctor = true,
                        .track = "candidates",
                        .rig_path = rig_path,
                        .load = load,
                        .make = make,
                        .write = write,
                        .say = say,
                        .json = json,
                        .free = choice_free}};
    return job_walk(&c.job);
}

// --- estimation ---------------------------------------------------------------------------------------------------

typedef struct Estimate {
    Job job;
    FaSequence *captured;
    FaEstimate e;
    char *json;
} Estimate;

static FaCode estimate(Job *job, FaError *err) {
    Estimate *s = (Estimate *)job;
    FaEstimateOptions opt = {.per_vertex = blend.per_vertex, .progress = cli_progress};
    opt.everywhere = !(fa_params_get(cli_params, "regions") > 0);
    if (cli_given("mass")) opt.mass = fa_params_get(cli_params, "mass");
    TRY(open_frames(blend.estimate, job->rig, &s->captured, err));
    TRY(fa_analytic_estimate(job->rig, job->clip, s->captured, &opt, &s->e, err));
    return fa_estimate_json(&s->e, &s->json, err);
}

static FaCode write_maps(Job *job, FaError *err) {
    FaMaps maps = {.vertex = ((Estimate *)job)->e.vertex};
    return blend.per_vertex && job->output ? fa_analytic_maps_save(&maps, job->rig, job->output, err) : FA_OK;
}

static void say_estimate(Job *job) {
    const FaEstimate *e = &((Estimate *)job)->e;
    cli_say("mass %g, damping %g, stiffness %g: %.3f Hz (+- %.2g %%), damping ratio %.3f (+- %.2g %%)",
            e->oscillator.mass, e->oscillator.damping, e->oscillator.stiffness, e->frequency, 100 * e->frequency_error,
            e->ratio, 100 * e->ratio_error);
    cli_say("leaves %.4f mm of the %.4f mm that linear blending is off (explains %.1f %%)", e->residual_mm,
            e->linear_mm, 100 * e->explained);
    if (e->vertex) cli_say("told for %d of %d vertices", e->vertices_known, job->rig->mesh.nvert);
}

static void json_estimate(Job *job, FaJsonWriter *w) { fa_json_members(w, ((Estimate *)job)->json); }

static void estimate_free(Job *job) {
    Estimate *s = (Estimate *)job;
    fa_free(s->json);
    fa_estimate_free(&s->e);
    fa_sequence_close(s->captured);
}

int blend_estimate(const char *rig_path, const char *clip_path) {
    if (common.output && !blend.per_vertex)
        return cli_usage("--estimate writes the maps of --per-vertex only: leave -o out, or add --per-vertex");
    Estimate s = {.job = {.verb = "blend",
                          .doctor = true,
                          .rig_path = rig_path,
                          .clip_path = clip_path,
                          .no_clip = "the CLIP that was captured",
                          .make = estimate,
                          .write = write_maps,
                          .say = say_estimate,
                          .json = json_estimate,
                          .free = estimate_free}};
    return job_walk(&s.job);
}
