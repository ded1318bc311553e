#include "muscle/settle.h"

#include "math/dense.h"
#include "math/mat3.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 18, EDGES = 40, HALVES = 4, SAMPLES = 14 * 6 * 3 };
static const int FINE[3] = {24, 8, 4}, COARSE[3] = {14, 6, 3}; // samples along, across, inwards
static const double EDGE = 0.03;                               // from its surface, of its size
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
static const double TOGETHER = 0.5;         // of the way to what is in flesh beside it, in one round
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

// The same, nearly out to its surface, so that what is moved in is in to its edges.
static void edge_uvw(int i, bool ring, double uvw[3]) {
    const int at[3] = {i % COARSE[0], i / COARSE[0] % COARSE[1], i / (COARSE[0] * COARSE[1])};
    for (int k = 0; k < 3; k++) uvw[k] = EDGE + (1 - 2 * EDGE) * at[k] / (COARSE[k] - 1);
    if (ring) uvw[0] = (at[0] + 0.5) / COARSE[0];
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

// What is in flesh, sample by sample.
static void find_in(const FaFleshInside *flesh, const FaBspline *s, double (*x)[3], bool *in) {
    for (int i = 0; i < SAMPLES; i++) {
        double uvw[3];
        edge_uvw(i, s->ring, uvw);
        fai_bspline_at(s, uvw, x[i], NULL);
        in[i] = fai_flesh_has(flesh, x[i]);
    }
}

// Towards the nearest sample of the same cross-section or the next ones that is in flesh: it becomes narrower there.
static double way_in(const double (*x)[3], const bool *in, int i, double d[3]) {
    double least = INFINITY, to[3];
    fai_v3_set(d, 0, 0, 0);
    if (in[i]) return STAY;
    for (int j = 0; j < SAMPLES; j++) {
        if (!in[j] || abs(i % COARSE[0] - j % COARSE[0]) > 1) continue;
        fai_v3_sub(x[j], x[i], to);
        double far = fai_v3_dot(to, to);
        if (far < least) least = far, fai_v3_scale(TOGETHER, to, d);
    }
    return isfinite(least) ? 1 : 0;
}

// To the nearest flesh; the same with its edges; together, since the nearest flesh may be the other lip's.
typedef enum Way { INNER, OUTER, GATHER } Way;

// held: its ends are on bone, and stay there.
static bool move(const FaFleshInside *flesh, double unit, const bool held[2], Way way, double smooth, FaBspline *s,
                 double *a, double *rhs) {
    double at_sample[SAMPLES][3];
    bool in[SAMPLES];
    size_t n = (size_t)fai_bspline_points(s);
    if (way == GATHER) find_in(flesh, s, at_sample, in);
    memset(a, 0, n * n * sizeof *a);
    memset(rhs, 0, 3 * n * sizeof *rhs);
    for (int axis = 0; axis < 2; axis++) fai_bspline_bends(s, axis, smooth, a);
    fai_bspline_couples(s, COUPLED * smooth, a);
    for (size_t i = 0; i < n; i++) a[n * i + i] += 0.05;
    for (int i = 0; i < COARSE[0] * COARSE[1] * COARSE[2]; i++) {
        double uvw[3], x[3], J[9], d[3], b[FA_BSPLINE_WEIGHTS];
        int at[FA_BSPLINE_WEIGHTS];
        if (way == INNER)
            sample_uvw(COARSE, i, uvw);
        else
            edge_uvw(i, s->ring, uvw);
        fai_bspline_at(s, uvw, x, J);
        double w = way == GATHER ? way_in((const double(*)[3])at_sample, in, i, d) : way_of(flesh, unit, uvw, x, J, d);
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

typedef struct Bounds {
    double volume, folded; // volume that it had, share that may be inside out
    double length, longer; // that it had before its edges are moved, m; share of that which may be added or taken
} Bounds;

// Back towards where it was until it is sound. False: it never is.
static bool sound(FaBspline *s, const double *from, const Bounds *b) {
    size_t n = 3 * (size_t)fai_bspline_points(s);
    for (int tries = 0; tries < HALVES; tries++) {
        double now = fai_bspline_volume(s, NULL), change = fabs(fai_bspline_length(s) - b->length);
        if (fai_muscle_folded(s) <= b->folded && now >= LEAST * b->volume && now <= MOST * b->volume &&
            change <= b->longer * b->length)
            return true;
        for (size_t i = 0; i < n; i++) s->c[i] = 0.5 * (s->c[i] + from[i]);
    }
    memcpy(s->c, from, n * sizeof(double));
    return false;
}

// --- entry --------------------------------------------------------------------------------------------------------

void fai_muscle_settle(const FaFleshInside *flesh, double unit, const bool held[2], double longer, FaBspline *s,
                       double *work, FaMuscleSettled *out) {
    size_t n = (size_t)fai_bspline_points(s), bytes = 3 * n * sizeof(double);
    double *rhs = work + n * n, *best = rhs + 3 * n, *last = best + 3 * n, smooth = SMOOTH;
    Bounds bounds = {fai_bspline_volume(s, NULL), fmax(FOLDED, fai_muscle_folded(s)), fai_bspline_length(s), INFINITY};
    double now = share_of(flesh, s, COARSE);
    *out = (FaMuscleSettled){.before = fai_muscle_share(flesh, s)};
    out->after = out->before;
    memcpy(best, s->c, bytes);
    for (int round = 0; round < ROUNDS && now < ENOUGH; round++) {
        memcpy(last, s->c, bytes);
        if (!move(flesh, unit, held, INNER, smooth, s, work, rhs)) break;
        smooth = sound(s, last, &bounds) ? fmax(0.5 * smooth, SMOOTH) : 6 * smooth;
        double share = share_of(flesh, s, COARSE);
        if (share > now) now = share, memcpy(best, s->c, bytes);
    }
    memcpy(s->c, best, bytes);
    now = fai_muscle_share(flesh, s), smooth = SMOOTH;
    bounds.length = fai_bspline_length(s), bounds.longer = longer;
    for (int round = 0; round < EDGES && now < ENOUGH; round++) {
        memcpy(last, s->c, bytes);
        if (!move(flesh, unit, held, round % 2 ? OUTER : GATHER, smooth, s, work, rhs)) break;
        smooth = sound(s, last, &bounds) ? fmax(0.5 * smooth, SMOOTH) : 6 * smooth;
        double share = fai_muscle_share(flesh, s);
        if (share > now) now = share, memcpy(best, s->c, bytes);
        if (share < now - 0.02) memcpy(s->c, best, bytes);
    }
    memcpy(s->c, best, bytes);
    out->after = fai_muscle_share(flesh, s);
}
