// The optimisation on a face: its shapes as displacements of the skin's nodes, the body that control moves, what it is
// worth.
#include "base/task.h"
#include "build/equilibrium.h"
#include "build/equilibrium_fit.h"
#include "build/skin_body.h"
#include "mesh/mesh.h"
#include "solve/projective.h"

#include <math.h>

static const float MOVED = 1e-5f; // m: a node counts as moved by a shape
static const double STILL = 1e-3; // 1/s2: no inertia to speak of beside springs of 10 Hz (4,000)
enum { STATIC_ITERATIONS = 40 };

// --- distances --------------------------------------------------------------------------------------

static float length(const float *v) { return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

static double mean_motion(int n, const float *b) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++)
        if (length(b + 3 * (size_t)i) > MOVED) sum += (double)length(b + 3 * (size_t)i), count++;
    return count ? sum / count : 0;
}

static double mean_distance(int n, const float *b, const float *u) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++) {
        const float *x = b + 3 * (size_t)i, *y = u + 4 * (size_t)i;
        if (!(length(x) > MOVED)) continue;
        sum += (double)length((float[3]){x[0] - y[0], x[1] - y[1], x[2] - y[2]});
        count++;
    }
    return count ? sum / count : 0;
}

// A force is an anchor's target moved: w (a - u) = K b - w u.
static void pose(const FaElastic *e, const float *b, const double *force, float *anchor, float *u) {
    for (int i = 0; i < e->nnode; i++)
        for (size_t k = 0; k < 3; k++) u[4 * (size_t)i + k] = b[3 * (size_t)i + k];
    for (int i = 0; i < e->nanchor; i++) {
        int n = e->anchor_node[i];
        for (size_t k = 0; k < 3; k++)
            anchor[4 * (size_t)i + k] = (float)(force[n] / e->anchor_weight[i] * (double)b[3 * (size_t)n + k]);
    }
}

FaCode fai_equilibrium_distance(const FaElastic *e, int nshape, const float *b, const double *force, double *distance,
                                FaError *err) {
    FaProjective *p = NULL;
    FaProjectiveReport *report = FA_NEW(1, FaProjectiveReport);
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena && report ? fai_projective_new(e, &(FaProjectiveOptions){.inertia = STILL}, &p, err)
                                : FA_FAIL_MEMORY(err);
    float *anchor = arena ? FA_PUSH(arena, 4 * (size_t)e->nanchor, float) : NULL;
    float *u = arena ? FA_PUSH(arena, 4 * (size_t)e->nnode, float) : NULL;
    float *y = arena ? FA_PUSH(arena, 4 * (size_t)e->nnode, float) : NULL;
    if (rc >= 0 && (!anchor || !u || !y)) rc = FA_FAIL_MEMORY(err);
    for (int j = 0; rc >= 0 && j < nshape; j++) {
        const float *bj = b + 3 * (size_t)e->nnode * (size_t)j;
        pose(e, bj, force, anchor, u);
        const FaProjectiveInput in = {
            .y = y, .inertia = STILL, .frame = {.anchor = anchor}, .iterations = STATIC_ITERATIONS, .tolerance = 1e-4};
        rc = fai_projective_solve(p, &in, u, report, err);
        distance[j] = mean_distance(e->nnode, bj, u);
    }
    fai_projective_free(p);
    fai_arena_free(arena);
    fa_free(report);
    return rc < 0 ? rc : FA_OK;
}

// --- the face's weights -----------------------------------------------------------------------------

FaCode fai_equilibrium_apply(const FaFace *f, FaElastic *e, FaError *err) {
    if (!f->stiff_edge) return FA_OK;
    FaMesh mesh = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    FaTopology topo = {0};
    FA_TRY(fai_topology_build(&mesh, &topo, err));
    FaCode rc = FA_OK;
    if (topo.nedge != f->stiff_edges)
        rc = FA_FAIL(err, FA_E_FORMAT, "stiffness", "build the face again with --equilibrium",
                     "it is of %d edges, the skin has %d", f->stiff_edges, topo.nedge);
    for (int i = 0, t = 0; rc >= 0 && i < e->nedge; i++, t++) {
        while (t < topo.nedge && (topo.edge[t][0] != e->edge[i][0] || topo.edge[t][1] != e->edge[i][1])) t++;
        FA_ASSERT(t < topo.nedge);
        e->edge_weight[i] *= (double)f->stiff_edge[t];
        if (e->edge_weight2) e->edge_weight2[i] *= (double)f->stiff_edge[t];
    }
    for (int i = 0; rc >= 0 && i < e->nanchor; i++) e->anchor_weight[i] *= (double)f->stiff_anchor[e->anchor_node[i]];
    for (int b = 0; rc >= 0 && b < e->nbend; b++)
        e->bend_weight[b] *= (double)f->stiff_bend[e->bend_node[e->bend_start[b]]];
    fai_topology_free(&topo);
    return rc;
}

