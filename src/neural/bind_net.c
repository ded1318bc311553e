// Binding: what a frame needs of a network, folded into the rig once.
//
//     z  = squash(Vd' D w / sd)     Vd' D / sd: nd x nshape, the rig's shapes as the template has them
//     q  = squash(Vn' (n - mean) / sn)   goes into the first layer's bias
//     su, the turn back and the scale back: into the last layer, the ridge and the basis
#include "neural/bind_net.h"

#include "base/file.h"
#include "math/mat3.h"
#include "neural/lay.h"
#include "neural/shard.h"
#include "neural/shipped.h"

#include <math.h>

enum { GAP = 4 }; // runs of a shape's vertices closer than this are one

typedef struct Bind {
    const FaNet *net;
    const FaRig *rig;
    FaLay lay;
    float *q; // (nn)
    FaNeural *b;
} Bind;

static void *section(const Bind *j, int i) { return j->b->data + j->b->at[i]; }

// --- the rig ------------------------------------------------------------------------------------------------------

// Runs of one shape: written where out is not NULL. How many; *count: vertices in them.
static int runs_of(const FaRig *rig, int s, int first, FaRtRun *out, float *delta, int *count) {
    const FaShape *shape = &rig->shape[s];
    int n = 0, end = 0, begin = 0;
    *count = 0;
    for (int e = shape->first; e < shape->first + shape->count; e++) {
        int v = rig->row[e];
        if (n == 0 || v >= end + GAP) {
            if (out) out[n] = (FaRtRun){v, 0, first + *count};
            n++;
            begin = v;
            end = v;
        }
        *count += v + 1 - end;
        end = v + 1;
        if (!out) continue;
        out[n - 1].count = end - begin;
        memcpy(delta + 3 * ((size_t)out[n - 1].first + (size_t)(v - begin)), rig->delta + 3 * (size_t)e,
               3 * sizeof *delta);
    }
    return n;
}

static const char *name_of(const FaRig *rig, int s) { return rig->shape[s].name ? rig->shape[s].name : ""; }

static void count_rig(const FaRig *rig, FaRtNumbers *n) {
    n->nvert = rig->mesh.nvert;
    n->nshape = rig->nshape;
    for (int s = 0; s < rig->nshape; s++) {
        int count;
        n->nrun += runs_of(rig, s, 0, NULL, NULL, &count);
        n->ndelta += count;
        n->names += (int)strlen(name_of(rig, s)) + 1;
    }
}

static void put_rig(const Bind *j) {
    const FaRig *rig = j->rig;
    char *names = section(j, FA_RT_NAMES);
    int32_t *start = section(j, FA_RT_SHAPE);
    FaRtRun *run = section(j, FA_RT_RUN);
    int nrun = 0, ndelta = 0, count;
    memcpy(section(j, FA_RT_NEUTRAL), rig->mesh.x, 3 * (size_t)rig->mesh.nvert * sizeof(float));
    for (int s = 0; s < rig->nshape; s++) {
        size_t size = strlen(name_of(rig, s)) + 1;
        memcpy(names, name_of(rig, s), size);
        names += size;
        start[s] = nrun;
        nrun += runs_of(rig, s, ndelta, run + nrun, section(j, FA_RT_DELTA), &count);
        ndelta += count;
    }
    start[rig->nshape] = nrun;
}

// --- the network --------------------------------------------------------------------------------------------------

