// Rest shapes and materials that change under flesh (paper 000 section 5.2, figures 5 and 6): full rebalancing moves
// nothing that nothing pushes, none of it rings; the moving head's frame and the world agree; steps of any length
// agree; the slab of theory.
#include "test.h"

#include "base/base.h"
#include "math/mat3.h"
#include "solve/rebalance.h"

// A box of nx x ny x nz cubes of six tets each.
typedef struct Box {
    int n, ntet;
    int *tet;
    double *x, *mass, *mu, *lambda;
    unsigned char *fixed;
    FaSolid *solid;
} Box;

static void add_cube(Box *b, const int corner[8]) {
    static const int path[6][2] = {{1, 3}, {1, 5}, {2, 3},
                                   {2, 6}, {4, 5}, {4, 6}}; // from corner 0 to 7 along three edges
    for (int t = 0; t < 6; t++) {
        int v[4] = {corner[0], corner[path[t][0]], corner[path[t][1]], corner[7]};
        double e[3][3];
        for (int k = 0; k < 3; k++) fai_v3_sub(b->x + 3 * v[k + 1], b->x + 3 * v[0], e[k]);
        double c[3];
        fai_v3_cross(e[0], e[1], c);
        if (fai_v3_dot(c, e[2]) < 0) {
            int swapped = v[1];
            v[1] = v[2];
            v[2] = swapped;
        }
        memcpy(b->tet + 4 * b->ntet++, v, sizeof v);
    }
}

static Box make_box(int nx, int ny, int nz, double step, double mu, double lambda, FaSolidLaw law) {
    Box b = {.n = (nx + 1) * (ny + 1) * (nz + 1)};
    size_t n = (size_t)b.n, cubes = (size_t)(nx * ny * nz);
    b.x = calloc(3 * n, sizeof(double));
    b.mass = calloc(n, sizeof(double));
    b.fixed = calloc(n, 1);
    b.tet = calloc(24 * cubes, sizeof(int));
    b.mu = calloc(6 * cubes, sizeof(double));
    b.lambda = calloc(6 * cubes, sizeof(double));
    for (int i = 0, k = 0; k <= nz; k++)
        for (int j = 0; j <= ny; j++)
            for (int a = 0; a <= nx; a++, i++) fai_v3_set(b.x + 3 * i, a * step, j * step, k * step);
    int row = nx + 1, slice = (nx + 1) * (ny + 1);
    for (int k = 0; k < nz; k++)
        for (int j = 0; j < ny; j++)
            for (int a = 0; a < nx; a++) {
                int c[8];
                for (int q = 0; q < 8; q++) c[q] = a + (q & 1) + (j + (q >> 1 & 1)) * row + (k + (q >> 2)) * slice;
                add_cube(&b, c);
            }
    for (int t = 0; t < b.ntet; t++) {
        b.mu[t] = mu;
        b.lambda[t] = lambda;
        for (int q = 0; q < 4; q++) b.mass[b.tet[4 * t + q]] += 1100 * step * step * step / 24;
    }
    FaError err = {0};
    CHECK_OK(fai_solid_new(b.n, b.ntet, b.tet, b.x, law, &b.solid, &err), &err);
    return b;
}

static void free_box(Box *b) {
    fai_solid_free(b->solid);
    free(b->x);
    free(b->mass);
    free(b->fixed);
    free(b->tet);
    free(b->mu);
    free(b->lambda);
}

static FaRebalance *start(const Box *b, const FaRebalanceOptions *o, const double *X) {
    FaError err = {0};
    FaRebalance *r;
    double zero[3] = {0};
    FaPose pose = fai_pose_identity();
    CHECK_OK(fai_rebalance_new(b->solid, b->fixed, b->mass, o, &r, &err), &err);
    CHECK_OK(fai_rebalance_reset(r, X ? X : b->x, b->mu, b->lambda, &pose, zero, zero, &err), &err);
    return r;
}

