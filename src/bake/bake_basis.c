// The basis of a bake: principal components of more frames than fit in memory.
//
// Block after block, frames are reduced by what the basis holds of them; what is left is decomposed by its Gram matrix
// (the method of snapshots) and its leading directions join the basis, as many as bring every vertex within a share of
// the goal. In the end the coefficients' covariance turns the basis into principal axes.
#include "bake/bake_work.h"
#include "base/task.h"
#include "math/dense.h"

#include <math.h>
#include <stdlib.h>

static const double KEEP = 0.5;  // share of the goal that the basis may miss a frame by
static const double STILL = 0.9; // share of the goal within which a frame need not move at all

FaCode fai_bake_progress(const FaBakeWork *w, const char *stage, double done, FaError *err) {
    return fai_progress(w->params->progress, w->params->progress_user, stage, done, "nothing is kept", err);
}

FaCode fai_bake_read(FaBakeWork *w, int first, int count, FaError *err) {
    for (int j = 0; j < count; j++) {
        FA_TRY(w->source->read(w->source->user, first + j, w->frame, err));
        for (int v = 0; v < w->nvert; v++) {
            const float *r = w->frame + 3 * (size_t)v;
            float l2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
            if (!isfinite(l2))
                return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("frame %d, vertex %d", first + j, v),
                               "check the frame's positions in the source",
                               "a position is not a number, or far too large");
            if (l2 > w->span2[v]) w->span2[v] = l2;
        }
        fai_stack_set(&w->frames, j, w->frame);
    }
    return FA_OK;
}

FaCode fai_bake_rows(FaBakeWork *w, const float *coef, int n, int first, int count, float scale, FaError *err) {
    if (n > w->row_room || !w->rows) {
        float *rows = fai_resize(w->rows, ((size_t)n + 1) * (size_t)w->block * sizeof *rows);
        if (!rows) return FA_FAIL_MEMORY(err);
        w->rows = rows;
        w->row_room = n;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < count; j++)
            w->rows[(size_t)j * (size_t)n + (size_t)i] =
                scale * coef[(size_t)i * (size_t)w->nframe + (size_t)(first + j)];
    return FA_OK;
}

// A singular matrix has clusters of eigenvalues at zero, which iterate long for digits that mean nothing. Lifted off
// zero by the trace, they are settled to the accuracy of the largest, which is all that a Gram matrix holds.
FaCode fai_bake_eigen(int n, double *g, double *lambda, double *v, FaError *err) {
    double lift = 0;
    for (int i = 0; i < n; i++) lift += g[(size_t)i * (size_t)n + (size_t)i];
    for (int i = 0; i < n; i++) g[(size_t)i * (size_t)n + (size_t)i] += lift;
    FA_TRY(fai_eigen_symmetric(n, g, lambda, v, err));
    for (int i = 0; i < n; i++) lambda[i] -= lift;
    return FA_OK;
}

// --- growing ------------------------------------------------------------------------------------------------------

static FaCode grow_coef(FaBakeWork *w, int rows, FaError *err) {
    if (rows <= w->coef_room) return FA_OK;
    rows = FA_MAX(rows, w->coef_room + w->coef_room / 2 + 16);
    size_t n = (size_t)w->nframe, old = (size_t)w->coef_room * n, all = (size_t)rows * n;
    float *coef = fai_resize(w->coef, all * sizeof *coef);
    if (!coef) return FA_FAIL_MEMORY(err);
    memset(coef + old, 0, (all - old) * sizeof *coef);
    w->coef = coef;
    w->coef_room = rows;
    return FA_OK;
}

static FaCode set_coefs(FaBakeWork *w, int row, int n, int first, int count, const double *d, FaError *err) {
    FA_TRY(grow_coef(w, row + n, err));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < count; j++)
            w->coef[(size_t)(row + i) * (size_t)w->nframe + (size_t)(first + j)] =
                (float)d[(size_t)i * (size_t)count + (size_t)j];
    return FA_OK;
}

