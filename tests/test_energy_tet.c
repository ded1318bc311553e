// Tet energies: the double one against differences and its own definition, the kernels against the double one, the
// twins and the thread counts against each other to the bit.
// labels: unit hash
#include "test.h"

#include "energy/tet.h"
#include "math/mat3.h"

// --- states -------------------------------------------------------------------------------------------------------

static double unit(uint64_t at) { return 2 * fai_random_unit(77, at) - 1; }

static void random_rotation(uint64_t at, double m[9]) {
    double q[4];
    for (int k = 0; k < 4; k++) q[k] = fai_random_normal(5, at + (uint64_t)k);
    fai_q_normalize(q);
    fai_q_to_m3(q, m);
}

static void compose(const double u[9], const double s[3], const double v[9], double a[9]) {
    double us[9], vt[9];
    for (int e = 0; e < 9; e++) us[e] = u[e] * s[e % 3];
    fai_m3_transpose(v, vt);
    fai_m3_mul(us, vt, a);
}

// Four corners of a tet of about 5 mm, positive and not flat.
static void random_tet(uint64_t at, double x[4][3]) {
    for (uint64_t turn = 0;; turn++) {
        double dm[9];
        for (int k = 0; k < 12; k++) x[k / 3][k % 3] = 0.005 * unit(at + 100000 * turn + (uint64_t)k);
        for (int e = 0; e < 9; e++) dm[e] = x[1 + e % 3][e / 3] - x[0][e / 3];
        double det = fai_m3_det(dm);
        if (det < 0)
            for (int k = 0; k < 3; k++) {
                double t = x[1][k];
                x[1][k] = x[2][k], x[2][k] = t;
            }
        if (fabs(det) > 2e-8) return;
    }
}

static void values_at(uint64_t at, bool inverted, double s[3]) {
    do {
        for (int k = 0; k < 3; k++) s[k] = 0.35 + 1.1 * fai_random_unit(78, at + (uint64_t)k);
        if (inverted) s[at / 8 % 3] *= -1;
        at += 1000003;
        // away from kinks: a smallest value opposite to the next one, and more than half of the volume to be lost
        double v[3] = {fabs(s[0]), fabs(s[1]), fabs(s[2])}, least = fmin(v[0], fmin(v[1], v[2]));
        double next = fmin(fmax(v[0], v[1]), fmin(fmax(v[0], v[2]), fmax(v[1], v[2])));
        if ((!inverted || next - least > 0.1) && v[0] * v[1] * v[2] < 1.5) return;
    } while (true);
}

// Displacements that give a tet the deformation gradient f, moved somewhere.
static void displace(const double x[4][3], const double f[9], uint64_t at, double u[4][3]) {
    for (int k = 0; k < 4; k++) {
        fai_m3_mulv(f, x[k], u[k]);
        for (int r = 0; r < 3; r++) u[k][r] += 0.02 * unit(at + (uint64_t)r) - x[k][r];
    }
}

typedef struct State {
    double x[4][3], inverse[9], u[4][3], rest[9];
} State;

static State random_state(uint64_t at, bool inverted) {
    static const int corner[4] = {0, 1, 2, 3};
    State t;
    double s[3], u[9], v[9], f[9], near_one[3];
    random_tet(16 * at, t.x);
    assert_true(fai_tet_inverse(&t.x[0][0], corner, t.inverse));
    values_at(16 * at, inverted, s);
    random_rotation(16 * at + 1, u);
    random_rotation(16 * at + 7, v);
    compose(u, s, v, f);
    displace((const double(*)[3])t.x, f, 16 * at, t.u);
    for (int k = 0; k < 3; k++) near_one[k] = 1 + 0.2 * unit(16 * at + (uint64_t)k);
    random_rotation(16 * at + 4, u);
    random_rotation(16 * at + 9, v);
    compose(u, near_one, u, t.rest);
    return t;
}

// --- the double one -----------------------------------------------------------------------------------------------

static double along(const State *t, const double *rest, double ws, double wv, int k, double by) {
    double u[4][3];
    memcpy(u, t->u, sizeof u);
    u[k / 3][k % 3] += by;
    return fai_tet_energy_ref(t->inverse, rest, ws, wv, (const double(*)[3])u, NULL);
}

