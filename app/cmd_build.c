// fascia build: a rig becomes a physical face.
#include "job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int layers, simulate_vertices, flesh_size;
static double thickness, lip_thickness, margin, density;
static const char *bones, *paint, *pictures, *picture;
static const char *materials, *materials_preview;
static bool no_bones, whole, volumes;
static int flesh; // as its choices: 1: filled
static bool equilibrium;
static double least_stiffness;

static const Option options[] = {
    {"flesh", 0, OPT_CHOICE, &flesh, "layer|filled", 0, 0,
     "layer: below the skin. filled: all through lips and cheeks, from skin to bone (layer)"},
    {"flesh-size", 0, OPT_INT, &flesh_size, "N", 500, 200000,
     "with --flesh filled: about how many points of it move freely; fewer are faster (6000)"},
    {"layers", 0, OPT_INT, &layers, "N", 1, 16, "layers of flesh; 2 or 3 for close-ups (1; with --volumes 2)"},
    {"thickness", 0, OPT_NUM, &thickness, "MM", 0.1, 40,
     "thickness of the flesh, everywhere (default: up to the bones; without bones: forehead 5, cheeks 15)"},
    {"lip-thickness", 0, OPT_NUM, &lip_thickness, "MM", 0.1, 40,
     "thickness of the flesh in the folds of the lips (1.5)"},
    {"bone", 0, OPT_TEXT, &bones, "FILE[,FILE...]", 0, 0,
     "bones from other files, in the place and unit of the rig; their names tell what they are: skull, jaw, "
     "teeth_upper, ..."},
    {"no-bones", 0, OPT_FLAG, &no_bones, NULL, 0, 0, "do not use the bones, teeth and eyes in the rig's own file"},
    {"whole", 0, OPT_FLAG, &whole, NULL, 0, 0, "simulate all of the skin, not only what the shapes move"},
    {"margin", 0, OPT_NUM, &margin, "MM", 0.001, 10000,
     "also simulate the skin this far around what the shapes move (25)"},
    {"simulate-vertices", 0, OPT_INT, &simulate_vertices, "N", 100, 1000000,
     "simulate only N vertices, the others follow; 5000 suits dense rigs (all; with --volumes 3500)"},
    {"density", 0, OPT_NUM, &density, "KG/M3", 1, 100000, "density of flesh (1100)"},
    {"paint", 0, OPT_TEXT, &paint, "FILE", 0, 0,
     "thickness, attachment and regions by vertex: a JSON file (docs/guide/face.md)"},
    {"materials", 0, OPT_TEXT, &materials, "FILE|auto", 0, 0,
     "stiffness by place and shape, for enrich: auto, or a file: JSON, vertex colours in .glb, .obj or a folder "
     "(with --volumes auto)"},
    {"materials-preview", 0, OPT_OUT, &materials_preview, "OUT.png", 0, 0, "a picture of the stiffness"},
    {"volumes", 0, OPT_FLAG, &volumes, NULL, 0, 0,
     "also the flesh of every shape, for enrich (a minute or more; a stopped run continues)"},
    {"pictures", 0, OPT_TEXT, &pictures, "DIR", 0, 0,
     "a folder for pictures: cut.png, thickness.png, regions.png, attachment.png"},
    {"picture", 0, OPT_OUT, &picture, "OUT.png", 0, 0, "only the picture of the head cut open"},
    {"equilibrium", 0, OPT_FLAG, &equilibrium, NULL, 0, 0,
     "for drive --literal and --model surface: tune the skin so that full shapes hold by themselves (minutes)"},
    {"floor", 0, OPT_NUM, &least_stiffness, "F", 0.01, 1,
     "with --equilibrium: how much softer skin may become (0.1: a tenth)"},
    LOAD_OPTIONS("map"),
    {0}};

typedef struct Build {
    Job job;
    FaFace *face;
    char *report; // JSON, or lines for people
} Build;

static FaCode draw_pictures(const FaFace *face, const FaRig *rig, FaError *err) {
    if (materials_preview) TRY(fa_face_picture(face, rig, FA_FACE_MATERIALS, 480, materials_preview, err));
    if (picture) TRY(fa_face_picture(face, rig, FA_FACE_CUT, 0, picture, err));
    for (int i = 0; pictures && i < FA_FACE_PICTURES; i++) {
        char path[1024];
        if (mkdir(pictures, 0777) != 0 && errno != EEXIST) {
            *err = (FaError){.code = FA_E_FILE};
            snprintf(err->path, sizeof err->path, "%s", pictures);
            snprintf(err->what, sizeof err->what, "the folder cannot be made: %s", strerror(errno));
            return FA_E_FILE;
        }
        snprintf(path, sizeof path, "%s/%s.png", pictures, fa_face_picture_name((FaFacePicture)i));
        TRY(fa_face_picture(face, rig, (FaFacePicture)i, 0, path, err));
        cli_progress(NULL, "pictures", (i + 1.0) / FA_FACE_PICTURES);
    }
    cli_progress_end();
    return FA_OK;
}

