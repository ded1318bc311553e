// The control: linear algebra against direct solves, optimality, exact recovery, markers that come, go and lie,
// relaxation.
// labels: unit hash
#include "test_blendforces_tools.h"

#include "blendforces/control_fit.h"
#include "energy/bend.h"
#include "energy/edge.h"
#include "math/chol.h"

static FaControl *open_control(const Marked *s, FaDriveOptions o, FaControlTuning t) {
    FaControl *c;
    FaError err = {0};
    CHECK_OK(fai_control_open(s->rig, s->face, s->map, &o, &t, &c, &err), &err);
    return c;
}

static FaCode step(FaControl *c, Marked *s, int frame, FaControlFit *fit) {
    FaError err = {0};
    FaMarkers m = marked_markers(s);
    FaCode rc = fai_control_step(c, &m, frame / 60.0, s->out, NULL, fit, &err);
    if (rc < 0) fail_msg("%s", err.what);
    return rc;
}

// --- forces -------------------------------------------------------------------------------------------------------

// d = Phi u + q against A d = M y / h^2 + B u + the projections of edges and bending, all in double.
static void phi_and_q_are_direct_solves(void **state) {
    (void)state;
    Marked s = marked_open(0, 40);
    FaError err = {0};
    FaForceOptions o = {.fps = 60};
    FaForces *f;
    FaElastic e;
    FaCsr a = {0};
    FaChol *chol;
    CHECK_OK(fai_forces_new(s.face, s.rig, 0, NULL, &o, &f, &err), &err);
    CHECK_OK(fai_skin_body(s.face, &o.body, &e, &err), &err);
    CHECK_OK(fai_elastic_matrix(&e, 3600, &a, &err), &err);
    CHECK_OK(fai_chol_analyze(&a, NULL, &chol, &err), &err);
    CHECK_OK(fai_chol_factor(chol, &a, &err), &err);
    FaArena *arena = fai_arena_new(0);
    size_t n = (size_t)s.face->nskin;
    double *old = FA_PUSH(arena, 3 * n, double), *now = FA_PUSH(arena, 3 * n, double),
           *b = FA_PUSH(arena, 4 * n, double);
    double *u = FA_PUSH(arena, s.rig->nshape, double), worst = 0, size = 0;
    for (int frame = 0; frame < 4; frame++) {
        marked_pose(&s, 10 * frame);
        for (int j = 0; j < s.rig->nshape; j++) u[j] = (double)s.w[j];
        fai_forces_begin(f, 0.5, 1, false);
        fai_forces_apply(f, u);
        fai_forces_end(f);
        // projections at `now`: w G'(p - v0), p along the current edge or Laplacian at its rest length
        memset(b, 0, 4 * n * sizeof *b);
        for (int j = 0; j < s.rig->nshape; j++) {
            const FaShape *shape = &s.rig->shape[j];
            for (int i = shape->first; i < shape->first + shape->count; i++) {
                int node = s.face->node_of_vertex[s.rig->row[i]];
                if (node < 0 || s.face->skin_vertex[node] != s.rig->row[i]) continue;
                for (int k = 0; k < 3; k++)
                    b[4 * node + k] += e.anchor_weight[node] * u[j] * (double)s.rig->delta[3 * i + k];
            }
        }
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < 3; k++)
                b[4 * i + k] += 3600 * e.mass[i] * (now[3 * i + k] + 0.5 * (now[3 * i + k] - old[3 * i + k]));
        for (int i = 0; i < e.nedge; i++) {
            int p = e.edge[i][0], q = e.edge[i][1];
            double v[3], v0[3], l = 0, l0 = 0;
            for (int k = 0; k < 3; k++) {
                v0[k] = e.x0[3 * p + k] - e.x0[3 * q + k];
                v[k] = v0[k] + now[3 * p + k] - now[3 * q + k];
                l += v[k] * v[k], l0 += v0[k] * v0[k];
            }
            for (int k = 0; k < 3; k++) {
                double force = e.edge_weight[i] * (v[k] * sqrt(l0 / l) - v0[k]);
                b[4 * p + k] += force, b[4 * q + k] -= force;
            }
        }
        for (int i = 0; i < e.nbend; i++) {
            double v[3] = {0}, v0[3] = {0}, l = 0, l0 = 0;
            for (int q = e.bend_start[i]; q < e.bend_start[i + 1]; q++)
                for (int k = 0; k < 3; k++) {
                    v0[k] += e.bend_coef[q] * e.x0[3 * e.bend_node[q] + k];
                    v[k] += e.bend_coef[q] * (e.x0[3 * e.bend_node[q] + k] + now[3 * e.bend_node[q] + k]);
                }
            for (int k = 0; k < 3; k++) l += v[k] * v[k], l0 += v0[k] * v0[k];
            for (int q = e.bend_start[i]; q < e.bend_start[i + 1]; q++)
                for (int k = 0; k < 3; k++)
                    b[4 * e.bend_node[q] + k] +=
                        e.bend_weight[i] * e.bend_coef[q] * (v[k] * sqrt(l0 / fmax(l, 1e-300)) - v0[k]);
        }
        fai_chol_solve_d(chol, b, b);
        memcpy(old, now, 3 * n * sizeof *old);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < 3; k++) {
                now[3 * i + k] = (double)fai_forces_now(f)[4 * i + k]; // the next frame starts from the same state
                worst = fmax(worst, fabs(now[3 * i + k] - b[4 * i + k]));
                size = fmax(size, fabs(b[4 * i + k]));
            }
    }
    print_message("forces: within %.1e m of a direct solve, motion up to %.1f mm\n", worst, 1e3 * size);
    assert_true(size > 2e-3);
    assert_true(worst < 2e-6);
    fai_arena_free(arena);
    fai_chol_free(chol);
    fai_csr_free(&a);
    fai_arena_free(e.arena);
    fai_forces_free(f);
    marked_close(&s);
}