static void gradient_is_the_differences(void **state) {
    (void)state;
    double worst = 0;
    int kinks = 0;
    for (int i = 0; i < 1000; i++) {
        State t = random_state((uint64_t)i, i % 4 == 0);
        const double *rest = i / 4 % 2 ? t.rest : NULL;
        double ws = i % 3 ? 1 : 0, wv = i % 3 == 1 ? 0 : 2, g[12], size = 0, error = 0, h = 2e-7;
        fai_tet_energy_ref(t.inverse, rest, ws, wv, (const double(*)[3])t.u, g);
        if (rest && i % 4 == 0) { // the kink of F F_g' is not that of F
            double f[9], m[9], rt[9], u[9], s[3], v[9], d[9];
            for (int e = 0; e < 9; e++) d[e] = t.u[1 + e % 3][e / 3] - t.u[0][e / 3];
            fai_m3_mul(d, t.inverse, f);
            for (int e = 0; e < 9; e += 4) f[e] += 1;
            fai_m3_transpose(rest, rt);
            fai_m3_mul(f, rt, m);
            fai_m3_svd(m, u, s, v);
            if (s[1] + s[2] < 0.05) {
                kinks++;
                continue;
            }
        }
        for (int k = 0; k < 12; k++) {
            double d1 = along(&t, rest, ws, wv, k, h) - along(&t, rest, ws, wv, k, -h);
            double d2 = along(&t, rest, ws, wv, k, 2 * h) - along(&t, rest, ws, wv, k, -2 * h);
            double want = (8 * d1 - d2) / (12 * h);
            size = fmax(size, fabs(g[k]));
            error = fmax(error, fabs(g[k] - want));
        }
        assert_true(size > 0);
        if (error / size > 1e-6) fail_msg("state %d: error %g of %g", i, error, size);
        worst = fmax(worst, error / size);
    }
    print_message("1000 states, %d at a kink left out: largest error %.2g\n", kinks, worst);
    assert_true(kinks < 50);
}

// Energy, force and torque under rigid motion.
static void rigid_motion_changes_nothing(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        State t = random_state(5000 + (uint64_t)i, i % 4 == 0);
        double g[12], r[9], moved[4][3], force[3] = {0}, torque[3] = {0}, size = 0;
        double e0 = fai_tet_energy_ref(t.inverse, NULL, 1, 2, (const double(*)[3])t.u, g);
        random_rotation(9000 + 8 * (uint64_t)i, r);
        for (int k = 0; k < 4; k++) {
            double x[3], y[3], c[3];
            fai_v3_add(t.x[k], t.u[k], x);
            fai_m3_mulv(r, x, y);
            fai_v3_sub(y, t.x[k], moved[k]);
            for (int q = 0; q < 3; q++) moved[k][q] += 0.05 * (q + 1), force[q] += g[3 * k + q];
            fai_v3_cross(x, g + 3 * k, c);
            fai_v3_add(torque, c, torque);
            size = fmax(size, fai_v3_norm(g + 3 * k));
        }
        double e1 = fai_tet_energy_ref(t.inverse, NULL, 1, 2, (const double(*)[3])moved, NULL);
        assert_true(e0 > 0);
        CHECK_NEAR(e1 / e0, 1, 1e-12);
        for (int q = 0; q < 3; q++) {
            CHECK_NEAR(force[q] / size, 0, 1e-12);
            CHECK_NEAR(torque[q] / (0.05 * size), 0, 1e-12);
        }
    }
}

// Nothing of the same product is closer than the projection.
static void volume_projection_is_the_closest(void **state) {
    (void)state;
    for (int i = 0; i < 400; i++) {
        uint64_t at = 40 * (uint64_t)i;
        double s[3], x[3], d = i % 3 ? 1 : 0.5 + fai_random_unit(1, at);
        double big = i % 5 == 0 ? 3 : 1.5;
        for (int k = 0; k < 3; k++) s[k] = big * fai_random_unit(2, at + (uint64_t)k);
        if (i % 40 == 1) s[0] = s[1] = s[2] = 0;
        if (i % 40 == 2) s[0] = s[1] = s[2] = 3;
        if (i % 40 == 3) s[1] = s[2] = 0;
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < 2; j++)
                if (s[j] < s[j + 1]) {
                    double t = s[j];
                    s[j] = s[j + 1], s[j + 1] = t;
                }
        if (i % 4 == 0) s[2] *= -1;
        fai_volume_closest(s, d, x);
        CHECK_NEAR(x[0] * x[1] * x[2] / d, 1, 1e-9);
        assert_true(x[0] > 0 && x[1] > 0 && x[2] > 0);
        double best = 0;
        for (int k = 0; k < 3; k++) best += (s[k] - x[k]) * (s[k] - x[k]);
        for (int k = 0; k < 4000; k++) { // near and far
            double spread = k % 2 ? 0.05 : 3, y[3];
            for (int j = 0; j < 2; j++) y[j] = fmax(x[j] * exp(spread * unit((uint64_t)(2 * k + j) + at)), 1e-6);
            y[2] = d / (y[0] * y[1]);
            double other = 0;
            for (int j = 0; j < 3; j++) other += (s[j] - y[j]) * (s[j] - y[j]);
            if (other < best * (1 - 1e-9))
                fail_msg("s %g %g %g: %.12g is closer than %.12g", s[0], s[1], s[2], other, best);
        }
    }
}

