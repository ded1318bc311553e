// Volumetric energies: derivatives against differences, rigid motion, rest shapes, definiteness, kernels against the
// reference.
// labels: unit hash
#include "base/base.h"
#include "energy/solid.h"
#include "energy/solid_blocks.h"
#include "energy/solid_work.h"
#include "math/mat3.h"

#include "test.h"

static double uniform(uint64_t *c) { return 2 * fai_random_unit(7, (*c)++) - 1; }

// A random state of an element: F = U diag(s) V', s 0.2..2; a quarter of them inverted.
static void random_state(int i, uint64_t *c, double G[9]) {
    double q[4], u[9], v[9], s[3], m[9];
    for (int k = 0; k < 2; k++) {
        do
            for (int j = 0; j < 4; j++) q[j] = uniform(c);
        while (!fai_q_normalize(q));
        fai_q_to_m3(q, k ? u : v);
    }
    for (int k = 0; k < 3; k++) s[k] = 1.1 + 0.9 * uniform(c);
    if (i % 4 == 0) s[i / 4 % 3] *= -1;
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) m[3 * r + k] = u[3 * r + k] * s[k];
    fai_m3_transpose(v, v);
    fai_m3_mul(m, v, G);
    for (int k = 0; k < 3; k++) G[4 * k] -= 1;
}

// Smallest and largest eigenvalue of a symmetric 9 x 9 matrix, by Jacobi rotations.
static void eigen_range(const double *h, double *low, double *high) {
    double a[81];
    memcpy(a, h, sizeof a);
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0;
        for (int p = 0; p < 9; p++)
            for (int q = p + 1; q < 9; q++) {
                double x = a[9 * p + q];
                off += x * x;
                if (x == 0) continue;
                double t = (a[10 * q] - a[10 * p]) / (2 * x);
                t = (t >= 0 ? 1 : -1) / (fabs(t) + sqrt(t * t + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 9; k++) {
                    double y = a[9 * k + p], z = a[9 * k + q];
                    a[9 * k + p] = c * y - s * z, a[9 * k + q] = s * y + c * z;
                }
                for (int k = 0; k < 9; k++) {
                    double y = a[9 * p + k], z = a[9 * q + k];
                    a[9 * p + k] = c * y - s * z, a[9 * q + k] = s * y + c * z;
                }
            }
        if (off < 1e-40) break;
    }
    *low = INFINITY, *high = -INFINITY;
    for (int k = 0; k < 9; k++) *low = fmin(*low, a[10 * k]), *high = fmax(*high, a[10 * k]);
}

// N1 at the element: P against W, H against P (four-point differences), projected and safe Hessians without negative
// eigenvalue.
static void test_element_derivatives(void **state) {
    (void)state;
    const double mu = 3, lambda = 2.5, h = 1e-3;
    for (int law = 0; law < FA_SOLID_LAWS; law++) {
        uint64_t c = 0;
        int indefinite = 0, inverted = 0;
        for (int i = 0; i < 1000; i++) {
            double G[9], P[9], H[81], Q[9], worst_p = 0, worst_h = 0, size_p = 0, size_h = 0;
            random_state(i, &c, G);
            double F[9];
            for (int k = 0; k < 9; k++) F[k] = G[k] + (k % 4 == 0);
            inverted += fai_m3_det(F) < 0;
            fai_solid_density(law, mu, lambda, G, P, H);
            for (int k = 0; k < 9; k++) {
                double w[4], p[4][9], keep = G[k];
                for (int s = 0; s < 4; s++) {
                    G[k] = keep + h * (double)((int[]){-2, -1, 1, 2}[s]);
                    w[s] = fai_solid_density(law, mu, lambda, G, p[s], NULL);
                }
                G[k] = keep;
                double d = (w[0] - 8 * w[1] + 8 * w[2] - w[3]) / (12 * h);
                worst_p = fmax(worst_p, fabs(d - P[k]));
                size_p = fmax(size_p, fabs(P[k]));
                for (int m = 0; m < 9; m++) {
                    Q[m] = (p[0][m] - 8 * p[1][m] + 8 * p[2][m] - p[3][m]) / (12 * h);
                    worst_h = fmax(worst_h, fabs(Q[m] - H[9 * m + k]));
                    size_h = fmax(size_h, fabs(H[9 * m + k]));
                }
            }
            CHECK_NEAR(worst_p / size_p, 0, 1e-8);
            CHECK_NEAR(worst_h / size_h, 0, 1e-8);
            double low, high, low_true, high_true, D[81];
            eigen_range(H, &low_true, &high_true);
            double size = fmax(high_true, -low_true); // a small element may have negative eigenvalues only
            bool bad = fai_solid_density_hessian(law, mu, lambda, G, FA_HESSIAN_PROJECTED, D);
            assert_int_equal(bad, low_true < -1e-12 * size ? 1 : bad && low_true < 1e-12 * size);
            indefinite += bad;
            eigen_range(D, &low, &high);
            assert_true(low >= -1e-12 * size);
            CHECK_NEAR((high - fmax(high_true, 0)) / size, 0, 1e-12);
            double gap = 0;
            for (int k = 0; k < 81; k++) gap = fmax(gap, fabs(D[k] - H[k]));
            if (!bad)
                CHECK_NEAR(gap / size, 0, 1e-12);
            else
                assert_true(gap >= -low_true / 9 - 1e-12 * size);
            fai_solid_density_hessian(law, mu, lambda, G, FA_HESSIAN_SAFE, D);
            eigen_range(D, &low, &high);
            assert_true(high > 0 && low >= -1e-12 * high);
        }
        assert_true(indefinite > 300 && indefinite < 1000);
        assert_int_equal(inverted, 250);
    }
}

