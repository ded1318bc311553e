#include "energy/edge.h"

#include <math.h>

FaCode fai_edges_new(const FaElastic *e, FaEdges **edges, FaError *err) {
    *edges = NULL;
    size_t n = (size_t)e->nedge;
    int *start = FA_NEW(n + 1, int), *node = FA_NEW(2 * n, int);
    double *coef = FA_NEW(2 * n, double);
    FaCode rc = FA_OK;
    if (start && node && coef) {
        for (int i = 0; i < e->nedge; i++) {
            start[i + 1] = 2 * (i + 1);
            node[2 * i] = e->edge[i][0];
            node[2 * i + 1] = e->edge[i][1];
            coef[2 * i] = 1;
            coef[2 * i + 1] = -1;
        }
        FaStretchInput in = {e->nnode, e->nedge,       start,           node,       coef,
                             e->x0,    e->edge_weight, e->edge_weight2, e->biphasic};
        rc = fai_stretch_new(&in, edges, err);
    } else {
        rc = FA_FAIL_MEMORY(err);
    }
    fai_resize(start, 0);
    fai_resize(node, 0);
    fai_resize(coef, 0);
    return rc;
}

static void rest_edge(const FaElastic *e, int edge, double v0[3]) {
    for (int k = 0; k < 3; k++)
        v0[k] = e->x0[3 * (size_t)e->edge[edge][0] + (size_t)k] - e->x0[3 * (size_t)e->edge[edge][1] + (size_t)k];
}

double fai_edge_rest(const FaElastic *e, int edge) {
    double v0[3];
    rest_edge(e, edge, v0);
    return sqrt(v0[0] * v0[0] + v0[1] * v0[1] + v0[2] * v0[2]);
}

double fai_edge_energy_ref(const FaElastic *e, int edge, double rest, const double u[2][3], double gradient[2][3]) {
    double v0[3], v[3], r[3];
    rest_edge(e, edge, v0);
    for (int k = 0; k < 3; k++) v[k] = v0[k] + (u[0][k] - u[1][k]);
    double w2 = e->edge_weight2 ? e->edge_weight2[edge] : 0;
    double energy = fai_stretch_energy_ref(v, v0, rest, e->edge_weight[edge], w2, e->biphasic, r);
    for (int k = 0; gradient && k < 3; k++) {
        gradient[0][k] = r[k];
        gradient[1][k] = -r[k];
    }
    return energy;
}

size_t fai_edge_triplet_count(const FaElastic *e) { return 4 * (size_t)e->nedge; }

void fai_edge_triplets(const FaElastic *e, FaTriplet *t) {
    for (int i = 0; i < e->nedge; i++) {
        double w = e->edge_weight[i] + (e->edge_weight2 ? e->edge_weight2[i] : 0);
        for (int a = 0; a < 2; a++)
            for (int b = 0; b < 2; b++) *t++ = (FaTriplet){e->edge[i][a], e->edge[i][b], a == b ? w : -w};
    }
}
