// fascia info: the rig doctor.
#include "job.h"

static bool deep = false, all_shapes = false;

static const Option options[] = {
    {"shapes", 0, OPT_FLAG, &all_shapes, NULL, 0, 0, "list every shape, not only those with something to say"},
    {"deep", 0, OPT_FLAG, &deep, NULL, 0, 0, "also look for triangles that cross each other"},
    LOAD_OPTIONS("map"),
    {0}};

static FaCode describe_face(const char *path, char **text, FaError *err) {
    FaFace *face;
    TRY(fa_face_load(path, &face, err));
    FaCode rc = common.json ? fa_face_report(face, text, err) : fa_face_summary(face, text, err);
    fa_face_free(face);
    return rc;
}

static FaCode examine(const char *path, FaInfo *info, FaError *err) {
    FaRigOptions ropt = load_rig_options();
    FaClip *clip = NULL;
    FaSequence *seq = NULL;
    FaRig *rig = NULL;
    FaCode rc;
    switch (fa_file_kind(path)) {
    case FA_KIND_CLIP:
        rc = load_clip(path, &clip, err);
        if (rc >= 0) rc = fa_info_of_clip(clip, info, err);
        break;
    case FA_KIND_CACHE:
        rc = fa_sequence_open(path, &ropt, &seq, err);
        if (rc >= 0) rc = fa_info_of_sequence(seq, info, err);
        break;
    default:
        rc = load_rig(path, &rig, err);
        if (rc >= 0) rc = fa_info_of_rig(rig, deep, info, err);
    }
    fa_clip_free(clip);
    fa_sequence_close(seq);
    fa_rig_free(rig);
    return rc;
}

static FaCode describe(const char *path, char **text, FaError *err) {
    FaInfo info;
    if (path_has_ext(path, "face")) return describe_face(path, text, err);
    TRY(examine(path, &info, err));
    FaCode rc =
        common.json ? fa_info_json(&info, text, err) : fa_info_text(&info, all_shapes || common.verbose, text, err);
    fa_info_free(&info);
    return rc;
}

static int run(int argc, const char **argv) {
    (void)argc;
    FaError err = {0};
    char *text;
    if (describe(argv[0], &text, &err) < 0) return cli_fail(&err);
    fputs(text, stdout);
    if (common.json) putchar('\n');
    fa_free(text);
    return EXIT_OK;
}

const Command cmd_info = {
    .name = "info",
    .line = "what is in a file, what is wrong with it, how to fix it",
    .usage = "info FILE|FOLDER [options]",
    .examples = "  fascia info head.glb                   a rig: counts, unit, axes, shapes, defects\n"
                "  fascia info shapes/ --unit cm          a folder of OBJ files: neutral and one file per shape\n"
                "  fascia info take.csv                   a Live Link take: frames, rate, dropped frames, ranges\n"
                "  fascia info head.face                  a physical face: nodes, quality, thickness, regions, jaw\n"
                "  fascia info head.glb --deep --json     for programs, with crossing triangles counted\n",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
