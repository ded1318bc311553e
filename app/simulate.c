// The walk that every simulating verb makes: rig, clip, method, frames, file, report.
#include "simulate.h"

#include "markers_job.h"

#include "fascia/page.h"
#include "fascia/render.h"
#include "fascia/report.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

OutOptions out_options;

bool path_has_ext(const char *path, const char *ext) {
    const char *dot = strrchr(path, '.');
    return dot && !strcasecmp(dot + 1, ext);
}

bool path_is_picture(const char *path) {
    return path_has_ext(path, "png") || path_has_ext(path, "mp4") || path_has_ext(path, "gif");
}

FaCode load_rig(const char *path, FaRig **rig, FaError *err) {
    FaRigOptions opt = load_rig_options();
    return fa_rig_load(path, &opt, rig, err);
}

// Beside linear blending, with how far each frame is from it; in the world that would measure the head's motion.
static FaCode save_page(const OutFrames *f, const char *path, FaError *err) {
    FaPageTrack tracks[2];
    FaCompare compare = {0};
    int n = 0;
    if (f->before) {
        if (!out_options.world) TRY(fa_compare(f->before, f->seq, &(FaCompareOptions){.rig = f->rig}, &compare, err));
        tracks[n++] = (FaPageTrack){.name = "linear", .note = "the rig as it is", .seq = f->before, .clip = f->clip};
    }
    FaPageNumbers numbers[] = {{"distance to linear, max mm", compare.frame_max_mm}};
    tracks[n++] = (FaPageTrack){.name = f->name, .seq = f->seq, .clip = f->clip, .numbers = numbers};
    tracks[n - 1].nnumbers = compare.frame_max_mm && compare.frames == fa_sequence_nframe(f->seq);
    for (int i = 0; i < n; i++) tracks[i].crossings = out_options.check;
    char title[64];
    snprintf(title, sizeof title, "fascia %s", f->verb);
    FaPageOptions opt = {.title = title, .facts = f->generator, .progress = cli_progress};
    FaCode rc = fa_page_save(path, f->rig, tracks, n, &opt, err);
    fa_compare_free(&compare);
    return rc;
}

static FaCode save_picture(const OutFrames *f, const char *path, FaError *err) {
    FaRenderJob job = fa_render_job();
    job.rig = f->rig;
    job.clip = f->clip;
    job.generator = f->generator;
    job.progress = cli_progress;
    if (path_has_ext(path, "png") && f->sheet) {
        int n = fa_sequence_nframe(f->seq);
        job.picture = FA_PICTURE_FRAMES;
        job.tiles = n < 120 ? n : 120;
        job.look.width = job.look.height = 200;
    }
    return fa_render_file(f->seq, &job, path, err);
}

FaCode out_save(const OutFrames *f, const char *path, FaBakeReport *bake, FaError *err) {
    if (path_has_ext(path, "html")) return save_page(f, path, err);
    if (path_is_picture(path)) return save_picture(f, path, err);
    double fps = fa_sequence_fps(f->seq); // a recording does not know it
    if (!(fps > 0) && f->clip) fps = f->clip->fps;
    FaSinkOptions opt = {.rig = f->rig,
                         .clip = f->clip,
                         .fps = fps > 0 ? fps : 30,
                         .bake_error_mm = out_options.bake_error,
                         .max_targets = out_options.max_targets,
                         .generator = f->generator,
                         .progress = cli_progress};
    return fa_sequence_save(f->seq, path, &opt, bake, err);
}

// --- clips --------------------------------------------------------------------------------------------------------

typedef struct ClipJob {
    const Simulation *s;
    FaRig *rig;
    FaClip *loaded, *cut;
    const FaClip *clip;
    FaMethod *method;
    FaRun *run;
    FaSequence *frames; // of the run, or as recorded
    Recording recorded;
    FaSequence *linear, *world;
    FaCompare compare;
    char *json; // of the parameters
    char generator[1024];
} ClipJob;

