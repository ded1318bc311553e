// Based on: thesis 001 sections 3.2, 4.3.2. Symbols: v = sum of coef x -> an edge or a row of the Laplacian
// (stretch.h).
//
// A term is k/2 (|v| - rest)^2; with f its tension, its gradient is f v/|v|, its Hessian along v is f', across f/|v|.
#include "build/equilibrium_step.h"

#include "energy/bend.h"
#include "energy/edge.h"
#include "math/chol.h"

#include <math.h>

enum { MOST_CG = 200 };

typedef struct Spring {
    double dir[3];        // v/|v|
    double pull;          // tension, N (of a bend N m)
    double across, along; // stiffness at the pose, never negative
} Spring;                 // all at weight 1

struct FaRestStep {
    const FaElastic *e;
    const double *w;
    int n, nspring;
    int *start, *node; // of springs: edges, then bends                         (nspring + 1)
    double *coef;
    double *v0, *rest; // (nspring x 3), (nspring)
    Spring *spring;    // (nspring)
    double *anchor;    // weight at nodes, N/m                                  (n)
    FaChol *chol;
    double *r, *p, *hp, *z; // of conjugate gradients, (n x 4) each
    float *quad;            // (n x 4)
    FaArena *arena;
};

void fai_rest_step_free(FaRestStep *s) {
    if (!s) return;
    fai_chol_free(s->chol);
    fai_arena_free(s->arena);
    fa_free(s);
}

static void list_springs(FaRestStep *s) {
    const FaElastic *e = s->e;
    int at = 0, k = 0;
    for (int i = 0; i < e->nedge; i++) {
        for (int c = 0; c < 2; c++) {
            s->node[at] = e->edge[i][c];
            s->coef[at++] = c ? -1 : 1;
        }
        s->start[++k] = at;
    }
    for (int b = 0; b < e->nbend; b++) {
        for (int i = e->bend_start[b]; i < e->bend_start[b + 1]; i++) {
            s->node[at] = e->bend_node[i];
            s->coef[at++] = e->bend_coef[i];
        }
        s->start[++k] = at;
    }
    for (k = 0; k < s->nspring; k++) {
        double *v = s->v0 + 3 * (size_t)k;
        for (int i = s->start[k]; i < s->start[k + 1]; i++)
            for (size_t c = 0; c < 3; c++) v[c] += s->coef[i] * e->x0[3 * (size_t)s->node[i] + c];
        s->rest[k] = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    }
}

FaCode fai_rest_step_new(const FaElastic *e, const FaRestStep *of, FaRestStep **step, FaError *err) {
    *step = NULL;
    FaRestStep *s = FA_NEW(1, FaRestStep);
    if (!s) return FA_FAIL_MEMORY(err);
    size_t n = (size_t)e->nnode, m = (size_t)e->nedge + (size_t)e->nbend;
    size_t entries = 2 * (size_t)e->nedge + (size_t)(e->nbend ? e->bend_start[e->nbend] : 0);
    s->e = e;
    s->n = e->nnode;
    s->nspring = (int)m;
    s->arena = fai_arena_new(0);
    bool ok = s->arena != NULL;
    if (ok) {
        s->start = FA_PUSH(s->arena, m + 1, int);
        s->node = FA_PUSH(s->arena, entries, int);
        s->coef = FA_PUSH(s->arena, entries, double);
        s->v0 = FA_PUSH(s->arena, 3 * m, double);
        s->rest = FA_PUSH(s->arena, m, double);
        s->spring = FA_PUSH(s->arena, m, Spring);
        s->anchor = FA_PUSH(s->arena, n, double);
        s->quad = FA_PUSH(s->arena, 4 * n, float);
        ok = s->start && s->node && s->coef && s->v0 && s->rest && s->spring && s->anchor && s->quad;
        double **quads[] = {&s->r, &s->p, &s->hp, &s->z};
        for (int i = 0; i < FA_COUNT(quads); i++) ok &= (*quads[i] = FA_PUSH(s->arena, 4 * n, double)) != NULL;
    }
    FaCode rc = ok ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) list_springs(s);
    if (rc >= 0 && of) rc = fai_chol_twin(of->chol, &s->chol, err);
    if (rc < 0)
        fai_rest_step_free(s);
    else
        *step = s;
    return rc;
}

