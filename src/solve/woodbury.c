#include "solve/woodbury.h"

#include "base/task.h"
#include "energy/kernel.h"
#include "energy/push_pull.h"

#include <math.h>

// Everything dense is in float, by rows of a multiple of 8 numbers, padded with zeros and, on diagonals, ones: a
// preconditioner needs no more, and pivots are never small, since K^-1 + (something positive) has none below K^-1's
// own.
enum {
    LANES = 8,
    CHUNK = 64,        // rows that are factored together
    TASK = 8,          // rows per task
    MOST_ACTIVE = 512, // push rows: the factor grows with their cube; what is left out L-BFGS sees to
};

typedef float V8 __attribute__((vector_size(32), may_alias));

// A row whose nodes are all in the zone.
typedef struct ZoneRow {
    int row;     // of the caller's rows
    int known;   // place among known push rows, -1: not yet
    int slot[4]; // zone nodes; those of unused places have weight 0
    float weight[4];
    float normal[3];
    float soft;        // 1 / stiffness
    float slack;       // m, where the step begins
    bool begins, ends; // acts where the step begins, where it ends
} ZoneRow;

// A lower triangle L by rows, and the inverses of its 8 x 8 blocks on the diagonal by columns.
typedef struct Lower {
    float *l, *inverse; // (rows x stride), (rows / 8 x 64)
    size_t stride;
} Lower;

struct FaFold {
    FaArena *arena;
    bool wide;
    int nzone, room;
    size_t stride;                 // of all matrices: room rounded up to 8
    const float *inverse;          // S^-1                                                        (nzone x nzone)
    int *slot_of;                  // zone index of a node, -1 outside                            (nnode)
    ZoneRow *pull, *push;          // (room each)
    int npull, npush, pull8, act8; // 8: rounded up
    Lower t;                       // T's factor                                                  (pull8 rows)
    int nknown, *known;            // push rows that acted at any time since fai_fold_rows, in that order  (room)
    float *mixed;                  // L_T^-1 of a known row's products with the pull rows         (nknown x pull8)
    float *gram;                   // products of known rows with each other, PULL rows folded in; both triangles
    int nact, *act;                // push rows that act; those that stay come first              (room)
    bool fresh;                    // B belongs to act
    Lower b;                       // B's factor                                                  (act8 rows)
    unsigned char *mark;           // scratch: of push rows, of slots                             (max of both)
    int nneed, *need;              // slots of the rows that act and the PULL rows                (nzone)
    float *column;                 // S^-1 w of a row, one per task
    FaV4 *pull_t, *push_t;         // right-hand sides, then multipliers                          (room each)
    float *mu;                     // along the normals                                           (room)
    FaV4 *force;                   // right-hand side of a trial                                  (nzone)
    float *split;                  // a right-hand side by coordinates                            (3 x zone8)
    size_t zone8;                  // nzone rounded up to 8
    unsigned char *ends;           // as fai_fold_active wants them                               (max_rows)
};

// --- dense kernels ------------------------------------------------------------------------------------------------

