// Weights from markers: optimal, steady when markers come and go, with a jaw that turns, and in real time.
#include "test_head_tools.h"

#include "blendforces/shape_solve.h"
#include "math/mat3.h"

enum { POINTS = 110 };

typedef struct Scene {
    FaHead *head;
    FaRig *rig;
    FaSurfacePoint point[POINTS];
    float x[3 * POINTS];
    float *w, *got, *mesh;
} Scene;

// Markers spread over what the shapes move, each the farthest from those before it; every third inside a triangle.
static Scene open_scene(void) {
    Scene s = {.head = head_at(0, 3, true)};
    FaError err = {0};
    CHECK_OK(fa_head_rig(s.head, 0, &s.rig, &err), &err);
    int n = s.rig->mesh.nvert;
    double *far = FA_NEW(n, double);
    for (int v = 0; v < n; v++) far[v] = -1;
    for (int e = 0; e < s.rig->nentry; e++) {
        const float *d = s.rig->delta + 3 * (size_t)e, zero[3] = {0};
        if (head_distance(d, zero) > 1e-3) far[s.rig->row[e]] = 1e9;
    }
    int next = 0;
    for (int i = 0; i < POINTS; i++) {
        for (int v = 0; v < n; v++) next = far[v] > far[next] ? v : next;
        s.point[i] = (FaSurfacePoint){{next, next, next}, {1, 0, 0}};
        for (int v = 0; v < n; v++)
            far[v] = fmin(far[v], head_distance(s.rig->mesh.x + 3 * v, s.rig->mesh.x + 3 * next));
        for (int t = 0; i % 3 == 0 && t < s.rig->mesh.ntri; t++) {
            const int *c = s.rig->mesh.tri + 3 * t;
            if (c[0] == next) s.point[i] = (FaSurfacePoint){{c[0], c[1], c[2]}, {0.5f, 0.3f, 0.2f}};
        }
    }
    fa_free(far);
    s.w = FA_NEW(3 * (size_t)s.rig->nshape, float);
    s.got = s.w + s.rig->nshape;
    s.mesh = FA_NEW(3 * (size_t)n, float);
    return s;
}

static void close_scene(Scene *s) {
    fa_rig_free(s->rig);
    fa_head_free(s->head);
    fa_free(s->w);
    fa_free(s->mesh);
}

static void read_points(const Scene *s, const float *mesh, float *x) {
    for (int i = 0; i < POINTS; i++)
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            for (int c = 0; c < 3; c++) sum += (double)s->point[i].bary[c] * (double)mesh[3 * s->point[i].vert[c] + k];
            x[3 * i + k] = (float)sum;
        }
}

static void pose(Scene *s, int frame) { // a few shapes at a time, as faces do
    for (int j = 0; j < s->rig->nshape; j++) {
        double u = sin(0.1 * frame + 2.4 * j);
        s->w[j] = (float)fmax(0, 2 * u - 1.2);
    }
    fa_rig_blend(s->rig, s->w, s->mesh);
    read_points(s, s->mesh, s->x);
}

static FaShapeSolver *solver_of(const Scene *s, const FaShapeSolveOptions *o) {
    FaError err = {0};
    FaShapeSolver *solver;
    CHECK_OK(fai_shape_solver_new(s->rig, POINTS, s->point, o, &solver, &err), &err);
    return solver;
}

static void noise(Scene *s, double size, uint64_t seed) {
    for (int i = 0; i < 3 * POINTS; i++) s->x[i] += (float)(size * fai_random_normal(seed, (uint64_t)i));
}

