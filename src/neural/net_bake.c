// What any engine plays: the network's K targets as morph targets of the rig's own file, and the small network that
// gives their weights as JSON. docs/guide/neural.md, "In an engine", shows a player of a few lines.
#include "analytic/picks.h"
#include "base/file.h"
#include "base/text.h"
#include "neural/bind_net.h"
#include "neural/net_math.h"
#include "neural/onnx.h"

#include <math.h>
#include <stdio.h>

static const double LEAST = 1e-7; // m: what a target moves by less is left out

static const void *section(const FaNeural *b, int i) { return b->data + b->at[i]; }

// Vertex a of those that follow, target t: carried from the template's nodes.
static void carried(const FaNeural *b, int t, int a, double out[3]) {
    const int32_t *start = section(b, FA_RT_START);
    const uint16_t *node = section(b, FA_RT_NODE);
    const float *weight = section(b, FA_RT_WEIGHT);
    out[0] = out[1] = out[2] = 0;
    for (int e = start[a]; e < start[a + 1]; e++)
        for (int k = 0; k < 3; k++) out[k] += (double)weight[e] * (double)fai_neural_basis(b, t, 3 * node[e] + k);
}

// Entries of all targets; first, row and delta have room for all.
static void put_targets(const FaNeural *b, FaMoreShapes *m, char (*name)[32]) {
    const int32_t *active = section(b, FA_RT_ACTIVE);
    int n = 0;
    for (int t = 0; t < b->n.nt; t++) {
        snprintf(name[t], sizeof name[t], "fascia_%03d", t);
        for (int a = 0; a < b->n.nactive; a++) {
            double d[3];
            carried(b, t, a, d);
            if (fabs(d[0]) + fabs(d[1]) + fabs(d[2]) < LEAST) continue;
            m->row[n] = active[a];
            for (int k = 0; k < 3; k++) m->delta[3 * (size_t)n + (size_t)k] = (float)d[k];
            n++;
        }
        m->first[t + 1] = n;
    }
}

FaCode fa_neural_bake(const FaNeural *b, const FaRig *rig, const char *path, FaError *err) {
    size_t nt = (size_t)b->n.nt, most = nt * (size_t)b->n.nactive;
    if (most > INT32_MAX / 3)
        return FA_FAIL(err, FA_E_LIMIT, path, "use --bind, which needs no targets of its own",
                       "%zu targets on %d vertices are too many", nt, b->n.nactive);
    if (rig->mesh.nvert != b->n.nvert)
        return FA_FAIL(err, FA_E_ARG, path, "give the rig that it was bound to",
                       "the rig has %d vertices, the bound one %d", rig->mesh.nvert, b->n.nvert);
    FaMoreShapes m = {b->n.nt, FA_NEW(nt + 1, int), FA_NEW(most, int), FA_NEW(3 * most, float)};
    char(*name)[32] = fai_alloc_array(nt, sizeof *name);
    FaCode rc = m.first && m.row && m.delta && name ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) put_targets(b, &m, name);
    if (rc >= 0) rc = fai_save_more_shapes(rig, &m, (const char(*)[32])name, path, err);
    fa_free(m.first);
    fa_free(m.row);
    fa_free(m.delta);
    fa_free(name);
    return rc;
}

// --- the network as text ------------------------------------------------------------------------------------------

// Rows of `stride` numbers, of which n are meant.
static void put_rows(FaJsonWriter *w, const char *key, const float *x, int rows, int n, size_t stride) {
    fai_jw_open(w, key, '[');
    for (int r = 0; r < rows; r++) {
        if (rows > 1) fai_jw_open(w, NULL, '[');
        for (int i = 0; i < n; i++) fai_jw_float(w, NULL, x[(size_t)r * stride + (size_t)i]);
        if (rows > 1) fai_jw_close(w);
    }
    fai_jw_close(w);
}

static void put_net(const FaNeural *b, FaJsonWriter *w) {
    const FaRtNumbers *n = &b->n;
    const float *p = section(b, FA_RT_NET);
    const char *name = section(b, FA_RT_NAMES);
    fai_jw_str(w, "fascia", "neural 1");
    fai_jw_str(w, "read",
               "z = squash(sum w_s encode[s]), squash(x) = 3 tanh(x/3); a = z, then for each layer a = "
               "sum a_i weights[i] + bias, and between layers a / (1 + exp(-a)); target weights = a - g0 + sum "
               "z_i ridge[i], with g0 the same a at z = 0");
    fai_jw_open(w, "shapes", '[');
    for (int s = 0; s < n->nshape; s++, name += strlen(name) + 1) fai_jw_str(w, NULL, name);
    fai_jw_close(w);
    fai_jw_int(w, "targets", n->nt);
    put_rows(w, "encode", section(b, FA_RT_ENCODE), n->nshape, n->nd, fa_rt_pad(n->nd));
    fai_jw_open(w, "layers", '[');
    for (int l = 0; l < n->nlayer; l++) {
        const size_t out = fa_rt_pad(n->width[l + 1]);
        fai_jw_open(w, NULL, '{');
        put_rows(w, "weights", p, n->width[l], n->width[l + 1], out);
        put_rows(w, "bias", p + (size_t)n->width[l] * out, 1, n->width[l + 1], out);
        fai_jw_close(w);
        p += ((size_t)n->width[l] + 1) * out;
    }
    fai_jw_close(w);
    put_rows(w, "ridge", section(b, FA_RT_RIDGE), n->nd, n->nt, fa_rt_pad(n->nt));
}

