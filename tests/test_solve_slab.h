// A slab of flesh for the tests of energies and solvers: prisms of three tets, held at its bottom, loaded in every way
// there is.
#ifndef FASCIA_TEST_SOLVE_SLAB_H
#define FASCIA_TEST_SOLVE_SLAB_H

#include "test.h"

#include "base/base.h"
#include "solve/projective.h"

typedef struct Slab {
    FaElastic e;
    int nx, ny, nz;
    double step;   // m between nodes
    float *y;      // inertial prediction          (nnode x 4)
    float *target; // of the anchors               (nanchor x 4)
    double *y_d, *target_d;
    int nzone;
    int *zone; // the nodes of the top's middle
    int nrow;
    FaRow *row;
} Slab;

static inline int slab_node(const Slab *s, int i, int j, int k) { return (k * s->ny + j) * s->nx + i; }

static inline void slab_tets(Slab *s, double mu, double bulk) {
    // the prism over a triangle, split by the order of its global indices: conforming everywhere
    FaElastic *e = &s->e;
    for (int k = 0; k + 1 < s->nz; k++)
        for (int j = 0; j + 1 < s->ny; j++)
            for (int i = 0; i + 1 < s->nx; i++)
                for (int half = 0; half < 2; half++) {
                    int t[3] = {slab_node(s, i, j, k), slab_node(s, i + 1, j + half, k),
                                slab_node(s, i + !half, j + 1, k)};
                    int up = s->nx * s->ny;
                    if (half == 0)
                        t[1] = slab_node(s, i + 1, j, k), t[2] = slab_node(s, i + 1, j + 1, k);
                    else
                        t[1] = slab_node(s, i + 1, j + 1, k), t[2] = slab_node(s, i, j + 1, k);
                    // sort the triangle
                    for (int a = 0; a < 2; a++)
                        for (int b = 0; b < 2; b++)
                            if (t[b] > t[b + 1]) {
                                int x = t[b];
                                t[b] = t[b + 1];
                                t[b + 1] = x;
                            }
                    int tet[3][4] = {{t[0], t[1], t[2], t[2] + up},
                                     {t[0], t[1], t[1] + up, t[2] + up},
                                     {t[0], t[0] + up, t[1] + up, t[2] + up}};
                    for (int q = 0; q < 3; q++) {
                        int *c = e->tet[e->ntet];
                        memcpy(c, tet[q], sizeof tet[q]);
                        double m[3][3], det;
                        for (int a = 0; a < 3; a++)
                            for (int b = 0; b < 3; b++) m[a][b] = e->x0[3 * c[a + 1] + b] - e->x0[3 * c[0] + b];
                        det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) +
                              m[0][1] * (m[1][2] * m[2][0] - m[1][0] * m[2][2]) +
                              m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
                        if (det < 0) {
                            int x = c[2];
                            c[2] = c[3];
                            c[3] = x;
                            det = -det;
                        }
                        for (int a = 0; a < 4; a++) e->mass[c[a]] += 1100 * det / 24;
                        e->tet_strain[e->ntet] = mu * det / 6;
                        e->tet_volume[e->ntet++] = bulk * det / 6;
                    }
                }
}

// Springs on the top's edges, and bending there with uniform weights.
static inline void slab_surface(Slab *s) {
    FaElastic *e = &s->e;
    int k = s->nz - 1;
    e->biphasic = 0.1;
    for (int j = 0; j < s->ny; j++)
        for (int i = 0; i < s->nx; i++) {
            int a = slab_node(s, i, j, k);
            for (int q = 0; q < 3; q++) {
                int ii = i + (q != 1), jj = j + (q != 0);
                if (ii >= s->nx || jj >= s->ny) continue;
                e->edge[e->nedge][0] = a;
                e->edge[e->nedge][1] = slab_node(s, ii, jj, k);
                e->edge_weight[e->nedge] = 2;
                e->edge_weight2[e->nedge++] = 6;
            }
            if (i == 0 || j == 0 || i + 1 == s->nx || j + 1 == s->ny) continue;
            int n = e->bend_start[e->nbend], around[4] = {slab_node(s, i - 1, j, k), slab_node(s, i + 1, j, k),
                                                          slab_node(s, i, j - 1, k), slab_node(s, i, j + 1, k)};
            double c = 1 / (s->step * s->step);
            e->bend_node[n] = a;
            e->bend_coef[n] = 4 * c;
            for (int q = 0; q < 4; q++) {
                e->bend_node[n + 1 + q] = around[q];
                e->bend_coef[n + 1 + q] = -c;
            }
            e->bend_weight[e->nbend++] = 1e-10;
            e->bend_start[e->nbend] = n + 5;
        }
}

// Rows on the top's middle: pushes against a plane and against each other, pulls between neighbours two apart.
static inline void slab_rows(Slab *s, int most, bool pulls) {
    const FaElastic *e = &s->e;
    int k = s->nz - 1;
    for (int j = 2; j + 2 < s->ny; j += 2)
        for (int i = 2; i + 3 < s->nx && s->nrow < most; i += 2) {
            int a = slab_node(s, i, j, k), b = slab_node(s, i + 1, j, k), c = slab_node(s, i, j + 1, k),
                d = slab_node(s, i + 2, j + 1, k);
            FaRow r = {.node = {a, b, c, -1}, .weight = {0.5f, 0.3f, 0.2f, 0}, .stiffness = 40, .gap = 1e-5f};
            if (pulls && (i / 2 + j / 2) % 3 == 0) {
                r = (FaRow){
                    .node = {a, b, c, d}, .weight = {0.4f, 0.6f, -0.5f, -0.5f}, .stiffness = 10, .kind = FA_ROW_PULL};
                for (int q = 0; q < 3; q++) r.offset[q] = (float)(0.02 * s->step * (q + 1));
            } else {
                // a ceiling just above, a little askew: normals point down
                double n[3] = {0.1 * sin(i), 0.1 * cos(j), -1}, len = sqrt(n[0] * n[0] + n[1] * n[1] + 1);
                for (int q = 0; q < 3; q++) r.normal[q] = (float)(n[q] / len);
                r.offset[2] = (float)(-0.15 * s->step);
            }
            s->row[s->nrow++] = r;
        }
    (void)e;
}

