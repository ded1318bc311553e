// Solving for one right-hand side, single: what a scalar matrix of all coordinates (3n unknowns) needs as a preconditioner.
//
// The panels of chol_solve.c with one number per unknown instead of four. A row of a panel is one or two quadruples; rows that are
// shorter read into the next one and multiply that by 0. Forwards, the products of four rows are added by transposing; backwards, rows
// are dealt out to four sums. Only operations that every processor has: one source, the same bits everywhere.
#include "math/chol_work.h"

#include "base/task.h"

typedef float Quad __attribute__((vector_size(16)));
#define LOAD(q, p) memcpy(&(q), (p), sizeof(Quad))
#define STORE(p, q) memcpy((p), &(q), sizeof(Quad))
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

typedef struct Solve {
    const FaCholPlan *p;
    const float *panel;
    float *vec;     // (nvec)
    const float *b; // (n)
    float *x;       // (n)
    int first;      // part of the stage
} Solve;

// Sums of the four numbers of four registers: (0 + 1) + (2 + 3) of each.
#define ADD_ACROSS(out, q0, q1, q2, q3)                                                                                                    \
    do {                                                                                                                                   \
        Quad e0 = SHUFFLE(q0, q1, 0, 2, 4, 6), o0 = SHUFFLE(q0, q1, 1, 3, 5, 7), e1 = SHUFFLE(q2, q3, 0, 2, 4, 6);                         \
        Quad o1 = SHUFFLE(q2, q3, 1, 3, 5, 7), s0 = e0 + o0, s1 = e1 + o1;                                                                 \
        out = SHUFFLE(s0, s1, 0, 2, 4, 6) + SHUFFLE(s0, s1, 1, 3, 5, 7);                                                                   \
    } while (0)

// out[i] = row i . y for n rows of `wide` numbers, four at a time, handed to PUT(i, count, sums).
#define DOT_ROWS(l, wide, n, y0, y1, two, PUT)                                                                                             \
    for (int i_ = 0; i_ < (n); i_ += 4) {                                                                                                  \
        int count_ = FA_MIN(4, (n)-i_);                                                                                                    \
        Quad q_[4] = {{0}}, lo_, hi_, sum_;                                                                                                \
        for (int r_ = 0; r_ < count_; r_++) {                                                                                              \
            const float *row_ = (l) + (size_t)(i_ + r_) * (size_t)(wide);                                                                  \
            LOAD(lo_, row_);                                                                                                               \
            q_[r_] = lo_ * (y0);                                                                                                           \
            if (two) {                                                                                                                     \
                LOAD(hi_, row_ + 4);                                                                                                       \
                q_[r_] += hi_ * (y1);                                                                                                      \
            }                                                                                                                              \
        }                                                                                                                                  \
        ADD_ACROSS(sum_, q_[0], q_[1], q_[2], q_[3]);                                                                                      \
        PUT(i_, count_, sum_);                                                                                                             \
    }

#define INLINE inline __attribute__((always_inline))

static INLINE void load_own(const float *x, int w, float *out) {
    for (int k = 0; k < 8; k++) out[k] = k < w ? x[k] : 0;
}

// next: the panel to come, fetched along the way; the hardware does not foresee it, backwards
static INLINE void forward_panel(const float *panel, float *x, int col, int w, const int *row, int nrow, const float *next,
                                 const bool two) {
    int wide = fai_even(w);
    float own[8];
    load_own(x + col, w, own);
    Quad b0, b1, y0, y1;
    LOAD(b0, own);
    LOAD(b1, own + 4);
#define PUT_OWN(i, count, sum)                                                                                                             \
    for (int k_ = 0; k_ < (count); k_++) own[(i) + k_] = (sum)[k_]
    DOT_ROWS(panel, wide, w, b0, b1, two, PUT_OWN)
    for (int k = 0; k < w; k++) x[col + k] = own[k];
    LOAD(y0, own);
    LOAD(y1, own + 4);
    panel += wide * wide;
    int i = 0;
    for (; i + 4 <= nrow; i += 4, panel += 4 * wide, next += 4 * wide) {
        __builtin_prefetch(next);
        if (two) __builtin_prefetch(next + 16);
        Quad q[4], l0, l1, sum;
        for (int r = 0; r < 4; r++) {
            LOAD(l0, panel + r * wide);
            q[r] = l0 * y0;
            if (two) {
                LOAD(l1, panel + r * wide + 4);
                q[r] += l1 * y1;
            }
        }
        ADD_ACROSS(sum, q[0], q[1], q[2], q[3]);
        for (int r = 0; r < 4; r++) x[row[i + r]] -= sum[r];
    }
#define PUT_ROW(k, count, sum)                                                                                                             \
    for (int k_ = 0; k_ < (count); k_++) x[row[i + (k) + k_]] -= (sum)[k_]
    DOT_ROWS(panel, wide, nrow - i, y0, y1, two, PUT_ROW)
}

