// Solving: the panels are streamed once forwards and once backwards, for four right-hand sides at a time.
//
// Single. A row of a panel is read in pairs of columns (l0, l1), which one instruction spreads over a register;
// right-hand sides are kept in pairs too, so that eight products are one instruction and nothing is shuffled inside the
// loops:
//
//     row of L      l0 l1   l0 l1   l0 l1   l0 l1            forwards: even and odd columns are summed apart and
//     pair of y     y0 y1   y0 y1   y0 y1   y0 y1                      added at the end of a row
//                   (x 1)   (x 2)   (x 3)   (spare)          backwards: rows are dealt out to 2 or 4 sums per column
//
// Double. One register is one unknown's quadruple; sums are plain chains. The plain kernels do the same sums in the
// same order with fma, and give the same bits.
#include "math/chol_work.h"

#include "base/task.h"

#define INLINE inline __attribute__((always_inline))

// What a kernel is given: a panel of w columns, the vector of the part, the panel's first unknown in it, the places of
// its rows below, and the panel to come, which it fetches as it goes (3 % faster: the hardware does not see it,
// backwards).
#define PANEL_ARGS(T) const T *panel, T *x, int col, int w, const int *row, int nrow, const T *next
typedef void PanelFloat(PANEL_ARGS(float));
typedef void PanelDouble(PANEL_ARGS(double));

// Sums that rows are dealt out to, backwards: enough to hide the latency.
static INLINE int sums_of(int wide) { return wide <= 4 ? 4 : 2; }

// --- single, plain ------------------------------------------------------------------------------------------------

// out = row . y for the first `wide` columns
static INLINE void row_dot(const float *l, const float (*y)[4], int wide, float *out) {
    for (int q = 0; q < 4; q++) {
        float even = 0, odd = 0;
        for (int j = 0; j < wide; j += 2) {
            even = __builtin_fmaf(l[j], y[j][q], even);
            odd = __builtin_fmaf(l[j + 1], y[j + 1][q], odd);
        }
        out[q] = even + odd;
    }
}

static void forward_float_ref(PANEL_ARGS(float)) {
    (void)next;
    int wide = fai_even(w);
    float b[FA_CHOL_WIDTH][4] = {0}, y[FA_CHOL_WIDTH][4] = {0}, d[4];
    memcpy(b, x + 4 * (size_t)col, (size_t)w * sizeof *b);
    for (int k = 0; k < wide; k++) row_dot(panel + k * wide, b, (k | 1) + 1, y[k]);
    memcpy(x + 4 * (size_t)col, y, (size_t)w * sizeof *y);
    panel += wide * wide;
    for (int i = 0; i < nrow; i++, panel += wide) {
        row_dot(panel, y, wide, d);
        for (int q = 0; q < 4; q++) x[4 * (size_t)row[i] + (size_t)q] -= d[q];
    }
}

static void backward_float_ref(PANEL_ARGS(float)) {
    (void)next;
    int wide = fai_even(w), sums = sums_of(wide);
    float s[4][FA_CHOL_WIDTH][4] = {0}, t[FA_CHOL_WIDTH][4] = {0}, out[FA_CHOL_WIDTH][4] = {0};
    const float *below = panel + wide * wide;
    for (int i = 0; i < nrow; i++, below += wide)
        for (int j = 0; j < wide; j++)
            for (int q = 0; q < 4; q++) {
                float *to = &s[i % sums][j][q];
                *to = __builtin_fmaf(below[j], x[4 * (size_t)row[i] + (size_t)q], *to);
            }
    for (int j = 0; j < w; j++)
        for (int q = 0; q < 4; q++) {
            float sum = s[0][j][q] + s[1][j][q];
            if (sums == 4) sum += s[2][j][q] + s[3][j][q];
            t[j][q] = x[4 * (size_t)(col + j) + (size_t)q] - sum;
        }
    for (int i = 0; i < wide; i++)
        for (int j = 0; j < (i | 1) + 1; j++)
            for (int q = 0; q < 4; q++) out[j][q] = __builtin_fmaf(panel[i * wide + j], t[i][q], out[j][q]);
    memcpy(x + 4 * (size_t)col, out, (size_t)w * sizeof *out);
}

