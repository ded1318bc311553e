#include "contact/pairs.h"

#include "base/task.h"

#include <float.h>
#include <math.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

void fai_pair_points(const FaPairs *p, FaPairKind kind, int a, int b, int point[4]) {
    if (kind == FA_PAIR_VERTEX_TRIANGLE) {
        point[0] = a;
        memcpy(point + 1, p->tri[b], sizeof *p->tri);
    } else {
        memcpy(point, p->edge[a], sizeof *p->edge);
        memcpy(point + 2, p->edge[b], sizeof *p->edge);
    }
}

void fai_pair_weights(FaPairKind kind, const double bary[4], double weight[4]) {
    if (kind == FA_PAIR_VERTEX_TRIANGLE) {
        weight[0] = 1;
        for (int i = 0; i < 3; i++) weight[1 + i] = -bary[i];
    } else {
        for (int i = 0; i < 4; i++) weight[i] = i < 2 ? bary[i] : -bary[i];
    }
}

#define WIDER 0.05 // edge lengths: what a point may stray in a frame before the list of pairs no longer holds

// --- boxes --------------------------------------------------------------------------------------------------------

// Rounded outwards.
static void point_box(const double a[3], const double b[3], double pad, FaBox *box) {
    for (int k = 0; k < 3; k++) {
        float lo = (float)((a[k] < b[k] ? a[k] : b[k]) - pad), hi = (float)((a[k] < b[k] ? b[k] : a[k]) + pad);
        box->lo[k] = lo - fabsf(lo) * 2.4e-7f - FLT_MIN;
        box->hi[k] = hi + fabsf(hi) * 2.4e-7f + FLT_MIN;
    }
}

static inline void join(const FaBox *a, const FaBox *b, FaBox *out) {
    for (int k = 0; k < 3; k++) {
        out->lo[k] = a->lo[k] < b->lo[k] ? a->lo[k] : b->lo[k];
        out->hi[k] = a->hi[k] > b->hi[k] ? a->hi[k] : b->hi[k];
    }
}

// Children come after their parent: from the last to the first.
static void refit_tree(FaBoxTree *tree, const FaBox *box) {
    for (int n = tree->nnode - 1; n >= 0; n--) {
        FaBoxNode *node = &tree->node[n];
        FaBox all;
        if (node->count > 0) {
            all = box[tree->prim[node->first]];
            for (int i = 1; i < node->count; i++) join(&all, &box[tree->prim[node->first + i]], &all);
        } else {
            const FaBoxNode *l = &tree->node[node->first], *r = l + 1;
            for (int k = 0; k < 3; k++) {
                all.lo[k] = l->lo[k] < r->lo[k] ? l->lo[k] : r->lo[k];
                all.hi[k] = l->hi[k] > r->hi[k] ? l->hi[k] : r->hi[k];
            }
        }
        memcpy(node->lo, all.lo, sizeof node->lo);
        memcpy(node->hi, all.hi, sizeof node->hi);
    }
}

static inline bool is_within(const FaBox *a, const FaBox *b) {
    return (a->lo[0] >= b->lo[0]) & (a->lo[1] >= b->lo[1]) & (a->lo[2] >= b->lo[2]) & (a->hi[0] <= b->hi[0]) &
           (a->hi[1] <= b->hi[1]) & (a->hi[2] <= b->hi[2]);
}

void fai_pairs_refit(FaPairs *p, double pad) {
    bool inside = p->listed;
    for (int i = 0; i < p->npoint; i++) {
        point_box(p->from[i], p->to[i], pad, &p->point_box[i]);
        inside = inside && is_within(&p->point_box[i], &p->wide_box[i]);
    }
    p->use_list = p->listed = inside;
    float wider = (float)(WIDER * p->edge_length);
    for (int i = 0; i < p->npoint && !inside; i++)
        for (int k = 0; k < 3; k++) {
            p->wide_box[i].lo[k] = p->point_box[i].lo[k] - wider;
            p->wide_box[i].hi[k] = p->point_box[i].hi[k] + wider;
        }
    for (int e = 0; e < p->nedge; e++)
        join(&p->point_box[p->edge[e][0]], &p->point_box[p->edge[e][1]], &p->edge_box[e]);
    for (int t = 0; t < p->ntri; t++) {
        join(&p->point_box[p->tri[t][0]], &p->point_box[p->tri[t][1]], &p->tri_box[t]);
        join(&p->tri_box[t], &p->point_box[p->tri[t][2]], &p->tri_box[t]);
    }
    if (inside) return;
    refit_tree(&p->tree[0], p->tri_box);
    refit_tree(&p->tree[1], p->tri_box);
    p->size = 0;
    for (int t = 0; t < 2; t++)
        for (int k = 0; k < 3 && p->tree[t].nnode > 0; k++) {
            const FaBoxNode *root = &p->tree[t].node[0];
            p->size = fmax(p->size, fmax(fabs((double)root->lo[k]), fabs((double)root->hi[k])));
        }
    p->size += (double)wider;
}