// volume: weight of the volume term against strain; load: how strongly y and the anchors pull it out of shape, in
// steps.
static inline Slab *slab_new(int nx, int ny, int nz, double volume, bool surface, double load, int rows, bool pulls) {
    Slab *s = FA_NEW(1, Slab);
    FaElastic *e = &s->e;
    *s = (Slab){.nx = nx, .ny = ny, .nz = nz, .step = 0.003};
    FaArena *a = e->arena = fai_arena_new(0);
    size_t n = (size_t)nx * (size_t)ny * (size_t)nz;
    e->nnode = (int)n;
    e->x0 = FA_PUSH(a, 3 * n, double);
    e->mass = FA_PUSH(a, n, double);
    e->tet = fai_arena_push(a, 6 * n, sizeof(int[4]));
    e->tet_strain = FA_PUSH(a, 6 * n, double);
    e->tet_volume = FA_PUSH(a, 6 * n, double);
    e->edge = fai_arena_push(a, 3 * n, sizeof(int[2]));
    e->edge_weight = FA_PUSH(a, 3 * n, double);
    e->edge_weight2 = FA_PUSH(a, 3 * n, double);
    e->bend_start = FA_PUSH(a, n + 1, int);
    e->bend_node = FA_PUSH(a, 5 * n, int);
    e->bend_coef = FA_PUSH(a, 5 * n, double);
    e->bend_weight = FA_PUSH(a, n, double);
    e->anchor_node = FA_PUSH(a, n, int);
    e->anchor_weight = FA_PUSH(a, n, double);
    s->y = FA_PUSH(a, 4 * n, float);
    s->y_d = FA_PUSH(a, 3 * n, double);
    s->target = FA_PUSH(a, 4 * n, float);
    s->target_d = FA_PUSH(a, 3 * n, double);
    s->zone = FA_PUSH(a, n, int);
    s->row = FA_PUSH(a, n + 1, FaRow);
    for (int i = 0; i < (int)n; i++) {
        int at[3] = {i % nx, i / nx % ny, i / nx / ny};
        // off the lattice, so that nothing is true by symmetry alone
        for (int k = 0; k < 3; k++)
            e->x0[3 * i + k] = s->step * (at[k] + 0.15 * fai_random_unit(7, (uint64_t)(3 * i + k))) -
                               (k < 2 ? 0.5 * s->step * (k ? ny : nx) : 0);
        double wave = sin(0.3 * at[0]) * cos(0.2 * at[1]) * at[2] / (nz - 1.0);
        for (int k = 0; k < 3; k++)
            s->y[4 * i + k] = (float)(load * s->step * wave * (k == 2 ? 0.8 : k == 1 ? 0.5 : 0.3));
        if (at[2] == 0) {
            for (int k = 0; k < 3; k++)
                s->target[4 * e->nanchor + k] = (float)(load * 0.3 * s->step * sin(0.1 * at[0] + k));
            e->anchor_node[e->nanchor] = i;
            e->anchor_weight[e->nanchor++] = 5;
        }
    }
    for (int i = 0; i < 3 * (int)n; i++) s->y_d[i] = (double)s->y[4 * (i / 3) + i % 3];
    for (int i = 0; i < 3 * e->nanchor; i++) s->target_d[i] = (double)s->target[4 * (i / 3) + i % 3];
    slab_tets(s, 3000, 3000 * volume);
    if (surface) slab_surface(s);
    if (rows) slab_rows(s, rows, pulls);
    // the zone: nodes of rows, with their neighbours in between
    unsigned char *in = FA_PUSH(a, n, unsigned char);
    for (int r = 0; r < s->nrow; r++)
        for (int q = 0; q < 4; q++)
            if (s->row[r].node[q] >= 0) in[s->row[r].node[q]] = 1;
    for (int i = (int)n - 1; i >= 0; i--)
        if (in[i]) s->zone[s->nzone++] = i;
    return s;
}

static inline void slab_free(Slab *s) {
    fai_arena_free(s->e.arena);
    fa_free(s);
}

static inline FaProjectiveInput slab_input(const Slab *s, int iterations) {
    return (FaProjectiveInput){.y = s->y,
                               .inertia = 3600,
                               .frame.anchor = s->target,
                               .nrow = s->nrow,
                               .row = s->row,
                               .iterations = iterations};
}

static inline FaReferenceInput slab_reference(const Slab *s) {
    return (FaReferenceInput){.y = s->y_d,
                              .inertia = 3600,
                              .anchor = s->target_d,
                              .nrow = s->nrow,
                              .row = s->row,
                              .iterations = 3000,
                              .tolerance = 1e-10};
}

static inline FaProjectiveOptions slab_options(const Slab *s, FaSolveKind kind) {
    return (FaProjectiveOptions){
        .kind = kind, .inertia = 3600, .max_rows = FA_MAX(s->nrow, 1), .nzone = s->nzone, .zone = s->zone};
}

#endif
