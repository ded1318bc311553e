// The projective method: flesh that follows a clip in real time (thesis 001 chapters 5 and 6, on our solver).
//
// A frame is cut into steps of at most 1/rate. In each step the rig's posed surface becomes the goal
// (projective/flesh.h), inertia becomes a prediction y in the head's frame (solve/inertia.h), and the solver finds the
// displacements u that balance them with the flesh's own stiffness and what touches:
//
//     goal, rest pose, y  ->  collect contacts along u -> u'  ->  solve  ->  again while new ones are found  ->  limit
//     ->  u'
//
// Lips that start a frame apart end it apart: what the springs do not hold is stopped short of its impact
// (contact/contact.h). The state is u and velocity now and one step ago, the skin as it was output, bonds, and the last
// input.
#include "projective/projective_method.h"

#include "base/task.h"
#include "energy/tet.h"
#include "face/region_text.h"
#include "math/mat3.h"
#include "math/pose_curve.h"
#include "method/stepper.h"
#include "method/touching.h"
#include "solve/inertia.h"

#include <math.h>

#define PROJECTIVE_PARAMS(X)                                                                                           \
    X(TEXT, face, NAN, 0, 0, "", "FILE.face", "made by fascia build; not given: built from the rig with defaults")     \
    X(CHOICE, flesh, 0, 0, 1, "", "layer|filled",                                                                      \
      "layer: below the skin. filled: all through lips and cheeks, from skin to bone; slower")                         \
    X(CHOICE, model, 0, 0, 1, "", "volume|surface",                                                                    \
      "volume: flesh between skin and bone. surface: springs on the skin alone")                                       \
    X(CHOICE, solver, 0, 0, 2, "", "quick|gs|pd", "how it is solved; gs and pd are only for comparison")               \
    X(CHOICE, svd, 0, 0, 1, "", "exact|taylor", "for comparison only; leave it at exact")                              \
    X(INT, iterations, 8, 1, 1000, "", NULL, "rounds of the solver in a step; more is more exact and slower")          \
    X(NUMBER, rate, 60, 10, 5000, "Hz", NULL, "simulation steps per second, at least; more is smoother and slower")    \
    X(CHOICE, integrator, 0, 0, 1, "", "bdf2|euler", "bdf2: flesh swings after a stop. euler: it calms at once")       \
    X(NUMBER, shear, 3000, 10, 1e7, "Pa", NULL, "stiffness of flesh; 1000 wobbles, 20000 is firm")                     \
    X(NUMBER, bulk, 20000, 0, 1e8, "Pa", NULL, "how hard flesh keeps its volume")                                      \
    X(NUMBER, goal, 8, 0.1, 200, "Hz", NULL, "how firmly the skin follows the clip: 4 is loose, 15 is tight")          \
    X(TEXT, goals, NAN, 0, 0, "", "REGION=X,...",                                                                      \
      "times --goal in regions of the face: cheeks=0.5,lips=2. What hangs free has no goal: hanging=0")                \
    X(NUMBER, bone, 40, 1, 500, "Hz", NULL, "how firmly deep flesh is held by skull and jaw")                          \
    X(NUMBER, drag, 20, 0, 1e4, "1/s", NULL, "how fast a swing dies: 5 swings long, 60 hardly at all")                 \
    X(FLAG, follow, 1, 0, 1, "", NULL,                                                                                 \
      "on: a held pose is reached exactly. off: flesh pulls back to the neutral a little")                             \
    X(NUMBER, head, 1, 0, 10, "", NULL, "how much of the head's motion the flesh feels: 0.5 is half")                  \
    X(NUMBER, gravity, 1, 0, 1, "", NULL,                                                                              \
      "1: the sculpts already sag, so only tilting the head adds sag. 0: full gravity on top of the sculpts")          \
    X(CHOICE, contact, 0, 0, 3, "", "mouth|face|off|openings",                                                         \
      "what may touch: the mouth (where something hangs free the whole face); the whole face (slower); nothing; "      \
      "mouth, skin around it, "                                                                                        \
      "lids")                                                                                                          \
    X(NUMBER, contact_stiffness, 150, 0.1, 1e6, "N/m/mm2", NULL, "how hard touching skin pushes back")                 \
    X(NUMBER, friction, 0.3, 0, 1, "", NULL, "how much touching skin slows sliding skin: 0 slides freely, 1 holds")    \
    X(FLAG, sticky, 1, 0, 1, "", NULL, "lips stick where they touched and part gradually")                             \
    X(TEXT, sticks, NAN, 0, 0, "", "REGION,...", "what sticks where it touches; lips, or more: lips,hanging")          \
    X(NUMBER, sticky_stiffness, 0.3, 0, 1e5, "N/m/mm2", NULL,                                                          \
      "how strongly lips stick: 0.3 parts softly, 2 hardly lets go")                                                   \
    X(NUMBER, sticky_length, 2, 0.05, 50, "mm", NULL, "how far sticking lips stretch before they let go")              \
    X(FLAG, teeth, 1, 0, 1, "", NULL, "flesh is stopped by teeth and bones, where the face has them")                  \
    X(INT, seed, 0, 0, 2147483647, "", NULL, "decides which sticking places let go first")

