#include "neural/train_mlp.h"

#include "base/task.h"
#include "neural/net_math.h"

#include <math.h>

enum { ROWS = 16, PARAMS = 8192 };
static const float BETA1 = 0.9f, BETA2 = 0.999f, TINY = 1e-8f;

FaCode fai_mlp_new(int nlayer, const int *width, int nd, int batch, FaMlp *m, FaError *err) {
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
    good = (m->omega = FA_PUSH(m->arena, nc, float)) && good;
    m->beta1 = m->beta2 = 1;
    return good ? FA_OK : FA_FAIL_MEMORY(err);
}

void fai_mlp_free(FaMlp *m) {
    fai_arena_free(m->arena);
    *m = (FaMlp){0};
}

void fai_mlp_start(FaMlp *m, uint64_t seed) {
    for (int i = 0; i + 1 < m->nlayer; i++) {
        const float range = sqrtf(6.0f / (float)m->width[i]); // variance 2 / width: swish halves what passes
        for (int k = 0; k < m->width[i]; k++)
            for (int o = 0; o < m->width[i + 1]; o++) {
                const uint64_t at = ((uint64_t)i << 32) + (uint64_t)k * (uint64_t)m->width[i + 1] + (uint64_t)o;
                m->param[m->at_weight[i] + (size_t)k * (size_t)m->pad[i + 1] + (size_t)o] =
                    range * (2 * (float)fai_random_unit(seed, at) - 1);
            }
    }
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

double fai_mlp_loss(FaMlp *m, const float *param, int rows, bool want_grad) {
    const size_t nc = (size_t)m->pad[m->nlayer];
    float *slope = m->slope[0];
    forward(m, param, rows);
    const float *moved = m->in[m->nlayer], *still = moved + (size_t)m->batch * nc;
    double loss = 0;
    for (int r = 0; r < rows; r++) {
        const float *t = m->target + (size_t)r * nc;
        for (size_t c = 0; c < nc; c++) {
            const float off = moved[(size_t)r * nc + c] - still[(size_t)r * nc + c] - t[c];
            const float push = 2 * m->omega[c] * off / (float)rows;
            loss += (double)(m->omega[c] * off) * off;
            slope[(size_t)r * nc + c] = push;
            slope[((size_t)r + (size_t)m->batch) * nc + c] = -push;
        }
    }
    if (want_grad) backward(m, param, rows, m->slope[0], m->slope[1]);
    return loss / rows;
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