static void weights_are_found(void **state) {
    (void)state;
    Scene s = open_scene();
    FaShapeSolver *solver = solver_of(&s, NULL);
    double worst = 0;
    for (int frame = 0; frame < 20; frame++) {
        pose(&s, 3 * frame);
        FaShapeFit fit;
        assert_int_equal(fai_shape_solve(solver, &(FaShapeMarkers){.x = s.x}, s.got, &fit), FA_OK);
        assert_int_equal(fit.used, POINTS);
        CHECK_NEAR(fit.worst, 0, 2e-7); // the rounding of floats
        fa_rig_blend(s.rig, s.got, s.mesh);
        float x[3 * POINTS];
        read_points(&s, s.mesh, x);
        for (int i = 0; i < 3 * POINTS; i++) CHECK_NEAR(x[i], s.x[i], 3e-7);
        fai_shape_solver_points(solver, s.got, x);
        for (int i = 0; i < 3 * POINTS; i++) CHECK_NEAR(x[i], s.x[i], 3e-7);
        for (int j = 0; j < s.rig->nshape; j++)
            if (strstr(s.rig->shape[j].name, "jaw") || strstr(s.rig->shape[j].name, "Smile"))
                worst = fmax(worst, fabs((double)s.got[j] - (double)s.w[j]));
    }
    print_message("jaw and smile weights within %.1e\n", worst);
    assert_true(worst < 1e-2);
    fai_shape_solver_free(solver);
    close_scene(&s);
}

// The definition in the header, evaluated from the rig: no single weight can be changed for the better.
static double objective(Scene *s, const FaShapeSolveOptions *o, const float *w, const float *last, const float *a) {
    fa_rig_blend(s->rig, w, s->mesh);
    float x[3 * POINTS], y[3 * POINTS];
    read_points(s, s->mesh, x);
    double sum = 0, all = 0, seen = 0;
    for (int i = 0; i < POINTS; i++) {
        double weight = a ? (double)a[i] : 1, d = 0;
        all += weight;
        if (!isfinite(s->x[3 * i])) continue;
        seen += weight;
        for (int k = 0; k < 3; k++) d += pow((double)x[3 * i + k] - (double)s->x[3 * i + k], 2);
        sum += weight * d;
    }
    read_points(s, s->rig->mesh.x, y);
    for (int j = 0; j < s->rig->nshape; j++) {
        float one[64] = {0};
        one[j] = 1;
        double size = 0;
        if (o->ridge > 0 || o->smooth > 0) {
            fa_rig_blend(s->rig, one, s->mesh);
            read_points(s, s->mesh, x);
            for (int i = 0; i < 3 * POINTS; i++) size += pow((double)x[i] - (double)y[i], 2);
        }
        sum += o->l1 * seen / all * (double)w[j] + size * o->ridge * (double)w[j] * (double)w[j];
        if (last) sum += size * o->smooth * pow((double)w[j] - (double)last[j], 2);
    }
    return sum;
}

static void the_objective_is_the_one_promised(void **state) {
    (void)state;
    Scene s = open_scene();
    static const FaShapeSolveOptions kind[] = {
        {0}, {.l1 = 1e-4}, {.l1 = 1e-5, .ridge = 0.01, .smooth = 0.2}, {.upper = 0.3}};
    float a[POINTS], last[64];
    for (int i = 0; i < POINTS; i++) a[i] = (float)(0.2 + fai_random_unit(5, (uint64_t)i));
    for (int c = 0; c < FA_COUNT(kind); c++) {
        FaShapeSolver *solver = solver_of(&s, &kind[c]);
        FaShapeFit fit;
        int changed = 0;
        for (int frame = 0; frame < 2; frame++) {
            pose(&s, 20 + 3 * frame);
            noise(&s, 0.002, 77 + (uint64_t)frame);
            if (frame) s.x[30] = NAN;
            memcpy(last, s.got, (size_t)s.rig->nshape * sizeof *last);
            assert_int_equal(fai_shape_solve(solver, &(FaShapeMarkers){.x = s.x, .weight = a}, s.got, &fit), FA_OK);
        }
        double best = objective(&s, &kind[c], s.got, last, a);
        CHECK_NEAR(fit.cost, best, 1e-5 * best);
        for (int j = 0; j < s.rig->nshape; j++)
            for (int way = -1; way <= 1; way += 2) {
                float keep = s.got[j];
                s.got[j] = keep + 0.05f * (float)way;
                if (s.got[j] >= 0 && (kind[c].upper == 0 || (double)s.got[j] <= kind[c].upper)) {
                    assert_true(objective(&s, &kind[c], s.got, last, a) > best * (1 - 1e-7));
                    changed++;
                }
                s.got[j] = keep;
            }
        assert_true(changed > s.rig->nshape);
        fai_shape_solver_free(solver);
    }
    close_scene(&s);
}

