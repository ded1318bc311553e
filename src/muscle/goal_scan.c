// A scan of another topology as a goal (paper 002, section 5, leaves the correspondence to others).
//
//     scan ──rigid──▶ on the face ──shapes──▶ the rig's pose nearest to it ──bend──▶ where each vertex is on it
//
// Rigid: closest points from what moves least. Shapes: weights in 0..1 by closest points along the scan's normals; they
// say which skin is which, what closest points alone cannot where cheeks slide or lips part. Bend: a smooth field,
//     (s L + C) d = C (q - x),     L: cotangent Laplacian, C: 1 where a vertex found its place q,   s falling.
// A place is the closest point that faces the same way, within reach, and of the same side: what is nearer to the lower
// lip as it is posed is no place for the upper one, and so with lids.
#include "base/task.h"
#include "math/chol.h"
#include "math/mat3.h"
#include "math/nnls.h"
#include "math/procrustes.h"
#include "mesh/laplacian.h"
#include "mesh/mesh.h"
#include "muscle/direct.h"
#include "rig/transfer_register.h"

#include <math.h>
#include <string.h>

static const double SHAPES_MOST = 3.5e-3; // m rms: farther than this in its own shapes it is not this face
static const double WITHOUT_MOST = 0.35;  // of the face
static const double SCALE[2] = {0.87, 1.15};
static const double EXTENT[2] = {0.3, 3.3};
static const double LIES = 0.35, CLOSE = 4e-3; // share of the face, m rms: then the scan stands where it should
static const double STILL = 3e-3;              // m: what shapes move farther counts less for the alignment
static const double PRIOR = 3e-4;              // m per unit of a shape's weight
static const double ALONG = 0.05;              // of distances along the surface in the fit of shapes; across it: 1
static const double SMOOTH[] = {100, 30, 10, 3, 1, 0.5, 0.3, 0.3};
enum { RIGID = 40, SIZE = 60, SHAPES = 14, SHAPES_LIMIT = 400 };

typedef struct Scan {
    const FaMuscleDirector *d;
    const FaRig *rig;
    FaMesh mesh;     // the scan; x is our own
    FaMesh face;     // what is seen of the rig, as a mesh of its own; x: where it is now
    FaClosest *tree; // of the scan
    bool *border;    // vertices on the scan's open edges                      (of the scan)
    FaPose pose;     // scan from rig, while the scan stands where it was
    int n, nshape;
    float *rest, *normal;    // of the face                                    (n x 3)
    double *still;           // 0..1: how much a vertex counts for the alignment (n)
    signed char *side;       // 1, -1: upper and lower lip; 2, -2: lids; 0      (n)
    unsigned char *ok;       // found its place                                (n)
    double *from, *to;       // where it is, and its place, in the scan's frame  (n x 3)
    double *across;          // the scan's normal there                         (n x 3)
    float reach;             // m
    float *delta;            // of the shapes, at weight 1                      (nshape x n x 3)
    int *shape;              // in the rig                                     (nshape)
    double *weight;          //                                                (nshape)
    double *g, *f, *lo, *hi; // (nshape x nshape; nshape)
    FaNnls *nnls;
} Scan;

// --- what is known of face and scan -------------------------------------------------------------------------------

static FaCode check_scan(const FaRig *rig, const FaMesh *scan, FaError *err) {
    for (int i = 0; i < 3 * scan->nvert; i++)
        if (!isfinite(scan->x[i]))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("vertex %d", i / 3), "mend the file, or export it again",
                           "the scan has a position that is no number");
    if (scan->ntri < 200)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the surface of a face, as triangles or polygons",
                       "a scan of %d triangles says nothing of a face", scan->ntri);
    const double ratio = fai_mesh_extent(scan) / fai_mesh_extent(&rig->mesh);
    if (!(ratio > EXTENT[0] && ratio < EXTENT[1]))
        return FA_FAIL(err, FA_E_ARG, NULL, "say its unit (--to-unit mm), or scale it",
                       "the scan is about %.*f times as large as the face: it is in another unit", ratio < 1 ? 4 : 0,
                       ratio);
    return FA_OK;
}

