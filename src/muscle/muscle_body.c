#include "muscle/muscle_body_work.h"

#include "math/mat3.h"
#include "muscle/slide.h"

#include <math.h>

static const double SHALLOW = 1e-4;   // m: deep enough to be solved again
static const double ON_THE_WAY = 100; // times the tolerance, but for the last step
static const double WALLED = 0.4;     // of the ramp: lips without teeth, which are coarse, go in smaller steps
static const double IN_A_FRAME = 8;   // times the tolerance: which way lips slide decides more
enum { REFRESH = 20, RELAX = 4, FRAME_PASSES = 2 }; // of Newton; solves of a frame

FaMuscleStuff fai_muscle_stuff_default(void) {
    return (FaMuscleStuff){.mu = 5e3,
                           .bulk = 1e5,
                           .sigma = 3e5,
                           .kind = FA_NEWTON_PCG,
                           .step = 0.006,
                           .tolerance = 1e-3,
                           .iterations = 60,
                           .ramp = 0.5,
                           .passes = 8};
}

// --- making -------------------------------------------------------------------------------------------------------

static double volume_of(const FaMuscleBody *b, const double *x) {
    double sum = 0;
    for (int e = 0; e < b->ntet; e++) {
        const int *v = b->tet + 4 * (size_t)e;
        double d[3][3];
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++) d[k][i] = x[3 * (size_t)v[k + 1] + (size_t)i] - x[3 * (size_t)v[0] + (size_t)i];
        sum += (d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) + d[0][1] * (d[1][2] * d[2][0] - d[1][0] * d[2][2]) +
                d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0])) /
               6;
    }
    return sum;
}

static FaCode make_solid(FaMuscleBody *b, FaError *err) {
    double *mu = FA_NEW(2 * (size_t)b->ntet, double);
    if (!mu) return FA_FAIL_MEMORY(err);
    for (int e = 0; e < b->ntet; e++) mu[e] = b->stuff.mu, mu[b->ntet + e] = b->stuff.bulk - 2 * b->stuff.mu / 3;
    FaCode rc = fai_solid_new(b->nnode, b->ntet, b->tet, b->rest_x, FA_SOLID_MOONEY, &b->solid, err);
    if (rc >= 0) rc = fai_solid_rest_new(b->solid, &b->rest, err);
    if (rc >= 0) rc = fai_solid_rest_set(b->rest, b->rest_x, mu, mu + b->ntet, NULL, err);
    fa_free(mu);
    return rc;
}

static FaCode make_fibres(FaMuscleBody *b, const FaMuscleHold *hold, const FaMuscleSamples *samples, FaError *err) {
    double *sigma = FA_NEW(2 * (size_t)b->nmuscle + 1, double), *slack = sigma + b->nmuscle;
    if (!sigma) return FA_FAIL_MEMORY(err);
    for (int m = 0; m < b->nmuscle; m++) {
        FaMuscleTrait trait = fai_muscle_trait(hold->anatomy ? m : -1);
        sigma[m] = b->stuff.sigma * trait.strength, slack[m] = trait.slack;
    }
    FaFibreBody body = {b->nnode, b->ntet, b->nmuscle, b->rest_x, b->tet, sigma};
    FaCode rc = fai_fibre_new(&body, samples->n, samples->fibre, &b->fibre, err);
    if (rc >= 0) fai_fibre_slack(b->fibre, slack);
    fa_free(sigma);
    return rc;
}

static FaCode make_pull(FaMuscleBody *b, const FaMuscleSamples *samples, FaError *err) {
    size_t n = (size_t)samples->n + 1;
    b->nsample = samples->n;
    b->corner = FA_PUSH(b->arena, 4 * n, int);
    double **array[] = {&b->bary, &b->pull_k, &b->pull_to, &b->pull_from, &b->pull_y};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(b->arena, 4 * n, double))) return FA_FAIL_MEMORY(err);
    if (!b->corner) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < b->nsample; s++) {
        memcpy(b->corner + 4 * (size_t)s, b->tet + 4 * (size_t)samples->fibre[s].tet, 4 * sizeof *b->corner);
        for (int c = 4 * s; c < 4 * s + 4; c++) b->bary[c] = samples->bary ? (double)samples->bary[c] : 0.25;
    }
    return fai_pull_new(b->nnode, b->nsample, b->corner, b->bary, &b->pull, err);
}

