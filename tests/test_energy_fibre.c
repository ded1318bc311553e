// Fibres: their curves, derivatives against differences far from rest, an active bar against its solution in two
// numbers, a strap in flesh.
// labels: unit hash
#include "base/task.h"
#include "energy/fibre.h"
#include "solve/newton.h"

#include "test_solve_body.h"

static const double MU = 5000, BULK = 20, SIGMA = 3e5; // bulk modulus by mu

static void test_curves(void **state) {
    (void)state;
    double worst = 0, h = 1e-6;
    for (int i = 0; i < 2000; i++) {
        double e = -1.2 + 2.4 * (i + 0.37) / 2000;
        for (int k = 0; k < 2; k++) {
            FaFibreCurve (*curve)(double) = k ? fai_fibre_passive : fai_fibre_active;
            FaFibreCurve c = curve(e), up = curve(e + h), down = curve(e - h);
            worst = fmax(worst, fabs((up.integral - down.integral) / (2 * h) - c.value));
            if (fabs(fabs(e) - 0.4) > 1e-5 && fabs(fabs(e) - 0.6) > 1e-5)
                worst = fmax(worst, fabs((up.value - down.value) / (2 * h) - c.slope) / (1 + fabs(c.slope)));
            assert_true(c.value >= 0);
        }
    }
    CHECK_NEAR(worst, 0, 1e-7);
    CHECK_NEAR(fai_fibre_active(0).value, 1, 0);
    CHECK_NEAR(fai_fibre_active(-0.4).value, 1.0 / 3, 1e-15);
    CHECK_NEAR(fai_fibre_active(0.5).value, 25.0 / 3 * 0.01, 1e-15);
    CHECK_NEAR(fai_fibre_active(-0.6).value, 0, 1e-15);
    CHECK_NEAR(fai_fibre_passive(0.2).value, 0.05 * (exp(1.32) - 1.32 - 1), 1e-15);
    CHECK_NEAR(fai_fibre_passive(1.4).value, fai_fibre_passive(0.4).value + fai_fibre_passive(0.4).slope, 1e-12);
    CHECK_NEAR(fai_fibre_passive(-0.2).value, 0, 0);
}

// --- a block with two muscles that cross --------------------------------------------------------------------------

typedef struct Scene {
    Body b;
    FaFibre *fibre;
    FaTerm term;
    FaNewtonInput in;
} Scene;

enum { MUSCLES = 2 };

static void scene_new(Scene *s, int fine, double jitter) {
    *s = (Scene){.b = body_new(6 * fine, 4 * fine, 3 * fine, (double[]){0.06, 0.04, 0.03}, FA_SOLID_MOONEY, MU,
                               (BULK - 2.0 / 3) * MU, 1100, jitter)};
    Body *b = &s->b;
    FaFibreSample *sample = calloc(MUSCLES * (size_t)b->ntet, sizeof *sample);
    int n = 0;
    for (int m = 0; m < MUSCLES; m++)
        for (int e = 0; e < b->ntet; e++) {
            double c[3] = {0};
            for (int k = 0; k < 12; k++) c[k % 3] += b->x0[3 * b->tet[4 * e + k / 3] + k % 3] / 4;
            double along = m ? c[1] - 0.02 : c[2] - 0.015 - 0.1 * (c[0] - 0.03);
            if (fabs(along) < 0.006)
                sample[n++] = (FaFibreSample){e, m, 0.3 + 0.3 * m, {1, m ? 0 : 0.2, m ? 0.3 : 0.1}};
        }
    FaError err = {0};
    FaFibreBody body = {b->nnode, b->ntet, MUSCLES, b->x0, b->tet, (double[]){SIGMA, SIGMA}};
    CHECK_OK(fai_fibre_new(&body, n, sample, &s->fibre, &err), &err);
    free(sample);
    fai_fibre_activate(s->fibre, (double[]){1, 0.5});
    s->term = fai_fibre_term(s->fibre);
    for (int v = 0; v < b->nnode; v++) b->fixed[v] = b->x0[3 * v] == 0 || b->x0[3 * v + 2] == 0;
    s->in = (FaNewtonInput){.rest = b->rest, .tolerance = 1e-6, .iterations = 100};
}