static FaCode allocate(Scan *s, const FaMesh *scan, FaArena *arena, FaError *err) {
    const size_t n = (size_t)s->n + 1, k = (size_t)s->rig->nshape + 1;
    double **array[] = {&s->still, &s->from, &s->to, &s->across, &s->weight, &s->g, &s->f, &s->lo, &s->hi};
    const size_t size[] = {n, 3 * n, 3 * n, 3 * n, k, k * k, k, k, k};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(arena, size[i], double))) return FA_FAIL_MEMORY(err);
    s->mesh = *scan;
    s->mesh.x = FA_PUSH(arena, 3 * (size_t)scan->nvert + 1, float);
    s->face = (FaMesh){.nvert = s->n, .x = FA_PUSH(arena, 3 * n, float)};
    s->face.tri = FA_PUSH(arena, 3 * (size_t)s->rig->mesh.ntri + 1, int);
    s->rest = FA_PUSH(arena, 3 * n, float), s->normal = FA_PUSH(arena, 3 * n, float);
    s->side = FA_PUSH(arena, n, signed char), s->ok = FA_PUSH(arena, n, unsigned char);
    s->delta = FA_PUSH(arena, 3 * n * k, float), s->shape = FA_PUSH(arena, k, int);
    if (!s->mesh.x || !s->face.x || !s->face.tri || !s->rest || !s->normal || !s->side || !s->ok || !s->delta ||
        !s->shape)
        return FA_FAIL_MEMORY(err);
    memcpy(s->mesh.x, scan->x, 3 * (size_t)scan->nvert * sizeof *scan->x);
    return fai_nnls_new(FA_MAX(s->rig->nshape, 1), &s->nnls, err);
}

// What is seen as a mesh: place of each vertex of the rig in it, -1: none (nvert).
static void cut_face(Scan *s, int *place) {
    const FaMesh *mesh = &s->rig->mesh;
    for (int v = 0; v < mesh->nvert; v++) place[v] = -1;
    for (int i = 0; i < s->n; i++) {
        place[s->d->seen[i]] = i;
        memcpy(s->rest + 3 * (size_t)i, mesh->x + 3 * (size_t)s->d->seen[i], 3 * sizeof *s->rest);
    }
    memcpy(s->face.x, s->rest, 3 * (size_t)s->n * sizeof *s->rest);
    for (int t = 0; t < mesh->ntri; t++) {
        int c[3];
        for (int k = 0; k < 3; k++) c[k] = place[fai_weld(mesh, mesh->tri[3 * (size_t)t + (size_t)k])];
        if (c[0] < 0 || c[1] < 0 || c[2] < 0) continue;
        memcpy(s->face.tri + 3 * (size_t)s->face.ntri++, c, sizeof c);
    }
}

static void take_shapes(Scan *s, const int *place) {
    const FaRig *rig = s->rig;
    for (int i = 0; i < rig->nshape && s->nshape < SHAPES_LIMIT; i++) {
        float *to = s->delta + 3 * (size_t)s->n * (size_t)s->nshape;
        double most = 0;
        memset(to, 0, 3 * (size_t)s->n * sizeof *to);
        for (int e = rig->shape[i].first; e < rig->shape[i].first + rig->shape[i].count; e++) {
            const int at = place[rig->row[e]];
            double d[3];
            if (at < 0) continue;
            fai_v3_load(rig->delta, e, d);
            memcpy(to + 3 * (size_t)at, rig->delta + 3 * (size_t)e, 3 * sizeof *to);
            most = fmax(most, fai_v3_norm(d));
            s->still[at] = fmax(s->still[at], fai_v3_norm(d));
        }
        if (most > 1e-3) s->shape[s->nshape++] = i;
    }
    for (int i = 0; i < s->n; i++) s->still[i] = 1 / (1 + s->still[i] * s->still[i] / (STILL * STILL));
}

