#include "muscle/settle.h"

#include "math/dense.h"
#include "math/mat3.h"

#include <math.h>

enum { ROUNDS = 18, HALVES = 4 };
static const int FINE[3] = {24, 8, 4}, COARSE[3] = {14, 6, 3}; // samples along, across, inwards
static const double REACH = 20;                                // mm: farther flesh is another part's
static const double FARTHEST = 4;                              // mm of a sample in one round
static const double INSET = 0.3;                               // mm below the surface, and so much of its thickness:
static const double DEEPER = 0.6;
static const double STAY = 0.15; // weight of what is in flesh
static const double SMOOTH = 1;  // of second differences of how control points move, and so much of that:
static const double COUPLED = 0.5;
static const double FOLDED = 0.008;          // most that may be inside out
static const double LEAST = 0.3, MOST = 1.3; // of its volume
static const double ENOUGH = 0.995;
static const double END = 0.06, ANCHOR = 3; // of its length that is held by bone, and the weight of that

double fai_muscle_folded(const FaBspline *s) {
    double folded;
    fai_bspline_volume(s, &folded);
    return fmin(folded, 1 - folded);
}

static void sample_uvw(const int n[3], int i, double uvw[3]) {
    uvw[0] = (i % n[0] + 0.5) / n[0], uvw[1] = (i / n[0] % n[1] + 0.5) / n[1],
    uvw[2] = (i / (n[0] * n[1]) + 0.5) / n[2];
}

static double share_of(const FaFleshInside *flesh, const FaBspline *s, const int n[3]) {
    double all = 0, in = 0;
    for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
        double uvw[3], x[3], J[9];
        sample_uvw(n, i, uvw);
        fai_bspline_at(s, uvw, x, J);
        double size = fabs(fai_m3_det(J));
        all += size;
        if (fai_flesh_has(flesh, x)) in += size;
    }
    return all > 0 ? in / all : 0;
}

double fai_muscle_share(const FaFleshInside *flesh, const FaBspline *s) { return share_of(flesh, s, FINE); }

// --- one round ----------------------------------------------------------------------------------------------------

size_t fai_muscle_settle_work(const FaBspline *s) {
    size_t n = (size_t)fai_bspline_points(s);
    return n * n + 9 * n; // matrix, right-hand sides, the best and the last lattice
}

// Where a sample should go. Out of bone: to its surface, the part nearest to the skin farthest; out of the skin the
// other way round, so that both sides of the muscle do not end at one place.
static double way_of(const FaFleshInside *flesh, double unit, const double uvw[3], const double x[3], const double J[9],
                     double d[3]) {
    double on[3], deep[3] = {J[2], J[5], J[8]};
    fai_v3_set(d, 0, 0, 0);
    if (fai_flesh_has(flesh, x)) return STAY;
    double far = fai_flesh_near(flesh, x, REACH * unit, on);
    if (!isfinite(far)) return 0;
    fai_v3_sub(on, x, d);
    double thick = fai_v3_norm(deep), along = fai_v3_dot(d, deep), lean = far * thick > 0 ? along / (far * thick) : 0;
    double inset = INSET * unit + DEEPER * thick * fabs(lean) * (lean < 0 ? 1 - uvw[2] : uvw[2]);
    if (far > 0) fai_v3_scale((far + inset) / far, d, d);
    double size = fai_v3_norm(d);
    if (size > FARTHEST * unit) fai_v3_scale(FARTHEST * unit / size, d, d);
    return 1;
}

// held: its ends are on bone, and stay there.
static bool move(const FaFleshInside *flesh, double unit, const bool held[2], double smooth, FaBspline *s, double *a,
                 double *rhs) {
    size_t n = (size_t)fai_bspline_points(s);
    memset(a, 0, n * n * sizeof *a);
    memset(rhs, 0, 3 * n * sizeof *rhs);
    for (int axis = 0; axis < 2; axis++) fai_bspline_bends(s, axis, smooth, a);
    fai_bspline_couples(s, COUPLED * smooth, a);
    for (size_t i = 0; i < n; i++) a[n * i + i] += 0.05;
    for (int i = 0; i < COARSE[0] * COARSE[1] * COARSE[2]; i++) {
        double uvw[3], x[3], J[9], d[3], b[FA_BSPLINE_WEIGHTS];
        int at[FA_BSPLINE_WEIGHTS];
        sample_uvw(COARSE, i, uvw);
        fai_bspline_at(s, uvw, x, J);
        double w = way_of(flesh, unit, uvw, x, J, d);
        if ((held[0] && uvw[0] < END) || (held[1] && uvw[0] > 1 - END)) w = ANCHOR, fai_v3_set(d, 0, 0, 0);
        if (!(w > 0)) continue;
        int nb = fai_bspline_weights(s, uvw, at, b);
        for (int p = 0; p < nb; p++) {
            double *row = a + n * (size_t)at[p];
            for (int q = 0; q < nb; q++) row[at[q]] += w * b[p] * b[q];
            for (size_t k = 0; k < 3; k++) rhs[n * k + (size_t)at[p]] += w * b[p] * d[k];
        }
    }
    if (!fai_dense_cholesky((int)n, (int)n, a)) return false;
    for (size_t k = 0; k < 3; k++) {
        fai_dense_forward((int)n, (int)n, a, rhs + n * k);
        fai_dense_backward((int)n, (int)n, a, rhs + n * k);
        for (size_t i = 0; i < n; i++) s->c[3 * i + k] += rhs[n * k + i];
    }
    return true;
}

// Back towards where it was until it is sound. False: it never is.
static bool sound(FaBspline *s, const double *from, double volume, double folded) {
    size_t n = 3 * (size_t)fai_bspline_points(s);
    for (int tries = 0; tries < HALVES; tries++) {
        double now = fai_bspline_volume(s, NULL);
        if (fai_muscle_folded(s) <= folded && now >= LEAST * volume && now <= MOST * volume) return true;
        for (size_t i = 0; i < n; i++) s->c[i] = 0.5 * (s->c[i] + from[i]);
    }
    memcpy(s->c, from, n * sizeof(double));
    return false;
}

// --- entry --------------------------------------------------------------------------------------------------------

void fai_muscle_settle(const FaFleshInside *flesh, double unit, const bool held[2], FaBspline *s, double *work,
                       FaMuscleSettled *out) {
    size_t n = (size_t)fai_bspline_points(s), bytes = 3 * n * sizeof(double);
    double *rhs = work + n * n, *best = rhs + 3 * n, *last = best + 3 * n, smooth = SMOOTH;
    double volume = fai_bspline_volume(s, NULL), folded = fmax(FOLDED, fai_muscle_folded(s));
    double now = share_of(flesh, s, COARSE);
    *out = (FaMuscleSettled){.before = fai_muscle_share(flesh, s)};
    out->after = out->before;
    memcpy(best, s->c, bytes);
    for (int round = 0; round < ROUNDS && now < ENOUGH; round++) {
        memcpy(last, s->c, bytes);
        if (!move(flesh, unit, held, smooth, s, work, rhs)) break;
        smooth = sound(s, last, volume, folded) ? fmax(0.5 * smooth, SMOOTH) : 6 * smooth;
        double share = share_of(flesh, s, COARSE);
        if (share > now) now = share, memcpy(best, s->c, bytes);
    }
    memcpy(s->c, best, bytes);
    out->after = fai_muscle_share(flesh, s);
}
