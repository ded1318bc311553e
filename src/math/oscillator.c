// Based on: [DD] divided differences of the exponential; the three damping cases of paper 003 (eq. 11-24 there) are
// one formula here. With a = (z1 + z2)/2, d = (z1 - z2)/2, w = z1 z2:
//   E0 = e^a cosh d,  E1 = e^a sinh(d)/d = exp[z1,z2],
//   exp[0,z1,z2]   = (1 - E0 + a E1) / w,
//   exp[0,0,z1,z2] = (1 - E1 + 2 a exp[0,z1,z2]) / w,
// which cancel when w is small. Three regions, each safe:
//   small:     both |z| <= 2: Taylor series in the complete homogeneous polynomials of z1, z2 (real also for a pair)
//   separated: real roots further apart than 1: divided differences of phi1(z) = expm1(z)/z and phi2(z) = (phi1(z) -
//   1)/z else:      the closed forms; w > 1 there.
#include "math/oscillator.h"

#include <math.h>

typedef struct Differences {
    double e0, e1;     // e^a cosh d, exp[z1,z2]
    double xx, vv;     // e0 - a e1, e0 + a e1
    double step, ramp; // exp[0,z1,z2], exp[0,0,z1,z2]
} Differences;

static double phi1(double z) { return fabs(z) < 1e-300 ? 1 : expm1(z) / z; }

// (phi1(z) - 1)/z, by series where the subtraction would cancel.
static double phi2(double z) {
    if (fabs(z) > 0.5) return (phi1(z) - 1) / z;
    double sum = 0, term = 0.5;
    for (int n = 3; n < 24; n++) {
        sum += term;
        term *= z / n;
    }
    return sum;
}

// sum over n of h_n(z1, z2) / (n + shift)!, h_n = s h_(n-1) - w h_(n-2)
static double series(double s, double w, int shift) {
    double before = 0, h = 1, scale = 1, sum = 0;
    for (int n = 2; n <= shift; n++) scale /= n;
    for (int n = 0; n < 48; n++) {
        sum += h * scale;
        double next = s * h - w * before;
        before = h;
        h = next;
        scale /= n + 1 + shift;
    }
    return sum;
}

static Differences differences(double m, double c, double k, double t) {
    double a = -0.5 * c * t / m, w = k / m * t * t;
    double q = a * a - w; // d squared: positive apart, negative a conjugate pair
    Differences r;

    // e^a cosh d and e^a sinh(d)/d, without overflow for large d (then e^(a+d) <= 1)
    if (q > 1) {
        double d = sqrt(q), big = a - d, small = w > 0 ? w / big : 0; // the small root without cancellation
        double e_small = exp(small), e_big = exp(big);
        r.e0 = 0.5 * (e_small + e_big);
        r.e1 = (e_small - e_big) / (2 * d);
        r.xx = (small * e_big - big * e_small) / (2 * d);
        r.vv = (small * e_small - big * e_big) / (2 * d); // e0 and a e1 nearly cancel when the roots are far apart
    } else if (q >= -1) {
        double term = 1, cosine = 0, sine = 0;
        for (int n = 0; n < 24; n += 2) {
            cosine += term;
            sine += term / (n + 1);
            term *= q / ((n + 1) * (n + 2));
        }
        r.e0 = exp(a) * cosine;
        r.e1 = exp(a) * sine;
    } else {
        double d = sqrt(-q);
        r.e0 = exp(a) * cos(d);
        r.e1 = exp(a) * sin(d) / d;
    }
    if (q <= 1) {
        r.xx = r.e0 - a * r.e1;
        r.vv = r.e0 + a * r.e1;
    }

    double largest = q > 0 ? -a + sqrt(q) : sqrt(w);
    if (largest <= 2) {
        r.step = series(2 * a, w, 2);
        r.ramp = series(2 * a, w, 3);
    } else if (q > 0.25) {
        double z2 = a - sqrt(q), z1 = w / z2;
        r.step = (phi1(z1) - phi1(z2)) / (z1 - z2);
        r.ramp = (phi2(z1) - phi2(z2)) / (z1 - z2);
    } else {
        r.step = (1 - r.e0 + a * r.e1) / w;
        r.ramp = (1 - r.e1 + 2 * a * r.step) / w;
    }
    return r;
}

FaOscillatorStep fai_oscillator_step(double m, double c, double k, double h) {
    Differences d = differences(m, c, k, h);
    return (FaOscillatorStep){
        .xx = d.xx,
        .xv = h * d.e1,
        .x0 = h * h / m * d.step,
        .x1 = h * h / m * d.ramp,
        .vx = -k / m * h * d.e1,
        .vv = d.vv,
        .v0 = h / m * d.e1,
        .v1 = h / m * d.step,
    };
}

double fai_oscillator_response(double m, double c, double k, double t) {
    return t * t / m * differences(m, c, k, t).step;
}