FAI_BODY float sum8(const V8 *p) {
    V8 v = *p;
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// out[r][q] = a[r] . b[q] over [k0, k1), multiples of 8
FAI_BODY void tile(const float *a, const float *b, size_t stride_a, size_t stride_b, int k0, int k1, float out[4][8],
                   int at) {
    V8 s[4][2] = {{{0}}};
    for (int k = k0; k < k1; k += LANES) {
        V8 b0 = *(const V8 *)(b + k), b1 = *(const V8 *)(b + stride_b + k);
        for (size_t r = 0; r < 4; r++) {
            V8 ar = *(const V8 *)(a + r * stride_a + k);
            s[r][0] += ar * b0;
            s[r][1] += ar * b1;
        }
    }
    for (int r = 0; r < 4; r++)
        for (int q = 0; q < 2; q++) out[r][at + q] = sum8(&s[r][q]);
}

// Four rows x of X L' = X, columns [from, to) in place, given that products with columns before k0 are taken off
// already.
FAI_BODY void solve_rows(const Lower *l, float *x, size_t stride, int k0, int from, int to) {
    for (int j = from; j < to; j += LANES) {
        float t[4][8];
        const float *lj = l->l + (size_t)j * l->stride, *inverse = l->inverse + (size_t)j * LANES;
        for (int q = 0; q < 8; q += 2) tile(x, lj + (size_t)q * l->stride, stride, l->stride, k0, j, t, q);
        for (size_t r = 0; r < 4; r++) {
            V8 *at = (V8 *)(x + r * stride + j), own = *at, sum = {0};
            for (int q = 0; q < 8; q++) sum += (own[q] - t[r][q]) * *(const V8 *)(inverse + q * LANES);
            *at = sum;
        }
    }
}

// One 8 x 8 block on the diagonal. least: of the pivots, which rounding may have eaten.
static void factor_block(const Lower *l, int at, const float *least) {
    float *a = l->l + (size_t)at * l->stride + (size_t)at, *inverse = l->inverse + (size_t)at * LANES;
    memset(inverse, 0, LANES * LANES * sizeof *inverse);
    for (size_t i = 0; i < LANES; i++) {
        float *ri = a + i * l->stride;
        for (size_t j = 0; j <= i; j++) {
            const float *rj = a + j * l->stride;
            float sum = ri[j];
            for (size_t k = 0; k < j; k++) sum -= ri[k] * rj[k];
            ri[j] = j < i ? sum * inverse[j * LANES + j] : sqrtf(fmaxf(sum, least[i]));
        }
        inverse[i * LANES + i] = 1 / ri[i];
        for (size_t j = 0; j < i; j++) {
            float sum = 0;
            for (size_t k = j; k < i; k++) sum -= ri[k] * inverse[j * LANES + k];
            inverse[j * LANES + i] = sum * inverse[i * LANES + i];
        }
        for (size_t j = i + 1; j < LANES; j++) ri[j] = 0; // rows are read eight by eight
    }
}

// Rows of a symmetric matrix are made on the way: fn fills columns [0, end) of row i.
typedef void FillFn(const FaFold *f, int i, int end);
typedef struct Factor {
    const FaFold *f;
    const Lower *l;
    FillFn *fill;
    int begin, end; // rows and columns of the chunk
} Factor;

FAI_BODY void chunk_rows(const Factor *c, int begin, int end) {
    for (int i = c->begin + begin; i < c->begin + end; i += 4) {
        for (int r = i; r < i + 4; r++) c->fill(c->f, r, c->end);
        solve_rows(c->l, c->l->l + (size_t)i * c->l->stride, c->l->stride, 0, 0, c->begin);
    }
}

FAI_BODY void chunk_take(const Factor *c, int begin, int end) {
    for (int i = c->begin + begin; i < c->begin + end; i += 4) {
        float *x = c->l->l + (size_t)i * c->l->stride, t[4][8];
        for (int j = c->begin; j < i + 4; j += 2) {
            tile(x, c->l->l + (size_t)j * c->l->stride, c->l->stride, c->l->stride, 0, c->begin, t, 0);
            for (size_t r = 0; r < 4; r++)
                for (int q = 0; q < 2; q++) x[r * c->l->stride + (size_t)(j + q)] -= t[r][q];
        }
    }
}

// What is left of a chunk once earlier columns are taken off.
FAI_BODY void chunk_own(const Factor *c, const float *least) {
    for (int i = c->begin; i < c->end; i += LANES) {
        float *x = c->l->l + (size_t)i * c->l->stride, t[4][8];
        for (int h = 0; h < LANES; h += 4) {
            float *xh = x + (size_t)h * c->l->stride;
            solve_rows(c->l, xh, c->l->stride, c->begin, c->begin, i);
        }
        for (int h = 0; h < LANES; h += 4)
            for (int j = 0; j < h + 4; j += 2) {
                float *xh = x + (size_t)h * c->l->stride;
                tile(xh, x + (size_t)j * c->l->stride, c->l->stride, c->l->stride, c->begin, i, t, 0);
                for (size_t r = 0; r < 4; r++)
                    for (int q = 0; q < 2; q++) xh[r * c->l->stride + (size_t)(i + j + q)] -= t[r][q];
            }
        factor_block(c->l, i, least + i);
    }
}

// The kernels, once for any machine and once for AVX2.
#define TWICE(name, type)                                                                                              \
    static void name##_ref(void *ctx, int begin, int end, int chunk) {                                                 \
        (void)chunk;                                                                                                   \
        name((const type *)ctx, begin, end);                                                                           \
    }                                                                                                                  \
    FAI_WIDE static void name##_wide(void *ctx, int begin, int end, int chunk) {                                       \
        (void)chunk;                                                                                                   \
        name((const type *)ctx, begin, end);                                                                           \
    }