FAI_PARAMS(projective_params, PROJECTIVE_PARAMS);

enum { MAX_ROWS = 4096, PASSES = 2, RESET_RAMP = 12, RESET_MORE = 30 };
enum { TOUCHING = 8, SETTLES = 4, SETTLE = 24 }; // iterations: of firm goals with rows; rounds and iterations of settle
static const double TOLERANCE = 1e-4;            // of the gradient's fall in a solve
static const double FIRM = 4;     // goals so much stiffer than inertia decide alone where the flesh ends, or nearly
static const double STILL = 2e-8; // m: motions of the whole face below this are not worth a step

typedef struct Projective {
    FaMethod m;
    const FaFace *face;
    FaFlesh *flesh;
    FaTets *tets; // for the posed rest shape; NULL: not followed
    FaProjective *solver;
    FaProjectiveOptions options;
    int *zone;
    FaTouching touching;
    FaContact *contact; // = touching.contact; NULL: off
    FaScheme scheme;
    int iterations;
    double damping;
    bool firm;    // goals outweigh inertia: see move_firm
    double floor; // J

    FaArena *arena; // of everything below

    // scratch of a step
    float *goal_velocity, *anchor, *tet_rest, *y, *start, *u_new, *w_new; // (nnode x 4, nanchor x 4, 9 x tets, ...)
    float *skin_to;                                                       // (nskin x 3)
    FaProjectiveInput input;
    FaProjectiveTimes times;
    int tet_stride;

    // the state
    float *u, *u_last; // displacements now and a step ago                     (nnode x 4)
    float *w, *w_last; // velocities in the world, in the head's axes           (nnode x 4)
    float *goal;       // of the last step                                     (nnode x 4)
    float *skin;       // skin nodes as output                                 (nskin x 3)
    void *bonds;       // contact's own state, while saving and loading
    FaStepper stepper;
    FaPose felt_last; // stepper.head.felt a step ago
    double h_last;    // s; 0: no step before
} Projective;

// --- opening ------------------------------------------------------------------------------------------------------

// The nodes that the solver keeps at hand for contact. Every iteration reads the square of their number, so they are
// few: some 0.2 % of a talking mouth's rows are elsewhere.
static FaCode choose_zone(Projective *p, const unsigned char *touch, FaError *err) {
    enum { MOST = 704 };
    const FaFace *f = p->face;
    p->zone = FA_NEW(MOST, int);
    if (!p->zone) return FA_FAIL_MEMORY(err);
    FaContactSurface surface = {f->nskin, f->ntri, f->tri, f->x0, touch};
    p->options.zone = p->zone;
    return fai_touch_zone(&surface, MOST, p->zone, &p->options.nzone, err);
}

