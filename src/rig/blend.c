// Linear blending, as fast as memory allows.
//
// A frame must read the deltas of every shape with a weight once; nothing else matters. Hence the layout:
//
//     mesh     |  tile 0: 1024 vertices  |  tile 1  |  ...        one tile: one thread's unit, result in L1
//     tile     |  block 0 | block 1 | ... | block 63 |            48 coordinates, six AVX registers
//     deltas   |  tile 0: shape 0 [blocks it moves] shape 1 [...] ... | tile 1: shape 0 [...] ...
//
// Within a tile the coordinates are put in an order of likeness: those moved by the same shapes share a block, so that
// a block is either moved by a shape in (nearly) all of its coordinates or left out. On ICT-FaceKit blocks in file
// order hold twice as much as the non-zero deltas, in this order 13 % more; whole vertices in this order, 33 % more. A
// block stays in registers over all shapes; each shape's blocks are contiguous, so that a shape without a weight costs
// no memory traffic. At the end of a tile the results go back to their places. Runs of coordinates that no shape moves
// (most of a body) are copied. Gaps are filled with zeros, so nothing is lost: see blend.h for the arithmetic.
//
// Tried and left: the shapes of a block side by side, which streams in one run but makes the prefetcher fetch the idle
// shapes too, 15 % slower; runs instead of blocks, whose ends cost a branch miss each; own prefetches, which never
// helped; scattering each block's results at once instead of gathering a tile's, no faster.
#include "rig/blend.h"

#include "base/simd.h"

#include "base/base.h"
#include "base/task.h"

#include <math.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_AVX2 1
#define AVX2 __attribute__((target("avx2,fma,bmi,popcnt")))
#endif
#ifdef __linux__
#include <sys/mman.h>
#endif

enum {
    TILE = 3 * FA_BLEND_TILE, // coordinates of a tile
    BLOCK = FA_BLEND_BLOCK,   // coordinates of a block
    BLOCKS = TILE / BLOCK,    // of a tile
    PASS_WORDS = 8,           // shapes are taken 512 at a time, so that their state fits on the stack
    PASS = 64 * PASS_WORDS,
    LIKE_WORDS = 4,   // likeness is judged by at most 256 classes of shapes
    WINDOW = 512,     // and sought among this many
    STILL = 0xFFFF,   // the place of a coordinate that is copied
    STILL_LEAST = 16, // shorter runs are not worth a copy of their own
};

// Coordinates that no shape moves, and their values.
typedef struct Run {
    int begin, size;
    size_t at; // of its first value in still_x
} Run;

struct FaBlender {
    int ncoord; // coordinates: 3 per vertex
    int nshape, nblock, ntile;
    int words; // 64-bit words of a signature
    bool avx2;
    int *blocks;     // in use, of each tile's BLOCKS                               (ntile)
    float *x;        // neutral, in blocks                                          (nblock x BLOCK)
    uint16_t *place; // where in its tile's results a coordinate is, or STILL       (ncoord)
    int *run_start;  // of each tile, then the total                                (ntile + 1)
    Run *run;        //
    float *still_x;  // neutral of all runs, one after another
    uint64_t *moved; // signature: shapes that move a block                         (nblock x words)
    uint32_t *start; // first block of deltas of each tile's part of each shape     (ntile x nshape)
    float *delta;    // blocks of deltas, 64-byte aligned                           (ndelta x BLOCK)
    size_t ndelta;
    int *count; // non-zero vertex deltas of each shape                        (nshape)
    void *x_base, *delta_base;
};

// --- memory and machine -------------------------------------------------------------------------------------------

void *fai_huge_alloc(size_t bytes, void **base) {
    size_t huge = (size_t)2 << 20, align = bytes >= 2 * huge ? huge : 64;
    *base = bytes <= PTRDIFF_MAX - 2 * align ? fai_resize(NULL, bytes + 2 * align) : NULL;
    if (!*base) return NULL;
    char *data = (char *)(((uintptr_t)*base + align - 1) / align * align);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (align == huge) madvise(data, (bytes + huge - 1) / huge * huge, MADV_HUGEPAGE);
#endif
    return memset(data, 0, bytes);
}

