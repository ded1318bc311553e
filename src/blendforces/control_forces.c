// Based on: thesis 001 sections 3.2, 4.2, 5.1, 5.2; constants of blendforces-notes. Symbols: Phi -> phi, q -> q, x - x0
// -> d.
//
// In displacements, with g(d) the gradient of edges and bending at d, the projections' right-hand side is K d - g(d), K
// their share of A; so that q = d + A^-1 (M (y - d) / h^2 - Ks A_v d - g(d)): no product with K, and exactly d where d
// is at rest.
#include "blendforces/control_forces.h"

#include "base/task.h"
#include "build/equilibrium.h"
#include "energy/bend.h"
#include "energy/edge.h"
#include "energy/kernel.h"
#include "math/chol.h"
#include "math/mat3.h"
#include "mesh/laplacian.h"
#include "mesh/mesh.h"

#include <math.h>

enum { TILE = 512, LANES = 8, TOGETHER = 4 }; // nodes of a chunk; of a register; shapes that are added in one pass
typedef float V8 __attribute__((vector_size(32), may_alias));
static const float QUIET = 2e-8f;  // m: a tile of Phi_j below this is left out
static const float STILL = 1e-15f; // m: displacements that fade below this are 0, before they are too small for floats
static const double DROP = 1e-10;  // of A's factor

struct FaForces {
    int n, nshape, npoint, ntile;
    FaElastic e;
    FaEdges *edges;
    FaBends *bends;
    FaChol *chol;
    FaSpreadPoint *point; //                                                    (npoint)
    float *phi;           // by shapes, n x 3 each                              (nshape x stride)
    size_t stride;        // 3 n rounded up to LANES
    bool wide;
    unsigned char *live;           // tiles of phi that matter                           (nshape x ntile)
    double *columns;               // S Phi                                              (nshape x npoint x 3)
    float *inertia;                // M / h^2                                            (n)
    double *force;                 // Ks A_v of B, N/m                                   (n)
    float *spring;                 // of the skull                                       (n)
    float *d, *before, *y, *q, *g; //                                            (n x 4)
    float *now;                    // the result of the last apply                       (n x 4)
    FaArena *arena;
};

// --- Phi ----------------------------------------------------------------------------------------------------------

// A shape as force at the nodes: Ks A_v b_j (n x 4).
static void force_of(const FaForces *f, const FaFace *face, const FaRig *basis, int j, double *b) {
    memset(b, 0, 4 * (size_t)f->n * sizeof *b);
    const FaShape *s = &basis->shape[j];
    for (int e = s->first; e < s->first + s->count; e++) {
        int node = face->node_of_vertex[basis->row[e]];
        if (node < 0 || face->skin_vertex[node] != basis->row[e])
            continue; // of copies at a seam the one that stands for them
        for (size_t k = 0; k < 3; k++)
            b[4 * (size_t)node + k] = f->force[node] * (double)basis->delta[3 * (size_t)e + k];
    }
}