// --- the solve ----------------------------------------------------------------------------------------------------

static void commands_are_optimal(void **state) {
    (void)state;
    enum { N = 30, P = 25 };
    static double column[N * P * 3], t[P * 3], full[P * P], u[N];
    for (int seed = 0; seed < 20; seed++) {
        for (int i = 0; i < N * P * 3; i++) column[i] = fai_random_normal(1 + (uint64_t)seed, (uint64_t)i) + 0.5;
        for (int i = 0; i < P * 3; i++) { // half of the columns, and noise
            t[i] = 3 * fai_random_normal(77 + (uint64_t)seed, (uint64_t)i);
            for (int j = 0; j < N; j += 2) t[i] += column[j * P * 3 + i];
        }
        for (int i = 0; i < P; i++)
            for (int j = 0; j < P; j++) full[i * P + j] = exp(-abs(i - j) / 3.0) + (i == j);
        FaCommandFit *fit;
        FaError err = {0};
        CHECK_OK(fai_command_fit_new(N, P, column, &fit, &err), &err);
        fai_command_fit_metric(fit, NULL, full, 0.01);
        memset(u, 0, sizeof u);
        FaNnlsResult r = fai_command_fit_solve(fit, t, 0, NULL, NULL, u);
        assert_int_equal(r.status, FA_NNLS_OK);
        const double *g = fai_command_fit_gram(fit), *f = fai_command_fit_right(fit);
        int active = 0;
        for (int j = 0; j < N; j++) {
            double slope = -f[j];
            for (int k = 0; k < N; k++) slope += g[j * N + k] * u[k];
            double scale = sqrt(g[j * N + j]) * 50;
            assert_true(u[j] >= 0);
            assert_true(slope > -1e-9 * scale);
            if (u[j] > 0) CHECK_NEAR(slope / scale, 0, 1e-9);
            active += u[j] > 0;
        }
        assert_in_range(active, 3, N - 3);
        fai_command_fit_free(fit);
    }
}

static void medians(void **state) {
    (void)state;
    for (int n = 1; n < 40; n++) {
        double x[40], y[40];
        for (int i = 0; i < n; i++) x[i] = y[i] = floor(8 * fai_random_unit(5, (uint64_t)(40 * n + i)));
        double m = fai_median(x, n);
        int below = 0, above = 0;
        for (int i = 0; i < n; i++) below += y[i]<m, above += y[i]> m;
        assert_true(below <= n / 2 && above <= n - 1 - n / 2);
    }
}