// Take what the basis holds of the frames out of them, and note it as their coefficients.
static FaCode project(FaBakeWork *w, int first, int count, double *d, FaError *err) {
    FA_TRY(fai_stack_dots(&w->basis, w->nbasis, &w->frames, count, d, err));
    FA_TRY(set_coefs(w, 0, w->nbasis, first, count, d, err));
    FA_TRY(fai_bake_rows(w, w->coef, w->nbasis, first, count, -1, err));
    fai_stack_add(&w->frames, count, &w->basis, w->nbasis, w->rows, (size_t)w->nbasis);
    return FA_OK;
}

// Scratch for a block.
typedef struct Fresh {
    double *g, *v, *lambda; // (block x block), (block x block), (block)
    double *d;              // coefficients              (limit x block)
    float *c, *max2;        // (block x block), (block + 1)
} Fresh;

// Principal directions of the frames' rest into w->spare: *found of them bring it within `reach`. The rest is used up.
static FaCode find_directions(FaBakeWork *w, int count, float reach, Fresh *s, int *found, FaError *err) {
    size_t n = (size_t)count;
    FA_TRY(fai_stack_dots(&w->frames, count, &w->frames, count, s->g, err));
    FA_TRY(fai_bake_eigen(count, s->g, s->lambda, s->v, err));
    // the Gram matrix is known to single precision: directions below that are noise
    int p = 0;
    while (p < count && s->lambda[p] > 1e-10 * s->lambda[0] && s->lambda[p] > 0) p++;
    for (int i = 0; i < p; i++)
        for (size_t j = 0; j < n; j++) s->c[(size_t)i * n + j] = (float)(s->v[(size_t)i * n + j] / sqrt(s->lambda[i]));
    fai_stack_clear(&w->spare, 0, p);
    fai_stack_add(&w->spare, p, &w->frames, count, s->c, n);
    // how much the first few leave over, for every number of them
    for (size_t j = 0; j < n; j++)
        for (int i = 0; i < p; i++)
            s->c[j * (size_t)p + (size_t)i] = (float)(-s->v[(size_t)i * n + j] * sqrt(s->lambda[i]));
    memset(s->max2, 0, (n + 1) * sizeof *s->max2);
    FA_TRY(fai_stack_add_watch(&w->frames, count, &w->spare, p, s->c, (size_t)p, s->max2, err));
    int k = 0;
    while (k < p && s->max2[k] > reach * reach) k++;
    *found = k;
    return FA_OK;
}

// The directions are orthonormal among themselves; make them so against the basis and add them to it.
static FaCode append(FaBakeWork *w, int count, double *d, FaError *err) {
    int m = w->nbasis;
    FA_TRY(fai_stack_dots(&w->basis, m, &w->spare, count, d, err));
    float *c = FA_NEW((size_t)m * (size_t)count, float);
    if (!c) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < count; j++)
            c[(size_t)j * (size_t)m + (size_t)i] = (float)-d[(size_t)i * (size_t)count + (size_t)j];
    fai_stack_add(&w->spare, count, &w->basis, m, c, (size_t)m);
    fa_free(c);
    FA_TRY(fai_stack_grow(&w->basis, m + count, err));
    for (int j = 0; j < count; j++) fai_stack_copy(&w->basis, m + j, &w->spare, j);
    w->nbasis += count;
    return FA_OK;
}

// --- principal axes -----------------------------------------------------------------------------------------------

void fai_bake_centre(int n, int nframe, const float *coef, double *mean, float *centred) {
    for (int i = 0; i < n; i++) {
        const float *row = coef + (size_t)i * (size_t)nframe;
        double sum = 0;
        for (int f = 0; f < nframe; f++) sum += (double)row[f];
        mean[i] = sum / nframe;
        for (int f = 0; f < nframe; f++)
            centred[(size_t)i * (size_t)nframe + (size_t)f] = (float)((double)row[f] - mean[i]);
    }
}

FaCode fai_bake_axes(int n, int nframe, const float *rows, double *v, FaError *err) {
    double *g = FA_NEW((size_t)n * (size_t)n, double), *lambda = FA_NEW(n, double);
    FaCode rc = g && lambda ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fai_gram(n, (size_t)nframe, rows, g);
        rc = fai_bake_eigen(n, g, lambda, v, err);
    }
    fa_free(g);
    fa_free(lambda);
    return rc;
}

