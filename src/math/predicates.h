// On which side does a point lie? Answered exactly for points given as floats: a fast test in double decides almost
// always, and says when it cannot; then the sum is taken without rounding.
//
// Exact means that answers never contradict each other, so that algorithms that only ask this cannot be led astray by
// slivers, touching or flat input. Coordinates must be finite; nothing overflows or vanishes.
#ifndef FAI_PREDICATES_H
#define FAI_PREDICATES_H

#include <math.h>

enum { FA_UNSURE = 2 };

// Sign of (b - a) x (c - a) . (d - a): 1 if d lies on the side that abc's normal points to, 0 in its plane.
int fai_orient3d_exact(const float a[3], const float b[3], const float c[3], const float d[3]);

// The same, or FA_UNSURE. The bound is Shewchuk's for the subtracted form: (7 + 56 u) u times the sum of magnitudes.
static inline int fai_orient3d_quick(const float a[3], const float b[3], const float c[3], const float d[3]) {
    double bx = (double)b[0] - a[0], by = (double)b[1] - a[1], bz = (double)b[2] - a[2];
    double cx = (double)c[0] - a[0], cy = (double)c[1] - a[1], cz = (double)c[2] - a[2];
    double dx = (double)d[0] - a[0], dy = (double)d[1] - a[1], dz = (double)d[2] - a[2];
    double x0 = by * cz, x1 = bz * cy, y0 = bz * cx, y1 = bx * cz, z0 = bx * cy, z1 = by * cx;
    double det = (x0 - x1) * dx + (y0 - y1) * dy + (z0 - z1) * dz;
    double sum = (fabs(x0) + fabs(x1)) * fabs(dx) + (fabs(y0) + fabs(y1)) * fabs(dy) + (fabs(z0) + fabs(z1)) * fabs(dz);
    double bound = 7.8e-16 * sum;
    if (det > bound) return 1;
    if (det < -bound) return -1;
    return sum == 0 ? 0 : FA_UNSURE;
}

static inline int fai_orient3d(const float a[3], const float b[3], const float c[3], const float d[3]) {
    int side = fai_orient3d_quick(a, b, c, d);
    return side == FA_UNSURE ? fai_orient3d_exact(a, b, c, d) : side;
}

// Is e inside the sphere through a, b, c, d? 1: strictly inside, 0: on it, -1: outside, where d lies on the side that
// abc's normal points to (fai_orient3d > 0); the other way round where it lies on the other.
int fai_insphere_exact(const float a[3], const float b[3], const float c[3], const float d[3], const float e[3]);

// The same, or FA_UNSURE: also where the sum of magnitudes is near the ends of double's range.
int fai_insphere_quick(const float a[3], const float b[3], const float c[3], const float d[3], const float e[3]);

static inline int fai_insphere(const float a[3], const float b[3], const float c[3], const float d[3],
                               const float e[3]) {
    int side = fai_insphere_quick(a, b, c, d, e);
    return side == FA_UNSURE ? fai_insphere_exact(a, b, c, d, e) : side;
}

// Sign of (b - a) x (c - a) in the plane of the coordinates i and j: 1 if a, b, c turn left.
int fai_orient2d(const float *a, const float *b, const float *c, int i, int j);

#endif
