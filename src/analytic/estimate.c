// Finding the oscillator from a captured performance: least squares over (frequency, damping ratio).
//
// The model: y(t) follows the clip's weights w(t) from rest (m y'' + c y' + k y = k w), x = x0 + B y. A motion shows
// c/m and k/m only, so the mass is given and the unknowns are p = (log frequency, log ratio). With the frames reduced
// once to G = B'B and q_f = B'(x_f - x0), the error and its derivatives cost nshape^2 per frame, whatever the size of
// the mesh:
//     E(p) = sum_f |x_f - x0|^2 - 2 y'q_f + y'G y,   dE = 2 sum_f dy'(G y - q_f),   H = 2 sum_f dy'G dy  (Gauss-Newton)
// started from the best of a grid, damped (Levenberg-Marquardt). The covariance of p is s^2 (H/2)^-1 with s^2 = E /
// (numbers measured): what is larger than MOST_ERROR is not determined, and refused.
//
// Per vertex the same with its own three coordinates in place of B, started from the whole face's values.
// The head's motion is not modelled: capture, or stabilise, the face in the head's frame.
#include "analytic/follow.h"
#include "analytic/sharp.h"
#include "base/task.h"
#include "base/text.h"
#include "fascia/analytic.h"
#include "math/mat3.h"
#include "method/method.h"

#include <math.h>

static const double MOST_ERROR = 0.3;         // relative, one standard deviation, of the whole face
static const double MOST_VERTEX_ERROR = 0.15; // ... of a vertex
static const double STEP = 1e-4;              // of differences, in logarithms

typedef struct Fit {
    const FaRig *rig;
    int nframe, n;      // frames; shapes that the clip moves
    int *shape;         // (n)
    double *time;       // (nframe)
    double *w;          // weights                                    (nframe x n)
    double *gram;       // G                                          (n x n)
    double *q;          // (nframe x n)
    double square;      // sum of |x - x0|^2 over moved vertices
    bool *moved;        // vertices that the shapes move              (nvert)
    float *sharp;       // how far they keep the clip's timing; 0 counts for the whole face (nvert)
    int nmoved;         // that count
    double *y[3], *vel; // y(p), y(p + step) of either parameter; scratch   (nframe x n; n)
} Fit;

static void fit_free(Fit *f) {
    fa_free(f->shape);
    fa_free(f->time);
    fa_free(f->w);
    fa_free(f->gram);
    fa_free(f->q);
    fa_free(f->moved);
    fa_free(f->sharp);
    for (int i = 0; i < 3; i++) fa_free(f->y[i]);
    fa_free(f->vel);
}

// --- reading ------------------------------------------------------------------------------------------------------

static FaCode sample_weights(Fit *f, const FaClip *clip, FaSequence *captured, FaError *err) {
    FaBinding binding = {0};
    int nshape = f->rig->nshape;
    float *chan = FA_NEW(clip->nchan, float), *shape = FA_NEW(nshape, float),
          *all = FA_NEW((size_t)f->nframe * (size_t)nshape, float);
    FaCode rc = chan && shape && all ? fa_clip_bind(clip, f->rig, &binding, err) : FA_FAIL_MEMORY(err);
    // a cache that does not know its rate has the clip's
    bool by_number = fa_sequence_fps(captured) <= 0 || f->nframe == clip->nframe;
    for (int i = 0; rc >= 0 && i < f->nframe; i++) {
        f->time[i] = by_number ? (i < clip->nframe ? clip->time[i] : clip->time[clip->nframe - 1] + i) - clip->time[0]
                               : fa_sequence_time(captured, i);
        fa_clip_sample(clip, clip->time[0] + f->time[i], chan, NULL);
        fa_binding_weights(&binding, chan, all + (size_t)i * (size_t)nshape);
    }
    for (int s = 0; rc >= 0 && s < nshape; s++) {
        bool used = false;
        for (int i = 0; i < f->nframe; i++) used |= all[(size_t)i * (size_t)nshape + (size_t)s] != 0;
        if (used && f->rig->shape[s].count > 0) f->shape[f->n++] = s;
    }
    if (rc >= 0) {
        f->w = FA_NEW((size_t)f->nframe * (size_t)f->n, double);
        if (!f->w) rc = FA_FAIL_MEMORY(err);
    }
    for (int i = 0; rc >= 0 && i < f->nframe; i++)
        for (int s = 0; s < f->n; s++)
            f->w[(size_t)i * (size_t)f->n + (size_t)s] = (double)all[(size_t)i * (size_t)nshape + (size_t)f->shape[s]];
    fa_binding_free(&binding);
    fa_free(chan);
    fa_free(shape);
    fa_free(all);
    return rc;
}

