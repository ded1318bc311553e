// fascia blend RIG --explore / --random: combinations of targets, to look at and to pick from; and --estimate.
#include "blend_jobs.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 256, MOST_FRAMES = 5000 };

static int every(void) { return blend.every > 0 ? blend.every : 1; }

typedef struct Choice {
    Job job;
    FaOscillator o;
    FaCandidates *candidates;
    FaClip *clip;
    FaSequence *seq; // those that are shown
    int target[MOST], slider[MOST], ntarget, nslider;
    char **name; // of sliders, as given         (nslider)
    double time[MOST];
    int ntime;
    uint64_t pick[MOST];
    int npick;
    uint64_t first; // candidate on the first tile
    int shown;      // of them, every --every one
    char **label;   // (shown)
} Choice;

static uint64_t number_of(const Choice *c, int i) { return c->first + (uint64_t)i * (uint64_t)every(); }

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

static FaCode load_targets(Choice *c, FaError *err) {
    c->name = split_list(blend.targets, &c->nslider);
    if (!c->name) return cli_no_memory(err);
    for (int i = 0; i < c->nslider; i++) {
        int shape[FA_NAMED_MOST], n;
        TRY(blend_shapes(c->job.rig, c->name[i], strlen(c->name[i]), shape, &n, err));
        if (c->ntarget + n > MOST) return cli_wrong(err, "--targets takes at most %d shapes", MOST);
        for (int k = 0; k < n; k++, c->ntarget++) c->target[c->ntarget] = shape[k], c->slider[c->ntarget] = i;
    }
    return FA_OK;
}

static FaCode load(Job *job, FaError *err) {
    Choice *c = (Choice *)job;
    double pick[MOST] = {0};
    blend_oscillator(&c->o);
    TRY(load_targets(c, err));
    TRY(parse_numbers("time", blend.time, c->time, &c->ntime, err));
    TRY(parse_numbers("pick", blend.pick, pick, &c->npick, err));
    for (int i = 0; i < c->npick; i++) {
        c->pick[i] = (uint64_t)pick[i];
        if ((double)c->pick[i] != pick[i]) return cli_wrong(err, "--pick takes whole numbers");
    }
    return FA_OK;
}

static FaCode read_candidate(void *user, int frame, float *x, FaError *err) {
    Choice *c = user;
    return fa_sequence_read(fa_candidates_sequence(c->candidates), (int)number_of(c, frame), x, err);
}

// Which candidates are shown: every --every one; of a picture one page of them.
static FaCode choose_shown(Choice *c, FaError *err) {
    uint64_t n = (fa_candidates_count(c->candidates) + (uint64_t)every() - 1) / (uint64_t)every();
    uint64_t page = blend.page > 0 ? (uint64_t)blend.page : 1, tiles = blend.tiles > 0 ? (uint64_t)blend.tiles : 60,
             pages = (n + tiles - 1) / tiles, rest = n;
    if (path_has_ext(c->job.output, "png")) {
        if (page > pages)
            return cli_wrong(err, "--page %d: there are %d pages of %d tiles", (int)page, (int)pages, (int)tiles);
        c->first = (page - 1) * tiles * (uint64_t)every();
        rest = n - (page - 1) * tiles;
        if (rest > tiles) rest = tiles;
        if (pages > 1)
            cli_say(
                "note: page %d of %d: %d of %llu candidates; --page N shows others, --every N fewer, --tiles N more "
                "at once",
                (int)page, (int)pages, (int)rest, (unsigned long long)fa_candidates_count(c->candidates));
    }
    c->shown = (int)rest;
    return FA_OK;
}

// "17: jawOpen 0.50, t 0.20" in lines of a tile's width.
static void wrap(char *text) {
    size_t line = 0;
    char *gap = NULL;
    for (char *at = text; *at; at++, line++) {
        if (*at == ' ' && (at[-1] == ',' || at[-1] == ':')) gap = at;
        if (line >= 30 && gap) *gap = '\n', line = (size_t)(at - gap), gap = NULL;
    }
}

static FaCode make_labels(Choice *c, FaError *err) {
    bool tiles = path_has_ext(c->job.output, "png");
    c->label = calloc((size_t)c->shown + 1, sizeof *c->label);
    if (!c->label) return cli_no_memory(err);
    for (int i = 0; i < c->shown; i++) {
        char text[1000];
        fa_candidates_label(c->candidates, number_of(c, i), text, sizeof text);
        if (tiles) wrap(text);
        if (!(c->label[i] = strdup(text))) return cli_no_memory(err);
    }
    if (tiles) c->job.captions = (const char *const *)c->label;
    if (path_has_ext(c->job.output, "html")) c->job.labels = (const char *const *)c->label;
    return FA_OK;
}

