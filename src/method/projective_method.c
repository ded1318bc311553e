// The projective method: flesh that follows a clip in real time (thesis 001 chapters 5 and 6, on our solver).
//
// A frame is cut into steps of at most 1/rate. In each step the rig's posed surface becomes the goal (method/flesh.h), inertia
// becomes a prediction y in the head's frame (solve/inertia.h), and the solver finds the displacements u that balance them
// with the flesh's own stiffness and what touches:
//
//     goal, rest pose, y  ->  collect contacts along u -> u'  ->  solve  ->  again while new ones are found  ->  limit  ->  u'
//
// Lips that start a frame apart end it apart: what the springs do not hold is stopped short of its impact (contact/contact.h).
// The state is u and velocity now and one step ago, the skin as it was output, bonds, and the last input.
#include "method/projective_method.h"

#include "base/task.h"
#include "energy/tet.h"
#include "math/mat3.h"
#include "math/pose_curve.h"
#include "method/head_force.h"
#include "solve/inertia.h"

#include <math.h>

#define PROJECTIVE_PARAMS(X)                                                                                           \
    X(TEXT, face, NAN, 0, 0, "", NULL, "a face made by fascia build; not given: built from the rig with defaults")     \
    X(CHOICE, model, 0, 0, 1, "", "volume|surface", "flesh between skin and bone, or springs on the skin alone")       \
    X(CHOICE, solver, 0, 0, 2, "", "quick|gs|pd", "ours; the thesis's Gauss-Seidel-L-BFGS; plain projective dynamics") \
    X(CHOICE, svd, 0, 0, 1, "", "exact|taylor", "decompositions of the flesh's strain: exact, or the thesis's expansion") \
    X(INT, iterations, 8, 1, 1000, "", NULL, "of the solver in a step")                                                \
    X(NUMBER, rate, 60, 10, 5000, "Hz", NULL, "steps per second, at least")                                            \
    X(CHOICE, integrator, 0, 0, 1, "", "bdf2|euler", "bdf2 lets flesh ring; euler, the thesis's, calms it at once")    \
    X(NUMBER, shear, 3000, 10, 1e7, "Pa", NULL, "stiffness of flesh; 1000 wobbles, 20000 is firm")                     \
    X(NUMBER, bulk, 20000, 0, 1e8, "Pa", NULL, "how hard flesh keeps its volume")                                      \
    X(NUMBER, goal, 8, 0.1, 200, "Hz", NULL, "how firmly 6 mm of flesh follow the clip; thicker tissue less")          \
    X(NUMBER, bone, 40, 1, 500, "Hz", NULL, "how firmly deep flesh hangs on skull and jaw")                            \
    X(NUMBER, damping, 20, 0, 1e4, "1/s", NULL, "how fast a swing dies: its rate, on top of the integrator's own")     \
    X(FLAG, follow, 1, 0, 1, "", NULL, "a held pose is met exactly: the flesh's rest follows the clip")                \
    X(NUMBER, head, 1, 0, 10, "", NULL, "share of the head's motion that the flesh feels")                             \
    X(NUMBER, gravity, 1, 0, 1, "", NULL, "how much of gravity the sculpted shapes hold already")                      \
    X(CHOICE, contact, 0, 0, 2, "", "mouth|face|off", "what may touch")                                                \
    X(NUMBER, contact_stiffness, 150, 0.1, 1e6, "N/m/mm2", NULL, "of touching skin, per area")                         \
    X(NUMBER, friction, 0.3, 0, 1, "", NULL, "share of sliding speed lost per 1/60 s of touch")                        \
    X(FLAG, sticky, 1, 0, 1, "", NULL, "lips stick where they touched and part gradually")                             \
    X(NUMBER, sticky_stiffness, 0.3, 0, 1e5, "N/m/mm2", NULL, "of lips that stick, per area; 1 tears, 2 hardly parts") \
    X(NUMBER, sticky_length, 2, 0.05, 50, "mm", NULL, "a bond of this length breaks with 10 % per 1/60 s")             \
    X(FLAG, teeth, 1, 0, 1, "", NULL, "flesh slides on teeth and other bones given, where the face has them")          \
    X(INT, seed, 0, 0, 2147483647, "", NULL, "of the bonds' breaking")

