// fascia muscle play: a clip, as muscles and flesh make it.
#include "head_motion.h"
#include "muscle.h"
#include "muscle_hits.h"
#include "outputs.h"

#include <stdlib.h>
#include <string.h>

static const char *hit;

static const Option options[] = {
    HEAD_MOTION_OPTIONS,
    {"hit", 0, OPT_TEXT, &hit, "FRAMES", 0, 0,
     "0,24,60: frames that meet your shapes exactly; what flesh lacks there is added, and on the way to the next frame "
     "of the list it goes over into what that lacks"},
    OUT_OPTIONS,
    CHECK_OPTION,
    LOAD_OPTIONS("map"),
    {0}};

typedef struct Play {
    Muscle m;
    unsigned char *used;  // shapes that the clip moves                                (nshape)
    unsigned char *there; // shapes that the face has muscles for                      (nshape)
    FaMuscleShapesReport shapes;
    FaClip *moved; // the clip with --head-motion
    MuscleHits hits;
    FaSequence *added; // the frames with what they lack
} Play;

// What acts on flesh with mass alone.
static int check_motion(void) {
    static const char *const name[] = {"rate", "ratio", "drag", "head", "gravity"};
    if (fa_params_get(cli_params, "motion") > 0) return EXIT_OK;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (cli_given(name[i])) return cli_usage("--%s goes with --motion dynamic", name[i]);
    return EXIT_OK;
}

static FaCode load(Job *j, FaError *err) {
    Play *p = (Play *)j;
    FaClip *felt = NULL;
    TRY(head_motion_check(err));
    if (!head_motion.path) return FA_OK;
    TRY(head_motion_add(j, &p->moved, &felt, NULL, err));
    fa_clip_free(j->felt);
    j->clip = p->moved, j->felt = felt;
    return FA_OK;
}

// Shapes that some frame of the clip moves.
static FaCode find_used(Play *p, FaError *err) {
    const Job *j = &p->m.job;
    const size_t n = (size_t)j->rig->nshape;
    FaBinding b = {0};
    float *w = malloc((n + 1) * sizeof *w);
    p->used = calloc(n + 1, 1), p->there = calloc(n + 1, 1);
    FaCode rc = w && p->used && p->there ? fa_clip_bind(j->clip, j->rig, &b, err) : cli_no_memory(err);
    for (int f = 0; f < j->clip->nframe && rc >= 0; f++) {
        fa_binding_weights(&b, j->clip->weight + (size_t)f * (size_t)j->clip->nchan, w);
        for (size_t i = 0; i < n; i++) p->used[i] |= w[i] != 0;
    }
    fa_binding_free(&b);
    free(w);
    return rc;
}

// Shapes that are made here are kept beside the output, for the next clip.
static void shapes_path(const Play *p, char *path, size_t size) {
    const char *out = common.output ? common.output : "", *slash = strrchr(out, '/'), *base = path_base(p->m.path),
               *ext = strrchr(base, '.');
    snprintf(path, size, "%.*s%.*s.muscle.shapes", slash ? (int)(slash - out + 1) : 0, out,
             ext ? (int)(ext - base) : (int)strlen(base), base);
}

// Muscles of the shapes that the clip uses, where the face does not have them.
static FaCode get_shapes(Play *p, FaError *err) {
    Job *j = &p->m.job;
    char path[4096];
    int missing = 0;
    TRY(fa_muscle_shapes_kept(p->m.model, p->m.face, p->there, err));
    for (int i = 0; i < j->rig->nshape; i++) missing += p->used[i] && !p->there[i];
    if (!missing) return FA_OK;
    shapes_path(p, path, sizeof path);
    const FaMuscleShapesOptions o = {
        .wanted = p->used, .partial = output_wanted() ? path : NULL, .progress = cli_progress};
    cli_say(
        "the muscles of %d shape%s are not in %s: those that are not in %s either are made now, some seconds each (all "
        "shapes, once: fascia muscle build %s --shapes -o FACE)",
        missing, missing == 1 ? "" : "s", path_base(p->m.path), path, p->m.path);
    if (o.partial) outputs_resume = "finished shapes are kept, and the same command goes on from there";
    FaCode rc = fa_muscle_shapes(p->m.model, p->m.face, &o, &p->shapes, err);
    cli_progress_end();
    TRY(rc);
    if (p->shapes.made) cli_say("  %d made in %.0f s", p->shapes.made, p->shapes.seconds);
    return FA_OK;
}

// A clip at rest needs no muscles, but the method does.
static FaCode use_one(Play *p) {
    bool any = false;
    for (int i = 0; i < p->m.job.rig->nshape; i++) any |= p->used[i];
    if (!any) p->used[0] = 1;
    return FA_OK;
}

static FaCode add_hits(Play *p, FaError *err) {
    Job *j = &p->m.job;
    TRY(fa_sequence_of_clip(j->rig, j->clip, &j->linear, err));
    TRY(muscle_hits_add(&p->hits, j->linear, j->record.seq, &p->added, err));
    j->frames = p->added;
    cli_say("%d frames meet the shapes: up to %.2f mm were lacking", p->hits.count, p->hits.worst);
    return FA_OK;
}

