// Based on: [CM92] Chen and Medioni 1992 (point to plane). With y_i the placed marker, q_i its point on the neutral,
// n_i the normal, d_is what shape s does to the point, h how far markers stand off,
//
//     min over turn r, shift t, 0 <= w <= 1 of
//     sum_i (n_i . (y_i + r x y_i + t - q_i - sum_s w_s d_is) - h)^2 + SLIDE^2 |...|^2 + l1 sum w
//
// solved as one quadratic program per round; then the closest points are found again, on the face that w makes.
#include "track/markers_neutral.h"

#include "io/clip_tools.h"
#include "math/mat3.h"
#include "math/nnls.h"
#include "mesh/mesh.h"
#include "track/markers_align.h"

#include <math.h>

enum { ROUNDS = 12, CANDIDATES = 12, POSE = 6 };
static const double SLIDE = 0.1;       // how much less a marker beside its point counts than one above it
static const double SPARSE = 4e-4;     // m rms that a shape at 1 must explain
static const double LIFT_MOST = 0.008; // m: no marker is thicker
static const double CLEARLY = 0.6;     // of the first frame's expression ...
static const double SLIGHT = 1e-3;     // m: ... unless that is less than this

typedef struct Fit {
    const FaRig *rig;
    const FaMarkerFace *face;
    int n, size; // markers; variables: pose, then weights
    const double *p;
    double *y, *q, *rest, *normal; // placed; closest, now and on the neutral; of the surface there     (n x 3)
    FaHit *hit;                    //                                                                   (n)
    double *off, *sorted;          // along the normal, m                                               (n)
    double limit, lift;
    double *g, *f, *row, *lo, *hi, *v; // the program                              (size x size, size each)
    float *corner;                     // normals of the face as it is                                  (nvert x 3)
    FaNnls *nnls;
} Fit;

static FaCode make_room(Fit *t, FaArena *arena, FaError *err) {
    size_t n = (size_t)t->n, s = (size_t)t->size;
    t->y = FA_PUSH(arena, 12 * n, double);
    t->hit = FA_PUSH(arena, n, FaHit);
    t->off = FA_PUSH(arena, 2 * n, double);
    t->g = FA_PUSH(arena, s * s, double);
    t->f = FA_PUSH(arena, 5 * s, double);
    t->corner = FA_PUSH(arena, 3 * (size_t)t->rig->mesh.nvert, float);
    if (!t->y || !t->hit || !t->off || !t->g || !t->f || !t->corner) return FA_FAIL_MEMORY(err);
    t->q = t->y + 3 * n, t->rest = t->q + 3 * n, t->normal = t->rest + 3 * n;
    t->sorted = t->off + n;
    t->row = t->f + s, t->lo = t->row + s, t->hi = t->lo + s, t->v = t->hi + s;
    return fai_nnls_new(t->size, &t->nnls, err);
}

// Closest points on the face x; returns the rms off it, the worst tenth left out.
static FaCode match(Fit *t, const FaPose *pose, const float *x, double *rms, FaError *err) {
    const FaMesh *mesh = &t->rig->mesh;
    FaMesh now = *mesh;
    now.x = (float *)x;
    FaClosest *closest = NULL;
    FA_TRY(fai_closest_of(&now, t->face->tri, t->face->ntri, &closest, err));
    fai_mesh_normals(mesh, x, t->corner);
    for (int i = 0; i < t->n; i++) {
        double *y = t->y + 3 * i, *n = t->normal + 3 * i, *rest = t->rest + 3 * i, d[3];
        fai_pose_apply(pose, t->p + 3 * i, y);
        t->hit[i] = fai_closest_point(closest, (float[]){(float)y[0], (float)y[1], (float)y[2]}, INFINITY);
        t->hit[i].tri = t->hit[i].tri >= 0 ? t->face->tri[t->hit[i].tri] : t->face->tri[0];
        memset(n, 0, 3 * sizeof *n);
        memset(rest, 0, 3 * sizeof *rest);
        for (int k = 0; k < 3; k++) {
            double c[3];
            int v = mesh->tri[3 * (size_t)t->hit[i].tri + (size_t)k];
            fai_v3_load(t->corner, v, c);
            fai_v3_mad(n, (double)t->hit[i].bary[k], c, n);
            fai_v3_load(mesh->x, v, c);
            fai_v3_mad(rest, (double)t->hit[i].bary[k], c, rest);
        }
        fai_v3_normalize(n);
        for (int k = 0; k < 3; k++) d[k] = y[k] - (double)t->hit[i].point[k];
        t->off[i] = fai_v3_dot(n, d);
        t->sorted[i] = t->off[i];
    }
    fai_closest_free(closest);
    fai_sort_doubles(t->sorted, t->n);
    t->lift = fmin(fmax(t->sorted[t->n / 2], 0), LIFT_MOST);
    for (int i = 0; i < t->n; i++) t->sorted[i] = (t->off[i] - t->lift) * (t->off[i] - t->lift);
    fai_sort_doubles(t->sorted, t->n);
    int keep = t->n - t->n / 10;
    *rms = 0;
    for (int i = 0; i < keep; i++) *rms += t->sorted[i] / keep;
    *rms = sqrt(*rms);
    t->limit = t->sorted[keep - 1];
    return FA_OK;
}

