// Bases of differences, corrections and neutrals, rounded as the file has them before anything is learnt in them; then
// all coefficients, which are small. Ridge regression on these.
#include "math/dense.h"
#include "neural/net_math.h"
#include "neural/train_basis.h"
#include "neural/train_work.h"

#include <math.h>

typedef struct Bases {
    FaTrain *t;
    FaBasis difference, correction, neutral;
    bool weigh;
} Bases;

static void scale_rows(const FaTrain *t, float *x, size_t ld, int count) {
    const size_t n3 = 3 * (size_t)t->set.mesh.nvert;
    for (int r = 0; r < count; r++)
        for (size_t i = 0; i < n3; i++) x[(size_t)r * ld + i] *= t->share[i];
}

static FaCode see_samples(void *ctx, const FaTrainRows *rows, FaError *err) {
    (void)err;
    Bases *b = ctx;
    scale_rows(b->t, rows->difference, rows->ld, rows->count);
    scale_rows(b->t, rows->correction, rows->ld, rows->count);
    (b->weigh ? fai_basis_weigh : fai_basis_see)(&b->difference, rows->difference, rows->ld, rows->count);
    (b->weigh ? fai_basis_weigh : fai_basis_see)(&b->correction, rows->correction, rows->ld, rows->count);
    return FA_OK;
}

static FaCode see_people(void *ctx, const FaTrainRows *rows, FaError *err) {
    (void)err;
    Bases *b = ctx;
    (b->weigh ? fai_basis_weigh : fai_basis_see)(&b->neutral, rows->difference, rows->ld, rows->count);
    return FA_OK;
}

static FaCode passes(Bases *b, FaError *err) {
    FaTrain *t = b->t;
    // many samples tell no more about components than some ten thousand do
    const int every = FA_MAX(1, t->set.count[FA_PART_LEARN] / 12288);
    for (int round = 0; round <= FA_BASIS_ROUNDS; round++) {
        const double part = 1.0 / (FA_BASIS_ROUNDS + 2);
        b->weigh = round == FA_BASIS_ROUNDS;
        FaTrainWalk w = {1 << FA_PART_LEARN,
                         {[FA_PART_LEARN] = every},
                         "components",
                         round * part,
                         (round + 0.9) * part,
                         see_samples,
                         b};
        FA_TRY(fai_train_walk(&t->set, &t->o, &w, err));
        w.fn = see_people, w.from = w.to;
        FA_TRY(fai_train_people(&t->set, &t->o, &w, err));
        if (b->weigh) break;
        FA_TRY(fai_basis_turn(&b->difference, err));
        FA_TRY(fai_basis_turn(&b->correction, err));
        FA_TRY(fai_basis_turn(&b->neutral, err));
    }
    return FA_OK;
}

static FaCode take_bases(Bases *b, FaError *err) {
    FaTrain *t = b->t;
    FaNet *net = &t->net;
    const size_t n3 = 3 * (size_t)net->nvert;
    net->vd = FA_NEW((size_t)b->difference.want * n3, float), net->sd = FA_NEW(b->difference.want, float);
    net->u = FA_NEW((size_t)b->correction.want * n3, float), net->su = FA_NEW(b->correction.want, float);
    net->vn = FA_NEW((size_t)b->neutral.want * n3, float), net->sn = FA_NEW(b->neutral.want, float);
    t->metric = FA_NEW((size_t)b->correction.want * n3, float);
    if (!net->vd || !net->sd || !net->u || !net->su || !net->vn || !net->sn || !t->metric) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_basis_finish(&b->difference, net->vd, net->sd, &net->nd, err));
    FA_TRY(fai_basis_finish(&b->correction, t->metric, net->su, &net->nc, err));
    FA_TRY(fai_basis_finish(&b->neutral, net->vn, net->sn, &net->nn, err));
    for (size_t k = 0; k < (size_t)net->nd; k++)
        for (size_t i = 0; i < n3; i++) net->vd[k * n3 + i] *= t->share[i];
    for (size_t k = 0; k < (size_t)net->nc; k++)
        for (size_t i = 0; i < n3; i++) net->u[k * n3 + i] = t->metric[k * n3 + i] / t->share[i];
    if (!net->nd || !net->nc)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "look at the set's parameters in dataset.json",
                       "nothing moves in the samples, or physics adds nothing: there is nothing to learn");
    return FA_OK;
}

// --- coefficients -------------------------------------------------------------------------------------------------

typedef struct Wide {
    FaTrain *t;
    float *vd, *u, *vn; // columns side by side, padded   (3 nvert x wide)
    float *out;         // (FA_TRAIN_ROWS x widest)
    int nd, nc, nn;     // padded
    FaArena *arena;
} Wide;

