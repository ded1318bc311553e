#include "solve/gauss_seidel.h"

#include "base/task.h"
#include "energy/kernel.h"
#include "math/mat3.h"

enum { CHUNK = 256, MAX_COLORS = 256 };

struct FaSweeper {
    FaArena *arena;
    int n, max_rows;
    // the matrix, rows in the order of the colours, diagonals apart
    int ncolor;
    int color_start[MAX_COLORS + 1]; // places of each colour
    int *node;                       // at each place                                      (n)
    int *place;                      // of each node                                       (n)
    int *start;                      // entries of each place                              (n + 1)
    int *col;                        // nodes
    float *val;
    double *diag0;     // of each node, without inertia                      (n)
    double *mass;      //                                                    (n)
    float *diag, *inv; // with inertia; its inverse (0: swept with its rows) (n)
    // contact rows
    int nrow, ntouched;
    const FaRow *row;
    int *touched;     // nodes in rows, increasing                          (4 max_rows)
    int *touch_start; // rows of each touched node                          (4 max_rows + 1)
    int *touch_row;   // 4 * row + slot                                     (4 max_rows)
    int *count;       // rows of each node                                  (n)
    double *block;    // inverse of its 3x3 block                           (4 max_rows x 9)
};

// --- building -----------------------------------------------------------------------------------------------------

// Greedy, in the order of the nodes. -1: more colours than there is room for.
static int color_nodes(const FaCsr *a, int *color) {
    int most = 0;
    for (int i = 0; i < a->nrow; i++) {
        bool used[MAX_COLORS] = {false};
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            if (a->col[k] < i) used[color[a->col[k]]] = true;
        int c = 0;
        while (c < MAX_COLORS && used[c]) c++;
        if (c == MAX_COLORS) return -1;
        color[i] = c;
        most = FA_MAX(most, c + 1);
    }
    return most;
}

static void fill_matrix(FaSweeper *s, const FaCsr *a, const double *mass, const int *color) {
    int at = 0;
    for (int c = 0; c < s->ncolor; c++) {
        s->color_start[c] = at;
        for (int i = 0; i < s->n; i++)
            if (color[i] == c) s->node[at++] = i;
    }
    s->color_start[s->ncolor] = at;
    int entry = 0;
    for (int p = 0; p < s->n; p++) {
        int i = s->node[p];
        s->place[i] = p;
        s->mass[i] = mass[i];
        for (int k = a->start[i]; k < a->start[i + 1]; k++) {
            if (a->col[k] == i) {
                s->diag0[i] = a->val[k];
                continue;
            }
            s->col[entry] = a->col[k];
            s->val[entry++] = (float)a->val[k];
        }
        s->start[p + 1] = entry;
    }
}

static bool make_room(FaSweeper *s, const FaCsr *a) {
    size_t n = (size_t)s->n, nnz = (size_t)a->start[a->nrow], rows = 4 * (size_t)s->max_rows;
    s->node = FA_PUSH(s->arena, n, int);
    s->place = FA_PUSH(s->arena, n, int);
    s->start = FA_PUSH(s->arena, n + 1, int);
    s->col = FA_PUSH(s->arena, nnz, int);
    s->val = FA_PUSH(s->arena, nnz, float);
    s->diag0 = FA_PUSH(s->arena, n, double);
    s->mass = FA_PUSH(s->arena, n, double);
    s->diag = FA_PUSH(s->arena, n, float);
    s->inv = FA_PUSH(s->arena, n, float);
    s->touched = FA_PUSH(s->arena, rows, int);
    s->touch_start = FA_PUSH(s->arena, rows + 1, int);
    s->touch_row = FA_PUSH(s->arena, rows, int);
    s->count = FA_PUSH(s->arena, n, int);
    s->block = FA_PUSH(s->arena, 9 * rows, double);
    return s->node && s->place && s->start && s->col && s->val && s->diag0 && s->mass && s->diag && s->inv &&
           s->touched && s->touch_start && s->touch_row && s->count && s->block;
}

