// fascia blend RIG CLIP: a clip with inertia and damping. And what the other jobs share.
#include "blend_jobs.h"

#include "fascia/page.h"
#include "fascia/render.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

// --- shared -------------------------------------------------------------------------------------------------------

bool blend_has_ext(const char *path, const char *ext) {
    const char *dot = strrchr(path, '.');
    return dot && !strcasecmp(dot + 1, ext);
}

bool blend_is_picture(const char *path) {
    return blend_has_ext(path, "png") || blend_has_ext(path, "mp4") || blend_has_ext(path, "gif");
}

FaCode blend_load_rig(const char *path, FaRig **rig, FaError *err) {
    FaRigOptions opt = load_rig_options();
    return fa_rig_load(path, &opt, rig, err);
}

int blend_shape(const FaRig *rig, const char *name, size_t n) {
    for (int pass = 0; pass < 2; pass++)
        for (int s = 0; s < rig->nshape; s++) {
            const FaShape *shape = &rig->shape[s];
            const char *own = pass == 0                               ? shape->name
                              : shape->arkit >= 0 && shape->half == 0 ? fa_arkit_name(shape->arkit)
                                                                      : "";
            if (strlen(own) == n && !strncmp(own, name, n)) return s;
        }
    cli_usage("the rig has no shape '%.*s'; fascia info %s names them", (int)n, name, rig->path);
    return -1;
}

bool blend_number(const char *text, size_t n, double *v) {
    char copy[64], *end;
    if (n == 0 || n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    *v = strtod(copy, &end); // the program never calls setlocale: "C" rules
    return !*end && *v - *v == 0;
}

static bool set_part(const char *name, const char *text, double *to) {
    if (!text || blend_number(text, strlen(text), to)) return true;
    cli_usage("--%s takes a number, not '%s'", name, text);
    return false;
}

bool blend_oscillator(FaOscillator *o) {
    *o = (FaOscillator){1.5, 8, 10}; // the paper's first example: close to linear interpolation
    if (blend.frequency || blend.ratio) {
        cli_usage("a still's time is not seconds: give --mass, --damping and --stiffness, not --frequency or --ratio");
        return false;
    }
    if (blend.preset && !fa_oscillator_preset(blend.preset, o)) {
        cli_usage("--preset takes soft, heavy, snappy, firm or jelly, not '%s'", blend.preset);
        return false;
    }
    return set_part("mass", blend.mass, &o->mass) && set_part("damping", blend.damping, &o->damping) &&
           set_part("stiffness", blend.stiffness, &o->stiffness);
}

FaParams *blend_params(FaError *err) {
    const struct {
        const char *name, *text;
    } given[] = {{"preset", blend.preset},       {"mass", blend.mass},           {"damping", blend.damping},
                 {"stiffness", blend.stiffness}, {"frequency", blend.frequency}, {"ratio", blend.ratio},
                 {"head", blend.head},           {"gravity", blend.gravity},     {"maps", blend.maps},
                 {"sculpt", blend.sculpt}};
    FaParams *p;
    if (fa_params_new("analytic", &p, err) < 0) return NULL;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].text && fa_params_set(p, given[i].name, given[i].text, err) < 0) {
            fa_params_free(p);
            return NULL;
        }
    return p;
}

static FaCode save_page(const BlendFrames *f, const char *path, FaError *err) {
    FaPageTrack tracks[2];
    int n = 0;
    if (f->before)
        tracks[n++] = (FaPageTrack){.name = "linear", .note = "the rig as it is", .seq = f->before, .clip = f->clip};
    tracks[n++] = (FaPageTrack){.name = f->name, .seq = f->seq, .clip = f->clip};
    FaPageOptions opt = {.title = "fascia blend", .facts = f->generator, .progress = cli_progress};
    return fa_page_save(path, f->rig, tracks, n, &opt, err);
}

static FaCode save_picture(const BlendFrames *f, const char *path, FaError *err) {
    FaRenderJob job = fa_render_job();
    job.rig = f->rig;
    job.clip = f->clip;
    job.generator = f->generator;
    job.progress = cli_progress;
    if (blend_has_ext(path, "png") && f->sheet) {
        int n = fa_sequence_nframe(f->seq);
        job.picture = FA_PICTURE_FRAMES;
        job.tiles = n < 120 ? n : 120;
        job.look.width = job.look.height = 200;
    }
    return fa_render_file(f->seq, &job, path, err);
}