enum {
#define X(type, name, value, min, max, unit, choices, help) P_##name,
    PROJECTIVE_PARAMS(X)
#undef X
};

static const FaParamInfo projective_params[] = {
#define X(type, name, value, min, max, unit, choices, help)                                                            \
    {#name, FA_PARAM_##type, value, min, max, unit, choices, help},
    PROJECTIVE_PARAMS(X)
#undef X
        {0}};

enum { MAX_ROWS = 4096, MAX_COLLIDERS = 8, PASSES = 2, RESET_RAMP = 12, RESET_MORE = 30 };
static const double TOLERANCE = 1e-4;               // of the gradient's fall in a solve
static const double STILL = 2e-8;                   // m: motions of the whole face below this are not worth a step
static const float TOUCHES = 0.05f, STICKS = 0.3f;  // of the regions' weights

typedef struct Projective {
    FaMethod m;
    FaFace *owned;  // built or loaded here; NULL: the caller's
    const FaFace *face;
    FaFlesh *flesh;
    FaTets *tets;  // for the posed rest shape; NULL: not followed
    FaProjective *solver;
    FaProjectiveOptions options;
    int *zone;
    FaContact *contact;  // NULL: off
    int ncollider;
    bool collider_jaw[MAX_COLLIDERS];  // moves with the jaw
    FaScheme scheme;
    int iterations;
    double rate, damping, share, gravity, up[3];
    double floor;  // J

    FaArena *arena;  // of everything below

    // scratch of a step
    float *goal_velocity, *anchor, *tet_rest, *y, *start, *u_new, *w_new;  // (nnode x 4, nanchor x 4, 9 x tets, ...)
    float *skin_to;                                              // (nskin x 3)
    float *weights;                                              // (nshape)
    FaProjectiveInput input;
    FaProjectiveTimes times;
    int tet_stride;

    // the state
    float *u, *u_last;               // displacements now and a step ago                     (nnode x 4)
    float *w, *w_last;               // velocities in the world, in the head's axes           (nnode x 4)
    float *goal;                     // of the last step                                     (nnode x 4)
    float *skin;                     // skin nodes as output                                 (nskin x 3)
    float *last_weights;             //                                                      (nshape)
    void *bonds;                     // contact's own state, while saving and loading
    FaPose head;                     // the last input's
    FaPose felt, felt_last;          // the same, as much of its motion as the flesh feels; a step ago
    double h_last;                   // s; 0: no step before
} Projective;

// --- opening ------------------------------------------------------------------------------------------------------

static FaCode get_face(Projective *p, const char *path, const FaFace *given, FaError *err) {
    if (given)
        p->face = given;
    else if (path[0])
        FA_TRY(fa_face_load(path, &p->owned, err));
    else
        FA_TRY(fa_face_build(p->m.rig, NULL, &p->owned, err));
    if (!given) p->face = p->owned;
    return fa_face_fits(p->face, p->m.rig, err);
}

// The nodes that the solver keeps at hand for contact. Every iteration reads the square of their number, so they are few: some
// 0.2 % of a talking mouth's rows are elsewhere.
static FaCode choose_zone(Projective *p, const unsigned char *touch, FaError *err) {
    enum { MOST = 704 };
    const FaFace *f = p->face;
    p->zone = FA_NEW(MOST, int);
    if (!p->zone) return FA_FAIL_MEMORY(err);
    FaContactSurface surface = {f->nskin, f->ntri, f->tri, f->x0, touch};
    p->options.zone = p->zone;
    return fai_touch_zone(&surface, MOST, p->zone, &p->options.nzone, err);
}

// Teeth, and what the user gave beside skull and jaw; eyeballs where the whole face may touch.
static int add_colliders(Projective *p, bool eyes, FaCollider *collider) {
    const FaFace *f = p->face;
    int n = 0;
    for (int b = 0; b < f->nbone && n < MAX_COLLIDERS; b++) {
        const FaBone *bone = &f->bone[b];
        bool teeth = bone->kind == FA_BONE_TEETH_UPPER || bone->kind == FA_BONE_TEETH_LOWER;
        if (!teeth && bone->kind != FA_BONE_OTHER && !(eyes && bone->kind == FA_BONE_EYE)) continue;
        collider[n] = (FaCollider){bone->nvert, bone->ntri, bone->x, bone->tri};
        p->collider_jaw[n++] = bone->with_jaw;
    }
    return n;
}

// Skin around one node that may touch, mm2: rows are springs of that much skin, so that a finer mesh is not stiffer.
static double touch_area(const FaFace *f, const unsigned char *touch) {
    double sum = 0;
    int n = 0;
    for (int t = 0; t < f->ntri; t++) {
        const int *c = f->tri + 3 * (size_t)t;
        double a[3], b[3], d[3], cross[3];
        if (!(touch[c[0]] & touch[c[1]] & touch[c[2]] & 1)) continue;
        fai_v3_load(f->x0, c[0], a);
        fai_v3_load(f->x0, c[1], b);
        fai_v3_load(f->x0, c[2], d);
        fai_v3_sub(b, a, b);
        fai_v3_sub(d, a, d);
        fai_v3_cross(b, d, cross);
        sum += 0.5e6 * fai_v3_norm(cross);
    }
    for (int i = 0; i < f->nskin; i++) n += touch[i] & 1;
    return fmax(sum / FA_MAX(n, 1), 1e-3);
}

static FaCode open_contact(Projective *p, const FaParams *params, FaError *err) {
    const FaFace *f = p->face;
    int what = (int)fai_params_at(params, P_contact);
    if (what == 2) return FA_OK;
    unsigned char *touch = FA_NEW(f->nskin, unsigned char);
    if (!touch) return FA_FAIL_MEMORY(err);
    int touching = 0;
    for (int i = 0; i < f->nskin; i++) {
        bool in = what == 1 || f->region[FA_REGION_MOUTH][i] > TOUCHES;
        bool sticks = f->region[FA_REGION_LIP_UPPER][i] > STICKS || f->region[FA_REGION_LIP_LOWER][i] > STICKS;
        touch[i] = (unsigned char)((in ? 1 : 0) | (in && sticks ? 2 : 0));
        touching += in;
    }
    if (!touching) {
        fai_note(&p->m.notes, "no-mouth", "", "paint the region 'mouth', or give --contact face", "no mouth was found: nothing touches");
        fa_free(touch);
        return FA_OK;
    }
    FaCollider collider[MAX_COLLIDERS];
    p->ncollider = fai_params_at(params, P_teeth) != 0 ? add_colliders(p, what == 1, collider) : 0;
    bool sticky = fai_params_at(params, P_sticky) != 0;
    double area = touch_area(f, touch);
    FaContactOptions o = {.stiffness = area * fai_params_at(params, P_contact_stiffness),
                          .friction = fai_params_at(params, P_friction),
                          .sticky_stiffness = sticky ? area * fai_params_at(params, P_sticky_stiffness) : 0,
                          .sticky_length = 1e-3 * fai_params_at(params, P_sticky_length),
                          .sticky_break = 0.1,
                          .max_rows = MAX_ROWS,
                          .seed = (uint64_t)fai_params_at(params, P_seed)};
    FaContactSurface surface = {f->nskin, f->ntri, f->tri, f->x0, touch};
    FaCode rc = fai_contact_new(&surface, p->ncollider, collider, &o, &p->contact, err);
    if (rc >= 0) rc = choose_zone(p, touch, err);
    fa_free(touch);
    return rc;
}

static FaCode open_solver(Projective *p, const FaParams *params, FaError *err) {
    FaFleshOptions o = {.surface = fai_params_at(params, P_model) == 1,
                        .shear = fai_params_at(params, P_shear),
                        .bulk = fai_params_at(params, P_bulk),
                        .goal = fai_params_at(params, P_goal),
                        .bone = fai_params_at(params, P_bone)};
    FA_TRY(fai_flesh_new(p->m.rig, p->face, &o, &p->flesh, err));
    double eta = (p->scheme == FA_SCHEME_BDF2 ? 2.0 / 3 : 1) / p->rate;
    p->options.kind = (FaSolveKind)fai_params_at(params, P_solver);
    p->options.svd = (FaSvdKind)fai_params_at(params, P_svd);
    p->options.inertia = (1 + p->damping * eta) / (eta * eta);  // as in solve/inertia.c, for the usual step
    p->options.max_rows = MAX_ROWS;
    double mass = 0;
    for (int i = 0; i < p->flesh->nnode; i++) mass += p->flesh->e.mass[i];
    p->floor = p->options.inertia * mass * STILL * STILL;
    FA_TRY(fai_projective_new(&p->flesh->e, &p->options, &p->solver, err));
    if (fai_params_at(params, P_follow) != 0 && p->flesh->e.ntet) FA_TRY(fai_tets_new(&p->flesh->e, &p->tets, err));
    return FA_OK;
}

// All from the arena: the kernels want fields aligned to 16 bytes.
static FaCode open_buffers(Projective *p, FaError *err) {
    size_t n = 4 * (size_t)p->flesh->nnode, skin = 3 * (size_t)p->face->nskin, shapes = (size_t)p->m.rig->nshape;
    p->tet_stride = (p->flesh->e.ntet + 7) / 8 * 8;
    p->arena = fai_arena_new(0);
    if (!p->arena) return FA_FAIL_MEMORY(err);
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
                 {&p->skin, skin},
                 {&p->weights, shapes},
                 {&p->last_weights, shapes}};
    for (int i = 0; i < FA_COUNT(field); i++)
        if (!(*field[i].to = FA_PUSH(p->arena, field[i].size + 1, float))) return FA_FAIL_MEMORY(err);
    if (p->contact) p->bonds = fai_arena_push(p->arena, 1, fai_contact_state_size(p->contact));
    return p->contact && !p->bonds ? FA_FAIL_MEMORY(err) : FA_OK;
}

