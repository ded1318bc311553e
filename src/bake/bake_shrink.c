// Fewer components: a low-rank matrix within a ball of every entry.
//
// Truncated principal components are the best few in the mean; what counts here is the largest error. Wanted is a
// matrix L = mean + rank k (frames by vertices) with |F - L| <= goal at every vertex of every frame. Both sets are easy
// to project on, so the two are met in turn by the alternating direction method of multipliers:
//
//     L <- the k components of M about its mean that reach furthest
//     U' <- the part of U + F - L beyond the ball;   M <- L + 2 U' - U;   U <- U'
//
// with k lowered step by step as long as a meeting point is found. The rank constraint is not convex: nothing promises
// the least k, and every result is checked on all vertices later. On 300 frames of 26,719 damped oscillators that a
// real performance drives, 71 components do what 205 do by truncation.
//
// Based on: Boyd et al., Distributed Optimization and Statistical Learning via the Alternating Direction Method of
// Multipliers, the sections on feasibility problems and on nonconvex ones.
// The iteration runs on a sample of the vertices (errors are smooth), in coefficients of a basis that is orthonormal
// there.
#include "bake/bake_work.h"
#include "math/dense.h"

#include <math.h>
#include <stdlib.h>

enum { ITERATIONS = 14, SLICE = 64 };
static const double ENOUGH = 4e11; // operations, a minute or two: what needs a thousand components is not worth more
static const float BALL = 0.9f;    // aim well inside the goal: the last bit of the way is the slow one
static const float ACCEPT = 0.97f; // of the goal; what the sample does not see needs some of it

typedef struct Shrink {
    FaBakeWork *w;
    int nv, r, nframe; // vertices of the sample, rank of the basis there
    FaStack frames;    // the frames at the sample                                          (nframe)
    FaStack dual;      // U                                                                 (nframe)
    FaStack basis;     // orthonormal on the sample                                         (r)
    FaStack parts;     // candidates for components                                         (r)
    FaStack chosen;    // the k of them that reach furthest, then the mean                  (r + 1)
    FaStack rest;      // F - L of a slice of frames                                        (SLICE)
    double *to, *back; // coefficients: from w->basis to the sample's, and back             (r x m, m x r)
    float *x;          // M                                                                 (r x nframe)
    float *y;          // coefficients of the candidates                                    (r x nframe)
    float *low;        // L                                                                 (r x nframe)
    float *best;       // L of the best rank so far                                         (r x nframe)
    float *c;          // coefficients of a slice, frame by frame                           (SLICE x (r + 1))
    double *d;         //                                                                   (r x SLICE)
    double *v, *mean;  // principal axes of M, its mean                                     (r x r, r)
    double *pick;      // the chosen rows of v                                              (r x r)
    int *order;        //                                                                   (r)
    double enough;     // operations
} Shrink;

static void shrink_free(Shrink *s) {
    fai_stack_free(&s->frames);
    fai_stack_free(&s->dual);
    fai_stack_free(&s->basis);
    fai_stack_free(&s->parts);
    fai_stack_free(&s->chosen);
    fai_stack_free(&s->rest);
    void *all[] = {s->to, s->back, s->x, s->y, s->low, s->best, s->c, s->d, s->v, s->mean, s->pick, s->order};
    for (int i = 0; i < FA_COUNT(all); i++) fa_free(all[i]);
}

// --- the sample ---------------------------------------------------------------------------------------------------

static void gather(const float *x, int n, const int *sample, float *out) {
    for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) out[3 * (size_t)i + (size_t)a] = x[3 * (size_t)sample[i] + (size_t)a];
}

static FaCode gather_frames(Shrink *s, const int *sample, float *part, FaError *err) {
    FaBakeWork *w = s->w;
    FA_TRY(fai_stack_init(&s->frames, s->nv, s->nframe, err));
    FA_TRY(fai_stack_init(&s->dual, s->nv, s->nframe, err));
    for (int f = 0; f < s->nframe; f++) {
        FA_TRY(w->source->read(w->source->user, f, w->frame, err));
        gather(w->frame, s->nv, sample, part);
        fai_stack_set(&s->frames, f, part);
    }
    return FA_OK;
}

