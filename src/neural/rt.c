// A bound face, played: the core of libfascia-rt, which the method `neural` runs on too. libc and libm only.
//
// Every sum runs over its terms in their order, with a fused multiply-add for each, whatever the kernel: one lane is
// one result, so that AVX2 and plain C give the same bits. exp is our own (neural/net_math.h).
#include "fascia_rt.h"

#include "math/oscillator.h"
#include "neural/net_math.h"
#include "neural/rt_layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define HAVE_AVX2 1
#define AVX2 __attribute__((target("avx2,fma,f16c")))
#endif

struct FaRt {
    FaRtNumbers n;
    const char *names;
    const float *neutral, *delta, *encode, *net, *ridge, *scale, *weight;
    const int32_t *shape, *active, *start;
    const FaRtRun *run;
    const unsigned char *basis;
    const uint16_t *node;
    int avx2, springs; // springs: 0 none, 1 set, 2 moving
    FaOscillatorStep step;
    double mass, damping, stiffness, seconds;
    float *z, *work[2], *rest, *target; // rest: g(0)                      (pad nd) (widest) (pad nt)
    float *c;                           // of the nodes, m                 (blocks x 32 + 8)
    double *spring;                     // place, speed, last goal         (nshape x 3)
};

// --- numbers ------------------------------------------------------------------------------------------------------