typedef struct Dots {
    const Fit *f;
    const float *d; // displacements                   (nvert x 3)
    double *out;    // (n)
} Dots;

static void dot_shape(void *ctx, int begin, int end, int chunk) {
    (void)end, (void)chunk;
    const Dots *t = ctx;
    const FaShape *s = &t->f->rig->shape[t->f->shape[begin]];
    double sum = 0;
    for (int e = s->first; e < s->first + s->count; e++)
        for (int k = 0; k < 3; k++)
            sum += (double)t->f->rig->delta[3 * (size_t)e + (size_t)k] *
                   (double)t->d[3 * (size_t)t->f->rig->row[e] + (size_t)k];
    t->out[begin] = sum;
}

// Lids, lips and teeth do not lag where `blend` keeps its regions: they would tell of no spring at all.
static FaCode leave_out_sharp(Fit *f, FaError *err) {
    FaNotes said = {0};
    bool any = false;
    FaCode rc = fai_sharp_find(f->rig, f->sharp, &any, &said, err);
    fa_notes_free(&said); // those of blend itself
    int soft = 0;
    for (int s = 0; rc >= 0 && s < f->n; s++) {
        const FaShape *shape = &f->rig->shape[f->shape[s]];
        for (int e = shape->first; e < shape->first + shape->count; e++) soft += !(f->sharp[f->rig->row[e]] > 0);
    }
    // a clip that moves nothing else is judged by what it moves
    if (rc >= 0 && soft == 0) memset(f->sharp, 0, (size_t)f->rig->mesh.nvert * sizeof *f->sharp);
    return rc;
}

static FaCode reduce(Fit *f, FaSequence *captured, const FaEstimateOptions *o, FaError *err) {
    const FaRig *rig = f->rig;
    size_t n3 = 3 * (size_t)rig->mesh.nvert, n = (size_t)f->n;
    float *d = FA_NEW(n3, float);
    if (!d) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < f->n; s++) {
        const FaShape *shape = &rig->shape[f->shape[s]];
        memset(d, 0, n3 * sizeof *d);
        for (int e = shape->first; e < shape->first + shape->count; e++) {
            f->moved[rig->row[e]] = true;
            if (f->sharp[rig->row[e]] > 0) continue;
            memcpy(d + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 3 * sizeof *d);
        }
        fai_parallel(f->n, 1, dot_shape, &(Dots){f, d, f->gram + (size_t)s * n});
    }
    for (int v = 0; v < rig->mesh.nvert; v++) f->nmoved += f->moved[v] && !(f->sharp[v] > 0);
    FaCode rc = FA_OK;
    for (int i = 0; i < f->nframe && rc >= 0; i++) {
        rc = fa_sequence_read(captured, i, d, err);
        for (size_t k = 0; rc >= 0 && k < n3; k++) {
            d[k] -= rig->mesh.x[k];
            if (!isfinite(d[k]))
                rc = FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d, vertex %d", i, (int)(k / 3)), "mend the capture",
                             "a position is not a number");
            if (f->sharp[k / 3] > 0) d[k] = 0;
            if (f->moved[k / 3]) f->square += (double)d[k] * (double)d[k];
        }
        if (rc >= 0) fai_parallel(f->n, 1, dot_shape, &(Dots){f, d, f->q + (size_t)i * n});
        if (rc >= 0) {
            double done = (double)(i + 1) / f->nframe;
            rc = fai_progress(o->progress, o->progress_user, "reading", done, "nothing is kept", err);
        }
    }
    fa_free(d);
    return rc;
}

