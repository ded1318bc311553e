#include "muscle/flesh_inside.h"

#include "math/mat3.h"
#include "mesh/box_tree.h"
#include "mesh/closest.h"

#include <math.h>
#include <stdlib.h>

struct FaFleshInside {
    const FaMuscleFlesh *flesh;
    FaBoxTree tree;
    FaClosest *surface;
};

// --- in a tet -----------------------------------------------------------------------------------------------------

static FaCode tet_tree(const FaMuscleFlesh *flesh, FaBoxTree *tree, FaError *err) {
    FaBox *box = FA_NEW(flesh->ntet, FaBox);
    if (!box) return FA_FAIL_MEMORY(err);
    for (int e = 0; e < flesh->ntet; e++)
        for (int a = 0; a < 3; a++) {
            double lo = INFINITY, hi = -INFINITY;
            for (int k = 0; k < 4; k++) {
                double x = flesh->x[3 * (size_t)flesh->tet[4 * (size_t)e + (size_t)k] + (size_t)a];
                lo = fmin(lo, x), hi = fmax(hi, x);
            }
            box[e].lo[a] = nextafterf((float)lo, -INFINITY), box[e].hi[a] = nextafterf((float)hi, INFINITY);
        }
    FaCode rc = fai_box_tree_build(flesh->ntet, box, tree, err);
    fa_free(box);
    return rc;
}

static bool in_tet(const FaMuscleFlesh *flesh, int e, const double x[3]) {
    double D[9], inverse[9], r[3], w[3];
    const int *v = flesh->tet + 4 * (size_t)e;
    const double *o = flesh->x + 3 * (size_t)v[0];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) D[3 * i + k] = flesh->x[3 * (size_t)v[k + 1] + (size_t)i] - o[i];
    if (!fai_m3_inverse(D, inverse)) return false;
    fai_v3_sub(x, o, r);
    fai_m3_mulv(inverse, r, w);
    const double eps = -1e-9;
    return w[0] >= eps && w[1] >= eps && w[2] >= eps && 1 - w[0] - w[1] - w[2] >= eps;
}

bool fai_flesh_has(const FaFleshInside *in, const double x[3]) {
    int stack[FA_BOX_TREE_STACK], top = 0;
    float p[3] = {(float)x[0], (float)x[1], (float)x[2]};
    if (in->tree.nnode > 0) stack[top++] = 0;
    while (top > 0) {
        const FaBoxNode *node = &in->tree.node[stack[--top]];
        if (!fai_boxes_meet(p, p, node->lo, node->hi)) continue;
        for (int k = 0; k < node->count; k++)
            if (in_tet(in->flesh, in->tree.prim[node->first + k], x)) return true;
        if (node->count == 0) stack[top++] = node->first, stack[top++] = node->first + 1;
    }
    return false;
}

// --- the surface --------------------------------------------------------------------------------------------------

typedef struct Side {
    int sorted[3], v[3];
} Side;

static int by_corners(const void *p, const void *q) {
    const Side *a = p, *b = q;
    for (int k = 0; k < 3; k++)
        if (a->sorted[k] != b->sorted[k]) return a->sorted[k] < b->sorted[k] ? -1 : 1;
    return 0;
}

static Side side_of(const int *tet, int k) {
    static const int corner[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    Side s;
    for (int i = 0; i < 3; i++) s.v[i] = s.sorted[i] = tet[corner[k][i]];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (s.sorted[j] > s.sorted[j + 1]) {
                int t = s.sorted[j];
                s.sorted[j] = s.sorted[j + 1], s.sorted[j + 1] = t;
            }
    return s;
}

// Sides of one tet only.
static FaCode find_surface(const FaMuscleFlesh *flesh, Side *side, int *tri, float *x, FaClosest **out, FaError *err) {
    size_t n = 4 * (size_t)flesh->ntet;
    int ntri = 0;
    for (size_t i = 0; i < n; i++) side[i] = side_of(flesh->tet + 4 * (i / 4), (int)(i % 4));
    qsort(side, n, sizeof *side, by_corners);
    for (size_t i = 0; i < n; i++) {
        bool twin = (i > 0 && by_corners(&side[i], &side[i - 1]) == 0) ||
                    (i + 1 < n && by_corners(&side[i], &side[i + 1]) == 0);
        if (!twin) memcpy(tri + 3 * (size_t)ntri++, side[i].v, sizeof side[i].v);
    }
    for (size_t i = 0; i < 3 * (size_t)flesh->nnode; i++) x[i] = (float)flesh->x[i];
    return fai_closest_new(&(FaMesh){.nvert = flesh->nnode, .x = x, .ntri = ntri, .tri = tri}, NULL, out, err);
}

double fai_flesh_near(const FaFleshInside *in, const double x[3], double reach, double on[3]) {
    const float p[3] = {(float)x[0], (float)x[1], (float)x[2]};
    FaHit hit = fai_closest_point(in->surface, p, (float)reach);
    for (int k = 0; k < 3; k++) on[k] = hit.tri < 0 ? x[k] : (double)hit.point[k];
    return hit.tri < 0 ? INFINITY : (double)hit.distance;
}

// --- entry --------------------------------------------------------------------------------------------------------

FaCode fai_flesh_inside_new(const FaMuscleFlesh *flesh, FaFleshInside **inside, FaError *err) {
    size_t n = 4 * (size_t)flesh->ntet;
    Side *side = FA_NEW(n + 1, Side);
    int *tri = FA_NEW(3 * n + 1, int);
    float *x = FA_NEW(3 * (size_t)flesh->nnode + 1, float);
    FaFleshInside *in = FA_NEW(1, FaFleshInside);
    FaCode rc = side && tri && x && in ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) in->flesh = flesh;
    if (rc >= 0) rc = tet_tree(flesh, &in->tree, err);
    if (rc >= 0) rc = find_surface(flesh, side, tri, x, &in->surface, err);
    fa_free(side);
    fa_free(tri);
    fa_free(x);
    *inside = rc >= 0 ? in : NULL;
    if (rc < 0) fai_flesh_inside_free(in);
    return rc;
}

void fai_flesh_inside_free(FaFleshInside *in) {
    if (!in) return;
    fai_box_tree_free(&in->tree);
    fai_closest_free(in->surface);
    fa_free(in);
}