static bool weighs(float w) { return w != 0 && isfinite(w); }

// --- the reference: entry by entry --------------------------------------------------------------------------------

static inline __attribute__((always_inline)) void blend_entries(const FaRig *rig, const float *weights, float *x) {
    size_t n = 3 * (size_t)rig->mesh.nvert;
    memcpy(x, rig->mesh.x, n * sizeof *x);
    for (int s = 0; s < rig->nshape; s++) {
        float w = weights[s];
        if (!weighs(w)) continue;
        for (int i = rig->shape[s].first; i < rig->shape[s].first + rig->shape[s].count; i++) {
            float *p = x + 3 * (size_t)rig->row[i];
            const float *d = rig->delta + 3 * (size_t)i;
            for (int k = 0; k < 3; k++) p[k] = __builtin_fmaf(w, d[k], p[k]);
        }
    }
    for (size_t i = 0; i < n; i++) x[i] += 0.0f;
}

#ifdef HAVE_AVX2
// The same code with the processor's own fma instead of a library call.
AVX2 static void blend_entries_fma(const FaRig *rig, const float *weights, float *x) { blend_entries(rig, weights, x); }
#endif

void fa_rig_blend(const FaRig *rig, const float *weights, float *x) {
#ifdef HAVE_AVX2
    if (fai_simd_wanted()) {
        blend_entries_fma(rig, weights, x);
        return;
    }
#endif
    blend_entries(rig, weights, x);
}

// --- building: which coordinates share a block --------------------------------------------------------------------

// One coordinate to be placed: the list of those left runs from few shapes to many, so that like ones are near.
typedef struct Left {
    uint64_t like; // its first word
    int bits;      // shapes that move it
    int coord;
} Left;

static int by_likeness(const void *a, const void *b) {
    const Left *p = a, *q = b;
    if (p->bits != q->bits) return p->bits < q->bits ? -1 : 1;
    if (p->like != q->like) return p->like < q->like ? -1 : 1;
    return p->coord < q->coord ? -1 : 1;
}

// Put n coordinates in order. like: nlike words each, sorted; next: of the list of those left; place: the result. A
// block begins with the first one left and takes in, of the WINDOW next ones, the one that adds least: a shape new to
// the block costs a filled gap for each one that is in, a shape that the new one lacks costs one for it.
static inline __attribute__((always_inline)) void order_like(int n, int nlike, const uint64_t *like, const Left *left,
                                                             int *next, uint16_t *place) {
    uint64_t block[LIKE_WORDS] = {0};
    for (int i = 0; i <= n; i++) next[i] = i + 1; // next[n]: the first one
    next[n] = 0;
    for (int i = 0; i < n; i++) {
        int in = i % BLOCK, before = n, least = INT32_MAX;
        if (in == 0) memset(block, 0, sizeof block);
        for (int j = next[n], last = n, w = 0; j < n && w < WINDOW && least > 0; last = j, j = next[j], w++) {
            int grow = 0, lack = 0;
            for (int k = 0; k < nlike; k++) {
                uint64_t v = like[nlike * j + k];
                grow += __builtin_popcountll(v & ~block[k]);
                lack += __builtin_popcountll(block[k] & ~v);
            }
            int cost = FA_MAX(in, 1) * grow + lack;
            if (cost < least) least = cost, before = last;
        }
        int best = next[before];
        next[before] = next[best];
        place[left[best].coord] = (uint16_t)i;
        for (int k = 0; k < nlike; k++) block[k] |= like[nlike * best + k];
    }
}

typedef void OrderFn(int n, int nlike, const uint64_t *like, const Left *left, int *next, uint16_t *place);