// --- the whole face -----------------------------------------------------------------------------------------------

static FaOscillator oscillator_at(const double p[2]) { return fa_oscillator_of(1, exp(p[0]), exp(p[1])); }

// Weights that follow w from rest, step by step, for all shapes.
static void follow_weights(const Fit *f, const double p[2], double *y) {
    FaOscillator o = oscillator_at(p);
    size_t n = (size_t)f->n;
    FaFollow c = {0};
    double last = -1;
    memcpy(y, f->w, n * sizeof *y);
    memset(f->vel, 0, n * sizeof *f->vel);
    for (int i = 1; i < f->nframe; i++) {
        double h = f->time[i] - f->time[i - 1];
        if (fabs(h - last) > 1e-12) c = fai_follow(&o, h), last = h;
        const double *w0 = f->w + (size_t)(i - 1) * n, *w1 = w0 + n, *y0 = y + (size_t)(i - 1) * n;
        double *y1 = y + (size_t)i * n;
        for (size_t s = 0; s < n; s++) {
            double e = y0[s] - w0[s], v = f->vel[s], d = w1[s] - w0[s];
            y1[s] = w1[s] + c.xx * e + c.xv * v - c.lag * d;
            f->vel[s] = c.vx * e + c.vv * v + c.push * d;
        }
    }
}

static double error_of(const Fit *f, const double *y) {
    double sum = f->square;
    size_t n = (size_t)f->n;
    for (int i = 0; i < f->nframe; i++)
        for (size_t s = 0; s < n; s++) {
            const double *yi = y + (size_t)i * n, *g = f->gram + s * n;
            double gy = 0;
            for (size_t t = 0; t < n; t++) gy += g[t] * yi[t];
            sum += yi[s] * (gy - 2 * f->q[(size_t)i * n + s]);
        }
    return fmax(sum, 0);
}

static double error_at(const Fit *f, const double p[2]) {
    follow_weights(f, p, f->y[0]);
    return error_of(f, f->y[0]);
}

// Gradient and Gauss-Newton matrix (H00, H01, H11), both without the factor 2.
static void derivatives(const Fit *f, const double p[2], double grad[2], double h[3]) {
    size_t n = (size_t)f->n;
    follow_weights(f, p, f->y[0]);
    for (int j = 0; j < 2; j++) {
        double up[2] = {p[0], p[1]};
        up[j] += STEP;
        follow_weights(f, up, f->y[1 + j]);
    }
    grad[0] = grad[1] = h[0] = h[1] = h[2] = 0;
    for (int i = 0; i < f->nframe; i++)
        for (size_t s = 0; s < n; s++) {
            size_t at = (size_t)i * n, k = at + s;
            const double *g = f->gram + s * n;
            double gy = -f->q[k], ga = 0, gb = 0;
            double da = (f->y[1][k] - f->y[0][k]) / STEP, db = (f->y[2][k] - f->y[0][k]) / STEP;
            for (size_t t = 0; t < n; t++) {
                gy += g[t] * f->y[0][at + t];
                ga += g[t] * (f->y[1][at + t] - f->y[0][at + t]);
                gb += g[t] * (f->y[2][at + t] - f->y[0][at + t]);
            }
            grad[0] += da * gy;
            grad[1] += db * gy;
            h[0] += da * ga / STEP;
            h[1] += da * gb / STEP;
            h[2] += db * gb / STEP;
        }
}

static bool solve2(const double h[3], double damp, const double g[2], double x[2]) {
    double a = h[0] * (1 + damp), b = h[1], c = h[2] * (1 + damp), det = a * c - b * b;
    if (!(det > 0)) return false;
    x[0] = -(c * g[0] - b * g[1]) / det;
    x[1] = -(a * g[1] - b * g[0]) / det;
    return true;
}

