// How the rig's surface follows the nodes. A vertex is a skin node, or rides on three of them (FaFace); a skin node is
// a node, or, if it was lost, rides on a tet near it: by barycentric weights where it lies, also a little outside. Only
// displacements are carried, so that the offset stays and what does not move keeps its bits.
//
// Skin finer than the lattice below it would show what the lattice does not resolve: lumps where a sheet is pressed
// together. There a vertex follows the mean of the nodes around it, as wide as the lattice is coarse. Lips, lids, and
// the lining are what touches, and follow their nodes alone.
#include "base/task.h"
#include "build/filled_work.h"
#include "math/mat3.h"

static const double WEIGHT = 1.5; // of a corner, at most: beyond, the nearest point of the tet is taken

static const double WIDE = 0.8; // of the lattice's spacing: deviation of that mean
static const double OWN = 0.7;  // of the skin's own edges, which already are a mean
static const double REACH = 2;  // deviations that are looked at
enum { MOST = 64 };             // nodes of a mean

typedef struct Lost {
    int node[4], n;
    float weight[4];
} Lost;

// Barycentric weights of p; false for a tet without volume.
static bool weights_of(const FaFilled *f, const int *v, const double p[3], double w[4]) {
    double e[9], x0[3], to[3];
    fai_v3_load(f->x, v[0], x0);
    for (int k = 0; k < 3; k++) {
        double x[3];
        fai_v3_load(f->x, v[k + 1], x);
        for (int j = 0; j < 3; j++) e[3 * j + k] = x[j] - x0[j];
    }
    fai_v3_sub(p, x0, to);
    double det = fai_m3_det(e);
    if (!(det > 0)) return false;
    w[0] = 1;
    for (int k = 0; k < 3; k++) {
        double m[9];
        memcpy(m, e, sizeof m);
        for (int j = 0; j < 3; j++) m[3 * j + k] = to[j];
        w[k + 1] = fai_m3_det(m) / det;
        w[0] -= w[k + 1];
    }
    return true;
}

// Cut to 0 .. WEIGHT and to a sum of 1.
static void limit(double w[4]) {
    double least = fmin(fmin(w[0], w[1]), fmin(w[2], w[3])), most = fmax(fmax(w[0], w[1]), fmax(w[2], w[3])), sum = 0;
    if (least > 1 - WEIGHT && most < WEIGHT) return;
    for (int k = 0; k < 4; k++) sum += w[k] = fmax(w[k], 0);
    for (int k = 0; k < 4; k++) w[k] /= sum;
}

// The tet nearest to a lost skin node, of those whose corners are not of the other lip or lid. Nearness is that of its
// middle, less where the node is inside.
static void find_lost(const FaFilledDomain *d, const FaFilled *f, int skin, const signed char *lid, Lost *out) {
    double p[3], best = INFINITY;
    fai_v3_load(d->face->x0, skin, p);
    for (int t = 0; t < f->ntet; t++) {
        const int *v = f->tet + 4 * (size_t)t;
        double mid[3] = {0}, x[3], w[4];
        bool other = false;
        for (int k = 0; k < 4; k++) {
            fai_v3_load(f->x, v[k], x);
            fai_v3_mad(mid, 0.25, x, mid);
            other |= f->lip[v[k]] * d->lip[skin] < 0 || lid[v[k]] * d->lid[skin] < 0;
        }
        fai_v3_sub(mid, p, mid);
        double far = fai_v3_norm(mid);
        if (other || far > 3 * best || !weights_of(f, v, p, w)) continue;
        double out_by = fmax(fmax(-w[0], -w[1]), fmax(-w[2], -w[3]));
        far *= 1 + 4 * fmax(out_by, 0);
        if (far >= best) continue;
        best = far;
        limit(w);
        out->n = 4;
        for (int k = 0; k < 4; k++) out->node[k] = v[k], out->weight[k] = (float)w[k];
    }
}

typedef struct Search {
    const FaFilledDomain *d;
    const FaFilled *f;
    const signed char *lid; // of nodes
    Lost *lost;             // of skin nodes
} Search;

static void search(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Search *s = ctx;
    for (int i = begin; i < end; i++) {
        if (s->f->node_of_skin[i] < 0 && s->d->held[i]) continue; // at the edge: it stays where it is
        if (s->f->node_of_skin[i] < 0)
            find_lost(s->d, s->f, i, s->lid, &s->lost[i]);
        else
            s->lost[i] = (Lost){.node = {s->f->node_of_skin[i]}, .n = 1, .weight = {1}};
    }
}

// --- means --------------------------------------------------------------------------------------------------------

typedef struct Means {
    int *start;    // (nskin + 1)
    int *skin;     // nodes of the skin
    float *weight; // sum to 1
} Means;

static double distance(const FaFace *f, int a, int b) {
    double p[3], q[3];
    fai_v3_load(f->x0, a, p);
    fai_v3_load(f->x0, b, q);
    fai_v3_sub(p, q, p);
    return fai_v3_norm(p);
}

// How wide the mean of a skin node is, m; 0: it follows its node.
static double width_of(const FaFilledDomain *d, int i, double spacing) {
    static const int touching[] = {FA_REGION_LIP_UPPER, FA_REGION_LIP_LOWER, FA_REGION_EYELIDS};
    const FaFace *f = d->face;
    double edge = 0, left = 1;
    int n = d->topo->around_start[i + 1] - d->topo->around_start[i];
    for (int k = d->topo->around_start[i]; k < d->topo->around_start[i + 1]; k++)
        edge += distance(f, i, d->topo->around[k]) / n;
    for (int r = 0; r < FA_COUNT(touching); r++) left = fmin(left, 1 - (double)f->region[touching[r]][i]);
    if (n < 3 || !d->exposed[i] || d->held[i] || d->lip[i] || d->lid[i] || f->rim[i]) return 0;
    double wide = WIDE * spacing * left;
    return wide > OWN * edge ? sqrt(wide * wide - OWN * OWN * edge * edge) : 0;
}

