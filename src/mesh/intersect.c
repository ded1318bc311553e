// Which triangles of a mesh cross each other.
//
// Based on: Guigue and Devillers, Fast and Robust Triangle-Triangle Overlap Test Using Orientation Predicates, 2003.
// Deviation: the predicates are exact and all comparisons strict, so that touching is told from crossing; flat pairs
// are separated by their edges' lines instead of walked region by region.
//
//   boxes -> tree -> each leaf against the tree -> pairs whose boxes meet -> exact test -> count per triangle
//
// Every pair belongs to its smaller triangle, so chunks of leaves write apart and the counts do not depend on threads.
#include "mesh/intersect.h"

#include "base/task.h"
#include "math/predicates.h"
#include "mesh/box_tree.h"
#include "mesh/mesh.h"

#include <limits.h>

// Work is bounded: a chunk of leaves may spend so many units (2 to 5 ns each) before it gives up counting. A face
// uses a few hundredths; it takes a hundred triangles that each meet eight hundred others to get there.
enum { LEAVES_PER_CHUNK = 32, CHUNK_BUDGET = 4000000, COST_TEST = 40, COST_EXACT = 200 };

// --- two triangles ------------------------------------------------------------------------------------------------

typedef const float *Corners[3];

static int orient(const float *a, const float *b, const float *c, const float *d, int *spent) {
    int side = fai_orient3d_quick(a, b, c, d);
    if (side != FA_UNSURE) return side;
    *spent += COST_EXACT;
    return fai_orient3d_exact(a, b, c, d);
}

// Sides of b's corners as seen from a's plane.
static void sides(Corners a, Corners b, int side[3], int *spent) {
    for (int k = 0; k < 3; k++) side[k] = orient(a[0], a[1], a[2], b[k], spent);
}

static bool on_both_sides(const int side[3]) {
    bool above = side[0] > 0 || side[1] > 0 || side[2] > 0, below = side[0] < 0 || side[1] < 0 || side[2] < 0;
    return above && below;
}

// Turn t so that its first corner is alone on its side of the other plane; true if that is the lower side.
static bool put_lone_first(Corners t, const int side[3]) {
    int above = (side[0] > 0) + (side[1] > 0) + (side[2] > 0);
    int want = above == 1 ? 1 : -1, lone = 0;
    while (lone < 2 && side[lone] != want) lone++;
    const float *turned[3] = {t[lone], t[(lone + 1) % 3], t[(lone + 2) % 3]};
    memcpy(t, turned, sizeof turned);
    return want < 0;
}

static void flip(Corners t) {
    const float *swap = t[1];
    t[1] = t[2];
    t[2] = swap;
}

// Do all of b's corners lie outside, or on, one of a's edges? turn: 1 if a runs left in these coordinates, -1 else.
static bool separates(Corners a, Corners b, int turn, int i, int j) {
    for (int k = 0; k < 3; k++) {
        const float *p = a[k], *q = a[(k + 1) % 3];
        bool outside = true;
        for (int c = 0; c < 3 && outside; c++) outside = turn * fai_orient2d(p, q, b[c], i, j) <= 0;
        if (outside) return true;
    }
    return false;
}

// Two triangles in one plane: do their insides overlap? Seen along an axis in which neither is edge-on.
static bool overlap_flat(Corners a, Corners b, int *spent) {
    *spent += COST_EXACT;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3;
        int turn_a = fai_orient2d(a[0], a[1], a[2], i, j), turn_b = fai_orient2d(b[0], b[1], b[2], i, j);
        if (turn_a && turn_b) return !separates(a, b, turn_a, i, j) && !separates(b, a, turn_b, i, j);
    }
    return false; // one of them has no inside
}

