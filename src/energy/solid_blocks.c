// The block matrix: its pattern, products, and the assembly of second derivatives.
#include "energy/solid_blocks.h"

#include "base/task.h"
#include "energy/solid_second.h"
#include "energy/solid_work.h"
#include "math/svd.h"

enum { ROWS = 256, UNIQUE = 2048, WASTE = 2 };  // WASTE: slots, so that chunks do not share a cache line either
static const int pair_corner[FA_SOLID_PAIRS][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

// --- pattern ------------------------------------------------------------------------------------------------------

// Row and column of a pair of an element, row <= col; false: one of its nodes is fixed.
static bool pair_place(const FaBlocks *b, const int *tet, int e, int p, int *i, int *j) {
    int r = b->row[tet[4 * e + pair_corner[p][0]]], c = b->row[tet[4 * e + pair_corner[p][1]]];
    *i = FA_MIN(r, c);
    *j = FA_MAX(r, c);
    return r >= 0 && c >= 0;
}

// The entries of one row of the upper triangle, sorted by column, with how often each occurs, are found by sorting the element's
// pairs by row first. order: pairs e * 10 + p by row, in the order of the elements.
static int sort_pairs(const FaBlocks *b, const FaSolid *s, int *first, int *order) {
    int i, j;
    for (int e = 0; e < s->ntet; e++)
        for (int p = 0; p < FA_SOLID_PAIRS; p++)
            if (pair_place(b, s->tet, e, p, &i, &j)) first[i + 1]++;
    for (int r = 0; r < b->nfree; r++) first[r + 1] += first[r];
    for (int e = 0; e < s->ntet; e++)
        for (int p = 0; p < FA_SOLID_PAIRS; p++)
            if (pair_place(b, s->tet, e, p, &i, &j)) order[first[i]++] = e * FA_SOLID_PAIRS + p;
    for (int r = b->nfree; r > 0; r--) first[r] = first[r - 1];
    first[0] = 0;
    return first[b->nfree];
}

// Unique blocks of row r and their slots. found: their columns, increasing; seen[column]: where in found + 1.
static int row_columns(const FaBlocks *b, const FaSolid *s, int r, const int *first, const int *order, int *found) {
    int n = 0, i, j;
    found[n++] = r; // the diagonal even of a node without tets
    for (int k = first[r]; k < first[r + 1]; k++) {
        pair_place(b, s->tet, order[k] / FA_SOLID_PAIRS, order[k] % FA_SOLID_PAIRS, &i, &j);
        int at = n;
        while (at > 0 && found[at - 1] > j) at--;
        if (at > 0 && found[at - 1] == j) continue;
        memmove(found + at + 1, found + at, (size_t)(n - at) * sizeof *found);
        found[at] = j;
        n++;
    }
    return n;
}

typedef struct Scratch {
    int *first, *order, *found, *lower, *upper_start, *upper;
} Scratch;

static FaCode count_unique(FaBlocks *b, const FaSolid *s, Scratch *w, FaError *err) {
    size_t pairs = (size_t)s->ntet * FA_SOLID_PAIRS, rows = (size_t)b->nfree;
    w->first = FA_NEW(rows + 1, int);
    w->order = FA_NEW(pairs, int);
    w->found = FA_NEW(rows + 1, int);
    w->lower = FA_NEW(rows + 1, int);
    w->upper_start = FA_NEW(rows + 1, int);
    w->upper = FA_NEW(pairs + rows, int);
    if (!w->first || !w->order || !w->found || !w->lower || !w->upper_start || !w->upper) return FA_FAIL_MEMORY(err);
    sort_pairs(b, s, w->first, w->order);
    for (int r = 0; r < b->nfree; r++) {
        int n = row_columns(b, s, r, w->first, w->order, w->found);
        memcpy(w->upper + w->upper_start[r], w->found, (size_t)n * sizeof *w->found);
        w->upper_start[r + 1] = w->upper_start[r] + n;
        for (int k = 1; k < n; k++) w->lower[w->found[k]]++;
    }
    b->nunique = w->upper_start[b->nfree];
    return FA_OK;
}

static void fill_pattern(FaBlocks *b, const Scratch *w) {
    int *next = w->found;
    for (int r = 0; r < b->nfree; r++) {
        b->start[r + 1] = b->start[r] + w->lower[r] + w->upper_start[r + 1] - w->upper_start[r];
        next[r] = b->start[r];
    }
    // rows in order: what is left of the diagonal of later rows arrives sorted
    for (int r = 0; r < b->nfree; r++)
        for (int k = w->upper_start[r]; k < w->upper_start[r + 1]; k++) {
            int c = w->upper[k];
            b->unique[k] = next[r];
            b->col[next[r]++] = c;
            if (c == r)
                b->diagonal[r] = b->mirror[k] = b->unique[k];
            else
                b->mirror[k] = next[c], b->col[next[c]++] = r;
        }
}

static void fill_block_slots(FaBlocks *b, const FaSolid *s, const Scratch *w) {
    int i, j, n = 0;
    for (int r = 0; r < b->nfree; r++)
        for (int k = w->upper_start[r]; k < w->upper_start[r + 1]; k++) {
            b->slot_start[k] = n;
            for (int turned = 0; turned < 2; turned++) {
                if (turned) b->slot_turn[k] = n;
                for (int q = w->first[r]; q < w->first[r + 1]; q++) {
                    int e = w->order[q] / FA_SOLID_PAIRS, p = w->order[q] % FA_SOLID_PAIRS;
                    pair_place(b, s->tet, e, p, &i, &j);
                    if (j != w->upper[k] || turned != (b->row[s->tet[4 * e + pair_corner[p][0]]] != i)) continue;
                    b->slot[((size_t)e / FA_SOLID_PATCH * FA_SOLID_PAIRS + (size_t)p) * FA_SOLID_PATCH + (size_t)e % FA_SOLID_PATCH] = n++;
                }
            }
        }
    b->slot_start[b->nunique] = n;
}

static FaCode build(FaBlocks *b, const FaSolid *s, const unsigned char *fixed, Scratch *w, FaError *err) {
    b->arena = fai_arena_new(0);
    if (!b->arena) return FA_FAIL_MEMORY(err);
    b->nnode = s->nnode;
    b->row = FA_PUSH(b->arena, s->nnode, int);
    if (!b->row) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < s->nnode; v++) b->row[v] = fixed && fixed[v] ? -1 : b->nfree++;
    FA_TRY(count_unique(b, s, w, err));
    size_t rows = (size_t)b->nfree, blocks = 2 * (size_t)b->nunique - rows, places = (size_t)s->npatch * FA_SOLID_PAIRS * FA_SOLID_PATCH;
    size_t slots = (size_t)w->first[b->nfree], waste = WASTE * (size_t)fai_chunks(s->npatch, FA_SOLID_CHUNK);
    b->node = FA_PUSH(b->arena, rows, int);
    b->start = FA_PUSH(b->arena, rows + 1, int);
    b->col = FA_PUSH(b->arena, blocks, int);
    b->diagonal = FA_PUSH(b->arena, rows, int);
    b->val = FA_PUSH(b->arena, 9 * blocks + 16, float);
    b->unique = FA_PUSH(b->arena, b->nunique, int);
    b->mirror = FA_PUSH(b->arena, b->nunique, int);
    b->slot_start = FA_PUSH(b->arena, (size_t)b->nunique + 1, int);
    b->slot_turn = FA_PUSH(b->arena, b->nunique, int);
    b->slot = FA_PUSH(b->arena, places, int);
    b->slots = FA_PUSH(b->arena, 9 * (slots + waste) + 16, float);
    if (!b->node || !b->start || !b->col || !b->diagonal || !b->val || !b->unique || !b->mirror || !b->slot_start || !b->slot_turn ||
        !b->slot || !b->slots)
        return FA_FAIL_MEMORY(err);
    for (int v = 0; v < s->nnode; v++)
        if (b->row[v] >= 0) b->node[b->row[v]] = v;
    // fillers and fixed ones: a slot of its own for every chunk, since chunks write at the same time
    for (size_t k = 0; k < places; k++) b->slot[k] = (int)(slots + WASTE * (k / (FA_SOLID_PAIRS * FA_SOLID_PATCH * FA_SOLID_CHUNK)));
    fill_pattern(b, w);
    fill_block_slots(b, s, w);
    return FA_OK;
}

