#include "energy/pull.h"

#include "base/task.h"
#include "energy/tet_points.h"

#include <string.h>

enum { PLACES = 256 };

struct FaPull {
    FaTetPoints points;
    double *k;       // N/m                                                           (n)
    double *y;       // m                                                             (n x 3)
    double *part;    // energy, of chunks
    const double *x; // of the call under way
    bool on;         // some k is not 0
    FaArena *arena;
};

FaCode fai_pull_new(int nnode, int n, const int *node, const double *bary, FaPull **pull, FaError *err) {
    *pull = NULL;
    FaPull *p = FA_NEW(1, FaPull);
    if (!p) return FA_FAIL_MEMORY(err);
    p->arena = fai_arena_new(0);
    FaCode rc = p->arena ? fai_tet_points_new(&p->points, nnode, n, p->arena, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        p->k = FA_PUSH(p->arena, n + 1, double);
        p->y = FA_PUSH(p->arena, 3 * (size_t)n + 1, double);
        p->part = FA_PUSH(p->arena, fai_chunks(n, PLACES) + 1, double);
        if (!p->k || !p->y || !p->part) rc = FA_FAIL_MEMORY(err);
    }
    if (rc >= 0) {
        memcpy(p->points.node, node, 4 * (size_t)n * sizeof *node);
        memcpy(p->points.weight, bary, 4 * (size_t)n * sizeof *bary);
        rc = fai_tet_points_connect(&p->points, p->arena, err);
    }
    if (rc < 0)
        fai_pull_free(p);
    else
        *pull = p;
    return rc;
}

void fai_pull_free(FaPull *p) {
    if (!p) return;
    fai_arena_free(p->arena);
    fa_free(p);
}

void fai_pull_set(FaPull *p, const double *k, const double *y) {
    p->on = false;
    for (int s = 0; s < p->points.n; s++) p->on |= k[s] > 0;
    memcpy(p->k, k, (size_t)p->points.n * sizeof *k);
    memcpy(p->y, y, 3 * (size_t)p->points.n * sizeof *y);
}

// --- the term -----------------------------------------------------------------------------------------------------

static void energy_chunk(void *ctx, int begin, int end, int chunk) {
    FaPull *p = ctx;
    double sum = 0;
    for (int s = begin; s < end; s++) {
        double d[3], *pull = p->points.pull + 3 * (size_t)s;
        fai_tet_point(&p->points, s, p->x, d);
        for (int i = 0; i < 3; i++) {
            double off = d[i] - p->y[3 * (size_t)s + (size_t)i];
            pull[i] = p->k[s] * off;
            sum += 0.5 * p->k[s] * off * off;
        }
    }
    p->part[chunk] = sum;
}

static void pull_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    FaPull *p = self;
    if (!p->on) return;
    p->x = x;
    fai_parallel(p->points.n, PLACES, energy_chunk, p);
    if (g) fai_tet_points_gather(&p->points, g);
    for (int c = 0; c < fai_chunks(p->points.n, PLACES); c++) sum->energy += p->part[c], sum->size += p->part[c];
}

static void fill_matrices(FaPull *p) {
    memset(p->points.matrix, 0, 6 * (size_t)p->points.n * sizeof *p->points.matrix);
    for (int s = 0; s < p->points.n; s++) {
        double *m = p->points.matrix + 6 * (size_t)s;
        m[0] = m[3] = m[5] = p->k[s];
    }
}

static int pull_second(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks) {
    (void)x, (void)kind;
    FaPull *p = self;
    if (!p->on) return 0;
    fill_matrices(p);
    fai_tet_points_blocks(&p->points, blocks);
    return 0;
}

static void pull_product(void *self, const double *x, const double *step, double *y) {
    (void)x;
    FaPull *p = self;
    if (!p->on) return;
    fill_matrices(p);
    fai_tet_points_step(&p->points, step);
    fai_tet_points_gather(&p->points, y);
}

FaTerm fai_pull_term(FaPull *p) {
    return (FaTerm){.name = "tracks",
                    .self = p,
                    .curve = FA_TERM_CONVEX,
                    .energy = pull_energy,
                    .second = pull_second,
                    .product = pull_product};
}