// The pull of an average muscle at full activation: the size of gradients that matter, whatever the pose begins with.
static void find_reference(FaMuscleBody *b) {
    double sum = 0;
    for (int m = 0; m < b->nmuscle; m++) b->move[m] = 1;
    fai_fibre_activate(b->fibre, b->move);
    memset(b->move, 0, 3 * (size_t)b->nnode * sizeof *b->move);
    FaTermSum energy = {0};
    b->term[0].energy(b->fibre, b->rest_x, b->move, &energy);
    for (int i = 0; i < 3 * b->nnode; i++)
        if (!b->fixed[i / 3]) sum += b->move[i] * b->move[i];
    b->reference = sqrt(sum / FA_MAX(b->nmuscle, 1));
    memset(b->move, 0, 3 * (size_t)b->nnode * sizeof *b->move);
}

static FaCode build(FaMuscleBody *b, const FaMuscleFlesh *flesh, const unsigned char *fixed, const FaMuscleHold *hold,
                    const FaMuscleSamples *samples, FaError *err) {
    b->arena = fai_arena_new(0);
    if (!b->arena) return FA_FAIL_MEMORY(err);
    size_t n = 3 * (size_t)FA_MAX(b->nnode, b->nmuscle);
    double **array[] = {&b->rest_x, &b->x, &b->solved, &b->at, &b->move, &b->rhs};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(b->arena, n, double))) return FA_FAIL_MEMORY(err);
    b->tet = FA_PUSH(b->arena, 4 * (size_t)b->ntet + 1, int);
    b->fixed = FA_PUSH(b->arena, b->nnode, unsigned char);
    b->spring = FA_PUSH(b->arena, hold->nspring + 1, FaSpring);
    b->active = FA_PUSH(b->arena, b->nmuscle + 1, double);
    b->rising = FA_PUSH(b->arena, b->nmuscle + 1, double);
    if (!b->tet || !b->fixed || !b->spring || !b->active || !b->rising) return FA_FAIL_MEMORY(err);
    memcpy(b->rest_x, flesh->x, 3 * (size_t)b->nnode * sizeof *flesh->x);
    memcpy(b->tet, flesh->tet, 4 * (size_t)b->ntet * sizeof *flesh->tet);
    memcpy(b->fixed, fixed, (size_t)b->nnode);
    b->nspring = hold->nspring;
    if (b->nspring > 0) memcpy(b->spring, hold->spring, (size_t)b->nspring * sizeof *b->spring);
    FA_TRY(make_solid(b, err));
    FA_TRY(make_fibres(b, hold, samples, err));
    FA_TRY(make_pull(b, samples, err));
    b->term[0] = fai_fibre_term(b->fibre);
    b->term[1] = fai_pull_term(b->pull);
    FaNewtonOptions o = {.kind = b->stuff.kind,
                         .nterm = FA_COUNT(b->term),
                         .term = b->term,
                         .backend = b->stuff.backend,
                         .refresh = b->touch ? REFRESH : 0,
                         .relax = b->touch ? RELAX : 0,
                         .manual = b->stuff.manual,
                         .max_springs = b->nspring,
                         .max_rows = b->touch ? FA_MUSCLE_ROWS : 0};
    FA_TRY(fai_newton_new(b->solid, b->fixed, NULL, &o, &b->newton, err));
    find_reference(b);
    b->volume = volume_of(b, b->rest_x);
    return FA_OK;
}

FaCode fai_muscle_body_new(const FaMuscleFlesh *flesh, const unsigned char *fixed, int nmuscle,
                           const FaMuscleSamples *samples, const FaMuscleStuff *stuff, FaMuscleBody **body,
                           FaError *err) {
    return fai_muscle_body_new_held(flesh, fixed, &(FaMuscleHold){0}, nmuscle, samples, stuff, body, err);
}

