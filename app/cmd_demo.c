// fascia demo: what each method is for, before and after, on the head that ships; one page to open at the end.
#include "cli.h"
#include "job.h"
#include "muscle_page.h"

#include "fascia/drive.h"
#include "fascia/head.h"
#include "fascia/page.h"
#include "fascia/render.h"
#include "fascia/report.h"
#include "fascia/retarget.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int level = 1;

static const Option options[] = {{"level", 0, OPT_INT, &level, "N", 0, 2, "resolution of the head, 0 to 2 (1)"}, {0}};

static const char generator[] = "fascia " FA_VERSION_TEXT " demo";

enum { LIPS, RUN, ACTOR, SMILE, LEARNT, PURSE, EXAMPLES, MUSCLES = EXAMPLES, PAIRS, JUMPS = 2 };

// A clip before and after a method: one pair of the page, one file.
typedef struct Example {
    FaClip *clip;
    FaSequence *linear;  // of the clip; NULL for the actor
    Record actor, after; // frames
    FaCompare compare;   // after against linear; the actor's: against what our head does at the actor's weights
    char sentence[240], jump_name[JUMPS][80];
    FaPageJump jump[JUMPS];
    int njump;
} Example;

typedef struct Demo {
    const char *dir;
    FaHead *head, *actor;
    FaRig *rig, *actor_rig;
    unsigned char *color; // of our head's skin, sRGB: lips stand out                      (nvert x 3)
    FaFace *face;         // for flesh in real time
    FaMarkerTake *seen;   // the actor's markers, in the actor's head frame
    FaMarkerMap *seen_map;
    FaMarkerMap *map; // where they are on our head
    FaDrive *drive;
    Example ex[EXAMPLES];
    FaMuscleModel *model; // a smile by two muscles
    FaMusclePosed posed;
    MusclePage muscles;
    float *smile;         // the skin then                                         (nvert x 3)
    FaSequence *still[2]; // at rest, and that
    char muscle_sentence[240];
    char path[4096];
} Demo;

static const char *in_dir(Demo *d, const char *name) {
    snprintf(d->path, sizeof d->path, "%s/%s", d->dir, name);
    return d->path;
}

static FaSinkOptions sink(const FaRig *rig, const FaClip *clip) {
    return (FaSinkOptions){
        .rig = rig, .clip = clip, .fps = clip->fps, .generator = generator, .progress = cli_progress};
}

// --- the head -----------------------------------------------------------------------------------------------------

// Lips in their own colour, so that one sees them meet: by the share of a vertex's faces that are lip. NULL: no memory.
static unsigned char *color_lips(const FaHeadPart *p) {
    static const double skin[3] = {220, 184, 164}, lip[3] = {186, 104, 98};
    int red = -1, n = p->mesh.nvert;
    for (int i = 0; i < p->nregion; i++)
        if (!strcmp(p->region[i], "lip")) red = i;
    unsigned char *color = malloc(3 * (size_t)n);
    int *count = calloc(2 * (size_t)n, sizeof *count); // faces, and how many of them are lip   (n x 2)
    for (int f = 0; count && f < p->mesh.nface; f++)
        for (int c = p->mesh.face_start[f]; c < p->mesh.face_start[f + 1]; c++) {
            int v = p->mesh.face_vert[c];
            count[2 * v]++, count[2 * v + 1] += p->face_region[f] == red;
        }
    for (int v = 0; count && color && v < n; v++) {
        double s = count[2 * v] ? (double)count[2 * v + 1] / count[2 * v] : 0;
        for (int k = 0; k < 3; k++) color[3 * v + k] = (unsigned char)(skin[k] + s * (lip[k] - skin[k]) + 0.5);
    }
    free(count);
    return color;
}

static FaCode make_head(Demo *d, FaError *err) {
    FaHeadParams params = fa_head_params_default();
    params.level = level;
    fa_head_params_seed(&params, (uint64_t)common.seed);
    FaCode rc = fa_head_new(&params, &d->head, err);
    if (rc >= 0) rc = fa_head_save(d->head, NULL, false, generator, in_dir(d, "head.glb"), err);
    // from here on as with anybody's rig: from its file
    if (rc >= 0) rc = fa_rig_load(in_dir(d, "head.glb"), NULL, &d->rig, err);
    if (rc >= 0) d->color = color_lips(&d->head->part[0]);
    return rc;
}