static float half_value(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023, bits;
    float f;
    if (e == 0) {
        f = (float)m * 0x1p-24f; // exact
        return sign ? -f : f;
    }
    bits = sign | (e == 31 ? 0x7F800000u : (e + 112) << 23) | m << 13;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static int weighs(float w) { return w != 0 && isfinite(w); }

// --- kernels: plain -----------------------------------------------------------------------------------------------

// out[j] = start[j] + sum over i of x[i] a[i][j]; n: of out, a multiple of 8.
static void dense_ref(const float *start, const float *x, int nx, const float *a, size_t n, float *out) {
    memmove(out, start, n * sizeof *out);
    for (int i = 0; i < nx; i++)
        for (size_t j = 0; j < n; j++) out[j] = __builtin_fmaf(x[i], a[(size_t)i * n + j], out[j]);
}

static void basis_ref(const FaRt *f, const float *t, float *c) {
    const int nt = f->n.nt;
    for (int b = 0; b < fa_rt_blocks(f->n.nnode); b++) {
        const size_t at = (size_t)b * (size_t)nt * FA_RT_BLOCK;
        float *out = c + (size_t)b * FA_RT_BLOCK;
        memset(out, 0, FA_RT_BLOCK * sizeof *out);
        for (int k = 0; k < nt; k++)
            for (int i = 0; i < FA_RT_BLOCK; i++) {
                const size_t e = at + (size_t)k * FA_RT_BLOCK + (size_t)i;
                float v = f->n.precision == FA_RT_F32   ? ((const float *)(const void *)f->basis)[e]
                          : f->n.precision == FA_RT_F16 ? half_value(((const uint16_t *)(const void *)f->basis)[e])
                                                        : (float)((const int8_t *)f->basis)[e];
                out[i] = __builtin_fmaf(t[k], v, out[i]);
            }
    }
}

static void carry_ref(const FaRt *f, float amount, const float *c, float *x) {
    for (int a = 0; a < f->n.nactive; a++) {
        float sum[3] = {0}, *to = x + 3 * (size_t)f->active[a];
        for (int e = f->start[a]; e < f->start[a + 1]; e++)
            for (int k = 0; k < 3; k++)
                sum[k] = __builtin_fmaf(f->weight[e], c[3 * (size_t)f->node[e] + (size_t)k], sum[k]);
        for (int k = 0; k < 3; k++) to[k] = __builtin_fmaf(amount, sum[k], to[k]);
    }
}

static inline __attribute__((always_inline)) void add_shapes(const FaRt *f, const float *weights, float *x) {
    for (int s = 0; s < f->n.nshape; s++) {
        const float w = weights[s];
        if (!weighs(w)) continue;
        for (int r = f->shape[s]; r < f->shape[s + 1]; r++) {
            const float *d = f->delta + 3 * (size_t)f->run[r].first;
            float *p = x + 3 * (size_t)f->run[r].begin;
            for (size_t i = 0; i < 3 * (size_t)f->run[r].count; i++) p[i] = __builtin_fmaf(w, d[i], p[i]);
        }
    }
    for (size_t i = 0; i < 3 * (size_t)f->n.nvert; i++) x[i] += 0.0f; // a negative zero becomes a plain one
}

static void shapes_ref(const FaRt *f, const float *weights, float *x) { add_shapes(f, weights, x); }

// --- kernels: AVX2 ------------------------------------------------------------------------------------------------

#ifdef HAVE_AVX2
AVX2 static void shapes_avx2(const FaRt *f, const float *weights, float *x) { add_shapes(f, weights, x); }

AVX2 static void dense_avx2(const float *start, const float *x, int nx, const float *a, size_t n, float *out) {
    size_t j = 0;
    for (; j + 64 <= n; j += 64) {
        __m256 r[8];
        for (int k = 0; k < 8; k++) r[k] = _mm256_loadu_ps(start + j + 8 * k);
        for (int i = 0; i < nx; i++) {
            const float *row = a + (size_t)i * n + j;
            const __m256 v = _mm256_broadcast_ss(x + i);
            for (int k = 0; k < 8; k++) r[k] = _mm256_fmadd_ps(v, _mm256_loadu_ps(row + 8 * k), r[k]);
        }
        for (int k = 0; k < 8; k++) _mm256_storeu_ps(out + j + 8 * k, r[k]);
    }
    for (; j < n; j += 8) {
        __m256 r = _mm256_loadu_ps(start + j);
        for (int i = 0; i < nx; i++)
            r = _mm256_fmadd_ps(_mm256_broadcast_ss(x + i), _mm256_loadu_ps(a + (size_t)i * n + j), r);
        _mm256_storeu_ps(out + j, r);
    }
}

#define EACH_LANE(f) f(0) f(1) f(2) f(3)
#define BASIS_KERNEL(name, type, load)                                                                                 \
    AVX2 static void name(const FaRt *f, const float *t, float *c) {                                                   \
        const type *p = (const type *)(const void *)f->basis;                                                          \
        for (int b = 0; b < fa_rt_blocks(f->n.nnode); b++, c += FA_RT_BLOCK) {                                         \
            __m256 r0 = _mm256_setzero_ps(), r1 = r0, r2 = r0, r3 = r0;                                                \
            for (int k = 0; k < f->n.nt; k++, p += FA_RT_BLOCK) {                                                      \
                const __m256 v = _mm256_broadcast_ss(t + k);                                                           \
                EACH_LANE(load)                                                                                        \
            }                                                                                                          \
            EACH_LANE(STORE_LANE)                                                                                      \
        }                                                                                                              \
    }
#define STORE_LANE(i) _mm256_storeu_ps(c + 8 * i, r##i);
#define LOAD_F32(i) r##i = _mm256_fmadd_ps(v, _mm256_loadu_ps(p + 8 * i), r##i);
#define LOAD_F16(i)                                                                                                    \
    r##i = _mm256_fmadd_ps(v, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p + 8 * i))), r##i);
#define LOAD_INT8(i)                                                                                                   \
    r##i = _mm256_fmadd_ps(                                                                                            \
        v, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p + 8 * i)))),      \
        r##i);
BASIS_KERNEL(basis_f32, float, LOAD_F32)
BASIS_KERNEL(basis_f16, uint16_t, LOAD_F16)
BASIS_KERNEL(basis_int8, int8_t, LOAD_INT8)

AVX2 static void basis_avx2(const FaRt *f, const float *t, float *c) {
    if (f->n.precision == FA_RT_F32)
        basis_f32(f, t, c);
    else if (f->n.precision == FA_RT_F16)
        basis_f16(f, t, c);
    else
        basis_int8(f, t, c);
}