// --- the kernels --------------------------------------------------------------------------------------------------

typedef struct Body {
    FaElastic e;
    float *u, *g; // (nnode x 4)
    double *want; // (nnode x 3)
    float *rest;
    FaElasticFrame frame;
    FaArena *arena;
} Body;

// Random tets; shared: of common nodes. moved: each with its own deformation (not for shared nodes), else random
// displacements.
static Body body_new(int ntet, bool shared, double w_v, uint64_t seed) {
    Body b = {.arena = fai_arena_new(0)};
    FaElastic *e = &b.e;
    e->ntet = ntet;
    e->nnode = shared ? ntet / 3 + 4 : 4 * ntet;
    e->x0 = FA_PUSH(b.arena, 3 * (size_t)e->nnode + 3, double);
    e->tet = (int(*)[4])FA_PUSH(b.arena, 4 * (size_t)ntet + 4, int);
    e->tet_strain = FA_PUSH(b.arena, ntet + 1, double);
    e->tet_volume = FA_PUSH(b.arena, ntet + 1, double);
    b.u = FA_PUSH(b.arena, 4 * (size_t)e->nnode + 4, float);
    b.g = FA_PUSH(b.arena, 4 * (size_t)e->nnode + 4, float);
    b.want = FA_PUSH(b.arena, 3 * (size_t)e->nnode + 3, double);
    b.frame.tet_stride = (ntet + 7) / 8 * 8;
    b.rest = FA_PUSH(b.arena, 9 * (size_t)b.frame.tet_stride + 8, float);
    for (int i = 0; i < e->nnode * 3; i++) e->x0[i] = 0.01 * unit(seed + (uint64_t)i);
    for (int i = 0; i < ntet; i++) {
        State t = random_state(seed + (uint64_t)i, i % 4 == 3);
        double inverse[9];
        for (int k = 0; k < 4; k++)
            e->tet[i][k] =
                shared ? (int)(fai_random_u64(seed, (uint64_t)i) % 1000 + (uint64_t)(k * (i % 7 + 1))) % e->nnode
                       : 4 * i + k;
        if (shared) {
            for (uint64_t turn = 1;; turn++) { // until it has a volume
                bool good = fai_tet_inverse(e->x0, e->tet[i], inverse);
                for (int k = 0; good && k < 9; k++) good = fabs(inverse[k]) < 3000;
                if (good) break;
                for (int k = 0; k < 4; k++)
                    e->tet[i][k] =
                        (int)(fai_random_u64(seed + turn, 4 * (uint64_t)i + (uint64_t)k) % (uint64_t)e->nnode);
            }
        } else {
            for (int k = 0; k < 4; k++)
                for (int r = 0; r < 3; r++) {
                    e->x0[3 * (4 * i + k) + r] = t.x[k][r];
                    b.u[4 * (4 * i + k) + r] = (float)t.u[k][r];
                }
        }
        e->tet_strain[i] = 0.5 + fai_random_unit(seed, (uint64_t)i);
        e->tet_volume[i] = w_v * (0.5 + fai_random_unit(seed + 1, (uint64_t)i));
        for (int k = 0; k < 9; k++) b.rest[k * b.frame.tet_stride + i] = (float)t.rest[k];
    }
    for (int i = 0; shared && i < 4 * e->nnode; i++)
        b.u[i] = i % 4 == 3 ? 0 : (float)(2e-3 * unit(seed + 7 + (uint64_t)i));
    return b;
}

static double reference(Body *b, bool posed) {
    double sum = 0;
    memset(b->want, 0, 3 * (size_t)b->e.nnode * sizeof *b->want);
    for (int i = 0; i < b->e.ntet; i++) {
        double inverse[9], u[4][3], rest[9], g[12];
        fai_tet_inverse(b->e.x0, b->e.tet[i], inverse);
        for (int k = 0; k < 12; k++) u[k / 3][k % 3] = (double)b->u[4 * b->e.tet[i][k / 3] + k % 3];
        for (int k = 0; k < 9; k++) rest[k] = (double)b->rest[k * b->frame.tet_stride + i];
        sum += fai_tet_energy_ref(inverse, posed ? rest : NULL, b->e.tet_strain[i], b->e.tet_volume[i],
                                  (const double(*)[3])u, g);
        for (int k = 0; k < 12; k++) b->want[3 * b->e.tet[i][k / 3] + k % 3] += g[k];
    }
    return sum;
}

