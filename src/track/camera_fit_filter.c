// Smoothing in time that follows the measured noise. Each channel is a level that wanders: with noise s of the
// measurement and a wander q per frame, the steady Kalman gain is (-p^2 + sqrt(p^4 + 4p^2)) / 2, p = q / s. q is small
// at rest, and grows with the slow speed of the channel and at once with a jump that the noise does not explain, in the
// manner of the One-Euro filter.
#include "math/mat3.h"
#include "track/camera_fit.h"

#include <math.h>
#include <stdlib.h>

static const double REST = 0.06;       // wander at rest over the noise, per frame at 60 per second
static const double BEYOND = 2.5;      // noises beyond which a jump is motion
static const double AGREE = 2.2;       // noises within which windows agree
static const double WIDEST = 0.4;      // s: half of the widest window
static const double MOST_NOISE = 0.02; // of an expression: what moves more is taken as meant
static const double EDGE = 0.12;       // of the gaze from frame to frame: what bends more is meant
static const double SHUT = 0.55;       // weight of a blink from which on the iris is not seen
static const double SPEED_SLOW = 0.1;  // share of a new speed per frame at 60 per second

bool fai_filter_new(FaFitFilter *filter, int nexp, double smooth, FaArena *arena) {
    size_t n = 7 + (size_t)nexp;
    *filter = (FaFitFilter){.n = 3 + nexp, .smooth = smooth};
    filter->noise = FA_PUSH(arena, 3 + (size_t)nexp, double);
    filter->edge = FA_PUSH(arena, 3 + (size_t)nexp, double);
    filter->state = FA_PUSH(arena, n, double);
    filter->raw[0] = FA_PUSH(arena, n, double);
    filter->raw[1] = FA_PUSH(arena, n, double);
    filter->speed = FA_PUSH(arena, n, double);
    return filter->noise && filter->edge && filter->state && filter->raw[0] && filter->raw[1] && filter->speed;
}

void fai_filter_reset(FaFitFilter *filter) { filter->seen = 0; }

// What each channel group consists of: rotation vector of b against a, x and y, z, then each expression.
static int span(int channel) { return channel == 0 ? 3 : channel == 1 ? 2 : 1; }
static void difference(const double *a, const double *b, int channel, double out[3]) {
    out[0] = out[1] = out[2] = 0;
    if (channel == 0) {
        double inv[4], q[4];
        fai_q_conj(a, inv);
        fai_q_mul(b, inv, q);
        fai_q_log(q, out);
    } else if (channel == 1)
        for (int k = 0; k < 2; k++) out[k] = b[4 + k] - a[4 + k];
    else
        out[0] = b[4 + channel] - a[4 + channel];
}
static void advance(double *a, int channel, double gain, const double d[3]) {
    if (channel == 0) {
        double w[3], q[4];
        fai_v3_scale(gain, d, w);
        fai_q_exp(w, q);
        fai_q_mul(q, a, a);
        fai_q_normalize(a);
    } else if (channel == 1)
        for (int k = 0; k < 2; k++) a[4 + k] += gain * d[k];
    else
        a[4 + channel] += gain * d[0];
}
static double *speed_at(FaFitFilter *f, int channel) {
    return f->speed + (channel == 0 ? 0 : channel == 1 ? 3 : 3 + channel);
}

static double second_difference(const double *a, const double *b, const double *c, int channel) {
    double ab[3], bc[3], d[3];
    difference(a, b, channel, ab);
    difference(b, c, channel, bc);
    fai_v3_sub(bc, ab, d);
    return sqrt(fai_v3_dot(d, d) / span(channel) / 6); // of one coordinate of one frame
}

// The same from third differences, which heads that speed up do not show; four frames, n apart.
static double third_difference(const double *a, size_t n, int channel) {
    double e[3][3], d[3];
    for (int k = 0; k < 3; k++) difference(a + (size_t)k * n, a + ((size_t)k + 1) * n, channel, e[k]);
    for (int k = 0; k < 3; k++) d[k] = e[2][k] - 2 * e[1][k] + e[0][k];
    return sqrt(fai_v3_dot(d, d) / span(channel) / 20);
}

