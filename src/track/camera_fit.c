// Based on: thesis 001 section 6.1.1, eq. 6.2 and 6.3. Symbols: Q -> r, t -> t, l_v -> seen, beta_exp -> w, beta_id ->
// id. Deviations: expressions have bounds instead of a PCA prior, landmarks have trust and a robust loss, and z (where
// a detector gives it) counts a little, up to an offset per frame that is solved for.
#include "track/camera_fit.h"

#include "math/dense.h"
#include "math/mat3.h"
#include "math/procrustes.h"

#include <math.h>

static const double ROBUST = 5;        // width of the robust loss over sigma
static const double LOST = 0.12;       // rms over the size of the face from which on it is none
static const double GOOD_START = 0.02; // median over that size at which no other start is tried
static const double BEHIND = 0.3;      // sine of how far beyond profile a face may look away
static const double NEAR = 0.03;       // m: nothing of a face is nearer to the lens

struct FaFitWork {
    int stride;                   // 6 + nexp + nid + 1
    double *s, *y;                // landmarks of the model: head frame, and turned to camera axes   (n x 3)
    double *res;                  // residuals, pixels                                               (n x 3)
    double *dist;                 // lengths of them (across; metric: all three)                     (n)
    double *say;                  // trust x robust weight                                           (n)
    double *sort;                 // (n)
    double *g, *f;                // normal equations: 1/2 d'Gd - f'd          (stride x stride, stride)
    double *damped;               // (stride x stride)
    double *h;                    // what the offset of z sees                                       (stride)
    double *col[3];               // rows of one landmark                                            (stride each)
    int *at;                      // their columns                                                   (stride)
    double *d, *lo, *hi;          // step                                                            (stride)
    double *wtry, *wbest, *wkeep; // expressions                                               (nexp each)
    int *free;                    // unknowns that are solved for                                    (stride)
    double *ll, *ls;              // (stride x stride each)
    FaNnls *nnls;
    FaArena *arena;
};

void fai_fit_work_free(FaFitWork *work) {
    if (!work) return;
    fai_nnls_free(work->nnls);
    fai_arena_free(work->arena);
    fa_free(work);
}

FaCode fai_fit_work_new(const FaFitSetup *setup, FaFitWork **work, FaError *err) {
    *work = NULL;
    FaFitWork *k = FA_NEW(1, FaFitWork);
    if (!k || !(k->arena = fai_arena_new(0))) {
        fa_free(k);
        return FA_FAIL_MEMORY(err);
    }
    int nexp = setup->model->nexp, ns = 6 + nexp + setup->model->nid + 1;
    size_t n = (size_t)setup->n, m = (size_t)ns;
    k->stride = ns;
    double **list[] = {&k->s,      &k->y,  &k->res, &k->dist, &k->say,  &k->sort,   &k->g,
                       &k->damped, &k->ll, &k->ls,  &k->f,    &k->h,    &k->col[0], &k->col[1],
                       &k->col[2], &k->d,  &k->lo,  &k->hi,   &k->wtry, &k->wbest,  &k->wkeep};
    size_t size[] = {3 * n, 3 * n, 3 * n, n, n, n, m * m, m * m, m * m, m * m, m, m, m, m, m, m, m, m, m, m, m};
    bool ok = true;
    for (int i = 0; i < FA_COUNT(list); i++) ok = ok && (*list[i] = FA_PUSH(k->arena, size[i], double));
    k->at = FA_PUSH(k->arena, m, int);
    k->free = FA_PUSH(k->arena, m, int);
    FaCode rc = ok && k->at && k->free ? fai_nnls_new(6 + nexp, &k->nnls, err) : FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_fit_work_free(k);
    else
        *work = k;
    return rc;
}

// --- what is known ------------------------------------------------------------------------------------------------