TWICE(chunk_rows, Factor)
TWICE(chunk_take, Factor)
static void chunk_own_ref(const Factor *c, const float *least) { chunk_own(c, least); }
FAI_WIDE static void chunk_own_wide(const Factor *c, const float *least) { chunk_own(c, least); }

// L of rows [from, n) (multiples of 8), rows before being as they should.
static void factor(const FaFold *f, const Lower *l, FillFn *fill, int from, int n, const float *least) {
    for (int b = from; b < n; b += CHUNK) {
        Factor c = {f, l, fill, b, FA_MIN(b + CHUNK, n)};
        fai_parallel(c.end - b, TASK, f->wide ? chunk_rows_wide : chunk_rows_ref, &c);
        if (b) fai_parallel(c.end - b, TASK, f->wide ? chunk_take_wide : chunk_take_ref, &c);
        (f->wide ? chunk_own_wide : chunk_own_ref)(&c, least);
    }
}

// --- building -----------------------------------------------------------------------------------------------------

FaCode fai_fold_new(int nnode, int nzone, const int *zone, int max_rows, FaFold **fold, FaError *err) {
    *fold = NULL;
    FaFold *f = FA_NEW(1, FaFold);
    if (!f) return FA_FAIL_MEMORY(err);
    size_t room = (size_t)FA_MIN(max_rows, FA_FOLD_MAX), stride = (room + 15) / 8 * 8, square = stride * stride;
    f->arena = fai_arena_new(0);
    f->room = (int)room;
    f->stride = f->t.stride = f->b.stride = stride;
    f->nzone = nzone;
    f->zone8 = ((size_t)nzone + 7) / 8 * 8;
    f->wide = fai_simd_wanted();
    const struct {
        void **to;
        size_t count, size;
    } part[] = {{(void **)&f->slot_of, (size_t)nnode, sizeof(int)},
                {(void **)&f->pull, room, sizeof(ZoneRow)},
                {(void **)&f->push, room, sizeof(ZoneRow)},
                {(void **)&f->known, room, sizeof(int)},
                {(void **)&f->act, room, sizeof(int)},
                {(void **)&f->mark, FA_MAX(room, (size_t)nzone), 1},
                {(void **)&f->need, (size_t)nzone, sizeof(int)},
                {(void **)&f->t.l, square, sizeof(float)},
                {(void **)&f->t.inverse, LANES * stride, sizeof(float)},
                {(void **)&f->b.l, square, sizeof(float)},
                {(void **)&f->b.inverse, LANES * stride, sizeof(float)},
                {(void **)&f->mixed, square, sizeof(float)},
                {(void **)&f->gram, square, sizeof(float)},
                {(void **)&f->column, (stride / TASK + 1) * (size_t)nzone, sizeof(float)},
                {(void **)&f->pull_t, stride, sizeof(FaV4)},
                {(void **)&f->push_t, stride, sizeof(FaV4)},
                {(void **)&f->mu, stride, sizeof(float)},
                {(void **)&f->force, (size_t)nzone, sizeof(FaV4)},
                {(void **)&f->split, 3 * f->zone8, sizeof(float)},
                {(void **)&f->ends, (size_t)max_rows, 1}};
    bool ok = f->arena != NULL;
    for (int i = 0; ok && i < FA_COUNT(part); i++)
        ok = (*part[i].to = fai_arena_push(f->arena, part[i].count, part[i].size)) != NULL;
    if (!ok) {
        fai_fold_free(f);
        return FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < nnode; i++) f->slot_of[i] = -1;
    for (int i = 0; i < nzone; i++) f->slot_of[zone[i]] = i;
    *fold = f;
    return FA_OK;
}

