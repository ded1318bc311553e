#include "toy_net.h"

#include "face/face.h"
#include "test.h"

enum { ND = 24, NN = 3, NC = 24, HIDDEN = 48 };
static const double WEAKER = 0.1, SIZE = 0.01; // of a pose; m of a component of 1

static double dot(const float *a, const float *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

// Orthonormal directions of the shapes, each time the one with most left.
static void directions(const FaNet *net, float *v, int count) {
    size_t n = 3 * (size_t)net->nvert;
    float *left = malloc((size_t)net->nweight * n * sizeof *left);
    memcpy(left, net->shape, (size_t)net->nweight * n * sizeof *left);
    for (int k = 0; k < count; k++) {
        int best = 0;
        for (int s = 1; s < net->nweight; s++)
            if (dot(left + n * (size_t)s, left + n * (size_t)s, n) >
                dot(left + n * (size_t)best, left + n * (size_t)best, n))
                best = s;
        float *to = v + n * (size_t)k, *from = left + n * (size_t)best;
        double length = sqrt(dot(from, from, n));
        for (size_t i = 0; i < n; i++) to[i] = (float)((double)from[i] / length);
        for (int s = 0; s < net->nweight; s++) {
            double along = dot(to, left + n * (size_t)s, n);
            for (size_t i = 0; i < n; i++) left[n * (size_t)s + i] -= (float)(along * (double)to[i]);
        }
    }
    free(left);
}

static void fill(float *x, size_t n, double size, uint64_t seed) {
    for (size_t i = 0; i < n; i++) x[i] = (float)(size * fai_random_normal(seed, i));
}

static void topology(FaNet *net) {
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaRig *rig;
    FaFace *f;
    FaError err = {0};
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    CHECK_OK(fa_face_build(rig, NULL, &f, &err), &err);
    size_t n = (size_t)f->nskin;
    net->nvert = f->nskin;
    net->ntri = f->ntri;
    net->nweight = FA_ARKIT_COUNT;
    net->mean = FA_NEW(3 * n, float);
    net->tri = FA_NEW(3 * (size_t)f->ntri, int);
    net->region = FA_NEW(n, unsigned char);
    net->shape = FA_NEW(3 * n * FA_ARKIT_COUNT, float);
    memcpy(net->mean, f->x0, 3 * n * sizeof *net->mean);
    memcpy(net->tri, f->tri, 3 * (size_t)f->ntri * sizeof *net->tri);
    for (size_t i = 0; i < n; i++)
        net->region[i] = f->region[FA_REGION_LIP_UPPER][i] > 0.5f   ? 1
                         : f->region[FA_REGION_LIP_LOWER][i] > 0.5f ? 2
                                                                    : 0;
    for (int s = 0; s < rig->nshape; s++)
        for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++) {
            int node = f->node_of_vertex[rig->row[e]];
            if (node < 0 || rig->shape[s].arkit < 0) continue;
            memcpy(net->shape + 3 * ((size_t)rig->shape[s].arkit * n + (size_t)node), rig->delta + 3 * (size_t)e,
                   3 * sizeof(float));
        }
    fa_face_free(f);
    fa_rig_free(rig);
    fa_head_free(head);
}

void toy_net(uint64_t seed, FaNet *net) {
    *net = (FaNet){
        .key = 1, .made = "a toy", .nd = ND, .nn = NN, .nc = NC, .nlayer = 3, .width = {ND + NN, HIDDEN, HIDDEN, NC}};
    topology(net);
    size_t n = 3 * (size_t)net->nvert;
    net->vd = FA_NEW(n * ND, float);
    net->vn = FA_NEW(n * NN, float);
    net->u = FA_NEW(n * NC, float);
    net->sd = FA_NEW(ND, float);
    net->sn = FA_NEW(NN, float);
    net->su = FA_NEW(NC, float);
    net->ridge = FA_NEW(NC * ND, float);
    directions(net, net->vd, ND);
    memcpy(net->u, net->vd, n * NC * sizeof *net->u);
    for (int k = 0; k < NN; k++) // breadth, height, depth
        for (size_t i = 0; i < n; i++)
            net->vn[n * (size_t)k + i] = i % 3 == (size_t)k ? 1 / sqrtf((float)net->nvert) : 0;
    for (int k = 0; k < ND; k++) {
        net->sd[k] = (float)(SIZE * sqrt(net->nvert));
        net->su[k] = (float)(0.1 * SIZE * sqrt(net->nvert));
        net->ridge[k * ND + k] = (float)(-WEAKER / 0.1);
    }
    for (int k = 0; k < NN; k++) net->sn[k] = (float)(0.01 * sqrt(net->nvert));
    for (int l = 0; l < net->nlayer; l++) {
        size_t in = (size_t)net->width[l], out = (size_t)net->width[l + 1];
        net->weight[l] = FA_NEW(in * out, float);
        net->bias[l] = FA_NEW(out, float);
        fill(net->weight[l], in * out, seed ? 1 / sqrt((double)in) : 0, seed + 100 * (uint64_t)l);
        fill(net->bias[l], out, seed ? 0.1 : 0, seed + 100 * (uint64_t)l + 50);
    }
}
