// The trivial method: the rig as it is. It has no state, and shows the least that a method must do.
#include "method/method.h"

typedef struct Linear {
    FaMethod m;
    FaBlender *blender;
} Linear;

static FaCode linear_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    (void)setup;
    return fa_blender_new(m->rig, &((Linear *)m)->blender, err);
}

static FaCode linear_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    (void)err;
    fa_blender_eval(((Linear *)m)->blender, in->weights, surface);
    return FA_OK;
}

static FaCode linear_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    (void)stats;
    return linear_reset(m, in, surface, err);
}

static void linear_state(FaMethod *m, FaStream *s) { (void)m, (void)s; }
static void linear_close(FaMethod *m) { fa_blender_free(((Linear *)m)->blender); }

static const FaParamInfo linear_params[] = {{0}};

const FaMethodOps fai_method_linear = {
    .name = "linear",
    .help = "the rig as it is: neutral plus weighted shapes",
    .params = linear_params,
    .size = sizeof(Linear),
    .open = linear_open,
    .reset = linear_reset,
    .step = linear_step,
    .state = linear_state,
    .close = linear_close,
};