FaCode fai_fit_setup(const FaFaceModel *model, const FaCameraInput *in, const FaCameraOptions *o, FaFitSetup *setup,
                     FaError *err) {
    const FaModelRows *rows = fai_model_rows(model, in->layout);
    const double width = in->width, height = in->height;
    const bool metric = in->metric;
    const int dims = in->dims;
    if (!rows)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the model a table of these landmarks",
                       "the face model does not say where the landmarks of this layout are");
    if (!metric && (!(width > 0) || !(height > 0) || !isfinite(width + height)))
        return FA_FAIL(err, FA_E_ARG, NULL, "give the picture's width and height in pixels", "the picture has no size");
    double all[] = {o->focal_px, o->smooth, o->id_prior, o->exp_prior, o->sparse, o->z_weight, o->hold, o->ease};
    for (int i = 0; i < FA_COUNT(all); i++)
        if (!(all[i] >= 0) || !isfinite(all[i]))
            return FA_FAIL(err, FA_E_ARG, NULL, "give 0 or more",
                           "an option of the camera's fit is negative or not a number");
    double crowd = fmax(1, rows->n / 100.0);
    *setup = (FaFitSetup){.model = model,
                          .rows = rows,
                          .n = rows->n,
                          .dims = dims,
                          .metric = metric && dims == 3,
                          .cx = width / 2,
                          .cy = height / 2,
                          .focal0 = o->focal_px > 0 ? o->focal_px : 0.9 * fmax(width, height),
                          .focal_free = !(o->focal_px > 0) && !metric,
                          .id_fixed = o->identity || model->nid == 0,
                          .id_prior = crowd * o->id_prior,
                          .exp_prior = crowd * o->exp_prior,
                          .sparse = crowd * o->sparse,
                          .z_weight = dims == 3 && !metric ? o->z_weight : 0};
    if (metric) setup->cx = setup->cy = 0, setup->focal0 = 1;
    return FA_OK;
}

void fai_fit_shared_set(const FaFitSetup *setup, FaFitShared *shared) {
    const FaModelRows *r = setup->rows;
    int nid = setup->model->nid;
    for (int i = 0; i < 3 * setup->n; i++) shared->face[i] = r->mean[i];
    for (int i = 0; i < setup->n; i++)
        for (int k = 0; k < nid; k++)
            fai_v3_mad(shared->face + 3 * (size_t)i, shared->id[k], r->id + 3 * ((size_t)i * (size_t)nid + (size_t)k),
                       shared->face + 3 * (size_t)i);
}

void fai_fit_see(const FaFitSetup *setup, int count, const float *x, const float *visibility, FaFitSeen *seen) {
    const FaModelRows *r = setup->rows;
    int axes = setup->metric ? 3 : 2;
    double mid[3] = {0}, sum = 0, spread = 0;
    seen->count = 0;
    for (int i = 0; i < setup->n; i++) {
        int l = r->index[i];
        double *p = seen->x + 3 * (size_t)i, a = 0;
        fai_v3_set(p, 0, 0, 0);
        if (l < count) {
            const float *q = x + (size_t)l * (size_t)setup->dims;
            double v = visibility ? (double)visibility[l] : 1;
            bool fine = v > 0;
            for (int k = 0; k < setup->dims; k++) fine = fine && fabs((double)q[k]) < 1e7;
            if (fine) a = r->trust[i] * fmin(v, 1);
            for (int k = 0; fine && k < setup->dims; k++) p[k] = (double)q[k];
        }
        seen->a[i] = a;
        seen->count += a > 0;
        for (int k = 0; k < axes; k++) mid[k] += a * p[k];
        sum += a;
    }
    for (int i = 0; i < setup->n; i++)
        for (int k = 0; k < axes; k++) {
            double d = seen->x[3 * (size_t)i + (size_t)k] - mid[k] / fmax(sum, 1e-30);
            spread += seen->a[i] * d * d;
        }
    seen->size = 2 * sqrt(spread / fmax(sum, 1e-30)) * (setup->metric ? FA_FIT_METRIC_PX : 1);
}

