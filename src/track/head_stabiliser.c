#include "track/head_stabiliser.h"

#include "math/mat3.h"
#include "math/procrustes.h"
#include "rig/jaw.h"

#include <math.h>

static const double FLOOR = 5e-4;  // m: motion below this is noise, as in fai_still_poses
static const double USE = 0.01;    // of a shape's square: shapes are used a little, a few at a time
static const float ON_JAW = 0.05f; // share of the jaw's motion from which on a marker says nothing of the head
static const double FAR = 0.02;    // m: one that is lost or swapped says no more than this
enum { PRIOR = 30, MEMORY = 600 }; // frames: that what the rig says is worth, and that are remembered

typedef struct Kept { // of each marker
    double motion;    // mean square against the head, m2
    double frames;    // that it is the mean of, what the rig says included
} Kept;

struct FaHeadStabiliser {
    int n;
    double *rest;              // (n x 3)
    double *trust;             // (n)
    double *prior;             // motion by the rig's shapes, m2                     (n)
    double *at, *weight, *own; // scratch                                            (n x 3, n, n)
    struct {
        FaPose pose;
        double known; // 1: there is one
        Kept marker[];
    } * state;
    size_t size; // of the state
    FaArena *arena;
};

// --- places -------------------------------------------------------------------------------------------------------

FaCode fai_head_rest(const FaRig *rig, const FaMarkerMap *map, float *rest, float *trust, FaError *err) {
    float *belong = FA_NEW(rig->mesh.nvert, float);
    FaJaw jaw;
    FaCode rc = belong ? fai_fit_jaw(rig, &jaw, belong, NULL, err) : FA_FAIL_MEMORY(err);
    for (size_t i = 0; rc >= 0 && i < (size_t)map->count; i++) {
        const FaMarkerPoint *p = &map->point[i];
        double x[3] = {NAN, NAN, NAN};
        if (p->vert[0] >= 0) fa_marker_point_at(p, rig->mesh.x, true, x);
        for (size_t k = 0; k < 3; k++) rest[3 * i + k] = (float)x[k];
        trust[i] = p->vert[0] >= 0 && !(jaw.found && belong[p->vert[0]] > ON_JAW) ? 1 : 0;
    }
    fa_free(belong);
    return rc;
}

void fai_bring_to_head(const FaPose *pose, int n, const unsigned char *ok, float *x) {
    FaPose to_head = fai_pose_inverse(pose);
    for (int i = 0; i < n; i++) {
        double y[3];
        if (!ok[i]) continue;
        fai_v3_load(x, i, y);
        fai_pose_apply(&to_head, y, y);
        for (size_t k = 0; k < 3; k++) x[3 * (size_t)i + k] = (float)y[k];
    }
}

// --- making one ---------------------------------------------------------------------------------------------------

// What the shapes, used as faces use them, move each marker's place.
static FaCode expect_motion(FaHeadStabiliser *s, const FaRig *rig, const FaMarkerMap *map, FaError *err) {
    float *dense = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    if (!dense) return FA_FAIL_MEMORY(err);
    for (int j = 0; j < rig->nshape; j++) {
        const FaShape *shape = &rig->shape[j];
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memcpy(dense + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 3 * sizeof *dense);
        for (int i = 0; i < s->n; i++) {
            double d[3];
            if (map->point[i].vert[0] < 0) continue;
            fa_marker_point_at(&map->point[i], dense, false, d);
            s->prior[i] += USE * fai_v3_dot(d, d);
        }
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memset(dense + 3 * (size_t)rig->row[e], 0, 3 * sizeof *dense);
    }
    fa_free(dense);
    return FA_OK;
}

