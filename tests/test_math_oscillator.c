// The damped oscillator's exact step, against an integration in extended precision and against what it must satisfy.
#include "test.h"

#include "base/base.h"
#include "math/oscillator.h"

typedef long double Real;

typedef struct Params {
    double m, c, k;
} Params;

// --- reference: Taylor series of the state, in extended precision -------------------------------------------------

// m x'' + c x' + k x = f0 + slope t, from (x, v) over t. The series x = sum a_n t^n is exact for this linear equation;
// steps are short enough (all roots times the step below 1/2) that 30 terms leave nothing.
static void integrate(const Params *p, double t, double f0, double slope, Real *x, Real *v) {
    Real rate = (Real)p->c / p->m + sqrtl((Real)p->k / p->m);
    int n = (int)(2 * rate * t) + 1;
    Real h = (Real)t / n;
    for (int i = 0; i < n; i++) {
        Real a[34] = {*x, *v}, f[2] = {f0 + (Real)slope * h * i, slope};
        for (int j = 0; j + 2 < 34; j++) {
            Real force = j < 2 ? f[j] : 0;
            a[j + 2] = (force - (Real)p->k * a[j] - (Real)p->c * (j + 1) * a[j + 1]) / ((Real)p->m * (j + 1) * (j + 2));
        }
        Real sum = 0, rise = 0;
        for (int j = 33; j >= 0; j--) sum = sum * h + a[j];
        for (int j = 33; j >= 1; j--) rise = rise * h + j * a[j];
        *x = sum;
        *v = rise;
    }
}

// The reference itself, against a plain fourth-order Runge-Kutta: two ways to the same number.
static void runge_kutta(const Params *p, double t, int n, double f0, double slope, Real *x, Real *v) {
    Real h = (Real)t / n;
#define ACC(time, px, pv) (((Real)f0 + (Real)slope * (time) - (Real)p->c * (pv) - (Real)p->k * (px)) / p->m)
    for (int i = 0; i < n; i++) {
        Real at = h * i, k1x = *v, k1v = ACC(at, *x, *v);
        Real k2x = *v + h / 2 * k1v, k2v = ACC(at + h / 2, *x + h / 2 * k1x, k2x);
        Real k3x = *v + h / 2 * k2v, k3v = ACC(at + h / 2, *x + h / 2 * k2x, k3x);
        Real k4x = *v + h * k3v, k4v = ACC(at + h, *x + h * k3x, k4x);
        *x += h / 6 * (k1x + 2 * k2x + 2 * k3x + k4x);
        *v += h / 6 * (k1v + 2 * k2v + 2 * k3v + k4v);
    }
#undef ACC
}

// --- cases --------------------------------------------------------------------------------------------------------

static double draw(uint64_t *at, double lo, double hi) { return lo + (hi - lo) * fai_random_unit(11, (*at)++); }

// Light and heavy, soft and stiff; a third of them within 1e-12 of critical damping, some without spring or damper.
static Params random_params(int i, uint64_t *at) {
    Params p = {pow(10, draw(at, -1, 1)), 0, pow(10, draw(at, -3, 3))};
    p.c = 2 * sqrt(p.m * p.k) * pow(10, draw(at, -2, 1));
    if (i % 3 == 0) p.c = 2 * sqrt(p.m * p.k) * (1 + draw(at, -1e-12, 1e-12));
    if (i % 15 == 0) p.c = 2 * sqrt(p.m * p.k);
    if (i % 17 == 1) p.c = 0;
    if (i % 19 == 1) p.k = 0;
    if (i % 23 == 1) p.k = 1e-12;
    if (i % 29 == 1) p.c = p.k = 0;
    return p;
}

// --- tests --------------------------------------------------------------------------------------------------------

static void test_table(void **state) {
    (void)state;
    static const struct {
        Params p;
        double s[4];
    } table[] = {
        {{1.5, 8, 10}, {0.131892, 0.380430, 0.629243, 0.838236}},
        {{0.8, 7.5, 20}, {0.278480, 0.631902, 0.849409, 0.955353}},
        {{1, 4, 4}, {0.103624, 0.321902, 0.567973, 0.799787}},
    };
    for (int i = 0; i < FA_COUNT(table); i++) {
        const Params *p = &table[i].p;
        double one = fai_oscillator_response(p->m, p->c, p->k, 1);
        for (int j = 0; j < 4; j++)
            CHECK_NEAR(fai_oscillator_response(p->m, p->c, p->k, 0.2 * (j + 1)) / one, table[i].s[j], 1e-6);
    }
}

