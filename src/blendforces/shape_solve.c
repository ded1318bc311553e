// Based on: thesis 001 section 3.1.2, eq. 3.4 (SBS) and 3.5 (RSBS, the prior of Bouaziz et al. 2013). Symbols: B -> b
// (sparse, per marker), w -> w, t -> markers. Deviations: weights and visibility per marker, a bound, smoothing, and
// shapes carried by a nonlinear frame, for which the same program is solved on a linearisation a few times
// (Gauss-Newton; a step that does not lower the objective is halved).
#include "blendforces/shape_solve.h"

#include "math/mat3.h"
#include "rig/rig_frame.h"

#include <math.h>

struct FaShapeSolver {
    int nshape, npoint;
    FaShapeSolveOptions o;
    int *start;                         // entries of each point                              (npoint + 1)
    int *shape;                         // of each entry, increasing within a point           (nentry)
    double *b;                          // displacement of the point by the shape, m          (nentry x 3)
    double *col;                        // the same as carried by the frames now              (nentry x 3)
    double *rest;                       // (npoint x 3)
    double *size;                       // D_j, m2                                            (nshape)
    unsigned char *seen, *carried;      // (nshape)
    double *frame, *frame2;             // (npoint x 12)
    double *slope;                      // derivative of the points by each carried shape     (ncarried x npoint x 3)
    double *c;                          // weights of the carried shapes                      (ncarried)
    double *point, *target, *a, *old_a; // (npoint x 3, x 3, x 1, x 1)
    double *g, *f, *lo, *hi;            // (nshape x nshape, nshape, ...)
    double *w, *try, *last;             // (nshape)
    double *diagonal;                   // of g without the prior                             (nshape)
    double prior;                       // m2: what a weight's square costs in this solve
    bool started;
    bool gram_valid;    // g is that of the last frame's marker weights
    double gram_smooth; // and of this smoothing
    FaNnls *nnls;
    FaArena *arena;
};

// --- making one ---------------------------------------------------------------------------------------------------

static FaCode check(const FaRig *rig, int npoint, const FaSurfacePoint *point, const FaShapeSolveOptions *o,
                    FaError *err) {
    if (npoint < 1) return FA_FAIL(err, FA_E_ARG, NULL, "map at least one marker to the face", "there are no markers");
    for (int i = 0; i < npoint; i++) {
        double sum = 0;
        for (int k = 0; k < 3; k++) {
            sum += (double)point[i].bary[k];
            if (point[i].vert[k] < 0 || point[i].vert[k] >= rig->mesh.nvert)
                return FA_FAIL(err, FA_E_ARG, FA_PLACE("marker %d", i), "map it to a vertex of this rig",
                               "vertex %d does not exist", point[i].vert[k]);
        }
        if (!(fabs(sum - 1) < 1e-3))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("marker %d", i),
                           "give weights of the triangle's corners that sum to 1",
                           "its place in the triangle makes no sense");
    }
    if (!(o->l1 >= 0) || !(o->ridge >= 0) || !(o->smooth >= 0) || !(o->upper >= 0) || !(o->prior >= 0) ||
        !isfinite(o->l1 + o->ridge + o->smooth + o->upper + o->prior))
        return FA_FAIL(err, FA_E_ARG, NULL, "give 0 or more", "a weight of the solve is negative or not a number");
    for (int i = 0; i < o->carrier.nshape; i++)
        if (o->carrier.shape[i] < 0 || o->carrier.shape[i] >= rig->nshape)
            return FA_FAIL(err, FA_E_ARG, NULL, "carry shapes of this rig", "carried shape %d does not exist",
                           o->carrier.shape[i]);
    return FA_OK;
}

