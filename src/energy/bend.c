#include "energy/bend.h"

#include <math.h>

FaCode fai_bend_rows(FaElastic *e, const FaCsr *l, const double *area, const unsigned char *without, double stiffness,
                     FaError *err) {
    size_t n = (size_t)l->nrow, entries = (size_t)l->start[l->nrow];
    e->bend_start = FA_PUSH(e->arena, n + 1, int);
    e->bend_node = FA_PUSH(e->arena, entries, int);
    e->bend_coef = FA_PUSH(e->arena, entries, double);
    e->bend_weight = FA_PUSH(e->arena, n, double);
    if (!e->bend_start || !e->bend_node || !e->bend_coef || !e->bend_weight) return FA_FAIL_MEMORY(err);
    int at = 0;
    for (int i = 0; i < l->nrow; i++) {
        if (!(area[i] > 0) || l->start[i + 1] - l->start[i] < 4 || without[i])
            continue; // no curvature without a ring around it
        e->bend_weight[e->nbend] = stiffness * area[i];
        e->bend_start[e->nbend++] = at;
        for (int own = 1; own >= 0; own--)
            for (int k = l->start[i]; k < l->start[i + 1]; k++)
                if ((l->col[k] == i) == (own == 1)) {
                    e->bend_node[at] = l->col[k];
                    e->bend_coef[at++] = l->val[k] / area[i];
                }
    }
    e->bend_start[e->nbend] = at;
    return FA_OK;
}

FaCode fai_bends_new(const FaElastic *e, FaBends **bends, FaError *err) {
    FaStretchInput in = {e->nnode, e->nbend, e->bend_start, e->bend_node, e->bend_coef, e->x0, e->bend_weight, NULL, 0};
    static const int none[1] = {0};
    if (!e->nbend) in.start = none;
    return fai_stretch_new(&in, bends, err);
}

static void row(const FaElastic *e, int bend, const double *x, double v[3]) {
    for (int k = 0; k < 3; k++) v[k] = 0;
    for (int i = e->bend_start[bend]; i < e->bend_start[bend + 1]; i++)
        for (int k = 0; k < 3; k++) v[k] += e->bend_coef[i] * x[3 * (size_t)e->bend_node[i] + (size_t)k];
}

double fai_bend_rest(const FaElastic *e, int bend) {
    double v0[3];
    row(e, bend, e->x0, v0);
    return sqrt(v0[0] * v0[0] + v0[1] * v0[1] + v0[2] * v0[2]);
}

double fai_bend_force_ref(const FaElastic *e, int bend, double rest, const double *u, double r[3]) {
    double v0[3], d[3], v[3];
    row(e, bend, e->x0, v0);
    row(e, bend, u, d);
    for (int k = 0; k < 3; k++) v[k] = v0[k] + d[k];
    return fai_stretch_energy_ref(v, v0, fabs(rest), e->bend_weight[bend], 0, 0, r);
}

double fai_bend_energy_ref(const FaElastic *e, int bend, double rest, const double *u, double *gradient) {
    double r[3], energy = fai_bend_force_ref(e, bend, rest, u, r);
    int first = e->bend_start[bend];
    for (int i = first; gradient && i < e->bend_start[bend + 1]; i++)
        for (int k = 0; k < 3; k++) gradient[3 * (i - first) + k] = e->bend_coef[i] * r[k];
    return energy;
}

size_t fai_bend_triplet_count(const FaElastic *e) {
    size_t count = 0;
    for (int b = 0; b < e->nbend; b++) {
        size_t size = (size_t)(e->bend_start[b + 1] - e->bend_start[b]);
        count += size * size;
    }
    return count;
}

void fai_bend_triplets(const FaElastic *e, FaTriplet *t) {
    for (int b = 0; b < e->nbend; b++)
        for (int i = e->bend_start[b]; i < e->bend_start[b + 1]; i++)
            for (int j = e->bend_start[b]; j < e->bend_start[b + 1]; j++)
                *t++ = (FaTriplet){e->bend_node[i], e->bend_node[j],
                                   e->bend_weight[b] * e->bend_coef[i] * e->bend_coef[j]};
}
