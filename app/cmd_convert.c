// fascia convert: any format in, any format out, nothing lost on the way.
#include "load.h"

#include <string.h>
#include <strings.h>

static const char *rig_path, *clip_path;
static double bake_error = 0.05;
static int max_targets = 512;
static bool world;

static const Option options[] = {
    {"rig", 0, OPT_TEXT, &rig_path, "FILE", 0, 0, "the rig a point cache belongs to (for .glb, .usda, .obj)"},
    {"clip", 0, OPT_TEXT, &clip_path, "FILE", 0, 0, "play this clip on the rig"},
    {"bake-error", 0, OPT_NUM, &bake_error, "MM", 1e-6, 1000, "largest error of motion baked into a .glb (0.05)"},
    {"max-targets", 0, OPT_INT, &max_targets, "N", 1, 2000, "at most this many morph targets added to a .glb (512)"},
    {"world", 0, OPT_FLAG, &world, NULL, 0, 0, "point caches in world space: the head's motion applied"},
    LOAD_OPTIONS,
    {0}};

static bool has_ext(const char *path, const char *ext) {
    const char *dot = strrchr(path, '.');
    return dot && !strcasecmp(dot + 1, ext);
}
static bool is_clip_out(const char *path) { return has_ext(path, "csv") || has_ext(path, "json"); }
static bool is_frames_out(const char *path) {
    return has_ext(path, "pc2") || has_ext(path, "mdd") || strchr(path, '#') != NULL;
}

static void say_notes(const FaNotes *notes) {
    for (int i = 0; i < notes->count; i++) {
        const FaNote *n = &notes->note[i];
        cli_say("note: %s%s%s%s%s%s", n->where, n->where[0] ? ": " : "", n->text, n->remedy[0] ? " (" : "", n->remedy,
                n->remedy[0] ? ")" : "");
    }
}

static int report(const char *out, int frames, double seconds, const FaBakeReport *bake) {
    if (common.json) {
        printf("{\"output\":");
        cli_json_string(out);
        printf(",\"frames\":%d,\"seconds\":%.6f,\"bake\":{\"targets\":%d,\"max_mm\":%.9g,\"mean_mm\":%.9g,\"bytes\":%"
               "zu}}\n",
               frames, seconds, bake->targets, bake->max_mm, bake->mean_mm, bake->bytes);
        return EXIT_OK;
    }
    if (common.dry_run)
        cli_say("would write %s", out);
    else
        cli_say("wrote %s", out);
    if (bake->targets) cli_say("baked %d morph targets, largest error %.4f mm", bake->targets, bake->max_mm);
    return EXIT_OK;
}

// The clip to play: --clip, resampled or cut as asked. *clip stays NULL when there is none.
static FaCode load_clip(FaClip **clip, const char *path, FaError *err) {
    FaClipOptions opt = load_clip_options();
    FaCode rc = fa_clip_load(path, &opt, clip, err);
    if (rc >= 0) say_notes(&(*clip)->notes);
    return rc;
}

static int convert_clip(const char *in, const char *out) {
    FaError err = {0};
    FaClip *clip = NULL, *cut = NULL;
    int first, last, code = EXIT_OK;
    if (!is_clip_out(out))
        return cli_usage("%s holds a clip: write .csv or .json, or use --clip %s with a rig", in, in);
    double t0 = cli_seconds();
    if (load_clip(&clip, in, &err) < 0) return cli_fail(&err);
    if (!cli_frames(clip->nframe, &first, &last))
        code = EXIT_USAGE;
    else if (fa_clip_slice(clip, first, last, &cut, &err) < 0)
        code = cli_fail(&err);
    else if (!common.dry_run && fa_clip_save(cut, out, &err) < 0)
        code = cli_fail(&err);
    else
        code = report(out, cut->nframe, cli_seconds() - t0, &(FaBakeReport){0});
    fa_clip_free(cut);
    fa_clip_free(clip);
    return code;
}

// Write frames: the whole sequence, or the range asked for, in the head's frame or the world's.
static int save_frames(FaSequence *seq, const FaRig *rig, const FaClip *clip, const char *out) {
    FaError err = {0};
    FaSequence *cut = NULL, *moved = NULL;
    FaBakeReport bake = {0};
    FaClip *clip_cut = NULL;
    int first, last, code = EXIT_OK;
    double t0 = cli_seconds();
    if (!cli_frames(fa_sequence_nframe(seq), &first, &last)) return EXIT_USAGE;
    FaSequence *from = seq;
    if (world && clip && clip->head) {
        if (fa_sequence_world(from, rig, clip, &moved, &err) < 0) return cli_fail(&err);
        from = moved;
    }
    if (fa_sequence_slice(from, first, last, &cut, &err) < 0) code = cli_fail(&err);
    if (code == EXIT_OK && clip && clip->nframe == fa_sequence_nframe(seq) &&
        fa_clip_slice(clip, first, last, &clip_cut, &err) < 0)
        code = cli_fail(&err);
    if (code == EXIT_OK && !common.dry_run) {
        // a cache may not know its rate: the clip it belongs to does
        double fps = common.fps > 0             ? common.fps
                     : fa_sequence_fps(seq) > 0 ? fa_sequence_fps(seq)
                     : clip                     ? clip->fps
                                                : 0;
        FaSinkOptions opt = {.rig = rig,
                             .clip = clip_cut ? clip_cut : clip,
                             .fps = fps,
                             .start = clip_cut ? clip->time[first] : fa_sequence_time(seq, first),
                             .bake_error_mm = bake_error,
                             .max_targets = max_targets,
                             .generator = "fascia " FA_VERSION_TEXT " convert",
                             .progress = cli_progress};
        FaCode rc = fa_sequence_save(cut, out, &opt, &bake, &err);
        if (rc < 0)
            code = cli_fail(&err);
        else if (rc == FA_STALLED) {
            cli_say("warning: %d targets leave an error of %.4f mm; raise --max-targets or --bake-error", bake.targets,
                    bake.max_mm);
            code = EXIT_CONVERGE;
        }
    }
    cli_progress_end();
    if (code == EXIT_OK || code == EXIT_CONVERGE) report(out, last - first + 1, cli_seconds() - t0, &bake);
    fa_sequence_close(cut);
    fa_sequence_close(moved);
    fa_clip_free(clip_cut);
    return code;
}