// A bar along x, held at its left end.
static Box bar(void) {
    Box b = make_box(12, 2, 2, 0.005, 3000, 2500, FA_SOLID_STVK);
    for (int i = 0; i < b.n; i++) b.fixed[i] = b.x[3 * i] == 0;
    return b;
}

static double tip(const Box *b, FaRebalance *r, const double *X, int axis) {
    return X[3 * (b->n - 1) + axis] + fai_rebalance_d(r)[3 * (b->n - 1) + axis];
}

// Nothing pushes: whatever rest shape and materials do, d is 0 to the bit.
static void test_untouched(void **state) {
    (void)state;
    FaError err = {0};
    Box b = bar();
    for (int scheme = 0; scheme < 2; scheme++) {
        FaRebalance *r =
            start(&b, &(FaRebalanceOptions){.scheme = (FaScheme)scheme, .alpha = 1, .beta = 0.001, .drag = 2}, NULL);
        double *X = malloc(3 * (size_t)b.n * sizeof *X), *mu = malloc((size_t)b.ntet * sizeof *mu);
        for (int s = 1; s <= 100; s++) {
            for (int i = 0; i < 3 * b.n; i++)
                X[i] = b.x[i] * (1 + 0.4 * sin(0.2 * s + i % 3)) + 1e-3 * sin(0.1 * s * (1 + i % 5));
            for (int t = 0; t < b.ntet; t++) mu[t] = 3000 * (1.5 + sin(0.3 * s + t));
            FaRebalanceInput in = {.h = 1.0 / 300, .X = X, .mu = mu, .lambda = b.lambda, .pose = fai_pose_identity()};
            CHECK_OK(fai_rebalance_step(r, &in, NULL, &err), &err);
            for (int i = 0; i < 3 * b.n; i++) assert_true(fai_rebalance_d(r)[i] == 0);
        }
        free(X);
        free(mu);
        fai_rebalance_free(r);
    }
    free_box(&b);
}

// Figure 5 below: the bar's rest length grows by half in 0.1 s. What its tip does beyond its rest, at most, afterwards.
static double grow(const Box *b, double alpha, double at_end[1]) {
    FaError err = {0};
    FaRebalance *r = start(b, &(FaRebalanceOptions){.scheme = FA_SCHEME_BDF2, .alpha = alpha}, NULL);
    double *X = malloc(3 * (size_t)b->n * sizeof *X), worst = 0;
    for (int s = 1; s <= 150; s++) {
        double part = fmin(1, s / 30.0), length = 1 + 0.5 * part * part * (3 - 2 * part);
        for (int i = 0; i < 3 * b->n; i++) X[i] = b->x[i] * (i % 3 == 0 ? length : 1);
        FaRebalanceInput in = {.h = 1.0 / 300, .X = X, .mu = b->mu, .lambda = b->lambda, .pose = fai_pose_identity()};
        CHECK_OK(fai_rebalance_step(r, &in, NULL, &err), &err);
        if (s > 30) worst = fmax(worst, fabs(tip(b, r, X, 0) - X[3 * (b->n - 1)]));
    }
    *at_end = tip(b, r, X, 0);
    free(X);
    fai_rebalance_free(r);
    return worst;
}

static void test_growing_bar(void **state) {
    (void)state;
    Box b = bar();
    double end[3], full = grow(&b, 1, &end[0]), half = grow(&b, 0.5, &end[1]), none = grow(&b, 0, &end[2]);
    print_message("bar of 60 mm that grows by 30 mm in 0.1 s, off its rest afterwards: alpha 1: %.3g mm, 0.5: %.3g mm, "
                  "0: %.3g mm\n",
                  1e3 * full, 1e3 * half, 1e3 * none);
    assert_true(full == 0);
    assert_true(none > 5e-3);
    assert_true(half > 0.25 * none && half < 0.75 * none);
    free_box(&b);
}

