// fascia enrich: secondary motion of flesh on an artist's animation, by simulation of the volume below the skin.
#include "markers_job.h"
#include "simulate.h"

#include "fascia/enrich.h"
#include "fascia/run_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *head_path, *keep_path;
static const char *colliders, *collider_motions, *collider_frames;
static bool loop;
static double preroll, out_fps, head_smooth = -1;
static const double BVH_SMOOTH = 10; // Hz

enum { COLLIDERS = 16 };

static const Option options[] = {
    {"head-motion", 0, OPT_TEXT, &head_path, "FILE", 0, 0, "the head's motion from a BVH or another clip"},
    {"head-smooth", 0, OPT_NUM, &head_smooth, "HZ", 0, 1000,
     "take what is faster out of --head-motion (10 for a BVH, else 0: nothing)"},
    {"collider", 0, OPT_TEXT, &colliders, "FILE[,FILE...]", 0, 0,
     "rigid meshes that push the skin, in the rig's frame and unit: .obj, .glb"},
    {"collider-motion", 0, OPT_TEXT, &collider_motions, "FILE[,FILE...]", 0, 0,
     "their poses, in the same order: CSV, JSON, BVH[:JOINT], .glb (the collider's own animation, if it has one)"},
    {"collider-frame", 0, OPT_TEXT, &collider_frames, "head|world[,...]", 0, 0,
     "what they stand or move in (with a motion the world, else the head)"},
    {"out-fps", 0, OPT_NUM, &out_fps, "N", 1, 1000, "frames per second of the result (the clip's)"},
    {"preroll", 0, OPT_NUM, &preroll, "S", 0, 60, "seconds to hold the first frame before it begins (0)"},
    {"loop", 0, OPT_FLAG, &loop, NULL, 0, 0, "the clip is a loop: the motion at its end is that before its start"},
    {"keep", 0, OPT_TEXT, &keep_path, "FILE", 0, 0,
     "keep the simulated take: after an edit only what changed is made again"},
    OUT_OPTIONS,
    LOAD_OPTIONS,
    {0}};

typedef struct Job {
    FaRig *rig;
    FaFace *face;
    FaClip *loaded, *moved, *extended, *out_clip;
    bool head_cut; // --head-motion began with a rest pose
    int ncollider;
    FaCollider collider[COLLIDERS];
    FaClip *motion[COLLIDERS];
    char *lists[3];     // --collider and what goes with it, cut in place
    const FaClip *clip; // what is simulated
    int first;          // frame of it that is the result's first
    int from, to;       // frames of the result that are wanted
    FaMethod *method;
    FaRunFile *take;
    FaRunFileReport made;
    FaSequence *frames, *linear, *world;
    FaCompare compare;
    FaBakeReport bake;
    char *json;
    char generator[1024], path[4096];
} Job;

// --- the face: once per rig, beside the output ------------------------------------------------------------------

static void face_path(const char *rig_path, char *path, size_t size) {
    const char *out = common.output ? common.output : "", *slash = strrchr(out, '/'), *base = strrchr(rig_path, '/');
    base = base ? base + 1 : rig_path;
    const char *dot = strrchr(base, '.');
    snprintf(path, size, "%.*s%.*s.enrich.face", slash ? (int)(slash - out + 1) : 0, out,
             dot ? (int)(dot - base) : (int)strlen(base), base);
}

static FaCode make_face(Job *j, const char *path, FaError *err) {
    char partial[4200];
    snprintf(partial, sizeof partial, "%s.part", path);
    FaFaceOptions o = {.layers = 2, .simulate_vertices = 3500};
    FaVolumeOptions volumes = {.partial = partial, .progress = cli_progress};
    FaVolumesReport report;
    cli_say("the flesh of every shape, once per rig, kept in %s", path);
    FaCode rc = fa_face_build(j->rig, &o, &j->face, err);
    if (rc >= 0) rc = fa_face_materials(j->face, j->rig, NULL, err);
    if (rc >= 0) rc = fa_face_volumes(j->face, j->rig, &volumes, &report, err);
    cli_progress_end();
    if (rc >= 0) rc = fa_face_save(j->face, path, err);
    if (rc >= 0) remove(partial);
    if (rc >= 0)
        cli_say("  %d shapes in %.0f s%s", report.nshape, report.seconds,
                report.left_out ? "; some triangles are left out where shapes fold them: see fascia info" : "");
    return rc;
}

