// The method muscle: a clip's weights move muscles and the jaw, and the flesh makes the face (paper 002, section 7).
//
// Each shape was targeted once (muscle/blendmuscle.h); a frame's weights give activations, a jaw and the ends of
// tracks, and the flesh comes to rest for them, from where the last frame left it, with contact. What no muscle makes
// of the sculpts is added after that, as much of it as `snap` says.
//
// A frame depends on those before it: on where the flesh is, on what touches, and on the factor that conjugate
// gradients work on. The factor is of the flesh at the beginning of some frame, which the state holds, so that it can
// be made again when a state is loaded.
//
// With `motion dynamic` flesh with mass (muscle/muscle_motion.h) follows the flesh at rest: that is solved for each
// input, as ever, and between two inputs goes from one to the other in steps of at most 1/rate. Forces hold the moving
// flesh there, so that it lags, swings and settles in the very same pose. Its factor is of the neutral, for good.
#include "math/mat3.h"
#include "method/stepper.h"
#include "muscle/blendmuscle.h"
#include "muscle/clip_edits.h"
#include "muscle/mended_skin.h"
#include "muscle/muscle_motion.h"

#include <math.h>

#define MUSCLE_PARAMS(X)                                                                                               \
    X(TEXT, face, NAN, 0, 0, "", "FILE.face",                                                                          \
      "a face made by fascia muscle build --shapes; not given: built from the rig, which takes minutes")               \
    X(NUMBER, snap, 1, 0, 1, "", NULL,                                                                                 \
      "how much of the sculpts that no muscle makes is added: 1 meets your shapes, 0 is flesh alone")                  \
    X(NUMBER, spring, 5e9, 1e6, 1e13, "N/m4", NULL, "how firmly muscles drag the flesh along their tracks")            \
    X(TEXT, edits, NAN, 0, 0, "", "EDITS.json",                                                                        \
      "tracks moved and activations set, in all frames or some: docs/guide/muscle.md")                                 \
    X(CHOICE, contact, 0, 0, 1, "", "face|off", "what may touch: lips, lids, teeth and eyes, or nothing")              \
    X(CHOICE, motion, 0, 0, 1, "", "still|dynamic",                                                                    \
      "still: flesh rests in every frame. dynamic: it lags and settles when head or face move; slower")                \
    X(NUMBER, rate, 120, 30, 5000, "Hz", NULL,                                                                         \
      "with motion dynamic: simulation steps per second, at least; more is smoother and slower")                       \
    X(NUMBER, ratio, 0.3, 0, 5, "", NULL, "with motion dynamic: how fast a swing dies: 0.05 wobbles, 1 creeps back")   \
    X(NUMBER, drag, 0, 0, 1000, "1/s", NULL, "with motion dynamic: also slows slow swinging; 0: not at all")           \
    X(NUMBER, head, 1, 0, 10, "", NULL,                                                                                \
      "with motion dynamic: how much of the head's motion the flesh feels: 0.5 is half")                               \
    X(NUMBER, gravity, 1, 0, 1, "", NULL,                                                                              \
      "with motion dynamic: 1: only tilting the head adds sag. 0: full gravity on top of the sculpts")

FAI_PARAMS(muscle_params, MUSCLE_PARAMS);

static const double TOLERANCE = 4e-3; // within 0.03 mm of a fourth of it, at four fifths of the steps
enum { SETTLES = 4 };                 // steps of a long time from which a clip begins where gravity pulls
static const double LONG = 0.5;       // s
static const double CALM = 2e-4;      // m/s2: rests within a thousandth of a mm
static const double LEAD = 5e-3;      // m: a track so far ahead of the flesh holds with all of the spring
static const double SOFT = 0.02;      // of the spring: tracks nail the flesh to a pose, it could not swing (figures)
static const double WORN = 30;        // iterations of conjugate gradients per step of Newton: time for another factor

