// fascia bench: figures, with accuracy beside speed.
#include "bench/bench.h"
#include "job.h"

#include <string.h>

static const char *clip_path;

static const Option options[] = {{"clip", 0, OPT_TEXT, &clip_path, "CLIP", 0, 0,
                                  "play this clip (default: the rig's own animation, or a made-up one)"},
                                 LOAD_OPTIONS("map"),
                                 {0}};

static int run(int argc, const char **argv) {
    FaError err = {0};
    FaRig *rig = NULL;
    FaClip *clip = NULL;
    char *json = NULL;
    int code = cli_only(argc > 1 ? "in a benchmark" : "in a benchmark without a rig",
                        argc > 1 ? "clip fps hinge head-units joint head-smooth !output !dry-run !force"
                                 : "clip fps head-units joint head-smooth !rig !output !dry-run !force");
    if (code != EXIT_OK) return code;
    if ((argc > 1 && load_rig(argv[1], &rig, &err) < 0) || (clip_path && load_clip(clip_path, &clip, &err) < 0) ||
        fa_bench(argc > 0 ? argv[0] : "blend", rig, clip, &json, &err) < 0)
        code = cli_fail(&err);
    else
        puts(json);
    fa_free(json);
    fa_clip_free(clip);
    fa_rig_free(rig);
    return code;
}

const Command cmd_bench = {
    .name = "bench",
    .line = "measure speed and accuracy, beside other ways to do the same",
    .usage = "bench [NAME] [RIG] [options]",
    .examples = "  fascia bench blend                            a made-up rig of production size\n"
                "  fascia bench blend head.glb --clip clip.csv   your rig and clip\n"
                "  fascia bench svd --threads 1                  one kernel, on one thread\n",
    .notes = "Prints one JSON object: rows with milliseconds and accuracy, ratios where larger is better for fascia.\n",
    .options = options,
    .min_args = 0,
    .max_args = 2,
    .run = run,
};
