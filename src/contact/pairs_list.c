// Swept boxes, and the list of pairs whose wide boxes meet.
#include "base/task.h"
#include "contact/pairs.h"

#include <float.h>
#include <math.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define WIDER 0.06 // edge lengths: what a point may stray before the list of pairs no longer holds
#define AHEAD 1.0  // of its motion: and that much further on its way,
#define FAR 0.3    // edge lengths: but not more than this

// --- points -------------------------------------------------------------------------------------------------------

// Rounded outwards. The fourth number of each bound is 0.
static inline void set_span(const double a[3], const double b[3], double pad, FaSpan *out) {
    for (int k = 0; k < 3; k++) {
        float lo = (float)((a[k] < b[k] ? a[k] : b[k]) - pad), hi = (float)((a[k] < b[k] ? b[k] : a[k]) + pad);
        out->lo[k] = lo - fabsf(lo) * 2.4e-7f - FLT_MIN;
        out->hi[k] = hi + fabsf(hi) * 2.4e-7f + FLT_MIN;
    }
    out->lo[3] = out->hi[3] = 0;
}

static inline bool is_within(const FaSpan *a, const FaSpan *b) {
    bool in = true;
    for (int k = 0; k < 3; k++) in = in & (a->lo[k] >= b->lo[k]) & (a->hi[k] <= b->hi[k]);
    return in;
}

typedef struct Fit {
    FaPairs *p;
    double pad;
} Fit;

enum { POINTS = FA_PAIRS_POINTS, SHAPES = 1024 }; // per chunk

static void fit_points(void *ctx, int begin, int end, int chunk) {
    const Fit *f = ctx;
    FaPairs *p = f->p;
    bool inside = true;
    float size = 0;
    for (int i = begin; i < end; i++) {
        FaSpan *box = &p->point_box[i];
        set_span(p->from[i], p->to[i], f->pad, box);
        inside = inside & is_within(box, &p->wide_box[i]);
        for (int k = 0; k < 3; k++) {
            float most = -box->lo[k] > box->hi[k] ? -box->lo[k] : box->hi[k];
            size = most > size ? most : size;
        }
    }
    p->fit_inside[chunk] = inside;
    p->fit_size[chunk] = size;
}

static void widen_points(void *ctx, int begin, int end, int chunk) {
    const Fit *f = ctx;
    FaPairs *p = f->p;
    (void)chunk;
    double pad = WIDER * p->edge_length + p->most_pad, far = FAR * p->edge_length;
    for (int i = begin; i < end; i++) {
        double on[3];
        for (int k = 0; k < 3; k++) {
            double more = AHEAD * (p->to[i][k] - p->from[i][k]);
            on[k] = p->to[i][k] + (more > far ? far : more < -far ? -far : more);
        }
        set_span(p->from[i], on, pad, &p->wide_box[i]);
    }
}

// --- edges, triangles, trees --------------------------------------------------------------------------------------

static inline void join(const FaSpan *a, const FaSpan *b, FaSpan *out) {
    for (int k = 0; k < 4; k++) {
        out->lo[k] = a->lo[k] < b->lo[k] ? a->lo[k] : b->lo[k];
        out->hi[k] = a->hi[k] > b->hi[k] ? a->hi[k] : b->hi[k];
    }
}

static void fit_shapes(void *ctx, int begin, int end, int chunk) {
    FaPairs *p = ((const Fit *)ctx)->p;
    (void)chunk;
    for (int e = begin; e < FA_MIN(end, p->nedge); e++)
        join(&p->wide_box[p->edge[e][0]], &p->wide_box[p->edge[e][1]], &p->edge_box[e]);
    for (int t = FA_MAX(begin - p->nedge, 0); t < end - p->nedge; t++) {
        join(&p->wide_box[p->tri[t][0]], &p->wide_box[p->tri[t][1]], &p->tri_box[t]);
        join(&p->tri_box[t], &p->wide_box[p->tri[t][2]], &p->tri_box[t]);
    }
}