static void scene_free(Scene *s) {
    fai_fibre_free(s->fibre);
    body_free(&s->b);
}

static FaNewton *newton_of(const Scene *s, FaNewtonKind kind) {
    FaNewton *n;
    FaError err = {0};
    FaNewtonOptions o = {.kind = kind, .nterm = 1, .term = &s->term};
    CHECK_OK(fai_newton_new(s->b.solid, s->b.fixed, s->b.mass, &o, &n, &err), &err);
    return n;
}

static void check_falls(const FaNewtonReport *r) {
    assert_true(r->iterations > 0 && r->iterations < FA_NEWTON_LOG);
    for (int i = 1; i <= r->iterations; i++) assert_true(r->energy[i] <= r->energy[i - 1]);
}

// Gradient of solid and fibres against differences of the energy, products against those of the gradient, blocks
// against products; in states where about a quarter of the tets is inside out.
static void test_derivatives(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, 1, 0.2);
    size_t n = 3 * (size_t)s.b.nnode;
    FaNewton *newton = newton_of(&s, FA_NEWTON_JACOBI);
    FaBlocks *b[2];
    FaError err = {0};
    CHECK_OK(fai_blocks_new(s.b.solid, NULL, 0, NULL, &b[0], &err), &err);
    CHECK_OK(fai_blocks_new(s.b.solid, s.b.fixed, 0, NULL, &b[1], &err), &err);
    double *x = calloc(n, 8), *g = calloc(n, 8), *g2 = calloc(n, 8), *p = calloc(n, 8), *y = calloc(n, 8);
    float *pf = calloc(2 * n + 16, 4), *yf = calloc(2 * n + 16, 4);
    uint64_t r = 5;
    double worst_g = 0, worst_p = 0, worst_b = 0, share = 0;
    for (int trial = 0; trial < 40; trial++) {
        double size = 0, norm, h = 1e-7;
        for (size_t i = 0; i < n; i++) x[i] = s.b.x0[i] + 0.0085 * uniform(&r), p[i] = (double)(float)uniform(&r);
        share += (double)fai_solid_inverted(s.b.rest, x) / s.b.ntet / 40;
        fai_newton_energy(newton, &s.in, x, g, &norm);
        for (size_t i = (size_t)trial; i < n; i += 37) {
            double keep = x[i], e[4];
            for (int k = 0; k < 4; k++) {
                x[i] = keep + 10 * h * (double)((int[]){-2, -1, 1, 2}[k]);
                if (!s.b.fixed[i / 3]) e[k] = fai_newton_energy(newton, &s.in, x, NULL, NULL);
            }
            x[i] = keep;
            if (!s.b.fixed[i / 3])
                worst_g = fmax(worst_g, fabs((e[0] - 8 * e[1] + 8 * e[2] - e[3]) / (120 * h) - g[i]) / norm);
        }
        memset(y, 0, n * 8), memset(g, 0, n * 8), memset(g2, 0, n * 8);
        FaTermSum sum = {0}, more = {0};
        s.term.product(s.fibre, x, p, y);
        for (size_t i = 0; i < n; i++) x[i] += h * p[i];
        s.term.energy(s.fibre, x, g, &sum);
        s.term.energy(s.fibre, x, NULL, &more);
        assert_true(sum.energy == more.energy && sum.size >= fabs(sum.energy));
        for (size_t i = 0; i < n; i++) x[i] -= 2 * h * p[i];
        s.term.energy(s.fibre, x, g2, &sum);
        for (size_t i = 0; i < n; i++) x[i] += h * p[i], size = fmax(size, fabs(y[i]));
        for (size_t i = 0; i < n; i++) worst_p = fmax(worst_p, fabs((g[i] - g2[i]) / (2 * h) - y[i]) / size);
        // two patterns in turns: where blocks are is found anew
        FaBlocks *to = b[trial % 2];
        for (size_t i = 0; trial % 2 && i < n; i++)
            if (s.b.fixed[i / 3]) p[i] = 0;
        memset(y, 0, n * 8);
        s.term.product(s.fibre, x, p, y);
        memset(to->val, 0, 9 * (size_t)to->start[to->nfree] * sizeof(float));
        assert_int_equal(s.term.second(s.fibre, x, FA_HESSIAN_TRUE, to), -1);
        for (int i = 0; i < 3 * to->nfree; i++) pf[4 * (i / 3) + i % 3] = (float)p[3 * to->node[i / 3] + i % 3];
        fai_blocks_mul(to, pf, yf);
        for (int i = 0; i < 3 * to->nfree; i++)
            worst_b = fmax(worst_b, fabs((double)yf[4 * (i / 3) + i % 3] - y[3 * to->node[i / 3] + i % 3]) / size);
        // made definite
        memset(to->val, 0, 9 * (size_t)to->start[to->nfree] * sizeof(float));
        assert_true(s.term.second(s.fibre, x, FA_HESSIAN_PROJECTED, to) > 0);
        fai_blocks_mul(to, pf, yf);
        double curve = 0, all = 0;
        for (int i = 0; i < 4 * to->nfree; i++) curve += (double)(pf[i] * yf[i]), all += fabs((double)(pf[i] * yf[i]));
        assert_true(curve > -1e-6 * all);
    }
    printf("%.0f %% inverted; gradient %.1e, product %.1e, blocks %.1e\n", 100 * share, worst_g, worst_p, worst_b);
    assert_true(share > 0.2 && share < 0.4);
    CHECK_NEAR(worst_g, 0, 1e-6);
    CHECK_NEAR(worst_p, 0, 1e-5);
    CHECK_NEAR(worst_b, 0, 1e-5);
    free(x), free(g), free(g2), free(p), free(y), free(pf), free(yf);
    fai_blocks_free(b[0]), fai_blocks_free(b[1]);
    fai_newton_free(newton);
    scene_free(&s);
}

