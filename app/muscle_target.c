// fascia muscle target: the muscles that bring a face to a pose of its shapes, to a sculpt or a scan, or to markers.
#include "jaw_poses.h"
#include "muscle_goal.h"
#include "muscle_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static Goal asked = {.neutral = -1};
static const char *snap = "none", *jaw_poses;
static int rounds, bones;
static double spring;
static bool untouched;

static const Option options[] = {
    {"weights", 0, OPT_TEXT, &asked.weights_text, "NAME=V,...", 0, 0,
     "the goal as shapes of the rig: mouthFunnel=1,jawOpen=.3"},
    {"to", 0, OPT_TEXT, &asked.to, "FILE", 0, 0,
     "the goal as a mesh: posed, with the rig's own vertices (.obj, .glb, a cache), or a scan with any others"},
    {"to-unit", 0, OPT_UNIT, &asked.to_unit, "auto|m|cm|mm|in|ft|N", 0, 0,
     "the unit of a scan (auto: by the size of a head)"},
    {"markers", 0, OPT_TEXT, &asked.markers, "TAKE", 0, 0,
     "the goal as one frame of markers, as for drive: .csv, .trc, .c3d"},
    {"frame", 0, OPT_INT, &asked.frame, "N", 0, 1e9, "of --markers, from 0"},
    {"neutral", 0, OPT_INT, &asked.neutral, "N", 0, 1e9, "frame of --markers that shows the neutral face (found)"},
    {"marker-map", 0, OPT_TEXT, &asked.map, "FILE", 0, 0, "where the markers sit, as of fascia markers (found)"},
    {"landmarks", 0, OPT_TEXT, &asked.landmarks, "V,V,...|FILE", 0, 0,
     "vertices that activations and jaw are found by: v12,v88,... or a map .json (480, far from each other)"},
    {"bones", 0, OPT_CHOICE, &bones, "held|on|limited", 0, 0,
     "on: skull and jaw are put where the flesh goes; limited: the jaw no farther than the rig's shapes take it"},
    {"jaw-poses", 0, OPT_TEXT, &jaw_poses, "FILE,...", 0, 0,
     "with --bones limited: the jaw no farther than in these: clips, .pose files, posed meshes"},
    {"rounds", 0, OPT_INT, &rounds, "N", 1, 32, "how often what is missing is given to the muscles, at most (5)"},
    {"spring", 0, OPT_NUM, &spring, "N/M4", 1e6, 1e13,
     "how firmly muscles drag the flesh: 5e10 comes closer and bends it more (5e9)"},
    {"snap", 0, OPT_TEXT, &snap, "none|all|LINES.json", 0, 0,
     "add what no muscle makes: everywhere (the result is the goal itself), or around lines that you draw"},
    {"no-contact", 0, OPT_FLAG, &untouched, NULL, 0, 0, "lips, lids and teeth pass through each other, for comparison"},
    MUSCLE_COLLIDER_OPTION,
    OUT_OPTIONS,
    LOAD_OPTIONS("map"),
    {0}};

typedef struct Target {
    Muscle m;
    Goal goal;
    float *weight; // of the snap                                                       (nvert)
    FaMuscleSnapReport snapped;
    FaMuscleTargeted found;
    FaMuscleJawLimits limits; // of --jaw-poses
    double final;             // m: farthest that the result is from the goal
} Target;

// How much of what no muscle makes is added.
static FaCode read_snap(Target *t, FaError *err) {
    const size_t n = (size_t)t->m.job.rig->mesh.nvert;
    if (strcmp(snap, "none") == 0) return FA_OK;
    if (!(t->weight = calloc(n, sizeof *t->weight))) return cli_no_memory(err);
    if (strcmp(snap, "all") != 0) return fa_muscle_snap_load(t->m.model, snap, t->weight, &t->snapped, err);
    for (size_t v = 0; v < n; v++) t->weight[v] = 1;
    t->snapped.touched = (int)n;
    return FA_OK;
}

