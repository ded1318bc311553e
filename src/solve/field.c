#include "solve/field.h"

#include "base/task.h"
#include "energy/kernel.h"

typedef float Eight __attribute__((vector_size(32), may_alias)); // two registers of the plain kernel, one of the wide
typedef double FourD __attribute__((vector_size(32)));

enum {
    PAD = 16,
    SHORT = 256,
    CHUNK = 8192,
    BLOCK = 1024
}; // floats; a block of several fields stays in the first cache

FaCode fai_field_shape(FaArena *arena, int nnode, FaFieldShape *shape, FaError *err) {
    size_t n = (4 * (size_t)nnode + PAD - 1) / PAD * PAD;
    if (n > INT32_MAX / 2)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser simulation mesh", "%d nodes are too many", nnode);
    *shape = (FaFieldShape){.n = n, .wide = fai_simd_wanted()};
    shape->part = FA_PUSH(arena, (size_t)fai_chunks((int)n, CHUNK) * FA_FIELD_MAX, double);
    return shape->part ? FA_OK : FA_FAIL_MEMORY(err);
}

float *fai_field_new(const FaFieldShape *shape, FaArena *arena) { return FA_PUSH(arena, shape->n, float); }

// --- products -----------------------------------------------------------------------------------------------------

typedef struct Dots {
    const FaFieldShape *f;
    int count;
    const float *const *a;
    const float *b;
} Dots;

// A group of at most three products: their sums fit in registers, and b is read once for all. SHORT floats are summed
// as such, 16 per lane, which loses less than the fields' own rounding; then in double.
FAI_BODY void dots_group(const float *const *a, const float *b, int count, int begin, int end, double *out) {
    FourD sum[3][2] = {{{0}}};
    for (int at = begin; at < end; at += SHORT) {
        Eight part[3][2] = {{{0}}};
        int stop = FA_MIN(at + SHORT, end);
        for (int i = at; i < stop; i += PAD) {
            Eight b0 = *(const Eight *)(b + i), b1 = *(const Eight *)(b + i + 8);
            for (int k = 0; k < count; k++) {
                part[k][0] += *(const Eight *)(a[k] + i) * b0;
                part[k][1] += *(const Eight *)(a[k] + i + 8) * b1;
            }
        }
        for (int k = 0; k < count; k++) {
            Eight both = part[k][0] + part[k][1];
            sum[k][0] += (FourD){(double)both[0], (double)both[1], (double)both[2], (double)both[3]};
            sum[k][1] += (FourD){(double)both[4], (double)both[5], (double)both[6], (double)both[7]};
        }
    }
    for (int k = 0; k < count; k++) {
        FourD both = sum[k][0] + sum[k][1];
        out[k] = (both[0] + both[1]) + (both[2] + both[3]);
    }
}

FAI_BODY void dots_range(const float *const *a, const float *b, int count, int begin, int end, double *out) {
    int k = 0;
    for (; k + 3 <= count; k += 3) dots_group(a + k, b, 3, begin, end, out + k);
    if (count - k == 2) dots_group(a + k, b, 2, begin, end, out + k);
    if (count - k == 1) dots_group(a + k, b, 1, begin, end, out + k);
}

FAI_BODY void dots_body(const Dots *d, int begin, int end, int chunk) {
    dots_range(d->a, d->b, d->count, begin, end, d->f->part + chunk * FA_FIELD_MAX);
}

static void dots_ref(void *ctx, int begin, int end, int chunk) { dots_body(ctx, begin, end, chunk); }
FAI_WIDE static void dots_wide(void *ctx, int begin, int end, int chunk) { dots_body(ctx, begin, end, chunk); }

// Chunks' sums, in order.
static void add_chunks(const FaFieldShape *f, int count, double *dot) {
    for (int k = 0; k < count; k++) {
        dot[k] = 0;
        for (int c = 0; c < fai_chunks((int)f->n, CHUNK); c++) dot[k] += f->part[c * FA_FIELD_MAX + k];
    }
}

void fai_field_dots(const FaFieldShape *f, int count, const float *const *a, const float *b, double *dot) {
    FA_ASSERT(count <= FA_FIELD_MAX);
    Dots d = {f, count, a, b};
    fai_parallel((int)f->n, CHUNK, f->wide ? dots_wide : dots_ref, &d);
    add_chunks(f, count, dot);
}

double fai_field_dot(const FaFieldShape *f, const float *a, const float *b) {
    double dot;
    fai_field_dots(f, 1, &a, b, &dot);
    return dot;
}

// --- sums ---------------------------------------------------------------------------------------------------------

typedef struct Sum {
    float scale;
    const float *base;
    int count;
    float coef[FA_FIELD_MAX];
    const float *const *v;
    float *out;
    const FaFieldShape *f;
    FaFieldMore more;
} Sum;

// A group of at most four terms, kept in a register from the first to the last.
FAI_BODY void sum_group(float scale, const float *base, int count, const float *coef, const float *const *v, float *out,
                        int begin, int end) {
    for (int i = begin; i < end; i += PAD) {
        Eight a = scale * *(const Eight *)(base + i), b = scale * *(const Eight *)(base + i + 8);
        for (int k = 0; k < count; k++) {
            a += coef[k] * *(const Eight *)(v[k] + i);
            b += coef[k] * *(const Eight *)(v[k] + i + 8);
        }
        *(Eight *)(out + i) = a;
        *(Eight *)(out + i + 8) = b;
    }
}

