// fascia convert: any format in, any format out, nothing lost on the way.
#include "job.h"

#include "fascia/neural_train.h"

#include <string.h>

static const char *rig_path, *clip_path;

static const Option options[] = {
    {"rig", 0, OPT_TEXT, &rig_path, "FILE", 0, 0, "the rig that a .pc2 or .mdd belongs to (for .glb, .usda, .obj)"},
    {"clip", 0, OPT_TEXT, &clip_path, "FILE", 0, 0, "play this clip on the rig"},
    OUT_OPTIONS,
    LOAD_OPTIONS("map"),
    {0}};

typedef struct Conversion {
    Job job;
    const char *in;
    FaKind kind;
    FaSequence *seq;
    int count; // frames of the input
} Conversion;

static bool is_clip_out(const char *path) { return path_has_ext(path, "csv") || path_has_ext(path, "json"); }
static bool is_frames_out(const char *path) {
    return path_has_ext(path, "pc2") || path_has_ext(path, "mdd") || strchr(path, '#') != NULL;
}

static FaCode make(Job *j, FaError *err) {
    Conversion *c = (Conversion *)j;
    if (j->rig) job_note(j, &j->rig->notes);
    if (j->loaded) job_note(j, &j->loaded->notes);
    bool frames = is_frames_out(j->output) || (j->clip && path_has_ext(j->output, "usda"));
    if (c->kind == FA_KIND_CACHE && is_clip_out(j->output))
        return cli_wrong(err, "%s holds frames, and %s a clip's weights: write .glb, .usda, .pc2 or .mdd", c->in,
                         j->output);
    FaRigOptions plain = load_rig_options();
    if (c->kind == FA_KIND_CACHE && !j->rig && path_is_cache(j->output))
        TRY(fa_sequence_open(c->in, &plain, &c->seq, err)); // numbers stay what they are
    else if (c->kind == FA_KIND_CACHE)
        TRY(open_frames(c->in, j->rig, &c->seq, err));
    else if (j->rig && frames)
        TRY(fa_sequence_of_clip(j->rig, j->loaded, &c->seq, err));
    c->count = c->seq ? fa_sequence_nframe(c->seq) : j->clip ? j->clip->nframe : 1;
    TRY(cli_frames(c->count, &j->first, &j->last, err));
    if (!c->seq) return FA_OK;
    j->frames = c->seq;
    j->played = j->clip;
    j->fps = common.fps;
    j->start = j->clip && j->clip->nframe == c->count ? j->clip->time[j->first] : fa_sequence_time(c->seq, j->first);
    return FA_OK;
}

// A clip, or a rig with it: all of it as it stands, or the frames asked for.
static FaCode write_whole(const Job *j, FaError *err) {
    const Conversion *c = (const Conversion *)j;
    bool clip_out = is_clip_out(j->output), all = j->last - j->first + 1 == c->count;
    FaClip *cut = NULL;
    if (clip_out && !j->clip) return cli_wrong(err, "%s has no animation to write as a clip", c->in);
    if (!all) TRY(fa_clip_slice(j->clip, j->first, j->last, &cut, err));
    FaCode rc = clip_out ? fa_clip_save(cut ? cut : j->clip, j->output, err)
                         : fa_rig_save(j->rig, cut ? cut : j->loaded, j->output, err);
    fa_clip_free(cut);
    return rc;
}

static FaCode write(Job *j, FaError *err) { return j->frames ? job_save(j, err) : write_whole(j, err); }

static void json(Job *j, FaJsonWriter *w) { fa_json_int(w, "frames", j->last - j->first + 1); }

static void conversion_free(Job *j) { fa_sequence_close(((Conversion *)j)->seq); }