static FaCode projective_open(FaMethod *m, const FaParams *params, const void *extra, FaError *err) {
    Projective *p = (Projective *)m;
    p->scheme = fai_params_at(params, P_integrator) == 0 ? FA_SCHEME_BDF2 : FA_SCHEME_EULER;
    p->iterations = (int)fai_params_at(params, P_iterations);
    p->rate = fai_params_at(params, P_rate);
    p->damping = fai_params_at(params, P_damping);
    p->share = fai_params_at(params, P_head);
    p->gravity = fai_params_at(params, P_gravity);
    memcpy(p->up, m->rig->axes + 3, sizeof p->up);
    p->head = p->felt = p->felt_last = fai_pose_identity();
    FA_TRY(get_face(p, fai_params_text_at(params, P_face), extra, err));
    FA_TRY(open_contact(p, params, err));
    FA_TRY(open_solver(p, params, err));
    return open_buffers(p, err);
}

FaCode fa_projective_open(const FaRig *rig, const FaFace *face, const FaParams *params, FaMethod **method, FaError *err) {
    return fai_method_new(&fai_method_projective, rig, params, face, method, err);
}

static void projective_close(FaMethod *m) {
    Projective *p = (Projective *)m;
    fai_projective_free(p->solver);
    fai_tets_free(p->tets);
    fai_flesh_free(p->flesh);
    fai_contact_free(p->contact);
    fa_face_free(p->owned);
    fai_arena_free(p->arena);
    fa_free(p->zone);
}