static double evaluate(const Body *b, FaTets *t, bool posed, FaSvdMemo *memo, float tau0, float tau1, float *g) {
    FaElasticFrame frame = b->frame;
    frame.tet_rest = posed ? b->rest : NULL;
    double e = fai_tets_eval(t, &frame, b->u, g != NULL, memo, tau0, tau1, NULL);
    if (g) {
        memset(g, 0, 4 * (size_t)b->e.nnode * sizeof *g);
        fai_tets_gather(t, g);
    }
    return e;
}

static void floats_agree_with_double(void **state) {
    (void)state;
    for (int mode = 0; mode < 8; mode++) {
        FaError err = {0};
        bool posed = mode & 1, shared = mode & 2;
        Body b = body_new(1200, shared, mode & 4 ? 0 : 3, 100 + (uint64_t)mode);
        FaTets *t;
        CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
        double want = reference(&b, posed), e = evaluate(&b, t, posed, NULL, 0, 0, b.g), size = 0, worst = 0;
        assert_true(want > 1);
        assert_true(evaluate(&b, t, posed, NULL, 0, 0, NULL) == e); // with and without gradient
        // the closest rotation's own condition: errors grow as 1 / (s1 + s2), so the mean must be small, the worst
        // bounded
        double mean = 0;
        for (int i = 0; i < b.e.nnode; i++)
            for (int k = 0; k < 3; k++) {
                double d = fabs((double)b.g[4 * i + k] - b.want[3 * i + k]);
                worst = fmax(worst, d);
                mean += d / (3 * b.e.nnode);
                size = fmax(size, fabs(b.want[3 * i + k]));
            }
        print_message("mode %d: energy off by %.2g, gradient by %.2g, in the mean %.2g\n", mode, e / want - 1,
                      worst / size, mean / size);
        CHECK_NEAR(e / want, 1, 2e-6);
        assert_true(mean < 1e-6 * size);
        assert_true(worst < (shared || posed ? 1e-3 : 2e-5) * size);
        for (int i = 0; i < b.e.nnode; i++) assert_true(b.g[4 * i + 3] == 0);
        fai_tets_free(t);
        fai_arena_free(b.arena);
    }
}

static void rest_has_no_force_to_the_bit(void **state) {
    (void)state;
    FaError err = {0};
    Body b = body_new(333, true, 2, 3);
    FaTets *t;
    FaSvdMemo *memo;
    CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
    CHECK_OK(fai_svd_memo_new(b.e.ntet, &memo, &err), &err);
    memset(b.u, 0, 4 * (size_t)b.e.nnode * sizeof *b.u);
    for (int turn = 0; turn < 2; turn++) {
        assert_true(evaluate(&b, t, false, turn ? memo : NULL, 1e-3f, 1e-1f, b.g) == 0);
        for (int i = 0; i < 4 * b.e.nnode; i++) assert_true(b.g[i] == 0 && !signbit(b.g[i]));
    }
    fai_svd_memo_free(memo);
    fai_tets_free(t);
    fai_arena_free(b.arena);
}

// Small strains keep their digits: the energy of a stretch by 1e-5 is right to four of them.
static void small_strains_keep_their_digits(void **state) {
    (void)state;
    FaError err = {0};
    Body b = body_new(64, false, 2, 17);
    FaTets *t;
    for (int i = 0; i < b.e.nnode; i++) {
        const double *x = b.e.x0 + 3 * i;
        double turn = 1e-4;
        b.u[4 * i] = (float)(1e-5 * x[0] + turn * x[1]);
        b.u[4 * i + 1] = (float)(-turn * x[0] - 0.4e-5 * x[1]);
        b.u[4 * i + 2] = (float)(2e-5 * x[2]);
    }
    CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
    double want = reference(&b, false), e = evaluate(&b, t, false, NULL, 0, 0, NULL);
    print_message("strain 1e-5: energy off by %.2g\n", e / want - 1);
    CHECK_NEAR(e / want, 1, 1e-4);
    fai_tets_free(t);
    fai_arena_free(b.arena);
}

