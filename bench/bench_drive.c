// bench drive: a face driven by markers, judged on the vertices that carry none, every way to solve in its row beside
// the others.
//
// Truth (bench/dense_truth.h) is made by other means than what is judged: the shipped head's nonlinear evaluation of
// `talk`, `press` and `rom`, and flesh under physics with head motion and contact. The rig that solves has the exact
// shapes, those of another identity moved over by deformation transfer (same topology), or such from a mesh of another
// topology. Where a rig is given (bench drive RIG), its shapes, moved over, are those of another character, and its own
// flesh under the clip is one more truth. drive_rig: only that, 5 s of the clip where it is liveliest (moving a
// production rig's shapes over takes longer than all the rest).
//
// Rows: accuracy is the mean dense error in mm. Ratios: SBS over the way named, the worst sequence. `relaxation`:
// figure 5.6.
#include "bench/bench_list.h"
#include "bench/dense_truth.h"
#include "bench/relaxation.h"
#include "fascia/drive.h"
#include "rig/transfer.h"

#include <math.h>

typedef struct Way {
    const char *name;
    FaDriveOptions options;
    bool few; // also in the rows over marker counts and noise
} Way;

enum { WAY_SBS = 0, WAY_SBS_JAW_RES = 4, WAY_LITERAL = 7, WAY_OURS = 11, WAY_AUTO = 12 };
static const Way ways[] = {
    {"SBS", {.kind = FA_DRIVE_SBS, .no_jaw = true, .no_residual = true}, true},
    {"RSBS", {.kind = FA_DRIVE_RSBS, .no_jaw = true, .no_residual = true}, false},
    {"SBS jaw", {.kind = FA_DRIVE_SBS, .no_residual = true}, false},
    {"SBS+res", {.kind = FA_DRIVE_SBS, .no_jaw = true}, false},
    {"SBS jaw+res", {.kind = FA_DRIVE_SBS}, true},
    {"RSBS jaw+res", {.kind = FA_DRIVE_RSBS}, false},
    {"SBS refined", {.kind = FA_DRIVE_SBS, .refine = true}, false},
    {"BF literal", {.kind = FA_DRIVE_BF, .literal = true, .no_jaw = true, .no_residual = true}, false},
    {"BF", {.kind = FA_DRIVE_BF, .no_jaw = true, .no_residual = true}, false},
    {"BF jaw", {.kind = FA_DRIVE_BF, .no_residual = true}, false},
    {"BF+res", {.kind = FA_DRIVE_BF, .no_jaw = true}, false},
    {"BF jaw+res", {.kind = FA_DRIVE_BF}, true},
    {"auto", {.kind = FA_DRIVE_AUTO}, true},
};
enum { WAYS = FA_COUNT(ways) };

static const uint64_t OTHER = 3; // seed of the identity whose shapes are moved over
static const struct Pair { // identities that no figure was tuned on (docs/figures/blendforces.md says what was learnt
                           // from which)
    uint64_t from, to;
} fresh[] = {{21, 34}, {55, 8}, {13, 40}, {77, 5}, {91, 62}};
static const double NOISE = 0.3e-3; // m per coordinate, of the noisy rows
enum { MARKERS = 80 };

typedef struct Worst { // ratio SBS / way, the smallest over the sequences
    double exact, moved, any, same_pass, literal;
} Worst;

typedef struct Bench {
    bool full, only_rig; // only_rig: nothing but the flesh of the rig
    const FaRig *rig;    // another character; nullable
    const FaClip *clip;  // nullable
    FaJsonWriter *w;
    Worst worst;
    float *x; // (nvert of the largest x 3)
    double *ms;
} Bench;

// --- one way on one take ------------------------------------------------------------------------------------------

typedef struct Scene {
    const FaTruth *truth;
    const FaRig *rig; // that solves
    const FaFace *face;
    const FaMarkerMap *map;
    const FaMarkerTake *take;
    FaDense *dense;
    const char *shapes; // "exact", "identity", ...
    double difference, outside, noise;
} Scene;