FaCode fai_muscle_body_new_held(const FaMuscleFlesh *flesh, const unsigned char *fixed, const FaMuscleHold *hold,
                                int nmuscle, const FaMuscleSamples *samples, const FaMuscleStuff *stuff,
                                FaMuscleBody **body, FaError *err) {
    *body = NULL;
    FaMuscleBody *b = FA_NEW(1, FaMuscleBody);
    if (!b) {
        fai_muscle_touch_free(hold->touch);
        return FA_FAIL_MEMORY(err);
    }
    b->touch = b->owned = hold->touch;
    b->stuff = stuff ? *stuff : fai_muscle_stuff_default();
    b->nnode = flesh->nnode, b->ntet = flesh->ntet, b->nmuscle = nmuscle;
    FaCode rc = build(b, flesh, fixed, hold, samples, err);
    if (rc < 0)
        fai_muscle_body_free(b);
    else
        *body = b;
    return rc;
}

// Left, up and front of the head, from where landmarks of the mean head, whose axes these are, lie on the face.
static void find_axes(const FaMuscleGround *g, double axes[9]) {
    double from[3] = {0}, to[3] = {0}, a[9] = {0};
    for (int i = 0; i < 3 * g->npair; i++) from[i % 3] += g->from[i] / g->npair, to[i % 3] += g->to[i] / g->npair;
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < 9; k++) // from x to': its rotation takes the face to the mean head
            a[k] += (g->from[3 * i + k / 3] - from[k / 3]) * (g->to[3 * i + k % 3] - to[k % 3]);
    fai_m3_polar(a, axes, NULL);
}

FaCode fai_muscle_body_of_face(const FaMuscleGround *ground, const FaFace *face, const FaFilled *filled, int nmuscle,
                               const FaMuscleSamples *samples, const FaMuscleStuff *stuff, FaMuscleBody **body,
                               FaError *err) {
    size_t n = (size_t)filled->nnode;
    *body = NULL;
    double *x = FA_NEW(3 * n, double);
    unsigned char *fixed = FA_NEW(n, unsigned char);
    FaSpring *spring = FA_NEW(n, FaSpring);
    FaMuscleFlesh flesh = {filled->nnode, filled->ntet, x, filled->tet};
    FaMuscleHold hold = {.spring = spring, .anatomy = true};
    double axes[9];
    find_axes(ground, axes);
    FaCode rc = x && fixed && spring ? FA_OK : FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n && rc >= 0; i++) {
        fixed[i] = filled->kind[i] != FA_FILLED_FREE;
        for (size_t k = 3 * i; k < 3 * i + 3; k++) x[k] = (double)filled->x[k];
    }
    if (rc >= 0) rc = hold.nspring = fai_muscle_slide(ground, filled, fixed, spring, err);
    if (rc >= 0 && !(stuff && stuff->apart)) rc = fai_muscle_touch_new(face, filled, axes, &hold.touch, err);
    if (rc >= 0 && hold.touch) rc = fai_muscle_touch_lids(hold.touch, ground, face, err);
    if (rc >= 0)
        rc = fai_muscle_body_new_held(&flesh, fixed, &hold, nmuscle, samples, stuff, body, err); // takes the touch
    else
        fai_muscle_touch_free(hold.touch);
    fa_free(x);
    fa_free(fixed);
    fa_free(spring);
    return rc;
}

void fai_muscle_body_free(FaMuscleBody *b) {
    if (!b) return;
    fai_newton_free(b->newton);
    fai_muscle_touch_free(b->owned);
    fai_pull_free(b->pull);
    fai_fibre_free(b->fibre);
    fai_solid_rest_free(b->rest);
    fai_solid_free(b->solid);
    fai_arena_free(b->arena);
    fa_free(b);
}

void fai_muscle_body_contact(FaMuscleBody *b, bool on) { b->touch = on ? b->owned : NULL; }

// --- tracks -------------------------------------------------------------------------------------------------------