// Figure 5 above: a bar that hangs out sideways gets softer. With rebalancing it sinks to its new sag and does not ring
// there.
static double soften(const Box *b, double alpha, double *sag) {
    FaError err = {0};
    FaRebalance *r = start(b, &(FaRebalanceOptions){.scheme = FA_SCHEME_BDF2, .alpha = alpha, .tolerance = 1e-6}, NULL);
    double *mu = malloc((size_t)b->ntet * sizeof *mu), low = 1, high = -1;
    FaRebalanceInput in = {.h = 1.0 / 300,
                           .X = b->x,
                           .mu = b->mu,
                           .lambda = b->lambda,
                           .pose = fai_pose_identity(),
                           .accel = {0, -1.0, 0}};
    CHECK_OK(fai_rebalance_settle(r, &in, NULL, &err), &err);
    in.mu = mu;
    for (int s = 1; s <= 200; s++) {
        for (int t = 0; t < b->ntet; t++) mu[t] = 3000 * (1 - 0.6 * fmin(1, s / 20.0));
        CHECK_OK(fai_rebalance_step(r, &in, NULL, &err), &err);
        double y = tip(b, r, b->x, 1);
        if (s >= 20) low = fmin(low, y), high = fmax(high, y);
    }
    CHECK_OK(fai_rebalance_settle(r, &in, NULL, &err), &err);
    *sag = tip(b, r, b->x, 1) - b->x[3 * (b->n - 1) + 1];
    free(mu);
    fai_rebalance_free(r);
    return high - low;
}

static void test_softening_bar(void **state) {
    (void)state;
    Box b = bar();
    double sag, full = soften(&b, 1, &sag), half = soften(&b, 0.5, &sag), none = soften(&b, 0, &sag);
    print_message("bar that softens to 40 %% in 0.067 s, sag %.3g mm, swing afterwards: alpha 1: %.3g mm, 0.5: %.3g "
                  "mm, 0: %.3g mm\n",
                  1e3 * sag, 1e3 * full, 1e3 * half, 1e3 * none);
    assert_true(full < 0.02 * none);
    assert_true(half > 0.2 * none && half < 0.8 * none);
    free_box(&b);
}

// The head's frame and the world: a rest shape that is turned and shifted as a whole, without rebalancing, is a moving
// head.
static void test_world(void **state) {
    (void)state;
    FaError err = {0};
    Box b = bar();
    FaRebalanceOptions o = {.scheme = FA_SCHEME_BDF2, .alpha = 1, .tolerance = 1e-9, .calm = 1e-9};
    FaRebalance *head = start(&b, &o, NULL);
    o.alpha = 0;
    FaRebalance *world = start(&b, &o, NULL);
    double *X = malloc(3 * (size_t)b.n * sizeof *X), worst = 0, peak = 0;
    for (int s = 1; s <= 60; s++) {
        double t = s / 300.0, turn[3] = {0.3 * sin(9 * t) * 9 * t, 0.5 * (1 - cos(12 * t)), 0.2 * t * t * 30};
        FaPose pose = fai_pose_identity();
        fai_q_exp(turn, pose.q);
        fai_v3_set(pose.p, 0.03 * (1 - cos(15 * t)), 0.02 * t, -0.3 * t * t);
        for (int i = 0; i < b.n; i++) fai_pose_apply(&pose, b.x + 3 * i, X + 3 * i);
        FaRebalanceInput in = {.h = 1.0 / 300, .X = b.x, .mu = b.mu, .lambda = b.lambda, .pose = pose};
        CHECK_OK(fai_rebalance_step(head, &in, NULL, &err), &err);
        in.X = X;
        in.pose = fai_pose_identity();
        CHECK_OK(fai_rebalance_step(world, &in, NULL, &err), &err);
        for (int i = 0; i < b.n; i++) {
            double at[3], there[3];
            fai_v3_add(b.x + 3 * i, fai_rebalance_d(head) + 3 * i, at);
            fai_pose_apply(&pose, at, there);
            for (int k = 0; k < 3; k++)
                worst = fmax(worst, fabs(there[k] - X[3 * i + k] - fai_rebalance_d(world)[3 * i + k]));
            peak = fmax(peak, fai_v3_norm(fai_rebalance_d(head) + 3 * i));
        }
    }
    print_message("head's frame against the world: %.2g m, of %.3g mm\n", worst, 1e3 * peak);
    assert_true(peak > 2e-3);
    assert_true(worst < 1e-8);
    free(X);
    fai_rebalance_free(head);
    fai_rebalance_free(world);
    free_box(&b);
}