typedef struct Playing {
    FaMethod m;
    FaMuscleModel *model;
    FaMuscleDirector *director;
    FaBlendMuscles shapes;
    FaClipEdits edits;
    double spring, snap;
    bool apart; // nothing touches
    FaMendedSkin *skin;
    unsigned char sprung[FA_MUSCLES_MOST]; // all
    float *part;                           // of the snap that is added               (nvert)
    float *lids;                           // how much a vertex goes as the shapes have it (nvert)
    float *linear;                         // the rig's own surface                   (nvert x 3)
    bool prepared;                         // the factor is that of the state
    FaArena *arena;
    // of a frame
    double activation[FA_MUSCLES_MOST];
    FaPose jaw;
    double *track; // (npoint x 3)

    // the state
    double *x;        // the flesh                                                    (nnode x 3)
    double *factor_x; // the flesh, and activations, that the factor is of            (nnode x 3)
    double factor_active[FA_MUSCLES_MOST];
    int64_t worn;     // a new one is made of the next frame (not a bool: no gaps)
    float *weights;   // of the last input                                             (nshape)
    double time;      // of the last input, s
    void *body_state; // while saving and loading
    // dynamic
    FaMuscleMotion *motion; // NULL: still
    FaStepper stepper;
    double *shown;                     // the flesh that moves; x: where it would rest    (nnode x 3)
    double *from, *rests, *rested, *w; // scratch: x of the last input; of a step and the one before; velocities
    double *firm;                      // scratch: how much more tracks hold             (nsample)
    double active_from[FA_MUSCLES_MOST], active[FA_MUSCLES_MOST]; // of the last input; of a step
} Playing;

// --- opening ------------------------------------------------------------------------------------------------------

static FaCode open_model(Playing *p, FaError *err) {
    FaMuscleStuff stuff = fai_muscle_stuff_default();
    stuff.manual = true;
    stuff.tolerance = TOLERANCE;
    FA_TRY(fai_muscle_open(p->m.rig, p->m.face, NULL, &stuff, &p->model, err));
    return fai_muscle_director(p->model, &p->director, err);
}

// A face that was made here gets muscles for its shapes here; one that was given must have them.
static FaCode get_face(Playing *p, const FaMethodSetup *setup, FaError *err) {
    FaMethod *m = &p->m;
    FA_TRY(fai_method_face(m, setup, P_face, -1, err));
    if (m->own_face && !m->own_face->shapes_size) {
        FaMuscleModel *model;
        FA_TRY(fa_muscle_open(m->rig, m->own_face, NULL, &model, err));
        FaCode rc = fa_muscle_shapes(model, m->own_face, NULL, NULL, err);
        fa_muscle_close(model);
        FA_TRY(rc);
    }
    m->inputs = fai_hash64(m->face->shapes, m->face->shapes_size, m->inputs);
    return FA_OK;
}

static FaCode get_shapes(Playing *p, FaError *err) {
    const FaRig *rig = p->m.rig;
    int missing = 0, first = -1;
    FA_TRY(fai_blend_muscles_new(p->director, &p->shapes, err));
    int there = fai_blend_muscles_unpack(&p->shapes, p->m.face->shapes, p->m.face->shapes_size, err);
    if (there < 0) return (FaCode)there;
    for (int i = 0; i < rig->nshape; i++)
        if (!p->shapes.shape[i].done && missing++ == 0) first = i;
    if (missing == rig->nshape && missing)
        return FA_FAIL(err, FA_E_ARG, NULL, "make them: fascia muscle build RIG --shapes -o FACE",
                       p->m.face->shapes_size
                           ? "the face's muscles of the shapes are of another rig, or of other muscles"
                           : "the face has no muscles of the shapes");
    fai_note_count(&p->m.notes, missing, "muscle-shapes-missing", first >= 0 ? rig->shape[first].name : "",
                   "make them: fascia muscle build RIG --shapes -o FACE",
                   "the face has no muscles of %d shapes: those are added as they are", missing);
    return FA_OK;
}

