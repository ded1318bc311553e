// fascia run: a clip with flesh by a trained network, or by the physics that it stands for; and what an engine plays.
#include "job.h"
#include "outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Physics { PHYSICS_NET, PHYSICS_LIMITED, PHYSICS_PAPER, PHYSICS_MUSCLE } Physics;
static int physics;
static const char *bind_path, *bake_path;

static const Option options[] = {
    {"physics", 0, OPT_CHOICE, &physics, "net|limited|paper|muscle", 0, 0,
     "net: the trained network. The others simulate, without one: limited and paper as the network's teachers do, "
     "muscle "
     "by a face's muscles"},
    OPTION_GROUP("In an engine"),
    {"bind", 0, OPT_OUT, &bind_path, "FILE.fart", 0, 0,
     "write the network bound to this rig, for libfascia-rt; no CLIP"},
    {"bake", 0, OPT_OUT, &bake_path, "FILE.glb", 0, 0,
     "write the rig with the network's morph targets, and beside it FILE.json and FILE.onnx, which give their weights; "
     "no CLIP"},
    OUT_OPTIONS,
    CHECK_OPTION,
    LOAD_OPTIONS("map"),
    {0}};

// --- bound, for others --------------------------------------------------------------------------------------------

typedef struct Bound {
    Job job;
    FaNeural *bound;
    FaNeuralReport report;
} Bound;

static FaCode make_bound(Job *job, FaError *err) {
    static const FaNeuralPrecision precision[] = {FA_NEURAL_INT8, FA_NEURAL_F16, FA_NEURAL_F32};
    Bound *b = (Bound *)job;
    const char *net = fa_params_text(cli_params, "net");
    TRY(job_parameters(job, err));
    return fa_neural_bind(job->rig, net, precision[(int)fa_params_get(cli_params, "precision")], &b->bound, &b->report,
                          err);
}

// FILE.glb -> FILE.json, FILE.onnx
static FaCode write_network(const FaNeural *bound, const char *path, FaError *err) {
    char beside[4096];
    const char *dot = strrchr(path_base(path), '.');
    const int stem = (int)(dot ? (size_t)(dot - path) : strlen(path));
    snprintf(beside, sizeof beside, "%.*s.json", stem, path);
    TRY(fa_neural_write_json(bound, beside, err));
    snprintf(beside, sizeof beside, "%.*s.onnx", stem, path);
    return fa_neural_write_onnx(bound, beside, err);
}

static FaCode write_bound(Job *job, FaError *err) {
    Bound *b = (Bound *)job;
    if (common.dry_run) return FA_OK;
    if (bind_path) TRY(fa_neural_write(b->bound, bind_path, err));
    if (!bake_path) return FA_OK;
    TRY(fa_neural_bake(b->bound, job->rig, bake_path, err));
    return write_network(b->bound, bake_path, err);
}

static void say_bound(Job *job) {
    const FaNeuralReport *r = &((Bound *)job)->report;
    cli_say("laid over it by %d shapes, %.2f mm off; %.1f %% of the shapes are lost on the way (%s most: %.0f %%)",
            r->pairs, 1e3 * r->fit, 100 * r->chain, r->worst_shape ? r->worst_shape : "-", 100 * r->worst);
    cli_say("%d of %d moving vertices have no counterpart and follow their neighbours", r->unmatched, r->moving);
    cli_say("%d targets, %.2f MB", r->targets, 1e-6 * (double)r->bytes);
}

static void json_bound(Job *job, FaJsonWriter *w) {
    const FaNeuralReport *r = &((Bound *)job)->report;
    fa_json_begin(w, "bound", '{');
    fa_json_int(w, "pairs", r->pairs);
    fa_json_number(w, "fit_mm", 1e3 * r->fit);
    fa_json_number(w, "covered", r->covered);
    fa_json_int(w, "moving", r->moving);
    fa_json_int(w, "unmatched", r->unmatched);
    fa_json_number(w, "chain", r->chain);
    fa_json_text(w, "worst_shape", r->worst_shape);
    fa_json_number(w, "worst", r->worst);
    fa_json_number(w, "lip_upper_mm", 1e3 * r->lip_upper);
    fa_json_number(w, "lip_lower_mm", 1e3 * r->lip_lower);
    fa_json_number(w, "scale", r->scale);
    fa_json_number(w, "far", r->far);
    fa_json_int(w, "targets", r->targets);
    fa_json_int(w, "bytes", (int64_t)r->bytes);
    fa_json_end(w);
}

