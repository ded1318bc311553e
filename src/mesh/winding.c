#include "mesh/winding.h"

#include "math/mat3.h"
#include "mesh/box_tree.h"

static const double FAR = 2;                        // radii of a node away: one dipole stands for its triangles
static const double ROUND = 12.5663706143591729539; // 4 pi

typedef struct Dipole {
    double at[3], area[3], reach2; // mean place by area; sum of area normals; (FAR x radius) squared
} Dipole;

struct FaWinding {
    int ntri;
    double (*corner)[3][3]; // of each triangle                                              (ntri)
    FaBoxTree tree;
    Dipole *dipole; //                                                                       (tree.nnode)
};

// Van Oosterom and Strackee 1983.
static double solid_angle(const double corner[3][3], const double p[3]) {
    double a[3], b[3], c[3], n[3];
    fai_v3_sub(corner[0], p, a);
    fai_v3_sub(corner[1], p, b);
    fai_v3_sub(corner[2], p, c);
    double la = fai_v3_norm(a), lb = fai_v3_norm(b), lc = fai_v3_norm(c);
    fai_v3_cross(b, c, n);
    double det = fai_v3_dot(a, n);
    double rest = la * lb * lc + fai_v3_dot(a, b) * lc + fai_v3_dot(b, c) * la + fai_v3_dot(c, a) * lb;
    return det == 0 ? 0 : 2 * atan2(det, rest);
}

double fai_winding_exact(const FaWinding *w, const double p[3]) {
    double sum = 0;
    for (int t = 0; t < w->ntri; t++) sum += solid_angle((const double(*)[3])w->corner[t], p);
    return sum / ROUND;
}

double fai_winding_at(const FaWinding *w, const double p[3]) {
    int stack[FA_BOX_TREE_STACK], n = 0;
    double sum = 0;
    if (w->tree.nnode) stack[n++] = 0;
    while (n) {
        int i = stack[--n];
        const FaBoxNode *node = &w->tree.node[i];
        const Dipole *d = &w->dipole[i];
        double to[3];
        fai_v3_sub(d->at, p, to);
        double r2 = fai_v3_dot(to, to);
        if (r2 > d->reach2) {
            sum += fai_v3_dot(to, d->area) / (r2 * sqrt(r2));
            continue;
        }
        for (int k = 0; k < node->count; k++)
            sum += solid_angle((const double(*)[3])w->corner[w->tree.prim[node->first + k]], p);
        if (node->count == 0) stack[n++] = node->first, stack[n++] = node->first + 1;
    }
    return sum / ROUND;
}

// --- building -------------------------------------------------------------------------------------------------------

static void add_triangle(const double corner[3][3], double at[3], double area[3], double *total) {
    double u[3], v[3], n[3];
    fai_v3_sub(corner[1], corner[0], u);
    fai_v3_sub(corner[2], corner[0], v);
    fai_v3_cross(u, v, n);
    double size = 0.5 * fai_v3_norm(n);
    fai_v3_mad(area, 0.5, n, area);
    for (int k = 0; k < 3; k++) fai_v3_mad(at, size / 3, corner[k], at);
    *total += size;
}

// Sums from the leaves up; then the farthest corner of each node's box.
static FaCode gather(FaWinding *w, FaError *err) {
    const FaBoxTree *tree = &w->tree;
    double *total = FA_NEW(tree->nnode, double);
    if (!total) return FA_FAIL_MEMORY(err);
    for (int i = tree->nnode - 1; i >= 0; i--) {
        const FaBoxNode *node = &tree->node[i];
        Dipole *d = &w->dipole[i];
        for (int k = 0; k < node->count; k++)
            add_triangle((const double(*)[3])w->corner[tree->prim[node->first + k]], d->at, d->area, &total[i]);
        for (int k = 0; k < 2 && node->count == 0; k++) {
            const Dipole *child = &w->dipole[node->first + k];
            fai_v3_add(d->at, child->at, d->at);
            fai_v3_add(d->area, child->area, d->area);
            total[i] += total[node->first + k];
        }
    }
    for (int i = 0; i < tree->nnode; i++) {
        Dipole *d = &w->dipole[i];
        double r2 = 0;
        for (int k = 0; k < 3; k++) {
            double lo = (double)tree->node[i].lo[k], hi = (double)tree->node[i].hi[k];
            d->at[k] = total[i] > 0 ? d->at[k] / total[i] : 0.5 * (lo + hi);
            double far = fmax(d->at[k] - lo, hi - d->at[k]);
            r2 += far * far;
        }
        d->reach2 = FAR * FAR * r2;
    }
    fa_free(total);
    return FA_OK;
}

static FaCode build(FaWinding *w, const float *x, const int *tri, FaError *err) {
    int bad = -1;
    FaBox *box = FA_NEW(w->ntri, FaBox);
    w->corner = (double(*)[3][3])fai_alloc_array((size_t)w->ntri, sizeof *w->corner);
    FaCode rc = FA_OK;
    if (!box || !w->corner) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    fai_triangle_boxes(w->ntri, tri, x, box, &bad);
    if (bad >= 0)
        FA_TRY_GOTO(done, rc, FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("vertex %d", bad), NULL, "a position is not finite"));
    for (int t = 0; t < w->ntri; t++)
        for (int k = 0; k < 3; k++) fai_v3_load(x, tri[3 * (size_t)t + (size_t)k], w->corner[t][k]);
    FA_TRY_GOTO(done, rc, fai_box_tree_build(w->ntri, box, &w->tree, err));
    w->dipole = FA_NEW(w->tree.nnode, Dipole);
    rc = w->dipole ? gather(w, err) : FA_FAIL_MEMORY(err);
done:
    fa_free(box);
    return rc;
}

FaCode fai_winding_new(const float *x, int ntri, const int *tri, FaWinding **winding, FaError *err) {
    FaWinding *w = *winding = FA_NEW(1, FaWinding);
    if (!w) return FA_FAIL_MEMORY(err);
    w->ntri = ntri;
    FaCode rc = build(w, x, tri, err);
    if (rc >= 0) return rc;
    fai_winding_free(w);
    *winding = NULL;
    return rc;
}

void fai_winding_free(FaWinding *w) {
    if (!w) return;
    fai_box_tree_free(&w->tree);
    fa_free(w->dipole);
    fa_free(w->corner);
    fa_free(w);
}