static FaCode get_face(Job *j, const char *rig_path, FaError *err) {
    const char *given = fa_params_text(cli_params, "face");
    if (given[0]) {
        FaCode rc = fa_face_load(given, &j->face, err);
        if (rc >= 0 && !fa_face_has_volumes(j->face))
            cli_say("note: %s has no volumes of the shapes; make it with fascia build --volumes", given);
        return rc;
    }
    char path[4096];
    FaError none = {0};
    face_path(rig_path, path, sizeof path);
    if (fa_face_load(path, &j->face, &none) >= 0 && fa_face_fits(j->face, j->rig, &none) >= 0 &&
        fa_face_volumes_fit(j->face, j->rig)) {
        cli_say("using %s", path);
        return FA_OK;
    }
    fa_face_free(j->face);
    j->face = NULL;
    return make_face(j, path, err);
}

// --- the clip ---------------------------------------------------------------------------------------------------

static bool has_note(const FaNotes *notes, const char *code) {
    for (int i = 0; i < notes->count; i++)
        if (!strcmp(notes->note[i].code, code)) return true;
    return false;
}

// Without the rest pose that some collections put first.
static FaCode cut_rest_pose(FaClip **motion, FaError *err) {
    FaClip *cut;
    if ((*motion)->nframe < 2) return FA_OK;
    FaCode rc = fa_clip_slice(*motion, 1, (*motion)->nframe - 1, &cut, err);
    if (rc < 0) return rc;
    cut->start = (*motion)->start; // the motion begins where the rest pose stood
    fa_clip_free(*motion);
    *motion = cut;
    return FA_OK;
}

// --head-motion: without the rest pose, and without jitter.
static FaCode load_head(Job *j, const FaClipOptions *copt, FaClip **motion, FaError *err) {
    FaCode rc = fa_clip_load(head_path, copt, motion, err);
    if (rc < 0) return rc;
    bool bvh = path_has_ext(head_path, "bvh");
    if (has_note(&(*motion)->notes, "first-frame-rest")) {
        rc = cut_rest_pose(motion, err);
        if (rc < 0) return rc;
        j->head_cut = true;
        cli_say("note: the first frame of %s is a rest pose: it is left out", head_path);
    }
    double hz = head_smooth >= 0 ? head_smooth : bvh ? BVH_SMOOTH : 0;
    if (hz <= 0) return FA_OK;
    if (head_smooth < 0)
        cli_say("note: the head's motion is smoothed below %g Hz; --head-smooth 0 leaves it as recorded", hz);
    return fa_clip_smooth_head(*motion, hz, err);
}

// A list "a,b,,d" cut in place: how many there are, of which at most COLLIDERS are kept.
static int cut_list(const char *text, char **copy, const char **item) {
    int n = 0;
    if (!text) return 0;
    *copy = strdup(text);
    for (char *at = *copy; at; n++) {
        if (n < COLLIDERS) item[n] = at;
        if ((at = strchr(at, ','))) *at++ = 0;
    }
    return n;
}

static bool is_gltf(const char *path) { return path_has_ext(path, "glb") || path_has_ext(path, "gltf"); }

// The animation of a .glb's node, in the unit in which colliders are read: the rig's. NULL: it has none.
static FaCode load_node_motion(const Job *j, const char *path, FaClip **motion, FaError *err) {
    double unit = j->rig->unit;
    FaRigOptions o = {.unit = unit == 0.01 ? FA_UNIT_CM : unit == 0.001 ? FA_UNIT_MM : FA_UNIT_M, .any_size = true};
    FaRig *own = NULL;
    FaCode rc = fa_rig_load(path, &o, &own, err);
    if (rc < 0) return rc;
    *motion = own->clip;
    own->clip = NULL;
    fa_rig_free(own);
    return FA_OK;
}

// "take.bvh:JOINT" in its two parts, the first in place; NULL: no joint is named.
static char *cut_joint(char *file) {
    for (char *at = file; (at = strchr(at, ':')); at++)
        if (at - file > 4 && at[-4] == '.' && (at[-3] | 32) == 'b' && (at[-2] | 32) == 'v' && (at[-1] | 32) == 'h') {
            *at = 0;
            return at + 1;
        }
    return NULL;
}