// Orthonormal on the sample, by the Gram matrix there; what the sample cannot see is dropped.
static FaCode orthonormalise(Shrink *s, int m, FaError *err) {
    size_t mm = (size_t)m * (size_t)m;
    double *g = FA_NEW(mm, double), *v = FA_NEW(mm, double), *lambda = FA_NEW(m, double);
    float *c = FA_NEW(mm, float);
    s->to = FA_NEW(mm, double);
    s->back = FA_NEW(mm, double);
    FaCode rc = g && v && lambda && c && s->to && s->back ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_stack_dots(&s->basis, m, &s->basis, m, g, err);
    if (rc >= 0) rc = fai_bake_eigen(m, g, lambda, v, err);
    if (rc >= 0) {
        int r = 0;
        while (r < m && lambda[r] > 1e-6 * lambda[0]) r++;
        s->r = r;
        for (int i = 0; i < r; i++) {
            double root = sqrt(lambda[i]);
            for (int j = 0; j < m; j++) {
                double e = v[(size_t)i * (size_t)m + (size_t)j];
                c[(size_t)i * (size_t)m + (size_t)j] = (float)(e / root);
                s->to[(size_t)i * (size_t)m + (size_t)j] = e * root;
                s->back[(size_t)j * (size_t)r + (size_t)i] = e / root;
            }
        }
        rc = fai_stack_mix(&s->basis, m, r, c, err);
    }
    fa_free(g);
    fa_free(v);
    fa_free(lambda);
    fa_free(c);
    return rc;
}

static FaCode shrink_init(Shrink *s, FaBakeWork *w, int nsample, const int *sample, FaError *err) {
    int m = w->nbasis;
    *s = (Shrink){.w = w, .nv = nsample, .nframe = w->nframe};
    float *part = FA_NEW(3 * (size_t)nsample, float);
    FaCode rc = part ? fai_stack_init(&s->basis, nsample, m, err) : FA_FAIL_MEMORY(err);
    for (int i = 0; i < m && rc >= 0; i++) {
        fai_stack_get(&w->basis, i, w->frame);
        gather(w->frame, nsample, sample, part);
        fai_stack_set(&s->basis, i, part);
    }
    if (rc >= 0) rc = gather_frames(s, sample, part, err);
    fa_free(part);
    FA_TRY(rc);
    FA_TRY(orthonormalise(s, m, err));
    FA_TRY(fai_stack_init(&s->parts, nsample, s->r, err));
    FA_TRY(fai_stack_init(&s->chosen, nsample, s->r + 1, err));
    FA_TRY(fai_stack_init(&s->rest, nsample, SLICE, err));
    size_t r = (size_t)s->r, all = r * (size_t)s->nframe;
    s->x = FA_NEW(all, float);
    s->y = FA_NEW(all, float);
    s->low = FA_NEW(all, float);
    s->best = FA_NEW(all, float);
    s->c = FA_NEW((r + 1) * SLICE, float);
    s->d = FA_NEW(r * SLICE, double);
    s->v = FA_NEW(r * r, double);
    s->pick = FA_NEW(r * r, double);
    s->mean = FA_NEW(r, double);
    s->order = FA_NEW(r, int);
    bool have = s->x && s->y && s->low && s->best && s->c && s->d && s->v && s->pick && s->mean && s->order;
    return have ? FA_OK : FA_FAIL_MEMORY(err);
}

// --- L: the components that reach furthest ------------------------------------------------------------------------

typedef struct Reach {
    float key;
    int index;
} Reach;
static int further(const void *a, const void *b) {
    const Reach *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key) - (x->key > y->key) : x->index - y->index;
}

// Which k of the q candidates: by the largest displacement each causes (see order_by_reach in bake_basis.c).
static FaCode choose(Shrink *s, int q, int k, FaError *err) {
    Reach *reach = FA_NEW(q, Reach);
    float *max2 = FA_NEW(q, float);
    FaCode rc = reach && max2 ? fai_stack_peaks(&s->parts, q, max2, NULL, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (int i = 0; i < q; i++) {
            const float *row = s->y + (size_t)i * (size_t)s->nframe;
            float far = 0;
            for (int f = 0; f < s->nframe; f++) far = FA_MAX(far, fabsf(row[f]));
            reach[i] = (Reach){sqrtf(max2[i]) * far, i};
        }
        qsort(reach, (size_t)q, sizeof *reach, further);
        for (int i = 0; i < k; i++) s->order[i] = reach[i].index;
    }
    fa_free(reach);
    fa_free(max2);
    return rc;
}

