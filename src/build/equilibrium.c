// Based on: thesis 001 section 4.3.2, eq. 4.13-4.15. Symbols: Xi -> terms and pull, w -> w, f -> force, lambda ->
// prior.
#include "build/equilibrium.h"

#include "base/task.h"
#include "energy/bend.h"
#include "energy/edge.h"
#include "math/chol.h"
#include "math/mat3.h"

#include <math.h>
#include <stdlib.h>

enum { TILE = 256, MOST_HALVINGS = 20 };
static const double FLOOR = 0.1;         // of edges and bends
static const double ANCHOR_FLOOR = 0.05; // of anchors: the body must hang on something
static const double MOST = 20;           // of all
static const double PRIOR = 1e-3;        // of the mean over nodes of sum_j |b_j|^2
static const double ARMIJO = 1e-4;
static const double SETTLED = 1e-5; // relative fall of E in one iteration: enough

struct FaEquilibrium {
    const FaElastic *e;
    FaEquilibriumOptions options;
    int nterm, width; // width: 3 * nshape
    int *start;       // nodes of each term                                        (nterm + 1)
    int *node;        //
    double *coef;     // G_k at them
    float *pull;      // g_k^j: what it does at weight 1 to a node of coefficient 1, N       (nterm x width)
    float *force;     // B_j, N                                                    (nnode x width)
    double *scale;    // K^-2, m2/N2                                                (nnode)
    int *at_start;    // entries of terms at each node                             (nnode + 1)
    int *at_term, *at_entry;
    double *left; // force left over, N; then K^-2 of it                       (nnode x width)
    double *part; // sums of tiles
    double lambda;
    // the terms that some shape strains; the others keep their weight
    int nlive;
    int *live;    //                                                           (nlive)
    int *live_of; // -1: none                                                  (nterm)
    FaCsr gram;   // Xi'Xi of the live ones
    FaArena *arena;
};

int fai_equilibrium_terms(const FaEquilibrium *q) { return q->nterm; }

double fai_equilibrium_floor(const FaEquilibrium *q, int term) {
    return term < q->e->nanchor ? ANCHOR_FLOOR : q->options.floor;
}

void fai_equilibrium_free(FaEquilibrium *q) {
    if (!q) return;
    fai_csr_free(&q->gram);
    fai_arena_free(q->arena);
    fa_free(q);
}

// --- the terms ----------------------------------------------------------------------------------------------------

static FaCode list_terms(FaEquilibrium *q, FaError *err) {
    const FaElastic *e = q->e;
    size_t entries = (size_t)e->nanchor + 2 * (size_t)e->nedge + (size_t)(e->nbend ? e->bend_start[e->nbend] : 0);
    size_t n = (size_t)e->nnode;
    q->nterm = e->nanchor + e->nedge + e->nbend;
    q->start = FA_PUSH(q->arena, (size_t)q->nterm + 1, int);
    q->node = FA_PUSH(q->arena, entries, int);
    q->coef = FA_PUSH(q->arena, entries, double);
    q->at_start = FA_PUSH(q->arena, n + 2, int);
    q->at_term = FA_PUSH(q->arena, entries, int);
    q->at_entry = FA_PUSH(q->arena, entries, int);
    if (!q->start || !q->node || !q->coef || !q->at_start || !q->at_term || !q->at_entry) return FA_FAIL_MEMORY(err);
    int at = 0, k = 0;
    for (int i = 0; i < e->nanchor; i++) {
        q->node[at] = e->anchor_node[i];
        q->coef[at++] = 1;
        q->start[++k] = at;
    }
    for (int i = 0; i < e->nedge; i++) {
        for (int c = 0; c < 2; c++) {
            q->node[at] = e->edge[i][c];
            q->coef[at++] = c ? -1 : 1;
        }
        q->start[++k] = at;
    }
    for (int b = 0; b < e->nbend; b++) {
        for (int i = e->bend_start[b]; i < e->bend_start[b + 1]; i++) {
            q->node[at] = e->bend_node[i];
            q->coef[at++] = e->bend_coef[i];
        }
        q->start[++k] = at;
    }
    // and by nodes, in the order of terms
    for (int i = 0; i < at; i++) q->at_start[q->node[i] + 2]++;
    for (size_t i = 2; i <= n; i++) q->at_start[i] += q->at_start[i - 1];
    for (k = 0; k < q->nterm; k++)
        for (int i = q->start[k]; i < q->start[k + 1]; i++) {
            int to = q->at_start[q->node[i] + 1]++;
            q->at_term[to] = k;
            q->at_entry[to] = i;
        }
    return FA_OK;
}

