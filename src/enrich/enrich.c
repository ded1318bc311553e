// The method enrich: flesh swings and settles around the artist's animation and leaves it alone where nothing moves it
// (paper 000).
//
// A frame is cut into steps of at most 1/rate. In each, the weights give the flesh's rest shape and materials, X(w) =
// X0 + B_X w and P(w) = P0 + B_P w (eq. 2, 3), and algorithm 1 moves the displacement d from it (solve/rebalance.h).
// The output is the artist's surface plus d of the skin, carried from the simulated vertices to all of them
// (face/restore.h): where d is 0, nothing was added.
//
// Bone: nodes that skull and jaw hold are where X(w) has them. Flesh behind the mouth and in the pouch of the cheeks is
// free, or the lips hardly move (enrich-notes).
//
// Contact: rows push against crossing more than the artist's pose itself does, so that a pose stays what it is;
// `strict` pushes against any crossing, and what the springs do not hold is stopped short of its impact.
#include "enrich/enrich.h"

#include "enrich/collider.h"
#include "enrich/outer_force.h"
#include "face/columns.h"
#include "face/material.h"
#include "face/region_text.h"
#include "face/restore.h"
#include "math/mat3.h"
#include "method/stepper.h"
#include "method/touching.h"

#include <math.h>

#define ENRICH_PARAMS(X)                                                                                               \
    X(TEXT, face, NAN, 0, 0, "", "FILE.face",                                                                          \
      "a face made by fascia build --volumes; not given: built from the rig with defaults")                            \
    X(CHOICE, flesh, 0, 0, 1, "", "layer|filled",                                                                      \
      "layer: below the skin. filled: all through lips and cheeks, from skin to bone; slower")                         \
    X(NUMBER, rate, 300, 30, 10000, "Hz", NULL, "simulation steps per second, at least; more is smoother and slower")  \
    X(CHOICE, integrator, 0, 0, 1, "", "bdf2|euler", "bdf2: flesh swings after a stop. euler: it calms at once")       \
    X(NUMBER, alpha, 1, 0, 1, "", NULL,                                                                                \
      "1: only the head's motion swings the flesh. 0: fast expressions swing it too")                                  \
    X(NUMBER, ratio, 0.2, 0, 5, "", NULL, "how fast a swing dies: 0.05 wobbles, 1 creeps back")                        \
    X(NUMBER, drag, 0, 0, 1000, "1/s", NULL, "also slows slow swinging; 0: not at all")                                \
    X(NUMBER, softness, 1, 0.05, 20, "", NULL, "of all flesh: 2 moves about twice as far")                             \
    X(CHOICE, material, 0, 0, 2, "", "expression|spatial|uniform",                                                     \
      "stiffness by place and expression; by place; the same everywhere")                                              \
    X(CHOICE, law, 0, 0, 1, "", "stvk|neo", "law of the material, for comparison; leave it at stvk")                   \
    X(TEXT, strength, NAN, 0, 0, "", "REGION=X,...", "how much of the motion is shown: cheeks=1.5,lips=0.5,all=1")     \
    X(NUMBER, head, 1, 0, 10, "", NULL, "how much of the head's motion the flesh feels: 0.5 is half")                  \
    X(NUMBER, gravity, 1, 0, 1, "", NULL,                                                                              \
      "1: the sculpts already sag, so only tilting the head adds sag. 0: full gravity on top of the sculpts")          \
    X(TEXT, forces, NAN, 0, 0, "", "FILE.json", "another gravity, wind, pushes on places over time")                   \
    X(CHOICE, contact, 0, 0, 2, "", "mouth|face|off", "what may touch")                                                \
    X(FLAG, strict, 0, 0, 1, "", NULL, "on: lips that cross in your own pose are pushed apart too")                    \
    X(NUMBER, contact_stiffness, 15, 0.1, 1e6, "N/m/mm2", NULL, "how hard touching skin pushes back")                  \
    X(NUMBER, collider_stiffness, 200, 0.1, 1e6, "N/m/mm2", NULL, "how hard colliders push the skin")                  \
    X(NUMBER, collider_friction, 0.3, 0, 5, "", NULL, "how much skin sticks to colliders: 0 slides freely, 1 holds")   \
    X(FLAG, teeth, 1, 0, 1, "", NULL, "flesh is stopped by teeth and bones, where the face has them")                  \
    X(CHOICE, solver, 0, 0, 4, "", "pcg|jacobi|lbfgs|chol|cholmod",                                                    \
      "how it is solved, for comparison; leave it at pcg")                                                             \
    X(NUMBER, tolerance, 1e-4, 1e-12, 0.5, "", NULL, "how exactly each step is solved; smaller is slower")