static void sparsity_costs_accuracy(void **state) {
    (void)state;
    Scene s = open_scene();
    static const double l1[] = {0, 1e-6, 1e-5, 1e-4, 1e-3};
    double error[5] = {0}, active[5] = {0};
    for (int c = 0; c < 5; c++) {
        FaShapeSolveOptions o = {.l1 = l1[c]};
        FaShapeSolver *solver = solver_of(&s, &o);
        for (int frame = 0; frame < 30; frame++) {
            pose(&s, 5 * frame);
            noise(&s, 0.002, 900 + (uint64_t)frame);
            FaShapeFit fit;
            assert_int_equal(fai_shape_solve(solver, &(FaShapeMarkers){.x = s.x}, s.got, &fit), FA_OK);
            error[c] += fit.mean / 30;
            active[c] += fit.active / 30.0;
        }
        print_message("l1 %g m2: mean error %.3f mm, %.1f shapes of %d\n", l1[c], 1e3 * error[c], active[c],
                      s.rig->nshape);
        fai_shape_solver_free(solver);
    }
    for (int c = 1; c < 5; c++) assert_true(error[c] > error[c - 1] && active[c] <= active[c - 1]);
    assert_true(active[3] < 0.8 * active[0]);
    assert_true(fai_shape_options_rsbs().l1 == 1e-4 && fai_shape_options_sbs().l1 == 0);
    close_scene(&s);
}

static void missing_markers(void **state) {
    (void)state;
    Scene s = open_scene();
    FaShapeSolver *solver = solver_of(&s, NULL), *other = solver_of(&s, NULL);
    FaShapeFit fit;
    pose(&s, 4);
    // nothing yet
    unsigned char none[POINTS] = {0}, some[POINTS];
    assert_int_equal(fai_shape_solve(solver, &(FaShapeMarkers){.x = s.x, .visible = none}, s.got, &fit), FA_CLAMPED);
    assert_int_equal(fit.used, 0);
    for (int j = 0; j < s.rig->nshape; j++) assert_true(s.got[j] == 0);
    assert_int_equal(fai_shape_solve(solver, &(FaShapeMarkers){.x = s.x}, s.got, &fit), FA_OK);
    assert_int_equal(fai_shape_solve(other, &(FaShapeMarkers){.x = s.x}, s.got, &fit), FA_OK);
    float *keep = s.w + 2 * s.rig->nshape;
    memcpy(keep, s.got, (size_t)s.rig->nshape * sizeof *keep);
    // all gone: held
    assert_int_equal(fai_shape_solve(solver, &(FaShapeMarkers){.x = s.x, .visible = none}, s.got, &fit), FA_CLAMPED);
    assert_memory_equal(s.got, keep, (size_t)s.rig->nshape * sizeof *keep);
    assert_true(fit.held > 40 && fit.worst_at == -1);

    // the lower face is hidden: its shapes keep their weights, the brows go on; hidden, weightless and NaN are the same
    pose(&s, 9);
    float a[POINTS], hidden[3 * POINTS];
    memcpy(hidden, s.x, sizeof hidden);
    int gone = 0;
    for (int i = 0; i < POINTS; i++) {
        bool low = s.rig->mesh.x[3 * s.point[i].vert[0] + 1] < 0.015f;
        some[i] = !low;
        a[i] = low ? (i % 2 ? 0 : -3) : 1;
        if (low) hidden[3 * i + i % 3] = i % 2 ? NAN : INFINITY;
        gone += low;
    }
    assert_true(gone > 20 && gone < POINTS - 10);
    assert_int_equal(fai_shape_solve(solver, &(FaShapeMarkers){.x = s.x, .visible = some}, s.got, &fit), FA_OK);
    assert_int_equal(fit.used, POINTS - gone);
    assert_true(fit.held > 0);
    int same = 0, moved = 0;
    for (int j = 0; j < s.rig->nshape; j++) {
        if (strcmp(s.rig->shape[j].name, "jawOpen") == 0)
            print_message("jawOpen: %g then %g\n", (double)keep[j], (double)s.got[j]);
        same += s.got[j] == keep[j] && keep[j] > 0;
        moved += s.got[j] != keep[j];
    }
    print_message("%d markers hidden: %d shapes held, %d moved\n", gone, fit.held, moved);
    assert_true(same > 0 && moved > 5);
    assert_int_equal(fai_shape_solve(other, &(FaShapeMarkers){.x = hidden}, keep, &fit), FA_OK);
    assert_memory_equal(s.got, keep, (size_t)s.rig->nshape * sizeof *keep);
    fai_shape_solver_reset(other);
    fai_shape_solver_reset(solver);
    fai_shape_solve(solver, &(FaShapeMarkers){.x = s.x, .visible = some}, s.got, &fit);
    fai_shape_solve(other, &(FaShapeMarkers){.x = s.x, .weight = a}, keep, &fit);
    assert_memory_equal(s.got, keep, (size_t)s.rig->nshape * sizeof *keep);
    fai_shape_solver_free(solver);
    fai_shape_solver_free(other);
    close_scene(&s);
}

