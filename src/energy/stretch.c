// Layout: eight springs at a time. Their d is collected node by node, the rest is arithmetic on eight lanes.
#include "energy/stretch.h"

#include "base/task.h"
#include "energy/incidence.h"
#include "energy/kernel.h"

#include <math.h>

enum {
    LANES = 8,
    CHUNK = 2048, // springs per task
    NODES = 1024, // nodes per task of the gathering
};

struct FaStretch {
    FaArena *arena;
    int nnode, n, chunks;
    bool wide;
    float slack;
    int *start;     // (n + 1)
    int *node;      //
    float *coef;    //
    int *owner;     // spring of each entry
    float *v0;      // three rows of `stride`
    float *rest;    // |v0|                                             (stride)
    float *weight;  //                                                  (stride)
    float *weight2; //                                                  (stride)
    size_t stride;  // n rounded up to LANES
    FaV4 *force;    // dE/dv of each spring                             (stride)
    double *part;   // energy of each chunk                             (chunks)
    FaIncidence at;
};

// --- building -----------------------------------------------------------------------------------------------------

static bool make_room(FaStretch *s, const FaStretchInput *in) {
    int entries = in->n ? in->start[in->n] : 0;
    s->nnode = in->nnode;
    s->n = in->n;
    s->stride = ((size_t)in->n + LANES - 1) / LANES * LANES;
    s->chunks = fai_chunks(in->n, CHUNK);
    s->slack = (float)in->slack;
    s->wide = fai_simd_wanted();
    s->start = FA_PUSH(s->arena, in->n + 1, int);
    s->node = FA_PUSH(s->arena, entries, int);
    s->coef = FA_PUSH(s->arena, entries, float);
    s->owner = FA_PUSH(s->arena, entries, int);
    s->v0 = FA_PUSH(s->arena, 3 * s->stride, float);
    s->rest = FA_PUSH(s->arena, s->stride, float);
    s->weight = FA_PUSH(s->arena, s->stride, float);
    s->weight2 = FA_PUSH(s->arena, s->stride, float);
    s->force = FA_PUSH(s->arena, s->stride, FaV4);
    s->part = FA_PUSH(s->arena, s->chunks, double);
    return s->start && s->node && s->coef && s->owner && s->v0 && s->rest && s->weight && s->weight2 && s->force &&
           s->part;
}

static void fill(FaStretch *s, const FaStretchInput *in) {
    for (int i = 0; i < in->n; i++) {
        double v[3] = {0};
        for (int k = in->start[i]; k < in->start[i + 1]; k++) {
            s->node[k] = in->node[k];
            s->coef[k] = (float)in->coef[k];
            s->owner[k] = i;
            for (int j = 0; j < 3; j++) v[j] += in->coef[k] * in->x0[3 * (size_t)in->node[k] + (size_t)j];
        }
        s->start[i + 1] = in->start[i + 1];
        float x = (float)v[0], y = (float)v[1], z = (float)v[2];
        s->v0[i] = x;
        s->v0[s->stride + (size_t)i] = y;
        s->v0[2 * s->stride + (size_t)i] = z;
        s->rest[i] = sqrtf(x * x + y * y + z * z);
        s->weight[i] = (float)in->weight[i];
        s->weight2[i] = in->weight2 ? (float)in->weight2[i] : 0;
    }
}

FaCode fai_stretch_new(const FaStretchInput *in, FaStretch **stretch, FaError *err) {
    *stretch = NULL;
    FaStretch *s = FA_NEW(1, FaStretch);
    if (!s) return FA_FAIL_MEMORY(err);
    s->arena = fai_arena_new(0);
    FaCode rc = FA_OK;
    if (!s->arena || !make_room(s, in)) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fill(s, in);
        rc = fai_incidence_build(s->arena, in->nnode, s->start[in->n], s->node, &s->at, err);
    }
    if (rc < 0) {
        fai_stretch_free(s);
        return rc;
    }
    *stretch = s;
    return FA_OK;
}

void fai_stretch_free(FaStretch *s) {
    if (!s) return;
    fai_arena_free(s->arena);
    fai_resize(s, 0);
}

const float *fai_stretch_rest(const FaStretch *s) { return s->rest; }

// --- energy and forces --------------------------------------------------------------------------------------------

typedef struct Eval {
    FaStretch *s;
    const float *rest;
    const FaV4 *u;
    bool gradient;
} Eval;