FAI_PARAMS(enrich_params, ENRICH_PARAMS);

enum { MAX_ROWS = 4096, SETTLE_ROUNDS = 6 };
static const double MOSTLY = 0.5;                             // of the skin
static const double MU = 3000, LAMBDA = 2500, MU_LEAST = 300; // Pa, section 7; however materials combine
static const double DAMPING_HZ = 20;                          // a cheek's own ring (enrich-notes)
static const double NEARBY = 1.5e-3, SOFT = 1e-4; // m: skin as close as this may touch within a step; pushes from
static const double SHOWN = 4;                    // times what flesh moves by: how far touching lips are parted
static const float HELD = 0.5f;                   // attachment from which a node is bone

typedef struct Enrich {
    FaMethod m;
    const FaFace *face;
    FaBlender *blender;
    FaSolid *solid;
    FaRebalance *body;
    FaRestore *restore;
    FaTouching touching;
    FaColliders *colliders; // the user's; NULL: none
    FaOuterForce *outer;    // likewise
    FaStepper stepper;
    bool strict, by_shape;
    bool gathered;        // this step's rows are there
    unsigned char *fixed; // (nnode)
    FaArena *arena;

    // scratch of a step
    double *X, *mu, *lambda; // rest shape and materials of p->weights      (nnode x 3), (ntet)
    double *x0, *mu0, *lambda0;
    double *mixed;         // of fai_materials_at                            (ntet x 2)
    FaMaterialRange range; // of the face's materials
    double stiff;          // 1 / softness
    float *step_weights;   // of the last step: the body's rest shape      (nshape)
    float *skin_to;        // (nskin x 3)
    float *shown;          // displacement of the skin as shown            (nskin x 3)
    float *strength;       // (nskin)
    float *keep;           // of the nodes, where a frame was limited      (nnode)
    float *own;            // strict: the artist's pose, as displacements  (nnode x 4)
    FaRow *row;
    FaEnrichTotals totals;

    // the state, beside the body's and head's
    float *factor_weights[2]; // of the rest shape that each solver's factor was made of   (nshape)
    float *skin;              // skin nodes at the end of the last step       (nskin x 3)
    void *body_state, *touch_state, *collider_state; // while saving and loading
} Enrich;

// --- opening ------------------------------------------------------------------------------------------------------

static FaCode get_face(Enrich *e, const FaMethodSetup *setup, FaError *err) {
    FA_TRY(fai_method_face(&e->m, setup, P_face, P_flesh, err));
    e->face = e->m.face;
    if (e->face->volumes.nshape != e->m.rig->nshape)
        return FA_FAIL(err, FA_E_ARG, NULL, "make it with fascia build --volumes",
                       "the face has no volumes of the shapes");
    return FA_OK;
}

// The nodes that a bone holds, and the cut edge.
static void hold_bones(Enrich *e) {
    const FaFace *f = e->face;
    for (int i = 0; i < f->nnode; i++) {
        const FaHold hold = fai_face_hold(f, i);
        e->fixed[i] = hold.skull + hold.jaw >= HELD || fai_face_on_rim(f, i);
    }
}

// What hangs on nothing would fly off: parts of the flesh without a held node are held whole.
static int hold_loose(Enrich *e, FaError *err) {
    const FaFace *f = e->face;
    int *part = FA_NEW(f->nnode, int), held = 0;
    if (!part) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nnode; i++) part[i] = e->fixed[i] ? 1 : 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int t = 0; t < f->ntet; t++) {
            const int *v = f->tet + 4 * (size_t)t;
            int any = part[v[0]] | part[v[1]] | part[v[2]] | part[v[3]],
                all = part[v[0]] & part[v[1]] & part[v[2]] & part[v[3]];
            if (!any || all) continue;
            for (int k = 0; k < 4; k++) part[v[k]] = 1;
            changed = true;
        }
    }
    for (int i = 0; i < f->nnode; i++)
        if (!part[i]) e->fixed[i] = 1, held++;
    fa_free(part);
    return held;
}

