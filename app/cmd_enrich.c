// fascia enrich: secondary motion of flesh on an artist's animation, by simulation of the volume below the skin.
#include "head_motion.h"
#include "outputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *keep_path;
static const char *colliders, *collider_motions, *collider_frames;
static bool loop;
static double preroll, out_fps;
static const double SEAM_STEPS = 2;      // a seam is seen where it is this many times the steps beside it
static const double SEAM_LEAST = 0.1e-3; // m

enum { COLLIDERS = 16 };

static const Option options[] = {
    HEAD_MOTION_OPTIONS,
    {"out-fps", 0, OPT_NUM, &out_fps, "N", 1, 1000, "frames per second of the result (the clip's)"},
    {"preroll", 0, OPT_NUM, &preroll, "S", 0, 60, "seconds to hold the first frame before the clip begins (0)"},
    {"loop", 0, OPT_FLAG, &loop, NULL, 0, 0,
     "the clip is a cycle: it is simulated twice and the second pass is written, so that the end flows into the start"},
    {"keep", 0, OPT_OUT, &keep_path, "FILE.run", 0, 0,
     "keep the run file: after an edit only changed frames are simulated again"},
    OPTION_GROUP("Colliders"),
    {"collider", 0, OPT_TEXT, &colliders, "FILE[,FILE...]", 0, 0,
     "meshes that push the skin (a hand, glasses), in the place and unit of the rig: .obj, .glb"},
    {"collider-motion", 0, OPT_TEXT, &collider_motions, "FILE[,FILE...]", 0, 0,
     "how they move, in the same order: CSV, JSON, BVH[:JOINT] or .glb (without: the .glb's own animation)"},
    {"collider-frame", 0, OPT_TEXT, &collider_frames, "head|world[,...]", 0, 0,
     "head: it moves with the head (glasses). world: it does not (a hand). Default: world with a motion, else head"},
    OUT_OPTIONS,
    CHECK_OPTION,
    LOAD_OPTIONS("map"),
    {0}};

typedef struct Enrich {
    Job job;
    FaClip *moved, *extended, *out_clip;
    FaClip *shown;     // the head's motion as it is written; NULL: as it is simulated
    FaClip *head_felt; // of --head-motion on a body
    HeadMotionFile head_file;
    bool still; // nothing moves the flesh
    int ncollider;
    FaCollider collider[COLLIDERS];
    FaRig *mesh[COLLIDERS]; // of them
    FaClip *motion[COLLIDERS];
    char **lists[3];    // --collider and what goes with it
    const FaClip *clip; // what is simulated
    int skip;           // frames before the result's first
    double begin;       // s of them
    FaRunFile *file;
    FaRunFileReport made;
    FaSequence *frames;
    char path[4096];
} Enrich;

// --- the face: once per rig, beside the output ------------------------------------------------------------------

static void face_path(const char *rig_path, char *path, size_t size) {
    const char *out = common.output ? common.output : "", *slash = strrchr(out, '/'), *base = path_base(rig_path),
               *ext = strrchr(base, '.');
    snprintf(path, size, "%.*s%.*s.enrich%s.face", slash ? (int)(slash - out + 1) : 0, out,
             ext ? (int)(ext - base) : (int)strlen(base), base,
             fa_params_get(cli_params, "flesh") > 0 ? ".filled" : "");
}

// Said once, before the minutes that it takes.
static bool volumes_begin(void *user, const char *stage, double done) {
    const char **path = user;
    if (*path && !strcmp(stage, "volumes")) {
        cli_say("making the flesh of every shape, once per rig; it is kept in %s", *path);
        *path = NULL;
    }
    return cli_progress(NULL, stage, done);
}

static FaCode get_face(Job *j, FaError *err) {
    char path[4096];
    const char *given = fa_params_text(cli_params, "face"), *file = given[0] ? given : NULL,
               *announce = file ? NULL : path;
    FaFaceGot got;
    const FaFaceOptions built = job_face_options(fa_method_needs("enrich"));
    FaFaceGet how = {.file = file,
                     .cache = path,
                     .options = &built,
                     .progress = volumes_begin,
                     .progress_user = &announce,
                     .got = &got};
    face_path(j->rig_path, path, sizeof path);
    FaCode rc = fa_face_get(j->rig, fa_method_needs("enrich"), &how, &j->face, err);
    cli_progress_end();
    TRY(rc);
    if (file && got.made)
        cli_say("note: %s has no %s: they are made for this run only (to keep them: fascia build RIG --volumes)", file,
                got.made & FA_NEED_VOLUMES ? "flesh of the shapes" : "materials");
    else if (!got.made)
        cli_say("using %s", file ? file : path);
    else
        cli_say("  %d shapes in %.0f s%s", got.volumes.nshape, got.volumes.seconds,
                got.volumes.left_out ? "; some flesh is left out where shapes fold it: see fascia info" : "");
    return FA_OK;
}