static double floor_noise(int channel) { return channel == 0 ? 1e-4 : channel < 3 ? 5e-5 : 1e-3; } // rad, m, weight

void fai_filter_step(FaFitFilter *f, const double *in, double rate, bool learn, double *out) {
    size_t n = 4 + (size_t)f->n;
    if (f->seen == 0) {
        memcpy(f->state, in, n * sizeof *in);
        memset(f->speed, 0, n * sizeof *in);
        for (int c = 0; learn && c < f->n; c++) f->noise[c] = c == 0 ? 0.002 : c == 1 ? 0.0003 : c == 2 ? 0.003 : 0.02;
    }
    double per = 60 / fmax(rate, 1);
    for (int c = 0; c < f->n && f->seen > 0; c++) {
        double d[3], step[3], *speed = speed_at(f, c), share = 1 - pow(1 - SPEED_SLOW, per);
        if (learn && f->seen > 1) { // slowly up, and a jump counts as little more than the noise was
            double s = second_difference(f->raw[1], f->raw[0], in, c), was = f->noise[c];
            double a = fmax(0.03, 1.0 / f->seen);
            f->noise[c] = sqrt((1 - a) * was * was + a * fmin(s * s, 4 * was * was));
        }
        double noise = fmax(f->noise[c], floor_noise(c));
        difference(f->state, in, c, d);
        difference(f->raw[0], in, c, step);
        for (int k = 0; k < span(c); k++) speed[k] += share * (step[k] - speed[k]);
        double root = sqrt((double)span(c)), slow = fai_v3_norm(speed) / root, jump = fai_v3_norm(d) / root;
        // a slow mean of the noise itself looks like speed: take that off
        double drift = fmax(0, slow - 2 * noise * share), over = fmax(0, jump - BEYOND * noise);
        double q = noise * REST * sqrt(per) / fmax(f->smooth, 1e-6) + 2 * drift + over, p = q / noise;
        double gain = p > 1e3 || f->smooth <= 0 ? 1 : 0.5 * (-p * p + sqrt(p * p * p * p + 4 * p * p));
        advance(f->state, c, fmin(gain, 1), d);
    }
    memcpy(f->raw[1], f->raw[0], n * sizeof *in);
    memcpy(f->raw[0], in, n * sizeof *in);
    f->seen++;
    memcpy(out, f->state, n * sizeof *in);
}

// --- whole takes --------------------------------------------------------------------------------------------------

// A parabola (heads) or a line (faces) through the frames within h of frame i, at i: its height against frame i's own
// value, and how much noise is left. By polynomials that are orthogonal over the window: 1, v, v^2 - its mean.
static double curve_at(int nframe, const double *raw, size_t n, int i, int h, int channel, bool bent, double out[3]) {
    int lo = FA_MAX(0, i - h), hi = FA_MIN(nframe - 1, i + h), m = hi - lo + 1;
    double middle = 0.5 * (lo + hi) - i, spread = 0, bend = 0, mean[3] = {0}, slope[3] = {0}, curve[3] = {0};
    for (int k = lo; k <= hi; k++) spread += (k - i - middle) * (k - i - middle);
    for (int k = lo; k <= hi; k++) {
        double d[3], v = k - i - middle, p = v * v - spread / m;
        difference(raw + (size_t)i * n, raw + (size_t)k * n, channel, d);
        fai_v3_mad(mean, 1.0 / m, d, mean);
        fai_v3_mad(slope, v, d, slope);
        fai_v3_mad(curve, p, d, curve);
        bend += p * p;
    }
    double tilt = m > 2 ? -middle / spread : 0, arch = bent && m > 3 ? (middle * middle - spread / m) / bend : 0;
    fai_v3_mad(mean, tilt, slope, out);
    fai_v3_mad(out, arch, curve, out);
    return sqrt(1.0 / m + tilt * tilt * spread + arch * arch * bend);
}

