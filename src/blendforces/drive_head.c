// The head taken out of a take: markers in the rig's own frame, and where the head was.
#include "blendforces/drive_work.h"

#include "face/jaw.h"
#include "math/dense.h"
#include "math/mat3.h"
#include "math/procrustes.h"

#include <math.h>
#include <stdlib.h>

enum { TURNS = 6 };
enum { ENOUGH = 12 };              // markers that tell expression from head motion
static const double WIDTH = 1e-3;  // m: what is missed by more has little say
static const double ARM = 0.05;    // m
static const double MISS = 2.0e-4; // m: median from which on shapes are not trusted with the pose
static const double RIDGE = 1e-3;
static const double BEYOND = 500; // m: no marker of a face is there
static const double HEAD_SHARE =
    0.5; // of the frames: if fewer decide the head's pose the take is not usable in the world

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
    int beyond = 0, first = 0;
    for (int f = 0; f < take->nframe; f++)
        for (int i = 0; i < to->nmarker; i++) {
            if (row[i] < 0) continue;
            size_t from = (size_t)f * (size_t)take->nmarker + (size_t)row[i],
                   at = (size_t)f * (size_t)to->nmarker + (size_t)i;
            double x[3];
            fai_v3_load(take->x, (int)from, x);
            bool ok = take->ok[from] && isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
            if (ok && !(fai_v3_norm(x) < BEYOND)) {
                if (!beyond++) first = f;
                ok = false;
            }
            if (ok && bring) fai_pose_apply(bring, x, x);
            to->ok[at] = ok;
            for (size_t k = 0; k < 3; k++) to->x[3 * at + k] = ok ? (float)x[k] : NAN;
        }
    fai_note_count(&d->notes, beyond, "marker-beyond", FA_PLACE("frame %d", first), "look at the take there",
                   "%d samples are over %g m away: taken as missing", beyond, BEYOND);
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
    FaCode rc =
        rest && trust && still && belong && found ? fai_fit_jaw(d->rig, &jaw, belong, NULL, err) : FA_FAIL_MEMORY(err);
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
        rc = FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("frame %d", report.first_lost),
                     "use a take with three or more markers off the jaw",
                     "the head's pose can be found in %d of %d frames only", report.frames_found, t->nframe);
    if (rc >= 0)
        fai_note_count(&d->notes, t->nframe - report.frames_found, "head-held", FA_PLACE("frame %d", report.first_lost),
                       "look at those frames",
                       "%d frames have too few markers for the head's pose: that of the frame before is kept",
                       t->nframe - report.frames_found);
    for (int f = 0; rc >= 0 && f < t->nframe; f++) bring_frame(t, f, &head[f]);
    fa_free(rest);
    fa_free(trust);
    fa_free(still);
    fa_free(belong);
    fa_free(found);
    return rc;
}

// --- pose and weights together ------------------------------------------------------------------------------------
//
// A face that moves everywhere leaves no marker quite still, and shapes follow much of a wrong pose. So both are
// unknown: with B the shapes that are on, J the six motions of a rigid head, r what the markers are off the control's
// answer (its own conditions met), a Newton step of the pose with the weights eliminated is
//
//     (J'J - (1 - t) J'B (B'B)^-1 B'J) step = J'r        rows weighted by belief in the marker
//
// t: 0 where the shapes meet the markers. Where they do not, for noise or because they are wrong, all of the step would
// follow that; 1 lays the markers over the answer without regard to what the weights would do, and a few such steps go
// part of the way.

typedef struct Joint {
    int n, nshape;         // markers that are mapped, shapes
    double *b;             // shapes at the markers, m                          (nshape x 3n)
    double *at, *x;        // the control's answer, the markers, m              (3n each)
    double *weight, *dist; //                                                (n each)
    double *j;             // rigid motions                                     (6 x 3n)
    double *g, *right;     // normal equations            ((nshape + 6)^2, nshape + 6)
    int *on;               // shapes that are                                   (nshape)
} Joint;

