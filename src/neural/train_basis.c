#include "neural/train_basis.h"

#include "base/task.h"
#include "math/dense.h"
#include "neural/gemm.h"

#include <math.h>

enum { BESIDE = 12, PIECE = 1024 };

FaCode fai_basis_new(int n, int want, int rows, uint64_t seed, FaBasis *b, FaError *err) {
    *b = (FaBasis){.n = n, .want = FA_MIN(want, n), .rows = rows, .arena = fai_arena_new(0)};
    if (!b->arena) return FA_FAIL_MEMORY(err);
    b->wide = fai_gemm_up(b->want + BESIDE);
    const size_t size = (size_t)n * (size_t)b->wide;
    b->q = FA_PUSH(b->arena, size, float);
    b->y = FA_PUSH(b->arena, size, float);
    b->z = FA_PUSH(b->arena, (size_t)rows * (size_t)b->wide, float);
    b->gram = FA_PUSH(b->arena, (size_t)b->wide * (size_t)b->wide, double);
    if (!b->q || !b->y || !b->z || !b->gram) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < size; i++) b->q[i] = (float)fai_random_unit(seed, i) - 0.5f;
    return FA_OK;
}

void fai_basis_free(FaBasis *b) {
    fai_arena_free(b->arena);
    *b = (FaBasis){0};
}

static void coefficients(FaBasis *b, const float *x, size_t ld, int count) {
    FA_ASSERT(count <= b->rows);
    const size_t wide = (size_t)b->wide;
    fai_gemm(&(FaGemm){count, b->wide, b->n, x, ld, 1, b->q, wide, b->z, wide, false});
    b->seen += count;
}

void fai_basis_see(FaBasis *b, const float *x, size_t ld, int count) {
    const size_t wide = (size_t)b->wide;
    coefficients(b, x, ld, count);
    fai_gemm(&(FaGemm){b->n, b->wide, count, x, 1, ld, b->z, wide, b->y, wide, true});
}

void fai_basis_weigh(FaBasis *b, const float *x, size_t ld, int count) {
    const size_t wide = (size_t)b->wide;
    coefficients(b, x, ld, count);
    for (int r = 0; r < count; r++)
        for (size_t i = 0; i < wide; i++) {
            const double zi = b->z[(size_t)r * wide + i];
            for (size_t j = 0; j <= i; j++) b->gram[i * wide + j] += zi * b->z[(size_t)r * wide + j];
        }
}

// --- orthonormal columns, kept as rows meanwhile: each less what those before it hold, twice ---------------------

typedef struct Ortho {
    float *row; // (wide x n)
    double *dot;
    int n, j;
} Ortho;

static double product(const float *a, const float *b, int n) {
    double s[4] = {0};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int l = 0; l < 4; l++) s[l] += (double)a[i + l] * b[i + l];
    for (; i < n; i++) s[0] += (double)a[i] * b[i];
    return (s[0] + s[2]) + (s[1] + s[3]);
}

static void some_dots(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Ortho *o = ctx;
    for (int i = begin; i < end; i++)
        o->dot[i] = product(o->row + (size_t)i * (size_t)o->n, o->row + (size_t)o->j * (size_t)o->n, o->n);
}

static void take_away(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Ortho *o = ctx;
    float *v = o->row + (size_t)o->j * (size_t)o->n;
    for (int i = 0; i < o->j; i++) {
        const float *q = o->row + (size_t)i * (size_t)o->n, by = (float)o->dot[i];
        for (int k = begin; k < end; k++) v[k] -= by * q[k];
    }
}

static void orthonormal(Ortho *o, int count) {
    for (o->j = 0; o->j < count; o->j++) {
        float *v = o->row + (size_t)o->j * (size_t)o->n;
        const double before = sqrt(product(v, v, o->n));
        const float first = before > 0 ? (float)(1 / before) : 0;
        for (int k = 0; k < o->n; k++) v[k] *= first;
        for (int twice = 0; twice < 2; twice++) {
            fai_parallel(o->j, 16, some_dots, o);
            fai_parallel(o->n, PIECE, take_away, o);
        }
        const double size = sqrt(product(v, v, o->n));
        const float by = size > 1e-5 ? (float)(1 / size) : 0; // nothing but rounding is left
        for (int k = 0; k < o->n; k++) v[k] *= by;
    }
}

FaCode fai_basis_turn(FaBasis *b, FaError *err) {
    const size_t n = (size_t)b->n, wide = (size_t)b->wide;
    Ortho o = {FA_NEW(wide * n, float), FA_NEW(wide, double), b->n, 0};
    if (!o.row || !o.dot) {
        fa_free(o.row), fa_free(o.dot);
        return FA_FAIL_MEMORY(err);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < wide; j++) o.row[j * n + i] = b->y[i * wide + j];
    orthonormal(&o, b->wide);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < wide; j++) b->q[i * wide + j] = o.row[j * n + i];
    memset(b->y, 0, n * wide * sizeof *b->y);
    b->seen = 0;
    fa_free(o.row), fa_free(o.dot);
    return FA_OK;
}

FaCode fai_basis_finish(FaBasis *b, float *column, float *sd, int *count, FaError *err) {
    const size_t n = (size_t)b->n, wide = (size_t)b->wide;
    double *value = FA_NEW(wide, double), *vector = FA_NEW(wide * wide, double);
    FaCode rc = value && vector ? fai_eigen_symmetric(b->wide, b->gram, value, vector, err) : FA_FAIL_MEMORY(err);
    *count = 0;
    for (int k = 0; rc >= 0 && k < b->want && value[k] > 1e-8 * value[0]; k++, ++*count) {
        sd[k] = (float)sqrt(value[k] / (double)FA_MAX(1, b->seen));
        for (size_t i = 0; i < n; i++) {
            double s = 0;
            for (size_t j = 0; j < wide; j++) s += vector[(size_t)k * wide + j] * b->q[i * wide + j];
            column[(size_t)k * n + i] = (float)s;
        }
    }
    fa_free(value), fa_free(vector);
    return rc;
}
