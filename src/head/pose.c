// The face as anatomy moves it. Order: muscles pull the skin in the skull's frame, lips roll and seal, the mandible
// carries its share of the skin on an arc, lids turn about the eye, lips stop each other. The 52 linear shapes are this
// model at single weights of 1; in between and in combination it is what linear blending only approximates.
#include "head/pose.h"

#include "base/task.h"

#include "head/shape_ids.h"

#include <math.h>

// --- muscles --------------------------------------------------------------------------------------------------------

typedef enum Side { BOTH, UPPER, LOWER } Side; // which lip takes part

// A pull: displacement d (mm at weight 1) at c, fading over the radius r (mm, Gaussian). Left side; `mirror` is the
// shape that does the same on the right; equal to `shape` where one shape does both.
typedef struct Pull {
    int shape, mirror;
    double c[3], d[3], r;
    Side side;
} Pull;

// clang-format off
static const Pull pulls[] = {
    {browDownLeft, browDownRight, {38, 53, 76}, {-3.6, -3.2, 2.2}, 26, BOTH},
    {browDownLeft, browDownRight, {14, 51, 84}, {-1.6, -3.0, 1.0}, 20, BOTH},
    {browInnerUp, browInnerUp, {19, 50, 83}, {0.5, 5.6, 0.2}, 22, BOTH},
    {browInnerUp, browInnerUp, {22, 78, 74}, {0, 1.8, -0.6}, 26, BOTH},
    {browOuterUpLeft, browOuterUpRight, {46, 49, 72}, {1.7, 7.4, -2.4}, 26, BOTH},
    {browOuterUpLeft, browOuterUpRight, {50, 74, 58}, {0.3, 2.0, -1.2}, 24, BOTH},
    {cheekPuff, cheekPuff, {34, -42, 74}, {4.5, 0.6, 9}, 28, BOTH},
    {cheekPuff, cheekPuff, {0, -42, 90}, {0, 0, 2.5}, 26, BOTH},
    {cheekSquintLeft, cheekSquintRight, {50, -4, 67}, {-0.8, 5.8, 2.2}, 32, BOTH},
    {eyeSquintLeft, eyeSquintRight, {30, 11, 73}, {-2.0, 2.6, 0.3}, 20, BOTH},
    {eyeSquintLeft, eyeSquintRight, {52, 24, 61}, {-1.2, 0.2, 0.4}, 14, BOTH},
    {mouthDimpleLeft, mouthDimpleRight, {26, -44, 80}, {1.3, 5.0, -6.2}, 21, BOTH},
    {mouthFrownLeft, mouthFrownRight, {27, -44, 80}, {1.7, -5.3, -2.7}, 21, BOTH},
    {mouthFrownLeft, mouthFrownRight, {24, -64, 79}, {0.3, -2.0, 0.2}, 22, BOTH},
    {mouthLeft, mouthRight, {-10, -47, 86}, {15.5, -0.4, 3}, 36, BOTH},
    {mouthLowerDownLeft, mouthLowerDownRight, {11, -50, 91}, {0.9, -4.6, -1.2}, 20, LOWER},
    {mouthPressLeft, mouthPressRight, {15, -72, 83}, {-0.3, 3.6, 1.2}, 32, BOTH},
    {mouthPucker, mouthPucker, {23, -43, 80}, {-7, 0.6, 6.5}, 26, BOTH},
    {mouthPucker, mouthPucker, {0, -42, 92}, {0, 0, 5.5}, 24, BOTH},
    {mouthFunnel, mouthFunnel, {23, -43, 80}, {-5, 0, 4}, 26, BOTH},
    {mouthFunnel, mouthFunnel, {0, -36, 95}, {0, 2.8, 5}, 20, UPPER},
    {mouthFunnel, mouthFunnel, {0, -48, 93}, {0, -6.5, 5}, 22, LOWER},
    {mouthShrugLower, mouthShrugLower, {0, -74, 87}, {0, 10, 2}, 34, BOTH},
    {mouthShrugUpper, mouthShrugUpper, {0, -36, 96}, {0, 5.4, 1}, 17, UPPER},
    {mouthSmileLeft, mouthSmileRight, {26, -43, 80}, {5.6, 7.6, -8.6}, 21, BOTH},
    {mouthSmileLeft, mouthSmileRight, {42, -26, 72}, {2.4, 5.0, 0.8}, 30, BOTH},
    {mouthStretchLeft, mouthStretchRight, {25, -44, 79}, {6.2, -1.2, -6}, 22, BOTH},
    {mouthStretchLeft, mouthStretchRight, {44, -66, 56}, {2.6, -3.0, -0.6}, 34, BOTH},
    {mouthUpperUpLeft, mouthUpperUpRight, {20, -25, 83}, {1.4, 5.4, -1.4}, 22, UPPER},
    {mouthUpperUpLeft, mouthUpperUpRight, {9, -34, 94}, {0.4, 4.2, 0}, 14, UPPER},
    {noseSneerLeft, noseSneerRight, {20, -16, 84}, {-0.8, 7.4, 0}, 21, UPPER},
    {noseSneerLeft, noseSneerRight, {14, 20, 82}, {-0.6, 2.2, 1.0}, 17, UPPER},
    {noseSneerLeft, noseSneerRight, {16, 48, 83}, {-0.8, -2.0, 0.6}, 17, UPPER},
};
// clang-format on