static FaCode open_arrays(Playing *p, double snap, FaError *err) {
    const FaFilled *f = &p->model->flesh;
    const size_t n = 3 * (size_t)f->nnode + 1;
    if (!(p->arena = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
    p->part = FA_PUSH(p->arena, f->nvert + 1, float);
    p->lids = FA_PUSH(p->arena, f->nvert + 1, float);
    p->linear = FA_PUSH(p->arena, 3 * (size_t)f->nvert + 1, float);
    p->weights = FA_PUSH(p->arena, p->m.rig->nshape + 1, float);
    p->track = FA_PUSH(p->arena, 3 * (size_t)p->shapes.npoint + 1, double);
    p->x = FA_PUSH(p->arena, n, double);
    p->factor_x = FA_PUSH(p->arena, n, double);
    p->body_state = fai_arena_push(p->arena, 1, fai_muscle_body_state_size(p->model->body) + 1);
    if (!p->part || !p->lids || !p->linear || !p->weights || !p->track || !p->x || !p->factor_x || !p->body_state)
        return FA_FAIL_MEMORY(err);
    // what no flesh carries, eyes and teeth of the same mesh, goes as the shapes have it
    for (int v = 0; v < f->nvert; v++) p->part[v] = f->ride_start[v] == f->ride_start[v + 1] ? 1 : (float)snap;
    // lids close to a hair's breadth, by sculpts made for that: what flesh does there, tenths of a mm, would cross them
    const FaFace *face = p->m.face;
    for (int i = 0; i < face->nskin; i++)
        p->lids[face->skin_vertex[i]] = (float)snap * fminf(2 * face->region[FA_REGION_EYELIDS][i], 1);
    memset(p->sprung, 1, sizeof p->sprung);
    return FA_OK;
}

// The flesh is at rest, and so is all that is remembered.
static void lie_down(Playing *p) {
    memcpy(p->x, p->model->rest, 3 * (size_t)p->model->flesh.nnode * sizeof *p->x);
    fai_muscle_body_rest(p->model->body);
}

// Activations, bones and springs of these weights. False: all is at rest.
static bool aim(Playing *p) {
    const bool moves = fai_blend_muscles_at(&p->shapes, &p->m.face->jaw, p->weights, p->activation, &p->jaw, p->track);
    const bool edited = fai_clip_edits_apply(&p->edits, p->time, p->activation, p->track);
    fai_directed_hold(p->director, &p->jaw, p->track, p->sprung, p->spring);
    return moves || edited;
}

// After the springs are as they always are: the factor has them.
static FaCode open_motion(Playing *p, const FaParams *params, FaError *err) {
    FaMuscleMotionOptions o = fai_muscle_motion_options_default();
    if (fai_params_at(params, P_motion) == 0) return FA_OK;
    o.beta = fai_muscle_motion_beta(fai_params_at(params, P_ratio));
    o.drag = fai_params_at(params, P_drag);
    o.calm = CALM, o.soft = SOFT, o.manual = true;
    double **array[] = {&p->shown, &p->from, &p->rests, &p->rested, &p->w};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(p->arena, 3 * (size_t)p->model->flesh.nnode + 1, double))) return FA_FAIL_MEMORY(err);
    p->firm = FA_PUSH(p->arena, p->director->tracks.nsample + 1, double);
    if (!p->firm) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_stepper_init(&p->stepper, p->m.rig, fai_params_at(params, P_rate), fai_params_at(params, P_head),
                            fai_params_at(params, P_gravity), p->arena, err));
    FA_TRY(fai_muscle_motion_new(p->model->body, &o, &p->motion, err));
    aim(p);
    FaCode rc = fai_muscle_motion_prepare(p->motion, 1 / p->stepper.rate, err);
    return rc < 0 && rc != FA_E_NUMERIC ? rc : FA_OK;
}