// Children come after their parent: from the last to the first.
static void refit_tree(FaBoxTree *tree, const FaSpan *box) {
    for (int n = tree->nnode - 1; n >= 0; n--) {
        FaBoxNode *node = &tree->node[n];
        FaSpan all;
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

void fai_pairs_refit(FaPairs *p, double pad) {
    Fit f = {p, pad};
    bool inside = p->listed;
    float size = 0;
    fai_parallel(p->npoint, POINTS, fit_points, &f);
    for (int c = 0; c < fai_chunks(p->npoint, POINTS); c++) {
        inside = inside && p->fit_inside[c];
        size = p->fit_size[c] > size ? p->fit_size[c] : size;
    }
    p->size = (double)size;
    p->listed = inside;
    if (inside) return;
    p->most_pad = fmax(p->most_pad, pad);
    atomic_store(&p->met, 0);
    fai_parallel(p->npoint, POINTS, widen_points, &f);
    fai_parallel(p->nedge + p->ntri, SHAPES, fit_shapes, &f);
    for (int at = 0; at < p->nsurface_tri; at++) p->place_box[at] = p->tri_box[p->tree[0].prim[at]];
    refit_tree(&p->tree[0], p->tri_box);
    refit_tree(&p->tree[1], p->tri_box);
}

// --- the walk -----------------------------------------------------------------------------------------------------

// Reads a fourth float behind each bound, which boxes and nodes have.
static inline bool bounds_meet(const float *alo, const float *ahi, const float *blo, const float *bhi) {
#ifdef __SSE2__
    __m128 below = _mm_cmple_ps(_mm_loadu_ps(alo), _mm_loadu_ps(bhi));
    __m128 above = _mm_cmple_ps(_mm_loadu_ps(blo), _mm_loadu_ps(ahi));
    return (_mm_movemask_ps(_mm_and_ps(below, above)) & 7) == 7;
#else
    for (int k = 0; k < 3; k++)
        if (!(alo[k] <= bhi[k] && blo[k] <= ahi[k])) return false;
    return true;
#endif
}

static inline bool spans_meet(const FaSpan *a, const FaSpan *b) { return bounds_meet(a->lo, a->hi, b->lo, b->hi); }

typedef struct Walk {
    FaPairs *p;
    FaPairSink *sink;
    void *ctx;
    int left;   // pairs of triangles that are still looked at
    int *found; // by the sink so far; NULL: no one counts
} Walk;

// Everything that belongs to triangles i and j, across.
static inline void walk_triangles(Walk *w, int i, int j) {
    FaPairs *p = w->p;
    w->left--;
    const FaOwned *mine = &p->owned[i], *its = &p->owned[j];
    for (int c = 0; c < mine->npoint; c++)
        if (spans_meet(&p->wide_box[mine->point[c]], &p->tri_box[j]))
            w->sink(w->ctx, FA_PAIR_VERTEX_TRIANGLE, mine->point[c], j);
    for (int c = 0; c < its->npoint; c++)
        if (spans_meet(&p->wide_box[its->point[c]], &p->tri_box[i]))
            w->sink(w->ctx, FA_PAIR_VERTEX_TRIANGLE, its->point[c], i);
    for (int c = 0; c < mine->nedge; c++)
        for (int d = 0; d < its->nedge; d++) {
            int e = mine->edge[c], f = its->edge[d];
            if (spans_meet(&p->edge_box[e], &p->edge_box[f]))
                w->sink(w->ctx, FA_PAIR_EDGE_EDGE, FA_MIN(e, f), FA_MAX(e, f));
        }
}

// Have they a corner in common, or corners at one place at rest?
static inline bool share_corner(const FaPairs *p, int i, int j) {
    const int *a = p->corner[i], *b = p->corner[j];
    return ((a[0] == b[0]) | (a[0] == b[1]) | (a[0] == b[2]) | (a[1] == b[0]) | (a[1] == b[1]) | (a[1] == b[2]) |
            (a[2] == b[0]) | (a[2] == b[1]) | (a[2] == b[2]));
}

// A leaf of the surface against its own tree. Of two triangles the one that is first in the tree's order finds the
// other; those that share a corner are listed for good.
static inline void walk_self(Walk *w, const FaBoxNode *leaf) {
    FaPairs *p = w->p;
    const FaBoxTree *tree = &p->tree[0];
    int stack[FA_BOX_TREE_STACK], top = 0;
    stack[top++] = 0;
    while (top > 0 && w->left > 0) {
        int n = stack[--top];
        const FaBoxNode *node = &tree->node[n];
        if (p->node_end[n] <= leaf->first) continue;
        if (!bounds_meet(leaf->lo, leaf->hi, node->lo, node->hi)) continue;
        if (node->count == 0) {
            stack[top++] = node->first + 1;
            stack[top++] = node->first;
            continue;
        }
        for (int a = leaf->first; a < leaf->first + leaf->count; a++) {
            if (!bounds_meet(p->place_box[a].lo, p->place_box[a].hi, node->lo, node->hi)) continue;
            int i = tree->prim[a];
            for (int b = FA_MAX(node->first, a + 1); b < node->first + node->count; b++) {
                int j = tree->prim[b];
                if (spans_meet(&p->place_box[a], &p->place_box[b]) && !share_corner(p, i, j)) walk_triangles(w, i, j);
            }
        }
    }
}

static inline void walk_colliders(Walk *w, const FaBoxNode *leaf) {
    FaPairs *p = w->p;
    const FaBoxTree *tree = &p->tree[1];
    int stack[FA_BOX_TREE_STACK], top = 0;
    if (tree->nnode > 0) stack[top++] = 0;
    while (top > 0 && w->left > 0) {
        const FaBoxNode *node = &tree->node[stack[--top]];
        if (!bounds_meet(leaf->lo, leaf->hi, node->lo, node->hi)) continue;
        if (node->count == 0) {
            stack[top++] = node->first + 1;
            stack[top++] = node->first;
            continue;
        }
        for (int a = leaf->first; a < leaf->first + leaf->count; a++) {
            if (!bounds_meet(p->place_box[a].lo, p->place_box[a].hi, node->lo, node->hi)) continue;
            int i = p->tree[0].prim[a];
            for (int b = node->first; b < node->first + node->count; b++)
                if (spans_meet(&p->tri_box[i], &p->tri_box[tree->prim[b]])) walk_triangles(w, i, tree->prim[b]);
        }
    }
}

static inline void walk(Walk *w, int begin, int end, int chunk) {
    FaPairs *p = w->p;
    for (int kind = 0; kind < 2; kind++)
        for (int i = p->close_start[2 * chunk + kind]; i < p->close_start[2 * chunk + kind + 1]; i++) {
            int a = p->close[i].a, b = p->close[i].b;
            bool meet = kind == FA_PAIR_VERTEX_TRIANGLE ? spans_meet(&p->wide_box[a], &p->tri_box[b])
                                                        : spans_meet(&p->edge_box[a], &p->edge_box[b]);
            if (meet) w->sink(w->ctx, (FaPairKind)kind, a, b);
        }
    for (int l = begin, before = 0; l < end; l++) {
        const FaBoxNode *leaf = &p->tree[0].node[p->leaf[l]];
        walk_self(w, leaf);
        walk_colliders(w, leaf);
        if (!w->found) continue;
        // whoever comes first: if all together are too many, someone sees it, and what he leaves out is not used
        int all = w->found[0] + w->found[1];
        if (atomic_fetch_add(&p->met, all - before) + all - before > fai_pairs_most(p)) w->left = 0;
        before = all;
    }
}

void fai_pairs_walk(FaPairs *p, int begin, int end, int chunk, FaPairSink *sink, void *ctx) {
    walk(&(Walk){p, sink, ctx, FA_PAIRS_CHUNK, NULL}, begin, end, chunk);
}

// --- the list -----------------------------------------------------------------------------------------------------

typedef struct List {
    FaPairId *id;
    int n[2]; // of each kind: the first from the front, the second from the back
} List;

static inline void put(void *ctx, FaPairKind kind, int a, int b) {
    List *list = ctx;
    if (list->n[0] + list->n[1] < FA_PAIRS_LISTED)
        list->id[kind == FA_PAIR_VERTEX_TRIANGLE ? list->n[0] : FA_PAIRS_LISTED - 1 - list->n[1]] = (FaPairId){a, b};
    list->n[kind]++;
}

void fai_pairs_list(FaPairs *p, int begin, int end, int chunk) {
    List list = {.id = p->list + (size_t)chunk * FA_PAIRS_LISTED};
    Walk w = {p, put, &list, FA_PAIRS_CHUNK, list.n};
    walk(&w, begin, end, chunk);
    bool fits = w.left > 0 && list.n[0] + list.n[1] <= FA_PAIRS_LISTED;
    p->nmeet[chunk] = w.left > 0 ? list.n[0] + list.n[1] : INT32_MAX; // more than any surface may have
    for (int kind = 0; kind < 2; kind++) p->nlist[2 * chunk + kind] = fits ? list.n[kind] : -1;
}
