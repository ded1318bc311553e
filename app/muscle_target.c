// fascia muscle target: the muscles that bring a face to a pose of its shapes, or to a sculpt.
#include "muscle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *weights_text, *to;
static int rounds, snap;
static double spring;
static bool untouched;

static const Option options[] = {
    {"weights", 0, OPT_TEXT, &weights_text, "NAME=V,...", 0, 0,
     "the goal as shapes of the rig: mouthFunnel=1,jawOpen=.3"},
    {"to", 0, OPT_TEXT, &to, "FILE", 0, 0,
     "the goal as a posed mesh with the rig's own vertices: .obj, .glb, first frame of a cache"},
    {"rounds", 0, OPT_INT, &rounds, "N", 1, 32, "how often what is missing is given to the muscles, at most (5)"},
    {"spring", 0, OPT_NUM, &spring, "N/M4", 1e6, 1e13,
     "how firmly muscles drag the flesh: 5e10 comes closer and bends it more (5e9)"},
    {"snap", 0, OPT_CHOICE, &snap, "none|all", 0, 0,
     "all: add what no muscle makes, so that the result is the goal itself"},
    {"no-contact", 0, OPT_FLAG, &untouched, NULL, 0, 0, "lips, lids and teeth pass through each other, for comparison"},
    OUT_OPTIONS,
    LOAD_OPTIONS("map"),
    {0}};

typedef struct Target {
    Muscle m;
    float *goal, *weights; // (nvert x 3), (nshape)
    FaMuscleTargeted found;
    double final; // m: farthest that the result is from the goal
} Target;

static FaCode read_goal(Target *t, FaError *err) {
    const FaRig *rig = t->m.job.rig;
    t->goal = malloc(3 * (size_t)rig->mesh.nvert * sizeof *t->goal);
    t->weights = calloc((size_t)rig->nshape + 1, sizeof *t->weights);
    if (!t->goal || !t->weights) return cli_no_memory(err);
    if (weights_text) {
        TRY(job_weights(rig, weights_text, t->weights, err));
        fa_rig_blend(rig, t->weights, t->goal);
        return FA_OK;
    }
    FaSequence *seq = NULL;
    FaCode rc = open_frames(to, rig, &seq, err);
    if (rc >= 0 && fa_sequence_nvert(seq) != rig->mesh.nvert)
        rc = cli_wrong(err, "%s has %d vertices, the rig %d: give a pose of the same mesh", to, fa_sequence_nvert(seq),
                       rig->mesh.nvert);
    if (rc >= 0) rc = fa_sequence_read(seq, 0, t->goal, err);
    fa_sequence_close(seq);
    return rc;
}

// What is written: where the flesh is, or the goal.
static void finish(Target *t) {
    size_t n = (size_t)t->m.job.rig->mesh.nvert;
    if (snap) memcpy(t->m.x, t->goal, 3 * n * sizeof *t->goal);
    for (size_t v = 0; v < n; v++) {
        double d2 = 0;
        for (size_t i = 3 * v; i < 3 * v + 3; i++)
            d2 += ((double)t->m.x[i] - (double)t->goal[i]) * ((double)t->m.x[i] - (double)t->goal[i]);
        t->final = fmax(t->final, sqrt(d2));
    }
}

static FaCode make(Job *j, FaError *err) {
    Target *t = (Target *)j;
    const FaMuscleTargetOptions o = {
        .rounds = rounds, .spring = spring, .untouched = untouched, .progress = cli_progress};
    TRY(read_goal(t, err));
    TRY(muscle_open(j, err));
    if (!(t->m.x = malloc(3 * (size_t)j->rig->mesh.nvert * sizeof *t->m.x))) return cli_no_memory(err);
    TRY(fa_muscle_target(t->m.model, t->goal, weights_text ? t->weights : NULL, &o, t->m.x, &t->found, err));
    cli_progress_end();
    finish(t);
    TRY(muscle_posed(&t->m, err));
    TRY(muscle_clip(j->rig, 1, &t->m.clip, err));
    const FaMuscleJaw jaw = {.open = fmin(t->found.open, 45)};
    if (weights_text)
        memcpy(t->m.clip->weight, t->weights, (size_t)j->rig->nshape * sizeof *t->weights);
    else if (t->found.open > 0.1)
        TRY(fa_muscle_jaw_weights(t->m.model, &jaw, t->m.clip->weight, err));
    j->played = t->m.clip;
    snprintf(j->generator, sizeof j->generator, "fascia %s muscle target %.400s", fa_version(),
             weights_text ? weights_text : to);
    return FA_OK;
}