// --- residuals ----------------------------------------------------------------------------------------------------

void fai_fit_turn(FaFitPose *pose, const double w[3]) {
    double q[4], m[9];
    fai_q_exp(w, q);
    fai_q_to_m3(q, m);
    fai_m3_mul(m, pose->r, pose->r);
}

static double centre_depth(const FaFitSetup *setup, const FaFitPose *pose) {
    return fmax(fai_v3_dot(pose->r + 6, setup->rows->centre) + pose->t[2], NEAR);
}

static void model_points(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitPose *pose,
                         const double *w) {
    const FaModelRows *r = setup->rows;
    memcpy(k->s, shared->face, 3 * (size_t)setup->n * sizeof *k->s);
    for (int i = 0; i < setup->n; i++) {
        double *s = k->s + 3 * (size_t)i;
        for (int e = r->start[i]; e < r->start[i + 1]; e++)
            if (w[r->shape[e]] != 0) fai_v3_mad(s, w[r->shape[e]], r->b + 3 * (size_t)e, s);
        fai_m3_mulv(pose->r, s, k->y + 3 * (size_t)i);
    }
}

// Residuals at a pose; dist of landmarks that are missing is 0. The mean of the z rows is taken off.
static void residuals(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                      const FaFitPose *pose, const double *w) {
    model_points(k, setup, shared, pose, w);
    double zc = centre_depth(setup, pose), zsum = 0, asum = 0;
    for (int i = 0; i < setup->n; i++) {
        double *r = k->res + 3 * (size_t)i, c[3];
        const double *l = seen->x + 3 * (size_t)i;
        fai_v3_add(k->y + 3 * (size_t)i, pose->t, c);
        if (setup->metric) {
            for (int a = 0; a < 3; a++) r[a] = FA_FIT_METRIC_PX * (c[a] - l[a]);
        } else {
            double f = shared->focal / fmax(c[2], NEAR);
            fai_v3_set(r, f * c[0] + setup->cx - l[0], f * c[1] + setup->cy - l[1],
                       setup->z_weight > 0 ? shared->focal * (c[2] / zc - 1) - l[2] : 0);
            zsum += seen->a[i] * r[2];
            asum += seen->a[i];
        }
        k->dist[i] = seen->a[i] > 0 ? sqrt(r[0] * r[0] + r[1] * r[1] + (setup->metric ? r[2] * r[2] : 0)) : 0;
    }
    for (int i = 0; asum > 0 && i < setup->n; i++) k->res[3 * (size_t)i + 2] -= zsum / asum;
}

static double median(double *v, int n) { // reorders v
    int lo = 0, hi = n - 1, mid = n / 2;
    if (n < 1) return 0;
    while (lo < hi) {
        double pivot = v[mid];
        int i = lo, j = hi;
        do {
            while (v[i] < pivot) i++;
            while (pivot < v[j]) j--;
            if (i <= j) {
                double t = v[i];
                v[i++] = v[j];
                v[j--] = t;
            }
        } while (i <= j);
        if (j < mid) lo = i;
        if (mid < i) hi = j;
    }
    return v[mid];
}

static double median_distance(FaFitWork *k, const FaFitSetup *setup, const FaFitSeen *seen) {
    int n = 0;
    for (int i = 0; i < setup->n; i++)
        if (seen->a[i] > 0) k->sort[n++] = k->dist[i];
    return median(k->sort, n);
}

static double prior_weight(const FaFitSetup *setup, const FaFitShared *shared) {
    return shared->sigma * shared->sigma * setup->exp_prior / (FA_EXP_SD * FA_EXP_SD);
}
static double prior_slope(const FaFitSetup *setup, const FaFitShared *shared) {
    return shared->sigma * shared->sigma * setup->sparse * FA_EXP_RATE;
}