static void smoothing_calms_noise(void **state) {
    (void)state;
    Scene s = open_scene();
    double jitter[2];
    for (int c = 0; c < 2; c++) {
        FaShapeSolveOptions o = {.smooth = c ? 1 : 0};
        FaShapeSolver *solver = solver_of(&s, &o);
        float *last = s.w + 2 * s.rig->nshape;
        jitter[c] = 0;
        for (int frame = 0; frame < 40; frame++) {
            pose(&s, 10); // a face that holds still
            noise(&s, 0.0005, 40 + (uint64_t)frame);
            fai_shape_solve(solver, &(FaShapeMarkers){.x = s.x}, s.got, NULL);
            for (int j = 0; frame > 10 && j < s.rig->nshape; j++) jitter[c] += fabs((double)s.got[j] - (double)last[j]);
            memcpy(last, s.got, (size_t)s.rig->nshape * sizeof *last);
        }
        fai_shape_solver_free(solver);
    }
    print_message("jitter with smoothing 1: %.2f of that without\n", jitter[1] / jitter[0]);
    assert_true(jitter[1] < 0.5 * jitter[0]);
    close_scene(&s);
}

// --- the jaw ------------------------------------------------------------------------------------------------------

typedef struct Jaw {
    const FaHead *head;
    int arkit;
    float share[POINTS]; // how much a point belongs to the jaw
} Jaw;

static void jaw_frames(void *user, const double *c, int n, double *frame) {
    Jaw *jaw = user;
    for (int i = 0; i < n; i++) {
        float w[FA_ARKIT_COUNT] = {0};
        double r[9], t[3];
        w[jaw->arkit] = jaw->share[i] * (float)c[0]; // each on its own arc
        fa_head_jaw(jaw->head, w, r, t);
        for (int k = 0; k < 12; k++) frame[12 * i + k] = k % 4 < 3 ? r[3 * (k / 4) + k % 4] : t[k / 4];
    }
}

