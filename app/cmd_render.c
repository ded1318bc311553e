// fascia render: pictures to judge a face by.
#include "job.h"

#include <stdlib.h>
#include <string.h>

static const char *clip_path, *rig_path, *heat_path, *view = "three_quarter", *focus, *size, *weights;
static bool sheet, views, frames_sheet, turntable, wire, flat, heat, still_head, label, alone;
static int frame = -1, samples, columns;
static double zoom, heat_max;

static const Option options[] = {
    {"clip", 0, OPT_TEXT, &clip_path, "FILE", 0, 0, "play this clip on the rig"},
    {"rig", 0, OPT_TEXT, &rig_path, "FILE", 0, 0, "the rig that a .pc2 or .mdd belongs to"},
    {"frame", 0, OPT_INT, &frame, "N", 0, 2147483647, "the frame to show (0)"},
    {"weights", 0, OPT_TEXT, &weights, "NAME=V,...", 0, 0, "show these shapes at these strengths, in place of a frame"},
    {"view", 0, OPT_TEXT, &view, "NAME", 0, 0,
     "front, three_quarter, profile, back, top, left, right, below, or YAW,PITCH in degrees"},
    {"focus", 0, OPT_TEXT, &focus, "PLACE", 0, 0,
     "close-up: mouth, eyes, eye_left, eye_right, nose, jaw, brow; head (default), all: a whole body"},
    {"zoom", 0, OPT_NUM, &zoom, "X", 0.01, 1000, "how close: 1 shows all of the head (with --focus 3.5)"},
    {"size", 0, OPT_TEXT, &size, "WxH", 0, 0,
     "size of a picture (1024x1024), a film (720x720) or one tile of a sheet (256x256)"},
    {"samples", 0, OPT_INT, &samples, "N", 1, 256, "rays per pixel; more is smoother and slower (8)"},
    {"sheet", 0, OPT_FLAG, &sheet, NULL, 0, 0, "a sheet with every shape at full strength"},
    {"views", 0, OPT_FLAG, &views, NULL, 0, 0, "a sheet with views from all sides"},
    {"strip", 0, OPT_FLAG, &frames_sheet, NULL, 0, 0, "a sheet with frames spread over the animation"},
    {"columns", 0, OPT_INT, &columns, "N", 1, 100, "columns of a sheet"},
    {"turntable", 0, OPT_FLAG, &turntable, NULL, 0, 0, "one turn: a film, or eight views as a sheet"},
    {"heat", 0, OPT_TEXT, &heat_path, "FILE", 0, 0, "heat map: distance from this other animation"},
    {"displacement", 0, OPT_FLAG, &heat, NULL, 0, 0, "heat map: distance from the neutral face"},
    {"heat-max", 0, OPT_NUM, &heat_max, "MM", 0, 1e6,
     "where the heat map's colours end (default: the largest distance)"},
    {"wire", 0, OPT_FLAG, &wire, NULL, 0, 0, "draw the edges of the polygons"},
    {"flat", 0, OPT_FLAG, &flat, NULL, 0, 0, "flat polygons instead of smooth shading"},
    {"hold-head", 0, OPT_FLAG, &still_head, NULL, 0, 0, "films: hold the head still"},
    {"label", 0, OPT_FLAG, &label, NULL, 0, 0, "films: show frame number and time"},
    {"alone", 0, OPT_FLAG, &alone, NULL, 0, 0, "only the face, not the other meshes of the file"},
    LOAD_OPTIONS("map"),
    {0}};

typedef struct Picture {
    Job job;
    const char *in;
    FaSequence *seq, *against;
    FaRenderJob how;
    FaRendered made;
    float *weights; // (nshape)
} Picture;

static FaCode set_look(Picture *p, FaError *err) {
    FaRenderOptions *look = &p->how.look;
    char *end;
    if (size) {
        long w = strtol(size, &end, 10), h = *end == 'x' ? strtol(end + 1, &end, 10) : w;
        if (*end || w < 16 || h < 16 || w > 16384 || h > 16384)
            return cli_wrong(err, "--size takes WxH, 16 to 16384, not '%s'", size);
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
            return cli_wrong(err, "--view takes front, three_quarter, profile, back, top, or YAW,PITCH; not '%s'",
                             view);
        fa_render_view("front", &look->view);
        look->view.yaw = yaw;
        look->view.pitch = pitch;
    }
    p->how.whole = focus && !strcmp(focus, "all");
    if (focus && !p->how.whole && strcmp(focus, "head") != 0) {
        if (!p->job.rig || !fa_render_focus(p->job.rig, focus, look->view.focus))
            return cli_wrong(err, "--focus %s: the rig has no shapes that tell where that is (try --zoom)", focus);
        look->view.aim = true;
        look->view.zoom = 3.5;
    }
    if (zoom > 0) look->view.zoom = zoom;
    return FA_OK;
}

static FaCode parse_weights(Picture *p, FaError *err) {
    if (!weights) return FA_OK;
    if (!p->job.rig) return cli_wrong(err, "--weights needs a rig");
    p->how.weights = p->weights = calloc((size_t)p->job.rig->nshape + 1, sizeof *p->weights);
    return p->weights ? job_weights(p->job.rig, weights, p->weights, err) : cli_no_memory(err);
}

