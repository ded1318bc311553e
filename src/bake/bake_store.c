// From components to what a file holds: sparse targets in single precision, weights in 0..1, and the proof.
#include "bake/bake_work.h"
#include "base/task.h"
#include "math/dense.h"

#include <math.h>
#include <stdlib.h>

enum { VERTS = FA_STACK_VERTS, FIT_STEPS = 12 };
static const float STILL = 0.9f;    // share of the goal: a vertex that never leaves this is not moved at all
static const float DROP = 0.06f;    // share of the goal that entries left out may add up to at a vertex
static const float BALL = 0.93f;    // where the weights aim
static const float ACCEPT = 0.99f;  // and what they must reach; rounding needs the rest
static const float HOPELESS = 1.3f; // beyond this, other weights alone have not been seen to help

// frame f = offset + sum over i of z[i * nframe + f] part_i
typedef struct Model {
    FaBakeWork *w;
    int k;
    FaStack part;   // (k)
    FaStack offset; // (1)
    FaStack dual;   // of a block's frames that are fitted again                           (block)
    float *z;       // (k x nframe)
    float *half;    // largest |z| of each                                                 (k)
    double *chol;   // Cholesky factor of the parts' Gram matrix, lower                    (k x k)
    double *d;      // (k x block)
    float *step;    // change of weights of the frames that are fitted again, and the best (2 x block x k)
    char *missed;   // vertices that stayed too far away                                   (nvert)
    bool any, ok;   // take the result as it comes; it is within the goal
} Model;

static void model_free(Model *m) {
    fai_stack_free(&m->part);
    fai_stack_free(&m->offset);
    fai_stack_free(&m->dual);
    fa_free(m->z);
    fa_free(m->half);
    fa_free(m->chol);
    fa_free(m->d);
    fa_free(m->step);
}

// --- components from coefficients ---------------------------------------------------------------------------------

static void mix_into(FaStack *out, int k, const FaStack *basis, int m, const double *v, float *scratch) {
    for (size_t i = 0; i < (size_t)k * (size_t)m; i++) scratch[i] = (float)v[i];
    fai_stack_clear(out, 0, k);
    fai_stack_add(out, k, basis, m, scratch, (size_t)m);
}

// Move the origin of each row to the middle of its range: entries left out then cost half as much.
static void recentre(Model *m, float *mid) {
    size_t n = (size_t)m->w->nframe;
    for (int i = 0; i < m->k; i++) {
        float *row = m->z + (size_t)i * n, low = row[0], high = row[0];
        for (size_t f = 1; f < n; f++) {
            low = FA_MIN(low, row[f]);
            high = FA_MAX(high, row[f]);
        }
        mid[i] = (low + high) / 2;
        m->half[i] = (high - low) / 2;
        for (size_t f = 0; f < n; f++) row[f] -= mid[i];
    }
    fai_stack_add(&m->offset, 1, &m->part, m->k, mid, (size_t)m->k);
}

static FaCode model_init(Model *m, FaBakeWork *w, const float *coef, int k, FaError *err) {
    size_t n = (size_t)w->nframe, nb = (size_t)w->nbasis;
    *m = (Model){.w = w, .k = k};
    FA_TRY(fai_stack_init(&m->part, w->nvert, k, err));
    FA_TRY(fai_stack_init(&m->offset, w->nvert, 1, err));
    FA_TRY(fai_stack_init(&m->dual, w->nvert, w->block, err));
    m->z = FA_NEW((size_t)k * n, float);
    m->half = FA_NEW(k, float);
    m->chol = FA_NEW((size_t)k * (size_t)k, double);
    m->d = FA_NEW((size_t)k * (size_t)w->block, double);
    m->step = FA_NEW(2 * (size_t)k * (size_t)w->block, float);
    double *mean = FA_NEW(nb, double), *v = FA_NEW(nb * nb, double);
    float *centred = FA_NEW(nb * n, float), *scratch = FA_NEW(FA_MAX((size_t)k, 1) * nb, float),
          *mid = FA_NEW(k, float);
    bool have = m->z && m->half && m->chol && m->d && m->step && mean && v && centred && scratch && mid;
    FaCode rc = have ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0 && nb) {
        fai_bake_centre(w->nbasis, w->nframe, coef, mean, centred);
        rc = fai_bake_axes(w->nbasis, w->nframe, centred, v, err);
    }
    if (rc >= 0 && nb) {
        fai_mix_rows(k, w->nbasis, n, v, centred, m->z);
        mix_into(&m->part, k, &w->basis, w->nbasis, v, scratch);
        mix_into(&m->offset, 1, &w->basis, w->nbasis, mean, scratch);
        recentre(m, mid);
    }
    fa_free(mean);
    fa_free(v);
    fa_free(centred);
    fa_free(scratch);
    fa_free(mid);
    return rc;
}

