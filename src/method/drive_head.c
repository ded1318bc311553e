// The head taken out of a take: markers in the rig's own frame, and where the head was.
#include "method/drive_work.h"

#include "face/jaw.h"
#include "math/mat3.h"
#include "math/procrustes.h"

#include <math.h>

enum { TURNS = 4 };             // more follow wrong shapes too far
enum { ENOUGH = 12 };           // markers that tell expression from head motion
static const double WIDTH = 1e-3;  // m: what is missed by more has little say
static const double HEAD_SHARE = 0.5;  // of the frames: if fewer decide the head's pose the take is not usable in the world

// Rows of the take that the map's markers are, by name; the same order is the usual case. found: how many there are.
static int match_names(FaDrive *d, const FaMarkerTake *take, int *row) {
    int found = 0;
    for (int i = 0; i < d->map->count; i++) {
        bool same = i < take->nmarker && !strcmp(take->name[i], d->map->name[i]);
        row[i] = same ? i : fa_markers_find(take, d->map->name[i]);
        if (d->map->point[i].vert[0] < 0) continue;
        found += row[i] >= 0;
        if (row[i] < 0)
            fai_note(&d->notes, "marker-absent", d->map->name[i], "check the names in map and take",
                     "markers of the map that the take does not have");
    }
    return found;
}

static void copy_samples(FaDrive *d, const FaMarkerTake *take, const int *row, const FaPose *bring) {
    FaMarkerTake *to = d->take;
    for (int f = 0; f < take->nframe; f++)
        for (int i = 0; i < to->nmarker; i++) {
            if (row[i] < 0) continue;
            size_t from = (size_t)f * (size_t)take->nmarker + (size_t)row[i], at = (size_t)f * (size_t)to->nmarker + (size_t)i;
            double x[3];
            fai_v3_load(take->x, (int)from, x);
            bool ok = take->ok[from] && isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
            if (ok && bring) fai_pose_apply(bring, x, x);
            to->ok[at] = ok;
            for (size_t k = 0; k < 3; k++) to->x[3 * at + k] = ok ? (float)x[k] : NAN;
        }
}

// A frame's samples from the world, or whatever the pose leads to, to the head.
static void bring_frame(FaMarkerTake *t, int f, const FaPose *pose) {
    FaPose to_head = fai_pose_inverse(pose);
    for (size_t i = (size_t)f * (size_t)t->nmarker; i < (size_t)(f + 1) * (size_t)t->nmarker; i++) {
        double y[3];
        if (!t->ok[i]) continue;
        fai_v3_load(t->x, (int)i, y);
        fai_pose_apply(&to_head, y, y);
        for (size_t k = 0; k < 3; k++) t->x[3 * i + k] = (float)y[k];
    }
}

// Poses from the markers that hold still; the samples brought to the head.
static FaCode stabilise(FaDrive *d, FaPose *head, FaError *err) {
    FaMarkerTake *t = d->take;
    size_t n = (size_t)t->nmarker;
    float *rest = FA_NEW(3 * n, float), *trust = FA_NEW(n, float), *still = FA_NEW(n, float);
    float *belong = FA_NEW(d->rig->mesh.nvert, float);
    unsigned char *found = FA_NEW(t->nframe, unsigned char);
    FaJaw jaw;
    FaStillReport report = {0};
    FaCode rc = rest && trust && still && belong && found ? fai_fit_jaw(d->rig, &jaw, belong, NULL, err) : FA_FAIL_MEMORY(err);
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        const FaMarkerPoint *p = &d->map->point[i];
        double x[3] = {NAN, NAN, NAN};
        if (p->vert[0] >= 0) fa_marker_point_at(p, d->rig->mesh.x, true, x);
        for (size_t k = 0; k < 3; k++) rest[3 * i + k] = (float)x[k];
        trust[i] = p->vert[0] >= 0 && !(jaw.found && belong[p->vert[0]] > 0.05f) ? 1 : 0;
    }
    FaStillTake in = {.nframe = t->nframe, .nmarker = t->nmarker, .x = t->x, .rest = rest, .trust = trust};
    if (rc >= 0) rc = fai_still_poses(&in, head, found, still, &report, err);
    if (rc >= 0 && report.frames_found < HEAD_SHARE * t->nframe)
        rc = FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("frame %d", report.first_lost), "use a take with three or more markers off the jaw",
                     "the head's pose can be found in %d of %d frames only", report.frames_found, t->nframe);
    if (rc >= 0)
        fai_note_count(&d->notes, t->nframe - report.frames_found, "head-held", FA_PLACE("frame %d", report.first_lost),
                       "look at those frames", "%d frames have too few markers for the head's pose: that of the frame before is kept",
                       t->nframe - report.frames_found);
    for (int f = 0; rc >= 0 && f < t->nframe; f++) bring_frame(t, f, &head[f]);
    fa_free(rest);
    fa_free(trust);
    fa_free(still);
    fa_free(belong);
    fa_free(found);
    return rc;
}