// Four numbers are read of a node's three: c has room behind its end.
AVX2 static void carry_avx2(const FaRt *f, float amount, const float *c, float *x) {
    const __m128 by = _mm_set1_ps(amount);
    for (int a = 0; a < f->n.nactive; a++) {
        float *to = x + 3 * (size_t)f->active[a];
        __m128 sum = _mm_setzero_ps();
        for (int e = f->start[a]; e < f->start[a + 1]; e++)
            sum = _mm_fmadd_ps(_mm_broadcast_ss(f->weight + e), _mm_loadu_ps(c + 3 * (size_t)f->node[e]), sum);
        __m128 p = _mm_setr_ps(to[0], to[1], to[2], 0);
        p = _mm_fmadd_ps(by, sum, p);
        _mm_storel_pi((__m64 *)(void *)to, p);
        _mm_store_ss(to + 2, _mm_movehl_ps(p, p));
    }
}
#endif

static void dense(const FaRt *f, const float *start, const float *x, int nx, const float *a, size_t n, float *out) {
#ifdef HAVE_AVX2
    if (f->avx2) {
        dense_avx2(start, x, nx, a, n, out);
        return;
    }
#endif
    dense_ref(start, x, nx, a, n, out);
}

// --- the frame ----------------------------------------------------------------------------------------------------

void fa_rt_linear(const FaRt *f, const float *weights, float *x) {
    memcpy(x, f->neutral, 3 * (size_t)f->n.nvert * sizeof *x);
#ifdef HAVE_AVX2
    if (f->avx2) {
        shapes_avx2(f, weights, x);
        return;
    }
#endif
    shapes_ref(f, weights, x);
}

// g of z, in work[0] or work[1].
static const float *layers(const FaRt *f, const float *z) {
    const float *p = f->net, *x = z;
    for (int i = 0; i < f->n.nlayer; i++) {
        const int in = f->n.width[i];
        const size_t out = fa_rt_pad(f->n.width[i + 1]);
        float *to = f->work[i % 2];
        dense(f, p + (size_t)in * out, x, in, p, out, to);
        for (size_t j = 0; i + 1 < f->n.nlayer && j < out; j++) to[j] = fai_swish(to[j]);
        p += ((size_t)in + 1) * out;
        x = to;
    }
    return x;
}

void fa_rt_network(FaRt *f, const float *weights, float *targets) {
    const size_t nd = fa_rt_pad(f->n.nd);
    memset(f->z, 0, nd * sizeof *f->z);
    for (int s = 0; s < f->n.nshape; s++) {
        if (!weighs(weights[s])) continue;
        const float *e = f->encode + (size_t)s * nd;
        for (size_t i = 0; i < nd; i++) f->z[i] = __builtin_fmaf(weights[s], e[i], f->z[i]);
    }
    for (size_t i = 0; i < nd; i++) f->z[i] = fai_squash(f->z[i]);
    const float *g = layers(f, f->z);
    const size_t nt = fa_rt_pad(f->n.nt);
    for (size_t k = 0; k < nt; k++) f->target[k] = g[k] - f->rest[k];
    dense(f, f->target, f->z, f->n.nd, f->ridge, nt, f->target);
    memmove(targets, f->target, (size_t)f->n.nt * sizeof *targets);
}

void fa_rt_correct(FaRt *f, const float *targets, float amount, float *x) {
    for (int k = 0; k < f->n.nt; k++) f->target[k] = targets[k] * f->scale[k];
#ifdef HAVE_AVX2
    if (f->avx2) {
        basis_avx2(f, f->target, f->c);
        carry_avx2(f, amount, f->c, x);
        return;
    }
#endif
    basis_ref(f, f->target, f->c);
    carry_ref(f, amount, f->c, x);
}

void fa_rt_frame(FaRt *f, const float *weights, float *x) {
    fa_rt_linear(f, weights, x);
    fa_rt_network(f, weights, f->target);
    fa_rt_correct(f, f->target, 1, x);
}