static void job_free(ClipJob *j) {
    fa_compare_free(&j->compare);
    fa_sequence_close(j->world);
    recording_free(&j->recorded);
    fa_sequence_close(j->linear);
    fa_run_free(j->run);
    fa_method_close(j->method);
    fa_free(j->json);
    fa_clip_free(j->cut);
    fa_clip_free(j->loaded);
    fa_rig_free(j->rig);
}

// --frames cuts the result, but what came before still acts: the clip is cut only at its end.
static FaCode load(ClipJob *j, int *first, int *last, int *usage, FaError *err) {
    const char *rig_path = j->s->rig_path, *clip_path = j->s->clip_path;
    FaClipOptions copt = load_clip_options();
    FaCode rc = load_rig(rig_path, &j->rig, err);
    if (rc >= 0 && clip_path) rc = fa_clip_load(clip_path, &copt, &j->loaded, err);
    if (rc < 0) return rc;
    j->clip = j->loaded ? j->loaded : j->rig->clip;
    if (!j->clip) {
        *usage = cli_usage("%s has no animation: give %s", rig_path, j->s->no_clip);
        return FA_OK;
    }
    if (!cli_frames(j->clip->nframe, first, last)) *usage = EXIT_USAGE;
    if (j->loaded) {
        FaBinding binding;
        rc = fa_clip_bind(j->clip, j->rig, &binding, err);
        if (rc < 0) return rc;
        int matched = binding.matched;
        fa_binding_free(&binding);
        if (!matched && !j->clip->head)
            *usage = cli_usage("no channel of %s drives a shape of %s; name them with --map", clip_path, rig_path);
        else if (!matched)
            cli_say("note: no channel of %s drives a shape; only the head moves", clip_path);
    }
    return FA_OK;
}

// Comparing, baking and pages read frames several times.
FaCode recording_make(FaSequence *frames, const FaRig *rig, const FaClip *clip, Recording *rec, FaError *err) {
    static int made;
    const char *out = common.output ? common.output : "", *slash = strrchr(out, '/'), *tmp = getenv("TMPDIR");
    char dir[4000];
    if (common.output)
        snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - out + 1) : 2, slash ? out : "./");
    else
        snprintf(dir, sizeof dir, "%s/", tmp && *tmp ? tmp : "/tmp");
    snprintf(rec->path, sizeof rec->path, "%s.fascia-%ld-%d.pc2", dir, (long)getpid(), made++);
    double fps = fa_sequence_fps(frames);
    FaSinkOptions opt = {.rig = rig, .clip = clip, .fps = fps > 0 ? fps : 30, .progress = cli_progress};
    FaCode rc = fa_sequence_save(frames, rec->path, &opt, NULL, err);
    cli_progress_end();
    if (rc >= 0) rc = fa_sequence_open(rec->path, NULL, &rec->seq, err);
    return rc;
}

void recording_free(Recording *rec) {
    fa_sequence_close(rec->seq);
    if (rec->path[0]) remove(rec->path);
    *rec = (Recording){0};
}

static FaCode record(ClipJob *j, FaError *err) {
    FaCode rc = recording_make(j->frames, j->rig, j->clip, &j->recorded, err);
    if (rc >= 0) j->frames = j->recorded.seq;
    return rc;
}

static FaCode simulate(ClipJob *j, FaError *err) {
    FaCode rc = fa_params_json(j->s->params, &j->json, err);
    if (rc >= 0) snprintf(j->generator, sizeof j->generator, "fascia %s %s %s", fa_version(), j->s->verb, j->json);
    if (rc >= 0)
        rc = fa_method_open(j->s->method, &(FaMethodSetup){.rig = j->rig, .params = j->s->params}, &j->method, err);
    if (rc >= 0) rc = fa_run_new(j->method, j->loaded, &j->run, err);
    if (rc >= 0) rc = fa_sequence_of_clip(j->rig, j->clip, &j->linear, err);
    FaCompareOptions opt = {.rig = j->rig, .intersections = out_options.check, .progress = cli_progress};
    if (rc >= 0) j->frames = fa_run_sequence(j->run);
    if (rc >= 0 && j->s->slow) rc = record(j, err);
    if (rc >= 0) rc = fa_compare(j->linear, j->frames, &opt, &j->compare, err);
    cli_progress_end();
    return rc;
}

