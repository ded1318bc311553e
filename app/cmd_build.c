// fascia build: a rig becomes a physical face.
#include "fascia/face.h"
#include "load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int layers, simulate_vertices;
static double thickness, lip_thickness, margin, density;
static const char *bones, *paint, *pictures, *picture;
static const char *materials, *materials_preview;
static bool no_bones, whole, volumes;
static bool equilibrium;
static double least_stiffness;

static const Option options[] = {
    {"layers", 0, OPT_INT, &layers, "N", 1, 16, "prism layers through the thickness (1)"},
    {"thickness", 0, OPT_NUM, &thickness, "MM", 0.1, 40,
     "the same everywhere (by the bones, else 5 mm forehead to 15 mm cheeks)"},
    {"lip-thickness", 0, OPT_NUM, &lip_thickness, "MM", 0.1, 40, "in the folds of the lips (1.5)"},
    {"bone", 0, OPT_TEXT, &bones, "FILE[,FILE...]", 0, 0,
     "further bones in the rig's frame and unit: skull, jaw, teeth_upper, ... by name"},
    {"no-bones", 0, OPT_FLAG, &no_bones, NULL, 0, 0, "ignore the bones, teeth and eyes in the rig's own file"},
    {"whole", 0, OPT_FLAG, &whole, NULL, 0, 0, "simulate all of the skin, not only what the shapes move"},
    {"margin", 0, OPT_NUM, &margin, "MM", 0.001, 10000, "around what the shapes move (25)"},
    {"simulate-vertices", 0, OPT_INT, &simulate_vertices, "N", 100, 1000000,
     "simulate so many vertices of the skin, the others follow (all; 5000 suits dense rigs)"},
    {"density", 0, OPT_NUM, &density, "KG/M3", 1, 100000, "of flesh (1100)"},
    {"paint", 0, OPT_TEXT, &paint, "FILE", 0, 0, "JSON that overrides thickness, attachment and regions per vertex"},
    {"materials", 0, OPT_TEXT, &materials, "FILE|auto", 0, 0,
     "stiffness per shape: painted in JSON or as vertex colours (.glb, .obj, folder), or by how much each compresses "
     "the skin"},
    {"materials-preview", 0, OPT_TEXT, &materials_preview, "OUT.png", 0, 0, "draw it (auto, if none is given)"},
    {"volumes", 0, OPT_FLAG, &volumes, NULL, 0, 0,
     "the flesh of every shape, for fascia enrich; a stopped run goes on"},
    {"pictures", 0, OPT_TEXT, &pictures, "DIR", 0, 0, "cut.png, thickness.png, regions.png, attachment.png"},
    {"picture", 0, OPT_TEXT, &picture, "OUT.png", 0, 0, "only the cut-away"},
    {"equilibrium", 0, OPT_FLAG, &equilibrium, NULL, 0, 0,
     "also a stiffness of the skin under which full shapes rest (minutes)"},
    {"floor", 0, OPT_NUM, &least_stiffness, "F", 0.01, 1,
     "with --equilibrium: least stiffness of edges and bending, the largest is one over it (0.1)"},
    LOAD_OPTIONS,
    {0}};

// --bone A,B,C: the names, cut in place. Returns how many; free *text and *list.
static int split_bones(char **text, const char ***list) {
    *text = NULL;
    *list = NULL;
    if (!bones) return 0;
    int n = 1;
    for (const char *p = bones; *p; p++) n += *p == ',';
    *text = strdup(bones);
    *list = calloc((size_t)n, sizeof **list);
    if (!*text || !*list) return -1;
    char *p = *text;
    for (int i = 0; i < n && p; i++) {
        (*list)[i] = p;
        if ((p = strchr(p, ','))) *p++ = 0;
    }
    return n;
}

