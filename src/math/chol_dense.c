#include "math/chol_dense.h"

#include "base/task.h"
#include "math/chol_work.h"

#include <math.h>

enum {
    WIDTH = FA_CHOL_WIDTH,
    TILE = 12,       // rows of a tile: 12 x 4 sums in registers
    BLOCK = 48,      // columns that are brought up to date together, and rows of a task
    DEPTH = 192,     // columns of one pass of a tile: its rows stay in the first cache
    LARGE = 1 << 20, // multiply-adds from which an update is spread over threads
};

// --- kernels ------------------------------------------------------------------------------------------------------

// c[r][q] -= sum over k < n of a[r][k] b[q][k] for r < nr (4, 8 or 12) and q < nc <= 4; four b are read.
typedef void TileFn(FaCholDense c, FaCholDense a, FaCholDense b, int nr, int nc, int n);

static void tile_ref(FaCholDense c, FaCholDense a, FaCholDense b, int nr, int nc, int n) {
    for (int q = 0; q < nc; q++)
        for (int r = 0; r < nr; r++) {
            const double *l = a.f + (size_t)(r / 4) * a.quad + (size_t)(r % 4), *u = b.f + q;
            double sum = 0, *to = c.f + (size_t)(r / 4) * c.quad + (size_t)(r % 4) + (size_t)q * c.col;
            for (int k = 0; k < n; k++, l += a.col, u += b.col) sum = __builtin_fma(*l, *u, sum);
            *to -= sum;
        }
}

// Rows below a triangle (w x w, by columns of WIDTH): x L' = x in place. inv: 1 / diagonal. n is rounded up to fours.
typedef void SolveRowsFn(FaCholDense x, const double *tri, int w, const double *inv, int n);

static void solve_rows_ref(FaCholDense x, const double *tri, int w, const double *inv, int n) {
    for (int i = 0; i < (n + 3) / 4 * 4; i++) {
        double *row = x.f + (size_t)(i / 4) * x.quad + (size_t)(i % 4);
        for (int k = 0; k < w; k++) {
            double v = row[(size_t)k * x.col];
            for (int j = 0; j < k; j++) v = __builtin_fma(-row[(size_t)j * x.col], tri[k + j * WIDTH], v);
            row[(size_t)k * x.col] = v * inv[k];
        }
    }
}

// L of a w x w block in place; inv: 1 / diagonal. The first column whose pivot is not positive, -1: all are.
static inline __attribute__((always_inline)) int factor_block(double *f, int w, double *inv) {
    for (int k = 0; k < w; k++) {
        double d = f[k + k * WIDTH];
        for (int j = 0; j < k; j++) d = __builtin_fma(-f[k + j * WIDTH], f[k + j * WIDTH], d);
        if (!(d > 0) || !isfinite(d)) return k;
        double root = sqrt(d);
        f[k + k * WIDTH] = root;
        inv[k] = 1 / root;
        for (int i = k + 1; i < w; i++) {
            double v = f[i + k * WIDTH];
            for (int j = 0; j < k; j++) v = __builtin_fma(-f[i + j * WIDTH], f[k + j * WIDTH], v);
            f[i + k * WIDTH] = v * inv[k];
        }
    }
    return -1;
}

static inline __attribute__((always_inline)) void invert_block(const double *f, int w, double *out, int stride) {
    for (int k = 0; k < w; k++) {
        out[k * stride + k] = 1 / f[k + k * WIDTH];
        for (int i = k + 1; i < w; i++) {
            double v = 0;
            for (int j = k; j < i; j++) v = __builtin_fma(-f[i + j * WIDTH], out[j * stride + k], v);
            out[i * stride + k] = v * (1 / f[i + i * WIDTH]);
        }
    }
}

#ifdef FA_CHOL_AVX2
// the same code with the processor's own fma
AVX2 static int factor_block_fma(double *f, int w, double *inv) { return factor_block(f, w, inv); }
AVX2 static void invert_block_fma(const double *f, int w, double *out, int stride) { invert_block(f, w, out, stride); }