// --- a block of tets ----------------------------------------------------------------------------------------------

typedef struct Body {
    int nnode, ntet;
    int *tet;
    double *x0, *x, *mu, *lambda, *g;
    FaSolid *solid;
    FaSolidRest *rest;
} Body;

// nx x ny x nz cells of 6 tets (Kuhn), nodes jittered.
static Body body_new(int nx, int ny, int nz, FaSolidLaw law, double jitter) {
    static const int kuhn[6][4] = {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7}, {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}};
    Body b = {.nnode = (nx + 1) * (ny + 1) * (nz + 1), .ntet = 6 * nx * ny * nz};
    size_t n = (size_t)b.nnode, t = (size_t)b.ntet;
    b.tet = calloc(4 * t, sizeof(int));
    b.x0 = calloc(3 * n, sizeof(double)), b.x = calloc(3 * n, sizeof(double)), b.g = calloc(3 * n, sizeof(double));
    b.mu = calloc(t, sizeof(double)), b.lambda = calloc(t, sizeof(double));
    uint64_t c = 1000;
    int e = 0;
    for (int k = 0; k <= nz; k++)
        for (int j = 0; j <= ny; j++)
            for (int i = 0; i <= nx; i++) {
                double *x = b.x0 + 3 * (size_t)((k * (ny + 1) + j) * (nx + 1) + i);
                x[0] = 0.01 * (i + jitter * uniform(&c)), x[1] = 0.01 * (j + jitter * uniform(&c)),
                x[2] = 0.01 * (k + jitter * uniform(&c));
                if (i == nx || j == ny || k == nz) continue;
                for (int q = 0; q < 6; q++, e++)
                    for (int v = 0; v < 4; v++) {
                        int s = kuhn[q][v];
                        b.tet[4 * e + v] = ((k + (s >> 2)) * (ny + 1) + j + (s >> 1 & 1)) * (nx + 1) + i + (s & 1);
                    }
            }
    for (int i = 0; i < b.ntet; i++) {
        b.mu[i] = 3000 + 500 * uniform(&c), b.lambda[i] = 2500 + 500 * uniform(&c);
        double d[3][3];
        for (int v = 0; v < 3; v++) fai_v3_sub(b.x0 + 3 * b.tet[4 * i + v + 1], b.x0 + 3 * b.tet[4 * i], d[v]);
        double n3[3];
        fai_v3_cross(d[0], d[1], n3);
        if (fai_v3_dot(n3, d[2]) < 0) {
            int swap = b.tet[4 * i];
            b.tet[4 * i] = b.tet[4 * i + 1], b.tet[4 * i + 1] = swap;
        }
    }
    memcpy(b.x, b.x0, 3 * n * sizeof(double));
    FaError err = {0};
    CHECK_OK(fai_solid_new(b.nnode, b.ntet, b.tet, b.x0, law, &b.solid, &err), &err);
    CHECK_OK(fai_solid_rest_new(b.solid, &b.rest, &err), &err);
    int clamped = -1;
    CHECK_OK(fai_solid_rest_set(b.rest, b.x0, b.mu, b.lambda, &clamped, &err), &err);
    assert_int_equal(clamped, 0);
    return b;
}

