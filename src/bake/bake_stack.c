#include "bake/bake_stack.h"

#include "base/simd.h"

#include "base/task.h"

#include <math.h>
#include <stdlib.h>

// Eight lanes, lowered by the compiler to what the target has. No sums across lanes but in a fixed order, and no fused
// multiply-add (-ffp-contract=off), so the wide and the narrow version of a kernel agree bit for bit.
typedef float V8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t I8 __attribute__((vector_size(32), aligned(4), may_alias));

enum { LANES = 8, VERTS = FA_STACK_VERTS, BLOCK = FA_STACK_BLOCK, PANEL = FA_STACK_PANEL, ALIGN = 64, MAX_TASKS = 64 };

// Macros, not functions: wide vectors passed by value would make the ABI depend on the target.
#define load(p) (*(const V8 *)(p))
#define store(p, v) (*(V8 *)(p) = (v))
#define splat(v) ((V8){(v), (v), (v), (v), (v), (v), (v), (v)})
#define raise_to(m, v)                                                                                                 \
    do {                                                                                                               \
        V8 v_ = (v);                                                                                                   \
        I8 mask_ = (I8)(v_ > (m));                                                                                     \
        (m) = (V8)(((I8)v_ & mask_) | ((I8)(m) & ~mask_));                                                             \
    } while (0)
#define length2(x, y, z) ((x) * (x) + (y) * (y) + (z) * (z))

