#include "muscle/seam.h"

#include "math/mat3.h"
#include "math/rbf.h"

#include <math.h>

// mm, on the mean head: middle of the slit, its direction, and half of its width; lids in front of the eye.
static const double MIDDLE[3] = {31.8, 25.5, 72}, ALONG[2] = {0.9971, 0.0767}, WIDE = 16, HIGH = 11, FRONT = 60;
// mm: nearer to the line between the corners than the first, farther out along it than the second: where lids meet
static const double CORNER[2] = {1, 9};
enum { BOTH = 2 };

// 1, -1, BOTH or 0: of which lid a place of the mean head is, mm.
static int side_of(const FaMuscleGround *g, int eye, const double at[3]) {
    double x = eye * at[0] - MIDDLE[0], y = at[1] - MIDDLE[1];
    double s = ALONG[0] * x + ALONG[1] * y, h = ALONG[0] * y - ALONG[1] * x;
    double wider = g->eye[0] > 0 ? g->eye[0] : 1, higher = g->eye[1] > 0 ? g->eye[1] : 1;
    if (fabs(s) > WIDE * wider || fabs(h) > HIGH * higher || at[2] < FRONT) return 0;
    return fabs(h) < CORNER[0] && fabs(s) > CORNER[1] ? BOTH : h > 0 ? 1 : -1;
}

// The slit's axes on the face.
static void find_axes(const FaRbf *warp, int eye, FaSeam *s) {
    double a[3], b[3];
    for (int k = 0; k < 2; k++) {
        double *to = k ? s->up : s->along;
        double d[2] = {k ? -ALONG[1] : ALONG[0], k ? ALONG[0] : ALONG[1]};
        fai_rbf_point(warp, (double[]){eye * (MIDDLE[0] - 8 * d[0]), MIDDLE[1] - 8 * d[1], MIDDLE[2]}, a);
        fai_rbf_point(warp, (double[]){eye * (MIDDLE[0] + 8 * d[0]), MIDDLE[1] + 8 * d[1], MIDDLE[2]}, b);
        fai_v3_sub(b, a, to);
        if (k) fai_v3_mad(to, -fai_v3_dot(to, s->along), s->along, to);
        double size = fai_v3_norm(to);
        for (int i = 0; i < 3; i++) to[i] = size > 0 ? to[i] / size : 0;
    }
}

static FaCode fill(FaSeam *s, const FaFace *face, const signed char *side, FaError *err) {
    int n = 0, m = 0;
    for (int i = 0; i < face->nskin; i++) n += side[i] != 0;
    for (int i = 0; i < 3 * face->ntri; i++) m += side[face->tri[i]] != 0;
    s->arena = fai_arena_new(0);
    if (!s->arena) return FA_FAIL_MEMORY(err);
    s->node = FA_PUSH(s->arena, n + 1, int);
    s->side = FA_PUSH(s->arena, n + 1, signed char);
    s->edge = fai_arena_push(s->arena, (size_t)m + 1, sizeof *s->edge);
    s->edge_side = FA_PUSH(s->arena, m + 1, signed char);
    if (!s->node || !s->side || !s->edge || !s->edge_side) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < face->nskin; i++)
        if (side[i] && side[i] != BOTH) s->node[s->nnode] = i, s->side[s->nnode++] = side[i];
    for (int i = 0; i < 3 * face->ntri; i++) {
        int a = face->tri[i], b = face->tri[i % 3 == 2 ? i - 2 : i + 1];
        int of = side[a] == BOTH ? side[b] : side[a];
        if (!side[a] || !side[b] || of == BOTH || (side[b] != BOTH && side[b] != of)) continue;
        s->edge[s->nedge][0] = a, s->edge[s->nedge][1] = b;
        s->edge_side[s->nedge++] = (signed char)of;
    }
    return FA_OK;
}

FaCode fai_seam_new(const FaMuscleGround *g, const FaFace *face, int eye, FaSeam *s, FaError *err) {
    FaRbf *back = NULL, *warp = NULL;
    *s = (FaSeam){0};
    signed char *side = FA_NEW((size_t)face->nskin + 1, signed char);
    FaCode rc = side ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_rbf_new(g->npair, g->to, g->from, &(FaRbfOptions){.lambda = g->noise}, &back, err);
    if (rc >= 0) rc = fai_rbf_new(g->npair, g->from, g->to, &(FaRbfOptions){.lambda = g->noise}, &warp, err);
    for (int i = 0; i < face->nskin && rc >= 0; i++) {
        double x[3], at[3];
        fai_v3_load(face->x0, i, x);
        fai_rbf_point(back, x, at);
        side[i] = (signed char)side_of(g, eye, at);
    }
    if (rc >= 0) find_axes(warp, eye, s);
    if (rc >= 0) rc = fill(s, face, side, err);
    fai_rbf_free(back);
    fai_rbf_free(warp);
    fa_free(side);
    return rc;
}

void fai_seam_free(FaSeam *s) {
    fai_arena_free(s->arena);
    *s = (FaSeam){0};
}

typedef struct Meeting {
    int edge;
    double share, room; // along the edge; how far the vertex is from it, m
} Meeting;

// The edge of the other lid that a vertex at p meets first.
static Meeting meet(const FaSeam *s, int side, const double p[3], const float *x) {
    Meeting best = {.edge = -1, .room = INFINITY};
    double at = fai_v3_dot(s->along, p), high = fai_v3_dot(s->up, p);
    for (int e = 0; e < s->nedge; e++) {
        double a[3], b[3];
        if (s->edge_side[e] == side) continue;
        fai_v3_load(x, s->edge[e][0], a);
        fai_v3_load(x, s->edge[e][1], b);
        double from = fai_v3_dot(s->along, a), to = fai_v3_dot(s->along, b);
        if (!((from <= at && at < to) || (to <= at && at < from))) continue;
        double share = (at - from) / (to - from);
        double room = side * (high - (1 - share) * fai_v3_dot(s->up, a) - share * fai_v3_dot(s->up, b));
        if (room < best.room) best = (Meeting){e, share, room};
    }
    return best;
}

int fai_seam_rows(const FaSeam *s, const float *x0, const float *x, double reach, int most, FaRow *row) {
    int n = 0;
    for (int i = 0; i < s->nnode && n < most; i++) {
        double p[3];
        fai_v3_load(x, s->node[i], p);
        Meeting m = meet(s, s->side[i], p, x);
        if (m.edge < 0 || m.room > reach) continue;
        FaRow *to = &row[n++];
        *to = (FaRow){.node = {s->node[i], s->edge[m.edge][0], s->edge[m.edge][1], -1},
                      .weight = {1, (float)(m.share - 1), (float)-m.share},
                      .kind = FA_ROW_PUSH};
        for (int k = 0; k < 3; k++) {
            double offset = 0;
            for (int j = 0; j < 3; j++)
                offset += (double)to->weight[j] * (double)x0[3 * (size_t)to->node[j] + (size_t)k];
            to->offset[k] = (float)offset, to->normal[k] = (float)(s->side[i] * s->up[k]);
        }
    }
    return n;
}
