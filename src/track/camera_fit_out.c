// What the camera's fit is good for: a clip, and virtual markers on a rig (thesis 001 eq. 6.4 and section 5.2.2.3).
#include "math/mat3.h"
#include "math/rbf.h"
#include "rig/transfer_register.h"
#include "track/camera_fit.h"

#include <math.h>

static const double SAME = 0.7; // share of the model's expressions that a rig must have to move by its own

// --- head motion --------------------------------------------------------------------------------------------------

// World poses of all frames: y up, z towards the camera, the first frame's origin at 0.
static void world_poses(const FaCameraFit *fit, const FaFaceModel *model, FaPose *world) {
    int first = 0;
    while (first + 1 < fit->nframe && !fit->ok[first]) first++;
    double up[3] = {model->rig->axes[3], model->rig->axes[4], model->rig->axes[5]}, y[3];
    fai_q_rotate(fit->pose[first].q, up, y); // metric landmarks may have y up already
    for (int i = 0; i < fit->nframe; i++) {
        FaPose at;
        fai_fit_world(&fit->pose[i], &fit->pose[first], fit->metric && y[1] > 0, &at);
        world[i] = fa_rig_head(model->rig, &at);
        if (i && fai_q_dot(world[i].q, world[i - 1].q) < 0)
            for (int k = 0; k < 4; k++) world[i].q[k] = -world[i].q[k];
    }
}

FaCode fa_camera_clip(const FaCameraFit *fit, const FaFaceModel *model, FaClip **clip, FaError *err) {
    FA_ASSERT(fit && model && clip && fit->nexp == model->nexp);
    *clip = NULL;
    FaClip *c = NULL;
    FA_TRY(fa_clip_new(fit->nframe, fit->nexp, model->exp_name, fit->fps, &c, err));
    c->head = FA_NEW(fit->nframe, FaPose);
    if (!c->head) {
        fa_clip_free(c);
        return FA_FAIL_MEMORY(err);
    }
    memcpy(c->time, fit->time, (size_t)fit->nframe * sizeof *c->time);
    memcpy(c->weight, fit->weight, (size_t)fit->nframe * (size_t)fit->nexp * sizeof *c->weight);
    world_poses(fit, model, c->head);
    *clip = c;
    return FA_OK;
}

// --- virtual markers ----------------------------------------------------------------------------------------------

// Middle of the motion of all shapes: what tells where a face is in its own frame.
static bool moving_middle(const FaRig *rig, double out[3]) {
    double sum = 0, c[3] = {0};
    for (int e = 0; e < rig->nentry; e++) {
        double d[3], x[3];
        fai_v3_load(rig->delta, e, d);
        fai_v3_load(rig->mesh.x, rig->row[e], x);
        double w = fai_v3_norm(d);
        fai_v3_mad(c, w, x, c);
        sum += w;
    }
    if (!(sum > 0)) return false;
    fai_v3_scale(1 / sum, c, out);
    return true;
}

// The rig's frame in the model's: axes by what each rig says, origins by the middles of their motion.
static FaPose model_from_rig(const FaFaceModel *model, const FaRig *rig) {
    FaPose pose = {.q = {0, 0, 0, 1}};
    double turn[9], inv[9], a[3], b[3];
    if (rig == model->rig) return pose;
    fai_m3_transpose(model->rig->axes, inv);
    fai_m3_mul(inv, rig->axes, turn);
    fai_q_from_m3(turn, pose.q);
    if (moving_middle(model->rig, a) && moving_middle(rig, b)) {
        fai_q_rotate(pose.q, b, b);
        fai_v3_sub(a, b, pose.p);
    }
    return pose;
}

static void set_point(FaMarkerTake *t, int frame, int marker, const double p[3]) {
    size_t at = (size_t)frame * (size_t)t->nmarker + (size_t)marker;
    for (int k = 0; k < 3; k++) t->x[3 * at + (size_t)k] = (float)p[k];
    t->ok[at] = 1;
}

// A rig that has the expressions moves its own points by them.
static FaCode own_markers(const FaCameraFit *fit, const FaClip *clip, const FaBinding *bind, const FaRig *rig,
                          const FaMarkerMap *map, FaMarkerTake *t, FaError *err) {
    float *x = FA_NEW(3 * (size_t)rig->mesh.nvert, float), *w = FA_NEW(rig->nshape, float);
    FaCode rc = x && w ? FA_OK : FA_FAIL_MEMORY(err);
    for (int i = 0; rc >= 0 && i < fit->nframe; i++) {
        fa_binding_weights(bind, clip->weight + (size_t)i * (size_t)clip->nchan, w);
        fa_rig_blend(rig, w, x);
        for (int k = 0; k < map->count; k++) {
            double p[3];
            if (map->point[k].vert[0] < 0) continue;
            fa_marker_point_at(&map->point[k], x, true, p);
            set_point(t, i, k, p);
        }
    }
    fa_free(x);
    fa_free(w);
    return rc;
}

// The model's point that lies where a marker's place on the rig is: that of the nearest corner.
static bool twin(const FaFaceModel *model, const FaRegister *reg, const FaMarkerPoint *point, FaMarkerPoint *out) {
    int best = 0;
    for (int c = 1; c < 3; c++)
        if (point->bary[c] > point->bary[best]) best = c;
    if (point->vert[0] < 0) return false;
    const FaHit *hit = &reg->hit[point->vert[best]];
    if (hit->tri < 0) return false;
    *out = (FaMarkerPoint){.tri = hit->tri};
    for (int c = 0; c < 3; c++) {
        out->vert[c] = model->rig->mesh.tri[3 * (size_t)hit->tri + (size_t)c];
        out->bary[c] = (float)hit->bary[c];
    }
    return true;
}