typedef struct Result {
    FaDenseFigures dense;
    FaBenchTimes ms;
    double open_ms, marker_mm;
    FaDriveKind kind;
    char why[200];
} Result;

static FaCode solve(Bench *b, const Scene *s, const Way *way, Result *r, FaError *err) {
    FaDriveOptions o = way->options;
    FaDrive *drive;
    o.head_frame = true;
    double start = fai_seconds();
    FA_TRY(fa_drive_open(s->rig, s->face, s->take, s->map, &o, &drive, err));
    r->open_ms = 1e3 * (fai_seconds() - start);
    FaCode rc = FA_OK;
    fai_dense_reset(s->dense);
    for (int f = 0; f < s->truth->nframe && rc >= 0; f++) {
        double t = fai_seconds();
        rc = fa_sequence_read(fa_drive_sequence(drive), f, b->x, err);
        b->ms[f] = 1e3 * (fai_seconds() - t);
        if (rc >= 0) fai_dense_frame(s->dense, f, b->x);
    }
    FaDriveReport report = fa_drive_report(drive);
    r->dense = fai_dense_figures(s->dense);
    r->ms = fai_bench_times(b->ms, s->truth->nframe);
    r->kind = report.kind;
    r->marker_mm = report.after_mm;
    snprintf(r->why, sizeof r->why, "%s", report.why ? report.why : "");
    fa_drive_close(drive);
    return rc;
}

static void write_row(const Bench *b, const Scene *s, const Way *way, const Result *r, double sbs) {
    FaJsonWriter *w = b->w;
    char name[160];
    snprintf(name, sizeof name, "%s/%s/%s", s->truth->name, s->shapes, way->name);
    fai_jw_open(w, NULL, '{');
    fai_jw_str(w, "case", name);
    fai_jw_int(w, "threads", fa_threads());
    fai_jw_num(w, "ms_med", r->ms.med);
    fai_jw_num(w, "ms_min", r->ms.min);
    fai_jw_num(w, "accuracy", r->dense.mean[FA_DENSE_ALL]);
    fai_jw_str(w, "note", "mean dense error in mm on vertices without a marker");
    fai_jw_str(w, "sequence", s->truth->name);
    fai_jw_str(w, "shapes", s->shapes);
    fai_jw_str(w, "method", way->name);
    fai_jw_str(w, "solved", fa_drive_kind_name(r->kind));
    if (way->options.kind == FA_DRIVE_AUTO) fai_jw_str(w, "why", r->why);
    fai_jw_int(w, "frames", s->truth->nframe);
    fai_jw_int(w, "markers", s->map->count);
    fai_jw_num(w, "noise_mm", 1e3 * s->noise);
    fai_jw_num(w, "shapes_differ", s->difference);
    fai_jw_num(w, "outside", s->outside);
    fai_jw_num(w, "ratio", r->dense.mean[FA_DENSE_ALL] / sbs);
    fai_jw_num(w, "p95_mm", r->dense.p95[FA_DENSE_ALL]);
    fai_jw_num(w, "jitter_mm", r->dense.jitter);
    fai_jw_num(w, "marked_mm", r->dense.marked);
    fai_jw_num(w, "open_ms", r->open_ms);
    fai_jw_open(w, "regions", '{');
    for (int p = FA_DENSE_ALL + 1; p < FA_DENSE_PARTS; p++) {
        fai_jw_open(w, fai_dense_part_name[p], '{');
        fai_jw_int(w, "vertices", r->dense.nvert[p]);
        fai_jw_num(w, "mean_mm", r->dense.mean[p]);
        fai_jw_num(w, "p95_mm", r->dense.p95[p]);
        fai_jw_close(w);
    }
    fai_jw_close(w);
    fai_jw_close(w);
}

