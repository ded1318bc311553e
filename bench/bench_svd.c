// bench svd: ns per 3x3 decomposition, ours and Eigen's, on matrices drawn as thesis 001 section 6.3.4 does; the data
// of its figures 6.4 and 6.5; and what the thresholds of section 6.3.3 make of typical changes.
//
// The cases take turns, so that whatever else the machine does hits all alike, on one thread. Times are of all
// matrices, scaled where a call takes fewer.
// accuracy is the largest error of U s V' = A and of the values, relative to the largest value, and of U'U = V'V = 1
// (polar: of R'R = 1 and of the trace of R'A).
#include "bench/bench_list.h"
#include "bench/peer_svd.h"
#include "math/mat3.h"
#include "math/svd.h"

#include <math.h>

enum { MATRICES = 45000, STRIDE = 45000, ROUNDS = 24, TURN = 8, MOST_CASES = 8, SAMPLES = 4096 };

typedef struct Bench {
    float *a, *moved; // matrices, and the same a little later                 (9 x STRIDE each)
    FaSvd3 out;
    float *r;        // (9 x STRIDE)
    FaSvdMemo *memo; // about a
    void *base;
    double *ms[MOST_CASES]; // (ROUNDS x TURN, or SAMPLES)
    int taken[MOST_CASES];
} Bench;

// --- drawing ------------------------------------------------------------------------------------------------------

// Proper rotations u and v, values of mean 1 and deviation 0.5 in our order: the sign of the product on the smallest.
typedef struct Draw {
    double u[9], s[3], v[9];
} Draw;

static void euler(const double t[3], double r[9]) { // eq. 6.12
    double a[9] = {1, 0, 0, 0, cos(t[0]), sin(t[0]), 0, -sin(t[0]), cos(t[0])};
    double b[9] = {cos(t[1]), 0, -sin(t[1]), 0, 1, 0, sin(t[1]), 0, cos(t[1])};
    double c[9] = {cos(t[2]), sin(t[2]), 0, -sin(t[2]), cos(t[2]), 0, 0, 0, 1};
    fai_m3_mul(a, b, r);
    fai_m3_mul(r, c, r);
}

static Draw draw(uint64_t seed, uint64_t at) {
    Draw d;
    double t[3], w[3], sign = 1;
    for (uint64_t k = 0; k < 3; k++) {
        t[k] = 2 * 3.141592653589793 * fai_random_unit(seed, 16 * at + k);
        w[k] = 2 * 3.141592653589793 * fai_random_unit(seed, 16 * at + 4 + k);
        d.s[k] = 1 + 0.5 * fai_random_normal(seed + 1, 16 * at + k);
        sign *= d.s[k] < 0 ? -1 : 1;
        d.s[k] = fabs(d.s[k]);
    }
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < 2; k++)
            if (d.s[k] < d.s[k + 1]) {
                double x = d.s[k];
                d.s[k] = d.s[k + 1], d.s[k + 1] = x;
            }
    d.s[2] *= sign;
    euler(t, d.u);
    euler(w, d.v);
    return d;
}

static Draw disturb(const Draw *d, double angle, double diagonal, uint64_t seed, uint64_t at) {
    Draw e = *d;
    double t[3], w[3], r[9];
    for (uint64_t k = 0; k < 3; k++) {
        t[k] = angle * fai_random_normal(seed, 16 * at + k);
        w[k] = angle * fai_random_normal(seed, 16 * at + 4 + k);
        e.s[k] += diagonal * fai_random_normal(seed, 16 * at + 8 + k);
    }
    euler(t, r);
    fai_m3_mul(e.u, r, e.u);
    euler(w, r);
    fai_m3_mul(e.v, r, e.v);
    return e;
}

static void product(const double u[9], const double s[3], const double v[9], double a[9]) {
    double us[9], vt[9];
    for (int e = 0; e < 9; e++) us[e] = u[e] * s[e % 3];
    fai_m3_transpose(v, vt);
    fai_m3_mul(us, vt, a);
}

static void put(float *rows, int i, const double a[9]) {
    for (int e = 0; e < 9; e++) rows[e * STRIDE + i] = (float)a[e];
}

static void get(const float *rows, int i, int n, double *a) {
    for (int e = 0; e < n; e++) a[e] = (double)rows[e * STRIDE + i];
}

// --- cases --------------------------------------------------------------------------------------------------------

typedef void RunFn(Bench *b, int n, const float *a);