// --- the clip ---------------------------------------------------------------------------------------------------

static bool has_note(const FaNotes *notes, const char *code) {
    for (int i = 0; i < notes->count; i++)
        if (!strcmp(notes->note[i].code, code)) return true;
    return false;
}

static bool is_gltf(const char *path) { return path_has_ext(path, "glb") || path_has_ext(path, "gltf"); }

// The animation of a .glb's node, in the unit in which colliders are read: the rig's. Poses of the mesh's own frame:
// the node may carry any mesh (FaCollider.in_file). NULL: it has none.
static FaCode load_node_motion(const Enrich *j, const char *path, FaClip **motion, FaError *err) {
    FaRig *own = NULL;
    FaCode rc = fa_collider_load(path, j->job.rig, &own, err);
    if (rc < 0) return rc;
    *motion = own->clip;
    own->clip = NULL;
    for (int f = 0; *motion && (*motion)->head && f < (*motion)->nframe; f++)
        (*motion)->head[f] = fa_rig_pose(own, &(*motion)->head[f]);
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

static FaCode load_motion_file(const Enrich *j, char *file, const FaClipOptions *copt, FaClip **motion, FaError *err) {
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
    // a hand of the same recording keeps in step with the head, in time and place
    bool same = bvh && *motion && head_motion.path && !strcmp(file, head_motion.path);
    if ((same && j->head_file.rested) || (bvh && *motion && has_note(&(*motion)->notes, "first-frame-rest")))
        TRY(fa_clip_skip_first(motion, err));
    if (same) fa_clip_move_head(*motion, &j->head_file.begins);
    return FA_OK;
}

// As long as the clip and on its clock, where their times meet at all (of recordings that began apart; times of the
// day); else from their beginnings.
static FaCode fit_motion(Enrich *j, int i, FaClip *motion, FaError *err) {
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
static FaCode load_motion(Enrich *j, int i, const char *mesh, const char *path, const FaClipOptions *copt,
                          FaError *err) {
    FaClip *motion = NULL;
    FaCollider *c = &j->collider[i];
    bool given = path && path[0];
    if (!given && !is_gltf(mesh)) return FA_OK;
    char *file = strdup(given ? path : mesh);
    if (!file) return cli_no_memory(err);
    FaCode rc = load_motion_file(j, file, copt, &motion, err);
    bool moves = rc >= 0 && motion && motion->head;
    c->in_file = moves && is_gltf(file);
    if (rc >= 0 && given && !moves)
        rc = cli_wrong(err,
                       "%s has no poses: give a CSV with head.q* and head.p*, a JSON clip with \"head\", "
                       "take.bvh:JOINT, or a .glb whose node moves",
                       file);
    else if (moves)
        rc = fit_motion(j, i, motion, err);
    c->motion = j->motion[i];
    fa_clip_free(motion);
    free(file);
    return rc;
}

// Entry i of a list; "" where there is none.
static const char *entry(char **list, int n, int i) { return i < n ? list[i] : ""; }

static FaCode load_collider(Enrich *j, int i, const char *path, const char *motion, const char *frame,
                            const FaClipOptions *copt, FaError *err) {
    if (!path[0])
        return cli_wrong(err, "entry %d of --collider is empty: name a mesh there, or take out the comma", i + 1);
    if (frame[0] && strcmp(frame, "head") && strcmp(frame, "world"))
        return cli_wrong(err, "--collider-frame is head or world, not '%s'", frame);
    TRY(fa_collider_load(path, j->job.rig, &j->mesh[i], err));
    j->collider[i] = (FaCollider){.mesh = j->mesh[i],
                                  .frame = !frame[0]         ? FA_COLLIDER_AUTO
                                           : frame[0] == 'h' ? FA_COLLIDER_HEAD
                                                             : FA_COLLIDER_WORLD};
    TRY(load_motion(j, i, path, motion, copt, err));
    j->ncollider = i + 1;
    return FA_OK;
}

static FaCode load_colliders(Enrich *j, const FaClipOptions *copt, FaError *err) {
    const char *text[3] = {colliders, collider_motions, collider_frames};
    int count[3];
    for (int i = 0; i < 3; i++)
        if (!(j->lists[i] = split_list(text[i], &count[i])) && text[i]) return cli_no_memory(err);
    int n = count[0], motions = count[1], frames = count[2];
    if (n > COLLIDERS)
        return cli_wrong(err, "--collider names %d meshes, at most %d are taken: join what moves together in one mesh",
                         n, COLLIDERS);
    if (motions > n)
        return cli_wrong(err,
                         "--collider-motion has %d entries, --collider %d: give one for each, nothing between two "
                         "commas for none",
                         motions, n);
    if (frames > 1 && frames > n)
        return cli_wrong(err, "--collider-frame has %d entries, --collider %d: give one for all or one for each",
                         frames, n);
    for (int i = 0; i < n; i++)
        TRY(load_collider(j, i, j->lists[0][i], entry(j->lists[1], motions, i),
                          entry(j->lists[2], frames, frames == 1 ? 0 : i), copt, err));
    return FA_OK;
}

// m; frames of nvert vertices
static double largest_step(const float *a, const float *b, int nvert) {
    double most = 0;
    for (int v = 0; v < nvert; v++) {
        double d[3];
        for (int k = 0; k < 3; k++) d[k] = (double)a[3 * v + k] - (double)b[3 * v + k];
        most = fmax(most, d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    }
    return sqrt(most);
}

// --loop: flesh is thrown at the seam where the clip's last frame is not followed by its first.
static FaCode check_seam(const Enrich *j, FaSequence *seq, FaError *err) {
    int n = fa_sequence_nframe(seq), nvert = fa_sequence_nvert(seq);
    const int frame[4] = {0, 1, n - 2, n - 1};
    float *x[4] = {0};
    FaCode rc = FA_OK;
    for (int i = 0; i < 4 && rc >= 0; i++) {
        x[i] = malloc(3 * (size_t)nvert * sizeof *x[i]);
        rc = x[i] ? fa_sequence_read(seq, frame[i], x[i], err) : cli_no_memory(err);
    }
    if (rc >= 0) {
        double gap = largest_step(x[3], x[0], nvert),
               step = fmax(largest_step(x[0], x[1], nvert), largest_step(x[2], x[3], nvert));
        if (gap > SEAM_STEPS * step + SEAM_LEAST)
            cli_say("note: --loop: the first and the last frame are %.1f mm apart, a step beside them is %.1f mm: the "
                    "flesh jumps there (cut %s to whole cycles: fascia convert IN OUT --frames A-B)",
                    1e3 * gap, 1e3 * step, j->job.clip_path ? j->job.clip_path : j->job.rig_path);
    }
    for (int i = 0; i < 4; i++) free(x[i]);
    return rc;
}

static FaCode look_at_seam(const Enrich *j, FaError *err) {
    FaSequence *seq = NULL, *moved = NULL;
    if (!loop || j->clip->nframe < 2) return FA_OK;
    FaCode rc = fa_sequence_of_clip(j->job.rig, j->clip, &seq, err);
    if (rc >= 0 && j->clip->head) rc = fa_sequence_world(seq, j->job.rig, j->clip, &moved, err);
    if (rc >= 0) rc = check_seam(j, moved ? moved : seq, err);
    fa_sequence_close(moved);
    fa_sequence_close(seq);
    return rc;
}

// --preroll and --loop: what is simulated is longer than the result, and so are the colliders' motions.
static FaCode extend(Enrich *j, FaError *err) {
    const FaClip *clip = j->clip;
    int hold = (int)(preroll * clip->fps + 0.5), passes = loop ? 2 : 1;
    if (hold == 0 && passes == 1) return FA_OK;
    double start = hold / clip->fps + (passes - 1) * (clip->time[clip->nframe - 1] + 1 / clip->fps);
    j->skip = (int)(start * out_fps + 0.5);
    j->begin = start;
    for (int i = 0; i < j->ncollider; i++) {
        FaClip *longer;
        if (!j->motion[i]) continue;
        TRY(fa_clip_extend(j->motion[i], hold, passes, &longer, err));
        fa_clip_free(j->motion[i]);
        j->collider[i].motion = j->motion[i] = longer;
    }
    TRY(fa_clip_extend(clip, hold, passes, &j->extended, err));
    j->clip = j->extended;
    return FA_OK;
}

// Without a head that moves, colliders, and what --alpha and --gravity may add, flesh stays in the artist's shape.
static bool stands_still(const Enrich *j) {
    bool felt = j->clip->head && fa_params_get(cli_params, "head") > 0;
    return !felt && !j->ncollider && !*fa_params_text(cli_params, "forces") &&
           fa_params_get(cli_params, "alpha") >= 1 && fa_params_get(cli_params, "gravity") >= 1 &&
           !(fa_params_get(cli_params, "strict") > 0);
}

static FaCode load(Job *job, FaError *err) {
    Enrich *j = (Enrich *)job;
    FaClipOptions copt = load_clip_options();
    const FaClip *felt = job->felt;
    j->clip = job->clip;
    j->head_file.begins.q[3] = 1;
    TRY(head_motion_check(err));
    if (!(out_fps > 0)) out_fps = j->clip->fps;
    if (head_motion.path) {
        TRY(head_motion_add(job, &j->moved, &j->head_felt, &j->head_file, err));
        j->clip = j->moved, felt = j->head_felt;
    }
    if (felt) { // a body's head: what is shown is less than what is felt
        TRY(fa_clip_slice(j->clip, 0, j->clip->nframe - 1, &j->shown, err));
        j->clip = felt;
    }
    TRY(cli_frames(fa_clip_frames(j->clip, out_fps), &job->first, &job->last, err));
    TRY(load_colliders(j, &copt, err));
    j->still = stands_still(j);
    if (j->still) {
        cli_say("note: nothing moves the flesh: no head motion (--head-motion FILE gives one), no collider, no "
                "--forces. What is "
                "written is your animation as it is");
        return FA_OK;
    }
    TRY(look_at_seam(j, err));
    TRY(extend(j, err));
    return get_face(job, err);
}

// --- simulating -------------------------------------------------------------------------------------------------

static void say_made(const Enrich *j) {
    const FaRunFileReport *m = &j->made;
    if (keep_path && m->fresh[0]) cli_say("note: %s was not used: %s", keep_path, m->fresh);
    if (m->continued_at >= 0) cli_say("continued at frame %d, where the last run stopped", m->continued_at);
    if (m->kept > 0 && m->changed_at >= 0 && m->rejoined_at >= 0)
        cli_say("frames %d to %d changed; %d of %d frames were simulated, %d kept", m->changed_at, m->rejoined_at - 1,
                m->made, m->frames, m->kept);
    else if (m->kept > 0)
        cli_say("%d of %d frames were simulated, %d kept", m->made, m->frames, m->kept);
}

// A clip's own frames, at the rate asked for.
static FaCode make_still(Enrich *j, FaError *err) {
    Job *job = &j->job;
    TRY(job_parameters(job, err));
    if (out_fps == j->clip->fps)
        TRY(fa_clip_slice(j->clip, 0, j->clip->nframe - 1, &j->out_clip, err));
    else
        TRY(fa_clip_resample(j->clip, out_fps, &j->out_clip, err));
    job->last = job->last < j->out_clip->nframe ? job->last : j->out_clip->nframe - 1;
    TRY(fa_sequence_of_clip(job->rig, j->out_clip, &j->frames, err));
    job->frames = j->frames;
    job->played = j->out_clip;
    return FA_OK;
}

// The run's file: the one to keep, or one beside the output that goes when that is written. Without either it has a
// name that no other run has.
static void run_path(Enrich *j) {
    const char *tmp = getenv("TMPDIR");
    if (keep_path)
        snprintf(j->path, sizeof j->path, "%s", keep_path);
    else if (common.output)
        snprintf(j->path, sizeof j->path, "%s.run", common.output);
    else
        snprintf(j->path, sizeof j->path, "%s/fascia-%ld.run", tmp && *tmp ? tmp : "/tmp", (long)getpid());
}

static FaCode make(Job *job, FaError *err) {
    Enrich *j = (Enrich *)job;
    if (j->still) return make_still(j, err);
    TRY(job_method(job, "enrich", (FaMethodSetup){.collider = j->collider, .ncollider = j->ncollider}, err));
    run_path(j);
    if (keep_path || common.output)
        outputs_resume = "the frames made so far are kept, and the same command goes on from there";
    FaRunFileOptions o = {.params = cli_params,
                          .replace = common.force,
                          .fps = out_fps,
                          .begin = j->begin,
                          .count = j->skip + job->last + 1,
                          .progress = cli_progress};
    TRY(fa_run_file_open(job->method, j->clip, j->path, &o, &j->file, &j->made, err));
    cli_progress_end();
    say_made(j);
    job->stats = fa_run_file_stats(j->file);
    job_note(job, fa_run_file_notes(j->file));
    int last = j->made.frames - 1;
    TRY(fa_sequence_slice(fa_run_file_sequence(j->file), j->skip, last, &j->frames, err));
    TRY(fa_clip_slice(fa_run_file_clip(j->file), j->skip, last, &j->out_clip, err));
    for (int f = 0; j->shown && f < j->out_clip->nframe; f++)
        fa_clip_sample(j->shown, j->out_clip->time[f], NULL, &j->out_clip->head[f]);
    job->frames = j->frames;
    job->played = j->out_clip;
    return FA_OK;
}

static void say(Job *job) {
    const Enrich *j = (const Enrich *)job;
    if (j->ncollider) cli_say("skin is at most %.2f mm inside a collider", 1e3 * fa_enrich_collider_depth(job->method));
}

static void json(Job *job, FaJsonWriter *w) {
    const Enrich *j = (const Enrich *)job;
    fa_json_int(w, "colliders", j->ncollider);
    fa_json_number(w, "collider_depth_mm", job->method ? 1e3 * fa_enrich_collider_depth(job->method) : 0);
    fa_json_int(w, "made", j->made.made);
    fa_json_int(w, "kept", j->made.kept);
    fa_json_int(w, "changed_at", j->made.changed_at);
    fa_json_int(w, "rejoined_at", j->made.rejoined_at);
    fa_json_int(w, "continued_at", j->made.continued_at);
}

static void enrich_free(Job *job) {
    Enrich *j = (Enrich *)job;
    fa_sequence_close(j->frames);
    // after a failure the frames stay, so that the same command need not make them again
    if (j->file && !keep_path && (job->written || !common.output)) remove(j->path);
    fa_run_file_close(j->file);
    fa_clip_free(j->out_clip);
    fa_clip_free(j->extended);
    fa_clip_free(j->moved);
    fa_clip_free(j->shown);
    fa_clip_free(j->head_felt);
    for (int i = 0; i < COLLIDERS; i++) fa_clip_free(j->motion[i]), fa_rig_free(j->mesh[i]);
    for (int i = 0; i < 3; i++) free(j->lists[i]);
}

static int run(int argc, const char **argv) {
    if (!common.output && !common.dry_run && !common.json) return output_missing("out.glb");
    int code = cli_only("in enrich", "head-motion loop-motion out-fps preroll loop keep collider collider-motion "
                                     "collider-frame world cache-unit bake-error max-targets check fps frames hinge "
                                     "head-units joint head-smooth @method");
    if (code != EXIT_OK) return code;
    static const char *const needs[] = {"collider_stiffness", "collider_friction"};
    for (int i = 0; i < 2; i++)
        if (cli_given(needs[i]) && !colliders)
            return cli_usage("--collider-%s goes with --collider FILE", strchr(needs[i], '_') + 1);
    if (collider_frames && !colliders) return cli_usage("--collider-frame goes with --collider FILE");
    Enrich j = {.job = {.verb = "enrich",
                        .doctor = true,
                        .track = "enrich",
                        .rig_path = argv[0],
                        .clip_path = argc > 1 ? argv[1] : NULL,
                        .no_clip = "a CLIP",
                        .load = load,
                        .make = make,
                        .say = say,
                        .json = json,
                        .free = enrich_free,
                        .simulated = true}};
    return job_walk(&j.job);
}

const Command cmd_enrich = {
    .name = "enrich",
    .line = "flesh that swings when the head moves; the animation itself is not changed",
    .usage = "enrich RIG|FACE [CLIP] -o OUT [options]",
    .examples =
        "  fascia enrich head.glb clip.csv -o out.glb                           a clip with flesh, in your own file\n"
        "  fascia enrich head.glb clip.csv -o compare.html                      before and after, in a browser\n"
        "  fascia enrich head.glb talk.csv --head-motion run.bvh -o out.glb     the head runs while it talks\n"
        "  fascia enrich head.glb walk.csv --loop -o walk.glb                   a walk cycle\n"
        "  fascia enrich head.glb clip.csv -o out.glb --strength cheeks=1.5,lips=0.5\n"
        "  fascia enrich head.glb clip.csv -o out.pc2 --keep clip.run           again after an edit: only changed\n"
        "                                                                       frames are simulated\n"
        "  fascia enrich head.glb clip.csv --forces wind.json -o out.glb        wind, another gravity, pushes\n"
        "  fascia enrich head.glb clip.csv --collider hand.obj --collider-motion hand.csv -o out.glb\n",
    .notes = "Out: .glb .gltf .pc2 .mdd .usda, name_####.obj, .html; pictures .png .mp4 .gif.\n"
             "Without CLIP the rig's own animation is played. The flesh of the rig's shapes is made once (a minute or "
             "more)\n"
             "and kept beside the output as RIG.enrich.face. Guide: docs/guide/enrich.md\n",
    .options = options,
    .writes = "glb gltf vrm pc2 mdd usda obj html png mp4 m4v mov gif csv json",
    .method = "enrich",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