static FaCode load_motion_file(const Job *j, char *file, const FaClipOptions *copt, FaClip **motion, FaError *err) {
    FaClipOptions own = *copt;
    char *joint = cut_joint(file);
    bool bvh = path_has_ext(file, "bvh");
    if (joint) own.joint = joint;
    if (!bvh) own.fps = 0; // --fps is the clip's: these have times of their own
    FaCode rc = is_gltf(file) ? load_node_motion(j, file, motion, err) : fa_clip_load(file, &own, motion, err);
    if (rc < 0) return rc;
    for (int i = 0; *motion && i < (*motion)->notes.count; i++) {
        const FaNote *note = &(*motion)->notes.note[i];
        bool guessed = !strcmp(note->code, "bvh-unit") || !strcmp(note->code, "z-up") ||
                       (!strcmp(note->code, "head-joint") && !joint);
        if (guessed || !strcmp(note->code, "first-frame-rest") || !strcmp(note->code, "several-animations"))
            cli_say("note: %s: %s", file, note->text);
    }
    // a hand of the same recording keeps in step with the head
    bool same = bvh && j->head_cut && !strcmp(file, head_path);
    return same || (bvh && *motion && has_note(&(*motion)->notes, "first-frame-rest")) ? cut_rest_pose(motion, err)
                                                                                       : FA_OK;
}

// As long as the clip and on its clock, where their times meet at all (of recordings that began apart; times of the
// day); else from their beginnings.
static FaCode fit_motion(Job *j, int i, FaClip *motion, FaError *err) {
    const FaClip *clip = j->clip;
    double end = clip->time[clip->nframe - 1], last = motion->time[motion->nframe - 1],
           late = motion->start - clip->start;
    if (!(late <= end && late + last >= 0)) late = 0;
    for (int f = 0; f < motion->nframe; f++) motion->time[f] += late;
    FaCode rc = fa_clip_with_head(clip, motion, &j->motion[i], err);
    if (rc < 0) return rc;
    // the clip's last moment and its beat, so that passes of a loop are as long
    FaClip *fit = j->motion[i];
    if (end > 0 && fit->nframe > 1) {
        fit->time[fit->nframe - 1] = end;
        fa_clip_sample(motion, end, NULL, &fit->head[fit->nframe - 1]);
    }
    fit->fps = clip->fps;
    return FA_OK;
}

// The motion of one collider: of a file of its own, or the animation in the mesh's.
static FaCode load_motion(Job *j, int i, const char *path, const FaClipOptions *copt, FaError *err) {
    FaClip *motion = NULL;
    FaCollider *c = &j->collider[i];
    bool given = path && path[0];
    if (!given && !is_gltf(c->path)) return FA_OK;
    char *file = strdup(given ? path : c->path);
    if (!file) return FA_E_MEMORY;
    FaCode rc = load_motion_file(j, file, copt, &motion, err);
    bool moves = rc >= 0 && motion && motion->head;
    c->in_file = moves && is_gltf(file);
    if (rc >= 0 && given && !moves)
        rc = (cli_usage("%s has no poses: give a CSV with head.q* and head.p*, a JSON clip with \"head\", "
                        "take.bvh:JOINT, or a .glb whose node moves",
                        file),
              FA_E_ARG);
    else if (moves)
        rc = fit_motion(j, i, motion, err);
    c->motion = j->motion[i];
    fa_clip_free(motion);
    free(file);
    return rc;
}

static FaCode load_colliders(Job *j, const FaClipOptions *copt, FaError *err) {
    const char *path[COLLIDERS] = {0}, *motion[COLLIDERS] = {0}, *frame[COLLIDERS] = {0};
    int n = cut_list(colliders, &j->lists[0], path), motions = cut_list(collider_motions, &j->lists[1], motion),
        frames = cut_list(collider_frames, &j->lists[2], frame);
    if (n > COLLIDERS)
        return cli_usage("--collider names %d meshes, at most %d are taken: join what moves together in one mesh", n,
                         COLLIDERS),
               FA_E_ARG;
    if (motions > n)
        return cli_usage("--collider-motion has %d entries, --collider %d: give one for each, nothing between two "
                         "commas for none",
                         motions, n),
               FA_E_ARG;
    if (frames > 1 && frames > n)
        return cli_usage("--collider-frame has %d entries, --collider %d: give one for all or one for each", frames, n),
               FA_E_ARG;
    for (int i = 0; i < n; i++) {
        const char *in = frames == 1 ? frame[0] : frame[i] ? frame[i] : "";
        if (!path[i][0])
            return cli_usage("entry %d of --collider is empty: name a mesh there, or take out the comma", i + 1),
                   FA_E_ARG;
        if (in[0] && strcmp(in, "head") && strcmp(in, "world"))
            return cli_usage("--collider-frame is head or world, not '%s'", in), FA_E_ARG;
        j->collider[i] = (FaCollider){.path = path[i],
                                      .frame = !in[0]         ? FA_COLLIDER_AUTO
                                               : in[0] == 'h' ? FA_COLLIDER_HEAD
                                                              : FA_COLLIDER_WORLD};
        FaCode rc = load_motion(j, i, motion[i], copt, err);
        if (rc < 0) return rc;
        j->ncollider = i + 1;
    }
    return FA_OK;
}