static void run_exact(Bench *b, int n, const float *a) { fai_svd3_many(n, a, STRIDE, &b->out); }
static void run_polar(Bench *b, int n, const float *a) { fai_polar3_many(n, a, STRIDE, b->r); }
static void run_taylor(Bench *b, int n, const float *a) {
    fai_svd_memo_update(b->memo, 0, n, a, STRIDE, 0, 1e9f, &b->out);
}
static void run_warm(Bench *b, int n, const float *a) { fai_svd_memo_update(b->memo, 0, n, a, STRIDE, 0, 0, &b->out); }
static void run_ref(Bench *b, int n, const float *a) { fai_svd3_many_ref(n, a, STRIDE, &b->out); }
#ifdef FA_HAVE_EIGEN_PEER
static void run_eigen(Bench *b, int n, const float *a) { fai_peer_svd(n, a, STRIDE, b->out.u, b->out.s, b->out.v); }
#endif

static const struct {
    const char *name;
    RunFn *run;
    int n; // matrices per call: calls of a slow one should not last longer, or a busy machine would disturb it more
    const char *note;
} cases[] = {
    {"exact", run_exact, MATRICES, "one-sided Jacobi, proper rotations"},
    {"taylor", run_taylor, MATRICES,
     "thesis algorithm 4 about a memoised state, all expanded; its accuracy is that of tau1 = 0.1"},
    {"warm", run_warm, MATRICES, "exact, from the memoised state"},
    {"polar", run_polar, MATRICES, "the closest rotation only"},
    {"scalar", run_ref, MATRICES / 10, "exact, the scalar twin"},
#ifdef FA_HAVE_EIGEN_PEER
    {"eigen", run_eigen, MATRICES / 20, "Eigen JacobiSVD, float, full U and V"},
#endif
};
_Static_assert(FA_COUNT(cases) <= MOST_CASES, "room for the times");

static FaCode set_up(Bench *b, FaError *err) {
    size_t row = STRIDE;
    b->base = FA_NEW(48 * row + 16, float);
    bool room = b->base != NULL;
    for (int i = 0; i < MOST_CASES; i++) room &= (b->ms[i] = FA_NEW(FA_MAX(ROUNDS * TURN, SAMPLES), double)) != NULL;
    if (!room) return FA_FAIL_MEMORY(err);
    b->a = (float *)(((uintptr_t)b->base + 63) / 64 * 64);
    b->moved = b->a + 9 * row;
    b->r = b->moved + 9 * row;
    b->out = (FaSvd3){b->r + 9 * row, b->r + 18 * row, b->r + 21 * row, STRIDE};
    FA_TRY(fai_svd_memo_new(STRIDE, &b->memo, err));
    for (int i = 0; i < MATRICES; i++) {
        double a[9];
        Draw d = draw(1, (uint64_t)i), e = disturb(&d, 1e-3, 1e-3, 3, (uint64_t)i);
        product(d.u, d.s, d.v, a);
        put(b->a, i, a);
        product(e.u, e.s, e.v, a);
        put(b->moved, i, a);
    }
    return FA_OK;
}

static void tear_down(Bench *b) {
    fai_svd_memo_free(b->memo);
    fa_free(b->base);
    for (int i = 0; i < MOST_CASES; i++) fa_free(b->ms[i]);
}

// --- errors -------------------------------------------------------------------------------------------------------

static double off_identity(const double m[9]) {
    double t[9], p[9], worst = 0;
    fai_m3_transpose(m, t);
    fai_m3_mul(t, m, p);
    for (int e = 0; e < 9; e++) worst = fmax(worst, fabs(p[e] - (e % 4 == 0)));
    return worst;
}

static double error_at(const Bench *b, const float *rows, int i, bool polar) {
    double a[9], u[9], s[3], v[9], tu[9], ts[3], tv[9], back[9];
    get(rows, i, 9, a);
    fai_m3_svd(a, tu, ts, tv);
    if (polar) {
        double trace = 0;
        get(b->r, i, 9, u);
        for (int e = 0; e < 9; e++) trace += u[e] * a[e];
        return fmax(off_identity(u), fabs(trace - ts[0] - ts[1] - ts[2]) / ts[0]);
    }
    get(b->out.u, i, 9, u);
    get(b->out.s, i, 3, s);
    get(b->out.v, i, 9, v);
    product(u, s, v, back);
    double worst = fmax(off_identity(u), off_identity(v));
    for (int e = 0; e < 9; e++) worst = fmax(worst, fabs(back[e] - a[e]) / ts[0]);
    for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(fabs(s[k]) - fabs(ts[k])) / ts[0]); // Eigen has no signs
    return worst;
}