// --- a step -------------------------------------------------------------------------------------------------------

// Goals, anchors and rest shape for p->weights; how fast the goals move to get there in h.
static void aim(Projective *p, double h) {
    double begin = fai_seconds();
    size_t n = 4 * (size_t)p->flesh->nnode;
    float rate = (float)(1 / h);
    memcpy(p->goal_velocity, p->goal, n * sizeof(float));
    fai_flesh_goal(p->flesh, p->weights, p->goal);
    for (size_t i = 0; i < n; i++) p->goal_velocity[i] = (p->goal[i] - p->goal_velocity[i]) * rate;
    fai_flesh_anchors(p->flesh, p->goal, p->anchor);
    p->input.frame = (FaElasticFrame){.anchor = p->anchor, .tet_stride = p->tet_stride};
    if (p->tets) {
        // as it is, crushed or turned inside out where a rig's shapes do that: only so is the pose itself without force
        int clamped;
        fai_tets_pose(p->tets, p->goal, -1, p->tet_rest, &clamped);
        p->input.frame.tet_rest = p->tet_rest;
    }
    p->times.goal += fai_seconds() - begin;
}

static void skin_of(const Projective *p, const float *u, float *skin) {
    const float *x0 = p->face->x0;
    for (int i = 0; i < p->face->nskin; i++)
        for (int k = 0; k < 3; k++) skin[3 * (size_t)i + (size_t)k] = x0[3 * (size_t)i + (size_t)k] + u[4 * (size_t)i + (size_t)k];
}

