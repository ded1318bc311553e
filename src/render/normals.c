// Smooth normals, shared across seams but not across creases. Which corners share a normal is decided once, at rest, so
// that nothing pops while the face moves.
#include "render/scene.h"

#include <math.h>
#include <stdlib.h>

static const float crease = 0.17f; // cosine of the angle from which an edge is sharp: 80 degrees

typedef struct Side { // one side of an edge between welded vertices a < b
    int a, b;
    int corner_a, corner_b; // the triangle's corners there: 3 t + k
} Side;

static int by_edge(const void *p, const void *q) {
    const Side *s = p, *t = q;
    if (s->a != t->a) return s->a < t->a ? -1 : 1;
    if (s->b != t->b) return s->b < t->b ? -1 : 1;
    return s->corner_a < t->corner_a ? -1 : s->corner_a > t->corner_a;
}

static FaVec facet(const FaScene *s, const float *x, int t) {
    const int *v = s->tri + 3 * t;
    FaVec a = fai_vec_of(x + 3 * v[0]);
    return fai_cross(fai_sub(fai_vec_of(x + 3 * v[1]), a), fai_sub(fai_vec_of(x + 3 * v[2]), a));
}

static int find_root(int *parent, int c) {
    while (parent[c] != c) c = parent[c] = parent[parent[c]];
    return c;
}

static void join(int *parent, int c, int d) {
    c = find_root(parent, c), d = find_root(parent, d);
    parent[FA_MAX(c, d)] = FA_MIN(c, d);
}

static bool is_smooth(FaVec m, FaVec n) {
    float mm = fai_dot(m, m), nn = fai_dot(n, n);
    return mm == 0 || nn == 0 || fai_dot(m, n) > crease * sqrtf(mm) * sqrtf(nn);
}

FaCode fai_scene_find_creases(FaScene *s, FaError *err) {
    FaCode rc = FA_OK;
    int ncorner = 3 * s->ntri, nside = 0;
    Side *side = FA_NEW(ncorner, Side);
    int *parent = FA_NEW(ncorner, int);
    if (!side || !parent) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    for (int c = 0; c < ncorner; c++) {
        parent[c] = c;
        int d = c % 3 == 2 ? c - 2 : c + 1, a = s->welded[c], b = s->welded[d];
        if (a == b) continue;
        side[nside++] = a < b ? (Side){a, b, c, d} : (Side){b, a, d, c};
    }
    qsort(side, (size_t)nside, sizeof *side, by_edge);
    for (int i = 0; i + 1 < nside; i++) {
        const Side *p = &side[i], *q = &side[i + 1];
        if (p->a != q->a || p->b != q->b) continue;
        if (!is_smooth(facet(s, s->rest, p->corner_a / 3), facet(s, s->rest, q->corner_a / 3))) continue;
        join(parent, p->corner_a, q->corner_a);
        join(parent, p->corner_b, q->corner_b);
    }
    for (int c = 0; c < ncorner; c++)
        s->corner_normal[c] = parent[c] == c ? s->nnormal++ : s->corner_normal[find_root(parent, c)];
    s->normal = FA_PUSH(s->arena, 3 * (size_t)s->nnormal, float);
    if (!s->normal) rc = FA_FAIL_MEMORY(err);
done:
    fa_free(side);
    fa_free(parent);
    return rc;
}

void fai_scene_normals(FaScene *s) {
    memset(s->normal, 0, 3 * (size_t)s->nnormal * sizeof(float));
    for (int t = 0; t < s->ntri; t++) {
        FaVec n = facet(s, s->x, t);
        float len = fai_len(n);
        if (!(len > 0)) continue;
        // each corner counts by its angle: how a polygon was cut into triangles does not show
        const int *v = s->tri + 3 * t;
        for (int k = 0; k < 3; k++) {
            FaVec p = fai_vec_of(s->x + 3 * v[k]);
            FaVec e = fai_sub(fai_vec_of(s->x + 3 * v[(k + 1) % 3]), p),
                  f = fai_sub(fai_vec_of(s->x + 3 * v[(k + 2) % 3]), p);
            float w = atan2f(len, fai_dot(e, f)) / len;
            float *sum = s->normal + 3 * s->corner_normal[3 * t + k];
            sum[0] += n.x * w, sum[1] += n.y * w, sum[2] += n.z * w;
        }
    }
    for (int i = 0; i < s->nnormal; i++) {
        FaVec n = fai_unit(fai_vec_of(s->normal + 3 * i));
        s->normal[3 * i] = n.x, s->normal[3 * i + 1] = n.y, s->normal[3 * i + 2] = n.z;
    }
}