// All ways (or the few) on a take; clean takes count for the ratios.
static FaCode solve_all(Bench *b, const Scene *s, bool few, FaError *err) {
    Result r[WAYS];
    for (int i = 0; i < WAYS; i++) {
        if (few && !ways[i].few) continue;
        FA_TRY(solve(b, s, &ways[i], &r[i], err));
        write_row(b, s, &ways[i], &r[i], r[WAY_SBS].dense.mean[0]);
    }
    if (s->noise > 0) return FA_OK;
    double sbs = r[WAY_SBS].dense.mean[0], ours = r[WAY_OURS].dense.mean[0], automatic = r[WAY_AUTO].dense.mean[0];
    Worst *worst = &b->worst;
    worst->any = fmin(worst->any, sbs / automatic);
    if (!few) worst->literal = fmin(worst->literal, sbs / r[WAY_LITERAL].dense.mean[0]);
    if (!strcmp(s->shapes, "exact")) {
        worst->exact = fmin(worst->exact, sbs / automatic);
    } else {
        worst->moved = fmin(worst->moved, sbs / ours);
        worst->same_pass = fmin(worst->same_pass, r[WAY_SBS_JAW_RES].dense.mean[0] / ours);
    }
    return FA_OK;
}

// --- takes --------------------------------------------------------------------------------------------------------

static FaCode on_take(Bench *b, Scene *s, int markers, double noise, bool few, FaError *err) {
    FaMarkerMap *map = NULL;
    FaMarkerTake *take = NULL;
    FA_TRY(fa_markers_choose(s->truth->rig, markers, &map, err));
    FaCode rc = fai_truth_markers(s->truth, map, noise, 7, &take, err);
    if (rc >= 0) rc = fai_dense_new(s->truth, map, &s->dense, err);
    if (rc >= 0) {
        s->map = map;
        s->take = take;
        s->noise = noise;
        rc = solve_all(b, s, few, err);
        fai_dense_free(s->dense);
    }
    fa_markers_free(take);
    fa_marker_map_free(map);
    return rc;
}

// A truth with one set of shapes: the table, and the rows over marker counts and noise.
static FaCode with_shapes(Bench *b, const FaTruth *truth, const FaRig *rig, const char *shapes, bool vary,
                          FaError *err) {
    FaFace *face = NULL;
    Scene s = {.truth = truth, .rig = rig, .shapes = shapes, .difference = fai_shapes_difference(rig, truth->rig)};
    FA_TRY(fa_face_get(rig, FA_NEED_FACE, NULL, &face, err));
    s.face = face;
    FaCode rc = fai_truth_outside(truth, rig, &s.outside, err);
    if (rc >= 0) rc = on_take(b, &s, MARKERS, 0, false, err);
    if (rc >= 0 && vary && b->full) rc = on_take(b, &s, 60, 0, true, err);
    if (rc >= 0 && vary && b->full) rc = on_take(b, &s, 120, 0, true, err);
    if (rc >= 0 && vary) rc = on_take(b, &s, MARKERS, NOISE, true, err);
    fa_face_free(face);
    return rc;
}

