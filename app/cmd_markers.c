// fascia markers: any animation as markers on a face; and where the markers of a take sit.
#include "job.h"
#include "marker_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int count = 80, neutral = -1;
static double reach;
static const char *map_path, *save_map, *other_path, *picture;
static bool world;

static const Option options[] = {
    {"count", 0, OPT_INT, &count, "N", 4, 4096, "how many markers to choose (80)"},
    {"map", 0, OPT_TEXT, &map_path, "map.json", 0, 0,
     "where the markers are: {\"name\": vertex, ...} (default: chosen; of a take: found)"},
    {"save-map", 0, OPT_OUT, &save_map, "map.json", 0, 0, "also write where the markers are"},
    {"other", 0, OPT_TEXT, &other_path, "RIG2", 0, 0, "the animation belongs to this other face, RIG2"},
    {"picture", 0, OPT_OUT, &picture, "map.png", 0, 0, "draw where the markers are"},
    {"neutral", 0, OPT_INT, &neutral, "N", 0, 100000000,
     "of a take: the frame with a neutral face (found: the first, or one with less expression)"},
    {"reach", 0, OPT_NUM, &reach, "MM", 0.01, 1000, "how far a marker may be from the skin (10; with --other 30)"},
    {"world", 0, OPT_FLAG, &world, NULL, 0, 0, "apply the head's motion to the markers, as a mocap system sees them"},
    LOAD_OPTIONS("names"),
    {0}};

typedef struct MarkerJob {
    Job job;
    const char *path; // the animation, or the take; NULL: the rig's own animation
    bool is_take;
    FaRig *other;
    FaClip *clip, *cut_clip;
    FaSequence *seq, *cut, *moved;
    FaMarkerMap *map, *there;
    FaMarkerTake *take;
} MarkerJob;

// --- the animation ------------------------------------------------------------------------------------------------

// The frames to sample, of the rig or of the other one.
static FaCode load_frames(MarkerJob *m, FaError *err) {
    const char *path = m->path;
    if (other_path) TRY(load_rig(other_path, &m->other, err));
    const FaRig *rig = m->other ? m->other : m->job.rig;
    if (!path || fa_file_kind(path) == FA_KIND_CLIP) {
        if (path) TRY(load_clip(path, &m->clip, err));
        if (path) TRY(job_check_weights(m->clip, path, err));
        if (path) TRY(job_bind(&m->job, m->clip, path, rig, err));
        if (path) TRY(job_on_body(&m->job, rig, &m->clip, NULL, err));
        if (!path && !rig->clip) return cli_wrong(err, "%s has no animation: give a clip, a PC2 or a GLB", rig->path);
        return fa_sequence_of_clip(rig, m->clip, &m->seq, err);
    }
    TRY(open_frames(path, rig, &m->seq, err));
    int n = fa_sequence_nvert(m->seq);
    if (n == rig->mesh.nvert) return FA_OK;
    if (m->other) return cli_wrong(err, "%s has %d vertices, %s has %d", path, n, other_path, rig->mesh.nvert);
    if (!fa_sequence_rig(m->seq))
        return cli_wrong(err, "%s has %d vertices, %s has %d: name the rig it belongs to with --other", path, n,
                         rig->path, rig->mesh.nvert);
    other_path = path; // it is its own neutral
    return FA_OK;
}

// Where the markers are on the mesh that moves.
static FaCode place(MarkerJob *m, FaError *err) {
    const FaRig *rig = m->job.rig;
    if (map_path)
        TRY(fa_marker_map_load(map_path, rig, &m->map, err));
    else
        TRY(fa_markers_choose(rig, count, &m->map, err));
    if (!other_path) return FA_OK;
    const FaRig *to = m->other ? m->other : fa_sequence_rig(m->seq);
    return fa_marker_map_move(m->map, rig, to, 1e-3 * reach, &m->there, err);
}

