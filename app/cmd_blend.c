// fascia blend: closed-form dynamics. A clip gains inertia and damping; a still is blended at a moment; combinations
// are shown to choose from; mass, damping and stiffness are found from a capture.
#include "blend_jobs.h"

BlendOptions blend;

static const Option options[] = {
    {"weights", 0, OPT_TEXT, &blend.weights, "NAME=V,...", 0, 0,
     "a still picture or mesh: these shapes at these strengths; NAME=V@T gives one its own --time"},
    {"time", 0, OPT_TEXT, &blend.time, "T[,T...]", 0, 0,
     "how far on the way from neutral (0) to the target (1); several with --explore and --random (1)"},
    {"slider", 0, OPT_INT, &blend.slider, "N", 2, 100000, "with --weights: N frames on the way there"},
    {"explore", 0, OPT_INT, &blend.explore, "LEVELS", 2, 1000,
     "all mixtures of --targets, each shape at so many strengths"},
    {"random", 0, OPT_INT, &blend.random, "N", 1, 1000000, "N random mixtures of --targets (--seed decides which)"},
    {"targets", 0, OPT_TEXT, &blend.targets, "NAME,...", 0, 0,
     "the shapes to mix; alone, with -o page.html: sliders for them"},
    {"raw", 0, OPT_FLAG, &blend.raw, NULL, 0, 0,
     "keep the strengths as they are; without it they are divided by their sum"},
    {"limit", 0, OPT_INT, &blend.limit, "N", 1, 2147483647, "refuse to make more mixtures than this (1000000)"},
    {"pick", 0, OPT_TEXT, &blend.pick, "I,J,...", 0, 0,
     "write the mixtures with these numbers into the rig, as new shapes"},
    {"every", 0, OPT_INT, &blend.every, "N", 1, 1000000, "show every N-th mixture only (1)"},
    {"tiles", 0, OPT_INT, &blend.tiles, "N", 1, 2000, ".png: so many mixtures on a sheet (60)"},
    {"page", 0, OPT_INT, &blend.page, "N", 1, 1000000, ".png: which sheet of them, from 1 on (1)"},
    {"estimate", 0, OPT_TEXT, &blend.estimate, "CAPTURED", 0, 0,
     "find the spring from captured frames of the same performance"},
    {"per-vertex", 0, OPT_FLAG, &blend.per_vertex, NULL, 0, 0,
     "with --estimate: a spring for each vertex; write it with -o maps.json"},
    {"head-motion", 0, OPT_TEXT, &blend.head, "F", 0, 0, "the same as --head"},
    OUT_OPTIONS,
    CHECK_OPTION,
    LOAD_OPTIONS("map"),
    {0}};

static int blend_clip(const char *rig_path, const char *clip_path) {
    return job_walk(&(Job){.verb = "blend",
                           .doctor = true,
                           .track = "analytic",
                           .rig_path = rig_path,
                           .clip_path = clip_path,
                           .no_clip = "a CLIP, or --weights",
                           .make = job_play,
                           .simulated = true});
}

// What acts in each way to work; the rest is refused by name.
#define STILL "mass damping stiffness fps cache-unit bake-error max-targets"
static int check_options(bool clip) {
    if (blend.weights) return cli_only("with --weights", STILL " weights time slider maps sculpt");
    if (blend.explore) return cli_only("with --explore", STILL " explore targets time raw limit pick every tiles page");
    if (blend.random) return cli_only("with --random", STILL " random targets time limit pick seed every tiles page");
    if (blend.targets) return cli_only("for a page of sliders", "targets mass damping stiffness");
    if (blend.estimate) return cli_only("with --estimate", "estimate per-vertex mass regions fps head-units joint");
    return cli_only(clip ? "for a clip" : "for an animation",
                    "preset frequency ratio mass damping stiffness head head-motion gravity rate maps sculpt regions "
                    "world cache-unit "
                    "bake-error max-targets check fps frames loop-motion head-units joint head-smooth");
}

