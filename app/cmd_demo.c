// fascia demo: everything on one head and one clip, with files to open at the end.
#include "cli.h"
#include "fascia/drive.h"
#include "fascia/head.h"
#include "fascia/projective.h"
#include "fascia/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int level = 1;
static const char *clip_name = "talk";

static const Option options[] = {
    {"level", 0, OPT_INT, &level, "N", 0, 2, "resolution of the head, 0 to 2 (1)"},
    {"clip", 0, OPT_TEXT, &clip_name, "NAME", 0, 0, "talk, rom, run, shake, nod or press (talk)"},
    {0}};

typedef struct Demo {
    const char *dir;
    FaHead *head;
    FaRig *rig;
    FaClip *clip;
    FaMethod *method, *flesh;
    FaRun *run;
    FaFace *face;
    FaMarkerMap *map;
    FaMarkerTake *take;
    FaDrive *drive;
    FaFace *volumes; // with the flesh of every shape
    FaSequence *linear, *truth, *pressed, *driven, *enriched;
    FaCompare compare, lag, flesh_lag, swing, dots,
        own; // own: of the shapes alone, by their clip's weights, from the truth
    char path[4096];
} Demo;

static const char *in_dir(Demo *d, const char *name) {
    snprintf(d->path, sizeof d->path, "%s/%s", d->dir, name);
    return d->path;
}

static FaCode read_truth(void *user, int frame, float *x, FaError *err) {
    const Demo *d = user; // the head's clips have one channel per ARKit shape, in order
    return fa_head_truth(d->head, 0, d->clip->weight + (size_t)frame * (size_t)d->clip->nchan, x, err);
}

static FaCode make_head(Demo *d, FaError *err) {
    FaHeadParams params = fa_head_params_default();
    params.level = level;
    fa_head_params_seed(&params, (uint64_t)common.seed);
    FaCode rc = fa_head_new(&params, &d->head, err);
    if (rc >= 0) rc = fa_head_clip(clip_name, &d->clip, err);
    if (rc >= 0)
        rc = fa_head_save(d->head, d->clip, false, "fascia " FA_VERSION_TEXT " demo", in_dir(d, "head.glb"), err);
    // from here on as with anybody's rig: from its file
    if (rc >= 0) rc = fa_rig_load(in_dir(d, "head.glb"), NULL, &d->rig, err);
    if (rc >= 0)
        cli_say("  %-14s the head: %d vertices, %d shapes, clip '%s' of %.1f s", "head.glb", d->rig->mesh.nvert,
                d->rig->nshape, clip_name, d->clip->time[d->clip->nframe - 1]);
    return rc;
}

static FaCode write_report(Demo *d, FaError *err) {
    FaInfo info;
    char *text;
    FaCode rc = fa_info_of_rig(d->rig, true, &info, err);
    if (rc < 0) return rc;
    rc = fa_info_text(&info, true, &text, err);
    fa_info_free(&info);
    if (rc < 0) return rc;
    FILE *f = fopen(in_dir(d, "info.txt"), "wb");
    if (f) {
        fputs(text, f);
        fclose(f);
        cli_say("  %-14s the rig doctor's report", "info.txt");
    }
    fa_free(text);
    return FA_OK;
}

static FaCode bake(Demo *d, FaError *err) {
    FaBakeReport report = {0};
    FaSinkOptions opt = {.rig = d->rig,
                         .clip = d->clip,
                         .fps = d->clip->fps,
                         .generator = "fascia " FA_VERSION_TEXT " demo",
                         .progress = cli_progress};
    FaSequence *exact = NULL;
    FaCode rc = fa_sequence_custom(d->rig->mesh.nvert, d->clip->nframe, d->clip->fps, read_truth, d, &exact, err);
    if (rc >= 0) rc = fa_sequence_of_clip(d->rig, d->clip, &d->linear, err);
    if (rc >= 0) rc = fa_sequence_save(exact, in_dir(d, "truth.pc2"), &opt, NULL, err);
    fa_sequence_close(exact);
    // baking and the page read the frames several times: from the file, not by evaluating them again
    if (rc >= 0) rc = fa_sequence_open(in_dir(d, "truth.pc2"), NULL, &d->truth, err);
    if (rc >= 0) cli_say("  %-14s what real skin does: the jaw turns, lids slide, lips stop each other", "truth.pc2");
    if (rc >= 0) rc = fa_sequence_save(d->truth, in_dir(d, "truth.glb"), &opt, &report, err);
    cli_progress_end();
    if (rc >= 0)
        cli_say("  %-14s the same, baked: %d morph targets, every vertex within %.3f mm", "truth.glb", report.targets,
                report.max_mm);
    if (rc >= 0) rc = fa_compare(d->linear, d->truth, &(FaCompareOptions){.rig = d->rig}, &d->compare, err);
    if (rc >= 0)
        cli_say("  %-14s linear blending is off by %.2f mm at most, %.3f mm on average", "", d->compare.max_mm,
                d->compare.mean_mm);
    return rc;
}

