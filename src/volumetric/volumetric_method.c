// The method volumetric: a pose's skin, corrected to what flesh can do (paper 004; docs/method/volumetric.md).
//
//     S         the rig's own skin at these weights
//     physics   flesh below it, and the skin that goes with that (volumetric/physics.h)
//     touch     the same again with rows for what meets on the way, then the limit: nothing ends crossed
//
// Nothing swings: a frame depends on its input alone, and contact sees the way from the neutral.
#include "base/task.h"
#include "face/skin_motion.h"
#include "method/method.h"
#include "method/touching.h"
#include "volumetric/flesh_from.h"
#include "volumetric/physics.h"

#include <math.h>

#define VOLUMETRIC_PARAMS(X)                                                                                           \
    X(TEXT, face, NAN, 0, 0, "", "FILE.face", "made by fascia build; not given: built from the rig with defaults")     \
    X(CHOICE, physics, 0, 0, 1, "", "limited|paper",                                                                   \
      "limited: sculpted shapes stay, what only their sums do is taken back. paper: flesh resists all of it")          \
    X(NUMBER, kappa, NAN, 0.1, 1e5, "1/m", NULL,                                                                       \
      "what draws the skin to the rig's own, against the flesh's stiffness; not given: 14, or 140 for paper")          \
    X(NUMBER, muscle, NAN, 0, 10, "", NULL,                                                                            \
      "strain stiffness of muscle, against that of fat; not given: 0.5, or 0.1 for paper")                             \
    X(NUMBER, volume, 1, 0, 100, "", NULL, "how hard flesh keeps its volume, against how hard it keeps its shape")     \
    X(NUMBER, margin, 1, 0, 100, "%", NULL, "limited: how far beyond the strongest shape flesh may stretch or swell")  \
    X(NUMBER, skin, 1, 0, 100, "mm", NULL, "paper: so much flesh strains as the skin itself")                          \
    X(NUMBER, skull, 1, 0, 100, "mm", NULL, "paper: so much flesh strains as the layer over the skull")                \
    X(NUMBER, curvature, 10, 0, 1e6, "mm3", NULL, "paper: how hard that layer is to bend")                             \
    X(TEXT, from, NAN, 0, 0, "", "RIG",                                                                                \
      "another identity of the same template: its muscles and bones move this face; contact as here")                  \
    X(FLAG, passive, 0, 0, 1, "", NULL, "with from: only muscles and bones are told what to do, and fat follows")      \
    X(CHOICE, contact, 3, 0, 3, "", "mouth|face|off|openings",                                                         \
      "what may touch: the mouth; the whole face (slower); nothing; mouth, the skin around it and lids")               \
    X(FLAG, teeth, 1, 0, 1, "", NULL, "flesh is stopped by teeth and bones, where the face has them")

FAI_PARAMS(volumetric_params, VOLUMETRIC_PARAMS);

enum { MAX_ROWS = 4096, MOST_ZONE = 704, PASSES = 3, SETTLES = 4 };
static const double CONTACT = 150;   // N/m/mm2
static const double STEP = 1 / 60.0; // s: of contact

typedef struct Volumetric {
    FaMethod m;
    const FaFace *face;
    FaPhysics *physics;
    FaFleshFrom *from; // NULL: the rig's own shapes move it
    FaBlender *blender;
    FaTouching touching;
    FaContact *contact; // = touching.contact; NULL: off
    int *zone, nzone;
    FaArena *arena;

    // scratch of a frame
    float *linear, *weights; // (nvert x 3), (nshape)
    float *skin;             // (nskin x 3)

    // the state
    float *last_weights; // that were numbers                                     (nshape)
} Volumetric;

// --- opening --------------------------------------------------------------------------------------------------------

static double given(const FaParams *params, int at, double or_else) {
    const double value = fai_params_at(params, at);
    return isnan(value) ? or_else : value;
}