// A face that moves everywhere leaves no marker quite still. What the shapes say of a frame is where the markers are on a head that
// does: they are laid over it, and so on in turns.
static FaCode refine(FaDrive *d, FaPose *head, FaError *err) {
    FaMarkerTake *t = d->take;
    FaDriveOptions o = {.kind = FA_DRIVE_SBS, .no_residual = true, .trust = d->o.trust, .fps = d->o.fps};
    FaControl *c = NULL;
    FaControlFrame frame;
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? fai_control_new(d->rig, d->face, d->map, &o, NULL, &c, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_control_frame_new(c, arena, &frame, err);
    size_t n = rc >= 0 ? (size_t)fai_control_npoint(c) : 0;
    double *at = rc >= 0 ? FA_PUSH(arena, 3 * n, double) : NULL, *x = rc >= 0 ? FA_PUSH(arena, 3 * n, double) : NULL;
    double *weight = rc >= 0 ? FA_PUSH(arena, n, double) : NULL, *own = rc >= 0 ? FA_PUSH(arena, n, double) : NULL;
    if (rc >= 0 && (!at || !x || !weight || !own)) rc = FA_FAIL_MEMORY(err);
    for (int f = 0; rc >= 0 && f < TURNS * t->nframe; f++) {
        FaMarkers m = fai_drive_markers_of(d, f / TURNS);
        fa_control_reset(c);
        rc = fai_control_solve(c, &m, t->time[f / TURNS], &frame, err);
        if (rc < 0 || frame.fit.used < ENOUGH) continue;
        fai_control_predict(c, &frame, NULL, at);
        for (size_t i = 0; i < n; i++) {
            size_t row = (size_t)fai_control_points(c)[i];
            weight[i] = m.ok[row] ? (double)fai_control_belief(c)[i] : 0;
            for (size_t k = 0; k < 3; k++) x[3 * i + k] = m.ok[row] ? (double)m.x[3 * row + k] : 0;
        }
        FaAlign a = fai_align_robust((int)n, at, x, weight, false, WIDTH, own);
        if (a.kind != FA_ALIGN_FULL) continue;
        FaPose turn = fai_align_pose(&a);
        head[f / TURNS] = fai_pose_mul(&head[f / TURNS], &turn);
        bring_frame(t, f / TURNS, &turn);
    }
    fa_control_free(c);
    fai_arena_free(arena);
    return FA_MIN(rc, FA_OK);
}

FaCode fai_drive_head(FaDrive *d, const FaMarkerTake *take, FaPose *head, bool *known, FaError *err) {
    int *row = FA_NEW(d->map->count, int);
    if (!row) return FA_FAIL_MEMORY(err);
    int found = match_names(d, take, row);
    FaCode rc = FA_OK;
    bool world = !d->o.head_frame && !take->head;
    if (!found)
        rc = FA_FAIL(err, FA_E_ARG, take->path, "make the map from this take", "none of the map's markers is in the take");
    const FaPose *bring = &d->map->rig_from_take;
    double size = fai_q_dot(bring->q, bring->q);
    FaPose none = fai_pose_identity();
    if (!(size > 0.5)) bring = &none;  // a map that says nothing of it
    if (rc >= 0) copy_samples(d, take, row, world ? NULL : bring);
    fa_free(row);
    *known = false;
    if (rc < 0) return rc;
    // clips speak of the canonical frame: world = head(axes x), run.c
    FaPose axes = fai_pose_identity();
    fai_q_from_m3(d->rig->axes, axes.q);
    FaPose from_axes = fai_pose_inverse(&axes);
    if (world) {
        FA_TRY(stabilise(d, head, err));
        FA_TRY(refine(d, head, err));
        *known = true;
        for (int f = 0; f < take->nframe; f++) head[f] = fai_pose_mul(&head[f], &from_axes);
    } else if (take->head && !d->o.head_frame) {
        FaPose back = fai_pose_inverse(bring), turn = fai_pose_mul(&back, &from_axes);
        turn = fai_pose_mul(&axes, &turn);
        *known = true;
        for (int f = 0; f < take->nframe; f++) head[f] = fai_pose_mul(&take->head[f], &turn);
    }
    return FA_OK;
}