void fai_muscle_body_pull(FaMuscleBody *b, const double *k, const double *y) {
    b->pulled = k != NULL;
    memset(b->pull_k, 0, (size_t)b->nsample * sizeof *b->pull_k);
    memset(b->pull_to, 0, 3 * (size_t)b->nsample * sizeof *b->pull_to);
    if (k) memcpy(b->pull_k, k, (size_t)b->nsample * sizeof *k);
    if (k) memcpy(b->pull_to, y, 3 * (size_t)b->nsample * sizeof *y);
    fai_pull_set(b->pull, b->pull_k, b->pull_to);
}

// Where the springs were in the last frame; the farthest that one goes, m. Tracks lead the flesh by millimetres for
// good: what moves is their end.
static double go_on_pull(FaMuscleBody *b) {
    double far = 0;
    memcpy(b->pull_from, b->pull_y, 3 * (size_t)b->nsample * sizeof *b->pull_y);
    for (int s = 0; s < b->nsample; s++) {
        double d2 = 0;
        for (size_t i = 3 * (size_t)s; i < 3 * (size_t)s + 3; i++)
            d2 += (b->pull_to[i] - b->pull_y[i]) * (b->pull_to[i] - b->pull_y[i]);
        if (b->pull_k[s] > 0) far = fmax(far, d2);
    }
    return sqrt(far);
}

// Where the samples are; the farthest that one has to go, m.
static double begin_pull(FaMuscleBody *b, const double *x, bool next) {
    double far = 0;
    if (next && b->pulled && b->pull_known) return go_on_pull(b);
    for (int s = 0; s < b->nsample && b->pulled; s++) {
        double d2 = 0;
        for (int i = 0; i < 3; i++) {
            double at = 0;
            for (int c = 4 * s; c < 4 * s + 4; c++) at += b->bary[c] * x[3 * (size_t)b->corner[c] + (size_t)i];
            b->pull_from[3 * (size_t)s + (size_t)i] = at;
            d2 += (b->pull_to[3 * (size_t)s + (size_t)i] - at) * (b->pull_to[3 * (size_t)s + (size_t)i] - at);
        }
        if (b->pull_k[s] > 0) far = fmax(far, d2);
    }
    return sqrt(far);
}

static void step_pull(FaMuscleBody *b, double part) {
    if (!b->pulled) return;
    for (size_t i = 0; i < 3 * (size_t)b->nsample; i++)
        b->pull_y[i] = part < 1 ? b->pull_from[i] + (b->pull_to[i] - b->pull_from[i]) * part : b->pull_to[i];
    fai_pull_set(b->pull, b->pull_k, b->pull_y);
}

// --- posing -------------------------------------------------------------------------------------------------------

// How far bones have to go from x, m.
static double way_of_bones(const FaMuscleBody *b, const double *goal, const double *x) {
    double far = 0;
    for (int v = 0; v < b->nnode; v++) {
        if (!b->fixed[v]) continue;
        double d2 = 0;
        for (int k = 3 * v; k < 3 * v + 3; k++) d2 += (goal[k] - x[k]) * (goal[k] - x[k]);
        far = fmax(far, d2);
    }
    return sqrt(far);
}

// Bones go to b->at; the flesh goes along as its stiffness at x says. Where that is not definite it stays.
static void predict(FaMuscleBody *b, const FaNewtonInput *in, double *x) {
    size_t n = 3 * (size_t)b->nnode;
    for (size_t i = 0; i < n; i++) b->move[i] = b->fixed[i / 3] ? b->at[i] - x[i] : 0;
    fai_solid_product(b->rest, x, NULL, b->move, b->rhs);
    for (int t = 0; t < FA_COUNT(b->term); t++) b->term[t].product(b->term[t].self, x, b->move, b->rhs);
    for (size_t i = 0; i < n; i++) b->rhs[i] = b->fixed[i / 3] ? 0 : -b->rhs[i];
    FaError none = {0};
    FaNewtonInput here = *in;
    here.fixed_at = NULL;
    FaNewtonKept kept = {.nrhs = 1, .rhs = b->rhs, .out = b->rhs, .tolerance = 1e-2};
    bool known = fai_newton_kept_solve(b->newton, &here, x, &kept, &none) >= 0;
    for (size_t i = 0; i < n; i++) x[i] = b->fixed[i / 3] ? b->at[i] : known ? x[i] + b->rhs[i] : x[i];
}