// Stretched along its fibres by 0.3, a muscle of so much slack has no energy; by 0.5 that of another by 0.2.
static void test_slack(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, 1, 0);
    Body *b = &s.b;
    double e[2][2] = {{0}}, *x = malloc(3 * (size_t)b->nnode * sizeof *x);
    fai_fibre_activate(s.fibre, (double[]){0, 0});
    for (int slack = 0; slack < 2; slack++) {
        fai_fibre_slack(s.fibre, (double[]){0.3 * slack, 0.3 * slack});
        for (int k = 0; k < 2; k++) {
            double stretch = slack ? (k ? 1.5 : 1.3) : 1.2;
            for (int i = 0; i < 3 * b->nnode; i++) x[i] = stretch * b->x0[i];
            FaTermSum sum = {0};
            s.term.energy(s.fibre, x, NULL, &sum);
            e[slack][k] = sum.energy;
        }
    }
    assert_true(e[0][0] > 0);
    CHECK_NEAR(e[1][0], 0, 1e-15);
    CHECK_NEAR(e[1][1], e[0][0], 1e-9 * e[0][0]);
    free(x);
    scene_free(&s);
}

// --- the bar ------------------------------------------------------------------------------------------------------

// Stretch l along the fibres and t across: no force on any side. Newton's method in t, bisection in l.
static void bar_solution(double activation, double share, double *l, double *t) {
    double c10 = (1 - FA_MOONEY_AREA) * MU / 2, c01 = FA_MOONEY_AREA * MU / 2, k = (BULK - 2.0 / 3) * MU + 2 * c10,
           low = 0.3, high = 1.2;
    for (int i = 0; i < 200; i++) {
        double a = (low + high) / 2, e = a - 1;
        double t2 = ((k + 2 * c10 + 4 * c01) * a - 2 * c10 - 2 * c01 * a * a) / (2 * c01 + k * a * a);
        double pull = 2 * c10 * a + 4 * c01 * a * t2 + (k * (a * t2 - 1) - 2 * c10 - 4 * c01) * t2;
        pull += share * SIGMA * (activation * fai_fibre_active(e).value + fai_fibre_passive(e).value);
        *l = a, *t = sqrt(t2);
        if (pull > 0)
            high = a;
        else
            low = a;
    }
}