_Static_assert(FA_COUNT(pulls) <= FAI_PULLS, "room for every pull");

// Does the muscle come from bone? Else (orbicularis, air in the cheeks) flesh is all it knows.
static bool from_bone(int shape) {
    return shape != cheekPuff && shape != mouthPucker && shape != mouthFunnel && shape != mouthLeft &&
           shape != mouthPressLeft;
}

// A muscle pulls its skin towards its origin. Skin and origin are where this person has them, so that a mouth that lies
// low is pulled more steeply, and a longer muscle shortens by more.
void fai_pose_pulls(FaHeadModel *m) {
    const double length = 35; // mm, of a muscle of the face
    for (int i = 0; i < FA_COUNT(pulls); i++) {
        const Pull *p = pulls + i;
        double size = sqrt(p->d[0] * p->d[0] + p->d[1] * p->d[1] + p->d[2] * p->d[2]), from[3], at[3], to[3];
        for (int k = 0; k < 3; k++) from[k] = p->c[k] + length * p->d[k] / size;
        fai_warp_point(&m->warp, p->c, false, 0, 0, at);
        fai_warp_point(&m->warp, from, from_bone(p->shape), 0, 0, to);
        for (int k = 0; k < 3; k++) m->pull[i][k] = m->warp.mean ? p->d[k] : size / length * (to[k] - at[k]);
    }
}

// A move of the mean head as this person makes it.
static void own_move(const FaHeadModel *m, const FaiSpot *s, const double d[3], double x[3]) {
    double to[3] = {s->mean[0] + d[0], s->mean[1] + d[1], s->mean[2] + d[2]}, a[3], b[3];
    if (!m->warp.mean) {
        double inner = s->mouth * fai_smooth(5, 6.2, s->mouth_v);
        fai_warp_point(&m->warp, s->mean, false, inner, 0, a);
        fai_warp_point(&m->warp, to, false, inner, 0, b);
    }
    for (int k = 0; k < 3; k++) x[k] += m->warp.mean ? d[k] : b[k] - a[k];
}

static double lower_share(const FaiSpot *s) { return fai_smooth(0.12, 0.8, s->jaw); }

static double nose_share(const FaiSpot *s) {
    double x = s->mean[0], y = s->mean[1] + 6, z = s->mean[2] - 100;
    return exp(-(x * x + y * y + z * z) / 440) * fai_smooth(1, 0, s->mouth * s->mouth_v);
}

// The pulls of the shapes in use, shape by shape.
typedef struct Active {
    const Pull *pull;
    double side;
    int shape;
} Active;
enum { MOST_ACTIVE = 2 * FA_COUNT(pulls) };