// --- two primitives -----------------------------------------------------------------------------------------------

typedef struct Search {
    FaPairs *p;
    const FaPairSearch *how;
    float slack; // m: for the list, boxes that are this far apart meet
} Search;

// All six comparisons at once: half of these boxes meet, so branches would be guessed wrong. Reads a fourth float
// behind each bound, which boxes and nodes have (one box more than needed is allocated).
// slack: how far apart they may be.
static inline bool bounds_meet(const float *alo, const float *ahi, const float *blo, const float *bhi, float slack) {
#ifdef __SSE2__
    __m128 more = _mm_set1_ps(slack);
    __m128 below = _mm_cmple_ps(_mm_loadu_ps(alo), _mm_add_ps(_mm_loadu_ps(bhi), more));
    __m128 above = _mm_cmple_ps(_mm_loadu_ps(blo), _mm_add_ps(_mm_loadu_ps(ahi), more));
    return (_mm_movemask_ps(_mm_and_ps(below, above)) & 7) == 7;
#else
    for (int k = 0; k < 3; k++)
        if (!(alo[k] <= bhi[k] + slack && blo[k] <= ahi[k] + slack)) return false;
    return true;
#endif
}

static inline bool boxes_meet(const FaBox *a, const FaBox *b, float slack) {
    return bounds_meet(a->lo, a->hi, b->lo, b->hi, slack);
}

// Do the points' boxes at the end, those of each side, come within reach?
static bool ends_near(FaPairKind kind, double p[4][3], double reach) {
    int split = kind == FA_PAIR_VERTEX_TRIANGLE ? 1 : 2;
    for (int k = 0; k < 3; k++) {
        double alo = p[0][k], ahi = alo, blo = p[3][k], bhi = blo;
        for (int i = 1; i < split; i++) {
            alo = p[i][k] < alo ? p[i][k] : alo;
            ahi = p[i][k] > ahi ? p[i][k] : ahi;
        }
        for (int i = split; i < 3; i++) {
            blo = p[i][k] < blo ? p[i][k] : blo;
            bhi = p[i][k] > bhi ? p[i][k] : bhi;
        }
        if (alo > bhi + reach || blo > ahi + reach) return false;
    }
    return true;
}

// Are they neighbours on the surface: does an edge join them? Such pairs are always near.
static bool are_linked(const FaPairs *p, FaPairKind kind, const int point[4]) {
    int split = kind == FA_PAIR_VERTEX_TRIANGLE ? 1 : 2;
    for (int i = 0; i < split; i++) {
        if (point[i] >= p->nsurface) continue;
        for (int n = p->around_start[point[i]]; n < p->around_start[point[i] + 1]; n++)
            for (int j = split; j < 4; j++)
                if (p->around[n] == point[j]) return true;
    }
    return false;
}

// n . s
static double side_of(FaPairKind kind, double p[4][3], const double bary[4], const double normal[3]) {
    double weight[4], sum = 0;
    fai_pair_weights(kind, bary, weight);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) sum += weight[i] * p[i][k] * normal[k];
    return sum;
}

// Does the direction leave the triangle at its front?
static bool is_in_front(double p[4][3], const double n[3]) {
    double u[3], v[3];
    for (int k = 0; k < 3; k++) {
        u[k] = p[2][k] - p[1][k];
        v[k] = p[3][k] - p[1][k];
    }
    return n[0] * (u[1] * v[2] - u[2] * v[1]) + n[1] * (u[2] * v[0] - u[0] * v[2]) +
               n[2] * (u[0] * v[1] - u[1] * v[0]) >
           0;
}

// A hit into the chunk's list; a full list loses the least urgent.
static void keep_hit(FaPairs *p, int chunk, const FaPairHit *hit) {
    FaPairHit *list = p->hit + (size_t)chunk * FA_PAIRS_HITS;
    if (p->nhit[chunk] < FA_PAIRS_HITS) {
        list[p->nhit[chunk]++] = *hit;
        return;
    }
    p->nover[chunk]++;
    int worst = 0;
    for (int i = 1; i < FA_PAIRS_HITS; i++)
        if (list[i].depth > list[worst].depth) worst = i;
    if (hit->depth < list[worst].depth) list[worst] = *hit;
}