// In how many steps: bones, and where something may touch activations too.
static int steps_of(const FaMuscleBody *b, const double *activation, double far, double pulled) {
    double most = 0;
    for (int m = 0; m < b->nmuscle; m++) most = fmax(most, fabs(activation[m] - b->active[m]));
    double ramp = b->stuff.ramp * (b->touch && fai_muscle_touch_walled(b->touch) ? WALLED : 1);
    double steps = fmax(far / b->stuff.step, b->touch ? fmax(most / ramp, pulled / b->stuff.step) : 0);
    return FA_MAX(1, (int)ceil(steps - 1e-9));
}

static int count_rises(const FaNewtonReport *one) {
    int rises = 0;
    for (int i = 1; i <= FA_MIN(one->iterations, FA_NEWTON_LOG); i++) rises += one->energy[i] > one->energy[i - 1];
    return rises;
}

// Bones are at b->at, muscles are activated: rows, a solve, and again until nothing is deep.
static FaCode solve_step(FaMuscleBody *b, FaNewtonInput *in, int passes, FaMuscleReport *r, FaError *err) {
    FaCode rc = FA_OK;
    for (int pass = 0; pass < passes && rc >= 0; pass++) {
        FaNewtonReport one;
        if (b->touch) in->nrow = fai_muscle_touch_collect(b->touch, b->x, &in->row);
        rc = fai_newton_solve(b->newton, in, b->x, &one, err);
        if (rc < 0) return rc;
        r->iterations += one.iterations, r->inverted = one.inverted, r->residual = one.residual, r->status = one.status;
        r->cg += one.cg, r->rises += count_rises(&one), r->solves++, r->rows = in->nrow, r->active = one.active;
        if (!b->touch) return rc;
        r->deep = fai_muscle_touch_settle(b->touch, b->x);
        if (r->deep < SHALLOW) return rc;
    }
    return rc;
}

static FaCode check_places(const FaMuscleBody *b, const double *goal, const double *x, FaError *err) {
    for (size_t i = 0; i < 3 * (size_t)b->nnode; i++)
        if (!(fabs(x[i]) < 1e6) || (b->fixed[i / 3] && !(fabs(goal[i]) < 1e6)))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("node %zu", i / 3), "check the pose of the jaw",
                           "a position is not a number");
    return FA_OK;
}

// A pose from rest does not depend on poses before it, nor on a factor that they left: its own is of the flesh at rest
// with the muscles as they will pull, which serves to the end.
static FaCode begin_at_rest(FaMuscleBody *b, const FaNewtonInput *in, const double *activation, FaError *err) {
    memset(b->active, 0, (size_t)b->nmuscle * sizeof *b->active);
    memcpy(b->at, b->rest_x, 3 * (size_t)b->nnode * sizeof *b->at);
    fai_fibre_activate(b->fibre, activation);
    return fai_newton_prepare(b->newton, in, b->rest_x, err);
}

// From x to the goal in steps, into b->x.
static FaCode go(FaMuscleBody *b, FaNewtonInput *in, const double *activation, const double *goal, const double *x,
                 bool frame, FaMuscleReport *r, FaError *err) {
    size_t n = 3 * (size_t)b->nnode;
    double far = way_of_bones(b, goal, x);
    FaCode rc = FA_OK;
    r->steps = steps_of(b, activation, far, begin_pull(b, x, frame));
    for (int s = 1; s <= r->steps && rc >= 0; s++) {
        bool last = s == r->steps;
        for (size_t i = 0; i < n; i++) b->at[i] = last ? goal[i] : x[i] + (goal[i] - x[i]) * s / r->steps;
        for (int m = 0; m < b->nmuscle; m++)
            b->rising[m] = last ? activation[m] : b->active[m] + (activation[m] - b->active[m]) * s / r->steps;
        fai_fibre_activate(b->fibre, b->rising);
        step_pull(b, (double)s / r->steps);
        if (b->touch) fai_muscle_touch_step(b->touch, b->x, b->at);
        if (far > 0) predict(b, in, b->x);
        in->tolerance = b->stuff.tolerance * (!last ? ON_THE_WAY : frame && b->touch ? IN_A_FRAME : 1);
        rc = solve_step(b, in, !last ? 1 : frame ? FRAME_PASSES : b->stuff.passes, r, err);
        if (b->touch && rc >= 0 && !frame) r->stopped = fai_muscle_touch_stop(b->touch, b->x);
    }
    memcpy(b->solved, b->x, n * sizeof *b->x);
    if (b->touch && rc >= 0 && frame) r->stopped = fai_muscle_touch_part(b->touch, b->x);
    return rc;
}

