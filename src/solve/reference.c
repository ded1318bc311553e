// The truth: the same energies in double, element by element, as the formulas stand; minimised by textbook L-BFGS (two
// loops, history 20) on a factor of A with the rows in it. Slow, plain, and independent of the fast code.
#include "base/base.h"
#include "energy/anchor.h"
#include "energy/bend.h"
#include "energy/edge.h"
#include "energy/membrane.h"
#include "energy/push_pull.h"
#include "energy/tet.h"
#include "math/chol.h"
#include "math/mat3.h"
#include "solve/projective.h"

enum { HISTORY = 20, MOST_TRIALS = 60 };

// --- energy -------------------------------------------------------------------------------------------------------

static void pick(const double *u, int node, double out[3]) { memcpy(out, u + 3 * (size_t)node, 3 * sizeof *out); }

static void put(double *g, int node, const double add[3]) {
    for (int k = 0; g && k < 3; k++) g[3 * (size_t)node + (size_t)k] += add[k];
}

static double tets_energy(const FaElastic *e, const double *rest, const double *u, double *g) {
    double total = 0;
    for (int t = 0; t < e->ntet; t++) {
        double m[9], inv[9] = {0}, x[4][3], grad[12];
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
                m[3 * k + c] =
                    e->x0[3 * (size_t)e->tet[t][c + 1] + (size_t)k] - e->x0[3 * (size_t)e->tet[t][0] + (size_t)k];
        fai_m3_inverse(m, inv);
        for (int c = 0; c < 4; c++) pick(u, e->tet[t][c], x[c]);
        total += fai_tet_energy_ref(inv, rest ? rest + 9 * (size_t)t : NULL, e->tet_strain[t], e->tet_volume[t],
                                    (const double(*)[3])x, grad);
        for (int c = 0; c < 4; c++) put(g, e->tet[t][c], grad + 3 * c);
    }
    return total;
}

static double surface_energy(const FaElastic *e, const FaReferenceInput *in, const double *u, double *g) {
    double total = 0;
    for (int i = 0; i < e->nedge; i++) {
        double x[2][3], grad[2][3];
        for (int c = 0; c < 2; c++) pick(u, e->edge[i][c], x[c]);
        double rest = in->edge_rest ? in->edge_rest[i] : fai_edge_rest(e, i);
        total += fai_edge_energy_ref(e, i, rest, (const double(*)[3])x, grad);
        for (int c = 0; c < 2; c++) put(g, e->edge[i][c], grad[c]);
    }
    for (int b = 0; b < e->nbend; b++) {
        double r[3], add[3], rest = in->bend_rest ? in->bend_rest[b] : fai_bend_rest(e, b);
        total += fai_bend_force_ref(e, b, rest, u, r);
        for (int i = e->bend_start[b]; i < e->bend_start[b + 1]; i++) {
            fai_v3_scale(e->bend_coef[i], r, add);
            put(g, e->bend_node[i], add);
        }
    }
    return total;
}

double fai_reference_energy(const FaElastic *e, const FaReferenceInput *in, const double *u, double *g) {
    double total = 0;
    for (int i = 0; i < 3 * e->nnode; i++) {
        double w = in->inertia * e->mass[i / 3], d = u[i] - in->y[i];
        total += 0.5 * w * d * d;
        if (g) g[i] = w * d;
    }
    for (int i = 0; i < e->nanchor; i++) {
        double x[3], grad[3];
        pick(u, e->anchor_node[i], x);
        total += fai_anchor_energy_ref(e->anchor_weight[i], x, in->anchor ? in->anchor + 3 * (size_t)i : NULL, grad);
        put(g, e->anchor_node[i], grad);
    }
    total += surface_energy(e, in, u, g);
    for (int i = 0; i < e->nmembrane; i++) {
        double x[3][3], grad[9];
        for (int j = 0; j < 3; j++) pick(u, e->membrane[i][j], x[j]);
        total += fai_membrane_energy_ref(e->x0, e->membrane[i], e->membrane_weight[i], (const double(*)[3])x, grad);
        for (int j = 0; j < 3; j++) put(g, e->membrane[i][j], grad + 3 * (size_t)j);
    }
    total += tets_energy(e, in->tet_rest, u, g);
    for (int i = 0; i < in->nrow; i++) {
        double x[4][3] = {{0}}, grad[4][3];
        for (int j = 0; j < 4; j++)
            if (in->row[i].node[j] >= 0) pick(u, in->row[i].node[j], x[j]);
        total += fai_row_energy_ref(&in->row[i], (const double(*)[3])x, grad);
        for (int j = 0; j < 4; j++)
            if (in->row[i].node[j] >= 0) put(g, in->row[i].node[j], grad[j]);
    }
    return total;
}