// low = mean + the chosen components of x; the components themselves, then the mean's field, in `chosen`.
static FaCode truncate_to(Shrink *s, int k, FaError *err) {
    size_t r = (size_t)s->r, n = (size_t)s->nframe;
    int q = FA_MIN(s->r, 2 * k + 32); // further down, no component reaches far
    fai_bake_centre(s->r, s->nframe, s->x, s->mean, s->low);
    FA_TRY(fai_bake_axes(s->r, s->nframe, s->low, s->v, err));
    fai_mix_rows(q, s->r, n, s->v, s->low, s->y);
    float *c = FA_NEW(FA_MAX((size_t)q, 1) * r, float);
    if (!c) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < (size_t)q * r; i++) c[i] = (float)s->v[i];
    fai_stack_clear(&s->parts, 0, q);
    fai_stack_add(&s->parts, q, &s->basis, s->r, c, r);
    for (size_t i = 0; i < r; i++) c[i] = (float)s->mean[i];
    fai_stack_clear(&s->chosen, k, 1);
    FaStack mean = {0};
    FaCode rc = fai_stack_init(&mean, s->nv, 1, err);
    if (rc >= 0) {
        fai_stack_add(&mean, 1, &s->basis, s->r, c, r);
        fai_stack_copy(&s->chosen, k, &mean, 0);
    }
    fai_stack_free(&mean);
    fa_free(c);
    FA_TRY(rc);
    FA_TRY(choose(s, q, k, err));
    // the chosen rows to the front, in order of reach; then back from them to the basis
    for (int i = 0; i < k; i++) {
        fai_stack_copy(&s->chosen, i, &s->parts, s->order[i]);
        for (size_t j = 0; j < r; j++) s->pick[j * (size_t)k + (size_t)i] = s->v[(size_t)s->order[i] * r + j];
    }
    float *y = FA_NEW(FA_MAX((size_t)k * n, 1), float);
    if (!y) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < k; i++) memcpy(y + (size_t)i * n, s->y + (size_t)s->order[i] * n, n * sizeof *y);
    memcpy(s->y, y, (size_t)k * n * sizeof *y);
    fa_free(y);
    fai_mix_rows(s->r, k, n, s->pick, s->y, s->low);
    for (size_t j = 0; j < r; j++)
        for (size_t f = 0; f < n; f++) s->low[j * n + f] += (float)s->mean[j];
    return FA_OK;
}

// --- U and M ------------------------------------------------------------------------------------------------------

static FaCode reflect(Shrink *s, int k, float *worst, FaError *err) {
    size_t n = (size_t)s->nframe;
    float max2[SLICE];
    *worst = 0;
    for (int f = 0; f < s->nframe; f += SLICE) {
        int count = FA_MIN(SLICE, s->nframe - f);
        for (int j = 0; j < count; j++) {
            fai_stack_copy(&s->rest, j, &s->frames, f + j);
            float *c = s->c + (size_t)j * (size_t)(k + 1);
            for (int i = 0; i < k; i++) c[i] = -s->y[(size_t)i * n + (size_t)(f + j)];
            c[k] = -1;
        }
        fai_stack_add(&s->rest, count, &s->chosen, k + 1, s->c, (size_t)k + 1);
        FA_TRY(fai_stack_reflect(&s->rest, count, &s->dual, f, BALL * s->w->goal, max2, err));
        for (int j = 0; j < count; j++) *worst = FA_MAX(*worst, max2[j]);
        FA_TRY(fai_stack_dots(&s->basis, s->r, &s->rest, count, s->d, err));
        for (int i = 0; i < s->r; i++)
            for (int j = 0; j < count; j++) {
                size_t at = (size_t)i * n + (size_t)(f + j);
                s->x[at] = s->low[at] + (float)s->d[(size_t)i * (size_t)count + (size_t)j];
            }
    }
    *worst = sqrtf(*worst);
    return FA_OK;
}

