// fascia muscle retarget: a directed pose of one face on another.
#include "muscle.h"

#include <stdlib.h>
#include <string.h>

static const char *weights_text;
static int by; // muscles, activations, skin
static double snap;

static const Option options[] = {
    {"weights", 0, OPT_TEXT, &weights_text, "NAME=V,...", 0, 0,
     "the pose as shapes of the first rig: muscles are found that make it, as fascia muscle target does"},
    {"by", 0, OPT_CHOICE, &by, "muscles|activations|skin", 0, 0,
     "what carries the pose; to compare: activations without tracks, or the skin without muscles"},
    {"snap", 0, OPT_NUM, &snap, "0..1", 0, 1, "how much of what no muscle makes goes along, from skin to skin (0)"},
    OUT_OPTIONS,
    LOAD_OPTIONS("map"),
    {0}};

typedef struct Retarget {
    Muscle m;              // the second face, and the pose on it
    const char *from;      // the first
    const char *file;      // POSE; NULL: --weights
    Muscle a;              // the first face, and the pose on it
    float *goal, *weights; // of the first rig: (nvert x 3), (nshape)
    FaMuscleTargeted hit;
    FaMuscleRetargeted found;
    double fit; // m: of --by skin
} Retarget;

// The rig of a face, or the rig itself.
static FaCode load_first(const char *path, FaRig **rig, FaError *err) {
    FaFace *face;
    if (!path_has_ext(path, "face")) return load_rig(path, rig, err);
    TRY(fa_face_load(path, &face, err));
    FaCode rc = fa_face_rig_path(face)[0] ? load_rig(fa_face_rig_path(face), rig, err)
                                          : cli_wrong(err, "%s does not say which rig it was built from", path);
    fa_face_free(face);
    return rc;
}

static FaCode open_first(Retarget *t, FaError *err) {
    Job *j = &t->a.job;
    t->a.path = t->from, t->a.again = true;
    j->verb = "muscle";
    TRY(load_first(t->from, &j->rig, err));
    TRY(muscle_open(j, err));
    const size_t n = (size_t)j->rig->mesh.nvert;
    t->goal = malloc(3 * n * sizeof *t->goal);
    t->weights = calloc((size_t)j->rig->nshape + 1, sizeof *t->weights);
    t->a.x = malloc(3 * n * sizeof *t->a.x);
    if (!t->goal || !t->weights || !t->a.x) return cli_no_memory(err);
    if (t->file) return fa_directed_load(t->file, &t->a.directed, err);
    TRY(job_weights(j->rig, weights_text, t->weights, err));
    fa_rig_blend(j->rig, t->weights, t->goal);
    return FA_OK;
}

// By the skin alone: where the pose has it, laid on the second head.
static FaCode pose_skin(Retarget *t, FaError *err) {
    Muscle *m = &t->m;
    if (t->file) TRY(fa_muscle_direct(t->a.model, t->a.directed, 1, t->goal, NULL, err));
    if (!(m->x = malloc(3 * (size_t)m->job.rig->mesh.nvert * sizeof *m->x))) return cli_no_memory(err);
    TRY(fa_muscle_retarget_skin(t->a.model, t->goal, m->model, false, m->x, &t->fit, err));
    TRY(muscle_posed(m, err));
    TRY(muscle_clip(m->job.rig, 1, &m->clip, err));
    m->job.played = m->clip;
    return FA_OK;
}

// By muscles: found on the first head, taken to the second, simulated there.
static FaCode pose_muscles(Retarget *t, FaError *err) {
    const FaMuscleTargetOptions aim = {.progress = cli_progress};
    const FaMuscleRetargetOptions o = {.raw = by == 1, .snap = snap, .progress = cli_progress};
    if (!t->file) TRY(fa_muscle_target(t->a.model, t->goal, t->weights, &aim, t->a.x, &t->a.directed, &t->hit, err));
    TRY(fa_muscle_retarget(t->a.model, t->a.directed, t->m.model, &o, &t->m.directed, &t->found, err));
    TRY(muscle_play_pose(&t->m, 1, err));
    cli_progress_end();
    return FA_OK;
}

static FaCode make(Job *j, FaError *err) {
    Retarget *t = (Retarget *)j;
    TRY(open_first(t, err));
    TRY(muscle_open(j, err));
    TRY(by == 2 ? pose_skin(t, err) : pose_muscles(t, err));
    snprintf(j->generator, sizeof j->generator, "fascia %s muscle retarget %.200s %.400s", fa_version(),
             path_base(t->from), t->file ? path_base(t->file) : weights_text);
    return FA_OK;
}

static FaCode write_retarget(Job *j, FaError *err) {
    if (j->output && path_has_ext(j->output, "pose")) return muscle_save_pose((const Muscle *)j, err);
    return job_save_still(j, err);
}

static void say(Job *j) {
    const Retarget *t = (const Retarget *)j;
    const FaMuscleRetargeted *f = &t->found;
    if (by == 2) {
        cli_say("the skin alone: %s", t->fit > 0 ? "laid over the other by landmarks and nearest points"
                                                 : "both are the same mesh, vertex by vertex");
        if (t->fit > 0) cli_say("  the two skins are %.2f mm apart where they correspond, rms", 1e3 * t->fit);
    } else {
        if (!t->file)
            cli_say("first face: %.2f mm off the shapes, rms (%.2f at rest)", 1e3 * t->hit.played,
                    1e3 * t->hit.neutral);
        cli_say("second face, %.2f times as large: %d muscles pull, %d of them along tracks, %d by activation alone; "
                "jaw %.1f degrees (%.2f times the first's)",
                f->size, f->muscles, f->tracks, f->outside, f->open, f->jaw_ratio);
        cli_say("%d tets inside out; volume of the flesh %+.2f %%; triangles that cross: %d, at rest %d",
                t->m.posed.inverted, 100 * t->m.posed.volume_change, t->m.crossings, t->m.crossings_rest);
    }
    if (f->missing) cli_say("warning: %d muscles pull on the first face only: %s", f->missing, f->missing_names);
    if (f->jaw_lost) cli_say("warning: the jaw stays: no shape of the second rig shows how it turns (--hinge)");
    if (f->snap_lost[0]) cli_say("warning: without the snap: %s", f->snap_lost);
    if (f->snap_fit > 0) cli_say("snap: the two skins are %.2f mm apart where they correspond, rms", 1e3 * f->snap_fit);
    if (t->m.stalled) cli_say("warning: the flesh is not quite at rest (%.2g N are left)", t->m.posed.residual);
}

