// Edge springs and bending: gradients against differences, rigid motion, exactly nothing at rest, batched against
// formula.
#include "test_solve_slab.h"

#include "energy/bend.h"
#include "energy/edge.h"
#include "math/mat3.h"

static double noise(uint64_t seed, uint64_t i) { return 2 * fai_random_unit(seed, i) - 1; }

// A body of random edges and random Laplacian rows over n nodes.
static FaElastic random_body(FaArena *a, int n, uint64_t seed) {
    FaElastic e = {.nnode = n, .nedge = 2 * n, .biphasic = 0.1, .nbend = n, .arena = a};
    e.x0 = FA_PUSH(a, 3 * n, double);
    e.mass = FA_PUSH(a, n, double);
    e.edge = fai_arena_push(a, (size_t)e.nedge, sizeof *e.edge);
    e.edge_weight = FA_PUSH(a, e.nedge, double);
    e.edge_weight2 = FA_PUSH(a, e.nedge, double);
    e.bend_start = FA_PUSH(a, n + 1, int);
    e.bend_node = FA_PUSH(a, 8 * n, int);
    e.bend_coef = FA_PUSH(a, 8 * n, double);
    e.bend_weight = FA_PUSH(a, n, double);
    for (int i = 0; i < 3 * n; i++) e.x0[i] = 0.1 * noise(seed, (uint64_t)i);
    for (int i = 0; i < n; i++) e.mass[i] = 1;
    for (int i = 0; i < e.nedge; i++) {
        e.edge[i][0] = i % n;
        e.edge[i][1] = (i % n + 1 + (int)(fai_random_u64(seed, 900000 + (uint64_t)i) % (uint64_t)(n - 1))) % n;
        e.edge_weight[i] = 1 + fai_random_unit(seed, 800000 + (uint64_t)i);
        e.edge_weight2[i] = 4 * fai_random_unit(seed, 700000 + (uint64_t)i);
    }
    int at = 0;
    for (int b = 0; b < n; b++) {
        int size = FA_MIN(4 + b % 4, n);
        double sum = 0;
        for (int k = 0; k < size; k++) {
            e.bend_node[at + k] = (b + k) % n;
            double c = 100 * (0.5 + fai_random_unit(seed, 600000 + (uint64_t)(8 * b + k)));
            e.bend_coef[at + k] = k ? -c : 0;
            sum += k ? c : 0;
        }
        e.bend_coef[at] = sum;
        e.bend_weight[b] = 1e-4 * (1 + fai_random_unit(seed, 500000 + (uint64_t)b));
        e.bend_start[b + 1] = at += size;
    }
    return e;
}

// Relative error of a gradient against differences of fourth order, both as vectors.
typedef double Energy(const void *ctx, const double *x, double *g);
static double gradient_error(Energy *f, const void *ctx, int n, const double *x, double h) {
    double g[64], y[64], diff = 0, size = 0;
    f(ctx, x, g);
    for (int i = 0; i < n; i++) {
        memcpy(y, x, (size_t)n * sizeof *y);
        double e[4], at[4] = {-2, -1, 1, 2};
        for (int k = 0; k < 4; k++) {
            y[i] = x[i] + at[k] * h;
            e[k] = f(ctx, y, NULL);
        }
        double d = (e[0] - 8 * e[1] + 8 * e[2] - e[3]) / (12 * h);
        diff += (d - g[i]) * (d - g[i]);
        size += g[i] * g[i];
    }
    assert_true(size > 0);
    return sqrt(diff / size);
}

typedef struct One {
    const FaElastic *e;
    int index;
    double rest;
} One;

static double one_edge(const void *ctx, const double *x, double *g) {
    const One *o = ctx;
    return fai_edge_energy_ref(o->e, o->index, o->rest, (const double(*)[3])x, (double(*)[3])g);
}

static void edge_gradient(void **state) {
    (void)state;
    FaArena *a = fai_arena_new(0);
    FaElastic e = random_body(a, 30, 3);
    int beyond = 0;
    for (int i = 0; i < 1000; i++) {
        double x[6], v[3];
        One o = {&e, i % e.nedge, 0};
        o.rest = fai_edge_rest(&e, o.index) * (i % 3 == 0 ? 0.8 : 1);
        // a quarter far out, folded over
        for (int k = 0; k < 6; k++) x[k] = (i % 4 == 0 ? 0.4 : 0.04) * noise(5, (uint64_t)(6 * i + k));
        for (int k = 0; k < 3; k++)
            v[k] = e.x0[3 * e.edge[o.index][0] + k] + x[k] - e.x0[3 * e.edge[o.index][1] + k] - x[3 + k];
        double over = fai_v3_norm(v) - 1.1 * o.rest;
        beyond += over > 0;
        if (fabs(over) < 1e-4 || fai_v3_norm(v) < 0.005) continue; // the second derivative jumps there
        CHECK_NEAR(gradient_error(one_edge, &o, 6, x, 1e-5), 0, 1e-6);
    }
    assert_in_range(beyond, 200, 900);
    fai_arena_free(a);
}

