// fascia markers: any animation as dots on a face; and where the dots of a take sit.
#include "markers_job.h"

#include "fascia/retarget.h"

#include <string.h>

static int dots = 80, neutral = -1;
static double reach;
static const char *map_path, *save_map, *other_path, *picture;
static bool world;

static const Option options[] = {
    {"count", 0, OPT_INT, &dots, "N", 4, 4096, "how many dots to choose (80)"},
    {"map", 0, OPT_TEXT, &map_path, "map.json", 0, 0, "where they are: {\"name\": vertex, ...}; else chosen, or found"},
    {"save-map", 0, OPT_TEXT, &save_map, "map.json", 0, 0, "write where they are"},
    {"other", 0, OPT_TEXT, &other_path, "RIG2", 0, 0,
     "the animation is of this face, of other vertices: the same places on it"},
    {"picture", 0, OPT_TEXT, &picture, "map.png", 0, 0, "draw where they are"},
    {"neutral", 0, OPT_INT, &neutral, "N", 0, 100000000,
     "frame of a take that shows the neutral face (the first that shows all)"},
    {"reach", 0, OPT_NUM, &reach, "MM", 0.01, 1000, "how far a dot may be from the surface (10; --other 30)"},
    {"world", 0, OPT_FLAG, &world, NULL, 0, 0,
     "positions in the world: the head's motion applied, as a mocap system sees them"},
    LOAD_OPTIONS_NAMES,
    {0}};

typedef struct MarkerJob {
    FaRig *rig, *other;
    FaClip *clip, *cut_clip;
    FaSequence *seq, *cut, *moved;
    FaMarkerMap *map, *there;
    FaMarkerTake *take;
} MarkerJob;

static void job_free(MarkerJob *j) {
    fa_markers_free(j->take);
    fa_marker_map_free(j->there);
    fa_marker_map_free(j->map);
    fa_sequence_close(j->moved);
    fa_sequence_close(j->cut);
    fa_clip_free(j->cut_clip);
    fa_sequence_close(j->seq);
    fa_clip_free(j->clip);
    fa_rig_free(j->other);
    fa_rig_free(j->rig);
}

static bool is_take(const char *path) {
    return path_has_ext(path, "csv") || path_has_ext(path, "trc") || path_has_ext(path, "c3d");
}

// --- the animation ------------------------------------------------------------------------------------------------

// The frames to sample, of the rig or of the other one.
static FaCode open_frames(MarkerJob *j, const char *path, int *usage, FaError *err) {
    FaRigOptions ropt = load_rig_options();
    FaClipOptions copt = load_clip_options();
    if (other_path) TRY(fa_rig_load(other_path, &ropt, &j->other, err));
    const FaRig *rig = j->other ? j->other : j->rig;
    if (!path || fa_file_kind(path) == FA_KIND_CLIP) {
        if (path) TRY(fa_clip_load(path, &copt, &j->clip, err));
        if (!path && !rig->clip) {
            *usage = cli_usage("%s has no animation: give a clip, a PC2 or a GLB", rig->path);
            return FA_OK;
        }
        return fa_sequence_of_clip(rig, j->clip, &j->seq, err);
    }
    TRY(fa_sequence_open(path, &ropt, &j->seq, err));
    int n = fa_sequence_nvert(j->seq);
    if (n == rig->mesh.nvert) return FA_OK;
    if (j->other)
        *usage = cli_usage("%s has %d vertices, %s has %d", path, n, other_path, rig->mesh.nvert);
    else if (fa_sequence_rig(j->seq))
        other_path = path; // it is its own neutral
    else
        *usage = cli_usage("%s has %d vertices, %s has %d: name the rig it belongs to with --other", path, n, rig->path,
                           rig->mesh.nvert);
    return FA_OK;
}

// Where the dots are on the mesh that moves.
static FaCode place(MarkerJob *j, FaError *err) {
    if (map_path)
        TRY(fa_marker_map_load(map_path, j->rig, &j->map, err));
    else
        TRY(fa_markers_choose(j->rig, dots, &j->map, err));
    if (!other_path) return FA_OK;
    const FaRig *to = j->other ? j->other : fa_sequence_rig(j->seq);
    return fa_marker_map_move(j->map, j->rig, to, 1e-3 * reach, &j->there, err);
}

// --frames: of a clip its own frames, so that the head's motion stays with them.
static FaCode cut_frames(MarkerJob *j, int *usage, FaError *err) {
    int first, last;
    const FaRig *rig = fa_sequence_rig(j->seq);
    const FaClip *clip = fa_sequence_clip(j->seq);
    if (!common.frames) return FA_OK;
    if (!cli_frames(fa_sequence_nframe(j->seq), &first, &last)) {
        *usage = EXIT_USAGE;
        return FA_OK;
    }
    if (!rig || !clip) return fa_sequence_slice(j->seq, first, last, &j->cut, err);
    TRY(fa_clip_slice(clip, first, last, &j->cut_clip, err));
    return fa_sequence_of_clip(rig, j->cut_clip, &j->cut, err);
}

static void report_sample(const MarkerJob *j, double seconds) {
    const FaMarkerTake *t = j->take;
    const FaMarkerMap *map = j->there ? j->there : j->map;
    if (common.json) {
        const FaNotes *notes[] = {&j->map->notes, j->there ? &j->there->notes : NULL};
        printf("{\"frames\":%d,\"fps\":%.9g,\"seconds\":%.6f,\"markers\":", t->nframe, t->fps, seconds);
        print_map(map);
        printf(",\"head\":%s,\"output\":", t->head ? "true" : "false");
        if (common.output && !common.dry_run)
            cli_json_string(common.output);
        else
            printf("null");
        printf(",\"warnings\":");
        print_notes(notes, 2);
        printf("}\n");
        return;
    }
    if (j->there) say_map(map);
    cli_say("%d dots, %d frames at %g per second%s", t->nmarker, t->nframe, t->fps,
            t->head ? "; positions in the head's frame, the head's motion beside them" : "");
    if (common.output && !common.dry_run) cli_say("wrote %s", common.output);
}