// Each triangle has corners strictly on both sides of the other's plane, so each cuts the planes' common line in an
// interval of some length; the triangles cross if the insides of the intervals do. See the paper's figure of i, j, k,
// l.
static bool cross(Corners a, Corners b, int *spent) {
    int side_a[3], side_b[3];
    sides(b, a, side_a, spent);
    if (side_a[0] == 0 && side_a[1] == 0 && side_a[2] == 0) return overlap_flat(a, b, spent);
    if (!on_both_sides(side_a)) return false;
    sides(a, b, side_b, spent);
    if (!on_both_sides(side_b)) return false;
    bool a_below = put_lone_first(a, side_a), b_below = put_lone_first(b, side_b);
    if (a_below) flip(b);
    if (b_below) flip(a);
    return orient(a[0], a[1], b[0], b[1], spent) < 0 && orient(a[0], a[2], b[2], b[0], spent) < 0;
}

bool fai_triangles_cross(const float a[3][3], const float b[3][3]) {
    int spent = 0;
    return cross((Corners){a[0], a[1], a[2]}, (Corners){b[0], b[1], b[2]}, &spent);
}

// --- a mesh -------------------------------------------------------------------------------------------------------

typedef struct Search {
    const FaMesh *mesh;
    const float *x;
    const int *part;
    FaBox *box; // of each triangle                       (ntri)
    int *leaf;  // nodes that are leaves                  (nleaf)
    int nleaf;
    int *found;    // crossings with later triangles         (ntri)
    bool *gave_up; //                                        (chunks)
    FaBoxTree tree;
} Search;

// Triangles that share a vertex, by its weld or by its place, meet there by design.
static bool are_joined(const Search *s, const int *p, const int *q) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const float *a = s->x + 3 * (size_t)p[i], *b = s->x + 3 * (size_t)q[j];
            if (fai_weld(s->mesh, p[i]) == fai_weld(s->mesh, q[j])) return true;
            if (a[0] == b[0] && a[1] == b[1] && a[2] == b[2]) return true;
        }
    return false;
}

static bool pair_crosses(const Search *s, int i, int j, int *spent) {
    const FaBox *a = &s->box[i], *b = &s->box[j];
    if (!fai_boxes_meet(a->lo, a->hi, b->lo, b->hi)) return false;
    const int *p = s->mesh->tri + 3 * (size_t)i, *q = s->mesh->tri + 3 * (size_t)j;
    if (s->part && s->part[p[0]] != s->part[q[0]]) return false;
    if (are_joined(s, p, q)) return false;
    *spent += COST_TEST;
    const float *x = s->x;
    return cross((Corners){x + 3 * (size_t)p[0], x + 3 * (size_t)p[1], x + 3 * (size_t)p[2]},
                 (Corners){x + 3 * (size_t)q[0], x + 3 * (size_t)q[1], x + 3 * (size_t)q[2]}, spent);
}

// Crossings of one leaf's triangles with all later ones. False: the budget is spent.
static bool search_leaf(const Search *s, const FaBoxNode *leaf, int *budget) {
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
        int spent = 2;
        for (int a = leaf->first; a < leaf->first + leaf->count; a++)
            for (int b = node->first; b < node->first + node->count; b++) {
                int i = s->tree.prim[a], j = s->tree.prim[b];
                if (i < j) s->found[i] += pair_crosses(s, i, j, &spent);
            }
        *budget -= spent;
        if (*budget < 0) return false;
    }
    return true;
}

static void search_leaves(void *ctx, int begin, int end, int chunk) {
    const Search *s = ctx;
    int budget = CHUNK_BUDGET;
    for (int l = begin; l < end && !s->gave_up[chunk]; l++)
        s->gave_up[chunk] = !search_leaf(s, &s->tree.node[s->leaf[l]], &budget);
}