// The second spring starts at 10 % without a jump of energy or force.
static void edge_biphasic(void **state) {
    (void)state;
    FaArena *a = fai_arena_new(0);
    FaElastic e = random_body(a, 10, 4);
    double rest = fai_edge_rest(&e, 0), dir[3], g[2][3];
    for (int k = 0; k < 3; k++) dir[k] = (e.x0[3 * e.edge[0][0] + k] - e.x0[3 * e.edge[0][1] + k]) / rest;
    for (int i = 0; i < 60; i++) {
        double more = (i - 10) * 0.01, u[2][3] = {{0}};
        for (int k = 0; k < 3; k++) u[0][k] = more * rest * dir[k];
        double energy = fai_edge_energy_ref(&e, 0, rest, (const double(*)[3])u, g);
        double over = fmax(more - 0.1, 0), force = e.edge_weight[0] * more + e.edge_weight2[0] * over;
        CHECK_NEAR(energy, 0.5 * rest * rest * (e.edge_weight[0] * more * more + e.edge_weight2[0] * over * over),
                   1e-14);
        CHECK_NEAR(fai_v3_dot(g[0], dir), force * rest, 1e-13);
    }
    fai_arena_free(a);
}

static double one_bend(const void *ctx, const double *x, double *g) {
    const One *o = ctx;
    int first = o->e->bend_start[o->index], size = o->e->bend_start[o->index + 1] - first;
    double u[3 * 64] = {0};
    for (int i = 0; i < 3 * size; i++) u[3 * o->e->bend_node[first + i / 3] + i % 3] = x[i];
    return fai_bend_energy_ref(o->e, o->index, o->rest, u, g);
}

static void bend_gradient(void **state) {
    (void)state;
    FaArena *a = fai_arena_new(0);
    FaElastic e = random_body(a, 30, 3);
    for (int i = 0; i < 1000; i++) {
        One o = {&e, i % e.nbend, 0};
        int size = e.bend_start[o.index + 1] - e.bend_start[o.index];
        o.rest = fai_bend_rest(&e, o.index) * (i % 3 == 0 ? -1.4 : 1);
        double x[24];
        for (int k = 0; k < 3 * size; k++) x[k] = (i % 4 == 0 ? 0.2 : 0.02) * noise(6, (uint64_t)(24 * i + k));
        CHECK_NEAR(gradient_error(one_bend, &o, 3 * size, x, 1e-5), 0, 1e-6);
    }
    fai_arena_free(a);
}

// N2: turned and moved as a whole, nothing changes; forces and torques of the inside add up to nothing.
static void rigid_motion(void **state) {
    (void)state;
    FaArena *a = fai_arena_new(0);
    FaElastic e = random_body(a, 40, 8);
    for (int trial = 0; trial < 50; trial++) {
        double q[4], shift[3], axis[3], u[120], v[120], force[3] = {0}, torque[3] = {0}, size = 0;
        for (int k = 0; k < 3; k++)
            axis[k] = 3 * noise(11, (uint64_t)(8 * trial + k)), shift[k] = noise(12, (uint64_t)(3 * trial + k));
        fai_q_exp(axis, q);
        for (int i = 0; i < 120; i++) u[i] = 0.03 * noise(13, (uint64_t)(120 * trial + i));
        for (int i = 0; i < 40; i++) {
            double x[3], y[3];
            fai_v3_add(e.x0 + 3 * i, u + 3 * i, x);
            fai_q_rotate(q, x, y);
            for (int k = 0; k < 3; k++) v[3 * i + k] = y[k] + shift[k] - e.x0[3 * i + k];
        }
        FaReferenceInput in = {.y = u, .inertia = 0};
        double g[120], e0 = fai_reference_energy(&e, &in, u, g), e1 = fai_reference_energy(&e, &in, v, g);
        assert_true(e0 > 0);
        CHECK_NEAR((e1 - e0) / e0, 0, 1e-12);
        for (int i = 0; i < 40; i++) {
            double x[3], t[3];
            fai_v3_add(e.x0 + 3 * i, v + 3 * i, x);
            fai_v3_cross(x, g + 3 * i, t);
            fai_v3_add(force, g + 3 * i, force);
            fai_v3_add(torque, t, torque);
            size += fai_v3_norm(g + 3 * i) * (1 + fai_v3_norm(x));
        }
        CHECK_NEAR(fai_v3_norm(force) / size, 0, 1e-12);
        CHECK_NEAR(fai_v3_norm(torque) / size, 0, 1e-12);
    }
    fai_arena_free(a);
}

