// A sixth method, as somebody outside of the library would write it: this file, and one line that adds it
// (test_method_contract.c). Every vertex follows the rig's surface as a first-order lag: x' = (rig - x) / tau, exactly
// for surfaces that move linearly between two inputs.
#include "method/method.h"
#include "test_toy_method.h"

#include <math.h>

#define TOY_PARAMS(X) X(NUMBER, lag, 0.05, 0.001, 10, "s", NULL, "how late the surface is, in seconds")

FAI_PARAMS(toy_params, TOY_PARAMS);

typedef struct Toy {
    FaMethod m;
    FaBlender *blender;
    double lag;
    int n;
    float *weights; // as given, those that are no numbers replaced        (nshape)
    float *now;     // the rig's surface                                   (n)
    // the state
    float *last; // the rig's surface at the last input                   (n)
    float *x;    //                                                       (n)
} Toy;

static FaCode toy_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    Toy *t = (Toy *)m;
    t->lag = fai_params_at(setup->params, P_lag);
    t->n = 3 * m->rig->mesh.nvert;
    t->weights = FA_NEW(m->rig->nshape, float);
    t->now = FA_NEW(3 * (size_t)t->n, float);
    if (!t->weights || !t->now) return FA_FAIL_MEMORY(err);
    t->last = t->now + t->n;
    t->x = t->last + t->n;
    return fa_blender_new(m->rig, &t->blender, err);
}

static void aim(Toy *t, const FaInput *in, FaStats *stats) {
    for (int s = 0; s < t->m.rig->nshape; s++) {
        bool good = isfinite(in->weights[s]);
        if (good) t->weights[s] = in->weights[s];
        if (!good && stats) stats->clamped++;
    }
    fa_blender_eval(t->blender, t->weights, t->now);
}

static FaCode toy_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    Toy *t = (Toy *)m;
    (void)err;
    memset(t->weights, 0, (size_t)m->rig->nshape * sizeof(float));
    aim(t, in, NULL);
    memcpy(t->last, t->now, (size_t)t->n * sizeof(float));
    memcpy(t->x, t->now, (size_t)t->n * sizeof(float));
    memcpy(surface, t->x, (size_t)t->n * sizeof(float));
    return FA_OK;
}

static FaCode toy_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    Toy *t = (Toy *)m;
    (void)err;
    aim(t, in, stats);
    double h = in->time - m->time, keep = exp(-h / t->lag), slope = t->lag / h * (1 - keep);
    for (int i = 0; i < t->n; i++) {
        double from = (double)t->last[i], to = (double)t->now[i];
        t->x[i] = (float)(to + keep * ((double)t->x[i] - from) - slope * (to - from));
    }
    memcpy(t->last, t->now, (size_t)t->n * sizeof(float));
    memcpy(surface, t->x, (size_t)t->n * sizeof(float));
    return FA_OK;
}

static void toy_state(FaMethod *m, FaStream *s) {
    Toy *t = (Toy *)m;
    fai_stream(s, t->weights, (size_t)m->rig->nshape * sizeof(float));
    fai_stream(s, t->last, (size_t)t->n * sizeof(float));
    fai_stream(s, t->x, (size_t)t->n * sizeof(float));
}

static void toy_close(FaMethod *m) {
    Toy *t = (Toy *)m;
    fa_blender_free(t->blender);
    fa_free(t->weights);
    fa_free(t->now);
}

const FaMethodOps toy_method = {
    .name = "toy",
    .help = "the rig's surface, a little late",
    .params = toy_params,
    .size = sizeof(Toy),
    .open = toy_open,
    .reset = toy_reset,
    .step = toy_step,
    .state = toy_state,
    .close = toy_close,
};
