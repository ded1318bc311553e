#include "contact/pairs.h"

#include "base/task.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

void fai_pair_weights(FaPairKind kind, const double bary[4], double weight[4]) {
    if (kind == FA_PAIR_VERTEX_TRIANGLE) {
        weight[0] = 1;
        for (int i = 0; i < 3; i++) weight[1 + i] = -bary[i];
    } else {
        for (int i = 0; i < 4; i++) weight[i] = i < 2 ? bary[i] : -bary[i];
    }
}

// --- two primitives -----------------------------------------------------------------------------------------------

typedef struct Search {
    FaPairs *p;
    const FaPairSearch *how;
} Search;

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

// --- many primitives ----------------------------------------------------------------------------------------------

// Pairs of a kind whose boxes meet, gathered without a branch and then tested some at once.
enum { BATCH = 16 * FA_CCD_LANES };
typedef struct Batch {
    const Search *s;
    int chunk, n;
    FaPairKind kind;
    FaPairId id[BATCH];
    int point[BATCH][4];
} Batch;

static void test_one(const Batch *t, int at) {
    FaPairs *p = t->s->p;
    double p0[4][3], p1[4][3];
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            p0[i][k] = p->from[t->point[at][i]][k];
            p1[i][k] = p->to[t->point[at][i]][k];
        }
    test_near(t->s, t->chunk, t->kind, t->id[at].a, t->id[at].b, t->point[at], p0, p1);
}

static void flush(Batch *t) {
    FaPairs *p = t->s->p;
    const FaPairSearch *how = t->s->how;
    double reach = how->reach[t->kind], gap = reach > how->gap ? reach : how->gap;
    for (int i = t->n; i % FA_CCD_LANES; i++) memcpy(t->point[i], t->point[0], sizeof t->point[0]);
    for (int i = 0; i < t->n; i += FA_CCD_LANES) {
        unsigned apart = fai_ccd_apart_many(p->simd, t->kind, (const double(*)[3])p->from, (const double(*)[3])p->to,
                                            (const int(*)[4])t->point + i, gap, p->size);
        for (int l = 0; l < FA_CCD_LANES && i + l < t->n && apart != (1u << FA_CCD_LANES) - 1; l++)
            if (!(apart >> l & 1)) test_one(t, i + l), p->nnear[t->chunk]++;
    }
    p->ntest[t->chunk] += t->n;
    t->n = 0;
}

// Do the swept boxes of both sides meet? All comparisons at once: half of them do, so branches would be guessed wrong.
static inline __attribute__((always_inline)) bool spans_meet(FaPairKind kind, const FaSpan *box, const int v[4]) {
#ifdef __SSE2__
    __m128 lo[4], hi[4];
    for (int i = 0; i < 4; i++) {
        lo[i] = _mm_loadu_ps(box[v[i]].lo);
        hi[i] = _mm_loadu_ps(box[v[i]].hi);
    }
    __m128 blo = _mm_min_ps(lo[2], lo[3]), bhi = _mm_max_ps(hi[2], hi[3]);
    if (kind == FA_PAIR_VERTEX_TRIANGLE) {
        blo = _mm_min_ps(blo, lo[1]);
        bhi = _mm_max_ps(bhi, hi[1]);
    } else {
        lo[0] = _mm_min_ps(lo[0], lo[1]);
        hi[0] = _mm_max_ps(hi[0], hi[1]);
    }
    return _mm_movemask_ps(_mm_and_ps(_mm_cmple_ps(lo[0], bhi), _mm_cmple_ps(blo, hi[0]))) == 15;
#else
    bool meet = true;
    for (int k = 0; k < 3; k++) {
        float alo = box[v[0]].lo[k], ahi = box[v[0]].hi[k], blo = box[v[3]].lo[k], bhi = box[v[3]].hi[k];
        for (int i = 1; i < 3; i++) {
            float lo = box[v[i]].lo[k], hi = box[v[i]].hi[k];
            if (kind == FA_PAIR_EDGE_EDGE && i == 1) {
                alo = lo < alo ? lo : alo;
                ahi = hi > ahi ? hi : ahi;
            } else {
                blo = lo < blo ? lo : blo;
                bhi = hi > bhi ? hi : bhi;
            }
        }
        meet = meet && alo <= bhi && blo <= ahi;
    }
    return meet;
#endif
}