// --- soft weights -------------------------------------------------------------------------------------------------

int fa_rt_spring(FaRt *f, double mass, double damping, double stiffness) {
    f->springs = 0;
    if (!(mass > 0) || !(damping >= 0) || !(stiffness > 0) || !isfinite(mass + damping + stiffness))
        return FA_RT_FORMAT;
    f->mass = mass, f->damping = damping, f->stiffness = stiffness;
    f->seconds = -1;
    f->springs = 1;
    return FA_RT_OK;
}

void fa_rt_soften(FaRt *f, double seconds, const float *goals, float *out) {
    const double k = f->stiffness;
    const int begin = f->springs == 1;
    if (f->springs && !begin && seconds > 0 && seconds != f->seconds) {
        f->step = fai_oscillator_step(f->mass, f->damping, k, seconds);
        f->seconds = seconds;
    }
    for (int s = 0; s < f->n.nshape; s++) {
        const double goal = isfinite(goals[s]) ? (double)goals[s] : 0;
        double *at = f->spring + 3 * (size_t)s, x = at[0], v = at[1];
        if (!f->springs || begin) x = goal, v = 0;
        if (f->springs && !begin && seconds > 0) {
            const double f0 = k * at[2], f1 = k * (goal - at[2]);
            x = f->step.xx * at[0] + f->step.xv * at[1] + f->step.x0 * f0 + f->step.x1 * f1;
            v = f->step.vx * at[0] + f->step.vv * at[1] + f->step.v0 * f0 + f->step.v1 * f1;
        }
        at[0] = x, at[1] = v, at[2] = goal;
        out[s] = (float)x;
    }
    if (begin) f->springs = 2;
}

// --- opening ------------------------------------------------------------------------------------------------------

static int wrong(char *why, const char *what) {
    if (why) snprintf(why, FA_RT_TEXT, "%s", what);
    return FA_RT_FORMAT;
}

static int within(int n, int least, int most) { return n >= least && n <= most; }

// Bounds that make every size below fit, whatever the numbers say.
static int numbers_fit(const FaRtNumbers *n) {
    int ok = within(n->nvert, 1, FA_RT_MOST) && within(n->nshape, 0, FA_RT_WIDE) &&
             within(n->names, n->nshape, FA_RT_MOST) && within(n->nrun, 0, FA_RT_MOST) &&
             within(n->ndelta, 0, 1 << 28) && within(n->nd, 1, FA_RT_WIDE) && within(n->nt, 1, FA_RT_WIDE) &&
             within(n->nlayer, 1, FA_RT_LAYERS) && within(n->precision, FA_RT_F32, FA_RT_INT8) &&
             within(n->nnode, 1, 65535) && within(n->nactive, 0, n->nvert) && within(n->ncarry, 0, 1 << 28);
    for (int i = 0; ok && i <= n->nlayer; i++) ok = within(n->width[i], 1, FA_RT_WIDE);
    return ok && n->width[0] == n->nd && n->width[n->nlayer] == n->nt;
}

static int all_finite(const float *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(p[i])) return 0;
    return 1;
}

static int runs_fit(const FaRt *f) {
    if (f->shape[0] != 0 || f->shape[f->n.nshape] != f->n.nrun) return 0;
    for (int s = 0; s < f->n.nshape; s++)
        if (f->shape[s] > f->shape[s + 1]) return 0;
    for (int r = 0; r < f->n.nrun; r++) {
        const FaRtRun *run = &f->run[r];
        if (!within(run->count, 1, f->n.nvert) || !within(run->begin, 0, f->n.nvert - run->count) ||
            run->count > f->n.ndelta || !within(run->first, 0, f->n.ndelta - run->count))
            return 0;
    }
    return 1;
}

static int carry_fits(const FaRt *f) {
    if (f->start[0] != 0 || f->start[f->n.nactive] != f->n.ncarry) return 0;
    for (int a = 0; a < f->n.nactive; a++)
        if (f->start[a] > f->start[a + 1] || !within(f->active[a], a ? f->active[a - 1] + 1 : 0, f->n.nvert - 1))
            return 0;
    for (int e = 0; e < f->n.ncarry; e++)
        if (f->node[e] >= f->n.nnode) return 0;
    return 1;
}