// Whole or not at all, as every output.
static FaCode write_text(Demo *d, const char *name, const char *text, FaError *err) {
    char part[4096], path[4096];
    snprintf(path, sizeof path, "%s", in_dir(d, name));
    snprintf(part, sizeof part, "%.4080s.part", path);
    FILE *f = fopen(part, "wb");
    bool good = f && fputs(text, f) >= 0 && fflush(f) == 0 && fsync(fileno(f)) == 0;
    if (f) good = fclose(f) == 0 && good;
    if (good && rename(part, path) == 0) return FA_OK;
    *err = (FaError){.code = FA_E_FILE};
    snprintf(err->what, sizeof err->what, "cannot write: %s", strerror(errno));
    snprintf(err->path, sizeof err->path, "%.*s", (int)sizeof err->path - 1, path);
    snprintf(err->remedy, sizeof err->remedy, "check the folder and the room on the disk");
    if (f) remove(part);
    return FA_E_FILE;
}

static FaCode write_report(Demo *d, FaError *err) {
    FaInfo info;
    char *text;
    FaCode rc = fa_info_of_rig(d->rig, true, &info, err);
    if (rc < 0) return rc;
    rc = fa_info_text(&info, true, &text, err);
    fa_info_free(&info);
    if (rc < 0) return rc;
    rc = write_text(d, "info.txt", text, err);
    fa_free(text);
    return rc;
}

static FaCode draw(Demo *d, FaError *err) {
    FaRenderJob job = fa_render_job();
    job.look.width = job.look.height = 768;
    FaSequence *seq = NULL;
    FaCode rc = fa_sequence_open(in_dir(d, "head.glb"), NULL, &seq, err);
    if (rc >= 0) rc = fa_render_file(seq, &job, in_dir(d, "head.png"), err);
    job.look.width = job.look.height = 160;
    job.look.samples = 4;
    job.picture = FA_PICTURE_SHAPES;
    fa_render_view("front", &job.look.view);
    if (rc >= 0) rc = fa_render_file(seq, &job, in_dir(d, "shapes.png"), err);
    fa_sequence_close(seq);
    return rc;
}

// --- before and after ---------------------------------------------------------------------------------------------

static void add_jump(Example *e, int frame, const char *format, double value) {
    char *name = e->jump_name[e->njump];
    snprintf(name, sizeof e->jump_name[0], format, value);
    e->jump[e->njump++] = (FaPageJump){name, frame};
}

// The frames of a method once, as a file to read again; the same baked into NAME.glb; how far they are from `from`.
static FaCode keep(Demo *d, Example *e, FaSequence *frames, const FaClip *clip, const char *name, FaSequence *from,
                   bool crossings, FaError *err) {
    char file[64];
    snprintf(file, sizeof file, "%s.glb", name);
    FaSinkOptions how = sink(d->rig, clip);
    FaCompareOptions compare = {.rig = d->rig, .intersections = crossings, .progress = cli_progress};
    FaCode rc = record_new(frames, fa_sequence_nframe(frames) - 1, d->rig, clip, &e->after, err);
    if (rc >= 0) rc = fa_sequence_save(e->after.seq, in_dir(d, file), &how, NULL, err);
    if (rc >= 0) rc = fa_compare(from, e->after.seq, &compare, &e->compare, err);
    cli_progress_end();
    return rc;
}

// A method on a clip of the head's own, beside linear blending.
static FaCode play(Demo *d, Example *e, FaMethod *method, const char *name, bool crossings, FaError *err) {
    FaRun *run = NULL;
    FaCode rc = fa_run_new(method, e->clip, &run, err);
    if (rc >= 0) rc = fa_sequence_of_clip(d->rig, e->clip, &e->linear, err);
    if (rc >= 0) rc = keep(d, e, fa_run_sequence(run), e->clip, name, e->linear, crossings, err);
    fa_run_free(run);
    return rc;
}

static int frames_above_zero(const int *count, int n) {
    int frames = 0;
    for (int f = 0; f < n; f++) frames += count[f] > 0;
    return frames;
}

