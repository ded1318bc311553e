// Stiffness that makes full shapes equilibria: slopes, descent, bounds, weights that are known, real faces, the file.
// labels: heavy
#include "build/equilibrium.h"
#include "build/equilibrium_fit.h"

#include "base/base.h"
#include "blendforces/control_forces.h"
#include "face/face_file.h"
#include "projective/flesh.h"
#include "test_head_tools.h"

#include <math.h>
#include <stdlib.h>

typedef struct Sheet {
    FaElastic e;
    double force[64];
    float b[3 * 64 * 3];
    int nshape;
} Sheet;

enum { SIDE = 6, NODES = SIDE * SIDE };

static double wave(int i, int k) { return sin(1.7 * i + 2.3 * k + 0.4); }

// A bumpy net of springs with three shapes.
static void make_sheet(Sheet *s) {
    *s = (Sheet){.nshape = 3};
    FaElastic *e = &s->e;
    e->arena = fai_arena_new(0);
    e->nnode = e->nanchor = NODES;
    e->x0 = FA_PUSH(e->arena, 3 * NODES, double);
    e->mass = FA_PUSH(e->arena, NODES, double);
    e->anchor_node = FA_PUSH(e->arena, NODES, int);
    e->anchor_weight = FA_PUSH(e->arena, NODES, double);
    e->edge = (int(*)[2])FA_PUSH(e->arena, 4 * NODES, int);
    e->edge_weight = FA_PUSH(e->arena, 2 * NODES, double);
    e->bend_start = FA_PUSH(e->arena, NODES + 1, int);
    e->bend_node = FA_PUSH(e->arena, 5 * NODES, int);
    e->bend_coef = FA_PUSH(e->arena, 5 * NODES, double);
    e->bend_weight = FA_PUSH(e->arena, NODES, double);
    for (int i = 0; i < NODES; i++) {
        int x = i % SIDE, y = i / SIDE;
        e->x0[3 * i] = 0.01 * x, e->x0[3 * i + 1] = 0.01 * y, e->x0[3 * i + 2] = 0.002 * wave(i, 0);
        e->mass[i] = 0.01;
        e->anchor_node[i] = i;
        e->anchor_weight[i] = s->force[i] = 2 + 0.5 * wave(i, 9);
        if (x + 1 < SIDE) e->edge[e->nedge][0] = i, e->edge[e->nedge][1] = i + 1, e->edge_weight[e->nedge++] = 1;
        if (y + 1 < SIDE) e->edge[e->nedge][0] = i, e->edge[e->nedge][1] = i + SIDE, e->edge_weight[e->nedge++] = 1;
    }
    int at = 0;
    for (int i = 0; i < NODES; i++) {
        int x = i % SIDE, y = i / SIDE;
        if (x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1) continue;
        const int ring[5] = {i, i - 1, i + 1, i - SIDE, i + SIDE};
        e->bend_start[e->nbend] = at;
        e->bend_weight[e->nbend++] = 1e-8;
        for (int k = 0; k < 5; k++) e->bend_node[at] = ring[k], e->bend_coef[at++] = k ? -1e4 : 4e4;
    }
    e->bend_start[e->nbend] = at;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3 * NODES; i++) s->b[3 * NODES * j + i] = (float)(0.003 * wave(i, 3 + j));
}

// --- the thesis's forces ----------------------------------------------------------------------------

static void slopes(void **state) {
    (void)state;
    FaError err = {0};
    Sheet s;
    FaEquilibrium *q;
    make_sheet(&s);
    CHECK_OK(fai_equilibrium_new(&s.e, s.nshape, s.b, s.force, NULL, &q, &err), &err);
    int n = fai_equilibrium_terms(q);
    assert_int_equal(n, s.e.nanchor + s.e.nedge + s.e.nbend);
    double w[256], g[256], largest = 0;
    for (int k = 0; k < n; k++) w[k] = 0.8 + 0.3 * wave(k, 1);
    fai_equilibrium_energy(q, w, g, NULL);
    for (int k = 0; k < n; k++) largest = fmax(largest, fabs(g[k]));
    assert_true(largest > 0);
    for (int k = 0; k < n; k++) {
        double h = 1e-4, was = w[k];
        w[k] = was + h;
        double up = fai_equilibrium_energy(q, w, NULL, NULL);
        w[k] = was - h;
        double down = fai_equilibrium_energy(q, w, NULL, NULL);
        w[k] = was;
        CHECK_NEAR((up - down) / (2 * h), g[k], 1e-5 * largest);
    }
    fai_equilibrium_free(q);
    fai_arena_free(s.e.arena);
}

