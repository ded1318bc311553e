#include "volumetric/range.h"

#include "base/task.h"
#include "energy/tet.h"
#include "face/skin_motion.h"
#include "math/svd.h"
#include "rig/names.h"

#include <math.h>

static const float CRUSHED = 0.1f; // a tet with less is crushed or inside out: nobody sculpted that
static const float LEAST = 0.05f;  // of a stretch or a volume, whatever shapes are summed
static const double THIN = 1e-3;   // m: two layers of half of this are folded by anything
enum { CHUNK = 1024 };

typedef struct Making {
    const FaRig *rig;
    const FaLayered *layered;
    FaLift *lift;
    FaTets *tets;
    FaRange *range;
    int at;                  // of the shape at hand
    float *linear, *weights; // (nvert x 3), (nshape)
    float *u, *f, *s;        // (nnode x 4), 9 rows, 3 rows
} Making;

// --- ranges of shapes -----------------------------------------------------------------------------------------------

static void take_chunk(void *ctx, int begin, int end, int chunk) {
    const Making *m = ctx;
    FaRange *r = m->range;
    const size_t row = (size_t)r->stride, at = (size_t)m->at * row;
    (void)chunk;
    fai_svd3_many(end - begin, m->f + begin, r->stride, &(FaSvd3){NULL, m->s + begin, NULL, r->stride});
    for (size_t t = (size_t)begin; t < (size_t)end; t++) {
        const float s0 = m->s[t], s1 = m->s[row + t], s2 = m->s[2 * row + t];
        if (!(s2 > CRUSHED)) r->on[t] = 0;
        r->least[at + t] = fminf(s2 - 1, 0), r->most[at + t] = fmaxf(s0 - 1, 0);
        r->swell[at + t] = s0 * s1 * s2 - 1;
    }
}

// Left and right of one shape are one: what both do is what was sculpted.
static int group_of(const FaRig *rig, int shape) {
    const FaShape *a = &rig->shape[shape];
    char other[256];
    if (a->arkit < 0 && !fai_name_mirror(a->name, other, sizeof other)) return shape;
    for (int s = 0; s < shape; s++) {
        const FaShape *b = &rig->shape[s];
        if (a->arkit >= 0 ? b->arkit == a->arkit || b->arkit == fai_arkit_mirror(a->arkit) : !strcmp(b->name, other))
            return s;
    }
    return shape;
}

static void list_shapes(Making *m) {
    FaRange *r = m->range;
    const FaRig *rig = m->rig;
    for (int first = 0; first < rig->nshape; first++) {
        if (group_of(rig, first) != first) continue;
        for (int s = first; s < rig->nshape; s++)
            if (group_of(rig, s) == first) r->shape[r->nshape] = s, r->group[r->nshape++] = first;
    }
}

static bool moves(const float *u, int n) {
    for (int i = 0; i < 4 * n; i++)
        if (u[i] != 0) return true;
    return false;
}

// The shape at hand at weight 1; mouthClose, which alone pushes the lower lip through the upper, over the open jaw that
// it is measured against.
static void set_shape(Making *m, float weight) {
    const FaShape *shape = m->rig->shape;
    const int at = m->range->shape[m->at];
    m->weights[at] = weight;
    if (shape[at].arkit < 0 || strcmp(fa_arkit_name(shape[at].arkit), "mouthClose")) return;
    for (int s = 0; s < m->rig->nshape; s++)
        if (shape[s].arkit >= 0 && !strcmp(fa_arkit_name(shape[s].arkit), "jawOpen")) m->weights[s] = weight;
}

static FaCode take_shape(Making *m, FaError *err) {
    set_shape(m, 1);
    fa_rig_blend(m->rig, m->weights, m->linear);
    fai_face_skin_to(m->layered->face, m->linear, m->u);
    int clamped;
    const bool does = moves(m->u, m->layered->nskin);
    FaCode rc = does ? fai_lift(m->lift, m->weights, m->u, NULL, err) : FA_OK;
    set_shape(m, 0);
    if (rc < 0 || !does) return rc;
    fai_tets_pose(m->tets, m->u, -1, m->f, &clamped);
    fai_parallel(m->layered->ntet, CHUNK, take_chunk, m);
    m->range->unsolved += rc == FA_STALLED;
    return FA_OK;
}