static int largest(const int *count, int n) {
    int most = 0;
    for (int f = 1; f < n; f++)
        if (count[f] > count[most]) most = f;
    return most;
}

// Lips that a clip drives through each other; flesh lets them press.
static FaCode press_lips(Demo *d, FaError *err) {
    Example *e = &d->ex[LIPS];
    FaMethod *method = NULL;
    FaCode rc = fa_head_clip("plosive", &e->clip, err);
    if (rc >= 0) rc = fa_face_get(d->rig, fa_method_needs("projective"), NULL, &d->face, err);
    if (rc >= 0) rc = fa_method_open("projective", &(FaMethodSetup){.rig = d->rig, .face = d->face}, &method, err);
    if (rc >= 0) rc = play(d, e, method, "lips", true, err);
    fa_method_close(method);
    if (rc < 0) return rc;
    const FaCompare *c = &e->compare;
    int n = c->frames, before = frames_above_zero(c->frame_intersections_a, n),
        after = frames_above_zero(c->frame_intersections_b, n), most = largest(c->frame_intersections_a, n);
    char flesh[24] = "none";
    if (after) snprintf(flesh, sizeof flesh, "%d", after);
    snprintf(e->sentence, sizeof e->sentence,
             "Saying \"pa pa ma\": linear blending pushes the lips through each other (red); flesh lets them meet "
             "and press.");
    add_jump(e, most, "most crossings: %.0f", c->frame_intersections_a[most]);
    add_jump(e, c->worst_frame, "lips stick before they part: %.1f mm", c->max_mm);
    cli_say("  %-12s lips cross in %d of %d frames with linear blending, in %s with flesh (fascia drive)", "lips.glb",
            before, n, flesh);
    return rc;
}

// A runner's head: the animation is left alone and the flesh swings around it.
static FaCode run_with_flesh(Demo *d, FaError *err) {
    Example *e = &d->ex[RUN];
    FaParams *params = NULL;
    FaMethod *method = NULL;
    FaFace *face = NULL;
    FaClip *all = NULL;
    FaCode rc = fa_head_clip("run", &all, err);
    if (rc >= 0) rc = fa_clip_slice(all, 60, 150, &e->clip, err); // four strides at full speed
    fa_clip_free(all);
    // the flesh of every shape takes a while: a folder that has it already keeps it
    const FaFaceGet how = {.cache = in_dir(d, "head.enrich.face"), .progress = cli_progress};
    if (rc >= 0) rc = fa_face_get(d->rig, fa_method_needs("enrich"), &how, &face, err);
    cli_progress_end();
    if (rc >= 0) rc = fa_params_new("enrich", &params, err);
    if (rc >= 0) rc = fa_params_set(params, "rate", "120", err); // fascia enrich takes 300
    if (rc >= 0) rc = fa_params_set(params, "softness", "1.5", err);
    if (rc >= 0) rc = fa_params_set(params, "strength", "lips=0.7", err); // loose lips would hide what the cheeks do
    FaMethodSetup setup = {.rig = d->rig, .face = face, .params = params};
    if (rc >= 0) rc = fa_method_open("enrich", &setup, &method, err);
    if (rc >= 0) rc = play(d, e, method, "run", false, err);
    fa_method_close(method);
    fa_params_free(params);
    fa_face_free(face);
    if (rc < 0) return rc;
    snprintf(
        e->sentence, sizeof e->sentence,
        "A runner, the camera running along: left, skin as stiff as bone; right, lips and cheeks lag up to %.0f mm "
        "behind every step.",
        e->compare.max_mm);
    add_jump(e, e->compare.worst_frame, "largest lag: %.1f mm", e->compare.max_mm);
    cli_say("  %-12s running: lips and cheeks lag up to %.1f mm behind the bone (fascia enrich)", "run.glb",
            e->compare.max_mm);
    return rc;
}

// --- another face -------------------------------------------------------------------------------------------------

typedef struct Truth {
    const FaHead *head;
    const FaClip *clip;
} Truth;

static FaCode read_truth(void *user, int frame, float *x, FaError *err) {
    const Truth *t = user; // the head's clips have one channel per ARKit shape, in order
    return fa_head_truth(t->head, 0, t->clip->weight + (size_t)frame * (size_t)t->clip->nchan, x, err);
}

