// Pairs that never come near each other, told by a few directions: nearly all that a search finds.
//
// A direction n separates a pair on its whole way if all differences of corners, at the start and at the end, lie
// beyond the gap along n. Tried are the direction between the middles, the normal of the flat at the start (of the
// triangle; of both edges), and in that flat the directions across each edge: sheets that lie on each other have many
// pairs side by side. Four pairs at a time where there is AVX2; the twin does the same operations in the same order.
#include "contact/ccd.h"

#include <math.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_AVX2 1
#define AVX2 static inline __attribute__((target("avx2"), always_inline))
#endif

// As in ccd.c: products of differences of coordinates up to `size`, and of tiny numbers.
#define ROUNDING 4e-15
#define UNDERFLOW 1e-290
#define LENGTHS (1 + 1e-14) // rounding of a direction's length

// --- one ----------------------------------------------------------------------------------------------------------

#define INLINE static inline __attribute__((always_inline))

typedef struct Ways {
    int n;
    double d0[4][3], d1[4][3]; // corner - corner, across: at the start and the end
    double limit;
} Ways;

INLINE double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

INLINE void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

// Not normalised: projections are compared with the limit times the direction's length.
INLINE bool separates(const Ways *w, const double n[3]) {
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (int i = 0; i < w->n; i++) {
        double e0 = dot(n, w->d0[i]), e1 = dot(n, w->d1[i]), lo = e0 < e1 ? e0 : e1, hi = e0 > e1 ? e0 : e1;
        least = lo < least ? lo : least;
        most = hi > most ? hi : most;
    }
    double limit = w->limit * sqrt(dot(n, n)) * LENGTHS + UNDERFLOW;
    return (least > limit) | (most < -limit);
}

INLINE bool apart(FaPairKind kind, const double (*from)[3], const double (*to)[3], const int v[4], double limit) {
    bool flat = kind == FA_PAIR_VERTEX_TRIANGLE;
    Ways w = {.n = flat ? 3 : 4, .limit = limit};
    double n[3] = {0, 0, 0}, e[3][3], m[3];
    for (int i = 0; i < w.n; i++) {
        int a = v[flat ? 0 : i >> 1], b = v[flat ? 1 + i : 2 + (i & 1)];
        for (int k = 0; k < 3; k++) {
            w.d0[i][k] = from[a][k] - from[b][k];
            w.d1[i][k] = to[a][k] - to[b][k];
            n[k] += w.d0[i][k] + w.d1[i][k];
        }
    }
    if (separates(&w, n)) return true;
    for (int k = 0; k < 3; k++) {
        e[0][k] = flat ? from[v[2]][k] - from[v[1]][k] : from[v[1]][k] - from[v[0]][k];
        e[1][k] = flat ? from[v[3]][k] - from[v[1]][k] : from[v[3]][k] - from[v[2]][k];
        e[2][k] = flat ? from[v[3]][k] - from[v[2]][k] : 0;
    }
    cross(e[0], e[1], n);
    if (separates(&w, n)) return true;
    for (int i = 0; i < (flat ? 3 : 2); i++) {
        cross(e[i], n, m);
        if (separates(&w, m)) return true;
    }
    return false;
}

// --- four ---------------------------------------------------------------------------------------------------------

#ifdef HAVE_AVX2

typedef struct Four {
    __m256d x[3];
} Four;

typedef struct FourWays {
    int n;
    Four d0[4], d1[4];
    __m256d limit;
} FourWays;

// One corner of each pair; a row's fourth number is not used.
AVX2 Four load_four(const double (*x)[3], const int point[4][4], int i) {
    __m256d a = _mm256_loadu_pd(x[point[0][i]]), b = _mm256_loadu_pd(x[point[1][i]]);
    __m256d c = _mm256_loadu_pd(x[point[2][i]]), d = _mm256_loadu_pd(x[point[3][i]]);
    __m256d ab = _mm256_unpacklo_pd(a, b), cd = _mm256_unpacklo_pd(c, d); // x and z
    __m256d ab1 = _mm256_unpackhi_pd(a, b), cd1 = _mm256_unpackhi_pd(c, d);
    return (Four){{_mm256_permute2f128_pd(ab, cd, 0x20), _mm256_permute2f128_pd(ab1, cd1, 0x20),
                   _mm256_permute2f128_pd(ab, cd, 0x31)}};
}

AVX2 Four sub_four(const Four *a, const Four *b) {
    return (Four){{_mm256_sub_pd(a->x[0], b->x[0]), _mm256_sub_pd(a->x[1], b->x[1]), _mm256_sub_pd(a->x[2], b->x[2])}};
}

AVX2 __m256d dot_four(const Four *a, const Four *b) {
    __m256d sum = _mm256_add_pd(_mm256_mul_pd(a->x[0], b->x[0]), _mm256_mul_pd(a->x[1], b->x[1]));
    return _mm256_add_pd(sum, _mm256_mul_pd(a->x[2], b->x[2]));
}