static void descends_within_bounds(void **state) {
    (void)state;
    FaError err = {0};
    Sheet s;
    FaEquilibrium *q;
    make_sheet(&s);
    const FaEquilibriumOptions o = {.floor = 0.3, .iterations = 30};
    CHECK_OK(fai_equilibrium_new(&s.e, s.nshape, s.b, s.force, &o, &q, &err), &err);
    int n = fai_equilibrium_terms(q), it, low = 0;
    double w[256], g[256], energy[31], scale = 0;
    for (int k = 0; k < n; k++) w[k] = 1;
    CHECK_OK(fai_equilibrium_minimise(q, w, energy, &it, &err), &err);
    assert_true(it >= 2);
    for (int i = 0; i < it; i++) assert_true(energy[i + 1] < energy[i]);
    fai_equilibrium_energy(q, w, g, NULL);
    for (int k = 0; k < n; k++) {
        assert_true(w[k] >= fai_equilibrium_floor(q, k) && w[k] <= 20);
        low += w[k] <= fai_equilibrium_floor(q, k) * (1 + 1e-9);
        scale = fmax(scale, fabs(g[k]));
    }
    assert_true(low > 0);       // the floor is needed
    for (int k = 0; k < n; k++) // no way down (first-order conditions)
        if (w[k] > fai_equilibrium_floor(q, k) * (1 + 1e-9) && w[k] < 19.9) assert_true(fabs(g[k]) < 0.02 * scale);
    fai_equilibrium_free(q);
    fai_arena_free(s.e.arena);
}

// Forces made from known weights: they are found again.
static void known_weights(void **state) {
    (void)state;
    FaError err = {0};
    Sheet s;
    make_sheet(&s);
    // shapes that strain edges only between pairs: all nodes move alike but one
    double truth[NODES];
    for (int j = 0; j < s.nshape; j++)
        for (int i = 0; i < NODES; i++)
            for (int k = 0; k < 3; k++)
                s.b[3 * NODES * j + 3 * i + k] = (float)(k == j ? 0.004 : 0); // a translation: anchors alone
    for (int i = 0; i < NODES; i++) {
        truth[i] = 1 + 0.5 * wave(i, 5);
        s.force[i] *= truth[i]; // B = w K b
    }
    FaEquilibrium *q;
    const FaEquilibriumOptions o = {.prior = 1e-9, .iterations = 20};
    CHECK_OK(fai_equilibrium_new(&s.e, s.nshape, s.b, s.force, &o, &q, &err), &err);
    double w[256], misfit;
    int it;
    for (int k = 0; k < fai_equilibrium_terms(q); k++) w[k] = 1;
    CHECK_OK(fai_equilibrium_minimise(q, w, NULL, &it, &err), &err);
    fai_equilibrium_energy(q, w, NULL, &misfit);
    for (int i = 0; i < NODES; i++) CHECK_NEAR(w[i], truth[i], 1e-4);
    assert_true(misfit < 1e-12);
    fai_equilibrium_free(q);
    fai_arena_free(s.e.arena);
}

// --- distances --------------------------------------------------------------------------------------