static FaCode open_arrays(Enrich *e, FaError *err) {
    const FaFace *f = e->face;
    size_t n = (size_t)f->nnode, tets = (size_t)f->ntet, skin = 3 * (size_t)f->nskin, shapes = (size_t)e->m.rig->nshape;
    e->arena = fai_arena_new(0);
    if (!e->arena) return FA_FAIL_MEMORY(err);
    double **wide[] = {&e->X, &e->x0, &e->mu, &e->mu0, &e->lambda, &e->lambda0, &e->mixed};
    size_t wide_size[] = {3 * n, 3 * n, tets, tets, tets, tets, 2 * tets};
    float **narrow[] = {&e->step_weights,
                        &e->factor_weights[0],
                        &e->factor_weights[1],
                        &e->skin_to,
                        &e->skin,
                        &e->shown,
                        &e->strength,
                        &e->keep,
                        &e->own};
    size_t narrow_size[] = {shapes, shapes, shapes, skin, skin, skin, skin / 3, n, 4 * n};
    _Static_assert(FA_COUNT(narrow) == FA_COUNT(narrow_size) && FA_COUNT(wide) == FA_COUNT(wide_size), "a size each");
    bool ok = true;
    for (int i = 0; i < FA_COUNT(wide); i++) ok &= (*wide[i] = FA_PUSH(e->arena, wide_size[i] + 1, double)) != NULL;
    for (int i = 0; i < FA_COUNT(narrow); i++)
        ok &= (*narrow[i] = FA_PUSH(e->arena, narrow_size[i] + 1, float)) != NULL;
    ok &= (e->fixed = FA_PUSH(e->arena, n, unsigned char)) != NULL;
    ok &= (e->row = FA_PUSH(e->arena, MAX_ROWS + FA_COLLIDER_ROWS, FaRow)) != NULL;
    return ok ? FA_OK : FA_FAIL_MEMORY(err);
}

static void set_materials(Enrich *e, const FaParams *params) {
    const FaFace *f = e->face;
    int kind = (int)fai_params_at(params, P_material);
    double stiff = e->stiff = 1 / fai_params_at(params, P_softness);
    e->by_shape = kind == 0 && f->mu0 && f->materials.nshape > 0;
    e->range = fai_materials_range(f);
    for (int t = 0; t < f->ntet; t++) {
        e->mu0[t] = stiff * (kind < 2 && f->mu0 ? (double)f->mu0[t] : MU);
        e->lambda0[t] = stiff * (kind < 2 && f->lambda0 ? (double)f->lambda0[t] : LAMBDA);
    }
}

static FaCode open_body(Enrich *e, const FaParams *params, FaError *err) {
    const FaFace *f = e->face;
    double *mass = FA_NEW(f->nnode, double);
    if (!mass) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nnode; i++) mass[i] = (double)f->mass[i];
    int solver = (int)fai_params_at(params, P_solver);
    FaNewtonOptions newton = {.kind = (FaNewtonKind)FA_MIN(solver, FA_NEWTON_CHOL),
                              .backend = solver > FA_NEWTON_CHOL ? FA_CHOL_PEER : FA_CHOL_OWN,
                              .max_rows = MAX_ROWS + (e->colliders ? FA_COLLIDER_ROWS : 0)};
    FaRebalanceOptions o = {.newton = newton,
                            .scheme = fai_params_at(params, P_integrator) == 0 ? FA_SCHEME_BDF2 : FA_SCHEME_EULER,
                            .alpha = fai_params_at(params, P_alpha),
                            .beta = fai_damping_beta(fai_params_at(params, P_ratio), DAMPING_HZ),
                            .drag = fai_params_at(params, P_drag),
                            .tolerance = fai_params_at(params, P_tolerance)};
    FaSolidLaw law = (FaSolidLaw)fai_params_at(params, P_law);
    FaCode rc = fai_solid_new(f->nnode, f->ntet, f->tet, e->x0, law, &e->solid, err);
    if (rc >= 0) rc = fai_rebalance_new(e->solid, e->fixed, mass, &o, &e->body, err);
    fa_free(mass);
    return rc;
}