void fai_fold_free(FaFold *f) {
    if (!f) return;
    fai_arena_free(f->arena);
    fai_resize(f, 0);
}

static bool to_zone(const FaFold *f, const FaRow *r, int index, ZoneRow *z) {
    *z = (ZoneRow){.row = index, .known = -1, .soft = 1 / r->stiffness};
    for (int j = 0; j < 4; j++) {
        if (r->node[j] < 0) continue;
        if (f->slot_of[r->node[j]] < 0) return false;
        z->slot[j] = f->slot_of[r->node[j]];
        z->weight[j] = r->weight[j];
    }
    memcpy(z->normal, r->normal, sizeof z->normal);
    return true;
}

bool fai_fold_takes(const FaFold *f, int nrow, const FaRow *row) {
    for (int i = 0; i < nrow; i++)
        for (int j = 0; j < 4; j++)
            if (row[i].node[j] >= 0 && f->slot_of[row[i].node[j]] < 0) return false;
    return nrow <= FA_MIN(f->room, MOST_ACTIVE);
}

static int up8(int n) { return (n + 7) / 8 * 8; }

// --- products of rows ---------------------------------------------------------------------------------------------

// S^-1 w by four rows of S^-1
FAI_BODY void column_of(const FaFold *f, const ZoneRow *z, float *column) {
    size_t n = (size_t)f->nzone;
    const float *r[4], *w = z->weight;
    for (int j = 0; j < 4; j++) r[j] = f->inverse + n * (size_t)z->slot[j];
    for (size_t c = 0; c < n; c++) column[c] = (w[0] * r[0][c] + w[1] * r[1][c]) + (w[2] * r[2][c] + w[3] * r[3][c]);
}

FAI_BODY float along(const ZoneRow *z, const float *column) {
    const float *w = z->weight;
    const int *s = z->slot;
    return (w[0] * column[s[0]] + w[1] * column[s[1]]) + (w[2] * column[s[2]] + w[3] * column[s[3]]);
}

// Rows of T, lower triangle; the padding's as well.
FAI_BODY void pull_gram(const FaFold *f, int begin, int end) {
    float *column = f->column + (size_t)(begin / TASK) * (size_t)f->nzone;
    for (int i = begin; i < end; i++) {
        float *row = f->t.l + (size_t)i * f->stride;
        if (i < f->npull) {
            column_of(f, &f->pull[i], column);
            for (int k = 0; k <= i; k++) row[k] = along(&f->pull[k], column);
            row[i] += f->pull[i].soft;
            memset(row + i + 1, 0, (size_t)(f->pull8 - i - 1) * sizeof *row);
        } else {
            memset(row, 0, (size_t)f->pull8 * sizeof *row);
            row[i] = 1;
        }
    }
}

typedef struct Fresh {
    const FaFold *f;
    int from; // first known row that is new
} Fresh;