static FaCode make(Job *j, FaError *err) {
    Play *p = (Play *)j;
    TRY(cli_frames(j->clip->nframe, &j->first, &j->last, err));
    if (hit) TRY(muscle_hits_read(hit, j->last, &p->hits, err));
    TRY(find_used(p, err));
    TRY(use_one(p));
    TRY(muscle_open(j, err));
    // before minutes are spent
    if (cli_given("edits")) TRY(fa_muscle_clip_edits_check(p->m.model, fa_params_text(cli_params, "edits"), err));
    TRY(get_shapes(p, err));
    if (!fa_muscle_kept(p->m.face)) TRY(fa_muscle_keep(p->m.model, p->m.face, err));
    // the method has a model of its own; this one is kept for its notes
    j->face = p->m.face, p->m.face = NULL;
    // what it says of shapes without muscles is of those that the clip does not move
    TRY(job_parameters(j, err));
    TRY(fa_method_open("muscle", &(FaMethodSetup){.rig = j->rig, .face = j->face, .params = cli_params}, &j->method,
                       err));
    TRY(fa_run_new(j->method, j->felt ? j->felt : j->clip, &j->run, err));
    TRY(record_new(fa_run_sequence(j->run), j->last, j->rig, j->clip, &j->record, err));
    j->frames = j->record.seq;
    j->played = j->clip;
    return hit ? add_hits(p, err) : FA_OK;
}

static void json(Job *j, FaJsonWriter *w) {
    const Play *p = (const Play *)j;
    int used = 0;
    for (int i = 0; i < j->rig->nshape; i++) used += p->used[i] != 0;
    fa_json_int(w, "shapes_used", used);
    fa_json_int(w, "shapes_made", p->shapes.made);
    fa_json_number(w, "shapes_seconds", p->shapes.seconds);
    fa_json_int(w, "unsolved", j->stats.unsolved);
    if (p->hits.count) {
        fa_json_int(w, "hits", p->hits.count);
        fa_json_number(w, "hits_lacked_mm", p->hits.worst);
    }
}

static void play_free(Job *j) {
    Play *p = (Play *)j;
    free(p->used);
    free(p->there);
    fa_sequence_close(p->added);
    muscle_hits_free(&p->hits);
    fa_clip_free(p->moved);
    muscle_free(j);
}

static int run(int argc, const char **argv) {
    if (!common.output && !common.dry_run && !common.json) return output_missing("out.glb");
    int code = cli_only(
        "for a clip",
        "head-motion loop-motion hit world cache-unit bake-error max-targets check fps frames hinge head-units joint "
        "head-smooth @method");
    if (code != EXIT_OK) return code;
    if ((code = check_motion()) != EXIT_OK) return code;
    if (cli_given("face")) return cli_usage("the face is the first file: fascia muscle play head.face clip.csv -o OUT");
    Play p = {.m = {.path = argv[0],
                    .again = true,
                    .job = {.verb = "muscle play",
                            .track = "muscle",
                            .rig_path = argv[0],
                            .clip_path = argc > 1 ? argv[1] : NULL,
                            .no_clip = "a CLIP",
                            .load = load,
                            .make = make,
                            .json = json,
                            .free = play_free,
                            .simulated = true}}};
    return job_walk(&p.m.job);
}

const Command cmd_muscle_play = {
    .name = "play",
    .line = "a clip, as muscles and flesh make it",
    .usage = "muscle play FACE|RIG [CLIP] -o OUT [options]",
    .examples =
        "  fascia muscle play head.face talk.csv -o talk.glb              a clip in your own file\n"
        "  fascia muscle play head.face talk.csv -o talk.html             beside linear blending, in a browser\n"
        "  fascia muscle play head.face talk.csv --snap 0 -o flesh.mp4    flesh alone, without the rest of the "
        "sculpts\n"
        "  fascia muscle play head.face talk.csv --motion dynamic --head-motion run.bvh -o run.glb     cheeks swing\n"
        "  fascia muscle play head.face talk.csv --edits lips.json -o talk.glb   tracks moved in some frames\n"
        "  fascia muscle play head.face talk.csv --frames 0-99 -o out.pc2\n"
        "  fascia muscle play head.face talk.csv --hit 12,40 -o talk.glb         these frames as your shapes have "
        "them\n"
        "  fascia muscle play head.glb -o rom.glb                         the rig's own animation; muscles are made "
        "now\n",
    .notes =
        "Out: .glb .gltf .pc2 .mdd .usda, name_####.obj, .html; pictures .png .mp4 .gif.\n"
        "Every shape needs its muscles once, some seconds each: fascia muscle build RIG --shapes -o head.face. "
        "Those\n"
        "that a clip uses and FACE has not are made on the way, and kept beside the output as "
        "FACE.muscle.shapes.\n"
        "lips.json: {\"fps\": 30, \"edits\": [{\"muscle\": \"inc_*\", \"move\": {\"medial\": 6}, \"frames\": [40, 60], "
        "\"ease\": 6},\n"
        "  {\"muscle\": \"dao\", \"activation\": 0.4}]}\n",
    .options = options,
    .writes = "glb gltf vrm pc2 mdd usda obj html png mp4 m4v mov gif csv json",
    .method = "muscle",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