static void twins_agree_to_the_bit(void **state) {
    (void)state;
    FaError err = {0};
    for (int mode = 0; mode < 8; mode++)
        for (int n = 0; n <= 100; n += n < 18 ? 1 : 41) {
            Body b = body_new(n, false, mode & 4 ? 0 : 3, 900 + (uint64_t)n);
            FaTets *fast, *plain;
            FaSvdMemo *memo[2] = {NULL, NULL};
            float *g = FA_PUSH(b.arena, 4 * (size_t)b.e.nnode + 4, float);
            CHECK_OK(fai_tets_new(&b.e, &fast, &err), &err);
            if (mode & 2) CHECK_OK(fai_svd_memo_new(n, &memo[0], &err), &err);
            setenv("FA_SIMD", "ref", 1);
            CHECK_OK(fai_tets_new(&b.e, &plain, &err), &err);
            if (mode & 2) CHECK_OK(fai_svd_memo_new(n, &memo[1], &err), &err);
            unsetenv("FA_SIMD");
            for (int k = 0; k < 4; k++) {
                double p = evaluate(&b, fast, mode & 1, memo[0], 0.01f, 0.1f, b.g);
                double q = evaluate(&b, plain, mode & 1, memo[1], 0.01f, 0.1f, g);
                assert_memory_equal(&p, &q, sizeof p);
                assert_memory_equal(b.g, g, 4 * (size_t)b.e.nnode * sizeof *g);
                assert_true(n == 0 || p > 0);
                for (int i = 0; i < 4 * b.e.nnode; i++)
                    b.u[i] += i % 4 == 3 ? 0 : (float)(k == 2 ? 0.3 : 3e-5) * (float)unit((uint64_t)(i + 31 * k));
            }
            fai_tets_free(fast);
            fai_tets_free(plain);
            fai_svd_memo_free(memo[0]);
            fai_svd_memo_free(memo[1]);
            fai_arena_free(b.arena);
        }
}

static void threads_do_not_matter(void **state) {
    (void)state;
    FaError err = {0};
    Body b = body_new(6000, true, 2, 8);
    FaTets *t;
    CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
    float *g = FA_PUSH(b.arena, 4 * (size_t)b.e.nnode, float);
    int before = fa_threads();
    double first = 0;
    for (int n = 1; n <= 8; n++) {
        FaSvdMemo *memo;
        fa_threads_set(n);
        CHECK_OK(fai_svd_memo_new(b.e.ntet, &memo, &err), &err);
        double e =
            evaluate(&b, t, true, NULL, 0, 0, n == 1 ? g : b.g) + evaluate(&b, t, false, memo, 0.01f, 0.1f, NULL);
        if (n == 1)
            first = e;
        else
            assert_memory_equal(g, b.g, 4 * (size_t)b.e.nnode * sizeof *g);
        assert_memory_equal(&e, &first, sizeof e);
        fai_svd_memo_free(memo);
    }
    fa_threads_set(before);
    fai_tets_free(t);
    fai_arena_free(b.arena);
}

// The memo's energy: with thresholds of 0 the exact one but for rounding, with larger ones near it; and it counts.
static void memo_is_near_the_exact_energy(void **state) {
    (void)state;
    FaError err = {0};
    Body b = body_new(1000, false, 2, 44);
    FaTets *t;
    FaSvdMemo *memo;
    FaSvdShares shares;
    CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
    CHECK_OK(fai_svd_memo_new(b.e.ntet, &memo, &err), &err);
    double exact = evaluate(&b, t, false, NULL, 0, 0, NULL);
    double e = fai_tets_eval(t, NULL, b.u, false, memo, 1e-4f, 0.05f, &shares);
    assert_int_equal(shares.full, b.e.ntet);
    CHECK_NEAR(e / exact, 1, 2e-6);
    for (int i = 0; i < 4 * b.e.nnode; i++) b.u[i] += i % 4 == 3 ? 0 : (float)(2e-6 * unit((uint64_t)i));
    exact = evaluate(&b, t, false, NULL, 0, 0, NULL);
    e = fai_tets_eval(t, NULL, b.u, true, memo, 1e-4f, 0.05f, &shares);
    print_message("memo: %d kept, %d expanded, %d renewed, energy off by %.2g\n", shares.reused, shares.taylor,
                  shares.full, e / exact - 1);
    assert_true(shares.taylor > b.e.ntet / 2 && shares.reused + shares.taylor + shares.full == b.e.ntet);
    CHECK_NEAR(e / exact, 1, 1e-5);
    fai_svd_memo_free(memo);
    fai_tets_free(t);
    fai_arena_free(b.arena);
}