AVX2 static inline __attribute__((always_inline)) void tile_rows(FaCholDense c, FaCholDense a, FaCholDense b,
                                                                 const int fours, int nc, int n) {
    __m256d s[3][4];
    UNROLL for (int i = 0; i < fours; i++) UNROLL for (int q = 0; q < 4; q++) s[i][q] = _mm256_setzero_pd();
    const double *l = a.f, *u = b.f;
    for (int k = 0; k < n; k++, l += a.col, u += b.col) {
        __m256d r[3];
        UNROLL for (int i = 0; i < fours; i++) r[i] = _mm256_loadu_pd(l + (size_t)i * a.quad);
        UNROLL for (int q = 0; q < 4; q++) {
            __m256d t = _mm256_broadcast_sd(u + q);
            UNROLL for (int i = 0; i < fours; i++) s[i][q] = _mm256_fmadd_pd(r[i], t, s[i][q]);
        }
    }
    UNROLL for (int q = 0; q < 4; q++) {
        if (q >= nc) break;
        UNROLL for (int i = 0; i < fours; i++) {
            double *to = c.f + (size_t)q * c.col + (size_t)i * c.quad;
            _mm256_storeu_pd(to, _mm256_sub_pd(_mm256_loadu_pd(to), s[i][q]));
        }
    }
}

AVX2 static void tile_avx2(FaCholDense c, FaCholDense a, FaCholDense b, int nr, int nc, int n) {
    if (nr == 12)
        tile_rows(c, a, b, 3, nc, n);
    else if (nr == 8)
        tile_rows(c, a, b, 2, nc, n);
    else
        tile_rows(c, a, b, 1, nc, n);
}

AVX2 static inline __attribute__((always_inline)) void solve_width(FaCholDense x, const double *tri, const int w,
                                                                   const double *inv, int n) {
    double *row = x.f;
    for (int i = 0; i < n; i += 4, row += x.quad) {
        __m256d v[WIDTH];
        UNROLL for (int k = 0; k < w; k++) {
            v[k] = _mm256_loadu_pd(row + (size_t)k * x.col);
            UNROLL for (int j = 0; j < k; j++) {
                v[k] = _mm256_fnmadd_pd(v[j], _mm256_broadcast_sd(tri + k + j * WIDTH), v[k]);
            }
            v[k] = _mm256_mul_pd(v[k], _mm256_broadcast_sd(inv + k));
        }
        UNROLL for (int k = 0; k < w; k++) _mm256_storeu_pd(row + (size_t)k * x.col, v[k]);
    }
}

AVX2 static void solve_rows_avx2(FaCholDense x, const double *tri, int w, const double *inv, int n) {
    switch (w) {
    case 1: solve_width(x, tri, 1, inv, n); break;
    case 2: solve_width(x, tri, 2, inv, n); break;
    case 3: solve_width(x, tri, 3, inv, n); break;
    case 4: solve_width(x, tri, 4, inv, n); break;
    case 5: solve_width(x, tri, 5, inv, n); break;
    case 6: solve_width(x, tri, 6, inv, n); break;
    case 7: solve_width(x, tri, 7, inv, n); break;
    default: solve_width(x, tri, 8, inv, n);
    }
}
#endif

typedef struct Kernels {
    TileFn *tile;
    SolveRowsFn *solve_rows;
    int (*factor_block)(double *f, int w, double *inv);
    void (*invert_block)(const double *f, int w, double *out, int stride);
} Kernels;

static int factor_block_ref(double *f, int w, double *inv) { return factor_block(f, w, inv); }
static void invert_block_ref(const double *f, int w, double *out, int stride) { invert_block(f, w, out, stride); }

static Kernels pick_kernels(bool avx2) {
#ifdef FA_CHOL_AVX2
    if (avx2) return (Kernels){tile_avx2, solve_rows_avx2, factor_block_fma, invert_block_fma};
#else
    (void)avx2;
#endif
    return (Kernels){tile_ref, solve_rows_ref, factor_block_ref, invert_block_ref};
}

// --- updates ------------------------------------------------------------------------------------------------------

// c -= a b' for rows [i0, i1), columns [j0, j1) as far as they are not above the tile of the diagonal, with what
// columns [k0, k1) of a and b hold. upper: a is an upper triangle, zero left of its diagonal.
typedef struct Update {
    Kernels kernel;
    FaCholDense c, a, b;
    int i0, i1, j0, j1, k0, k1;
    bool upper;
} Update;

static FaCholDense from(FaCholDense d, int row, int col) {
    return (FaCholDense){fai_dense_at(d, row, col), d.quad, d.col};
}

static void update_rows(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Update *u = ctx;
    for (int i = u->i0 + begin; i < u->i0 + end; i += TILE) {
        int nr = FA_MIN(TILE, (u->i1 - i + 3) / 4 * 4), cols = u->upper ? u->j1 : FA_MIN(u->j1, i + nr);
        for (int k = u->upper ? FA_MAX(u->k0, i) : u->k0; k < u->k1; k += DEPTH)
            for (int j = u->j0; j < cols; j += 4)
                u->kernel.tile(from(u->c, i, j), from(u->a, i, k), from(u->b, j, k), nr, FA_MIN(4, u->j1 - j),
                               FA_MIN(DEPTH, u->k1 - k));
    }
}

