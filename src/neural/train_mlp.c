#include "neural/train_mlp.h"

#include "base/task.h"
#include "neural/net_math.h"

#include <math.h>

enum { ROWS = 16, PARAMS = 8192 };
static const float BETA1 = 0.9f, BETA2 = 0.999f, TINY = 1e-8f, EPS = 0.005f; // mm

// Whole blocks, and as many of a step as there are at most.
static int most_seen(const FaMlp *m) {
    const int blocks = m->nall / FA_MLP_BLOCK;
    return (blocks + m->every - 1) / m->every * FA_MLP_BLOCK;
}

static bool take_basis(FaMlp *m, int nvert, const float *basis, const float *share) {
    const size_t n3 = 3 * (size_t)nvert;
    m->nall = (3 * nvert + FA_MLP_BLOCK - 1) / FA_MLP_BLOCK * FA_MLP_BLOCK;
    m->every = FA_MIN(8, m->nall / FA_MLP_BLOCK);
    const size_t all = (size_t)m->nall, most = (size_t)most_seen(m), nc = (size_t)m->pad[m->nlayer];
    m->basis = FA_PUSH(m->arena, (size_t)m->nc * all, float);
    m->share = FA_PUSH(m->arena, all / 3, float);
    m->some = FA_PUSH(m->arena, nc * most, float);
    m->turned_some = FA_PUSH(m->arena, nc * most, float);
    m->error = FA_PUSH(m->arena, (size_t)m->batch * most, float);
    if (!m->basis || !m->share || !m->some || !m->turned_some || !m->error) return false;
    for (size_t c = 0; c < (size_t)m->nc; c++) memcpy(m->basis + c * all, basis + c * n3, n3 * sizeof *basis);
    memcpy(m->share, share, (size_t)nvert * sizeof *share);
    return true;
}

FaCode fai_mlp_new(int nlayer, const int *width, int nd, int batch, int nvert, const float *basis, const float *share,
                   FaMlp *m, FaError *err) {
    FA_ASSERT(nlayer >= 1 && nlayer <= FA_NET_LAYERS && nd <= width[0]);
    *m = (FaMlp){.nlayer = nlayer, .batch = batch, .nd = nd, .nn = width[0] - nd, .nc = width[nlayer]};
    size_t largest = 0;
    int widest = 0;
    m->arena = fai_arena_new(0);
    if (!m->arena) return FA_FAIL_MEMORY(err);
    for (int i = 0; i <= nlayer; i++) {
        m->width[i] = width[i];
        m->pad[i] = fai_gemm_up(width[i]);
        widest = FA_MAX(widest, m->pad[i]);
    }
    for (int i = 0; i < nlayer; i++) {
        const size_t size = (size_t)m->pad[i] * (size_t)m->pad[i + 1];
        m->at_weight[i] = m->count;
        m->at_bias[i] = m->count + size;
        m->count += size + (size_t)m->pad[i + 1];
        largest = FA_MAX(largest, size);
    }
    m->at_ridge = m->count;
    m->count += (size_t)nd * (size_t)m->pad[nlayer];
    float **const array[] = {&m->param, &m->grad, &m->first, &m->second, &m->mean, &m->best};
    bool good = true;
    for (int i = 0; i < FA_COUNT(array); i++) good = (*array[i] = FA_PUSH(m->arena, m->count, float)) && good;
    const size_t rows = 2 * (size_t)batch, nc = (size_t)m->pad[nlayer];
    for (int i = 0; i <= nlayer; i++) good = (m->in[i] = FA_PUSH(m->arena, rows * (size_t)m->pad[i], float)) && good;
    for (int i = 0; i < nlayer; i++)
        good = (m->sum[i] = FA_PUSH(m->arena, rows * (size_t)m->pad[i + 1], float)) && good;
    for (int i = 0; i < 2; i++) good = (m->slope[i] = FA_PUSH(m->arena, rows * (size_t)widest, float)) && good;
    good = (m->turned = FA_PUSH(m->arena, largest, float)) && good;
    good = (m->target = FA_PUSH(m->arena, (size_t)batch * nc, float)) && good;
    good = (m->row_sum = FA_PUSH(m->arena, batch, double)) && good;
    good = good && take_basis(m, nvert, basis, share);
    m->beta1 = m->beta2 = 1;
    return good ? FA_OK : FA_FAIL_MEMORY(err);
}