// Flesh at the price of linear blending: the analytic method, with its default preset.
static FaCode play_analytic(Demo *d, FaError *err) {
    FaBakeReport report = {0};
    FaSinkOptions opt = {.rig = d->rig,
                         .clip = d->clip,
                         .fps = d->clip->fps,
                         .generator = "fascia " FA_VERSION_TEXT " demo",
                         .progress = cli_progress};
    FaCode rc = fa_method_open("analytic", &(FaMethodSetup){.rig = d->rig}, &d->method, err);
    if (rc >= 0) rc = fa_run_new(d->method, d->clip, &d->run, err);
    if (rc >= 0) rc = fa_sequence_save(fa_run_sequence(d->run), in_dir(d, "analytic.glb"), &opt, &report, err);
    cli_progress_end();
    if (rc >= 0) rc = fa_compare(d->linear, fa_run_sequence(d->run), &(FaCompareOptions){.rig = d->rig}, &d->lag, err);
    if (rc >= 0)
        cli_say("  %-14s flesh that lags and settles: %.2f mm behind at most, %d morph targets", "analytic.glb",
                d->lag.max_mm, report.targets);
    return rc;
}

// Flesh by simulation: volume, inertia, lips that press and stick. Written once, read back by the page.
static FaCode play_projective(Demo *d, FaError *err) {
    FaBakeReport report = {0};
    FaRun *run = NULL;
    FaSinkOptions opt = {.rig = d->rig,
                         .clip = d->clip,
                         .fps = d->clip->fps,
                         .generator = "fascia " FA_VERSION_TEXT " demo",
                         .progress = cli_progress};
    FaCode rc = fa_face_get(d->rig, fa_method_needs("projective"), NULL, &d->face, err);
    if (rc >= 0) rc = fa_method_open("projective", &(FaMethodSetup){.rig = d->rig, .face = d->face}, &d->flesh, err);
    if (rc >= 0) rc = fa_run_new(d->flesh, d->clip, &run, err);
    if (rc >= 0) rc = fa_sequence_save(fa_run_sequence(run), in_dir(d, "projective.pc2"), &opt, NULL, err);
    cli_progress_end();
    if (rc >= 0) {
        FaRunStats stats = fa_run_stats(run);
        cli_say("  %-14s flesh on bone, simulated: %.1f ms per frame", "projective.pc2",
                1e3 * stats.seconds / (stats.frames ? stats.frames : 1));
    }
    fa_run_free(run);
    if (rc >= 0) rc = fa_sequence_open(in_dir(d, "projective.pc2"), NULL, &d->pressed, err);
    if (rc >= 0) rc = fa_sequence_save(d->pressed, in_dir(d, "projective.glb"), &opt, &report, err);
    cli_progress_end();
    FaCompareOptions compare = {.rig = d->rig, .intersections = true, .progress = cli_progress};
    if (rc >= 0) rc = fa_compare(d->linear, d->pressed, &compare, &d->flesh_lag, err);
    cli_progress_end();
    if (rc >= 0)
        cli_say("  %-14s baked, %d morph targets; triangles that cross: %d with linear blending, %d with flesh",
                "projective.glb", report.targets, d->flesh_lag.intersections_a, d->flesh_lag.intersections_b);
    return rc;
}

// What real skin does, seen through 80 dots only, and put together again: the truth is not the solver's.
static FaCode drive_by_dots(Demo *d, FaError *err) {
    enum { DOTS = 80 };
    FaDriveOptions how = {.kind = FA_DRIVE_BF, .head_frame = true, .progress = cli_progress};
    FaSinkOptions opt = {.rig = d->rig,
                         .clip = d->clip,
                         .fps = d->clip->fps,
                         .generator = "fascia " FA_VERSION_TEXT " demo",
                         .progress = cli_progress};
    FaCode rc = fa_markers_choose(d->rig, DOTS, &d->map, err);
    if (rc >= 0) rc = fa_markers_sample(d->truth, d->map, d->clip->fps, &d->take, err);
    if (rc >= 0) rc = fa_markers_save(d->take, in_dir(d, "dots.csv"), err);
    if (rc >= 0) cli_say("  %-14s %d dots on the truth, as a camera system would see them", "dots.csv", DOTS);
    if (rc >= 0) rc = fa_drive_open(d->rig, d->face, d->take, d->map, &how, &d->drive, err);
    cli_progress_end();
    if (rc >= 0) rc = fa_sequence_save(fa_drive_sequence(d->drive), in_dir(d, "driven.pc2"), &opt, NULL, err);
    cli_progress_end();
    if (rc >= 0) rc = fa_sequence_open(in_dir(d, "driven.pc2"), NULL, &d->driven, err);
    if (rc >= 0) rc = fa_compare(d->truth, d->driven, &(FaCompareOptions){.rig = d->rig}, &d->dots, err);
    if (rc >= 0) rc = fa_compare(d->truth, d->linear, &(FaCompareOptions){.rig = d->rig}, &d->own, err);
    if (rc >= 0)
        cli_say("  %-14s the face from those dots: %.3f mm from the truth on average (its shapes and weights alone: "
                "%.3f mm)",
                "driven.pc2", d->dots.mean_mm, d->own.mean_mm);
    return rc;
}

