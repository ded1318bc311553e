// C2 curves through poses.
//
// Positions: a cubic spline. Rotations: a spline f through the unit quaternions as points of R^4 (signs chosen so that
// neighbours are less than a right angle apart), and the rotation is f / |f|.
//
// Why not rotation vectors: a spline of cumulative ones is C2, but exp distorts them more the longer they get and folds
// at a full turn, so that the same small motion looks different after the head has turned round; a spline of the steps
// log(q_i^-1 q_i+1) interpolates only if it is solved for by iteration. In R^4 the system is linear and the same for
// all four components, and since multiplying by a unit quaternion from either side is a rotation of R^4, the curve does
// not depend on the frames that poses are given in. Any number of turns is fine.
//
// Why not a cubic in R^4: it would run along the chord from q_0 to q_1, too slow at the ends and too fast between. Each
// interval instead solves
//     f'' + w^2 f = linear in t,     w = (angle between q_i and q_i+1) / h,
// a spline in trigonometric tension. A turn at constant speed has f'' = -w^2 f: it is reproduced exactly, two poses
// give exactly slerp, and for small angles all becomes the cubic, which is how positions are done (angle 0).
//
// With u in 0..1 along the interval, M the second derivatives at the poses, th = w h:
//     f   = (1 - u) q0 + u q1 + h^2 (M0 phi(1 - u) + M1 phi(u)),     phi = (u - sin(th u) / sin th) / th^2
// and continuity of f' gives a tridiagonal system for M that is diagonally dominant for th < pi; here th <= pi / 2.
// phi and its derivatives are summed from series that converge over that whole range: no cancellation near th = 0, and
// no library function whose last bit depends on the machine.
#include "math/pose_curve.h"

#include "math/mat3.h"
#include "math/pose_cut.h"

#include <float.h>

enum { DIM = 7 }; // quaternion x y z w, then position

struct FaPoseCurve {
    int n;
    double *time;     // (n)
    double (*f)[DIM]; // values at the poses                                       (n)
    double (*m)[DIM]; // second derivatives there, 1/s2                            (n)
    double *angle;    // between a pose's quaternion and the next one's, 0..pi/2   (n)
    bool *cut;        // between a pose and the next one there is no motion        (n)
    int ncut;
};

// phi, its first and its second derivative by u.
typedef struct Phi {
    double value, slope, bend;
} Phi;

// (x - sin x) / x^3, (1 - cos x) / x^2 and sin x / x for 0 <= x <= pi / 2, given x^2.
static void series(double x2, double *s, double *c, double *sinc) {
    double a = 1, b = 1, d = 1;
    // Horner from the term x^20 / (2k + i)! downwards: 1 - x2/(..)(1 - x2/(..)(...))
    for (int k = 10; k > 0; k--) {
        a = 1 - a * x2 / ((2 * k + 2) * (2 * k + 3));
        b = 1 - b * x2 / ((2 * k + 1) * (2 * k + 2));
        d = 1 - d * x2 / ((2 * k) * (2 * k + 1));
    }
    *s = a / 6;
    *c = b / 2;
    *sinc = d;
}

static Phi phi_at(double angle, double u) {
    double s1, c1, sinc1, su, cu, sincu;
    series(angle * angle, &s1, &c1, &sinc1);
    series(angle * angle * u * u, &su, &cu, &sincu);
    return (Phi){u * (u * u * su - s1) / sinc1, (u * u * cu - s1) / sinc1, u * sincu / sinc1};
}

// The spline's tension in component c: only rotations bend.
static double tension(const FaPoseCurve *curve, int i, int c) { return c < 4 ? curve->angle[i] : 0; }

// --- building -----------------------------------------------------------------------------------------------------