void fai_mlp_free(FaMlp *m) {
    fai_arena_free(m->arena);
    *m = (FaMlp){0};
}

void fai_mlp_start(FaMlp *m, uint64_t seed, const float *ridge) {
    for (int i = 0; i + 1 < m->nlayer; i++) {
        const float range = sqrtf(6.0f / (float)m->width[i]); // variance 2 / width: swish halves what passes
        for (int k = 0; k < m->width[i]; k++)
            for (int o = 0; o < m->width[i + 1]; o++) {
                const uint64_t at = ((uint64_t)i << 32) + (uint64_t)k * (uint64_t)m->width[i + 1] + (uint64_t)o;
                m->param[m->at_weight[i] + (size_t)k * (size_t)m->pad[i + 1] + (size_t)o] =
                    range * (2 * (float)fai_random_unit(seed, at) - 1);
            }
    }
    const size_t nc = (size_t)m->pad[m->nlayer];
    for (size_t k = 0; k < (size_t)m->nd; k++)
        for (size_t c = 0; c < (size_t)m->nc; c++) m->param[m->at_ridge + k * nc + c] = ridge[c * (size_t)m->nd + k];
    memcpy(m->mean, m->param, m->count * sizeof(float));
    memcpy(m->best, m->param, m->count * sizeof(float));
}

void fai_mlp_row(FaMlp *m, int row, const float *z, const float *q, const float *target) {
    const size_t wide = (size_t)m->pad[0], nc = (size_t)m->pad[m->nlayer];
    float *moved = m->in[0] + (size_t)row * wide, *still = m->in[0] + (size_t)(row + m->batch) * wide;
    memcpy(moved, z, (size_t)m->nd * sizeof *z);
    memset(still, 0, (size_t)m->nd * sizeof *z);
    memcpy(moved + m->nd, q, (size_t)m->nn * sizeof *q);
    memcpy(still + m->nd, q, (size_t)m->nn * sizeof *q);
    memcpy(m->target + (size_t)row * nc, target, (size_t)m->nc * sizeof *target);
}

// --- forward ------------------------------------------------------------------------------------------------------

typedef struct Layer {
    FaMlp *m;
    const float *bias;
    float *slope; // of this layer's sums, dL
    int i, rows;
} Layer;

// Row r of a pass: the moved ones, then the still ones, which lie behind all that a batch has room for.
static size_t place(const FaMlp *m, int rows, int r) { return (size_t)(r < rows ? r : m->batch + r - rows); }

static void bend(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Layer *w = ctx;
    const FaMlp *m = w->m;
    const size_t wide = (size_t)m->pad[w->i + 1];
    for (int r = begin; r < end; r++) {
        const size_t at = place(m, w->rows, r) * wide;
        float *sum = m->sum[w->i] + at, *out = m->in[w->i + 1] + at;
        for (size_t o = 0; o < wide; o++) sum[o] += w->bias[o];
        if (w->i + 1 < m->nlayer)
            for (size_t o = 0; o < wide; o++) out[o] = fai_swish(sum[o]);
        else
            memcpy(out, sum, wide * sizeof *out);
    }
}

static void forward(FaMlp *m, const float *param, int rows) {
    for (int i = 0; i < m->nlayer; i++) {
        const size_t in = (size_t)m->pad[i], out = (size_t)m->pad[i + 1];
        for (int half = 0; half < 2; half++) {
            const size_t from = half ? (size_t)m->batch : 0;
            fai_gemm(&(FaGemm){rows, m->pad[i + 1], m->pad[i], m->in[i] + from * in, in, 1, param + m->at_weight[i],
                               out, m->sum[i] + from * out, out, false});
        }
        Layer w = {.m = m, .bias = param + m->at_bias[i], .i = i, .rows = rows};
        fai_parallel(2 * rows, ROWS, bend, &w);
    }
}

