#include "volumetric/forward.h"

static const double STRAIN = 6000, BONE = 1000; // Pa, 1/m: as volumetric/physics.c has them
static const double INERTIA = 1;                // 1/s2: next to nothing
static const double TOLERANCE = 1e-5;           // of the gradient's fall

struct FaForward {
    const FaLayered *layered;
    FaForwardOptions options;
    FaElastic e;
    FaProjective *solver;
    float *anchor, *y; // (2 nskin x 4), (nnode x 4)
    float *rest;       // passive: 9 rows of stride
    int stride;
    FaArena *arena;
};

static FaCode open_forward(FaForward *f, FaError *err) {
    const FaLayered *l = f->layered;
    const size_t n = (size_t)l->nskin, row = (size_t)(f->stride = (l->ntet + 7) / 8 * 8);
    f->arena = fai_arena_new(0);
    if (!f->arena) return FA_FAIL_MEMORY(err);
    const FaLayeredBody body = {.strain = STRAIN,
                                .volume = f->options.passive ? f->options.volume : 0,
                                .muscle = 1,
                                .skin = FA_PUSH(f->arena, n, double), // none
                                .bone = BONE};
    f->anchor = FA_PUSH(f->arena, 8 * n, float);
    f->y = FA_PUSH(f->arena, 4 * (size_t)l->nnode, float);
    f->rest = FA_PUSH(f->arena, 9 * row, float);
    if (!body.skin || !f->anchor || !f->y || !f->rest) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_layered_elastic(l, &body, &f->e, err));
    return fai_projective_new(&f->e, &(FaProjectiveOptions){.inertia = INERTIA}, &f->solver, err);
}

FaCode fai_forward_new(const FaLayered *layered, const FaForwardOptions *options, FaForward **forward, FaError *err) {
    *forward = NULL;
    FaForward *f = FA_NEW(1, FaForward);
    if (!f) return FA_FAIL_MEMORY(err);
    f->layered = layered;
    f->options = *options;
    FaCode rc = open_forward(f, err);
    if (rc < 0)
        fai_forward_free(f);
    else
        *forward = f;
    return rc;
}

void fai_forward_free(FaForward *f) {
    if (!f) return;
    fai_projective_free(f->solver);
    fai_arena_free(f->e.arena);
    fai_arena_free(f->arena);
    fa_free(f);
}

// Soft tissue as at rest, muscle as given.
static const float *passive(FaForward *f, const float *gradient) {
    const size_t row = (size_t)f->stride;
    for (int t = 0; t < f->layered->ntet; t++)
        for (size_t k = 0; k < 9; k++)
            f->rest[k * row + (size_t)t] = f->layered->muscle[t] ? gradient[k * row + (size_t)t] : k % 4 == 0;
    return f->rest;
}

FaCode fai_forward(FaForward *f, const float *gradient, const float *skull, int iterations, float *u,
                   FaProjectiveReport *report, FaError *err) {
    const size_t skin = 4 * (size_t)f->layered->nskin;
    memcpy(f->anchor + skin, skull, skin * sizeof *u);
    memcpy(f->y, u, 3 * skin * sizeof *u);
    const FaProjectiveInput in = {.y = f->y,
                                  .inertia = INERTIA,
                                  .frame = {.anchor = f->anchor,
                                            .tet_rest = f->options.passive ? passive(f, gradient) : gradient,
                                            .tet_stride = f->stride},
                                  .iterations = iterations,
                                  .tolerance = TOLERANCE};
    return fai_projective_solve(f->solver, &in, u, report, err);
}