static void body_free(Body *b) {
    fai_solid_rest_free(b->rest);
    fai_solid_free(b->solid);
    free(b->tet), free(b->x0), free(b->x), free(b->mu), free(b->lambda), free(b->g);
}

static void shake(Body *b, double size) {
    uint64_t c = 5000;
    for (int i = 0; i < 3 * b->nnode; i++) b->x[i] += size * uniform(&c);
}

static double norm(const double *g, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += g[i] * g[i];
    return sqrt(s);
}

// The whole body: gradient against energy, matrix against gradient, damping included; kernels against the element
// reference.
static void test_body_derivatives(void **state) {
    (void)state;
    for (int law = 0; law < FA_SOLID_LAWS; law++)
        for (int damped = 0; damped < 2; damped++) {
            Body b = body_new(2, 2, 3, law, 0.2);
            size_t n = 3 * (size_t)b.nnode;
            double *from = calloc(n, sizeof(double)), *dense = calloc(n * n, sizeof(double)),
                   *g1 = calloc(n, sizeof(double)), *g2 = calloc(n, sizeof(double));
            shake(&b, 0.002);
            memcpy(from, b.x, n * sizeof(double));
            shake(&b, 0.002);
            FaSolidDamping d = {0.7, from}, *damping = damped ? &d : NULL;
            double energy = fai_solid_energy(b.rest, b.x, damping, b.g), sum = 0;
            assert_true(energy > 0);
            const double *vol = fai_solid_rest_volume(b.rest);
            for (int e = 0; e < b.ntet; e++) {
                double du[9], dm[9], inv[9], G[9];
                for (int k = 0; k < 3; k++)
                    for (int i = 0; i < 3; i++) {
                        int v = b.tet[4 * e + k + 1], o = b.tet[4 * e];
                        dm[3 * i + k] = b.x0[3 * v + i] - b.x0[3 * o + i];
                        du[3 * i + k] = b.x[3 * v + i] - b.x0[3 * v + i] - (b.x[3 * o + i] - b.x0[3 * o + i]);
                    }
                assert_true(fai_m3_inverse(dm, inv));
                fai_m3_mul(du, inv, G);
                sum += vol[e] * fai_solid_density(law, b.mu[e], b.lambda[e], G, NULL, NULL);
            }
            if (!damped)
                CHECK_NEAR(energy / sum, 1, 1e-13);
            else
                assert_true(energy > sum);
            FaError err = {0};
            FaBlocks *blocks;
            unsigned char *fixed = calloc((size_t)b.nnode, 1);
            fixed[3] = fixed[10] = 1;
            CHECK_OK(fai_blocks_new(b.solid, fixed, 0, NULL, &blocks, &err), &err);
            assert_int_equal(blocks->nfree, b.nnode - 2);
            fai_solid_hessian(b.rest, b.x, damping, FA_HESSIAN_TRUE, blocks);
            for (int i = 0; i < blocks->nfree; i++)
                for (int k = blocks->start[i]; k < blocks->start[i + 1]; k++)
                    for (int r = 0; r < 3; r++)
                        for (int q = 0; q < 3; q++)
                            dense[(size_t)(3 * blocks->node[i] + r) * n +
                                  (size_t)(3 * blocks->node[blocks->col[k]] + q)] =
                                (double)blocks->val[9 * k + 3 * q + r];
            double h = 1e-6, big = 0, worst_g = 0, worst_h = 0, size_g = norm(b.g, (int)n);
            for (size_t k = 0; k < n; k++) {
                double keep = b.x[k], e1, e2;
                b.x[k] = keep + h, e1 = fai_solid_energy(b.rest, b.x, damping, g1);
                b.x[k] = keep - h, e2 = fai_solid_energy(b.rest, b.x, damping, g2);
                b.x[k] = keep;
                worst_g = fmax(worst_g, fabs((e1 - e2) / (2 * h) - b.g[k]));
                for (size_t r = 0; r < n; r++) {
                    if (fixed[r / 3] || fixed[k / 3]) continue;
                    double diff = (g1[r] - g2[r]) / (2 * h);
                    big = fmax(big, fabs(diff));
                    worst_h = fmax(worst_h, fabs(diff - dense[r * n + k]));
                    assert_true(dense[r * n + k] == dense[k * n + r]);
                }
            }
            CHECK_NEAR(worst_g / size_g, 0, 1e-6);
            CHECK_NEAR(worst_h / big, 0, 2e-6);
            // a product
            float *x = aligned_alloc(64, 64 * (size_t)b.nnode), *y = aligned_alloc(64, 64 * (size_t)b.nnode);
            uint64_t c = 9;
            for (int i = 0; i < 4 * blocks->nfree; i++) x[i] = (float)uniform(&c);
            fai_blocks_mul(blocks, x, y);
            for (int i = 0; i < blocks->nfree; i++)
                for (int r = 0; r < 3; r++) {
                    double want = 0;
                    for (int j = 0; j < blocks->nfree; j++)
                        for (int q = 0; q < 3; q++)
                            want += dense[(size_t)(3 * blocks->node[i] + r) * n + (size_t)(3 * blocks->node[j] + q)] *
                                    (double)x[4 * j + q];
                    CHECK_NEAR(((double)y[4 * i + r] - want) / big, 0, 3e-6);
                }
            free(x), free(y), free(fixed), free(from), free(dense), free(g1), free(g2);
            fai_blocks_free(blocks);
            body_free(&b);
        }
}