FaCode fai_rest_step_matrix(const FaElastic *e, const double *w, FaCsr *a, FaError *err) {
    FaElastic body = *e;
    size_t edges = (size_t)e->nedge;
    FaArena *arena = fai_arena_new(0);
    *a = (FaCsr){0};
    if (!arena) return FA_FAIL_MEMORY(err);
    body.anchor_weight = FA_PUSH(arena, e->nanchor, double);
    body.edge_weight = FA_PUSH(arena, edges, double);
    body.edge_weight2 = FA_PUSH(arena, edges, double);
    body.bend_weight = FA_PUSH(arena, e->nbend, double);
    FaCode rc = FA_OK;
    if (body.anchor_weight && body.edge_weight && body.edge_weight2 && body.bend_weight) {
        for (int i = 0; i < e->nanchor; i++) body.anchor_weight[i] = *w++ * e->anchor_weight[i];
        for (int i = 0; i < e->nedge; i++, w++) {
            body.edge_weight[i] = *w * e->edge_weight[i];
            body.edge_weight2[i] = e->edge_weight2 ? *w * e->edge_weight2[i] : 0;
        }
        for (int i = 0; i < e->nbend; i++) body.bend_weight[i] = *w++ * e->bend_weight[i];
        rc = fai_elastic_matrix(&body, 0, a, err);
    } else {
        rc = FA_FAIL_MEMORY(err);
    }
    fai_arena_free(arena);
    return rc;
}

FaCode fai_rest_step_weights(FaRestStep *s, const double *w, const FaCsr *a, FaError *err) {
    const FaElastic *e = s->e;
    s->w = w;
    memset(s->anchor, 0, (size_t)s->n * sizeof *s->anchor);
    for (int i = 0; i < e->nanchor; i++) s->anchor[e->anchor_node[i]] += w[i] * e->anchor_weight[i];
    if (!s->chol) FA_TRY(fai_chol_analyze(a, &(FaCholOptions){.single = true}, &s->chol, err));
    return fai_chol_factor(s->chol, a, err);
}

// --- gradient and Hessian ---------------------------------------------------------------------------

// sum of coef x for quadruples
static void row_of(const FaRestStep *s, int k, const double *x, double v[3]) {
    v[0] = v[1] = v[2] = 0;
    for (int i = s->start[k]; i < s->start[k + 1]; i++) {
        const double *xi = x + 4 * (size_t)s->node[i], c = s->coef[i];
        v[0] += c * xi[0];
        v[1] += c * xi[1];
        v[2] += c * xi[2];
    }
}

static void add_row(const FaRestStep *s, int k, const double v[3], double *out) {
    for (int i = s->start[k]; i < s->start[k + 1]; i++) {
        double *to = out + 4 * (size_t)s->node[i], c = s->coef[i];
        to[0] += c * v[0];
        to[1] += c * v[1];
        to[2] += c * v[2];
    }
}

// |v| - rest from the displacement alone: no digits are lost (stretch.h).
static void look_at(const FaRestStep *s, int k, const double *u, Spring *q) {
    const double *v0 = s->v0 + 3 * (size_t)k;
    double d[3], v[3], vd = 0, rest = s->rest[k];
    row_of(s, k, u, d);
    for (int c = 0; c < 3; c++) {
        v[c] = v0[c] + d[c];
        vd += (v[c] + v0[c]) * d[c];
    }
    double len = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    const double *to = len > 1e-9 * rest && len > 0 ? v : v0;
    double size = to == v ? len : rest, more = len + rest > 0 ? vd / (len + rest) : 0;
    const FaElastic *e = s->e;
    bool edge = k < e->nedge;
    double weight = edge ? e->edge_weight[k] : e->bend_weight[k - e->nedge];
    double weight2 = edge && e->edge_weight2 ? e->edge_weight2[k] : 0,
           over = edge ? fmax(more - e->biphasic * rest, 0) : 0;
    q->pull = weight * more + weight2 * over;
    q->along = weight + (over > 0 ? weight2 : 0);
    q->across =
        size > 0 ? fmax(q->pull / size, 0) : q->along; // no rest and no length: a spring alike in all directions
    for (int c = 0; c < 3; c++) q->dir[c] = size > 0 ? to[c] / size : 0;
}