// --- leaving entries out ------------------------------------------------------------------------------------------

static void set3(float *p, float x, float y, float z) {
    p[0] = x;
    p[VERTS] = y;
    p[2 * VERTS] = z;
}

typedef struct Entry {
    float cost;
    int i;
} Entry;
static int cheaper(const void *a, const void *b) {
    const Entry *x = a, *y = b;
    return x->cost != y->cost ? (x->cost > y->cost) - (x->cost < y->cost) : x->i - y->i;
}

typedef struct Sparse {
    Model *m;
    Entry *entry; // per task, k
} Sparse;

static void sparse_task(void *ctx, int begin, int end, int task) {
    Sparse *s = ctx;
    Model *m = s->m;
    float goal = m->w->goal;
    Entry *entry = s->entry + (size_t)task * (size_t)m->k;
    for (int v = begin; v < end; v++) {
        if (m->w->span2[v] <= STILL * goal * STILL * goal) {
            for (int i = 0; i < m->k; i++) set3(fai_stack_at(&m->part, i, v), 0, 0, 0);
            set3(fai_stack_at(&m->offset, 0, v), 0, 0, 0);
            continue;
        }
        for (int i = 0; i < m->k; i++) {
            const float *p = fai_stack_at(&m->part, i, v);
            entry[i] = (Entry){m->half[i] * sqrtf(p[0] * p[0] + p[VERTS] * p[VERTS] + p[2 * VERTS] * p[2 * VERTS]), i};
        }
        qsort(entry, (size_t)m->k, sizeof *entry, cheaper);
        float spent = 0;
        for (int i = 0; i < m->k && (spent += entry[i].cost) <= DROP * goal; i++)
            set3(fai_stack_at(&m->part, entry[i].i, v), 0, 0, 0);
    }
}

static FaCode sparsify(Model *m, FaError *err) {
    enum { CHUNK = 512 };
    Sparse s = {m, FA_NEW((size_t)fai_chunks(m->w->nvert, CHUNK) * (size_t)m->k, Entry)};
    if (!s.entry) return FA_FAIL_MEMORY(err);
    fai_parallel(m->w->nvert, CHUNK, sparse_task, &s);
    fa_free(s.entry);
    return FA_OK;
}

// --- weights ------------------------------------------------------------------------------------------------------

// Lower Cholesky factor in place; a pivot that vanishes makes its row inert.
static void factor(int n, double *a) {
    for (int i = 0; i < n; i++) {
        double *ri = a + (size_t)i * (size_t)n;
        for (int j = 0; j <= i; j++) {
            const double *rj = a + (size_t)j * (size_t)n;
            double sum = ri[j];
            for (int k = 0; k < j; k++) sum -= ri[k] * rj[k];
            if (j < i)
                ri[j] = rj[j] > 0 ? sum / rj[j] : 0;
            else
                ri[i] = sum > 1e-9 ? sqrt(sum) : 0;
        }
    }
}

static void solve(int n, const double *a, double *b, int stride) {
    for (int i = 0; i < n; i++) {
        const double *ri = a + (size_t)i * (size_t)n;
        double sum = b[(size_t)i * (size_t)stride];
        for (int k = 0; k < i; k++) sum -= ri[k] * b[(size_t)k * (size_t)stride];
        b[(size_t)i * (size_t)stride] = ri[i] > 0 ? sum / ri[i] : 0;
    }
    for (int i = n - 1; i >= 0; i--) {
        double ii = a[(size_t)i * (size_t)n + (size_t)i], sum = b[(size_t)i * (size_t)stride];
        for (int k = i + 1; k < n; k++) sum -= a[(size_t)k * (size_t)n + (size_t)i] * b[(size_t)k * (size_t)stride];
        b[(size_t)i * (size_t)stride] = ii > 0 ? sum / ii : 0;
    }
}

typedef struct Solve {
    const Model *m;
    int q;
} Solve;
static void solve_task(void *ctx, int begin, int end, int task) {
    (void)task;
    const Solve *s = ctx;
    for (int j = begin; j < end; j++) solve(s->m->k, s->m->chol, s->m->d + j, s->q);
}

