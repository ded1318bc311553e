// fascia fit-skulls: how deep the skull lies below a skin, learnt from your own pairs of both.
#include "job.h"

#include <stdlib.h>

static const char *on, *skulls_path;
static int components;
static double least;
static bool no_check;

static const Option options[] = {
    {"on", 0, OPT_TEXT, &on, "RIG", 0, 0, "use it: the depths below this skin, as a paint file for fascia build"},
    {"skulls", 0, OPT_TEXT, &skulls_path, "FILE.skulls", 0, 0, "with --on: what was learnt"},
    {"components", 0, OPT_INT, &components, "N", 1, 256, "principal components of skins and of depths, at most (12)"},
    {"floor", 0, OPT_NUM, &least, "MM", 0.05, 50, "no skull comes nearer to the skin (1.5)"},
    {"no-check", 0, OPT_FLAG, &no_check, NULL, 0, 0, "do not leave each pair out in turn to see how good it is"},
    LOAD_OPTIONS("map"),
    {0}};

static FaCode use(FaError *err) {
    FaSkulls *s = NULL;
    FaRig *rig = NULL;
    FaCode rc = fa_skulls_load(skulls_path, &s, err);
    if (rc >= 0) rc = load_rig(on, &rig, err);
    if (rc >= 0) rc = fa_skulls_paint(s, rig, common.output, err);
    if (rc >= 0) cli_say("wrote %s: fascia build %s --paint %s", common.output, on, common.output);
    fa_rig_free(rig);
    fa_skulls_free(s);
    return rc;
}

static FaCode load_pair(const char *path, FaRig **rig, FaFace **face, FaError *err) {
    FaFaceOptions o = fa_face_options_default();
    o.whole = true;
    TRY(load_rig(path, rig, err));
    return fa_face_build(*rig, &o, face, err);
}

static void say(const FaSkullsReport *r) {
    cli_say("%d pairs, %d vertices, %d components; the depth varies by %.2f mm (one standard deviation)", r->pairs,
            r->vertices, r->components, r->spread_mm);
    if (!no_check)
        cli_say("left out in turn: %.3f mm off, the worst %.3f; guessing the mean of the others: %.3f", r->left_out_mm,
                r->worst_mm, r->mean_mm);
    cli_say("on the pairs themselves: %.3f mm off", r->fit_mm);
}

static FaCode fit(int n, const char **path, FaError *err) {
    FaRig **rig = calloc((size_t)n, sizeof *rig);
    FaFace **face = calloc((size_t)n, sizeof *face);
    FaSkulls *s = NULL;
    FaSkullsReport r = {0};
    const FaSkullsOptions o = {.components = components, .floor = 1e-3 * least, .no_check = no_check};
    FaCode rc = rig && face ? FA_OK : cli_no_memory(err);
    for (int i = 0; i < n && rc >= 0; i++) {
        cli_progress(NULL, "pairs", (double)i / n);
        rc = load_pair(path[i], &rig[i], &face[i], err);
    }
    cli_progress_end();
    if (rc >= 0) rc = fa_skulls_fit(n, (const FaRig *const *)rig, (const FaFace *const *)face, &o, &s, &r, err);
    if (rc >= 0) rc = fa_skulls_save(s, common.output, err);
    if (rc >= 0) say(&r);
    fa_skulls_free(s);
    for (int i = 0; i < n && rig && face; i++) {
        fa_face_free(face[i]);
        fa_rig_free(rig[i]);
    }
    free(rig);
    free(face);
    return rc;
}

static int run(int argc, const char **argv) {
    FaError err = {0};
    int code = on ? cli_only("with --on", "on skulls") : cli_only("for a fit", "components floor no-check");
    if (code != EXIT_OK) return code;
    if (!common.output) return cli_usage("say where it goes: -o FILE.skulls, or -o paint.json with --on");
    if (on && (!skulls_path || argc)) return cli_usage("with --on give --skulls FILE.skulls, and no pairs");
    if (!on && argc < 3) return cli_usage("give 3 files at least, each a skin with its skull or jaw");
    return (on ? use(&err) : fit(argc, argv, &err)) < 0 ? cli_fail(&err) : EXIT_OK;
}

const Command cmd_fit_skulls = {
    .name = "fit-skulls",
    .line = "how deep the skull lies below a skin, learnt from your own pairs of both",
    .usage = "fit-skulls HEAD HEAD HEAD ... -o FILE.skulls",
    .examples = "  fascia fit-skulls scans/*.glb -o adults.skulls                      heads that have bones\n"
                "  fascia fit-skulls --on new.glb --skulls adults.skulls -o new.json   a head that has none\n"
                "  fascia build new.glb --paint new.json -o new.face                   and its face\n",
    .notes = "All skins have the same vertices in the same order. Each pair is left out in turn and guessed from the\n"
             "others, beside the guess that everybody is the mean.\n",
    .options = options,
    .min_args = 0,
    .max_args = 4096,
    .run = run,
};