// --- backward -----------------------------------------------------------------------------------------------------

static void unbend(void *ctx, int begin, int end, int chunk) { // slope times swish' of the layer's sums
    (void)chunk;
    const Layer *w = ctx;
    const size_t wide = (size_t)w->m->pad[w->i + 1];
    for (int r = begin; r < end; r++) {
        const size_t at = place(w->m, w->rows, r) * wide;
        const float *sum = w->m->sum[w->i] + at;
        for (size_t o = 0; o < wide; o++) {
            const float s = fai_sigmoid(sum[o]);
            w->slope[at + o] *= s * (1 + sum[o] * (1 - s));
        }
    }
}

static void transpose(const float *a, size_t rows, size_t columns, float *t) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) t[j * rows + i] = a[i * columns + j];
}

static void backward(FaMlp *m, const float *param, int rows, float *slope, float *next) {
    for (int i = m->nlayer - 1; i >= 0; i--) {
        const size_t in = (size_t)m->pad[i], out = (size_t)m->pad[i + 1];
        float *bias = m->grad + m->at_bias[i];
        memset(bias, 0, out * sizeof *bias);
        for (int r = 0; r < 2 * rows; r++)
            for (size_t o = 0; o < out; o++) bias[o] += slope[place(m, rows, r) * out + o];
        for (int half = 0; half < 2; half++) {
            const size_t from = half ? (size_t)m->batch : 0;
            fai_gemm(&(FaGemm){m->pad[i], m->pad[i + 1], rows, m->in[i] + from * in, 1, in, slope + from * out, out,
                               m->grad + m->at_weight[i], out, half});
        }
        if (!i) break;
        transpose(param + m->at_weight[i], in, out, m->turned);
        for (int half = 0; half < 2; half++) {
            const size_t from = half ? (size_t)m->batch : 0;
            fai_gemm(&(FaGemm){rows, m->pad[i], m->pad[i + 1], slope + from * out, out, 1, m->turned, in,
                               next + from * in, in, false});
        }
        Layer w = {.m = m, .slope = next, .i = i - 1, .rows = rows};
        fai_parallel(2 * rows, ROWS, unbend, &w);
        float *swap = slope;
        slope = next;
        next = swap;
    }
}

// --- the loss -----------------------------------------------------------------------------------------------------

// The blocks of this turn side by side; their weights' sum.
static int gather(FaMlp *m, int turn, double *weight) {
    const size_t all = (size_t)m->nall, nc = (size_t)m->pad[m->nlayer];
    const int most = most_seen(m);
    int n = 0;
    *weight = 0;
    for (int b = turn % m->every; b < m->nall / FA_MLP_BLOCK; b += m->every, n += FA_MLP_BLOCK)
        for (int i = 0; i < FA_MLP_BLOCK; i++) {
            const size_t from = (size_t)(b * FA_MLP_BLOCK + i);
            for (size_t c = 0; c < (size_t)m->nc; c++) {
                m->some[c * (size_t)most + (size_t)(n + i)] = m->basis[c * all + from];
                m->turned_some[(size_t)(n + i) * nc + c] = m->basis[c * all + from];
            }
            if (i % 3 == 0) *weight += m->share[from / 3];
        }
    return n;
}

typedef struct Wrong {
    FaMlp *m;
    float by; // of the slopes
    int n, turn, most;
    double *sum; // of each row
} Wrong;

static void some_wrong(void *ctx, int begin, int end, int chunk) { // errors become the loss's slopes
    (void)chunk;
    const Wrong *w = ctx;
    const FaMlp *m = w->m;
    for (int r = begin; r < end; r++) {
        float *e = m->error + (size_t)r * (size_t)w->most;
        double sum = 0;
        for (int i = 0; i < w->n; i += 3) {
            const int block = w->turn % m->every + i / FA_MLP_BLOCK * m->every;
            const float share = m->share[(block * FA_MLP_BLOCK + i % FA_MLP_BLOCK) / 3];
            const float size = sqrtf(e[i] * e[i] + e[i + 1] * e[i + 1] + e[i + 2] * e[i + 2] + EPS * EPS);
            sum += (double)(share * (size - EPS));
            for (int k = 0; k < 3; k++) e[i + k] *= w->by * share / size;
        }
        w->sum[r] = sum;
    }
}