static double accuracy(Bench *b, RunFn *run) {
    double worst = 0;
    fai_svd_memo_restart(b->memo);
    run_warm(b, MATRICES, b->a);
    const float *rows = run == run_taylor ? b->moved : b->a;
    if (run == run_taylor)
        fai_svd_memo_update(b->memo, 0, MATRICES, rows, STRIDE, 0, 0.1f, &b->out);
    else
        run(b, MATRICES, rows);
    for (int i = 0; i < MATRICES; i++) worst = fmax(worst, error_at(b, rows, i, run == run_polar));
    return worst;
}

// --- figures 6.4 and 6.5 ------------------------------------------------------------------------------------------

// Angle of the rotation between two frames whose axes may point either way.
static double angle_between(const double a[9], const double b[9]) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        double dot = a[k] * b[k] + a[3 + k] * b[3 + k] + a[6 + k] * b[6 + k], sign = dot < 0 ? -1 : 1;
        for (int e = k; e < 9; e += 3) sum += (sign * a[e] - b[e]) * (sign * a[e] - b[e]);
    }
    return 2 * asin(fmin(sqrt(sum / 8), 1));
}

// One point: SAMPLES matrices disturbed by these deviations, expanded about where they were. Medians: among so many
// there are some with nearly equal values, where the expansion knows nothing and a mean would show nothing else.
static void point(Bench *b, double angle, double diagonal, FaJsonWriter *w) {
    static const char *const names[] = {"distance", "error", "angle_kept", "angle_expanded"};
    double *got[4] = {b->ms[0], b->ms[1], b->ms[2], b->ms[3]}; // reported by now
    fai_svd_memo_restart(b->memo);
    fai_svd_memo_update(b->memo, 0, SAMPLES, b->a, STRIDE, 0, 0, &b->out);
    for (int i = 0; i < SAMPLES; i++) {
        double a[9];
        Draw d = draw(1, (uint64_t)i), e = disturb(&d, angle, diagonal, 5, (uint64_t)i);
        product(e.u, e.s, e.v, a);
        put(b->moved, i, a);
    }
    fai_svd_memo_update(b->memo, 0, SAMPLES, b->moved, STRIDE, 0, 1e9f, &b->out);
    for (int i = 0; i < SAMPLES; i++) {
        double a[9], m[9], u[9], s[3], v[9], back[9], d0 = 0, d1 = 0;
        Draw d = draw(1, (uint64_t)i), e = disturb(&d, angle, diagonal, 5, (uint64_t)i);
        get(b->a, i, 9, a);
        get(b->moved, i, 9, m);
        get(b->out.u, i, 9, u);
        get(b->out.s, i, 3, s);
        get(b->out.v, i, 9, v);
        product(u, s, v, back);
        for (int k = 0; k < 9; k++) d0 += (m[k] - a[k]) * (m[k] - a[k]), d1 += (m[k] - back[k]) * (m[k] - back[k]);
        got[0][i] = sqrt(d0);
        got[1][i] = sqrt(d1);
        got[2][i] = (angle_between(d.u, e.u) + angle_between(d.v, e.v)) / 2;
        got[3][i] = (angle_between(u, e.u) + angle_between(v, e.v)) / 2;
    }
    fai_jw_open(w, NULL, '{');
    fai_jw_num(w, "sigma_angle", angle);
    fai_jw_num(w, "sigma_diag", diagonal);
    for (int k = 0; k < 4; k++) fai_jw_num(w, names[k], fai_bench_times(got[k], SAMPLES).med);
    fai_jw_close(w);
}

static void figures(Bench *b, FaJsonWriter *w) {
    static const double angles[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2},
                        diagonals[] = {0, 0.01, 0.05, 0.1};
    fai_jw_open(w, "figure_6_4", '[');
    for (int k = 0; k < FA_COUNT(diagonals); k++)
        for (int i = 0; i < FA_COUNT(angles); i++) point(b, angles[i], diagonals[k], w);
    fai_jw_close(w);
    fai_jw_open(w, "figure_6_5", '[');
    for (int i = 0; i < FA_COUNT(angles); i++) point(b, angles[i], angles[i], w);
    fai_jw_close(w);
}

