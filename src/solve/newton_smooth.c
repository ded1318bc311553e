// Rows in the preconditioner.
//
// The kept factor knows nothing of rows: where skin lies on skin or bone it takes as soft what is stiff, and conjugate
// gradients need some twenty iterations to find out. So nodes of rows are relaxed before and after it,
//
//     z = S r;   z += M^-1 (r - A z);   z += S' (r - A z)
//
// with S a sweep of Gauss and Seidel over those nodes, rows and blocks, and S' the same the other way round. All of it
// is symmetric, and positive definite as M and the nodes' own blocks are: its first and last part together are
// S + S' - S' A S, that of one symmetric sweep, and between them stands (1 - S' A) M^-1 (1 - A S).
//
// One thread: there are some hundred nodes, and a sweep needs the ones before.
#include "solve/newton_work.h"

#include <math.h>

// f = second derivatives of a row times s.
static void row_force(const FaRow *row, const FaRowAct *act, const float s[3], float f[3]) {
    const float k = act->share * row->stiffness;
    const float along = row->normal[0] * s[0] + row->normal[1] * s[1] + row->normal[2] * s[2];
    for (int a = 0; a < 3; a++) f[a] = row->kind == FA_ROW_PUSH ? k * along * row->normal[a] : k * s[a];
    if (!(act->across > 0)) return;
    const float on = act->way[0] * s[0] + act->way[1] * s[1] + act->way[2] * s[2];
    for (int a = 0; a < 3; a++)
        f[a] += act->across * (s[a] - along * row->normal[a]) + (act->along - act->across) * on * act->way[a];
}

static void add_row(const FaRow *row, const FaRowAct *act, double weight, double m[9]) {
    for (int b = 0; b < 3; b++) {
        const float s[3] = {b == 0, b == 1, b == 2};
        float f[3];
        row_force(row, act, s, f);
        for (int a = 0; a < 3; a++) m[3 * a + b] += weight * weight * (double)f[a];
    }
}

// False: it is not positive definite.
static bool invert(const double m[9], float out[9]) {
    const double a = m[0], b = 0.5 * (m[1] + m[3]), c = 0.5 * (m[2] + m[6]), d = m[4], e = 0.5 * (m[5] + m[7]),
                 f = m[8];
    const double c0 = d * f - e * e, c1 = c * e - b * f, c2 = b * e - c * d, det = a * c0 + b * c1 + c * c2;
    if (!(a > 0 && a * d - b * b > 0 && det > 0 && isfinite(1 / det))) return false;
    const double all[9] = {c0, c1, c2, c1, a * f - c * c, b * c - a * e, c2, b * c - a * e, a * d - b * b};
    for (int k = 0; k < 9; k++) out[k] = (float)(all[k] / det);
    return true;
}

FaCode fai_newton_smooth_new(FaNewton *n, int sweeps, FaError *err) {
    FaNewtonSmooth *s = &n->smooth;
    const size_t nodes = (size_t)n->nfree + 1, rows = (size_t)FA_MAX(n->options.max_rows, 1);
    s->sweeps = sweeps;
    if (sweeps == 0) return FA_OK;
    bool ok = (s->node = FA_PUSH(n->arena, nodes, int)) && (s->at = FA_PUSH(n->arena, nodes, int)) &&
              (s->start = FA_PUSH(n->arena, nodes, int)) && (s->fill = FA_PUSH(n->arena, nodes, int)) &&
              (s->row = FA_PUSH(n->arena, rows, int)) && (s->of = FA_PUSH(n->arena, 4 * rows, int)) &&
              (s->inverse = FA_PUSH(n->arena, 9 * nodes, float)) && (s->gap = FA_PUSH(n->arena, 3 * rows, float)) &&
              (s->y = fai_field_new(&n->shape, n->arena));
    return ok ? FA_OK : FA_FAIL_MEMORY(err);
}

// And their neighbours, which have no rows.
static void add_ring(FaNewton *n) {
    FaNewtonSmooth *s = &n->smooth;
    const FaBlocks *b = n->blocks;
    const int inner = s->nnode;
    for (int i = 0; i < inner; i++) s->fill[s->node[i]] = -1;
    for (int i = 0; i < inner; i++)
        for (int k = b->start[s->node[i]]; k < b->start[s->node[i] + 1]; k++) {
            const int v = b->col[k];
            if (s->at[v] > 0 || s->fill[v] < 0) continue;
            s->fill[v] = -1, s->node[s->nnode++] = v;
        }
    for (int i = 0; i < s->nnode; i++) s->fill[s->node[i]] = 0;
}

// Nodes of the rows that act, and how many rows each has.
static void find_nodes(FaNewton *n) {
    FaNewtonSmooth *s = &n->smooth;
    memset(s->at, 0, (size_t)n->nfree * sizeof *s->at);
    s->nnode = s->nrow = 0;
    for (int i = 0; i < n->in->nrow; i++) {
        const FaRow *row = &n->in->row[i];
        if (!(n->active[i].share > 0 || n->active[i].across > 0)) continue;
        s->row[s->nrow++] = i;
        for (int j = 0; j < 4; j++) {
            const int r = row->node[j] >= 0 && row->weight[j] != 0 ? n->blocks->row[row->node[j]] : -1;
            if (r >= 0 && s->at[r]++ == 0) s->node[s->nnode++] = r;
        }
    }
    add_ring(n);
    int at = 0;
    for (int i = 0; i < s->nnode; i++) {
        s->start[i] = at, at += s->at[s->node[i]];
        s->at[s->node[i]] = i;
    }
    s->start[s->nnode] = at;
}