static void whatever_happens_is_finite(void **state) {
    (void)state;
    FaError err = {0};
    Body b = body_new(96, false, 2, 12);
    FaTets *t;
    CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
    for (int turn = 0; turn < 2; turn++)
        for (int how = 0; how < 9; how++) {
            static const double diagonal[][3] = {{0, 0, 0},      {1, 0, 0},       {1, 1, 0},
                                                 {-1, -1, -1},   {1, 1, -1},      {3, 3, 3},
                                                 {100, 1, 0.01}, {1e4, 1e4, 1e4}, {1e-9, -1e-9, 2}};
            for (int i = 0; i < b.e.nnode; i++)
                for (int k = 0; k < 3; k++) b.u[4 * i + k] = (float)((diagonal[how][k] - 1) * b.e.x0[3 * i + k]);
            double e = evaluate(&b, t, turn, NULL, 0, 0, b.g), want = reference(&b, turn);
            assert_true(isfinite(e) && e > 0);
            CHECK_NEAR(e / want, 1, 1e-4);
            for (int i = 0; i < 4 * b.e.nnode; i++) assert_true(isfinite(b.g[i]));
        }
    fai_tets_free(t);
    fai_arena_free(b.arena);
}

// --- the volume without a decomposition ---------------------------------------------------------------------------

// Tets whose Dm is the identity: the gradients of nodes 1..3 are the columns of F - P, times the weight of 1.
static Body body_of_volumes(int ntet) {
    Body b = body_new(ntet, false, 1, 4711);
    for (int i = 0; i < ntet; i++) {
        for (int k = 0; k < 12; k++) b.e.x0[12 * i + k] = k / 3 == k % 3 + 1;
        b.e.tet_strain[i] = 0, b.e.tet_volume[i] = 1;
    }
    return b;
}

static void set_gradient(Body *b, int i, const double f[9]) {
    for (int k = 0; k < 12; k++)
        b->u[16 * i + k / 3 * 4 + k % 3] = k < 3 ? 0 : (float)(f[3 * (k % 3) + k / 3 - 1] - (k % 3 == k / 3 - 1));
}

// Values of a shape of product 1: how 0 a ball, 1 long, 2 flat, else random, uneven by up to exp(spread).
static void shape_values(uint64_t at, int how, double spread, double s[3]) {
    double a = spread * unit(at), c = spread * unit(at + 1);
    s[0] = how == 0 ? 1 : exp(how == 1 ? 2 * fabs(a) : how == 2 ? fabs(a) : a);
    s[1] = how == 0 ? 1 : exp(how == 1 ? -fabs(a) : how == 2 ? fabs(a) : c);
    s[2] = 1 / (s[0] * s[1]);
}

// Against fai_volume_closest for all kinds of shapes, from the target itself to far out of the range of the quick
// branch, densely about its ends (a quarter and twice the volume) and where values are equal.
static void volumes_agree_with_the_closest(void **state) {
    (void)state;
    static const double ends[] = {1,     0.28,   0.2799, 0.2801, 0.4,   1.6,     1.989,
                                  1.991, 1.9999, 2,      0.05,   1.001, 1.00001, 0.9999};
    FaError err = {0};
    enum { N = 4000 };
    Body b = body_of_volumes(N);
    FaTets *t;
    CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
    for (int pass = 0; pass < 4; pass++) {
        bool posed = pass % 2, far = pass >= 2;
        double worst = 0, worst_energy = 0;
        for (int i = 0; i < N; i++) {
            uint64_t at = 64 * (uint64_t)i + (uint64_t)posed;
            double ratio = i % 3 == 0   ? ends[i / 3 % 14]
                           : i % 3 == 1 ? 1 + 0.1 * unit(at + 9)
                                        : 0.1 + 1.9 * fai_random_unit(6, at);
            if (far) ratio = 2 + 7 * fai_random_unit(6, at);
            double s[3], u[9], v[9], f[9], rest[9], d = posed ? 0.3 + 1.5 * fai_random_unit(7, at) : 1;
            if (posed && i % 11 == 5) d = i % 2 ? 0.045 : 0.055; // about the least volume
            shape_values(at, i % 5, i % 7 == 0 ? 0.8 : 0.3, s);
            for (int k = 0; k < 3; k++) s[k] *= cbrt(ratio * d);
            random_rotation(at + 20, u);
            random_rotation(at + 30, v);
            compose(u, s, i % 2 ? u : v, f);
            set_gradient(&b, i, f);
            shape_values(at + 40, 3, 0.2, s);
            for (int k = 0; k < 3; k++) s[k] *= cbrt(d);
            if (i % 11 == 6) s[1] *= -1; // a rest turned inside out
            compose(v, s, v, rest);
            for (int k = 0; k < 9; k++) b.rest[k * b.frame.tet_stride + i] = (float)rest[k];
        }
        double want = reference(&b, posed), e = evaluate(&b, t, posed, NULL, 0, 0, b.g), size = 0;
        // beyond twice the volume the closest one may be either of two: as far, but elsewhere
        for (int i = 0; i < N && !far; i++) {
            bool off_here = posed && (i % 11 == 6 || (i % 11 == 5 && i % 2));
            for (int k = 0; off_here && k < 16; k++) assert_true(b.g[16 * i + k] == 0);
            double f[9], s[3], u[9], v[9], off = 0, length = 0;
            for (int k = 0; k < 9; k++) f[k] = (double)b.u[16 * i + 4 * (k % 3 + 1) + k / 3] + (k % 4 == 0);
            fai_m3_svd(f, u, s, v);
            for (int k = 3; k < 12; k++) {
                double w = b.want[12 * i + k];
                off = fmax(off, fabs((double)b.g[16 * i + k / 3 * 4 + k % 3] - w)), length = fmax(length, fabs(w));
            }
            size = fmax(size, length);
            // F has 6e-8 of rounding, which a thin shape's own stiffness, as d / x^2, makes larger
            double stiff = fmax(1, s[0] / s[2]);
            if (off > 1e-6 * stiff)
                fail_msg("tet %d, values %g %g %g: off by %g of %g", i, s[0], s[1], s[2], off, length);
            worst = fmax(worst, off / stiff);
        }
        worst_energy = fabs(e / want - 1);
        print_message("posed %d far %d: F - P off by %.2g of %.2g, energy by %.2g\n", posed, far, worst, size,
                      worst_energy);
        assert_true((far || size > 0.1) && worst_energy < 2e-6);
    }
    fai_tets_free(t);
    fai_arena_free(b.arena);
}

