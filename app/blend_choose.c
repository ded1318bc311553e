// fascia blend RIG --explore / --random: combinations of targets, to look at and to pick from; and --estimate.
#include "blend_jobs.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

typedef struct Choice {
    FaRig *rig;
    FaOscillator o;
    FaCandidates *candidates;
    int target[MOST], ntarget;
    double time[MOST];
    int ntime;
    uint64_t pick[MOST];
    int npick;
} Choice;

static bool parse_targets(Choice *c) {
    for (const char *at = blend.targets; *at;) {
        size_t n = strcspn(at, ",");
        if (c->ntarget == MOST) return cli_usage("--targets takes at most %d shapes", MOST), false;
        if ((c->target[c->ntarget++] = blend_shape(c->rig, at, n)) < 0) return false;
        at += n + (at[n] == ',');
    }
    return true;
}

// "0,0.5,1" or "3,17,40".
static bool parse_numbers(const char *option, const char *text, double *to, int *count) {
    for (const char *at = text; at && *at;) {
        size_t n = strcspn(at, ",");
        if (*count == MOST || !blend_number(at, n, &to[*count]) || to[*count] < 0)
            return cli_usage("--%s takes numbers from 0 on, not '%.*s'", option, (int)n, at), false;
        ++*count;
        at += n + (at[n] == ',');
    }
    return true;
}

static bool parse_picks(Choice *c) {
    double v[MOST] = {0};
    if (!parse_numbers("pick", blend.pick, v, &c->npick)) return false;
    for (int i = 0; i < c->npick; i++) {
        c->pick[i] = (uint64_t)v[i];
        if ((double)c->pick[i] != v[i]) return cli_usage("--pick takes whole numbers"), false;
    }
    return true;
}

static FaCode list(const Choice *c, FaError *err) {
    (void)err;
    uint64_t n = fa_candidates_count(c->candidates);
    for (uint64_t i = 0; i < n && !common.quiet; i++) {
        char label[400];
        fa_candidates_label(c->candidates, i, label, sizeof label);
        puts(label);
    }
    return FA_OK;
}

// The weights as a clip, one frame per candidate, so that pictures and pages move teeth and eyes along.
static FaCode make_clip(const Choice *c, FaClip **clip, FaError *err) {
    enum { MOST_FRAMES = 5000 };
    uint64_t n = fa_candidates_count(c->candidates);
    *clip = NULL;
    if (n > MOST_FRAMES) return FA_OK;
    const char **names = malloc((size_t)(c->rig->nshape + 1) * sizeof *names);
    FaCode rc = names ? FA_OK : FA_E_MEMORY;
    for (int i = 0; rc >= 0 && i < c->rig->nshape; i++) names[i] = c->rig->shape[i].name;
    if (rc >= 0) rc = fa_clip_new((int)n, c->rig->nshape, names, 30, clip, err);
    for (uint64_t i = 0; rc >= 0 && i < n; i++)
        fa_candidates_weights(c->candidates, i, (*clip)->weight + i * (uint64_t)c->rig->nshape);
    free(names);
    return rc;
}

static FaCode write_out(Choice *c, FaBakeReport *bake, FaError *err) {
    char generator[300];
    FaClip *clip = NULL;
    snprintf(generator, sizeof generator, "fascia %s blend --targets %.150s --%s %d --seed %d", fa_version(),
             blend.targets, blend.explore ? "explore" : "random", blend.explore ? blend.explore : blend.random,
             common.seed);
    if (c->npick) return fa_candidates_save(c->candidates, c->pick, c->npick, common.output, err);
    FaCode rc = make_clip(c, &clip, err);
    OutFrames frames = {.rig = c->rig,
                        .verb = "blend",
                        .seq = fa_candidates_sequence(c->candidates),
                        .clip = clip,
                        .name = "candidates",
                        .generator = generator,
                        .sheet = true};
    if (rc >= 0) rc = out_save(&frames, common.output, bake, err);
    fa_clip_free(clip);
    return rc;
}

static void report(const Choice *c, double seconds) {
    uint64_t n = fa_candidates_count(c->candidates);
    if (common.json) {
        printf("{\"candidates\":%llu,\"targets\":%d,\"moments\":%d,\"picked\":%d,\"seconds\":%.6f,\"output\":",
               (unsigned long long)n, c->ntarget, c->ntime ? c->ntime : 1, c->npick, seconds);
        if (common.output && !common.dry_run)
            cli_json_string(common.output);
        else
            printf("null");
        printf("}\n");
        return;
    }
    cli_say("%llu blended shapes of %d targets", (unsigned long long)n, c->ntarget);
    if (common.output && !common.dry_run)
        cli_say("wrote %s%s", common.output, c->npick ? "" : "; choose with --pick NUMBER,...");
}