// Target weights are those of the file's morph targets: the scale is in these.
FaCode fa_neural_json(const FaNeural *b, char **json, FaError *err) {
    FaJsonWriter *w;
    *json = NULL;
    FA_TRY(fa_json_new(&w, err));
    fa_json_begin(w, NULL, '{');
    put_net(b, w);
    fa_json_end(w);
    return fa_json_finish(w, json, err);
}

FaCode fa_neural_write_json(const FaNeural *b, const char *path, FaError *err) {
    char *json = NULL;
    FA_TRY(fa_neural_json(b, &json, err));
    FaCode rc = fai_file_write(path, json, strlen(json), err);
    fa_free(json);
    return rc;
}

// --- the network as ONNX ------------------------------------------------------------------------------------------

// Rows of inputs, padded -> rows of outputs.
static void turn_over(const float *x, int in, int out, size_t stride, float *to) {
    for (int i = 0; i < in; i++)
        for (int o = 0; o < out; o++) to[(size_t)o * (size_t)in + (size_t)i] = x[(size_t)i * stride + (size_t)o];
}

// g of z = 0.
static void find_still(const FaOnnxBound *b, float *a, float *next, float *still) {
    memset(a, 0, (size_t)b->width[0] * sizeof *a);
    for (int l = 0; l < b->nlayer; l++) {
        const int in = b->width[l], out = b->width[l + 1];
        for (int o = 0; o < out; o++) {
            double sum = (double)b->bias[l][o];
            for (int i = 0; i < in; i++) sum += (double)b->weight[l][(size_t)o * (size_t)in + (size_t)i] * (double)a[i];
            next[o] = l + 1 < b->nlayer ? fai_swish((float)sum) : (float)sum;
        }
        memcpy(a, next, (size_t)out * sizeof *a);
    }
    memcpy(still, a, (size_t)b->nc * sizeof *still);
}

// Targets are morph targets of the file: a basis of ones gives their weights.
static FaCode put_onnx(const FaNeural *b, FaArena *arena, const char *path, FaError *err) {
    const FaRtNumbers *n = &b->n;
    const size_t nt = (size_t)n->nt, nd = (size_t)n->nd;
    int width[FA_RT_LAYERS + 1];
    const float *weight[FA_RT_LAYERS], *bias[FA_RT_LAYERS], *p = section(b, FA_RT_NET);
    float *encode = FA_PUSH(arena, nd * (size_t)FA_MAX(n->nshape, 1), float), *ridge = FA_PUSH(arena, nt * nd, float),
          *basis = FA_PUSH(arena, nt * nt, float), *still = FA_PUSH(arena, nt, float),
          *a = FA_PUSH(arena, FA_RT_WIDE, float), *next = FA_PUSH(arena, FA_RT_WIDE, float);
    if (!encode || !ridge || !basis || !still || !a || !next) return FA_FAIL_MEMORY(err);
    for (int l = 0; l <= n->nlayer; l++) width[l] = n->width[l];
    for (int l = 0; l < n->nlayer; l++) {
        const size_t out = fa_rt_pad(width[l + 1]);
        float *rows = FA_PUSH(arena, (size_t)width[l] * (size_t)width[l + 1], float);
        if (!rows) return FA_FAIL_MEMORY(err);
        turn_over(p, width[l], width[l + 1], out, rows);
        weight[l] = rows;
        bias[l] = p + (size_t)width[l] * out;
        p = bias[l] + out;
    }
    turn_over(section(b, FA_RT_ENCODE), n->nshape, n->nd, fa_rt_pad(n->nd), encode);
    turn_over(section(b, FA_RT_RIDGE), n->nd, n->nt, fa_rt_pad(n->nt), ridge);
    for (size_t t = 0; t < nt; t++) basis[t * nt + t] = 1;
    const FaOnnxBound bound = {.nweight = n->nshape,
                               .nd = n->nd,
                               .nc = n->nt,
                               .nout = n->nt,
                               .nlayer = n->nlayer,
                               .width = width,
                               .encode = encode,
                               .weight = weight,
                               .bias = bias,
                               .still = still,
                               .ridge = ridge,
                               .basis = basis,
                               .made = "fascia run --bake"};
    find_still(&bound, a, next, still);
    return fai_onnx_save_bound(&bound, path, err);
}

FaCode fa_neural_write_onnx(const FaNeural *b, const char *path, FaError *err) {
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? put_onnx(b, arena, path, err) : FA_FAIL_MEMORY(err);
    fai_arena_free(arena);
    return rc;
}