// The pair's continuous test, and its hit.
static void test_near(const Search *s, int chunk, FaPairKind kind, int a, int b, const int point[4], double p0[4][3],
                      double p1[4][3]) {
    FaPairs *p = s->p;
    FaPairHit hit = {.kind = kind, .a = a, .b = b, .point = {point[0], point[1], point[2], point[3]}};
    double bary[4];
    FaImpact impact;
    if (fai_ccd_pair(kind, (const double(*)[3])p0, (const double(*)[3])p1, s->how->gap, s->how->keep, &impact)) {
        hit.t = impact.t;
        memcpy(hit.normal, impact.normal, sizeof hit.normal);
        memcpy(bary, impact.bary, sizeof bary);
    } else if (s->how->reach[kind] > 0 && ends_near(kind, p1, s->how->reach[kind]) && !are_linked(p, kind, point)) {
        // near rows are for faces that lie on each other: a vertex above a triangle, edges that cross. What is behind a
        // triangle, or was, without having met it, has likely crossed another one, whose row brings it back
        bool inside;
        double reach = s->how->reach[kind];
        double d = fai_pair_distance(kind, (const double(*)[3])p1, bary, hit.normal, &inside);
        if (!inside || d > reach || !(side_of(kind, p0, bary, hit.normal) > 0)) return;
        if (kind == FA_PAIR_VERTEX_TRIANGLE && !is_in_front(p1, hit.normal)) return;
        hit.t = 1;
        hit.near = true;
    } else {
        return;
    }
    if (fai_keys_find(&p->left_out, fai_hit_key(&hit)) >= 0) return;
    fai_pair_weights(kind, bary, hit.weight);
    hit.depth = side_of(kind, p1, bary, hit.normal);
    keep_hit(p, chunk, &hit);
}

static void test_points(const Search *s, int chunk, FaPairKind kind, int a, int b, const int point[4]) {
    FaPairs *p = s->p;
    double p0[4][3], p1[4][3];
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            p0[i][k] = p->from[point[i]][k];
            p1[i][k] = p->to[point[i]][k];
        }
    p->ntest[chunk]++;
    double reach = s->how->reach[kind], gap = reach > s->how->gap ? reach : s->how->gap;
    if (!fai_ccd_apart(kind, (const double(*)[3])p0, (const double(*)[3])p1, gap, p->size))
        test_near(s, chunk, kind, a, b, point, p0, p1);
}

static bool primitives_meet(const FaPairs *p, FaPairKind kind, int a, int b) {
    return kind == FA_PAIR_VERTEX_TRIANGLE ? boxes_meet(&p->point_box[a], &p->tri_box[b], 0)
                                           : boxes_meet(&p->edge_box[a], &p->edge_box[b], 0);
}

// A pair from the tree: onto the list, and tested.
static void test_pair(const Search *s, int chunk, FaPairKind kind, int a, int b) {
    FaPairs *p = s->p;
    int point[4], split = kind == FA_PAIR_VERTEX_TRIANGLE ? 1 : 2;
    fai_pair_points(p, kind, a, b, point);
    for (int i = 0; i < split; i++)
        for (int j = split; j < 4; j++)
            if (p->weld[point[i]] == p->weld[point[j]]) return;
    if (p->nlist[chunk] < FA_PAIRS_LISTED)
        p->list[(size_t)chunk * FA_PAIRS_LISTED + (size_t)p->nlist[chunk]] = (FaPairId){(int)kind, a, b};
    p->nlist[chunk]++;
    if (primitives_meet(p, kind, a, b)) test_points(s, chunk, kind, a, b, point);
}

// All pairs of a chunk's list, or those with a point that moved.
static void test_list(const Search *s, int chunk) {
    FaPairs *p = s->p;
    for (int i = 0; i < p->nlist[chunk]; i++) {
        FaPairId id = p->list[(size_t)chunk * FA_PAIRS_LISTED + (size_t)i];
        int point[4];
        if (!primitives_meet(p, (FaPairKind)id.kind, id.a, id.b)) continue;
        fai_pair_points(p, (FaPairKind)id.kind, id.a, id.b, point);
        if (p->all_dirty || p->moved[point[0]] | p->moved[point[1]] | p->moved[point[2]] | p->moved[point[3]])
            test_points(s, chunk, (FaPairKind)id.kind, id.a, id.b, point);
    }
}

// --- triangles and trees ------------------------------------------------------------------------------------------