// What is read does not depend on how many there are so far: pairs overlap in the processor.
static inline __attribute__((always_inline)) void feed(Batch *t, FaPairKind kind, FaPairId id) {
    const FaPairs *p = t->s->p;
    int v[4];
    fai_pair_points(p, kind, id.a, id.b, v);
    bool take = spans_meet(kind, p->point_box, v);
    if (t->s->how->only_moved) take = take & !!(p->moved[v[0]] | p->moved[v[1]] | p->moved[v[2]] | p->moved[v[3]]);
    t->id[t->n] = id;
    for (int i = 0; i < 4; i++) t->point[t->n][i] = v[i];
    t->n += take;
    if (t->n == BATCH) flush(t);
}

// Of a list that was filled from the back, from the back. Inlined for each kind.
static inline __attribute__((always_inline)) void feed_list(Batch *t, FaPairKind kind, const FaPairId *id, int n) {
    t->kind = kind;
    for (int i = 0; i < n; i++) feed(t, kind, id[kind == FA_PAIR_VERTEX_TRIANGLE ? i : n - 1 - i]);
}

static void feed_walked(void *ctx, FaPairKind kind, int a, int b) {
    Batch *t = ctx;
    if (kind == t->kind) feed(t, kind, (FaPairId){a, b});
}

// First all of one kind, then of the other, in the order of the walk: the same whether they are listed or not.
static void search_chunk(void *ctx, int begin, int end, int chunk) {
    const Search *s = ctx;
    FaPairs *p = s->p;
    p->nhit[chunk] = p->nover[chunk] = p->ntest[chunk] = p->nnear[chunk] = 0;
    Batch t;
    t.s = s;
    t.chunk = chunk;
    t.n = 0;
    if (p->nlist[2 * chunk] >= 0) {
        feed_list(&t, FA_PAIR_VERTEX_TRIANGLE, fai_pairs_listed(p, chunk, FA_PAIR_VERTEX_TRIANGLE),
                  p->nlist[2 * chunk]);
        flush(&t);
        feed_list(&t, FA_PAIR_EDGE_EDGE, fai_pairs_listed(p, chunk, FA_PAIR_EDGE_EDGE), p->nlist[2 * chunk + 1]);
        flush(&t);
        return;
    }
    for (int kind = 0; kind < 2; kind++) {
        t.kind = (FaPairKind)kind;
        fai_pairs_walk(p, begin, end, chunk, feed_walked, &t);
        flush(&t);
    }
}

static void list_chunk(void *ctx, int begin, int end, int chunk) { fai_pairs_list(ctx, begin, end, chunk); }

// Are there too many? Each chunk counts no further than that.
static bool list_all(FaPairs *p) {
    int64_t all = 0;
    if (!p->listed) fai_parallel(p->nleaf, FA_PAIRS_LEAVES, list_chunk, p);
    for (int c = 0; c < p->nchunk; c++) all += p->nmeet[c];
    p->listed = all <= fai_pairs_most(p); // else it is not whole
    return !p->listed;
}

void fai_pairs_none(FaPairs *p) {
    for (int c = 0; c < p->nchunk; c++) p->nhit[c] = p->nover[c] = p->ntest[c] = p->nnear[c] = 0;
}

int64_t fai_pairs_work(const FaPairs *p) {
    enum { NEAR = 8 };
    int64_t work = 0;
    for (int c = 0; c < p->nchunk; c++) work += p->ntest[c] + NEAR * (int64_t)p->nnear[c];
    return work;
}

int fai_pairs_search(FaPairs *p, const FaPairSearch *search, int *over) {
    Search s = {p, search};
    int kept = 0, lost = 0;
    p->full = list_all(p);
    if (p->full)
        fai_pairs_none(p);
    else
        fai_parallel(p->nleaf, FA_PAIRS_LEAVES, search_chunk, &s);
    for (int c = 0; c < p->nchunk; c++) {
        kept += p->nhit[c];
        lost += p->nover[c];
    }
    if (over) *over = lost;
    return kept;
}