static int active_pulls(const float *w, Active *act) {
    int n = 0;
    for (int s = 0; s < FA_ARKIT_COUNT; s++) {
        if (w[s] == 0) continue;
        for (int i = 0; i < FA_COUNT(pulls); i++) {
            const Pull *p = pulls + i;
            if (p->shape == s) act[n++] = (Active){p, 1, s};
            if (p->mirror == s && !(p->c[0] == 0 && p->mirror == p->shape)) act[n++] = (Active){p, -1, s};
        }
    }
    return n;
}

static void add_pull(const FaHeadModel *m, const FaiSpot *s, const Active *a, double out[3]) {
    const Pull *p = a->pull;
    double x = s->pull[0] - a->side * p->c[0], y = s->pull[1] - p->c[1], z = s->pull[2] - p->c[2];
    double q = (x * x + y * y + z * z) / (p->r * p->r);
    if (q > 14) return;
    double g = exp(-q);
    // the mouth's muscles do not carry the nose along
    if (p->c[1] < -30) g *= 1 - 0.9 * nose_share(s);
    if (p->side == UPPER) g *= 1 - lower_share(s);
    if (p->side == LOWER) g *= lower_share(s);
    // fades to nothing at its edge, and towards the lids, which have motions of their own
    g *= fai_smooth(14, 7, q) * (1 - s->eye * fai_smooth(-0.6, 1.3, s->eye_v));
    const double *d = m->pull[p - pulls];
    g *= (double)s->give;
    out[0] += g * a->side * d[0], out[1] += g * d[1], out[2] += g * d[2];
}

// All pulls: where several shapes act they gain less than their sum. Alone each keeps its length.
static void pull_all(const FaHeadModel *m, const FaiSpot *s, const float *w, const Active *act, int nact, double x[3]) {
    double sum[3] = {0, 0, 0}, len = 0, sq = 0;
    for (int i = 0; i < nact;) {
        double d[3] = {0, 0, 0}, l = 0;
        int shape = act[i].shape;
        for (; i < nact && act[i].shape == shape; i++) add_pull(m, s, act + i, d);
        for (int k = 0; k < 3; k++) d[k] *= w[shape], sum[k] += d[k], l += d[k] * d[k];
        len += sqrt(l), sq += l;
    }
    double keep = len > 1e-12 ? 0.45 + 0.55 * sqrt(sq) / len : 1;
    for (int k = 0; k < 3; k++) x[k] += keep * sum[k];
}

// --- lips -----------------------------------------------------------------------------------------------------------

// Lips are rods along the dental arch: a roll turns their section about the rod. angle > 0 turns the front upward.
static void roll_lip(const FaiSpot *s, double angle, double back, double lift, double x[3]) {
    double X = s->mean[0], upper = s->mouth_u < 4, t = fmin(1, fabs(X) / 25);
    double share = fai_smooth(0.9, 2.9, s->mouth_v) * fai_smooth(6.6, 5.2, s->mouth_v) *
                   fai_smooth(0.2, 2.3, fabs(s->mouth_u - 4));
    if (share <= 0) return;
    double ay = upper ? -37.2 - 5.3 * t * t : -47 + 4 * t * t, az = 88.8 - 0.0267 * X * X;
    double l = sqrt(1 + 0.0534 * 0.0534 * X * X), ox = 0.0534 * X / l, oz = 1 / l;
    double n = oz * (s->mean[2] - az), y = s->mean[1] - ay, a = angle * share;
    double dn = n * cos(a) - y * sin(a) - n + back * share, dy = n * sin(a) + y * cos(a) - y + lift * share;
    // a lip that rolls in stays on its side of the seam
    double side = upper ? 1 : -1, was = side * (s->mean[1] - fai_seam_y(X)), floor = fmin(was, 0.7);
    double above = side * (s->mean[1] + dy - fai_seam_y(X + ox * dn));
    if (above < floor) dy += side * (floor - above);
    x[0] += ox * dn, x[1] += dy, x[2] += oz * dn;
}