static FaCode load_poses(FaPoseCurve *curve, const double *time, const FaPose *pose, FaError *err) {
    for (int i = 0; i < curve->n; i++) {
        double *f = curve->f[i];
        memcpy(f, pose[i].q, 4 * sizeof *f);
        memcpy(f + 4, pose[i].p, 3 * sizeof *f);
        curve->time[i] = time[i];
        if (!fai_q_normalize(f))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("pose %d", i), "give a unit quaternion", "the rotation is none");
        if (!isfinite(f[4]) || !isfinite(f[5]) || !isfinite(f[6]))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("pose %d", i), NULL, "the position is not a finite number");
        if (!isfinite(time[i]) || (i > 0 && !(time[i] > time[i - 1])))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("pose %d", i), "sort the poses by time and drop repeated ones",
                           "times must increase");
        if (i == 0) continue;
        // the short way round: of q and -q the one that is nearer to the last
        const double *last = curve->f[i - 1];
        double sum = 0, difference = 0;
        if (fai_q_dot(last, f) < 0)
            for (int k = 0; k < 4; k++) f[k] = -f[k];
        for (int k = 0; k < 4; k++) {
            sum += (f[k] + last[k]) * (f[k] + last[k]);
            difference += (f[k] - last[k]) * (f[k] - last[k]);
        }
        curve->angle[i - 1] = 2 * atan2(sqrt(difference), sqrt(sum));
    }
    return FA_OK;
}

// The first and last row of the system for component c: free ends know M itself, ends at rest know f' = 0.
static void end_rows(const FaPoseCurve *curve, FaCurveEnds ends, int c, double *diag, double *upper, double *lower,
                     double *right) {
    int n = curve->n;
    for (int end = 0; end < 2; end++) {
        int at = end ? n - 1 : 0, interval = end ? n - 2 : 0;
        double h = curve->time[interval + 1] - curve->time[interval], w = tension(curve, interval, c) / h;
        double chord = (curve->f[interval + 1][c] - curve->f[interval][c]) / h;
        Phi one = phi_at(tension(curve, interval, c), 1), zero = phi_at(tension(curve, interval, c), 0);
        bool rest = ends == FA_ENDS_REST;
        diag[at] = rest ? h * one.slope : 1;
        right[at] = rest ? (end ? -chord : chord) : -w * w * curve->f[at][c];
        if (end)
            lower[n - 2] = rest ? -h * zero.slope : 0;
        else
            upper[0] = rest ? -h * zero.slope : 0;
    }
}

// Second derivatives of component c by elimination without pivoting, which dominance allows. work: 4 n.
// lower[i] stands left of diag[i + 1], upper[i] right of diag[i].
static void solve(FaPoseCurve *curve, FaCurveEnds ends, int c, double *work) {
    int n = curve->n;
    double *diag = work, *upper = work + n, *lower = work + 2 * (size_t)n, *right = work + 3 * (size_t)n;
    for (int i = 1; i + 1 < n; i++) diag[i] = right[i] = 0;
    for (int i = 0; i + 1 < n; i++) {
        double h = curve->time[i + 1] - curve->time[i], chord = (curve->f[i + 1][c] - curve->f[i][c]) / h;
        Phi one = phi_at(tension(curve, i, c), 1), zero = phi_at(tension(curve, i, c), 0);
        upper[i] = lower[i] = -h * zero.slope;
        if (i > 0) {
            diag[i] += h * one.slope;
            right[i] += chord;
        }
        if (i + 2 < n) {
            diag[i + 1] += h * one.slope;
            right[i + 1] -= chord;
        }
    }
    end_rows(curve, ends, c, diag, upper, lower, right);
    for (int i = 0; i + 1 < n; i++) {
        double factor = lower[i] / diag[i];
        diag[i + 1] -= factor * upper[i];
        right[i + 1] -= factor * right[i];
    }
    curve->m[n - 1][c] = right[n - 1] / diag[n - 1];
    for (int i = n - 2; i >= 0; i--) curve->m[i][c] = (right[i] - upper[i] * curve->m[i + 1][c]) / diag[i];
}

// The pieces between cuts, each as a curve of its own; a pose between two cuts is held.
static void solve_pieces(FaPoseCurve *curve, FaCurveEnds ends, double *work) {
    for (int first = 0, i = 0; i < curve->n; i++) {
        if (i + 1 < curve->n && !curve->cut[i]) continue;
        FaPoseCurve piece = {.n = i + 1 - first,
                             .time = curve->time + first,
                             .f = curve->f + first,
                             .m = curve->m + first,
                             .angle = curve->angle + first};
        for (int c = 0; piece.n > 1 && c < DIM; c++) solve(&piece, ends, c, work);
        first = i + 1;
    }
}