static void test_bar(void **state) {
    (void)state;
    for (int q = 0; q < FA_NEWTON_KINDS; q++)
        for (int step = 0; step < 4; step++) {
            double a = (double[]){0.05, 0.2, 0.6, 1}[step], share = 0.5, l, t;
            Body b =
                body_new(6, 2, 2, (double[]){0.06, 0.02, 0.02}, FA_SOLID_MOONEY, MU, (BULK - 2.0 / 3) * MU, 1100, 0.1);
            FaFibreSample *sample = calloc((size_t)b.ntet, sizeof *sample);
            FaSpring *spring = calloc(3 * (size_t)b.nnode, sizeof *spring);
            int nspring = 0;
            for (int e = 0; e < b.ntet; e++) sample[e] = (FaFibreSample){e, 0, share, {2, 0, 0}};
            for (int i = 0; i < 3 * b.nnode; i++) {
                if (b.x0[i] != 0) continue;
                spring[nspring] = (FaSpring){.node = i / 3, .stiffness = 100};
                spring[nspring++].normal[i % 3] = 1;
            }
            FaError err = {0};
            FaFibre *f;
            FaNewton *n;
            FaFibreBody body = {b.nnode, b.ntet, 1, b.x0, b.tet, &SIGMA};
            CHECK_OK(fai_fibre_new(&body, b.ntet, sample, &f, &err), &err);
            fai_fibre_activate(f, &a);
            FaTerm term = fai_fibre_term(f);
            FaNewtonOptions o = {.kind = q, .nterm = 1, .term = &term, .max_springs = nspring};
            CHECK_OK(fai_newton_new(b.solid, NULL, NULL, &o, &n, &err), &err);
            FaNewtonInput in = {
                .rest = b.rest, .tolerance = 1e-12, .iterations = 200, .nspring = nspring, .spring = spring};
            FaNewtonReport r;
            CHECK_OK(fai_newton_solve(n, &in, b.x, &r, &err), &err);
            check_falls(&r);
            bar_solution(a, share, &l, &t);
            double worst = 0;
            for (int i = 0; i < 3 * b.nnode; i++) worst = fmax(worst, fabs(b.x[i] - (i % 3 ? t : l) * b.x0[i]) / 0.06);
            if (q == 0 || q == FA_NEWTON_CHOL)
                printf("%-5s activation %.2f: length %.4f, width %.4f, %d steps, off by %.1e\n",
                       fai_newton_kind_name[q], a, l, t, r.iterations, worst);
            CHECK_NEAR(worst, 0, q == FA_NEWTON_PCG || q == FA_NEWTON_CHOL ? 1e-9 : 1e-7);
            fai_newton_free(n), fai_fibre_free(f);
            free(sample), free(spring);
            body_free(&b);
        }
}

// --- muscles in flesh ---------------------------------------------------------------------------------------------