static void roll_lips(const FaiSpot *s, const float *w, double x[3]) {
    if (s->mouth < 0.5 || s->mouth_v < 0.8) return;
    const double deg = M_PI / 180;
    double press = 0.5 * (w[mouthPressLeft] * fai_smooth(-20, 10, s->mean[0]) +
                          w[mouthPressRight] * fai_smooth(20, -10, s->mean[0]));
    if (s->mouth_u < 4) {
        if (w[mouthRollUpper] != 0)
            roll_lip(s, -48 * deg * w[mouthRollUpper], -3.4 * w[mouthRollUpper], 1.5 * w[mouthRollUpper], x);
        if (press != 0) roll_lip(s, -16 * deg * press, -1.2 * press, 0, x);
        if (w[mouthFunnel] != 0) roll_lip(s, 20 * deg * w[mouthFunnel], 0, 0, x);
        if (w[mouthPucker] != 0) roll_lip(s, 9 * deg * w[mouthPucker], 0, 0, x);
    } else {
        if (w[mouthRollLower] != 0)
            roll_lip(s, 47 * deg * w[mouthRollLower], -3.6 * w[mouthRollLower], -0.8 * w[mouthRollLower], x);
        if (press != 0) roll_lip(s, 16 * deg * press, -1.2 * press, 0, x);
        if (w[mouthFunnel] != 0) roll_lip(s, -22 * deg * w[mouthFunnel], 0, 0, x);
        if (w[mouthPucker] != 0) roll_lip(s, -9 * deg * w[mouthPucker], 0, 0, x);
    }
}

// How much of a spot goes with the lips when they are held shut against the falling jaw.
static double seal_share(const FaiSpot *s) {
    return fai_smooth(-2.2, 1.6, s->mouth_v) * fai_smooth(7, 5.6, s->mouth_v);
}

// --- jaw ------------------------------------------------------------------------------------------------------------

// Hinge and slide after the measured motion: 25.33 degrees with (0, -2.9, 5.4) at full opening. Sideways the jaw turns
// about the joint it moves towards. `share` is how much of the motion is taken: shares of a turn lie on its arc.
void fai_pose_jaw(const FaiWarp *warp, const float *w, double share, double r[9], double t[3]) {
    const double deg = M_PI / 180;
    double open = share * w[jawOpen], ahead = share * w[jawForward], left = share * w[jawLeft],
           right = share * w[jawRight];
    double a = 25.33 * deg * open, b = 4.6 * deg * (left - right), ca = cos(a), sa = sin(a), cb = cos(b), sb = sin(b);
    // turn about y first, then about x
    r[0] = cb, r[1] = 0, r[2] = sb;
    r[3] = sa * sb, r[4] = ca, r[5] = -sa * cb;
    r[6] = -ca * sb, r[7] = sa, r[8] = ca * cb;
    // pivot of the sideways turn: the joint of the side it moves to
    double p[3] = {warp->joint * fmin(1, fmax(-1, left - right)), 0, 0}, far = warp->reach;
    for (int k = 0; k < 3; k++) t[k] = p[k] - (r[3 * k] * p[0]);
    t[0] += far * (1.4 * (left - right));
    t[1] += far * (-2.9 * open - 1.8 * ahead - 1.6 * (left + right));
    t[2] += far * (5.4 * open + 9.8 * ahead + 0.3 * (left + right));
}

static void turn(const double r[9], const double t[3], double x[3]) {
    double y[3];
    for (int k = 0; k < 3; k++) y[k] = r[3 * k] * x[0] + r[3 * k + 1] * x[1] + r[3 * k + 2] * x[2] + t[k];
    memcpy(x, y, sizeof y);
}

static bool jaw_moves(const float *w) {
    return w[jawOpen] != 0 || w[jawForward] != 0 || w[jawLeft] != 0 || w[jawRight] != 0;
}

static void carry(const FaiWarp *warp, const float *w, double share, double x[3]) {
    double r[9], t[3];
    if (share == 0) return;
    fai_pose_jaw(warp, w, share, r, t);
    turn(r, t, x);
}