#define INLINE static inline __attribute__((always_inline))
INLINE float lane_sum(const V8 *p) {
    const float *v = (const float *)p;
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
INLINE float lane_max(const V8 *p) {
    const float *v = (const float *)p;
    float m = v[0];
    for (int i = 1; i < LANES; i++) m = v[i] > m ? v[i] : m;
    return m;
}

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif

// --- memory -------------------------------------------------------------------------------------------------------

FaCode fai_stack_init(FaStack *s, int nvert, int room, FaError *err) {
    *s = (FaStack){.nvert = nvert, .nblock = (nvert + VERTS - 1) / VERTS};
    FaCode rc = fai_stack_grow(s, room, err);
    if (rc < 0) fai_stack_free(s);
    return rc;
}

FaCode fai_stack_grow(FaStack *s, int room, FaError *err) {
    int need = (room + PANEL - 1) / PANEL;
    if (need <= s->npanel) return FA_OK;
    float **panel = fai_resize(s->panel, (size_t)need * sizeof *panel);
    if (!panel) return FA_FAIL_MEMORY(err);
    s->panel = panel;
    void **memory = fai_resize(s->memory, (size_t)need * sizeof *memory);
    if (!memory) return FA_FAIL_MEMORY(err);
    s->memory = memory;
    size_t bytes = (size_t)s->nblock * PANEL * BLOCK * sizeof(float);
    while (s->npanel < need) {
        char *p = fai_alloc_array(bytes + ALIGN, 1);
        if (!p) return FA_FAIL_MEMORY(err);
        memory[s->npanel] = p;
        panel[s->npanel] = (float *)(((uintptr_t)p + ALIGN - 1) / ALIGN * ALIGN);
        s->npanel++;
        s->room = s->npanel * PANEL;
    }
    return FA_OK;
}

void fai_stack_free(FaStack *s) {
    for (int i = 0; i < s->npanel; i++) fa_free(s->memory[i]);
    fa_free(s->memory);
    fa_free(s->panel);
    *s = (FaStack){0};
}

INLINE float *block_of(const FaStack *s, int i, int block) {
    return s->panel[i / PANEL] + ((size_t)block * PANEL + (size_t)(i % PANEL)) * BLOCK;
}

void fai_stack_set(FaStack *s, int i, const float *x) {
    for (int b = 0; b < s->nblock; b++) {
        float *p = block_of(s, i, b);
        const float *q = x + (size_t)b * BLOCK;
        int n = FA_MIN(VERTS, s->nvert - b * VERTS);
        for (int v = 0; v < n; v++)
            for (int a = 0; a < 3; a++) p[a * VERTS + v] = q[3 * v + a];
    }
}

void fai_stack_get(const FaStack *s, int i, float *x) {
    for (int b = 0; b < s->nblock; b++) {
        const float *p = block_of(s, i, b);
        float *q = x + (size_t)b * BLOCK;
        int n = FA_MIN(VERTS, s->nvert - b * VERTS);
        for (int v = 0; v < n; v++)
            for (int a = 0; a < 3; a++) q[3 * v + a] = p[a * VERTS + v];
    }
}

void fai_stack_copy(FaStack *to, int i, const FaStack *from, int j) {
    for (int b = 0; b < to->nblock; b++) memcpy(block_of(to, i, b), block_of(from, j, b), BLOCK * sizeof(float));
}

void fai_stack_clear(FaStack *s, int first, int count) {
    for (int i = first; i < first + count; i++)
        for (int b = 0; b < s->nblock; b++) memset(block_of(s, i, b), 0, BLOCK * sizeof(float));
}

// --- tasks: runs of blocks that depend on the vertex count only ---------------------------------------------------

static int task_blocks(const FaStack *s) { return FA_MAX(1, (s->nblock + MAX_TASKS - 1) / MAX_TASKS); }
static int task_count(const FaStack *s) { return fai_chunks(s->nblock, task_blocks(s)); }

// The same tasks either way: where there is little to do (per block, in numbers touched), waking threads takes longer.
static void run(const FaStack *s, size_t work, FaTaskFn *fn, void *ctx) {
    int step = task_blocks(s);
    if ((size_t)s->nblock * work >= 100000) {
        fai_parallel(s->nblock, step, fn, ctx);
        return;
    }
    for (int t = 0; t < task_count(s); t++) fn(ctx, t * step, FA_MIN(s->nblock, (t + 1) * step), t);
}

// --- dots ---------------------------------------------------------------------------------------------------------

typedef struct Dots {
    const FaStack *a, *b;
    int na, nb;
    double *part; // per task, na x nb
} Dots;

// four by two dot products of one block
INLINE void dots_tile(const float *a, const float *b, float out[4][2]) {
    V8 s[4][2] = {0};
    for (int i = 0; i < BLOCK; i += LANES) {
        V8 b0 = load(b + i), b1 = load(b + BLOCK + i);
        for (int k = 0; k < 4; k++) {
            V8 ak = load(a + k * BLOCK + i);
            s[k][0] += ak * b0;
            s[k][1] += ak * b1;
        }
    }
    for (int k = 0; k < 4; k++)
        for (int j = 0; j < 2; j++) out[k][j] = lane_sum(&s[k][j]);
}

INLINE bool all_zero(const float *p, int n) {
    I8 any = {0};
    for (int i = 0; i < n; i += LANES) any |= (I8)load(p + i);
    int32_t bits = 0;
    for (int i = 0; i < LANES; i++) bits |= any[i];
    return (bits & INT32_MAX) == 0;
}

INLINE void dots_body(const Dots *d, int begin, int end, double *part) {
    for (int block = begin; block < end; block++) {
        for (int j = 0; j < d->nb; j += 2) {
            const float *b = block_of(d->b, j, block);
            if (all_zero(b, 2 * BLOCK)) continue; // what lies beyond a tolerance is zero nearly everywhere
            for (int i = 0; i < d->na; i += 4) {
                float out[4][2];
                dots_tile(block_of(d->a, i, block), b, out);
                for (int ii = 0; ii < FA_MIN(4, d->na - i); ii++)
                    for (int jj = 0; jj < FA_MIN(2, d->nb - j); jj++)
                        part[(size_t)(i + ii) * (size_t)d->nb + (size_t)(j + jj)] += (double)out[ii][jj];
            }
        }
    }
}

static void dots_ref(const Dots *d, int begin, int end, double *part) { dots_body(d, begin, end, part); }
WIDE static void dots_wide(const Dots *d, int begin, int end, double *part) { dots_body(d, begin, end, part); }

static void dots_task(void *ctx, int begin, int end, int task) {
    const Dots *d = ctx;
    double *part = d->part + (size_t)task * (size_t)d->na * (size_t)d->nb;
    (fai_simd_wanted() ? dots_wide : dots_ref)(d, begin, end, part);
}

FaCode fai_stack_dots(const FaStack *a, int na, const FaStack *b, int nb, double *out, FaError *err) {
    size_t n = (size_t)na * (size_t)nb;
    memset(out, 0, n * sizeof *out);
    if (!n) return FA_OK;
    int tasks = task_count(a);
    Dots d = {a, b, na, nb, fai_alloc_array((size_t)tasks, n * sizeof(double))};
    if (!d.part) return FA_FAIL_MEMORY(err);
    run(a, BLOCK * n / 8, dots_task, &d);
    for (int t = 0; t < tasks; t++)
        for (size_t i = 0; i < n; i++) out[i] += d.part[(size_t)t * n + i];
    fa_free(d.part);
    return FA_OK;
}

// --- sums ---------------------------------------------------------------------------------------------------------

typedef struct Add {
    FaStack *y;
    const FaStack *x;
    int ny, nx;
    const float *coef;
    size_t ld;
    float *max2; // watched: per task (nx + 1) x LANES
} Add;

// `ny` (constant after inlining) vectors of one block += up to 16 others
INLINE void add_tile(float *y, int ny, const float *x, int nx, const float *coef, size_t ld) {
    for (int i = 0; i < BLOCK; i += 2 * LANES) {
        V8 s[4][2];
        for (int k = 0; k < ny; k++) {
            s[k][0] = load(y + k * BLOCK + i);
            s[k][1] = load(y + k * BLOCK + i + LANES);
        }
        for (int j = 0; j < nx; j++) {
            V8 x0 = load(x + j * BLOCK + i), x1 = load(x + j * BLOCK + i + LANES);
            for (int k = 0; k < ny; k++) {
                V8 c = splat(coef[(size_t)k * ld + (size_t)j]);
                s[k][0] += c * x0;
                s[k][1] += c * x1;
            }
        }
        for (int k = 0; k < ny; k++) {
            store(y + k * BLOCK + i, s[k][0]);
            store(y + k * BLOCK + i + LANES, s[k][1]);
        }
    }
}

INLINE void add_body(const Add *d, int begin, int end) {
    for (int block = begin; block < end; block++) {
        for (int j = 0; j < d->nx; j += PANEL) {
            const float *x = block_of(d->x, j, block);
            int nx = FA_MIN(PANEL, d->nx - j), i = 0;
            for (; i + 4 <= d->ny; i += 4)
                add_tile(block_of(d->y, i, block), 4, x, nx, d->coef + (size_t)i * d->ld + j, d->ld);
            for (; i < d->ny; i++) add_tile(block_of(d->y, i, block), 1, x, nx, d->coef + (size_t)i * d->ld + j, d->ld);
        }
    }
}

static void add_ref(const Add *d, int begin, int end) { add_body(d, begin, end); }
WIDE static void add_wide(const Add *d, int begin, int end) { add_body(d, begin, end); }
static void add_task(void *ctx, int begin, int end, int task) {
    (void)task;
    (fai_simd_wanted() ? add_wide : add_ref)(ctx, begin, end);
}

void fai_stack_add(FaStack *y, int ny, const FaStack *x, int nx, const float *coef, size_t ld) {
    Add d = {y, x, ny, nx, coef, ld, NULL};
    if (ny && nx) run(y, BLOCK * (size_t)ny * (size_t)nx / 8, add_task, &d);
}

// two fields at a time: after each addition the longest vector so far is kept, lane by lane
INLINE void watch_tile(float *y, int ny, const float *x, int nx, const float *coef, size_t ld, float *max2) {
    for (int i = 0; i < VERTS; i += LANES) {
        V8 s[2][3];
        for (int k = 0; k < ny; k++)
            for (int a = 0; a < 3; a++) s[k][a] = load(y + k * BLOCK + a * VERTS + i);
        for (int j = 0; j < nx; j++) {
            V8 m = load(max2 + j * LANES);
            for (int k = 0; k < ny; k++) {
                raise_to(m, length2(s[k][0], s[k][1], s[k][2]));
                V8 c = splat(coef[(size_t)k * ld + (size_t)j]);
                for (int a = 0; a < 3; a++) s[k][a] += c * load(x + j * BLOCK + a * VERTS + i);
            }
            store(max2 + j * LANES, m);
        }
        for (int k = 0; k < ny; k++)
            for (int a = 0; a < 3; a++) store(y + k * BLOCK + a * VERTS + i, s[k][a]);
    }
}

INLINE void raise_to_block(float *max2, const float *p) {
    V8 m = load(max2);
    for (int i = 0; i < VERTS; i += LANES)
        raise_to(m, length2(load(p + i), load(p + VERTS + i), load(p + 2 * VERTS + i)));
    store(max2, m);
}

INLINE void watch_body(const Add *d, int begin, int end, float *max2) {
    for (int block = begin; block < end; block++) {
        for (int j = 0; j < d->nx; j += PANEL) {
            const float *x = block_of(d->x, j, block);
            int nx = FA_MIN(PANEL, d->nx - j), i = 0;
            const float *c = d->coef + j;
            for (; i + 2 <= d->ny; i += 2)
                watch_tile(block_of(d->y, i, block), 2, x, nx, c + (size_t)i * d->ld, d->ld, max2 + j * LANES);
            for (; i < d->ny; i++)
                watch_tile(block_of(d->y, i, block), 1, x, nx, c + (size_t)i * d->ld, d->ld, max2 + j * LANES);
        }
        for (int i = 0; i < d->ny; i++) raise_to_block(max2 + d->nx * LANES, block_of(d->y, i, block));
    }
}

static void watch_ref(const Add *d, int begin, int end, float *max2) { watch_body(d, begin, end, max2); }
WIDE static void watch_wide(const Add *d, int begin, int end, float *max2) { watch_body(d, begin, end, max2); }
static void watch_task(void *ctx, int begin, int end, int task) {
    const Add *d = ctx;
    float *max2 = d->max2 + (size_t)task * (size_t)(d->nx + 1) * LANES;
    (fai_simd_wanted() ? watch_wide : watch_ref)(d, begin, end, max2);
}

FaCode fai_stack_add_watch(FaStack *y, int ny, const FaStack *x, int nx, const float *coef, size_t ld, float *max2,
                           FaError *err) {
    int tasks = task_count(y);
    size_t n = (size_t)nx + 1;
    Add d = {y, x, ny, nx, coef, ld, fai_alloc_array((size_t)tasks * n, LANES * sizeof(float))};
    if (!d.max2) return FA_FAIL_MEMORY(err);
    run(y, BLOCK * (size_t)ny * n / 8, watch_task, &d);
    for (size_t t = 0; t < (size_t)tasks; t++)
        for (size_t j = 0; j < n; j++) max2[j] = FA_MAX(max2[j], lane_max((const V8 *)d.max2 + t * n + j));
    fa_free(d.max2);
    return FA_OK;
}

// --- mixing in place: a block at a time through a copy ------------------------------------------------------------

typedef struct Mix {
    FaStack *s;
    int n, k;
    const float *coef;
    float *copy; // per task: n x BLOCK
} Mix;

INLINE void mix_body(const Mix *d, int begin, int end, float *copy) {
    for (int block = begin; block < end; block++) {
        for (int j = 0; j < d->n; j++)
            memcpy(copy + (size_t)j * BLOCK, block_of(d->s, j, block), BLOCK * sizeof(float));
        for (int i = 0; i < d->k; i++) memset(block_of(d->s, i, block), 0, BLOCK * sizeof(float));
        for (int j = 0; j < d->n; j += PANEL) {
            const float *x = copy + (size_t)j * BLOCK;
            int nx = FA_MIN(PANEL, d->n - j), i = 0;
            size_t ld = (size_t)d->n;
            for (; i + 4 <= d->k; i += 4)
                add_tile(block_of(d->s, i, block), 4, x, nx, d->coef + (size_t)i * ld + j, ld);
            for (; i < d->k; i++) add_tile(block_of(d->s, i, block), 1, x, nx, d->coef + (size_t)i * ld + j, ld);
        }
    }
}

static void mix_ref(const Mix *d, int begin, int end, float *copy) { mix_body(d, begin, end, copy); }
WIDE static void mix_wide(const Mix *d, int begin, int end, float *copy) { mix_body(d, begin, end, copy); }
static void mix_task(void *ctx, int begin, int end, int task) {
    const Mix *d = ctx;
    float *copy = d->copy + (size_t)task * (size_t)d->n * BLOCK;
    (fai_simd_wanted() ? mix_wide : mix_ref)(d, begin, end, copy);
}

FaCode fai_stack_mix(FaStack *s, int n, int k, const float *coef, FaError *err) {
    Mix d = {s, n, k, coef, fai_alloc_array((size_t)task_count(s) * (size_t)n, BLOCK * sizeof(float))};
    if (!d.copy) return FA_FAIL_MEMORY(err);
    run(s, BLOCK * (size_t)n * (size_t)k / 8, mix_task, &d);
    fa_free(d.copy);
    return FA_OK;
}

// --- lengths ------------------------------------------------------------------------------------------------------

typedef struct Peaks {
    FaStack *s, *dual; // dual NULL: measure only
    int n, first;
    float reach;
    float *max2; // per task, n
    int *vert;   // per task, n
    double *sum; // per task
} Peaks;

// one block of e and its dual, see fai_stack_reflect
INLINE void reflect_block(float *e, float *dual, float reach) {
    for (int v = 0; v < VERTS; v++) {
        float d[3], l[3], l2 = 0, keep = 0;
        for (int a = 0; a < 3; a++) {
            d[a] = dual[a * VERTS + v];
            l[a] = d[a] + e[a * VERTS + v];
            l2 += l[a] * l[a];
        }
        if (l2 > reach * reach) keep = 1 - reach / sqrtf(l2);
        for (int a = 0; a < 3; a++) {
            dual[a * VERTS + v] = l[a] * keep;
            e[a * VERTS + v] = 2 * (l[a] * keep) - d[a];
        }
    }
}

INLINE int find_length2(const float *p, float l2) {
    for (int v = 0; v < VERTS; v++)
        if (p[v] * p[v] + p[VERTS + v] * p[VERTS + v] + p[2 * VERTS + v] * p[2 * VERTS + v] == l2) return v;
    return 0;
}

INLINE void peaks_body(const Peaks *d, int begin, int end, float *max2, int *vert) {
    for (int block = begin; block < end; block++) {
        for (int i = 0; i < d->n; i++) {
            float *p = block_of(d->s, i, block);
            V8 lanes = {0};
            raise_to_block((float *)&lanes, p);
            float m = lane_max(&lanes);
            if (m > max2[i]) {
                max2[i] = m;
                vert[i] = block * VERTS + find_length2(p, m);
            }
            if (!d->dual) continue;
            float *q = block_of(d->dual, d->first + i, block);
            if (m > d->reach * d->reach || !all_zero(q, BLOCK))
                reflect_block(p, q, d->reach);
            else
                memset(p, 0, BLOCK * sizeof(float)); // nearly everywhere
        }
    }
}

static void peaks_ref(const Peaks *d, int begin, int end, float *max2, int *vert) {
    peaks_body(d, begin, end, max2, vert);
}
WIDE static void peaks_wide(const Peaks *d, int begin, int end, float *max2, int *vert) {
    peaks_body(d, begin, end, max2, vert);
}
static void peaks_task(void *ctx, int begin, int end, int task) {
    const Peaks *d = ctx;
    size_t at = (size_t)task * (size_t)d->n;
    (fai_simd_wanted() ? peaks_wide : peaks_ref)(d, begin, end, d->max2 + at, d->vert + at);
}

static FaCode peaks(Peaks d, float *max2, int *vert, FaError *err) {
    size_t tasks = (size_t)task_count(d.s), count = (size_t)d.n;
    d.max2 = FA_NEW(tasks * count, float);
    d.vert = FA_NEW(tasks * count, int);
    FaCode rc = d.max2 && d.vert ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        run(d.s, BLOCK * count / 4, peaks_task, &d);
        for (size_t i = 0; i < count; i++) {
            max2[i] = 0;
            if (vert) vert[i] = 0;
            for (size_t t = 0; t < tasks; t++) {
                if (d.max2[t * count + i] <= max2[i]) continue;
                max2[i] = d.max2[t * count + i];
                if (vert) vert[i] = d.vert[t * count + i];
            }
        }
    }
    fa_free(d.max2);
    fa_free(d.vert);
    return rc;
}