static FaNewtonInput input_of(const FaMuscleBody *b) {
    return (FaNewtonInput){.rest = b->rest,
                           .fixed_at = b->at,
                           .row_base = b->rest_x,
                           .nspring = b->nspring,
                           .spring = b->spring,
                           .tolerance = b->stuff.tolerance,
                           .reference = b->reference,
                           .iterations = b->stuff.iterations};
}

static void finish(FaMuscleBody *b, const FaNewtonInput *in, const double *activation, double begin, double *x,
                   FaMuscleReport *r, FaMuscleReport *report) {
    b->last = *in;
    b->pull_known = b->pulled;
    memcpy(x, b->x, 3 * (size_t)b->nnode * sizeof *x);
    memcpy(b->active, activation, (size_t)b->nmuscle * sizeof *b->active);
    r->volume = volume_of(b, x) / b->volume;
    r->seconds = fai_seconds() - begin;
    if (report) *report = *r;
}

FaCode fai_muscle_body_pose(FaMuscleBody *b, const double *activation, const double *fixed_at, double *x,
                            FaMuscleReport *report, FaError *err) {
    FaMuscleReport r = {0};
    double begin = fai_seconds();
    size_t n = 3 * (size_t)b->nnode;
    const double *goal = fixed_at ? fixed_at : b->rest_x;
    FaNewtonInput in = input_of(b);
    FA_TRY(check_places(b, goal, x, err));
    if (b->touch) fai_muscle_touch_begin(b->touch, x);
    memcpy(b->x, x, n * sizeof *x);
    if (memcmp(x, b->rest_x, n * sizeof *x) == 0) FA_TRY(begin_at_rest(b, &in, activation, err));
    FaCode rc = go(b, &in, activation, goal, x, false, &r, err);
    if (rc >= 0) finish(b, &in, activation, begin, x, &r, report);
    return rc;
}

FaCode fai_muscle_body_frame(FaMuscleBody *b, const double *activation, const double *fixed_at, double *x,
                             FaMuscleReport *report, FaError *err) {
    FaMuscleReport r = {0};
    double begin = fai_seconds();
    size_t n = 3 * (size_t)b->nnode;
    const double *goal = fixed_at ? fixed_at : b->rest_x;
    FaNewtonInput in = input_of(b);
    FA_TRY(check_places(b, goal, x, err));
    // what was pushed in is known where the last pose or frame ended, and what went back for the eye is at rest where
    // it was solved
    bool goes_on = memcmp(x, b->x, n * sizeof *x) == 0;
    if (b->touch && !goes_on) fai_muscle_touch_begin(b->touch, x);
    memcpy(b->x, goes_on && b->touch ? b->solved : x, n * sizeof *x);
    FaCode rc = go(b, &in, activation, goal, x, true, &r, err);
    if (rc >= 0) finish(b, &in, activation, begin, x, &r, report);
    return rc;
}

FaCode fai_muscle_body_prepare(FaMuscleBody *b, const double *activation, const double *x, FaError *err) {
    const FaNewtonInput in = input_of(b);
    memcpy(b->at, x, 3 * (size_t)b->nnode * sizeof *b->at);
    fai_fibre_activate(b->fibre, activation);
    return fai_newton_prepare(b->newton, &in, x, err);
}

FaCode fai_muscle_body_collide(FaMuscleBody *b, const FaFace *face, FaError *err) {
    return b->owned ? fai_muscle_touch_collide(b->owned, face, err) : FA_OK;
}
