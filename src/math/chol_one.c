// Solving for one right-hand side with a rough factor: what a scalar matrix of all coordinates (3n unknowns) needs as a
// preconditioner.
//
// The panels of chol_solve.c with one number per unknown instead of four, and numbers of 16 bits, the upper half of a
// float: that halves what comes from memory, and conjugate gradients hardly notice what is cut off. Rows are taken as
// eight numbers wherever they end: what is beyond belongs to the next row, and meets zeros or sums that nobody reads.
// Forwards, eight rows give eight sums at a time, added in pairs; backwards, rows are dealt out to four sums. The plain
// kernels have the same order of the same operations: the same bits.
#include "math/chol_work.h"

#include "base/task.h"

enum { W = FA_CHOL_WIDTH };
_Static_assert(W == 8, "rows are eight numbers");

// The columns of a panel are x[col..col + w), its nrow rows x[row[..]]. next: the panel to come, fetched along the way;
// the hardware does not foresee it, backwards.
typedef void PanelFn(const uint16_t *panel, float *x, int col, int w, const int *row, int nrow, const uint16_t *next);

typedef struct Solve {
    const FaCholPlan *p;
    const uint16_t *panel;
    float *vec;     // (nvec)
    const float *b; // (n)
    float *x;       // (n)
    int first;      // part of the stage
    PanelFn *forward, *backward;
} Solve;

// --- plain --------------------------------------------------------------------------------------------------------

static float widen(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static float dot_ref(const uint16_t *l, const float y[W]) {
    float p[W];
    for (int k = 0; k < W; k++) p[k] = widen(l[k]) * y[k];
    return ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
}

static void forward_ref(const uint16_t *panel, float *x, int col, int w, const int *row, int nrow,
                        const uint16_t *next) {
    (void)next;
    int wide = fai_even(w);
    float b[W] = {0}, y[W] = {0};
    for (int k = 0; k < w; k++) b[k] = x[col + k];
    for (int k = 0; k < w; k++) x[col + k] = y[k] = dot_ref(panel + k * wide, b);
    panel += wide * wide;
    for (int i = 0; i < nrow; i++, panel += wide) x[row[i]] -= dot_ref(panel, y);
}

static void add_row_ref(const uint16_t *l, float v, float s[W]) {
    for (int k = 0; k < W; k++) s[k] = __builtin_fmaf(widen(l[k]), v, s[k]);
}

static void backward_ref(const uint16_t *panel, float *x, int col, int w, const int *row, int nrow,
                         const uint16_t *next) {
    (void)next;
    int wide = fai_even(w);
    const uint16_t *below = panel + wide * wide;
    float s[4][W] = {{0}}, o[2][W] = {{0}};
    for (int i = 0; i < nrow; i++, below += wide) add_row_ref(below, x[row[i]], s[i % 4]);
    for (int k = 0; k < w; k++)
        add_row_ref(panel + k * wide, x[col + k] - ((s[0][k] + s[1][k]) + (s[2][k] + s[3][k])), o[k % 2]);
    for (int k = 0; k < w; k++) x[col + k] = o[0][k] + o[1][k];
}

// --- AVX2 ---------------------------------------------------------------------------------------------------------

#ifdef FA_CHOL_AVX2
#define INLINE inline __attribute__((always_inline))

AVX2 static INLINE __m256 widen8(const uint16_t *l) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)l)), 16));
}

AVX2 static INLINE __m256 times(const uint16_t *l, int row, int wide, __m256 y) {
    return _mm256_mul_ps(widen8(l + row * wide), y);
}

// Eight rows times y.
AVX2 static INLINE __m256 dot8(const uint16_t *l, int wide, __m256 y) {
    __m256 a = _mm256_hadd_ps(times(l, 0, wide, y), times(l, 1, wide, y)),
           b = _mm256_hadd_ps(times(l, 2, wide, y), times(l, 3, wide, y));
    __m256 c = _mm256_hadd_ps(times(l, 4, wide, y), times(l, 5, wide, y)),
           d = _mm256_hadd_ps(times(l, 6, wide, y), times(l, 7, wide, y));
    __m256 low = _mm256_hadd_ps(a, b), high = _mm256_hadd_ps(c, d); // rows 0..3 and 4..7, each of columns 0..3 | 4..7
    return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
}

AVX2 static INLINE void forward_rows(const uint16_t *panel, float *x, int col, int w, const int *row, int nrow) {
    _Alignas(32) float t[W] = {0};
    const int wide = fai_even(w);
    for (int k = 0; k < w; k++) t[k] = x[col + k];
    __m256 y = dot8(panel, wide, _mm256_load_ps(t));
    _mm256_store_ps(t, y);
    for (int k = 0; k < w; k++) x[col + k] = t[k];
    for (int k = w; k < W; k++) t[k] = 0;
    y = _mm256_load_ps(t);
    panel += wide * wide;
    int i = 0;
    for (; i + W <= nrow; i += W, panel += W * wide) {
        _mm256_store_ps(t, dot8(panel, wide, y));
        UNROLL for (int k = 0; k < W; k++) x[row[i + k]] -= t[k];
    }
    if (i == nrow) return;
    _mm256_store_ps(t, dot8(panel, wide, y));
    for (int k = 0; i < nrow; i++, k++) x[row[i]] -= t[k];
}

AVX2 static void forward_avx2(const uint16_t *panel, float *x, int col, int w, const int *row, int nrow,
                              const uint16_t *next) {
    (void)next;
    if (w == W)
        forward_rows(panel, x, col, W, row, nrow);
    else
        forward_rows(panel, x, col, w, row, nrow);
}

