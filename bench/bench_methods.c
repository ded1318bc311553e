// bench methods: one rig, one clip, every method beside the others: what each needs before the first frame, the time of
// a frame, how far it goes from linear blending, and what crosses.
//
// Without a rig: the shipped head, and two seconds in which the mouth opens, purses, smiles and closes too far while
// the head nods. A method that refuses the rig has a row that says why. Nothing here says which is right: `accuracy` is
// null.
#include "bench/bench_list.h"
#include "fascia/face.h"
#include "fascia/head.h"
#include "fascia/markers.h"
#include "fascia/method.h"
#include "fascia/muscle.h"

#include <math.h>

enum { FRAMES = 60, FPS = 30, MARKERS = 80 };
static const size_t MOST = (size_t)1 << 29; // floats of a clip that are kept

typedef struct Bench {
    FaHead *head;
    FaRig *own_rig;
    FaClip *own_clip;
    const FaRig *rig;
    const FaClip *clip;
    FaFace *face;
    FaSequence *linear;
    FaMarkerMap *map; // of what blendforces sees
    FaMarkerTake *take;
    FaArena *arena;
    float *frame;  // (nframe x nvert x 3)
    double *ms;    // (nframe)
    int crossings; // of linear blending, in its worst frame
} Bench;

// --- the clip -----------------------------------------------------------------------------------------------------

// Up and down again between two times, in seconds.
static double bump(double t, double from, double to) {
    const double s = (t - from) / (to - from);
    return s > 0 && s < 1 ? pow(sin(M_PI * s), 2) : 0;
}

static FaCode make_clip(Bench *b, FaError *err) {
    static const struct {
        const char *shape;
        double from, to, most;
    } move[] = {{"jawOpen", 0.1, 0.8, 0.8},       {"mouthFunnel", 0.4, 1, 0.8},     {"mouthSmileLeft", 0.8, 1.5, 1},
                {"mouthSmileRight", 0.8, 1.5, 1}, {"mouthPressLeft", 1.3, 1.95, 1}, {"mouthPressRight", 1.3, 1.95, 1},
                {"mouthClose", 1.3, 1.95, 0.4}};
    const char *names[FA_COUNT(move)];
    for (int i = 0; i < FA_COUNT(move); i++) names[i] = move[i].shape;
    FA_TRY(fa_clip_new(FRAMES, FA_COUNT(move), names, FPS, &b->own_clip, err));
    FaPose *head = b->own_clip->head = FA_NEW(FRAMES, FaPose);
    if (!head) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < FRAMES; f++) {
        const double t = (double)f / FPS, half = 0.1 * sin(2 * M_PI * 1.5 * t);
        for (int i = 0; i < FA_COUNT(move); i++)
            b->own_clip->weight[f * FA_COUNT(move) + i] = (float)(move[i].most * bump(t, move[i].from, move[i].to));
        head[f] = (FaPose){.q = {sin(half), 0, 0, cos(half)}};
    }
    b->clip = b->own_clip;
    return FA_OK;
}