// The frames asked for, in the frame asked for.
static FaCode write_out(ClipJob *j, int first, int last, FaBakeReport *bake, FaError *err) {
    FaSequence *seq = j->frames, *cut = NULL, *before = NULL;
    bool all = first == 0 && last == fa_sequence_nframe(seq) - 1;
    FaCode rc = FA_OK;
    if (out_options.world && j->clip->head) {
        rc = fa_sequence_world(seq, j->rig, j->clip, &j->world, err);
        seq = j->world;
    }
    if (rc >= 0) rc = fa_sequence_slice(seq, first, last, &cut, err);
    if (rc >= 0) rc = fa_sequence_slice(j->linear, first, last, &before, err);
    if (rc >= 0 && !all) rc = fa_clip_slice(j->clip, first, last, &j->cut, err);
    OutFrames frames = {.rig = j->rig,
                        .seq = cut,
                        .before = before,
                        .clip = all ? j->clip : j->cut,
                        .name = j->s->method,
                        .verb = j->s->verb,
                        .generator = j->generator,
                        .sheet = true};
    if (rc >= 0) rc = out_save(&frames, common.output, bake, err);
    fa_sequence_close(before);
    fa_sequence_close(cut);
    return rc;
}

static void report(const ClipJob *j, int frames, double seconds, const FaBakeReport *bake) {
    FaRunStats stats = fa_run_stats(j->run);
    double ms = stats.frames ? 1e3 * stats.seconds / stats.frames : 0;
    if (!common.json) {
        cli_say("%d frames, %.4f ms each; up to %.2f mm from linear blending, %.3f mm on average", frames, ms,
                j->compare.max_mm, j->compare.mean_mm);
        if (common.output && !common.dry_run) cli_say("wrote %s", common.output);
        if (bake->targets) cli_say("baked %d morph targets, largest error %.4f mm", bake->targets, bake->max_mm);
        return;
    }
    printf("{\"frames\":%d,\"seconds\":%.6f,\"ms_per_frame\":%.6f,\"max_displacement_mm\":%.9g,\"mean_displacement_"
           "mm\":%.9g,\"intersections\":%d,\"clamped\":%d,",
           frames, seconds, ms, j->compare.max_mm, j->compare.mean_mm,
           out_options.check ? j->compare.intersections_b : -1, stats.clamped);
    printf("\"warnings\":");
    const FaNotes *notes = fa_method_notes(j->method);
    print_notes(&notes, 1);
    printf(",\"parameters\":%s,\"output\":", j->json);
    if (common.output && !common.dry_run)
        cli_json_string(common.output);
    else
        printf("null");
    printf(",\"bake\":{\"targets\":%d,\"max_mm\":%.9g}}\n", bake->targets, bake->max_mm);
}

int simulate_clip(const Simulation *sim) {
    FaError err = {0};
    ClipJob j = {.s = sim};
    FaBakeReport bake = {0};
    int first = 0, last = 0, usage = EXIT_OK;
    double begin = cli_seconds();
    FaCode rc = load(&j, &first, &last, &usage, &err);
    if (rc >= 0 && usage == EXIT_OK) rc = simulate(&j, &err);
    if (rc >= 0 && usage == EXIT_OK && common.output && !common.dry_run) rc = write_out(&j, first, last, &bake, &err);
    cli_progress_end();
    int code = rc < 0 ? cli_fail(&err) : usage;
    if (rc >= 0 && usage == EXIT_OK) report(&j, last - first + 1, cli_seconds() - begin, &bake);
    if (rc == FA_STALLED) {
        cli_say("warning: %d targets leave an error of %.4f mm; raise --max-targets or --bake-error", bake.targets,
                bake.max_mm);
        code = EXIT_CONVERGE;
    }
    job_free(&j);
    return code;
}