// Which lip, which lid: an upper lid goes down as it blinks.
static FaCode find_sides(Scan *s, FaError *err) {
    const FaFace *f = s->d->model->face;
    const size_t n = (size_t)s->rig->mesh.nvert;
    float *upper = FA_NEW(n, float), *lower = FA_NEW(n, float), *lids = FA_NEW(n, float), *blink = FA_NEW(3 * n, float);
    FaCode rc = upper && lower && lids && blink ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fa_face_region(f, FA_REGION_LIP_UPPER, upper);
        fa_face_region(f, FA_REGION_LIP_LOWER, lower);
        fa_face_region(f, FA_REGION_EYELIDS, lids);
        fai_arkit_motion(s->rig, "eyeBlinkLeft", blink);
        fai_arkit_motion_add(s->rig, "eyeBlinkRight", 1, blink);
    }
    for (int i = 0; rc >= 0 && i < s->n; i++) {
        const int v = s->d->seen[i];
        double d[3], own[3];
        fai_v3_load(blink, v, d);
        fai_m3_mulv(s->rig->axes, d, own);
        if (upper[v] > 0.3f || lower[v] > 0.3f) s->side[i] = upper[v] > lower[v] ? 1 : -1;
        if (lids[v] > 0.5f) s->side[i] = own[1] < -1e-3 ? 2 : -2;
    }
    fa_free(upper), fa_free(lower), fa_free(lids), fa_free(blink);
    return rc;
}

// Where the scan ends.
static FaCode find_border(Scan *s, FaArena *arena, FaError *err) {
    FaTopology t;
    if (!(s->border = FA_PUSH(arena, s->mesh.nvert + 1, bool))) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_topology_build(&s->mesh, &t, err));
    for (int e = 0; e < t.nedge; e++)
        if (t.edge_tris[e] == 1) s->border[t.edge[e][0]] = s->border[t.edge[e][1]] = true;
    fai_topology_free(&t);
    return FA_OK;
}

// --- places on the scan -------------------------------------------------------------------------------------------

static double distance2(const float *a, const float *b) {
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
    return sum;
}

// Is a point of the rig's frame nearer to the other lip, or lid, as it is now?
static bool other_side(const Scan *s, int i, const float at[3]) {
    double own = INFINITY, other = INFINITY;
    for (int j = 0; j < s->n; j++) {
        if (s->side[j] == s->side[i]) own = fmin(own, distance2(at, s->face.x + 3 * (size_t)j));
        if (s->side[j] == -s->side[i]) other = fmin(other, distance2(at, s->face.x + 3 * (size_t)j));
    }
    return other < own;
}

// What lies beyond the scan finds its edge: that is no counterpart.
static bool on_border(const Scan *s, const FaHit *hit) {
    bool edge = false;
    for (int k = 0; k < 3; k++) {
        const int v = fai_weld(&s->mesh, s->mesh.tri[3 * (size_t)hit->tri + (size_t)k]);
        if (hit->bary[k] < 1e-4f)
            edge = true;
        else if (!s->border[v])
            return false;
    }
    return edge;
}