// Eight springs from i on: their energies, and forces dE/dv as three rows of eight.
FAI_BODY void eight(const Eval *ev, size_t i, float d[3][LANES], float e[LANES], float f[3][LANES]) {
    const FaStretch *s = ev->s;
    const float *x0 = s->v0 + i, *y0 = x0 + s->stride, *z0 = y0 + s->stride, *n0 = s->rest + i;
    const float *w = s->weight + i, *w2 = s->weight2 + i;
    float rest[LANES];
    for (int l = 0; l < LANES; l++) rest[l] = n0[l];
    if (ev->rest)
        for (int l = 0; l < LANES; l++) rest[l] = i + (size_t)l < (size_t)s->n ? fabsf(ev->rest[i + (size_t)l]) : 0;
    for (int l = 0; l < LANES; l++) {
        float x = x0[l] + d[0][l], y = y0[l] + d[1][l], z = z0[l] + d[2][l];
        float len = sqrtf(x * x + y * y + z * z), both = len + n0[l];
        float up = (x0[l] + x) * d[0][l] + (y0[l] + y) * d[1][l] + (z0[l] + z) * d[2][l];
        float more = (both > 0 ? up / (both > 0 ? both : 1) : 0) + (n0[l] - rest[l]);
        float over = more - s->slack * rest[l];
        over = over > 0 ? over : 0;
        e[l] = 0.5f * (w[l] * more * more + w2[l] * over * over);
        // along v, or along v0 where v has no direction
        float size = len > 0 ? len : n0[l];
        float pull = size > 0 ? (w[l] * more + w2[l] * over) / (size > 0 ? size : 1) : 0;
        f[0][l] = pull * (len > 0 ? x : x0[l]);
        f[1][l] = pull * (len > 0 ? y : y0[l]);
        f[2][l] = pull * (len > 0 ? z : z0[l]);
    }
}

FAI_BODY void eval_body(const Eval *ev, int begin, int end, int chunk) {
    FaStretch *s = ev->s;
    double sum[LANES] = {0};
    for (int i = begin; i < end; i += LANES) {
        float d[3][LANES] = {{0}}, e[LANES], f[3][LANES];
        int lanes = FA_MIN(LANES, end - i);
        for (int l = 0; l < lanes; l++) {
            FaV4 v = {0};
            for (int k = s->start[i + l]; k < s->start[i + l + 1]; k++) v += s->coef[k] * ev->u[s->node[k]];
            for (int j = 0; j < 3; j++) d[j][l] = v[j];
        }
        eight(ev, (size_t)i, d, e, f);
        for (int l = 0; l < LANES; l++) sum[l] += (double)e[l];
        if (!ev->gradient) continue;
        for (int l = 0; l < LANES; l++) s->force[i + l] = (FaV4){f[0][l], f[1][l], f[2][l], 0};
    }
    double total = 0;
    for (int l = 0; l < LANES; l++) total += sum[l];
    s->part[chunk] = total;
}

static void eval_ref(void *ctx, int begin, int end, int chunk) { eval_body(ctx, begin, end, chunk); }
FAI_WIDE static void eval_wide(void *ctx, int begin, int end, int chunk) { eval_body(ctx, begin, end, chunk); }

double fai_stretch_eval(FaStretch *s, const float *rest, const float *u, bool gradient) {
    Eval ev = {s, rest, (const FaV4 *)u, gradient};
    fai_parallel(s->n, CHUNK, s->wide ? eval_wide : eval_ref, &ev);
    double total = 0;
    for (int c = 0; c < s->chunks; c++) total += s->part[c];
    return total;
}

typedef struct Gather {
    const FaStretch *s;
    FaV4 *g;
} Gather;

static void gather(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Gather *ga = ctx;
    const FaStretch *s = ga->s;
    for (int i = begin; i < end; i++) {
        FaV4 sum = ga->g[i];
        for (int k = s->at.start[i]; k < s->at.start[i + 1]; k++) {
            int entry = s->at.entry[k];
            sum += s->coef[entry] * s->force[s->owner[entry]];
        }
        ga->g[i] = sum;
    }
}

void fai_stretch_gather(const FaStretch *s, float *g) {
    if (s->n) fai_parallel(s->nnode, NODES, gather, &(Gather){s, (FaV4 *)g});
}

// --- the formula --------------------------------------------------------------------------------------------------

double fai_stretch_energy_ref(const double v[3], const double v0[3], double rest, double w, double w2, double slack,
                              double r[3]) {
    double len = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    double len0 = sqrt(v0[0] * v0[0] + v0[1] * v0[1] + v0[2] * v0[2]);
    double more = len - rest, over = fmax(more - slack * rest, 0);
    double size = len > 0 ? len : len0;
    for (int k = 0; r && k < 3; k++) r[k] = size > 0 ? (w * more + w2 * over) / size * (len > 0 ? v[k] : v0[k]) : 0;
    return 0.5 * (w * more * more + w2 * over * over);
}