static FaCode make_room(Bench *b, const FaTruth *t, FaError *err) {
    fa_free(b->x);
    fa_free(b->ms);
    b->x = FA_NEW(3 * (size_t)t->nvert, float);
    b->ms = FA_NEW(t->nframe, double);
    return b->x && b->ms ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode head_shapes(Bench *b, const FaTruth *t, bool vary, FaError *err) {
    FaRig *moved;
    FA_TRY(make_room(b, t, err));
    FA_TRY(with_shapes(b, t, t->rig, "exact", vary, err));
    for (int topology = 0; topology < (b->full ? 2 : 1); topology++) {
        FA_TRY(fai_truth_transferred(t, OTHER, topology ? 1 : -1, &moved, NULL, err));
        FaCode rc = with_shapes(b, t, moved, topology ? "topology" : "identity", vary && !topology, err);
        fa_rig_free(moved);
        FA_TRY(rc);
    }
    if (!b->rig) return FA_OK;
    FaTransferOptions closest = {.force_closest = true};
    FA_TRY(fai_transfer(b->rig, &t->rig->mesh, &closest, &moved, NULL, err));
    FaCode rc = with_shapes(b, t, moved, "character", false, err);
    fa_rig_free(moved);
    return rc;
}

// --- truths -------------------------------------------------------------------------------------------------------

// Shapes of one identity on the face of another, and neither seen before.
static FaCode fresh_pairs(Bench *b, const char *clip, FaStretch stretch, FaError *err) {
    for (int i = 0; i < FA_COUNT(fresh); i++) {
        FaHeadParams p = fa_head_params_default();
        FaTruth *t;
        FaRig *moved = NULL;
        p.level = 0;
        fa_head_params_seed(&p, fresh[i].to);
        FA_TRY(fai_truth_of_head(&p, clip, stretch, &t, err));
        snprintf(t->name, sizeof t->name, "%s, %d to %d", clip, (int)fresh[i].from, (int)fresh[i].to);
        FaCode rc = make_room(b, t, err);
        if (rc >= 0) rc = fai_truth_transferred(t, fresh[i].from, -1, &moved, NULL, err);
        if (rc >= 0) rc = with_shapes(b, t, moved, "identity", false, err);
        fa_rig_free(moved);
        fai_truth_free(t);
        FA_TRY(rc);
    }
    return FA_OK;
}

static FaCode head_truths(Bench *b, FaError *err) {
    // the quick run takes pieces: speech, two presses, and the jaw and mouth of the range of motion
    static const struct {
        const char *clip;
        FaStretch full, quick;
    } take[] = {{"talk", {0, 0, 2}, {30, 90, 2}}, {"press", {0, 0, 2}, {0, 60, 2}}, {"rom", {0, 0, 2}, {500, 90, 4}}};
    FaHeadParams p = fa_head_params_default();
    p.level = 0;
    for (int i = 0; i < FA_COUNT(take); i++) {
        FaTruth *t;
        FA_TRY(fai_truth_of_head(&p, take[i].clip, b->full ? take[i].full : take[i].quick, &t, err));
        FaCode rc = head_shapes(b, t, i == 0, err);
        if (rc >= 0) rc = fresh_pairs(b, take[i].clip, take[i].quick, err);
        fai_truth_free(t);
        FA_TRY(rc);
    }
    return FA_OK;
}

// `count` frames of a clip at 60 fps where its weights move most, with the head of the clip `run` where it has none of
// its own.
static FaCode lively_clip(const FaClip *from, int count, FaClip **clip, FaError *err) {
    FaClip *even = NULL, *run = NULL;
    FA_TRY(fa_clip_resample(from, 60, &even, err));
    count = FA_MIN(count, even->nframe);
    double best = -1, sum = 0;
    int at = 0;
    for (int f = 1; f < even->nframe; f++) {
        size_t n = (size_t)even->nchan;
        for (size_t k = 0; k < n; k++) {
            sum += fabs((double)even->weight[(size_t)f * n + k] - (double)even->weight[(size_t)(f - 1) * n + k]);
            if (f > count)
                sum -= fabs((double)even->weight[(size_t)(f - count) * n + k] -
                            (double)even->weight[(size_t)(f - count - 1) * n + k]);
        }
        if (f >= count - 1 && sum > best) best = sum, at = f - count + 1;
    }
    FaCode rc = fa_clip_slice(even, at, at + count - 1, clip, err);
    bool moves = false;
    for (int f = 0; rc >= 0 && (*clip)->head && f < count; f++)
        moves |= memcmp(&(*clip)->head[f], &(*clip)->head[0], sizeof(FaPose)) != 0;
    if (rc >= 0 && !moves) {
        rc = fa_head_clip("run", &run, err);
        if (rc >= 0 && !(*clip)->head) (*clip)->head = FA_NEW(count, FaPose);
        if (rc >= 0 && !(*clip)->head) rc = FA_FAIL_MEMORY(err);
        for (int f = 0; rc >= 0 && f < count; f++) fa_clip_sample(run, fmod(f / 60.0, 5.9), NULL, &(*clip)->head[f]);
        if (rc < 0) fa_clip_free(*clip);
    }
    fa_clip_free(run);
    fa_clip_free(even);
    return rc;
}

static FaCode physics_of(Bench *b, const FaRig *rig, const FaClip *from, const char *name, int frames, FaError *err) {
    FaClip *clip;
    FaTruth *t = NULL;
    FaRig *moved = NULL;
    FA_TRY(lively_clip(from, frames, &clip, err));
    FaCode rc = fai_truth_of_physics(rig, clip, &t, err);
    if (rc >= 0) {
        snprintf(t->name, sizeof t->name, "%s", name);
        rc = make_room(b, t, err);
        if (rc >= 0) rc = with_shapes(b, t, rig, "exact", false, err);
        if (rc >= 0 && b->full) rc = fai_truth_transferred(t, OTHER, 1, &moved, NULL, err);
        if (rc >= 0 && moved) rc = with_shapes(b, t, moved, "topology", false, err);
        fa_rig_free(moved);
    }
    fai_truth_free(t);
    fa_clip_free(clip);
    return rc;
}

static FaCode physics_truths(Bench *b, FaError *err) {
    FaHeadParams p = fa_head_params_default();
    FaHead *head;
    FaRig *rig = NULL;
    FaClip *talk = NULL;
    p.level = 0;
    FA_TRY(fa_head_new(&p, &head, err));
    FaCode rc = fa_head_rig(head, 0, &rig, err);
    if (rc >= 0) rc = fa_head_clip("talk", &talk, err);
    for (int f = 0; rc >= 0 && f < talk->nframe; f++) talk->head[f] = talk->head[0]; // the runner's instead
    if (rc >= 0 && !b->only_rig) rc = physics_of(b, rig, talk, "flesh", b->full ? 300 : 60, err);
    int frames = b->only_rig ? 300 : b->full ? 200 : 60;
    if (rc >= 0 && b->rig) rc = physics_of(b, b->rig, b->clip ? b->clip : talk, "character flesh", frames, err);
    fa_clip_free(talk);
    fa_rig_free(rig);
    fa_head_free(head);
    return rc;
}

// --- relaxation (fig. 5.6) ----------------------------------------------------------------------------------------

static FaCode write_relaxation(FaJsonWriter *w, FaError *err) {
    FaRelaxation r;
    FA_TRY(fai_relaxation(&r, err));
    fai_jw_open(w, "relaxation", '[');
    for (int c = 0; c < FA_RELAX_CURVES; c++) {
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "solver", fai_relax_name[c]);
        fai_jw_open(w, "ms", '[');
        for (int f = 0; f < FA_RELAX_FRAMES; f++) fai_jw_num(w, NULL, r.ms[f]);
        fai_jw_close(w);
        fai_jw_open(w, "share", '[');
        for (int f = 0; f < FA_RELAX_FRAMES; f++) fai_jw_num(w, NULL, r.share[c][f]);
        fai_jw_close(w);
        fai_jw_close(w);
    }
    fai_jw_close(w);
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode run(Bench b, FaError *err) {
    FaJsonWriter *w = b.w;
    b.worst = (Worst){INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    fai_jw_open(w, "rows", '[');
    FaCode rc = b.only_rig ? FA_OK : head_truths(&b, err);
    if (rc >= 0) rc = physics_truths(&b, err);
    fai_jw_close(w);
    if (rc >= 0 && !b.only_rig) rc = write_relaxation(w, err);
    fai_jw_open(w, "ratios", '{');
    fai_jw_num(w, "moved", b.worst.moved);
    fai_jw_num(w, "same_pass", b.worst.same_pass);
    fai_jw_num(w, "exact", b.worst.exact);
    fai_jw_num(w, "auto", b.worst.any);
    fai_jw_num(w, "literal", b.worst.literal);
    fai_jw_close(w);
    fa_free(b.x);
    fa_free(b.ms);
    return rc;
}

FaCode fai_bench_drive(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    return run((Bench){.rig = rig, .clip = clip, .w = w}, err);
}

FaCode fai_bench_drive_full(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    return run((Bench){.full = true, .rig = rig, .clip = clip, .w = w}, err);
}

FaCode fai_bench_drive_rig(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    if (!rig)
        return FA_FAIL(err, FA_E_ARG, NULL, "name a rig: fascia bench drive_rig RIG [--clip CLIP]",
                       "this benchmark needs a rig");
    return run((Bench){.only_rig = true, .rig = rig, .clip = clip, .w = w}, err);
}