// The later triangles that triangle i crosses, in the order of the tree. Returns how many; other holds up to room.
static int search_one(const Search *s, int i, int *other, int room) {
    int stack[FA_BOX_TREE_STACK], top = 0, n = 0, spent = 0;
    stack[top++] = 0;
    while (top > 0 && n < room) {
        const FaBoxNode *node = &s->tree.node[stack[--top]];
        if (!fai_boxes_meet(s->box[i].lo, s->box[i].hi, node->lo, node->hi)) continue;
        for (int b = node->first; b < node->first + node->count && n < room; b++) {
            int j = s->tree.prim[b];
            if (i < j && pair_crosses(s, i, j, &spent)) other[n++] = j;
        }
        if (node->count == 0) {
            stack[top++] = node->first + 1;
            stack[top++] = node->first;
        }
    }
    return n;
}

// Increasing, in place, without extra memory: a heap.
static void sort_ints(int *a, int n) {
    for (int end = n, start = n / 2; end > 1;) {
        int root;
        if (start > 0) {
            root = --start;
        } else {
            end--;
            int t = a[0];
            a[0] = a[end];
            a[end] = t;
            root = 0;
        }
        int value = a[root];
        for (int child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && a[child + 1] > a[child]) child++;
            if (a[child] <= value) break;
            a[root] = a[child];
        }
        a[root] = value;
    }
}

// The first max_pairs pairs in order. Triangles with crossings are few, so they are looked up again rather than kept.
static FaCode list_pairs(const Search *s, int (*pair)[2], int max_pairs, FaError *err) {
    int most = 0, n = 0;
    for (int i = 0; i < s->mesh->ntri; i++) most = FA_MAX(most, s->found[i]);
    int *other = FA_NEW(most, int);
    if (!other) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < s->mesh->ntri && n < max_pairs; i++) {
        int count = s->found[i] ? search_one(s, i, other, s->found[i]) : 0;
        sort_ints(other, count);
        for (int k = 0; k < count && n < max_pairs; k++, n++) {
            pair[n][0] = i;
            pair[n][1] = other[k];
        }
    }
    fa_free(other);
    return FA_OK;
}

static FaCode prepare(Search *s, FaError *err) {
    int ntri = s->mesh->ntri, bad;
    s->box = FA_NEW(ntri, FaBox);
    s->found = FA_NEW(ntri, int);
    s->leaf = FA_NEW(ntri, int);
    if (!s->box || !s->found || !s->leaf) return FA_FAIL_MEMORY(err);
    fai_triangle_boxes(ntri, s->mesh->tri, s->x, s->box, &bad);
    if (bad >= 0)
        return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("vertex %d", bad), "repair the vertex, or leave the frame out",
                       "the position is not a finite number");
    FA_TRY(fai_box_tree_build(ntri, s->box, &s->tree, err));
    for (int n = 0; n < s->tree.nnode; n++)
        if (s->tree.node[n].count > 0) s->leaf[s->nleaf++] = n;
    s->gave_up = FA_NEW(fai_chunks(s->nleaf, LEAVES_PER_CHUNK), bool);
    return s->gave_up ? FA_OK : FA_FAIL_MEMORY(err);
}

FaCode fai_self_intersections(const FaMesh *mesh, const float *x, const int *part, int (*pair)[2], int max_pairs,
                              int *count, FaError *err) {
    Search s = {.mesh = mesh, .x = x ? x : mesh->x, .part = part};
    *count = 0;
    FaCode code = prepare(&s, err);
    if (code >= 0) {
        fai_parallel(s.nleaf, LEAVES_PER_CHUNK, search_leaves, &s);
        int64_t total = 0;
        for (int i = 0; i < mesh->ntri; i++) total += s.found[i];
        for (int c = 0; c < fai_chunks(s.nleaf, LEAVES_PER_CHUNK); c++)
            if (s.gave_up[c]) code = FA_CLAMPED;
        if (total > INT_MAX) code = FA_CLAMPED;
        *count = (int)FA_MIN(total, INT_MAX);
        if (pair && total > 0) {
            FaCode listed = list_pairs(&s, pair, max_pairs, err);
            if (listed < 0) code = listed;
        }
    }
    fa_free(s.box);
    fa_free(s.found);
    fa_free(s.leaf);
    fa_free(s.gave_up);
    fai_box_tree_free(&s.tree);
    return code;
}