// Half of E at the residuals in k, for a robust width c.
static double energy(const FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                     const double *w, double c) {
    double sum = 0, zw = setup->z_weight * setup->z_weight;
    for (int i = 0; i < setup->n; i++) {
        double d2 = k->dist[i] * k->dist[i], z = k->res[3 * (size_t)i + 2];
        sum += seen->a[i] * (d2 / (1 + d2 / (c * c)) + (setup->metric ? 0 : zw * z * z / (1 + z * z * zw / (c * c))));
    }
    sum *= 0.5;
    for (int j = 0; j < setup->model->nexp; j++)
        sum += 0.5 * prior_weight(setup, shared) * w[j] * w[j] + prior_slope(setup, shared) * w[j];
    return sum;
}

// --- equations ----------------------------------------------------------------------------------------------------

// Columns of one landmark: derivatives of its three residuals by pose, its expressions and, if joint, identities and
// focal.
static int columns(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitPose *pose, int i,
                   bool joint, double zc) {
    const FaModelRows *r = setup->rows;
    const double *y = k->y + 3 * (size_t)i;
    double p[3][3] = {{0}}, c[3], turned[3];
    fai_v3_add(y, pose->t, c);
    double z = fmax(c[2], NEAR), f = shared->focal / z;
    bool depth = setup->z_weight > 0;
    if (setup->metric)
        p[0][0] = p[1][1] = p[2][2] = FA_FIT_METRIC_PX;
    else {
        fai_v3_set(p[0], f, 0, c[2] > NEAR ? -f * c[0] / z : 0);
        fai_v3_set(p[1], 0, f, c[2] > NEAR ? -f * c[1] / z : 0);
        if (depth) p[2][2] = shared->focal / zc;
    }
    int n = 0;
    double mid[3];
    fai_m3_mulv(pose->r, r->centre, mid);
    for (int a = 0; a < 6; a++, n++) { // pose: e x y, then e
        double e[3] = {a % 3 == 0, a % 3 == 1, a % 3 == 2}, d[3], dc[3];
        memcpy(d, e, sizeof d);
        memcpy(dc, e, sizeof dc);
        if (a < 3) fai_v3_cross(e, y, d), fai_v3_cross(e, mid, dc);
        for (int q = 0; q < 3; q++) k->col[q][n] = fai_v3_dot(p[q], d);
        if (depth) k->col[2][n] -= shared->focal * c[2] / (zc * zc) * dc[2];
        k->at[n] = a;
    }
    for (int e = r->start[i]; e < r->start[i + 1]; e++, n++) {
        fai_m3_mulv(pose->r, r->b + 3 * (size_t)e, turned);
        for (int q = 0; q < 3; q++) k->col[q][n] = fai_v3_dot(p[q], turned);
        k->at[n] = 6 + r->shape[e];
    }
    int nid = setup->model->nid, base = 6 + setup->model->nexp;
    for (int e = 0; joint && e < nid; e++, n++) {
        fai_m3_mulv(pose->r, r->id + 3 * ((size_t)i * (size_t)nid + (size_t)e), turned);
        for (int q = 0; q < 3; q++) k->col[q][n] = fai_v3_dot(p[q], turned);
        k->at[n] = base + e;
    }
    if (joint && setup->focal_free) {
        k->col[0][n] = f * c[0];
        k->col[1][n] = f * c[1];
        k->col[2][n] = depth ? shared->focal * (c[2] / zc - 1) : 0;
        k->at[n++] = base + nid;
    }
    return n;
}

// How much say each landmark has at the robust width c; 0 or less: all of it.
static void weigh(FaFitWork *k, const FaFitSetup *setup, const FaFitSeen *seen, double c) {
    for (int i = 0; i < setup->n; i++) {
        double q = c > 0 ? 1 + k->dist[i] * k->dist[i] / (c * c) : 1;
        k->say[i] = seen->a[i] / (q * q);
    }
}