// The flesh of every shape takes a minute: a folder that has it already keeps it.
static FaCode get_volumes(Demo *d, FaError *err) {
    const FaFaceGet how = {.cache = in_dir(d, "head.enrich.face"), .progress = cli_progress};
    FaCode rc = fa_face_get(d->rig, fa_method_needs("enrich"), &how, &d->volumes, err);
    cli_progress_end();
    return rc;
}

// Flesh that leaves the animation alone and swings around it.
static FaCode play_enrich(Demo *d, FaError *err) {
    FaParams *params = NULL;
    FaMethod *method = NULL;
    FaRun *run = NULL;
    FaSinkOptions opt = {.rig = d->rig,
                         .clip = d->clip,
                         .fps = d->clip->fps,
                         .generator = "fascia " FA_VERSION_TEXT " demo",
                         .progress = cli_progress};
    FaCode rc = get_volumes(d, err);
    if (rc >= 0) cli_say("  %-14s the flesh of every shape, and what it stiffens", "head.enrich.face");
    if (rc >= 0) rc = fa_params_new("enrich", &params, err);
    if (rc >= 0) rc = fa_params_set(params, "rate", "120", err); // fascia enrich takes 300
    if (rc >= 0)
        rc = fa_method_open("enrich", &(FaMethodSetup){.rig = d->rig, .face = d->volumes, .params = params}, &method,
                            err);
    if (rc >= 0) rc = fa_run_new(method, d->clip, &run, err);
    if (rc >= 0) rc = fa_sequence_save(fa_run_sequence(run), in_dir(d, "enrich.pc2"), &opt, NULL, err);
    cli_progress_end();
    if (rc >= 0) rc = fa_sequence_open(in_dir(d, "enrich.pc2"), NULL, &d->enriched, err);
    if (rc >= 0) rc = fa_compare(d->linear, d->enriched, &(FaCompareOptions){.rig = d->rig}, &d->swing, err);
    if (rc >= 0) {
        FaRunStats stats = fa_run_stats(run);
        cli_say("  %-14s flesh around the animation: %.2f mm from it at most, where the head moves; %.0f ms per frame",
                "enrich.pc2", d->swing.max_mm, 1e3 * stats.seconds / (stats.frames ? stats.frames : 1));
    }
    fa_run_free(run);
    fa_method_close(method);
    fa_params_free(params);
    return rc;
}

static FaCode draw(Demo *d, FaError *err) {
    FaRenderJob job = fa_render_job();
    job.look.width = job.look.height = 768;
    FaSequence *seq = NULL;
    FaCode rc = fa_sequence_open(in_dir(d, "head.glb"), NULL, &seq, err);
    if (rc >= 0) rc = fa_render_file(seq, &job, in_dir(d, "head.png"), err);
    if (rc >= 0) cli_say("  %-14s a picture", "head.png");
    job.look.width = job.look.height = 160;
    job.look.samples = 4;
    job.picture = FA_PICTURE_SHAPES;
    fa_render_view("front", &job.look.view);
    if (rc >= 0) rc = fa_render_file(seq, &job, in_dir(d, "shapes.png"), err);
    if (rc >= 0) cli_say("  %-14s every shape at weight 1", "shapes.png");
    fa_sequence_close(seq);
    return rc;
}