static int convert_rig(const char *in, const char *out) {
    FaError err = {0};
    FaRig *rig = NULL;
    FaClip *clip = NULL;
    FaSequence *seq = NULL;
    FaRigOptions opt = load_rig_options();
    double t0 = cli_seconds();
    int code = EXIT_OK;
    if (fa_rig_load(in, &opt, &rig, &err) < 0) return cli_fail(&err);
    say_notes(&rig->notes);
    if (clip_path && load_clip(&clip, clip_path, &err) < 0) {
        code = cli_fail(&err);
        goto done;
    }
    const FaClip *play = clip ? clip : rig->clip;
    int frames = play ? play->nframe : 1;
    if (is_clip_out(out)) {
        if (!play)
            code = cli_usage("%s has no animation to write as a clip", in);
        else if (!common.dry_run && fa_clip_save(play, out, &err) < 0)
            code = cli_fail(&err);
        else
            code = report(out, frames, cli_seconds() - t0, &(FaBakeReport){0});
    } else if (is_frames_out(out) || (play && has_ext(out, "usda"))) {
        if (fa_sequence_of_clip(rig, clip, &seq, &err) < 0)
            code = cli_fail(&err);
        else
            code = save_frames(seq, rig, play, out);
    } else {
        if (!common.dry_run && fa_rig_save(rig, clip, out, &err) < 0)
            code = cli_fail(&err);
        else
            code = report(out, frames, cli_seconds() - t0, &(FaBakeReport){0});
    }
done:
    fa_sequence_close(seq);
    fa_clip_free(clip);
    fa_rig_free(rig);
    return code;
}

static int convert_cache(const char *in, const char *out) {
    FaError err = {0};
    FaRig *rig = NULL;
    FaClip *clip = NULL;
    FaSequence *seq = NULL;
    FaRigOptions opt = load_rig_options(), cache_opt = {.unit = (FaUnit)common.unit};
    int code = EXIT_OK;
    if ((rig_path && fa_rig_load(rig_path, &opt, &rig, &err) < 0) ||
        (clip_path && load_clip(&clip, clip_path, &err) < 0) || fa_sequence_open(in, &cache_opt, &seq, &err) < 0)
        code = cli_fail(&err);
    else
        code = save_frames(seq, rig, clip ? clip : rig ? rig->clip : NULL, out);
    fa_sequence_close(seq);
    fa_clip_free(clip);
    fa_rig_free(rig);
    return code;
}

static int run(int argc, const char **argv) {
    const char *out = argc > 1 ? argv[1] : common.output;
    if (!out) return cli_usage("where to? fascia convert %s OUT", argv[0]);
    if (argc > 1 && common.output) return cli_usage("two outputs are named: %s and %s", argv[1], common.output);
    switch (fa_file_kind(argv[0])) {
    case FA_KIND_CLIP: return convert_clip(argv[0], out);
    case FA_KIND_CACHE: return convert_cache(argv[0], out);
    default: return convert_rig(argv[0], out);
    }
}

const Command cmd_convert = {
    .name = "convert",
    .line = "any format in, any format out, nothing lost",
    .usage = "convert IN OUT [options]",
    .examples =
        "  fascia convert shapes/ head.glb                         OBJ folder (neutral + one file per shape) to GLB\n"
        "  fascia convert head.fbx head.glb                        FBX to GLB, shape names kept\n"
        "  fascia convert head.glb take.pc2 --clip take.csv        exact frames of a take\n"
        "  fascia convert sim.pc2 out.glb --rig head.glb           simulated frames baked as morph targets\n"
        "  fascia convert take.csv take.json                       a clip, losslessly\n",
    .notes =
        "In: .glb .gltf .vrm .fbx .obj, folders of .obj, .pc2 .mdd, .csv .json .bvh. Out: .glb .gltf .usda .pc2 .mdd\n"
        ".csv .json, a folder/ of OBJ files, name_####.obj for numbered frames. Coordinates are metres.\n",
    .options = options,
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