static FaCode open_contact(Projective *p, const FaParams *params, FaError *err) {
    bool sticky = fai_params_at(params, P_sticky) != 0;
    FaTouchOptions o = {.what = (FaTouch)fai_params_at(params, P_contact),
                        .teeth = fai_params_at(params, P_teeth) != 0,
                        .stiffness = fai_params_at(params, P_contact_stiffness),
                        .friction = fai_params_at(params, P_friction),
                        .sticky_stiffness = sticky ? fai_params_at(params, P_sticky_stiffness) : 0,
                        .sticky_length = 1e-3 * fai_params_at(params, P_sticky_length),
                        .max_rows = MAX_ROWS,
                        .seed = (uint64_t)fai_params_at(params, P_seed)};
    FA_TRY(fai_region_list("sticks", fai_params_text_at(params, P_sticks), &o.sticks, err));
    FA_TRY(fai_touching_new(p->face, &o, &p->touching, &p->m.notes, err));
    p->contact = p->touching.contact;
    return p->contact ? choose_zone(p, p->touching.touch, err) : FA_OK;
}

static FaCode open_solver(Projective *p, const FaParams *params, FaError *err) {
    FaFleshOptions o = {.surface = fai_params_at(params, P_model) == 1,
                        .shear = fai_params_at(params, P_shear),
                        .bulk = fai_params_at(params, P_bulk),
                        .goal = fai_params_at(params, P_goal),
                        .bone = fai_params_at(params, P_bone)};
    float *firm = FA_PUSH(p->arena, p->face->nskin, float);
    if (!firm) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < p->face->nskin; i++) firm[i] = 1 - fai_face_hangs(p->face, i);
    FA_TRY(fai_region_numbers(p->face, "goals", fai_params_text_at(params, P_goals), firm, err));
    o.firm = firm;
    FA_TRY(fai_flesh_new(p->m.rig, p->face, &o, &p->flesh, err));
    double eta = (p->scheme == FA_SCHEME_BDF2 ? 2.0 / 3 : 1) / p->stepper.rate;
    p->options.kind = (FaSolveKind)fai_params_at(params, P_solver);
    p->options.svd = (FaSvdKind)fai_params_at(params, P_svd);
    p->options.inertia = (1 + p->damping * eta) / (eta * eta); // as in solve/inertia.c, for the usual step
    p->options.max_rows = MAX_ROWS;
    double turns = 2 * M_PI * o.goal;
    p->firm = turns * turns > FIRM * p->options.inertia && !o.surface && fai_params_at(params, P_follow) != 0;
    double mass = 0;
    for (int i = 0; i < p->flesh->nnode; i++) mass += p->flesh->e.mass[i];
    p->floor = p->options.inertia * mass * STILL * STILL;
    FA_TRY(fai_projective_new(&p->flesh->e, &p->options, &p->solver, err));
    if (fai_params_at(params, P_follow) != 0 && p->flesh->e.ntet) FA_TRY(fai_tets_new(&p->flesh->e, &p->tets, err));
    return FA_OK;
}

// All from the arena: the kernels want fields aligned to 16 bytes.
static FaCode open_buffers(Projective *p, FaError *err) {
    size_t n = 4 * (size_t)p->flesh->nnode, skin = 3 * (size_t)p->face->nskin;
    p->tet_stride = (p->flesh->e.ntet + 7) / 8 * 8;
    const struct {
        float **to;
        size_t size;
    } field[] = {{&p->goal_velocity, n},
                 {&p->y, n},
                 {&p->start, n},
                 {&p->u_new, n},
                 {&p->w_new, n},
                 {&p->u, n},
                 {&p->u_last, n},
                 {&p->w, n},
                 {&p->w_last, n},
                 {&p->goal, n},
                 {&p->anchor, 4 * (size_t)p->flesh->e.nanchor},
                 {&p->tet_rest, p->tets ? 9 * (size_t)p->tet_stride : 0},
                 {&p->skin_to, skin},
                 {&p->skin, skin}};
    for (int i = 0; i < FA_COUNT(field); i++)
        if (!(*field[i].to = FA_PUSH(p->arena, field[i].size + 1, float))) return FA_FAIL_MEMORY(err);
    if (p->contact) p->bonds = fai_arena_push(p->arena, 1, fai_contact_state_size(p->contact));
    return p->contact && !p->bonds ? FA_FAIL_MEMORY(err) : FA_OK;
}