static int names_fit(const FaRt *f) {
    int ends = 0;
    for (int i = 0; i < f->n.names; i++) ends += f->names[i] == 0;
    return ends == f->n.nshape && (f->n.names == 0 || f->names[f->n.names - 1] == 0);
}

static int floats_fit(const FaRt *f) {
    const FaRtNumbers *n = &f->n;
    const size_t nt = fa_rt_pad(n->nt), basis = (size_t)fa_rt_blocks(n->nnode) * (size_t)n->nt * FA_RT_BLOCK;
    int ok = all_finite(f->neutral, 3 * (size_t)n->nvert) && all_finite(f->delta, 3 * (size_t)n->ndelta) &&
             all_finite(f->encode, (size_t)n->nshape * fa_rt_pad(n->nd)) && all_finite(f->net, fa_rt_net_size(n)) &&
             all_finite(f->ridge, (size_t)n->nd * nt) && all_finite(f->scale, nt) &&
             all_finite(f->weight, (size_t)n->ncarry);
    if (ok && n->precision == FA_RT_F32) ok = all_finite((const float *)(const void *)f->basis, basis);
    for (size_t i = 0; ok && n->precision == FA_RT_F16 && i < basis; i++)
        ok = (((const uint16_t *)(const void *)f->basis)[i] & 0x7C00) != 0x7C00;
    return ok;
}

// The head of a file: 0 if this is one, and all of it.
static int read_numbers(const void *data, size_t size, FaRtNumbers *n, size_t at[FA_RT_SECTIONS + 1], char *why) {
    uint64_t head[3];
    if (size < FA_RT_HEAD + sizeof *n) return wrong(why, "not a bound face: the file is too short");
    memcpy(head, data, sizeof head);
    memcpy(n, (const char *)data + FA_RT_HEAD, sizeof *n);
    if (head[0] != FA_RT_SIGNATURE) return wrong(why, "not a bound face, or one of another version");
    if (head[1] != size) return wrong(why, "a part of the file is missing");
    if (!numbers_fit(n)) return wrong(why, "the file is damaged: a size is out of range");
    fa_rt_sections(n, at);
    if (at[FA_RT_SECTIONS] != size) return wrong(why, "the file is damaged: its sizes do not add up");
    return FA_RT_OK;
}

static int widest(const FaRtNumbers *n) {
    int most = 0;
    for (int i = 0; i <= n->nlayer; i++) most = n->width[i] > most ? n->width[i] : most;
    return most;
}

// Sizes of what a face needs beside the file, in order.
enum { PART_Z, PART_WORK_0, PART_WORK_1, PART_REST, PART_TARGET, PART_C, PART_SPRING, PARTS };
static size_t parts(const FaRtNumbers *n, size_t at[PARTS]) {
    const size_t wide = 4 * fa_rt_pad(widest(n)), nt = 4 * fa_rt_pad(n->nt);
    const size_t size[PARTS] = {
        4 * fa_rt_pad(n->nd),        wide, wide, nt, nt, 4 * ((size_t)fa_rt_blocks(n->nnode) * FA_RT_BLOCK + 8),
        24 * ((size_t)n->nshape + 1)};
    size_t next = (sizeof(FaRt) + 63) / 64 * 64;
    for (int i = 0; i < PARTS; i++) {
        at[i] = next;
        next += (size[i] + 63) / 64 * 64;
    }
    return next;
}

size_t fa_rt_room(const void *data, size_t size) {
    FaRtNumbers n;
    size_t at[FA_RT_SECTIONS + 1], part[PARTS];
    return read_numbers(data, size, &n, at, NULL) < 0 ? 0 : parts(&n, part);
}