static void what_shapes_can_do_is_met(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaControl *c = open_control(&s, (FaDriveOptions){.kind = FA_DRIVE_SBS, .no_jaw = true, .no_residual = true},
                                (FaControlTuning){0});
    double worst = 0;
    for (int f = 0; f < 12; f++) {
        FaControlFit fit;
        marked_pose(&s, 5 * f);
        for (int j = 0; j < s.rig->nshape; j++) // lids have too few markers to tell their shapes apart
            if (!strncmp(s.rig->shape[j].name, "eye", 3) || !strncmp(s.rig->shape[j].name, "tongue", 6)) s.w[j] = 0;
        marked_blend(&s);
        assert_int_equal(step(c, &s, f, &fit), FA_OK);
        assert_int_equal(fit.used, s.n);
        worst = fmax(worst, marked_error(&s));
        CHECK_NEAR(fit.outside, 0, 1e-6);
        assert_true(fit.inside > 5e-4);
    }
    print_message("in the span: %.1e m mean over the surface\n", worst);
    assert_true(worst < 5e-6);
    fai_control_free(c);
    marked_close(&s);
}

// At weight 1 of a jaw shape the frame and its leftover are the sculpted shape; half way the chin is on an arc.
static void jaw_frame_meets_its_shapes(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaControl *c = open_control(&s, (FaDriveOptions){.kind = FA_DRIVE_SBS, .no_residual = true}, (FaControlTuning){0});
    static const char *const names[] = {"jawOpen", "jawForward", "jawLeft", "jawRight"};
    for (int i = 0; i < 4; i++) {
        memset(s.w, 0, (size_t)s.rig->nshape * sizeof *s.w);
        s.w[marked_shape(&s, names[i])] = 1;
        marked_blend(&s);
        step(c, &s, i, NULL);
        assert_true(marked_error(&s) < 2e-5);
    }
    s.w[marked_shape(&s, "jawRight")] = 0;
    s.w[marked_shape(&s, "jawOpen")] = 0.5f;
    marked_truth(&s);
    step(c, &s, 10, NULL);
    double frame = marked_error(&s);
    FaDriveOptions o = {.kind = FA_DRIVE_SBS, .no_residual = true, .no_jaw = true};
    FaControl *straight = open_control(&s, o, (FaControlTuning){0});
    step(straight, &s, 0, NULL);
    print_message("a jaw half open: %.4f mm with a frame, %.4f mm without\n", 1e3 * frame, 1e3 * marked_error(&s));
    assert_true(frame < 0.5 * marked_error(&s));
    fai_control_free(straight);
    fai_control_free(c);
    marked_close(&s);
}

// --- the residual pass --------------------------------------------------------------------------------------------

static void markers_without_noise_are_met(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    static const FaDriveKind kinds[] = {FA_DRIVE_SBS, FA_DRIVE_BF};
    for (int k = 0; k < 2; k++) {
        FaControl *c =
            open_control(&s, (FaDriveOptions){.kind = kinds[k], .smooth = -1}, (FaControlTuning){.noise = -1});
        for (int f = 0; f < 6; f++) {
            FaControlFit fit;
            marked_pose(&s, 8 * f);
            marked_truth(&s);
            for (int i = 0; i < 3 * s.n; i++) s.x[i] += (float)(1e-3 * sin(1.7 * i + f)); // far outside the span
            step(c, &s, f, &fit);
            assert_true(fit.before > 3e-4);
            for (int i = 0; i < s.n; i++) {
                double p[3];
                fa_marker_point_at(&s.map->point[i], s.out, true, p);
                for (int q = 0; q < 3; q++) CHECK_NEAR(p[q], s.x[3 * i + q], 3e-6);
            }
        }
        fai_control_free(c);
    }
    marked_close(&s);
}

// Skin near a marker follows it; the other lip, as near through the air, follows less.
static void lips_are_apart(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    const FaFace *f = s.face;
    FaError err = {0};
    const float *up = f->region[FA_REGION_LIP_UPPER], *low = f->region[FA_REGION_LIP_LOWER];
    int a = -1, b = -1;
    double near = 1;
    for (int i = 0; i < f->nskin; i++)
        for (int j = 0; j < f->nskin && up[i] > 0.9f; j++) {
            double d = head_distance(f->x0 + 3 * i, f->x0 + 3 * j);
            if (low[j] > 0.9f && fabsf(f->x0[3 * i]) < 0.012f && d < near) near = d, a = i, b = j;
        }
    assert_true(a >= 0);
    FaSpreadPoint p = {{a, a, a}, {1, 0, 0}};
    FaSpread *spread;
    CHECK_OK(fai_spread_new(f, 1, &p, NULL, &spread, &err), &err);
    FaArena *arena = fai_arena_new(0);
    float *e = FA_PUSH(arena, 4 * (size_t)f->nskin, float);
    double coef[3] = {1, 0, 0};
    fai_spread_add(spread, coef, e);
    double own = 0, here = (double)e[4 * a], across = (double)e[4 * b];
    int count = 0;
    for (int i = 0; i < f->nskin; i++) // the same lip, further away
        if (up[i] > 0.9f && head_distance(f->x0 + 3 * i, f->x0 + 3 * a) < 0.006) own += (double)e[4 * i], count++;
    own /= count;
    print_message("a lip's marker moves itself %.2f, its lip within 6 mm %.2f, the other lip %.1f mm away %.2f\n", here,
                  own, 1e3 * near, across);
    CHECK_NEAR(here, 1, 1e-6);
    assert_true(across < 0.6 * own);
    fai_arena_free(arena);
    fai_spread_free(spread);
    marked_close(&s);
}