static int run(int argc, const char **argv) {
    FaError err = {0};
    const char *clip = argc > 1 ? argv[1] : NULL;
    int modes = (blend.weights != NULL) + (blend.explore > 0) + (blend.random > 0) + (blend.estimate != NULL);
    if (modes > 1) return cli_usage("choose one of --weights, --explore, --random and --estimate");
    bool chosen = blend.explore > 0 || blend.random > 0,
         page = blend.targets && !modes && common.output && path_has_ext(common.output, "html");
    if (!page && chosen != (blend.targets != NULL))
        return cli_usage(
            "--targets goes with --explore or --random; alone it makes a page of sliders: -o sliders.html");
    if (blend.pick && !chosen) return cli_usage("--pick goes with --explore or --random");
    if (blend.slider > 0 && !blend.weights) return cli_usage("--slider goes with --weights");
    bool sheet = common.output && path_has_ext(common.output, "png") && !blend.pick;
    if ((blend.tiles || blend.page) && !sheet) return cli_usage("--tiles and --page are of a sheet: -o sheet.png");
    if (blend.every && blend.pick)
        return cli_usage("--every shows fewer mixtures, --pick writes some: give one of them");
    if (blend.per_vertex && !blend.estimate) return cli_usage("--per-vertex goes with --estimate");
    if (blend.time && modes == 0) return cli_usage("--time goes with --weights, --explore or --random");
    if (!common.output && !blend.estimate && !blend.explore && !blend.random && !common.dry_run)
        return output_missing("out.glb");
    int rc = check_options(clip != NULL);
    if (rc != EXIT_OK) return rc;
    if (blend.pick && !common.output) return cli_usage("--pick writes a rig: add -o more.glb");
    if (blend.head && cli_given("head")) return cli_usage("--head and --head-motion are the same: give one of them");
    if (blend.head && fa_params_set(cli_params, "head", blend.head, &err) < 0) return cli_fail(&err);
    if (blend.estimate) return blend_estimate(argv[0], clip);
    if (clip && page) return cli_usage("a page of sliders plays no clip: leave out %s", clip);
    if (clip && modes) return cli_usage("--weights, --explore and --random make stills: leave out %s", clip);
    if (blend.weights) return blend_still(argv[0]);
    if (blend.targets) return page ? blend_sliders(argv[0]) : blend_choose(argv[0]);
    return blend_clip(argv[0], clip);
}

const Command cmd_blend = {
    .name = "blend",
    .line = "soft motion without simulation: every shape is a weight on a spring",
    .usage = "blend RIG [CLIP] -o OUT [options]",
    .examples =
        "  fascia blend head.glb clip.csv -o out.glb --preset jelly                     a clip that wobbles\n"
        "  fascia blend head.glb clip.csv -o compare.html --frequency 4 --ratio 0.3     before and after\n"
        "  fascia blend head.glb --weights mouthSmileLeft=1,jawOpen=0.4@0.5 --time 0.8 -o still.png\n"
        "  fascia blend head.glb --targets jawOpen,cheekPuff,mouthPucker --explore 3 -o sheet.png\n"
        "  fascia blend head.glb --targets jawOpen,cheekPuff,mouthPucker --explore 4 --tiles 32 --page 2 -o more.png\n"
        "  fascia blend head.glb --targets jawOpen,cheekPuff,mouthPucker --explore 3 -o pick.html   pick by a click\n"
        "  fascia blend head.glb --targets jawOpen,cheekPuff,mouthPucker --explore 3 --pick 3,17 -o more.glb\n"
        "  fascia blend head.glb --targets jawOpen,cheekPuff -o sliders.html       pull at time, mass, damping\n"
        "  fascia blend head.glb clip.csv --estimate captured.pc2 --json                the spring of a capture\n",
    .notes =
        "Out: .glb .gltf .pc2 .mdd .usda, name_####.obj, .html; pictures .png .mp4 .gif; stills also .obj, clips also\n"
        ".csv .json. Without CLIP the rig's own animation is played. Stills start from mass 1.5, damping 8 and\n"
        "stiffness 10. Guide: docs/guide/blend.md\n",
    .options = options,
    .writes = "glb gltf vrm pc2 mdd usda obj html png mp4 m4v mov gif csv json",
    .method = "analytic",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