static void order_ref(int n, int nlike, const uint64_t *like, const Left *left, int *next, uint16_t *place) {
    order_like(n, nlike, like, left, next, place);
}

#ifdef HAVE_AVX2
// The same code with the processor's own bit count, and with the usual single word known.
AVX2 static void order_popcnt(int n, int nlike, const uint64_t *like, const Left *left, int *next, uint16_t *place) {
    if (nlike == 1)
        order_like(n, 1, like, left, next, place);
    else
        order_like(n, nlike, like, left, next, place);
}
#endif

static OrderFn *pick_order(void) {
#ifdef HAVE_AVX2
    if (fai_simd_wanted()) return order_popcnt;
#endif
    return order_ref;
}

typedef struct Build {
    const FaRig *rig;
    FaBlender *b;
    int *entry; // first entry of each shape in each tile, relative to the shape   (ntile + 1) x nshape
    bool *ok;   // (ntile)
} Build;

static int tile_size(const FaBlender *b, int t) { return FA_MIN(TILE, b->ncoord - t * TILE); }

// Mark the runs of coordinates without likeness to any shape; the others go into `left`. Returns how many.
static int find_still(int n, int nlike, const uint64_t *like, Left *left, uint16_t *place) {
    int moving = 0, run = 0;
    for (int i = 0; i <= n; i++) {
        uint64_t any = 0;
        for (int k = 0; i < n && k < nlike; k++) any |= like[nlike * i + k];
        if (i < n && !any) {
            run++;
            continue;
        }
        for (int j = i - run; j <= i && j < n; j++) {
            if (j < i && run >= STILL_LEAST)
                place[j] = STILL;
            else
                left[moving++] = (Left){.coord = j};
        }
        run = 0;
    }
    return moving;
}

// Find the place of each of one tile's coordinates.
static bool place_tile(const Build *bu, int t) {
    FaBlender *b = bu->b;
    int n = tile_size(b, t), nlike = FA_MIN(b->words, LIKE_WORDS), next[TILE + 1];
    uint64_t *like = FA_NEW((size_t)n * (size_t)nlike, uint64_t), *sorted = FA_NEW((size_t)n * (size_t)nlike, uint64_t);
    Left *left = FA_NEW(n, Left);
    bool room = like && sorted && left;
    const int *lo = bu->entry + (size_t)t * (size_t)b->nshape, *hi = lo + b->nshape;
    for (int s = 0; s < b->nshape && room; s++)
        for (int i = 3 * lo[s]; i < 3 * hi[s]; i++) {
            size_t e = 3 * (size_t)bu->rig->shape[s].first + (size_t)i;
            int c = 3 * bu->rig->row[e / 3] + (int)(e % 3) - t * TILE;
            if (bu->rig->delta[e] != 0) like[nlike * c + s / 64 % nlike] |= (uint64_t)1 << (s % 64);
        }
    if (room) {
        int moving = find_still(n, nlike, like, left, b->place + (size_t)t * TILE);
        for (int i = 0; i < moving; i++) {
            const uint64_t *words = like + nlike * left[i].coord;
            left[i].like = words[0];
            for (int k = 0; k < nlike; k++) left[i].bits += __builtin_popcountll(words[k]);
        }
        qsort(left, (size_t)moving, sizeof *left, by_likeness);
        for (int i = 0; i < moving; i++)
            memcpy(sorted + nlike * i, like + nlike * left[i].coord, (size_t)nlike * sizeof *like);
        pick_order()(moving, nlike, sorted, left, next, b->place + (size_t)t * TILE);
        b->blocks[t] = (moving + BLOCK - 1) / BLOCK;
    }
    fa_free(like);
    fa_free(sorted);
    fa_free(left);
    return room;
}

