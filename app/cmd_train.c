// fascia train: a network from the samples of fascia dataset.
#include "job.h"

#include "fascia/neural_train.h"
#include "outputs.h"

#include <string.h>

static FaTrainOptions given;

#define ROW(name, kind, field, arg, min, max, help)                                                                    \
    { name, 0, kind, &given.field, arg, min, max, help }
static const Option options[] = {
    ROW("steps", OPT_INT, steps, "N", 1, 1e8, "steps of learning (10000)"),
    ROW("hidden", OPT_INT, hidden, "N", 1, 4096, "width of each hidden layer (256)"),
    ROW("layers", OPT_INT, layers, "N", 1, 7, "how many of them (3)"),
    ROW("components", OPT_INT, components, "N", 1, 1024, "morph targets that corrections are made of (192)"),
    ROW("inputs", OPT_INT, inputs, "N", 1, 1024, "components that a pose is seen by (64)"),
    ROW("neutrals", OPT_INT, neutrals, "N", 1, 1024, "components that a person is seen by (32)"),
    ROW("batch", OPT_INT, batch, "N", 1, 8192, "samples per step (128)"),
    ROW("rate", OPT_NUM, rate, "X", 1e-9, 1, "rate of Adam at the start (0.002); the article's: 0.0001"),
    ROW("last-rate", OPT_NUM, last, "X", 1e-9, 1, "rate at the end, falling evenly (0.00002); the article's: 0.00005"),
    ROW("decay", OPT_NUM, decay, "X", 0, 10, "how much weights shrink, times the rate (0)"),
    ROW("lips", OPT_NUM, lips, "X", 1e-3, 1e3, "how many times more lips and lids weigh than the rest (4)"),
    ROW("hold-identities", OPT_NUM, hold_identities, "SHARE", 0.001, 0.6, "people kept for the test (0.1)"),
    ROW("hold-clips", OPT_TEXT, hold_clips, "A,B", 0, 0,
        "recordings kept for the test (by lot: one in four; \"\": none)"),
    ROW("curve", OPT_OUT, curve, "FILE.svg", 0, 0, "a picture of how it learnt"),
    ROW("fresh", OPT_FLAG, fresh, NULL, 0, 0, "begin anew where an interrupted run could go on"),
    {0}};
#undef ROW

typedef struct TrainJob {
    Job job;
    const char *dir;
    FaTrainReport report;
} TrainJob;

static const char *const ways[] = {"network", "ridge", "nothing"};
static const char *const parts[] = {"learnt from", "new people", "new people and clips"};

// What decides the network but for the samples, which the file names by their key.
static void command_of(char *text, size_t size) {
    const FaTrainOptions *o = &given;
    size_t at = (size_t)snprintf(text, size, "fascia " FA_VERSION_TEXT " train --seed %d", common.seed);
    const struct {
        const char *name;
        double value;
    } list[] = {{"steps", o->steps},           {"hidden", o->hidden}, {"layers", o->layers},
                {"components", o->components}, {"inputs", o->inputs}, {"neutrals", o->neutrals},
                {"batch", o->batch},           {"rate", o->rate},     {"last-rate", o->last},
                {"decay", o->decay},           {"lips", o->lips},     {"hold-identities", o->hold_identities}};
    for (size_t i = 0; i < sizeof list / sizeof *list && at < size; i++)
        if (list[i].value != 0) at += (size_t)snprintf(text + at, size - at, " --%s %g", list[i].name, list[i].value);
    if (o->hold_clips && at < size) snprintf(text + at, size - at, " --hold-clips %s", o->hold_clips);
}

static FaCode make(Job *j, FaError *err) {
    TrainJob *t = (TrainJob *)j;
    static char made[512];
    if (common.dry_run) return FA_OK;
    command_of(made, sizeof made);
    given.seed = common.seed;
    given.made = made;
    given.progress = cli_progress;
    outputs_resume = "the same command goes on from some seconds ago";
    return fa_train(t->dir, j->output, &given, &t->report, err);
}

static FaCode write(Job *j, FaError *err) { return (void)j, (void)err, FA_OK; }

static void say_spread(const char *where, const FaTrainSpread *s) {
    cli_say("    %-5s mean %.4f  p95 %.4f  p99 %.4f  max %.3f mm", where, s->mean, s->p95, s->p99, s->max);
}

