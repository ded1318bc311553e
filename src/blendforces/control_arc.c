// Based on: Alexa, Cohen-Or, Levin, As-rigid-as-possible shape interpolation, 2000; Sumner and Popovic, Deformation
// transfer, 2004 (gradients of triangles with their normal). Kept near the linear way over long distances by a screen.
#include "blendforces/control_arc.h"

#include "math/chol.h"
#include "math/mat3.h"

#include <math.h>

static const double SCREEN = 0.05; // m
static const double DROP = 2e-6;   // m: arcs below this are left out

typedef struct Work {
    const FaFace *f;
    const FaRig *basis;
    double *cot;  // half cotangents of each triangle's corners       (ntri x 3)
    double *inv;  // inverse of [e1 e2 n] at rest                     (ntri x 9)
    double *mass; //                                                  (nskin)
    double *d;    // the shape at the nodes                           (nskin x 3)
    double *b;    // right-hand side, solution                        (nskin x 4)
    FaChol *chol;
    FaArena *arena;
} Work;

static void triangle_frame(const double *x[3], double m[9]) {
    double a[3], b[3], n[3];
    fai_v3_sub(x[1], x[0], a);
    fai_v3_sub(x[2], x[0], b);
    fai_v3_cross(a, b, n);
    if (!fai_v3_normalize(n)) fai_v3_set(n, 0, 0, 1);
    for (int k = 0; k < 3; k++) {
        m[3 * k] = a[k];
        m[3 * k + 1] = b[k];
        m[3 * k + 2] = n[k];
    }
}

// Half cotangents (slivers limited), areas, inverse frames; and the screened Laplacian they make.
static FaCode prepare(Work *w, FaError *err) {
    const FaFace *f = w->f;
    size_t n = (size_t)f->ntri;
    w->cot = FA_PUSH(w->arena, 3 * n, double);
    w->inv = FA_PUSH(w->arena, 9 * n, double);
    w->mass = FA_PUSH(w->arena, f->nskin, double);
    w->d = FA_PUSH(w->arena, 3 * (size_t)f->nskin, double);
    w->b = FA_PUSH(w->arena, 4 * (size_t)f->nskin, double);
    FaTriplet *t = FA_PUSH(w->arena, 12 * n + (size_t)f->nskin, FaTriplet);
    if (!w->cot || !w->inv || !w->mass || !w->d || !w->b || !t) return FA_FAIL_MEMORY(err);
    int count = 0;
    for (size_t i = 0; i < n; i++) {
        const int *c = f->tri + 3 * i;
        double p[3][3], m[9], u[3], v[3], cross[3];
        for (int k = 0; k < 3; k++) fai_v3_load(f->x0, c[k], p[k]);
        fai_v3_sub(p[1], p[0], u);
        fai_v3_sub(p[2], p[0], v);
        fai_v3_cross(u, v, cross);
        double twice = fai_v3_norm(cross), size = fai_v3_dot(u, u) + fai_v3_dot(v, v);
        triangle_frame((const double *[3]){p[0], p[1], p[2]}, m);
        bool flat = twice < 1e-5 * size || !fai_m3_inverse(m, w->inv + 9 * i);
        for (int k = 0; k < 3; k++) {
            int a = (k + 1) % 3, b = (k + 2) % 3;
            fai_v3_sub(p[a], p[k], u);
            fai_v3_sub(p[b], p[k], v);
            double cot = flat ? 0 : 0.5 * fai_v3_dot(u, v) / twice;
            w->cot[3 * i + (size_t)k] = cot;
            w->mass[c[k]] += twice / 6;
            t[count++] = (FaTriplet){c[a], c[a], cot};
            t[count++] = (FaTriplet){c[b], c[b], cot};
            t[count++] = (FaTriplet){c[a], c[b], -cot};
            t[count++] = (FaTriplet){c[b], c[a], -cot};
        }
    }
    for (int i = 0; i < f->nskin; i++) {
        w->mass[i] = (fmax(w->mass[i], 1e-9) / (SCREEN * SCREEN)) * (f->rim[i] ? 1e4 : 1);
        t[count++] = (FaTriplet){i, i, w->mass[i]};
    }
    FaCsr a = {0};
    FaCode rc = fai_csr_from_triplets(f->nskin, f->nskin, count, t, &a, err);
    if (rc >= 0) rc = fai_chol_analyze(&a, NULL, &w->chol, err);
    if (rc >= 0) rc = fai_chol_factor(w->chol, &a, err);
    fai_csr_free(&a);
    return rc;
}

// Half of a triangle's deformation less half of its displacement's gradient: what the arc adds. False: nothing.
static bool half_way(const Work *w, int tri, double add[9]) {
    const int *c = w->f->tri + 3 * (size_t)tri;
    const double *d[3] = {w->d + 3 * (size_t)c[0], w->d + 3 * (size_t)c[1], w->d + 3 * (size_t)c[2]};
    double x[3][3], m[9], g[9], r[9], s[9], q[4], turn[3], move = 0;
    for (int k = 0; k < 9; k++) move += fabs(d[k / 3][k % 3]);
    if (move == 0) return false;
    for (int k = 0; k < 3; k++) {
        fai_v3_load(w->f->x0, c[k], x[k]);
        fai_v3_add(x[k], d[k], x[k]);
    }
    triangle_frame((const double *[3]){x[0], x[1], x[2]}, m);
    fai_m3_mul(m, w->inv + 9 * (size_t)tri, g);
    fai_m3_polar(g, r, s);
    fai_q_from_m3(r, q);
    fai_q_log(q, turn);
    fai_v3_scale(0.5, turn, turn);
    fai_q_exp(turn, q);
    fai_q_to_m3(q, r);
    for (int k = 0; k < 9; k++) s[k] = 0.5 * (s[k] + (k % 4 == 0));
    fai_m3_mul(r, s, add);
    for (int k = 0; k < 9; k++) add[k] -= 0.5 * (g[k] + (k % 4 == 0));
    return true;
}