static FaCode sample(MarkerJob *j, const char *path, int *usage, FaError *err) {
    double begin = cli_seconds();
    TRY(open_frames(j, path, usage, err));
    if (*usage != EXIT_OK) return FA_OK;
    TRY(place(j, err));
    TRY(cut_frames(j, usage, err));
    if (*usage != EXIT_OK) return FA_OK;
    FaSequence *seq = j->cut ? j->cut : j->seq;
    const FaClip *clip = fa_sequence_clip(seq);
    if (world && clip && clip->head) {
        TRY(fa_sequence_world(seq, j->rig, clip, &j->moved, err));
        seq = j->moved;
    }
    double fps = common.fps > 0 ? common.fps : fa_sequence_fps(seq) > 0 ? 0 : j->rig->clip ? j->rig->clip->fps : 0;
    TRY(fa_markers_sample(seq, j->there ? j->there : j->map, fps, &j->take, err));
    if (!common.dry_run) {
        if (common.output) TRY(fa_markers_save(j->take, common.output, err));
        if (save_map) TRY(fa_marker_map_save(j->map, save_map, err));
        if (picture) TRY(draw_map(j->rig, j->map, NULL, picture, err));
    }
    report_sample(j, cli_seconds() - begin);
    return FA_OK;
}

// --- a take -------------------------------------------------------------------------------------------------------

static FaCode find_places(MarkerJob *j, const char *path, FaError *err) {
    FaMarkerOptions mopt = load_marker_options();
    FaMapOptions opt = fa_map_options_default();
    opt.file = map_path;
    opt.frame = neutral;
    opt.reach = 1e-3 * reach;
    TRY(fa_markers_load(path, &mopt, &j->take, err));
    TRY(fa_marker_map_make(j->take, j->rig, &opt, &j->map, err));
    const char *to = save_map ? save_map : common.output;
    if (!common.dry_run) {
        if (to) TRY(fa_marker_map_save(j->map, to, err));
        if (picture) TRY(draw_map(j->rig, j->map, j->take, picture, err));
    }
    const FaNotes *notes[] = {&j->take->notes, &j->map->notes};
    if (common.json) {
        printf("{\"frames\":%d,\"fps\":%.9g,\"markers\":", j->take->nframe, j->take->fps);
        print_map(j->map);
        printf(",\"output\":");
        if (to && !common.dry_run)
            cli_json_string(to);
        else
            printf("null");
        printf(",\"warnings\":");
        print_notes(notes, 2);
        printf("}\n");
        return FA_OK;
    }
    cli_say("%s: %d markers, %d frames at %g per second, unit %g m (%s)", path, j->take->nmarker, j->take->nframe,
            j->take->fps, j->take->unit, j->take->unit_how);
    say_map(j->map);
    for (int i = 0; i < 2; i++) say_notes("", notes[i]);
    if (common.verbose)
        for (int i = 0; i < j->map->count; i++)
            cli_say("  %-24s vertex %d, %.2f mm off", j->map->name[i], j->map->point[i].vert[0],
                    1e3 * (double)j->map->distance[i]);
    if (to && !common.dry_run) cli_say("wrote %s", to);
    if (picture && !common.dry_run) cli_say("wrote %s: look at it", picture);
    return FA_OK;
}

static int run(int argc, const char **argv) {
    FaError err = {0};
    MarkerJob j = {0};
    const char *path = argc > 1 ? argv[1] : NULL;
    int usage = EXIT_OK;
    FaMotionKind kind = path ? fa_motion_kind(path) : FA_MOTION_OTHER;
    if (kind == FA_MOTION_LANDMARKS)
        return cli_usage("%s holds landmarks of pictures, not markers: fascia drive takes it as it is", path);
    if (kind == FA_MOTION_OTHER && common.output && !is_take(common.output))
        return cli_usage("%s: markers are written as .csv, .trc or .c3d", common.output);
    if (kind == FA_MOTION_MARKERS && common.output && !path_has_ext(common.output, "json"))
        return cli_usage("%s: of a take, the map is written, as .json", common.output);
    if (!common.output && !save_map && !picture && !common.dry_run && !common.json)
        return cli_usage("where to? give -o OUT");
    FaCode rc = load_rig(argv[0], &j.rig, &err);
    if (rc >= 0) rc = kind == FA_MOTION_MARKERS ? find_places(&j, path, &err) : sample(&j, path, &usage, &err);
    int code = rc < 0 ? cli_fail(&err) : usage;
    job_free(&j);
    return code;
}

const Command cmd_markers = {
    .name = "markers",
    .line = "an animation as dots on the face; where the dots of a take sit",
    .usage = "markers RIG [CLIP|PC2|GLB|TAKE] -o OUT [options]",
    .examples =
        "  fascia markers head.glb take.csv -o dots.csv              80 dots of a clip, as a mocap system would give\n"
        "  fascia markers head.glb truth.pc2 -o dots.c3d --count 120 of exact frames\n"
        "  fascia markers head.glb other.glb -o dots.csv             of another face's animation, at the same places\n"
        "  fascia markers head.glb actor.c3d --picture look.png -o map.json    where an actor's dots sit on the rig\n",
    .notes = "Out: .csv .trc .c3d; of a take .json, the map of names to points that drive --map takes. Dots chosen are "
             "named\n"
             "after their vertices: v123. A missing sample stays missing.\n",
    .options = options,
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