static float *side_by_side(FaArena *arena, const float *column, int count, size_t n3) {
    const size_t wide = (size_t)fai_gemm_up(FA_MAX(1, count));
    float *b = FA_PUSH(arena, n3 * wide, float);
    for (size_t k = 0; b && k < (size_t)count; k++)
        for (size_t i = 0; i < n3; i++) b[i * wide + k] = column[k * n3 + i];
    return b;
}

static void project(const Wide *w, const float *x, size_t ld, int count, const float *b, int wide) {
    fai_gemm(&(FaGemm){count, wide, 3 * w->t->net.nvert, x, ld, 1, b, (size_t)wide, w->out, (size_t)wide, false});
}

static FaCode take_samples(void *ctx, const FaTrainRows *rows, FaError *err) {
    (void)err;
    const Wide *w = ctx;
    FaTrain *t = w->t;
    const size_t nd = (size_t)t->net.nd, nc = (size_t)t->net.nc;
    project(w, rows->difference, rows->ld, rows->count, w->vd, w->nd);
    for (int r = 0; r < rows->count; r++)
        for (size_t k = 0; k < nd; k++)
            t->raw[(size_t)rows->sample[r] * nd + k] = w->out[(size_t)r * (size_t)w->nd + k] / t->net.sd[k];
    scale_rows(t, rows->correction, rows->ld, rows->count);
    project(w, rows->correction, rows->ld, rows->count, w->u, w->nc);
    for (int r = 0; r < rows->count; r++)
        for (size_t k = 0; k < nc; k++)
            t->target[(size_t)rows->sample[r] * nc + k] = w->out[(size_t)r * (size_t)w->nc + k] / t->net.su[k];
    return FA_OK;
}

static FaCode take_people(void *ctx, const FaTrainRows *rows, FaError *err) {
    (void)err;
    const Wide *w = ctx;
    FaTrain *t = w->t;
    const size_t nn = (size_t)t->net.nn;
    project(w, rows->difference, rows->ld, rows->count, w->vn, w->nn);
    for (int r = 0; r < rows->count; r++)
        for (size_t k = 0; k < nn; k++)
            t->person[(size_t)rows->sample[r] * nn + k] =
                fai_squash(w->out[(size_t)r * (size_t)w->nn + k] / t->net.sn[k]);
    return FA_OK;
}

static FaCode coefficients(FaTrain *t, Wide *w, FaError *err) {
    const FaNet *net = &t->net;
    const size_t n3 = 3 * (size_t)net->nvert, ns = (size_t)t->set.nsample;
    w->nd = fai_gemm_up(net->nd), w->nc = fai_gemm_up(net->nc), w->nn = fai_gemm_up(FA_MAX(1, net->nn));
    w->vd = side_by_side(w->arena, net->vd, net->nd, n3);
    w->u = side_by_side(w->arena, t->metric, net->nc, n3);
    w->vn = side_by_side(w->arena, net->vn, net->nn, n3);
    w->out = FA_PUSH(w->arena, (size_t)FA_TRAIN_ROWS * (size_t)FA_MAX(w->nd, FA_MAX(w->nc, w->nn)), float);
    t->raw = FA_NEW(ns * (size_t)net->nd, float);
    t->target = FA_NEW(ns * (size_t)net->nc, float);
    t->person = FA_NEW((size_t)t->set.nshard * (size_t)net->nn, float);
    if (!w->vd || !w->u || !w->vn || !w->out || !t->raw || !t->target || !t->person) return FA_FAIL_MEMORY(err);
    FaTrainWalk walk = {(1u << FA_PART_NONE) - 1, {0}, "components", 0.75, 1, take_samples, w};
    FA_TRY(fai_train_walk(&t->set, &t->o, &walk, err));
    walk.fn = take_people, walk.from = 1;
    return fai_train_people(&t->set, &t->o, &walk, err);
}

// A component that hardly moves is not blown up to the others' size: it would be the rounding of the samples.
static void floor_deviations(float *sd, int n, float share) {
    for (int k = 1; k < n; k++) sd[k] = FA_MAX(sd[k], share * sd[0]);
}

FaCode fai_train_components(FaTrain *t, FaError *err) {
    const int n3 = 3 * t->net.nvert;
    Bases b = {.t = t};
    Wide w = {.t = t, .arena = fai_arena_new(0)};
    FaCode rc = w.arena ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_basis_new(n3, t->o.inputs, FA_TRAIN_ROWS, 11, &b.difference, err);
    if (rc >= 0) rc = fai_basis_new(n3, t->o.components, FA_TRAIN_ROWS, 12, &b.correction, err);
    if (rc >= 0) rc = fai_basis_new(n3, t->o.neutrals, FA_TRAIN_ROWS, 13, &b.neutral, err);
    if (rc >= 0) rc = passes(&b, err);
    if (rc >= 0) rc = take_bases(&b, err);
    fai_basis_free(&b.difference), fai_basis_free(&b.correction), fai_basis_free(&b.neutral);
    if (rc >= 0) {
        floor_deviations(t->net.sd, t->net.nd, 1e-3f);
        floor_deviations(t->net.sn, t->net.nn, 1e-2f);
        fai_net_round(&t->net);
        rc = coefficients(t, &w, err);
    }
    fai_arena_free(w.arena);
    return rc;
}

