// Based on: thesis 001 section 5.2.2.3 (after Seol et al.): a sparse set of points is warped to the target's
// proportions and then drives it.
//
// With n_i the markers at the neutral, t_i their points on the target and s the warp through the pairs,
//
//     y_i(t) = s(x_i(t)) + t_i - s(n_i)
//
// The last two terms are what smoothing leaves: the neutral is met to the bit, so that a face at rest stays at rest.
#include "blendforces/retarget.h"

#include "io/markers.h"
#include "math/mat3.h"
#include "math/procrustes.h"
#include "mesh/mesh.h"
#include "rig/head_frame.h"
#include "track/markers_face.h"
#include "track/markers_neutral.h"

#include <math.h>

static const double SMOOTH = 5;   // measured: docs/figures/blendforces.md, "Retargeting"
static const double REACH = 0.03; // m
static const int ROUNDS = 4;      // of nearest points and similarity
enum { LEAST = 4 };

typedef struct Job {
    const FaMarkerTake *take;
    const FaRig *target;
    FaRetargetOptions o;
    FaRbfKernel kernel;
    FaArena *arena;
    int n;                // markers of the take
    int frame;            // its neutral frame
    double *from, *to;    // neutral points in the head's frame of the source, on the target         (n x 3)
    unsigned char *has;   // both are known                                                          (n)
    FaMarkerPoint *point; // on the target                                                          (n)
    float *distance;      // m, of those found by nearness                                           (n)
    FaPose *pose;         // world from head; NULL: not known                                        (nframe)
    FaRetargetReport rep;
} Job;

FaRetargetOptions fa_retarget_options_default(void) {
    return (FaRetargetOptions){.frame = -1, .smooth = SMOOTH, .reach = REACH};
}

static int find(const FaMarkerMap *map, const char *name) {
    for (int i = 0; i < map->count; i++)
        if (!strcmp(map->name[i], name)) return map->point[i].vert[0] >= 0 ? i : -1;
    return -1;
}

static const float *sample(const FaMarkerTake *t, int f, int m) {
    return t->x + 3 * ((size_t)f * (size_t)t->nmarker + (size_t)m);
}
static bool seen(const FaMarkerTake *t, int f, int m) { return t->ok[(size_t)f * (size_t)t->nmarker + (size_t)m]; }

// --- the source's neutral -----------------------------------------------------------------------------------------

static FaCode neutral_frame(Job *j, FaError *err) {
    const FaMarkerTake *t = j->take;
    j->frame = j->o.frame;
    if (j->frame >= t->nframe)
        return FA_FAIL(err, FA_E_ARG, FA_PLACE("frame %d", j->frame), "give one of its frames with --neutral",
                       "the take has %d frames", t->nframe);
    if (j->frame >= 0) return FA_OK;
    j->frame = fai_first_frame(t);
    if (j->o.source) return FA_OK;
    return fai_neutral_frame(t, j->target, false, &j->frame, err);
}

// Where each marker is at rest: on the source rig, or at the take's neutral frame. Those without are not used.
static FaCode source_points(Job *j, FaError *err) {
    FA_TRY(neutral_frame(j, err));
    for (int m = 0; m < j->n; m++) {
        double *x = j->from + 3 * (size_t)m;
        if (j->o.source) {
            int i = find(j->o.from, j->take->name[m]);
            j->has[m] = i >= 0;
            if (i >= 0) fa_marker_point_at(&j->o.from->point[i], j->o.source->mesh.x, true, x);
        } else if (seen(j->take, j->frame, m)) {
            fai_v3_load(sample(j->take, j->frame, m), 0, x);
            j->has[m] = 1;
        }
    }
    return FA_OK;
}

// The head's motion, unless the take is free of it: the neutral frame is the head's own.
static FaCode hold_still(Job *j, FaError *err) {
    const FaMarkerTake *t = j->take;
    if (t->head || j->o.head_frame || t->nframe < 2) return FA_OK;
    float *rest = FA_PUSH(j->arena, 3 * (size_t)j->n, float), *still = FA_PUSH(j->arena, (size_t)j->n, float);
    unsigned char *found = FA_PUSH(j->arena, (size_t)t->nframe, unsigned char);
    j->pose = FA_PUSH(j->arena, (size_t)t->nframe, FaPose);
    if (!rest || !still || !found || !j->pose) return FA_FAIL_MEMORY(err);
    for (int m = 0; m < j->n; m++)
        for (size_t k = 0; k < 3; k++) rest[3 * (size_t)m + k] = j->has[m] ? (float)j->from[3 * (size_t)m + k] : NAN;
    FaStillTake in = {.nframe = t->nframe, .nmarker = j->n, .x = t->x, .rest = rest};
    FaStillReport report;
    return fai_still_poses(&in, j->pose, found, still, &report, err);
}