static FaCode open_edits(Playing *p, const char *path, FaError *err) {
    if (!path[0]) return FA_OK;
    FA_TRY(fai_clip_edits_load(p->director, path, p->arena, &p->edits, err));
    p->m.inputs = fai_hash64(&p->edits.hash, sizeof p->edits.hash, p->m.inputs);
    return FA_OK;
}

static FaCode muscle_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    Playing *p = (Playing *)m;
    const FaParams *params = setup->params;
    FA_TRY(get_face(p, setup, err));
    FA_TRY(open_model(p, err));
    FA_TRY(get_shapes(p, err));
    p->spring = fai_params_at(params, P_spring), p->snap = fai_params_at(params, P_snap);
    FA_TRY(open_arrays(p, p->snap, err));
    FA_TRY(open_edits(p, fai_params_text_at(params, P_edits), err));
    FA_TRY(fai_mended_skin_new(m->rig, &p->skin, err));
    p->apart = fai_params_at(params, P_contact) != 0;
    fai_muscle_body_contact(p->model->body, !p->apart);
    lie_down(p);
    p->worn = 1;
    return open_motion(p, params, err);
}

static void muscle_close(FaMethod *m) {
    Playing *p = (Playing *)m;
    fai_muscle_motion_free(p->motion);
    fai_mended_skin_free(p->skin);
    fai_blend_muscles_free(&p->shapes);
    fa_muscle_close(p->model);
    fai_arena_free(p->arena);
}

// --- a frame ------------------------------------------------------------------------------------------------------

// What is no number counts as the last that was one.
static void take_weights(Playing *p, const FaInput *in, FaStats *stats) {
    for (int i = 0; i < p->m.rig->nshape; i++) {
        if (isfinite(in->weights[i]))
            p->weights[i] = in->weights[i];
        else if (stats)
            stats->clamped++;
    }
}

// The factor that the state says; a new one where that has served long enough. One that cannot be made here (the
// Hessian is not definite) is made by the solver.
static FaCode get_factor(Playing *p, FaError *err) {
    if (p->prepared && !p->worn) return FA_OK;
    if (p->worn) {
        memcpy(p->factor_x, p->x, 3 * (size_t)p->model->flesh.nnode * sizeof *p->x);
        memcpy(p->factor_active, p->activation, sizeof p->activation);
    }
    FaCode rc = fai_muscle_body_prepare(p->model->body, p->factor_active, p->factor_x, err);
    p->worn = 0, p->prepared = true;
    return rc < 0 && rc != FA_E_NUMERIC ? rc : FA_OK;
}

// From rest, as if it had lasted for ever.
static FaCode begin(Playing *p, FaMuscleReport *r, FaError *err) {
    lie_down(p);
    memcpy(p->factor_x, p->x, 3 * (size_t)p->model->flesh.nnode * sizeof *p->x);
    memcpy(p->factor_active, p->activation, sizeof p->activation);
    FaCode rc = fai_muscle_body_pose(p->model->body, p->activation, p->director->at, p->x, r, err);
    p->worn = fai_muscle_body_worn(p->model->body);
    p->prepared = !p->worn;
    return rc;
}

static FaCode go_on(Playing *p, FaMuscleReport *r, FaError *err) {
    FA_TRY(get_factor(p, err));
    FaCode rc = fai_muscle_body_frame(p->model->body, p->activation, p->director->at, p->x, r, err);
    if (rc == FA_E_NUMERIC) return begin(p, r, err);
    p->worn = fai_muscle_body_worn(p->model->body) || r->cg > WORN * FA_MAX(r->iterations, 1);
    return rc;
}

