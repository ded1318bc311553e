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

static float kept(double v, double least) { return v < least && v > -least ? 0 : (float)v; }

// The panels of a factored front: per panel the inverse of the triangle, then the rows below.
static void store_panels(const FaChol *c, const FaCholSuper *s, FaCholDense f) {
    size_t at = s->panel;
    int m = s->width + s->nrow;
    for (int k = 0; k < s->width; k += FA_CHOL_WIDTH) {
        int w = FA_MIN(FA_CHOL_WIDTH, s->width - k), wide = fai_even(w);
        double tri[FA_CHOL_WIDTH * FA_CHOL_WIDTH] = {0};
        fai_dense_invert_block(c->avx2, f, k, w, tri, wide);
        if (c->single)
            for (int i = 0; i < wide * wide; i++)
                c->panel_f[at++] = kept(tri[i], c->drop * fabs(tri[i / wide * (wide + 1)]));
        else
            for (int i = 0; i < wide * wide; i++) c->panel_d[at++] = tri[i];
        for (int i = k + w; i < m; i++) {
            const double *l = fai_dense_at(f, i, k);
            if (c->single)
                for (int j = 0; j < wide; j++)
                    c->panel_f[at++] = j < w ? kept(l[(size_t)j * f.col], c->drop / fabs(tri[j * (wide + 1)])) : 0;
            else
                for (int j = 0; j < wide; j++) c->panel_d[at++] = j < w ? l[(size_t)j * f.col] : 0;
        }
    }
}

// --- parts --------------------------------------------------------------------------------------------------------

typedef struct FactorJob {
    FaChol *c;
    const double *val;
    int first; // part
} FactorJob;

// Entries of the matrix, then the children's updates in order.
static void assemble(const FaChol *c, const FaCholSuper *s, const double *val, double *f) {
    const FaCholPlan *p = c->plan;
    size_t ld = fai_front_stride(s);
    memset(f, 0, ld * (size_t)(s->width + s->nrow) * sizeof *f);
    for (int e = s->entry_begin; e < s->entry_end; e++) f[p->entry[e].to] = val[p->entry[e].from];
    for (int q = s->child_begin; q < s->child_end; q++) {
        const FaCholSuper *child = &p->super[p->child[q]];
        const double *u = c->dense + p->part[child->part].stack + child->update;
        const int *place = p->place + child->row;
        for (int j = 0; j < child->nrow; j++, u += child->nrow) {
            double *to = f + (size_t)place[j] * ld;
            for (int i = j; i < child->nrow; i++) to[place[i]] += u[i];
        }
    }
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