static FaCode truth_of(Truth *t, FaSequence **seq, FaError *err) {
    return fa_sequence_custom(t->head->part[0].mesh.nvert, t->clip->nframe, t->clip->fps, read_truth, t, seq, err);
}

static FaCode make_actor(Demo *d, FaError *err) {
    static const struct {
        FaHeadId id;
        double value;
    } looks[] = {{FA_HEAD_face_width, 2.4},  {FA_HEAD_jaw_width, 2.2},    {FA_HEAD_face_height, -1.6},
                 {FA_HEAD_head_width, 1.6},  {FA_HEAD_cheek_fullness, 2}, {FA_HEAD_nose_width, 2.2},
                 {FA_HEAD_nose_length, 1.2}, {FA_HEAD_mouth_width, 1.6},  {FA_HEAD_brow_ridge, 1.8},
                 {FA_HEAD_eye_spacing, 1.2}, {FA_HEAD_age, 1.6},          {FA_HEAD_neck_width, 2}};
    FaHeadParams params = fa_head_params_default();
    params.level = level;
    for (int i = 0; i < (int)(sizeof looks / sizeof *looks); i++) params.identity[looks[i].id] = looks[i].value;
    FaCode rc = fa_head_new(&params, &d->actor, err);
    if (rc >= 0) rc = fa_head_clip("laugh", &d->ex[ACTOR].clip, err);
    if (rc >= 0) rc = fa_head_save(d->actor, d->ex[ACTOR].clip, false, generator, in_dir(d, "actor.glb"), err);
    if (rc >= 0) rc = fa_rig_load(in_dir(d, "actor.glb"), NULL, &d->actor_rig, err);
    return rc;
}

// What a mocap stage would give: 80 markers on the actor's skin, in the room, the head's motion in them.
static FaCode film_actor(Demo *d, FaSequence *actor, FaMarkerTake **take, FaError *err) {
    enum { MARKERS = 80 };
    const FaClip *clip = d->ex[ACTOR].clip;
    FaSequence *world = NULL;
    FaCode rc = fa_markers_choose(d->actor_rig, MARKERS, &d->seen_map, err);
    if (rc >= 0) rc = fa_markers_sample(actor, d->seen_map, clip->fps, &d->seen, err);
    if (rc >= 0) rc = fa_sequence_world(actor, d->actor_rig, clip, &world, err);
    if (rc >= 0) rc = fa_markers_sample(world, d->seen_map, clip->fps, take, err);
    if (rc >= 0) rc = fa_markers_save(*take, in_dir(d, "actor.csv"), err);
    fa_sequence_close(world);
    return rc;
}

// Our head moved by the markers of a face of other proportions.
static FaCode drive_by_markers(Demo *d, const FaMarkerTake *take, FaRetargetReport *report, FaError *err) {
    Example *e = &d->ex[ACTOR];
    FaDriveOptions how = {.kind = FA_DRIVE_BF, .head_frame = true, .progress = cli_progress};
    Truth ours = {d->head, e->clip};
    FaSequence *truth = NULL;
    FaMarkerTake *moved = NULL;
    FaCode rc = fa_retarget(take, d->rig, NULL, &moved, &d->map, report, err);
    if (rc >= 0) rc = fa_drive_open(d->rig, d->face, moved, d->map, &how, &d->drive, err);
    cli_progress_end();
    if (rc >= 0) rc = truth_of(&ours, &truth, err);
    // measured against what our own head does at the actor's weights, which no marker has seen
    if (rc >= 0) rc = keep(d, e, fa_drive_sequence(d->drive), fa_drive_clip(d->drive), "laugh", truth, false, err);
    fa_sequence_close(truth);
    fa_markers_free(moved);
    return rc;
}

static int strongest(const FaClip *clip) {
    int best = 0;
    float most = -1;
    for (int f = 0; f < clip->nframe; f++) {
        float sum = 0;
        for (int c = 0; c < clip->nchan; c++) sum += clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c];
        if (sum > most) most = sum, best = f;
    }
    return best;
}

