// fascia muscle edit: tracks of muscles moved and retimed, activations and jaw set; the flesh follows.
#include "muscle_page.h"

#include <stdlib.h>

static const char *edits, *curves, *on_face;
static double spring;
static int show;

static const Option options[] = {
    {"edits", 0, OPT_TEXT, &edits, "EDITS.json", 0, 0,
     "what is changed: {\"edits\": [{\"muscle\": \"inc_*\", \"move\": {\"medial\": 8}}]}"},
    {"curves", 0, OPT_TEXT, &curves, "CURVES.json", 0, 0,
     "activation by length, of fascia muscle list --curves, for \"activation\": \"length\" (found)"},
    {"spring", 0, OPT_NUM, &spring, "N/M4", 1e6, 1e13,
     "how firmly muscles drag the flesh along their tracks: 5e10 is firm (as the pose has it: 5e9)"},
    {"on", 0, OPT_TEXT, &on_face, "FACE", 0, 0, "the face of the pose, where that is not where the pose says"},
    {"show", 0, OPT_CHOICE, &show, "skin|muscles", 0, 0, ".png: the skin, or the muscles under transparent skin"},
    MUSCLE_COLLIDER_OPTION,
    OUT_OPTIONS,
    LOAD_OPTIONS("map"),
    {0}};

typedef struct Edit {
    Muscle m; // directed: the pose as edited
    FaDirected *before;
} Edit;

static FaCode make(Job *j, FaError *err) {
    Edit *e = (Edit *)j;
    Muscle *m = &e->m;
    TRY(muscle_open(j, err));
    if (curves) TRY(fa_muscle_curves_load(m->model, curves, err));
    e->before = m->directed, m->directed = NULL;
    TRY(fa_directed_edit_file(m->model, e->before, edits, &m->directed, err));
    if (spring > 0) fa_directed_spring(m->directed, spring);
    snprintf(j->generator, sizeof j->generator, "fascia %s muscle edit --edits %.400s", fa_version(), edits);
    return muscle_play_pose(m, 1, err);
}

static FaCode write(Job *j, FaError *err) {
    Muscle *m = (Muscle *)j;
    if (j->output && path_has_ext(j->output, "pose")) return muscle_save_pose(m, err);
    if (show && j->output && path_has_ext(j->output, "png"))
        return fa_muscle_picture(m->model, false, 0, j->generator, j->output, err);
    if (j->output && path_has_ext(j->output, "html")) return muscle_page_ways(m, ((Edit *)j)->before, err);
    return job_save_still(j, err);
}

static void edit_free(Job *j) {
    fa_directed_free(((Edit *)j)->before);
    muscle_free(j);
}

static int run(int argc, const char **argv) {
    (void)argc;
    if (!common.output && !common.dry_run && !common.json) return output_missing("better.pose");
    if (!edits) return cli_usage("say what to change: --edits edits.json (docs/guide/muscle.md)");
    if (!path_has_ext(argv[0], "pose"))
        return cli_usage("%s is no .pose: make one with fascia muscle target|pose ... -o x.pose", argv[0]);
    int code =
        cli_only("for an edit", "collider edits curves spring on show hinge world cache-unit bake-error max-targets");
    if (code != EXIT_OK) return code;
    if (show && !(common.output && path_has_ext(common.output, "png"))) return cli_usage("--show goes with -o OUT.png");
    Edit e = {.m = {.again = true,
                    .job = {.verb = "muscle",
                            .track = "muscles",
                            .make = make,
                            .write = write,
                            .say = muscle_say,
                            .json = muscle_json,
                            .free = edit_free}}};
    FaError err = {0};
    if (muscle_load_pose(&e.m, argv[0], on_face, &err) < 0) {
        fa_directed_free(e.m.directed);
        return cli_fail(&err);
    }
    code = job_walk(&e.m.job);
    return code == EXIT_OK && (e.m.stalled || e.m.crossings > e.m.crossings_rest) ? EXIT_CONVERGE : code;
}

const Command cmd_muscle_edit = {
    .name = "edit",
    .line = "change a pose: tracks of its muscles, activations, jaw; the flesh follows",
    .usage = "muscle edit POSE --edits EDITS.json -o OUT [options]",
    .examples = "  fascia muscle edit smile.pose --edits lips.json -o better.pose               to be edited further\n"
                "  fascia muscle edit smile.pose --edits lips.json -o better.glb                as flesh makes it\n"
                "  fascia muscle edit narrow.pose --edits lips.json --spring 5e10 -o narrow.png  dragged more firmly\n"
                "  fascia muscle edit smile.pose --edits lips.json -o look.html                 before and after, step "
                "by step\n",
    .notes = "lips.json: {\"unit\": \"mm\", \"edits\": [\n"
             "  {\"muscle\": \"inc_*\", \"u\": 1, \"move\": {\"medial\": 8}, \"falloff\": \"linear\", \"key\": 1},\n"
             "  {\"muscle\": \"zyg_maj.L\", \"activation\": \"length\"}, {\"jaw\": {\"open\": 6}}]}\n"
             "u: 0 origin, 1 insertion. Directions: medial, lateral, up, down, forward, back. key: at which part of "
             "the way.\n"
             "Out: .pose, .glb (a morph target is added), .obj, .png, .pc2, .mdd, .usda, .html.\n",
    .options = options,
    .writes = "pose glb gltf vrm obj png pc2 mdd usda html",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