// Two layers in a thin column are folded by whatever moves them; what its tets show there is no range.
static void leave_out_thin(const FaLayered *l, FaRange *r) {
    for (int t = 0; t < l->ntet; t++) {
        const int *v = l->face->tri + 3 * (size_t)l->triangle[t];
        for (int k = 0; k < 3; k++)
            if (l->depth[v[k]] < THIN) r->on[t] = 0;
    }
}

static FaCode make(Making *m, FaError *err) {
    FaRange *r = m->range;
    const size_t n = (size_t)r->stride, shapes = (size_t)m->rig->nshape;
    FaArena *a = r->arena;
    float **const array[] = {&r->low, &r->high, &r->less, &r->more};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(a, n, float))) return FA_FAIL_MEMORY(err);
    r->on = FA_PUSH(a, n, unsigned char);
    r->shape = FA_PUSH(a, shapes + 1, int), r->group = FA_PUSH(a, shapes + 1, int);
    r->least = FA_PUSH(a, shapes * n + 1, float), r->most = FA_PUSH(a, shapes * n + 1, float);
    r->swell = FA_PUSH(a, shapes * n + 1, float);
    if (!r->on || !r->shape || !r->group || !r->least || !r->most || !r->swell) return FA_FAIL_MEMORY(err);
    memset(r->on, 1, n);
    leave_out_thin(m->layered, r);
    list_shapes(m);
    for (m->at = 0; m->at < r->nshape; m->at++) FA_TRY(take_shape(m, err));
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
        r->margin = margin, r->ntet = layered->ntet, r->stride = (layered->ntet + 7) / 8 * 8;
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
    if (rc >= 0) rc = make(&m, err);
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

// --- the range of a pose --------------------------------------------------------------------------------------------

typedef struct Posing {
    FaRange *range;
    const float *weights;
} Posing;

// Adds a shape as far as it is on: singular values of sums are within sums of these (Weyl). Backwards, it stretches
// where it pressed.
static void add_shape(const FaRange *r, int k, float w, int begin, int n, float sum[4][CHUNK]) {
    const size_t at = (size_t)k * (size_t)r->stride + (size_t)begin;
    const float *least = w > 0 ? r->least + at : r->most + at, *most = w > 0 ? r->most + at : r->least + at;
    const float *swell = r->swell + at;
    for (int t = 0; t < n; t++) {
        const float v = w * swell[t];
        sum[0][t] += w * least[t], sum[1][t] += w * most[t];
        sum[2][t] += v < 0 ? v : 0, sum[3][t] += v > 0 ? v : 0;
    }
}

static void pose_chunk(void *ctx, int begin, int end, int chunk) {
    const Posing *p = ctx;
    FaRange *r = p->range;
    const int n = end - begin;
    float *low = r->low + begin, *high = r->high + begin, *less = r->less + begin, *more = r->more + begin;
    float sum[4][CHUNK];
    const float wide = (float)(1 + r->margin), narrow = (float)(1 - r->margin);
    (void)chunk;
    for (int t = 0; t < n; t++) low[t] = high[t] = less[t] = more[t] = 0;
    for (int k = 0; k < r->nshape;) {
        const int group = r->group[k];
        bool on = false;
        for (int i = k; i < r->nshape && r->group[i] == group; i++) on |= p->weights[r->shape[i]] != 0;
        if (on) memset(sum, 0, sizeof sum);
        for (; k < r->nshape && r->group[k] == group; k++)
            if (p->weights[r->shape[k]] != 0) add_shape(r, k, p->weights[r->shape[k]], begin, n, sum);
        for (int t = 0; on && t < n; t++) {
            low[t] = fminf(low[t], sum[0][t]), high[t] = fmaxf(high[t], sum[1][t]);
            less[t] = fminf(less[t], sum[2][t]), more[t] = fmaxf(more[t], sum[3][t]);
        }
    }
    for (int t = 0; t < n; t++) {
        low[t] = fmaxf(1 + low[t], LEAST) * narrow, high[t] = (1 + high[t]) * wide;
        less[t] = fmaxf(1 + less[t], LEAST) * narrow, more[t] = (1 + more[t]) * wide;
    }
}

void fai_range_pose(FaRange *range, const float *weights) {
    fai_parallel(range->ntet, CHUNK, pose_chunk, &(Posing){range, weights});
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