// --- points on the target -----------------------------------------------------------------------------------------

static FaAlign similarity(const Job *j) {
    double *from = FA_PUSH(j->arena, 3 * (size_t)j->n, double), *to = FA_PUSH(j->arena, 3 * (size_t)j->n, double);
    int n = 0;
    if (!from || !to) return (FaAlign){.kind = FA_ALIGN_NONE};
    for (int m = 0; m < j->n; m++) {
        if (!j->has[m] || j->point[m].vert[0] < 0) continue;
        memcpy(from + 3 * (size_t)n, j->from + 3 * (size_t)m, 3 * sizeof *from);
        memcpy(to + 3 * (size_t)n++, j->to + 3 * (size_t)m, 3 * sizeof *to);
    }
    return fai_align(n, from, to, NULL, true);
}

static int count(const Job *j) {
    int n = 0;
    for (int m = 0; m < j->n; m++) n += j->has[m] && j->point[m].vert[0] >= 0;
    return n;
}

static void place(Job *j, int m, const FaMarkerPoint *point, bool offset) {
    j->point[m] = *point;
    if (!offset) memset(j->point[m].offset, 0, sizeof j->point[m].offset);
    fa_marker_point_at(&j->point[m], j->target->mesh.x, offset, j->to + 3 * (size_t)m);
}

static void by_map(Job *j) {
    for (int m = 0; m < j->n; m++) {
        int i = find(j->o.to, j->take->name[m]);
        if (i >= 0) place(j, m, &j->o.to->point[i], true);
    }
    j->rep.how = "by the map";
}

// A vertex's marker: names v123 as vertices of the target, if they are of its mesh.
static bool by_names(Job *j, FaError *err, FaCode *rc) {
    FaMarkerMap *map = NULL;
    FaMapOptions o = {.frame = j->frame, .aligned = true, .names_only = true};
    FaError none = {0};
    *rc = fa_marker_map_new(j->take, j->target, &o, &map, &none);
    if (*rc == FA_E_MEMORY) {
        *err = none;
        return false;
    }
    *rc = FA_OK;
    if (!map) return false; // other names, or another mesh's
    for (int m = 0; m < j->n; m++)
        if (map->point[m].vert[0] >= 0) place(j, m, &map->point[m], true);
    fa_marker_map_free(map);
    j->rep.how = "by vertex names";
    return true;
}

static FaCode nearest(Job *j, const double *x, bool aligned, FaError *err) {
    FaMarkerMap *map = NULL;
    FaCode rc = fai_marker_nearest(j->target, j->n, x, j->has, aligned, j->o.reach, &map, err);
    for (int m = 0; rc >= 0 && m < j->n; m++) {
        j->point[m].vert[0] = -1;
        if (map->point[m].vert[0] < 0) continue;
        place(j, m, &map->point[m], false);
        j->distance[m] = map->distance[m];
    }
    fa_marker_map_free(map);
    return rc;
}

// Nothing but the markers' cloud: aligned rigidly from any side, then, with the size that this gives, again.
static FaCode by_cloud(Job *j, FaError *err) {
    double *x = FA_PUSH(j->arena, 3 * (size_t)j->n, double);
    if (!x) return FA_FAIL_MEMORY(err);
    FA_TRY(nearest(j, j->from, false, err));
    for (int round = 0; round < ROUNDS; round++) {
        FaAlign a = similarity(j);
        if (a.kind != FA_ALIGN_FULL) break;
        for (int m = 0; m < j->n; m++)
            if (j->has[m]) fai_align_apply(&a, j->from + 3 * (size_t)m, x + 3 * (size_t)m);
        FA_TRY(nearest(j, x, true, err));
    }
    j->rep.how = "by the nearest points";
    return FA_OK;
}

// --- through the source rig ---------------------------------------------------------------------------------------

static FaCode by_source(Job *j, FaError *err) {
    FaMarkerMap *map;
    j->rep.how = "through the source rig";
    FA_TRY(fa_marker_map_move(j->o.from, j->o.source, j->target, j->o.reach, &map, err));
    for (int m = 0; m < j->n; m++) {
        int i = j->has[m] ? find(map, j->take->name[m]) : -1;
        if (i < 0) continue;
        place(j, m, &map->point[i], true);
        j->distance[m] = map->distance[i];
    }
    fa_marker_map_free(map);
    return FA_OK;
}

