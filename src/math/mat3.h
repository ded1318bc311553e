// Vectors, 3x3 matrices, quaternions and poses, in double. Matrices are row-major; quaternions are x y z w, as in
// FaPose. Outputs may be the same array as an input.
#ifndef FAI_MAT3_H
#define FAI_MAT3_H

#include "base/base.h"
#include "fascia/clip.h"

#include <math.h>

// --- vectors ------------------------------------------------------------------------------------------------------

static inline void fai_v3_load(const float *x, int v, double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = (double)x[3 * (size_t)v + k];
}

static inline void fai_v3_set(double out[3], double x, double y, double z) {
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

static inline double fai_v3_dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline double fai_v3_norm(const double a[3]) { return sqrt(fai_v3_dot(a, a)); }

static inline void fai_v3_add(const double a[3], const double b[3], double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = a[k] + b[k];
}

static inline void fai_v3_sub(const double a[3], const double b[3], double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = a[k] - b[k];
}

static inline void fai_v3_scale(double s, const double a[3], double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = s * a[k];
}

// out = a + s b
static inline void fai_v3_mad(const double a[3], double s, const double b[3], double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = a[k] + s * b[k];
}

static inline void fai_v3_cross(const double a[3], const double b[3], double out[3]) {
    fai_v3_set(out, a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
}

// (b - a) x (c - a) of a triangle's corners: its normal, twice its area long.
static inline void fai_v3_tri_cross(const float *x, const int corner[3], double out[3]) {
    double a[3], b[3], c[3];
    fai_v3_load(x, corner[0], a);
    fai_v3_load(x, corner[1], b);
    fai_v3_load(x, corner[2], c);
    fai_v3_sub(b, a, b);
    fai_v3_sub(c, a, c);
    fai_v3_cross(b, c, out);
}

// To length 1; false, and untouched, for 0 and for what is not finite.
static inline bool fai_v3_normalize(double a[3]) {
    double size = fmax(fabs(a[0]), fmax(fabs(a[1]), fabs(a[2])));
    if (!(size > 0) || !isfinite(size)) return false;
    double b[3];
    for (int k = 0; k < 3; k++) b[k] = a[k] / size; // so that squares neither vanish nor overflow
    fai_v3_scale(1 / fai_v3_norm(b), b, a);
    return true;
}

// --- matrices -----------------------------------------------------------------------------------------------------

static inline void fai_m3_identity(double m[9]) {
    for (int i = 0; i < 9; i++) m[i] = i % 4 == 0;
}

static inline void fai_m3_mul(const double a[9], const double b[9], double out[9]) {
    double m[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) m[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
    memcpy(out, m, sizeof m);
}

static inline void fai_m3_transpose(const double a[9], double out[9]) {
    double m[9] = {a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]};
    memcpy(out, m, sizeof m);
}

static inline void fai_m3_mulv(const double a[9], const double v[3], double out[3]) {
    fai_v3_set(out, fai_v3_dot(a, v), fai_v3_dot(a + 3, v), fai_v3_dot(a + 6, v));
}

// out = a' v
static inline void fai_m3_tmulv(const double a[9], const double v[3], double out[3]) {
    fai_v3_set(out, a[0] * v[0] + a[3] * v[1] + a[6] * v[2], a[1] * v[0] + a[4] * v[1] + a[7] * v[2],
               a[2] * v[0] + a[5] * v[1] + a[8] * v[2]);
}

static inline double fai_m3_det(const double a[9]) {
    return a[0] * (a[4] * a[8] - a[5] * a[7]) + a[1] * (a[5] * a[6] - a[3] * a[8]) + a[2] * (a[3] * a[7] - a[4] * a[6]);
}

// False, and out untouched, where the determinant is 0 or not finite.
bool fai_m3_inverse(const double a[9], double out[9]);

// a = u diag(s) v', u and v proper rotations, s[0] >= s[1] >= |s[2]|; s[2] < 0 where a mirrors. Any finite a.
void fai_m3_svd(const double a[9], double u[9], double s[3], double v[9]);

// The closest rotation r, and the symmetric s with a = r s. r is proper even where a mirrors (s then is indefinite).
void fai_m3_polar(const double a[9], double r[9], double s[9]); // s nullable

// --- quaternions --------------------------------------------------------------------------------------------------

static inline double fai_q_dot(const double a[4], const double b[4]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

// First b, then a.
static inline void fai_q_mul(const double a[4], const double b[4], double out[4]) {
    double q[4] = {
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]};
    memcpy(out, q, sizeof q);
}

static inline void fai_q_conj(const double a[4], double out[4]) {
    for (int k = 0; k < 3; k++) out[k] = -a[k];
    out[3] = a[3];
}

// To length 1; false, and untouched, for 0 and for what is not finite.
bool fai_q_normalize(double q[4]);

static inline void fai_q_rotate(const double q[4], const double v[3], double out[3]) {
    // v + 2 w (u x v) + 2 u x (u x v)
    double t[3], c[3];
    fai_v3_cross(q, v, t);
    fai_v3_scale(2, t, t);
    fai_v3_cross(q, t, c);
    for (int k = 0; k < 3; k++) out[k] = v[k] + q[3] * t[k] + c[k];
}

void fai_q_to_m3(const double q[4], double m[9]);   // of a unit quaternion
void fai_q_from_m3(const double m[9], double q[4]); // of a rotation; w >= 0. Other matrices give some unit quaternion
void fai_q_exp(const double r[3], double q[4]);     // rotation vector: axis times angle (rad)
void fai_q_log(const double q[4], double r[3]);     // its inverse, of a unit quaternion; angle 0..pi
void fai_q_slerp(const double a[4], const double b[4], double t, double out[4]); // the short way, constant speed

// --- poses --------------------------------------------------------------------------------------------------------

static inline FaPose fai_pose_identity(void) { return (FaPose){{0, 0, 0, 1}, {0, 0, 0}}; }
FaPose fai_pose_mul(const FaPose *a, const FaPose *b); // first b, then a
FaPose fai_pose_inverse(const FaPose *a);

static inline void fai_pose_apply(const FaPose *pose, const double x[3], double out[3]) {
    double r[3];
    fai_q_rotate(pose->q, x, r);
    fai_v3_add(r, pose->p, out);
}

#endif