static void point_to(FaRt *f, const void *data, const size_t at[FA_RT_SECTIONS + 1]) {
    const unsigned char *p = data;
    f->names = (const char *)p + at[FA_RT_NAMES];
    f->neutral = (const void *)(p + at[FA_RT_NEUTRAL]);
    f->shape = (const void *)(p + at[FA_RT_SHAPE]);
    f->run = (const void *)(p + at[FA_RT_RUN]);
    f->delta = (const void *)(p + at[FA_RT_DELTA]);
    f->encode = (const void *)(p + at[FA_RT_ENCODE]);
    f->net = (const void *)(p + at[FA_RT_NET]);
    f->ridge = (const void *)(p + at[FA_RT_RIDGE]);
    f->scale = (const void *)(p + at[FA_RT_SCALE]);
    f->basis = p + at[FA_RT_BASIS];
    f->active = (const void *)(p + at[FA_RT_ACTIVE]);
    f->start = (const void *)(p + at[FA_RT_START]);
    f->node = (const void *)(p + at[FA_RT_NODE]);
    f->weight = (const void *)(p + at[FA_RT_WEIGHT]);
}

int fa_rt_place(const void *data, size_t size, void *memory, size_t room, FaRt **face, char why[FA_RT_TEXT]) {
    FaRtNumbers n;
    size_t at[FA_RT_SECTIONS + 1], part[PARTS];
    uint64_t sum;
    *face = NULL;
    if ((uintptr_t)data % 8 || (uintptr_t)memory % 64) return wrong(why, "the memory is not aligned");
    int rc = read_numbers(data, size, &n, at, why);
    if (rc < 0) return rc;
    memcpy(&sum, (const char *)data + 16, sizeof sum);
    if (sum != fa_rt_sum((const unsigned char *)data + FA_RT_HEAD, size - FA_RT_HEAD))
        return wrong(why, "the file is damaged: its checksum differs");
    size_t need = parts(&n, part);
    if (room < need) {
        wrong(why, "not enough memory: ask fa_rt_room");
        return FA_RT_MEMORY;
    }
    memset(memory, 0, need);
    FaRt *f = memory;
    float *const base = memory;
    f->n = n;
    point_to(f, data, at);
    f->z = base + part[PART_Z] / 4;
    f->work[0] = base + part[PART_WORK_0] / 4;
    f->work[1] = base + part[PART_WORK_1] / 4;
    f->rest = base + part[PART_REST] / 4;
    f->target = base + part[PART_TARGET] / 4;
    f->c = base + part[PART_C] / 4;
    f->spring = (double *)memory + part[PART_SPRING] / 8;
    if (!names_fit(f) || !runs_fit(f) || !carry_fits(f) || !floats_fit(f))
        return wrong(why, "the file is damaged: a number in it is out of range");
    fa_rt_simd(f, 1);
    memcpy(f->rest, layers(f, f->z), fa_rt_pad(n.nt) * sizeof *f->rest); // so that the neutral stays, to the bit
    *face = f;
    return FA_RT_OK;
}

#ifdef HAVE_AVX2
// clang 14 has no __builtin_cpu_supports("f16c").
static int converts_halfs(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
#endif

void fa_rt_simd(FaRt *f, int wanted) {
    f->avx2 = 0;
#ifdef HAVE_AVX2
    f->avx2 = wanted && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && converts_halfs();
#else
    (void)wanted;
#endif
}

int fa_rt_vertices(const FaRt *f) { return f->n.nvert; }
int fa_rt_shapes(const FaRt *f) { return f->n.nshape; }
int fa_rt_targets(const FaRt *f) { return f->n.nt; }

const char *fa_rt_shape_name(const FaRt *f, int shape) {
    const char *p = f->names;
    if (!within(shape, 0, f->n.nshape - 1)) return "";
    for (int s = 0; s < shape; s++) p += strlen(p) + 1;
    return p;
}

int fa_rt_find(const FaRt *f, const char *name) {
    const char *p = f->names;
    for (int s = 0; s < f->n.nshape; s++, p += strlen(p) + 1)
        if (!strcmp(p, name)) return s;
    return -1;
}