static FaCode load_clip(Job *j, const char *clip_path, FaError *err) {
    FaClipOptions copt = load_clip_options();
    FaCode rc = clip_path ? fa_clip_load(clip_path, &copt, &j->loaded, err) : FA_OK;
    if (rc < 0) return rc;
    j->clip = j->loaded ? j->loaded : j->rig->clip;
    if (!j->clip) return FA_OK;
    if (!(out_fps > 0)) out_fps = j->clip->fps;
    if (head_path) {
        FaClip *motion = NULL;
        rc = load_head(j, &copt, &motion, err);
        if (rc >= 0) rc = fa_clip_with_head(j->clip, motion, &j->moved, err);
        fa_clip_free(motion);
        if (rc < 0) return rc;
        j->clip = j->moved;
    }
    int count = 1 + (int)(j->clip->time[j->clip->nframe - 1] * out_fps + 1e-6);
    if (!cli_frames(count, &j->from, &j->to)) return FA_E_ARG;
    rc = load_colliders(j, &copt, err);
    if (rc < 0) return rc;
    int hold = (int)(preroll * j->clip->fps + 0.5), passes = loop ? 2 : 1;
    if (hold == 0 && passes == 1) return FA_OK;
    double start = hold / j->clip->fps + (passes - 1) * (j->clip->time[j->clip->nframe - 1] + 1 / j->clip->fps);
    j->first = (int)(start * out_fps + 0.5);
    for (int i = 0; i < j->ncollider; i++) {
        FaClip *longer;
        if (!j->motion[i]) continue;
        rc = fa_clip_extend(j->motion[i], hold, passes, &longer, err);
        if (rc < 0) return rc;
        fa_clip_free(j->motion[i]);
        j->collider[i].motion = j->motion[i] = longer;
    }
    rc = fa_clip_extend(j->clip, hold, passes, &j->extended, err);
    if (rc >= 0) j->clip = j->extended;
    return rc;
}

// --- simulating -------------------------------------------------------------------------------------------------

static FaCode simulate(Job *j, FaError *err) {
    FaCode rc = fa_params_json(cli_params, &j->json, err);
    if (rc >= 0) snprintf(j->generator, sizeof j->generator, "fascia %s enrich %s", fa_version(), j->json);
    // whose head poses they are: a loop of the rig's own clip still speaks of the rig's own world
    const FaClip *whose = j->moved ? j->moved : j->loaded ? j->loaded : j->rig->clip;
    FaMethodSetup setup = {.rig = j->rig,
                           .face = j->face,
                           .params = cli_params,
                           .collider = j->collider,
                           .ncollider = j->ncollider,
                           .clip = whose};
    if (rc >= 0) rc = fa_method_open("enrich", &setup, &j->method, err);
    snprintf(j->path, sizeof j->path, "%s%s",
             keep_path       ? keep_path
             : common.output ? common.output
                             : "fascia",
             keep_path ? "" : ".take");
    FaRunFileOptions o = {
        .params = cli_params, .fps = out_fps, .count = j->first + j->to + 1, .progress = cli_progress};
    if (rc >= 0) rc = fa_run_file_make(j->method, j->clip, j->path, &o, &j->take, &j->made, err);
    cli_progress_end();
    if (rc < 0) return rc;
    say_notes("enrich", fa_method_notes(j->method));
    if (keep_path && j->made.fresh[0]) cli_say("note: %s was not used: %s", keep_path, j->made.fresh);
    if (j->made.continued_at >= 0) cli_say("went on at frame %d", j->made.continued_at);
    if (j->made.kept > 0 && j->made.changed_at >= 0 && j->made.rejoined_at >= 0)
        cli_say("changed from frame %d on, back on the old path at %d: %d of %d frames were made, %d saved",
                j->made.changed_at, j->made.rejoined_at, j->made.made, j->made.frames, j->made.kept);
    else if (j->made.kept > 0)
        cli_say("%d of %d frames were made, %d taken from before", j->made.made, j->made.frames, j->made.kept);
    return FA_OK;
}