// The weights go along as a clip, one frame per candidate, so that pictures and pages move teeth and eyes too.
static FaCode make(Job *job, FaError *err) {
    Choice *c = (Choice *)job;
    FaCandidateOptions opt = {.target = c->target,
                              .ntarget = c->ntarget,
                              .slider = c->slider,
                              .name = (const char *const *)c->name,
                              .levels = blend.explore,
                              .raw = blend.raw,
                              .seed = (uint64_t)common.seed,
                              .draws = (uint64_t)blend.random,
                              .time = c->ntime ? c->time : NULL,
                              .ntime = c->ntime,
                              .limit = (uint64_t)blend.limit};
    TRY(fa_candidates_new(job->rig, &c->o, &opt, &c->candidates, err));
    snprintf(job->generator, sizeof job->generator, "fascia %s blend --targets %.150s --%s %d --seed %d", fa_version(),
             blend.targets, blend.explore ? "explore" : "random", blend.explore ? blend.explore : blend.random,
             common.seed);
    if (!output_wanted() || c->npick) return FA_OK;
    TRY(choose_shown(c, err));
    TRY(fa_sequence_custom(job->rig->mesh.nvert, c->shown, 0, read_candidate, c, &c->seq, err));
    job->frames = c->seq;
    job->last = c->shown - 1;
    if (c->shown > MOST_FRAMES) return FA_OK;
    TRY(make_labels(c, err));
    TRY(blend_clip_new(job->rig, c->shown, &c->clip, err));
    for (int i = 0; i < c->shown; i++)
        fa_candidates_weights(c->candidates, number_of(c, i), c->clip->weight + (size_t)i * (size_t)job->rig->nshape);
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
    for (uint64_t i = 0; i < n && !output_wanted() && !common.quiet; i += (uint64_t)every()) {
        char label[1000];
        fa_candidates_label(c->candidates, i, label, sizeof label);
        puts(label);
    }
    bool at_end = true;
    for (int i = 0; i < c->ntime; i++) at_end &= c->time[i] == 0 || c->time[i] == 1;
    if (at_end && blend_spring_given())
        cli_say("note: at 0 and 1 the source and the mixture are met whatever the spring is; --time 0.5 shows it");
    cli_say("%llu blended shapes of %d targets%s", (unsigned long long)n, c->nslider,
            output_wanted() && !c->npick ? "; choose with --pick NUMBER,..." : "");
}

static void json_candidate(const FaCandidates *c, uint64_t i, FaJsonWriter *w) {
    double weight[MOST];
    int order[MOST], n = fa_candidates_sliders(c);
    char label[1000];
    fa_candidates_label(c, i, label, sizeof label);
    fa_candidates_mixture(c, i, weight, order);
    fa_json_begin(w, NULL, '{');
    fa_json_int(w, "number", (int64_t)i);
    fa_json_text(w, "label", label);
    fa_json_number(w, "moment", fa_candidates_time(c, i));
    fa_json_begin(w, "weights", '{');
    for (int t = 0; t < n; t++) fa_json_number(w, fa_candidates_slider(c, t), weight[t]);
    fa_json_end(w);
    fa_json_begin(w, "order", '[');
    for (int t = 0; t < n && blend.random; t++) fa_json_int(w, NULL, order[t]);
    fa_json_end(w);
    fa_json_end(w);
}

static void json(Job *job, FaJsonWriter *w) {
    const Choice *c = (const Choice *)job;
    uint64_t n = fa_candidates_count(c->candidates);
    fa_json_int(w, "candidates", (int64_t)n);
    fa_json_int(w, "targets", c->nslider);
    fa_json_int(w, "moments", c->ntime ? c->ntime : 1);
    fa_json_int(w, "picked", c->npick);
    fa_json_begin(w, "list", '[');
    for (uint64_t i = 0; i < n && !common.dry_run; i += (uint64_t)every()) json_candidate(c->candidates, i, w);
    fa_json_end(w);
}

static void choice_free(Job *job) {
    Choice *c = (Choice *)job;
    fa_clip_free(c->clip);
    fa_sequence_close(c->seq);
    fa_candidates_free(c->candidates);
    for (int i = 0; c->label && i < c->shown; i++) free(c->label[i]);
    free(c->label);
    free(c->name);
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

// --- sliders ------------------------------------------------------------------------------------------------------

// The neutral, twice: what moves there is the page's own.
static FaCode make_sliders(Job *job, FaError *err) {
    Choice *c = (Choice *)job;
    TRY(blend_clip_new(job->rig, 1, &c->clip, err));
    TRY(fa_sequence_of_clip(job->rig, c->clip, &c->seq, err));
    snprintf(job->generator, sizeof job->generator, "fascia %s blend --targets %.150s", fa_version(), blend.targets);
    job->frames = c->seq;
    job->played = c->clip;
    return FA_OK;
}

static FaCode write_sliders(Job *job, FaError *err) {
    const Choice *c = (const Choice *)job;
    FaPageSlider slider[MOST];
    for (int i = 0, t = 0; i < c->nslider; i++) {
        slider[i] = (FaPageSlider){.name = c->name[i], .shape = &c->target[t]};
        for (; t < c->ntarget && c->slider[t] == i; t++) slider[i].nshape++;
    }
    const FaPageTrack track[] = {{.name = "linear", .note = "weight times t", .seq = c->seq, .clip = c->clip},
                                 {.name = "forces", .note = "m, c, k", .seq = c->seq, .clip = c->clip}};
    const FaPagePair pair = {.name = "Sliders",
                             .sentence =
                                 "Pull t: both faces begin in the neutral and end in the target; what is between "
                                 "is the spring's.",
                             .after = 1};
    const FaPageOptions opt = {.title = "fascia blend",
                               .facts = job->generator,
                               .pairs = &pair,
                               .npairs = 1,
                               .sliders = slider,
                               .nsliders = c->nslider,
                               .mass = c->o.mass,
                               .damping = c->o.damping,
                               .stiffness = c->o.stiffness,
                               .progress = cli_progress};
    return job->output ? fa_page_save(job->output, job->rig, track, 2, &opt, err) : FA_OK;
}

static void say_sliders(Job *job) {
    cli_say("sliders of %d targets: open the page and pull them", ((const Choice *)job)->nslider);
}

int blend_sliders(const char *rig_path) {
    Choice c = {.job = {.verb = "blend",
                        .doctor = true,
                        .track = "sliders",
                        .rig_path = rig_path,
                        .load = load,
                        .make = make_sliders,
                        .write = write_sliders,
                        .say = say_sliders,
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