// Relative standard deviations of frequency and ratio; INFINITY where they are not told.
static void deviations(const double h[3], double error, double count, double out[2]) {
    double det = h[0] * h[2] - h[1] * h[1], s2 = error / fmax(count - 2, 1);
    bool told = det > 1e-12 * h[0] * h[2] && h[0] > 0 && h[2] > 0;
    out[0] = told ? sqrt(s2 * h[2] / det) : (double)INFINITY;
    out[1] = told ? sqrt(s2 * h[0] / det) : (double)INFINITY;
}

static void limit(double p[2]) {
    p[0] = fmin(fmax(p[0], log(0.02)), log(500));
    p[1] = fmin(fmax(p[1], log(1e-3)), log(50));
}

static double fit_face(Fit *f, double p[2], double h[3]) {
    static const double hz[] = {0.5, 1, 2, 4, 8, 16, 32}, ratios[] = {0.1, 0.3, 1, 3};
    double best = INFINITY, damp = 1e-3;
    for (int i = 0; i < FA_COUNT(hz); i++)
        for (int j = 0; j < FA_COUNT(ratios); j++) {
            double at[2] = {log(hz[i]), log(ratios[j])}, e = error_at(f, at);
            if (e < best) best = e, memcpy(p, at, sizeof at);
        }
    for (int i = 0; i < 60; i++) {
        double grad[2], step[2], next[2];
        derivatives(f, p, grad, h);
        bool better = false;
        for (int k = 0; k < 12 && !better; k++) {
            if (!solve2(h, damp, grad, step)) break;
            for (int j = 0; j < 2; j++) next[j] = p[j] + fmin(fmax(step[j], -1), 1);
            limit(next);
            double e = error_at(f, next);
            better = e < best;
            if (better) best = e;
            damp = better ? damp * 0.1 : damp * 10 + 1e-9;
        }
        if (!better) break;
        double moved = fmax(fabs(next[0] - p[0]), fabs(next[1] - p[1]));
        memcpy(p, next, sizeof next);
        if (moved < 1e-9) break;
    }
    double grad[2];
    derivatives(f, p, grad, h);
    return best;
}

// --- per vertex ---------------------------------------------------------------------------------------------------

typedef struct Block {
    const Fit *f;
    int first, count;    // vertices
    const float *target; // linear displacements      (count x nframe x 3)
    const float *seen;   // captured ones             (count x nframe x 3)
    const double *start; // p of the whole face
    FaEstimate *out;
    double mass;
} Block;

// Sum of squares between one vertex's capture and the motion at p; diff (nullable): the motion less the capture.
static double vertex_error(const Fit *f, const float *target, const float *seen, const double p[2], double *diff) {
    FaOscillator o = oscillator_at(p);
    FaFollow c = {0};
    double e[3] = {0}, v[3] = {0}, sum = 0, last = -1;
    for (int i = 0; i < f->nframe; i++) {
        double h = i ? f->time[i] - f->time[i - 1] : 0;
        if (i && fabs(h - last) > 1e-12) c = fai_follow(&o, h), last = h;
        for (int k = 0; k < 3; k++) {
            if (i) {
                double d = (double)target[3 * i + k] - (double)target[3 * i - 3 + k], ek = e[k];
                e[k] = c.xx * ek + c.xv * v[k] - c.lag * d;
                v[k] = c.vx * ek + c.vv * v[k] + c.push * d;
            }
            double r = (double)target[3 * i + k] + e[k] - (double)seen[3 * i + k];
            if (diff) diff[3 * i + k] = r;
            sum += r * r;
        }
    }
    return sum;
}