static void a_jaw_that_turns(void **state) {
    (void)state;
    Scene s = open_scene();
    int jaw_shape = -1;
    for (int j = 0; j < s.rig->nshape; j++)
        if (strcmp(s.rig->shape[j].name, "jawOpen") == 0) jaw_shape = j;
    assert_true(jaw_shape >= 0);
    // a point belongs to the jaw by how far it goes along with it at weight 1
    Jaw jaw = {.head = s.head, .arkit = s.rig->shape[jaw_shape].arkit};
    float one[64] = {0}, rest[3 * POINTS], open[3 * POINTS];
    one[jaw_shape] = 1;
    fa_rig_blend(s.rig, one, s.mesh);
    read_points(&s, s.mesh, open);
    read_points(&s, s.rig->mesh.x, rest);
    float w[FA_ARKIT_COUNT] = {0};
    double r[9], t[3];
    w[jaw.arkit] = 1;
    fa_head_jaw(s.head, w, r, t);
    for (int i = 0; i < POINTS; i++) {
        double p[3], q[3], d[3], num = 0, den = 0;
        fai_v3_load(rest, i, p);
        fai_m3_mulv(r, p, q);
        fai_v3_add(q, t, q);
        fai_v3_sub(q, p, d);
        for (int k = 0; k < 3; k++) {
            num += d[k] * ((double)open[3 * i + k] - (double)rest[3 * i + k]);
            den += d[k] * d[k];
        }
        jaw.share[i] = (float)fmin(fmax(num / den, 0), 1);
    }
    FaShapeSolveOptions o = {.carrier = {1, &jaw_shape, jaw_frames, &jaw, true}};
    FaShapeSolver *plain = solver_of(&s, NULL), *turning = solver_of(&s, &o);
    FaShapeFit fit;
    // at weight 1 both are the sculpted shape
    float x[3 * POINTS];
    fai_shape_solver_points(turning, one, x);
    for (int i = 0; i < 3 * POINTS; i++) CHECK_NEAR(x[i], open[i], 1e-6);

    double error[2] = {0}, most = 0, iterations = 0, off = 0;
    for (int frame = 0; frame < 20; frame++) {
        // from the model itself: found again
        float want[64] = {0};
        for (int j = 0; j < s.rig->nshape; j++) want[j] = (float)fmax(0, sin(0.3 * frame + j) - 0.6);
        want[jaw_shape] = 0.05f * (float)frame;
        fai_shape_solver_points(turning, want, s.x);
        assert_int_equal(fai_shape_solve(turning, &(FaShapeMarkers){.x = s.x}, s.got, &fit), FA_OK);
        most = fmax(most, fit.worst);
        iterations = fmax(iterations, fit.iterations);
        off = fmax(off, fabs((double)s.got[jaw_shape] - (double)want[jaw_shape]));
    }
    print_message("markers of the model itself: worst %.4f mm, jaw weight within %.4f, %g iterations\n", 1e3 * most,
                  off, iterations);
    assert_true(most < 1e-5 && off < 1e-3);
    for (int frame = 0; frame < 20; frame++) {
        // from the head's nonlinear truth: the turning jaw fits better
        float truth[FA_ARKIT_COUNT] = {0};
        FaError err = {0};
        truth[jaw.arkit] = 0.05f * (float)frame;
        CHECK_OK(fa_head_truth(s.head, 0, truth, s.mesh, &err), &err);
        read_points(&s, s.mesh, s.x);
        for (int c = 0; c < 2; c++) {
            assert_int_equal(fai_shape_solve(c ? turning : plain, &(FaShapeMarkers){.x = s.x}, s.got, &fit), FA_OK);
            error[c] += fit.mean / 20;
        }
    }
    print_message("the head's own jaw: mean marker error %.3f mm linear, %.3f mm turning\n", 1e3 * error[0],
                  1e3 * error[1]);
    assert_true(error[1] < 0.5 * error[0]);
    fai_shape_solver_free(plain);
    fai_shape_solver_free(turning);
    close_scene(&s);
}