double fai_mlp_loss(FaMlp *m, const float *param, int rows, int turn, bool want_grad) {
    const int pad = m->pad[m->nlayer], most = most_seen(m);
    const size_t nc = (size_t)pad, still = (size_t)m->batch * nc;
    float *slope = m->slope[0], *off = m->slope[1], *ridge = m->grad + m->at_ridge;
    double weight, loss = 0;
    forward(m, param, rows);
    fai_gemm(&(FaGemm){rows, pad, m->nd, m->in[0], (size_t)m->pad[0], 1, param + m->at_ridge, nc, off, nc, false});
    const float *moved = m->in[m->nlayer];
    for (size_t i = 0; i < (size_t)rows * nc; i++) off[i] += (moved[i] - moved[still + i]) - m->target[i];
    const int n = gather(m, turn, &weight);
    fai_gemm(&(FaGemm){rows, n, m->nc, off, nc, 1, m->some, (size_t)most, m->error, (size_t)most, false});
    const double part = 1 / (weight * rows);
    Wrong w = {m, (float)part, n, turn, most, m->row_sum};
    fai_parallel(rows, ROWS, some_wrong, &w);
    for (int r = 0; r < rows; r++) loss += m->row_sum[r];
    if (!want_grad) return loss * part;
    fai_gemm(&(FaGemm){rows, pad, n, m->error, (size_t)most, 1, m->turned_some, nc, slope, nc, false});
    for (size_t i = 0; i < (size_t)rows * nc; i++) slope[still + i] = -slope[i];
    fai_gemm(&(FaGemm){m->nd, pad, rows, m->in[0], 1, (size_t)m->pad[0], slope, nc, ridge, nc, false});
    backward(m, param, rows, slope, m->slope[1]);
    return loss * part;
}

// --- Adam ---------------------------------------------------------------------------------------------------------

typedef struct Step {
    FaMlp *m;
    float rate, decay, root, follow;
} Step;

static void some_params(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Step *s = ctx;
    float *p = s->m->param, *m1 = s->m->first, *m2 = s->m->second, *mean = s->m->mean;
    const float *g = s->m->grad;
    for (int i = begin; i < end; i++) {
        m1[i] = BETA1 * m1[i] + (1 - BETA1) * g[i];
        m2[i] = BETA2 * m2[i] + (1 - BETA2) * (g[i] * g[i]);
        p[i] -= s->rate * m1[i] / (sqrtf(m2[i]) * s->root + TINY) + s->decay * p[i];
        mean[i] += s->follow * (p[i] - mean[i]);
    }
}

void fai_mlp_adam(FaMlp *m, double rate, double decay, double follow) {
    m->beta1 *= BETA1;
    m->beta2 *= BETA2;
    Step s = {m, (float)(rate / (1 - m->beta1)), (float)(rate * decay), (float)(1 / sqrt(1 - m->beta2)), (float)follow};
    fai_parallel((int)m->count, PARAMS, some_params, &s);
}

void fai_mlp_to_net(const FaMlp *m, const float *param, FaNet *net) {
    const size_t nc = (size_t)m->pad[m->nlayer];
    for (size_t k = 0; k < (size_t)m->nd; k++)
        for (size_t c = 0; c < (size_t)m->nc; c++) net->ridge[c * (size_t)m->nd + k] = param[m->at_ridge + k * nc + c];
    for (int i = 0; i < m->nlayer; i++) {
        const size_t pad = (size_t)m->pad[i + 1];
        for (int o = 0; o < m->width[i + 1]; o++) {
            for (int k = 0; k < m->width[i]; k++)
                net->weight[i][(size_t)o * (size_t)m->width[i] + (size_t)k] =
                    param[m->at_weight[i] + (size_t)k * pad + (size_t)o];
            net->bias[i][o] = param[m->at_bias[i] + (size_t)o];
        }
    }
}
