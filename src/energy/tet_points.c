#include "energy/tet_points.h"

#include "base/task.h"

#include <stdlib.h>

enum { POINTS = 256, NODES = 512, PAIRS = 1024, CORNER_PAIRS = 10 };
static const int pair_corner[CORNER_PAIRS][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {0, 1},
                                                 {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

// --- making -------------------------------------------------------------------------------------------------------

FaCode fai_tet_points_new(FaTetPoints *p, int nnode, int n, FaArena *arena, FaError *err) {
    *p = (FaTetPoints){.nnode = nnode, .n = n};
    size_t room = (size_t)n + 1;
    p->node = FA_PUSH(arena, 4 * room, int);
    p->weight = FA_PUSH(arena, 4 * room, double);
    p->pull = FA_PUSH(arena, 3 * room, double);
    p->matrix = FA_PUSH(arena, 6 * room, double);
    return p->node && p->weight && p->pull && p->matrix ? FA_OK : FA_FAIL_MEMORY(err);
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

// Which pairs of nodes there are, and which of the points' pairs of corners are theirs.
static FaCode fill_pairs(FaTetPoints *p, FaArena *arena, FaError *err) {
    int n = CORNER_PAIRS * p->n;
    Key *key = FA_NEW((size_t)n + 1, Key);
    int *number = FA_NEW((size_t)n + 1, int);
    FaCode rc = key && number ? FA_OK : FA_FAIL_MEMORY(err);
    for (int k = 0; k < n && rc >= 0; k++) {
        const int *node = p->node + 4 * (size_t)(k / CORNER_PAIRS), *c = pair_corner[k % CORNER_PAIRS];
        key[k] = (Key){FA_MIN(node[c[0]], node[c[1]]), FA_MAX(node[c[0]], node[c[1]]), k};
    }
    if (rc >= 0) qsort(key, (size_t)n, sizeof *key, by_nodes);
    for (int k = 0; k < n && rc >= 0; k++) {
        p->npair += k == 0 || key[k].low != key[k - 1].low || key[k].high != key[k - 1].high;
        number[key[k].entry] = p->npair - 1;
    }
    p->pair = rc >= 0 ? FA_PUSH(arena, 2 * (size_t)p->npair + 1, int) : NULL;
    p->hint = rc >= 0 ? FA_PUSH(arena, 2 * (size_t)p->npair + 1, int) : NULL;
    if (rc >= 0 && !(p->pair && p->hint)) rc = FA_FAIL_MEMORY(err);
    for (int k = 0; k < n && rc >= 0; k++) {
        int *pair = p->pair + 2 * (size_t)number[key[k].entry];
        pair[0] = key[k].low, pair[1] = key[k].high;
    }
    if (rc >= 0) rc = fai_incidence_build(arena, p->npair, n, number, &p->by_pair, err);
    fa_free(key);
    fa_free(number);
    return rc;
}

FaCode fai_tet_points_connect(FaTetPoints *p, FaArena *arena, FaError *err) {
    FA_TRY(fai_incidence_build(arena, p->nnode, 4 * p->n, p->node, &p->by_node, err));
    return fill_pairs(p, arena, err);
}

// --- gathering ----------------------------------------------------------------------------------------------------

typedef struct Work {
    FaTetPoints *p;
    double *g;
    FaBlocks *blocks;
    const double *step;
} Work;

static void gather_nodes(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Work *w = ctx;
    const FaTetPoints *p = w->p;
    for (int v = begin; v < end; v++) {
        double sum[3] = {0};
        for (int k = p->by_node.start[v]; k < p->by_node.start[v + 1]; k++) {
            int e = p->by_node.entry[k];
            const double *pull = p->pull + 3 * (size_t)(e / 4);
            for (int i = 0; i < 3; i++) sum[i] += p->weight[e] * pull[i];
        }
        for (int i = 0; i < 3; i++) w->g[3 * (size_t)v + (size_t)i] += sum[i];
    }
}

void fai_tet_points_gather(FaTetPoints *p, double *g) {
    fai_parallel(p->nnode, NODES, gather_nodes, &(Work){.p = p, .g = g});
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
    const Work *w = ctx;
    FaTetPoints *p = w->p;
    for (int k = begin; k < end; k++) {
        const int *pair = p->pair + 2 * (size_t)k;
        if (w->blocks->row[pair[0]] < 0 || w->blocks->row[pair[1]] < 0) continue;
        double sum[6] = {0};
        for (int n = p->by_pair.start[k]; n < p->by_pair.start[k + 1]; n++) {
            int s = p->by_pair.entry[n] / CORNER_PAIRS;
            const int *c = pair_corner[p->by_pair.entry[n] % CORNER_PAIRS];
            double both = p->weight[4 * s + c[0]] * p->weight[4 * s + c[1]];
            for (int i = 0; i < 6; i++) sum[i] += both * p->matrix[6 * (size_t)s + (size_t)i];
        }
        // symmetric, so the transpose is the same
        float *to = block_at(w->blocks, pair[0], pair[1], &p->hint[2 * (size_t)k]);
        for (int i = 0; i < 9; i++) to[i] += (float)sum[at[i]];
        if (pair[0] == pair[1]) continue;
        to = block_at(w->blocks, pair[1], pair[0], &p->hint[2 * (size_t)k + 1]);
        for (int i = 0; i < 9; i++) to[i] += (float)sum[at[i]];
    }
}

void fai_tet_points_blocks(FaTetPoints *p, FaBlocks *blocks) {
    fai_parallel(p->npair, PAIRS, gather_pairs, &(Work){.p = p, .blocks = blocks});
}

static void step_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Work *w = ctx;
    FaTetPoints *p = w->p;
    for (int s = begin; s < end; s++) {
        const double *m = p->matrix + 6 * (size_t)s;
        double d[3], *pull = p->pull + 3 * (size_t)s;
        fai_tet_point(p, s, w->step, d);
        pull[0] = m[0] * d[0] + m[1] * d[1] + m[2] * d[2];
        pull[1] = m[1] * d[0] + m[3] * d[1] + m[4] * d[2];
        pull[2] = m[2] * d[0] + m[4] * d[1] + m[5] * d[2];
    }
}

void fai_tet_points_step(FaTetPoints *p, const double *step) {
    fai_parallel(p->n, POINTS, step_chunk, &(Work){.p = p, .step = step});
}
