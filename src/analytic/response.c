// The oscillator as the paper uses it: from rest in the source at t = 0 to the target at t = 1; and under forces of its
// own.
//
// Based on: [A03] You, Tian, Tang, Highly efficient facial blendshape animation with analytical dynamic deformations.
// Symbols: m, c, k -> mass, damping, stiffness; q3, q4 of (20) -> -ratio w, wd; f of (13), (18), (24) is proportional
// to 1 / g(1), so that x(t) = s(t) (x2 - x1), s = g(t) / g(1). Deviation: one formula for the three cases
// (math/oscillator.c), and (10), which should read f/k.
#include "analytic/sculpt.h"
#include "base/base.h"
#include "base/number.h"
#include "fascia/analytic.h"
#include "math/oscillator.h"

#include <complex.h>
#include <math.h>

// --- oscillators --------------------------------------------------------------------------------------------------

FaOscillator fa_oscillator_of(double mass, double frequency, double ratio) {
    double w = 2 * M_PI * frequency;
    return (FaOscillator){mass, 2 * ratio * w * mass, mass * w * w};
}

double fa_oscillator_frequency(const FaOscillator *o) { return sqrt(o->stiffness / o->mass) / (2 * M_PI); }

double fa_oscillator_ratio(const FaOscillator *o) {
    return o->stiffness > 0 ? 0.5 * o->damping / sqrt(o->stiffness * o->mass) : (double)INFINITY;
}

FaCode fa_oscillator_check(const FaOscillator *o, FaError *err) {
    bool good = o->mass > 0 && o->damping >= 0 && o->stiffness >= 0 && isfinite(o->mass) && isfinite(o->damping) &&
                isfinite(o->stiffness);
    if (good) return FA_OK;
    char m[FA_NUMBER_SIZE], c[FA_NUMBER_SIZE], k[FA_NUMBER_SIZE];
    fai_format_double(m, o->mass);
    fai_format_double(c, o->damping);
    fai_format_double(k, o->stiffness);
    return FA_FAIL(err, FA_E_ARG, NULL, "mass must be above 0, damping and stiffness not below 0",
                   "this is no spring: mass %s, damping %s, stiffness %s", m, c, k);
}

bool fa_oscillator_preset(const char *name, FaOscillator *o) {
    // frequency, ratio: a weight lags by ratio / (pi frequency) s behind a steady movement
    static const struct {
        const char *name;
        double frequency, ratio;
    } presets[] = {
        {"soft", 6, 0.5},    // 27 ms, overshoots by 16 %: flesh that is seen to move
        {"heavy", 3, 0.7},   // 74 ms, 5 %
        {"snappy", 10, 0.8}, // 25 ms, 2 %
        {"firm", 16, 1},     // 20 ms, none
        {"jelly", 4, 0.15},  // 12 ms, 62 %, rings for a second
    };
    for (int i = 0; i < FA_COUNT(presets); i++)
        if (!strcmp(presets[i].name, name))
            return *o = fa_oscillator_of(1, presets[i].frequency, presets[i].ratio), true;
    return false;
}

// --- the boundary value problem -----------------------------------------------------------------------------------

static double g(const FaOscillator *o, double t) {
    return fai_oscillator_response(o->mass, o->damping, o->stiffness, t);
}

// The largest g on [0, 1]: g rises until its first peak, at half a period, and no later peak is higher.
static double largest(const FaOscillator *o) {
    double q4 = 0.5 / o->mass * sqrt(fmax(4 * o->mass * o->stiffness - o->damping * o->damping, 0));
    return g(o, q4 > M_PI ? M_PI / q4 : 1);
}

static double share(const FaOscillator *o) { return fabs(g(o, 1)) / largest(o); }

// The least damping above o's whose motion does not overshoot the target twofold.
static double valid_damping(const FaOscillator *o) {
    double lo = o->damping, hi = 2 * sqrt(o->mass * o->stiffness);
    for (int i = 0; i < 60; i++) {
        FaOscillator mid = {o->mass, 0.5 * (lo + hi), o->stiffness};
        if (share(&mid) >= 0.5)
            hi = mid.damping;
        else
            lo = mid.damping;
    }
    double unit = pow(10, floor(log10(hi)) - 1); // two digits, rounded up
    return ceil(hi / unit) * unit;
}