FaCode fai_blocks_new(const FaSolid *solid, const unsigned char *fixed, FaBlocks **blocks, FaError *err) {
    *blocks = NULL;
    FaBlocks *b = FA_NEW(1, FaBlocks);
    if (!b) return FA_FAIL_MEMORY(err);
    Scratch w = {0};
    FaCode rc = build(b, solid, fixed, &w, err);
    fa_free(w.first);
    fa_free(w.order);
    fa_free(w.found);
    fa_free(w.lower);
    fa_free(w.upper_start);
    fa_free(w.upper);
    if (rc < 0)
        fai_blocks_free(b);
    else
        *blocks = b;
    return rc;
}

void fai_blocks_free(FaBlocks *b) {
    if (!b) return;
    fai_arena_free(b->arena);
    fa_free(b);
}

// --- use ----------------------------------------------------------------------------------------------------------

void fai_blocks_add_diagonal(FaBlocks *b, int row, const double m[9]) {
    float *to = b->val + 9 * (size_t)b->diagonal[row];
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) to[3 * c + r] += (float)m[3 * FA_MIN(r, c) + FA_MAX(r, c)];
}

typedef struct MulJob {
    const FaBlocks *b;
    const float *x;
    float *y;
} MulJob;

// A column of a block times a number, four lanes; the fourth is the next column's first number, and dropped at the end.
typedef float Quad __attribute__((vector_size(16)));
#define LOAD(q, p) memcpy(&(q), (p), sizeof(Quad))