static INLINE void backward_panel(const float *panel, float *x, int col, int w, const int *row, int nrow, const float *next,
                                  const bool two) {
    int wide = fai_even(w), i = 0;
    const float *below = panel + wide * wide;
    Quad s[4][2] = {{{0}}}, l0, l1;
    for (; i + 4 <= nrow; i += 4, below += 4 * wide, next += 4 * wide) {
        __builtin_prefetch(next);
        if (two) __builtin_prefetch(next + 16);
        for (int r = 0; r < 4; r++) {
            float v = x[row[i + r]];
            LOAD(l0, below + r * wide);
            s[r][0] += l0 * v;
            if (two) {
                LOAD(l1, below + r * wide + 4);
                s[r][1] += l1 * v;
            }
        }
    }
    for (int r = 0; i < nrow; i++, r++, below += wide) {
        float v = x[row[i]];
        LOAD(l0, below);
        s[r][0] += l0 * v;
        if (!two) continue;
        LOAD(l1, below + 4);
        s[r][1] += l1 * v;
    }
    float own[8], sum[8];
    load_own(x + col, w, own);
    Quad a = (s[0][0] + s[1][0]) + (s[2][0] + s[3][0]), b = (s[0][1] + s[1][1]) + (s[2][1] + s[3][1]);
    STORE(sum, a);
    STORE(sum + 4, b);
    Quad o0 = {0}, o1 = {0};
    for (int k = 0; k < w; k++) {
        float t = own[k] - sum[k];
        LOAD(l0, panel + k * wide);
        o0 += l0 * t;
        if (!two) continue;
        LOAD(l1, panel + k * wide + 4);
        o1 += l1 * t;
    }
    STORE(own, o0);
    STORE(own + 4, o1);
    for (int k = 0; k < w; k++) x[col + k] = own[k];
}

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
        const float *panel = v->panel + s->panel;
        for (int k = 0; k < s->width; k += FA_CHOL_WIDTH) {
            int w = FA_MIN(FA_CHOL_WIDTH, s->width - k), below = s->width - k - w + s->nrow;
            const float *next = panel + panel_size(s, k, w);
            if (w > 4)
                forward_panel(panel, x, local[k], w, local + k + w, below, next, true);
            else
                forward_panel(panel, x, local[k], w, local + k + w, below, next, false);
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
        const float *panel = v->panel + s->last_panel;
        for (int k = (s->width - 1) / FA_CHOL_WIDTH * FA_CHOL_WIDTH; k >= 0; k -= FA_CHOL_WIDTH) {
            int w = FA_MIN(FA_CHOL_WIDTH, s->width - k), below = s->width - k - w + s->nrow;
            const float *next = k ? panel - panel_size(s, k - FA_CHOL_WIDTH, FA_CHOL_WIDTH) : f ? v->panel + s[-1].last_panel : panel;
            if (w > 4)
                backward_panel(panel, x, local[k], w, local + k + w, below, next, true);
            else
                backward_panel(panel, x, local[k], w, local + k + w, below, next, false);
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

void fai_chol_solve1_f(FaChol *c, const float *b, float *x) {
    FA_ASSERT(c->ready && c->single && c->plan && !c->plan->nzone);
    const FaCholPlan *p = c->plan;
    Solve v = {p, c->panel_f, c->vec_f, b, x, 0};
    for (int g = 0; g < p->nstage; g++) {
        v.first = p->stage[g];
        fai_parallel(p->stage[g + 1] - v.first, 1, forward_parts, &v);
    }
    for (int g = p->nstage; g-- > 0;) {
        v.first = p->stage[g];
        fai_parallel(p->stage[g + 1] - v.first, 1, backward_parts, &v);
    }
}