static FaCode enrich_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    Enrich *e = (Enrich *)m;
    const FaParams *params = setup->params;
    e->strict = fai_params_at(params, P_strict) != 0;
    FA_TRY(get_face(e, setup, err));
    FA_TRY(open_arrays(e, err));
    FA_TRY(fai_stepper_init(&e->stepper, m->rig, fai_params_at(params, P_rate), fai_params_at(params, P_head),
                            fai_params_at(params, P_gravity), e->arena, err));
    for (int i = 0; i < 3 * e->face->nnode; i++) e->x0[i] = (double)e->face->x0[i];
    hold_bones(e);
    int loose = hold_loose(e, err);
    if (loose < 0) return (FaCode)loose;
    fai_note_count(&m->notes, loose, "loose-flesh", "", "paint attachments there",
                   "%d points of the flesh are held by no bone: they stay with the animation", loose);
    set_materials(e, params);
    for (int i = 0; i < e->face->nskin; i++) e->strength[i] = 1;
    FA_TRY(fai_region_numbers(e->face, "strength", fai_params_text_at(params, P_strength), e->strength, err));
    FaTouchOptions touch = {.what = (FaTouch)fai_params_at(params, P_contact),
                            .teeth = fai_params_at(params, P_teeth) != 0,
                            .stiffness = fai_params_at(params, P_contact_stiffness),
                            .nearby = e->strict ? 0 : NEARBY,
                            .soft = SOFT,
                            .max_rows = MAX_ROWS};
    FA_TRY(fai_touching_new(e->face, &touch, &e->touching, &m->notes, err));
    for (int i = 0; e->touching.rest && i < 3 * e->face->nskin; i++) e->x0[i] = (double)e->touching.rest[i];
    FA_TRY(fai_colliders_new(e->face, setup, fai_params_at(params, P_collider_stiffness),
                             fai_params_at(params, P_collider_friction), &e->colliders, &m->inputs, &m->notes, err));
    FA_TRY(fai_outer_force_new(fai_params_text_at(params, P_forces), m->rig, e->face, &e->outer, &m->inputs, err));
    FA_TRY(fa_blender_new(m->rig, &e->blender, err));
    FA_TRY(fai_restore_new(m->rig, e->face, &e->restore, err));
    FA_TRY(open_body(e, params, err));
    e->body_state = fai_arena_push(e->arena, 1, fai_rebalance_state_size(e->body));
    FaContact *contact = e->touching.contact;
    if (contact) e->touch_state = fai_arena_push(e->arena, 1, fai_contact_state_size(contact));
    e->collider_state = fai_arena_push(e->arena, 1, e->colliders ? fai_colliders_state_size(e->colliders) + 1 : 1);
    return e->body_state && e->collider_state && (!contact || e->touch_state) ? FA_OK : FA_FAIL_MEMORY(err);
}

static void enrich_close(FaMethod *m) {
    Enrich *e = (Enrich *)m;
    fai_rebalance_free(e->body);
    fai_solid_free(e->solid);
    fai_restore_free(e->restore);
    fai_touching_free(&e->touching);
    fai_colliders_free(e->colliders);
    fai_outer_force_free(e->outer);
    fa_blender_free(e->blender);
    fai_arena_free(e->arena);
}

// --- a step -------------------------------------------------------------------------------------------------------

// X(w) and P(w) of e->stepper.weights.
static void aim(Enrich *e) {
    const FaFace *f = e->face;
    memcpy(e->X, e->x0, 3 * (size_t)f->nnode * sizeof *e->X);
    fai_columns_add(&f->volumes, e->stepper.weights, e->X);
    if (e->by_shape) fai_materials_at(f, &e->range, e->stepper.weights, e->mu, e->lambda, e->mixed);
    for (int t = 0; t < f->ntet; t++) {
        e->mu[t] = fmax(e->by_shape ? e->stiff * e->mu[t] : e->mu0[t], MU_LEAST);
        e->lambda[t] = fmax(e->by_shape ? e->stiff * e->lambda[t] : e->lambda0[t], 0);
    }
}

