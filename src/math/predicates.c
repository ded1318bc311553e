// Based on: Shewchuk, Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates, 1997.
// Deviation: coordinates are floats, so a product of two is exact in double and a product of three is a sum of two
// doubles; the determinant is summed from those directly, without exact differences.
#include "math/predicates.h"

// A number as a sum of doubles that do not overlap, smallest first; its sign is that of the last.
typedef struct Sum {
    int n;
    double part[64];
} Sum;

// One more term: the new number of parts, at most one more than before.
static int grow(double *sum, int n, double value) {
    int left = 0;
    for (int i = 0; i < n; i++) {
        // value + part = high + low without error
        double part = sum[i], high = value + part, virtual_part = high - value;
        double low = (value - (high - virtual_part)) + (part - virtual_part);
        if (low != 0) sum[left++] = low;
        value = high;
    }
    if (value != 0) sum[left++] = value;
    return left;
}

static void add(Sum *s, double value) { s->n = grow(s->part, s->n, value); }

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

static void orient(Sum *s, const float a[3], const float b[3], const float c[3], const float d[3]) {
    s->n = 0;
    add_determinant(s, 1, b, c, d);
    add_determinant(s, -1, a, c, d);
    add_determinant(s, 1, a, b, d);
    add_determinant(s, -1, a, b, c);
}

int fai_orient3d_exact(const float a[3], const float b[3], const float c[3], const float d[3]) {
    Sum s;
    orient(&s, a, b, c, d);
    return sign(&s);
}

// The determinant with the rows (x, y, z, x^2 + y^2 + z^2, 1), along its fourth column: the squares are exact in
// double, and each times a part of the other points' orientation is a sum of two doubles. 5 x 3 x 2 x 48 terms at most.
int fai_insphere_exact(const float a[3], const float b[3], const float c[3], const float d[3], const float e[3]) {
    const float *p[5] = {a, b, c, d, e};
    double sum[1440];
    int n = 0;
    for (int i = 0; i < 5; i++) {
        const float *q[4];
        for (int k = 0; k < 4; k++) q[k] = p[k < i ? k : k + 1];
        Sum s;
        orient(&s, q[0], q[1], q[2], q[3]);
        for (int k = 0; k < 3; k++) {
            double square = (double)p[i][k] * (double)p[i][k];
            if (i % 2) square = -square;
            for (int j = 0; j < s.n; j++) {
                double high = s.part[j] * square, low = fma(s.part[j], square, -high);
                n = grow(sum, grow(sum, n, low), high);
            }
        }
    }
    return n == 0 ? 0 : sum[n - 1] > 0 ? -1 : 1;
}

// Points relative to e; the determinant is sum over pairs of (2x2 minor in x, y) times what the two others give in z
// and their squares.
int fai_insphere_quick(const float a[3], const float b[3], const float c[3], const float d[3], const float e[3]) {
    const float *p[4] = {a, b, c, d};
    double x[4], y[4], z[4], l[4];
    for (int i = 0; i < 4; i++) {
        x[i] = (double)p[i][0] - e[0], y[i] = (double)p[i][1] - e[1], z[i] = (double)p[i][2] - e[2];
        l[i] = x[i] * x[i] + y[i] * y[i] + z[i] * z[i];
    }
    // rounding: 4 u of a minor, 8 u of what it is multiplied with, 1 + 5 u of product and sum, u = 1.1e-16
    static const int pair[6][4] = {{0, 1, 2, 3}, {1, 2, 0, 3}, {2, 3, 0, 1}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}};
    double det = 0, sum = 0;
    for (int k = 0; k < 6; k++) {
        int i = pair[k][0], j = pair[k][1], m = pair[k][2], n = pair[k][3];
        double left = x[i] * y[j], right = x[j] * y[i], low = z[m] * l[n], high = z[n] * l[m];
        det += (left - right) * (low - high);
        sum += (fabs(left) + fabs(right)) * (fabs(low) + fabs(high));
    }
    double bound = 2.4e-15 * sum;
    if (!(sum > 1e-280 && sum < 1e280)) return FA_UNSURE;
    return det > bound ? -1 : det < -bound ? 1 : FA_UNSURE;
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