// Sparse displacements of the points: per point the shapes that move it. Two passes over a dense row per shape.
static FaCode collect(FaShapeSolver *s, const FaRig *rig, const FaSurfacePoint *point, FaError *err) {
    int n = rig->nshape;
    float *dense = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    double *row = FA_NEW(3 * (size_t)n * (size_t)s->npoint, double);
    if (!dense || !row) {
        fa_free(dense);
        fa_free(row);
        return FA_FAIL_MEMORY(err);
    }
    for (int j = 0; j < n; j++) {
        const FaShape *shape = &rig->shape[j];
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memcpy(dense + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 3 * sizeof *dense);
        for (int i = 0; i < s->npoint; i++)
            for (int c = 0; c < 3; c++)
                for (int k = 0; k < 3; k++)
                    row[3 * ((size_t)i * (size_t)n + (size_t)j) + (size_t)k] +=
                        (double)point[i].bary[c] * (double)dense[3 * (size_t)point[i].vert[c] + (size_t)k];
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memset(dense + 3 * (size_t)rig->row[e], 0, 3 * sizeof *dense);
    }
    size_t count = 0;
    for (int i = 0; i < s->npoint; i++)
        for (int j = 0; j < n; j++) {
            const double *d = row + 3 * ((size_t)i * (size_t)n + (size_t)j);
            // carried shapes have an entry everywhere: their column is the frame's slope
            count += s->carried[j] || d[0] != 0 || d[1] != 0 || d[2] != 0;
        }
    s->shape = FA_PUSH(s->arena, count, int);
    s->b = FA_PUSH(s->arena, 3 * count, double);
    s->col = FA_PUSH(s->arena, 3 * count, double);
    FaCode rc = s->shape && s->b && s->col ? FA_OK : FA_FAIL_MEMORY(err);
    int at = 0;
    for (int i = 0; rc >= 0 && i < s->npoint; i++) {
        for (int j = 0; j < n; j++) {
            const double *d = row + 3 * ((size_t)i * (size_t)n + (size_t)j);
            double square = fai_v3_dot(d, d);
            if (!s->carried[j] && square == 0) continue;
            s->shape[at] = j;
            memcpy(s->b + 3 * (size_t)at, d, 3 * sizeof *d);
            s->size[j] += square;
            at++;
        }
        s->start[i + 1] = at;
    }
    for (int j = 0; j < n; j++) s->seen[j] = s->size[j] > 0 || s->carried[j];
    fa_free(dense);
    fa_free(row);
    return rc;
}

// What a shape does at the markers may be the rounding of an exporter alone (a Rocketbox body has it in most shapes):
// as a direction it would take weights of thousands, and throw the rest of the face metres off.
static void leave_noise(FaShapeSolver *s, unsigned char *use) {
    double most = 0;
    for (int j = 0; j < s->nshape; j++) most = fmax(most, s->size[j]);
    for (int j = 0; j < s->nshape; j++)
        if (!s->carried[j] && s->size[j] < FA_NOISE_SHARE * FA_NOISE_SHARE * most) use[j] = s->seen[j] = 0;
}

static void identity_frames(int n, double *frame) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 12; k++) frame[12 * (size_t)i + (size_t)k] = k % 5 == 0;
}

static void frames_at(FaShapeSolver *s, const double *c, double *frame) {
    if (s->o.carrier.nshape)
        s->o.carrier.frame(s->o.carrier.user, c, s->npoint, frame);
    else
        identity_frames(s->npoint, frame);
}

static void apply(const double f[12], const double x[3], double y[3]) {
    for (int k = 0; k < 3; k++) y[k] = f[4 * k] * x[0] + f[4 * k + 1] * x[1] + f[4 * k + 2] * x[2] + f[4 * k + 3];
}

static void linear_part(const double f[12], double m[9]) {
    for (int k = 0; k < 9; k++) m[k] = f[4 * (k / 3) + k % 3];
}

