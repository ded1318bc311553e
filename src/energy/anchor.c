#include "energy/anchor.h"

#include "base/task.h"
#include "energy/incidence.h"
#include "energy/kernel.h"

enum { CHUNK = 1024 }; // anchored nodes per task

struct FaAnchors {
    FaArena *arena;
    int n;         // nodes with anchors
    int *node;     //                                         (n)
    int *start;    // anchors of each node                    (n + 1)
    int *index;    // which anchor: row of the targets
    float *weight; // of each anchor, in the order of index
    double *part;  // energy of each chunk
};

FaCode fai_anchors_new(const FaElastic *e, FaAnchors **anchors, FaError *err) {
    *anchors = NULL;
    FaAnchors *a = FA_NEW(1, FaAnchors);
    if (!a) return FA_FAIL_MEMORY(err);
    a->arena = fai_arena_new(0);
    FaCode rc = a->arena ? FA_OK : FA_FAIL_MEMORY(err);
    FaIncidence at = {0};
    if (rc >= 0) rc = fai_incidence_build(a->arena, e->nnode, e->nanchor, e->anchor_node, &at, err);
    for (int i = 0; rc >= 0 && i < e->nnode; i++) a->n += at.start[i + 1] > at.start[i];
    if (rc >= 0) {
        a->node = FA_PUSH(a->arena, a->n, int);
        a->start = FA_PUSH(a->arena, a->n + 1, int);
        a->weight = FA_PUSH(a->arena, e->nanchor, float);
        a->part = FA_PUSH(a->arena, fai_chunks(a->n, CHUNK), double);
        a->index = at.entry;
        if (!a->node || !a->start || !a->weight || !a->part) rc = FA_FAIL_MEMORY(err);
    }
    if (rc < 0) {
        fai_anchors_free(a);
        return rc;
    }
    for (int i = 0, k = 0; i < e->nnode; i++) {
        if (at.start[i + 1] == at.start[i]) continue;
        a->node[k++] = i;
        a->start[k] = at.start[i + 1];
    }
    for (int k = 0; k < e->nanchor; k++) a->weight[k] = (float)e->anchor_weight[a->index[k]];
    *anchors = a;
    return FA_OK;
}

void fai_anchors_free(FaAnchors *a) {
    if (!a) return;
    fai_arena_free(a->arena);
    fai_resize(a, 0);
}

typedef struct Eval {
    FaAnchors *a;
    const FaV4 *target, *u;
    FaV4 *g;
} Eval;

static void eval(void *ctx, int begin, int end, int chunk) {
    const Eval *ev = ctx;
    const FaAnchors *a = ev->a;
    double sum = 0;
    for (int i = begin; i < end; i++) {
        FaV4 u = ev->u[a->node[i]], g = {0};
        for (int k = a->start[i]; k < a->start[i + 1]; k++) {
            FaV4 d = u;
            if (ev->target) d -= ev->target[a->index[k]];
            sum += 0.5 * (double)a->weight[k] * fai_v4_dot3(d, d);
            g += a->weight[k] * d;
        }
        if (ev->g) ev->g[a->node[i]] += g;
    }
    a->part[chunk] = sum;
}

double fai_anchors_eval(FaAnchors *a, const float *target, const float *u, float *g) {
    Eval ev = {a, (const FaV4 *)target, (const FaV4 *)u, (FaV4 *)g};
    fai_parallel(a->n, CHUNK, eval, &ev);
    double total = 0;
    for (int c = 0; c < fai_chunks(a->n, CHUNK); c++) total += a->part[c];
    return total;
}

double fai_anchor_energy_ref(double w, const double u[3], const double target[3], double gradient[3]) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        double d = u[k] - (target ? target[k] : 0);
        sum += 0.5 * w * d * d;
        if (gradient) gradient[k] = w * d;
    }
    return sum;
}

void fai_anchor_triplets(const FaElastic *e, FaTriplet *t) {
    for (int i = 0; i < e->nanchor; i++) t[i] = (FaTriplet){e->anchor_node[i], e->anchor_node[i], e->anchor_weight[i]};
}
