#include "muscle/morph.h"

#include "math/chol.h"
#include "math/mat3.h"

#include <math.h>
#include <string.h>

static const double FLAT = 0.05; // of its volume at rest

struct FaMorph {
    int nnode, ntet, nfree;
    int *tet;     // (ntet x 4)
    double *rest; // (nnode x 3)
    int *free;    // number among the free nodes, -1: known                    (nnode)
    int *place;   // of each tet's entries in a, -1: none                       (ntet x 16)
    FaCsr a;      // of the free nodes
    FaChol *chol;
    int ncouple;   // entries of a known node in the row of a free one
    int *couple;   // free node's number, and the known node                  (ncouple x 2)
    double *pull;  // of each                                                 (ncouple)
    double *right; // (nfree x 4)
};

// Volume and gradients of the shape functions, 1/m; false: flat, or inside out.
static bool gradients(const int *v, const double *x, double g[4][3], double *volume) {
    double d[9], inverse[9];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            d[3 * i + k] = x[3 * (size_t)v[k + 1] + (size_t)i] - x[3 * (size_t)v[0] + (size_t)i];
    *volume = fai_m3_det(d) / 6;
    if (!(*volume > 0) || !fai_m3_inverse(d, inverse)) return false;
    for (int i = 0; i < 3; i++) {
        g[0][i] = 0;
        for (int k = 0; k < 3; k++) g[k + 1][i] = inverse[3 * k + i], g[0][i] -= inverse[3 * k + i];
    }
    return true;
}

static FaCode find_pattern(FaMorph *m, FaError *err) {
    FaTriplet *entry = FA_NEW(16 * (size_t)m->ntet + 1, FaTriplet);
    if (!entry) return FA_FAIL_MEMORY(err);
    int n = 0;
    for (int e = 0; e < 16 * m->ntet; e++) {
        int i = m->free[m->tet[4 * (e / 16) + e % 16 / 4]], j = m->free[m->tet[4 * (e / 16) + e % 4]];
        if (i >= 0 && j >= 0) entry[n++] = (FaTriplet){i, j, 0};
    }
    FaCode rc = fai_csr_from_triplets(m->nfree, m->nfree, n, entry, &m->a, err);
    fa_free(entry);
    for (int e = 0; e < 16 * m->ntet && rc >= 0; e++) {
        int i = m->free[m->tet[4 * (e / 16) + e % 16 / 4]], j = m->free[m->tet[4 * (e / 16) + e % 4]], at = -1;
        for (int k = i < 0 ? 0 : m->a.start[i]; i >= 0 && j >= 0 && k < m->a.start[i + 1]; k++)
            if (m->a.col[k] == j) at = k;
        m->place[e] = at;
        m->ncouple += i >= 0 && at < 0;
    }
    return rc < 0 ? rc : fai_chol_analyze(&m->a, NULL, &m->chol, err);
}

static FaCode build(FaMorph *m, const int *tet, const double *rest, const unsigned char *known, FaError *err) {
    m->tet = FA_NEW(4 * (size_t)m->ntet + 1, int);
    m->rest = FA_NEW(3 * (size_t)m->nnode + 1, double);
    m->free = FA_NEW((size_t)m->nnode + 1, int);
    m->place = FA_NEW(16 * (size_t)m->ntet + 1, int);
    m->right = FA_NEW(4 * (size_t)m->nnode + 4, double);
    if (!m->tet || !m->rest || !m->free || !m->place || !m->right) return FA_FAIL_MEMORY(err);
    memcpy(m->tet, tet, 4 * (size_t)m->ntet * sizeof *tet);
    memcpy(m->rest, rest, 3 * (size_t)m->nnode * sizeof *rest);
    for (int i = 0; i < m->nnode; i++) m->free[i] = known[i] ? -1 : m->nfree++;
    if (!m->nfree) return FA_OK;
    FA_TRY(find_pattern(m, err));
    m->couple = FA_NEW(2 * (size_t)m->ncouple + 1, int), m->pull = FA_NEW((size_t)m->ncouple + 1, double);
    if (!m->couple || !m->pull) return FA_FAIL_MEMORY(err);
    for (int e = 0, n = 0; e < 16 * m->ntet; e++) {
        const int row = m->free[m->tet[4 * (e / 16) + e % 16 / 4]];
        if (row >= 0 && m->place[e] < 0) m->couple[2 * n] = row, m->couple[2 * n++ + 1] = m->tet[4 * (e / 16) + e % 4];
    }
    return FA_OK;
}

FaCode fai_morph_new(int nnode, int ntet, const int *tet, const double *rest, const unsigned char *known,
                     FaMorph **morph, FaError *err) {
    *morph = NULL;
    FaMorph *m = FA_NEW(1, FaMorph);
    if (!m) return FA_FAIL_MEMORY(err);
    m->nnode = nnode, m->ntet = ntet;
    FaCode rc = build(m, tet, rest, known, err);
    if (rc < 0)
        fai_morph_free(m);
    else
        *morph = m;
    return rc;
}

void fai_morph_free(FaMorph *m) {
    if (!m) return;
    fai_chol_free(m->chol);
    fai_csr_free(&m->a);
    void *all[] = {m->tet, m->rest, m->free, m->place, m->couple, m->pull, m->right};
    for (int i = 0; i < FA_COUNT(all); i++) fa_free(all[i]);
    fa_free(m);
}

FaCode fai_morph_at(FaMorph *m, const double *x, FaError *err) {
    int n = 0;
    if (!m->nfree) return FA_OK;
    memset(m->a.val, 0, (size_t)m->a.start[m->nfree] * sizeof *m->a.val);
    for (int t = 0; t < m->ntet; t++) {
        const int *v = m->tet + 4 * (size_t)t;
        double g[4][3], at_rest[4][3], volume, whole;
        bool there = gradients(v, m->rest, at_rest, &whole), good = gradients(v, x, g, &volume);
        if (!good || volume < FLAT * whole) memcpy(g, at_rest, sizeof g), volume = whole;
        for (int e = 0; e < 16; e++) {
            const double k = there ? volume * fai_v3_dot(g[e / 4], g[e % 4]) : 0;
            const int at = m->place[16 * (size_t)t + (size_t)e];
            if (at >= 0)
                m->a.val[at] += k;
            else if (m->free[v[e / 4]] >= 0)
                m->pull[n++] = k;
        }
    }
    return fai_chol_factor(m->chol, &m->a, err);
}

void fai_morph_spread(FaMorph *m, double *d) {
    if (!m->nfree) return;
    memset(m->right, 0, 4 * (size_t)m->nfree * sizeof *m->right);
    for (int n = 0; n < m->ncouple; n++)
        for (size_t c = 0; c < 3; c++)
            m->right[4 * (size_t)m->couple[2 * n] + c] -= m->pull[n] * d[3 * (size_t)m->couple[2 * n + 1] + c];
    fai_chol_solve_d(m->chol, m->right, m->right);
    for (int i = 0; i < m->nnode; i++)
        for (int c = 0; c < 3 && m->free[i] >= 0; c++)
            d[3 * (size_t)i + (size_t)c] = m->right[4 * (size_t)m->free[i] + (size_t)c];
}

FaCode fai_morph_solve(FaMorph *m, const double *x, double *d, FaError *err) {
    FA_TRY(fai_morph_at(m, x, err));
    fai_morph_spread(m, d);
    return FA_OK;
}
