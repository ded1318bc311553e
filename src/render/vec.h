// Three floats, by value: all the geometry a picture needs.
#ifndef FAI_VEC_H
#define FAI_VEC_H

#include <math.h>

typedef struct FaVec {
    float x, y, z;
} FaVec;

static inline FaVec fai_vec(float x, float y, float z) { return (FaVec){x, y, z}; }
static inline FaVec fai_vec_of(const float *p) { return (FaVec){p[0], p[1], p[2]}; }
static inline FaVec fai_add(FaVec a, FaVec b) { return fai_vec(a.x + b.x, a.y + b.y, a.z + b.z); }
static inline FaVec fai_sub(FaVec a, FaVec b) { return fai_vec(a.x - b.x, a.y - b.y, a.z - b.z); }
static inline FaVec fai_mul(FaVec a, FaVec b) { return fai_vec(a.x * b.x, a.y * b.y, a.z * b.z); }
static inline FaVec fai_scale(FaVec a, float s) { return fai_vec(a.x * s, a.y * s, a.z * s); }
static inline FaVec fai_mad(FaVec a, FaVec b, float s) { return fai_vec(a.x + b.x * s, a.y + b.y * s, a.z + b.z * s); }
static inline FaVec fai_lerp(FaVec a, FaVec b, float t) { return fai_mad(a, fai_sub(b, a), t); }
static inline float fai_dot(FaVec a, FaVec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline float fai_len(FaVec a) { return sqrtf(fai_dot(a, a)); }
static inline FaVec fai_cross(FaVec a, FaVec b) {
    return fai_vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline FaVec fai_unit(FaVec a) {
    float n = fai_len(a);
    return n > 0 ? fai_scale(a, 1 / n) : a;
}
static inline float fai_clamp01(float v) { return v < 0 ? 0 : v > 1 ? 1 : v; }
static inline float fai_smooth(float a, float b, float v) { // 0 below a, 1 above b
    float t = fai_clamp01((v - a) / (b - a));
    return t * t * (3 - 2 * t);
}

// Two directions that complete unit n to a right-handed frame, without a square root or a seam at the poles.
static inline void fai_frame(FaVec n, FaVec *s, FaVec *t) {
    float sign = n.z < 0 ? -1.0f : 1.0f;
    float a = -1 / (sign + n.z), b = n.x * n.y * a;
    *s = fai_vec(1 + sign * n.x * n.x * a, sign * b, -sign * n.x);
    *t = fai_vec(b, sign + n.y * n.y * a, -n.y);
}

#endif