static FaCode check_posed(const FaOscillator *o, FaError *err) {
    FA_TRY(fa_oscillator_check(o, err));
    double s = share(o);
    if (s >= 1e-3) return FA_OK;
    char m[FA_NUMBER_SIZE], c[FA_NUMBER_SIZE], k[FA_NUMBER_SIZE], better[FA_NUMBER_SIZE];
    fai_format_double(m, o->mass);
    fai_format_double(c, o->damping);
    fai_format_double(k, o->stiffness);
    fai_format_float(better, (float)valid_damping(o));
    return FA_FAIL(err, FA_E_NUMERIC, NULL, FA_PLACE("raise the damping to %s, or change mass or stiffness", better),
                   "mass %s, damping %s, stiffness %s swings back to the source at t = 1: the target cannot be reached",
                   m, c, k);
}

FaCode fa_analytic_response(const FaOscillator *o, double t, double *s, FaError *err) {
    *s = 0;
    if (!(t >= 0) || !isfinite(t))
        return FA_FAIL(err, FA_E_ARG, NULL, "0 is the source, 1 the target", "the time is below 0 or not a number");
    FA_TRY(check_posed(o, err));
    *s = g(o, t) / g(o, 1);
    return FA_OK;
}

double fa_analytic_overshoot(const FaOscillator *o) {
    if (check_posed(o, NULL) < 0) return 0;
    return 1 / share(o);
}

FaCode fa_analytic_slider(const FaOscillator *o, int n, const double *weight, const double *time, float *out,
                          FaError *err) {
    FA_TRY(check_posed(o, err));
    double one = g(o, 1);
    for (int i = 0; i < n; i++) {
        if (!(time[i] >= 0) || !isfinite(time[i]) || !isfinite(weight[i]))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("target %d", i),
                           "times are 0 (source) or later, weights are numbers", "weight or time is wrong");
        out[i] = (float)(weight[i] * g(o, time[i]) / one);
    }
    return FA_OK;
}

// --- forces -------------------------------------------------------------------------------------------------------

// exp of the upper bidiagonal matrix with diagonal z and ones above it; its corner is the divided difference
// exp[z0, z1, z2]. Scaling and squaring, with the diagonal set anew each time so that its errors do not pile up.
static double complex difference_by_squaring(const double complex z[3]) {
    double size = 1;
    for (int i = 0; i < 3; i++) size = fmax(size, cabs(z[i]));
    int halvings = (int)ceil(log2(size)) + 2;
    double scale = ldexp(1, -halvings);
    double complex d[3], up[2], corner = 0;
    for (int i = 0; i < 3; i++) d[i] = z[i] * scale;
    // Taylor: divided differences of exp are sums of complete homogeneous polynomials over factorials
    for (int i = 0; i < 2; i++) {
        double complex h = 1, p = 1;
        double f = 1;
        up[i] = 0;
        for (int n = 0; n < 20; n++) {
            up[i] += h * f;
            p *= d[i];
            h = h * d[i + 1] + p;
            f /= n + 2;
        }
        up[i] *= scale;
    }
    double complex h1 = 1, h2 = 1, p = 1; // of one, two and three nodes
    double f = 0.5;
    for (int n = 0; n < 20; n++) {
        corner += h2 * f;
        p *= d[0];
        h1 = h1 * d[1] + p;
        h2 = h2 * d[2] + h1;
        f /= n + 3;
    }
    corner *= scale * scale;
    for (int j = halvings; j > 0; j--) {
        double complex e[3];
        for (int i = 0; i < 3; i++) e[i] = cexp(z[i] * ldexp(1, -j));
        corner = corner * (e[0] + e[2]) + up[0] * up[1];
        for (int i = 0; i < 2; i++) up[i] = up[i] * (e[i] + e[i + 1]);
    }
    return corner;
}

static double complex difference(const double complex z[3]) {
    double complex a = z[0] - z[1], b = z[0] - z[2], c = z[1] - z[2];
    if (cabs(a) < 1 || cabs(b) < 1 || cabs(c) < 1) return difference_by_squaring(z);
    return cexp(z[0]) / (a * b) - cexp(z[1]) / (a * c) + cexp(z[2]) / (b * c);
}