static void measure(Target *t) {
    size_t n = (size_t)t->m.job.rig->mesh.nvert;
    for (size_t v = 0; v < n; v++) {
        double d2 = 0;
        if (t->goal.known && !t->goal.known[v]) continue;
        for (size_t i = 3 * v; i < 3 * v + 3; i++)
            d2 += ((double)t->m.x[i] - (double)t->goal.x[i]) * ((double)t->m.x[i] - (double)t->goal.x[i]);
        t->final = fmax(t->final, sqrt(d2));
    }
}

static FaCode make(Job *j, FaError *err) {
    Target *t = (Target *)j;
    const Goal *g = &t->goal;
    TRY(muscle_open(j, err));
    TRY(goal_read(&t->goal, j->rig, t->m.model, err));
    TRY(read_snap(t, err));
    if (jaw_poses) TRY(jaw_poses_read(jaw_poses, j->rig, t->m.model, &t->limits, err));
    const FaMuscleTargetOptions o = {.rounds = rounds,
                                     .spring = spring,
                                     .untouched = untouched,
                                     .snap = t->weight,
                                     .nlandmark = g->nlandmark,
                                     .landmark = g->landmark,
                                     .known = g->known,
                                     .bones = (FaMuscleBones)bones,
                                     .limits = jaw_poses ? &t->limits : NULL,
                                     .progress = cli_progress};
    if (!(t->m.x = malloc(3 * (size_t)j->rig->mesh.nvert * sizeof *t->m.x))) return cli_no_memory(err);
    TRY(fa_muscle_target(t->m.model, g->x, g->weights, &o, t->m.x, &t->m.directed, &t->found, err));
    cli_progress_end();
    measure(t);
    TRY(muscle_posed(&t->m, err));
    TRY(muscle_clip(j->rig, 1, &t->m.clip, err));
    const FaMuscleJaw jaw = {.open = fmin(t->found.open, 45)};
    if (g->weights_text)
        memcpy(t->m.clip->weight, g->weights, (size_t)j->rig->nshape * sizeof *g->weights);
    else if (t->found.open > 0.1)
        TRY(fa_muscle_jaw_weights(t->m.model, &jaw, t->m.clip->weight, err));
    j->played = t->m.clip;
    snprintf(j->generator, sizeof j->generator, "fascia %s muscle target %.400s", fa_version(), goal_name(g));
    return FA_OK;
}

static FaCode write_target(Job *j, FaError *err) {
    if (j->output && path_has_ext(j->output, "pose")) return muscle_save_pose((const Muscle *)j, err);
    if (j->output && path_has_ext(j->output, "html") && !untouched) return muscle_page_ways((Muscle *)j, NULL, err);
    return job_save_still(j, err);
}

static void say(Job *j) {
    const Target *t = (const Target *)j;
    const FaMuscleTargeted *f = &t->found;
    goal_say(&t->goal);
    cli_say("skin against the goal, rms: %.2f mm at rest, %.2f by activations, %.2f in round %d of %d; %.1f s",
            1e3 * f->neutral, 1e3 * f->rms[0], 1e3 * f->rms[f->best], f->best, f->rounds, f->seconds);
    cli_say("%d tets inside out; volume of the flesh %+.2f %%; triangles that cross: %d, at rest %d; jaw %.1f degrees",
            f->inverted, 100 * f->volume_change, t->m.crossings, t->m.crossings_rest, f->open);
    if (jaw_poses)
        cli_say("jaw, as far as those poses take it: open %.1f to %.1f degrees, forward %.1f to %.1f mm, side %.1f to "
                "%.1f mm",
                t->limits.open[0], t->limits.open[1], 1e3 * t->limits.forward[0], 1e3 * t->limits.forward[1],
                1e3 * t->limits.side[0], 1e3 * t->limits.side[1]);
    if (bones) cli_say("bones: head turned by %.2f degrees, moved by %.2f mm", f->turned, 1e3 * f->moved);
    if (t->weight && strcmp(snap, "all") != 0)
        cli_say("snap: %d vertices on lines, %d touched%s", t->snapped.line, t->snapped.touched,
                t->snapped.outside ? "; lines leave the region, and do nothing there" : "");
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
    if (bones) fa_json_number(w, "head_turn", f->turned), fa_json_number(w, "head_move_mm", 1e3 * f->moved);
    if (t->weight) fa_json_int(w, "snapped", t->snapped.touched);
    goal_json(&t->goal, w);
    fa_json_number(w, "target_seconds", f->seconds);
}