static FaCode borrow_a_laugh(Demo *d, FaError *err) {
    Example *e = &d->ex[ACTOR];
    FaSequence *made = NULL;
    FaMarkerTake *take = NULL;
    FaRetargetReport report = {0};
    FaCode rc = make_actor(d, err);
    Truth theirs = {d->actor, e->clip};
    if (rc >= 0) rc = truth_of(&theirs, &made, err);
    if (rc >= 0) rc = record_new(made, e->clip->nframe - 1, d->actor_rig, e->clip, &e->actor, err);
    fa_sequence_close(made);
    if (rc >= 0) rc = film_actor(d, e->actor.seq, &take, err);
    if (rc >= 0) rc = drive_by_markers(d, take, &report, err);
    fa_markers_free(take);
    if (rc < 0) return rc;
    snprintf(e->sentence, sizeof e->sentence,
             "%d markers on a laughing face of other proportions, as a mocap stage records them, make our own head "
             "laugh its own laugh.",
             report.used);
    add_jump(e, strongest(e->clip), "widest laugh", 0);
    add_jump(e, e->compare.worst_frame, "largest error: %.1f mm", e->compare.max_mm);
    cli_say(
        "  %-12s %d markers of a face %.0f mm unlike ours make our head laugh, %.2f mm off on average (fascia drive "
        "--retarget)",
        "laugh.glb", report.used, report.shape_mm, e->compare.mean_mm);
    cli_say("  %-12s that face; actor.csv has its markers, as a mocap stage would give them", "actor.glb");
    return rc;
}

// --- inertia for nothing ------------------------------------------------------------------------------------------

// After the largest difference: where it peaks again, on the other side.
static int next_peak(const double *v, int n, int f) {
    while (f + 1 < n && v[f + 1] <= v[f]) f++;
    while (f + 1 < n && v[f + 1] > v[f]) f++;
    return f;
}

static FaCode smile_softly(Demo *d, FaError *err) {
    Example *e = &d->ex[SMILE];
    FaMethod *method = NULL;
    FaCode rc = fa_head_clip("smile", &e->clip, err);
    if (rc >= 0) rc = fa_method_open("analytic", &(FaMethodSetup){.rig = d->rig}, &method, err);
    if (rc >= 0) rc = play(d, e, method, "smile", false, err);
    fa_method_close(method);
    if (rc < 0) return rc;
    const FaCompare *c = &e->compare;
    int over = next_peak(c->frame_max_mm, c->frames, c->worst_frame);
    snprintf(
        e->sentence, sizeof e->sentence,
        "A fast smile, slowed down: on the left it snaps on like a switch; on the right it starts late, overshoots by "
        "%.0f mm and settles.",
        c->frame_max_mm[over]);
    add_jump(e, c->worst_frame, "largest lag: %.1f mm", c->max_mm);
    add_jump(e, over, "overshoot: %.1f mm", c->frame_max_mm[over]);
    cli_say("  %-12s a fast smile lags %.1f mm, overshoots %.1f mm and settles (fascia blend --preset soft)",
            "smile.glb", c->max_mm, c->frame_max_mm[over]);
    return rc;
}

// --- what a network has learnt ------------------------------------------------------------------------------------

static FaCode laugh_by_network(Demo *d, FaError *err) {
    Example *e = &d->ex[LEARNT];
    FaMethod *method = NULL;
    FaCode rc = fa_head_clip("laugh", &e->clip, err);
    if (rc >= 0) rc = fa_method_open("neural", &(FaMethodSetup){.rig = d->rig}, &method, err);
    if (rc >= 0) rc = play(d, e, method, "learnt", true, err);
    fa_method_close(method);
    if (rc < 0) return rc;
    const FaCompare *c = &e->compare;
    const int n = c->frames, before = frames_above_zero(c->frame_intersections_a, n),
              after = frames_above_zero(c->frame_intersections_b, n), most = largest(c->frame_intersections_a, n);
    snprintf(
        e->sentence, sizeof e->sentence,
        "A laugh: smile, cheeks and lids add up to more than flesh gives (left). A small network has learnt from a "
        "simulation what flesh makes of it: up to %.1f mm.",
        c->max_mm);
    add_jump(e, c->worst_frame, "largest change: %.1f mm", c->max_mm);
    if (before) add_jump(e, most, "most crossings: %.0f", c->frame_intersections_a[most]);
    cli_say(
        "  %-12s a network in place of the simulation: up to %.1f mm, skin crosses in %d of %d frames, before in %d "
        "(fascia run)",
        "learnt.glb", c->max_mm, after, n, before);
    return rc;
}