// PROJECTED and SAFE as assembled: the element matrices of the reference, summed; no negative curvature in 200 random
// directions.
static void test_body_definite(void **state) {
    (void)state;
    for (int law = 0; law < FA_SOLID_LAWS; law++) {
        Body b = body_new(3, 2, 2, law, 0.2);
        shake(&b, 0.012);
        assert_true(fai_solid_inverted(b.rest, b.x) > 5);
        FaError err = {0};
        FaBlocks *blocks;
        CHECK_OK(fai_blocks_new(b.solid, NULL, 0, NULL, &blocks, &err), &err);
        size_t n = 3 * (size_t)b.nnode;
        double *dense = calloc(n * n, sizeof(double));
        for (FaSolidHessian kind = FA_HESSIAN_PROJECTED; kind <= FA_HESSIAN_SAFE; kind++) {
            int count = fai_solid_hessian(b.rest, b.x, NULL, kind, blocks);
            assert_true(count > 5 && count <= b.ntet);
            memset(dense, 0, n * n * sizeof(double));
            double big = 0;
            int expected = 0;
            for (int e = 0; e < b.ntet; e++) {
                double du[9], dm[9], inv[9], G[9], H[81], grad[4][3] = {{0}};
                for (int k = 0; k < 3; k++)
                    for (int i = 0; i < 3; i++) {
                        int v = b.tet[4 * e + k + 1], o = b.tet[4 * e];
                        dm[3 * i + k] = b.x0[3 * v + i] - b.x0[3 * o + i];
                        du[3 * i + k] = b.x[3 * v + i] - b.x0[3 * v + i] - (b.x[3 * o + i] - b.x0[3 * o + i]);
                    }
                assert_true(fai_m3_inverse(dm, inv));
                fai_m3_mul(du, inv, G);
                expected += fai_solid_density_hessian(law, b.mu[e], b.lambda[e], G, kind, H);
                for (int k = 0; k < 3; k++)
                    for (int i = 0; i < 3; i++) grad[k + 1][i] = inv[3 * k + i], grad[0][i] -= inv[3 * k + i];
                for (int a = 0; a < 4; a++)
                    for (int c = 0; c < 4; c++)
                        for (int r = 0; r < 3; r++)
                            for (int q = 0; q < 3; q++) {
                                double s = 0;
                                for (int k = 0; k < 3; k++)
                                    for (int l = 0; l < 3; l++)
                                        s += H[9 * (3 * r + k) + 3 * q + l] * grad[a][k] * grad[c][l];
                                dense[(size_t)(3 * b.tet[4 * e + a] + r) * n + (size_t)(3 * b.tet[4 * e + c] + q)] +=
                                    s * fai_solid_rest_volume(b.rest)[e];
                            }
            }
            CHECK_NEAR(count, expected, 2); // an element on the edge may round either way
            for (size_t i = 0; i < n * n; i++) big = fmax(big, fabs(dense[i]));
            double worst = 0;
            for (int i = 0; i < blocks->nfree; i++)
                for (int k = blocks->start[i]; k < blocks->start[i + 1]; k++)
                    for (int r = 0; r < 3; r++)
                        for (int q = 0; q < 3; q++)
                            worst = fmax(worst, fabs(dense[(size_t)(3 * i + r) * n + (size_t)(3 * blocks->col[k] + q)] -
                                                     (double)blocks->val[9 * k + 3 * q + r]));
            CHECK_NEAR(worst / big, 0, 1e-5);
        }
        free(dense);
        fai_blocks_free(blocks);
        body_free(&b);
    }
}

