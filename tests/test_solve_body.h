// A block of flesh for the tests of Newton's method.
#ifndef FASCIA_TEST_SOLVE_BODY_H
#define FASCIA_TEST_SOLVE_BODY_H

#include "base/base.h"
#include "energy/solid.h"
#include "math/mat3.h"

#include "test.h"

static inline double uniform(uint64_t *c) { return 2 * fai_random_unit(11, (*c)++) - 1; }

typedef struct Body {
    FaSolidLaw law;
    int nx, ny, nz, nnode, ntet;
    int *tet;
    double *x0, *x, *mu, *lambda, *mass, *force, *at;
    unsigned char *fixed;
    FaSolid *solid;
    FaSolidRest *rest;
} Body;

static inline int node_of(const Body *b, int i, int j, int k) { return (k * (b->ny + 1) + j) * (b->nx + 1) + i; }

// A block of nx x ny x nz cells, six tets each with the cube's diagonal in common, mirrored from cell to cell so that
// the mesh has no preferred direction.
static inline Body body_new(int nx, int ny, int nz, const double size[3], FaSolidLaw law, double mu, double lambda,
                            double rho, double jitter) {
    static const int kuhn[6][4] = {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7}, {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}};
    Body b = {.nx = nx, .ny = ny, .nz = nz, .nnode = (nx + 1) * (ny + 1) * (nz + 1), .ntet = 6 * nx * ny * nz};
    size_t n = (size_t)b.nnode, t = (size_t)b.ntet;
    b.tet = calloc(4 * t, sizeof(int));
    double **vec[] = {&b.x0, &b.x, &b.force, &b.at};
    for (int i = 0; i < 4; i++) *vec[i] = calloc(3 * n, sizeof(double));
    b.mu = calloc(t, sizeof(double)), b.lambda = calloc(t, sizeof(double)), b.mass = calloc(n, sizeof(double));
    b.fixed = calloc(n, 1);
    uint64_t c = 3;
    int e = 0;
    for (int k = 0; k <= nz; k++)
        for (int j = 0; j <= ny; j++)
            for (int i = 0; i <= nx; i++) {
                int at[3] = {i, j, k}, cells[3] = {nx, ny, nz};
                for (int a = 0; a < 3; a++) {
                    double inside = at[a] > 0 && at[a] < cells[a] ? jitter * uniform(&c) : 0;
                    b.x0[3 * node_of(&b, i, j, k) + a] = size[a] * (at[a] + inside) / cells[a];
                }
                if (i == nx || j == ny || k == nz) continue;
                for (int q = 0; q < 6; q++, e++)
                    for (int v = 0; v < 4; v++) {
                        int s = kuhn[q][v], u[3] = {s & 1, s >> 1 & 1, s >> 2};
                        for (int a = 0; a < 3; a++) u[a] = at[a] % 2 ? 1 - u[a] : u[a];
                        b.tet[4 * e + v] = node_of(&b, i + u[0], j + u[1], k + u[2]);
                    }
            }
    for (int i = 0; i < b.ntet; i++) {
        double d[3][3], normal[3];
        int *v = b.tet + 4 * i;
        for (int a = 0; a < 3; a++) fai_v3_sub(b.x0 + 3 * v[a + 1], b.x0 + 3 * v[0], d[a]);
        fai_v3_cross(d[0], d[1], normal);
        double volume = fai_v3_dot(normal, d[2]) / 6;
        if (volume < 0) {
            int swap = v[0];
            v[0] = v[1], v[1] = swap;
        }
        b.mu[i] = mu, b.lambda[i] = lambda;
        for (int a = 0; a < 4; a++) b.mass[v[a]] += rho * fabs(volume) / 4;
    }
    memcpy(b.x, b.x0, 3 * n * sizeof(double));
    FaError err = {0};
    b.law = law;
    CHECK_OK(fai_solid_new(b.nnode, b.ntet, b.tet, b.x0, law, &b.solid, &err), &err);
    CHECK_OK(fai_solid_rest_new(b.solid, &b.rest, &err), &err);
    CHECK_OK(fai_solid_rest_set(b.rest, b.x0, b.mu, b.lambda, NULL, &err), &err);
    return b;
}

static inline void body_free(Body *b) {
    fai_solid_rest_free(b->rest);
    fai_solid_free(b->solid);
    free(b->tet), free(b->x0), free(b->x), free(b->mu), free(b->lambda), free(b->mass), free(b->force), free(b->at),
        free(b->fixed);
}

#endif