// Every slope by differences, at weights of all sizes and shapes far from rest.
static void distance_slopes(void **state) {
    (void)state;
    FaError err = {0};
    Sheet s;
    FaStiffFit *f;
    make_sheet(&s);
    CHECK_OK(fai_stiff_fit_new(&s.e, s.nshape, s.b, s.force, &(FaEquilibriumOptions){.anchor_floor = 0.4, .prior = 0.3},
                               1e-9, &f, &err),
             &err);
    int n = fai_stiff_fit_terms(f);
    assert_int_equal(n, s.e.nanchor + s.e.nedge + s.e.nbend);
    double z[256], w[256], g[256], mean[3], e, largest = 0;
    for (int k = 0; k < n; k++) z[k] = 0.8 * wave(k, 1);
    CHECK_OK(fai_stiff_fit_energy(f, z, w, g, &e, &err), &err); // D at the first call is the unit
    for (int k = 0; k < n; k++) largest = fmax(largest, fabs(g[k]));
    assert_true(largest > 1e-3);
    for (int k = 0; k < n; k++) {
        double h = 1e-3, was = z[k], up, down;
        z[k] = was + h;
        CHECK_OK(fai_stiff_fit_energy(f, z, w, NULL, &up, &err), &err);
        z[k] = was - h;
        CHECK_OK(fai_stiff_fit_energy(f, z, w, NULL, &down, &err), &err);
        z[k] = was;
        CHECK_NEAR((up - down) / (2 * h), g[k], 1e-5 * largest);
    }
    // bounds and means hold whatever z is
    for (int k = 0; k < n; k++) z[k] = 40 * wave(k, 2);
    CHECK_OK(fai_stiff_fit_energy(f, z, w, NULL, &e, &err), &err);
    double sum[3] = {0}, all[3] = {0};
    for (int k = 0; k < n; k++) {
        int q = k < s.e.nanchor ? 0 : k < s.e.nanchor + s.e.nedge ? 1 : 2;
        double least = fai_stiff_fit_least(f, k), by = q == 0 ? s.e.anchor_weight[k] : 1;
        assert_true(w[k] >= least * (1 - 1e-12) && w[k] <= (1 + 1e-12) / least);
        sum[q] += by * log(w[k]), all[q] += by;
    }
    for (int q = 0; q < 3; q++) CHECK_NEAR(sum[q] / all[q], 0, 1e-9);
    fai_stiff_fit_means(f, w, mean);
    for (int q = 0; q < 3; q++) assert_true(mean[q] > 1);
    fai_stiff_fit_free(f);
    fai_arena_free(s.e.arena);
}

// A step from the shape is near where the nonlinear body comes to rest, and what is minimised falls there too.
static void distances_fall(void **state) {
    (void)state;
    FaError err = {0};
    Sheet s;
    FaStiffFit *f;
    make_sheet(&s);
    for (int i = 0; i < 3 * 3 * NODES; i++) s.b[i] *= 0.3f;
    CHECK_OK(fai_stiff_fit_new(&s.e, s.nshape, s.b, s.force, &(FaEquilibriumOptions){.floor = 0.2}, 1e-4, &f, &err),
             &err);
    double w[256], energy[FA_EQUILIBRIUM_LOG + 1], before[3], after[3];
    FaStiffFitReport r;
    CHECK_OK(fai_stiff_fit_minimise(f, w, energy, &r, &err), &err);
    assert_true(r.iterations >= 3 && r.evaluations > r.iterations && r.products > 0);
    CHECK_NEAR(energy[0], 1, 1e-12);
    for (int i = 0; i < r.iterations; i++) assert_true(energy[i + 1] < energy[i]);
    CHECK_OK(fai_equilibrium_distance(&s.e, s.nshape, s.b, s.force, before, &err), &err);
    for (int k = 0; k < s.e.nanchor; k++) s.e.anchor_weight[k] *= w[k];
    for (int k = 0; k < s.e.nedge; k++) s.e.edge_weight[k] *= w[s.e.nanchor + k];
    for (int k = 0; k < s.e.nbend; k++) s.e.bend_weight[k] *= w[s.e.nanchor + s.e.nedge + k];
    CHECK_OK(fai_equilibrium_distance(&s.e, s.nshape, s.b, s.force, after, &err), &err);
    assert_true(after[0] + after[1] + after[2] < 0.97 * (before[0] + before[1] + before[2]));
    fai_stiff_fit_free(f);
    fai_arena_free(s.e.arena);
}

