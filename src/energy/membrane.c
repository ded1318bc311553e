#include "energy/membrane.h"

#include "base/task.h"
#include "energy/incidence.h"
#include "math/mat3.h"

#include <math.h>

enum { CHUNK = 512, GATHER = 1024 }; // triangles, nodes of a task

// Where a triangle lies at rest: an orthonormal frame in its plane, and Dm^-1 in it.
typedef struct Sheet {
    double frame[2][3];
    double inverse[4]; // row-major, 1/m
} Sheet;

struct FaMembranes {
    int nnode, n;
    const int (*node)[3];
    Sheet *sheet;   //                                            (n)
    double *weight; // J                                          (n)
    double *force;  // of each corner, N                          (n x 3 x 3)
    double *part;   // energy of each chunk
    FaIncidence at; // entries 3 n + corner
    FaArena *arena;
};

static bool lay(const double *x0, const int node[3], Sheet *s) {
    double a[3], b[3], along;
    fai_v3_sub(x0 + 3 * (size_t)node[1], x0 + 3 * (size_t)node[0], a);
    fai_v3_sub(x0 + 3 * (size_t)node[2], x0 + 3 * (size_t)node[0], b);
    const double la = fai_v3_norm(a);
    if (!(la > 0)) return false;
    fai_v3_scale(1 / la, a, s->frame[0]);
    along = fai_v3_dot(s->frame[0], b);
    fai_v3_mad(b, -along, s->frame[0], s->frame[1]);
    const double lb = fai_v3_norm(s->frame[1]);
    if (!(lb > 1e-9 * la)) return false;
    fai_v3_scale(1 / lb, s->frame[1], s->frame[1]);
    // Dm = {la, along; 0, lb}
    s->inverse[0] = 1 / la, s->inverse[1] = -along / (la * lb), s->inverse[2] = 0, s->inverse[3] = 1 / lb;
    return isfinite(s->inverse[0]) && isfinite(s->inverse[1]) && isfinite(s->inverse[3]);
}

bool fai_membrane_sound(const double *x0, const int node[3]) {
    Sheet s;
    return lay(x0, node, &s);
}

// R where F has lost a dimension: along what is left of it, and across that as near to the rest as can be.
static void closest_of_line(const Sheet *s, const double f[2][3], double c00, double c01, double c11, double r[2][3]) {
    const double half = (c00 - c11) / 2, most = (c00 + c11) / 2 + sqrt(half * half + c01 * c01);
    double v[2] = {1, 0}, along[3], across[3], n[3];
    if (fabs(c01) > 1e-12 * most || c11 > c00) {
        const double p = half < 0 ? c01 : most - c11, q = half < 0 ? most - c00 : c01, size = sqrt(p * p + q * q);
        v[0] = p / size, v[1] = q / size;
    }
    for (int k = 0; k < 3; k++) along[k] = v[0] * f[0][k] + v[1] * f[1][k];
    fai_v3_scale(1 / fai_v3_norm(along), along, along);
    for (int k = 0; k < 3; k++) across[k] = v[0] * s->frame[1][k] - v[1] * s->frame[0][k];
    fai_v3_mad(across, -fai_v3_dot(across, along), along, across);
    if (!(fai_v3_norm(across) > 1e-3)) { // that would be along it too: out of the rest's plane
        fai_v3_cross(s->frame[0], s->frame[1], n);
        fai_v3_mad(n, -fai_v3_dot(n, along), along, across);
    }
    fai_v3_scale(1 / fai_v3_norm(across), across, across);
    for (int k = 0; k < 3; k++) {
        r[0][k] = v[0] * along[k] - v[1] * across[k];
        r[1][k] = v[1] * along[k] + v[0] * across[k];
    }
}

static void closest(const Sheet *s, const double f[2][3], double r[2][3]) {
    const double c00 = fai_v3_dot(f[0], f[0]), c01 = fai_v3_dot(f[0], f[1]), c11 = fai_v3_dot(f[1], f[1]);
    const double trace = c00 + c11, root = sqrt(fmax(c00 * c11 - c01 * c01, 0));
    if (!(trace > 1e-18)) { // a point: no direction is nearer than another
        memcpy(r, s->frame, sizeof s->frame);
        return;
    }
    if (!(root > 1e-7 * trace)) {
        closest_of_line(s, f, c00, c01, c11, r);
        return;
    }
    const double scale = 1 / (root * sqrt(trace + 2 * root)); // (F'F)^-1/2 = (adj(F'F) + root) / (root (s1 + s2))
    const double m00 = scale * (c11 + root), m01 = -scale * c01, m11 = scale * (c00 + root);
    for (int k = 0; k < 3; k++) {
        r[0][k] = m00 * f[0][k] + m01 * f[1][k];
        r[1][k] = m01 * f[0][k] + m11 * f[1][k];
    }
}

// d: displacements of corners 1 and 2 against corner 0. p: w (F - R), 3x2 by columns.
static double strain(const Sheet *s, double w, const double d[2][3], double p[2][3]) {
    double f[2][3], r[2][3], energy = 0;
    for (int k = 0; k < 3; k++) {
        f[0][k] = s->frame[0][k] + d[0][k] * s->inverse[0] + d[1][k] * s->inverse[2];
        f[1][k] = s->frame[1][k] + d[0][k] * s->inverse[1] + d[1][k] * s->inverse[3];
    }
    closest(s, (const double(*)[3])f, r);
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 3; k++) {
            p[c][k] = f[c][k] - r[c][k];
            energy += p[c][k] * p[c][k];
            p[c][k] *= w;
        }
    return 0.5 * w * energy;
}

