// The block matrix: its pattern, products, and the assembly of second derivatives.
#include "energy/solid_blocks.h"

#include "base/task.h"
#include "contact/keys.h"
#include "energy/solid_second.h"
#include "energy/solid_work.h"
#include "math/svd.h"

enum { ROWS = 256, UNIQUE = 2048, TILE = FA_SOLID_CHUNK * FA_SOLID_PATCH };
static const int pair_corner[FA_SOLID_PAIRS][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {0, 1},
                                                   {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

// --- pattern ------------------------------------------------------------------------------------------------------

// A sum of blocks of a tile's elements.
typedef struct Partial {
    int row, col; // row <= col
    bool turned;  // it has block (col, row)
    int slot;     // -1: none, the block of a pair that was asked for
} Partial;

typedef struct Pairs {
    int n;
    const int *pair; // nodes (n x 2)
} Pairs;

typedef struct Scratch {
    FaKeys keys; // of a tile: partial -> its number within the tile
    int npartial;
    Partial *partial; // of all tiles
    int *first;       // of each row in order[], then their number                        (nfree + 1)
    int *order;       // partials by row, column, way round, tile                         (npartial)
    int *upper;       // first unique block of each row, then their number                (nfree + 1)
    int *lower;       // how many blocks each row has left of its diagonal                (nfree + 1)
    int *next;        // (nfree + 1)
} Scratch;

static Partial partial_of(const FaBlocks *b, const FaSolid *s, int e, int p) {
    const FaSolidPatch *at = &s->patch[e / FA_SOLID_PATCH];
    int l = e % FA_SOLID_PATCH, r = b->row[at->node[pair_corner[p][0]][l]], c = b->row[at->node[pair_corner[p][1]][l]];
    return (Partial){.row = FA_MIN(r, c), .col = FA_MAX(r, c), .turned = r > c};
}

// Partials of a tile, numbered as they come, and where each element's blocks go.
static void fill_tile(FaBlocks *b, const FaSolid *s, int tile, Scratch *w) {
    int begin = tile * TILE, end = FA_MIN(begin + TILE, s->npatch * FA_SOLID_PATCH), first = w->npartial;
    b->tile[tile] = first + tile; // every tile before has one more
    fai_keys_clear(&w->keys);
    for (int k = begin * FA_SOLID_PAIRS; k < end * FA_SOLID_PAIRS; k++) b->slot[k] = -1;
    for (int e = begin; e < FA_MIN(end, s->ntet); e++)
        for (int p = 0; p < FA_SOLID_PAIRS; p++) {
            int *slot = &b->slot[(e / FA_SOLID_PATCH * FA_SOLID_PAIRS + p) * FA_SOLID_PATCH + e % FA_SOLID_PATCH];
            Partial q = partial_of(b, s, e, p);
            if (q.row < 0) continue;
            uint64_t key = (uint64_t)1 << 63 | (uint64_t)q.row << 32 | (uint64_t)q.col << 1 | q.turned;
            *slot = fai_keys_find(&w->keys, key);
            if (*slot >= 0) continue;
            *slot = w->npartial - first;
            fai_keys_put(&w->keys, key, *slot);
            q.slot = b->tile[tile] + *slot;
            w->partial[w->npartial++] = q;
        }
    for (int k = begin * FA_SOLID_PAIRS; k < end * FA_SOLID_PAIRS; k++)
        if (b->slot[k] < 0) b->slot[k] = w->npartial - first;
}

static bool precedes(const Partial *a, const Partial *b) {
    return a->col != b->col ? a->col < b->col : a->turned < b->turned;
}

// By rows, then within each; stable, so that tiles stay in order. Then unique blocks are counted: the diagonal even of
// a node without tets.
static void sort_partials(const FaBlocks *b, Scratch *w) {
    for (int i = 0; i < w->npartial; i++) w->first[w->partial[i].row + 1]++;
    for (int r = 0; r < b->nfree; r++) w->next[r] = w->first[r], w->first[r + 1] += w->first[r];
    for (int i = 0; i < w->npartial; i++) {
        const Partial *q = &w->partial[i];
        int at = w->next[q->row]++;
        for (; at > w->first[q->row] && precedes(q, &w->partial[w->order[at - 1]]); at--)
            w->order[at] = w->order[at - 1];
        w->order[at] = i;
    }
    for (int r = 0; r < b->nfree; r++) {
        int n = 1, last = r;
        for (int k = w->first[r]; k < w->first[r + 1]; k++) {
            int c = w->partial[w->order[k]].col;
            if (c == last) continue;
            n++;
            w->lower[c]++;
            last = c;
        }
        w->upper[r + 1] = w->upper[r] + n;
    }
}

// Both triangles. Rows in order: what is left of the diagonal of later rows arrives sorted.
static void fill_pattern(FaBlocks *b, Scratch *w) {
    int at = 0;
    for (int r = 0; r < b->nfree; r++) {
        w->next[r] = b->start[r];
        b->start[r + 1] = b->start[r] + w->lower[r] + w->upper[r + 1] - w->upper[r];
    }
    for (int r = 0; r < b->nfree; r++) {
        int k = w->first[r], end = w->first[r + 1];
        for (int n = w->upper[r]; n < w->upper[r + 1]; n++) {
            int c = n == w->upper[r] ? r : w->partial[w->order[k]].col;
            b->from_start[n] = at;
            for (; k < end && w->partial[w->order[k]].col == c && !w->partial[w->order[k]].turned; k++)
                if (w->partial[w->order[k]].slot >= 0) b->from[at++] = w->partial[w->order[k]].slot;
            b->from_turn[n] = at;
            for (; k < end && w->partial[w->order[k]].col == c; k++) b->from[at++] = w->partial[w->order[k]].slot;
            b->unique[n] = b->mirror[n] = w->next[r];
            b->col[w->next[r]++] = c;
            if (c == r)
                b->diagonal[r] = b->unique[n];
            else
                b->mirror[n] = w->next[c], b->col[w->next[c]++] = r;
        }
    }
    b->from_start[b->nunique] = at;
}

// Pairs that were asked for, those of fixed nodes left out. On the diagonal there is a block anyway.
static void ask_pairs(const FaBlocks *b, const Pairs *ask, Scratch *w) {
    for (int i = 0; i < ask->n; i++) {
        const int *v = ask->pair + 2 * (size_t)i;
        FA_ASSERT(v[0] >= 0 && v[0] < b->nnode && v[1] >= 0 && v[1] < b->nnode);
        int r = b->row[v[0]], c = b->row[v[1]];
        if (r < 0 || c < 0 || r == c) continue;
        w->partial[w->npartial++] = (Partial){.row = FA_MIN(r, c), .col = FA_MAX(r, c), .slot = -1};
    }
}

static FaCode find_partials(FaBlocks *b, const FaSolid *s, const Pairs *ask, Scratch *w, FaError *err) {
    size_t rows = (size_t)b->nfree + 1, pairs = (size_t)s->npatch * FA_SOLID_PATCH * FA_SOLID_PAIRS,
           all = pairs + (size_t)ask->n;
    b->tile = FA_PUSH(b->arena, (size_t)s->ntile + 1, int);
    b->slot = FA_PUSH(b->arena, pairs, int);
    w->partial = FA_NEW(all, Partial);
    w->order = FA_NEW(all, int);
    w->first = FA_NEW(rows, int);
    w->upper = FA_NEW(rows, int);
    w->lower = FA_NEW(rows, int);
    w->next = FA_NEW(rows, int);
    if (!b->tile || !b->slot || !w->partial || !w->order || !w->first || !w->upper || !w->lower || !w->next ||
        !fai_keys_new(&w->keys, TILE * FA_SOLID_PAIRS))
        return FA_FAIL_MEMORY(err);
    for (int t = 0; t < s->ntile; t++) fill_tile(b, s, t, w);
    b->tile[s->ntile] = w->npartial + s->ntile;
    ask_pairs(b, ask, w);
    sort_partials(b, w);
    b->nunique = w->upper[b->nfree];
    return FA_OK;
}

static FaCode build(FaBlocks *b, const FaSolid *s, const unsigned char *fixed, const Pairs *ask, Scratch *w,
                    FaError *err) {
    b->arena = fai_arena_new(0);
    if (!b->arena) return FA_FAIL_MEMORY(err);
    b->nnode = s->nnode;
    b->row = FA_PUSH(b->arena, s->nnode, int);
    if (!b->row) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < s->nnode; v++) b->row[v] = fixed && fixed[v] ? -1 : b->nfree++;
    FA_TRY(find_partials(b, s, ask, w, err));
    size_t rows = (size_t)b->nfree, blocks = 2 * (size_t)b->nunique - rows;
    b->node = FA_PUSH(b->arena, rows, int);
    b->start = FA_PUSH(b->arena, rows + 1, int);
    b->col = FA_PUSH(b->arena, blocks, int);
    b->diagonal = FA_PUSH(b->arena, rows, int);
    b->val = FA_PUSH(b->arena, 9 * blocks + 16, float);
    b->unique = FA_PUSH(b->arena, b->nunique, int);
    b->mirror = FA_PUSH(b->arena, b->nunique, int);
    b->from_start = FA_PUSH(b->arena, (size_t)b->nunique + 1, int);
    b->from_turn = FA_PUSH(b->arena, b->nunique, int);
    b->from = FA_PUSH(b->arena, w->npartial, int);
    b->slots = FA_PUSH(b->arena, 9 * (size_t)b->tile[s->ntile], float);
    if (!b->node || !b->start || !b->col || !b->diagonal || !b->val || !b->unique || !b->mirror || !b->from_start ||
        !b->from_turn || !b->from || !b->slots)
        return FA_FAIL_MEMORY(err);
    for (int v = 0; v < s->nnode; v++)
        if (b->row[v] >= 0) b->node[b->row[v]] = v;
    fill_pattern(b, w);
    return FA_OK;
}

FaCode fai_blocks_new(const FaSolid *solid, const unsigned char *fixed, int npair, const int *pair, FaBlocks **blocks,
                      FaError *err) {
    *blocks = NULL;
    FaBlocks *b = FA_NEW(1, FaBlocks);
    if (!b) return FA_FAIL_MEMORY(err);
    Scratch w = {0};
    FaCode rc = build(b, solid, fixed, &(Pairs){npair, pair}, &w, err);
    fai_keys_free(&w.keys);
    fa_free(w.partial);
    fa_free(w.order);
    fa_free(w.first);
    fa_free(w.upper);
    fa_free(w.lower);
    fa_free(w.next);
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

static int block_of(const FaBlocks *b, int row, int col) {
    int low = b->start[row], high = b->start[row + 1];
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (b->col[middle] < col)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->start[row + 1] && b->col[low] == col ? low : -1;
}

int fai_blocks_at(const FaBlocks *b, int i, int j) {
    return b->row[i] < 0 || b->row[j] < 0 ? -1 : block_of(b, b->row[i], b->row[j]);
}

void fai_blocks_add(FaBlocks *b, int i, int j, const double m[9]) {
    if (b->row[i] < 0 || b->row[j] < 0) return;
    if (i == j) {
        fai_blocks_add_diagonal(b, b->row[i], m);
        return;
    }
    int at = fai_blocks_at(b, i, j), over = fai_blocks_at(b, j, i);
    FA_ASSERT(at >= 0 && over >= 0);
    float *to = b->val + 9 * (size_t)at, *turned = b->val + 9 * (size_t)over;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) to[3 * c + r] += (float)m[3 * r + c], turned[3 * r + c] += (float)m[3 * r + c];
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
    if (nnz > INT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "%d free nodes are too many", b->nfree);
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
static void frame_block(const FaSolidFrame *f, const float u[9], const float ga[3], const float gb[3],
                        float (*o)[FA_SOLID_PATCH], int l) {
    float m[9], t[9], k[3][3] = {{0}}, cross[3][3] = {{0}}; // weights of D_rk on itself, and on D_kr
    for (int p = 0; p < 3; p++) {
        int i = (p + 1) % 3, j = (p + 2) % 3;
        k[i][j] = (float)f->pair[p][0], k[j][i] = (float)f->pair[p][2],
        cross[i][j] = cross[j][i] = (float)f->pair[p][1];
    }
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            m[3 * r + c] = (float)f->scale[3 * r + c] * ga[r] * gb[c];
            if (r == c)
                m[3 * r + c] += k[r][(r + 1) % 3] * ga[(r + 1) % 3] * gb[(r + 1) % 3] +
                                k[r][(r + 2) % 3] * ga[(r + 2) % 3] * gb[(r + 2) % 3];
            else
                m[3 * r + c] += cross[r][c] * ga[c] * gb[r];
        }
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) t[3 * r + c] = u[3 * r] * m[c] + u[3 * r + 1] * m[3 + c] + u[3 * r + 2] * m[6 + c];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            o[3 * c + r][l] = t[3 * r] * u[3 * c] + t[3 * r + 1] * u[3 * c + 1] + t[3 * r + 2] * u[3 * c + 2];
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
#define TURN4(r, q)                                                                                                    \
    do {                                                                                                               \
        Quad a_ = MIX(r[0], r[1], 0, 4, 1, 5), b_ = MIX(r[0], r[1], 2, 6, 3, 7), c_ = MIX(r[2], r[3], 0, 4, 1, 5);     \
        Quad d_ = MIX(r[2], r[3], 2, 6, 3, 7);                                                                         \
        q[0] = MIX(a_, c_, 0, 1, 4, 5), q[1] = MIX(a_, c_, 2, 3, 6, 7);                                                \
        q[2] = MIX(b_, d_, 0, 1, 4, 5), q[3] = MIX(b_, d_, 2, 3, 6, 7);                                                \
    } while (0)

// Blocks of elements l .. l + 3 added to their slots.
static inline void scatter_blocks(const float (*from)[FA_SOLID_PATCH], int l, const int *slot, float *slots) {
    Quad r[4], low[4], high[4];
    for (int i = 0; i < 4; i++) LOAD(r[i], from[i] + l);
    TURN4(r, low);
    for (int i = 0; i < 4; i++) LOAD(r[i], from[4 + i] + l);
    TURN4(r, high);
    for (int i = 0; i < 4; i++) {
        float *to = slots + 9 * (size_t)slot[l + i];
        Quad a, b;
        LOAD(a, to);
        LOAD(b, to + 4);
        a += low[i];
        b += high[i];
        memcpy(to, &a, sizeof a);
        memcpy(to + 4, &b, sizeof b);
        to[8] += from[8][l + i];
    }
}

static void second_chunk(void *ctx, int begin, int end, int chunk) {
    const SecondJob *job = ctx;
    FaSolidRest *r = job->r;
    const FaSolid *s = r->solid;
    const FaSolidKernels *kernel = fai_solid_kernels(s);
    FaSolidSecond out;
    int count = 0;
    float *slots = job->b->slots + 9 * (size_t)job->b->tile[chunk];
    memset(slots, 0, 9 * (size_t)(job->b->tile[chunk + 1] - job->b->tile[chunk]) * sizeof *slots);
    for (int q = begin; q < end; q++) {
        kernel->second(s->law, &s->patch[q], &r->patch[q], r->u_f, &out);
        if (job->kind != FA_HESSIAN_TRUE) count += make_definite(job, q, &out);
        if (job->share > 0) kernel->damp_second(&s->patch[q], &r->patch[q], job->share, r->from_f, &out);
        kernel->complete(&out);
        for (int p = 0; p < FA_SOLID_PAIRS; p++) {
            const int *slot = job->b->slot + ((size_t)q * FA_SOLID_PAIRS + (size_t)p) * FA_SOLID_PATCH;
            const float(*from)[FA_SOLID_PATCH] = (const float(*)[FA_SOLID_PATCH])out.block + 9 * p;
            for (int l = 0; l < FA_SOLID_PATCH; l += 4) scatter_blocks(from, l, slot, slots);
        }
    }
    r->count[chunk] = count;
}

// Slots summed: eight numbers in two registers, and the ninth.
static void sum_slots(const FaBlocks *b, int begin, int end, float sum[9]) {
    Quad low = {0}, high = {0}, q;
    float last = 0;
    for (int i = begin; i < end; i++) {
        const float *slot = b->slots + 9 * (size_t)b->from[i];
        LOAD(q, slot);
        low += q;
        LOAD(q, slot + 4);
        high += q;
        last += slot[8];
    }
    memcpy(sum, &low, sizeof low);
    memcpy(sum + 4, &high, sizeof high);
    sum[8] = last;
}

static void gather_unique(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    FaBlocks *b = ((SecondJob *)ctx)->b;
    for (int k = begin; k < end; k++) {
        float sum[9], turned[9], *to = b->val + 9 * (size_t)b->unique[k], *over = b->val + 9 * (size_t)b->mirror[k];
        sum_slots(b, b->from_start[k], b->from_turn[k], sum);
        if (b->from_turn[k] < b->from_start[k + 1]) {
            sum_slots(b, b->from_turn[k], b->from_start[k + 1], turned);
            for (int c = 0; c < 3; c++)
                for (int i = 0; i < 3; i++) sum[3 * c + i] += turned[3 * i + c];
        }
        memcpy(to, sum, sizeof sum);
        if (over == to) continue;
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < 3; i++) over[3 * i + c] = sum[3 * c + i];
    }
}

int fai_solid_hessian(FaSolidRest *r, const double *x, const FaSolidDamping *damping, FaSolidHessian kind,
                      FaBlocks *blocks) {
    FA_ASSERT(blocks->nnode == r->solid->nnode);
    fai_solid_prepare(r, x, damping, true);
    SecondJob job = {r, blocks, kind, damping ? (float)damping->share : 0};
    fai_parallel(r->solid->npatch, FA_SOLID_CHUNK, second_chunk, &job);
    fai_parallel(blocks->nunique, UNIQUE, gather_unique, &job);
    if (kind == FA_HESSIAN_TRUE) return -1;
    int count = 0;
    for (int c = 0; c < r->solid->ntile; c++) count += r->count[c];
    return count;
}