static FaCode new_curve(int n, const double *time, const FaPose *pose, FaCurveEnds ends, bool cuts, FaPoseCurve **out,
                        FaError *err) {
    *out = NULL;
    if (n < 1) return FA_FAIL(err, FA_E_ARG, NULL, "give at least one pose", "a motion without poses");
    FaPoseCurve *curve = FA_NEW(1, FaPoseCurve);
    if (!curve) return FA_FAIL_MEMORY(err);
    curve->n = n;
    curve->time = FA_NEW(n, double);
    curve->angle = FA_NEW(n, double);
    curve->cut = FA_NEW(n, bool);
    curve->f = fai_alloc_array((size_t)n, sizeof *curve->f);
    curve->m = fai_alloc_array((size_t)n, sizeof *curve->m);
    double *work = FA_NEW(4 * (size_t)n, double);
    FaCode code = FA_OK;
    if (!curve->time || !curve->angle || !curve->f || !curve->m || !curve->cut || !work) code = FA_FAIL_MEMORY(err);
    if (code >= 0) code = load_poses(curve, time, pose, err);
    if (code >= 0 && cuts) curve->ncut = fai_pose_cuts(n, time, pose, curve->cut);
    if (code >= 0) solve_pieces(curve, ends, work);
    for (int i = 0; code >= 0 && i < n; i++)
        for (int c = 0; code >= 0 && c < DIM; c++)
            if (!isfinite(curve->m[i][c]))
                code = FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("pose %d", i),
                               "drop poses that are closer in time than any clock tells",
                               "the acceleration is not a finite number");
    fa_free(work);
    if (code < 0)
        fai_pose_curve_free(curve);
    else
        *out = curve;
    return code;
}

FaCode fai_pose_curve_new(int n, const double *time, const FaPose *pose, FaCurveEnds ends, FaPoseCurve **curve,
                          FaError *err) {
    return new_curve(n, time, pose, ends, false, curve, err);
}

FaCode fai_pose_curve_new_cut(int n, const double *time, const FaPose *pose, FaCurveEnds ends, FaPoseCurve **curve,
                              FaError *err) {
    return new_curve(n, time, pose, ends, true, curve, err);
}

void fai_pose_curve_free(FaPoseCurve *curve) {
    if (!curve) return;
    fa_free(curve->time);
    fa_free(curve->angle);
    fa_free(curve->cut);
    fa_free(curve->f);
    fa_free(curve->m);
    fa_free(curve);
}

// --- evaluating ---------------------------------------------------------------------------------------------------

// f, f' and f'' of every component in interval i.
static void interval_at(const FaPoseCurve *curve, int i, double time, double f[DIM], double df[DIM], double ddf[DIM]) {
    double h = curve->time[i + 1] - curve->time[i], u = (time - curve->time[i]) / h;
    Phi left[2], right[2];
    for (int k = 0; k < 2; k++) {
        double angle = k ? 0 : curve->angle[i];
        left[k] = phi_at(angle, 1 - u);
        right[k] = phi_at(angle, u);
    }
    for (int c = 0; c < DIM; c++) {
        const Phi *l = &left[c >= 4], *r = &right[c >= 4];
        double q0 = curve->f[i][c], q1 = curve->f[i + 1][c], m0 = curve->m[i][c], m1 = curve->m[i + 1][c];
        f[c] = (1 - u) * q0 + u * q1 + h * h * (m0 * l->value + m1 * r->value);
        df[c] = (q1 - q0) / h + h * (m1 * r->slope - m0 * l->slope);
        ddf[c] = m0 * l->bend + m1 * r->bend;
    }
}

// The interval that holds the time, which lies between the first and the last pose.
static int find_interval(const FaPoseCurve *curve, double time) {
    int lo = 0, hi = curve->n - 1;
    while (hi - lo > 1) {
        int middle = lo + (hi - lo) / 2;
        if (time < curve->time[middle])
            hi = middle;
        else
            lo = middle;
    }
    return lo;
}

static void hold(const FaPoseCurve *curve, int i, FaMotion *motion) {
    *motion = (FaMotion){0};
    memcpy(motion->pose.q, curve->f[i], sizeof motion->pose.q);
    memcpy(motion->pose.p, curve->f[i] + 4, sizeof motion->pose.p);
}