static void mul_rows(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const MulJob *job = ctx;
    const FaBlocks *b = job->b;
    for (int i = begin; i < end; i++) {
        Quad s0 = {0}, s1 = {0}, s2 = {0}, c0, c1, c2;
        const float *val = b->val + 9 * (size_t)b->start[i];
        for (int k = b->start[i]; k < b->start[i + 1]; k++, val += 9) {
            const float *x = job->x + 4 * (size_t)b->col[k];
            LOAD(c0, val);
            LOAD(c1, val + 3);
            LOAD(c2, val + 6);
            s0 += c0 * x[0];
            s1 += c1 * x[1];
            s2 += c2 * x[2];
        }
        Quad y = (s0 + s1) + s2;
        y[3] = 0;
        memcpy(job->y + 4 * (size_t)i, &y, sizeof y);
    }
}

void fai_blocks_mul(const FaBlocks *b, const float *x, float *y) {
    MulJob job = {b, x, y};
    fai_parallel(b->nfree, ROWS, mul_rows, &job);
}

FaCode fai_blocks_pattern(const FaBlocks *b, FaCsr *out, FaError *err) {
    size_t n = 3 * (size_t)b->nfree, nnz = 9 * (size_t)b->start[b->nfree];
    *out = (FaCsr){.nrow = (int)n, .ncol = (int)n};
    if (nnz > INT32_MAX) return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "%d free nodes are too many", b->nfree);
    out->start = FA_NEW(n + 1, int);
    out->col = FA_NEW(nnz, int);
    out->val = FA_NEW(nnz, double);
    if (!out->start || !out->col || !out->val) {
        fai_csr_free(out);
        return FA_FAIL_MEMORY(err);
    }
    int at = 0;
    for (int i = 0; i < b->nfree; i++)
        for (int r = 0; r < 3; r++) {
            out->start[3 * i + r] = at;
            for (int k = b->start[i]; k < b->start[i + 1]; k++)
                for (int c = 0; c < 3; c++) out->col[at++] = 3 * b->col[k] + c;
        }
    out->start[n] = at;
    return FA_OK;
}

void fai_blocks_csr(const FaBlocks *b, FaCsr *out) {
    double *to = out->val;
    for (int i = 0; i < b->nfree; i++)
        for (int r = 0; r < 3; r++)
            for (int k = b->start[i]; k < b->start[i + 1]; k++)
                for (int c = 0; c < 3; c++) *to++ = (double)b->val[9 * (size_t)k + (size_t)(3 * c + r)];
}

// --- assembly -----------------------------------------------------------------------------------------------------

typedef struct SecondJob {
    FaSolidRest *r;
    FaBlocks *b;
    FaSolidHessian kind;
    float share;
} SecondJob;