// Jaw and seal. Held lips keep their place in the skull; what is asked of mouthClose beyond the opening has nothing to
// hold against and goes on as the linear shape does.
static void jaw_and_seal(const FaiWarp *warp, const FaiSpot *s, const float *w, double x[3]) {
    double open = w[jawOpen], held = w[mouthClose], share = s->jaw;
    double in = open > 0 ? fmin(1, fmax(0, held) / open) : 0, beyond = held - fmin(open > 0 ? open : 0, fmax(0, held));
    double seal = seal_share(s), rest[3] = {x[0], x[1], x[2]};
    if (jaw_moves(w)) carry(warp, w, share * (1 - seal * in), x);
    if (beyond != 0 && seal > 0) {
        float full[FA_ARKIT_COUNT] = {0};
        full[jawOpen] = 1;
        double open_x[3] = {rest[0], rest[1], rest[2]}, shut_x[3] = {rest[0], rest[1], rest[2]};
        carry(warp, full, share, open_x), carry(warp, full, share * (1 - seal), shut_x);
        for (int k = 0; k < 3; k++) x[k] += beyond * (shut_x[k] - open_x[k]);
    }
}

// --- lids and eyes --------------------------------------------------------------------------------------------------

typedef struct Gaze {
    double upper, lower, yaw;
    double dir[3];
} Gaze; // lid edges as shares of the opening; eye turn

static void eye_turn(const float *w, int side, double *yaw, double *pitch) {
    const float *e = w + (side > 0 ? eyeBlinkLeft : eyeBlinkRight);
    const double deg = M_PI / 180;
    // out is towards the own side
    *yaw = side * 30 * deg * (e[eyeLookOutLeft] - e[eyeLookInLeft]);
    *pitch = deg * (24 * e[eyeLookUpLeft] - 28 * e[eyeLookDownLeft]);
}

static Gaze gaze_of(const float *w, int side) {
    const float *e = w + (side > 0 ? eyeBlinkLeft : eyeBlinkRight);
    double cheek = side > 0 ? w[cheekSquintLeft] : w[cheekSquintRight], pitch;
    Gaze g;
    eye_turn(w, side, &g.yaw, &pitch);
    g.dir[0] = sin(g.yaw) * cos(pitch), g.dir[1] = sin(pitch), g.dir[2] = cos(g.yaw) * cos(pitch);
    g.lower = 0.14 * e[eyeBlinkLeft] + 0.24 * e[eyeSquintLeft] + 0.06 * e[eyeLookUpLeft] - 0.13 * e[eyeLookDownLeft] -
              0.06 * e[eyeWideLeft] + 0.10 * cheek;
    g.upper = 1 - 0.86 * e[eyeBlinkLeft] - 0.60 * e[eyeLookDownLeft] + 0.34 * e[eyeLookUpLeft] + 0.32 * e[eyeWideLeft] -
              0.14 * e[eyeSquintLeft];
    g.lower = fmin(0.6, g.lower);
    return g;
}

double fai_lid_angle(const FaiLidEdge *edge, double x) {
    if (x <= edge->x[0]) return edge->angle[0];
    if (x >= edge->x[edge->n - 1]) return edge->angle[edge->n - 1];
    int a = 0, b = edge->n - 1;
    while (b - a > 1) {
        int m = (a + b) / 2;
        if (edge->x[m] <= x)
            a = m;
        else
            b = m;
    }
    double t = (x - edge->x[a]) / (edge->x[b] - edge->x[a]);
    return edge->angle[a] + t * (edge->angle[b] - edge->angle[a]);
}