// Everything that belongs to triangles i and j, across.
static void test_triangles(const Search *s, int chunk, int i, int j) {
    FaPairs *p = s->p;
    const FaOwned *mine = &p->owned[i], *its = &p->owned[j];
    for (int c = 0; c < mine->npoint; c++)
        if (boxes_meet(&p->point_box[mine->point[c]], &p->tri_box[j], s->slack))
            test_pair(s, chunk, FA_PAIR_VERTEX_TRIANGLE, mine->point[c], j);
    for (int c = 0; c < its->npoint; c++)
        if (boxes_meet(&p->point_box[its->point[c]], &p->tri_box[i], s->slack))
            test_pair(s, chunk, FA_PAIR_VERTEX_TRIANGLE, its->point[c], i);
    for (int c = 0; c < mine->nedge; c++)
        for (int d = 0; d < its->nedge; d++) {
            int e = mine->edge[c], f = its->edge[d];
            if (boxes_meet(&p->edge_box[e], &p->edge_box[f], s->slack))
                test_pair(s, chunk, FA_PAIR_EDGE_EDGE, FA_MIN(e, f), FA_MAX(e, f));
        }
}

// A leaf of the surface against its own tree. Of two dirty triangles the one that is first in the tree's order finds
// the other.
static void search_self(const Search *s, int chunk, const FaBoxNode *leaf) {
    FaPairs *p = s->p;
    const FaBoxTree *tree = &p->tree[0];
    int stack[FA_BOX_TREE_STACK], top = 0;
    stack[top++] = 0;
    while (top > 0) {
        int n = stack[--top];
        const FaBoxNode *node = &tree->node[n];
        if (p->all_dirty && p->node_end[n] <= leaf->first) continue;
        if (!bounds_meet(leaf->lo, leaf->hi, node->lo, node->hi, s->slack)) continue;
        if (node->count == 0) {
            stack[top++] = node->first + 1;
            stack[top++] = node->first;
            continue;
        }
        for (int a = leaf->first; a < leaf->first + leaf->count; a++) {
            int i = tree->prim[a];
            if (!p->dirty[i]) continue;
            for (int b = node->first; b < node->first + node->count; b++) {
                int j = tree->prim[b];
                if (!boxes_meet(&p->tri_box[i], &p->tri_box[j], s->slack) || (b <= a && p->dirty[j])) continue;
                test_triangles(s, chunk, i, j);
            }
        }
    }
}

static void search_colliders(const Search *s, int chunk, const FaBoxNode *leaf) {
    FaPairs *p = s->p;
    const FaBoxTree *tree = &p->tree[1];
    int stack[FA_BOX_TREE_STACK], top = 0;
    if (tree->nnode > 0) stack[top++] = 0;
    while (top > 0) {
        const FaBoxNode *node = &tree->node[stack[--top]];
        if (!bounds_meet(leaf->lo, leaf->hi, node->lo, node->hi, s->slack)) continue;
        if (node->count == 0) {
            stack[top++] = node->first + 1;
            stack[top++] = node->first;
            continue;
        }
        for (int a = leaf->first; a < leaf->first + leaf->count; a++) {
            int i = p->tree[0].prim[a];
            for (int b = node->first; b < node->first + node->count; b++)
                if (p->dirty[i] && boxes_meet(&p->tri_box[i], &p->tri_box[tree->prim[b]], s->slack))
                    test_triangles(s, chunk, i, tree->prim[b]);
        }
    }
}

static void search_leaves(void *ctx, int begin, int end, int chunk) {
    const Search *s = ctx;
    FaPairs *p = s->p;
    p->nhit[chunk] = p->nover[chunk] = p->ntest[chunk] = 0;
    if (p->use_list) {
        test_list(s, chunk);
        return;
    }
    p->nlist[chunk] = 0;
    for (int l = begin; l < end; l++) {
        const FaBoxNode *leaf = &p->tree[0].node[p->leaf[l]];
        bool any = false;
        for (int i = leaf->first; i < leaf->first + leaf->count; i++) any = any || p->dirty[p->tree[0].prim[i]];
        if (!any) continue;
        search_self(s, chunk, leaf);
        search_colliders(s, chunk, leaf);
    }
}

int fai_pairs_search(FaPairs *p, const FaPairSearch *search, int *over) {
    Search s = {p, search, 0};
    int kept = 0, lost = 0;
    p->all_dirty = true;
    for (int t = 0; t < p->nsurface_tri && p->all_dirty; t++) p->all_dirty = p->dirty[t];
    // twice what a point may stray, and what rounding may add
    if (p->all_dirty && !p->use_list) s.slack = (float)(2.001 * WIDER * p->edge_length + 2e-6 * p->size);
    fai_parallel(p->nleaf, FA_PAIRS_LEAVES, search_leaves, &s);
    if (!p->use_list) p->listed = p->all_dirty;
    for (int c = 0; c < p->nchunk; c++) {
        p->listed = p->listed && p->nlist[c] <= FA_PAIRS_LISTED;
        kept += p->nhit[c];
        lost += p->nover[c];
    }
    if (over) *over = lost;
    return kept;
}