// Weights by terms into the face, 1 where there is no term.
static FaCode keep(FaFace *f, const FaElastic *e, const double *w, FaError *err) {
    FaMesh mesh = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    FaTopology topo = {0};
    const int edges = f->stiff_edges;
    FA_TRY(fai_topology_build(&mesh, &topo, err));
    f->stiff_edges = topo.nedge;
    FaCode rc = fai_face_allocate(f, FA_NEED_EQUILIBRIUM, err);
    if (rc < 0) f->stiff_edges = edges; // of what was there before
    for (int i = 0; rc >= 0 && i < f->nskin; i++) f->stiff_anchor[i] = f->stiff_bend[i] = 1;
    for (int i = 0; rc >= 0 && i < topo.nedge; i++) f->stiff_edge[i] = 1;
    for (int i = 0; rc >= 0 && i < e->nanchor; i++) f->stiff_anchor[e->anchor_node[i]] = (float)w[i];
    for (int i = 0, t = 0; rc >= 0 && i < e->nedge; i++, t++) {
        while (t < topo.nedge && (topo.edge[t][0] != e->edge[i][0] || topo.edge[t][1] != e->edge[i][1])) t++;
        FA_ASSERT(t < topo.nedge);
        f->stiff_edge[t] = (float)w[e->nanchor + i];
    }
    for (int b = 0; rc >= 0 && b < e->nbend; b++)
        f->stiff_bend[e->bend_node[e->bend_start[b]]] = (float)w[e->nanchor + e->nedge + b];
    fai_topology_free(&topo);
    return rc;
}

// --- optimise ---------------------------------------------------------------------------------------

typedef struct Work {
    const FaRig *rig;
    FaFace *face;
    const FaEquilibriumOptions *options;
    FaEquilibriumReport *report;
    FaElastic e;
    FaArena *arena;
    int nshape;
    int *shape;          // of the rig, those that move the skin                        (nshape)
    float *b;            // m                                                           (nshape x nskin x 3)
    double *force;       // K, N/m                                                      (nskin)
    double *w;           // by terms
    double *distance[3]; // before, uniform, after                                      (nshape)
    double *left[2];     // before, after                                               (nshape)
} Work;

static FaCode gather_shapes(Work *k, FaError *err) {
    const FaFace *f = k->face;
    const FaRig *rig = k->rig;
    size_t n = 3 * (size_t)f->nskin;
    k->shape = FA_PUSH(k->arena, rig->nshape, int);
    k->b = FA_PUSH(k->arena, n * (size_t)rig->nshape, float);
    if (!k->shape || !k->b) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < rig->nshape; s++) {
        float *b = k->b + n * (size_t)k->nshape;
        bool moves = false;
        memset(b, 0, n * sizeof *b);
        for (int i = rig->shape[s].first; i < rig->shape[s].first + rig->shape[s].count; i++) {
            int node = f->node_of_vertex[rig->row[i]];
            if (node < 0 || f->skin_vertex[node] != rig->row[i])
                continue; // of copies at a seam the one that stands for them
            memcpy(b + 3 * (size_t)node, rig->delta + 3 * (size_t)i, 3 * sizeof *b);
            moves |= length(b + 3 * (size_t)node) > MOVED;
        }
        if (moves) k->shape[k->nshape++] = s;
    }
    if (k->nshape == 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the rig that the face was built from", "no shape moves the skin");
    return FA_OK;
}

static void scale_body(FaElastic *e, const double *w) {
    for (int i = 0; i < e->nanchor; i++) e->anchor_weight[i] *= *w++;
    for (int i = 0; i < e->nedge; i++, w++) {
        e->edge_weight[i] *= *w;
        if (e->edge_weight2) e->edge_weight2[i] *= *w;
    }
    for (int i = 0; i < e->nbend; i++) e->bend_weight[i] *= *w++;
}

// Distances of a body with these relative weights; their mean.
static FaCode measure(Work *k, const double *w, double *distance, double *mean, FaError *err) {
    FaElastic e;
    FA_TRY(fai_skin_body(k->face, NULL, &e, err));
    scale_body(&e, w);
    FaCode rc = fai_equilibrium_distance(&e, k->nshape, k->b, k->force, distance, err);
    fai_arena_free(e.arena);
    *mean = 0;
    for (int j = 0; rc >= 0 && j < k->nshape; j++) *mean += distance[j] / k->nshape;
    return rc;
}