static FaCode write_page(Demo *d, FaError *err) {
    static const char max_mm[] = "distance to linear, max mm", mean_mm[] = "distance to linear, mean mm";
    FaPageNumbers truth[] = {{max_mm, d->compare.frame_max_mm}, {mean_mm, d->compare.frame_mean_mm}};
    FaPageNumbers flesh[] = {{max_mm, d->flesh_lag.frame_max_mm}, {mean_mm, d->flesh_lag.frame_mean_mm}};
    FaPageNumbers swing[] = {{max_mm, d->swing.frame_max_mm}, {mean_mm, d->swing.frame_mean_mm}};
    FaPageNumbers lag[] = {{max_mm, d->lag.frame_max_mm}, {mean_mm, d->lag.frame_mean_mm}};
    static const char dense[] = "distance to the truth, mean mm";
    FaPageNumbers dots[] = {{dense, d->dots.frame_mean_mm}};
    char note[96];
    snprintf(note, sizeof note, "from 80 dots of the truth: %.3f mm off on average", d->dots.mean_mm);
    FaPageNumbers own[] = {{dense, d->own.frame_mean_mm}};
    FaPageTrack tracks[] = {
        {.name = "linear",
         .note = "blendshapes as they are",
         .seq = d->linear,
         .clip = d->clip,
         .numbers = own,
         .nnumbers = 1},
        {.name = "analytic",
         .note = "inertia, damping",
         .seq = fa_run_sequence(d->run),
         .clip = d->clip,
         .numbers = lag,
         .nnumbers = 2},
        {.name = "projective",
         .note = "volume, inertia, contact, sticky lips",
         .seq = d->pressed,
         .clip = d->clip,
         .numbers = flesh,
         .nnumbers = 2},
        {.name = "enrich",
         .note = "the animation itself, and flesh that swings around it",
         .seq = d->enriched,
         .clip = d->clip,
         .numbers = swing,
         .nnumbers = 2},
        {.name = "blendforces, 80 dots",
         .note = note,
         .seq = d->driven,
         .clip = fa_drive_clip(d->drive),
         .numbers = dots,
         .nnumbers = 1,
         .markers = fa_drive_markers(d->drive),
         .map = d->map},
        {.name = "truth", .note = "nonlinear", .seq = d->truth, .clip = d->clip, .numbers = truth, .nnumbers = 2}};
    FaPageOptions opt = {.title = "fascia: one head, one clip",
                         .facts = "fascia demo\nLinear blendshapes, the analytic method, flesh by projective dynamics "
                                  "and around the animation, what real skin does, and that again from 80 dots.",
                         .progress = cli_progress};
    FaCode rc = fa_page_save(in_dir(d, "demo.html"), d->rig, tracks, 6, &opt, err);
    cli_progress_end();
    if (rc >= 0) cli_say("  %-14s open this one: play, compare, heat map, sliders", "demo.html");
    return rc;
}

static int run(int argc, const char **argv) {
    (void)argc, (void)argv;
    FaError err = {0};
    Demo d = {.dir = common.output ? common.output : "demo"};
    if (mkdir(d.dir, 0777) != 0 && errno != EEXIST)
        return cli_usage("cannot make the folder %s: %s", d.dir, strerror(errno)), EXIT_FILE;
    cli_say("fascia demo, into %s/", d.dir);
    FaCode rc = make_head(&d, &err);
    if (rc >= 0) rc = write_report(&d, &err);
    if (rc >= 0) rc = bake(&d, &err);
    if (rc >= 0) rc = play_analytic(&d, &err);
    if (rc >= 0) rc = play_projective(&d, &err);
    if (rc >= 0) rc = play_enrich(&d, &err);
    if (rc >= 0) rc = drive_by_dots(&d, &err);
    if (rc >= 0) rc = draw(&d, &err);
    if (rc >= 0) rc = write_page(&d, &err);
    int code = rc < 0 ? cli_fail(&err) : EXIT_OK;
    fa_compare_free(&d.compare);
    fa_compare_free(&d.lag);
    fa_compare_free(&d.flesh_lag);
    fa_compare_free(&d.swing);
    fa_compare_free(&d.dots);
    fa_compare_free(&d.own);
    fa_sequence_close(d.driven);
    fa_sequence_close(d.enriched);
    fa_face_free(d.volumes);
    fa_drive_free(d.drive);
    fa_markers_free(d.take);
    fa_marker_map_free(d.map);
    fa_run_free(d.run);
    fa_method_close(d.method);
    fa_method_close(d.flesh);
    fa_face_free(d.face);
    fa_sequence_close(d.pressed);
    fa_sequence_close(d.linear);
    fa_sequence_close(d.truth);
    fa_clip_free(d.clip);
    fa_rig_free(d.rig);
    fa_head_free(d.head);
    return code;
}

const Command cmd_demo = {
    .name = "demo",
    .line = "everything on the shipped head and one clip, one page at the end",
    .usage = "demo [-o DIR] [options]",
    .examples = "  fascia demo                  into demo/; then open demo/demo.html\n"
                "  fascia demo --clip rom -o d  another clip, another folder\n",
    .options = options,
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