FaCode fai_sweeper_new(const FaCsr *a, const double *mass, int max_rows, FaSweeper **sweeper, FaError *err) {
    *sweeper = NULL;
    FaSweeper *s = FA_NEW(1, FaSweeper);
    int *color = FA_NEW(a->nrow, int);
    FaCode rc = FA_OK;
    if (s) *s = (FaSweeper){.arena = fai_arena_new(0), .n = a->nrow, .max_rows = max_rows};
    if (!s || !s->arena || !color || !make_room(s, a)) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0 && (s->ncolor = color_nodes(a, color)) < 0)
        rc = FA_FAIL(err, FA_E_LIMIT, NULL, "split elements around the node with the most neighbours",
                     "a node has more than %d neighbours", MAX_COLORS);
    if (rc >= 0) {
        fill_matrix(s, a, mass, color);
        fai_sweeper_rows(s, 0, 0, NULL);
        *sweeper = s;
    } else {
        fai_sweeper_free(s);
    }
    fai_resize(color, 0);
    return rc;
}

void fai_sweeper_free(FaSweeper *s) {
    if (!s) return;
    fai_arena_free(s->arena);
    fai_resize(s, 0);
}

// --- the matrix of one solve --------------------------------------------------------------------------------------

// inverse of  diag I + sum of k w^2 (n n' or I)
static void touched_block(FaSweeper *s, int t) {
    double m[9] = {0}, *inv = s->block + 9 * (size_t)t;
    for (int k = 0; k < 3; k++) m[4 * k] = (double)s->diag[s->touched[t]];
    for (int e = s->touch_start[t]; e < s->touch_start[t + 1]; e++) {
        const FaRow *r = &s->row[s->touch_row[e] / 4];
        double w = (double)r->weight[s->touch_row[e] % 4], k = (double)r->stiffness * w * w;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                m[3 * i + j] +=
                    r->kind == FA_ROW_PULL ? (i == j ? k : 0) : k * (double)r->normal[i] * (double)r->normal[j];
    }
    if (!fai_m3_inverse(m, inv)) memset(inv, 0, 9 * sizeof *inv);
}

void fai_sweeper_rows(FaSweeper *s, double inertia, int nrow, const FaRow *row) {
    s->nrow = nrow;
    s->row = row;
    memset(s->count, 0, (size_t)s->n * sizeof *s->count);
    for (int i = 0; i < 4 * nrow; i++)
        if (row[i / 4].node[i % 4] >= 0) s->count[row[i / 4].node[i % 4]]++;
    s->ntouched = 0;
    int sum = 0;
    for (int i = 0; i < s->n; i++) {
        double d = s->diag0[i] + inertia * s->mass[i];
        s->diag[i] = (float)d;
        s->inv[i] = s->count[i] || !(d > 0) ? 0 : (float)(1 / d);
        if (!s->count[i]) continue;
        s->touch_start[s->ntouched] = sum;
        sum += s->count[i];
        s->count[i] = s->ntouched; // from here on: which touched node it is
        s->touched[s->ntouched++] = i;
    }
    s->touch_start[s->ntouched] = sum;
    // fill the lists, moving each start to its end, then shift back
    for (int i = 0; i < 4 * nrow; i++) {
        int node = row[i / 4].node[i % 4];
        if (node >= 0) s->touch_row[s->touch_start[s->count[node]]++] = i;
    }
    for (int t = s->ntouched; t > 0; t--) s->touch_start[t] = s->touch_start[t - 1];
    s->touch_start[0] = 0;
    for (int t = 0; row && t < s->ntouched; t++) touched_block(s, t);
}

// --- sweeping and multiplying -------------------------------------------------------------------------------------

typedef struct Sweep {
    const FaSweeper *s;
    const FaV4 *q;
    FaV4 *x;
    int begin; // of the colour
} Sweep;