// Block (a, b) from the element's frame: gradients in V's frame, then turned by U.
static void frame_block(const FaSolidFrame *f, const float u[9], const float ga[3], const float gb[3], float (*o)[FA_SOLID_PATCH], int l) {
    float m[9], t[9], k[3][3] = {{0}}, cross[3][3] = {{0}}; // weights of D_rk on itself, and on D_kr
    for (int p = 0; p < 3; p++) {
        int i = (p + 1) % 3, j = (p + 2) % 3;
        k[i][j] = (float)f->pair[p][0], k[j][i] = (float)f->pair[p][2], cross[i][j] = cross[j][i] = (float)f->pair[p][1];
    }
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            m[3 * r + c] = (float)f->scale[3 * r + c] * ga[r] * gb[c];
            if (r == c)
                m[3 * r + c] +=
                    k[r][(r + 1) % 3] * ga[(r + 1) % 3] * gb[(r + 1) % 3] + k[r][(r + 2) % 3] * ga[(r + 2) % 3] * gb[(r + 2) % 3];
            else
                m[3 * r + c] += cross[r][c] * ga[c] * gb[r];
        }
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) t[3 * r + c] = u[3 * r] * m[c] + u[3 * r + 1] * m[3 + c] + u[3 * r + 2] * m[6 + c];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) o[3 * c + r][l] = t[3 * r] * u[3 * c] + t[3 * r + 1] * u[3 * c + 1] + t[3 * r + 2] * u[3 * c + 2];
}

// Elements of a patch made definite. Returns how many were not.
static int make_definite(const SecondJob *job, int q, FaSolidSecond *out) {
    enum { N = FA_SOLID_PATCH };
    _Alignas(64) float F[9][N], U[9][N], S[3][N], V[9][N];
    FaSolidRest *r = job->r;
    const FaSolid *s = r->solid;
    const FaSolidRestPatch *p = &r->patch[q];
    fai_solid_kernels(s)->deform(&s->patch[q], p, r->u_f, F);
    int n = FA_MIN(N, s->ntet - q * N), count = 0;
    fai_svd3_many(n, F[0], N, &(FaSvd3){U[0], S[0], V[0], N});
    for (int l = 0; l < n; l++) {
        FaSolidFrame f;
        double sigma[3] = {(double)S[0][l], (double)S[1][l], (double)S[2][l]};
        bool bad = fai_solid_project(s->law, p->mu[l], p->lambda[l], sigma, &f);
        count += bad;
        if (!bad && job->kind == FA_HESSIAN_PROJECTED) continue;
        if (job->kind == FA_HESSIAN_SAFE)
            fai_solid_safe(s->law, p->mu[l], p->lambda[l], sigma, &f);
        else
            fai_solid_pairs(&f);
        float g[4][3], u[9];
        for (int i = 0; i < 9; i++) u[i] = U[i][l];
        for (int a = 1; a < 4; a++)
            for (int k = 0; k < 3; k++) {
                g[a][k] = 0;
                for (int i = 0; i < 3; i++) g[a][k] += V[3 * i + k][l] * p->inverse_f[3 * (a - 1) + i][l];
            }
        for (int k = 1; k < FA_SOLID_PAIRS; k++) {
            int a = pair_corner[k][0], b = pair_corner[k][1];
            if (a) frame_block(&f, u, g[a], g[b], out->block + 9 * k, l);
        }
        for (int k = 1; k < 4; k++) // exactly symmetric
            for (int c = 0; c < 3; c++)
                for (int i = 0; i < c; i++) out->block[9 * k + 3 * c + i][l] = out->block[9 * k + 3 * i + c][l];
    }
    return count;
}

#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

// Four numbers of each of four elements, transposed.
#define TURN4(r, q)                                                                                                                        \
    do {                                                                                                                                   \
        Quad a_ = MIX(r[0], r[1], 0, 4, 1, 5), b_ = MIX(r[0], r[1], 2, 6, 3, 7), c_ = MIX(r[2], r[3], 0, 4, 1, 5);                         \
        Quad d_ = MIX(r[2], r[3], 2, 6, 3, 7);                                                                                             \
        q[0] = MIX(a_, c_, 0, 1, 4, 5), q[1] = MIX(a_, c_, 2, 3, 6, 7);                                                                    \
        q[2] = MIX(b_, d_, 0, 1, 4, 5), q[3] = MIX(b_, d_, 2, 3, 6, 7);                                                                    \
    } while (0)