// The closed forms as the paper prints them, where they are safe to evaluate.
static void test_paper_forms(void **state) {
    (void)state;
    for (int i = 1; i <= 40; i++) {
        double t = 0.05 * i, q = -2, g = 1 + (q * t - 1) * exp(q * t);
        CHECK_NEAR(4 * fai_oscillator_response(1, 4, 4, t), g, 1e-15);
        double q1 = -1, q2 = -3; // m 1, c 4, k 3
        g = 1 + (q2 * exp(q1 * t) - q1 * exp(q2 * t)) / (q1 - q2);
        CHECK_NEAR(3 * fai_oscillator_response(1, 4, 3, t), g, 1e-15);
        double q3 = -1, q4 = 5; // m 1, c 2, k 26
        g = 1 + exp(q3 * t) * (q3 * sin(q4 * t) - q4 * cos(q4 * t)) / q4;
        CHECK_NEAR(26 * fai_oscillator_response(1, 2, 26, t), g, 2e-15);
    }
}

static void test_reference(void **state) {
    (void)state;
    uint64_t at = 0;
    for (int i = 0; i < 20; i++) {
        Params p = {draw(&at, 0.5, 2), draw(&at, 0, 10), draw(&at, 0, 40)};
        Real x = 0.3L, v = -1, rx = x, rv = v;
        integrate(&p, 1, 2, -3, &x, &v);
        runge_kutta(&p, 1, 4000, 2, -3, &rx, &rv);
        CHECK_NEAR((double)(x - rx), 0, 1e-11);
        CHECK_NEAR((double)(v - rv), 0, 1e-10);
    }
}

static void test_step(void **state) {
    (void)state;
    uint64_t at = 1000;
    double worst = 0;
    for (int i = 0; i < 3000; i++) {
        Params p = random_params(i, &at);
        double h = pow(10, draw(&at, -4, 0.5));
        double x0 = draw(&at, -1, 1), v0 = draw(&at, -1, 1), f0 = draw(&at, -1, 1), f1 = draw(&at, -1, 1);
        FaOscillatorStep s = fai_oscillator_step(p.m, p.c, p.k, h);
        double x1 = s.xx * x0 + s.xv * v0 + s.x0 * f0 + s.x1 * (f1 - f0);
        double v1 = s.vx * x0 + s.vv * v0 + s.v0 * f0 + s.v1 * (f1 - f0);
        Real x = x0, v = v0;
        integrate(&p, h, f0, (f1 - f0) / h, &x, &v);
        // relative to the largest of the parts that are summed
        double sx = 1 + fabs(s.xv) + fabs(s.x0), sv = 1 + fabs(s.vx) + fabs(s.v0);
        worst = fmax(worst, fmax((double)fabsl(x - x1) / sx, (double)fabsl(v - v1) / sv));
        if (worst > 1e-13) print_error("m %.17g c %.17g k %.17g h %.17g\n", p.m, p.c, p.k, h);
        CHECK_NEAR(worst, 0, 1e-13);
    }
    print_message("step: worst error %.1e over 3000 oscillators\n", worst);
}

// Against the integration to 1e-10 relative, small responses included; and g = t^2 / 2m without spring and damper.
static void test_response(void **state) {
    (void)state;
    uint64_t at = 5000;
    double worst = 0;
    for (int i = 0; i < 3000; i++) {
        Params p = random_params(i, &at);
        double t = pow(10, draw(&at, -3, 0.7));
        Real x = 0, v = 0;
        integrate(&p, t, 1, 0, &x, &v);
        double g = fai_oscillator_response(p.m, p.c, p.k, t);
        // an undamped response comes back to 0: there it is the scale of the motion that counts
        double scale = fmax((double)fabsl(x), p.c < 0.2 * sqrt(p.m * p.k) ? 1e-3 / p.k : 0);
        double e = (double)fabsl(x - g) / scale;
        if (e > 1e-12) print_error("m %.17g c %.17g k %.17g t %.17g\n", p.m, p.c, p.k, t);
        CHECK_NEAR(e, 0, 1e-12);
        worst = fmax(worst, e);
    }
    print_message("response: worst relative error %.1e\n", worst);
    CHECK_NEAR(fai_oscillator_response(2, 0, 0, 3), 9.0 / 4, 1e-15);
}

