// Energy and gradient of everything: inertia, anchors, edges, bending, membranes, tets, contact rows. Thesis 001
// eq. 3.12.
#include "base/task.h"
#include "energy/kernel.h"
#include "energy/push_pull.h"
#include "solve/solver.h"

enum { CHUNK = 1024 }; // nodes per task

typedef struct Inertia {
    const FaProjective *p;
    float inertia;
    const FaV4 *u, *y;
    FaV4 *g;
} Inertia;

// inertia/2 m |u - y|^2, and the gradient's first value
static void inertia_chunk(void *ctx, int begin, int end, int chunk) {
    const Inertia *c = ctx;
    double sum = 0;
    for (int i = begin; i < end; i++) {
        FaV4 d = c->u[i] - c->y[i];
        float w = c->inertia * c->p->mass[i];
        sum += (double)w * fai_v4_dot3(d, d);
        if (c->g) c->g[i] = w * d;
    }
    c->p->part[chunk] = 0.5 * sum;
}

double fai_total_energy(FaProjective *p, const FaProjectiveInput *in, const float *u, float *g, unsigned char *active) {
    const FaElastic *e = p->e;
    const FaElasticFrame *f = &in->frame;
    Inertia ctx = {p, (float)in->inertia, (const FaV4 *)u, (const FaV4 *)in->y, (FaV4 *)g};
    fai_parallel(e->nnode, CHUNK, inertia_chunk, &ctx);
    double total = 0;
    for (int c = 0; c < fai_chunks(e->nnode, CHUNK); c++) total += p->part[c];
    total += fai_anchors_eval(p->anchors, f->anchor, u, g);
    if (e->nedge) {
        total += fai_stretch_eval(p->edges, f->edge_rest, u, g);
        if (g) fai_stretch_gather(p->edges, g);
    }
    if (e->nbend) {
        total += fai_stretch_eval(p->bends, f->bend_rest, u, g);
        if (g) fai_stretch_gather(p->bends, g);
    }
    if (p->membranes) total += fai_membranes_eval(p->membranes, u, g);
    if (e->ntet && !p->rested) {
        FaSvdShares shares = {0};
        total += fai_tets_eval(p->tets, f, u, g, p->memo, p->tau0, p->tau1, &shares);
        if (g) fai_tets_gather(p->tets, g);
        if (p->report) {
            p->report->svd_reused += shares.reused;
            p->report->svd_taylor += shares.taylor;
            p->report->svd_full += shares.full;
        }
    }
    if (p->report) p->report->evaluations++;
    return total + fai_rows_eval(in->nrow, in->row, u, g, active);
}