static bool joint_new(const FaDrive *d, const FaControl *c, FaArena *arena, Joint *k) {
    size_t n = (size_t)fai_control_npoint(c), m = (size_t)d->rig->nshape, s = m + 6;
    *k = (Joint){.n = (int)n, .nshape = d->rig->nshape};
    k->b = FA_PUSH(arena, m * 3 * n, double);
    k->at = FA_PUSH(arena, 3 * n, double);
    k->x = FA_PUSH(arena, 3 * n, double);
    k->weight = FA_PUSH(arena, n, double);
    k->dist = FA_PUSH(arena, n, double);
    k->j = FA_PUSH(arena, 18 * n, double);
    k->g = FA_PUSH(arena, s * s, double);
    k->right = FA_PUSH(arena, s, double);
    k->on = FA_PUSH(arena, m, int);
    float *dense = FA_PUSH(arena, 3 * (size_t)d->rig->mesh.nvert, float);
    if (!k->b || !k->at || !k->x || !k->weight || !k->dist || !k->j || !k->g || !k->right || !k->on || !dense)
        return false;
    for (size_t q = 0; q < m; q++) {
        const FaShape *shape = &d->rig->shape[q];
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memcpy(dense + 3 * (size_t)d->rig->row[e], d->rig->delta + 3 * (size_t)e, 3 * sizeof *dense);
        for (size_t i = 0; i < n; i++) {
            FaMarkerPoint p = d->map->point[fai_control_points(c)[i]];
            fa_marker_point_at(&p, dense, false, k->b + 3 * (q * n + i));
        }
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memset(dense + 3 * (size_t)d->rig->row[e], 0, 3 * sizeof *dense);
    }
    return true;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Belief in each marker by how far it is from the control's answer, and the rigid motions about the middle. Returns the
// median distance.
static double weigh(Joint *k) {
    double mid[3] = {0}, sum = 0;
    int seen = 0;
    for (int i = 0; i < k->n; i++) {
        double r[3];
        fai_v3_sub(k->x + 3 * i, k->at + 3 * i, r);
        double far = fai_v3_norm(r);
        if (k->weight[i] > 0) k->dist[seen++] = far;
        double q = 1 + far * far / (WIDTH * WIDTH);
        k->weight[i] /= q * q;
        fai_v3_mad(mid, k->weight[i], k->at + 3 * i, mid);
        sum += k->weight[i];
    }
    fai_v3_scale(1 / fmax(sum, 1e-30), mid, mid);
    for (int i = 0; i < k->n; i++)
        for (int a = 0; a < 6; a++) {
            double e[3] = {a % 3 == 0, a % 3 == 1, a % 3 == 2}, y[3],
                   *out = k->j + 3 * ((size_t)a * (size_t)k->n + (size_t)i);
            fai_v3_sub(k->at + 3 * i, mid, y);
            fai_v3_scale(1 / ARM, y, y); // turns at arm's length count like shifts
            if (a < 3)
                fai_v3_cross(e, y, out);
            else
                memcpy(out, e, sizeof e);
        }
    memcpy(k->right, mid, sizeof mid);
    qsort(k->dist, (size_t)seen, sizeof *k->dist, by_size);
    return seen ? k->dist[seen / 2] : 0;
}

static double dot(const Joint *k, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < k->n; i++) sum += k->weight[i] * fai_v3_dot(a + 3 * (size_t)i, b + 3 * (size_t)i);
    return sum;
}

// The step of the pose as a motion of the markers.
static bool joint_step(Joint *k, const float *w, FaPose *turn) {
    int m = 0, s;
    double miss = weigh(k) / MISS, part = sqrt(1 - fmin(miss * miss * miss * miss, 1)), mid[3];
    memcpy(mid, k->right, sizeof mid);
    for (int q = 0; q < k->nshape; q++)
        if (w[q] > 1e-4f) k->on[m++] = q;
    s = m + 6;
    size_t row = 3 * (size_t)k->n;
    for (int p = 0; p < s; p++) {
        const double *a = p < m ? k->b + row * (size_t)k->on[p] : k->j + row * (size_t)(p - m);
        for (int q = 0; q <= p; q++)
            k->g[(size_t)p * (size_t)s + (size_t)q] =
                dot(k, a, q < m ? k->b + row * (size_t)k->on[q] : k->j + row * (size_t)(q - m));
    }
    for (int i = 0; i < k->n; i++) fai_v3_sub(k->x + 3 * i, k->at + 3 * i, k->x + 3 * i);
    for (int p = 0; p < s; p++) {
        double *diagonal = &k->g[(size_t)p * (size_t)s + (size_t)p];
        k->right[p] = 0;
        if (p < m)
            *diagonal += RIDGE * *diagonal + 1e-12;
        else {
            k->right[p] = dot(k, k->j + row * (size_t)(p - m), k->x);
            for (int q = 0; q < m; q++) k->g[(size_t)p * (size_t)s + (size_t)q] *= part;
            *diagonal += 1e-6 * *diagonal;
        }
    }
    if (!fai_dense_cholesky(s, s, k->g)) return false;
    fai_dense_forward(s, s, k->g, k->right);
    fai_dense_backward(s, s, k->g, k->right);
    const double *step = k->right + m;
    double angle[3], at[3];
    fai_v3_scale(1 / ARM, step, angle);
    // x' = R (x - mid) + mid + shift
    fai_q_exp(angle, turn->q);
    fai_q_rotate(turn->q, mid, at);
    for (int a = 0; a < 3; a++) turn->p[a] = mid[a] + step[3 + a] - at[a];
    return true;
}