static bool fit_vertex(const Block *b, int i, double *diff, double p[2]) {
    const Fit *f = b->f;
    int n = 3 * f->nframe;
    const float *target = b->target + (size_t)i * (size_t)n, *seen = b->seen + (size_t)i * (size_t)n;
    double h[3], dev[2], damp = 1e-3, best = vertex_error(f, target, seen, p, diff);
    for (int it = 0; it < 20; it++) {
        double grad[2] = {0}, step[2], next[2];
        h[0] = h[1] = h[2] = 0;
        for (int j = 0; j < 2; j++) {
            double up[2] = {p[0], p[1]};
            up[j] += STEP;
            vertex_error(f, target, seen, up, diff + (size_t)(j + 1) * (size_t)n);
        }
        for (int k = 0; k < n; k++) {
            double da = (diff[n + k] - diff[k]) / STEP, db = (diff[2 * n + k] - diff[k]) / STEP;
            grad[0] += da * diff[k], grad[1] += db * diff[k];
            h[0] += da * da, h[1] += da * db, h[2] += db * db;
        }
        bool better = false;
        for (int k = 0; k < 8 && !better; k++) {
            if (!solve2(h, damp, grad, step)) break;
            for (int j = 0; j < 2; j++) next[j] = p[j] + fmin(fmax(step[j], -0.7), 0.7);
            limit(next);
            double e = vertex_error(f, target, seen, next, NULL);
            better = e < best;
            if (better) best = e;
            damp = better ? damp * 0.1 : damp * 10 + 1e-9;
        }
        if (!better) break;
        double moved = fmax(fabs(next[0] - p[0]), fabs(next[1] - p[1]));
        memcpy(p, next, sizeof next);
        vertex_error(f, target, seen, p, diff);
        if (moved < 1e-7) break;
    }
    deviations(h, best, n, dev);
    return dev[0] < MOST_VERTEX_ERROR && dev[1] < MOST_VERTEX_ERROR;
}

typedef struct BlockRun {
    Block b;
    double *scratch; // per chunk: 3 runs of residuals
} BlockRun;

enum { VERTS_PER_CHUNK = 16 };

static void fit_chunk(void *ctx, int begin, int end, int chunk) {
    BlockRun *r = ctx;
    const Fit *f = r->b.f;
    double *diff = r->scratch + (size_t)chunk * 9 * (size_t)f->nframe;
    for (int i = begin; i < end; i++) {
        int v = r->b.first + i;
        double p[2] = {r->b.start[0], r->b.start[1]};
        if (!f->moved[v] || !fit_vertex(&r->b, i, diff, p)) continue;
        r->b.out->vertex[v] = fa_oscillator_of(r->b.mass, exp(p[0]), exp(p[1]));
        r->b.out->known[v] = 1;
    }
}