// A layer on bone: its static deflection and first shear frequency are those of theory (methods.md section 4). Twelve
// times as long as it is thick, and read in the middle, where its ends are not felt.
static void test_layer(void **state) {
    (void)state;
    FaError err = {0};
    const double L = 0.015, mu = 3000, rho = 1100, accel = 2;
    enum { NX = 96, NZ = 8, RATE = 2400 };
    Box b = make_box(NX, 1, NZ, L / NZ, mu, 2500, FA_SOLID_STVK);
    for (int i = 0; i < b.n; i++) b.fixed[i] = b.x[3 * i + 2] == 0;
    int middle = NZ * 2 * (NX + 1) + NX / 2;
    FaRebalance *r = start(&b, &(FaRebalanceOptions){.scheme = FA_SCHEME_BDF2, .alpha = 1, .tolerance = 1e-6}, NULL);
    FaRebalanceInput in = {
        .h = 1.0 / RATE, .X = b.x, .mu = b.mu, .lambda = b.lambda, .pose = fai_pose_identity(), .accel = {accel, 0, 0}};
    CHECK_OK(fai_rebalance_settle(r, &in, NULL, &err), &err);
    double sag = fai_rebalance_d(r)[3 * middle], theory = fai_layer_deflection(mu, rho, L, accel);
    // released, it rings
    memset(in.accel, 0, sizeof in.accel);
    double last = sag, zero[3];
    int nzero = 0;
    for (int s = 0; s < 1200 && nzero < 3; s++) {
        CHECK_OK(fai_rebalance_step(r, &in, NULL, &err), &err);
        double now = fai_rebalance_d(r)[3 * middle];
        if ((now > 0) != (last > 0)) zero[nzero++] = s + last / (last - now);
        last = now;
    }
    assert_int_equal(nzero, 3);
    double hz = RATE / (zero[2] - zero[0]), want = fai_layer_frequency(mu, rho, L);
    print_message("layer of 15 mm: deflection %.4g mm (theory %.4g), %.4g Hz (theory %.4g)\n", 1e3 * sag, 1e3 * theory,
                  hz, want);
    CHECK_NEAR(sag / theory, 1, 0.02);
    CHECK_NEAR(hz / want, 1, 0.02);
    fai_rebalance_free(r);
    free_box(&b);
}