// --- ridge --------------------------------------------------------------------------------------------------------

typedef struct Ridge {
    int nd, nc;
    double *zz, *zt, *work, *best; // (nd x nd) (nc x nd) (nd x nd) (nc x nd)
    float *z;                      // a sample's inputs
} Ridge;

static const float *inputs(const FaTrain *t, Ridge *r, int sample, bool squash) {
    const float *raw = t->raw + (size_t)sample * (size_t)r->nd;
    for (int k = 0; k < r->nd; k++) r->z[k] = squash ? fai_squash(raw[k]) : raw[k];
    return r->z;
}

static void gather(const FaTrain *t, Ridge *r, bool squash) {
    memset(r->zz, 0, (size_t)r->nd * (size_t)r->nd * sizeof *r->zz);
    memset(r->zt, 0, (size_t)r->nc * (size_t)r->nd * sizeof *r->zt);
    for (int s = 0; s < t->set.nsample; s++) {
        if (t->set.part[s] != FA_PART_LEARN) continue;
        const float *z = inputs(t, r, s, squash), *y = t->target + (size_t)s * (size_t)r->nc;
        for (int i = 0; i < r->nd; i++)
            for (int j = 0; j < r->nd; j++) r->zz[i * r->nd + j] += (double)z[i] * z[j];
        for (int c = 0; c < r->nc; c++)
            for (int i = 0; i < r->nd; i++) r->zt[c * r->nd + i] += (double)y[c] * z[i];
    }
}

// Mean square of what is left on the samples that choose.
static double left(const FaTrain *t, Ridge *r, const double *coef, bool squash) {
    double sum = 0;
    for (int s = 0; s < t->set.nsample; s++) {
        if (t->set.part[s] != FA_PART_CHOOSE) continue;
        const float *z = inputs(t, r, s, squash), *y = t->target + (size_t)s * (size_t)r->nc;
        for (int c = 0; c < r->nc; c++) {
            double p = 0;
            for (int i = 0; i < r->nd; i++) p += coef[c * r->nd + i] * z[i];
            p = t->net.su[c] * (p - y[c]);
            sum += p * p;
        }
    }
    return sum;
}

// The best of five strengths, by the samples that choose. out: (nc x nd)
static bool solve(const FaTrain *t, Ridge *r, bool squash, double *out) {
    double least = INFINITY;
    gather(t, r, squash);
    for (int k = 0; k < 5; k++) {
        static const double share[5] = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
        memcpy(r->work, r->zz, (size_t)r->nd * (size_t)r->nd * sizeof *r->work);
        memcpy(r->best, r->zt, (size_t)r->nc * (size_t)r->nd * sizeof *r->best);
        for (int i = 0; i < r->nd; i++) r->work[i * r->nd + i] += share[k] * t->set.count[FA_PART_LEARN];
        if (!fai_dense_cholesky(r->nd, r->nd, r->work)) continue;
        for (int c = 0; c < r->nc; c++) {
            fai_dense_forward(r->nd, r->nd, r->work, r->best + c * r->nd);
            fai_dense_backward(r->nd, r->nd, r->work, r->best + c * r->nd);
        }
        const double is = left(t, r, r->best, squash);
        if (is >= least) continue;
        least = is;
        memcpy(out, r->best, (size_t)r->nc * (size_t)r->nd * sizeof *out);
    }
    return least < INFINITY;
}

FaCode fai_train_ridge(FaTrain *t, FaError *err) {
    const size_t nd = (size_t)t->net.nd, nc = (size_t)t->net.nc;
    Ridge r = {t->net.nd,
               t->net.nc,
               FA_NEW(nd * nd, double),
               FA_NEW(nc * nd, double),
               FA_NEW(nd * nd, double),
               FA_NEW(nc * nd, double),
               FA_NEW(nd, float)};
    double *own = FA_NEW(nc * nd, double);
    t->net.ridge = FA_NEW(nc * nd, float);
    t->plain = FA_NEW(nc * nd, double);
    FaCode rc = FA_OK;
    if (!r.zz || !r.zt || !r.work || !r.best || !r.z || !own || !t->net.ridge || !t->plain)
        rc = FA_FAIL_MEMORY(err);
    else if (!solve(t, &r, false, t->plain) || !solve(t, &r, true, own))
        rc = FA_FAIL(err, FA_E_NUMERIC, NULL, "make more samples", "the linear part has no solution");
    for (size_t i = 0; rc >= 0 && i < nc * nd; i++) t->net.ridge[i] = (float)own[i];
    if (rc >= 0) fai_net_round(&t->net);
    fa_free(r.zz), fa_free(r.zt), fa_free(r.work), fa_free(r.best), fa_free(r.z), fa_free(own);
    return rc;
}