static FaCode draw_pictures(const FaFace *face, const FaRig *rig, FaError *err) {
    if (materials_preview) {
        FaCode rc = fa_face_picture(face, rig, FA_FACE_MATERIALS, 480, materials_preview, err);
        if (rc < 0) return rc;
    }
    if (picture) {
        FaCode rc = fa_face_picture(face, rig, FA_FACE_CUT, 0, picture, err);
        if (rc < 0) return rc;
    }
    for (int i = 0; pictures && i < FA_FACE_PICTURES; i++) {
        char path[1024];
        if (mkdir(pictures, 0777) != 0 && errno != EEXIST) {
            *err = (FaError){.code = FA_E_FILE};
            snprintf(err->path, sizeof err->path, "%s", pictures);
            snprintf(err->what, sizeof err->what, "the folder cannot be made: %s", strerror(errno));
            return FA_E_FILE;
        }
        snprintf(path, sizeof path, "%s/%s.png", pictures, fa_face_picture_name((FaFacePicture)i));
        FaCode rc = fa_face_picture(face, rig, (FaFacePicture)i, 0, path, err);
        if (rc < 0) return rc;
        cli_progress(NULL, "pictures", (i + 1.0) / FA_FACE_PICTURES);
    }
    cli_progress_end();
    return FA_OK;
}

static FaCode report(const FaFace *face, double seconds, FaError *err) {
    char *text;
    if (common.json) {
        FaCode rc = fa_face_report(face, &text, err);
        if (rc < 0) return rc;
        printf("{\"output\":");
        if (common.output)
            cli_json_string(common.output);
        else
            printf("null");
        printf(",\"seconds\":%.6f,%s\n", seconds, text + 1);
        fa_free(text);
        return FA_OK;
    }
    FaCode rc = fa_face_summary(face, &text, err);
    if (rc < 0) return rc;
    cli_say("%s", text);
    fa_free(text);
    return FA_OK;
}

static void say_shape(void *user, const FaVolumeShapeReport *s) {
    (void)user;
    if (s->resumed)
        cli_say("  %-24s volume %+5.1f %%, tets %.3f rms; inverted %d; least %.2f (resumed)", s->name,
                100 * (s->volume - 1), s->volume_rms, s->inverted, s->least);
    else
        cli_say("  %-24s volume %+5.1f %%, tets %.3f rms; %4d nodes on bone, %.2f -> %.2f mm; inverted %d -> %d; least "
                "%.2f; %.1f s",
                s->name, 100 * (s->volume - 1), s->volume_rms, s->on_bone, s->off_bone_first_mm, s->off_bone_mm,
                s->folded, s->inverted, s->least, s->seconds);
}

// --volumes: finished shapes are kept in OUT.face.part until the face is saved.
static FaCode make_volumes(FaFace *face, const FaRig *rig, char *partial, size_t size, FaError *err) {
    FaVolumesReport r;
    if (common.output && (size_t)snprintf(partial, size, "%s.part", common.output) >= size) partial[0] = 0;
    const FaVolumeOptions how = {.partial = partial[0] && !common.dry_run ? partial : NULL,
                                 .progress = cli_progress,
                                 .each = common.verbose ? say_shape : NULL};
    FaCode rc = fa_face_volumes(face, rig, &how, &r, err);
    cli_progress_end();
    if (rc < 0) return rc;
    cli_say("volumes of %d shapes in %.1f s%s: least stretch %.2f%s%s, %d tets unfolded, %d triangles left out",
            r.nshape, r.seconds, r.resumed ? " (resumed)" : "", r.least, r.worst ? " in " : "", r.worst ? r.worst : "",
            r.unfolded, r.left_out);
    if (r.on_bone)
        cli_say("%d nodes on bones, %.2f mm off after the first solve, %.2f mm in the end", r.on_bone,
                1e3 * r.off_bone_first, 1e3 * r.off_bone);
    if (r.swollen) cli_say("the flesh changes its volume most in %s: by %+.1f %%", r.swollen, 100 * (r.volume - 1));
    cli_say("mixed shapes: least %.2f, %.3f %% of tets under 0.2, %.3f %% inverted", r.mixed_least,
            100 * r.mixed_clamped, 100 * r.mixed_inverted);
    return FA_OK;
}

