// The release of a smile; see the header. The truth is the shipped head's own: it is at rest two frames after the
// release, and so are the markers. SBS goes where they go. Forces cannot push (u >= 0): once all are 0 the skin's own
// stiffness and inertia bring it back.
#include "bench/relaxation.h"

#include "bench/dense_truth.h"
#include "blendforces/control.h"

#include <math.h>

const char *const fai_relax_name[FA_RELAX_CURVES] = {"truth", "SBS", "BF literal", "BF", "BF, 5 Hz skin"};
#define SOFT 5.0 // Hz of the skull springs; 10 by default

enum { RISE = 20, HOLD = 30, RELEASE = RISE + HOLD, FALL = 1, LENGTH = RELEASE + FA_RELAX_FRAMES, MARKERS = 80 };

static FaCode smile(FaClip **clip, FaError *err) {
    static const char *const moved[] = {"mouthSmileLeft", "mouthSmileRight", "cheekSquintLeft", "cheekSquintRight"};
    const char *name[FA_ARKIT_COUNT];
    for (int i = 0; i < FA_ARKIT_COUNT; i++) name[i] = fa_arkit_name(i);
    FA_TRY(fa_clip_new(LENGTH, FA_ARKIT_COUNT, name, 60, clip, err));
    for (int f = 0; f < LENGTH; f++)
        for (int m = 0; m < FA_COUNT(moved); m++) {
            double w = f < RISE ? (double)f / RISE : fmin(1, fmax(0, 1 - (double)(f - RELEASE) / FALL));
            (*clip)->weight[(size_t)f * FA_ARKIT_COUNT + (size_t)fa_arkit_match(moved[m], NULL)] =
                (float)(m < 2 ? w : 0.4 * w);
        }
    return FA_OK;
}

static const float *frame_of(const FaTruth *t, int frame) { return t->x + (size_t)frame * 3 * (size_t)t->nvert; }

// The vertex without a marker that moves most while the smile is held.
static int most_moved(const FaTruth *t, const FaMarkerMap *map) {
    const float *held = frame_of(t, RELEASE);
    double most = -1;
    int at = 0;
    for (int v = 0; v < t->nvert; v++) {
        bool marked = false;
        for (int m = 0; m < map->count; m++) marked |= map->point[m].vert[0] == v;
        double s = 0;
        for (size_t k = 3 * (size_t)v; k < 3 * (size_t)v + 3; k++) {
            double d = (double)held[k] - (double)t->rig->mesh.x[k];
            s += d * d;
        }
        if (!marked && s > most) most = s, at = v;
    }
    return at;
}

// How far along the held displacement (by the truth) a vertex is.
static double share_of(const FaTruth *t, int v, const float *x) {
    const float *held = frame_of(t, RELEASE), *rest = t->rig->mesh.x;
    double dot = 0, all = 0;
    for (size_t k = 3 * (size_t)v; k < 3 * (size_t)v + 3; k++) {
        double d = (double)held[k] - (double)rest[k];
        dot += d * ((double)x[k] - (double)rest[k]);
        all += d * d;
    }
    return dot / all;
}

typedef struct Solver {
    FaDriveOptions options;
    FaControlTuning tuning;
} Solver;

// Frame by frame, as it comes.
static FaCode follow(const FaTruth *t, const FaMarkerTake *take, const FaMarkerMap *map, const Solver *s, int v,
                     float *x, double *share, FaError *err) {
    FaControl *control;
    FaDriveOptions o = s->options;
    o.fps = t->fps;
    FA_TRY(fai_control_open(t->rig, t->face, map, &o, &s->tuning, &control, err));
    FaCode rc = FA_OK;
    for (int f = 0; f < LENGTH && rc >= 0; f++) {
        int at = f - (RELEASE - FA_RELAX_BEFORE);
        FaMarkers m = {.count = take->nmarker, .x = take->x + (size_t)f * 3 * (size_t)take->nmarker};
        rc = fai_control_step(control, &m, take->time[f], x, NULL, NULL, err);
        if (at >= 0 && at < FA_RELAX_FRAMES) share[at] = share_of(t, v, x);
    }
    fai_control_free(control);
    return rc;
}

static FaCode all_curves(const FaTruth *t, const FaMarkerTake *take, const FaMarkerMap *map, FaRelaxation *out,
                         FaError *err) {
    static const Solver solver[FA_RELAX_CURVES] = {
        [FA_RELAX_SBS] = {.options = {.kind = FA_DRIVE_SBS, .no_jaw = true, .no_residual = true}},
        [FA_RELAX_LITERAL] = {.options = {.kind = FA_DRIVE_BF, .literal = true, .no_jaw = true, .no_residual = true}},
        [FA_RELAX_BF] = {.options = {.kind = FA_DRIVE_BF, .no_residual = true}},
        [FA_RELAX_SOFT] = {.options = {.kind = FA_DRIVE_BF, .no_residual = true},
                           .tuning = {.forces = {.body = {.frequency = SOFT}}}}};
    float *x = FA_NEW(3 * (size_t)t->nvert, float);
    if (!x) return FA_FAIL_MEMORY(err);
    out->vertex = most_moved(t, map);
    for (int i = 0; i < FA_RELAX_FRAMES; i++) {
        out->ms[i] = 1e3 * (i - FA_RELAX_BEFORE) / t->fps;
        out->share[FA_RELAX_TRUTH][i] = share_of(t, out->vertex, frame_of(t, RELEASE - FA_RELAX_BEFORE + i));
    }
    FaCode rc = FA_OK;
    for (int c = FA_RELAX_SBS; c < FA_RELAX_CURVES && rc >= 0; c++)
        rc = follow(t, take, map, &solver[c], out->vertex, x, out->share[c], err);
    fa_free(x);
    return rc;
}

FaCode fai_relaxation(FaRelaxation *out, FaError *err) {
    FaHeadParams p = fa_head_params_default();
    FaClip *clip;
    FaTruth *t = NULL;
    FaMarkerMap *map = NULL;
    FaMarkerTake *take = NULL;
    *out = (FaRelaxation){0};
    p.level = 0;
    FA_TRY(smile(&clip, err));
    FaCode rc = fai_truth_of_clip(&p, clip, "release", (FaStretch){0}, &t, err);
    if (rc >= 0) rc = fa_markers_choose(t->rig, MARKERS, &map, err);
    if (rc >= 0) rc = fai_truth_markers(t, map, 0, 0, &take, err);
    if (rc >= 0) rc = all_curves(t, take, map, out, err);
    fa_markers_free(take);
    fa_marker_map_free(map);
    fai_truth_free(t);
    fa_clip_free(clip);
    return rc;
}

int fai_relax_frames(const FaRelaxation *r, FaRelaxCurve curve, double left) {
    int n = FA_RELAX_FRAMES;
    while (n > 0 && fabs(r->share[curve][n - 1]) < left) n--;
    return n - FA_RELAX_BEFORE;
}
