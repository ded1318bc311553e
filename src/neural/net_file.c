// The file of a network. Bases are int8: a scale per column whose last 8 bits are 0, so that scale x (-127 .. 127) is
// exact, the largest number of a column is 127 scales, and packing what was unpacked finds the same scale again.
#include "neural/net.h"

#include "base/file.h"
#include "neural/net_template.h"
#include "neural/pack.h"

#include <float.h>
#include <math.h>

enum { VERTS = 1 << 24, TRIS = 1 << 25, MOST = 127 };
static const float LEAST = 1e-30f, HUGE_SCALE = 1e30f, HUGE_STEP = 2e32f; // columns below the least are 0
static const char SIGNATURE[8] = {'F', 'A', 'N', 'E', 'T', '1', '\n', 0x1a};

// --- rounding -----------------------------------------------------------------------------------------------------

static float scale_of(const float *x, size_t n) {
    float most = 0;
    for (size_t i = 0; i < n; i++) most = FA_MAX(most, fabsf(x[i]));
    if (!(most >= LEAST)) return 0;
    float scale = most / MOST;
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    bits = (bits + 0xff) & ~0xffu;
    memcpy(&scale, &bits, sizeof bits);
    return scale;
}

static int step_of(float x, float scale) { return scale > 0 ? FA_MIN(MOST, FA_MAX(-MOST, (int)lrintf(x / scale))) : 0; }

static void round_columns(float *x, size_t n, int count) {
    for (int k = 0; k < count; k++) {
        float *column = x + (size_t)k * n, scale = scale_of(column, n);
        for (size_t i = 0; i < n; i++) column[i] = (float)step_of(column[i], scale) * scale;
    }
}

static void round_halfs(float *x, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = fai_half_float(fai_half(x[i]));
}

static size_t layer_size(const FaNet *net, int i) { return (size_t)net->width[i] * (size_t)net->width[i + 1]; }

void fai_net_round(FaNet *net) {
    const size_t n3 = 3 * (size_t)net->nvert;
    round_columns(net->shape, n3, net->nweight);
    round_columns(net->vd, n3, net->nd);
    round_columns(net->vn, n3, net->nn);
    round_columns(net->u, n3, net->nc);
    if (net->ridge) round_halfs(net->ridge, (size_t)net->nc * (size_t)net->nd);
    for (int i = 0; i < net->nlayer; i++) round_halfs(net->weight[i], layer_size(net, i));
}

// --- writing ------------------------------------------------------------------------------------------------------

// Columns that share their vertices: a bit per vertex that any of them moves, scales, steps of those vertices.
static bool pack_columns(FaText *t, const float *x, int nvert, int count, FaError *err) {
    const size_t n3 = 3 * (size_t)nvert, nmask = ((size_t)nvert + 7) / 8;
    float *scale = FA_NEW(count, float);
    unsigned char *mask = FA_NEW(nmask, unsigned char);
    signed char *step = FA_NEW(n3, signed char);
    if (!scale || !mask || !step) {
        t->failed = true;
        FA_FAIL_MEMORY(err);
        goto done;
    }
    for (int k = 0; k < count; k++) scale[k] = scale_of(x + (size_t)k * n3, n3);
    for (int k = 0; k < count; k++)
        for (size_t i = 0; i < n3; i++)
            if (step_of(x[(size_t)k * n3 + i], scale[k])) mask[i / 24] |= (unsigned char)(1 << i / 3 % 8);
    fai_text_bytes(t, mask, nmask);
    fai_text_bytes(t, scale, (size_t)count * sizeof *scale);
    for (int k = 0; k < count; k++) {
        size_t n = 0;
        for (size_t i = 0; i < n3; i++)
            if (mask[i / 24] >> i / 3 % 8 & 1) step[n++] = (signed char)step_of(x[(size_t)k * n3 + i], scale[k]);
        fai_text_bytes(t, step, n);
    }
done:
    fa_free(scale), fa_free(mask), fa_free(step);
    return !t->failed;
}

static bool finite_all(const float *x, size_t n, float most) {
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(x[i]) <= most)) return false;
    return true;
}