// Order one tile and note which shapes move its blocks; start[] receives counts, which become starts later.
static void plan_tile(void *ctx, int begin, int end, int chunk) {
    (void)end, (void)chunk;
    Build *bu = ctx;
    FaBlender *b = bu->b;
    int t = begin;
    bu->ok[t] = place_tile(bu, t);
    const int *lo = bu->entry + (size_t)t * (size_t)b->nshape, *hi = lo + b->nshape;
    for (int s = 0; s < b->nshape; s++)
        for (int i = 3 * lo[s]; i < 3 * hi[s]; i++) {
            size_t e = 3 * (size_t)bu->rig->shape[s].first + (size_t)i;
            if (bu->rig->delta[e] == 0) continue;
            size_t block = (size_t)t * BLOCKS + b->place[3 * (size_t)bu->rig->row[e / 3] + e % 3] / BLOCK;
            uint64_t *word = &b->moved[block * (size_t)b->words + (size_t)(s / 64)], bit = (uint64_t)1 << (s % 64);
            if (!(*word & bit)) b->start[(size_t)t * (size_t)b->nshape + (size_t)s]++;
            *word |= bit;
        }
}

static void fill_tile(void *ctx, int begin, int end, int chunk) {
    (void)end, (void)chunk;
    Build *bu = ctx;
    FaBlender *b = bu->b;
    int t = begin, n = tile_size(b, t), nblock = b->blocks[t];
    for (size_t i = (size_t)t * TILE; i < (size_t)t * TILE + (size_t)n; i++)
        if (b->place[i] != STILL) b->x[(size_t)t * TILE + b->place[i]] = bu->rig->mesh.x[i];
    const int *lo = bu->entry + (size_t)t * (size_t)b->nshape, *hi = lo + b->nshape;
    for (int s = 0; s < b->nshape; s++) {
        if (lo[s] == hi[s]) continue;
        size_t at[BLOCKS], next = b->start[(size_t)t * (size_t)b->nshape + (size_t)s];
        for (int k = 0; k < nblock; k++) {
            at[k] = next;
            next += b->moved[((size_t)t * BLOCKS + (size_t)k) * (size_t)b->words + (size_t)(s / 64)] >> (s % 64) & 1;
        }
        for (int i = 3 * lo[s]; i < 3 * hi[s]; i++) {
            size_t e = 3 * (size_t)bu->rig->shape[s].first + (size_t)i;
            int p = b->place[3 * (size_t)bu->rig->row[e / 3] + e % 3];
            if (bu->rig->delta[e] != 0) b->delta[BLOCK * at[p / BLOCK] + (size_t)(p % BLOCK)] = bu->rig->delta[e];
        }
    }
}

// Rows increase within a shape: one walk finds where each tile begins.
static void find_entries(Build *bu) {
    const FaBlender *b = bu->b;
    for (int s = 0; s < b->nshape; s++) {
        const FaShape *shape = &bu->rig->shape[s];
        int i = 0;
        for (int t = 0; t <= b->ntile; t++) {
            while (i < shape->count && bu->rig->row[shape->first + i] < (int64_t)t * FA_BLEND_TILE) i++;
            bu->entry[(size_t)t * (size_t)b->nshape + (size_t)s] = i;
        }
    }
}

// Runs end at tiles.
static FaCode collect_runs(Build *bu, FaError *err) {
    FaBlender *b = bu->b;
    int runs = 0;
    size_t still = 0;
    for (int i = 0; i < b->ncoord; i++) {
        bool begins = i % TILE == 0 || b->place[i - 1] != STILL;
        runs += b->place[i] == STILL && begins;
        still += b->place[i] == STILL;
    }
    b->run = FA_NEW(runs, Run);
    b->run_start = FA_NEW((size_t)b->ntile + 1, int);
    b->still_x = FA_NEW(still, float);
    if (!b->run || !b->run_start || !b->still_x) return FA_FAIL_MEMORY(err);
    runs = 0;
    still = 0;
    for (int i = 0; i < b->ncoord; i++) {
        if (i % TILE == 0) b->run_start[i / TILE] = runs;
        if (b->place[i] != STILL) continue;
        if (i % TILE == 0 || b->place[i - 1] != STILL) b->run[runs++] = (Run){i, 0, still};
        b->run[runs - 1].size++;
        b->still_x[still++] = bu->rig->mesh.x[i] + 0.0f;
    }
    b->run_start[b->ntile] = runs;
    return FA_OK;
}