// What acts on each kind of file; the rest is refused by name.
#define MOTION "head-units joint head-smooth "
static int check_options(FaKind kind) {
    if (kind == FA_KIND_CLIP) return cli_only("for a clip", MOTION "unit fps frames !rig");
    if (kind == FA_KIND_RIG)
        return clip_path ? cli_only("for a rig under a clip", MOTION "clip fps frames world cache-unit hinge")
                         : cli_only("for a rig", "fps frames world cache-unit");
    if (clip_path)
        return cli_only("for a cache", MOTION "rig clip fps frames world cache-unit bake-error max-targets hinge");
    return rig_path ? cli_only("for a cache", "rig fps frames world cache-unit bake-error max-targets hinge")
                    : cli_only("for a cache without --rig", "fps frames cache-unit !rig unit any-size");
}
#undef MOTION

// A network as ONNX.
static FaCode write_onnx(Job *j, FaError *err) { return fa_network_onnx(((Conversion *)j)->in, j->output, err); }

static int run_net(const char *in, const char *out) {
    int code = cli_only("for a network", "!rig");
    if (code != EXIT_OK) return code;
    if (!path_has_ext(out, "onnx")) return cli_usage("%s is a network: write .onnx", in);
    Conversion c = {.in = in, .job = {.verb = "convert", .output = out, .write = write_onnx}};
    return job_walk(&c.job);
}

static int run(int argc, const char **argv) {
    const char *in = argv[0], *out = argc > 1 ? argv[1] : common.output;
    if (!out) return cli_usage("no output file: add its name, for example fascia convert %s out.glb", in);
    if (argc > 1 && common.output) return cli_usage("two outputs are named: %s and %s", argv[1], common.output);
    if (path_has_ext(in, "net")) return run_net(in, out);
    if (path_has_ext(out, "onnx")) return cli_usage("only a network, .net of fascia train, becomes .onnx");
    FaKind kind = fa_file_kind(in);
    if (kind == FA_KIND_CLIP && !is_clip_out(out))
        return cli_usage("%s holds a clip: write .csv or .json, or use --clip %s with a rig", in, in);
    int code = check_options(kind);
    if (code != EXIT_OK) return code;
    Conversion c = {.in = in,
                    .kind = kind,
                    .job = {.verb = "convert",
                            .track = path_base(in),
                            .output = out,
                            .rig_path = kind == FA_KIND_RIG     ? in
                                        : kind == FA_KIND_CACHE ? rig_path
                                                                : NULL,
                            .clip_path = kind == FA_KIND_CLIP ? in : clip_path,
                            .generator = "fascia " FA_VERSION_TEXT " convert",
                            .make = make,
                            .write = write,
                            .json = json,
                            .free = conversion_free}};
    return job_walk(&c.job);
}

const Command cmd_convert = {
    .name = "convert",
    .line = "from one file format to another, nothing lost",
    .usage = "convert IN OUT [options]",
    .examples =
        "  fascia convert shapes/ head.glb                         OBJ folder (neutral + one file per shape) to GLB\n"
        "  fascia convert head.fbx head.glb                        FBX to GLB, shape names kept\n"
        "  fascia convert head.glb exact.pc2 --clip clip.csv       exact frames of a clip\n"
        "  fascia convert sim.pc2 out.glb --rig head.glb           simulated frames baked as morph targets\n"
        "  fascia convert clip.csv clip.json                       a clip, losslessly\n"
        "  fascia convert face.net face.onnx                       a network of fascia train for other programs\n",
    .notes =
        "In: .glb .gltf .vrm .fbx .obj, folders of .obj, .pc2 .mdd, .csv .json .bvh. Out: .glb .gltf .usda .pc2 .mdd\n"
        ".csv .json, a folder/ of OBJ files, name_####.obj for numbered frames. Coordinates are metres; .pc2, .mdd "
        "and\n"
        "name_####.obj are in the unit of the rig's own file (--cache-unit).\n",
    .options = options,
    .writes = "glb gltf vrm usda pc2 mdd obj csv json html png mp4 m4v mov gif onnx",
    .out_arg = 1,
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