static FaCode compare(Job *j, FaError *err) {
    const FaClip *played = fa_run_file_clip(j->take);
    FaCompareOptions opt = {.rig = j->rig, .intersections = out_options.check, .progress = cli_progress};
    FaSequence *linear = NULL;
    int last = j->made.frames - 1;
    FaCode rc = fa_sequence_slice(fa_run_file_sequence(j->take), j->first, last, &j->frames, err);
    if (rc >= 0) rc = fa_clip_slice(played, j->first, last, &j->out_clip, err);
    if (rc >= 0) rc = fa_sequence_of_clip(j->rig, j->out_clip, &linear, err);
    j->linear = linear;
    if (rc >= 0) rc = fa_compare(j->linear, j->frames, &opt, &j->compare, err);
    cli_progress_end();
    return rc;
}

static FaCode write_out(Job *j, FaError *err) {
    FaSequence *seq = j->frames, *cut = NULL, *before = NULL;
    FaClip *clip = NULL;
    FaCode rc = FA_OK;
    if (out_options.world && j->out_clip->head) {
        rc = fa_sequence_world(seq, j->out_clip, &j->world, err);
        seq = j->world;
    }
    if (rc >= 0) rc = fa_sequence_slice(seq, j->from, j->to, &cut, err);
    if (rc >= 0) rc = fa_sequence_slice(j->linear, j->from, j->to, &before, err);
    if (rc >= 0) rc = fa_clip_slice(j->out_clip, j->from, j->to, &clip, err);
    OutFrames out = {.rig = j->rig,
                     .seq = cut,
                     .before = before,
                     .clip = clip,
                     .name = "enrich",
                     .verb = "enrich",
                     .generator = j->generator,
                     .sheet = true};
    if (rc >= 0) rc = out_save(&out, common.output, &j->bake, err);
    fa_sequence_close(before);
    fa_sequence_close(cut);
    fa_clip_free(clip);
    return rc;
}

static void report(const Job *j, int frames, double seconds) {
    FaRunStats stats = fa_run_file_stats(j->take);
    double ms = stats.frames ? 1e3 * stats.seconds / stats.frames : 0;
    if (!common.json) {
        cli_say("%d frames, %.1f ms each; flesh moves up to %.2f mm, %.3f mm on average", frames, ms, j->compare.max_mm,
                j->compare.mean_mm);
        if (j->ncollider)
            cli_say("skin is at most %.2f mm inside a collider", 1e3 * fa_enrich_collider_depth(j->method));
        if (stats.clamped) cli_say("note: %d solves stopped short of their tolerance", stats.clamped);
        if (common.output && !common.dry_run) cli_say("wrote %s", common.output);
        if (j->bake.targets) cli_say("baked %d morph targets, largest error %.4f mm", j->bake.targets, j->bake.max_mm);
        return;
    }
    printf("{\"frames\":%d,\"seconds\":%.6f,\"ms_per_frame\":%.6f,\"max_displacement_mm\":%.9g,\"mean_displacement_"
           "mm\":%.9g,\"intersections\":%d,\"clamped\":%d,",
           frames, seconds, ms, j->compare.max_mm, j->compare.mean_mm,
           out_options.check ? j->compare.intersections_b : -1, stats.clamped);
    printf("\"colliders\":%d,\"collider_depth_mm\":%.9g,", j->ncollider, 1e3 * fa_enrich_collider_depth(j->method));
    printf("\"made\":%d,\"kept\":%d,\"changed_at\":%d,\"rejoined_at\":%d,\"continued_at\":%d,\"warnings\":",
           j->made.made, j->made.kept, j->made.changed_at, j->made.rejoined_at, j->made.continued_at);
    const FaNotes *notes = fa_method_notes(j->method);
    print_notes(&notes, 1);
    printf(",\"parameters\":%s,\"output\":", j->json);
    if (common.output && !common.dry_run)
        cli_json_string(common.output);
    else
        printf("null");
    printf(",\"bake\":{\"targets\":%d,\"max_mm\":%.9g}}\n", j->bake.targets, j->bake.max_mm);
}