static void blend_linear(Playing *p) {
    const FaRig *rig = p->m.rig;
    memcpy(p->linear, rig->mesh.x, 3 * (size_t)rig->mesh.nvert * sizeof *p->linear);
    for (int s = 0; s < rig->nshape; s++) {
        const FaShape *of = &rig->shape[s];
        for (int e = of->first; e < of->first + of->count && p->weights[s] != 0; e++)
            for (int c = 0; c < 3; c++) p->linear[3 * rig->row[e] + c] += p->weights[s] * rig->delta[3 * e + c];
    }
}

static void output(Playing *p, const double *x, float *surface) {
    FaMuscleModel *m = p->model;
    for (int i = 0; i < 3 * m->flesh.nnode; i++) m->node[i] = (float)x[i];
    memcpy(surface, m->rig->mesh.x, 3 * (size_t)m->rig->mesh.nvert * sizeof *surface);
    fai_filled_ride(&m->flesh, m->node, surface);
    fai_blend_muscles_finish(&p->shapes, m->rig, p->weights, p->part, surface);
    blend_linear(p);
    for (int v = 0; v < m->rig->mesh.nvert; v++)
        for (int k = 3 * v; k < 3 * v + 3 && p->lids[v] > 0; k++)
            surface[k] += p->lids[v] * (p->linear[k] - surface[k]);
    fai_mended_skin(p->skin, p->snap, p->apart, p->linear, surface);
}

// Where the flesh rests for an input.
static FaCode rest(Playing *p, const FaInput *in, bool first, FaStats *stats, FaError *err) {
    FaMuscleReport r = {0};
    FaCode rc = FA_OK;
    take_weights(p, in, stats);
    p->time = in->time;
    if (!aim(p))
        lie_down(p);
    else
        rc = first ? begin(p, &r, err) : go_on(p, &r, err);
    if (rc < 0) return rc;
    if (stats) {
        stats->iterations = r.iterations, stats->residual = r.residual;
        stats->unsolved = rc == FA_STALLED;
        stats->clamped += rc == FA_STALLED;
    }
    return FA_OK;
}

// --- in time ------------------------------------------------------------------------------------------------------

// The flesh goes with its head from now on, as that moves (v: m/s, world; omega: rad/s, head axes).
static void go_along(Playing *p, const double v[3], const double omega[3]) {
    const FaPose *felt = &p->stepper.head.felt;
    fai_inertial_start_d(felt, v, omega, p->model->flesh.nnode, p->model->rest, p->w);
    fai_muscle_motion_reset(p->motion, p->shown, p->w, felt);
}

// A muscle that pulls is firm, and so is one whose track leads the flesh: held by forces alone, flesh that is pulled so
// hard would buckle.
static void find_firm(Playing *p) {
    const FaMuscleTracks *t = &p->director->tracks;
    fai_muscle_tracks_sample(t, p->x, p->director->moved);
    for (int m = 0; m < t->nmuscle; m++)
        for (int s = t->first[m]; s < t->first[m + 1]; s++) {
            double d[3];
            fai_v3_sub(p->director->y + 3 * (size_t)s, p->director->moved + 3 * (size_t)s, d);
            p->firm[s] = p->activation[m] + fai_v3_norm(d) / LEAD;
        }
}

// How gravity lets the flesh hang, as if it had lasted for ever.
static FaCode hang(Playing *p, FaError *err) {
    FaMuscleMoment in = {.h = LONG,
                         .activation = p->activation,
                         .pose = p->stepper.head.felt,
                         .pose_x = p->x,
                         .pose_was = p->x,
                         .firm = p->firm};
    fai_felt_gravity(&p->stepper.head, &p->stepper.head.head, in.accel);
    if (in.accel[0] == 0 && in.accel[1] == 0 && in.accel[2] == 0) return FA_OK;
    fai_muscle_motion_reset(p->motion, p->x, NULL, &in.pose);
    for (int i = 0; i < SETTLES; i++) FA_TRY(fai_muscle_motion_step(p->motion, &in, p->shown, NULL, err));
    return FA_OK;
}