// G and f of the data at the residuals in k (lower triangle, mirrored by finish). The z rows lose their common offset.
static void assemble(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitPose *pose,
                     bool joint) {
    size_t m = (size_t)k->stride;
    int used = joint ? k->stride : 6 + setup->model->nexp;
    double zc = centre_depth(setup, pose), zsum = 0, hsum = 0, zw = setup->z_weight * setup->z_weight;
    for (int i = 0; i < used; i++) memset(k->g + (size_t)i * m, 0, (size_t)used * sizeof *k->g);
    memset(k->f, 0, m * sizeof *k->f);
    memset(k->h, 0, m * sizeof *k->h);
    for (int i = 0; i < setup->n; i++) {
        double a = k->say[i], az = setup->metric ? a : a * zw;
        if (!(a > 0)) continue;
        int n = columns(k, setup, shared, pose, i, joint, zc);
        const double *r = k->res + 3 * (size_t)i, *jx = k->col[0], *jy = k->col[1], *jz = k->col[2];
        // pose and shared unknowns lie side by side, expressions do not
        int mid = 6 + setup->rows->start[i + 1] - setup->rows->start[i];
        for (int p = 0; p < n; p++) {
            double *row = k->g + (size_t)k->at[p] * m, x = a * jx[p], y = a * jy[p], z = az * jz[p];
            double *tail = row + 6 + setup->model->nexp - mid;
            k->f[k->at[p]] -= x * r[0] + y * r[1] + z * r[2];
            if (az > 0) {
                for (int q = 0; q <= FA_MIN(p, mid - 1); q++) row[k->at[q]] += x * jx[q] + y * jy[q] + z * jz[q];
                for (int q = mid; q <= p; q++) tail[q] += x * jx[q] + y * jy[q] + z * jz[q];
            } else {
                for (int q = 0; q <= FA_MIN(p, mid - 1); q++) row[k->at[q]] += x * jx[q] + y * jy[q];
                for (int q = mid; q <= p; q++) tail[q] += x * jx[q] + y * jy[q];
            }
            if (!setup->metric) k->h[k->at[p]] += z;
        }
        if (!setup->metric) {
            hsum += az;
            zsum += az * r[2];
        }
    }
    for (int p = 0; hsum > 0 && p < used; p++) {
        k->f[p] += k->h[p] * zsum / hsum;
        for (int q = 0; q <= p; q++) k->g[(size_t)p * m + (size_t)q] -= k->h[p] * k->h[q] / hsum;
    }
}

static void add_priors(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const double *w) {
    double weight = prior_weight(setup, shared) + 1e-12, slope = prior_slope(setup, shared);
    for (int j = 0; j < setup->model->nexp; j++) {
        size_t at = 6 + (size_t)j;
        k->g[at * (size_t)k->stride + at] += weight;
        k->f[at] -= weight * w[j] + slope;
    }
}

// --- steps --------------------------------------------------------------------------------------------------------

// Bounded step of the first n unknowns, damped by `damp` times the diagonal.
static void solve_step(FaFitWork *k, int n, double damp, const double *w, double depth) {
    size_t m = (size_t)k->stride;
    for (int p = 0; p < n; p++)
        for (int q = 0; q <= p; q++) {
            double v = k->g[(size_t)p * m + (size_t)q];
            if (p == q) v += damp * v + 1e-9;
            k->damped[(size_t)p * m + (size_t)q] = k->damped[(size_t)q * m + (size_t)p] = v;
        }
    for (int p = 0; p < n; p++) {
        double reach = p < 3 ? 0.4 : 0.5 * depth;
        k->lo[p] = p < 6 ? -reach : -w[p - 6];
        k->hi[p] = p < 6 ? reach : 1 - w[p - 6];
        k->d[p] = 0;
    }
    FaNnlsProblem problem = {.n = n, .stride = k->stride, .g = k->damped, .f = k->f, .lo = k->lo, .hi = k->hi};
    fai_nnls_solve(k->nnls, &problem, k->d);
}