static void skin_at(const Enrich *e, const double *x, float *skin) {
    for (int i = 0; i < 3 * e->face->nskin; i++) skin[i] = (float)x[i];
}

// n . s of a row with its nodes at X: below 0 the artist's own pose crosses there.
static double own_gap(const Enrich *e, const FaRow *row, const double *X) {
    double own = 0;
    for (int k = 0; k < 3; k++) {
        double s = (double)row->offset[k];
        for (int j = 0; j < 4; j++)
            if (row->node[j] >= 0)
                s += (double)row->weight[j] * (X[3 * row->node[j] + k] - e->x0[3 * row->node[j] + k]);
        own += (double)row->normal[k] * s;
    }
    return own;
}

// Rows where the step is headed (contact/nearby.c); strict: between the last step's skin and x. A row that the artist's
// own pose would violate pushes only beyond that: beyond both poses of the step, as time passes in the old rest shape
// and balance is found in the new one.
static int collect_touching(Enrich *e, const double *x, FaRow *row) {
    int n;
    if (e->strict || !e->gathered) skin_at(e, x, e->skin_to);
    if (e->strict)
        fai_contact_collect(e->touching.contact, e->skin, e->skin_to);
    else if (!e->gathered)
        fai_contact_nearby(e->touching.contact, e->skin_to);
    e->gathered = true;
    const FaRow *found = fai_contact_rows(e->touching.contact, &n);
    const double *was = fai_rebalance_rest(e->body);
    for (int i = 0; i < n; i++) {
        row[i] = found[i];
        if (e->strict || found[i].kind != FA_ROW_PUSH) continue;
        double own = fmin(own_gap(e, &found[i], e->X), own_gap(e, &found[i], was));
        row[i].gap = fminf(found[i].gap, nextafterf((float)own, -INFINITY));
    }
    return n;
}

static int collect(void *user, const double *x, const FaRow **row) {
    Enrich *e = user;
    double begin = fai_seconds();
    int n = e->colliders ? fai_colliders_collect(e->colliders, x, e->row) : 0;
    if (e->touching.contact) n += collect_touching(e, x, e->row + n);
    if (e->colliders) n += fai_colliders_late(e->colliders, e->row + n);
    *row = e->row;
    e->totals.rows = FA_MAX(e->totals.rows, n);
    e->totals.seconds_contact += fai_seconds() - begin;
    return n;
}

static void count(FaEnrichTotals *t, const FaNewtonReport *r) {
    t->iterations += r->iterations;
    t->cg += r->cg;
    t->refreshes += r->refreshes;
    t->proximal += r->proximal;
    t->negative += r->negative;
}

static void stop_short(Enrich *e, FaStats *stats) {
    double *d = fai_rebalance_d(e->body);
    int limited = fai_contact_limit(e->touching.contact, e->skin, e->skin_to);
    if (stats) stats->held += fai_contact_stats(e->touching.contact).held;
    if (limited == 0) return;
    for (int i = 0; i < 3 * e->face->nskin; i++)
        if (e->skin_to[i] != (float)(e->X[i] + d[i])) d[i] = (double)e->skin_to[i] - e->X[i];
}

// What is far through itself in the artist's pose is not torn apart even by strict contact (contact/own_pose.c).
static void own_pose(Enrich *e) {
    for (int i = 0; i < e->face->nnode; i++)
        for (int k = 0; k < 3; k++)
            e->own[4 * (size_t)i + (size_t)k] =
                (float)(e->X[3 * (size_t)i + (size_t)k] - e->x0[3 * (size_t)i + (size_t)k]);
    fai_contact_own_pose(e->touching.contact, e->own);
}