FAI_BODY void sum_body(const Sum *s, int begin, int end, int chunk) {
    double dot = 0, part;
    for (int b = begin; b < end; b += BLOCK) {
        int e = FA_MIN(b + BLOCK, end), k = 0;
        float scale = s->scale;
        const float *base = s->base;
        do {
            int left = s->count - k;
            const float *c = s->coef + k;
            const float *const *v = k ? s->v + k : s->v; // NULL + 0 is undefined
            if (left == 0)
                sum_group(scale, base, 0, c, v, s->out, b, e);
            else if (left == 1)
                sum_group(scale, base, 1, c, v, s->out, b, e);
            else if (left == 2)
                sum_group(scale, base, 2, c, v, s->out, b, e);
            else if (left == 3)
                sum_group(scale, base, 3, c, v, s->out, b, e);
            else
                sum_group(scale, base, 4, c, v, s->out, b, e);
            k += FA_MIN(left, 4);
            scale = 1;
            base = s->out;
        } while (k < s->count);
        const FaFieldMore *more = &s->more;
        if (more->to) sum_group(1, more->from, 1, &(float){1}, &(const float *){s->out}, more->to, b, e);
        if (!more->with) continue;
        dots_group(&(const float *){s->out}, more->with, 1, b, e, &part);
        dot += part;
    }
    if (s->more.with) s->f->part[chunk * FA_FIELD_MAX] = dot;
}

static void sum_ref(void *ctx, int begin, int end, int chunk) { sum_body(ctx, begin, end, chunk); }
FAI_WIDE static void sum_wide(void *ctx, int begin, int end, int chunk) { sum_body(ctx, begin, end, chunk); }

void fai_field_sum_more(const FaFieldShape *f, double scale, const float *base, int count, const double *coef,
                        const float *const *v, float *out, const FaFieldMore *more) {
    FA_ASSERT(count <= FA_FIELD_MAX);
    Sum s = {.scale = (float)scale, .base = base, .count = count, .v = v, .out = out, .f = f};
    if (more) s.more = *more;
    for (int k = 0; k < count; k++) s.coef[k] = (float)coef[k];
    fai_parallel((int)f->n, CHUNK, f->wide ? sum_wide : sum_ref, &s);
    if (s.more.with) add_chunks(f, 1, s.more.dot);
}

void fai_field_sum(const FaFieldShape *f, double scale, const float *base, int count, const double *coef,
                   const float *const *v, float *out) {
    fai_field_sum_more(f, scale, base, count, coef, v, out, NULL);
}

// --- pairs --------------------------------------------------------------------------------------------------------

typedef struct Pair {
    const FaFieldShape *f;
    const FaFieldPair *p;
} Pair;

// Sums of a chunk: s . y (n + 1), s . g1 (n + 1), s[n] . s[n], y . y
FAI_BODY void pair_body(const Pair *c, int begin, int end, int chunk) {
    const FaFieldPair *p = c->p;
    const float *const *s = (const float *const *)p->s;
    int n = p->n + 1;
    double *out = c->f->part + chunk * FA_FIELD_MAX, part[FA_FIELD_MAX];
    for (int k = 0; k < 2 * n + 2; k++) out[k] = 0;
    for (int b = begin; b < end; b += BLOCK) {
        int e = FA_MIN(b + BLOCK, end);
        sum_group((float)p->a, p->d, 0, NULL, NULL, p->s[p->n], b, e);
        sum_group(1, p->g1, 1, &(float){-1}, &p->g0, p->y, b, e);
        dots_range(s, p->y, n, b, e, part);
        dots_range(s, p->g1, n, b, e, part + n);
        dots_group(&s[p->n], s[p->n], 1, b, e, part + 2 * n);
        dots_group(&(const float *){p->y}, p->y, 1, b, e, part + 2 * n + 1);
        for (int k = 0; k < 2 * n + 2; k++) out[k] += part[k];
    }
}

static void pair_ref(void *ctx, int begin, int end, int chunk) { pair_body(ctx, begin, end, chunk); }
FAI_WIDE static void pair_wide(void *ctx, int begin, int end, int chunk) { pair_body(ctx, begin, end, chunk); }

void fai_field_pair(const FaFieldShape *f, const FaFieldPair *pair, double *sy, double *sg, double own[2]) {
    int n = pair->n + 1;
    double dot[FA_FIELD_MAX];
    FA_ASSERT(2 * n + 2 <= FA_FIELD_MAX);
    Pair c = {f, pair};
    fai_parallel((int)f->n, CHUNK, f->wide ? pair_wide : pair_ref, &c);
    add_chunks(f, 2 * n + 2, dot);
    memcpy(sy, dot, (size_t)n * sizeof *dot);
    memcpy(sg, dot + n, (size_t)n * sizeof *dot);
    memcpy(own, dot + 2 * n, 2 * sizeof *dot);
}