static void apply(const FaFitSetup *setup, const double *d, int n, const FaFitVars *from, FaFitPose *pose, double *w) {
    *pose = from->pose;
    fai_fit_turn(pose, d);
    fai_v3_add(pose->t, d + 3, pose->t);
    for (int j = 0; j < setup->model->nexp; j++) w[j] = fmin(fmax(from->w[j] + (6 + j < n ? d[6 + j] : 0), 0), 1);
}

// Gauss-Newton over the first n unknowns (6: pose only) for a number of steps. The robust width never grows.
static int iterate(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                   FaFitVars *v, int n, int steps, double *width) {
    double damp = 0;
    int it = 0;
    residuals(k, setup, shared, seen, &v->pose, v->w);
    for (; it < steps; it++) {
        *width = fmin(*width, fmax(ROBUST * shared->sigma, 2.5 * median_distance(k, setup, seen)));
        double was = energy(k, setup, shared, seen, v->w, *width);
        weigh(k, setup, seen, *width);
        assemble(k, setup, shared, &v->pose, false);
        add_priors(k, setup, shared, v->w);
        FaFitPose pose;
        bool better = false;
        for (int attempt = 0; attempt < 5 && !better; attempt++) {
            solve_step(k, n, damp, v->w, fmax(fabs(v->pose.t[2]), 0.1));
            apply(setup, k->d, n, v, &pose, k->wtry);
            residuals(k, setup, shared, seen, &pose, k->wtry);
            better = energy(k, setup, shared, seen, k->wtry, *width) <= was;
            damp = better ? damp / 10 : fmax(damp * 10, 1e-3);
        }
        if (!better) {
            residuals(k, setup, shared, seen, &v->pose, v->w);
            break;
        }
        double turn = fai_v3_norm(k->d), move = fai_v3_norm(k->d + 3), change = 0;
        for (int j = 6; j < n; j++) change = fmax(change, fabs(k->d[j]));
        v->pose = pose;
        memcpy(v->w, k->wtry, (size_t)setup->model->nexp * sizeof *v->w);
        if (turn < 2e-5 && move < 2e-5 && change < 5e-4) return it + 1;
    }
    return it;
}

FaFitReport fai_fit_judge(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                          const FaFitVars *v) {
    FaFitReport rep = {0};
    residuals(k, setup, shared, seen, &v->pose, v->w);
    rep.median = median_distance(k, setup, seen);
    double width = fmax(ROBUST * shared->sigma, 2.5 * rep.median), sum = 0;
    rep.cost = energy(k, setup, shared, seen, v->w, width);
    weigh(k, setup, seen, width);
    for (int i = 0; i < setup->n; i++) {
        if (!(seen->a[i] > 0) || k->say[i] < 0.25 * seen->a[i]) continue;
        rep.used++;
        sum += k->dist[i] * k->dist[i];
    }
    rep.rms = rep.used ? sqrt(sum / rep.used) : 0;
    const double *axes = setup->model->rig->axes;
    double front[3];
    fai_m3_mulv(v->pose.r, axes + 6, front);
    rep.ok = seen->count >= FA_FIT_MIN && rep.used >= FA_FIT_MIN && rep.rms < LOST * seen->size && isfinite(rep.cost);
    rep.behind = rep.ok && !setup->metric && front[2] > BEHIND;
    rep.ok = rep.ok && !rep.behind;
    return rep;
}

FaFitReport fai_fit_warm(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                         FaFitVars *v, int steps) {
    if (seen->count < FA_FIT_MIN || !(seen->size > 0)) return (FaFitReport){0};
    double width = INFINITY;
    int n = iterate(k, setup, shared, seen, v, 6, 1, &width);
    width = INFINITY;
    n += iterate(k, setup, shared, seen, v, 6 + setup->model->nexp, steps, &width);
    FaFitReport rep = fai_fit_judge(k, setup, shared, seen, v);
    rep.steps = n;
    return rep;
}

// --- first frames -------------------------------------------------------------------------------------------------