static void free_bound(Job *job) { fa_neural_free(((Bound *)job)->bound); }

static int run_bound(const char *rig) {
    int rc = cli_only("with --bind and --bake", "bind bake net precision");
    if (rc != EXIT_OK) return rc;
    Bound b = {.job = {.verb = "run",
                       .rig_path = rig,
                       .output = bind_path ? bind_path : bake_path,
                       .make = make_bound,
                       .write = write_bound,
                       .say = say_bound,
                       .json = json_bound,
                       .free = free_bound}};
    return job_walk(&b.job);
}

// --- played -------------------------------------------------------------------------------------------------------

// The parameters are those of `neural`; of another method it gets what it shares with it.
static int take_physics(const char **method) {
    static const char *const of[] = {"neural", "volumetric", "volumetric", "muscle"};
    FaParams *own = NULL;
    FaError err = {0};
    *method = of[physics];
    if (physics == PHYSICS_NET) return EXIT_OK;
    const char *none = cli_named("net precision amount");
    if (none) return cli_usage("--%s belongs to --physics net: leave it out", none);
    if (fa_params_new(*method, &own, &err) < 0) return cli_fail(&err);
    const char *face = fa_params_text(cli_params, "face");
    FaCode rc = face[0] ? fa_params_set(own, "face", face, &err) : FA_OK;
    if (rc >= 0 && physics == PHYSICS_PAPER) rc = fa_params_set(own, "physics", "paper", &err);
    if (rc >= 0 && cli_given("contact") && physics != PHYSICS_MUSCLE)
        rc = fa_params_set_number(own, "contact", fa_params_get(cli_params, "contact"), &err);
    if (rc < 0) {
        fa_params_free(own);
        return cli_fail(&err);
    }
    fa_params_free(cli_params);
    cli_params = own;
    return EXIT_OK;
}

static int run(int argc, const char **argv) {
    const char *clip = argc > 1 ? argv[1] : NULL, *method;
    if (bind_path || bake_path) {
        if (clip) return cli_usage("--bind and --bake take no CLIP: leave out %s", clip);
        if (physics != PHYSICS_NET) return cli_usage("--bind and --bake are of --physics net");
        return run_bound(argv[0]);
    }
    if (!common.output && !common.dry_run) return output_missing("out.glb");
    int rc = take_physics(&method);
    if (rc != EXIT_OK) return rc;
    return job_walk(&(Job){.verb = "run",
                           .doctor = true,
                           .track = method,
                           .rig_path = argv[0],
                           .clip_path = clip,
                           .no_clip = "a CLIP",
                           .make = job_play,
                           .slow = physics != PHYSICS_NET,
                           .simulated = true});
}

const Command cmd_run = {
    .name = "run",
    .line = "flesh by a trained network: what physics adds, at the price of a few more shapes",
    .usage = "run RIG [CLIP] -o OUT [options]",
    .examples =
        "  fascia run head.glb clip.csv -o compare.html                     the built-in network: before and after\n"
        "  fascia run head.glb clip.csv --physics limited -o out.glb        the physics itself, without a network\n"
        "  fascia run head.glb clip.csv --net mine.net -o out.glb           a network of your own\n"
        "  fascia run head.glb --bind face.fart                             for libfascia-rt\n"
        "  fascia run head.glb --bake engine.glb                            for any engine: morph targets, .json\n",
    .notes =
        "Out: .glb .gltf .pc2 .mdd .usda, name_####.obj, .html; pictures .png .mp4 .gif. Without CLIP the rig's own\n"
        "animation is played. The network that is built in was trained on the parametric head. Guide:\n"
        "docs/guide/neural.md\n",
    .options = options,
    .writes = "glb gltf vrm pc2 mdd usda obj html png mp4 m4v mov gif csv json",
    .method = "neural",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