// --- markers that come and go -------------------------------------------------------------------------------------

static void visibility_may_change(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaControl *c =
        open_control(&s, (FaDriveOptions){.kind = FA_DRIVE_SBS, .refine = true, .smooth = -1}, (FaControlTuning){0});
    FaControl *all =
        open_control(&s, (FaDriveOptions){.kind = FA_DRIVE_SBS, .refine = true, .smooth = -1}, (FaControlTuning){0});
    float *want = FA_NEW(3 * (size_t)s.rig->mesh.nvert, float);
    for (int f = 0; f < 9; f++) {
        FaControlFit fit;
        marked_pose(&s, 6 * f);
        marked_truth(&s);
        step(all, &s, f, NULL);
        memcpy(want, s.out, 3 * (size_t)s.rig->mesh.nvert * sizeof *want);
        double full = marked_error(&s);
        for (int i = 0; i < s.n; i++) s.ok[i] = !(f % 3 == 1 && i % 2) && !(f % 3 == 2 && i % 5 == 0);
        step(c, &s, f, &fit);
        int ok = 0;
        for (int i = 0; i < s.n; i++) ok += s.ok[i];
        memset(s.ok, 1, (size_t)s.n);
        assert_int_equal(fit.used, ok);
        assert_true(marked_error(&s) < 6 * full + 1e-4);
        if (f % 3 == 0) // all are there again: nothing is left of the frames without
            for (int i = 0; i < 3 * s.rig->mesh.nvert; i++) CHECK_NEAR(s.out[i], want[i], 2e-6);
    }
    fa_free(want);
    fai_control_free(all);
    fai_control_free(c);
    marked_close(&s);
}

static void without_markers_the_face_relaxes(void **state) {
    (void)state;
    Marked s = marked_open(0, 60);
    static const FaDriveKind kinds[] = {FA_DRIVE_SBS, FA_DRIVE_BF};
    for (int k = 0; k < 2; k++) {
        FaControl *c = open_control(&s, (FaDriveOptions){.kind = kinds[k]}, (FaControlTuning){0});
        FaControlFit fit;
        memset(s.w, 0, (size_t)s.rig->nshape * sizeof *s.w);
        s.w[marked_shape(&s, "mouthSmileLeft")] = s.w[marked_shape(&s, "jawOpen")] = 0.8f;
        marked_truth(&s);
        for (int f = 0; f < 10; f++) step(c, &s, f, NULL);
        double last = 1, jump = 0, first = 0;
        memcpy(s.mesh, s.rig->mesh.x, 3 * (size_t)s.rig->mesh.nvert * sizeof *s.mesh);
        for (int i = 0; i < 3 * s.n; i++) s.x[i] = i % 2 ? NAN : INFINITY;
        for (int f = 10; f < 130; f++) {
            assert_int_equal(step(c, &s, f, &fit), FA_CLAMPED);
            assert_int_equal(fit.held, 1);
            double now = marked_error(&s);
            if (f == 10)
                first = now;
            else
                jump = fmax(jump, last - now);
            assert_true(f == 10 || now < last + 1e-7);
            last = now;
        }
        print_message(
            "%s without markers: %.2f mm from rest, %.4f mm two seconds later, at most %.0f %% of it in a frame\n",
            fa_drive_kind_name(kinds[k]), 1e3 * first, 1e3 * last, 100 * jump / first);
        assert_true(first > 3e-4 && last < 0.02 * first && jump < 0.15 * first);
        fai_control_free(c);
    }
    marked_close(&s);
}

