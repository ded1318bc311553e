#include "volumetric/lift.h"

#include "base/task.h"
#include "projective/deep_goal.h"

static const double FIRM = 1e5;  // 1/m: skin that does not give; flesh of 1 mm resists with 1e3
static const double INERTIA = 1; // 1/s2: next to nothing, for a matrix that has an inverse
static const double TOLERANCE = 1e-2;
enum { NODES = 1024 };

struct FaLift {
    const FaLayered *layered;
    FaLiftOptions options;
    FaElastic e;
    FaProjective *solver;
    FaDeepGoal *deep;
    FaArena *arena;
    float *goal;   // of the face's own nodes                                        (face nnode x 4)
    float *start;  //                                                                (nnode x 4)
    float *anchor; //                                                                (2 nskin x 4)
};

static FaCode open_solver(FaLift *l, FaError *err) {
    const size_t n = (size_t)l->layered->nskin;
    double *skin = FA_PUSH(l->arena, n, double);
    l->goal = FA_PUSH(l->arena, 4 * (size_t)l->layered->face->nnode, float);
    l->start = FA_PUSH(l->arena, 4 * (size_t)l->layered->nnode, float);
    l->anchor = FA_PUSH(l->arena, 8 * n, float);
    if (!skin || !l->goal || !l->start || !l->anchor) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n; i++) skin[i] = FIRM;
    l->options.body.skin = skin;
    FA_TRY(fai_layered_elastic(l->layered, &l->options.body, &l->e, err));
    return fai_projective_new(&l->e, &(FaProjectiveOptions){.inertia = INERTIA}, &l->solver, err);
}

FaCode fai_lift_new(const FaLayered *layered, const FaLiftOptions *options, FaLift **lift, FaError *err) {
    *lift = NULL;
    FaLift *l = FA_NEW(1, FaLift);
    if (!l) return FA_FAIL_MEMORY(err);
    l->layered = layered;
    l->options = *options;
    l->arena = fai_arena_new(0);
    FaCode rc = l->arena ? fai_deep_goal_new(layered->face, &l->deep, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = open_solver(l, err);
    if (rc < 0)
        fai_lift_free(l);
    else
        *lift = l;
    return rc;
}

void fai_lift_free(FaLift *l) {
    if (!l) return;
    fai_projective_free(l->solver);
    fai_deep_goal_free(l->deep);
    fai_arena_free(l->e.arena);
    fai_arena_free(l->arena);
    fa_free(l);
}

typedef struct Start {
    const FaLift *lift;
    float *u;
} Start;

static void start_columns(void *ctx, int begin, int end, int chunk) {
    const Start *s = ctx;
    const FaLayered *l = s->lift->layered;
    const size_t n = (size_t)l->nskin, deepest = (size_t)l->face->layers * n;
    (void)chunk;
    for (size_t i = (size_t)begin; i < (size_t)end; i++) {
        const float *skin = s->u + 4 * i, *deep = s->lift->goal + 4 * (deepest + i), share = (float)l->share[i];
        float *muscle = s->u + 4 * (n + i), *skull = s->u + 4 * (2 * n + i);
        for (int k = 0; k < 4; k++) {
            skull[k] = deep[k];
            muscle[k] = skin[k] + share * (deep[k] - skin[k]);
        }
    }
}

void fai_lift_start(FaLift *l, const float *weights, float *u) {
    const int n = l->layered->nskin;
    memcpy(l->goal, u, 4 * (size_t)n * sizeof *u);
    fai_deep_goal(l->deep, weights, l->goal);
    fai_parallel(n, NODES, start_columns, &(Start){l, u});
}

FaCode fai_lift(FaLift *l, const float *weights, float *u, FaProjectiveReport *report, FaError *err) {
    const size_t skin = 4 * (size_t)l->layered->nskin, all = 3 * skin;
    fai_lift_start(l, weights, u);
    memcpy(l->start, u, all * sizeof *u);
    memcpy(l->anchor, u, skin * sizeof *u);
    memcpy(l->anchor + skin, u + 2 * skin, skin * sizeof *u);
    const FaProjectiveInput in = {.y = l->start,
                                  .inertia = INERTIA,
                                  .frame = {.anchor = l->anchor},
                                  .iterations = l->options.iterations,
                                  .tolerance = TOLERANCE};
    FaCode rc = fai_projective_solve(l->solver, &in, u, report, err);
    memcpy(u, l->start, skin * sizeof *u); // what is left of its giving way
    return rc;
}