// N2: a rigid motion stores nothing and forces nothing; forces and torques of any state sum to nothing.
static void test_rigid(void **state) {
    (void)state;
    for (int law = 0; law < FA_SOLID_LAWS; law++) {
        Body b = body_new(3, 2, 2, law, 0.2);
        shake(&b, 0.003);
        double before = fai_solid_energy(b.rest, b.x, NULL, b.g), size = norm(b.g, 3 * b.nnode), force[3] = {0},
               torque[3] = {0};
        assert_true(size > 1e-3);
        for (int v = 0; v < b.nnode; v++) {
            double t[3];
            fai_v3_cross(b.x + 3 * v, b.g + 3 * v, t);
            for (int k = 0; k < 3; k++) force[k] += b.g[3 * v + k], torque[k] += t[k];
        }
        for (int k = 0; k < 3; k++) {
            CHECK_NEAR(force[k] / size, 0, 1e-12);
            CHECK_NEAR(torque[k] / (size * 0.03), 0, 1e-12);
        }
        double q[4], r[3] = {0.7, -1.1, 0.4}, shift[3] = {0.1, -0.05, 0.2};
        fai_q_exp(r, q);
        for (int round = 0; round < 2; round++) {
            for (int v = 0; v < b.nnode; v++) {
                double y[3];
                fai_q_rotate(q, round ? b.x0 + 3 * v : b.x + 3 * v, y);
                fai_v3_add(y, shift, b.x + 3 * v);
            }
            double after = fai_solid_energy(b.rest, b.x, NULL, b.g);
            if (!round)
                CHECK_NEAR(after / before, 1, 1e-12);
            else {
                CHECK_NEAR(after / before, 0, 1e-12);
                CHECK_NEAR(norm(b.g, 3 * b.nnode) / size, 0, 1e-12);
            }
        }
        body_free(&b);
    }
}

static void test_damping(void **state) {
    (void)state;
    Body b = body_new(3, 2, 2, FA_SOLID_STVK, 0.2);
    size_t n = 3 * (size_t)b.nnode;
    shake(&b, 0.002);
    double *from = calloc(n, sizeof(double)), q[4], turn[3] = {1e-5, -2e-5, 1e-5}, *zero = calloc(n, sizeof(double));
    // from a turned and deformed state: F0 is far from 1
    fai_q_exp((double[3]){1.2, 0.3, -0.5}, q);
    for (int v = 0; v < b.nnode; v++) fai_q_rotate(q, b.x + 3 * v, from + 3 * v);
    fai_q_exp(turn, q);
    for (int v = 0; v < b.nnode; v++) fai_q_rotate(q, from + 3 * v, b.x + 3 * v);
    FaSolidDamping d = {1, from};
    double plain = fai_solid_energy(b.rest, b.x, NULL, zero), turned = fai_solid_energy(b.rest, b.x, &d, b.g) - plain;
    for (int v = 0; v < b.nnode; v++)
        for (int k = 0; k < 3; k++) b.x[3 * v + k] = from[3 * v + k] * (1 + 2.4e-5);
    double stretched = fai_solid_energy(b.rest, b.x, &d, b.g) - fai_solid_energy(b.rest, b.x, NULL, zero);
    assert_true(stretched > 0);
    assert_true(fabs(turned) < 1e-6 * stretched);
    // at rest it is half the stiffness: K u . u
    memcpy(from, b.x0, n * sizeof(double));
    memcpy(b.x, b.x0, n * sizeof(double));
    shake(&b, 1e-6);
    double share = 0.3, half;
    d = (FaSolidDamping){share, from};
    half = fai_solid_energy(b.rest, b.x, &d, b.g) - fai_solid_energy(b.rest, b.x, NULL, zero);
    CHECK_NEAR(half / (share * fai_solid_energy(b.rest, b.x, NULL, zero)), 1, 1e-3);
    free(from), free(zero);
    body_free(&b);
}

