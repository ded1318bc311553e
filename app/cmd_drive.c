// fascia drive: the flesh of a face follows a clip: inertia, volume, lips that press and stick.
#include "simulate.h"

static const Option options[] = {OUT_OPTIONS, LOAD_OPTIONS, {0}};

static int run(int argc, const char **argv) {
    if (!common.output && !common.dry_run && !common.json) return cli_usage("where to? give -o OUT");
    FaError err = {0};
    if (common.seed && fa_params_set_number(cli_params, "seed", common.seed, &err) < 0) return cli_fail(&err);
    return simulate_clip(&(Simulation){.verb = "drive",
                                       .method = "projective",
                                       .rig_path = argv[0],
                                       .clip_path = argc > 1 ? argv[1] : NULL,
                                       .params = cli_params,
                                       .slow = true,
                                       .no_clip = "a CLIP"});
}

const Command cmd_drive = {
    .name = "drive",
    .line = "flesh in real time: inertia, volume, lip contact, sticky lips",
    .usage = "drive RIG [CLIP] -o OUT [options]",
    .examples = "  fascia drive head.glb take.csv -o out.glb                 a take with flesh, in your own file\n"
                "  fascia drive head.glb take.csv -o compare.html            beside linear blending, in a browser\n"
                "  fascia build head.glb -o head.face                        once; look at its report, paint, keep it\n"
                "  fascia drive head.glb take.csv --face head.face -o out.pc2 --shear 2000 --sticky off\n",
    .notes = "Out: .glb .gltf .pc2 .mdd .usda, name_####.obj, .html; pictures .png .mp4 .gif.\n"
             "Without CLIP the rig's own animation is played. docs/projective.md has the equations and what to turn.\n",
    .options = options,
    .method = "projective",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