static void say_shape(void *user, const FaVolumeShapeReport *s) {
    (void)user;
    if (s->resumed)
        cli_say("  %-24s volume %+5.1f %%, pieces %.3f rms; inside out %d; most squeezed %.2f (resumed)", s->name,
                100 * (s->volume - 1), s->volume_rms, s->inverted, s->least);
    else
        cli_say("  %-24s volume %+5.1f %%, pieces %.3f rms; %4d points on bone, %.2f -> %.2f mm off; inside out %d -> "
                "%d; most squeezed %.2f; %.1f s",
                s->name, 100 * (s->volume - 1), s->volume_rms, s->on_bone, s->off_bone_first_mm, s->off_bone_mm,
                s->folded, s->inverted, s->least, s->seconds);
}

static void say_volumes(const FaVolumesReport *r) {
    char squeezed[160] = "";
    if (r->worst) snprintf(squeezed, sizeof squeezed, "; most squeezed: %.80s, to %.0f %%", r->worst, 100 * r->least);
    cli_say("the flesh of %d shapes in %.1f s%s%s; %d %s left out", r->nshape, r->seconds,
            r->resumed ? " (resumed)" : "", squeezed, r->left_out, flesh == 1 ? "pieces" : "triangles");
    if (r->swollen) cli_say("the flesh changes its volume most in %s: by %+.1f %%", r->swollen, 100 * (r->volume - 1));
    if (!common.verbose) return;
    if (r->on_bone)
        cli_say("%d points on bones, %.2f mm off them after the first solve, %.2f mm in the end", r->on_bone,
                1e3 * r->off_bone_first, 1e3 * r->off_bone);
    cli_say("%d pieces of flesh were turned right side out again", r->unfolded);
    cli_say("in random mixtures of shapes %.3f %% of the pieces are squeezed to under 20 %%, %.3f %% turn inside out "
            "(enrich limits them)",
            100 * r->mixed_clamped, 100 * r->mixed_inverted);
}

static void say_equilibrium(const FaEquilibriumReport *r) {
    cli_say("the skin is tuned for %d shapes in %.1f s: full shapes come to rest %.4f mm off, before %.4f mm (%.2fx)",
            r->nshape, r->seconds + r->seconds_distances, r->after_mm, r->before_mm,
            r->after_mm > 0 ? r->before_mm / r->after_mm : 0);
    if (!common.verbose) return;
    cli_say(
        "  %d weights at %d points, %d iterations (%d evaluations); with the same mean stiffness everywhere %.4f mm",
        r->nterm, r->nnode, r->iterations, r->evaluations, r->uniform_mm);
    cli_say(
        "  relative stiffness: geometric mean 1; mean of anchors %.2f, edges %.2f, bending %.2f; %.1f %% of weights "
        "at a bound",
        r->mean[0], r->mean[1], r->mean[2], r->nterm ? 100.0 * r->held / r->nterm : 0);
    if (r->share < 1) cli_say("  measured distances allowed %.0f %% of the change that was found", 100 * r->share);
    for (int i = 0; i < r->nshape; i++)
        cli_say("  %-24s moves %6.2f mm; away %.4f -> %.4f mm (uniform %.4f)", r->shape[i].name, r->shape[i].size_mm,
                r->shape[i].before_mm, r->shape[i].after_mm, r->shape[i].uniform_mm);
}

// What is asked for over what the needs' own defaults are.
static FaFaceOptions build_options(unsigned needs, const char **bone_files, int nbone) {
    FaFaceOptions o = fa_face_options_for(needs);
    if (layers) o.layers = layers;
    o.filled = flesh == 1;
    o.flesh_size = flesh_size;
    if (simulate_vertices) o.simulate_vertices = simulate_vertices;
    o.thickness = 1e-3 * thickness;
    o.lip_thickness = 1e-3 * lip_thickness;
    o.density = density;
    o.paint = paint;
    o.bone = bone_files;
    o.nbone = nbone;
    o.no_bones = no_bones;
    o.whole = whole;
    o.margin = 1e-3 * margin;
    return o;
}

