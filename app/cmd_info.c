// fascia info: the rig doctor.
#include "simulate.h"

static bool deep = false, all_shapes = false;

static const Option options[] = {
    {"shapes", 0, OPT_FLAG, &all_shapes, NULL, 0, 0, "list every shape, not only those with something to say"},
    {"deep", 0, OPT_FLAG, &deep, NULL, 0, 0, "also look for triangles that cross each other"},
    LOAD_OPTIONS,
    {0}};

static int print_info(FaInfo *info) {
    FaError err = {0};
    char *text = NULL;
    FaCode rc =
        common.json ? fa_info_json(info, &text, &err) : fa_info_text(info, all_shapes || common.verbose, &text, &err);
    fa_info_free(info);
    if (rc < 0) return cli_fail(&err);
    fputs(text, stdout);
    if (common.json) putchar('\n');
    fa_free(text);
    return EXIT_OK;
}

static int info_rig(const char *path) {
    FaError err = {0};
    FaRig *rig;
    FaInfo info;
    FaRigOptions opt = load_rig_options();
    if (fa_rig_load(path, &opt, &rig, &err) < 0) return cli_fail(&err);
    FaCode rc = fa_info_of_rig(rig, deep, &info, &err);
    int code = rc < 0 ? cli_fail(&err) : print_info(&info);
    fa_rig_free(rig);
    return code;
}

static int info_clip(const char *path) {
    FaError err = {0};
    FaClip *clip;
    FaInfo info;
    FaClipOptions opt = load_clip_options();
    if (fa_clip_load(path, &opt, &clip, &err) < 0) return cli_fail(&err);
    FaCode rc = fa_info_of_clip(clip, &info, &err);
    int code = rc < 0 ? cli_fail(&err) : print_info(&info);
    fa_clip_free(clip);
    return code;
}

static int info_cache(const char *path) {
    FaError err = {0};
    FaSequence *seq;
    FaInfo info;
    FaRigOptions opt = load_rig_options();
    if (fa_sequence_open(path, &opt, &seq, &err) < 0) return cli_fail(&err);
    FaCode rc = fa_info_of_sequence(seq, &info, &err);
    int code = rc < 0 ? cli_fail(&err) : print_info(&info);
    fa_sequence_close(seq);
    return code;
}

static int info_face(const char *path) {
    FaError err = {0};
    FaFace *face;
    char *text = NULL;
    if (fa_face_load(path, &face, &err) < 0) return cli_fail(&err);
    FaCode rc = common.json ? fa_face_report(face, &text, &err) : fa_face_summary(face, &text, &err);
    if (rc >= 0) fputs(text, stdout);
    if (rc >= 0 && common.json) putchar('\n');
    fa_free(text);
    fa_face_free(face);
    return rc < 0 ? cli_fail(&err) : EXIT_OK;
}

static int run(int argc, const char **argv) {
    (void)argc;
    if (path_has_ext(argv[0], "face")) return info_face(argv[0]);
    switch (fa_file_kind(argv[0])) {
    case FA_KIND_CLIP: return info_clip(argv[0]);
    case FA_KIND_CACHE: return info_cache(argv[0]);
    default: return info_rig(argv[0]);
    }
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