// Turn basis and coefficients by the orthonormal rows of v, and keep the first k.
static FaCode turn(FaBakeWork *w, const double *v, int k, FaError *err) {
    size_t m = (size_t)w->nbasis, n = (size_t)k * m;
    float *c = FA_NEW(n, float), *coef = FA_NEW((size_t)k * (size_t)w->nframe, float);
    FaCode rc = c && coef ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (size_t i = 0; i < n; i++) c[i] = (float)v[i];
        fai_mix_rows(k, w->nbasis, (size_t)w->nframe, v, w->coef, coef);
        rc = fai_stack_mix(&w->basis, w->nbasis, k, c, err);
    }
    if (rc >= 0) {
        size_t kept = (size_t)k * (size_t)w->nframe, all = (size_t)w->coef_room * (size_t)w->nframe;
        if (kept) memcpy(w->coef, coef, kept * sizeof *coef);
        memset(w->coef + kept, 0, (all - kept) * sizeof *coef);
        w->nbasis = k;
    }
    fa_free(c);
    fa_free(coef);
    return rc;
}

static FaCode to_principal_axes(FaBakeWork *w, int keep, FaError *err) {
    size_t m = (size_t)w->nbasis;
    if (!m) return FA_OK;
    double *v = FA_NEW(m * m, double), *mean = FA_NEW(m, double);
    float *centred = FA_NEW(m * (size_t)w->nframe, float);
    FaCode rc = v && mean && centred ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fai_bake_centre(w->nbasis, w->nframe, w->coef, mean, centred);
        rc = fai_bake_axes(w->nbasis, w->nframe, centred, v, err);
    }
    if (rc >= 0) rc = turn(w, v, FA_MIN(keep, w->nbasis), err);
    fa_free(v);
    fa_free(mean);
    fa_free(centred);
    return rc;
}

typedef struct Keyed {
    float key;
    int index;
} Keyed;
static int by_key(const void *a, const void *b) {
    const Keyed *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key) - (x->key > y->key) : x->index - y->index;
}

// Order by the largest displacement that a vector ever causes. Variance would put a broad motion of a hair's width,
// which may be dropped, before a fold at the mouth's corner, which may not: half as many vectors more.
static FaCode order_by_reach(FaBakeWork *w, FaError *err) {
    int m = w->nbasis;
    if (!m) return FA_OK;
    Keyed *key = FA_NEW(m, Keyed);
    float *max2 = FA_NEW(m, float);
    double *v = FA_NEW((size_t)m * (size_t)m, double);
    FaCode rc = key && max2 && v ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_stack_peaks(&w->basis, m, max2, NULL, err);
    if (rc >= 0) {
        for (int i = 0; i < m; i++) {
            const float *row = w->coef + (size_t)i * (size_t)w->nframe;
            float low = row[0], high = row[0];
            for (int f = 1; f < w->nframe; f++) {
                low = FA_MIN(low, row[f]);
                high = FA_MAX(high, row[f]);
            }
            key[i] = (Keyed){sqrtf(max2[i]) * (high - low), i};
        }
        qsort(key, (size_t)m, sizeof *key, by_key);
        for (int i = 0; i < m; i++) v[(size_t)i * (size_t)m + (size_t)key[i].index] = 1;
        rc = turn(w, v, m, err);
    }
    fa_free(key);
    fa_free(max2);
    fa_free(v);
    return rc;
}

// --- the pass -----------------------------------------------------------------------------------------------------

// How many vectors the basis may have: more than targets are allowed, since the best few are chosen among them later.
static int basis_limit(const FaBakeWork *w) { return FA_MIN(w->nframe, 2 * w->params->max_targets + 64); }

static FaCode worst_of(FaBakeWork *w, int count, Fresh *s, float *worst, FaError *err) {
    FA_TRY(fai_stack_peaks(&w->frames, count, s->max2, NULL, err));
    *worst = 0;
    for (int j = 0; j < count; j++) *worst = FA_MAX(*worst, sqrtf(s->max2[j]));
    return FA_OK;
}