// One equation along direction a, of what is left to explain.
static void add_row(Fit *t, int i, const double a[3], double goal, double weight) {
    const FaMarkerFace *face = t->face;
    memset(t->row, 0, (size_t)t->size * sizeof *t->row);
    double turn[3];
    fai_v3_cross(t->y + 3 * i, a, turn);
    for (int k = 0; k < 3; k++) t->row[k] = turn[k], t->row[3 + k] = a[k];
    for (int k = 0; k < 3; k++) {
        int v = t->rig->mesh.tri[3 * (size_t)t->hit[i].tri + (size_t)k];
        for (int e = face->shape_start[v]; e < face->shape_start[v + 1]; e++) {
            double d[3];
            fai_v3_load(face->delta, e, d);
            t->row[POSE + face->shape[e]] -= (double)t->hit[i].bary[k] * fai_v3_dot(a, d);
        }
    }
    for (int j = 0; j < t->size; j++) {
        if (t->row[j] == 0) continue;
        t->f[j] += weight * t->row[j] * goal;
        for (int k = 0; k < t->size; k++) t->g[j * t->size + k] += weight * t->row[j] * t->row[k];
    }
}

static void solve(Fit *t, FaPose *pose, double *weight) {
    memset(t->g, 0, (size_t)t->size * (size_t)t->size * sizeof *t->g);
    memset(t->f, 0, (size_t)t->size * sizeof *t->f);
    for (int i = 0; i < t->n; i++) {
        const double *n = t->normal + 3 * i;
        double d[3];
        if ((t->off[i] - t->lift) * (t->off[i] - t->lift) > t->limit) continue;
        fai_v3_sub(t->rest + 3 * i, t->y + 3 * i, d);
        fai_v3_mad(d, t->lift, n, d);
        add_row(t, i, n, fai_v3_dot(n, d), 1);
        for (int k = 0; k < 3; k++) add_row(t, i, (double[3]){k == 0, k == 1, k == 2}, d[k], SLIDE * SLIDE);
    }
    for (int j = 0; j < t->size; j++) {
        bool shape = j >= POSE;
        t->lo[j] = shape ? 0 : -INFINITY;
        t->hi[j] = shape ? 1 : INFINITY;
        t->v[j] = shape ? weight[j - POSE] : 0;
        t->g[j * t->size + j] += shape ? 0.1 * t->n * SPARSE * SPARSE : 1e-9;
    }
    FaNnlsProblem problem = {
        .n = t->size, .g = t->g, .f = t->f, .l1 = 0.5 * t->n * SPARSE * SPARSE, .lo = t->lo, .hi = t->hi};
    fai_nnls_solve(t->nnls, &problem, t->v);
    FaPose turn = {.p = {t->v[3], t->v[4], t->v[5]}};
    fai_q_exp(t->v, turn.q);
    *pose = fai_pose_mul(&turn, pose);
    memcpy(weight, t->v + POSE, (size_t)t->rig->nshape * sizeof *weight);
}

static void make_face(const FaRig *rig, const double *weight, float *x) {
    memcpy(x, rig->mesh.x, 3 * (size_t)rig->mesh.nvert * sizeof *x);
    for (int s = 0; s < rig->nshape; s++)
        for (int e = rig->shape[s].first; weight[s] > 0 && e < rig->shape[s].first + rig->shape[s].count; e++)
            for (size_t k = 0; k < 3; k++)
                x[3 * (size_t)rig->row[e] + k] += (float)(weight[s] * (double)rig->delta[3 * (size_t)e + k]);
}

static double moved(const Fit *t) {
    double sum = 0, d[3];
    for (int i = 0; i < t->n; i++) {
        for (int k = 0; k < 3; k++) d[k] = (double)t->hit[i].point[k] - t->rest[3 * i + k];
        sum += fai_v3_dot(d, d);
    }
    return sqrt(sum / t->n);
}

FaCode fai_expression_fit(const FaRig *rig, const FaMarkerFace *face, int n, const double *p, FaArena *arena,
                          FaExpression *fit, FaError *err) {
    Fit t = {.rig = rig, .face = face, .n = n, .size = POSE + rig->nshape, .p = p};
    fit->weight = FA_PUSH(arena, FA_MAX(rig->nshape, 1), double);
    fit->x = FA_PUSH(arena, 3 * (size_t)rig->mesh.nvert, float);
    FaCode rc = fit->weight && fit->x ? make_room(&t, arena, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        make_face(rig, fit->weight, fit->x);
        rc = match(&t, &fit->pose, fit->x, &fit->before, err);
    }
    for (int round = 0; rc >= 0 && round < ROUNDS; round++) {
        solve(&t, &fit->pose, fit->weight);
        make_face(rig, fit->weight, fit->x);
        rc = match(&t, &fit->pose, fit->x, &fit->rms, err);
    }
    if (rc >= 0) fit->moved = moved(&t);
    fai_nnls_free(t.nnls);
    return rc;
}