// The widest window whose curves agree with those of all narrower ones within the noise (intersection of confidence
// intervals, Goldenshluger and Nemirovski 1997): long at rest, short where it moves, and without lag.
static void smooth_frame(const FaFitFilter *f, int nframe, const double *raw, int i, int widest, int channel,
                         double best[3]) {
    static const int WINDOW[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
    size_t n = 4 + (size_t)f->n;
    double lo[3], hi[3], noise = fmax(f->noise[channel], floor_noise(channel)),
                         wide = AGREE * noise * sqrt(fmax(f->smooth, 0));
    fai_v3_set(best, 0, 0, 0);
    for (int k = 0; k < 3; k++) lo[k] = -wide, hi[k] = wide;
    for (int w = 0; w < FA_COUNT(WINDOW) && WINDOW[w] <= widest; w++) {
        double d[3], left = wide * curve_at(nframe, raw, n, i, WINDOW[w], channel, channel < 3, d);
        for (int k = 0; k < span(channel); k++) {
            lo[k] = fmax(lo[k], d[k] - left);
            hi[k] = fmin(hi[k], d[k] + left);
            if (lo[k] > hi[k]) return;
        }
        memcpy(best, d, sizeof d);
    }
}

void fai_filter_take(FaFitFilter *f, int nframe, const double *raw, double rate, double *out, double *scratch) {
    size_t n = 4 + (size_t)f->n;
    int widest = (int)fmin(fmax(WIDEST * rate * f->smooth, 1), 32);
    memcpy(out, raw, (size_t)nframe * n * sizeof *out);
    for (int i = 0; i < nframe; i++)
        for (int c = 0; c < f->n; c++) {
            double d[3];
            smooth_frame(f, nframe, raw, i, c < 3 ? widest : FA_MAX(widest / 4, 1), c,
                         d); // faces are faster than heads
            advance(out + (size_t)i * n, c, 1, d);
        }
    // windows of neighbours differ: take off the steps between them
    double *before = scratch, *own = scratch + n;
    memcpy(before, out, n * sizeof *out);
    for (int i = 1; i + 1 < nframe; i++) {
        double *x = out + (size_t)i * n;
        memcpy(own, x, n * sizeof *x);
        for (int c = 0; c < f->n; c++) {
            double d[3], e[3];
            difference(own, before, c, d);
            difference(own, x + n, c, e);
            fai_v3_add(d, e, d);
            double bend = fabs(d[0]); // glances keep their edges
            advance(x, c, bend > f->edge[c] ? 0.25 * f->edge[c] / bend : 0.25, d);
        }
        memcpy(before, own, n * sizeof *x);
    }
}

void fai_filter_mix(int nexp, const double *a, const double *b, double share, double *out) {
    double d[3], to[7 + 400];
    FA_ASSERT(nexp <= 400);
    memcpy(to, a, (7 + (size_t)nexp) * sizeof *to);
    for (int c = 0; c < 3 + nexp; c++) {
        difference(a, b, c, d);
        advance(to, c, share, d);
    }
    memcpy(out, to, (7 + (size_t)nexp) * sizeof *to);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void fai_filter_noise(FaFitFilter *f, int nframe, const double *raw, const unsigned char *ok, double *scratch) {
    size_t n = 4 + (size_t)f->n;
    static const double QUARTER[] = {0, 0.319, 0.536,
                                     0.636}; // lower quartile of the root mean square of 1, 2, 3 normals
    for (int c = 0; c < f->n; c++) {
        int m = 0;
        for (int i = 2; i < nframe; i++) {
            const double *x = raw + (size_t)i * n;
            if (!ok[i] || !ok[i - 1] || !ok[i - 2]) continue;
            // an expression at a bound has no noise to measure
            if (c >= 3 && !(x[4 + c] > 0 && x[4 + c] < 1 && x[4 + c - (int)n] > 0 && x[4 + c - 2 * (int)n] > 0))
                continue;
            if (c >= 3)
                scratch[m++] = second_difference(x - 2 * n, x - n, x, c);
            else if (i > 2 && ok[i - 3])
                scratch[m++] = third_difference(x - 3 * n, n, c);
        }
        qsort(scratch, (size_t)m, sizeof *scratch, by_size);
        // the lower quartile: most of a take may move
        f->noise[c] = m ? scratch[m / 4] / QUARTER[span(c)] : 0;
        f->edge[c] = INFINITY;
        if (c >= 3) f->noise[c] = fmin(f->noise[c], MOST_NOISE);
    }
}

// --- gaze ---------------------------------------------------------------------------------------------------------

bool fai_gaze_channels(const FaFitSetup *setup, int channel[2][5]) {
    static const char *const NAME[2][5] = {
        {"eyeBlinkLeft", "eyeLookInLeft", "eyeLookOutLeft", "eyeLookUpLeft", "eyeLookDownLeft"},
        {"eyeBlinkRight", "eyeLookInRight", "eyeLookOutRight", "eyeLookUpRight", "eyeLookDownRight"}};
    const FaModelRows *r = setup->rows;
    for (int i = 0; i < 10; i++) {
        channel[i / 5][i % 5] = -1;
        for (int j = 0; j < setup->model->nexp; j++)
            if (!strcmp(setup->model->exp_name[j], NAME[i / 5][i % 5])) channel[i / 5][i % 5] = j;
    }
    return r->n && r->index[r->n - 1] >= 468;
}

bool fai_gaze_hidden(const int channel[5], const double *value) {
    return channel[0] >= 0 && value[7 + channel[0]] > SHUT;
}

void fai_gaze_keep(const int channel[5], const double *from, double *to) {
    for (int k = 1; k < 5; k++)
        if (channel[k] >= 0) to[7 + channel[k]] = from[7 + channel[k]];
}

void fai_gaze_take(const FaFitSetup *setup, int nframe, double *raw, FaFitFilter *filter) {
    size_t n = 7 + (size_t)setup->model->nexp;
    int channel[2][5];
    if (!fai_gaze_channels(setup, channel)) return;
    for (int i = 0; i < 10; i++)
        if (i % 5 && channel[i / 5][i % 5] >= 0) filter->edge[3 + channel[i / 5][i % 5]] = EDGE;
    for (int side = 0; side < 2; side++)
        for (int i = 0, last = -1; i <= nframe; i++) {
            const int *c = channel[side];
            if (i < nframe && fai_gaze_hidden(c, raw + (size_t)i * n)) continue;
            for (int k = last + 1; k < i; k++)
                for (int e = 1; e < 5; e++) {
                    if (c[e] < 0 || (last < 0 && i == nframe)) continue;
                    size_t at = 7 + (size_t)c[e];
                    double a = raw[(size_t)FA_MAX(last, 0) * n + at], b = raw[(size_t)FA_MIN(i, nframe - 1) * n + at];
                    double u = last < 0 ? 1 : i == nframe ? 0 : (double)(k - last) / (i - last);
                    raw[(size_t)k * n + at] = a + u * (b - a);
                }
            last = i;
        }
}

void fai_fit_pack(const FaFitSetup *setup, const FaFitVars *v, double *value) {
    fai_q_from_m3(v->pose.r, value);
    fai_m3_mulv(v->pose.r, setup->rows->centre, value + 4);
    fai_v3_add(value + 4, v->pose.t, value + 4);
    memcpy(value + 7, v->w, (size_t)setup->model->nexp * sizeof *value);
}

void fai_fit_unpack(const FaFitSetup *setup, const double *value, FaPose *pose, float *w) {
    double c[3];
    memcpy(pose->q, value, sizeof pose->q);
    fai_q_rotate(pose->q, setup->rows->centre, c);
    fai_v3_sub(value + 4, c, pose->p);
    for (int j = 0; j < setup->model->nexp; j++) w[j] = (float)fmin(fmax(value[7 + j], 0), 1);
}

void fai_fit_world(const FaPose *camera, const FaPose *first, bool up, FaPose *world) {
    double half[4] = {up ? 0 : 1, 0, 0, up ? 1 : 0}, d[3]; // half a turn about x: y up, z towards the camera
    fai_q_mul(half, camera->q, world->q);
    fai_v3_sub(camera->p, first->p, d);
    fai_q_rotate(half, d, world->p);
}