FaCode fai_stack_peaks(const FaStack *s, int n, float *max2, int *vert, FaError *err) {
    FaStack view = *s; // measured only, never written
    return peaks((Peaks){.s = &view, .n = n}, max2, vert, err);
}

FaCode fai_stack_reflect(FaStack *e, int n, FaStack *dual, int first, float reach, float *max2, FaError *err) {
    return peaks((Peaks){.s = e, .dual = dual, .n = n, .first = first, .reach = reach}, max2, NULL, err);
}

static void lengths_task(void *ctx, int begin, int end, int task) {
    const Peaks *d = ctx;
    double sum = 0;
    for (int block = begin; block < end; block++) {
        for (int i = 0; i < d->n; i++) {
            const float *p = block_of(d->s, i, block);
            float part = 0;
            for (int v = 0; v < VERTS; v++)
                part += sqrtf(p[v] * p[v] + p[VERTS + v] * p[VERTS + v] + p[2 * VERTS + v] * p[2 * VERTS + v]);
            sum += (double)part;
        }
    }
    d->sum[task] = sum;
}

FaCode fai_stack_lengths(const FaStack *s, int n, double *sum, FaError *err) {
    FaStack view = *s;
    int tasks = task_count(s);
    Peaks d = {.s = &view, .n = n, .sum = FA_NEW(tasks, double)};
    if (!d.sum) return FA_FAIL_MEMORY(err);
    run(s, BLOCK * (size_t)n, lengths_task, &d);
    *sum = 0;
    for (int t = 0; t < tasks; t++) *sum += d.sum[t];
    fa_free(d.sum);
    return FA_OK;
}