// The q frames whose numbers in the block are `which`, again: the same method as in bake_shrink.c with the components
// fixed, where it is a convex problem of each frame alone. best2 holds each frame's error so far, and then its best.
static FaCode fit(Model *m, int q, const int *which, float *best2, FaError *err) {
    FaBakeWork *w = m->w;
    size_t k = (size_t)m->k;
    float max2[64], *now = m->step, *best = m->step + (size_t)w->block * k;
    memset(m->step, 0, 2 * (size_t)w->block * k * sizeof *m->step);
    fai_stack_clear(&m->dual, 0, q);
    for (int it = 0; it <= FIT_STEPS; it++) {
        for (int j = 0; j < q; j++) fai_stack_copy(&w->spare, j, &w->frames, which[j]);
        fai_stack_add(&w->spare, q, &m->part, m->k, now, k);
        FA_TRY(fai_stack_reflect(&w->spare, q, &m->dual, 0, BALL * w->goal, max2, err));
        bool all = true;
        for (int j = 0; j < q; j++) {
            if (max2[j] < best2[j]) {
                best2[j] = max2[j];
                memcpy(best + (size_t)j * k, now + (size_t)j * k, k * sizeof *best);
            }
            all = all && best2[j] <= BALL * w->goal * BALL * w->goal * 1.04f;
        }
        if (all || it == FIT_STEPS) break;
        FA_TRY(fai_stack_dots(&m->part, m->k, &w->spare, q, m->d, err));
        fai_parallel(q, 16, solve_task, &(Solve){m, q});
        for (int j = 0; j < q; j++)
            for (size_t i = 0; i < k; i++) now[(size_t)j * k + i] -= (float)m->d[i * (size_t)q + (size_t)j];
    }
    return FA_OK;
}

static FaCode fit_block(Model *m, int first, int count, FaError *err) {
    FaBakeWork *w = m->w;
    size_t n = (size_t)w->nframe, k = (size_t)m->k;
    float minus[64], max2[64], accept = ACCEPT * w->goal;
    int which[64], vert[64], q = 0;
    for (int j = 0; j < count; j++) minus[j] = -1;
    FA_TRY(fai_bake_read(w, first, count, err));
    FA_TRY(fai_bake_rows(w, m->z, m->k, first, count, -1, err));
    fai_stack_add(&w->frames, count, &m->offset, 1, minus, 1);
    fai_stack_add(&w->frames, count, &m->part, m->k, w->rows, k);
    FA_TRY(fai_stack_peaks(&w->frames, count, max2, vert, err));
    for (int j = 0; j < count; j++) {
        if (max2[j] <= accept * accept) continue;
        if (!m->any && max2[j] > HOPELESS * HOPELESS * w->goal * w->goal) {
            m->ok = false;
            m->missed[vert[j]] = 1;
            continue;
        }
        which[q] = j;
        max2[q] = max2[j];
        vert[q++] = vert[j];
    }
    if (!q) return FA_OK;
    if (!m->any && (!k || q > FA_MAX(count / 4, 2))) {
        // not a matter of a few frames: better components are needed, not better weights
        m->ok = false;
        for (int j = 0; j < q; j++) m->missed[vert[j]] = 1;
        return FA_OK;
    }
    if (!k) return FA_OK; // nothing to fit, and the result is taken as it is
    FA_TRY(fit(m, q, which, max2, err));
    const float *best = m->step + (size_t)w->block * k;
    for (int j = 0; j < q; j++) {
        for (size_t i = 0; i < k; i++) m->z[i * n + (size_t)(first + which[j])] -= best[(size_t)j * k + i];
        if (max2[j] <= accept * accept) continue;
        m->ok = false;
        m->missed[vert[j]] = 1;
    }
    // where the frames that failed are worst now is where the sample looks next
    for (int j = 0; j < q; j++) fai_stack_copy(&w->spare, j, &w->frames, which[j]);
    fai_stack_add(&w->spare, q, &m->part, m->k, best, k);
    FA_TRY(fai_stack_peaks(&w->spare, q, max2, vert, err));
    for (int j = 0; j < q; j++)
        if (max2[j] > accept * accept) m->missed[vert[j]] = 1;
    return FA_OK;
}