// Does rank k do? Then s->best is its L.
static FaCode try_rank(Shrink *s, int k, bool *done, FaError *err) {
    size_t all = (size_t)s->r * (size_t)s->nframe;
    float goal = s->w->goal, now = 0, past[ITERATIONS];
    int it = 0;
    memcpy(s->x, s->best, all * sizeof *s->x);
    fai_stack_clear(&s->dual, 0, s->nframe);
    *done = false;
    double n = s->nframe, nv = s->nv, r = s->r, cost = r * r * (2 * n + 3 * nv + 4 * r) + 3 * k * nv * n;
    while (it < ITERATIONS && !*done && s->w->spent < s->enough) {
        s->w->spent += cost;
        FA_TRY(truncate_to(s, k, err));
        FA_TRY(reflect(s, k, &now, err));
        FA_TRY(fai_bake_progress(s->w, "fewer targets", (it + 1.0) / ITERATIONS, err));
        *done = now <= ACCEPT * goal;
        // no hope: hardly any progress over four steps and still far away
        bool hopeless = it >= 6 && now > 0.97f * past[it - 4] && now > 1.08f * goal;
        past[it++] = now;
        if (hopeless) break;
    }
    fai_log(FA_LOG_DEBUG, "bake", -1, "%d components on %d vertices: %s after %d steps, %.4f mm", k, s->nv,
            *done ? "yes" : "no", it, (double)now * 1e3);
    if (*done) memcpy(s->best, s->low, all * sizeof *s->low);
    return FA_OK;
}

bool fai_bake_tired(const FaBakeWork *w) { return w->spent >= ENOUGH; }

void fai_bake_leading(const FaBakeWork *w, int rank, float *coef) {
    size_t n = (size_t)w->nframe;
    for (int i = 0; i < w->nbasis; i++) {
        const float *from = w->coef + (size_t)i * n;
        float *row = coef + (size_t)i * n;
        double mean = 0;
        for (size_t f = 0; f < n; f++) mean += (double)from[f];
        mean /= w->nframe;
        for (size_t f = 0; f < n; f++) row[f] = i < rank ? from[f] : (float)mean;
    }
}

// Lower the rank in steps, which get finer after each failure; at the end also below where it failed before, since
// every success is a better place to start from. It stops where a target more or less is not worth the time. *rank is
// the lowest that did, *found tells whether any did.
static FaCode descend(Shrink *s, int from, int *rank, bool *found, FaError *err) {
    int step = FA_MAX(1, from / 4), failed = -1;
    *found = false;
    *rank = from;
    while (step > *rank / 48 && s->w->spent < s->enough) {
        bool done;
        step = FA_MIN(step, *rank);
        if (*rank - step <= failed && step > *rank / 16) step = (*rank - failed) / 2;
        if (step < 1) break;
        FA_TRY(try_rank(s, FA_MIN(*rank - step, s->r), &done, err));
        if (done) {
            *found = true;
            *rank -= step;
        } else {
            failed = *rank - step;
            step /= 2;
        }
    }
    return FA_OK;
}

FaCode fai_bake_shrink(FaBakeWork *w, int nsample, const int *sample, int from, bool lower, float *coef, int *rank,
                       FaError *err) {
    *rank = 0;
    Shrink s;
    FaCode rc = shrink_init(&s, w, nsample, sample, err);
    if (rc >= 0) {
        bool found = false;
        fai_mix_rows(s.r, w->nbasis, (size_t)w->nframe, s.to, lower ? w->coef : coef, s.best);
        s.enough = lower ? ENOUGH / 2 : ENOUGH; // the other half is for what the sample did not see
        if (lower) {
            rc = descend(&s, from, rank, &found, err);
        } else {
            rc = try_rank(&s, FA_MIN(from, s.r), &found, err);
            if (found) *rank = from;
        }
        if (rc >= 0 && found)
            fai_mix_rows(w->nbasis, s.r, (size_t)w->nframe, s.back, s.best, coef);
        else if (rc >= 0 && lower)
            fai_bake_leading(w, from, coef);
    }
    shrink_free(&s);
    return rc;
}