static void say(Job *j) {
    const Target *t = (const Target *)j;
    const FaMuscleTargeted *f = &t->found;
    cli_say("skin against the goal, rms: %.2f mm at rest, %.2f by activations, %.2f in round %d of %d; %.1f s",
            1e3 * f->neutral, 1e3 * f->rms[0], 1e3 * f->rms[f->best], f->best, f->rounds, f->seconds);
    cli_say("%d tets inside out; volume of the flesh %+.2f %%; triangles that cross: %d, at rest %d; jaw %.1f degrees",
            f->inverted, 100 * f->volume_change, t->m.crossings, t->m.crossings_rest, f->open);
    for (int i = 0; i < fa_muscle_count(t->m.model); i++)
        if (f->activation[i] >= 0.1) cli_say("  %-34s %.2f", fa_muscle_info(t->m.model, i).name, f->activation[i]);
    if (t->m.crossings > t->m.crossings_rest + 10)
        cli_say("warning: skin passes through skin (%d pairs of triangles, %d at rest): fewer --rounds, or a softer "
                "--spring",
                t->m.crossings, t->m.crossings_rest);
}

static void json(Job *j, FaJsonWriter *w) {
    const Target *t = (const Target *)j;
    const FaMuscleTargeted *f = &t->found;
    fa_json_number(w, "neutral_rms_mm", 1e3 * f->neutral);
    fa_json_begin(w, "snap_rms_mm", '[');
    for (int i = 0; i <= f->rounds; i++) fa_json_number(w, NULL, 1e3 * f->rms[i]);
    fa_json_end(w);
    fa_json_int(w, "best", f->best);
    fa_json_number(w, "final_mm", 1e3 * t->final);
    fa_json_int(w, "inverted", f->inverted);
    fa_json_int(w, "intersections", t->m.crossings);
    fa_json_int(w, "intersections_rest", t->m.crossings_rest);
    fa_json_number(w, "volume_change", f->volume_change);
    fa_json_number(w, "jaw_open", f->open);
    fa_json_begin(w, "activations", '{');
    for (int i = 0; i < fa_muscle_count(t->m.model); i++)
        fa_json_number(w, fa_muscle_info(t->m.model, i).name, f->activation[i]);
    fa_json_end(w);
    fa_json_number(w, "target_seconds", f->seconds);
}

static void target_free(Job *j) {
    Target *t = (Target *)j;
    free(t->goal);
    free(t->weights);
    muscle_free(j);
}

static int run(int argc, const char **argv) {
    (void)argc;
    if (!common.output && !common.dry_run && !common.json) return output_missing("funnel.glb");
    if (!weights_text == !to) return cli_usage("say where to: --weights mouthFunnel=1, or --to sculpt.obj");
    int code = cli_only("for a target",
                        "weights to rounds spring snap no-contact hinge world cache-unit bake-error max-targets");
    if (code != EXIT_OK) return code;
    Target t = {.m = {.path = argv[0],
                      .again = true,
                      .job = {.verb = "muscle",
                              .track = "muscles",
                              .rig_path = argv[0],
                              .make = make,
                              .write = job_save_still,
                              .say = say,
                              .json = json,
                              .free = target_free}}};
    return job_walk(&t.m.job);
}

const Command cmd_muscle_target = {
    .name = "target",
    .line = "the muscles that bring the face to a pose of its shapes, or to a sculpt",
    .usage = "muscle target FACE --weights NAME=V,...|--to FILE -o OUT [options]",
    .examples =
        "  fascia muscle target head.face --weights mouthFunnel=1 -o funnel.glb         as flesh makes it\n"
        "  fascia muscle target head.face --to sculpt.obj -o near.png                   a sculpt of the same mesh\n"
        "  fascia muscle target head.face --weights jawOpen=1 --snap all -o open.glb    the sculpt itself in the end\n"
        "  fascia muscle target head.face --weights mouthPucker=1 --json                the figures alone\n",
    .notes =
        "Activations by which the face comes nearest, then rounds: what is missing is carried into the flesh, and\n"
        "muscles drag it there. Out: .glb (a morph target is added), .obj, .png, .pc2, .mdd, .usda, .html.\n",
    .options = options,
    .writes = "glb gltf vrm obj png pc2 mdd usda html",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