// Some vertices at a time, over all frames: memory stays bounded, the capture is read once per block.
static FaCode fit_vertices(const Fit *f, FaSequence *captured, const double p[2], const FaEstimateOptions *o,
                           FaEstimate *out, FaError *err) {
    const FaRig *rig = f->rig;
    int nvert = rig->mesh.nvert, nshape = rig->nshape, n3 = 3 * f->nframe;
    int room = (int)FA_MIN((size_t)nvert,
                           FA_MAX(((size_t)64 << 20) / ((size_t)n3 * 2 * sizeof(float)), (size_t)VERTS_PER_CHUNK));
    float *target = FA_NEW((size_t)room * (size_t)n3, float), *seen = FA_NEW((size_t)room * (size_t)n3, float);
    float *x = FA_NEW(3 * (size_t)nvert, float), *lin = FA_NEW(3 * (size_t)nvert, float), *w = FA_NEW(nshape, float);
    double *scratch = FA_NEW((size_t)fai_chunks(room, VERTS_PER_CHUNK) * 9 * (size_t)f->nframe, double);
    FaBlender *blender = NULL;
    FaCode rc = target && seen && x && lin && w && scratch ? fa_blender_new(rig, &blender, err) : FA_FAIL_MEMORY(err);
    for (int first = 0; first < nvert && rc >= 0; first += room) {
        int count = FA_MIN(room, nvert - first);
        for (int i = 0; i < f->nframe && rc >= 0; i++) {
            for (int s = 0; s < f->n; s++) w[f->shape[s]] = (float)f->w[(size_t)i * (size_t)f->n + (size_t)s];
            fa_blender_eval(blender, w, lin);
            rc = fa_sequence_read(captured, i, x, err);
            for (int v = 0; v < count; v++)
                for (int k = 0; k < 3; k++) {
                    size_t from = 3 * (size_t)(first + v) + (size_t)k,
                           to = (size_t)v * (size_t)n3 + 3 * (size_t)i + (size_t)k;
                    target[to] = lin[from] - rig->mesh.x[from];
                    seen[to] = x[from] - rig->mesh.x[from];
                }
        }
        BlockRun run = {{f, first, count, target, seen, p, out, out->oscillator.mass}, scratch};
        if (rc >= 0) fai_parallel(count, VERTS_PER_CHUNK, fit_chunk, &run);
        if (rc >= 0) {
            double done = (double)(first + count) / nvert;
            rc = fai_progress(o->progress, o->progress_user, "vertices", done, "nothing is kept", err);
        }
    }
    for (int v = 0; rc >= 0 && v < nvert; v++) out->vertices_known += out->known[v];
    fa_blender_free(blender);
    fa_free(target);
    fa_free(seen);
    fa_free(x);
    fa_free(lin);
    fa_free(w);
    fa_free(scratch);
    return rc;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode prepare(Fit *f, const FaRig *rig, const FaClip *clip, FaSequence *captured, const FaEstimateOptions *o,
                      FaError *err) {
    if (!clip)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the clip that was performed",
                       "there is no clip to explain the capture with");
    if (fa_sequence_nvert(captured) != rig->mesh.nvert)
        return FA_FAIL(err, FA_E_ARG, NULL, "use the rig that was captured", "the capture has %d vertices, the rig %d",
                       fa_sequence_nvert(captured), rig->mesh.nvert);
    f->rig = rig;
    f->nframe = fa_sequence_nframe(captured);
    if (fa_sequence_fps(captured) <= 0) f->nframe = FA_MIN(f->nframe, clip->nframe);
    if (f->nframe < 8)
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "capture at least 8 frames", "%d frames tell nothing", f->nframe);
    f->shape = FA_NEW(rig->nshape, int);
    f->time = FA_NEW(f->nframe, double);
    f->moved = FA_NEW(rig->mesh.nvert, bool);
    f->sharp = FA_NEW(rig->mesh.nvert, float);
    if (!f->shape || !f->time || !f->moved || !f->sharp) return FA_FAIL_MEMORY(err);
    FA_TRY(sample_weights(f, clip, captured, err));
    if (f->n == 0)
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "give the clip that was performed; --map names shapes",
                       "the clip moves no shape of the rig");
    size_t n = (size_t)f->n, all = n * (size_t)f->nframe;
    f->gram = FA_NEW(n * n, double);
    f->q = FA_NEW(all, double);
    for (int i = 0; i < 3; i++) f->y[i] = FA_NEW(all, double);
    f->vel = FA_NEW(n, double);
    if (!f->gram || !f->q || !f->y[0] || !f->y[1] || !f->y[2] || !f->vel) return FA_FAIL_MEMORY(err);
    if (!o->everywhere) FA_TRY(leave_out_sharp(f, err));
    return reduce(f, captured, o, err);
}

static FaCode judge(const Fit *f, const FaEstimate *e, const double p[2], FaError *err) {
    double change = 0;
    for (int s = 0; s < f->n; s++)
        for (int i = 1; i < f->nframe; i++)
            change = fmax(change, fabs(f->w[(size_t)i * (size_t)f->n + (size_t)s] -
                                       f->w[(size_t)(i - 1) * (size_t)f->n + (size_t)s]));
    if (change < 1e-4)
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "capture quick movements: smiles, words, blinks",
                       "nothing moves in the clip");
    bool edge = p[0] <= log(0.021) || p[0] >= log(490) || p[1] <= log(1.1e-3) || p[1] >= log(49);
    bool same = !(e->linear_mm > 1e-4) || e->residual_mm > 0.98 * e->linear_mm;
    if (same && (edge || !(e->frequency_error < 0.1 && e->ratio_error < 0.1)))
        return FA_FAIL(err, FA_E_NUMERIC, NULL,
                       "nothing to estimate: use the rig without dynamics, or capture quicker movements",
                       "the capture moves as the rig alone does");
    if (edge || !(e->frequency_error < MOST_ERROR) || !(e->ratio_error < MOST_ERROR))
        return FA_FAIL(
            err, FA_E_NUMERIC, NULL, "capture more, and quicker, movements",
            "the capture does not tell mass, damping and stiffness apart (frequency to %d %%, ratio to %d %%)",
            (int)fmin(100 * e->frequency_error, 9999), (int)fmin(100 * e->ratio_error, 9999));
    return FA_OK;
}

