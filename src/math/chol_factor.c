// Numbers: every supernode is a dense front that takes in the matrix's entries and its children's updates, is factored
// in its own columns, and leaves the rest to its parent. Everything in double; rounded where a single panel is stored.
//
// The zone's front is taken out of the columns into fours of rows before it is factored: it is the large one. Where its
// inverse is wanted, that is made at once, and the triangle is not kept.
#include "math/chol_work.h"

#include "base/task.h"
#include "math/chol_dense.h"

#include <math.h>

// --- storing ------------------------------------------------------------------------------------------------------

typedef double Four __attribute__((vector_size(32)));
typedef int64_t FourBits __attribute__((vector_size(32)));
typedef float FourF __attribute__((vector_size(16)));
typedef uint32_t FourU __attribute__((vector_size(16)));
typedef uint16_t FourR __attribute__((vector_size(8)));
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

static float kept(double v, double least) { return v < least && v > -least ? 0 : (float)v; }

// Four numbers of each of four columns, transposed.
static inline __attribute__((always_inline)) void turn(const FourF c[4], FourF r[4]) {
    FourF a = MIX(c[0], c[1], 0, 4, 1, 5), b = MIX(c[0], c[1], 2, 6, 3, 7), d = MIX(c[2], c[3], 0, 4, 1, 5),
          e = MIX(c[2], c[3], 2, 6, 3, 7);
    r[0] = MIX(a, d, 0, 1, 4, 5), r[1] = MIX(a, d, 2, 3, 6, 7), r[2] = MIX(b, e, 0, 1, 4, 5),
    r[3] = MIX(b, e, 2, 3, 6, 7);
}

// The upper halves of floats, rounded to even.
static inline __attribute__((always_inline)) FourR roughly(FourF v) {
    FourU u = (FourU)v;
    u = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return __builtin_convertvector(u, FourR);
}

// How rows are stored: numbers below least[column] are 0.
typedef struct Rows {
    FaCholDense f; // by columns; up to three rows more are read
    int begin, end, col;
    const double *least;
    bool rough;
    void *to;
} Rows;

// Rows of w columns, each of `wide` numbers. Returns behind the last one.
static inline __attribute__((always_inline)) void *store_rows(const Rows *s, const int w, const bool rough) {
    const int wide = (w + 1) & ~1, high = wide - 4;
    const size_t size = rough ? sizeof(uint16_t) : sizeof(float);
    unsigned char *to = s->to;
    for (int i = s->begin; i < s->end; i += 4) {
        FourF col[FA_CHOL_WIDTH] = {{0}}, row[FA_CHOL_WIDTH];
        UNROLL for (int j = 0; j < w; j++) {
            Four v;
            memcpy(&v, s->f.f + (size_t)i + (size_t)(s->col + j) * s->f.col, sizeof v);
            FourBits small = (v < s->least[j]) & (v > -s->least[j]);
            v = (Four)((FourBits)v & ~small);
            col[j] = __builtin_convertvector(v, FourF);
        }
        turn(col, row);
        turn(col + 4, row + 4);
        for (int r = 0; r < 4 && i + r < s->end; r++, to += (size_t)wide * size) {
            FourR low = roughly(row[r]), more = roughly(row[4 + r]);
            memcpy(to, rough ? (void *)&low : (void *)&row[r], (high < 0 ? 2 : 4) * size);
            if (high > 0) memcpy(to + 4 * size, rough ? (void *)&more : (void *)&row[4 + r], (size_t)high * size);
        }
    }
    return to;
}

#define STORE(w)                                                                                                       \
    case w:                                                                                                            \
        return s->rough ? store_rows(s, w, true) : store_rows(s, w, false)
#define STORE_WIDTHS                                                                                                   \
    switch (w) {                                                                                                       \
        STORE(1);                                                                                                      \
        STORE(2);                                                                                                      \
        STORE(3);                                                                                                      \
        STORE(4);                                                                                                      \
        STORE(5);                                                                                                      \
        STORE(6);                                                                                                      \
        STORE(7);                                                                                                      \
        STORE(8);                                                                                                      \
    default: return s->to;                                                                                             \
    }
static void *store_any(const Rows *s, int w){STORE_WIDTHS}
#ifdef FA_CHOL_AVX2
AVX2 static void *store_avx2(const Rows *s, int w) {
    STORE_WIDTHS
}
#endif