static bool sound(const FaNet *net) {
    const size_t n3 = 3 * (size_t)net->nvert;
    bool good = finite_all(net->mean, n3, HUGE_SCALE) && finite_all(net->shape, (size_t)net->nweight * n3, HUGE_STEP) &&
                finite_all(net->vd, (size_t)net->nd * n3, HUGE_STEP) &&
                finite_all(net->vn, (size_t)net->nn * n3, HUGE_STEP) &&
                finite_all(net->u, (size_t)net->nc * n3, HUGE_STEP) &&
                finite_all(net->ridge, (size_t)net->nc * (size_t)net->nd, 65504);
    for (int i = 0; i < net->nlayer; i++)
        good = good && finite_all(net->weight[i], layer_size(net, i), 65504) &&
               finite_all(net->bias[i], (size_t)net->width[i + 1], HUGE_SCALE);
    return good;
}

FaCode fai_net_save(const FaNet *net, const char *path, FaError *err) {
    const int number[7] = {net->nvert, net->ntri, net->nweight, net->nd, net->nn, net->nc, net->nlayer};
    const size_t n3 = 3 * (size_t)net->nvert;
    if (!sound(net))
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "train with smaller steps (--rate)",
                       "the network holds numbers that are not finite, or too large for halfs");
    FaText t = {0};
    fai_pack_begin(&t, SIGNATURE);
    fai_text_bytes(&t, &net->key, sizeof net->key);
    fai_text_bytes(&t, number, sizeof number);
    fai_text_bytes(&t, net->width + 1, (size_t)(net->nlayer - 1) * sizeof(int));
    fai_pack_name(&t, net->made, sizeof net->made);
    fai_text_bytes(&t, net->mean, n3 * sizeof(float));
    fai_text_bytes(&t, net->tri, 3 * (size_t)net->ntri * sizeof(int));
    fai_text_bytes(&t, net->region, (size_t)net->nvert);
    bool good = true;
    for (int s = 0; good && s < net->nweight; s++) // one by one: most shapes move few vertices
        good = pack_columns(&t, net->shape + (size_t)s * n3, net->nvert, 1, err);
    good = good && pack_columns(&t, net->vd, net->nvert, net->nd, err) &&
           pack_columns(&t, net->vn, net->nvert, net->nn, err) && pack_columns(&t, net->u, net->nvert, net->nc, err);
    fai_text_bytes(&t, net->sd, (size_t)net->nd * sizeof(float));
    fai_text_bytes(&t, net->sn, (size_t)net->nn * sizeof(float));
    fai_text_bytes(&t, net->su, (size_t)net->nc * sizeof(float));
    fai_pack_halfs(&t, net->ridge, (size_t)net->nc * (size_t)net->nd);
    for (int i = 0; i < net->nlayer; i++) {
        fai_pack_halfs(&t, net->weight[i], layer_size(net, i));
        fai_text_bytes(&t, net->bias[i], (size_t)net->width[i + 1] * sizeof(float));
    }
    return fai_pack_write(&t, path, err);
}

// --- reading ------------------------------------------------------------------------------------------------------

static void take_columns(FaUnpack *u, float *x, int nvert, int count) {
    const size_t n3 = 3 * (size_t)nvert;
    unsigned char *mask = fai_unpack_array(u, ((size_t)nvert + 7) / 8, 1);
    float *scale = fai_unpack_floats(u, (size_t)count, 0, HUGE_SCALE);
    for (int k = 0; mask && scale && !u->bad && k < count; k++) {
        float *column = x + (size_t)k * n3;
        for (size_t v = 0; v < (size_t)nvert; v++) {
            if (!(mask[v / 8] >> v % 8 & 1)) continue;
            if (u->end - u->at < 3) {
                u->bad = true;
                break;
            }
            for (int c = 0; c < 3; c++) {
                const signed char step = (signed char)*u->at++;
                if (step < -MOST) u->bad = true;
                column[3 * v + (size_t)c] = (float)step * scale[k];
            }
        }
    }
    fa_free(mask);
    fa_free(scale);
}