// What eq. 6.14 makes of changes of several sizes against tau0 = 0.01 and tau1 = 0.1.
static void shares(Bench *b, FaJsonWriter *w) {
    fai_jw_open(w, "shares", '[');
    static const double sizes[] = {1e-4, 1e-3, 1e-2, 1e-1};
    for (int k = 0; k < FA_COUNT(sizes); k++) {
        const double size = sizes[k];
        fai_svd_memo_restart(b->memo);
        fai_svd_memo_update(b->memo, 0, SAMPLES, b->a, STRIDE, 0, 0, &b->out);
        for (int i = 0; i < SAMPLES; i++) {
            double a[9];
            Draw d = draw(1, (uint64_t)i), e = disturb(&d, size, size, 7, (uint64_t)i);
            product(e.u, e.s, e.v, a);
            put(b->moved, i, a);
        }
        FaSvdShares s = fai_svd_memo_update(b->memo, 0, SAMPLES, b->moved, STRIDE, 0.01f, 0.1f, &b->out);
        fai_jw_open(w, NULL, '{');
        fai_jw_num(w, "sigma", round(1e6 * size) / 1e6);
        fai_jw_num(w, "reused", (double)s.reused / SAMPLES);
        fai_jw_num(w, "taylor", (double)s.taylor / SAMPLES);
        fai_jw_num(w, "full", (double)s.full / SAMPLES);
        fai_jw_close(w);
    }
    fai_jw_close(w);
}

// --- measuring ----------------------------------------------------------------------------------------------------

static void take_turn(Bench *b, int i) {
    fai_svd_memo_restart(b->memo);
    if (cases[i].run == run_taylor || cases[i].run == run_warm)
        run_warm(b, MATRICES, b->a);
    else
        cases[i].run(b, cases[i].n, b->moved);
    for (int k = 0; k < TURN; k++) {
        // a kept state would be no expansion and no decomposition: the memo always sees what it was not made of
        const float *a = cases[i].run == run_taylor || k % 2 == 0 ? b->moved : b->a;
        double t = fai_seconds();
        cases[i].run(b, cases[i].n, a);
        b->ms[i][b->taken[i]++] = 1e3 * (fai_seconds() - t) * MATRICES / cases[i].n;
    }
}

static double best_of_round(const Bench *b, int i, int round) {
    double best = INFINITY;
    for (int k = 0; k < TURN; k++) best = fmin(best, b->ms[i][round * TURN + k]);
    return best;
}

static void report(Bench *b, FaJsonWriter *w) {
    // before the rows, which sort the times
    double eigen[ROUNDS], ours = INFINITY;
    int peer = FA_COUNT(cases) - 1;
    bool have = !strcmp(cases[peer].name, "eigen");
    for (int r = 0; r < ROUNDS; r++) eigen[r] = best_of_round(b, peer, r) / best_of_round(b, 0, r);
    double ratio = have ? fai_bench_times(eigen, ROUNDS).med : (double)NAN;
    fai_jw_open(w, "rows", '[');
    for (int i = 0; i < FA_COUNT(cases); i++) {
        FaBenchTimes times = fai_bench_times(b->ms[i], b->taken[i]);
        FaText note = {0};
        fai_text_double(&note, round(1e8 * times.min / MATRICES) / 100);
        fai_text_printf(&note, " ns per matrix at best; %s", cases[i].note);
        if (i == 0) ours = times.min;
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "case", cases[i].name);
        fai_jw_int(w, "threads", 1);
        fai_jw_num(w, "ms_med", times.med);
        fai_jw_num(w, "ms_min", times.min);
        fai_jw_num(w, "accuracy", accuracy(b, cases[i].run));
        fai_jw_num(w, "ns", 1e6 * times.med / MATRICES);
        fai_jw_num(w, "ns_min", 1e6 * times.min / MATRICES);
        fai_jw_str(w, "note", note.data ? note.data : cases[i].note);
        fai_jw_close(w);
        fai_text_free(&note);
    }
    fai_jw_close(w);
    fai_jw_int(w, "matrices", MATRICES);
    if (!have) fai_jw_str(w, "missing", "eigen: built without a C++ compiler or Eigen 3 (libeigen3-dev)");
    shares(b, w);
    figures(b, w);
    fai_jw_open(w, "ratios", '{');
    if (have) fai_jw_num(w, "eigen", ratio);
    fai_jw_num(w, "target_25ns", 25 / (1e6 * ours / MATRICES));
    fai_jw_close(w);
}

FaCode fai_bench_svd(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    (void)rig, (void)clip;
    Bench b = {0};
    FaCode rc = set_up(&b, err);
    for (int round = 0; rc >= 0 && round < ROUNDS; round++)
        for (int i = 0; i < FA_COUNT(cases); i++) take_turn(&b, i);
    if (rc >= 0) report(&b, w);
    tear_down(&b);
    return rc;
}