// Makes the springs ready, and r = gradient.
static void gradient(FaRestStep *s, const double *load, const double *u) {
    const double *w = s->w + s->e->nanchor;
    for (size_t i = 0; i < 4 * (size_t)s->n; i++) s->r[i] = s->anchor[i / 4] * u[i] - load[i];
    for (int k = 0; k < s->nspring; k++) {
        Spring *q = &s->spring[k];
        look_at(s, k, u, q);
        double f = w[k] * q->pull;
        add_row(s, k, (double[3]){f * q->dir[0], f * q->dir[1], f * q->dir[2]}, s->r);
    }
}

static void bent(const Spring *q, const double d[3], double out[3]) {
    double more = (q->along - q->across) * (q->dir[0] * d[0] + q->dir[1] * d[1] + q->dir[2] * d[2]);
    for (int c = 0; c < 3; c++) out[c] = q->across * d[c] + more * q->dir[c];
}

// out = H x
static void multiply(const FaRestStep *s, const double *x, double *out) {
    const double *w = s->w + s->e->nanchor;
    for (size_t i = 0; i < 4 * (size_t)s->n; i++) out[i] = s->anchor[i / 4] * x[i];
    for (int k = 0; k < s->nspring; k++) {
        double d[3], f[3];
        row_of(s, k, x, d);
        bent(&s->spring[k], d, f);
        for (int c = 0; c < 3; c++) f[c] *= w[k];
        add_row(s, k, f, out);
    }
}

// --- conjugate gradients ----------------------------------------------------------------------------

static double dot(const double *a, const double *b, size_t n) {
    double s[4] = {0};
    for (size_t i = 0; i < n; i += 4)
        for (size_t k = 0; k < 4; k++) s[k] += a[i + k] * b[i + k];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

// z = A^-1 x by the factor in floats, x brought to their range; x . z
static double precondition(FaRestStep *s, const double *x) {
    size_t n = 4 * (size_t)s->n;
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    if (!(most > 0)) return memset(s->z, 0, n * sizeof *s->z), 0;
    for (size_t i = 0; i < n; i++) s->quad[i] = (float)(x[i] / most);
    fai_chol_solve_f(s->chol, s->quad, s->quad);
    for (size_t i = 0; i < n; i++) s->z[i] = most * (double)s->quad[i];
    return dot(x, s->z, n);
}

// H x = b, b in s->r; from the guess in x.
static int conjugate(FaRestStep *s, double least, double *x) {
    size_t n = 4 * (size_t)s->n;
    multiply(s, x, s->hp);
    for (size_t i = 0; i < n; i++) s->r[i] -= s->hp[i];
    double rz = precondition(s, s->r), before = 0;
    int it = 0;
    for (; it < MOST_CG && rz > least; it++) {
        double beta = it ? rz / before : 0;
        for (size_t i = 0; i < n; i++) s->p[i] = s->z[i] + beta * s->p[i];
        multiply(s, s->p, s->hp);
        double php = dot(s->p, s->hp, n);
        if (!(php > 0)) break;
        for (size_t i = 0; i < n; i++) {
            x[i] += rz / php * s->p[i];
            s->r[i] -= rz / php * s->hp[i];
        }
        before = rz;
        rz = precondition(s, s->r);
    }
    return it;
}

int fai_rest_step_solve(FaRestStep *s, const double *load, const double *u, double tolerance, double *out) {
    gradient(s, load, u);
    double least = tolerance * tolerance * precondition(s, s->r);
    return conjugate(s, least, out);
}

int fai_rest_step_adjoint(FaRestStep *s, const double *u, const double *step, const double *d, double tolerance,
                          double *y, double *slope) {
    const FaElastic *e = s->e;
    memcpy(s->r, d, 4 * (size_t)s->n * sizeof *d);
    int it = conjugate(s, tolerance * tolerance * precondition(s, d), y);
    for (int i = 0; i < e->nanchor; i++) {
        size_t at = 4 * (size_t)e->anchor_node[i];
        for (size_t c = at; c < at + 3; c++) slope[i] -= e->anchor_weight[i] * (u[c] - step[c]) * y[c];
    }
    for (int k = 0; k < s->nspring; k++) {
        const Spring *q = &s->spring[k];
        double vy[3], vs[3], f[3], sum = 0;
        row_of(s, k, y, vy);
        row_of(s, k, step, vs);
        bent(q, vs, f);
        for (int c = 0; c < 3; c++) sum += vy[c] * (q->pull * q->dir[c] - f[c]);
        slope[e->nanchor + k] -= sum;
    }
    return it;
}