static FaCode take_block(FaBakeWork *w, int first, int count, Fresh *s, FaError *err) {
    int limit = basis_limit(w), found;
    float before, after, reach = (float)KEEP * w->goal;
    FA_TRY(fai_bake_read(w, first, count, err));
    FA_TRY(worst_of(w, count, s, &before, err));
    FA_TRY(project(w, first, count, s->d, err));
    FA_TRY(worst_of(w, count, s, &after, err));
    if (after <= reach || before <= (float)STILL * w->goal) return FA_OK;
    FA_TRY(find_directions(w, count, reach, s, &found, err));
    if (w->nbasis + found > limit) {
        // more than there is room for: the weakest of what was seen so far must go, and more of it than there must,
        // since telling which takes long
        FA_TRY(to_principal_axes(w, FA_MAX(limit - limit / 4 - found, 0), err));
        found = FA_MIN(found, limit - w->nbasis);
    }
    FA_TRY(append(w, found, s->d, err));
    // the coefficients anew: the basis may have been turned, and making the new ones orthogonal to it changed them
    FA_TRY(fai_bake_read(w, first, count, err));
    FA_TRY(fai_stack_dots(&w->basis, w->nbasis, &w->frames, count, s->d, err));
    return set_coefs(w, 0, w->nbasis, first, count, s->d, err);
}

FaCode fai_bake_basis(FaBakeWork *w, FaError *err) {
    size_t b = (size_t)w->block, room = (size_t)basis_limit(w) + b;
    Fresh s = {FA_NEW(b * b, double),    FA_NEW(b * b, double), FA_NEW(b, double),
               FA_NEW(room * b, double), FA_NEW(b * b, float),  FA_NEW(b + 1, float)};
    FaCode rc = s.g && s.v && s.lambda && s.c && s.max2 && s.d ? FA_OK : FA_FAIL_MEMORY(err);
    for (int f = 0; f < w->nframe && rc >= 0; f += w->block) {
        int count = FA_MIN(w->block, w->nframe - f);
        rc = take_block(w, f, count, &s, err);
        if (rc >= 0) rc = fai_bake_progress(w, "components", (double)(f + count) / w->nframe, err);
    }
    if (rc >= 0) rc = to_principal_axes(w, w->nbasis, err);
    if (rc >= 0) rc = order_by_reach(w, err);
    void *all[] = {s.g, s.v, s.lambda, s.d, s.c, s.max2};
    for (int i = 0; i < FA_COUNT(all); i++) fa_free(all[i]);
    return rc;
}

static FaCode left_pass(FaBakeWork *w, const FaStack *mean, const float *centred, float *left, FaError *err) {
    float minus[64];
    for (int j = 0; j < FA_COUNT(minus); j++) minus[j] = -1;
    for (int f = 0; f < w->nframe; f += w->block) {
        int count = FA_MIN(w->block, w->nframe - f);
        FA_TRY(fai_bake_read(w, f, count, err));
        FA_TRY(fai_bake_rows(w, centred, w->nbasis, f, count, -1, err));
        fai_stack_add(&w->frames, count, mean, 1, minus, 1);
        FA_TRY(fai_stack_add_watch(&w->frames, count, &w->basis, w->nbasis, w->rows, (size_t)w->nbasis, left, err));
        FA_TRY(fai_bake_progress(w, "components", (double)(f + count) / w->nframe, err));
    }
    for (int k = 0; k <= w->nbasis; k++) left[k] = sqrtf(left[k]);
    return FA_OK;
}

FaCode fai_bake_left(FaBakeWork *w, float *left, FaError *err) {
    size_t m = (size_t)w->nbasis;
    memset(left, 0, (m + 1) * sizeof *left);
    FaStack field = {0};
    double *mean = FA_NEW(m, double);
    float *c = FA_NEW(m, float), *centred = FA_NEW(m * (size_t)w->nframe, float);
    FaCode rc = mean && c && centred ? fai_stack_init(&field, w->nvert, 1, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fai_bake_centre(w->nbasis, w->nframe, w->coef, mean, centred);
        for (size_t i = 0; i < m; i++) c[i] = (float)mean[i];
        fai_stack_add(&field, 1, &w->basis, w->nbasis, c, m);
        rc = left_pass(w, &field, centred, left, err);
    }
    fai_stack_free(&field);
    fa_free(mean);
    fa_free(c);
    fa_free(centred);
    return rc;
}
