#include "volumetric/range.h"

#include "base/task.h"
#include "energy/tet.h"
#include "face/skin_motion.h"
#include "math/svd.h"

#include <math.h>

static const float CRUSHED = 0.1f; // a tet with less is crushed or inside out: nobody sculpted that
static const double THIN = 1e-3;   // m: two layers of half of this are folded by anything
enum { CHUNK = 1024 };

typedef struct Making {
    const FaRig *rig;
    const FaLayered *layered;
    FaLift *lift;
    FaTets *tets;
    FaRange *range;
    float *linear, *weights; // (nvert x 3), (nshape)
    float *u, *f, *s;        // (nnode x 4), 9 rows, 3 rows
} Making;

// --- ranges
// -----------------------------------------------------------------------------------------------------------

static void take_chunk(void *ctx, int begin, int end, int chunk) {
    const Making *m = ctx;
    FaRange *r = m->range;
    const size_t row = (size_t)r->stride;
    (void)chunk;
    fai_svd3_many(end - begin, m->f + begin, r->stride, &(FaSvd3){NULL, m->s + begin, NULL, r->stride});
    for (int t = begin; t < end; t++) {
        const float s0 = m->s[t], s1 = m->s[row + (size_t)t], s2 = m->s[2 * row + (size_t)t], det = s0 * s1 * s2;
        if (!(s2 > CRUSHED)) r->on[t] = 0;
        r->low[t] = fminf(r->low[t], s2), r->high[t] = fmaxf(r->high[t], s0);
        r->less[t] = fminf(r->less[t], det), r->more[t] = fmaxf(r->more[t], det);
    }
}

static bool moves(const float *u, int n) {
    for (int i = 0; i < 4 * n; i++)
        if (u[i] != 0) return true;
    return false;
}

static FaCode take_shape(Making *m, int shape, FaError *err) {
    m->weights[shape] = 1;
    fa_rig_blend(m->rig, m->weights, m->linear);
    fai_face_skin_to(m->layered->face, m->linear, m->u);
    FaCode rc = FA_OK;
    if (moves(m->u, m->layered->nskin)) {
        int clamped;
        rc = fai_lift(m->lift, m->weights, m->u, NULL, err);
        if (rc >= 0) {
            fai_tets_pose(m->tets, m->u, -1, m->f, &clamped);
            fai_parallel(m->layered->ntet, CHUNK, take_chunk, m);
            m->range->nshape++;
            m->range->unsolved += rc == FA_STALLED;
        }
    }
    m->weights[shape] = 0;
    return rc;
}

// Two layers in a thin column are folded by whatever moves them; what its tets show there is no range.
static void leave_out_thin(const FaLayered *l, FaRange *r) {
    for (int t = 0; t < l->ntet; t++) {
        const int *v = l->face->tri + 3 * (size_t)l->triangle[t];
        for (int k = 0; k < 3; k++)
            if (l->depth[v[k]] < THIN) r->on[t] = 0;
    }
}

static FaCode make(Making *m, double margin, FaError *err) {
    FaRange *r = m->range;
    const size_t n = (size_t)r->stride;
    FaArena *a = r->arena;
    r->low = FA_PUSH(a, n, float), r->high = FA_PUSH(a, n, float);
    r->less = FA_PUSH(a, n, float), r->more = FA_PUSH(a, n, float);
    r->on = FA_PUSH(a, n, unsigned char);
    if (!r->low || !r->high || !r->less || !r->more || !r->on) return FA_FAIL_MEMORY(err);
    for (size_t t = 0; t < n; t++) r->low[t] = r->high[t] = r->less[t] = r->more[t] = r->on[t] = 1;
    leave_out_thin(m->layered, r);
    for (int s = 0; s < m->rig->nshape; s++) FA_TRY(take_shape(m, s, err));
    const float wide = (float)(1 + margin), narrow = (float)(1 - margin);
    for (int t = 0; t < r->ntet; t++) r->low[t] *= narrow, r->high[t] *= wide, r->less[t] *= narrow, r->more[t] *= wide;
    return FA_OK;
}

