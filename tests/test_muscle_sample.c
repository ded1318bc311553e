// Muscles in tets: shares, directions and places against a strap and a ring that are known.
// labels: unit hash
#include "base/task.h"
#include "muscle/sample.h"

#include "test_solve_body.h"

// A straight strap along x, `from` to `to`, 8 mm wide, 3 thick, through the middle of the block; a ring of radius 12
// mm.
static void fill_strap(FaBspline *s, double from, double to) {
    for (int k = 0; k < s->n[2]; k++)
        for (int j = 0; j < s->n[1]; j++)
            for (int i = 0; i < s->n[0]; i++) {
                double *x = fai_bspline_point(s, i, j, k);
                x[0] = from + (to - from) * fai_bspline_greville(s->n[0], false, i);
                x[1] = 0.0203 + 0.008 * (fai_bspline_greville(s->n[1], false, j) - 0.5);
                x[2] = 0.0151 + 0.003 * (fai_bspline_greville(s->n[2], false, k) - 0.5);
            }
    FaError err = {0};
    CHECK_OK(fai_bspline_fit(s, s->c, &err), &err);
}

static void fill_ring(FaBspline *s) {
    for (int k = 0; k < s->n[2]; k++)
        for (int j = 0; j < s->n[1]; j++)
            for (int i = 0; i < s->n[0]; i++) {
                double *x = fai_bspline_point(s, i, j, k), a = 2 * acos(-1) * i / s->n[0],
                       r = 0.012 + 0.004 * (fai_bspline_greville(s->n[1], false, j) - 0.5);
                x[0] = 0.03 + r * cos(a), x[1] = 0.02 + r * sin(a);
                x[2] = 0.014 + 0.004 * (fai_bspline_greville(s->n[2], false, k) - 0.5);
            }
    FaError err = {0};
    CHECK_OK(fai_bspline_fit(s, s->c, &err), &err);
}

enum { STRAP, OUT, RING, MUSCLES };
typedef struct Scene {
    Body b;
    double c[MUSCLES][3 * 14 * 4 * 2];
    FaBspline solid[MUSCLES];
    FaMuscleFlesh flesh;
} Scene;

static void scene_new(Scene *s) {
    s->b = body_new(12, 8, 6, (double[]){0.06, 0.04, 0.03}, FA_SOLID_MOONEY, 5000, 96000, 1100, 0.2);
    for (int m = 0; m < MUSCLES; m++) s->solid[m] = (FaBspline){{m == RING ? 14 : 7, 4, 2}, m == RING, s->c[m]};
    fill_strap(&s->solid[STRAP], 0.01, 0.05);
    fill_strap(&s->solid[OUT], 0.045, 0.105); // a quarter of it is in the block
    fill_ring(&s->solid[RING]);
    s->flesh = (FaMuscleFlesh){s->b.nnode, s->b.ntet, s->b.x0, s->b.tet};
}