// The motion inside interval i, at its ends too.
static void eval_inside(const FaPoseCurve *curve, int i, double time, FaMotion *motion) {
    double f[DIM], df[DIM], ddf[DIM];
    interval_at(curve, i, time, f, df, ddf);
    memcpy(motion->pose.p, f + 4, sizeof motion->pose.p);
    memcpy(motion->v, df + 4, sizeof motion->v);
    memcpy(motion->a, ddf + 4, sizeof motion->a);

    // q = f / |f|. In the body's axes omega = 2 vec(q* q') and alpha = 2 vec(q* q''); with f instead of q the length's
    // own change drops out of the first and leaves one term in the second.
    double r2 = fai_q_dot(f, f), inverse[4], turn[4], bend[4];
    if (!(r2 > DBL_MIN)) {
        // half turns back and forth can meet in the middle of R^4: there is no direction to take
        memcpy(motion->pose.q, curve->f[i], sizeof motion->pose.q);
        fai_v3_set(motion->omega, 0, 0, 0);
        fai_v3_set(motion->alpha, 0, 0, 0);
        return;
    }
    fai_q_conj(f, inverse);
    fai_q_mul(inverse, df, turn);
    fai_q_mul(inverse, ddf, bend);
    double stretch = fai_q_dot(f, df) / r2;
    for (int k = 0; k < 3; k++) {
        motion->omega[k] = 2 * turn[k] / r2;
        motion->alpha[k] = 2 * bend[k] / r2 - 2 * stretch * motion->omega[k];
    }
    memcpy(motion->pose.q, f, sizeof motion->pose.q);
    fai_q_normalize(motion->pose.q);
}

// At pose i as the interval on one side of it has it.
static void eval_end(const FaPoseCurve *curve, int i, int interval, FaMotion *motion) {
    bool moves = interval >= 0 && interval + 1 < curve->n && !curve->cut[interval];
    if (moves)
        eval_inside(curve, interval, curve->time[i], motion);
    else
        hold(curve, i, motion);
}

// Inside a cut: the piece before goes on as it ended, the one after begins as it will go on.
static void eval_cut(const FaPoseCurve *curve, int i, double time, FaMotion *motion) {
    bool after = time >= 0.5 * (curve->time[i] + curve->time[i + 1]);
    int at = after ? i + 1 : i;
    eval_end(curve, at, after ? i + 1 : i - 1, motion);
    double span = time - curve->time[at], turn[3], q[4];
    fai_v3_mad(motion->pose.p, span, motion->v, motion->pose.p);
    fai_v3_scale(span, motion->omega, turn);
    fai_q_exp(turn, q);
    fai_q_mul(motion->pose.q, q, motion->pose.q);
    fai_v3_set(motion->a, 0, 0, 0);
    fai_v3_set(motion->alpha, 0, 0, 0);
}

void fai_pose_curve_eval(const FaPoseCurve *curve, double time, FaMotion *motion) {
    int last = curve->n - 1;
    if (last == 0 || !(time >= curve->time[0]) || time > curve->time[last]) {
        hold(curve, time > curve->time[last] ? last : 0, motion);
        return;
    }
    int i = find_interval(curve, time);
    if (!curve->cut[i])
        eval_inside(curve, i, time, motion);
    else if (time == curve->time[i])
        eval_end(curve, i, i - 1, motion);
    else if (time == curve->time[i + 1])
        eval_end(curve, i + 1, i + 1, motion);
    else
        eval_cut(curve, i, time, motion);
}

bool fai_pose_curve_cut(const FaPoseCurve *curve, double from, double to) {
    if (!curve->ncut || !(to > from) || !(to >= curve->time[0])) return false;
    int i = find_interval(curve, FA_MIN(FA_MAX(from, curve->time[0]), curve->time[curve->n - 1]));
    for (; i + 1 < curve->n && curve->time[i] <= to; i++) {
        double when = 0.5 * (curve->time[i] + curve->time[i + 1]);
        if (curve->cut[i] && when > from && when <= to) return true;
    }
    return false;
}