static FaCode make(Job *j, FaError *err) {
    Picture *p = (Picture *)j;
    if (heat_path) TRY(open_frames(heat_path, j->rig, &p->against, err));
    if (fa_file_kind(p->in) == FA_KIND_CACHE)
        TRY(open_frames(p->in, j->rig, &p->seq, err));
    else
        TRY(fa_sequence_of_clip(j->rig, j->loaded, &p->seq, err));
    FaRenderJob *how = &p->how;
    *how = fa_render_job();
    TRY(set_look(p, err));
    TRY(parse_weights(p, err));
    TRY(cli_frames(fa_sequence_nframe(p->seq), &j->first, &j->last, err));
    how->first = j->first;
    how->last = j->last;
    if (path_has_ext(j->output, "html")) j->frames = p->seq, j->played = j->clip; // a page has those asked for
    how->picture = sheet          ? FA_PICTURE_SHAPES
                   : views        ? FA_PICTURE_VIEWS
                   : frames_sheet ? FA_PICTURE_FRAMES
                   : turntable    ? FA_PICTURE_TURNTABLE
                                  : FA_PICTURE_AUTO;
    how->frame = frame >= 0 ? frame : how->first;
    how->columns = columns;
    how->fps = common.fps;
    how->label = label;
    how->world = !still_head;
    how->against = p->against;
    how->heat = heat;
    how->rig = j->rig;
    how->clip = j->clip;
    how->alone = alone;
    how->generator = "fascia " FA_VERSION_TEXT " render";
    how->rendered = &p->made;
    how->progress = cli_progress;
    return FA_OK;
}

static FaCode write(Job *j, FaError *err) {
    Picture *p = (Picture *)j;
    if (!path_has_ext(j->output, "html")) return fa_render_file(p->seq, &p->how, j->output, err);
    if (!j->rig) return cli_wrong(err, "a page of a cache needs --rig for the faces");
    FaPageTrack track = {.name = path_base(p->in), .seq = j->cut, .clip = job_clip(j)};
    FaPageOptions opt = {.title = track.name, .progress = cli_progress};
    p->made.pictures = fa_sequence_nframe(j->cut);
    return fa_page_save(j->output, j->rig, &track, 1, &opt, err);
}

static void json(Job *j, FaJsonWriter *w) {
    const Picture *p = (const Picture *)j;
    fa_json_int(w, "frames", p->made.pictures);
    fa_json_int(w, "width", p->made.width);
    fa_json_int(w, "height", p->made.height);
}

static void picture_free(Job *j) {
    Picture *p = (Picture *)j;
    fa_sequence_close(p->seq);
    fa_sequence_close(p->against);
    free(p->weights);
}

// What acts in each kind of picture; the rest is refused by name.
#define ALL "clip head-units joint head-smooth rig "
#define LOOK ALL "view focus zoom size samples heat displacement heat-max wire flat alone "
static int check_options(FaKind kind) {
    bool film = path_has_ext(common.output, "mp4") || path_has_ext(common.output, "gif") ||
                path_has_ext(common.output, "mov") || path_has_ext(common.output, "m4v");
    if (sheet + views + frames_sheet + turntable > 1)
        return cli_usage("choose one of --sheet, --views, --strip and --turntable");
    if (rig_path && kind != FA_KIND_CACHE) return cli_usage("--rig is for .pc2, .mdd and numbered .obj");
    if (heat_max > 0 && !heat && !heat_path) return cli_usage("--heat-max goes with --heat or --displacement");
    if (weights && frame >= 0) return cli_usage("--weights takes the place of --frame: give one of them");
    const char *recorded = clip_path ? NULL : cli_named("head-units joint head-smooth");
    if (recorded) return cli_usage("--%s goes with --clip", recorded);
    if (path_has_ext(common.output, "html")) return cli_only("for a page", ALL "frames fps");
    if (turntable)
        return film ? cli_only("for a turn as a film", LOOK "turntable frame weights frames fps")
                    : cli_only("for a turn", LOOK "turntable frame weights frames columns");
    if (film) return cli_only("for a film", LOOK "frames fps hold-head label");
    return sheet          ? cli_only("with --sheet", LOOK "sheet columns")
           : views        ? cli_only("with --views", LOOK "views columns frame weights frames")
           : frames_sheet ? cli_only("with --strip", LOOK "strip columns frames")
                          : cli_only("for a still", LOOK "frame weights frames");
}
#undef ALL
#undef LOOK

static int run(int argc, const char **argv) {
    (void)argc;
    if (!common.output) return output_missing("picture.png");
    int code = check_options(fa_file_kind(argv[0]));
    if (code != EXIT_OK) return code;
    Picture p = {.in = argv[0],
                 .job = {.verb = "render",
                         .rig_path = fa_file_kind(argv[0]) == FA_KIND_CACHE ? rig_path : argv[0],
                         .clip_path = clip_path,
                         .make = make,
                         .write = write,
                         .json = json,
                         .free = picture_free}};
    return job_walk(&p.job);
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
    .writes = "png mp4 m4v mov gif html",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