static void json(Job *j, FaJsonWriter *w) {
    static const char *const names[] = {"muscles", "activations", "skin"};
    const Retarget *t = (const Retarget *)j;
    const FaMuscleRetargeted *f = &t->found;
    fa_json_text(w, "by", names[by]);
    fa_json_number(w, "from_rms_mm", 1e3 * t->hit.played);
    fa_json_number(w, "from_neutral_rms_mm", 1e3 * t->hit.neutral);
    fa_json_int(w, "muscles", f->muscles);
    fa_json_int(w, "tracks", f->tracks);
    fa_json_int(w, "outside", f->outside);
    fa_json_int(w, "missing", f->missing);
    fa_json_text(w, "missing_names", f->missing_names);
    fa_json_number(w, "size", f->size);
    fa_json_number(w, "jaw_ratio", f->jaw_ratio);
    fa_json_number(w, "jaw_open", f->open);
    fa_json_number(w, "skin_fit_mm", 1e3 * (by == 2 ? t->fit : f->snap_fit));
    fa_json_text(w, "snap_lost", f->snap_lost);
    fa_json_int(w, "inverted", t->m.posed.inverted);
    fa_json_number(w, "volume_change", t->m.posed.volume_change);
    fa_json_int(w, "intersections", t->m.crossings);
    fa_json_int(w, "intersections_rest", t->m.crossings_rest);
    fa_json_begin(w, "moved_mm", '{');
    for (int i = 0; i < FA_MUSCLE_MARKS && by != 2; i++) {
        const double *d = t->m.posed.mark[i];
        if (d[0] - d[0] != 0) continue;
        fa_json_begin(w, fa_muscle_mark_name((FaMuscleMark)i), '[');
        for (int k = 0; k < 3; k++) fa_json_number(w, NULL, 1e3 * d[k]);
        fa_json_end(w);
    }
    fa_json_end(w);
}

static void retarget_free(Job *j) {
    Retarget *t = (Retarget *)j;
    free(t->goal);
    free(t->weights);
    muscle_free(j);
    muscle_free(&t->a.job);
    fa_rig_free(t->a.job.rig);
}

static int run(int argc, const char **argv) {
    const bool file = argc == 3;
    if (!common.output && !common.dry_run && !common.json) return output_missing("smile.glb");
    if (file == (weights_text != NULL))
        return cli_usage("say which pose: FACE smile.pose FACE2, or FACE FACE2 --weights mouthSmileLeft=1,...");
    if (by == 2 && common.output && path_has_ext(common.output, "pose"))
        return cli_usage("--by skin has no muscles to write into a .pose");
    if (by && snap > 0) return cli_usage("--snap goes with --by muscles");
    int code = cli_only("for a pose of another face", "weights by snap hinge world cache-unit bake-error max-targets");
    if (code != EXIT_OK) return code;
    Retarget t = {.from = argv[0],
                  .file = file ? argv[1] : NULL,
                  .m = {.path = argv[argc - 1],
                        .again = true,
                        .job = {.verb = "muscle",
                                .track = "muscles",
                                .rig_path = argv[argc - 1],
                                .make = make,
                                .write = write_retarget,
                                .say = say,
                                .json = json,
                                .free = retarget_free}}};
    code = job_walk(&t.m.job);
    return code == EXIT_OK && (t.m.stalled || t.m.crossings > t.m.crossings_rest) ? EXIT_CONVERGE : code;
}

const Command cmd_muscle_retarget = {
    .name = "retarget",
    .line = "a pose of one face on another, by its muscles",
    .usage = "muscle retarget FACE POSE FACE2 -o OUT [options]\n"
             "       fascia muscle retarget FACE FACE2 --weights NAME=V,... -o OUT [options]",
    .examples =
        "  fascia muscle retarget anna.face smile.pose bear.face -o smile.glb                 a pose of fascia muscle "
        "target\n"
        "  fascia muscle retarget anna.face smile.pose bear.face -o bear.pose                 to be edited there\n"
        "  fascia muscle retarget anna.face bear.face --weights mouthFunnel=1 -o funnel.png   of the first rig's "
        "shapes\n"
        "  fascia muscle retarget anna.face bear.face --weights mouthFunnel=1 --by skin -o skin.png   no muscles\n"
        "  fascia muscle retarget anna.face bear.face --weights jawOpen=.6 --snap 1 -o open.obj       with the "
        "sculpt\n",
    .notes = "The second face needs no shape for the pose, only muscles (fascia muscle build). Its flesh says what "
             "becomes of\n"
             "it. Options for reading files hold for both. Out: .glb (a morph target is added), .obj, .png, .pc2, "
             ".mdd, .usda,\n"
             ".html, and .pose: the muscles themselves, for fascia muscle pose|edit.\n",
    .options = options,
    .writes = "glb gltf vrm obj png pc2 mdd usda html pose",
    .min_args = 2,
    .max_args = 3,
    .run = run,
};