FaCode fai_range_new(const FaRig *rig, const FaLayered *layered, FaLift *lift, double margin, FaRange **range,
                     FaError *err) {
    *range = NULL;
    const double begin = fai_seconds();
    FaRange *r = FA_NEW(1, FaRange);
    FaArena *scratch = fai_arena_new(0);
    Making m = {.rig = rig, .layered = layered, .lift = lift, .range = r};
    FaCode rc = r && scratch && (r->arena = fai_arena_new(0)) ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        r->ntet = layered->ntet, r->stride = (layered->ntet + 7) / 8 * 8;
        m.linear = FA_PUSH(scratch, 3 * (size_t)rig->mesh.nvert, float);
        m.weights = FA_PUSH(scratch, rig->nshape, float);
        m.u = FA_PUSH(scratch, 4 * (size_t)layered->nnode, float);
        m.f = FA_PUSH(scratch, 9 * (size_t)r->stride, float);
        m.s = FA_PUSH(scratch, 3 * (size_t)r->stride, float);
        if (!m.linear || !m.weights || !m.u || !m.f || !m.s) rc = FA_FAIL_MEMORY(err);
    }
    FaElastic e = {.nnode = layered->nnode, .x0 = layered->x0, .ntet = layered->ntet, .tet = layered->tet};
    if (rc >= 0) e.tet_strain = e.tet_volume = layered->volume; // not read: only deformations are asked for
    if (rc >= 0) rc = fai_tets_new(&e, &m.tets, err);
    if (rc >= 0) rc = make(&m, margin, err);
    fai_tets_free(m.tets);
    fai_arena_free(scratch);
    if (rc < 0)
        fai_range_free(r);
    else
        r->seconds = fai_seconds() - begin, *range = r;
    return rc;
}

void fai_range_free(FaRange *r) {
    if (!r) return;
    fai_arena_free(r->arena);
    fa_free(r);
}

// --- clamping
// ---------------------------------------------------------------------------------------------------------

// Newton from above; the same bits everywhere, as the library's cbrt need not give.
static float cube_root(float x) {
    double r = (double)x, y = r > 1 ? r : 1;
    for (int k = 0; k < 64; k++) {
        const double next = y - (y * y * y - r) / (3 * y * y);
        if (!(next < y)) break;
        y = next;
    }
    return (float)y;
}

typedef struct Clamp {
    const FaRange *range;
    float *f, *u, *s, *v;
    int *count;
} Clamp;

static void rebuild(const Clamp *c, int t, const float s[3]) {
    const size_t row = (size_t)c->range->stride, at = (size_t)t;
    for (size_t e = 0; e < 9; e++) {
        float sum = 0;
        for (size_t k = 0; k < 3; k++)
            sum += c->u[(e / 3 * 3 + k) * row + at] * s[k] * c->v[(e % 3 * 3 + k) * row + at];
        c->f[e * row + at] = sum;
    }
}

static void clamp_chunk(void *ctx, int begin, int end, int chunk) {
    const Clamp *c = ctx;
    const FaRange *r = c->range;
    const size_t row = (size_t)r->stride;
    int count = 0;
    fai_svd3_many(end - begin, c->f + begin, r->stride, &(FaSvd3){c->u + begin, c->s + begin, c->v + begin, r->stride});
    for (int t = begin; t < end; t++) {
        float s[3], det;
        for (size_t k = 0; k < 3; k++) s[k] = c->s[k * row + (size_t)t];
        det = s[0] * s[1] * s[2];
        if (!r->on[t]) continue;
        if (s[2] >= r->low[t] && s[0] <= r->high[t] && det >= r->less[t] && det <= r->more[t]) continue;
        for (int k = 0; k < 3; k++) s[k] = fminf(fmaxf(s[k], r->low[t]), r->high[t]);
        det = s[0] * s[1] * s[2];
        const float scale = cube_root(fminf(fmaxf(det, r->less[t]), r->more[t]) / det);
        for (int k = 0; k < 3; k++) s[k] *= scale;
        rebuild(c, t, s);
        count++;
    }
    c->count[chunk] = count;
}

int fai_range_clamp(const FaRange *range, float *f, float *work, int *count) {
    const size_t row = (size_t)range->stride;
    int sum = 0;
    Clamp c = {range, f, work, work + 9 * row, work + 12 * row, count};
    fai_parallel(range->ntet, CHUNK, clamp_chunk, &c);
    for (int k = 0; k < fai_chunks(range->ntet, CHUNK); k++) sum += count[k];
    return sum;
}