// --- minimising ---------------------------------------------------------------------------------------------------

// A with the rows in it, as if each acted in all directions.
static FaCode matrix_with_rows(const FaElastic *e, const FaReferenceInput *in, FaCsr *out, FaError *err) {
    FaCsr a;
    FA_TRY(fai_elastic_matrix(e, in->inertia, &a, err));
    size_t n = (size_t)a.start[a.nrow] + 16 * (size_t)in->nrow;
    FaTriplet *t = FA_NEW(n, FaTriplet);
    if (!t || n > INT32_MAX) {
        fai_resize(t, 0);
        fai_csr_free(&a);
        return FA_FAIL_MEMORY(err);
    }
    int count = 0;
    for (int i = 0; i < a.nrow; i++)
        for (int k = a.start[i]; k < a.start[i + 1]; k++) t[count++] = (FaTriplet){i, a.col[k], a.val[k]};
    for (int r = 0; r < in->nrow; r++)
        for (int k = 0; k < 16; k++) {
            const FaRow *row = &in->row[r];
            int i = row->node[k / 4], j = row->node[k % 4];
            if (i < 0 || j < 0) continue;
            double w = (double)row->stiffness * (double)row->weight[k / 4] * (double)row->weight[k % 4];
            t[count++] = (FaTriplet){i, j, w};
        }
    FaCode rc = fai_csr_from_triplets(a.nrow, a.nrow, count, t, out, err);
    fai_resize(t, 0);
    fai_csr_free(&a);
    return rc;
}

typedef struct Minimizer {
    const FaElastic *e;
    const FaReferenceInput *in;
    FaArena *arena;
    FaChol *chol;
    int n, count;                    // numbers, pairs
    double *s[HISTORY], *y[HISTORY]; // oldest first
    double *g, *d, *q, *u_next, *g_next;
    double *quad; // n/3 x 4
} Minimizer;

static double dot(const Minimizer *m, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < m->n; i++) sum += a[i] * b[i];
    return sum;
}

static void direction(Minimizer *m) {
    double alpha[HISTORY];
    memcpy(m->q, m->g, (size_t)m->n * sizeof *m->q);
    for (int k = m->count - 1; k >= 0; k--) {
        alpha[k] = dot(m, m->s[k], m->q) / dot(m, m->s[k], m->y[k]);
        for (int i = 0; i < m->n; i++) m->q[i] -= alpha[k] * m->y[k][i];
    }
    for (int i = 0; i < m->n; i++) m->quad[4 * (i / 3) + i % 3] = m->q[i];
    fai_chol_solve_d(m->chol, m->quad, m->quad);
    for (int i = 0; i < m->n; i++) m->d[i] = m->quad[4 * (i / 3) + i % 3];
    for (int k = 0; k < m->count; k++) {
        double beta = dot(m, m->y[k], m->d) / dot(m, m->s[k], m->y[k]);
        for (int i = 0; i < m->n; i++) m->d[i] += (alpha[k] - beta) * m->s[k][i];
    }
    for (int i = 0; i < m->n; i++) m->d[i] = -m->d[i];
}