// --frames: of a clip its own frames, so that the head's motion stays with them.
static FaCode cut_frames(MarkerJob *m, FaError *err) {
    int first, last;
    const FaRig *rig = fa_sequence_rig(m->seq);
    const FaClip *clip = fa_sequence_clip(m->seq);
    if (!common.frames) return FA_OK;
    TRY(cli_frames(fa_sequence_nframe(m->seq), &first, &last, err));
    if (!rig || !clip) return fa_sequence_slice(m->seq, first, last, &m->cut, err);
    TRY(fa_clip_slice(clip, first, last, &m->cut_clip, err));
    return fa_sequence_of_clip(rig, m->cut_clip, &m->cut, err);
}

static FaCode sample(MarkerJob *m, FaError *err) {
    TRY(load_frames(m, err));
    TRY(place(m, err));
    TRY(cut_frames(m, err));
    FaSequence *seq = m->cut ? m->cut : m->seq;
    const FaClip *clip = fa_sequence_clip(seq), *own = m->job.rig->clip;
    if (world && clip && clip->head) {
        TRY(fa_sequence_world(seq, m->job.rig, clip, &m->moved, err));
        seq = m->moved;
    }
    double fps = common.fps > 0 ? common.fps : fa_sequence_fps(seq) > 0 ? 0 : own ? own->fps : 0;
    TRY(fa_markers_sample(seq, m->there ? m->there : m->map, fps, &m->take, err));
    job_note(&m->job, &m->map->notes);
    if (m->there) job_note(&m->job, &m->there->notes);
    return FA_OK;
}

// --- a take -------------------------------------------------------------------------------------------------------

static FaCode find_places(MarkerJob *m, FaError *err) {
    FaMarkerOptions mopt = load_marker_options();
    FaMapOptions opt = fa_map_options_default();
    opt.file = map_path;
    opt.frame = neutral;
    opt.reach = 1e-3 * reach;
    TRY(fa_markers_load(m->path, &mopt, &m->take, err));
    TRY(fa_marker_map_new(m->take, m->job.rig, &opt, &m->map, err));
    job_note(&m->job, &m->take->notes);
    job_note(&m->job, &m->map->notes);
    return FA_OK;
}

// --- the walk -----------------------------------------------------------------------------------------------------

static FaCode make(Job *j, FaError *err) {
    MarkerJob *m = (MarkerJob *)j;
    return m->is_take ? find_places(m, err) : sample(m, err);
}

static FaCode write_files(Job *j, FaError *err) {
    const MarkerJob *m = (const MarkerJob *)j;
    if (j->output)
        TRY(m->is_take ? fa_marker_map_save(m->map, j->output, err) : fa_markers_save(m->take, j->output, err));
    if (save_map && save_map != j->output) TRY(fa_marker_map_save(m->map, save_map, err));
    return picture ? draw_map(j->rig, m->map, m->is_take ? m->take : NULL, picture, err) : FA_OK;
}

// A take and the map of its markers: no new one with an old one.
static FaCode write(Job *j, FaError *err) {
    fa_outputs_begin();
    FaCode rc = write_files(j, err), end = fa_outputs_end(rc >= 0, err);
    return rc < 0 ? rc : end;
}

static void say(Job *j) {
    const MarkerJob *m = (const MarkerJob *)j;
    const FaMarkerTake *t = m->take;
    cli_say("%d markers, %d frames at %g per second%s", t->nmarker, t->nframe, t->fps,
            t->head ? "; without the head's motion, which has columns of its own" : "");
    if (m->is_take) cli_say("the unit of %s is %g m (%s)", m->path, t->unit, t->unit_how);
    if (m->is_take || m->there) say_map(m->there ? m->there : m->map);
    for (int i = 0; m->is_take && common.verbose && i < m->map->count; i++)
        cli_say("  %-24s vertex %d, %.2f mm off", m->map->name[i], m->map->point[i].vert[0],
                1e3 * (double)m->map->distance[i]);
    if (save_map && save_map != j->output && !common.dry_run) cli_say("wrote %s", save_map);
    if (picture && !common.dry_run) cli_say("wrote %s: look at it", picture);
}