static void frames_are_fast_and_allocate_nothing(void **state) {
    (void)state;
    Scene s = open_scene();
    FaShapeSolver *solver = solver_of(&s, NULL);
    double best[2] = {1, 1};
    test_fail_alloc(1);
    for (int frame = 0; frame < 120; frame++) {
        pose(&s, frame);
        noise(&s, 0.001, (uint64_t)frame);
        int gap = frame % 2; // markers come and go: the Gram matrix is new
        if (gap) s.x[3 * (frame % POINTS)] = NAN;
        double at = fai_seconds();
        FaCode rc = fai_shape_solve(solver, &(FaShapeMarkers){.x = s.x}, s.got, NULL);
        best[gap] = fmin(best[gap], fai_seconds() - at);
        assert_int_equal(rc, FA_OK);
    }
    assert_false(test_alloc_failed());
    test_fail_alloc(0);
    print_message("%d markers, %d shapes: %.0f us a frame, %.0f us where a marker appears or goes\n", POINTS,
                  s.rig->nshape, 1e6 * best[0], 1e6 * best[1]);
    fai_shape_solver_free(solver);
    close_scene(&s);
}

static void bad_input_and_no_memory(void **state) {
    (void)state;
    Scene s = open_scene();
    FaShapeSolver *solver;
    FaError err = {0};
    FaSurfacePoint keep = s.point[7];
    s.point[7].vert[1] = s.rig->mesh.nvert;
    assert_int_equal(fai_shape_solver_new(s.rig, POINTS, s.point, NULL, &solver, &err), FA_E_ARG);
    assert_non_null(strstr(err.place, "marker 7"));
    s.point[7] = keep;
    s.point[7].bary[0] = NAN;
    assert_int_equal(fai_shape_solver_new(s.rig, POINTS, s.point, NULL, &solver, NULL), FA_E_ARG);
    s.point[7] = keep;
    assert_int_equal(fai_shape_solver_new(s.rig, 0, s.point, NULL, &solver, NULL), FA_E_ARG);
    assert_int_equal(fai_shape_solver_new(s.rig, POINTS, s.point, &(FaShapeSolveOptions){.l1 = -1}, &solver, NULL),
                     FA_E_ARG);
    int wrong = s.rig->nshape;
    FaShapeSolveOptions o = {.carrier = {.nshape = 1, .shape = &wrong}};
    assert_int_equal(fai_shape_solver_new(s.rig, POINTS, s.point, &o, &solver, NULL), FA_E_ARG);
    for (int k = 1;; k++) {
        err = (FaError){0};
        test_fail_alloc(k);
        long alive = test_alloc_balance();
        FaCode rc = fai_shape_solver_new(s.rig, POINTS, s.point, NULL, &solver, &err);
        bool hit = test_alloc_failed();
        test_fail_alloc(0);
        fai_shape_solver_free(solver);
        assert_int_equal(test_alloc_balance(), alive);
        assert_int_equal(rc, hit ? FA_E_MEMORY : FA_OK);
        if (!hit) break;
    }
    // a single marker: most shapes are never seen, all stay finite
    CHECK_OK(fai_shape_solver_new(s.rig, 1, s.point, NULL, &solver, &err), &err);
    int seen = 0;
    for (int j = 0; j < s.rig->nshape; j++) seen += fai_shape_solver_seen(solver)[j];
    assert_true(seen > 0 && seen < s.rig->nshape);
    float far[3] = {5, 5, 5}; // and one that is nowhere near
    FaShapeFit fit;
    fai_shape_solve(solver, &(FaShapeMarkers){.x = far}, s.got, &fit);
    for (int j = 0; j < s.rig->nshape; j++) assert_true(isfinite(s.got[j]) && s.got[j] >= 0);
    assert_true(fit.worst_at == 0 && isfinite(fit.worst));
    fai_shape_solver_free(solver);
    close_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_found),
        cmocka_unit_test(the_objective_is_the_one_promised),
        cmocka_unit_test(sparsity_costs_accuracy),
        cmocka_unit_test(missing_markers),
        cmocka_unit_test(smoothing_calms_noise),
        cmocka_unit_test(a_jaw_that_turns),
        cmocka_unit_test(frames_are_fast_and_allocate_nothing),
        cmocka_unit_test(bad_input_and_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