static FaCode advance(Enrich *e, const FaStep *step, FaStats *stats, FaError *err) {
    const double h = step->h;
    const FaPose *to = &step->head;
    double begin = fai_seconds();
    if (step->cut) {
        double v[3], omega[3];
        fai_felt_restart(&e->stepper.head, step->motion, step->time, to, h, v, omega);
        fai_rebalance_restart(e->body, &e->stepper.head.felt, v, omega);
    }
    aim(e);
    FaRebalanceInput in = {.h = h,
                           .X = e->X,
                           .mu = e->mu,
                           .lambda = e->lambda,
                           .pose = fai_felt_pose(&e->stepper.head, to),
                           .base = e->x0};
    fai_felt_gravity(&e->stepper.head, to, in.accel);
    const FaPose *at = fai_head_still(step->motion, step->in) ? NULL : to;
    if (e->outer) in.force = fai_outer_force_at(e->outer, step->time, at, e->skin, in.accel);
    FaContact *contact = e->touching.contact;
    if (contact) {
        FaPose pose[FA_TOUCH_COLLIDERS];
        fai_touching_poses(&e->touching, e->face, e->stepper.weights, pose);
        fai_contact_begin(contact, h, e->skin, pose);
        if (e->strict) own_pose(e);
    }
    if (e->colliders) fai_colliders_begin(e->colliders, step->time, at);
    in.collect = contact || e->colliders ? collect : NULL;
    in.collect_user = e;
    e->gathered = false;
    FaRebalanceReport report;
    FaCode rc = fai_rebalance_step(e->body, &in, &report, err);
    if (rc < 0) return rc;
    size_t shapes = (size_t)e->m.rig->nshape * sizeof(float);
    for (int i = 0; i < 2; i++)
        if (report.prepared[i]) memcpy(e->factor_weights[i], e->step_weights, shapes);
    memcpy(e->step_weights, e->stepper.weights, shapes);
    const double *d = fai_rebalance_d(e->body);
    for (int i = 0; i < 3 * e->face->nskin; i++) e->skin_to[i] = (float)(e->X[i] + d[i]);
    if (contact && e->strict) stop_short(e, stats);
    if (e->colliders) fai_colliders_end(e->colliders, e->X, d);
    memcpy(e->skin, e->skin_to, 3 * (size_t)e->face->nskin * sizeof(float));
    fai_stepper_felt(&e->stepper, &in.pose, to);
    FaEnrichTotals *t = &e->totals;
    t->steps++;
    t->clamped = FA_MAX(t->clamped, report.clamped);
    t->stalled += report.stalled;
    t->refreshes += report.prepared[0] + report.prepared[1];
    count(t, &report.dynamic);
    count(t, &report.naive);
    count(t, &report.settle);
    t->seconds_dynamic += report.dynamic.seconds + report.naive.seconds;
    t->seconds_static += report.settle.seconds;
    t->seconds += fai_seconds() - begin;
    if (stats) {
        stats->iterations += report.dynamic.iterations + report.settle.iterations;
        stats->residual = report.dynamic.residual;
        stats->clamped += report.stalled;
        stats->unsolved += report.stalled;
    }
    return FA_OK;
}

// Lips that lie on each other are simulated a little apart (contact/parted.c), and shown so as far as flesh moves: no
// two sides that moved by less than that, each, meet where they are parted by as much. Where nothing moves, nothing is
// added.
static void show(Enrich *e, const double *d) {
    double moved = 0, parted = 0;
    int n = 3 * e->face->nskin;
    for (int i = 0; i < n; i++) {
        e->shown[i] = e->strength[i / 3] * (float)d[i];
        moved = fmax(moved, fabs((double)e->shown[i]));
        parted = fmax(parted, fabs(e->x0[i] - (double)e->face->x0[i]));
    }
    double share = parted > 0 ? fmin(SHOWN * moved / parted, 1) : 0;
    for (int i = 0; i < n && share > 0; i++) e->shown[i] += (float)(share * (e->x0[i] - (double)e->face->x0[i]));
}

static void output(Enrich *e, float *surface) {
    double begin = fai_seconds();
    const double *d = fai_rebalance_d(e->body);
    fa_blender_eval(e->blender, e->stepper.weights, surface);
    show(e, d);
    if (e->colliders)
        e->totals.collider_depth = fmax(e->totals.collider_depth, fai_colliders_measure(e->colliders, e->X, d).depth);
    fai_restore_add(e->restore, e->shown, surface);
    e->totals.seconds_output += fai_seconds() - begin;
}