// The same shake at three steps: second order.
static void test_steps(void **state) {
    (void)state;
    FaError err = {0};
    Box b = bar();
    double end[3][64], peak = 0, gap[2] = {0, 0};
    int at = 0;
    for (int run = 0; run < 3; run++) {
        int per = 1 << run;
        FaRebalance *r =
            start(&b,
                  &(FaRebalanceOptions){
                      .scheme = FA_SCHEME_BDF2, .alpha = 1, .tolerance = 1e-7, .beta = fai_damping_beta(0.1, 20)},
                  NULL);
        at = 0;
        for (int s = 1; s <= 64 * per; s++) {
            double t = s / (300.0 * per);
            FaPose pose = fai_pose_identity();
            pose.p[1] = 0.004 * (1 - cos(2 * M_PI * 3 * t));
            FaRebalanceInput in = {.h = 1 / (300.0 * per), .X = b.x, .mu = b.mu, .lambda = b.lambda, .pose = pose};
            CHECK_OK(fai_rebalance_step(r, &in, NULL, &err), &err);
            if (s % per == 0) end[run][at++] = tip(&b, r, b.x, 1) - b.x[3 * (b.n - 1) + 1];
        }
        fai_rebalance_free(r);
    }
    for (int i = 0; i < at; i++) {
        peak = fmax(peak, fabs(end[2][i]));
        for (int k = 0; k < 2; k++) gap[k] = fmax(gap[k], fabs(end[k][i] - end[k + 1][i]));
    }
    print_message("steps of 1/300 and 1/600, 1/600 and 1/1200: %.3g %% and %.3g %% of the peak, %.3g mm\n",
                  100 * gap[0] / peak, 100 * gap[1] / peak, 1e3 * peak);
    assert_true(peak > 1e-3 && gap[1] < 0.02 * peak && gap[1] < 0.4 * gap[0]);
    free_box(&b);
}

// A state that is saved and loaded elsewhere goes on the same, also on factors that were made of flesh away from rest;
// the energy of a damped swing falls.
static void state_of(FaNewtonKind kind) {
    FaError err = {0};
    Box b = bar();
    FaRebalanceOptions o = {.scheme = FA_SCHEME_BDF2,
                            .alpha = 1,
                            .beta = fai_damping_beta(0.1, 10),
                            .tolerance = 1e-8,
                            .newton.kind = kind};
    FaRebalance *r = start(&b, &o, NULL), *other = start(&b, &o, NULL);
    FaRebalanceInput in = {
        .h = 1.0 / 300, .X = b.x, .mu = b.mu, .lambda = b.lambda, .pose = fai_pose_identity(), .accel = {0, 30, 0}};
    FaRebalanceReport report;
    int made = 0;
    for (int s = 0; s < 20; s++) {
        CHECK_OK(fai_rebalance_step(r, &in, &report, &err), &err);
        made += report.prepared[FA_REBALANCE_DYNAMIC];
    }
    if (kind != FA_NEWTON_CHOL) assert_in_range(made, 2, 10); // not only at rest, not all the time
    void *saved = malloc(fai_rebalance_state_size(r));
    fai_rebalance_save(r, saved);
    CHECK_OK(fai_rebalance_load(other, saved, b.x, b.mu, b.lambda, &err), &err);
    for (int i = 0; i < 2; i++)
        CHECK_OK(fai_rebalance_prepare(other, (FaRebalanceFactor)i, b.x, b.mu, b.lambda, &err), &err);
    memset(in.accel, 0, sizeof in.accel);
    double before = INFINITY;
    for (int s = 0; s < 60; s++) {
        CHECK_OK(fai_rebalance_step(r, &in, NULL, &err), &err);
        CHECK_OK(fai_rebalance_step(other, &in, NULL, &err), &err);
        assert_memory_equal(fai_rebalance_d(r), fai_rebalance_d(other), 3 * (size_t)b.n * sizeof(double));
        double kinetic, elastic;
        fai_rebalance_energy(r, &kinetic, &elastic);
        if (s % 20 == 19) {
            assert_true(kinetic + elastic < before);
            before = kinetic + elastic;
        }
    }
    fai_rebalance_save(r, saved);
    assert_true(fai_rebalance_distance(other, saved, 1.0 / 300) == 0);
    free(saved);
    fai_rebalance_free(r);
    fai_rebalance_free(other);
    free_box(&b);
}

static void test_state(void **state) {
    (void)state;
    state_of(FA_NEWTON_CHOL);
    state_of(FA_NEWTON_PCG);
    state_of(FA_NEWTON_LBFGS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_untouched), cmocka_unit_test(test_growing_bar), cmocka_unit_test(test_softening_bar),
        cmocka_unit_test(test_world),     cmocka_unit_test(test_layer),       cmocka_unit_test(test_steps),
        cmocka_unit_test(test_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