// Forces of the corners: p times the rows of Dm^-1, and what is left for corner 0.
static void spread(const Sheet *s, const double p[2][3], double *force) {
    for (int k = 0; k < 3; k++) {
        force[3 + k] = p[0][k] * s->inverse[0] + p[1][k] * s->inverse[1];
        force[6 + k] = p[0][k] * s->inverse[2] + p[1][k] * s->inverse[3];
        force[k] = -(force[3 + k] + force[6 + k]);
    }
}

// --- building -------------------------------------------------------------------------------------------------------

static FaCode build(FaMembranes *s, const FaElastic *e, FaError *err) {
    const size_t n = (size_t)e->nmembrane;
    s->arena = fai_arena_new(0);
    if (!s->arena) return FA_FAIL_MEMORY(err);
    s->nnode = e->nnode, s->n = e->nmembrane;
    s->node = (const int(*)[3])e->membrane;
    s->sheet = FA_PUSH(s->arena, n, Sheet);
    s->weight = FA_PUSH(s->arena, n, double);
    s->force = FA_PUSH(s->arena, 9 * n, double);
    s->part = FA_PUSH(s->arena, fai_chunks(s->n, CHUNK) + 1, double);
    if (!s->sheet || !s->weight || !s->force || !s->part) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n; i++) {
        s->weight[i] = e->membrane_weight[i];
        if (!lay(e->x0, e->membrane[i], &s->sheet[i]))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("membrane %zu", i), "merge its corners", "a triangle has no area");
    }
    return fai_incidence_build(s->arena, e->nnode, 3 * e->nmembrane, n ? e->membrane[0] : NULL, &s->at, err);
}

FaCode fai_membranes_new(const FaElastic *e, FaMembranes **membranes, FaError *err) {
    *membranes = NULL;
    if (e->nmembrane > INT32_MAX / 9)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "%d triangles are too many", e->nmembrane);
    FaMembranes *s = FA_NEW(1, FaMembranes);
    if (!s) return FA_FAIL_MEMORY(err);
    FaCode rc = build(s, e, err);
    if (rc < 0)
        fai_membranes_free(s);
    else
        *membranes = s;
    return rc;
}

void fai_membranes_free(FaMembranes *s) {
    if (!s) return;
    fai_arena_free(s->arena);
    fa_free(s);
}

// --- energy ---------------------------------------------------------------------------------------------------------

typedef struct Eval {
    FaMembranes *s;
    const float *u;
    float *g;
} Eval;

static void eval_chunk(void *ctx, int begin, int end, int chunk) {
    const Eval *ev = ctx;
    FaMembranes *s = ev->s;
    double energy = 0;
    for (int i = begin; i < end; i++) {
        const int *node = s->node[i];
        const float *at = ev->u + 4 * (size_t)node[0];
        double d[2][3], p[2][3], *force = s->force + 9 * (size_t)i;
        bool still = true;
        for (int c = 0; c < 2; c++)
            for (int k = 0; k < 3; k++) {
                d[c][k] = (double)ev->u[4 * (size_t)node[c + 1] + (size_t)k] - (double)at[k];
                still &= d[c][k] == 0;
            }
        if (still) { // what has not moved is at rest to the bit
            memset(force, 0, 9 * sizeof *force);
            continue;
        }
        energy += strain(&s->sheet[i], s->weight[i], (const double(*)[3])d, p);
        spread(&s->sheet[i], (const double(*)[3])p, force);
    }
    s->part[chunk] = energy;
}

static void gather_chunk(void *ctx, int begin, int end, int chunk) {
    const Eval *ev = ctx;
    const FaIncidence *at = &ev->s->at;
    (void)chunk;
    for (int v = begin; v < end; v++) {
        double sum[3] = {0};
        for (int e = at->start[v]; e < at->start[v + 1]; e++)
            for (int k = 0; k < 3; k++) sum[k] += ev->s->force[3 * (size_t)at->entry[e] + (size_t)k];
        for (int k = 0; k < 3; k++) ev->g[4 * (size_t)v + (size_t)k] += (float)sum[k];
    }
}

double fai_membranes_eval(FaMembranes *s, const float *u, float *g) {
    Eval ev = {s, u, g};
    double energy = 0;
    fai_parallel(s->n, CHUNK, eval_chunk, &ev);
    for (int c = 0; c < fai_chunks(s->n, CHUNK); c++) energy += s->part[c];
    if (g) fai_parallel(s->nnode, GATHER, gather_chunk, &ev);
    return energy;
}

double fai_membrane_energy_ref(const double *x0, const int node[3], double w, const double u[3][3],
                               double gradient[9]) {
    Sheet s;
    double d[2][3], p[2][3];
    if (!lay(x0, node, &s)) return NAN;
    for (int c = 0; c < 2; c++) fai_v3_sub(u[c + 1], u[0], d[c]);
    const double energy = strain(&s, w, (const double(*)[3])d, p);
    if (gradient) spread(&s, (const double(*)[3])p, gradient);
    return energy;
}

void fai_membrane_triplets(const FaElastic *e, FaTriplet *t) {
    for (int i = 0; i < e->nmembrane; i++) {
        Sheet s = {0};
        double g[3][2];
        lay(e->x0, e->membrane[i], &s);
        for (int k = 0; k < 2; k++) {
            g[1][k] = s.inverse[k], g[2][k] = s.inverse[2 + k];
            g[0][k] = -(g[1][k] + g[2][k]);
        }
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                *t++ = (FaTriplet){e->membrane[i][a], e->membrane[i][b],
                                   e->membrane_weight[i] * (g[a][0] * g[b][0] + g[a][1] * g[b][1])};
    }
}