// New known rows: products with the pull rows, L_T^-1 of them, and products with the known ones before.
FAI_BODY void push_gram(const Fresh *c, int begin, int end) {
    const FaFold *f = c->f;
    float *column = f->column + (size_t)(begin / TASK) * (size_t)f->nzone;
    for (int i = c->from + begin; i < c->from + end; i++) {
        const ZoneRow *z = &f->push[f->known[i]];
        float *mixed = f->mixed + (size_t)i * f->stride, *gram = f->gram + (size_t)i * f->stride;
        column_of(f, z, column);
        for (int k = 0; k < f->npull; k++) mixed[k] = along(&f->pull[k], column);
        memset(mixed + f->npull, 0, (size_t)(f->pull8 - f->npull) * sizeof *mixed);
        for (int k = 0; k <= i; k++) gram[k] = along(&f->push[f->known[k]], column);
    }
    for (int i = c->from + begin; i < c->from + end; i += 4) {
        for (int r = c->from + end; r < i + 4; r++)
            memset(f->mixed + (size_t)r * f->stride, 0, (size_t)f->pull8 * sizeof *f->mixed);
        solve_rows(&f->t, f->mixed + (size_t)i * f->stride, f->stride, 0, 0, f->pull8);
    }
}

// Then what the pull rows take off, in both triangles.
FAI_BODY void push_take(const Fresh *c, int begin, int end) {
    const FaFold *f = c->f;
    for (int i = c->from + begin; i < c->from + end; i += 4)
        for (int j = 0; j < FA_MIN(i + 4, f->nknown); j += 2) {
            float t[4][8];
            tile(f->mixed + (size_t)i * f->stride, f->mixed + (size_t)j * f->stride, f->stride, f->stride, 0, f->pull8,
                 t, 0);
            for (int r = i; r < FA_MIN(i + 4, c->from + end); r++)
                for (int k = j; k < FA_MIN(j + 2, r + 1); k++) {
                    float *at = f->gram + (size_t)r * f->stride + (size_t)k;
                    f->gram[(size_t)k * f->stride + (size_t)r] = *at -= t[r - i][k - j];
                }
        }
}

TWICE(pull_gram, FaFold)
TWICE(push_gram, Fresh)
TWICE(push_take, Fresh)

static void fill_pull(const FaFold *f, int i, int end) {
    (void)f, (void)i, (void)end; // made before
}

static void fill_push(const FaFold *f, int i, int end) {
    float *row = f->b.l + (size_t)i * f->stride;
    if (i >= f->nact) {
        memset(row, 0, (size_t)end * sizeof *row);
        row[i] = 1;
        return;
    }
    const ZoneRow *a = &f->push[f->act[i]];
    const float *gram = f->gram + (size_t)a->known * f->stride;
    for (int j = 0; j <= i; j++) {
        const ZoneRow *b = &f->push[f->act[j]];
        row[j] = ((a->normal[0] * b->normal[0] + a->normal[1] * b->normal[1]) + a->normal[2] * b->normal[2]) *
                 gram[b->known];
    }
    row[i] += a->soft;
    memset(row + i + 1, 0, (size_t)(end - i - 1) * sizeof *row);
}

int fai_fold_rows(FaFold *f, int nrow, const FaRow *row, const float *inverse) {
    f->npull = f->npush = f->nact = f->nknown = f->act8 = 0;
    f->fresh = false;
    f->inverse = inverse;
    int left = 0;
    for (int i = 0; i < nrow; i++) {
        bool pull = row[i].kind == FA_ROW_PULL;
        int *n = pull ? &f->npull : &f->npush;
        if (*n < f->room && to_zone(f, &row[i], i, pull ? &f->pull[*n] : &f->push[*n]))
            ++*n;
        else
            left++;
    }
    f->pull8 = up8(f->npull);
    fai_parallel(f->pull8, TASK, f->wide ? pull_gram_wide : pull_gram_ref, f);
    float *least = f->mu;
    for (int i = 0; i < f->pull8; i++) least[i] = i < f->npull ? 0.5f * f->pull[i].soft : 0.5f;
    factor(f, &f->t, fill_pull, 0, f->pull8, least);
    return left;
}

// --- which rows act -----------------------------------------------------------------------------------------------

static void know(FaFold *f, int from) {
    Fresh c = {f, from};
    if (f->nknown == from) return;
    fai_parallel(f->nknown - from, TASK, f->wide ? push_gram_wide : push_gram_ref, &c);
    fai_parallel(f->nknown - from, TASK, f->wide ? push_take_wide : push_take_ref, &c);
}

