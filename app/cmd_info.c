// fascia info: the rig doctor.
#include "job.h"

#include <string.h>

static bool deep = false, all_shapes = false;

static const Option options[] = {
    {"shapes", 0, OPT_FLAG, &all_shapes, NULL, 0, 0, "list every shape, not only the notable ones"},
    {"deep", 0, OPT_FLAG, &deep, NULL, 0, 0, "also look for triangles that cross each other (slower)"},
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
    FaClipOptions copt = load_clip_options();
    switch (fa_file_kind(path)) {
    case FA_KIND_CLIP: TRY(fa_clip_load(path, &copt, &s->clip, err)); return fa_info_of_clip(s->clip, info, err);
    case FA_KIND_CACHE: TRY(fa_sequence_open(path, &ropt, &s->seq, err)); return fa_info_of_sequence(s->seq, info, err);
    default: TRY(load_rig(path, &s->rig, err)); return fa_info_of_rig(s->rig, deep, info, err);
    }
}

// --- takes --------------------------------------------------------------------------------------------------------

typedef struct Take {
    const char *kind; // "markers", "landmarks"
    int count, nframe;
    double fps;
    const FaNotes *notes;
    double unit; // of markers, m
} Take;

static FaCode take_json(const Take *t, FaError *err) {
    FaJsonWriter *w;
    char *json;
    TRY(fa_json_new(&w, err));
    fa_json_begin(w, NULL, '{');
    fa_json_text(w, "take", t->kind);
    fa_json_int(w, t->kind, t->count);
    fa_json_int(w, "frames", t->nframe);
    fa_json_number(w, "fps", t->fps);
    if (t->unit > 0) fa_json_number(w, "unit", t->unit);
    json_warnings(w, &t->notes, 1);
    fa_json_end(w);
    TRY(fa_json_finish(w, &json, err));
    puts(json);
    fa_free(json);
    return FA_OK;
}

static FaCode print_take(const Take *t, const char *path, FaError *err) {
    if (common.json) return take_json(t, err);
    printf("%s: a take of %s\n  %d %s, %d frame%s at %g per second\n", path, t->kind, t->count, t->kind, t->nframe,
           t->nframe == 1 ? "" : "s", t->fps);
    if (t->unit > 0) printf("  in units of %g m\n", t->unit);
    for (int i = 0; i < t->notes->count; i++) {
        const FaNote *n = &t->notes->note[i];
        printf("  - %s [%s]\n", n->text, n->code);
        if (n->remedy[0]) printf("    -> %s\n", n->remedy);
    }
    if (t->kind[0] == 'm')
        printf("where they are on a rig:  fascia markers RIG %s --picture look.png -o map.json\n", path);
    printf("move a rig with it:       fascia drive RIG %s -o out.glb\n", path);
    return FA_OK;
}

static FaCode markers_take(const char *path, FaError *err) {
    FaMarkerOptions opt = load_marker_options();
    FaMarkerTake *take;
    opt.any_size = true;
    TRY(fa_markers_load(path, &opt, &take, err));
    FaCode rc =
        print_take(&(Take){"markers", take->nmarker, take->nframe, take->fps, &take->notes, take->unit}, path, err);
    fa_markers_free(take);
    return rc;
}

static FaCode landmarks_take(const char *path, FaError *err) {
    FaLandmarkOptions opt = {.fps = common.fps};
    FaLandmarkTake *take;
    TRY(fa_landmarks_load(path, &opt, &take, err));
    FaCode rc = print_take(&(Take){"landmarks", take->count, take->nframe, take->fps, &take->notes, 0}, path, err);
    fa_landmarks_free(take);
    return rc;
}

// --- all else -----------------------------------------------------------------------------------------------------

static FaCode describe(const char *path, Subject *s, char **text, FaError *err) {
    FaInfo info;
    FaMotionKind kind = path_has_ext(path, "gltf") ? FA_MOTION_OTHER : fa_motion_kind(path);
    *text = NULL;
    if (kind != FA_MOTION_OTHER) return kind == FA_MOTION_MARKERS ? markers_take(path, err) : landmarks_take(path, err);
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

// What acts on each kind of file; the rest is refused by name.
static int check_options(const char *path) {
    FaMotionKind kind = path_has_ext(path, "gltf") ? FA_MOTION_OTHER : fa_motion_kind(path);
    if (kind == FA_MOTION_MARKERS) return cli_only("for a take of markers", "unit fps !rig !output");
    if (kind == FA_MOTION_LANDMARKS) return cli_only("for a take of landmarks", "fps !rig !output");
    if (path_has_ext(path, "face")) return cli_only("for a face", "!rig !output");
    switch (fa_file_kind(path)) {
    case FA_KIND_CLIP: return cli_only("for a clip", "unit fps head-units joint !rig !output");
    case FA_KIND_CACHE: return cli_only("for a cache", "unit !rig !output");
    default: return cli_only("for a rig", "shapes deep !output");
    }
}

static int run(int argc, const char **argv) {
    (void)argc;
    FaError err = {0};
    Subject s = {0};
    char *text;
    if (check_readable(argv[0], &err) < 0) return cli_fail(&err);
    int code = check_options(argv[0]);
    if (code != EXIT_OK) return code;
    FaCode rc = describe(argv[0], &s, &text, &err);
    fa_rig_free(s.rig);
    fa_clip_free(s.clip);
    fa_sequence_close(s.seq);
    fa_face_free(s.face);
    if (rc < 0) return cli_fail(&err);
    if (text) fputs(text, stdout);
    if (text && (!*text || text[strlen(text) - 1] != '\n')) putchar('\n');
    fa_free(text);
    return EXIT_OK;
}

const Command cmd_info = {
    .name = "info",
    .line = "what is in a file, what is wrong with it, how to fix it",
    .usage = "info FILE|FOLDER [options]",
    .examples = "  fascia info head.glb                   a rig: counts, unit, axes, shapes, defects\n"
                "  fascia info shapes/ --unit cm          a folder of OBJ files: neutral and one file per shape\n"
                "  fascia info clip.csv                   a Live Link recording: frames, rate, dropped frames, ranges\n"
                "  fascia info actor.c3d                  markers, or landmarks (webcam.json): what they are good for\n"
                "  fascia info head.face                  a physical face: flesh, quality, thickness, regions, jaw\n"
                "  fascia info head.glb --deep --json     for programs, with crossing triangles counted\n",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