// What a carried shape does beyond its frame, in rest coordinates: A(1)^-1 (x + b - t(1)) - x; 0 where it is not
// wanted.
static FaCode leave_rest(FaShapeSolver *s, FaError *err) {
    const FaShapeCarrier *k = &s->o.carrier;
    for (int q = 0; q < k->nshape; q++) {
        memset(s->c, 0, (size_t)k->nshape * sizeof *s->c);
        s->c[q] = 1;
        frames_at(s, s->c, s->frame);
        for (int i = 0; i < s->npoint; i++) {
            const double *f = s->frame + 12 * (size_t)i, *x = s->rest + 3 * (size_t)i;
            int e = s->start[i];
            while (s->shape[e] != k->shape[q]) e++;
            double *b = s->b + 3 * (size_t)e, m[9], inv[9] = {0}, y[3], sum = 0;
            linear_part(f, m);
            for (int c = 0; c < 12; c++) sum += f[c];
            if (!isfinite(sum) || !fai_m3_inverse(m, inv))
                return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("marker %d", i), "check the motion that carries the shape",
                               "its frame at weight 1 is singular or not finite");
            for (int c = 0; c < 3; c++) y[c] = x[c] + b[c] - f[4 * c + 3];
            fai_m3_mulv(inv, y, y);
            for (int c = 0; c < 3; c++) b[c] = k->exact ? y[c] - x[c] : 0;
        }
    }
    return FA_OK;
}

static FaCode fill(FaShapeSolver *s, const FaRig *rig, const FaSurfacePoint *point, FaError *err) {
    size_t n = (size_t)s->nshape, p = (size_t)s->npoint, q = (size_t)s->o.carrier.nshape;
    FaArena *a = s->arena;
    struct {
        double **to;
        size_t count;
    } part[] = {
        {&s->rest, 3 * p}, {&s->size, n},      {&s->frame, 12 * p}, {&s->frame2, 12 * p}, {&s->slope, 3 * p * q},
        {&s->c, q},        {&s->point, 3 * p}, {&s->target, 3 * p}, {&s->a, p},           {&s->old_a, p},
        {&s->g, n * n},    {&s->f, n},         {&s->lo, n},         {&s->hi, n},          {&s->w, n},
        {&s->try, n},      {&s->last, n},      {&s->diagonal, n}};
    for (int i = 0; i < FA_COUNT(part); i++)
        if (!(*part[i].to = FA_PUSH(a, part[i].count, double))) return FA_FAIL_MEMORY(err);
    s->start = FA_PUSH(a, p + 1, int);
    s->seen = FA_PUSH(a, n, unsigned char);
    s->carried = FA_PUSH(a, n, unsigned char);
    int *carried = FA_PUSH(a, q, int);
    unsigned char *use = FA_PUSH(a, n, unsigned char);
    if (!s->start || !s->seen || !s->carried || !carried || !use) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < q; i++) {
        carried[i] = s->o.carrier.shape[i];
        s->carried[carried[i]] = 1;
    }
    s->o.carrier.shape = carried;
    for (size_t j = 0; j < n; j++) use[j] = !s->o.use || s->o.use[j];
    s->o.use = use;
    for (size_t i = 0; i < p; i++)
        for (int c = 0; c < 3; c++)
            for (size_t k = 0; k < 3; k++)
                s->rest[3 * i + k] += (double)point[i].bary[c] * (double)rig->mesh.x[3 * (size_t)point[i].vert[c] + k];
    FA_TRY(collect(s, rig, point, err));
    leave_noise(s, use);
    FA_TRY(leave_rest(s, err));
    return fai_nnls_new(s->nshape, &s->nnls, err);
}

FaCode fai_shape_solver_new(const FaRig *rig, int npoint, const FaSurfacePoint *point,
                            const FaShapeSolveOptions *options, FaShapeSolver **solver, FaError *err) {
    *solver = NULL;
    FaShapeSolveOptions o = options ? *options : fai_shape_options_sbs();
    FA_TRY(check(rig, npoint, point, &o, err));
    FaShapeSolver *s = FA_NEW(1, FaShapeSolver);
    if (!s) return FA_FAIL_MEMORY(err);
    s->o = o;
    s->nshape = rig->nshape;
    s->npoint = npoint;
    s->arena = fai_arena_new(0);
    FaCode rc = s->arena ? fill(s, rig, point, err) : FA_FAIL_MEMORY(err);
    if (rc < 0) {
        fai_shape_solver_free(s);
        return rc;
    }
    *solver = s;
    return FA_OK;
}

void fai_shape_solver_free(FaShapeSolver *s) {
    if (!s) return;
    fai_nnls_free(s->nnls);
    fai_arena_free(s->arena);
    fa_free(s);
}