// --- double, plain ------------------------------------------------------------------------------------------------

static void forward_double_ref(PANEL_ARGS(double)) {
    (void)next;
    int wide = fai_even(w);
    double y[FA_CHOL_WIDTH][4] = {0};
    for (int k = 0; k < w; k++)
        for (int j = 0; j <= k; j++)
            for (int q = 0; q < 4; q++)
                y[k][q] = __builtin_fma(panel[k * wide + j], x[4 * (size_t)(col + j) + (size_t)q], y[k][q]);
    memcpy(x + 4 * (size_t)col, y, (size_t)w * sizeof *y);
    panel += wide * wide;
    for (int i = 0; i < nrow; i++, panel += wide)
        for (int j = 0; j < wide; j++)
            for (int q = 0; q < 4; q++) {
                double *to = &x[4 * (size_t)row[i] + (size_t)q];
                *to = __builtin_fma(-panel[j], y[j][q], *to);
            }
}

static void backward_double_ref(PANEL_ARGS(double)) {
    (void)next;
    int wide = fai_even(w);
    double t[FA_CHOL_WIDTH][4] = {0}, out[FA_CHOL_WIDTH][4] = {0};
    memcpy(t, x + 4 * (size_t)col, (size_t)w * sizeof *t);
    const double *below = panel + wide * wide;
    for (int i = 0; i < nrow; i++, below += wide)
        for (int j = 0; j < wide; j++)
            for (int q = 0; q < 4; q++) t[j][q] = __builtin_fma(-below[j], x[4 * (size_t)row[i] + (size_t)q], t[j][q]);
    for (int i = 0; i < w; i++)
        for (int j = 0; j <= i; j++)
            for (int q = 0; q < 4; q++) out[j][q] = __builtin_fma(panel[i * wide + j], t[i][q], out[j][q]);
    memcpy(x + 4 * (size_t)col, out, (size_t)w * sizeof *out);
}

#ifdef FA_CHOL_AVX2
#define FETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)

// --- single, AVX2 -------------------------------------------------------------------------------------------------