// The arc of shape j at the nodes, in w->b.
static bool solve_shape(Work *w, int j) {
    const FaShape *s = &w->basis->shape[j];
    const FaFace *f = w->f;
    bool some = false;
    memset(w->d, 0, 3 * (size_t)f->nskin * sizeof *w->d);
    memset(w->b, 0, 4 * (size_t)f->nskin * sizeof *w->b);
    for (int e = s->first; e < s->first + s->count; e++) {
        int node = f->node_of_vertex[w->basis->row[e]];
        if (node < 0 || f->skin_vertex[node] != w->basis->row[e]) continue;
        fai_v3_load(w->basis->delta, e, w->d + 3 * (size_t)node);
    }
    for (int i = 0; i < f->ntri; i++) {
        const int *c = f->tri + 3 * (size_t)i;
        double add[9];
        if (!half_way(w, i, add)) continue;
        some = true;
        for (int k = 0; k < 3; k++) {
            int a = c[(k + 1) % 3], b = c[(k + 2) % 3];
            double xa[3], xb[3], edge[3];
            fai_v3_load(f->x0, a, xa);
            fai_v3_load(f->x0, b, xb);
            fai_v3_sub(xa, xb, edge);
            fai_m3_mulv(add, edge, edge);
            for (int q = 0; q < 3; q++) {
                w->b[4 * (size_t)a + (size_t)q] += w->cot[3 * (size_t)i + (size_t)k] * edge[q];
                w->b[4 * (size_t)b + (size_t)q] -= w->cot[3 * (size_t)i + (size_t)k] * edge[q];
            }
        }
    }
    if (some) fai_chol_solve_d(w->chol, w->b, w->b);
    return some;
}

static FaCode put_shape(FaArcs *arcs, const Work *w, int j, bool some, int *room, FaError *err) {
    FaRig *r = &arcs->rig;
    r->shape[j].first = r->nentry;
    for (int v = 0; some && v < w->f->nvert; v++) {
        int node = w->f->node_of_vertex[v];
        if (node < 0) continue;
        const double *c = w->b + 4 * (size_t)node;
        if (fabs(c[0]) + fabs(c[1]) + fabs(c[2]) < DROP / 4) continue;
        if (r->nentry == *room) {
            int both[2] = {*room, *room};
            int *row = fai_grow_array(r->row, &both[0], r->nentry + 1, sizeof *r->row);
            if (row) r->row = row;
            float *delta = fai_grow_array(r->delta, &both[1], r->nentry + 1, 3 * sizeof *r->delta);
            if (delta) r->delta = delta;
            if (!row || !delta) return FA_FAIL_MEMORY(err);
            *room = FA_MIN(both[0], both[1]);
        }
        r->row[r->nentry] = v;
        for (int k = 0; k < 3; k++) r->delta[3 * (size_t)r->nentry + (size_t)k] = (float)(4 * c[k]);
        r->nentry++;
    }
    r->shape[j].count = r->nentry - r->shape[j].first;
    return FA_OK;
}

static FaCode fill(FaArcs *arcs, Work *w, FaError *err) {
    const FaRig *basis = w->basis;
    FaRig *r = &arcs->rig;
    int room = 0;
    *r = (FaRig){.mesh = basis->mesh, .nshape = basis->nshape, .name = "", .path = ""};
    r->mesh.x = FA_PUSH(arcs->arena, 3 * (size_t)basis->mesh.nvert, float);
    r->shape = FA_PUSH(arcs->arena, basis->nshape, FaShape);
    r->weight = FA_PUSH(arcs->arena, basis->nshape, float);
    if (!r->mesh.x || !r->shape || !r->weight) return FA_FAIL_MEMORY(err);
    memcpy(r->shape, basis->shape, (size_t)basis->nshape * sizeof *r->shape);
    FA_TRY(prepare(w, err));
    for (int j = 0; j < basis->nshape; j++) FA_TRY(put_shape(arcs, w, j, solve_shape(w, j), &room, err));
    return FA_OK;
}

FaCode fai_arcs_new(const FaFace *face, const FaRig *basis, FaArcs **arcs, FaError *err) {
    *arcs = NULL;
    FaArcs *a = FA_NEW(1, FaArcs);
    if (!a) return FA_FAIL_MEMORY(err);
    a->arena = fai_arena_new(0);
    Work w = {.f = face, .basis = basis, .arena = fai_arena_new(0)};
    FaCode rc = a->arena && w.arena ? fill(a, &w, err) : FA_FAIL_MEMORY(err);
    fai_chol_free(w.chol);
    fai_arena_free(w.arena);
    if (rc < 0)
        fai_arcs_free(a);
    else
        *arcs = a;
    return rc;
}

void fai_arcs_free(FaArcs *a) {
    if (!a) return;
    fa_free(a->rig.row);
    fa_free(a->rig.delta);
    fai_arena_free(a->arena);
    fa_free(a);
}