static FaCode solve(Projective *p, int iterations, FaStats *stats, FaError *err) {
    double begin = fai_seconds();
    p->input.row = p->contact ? fai_contact_rows(p->contact, &p->input.nrow) : NULL;
    if (!p->contact) p->input.nrow = 0;
    p->input.iterations = iterations;
    p->input.tolerance = TOLERANCE;
    p->input.floor = p->floor;
    FaCode rc = fai_projective_solve(p->solver, &p->input, p->u_new, &p->times.report, err);
    p->times.solve += fai_seconds() - begin;
    if (stats) {
        stats->iterations += p->times.report.iterations;
        stats->residual = p->times.report.energy[FA_MIN(p->times.report.iterations, FA_SOLVE_LOG)];
    }
    return rc;
}

// From u to u_new: y and the goals are set. Ends with the skin as it will be output.
static FaCode move(Projective *p, double h, FaStats *stats, FaError *err) {
    size_t n = 4 * (size_t)p->flesh->nnode;
    // start where the goal's motion carries the flesh: nearer to the end than inertia alone, as the rest shape goes along
    float span = (float)h;
    for (size_t i = 0; i < n; i++) p->u_new[i] = p->start[i] = 0.5f * (p->y[i] + p->u[i] + span * p->goal_velocity[i]);
    if (!p->contact) {
        FA_TRY(solve(p, p->iterations, stats, err));
        skin_of(p, p->u_new, p->skin_to);
        return FA_OK;
    }
    FaPose jaw = fai_jaw_pose(&p->face->jaw, p->weights), pose[MAX_COLLIDERS];
    for (int i = 0; i < p->ncollider; i++) pose[i] = p->collider_jaw[i] ? jaw : fai_pose_identity();
    double begin = fai_seconds();
    fai_contact_begin(p->contact, h, p->skin, pose);
    skin_of(p, p->u_new, p->skin_to);
    fai_contact_collect(p->contact, p->skin, p->skin_to);
    p->times.contact += fai_seconds() - begin;
    // all iterations with what the start touches; then, where the path to the end meets more, some for that as well
    int budget = p->iterations;
    for (int pass = 0; pass < PASSES; pass++) {
        FA_TRY(solve(p, budget, stats, err));
        begin = fai_seconds();
        skin_of(p, p->u_new, p->skin_to);
        int found = pass + 1 < PASSES ? fai_contact_collect(p->contact, p->skin, p->skin_to) : 0;
        p->times.contact += fai_seconds() - begin;
        if (!found) break;
        budget = FA_MAX(p->iterations / 4, 1);
    }
    begin = fai_seconds();
    if (fai_contact_limit(p->contact, p->skin, p->skin_to) > 0)
        for (int i = 0; i < p->face->nskin; i++)
            for (size_t k = 0; k < 3; k++) {
                size_t x = 3 * (size_t)i + k, u = 4 * (size_t)i + k;
                if (p->skin_to[x] != p->face->x0[x] + p->u_new[u]) p->u_new[u] = p->skin_to[x] - p->face->x0[x];
            }
    p->times.contact += fai_seconds() - begin;
    return FA_OK;
}

static void swap(float **a, float **b) {
    float *t = *a;
    *a = *b;
    *b = t;
}