typedef struct Pose {
    FaEquilibrium *q;
    const double *u; // x0 + b_j against x0
    int shape;
} Pose;

static void pull_terms(void *ctx, int begin, int end, int chunk) {
    const Pose *p = ctx;
    const FaElastic *e = p->q->e;
    (void)chunk;
    for (int k = begin; k < end; k++) {
        double r[3] = {0};
        if (k < e->nanchor) {
            fai_v3_scale(e->anchor_weight[k], p->u + 3 * (size_t)e->anchor_node[k], r);
        } else if (k < e->nanchor + e->nedge) {
            int i = k - e->nanchor;
            double x[2][3], g[2][3];
            for (int c = 0; c < 2; c++) memcpy(x[c], p->u + 3 * (size_t)e->edge[i][c], sizeof x[c]);
            fai_edge_energy_ref(e, i, fai_edge_rest(e, i), (const double(*)[3])x, g);
            memcpy(r, g[0], sizeof r);
        } else {
            int b = k - e->nanchor - e->nedge;
            fai_bend_force_ref(e, b, fai_bend_rest(e, b), p->u, r);
        }
        for (int c = 0; c < 3; c++)
            p->q->pull[(size_t)k * (size_t)p->q->width + (size_t)(3 * p->shape + c)] = (float)r[c];
    }
}

static FaCode pull_shapes(FaEquilibrium *q, int nshape, const float *b, const double *force, FaError *err) {
    size_t n = (size_t)q->e->nnode, width = (size_t)q->width;
    double *u = FA_NEW(3 * n, double);
    q->pull = FA_PUSH(q->arena, (size_t)q->nterm * width, float);
    q->force = FA_PUSH(q->arena, n * width, float);
    q->left = FA_PUSH(q->arena, n * width, double);
    q->scale = FA_PUSH(q->arena, n, double);
    q->part = FA_PUSH(q->arena, fai_chunks((int)n, TILE), double);
    if (!u || !q->pull || !q->force || !q->left || !q->scale || !q->part) {
        fa_free(u);
        return FA_FAIL_MEMORY(err);
    }
    for (size_t i = 0; i < n; i++) q->scale[i] = force[i] > 0 ? 1 / (force[i] * force[i]) : 0;
    for (int j = 0; j < nshape; j++) {
        const float *bj = b + 3 * n * (size_t)j;
        for (size_t i = 0; i < 3 * n; i++) {
            u[i] = (double)bj[i];
            q->force[i / 3 * width + 3 * (size_t)j + i % 3] = (float)(force[i / 3] * u[i]);
        }
        fai_parallel(q->nterm, TILE, pull_terms, &(Pose){q, u, j});
    }
    fa_free(u);
    return FA_OK;
}

// --- the energy ---------------------------------------------------------------------------------------------------

typedef struct Eval {
    FaEquilibrium *q;
    const double *w;
    double *out;
} Eval;

// left = sum_k w_k G_k' g_k^j - B_j
static void left_over(void *ctx, int begin, int end, int chunk) {
    const Eval *v = ctx;
    FaEquilibrium *q = v->q;
    size_t width = (size_t)q->width;
    (void)chunk;
    for (int n = begin; n < end; n++) {
        double *r = q->left + (size_t)n * width;
        const float *f = q->force + (size_t)n * width;
        for (size_t j = 0; j < width; j++) r[j] = -(double)f[j];
        for (int i = q->at_start[n]; i < q->at_start[n + 1]; i++) {
            const float *g = q->pull + (size_t)q->at_term[i] * width;
            double c = v->w[q->at_term[i]] * q->coef[q->at_entry[i]];
            for (size_t j = 0; j < width; j++) r[j] += c * (double)g[j];
        }
    }
}

static void sum_squares(void *ctx, int begin, int end, int chunk) {
    FaEquilibrium *q = ctx;
    size_t width = (size_t)q->width;
    double total = 0;
    for (int n = begin; n < end; n++) {
        double sum = 0;
        const double *r = q->left + (size_t)n * width;
        for (size_t j = 0; j < width; j++) sum += r[j] * r[j];
        total += q->scale[n] * sum;
    }
    q->part[chunk] = total;
}