// x == X: nothing, to the last bit, whatever X is; even where elements of X are flat or inverted against x0.
static void test_rest_exact(void **state) {
    (void)state;
    for (int law = 0; law < FA_SOLID_LAWS; law++) {
        Body b = body_new(3, 3, 3, law, 0.2);
        FaError err = {0};
        uint64_t c = 77;
        for (int round = 0; round < 3; round++) {
            double size = (double[]){1e-3, 4e-3, 1.5e-2}[round];
            for (int i = 0; i < 3 * b.nnode; i++) b.x[i] = b.x0[i] + size * uniform(&c) + 0.123456789;
            int clamped = 0;
            CHECK_OK(fai_solid_rest_set(b.rest, b.x, b.mu, b.lambda, &clamped, &err), &err);
            if (round == 0) assert_int_equal(clamped, 0);
            if (round == 2) assert_true(clamped > 10);
            double *from = calloc(3 * (size_t)b.nnode, sizeof(double));
            memcpy(from, b.x, 3 * (size_t)b.nnode * sizeof(double));
            FaSolidDamping d = {1, from};
            assert_true(fai_solid_energy(b.rest, b.x, &d, b.g) == 0);
            for (int i = 0; i < 3 * b.nnode; i++) assert_true(b.g[i] == 0);
            for (int e = 0; e < b.ntet; e++) assert_true(fai_solid_rest_volume(b.rest)[e] > 0);
            assert_int_equal(fai_solid_inverted(b.rest, b.x), 0);
            free(from);
        }
        // flat, and a point
        for (int i = 0; i < b.nnode; i++) b.x[3 * i + 2] = 0;
        int clamped = 0;
        CHECK_OK(fai_solid_rest_set(b.rest, b.x, b.mu, b.lambda, &clamped, &err), &err);
        assert_int_equal(clamped, b.ntet);
        b.x[0] += 0.001;
        double e = fai_solid_energy(b.rest, b.x, NULL, b.g);
        assert_true(e > 0 && isfinite(e));
        memset(b.x, 0, 3 * (size_t)b.nnode * sizeof(double));
        CHECK_OK(fai_solid_rest_set(b.rest, b.x, b.mu, b.lambda, &clamped, &err), &err);
        assert_int_equal(clamped, b.ntet);
        body_free(&b);
    }
}

static void test_bad_input(void **state) {
    (void)state;
    Body b = body_new(2, 1, 1, FA_SOLID_STVK, 0);
    FaError err = {0};
    double keep = b.x[4];
    b.x[4] = NAN;
    assert_int_equal(fai_solid_rest_set(b.rest, b.x, b.mu, b.lambda, NULL, &err), FA_E_NUMERIC);
    assert_non_null(strstr(err.place, "node 1"));
    b.x[4] = keep, b.mu[3] = -1, err = (FaError){0};
    assert_int_equal(fai_solid_rest_set(b.rest, b.x, b.mu, b.lambda, NULL, &err), FA_E_ARG);
    assert_non_null(strstr(err.place, "tet 3"));
    FaSolid *s;
    err = (FaError){0};
    int swap = b.tet[0];
    b.tet[0] = b.tet[1], b.tet[1] = swap;
    assert_int_equal(fai_solid_new(b.nnode, b.ntet, b.tet, b.x0, FA_SOLID_STVK, &s, &err), FA_E_MESH);
    b.tet[0] = 99, err = (FaError){0};
    assert_int_equal(fai_solid_new(b.nnode, b.ntet, b.tet, b.x0, FA_SOLID_STVK, &s, &err), FA_E_MESH);
    assert_null(s);
    body_free(&b);
}

// Closed-form uniaxial tension: the lateral stretch that frees the sides, and the stress then.
static void test_tension(void **state) {
    (void)state;
    double mu = 3000, la = 2500;
    for (int i = 0; i <= 30; i++) {
        double a = 0.5 + 0.05 * i, P[9], G[9] = {0};
        double b2 = (mu + la * a) / (mu + la * a * a), b = sqrt(b2);
        G[0] = a - 1, G[4] = G[8] = b - 1;
        fai_solid_density(FA_SOLID_STVK, mu, la, G, P, NULL);
        CHECK_NEAR(P[0] / mu, a * (a * a - 1) + la / mu * (a * b2 - 1) * b2, 1e-12);
        CHECK_NEAR(P[4] / mu, 0, 1e-12);
        CHECK_NEAR(P[8] / mu, 0, 1e-12);
        double k = la + mu, J = 1 + mu * (a - 1) / (k * a);
        b2 = J / a, b = sqrt(b2);
        G[4] = G[8] = b - 1;
        fai_solid_density(FA_SOLID_NEO, mu, la, G, P, NULL);
        CHECK_NEAR(P[0] / mu, a - b2 + k / mu * (J - 1) * b2, 1e-12);
        CHECK_NEAR(P[4] / mu, 0, 1e-12);
    }
}