static void test_known(void **state) {
    (void)state;
    Scene s;
    scene_new(&s);
    FaMuscleSamples a;
    FaError err = {0};
    CHECK_OK(fai_muscle_sample(&s.flesh, MUSCLES, s.solid, &a, &err), &err);
    assert_int_equal(a.start[MUSCLES], a.n);
    double in[MUSCLES] = {0};
    const double *vol = fai_solid_rest_volume(s.b.rest);
    for (int m = 0; m < MUSCLES; m++)
        for (int k = a.start[m]; k < a.start[m + 1]; k++) {
            const FaFibreSample *f = &a.fibre[k];
            assert_true(f->muscle == m && f->share > 0 && f->share <= 1);
            if (k > a.start[m]) assert_true(f->tet > f[-1].tet);
            in[m] += f->share * vol[f->tet];
            CHECK_NEAR(fai_v3_norm(f->direction), 1, 1e-12);
            double x[3] = {0}, y[3], d[3], sum = 0;
            for (int c = 0; c < 4; c++) {
                fai_v3_mad(x, (double)a.bary[4 * k + c], s.b.x0 + 3 * s.b.tet[4 * f->tet + c], x);
                sum += (double)a.bary[4 * k + c];
            }
            CHECK_NEAR(sum, 1, 1e-6);
            double uvw[3] = {(double)a.uvw[3 * k], (double)a.uvw[3 * k + 1], (double)a.uvw[3 * k + 2]};
            fai_bspline_at(&s.solid[m], uvw, y, NULL);
            fai_v3_sub(x, y, d); // its place in the muscle is its place in the tet
            assert_true(fai_v3_norm(d) < (m == RING ? 5e-4 : 1e-5));
            if (m != RING)
                CHECK_NEAR(f->direction[0], 1, 1e-9);
            else
                CHECK_NEAR(f->direction[0] * (x[0] - 0.03) + f->direction[1] * (x[1] - 0.02), 0, 4e-4);
        }
    double strap = 0.04 * 0.008 * 0.003, ring = 2 * acos(-1) * 0.012 * 0.004 * 0.004;
    printf("volumes: %.4f %.4f %.4f of what is known; inside %.3f %.3f %.3f\n", in[STRAP] / strap,
           in[OUT] / (0.375 * strap), in[RING] / ring, (double)a.inside[0], (double)a.inside[1], (double)a.inside[2]);
    CHECK_NEAR(a.volume[STRAP] / strap, 1, 1e-9);
    CHECK_NEAR(in[STRAP] / strap, 1, 0.02);
    CHECK_NEAR(in[OUT] / (0.375 * strap), 1, 0.04);
    CHECK_NEAR(in[RING] / ring, 1, 0.02);
    CHECK_NEAR(a.inside[STRAP], 1, 0);
    CHECK_NEAR(a.inside[OUT], 0.25, 0.03);
    CHECK_NEAR(a.inside[RING], 1, 0);
    fai_muscle_samples_free(&a);
    body_free(&s.b);
}

// The same bits for any number of threads; as fibres of a solid they pull.
static void test_threads(void **state) {
    (void)state;
    Scene s;
    scene_new(&s);
    uint64_t hash[3];
    FaError err = {0};
    for (int t = 0; t < 3; t++) {
        fa_threads_set((int[]){1, 2, 5}[t]);
        FaMuscleSamples a;
        CHECK_OK(fai_muscle_sample(&s.flesh, MUSCLES, s.solid, &a, &err), &err);
        hash[t] = fai_hash64(a.uvw, 3 * (size_t)a.n * sizeof(float), 0);
        hash[t] = fai_hash64(a.bary, 4 * (size_t)a.n * sizeof(float), hash[t]);
        for (int k = 0; k < a.n; k++) hash[t] = fai_hash64(a.fibre[k].direction, 3 * sizeof(double), hash[t]);
        hash[t] = fai_hash64(a.inside, MUSCLES * sizeof(float), hash[t]);
        assert_true(hash[t] == hash[0]);
        FaFibre *f;
        FaFibreBody body = {s.b.nnode, s.b.ntet, MUSCLES, s.b.x0, s.b.tet, (double[]){3e5, 3e5, 3e5}};
        CHECK_OK(fai_fibre_new(&body, a.n, a.fibre, &f, &err), &err);
        fai_fibre_activate(f, (double[]){1, 0, 0});
        FaTerm term = fai_fibre_term(f);
        FaTermSum sum = {0};
        memset(s.b.force, 0, 3 * (size_t)s.b.nnode * sizeof(double));
        term.energy(f, s.b.x0, s.b.force, &sum);
        // what one half pulls with is stress times section
        double pull = 0;
        for (int v = 0; v < s.b.nnode; v++)
            if (s.b.x0[3 * v] < 0.0275) pull += s.b.force[3 * v];
        CHECK_NEAR(pull / (-3e5 * 0.008 * 0.003), 1, 0.1);
        fai_fibre_free(f);
        fai_muscle_samples_free(&a);
    }
    fa_threads_set(0);
    printf("%016llx\n", (unsigned long long)hash[0]);
    body_free(&s.b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("muscle_sample", tests, NULL, NULL);
}