static void remember(Minimizer *m, double length) {
    if (m->count == HISTORY) {
        double *s = m->s[0], *y = m->y[0];
        memmove(m->s, m->s + 1, (HISTORY - 1) * sizeof *m->s);
        memmove(m->y, m->y + 1, (HISTORY - 1) * sizeof *m->y);
        m->s[HISTORY - 1] = s;
        m->y[HISTORY - 1] = y;
        m->count--;
    }
    for (int i = 0; i < m->n; i++) {
        m->s[m->count][i] = length * m->d[i];
        m->y[m->count][i] = m->g_next[i] - m->g[i];
    }
    if (dot(m, m->s[m->count], m->y[m->count]) > 0) m->count++;
}

// Armijo; and where energies differ by rounding only, the slope (see line_search.c).
static bool search(Minimizer *m, const double *u, double *energy, double slope, double *length) {
    *length = 1;
    for (int trial = 0; trial < MOST_TRIALS; trial++, *length *= 0.5) {
        for (int i = 0; i < m->n; i++) m->u_next[i] = u[i] + *length * m->d[i];
        double next = fai_reference_energy(m->e, m->in, m->u_next, m->g_next), fall = next - *energy;
        bool close = fabs(fall) <= 1e-12 * fabs(*energy) && dot(m, m->g_next, m->d) <= -0.8 * slope;
        if (!(fall <= 0.1 * *length * slope) && !close) continue;
        *energy = next;
        return true;
    }
    return false;
}

static FaCode minimize(Minimizer *m, double *u, double *energy, int *iterations, FaError *err) {
    double first = 0;
    *energy = fai_reference_energy(m->e, m->in, u, m->g);
    if (!isfinite(*energy))
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "check targets and rows", "the energy is not finite");
    for (*iterations = 0; *iterations < m->in->iterations; ++*iterations) {
        direction(m);
        double slope = dot(m, m->g, m->d), length;
        if (*iterations == 0) first = slope;
        if (slope >= 0 || sqrt(slope / first) <= m->in->tolerance) return FA_OK;
        if (!search(m, u, energy, slope, &length)) {
            if (m->count == 0) return FA_STALLED;
            m->count = 0;
            continue;
        }
        remember(m, length);
        memcpy(u, m->u_next, (size_t)m->n * sizeof *u);
        memcpy(m->g, m->g_next, (size_t)m->n * sizeof *u);
    }
    return FA_STALLED;
}

FaCode fai_reference_solve(const FaElastic *e, const FaReferenceInput *in, double *u, double *energy, int *iterations,
                           FaError *err) {
    FA_TRY(fai_elastic_check(e, err));
    FA_TRY(fai_rows_check(in->nrow, in->row, e->nnode, INT32_MAX, err));
    Minimizer m = {.e = e, .in = in, .arena = fai_arena_new(0), .n = 3 * e->nnode};
    FaCsr a = {0};
    FaCode rc = m.arena ? FA_OK : FA_FAIL_MEMORY(err);
    double **array[] = {&m.g, &m.d, &m.q, &m.u_next, &m.g_next, &m.quad};
    for (int i = 0; rc >= 0 && i < FA_COUNT(array) + 2 * HISTORY; i++) {
        double **at = i < FA_COUNT(array) ? array[i] : &(i % 2 ? m.s : m.y)[(i - FA_COUNT(array)) / 2];
        *at = FA_PUSH(m.arena, 4 * (size_t)e->nnode, double);
        if (!*at) rc = FA_FAIL_MEMORY(err);
    }
    if (rc >= 0) rc = matrix_with_rows(e, in, &a, err);
    if (rc >= 0) rc = fai_chol_analyze(&a, NULL, &m.chol, err);
    if (rc >= 0) rc = fai_chol_factor(m.chol, &a, err);
    int own_iterations;
    double own_energy;
    if (rc >= 0) rc = minimize(&m, u, energy ? energy : &own_energy, iterations ? iterations : &own_iterations, err);
    fai_chol_free(m.chol);
    fai_csr_free(&a);
    fai_arena_free(m.arena);
    return rc;
}