void fai_shape_solver_reset(FaShapeSolver *s) {
    s->started = false;
    memset(s->last, 0, (size_t)s->nshape * sizeof *s->last);
}

void fai_shape_solver_stream(FaShapeSolver *s, FaStream *stream) {
    fai_stream(stream, &s->started, sizeof s->started);
    fai_stream(stream, s->last, (size_t)s->nshape * sizeof *s->last);
}

const unsigned char *fai_shape_solver_seen(const FaShapeSolver *s) { return s->seen; }

// --- the model ----------------------------------------------------------------------------------------------------

// Rest plus all shapes of point i, before its frame.
static void blend_point(const FaShapeSolver *s, int i, const double *w, double y[3]) {
    memcpy(y, s->rest + 3 * (size_t)i, 3 * sizeof *y);
    for (int e = s->start[i]; e < s->start[i + 1]; e++)
        if (w[s->shape[e]] != 0) fai_v3_mad(y, w[s->shape[e]], s->b + 3 * (size_t)e, y);
}

static void carried_weights(FaShapeSolver *s, const double *w) {
    for (int q = 0; q < s->o.carrier.nshape; q++) s->c[q] = w[s->o.carrier.shape[q]];
}

static void points_at(FaShapeSolver *s, const double *w, double *point) {
    carried_weights(s, w);
    frames_at(s, s->c, s->frame);
    for (int i = 0; i < s->npoint; i++) {
        double y[3];
        blend_point(s, i, w, y);
        apply(s->frame + 12 * (size_t)i, y, point + 3 * (size_t)i);
    }
}

// Columns of the Jacobian at w: deltas turned by the frames, and the frames' own slope for carried shapes.
static void linearise(FaShapeSolver *s, const double *w) {
    points_at(s, w, s->point);
    for (int i = 0; i < s->npoint; i++) {
        double m[9];
        linear_part(s->frame + 12 * (size_t)i, m);
        for (int e = s->start[i]; e < s->start[i + 1]; e++)
            fai_m3_mulv(m, s->b + 3 * (size_t)e, s->col + 3 * (size_t)e);
    }
    const double h = 1e-4; // the callback may compute in float
    for (int q = 0; q < s->o.carrier.nshape; q++) {
        double keep = s->c[q];
        s->c[q] = keep + h;
        frames_at(s, s->c, s->frame2);
        s->c[q] = keep;
        for (int i = 0; i < s->npoint; i++) {
            double y[3], z[3];
            blend_point(s, i, w, y);
            apply(s->frame2 + 12 * (size_t)i, y, z);
            int e = s->start[i];
            while (s->shape[e] != s->o.carrier.shape[q]) e++;
            for (int k = 0; k < 3; k++)
                s->col[3 * (size_t)e + (size_t)k] += (z[k] - s->point[3 * (size_t)i + (size_t)k]) / h;
        }
    }
}

static double cost(const FaShapeSolver *s, const double *w, const double *point, double l1) {
    double sum = 0;
    for (int i = 0; i < s->npoint; i++) {
        double d[3];
        if (s->a[i] == 0) continue;
        fai_v3_sub(point + 3 * (size_t)i, s->target + 3 * (size_t)i, d);
        sum += s->a[i] * fai_v3_dot(d, d);
    }
    for (int j = 0; j < s->nshape; j++) {
        double step = s->started ? w[j] - s->last[j] : 0;
        sum += l1 * w[j] + s->prior * w[j] * w[j] + s->size[j] * (s->o.ridge * w[j] * w[j] + s->o.smooth * step * step);
    }
    return sum;
}

// --- a frame ------------------------------------------------------------------------------------------------------

// Usable markers and their weights; returns how many.
static int read_markers(FaShapeSolver *s, const FaShapeMarkers *m, double *share) {
    int used = 0;
    double sum = 0, all = 0;
    for (int i = 0; i < s->npoint; i++) {
        double a = m->weight ? (double)m->weight[i] : 1;
        if (!isfinite(a) || a < 0) a = 0;
        all += a;
        if (m->visible && !m->visible[i]) a = 0;
        for (int k = 0; k < 3; k++) {
            double x = (double)m->x[3 * (size_t)i + (size_t)k];
            if (!isfinite(x)) a = 0;
            s->target[3 * (size_t)i + (size_t)k] = x;
        }
        s->gram_valid &= a == s->old_a[i];
        s->a[i] = s->old_a[i] = a;
        used += a > 0;
        sum += a;
    }
    *share = all > 0 ? sum / all : 0;
    return used;
}

