// Springs at places in tets: gradient and product by differences, a body that they hold under Newton, threads.
// labels: unit hash
#include "energy/pull.h"

#include "base/task.h"
#include "solve/newton.h"
#include "test_solve_body.h"

#include <math.h>
#include <stdlib.h>

enum { PLACES = 700 };

static Body body;
static FaPull *pull;

static int make(void **state) {
    (void)state;
    FaError err = {0};
    static double k[PLACES], y[3 * PLACES], bary[4 * PLACES];
    static int node[4 * PLACES];
    uint64_t c = 5;
    body = body_new(6, 5, 4, (double[]){0.06, 0.05, 0.04}, FA_SOLID_MOONEY, 5e3, 1e5, 1000, 0.2);
    for (int s = 0; s < PLACES; s++) {
        double sum = 0;
        for (int i = 4 * s; i < 4 * s + 4; i++) {
            node[i] = body.tet[4 * (s % body.ntet) + i % 4];
            sum += bary[i] = 1.1 + uniform(&c);
        }
        for (int i = 4 * s; i < 4 * s + 4; i++) bary[i] /= sum;
        k[s] = s % 5 ? 5 * (1 + uniform(&c)) : 0;
        for (int i = 0; i < 3; i++) {
            y[3 * s + i] = 0.004 * uniform(&c);
            for (int j = 4 * s; j < 4 * s + 4; j++) y[3 * s + i] += bary[j] * body.x0[3 * node[j] + i];
        }
    }
    for (int i = 0; i < body.nnode; i++) body.fixed[i] = body.x0[3 * i] == 0;
    CHECK_OK(fai_pull_new(body.nnode, PLACES, node, bary, &pull, &err), &err);
    fai_pull_set(pull, k, y);
    return 0;
}

static int drop(void **state) {
    (void)state;
    fai_pull_free(pull);
    body_free(&body);
    return 0;
}

static double energy_at(const double *x, double *g) {
    FaTerm term = fai_pull_term(pull);
    FaTermSum sum = {0};
    if (g) memset(g, 0, 3 * (size_t)body.nnode * sizeof *g);
    term.energy(term.self, x, g, &sum);
    return sum.energy;
}

static void test_derivatives(void **state) {
    (void)state;
    FaTerm term = fai_pull_term(pull);
    size_t n = 3 * (size_t)body.nnode;
    double *x = calloc(n, sizeof *x), *p = calloc(n, sizeof *p), *g = calloc(n, sizeof *g), *h = calloc(n, sizeof *h),
           *forward = calloc(n, sizeof *x);
    const double step = 1e-4;
    uint64_t c = 9;
    for (int pass = 0; pass < 20; pass++) {
        for (size_t i = 0; i < n; i++) x[i] = body.x0[i] + 0.01 * uniform(&c), p[i] = uniform(&c), h[i] = 0;
        energy_at(x, g);
        term.product(term.self, x, p, h);
        double slope = 0, size = 0, worst = 0;
        for (size_t i = 0; i < n; i++) slope += g[i] * p[i], x[i] += step * p[i];
        double up = energy_at(x, forward);
        for (size_t i = 0; i < n; i++) {
            size = fmax(size, fabs(h[i]));
            worst = fmax(worst, fabs((forward[i] - g[i]) / step - h[i])); // quadratic: no error but rounding
            x[i] -= 2 * step * p[i];
        }
        double down = energy_at(x, NULL);
        assert_true(fabs(slope) > 0 && size > 0);
        CHECK_NEAR((up - down) / (2 * step) / slope, 1, 1e-7);
        assert_true(worst < 1e-9 * size);
    }
    free(x);
    free(p);
    free(g);
    free(h);
    free(forward);
}

// Few steps tell that the blocks are right; any number of threads gives the same bits.
static void test_newton(void **state) {
    (void)state;
    FaError err = {0};
    size_t n = 3 * (size_t)body.nnode;
    FaTerm term = fai_pull_term(pull);
    double *x = calloc(n, sizeof *x), *first = calloc(n, sizeof *x), moved = 0;
    for (int threads = 1; threads <= 8; threads *= 2) {
        fa_threads_set(threads);
        FaNewton *newton;
        FaNewtonReport r;
        FaNewtonOptions o = {.kind = FA_NEWTON_CHOL, .nterm = 1, .term = &term};
        CHECK_OK(fai_newton_new(body.solid, body.fixed, NULL, &o, &newton, &err), &err);
        memcpy(x, body.x0, n * sizeof *x);
        FaNewtonInput in = {.rest = body.rest, .fixed_at = body.x0, .tolerance = 1e-8, .iterations = 20};
        CHECK_OK(fai_newton_solve(newton, &in, x, &r, &err), &err);
        assert_true(r.iterations <= 8);
        for (size_t i = 0; i < n; i++) moved = fmax(moved, fabs(x[i] - body.x0[i]));
        if (threads == 1) memcpy(first, x, n * sizeof *x);
        assert_memory_equal(first, x, n * sizeof *x);
        fai_newton_free(newton);
    }
    fa_threads_set(0);
    assert_true(moved > 1e-5);
    free(x);
    free(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives), cmocka_unit_test(test_newton)};
    return cmocka_run_group_tests(tests, make, drop);
}