static void take_bases(FaUnpack *u, FaNet *net, size_t size) {
    const size_t n3 = 3 * (size_t)net->nvert, all = (size_t)(net->nweight + net->nd + net->nn + net->nc);
    if (u->bad || u->memory ||
        all * n3 * sizeof(float) > 8 * size + (32u << 20)) { // columns of nothing cost a file nothing
        u->bad = true;
        return;
    }
    net->shape = FA_NEW((size_t)net->nweight * n3, float);
    net->vd = FA_NEW((size_t)net->nd * n3, float);
    net->vn = FA_NEW((size_t)net->nn * n3, float);
    net->u = FA_NEW((size_t)net->nc * n3, float);
    u->memory = !net->shape || !net->vd || !net->vn || !net->u;
    for (int s = 0; !u->memory && s < net->nweight; s++) take_columns(u, net->shape + (size_t)s * n3, net->nvert, 1);
    if (!u->memory) take_columns(u, net->vd, net->nvert, net->nd);
    if (!u->memory) take_columns(u, net->vn, net->nvert, net->nn);
    if (!u->memory) take_columns(u, net->u, net->nvert, net->nc);
    net->sd = fai_unpack_floats(u, (size_t)net->nd, FLT_MIN, HUGE_SCALE);
    net->sn = fai_unpack_floats(u, (size_t)net->nn, FLT_MIN, HUGE_SCALE);
    net->su = fai_unpack_floats(u, (size_t)net->nc, 0, HUGE_SCALE);
}

static void take_numbers(FaUnpack *u, FaNet *net) {
    net->key = fai_unpack_u64(u);
    net->nvert = fai_unpack_int(u, 1, VERTS);
    net->ntri = fai_unpack_int(u, 0, TRIS);
    net->nweight = fai_unpack_int(u, 0, FA_NET_WIDTH);
    net->nd = fai_unpack_int(u, 1, FA_NET_WIDTH);
    net->nn = fai_unpack_int(u, 0, FA_NET_WIDTH);
    net->nc = fai_unpack_int(u, 1, FA_NET_WIDTH);
    net->nlayer = fai_unpack_int(u, 1, FA_NET_LAYERS);
    net->width[0] = net->nd + net->nn;
    for (int i = 1; i < net->nlayer; i++) net->width[i] = fai_unpack_int(u, 1, FA_NET_WIDTH);
    net->width[net->nlayer] = net->nc;
    fai_unpack_name(u, net->made, sizeof net->made);
}

static void take_all(FaUnpack *u, FaNet *net, size_t size) {
    take_numbers(u, net);
    const size_t n3 = 3 * (size_t)net->nvert;
    net->mean = fai_unpack_floats(u, n3, -HUGE_SCALE, HUGE_SCALE);
    net->tri = fai_unpack_array(u, 3 * (size_t)net->ntri, sizeof(int));
    for (int i = 0; net->tri && i < 3 * net->ntri; i++)
        if (net->tri[i] < 0 || net->tri[i] >= net->nvert) u->bad = true;
    net->region = fai_unpack_array(u, (size_t)net->nvert, 1);
    for (int v = 0; net->region && v < net->nvert; v++)
        if (net->region[v] > FA_REGION_LOWER_LID) u->bad = true;
    take_bases(u, net, size);
    net->ridge = fai_unpack_halfs(u, (size_t)net->nc * (size_t)net->nd);
    for (int i = 0; i < net->nlayer; i++) {
        net->weight[i] = fai_unpack_halfs(u, layer_size(net, i));
        net->bias[i] = fai_unpack_floats(u, (size_t)net->width[i + 1], -HUGE_SCALE, HUGE_SCALE);
    }
}

FaCode fai_net_parse(const void *data, size_t size, const char *name, FaNet *net, FaError *err) {
    FaUnpack u;
    *net = (FaNet){0};
    if (fai_unpack_begin(&u, data, size, SIGNATURE)) take_all(&u, net, size);
    FaCode rc = fai_unpack_end(&u, "a network of fascia", "make it with fascia train, or copy it again", err);
    if (rc < 0) fai_net_free(net);
    return fai_fail_in(err, rc, name);
}

FaCode fai_net_load(const char *path, FaNet *net, FaError *err) {
    FaBytes bytes;
    *net = (FaNet){0};
    FA_TRY(fai_file_read(path, 0, &bytes, err));
    FaCode rc = fai_net_parse(bytes.data, bytes.size, path, net, err);
    fai_bytes_free(&bytes);
    return rc;
}

void fai_net_free(FaNet *net) {
    void *const array[] = {net->mean, net->tri, net->region, net->shape, net->vd,   net->vn,
                           net->u,    net->sd,  net->sn,     net->su,    net->ridge};
    for (int i = 0; i < FA_COUNT(array); i++) fa_free(array[i]);
    for (int i = 0; i < FA_NET_LAYERS; i++) {
        fa_free(net->weight[i]);
        fa_free(net->bias[i]);
    }
    *net = (FaNet){0};
}