static FaCode solve_phi(FaForces *f, const FaFace *face, const FaRig *basis, const FaCsr *a, FaError *err) {
    FaChol *chol = NULL;
    FaArena *arena = fai_arena_new(0);
    double *b = arena ? FA_PUSH(arena, 4 * (size_t)f->n, double) : NULL;
    FaCode rc = b ? fai_chol_analyze(a, NULL, &chol, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_chol_factor(chol, a, err);
    for (int j = 0; rc >= 0 && j < f->nshape; j++) {
        force_of(f, face, basis, j, b);
        fai_chol_solve_d(chol, b, b);
        float *phi = f->phi + f->stride * (size_t)j;
        for (int i = 0; i < f->n; i++)
            for (size_t k = 0; k < 3; k++) {
                float v = (float)b[4 * (size_t)i + k];
                phi[3 * (size_t)i + k] = v;
                if (fabsf(v) > QUIET) f->live[(size_t)j * (size_t)f->ntile + (size_t)(i / TILE)] = 1;
            }
        for (int p = 0; p < f->npoint; p++)
            for (int c = 0; c < 3 && f->point[p].node[0] >= 0; c++)
                for (size_t k = 0; k < 3; k++)
                    f->columns[3 * ((size_t)j * (size_t)f->npoint + (size_t)p) + k] +=
                        (double)f->point[p].bary[c] * b[4 * (size_t)f->point[p].node[c] + k];
    }
    fai_chol_free(chol);
    fai_arena_free(arena);
    return rc;
}

static FaCode fill(FaForces *f, const FaFace *face, const FaRig *basis, const FaSpreadPoint *point,
                   const FaForceOptions *o, FaError *err) {
    size_t n = (size_t)f->n, s = (size_t)f->nshape;
    double inertia = o->fps * o->fps;
    f->point = FA_PUSH(f->arena, f->npoint, FaSpreadPoint);
    f->phi = FA_PUSH(f->arena, f->stride * s, float);
    f->live = FA_PUSH(f->arena, s * (size_t)f->ntile, unsigned char);
    f->columns = FA_PUSH(f->arena, 3 * s * (size_t)f->npoint, double);
    f->inertia = FA_PUSH(f->arena, n, float);
    f->spring = FA_PUSH(f->arena, n, float);
    float **quad[] = {&f->d, &f->before, &f->y, &f->q, &f->g, &f->now};
    bool ok = f->point && f->phi && f->live && f->columns && f->inertia && f->spring;
    for (int i = 0; i < FA_COUNT(quad); i++) ok &= (*quad[i] = FA_PUSH(f->arena, 4 * n, float)) != NULL;
    if (!ok) return FA_FAIL_MEMORY(err);
    if (f->npoint) memcpy(f->point, point, (size_t)f->npoint * sizeof *point);
    FA_TRY(fai_skin_body(face, &o->body, &f->e, err));
    if (!(f->force = FA_PUSH(f->arena, n, double))) return FA_FAIL_MEMORY(err);
    memcpy(f->force, f->e.anchor_weight, n * sizeof *f->force); // B stays that of the usual stiffness
    FA_TRY(fai_equilibrium_apply(face, &f->e, err));
    for (size_t i = 0; i < n; i++) {
        f->inertia[i] = (float)(inertia * f->e.mass[i]);
        f->spring[i] = (float)f->e.anchor_weight[i];
    }
    FA_TRY(fai_edges_new(&f->e, &f->edges, err));
    FA_TRY(fai_bends_new(&f->e, &f->bends, err));
    FaCsr a = {0};
    FaCode rc = fai_elastic_matrix(&f->e, inertia, &a, err);
    if (rc >= 0) rc = solve_phi(f, face, basis, &a, err);
    if (rc >= 0) rc = fai_chol_analyze(&a, &(FaCholOptions){.single = true, .drop = DROP}, &f->chol, err);
    if (rc >= 0) rc = fai_chol_factor(f->chol, &a, err);
    fai_csr_free(&a);
    return rc;
}

FaCode fai_forces_new(const FaFace *face, const FaRig *basis, int npoint, const FaSpreadPoint *point,
                      const FaForceOptions *options, FaForces **forces, FaError *err) {
    *forces = NULL;
    FaForces *f = FA_NEW(1, FaForces);
    if (!f) return FA_FAIL_MEMORY(err);
    f->n = face->nskin;
    f->nshape = basis->nshape;
    f->npoint = npoint;
    f->ntile = (f->n + TILE - 1) / TILE;
    f->stride = (3 * (size_t)f->n + LANES - 1) / LANES * LANES;
    f->wide = fai_simd_wanted();
    f->arena = fai_arena_new(0);
    FaCode rc = f->arena ? fill(f, face, basis, point, options, err) : FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_forces_free(f);
    else
        *forces = f;
    return rc;
}

void fai_forces_free(FaForces *f) {
    if (!f) return;
    fai_stretch_free(f->edges);
    fai_stretch_free(f->bends);
    fai_chol_free(f->chol);
    fai_arena_free(f->e.arena);
    fai_arena_free(f->arena);
    fa_free(f);
}

void fai_forces_reset(FaForces *f) {
    size_t size = 4 * (size_t)f->n * sizeof *f->d;
    memset(f->d, 0, size);
    memset(f->before, 0, size);
    memset(f->now, 0, size);
}

// --- frames -------------------------------------------------------------------------------------------------------

typedef struct Right {
    FaForces *f;
    const float *at;
} Right;

static void right_side(void *ctx, int begin, int end, int chunk) {
    const Right *r = ctx;
    FaForces *f = r->f;
    (void)chunk;
    for (int i = begin; i < end; i++) {
        float *g = f->g + 4 * (size_t)i, m = f->inertia[i], w = f->spring[i];
        const float *y = f->y + 4 * (size_t)i, *d = r->at + 4 * (size_t)i;
        for (int k = 0; k < 3; k++) g[k] = m * (y[k] - d[k]) - w * d[k] - g[k];
        g[3] = 0;
    }
}

static void add_quads(void *ctx, int begin, int end, int chunk) {
    const Right *r = ctx;
    (void)chunk;
    for (size_t i = 4 * (size_t)begin; i < 4 * (size_t)end; i++) r->f->q[i] += r->at[i];
}

static void free_motion(FaForces *f, const float *at) {
    memset(f->g, 0, 4 * (size_t)f->n * sizeof *f->g);
    fai_stretch_eval(f->edges, NULL, at, true);
    fai_stretch_gather(f->edges, f->g);
    fai_stretch_eval(f->bends, NULL, at, true);
    fai_stretch_gather(f->bends, f->g);
    Right r = {f, at};
    fai_parallel(f->n, TILE, right_side, &r);
    fai_chol_solve_f(f->chol, f->g, f->q);
    fai_parallel(f->n, TILE, add_quads, &r);
}

void fai_forces_begin(FaForces *f, double keep, double stretch, bool at_prediction) {
    float k = (float)(keep * stretch);
    for (size_t i = 0; i < 4 * (size_t)f->n; i++) f->y[i] = f->d[i] + k * (f->d[i] - f->before[i]);
    free_motion(f, at_prediction ? f->y : f->d);
}

void fai_forces_relinearise(FaForces *f) { free_motion(f, f->now); }

typedef struct Apply {
    FaForces *f;
    const double *u;
} Apply;

// Phi u of a tile, shapes that act there in order, TOGETHER of them in one pass: sums stay in registers. Those missing
// in the last pass are others once more, times 0.
FAI_BODY void apply_body(const Apply *a, int begin, int end, int tile) {
    FaForces *f = a->f;
    _Alignas(32) float sum[3 * TILE];
    int m = 3 * (end - begin), left = 0;
    float u[TOGETHER];
    const float *phi[TOGETHER];
    memset(sum, 0, sizeof sum);
    for (int j = 0; j < f->nshape + TOGETHER; j++) {
        bool is = j < f->nshape && (float)a->u[j] != 0 && f->live[(size_t)j * (size_t)f->ntile + (size_t)tile];
        if (!is && (j < f->nshape || left == 0)) continue;
        u[left] = is ? (float)a->u[j] : 0;
        phi[left] = is ? f->phi + f->stride * (size_t)j + 3 * (size_t)begin : phi[0];
        if (++left < TOGETHER) continue;
        left = 0;
        for (int i = 0; i < m; i += LANES) {
            V8 x = *(const V8 *)(sum + i);
            for (int k = 0; k < TOGETHER; k++) x += u[k] * *(const V8 *)(phi[k] + i);
            *(V8 *)(sum + i) = x;
        }
    }
    for (int i = begin; i < end; i++) {
        for (int k = 0; k < 3; k++) {
            float d = f->q[4 * (size_t)i + (size_t)k] + sum[3 * (i - begin) + k];
            f->now[4 * (size_t)i + (size_t)k] = d < STILL && d > -STILL ? 0 : d;
        }
        f->now[4 * (size_t)i + 3] = 0;
    }
}

static void apply_ref(void *ctx, int begin, int end, int tile) { apply_body(ctx, begin, end, tile); }
FAI_WIDE static void apply_wide(void *ctx, int begin, int end, int tile) { apply_body(ctx, begin, end, tile); }

void fai_forces_apply(FaForces *f, const double *u) {
    fai_parallel(f->n, TILE, f->wide ? apply_wide : apply_ref, &(Apply){f, u});
}

void fai_forces_end(FaForces *f) {
    float *old = f->before;
    f->before = f->d;
    f->d = old;
    memcpy(f->d, f->now, 4 * (size_t)f->n * sizeof *f->d);
}

void fai_forces_between(FaForces *f, double keep, double stretch, bool at_prediction, const double *u, double part,
                        float *out) {
    fai_forces_begin(f, keep, stretch, at_prediction);
    fai_forces_apply(f, u);
    for (size_t i = 0; i < 4 * (size_t)f->n; i++) out[i] = f->d[i] + (float)part * (f->now[i] - f->d[i]);
}

void fai_forces_at(const FaForces *f, float *out) { memcpy(out, f->d, 4 * (size_t)f->n * sizeof *out); }

double fai_forces_way(const FaForces *f) {
    double most = 0;
    for (size_t i = 0; i < 4 * (size_t)f->n; i++) most = fmax(most, fabs((double)f->d[i] - (double)f->before[i]));
    return most;
}

void fai_forces_stop(FaForces *f) { memcpy(f->before, f->d, 4 * (size_t)f->n * sizeof *f->d); }

void fai_forces_stream(FaForces *f, FaStream *s) {
    fai_stream(s, f->d, 4 * (size_t)f->n * sizeof *f->d);
    fai_stream(s, f->before, 4 * (size_t)f->n * sizeof *f->before);
}

const double *fai_forces_columns(const FaForces *f) { return f->columns; }
const float *fai_forces_now(const FaForces *f) { return f->now; }

void fai_forces_points(const FaForces *f, double *q) {
    memset(q, 0, 3 * (size_t)f->npoint * sizeof *q);
    for (int p = 0; p < f->npoint; p++)
        for (int c = 0; c < 3 && f->point[p].node[0] >= 0; c++)
            for (size_t k = 0; k < 3; k++)
                q[3 * (size_t)p + k] += (double)f->point[p].bary[c] * (double)f->q[4 * (size_t)f->point[p].node[c] + k];
}