// --- muscles ------------------------------------------------------------------------------------------------------

static FaCode read_rest(void *user, int frame, float *x, FaError *err) {
    const Demo *d = user;
    (void)frame, (void)err;
    memcpy(x, d->rig->mesh.x, 3 * (size_t)d->rig->mesh.nvert * sizeof *x);
    return FA_OK;
}

static FaCode read_smile(void *user, int frame, float *x, FaError *err) {
    const Demo *d = user;
    (void)frame, (void)err;
    memcpy(x, d->smile, 3 * (size_t)d->rig->mesh.nvert * sizeof *x);
    return FA_OK;
}

// A smile that no shape knows of: two muscles pull.
static FaCode pull_muscles(Demo *d, FaError *err) {
    double act[FA_MUSCLES_MOST] = {0};
    const FaMuscleOptions how = {.progress = cli_progress};
    const int n = d->rig->mesh.nvert;
    if (!(d->smile = malloc(3 * (size_t)n * sizeof *d->smile))) return cli_no_memory(err);
    FaCode rc = fa_muscle_open(d->rig, d->face, &how, &d->model, err);
    cli_progress_end();
    if (rc >= 0) rc = fa_muscle_activate(d->model, "zygomaticus_major=0.8", act, err);
    if (rc >= 0) rc = fa_muscle_pose(d->model, &(FaMusclePose){.activation = act}, d->smile, &d->posed, err);
    if (rc >= 0) rc = muscle_page_fill(d->model, act, &d->muscles, err);
    if (rc >= 0) rc = fa_sequence_custom(n, 1, 30, read_rest, d, &d->still[0], err);
    if (rc >= 0) rc = fa_sequence_custom(n, 1, 30, read_smile, d, &d->still[1], err);
    const FaSinkOptions out = {.rig = d->rig, .fps = 30, .generator = generator, .progress = cli_progress};
    if (rc >= 0) rc = fa_sequence_save(d->still[1], in_dir(d, "muscles.glb"), &out, NULL, err);
    cli_progress_end();
    if (rc < 0) return rc;
    const double *m = d->posed.mark[FA_MUSCLE_CORNER_LEFT], mm = 1e3 * sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]);
    snprintf(d->muscle_sentence, sizeof d->muscle_sentence,
             "Under the skin: zygomaticus major pulls the corners of the mouth %.0f mm, and no shape of the rig is "
             "asked. Click a muscle to learn what it is.",
             mm);
    cli_say("  %-12s two of %d muscles pull the corners of the mouth %.0f mm (fascia muscle)", "muscles.glb",
            d->muscles.n, mm);
    return FA_OK;
}

// From a smile to a funnel and back to rest.
static FaCode make_purse(FaClip **clip, FaError *err) {
    enum { FRAMES = 41, FPS = 30 };
    static const char *const names[] = {"mouthSmileLeft", "mouthSmileRight", "mouthFunnel"};
    FaCode rc = fa_clip_new(FRAMES, 3, names, FPS, clip, err);
    for (int f = 0; rc >= 0 && f < FRAMES; f++) {
        const double t = (double)f / (FRAMES - 1), rise = fmin(1, 4 * t), turn = fmin(1, fmax(0, 2.5 * (t - 0.3))),
                     fall = fmin(1, 4 * (1 - t));
        float *w = (*clip)->weight + 3 * (size_t)f;
        w[0] = w[1] = (float)(fmin(rise, fall) * (1 - turn));
        w[2] = (float)(fmin(rise, fall) * turn);
    }
    return rc;
}