static inline FaV4 others(const FaSweeper *s, int place, const FaV4 *x) {
    FaV4 sum = {0};
    for (int k = s->start[place]; k < s->start[place + 1]; k++) sum += s->val[k] * x[s->col[k]];
    return sum;
}

static void sweep_color(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Sweep *sw = ctx;
    const FaSweeper *s = sw->s;
    for (int p = sw->begin + begin; p < sw->begin + end; p++) {
        int i = s->node[p];
        if (s->inv[i] != 0) sw->x[i] = (sw->q[i] - others(s, p, sw->x)) * s->inv[i];
    }
}

// Force of a row on one of its slots, from the other slots or from all.
static void row_force(const FaRow *r, int slot, bool all, const FaV4 *x, double f[3]) {
    double v[3] = {0}, k = (double)r->stiffness * (double)r->weight[slot];
    for (int j = 0; j < 4; j++)
        if (r->node[j] >= 0 && (all || j != slot))
            for (int c = 0; c < 3; c++) v[c] += (double)r->weight[j] * (double)x[r->node[j]][c];
    double nv = (double)r->normal[0] * v[0] + (double)r->normal[1] * v[1] + (double)r->normal[2] * v[2];
    for (int c = 0; c < 3; c++) f[c] = k * (r->kind == FA_ROW_PULL ? v[c] : nv * (double)r->normal[c]);
}

static void sweep_touched(const FaSweeper *s, const FaV4 *q, FaV4 *x) {
    for (int t = 0; t < s->ntouched; t++) {
        int i = s->touched[t];
        FaV4 sum = others(s, s->place[i], x);
        double b[3], f[3], y[3];
        for (int c = 0; c < 3; c++) b[c] = (double)q[i][c] - (double)sum[c];
        for (int e = s->touch_start[t]; e < s->touch_start[t + 1]; e++) {
            row_force(&s->row[s->touch_row[e] / 4], s->touch_row[e] % 4, false, x, f);
            fai_v3_sub(b, f, b);
        }
        fai_m3_mulv(s->block + 9 * (size_t)t, b, y);
        x[i] = (FaV4){(float)y[0], (float)y[1], (float)y[2], 0};
    }
}

void fai_sweeper_sweep(FaSweeper *s, int sweeps, const float *q, float *x) {
    Sweep sw = {s, (const FaV4 *)q, (FaV4 *)x, 0};
    for (int n = 0; n < sweeps; n++) {
        for (int c = 0; c < s->ncolor; c++) {
            sw.begin = s->color_start[c];
            fai_parallel(s->color_start[c + 1] - sw.begin, CHUNK, sweep_color, &sw);
        }
        sweep_touched(s, sw.q, sw.x);
    }
}

typedef struct Mul {
    const FaSweeper *s;
    const FaV4 *x;
    FaV4 *y;
} Mul;

static void mul_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Mul *m = ctx;
    for (int i = begin; i < end; i++) m->y[i] = m->s->diag[i] * m->x[i] + others(m->s, m->s->place[i], m->x);
}

void fai_sweeper_mul(const FaSweeper *s, const float *x, float *y) {
    Mul m = {s, (const FaV4 *)x, (FaV4 *)y};
    fai_parallel(s->n, 1024, mul_chunk, &m);
    for (int i = 0; i < s->nrow; i++)
        for (int j = 0; j < 4; j++) {
            if (s->row[i].node[j] < 0) continue;
            double f[3];
            row_force(&s->row[i], j, true, m.x, f);
            for (int c = 0; c < 3; c++) m.y[s->row[i].node[j]][c] += (float)f[c];
        }
}

void fai_sweeper_start(const FaSweeper *s, const float *q, float *x) {
    for (int i = 0; i < s->n; i++) ((FaV4 *)x)[i] = ((const FaV4 *)q)[i] / s->diag[i];
}