static void json(Job *j, FaJsonWriter *w) {
    const MarkerJob *m = (const MarkerJob *)j;
    fa_json_int(w, "frames", m->take->nframe);
    fa_json_number(w, "fps", m->take->fps);
    json_map(m->there ? m->there : m->map, "markers", w);
    fa_json_bool(w, "head", m->take->head != NULL);
}

static void marker_free(Job *j) {
    MarkerJob *m = (MarkerJob *)j;
    fa_markers_free(m->take);
    fa_marker_map_free(m->there);
    fa_marker_map_free(m->map);
    fa_sequence_close(m->moved);
    fa_sequence_close(m->cut);
    fa_clip_free(m->cut_clip);
    fa_sequence_close(m->seq);
    fa_clip_free(m->clip);
    fa_rig_free(m->other);
}

#define MOTION "fps head-units joint head-smooth"
static int run(int argc, const char **argv) {
    const char *path = argc > 1 ? argv[1] : NULL, *out = common.output;
    FaMotionKind kind = path ? fa_motion_kind(path) : FA_MOTION_OTHER;
    if (kind == FA_MOTION_LANDMARKS)
        return cli_usage("%s holds landmarks of pictures, not markers: fascia drive takes it as it is", path);
    if (kind == FA_MOTION_OTHER && out && !path_has_ext(out, "csv") && !path_has_ext(out, "trc") &&
        !path_has_ext(out, "c3d"))
        return cli_usage("%s: markers are written as .csv, .trc or .c3d", out);
    if (kind == FA_MOTION_MARKERS && out && !path_has_ext(out, "json"))
        return cli_usage("%s: of a take, the map is written, as .json", out);
    if (!out && !save_map && !picture && !common.dry_run && !common.json)
        return output_missing(kind == FA_MOTION_MARKERS ? "map.json" : "markers.csv");
    int code = kind == FA_MOTION_MARKERS ? cli_only("for a take of markers", "map save-map picture neutral reach fps")
               : map_path ? cli_only("with --map", "map save-map picture other reach world frames " MOTION)
                          : cli_only("for an animation", "count save-map picture other reach world frames " MOTION);
    if (code != EXIT_OK) return code;
    if (reach > 0 && kind != FA_MOTION_MARKERS && !other_path)
        return cli_usage("--reach goes with --other RIG2, or with a take of markers");
    MarkerJob m = {.path = path,
                   .is_take = kind == FA_MOTION_MARKERS,
                   .job = {.verb = "markers",
                           .doctor = true,
                           .rig_path = argv[0],
                           .output = !out && kind == FA_MOTION_MARKERS ? save_map : out,
                           .make = make,
                           .write = write,
                           .say = say,
                           .json = json,
                           .free = marker_free}};
    return job_walk(&m.job);
}

const Command cmd_markers = {
    .name = "markers",
    .line = "markers from an animation; or where the markers of a take are on the face",
    .usage = "markers RIG [CLIP|PC2|GLB|TAKE] -o OUT [options]",
    .examples =
        "  fascia markers head.glb actor.c3d --picture look.png -o map.json   where an actor's markers are on the rig\n"
        "  fascia markers head.glb clip.csv -o markers.csv                    80 markers of a clip, as from mocap\n"
        "  fascia markers head.glb exact.pc2 -o markers.c3d --count 120       120 markers of exact frames\n"
        "  fascia markers head.glb other.glb -o markers.csv                   of another face, at the same places\n",
    .notes = "Out: .csv .trc .c3d; of a take .json: the map that fascia drive --map takes.\n"
             "Markers are named after their vertices: v123. A missing sample stays missing.\n",
    .options = options,
    .writes = "csv trc c3d json",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