static void find_one(Scan *s, int i, const FaPose *back) {
    double p[3], n[3];
    float at[3], way[3];
    fai_v3_load(s->face.x, i, p);
    fai_v3_load(s->normal, i, n);
    fai_pose_apply(&s->pose, p, p);
    fai_q_rotate(s->pose.q, n, n);
    for (int k = 0; k < 3; k++) at[k] = (float)p[k], way[k] = (float)n[k], s->from[3 * (size_t)i + (size_t)k] = p[k];
    const FaHit hit = fai_facing(s->tree, &s->mesh, s->mesh.x, at, way, s->reach);
    s->ok[i] = hit.tri >= 0 && !on_border(s, &hit);
    if (!s->ok[i]) return;
    double *to = s->to + 3 * (size_t)i, *across = s->across + 3 * (size_t)i;
    for (int k = 0; k < 3; k++) to[k] = (double)hit.point[k];
    fai_v3_tri_cross(s->mesh.x, s->mesh.tri + 3 * (size_t)hit.tri, across);
    if (!fai_v3_normalize(across)) fai_v3_set(across, n[0], n[1], n[2]);
    fai_pose_apply(back, to, p);
    for (int k = 0; k < 3; k++) at[k] = (float)p[k];
    if (s->side[i] && other_side(s, i, at)) s->ok[i] = 0;
}

static void find_some(void *ctx, int begin, int end, int chunk) {
    Scan *s = ctx;
    const FaPose back = fai_pose_inverse(&s->pose);
    (void)chunk;
    for (int i = begin; i < end; i++) find_one(s, i, &back);
}

// Places within reach of all vertices as they are; the share that has one, and the rms of the distances.
static double find_places(Scan *s, double reach, double *rms) {
    double sum = 0;
    int n = 0;
    s->reach = (float)reach;
    fai_mesh_normals(&s->face, s->face.x, s->normal);
    fai_parallel(s->n, 64, find_some, s);
    for (int i = 0; i < s->n; i++) {
        double d[3];
        if (!s->ok[i]) continue;
        fai_v3_sub(s->from + 3 * (size_t)i, s->to + 3 * (size_t)i, d);
        sum += fai_v3_dot(d, d), n++;
    }
    *rms = n ? sqrt(sum / n) : INFINITY;
    return (double)n / s->n;
}

// --- rigid --------------------------------------------------------------------------------------------------------

// The motion that takes the face as it is to its places; false: they do not tell. scale (nullable): the size that would
// fit best.
static bool align(Scan *s, double *weight, bool robust, double *scale) {
    for (int i = 0; i < s->n; i++) {
        weight[i] = s->ok[i] ? s->still[i] : 0;
        fai_v3_load(s->face.x, i, s->from + 3 * (size_t)i);
    }
    FaAlign a = robust ? fai_align_robust(s->n, s->from, s->to, weight, false, 3e-3, weight + s->n)
                       : fai_align(s->n, s->from, s->to, weight, false);
    if (a.kind != FA_ALIGN_FULL) return false;
    s->pose = fai_align_pose(&a);
    if (!scale) return true;
    a = fai_align(s->n, s->from, s->to, weight, true);
    *scale = a.scale;
    s->pose = fai_align_pose(&a);
    return true;
}

// From this start on; how well it ends: the share that found a place, less what they are off. near: it lies there
// already, and what is far is something else.
static double settle(Scan *s, FaPose start, bool near, double *weight, double *share, double *rms) {
    s->pose = start;
    for (int i = 0; i < RIGID; i++) {
        *share = find_places(s, near ? 0.015 : i < RIGID / 2 ? 0.05 : 0.02, rms);
        if (!align(s, weight, near || i > RIGID / 2, NULL)) return -INFINITY;
    }
    *share = find_places(s, near ? 0.015 : 0.02, rms);
    return *share - *rms / 0.02;
}

static FaPose centred(const Scan *s) {
    double c[2][3] = {{0}};
    FaPose pose = fai_pose_identity();
    for (int side = 0; side < 2; side++) {
        const FaMesh *m = side ? &s->mesh : &s->rig->mesh;
        for (size_t k = 0; k < 3 * (size_t)m->ntri; k++) {
            double p[3];
            fai_v3_load(m->x, m->tri[k], p);
            fai_v3_mad(c[side], 1.0 / (3.0 * m->ntri), p, c[side]);
        }
    }
    fai_v3_sub(c[1], c[0], pose.p);
    return pose;
}