// Mooney-Rivlin as it is printed, by invariants and its own constants.
static void test_mooney(void **state) {
    (void)state;
    const double c10 = 1.9, c01 = 0.6, K = 100, mu = 2 * (c10 + c01), k = K + (2 * c10 - 4 * c01) / 3;
    uint64_t c = 40;
    for (int i = 0; i < 400; i++) {
        double G[9], F[9], t[9], C[9], trace = 0, square = 0;
        random_state(i, &c, G);
        for (int j = 0; j < 9; j++) F[j] = G[j] + (j % 4 == 0);
        fai_m3_transpose(F, t);
        fai_m3_mul(t, F, C);
        for (int j = 0; j < 9; j++) trace += j % 4 ? 0 : C[j], square += C[j] * C[j];
        double I2 = (trace * trace - square) / 2, J = fai_m3_det(F);
        double W = c10 * (trace - 3) + c01 * (I2 - 3) - (2 * c10 + 4 * c01) * (J - 1) + k / 2 * (J - 1) * (J - 1);
        CHECK_NEAR(fai_solid_density(FA_SOLID_MOONEY, mu, K - 2 * mu / 3, G, NULL, NULL) / W, 1, 1e-10);
    }
}

// Second derivatives times a step, in double: against differences of the gradient (far from rest, damped and not), and
// symmetric to rounding.
static void test_product(void **state) {
    (void)state;
    for (int law = 0; law < FA_SOLID_LAWS; law++)
        for (int damped = 0; damped < 2; damped++) {
            Body b = body_new(4, 3, 3, law, 0.2);
            shake(&b, 0.004);
            size_t n = 3 * (size_t)b.nnode;
            double *p = calloc(n, sizeof(double)), *q = calloc(n, sizeof(double)), *hp = calloc(n, sizeof(double)),
                   *hq = calloc(n, sizeof(double)), *up = calloc(n, sizeof(double)), *down = calloc(n, sizeof(double)),
                   *x = calloc(n, sizeof(double));
            FaSolidDamping d = {0.5, b.x0}, *with = damped ? &d : NULL;
            for (size_t i = 0; i < n; i++) p[i] = 2 * fai_random_unit(3, i) - 1, q[i] = 2 * fai_random_unit(4, i) - 1;
            fai_solid_product(b.rest, b.x, with, p, hp);
            fai_solid_product(b.rest, b.x, with, q, hq);
            double h = 1e-6, size = 0, worst = 0, pq = 0, qp = 0, all = 0;
            for (size_t i = 0; i < n; i++) x[i] = b.x[i] + h * p[i];
            fai_solid_energy(b.rest, x, with, up);
            for (size_t i = 0; i < n; i++) x[i] = b.x[i] - h * p[i];
            fai_solid_energy(b.rest, x, with, down);
            for (size_t i = 0; i < n; i++) {
                size = fmax(size, fabs(hp[i]));
                worst = fmax(worst, fabs((up[i] - down[i]) / (2 * h) - hp[i]));
                pq += p[i] * hq[i], qp += q[i] * hp[i], all += fabs(p[i] * hq[i]);
            }
            assert_true(size > 1);
            CHECK_NEAR(worst / size, 0, 1e-6);
            CHECK_NEAR((pq - qp) / all, 0, 1e-14);
            free(p), free(q), free(hp), free(hq), free(up), free(down), free(x);
            body_free(&b);
        }
}

