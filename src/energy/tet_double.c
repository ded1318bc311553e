// One tet in double, step by step: the truth beside the kernels.
#include "energy/tet.h"
#include "math/mat3.h"

#include <math.h>

// --- the closest values with a given product ----------------------------------------------------------------------

// With x[2] = t the Lagrange conditions x_i (s_i - x_i) = t (s[2] - t) give the other two. Returns the product, and its
// derivative by t.
static double product_at(const double s[3], double t, double x[3], double *slope) {
    double m = t * (s[2] - t), r[2];
    for (int i = 0; i < 2; i++) {
        r[i] = sqrt(fmax(s[i] * s[i] - 4 * m, 1e-60));
        x[i] = (s[i] + r[i]) / 2;
    }
    x[2] = t;
    *slope = x[0] * x[1] + t * (2 * t - s[2]) * (x[1] / r[0] + x[0] / r[1]);
    return x[0] * x[1] * t;
}

static double distance2(const double a[3], const double b[3]) {
    double d[3];
    fai_v3_sub(a, b, d);
    return fai_v3_dot(d, d);
}

// The root between low (product too small) and high (large enough): Newton, kept between by halving.
static void root_between(const double s[3], double d, double low, double high, double x[3]) {
    double t = high, slope;
    for (int k = 0; k < 200; k++) {
        double f = product_at(s, t, x, &slope) - d;
        if (f > 0)
            high = t;
        else
            low = t;
        double next = t - f / slope;
        if (!(next > low && next < high)) next = (low + high) / 2;
        if (next == t || high - low <= 1e-16 * fabs(high)) break;
        t = next;
    }
    product_at(s, t, x, &slope);
}

void fai_volume_closest(const double s[3], double d, double x[3]) {
    double bend = fmax(s[2] / 2, 0), y[3], slope, best = INFINITY;
    memcpy(x, s, sizeof y); // what is no number stays so
    // round: x[2] >= s[2] / 2, where the product rises
    if (product_at(s, bend, y, &slope) <= d) {
        double high = fmax(2 * bend, cbrt(d)) + 1e-9;
        while (product_at(s, high, y, &slope) < d) high *= 2;
        root_between(s, d, bend, high, x);
        best = distance2(s, x);
    }
    // flat: x[2] < s[2] / 2, only where the volume has to be halved at least; the first place where the product is
    // reached
    double least = d / (s[0] * s[1]), last = 0;
    for (int k = 1; s[0] * s[1] * s[2] > 2 * d && k <= 400; k++) {
        double t = least + (bend - least) * k / 400;
        if (product_at(s, t, y, &slope) < d) {
            last = t;
            continue;
        }
        root_between(s, d, fmax(last, 0), t, y);
        if (distance2(s, y) < best) memcpy(x, y, sizeof y);
        break;
    }
}

// --- energy -------------------------------------------------------------------------------------------------------

static double add_strain(const double f[9], const double f_g[9], double w, double by_f[9]) {
    double m[9], rest[9], back[9], r[9], p[9], sum = 0;
    fai_m3_identity(rest);
    if (f_g) memcpy(rest, f_g, sizeof rest);
    fai_m3_transpose(rest, back);
    fai_m3_mul(f, back, m);
    fai_m3_polar(m, r, NULL);
    fai_m3_mul(r, rest, p);
    for (int e = 0; e < 9; e++) {
        sum += w / 2 * (f[e] - p[e]) * (f[e] - p[e]);
        by_f[e] += w * (f[e] - p[e]);
    }
    return sum;
}

static double add_volume(const double f[9], const double f_g[9], double w, double by_f[9]) {
    double u[9], s[3], v[9], x[3], p[9], vt[9], sum = 0;
    fai_m3_svd(f, u, s, v);
    fai_volume_closest(s, f_g ? fai_m3_det(f_g) : 1, x);
    for (int e = 0; e < 9; e++) p[e] = u[e] * x[e % 3];
    fai_m3_transpose(v, vt);
    fai_m3_mul(p, vt, p);
    for (int k = 0; k < 3; k++) sum += w / 2 * (s[k] - x[k]) * (s[k] - x[k]);
    for (int e = 0; e < 9; e++) by_f[e] += w * (f[e] - p[e]);
    return sum;
}

double fai_tet_energy_ref(const double dm_inv[9], const double f_g[9], double w_s, double w_v, const double u[4][3],
                          double gradient[12]) {
    double d[9], f[9], by_f[9] = {0}, energy = 0;
    for (int e = 0; e < 9; e++) d[e] = u[1 + e % 3][e / 3] - u[0][e / 3];
    fai_m3_mul(d, dm_inv, f);
    for (int k = 0; k < 9; k += 4) f[k] += 1;
    if (w_s != 0) energy += add_strain(f, f_g, w_s, by_f);
    if (w_v != 0 && (!f_g || fai_m3_det(f_g) > (double)FA_TET_LEAST_VOLUME)) energy += add_volume(f, f_g, w_v, by_f);
    if (!gradient) return energy;
    memset(gradient, 0, 12 * sizeof *gradient);
    for (int k = 0; k < 3; k++)
        for (int r = 0; r < 3; r++) {
            gradient[3 * (k + 1) + r] = fai_v3_dot(by_f + 3 * r, dm_inv + 3 * k);
            gradient[r] -= gradient[3 * (k + 1) + r];
        }
    return energy;
}