// Means of w by kind, weighted by the usual stiffness.
static void set_means(Work *k, const double *w) {
    const FaElastic *e = &k->e;
    const double *weight[] = {e->anchor_weight, e->edge_weight, e->bend_weight};
    const int count[] = {e->nanchor, e->nedge, e->nbend};
    for (int q = 0; q < 3; q++) {
        double sum = 0, all = 0;
        for (int i = 0; i < count[q]; i++) {
            sum += weight[q][i] * *w++;
            all += weight[q][i];
        }
        k->report->mean[q] = all > 0 ? sum / all : 1;
    }
}

static FaCode go_on(const Work *k, const char *what, double done, FaError *err) {
    return fai_progress(k->options->progress, k->options->progress_user, what, done, "the face is as it was", err);
}

// What is minimised is one Newton step's view of the distances: where the weights found are no better than the usual
// ones when measured, half of the way (in logarithms) is tried, and then none of it.
static FaCode measure_all(Work *k, FaError *err) {
    int n = k->report->nterm;
    double *w = FA_PUSH(k->arena, n, double), mean[3];
    const int last[] = {k->e.nanchor, k->e.nanchor + k->e.nedge, n};
    if (!w) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < n; i++) w[i] = 1;
    FA_TRY(measure(k, w, k->distance[0], &mean[0], err));
    FA_TRY(go_on(k, "distances", 0.33, err));
    for (int half = 0; half < 3; half++) {
        k->report->share = 1 - 0.5 * half;
        for (int i = 0; half && i < n; i++) k->w[i] = half == 1 ? (double)(float)sqrt(k->w[i]) : 1;
        FA_TRY(measure(k, k->w, k->distance[2], &mean[2], err));
        FA_TRY(go_on(k, "distances", 0.67, err));
        if (mean[2] <= mean[0] || k->options->literal) break;
    }
    set_means(k, k->w);
    for (int i = 0, q = 0; i < n; i++) {
        while (i >= last[q]) q++;
        w[i] = k->report->mean[q];
    }
    return measure(k, w, k->distance[1], &mean[1], err);
}

static FaCode fill_report(Work *k, FaError *err) {
    FaEquilibriumReport *r = k->report;
    if (!(r->shape = FA_NEW(k->nshape, FaEquilibriumShape))) return FA_FAIL_MEMORY(err);
    r->nshape = k->nshape;
    r->nnode = k->e.nnode;
    for (int j = 0; j < k->nshape; j++) {
        r->shape[j] =
            (FaEquilibriumShape){.name = k->rig->shape[k->shape[j]].name,
                                 .size_mm = 1e3 * mean_motion(k->e.nnode, k->b + 3 * (size_t)k->e.nnode * (size_t)j),
                                 .before_mm = 1e3 * k->distance[0][j],
                                 .uniform_mm = 1e3 * k->distance[1][j],
                                 .after_mm = 1e3 * k->distance[2][j],
                                 .force_before = k->left[0][j],
                                 .force_after = k->left[1][j]};
        r->before_mm += r->shape[j].before_mm / k->nshape;
        r->uniform_mm += r->shape[j].uniform_mm / k->nshape;
        r->after_mm += r->shape[j].after_mm / k->nshape;
    }
    return FA_OK;
}

// The thesis's way: forces.
static FaCode solve_literal(Work *k, FaError *err) {
    FaEquilibrium *q;
    FaEquilibriumReport *r = k->report;
    FA_TRY(fai_equilibrium_new(&k->e, k->nshape, k->b, k->force, k->options, &q, err));
    fai_equilibrium_left(q, k->w, k->left[0]);
    FaCode rc = fai_equilibrium_minimise(q, k->w, r->energy, &r->iterations, err);
    r->evaluations = r->iterations;
    fai_equilibrium_left(q, k->w, k->left[1]);
    for (int i = 0; i < r->nterm; i++) r->held += k->w[i] <= fai_equilibrium_floor(q, i) * 1.05;
    fai_equilibrium_free(q);
    return rc;
}

static FaCode solve_distances(Work *k, FaError *err) {
    FaStiffFit *fit;
    FaStiffFitReport done = {0};
    FaEquilibriumReport *r = k->report;
    FA_TRY(fai_stiff_fit_new(&k->e, k->nshape, k->b, k->force, k->options, 0, &fit, err));
    FaCode rc = fai_stiff_fit_minimise(fit, k->w, r->energy, &done, err);
    r->iterations = done.iterations;
    r->evaluations = done.evaluations;
    for (int i = 0; i < r->nterm; i++) {
        double least = fai_stiff_fit_least(fit, i);
        r->held += least < 1 && (k->w[i] <= least * 1.05 || k->w[i] >= 1 / (least * 1.05));
    }
    fai_stiff_fit_free(fit);
    return rc;
}

