// The elastic body: what its check refuses, and its constant matrix against the energies themselves.
#include "test_solve_slab.h"

#include "energy/elastic.h"

// A is the Hessian of all terms with projections held. Where projections do not change (inertia and anchors only) that
// is the Hessian itself; with them it bounds it from above: A majorises, which is what makes projective dynamics
// descend.
static void matrix(void **state) {
    (void)state;
    FaError err = {0};
    Slab *s = slab_new(5, 4, 3, 0.7, true, 1, 0, false);
    const FaElastic *e = &s->e;
    FaCsr a;
    CHECK_OK(fai_elastic_matrix(e, 100, &a, &err), &err);
    CHECK_OK(fai_csr_check(&a, &err), &err);
    int n = e->nnode;
    double *x = FA_NEW(3 * n, double), *ax = FA_NEW(3 * n, double), *u = FA_NEW(3 * n, double),
           *v = FA_NEW(3 * n, double), *g0 = FA_NEW(3 * n, double), *g1 = FA_NEW(3 * n, double);
    for (int i = 0; i < n; i++)
        for (int k = a.start[i]; k < a.start[i + 1]; k++)
            CHECK_NEAR(fai_csr_at(&a, a.col[k], i), a.val[k], 1e-12 * fabs(a.val[k]) + 1e-15);
    // a constant field is only seen by inertia and anchors
    double want = 0;
    for (int i = 0; i < 3 * n; i++) x[i] = 1;
    fai_csr_mul3(&a, x, ax);
    for (int i = 0; i < n; i++) want += 100 * e->mass[i];
    for (int i = 0; i < e->nanchor; i++) want += e->anchor_weight[i];
    double sum = 0;
    for (int i = 0; i < 3 * n; i++) sum += ax[i];
    CHECK_NEAR(sum / (3 * want), 1, 1e-9);
    // along random directions: curvature of the energy <= d'Ad, and close to it where the projections hardly turn (a
    // stretch)
    FaReferenceInput in = slab_reference(s);
    in.inertia = 100;
    double nearest = 0;
    for (int trial = 0; trial < 40; trial++) {
        double h = 1e-6, curve = 0, bound = 0;
        for (int i = 0; i < 3 * n; i++) {
            x[i] = trial == 0 ? e->x0[i] : 2 * fai_random_unit(5, (uint64_t)(3 * n * trial + i)) - 1;
            u[i] = trial == 0 ? 0 : 0.001 * (2 * fai_random_unit(6, (uint64_t)(3 * n * trial + i)) - 1);
            v[i] = u[i] + h * x[i];
            u[i] -= h * x[i];
        }
        fai_reference_energy(e, &in, u, g0);
        fai_reference_energy(e, &in, v, g1);
        fai_csr_mul3(&a, x, ax);
        for (int i = 0; i < 3 * n; i++) curve += (g1[i] - g0[i]) / (2 * h) * x[i], bound += ax[i] * x[i];
        assert_true(bound > 0);
        assert_true(curve <= bound * (1 + 1e-6));
        nearest = fmax(nearest, curve / bound);
    }
    assert_true(nearest > 0.5);
    fai_csr_free(&a);
    fa_free(x), fa_free(ax), fa_free(u), fa_free(v), fa_free(g0), fa_free(g1);
    slab_free(s);
}

static void refused(void **state) {
    (void)state;
    for (int k = 0; k < 14; k++) {
        FaError err = {0};
        Slab *s = slab_new(5, 4, 2, 0.7, true, 1, 0, false);
        FaElastic *e = &s->e;
        assert_int_equal(fai_elastic_check(e, &err), FA_OK);
        if (k == 0) e->x0[7] = NAN;
        if (k == 1) e->mass[3] = 0;
        if (k == 2) e->anchor_node[2] = e->nnode;
        if (k == 3) e->anchor_weight[1] = -1;
        if (k == 4) e->edge[3][1] = -1;
        if (k == 5) e->edge[3][1] = e->edge[3][0];
        if (k == 6) e->edge_weight2[0] = INFINITY;
        if (k == 7) e->bend_coef[0] += 1e6;
        if (k == 8) e->bend_node[1] = 1 << 20;
        if (k == 9) e->bend_start[1] = 0;
        if (k == 10) e->tet[5][2] = e->tet[5][1];
        if (k == 11) {
            int x = e->tet[5][2];
            e->tet[5][2] = e->tet[5][1];
            e->tet[5][1] = x;
        }
        if (k == 12) e->tet_volume[0] = NAN;
        if (k == 13) e->nnode = 0;
        FaCode rc = fai_elastic_check(e, &err);
        if (rc != FA_E_MESH) fail_msg("defect %d: code %d", k, rc);
        assert_true(err.what[0]);
        slab_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(matrix), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