static void store_panels_f(const FaChol *c, const FaCholSuper *s, FaCholDense f) {
    void *to = c->rough ? (void *)(c->panel_r + s->panel) : (void *)(c->panel_f + s->panel);
    for (int k = 0; k < s->width; k += FA_CHOL_WIDTH) {
        int w = FA_MIN(FA_CHOL_WIDTH, s->width - k), wide = fai_even(w);
        double tri[FA_CHOL_WIDTH * FA_CHOL_WIDTH] = {0}, least[FA_CHOL_WIDTH];
        fai_dense_invert_block(c->avx2, f, k, w, tri, wide);
        for (int i = 0; i < wide * wide; i++) {
            float v = kept(tri[i], c->drop * fabs(tri[i / wide * (wide + 1)]));
            FourR rough = roughly((FourF){v});
            if (c->rough)
                ((uint16_t *)to)[i] = rough[0];
            else
                ((float *)to)[i] = v;
        }
        to = (unsigned char *)to + (size_t)(wide * wide) * (c->rough ? sizeof(uint16_t) : sizeof(float));
        for (int j = 0; j < w; j++) least[j] = c->drop / fabs(tri[j * (wide + 1)]);
        Rows rows = {f, k + w, s->width + s->nrow, k, least, c->rough, to};
#ifdef FA_CHOL_AVX2
        to = (c->avx2 ? store_avx2 : store_any)(&rows, w);
#else
        to = store_any(&rows, w);
#endif
    }
}

// The panels of a factored front: per panel the inverse of the triangle, then the rows below.
static void store_panels(const FaChol *c, const FaCholSuper *s, FaCholDense f) {
    if (c->single) {
        store_panels_f(c, s, f);
        return;
    }
    double *to = c->panel_d + s->panel;
    int m = s->width + s->nrow;
    for (int k = 0; k < s->width; k += FA_CHOL_WIDTH) {
        int w = FA_MIN(FA_CHOL_WIDTH, s->width - k), wide = fai_even(w);
        double tri[FA_CHOL_WIDTH * FA_CHOL_WIDTH] = {0};
        fai_dense_invert_block(c->avx2, f, k, w, tri, wide);
        for (int i = 0; i < wide * wide; i++) *to++ = tri[i];
        for (int i = k + w; i < m; i++) {
            const double *l = fai_dense_at(f, i, k);
            for (int j = 0; j < wide; j++) *to++ = j < w ? l[(size_t)j * f.col] : 0;
        }
    }
}

// --- parts --------------------------------------------------------------------------------------------------------

typedef struct FactorJob {
    FaChol *c;
    const double *val;
    int first; // part
} FactorJob;

enum { ABOVE = 16 }; // rows; a tile has 12

// Entries of the matrix, then the children's updates in order.
static inline __attribute__((always_inline)) void assemble_front(const FaChol *c, const FaCholSuper *s,
                                                                 const double *val, double *f) {
    const FaCholPlan *p = c->plan;
    size_t ld = fai_front_stride(s);
    // as far above the diagonal as tiles reach
    size_t m = (size_t)(s->width + s->nrow);
    for (size_t j = 0; j < m; j++) {
        size_t first = j > ABOVE ? j - ABOVE : 0;
        memset(f + j * ld + first, 0, (ld - first) * sizeof *f);
    }
    for (int e = s->entry_begin; e < s->entry_end; e++) f[p->entry[e].to] = val[p->entry[e].from];
    for (int q = s->child_begin; q < s->child_end; q++) {
        const FaCholSuper *child = &p->super[p->child[q]];
        const double *u = c->dense + p->part[child->part].stack + child->update;
        const int *place = p->place + child->row, *run = p->run + child->row;
        for (int j = 0; j < child->nrow; j++, u += child->nrow) {
            double *to = f + (size_t)place[j] * ld;
            for (int i = j; i < child->nrow;) {
                double *at = to + place[i];
                const double *from = u + i;
                int n = run[i] - i;
                i += n;
                for (; n >= 4; n -= 4, at += 4, from += 4) {
                    Four sum, more;
                    memcpy(&sum, at, sizeof sum);
                    memcpy(&more, from, sizeof more);
                    sum += more;
                    memcpy(at, &sum, sizeof sum);
                }
                for (int k = 0; k < n; k++) at[k] += from[k];
            }
        }
    }
}