static void need_slots(FaFold *f) {
    memset(f->mark, 0, (size_t)f->nzone);
    f->nneed = 0;
    for (int i = 0; i < f->npull + f->nact; i++) {
        const ZoneRow *z = i < f->npull ? &f->pull[i] : &f->push[f->act[i - f->npull]];
        for (int j = 0; j < 4; j++) f->mark[z->slot[j]] = 1;
    }
    for (int i = 0; i < f->nzone; i++)
        if (f->mark[i]) f->need[f->nneed++] = i;
}

// Rows that go on acting keep their order and come first, so that the factor stays as far as nothing was taken out;
// rows that come and go gather at its end.
void fai_fold_active(FaFold *f, const unsigned char *active) {
    int n = 0, keep = -1, known = f->nknown, most = active ? FA_MIN(f->room, MOST_ACTIVE) : f->room;
    memset(f->mark, 0, (size_t)f->npush);
    for (int i = 0; i < f->nact; i++) {
        if (active && !active[f->push[f->act[i]].row]) {
            if (keep < 0) keep = n;
            continue;
        }
        f->mark[f->act[i]] = 1;
        f->act[n++] = f->act[i];
    }
    if (keep < 0) keep = n;
    for (int i = 0; i < f->npush && n < most; i++) {
        if (f->mark[i] || (active && !active[f->push[i].row])) continue;
        if (f->push[i].known < 0) {
            f->push[i].known = f->nknown;
            f->known[f->nknown++] = i;
        }
        f->act[n++] = i;
    }
    if (f->fresh && keep == n && n == f->nact) return;
    f->nact = n;
    f->act8 = up8(n);
    f->fresh = true;
    know(f, known);
    float *least = f->mu;
    for (int i = 0; i < f->act8; i++) least[i] = i < n ? 0.5f * f->push[f->act[i]].soft : 0.5f;
    factor(f, &f->b, fill_push, keep / LANES * LANES, f->act8, least);
    need_slots(f);
}

bool fai_fold_empty(const FaFold *f) { return f->npull == 0 && f->nact == 0; }

// --- solving ------------------------------------------------------------------------------------------------------

FAI_BODY FaV4 at_row(const ZoneRow *z, const FaV4 *x) {
    const float *w = z->weight;
    const int *s = z->slot;
    return (w[0] * x[s[0]] + w[1] * x[s[1]]) + (w[2] * x[s[2]] + w[3] * x[s[3]]);
}