static void update(const Update *u) {
    int rows = u->i1 - u->i0, cols = u->j1 - u->j0, deep = u->k1 - u->k0;
    if (rows <= 0 || cols <= 0 || deep <= 0) return;
    if ((int64_t)rows * cols * deep < LARGE)
        update_rows((void *)u, 0, rows, 0);
    else
        fai_parallel(rows, BLOCK, update_rows, (void *)u);
}

static void load_block(FaCholDense f, int at, int w, double *tri) {
    for (int j = 0; j < w; j++)
        for (int i = j; i < w; i++) tri[i + j * WIDTH] = *fai_dense_at(f, at + i, at + j);
}

// --- calls --------------------------------------------------------------------------------------------------------

int fai_dense_factor(bool avx2, FaCholDense f, int m, int w) {
    Kernels kernel = pick_kernels(avx2);
    double inv[WIDTH], tri[WIDTH * WIDTH] = {0};
    for (int b = 0; b < w; b += BLOCK) {
        int b_end = FA_MIN(w, b + BLOCK);
        update(&(Update){kernel, f, f, f, b, m, b, b_end, 0, b, false});
        for (int k = b; k < b_end; k += WIDTH) {
            int width = FA_MIN(WIDTH, w - k), end = k + width;
            update(&(Update){kernel, f, f, f, k, m, k, end, b, k, false});
            load_block(f, k, width, tri);
            int bad = kernel.factor_block(tri, width, inv);
            if (bad >= 0) return k + bad;
            for (int j = 0; j < width; j++)
                for (int i = j; i < width; i++) *fai_dense_at(f, k + i, k + j) = tri[i + j * WIDTH];
            kernel.solve_rows(from(f, end, k), tri, width, inv, m - end);
        }
    }
    update(&(Update){kernel, f, f, f, w, m, w, m, 0, w, false});
    return -1;
}

void fai_dense_invert_block(bool avx2, FaCholDense f, int at, int w, double *out, int stride) {
    double tri[WIDTH * WIDTH];
    load_block(f, at, w, tri);
    pick_kernels(avx2).invert_block(tri, w, out, stride);
}

// X = L^-T, upper triangular, from X L' = I: a row of it depends on L and itself only.
typedef struct Inverse {
    Kernels kernel;
    FaCholDense l, x;
    int n;
} Inverse;

static void inverse_rows(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Inverse *v = ctx;
    for (int i = begin; i < end; i++) *fai_dense_at(v->x, i, i) = 1;
    for (int b = begin; b < v->n; b += BLOCK) {
        int b_end = FA_MIN(v->n, b + BLOCK);
        Update u = {v->kernel, v->x, v->x, v->l, begin, end, b, b_end, begin, b, true};
        if (b > begin) update_rows(&u, 0, end - begin, 0);
        for (int k = b; k < b_end; k += WIDTH) {
            int w = FA_MIN(WIDTH, v->n - k), last = FA_MIN(end, k + w);
            u = (Update){v->kernel, v->x, v->x, v->l, begin, last, k, k + w, b, k, true};
            if (k > b) update_rows(&u, 0, last - begin, 0);
            double inv[WIDTH], tri[WIDTH * WIDTH];
            load_block(v->l, k, w, tri);
            for (int j = 0; j < w; j++) inv[j] = 1 / tri[j + j * WIDTH];
            v->kernel.solve_rows(from(v->x, begin, k), tri, w, inv, last - begin);
        }
    }
}

void fai_dense_inverse(bool avx2, FaCholDense l, FaCholDense x, int n) {
    Inverse v = {pick_kernels(avx2), l, x, n};
    size_t size = (size_t)(n + 3) / 4 * l.quad;
    memset(x.f, 0, size * sizeof *x.f);
    fai_parallel(n, BLOCK, inverse_rows, &v);
    memset(l.f, 0, size * sizeof *l.f);
    // - X X', lower triangle; rows of X begin at their diagonal, which is the later one of the two
    Update u = {v.kernel, l, x, x, 0, n, 0, n, 0, n, true};
    for (int b = 0; b < n; b += BLOCK) { // columns by blocks, so that they stay in the second cache
        u.i0 = u.j0 = b;
        u.j1 = FA_MIN(n, b + BLOCK);
        fai_parallel(n - b, BLOCK, update_rows, &u);
    }
}