// Muscles of the shapes that move, and a clip by them.
static FaCode purse_by_muscles(Demo *d, FaError *err) {
    Example *e = &d->ex[PURSE];
    FaMethod *method = NULL;
    unsigned char *wanted = calloc((size_t)d->rig->nshape + 1, 1);
    if (!wanted) return cli_no_memory(err);
    FaCode rc = make_purse(&e->clip, err);
    for (int c = 0; rc >= 0 && c < e->clip->nchan; c++)
        for (int s = 0; s < d->rig->nshape; s++) wanted[s] |= !strcmp(d->rig->shape[s].name, e->clip->name[c]);
    const FaMuscleShapesOptions how = {.wanted = wanted, .progress = cli_progress};
    if (rc >= 0) rc = fa_muscle_keep(d->model, d->face, err);
    if (rc >= 0) rc = fa_muscle_shapes(d->model, d->face, &how, NULL, err);
    cli_progress_end();
    free(wanted);
    if (rc >= 0) rc = fa_method_open("muscle", &(FaMethodSetup){.rig = d->rig, .face = d->face}, &method, err);
    if (rc >= 0) rc = play(d, e, method, "purse", true, err);
    fa_method_close(method);
    if (rc < 0) return rc;
    const FaCompare *c = &e->compare;
    const int crossed = frames_above_zero(c->frame_intersections_b, c->frames);
    snprintf(e->sentence, sizeof e->sentence,
             "A smile becomes a funnel: left, every point goes straight; right, muscles pull and the flesh finds the "
             "way, up to %.1f mm beside it.",
             c->max_mm);
    add_jump(e, c->worst_frame, "farthest beside: %.1f mm", c->max_mm);
    cli_say("  %-12s a smile becomes a funnel by muscles: up to %.1f mm beside the straight way, skin crosses in %d "
            "frames (fascia muscle play)",
            "purse.glb", c->max_mm, crossed);
    return rc;
}

// --- the page -----------------------------------------------------------------------------------------------------

static FaCode write_page(Demo *d, FaError *err) {
    Example *x = d->ex;
    FaPageNumbers number[EXAMPLES][1];
    for (int i = 0; i < EXAMPLES; i++)
        number[i][0] = (FaPageNumbers){i == ACTOR ? "error, mean mm" : "distance to linear, max mm",
                                       i == ACTOR ? x[i].compare.frame_mean_mm : x[i].compare.frame_max_mm};
    static const char *const names[EXAMPLES][2] = {{"linear blending", "flesh"},
                                                   {"the animation", "the same with flesh"},
                                                   {"the actor, 80 markers", "our head, driven by them"},
                                                   {"linear smile", "soft smile"},
                                                   {"linear blending", "the network"},
                                                   {"linear blending", "muscles and flesh"}};
    FaPageTrack track[2 * PAIRS];
    FaPagePair pair[PAIRS];
    static const char *const tabs[EXAMPLES] = {"Lips that meet", "Flesh that swings",  "Another face's markers",
                                               "A soft smile",   "Flesh by a network", "A clip by muscles"};
    for (int i = 0; i < EXAMPLES; i++) {
        track[2 * i] = (FaPageTrack){.name = names[i][0], .seq = x[i].linear, .clip = x[i].clip};
        track[2 * i + 1] = (FaPageTrack){
            .name = names[i][1], .seq = x[i].after.seq, .clip = x[i].clip, .numbers = number[i], .nnumbers = 1};
        pair[i] = (FaPagePair){.name = tabs[i],
                               .sentence = x[i].sentence,
                               .before = 2 * i,
                               .after = 2 * i + 1,
                               .jumps = x[i].jump,
                               .njumps = x[i].njump};
    }
    track[2 * LIPS].crossings = track[2 * LIPS + 1].crossings = true;
    pair[LIPS].focus = pair[PURSE].focus = FA_PAGE_MOUTH;
    track[2 * LEARNT].crossings = track[2 * LEARNT + 1].crossings = true;
    pair[LIPS].speed = pair[SMILE].speed = pair[PURSE].speed = 0.25;
    pair[RUN].speed = 0.5;
    pair[RUN].hold_head = true;
    track[2 * ACTOR].rig = d->actor_rig;
    track[2 * ACTOR].seq = x[ACTOR].actor.seq;
    track[2 * ACTOR].markers = d->seen;
    track[2 * ACTOR + 1].clip = fa_drive_clip(d->drive);
    track[2 * MUSCLES] = (FaPageTrack){.name = "at rest", .seq = d->still[0]};
    track[2 * MUSCLES + 1] = (FaPageTrack){.name = "zygomaticus major pulls", .seq = d->still[1]};
    muscle_page_tracks(&d->muscles, &track[2 * MUSCLES], &track[2 * MUSCLES + 1]);
    static const FaPageJump pulled = {"two muscles pull", 0};
    pair[MUSCLES] = (FaPagePair){.name = "Muscles",
                                 .sentence = d->muscle_sentence,
                                 .before = 2 * MUSCLES,
                                 .after = 2 * MUSCLES + 1,
                                 .jumps = &pulled,
                                 .njumps = 1};
    FaPageOptions opt = {.title = "fascia: what each method is for",
                         .facts = "fascia demo\nRed: triangles that cross. Every pair is also a file beside this page.",
                         .color = d->color,
                         .pairs = pair,
                         .npairs = PAIRS,
                         .muscles = d->muscles.muscle,
                         .nmuscles = d->muscles.n,
                         .bake_error_mm = 0.03,
                         .progress = cli_progress};
    FaCode rc = fa_page_save(in_dir(d, "demo.html"), d->rig, track, 2 * PAIRS, &opt, err);
    cli_progress_end();
    return rc;
}