static FaCode projective_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    Projective *p = (Projective *)m;
    const FaParams *params = setup->params;
    p->scheme = fai_params_at(params, P_integrator) == 0 ? FA_SCHEME_BDF2 : FA_SCHEME_EULER;
    p->iterations = (int)fai_params_at(params, P_iterations);
    p->damping = fai_params_at(params, P_drag);
    p->arena = fai_arena_new(0);
    if (!p->arena) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_stepper_init(&p->stepper, m->rig, fai_params_at(params, P_rate), fai_params_at(params, P_head),
                            fai_params_at(params, P_gravity), p->arena, err));
    p->felt_last = fai_pose_identity();
    FA_TRY(fai_method_face(m, setup, P_face, P_flesh, err));
    p->face = m->face;
    FA_TRY(open_contact(p, params, err));
    FA_TRY(open_solver(p, params, err));
    return open_buffers(p, err);
}

FaCode fa_projective_contact(FaParams *params, FaError *err) {
    static const struct {
        int at;
        double value;
    } firm[] = {{P_goal, 60}, {P_drag, 60},  {P_iterations, 1}, {P_contact, FA_TOUCH_OPENINGS},
                {P_head, 0},  {P_sticky, 0}, {P_teeth, 0}};
    for (int i = 0; i < FA_COUNT(firm); i++) {
        const FaParamInfo *p = &projective_params[firm[i].at];
        if (fai_params_at(params, firm[i].at) == p->value)
            FA_TRY(fa_params_set_number(params, p->name, firm[i].value, err));
    }
    return FA_OK;
}

static void projective_close(FaMethod *m) {
    Projective *p = (Projective *)m;
    fai_projective_free(p->solver);
    fai_tets_free(p->tets);
    fai_flesh_free(p->flesh);
    fai_touching_free(&p->touching);
    fai_arena_free(p->arena);
    fa_free(p->zone);
}

// --- a step -------------------------------------------------------------------------------------------------------

// The goal as rest shape: as it is, crushed or turned inside out where a rig's shapes do that: only so is the pose
// itself without force.
static void pose_rest(Projective *p) {
    int clamped;
    fai_tets_pose(p->tets, p->goal, -1, p->tet_rest, &clamped);
    p->input.frame.tet_rest = p->tet_rest;
}

// Goals, anchors and rest shape for p->stepper.weights; how fast the goals move to get there in h.
// target (nullable): the surface wanted instead, and how far towards it.
static void aim(Projective *p, double h, const float *target, double share, FaStats *stats) {
    double begin = fai_seconds();
    size_t n = 4 * (size_t)p->flesh->nnode;
    float rate = (float)(1 / h);
    memcpy(p->goal_velocity, p->goal, n * sizeof(float));
    if (target) {
        int odd = fai_flesh_goal_at(p->flesh, p->stepper.weights, target, share, p->goal);
        if (stats) stats->clamped += odd;
    } else
        fai_flesh_goal(p->flesh, p->stepper.weights, p->goal);
    for (size_t i = 0; i < n; i++) p->goal_velocity[i] = (p->goal[i] - p->goal_velocity[i]) * rate;
    fai_flesh_anchors(p->flesh, p->goal, p->anchor);
    p->input.frame = (FaElasticFrame){.anchor = p->anchor, .tet_stride = p->tet_stride};
    p->input.rested = p->firm;
    if (p->tets && !p->firm) pose_rest(p);
    p->times.goal += fai_seconds() - begin;
}