// --- a take -------------------------------------------------------------------------------------------------------

static int shown(const FaMarkerTake *t, int f) {
    int n = 0;
    for (int m = 0; m < t->nmarker; m++) n += t->ok[(size_t)f * (size_t)t->nmarker + (size_t)m];
    return n;
}

static int most_shown(const FaMarkerTake *t) {
    int most = 0;
    for (int f = 0; f < t->nframe; f++) most = FA_MAX(most, shown(t, f));
    return most - most / 20;
}

int fai_first_frame(const FaMarkerTake *take) {
    int least = most_shown(take);
    for (int f = 0; f < take->nframe; f++)
        if (shown(take, f) >= least) return f;
    return 0;
}

typedef struct Search {
    const FaMarkerTake *take;
    const FaRig *rig;
    FaMarkerFace face;
    FaClosest *outside;
    FaArena *arena;
    FaPose pose;   // of the frame before
    double *p, *q; // its markers, this frame's                                               (nmarker x 3)
} Search;

// What the frame shows, and its pose: found from nothing for the first frame, from the one before for the others.
static FaCode try_frame(Search *s, int f, int before, bool aligned, double *amount, FaError *err) {
    const FaMarkerTake *t = s->take;
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? FA_OK : FA_FAIL_MEMORY(err);
    int n = 0, both = 0;
    for (int m = 0; rc >= 0 && m < t->nmarker && before >= 0; m++) {
        size_t i = (size_t)f * (size_t)t->nmarker + (size_t)m, j = (size_t)before * (size_t)t->nmarker + (size_t)m;
        if (!t->ok[i] || !t->ok[j]) continue;
        fai_v3_load(t->x, (int)i, s->p + 3 * (size_t)both);
        fai_v3_load(t->x, (int)j, s->q + 3 * (size_t)both++);
    }
    FaPose step;
    if (rc >= 0 && before >= 0 && !aligned && fai_procrustes(both, s->p, s->q, &step))
        s->pose = fai_pose_mul(&s->pose, &step);
    for (int m = 0; m < t->nmarker; m++) {
        size_t i = (size_t)f * (size_t)t->nmarker + (size_t)m;
        if (t->ok[i]) fai_v3_load(t->x, (int)i, s->p + 3 * (size_t)n++);
    }
    FaAlignment a = {.pose = s->pose};
    if (rc >= 0 && before < 0 && !aligned) rc = fai_markers_align(s->rig, &s->face, s->outside, n, s->p, &a, err);
    FaExpression fit = {.pose = s->pose = a.pose};
    if (rc >= 0) rc = fai_expression_fit(s->rig, &s->face, n, s->p, arena, &fit, err);
    *amount = fit.moved;
    fai_arena_free(arena);
    return rc;
}

static FaCode search(Search *s, bool aligned, int *frame, FaError *err) {
    const FaMarkerTake *t = s->take;
    int least = most_shown(t), first = *frame, before = -1;
    double amount, first_amount = 0, best = INFINITY;
    s->p = FA_PUSH(s->arena, 6 * (size_t)t->nmarker, double);
    if (!s->p) return FA_FAIL_MEMORY(err);
    s->q = s->p + 3 * (size_t)t->nmarker;
    FA_TRY(fai_marker_face(s->rig, &s->face, err));
    if (!s->face.ntri) return FA_OK;
    FA_TRY(fai_closest_of(&s->rig->mesh, s->face.tri, s->face.ntri, &s->outside, err));
    int step = FA_MAX(1, (t->nframe - first) / CANDIDATES);
    for (int f = first; f < t->nframe; f += step) {
        if (shown(t, f) < least) continue;
        FA_TRY(try_frame(s, f, before, aligned, &amount, err));
        before = f;
        if (f == first) first_amount = amount;
        if (f == first && amount < SLIGHT) return FA_OK;
        if (amount < best) best = amount, *frame = f;
    }
    if (best > CLEARLY * first_amount) *frame = first;
    return FA_OK;
}

FaCode fai_neutral_frame(const FaMarkerTake *take, const FaRig *rig, bool aligned, int *frame, FaError *err) {
    Search s = {.take = take, .rig = rig, .pose = fai_pose_identity(), .arena = fai_arena_new(0)};
    *frame = fai_first_frame(take);
    if (!s.arena) return FA_FAIL_MEMORY(err);
    FaCode rc = rig->nshape > 0 && shown(take, *frame) >= 8 ? search(&s, aligned, frame, err) : FA_OK;
    fai_closest_free(s.outside);
    fai_marker_face_free(&s.face);
    fai_arena_free(s.arena);
    return rc;
}
