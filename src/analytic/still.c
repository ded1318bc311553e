// Stills under maps and sculpting forces: the sliders of slider.c where the spring differs from shape to shape or from
// vertex to vertex, and what forces have done by a moment.
//
// Based on: [A03] You, Tian, Tang: eqs. (12), (17), (23) per target; section 5: sculpting forces, different mass,
// damping and stiffness at different vertices.
#include "analytic/handle.h"
#include "analytic/sculpt.h"

#include <math.h>

typedef struct Work {
    const FaRig *rig;
    const FaOscillator *o;
    const FaStill *still;
    const FaOscillator *shape, *vertex; // of the maps; nullable
    float *x;
} Work;

static const FaOscillator *of_shape(const Work *w, int s) { return w->shape ? &w->shape[s] : w->o; }

static FaCode add_weights(const Work *w, const FaSculpts *sculpts, float *weights, FaError *err) {
    const FaStill *s = w->still;
    memset(weights, 0, (size_t)w->rig->nshape * sizeof *weights);
    for (int i = 0; i < s->n; i++) {
        double share;
        FA_TRY(fa_analytic_response(of_shape(w, s->shape[i]), s->moment[i], &share, err));
        weights[s->shape[i]] += (float)(s->weight[i] * share);
    }
    for (int i = 0; i < sculpts->count; i++) {
        const FaSculpt *p = &sculpts->sculpt[i];
        weights[p->shape] += (float)fa_analytic_force(of_shape(w, p->shape), &p->force, s->time);
    }
    return FA_OK;
}

static void add_entry(const Work *w, int e, double share) {
    for (int k = 0; k < 3; k++) w->x[3 * w->rig->row[e] + k] += (float)(share * (double)w->rig->delta[3 * e + k]);
}

// A target by springs of the vertices. Neighbours often have the same one.
static FaCode add_target(const Work *w, int i, FaError *err) {
    const FaShape *shape = &w->rig->shape[w->still->shape[i]];
    const FaOscillator *last = NULL;
    double share = 0;
    for (int e = shape->first; e < shape->first + shape->count; e++) {
        const FaOscillator *o = &w->vertex[w->rig->row[e]];
        if (!last || memcmp(o, last, sizeof *o)) {
            FaCode rc = fa_analytic_response(o, w->still->moment[i], &share, err);
            if (rc < 0 && err) snprintf(err->place, sizeof err->place, "vertex %d", w->rig->row[e]);
            FA_TRY(rc);
        }
        last = o;
        add_entry(w, e, w->still->weight[i] * share);
    }
    return FA_OK;
}

static void add_sculpt(const Work *w, const FaSculpt *p) {
    const FaShape *shape = &w->rig->shape[p->shape];
    for (int e = shape->first; e < shape->first + shape->count; e++)
        add_entry(w, e, fa_analytic_force(&w->vertex[w->rig->row[e]], &p->force, w->still->time));
}

static FaCode pose(const Work *w, const FaSculpts *sculpts, const float *weights, FaError *err) {
    if (!w->vertex) {
        fa_rig_blend(w->rig, weights, w->x);
        return FA_OK;
    }
    memcpy(w->x, w->rig->mesh.x, 3 * (size_t)w->rig->mesh.nvert * sizeof *w->x);
    for (int i = 0; i < w->still->n; i++) FA_TRY(add_target(w, i, err));
    for (int i = 0; i < sculpts->count; i++) add_sculpt(w, &sculpts->sculpt[i]);
    return FA_OK;
}

FaCode fa_analytic_still(const FaRig *rig, const FaOscillator *o, const FaStill *still, float *weights, float *x,
                         FaError *err) {
    const FaMaps *maps = still->maps;
    Work w = {rig, o, still, maps ? maps->shape : NULL, maps ? maps->vertex : NULL, x};
    FaSculpts sculpts = {0};
    FaHandles handles = {0};
    for (int i = 0; i < still->n; i++)
        if (still->shape[i] < 0 || still->shape[i] >= rig->nshape)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("target %d", i), NULL, "the rig has no shape %d", still->shape[i]);
    if (!(still->time >= 0) || !isfinite(still->time))
        return FA_FAIL(err, FA_E_ARG, NULL, "0 is the source, 1 the target", "the time is below 0 or not a number");
    FaCode rc = fai_sculpts_parse(still->sculpt ? still->sculpt : "", rig, &sculpts, err);
    if (rc >= 0 && maps) rc = fai_handles_new(rig, maps, &handles, err);
    if (rc >= 0) rc = add_weights(&w, &sculpts, weights, err);
    if (rc >= 0) rc = pose(&w, &sculpts, weights, err);
    if (rc >= 0) fai_handles_push(&handles, o, w.vertex, still->time, x);
    fai_handles_free(&handles);
    fai_sculpts_free(&sculpts);
    return rc;
}