// Blocks of elements l .. l + 3 to their slots.
static inline void scatter_blocks(const float (*from)[FA_SOLID_PATCH], int l, const int *slot, float *slots) {
    Quad r[4], low[4], high[4];
    for (int i = 0; i < 4; i++) LOAD(r[i], from[i] + l);
    TURN4(r, low);
    for (int i = 0; i < 4; i++) LOAD(r[i], from[4 + i] + l);
    TURN4(r, high);
    for (int i = 0; i < 4; i++) {
        float *to = slots + 9 * (size_t)slot[l + i];
        memcpy(to, &low[i], sizeof(Quad));
        memcpy(to + 4, &high[i], sizeof(Quad));
        to[8] = from[8][l + i];
    }
}

static void second_chunk(void *ctx, int begin, int end, int chunk) {
    const SecondJob *job = ctx;
    FaSolidRest *r = job->r;
    const FaSolid *s = r->solid;
    const FaSolidKernels *kernel = fai_solid_kernels(s);
    FaSolidSecond out;
    int count = 0;
    for (int q = begin; q < end; q++) {
        kernel->second(s->law, &s->patch[q], &r->patch[q], r->u_f, &out);
        if (job->kind != FA_HESSIAN_TRUE) count += make_definite(job, q, &out);
        if (job->share > 0) kernel->damp_second(&s->patch[q], &r->patch[q], job->share, r->from_f, &out);
        kernel->complete(&out);
        for (int p = 0; p < FA_SOLID_PAIRS; p++) {
            const int *slot = job->b->slot + ((size_t)q * FA_SOLID_PAIRS + (size_t)p) * FA_SOLID_PATCH;
            const float(*from)[FA_SOLID_PATCH] = (const float(*)[FA_SOLID_PATCH])out.block + 9 * p;
            for (int l = 0; l < FA_SOLID_PATCH; l += 4) scatter_blocks(from, l, slot, job->b->slots);
        }
    }
    r->count[chunk] = count;
}

// Slots summed: eight numbers in two registers, and the ninth.
static const float *sum_slots(const float *slot, int n, float sum[9]) {
    Quad a = {0}, b = {0}, q;
    float c = 0;
    for (int s = 0; s < n; s++, slot += 9) {
        LOAD(q, slot);
        a += q;
        LOAD(q, slot + 4);
        b += q;
        c += slot[8];
    }
    memcpy(sum, &a, sizeof a);
    memcpy(sum + 4, &b, sizeof b);
    sum[8] = c;
    return slot;
}

static void gather_unique(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    FaBlocks *b = ((SecondJob *)ctx)->b;
    const float *slot = b->slots + 9 * (size_t)b->slot_start[begin];
    for (int k = begin; k < end; k++) {
        float sum[9], turned[9], *to = b->val + 9 * (size_t)b->unique[k], *over = b->val + 9 * (size_t)b->mirror[k];
        slot = sum_slots(slot, b->slot_turn[k] - b->slot_start[k], sum);
        if (b->slot_turn[k] < b->slot_start[k + 1]) {
            slot = sum_slots(slot, b->slot_start[k + 1] - b->slot_turn[k], turned);
            for (int c = 0; c < 3; c++)
                for (int i = 0; i < 3; i++) sum[3 * c + i] += turned[3 * i + c];
        }
        memcpy(to, sum, sizeof sum);
        if (over == to) continue;
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < 3; i++) over[3 * i + c] = sum[3 * c + i];
    }
}

int fai_solid_hessian(FaSolidRest *r, const double *x, const FaSolidDamping *damping, FaSolidHessian kind, FaBlocks *blocks) {
    FA_ASSERT(blocks->nnode == r->solid->nnode);
    fai_solid_prepare(r, x, damping, true);
    SecondJob job = {r, blocks, kind, damping ? (float)damping->share : 0};
    fai_parallel(r->solid->npatch, FA_SOLID_CHUNK, second_chunk, &job);
    fai_parallel(blocks->nunique, UNIQUE, gather_unique, &job);
    if (kind == FA_HESSIAN_TRUE) return -1;
    int count = 0;
    for (int c = 0; c < fai_chunks(r->solid->npatch, FA_SOLID_CHUNK); c++) count += r->count[c];
    return count;
}
