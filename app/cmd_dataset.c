// fascia dataset: samples to train a network with.
#include "dataset_team.h"
#include "job.h"
#include "outputs.h"

#include <stdlib.h>
#include <string.h>

static int ids, poses, level = -1;
static const char *physics, *set, *source, *identities, *clips, *shard;

static const Option options[] = {
    {"ids", 0, OPT_INT, &ids, "N", 1, 1000000, "how many people"},
    {"poses", 0, OPT_INT, &poses, "N", 1, 100000, "how many poses of each (10)"},
    {"physics", 0, OPT_TEXT, &physics, "limited|paper|muscle|METHOD", 0, 0,
     "what the network shall learn: limited, flesh within what your shapes show; paper, the article's; muscle; or any "
     "method by its name (limited)"},
    {"set", 0, OPT_TEXT, &set, "NAME=V,...", 0, 0, "parameters of that method, by the names it has in its own verb"},
    {"source", 0, OPT_TEXT, &source, "head|RIG", 0, 0,
     "whose faces: the parametric head's, or those of your own model: its neutral with its shapes (head)"},
    {"identities", 0, OPT_TEXT, &identities, "FILE,...|DIR", 0, 0,
     "with a RIG: the modes that make people of it, as meshes of the same vertices"},
    {"level", 0, OPT_INT, &level, "N", 0, 2, "with head: 0 is coarse and fast, 2 is fine (0)"},
    {"clips", 0, OPT_TEXT, &clips, "FILE,...", 0, 0,
     "recordings to take poses from, e.g. Live Link takes (default: the clips of fascia head)"},
    {"shard", 0, OPT_TEXT, &shard, "K/N", 0, 0,
     "make the K-th of N equal shares, for batch queues; all into one folder"},
    LOAD_OPTIONS("map"),
    {0}};

typedef struct DatasetJob {
    Job job;
    FaDatasetOptions o;
    FaRigOptions rig;
    FaParams *params;
    char **identity, **clip;
    char command[1024];
    FaDatasetReport report;
    FaDatasetEstimate estimate;
} DatasetJob;

// --- what is asked for ---------------------------------------------------------------------------------------------

static bool has_param(const char *method, const char *name) {
    for (const FaParamInfo *p = fa_method_params(method); p && p->name; p++)
        if (!strcmp(p->name, name)) return true;
    return false;
}

static FaCode set_params(FaParams *params, FaError *err) {
    int n;
    char **item = split_list(set, &n);
    FaCode rc = FA_OK;
    for (int i = 0; item && i < n && rc >= 0; i++) {
        char *value = strchr(item[i], '=');
        if (!value) {
            rc = cli_wrong(err, "--set takes NAME=VALUE,..., not '%s'", item[i]);
            break;
        }
        *value++ = 0;
        rc = fa_params_set(params, item[i], value, err);
    }
    free(item);
    return rc;
}

// limited and paper are two ways of one method.
static FaCode choose_physics(DatasetJob *d, FaError *err) {
    const char *name = physics ? physics : "limited";
    bool way = !strcmp(name, "limited") || !strcmp(name, "paper");
    d->o.method = way ? "volumetric" : name;
    if (!fa_method_help(d->o.method)) return cli_wrong(err, "--physics %s: there is no such method", name);
    TRY(fa_params_new(d->o.method, &d->params, err));
    if (way && has_param(d->o.method, "physics"))
        TRY(fa_params_set(d->params, "physics", name, err));
    else if (!strcmp(name, "paper"))
        return cli_wrong(err, "--physics paper: this program has none");
    // what touches is parted in every frame after the network: it is not what a network should learn
    if (way) TRY(fa_params_set(d->params, "contact", "off", err));
    d->o.params = d->params;
    return set_params(d->params, err);
}