// A frontal start: the similarity in the picture that brings the model's front view to the landmarks. False: they say
// nothing.
static bool first_pose(const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen, FaFitPose *pose,
                       double middle[3]) {
    const double *axes = setup->model->rig->axes, front[9] = {1, 0, 0, 0, -1, 0, 0, 0, -1};
    double pm[2] = {0}, lm[2] = {0}, sum = 0, re = 0, im = 0, den = 0;
    fai_m3_mul(front, axes, pose->r);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < setup->n; i++) {
            double p[3], a = seen->a[i];
            const double *l = seen->x + 3 * (size_t)i;
            fai_m3_mulv(pose->r, shared->face + 3 * (size_t)i, p);
            if (!pass) {
                for (int k = 0; k < 2; k++) pm[k] += a * p[k], lm[k] += a * l[k];
                sum += a;
                continue;
            }
            double x = p[0] - pm[0] / sum, y = p[1] - pm[1] / sum, u = l[0] - lm[0] / sum, v = l[1] - lm[1] / sum;
            re += a * (x * u + y * v);
            im += a * (x * v - y * u);
            den += a * (x * x + y * y);
        }
    double scale = sqrt(re * re + im * im) / fmax(den, 1e-30); // pixels per metre
    if (!(scale > 1e-6) || !isfinite(scale)) return false;
    // a head that is turned looks narrow: its size says more
    scale = fmax(scale, seen->size / setup->rows->size);
    double z = fmax(shared->focal / scale, 0.1), roll = atan2(im, re), c[3];
    fai_v3_set(middle, (lm[0] / sum - setup->cx) / shared->focal * z, (lm[1] / sum - setup->cy) / shared->focal * z, z);
    fai_v3_set(c, 0, 0, roll);
    fai_fit_turn(pose, c);
    return true;
}

static void start_from(const FaFitSetup *setup, const FaFitPose *front, const double middle[3], double yaw,
                       double pitch, FaFitPose *pose) {
    double turn[3] = {pitch, yaw, 0}, q[4], m[9], c[3];
    const double *axes = setup->model->rig->axes;
    fai_q_exp(turn, q);
    fai_q_to_m3(q, m);
    // front = F axes: turn in canonical axes in between
    double t[9], f[9];
    fai_m3_transpose(axes, t);
    fai_m3_mul(front->r, t, f);
    fai_m3_mul(f, m, f);
    fai_m3_mul(f, axes, pose->r);
    fai_m3_mulv(pose->r, setup->rows->centre, c);
    fai_v3_sub(middle, c, pose->t);
}

static FaFitReport try_start(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                             FaFitVars *v) {
    double width = INFINITY;
    memset(v->w, 0, (size_t)setup->model->nexp * sizeof *v->w);
    int n = iterate(k, setup, shared, seen, v, 6, 15, &width);
    width = INFINITY;
    n += iterate(k, setup, shared, seen, v, 6 + setup->model->nexp, 12, &width);
    FaFitReport rep = fai_fit_judge(k, setup, shared, seen, v);
    rep.steps = n;
    return rep;
}

FaFitReport fai_fit_cold(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                         FaFitVars *v) {
    static const double START[][2] = {{0, 0}, {0.6, 0}, {-0.6, 0}, {0, 0.45}, {0, -0.45}, {1.0, 0}, {-1.0, 0}};
    FaFitReport best = {0};
    if (seen->count < FA_FIT_MIN || !(seen->size > 0)) return best;
    if (setup->metric) {
        FaAlign a = fai_align(setup->n, shared->face, seen->x, seen->a, false);
        memcpy(v->pose.r, a.rotation, sizeof v->pose.r);
        memcpy(v->pose.t, a.translation, sizeof v->pose.t);
        return try_start(k, setup, shared, seen, v);
    }
    FaFitPose front, found;
    double middle[3];
    if (!first_pose(setup, shared, seen, &front, middle)) return best;
    for (int s = 0; s < FA_COUNT(START); s++) {
        start_from(setup, &front, middle, START[s][0], START[s][1], &v->pose);
        FaFitReport rep = try_start(k, setup, shared, seen, v);
        if (s == 0 || (rep.ok && (!best.ok || rep.median < best.median))) {
            best = rep;
            found = v->pose;
            memcpy(k->wbest, v->w, (size_t)setup->model->nexp * sizeof *v->w);
        }
        if (best.ok && best.median < GOOD_START * seen->size) break;
    }
    v->pose = found;
    memcpy(v->w, k->wbest, (size_t)setup->model->nexp * sizeof *v->w);
    return best;
}