static FaCode balance(FaFace *face, const FaRig *rig, FaError *err) {
    FaEquilibriumReport r;
    const FaEquilibriumOptions how = {.floor = least_stiffness, .progress = cli_progress};
    FaCode rc = fa_face_equilibrium(face, rig, &how, &r, err);
    cli_progress_end();
    if (rc < 0) return rc;
    cli_say("equilibrium of %d shapes, %d weights at %d nodes: %d iterations (%d evaluations) in %.1f s, distances in "
            "%.1f s",
            r.nshape, r.nterm, r.nnode, r.iterations, r.evaluations, r.seconds, r.seconds_distances);
    cli_say("full shapes rest %.4f mm away, before %.4f mm (%.2fx); %.4f mm with the same mean stiffness everywhere",
            r.after_mm, r.before_mm, r.after_mm > 0 ? r.before_mm / r.after_mm : 0, r.uniform_mm);
    cli_say("relative stiffness: geometric mean 1; mean of anchors %.2f, edges %.2f, bending %.2f; %.1f %% of weights "
            "at a bound",
            r.mean[0], r.mean[1], r.mean[2], r.nterm ? 100.0 * r.held / r.nterm : 0);
    if (r.share < 1) cli_say("measured distances allowed %.0f %% of the change that was found", 100 * r.share);
    for (int i = 0; i < r.nshape && common.verbose; i++)
        cli_say("  %-24s moves %6.2f mm; away %.4f -> %.4f mm (uniform %.4f)", r.shape[i].name, r.shape[i].size_mm,
                r.shape[i].before_mm, r.shape[i].after_mm, r.shape[i].uniform_mm);
    fa_equilibrium_report_free(&r);
    return FA_OK;
}

static int run(int argc, const char **argv) {
    (void)argc;
    FaError err = {0};
    FaRig *rig = NULL;
    FaFace *face = NULL;
    char *text;
    const char **list;
    if (!common.output && !common.dry_run) return cli_usage("where to? fascia build %s -o out.face", argv[0]);
    int n = split_bones(&text, &list), code = EXIT_OK;
    if (n < 0) {
        free(text);
        free(list);
        return cli_usage("out of memory");
    }
    const FaFaceOptions how = {.layers = layers,
                               .thickness = 1e-3 * thickness,
                               .lip_thickness = 1e-3 * lip_thickness,
                               .density = density,
                               .paint = paint,
                               .bone = list,
                               .nbone = n,
                               .no_bones = no_bones,
                               .whole = whole,
                               .simulate_vertices = simulate_vertices,
                               .margin = 1e-3 * margin};
    FaRigOptions load = load_rig_options();
    double t0 = cli_seconds(), seconds = 0;
    FaCode rc = fa_rig_load(argv[0], &load, &rig, &err);
    if (rc >= 0) rc = fa_face_build(rig, &how, &face, &err);
    if (rc >= 0 && (materials || materials_preview))
        rc = fa_face_materials(face, rig, !materials || !strcmp(materials, "auto") ? NULL : materials, &err);
    char partial[1024] = "";
    if (rc >= 0 && volumes) rc = make_volumes(face, rig, partial, sizeof partial, &err);
    if (rc >= 0 && equilibrium) rc = balance(face, rig, &err);
    seconds = cli_seconds() - t0;
    if (rc >= 0 && !common.dry_run) rc = fa_face_save(face, common.output, &err);
    if (rc >= 0 && partial[0] && !common.dry_run) remove(partial);
    if (rc >= 0 && !common.dry_run) rc = draw_pictures(face, rig, &err);
    if (rc >= 0) rc = report(face, seconds, &err);
    if (rc < 0)
        code = cli_fail(&err);
    else if (!common.dry_run)
        cli_say("wrote %s in %.2f s", common.output, seconds);
    fa_face_free(face);
    fa_rig_free(rig);
    free(text);
    free(list);
    return code;
}

const Command cmd_build = {
    .name = "build",
    .line = "a physical face from a rig: flesh, bones, jaw, regions",
    .usage = "build RIG -o OUT.face [options]",
    .examples =
        "  fascia build head.glb -o head.face                          bones of the same file, or none\n"
        "  fascia build head.glb -o head.face --pictures look/         with a cut-away and maps to judge it by\n"
        "  fascia build rig.fbx -o rig.face --bone skull.obj,jaw.obj   bones from other files\n"
        "  fascia build rig.glb -o rig.face --layers 2 --thickness 8   two layers, 8 mm everywhere\n"
        "  fascia build squid.glb -o squid.face --paint squid.json     what is held and what hangs free, by hand\n"
        "  fascia build dense.glb -o dense.face --simulate-vertices 5000 --materials auto --materials-preview m.png\n"
        "  fascia build head.glb -o head.face --volumes --materials auto   for fascia enrich\n"
        "  fascia build head.glb --dry-run --json                      the quality report alone\n",
    .notes = "The face holds the layer of flesh below the skin (tets), masses, what skull and jaw hold, the jaw's "
             "motion as the\n"
             "shapes have it, regions and bones. docs/guide/face.md says what the report means.\n",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