static FaCode build(Build *bu, FaError *err) {
    FaBlender *b = bu->b;
    size_t parts = (size_t)b->ntile * (size_t)b->nshape;
    bu->ok = FA_NEW(b->ntile, bool);
    bu->entry = FA_NEW(parts + (size_t)b->nshape, int);
    b->blocks = FA_NEW(b->ntile, int);
    b->place = FA_NEW(b->ncoord, uint16_t);
    b->moved = FA_NEW((size_t)b->nblock * (size_t)b->words, uint64_t);
    b->start = FA_NEW(parts, uint32_t);
    b->count = FA_NEW(b->nshape, int);
    b->x = fai_huge_alloc((size_t)b->nblock * BLOCK * sizeof(float), &b->x_base);
    if (!bu->ok || !bu->entry || !b->blocks || !b->place || !b->moved || !b->start || !b->count || !b->x)
        return FA_FAIL_MEMORY(err);
    find_entries(bu);
    fai_parallel(b->ntile, 1, plan_tile, bu);
    for (int t = 0; t < b->ntile; t++)
        if (!bu->ok[t]) return FA_FAIL_MEMORY(err);
    FA_TRY(collect_runs(bu, err));
    for (size_t i = 0; i < parts; i++) {
        uint32_t n = b->start[i];
        b->start[i] = (uint32_t)b->ndelta;
        b->ndelta += n;
    }
    b->delta = fai_huge_alloc(b->ndelta * BLOCK * sizeof(float), &b->delta_base);
    if (!b->delta) return FA_FAIL_MEMORY(err);
    fai_parallel(b->ntile, 1, fill_tile, bu);
    for (int s = 0; s < b->nshape; s++) b->count[s] = bu->rig->shape[s].count;
    return FA_OK;
}

FaCode fa_blender_new(const FaRig *rig, FaBlender **blender, FaError *err) {
    *blender = NULL;
    FaBlender *b = FA_NEW(1, FaBlender);
    if (!b) return FA_FAIL_MEMORY(err);
    if (rig->mesh.nvert > INT32_MAX / 3 - TILE) {
        fa_free(b);
        return FA_FAIL(err, FA_E_LIMIT, NULL, NULL, "%d vertices are too many", rig->mesh.nvert);
    }
    b->ncoord = 3 * rig->mesh.nvert;
    b->nshape = rig->nshape;
    b->nblock = (b->ncoord + BLOCK - 1) / BLOCK;
    b->ntile = (b->nblock + BLOCKS - 1) / BLOCKS;
    b->words = FA_MAX((b->nshape + 63) / 64, 1);
    b->avx2 = fai_simd_wanted();
    Build bu = {.rig = rig, .b = b};
    FaCode rc = build(&bu, err);
    fa_free(bu.ok);
    fa_free(bu.entry);
    if (rc < 0)
        fa_blender_free(b);
    else
        *blender = b;
    return rc;
}

void fa_blender_free(FaBlender *blender) {
    if (!blender) return;
    fa_free(blender->blocks);
    fa_free(blender->place);
    fa_free(blender->run_start);
    fa_free(blender->run);
    fa_free(blender->still_x);
    fa_free(blender->moved);
    fa_free(blender->start);
    fa_free(blender->count);
    fa_free(blender->x_base);
    fa_free(blender->delta_base);
    fa_free(blender);
}

const char *fai_blender_kernel(const FaBlender *blender) { return blender->avx2 ? "avx2" : "ref"; }
size_t fai_blender_size(const FaBlender *blender) { return blender->ndelta * BLOCK * sizeof(float); }

