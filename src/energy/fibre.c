#include "energy/fibre.h"

#include "base/task.h"
#include "energy/incidence.h"
#include "math/mat3.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 256, NODES = 512, PAIRS = 1024, CORNER_PAIRS = 10 };
static const int pair_corner[CORNER_PAIRS][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {0, 1},
                                                 {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

// Everything is gathered: samples are computed side by side, then each node sums over its entries (4 sample + corner)
// and each pair of nodes over its own (10 sample + pair of corners), in the order of the samples.
struct FaFibre {
    int nnode, nsample, nmuscle, npair;
    int *node;      // of each corner                                                 (nsample x 4)
    double *weight; // w_c, 1/m                                                       (nsample x 4)
    double *size;   // volume q sigma, J                                              (nsample)
    int *muscle;    //                                                                (nsample)
    double *activation;
    FaIncidence by_node, by_pair;
    int *pair; // nodes of each pair, the lower first                                 (npair x 2)
    int *hint; // where their block was, and that of its transpose                    (npair x 2)
    // scratch
    double *pull;        // by d: first derivatives, or second ones times a step     (nsample x 3)
    double *matrix;      // by d: second derivatives, xx xy xz yy yz zz              (nsample x 6)
    double *part;        // energy and its size, of chunks
    int *changed;        // of chunks
    const double *x, *p; // of the call under way; the step
    double *g;
    FaBlocks *blocks;
    bool definite;
    FaArena *arena;
};

// --- curves -------------------------------------------------------------------------------------------------------

FaFibreCurve fai_fibre_active(double e) {
    double size = fabs(e), sign = e < 0 ? -1 : 1, past = size - 0.6;
    if (size < 0.4) return (FaFibreCurve){e * (1 - 25.0 / 18 * e * e), 1 - 25.0 / 6 * e * e, -25.0 / 3 * e};
    if (size < 0.6)
        return (FaFibreCurve){sign * (25.0 / 9 * past * past * past + 1.0 / 3), 25.0 / 3 * past * past,
                              sign * 50.0 / 3 * past};
    return (FaFibreCurve){sign / 3, 0, 0};
}

FaFibreCurve fai_fibre_passive(double e) {
    const double scale = 0.05, rate = 6.6, last = 0.4;
    if (!(e > 0)) return (FaFibreCurve){0};
    double at = fmin(e, last), grown = exp(rate * at), past = e - at;
    FaFibreCurve c = {.value = scale * (grown - rate * at - 1), .slope = scale * rate * (grown - 1)};
    c.integral =
        scale * ((grown - 1) / rate - 0.5 * rate * at * at - at) + c.value * past + 0.5 * c.slope * past * past;
    c.value += c.slope * past;
    return c;
}

// --- making -------------------------------------------------------------------------------------------------------

static FaCode fill_sample(FaFibre *f, const FaFibreBody *body, int s, const FaFibreSample *from, FaError *err) {
    double length = sqrt(fai_v3_dot(from->direction, from->direction)), dm[9], inverse[9];
    if (from->tet < 0 || from->tet >= body->ntet || from->muscle < 0 || from->muscle >= body->nmuscle ||
        !(from->share >= 0 && from->share <= 1) || !(length > 0 && isfinite(length)))
        return FA_FAIL(err, FA_E_ARG, FA_PLACE("fibre %d", s), "sample the muscles again",
                       "a fibre that makes no sense: tet %d, muscle %d, share %g, length %g", from->tet, from->muscle,
                       from->share, length);
    const int *tet = body->tet + 4 * (size_t)from->tet;
    for (int k = 0; k < 4; k++) {
        if (tet[k] < 0 || tet[k] >= body->nnode)
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", from->tet), "rebuild the flesh", "node %d of %d", tet[k],
                           body->nnode);
        f->node[4 * (size_t)s + (size_t)k] = tet[k];
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            dm[3 * i + k] = body->X[3 * (size_t)tet[k + 1] + (size_t)i] - body->X[3 * (size_t)tet[0] + (size_t)i];
    double volume = fai_m3_det(dm) / 6;
    if (!(volume > 0) || !fai_m3_inverse(dm, inverse))
        return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", from->tet), "rebuild the flesh",
                       "a tet has no positive volume at rest");
    double *w = f->weight + 4 * (size_t)s;
    w[0] = 0;
    for (int k = 0; k < 3; k++) {
        w[k + 1] = fai_v3_dot(inverse + 3 * k, from->direction) / length;
        w[0] -= w[k + 1];
    }
    f->size[s] = volume * from->share * body->sigma[from->muscle];
    f->muscle[s] = from->muscle;
    return FA_OK;
}

typedef struct Key {
    int low, high, entry;
} Key;

static int by_nodes(const void *one, const void *two) {
    const Key *a = one, *b = two;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return a->entry < b->entry ? -1 : 1;
}

// Which pairs of nodes there are, and which of samples' pairs of corners are theirs.
static FaCode fill_pairs(FaFibre *f, FaError *err) {
    int n = CORNER_PAIRS * f->nsample;
    Key *key = FA_NEW((size_t)n + 1, Key);
    int *number = FA_NEW((size_t)n + 1, int);
    FaCode rc = key && number ? FA_OK : FA_FAIL_MEMORY(err);
    for (int k = 0; k < n && rc >= 0; k++) {
        const int *node = f->node + 4 * (size_t)(k / CORNER_PAIRS), *c = pair_corner[k % CORNER_PAIRS];
        key[k] = (Key){FA_MIN(node[c[0]], node[c[1]]), FA_MAX(node[c[0]], node[c[1]]), k};
    }
    if (rc >= 0) qsort(key, (size_t)n, sizeof *key, by_nodes);
    for (int k = 0; k < n && rc >= 0; k++) {
        f->npair += k == 0 || key[k].low != key[k - 1].low || key[k].high != key[k - 1].high;
        number[key[k].entry] = f->npair - 1;
    }
    f->pair = rc >= 0 ? FA_PUSH(f->arena, 2 * (size_t)f->npair + 1, int) : NULL;
    f->hint = rc >= 0 ? FA_PUSH(f->arena, 2 * (size_t)f->npair + 1, int) : NULL;
    if (rc >= 0 && !(f->pair && f->hint)) rc = FA_FAIL_MEMORY(err);
    for (int k = 0; k < n && rc >= 0; k++) {
        int *pair = f->pair + 2 * (size_t)number[key[k].entry];
        pair[0] = key[k].low, pair[1] = key[k].high;
    }
    if (rc >= 0) rc = fai_incidence_build(f->arena, f->npair, n, number, &f->by_pair, err);
    fa_free(key);
    fa_free(number);
    return rc;
}

static FaCode build(FaFibre *f, const FaFibreBody *body, const FaFibreSample *sample, FaError *err) {
    f->arena = fai_arena_new(0);
    if (!f->arena) return FA_FAIL_MEMORY(err);
    size_t n = (size_t)f->nsample + 1, chunks = (size_t)fai_chunks(f->nsample, SAMPLES) + 1;
    f->node = FA_PUSH(f->arena, 4 * n, int);
    f->weight = FA_PUSH(f->arena, 4 * n, double);
    f->size = FA_PUSH(f->arena, n, double);
    f->muscle = FA_PUSH(f->arena, n, int);
    f->activation = FA_PUSH(f->arena, (size_t)f->nmuscle + 1, double);
    f->pull = FA_PUSH(f->arena, 3 * n, double);
    f->matrix = FA_PUSH(f->arena, 6 * n, double);
    f->part = FA_PUSH(f->arena, 2 * chunks, double);
    f->changed = FA_PUSH(f->arena, chunks, int);
    if (!f->node || !f->weight || !f->size || !f->muscle || !f->activation || !f->pull || !f->matrix || !f->part ||
        !f->changed)
        return FA_FAIL_MEMORY(err);
    for (int m = 0; m < f->nmuscle; m++)
        if (!(body->sigma[m] >= 0 && body->sigma[m] < 1e12))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("muscle %d", m), "stresses are Pa, 0 or more", "a stress of %g",
                           body->sigma[m]);
    for (int s = 0; s < f->nsample; s++) FA_TRY(fill_sample(f, body, s, &sample[s], err));
    FA_TRY(fai_incidence_build(f->arena, f->nnode, 4 * f->nsample, f->node, &f->by_node, err));
    return fill_pairs(f, err);
}