static const float *rest_of(const Projective *p) { return p->contact ? p->touching.rest : p->face->x0; }

static void skin_of(const Projective *p, const float *u, float *skin) {
    const float *x0 = rest_of(p);
    for (int i = 0; i < p->face->nskin; i++)
        for (int k = 0; k < 3; k++)
            skin[3 * (size_t)i + (size_t)k] = x0[3 * (size_t)i + (size_t)k] + u[4 * (size_t)i + (size_t)k];
}

static FaCode solve(Projective *p, int iterations, FaStats *stats, FaError *err) {
    double begin = fai_seconds();
    p->input.row = p->contact ? fai_contact_rows(p->contact, &p->input.nrow) : NULL;
    if (!p->contact) p->input.nrow = 0;
    p->input.iterations = iterations;
    p->input.tolerance = TOLERANCE;
    p->input.floor = p->floor;
    bool once = fai_projective_once(p->solver, &p->input);
    if (p->firm && p->input.nrow && !once) p->input.iterations = FA_MAX(iterations, TOUCHING);
    if (p->input.rested && !p->input.frame.tet_rest && !once) pose_rest(p);
    FaCode rc = fai_projective_solve(p->solver, &p->input, p->u_new, &p->times.report, err);
    p->times.solve += fai_seconds() - begin;
    if (stats) {
        stats->iterations += p->times.report.iterations;
        stats->residual = p->times.report.energy[FA_MIN(p->times.report.iterations, FA_SOLVE_LOG)];
    }
    return rc;
}

// No frame ends crossed; what was stopped short is no longer where the solve put it.
static void limit(Projective *p, FaStats *stats) {
    const float *x0 = rest_of(p);
    int limited = fai_contact_limit(p->contact, p->skin, p->skin_to);
    if (stats) stats->held += fai_contact_stats(p->contact).held;
    if (limited == 0) return;
    for (int i = 0; i < p->face->nskin; i++)
        for (size_t k = 0; k < 3; k++) {
            size_t x = 3 * (size_t)i + k, u = 4 * (size_t)i + k;
            if (p->skin_to[x] != x0[x] + p->u_new[u]) p->u_new[u] = p->skin_to[x] - x0[x];
        }
}

static void begin_contact(Projective *p, double h) {
    FaPose pose[FA_TOUCH_COLLIDERS];
    fai_touching_poses(&p->touching, p->face, p->stepper.weights, pose);
    fai_contact_begin(p->contact, h, p->skin, pose);
    fai_contact_own_pose(p->contact, p->goal);
}

// What the way to u_new meets: how many new rows do.
static int look(Projective *p) {
    skin_of(p, p->u_new, p->skin_to);
    return fai_contact_collect(p->contact, p->skin, p->skin_to);
}

// Rows are far stiffer than goals. A solve that ends early leaves single nodes where a few of its rows threw them, and
// edges torn that the whole of the rows would not tear; then it goes on, as long as that helps.
static FaCode settle(Projective *p, FaStats *stats, FaError *err) {
    int strained = p->contact ? fai_contact_strained(p->contact, p->skin_to) : 0;
    for (int round = 0; round < SETTLES && strained > 0 && !fai_contact_spent(p->contact); round++) {
        FA_TRY(solve(p, SETTLE, stats, err));
        double begin = fai_seconds();
        look(p);
        p->times.contact += fai_seconds() - begin;
        int left = fai_contact_strained(p->contact, p->skin_to);
        if (left >= strained) break;
        strained = left;
    }
    return FA_OK;
}