size_t fa_blender_bytes(const FaBlender *blender, const float *weights) {
    size_t bytes = 8 * (size_t)blender->ncoord; // the neutral is read, the result is written
    for (int s = 0; s < blender->nshape; s++)
        if (weighs(weights[s])) bytes += 12 * (size_t)blender->count[s];
    return bytes;
}

// --- evaluation ---------------------------------------------------------------------------------------------------

// One pass of one tile: up to 512 shapes over its blocks, from `src` into `acc` (may be the same).
typedef struct TilePass {
    const float *src; // (blocks x BLOCK)
    float *acc;       // (blocks x BLOCK)
    int blocks;
    const uint64_t *moved;   // of the first block, first word of this pass
    int words, stride;       // words in this pass; from block to block
    uint64_t on[PASS_WORDS]; // shapes with a weight
    const float *weights;    // of this pass
    const float *next[PASS]; // next block of deltas of each shape
} TilePass;

static void tile_pass_ref(TilePass *p) {
    for (int b = 0; b < p->blocks; b++) {
        float r[BLOCK];
        memcpy(r, p->src + BLOCK * b, sizeof r);
        for (int k = 0; k < p->words; k++)
            for (uint64_t a = p->moved[p->stride * b + k] & p->on[k]; a; a &= a - 1) {
                int s = 64 * k + __builtin_ctzll(a);
                const float *d = p->next[s];
                p->next[s] += BLOCK;
                for (int i = 0; i < BLOCK; i++) r[i] = __builtin_fmaf(p->weights[s], d[i], r[i]);
            }
        for (int i = 0; i < BLOCK; i++) p->acc[BLOCK * b + i] = r[i] + 0.0f;
    }
}

static void restore_ref(const float *acc, const uint16_t *place, int n, float *x) {
    for (int i = 0; i < n; i++) x[i] = acc[place[i]];
}

#ifdef HAVE_AVX2
#define EACH_REGISTER(f) f(0) f(1) f(2) f(3) f(4) f(5)
#define LOAD(i) __m256 r##i = _mm256_load_ps(src + 8 * i);
#define ADD_1(i) r##i = _mm256_fmadd_ps(w1, _mm256_load_ps(d1 + 8 * i), r##i);
#define ADD_2(i) r##i = _mm256_fmadd_ps(w2, _mm256_load_ps(d2 + 8 * i), r##i);
#define STORE(i) _mm256_store_ps(acc + 8 * i, _mm256_add_ps(r##i, _mm256_setzero_ps()));
_Static_assert(BLOCK == 6 * 8, "six registers hold a block");

AVX2 static void tile_pass_avx2(TilePass *p) {
    const float *src = p->src, *weights = p->weights;
    const uint64_t *moved = p->moved, *on = p->on;
    float *acc = p->acc;
    int blocks = p->blocks, words = p->words, stride = p->stride;
    for (int b = 0; b < blocks; b++, src += BLOCK, acc += BLOCK, moved += stride) {
        EACH_REGISTER(LOAD)
        for (int k = 0; k < words; k++) {
            uint64_t a = moved[k] & on[k];
            const float **next = p->next + 64 * k;
            const float *w = weights + 64 * k;
            // two shapes at a time; the order of the sums is that of the shapes all the same
            while (a & (a - 1)) {
                int s1 = __builtin_ctzll(a);
                a &= a - 1;
                int s2 = __builtin_ctzll(a);
                a &= a - 1;
                const float *d1 = next[s1], *d2 = next[s2];
                next[s1] = d1 + BLOCK;
                next[s2] = d2 + BLOCK;
                __m256 w1 = _mm256_broadcast_ss(w + s1), w2 = _mm256_broadcast_ss(w + s2);
                EACH_REGISTER(ADD_1)
                EACH_REGISTER(ADD_2)
            }
            if (a) {
                int s1 = __builtin_ctzll(a);
                const float *d1 = next[s1];
                next[s1] = d1 + BLOCK;
                __m256 w1 = _mm256_broadcast_ss(w + s1);
                EACH_REGISTER(ADD_1)
            }
        }
        EACH_REGISTER(STORE)
    }
}