// Through the borders of the three damping cases and of the evaluation's own regions nothing jumps.
static void test_continuity(void **state) {
    (void)state;
    for (double t = 0.01; t < 60; t *= 1.37)
        for (double k = 1e-6; k < 1e4; k *= 7.3) {
            double c = 2 * sqrt(k);
            double below = fai_oscillator_response(1, c * (1 - 1e-13), k, t),
                   above = fai_oscillator_response(1, c * (1 + 1e-13), k, t);
            double at_it = fai_oscillator_response(1, c, k, t);
            CHECK_NEAR(below / at_it, 1, 1e-11);
            CHECK_NEAR(above / at_it, 1, 1e-11);
        }
    for (double c = 0; c < 12; c += 0.37)
        for (double k = 0.01; k < 90; k *= 1.9) {
            double before = fai_oscillator_response(1, c, k, 0.01);
            for (double t = 0.011; t < 3; t += 0.001) { // g is smooth: |g'| <= 1/sqrt(mk) and <= t/m
                double g = fai_oscillator_response(1, c, k, t);
                assert_true(fabs(g - before) <= 0.001 * fmin(1 / sqrt(k), t) * (1 + 1e-9) + 1e-15);
                before = g;
            }
        }
}

static void test_boundaries(void **state) {
    (void)state;
    uint64_t at = 20000;
    for (int i = 0; i < 300; i++) {
        Params p = random_params(i, &at);
        // a step of no length changes nothing, exactly
        FaOscillatorStep s = fai_oscillator_step(p.m, p.c, p.k, 0);
        assert_true(s.xx == 1 && s.vv == 1 && s.xv == 0 && s.vx == 0 && s.x0 == 0 && s.x1 == 0 && s.v0 == 0 &&
                    s.v1 == 0);
        assert_true(fai_oscillator_response(p.m, p.c, p.k, 0) == 0);
        // no initial velocity: g(t) / t^2 -> 1/2m
        double t = 1e-7 / (1 + p.c / p.m + sqrt(p.k / p.m));
        CHECK_NEAR(fai_oscillator_response(p.m, p.c, p.k, t) / (t * t) * 2 * p.m, 1, 1e-6);
    }
}

// Two half steps are one step; energy never grows; after a long time it rests at f/k.
static void test_composition(void **state) {
    (void)state;
    uint64_t at = 40000;
    for (int i = 0; i < 500; i++) {
        Params p = random_params(i, &at);
        double h = pow(10, draw(&at, -3, 1));
        FaOscillatorStep a = fai_oscillator_step(p.m, p.c, p.k, h), b = fai_oscillator_step(p.m, p.c, p.k, h / 2);
        double tol = 1e-12 * (1 + fabs(b.xv * b.vx) + b.xx * b.xx);
        CHECK_NEAR(b.xx * b.xx + b.xv * b.vx, a.xx, tol);
        CHECK_NEAR(b.vx * b.xv + b.vv * b.vv, a.vv, tol);
        CHECK_NEAR(a.xx * a.vv - a.xv * a.vx, exp(-p.c / p.m * h), 1e-11); // Liouville
        double x = 0.7, v = -0.2, before = p.k * x * x + p.m * v * v;
        for (int n = 0; n < 50; n++) {
            double nx = a.xx * x + a.xv * v, nv = a.vx * x + a.vv * v, energy = p.k * nx * nx + p.m * nv * nv;
            assert_true(energy <= before * (1 + 1e-12));
            x = nx, v = nv, before = energy;
        }
        if (p.k > 1e-3 && p.c > 1e-3) {
            double long_time = 60 * (p.c / p.k + p.m / p.c);
            CHECK_NEAR(p.k * fai_oscillator_response(p.m, p.c, p.k, long_time), 1, 1e-12);
            assert_true(isfinite(fai_oscillator_response(p.m, p.c, p.k, 1e6 * long_time)));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),      cmocka_unit_test(test_paper_forms), cmocka_unit_test(test_reference),
        cmocka_unit_test(test_step),       cmocka_unit_test(test_response),    cmocka_unit_test(test_continuity),
        cmocka_unit_test(test_boundaries), cmocka_unit_test(test_composition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