// Half the squared norm of what is left, and left made into its derivative (if asked for).
static double weigh(FaEquilibrium *q, bool derivative) {
    size_t width = (size_t)q->width, n = (size_t)q->e->nnode;
    double sum = 0;
    fai_parallel(q->e->nnode, TILE, sum_squares, q);
    for (int c = 0; c < fai_chunks(q->e->nnode, TILE); c++) sum += q->part[c];
    if (derivative)
        for (size_t i = 0; i < n; i++)
            for (size_t j = i * width; j < (i + 1) * width; j++) q->left[j] *= q->scale[i];
    return sum / 2;
}

static double dot4(const float *a, const double *b, size_t n) {
    double s[4] = {0};
    size_t j = 0;
    for (; j + 4 <= n; j += 4)
        for (size_t k = 0; k < 4; k++) s[k] += (double)a[j + k] * b[j + k];
    for (; j < n; j++) s[0] += (double)a[j] * b[j];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

// out = Xi' left
static void to_terms(void *ctx, int begin, int end, int chunk) {
    const Eval *v = ctx;
    const FaEquilibrium *q = v->q;
    size_t width = (size_t)q->width;
    (void)chunk;
    for (int k = begin; k < end; k++) {
        double g = 0;
        for (int i = q->start[k]; i < q->start[k + 1]; i++)
            g += q->coef[i] * dot4(q->pull + (size_t)k * width, q->left + (size_t)q->node[i] * width, width);
        v->out[k] = g;
    }
}

double fai_equilibrium_energy(FaEquilibrium *q, const double *w, double *gradient, double *misfit) {
    Eval v = {q, w, gradient};
    double prior = 0;
    fai_parallel(q->e->nnode, TILE, left_over, &v);
    double data = weigh(q, gradient != NULL);
    for (int k = 0; k < q->nterm; k++) prior += 1 / (w[k] * w[k]) + 2 * w[k] - 3;
    if (gradient) {
        fai_parallel(q->nterm, TILE, to_terms, &v);
        for (int k = 0; k < q->nterm; k++) gradient[k] += q->lambda * (1 - 1 / (w[k] * w[k] * w[k]));
    }
    if (misfit) *misfit = data;
    return data + q->lambda / 2 * prior;
}

void fai_equilibrium_left(FaEquilibrium *q, const double *w, double *share) {
    size_t width = (size_t)q->width;
    fai_parallel(q->e->nnode, TILE, left_over, &(Eval){q, w, NULL});
    for (size_t s = 0; 3 * s < width; s++) {
        double left = 0, all = 0;
        for (size_t n = 0; n < (size_t)q->e->nnode; n++)
            for (size_t j = n * width + 3 * s; j < n * width + 3 * s + 3; j++) {
                left += q->left[j] * q->left[j];
                all += (double)q->force[j] * (double)q->force[j];
            }
        share[s] = all > 0 ? sqrt(left / all) : 0;
    }
}

// --- Xi'Xi --------------------------------------------------------------------------------------------------------

static bool strained(const FaEquilibrium *q, int k) {
    const float *g = q->pull + (size_t)k * (size_t)q->width;
    for (int j = 0; j < q->width; j++)
        if (g[j] != 0) return true;
    return false;
}

static int by_number(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

// Live terms that share a node with each, in order. First a count of them (gram.col NULL), then the list.
static void neighbours(FaEquilibrium *q, int *seen) {
    for (int a = 0, at = 0; a < q->nlive; a++) {
        int k = q->live[a], first = at;
        for (int i = q->start[k]; i < q->start[k + 1]; i++)
            for (int j = q->at_start[q->node[i]]; j < q->at_start[q->node[i] + 1]; j++) {
                int b = q->live_of[q->at_term[j]];
                if (b < 0 || seen[b] == a) continue;
                seen[b] = a;
                if (q->gram.col) q->gram.col[at] = b;
                at++;
            }
        if (q->gram.col) qsort(q->gram.col + first, (size_t)(at - first), sizeof(int), by_number);
        q->gram.start[a + 1] = at;
    }
}

static void gram_rows(void *ctx, int begin, int end, int chunk) {
    FaEquilibrium *q = ctx;
    size_t width = (size_t)q->width;
    (void)chunk;
    for (int a = begin; a < end; a++) {
        int k = q->live[a];
        for (int at = q->gram.start[a]; at < q->gram.start[a + 1]; at++) {
            int l = q->live[q->gram.col[at]];
            double share = 0, s[4] = {0};
            for (int i = q->start[k]; i < q->start[k + 1]; i++)
                for (int j = q->start[l]; j < q->start[l + 1]; j++)
                    if (q->node[i] == q->node[j]) share += q->scale[q->node[i]] * q->coef[i] * q->coef[j];
            const float *x = q->pull + (size_t)k * width, *y = q->pull + (size_t)l * width;
            size_t j = 0;
            for (; j + 4 <= width; j += 4)
                for (size_t c = 0; c < 4; c++) s[c] += (double)x[j + c] * (double)y[j + c];
            for (; j < width; j++) s[0] += (double)x[j] * (double)y[j];
            q->gram.val[at] = share * ((s[0] + s[1]) + (s[2] + s[3]));
        }
    }
}

static FaCode make_gram(FaEquilibrium *q, FaError *err) {
    q->live = FA_PUSH(q->arena, q->nterm, int);
    q->live_of = FA_PUSH(q->arena, q->nterm, int);
    if (!q->live || !q->live_of) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < q->nterm; k++) {
        q->live_of[k] = strained(q, k) ? q->nlive : -1;
        if (q->live_of[k] >= 0) q->live[q->nlive++] = k;
    }
    int *seen = FA_NEW(q->nlive, int);
    q->gram.nrow = q->gram.ncol = q->nlive;
    q->gram.start = FA_NEW((size_t)q->nlive + 1, int);
    if (!seen || !q->gram.start) {
        fa_free(seen);
        return FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < q->nlive; i++) seen[i] = -1;
    neighbours(q, seen);
    size_t n = (size_t)q->gram.start[q->nlive];
    q->gram.col = FA_NEW(n, int);
    q->gram.val = FA_NEW(n, double);
    bool ok = q->gram.col && q->gram.val;
    for (int i = 0; i < q->nlive; i++) seen[i] = -1;
    if (ok) {
        neighbours(q, seen);
        fai_parallel(q->nlive, TILE, gram_rows, q);
    }
    fa_free(seen);
    return ok ? FA_OK : FA_FAIL_MEMORY(err);
}

FaCode fai_equilibrium_new(const FaElastic *e, int nshape, const float *b, const double *force,
                           const FaEquilibriumOptions *options, FaEquilibrium **equilibrium, FaError *err) {
    *equilibrium = NULL;
    FaEquilibrium *q = FA_NEW(1, FaEquilibrium);
    if (!q) return FA_FAIL_MEMORY(err);
    q->e = e;
    if (options) q->options = *options;
    if (!(q->options.floor > 0)) q->options.floor = FLOOR;
    if (!(q->options.prior > 0)) q->options.prior = PRIOR;
    if (q->options.iterations <= 0) q->options.iterations = 10;
    q->width = 3 * nshape;
    q->arena = fai_arena_new(0);
    FaCode rc = q->arena ? list_terms(q, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = pull_shapes(q, nshape, b, force, err);
    if (rc >= 0) rc = make_gram(q, err);
    if (rc < 0) {
        fai_equilibrium_free(q);
        return rc;
    }
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)e->nnode * (size_t)nshape; i++) sum += (double)b[i] * (double)b[i];
    q->lambda = q->options.prior * sum / e->nnode;
    *equilibrium = q;
    return FA_OK;
}