FaCode fai_fibre_new(const FaFibreBody *body, int nsample, const FaFibreSample *sample, FaFibre **fibre, FaError *err) {
    *fibre = NULL;
    if (nsample > INT32_MAX / 128)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "%d fibres are too many", nsample);
    FaFibre *f = FA_NEW(1, FaFibre);
    if (!f) return FA_FAIL_MEMORY(err);
    f->nnode = body->nnode, f->nsample = nsample, f->nmuscle = body->nmuscle;
    FaCode rc = build(f, body, sample, err);
    if (rc < 0)
        fai_fibre_free(f);
    else
        *fibre = f;
    return rc;
}

void fai_fibre_free(FaFibre *f) {
    if (!f) return;
    fai_arena_free(f->arena);
    fa_free(f);
}

void fai_fibre_activate(FaFibre *f, const double *activation) {
    for (int m = 0; m < f->nmuscle; m++) f->activation[m] = fmin(fmax(activation[m], 0), 1);
}

// --- samples ------------------------------------------------------------------------------------------------------

static void sum_corners(const FaFibre *f, int s, const double *x, double d[3]) {
    const int *node = f->node + 4 * (size_t)s;
    const double *w = f->weight + 4 * (size_t)s;
    for (int i = 0; i < 3; i++) {
        d[i] = 0;
        for (int c = 0; c < 4; c++) d[i] += w[c] * x[3 * (size_t)node[c] + (size_t)i];
    }
}