int blend_choose(const char *rig_path) {
    static Choice c;
    FaError err = {0};
    FaBakeReport bake = {0};
    double begin = cli_seconds();
    int code = EXIT_OK;
    if (!blend_oscillator(&c.o)) return EXIT_USAGE;
    FaCode rc = load_rig(rig_path, &c.rig, &err);
    if (rc >= 0 && !(parse_targets(&c) && parse_numbers("time", blend.time, c.time, &c.ntime) && parse_picks(&c)))
        code = EXIT_USAGE;
    FaCandidateOptions opt = {.target = c.target,
                              .ntarget = c.ntarget,
                              .levels = blend.explore,
                              .raw = blend.raw,
                              .seed = (uint64_t)common.seed,
                              .draws = (uint64_t)blend.random,
                              .time = c.ntime ? c.time : NULL,
                              .ntime = c.ntime,
                              .limit = (uint64_t)blend.limit};
    if (rc >= 0 && code == EXIT_OK) rc = fa_candidates_new(c.rig, &c.o, &opt, &c.candidates, &err);
    if (rc >= 0 && code == EXIT_OK && common.output && !common.dry_run)
        rc = write_out(&c, &bake, &err);
    else if (rc >= 0 && code == EXIT_OK && !common.json)
        rc = list(&c, &err);
    cli_progress_end();
    if (rc < 0)
        code = err.code ? cli_fail(&err) : cli_usage("out of memory");
    else if (code == EXIT_OK)
        report(&c, cli_seconds() - begin);
    fa_candidates_free(c.candidates);
    fa_rig_free(c.rig);
    return code;
}

// --- estimation ---------------------------------------------------------------------------------------------------

static FaCode estimate(FaRig **rig, FaClip **clip, FaSequence **captured, const char *rig_path, const char *clip_path,
                       FaEstimate *e, FaError *err) {
    FaClipOptions copt = load_clip_options();
    FaRigOptions cache = {.unit = (FaUnit)common.unit};
    FaCode rc = load_rig(rig_path, rig, err);
    if (rc >= 0 && clip_path) rc = fa_clip_load(clip_path, &copt, clip, err);
    if (rc >= 0) rc = fa_sequence_open(blend.estimate, &cache, captured, err);
    FaEstimateOptions opt = {.per_vertex = blend.per_vertex, .progress = cli_progress};
    if (blend.mass) blend_number(blend.mass, strlen(blend.mass), &opt.mass);
    if (rc >= 0) rc = fa_analytic_estimate(*rig, *clip ? *clip : (*rig)->clip, *captured, &opt, e, err);
    cli_progress_end();
    FaMaps maps = {.vertex = e->vertex};
    if (rc >= 0 && blend.per_vertex && common.output && !common.dry_run)
        rc = fa_analytic_maps_save(&maps, *rig, common.output, err);
    return rc;
}

int blend_estimate(const char *rig_path, const char *clip_path) {
    FaError err = {0};
    FaRig *rig = NULL;
    FaClip *clip = NULL;
    FaSequence *captured = NULL;
    FaEstimate e = {0};
    char *json = NULL;
    FaCode rc = estimate(&rig, &clip, &captured, rig_path, clip_path, &e, &err);
    if (rc >= 0 && common.json) rc = fa_estimate_json(&e, &json, &err);
    int code = rc < 0 ? cli_fail(&err) : EXIT_OK;
    if (rc >= 0 && common.json)
        puts(json);
    else if (rc >= 0) {
        cli_say("mass %g, damping %g, stiffness %g: %.3f Hz (+- %.2g %%), damping ratio %.3f (+- %.2g %%)",
                e.oscillator.mass, e.oscillator.damping, e.oscillator.stiffness, e.frequency, 100 * e.frequency_error,
                e.ratio, 100 * e.ratio_error);
        cli_say("leaves %.4f mm of the %.4f mm that linear blending is off (explains %.1f %%)", e.residual_mm,
                e.linear_mm, 100 * e.explained);
        if (e.vertex) cli_say("told for %d of %d vertices", e.vertices_known, rig->mesh.nvert);
    }
    fa_free(json);
    fa_estimate_free(&e);
    fa_sequence_close(captured);
    fa_clip_free(clip);
    fa_rig_free(rig);
    return code;
}
