#include "muscle/snap_weights.h"

#include "face/patch.h"
#include "math/chol.h"
#include "math/mat3.h"
#include "mesh/laplacian.h"

#include <math.h>
#include <string.h>

// --- ways along edges ---------------------------------------------------------------------------------------------

FaCode fai_snap_far(const FaMesh *mesh, const FaTopology *t, const unsigned char *from, double *far, FaError *err) {
    for (int v = 0; v < mesh->nvert; v++) far[v] = from[v] ? 0 : INFINITY;
    return fai_spread_min(mesh->nvert, t->around_start, t->around, mesh->x, 1, far, err);
}

static double edge_length(const FaMesh *mesh, int a, int b) {
    double p[3], q[3];
    fai_v3_load(mesh->x, a, p);
    fai_v3_load(mesh->x, b, q);
    fai_v3_sub(p, q, p);
    return fai_v3_norm(p);
}

// Downhill from the end, by the neighbour through which the way is shortest.
static void walk_back(const FaMesh *mesh, const FaTopology *t, const double *far, int end, unsigned char *line) {
    line[end] = 1;
    for (int v = end; far[v] > 0; line[v] = 1) {
        int best = -1;
        double least = INFINITY;
        for (int k = t->around_start[v]; k < t->around_start[v + 1]; k++) {
            const int u = t->around[k];
            const double whole = far[u] + edge_length(mesh, u, v);
            if (far[u] < far[v] && whole < least) least = whole, best = u;
        }
        if (best < 0) return; // vertices in one place: the start is as near
        v = best;
    }
}

FaCode fai_snap_path(const FaMesh *mesh, const FaTopology *t, int from, int to, unsigned char *line, FaError *err) {
    const int a = fai_weld(mesh, from), b = fai_weld(mesh, to);
    double *far = FA_NEW(mesh->nvert + 1, double);
    unsigned char *start = FA_NEW(mesh->nvert + 1, unsigned char);
    FaCode rc = far && start ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        start[a] = line[a] = 1;
        rc = fai_snap_far(mesh, t, start, far, err);
    }
    if (rc >= 0 && !isfinite(far[b]))
        rc = FA_FAIL(err, FA_E_ARG, FA_PLACE("vertices %d and %d", from, to), "draw a line on one part of the mesh",
                     "no way along edges leads from one to the other");
    if (rc >= 0) walk_back(mesh, t, far, b, line);
    fa_free(far);
    fa_free(start);
    return rc;
}

// --- weights ------------------------------------------------------------------------------------------------------

enum { OUTSIDE, EDGE, INNER, LINE }; // what a vertex is

// Inner: all triangles around it are painted.
static void classify(const FaMesh *mesh, const unsigned char *line, const unsigned char *region, unsigned char *kind) {
    memset(kind, OUTSIDE, (size_t)mesh->nvert);
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < mesh->ntri; t++)
            for (int k = 3 * t; k < 3 * t + 3; k++) {
                unsigned char *at = &kind[fai_weld(mesh, mesh->tri[k])];
                if (pass == 0 && region[t]) *at = INNER;
                if (pass == 1 && !region[t] && *at == INNER) *at = EDGE;
            }
    for (int v = 0; v < mesh->nvert; v++)
        if (kind[v] == INNER && line[v]) kind[v] = LINE;
}

// Numbers of the inner vertices that a line reaches through the region; others are 0 anyway, and would leave the matrix
// singular where they have no edge. Returns how many; queue: scratch (nvert).
static int number_reached(const FaMesh *mesh, const FaTopology *t, const unsigned char *kind, int *number, int *queue) {
    int end = 0, n = 0;
    for (int v = 0; v < mesh->nvert; v++) {
        number[v] = -1;
        if (kind[v] == LINE) queue[end++] = v;
    }
    for (int i = 0; i < end; i++)
        for (int k = t->around_start[queue[i]]; k < t->around_start[queue[i] + 1]; k++) {
            const int u = t->around[k];
            if (kind[u] != INNER || number[u] >= 0) continue;
            number[u] = n++;
            queue[end++] = u;
        }
    return n;
}

// L_ii w_i = -L_il 1, into value (n x 4).
static FaCode solve(const FaCsr *l, const unsigned char *kind, const int *number, int n, double *value, FaError *err) {
    FaTriplet *entry = FA_NEW((size_t)l->start[l->nrow] + 1, FaTriplet);
    FaCsr a = {0};
    FaChol *chol = NULL;
    int count = 0;
    if (!entry) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < l->nrow; v++)
        for (int k = l->start[v]; number[v] >= 0 && k < l->start[v + 1]; k++) {
            if (number[l->col[k]] >= 0) entry[count++] = (FaTriplet){number[v], number[l->col[k]], l->val[k]};
            if (kind[l->col[k]] == LINE) value[4 * (size_t)number[v]] -= l->val[k];
        }
    FaCode rc = fai_csr_from_triplets(n, n, count, entry, &a, err);
    if (rc >= 0) rc = fai_chol_analyze(&a, NULL, &chol, err);
    if (rc >= 0) rc = fai_chol_factor(chol, &a, err);
    if (rc >= 0) fai_chol_solve_d(chol, value, value);
    fai_chol_free(chol);
    fai_csr_free(&a);
    fa_free(entry);
    return rc;
}

static FaCode find(const FaMesh *mesh, const FaTopology *t, const unsigned char *line, const unsigned char *region,
                   FaArena *arena, double *w, int *inside, FaError *err) {
    unsigned char *kind = FA_PUSH(arena, mesh->nvert + 1, unsigned char);
    int *number = FA_PUSH(arena, mesh->nvert + 1, int), *queue = FA_PUSH(arena, mesh->nvert + 1, int), n;
    double *value = FA_PUSH(arena, 4 * (size_t)mesh->nvert + 4, double);
    FaCsr l = {0};
    if (!kind || !number || !queue || !value) return FA_FAIL_MEMORY(err);
    classify(mesh, line, region, kind);
    n = number_reached(mesh, t, kind, number, queue);
    FaCode rc = n ? fai_laplacian_build(mesh, NULL, &l, NULL, NULL, err) : FA_OK;
    if (rc >= 0 && n) rc = solve(&l, kind, number, n, value, err);
    fai_csr_free(&l);
    *inside = 0;
    for (int v = 0; v < mesh->nvert; v++) {
        *inside += kind[v] == LINE;
        w[v] = kind[v] == LINE ? 1 : number[v] >= 0 ? value[4 * (size_t)number[v]] : 0;
    }
    return rc;
}

FaCode fai_snap_weights(const FaMesh *mesh, const FaTopology *t, const unsigned char *line, const unsigned char *region,
                        const FaFalloff *falloff, float *weight, int *inside, FaError *err) {
    FaArena *arena = fai_arena_new(0);
    double *w = arena ? FA_PUSH(arena, mesh->nvert + 1, double) : NULL;
    int count = 0;
    FaCode rc = w ? find(mesh, t, line, region, arena, w, &count, err) : FA_FAIL_MEMORY(err);
    for (int v = 0; v < mesh->nvert && rc >= 0; v++) weight[v] = (float)fai_falloff_at(falloff, w[fai_weld(mesh, v)]);
    if (inside) *inside = count;
    fai_arena_free(arena);
    return rc;
}