static FaCode target_points(Job *j, FaError *err) {
    FaCode rc = FA_OK;
    if (j->o.to)
        by_map(j);
    else if (j->o.source)
        rc = by_source(j, err);
    else if (!by_names(j, err, &rc) && rc >= 0)
        rc = by_cloud(j, err);
    if (rc < 0) return rc;
    j->rep.used = count(j);
    if (j->rep.used < LEAST)
        return FA_FAIL(
            err, FA_E_FORMAT, NULL,
            "give their places on this rig with --map, or the rig that they are of with --from RIG2; or raise --reach",
            "%d of the take's %d markers have a place on both faces; %d are needed", j->rep.used, j->n, LEAST);
    FaAlign a = similarity(j);
    j->rep.scale = a.scale;
    j->rep.shape_mm = 1e3 * a.rms;
    double trace = a.rotation[0] + a.rotation[4] + a.rotation[8];
    j->rep.turn = acos(fmin(fmax(0.5 * (trace - 1), -1), 1)) * 180 / M_PI;
    return FA_OK;
}

// --- the warp -----------------------------------------------------------------------------------------------------

static FaCode make_warp(const Job *j, FaRbf **warp, FaError *err) {
    double *from = FA_PUSH(j->arena, 3 * (size_t)j->n, double), *to = FA_PUSH(j->arena, 3 * (size_t)j->n, double);
    if (!from || !to) return FA_FAIL_MEMORY(err);
    int n = 0;
    for (int m = 0; m < j->n; m++) {
        if (!j->has[m] || j->point[m].vert[0] < 0) continue;
        memcpy(from + 3 * (size_t)n, j->from + 3 * (size_t)m, 3 * sizeof *from);
        memcpy(to + 3 * (size_t)n++, j->to + 3 * (size_t)m, 3 * sizeof *to);
    }
    FaRbfOptions o = {.kernel = j->kernel, .lambda = j->o.smooth < 0 ? 0 : j->o.smooth > 0 ? j->o.smooth : SMOOTH};
    return fai_rbf_new(n, from, to, &o, warp, err);
}

// The source's head motion as the target makes it: turned and scaled into its frame, then to a clip's axes (y up, seen
// from the front). Poses that came with the take have those.
static FaPose head_of(const Job *j, const FaAlign *a, int f) {
    if (!j->pose) {
        FaPose p = j->take->head[f];
        for (int k = 0; k < 3; k++) p.p[k] *= a->scale;
        return p;
    }
    FaPose to = fai_align_pose(a), axes = fai_head_axes(j->target), back, move = j->pose[f];
    // the fixed point of the conjugation is the similarity's: its translation is scaled already
    for (int k = 0; k < 3; k++) move.p[k] *= a->scale;
    to = fai_pose_mul(&axes, &to);
    back = fai_pose_inverse(&to);
    move = fai_pose_mul(&move, &back);
    return fai_pose_mul(&to, &move);
}

// One marker through the warp, all frames.
static void warp_marker(Job *j, const FaRbf *warp, int m, int to, FaMarkerTake *out, double sum[3]) {
    const double *rest = j->from + 3 * (size_t)m, *goal = j->to + 3 * (size_t)m;
    double at[3], x[3], y[3];
    fai_rbf_point(warp, rest, at);
    for (int f = 0; f < out->nframe; f++) {
        if (!seen(j->take, f, m)) continue;
        fai_v3_load(sample(j->take, f, m), 0, x);
        if (j->pose) {
            FaPose back = fai_pose_inverse(&j->pose[f]);
            double w[3] = {x[0], x[1], x[2]};
            fai_pose_apply(&back, w, x);
        }
        fai_rbf_point(warp, x, y);
        size_t i = (size_t)f * (size_t)out->nmarker + (size_t)to;
        out->ok[i] = 1;
        for (size_t k = 0; k < 3; k++) {
            double v = goal[k] + (y[k] - at[k]);
            out->x[3 * i + k] = (float)v;
            sum[0] += (x[k] - rest[k]) * (x[k] - rest[k]);
            sum[1] += (v - goal[k]) * (v - goal[k]);
        }
        sum[2]++;
    }
}