static void a_lying_marker_is_not_believed(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaControl *c = open_control(&s, (FaDriveOptions){.kind = FA_DRIVE_SBS, .smooth = -1}, (FaControlTuning){0});
    marked_pose(&s, 20);
    marked_truth(&s);
    step(c, &s, 0, NULL);
    double honest = marked_error(&s);
    s.x[3 * 17] += 0.05f;
    step(c, &s, 1, NULL);
    print_message("one marker 5 cm off: %.4f mm, %.4f mm without\n", 1e3 * marked_error(&s), 1e3 * honest);
    assert_true(fai_control_belief(c)[17] < 0.05f);
    int doubted = 0;
    for (int i = 0; i < s.n; i++) doubted += fai_control_belief(c)[i] < 0.5f;
    assert_int_equal(doubted, 1);
    assert_true(marked_error(&s) < honest + 1e-4);
    fai_control_free(c);
    marked_close(&s);
}

// --- time ---------------------------------------------------------------------------------------------------------

// Figure 5.6: an expression let go. Shapes are gone in the next frame; forces cannot pull back, springs do.
static void forces_let_go_smoothly(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaControl *bf = open_control(&s, (FaDriveOptions){.kind = FA_DRIVE_BF, .no_jaw = true, .no_residual = true},
                                 (FaControlTuning){0});
    FaControl *sbs = open_control(&s, (FaDriveOptions){.kind = FA_DRIVE_SBS, .no_jaw = true, .no_residual = true},
                                  (FaControlTuning){0});
    double left[2][31];
    for (int f = 0; f < 50; f++) {
        memset(s.w, 0, (size_t)s.rig->nshape * sizeof *s.w);
        if (f < 20)
            s.w[marked_shape(&s, "mouthSmileLeft")] = s.w[marked_shape(&s, "mouthSmileRight")] =
                s.w[marked_shape(&s, "cheekPuff")] = 1;
        marked_blend(&s);
        memcpy(s.mesh, s.rig->mesh.x, 3 * (size_t)s.rig->mesh.nvert * sizeof *s.mesh);
        for (int k = 0; k < 2; k++) {
            step(k ? sbs : bf, &s, f, NULL);
            if (f >= 19) left[k][f - 19] = 1e3 * marked_error(&s);
        }
    }
    print_message("mm from rest, frames after release, bf:");
    for (int f = 0; f < 12; f++) print_message(" %.3f", left[0][f]);
    print_message("; sbs:");
    for (int f = 0; f < 3; f++) print_message(" %.3f", left[1][f]);
    print_message("\n");
    assert_true(left[1][1] < 1e-3 * left[1][0]); // SBS snaps
    assert_true(left[0][1] > 0.2 * left[0][0] && left[0][3] > 0.01 * left[0][0]);
    for (int f = 0; f < 12; f++) assert_true(left[0][f + 1] < left[0][f]);
    assert_true(left[0][30] < 0.01 * left[0][0]);
    fai_control_free(bf);
    fai_control_free(sbs);
    marked_close(&s);
}

static void the_literal_form_runs(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    for (int passes = 1; passes <= 5; passes += 2) {
        FaDriveOptions o = {.kind = FA_DRIVE_BF, .literal = true, .relinearise = passes};
        FaControl *c = open_control(&s, o, (FaControlTuning){0});
        double sum = 0;
        for (int f = 0; f < 30; f++) {
            FaControlFit fit;
            marked_pose(&s, f);
            marked_truth(&s);
            step(c, &s, f, &fit);
            sum += fit.before / 30;
            assert_true(fit.before == fit.after);
            assert_true(isfinite(marked_error(&s)));
        }
        print_message("algorithm 1, %d linearisations: markers missed by %.3f mm\n", passes, 1e3 * sum);
        assert_true(sum < 1e-3);
        fai_control_free(c);
    }
    marked_close(&s);
}

static uint64_t run_hash(Marked *s, FaDriveOptions o, bool starve) {
    FaControl *c = open_control(s, o, (FaControlTuning){0});
    uint64_t hash = 0;
    for (int f = 0; f < 8; f++) {
        marked_pose(s, 7 * f);
        marked_truth(s);
        s->ok[3] = f != 4;
        if (f == 6) s->x[30] += 0.1f;
        if (starve && f == 2) test_fail_alloc(1);
        step(c, s, f, NULL);
        if (starve && f == 2) {
            assert_false(test_alloc_failed());
            test_fail_alloc(0);
        }
        hash = fai_hash64(s->out, 3 * (size_t)s->rig->mesh.nvert * sizeof(float), hash);
    }
    fai_control_free(c);
    return hash;
}

