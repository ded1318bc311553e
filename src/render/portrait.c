#include "render/portrait.h"

#include "math/mat3.h"
#include "rig/face_box.h"

#include <math.h>

// --- the head of a body -------------------------------------------------------------------------------------------

// The head around a face (canonical axes): measured on heads, hats and hair included, in sizes of the face.
static const double SIDE = 0.85, BELOW = 0.35, ABOVE = 0.75, BEHIND = 2.0, BEFORE = 0.6;
static const double LEAST = 0.15; // m: a face of which only the eyes move is larger than what moves

static bool head_box(const FaRig *rig, double lo[3], double hi[3]) {
    double face_lo[3], face_hi[3];
    if (!fai_face_box(rig, face_lo, face_hi)) return false;
    double size[3];
    for (int k = 0; k < 3; k++) size[k] = face_hi[k] - face_lo[k];
    double s = fmax(fmax(1.25 * size[0], size[1]), fmax(size[2], LEAST));
    double middle = 0.5 * (face_lo[0] + face_hi[0]), missing = s - size[1];
    lo[0] = middle - SIDE * s, hi[0] = middle + SIDE * s;
    // where only a part of the face moves it is rather the eyes than the chin
    lo[1] = face_lo[1] - 0.7 * missing - BELOW * s, hi[1] = face_hi[1] + 0.3 * missing + ABOVE * s;
    lo[2] = face_hi[2] - BEHIND * s, hi[2] = face_hi[2] + BEFORE * s;
    return true;
}

bool fai_portrait(const FaRig *rig, unsigned char *keep) {
    double lo[3], hi[3];
    int n = rig->mesh.nvert, inside = 0;
    bool found = head_box(rig, lo, hi);
    for (int v = 0; v < n && found; v++) {
        const float *x = rig->mesh.x + 3 * (size_t)v;
        double p[3] = {(double)x[0], (double)x[1], (double)x[2]}, q[3];
        fai_m3_mulv(rig->axes, p, q);
        keep[v] = 1;
        for (int k = 0; k < 3; k++) keep[v] &= q[k] >= lo[k] && q[k] <= hi[k];
        inside += keep[v];
    }
    if (found && inside > 0 && inside < n) return true;
    memset(keep, 1, (size_t)n);
    return false;
}

// --- where it faces -----------------------------------------------------------------------------------------------

static void turned(const double q[4], const double v[3], double out[3]) {
    double t[3], u[3];
    fai_v3_cross(q, v, t);
    for (int k = 0; k < 3; k++) t[k] += q[3] * v[k];
    fai_v3_cross(q, t, u);
    for (int k = 0; k < 3; k++) out[k] = v[k] + 2 * u[k];
}

// The axis nearest to a direction, square to `other` (nullable).
static void nearest(const double d[3], const double *other, double out[3]) {
    int best = -1;
    for (int k = 0; k < 3; k++)
        if (!(other && other[k] != 0) && (best < 0 || fabs(d[k]) > fabs(d[best]))) best = k;
    for (int k = 0; k < 3; k++) out[k] = k == best ? (d[k] < 0 ? -1 : 1) : 0;
}

void fai_portrait_turn(const FaClip *clip, double turn[9]) {
    static const double y[3] = {0, 1, 0}, z[3] = {0, 0, 1}, UPRIGHT = 0.6, TURNED = 0.64, AROUND = 0.3,
                        SQUARE = 0.94; // cosines
    double up[3] = {0}, front[3] = {0}, begin[3] = {0};
    for (int i = 0; i < 9; i++) turn[i] = i % 4 == 0;
    if (!clip || !clip->head) return;
    for (int f = 0; f < clip->nframe; f++) {
        double u[3], v[3];
        turned(clip->head[f].q, y, u);
        turned(clip->head[f].q, z, v);
        if (f == 0) memcpy(begin, v, sizeof v);
        for (int k = 0; k < 3; k++) up[k] += u[k] / clip->nframe, front[k] += v[k] / clip->nframe;
    }
    if (up[1] < UPRIGHT * fai_v3_norm(up)) { // lying: the clip's world is not the face's
        double row[3][3];
        nearest(up, NULL, row[1]);
        nearest(front, row[1], row[2]);
        fai_v3_cross(row[1], row[2], row[0]);
        memcpy(turn, row, sizeof row);
        return;
    }
    if (hypot(front[0], front[2]) < AROUND) memcpy(front, begin, sizeof front); // it looks everywhere
    double length = hypot(front[0], front[2]);
    if (!(length > 0) || front[2] > TURNED * length) return;
    // a quarter or half a turn is the file's; what the actor adds to it stays
    double s = front[0] / length, c = front[2] / length;
    if (fabs(s) > SQUARE || fabs(c) > SQUARE) s = round(s), c = round(c);
    const double about_y[9] = {c, 0, -s, 0, 1, 0, s, 0, c};
    memcpy(turn, about_y, sizeof about_y);
}

bool fai_portrait_travels(const FaRig *rig, const FaClip *clip, const double point[3], double size) {
    static const double FAR = 0.35;
    double begin[3] = {0};
    for (int f = 0; clip && clip->head && f < clip->nframe; f++) {
        FaPose pose = fa_rig_pose(rig, &clip->head[f]);
        double at[3], way[3];
        turned(pose.q, point, at);
        fai_v3_add(at, pose.p, at);
        if (f == 0) memcpy(begin, at, sizeof at);
        fai_v3_sub(at, begin, way);
        if (fai_v3_norm(way) > FAR * size) return true;
    }
    return false;
}