// Batched floats against the formula; both kernels to the bit; every tail of the eight lanes.
static void batched(void **state) {
    (void)state;
    for (int n = 3; n < 40; n += n < 20 ? 1 : 7) {
        FaArena *a = fai_arena_new(0);
        FaError err = {0};
        FaElastic e = random_body(a, n, (uint64_t)n);
        FaStretch *edges[2], *bends[2];
        float *u = FA_PUSH(a, 4 * n, float), *g[2] = {FA_PUSH(a, 4 * n, float), FA_PUSH(a, 4 * n, float)};
        float *rest = FA_PUSH(a, e.nedge + 8, float);
        double *ud = FA_PUSH(a, 3 * n, double), *gd = FA_PUSH(a, 3 * n, double), *rest_d = FA_PUSH(a, e.nedge, double),
               energy[2] = {0};
        for (int i = 0; i < 3 * n; i++)
            ud[i] = (double)(u[4 * (i / 3) + i % 3] = (float)(0.02 * noise(21, (uint64_t)i)));
        for (int i = 0; i < e.nedge; i++)
            rest_d[i] = (double)(rest[i] = (float)(fai_edge_rest(&e, i) * (1 + 0.1 * noise(22, (uint64_t)i))));
        for (int k = 0; k < 2; k++) {
            if (k) setenv("FA_SIMD", "ref", 1);
            CHECK_OK(fai_edges_new(&e, &edges[k], &err), &err);
            CHECK_OK(fai_bends_new(&e, &bends[k], &err), &err);
            unsetenv("FA_SIMD");
            energy[k] = fai_stretch_eval(edges[k], rest, u, true) + fai_stretch_eval(bends[k], NULL, u, true);
            fai_stretch_gather(edges[k], g[k]);
            fai_stretch_gather(bends[k], g[k]);
        }
        assert_memory_equal(&energy[0], &energy[1], sizeof *energy);
        assert_memory_equal(g[0], g[1], 16 * (size_t)n);
        FaReferenceInput in = {.y = ud, .edge_rest = rest_d};
        double want = fai_reference_energy(&e, &in, ud, gd), size = 0;
        for (int i = 0; i < 3 * n; i++) size = fmax(size, fabs(gd[i]));
        CHECK_NEAR(energy[0] / want, 1, 1e-5);
        for (int i = 0; i < 3 * n; i++) CHECK_NEAR(g[0][4 * (i / 3) + i % 3] / size, gd[i] / size, 1e-5);
        // at rest: nothing, to the bit
        memset(u, 0, 16 * (size_t)n);
        memset(g[0], 0, 16 * (size_t)n);
        for (int k = 0; k < 2; k++) {
            FaStretch *s = k ? bends[0] : edges[0];
            assert_true(fai_stretch_eval(s, NULL, u, true) == 0);
            assert_true(fai_stretch_eval(s, fai_stretch_rest(s), u, true) == 0);
            fai_stretch_gather(s, g[0]);
        }
        for (int i = 0; i < 4 * n; i++) assert_true(g[0][i] == 0);
        for (int k = 0; k < 2; k++) {
            fai_stretch_free(edges[k]);
            fai_stretch_free(bends[k]);
        }
        fai_arena_free(a);
    }
}

// What has lost its length or direction altogether gives finite forces that restore it.
static void collapsed(void **state) {
    (void)state;
    FaArena *a = fai_arena_new(0);
    FaError err = {0};
    FaElastic e = random_body(a, 12, 2);
    FaEdges *edges;
    CHECK_OK(fai_edges_new(&e, &edges, &err), &err);
    float *u = FA_PUSH(a, 48, float), *g = FA_PUSH(a, 48, float);
    for (int i = 0; i < 36; i++) u[4 * (i / 3) + i % 3] = (float)-e.x0[i];
    double energy = fai_stretch_eval(edges, NULL, u, true), want = 0, most = 0;
    for (int i = 0; i < e.nedge; i++) want += 0.5 * e.edge_weight[i] * fai_edge_rest(&e, i) * fai_edge_rest(&e, i);
    CHECK_NEAR(energy / want, 1, 1e-5);
    fai_stretch_gather(edges, g);
    for (int i = 0; i < 48; i++) assert_true(isfinite(g[i])), most = fmax(most, (double)fabsf(g[i]));
    assert_true(most > 1e-3);
    fai_stretch_free(edges);
    fai_arena_free(a);
}

static void no_memory(void **state) {
    (void)state;
    FaArena *a = fai_arena_new(0);
    FaElastic e = random_body(a, 12, 2);
    long before = test_alloc_balance();
    for (int k = 1, done = 0; !done; k++) {
        FaError err = {0};
        FaStretch *edges = NULL, *bends = NULL;
        test_fail_alloc(k);
        FaCode rc = fai_edges_new(&e, &edges, &err);
        if (rc >= 0) rc = fai_bends_new(&e, &bends, &err);
        test_fail_alloc(0);
        done = rc >= 0;
        if (!done)
            assert_int_equal(rc, FA_E_MEMORY);
        else
            assert_true(k > 3);
        fai_stretch_free(edges);
        fai_stretch_free(bends);
        assert_int_equal(test_alloc_balance(), before);
    }
    fai_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edge_gradient), cmocka_unit_test(edge_biphasic), cmocka_unit_test(bend_gradient),
        cmocka_unit_test(rigid_motion),  cmocka_unit_test(batched),       cmocka_unit_test(collapsed),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