// --- projected Newton -----------------------------------------------------------------------------------------------

typedef struct Descent {
    FaEquilibrium *q;
    FaArena *arena;
    FaChol *chol;
    FaCsr h;             // same pattern as gram
    double *g, *next;    // (nterm)
    double *d;           // direction                                                 (nterm)
    double *quad;        // of solves                                                 (nlive x 4)
    unsigned char *held; // at a bound that the gradient pushes against               (nlive)
} Descent;

static double lower(const FaEquilibrium *q, int k) { return fai_equilibrium_floor(q, k); }

static void hold(Descent *s, const double *w) {
    const FaEquilibrium *q = s->q;
    for (int a = 0; a < q->nlive; a++) {
        int k = q->live[a];
        double low = lower(q, k);
        s->held[a] = (w[k] <= low * (1 + 1e-9) && s->g[k] > 0) || (w[k] >= MOST * (1 - 1e-9) && s->g[k] < 0);
    }
}

// H of the free weights, unit rows for those held.
static void hessian_rows(void *ctx, int begin, int end, int chunk) {
    Descent *s = ctx;
    const FaCsr *m = &s->q->gram;
    (void)chunk;
    for (int a = begin; a < end; a++) {
        double w = s->next[s->q->live[a]], prior = 3 * s->q->lambda / (w * w * w * w);
        for (int i = m->start[a]; i < m->start[a + 1]; i++) {
            int b = m->col[i];
            if (a == b)
                s->h.val[i] = s->held[a] ? 1 : m->val[i] * (1 + 1e-12) + prior;
            else
                s->h.val[i] = s->held[a] || s->held[b] ? 0 : m->val[i];
        }
    }
}

