// fascia render: pictures to judge a face by.
#include "fascia/render.h"
#include "load.h"

#include <stdlib.h>
#include <string.h>

static const char *clip_path, *rig_path, *heat_path, *view = "three_quarter", *focus, *size, *weights;
static bool sheet, views, frames_sheet, turntable, wire, flat, heat, still_head, label, alone;
static int frame = -1, samples, columns;
static double zoom, heat_max;

static const Option options[] = {
    {"clip", 0, OPT_TEXT, &clip_path, "FILE", 0, 0, "play this clip on the rig"},
    {"rig", 0, OPT_TEXT, &rig_path, "FILE", 0, 0, "the rig a point cache belongs to"},
    {"frame", 0, OPT_INT, &frame, "N", 0, 2147483647, "the frame to show (0)"},
    {"weights", 0, OPT_TEXT, &weights, "NAME=V,...", 0, 0, "show these shape weights in place of a frame"},
    {"view", 0, OPT_TEXT, &view, "NAME", 0, 0,
     "front, three_quarter, profile, back, top, left, right, below, or YAW,PITCH in degrees"},
    {"focus", 0, OPT_TEXT, &focus, "PLACE", 0, 0, "close-up: mouth, eye_left, eye_right, nose, jaw, brow"},
    {"zoom", 0, OPT_NUM, &zoom, "X", 0.01, 1000, "closer (1: all of it; 3.5 with --focus)"},
    {"size", 0, OPT_TEXT, &size, "WxH", 0, 0,
     "of the picture (1024x1024), of a film (720x720) or of a sheet's tile (256x256)"},
    {"samples", 0, OPT_INT, &samples, "N", 1, 256, "rays per pixel (8)"},
    {"sheet", 0, OPT_FLAG, &sheet, NULL, 0, 0, "a contact sheet: every shape at weight 1"},
    {"views", 0, OPT_FLAG, &views, NULL, 0, 0, "a sheet of the standard views"},
    {"strip", 0, OPT_FLAG, &frames_sheet, NULL, 0, 0, "a sheet of frames spread over the animation"},
    {"columns", 0, OPT_INT, &columns, "N", 1, 100, "columns of a sheet"},
    {"turntable", 0, OPT_FLAG, &turntable, NULL, 0, 0, "one turn: a film, or eight views as a sheet"},
    {"heat", 0, OPT_TEXT, &heat_path, "FILE", 0, 0, "heat map: distance from this other animation"},
    {"displacement", 0, OPT_FLAG, &heat, NULL, 0, 0, "heat map: distance from the neutral"},
    {"heat-max", 0, OPT_NUM, &heat_max, "MM", 0, 1e6, "end of the heat map's scale (found from the data)"},
    {"wire", 0, OPT_FLAG, &wire, NULL, 0, 0, "draw the polygons' edges"},
    {"flat", 0, OPT_FLAG, &flat, NULL, 0, 0, "facets instead of smooth shading"},
    {"hold-head", 0, OPT_FLAG, &still_head, NULL, 0, 0, "films: hold the head still"},
    {"label", 0, OPT_FLAG, &label, NULL, 0, 0, "films: frame number and time"},
    {"alone", 0, OPT_FLAG, &alone, NULL, 0, 0, "only the face's own mesh, not the others of its file"},
    LOAD_OPTIONS,
    {0}};

static int set_look(FaRenderJob *job, const FaRig *rig) {
    FaRenderOptions *look = &job->look;
    char *end;
    if (size) {
        long w = strtol(size, &end, 10), h = *end == 'x' ? strtol(end + 1, &end, 10) : w;
        if (*end || w < 16 || h < 16 || w > 16384 || h > 16384)
            return cli_usage("--size takes WxH, 16 to 16384, not '%s'", size);
        look->width = (int)w;
        look->height = (int)h;
    }
    if (samples) look->samples = samples;
    look->wire = wire;
    look->flat = flat;
    look->heat_max_mm = heat_max;
    if (!fa_render_view(view, &look->view)) {
        double yaw = strtod(view, &end), pitch = *end == ',' ? strtod(end + 1, &end) : 0;
        if (end == view || *end)
            return cli_usage("--view takes front, three_quarter, profile, back, top, or YAW,PITCH; not '%s'", view);
        fa_render_view("front", &look->view);
        look->view.yaw = yaw;
        look->view.pitch = pitch;
    }
    if (focus) {
        if (!rig || !fa_render_focus(rig, focus, look->view.focus))
            return cli_usage("--focus %s: the rig has no shapes that tell where that is", focus);
        look->view.aim = true;
        look->view.zoom = 3.5;
    }
    if (zoom > 0) look->view.zoom = zoom;
    return EXIT_OK;
}

