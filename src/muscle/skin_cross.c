#include "muscle/skin_cross.h"

#include "base/task.h"
#include "mesh/box_tree.h"
#include "mesh/intersect.h"

#include <math.h>
#include <stdlib.h>

enum { LEAVES = 32, KEPT = 256 }; // leaves per chunk, and pairs that a chunk keeps

typedef struct Pair {
    int a, b;
} Pair;

struct FaSkinCross {
    int ntri, nnode, nleaf, nchunk;
    int *tri;   //                                                                       (ntri x 3)
    int *place; // first node at the same place at rest                                  (nnode)
    FaBox *box; // of each triangle                                                      (ntri)
    int *leaf;  //                                                                       (nleaf)
    FaBoxTree tree;
    int nresting;
    Pair *resting;  // that cross at rest, sorted                                            (nresting)
    const float *x; // of the call under way
    int *found;     // of each chunk                                                         (nchunk)
    Pair *kept;     //                                                                       (nchunk x KEPT)
    FaArena *arena;
};

static int by_pair(const void *one, const void *two) {
    const Pair *p = one, *q = two;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static bool are_joined(const FaSkinCross *s, int i, int j) {
    const int *p = s->tri + 3 * (size_t)i, *q = s->tri + 3 * (size_t)j;
    for (int k = 0; k < 9; k++)
        if (s->place[p[k / 3]] == s->place[q[k % 3]]) return true;
    return false;
}

static bool pair_crosses(const FaSkinCross *s, int i, int j) {
    const FaBox *a = &s->box[i], *b = &s->box[j];
    if (!fai_boxes_meet(a->lo, a->hi, b->lo, b->hi) || are_joined(s, i, j)) return false;
    float p[3][3], q[3][3];
    for (int k = 0; k < 3; k++) {
        memcpy(p[k], s->x + 3 * (size_t)s->tri[3 * i + k], sizeof p[k]);
        memcpy(q[k], s->x + 3 * (size_t)s->tri[3 * j + k], sizeof q[k]);
    }
    return fai_triangles_cross((const float(*)[3])p, (const float(*)[3])q);
}

static void take(FaSkinCross *s, int chunk, int i, int j) {
    const Pair pair = {FA_MIN(i, j), FA_MAX(i, j)};
    if (s->nresting && bsearch(&pair, s->resting, (size_t)s->nresting, sizeof pair, by_pair)) return;
    if (s->found[chunk] < KEPT) s->kept[(size_t)chunk * KEPT + (size_t)s->found[chunk]] = pair;
    s->found[chunk]++;
}

static void search_leaf(FaSkinCross *s, const FaBoxNode *leaf, int chunk) {
    int stack[FA_BOX_TREE_STACK], top = 0;
    stack[top++] = 0;
    while (top > 0) {
        const FaBoxNode *node = &s->tree.node[stack[--top]];
        if (!fai_boxes_meet(leaf->lo, leaf->hi, node->lo, node->hi)) continue;
        if (node->count == 0) {
            stack[top++] = node->first + 1;
            stack[top++] = node->first;
            continue;
        }
        for (int a = leaf->first; a < leaf->first + leaf->count; a++)
            for (int b = node->first; b < node->first + node->count; b++) {
                int i = s->tree.prim[a], j = s->tree.prim[b];
                if (i < j && pair_crosses(s, i, j)) take(s, chunk, i, j);
            }
    }
}

static void search_leaves(void *ctx, int begin, int end, int chunk) {
    FaSkinCross *s = ctx;
    s->found[chunk] = 0;
    for (int l = begin; l < end; l++) search_leaf(s, &s->tree.node[s->leaf[l]], chunk);
}

static void grow(FaBoxNode *n, const float lo[3], const float hi[3]) {
    for (int k = 0; k < 3; k++) n->lo[k] = fminf(n->lo[k], lo[k]), n->hi[k] = fmaxf(n->hi[k], hi[k]);
}

// Boxes at x. Children come after their parents.
static void refit(FaSkinCross *s, const float *x) {
    FaBoxTree *t = &s->tree;
    fai_triangle_boxes(s->ntri, s->tri, x, s->box, NULL);
    for (int i = t->nnode - 1; i >= 0; i--) {
        FaBoxNode *n = &t->node[i];
        for (int k = 0; k < 3; k++) n->lo[k] = INFINITY, n->hi[k] = -INFINITY;
        for (int k = n->first; k < n->first + n->count; k++) grow(n, s->box[t->prim[k]].lo, s->box[t->prim[k]].hi);
        for (int k = n->first; n->count == 0 && k < n->first + 2; k++) grow(n, t->node[k].lo, t->node[k].hi);
    }
}

int fai_skin_cross_count(FaSkinCross *s, const float *x, int (*pair)[2], int most) {
    int n = 0, listed = 0;
    if (s->ntri == 0) return 0;
    s->x = x;
    refit(s, x);
    fai_parallel(s->nleaf, LEAVES, search_leaves, s);
    for (int c = 0; c < s->nchunk; c++) {
        n += s->found[c];
        for (int i = 0; pair && i < FA_MIN(s->found[c], KEPT) && listed < most; i++, listed++) {
            const Pair *from = &s->kept[(size_t)c * KEPT + (size_t)i];
            pair[listed][0] = from->a, pair[listed][1] = from->b;
        }
    }
    return n;
}

static int by_place(const void *one, const void *two) {
    const float *a = *(const float *const *)one, *b = *(const float *const *)two;
    for (int k = 0; k < 3; k++)
        if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
    return a < b ? -1 : a > b;
}

// Nodes at the same place are one: seams do not cross.
static FaCode find_places(FaSkinCross *s, const float *x, FaError *err) {
    const float **at = FA_NEW(s->nnode + 1, const float *);
    if (!at) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < s->nnode; i++) at[i] = x + 3 * (size_t)i;
    qsort(at, (size_t)s->nnode, sizeof *at, by_place);
    for (int i = 0, first = 0; i < s->nnode; i++) {
        if (memcmp(at[i], at[first], 3 * sizeof **at)) first = i;
        s->place[(at[i] - x) / 3] = (int)((at[first] - x) / 3);
    }
    fa_free(at);
    return FA_OK;
}