// The face is saved on the way, where finished shapes of --volumes are kept too.
static FaCode get_face(Build *b, unsigned needs, const FaFaceOptions *o, FaError *err) {
    const FaEquilibriumOptions rest = {.floor = least_stiffness};
    FaFaceGot got;
    const FaFaceGet how = {.cache = common.dry_run ? NULL : b->job.output,
                           .again = true,
                           .options = o,
                           .materials = !materials || !strcmp(materials, "auto") ? NULL : materials,
                           .each = common.verbose ? say_shape : NULL,
                           .equilibrium = &rest,
                           .progress = cli_progress,
                           .got = &got};
    TRY(fa_face_get(b->job.rig, needs, &how, &b->face, err));
    cli_progress_end();
    if (got.made & FA_NEED_VOLUMES) say_volumes(&got.volumes);
    if (got.made & FA_NEED_EQUILIBRIUM) say_equilibrium(&got.equilibrium);
    fa_equilibrium_report_free(&got.equilibrium);
    return FA_OK;
}

static FaCode make(Job *j, FaError *err) {
    Build *b = (Build *)j;
    int n;
    char **bone = split_list(bones, &n);
    if (bones && !bone) return cli_no_memory(err);
    unsigned needs = FA_NEED_FACE;
    if (materials || materials_preview) needs |= FA_NEED_MATERIALS;
    if (volumes) needs |= fa_method_needs("enrich");
    if (equilibrium) needs |= FA_NEED_EQUILIBRIUM;
    const FaFaceOptions o = build_options(needs, (const char **)bone, n);
    if (!o.simulate_vertices) job_say_long(j->rig, "");
    FaCode rc = get_face(b, needs, &o, err);
    free(bone);
    TRY(rc);
    return common.json ? fa_face_report(b->face, &b->report, err) : fa_face_summary(b->face, &b->report, err);
}

static FaCode write(Job *j, FaError *err) { return draw_pictures(((Build *)j)->face, j->rig, err); }

static void say(Job *j) {
    cli_say("%s", ((Build *)j)->report);
    cli_say("made in %.2f s", j->seconds);
}

static void json(Job *j, FaJsonWriter *w) { fa_json_members(w, ((Build *)j)->report); }

static void build_free(Job *j) {
    fa_free(((Build *)j)->report);
    fa_face_free(((Build *)j)->face);
}

static int run(int argc, const char **argv) {
    (void)argc;
    if (!common.output && !common.dry_run) return output_missing("head.face");
    int code = cli_only(
        "for a face",
        "flesh flesh-size layers thickness lip-thickness bone no-bones whole margin simulate-vertices density paint "
        "materials materials-preview volumes pictures picture equilibrium floor hinge");
    if (code != EXIT_OK) return code;
    if (flesh == 1 && layers) return cli_usage("--flesh filled: such flesh has no layers; leave --layers out");
    if (flesh_size && flesh != 1) return cli_usage("--flesh-size goes with --flesh filled");
    if (least_stiffness > 0 && !equilibrium) return cli_usage("--floor goes with --equilibrium");
    Build b = {.job = {.verb = "build",
                       .rig_path = argv[0],
                       .make = make,
                       .write = write,
                       .say = say,
                       .json = json,
                       .own_notes = true,
                       .free = build_free}};
    return job_walk(&b.job);
}

const Command cmd_build = {
    .name = "build",
    .line = "make the physical face of a rig: flesh, bones, jaw, regions",
    .usage = "build RIG -o OUT.face [options]",
    .examples =
        "  fascia build head.glb -o head.face                            with the bones of the file, if it has any\n"
        "  fascia build head.glb -o head.face --pictures look/           and pictures to judge it by\n"
        "  fascia build head.glb -o head.face --volumes                  for fascia enrich\n"
        "  fascia build rig.fbx -o rig.face --bone skull.obj,jaw.obj     bones from other files\n"
        "  fascia build rig.glb -o rig.face --layers 2 --thickness 8     two layers, 8 mm everywhere\n"
        "  fascia build dense.glb -o dense.face --simulate-vertices 5000   a rig with very many vertices\n"
        "  fascia build squid.glb -o squid.face --paint squid.json       what is held and what hangs free, by hand\n"
        "  fascia build head.glb --dry-run --json                        the quality report alone\n",
    .notes = "The face holds the flesh below the skin, what skull and jaw hold of it, how the jaw moves, regions and "
             "bones.\n"
             "docs/guide/face.md says what the report means.\n",
    .options = options,
    .writes = "face",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