// Rotation vector and translation of a motion times `share`.
static FaPose share_of(const FaPose *move, double share) {
    FaPose out = fai_pose_identity();
    double r[3];
    fai_q_log(move->q, r);
    fai_v3_scale(share, r, r);
    fai_q_exp(r, out.q);
    fai_v3_scale(share, move->p, out.p);
    return out;
}

// Where the head goes as the flesh feels it: its motion, or a share of it.
static FaPose felt_pose(const Projective *p, const FaPose *to) {
    if (p->share == 1) return *to;
    if (p->share == 0 || !memcmp(to, &p->head, sizeof *to)) return p->felt;
    FaPose back = fai_pose_inverse(&p->head), move = fai_pose_mul(&back, to);
    move = share_of(&move, p->share);
    return fai_pose_mul(&p->felt, &move);
}

// R'g - s g0, as much of its change as the flesh feels; none, to the bit, while the head is upright.
static void felt_gravity(const Projective *p, const FaPose *to, double accel[3]) {
    double down[3] = {0, -FAI_GRAVITY, 0}, upright[3], g[3];
    fai_v3_scale(-FAI_GRAVITY, p->up, upright);
    fai_relative_gravity(to, down, upright, 1, g);
    bool turned = to->q[0] != 0 || to->q[1] != 0 || to->q[2] != 0;
    for (int k = 0; k < 3; k++) accel[k] = (1 - p->gravity) * upright[k] + (turned ? p->share * g[k] : 0);
}

static FaCode advance(Projective *p, double h, const FaPose *to, FaStats *stats, FaError *err) {
    aim(p, h);
    FaInertia in = {.scheme = p->h_last > 0 ? p->scheme : FA_SCHEME_EULER,
                    .nnode = p->flesh->nnode,
                    .x0 = p->flesh->e.x0,
                    .h = h,
                    .h_before = p->h_last,
                    .pose = felt_pose(p, to),
                    .now = {p->felt, p->u, p->w},
                    .before = {p->felt_last, p->u_last, p->w_last},
                    .damping = p->damping,
                    .goal_velocity = p->goal_velocity};
    felt_gravity(p, to, in.accel);
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
    p->felt_last = p->felt;
    p->felt = in.pose;
    p->head = *to;
    p->h_last = h;
    return FA_OK;
}

// --- the method ---------------------------------------------------------------------------------------------------

static bool still(const FaInput *in) {
    return !in->motion && in->head.q[0] == 0 && in->head.q[1] == 0 && in->head.q[2] == 0 && in->head.q[3] == 0;
}

// The head at a moment between the last input and this one.
static FaPose head_at(const Projective *p, const FaInput *in, const FaPose *from, double time, double part) {
    FaPose pose = p->head;
    if (in->motion) {
        FaMotion motion;
        fai_pose_curve_eval(in->motion, time, &motion);
        return motion.pose;
    }
    if (still(in)) return pose;
    FaPose to = in->head;
    bool good = fai_q_normalize(to.q);
    for (int k = 0; k < 3; k++) good &= (bool)isfinite(to.p[k]);
    if (!good) return pose;
    if (part == 1) return to;
    fai_q_slerp(from->q, to.q, part, pose.q);
    for (int k = 0; k < 3; k++) pose.p[k] = from->p[k] + part * (to.p[k] - from->p[k]);
    return pose;
}

// A weight that is not a number counts as the last one that was.
static void set_weights(Projective *p, const FaInput *in, double part, FaStats *stats) {
    for (int s = 0; s < p->m.rig->nshape; s++) {
        bool good = isfinite(in->weights[s]);
        double was = (double)p->last_weights[s], to = good ? (double)in->weights[s] : was;
        if (!good && stats) stats->clamped++;
        p->weights[s] = part == 1 ? (float)to : (float)(was + part * (to - was));
    }
}

static void output(Projective *p, float *surface) {
    double begin = fai_seconds();
    fai_flesh_surface(p->flesh, p->skin, surface);
    p->times.output += fai_seconds() - begin;
}