// H d = -g on the free weights.
static void direction(Descent *s) {
    FaEquilibrium *q = s->q;
    memset(s->d, 0, (size_t)q->nterm * sizeof *s->d);
    for (int a = 0; a < q->nlive; a++) s->quad[4 * (size_t)a] = s->held[a] ? 0 : -s->g[q->live[a]];
    fai_chol_solve_d(s->chol, s->quad, s->quad);
    for (int a = 0; a < q->nlive; a++)
        if (!s->held[a]) s->d[q->live[a]] = s->quad[4 * (size_t)a];
}

// A shorter and shorter part of the direction, cut off at the bounds, until E falls enough.
static bool search(Descent *s, double *w, double *energy) {
    FaEquilibrium *q = s->q;
    double t = 1;
    for (int trial = 0; trial < MOST_HALVINGS; trial++, t /= 2) {
        double promised = 0;
        memcpy(s->next, w, (size_t)q->nterm * sizeof *w);
        for (int a = 0; a < q->nlive; a++) {
            int k = q->live[a];
            if (s->held[a]) continue;
            s->next[k] = fmin(fmax(w[k] + t * s->d[k], lower(q, k)), MOST);
            promised += s->g[k] * (s->next[k] - w[k]);
        }
        double there = fai_equilibrium_energy(q, s->next, NULL, NULL);
        if (there <= *energy + ARMIJO * promised && there < *energy) {
            memcpy(w, s->next, (size_t)q->nterm * sizeof *w);
            *energy = there;
            return true;
        }
    }
    return false;
}

static FaCode descend(Descent *s, double *w, double *log, int *iterations, FaError *err) {
    FaEquilibrium *q = s->q;
    const FaEquilibriumOptions *o = &q->options;
    double energy = fai_equilibrium_energy(q, w, s->g, NULL), before;
    if (log) log[0] = energy;
    for (*iterations = 0; *iterations < o->iterations;) {
        before = energy;
        hold(s, w);
        memcpy(s->next, w, (size_t)q->nterm * sizeof *w);
        fai_parallel(q->nlive, TILE, hessian_rows, s);
        FA_TRY(fai_chol_factor(s->chol, &s->h, err));
        direction(s);
        if (!search(s, w, &energy)) break;
        fai_equilibrium_energy(q, w, s->g, NULL);
        ++*iterations;
        if (log) log[*iterations] = energy;
        FA_TRY(fai_progress(o->progress, o->progress_user, "equilibrium", (double)*iterations / o->iterations,
                            "the face is as it was", err));
        if (before - energy <= SETTLED * before) break;
    }
    return FA_OK;
}

FaCode fai_equilibrium_minimise(FaEquilibrium *q, double *w, double *energy, int *iterations, FaError *err) {
    size_t n = (size_t)q->nterm, live = (size_t)q->nlive;
    Descent s = {.q = q, .arena = fai_arena_new(0), .h = q->gram};
    *iterations = 0;
    for (int k = 0; k < q->nterm; k++) w[k] = fmin(fmax(w[k], lower(q, k)), MOST);
    FaCode rc = s.arena ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        s.h.val = FA_PUSH(s.arena, q->gram.start[live], double);
        s.g = FA_PUSH(s.arena, n, double);
        s.next = FA_PUSH(s.arena, n, double);
        s.d = FA_PUSH(s.arena, n, double);
        s.quad = FA_PUSH(s.arena, 4 * live, double);
        s.held = FA_PUSH(s.arena, live, unsigned char);
        if (!s.h.val || !s.g || !s.next || !s.d || !s.held || !s.quad) rc = FA_FAIL_MEMORY(err);
    }
    if (rc >= 0 && live) rc = fai_chol_analyze(&q->gram, NULL, &s.chol, err);
    if (rc >= 0 && live) rc = descend(&s, w, energy, iterations, err);
    fai_chol_free(s.chol);
    fai_arena_free(s.arena);
    return rc;
}