static bool stop_soon(void *user, const char *what, double done) {
    (void)what;
    (void)done;
    return ++*(int *)user < 3;
}

static void can_be_stopped(void **state) {
    (void)state;
    FaError err = {0};
    Sheet s;
    FaStiffFit *f;
    int calls = 0;
    make_sheet(&s);
    const FaEquilibriumOptions o = {.progress = stop_soon, .progress_user = &calls};
    CHECK_OK(fai_stiff_fit_new(&s.e, s.nshape, s.b, s.force, &o, 0, &f, &err), &err);
    double w[256];
    FaStiffFitReport r;
    assert_int_equal(fai_stiff_fit_minimise(f, w, NULL, &r, &err), FA_E_CANCELLED);
    assert_int_equal(calls, 3);
    fai_stiff_fit_free(f);
    fai_arena_free(s.e.arena);
}

// --- faces ------------------------------------------------------------------------------------------

static void check_report(const char *name, const FaEquilibriumReport *r) {
    print_message("%s: %d nodes, %d weights, %d shapes, %d iterations (%d evaluations) in %.1f s + %.1f s; %.4f -> "
                  "%.4f mm (%.2fx), uniform at "
                  "the same mean %.4f; edges %.2f, bending %.2f\n",
                  name, r->nnode, r->nterm, r->nshape, r->iterations, r->evaluations, r->seconds, r->seconds_distances,
                  r->before_mm, r->after_mm, r->before_mm / r->after_mm, r->uniform_mm, r->mean[1], r->mean[2]);
    assert_true(r->iterations >= 1 && r->share == 1);
    for (int i = 0; i < r->iterations; i++) assert_true(r->energy[i + 1] < r->energy[i]);
    assert_true(r->after_mm > 0 && r->after_mm * 2 <= r->before_mm);
    // and not by softening: the geometric mean is held, so the arithmetic one is above 1
    assert_true(r->mean[0] >= 1 && r->mean[1] >= 1 && r->mean[2] >= 1);
    assert_true(r->uniform_mm >= 0.99 * r->before_mm);
}