// sum of row[k] x[k]
FAI_BODY FaV4 dot_v4(const float *row, const FaV4 *x, int n) {
    FaV4 s[4] = {{0}};
    for (int k = 0; k < n; k += 4)
        for (int q = 0; q < 4; q++) s[q] += row[k + q] * x[k + q];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

FAI_BODY void lower_v4(const Lower *l, int n, FaV4 *x) {
    for (int j = 0; j < n; j += LANES) {
        FaV4 t[8], sum[8] = {{0}};
        for (int q = 0; q < 8; q++) t[q] = x[j + q] - dot_v4(l->l + (size_t)(j + q) * l->stride, x, j);
        for (int q = 0; q < 8; q++)
            for (int i = q; i < 8; i++) sum[i] += l->inverse[(j + q) * LANES + i] * t[q];
        memcpy(x + j, sum, sizeof sum);
    }
}

FAI_BODY void upper_v4(const Lower *l, int n, FaV4 *x) {
    for (int j = n - LANES; j >= 0; j -= LANES) {
        FaV4 sum[8] = {{0}};
        for (int q = 0; q < 8; q++)
            for (int i = q; i < 8; i++) sum[q] += l->inverse[(j + q) * LANES + i] * x[j + i];
        memcpy(x + j, sum, sizeof sum);
        for (int k = 0; k < j; k++) {
            const float *at = l->l + (size_t)j * l->stride + (size_t)k;
            FaV4 a = {0}, b = {0};
            for (size_t q = 0; q < 8; q += 2) {
                a += at[q * l->stride] * sum[q];
                b += at[(q + 1) * l->stride] * sum[q + 1];
            }
            x[k] -= a + b;
        }
    }
}

FAI_BODY void lower_one(const Lower *l, int n, float *x) {
    for (int j = 0; j < n; j += LANES) {
        float t[4][8];
        V8 sum = {0}, s[8] = {{0}};
        for (int k = 0; k < j; k += LANES)
            for (size_t q = 0; q < 8; q++)
                s[q] += *(const V8 *)(l->l + ((size_t)j + q) * l->stride + k) * *(const V8 *)(x + k);
        for (int q = 0; q < 8; q++) t[0][q] = x[j + q] - sum8(&s[q]);
        for (int q = 0; q < 8; q++) sum += t[0][q] * *(const V8 *)(l->inverse + (j + q) * LANES);
        *(V8 *)(x + j) = sum;
    }
}

FAI_BODY void upper_one(const Lower *l, int n, float *x) {
    for (int j = n - LANES; j >= 0; j -= LANES) {
        V8 own = *(const V8 *)(x + j), sum;
        for (int q = 0; q < 8; q++) {
            V8 product = *(const V8 *)(l->inverse + (j + q) * LANES) * own;
            sum[q] = sum8(&product);
        }
        *(V8 *)(x + j) = sum;
        for (int k = 0; k < j; k += LANES) {
            V8 s = *(const V8 *)(x + k);
            for (size_t q = 0; q < 8; q++) s -= sum[q] * *(const V8 *)(l->l + ((size_t)j + q) * l->stride + k);
            *(V8 *)(x + k) = s;
        }
    }
}

// x = S^-1 b at the slots that rows need, three coordinates: b is read split by coordinate, eight nodes at a time.
typedef struct AtRows {
    const FaFold *f;
    FaV4 *x;
} AtRows;

FAI_BODY void at_rows(const AtRows *c, int begin, int end) {
    const FaFold *f = c->f;
    size_t n = (size_t)f->nzone, whole = n / LANES * LANES;
    const float *b = f->split, *b1 = b + f->zone8, *b2 = b1 + f->zone8;
    for (int i = begin; i < end; i++) {
        const float *row = f->inverse + n * (size_t)f->need[i];
        V8 s[3] = {{0}}, r;
        size_t k = 0;
        for (; k < whole; k += LANES) {
            memcpy(&r, row + k, sizeof r);
            s[0] += r * *(const V8 *)(b + k);
            s[1] += r * *(const V8 *)(b1 + k);
            s[2] += r * *(const V8 *)(b2 + k);
        }
        FaV4 sum = {sum8(&s[0]), sum8(&s[1]), sum8(&s[2]), 0};
        for (; k < n; k++) sum += row[k] * (FaV4){b[k], b1[k], b2[k], 0};
        c->x[f->need[i]] = sum;
    }
}
TWICE(at_rows, AtRows)

static void zone_at_rows(FaFold *f, const FaV4 *b, FaV4 *x) {
    for (int i = 0; i < f->nzone; i++)
        for (size_t k = 0; k < 3; k++) f->split[k * f->zone8 + (size_t)i] = b[i][k];
    AtRows c = {f, x};
    fai_parallel(f->nneed, 32, f->wide ? at_rows_wide : at_rows_ref, &c);
}

// Multipliers of all rows, given x at the zone without them. With T = L L', m_i = L^-1 G_i:
//     z = L^-1 (pull rows at x);  B mu = n . (push rows at x - m z);  z -= m' n mu;  lambda of the pull rows = L^-T z
FAI_BODY void multipliers(FaFold *f, const FaV4 *x) {
    FaV4 *z = f->pull_t, *p = f->push_t;
    for (int i = 0; i < f->npull; i++) z[i] = at_row(&f->pull[i], x);
    for (int i = f->npull; i < f->pull8; i++) z[i] = (FaV4){0};
    lower_v4(&f->t, f->pull8, z);
    for (int i = 0; i < f->act8; i++) f->mu[i] = 0;
    for (int i = 0; i < f->nact; i++) {
        const ZoneRow *r = &f->push[f->act[i]];
        FaV4 t = at_row(r, x) - dot_v4(f->mixed + (size_t)r->known * f->stride, z, f->pull8);
        f->mu[i] = (r->normal[0] * t[0] + r->normal[1] * t[1]) + r->normal[2] * t[2];
    }
    lower_one(&f->b, f->act8, f->mu);
    upper_one(&f->b, f->act8, f->mu);
    for (int i = 0; i < f->nact; i++) {
        const ZoneRow *r = &f->push[f->act[i]];
        const float *mixed = f->mixed + (size_t)r->known * f->stride;
        FaV4 lambda = f->mu[i] * (FaV4){r->normal[0], r->normal[1], r->normal[2], 0};
        p[i] = lambda;
        for (int k = 0; k < f->pull8; k++) z[k] -= mixed[k] * lambda;
    }
    upper_v4(&f->t, f->pull8, z);
}

static void multipliers_ref(FaFold *f, const FaV4 *x) { multipliers(f, x); }
FAI_WIDE static void multipliers_wide(FaFold *f, const FaV4 *x) { multipliers(f, x); }

static void take(const ZoneRow *z, FaV4 lambda, FaV4 *b) {
    for (int j = 0; j < 4; j++) b[z->slot[j]] -= z->weight[j] * lambda;
}

void fai_fold_solve(FaFold *f, FaChol *chol, float *b, float *x) {
    if (!fai_fold_empty(f)) {
        zone_at_rows(f, (const FaV4 *)b, (FaV4 *)x);
        (f->wide ? multipliers_wide : multipliers_ref)(f, (const FaV4 *)x);
        for (int i = 0; i < f->npull; i++) take(&f->pull[i], f->pull_t[i], (FaV4 *)b);
        for (int i = 0; i < f->nact; i++) take(&f->push[f->act[i]], f->push_t[i], (FaV4 *)b);
    }
    fai_chol_zone_f(chol, b, x);
}

// The model's forces: a row that ends acting pulls with its whole spring from the begin on, one that ends free does not
// act at all.
static void begin_trial(FaFold *f, const float *b) {
    memcpy(f->force, b, (size_t)f->nzone * sizeof *f->force);
    for (int i = 0; i < f->npush; i++) {
        const ZoneRow *z = &f->push[i];
        f->ends[z->row] = z->ends;
        if (z->begins == z->ends) continue;
        float force = (z->ends ? -z->slack : z->slack) / z->soft;
        take(z, force * (FaV4){z->normal[0], z->normal[1], z->normal[2], 0}, f->force);
    }
}

int fai_fold_step(FaFold *f, FaChol *chol, const FaRow *row, const float *u, const unsigned char *active, int rounds,
                  const float *b, float *x) {
    for (int i = 0; i < f->npush; i++) {
        ZoneRow *z = &f->push[i];
        z->slack = (float)fai_row_slack(&row[z->row], u);
        z->begins = active[z->row] != 0;
        z->ends = z->begins;
    }
    for (int changes = 0;;) {
        begin_trial(f, b);
        fai_fold_active(f, f->ends);
        fai_fold_solve(f, chol, (float *)f->force, x);
        if (--rounds <= 0) return changes;
        changes = 0;
        for (int i = 0; i < f->npush; i++) {
            ZoneRow *z = &f->push[i];
            FaV4 at = at_row(z, (const FaV4 *)x);
            float moved = (z->normal[0] * at[0] + z->normal[1] * at[1]) + z->normal[2] * at[2];
            bool ends = z->slack - moved < 0;
            changes += ends != z->ends;
            z->ends = ends;
        }
        if (changes == 0) return 0;
    }
}