// Goals far firmer than inertia: the end is near the goal, where the flesh rests, so that the solve starts there
// (rested). First as if nothing touched; where that meets something on its way, again from the goal, with rows for all
// that was found.
static FaCode move_firm(Projective *p, double h, FaStats *stats, FaError *err) {
    size_t size = 4 * (size_t)p->flesh->nnode * sizeof(float);
    double begin = fai_seconds();
    memcpy(p->start, p->goal, size);
    if (p->contact) begin_contact(p, h);
    p->times.contact += fai_seconds() - begin;
    for (int pass = 0; pass <= PASSES; pass++) {
        memcpy(p->u_new, p->start, size);
        FA_TRY(solve(p, p->iterations, stats, err));
        if (!p->contact) break;
        begin = fai_seconds();
        int found = look(p);
        p->times.contact += fai_seconds() - begin;
        if (!found) break;
    }
    FA_TRY(settle(p, stats, err));
    begin = fai_seconds();
    if (!p->contact)
        skin_of(p, p->u_new, p->skin_to);
    else if (!fai_contact_clear(p->contact))
        limit(p, stats);
    p->times.contact += fai_seconds() - begin;
    return FA_OK;
}

// From u to u_new: y and the goals are set. Ends with the skin as it will be output.
static FaCode move(Projective *p, double h, FaStats *stats, FaError *err) {
    if (p->firm) return move_firm(p, h, stats, err);
    size_t n = 4 * (size_t)p->flesh->nnode;
    // start where the goal's motion carries the flesh: nearer to the end than inertia alone, as the rest shape goes
    // along
    float span = (float)h;
    for (size_t i = 0; i < n; i++) p->u_new[i] = p->start[i] = 0.5f * (p->y[i] + p->u[i] + span * p->goal_velocity[i]);
    if (!p->contact) {
        FA_TRY(solve(p, p->iterations, stats, err));
        skin_of(p, p->u_new, p->skin_to);
        return FA_OK;
    }
    double begin = fai_seconds();
    begin_contact(p, h);
    look(p);
    p->times.contact += fai_seconds() - begin;
    // all iterations with what the start touches; then, where the path to the end meets more, some for that as well
    int budget = p->iterations;
    for (int pass = 0; pass < PASSES; pass++) {
        FA_TRY(solve(p, budget, stats, err));
        begin = fai_seconds();
        int found = 0;
        if (pass + 1 < PASSES)
            found = look(p);
        else
            skin_of(p, p->u_new, p->skin_to);
        p->times.contact += fai_seconds() - begin;
        if (!found) break;
        budget = FA_MAX(p->iterations / 4, 1);
    }
    FA_TRY(settle(p, stats, err));
    begin = fai_seconds();
    limit(p, stats);
    p->times.contact += fai_seconds() - begin;
    return FA_OK;
}

static void swap(float **a, float **b) {
    float *t = *a;
    *a = *b;
    *b = t;
}

static FaCode advance(Projective *p, double h, const FaPose *to, FaStats *stats, FaError *err) {
    FaInertia in = {.scheme = p->h_last > 0 ? p->scheme : FA_SCHEME_EULER,
                    .nnode = p->flesh->nnode,
                    .x0 = p->flesh->e.x0,
                    .h = h,
                    .h_before = p->h_last,
                    .pose = fai_felt_pose(&p->stepper.head, to),
                    .now = {.pose = p->stepper.head.felt, .u = p->u, .w = p->w},
                    .before = {.pose = p->felt_last, .u = p->u_last, .w = p->w_last},
                    .damping = p->damping,
                    .goal_velocity = p->goal_velocity};
    fai_felt_gravity(&p->stepper.head, to, in.accel);
    p->input.inertia = fai_inertial_prediction(&in, p->y);
    p->input.y = p->y;
    FA_TRY(move(p, h, stats, err));
    fai_inertial_velocity(&in, p->u_new, p->w_new, NULL);
    if (p->contact) {
        fai_contact_end(p->contact, p->skin_to, p->w_new);
        p->times.touching = fai_contact_stats(p->contact);
    }
    // now becomes the last, the new becomes now
    swap(&p->u_last, &p->u);
    swap(&p->u, &p->u_new);
    swap(&p->w_last, &p->w);
    swap(&p->w, &p->w_new);
    swap(&p->skin, &p->skin_to);
    p->felt_last = p->stepper.head.felt;
    fai_stepper_felt(&p->stepper, &in.pose, to);
    p->h_last = h;
    return FA_OK;
}

