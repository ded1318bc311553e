#include "blendforces/head_refine.h"

#include "blendforces/control_fit.h"
#include "math/dense.h"
#include "math/mat3.h"
#include "track/head_stabiliser.h"

#include <math.h>

enum { ENOUGH = 12 };              // markers that tell expression from head motion
static const double WIDTH = 1e-3;  // m: what is missed by more has little say
static const double ARM = 0.05;    // m
static const double MISS = 2.0e-4; // m: median from which on shapes are not trusted with the pose
static const double RIDGE = 1e-3;
static const double MOST = 0.005; // m: the largest step
static const double WORSE = 1.02; // a step that makes the markers be missed by this much more is taken back

typedef struct Joint {
    int n, nshape;         // markers that are mapped, shapes
    double *b;             // shapes at the markers, m                          (nshape x 3n)
    double *at, *x;        // the control's answer, the markers, m              (3n each)
    double *weight, *dist; //                                                (n each)
    double *j;             // rigid motions                                     (6 x 3n)
    double *g, *right;     // normal equations            ((nshape + 6)^2, nshape + 6)
    int *on;               // shapes that are                                   (nshape)
} Joint;

static bool joint_new(const FaRig *rig, const FaMarkerMap *map, const FaControl *c, FaArena *arena, Joint *k) {
    size_t n = (size_t)fai_control_npoint(c), m = (size_t)rig->nshape, s = m + 6;
    *k = (Joint){.n = (int)n, .nshape = rig->nshape};
    k->b = FA_PUSH(arena, m * 3 * n, double);
    k->at = FA_PUSH(arena, 3 * n, double);
    k->x = FA_PUSH(arena, 3 * n, double);
    k->weight = FA_PUSH(arena, n, double);
    k->dist = FA_PUSH(arena, n, double);
    k->j = FA_PUSH(arena, 18 * n, double);
    k->g = FA_PUSH(arena, s * s, double);
    k->right = FA_PUSH(arena, s, double);
    k->on = FA_PUSH(arena, m, int);
    float *dense = FA_PUSH(arena, 3 * (size_t)rig->mesh.nvert, float);
    if (!k->b || !k->at || !k->x || !k->weight || !k->dist || !k->j || !k->g || !k->right || !k->on || !dense)
        return false;
    for (size_t q = 0; q < m; q++) {
        const FaShape *shape = &rig->shape[q];
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memcpy(dense + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 3 * sizeof *dense);
        for (size_t i = 0; i < n; i++) {
            FaMarkerPoint p = map->point[fai_control_points(c)[i]];
            fa_marker_point_at(&p, dense, false, k->b + 3 * (q * n + i));
        }
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memset(dense + 3 * (size_t)rig->row[e], 0, 3 * sizeof *dense);
    }
    return true;
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
    return seen ? fai_median(k->dist, seen) : 0;
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
    double *step = k->right + m, angle[3], at[3];
    // where the shapes can move the whole face, the pose is hardly told: no step is larger than what they were sampled
    // at
    double far = fmax(fai_v3_norm(step), fai_v3_norm(step + 3));
    for (int a = 0; far > MOST && a < 6; a++) step[a] *= MOST / far;
    fai_v3_scale(1 / ARM, step, angle);
    // x' = R (x - mid) + mid + shift
    fai_q_exp(angle, turn->q);
    fai_q_rotate(turn->q, mid, at);
    for (int a = 0; a < 3; a++) turn->p[a] = mid[a] + step[3 + a] - at[a];
    return true;
}

// --- a frame ------------------------------------------------------------------------------------------------------

struct FaHeadRefine {
    const FaMarkerMap *map;
    FaControl *control; // shapes alone
    FaControlFrame frame;
    Joint joint;
    FaArena *arena;
};

FaCode fai_head_refine_new(const FaRig *rig, const FaFace *face, const FaMarkerMap *map, const float *trust,
                           FaHeadRefine **refine, FaError *err) {
    *refine = NULL;
    FaDriveOptions o = {.kind = FA_DRIVE_SBS, .no_residual = true, .trust = trust};
    FaHeadRefine *r = FA_NEW(1, FaHeadRefine);
    if (!r) return FA_FAIL_MEMORY(err);
    r->map = map;
    r->arena = fai_arena_new(0);
    FaCode rc = r->arena ? fai_control_open(rig, face, map, &o, NULL, &r->control, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_control_frame_new(r->control, r->arena, &r->frame, err);
    if (rc >= 0 && !joint_new(rig, map, r->control, r->arena, &r->joint)) rc = FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_head_refine_free(r);
    else
        *refine = r;
    return rc;
}

void fai_head_refine_free(FaHeadRefine *r) {
    if (!r) return;
    fai_control_free(r->control);
    fai_arena_free(r->arena);
    fa_free(r);
}

FaCode fai_head_refine(FaHeadRefine *r, int turns, float *x, const unsigned char *ok, FaPose *head, FaError *err) {
    Joint *k = &r->joint;
    const int *place = fai_control_points(r->control);
    const float *belief = fai_control_belief(r->control);
    FaMarkers m = {.count = r->map->count, .name = r->map->name, .x = x, .ok = ok};
    double before = INFINITY;
    FaPose move = fai_pose_identity();
    for (int turn = 0; turn <= turns; turn++) {
        fai_control_reset(r->control);
        FaCode rc = fai_control_solve(r->control, &m, 0, &r->frame, err);
        if (rc < 0) return rc;
        if (r->frame.fit.before > WORSE * before + 1e-6) {
            move = fai_pose_inverse(&move);
            *head = fai_pose_mul(head, &move);
            fai_bring_to_head(&move, r->map->count, ok, x);
            break;
        }
        before = r->frame.fit.before;
        if (turn == turns || r->frame.fit.used < ENOUGH) break;
        fai_control_predict(r->control, &r->frame, NULL, k->at);
        for (int i = 0; i < k->n; i++) {
            size_t row = (size_t)place[i];
            k->weight[i] = ok[row] ? (double)belief[i] : 0;
            for (size_t a = 0; a < 3; a++)
                k->x[3 * (size_t)i + a] = ok[row] ? (double)x[3 * row + a] : k->at[3 * (size_t)i + a];
        }
        if (!joint_step(k, r->frame.weights, &move)) break;
        *head = fai_pose_mul(head, &move);
        fai_bring_to_head(&move, r->map->count, ok, x);
    }
    return FA_OK;
}