static FaCode fit_all(Model *m, FaError *err) {
    m->ok = true;
    FA_TRY(fai_stack_dots(&m->part, m->k, &m->part, m->k, m->chol, err));
    factor(m->k, m->chol);
    for (int f = 0; f < m->w->nframe; f += m->w->block) {
        int count = FA_MIN(m->w->block, m->w->nframe - f);
        FA_TRY(fit_block(m, f, count, err));
        FA_TRY(fai_bake_progress(m->w, "weights", (double)(f + count) / m->w->nframe, err));
    }
    return FA_OK;
}

// --- what is stored -----------------------------------------------------------------------------------------------

// Row-major 3x3 inverse; false where there is none.
static bool invert(const double a[9], double b[9]) {
    double c0 = a[4] * a[8] - a[5] * a[7], c1 = a[5] * a[6] - a[3] * a[8], c2 = a[3] * a[7] - a[4] * a[6];
    double det = a[0] * c0 + a[1] * c1 + a[2] * c2;
    if (!(fabs(det) > 0) || !isfinite(1 / det)) return false;
    double inv[9] = {c0, a[2] * a[7] - a[1] * a[8], a[1] * a[5] - a[2] * a[4],
                     c1, a[0] * a[8] - a[2] * a[6], a[2] * a[3] - a[0] * a[5],
                     c2, a[1] * a[6] - a[0] * a[7], a[0] * a[4] - a[1] * a[3]};
    for (int i = 0; i < 9; i++) b[i] = inv[i] / det;
    return true;
}

static void apply(const double m[9], const float x[3], double scale, float y[3]) {
    for (int i = 0; i < 3; i++)
        y[i] = (float)(scale * (m[3 * i] * (double)x[0] + m[3 * i + 1] * (double)x[1] + m[3 * i + 2] * (double)x[2]));
}

// Where targets go: in the file's coordinates.
typedef struct Store {
    FaBake *b;
    const double *local; // rig = local * file coordinates
    double inverse[9];
    int room; // entries that fit into b
    float *x; // scratch (nvert x 3)
} Store;

// Append target t = scale * field (vector i of a stack, scattered), and put what the file will give back into that
// vector.
static FaCode store_target(Store *o, int t, FaStack *s, int i, double scale, FaError *err) {
    FaBake *b = o->b;
    fai_stack_get(s, i, o->x);
    int n = b->first[t];
    for (int v = 0; v < b->nvert; v++) {
        float *p = o->x + 3 * (size_t)v, d[3];
        apply(o->inverse, p, scale, d);
        apply(o->local, d, 1, p);
        if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
        if (n >= o->room || !b->row) {
            if (n > INT32_MAX / 3 - b->nvert)
                return FA_FAIL(err, FA_E_LIMIT, NULL, "allow a larger error", "too many entries");
            int want = o->room + o->room / 2 + b->nvert;
            int *row = fai_resize(b->row, (size_t)want * sizeof *row);
            if (row) b->row = row;
            float *delta = row ? fai_resize(b->delta, (size_t)want * 3 * sizeof *delta) : NULL;
            if (!delta) return FA_FAIL_MEMORY(err);
            b->delta = delta;
            o->room = want;
        }
        b->row[n] = v;
        memcpy(b->delta + 3 * (size_t)n, d, sizeof d);
        n++;
    }
    b->first[t + 1] = n;
    fai_stack_set(s, i, o->x);
    return FA_OK;
}

// Lowest value and range of each row of weights; the offset moves to where all are at their lowest.
static void find_ranges(Model *m, float *low, float *range) {
    size_t n = (size_t)m->w->nframe;
    for (int i = 0; i < m->k; i++) {
        const float *row = m->z + (size_t)i * n;
        float high = low[i] = row[0];
        for (size_t f = 1; f < n; f++) {
            low[i] = FA_MIN(low[i], row[f]);
            high = FA_MAX(high, row[f]);
        }
        range[i] = high - low[i];
    }
    fai_stack_add(&m->offset, 1, &m->part, m->k, low, (size_t)m->k);
}

