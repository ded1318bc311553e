// fascia compare: how far two animations are apart.
#include "job.h"

#include <string.h>

static double max_mm = -1;
static const char *rig_path;
static bool no_intersections;

static const Option options[] = {
    {"max-mm", 0, OPT_NUM, &max_mm, "MM", 0, 1e9, "exit with code 1 if any vertex is further apart than this"},
    {"rig", 0, OPT_TEXT, &rig_path, "FILE", 0, 0, "the rig, when both are .pc2 or .mdd"},
    {"no-intersections", 0, OPT_FLAG, &no_intersections, NULL, 0, 0, "do not count triangles that cross (faster)"},
    LOAD_OPTIONS("map"),
    {0}};

static int print_result(const FaCompare *c) {
    FaError err = {0};
    if (common.json) {
        char *json;
        if (fa_compare_json(c, &json, &err) < 0) return cli_fail(&err);
        puts(json);
        fa_free(json);
    } else {
        printf("frames         %d", c->frames);
        if (common.frames) printf(" (%d to %d)", c->first, c->first + c->frames - 1);
        printf(" of %d vertices\n", c->vertices);
        printf("distance       max %.4f mm, mean %.4f mm, p99 %.4f mm\n", c->max_mm, c->mean_mm, c->p99_mm);
        printf("worst          frame %d, vertex %d\n", c->worst_frame, c->worst_vertex);
        if (c->intersections_a >= 0)
            printf("intersections  %d in A, %d in B (triangle pairs, worst frame)\n", c->intersections_a,
                   c->intersections_b);
        if (c->stretch > 0)
            printf("stretch        %.3f of an edge of B against A (frame %d, vertex %d)\n", c->stretch,
                   c->stretch_frame, c->stretch_vertex);
        printf("volume change  %.3f %% in A, %.3f %% in B (worst closed part)\n", 100 * c->volume_change_a,
               100 * c->volume_change_b);
        if (common.verbose)
            for (int f = 0; f < c->frames; f++)
                printf("frame %5d  max %9.4f  mean %9.4f  p99 %9.4f mm\n", c->first + f, c->frame_max_mm[f],
                       c->frame_mean_mm[f], c->frame_p99_mm[f]);
    }
    if (max_mm >= 0 && !(c->max_mm <= max_mm)) {
        cli_say("fascia: %.4f mm is over --max-mm %g (frame %d, vertex %d)", c->max_mm, max_mm, c->worst_frame,
                c->worst_vertex);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

// The moments worth a look: where the two are furthest apart, and where most triangles of each cross.
typedef struct Telling {
    char sentence[160], what[3][80];
    FaPageJump jump[3];
} Telling;

static FaPagePair find_telling(const FaCompare *c, Telling *t) {
    const int *crossing[2] = {c->frame_intersections_a, c->frame_intersections_b};
    int n = 1, count[2] = {c->intersections_a, c->intersections_b};
    snprintf(t->sentence, sizeof t->sentence, "B is up to %.3g mm from A, %.3g mm on average.", c->max_mm, c->mean_mm);
    snprintf(t->what[0], sizeof t->what[0], "largest distance: %.2g mm", c->max_mm);
    t->jump[0] = (FaPageJump){t->what[0], c->worst_frame - c->first};
    for (int i = 0; i < 2; i++) {
        if (count[i] <= 0) continue;
        int most = 0;
        while (crossing[i][most] < count[i]) most++;
        snprintf(t->what[n], sizeof t->what[n], "most crossings in %s: %d", i ? "B" : "A", count[i]);
        t->jump[n] = (FaPageJump){t->what[n], most};
        n++;
    }
    return (FaPagePair){.name = "A and B", .sentence = t->sentence, .after = 1, .jumps = t->jump, .njumps = n};
}

// The frames that were compared, of one of the two: a slice, and the clip that goes with it.
typedef struct Side {
    FaSequence *seq;
    FaClip *own;
    const FaClip *clip; // nullable
} Side;

// The last frame that begins no later than this, s.
static int frame_at(const FaSequence *seq, double time) {
    int f = 0;
    while (f + 1 < fa_sequence_nframe(seq) && fa_sequence_time(seq, f + 1) <= time + 1e-6) f++;
    return f;
}

static FaCode cut_side(FaSequence *from, FaSequence *a, const FaCompare *c, Side *side, FaError *err) {
    int first = c->first, last = first + c->frames - 1, n = fa_sequence_nframe(from);
    if (c->by_time && from != a) {
        first = frame_at(from, fa_sequence_time(a, first));
        last = frame_at(from, fa_sequence_time(a, last));
    }
    side->clip = fa_sequence_clip(from);
    TRY(fa_sequence_slice(from, first, last, &side->seq, err));
    if (!side->clip || side->clip->nframe != n) return FA_OK;
    TRY(fa_clip_slice(side->clip, first, last, &side->own, err));
    side->clip = side->own;
    return FA_OK;
}

static FaCode write_page(const char **path, FaSequence *a, FaSequence *b, const FaRig *rig, const FaCompare *c,
                         FaError *err) {
    const FaRig *faces = rig ? rig : fa_sequence_rig(a) ? fa_sequence_rig(a) : fa_sequence_rig(b);
    if (!faces) return cli_wrong(err, "a page of two caches needs --rig for the faces");
    // numbers belong to B
    Side side[2] = {0};
    FaPageNumbers numbers[] = {{"distance, max mm", c->frame_max_mm},
                               {"distance, mean mm", c->frame_mean_mm},
                               {"distance, p99 mm", c->frame_p99_mm}};
    FaPageTrack tracks[2];
    FaCode rc = FA_OK;
    for (int i = 0; i < 2 && rc >= 0; i++) {
        rc = cut_side(i ? b : a, a, c, &side[i], err);
        tracks[i] = (FaPageTrack){.name = path_base(path[i]),
                                  .note = i ? "B" : "A",
                                  .seq = side[i].seq,
                                  .clip = side[i].clip,
                                  .crossings = (i ? c->intersections_b : c->intersections_a) > 0};
    }
    // a cache plays at the rate of the clip beside it
    for (int i = 0; i < 2 && rc >= 0; i++)
        if (!tracks[i].clip && fa_sequence_nframe(side[i].seq) == fa_sequence_nframe(side[1 - i].seq))
            tracks[i].clip = tracks[1 - i].clip;
    if (rc >= 0 && fa_sequence_nframe(side[1].seq) == c->frames) tracks[1].numbers = numbers, tracks[1].nnumbers = 3;
    Telling t;
    FaPagePair pair = find_telling(c, &t);
    if (rc >= 0 && fa_sequence_nframe(side[1].seq) != c->frames)
        pair.njumps = 0; // matched by time: B's frames are others
    FaPageOptions opt = {.title = "fascia compare", .pairs = &pair, .npairs = 1, .progress = cli_progress};
    if (rc >= 0) rc = fa_page_save(common.output, faces, tracks, 2, &opt, err);
    for (int i = 0; i < 2; i++) {
        fa_sequence_close(side[i].seq);
        fa_clip_free(side[i].own);
    }
    cli_progress_end();
    if (rc >= 0) cli_say("wrote %s", common.output);
    return rc;
}

// What is a rig itself says of which a cache beside it is.
static FaCode open_both(const char **path, const FaRig *rig, FaSequence **a, FaSequence **b, FaError *err) {
    FaSequence **seq[] = {a, b};
    int first = !rig && fa_file_kind(path[0]) == FA_KIND_CACHE;
    for (int i = 0; i < 2; i++) {
        int at = i ? !first : first;
        TRY(open_frames(path[at], rig, seq[at], err));
        if (!rig) rig = fa_sequence_rig(*seq[at]);
    }
    return FA_OK;
}

static int run(int argc, const char **argv) {
    (void)argc;
    FaError err = {0};
    FaSequence *a = NULL, *b = NULL;
    FaRig *rig = NULL;
    FaCompare result = {0};
    FaRigOptions opt = load_rig_options();
    bool cache = fa_file_kind(argv[0]) == FA_KIND_CACHE || fa_file_kind(argv[1]) == FA_KIND_CACHE;
    int code = cli_only("in a comparison", "max-mm rig no-intersections frames");
    if (code != EXIT_OK) return code;
    if (rig_path && !cache)
        return cli_usage("--rig is for .pc2, .mdd and numbered .obj: these two are rigs themselves");
    if ((rig_path && fa_rig_load(rig_path, &opt, &rig, &err) < 0) || open_both(argv, rig, &a, &b, &err) < 0) {
        code = cli_fail(&err);
        goto done;
    }
    FaCompareOptions how = {.rig = rig, .intersections = !no_intersections, .progress = cli_progress};
    int last;
    FaCode rc = cli_frames(fa_sequence_nframe(a), &how.first, &last, &err);
    how.count = last - how.first + 1;
    if (rc < 0 || fa_compare(a, b, &how, &result, &err) < 0) {
        code = cli_fail(&err);
        goto done;
    }
    cli_progress_end();
    code = print_result(&result);
    if (output_wanted() && write_page(argv, a, b, rig, &result, &err) < 0) code = cli_fail(&err);
done:
    fa_compare_free(&result);
    fa_sequence_close(a);
    fa_sequence_close(b);
    fa_rig_free(rig);
    return code;
}

const Command cmd_compare = {
    .name = "compare",
    .line = "how far two animations are apart, in mm",
    .usage = "compare A B [options]",
    .examples =
        "  fascia compare before.glb after.pc2                max, mean and p99 distance, crossings, volume\n"
        "  fascia compare a.pc2 b.pc2 --max-mm 0.05 --json    a check for scripts: exit 1 if further apart\n"
        "  fascia compare before.glb after.pc2 --frames 30-60 only these frames, counted in A\n"
        "  fascia compare before.glb after.pc2 -o both.html   a page: side by side, overlaid, heat map, chart\n",
    .notes =
        "A and B may be rigs with animation, PC2, MDD or OBJ sequences. Frames are matched by number when the rates\n"
        "agree and by time when they do not.\n",
    .options = options,
    .writes = "html",
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