static FaCode begin_moving(Playing *p, const FaInput *in, FaError *err) {
    double v[3], omega[3];
    fai_stepper_reset(&p->stepper, &p->m, in);
    fai_stepper_weights(&p->stepper, in, 1, NULL);
    fai_stepper_end(&p->stepper);
    memcpy(p->shown, p->x, 3 * (size_t)p->model->flesh.nnode * sizeof *p->x);
    find_firm(p);
    FA_TRY(hang(p, err));
    fai_felt_velocity(&p->stepper.head, p->m.motion, in->time, v, omega);
    go_along(p, v, omega);
    return FA_OK;
}

// Where the flesh would rest at a part of the way between two inputs.
static void rest_between(Playing *p, const FaStep *step) {
    const size_t n = 3 * (size_t)p->model->flesh.nnode;
    const double part = (double)step->i / step->n;
    double *was = p->rests;
    p->rests = p->rested, p->rested = was;
    for (size_t i = 0; i < n; i++) p->rests[i] = step->last ? p->x[i] : p->from[i] + part * (p->x[i] - p->from[i]);
    for (int i = 0; i < FA_MUSCLES_MOST; i++)
        p->active[i] =
            step->last ? p->activation[i] : p->active_from[i] + part * (p->activation[i] - p->active_from[i]);
}

// One step; where it cannot be solved the flesh is put where it would rest, without a swing.
static FaCode advance(Playing *p, const FaStep *step, FaStats *stats, FaError *err) {
    FaFeltHead *head = &p->stepper.head;
    FaMuscleReport r = {0};
    double v[3], omega[3];
    rest_between(p, step);
    if (step->cut) {
        fai_felt_restart(head, step->motion, step->time, &step->head, step->h, v, omega);
        go_along(p, v, omega);
    }
    FaMuscleMoment in = {.h = step->h,
                         .activation = p->active,
                         .pose = fai_felt_pose(head, &step->head),
                         .pose_x = p->rests,
                         .pose_was = p->rested,
                         .firm = p->firm};
    fai_felt_gravity(head, &step->head, in.accel);
    FaCode rc = fai_muscle_motion_step(p->motion, &in, p->shown, &r, err);
    fai_stepper_felt(&p->stepper, &in.pose, &step->head);
    if (rc < 0 && rc != FA_E_NUMERIC) return rc;
    if (rc < 0) {
        memcpy(p->shown, p->rests, 3 * (size_t)p->model->flesh.nnode * sizeof *p->shown);
        fai_felt_velocity(head, step->motion, step->time, v, omega);
        go_along(p, v, omega);
    }
    if (!stats) return FA_OK;
    stats->iterations += r.iterations, stats->unsolved |= rc != FA_OK;
    stats->clamped += rc != FA_OK;
    return FA_OK;
}

// What has all but come to rest in the neutral, with nothing that moves it, rests to the bit.
static void rest_at_last(Playing *p) {
    const size_t n = 3 * (size_t)p->model->flesh.nnode * sizeof *p->x;
    double g[3];
    fai_felt_gravity(&p->stepper.head, &p->stepper.head.head, g);
    if (memcmp(p->x, p->model->rest, n) != 0 || g[0] != 0 || g[1] != 0 || g[2] != 0) return;
    if (!fai_muscle_motion_calm(p->motion)) return;
    memcpy(p->shown, p->x, n);
    fai_muscle_motion_reset(p->motion, NULL, NULL, &p->stepper.head.felt);
}

static FaCode move(Playing *p, const FaInput *in, FaStats *stats, FaError *err) {
    const size_t n = 3 * (size_t)p->model->flesh.nnode * sizeof *p->x;
    memcpy(p->from, p->x, n);
    memcpy(p->rests, p->x, n);
    memcpy(p->active_from, p->activation, sizeof p->activation);
    FA_TRY(rest(p, in, false, stats, err));
    find_firm(p);
    FaStep step = fai_stepper_begin(&p->stepper, &p->m, in);
    while (fai_stepper_next(&p->stepper, &step, NULL)) FA_TRY(advance(p, &step, stats, err));
    if (stats) stats->skipped = step.skipped;
    fai_stepper_end(&p->stepper);
    rest_at_last(p);
    return FA_OK;
}