// "jawOpen=1,mouthSmileLeft=0.5" for the rig's shapes, by their own or their ARKit names.
static int parse_weights(const FaRig *rig, float *out) {
    for (const char *p = weights; *p;) {
        size_t n = strcspn(p, "=,");
        char name[200], *end;
        if (p[n] != '=' || n >= sizeof name) return cli_usage("--weights takes NAME=VALUE,..., not '%s'", p);
        memcpy(name, p, n);
        name[n] = 0;
        double v = strtod(p + n + 1, &end);
        int hits = 0, arkit = fa_arkit_match(name, NULL);
        for (int s = 0; s < rig->nshape; s++)
            if (!strcmp(rig->shape[s].name, name)) out[s] = (float)v, hits++;
        for (int s = 0; s < rig->nshape && arkit >= 0 && !hits; s++)
            if (rig->shape[s].arkit == arkit) out[s] = (float)v;
        for (int s = 0; s < rig->nshape && arkit >= 0; s++) hits += rig->shape[s].arkit == arkit;
        if (!hits) return cli_usage("the rig has no shape '%s'; fascia info --shapes lists them", name);
        if (end == p + n + 1 || (*end && *end != ',')) return cli_usage("--weights takes NAME=VALUE,..., not '%s'", p);
        p = *end ? end + 1 : end;
    }
    return EXIT_OK;
}

static int render(FaSequence *seq, const FaRig *rig, const FaClip *clip, FaSequence *against) {
    FaError err = {0};
    FaRenderJob job = fa_render_job();
    int code = set_look(&job, rig);
    if (code != EXIT_OK) return code;
    float *w = NULL;
    if (weights) {
        if (!rig || !(w = calloc((size_t)rig->nshape + 1, sizeof *w))) return cli_usage("--weights needs a rig");
        if ((code = parse_weights(rig, w)) != EXIT_OK) {
            free(w);
            return code;
        }
    }
    job.picture = sheet          ? FA_PICTURE_SHAPES
                  : views        ? FA_PICTURE_VIEWS
                  : frames_sheet ? FA_PICTURE_FRAMES
                  : turntable    ? FA_PICTURE_TURNTABLE
                                 : FA_PICTURE_AUTO;
    if (!cli_frames(fa_sequence_nframe(seq), &job.first, &job.last)) {
        free(w);
        return EXIT_USAGE;
    }
    job.frame = frame >= 0 ? frame : job.first;
    job.columns = columns;
    job.weights = w;
    job.fps = common.fps;
    job.label = label;
    job.world = !still_head;
    job.against = against;
    job.heat = heat;
    job.rig = rig;
    job.clip = clip;
    job.alone = alone;
    job.generator = "fascia " FA_VERSION_TEXT " render";
    job.progress = cli_progress;
    if (!common.dry_run && fa_render_file(seq, &job, common.output, &err) < 0)
        code = cli_fail(&err);
    else
        cli_say("%s %s", common.dry_run ? "would write" : "wrote", common.output);
    free(w);
    return code;
}

static int write_page(FaSequence *seq, const FaRig *rig, const FaClip *clip, const char *name) {
    FaError err = {0};
    FaPageTrack track = {.name = name, .seq = seq, .clip = clip};
    if (!rig) return cli_usage("a page of a cache needs --rig for the faces");
    FaPageOptions opt = {.title = name, .progress = cli_progress};
    if (!common.dry_run && fa_page_save(common.output, rig, &track, 1, &opt, &err) < 0) return cli_fail(&err);
    cli_progress_end();
    cli_say("%s %s", common.dry_run ? "would write" : "wrote", common.output);
    return EXIT_OK;
}

static bool is_page(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, ".html");
}

static int run(int argc, const char **argv) {
    (void)argc;
    if (!common.output) return cli_usage("where to? fascia render %s -o picture.png", argv[0]);
    FaError err = {0};
    FaRig *rig = NULL;
    FaClip *clip = NULL;
    FaSequence *seq = NULL, *against = NULL;
    FaRigOptions ropt = load_rig_options();
    FaClipOptions copt = load_clip_options();
    bool cache = fa_file_kind(argv[0]) == FA_KIND_CACHE;
    const char *from = cache ? rig_path : argv[0], *slash = strrchr(argv[0], '/');
    int code = EXIT_OK;
    if ((from && fa_rig_load(from, &ropt, &rig, &err) < 0) ||
        (clip_path && fa_clip_load(clip_path, &copt, &clip, &err) < 0) ||
        (heat_path && fa_sequence_open(heat_path, &ropt, &against, &err) < 0) ||
        (cache ? fa_sequence_open(argv[0], &ropt, &seq, &err) : fa_sequence_of_clip(rig, clip, &seq, &err)) < 0)
        code = cli_fail(&err);
    else if (is_page(common.output))
        code = write_page(seq, rig, clip ? clip : rig ? rig->clip : NULL, slash ? slash + 1 : argv[0]);
    else
        code = render(seq, rig, clip ? clip : rig ? rig->clip : NULL, against);
    fa_sequence_close(seq);
    fa_sequence_close(against);
    fa_clip_free(clip);
    fa_rig_free(rig);
    return code;
}

const Command cmd_render = {
    .name = "render",
    .line = "pictures and films: stills, contact sheets, turntables, heat maps",
    .usage = "render FILE -o PNG|MP4|GIF|HTML [options]",
    .examples = "  fascia render head.glb -o head.png                          a still, three quarters\n"
                "  fascia render head.glb --sheet --size 256x256 -o sheet.png  every shape at weight 1, with captions\n"
                "  fascia render sim.pc2 --rig head.glb -o film.mp4            a film\n"
                "  fascia render after.glb --heat before.glb --frame 30 -o heat.png\n"
                "  fascia render head.glb --weights jawOpen=1 --focus mouth -o mouth.png\n"
                "  fascia render head.glb -o head.html                         a page to turn, play and pose it\n",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