static FaCode check_share(double without, FaError *err) {
    if (without <= WITHOUT_MOST) return FA_OK;
    return FA_FAIL(err, FA_E_ARG, NULL,
                   "give all of the face, front and outside, standing as the rig stands, and in the same unit",
                   "%.0f %% of the face has no counterpart on the scan", 100 * without);
}

// How much larger the scan is: closest points with the size let go, by small steps, since each finds but a part of it.
static FaCode find_size(Scan *s, double *weight, FaMuscleScan *r, FaError *err) {
    const FaPose kept = s->pose;
    double rms;
    for (int i = 0; i < SIZE; i++) {
        double more = 1;
        find_places(s, 0.03, &rms);
        if (!align(s, weight, false, &more)) break;
        r->scale *= more;
        for (size_t k = 0; k < 3 * (size_t)s->n; k++) s->face.x[k] = (float)r->scale * s->rest[k];
    }
    memcpy(s->face.x, s->rest, 3 * (size_t)s->n * sizeof *s->rest);
    s->pose = kept;
    if (r->scale > SCALE[0] && r->scale < SCALE[1]) return FA_OK;
    return FA_FAIL(err, FA_E_ARG, NULL, "scale it to the face, or say its unit: --to-unit",
                   "the scan is %.2f times as large as the face", r->scale);
}

// Where it stands, as it is or from farther off, or brought to the rig's middle: whichever ends better.
static FaCode find_rigid(Scan *s, double *weight, FaMuscleScan *r, FaError *err) {
    double share, rms, best = settle(s, fai_pose_identity(), true, weight, &share, &rms);
    const bool there = isfinite(best) && share > LIES && rms < CLOSE;
    for (int start = 0; start < 2 && !there; start++) {
        const FaPose kept = s->pose;
        const double before = share,
                     now = settle(s, start ? centred(s) : fai_pose_identity(), false, weight, &share, &rms);
        if (now > best)
            best = now;
        else
            s->pose = kept, share = before;
    }
    if (!isfinite(best))
        return FA_FAIL(err, FA_E_ARG, NULL, "turn it to face as the rig does, and bring it there",
                       "nothing of the scan lies where the face is");
    FA_TRY(check_share(1 - share, err));
    return find_size(s, weight, r, err);
}

// --- shapes -------------------------------------------------------------------------------------------------------

static void blend(Scan *s) {
    memcpy(s->face.x, s->rest, 3 * (size_t)s->n * sizeof *s->rest);
    for (int a = 0; a < s->nshape; a++)
        for (size_t i = 0; i < 3 * (size_t)s->n && s->weight[a] > 0; i++)
            s->face.x[i] += (float)s->weight[a] * s->delta[3 * (size_t)s->n * (size_t)a + i];
}

// Weights by which the face comes nearest to its places.
static void fit_shapes(Scan *s) {
    const FaPose back = fai_pose_inverse(&s->pose);
    const size_t k = (size_t)s->nshape;
    memset(s->g, 0, k * k * sizeof *s->g);
    memset(s->f, 0, k * sizeof *s->f);
    for (int i = 0; i < s->n; i++) {
        double to[3], n[3], off[3], own[SHAPES_LIMIT][3];
        if (!s->ok[i]) continue;
        fai_pose_apply(&back, s->to + 3 * (size_t)i, to);
        fai_q_rotate(back.q, s->across + 3 * (size_t)i, n);
        fai_v3_load(s->rest, i, off);
        fai_v3_sub(to, off, off);
        for (size_t a = 0; a < k; a++) fai_v3_load(s->delta + 3 * (size_t)s->n * a, i, own[a]);
        for (size_t a = 0; a < k; a++) {
            const double across = fai_v3_dot(n, own[a]);
            if (own[a][0] == 0 && own[a][1] == 0 && own[a][2] == 0) continue;
            s->f[a] += across * fai_v3_dot(n, off) + ALONG * fai_v3_dot(own[a], off);
            for (size_t b = 0; b <= a; b++)
                s->g[a * k + b] += across * fai_v3_dot(n, own[b]) + ALONG * fai_v3_dot(own[a], own[b]);
        }
    }
    for (size_t a = 0; a < k; a++) {
        s->g[a * k + a] += PRIOR * PRIOR * s->n, s->lo[a] = 0, s->hi[a] = 1;
        for (size_t b = 0; b < a; b++) s->g[b * k + a] = s->g[a * k + b];
    }
    fai_nnls_solve(s->nnls, &(FaNnlsProblem){.n = s->nshape, .g = s->g, .f = s->f, .lo = s->lo, .hi = s->hi},
                   s->weight);
}