AVX2 static INLINE void backward_rows(const uint16_t *panel, float *x, int col, int w, const int *row, int nrow,
                                      const uint16_t *next) {
    const int wide = fai_even(w);
    const uint16_t *below = panel + wide * wide;
    __m256 s[4], o[2];
    UNROLL for (int k = 0; k < 4; k++) s[k] = _mm256_setzero_ps();
    int i = 0;
    for (; i + 4 <= nrow; i += 4, below += 4 * wide, next += 4 * wide) {
        __builtin_prefetch(next);
        UNROLL for (int k = 0; k < 4; k++) s[k] =
            _mm256_fmadd_ps(widen8(below + k * wide), _mm256_broadcast_ss(x + row[i + k]), s[k]);
    }
    UNROLL for (int k = 0; k < 3; k++) if (i + k < nrow) s[k] =
        _mm256_fmadd_ps(widen8(below + k * wide), _mm256_broadcast_ss(x + row[i + k]), s[k]);
    _Alignas(32) float t[W];
    _mm256_store_ps(t, _mm256_add_ps(_mm256_add_ps(s[0], s[1]), _mm256_add_ps(s[2], s[3])));
    o[0] = o[1] = _mm256_setzero_ps();
    for (int k = 0; k < w; k++)
        o[k % 2] = _mm256_fmadd_ps(widen8(panel + k * wide), _mm256_set1_ps(x[col + k] - t[k]), o[k % 2]);
    _mm256_store_ps(t, _mm256_add_ps(o[0], o[1]));
    for (int k = 0; k < w; k++) x[col + k] = t[k];
}

AVX2 static void backward_avx2(const uint16_t *panel, float *x, int col, int w, const int *row, int nrow,
                               const uint16_t *next) {
    if (w == W)
        backward_rows(panel, x, col, W, row, nrow, next);
    else
        backward_rows(panel, x, col, w, row, nrow, next);
}
#endif

// --- parts --------------------------------------------------------------------------------------------------------

static size_t panel_size(const FaCholSuper *s, int k, int w) {
    return (size_t)fai_even(w) * (size_t)(s->width - k - w + s->nrow + fai_even(w));
}

static void forward_part(const Solve *v, const FaCholPart *t) {
    const FaCholPlan *p = v->p;
    float *x = v->vec + t->vec;
    for (int j = 0; j < t->ncol; j++) x[j] = v->b[p->perm[t->col_begin + j]];
    memset(x + t->ncol, 0, (size_t)t->ntail * sizeof *x);
    for (int q = t->child_begin; q < t->child_end; q++) {
        const FaCholPart *c = &p->part[p->part_child[q]];
        const float *from = v->vec + c->vec + (size_t)c->ncol;
        const int *place = p->tail_place + c->tail;
        for (int i = 0; i < c->ntail; i++) x[place[i]] += from[i];
    }
    for (int f = t->super_begin; f < t->super_end; f++) {
        const FaCholSuper *s = &p->super[f];
        const int *local = p->local + s->local;
        const uint16_t *panel = v->panel + s->panel;
        for (int k = 0; k < s->width; k += FA_CHOL_WIDTH) {
            int w = FA_MIN(FA_CHOL_WIDTH, s->width - k), below = s->width - k - w + s->nrow;
            const uint16_t *next = panel + panel_size(s, k, w);
            v->forward(panel, x, local[k], w, local + k + w, below, next);
            panel = next;
        }
    }
}

static void backward_part(const Solve *v, const FaCholPart *t) {
    const FaCholPlan *p = v->p;
    float *x = v->vec + t->vec;
    if (t->parent >= 0) {
        const float *from = v->vec + p->part[t->parent].vec;
        const int *place = p->tail_place + t->tail;
        for (int i = 0; i < t->ntail; i++) x[t->ncol + i] = from[place[i]];
    }
    for (int f = t->super_end; f-- > t->super_begin;) {
        const FaCholSuper *s = &p->super[f];
        const int *local = p->local + s->local;
        const uint16_t *panel = v->panel + s->last_panel;
        for (int k = (s->width - 1) / FA_CHOL_WIDTH * FA_CHOL_WIDTH; k >= 0; k -= FA_CHOL_WIDTH) {
            int w = FA_MIN(FA_CHOL_WIDTH, s->width - k), below = s->width - k - w + s->nrow;
            const uint16_t *next = k   ? panel - panel_size(s, k - FA_CHOL_WIDTH, FA_CHOL_WIDTH)
                                   : f ? v->panel + s[-1].last_panel
                                       : panel;
            v->backward(panel, x, local[k], w, local + k + w, below, next);
            panel = next;
        }
    }
    for (int j = 0; j < t->ncol; j++) v->x[p->perm[t->col_begin + j]] = x[j];
}

static void forward_parts(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Solve *v = ctx;
    for (int k = begin; k < end; k++) forward_part(v, &v->p->part[v->first + k]);
}

static void backward_parts(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Solve *v = ctx;
    for (int k = begin; k < end; k++) backward_part(v, &v->p->part[v->first + k]);
}

void fai_chol_solve_rough(FaChol *c, const float *b, float *x) {
    FA_ASSERT(c->ready && c->panel_r);
    const FaCholPlan *p = c->plan;
    Solve v = {p, c->panel_r, c->vec_f, b, x, 0, forward_ref, backward_ref};
#ifdef FA_CHOL_AVX2
    if (c->avx2) v.forward = forward_avx2, v.backward = backward_avx2;
#endif
    for (int g = 0; g < p->nstage; g++) {
        v.first = p->stage[g];
        fai_parallel(p->stage[g + 1] - v.first, 1, forward_parts, &v);
    }
    for (int g = p->nstage; g-- > 0;) {
        v.first = p->stage[g];
        fai_parallel(p->stage[g + 1] - v.first, 1, backward_parts, &v);
    }
}