// Pairs that were asked for have blocks, once and empty after the solid's; all others as without them.
static void test_pairs(void **state) {
    (void)state;
    Body b = body_new(4, 3, 3, FA_SOLID_STVK, 0.2);
    shake(&b, 0.002);
    FaError err = {0};
    FaBlocks *plain, *more;
    unsigned char *fixed = calloc((size_t)b.nnode, 1);
    fixed[1] = 1;
    int last = b.nnode - 1, tet = b.tet[0] == 1 ? b.tet[1] : b.tet[0], near = b.tet[2] == 1 ? b.tet[3] : b.tet[2];
    int pair[] = {last, 0, 0, last, 2, last, 3, 3, 1, last, tet, near};
    CHECK_OK(fai_blocks_new(b.solid, fixed, 0, NULL, &plain, &err), &err);
    CHECK_OK(fai_blocks_new(b.solid, fixed, 6, pair, &more, &err), &err);
    assert_int_equal(more->start[more->nfree], plain->start[plain->nfree] + 4);
    fai_solid_hessian(b.rest, b.x, NULL, FA_HESSIAN_TRUE, plain);
    for (int pass = 0; pass < 2; pass++) {
        fai_solid_hessian(b.rest, b.x, NULL, FA_HESSIAN_TRUE, more);
        for (int i = 0; i < b.nnode; i++)
            for (int j = 0; j < b.nnode; j++) {
                int at = fai_blocks_at(more, i, j), was = fai_blocks_at(plain, i, j);
                bool asked = at >= 0 && was < 0;
                assert_true(asked == ((i == last && (j == 0 || j == 2)) || (j == last && (i == 0 || i == 2))));
                static const float none[9] = {0};
                if (at >= 0)
                    assert_memory_equal(more->val + 9 * (size_t)at, asked ? none : plain->val + 9 * (size_t)was,
                                        sizeof none);
            }
        // what was added is gone after the next assembly
        fai_blocks_add(more, last, 0, (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
        fai_blocks_add(more, 1, last, (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9}); // fixed: nothing
        const float *one = more->val + 9 * (size_t)fai_blocks_at(more, last, 0),
                    *other = more->val + 9 * (size_t)fai_blocks_at(more, 0, last);
        for (int k = 0; k < 9; k++)
            assert_true(one[3 * (k % 3) + k / 3] == (float)(k + 1) && other[k] == (float)(k + 1));
    }
    fai_blocks_free(plain), fai_blocks_free(more);
    free(fixed);
    body_free(&b);
}

// Plain kernels and AVX2's give the same bits.
static void test_twins(void **state) {
    (void)state;
    for (int law = 0; law < FA_SOLID_LAWS; law++) {
        Body b = body_new(4, 3, 3, law, 0.2);
        shake(&b, 0.005);
        double *from = calloc(3 * (size_t)b.nnode, sizeof(double)), *g2 = calloc(3 * (size_t)b.nnode, sizeof(double));
        memcpy(from, b.x0, 3 * (size_t)b.nnode * sizeof(double));
        FaSolidDamping d = {0.5, from};
        FaError err = {0};
        FaBlocks *one, *two;
        CHECK_OK(fai_blocks_new(b.solid, NULL, 0, NULL, &one, &err), &err);
        CHECK_OK(fai_blocks_new(b.solid, NULL, 0, NULL, &two, &err), &err);
        bool avx2 = b.solid->avx2;
        double e1 = fai_solid_energy(b.rest, b.x, &d, b.g);
        fai_solid_hessian(b.rest, b.x, &d, FA_HESSIAN_TRUE, one);
        b.solid->avx2 = false;
        CHECK_OK(fai_solid_rest_set(b.rest, b.x0, b.mu, b.lambda, NULL, &err), &err);
        double e2 = fai_solid_energy(b.rest, b.x, &d, g2);
        fai_solid_hessian(b.rest, b.x, &d, FA_HESSIAN_TRUE, two);
        double *y1 = calloc(3 * (size_t)b.nnode, sizeof(double)), *y2 = calloc(3 * (size_t)b.nnode, sizeof(double));
        fai_solid_product(b.rest, b.x, &d, g2, y1);
        b.solid->avx2 = avx2;
        fai_solid_product(b.rest, b.x, &d, g2, y2);
        assert_memory_equal(y1, y2, 3 * (size_t)b.nnode * sizeof(double));
        free(y1), free(y2);
        assert_memory_equal(&e1, &e2, sizeof e1);
        assert_memory_equal(b.g, g2, 3 * (size_t)b.nnode * sizeof(double));
        assert_memory_equal(one->val, two->val, 9 * (size_t)one->start[one->nfree] * sizeof(float));
        fai_blocks_free(one), fai_blocks_free(two);
        free(from), free(g2);
        body_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_element_derivatives),
        cmocka_unit_test(test_body_derivatives),
        cmocka_unit_test(test_body_definite),
        cmocka_unit_test(test_rigid),
        cmocka_unit_test(test_damping),
        cmocka_unit_test(test_rest_exact),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_tension),
        cmocka_unit_test(test_mooney),
        cmocka_unit_test(test_product),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_twins),
    };
    return cmocka_run_group_tests_name("energy_solid", tests, NULL, NULL);
}