static FaCode solve(Work *k, double t0, FaError *err) {
    FaEquilibriumReport *r = k->report;
    int n = r->nterm = k->e.nanchor + k->e.nedge + k->e.nbend;
    k->w = FA_PUSH(k->arena, n, double);
    bool ok = k->w;
    for (int i = 0; i < 3; i++) ok &= (k->distance[i] = FA_PUSH(k->arena, k->nshape, double)) != NULL;
    for (int i = 0; i < 2; i++) ok &= (k->left[i] = FA_PUSH(k->arena, k->nshape, double)) != NULL;
    if (!ok) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < n; i++) k->w[i] = 1;
    FA_TRY(k->options->literal ? solve_literal(k, err) : solve_distances(k, err));
    for (int i = 0; i < n; i++) k->w[i] = (double)(float)k->w[i]; // what is kept is what is measured
    double t1 = fai_seconds();
    r->seconds = t1 - t0;
    r->share = 1;
    set_means(k, k->w);
    if (!k->options->no_distances) FA_TRY(measure_all(k, err));
    r->seconds_distances = fai_seconds() - t1;
    FA_TRY(fill_report(k, err));
    FA_TRY(keep(k->face, &k->e, k->w, err));
    k->face->stiff_made = (FaStiffMade){.nshape = r->nshape,
                                        .iterations = r->iterations,
                                        .before = (float)r->before_mm,
                                        .uniform = (float)r->uniform_mm,
                                        .after = (float)r->after_mm};
    for (int q = 0; q < 3; q++) k->face->stiff_made.mean[q] = (float)r->mean[q];
    return FA_OK;
}

static bool is_floor(double v) { return v == 0 || (v >= 0.01 && v <= 1); }

static FaCode check_options(const FaEquilibriumOptions *o, FaError *err) {
    if (!is_floor(o->floor) || !is_floor(o->anchor_floor) || !(o->prior >= 0 && o->prior <= 1e6) || o->iterations < 0 ||
        o->iterations > FA_EQUILIBRIUM_LOG)
        return FA_FAIL(err, FA_E_ARG, NULL, "floors 0.01..1, prior 0 or more, iterations 0..64",
                       "floor %g (anchors %g), prior %g, %d iterations", o->floor, o->anchor_floor, o->prior,
                       o->iterations);
    return FA_OK;
}

FaCode fai_equilibrium_optimise(const FaRig *rig, FaFace *face, const FaEquilibriumOptions *options,
                                FaEquilibriumReport *report, FaError *err) {
    static const FaEquilibriumOptions defaults = {0};
    FaEquilibriumReport unseen = {0};
    Work k = {.rig = rig, .face = face, .options = options ? options : &defaults, .report = report ? report : &unseen};
    double t0 = fai_seconds();
    *k.report = (FaEquilibriumReport){0};
    FA_TRY(check_options(k.options, err));
    if (rig->mesh.nvert != face->nvert)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the rig that the face was built from",
                       "the face was built for %d vertices, not %d", face->nvert, rig->mesh.nvert);
    k.arena = fai_arena_new(0);
    FaCode rc = k.arena ? gather_shapes(&k, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_skin_body(face, NULL, &k.e, err);
    if (rc >= 0) {
        k.force = FA_PUSH(k.arena, k.e.nnode, double);
        if (!k.force) rc = FA_FAIL_MEMORY(err);
    }
    for (int i = 0; rc >= 0 && i < k.e.nanchor; i++) k.force[k.e.anchor_node[i]] += k.e.anchor_weight[i];
    if (rc >= 0) rc = solve(&k, t0, err);
    fai_arena_free(k.e.arena);
    fai_arena_free(k.arena);
    if (rc < 0 || !report) fa_equilibrium_report_free(k.report);
    return rc;
}

FaCode fa_face_equilibrium(FaFace *face, const FaRig *rig, const FaEquilibriumOptions *options,
                           FaEquilibriumReport *report, FaError *err) {
    if (report) *report = (FaEquilibriumReport){0};
    FA_TRY(fa_face_fits(face, rig, err));
    return fai_equilibrium_optimise(rig, face, options, report, err);
}

void fa_equilibrium_report_free(FaEquilibriumReport *report) {
    fa_free(report->shape);
    *report = (FaEquilibriumReport){0};
}