// At rest in a pose: go there from the neutral, where nothing crosses, slowly and without momentum, so that lips meet on the way.
static FaCode projective_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    Projective *p = (Projective *)m;
    size_t n = 4 * (size_t)p->flesh->nnode;
    memset(p->last_weights, 0, (size_t)m->rig->nshape * sizeof(float));
    float *zero[] = {p->u, p->u_last, p->w, p->w_last, p->goal};
    for (int i = 0; i < FA_COUNT(zero); i++) memset(zero[i], 0, n * sizeof(float));
    memcpy(p->skin, p->face->x0, 3 * (size_t)p->face->nskin * sizeof(float));
    if (p->contact) fai_contact_reset(p->contact, p->skin);
    p->head = fai_pose_identity();
    p->head = p->felt = p->felt_last = head_at(p, in, &p->head, in->time, 1);
    p->h_last = 0;
    double h = 1 / p->rate, g[3];
    felt_gravity(p, &p->head, g);
    bool moves = g[0] != 0 || g[1] != 0 || g[2] != 0;
    for (int i = 0; i < m->rig->nshape; i++) moves |= isfinite(in->weights[i]) && in->weights[i] != 0;
    for (int i = 1; moves && i <= RESET_RAMP + RESET_MORE; i++) {
        set_weights(p, in, fmin(1, (double)i / RESET_RAMP), NULL);
        FA_TRY(advance(p, h, &p->head, NULL, err));
        memset(p->w, 0, n * sizeof(float));
        p->h_last = 0;
    }
    set_weights(p, in, 1, NULL);
    if (!moves) aim(p, h);
    memcpy(p->last_weights, p->weights, (size_t)m->rig->nshape * sizeof(float));
    memcpy(p->u_last, p->u, n * sizeof(float));
    if (in->motion) {
        FaMotion motion;
        double v[3], omega[3];
        fai_pose_curve_eval(in->motion, in->time, &motion);
        fai_v3_scale(p->share, motion.v, v);
        fai_v3_scale(p->share, motion.omega, omega);
        fai_inertial_start(&p->head, v, omega, p->flesh->nnode, p->flesh->e.x0, p->w);
    }
    output(p, surface);
    return FA_OK;
}

static FaCode projective_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    Projective *p = (Projective *)m;
    p->times.goal = p->times.contact = p->times.solve = p->times.output = 0;
    double span = in->time - m->time;
    int n = (int)fmin(fmax(ceil(span * p->rate - 0.01), 1), 100000);
    FaPose from = p->head;
    for (int i = 1; i <= n; i++) {
        double part = i == n ? 1 : (double)i / n;
        FaPose to = head_at(p, in, &from, m->time + part * span, part);
        set_weights(p, in, part, i == n ? stats : NULL);
        FA_TRY(advance(p, span / n, &to, stats, err));
    }
    memcpy(p->last_weights, p->weights, (size_t)m->rig->nshape * sizeof(float));
    output(p, surface);
    return FA_OK;
}

static void projective_state(FaMethod *m, FaStream *s) {
    Projective *p = (Projective *)m;
    size_t n = 4 * (size_t)p->flesh->nnode * sizeof(float);
    float *node[] = {p->u, p->u_last, p->w, p->w_last, p->goal};
    for (int i = 0; i < FA_COUNT(node); i++) fai_stream(s, node[i], n);
    fai_stream(s, p->skin, 3 * (size_t)p->face->nskin * sizeof(float));
    fai_stream(s, p->last_weights, (size_t)m->rig->nshape * sizeof(float));
    fai_stream(s, &p->head, sizeof p->head);
    fai_stream(s, &p->felt, sizeof p->felt);
    fai_stream(s, &p->felt_last, sizeof p->felt_last);
    fai_stream(s, &p->h_last, sizeof p->h_last);
    if (!p->contact) return;
    if (s->mode != FA_STREAM_LOAD) fai_contact_save(p->contact, p->bonds);
    fai_stream(s, p->bonds, fai_contact_state_size(p->contact));
    if (s->mode == FA_STREAM_LOAD) fai_contact_load(p->contact, p->bonds, NULL);
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
    .size = sizeof(Projective),
    .open = projective_open,
    .reset = projective_reset,
    .step = projective_step,
    .state = projective_state,
    .close = projective_close,
};