static void assemble_any(const FaChol *c, const FaCholSuper *s, const double *val, double *f) {
    assemble_front(c, s, val, f);
}
#ifdef FA_CHOL_AVX2
AVX2 static void assemble_avx2(const FaChol *c, const FaCholSuper *s, const double *val, double *f) {
    assemble_front(c, s, val, f);
}
#endif

static void assemble(const FaChol *c, const FaCholSuper *s, const double *val, double *f) {
#ifdef FA_CHOL_AVX2
    (c->avx2 ? assemble_avx2 : assemble_any)(c, s, val, f);
#else
    assemble_any(c, s, val, f);
#endif
}

static void factor_super(FaChol *c, int part, const FaCholSuper *s, const double *val) {
    const FaCholPart *t = &c->plan->part[part];
    FaCholDense f = {c->dense + t->front, 4, fai_front_stride(s)};
    double *u = c->dense + t->stack + s->update;
    size_t n = (size_t)s->nrow;
    assemble(c, s, val, f.f);
    int bad = fai_dense_factor(c->avx2, f, s->width + s->nrow, s->width);
    if (bad >= 0) {
        c->fail[part] = s->first + bad;
        return;
    }
    for (size_t j = 0; j < n; j++)
        memcpy(u + j * n + j, f.f + ((size_t)s->width + j) * f.col + (size_t)s->width + j, (n - j) * sizeof *u);
    store_panels(c, s, f);
}

static void factor_parts(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    FactorJob *job = ctx;
    const FaCholPlan *p = job->c->plan;
    for (int k = job->first + begin; k < job->first + end; k++)
        for (int f = p->part[k].super_begin; f < p->part[k].super_end && job->c->fail[k] < 0; f++)
            factor_super(job->c, k, &p->super[f], job->val);
}

// --- the zone -----------------------------------------------------------------------------------------------------

static void store_inverse(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const FaChol *c = ctx;
    size_t n = (size_t)c->plan->nzone, stride = (n + 3) / 4 * 4;
    FaCholDense f = {c->work, 4 * stride, 4};
    for (int i = begin; i < end; i++)
        for (int j = 0; j <= i; j++)
            c->inverse[(size_t)i * n + (size_t)j] = c->inverse[(size_t)j * n + (size_t)i] =
                (float)-*fai_dense_at(f, i, j);
}

static void factor_zone(FaChol *c, const double *val) {
    enum { ROWS = 64 };
    const FaCholPlan *p = c->plan;
    const FaCholSuper *s = &p->super[p->nsuper - 1];
    int n = p->nzone;
    size_t ld = fai_front_stride(s), stride = ((size_t)n + 3) / 4 * 4;
    double *front = c->dense + p->part[p->npart - 1].front;
    assemble(c, s, val, front);
    FaCholDense f = {c->work, 4 * stride, 4}, x = {front, 4 * stride, 4};
    for (int i = 0; i < n; i += 4) // the rows beyond the last one are zero in the front as well
        for (int j = 0; j < n; j++)
            memcpy(fai_dense_at(f, i, j), front + (size_t)i + (size_t)j * ld, 4 * sizeof *front);
    int bad = fai_dense_factor(c->avx2, f, n, n);
    if (bad >= 0) {
        c->fail[p->npart - 1] = s->first + bad;
        return;
    }
    if (!c->single) {
        store_panels(c, s, f);
        return;
    }
    fai_dense_inverse(c->avx2, f, x, n);
    fai_parallel(n, ROWS, store_inverse, c);
}

// --- all ----------------------------------------------------------------------------------------------------------

void fai_chol_factor_own(FaChol *c, const double *val) {
    const FaCholPlan *p = c->plan;
    for (int k = 0; k < p->npart; k++) c->fail[k] = -1;
    for (int g = 0; g < p->nstage; g++) {
        FactorJob job = {c, val, p->stage[g]};
        fai_parallel(p->stage[g + 1] - p->stage[g], 1, factor_parts, &job);
        for (int k = p->stage[g]; k < p->stage[g + 1]; k++)
            if (c->fail[k] >= 0) return;
    }
    if (p->nzone) factor_zone(c, val);
}