static void job_free(Job *j) {
    fa_compare_free(&j->compare);
    fa_sequence_close(j->world);
    fa_sequence_close(j->frames);
    fa_sequence_close(j->linear);
    if (j->take && !keep_path) remove(j->path);
    fa_run_file_free(j->take);
    fa_method_close(j->method);
    fa_free(j->json);
    fa_clip_free(j->out_clip);
    fa_clip_free(j->extended);
    fa_clip_free(j->moved);
    fa_clip_free(j->loaded);
    for (int i = 0; i < COLLIDERS; i++) fa_clip_free(j->motion[i]);
    for (int i = 0; i < 3; i++) free(j->lists[i]);
    fa_face_free(j->face);
    fa_rig_free(j->rig);
}

// A .face stands for the rig it was built from.
static FaCode load_subject(Job *j, const char *path, const char **rig_path, FaError *err) {
    *rig_path = path;
    if (!path_has_ext(path, "face")) return load_rig(path, &j->rig, err);
    FaCode rc = fa_face_load(path, &j->face, err);
    if (rc < 0) return rc;
    *rig_path = fa_face_rig_path(j->face);
    if (!(*rig_path)[0])
        return cli_usage("%s does not say which rig it was made from: give the rig, and --face %s", path, path),
               FA_E_ARG;
    return load_rig(*rig_path, &j->rig, err);
}

static int run(int argc, const char **argv) {
    if (!common.output && !common.dry_run && !common.json) return cli_usage("where to? give -o OUT");
    FaError err = {0};
    Job j = {0};
    const char *rig_path;
    int code = EXIT_OK;
    double begin = cli_seconds();
    FaCode rc = load_subject(&j, argv[0], &rig_path, &err);
    if (rc >= 0) rc = load_clip(&j, argc > 1 ? argv[1] : NULL, &err);
    if (rc >= 0 && !j.clip) code = cli_usage("%s has no animation: give a CLIP", argv[0]);
    if (rc >= 0 && code == EXIT_OK && !j.face) rc = get_face(&j, rig_path, &err);
    if (rc >= 0 && code == EXIT_OK) rc = simulate(&j, &err);
    if (rc >= 0 && code == EXIT_OK) rc = compare(&j, &err);
    if (rc >= 0 && code == EXIT_OK && common.output && !common.dry_run) rc = write_out(&j, &err);
    cli_progress_end();
    if (rc < 0) code = err.what[0] ? cli_fail(&err) : EXIT_USAGE;
    if (rc >= 0 && code == EXIT_OK) report(&j, j.to - j.from + 1, cli_seconds() - begin);
    if (rc == FA_STALLED && code == EXIT_OK) {
        cli_say("warning: %d targets leave an error of %.4f mm; raise --max-targets or --bake-error", j.bake.targets,
                j.bake.max_mm);
        code = EXIT_CONVERGE;
    }
    job_free(&j);
    return code;
}

const Command cmd_enrich = {
    .name = "enrich",
    .line = "flesh that swings and settles around an animation and leaves it alone",
    .usage = "enrich RIG|FACE [CLIP] -o OUT [options]",
    .examples =
        "  fascia enrich head.glb take.csv -o out.glb                          a take with flesh, in your own file\n"
        "  fascia enrich head.glb talk.csv --head-motion run.bvh -o out.html   the head runs; beside linear blending, "
        "in a browser\n"
        "  fascia enrich head.glb take.csv -o out.pc2 --keep take.sim          edit the take and run it again: only "
        "what changed is made\n"
        "  fascia enrich head.glb take.csv --collider hand.obj --collider-motion hand.csv -o out.glb   a hand pushes "
        "the cheek\n"
        "  fascia enrich head.glb walk.csv --loop -o walk.glb --strength cheeks=1.5,lips=0.5\n",
    .notes = "Out: .glb .gltf .pc2 .mdd .usda, name_####.obj, .html; pictures .png .mp4 .gif.\n"
             "Without CLIP the rig's own animation is played. The flesh of the rig's shapes is made once and kept "
             "beside the output\n"
             "(RIG.enrich.face); fascia build --volumes makes it by itself. docs/guide/enrich.md says what "
             "to turn.\n",
    .options = options,
    .method = "enrich",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