static FaCode open_physics(Volumetric *p, const FaParams *params, FaError *err) {
    FaPhysicsOptions o = fai_physics_options((FaPhysicsKind)fai_params_at(params, P_physics));
    o.kappa = given(params, P_kappa, o.kappa);
    o.muscle = given(params, P_muscle, o.muscle);
    o.volume = fai_params_at(params, P_volume);
    o.margin = fai_params_at(params, P_margin) / 100;
    o.skin = 1e-3 * fai_params_at(params, P_skin);
    o.skull = 1e-3 * fai_params_at(params, P_skull);
    o.curvature = 1e-9 * fai_params_at(params, P_curvature);
    o.max_rows = MAX_ROWS, o.nzone = p->nzone, o.zone = p->zone;
    FA_TRY(fai_physics_new(p->m.rig, p->face, &o, &p->physics, err));
    const char *from = fai_params_text_at(params, P_from);
    if (!from[0]) return FA_OK;
    const bool passive = fai_params_at(params, P_passive) != 0;
    return fai_flesh_from_new(from, p->m.rig, p->physics, &o, passive, &p->from, &p->m.notes, err);
}

static FaCode open_contact(Volumetric *p, const FaParams *params, FaError *err) {
    const FaFace *f = p->face;
    const FaTouchOptions o = {.what = (FaTouch)fai_params_at(params, P_contact),
                              .teeth = fai_params_at(params, P_teeth) != 0,
                              .stiffness = CONTACT,
                              .max_rows = MAX_ROWS};
    FA_TRY(fai_touching_new(f, &o, &p->touching, &p->m.notes, err));
    p->contact = p->touching.contact;
    if (!p->contact) return FA_OK;
    p->zone = FA_PUSH(p->arena, MOST_ZONE, int);
    if (!p->zone) return FA_FAIL_MEMORY(err);
    const FaContactSurface surface = {f->nskin, f->ntri, f->tri, f->x0, p->touching.touch};
    return fai_touch_zone(&surface, MOST_ZONE, p->zone, &p->nzone, err);
}

static FaCode open_buffers(Volumetric *p, FaError *err) {
    const FaRig *rig = p->m.rig;
    p->linear = FA_PUSH(p->arena, 3 * (size_t)rig->mesh.nvert, float);
    p->weights = FA_PUSH(p->arena, rig->nshape, float);
    p->last_weights = FA_PUSH(p->arena, rig->nshape, float);
    p->skin = FA_PUSH(p->arena, 3 * (size_t)p->face->nskin, float);
    return p->linear && p->weights && p->last_weights && p->skin ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode volumetric_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    Volumetric *p = (Volumetric *)m;
    p->arena = fai_arena_new(0);
    if (!p->arena) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_method_face(m, setup, P_face, -1, err));
    p->face = m->face;
    FA_TRY(fa_blender_new(m->rig, &p->blender, err));
    FA_TRY(open_contact(p, setup->params, err));
    FA_TRY(open_physics(p, setup->params, err));
    return open_buffers(p, err);
}

static void volumetric_close(FaMethod *m) {
    Volumetric *p = (Volumetric *)m;
    fai_flesh_from_free(p->from);
    fai_physics_free(p->physics);
    fai_touching_free(&p->touching);
    fa_blender_free(p->blender);
    fai_arena_free(p->arena);
}

// --- a frame --------------------------------------------------------------------------------------------------------

static const float *rest_of(const Volumetric *p) { return p->contact ? p->touching.rest : p->face->x0; }

// One that is not a number counts as the last that was.
static void take_weights(Volumetric *p, const FaInput *in, FaStats *stats) {
    for (int s = 0; s < p->m.rig->nshape; s++) {
        const bool good = isfinite(in->weights[s]);
        p->weights[s] = p->last_weights[s] = good ? in->weights[s] : p->last_weights[s];
        stats->clamped += !good;
    }
}

static void skin_of(const Volumetric *p, const float *u, float *skin) {
    const float *x0 = rest_of(p);
    for (size_t i = 0; i < (size_t)p->face->nskin; i++)
        for (size_t k = 0; k < 3; k++) skin[3 * i + k] = x0[3 * i + k] + u[4 * i + k];
}

static int look(Volumetric *p) {
    skin_of(p, p->physics->u, p->skin);
    return fai_contact_collect(p->contact, rest_of(p), p->skin);
}

static FaCode solve_rows(Volumetric *p, FaStats *stats, FaError *err) {
    FaProjectiveInput *in = &p->physics->input;
    in->row = fai_contact_rows(p->contact, &in->nrow);
    return fai_physics_again(p->physics, stats, err);
}

