// Soundness of an elastic body, and its constant matrix (thesis 001 eq. 3.15).
#include "energy/elastic.h"

#include "energy/anchor.h"
#include "energy/bend.h"
#include "energy/edge.h"
#include "energy/membrane.h"
#include "math/mat3.h"

// --- checking -----------------------------------------------------------------------------------------------------

static FaCode check_numbers(const double *x, int n, bool positive, const char *what, FaError *err) {
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i]) || (positive ? x[i] <= 0 : x[i] < 0))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("%s %d", what, i), "build the face again: fascia build RIG -o FACE",
                           "%s is %g, must be %s", what, x[i], positive ? "positive" : "0 or more");
    return FA_OK;
}

static FaCode check_index(const FaElastic *e, int node, const char *what, int i, FaError *err) {
    if (node >= 0 && node < e->nnode) return FA_OK;
    return FA_FAIL(err, FA_E_MESH, FA_PLACE("%s %d", what, i), "build the face again: fascia build RIG -o FACE",
                   "node %d, but there are %d", node, e->nnode);
}

static FaCode check_edges(const FaElastic *e, FaError *err) {
    for (int i = 0; i < e->nedge; i++) {
        for (int k = 0; k < 2; k++) FA_TRY(check_index(e, e->edge[i][k], "edge", i, err));
        if (!(fai_edge_rest(e, i) > 0))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("edge %d", i), "merge the two nodes", "no length at rest");
    }
    FA_TRY(check_numbers(e->edge_weight, e->nedge, false, "edge weight", err));
    if (e->edge_weight2) FA_TRY(check_numbers(e->edge_weight2, e->nedge, false, "second edge weight", err));
    if (e->nedge) FA_TRY(check_numbers(&e->biphasic, 1, false, "biphasic elongation", err));
    return FA_OK;
}

static FaCode check_bends(const FaElastic *e, FaError *err) {
    if (e->nbend && e->bend_start[0] != 0)
        return FA_FAIL(err, FA_E_MESH, "bend row 0", "build the face again: fascia build RIG -o FACE",
                       "does not start at 0");
    for (int b = 0; b < e->nbend; b++) {
        if (e->bend_start[b + 1] <= e->bend_start[b])
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("bend row %d", b), "build the face again: fascia build RIG -o FACE",
                           "it has no entries");
        double sum = 0, size = 0;
        for (int i = e->bend_start[b]; i < e->bend_start[b + 1]; i++) {
            FA_TRY(check_index(e, e->bend_node[i], "bend row", b, err));
            sum += e->bend_coef[i];
            size += fabs(e->bend_coef[i]);
        }
        if (!(fabs(sum) <= 1e-6 * size))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("bend row %d", b), "build the face again: fascia build RIG -o FACE",
                           "coefficients add up to %g, must to 0", sum);
    }
    return check_numbers(e->bend_weight, e->nbend, false, "bend weight", err);
}

// Columns are the edges from corner 0.
static bool tet_inverse(const FaElastic *e, int t, double inv[9], double *det) {
    double m[9];
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 3; k++)
            m[3 * k + c] =
                e->x0[3 * (size_t)e->tet[t][c + 1] + (size_t)k] - e->x0[3 * (size_t)e->tet[t][0] + (size_t)k];
    *det = fai_m3_det(m);
    return *det > 0 && fai_m3_inverse(m, inv);
}

static FaCode check_tets(const FaElastic *e, FaError *err) {
    for (int t = 0; t < e->ntet; t++) {
        for (int k = 0; k < 4; k++) FA_TRY(check_index(e, e->tet[t][k], "tet", t, err));
        double inv[9], det;
        if (!tet_inverse(e, t, inv, &det))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", t), "make the layer thinner there",
                           "its volume is %g m3, must be positive", det / 6);
    }
    FA_TRY(check_numbers(e->tet_strain, e->ntet, false, "strain weight", err));
    return check_numbers(e->tet_volume, e->ntet, false, "volume weight", err);
}