static int collect_colliders(void *user, const double *x, const FaRow **row) {
    Enrich *e = user;
    int n = fai_colliders_collect(e->colliders, x, e->row);
    *row = e->row;
    return n + fai_colliders_late(e->colliders, e->row + n);
}

// Skin that a collider is in already when all begins comes to rest on it.
static FaCode settle_on_colliders(Enrich *e, const FaInput *in, FaRebalanceInput *rest, FaError *err) {
    rest->collect = collect_colliders;
    rest->collect_user = e;
    for (int round = 0; round < SETTLE_ROUNDS; round++) {
        fai_colliders_begin(e->colliders, in->time, fai_head_still(e->m.motion, in) ? NULL : &e->stepper.head.head);
        FaColliderStats stats = fai_colliders_measure(e->colliders, e->X, fai_rebalance_d(e->body));
        if (stats.depth == 0) return FA_OK;
        if (round == 0 && stats.inside > MOSTLY)
            fai_note(&e->m.notes, "collider-encloses", "",
                     "make it a shell with an inside of its own, or give its unit",
                     "most of the face begins inside a collider");
        FA_TRY(fai_rebalance_settle(e->body, rest, NULL, err));
    }
    return FA_OK;
}

// --- the method ---------------------------------------------------------------------------------------------------

static FaCode enrich_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    Enrich *e = (Enrich *)m;
    double v[3], omega[3];
    fai_stepper_reset(&e->stepper, m, in);
    fai_stepper_weights(&e->stepper, in, 1, NULL);
    fai_stepper_end(&e->stepper);
    memcpy(e->step_weights, e->stepper.weights, (size_t)m->rig->nshape * sizeof(float));
    fai_felt_velocity(&e->stepper.head, m->motion, in->time, v, omega);
    aim(e);
    FA_TRY(fai_rebalance_reset(e->body, e->X, e->mu, e->lambda, &e->stepper.head.head, v, omega, err));
    FaRebalanceInput rest = {.h = 1 / e->stepper.rate,
                             .X = e->X,
                             .mu = e->mu,
                             .lambda = e->lambda,
                             .pose = e->stepper.head.head,
                             .base = e->x0};
    fai_felt_gravity(&e->stepper.head, &e->stepper.head.head, rest.accel);
    skin_at(e, e->X, e->skin);
    const FaPose *at = fai_head_still(m->motion, in) ? NULL : &e->stepper.head.head;
    if (e->outer) rest.force = fai_outer_force_at(e->outer, in->time, at, e->skin, rest.accel);
    if (e->touching.contact) fai_contact_reset(e->touching.contact, e->skin);
    if (rest.force || rest.accel[0] != 0 || rest.accel[1] != 0 || rest.accel[2] != 0)
        FA_TRY(fai_rebalance_settle(e->body, &rest, NULL, err));
    if (e->colliders) fai_colliders_reset(e->colliders);
    if (e->colliders) FA_TRY(settle_on_colliders(e, in, &rest, err));
    const double *d = fai_rebalance_d(e->body);
    if (e->colliders) fai_colliders_end(e->colliders, e->X, d);
    for (int i = 0; i < 3 * e->face->nskin; i++) e->skin[i] = (float)(e->X[i] + d[i]);
    output(e, surface);
    return FA_OK;
}

static FaCode enrich_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    Enrich *e = (Enrich *)m;
    FaStep step = fai_stepper_begin(&e->stepper, m, in);
    while (fai_stepper_next(&e->stepper, &step, stats)) FA_TRY(advance(e, &step, stats, err));
    fai_stepper_end(&e->stepper);
    output(e, surface);
    return FA_OK;
}

// e->X is still that of the frame.
static void enrich_limited(FaMethod *m, const float *keep) {
    Enrich *e = (Enrich *)m;
    const FaFace *f = e->face;
    for (int i = 0; i < f->nnode; i++) e->keep[i] = keep[f->skin_vertex[fai_face_above(f, i)]];
    fai_rebalance_calm(e->body, e->keep);
    const double *d = fai_rebalance_d(e->body);
    for (int i = 0; i < 3 * f->nskin; i++) e->skin[i] = (float)(e->X[i] + d[i]);
}