// The answer to e^(i w t) from rest: t^2/m exp[z1, z2, i w t].
static double complex wave(const FaOscillator *o, double w, double t) {
    double a = -0.5 * o->damping / o->mass, q = a * a - o->stiffness / o->mass;
    double complex root = csqrt(q), z[3] = {(a + root) * t, (a - root) * t, I * w * t};
    if (q > 0 && a < 0) z[0] = o->stiffness / o->mass / (a - sqrt(q)) * t; // the small root without cancellation
    return t * t / o->mass * difference(z);
}

double fa_analytic_force(const FaOscillator *o, const FaForce *f, double t) {
    double k = o->stiffness > 0 ? o->stiffness : 1;
    if (!(t > 0)) return 0;
    switch (f->kind) {
    case FA_FORCE_CONSTANT: return f->size * k * g(o, t);
    case FA_FORCE_LINEAR: return f->size * t * k * fai_oscillator_step(o->mass, o->damping, o->stiffness, t).x1;
    case FA_FORCE_SINE: return f->size * k * cimag(cexp(I * f->phase) * wave(o, 2 * M_PI * f->rate, t));
    }
    return 0;
}

static FaCode bad_force(const char *text, FaError *err) {
    return FA_FAIL(err, FA_E_ARG, NULL, "write constant:SIZE, linear:SIZE or sine:SIZE:HZ[:DEGREES]",
                   "'%.80s' is no force", text);
}

FaCode fa_force_parse(const char *text, FaForce *force, FaError *err) {
    static const char *const kinds[] = {"constant", "linear", "sine"};
    *force = (FaForce){0};
    size_t n = strcspn(text, ":");
    int kind = 0;
    while (kind < 3 && (strlen(kinds[kind]) != n || strncmp(kinds[kind], text, n))) kind++;
    if (kind == 3 || !text[n]) return bad_force(text, err);
    force->kind = (FaForceKind)kind;
    double v[3] = {0};
    int count = 0;
    const char *at = text + n, *end = text + strlen(text);
    while (at && *at == ':' && count < 3) {
        at = fai_parse_double(at + 1, end, &v[count]);
        if (at && !isfinite(v[count])) at = NULL;
        count++;
    }
    bool right = kind == FA_FORCE_SINE ? count >= 2 : count == 1;
    if (!at || *at || !right) return bad_force(text, err);
    force->size = v[0];
    force->rate = v[1];
    force->phase = v[2] * M_PI / 180;
    return FA_OK;
}

// --- forces on shapes ---------------------------------------------------------------------------------------------

// One force on each shape that the name means.
static FaCode add_sculpts(const FaRig *rig, const char *name, const FaForce *force, FaSculpts *out, FaError *err) {
    int shape[FA_NAMED_MOST], n;
    FA_TRY(fa_rig_shapes_named(rig, name, shape, FA_NAMED_MOST, &n, err));
    for (int i = 0; i < n; i++) {
        FaSculpt *more = fai_grow_array(out->sculpt, &out->room, out->count + 1, sizeof *more);
        if (!more) return FA_FAIL_MEMORY(err);
        out->sculpt = more;
        more[out->count++] = (FaSculpt){shape[i], *force};
    }
    return FA_OK;
}

FaCode fai_sculpts_parse(const char *text, const FaRig *rig, FaSculpts *out, FaError *err) {
    while (*text) {
        size_t n = strcspn(text, ","), name = strcspn(text, "=");
        char force[96], of[200];
        FaForce f;
        if (name >= n || n - name > sizeof force || name >= sizeof of) return bad_force(text, err);
        snprintf(of, sizeof of, "%.*s", (int)name, text);
        snprintf(force, sizeof force, "%.*s", (int)(n - name - 1), text + name + 1);
        FA_TRY(fa_force_parse(force, &f, err));
        FA_TRY(add_sculpts(rig, of, &f, out, err));
        text += n + (text[n] == ',');
    }
    return FA_OK;
}

void fai_sculpts_free(FaSculpts *s) {
    fa_free(s->sculpt);
    *s = (FaSculpts){0};
}