// --- the method ---------------------------------------------------------------------------------------------------

static FaCode muscle_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    Playing *p = (Playing *)m;
    memset(p->weights, 0, (size_t)m->rig->nshape * sizeof *p->weights);
    p->worn = 1;
    FA_TRY(rest(p, in, true, NULL, err));
    if (p->motion) FA_TRY(begin_moving(p, in, err));
    output(p, p->motion ? p->shown : p->x, surface);
    return FA_OK;
}

static FaCode muscle_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    Playing *p = (Playing *)m;
    FA_TRY(p->motion ? move(p, in, stats, err) : rest(p, in, false, stats, err));
    output(p, p->motion ? p->shown : p->x, surface);
    return FA_OK;
}

// --- the state ----------------------------------------------------------------------------------------------------

static void muscle_state(FaMethod *m, FaStream *s) {
    Playing *p = (Playing *)m;
    FaMuscleBody *body = p->model->body;
    const size_t nodes = 3 * (size_t)p->model->flesh.nnode * sizeof *p->x;
    FaError none = {0};
    fai_stream(s, p->x, nodes);
    if (p->motion) fai_muscle_motion_state(p->motion, s);
    if (p->motion) fai_stepper_stream(&p->stepper, s);
    if (p->motion) fai_stream(s, p->shown, nodes);
    fai_stream(s, p->factor_x, nodes);
    fai_stream(s, p->factor_active, sizeof p->factor_active);
    fai_stream(s, &p->worn, sizeof p->worn);
    fai_stream(s, &p->time, sizeof p->time);
    fai_stream(s, p->weights, (size_t)m->rig->nshape * sizeof *p->weights);
    if (s->mode == FA_STREAM_SAVE || s->mode == FA_STREAM_HASH) fai_muscle_body_save(body, p->body_state);
    fai_stream(s, p->body_state, fai_muscle_body_state_size(body));
    if (s->mode != FA_STREAM_LOAD) return;
    p->prepared = false;
    const bool moves = aim(p); // springs of the last frame
    if (!moves || fai_muscle_body_load(body, p->body_state, p->x, &none) < 0) lie_down(p);
}

static double farthest(const double *x, const unsigned char *at, int n) {
    double far = 0;
    for (int i = 0; i < n; i++) {
        double was[3], d[3];
        memcpy(was, at + 3 * (size_t)i * sizeof *was, sizeof was);
        fai_v3_sub(x + 3 * (size_t)i, was, d);
        far = fmax(far, fai_v3_dot(d, d));
    }
    return sqrt(far);
}

// Of places, and of what velocities make in a step; both now and a step ago.
static double muscle_distance(const FaMethod *m, const void *state) {
    const Playing *p = (const Playing *)m;
    const int n = p->model->flesh.nnode;
    double far = farthest(p->x, state, n);
    if (!p->motion) return far;
    const unsigned char *at = (const unsigned char *)state + 3 * (size_t)n * sizeof *p->x;
    return fmax(far, fai_muscle_motion_distance(p->motion, at, 1 / p->stepper.rate));
}

const FaMethodOps fai_method_muscle = {
    .name = "muscle",
    .help = "muscles and flesh make the face that the weights ask for",
    .params = muscle_params,
    .needs = FA_NEED_FACE,
    .size = sizeof(Playing),
    .takes = FA_TAKES_FACE,
    .open = muscle_open,
    .reset = muscle_reset,
    .step = muscle_step,
    .state = muscle_state,
    .distance = muscle_distance,
    .close = muscle_close,
};