static FaCode make_take(Job *j, FaMarkerTake **take, FaMarkerMap **map, FaError *err) {
    const FaMarkerTake *t = j->take;
    const char **name = FA_PUSH(j->arena, (size_t)j->n, const char *);
    FaRbf *warp = NULL;
    if (!name) return FA_FAIL_MEMORY(err);
    int n = 0;
    for (int m = 0; m < j->n; m++)
        if (j->has[m] && j->point[m].vert[0] >= 0) name[n++] = t->name[m];
    FA_TRY(fa_markers_new(t->nframe, n, name, t->fps, take, err));
    FA_TRY(fai_marker_map_new(n, name, map, err));
    FaMarkerTake *out = *take;
    if (t->head || j->pose) out->head = FA_NEW(t->nframe, FaPose);
    if ((t->head || j->pose) && !out->head) return FA_FAIL_MEMORY(err);
    memcpy(out->time, t->time, (size_t)t->nframe * sizeof *t->time);
    out->start = t->start;
    FA_TRY(make_warp(j, &warp, err));
    FaAlign a = similarity(j);
    for (int f = 0; out->head && f < t->nframe; f++) out->head[f] = head_of(j, &a, f);
    double sum[3] = {0}, off = 0;
    int to = 0;
    for (int m = 0; m < j->n; m++) {
        if (!j->has[m] || j->point[m].vert[0] < 0) continue;
        warp_marker(j, warp, m, to, out, sum);
        (*map)->point[to] = j->point[m];
        off += (double)j->distance[m] * (double)j->distance[m];
        (*map)->distance[to++] = j->distance[m];
    }
    (*map)->rms = sqrt(off / n);
    (*map)->mapped = n;
    (*map)->frame = j->o.source ? -1 : j->frame;
    if (!j->o.source && j->o.frame < 0 && j->frame != fai_first_frame(t))
        fai_note(&(*map)->notes, "neutral-found", FA_PLACE("frame %d", j->frame), "name another with --neutral",
                 "the take does not begin with a neutral face: frame %d is the nearest to one", j->frame);
    (*map)->mesh = fai_mesh_print(&j->target->mesh);
    (*map)->rig_from_take = fai_pose_identity();
    j->rep.before_mm = sum[2] > 0 ? 1e3 * sqrt(sum[0] / sum[2]) : 0;
    j->rep.after_mm = sum[2] > 0 ? 1e3 * sqrt(sum[1] / sum[2]) : 0;
    fai_rbf_free(warp);
    return fa_markers_check(out, err);
}

static FaCode run(Job *j, FaMarkerTake **out, FaMarkerMap **map, FaError *err) {
    j->n = j->rep.markers = j->take->nmarker;
    if (j->n > FA_RBF_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "leave some out", "%d markers; a warp takes up to %d", j->n, FA_RBF_MAX);
    size_t n = (size_t)j->n;
    j->arena = fai_arena_new(0);
    if (!j->arena) return FA_FAIL_MEMORY(err);
    j->from = FA_PUSH(j->arena, 3 * n, double);
    j->to = FA_PUSH(j->arena, 3 * n, double);
    j->has = FA_PUSH(j->arena, n, unsigned char);
    j->point = FA_PUSH(j->arena, n, FaMarkerPoint);
    j->distance = FA_PUSH(j->arena, n, float);
    if (!j->from || !j->to || !j->has || !j->point || !j->distance) return FA_FAIL_MEMORY(err);
    for (size_t m = 0; m < n; m++) j->point[m] = (FaMarkerPoint){.tri = -1, .vert = {-1, -1, -1}};
    FA_TRY(source_points(j, err));
    FA_TRY(target_points(j, err));
    FA_TRY(hold_still(j, err));
    return make_take(j, out, map, err);
}

FaCode fai_retarget(const FaMarkerTake *take, const FaRig *target, const FaRetargetOptions *options, FaRbfKernel kernel,
                    FaMarkerTake **out, FaMarkerMap **map, FaRetargetReport *report, FaError *err) {
    FA_ASSERT(take && target && out && map);
    *out = NULL;
    *map = NULL;
    Job j = {.take = take, .target = target, .o = options ? *options : fa_retarget_options_default(), .kernel = kernel};
    FA_ASSERT(!j.o.source || j.o.from);
    if (!isfinite(j.o.smooth) || !isfinite(j.o.reach) || j.o.reach < 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give numbers, the reach not below 0", "smooth or reach is no number");
    if (j.o.reach == 0) j.o.reach = REACH;
    FaCode rc = run(&j, out, map, err);
    fai_arena_free(j.arena);
    if (rc < 0) {
        fa_markers_free(*out);
        fa_marker_map_free(*map);
        *out = NULL;
        *map = NULL;
    } else if (report)
        *report = j.rep;
    return take->path ? fai_fail_in(err, rc, take->path) : rc;
}

FaCode fa_retarget(const FaMarkerTake *take, const FaRig *target, const FaRetargetOptions *options, FaMarkerTake **out,
                   FaMarkerMap **map, FaRetargetReport *report, FaError *err) {
    return fai_retarget(take, target, options, FAI_RETARGET_KERNEL, out, map, report, err);
}