FaCode blend_save(const BlendFrames *f, const char *path, FaBakeReport *bake, FaError *err) {
    if (blend_has_ext(path, "html")) return save_page(f, path, err);
    if (blend_is_picture(path)) return save_picture(f, path, err);
    double fps = fa_sequence_fps(f->seq);
    FaSinkOptions opt = {.rig = f->rig,
                         .clip = f->clip,
                         .fps = fps > 0 ? fps : 30,
                         .bake_error_mm = blend.bake_error,
                         .max_targets = blend.max_targets,
                         .generator = f->generator,
                         .progress = cli_progress};
    return fa_sequence_save(f->seq, path, &opt, bake, err);
}

// --- clips --------------------------------------------------------------------------------------------------------

typedef struct ClipJob {
    FaRig *rig;
    FaClip *loaded, *cut;
    const FaClip *clip;
    FaParams *params;
    FaMethod *method;
    FaRun *run;
    FaSequence *linear, *world;
    FaCompare compare;
    char *json; // of the parameters
    char generator[1024];
} ClipJob;

static void job_free(ClipJob *j) {
    fa_compare_free(&j->compare);
    fa_sequence_close(j->world);
    fa_sequence_close(j->linear);
    fa_run_free(j->run);
    fa_method_close(j->method);
    fa_params_free(j->params);
    fa_free(j->json);
    fa_clip_free(j->cut);
    fa_clip_free(j->loaded);
    fa_rig_free(j->rig);
}

// --frames cuts the result, but what came before still acts: the clip is cut only at its end.
static FaCode load(ClipJob *j, const char *rig_path, const char *clip_path, int *first, int *last, int *usage,
                   FaError *err) {
    FaClipOptions copt = load_clip_options();
    FaCode rc = blend_load_rig(rig_path, &j->rig, err);
    if (rc >= 0 && clip_path) rc = fa_clip_load(clip_path, &copt, &j->loaded, err);
    if (rc < 0) return rc;
    j->clip = j->loaded ? j->loaded : j->rig->clip;
    if (!j->clip) {
        *usage = cli_usage("%s has no animation: give a CLIP, or --weights", rig_path);
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

static FaCode simulate(ClipJob *j, FaError *err) {
    j->params = blend_params(err);
    if (!j->params) return err->code;
    FaCode rc = fa_params_json(j->params, &j->json, err);
    if (rc >= 0) snprintf(j->generator, sizeof j->generator, "fascia %s blend %s", fa_version(), j->json);
    if (rc >= 0) rc = fa_method_open("analytic", j->rig, j->params, &j->method, err);
    if (rc >= 0) rc = fa_run_new(j->method, j->loaded, &j->run, err);
    if (rc >= 0) rc = fa_sequence_of_clip(j->rig, j->clip, &j->linear, err);
    FaCompareOptions opt = {.rig = j->rig, .intersections = blend.check, .progress = cli_progress};
    if (rc >= 0) rc = fa_compare(j->linear, fa_run_sequence(j->run), &opt, &j->compare, err);
    cli_progress_end();
    return rc;
}

// The frames asked for, in the frame asked for.
static FaCode write_out(ClipJob *j, int first, int last, FaBakeReport *bake, FaError *err) {
    FaSequence *seq = fa_run_sequence(j->run), *cut = NULL, *before = NULL;
    bool all = first == 0 && last == fa_sequence_nframe(seq) - 1;
    FaCode rc = FA_OK;
    if (blend.world && j->clip->head) {
        rc = fa_sequence_world(seq, j->clip, &j->world, err);
        seq = j->world;
    }
    if (rc >= 0) rc = fa_sequence_slice(seq, first, last, &cut, err);
    if (rc >= 0) rc = fa_sequence_slice(j->linear, first, last, &before, err);
    if (rc >= 0 && !all) rc = fa_clip_slice(j->clip, first, last, &j->cut, err);
    BlendFrames frames = {.rig = j->rig,
                          .seq = cut,
                          .before = before,
                          .clip = all ? j->clip : j->cut,
                          .name = "analytic",
                          .generator = j->generator,
                          .sheet = true};
    if (rc >= 0) rc = blend_save(&frames, common.output, bake, err);
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
           frames, seconds, ms, j->compare.max_mm, j->compare.mean_mm, blend.check ? j->compare.intersections_b : -1,
           stats.clamped);
    printf("\"warnings\":[],\"parameters\":%s,\"output\":", j->json);
    if (common.output && !common.dry_run)
        cli_json_string(common.output);
    else
        printf("null");
    printf(",\"bake\":{\"targets\":%d,\"max_mm\":%.9g}}\n", bake->targets, bake->max_mm);
}

int blend_clip(const char *rig_path, const char *clip_path) {
    FaError err = {0};
    ClipJob j = {0};
    FaBakeReport bake = {0};
    int first = 0, last = 0, usage = EXIT_OK;
    double begin = cli_seconds();
    FaCode rc = load(&j, rig_path, clip_path, &first, &last, &usage, &err);
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