// --- the method ---------------------------------------------------------------------------------------------------

static void output(Projective *p, float *surface) {
    double begin = fai_seconds();
    fai_flesh_surface(p->flesh, p->skin, surface);
    p->times.output += fai_seconds() - begin;
}

// At rest in a pose: go there from the neutral, where nothing crosses, slowly and without momentum, so that lips meet
// on the way.
static FaCode projective_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    Projective *p = (Projective *)m;
    size_t n = 4 * (size_t)p->flesh->nnode;
    float *zero[] = {p->u, p->u_last, p->w, p->w_last, p->goal};
    for (int i = 0; i < FA_COUNT(zero); i++) memset(zero[i], 0, n * sizeof(float));
    memcpy(p->skin, rest_of(p), 3 * (size_t)p->face->nskin * sizeof(float));
    if (p->contact) fai_contact_reset(p->contact, p->skin);
    fai_stepper_reset(&p->stepper, m, in);
    p->felt_last = p->stepper.head.felt;
    p->h_last = 0;
    double h = 1 / p->stepper.rate, g[3];
    fai_felt_gravity(&p->stepper.head, &p->stepper.head.head, g);
    bool moves = g[0] != 0 || g[1] != 0 || g[2] != 0;
    moves |= in->target && memcmp(in->target, m->rig->mesh.x, 3 * (size_t)m->rig->mesh.nvert * sizeof(float)) != 0;
    for (int i = 0; i < m->rig->nshape; i++) moves |= isfinite(in->weights[i]) && in->weights[i] != 0;
    for (int i = 1; moves && i <= RESET_RAMP + RESET_MORE; i++) {
        fai_stepper_weights(&p->stepper, in, fmin(1, (double)i / RESET_RAMP), NULL);
        aim(p, h, in->target, 1.0 / FA_MAX(RESET_RAMP - i + 1, 1), NULL);
        FA_TRY(advance(p, h, &p->stepper.head.head, NULL, err));
        memset(p->w, 0, n * sizeof(float));
        p->h_last = 0;
    }
    fai_stepper_weights(&p->stepper, in, 1, NULL);
    if (!moves) aim(p, h, NULL, 1, NULL);
    fai_stepper_end(&p->stepper);
    memcpy(p->u_last, p->u, n * sizeof(float));
    if (m->motion) {
        double v[3], omega[3];
        fai_felt_velocity(&p->stepper.head, m->motion, in->time, v, omega);
        fai_inertial_start(&p->stepper.head.head, v, omega, p->flesh->nnode, p->flesh->e.x0, p->w);
    }
    output(p, surface);
    return FA_OK;
}

// After a cut of the head the flesh stays as it is in it and begins anew, without a swing.
static void restart(Projective *p, const FaStep *step) {
    double v[3], omega[3];
    size_t n = 4 * (size_t)p->flesh->nnode;
    fai_felt_restart(&p->stepper.head, step->motion, step->time, &step->head, step->h, v, omega);
    fai_inertial_start(&p->stepper.head.felt, v, omega, p->flesh->nnode, p->flesh->e.x0, p->w);
    memcpy(p->u_last, p->u, n * sizeof(float));
    memcpy(p->w_last, p->w, n * sizeof(float));
    p->felt_last = p->stepper.head.felt;
    p->h_last = 0;
}

static FaCode projective_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    Projective *p = (Projective *)m;
    p->times.goal = p->times.contact = p->times.solve = p->times.output = 0;
    FaStep step = fai_stepper_begin(&p->stepper, m, in);
    while (fai_stepper_next(&p->stepper, &step, stats)) {
        if (step.cut) restart(p, &step);
        aim(p, step.h, in->target, step.share, step.last ? stats : NULL);
        FA_TRY(advance(p, step.h, &step.head, stats, err));
    }
    fai_stepper_end(&p->stepper);
    output(p, surface);
    return FA_OK;
}