static FaCode refine(FaDrive *d, FaPose *head, FaError *err) {
    FaMarkerTake *t = d->take;
    FaDriveOptions o = {.kind = FA_DRIVE_SBS, .no_residual = true, .trust = d->o.trust, .fps = d->o.fps};
    FaControl *c = NULL;
    FaControlFrame frame;
    FaArena *arena = fai_arena_new(0);
    Joint k = {0};
    FaCode rc = arena ? fai_control_new(d->rig, d->face, d->map, &o, NULL, &c, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_control_frame_new(c, arena, &frame, err);
    if (rc >= 0 && !joint_new(d, c, arena, &k)) rc = FA_FAIL_MEMORY(err);
    for (int f = 0; rc >= 0 && f < TURNS * t->nframe; f++) {
        FaMarkers m = fai_drive_markers_of(d, f / TURNS);
        fa_control_reset(c);
        rc = fai_control_solve(c, &m, t->time[f / TURNS], &frame, err);
        if (rc < 0 || frame.fit.used < ENOUGH) continue;
        fai_control_predict(c, &frame, NULL, k.at);
        for (int i = 0; i < k.n; i++) {
            size_t row = (size_t)fai_control_points(c)[i];
            k.weight[i] = m.ok[row] ? (double)fai_control_belief(c)[i] : 0;
            for (size_t a = 0; a < 3; a++)
                k.x[3 * (size_t)i + a] = m.ok[row] ? (double)m.x[3 * row + a] : k.at[3 * (size_t)i + a];
        }
        FaPose turn;
        if (!joint_step(&k, frame.weights, &turn)) continue;
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
    if (found && found < 3 && world)
        rc = FA_FAIL(err, FA_E_FORMAT, take->path,
                     "use three or more markers, off the jaw, or a take with the head's pose",
                     "%d marker%s of the take %s on the face: too few for the head's pose", found,
                     found == 1 ? "" : "s", found == 1 ? "is" : "are");
    if (!found)
        rc = FA_FAIL(err, FA_E_ARG, take->path, "make the map from this take",
                     "none of the map's markers is in the take");
    const FaPose *bring = &d->map->rig_from_take;
    double size = fai_q_dot(bring->q, bring->q);
    FaPose none = fai_pose_identity();
    if (!(size > 0.5)) bring = &none; // a map that says nothing of it
    if (rc >= 0) copy_samples(d, take, row, world ? NULL : bring);
    fa_free(row);
    *known = false;
    if (rc < 0) return rc;
    if (world) {
        FA_TRY(stabilise(d, head, err));
        FA_TRY(refine(d, head, err));
        *known = true;
        for (int f = 0; f < take->nframe; f++) head[f] = fa_rig_head(d->rig, &head[f]);
    } else if (take->head && !d->o.head_frame) {
        // what brought the take to the rig is of the rig's own frame
        FaPose back = fai_pose_inverse(bring);
        *known = true;
        for (int f = 0; f < take->nframe; f++) {
            FaPose at = fa_rig_pose(d->rig, &take->head[f]);
            at = fai_pose_mul(&at, &back);
            head[f] = fa_rig_head(d->rig, &at);
        }
    }
    return FA_OK;
}
