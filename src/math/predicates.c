// Based on: Shewchuk, Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates, 1997.
// Deviation: coordinates are floats, so a product of two is exact in double and a product of three is a sum of two
// doubles; the determinant is summed from those directly, without exact differences.
#include "math/predicates.h"

// A number as a sum of doubles that do not overlap, smallest first; its sign is that of the last.
typedef struct Sum {
    int n;
    double part[64];
} Sum;

static void add(Sum *s, double value) {
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        // value + part = high + low without error
        double part = s->part[i], high = value + part, virtual_part = high - value;
        double low = (value - (high - virtual_part)) + (part - virtual_part);
        if (low != 0) s->part[n++] = low;
        value = high;
    }
    if (value != 0) s->part[n++] = value;
    s->n = n;
}

static int sign(const Sum *s) {
    if (s->n == 0) return 0;
    return s->part[s->n - 1] > 0 ? 1 : -1;
}

// factor * x * y * z, factor 1 or -1: x y is exact in 48 bits; cut in two, each half times z's 24 bits is exact again.
static void add_product(Sum *s, double factor, float x, float y, float z) {
    double xy = factor * (double)x * (double)y;
    double big = xy * 134217729.0, head = big - (big - xy); // the leading 26 bits
    add(s, (xy - head) * (double)z);
    add(s, head * (double)z);
}

// factor * determinant of the rows p, q, r.
static void add_determinant(Sum *s, double factor, const float p[3], const float q[3], const float r[3]) {
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        add_product(s, factor, p[i], q[j], r[k]);
        add_product(s, -factor, p[i], q[k], r[j]);
    }
}

int fai_orient3d_exact(const float a[3], const float b[3], const float c[3], const float d[3]) {
    Sum s = {.n = 0};
    add_determinant(&s, 1, b, c, d);
    add_determinant(&s, -1, a, c, d);
    add_determinant(&s, 1, a, b, d);
    add_determinant(&s, -1, a, b, c);
    return sign(&s);
}

int fai_orient2d(const float *a, const float *b, const float *c, int i, int j) {
    double bx = (double)b[i] - a[i], by = (double)b[j] - a[j], cx = (double)c[i] - a[i], cy = (double)c[j] - a[j];
    double left = bx * cy, right = by * cx, det = left - right, sum = fabs(left) + fabs(right);
    // Shewchuk's bound: (3 + 16 u) u
    if (det > 3.4e-16 * sum) return 1;
    if (det < -3.4e-16 * sum) return -1;
    if (sum == 0) return 0;
    Sum s = {.n = 0};
    add(&s, (double)b[i] * c[j]);
    add(&s, -(double)b[j] * c[i]);
    add(&s, -(double)a[i] * c[j]);
    add(&s, (double)a[j] * c[i]);
    add(&s, (double)a[i] * b[j]);
    add(&s, -(double)a[j] * b[i]);
    return sign(&s);
}