static FaCode choose_share(DatasetJob *d, FaError *err) {
    char rest;
    if (!shard) return FA_OK;
    int n = sscanf(shard, "%d/%d%c", &d->o.share, &d->o.shares, &rest);
    if (n != 2 || d->o.shares < 1 || d->o.share < 1 || d->o.share > d->o.shares)
        return cli_wrong(err, "--shard takes K/N with K from 1 to N, not '%s'", shard);
    return FA_OK;
}

static void write_command(char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "fascia");
    for (char *const *a = cli_arguments() + 1; *a && at < size; a++)
        at += (size_t)snprintf(text + at, size - at, " %s", *a);
}

static bool show(void *user, const FaDatasetReport *now, int people) {
    const DatasetJob *d = user;
    char words[64] = "";
    double seconds = cli_seconds() - d->job.begin, left = people - now->people;
    if (now->made > 0 && seconds > 0) {
        double each = seconds / now->made, rate = now->made * d->o.poses / seconds;
        snprintf(words, sizeof words, left * each > 120 ? "%.1f poses/s, %.0f min left" : "%.1f poses/s, %.0f s left",
                 rate, left * each > 120 ? left * each / 60 : left * each);
    }
    cli_progress_words("people", people ? (double)now->people / people : 1, words);
    return true;
}

static FaCode make(Job *j, FaError *err) {
    DatasetJob *d = (DatasetJob *)j;
    d->o = fa_dataset_options_default();
    d->rig = load_rig_options();
    d->identity = split_list(identities, &d->o.nidentity);
    d->clip = split_list(clips, &d->o.nclip);
    if ((identities && !d->identity) || (clips && !d->clip)) return cli_no_memory(err);
    write_command(d->command, sizeof d->command);
    if (source) d->o.source = source;
    d->o.identity = (const char *const *)d->identity;
    d->o.clips = (const char *const *)d->clip;
    d->o.rig = &d->rig;
    d->o.level = level < 0 ? 0 : level;
    d->o.seed = (uint64_t)common.seed;
    d->o.ids = ids;
    if (poses) d->o.poses = poses;
    d->o.command = d->command;
    d->o.team = dataset_team;
    d->o.progress = show;
    d->o.progress_user = d;
    TRY(choose_physics(d, err));
    TRY(choose_share(d, err));
    if (common.dry_run) {
        TRY(fa_dataset_estimate(&d->o, &d->estimate, err));
        job_note(j, &d->estimate.notes);
        return FA_OK;
    }
    outputs_resume = "people that are finished are kept, and the same command goes on from there";
    TRY(fa_dataset_make(j->output, &d->o, &d->report, err));
    job_note(j, &d->report.notes);
    return FA_OK;
}

// --- what came out -------------------------------------------------------------------------------------------------

static void say_estimate(const FaDatasetEstimate *e) {
    cli_say("%d people, %d poses each, %d vertices; %d clips with %d frames to take poses from", ids,
            poses ? poses : 10, e->vertices, e->nclip, e->frames);
    cli_say("one person's face takes %.2f s of processor time, a pose %.0f ms (%d tried, %d dropped)", e->setup,
            1e3 * e->sample, e->tried, e->dropped);
    cli_say("all: about %.3g min on %d cores that have nothing else to do, %.3g MB", e->seconds / 60, e->workers,
            1e-6 * e->bytes);
}

static void say(Job *j) {
    const DatasetJob *d = (const DatasetJob *)j;
    const FaDatasetReport *r = &d->report;
    if (common.dry_run) {
        say_estimate(&d->estimate);
        return;
    }
    cli_say("%d people, %lld samples of %d vertices, %lld poses dropped%s", r->people, (long long)r->samples,
            r->vertices, (long long)r->dropped, r->made < r->people ? " (some were there already)" : "");
    for (int i = 0; i < FA_DROPS; i++)
        if (r->drop[i]) cli_say("  %lld %s", (long long)r->drop[i], fa_drop_name((FaDrop)i));
    if (r->made > 0)
        cli_say("%d people made in %.1f s: %.2f poses per second, %.0f ms of processor time each, faces included",
                r->made, r->seconds, r->made * d->o.poses / r->seconds, 1e3 * r->busy / (r->made * d->o.poses));
    if (r->whole)
        cli_say("hash %016llx", (unsigned long long)r->hash);
    else
        cli_say("the other shares are not all there yet");
}