// Weights from 0 to 1: each part is scaled by the range of its weight. The offset becomes the first target, the parts
// follow; what has no entry or does not move is dropped. Afterwards m->offset and m->part (m->k of them) hold the
// targets as an engine will see them.
static FaCode store(Model *m, FaBake *b, FaError *err) {
    FaBakeWork *w = m->w;
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    Store to = {.b = b, .local = w->params->local ? w->params->local : one};
    if (!invert(to.local, to.inverse)) return FA_FAIL(err, FA_E_ARG, NULL, NULL, "the rig's scale has no inverse");
    size_t n = (size_t)w->nframe, width = (size_t)m->k + 1;
    float *low = FA_NEW(m->k, float), *range = FA_NEW(m->k, float);
    to.x = FA_NEW(3 * (size_t)w->nvert, float);
    float *weight = FA_NEW(n * width, float);
    b->first = FA_NEW(width + 1, int);
    FaCode rc = low && range && to.x && weight && b->first ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc < 0) goto done;
    find_ranges(m, low, range);

    int t = 0, kept = 0;
    for (int i = -1; i < m->k; i++) {
        if (i >= 0 && !(range[i] > 0)) continue;
        FaStack *s = i < 0 ? &m->offset : &m->part;
        FA_TRY_GOTO(done, rc, store_target(&to, t, s, FA_MAX(i, 0), i < 0 ? 1 : (double)range[i], err));
        if (b->first[t + 1] == b->first[t]) continue;
        for (size_t f = 0; f < n; f++) {
            double u = i < 0 ? 1 : ((double)m->z[(size_t)i * n + f] - (double)low[i]) / (double)range[i];
            weight[f * width + (size_t)t] = (float)FA_MIN(FA_MAX(u, 0), 1);
        }
        if (i >= 0) fai_stack_copy(&m->part, kept++, &m->part, i);
        t++;
    }
    // rows of the length that is left
    for (size_t f = 0; f < n; f++) memmove(weight + f * (size_t)t, weight + f * width, (size_t)t * sizeof *weight);
    b->ntarget = t;
    b->weight = weight;
    weight = NULL;
    m->k = kept;
done:
    fa_free(low);
    fa_free(range);
    fa_free(to.x);
    fa_free(weight);
    return rc;
}

// The proof: every frame once more against the targets as stored and the weights as stored.
static FaCode verify(Model *m, FaBake *b, FaError *err) {
    FaBakeWork *w = m->w;
    bool offset = b->ntarget > m->k;
    float minus[64], max2[64], worst = 0;
    int vert[64];
    double sum = 0, part;
    for (int j = 0; j < FA_COUNT(minus); j++) minus[j] = -1;
    for (int f = 0; f < w->nframe; f += w->block) {
        int count = FA_MIN(w->block, w->nframe - f);
        FA_TRY(fai_bake_read(w, f, count, err));
        if (offset) fai_stack_add(&w->frames, count, &m->offset, 1, minus, 1);
        for (int j = 0; j < count; j++)
            for (int i = 0; i < m->k; i++)
                w->rows[(size_t)j * (size_t)m->k + (size_t)i] =
                    -b->weight[(size_t)(f + j) * (size_t)b->ntarget + (size_t)(i + offset)];
        fai_stack_add(&w->frames, count, &m->part, m->k, w->rows, (size_t)m->k);
        FA_TRY(fai_stack_peaks(&w->frames, count, max2, vert, err));
        FA_TRY(fai_stack_lengths(&w->frames, count, &part, err));
        sum += part;
        for (int j = 0; j < count; j++) {
            if (max2[j] <= worst) continue;
            worst = max2[j];
            b->worst_frame = f + j;
            b->worst_vertex = vert[j];
        }
        FA_TRY(fai_bake_progress(w, "check", (double)(f + count) / w->nframe, err));
    }
    b->max_error = sqrt((double)worst);
    b->mean_error = sum / ((double)w->nframe * (double)w->nvert);
    return FA_OK;
}

FaCode fai_bake_store(FaBakeWork *w, const float *coef, int rank, bool any, char *missed, FaBake **bake, FaError *err) {
    *bake = NULL;
    Model m;
    FaCode rc = model_init(&m, w, coef, rank, err);
    m.missed = missed;
    m.any = any;
    if (rc >= 0) rc = sparsify(&m, err);
    if (rc >= 0) rc = fit_all(&m, err);
    if (rc >= 0 && (m.ok || any)) {
        FaBake *b = FA_NEW(1, FaBake);
        if (b) {
            b->nvert = w->nvert;
            b->nframe = w->nframe;
            rc = store(&m, b, err);
            if (rc >= 0) rc = verify(&m, b, err);
        } else {
            rc = FA_FAIL_MEMORY(err);
        }
        if (rc >= 0 && (any || b->max_error <= w->params->max_error))
            *bake = b;
        else
            fai_bake_free(b);
    }
    model_free(&m);
    return rc;
}