// --- what a frame says about all ----------------------------------------------------------------------------------

bool fai_fit_shared_info(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                         const FaFitVars *v, double *s, double *g) {
    size_t m = (size_t)k->stride;
    int nexp = setup->model->nexp, ns = setup->model->nid + 1, base = 6 + nexp, n = 0;
    residuals(k, setup, shared, seen, &v->pose, v->w);
    weigh(k, setup, seen, fmax(ROBUST * shared->sigma, 2.5 * median_distance(k, setup, seen)));
    assemble(k, setup, shared, &v->pose, true);
    add_priors(k, setup, shared, v->w);
    for (int p = 0; p < base; p++)
        if (p < 6 || (v->w[p - 6] > 1e-6 && v->w[p - 6] < 1 - 1e-6)) k->free[n++] = p;
    // H_ll = L L', V = L^-1 H_ls, S = H_ss - V'V, g = f_s - V' L^-1 f_l; f_l goes along as one more column
    for (int p = 0; p < n; p++)
        for (int q = 0; q <= p; q++)
            k->ll[(size_t)p * m + (size_t)q] = k->g[(size_t)k->free[p] * m + (size_t)k->free[q]] + (p == q ? 1e-9 : 0);
    if (!fai_dense_cholesky(n, k->stride, k->ll)) return false;
    for (int c = 0; c < ns; c++) {
        double *col = k->ls + (size_t)c * m;
        for (int p = 0; p < n; p++) col[p] = k->g[(size_t)(base + c) * m + (size_t)k->free[p]];
        fai_dense_forward(n, k->stride, k->ll, col);
    }
    double *fl = k->d;
    for (int p = 0; p < n; p++) fl[p] = k->f[k->free[p]];
    fai_dense_forward(n, k->stride, k->ll, fl);
    for (int c = 0; c < ns; c++) {
        const double *a = k->ls + (size_t)c * m;
        g[c] = k->f[base + c];
        for (int p = 0; p < n; p++) g[c] -= a[p] * fl[p];
        for (int e = 0; e <= c; e++) {
            const double *b = k->ls + (size_t)e * m;
            double sum = k->g[(size_t)(base + c) * m + (size_t)(base + e)];
            for (int p = 0; p < n; p++) sum -= a[p] * b[p];
            s[(size_t)c * (size_t)ns + (size_t)e] = s[(size_t)e * (size_t)ns + (size_t)c] = sum;
        }
    }
    return true;
}

double fai_fit_gradient(FaFitWork *k, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                        const FaFitVars *v, double *grad, double *residual) {
    residuals(k, setup, shared, seen, &v->pose, v->w);
    weigh(k, setup, seen, 0);
    assemble(k, setup, shared, &v->pose, true);
    double sum = 0, zw = setup->z_weight * setup->z_weight;
    for (int i = 0; i < setup->n; i++) {
        const double *r = k->res + 3 * (size_t)i;
        sum += 0.5 * seen->a[i] * (k->dist[i] * k->dist[i] + (setup->metric ? 0 : zw * r[2] * r[2]));
    }
    for (int p = 0; grad && p < k->stride; p++) grad[p] = -k->f[p];
    if (residual) memcpy(residual, k->res, 3 * (size_t)setup->n * sizeof *residual);
    return sum;
}