static FaCode find_shapes(Scan *s, double *weight, FaMuscleScan *r, FaError *err) {
    double share = 0;
    for (int i = 0; i < SHAPES; i++) {
        find_places(s, i < SHAPES / 2 ? 0.03 : 0.012, &r->shapes);
        align(s, weight, true, NULL);
        fit_shapes(s);
        blend(s);
    }
    share = find_places(s, 0.012, &r->shapes);
    r->without = 1 - share;
    FA_TRY(check_share(r->without, err));
    if (r->shapes > SHAPES_MOST)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a scan of this very face; for another one: fascia drive --from",
                       "in its own shapes the face stays %.1f mm from the scan: it is not this face", 1e3 * r->shapes);
    return FA_OK;
}

// --- bend ---------------------------------------------------------------------------------------------------------

// (smooth L + C) d = C (q - x); base: where the bend begins (n x 3).
static FaCode bend_once(Scan *s, const FaCsr *l, const float *base, double smooth, FaChol *chol, FaCsr *a,
                        double *right, FaError *err) {
    for (int i = 0; i < s->n; i++) {
        for (int k = l->start[i]; k < l->start[i + 1]; k++)
            a->val[k] = smooth * l->val[k] + (l->col[k] == i ? (s->ok[i] ? 1 : 1e-4) : 0);
        for (size_t k = 0; k < 3; k++)
            right[4 * (size_t)i + k] = s->ok[i] ? s->to[3 * (size_t)i + k] - (double)base[3 * (size_t)i + k] : 0;
    }
    FA_TRY(fai_chol_factor(chol, a, err));
    fai_chol_solve_d(chol, right, right);
    for (size_t i = 0; i < 3 * (size_t)s->n; i++) s->face.x[i] = base[i] + (float)right[4 * (i / 3) + i % 3];
    return FA_OK;
}

// A matrix with a diagonal in every row, also where a vertex is in no triangle.
static FaCode whole(const FaCsr *l, FaCsr *a, FaError *err) {
    const int n = l->nrow;
    FaTriplet *entry = FA_NEW((size_t)l->start[n] + (size_t)n + 1, FaTriplet);
    int count = 0;
    if (!entry) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < n; i++) {
        entry[count++] = (FaTriplet){i, i, 0};
        for (int k = l->start[i]; k < l->start[i + 1]; k++) entry[count++] = (FaTriplet){i, l->col[k], l->val[k]};
    }
    FaCode rc = fai_csr_from_triplets(n, n, count, entry, a, err);
    fa_free(entry);
    return rc;
}