AVX2 Four cross_four(const Four *a, const Four *b) {
    return (Four){{_mm256_sub_pd(_mm256_mul_pd(a->x[1], b->x[2]), _mm256_mul_pd(a->x[2], b->x[1])),
                   _mm256_sub_pd(_mm256_mul_pd(a->x[2], b->x[0]), _mm256_mul_pd(a->x[0], b->x[2])),
                   _mm256_sub_pd(_mm256_mul_pd(a->x[0], b->x[1]), _mm256_mul_pd(a->x[1], b->x[0]))}};
}

AVX2 __m256d separate_four(const FourWays *w, const Four *n) {
    __m256d least = _mm256_set1_pd(HUGE_VAL), most = _mm256_set1_pd(-HUGE_VAL);
    for (int i = 0; i < w->n; i++) {
        __m256d e0 = dot_four(n, &w->d0[i]), e1 = dot_four(n, &w->d1[i]);
        least = _mm256_min_pd(_mm256_min_pd(e0, e1), least);
        most = _mm256_max_pd(_mm256_max_pd(e0, e1), most);
    }
    __m256d limit = _mm256_mul_pd(w->limit, _mm256_sqrt_pd(dot_four(n, n)));
    limit = _mm256_add_pd(_mm256_mul_pd(limit, _mm256_set1_pd(LENGTHS)), _mm256_set1_pd(UNDERFLOW));
    return _mm256_or_pd(_mm256_cmp_pd(least, limit, _CMP_GT_OQ),
                        _mm256_cmp_pd(most, _mm256_sub_pd(_mm256_setzero_pd(), limit), _CMP_LT_OQ));
}

AVX2 unsigned apart_four(FaPairKind kind, const double (*from)[3], const double (*to)[3], const int point[4][4],
                         double limit) {
    bool flat = kind == FA_PAIR_VERTEX_TRIANGLE;
    Four p0[4], p1[4], n = {{_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()}}, e[3], m;
    FourWays w = {.n = flat ? 3 : 4, .limit = _mm256_set1_pd(limit)};
    for (int i = 0; i < 4; i++) {
        p0[i] = load_four(from, point, i);
        p1[i] = load_four(to, point, i);
    }
    for (int i = 0; i < w.n; i++) {
        int a = flat ? 0 : i >> 1, b = flat ? 1 + i : 2 + (i & 1);
        w.d0[i] = sub_four(&p0[a], &p0[b]);
        w.d1[i] = sub_four(&p1[a], &p1[b]);
        for (int k = 0; k < 3; k++) n.x[k] = _mm256_add_pd(n.x[k], _mm256_add_pd(w.d0[i].x[k], w.d1[i].x[k]));
    }
    __m256d is = separate_four(&w, &n);
    if (_mm256_movemask_pd(is) == 15) return 15;
    e[0] = flat ? sub_four(&p0[2], &p0[1]) : sub_four(&p0[1], &p0[0]);
    e[1] = flat ? sub_four(&p0[3], &p0[1]) : sub_four(&p0[3], &p0[2]);
    e[2] = sub_four(&p0[3], &p0[2]);
    n = cross_four(&e[0], &e[1]);
    is = _mm256_or_pd(is, separate_four(&w, &n));
    if (_mm256_movemask_pd(is) == 15) return 15;
    for (int i = 0; i < (flat ? 3 : 2); i++) {
        m = cross_four(&e[i], &n);
        is = _mm256_or_pd(is, separate_four(&w, &m));
    }
    return (unsigned)_mm256_movemask_pd(is);
}

static __attribute__((target("avx2"))) unsigned apart_flat_four(const double (*from)[3], const double (*to)[3],
                                                                const int point[4][4], double limit) {
    return apart_four(FA_PAIR_VERTEX_TRIANGLE, from, to, point, limit);
}

static __attribute__((target("avx2"))) unsigned apart_edges_four(const double (*from)[3], const double (*to)[3],
                                                                 const int point[4][4], double limit) {
    return apart_four(FA_PAIR_EDGE_EDGE, from, to, point, limit);
}

#endif

unsigned fai_ccd_apart_many(bool simd, FaPairKind kind, const double (*from)[3], const double (*to)[3],
                            const int point[FA_CCD_LANES][4], double min_gap, double size) {
    double limit = min_gap * LENGTHS + ROUNDING * size + UNDERFLOW;
    bool flat = kind == FA_PAIR_VERTEX_TRIANGLE;
#ifdef HAVE_AVX2
    if (simd) return flat ? apart_flat_four(from, to, point, limit) : apart_edges_four(from, to, point, limit);
#endif
    (void)simd;
    unsigned is = 0;
    for (int l = 0; l < FA_CCD_LANES; l++)
        is |= (unsigned)(flat ? apart(FA_PAIR_VERTEX_TRIANGLE, from, to, point[l], limit)
                              : apart(FA_PAIR_EDGE_EDGE, from, to, point[l], limit))
              << l;
    return is;
}