// G = J'AJ over the sparse rows, and what the diagonal gets.
static void gram(FaShapeSolver *s, double smooth) {
    size_t n = (size_t)s->nshape;
    memset(s->g, 0, n * n * sizeof *s->g);
    for (int i = 0; i < s->npoint; i++) {
        if (s->a[i] == 0) continue;
        for (int e = s->start[i]; e < s->start[i + 1]; e++) {
            double v[3], *row = s->g + (size_t)s->shape[e] * n;
            fai_v3_scale(s->a[i], s->col + 3 * (size_t)e, v);
            for (int f = s->start[i]; f <= e; f++) row[s->shape[f]] += fai_v3_dot(v, s->col + 3 * (size_t)f);
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) s->g[j * n + i] = s->g[i * n + j];
    for (size_t j = 0; j < n; j++) s->diagonal[j] = s->g[j * n + j] + s->size[j] * (s->o.ridge + smooth);
}

// f = J'A(m - p + J w) + smoothing, and the bounds; returns how many shapes are held.
static int right_side(FaShapeSolver *s, double smooth) {
    size_t n = (size_t)s->nshape;
    int held = 0;
    memset(s->f, 0, n * sizeof *s->f);
    memset(s->hi, 0, n * sizeof *s->hi); // first the visible size of each shape
    for (int i = 0; i < s->npoint; i++) {
        double r[3];
        if (s->a[i] == 0) continue;
        fai_v3_sub(s->target + 3 * (size_t)i, s->point + 3 * (size_t)i, r);
        for (int e = s->start[i]; e < s->start[i + 1]; e++) fai_v3_mad(r, s->w[s->shape[e]], s->col + 3 * (size_t)e, r);
        for (int e = s->start[i]; e < s->start[i + 1]; e++) {
            const double *b = s->col + 3 * (size_t)e;
            s->f[s->shape[e]] += s->a[i] * fai_v3_dot(b, r);
            s->hi[s->shape[e]] += s->a[i] > 0 ? fai_v3_dot(b, b) : 0;
        }
    }
    for (size_t j = 0; j < n; j++) {
        bool blind = !(s->hi[j] > 1e-6 * s->size[j]);
        s->f[j] += smooth * s->size[j] * s->last[j];
        s->lo[j] = 0;
        s->hi[j] = s->o.upper > 0 ? s->o.upper : INFINITY;
        if (blind) s->lo[j] = s->hi[j] = s->last[j];
        if (!s->o.use[j]) s->lo[j] = s->hi[j] = 0;
        held += blind && s->seen[j] && s->o.use[j];
    }
    return held;
}

// One linear program around s->w; the solution in s->try.
static FaNnlsStatus solve_linear(FaShapeSolver *s, double l1, int *held) {
    size_t n = (size_t)s->nshape;
    double smooth = s->started ? s->o.smooth : 0;
    if (!s->gram_valid || smooth != s->gram_smooth) gram(s, smooth);
    s->gram_valid = !s->o.carrier.nshape; // carried columns turn with every frame
    s->gram_smooth = smooth;
    for (size_t j = 0; j < n; j++) s->g[j * n + j] = s->diagonal[j] + s->prior;
    *held = right_side(s, smooth);
    memcpy(s->try, s->w, n * sizeof *s->try);
    FaNnlsProblem q = {.n = s->nshape, .g = s->g, .f = s->f, .l1 = l1 / 2, .lo = s->lo, .hi = s->hi};
    FaNnlsResult r = fai_nnls_solve(s->nnls, &q, s->try);
    return r.status;
}

// Gauss-Newton; one pass where nothing is carried.
static FaNnlsStatus iterate(FaShapeSolver *s, double l1, FaShapeFit *fit) {
    int most = !s->o.carrier.nshape ? 1 : s->o.iterations > 0 ? s->o.iterations : 4;
    FaNnlsStatus status = FA_NNLS_OK;
    linearise(s, s->w);
    double now = cost(s, s->w, s->point, l1);
    for (fit->iterations = 0; fit->iterations < most;) {
        fit->iterations++;
        status = solve_linear(s, l1, &fit->held);
        if (status >= FA_NNLS_BAD_BOUNDS) break;
        double change = 0, next = 0;
        for (int j = 0; j < s->nshape; j++) change = fmax(change, fabs(s->try[j] - s->w[j]));
        for (int half = 0; half < 6; half++) {
            points_at(s, s->try, s->point);
            next = cost(s, s->try, s->point, l1);
            if (most == 1 || next <= now) break;
            for (int j = 0; j < s->nshape; j++) s->try[j] = 0.5 * (s->try[j] + s->w[j]);
        }
        if (most > 1 && !(next <= now)) break;
        memcpy(s->w, s->try, (size_t)s->nshape * sizeof *s->w);
        bool done = change < 1e-5 || now - next <= 1e-9 * now;
        now = next;
        if (done || fit->iterations == most) break;
        linearise(s, s->w);
    }
    fit->cost = now;
    return status;
}

// Sum of squares by which the shapes miss the markers at s->w, per marker.
static double misfit(FaShapeSolver *s) {
    double sum = 0, all = 0;
    points_at(s, s->w, s->point);
    for (int i = 0; i < s->npoint; i++) {
        double d[3];
        fai_v3_sub(s->point + 3 * (size_t)i, s->target + 3 * (size_t)i, d);
        if (s->a[i] > 0) sum += s->a[i] * fai_v3_dot(d, d), all += s->a[i];
    }
    return all > 0 ? sum / all : 0;
}

static void measure(FaShapeSolver *s, FaShapeFit *fit) {
    points_at(s, s->w, s->point);
    for (int i = 0; i < s->npoint; i++) {
        double d[3];
        if (s->a[i] == 0) continue;
        fai_v3_sub(s->point + 3 * (size_t)i, s->target + 3 * (size_t)i, d);
        double e = fai_v3_norm(d);
        fit->mean += e / fit->used;
        fit->rms += e * e / fit->used;
        if (e > fit->worst || fit->worst_at < 0) {
            fit->worst = e;
            fit->worst_at = i;
        }
    }
    fit->rms = sqrt(fit->rms);
    for (int j = 0; j < s->nshape; j++) fit->active += s->w[j] > 0;
}

FaCode fai_shape_solve(FaShapeSolver *s, const FaShapeMarkers *markers, float *weight, FaShapeFit *fit) {
    FaShapeFit none, *out = fit ? fit : &none;
    *out = (FaShapeFit){.worst_at = -1};
    double share;
    out->used = read_markers(s, markers, &share);
    FaCode rc = FA_OK;
    memcpy(s->w, s->last, (size_t)s->nshape * sizeof *s->w);
    if (out->used == 0) {
        for (int j = 0; j < s->nshape; j++) out->held += s->seen[j] && s->o.use[j];
        rc = FA_CLAMPED;
    } else {
        s->prior = 0;
        out->status = iterate(s, s->o.l1 * share, out);
        s->prior = s->o.prior > 0 ? s->o.prior * misfit(s) : 0;
        if (s->prior > 0) out->status = iterate(s, s->o.l1 * share, out);
        if (out->status != FA_NNLS_OK) rc = FA_STALLED;
        s->started = true;
        memcpy(s->last, s->w, (size_t)s->nshape * sizeof *s->w);
    }
    measure(s, out);
    for (int j = 0; j < s->nshape; j++) weight[j] = (float)s->w[j];
    return rc;
}

void fai_shape_solver_points(FaShapeSolver *s, const float *weight, float *x) {
    for (int j = 0; j < s->nshape; j++) s->try[j] = isfinite(weight[j]) ? (double)weight[j] : 0;
    points_at(s, s->try, s->point);
    for (size_t i = 0; i < 3 * (size_t)s->npoint; i++) x[i] = (float)s->point[i];
}
