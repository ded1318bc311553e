#include "math/pose_cut.h"

#include "math/mat3.h"

#include <math.h>

static const double PUSH = 100, PUSH_NOISE = 0.03; // m/s2, m
static const double TURN = 600, TURN_NOISE = 0.2;  // rad/s2, rad
static const double FASTEST = 12, WILDEST = 40;    // m/s and rad/s that a head reaches at all

// How a pose goes to the next: metres, and radians as a rotation vector.
typedef struct Leap {
    double p[3], r[3];
} Leap;

static Leap leap(const FaPose *from, const FaPose *to) {
    Leap l;
    double back[4], turn[4];
    fai_v3_sub(to->p, from->p, l.p);
    fai_q_conj(from->q, back);
    fai_q_mul(to->q, back, turn); // in the world: neighbours compare
    fai_q_normalize(turn);
    if (turn[3] < 0)
        for (int k = 0; k < 4; k++) turn[k] = -turn[k];
    fai_q_log(turn, l.r);
    return l;
}

// Whether interval i goes further than the one before it or the one after it explains. At an end of the motion, where
// one of them is missing, the next but one stands in: the only neighbour may be a cut itself.
static bool is_cut(int n, const double *time, const FaPose *pose, int i) {
    double span = time[i + 1] - time[i];
    Leap own = leap(&pose[i], &pose[i + 1]);
    double far = fai_v3_norm(own.p), turned = fai_v3_norm(own.r);
    for (int side = -1; side <= 1; side += 2) {
        int k = i + side;
        if (k < 0 || k + 1 >= n) k = i - 2 * side;
        if (k < 0 || k + 1 >= n) continue;
        Leap other = leap(&pose[k], &pose[k + 1]);
        double share = span / (time[k + 1] - time[k]), p[3], r[3];
        fai_v3_mad(own.p, -share, other.p, p);
        fai_v3_mad(own.r, -share, other.r, r);
        far = fmin(far, fai_v3_norm(p));
        turned = fmin(turned, fai_v3_norm(r));
    }
    return far > PUSH_NOISE + PUSH * span * span || turned > TURN_NOISE + TURN * span * span;
}

int fai_pose_cuts(int n, const double *time, const FaPose *pose, bool *cut) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        cut[i] = i + 1 < n && n > 2 && is_cut(n, time, pose, i);
        count += cut[i];
    }
    return count;
}

bool fai_pose_jumps(const FaPose *from, const FaPose *to, double span) {
    Leap l = leap(from, to);
    return span > 0 &&
           (fai_v3_norm(l.p) > PUSH_NOISE + FASTEST * span || fai_v3_norm(l.r) > TURN_NOISE + WILDEST * span);
}