static void pose_lid(const FaHeadModel *m, const FaiSpot *s, const Gaze *g, double x[3]) {
    int side = s->mean[0] < 0 ? -1 : 1;
    double d[3] = {side * s->mean[0] - EYE_X, s->mean[1] - EYE_Y, s->mean[2] - EYE_Z};
    double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (r < 1e-9) return;
    // the opening below or above this place (columns of the chart fan out from the edge), and where its edges are
    // wanted
    double column = d[0] * 12.3 / (12.3 + 1.9 * fmax(0, 2.5 - s->eye_v));
    double hi = fai_lid_angle(&m->upper, column), lo = fai_lid_angle(&m->lower, column), open = fmax(0, hi - lo);
    double gap = fmin(0.009, open), lower = lo + g->lower * open, upper = fmax(lo + g->upper * open, lower + gap);
    double share = s->eye * fai_smooth(0.25, 1.95, s->eye_v) * fai_smooth(4, 3.15, s->eye_v);
    // an opening lid slides under its fold and takes more of it along
    if (s->eye_up >= 0 && upper > hi + 1e-6)
        share = s->eye * fai_smooth(-0.2, 1.3, s->eye_v) * fai_smooth(4, 3.15, s->eye_v);
    double turn_by = share * fai_smooth(0, 0.15, fabs(s->eye_up)) * (s->eye_up >= 0 ? upper - hi : lower - lo),
           yaw = 0.28 * side * g->yaw * share * fai_smooth(1.15, 2.1, s->eye_v) * fai_smooth(13.5, 9, fabs(column));
    if (fabs(turn_by) < 1e-9 && fabs(yaw) < 1e-9) return;
    // turn about the eye's x axis, then y; the lid keeps its distance from the globe, cornea included
    double c = cos(turn_by), q = sin(turn_by), e[3] = {d[0], c * d[1] + q * d[2], -q * d[1] + c * d[2]};
    double cy = cos(yaw), sy = sin(yaw), f[3] = {cy * e[0] + sy * e[2], e[1], -sy * e[0] + cy * e[2]};
    double look[3] = {side * g->dir[0], g->dir[1], g->dir[2]};
    double before = fai_eye_radius(d[2] / r),
           after = fai_eye_radius((f[0] * look[0] + f[1] * look[1] + f[2] * look[2]) / r);
    double k = 1 + s->eye * fai_smooth(1.2, 2.2, s->eye_v) * fai_smooth(4, 3.5, s->eye_v) * (after - before) / r;
    // closing draws the fold out
    if (s->eye_up > 0 && open > 0)
        k -= s->eye * fai_lid_crease(s->eye_v, s->eye_up) * fai_smooth(1, 0.2, (upper - lo) / open) / r;
    double from[3], to[3], p[3] = {side * (EYE_X + k * f[0]), EYE_Y + k * f[1], EYE_Z + k * f[2]};
    fai_warp_eye(&m->warp, side, s->mean, from);
    fai_warp_eye(&m->warp, side, p, to);
    for (int j = 0; j < 3; j++) x[j] += to[j] - from[j];
}

// --- contact --------------------------------------------------------------------------------------------------------

// Facing points of the lips may not pass each other: where they would, both give way by half.
static void stop_lips(const FaHeadModel *m, double *x) {
    for (int v = 0; v < m->nskin; v++) {
        int o = m->partner[v];
        if (o < 0 || m->spot[v].mouth_u > 4) continue;
        double rest = m->spot[v].rest[1] - m->spot[o].rest[1], want = fmin(rest, 0.12);
        double gap = x[3 * v + 1] - x[3 * o + 1];
        if (gap >= want) continue;
        double push = 0.5 * (want - gap);
        x[3 * v + 1] += push, x[3 * o + 1] -= push;
    }
}

// --- all of it ------------------------------------------------------------------------------------------------------

typedef struct SkinJob {
    const FaHeadModel *m;
    const float *w;
    double *x;
    Active act[MOST_ACTIVE];
    int nact;
    Gaze gaze[2];
    bool jaw, roll, lids[2];
} SkinJob;

static void skin_spots(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const SkinJob *job = ctx;
    for (int v = begin; v < end; v++) {
        const FaiSpot *s = job->m->spot + v;
        double *p = job->x + 3 * (size_t)v;
        memcpy(p, s->rest, sizeof s->rest);
        if (job->nact) pull_all(job->m, s, job->w, job->act, job->nact, p);
        if (job->roll) {
            double d[3] = {0, 0, 0};
            roll_lips(s, job->w, d);
            own_move(job->m, s, d, p);
        }
        if (job->jaw) jaw_and_seal(&job->m->warp, s, job->w, p);
        int right = s->mean[0] < 0;
        if (job->lids[right] && s->eye > 0.01f && s->eye_v > -0.2f) pose_lid(job->m, s, &job->gaze[right], p);
    }
}