static FaFibreCurve curve_of(const FaFibre *f, int s, double e) {
    FaFibreCurve a = fai_fibre_active(e), q = fai_fibre_passive(e);
    double share = f->activation[f->muscle[s]];
    return (FaFibreCurve){share * a.integral + q.integral, share * a.value + q.value, share * a.slope + q.slope};
}

static void energy_chunk(void *ctx, int begin, int end, int chunk) {
    FaFibre *f = ctx;
    double sum = 0, size = 0;
    for (int s = begin; s < end; s++) {
        double d[3], *pull = f->pull + 3 * (size_t)s;
        sum_corners(f, s, f->x, d);
        double l = sqrt(fai_v3_dot(d, d));
        FaFibreCurve c = curve_of(f, s, l - 1);
        sum += f->size[s] * c.integral, size += f->size[s] * fabs(c.integral);
        // a fibre of no length has no force either
        for (int i = 0; i < 3; i++) pull[i] = l > 0 ? f->size[s] * c.value / l * d[i] : 0;
    }
    f->part[2 * chunk] = sum, f->part[2 * chunk + 1] = size;
}

// T' along d and T / l across it, T the curve's value: never negative.
static void second_chunk(void *ctx, int begin, int end, int chunk) {
    FaFibre *f = ctx;
    int changed = 0;
    for (int s = begin; s < end; s++) {
        double d[3], *m = f->matrix + 6 * (size_t)s;
        sum_corners(f, s, f->x, d);
        double l = sqrt(fai_v3_dot(d, d)), over = l > 0 ? 1 / l : 0;
        FaFibreCurve c = curve_of(f, s, l - 1);
        changed += c.slope < 0;
        double across = f->size[s] * c.value * over,
               along = f->size[s] * (f->definite ? fmax(c.slope, 0) : c.slope) - across;
        for (int i = 0; i < 3; i++) d[i] *= over;
        m[0] = across + along * d[0] * d[0], m[3] = across + along * d[1] * d[1], m[5] = across + along * d[2] * d[2];
        m[1] = along * d[0] * d[1], m[2] = along * d[0] * d[2], m[4] = along * d[1] * d[2];
    }
    f->changed[chunk] = changed;
}

static void step_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    FaFibre *f = ctx;
    for (int s = begin; s < end; s++) {
        const double *m = f->matrix + 6 * (size_t)s;
        double d[3], *pull = f->pull + 3 * (size_t)s;
        sum_corners(f, s, f->p, d);
        pull[0] = m[0] * d[0] + m[1] * d[1] + m[2] * d[2];
        pull[1] = m[1] * d[0] + m[3] * d[1] + m[4] * d[2];
        pull[2] = m[2] * d[0] + m[4] * d[1] + m[5] * d[2];
    }
}

