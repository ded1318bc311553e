#include "neural/net.h"

#include "neural/net_math.h"

// Eight sums of a fixed order, which a compiler may keep in one register.
static float dot(const float *a, const float *b, int n) {
    float s[8] = {0};
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) s[l] += a[i + l] * b[i + l];
    for (int l = 0; i < n; i++, l++) s[l] += a[i] * b[i];
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

static double long_dot(const float *a, const float *b, const float *minus, size_t n) {
    double s[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t l = 0; l < 4; l++) s[l] += (double)a[i + l] * ((double)b[i + l] - (minus ? minus[i + l] : 0));
    for (size_t l = 0; i < n; i++, l++) s[l] += (double)a[i] * ((double)b[i] - (minus ? minus[i] : 0));
    return (s[0] + s[2]) + (s[1] + s[3]);
}

void fai_net_difference(const FaNet *net, const float *difference, float *z) {
    const size_t n3 = 3 * (size_t)net->nvert;
    for (int k = 0; k < net->nd; k++)
        z[k] = fai_squash((float)long_dot(net->vd + (size_t)k * n3, difference, NULL, n3) / net->sd[k]);
}

void fai_net_neutral(const FaNet *net, const float *neutral, float *q) {
    const size_t n3 = 3 * (size_t)net->nvert;
    for (int k = 0; k < net->nn; k++)
        q[k] = fai_squash((float)long_dot(net->vn + (size_t)k * n3, neutral, net->mean, n3) / net->sn[k]);
}

static int widest(const FaNet *net) {
    int most = 0;
    for (int i = 0; i <= net->nlayer; i++) most = FA_MAX(most, net->width[i]);
    return most;
}

// Two layers in turn, g(0, q); in fai_net_apply z, q and out too.
size_t fai_net_work(const FaNet *net) {
    return 2 * (size_t)widest(net) + 2 * (size_t)net->nc + (size_t)net->nd + (size_t)net->nn;
}

// g of the inputs in x (width 0); x and y are both overwritten. Which of the two holds the result.
static float *residual(const FaNet *net, float *x, float *y) {
    for (int i = 0; i < net->nlayer; i++) {
        const int nin = net->width[i], nout = net->width[i + 1];
        for (int o = 0; o < nout; o++) y[o] = dot(net->weight[i] + (size_t)o * (size_t)nin, x, nin) + net->bias[i][o];
        for (int o = 0; i + 1 < net->nlayer && o < nout; o++) y[o] = fai_swish(y[o]);
        float *swap = x;
        x = y;
        y = swap;
    }
    return x;
}

void fai_net_components(const FaNet *net, const float *z, const float *q, float *out, float *work) {
    const size_t wide = (size_t)widest(net), nd = (size_t)net->nd, nn = (size_t)net->nn;
    float *x = work, *y = x + wide, *still = y + wide;
    memset(x, 0, nd * sizeof *x);
    memcpy(x + nd, q, nn * sizeof *x);
    memcpy(still, residual(net, x, y), (size_t)net->nc * sizeof *x);
    memcpy(x, z, nd * sizeof *x);
    memcpy(x + nd, q, nn * sizeof *x);
    const float *moved = residual(net, x, y);
    for (int c = 0; c < net->nc; c++)
        out[c] = net->su[c] * (dot(net->ridge + (size_t)c * nd, z, net->nd) + (moved[c] - still[c]));
}

void fai_net_apply(const FaNet *net, const float *difference, const float *neutral, float *correction, float *work) {
    const size_t n3 = 3 * (size_t)net->nvert;
    float *z = work + 2 * (size_t)widest(net) + net->nc, *q = z + net->nd, *out = q + net->nn;
    fai_net_difference(net, difference, z);
    fai_net_neutral(net, neutral, q);
    fai_net_components(net, z, q, out, work);
    memset(correction, 0, n3 * sizeof *correction);
    for (int c = 0; c < net->nc; c++)
        for (size_t i = 0; i < n3; i++) correction[i] += net->u[(size_t)c * n3 + i] * out[c];
}