// Eight at a time: two loads of places, one store.
AVX2 static void restore_avx2(const float *acc, const uint16_t *place, int n, float *x) {
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t p, q;
        memcpy(&p, place + i, sizeof p);
        memcpy(&q, place + i + 4, sizeof q);
        __m128 lo = _mm_load_ss(acc + (p & 0xFFFF)), hi = _mm_load_ss(acc + (q & 0xFFFF));
        lo = _mm_insert_ps(lo, _mm_load_ss(acc + _bextr_u64(p, 16, 16)), 0x10);
        hi = _mm_insert_ps(hi, _mm_load_ss(acc + _bextr_u64(q, 16, 16)), 0x10);
        lo = _mm_insert_ps(lo, _mm_load_ss(acc + _bextr_u64(p, 32, 16)), 0x20);
        hi = _mm_insert_ps(hi, _mm_load_ss(acc + _bextr_u64(q, 32, 16)), 0x20);
        lo = _mm_insert_ps(lo, _mm_load_ss(acc + (p >> 48)), 0x30);
        hi = _mm_insert_ps(hi, _mm_load_ss(acc + (q >> 48)), 0x30);
        _mm256_storeu_ps(x + i, _mm256_insertf128_ps(_mm256_castps128_ps256(lo), hi, 1));
    }
    for (; i < n; i++) x[i] = acc[place[i]];
}
#endif

// Put a tile's results back in order, the still ones included.
typedef void RestoreFn(const float *acc, const uint16_t *place, int n, float *x);

static void restore_tile(const FaBlender *b, int t, const float *acc, RestoreFn *restore, float *x) {
    int at = t * TILE, end = at + tile_size(b, t);
    for (const Run *r = b->run + b->run_start[t]; r < b->run + b->run_start[t + 1]; r++) {
        restore(acc, b->place + at, r->begin - at, x + at);
        memcpy(x + r->begin, b->still_x + r->at, (size_t)r->size * sizeof *x);
        at = r->begin + r->size;
    }
    restore(acc, b->place + at, end - at, x + at);
}

typedef struct Eval {
    const FaBlender *b;
    const float *weights;
    float *x;
} Eval;

static void eval_tile(void *ctx, int begin, int end, int chunk) {
    (void)end, (void)chunk;
    const Eval *e = ctx;
    const FaBlender *b = e->b;
    _Alignas(64) float acc[TILE];
    size_t t = (size_t)begin;
    TilePass p; // not cleared: 4 kB
    p.blocks = b->blocks[begin];
    p.stride = b->words;
    p.src = b->x + t * TILE;
    p.acc = acc;
    for (int first = 0; (first == 0 || first < b->nshape) && p.blocks; first += PASS) {
        int n = FA_MIN(PASS, b->nshape - first);
        p.words = (n + 63) / 64;
        p.weights = e->weights + first;
        p.moved = b->moved + t * BLOCKS * (size_t)b->words + first / 64;
        memset(p.on, 0, sizeof p.on);
        for (int s = 0; s < n; s++) {
            p.on[s / 64] |= (uint64_t)weighs(p.weights[s]) << (s % 64);
            p.next[s] = b->delta + BLOCK * (size_t)b->start[t * (size_t)b->nshape + (size_t)(first + s)];
        }
#ifdef HAVE_AVX2
        if (b->avx2)
            tile_pass_avx2(&p);
        else
#endif
            tile_pass_ref(&p);
        p.src = p.acc;
    }
    RestoreFn *restore = restore_ref;
#ifdef HAVE_AVX2
    if (b->avx2) restore = restore_avx2;
#endif
    restore_tile(b, begin, acc, restore, e->x);
}

void fa_blender_eval(const FaBlender *blender, const float *weights, float *x) {
    Eval e = {blender, weights, x};
    fai_parallel(blender->ntile, 1, eval_tile, &e);
}