void fai_pose_skin(const FaHeadModel *m, const float *w, double *x) {
    SkinJob job = {
        .m = m, .w = w, .x = x, .gaze = {gaze_of(w, 1), gaze_of(w, -1)}, .jaw = jaw_moves(w) || w[mouthClose] != 0};
    job.nact = active_pulls(w, job.act);
    job.roll = w[mouthFunnel] != 0 || w[mouthPucker] != 0 || w[mouthRollLower] != 0 || w[mouthRollUpper] != 0 ||
               w[mouthPressLeft] != 0 || w[mouthPressRight] != 0;
    for (int k = 0; k < 2; k++) job.lids[k] = job.gaze[k].upper != 1 || job.gaze[k].lower != 0 || job.gaze[k].yaw != 0;
    fai_parallel(m->nskin, 1024, skin_spots, &job);
    bool contact = false;
    for (int i = jawForward; i <= mouthUpperUpRight; i++) contact |= w[i] != 0;
    // mouthClose beyond the opening is a counter to jawOpen alone: it means nothing for lips that are closed already
    if (contact && w[mouthClose] <= w[jawOpen]) stop_lips(m, x);
}

// The tongue slides out along a curve that rises over the lower teeth and falls outside.
static void pose_tongue(double out, const double rest[3], double x[3]) {
    double t = fai_smooth(24, 76, rest[2]), go = out * t;
    x[2] += 40 * go * (0.35 + 0.65 * t);
    x[1] += 5 * sin(M_PI * fmin(1, go)) - 9 * go * go * t;
    x[0] *= 1 - 0.15 * go;
}

void fai_pose_part(const FaHeadModel *m, int part, const float *w, double *x) {
    const FaiPart *p = m->part + part;
    memcpy(x, m->rest[part], (size_t)p->nvert * 3 * sizeof(double));
    if (p->follow == FOLLOW_SKULL) return;
    double r[9], t[3];
    if (p->follow == FOLLOW_EYE_L || p->follow == FOLLOW_EYE_R) {
        int side = p->follow == FOLLOW_EYE_L ? 1 : -1;
        double yaw, pitch, c[3] = {side * m->warp.eye[0], m->warp.eye[1], m->warp.eye[2]};
        eye_turn(w, side, &yaw, &pitch);
        if (yaw == 0 && pitch == 0) return;
        double cy = cos(yaw), sy = sin(yaw), cp = cos(pitch), sp = sin(pitch);
        // pitch raises the front (+z towards +y), yaw turns it to +x
        const double rot[9] = {cy, -sy * sp, sy * cp, 0, cp, sp, -sy, -cy * sp, cy * cp};
        for (int k = 0; k < 3; k++) t[k] = c[k] - (rot[3 * k] * c[0] + rot[3 * k + 1] * c[1] + rot[3 * k + 2] * c[2]);
        for (int v = 0; v < p->nvert; v++) turn(rot, t, x + 3 * v);
        return;
    }
    bool jaw = jaw_moves(w);
    fai_pose_jaw(&m->warp, w, 1, r, t);
    for (int v = 0; v < p->nvert; v++) {
        if (p->follow == FOLLOW_TONGUE && w[tongueOut] != 0)
            pose_tongue(w[tongueOut], m->rest[part] + 3 * v, x + 3 * v);
        if (jaw) turn(r, t, x + 3 * v);
    }
}

bool fai_pose_moves(int s, FaiFollow follow) {
    switch (follow) {
    case FOLLOW_SKULL: return false;
    case FOLLOW_JAW: return s >= jawForward && s <= jawOpen;
    case FOLLOW_TONGUE: return (s >= jawForward && s <= jawOpen) || s == tongueOut;
    case FOLLOW_EYE_L: return s >= eyeLookDownLeft && s <= eyeLookUpLeft;
    case FOLLOW_EYE_R: return s >= eyeLookDownRight && s <= eyeLookUpRight;
    }
    return false;
}