static void list_rows(FaNewton *n) {
    FaNewtonSmooth *s = &n->smooth;
    memset(s->fill, 0, (size_t)s->nnode * sizeof *s->fill);
    for (int k = 0; k < s->nrow; k++) {
        const FaRow *row = &n->in->row[s->row[k]];
        for (int j = 0; j < 4; j++) {
            const int r = row->node[j] >= 0 && row->weight[j] != 0 ? n->blocks->row[row->node[j]] : -1;
            if (r < 0) continue;
            const int i = s->at[r];
            s->of[s->start[i] + s->fill[i]++] = 4 * k + j;
        }
    }
}

bool fai_newton_smooth_begin(FaNewton *n) {
    FaNewtonSmooth *s = &n->smooth;
    if (s->sweeps == 0) return false;
    find_nodes(n);
    list_rows(n);
    for (int i = 0; i < s->nnode; i++) {
        const float *block = n->blocks->val + 9 * (size_t)n->blocks->diagonal[s->node[i]];
        double m[9];
        for (int k = 0; k < 9; k++) m[k] = (double)block[k];
        for (int k = s->start[i]; k < s->start[i + 1]; k++) {
            const int at = s->row[s->of[k] / 4];
            const FaRow *row = &n->in->row[at];
            add_row(row, &n->active[at], (double)row->weight[s->of[k] % 4], m);
        }
        if (!invert(m, s->inverse + 9 * (size_t)i)) memset(s->inverse + 9 * (size_t)i, 0, 9 * sizeof(float));
    }
    return s->nnode > 0;
}

// What rows give by, at z.
static void find_gaps(FaNewton *n, const float *z) {
    FaNewtonSmooth *s = &n->smooth;
    for (int k = 0; k < s->nrow; k++) {
        const FaRow *row = &n->in->row[s->row[k]];
        float *to = s->gap + 3 * (size_t)k;
        to[0] = to[1] = to[2] = 0;
        for (int j = 0; j < 4; j++) {
            const int r = row->node[j] >= 0 ? n->blocks->row[row->node[j]] : -1;
            for (int a = 0; r >= 0 && a < 3; a++) to[a] += row->weight[j] * z[4 * (size_t)r + (size_t)a];
        }
    }
}

// One node: what is left of r there, taken away.
static void relax(FaNewton *n, int i, const float *r, float *z) {
    FaNewtonSmooth *s = &n->smooth;
    const FaBlocks *b = n->blocks;
    const int v = s->node[i];
    float left[3], d[3], f[3];
    for (int a = 0; a < 3; a++) left[a] = r[4 * (size_t)v + (size_t)a];
    for (int k = b->start[v]; k < b->start[v + 1]; k++) {
        const float *m = b->val + 9 * (size_t)k, *at = z + 4 * (size_t)b->col[k];
        for (int a = 0; a < 3; a++) left[a] -= m[a] * at[0] + m[3 + a] * at[1] + m[6 + a] * at[2];
    }
    for (int k = s->start[i]; k < s->start[i + 1]; k++) {
        const int which = s->of[k] / 4, at = s->row[which];
        const float w = n->in->row[at].weight[s->of[k] % 4];
        row_force(&n->in->row[at], &n->active[at], s->gap + 3 * (size_t)which, f);
        for (int a = 0; a < 3; a++) left[a] -= w * f[a];
    }
    const float *inverse = s->inverse + 9 * (size_t)i;
    for (int a = 0; a < 3; a++)
        d[a] = inverse[3 * a] * left[0] + inverse[3 * a + 1] * left[1] + inverse[3 * a + 2] * left[2];
    for (int a = 0; a < 3; a++) z[4 * (size_t)v + (size_t)a] += d[a];
    for (int k = s->start[i]; k < s->start[i + 1]; k++) {
        const int which = s->of[k] / 4;
        const float w = n->in->row[s->row[which]].weight[s->of[k] % 4];
        for (int a = 0; a < 3; a++) s->gap[3 * (size_t)which + (size_t)a] += w * d[a];
    }
}

void fai_newton_smoothed(FaNewton *n, const float *r, float *z) {
    FaNewtonSmooth *s = &n->smooth;
    const size_t bytes = n->shape.n * sizeof(float);
    memset(z, 0, bytes);
    memset(s->gap, 0, 3 * (size_t)s->nrow * sizeof *s->gap);
    for (int sweep = 0; sweep < s->sweeps; sweep++)
        for (int i = 0; i < s->nnode; i++) relax(n, i, r, z);
    fai_newton_mul(n, z, s->y);
    fai_field_sum(&n->shape, 1, r, 1, (double[]){-1}, (const float *const[]){s->y}, s->y);
    fai_newton_kept(n, s->y, s->y);
    fai_field_sum(&n->shape, 1, z, 1, (double[]){1}, (const float *const[]){s->y}, z);
    find_gaps(n, z);
    for (int sweep = 0; sweep < s->sweeps; sweep++)
        for (int i = s->nnode - 1; i >= 0; i--) relax(n, i, r, z);
}