// Rows are far stiffer than flesh: a solve that ends early leaves edges torn that the whole of them would not tear.
static FaCode settle(Volumetric *p, FaStats *stats, FaError *err) {
    int strained = fai_contact_strained(p->contact, p->skin);
    for (int round = 0; round < SETTLES && strained > 0 && !fai_contact_spent(p->contact); round++) {
        FA_TRY(solve_rows(p, stats, err));
        look(p);
        const int left = fai_contact_strained(p->contact, p->skin);
        if (left >= strained) break;
        strained = left;
    }
    return FA_OK;
}

// What meets on the way from the neutral gets rows; the skin ends with nothing crossed.
static FaCode touch(Volumetric *p, FaStats *stats, FaError *err) {
    FaPose pose[FA_TOUCH_COLLIDERS];
    fai_touching_poses(&p->touching, p->face, p->weights, pose);
    fai_contact_reset(p->contact, rest_of(p));
    fai_contact_begin(p->contact, STEP, rest_of(p), pose);
    fai_contact_own_pose(p->contact, p->physics->lifted); // its skin: the rig's own
    for (int pass = 0; pass < PASSES; pass++) {
        if (!look(p)) break;
        FA_TRY(solve_rows(p, stats, err));
        if (pass + 1 == PASSES) look(p);
    }
    FA_TRY(settle(p, stats, err));
    if (!fai_contact_clear(p->contact)) {
        fai_contact_limit(p->contact, rest_of(p), p->skin);
        stats->held += fai_contact_stats(p->contact).held;
    }
    return FA_OK;
}

static bool is_still(const float *u, int nskin) {
    for (size_t i = 0; i < 4 * (size_t)nskin; i++)
        if (u[i] != 0) return false;
    return true;
}

// Flesh of these weights without contact; *still: nothing moves.
static FaCode find_flesh(Volumetric *p, bool *still, FaStats *stats, FaError *err) {
    FaPhysics *y = p->physics;
    if (p->from) {
        FaCode rc = fai_flesh_from_pose(p->from, p->weights, y->lifted, still, stats, err);
        if (rc >= 0) fai_physics_hold(y);
        return rc;
    }
    fai_face_skin_to(p->face, p->linear, y->lifted);
    *still = is_still(y->lifted, p->face->nskin);
    return *still ? FA_OK : fai_physics_pose(y, p->weights, stats, err);
}

static FaCode pose(Volumetric *p, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    bool still;
    take_weights(p, in, stats);
    fa_blender_eval(p->blender, p->weights, p->linear);
    FaCode rc = find_flesh(p, &still, stats, err);
    if (rc < 0) return rc;
    if (still) { // the neutral, to the bit
        memcpy(surface, p->linear, 3 * (size_t)p->m.rig->mesh.nvert * sizeof *surface);
        return FA_OK;
    }
    if (p->contact)
        FA_TRY(touch(p, stats, err));
    else
        skin_of(p, p->physics->u, p->skin);
    fai_face_surface(p->face, p->linear, p->skin, surface);
    return stats->unsolved ? FA_STALLED : FA_OK;
}

// --- the method -----------------------------------------------------------------------------------------------------

static FaCode volumetric_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    Volumetric *p = (Volumetric *)m;
    memset(p->last_weights, 0, (size_t)m->rig->nshape * sizeof(float));
    return pose(p, in, surface, &m->rested, err);
}

static FaCode volumetric_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    FaCode rc = pose((Volumetric *)m, in, surface, stats, err);
    return rc < 0 ? rc : FA_OK;
}

static void volumetric_state(FaMethod *m, FaStream *s) {
    Volumetric *p = (Volumetric *)m;
    fai_stream(s, p->last_weights, (size_t)m->rig->nshape * sizeof(float));
}

static const float *volumetric_linear(const FaMethod *m) { return ((const Volumetric *)m)->linear; }

const FaMethodOps fai_method_volumetric = {
    .name = "volumetric",
    .help = "poses that flesh can take: no torn or crossing skin, volumes as sculpted; nothing swings",
    .params = volumetric_params,
    .needs = FA_NEED_FACE,
    .size = sizeof(Volumetric),
    .takes = FA_TAKES_FACE,
    .open = volumetric_open,
    .reset = volumetric_reset,
    .step = volumetric_step,
    .state = volumetric_state,
    .linear = volumetric_linear,
    .close = volumetric_close,
};