// The state is between two inputs, so the body's rest shape is that of the last input's weights.
static FaCode resume(Enrich *e) {
    FaError none = {0};
    size_t shapes = (size_t)e->m.rig->nshape * sizeof(float);
    memcpy(e->step_weights, e->stepper.last_weights, shapes);
    memcpy(e->stepper.weights, e->stepper.last_weights, shapes);
    aim(e);
    FA_TRY(fai_rebalance_load(e->body, e->body_state, e->X, e->mu, e->lambda, &none));
    for (int i = 0; i < 2; i++) {
        memcpy(e->stepper.weights, e->factor_weights[i], shapes);
        aim(e);
        FA_TRY(fai_rebalance_prepare(e->body, (FaRebalanceFactor)i, e->X, e->mu, e->lambda, &none));
    }
    memcpy(e->stepper.weights, e->stepper.last_weights, shapes);
    if (e->colliders && !fai_colliders_load(e->colliders, e->collider_state)) return FA_E_FORMAT;
    return e->touching.contact ? fai_contact_load(e->touching.contact, e->touch_state, &none) : FA_OK;
}

static void enrich_state(FaMethod *m, FaStream *s) {
    Enrich *e = (Enrich *)m;
    if (s->mode == FA_STREAM_SAVE || s->mode == FA_STREAM_HASH) fai_rebalance_save(e->body, e->body_state);
    fai_stream(s, e->body_state, fai_rebalance_state_size(e->body));
    size_t sticks = e->colliders ? fai_colliders_state_size(e->colliders) : 0;
    if (sticks && s->mode != FA_STREAM_LOAD) fai_colliders_save(e->colliders, e->collider_state);
    if (sticks) fai_stream(s, e->collider_state, sticks);
    size_t shapes = (size_t)m->rig->nshape * sizeof(float);
    fai_stepper_stream(&e->stepper, s);
    for (int i = 0; i < 2; i++) fai_stream(s, e->factor_weights[i], shapes);
    fai_stream(s, e->skin, 3 * (size_t)e->face->nskin * sizeof(float));
    FaContact *contact = e->touching.contact;
    if (contact && s->mode != FA_STREAM_LOAD) fai_contact_save(contact, e->touch_state);
    if (contact) fai_stream(s, e->touch_state, fai_contact_state_size(contact));
    if (s->mode == FA_STREAM_LOAD && resume(e) < 0) m->started = false; // a state that no run made
}

static double enrich_distance(const FaMethod *m, const void *state) {
    const Enrich *e = (const Enrich *)m;
    double far = fai_rebalance_distance(e->body, state, 1 / e->stepper.rate);
    if (!e->colliders) return far;
    return fmax(far,
                fai_colliders_distance(e->colliders, (const unsigned char *)state + fai_rebalance_state_size(e->body)));
}

const FaEnrichTotals *fai_enrich_totals(const FaMethod *m) { return &((const Enrich *)m)->totals; }
double fa_enrich_collider_depth(const FaMethod *m) {
    return m->ops == &fai_method_enrich ? ((const Enrich *)m)->totals.collider_depth : 0;
}
const double *fai_enrich_mu(const FaMethod *m) { return ((const Enrich *)m)->mu; }
FaRebalance *fai_enrich_body(FaMethod *m) { return ((Enrich *)m)->body; }
FaColliders *fai_enrich_colliders(FaMethod *m) { return ((Enrich *)m)->colliders; }

const FaMethodOps fai_method_enrich = {
    .name = "enrich",
    .help = "secondary motion of flesh that leaves the artist's animation alone",
    .params = enrich_params,
    .needs = FA_NEED_FACE | FA_NEED_MATERIALS | FA_NEED_VOLUMES,
    .size = sizeof(Enrich),
    .takes = FA_TAKES_FACE | FA_TAKES_COLLIDERS,
    .open = enrich_open,
    .reset = enrich_reset,
    .step = enrich_step,
    .state = enrich_state,
    .distance = enrich_distance,
    .limited = enrich_limited,
    .close = enrich_close,
};