static FaCode run(Fit *f, FaSequence *captured, const FaEstimateOptions *o, FaEstimate *out, FaError *err) {
    double p[2] = {0}, h[3] = {0}, dev[2], count = 3.0 * f->nmoved * f->nframe;
    double error = fit_face(f, p, h), linear = error_of(f, f->w);
    deviations(h, error, count, dev);
    double mass = o->mass > 0 ? o->mass : fa_estimate_options_default().mass;
    *out = (FaEstimate){.oscillator = fa_oscillator_of(mass, exp(p[0]), exp(p[1])),
                        .frequency = exp(p[0]),
                        .ratio = exp(p[1]),
                        .frequency_error = dev[0],
                        .ratio_error = dev[1],
                        .residual_mm = 1e3 * sqrt(error * 3 / count),
                        .linear_mm = 1e3 * sqrt(linear * 3 / count),
                        .explained = linear > 0 ? fmax(1 - error / linear, 0) : 0,
                        .frames = f->nframe,
                        .vertices = f->nmoved};
    FA_TRY(judge(f, out, p, err));
    if (!o->per_vertex) return FA_OK;
    int nvert = f->rig->mesh.nvert;
    out->vertex = FA_NEW(nvert, FaOscillator);
    out->known = FA_NEW(nvert, unsigned char);
    if (!out->vertex || !out->known) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < nvert; v++) out->vertex[v] = out->oscillator;
    return fit_vertices(f, captured, p, o, out, err);
}

FaEstimateOptions fa_estimate_options_default(void) { return (FaEstimateOptions){.mass = 1}; }

FaCode fa_analytic_estimate(const FaRig *rig, const FaClip *clip, FaSequence *captured,
                            const FaEstimateOptions *options, FaEstimate *out, FaError *err) {
    FaEstimateOptions o = options ? *options : (FaEstimateOptions){0};
    Fit f = {0};
    *out = (FaEstimate){0};
    FaCode rc = prepare(&f, rig, clip, captured, &o, err);
    if (rc >= 0) rc = run(&f, captured, &o, out, err);
    fit_free(&f);
    if (rc < 0) fa_estimate_free(out);
    return rc;
}

void fa_estimate_free(FaEstimate *e) {
    fa_free(e->vertex);
    fa_free(e->known);
    *e = (FaEstimate){0};
}

FaCode fa_estimate_json(const FaEstimate *e, char **json, FaError *err) {
    FaText text = {0};
    FaJsonWriter w = {.text = &text};
    *json = NULL;
    fai_jw_open(&w, NULL, '{');
    fai_jw_num(&w, "mass", e->oscillator.mass);
    fai_jw_num(&w, "damping", e->oscillator.damping);
    fai_jw_num(&w, "stiffness", e->oscillator.stiffness);
    fai_jw_num(&w, "frequency_hz", e->frequency);
    fai_jw_num(&w, "ratio", e->ratio);
    fai_jw_num(&w, "frequency_error", e->frequency_error);
    fai_jw_num(&w, "ratio_error", e->ratio_error);
    fai_jw_num(&w, "residual_mm", e->residual_mm);
    fai_jw_num(&w, "linear_mm", e->linear_mm);
    fai_jw_num(&w, "explained", e->explained);
    fai_jw_int(&w, "frames", e->frames);
    fai_jw_int(&w, "vertices", e->vertices);
    if (e->vertex) fai_jw_int(&w, "vertices_known", e->vertices_known);
    fai_jw_close(&w);
    if (!text.failed) {
        *json = text.data;
        return FA_OK;
    }
    fai_text_free(&text);
    return FA_FAIL_MEMORY(err);
}