static void same_bits_and_no_allocation(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    int threads = fa_threads();
    static const FaDriveOptions kinds[] = {{.kind = FA_DRIVE_BF}, {.kind = FA_DRIVE_SBS, .refine = true}};
    for (int k = 0; k < 2; k++) {
        uint64_t want = run_hash(&s, kinds[k], true);
        print_message("%s: hash %016llx\n", fa_drive_kind_name(kinds[k].kind),
                      (unsigned long long)want); // the same for every compiler
        for (int t = 1; t <= 7; t += 6) {
            fa_threads_set(t);
            assert_true(run_hash(&s, kinds[k], false) == want);
        }
        fa_threads_set(threads);
    }
    marked_close(&s);
}

// --- bad input ----------------------------------------------------------------------------------------------------

static void bad_input_is_named(void **state) {
    (void)state;
    Marked s = marked_open(0, 40);
    FaError err = {0};
    FaControl *c;
    float *trust = FA_NEW(s.n, float);
    trust[7] = -1;
    FaDriveOptions o = {.kind = FA_DRIVE_BF, .trust = trust};
    assert_int_equal(fai_control_open(s.rig, s.face, s.map, &o, NULL, &c, &err), FA_E_ARG);
    assert_non_null(strstr(err.place, s.map->name[7]));
    assert_null(c);
    o.trust = NULL;
    err = (FaError){0};
    assert_int_equal(fai_control_open(s.rig, NULL, s.map, &o, NULL, &c, &err), FA_E_ARG);
    assert_non_null(strstr(err.remedy, "face"));
    o = (FaDriveOptions){.kind = FA_DRIVE_SBS, .no_residual = true};
    err = (FaError){0};
    CHECK_OK(fai_control_open(s.rig, NULL, s.map, &o, NULL, &c, &err), &err);
    marked_pose(&s, 3);
    marked_truth(&s);
    FaMarkers m = marked_markers(&s);
    CHECK_OK(fai_control_step(c, &m, 1.0, s.out, NULL, NULL, &err), &err);
    assert_int_equal(fai_control_step(c, &m, 1.0, s.out, NULL, NULL, &err), FA_E_ARG);
    err = (FaError){0};
    assert_int_equal(fai_control_step(c, &m, NAN, s.out, NULL, NULL, &err), FA_E_ARG);
    fai_control_reset(c);
    err = (FaError){0};
    CHECK_OK(fai_control_step(c, &m, 0.5, s.out, NULL, NULL, &err), &err);
    fai_control_free(c);
    FaFace wrong = *s.face;
    wrong.rig_hash ^= 1;
    o.kind = FA_DRIVE_BF;
    err = (FaError){0};
    assert_int_equal(fai_control_open(s.rig, &wrong, s.map, &o, NULL, &c, &err), FA_E_ARG);
    fa_free(trust);
    marked_close(&s);
}

static void memory_may_run_out(void **state) {
    (void)state;
    Marked s = marked_open(0, 20);
    for (long k = 1, done = 0; !done; k += 1 + k / 6) {
        FaControl *c;
        FaError err = {0};
        test_fail_alloc(k);
        FaCode rc = fai_control_open(s.rig, s.face, s.map, NULL, NULL, &c, &err);
        done = !test_alloc_failed();
        test_fail_alloc(0);
        if (rc < 0) assert_int_equal(rc, FA_E_MEMORY);
        if (rc < 0) assert_null(c);
        fai_control_free(c);
    }
    marked_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phi_and_q_are_direct_solves),
        cmocka_unit_test(commands_are_optimal),
        cmocka_unit_test(medians),
        cmocka_unit_test(what_shapes_can_do_is_met),
        cmocka_unit_test(jaw_frame_meets_its_shapes),
        cmocka_unit_test(markers_without_noise_are_met),
        cmocka_unit_test(lips_are_apart),
        cmocka_unit_test(visibility_may_change),
        cmocka_unit_test(without_markers_the_face_relaxes),
        cmocka_unit_test(a_lying_marker_is_not_believed),
        cmocka_unit_test(forces_let_go_smoothly),
        cmocka_unit_test(the_literal_form_runs),
        cmocka_unit_test(same_bits_and_no_allocation),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