static FaCode check_membranes(const FaElastic *e, FaError *err) {
    for (int i = 0; i < e->nmembrane; i++) {
        for (int k = 0; k < 3; k++) FA_TRY(check_index(e, e->membrane[i][k], "membrane", i, err));
        if (!fai_membrane_sound(e->x0, e->membrane[i]))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("membrane %d", i), "merge its corners", "a triangle has no area");
    }
    return check_numbers(e->membrane_weight, e->nmembrane, false, "membrane weight", err);
}

FaCode fai_elastic_check(const FaElastic *e, FaError *err) {
    if (e->nnode < 1 || e->nanchor < 0 || e->nedge < 0 || e->nbend < 0 || e->ntet < 0 || e->nmembrane < 0)
        return FA_FAIL(err, FA_E_MESH, NULL, "build the face again: fascia build RIG -o FACE",
                       "%d nodes, %d anchors, %d edges, %d bends, %d tets", e->nnode, e->nanchor, e->nedge, e->nbend,
                       e->ntet);
    for (int i = 0; i < 3 * e->nnode; i++)
        if (!isfinite(e->x0[i]))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("node %d", i / 3), "repair the mesh", "not a number");
    FA_TRY(check_numbers(e->mass, e->nnode, true, "mass", err));
    for (int i = 0; i < e->nanchor; i++) FA_TRY(check_index(e, e->anchor_node[i], "anchor", i, err));
    FA_TRY(check_numbers(e->anchor_weight, e->nanchor, false, "anchor weight", err));
    FA_TRY(check_edges(e, err));
    FA_TRY(check_bends(e, err));
    FA_TRY(check_membranes(e, err));
    return check_tets(e, err);
}

// --- the matrix ---------------------------------------------------------------------------------------------------

// w (strain + volume) times the products of the corners' gradients: rows of Dm^-1, and minus their sum for corner 0.
static FaCode tet_triplets(const FaElastic *e, FaTriplet *out, FaError *err) {
    for (int t = 0; t < e->ntet; t++) {
        double g[4][3] = {{0}}, inv[9], det, w = e->tet_strain[t] + e->tet_volume[t];
        if (!tet_inverse(e, t, inv, &det))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", t), "build the face again: fascia build RIG -o FACE",
                           "no volume");
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++) {
                g[c + 1][k] = inv[3 * c + k];
                g[0][k] -= inv[3 * c + k];
            }
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) *out++ = (FaTriplet){e->tet[t][a], e->tet[t][b], w * fai_v3_dot(g[a], g[b])};
    }
    return FA_OK;
}

FaCode fai_elastic_matrix(const FaElastic *e, double inertia, FaCsr *a, FaError *err) {
    *a = (FaCsr){0};
    size_t anchors = (size_t)e->nanchor, edges = fai_edge_triplet_count(e), bends = fai_bend_triplet_count(e);
    size_t membranes = 9 * (size_t)e->nmembrane;
    size_t n = (size_t)e->nnode + anchors + edges + bends + membranes + 16 * (size_t)e->ntet;
    if (n > INT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser simulation mesh", "%zu matrix entries are too many", n);
    FaTriplet *t = FA_NEW(n, FaTriplet), *at = t;
    if (!t) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < e->nnode; i++) *at++ = (FaTriplet){i, i, inertia * e->mass[i]};
    fai_anchor_triplets(e, at);
    fai_edge_triplets(e, at + anchors);
    fai_bend_triplets(e, at + anchors + edges);
    fai_membrane_triplets(e, at + anchors + edges + bends);
    FaCode rc = tet_triplets(e, at + anchors + edges + bends + membranes, err);
    if (rc >= 0) rc = fai_csr_from_triplets(e->nnode, e->nnode, (int)n, t, a, err);
    fai_resize(t, 0);
    return rc;
}