static FaCode set_up(Bench *b, const FaRig *rig, const FaClip *clip, FaError *err) {
    b->rig = rig, b->clip = clip ? clip : rig ? rig->clip : NULL;
    if (!rig) {
        FaHeadParams params = fa_head_params_default();
        params.level = 0;
        FA_TRY(fa_head_new(&params, &b->head, err));
        FA_TRY(fa_head_rig(b->head, 0, &b->own_rig, err));
        b->rig = b->own_rig;
    }
    if (!b->clip) FA_TRY(make_clip(b, err));
    const size_t n = 3 * (size_t)b->rig->mesh.nvert, nframe = (size_t)b->clip->nframe;
    if (nframe > MOST / (n + 1))
        return FA_FAIL(err, FA_E_LIMIT, NULL, "give a shorter one", "the clip is too long to be kept");
    if (!(b->arena = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
    b->frame = FA_NEW(n * nframe + 1, float);
    b->ms = FA_NEW(nframe + 1, double);
    if (!b->frame || !b->ms) return FA_FAIL_MEMORY(err);
    FA_TRY(fa_sequence_of_clip(b->rig, b->clip, &b->linear, err));
    return fa_face_get(b->rig, FA_NEED_FACE | FA_NEED_VOLUMES, NULL, &b->face, err);
}

static void tear_down(Bench *b) {
    fa_sequence_close(b->linear);
    fa_markers_free(b->take);
    fa_marker_map_free(b->map);
    fa_face_free(b->face);
    fa_clip_free(b->own_clip);
    fa_rig_free(b->own_rig);
    fa_head_free(b->head);
    fai_arena_free(b->arena);
    fa_free(b->frame);
    fa_free(b->ms);
}

// --- what a method needs ------------------------------------------------------------------------------------------

// The muscles of the shapes that the clip moves.
static FaCode make_muscles(Bench *b, FaError *err) {
    const FaRig *rig = b->rig;
    FaBinding binding = {0};
    FaMuscleModel *model = NULL;
    float *w = FA_PUSH(b->arena, rig->nshape + 1, float);
    unsigned char *wanted = FA_PUSH(b->arena, rig->nshape + 1, unsigned char);
    if (!w || !wanted) return FA_FAIL_MEMORY(err);
    FA_TRY(fa_clip_bind(b->clip, rig, &binding, err));
    memset(wanted, 0, (size_t)rig->nshape + 1);
    for (int f = 0; f < b->clip->nframe; f++) {
        fa_binding_weights(&binding, b->clip->weight + (size_t)f * (size_t)b->clip->nchan, w);
        for (int s = 0; s < rig->nshape; s++) wanted[s] |= w[s] != 0;
    }
    fa_binding_free(&binding);
    FA_TRY(fa_muscle_open(rig, b->face, NULL, &model, err));
    FaCode rc = fa_muscle_keep(model, b->face, err);
    if (rc >= 0) rc = fa_muscle_shapes(model, b->face, &(FaMuscleShapesOptions){.wanted = wanted}, NULL, err);
    fa_muscle_close(model);
    return rc;
}

// Markers on the linear face.
static FaCode make_markers(Bench *b, FaError *err) {
    FA_TRY(fa_markers_choose(b->rig, MARKERS, &b->map, err));
    return fa_markers_sample(b->linear, b->map, 0, &b->take, err);
}

static FaCode open_method(Bench *b, const char *name, FaMethod **m, FaError *err) {
    FaMethodSetup setup = {.rig = b->rig};
    if (fa_method_needs(name)) setup.face = b->face;
    if (!strcmp(name, "muscle")) FA_TRY(make_muscles(b, err));
    if (!strcmp(name, "blendforces")) {
        FA_TRY(make_markers(b, err));
        setup.markers = b->map;
    }
    return fa_method_open(name, &setup, m, err);
}

// --- playing ------------------------------------------------------------------------------------------------------

static FaCode play_markers(Bench *b, FaMethod *m, FaError *err) {
    const size_t n = 3 * (size_t)b->rig->mesh.nvert;
    for (int f = 0; f < b->clip->nframe; f++) {
        const size_t at = (size_t)f * (size_t)b->take->nmarker;
        const FaMarkers seen = {.count = b->take->nmarker,
                                .name = (const char *const *)b->take->name,
                                .x = b->take->x + 3 * at,
                                .ok = b->take->ok + at};
        const FaInput in = {.time = b->take->time[f], .markers = &seen};
        const double start = fai_seconds();
        FA_TRY(fa_method_step(m, &in, b->frame + (size_t)f * n, NULL, err));
        b->ms[f] = 1e3 * (fai_seconds() - start);
    }
    return FA_OK;
}

static FaCode play_clip(Bench *b, FaMethod *m, FaRunStats *stats, FaError *err) {
    const size_t n = 3 * (size_t)b->rig->mesh.nvert;
    FaRun *run;
    FA_TRY(fa_run_new(m, b->clip, &run, err));
    FaCode rc = FA_OK;
    for (int f = 0; f < b->clip->nframe && rc >= 0; f++) {
        const double start = fai_seconds();
        rc = fa_sequence_read(fa_run_sequence(run), f, b->frame + (size_t)f * n, err);
        b->ms[f] = 1e3 * (fai_seconds() - start);
    }
    *stats = fa_run_stats(run);
    fa_run_free(run);
    return rc;
}

static FaCode read_kept(void *user, int frame, float *x, FaError *err) {
    (void)err;
    const Bench *b = user;
    const size_t n = 3 * (size_t)b->rig->mesh.nvert;
    memcpy(x, b->frame + (size_t)frame * n, n * sizeof *x);
    return FA_OK;
}

static FaCode compare(Bench *b, FaCompare *found, FaError *err) {
    FaSequence *kept;
    FA_TRY(
        fa_sequence_custom(b->rig->mesh.nvert, b->clip->nframe, fa_sequence_fps(b->linear), read_kept, b, &kept, err));
    FaCode rc = fa_compare(b->linear, kept, &(FaCompareOptions){.rig = b->rig, .intersections = true}, found, err);
    fa_sequence_close(kept);
    return rc;
}

static FaCode write_row(Bench *b, const char *name, double set_up_s, const FaRunStats *stats, FaJsonWriter *w,
                        FaError *err) {
    FaCompare found = {0};
    FA_TRY(compare(b, &found, err));
    const FaBenchTimes ms = fai_bench_times(b->ms, b->clip->nframe);
    fai_jw_open(w, NULL, '{');
    fai_jw_str(w, "case", name);
    fai_jw_int(w, "threads", fa_threads());
    fai_jw_num(w, "ms_med", ms.med);
    fai_jw_num(w, "ms_min", ms.min);
    fai_jw_raw(w, "accuracy", "null", 4);
    fai_jw_str(w, "note", "a frame; farthest and mean: mm from linear blending; crossings: pairs in the worst frame");
    fai_jw_num(w, "ms_max", b->ms[b->clip->nframe - 1]); // they are sorted
    fai_jw_num(w, "set_up_s", set_up_s);
    fai_jw_num(w, "farthest_mm", found.max_mm);
    fai_jw_num(w, "mean_mm", found.mean_mm);
    fai_jw_int(w, "crossings", found.intersections_b);
    fai_jw_int(w, "limited", stats->limited);
    fai_jw_int(w, "unsolved", stats->unsolved);
    fai_jw_close(w);
    b->crossings = found.intersections_a;
    fa_compare_free(&found);
    return FA_OK;
}

static void write_refusal(const char *name, const FaError *why, FaJsonWriter *w) {
    char text[1200];
    fa_error_text(why, text, sizeof text);
    fai_jw_open(w, NULL, '{');
    fai_jw_str(w, "case", name);
    fai_jw_int(w, "threads", fa_threads());
    fai_jw_raw(w, "ms_med", "null", 4);
    fai_jw_raw(w, "ms_min", "null", 4);
    fai_jw_raw(w, "accuracy", "null", 4);
    fai_jw_str(w, "note", text);
    fai_jw_close(w);
}

// A method that refuses the rig or the clip is said in its row; only memory ends it all.
static FaCode measure(Bench *b, const char *name, FaJsonWriter *w, FaError *err) {
    FaMethod *m = NULL;
    FaRunStats stats = {0};
    FaError why = {0};
    const double start = fai_seconds();
    FaCode rc = open_method(b, name, &m, &why);
    const double set_up_s = fai_seconds() - start;
    if (rc >= 0) rc = strcmp(name, "blendforces") ? play_clip(b, m, &stats, &why) : play_markers(b, m, &why);
    fa_method_close(m);
    if (rc >= 0) return write_row(b, name, set_up_s, &stats, w, err);
    if (rc == FA_E_MEMORY) return FA_FAIL_MEMORY(err);
    write_refusal(name, &why, w);
    return FA_OK;
}

FaCode fai_bench_methods(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    Bench b = {0};
    const double start = fai_seconds();
    FaCode rc = set_up(&b, rig, clip, err);
    if (rc >= 0) {
        fai_jw_int(w, "vertices", b.rig->mesh.nvert);
        fai_jw_int(w, "frames", b.clip->nframe);
        fai_jw_num(w, "face_s", fai_seconds() - start); // the physical face with its volumes, which many share
        fai_jw_open(w, "rows", '[');
        const char *const *name = fa_method_names();
        for (int i = 0; name[i] && rc >= 0; i++) rc = measure(&b, name[i], w, err);
        fai_jw_close(w);
        fai_jw_open(w, "ratios", '{');
        fai_jw_close(w);
        fai_jw_int(w, "crossings_linear", b.crossings);
    }
    tear_down(&b);
    return rc;
}