// Pairs of places at rest, and the warp through them.
static FaCode make_warp(const FaFaceModel *model, const FaRig *rig, const FaMarkerMap *map, FaArena *arena,
                        FaMarkerPoint *point, FaRbf **warp, FaMarkerTake *t, FaError *err) {
    FaRegister reg = {0};
    FaRegisterInput in = {.source = &model->rig->mesh, .target = &rig->mesh};
    in.reach = 0.05 * fai_mesh_extent(&rig->mesh);
    FA_TRY(fai_register(&in, arena, &reg, err));
    double *from = FA_PUSH(arena, 3 * (size_t)map->count, double), *to = FA_PUSH(arena, 3 * (size_t)map->count, double);
    if (!from || !to) return FA_FAIL_MEMORY(err);
    int n = 0, alone = 0;
    for (int k = 0; k < map->count; k++) {
        point[k].vert[0] = -1;
        if (map->point[k].vert[0] < 0) continue;
        if (!twin(model, &reg, &map->point[k], &point[k])) {
            alone++;
            continue;
        }
        fa_marker_point_at(&point[k], model->rig->mesh.x, false, from + 3 * (size_t)n);
        fa_marker_point_at(&map->point[k], rig->mesh.x, true, to + 3 * (size_t)n);
        n++;
    }
    fai_note_count(&t->notes, alone, "marker-unmatched", "", "choose markers on the face",
                   "%d markers sit where the model has no surface: they are missing", alone);
    if (n < 4)
        return FA_FAIL(err, FA_E_MESH, NULL, "the rig should be a face of about the same pose, looking the same way",
                       "only %d markers have a counterpart on the model", n);
    FaRbfOptions o = {.kernel = FA_RBF_CUBIC};
    return fai_rbf_new(n, from, to, &o, warp, err);
}

// Another face: the model's points move, and the warp takes them over.
static FaCode warped_markers(const FaCameraFit *fit, const FaFaceModel *model, const FaRig *rig, const FaMarkerMap *map,
                             FaMarkerTake *t, FaError *err) {
    FaArena *arena = fai_arena_new(0);
    FaRbf *warp = NULL;
    FaMarkerPoint *point = arena ? FA_PUSH(arena, map->count, FaMarkerPoint) : NULL;
    float *x = arena ? FA_PUSH(arena, 3 * (size_t)model->rig->mesh.nvert, float) : NULL;
    FaCode rc = point && x ? make_warp(model, rig, map, arena, point, &warp, t, err) : FA_FAIL_MEMORY(err);
    for (int i = 0; rc >= 0 && i < fit->nframe; i++) {
        fa_rig_blend(model->rig, fit->weight + (size_t)i * (size_t)fit->nexp, x);
        for (int k = 0; k < map->count; k++) {
            double p[3];
            if (point[k].vert[0] < 0) continue;
            fa_marker_point_at(&point[k], x, false, p);
            fai_rbf_point(warp, p, p);
            set_point(t, i, k, p);
        }
    }
    fai_rbf_free(warp);
    fai_arena_free(arena);
    return rc;
}

static FaCode head_poses(const FaClip *clip, const FaFaceModel *model, const FaRig *rig, FaMarkerTake *t,
                         FaError *err) {
    t->head = FA_NEW(t->nframe, FaPose);
    if (!t->head) return FA_FAIL_MEMORY(err);
    FaPose local = model_from_rig(model, rig);
    double first[3] = {0};
    for (int i = 0; i < t->nframe; i++) {
        FaPose at = fa_rig_pose(model->rig, &clip->head[i]);
        at = fai_pose_mul(&at, &local);
        t->head[i] = fa_rig_head(rig, &at);
        if (i == 0) memcpy(first, at.p, sizeof first);
        fai_v3_sub(at.p, first, t->head[i].p); // the rig's own origin begins at 0
    }
    return FA_OK;
}

FaCode fa_camera_markers(const FaCameraFit *fit, const FaFaceModel *model, const FaRig *rig, const FaMarkerMap *map,
                         bool warp, FaMarkerTake **take, FaError *err) {
    FA_ASSERT(fit && model && rig && map && take && fit->nexp == model->nexp);
    *take = NULL;
    FaClip *clip = NULL;
    FaBinding bind = {0};
    FaMarkerTake *t = NULL;
    FaCode rc = fa_camera_clip(fit, model, &clip, err);
    if (rc >= 0) rc = fa_clip_bind(clip, rig, &bind, err);
    if (rc >= 0) rc = fa_markers_new(fit->nframe, map->count, map->name, fit->fps, &t, err);
    if (rc >= 0) {
        memcpy(t->time, fit->time, (size_t)fit->nframe * sizeof *t->time);
        bool same = !warp && clip->nchan - bind.unused >= SAME * clip->nchan;
        if (!same)
            fai_note(
                &t->notes, "markers-warped", "", "",
                "the rig has other shapes than the model (%d of %d are the same): the model's motion is carried over "
                "by points",
                clip->nchan - bind.unused, clip->nchan);
        rc = same ? own_markers(fit, clip, &bind, rig, map, t, err) : warped_markers(fit, model, rig, map, t, err);
    }
    if (rc >= 0) rc = head_poses(clip, model, rig, t, err);
    fa_binding_free(&bind);
    fa_clip_free(clip);
    if (rc < 0) {
        fa_markers_free(t);
        return rc;
    }
    *take = t;
    return FA_OK;
}