static void head_level(int level, const FaEquilibriumOptions *how) {
    FaError err = {0};
    FaHead *head = head_at(level, 0, true);
    FaRig *rig;
    FaFace *face, *again;
    FaEquilibriumReport r;
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
    CHECK_OK(fa_face_equilibrium(face, rig, how, &r, &err), &err);
    check_report(how ? "level 0, even" : level ? "level 1" : "level 0", &r);
    assert_true(r.nshape >= 50);
    // kept, and read back
    unsigned char *data;
    size_t size;
    CHECK_OK(fai_face_pack(face, &data, &size, &err), &err);
    CHECK_OK(fai_face_unpack(data, size, &again, &err), &err);
    assert_int_equal(again->stiff_edges, face->stiff_edges);
    assert_memory_equal(again->stiff_edge, face->stiff_edge, 4 * (size_t)face->stiff_edges);
    assert_memory_equal(again->stiff_anchor, face->stiff_anchor, 4 * (size_t)face->nskin);
    assert_memory_equal(again->stiff_bend, face->stiff_bend, 4 * (size_t)face->nskin);
    assert_memory_equal(&again->stiff_made, &face->stiff_made, sizeof face->stiff_made);
    char *text;
    CHECK_OK(fa_face_summary(again, &text, &err), &err);
    assert_non_null(strstr(text, "rest "));
    fa_free(text);
    CHECK_OK(fa_face_report(again, &text, &err), &err);
    assert_non_null(strstr(text, "\"after_mm\""));
    fa_free(text);
    // the body takes them
    FaFlesh *plain, *fl;
    FaFleshOptions o = {.surface = true, .goal = 10, .bone = 30, .plain = true};
    CHECK_OK(fai_flesh_new(rig, again, &o, &plain, &err), &err);
    o.plain = false;
    CHECK_OK(fai_flesh_new(rig, again, &o, &fl, &err), &err);
    for (int i = 0; i < fl->e.nedge; i += 17)
        CHECK_NEAR(fl->e.edge_weight[i], plain->e.edge_weight[i] * (double)face->stiff_edge[i],
                   1e-12 * plain->e.edge_weight[i]);
    for (int i = 0; i < fl->e.nanchor; i += 17)
        CHECK_NEAR(fl->force[i], plain->e.anchor_weight[i], 1e-12 * fl->force[i]);
    fai_flesh_free(plain);
    fai_flesh_free(fl);
    fa_free(data);
    fa_equilibrium_report_free(&r);
    fa_face_free(again);
    fa_face_free(face);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void shipped_head(void **state) {
    (void)state;
    head_level(0, NULL);
    if (!getenv("FASCIA_FULL")) return;
    head_level(0, &(FaEquilibriumOptions){.even = true});
    head_level(1, NULL);
}

// A production rig: FASCIA_FULL=1.
static void production_rig(void **state) {
    (void)state;
    const char *folder = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    if (!getenv("FASCIA_FULL") || !folder) {
        print_message("skipped: FASCIA_FULL is not set, or the data are not there\n");
        skip();
    }
    FaError err = {0};
    FaRig *rig;
    FaFace *face;
    FaEquilibriumReport r;
    CHECK_OK(fa_rig_load(folder, &(FaRigOptions){.unit = FA_UNIT_CM}, &rig, &err), &err);
    CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
    CHECK_OK(fa_face_equilibrium(face, rig, NULL, &r, &err), &err);
    check_report("ict", &r);
    fa_equilibrium_report_free(&r);
    fa_face_free(face);
    fa_rig_free(rig);
}

static void same_bits(void **state) {
    (void)state;
    FaError err = {0};
    Sheet s;
    make_sheet(&s);
    double first[2][256];
    for (int threads = 1; threads <= 8; threads++) {
        FaEquilibrium *q;
        FaStiffFit *f;
        FaStiffFitReport r;
        double w[2][256] = {{0}};
        int it;
        fa_threads_set(threads);
        CHECK_OK(fai_equilibrium_new(&s.e, s.nshape, s.b, s.force, NULL, &q, &err), &err);
        for (int k = 0; k < 256; k++) w[0][k] = 1;
        CHECK_OK(fai_equilibrium_minimise(q, w[0], NULL, &it, &err), &err);
        CHECK_OK(fai_stiff_fit_new(&s.e, s.nshape, s.b, s.force, NULL, 0, &f, &err), &err);
        CHECK_OK(fai_stiff_fit_minimise(f, w[1], NULL, &r, &err), &err);
        if (threads == 1) memcpy(first, w, sizeof w);
        assert_memory_equal(first, w, sizeof w);
        fai_equilibrium_free(q);
        fai_stiff_fit_free(f);
    }
    fa_threads_set(0);
    fai_arena_free(s.e.arena);
}

static void bad_options(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head = head_at(0, 0, true);
    FaRig *rig;
    FaFace *face;
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
    assert_int_equal(fa_face_equilibrium(face, rig, &(FaEquilibriumOptions){.floor = NAN}, NULL, &err), FA_E_ARG);
    err = (FaError){0};
    assert_int_equal(fa_face_equilibrium(face, rig, &(FaEquilibriumOptions){.iterations = 1000}, NULL, &err), FA_E_ARG);
    assert_null(face->stiff_edge);
    fa_face_free(face);
    fa_rig_free(rig);
    fa_head_free(head);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes),         cmocka_unit_test(descends_within_bounds),
        cmocka_unit_test(known_weights),  cmocka_unit_test(distance_slopes),
        cmocka_unit_test(distances_fall), cmocka_unit_test(can_be_stopped),
        cmocka_unit_test(same_bits),      cmocka_unit_test(bad_options),
        cmocka_unit_test(shipped_head),   cmocka_unit_test(production_rig),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
