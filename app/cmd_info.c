// fascia info: the rig doctor.
#include "job.h"

static bool deep = false, all_shapes = false;

static const Option options[] = {
    {"shapes", 0, OPT_FLAG, &all_shapes, NULL, 0, 0, "list every shape, not only those with something to say"},
    {"deep", 0, OPT_FLAG, &deep, NULL, 0, 0, "also look for triangles that cross each other"},
    LOAD_OPTIONS("map"),
    {0}};

// What is looked at; a report speaks of it, so it is kept until that is text.
typedef struct Subject {
    FaRig *rig;
    FaClip *clip;
    FaSequence *seq;
    FaFace *face;
} Subject;

static FaCode examine(const char *path, Subject *s, FaInfo *info, FaError *err) {
    FaRigOptions ropt = load_rig_options();
    switch (fa_file_kind(path)) {
    case FA_KIND_CLIP: TRY(load_clip(path, &s->clip, err)); return fa_info_of_clip(s->clip, info, err);
    case FA_KIND_CACHE: TRY(fa_sequence_open(path, &ropt, &s->seq, err)); return fa_info_of_sequence(s->seq, info, err);
    default: TRY(load_rig(path, &s->rig, err)); return fa_info_of_rig(s->rig, deep, info, err);
    }
}

static FaCode describe(const char *path, Subject *s, char **text, FaError *err) {
    FaInfo info;
    if (path_has_ext(path, "face")) {
        TRY(fa_face_load(path, &s->face, err));
        return common.json ? fa_face_report(s->face, text, err) : fa_face_summary(s->face, text, err);
    }
    TRY(examine(path, s, &info, err));
    FaCode rc =
        common.json ? fa_info_json(&info, text, err) : fa_info_text(&info, all_shapes || common.verbose, text, err);
    fa_info_free(&info);
    return rc;
}

static int run(int argc, const char **argv) {
    (void)argc;
    FaError err = {0};
    Subject s = {0};
    char *text;
    FaCode rc = describe(argv[0], &s, &text, &err);
    fa_rig_free(s.rig);
    fa_clip_free(s.clip);
    fa_sequence_close(s.seq);
    fa_face_free(s.face);
    if (rc < 0) return cli_fail(&err);
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