static void say(Job *j) {
    const FaTrainReport *r = &((TrainJob *)j)->report;
    if (common.dry_run) return;
    cli_say("%d samples of %d people; %d learnt from%s, %d people and %d of %d clips (%s) kept for the test",
            r->samples, r->identities, r->used, r->mirrored ? " (mirror images included)" : "", r->held, r->held_clips,
            r->clips, r->held_clips ? r->held_names : "none");
    cli_say(
        "%d components of corrections, %d of differences, %d of neutrals; step %d of %d was best: %.4f mm where it is "
        "chosen",
        r->components, r->inputs, r->neutrals, r->best, r->steps, r->chosen);
    for (int p = 0; p < FA_TRAIN_PARTS; p++) {
        if (!r->error[0][p].samples) continue;
        cli_say("%s, %d samples:", parts[p], r->error[0][p].samples);
        for (int w = 0; w < FA_TRAIN_WAYS; w++) {
            const FaTrainFigures *f = &r->error[w][p];
            cli_say("  %s", ways[w]);
            say_spread("all", &f->all);
            if (f->lips.max > 0) say_spread("lips", &f->lips);
            if (f->lids.max > 0) say_spread("lids", &f->lids);
        }
    }
    cli_say("%.2f MB, %.0f s", 1e-6 * (double)r->bytes, r->seconds);
}

static void json_spread(FaJsonWriter *w, const char *key, const FaTrainSpread *s) {
    fa_json_begin(w, key, '{');
    fa_json_number(w, "mean", s->mean);
    fa_json_number(w, "p95", s->p95);
    fa_json_number(w, "p99", s->p99);
    fa_json_number(w, "max", s->max);
    fa_json_end(w);
}

static void json(Job *j, FaJsonWriter *w) {
    static const char *const key[] = {"error", "ridge", "zero"}, *const part[] = {"train", "identities", "clips"};
    const FaTrainReport *r = &((TrainJob *)j)->report;
    if (common.dry_run) return;
    fa_json_int(w, "samples", r->samples);
    fa_json_int(w, "used", r->used);
    fa_json_bool(w, "mirrored", r->mirrored);
    fa_json_int(w, "people", r->identities);
    fa_json_int(w, "held_people", r->held);
    fa_json_text(w, "held_clips", r->held_names);
    fa_json_int(w, "steps", r->steps);
    fa_json_int(w, "best_step", r->best);
    fa_json_number(w, "chosen", r->chosen);
    fa_json_int(w, "begun_at", r->begun);
    fa_json_int(w, "components", r->components);
    for (int way = 0; way < FA_TRAIN_WAYS; way++) { // mm
        fa_json_begin(w, key[way], '{');
        for (int p = 0; p < FA_TRAIN_PARTS; p++) {
            const FaTrainFigures *f = &r->error[way][p];
            fa_json_begin(w, part[p], '{');
            fa_json_int(w, "samples", f->samples);
            json_spread(w, "all", &f->all);
            json_spread(w, "lips", &f->lips);
            json_spread(w, "lids", &f->lids);
            fa_json_end(w);
        }
        fa_json_end(w);
    }
    fa_json_number(w, "basis", r->basis);
    fa_json_int(w, "bytes", (int64_t)r->bytes);
}

static int run(int argc, const char **argv) {
    (void)argc;
    TrainJob t = {.dir = argv[0], .job = {.verb = "train", .make = make, .write = write, .say = say, .json = json}};
    int code =
        cli_only("for a network", "steps hidden layers components inputs neutrals batch rate last-rate decay lips "
                                  "hold-identities hold-clips curve fresh seed !rig");
    if (code != EXIT_OK) return code;
    if (!common.output) return output_missing("face.net");
    return job_walk(&t.job);
}

const Command cmd_train = {
    .name = "train",
    .line = "teach a network what a physics does, from the samples of fascia dataset",
    .usage = "train DIR -o OUT.net [options]",
    .examples = "  fascia train data -o face.net                          the network, and how far off it is\n"
                "  fascia train data -o face.net --curve learnt.svg       with a picture of how it learnt\n"
                "  fascia train data -o fast.net --steps 2000 --hidden 128 --components 64    smaller, sooner\n",
    .notes =
        "People and recordings that are kept for the test choose nothing. The figures stand beside ridge regression\n"
        "and no correction at all. A run that was stopped goes on with the same command, and gives the same bytes.\n"
        "Guide: docs/guide/neural.md\n",
    .options = options,
    .writes = "net svg",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