// F - R F_g for all sizes of strain, so that the rotation's iteration ends after any number of its steps.
static void rotations_agree_with_double(void **state) {
    (void)state;
    FaError err = {0};
    enum { N = 4000 };
    Body b = body_of_volumes(N);
    FaTets *t;
    for (int i = 0; i < N; i++) {
        uint64_t at = 64 * (uint64_t)i;
        double s[3], u[9], v[9], f[9], spread = exp(-7 * fai_random_unit(8, at));
        b.e.tet_strain[i] = 1, b.e.tet_volume[i] = 0;
        shape_values(at, i % 5, spread, s);
        for (int k = 0; k < 3; k++) s[k] *= exp(0.5 * spread * unit(at + 3));
        random_rotation(at + 20, u);
        random_rotation(at + 30, v);
        compose(u, s, i % 2 ? u : v, f);
        set_gradient(&b, i, f);
        shape_values(at + 40, 3, 0.2, s);
        compose(v, s, v, f);
        for (int k = 0; k < 9; k++) b.rest[k * b.frame.tet_stride + i] = (float)f[k];
    }
    CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
    for (int posed = 0; posed < 2; posed++) {
        double want = reference(&b, posed), e = evaluate(&b, t, posed, NULL, 0, 0, b.g), worst = 0;
        for (int i = 0; i < N; i++)
            for (int k = 3; k < 12; k++)
                worst = fmax(worst, fabs((double)b.g[16 * i + k / 3 * 4 + k % 3] - b.want[12 * i + k]));
        print_message("posed %d: F - R F_g off by %.2g, energy by %.2g\n", posed, worst, fabs(e / want - 1));
        assert_true(worst < 1.5e-6);
        CHECK_NEAR(e / want, 1, 1e-6);
    }
    fai_tets_free(t);
    fai_arena_free(b.arena);
}

// F = F_g has no force of volume, to the bit; and a volume off by little one of as many digits.
static void posed_volume_rests_to_the_bit(void **state) {
    (void)state;
    FaError err = {0};
    enum { N = 500 };
    Body b = body_of_volumes(N);
    FaTets *t;
    int clamped;
    CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
    for (int i = 0; i < N; i++) {
        double s[3], u[9], v[9], f[9];
        shape_values(64 * (uint64_t)i, 3, 0.4, s);
        random_rotation(64 * (uint64_t)i + 8, u);
        random_rotation(64 * (uint64_t)i + 16, v);
        compose(u, s, v, f);
        set_gradient(&b, i, f);
    }
    fai_tets_pose(t, b.u, -1, b.rest, &clamped);
    assert_true(evaluate(&b, t, true, NULL, 0, 0, b.g) == 0);
    for (int i = 0; i < 4 * b.e.nnode; i++) assert_true(b.g[i] == 0);
    for (int i = 0; i < N; i++) { // without a posed rest
        double f[9] = {1 + 1e-6 * unit(9 * (uint64_t)i), 1e-6 * unit(9 * (uint64_t)i + 1), 0, 0, 1, 0, 0, 0, 1 + 3e-6};
        set_gradient(&b, i, f);
    }
    double want = reference(&b, false), e = evaluate(&b, t, false, NULL, 0, 0, b.g);
    CHECK_NEAR(e / want, 1, 1e-4);
    fai_tets_free(t);
    fai_arena_free(b.arena);
}