static void target_free(Job *j) {
    Target *t = (Target *)j;
    goal_free(&t->goal);
    free(t->weight);
    muscle_free(j);
}

#define COMMON                                                                                                         \
    "landmarks bones jaw-poses rounds spring snap collider no-contact hinge world cache-unit bake-error max-targets"

static int run(int argc, const char **argv) {
    (void)argc;
    if (!common.output && !common.dry_run && !common.json) return output_missing("funnel.glb");
    if ((asked.weights_text != NULL) + (asked.to != NULL) + (asked.markers != NULL) != 1)
        return cli_usage("say where to: --weights mouthFunnel=1, or --to sculpt.obj, or --markers take.csv --frame 90");
    int code = cli_only(asked.to        ? "for a sculpt or a scan"
                        : asked.markers ? "for markers"
                                        : "for shapes",
                        asked.to        ? "to to-unit " COMMON
                        : asked.markers ? "markers frame neutral marker-map " COMMON " !snap"
                                        : "weights " COMMON);
    if (code != EXIT_OK) return code;
    if (jaw_poses && bones != 2) return cli_usage("--jaw-poses goes with --bones limited");
    if (untouched && common.output && path_has_ext(common.output, "pose"))
        return cli_usage("--no-contact is for comparison: a .pose is played with lips that touch");
    Target t = {.goal = asked,
                .m = {.path = argv[0],
                      .again = true,
                      .job = {.verb = "muscle",
                              .track = "muscles",
                              .rig_path = argv[0],
                              .make = make,
                              .write = write_target,
                              .say = say,
                              .json = json,
                              .free = target_free}}};
    return job_walk(&t.m.job);
}

const Command cmd_muscle_target = {
    .name = "target",
    .line = "the muscles that bring the face to a pose of its shapes, to a sculpt, a scan or markers",
    .usage = "muscle target FACE --weights NAME=V,...|--to FILE|--markers TAKE -o OUT [options]",
    .examples =
        "  fascia muscle target head.face --weights mouthFunnel=1 -o funnel.glb         as flesh makes it\n"
        "  fascia muscle target head.face --to sculpt.obj -o near.png                   a sculpt of the same mesh\n"
        "  fascia muscle target head.face --weights jawOpen=1 --snap all -o open.glb    the sculpt itself in the end\n"
        "  fascia muscle target head.face --weights mouthSmileLeft=1,mouthSmileRight=1 -o smile.pose  to be edited\n"
        "  fascia muscle target head.face --to smile.obj --snap folds.json -o smile.glb its folds, and lips of flesh\n"
        "  fascia muscle target head.face --to scan.obj --to-unit mm --bones on -o scan.png    a scan, head turned\n"
        "  fascia muscle target head.face --to scan.obj --bones limited --jaw-poses rom.csv -o scan.pose   as far as "
        "in rom.csv\n"
        "  fascia muscle target head.face --markers take.c3d --frame 90 -o frame.glb    one frame of markers\n"
        "  fascia muscle target head.face --weights mouthPucker=1 --json                the figures alone\n",
    .notes =
        "Activations by which the face comes nearest, then rounds: what is missing is carried into the flesh, and\n"
        "muscles drag it there. Out: .glb (a morph target is added), .obj, .png, .pc2, .mdd, .usda, .html, and .pose: "
        "the\n"
        "muscles themselves, for fascia muscle pose|edit.\n",
    .options = options,
    .writes = "glb gltf vrm obj png pc2 mdd usda html pose",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