// --- gathering ----------------------------------------------------------------------------------------------------

static void gather_nodes(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    FaFibre *f = ctx;
    for (int v = begin; v < end; v++) {
        double sum[3] = {0};
        for (int k = f->by_node.start[v]; k < f->by_node.start[v + 1]; k++) {
            int e = f->by_node.entry[k];
            const double *pull = f->pull + 3 * (size_t)(e / 4);
            for (int i = 0; i < 3; i++) sum[i] += f->weight[e] * pull[i];
        }
        for (int i = 0; i < 3; i++) f->g[3 * (size_t)v + (size_t)i] += sum[i];
    }
}

// Where the block of two nodes is: where it was last time, most often.
static float *block_at(const FaBlocks *b, int i, int j, int *hint) {
    int row = b->row[i], at = *hint;
    if (at < b->start[row] || at >= b->start[row + 1] || b->col[at] != b->row[j]) at = *hint = fai_blocks_at(b, i, j);
    FA_ASSERT(at >= 0);
    return b->val + 9 * (size_t)at;
}

static void gather_pairs(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    static const int at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    FaFibre *f = ctx;
    for (int k = begin; k < end; k++) {
        const int *pair = f->pair + 2 * (size_t)k;
        if (f->blocks->row[pair[0]] < 0 || f->blocks->row[pair[1]] < 0) continue;
        double sum[6] = {0};
        for (int n = f->by_pair.start[k]; n < f->by_pair.start[k + 1]; n++) {
            int s = f->by_pair.entry[n] / CORNER_PAIRS;
            const int *c = pair_corner[f->by_pair.entry[n] % CORNER_PAIRS];
            double w = f->weight[4 * s + c[0]] * f->weight[4 * s + c[1]];
            for (int i = 0; i < 6; i++) sum[i] += w * f->matrix[6 * (size_t)s + (size_t)i];
        }
        // symmetric, so the transpose is the same
        float *to = block_at(f->blocks, pair[0], pair[1], &f->hint[2 * (size_t)k]);
        for (int i = 0; i < 9; i++) to[i] += (float)sum[at[i]];
        if (pair[0] == pair[1]) continue;
        to = block_at(f->blocks, pair[1], pair[0], &f->hint[2 * (size_t)k + 1]);
        for (int i = 0; i < 9; i++) to[i] += (float)sum[at[i]];
    }
}

// --- the term -----------------------------------------------------------------------------------------------------

static void fibre_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    FaFibre *f = self;
    f->x = x, f->g = g;
    fai_parallel(f->nsample, SAMPLES, energy_chunk, f);
    if (g) fai_parallel(f->nnode, NODES, gather_nodes, f);
    for (int c = 0; c < fai_chunks(f->nsample, SAMPLES); c++)
        sum->energy += f->part[2 * c], sum->size += f->part[2 * c + 1];
}

static int fibre_second(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks) {
    FaFibre *f = self;
    f->x = x, f->blocks = blocks, f->definite = kind != FA_HESSIAN_TRUE;
    fai_parallel(f->nsample, SAMPLES, second_chunk, f);
    fai_parallel(f->npair, PAIRS, gather_pairs, f);
    if (!f->definite) return -1;
    int changed = 0;
    for (int c = 0; c < fai_chunks(f->nsample, SAMPLES); c++) changed += f->changed[c];
    return changed;
}

static void fibre_product(void *self, const double *x, const double *p, double *y) {
    FaFibre *f = self;
    f->x = x, f->p = p, f->g = y, f->definite = false;
    fai_parallel(f->nsample, SAMPLES, second_chunk, f);
    fai_parallel(f->nsample, SAMPLES, step_chunk, f);
    fai_parallel(f->nnode, NODES, gather_nodes, f);
}

FaTerm fai_fibre_term(FaFibre *f) {
    return (FaTerm){.name = "fibres",
                    .self = f,
                    .curve = FA_TERM_PROJECTED,
                    .energy = fibre_energy,
                    .second = fibre_second,
                    .product = fibre_product};
}