// --- posed rest ---------------------------------------------------------------------------------------------------

static void posed_rest_is_where_energies_vanish(void **state) {
    (void)state;
    FaError err = {0};
    Body b = body_new(203, false, 2, 66);
    FaTets *t;
    int clamped = -1, want = 0;
    CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
    double moved = evaluate(&b, t, false, NULL, 0, 0, NULL);
    fai_tets_pose(t, b.u, 0.2f, b.rest, &clamped);
    for (int i = 0; i < b.e.ntet; i++) want += i % 4 == 3; // those turned inside out
    assert_int_equal(clamped, want);
    b.frame.tet_rest = b.rest;
    double left = 0;
    for (int i = 0; i < b.e.ntet; i++) {
        double f[9], u[9], s[3], v[9], inverse[9], x[4][3];
        for (int k = 0; k < 9; k++) f[k] = (double)b.rest[k * b.frame.tet_stride + i];
        fai_m3_svd(f, u, s, v);
        assert_true(s[2] > (i % 4 == 3 ? 0.2 - 1e-6 : 0.3));
        if (i % 4 == 3) CHECK_NEAR(s[2], 0.2, 1e-6);
        fai_tet_inverse(b.e.x0, b.e.tet[i], inverse);
        for (int k = 0; k < 12; k++) x[k / 3][k % 3] = (double)b.u[4 * b.e.tet[i][k / 3] + k % 3];
        double e = fai_tet_energy_ref(inverse, f, 1, 1, (const double(*)[3])x, NULL);
        if (i % 4 == 3)
            left += e;
        else
            assert_true(e < 1e-10);
    }
    assert_true(left > 0.01);
    // without the clamped ones nothing is left, and there is next to no force
    for (int i = 3; i < b.e.ntet; i += 4) b.e.tet_strain[i] = b.e.tet_volume[i] = 0;
    fai_tets_free(t);
    CHECK_OK(fai_tets_new(&b.e, &t, &err), &err);
    double e = evaluate(&b, t, true, NULL, 0, 0, b.g);
    print_message("posed: %.3g J of %.3g J left\n", e, moved);
    assert_true(e < 1e-9 * moved);
    fai_tets_free(t);
    fai_arena_free(b.arena);
}

static void bad_bodies_are_refused(void **state) {
    (void)state;
    Body b = body_new(20, false, 2, 5);
    FaTets *t;
    FaError err = {0};
    b.e.tet[7][2] = b.e.nnode;
    assert_int_equal(fai_tets_new(&b.e, &t, &err), FA_E_MESH);
    assert_true(!t && strstr(err.place, "tet 7"));
    b.e.tet[7][2] = b.e.tet[7][1];
    memset(&err, 0, sizeof err);
    assert_int_equal(fai_tets_new(&b.e, &t, &err), FA_E_MESH);
    b.e.tet[7][2] = 4 * 7 + 2;
    for (int k = 1; k < 100; k++) {
        memset(&err, 0, sizeof err);
        long alive = test_alloc_balance();
        test_fail_alloc(k);
        FaCode rc = fai_tets_new(&b.e, &t, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        if (!failed) {
            CHECK_OK(rc, &err);
            fai_tets_free(t);
            assert_true(k > 2);
            break;
        }
        assert_int_equal(rc, FA_E_MEMORY);
        assert_int_equal(test_alloc_balance(), alive);
    }
    fai_tets_free(NULL);
    fai_arena_free(b.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_the_differences),
        cmocka_unit_test(rigid_motion_changes_nothing),
        cmocka_unit_test(volume_projection_is_the_closest),
        cmocka_unit_test(floats_agree_with_double),
        cmocka_unit_test(rest_has_no_force_to_the_bit),
        cmocka_unit_test(small_strains_keep_their_digits),
        cmocka_unit_test(twins_agree_to_the_bit),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(memo_is_near_the_exact_energy),
        cmocka_unit_test(whatever_happens_is_finite),
        cmocka_unit_test(posed_rest_is_where_energies_vanish),
        cmocka_unit_test(bad_bodies_are_refused),
        cmocka_unit_test(volumes_agree_with_the_closest),
        cmocka_unit_test(posed_volume_rests_to_the_bit),
        cmocka_unit_test(rotations_agree_with_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