static FaCode bend(Scan *s, FaArena *arena, FaMuscleScan *r, FaError *err) {
    FaCsr cotan = {0}, l = {0}, a = {0};
    FaChol *chol = NULL;
    float *base = FA_PUSH(arena, 3 * (size_t)s->n + 1, float);
    double *right = FA_PUSH(arena, 4 * (size_t)s->n + 4, double);
    FaCode rc = base && right ? fai_laplacian_build(&s->face, s->face.x, &cotan, NULL, NULL, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = whole(&cotan, &l, err);
    if (rc >= 0) rc = whole(&cotan, &a, err);
    if (rc >= 0) rc = fai_chol_analyze(&a, NULL, &chol, err);
    if (rc >= 0) memcpy(base, s->face.x, 3 * (size_t)s->n * sizeof *base);
    for (int i = 0; rc >= 0 && i < FA_COUNT(SMOOTH); i++) {
        find_places(s, 0.012, &r->residual);
        rc = bend_once(s, &l, base, SMOOTH[i], chol, &a, right, err);
    }
    if (rc >= 0) r->without = 1 - find_places(s, 0.006, &r->residual);
    fai_chol_free(chol);
    fai_csr_free(&cotan), fai_csr_free(&l), fai_csr_free(&a);
    return rc;
}

// The scan where the face is: nothing is turned from here on.
static FaCode bring_scan(Scan *s, FaMuscleScan *r, FaError *err) {
    const FaPose back = fai_pose_inverse(&s->pose);
    double turn[3];
    fai_q_log(back.q, turn);
    r->turn = fai_v3_norm(turn) * 57.29577951308232, r->move = fai_v3_norm(back.p);
    for (int v = 0; v < s->mesh.nvert; v++) {
        double p[3];
        fai_v3_load(s->mesh.x, v, p);
        fai_pose_apply(&back, p, p);
        for (int k = 0; k < 3; k++) s->mesh.x[3 * (size_t)v + (size_t)k] = (float)p[k];
    }
    s->pose = fai_pose_identity();
    fai_closest_free(s->tree);
    return fai_closest_new(&s->mesh, s->mesh.x, &s->tree, err);
}

static FaCode lay(Scan *s, const FaMesh *scan, FaArena *arena, FaMuscleScan *r, FaError *err) {
    FA_TRY(allocate(s, scan, arena, err));
    int *place = FA_PUSH(arena, s->rig->mesh.nvert + 1, int);
    double *weight = FA_PUSH(arena, 2 * (size_t)s->n + 2, double);
    if (!place || !weight) return FA_FAIL_MEMORY(err);
    cut_face(s, place);
    take_shapes(s, place);
    FA_TRY(find_sides(s, err));
    FA_TRY(find_border(s, arena, err));
    FA_TRY(fai_closest_new(&s->mesh, s->mesh.x, &s->tree, err));
    FA_TRY(find_rigid(s, weight, r, err));
    FA_TRY(find_shapes(s, weight, r, err));
    FA_TRY(bring_scan(s, r, err));
    return bend(s, arena, r, err);
}

static void give(const Scan *s, float *goal, unsigned char *known, float *weights, FaMuscleScan *r) {
    memcpy(goal, s->rig->mesh.x, 3 * (size_t)s->rig->mesh.nvert * sizeof *goal);
    memset(known, 0, (size_t)s->rig->mesh.nvert);
    memset(weights, 0, (size_t)s->rig->nshape * sizeof *weights);
    for (int a = 0; a < s->nshape; a++) weights[s->shape[a]] = (float)s->weight[a];
    for (int i = 0; i < s->n; i++) {
        memcpy(goal + 3 * (size_t)s->d->seen[i], s->face.x + 3 * (size_t)i, 3 * sizeof *goal);
        known[s->d->seen[i]] = s->ok[i];
        r->matched += s->ok[i];
    }
    r->vertices = s->n;
}

FaCode fa_muscle_goal_scan(FaMuscleModel *m, const FaMesh *scan, float *goal, unsigned char *known, float *weights,
                           FaMuscleScan *report, FaError *err) {
    FaMuscleScan r = {.scale = 1};
    FaMuscleDirector *d;
    FA_TRY(check_scan(m->rig, scan, err));
    FA_TRY(fai_muscle_director(m, &d, err));
    Scan s = {.d = d, .rig = m->rig, .n = d->nseen};
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? lay(&s, scan, arena, &r, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) give(&s, goal, known, weights, &r);
    if (report) *report = r;
    fai_closest_free(s.tree);
    fai_nnls_free(s.nnls);
    fai_arena_free(arena);
    return rc;
}