static const float *projective_linear(const FaMethod *m) { return ((const Projective *)m)->flesh->linear; }

// Columns of limited skin go back towards their goal; they move on as the flesh does on the whole, without a swing.
static void projective_limited(FaMethod *m, const float *keep) {
    Projective *p = (Projective *)m;
    int nnode = p->flesh->nnode, n = 0;
    double mean[3] = {0};
    for (int i = 0; i < nnode; i++) {
        if (keep[p->face->skin_vertex[fai_face_above(p->face, i)]] < 1) continue;
        for (int k = 0; k < 3; k++) mean[k] += (double)p->w[4 * (size_t)i + (size_t)k];
        n++;
    }
    for (int i = 0; i < nnode; i++) {
        float g = keep[p->face->skin_vertex[fai_face_above(p->face, i)]];
        for (size_t k = 0; k < 3 && g < 1; k++) {
            size_t x = 4 * (size_t)i + k;
            p->u[x] = p->goal[x] + g * (p->u[x] - p->goal[x]);
            p->w[x] = g * p->w[x] + (1 - g) * (float)(mean[k] / FA_MAX(n, 1));
        }
    }
    skin_of(p, p->u, p->skin);
    p->h_last = 0;
}

static void projective_state(FaMethod *m, FaStream *s) {
    Projective *p = (Projective *)m;
    size_t n = 4 * (size_t)p->flesh->nnode * sizeof(float);
    float *node[] = {p->u, p->u_last, p->w, p->w_last, p->goal};
    for (int i = 0; i < FA_COUNT(node); i++) fai_stream(s, node[i], n);
    fai_stream(s, p->skin, 3 * (size_t)p->face->nskin * sizeof(float));
    fai_stepper_stream(&p->stepper, s);
    fai_stream(s, &p->felt_last, sizeof p->felt_last);
    fai_stream(s, &p->h_last, sizeof p->h_last);
    if (!p->contact) return;
    if (s->mode != FA_STREAM_LOAD) fai_contact_save(p->contact, p->bonds);
    fai_stream(s, p->bonds, fai_contact_state_size(p->contact));
    if (s->mode == FA_STREAM_LOAD) fai_contact_load(p->contact, p->bonds, NULL);
}

// Positions, and what velocities make in a step.
static double projective_distance(const FaMethod *m, const void *state) {
    const Projective *p = (const Projective *)m;
    size_t n = 4 * (size_t)p->flesh->nnode;
    const float *node[] = {p->u, p->u_last, p->w, p->w_last};
    double worst = 0, scale[] = {1, 1, 1 / p->stepper.rate, 1 / p->stepper.rate};
    for (size_t a = 0; a < FA_COUNT(node); a++)
        for (size_t i = 0; i < n; i++) {
            float was;
            memcpy(&was, (const unsigned char *)state + (a * n + i) * sizeof(float), sizeof was);
            worst = fmax(worst, scale[a] * fabs((double)node[a][i] - (double)was));
        }
    return worst;
}

FaProjectiveProblem fai_projective_problem(const FaMethod *m) {
    const Projective *p = (const Projective *)m;
    return (FaProjectiveProblem){.flesh = p->flesh, .options = p->options, .input = p->input, .start = p->start};
}

const FaProjectiveTimes *fai_projective_times(const FaMethod *m) { return &((const Projective *)m)->times; }

const FaMethodOps fai_method_projective = {
    .name = "projective",
    .help = "flesh in real time: volume, inertia, lips that press and stick",
    .params = projective_params,
    .needs = FA_NEED_FACE,
    .size = sizeof(Projective),
    .takes = FA_TAKES_FACE,
    .open = projective_open,
    .reset = projective_reset,
    .step = projective_step,
    .state = projective_state,
    .distance = projective_distance,
    .linear = projective_linear,
    .limited = projective_limited,
    .close = projective_close,
};