static FaCode fill(FaHeadStabiliser *s, const FaRig *rig, const FaMarkerMap *map, FaError *err) {
    size_t n = (size_t)map->count;
    s->size = sizeof *s->state + n * sizeof s->state->marker[0];
    s->state = fai_arena_push(s->arena, 1, s->size);
    s->rest = FA_PUSH(s->arena, 3 * n, double);
    s->trust = FA_PUSH(s->arena, n, double);
    s->prior = FA_PUSH(s->arena, n, double);
    s->at = FA_PUSH(s->arena, 3 * n, double);
    s->weight = FA_PUSH(s->arena, n, double);
    s->own = FA_PUSH(s->arena, n, double);
    float *rest = FA_PUSH(s->arena, 3 * n, float), *trust = FA_PUSH(s->arena, n, float);
    if (!s->state || !s->rest || !s->trust || !s->prior || !s->at || !s->weight || !s->own || !rest || !trust)
        return FA_FAIL_MEMORY(err);
    FA_TRY(fai_head_rest(rig, map, rest, trust, err));
    for (size_t i = 0; i < 3 * n; i++) s->rest[i] = (double)rest[i];
    for (size_t i = 0; i < n; i++) s->trust[i] = (double)trust[i];
    FA_TRY(expect_motion(s, rig, map, err));
    fai_head_stabiliser_reset(s);
    return FA_OK;
}

FaCode fai_head_stabiliser_new(const FaRig *rig, const FaMarkerMap *map, FaHeadStabiliser **stabiliser, FaError *err) {
    *stabiliser = NULL;
    FaHeadStabiliser *s = FA_NEW(1, FaHeadStabiliser);
    if (!s) return FA_FAIL_MEMORY(err);
    s->n = map->count;
    s->arena = fai_arena_new(0);
    FaCode rc = s->arena ? fill(s, rig, map, err) : FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_head_stabiliser_free(s);
    else
        *stabiliser = s;
    return rc;
}

void fai_head_stabiliser_free(FaHeadStabiliser *s) {
    if (!s) return;
    fai_arena_free(s->arena);
    fa_free(s);
}

void fai_head_stabiliser_reset(FaHeadStabiliser *s) {
    memset(s->state, 0, s->size);
    s->state->pose = fai_pose_identity();
    for (int i = 0; i < s->n; i++) s->state->marker[i] = (Kept){s->prior[i], PRIOR};
}

void *fai_head_stabiliser_state(FaHeadStabiliser *s, size_t *size) {
    *size = s->size;
    return s->state;
}

// --- a frame ------------------------------------------------------------------------------------------------------

bool fai_head_stabiliser_find(FaHeadStabiliser *s, const float *x, const unsigned char *ok, FaPose *pose, bool *known) {
    for (int i = 0; i < s->n; i++) {
        for (size_t k = 3 * (size_t)i; k < 3 * (size_t)i + 3; k++) s->at[k] = ok[i] ? (double)x[k] : (double)NAN;
        s->weight[i] = s->trust[i] / (s->state->marker[i].motion + FLOOR * FLOOR);
    }
    FaAlign a = fai_align_robust(s->n, s->rest, s->at, s->weight, false, 4 * FLOOR, s->own);
    bool found = a.kind == FA_ALIGN_FULL && a.used >= 3;
    *pose = found ? fai_align_pose(&a) : s->state->pose;
    // the same turn has two quaternions: the one that is near the last
    if (fai_q_dot(pose->q, s->state->pose.q) < 0)
        for (int k = 0; k < 4; k++) pose->q[k] = -pose->q[k];
    if (known) *known = found || s->state->known != 0;
    return found;
}

void fai_head_stabiliser_learn(FaHeadStabiliser *s, const float *x, const unsigned char *ok, const FaPose *pose) {
    s->state->pose = *pose;
    s->state->known = 1;
    for (int i = 0; i < s->n; i++) {
        double y[3], d[3];
        if (!ok[i] || s->trust[i] == 0) continue;
        fai_pose_apply(pose, s->rest + 3 * (size_t)i, y);
        fai_v3_load(x, i, d);
        fai_v3_sub(d, y, d);
        Kept *m = &s->state->marker[i];
        m->frames = fmin(m->frames + 1, MEMORY);
        m->motion += (fmin(fai_v3_dot(d, d), FAR * FAR) - m->motion) / m->frames;
    }
}