static void demo_free(Demo *d) {
    for (int i = 0; i < EXAMPLES; i++) {
        Example *e = &d->ex[i];
        fa_compare_free(&e->compare);
        record_free(&e->after);
        record_free(&e->actor);
        fa_sequence_close(e->linear);
    }
    for (int i = 0; i < 2; i++) fa_sequence_close(d->still[i]);
    muscle_page_free(&d->muscles);
    fa_muscle_close(d->model);
    free(d->smile);
    fa_drive_close(d->drive);
    fa_marker_map_free(d->map);
    fa_marker_map_free(d->seen_map);
    fa_markers_free(d->seen);
    fa_face_free(d->face);
    for (int i = 0; i < EXAMPLES; i++) fa_clip_free(d->ex[i].clip);
    fa_rig_free(d->actor_rig);
    fa_rig_free(d->rig);
    fa_head_free(d->actor);
    fa_head_free(d->head);
    free(d->color);
}

static int run(int argc, const char **argv) {
    (void)argc, (void)argv;
    int code = cli_only("in the demo", "level seed !rig !json !dry-run !force");
    if (code != EXIT_OK) return code;
    FaError err = {0};
    Demo d = {.dir = common.output ? common.output : "demo"};
    if (mkdir(d.dir, 0777) != 0 && errno != EEXIST)
        return cli_usage("cannot make the folder %s: %s", d.dir, strerror(errno)), EXIT_FILE;
    cli_say("fascia demo, into %s/", d.dir);
    FaCode rc = make_head(&d, &err);
    if (rc >= 0) rc = press_lips(&d, &err);
    if (rc >= 0) rc = run_with_flesh(&d, &err);
    if (rc >= 0) rc = borrow_a_laugh(&d, &err);
    if (rc >= 0) rc = smile_softly(&d, &err);
    if (rc >= 0) rc = laugh_by_network(&d, &err);
    if (rc >= 0) rc = pull_muscles(&d, &err);
    if (rc >= 0) rc = purse_by_muscles(&d, &err);
    if (rc >= 0) rc = write_report(&d, &err);
    if (rc >= 0) rc = draw(&d, &err);
    if (rc >= 0)
        cli_say("  %-12s the head itself; pictures head.png, shapes.png; the rig doctor's report info.txt", "head.glb");
    if (rc >= 0) rc = write_page(&d, &err);
    if (rc >= 0)
        cli_say("  %-12s open this one: each of these before and after, large, with buttons to the telling moments",
                "demo.html");
    code = rc < 0 ? cli_fail(&err) : EXIT_OK;
    demo_free(&d);
    return code;
}

const Command cmd_demo = {
    .name = "demo",
    .line = "what each method is for, before and after, one page at the end",
    .usage = "demo [-o DIR] [options]",
    .examples = "  fascia demo                  into demo/; then open demo/demo.html\n"
                "  fascia demo --level 0 -o d   a coarser head, sooner; another folder\n"
                "  fascia demo --level 2        a finer head, slower\n",
    .options = options,
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