static void json(Job *j, FaJsonWriter *w) {
    const DatasetJob *d = (const DatasetJob *)j;
    const FaDatasetReport *r = &d->report;
    char hash[32];
    if (common.dry_run) {
        fa_json_number(w, "setup_ms", 1e3 * d->estimate.setup);
        fa_json_number(w, "sample_ms", 1e3 * d->estimate.sample);
        fa_json_number(w, "seconds_needed", d->estimate.seconds);
        fa_json_number(w, "bytes", d->estimate.bytes);
        fa_json_int(w, "vertices", d->estimate.vertices);
        return;
    }
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)r->hash);
    fa_json_int(w, "samples", r->samples);
    fa_json_int(w, "dropped", r->dropped);
    fa_json_text(w, "hash", r->whole ? hash : NULL);
    fa_json_int(w, "people", r->people);
    fa_json_int(w, "made", r->made);
    fa_json_begin(w, "why", '{');
    for (int i = 0; i < FA_DROPS; i++) fa_json_int(w, fa_drop_name((FaDrop)i), r->drop[i]);
    fa_json_end(w);
    fa_json_int(w, "vertices", r->vertices);
    fa_json_number(w, "bytes", r->bytes);
    fa_json_number(w, "poses_per_second", r->seconds > 0 ? r->made * d->o.poses / r->seconds : 0);
    fa_json_number(w, "core_ms_per_pose", r->made ? 1e3 * r->busy / (r->made * d->o.poses) : 0);
}

static void dataset_free(Job *j) {
    DatasetJob *d = (DatasetJob *)j;
    fa_params_free(d->params);
    free(d->identity);
    free(d->clip);
    fa_notes_free(&d->report.notes);
    fa_notes_free(&d->estimate.notes);
}

static int run(int argc, const char **argv) {
    (void)argc, (void)argv;
    DatasetJob d = {.job = {.verb = "dataset", .make = make, .say = say, .json = json, .free = dataset_free}};
    int code = cli_only("for samples", "ids poses physics set source identities level clips shard seed");
    if (code != EXIT_OK) return code;
    if (!common.output && !common.dry_run) return cli_usage("say where the samples go: -o DIR");
    if (!ids) return cli_usage("say of how many people: --ids N");
    if (level >= 0 && source && strcmp(source, "head")) return cli_usage("--level is of the parametric head");
    if (identities && (!source || !strcmp(source, "head")))
        return cli_usage("--identities goes with --source RIG, the model that they are modes of");
    if ((code = dataset_team_join()) != EXIT_OK) return code;
    if (dataset_team && dataset_team->rank > 0) common.quiet = true, common.json = false;
    return job_walk(&d.job);
}

const Command cmd_dataset = {
    .name = "dataset",
    .line = "samples to train a network with: many people, many poses, what a physics does to them",
    .usage = "dataset -o DIR --ids N [options]",
    .examples =
        "  fascia dataset -o data --ids 60 --dry-run                         what it would take\n"
        "  fascia dataset -o data --ids 60 --poses 10                        60 people, 10 poses each\n"
        "  fascia dataset -o data --ids 500 --clips take1.csv,take2.csv      poses from your own recordings\n"
        "  fascia dataset -o mine --source neutral.obj --identities modes/ --ids 200    your own morphable model\n"
        "  mpirun -n 4 fascia dataset -o data --ids 500                      on several machines\n"
        "  fascia dataset -o data --ids 500 --shard 3/16                     one of 16 jobs of a batch queue\n",
    .notes = "A stopped run goes on when it is started again; other parameters in the same folder are refused. The\n"
             "samples do not depend on threads, processes or restarts. Guide: docs/guide/neural.md\n",
    .options = options,
    .shared = true,
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