// The nodes around one, walking along the skin, and their weights; how many.
static int mean_of(const FaFilledDomain *d, int i, double wide, int *skin, float *weight) {
    double sum = 1;
    int n = 1;
    skin[0] = i, weight[0] = 1;
    for (int at = 0; at < n && wide > 0; at++)
        for (int k = d->topo->around_start[skin[at]]; k < d->topo->around_start[skin[at] + 1] && n < MOST; k++) {
            int to = d->topo->around[k], seen = 0;
            double far = distance(d->face, i, to);
            for (int j = 0; j < n; j++) seen |= skin[j] == to;
            if (seen || far > REACH * wide || !d->exposed[to] || d->lip[to] || d->lid[to]) continue;
            skin[n] = to;
            sum += (double)(weight[n++] = (float)exp(-far * far / (2 * wide * wide)));
        }
    for (int k = 0; k < n; k++) weight[k] = (float)((double)weight[k] / sum);
    return n;
}

static FaCode find_means(const FaFilledDomain *d, int nskin, double spacing, Means *m, FaError *err) {
    int skin[MOST], n = 0;
    float weight[MOST];
    m->start = FA_NEW(nskin + 1, int);
    if (!m->start) return FA_FAIL_MEMORY(err);
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (int i = 0; i < nskin; i++) {
            int count = mean_of(d, i, width_of(d, i, spacing), skin, weight);
            m->start[i] = n;
            for (int k = 0; k < count && pass == 1; k++) m->skin[n + k] = skin[k], m->weight[n + k] = weight[k];
            n += count;
        }
        m->start[nskin] = n;
        if (pass == 1) break;
        m->skin = FA_NEW(n + 1, int);
        m->weight = FA_NEW(n + 1, float);
        if (!m->skin || !m->weight) return FA_FAIL_MEMORY(err);
    }
    return FA_OK;
}

// Skin nodes that a rig vertex rides on, and weights; how many.
static int skin_of(const FaFace *f, int v, int node[3], float weight[3]) {
    node[0] = f->node_of_vertex[v];
    weight[0] = 1;
    if (node[0] >= 0) return 1;
    for (int k = 0; k < 3; k++) {
        node[k] = f->ride_node[3 * (size_t)v + (size_t)k];
        weight[k] = f->ride_weight[3 * (size_t)v + (size_t)k];
    }
    return node[0] >= 0 ? 3 : 0;
}

static void fill(const FaFace *face, const Means *means, const Lost *lost, FaFilled *f, bool count) {
    int n = 0;
    for (int v = 0; v < f->nvert; v++) {
        int node[3];
        float weight[3];
        f->ride_start[v] = n;
        for (int k = 0, m = skin_of(face, v, node, weight); k < m; k++)
            for (int e = means->start[node[k]]; e < means->start[node[k] + 1]; e++) {
                const Lost *l = &lost[means->skin[e]];
                for (int j = 0; j < l->n; j++, n++)
                    if (!count)
                        f->ride_node[n] = l->node[j], f->ride_weight[n] = weight[k] * means->weight[e] * l->weight[j];
            }
    }
    f->ride_start[f->nvert] = n;
}

FaCode fai_filled_ride_find(const FaFilledDomain *d, FaFilled *f, FaError *err) {
    Lost *lost = FA_NEW(f->nskin, Lost);
    signed char *lid = FA_NEW(f->nnode, signed char);
    Means means = {0};
    FaCode rc = FA_OK;
    f->ride_start = FA_PUSH(f->arena, f->nvert + 1, int);
    if (!lost || !lid || !f->ride_start) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    for (int i = 0; i < f->nnode; i++) lid[i] = f->skin_of_node[i] >= 0 ? d->lid[f->skin_of_node[i]] : 0;
    fai_parallel(f->nskin, 16, search, &(Search){d, f, lid, lost});
    FA_TRY_GOTO(done, rc, find_means(d, f->nskin, 1.5 * f->report.spacing, &means, err));
    fill(d->face, &means, lost, f, true);
    f->ride_node = FA_PUSH(f->arena, f->ride_start[f->nvert], int);
    f->ride_weight = FA_PUSH(f->arena, f->ride_start[f->nvert], float);
    if (!f->ride_node || !f->ride_weight) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    fill(d->face, &means, lost, f, false);
done:
    fa_free(means.start);
    fa_free(means.skin);
    fa_free(means.weight);
    fa_free(lost);
    fa_free(lid);
    return rc;
}

typedef struct Ride {
    const FaFilled *f;
    const float *node;
    float *x;
} Ride;

static void ride(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Ride *r = ctx;
    const FaFilled *f = r->f;
    for (int v = begin; v < end; v++)
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            for (int e = f->ride_start[v]; e < f->ride_start[v + 1]; e++) {
                size_t at = 3 * (size_t)f->ride_node[e] + (size_t)k;
                sum += (double)f->ride_weight[e] * ((double)r->node[at] - (double)f->x[at]);
            }
            float *x = &r->x[3 * (size_t)v + (size_t)k];
            if (sum != 0) *x = (float)((double)*x + sum);
        }
}

void fai_filled_ride(const FaFilled *f, const float *node, float *x) {
    fai_parallel(f->nvert, 1024, ride, &(Ride){f, node, x});
}