static double dot(const float *a, const float *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static void put_encoder(const Bind *j) {
    const FaNet *net = j->net;
    const size_t n = 3 * (size_t)net->nvert, nd = fa_rt_pad(net->nd);
    float *to = section(j, FA_RT_ENCODE);
    for (int s = 0; s < j->rig->nshape; s++)
        for (int k = 0; k < net->nd; k++)
            to[(size_t)s * nd + (size_t)k] =
                (float)(dot(net->vd + n * (size_t)k, j->lay.shape + n * (size_t)s, n) / (double)net->sd[k]);
}

// The neutral in components, as the network is told them; how many standard deviations off the farthest is.
static double see_neutral(Bind *j) {
    const FaNet *net = j->net;
    const size_t n = 3 * (size_t)net->nvert;
    double far = 0;
    fai_net_neutral(net, j->lay.neutral, j->q);
    for (size_t i = 0; i < n; i++) j->lay.neutral[i] -= net->mean[i];
    for (int k = 0; k < net->nn; k++)
        far = fmax(far, fabs(dot(net->vn + n * (size_t)k, j->lay.neutral, n)) / (double)net->sn[k]);
    return far;
}

// Rows of inputs, padded; the neutral's inputs become bias, su scales the last layer.
static void put_layers(const Bind *j) {
    const FaNet *net = j->net;
    float *p = section(j, FA_RT_NET);
    for (int l = 0; l < net->nlayer; l++) {
        const int in = net->width[l], take = l ? in : net->nd, outs = net->width[l + 1];
        const size_t out = fa_rt_pad(outs);
        float *bias = p + (size_t)take * out;
        for (int o = 0; o < outs; o++) {
            const float *w = net->weight[l] + (size_t)o * (size_t)in;
            const double scale = l + 1 == net->nlayer ? (double)net->su[o] : 1;
            double b = (double)net->bias[l][o];
            for (int i = 0; i < take; i++) p[(size_t)i * out + (size_t)o] = (float)(scale * (double)w[i]);
            for (int i = take; i < in; i++) b += (double)w[i] * (double)j->q[i - take];
            bias[o] = (float)(scale * b);
        }
        p = bias + out;
    }
    float *ridge = section(j, FA_RT_RIDGE);
    for (int c = 0; c < net->nc; c++)
        for (int k = 0; k < net->nd; k++)
            ridge[(size_t)k * fa_rt_pad(net->nc) + (size_t)c] =
                (float)((double)net->su[c] * (double)net->ridge[(size_t)c * (size_t)net->nd + (size_t)k]);
}

// --- the basis ----------------------------------------------------------------------------------------------------

static void put_value(const Bind *j, size_t at, float v) {
    void *to = section(j, FA_RT_BASIS);
    if (j->b->n.precision == FA_RT_F32)
        ((float *)to)[at] = v;
    else if (j->b->n.precision == FA_RT_F16)
        ((uint16_t *)to)[at] = fai_half(v);
    else
        ((int8_t *)to)[at] = (int8_t)lrintf(v);
}

static size_t basis_at(const FaRtNumbers *n, int t, int i) {
    return ((size_t)(i / FA_RT_BLOCK) * (size_t)n->nt + (size_t)t) * FA_RT_BLOCK + (size_t)(i % FA_RT_BLOCK);
}

float fai_neural_basis(const FaNeural *b, int t, int i) {
    const void *p = b->data + b->at[FA_RT_BASIS];
    const float scale = ((const float *)(const void *)(b->data + b->at[FA_RT_SCALE]))[t];
    const size_t at = basis_at(&b->n, t, i);
    if (b->n.precision == FA_RT_F32) return scale * ((const float *)p)[at];
    if (b->n.precision == FA_RT_F16) return scale * fai_half_float(((const uint16_t *)p)[at]);
    return scale * (float)((const int8_t *)p)[at];
}

// Columns turned and scaled back to the rig, each at most 1 (int8: 127) in size.
static void put_basis(const Bind *j) {
    const FaNet *net = j->net;
    const float full = j->b->n.precision == FA_RT_INT8 ? 127 : 1;
    float *scale = section(j, FA_RT_SCALE);
    for (int t = 0; t < net->nc; t++) {
        const float *u = net->u + 3 * (size_t)net->nvert * (size_t)t;
        for (int pass = 0; pass < 2; pass++)
            for (int v = 0; v < net->nvert; v++) {
                double p[3];
                fai_v3_load(u, v, p);
                for (int k = 0; k < 3; k++) {
                    double x =
                        (j->lay.turn[k] * p[0] + j->lay.turn[3 + k] * p[1] + j->lay.turn[6 + k] * p[2]) / j->lay.scale;
                    if (pass == 0)
                        scale[t] = fmaxf(scale[t], (float)fabs(x) / full);
                    else if (scale[t] > 0)
                        put_value(j, basis_at(&j->b->n, t, 3 * v + k), fminf(fmaxf((float)x / scale[t], -full), full));
                }
            }
    }
}

static void put_carry(const Bind *j) {
    const FaCsr *c = &j->lay.carry;
    int32_t *active = section(j, FA_RT_ACTIVE), *start = section(j, FA_RT_START);
    uint16_t *node = section(j, FA_RT_NODE);
    float *weight = section(j, FA_RT_WEIGHT);
    int a = 0, e = 0;
    for (int v = 0; v < c->nrow; v++) {
        if (c->start[v] == c->start[v + 1]) continue;
        active[a] = v;
        start[a++] = e;
        for (int i = c->start[v]; i < c->start[v + 1]; i++, e++) {
            node[e] = (uint16_t)c->col[i];
            weight[e] = (float)c->val[i];
        }
    }
    start[a] = e;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode count_all(const Bind *j, FaNeuralPrecision precision, FaRtNumbers *n, FaError *err) {
    const FaNet *net = j->net;
    count_rig(j->rig, n);
    n->nd = net->nd;
    n->nt = net->nc;
    n->nlayer = net->nlayer;
    for (int l = 0; l <= net->nlayer; l++) n->width[l] = l ? net->width[l] : net->nd;
    n->precision = (int32_t)precision;
    n->nnode = net->nvert;
    for (int v = 0; v < j->lay.carry.nrow; v++) n->nactive += j->lay.carry.start[v] < j->lay.carry.start[v + 1];
    n->ncarry = j->lay.carry.start[j->lay.carry.nrow];
    if (n->nshape > FA_RT_WIDE || n->nvert > FA_RT_MOST || n->nnode > 65535)
        return FA_FAIL(err, FA_E_LIMIT, j->rig->path, "bind a smaller mesh",
                       "%d vertices and %d shapes are too many to bind", n->nvert, n->nshape);
    return FA_OK;
}

static void seal(FaNeural *b) {
    const uint64_t head[2] = {FA_RT_SIGNATURE, b->size};
    memcpy(b->data, head, sizeof head);
    memcpy(b->data + FA_RT_HEAD, &b->n, sizeof b->n);
    const uint64_t sum = fa_rt_sum(b->data + FA_RT_HEAD, b->size - FA_RT_HEAD);
    memcpy(b->data + 16, &sum, sizeof sum);
}

static FaCode run(Bind *j, FaNeuralPrecision precision, FaNeuralReport *report, FaError *err) {
    FA_TRY(fai_lay(j->net, j->rig, &j->lay, report, err));
    j->q = FA_NEW(FA_MAX(j->net->nn, 1), float);
    if (!j->q) return FA_FAIL_MEMORY(err);
    report->far = see_neutral(j);
    FaNeural *b = j->b;
    FA_TRY(count_all(j, precision, &b->n, err));
    fa_rt_sections(&b->n, b->at);
    b->size = b->at[FA_RT_SECTIONS];
    b->data = FA_NEW(b->size, unsigned char);
    if (!b->data) return FA_FAIL_MEMORY(err);
    put_rig(j);
    put_encoder(j);
    put_layers(j);
    put_basis(j);
    put_carry(j);
    seal(b);
    report->bytes = b->size;
    report->targets = b->n.nt;
    return FA_OK;
}

FaCode fai_neural_bind_net(const FaNet *net, const FaRig *rig, FaNeuralPrecision precision, FaNeural **bound,
                           FaNeuralReport *report, FaError *err) {
    FaNeuralReport own;
    Bind j = {.net = net, .rig = rig, .b = FA_NEW(1, FaNeural)};
    *bound = NULL;
    FaCode rc = j.b ? run(&j, precision, report ? report : &own, err) : FA_FAIL_MEMORY(err);
    fai_lay_free(&j.lay);
    fa_free(j.q);
    if (rc < 0)
        fa_neural_free(j.b);
    else
        *bound = j.b;
    return rc;
}

FaCode fa_neural_bind(const FaRig *rig, const char *path, FaNeuralPrecision precision, FaNeural **bound,
                      FaNeuralReport *report, FaError *err) {
    FaNet net = {0};
    *bound = NULL;
    FaCode rc = path && path[0] ? fai_net_load(path, &net, err) : fai_neural_shipped_net(&net, err);
    if (rc >= 0) rc = fai_neural_bind_net(&net, rig, precision, bound, report, err);
    fai_net_free(&net);
    return rc;
}

void fa_neural_free(FaNeural *bound) {
    if (!bound) return;
    fa_free(bound->data);
    fa_free(bound);
}

const void *fa_neural_bytes(const FaNeural *bound, size_t *size) {
    *size = bound->size;
    return bound->data;
}

FaCode fa_neural_write(const FaNeural *bound, const char *path, FaError *err) {
    return fai_file_write(path, bound->data, bound->size, err);
}

size_t fa_neural_shipped(void) { return fai_shipped_net_size; }

FaCode fai_neural_shipped_net(FaNet *net, FaError *err) {
    if (!fa_neural_shipped())
        return FA_FAIL(
            err, FA_E_UNSUPPORTED, NULL,
            "give one with --net F.net (fascia dataset, then fascia train, make it), or put it at data/neural.net "
            "and build again",
            "no network is built in");
    return fai_net_parse(fai_shipped_net, fai_shipped_net_size, "the built-in network", net, err);
}