// From rest to full activation in few steps, downhill, for every kind; the same bits for any number of threads; nothing
// allocated.
static void test_strap(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 8};
    double *first = NULL;
    for (int q = 0; q < FA_NEWTON_KINDS; q++) {
        uint64_t hash[4];
        FaNewtonReport r;
        for (int t = 0; t < FA_COUNT(threads); t++) {
            fa_threads_set(threads[t]);
            Scene s;
            scene_new(&s, 2, 0.15);
            s.in.tolerance = 1e-9;
            FaNewton *n = newton_of(&s, q);
            FaError err = {0};
            test_fail_alloc(1);
            FaCode rc = fai_newton_solve(n, &s.in, s.b.x, &r, &err);
            assert_false(test_alloc_failed());
            test_fail_alloc(0);
            CHECK_OK(rc, &err);
            check_falls(&r);
            size_t count = 3 * (size_t)s.b.nnode;
            hash[t] = fai_hash64(s.b.x, count * 8, 0);
            assert_true(hash[t] == hash[0]);
            double moved = 0, worst = 0;
            for (size_t i = 0; i < count; i++) moved = fmax(moved, fabs(s.b.x[i] - s.b.x0[i]));
            assert_true(moved > 0.004);
            if (!first) {
                first = malloc(count * 8);
                memcpy(first, s.b.x, count * 8);
            }
            for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs(first[i] - s.b.x[i]));
            CHECK_NEAR(worst, 0, 1e-7);
            fai_newton_free(n);
            scene_free(&s);
        }
        printf("%-6s %016llx %d steps, %d negative, %d projected, %d inverted\n", fai_newton_kind_name[q],
               (unsigned long long)hash[0], r.iterations, r.negative, r.projected, r.inverted);
    }
    free(first);
    fa_threads_set(0);
}

// To the accuracy of a pose, on one kept factor and with a new one at every step.
static void test_few_steps(void **state) {
    (void)state;
    for (int q = 0; q < 2; q++) {
        Scene s;
        scene_new(&s, 3, 0.15);
        s.in.tolerance = 1e-4;
        FaNewton *n = newton_of(&s, q ? FA_NEWTON_CHOL : FA_NEWTON_PCG);
        FaNewtonReport r;
        FaError err = {0};
        CHECK_OK(fai_newton_solve(n, &s.in, s.b.x, &r, &err), &err);
        printf("%s: %d steps to full activation, %d cg, %d backtracks, %d factors, %d hessians, %d negative\n",
               q ? "chol" : "pcg", r.iterations, r.cg, r.backtracks, r.refreshes, r.hessians, r.negative);
        assert_int_equal(r.status, FA_NEWTON_CONVERGED);
        assert_in_range(r.iterations, 1, 10);
        fai_newton_free(n);
        scene_free(&s);
    }
}

static void test_bad_input(void **state) {
    (void)state;
    Body b = body_new(1, 1, 1, (double[]){1, 1, 1}, FA_SOLID_MOONEY, MU, MU, 1, 0);
    FaFibreBody body = {b.nnode, b.ntet, 1, b.x0, b.tet, &SIGMA};
    static const FaFibreSample bad[] = {{6, 0, 0.5, {1, 0, 0}},   {-1, 0, 0.5, {1, 0, 0}}, {0, 1, 0.5, {1, 0, 0}},
                                        {0, 0, 1.5, {1, 0, 0}},   {0, 0, 0.5, {0, 0, 0}},  {0, 0, NAN, {1, 0, 0}},
                                        {0, 0, 0.5, {NAN, 0, 0}}, {0, 0, -0.1, {1, 0, 0}}};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        FaFibre *f;
        FaError err = {0};
        assert_int_equal(fai_fibre_new(&body, 1, &bad[i], &f, &err), FA_E_ARG);
        assert_null(f);
    }
    // none at all: no force
    FaFibre *f;
    FaError err = {0};
    CHECK_OK(fai_fibre_new(&body, 0, NULL, &f, &err), &err);
    FaTerm term = fai_fibre_term(f);
    FaTermSum sum = {0};
    term.energy(f, b.x0, b.force, &sum);
    assert_true(sum.energy == 0);
    fai_fibre_free(f);
    body_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curves),    cmocka_unit_test(test_derivatives), cmocka_unit_test(test_slack),
        cmocka_unit_test(test_bar),       cmocka_unit_test(test_strap),       cmocka_unit_test(test_few_steps),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests_name("energy_fibre", tests, NULL, NULL);
}