static FaCode build(FaSkinCross *s, const int *tri, const float *x, FaError *err) {
    size_t n = (size_t)s->ntri + 1;
    s->arena = fai_arena_new(0);
    if (!s->arena) return FA_FAIL_MEMORY(err);
    s->tri = FA_PUSH(s->arena, 3 * n, int);
    s->place = FA_PUSH(s->arena, s->nnode + 1, int);
    s->box = FA_PUSH(s->arena, n, FaBox);
    s->leaf = FA_PUSH(s->arena, n, int);
    if (!s->tri || !s->place || !s->box || !s->leaf) return FA_FAIL_MEMORY(err);
    memcpy(s->tri, tri, 3 * (size_t)s->ntri * sizeof *tri);
    FA_TRY(find_places(s, x, err));
    fai_triangle_boxes(s->ntri, s->tri, x, s->box, NULL);
    FA_TRY(fai_box_tree_build(s->ntri, s->box, &s->tree, err));
    for (int i = 0; i < s->tree.nnode; i++)
        if (s->tree.node[i].count) s->leaf[s->nleaf++] = i;
    s->nchunk = fai_chunks(s->nleaf, LEAVES);
    s->found = FA_PUSH(s->arena, s->nchunk + 1, int);
    s->kept = FA_PUSH(s->arena, (size_t)s->nchunk * KEPT + 1, Pair);
    if (!s->found || !s->kept) return FA_FAIL_MEMORY(err);
    int all = fai_skin_cross_count(s, x, NULL, 0);
    s->resting = FA_PUSH(s->arena, all + 1, Pair);
    if (!s->resting) return FA_FAIL_MEMORY(err);
    for (int c = 0; c < s->nchunk; c++)
        for (int i = 0; i < FA_MIN(s->found[c], KEPT); i++) s->resting[s->nresting++] = s->kept[c * KEPT + i];
    qsort(s->resting, (size_t)s->nresting, sizeof *s->resting, by_pair);
    return FA_OK;
}

FaCode fai_skin_cross_new(int nnode, int ntri, const int *tri, const float *x, FaSkinCross **cross, FaError *err) {
    *cross = NULL;
    FaSkinCross *s = FA_NEW(1, FaSkinCross);
    if (!s) return FA_FAIL_MEMORY(err);
    s->nnode = nnode, s->ntri = ntri;
    FaCode rc = build(s, tri, x, err);
    if (rc < 0)
        fai_skin_cross_free(s);
    else
        *cross = s;
    return rc;
}

void fai_skin_cross_free(FaSkinCross *s) {
    if (!s) return;
    fai_box_tree_free(&s->tree);
    fai_arena_free(s->arena);
    fa_free(s);
}