// Quadruples a, b <-> pairs a1 b1 a2 b2 | a3 b3 a4 b4
AVX2 static INLINE __m256 to_pairs(__m128 a, __m128 b) {
    return _mm256_set_m128(_mm_unpackhi_ps(a, b), _mm_unpacklo_ps(a, b));
}
AVX2 static INLINE __m128 even_of(__m256 p) {
    return _mm_shuffle_ps(_mm256_castps256_ps128(p), _mm256_extractf128_ps(p, 1), 0x88);
}
AVX2 static INLINE __m128 odd_of(__m256 p) {
    return _mm_shuffle_ps(_mm256_castps256_ps128(p), _mm256_extractf128_ps(p, 1), 0xDD);
}
AVX2 static INLINE __m256 spread(const float *l) {
    return _mm256_castpd_ps(_mm256_broadcast_sd((const double *)(const void *)l));
}
// x1 x1 x2 x2 | x3 x3 x4 x4
AVX2 static INLINE __m256 twice(const float *x) {
    return _mm256_permutevar_ps(_mm256_broadcast_ps((const __m128 *)(const void *)x),
                                _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
}

AVX2 static INLINE __m256 dot_pairs(const float *l, const __m256 *y, const int pairs) {
    __m256 s = _mm256_setzero_ps();
    UNROLL for (int p = 0; p < pairs; p++) s = _mm256_fmadd_ps(spread(l + 2 * p), y[p], s);
    return s;
}

AVX2 static INLINE void forward_wide(PANEL_ARGS(float), const int pairs) {
    const int wide = 2 * pairs;
    __m256 b[4], y[4];
    __m128 zero = _mm_setzero_ps();
    float *own = x + 4 * (size_t)col;
    UNROLL for (int p = 0; p < pairs; p++) {
        b[p] = to_pairs(_mm_loadu_ps(own + 8 * p), 2 * p + 1 < w ? _mm_loadu_ps(own + 8 * p + 4) : zero);
    }
    UNROLL for (int p = 0; p < pairs; p++) {
        __m256 s0 = dot_pairs(panel + 2 * p * wide, b, p + 1), s1 = dot_pairs(panel + (2 * p + 1) * wide, b, p + 1);
        __m128 y0 = _mm_add_ps(even_of(s0), odd_of(s0)), y1 = _mm_add_ps(even_of(s1), odd_of(s1));
        _mm_storeu_ps(own + 8 * p, y0);
        if (2 * p + 1 < w) _mm_storeu_ps(own + 8 * p + 4, y1);
        y[p] = to_pairs(y0, y1);
    }
    panel += wide * wide;
    int i = 0;
    for (; i + 1 < nrow; i += 2, panel += 2 * wide, next += 2 * wide) {
        FETCH(next);
        __m256 s0 = dot_pairs(panel, y, pairs), s1 = dot_pairs(panel + wide, y, pairs);
        // both rows at once: even + odd, then each row's halves together
        __m256 d = _mm256_add_ps(_mm256_shuffle_ps(s0, s1, 0x88), _mm256_shuffle_ps(s0, s1, 0xDD));
        __m128 lo = _mm256_castps256_ps128(d), hi = _mm256_extractf128_ps(d, 1);
        float *x0 = x + 4 * (size_t)row[i], *x1 = x + 4 * (size_t)row[i + 1];
        _mm_storeu_ps(x0, _mm_sub_ps(_mm_loadu_ps(x0), _mm_movelh_ps(lo, hi)));
        _mm_storeu_ps(x1, _mm_sub_ps(_mm_loadu_ps(x1), _mm_movehl_ps(hi, lo)));
    }
    if (i < nrow) {
        __m256 s = dot_pairs(panel, y, pairs);
        float *to = x + 4 * (size_t)row[i];
        _mm_storeu_ps(to, _mm_sub_ps(_mm_loadu_ps(to), _mm_add_ps(even_of(s), odd_of(s))));
    }
}

AVX2 static INLINE void backward_wide(PANEL_ARGS(float), const int pairs) {
    const int wide = 2 * pairs, sums = pairs <= 2 ? 4 : 2;
    const float *below = panel + wide * wide;
    __m256 s[4][4];
    UNROLL for (int k = 0; k < sums; k++) UNROLL for (int p = 0; p < pairs; p++) s[k][p] = _mm256_setzero_ps();
    int i = 0;
    for (; i + sums <= nrow; i += sums, below += sums * wide, next += sums * wide) {
        FETCH(next);
        UNROLL for (int k = 0; k < sums; k++) {
            __m256 v = twice(x + 4 * (size_t)row[i + k]);
            UNROLL for (int p = 0; p < pairs; p++) {
                s[k][p] = _mm256_fmadd_ps(spread(below + k * wide + 2 * p), v, s[k][p]);
            }
        }
    }
    UNROLL for (int k = 0; k < sums - 1; k++) {
        if (i + k >= nrow) break;
        __m256 v = twice(x + 4 * (size_t)row[i + k]);
        UNROLL for (int p = 0; p < pairs; p++) s[k][p] = _mm256_fmadd_ps(spread(below + k * wide + 2 * p), v, s[k][p]);
    }
    float t[FA_CHOL_WIDTH][4];
    float *own = x + 4 * (size_t)col;
    UNROLL for (int p = 0; p < pairs; p++) {
        __m256 sum = _mm256_add_ps(s[0][p], s[1][p]);
        if (sums == 4) sum = _mm256_add_ps(sum, _mm256_add_ps(s[2][p], s[3][p]));
        _mm_storeu_ps(t[2 * p], _mm_sub_ps(_mm_loadu_ps(own + 8 * p), even_of(sum)));
        _mm_storeu_ps(t[2 * p + 1],
                      2 * p + 1 < w ? _mm_sub_ps(_mm_loadu_ps(own + 8 * p + 4), odd_of(sum)) : _mm_setzero_ps());
    }
    __m256 out[4];
    UNROLL for (int p = 0; p < pairs; p++) out[p] = _mm256_setzero_ps();
    UNROLL for (int k = 0; k < wide; k++) {
        __m256 v = twice(t[k]);
        UNROLL for (int p = 0; p <= k / 2; p++) out[p] = _mm256_fmadd_ps(spread(panel + k * wide + 2 * p), v, out[p]);
    }
    UNROLL for (int p = 0; p < pairs; p++) {
        _mm_storeu_ps(own + 8 * p, even_of(out[p]));
        if (2 * p + 1 < w) _mm_storeu_ps(own + 8 * p + 4, odd_of(out[p]));
    }
}

#define BY_PAIRS(name, wide_name)                                                                                      \
    AVX2 static void name(PANEL_ARGS(float)) {                                                                         \
        switch ((w + 1) / 2) {                                                                                         \
        case 1: wide_name(panel, x, col, w, row, nrow, next, 1); break;                                                \
        case 2: wide_name(panel, x, col, w, row, nrow, next, 2); break;                                                \
        case 3: wide_name(panel, x, col, w, row, nrow, next, 3); break;                                                \
        default: wide_name(panel, x, col, w, row, nrow, next, 4);                                                      \
        }                                                                                                              \
    }
BY_PAIRS(forward_float_avx2, forward_wide)
BY_PAIRS(backward_float_avx2, backward_wide)

// --- double, AVX2 -------------------------------------------------------------------------------------------------

AVX2 static INLINE void forward_wide_d(PANEL_ARGS(double), const int wide) {
    __m256d y[FA_CHOL_WIDTH];
    double *own = x + 4 * (size_t)col;
    UNROLL for (int k = wide; k-- > 0;) {
        y[k] = _mm256_setzero_pd();
        UNROLL for (int j = 0; j <= k; j++) {
            if (j >= w) break;
            y[k] = _mm256_fmadd_pd(_mm256_broadcast_sd(panel + k * wide + j), _mm256_loadu_pd(own + 4 * j), y[k]);
        }
        if (k < w) _mm256_storeu_pd(own + 4 * k, y[k]);
    }
    panel += wide * wide;
    int i = 0;
    for (; i + 1 < nrow; i += 2, panel += 2 * wide, next += 2 * wide) {
        FETCH(next);
        double *x0 = x + 4 * (size_t)row[i], *x1 = x + 4 * (size_t)row[i + 1];
        __m256d s0 = _mm256_loadu_pd(x0), s1 = _mm256_loadu_pd(x1);
        UNROLL for (int j = 0; j < wide; j++) {
            s0 = _mm256_fnmadd_pd(_mm256_broadcast_sd(panel + j), y[j], s0);
            s1 = _mm256_fnmadd_pd(_mm256_broadcast_sd(panel + wide + j), y[j], s1);
        }
        _mm256_storeu_pd(x0, s0);
        _mm256_storeu_pd(x1, s1);
    }
    if (i < nrow) {
        double *x0 = x + 4 * (size_t)row[i];
        __m256d s0 = _mm256_loadu_pd(x0);
        UNROLL for (int j = 0; j < wide; j++) s0 = _mm256_fnmadd_pd(_mm256_broadcast_sd(panel + j), y[j], s0);
        _mm256_storeu_pd(x0, s0);
    }
}

AVX2 static INLINE void backward_wide_d(PANEL_ARGS(double), const int wide) {
    __m256d t[FA_CHOL_WIDTH];
    double *own = x + 4 * (size_t)col;
    const double *below = panel + wide * wide;
    UNROLL for (int j = 0; j < wide; j++) t[j] = j < w ? _mm256_loadu_pd(own + 4 * j) : _mm256_setzero_pd();
    for (int i = 0; i < nrow; i++, below += wide, next += wide) {
        FETCH(next);
        __m256d v = _mm256_loadu_pd(x + 4 * (size_t)row[i]);
        UNROLL for (int j = 0; j < wide; j++) t[j] = _mm256_fnmadd_pd(_mm256_broadcast_sd(below + j), v, t[j]);
    }
    UNROLL for (int j = 0; j < wide; j++) {
        __m256d out = _mm256_setzero_pd();
        UNROLL for (int i = j; i < wide; i++) if (i < w) out =
            _mm256_fmadd_pd(_mm256_broadcast_sd(panel + i * wide + j), t[i], out);
        if (j < w) _mm256_storeu_pd(own + 4 * j, out);
    }
}

#define BY_WIDTH(name, wide_name)                                                                                      \
    AVX2 static void name(PANEL_ARGS(double)) {                                                                        \
        switch ((w + 1) / 2) {                                                                                         \
        case 1: wide_name(panel, x, col, w, row, nrow, next, 2); break;                                                \
        case 2: wide_name(panel, x, col, w, row, nrow, next, 4); break;                                                \
        case 3: wide_name(panel, x, col, w, row, nrow, next, 6); break;                                                \
        default: wide_name(panel, x, col, w, row, nrow, next, 8);                                                      \
        }                                                                                                              \
    }
BY_WIDTH(forward_double_avx2, forward_wide_d)
BY_WIDTH(backward_double_avx2, backward_wide_d)
#endif

// --- parts --------------------------------------------------------------------------------------------------------

static size_t panel_size(const FaCholSuper *s, int k, int w) {
    return (size_t)fai_even(w) * (size_t)(s->width - k - w + s->nrow + fai_even(w));
}

// Both types: see there.
#define T float
#define PANEL PanelFloat
#define NAME(x) x##_f
#include "math/chol_parts.h"
#undef T
#undef PANEL
#undef NAME
#define T double
#define PANEL PanelDouble
#define NAME(x) x##_d
#include "math/chol_parts.h"
#undef T
#undef PANEL
#undef NAME

// --- the zone, single ---------------------------------------------------------------------------------------------

typedef struct Zone {
    const float *inverse, *pairs;
    float *x;
    int n;
    bool avx2;
} Zone;

enum { ZONE_ROWS = 64 };

// pairs: rows 2 j and 2 j + 1 of the right-hand side, interleaved as the kernels want them; an odd last one with zeros.
static INLINE void zone_row_ref(const Zone *z, int i) {
    const float *l = z->inverse + (size_t)i * (size_t)z->n;
    for (int q = 0; q < 4; q++) {
        float even = 0, odd = 0;
        for (int j = 0; j < z->n; j++) {
            const float *y = z->pairs + 8 * (size_t)(j / 2) + 2 * q;
            if (j % 2)
                odd = __builtin_fmaf(l[j], y[1], odd);
            else
                even = __builtin_fmaf(l[j], y[0], even);
        }
        z->x[4 * (size_t)i + (size_t)q] = even + odd;
    }
}

#ifdef FA_CHOL_AVX2
AVX2 static INLINE void zone_rows_wide(const Zone *z, int i, const int rows) {
    const float *l = z->inverse + (size_t)i * (size_t)z->n;
    size_t n = (size_t)z->n;
    __m256 s[8];
    UNROLL for (int r = 0; r < rows; r++) s[r] = _mm256_setzero_ps();
    for (size_t j = 0; j + 1 < n; j += 2) {
        __m256 y = _mm256_loadu_ps(z->pairs + 4 * j);
        UNROLL for (int r = 0; r < rows; r++) s[r] = _mm256_fmadd_ps(spread(l + (size_t)r * n + j), y, s[r]);
    }
    UNROLL for (int r = 0; r < rows; r++) {
        __m128 even = even_of(s[r]);
        if (n % 2)
            even = _mm_fmadd_ps(_mm_broadcast_ss(l + (size_t)r * n + n - 1),
                                even_of(_mm256_loadu_ps(z->pairs + 4 * (n - 1))), even);
        _mm_storeu_ps(z->x + 4 * (size_t)(i + r), _mm_add_ps(even, odd_of(s[r])));
    }
}

AVX2 static void zone_rows_avx2(const Zone *z, int begin, int end) {
    int i = begin;
    for (; i + 8 <= end; i += 8) zone_rows_wide(z, i, 8);
    for (; i < end; i++) zone_rows_wide(z, i, 1);
}
#endif

static void zone_rows(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Zone *z = ctx;
#ifdef FA_CHOL_AVX2
    if (z->avx2) {
        zone_rows_avx2(z, begin, end);
        return;
    }
#endif
    for (int i = begin; i < end; i++) zone_row_ref(z, i);
}

// --- calls --------------------------------------------------------------------------------------------------------

static Solve_f solve_of_f(FaChol *c, const float *b, float *x) {
    FA_ASSERT(c->ready && c->single);
    Solve_f v = {c->plan, c->panel_f, c->vec_f, b, x, forward_float_ref, backward_float_ref, 0};
#ifdef FA_CHOL_AVX2
    if (c->avx2) v.forward = forward_float_avx2, v.backward = backward_float_avx2;
#endif
    return v;
}

// The zone's own vector, which its children's tails are added to.
static float *zone_vec(FaChol *c) { return c->vec_f + 4 * c->plan->part[c->plan->npart - 1].vec; }

void fai_chol_forward_f(FaChol *c, const float *b, float *zone) {
    FA_ASSERT(c->plan && c->plan->nzone);
    Solve_f v = solve_of_f(c, b, NULL);
    forward_stages_f(&v);
    const FaCholPlan *p = c->plan;
    const float *x = gather_f(&v, &p->part[p->npart - 1]);
    if (zone != x) memcpy(zone, x, 4 * (size_t)p->nzone * sizeof *x);
}

void fai_chol_zone_f(FaChol *c, const float *b, float *x) {
    FA_ASSERT(c->ready && c->single && c->plan->nzone);
    int n = c->plan->nzone;
    for (int j = 0; j < n; j++)
        for (int q = 0; q < 4; q++)
            c->pairs[8 * (size_t)(j / 2) + (size_t)(2 * q + j % 2)] = b[4 * (size_t)j + (size_t)q];
    Zone z = {c->inverse, c->pairs, x, n, c->avx2};
    fai_parallel(n, ZONE_ROWS, zone_rows, &z);
}

void fai_chol_backward_f(FaChol *c, const float *zone, float *x) {
    FA_ASSERT(c->plan && c->plan->nzone);
    const FaCholPlan *p = c->plan;
    Solve_f v = solve_of_f(c, NULL, x);
    float *to = zone_vec(c);
    if (to != zone) memcpy(to, zone, 4 * (size_t)p->nzone * sizeof *to);
    for (int j = 0; j < p->nzone; j++) memcpy(x + 4 * (size_t)p->perm[p->ninner + j], to + 4 * j, 4 * sizeof *x);
    backward_stages_f(&v);
}

void fai_chol_solve_f(FaChol *c, const float *b, float *x) {
    FA_ASSERT(c->plan && !c->mod);
    if (c->plan->nzone) {
        float *zone = zone_vec(c);
        fai_chol_forward_f(c, b, zone);
        fai_chol_zone_f(c, zone, zone);
        fai_chol_backward_f(c, zone, x);
        return;
    }
    Solve_f v = solve_of_f(c, b, x);
    forward_stages_f(&v);
    backward_stages_f(&v);
}

void fai_chol_solve_d(FaChol *c, const double *b, double *x) {
    FA_ASSERT(c->ready && !c->single);
    if (c->mod) {
        c->peer->solve(c->mod, b, x);
        return;
    }
    const FaCholPlan *p = c->plan;
    Solve_d v = {p, c->panel_d, c->vec_d, b, x, forward_double_ref, backward_double_ref, 0};
#ifdef FA_CHOL_AVX2
    if (c->avx2) v.forward = forward_double_avx2, v.backward = backward_double_avx2;
#endif
    forward_stages_d(&v);
    v.first = p->npart - 1;
    if (p->nzone) {
        forward_parts_d(&v, 0, 1, 0);
        backward_parts_d(&v, 0, 1, 0);
    }
    backward_stages_d(&v);
}
