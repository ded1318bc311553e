// The method volumetric: a pose's skin, corrected to what flesh can do (paper 004; docs/method/volumetric.md).
//
//     S       the rig's own skin at these weights
//     lift    flesh below it, skin held at S
//     clamp   each tet's stretches and volume to what the rig's single shapes show
//     relax   strain and volume towards these; kappa draws the skin to S
//     touch   the same again with rows for what meets on the way, then the limit: nothing ends crossed
//
// Nothing swings: a frame depends on its input alone, and contact sees the way from the neutral.
#include "base/task.h"
#include "energy/tet.h"
#include "face/skin_motion.h"
#include "method/method.h"
#include "method/touching.h"
#include "volumetric/range.h"

#include <math.h>

#define VOLUMETRIC_PARAMS(X)                                                                                           \
    X(TEXT, face, NAN, 0, 0, "", "FILE.face", "made by fascia build; not given: built from the rig with defaults")     \
    X(NUMBER, kappa, 14, 0.1, 1e5, "1/m", NULL,                                                                        \
      "what draws the skin to the rig's own, against the flesh's stiffness: 14 lets flesh decide, 1000 hardly")        \
    X(NUMBER, muscle, 0.5, 0, 10, "", NULL, "strain stiffness of muscle, against that of fat")                         \
    X(NUMBER, volume, 1, 0, 100, "", NULL, "how hard flesh keeps its volume, against how hard it keeps its shape")     \
    X(NUMBER, margin, 5, 0, 100, "%", NULL, "how far beyond the rig's single shapes flesh may stretch or swell")       \
    X(CHOICE, contact, 3, 0, 3, "", "mouth|face|off|openings",                                                         \
      "what may touch: the mouth; the whole face (slower); nothing; mouth, the skin around it and lids")               \
    X(FLAG, teeth, 1, 0, 1, "", NULL, "flesh is stopped by teeth and bones, where the face has them")

FAI_PARAMS(volumetric_params, VOLUMETRIC_PARAMS);

enum { MAX_ROWS = 4096, MOST_ZONE = 704, LIFT = 12, RELAX = 24, TOUCH = 32, PASSES = 3, SETTLES = 4, CHUNK = 1024 };
static const double STRAIN = 6000;    // Pa: twice a shear modulus of 3 kPa; only what touches is compared with it
static const double BONE = 1000;      // 1/m: the skull layer is nearly where its bone is
static const double CONTACT = 150;    // N/m/mm2
static const double INERTIA = 1;      // 1/s2: next to nothing
static const double TOLERANCE = 1e-3; // of the gradient's fall in a solve
static const double THIN = 2e-3, THICK = 4e-3, FIRMER = 50; // m: thinner flesh than THIN gives so much less
static const double STEP = 1 / 60.0;                        // s: of contact

typedef struct Volumetric {
    FaMethod m;
    const FaFace *face;
    FaLayered *layered;
    FaLift *lift;
    FaRange *range;
    FaElastic e;
    FaProjective *solver;
    FaTets *tets;
    FaBlender *blender;
    FaTouching touching;
    FaContact *contact; // = touching.contact; NULL: off
    int *zone, nzone;
    FaArena *arena;
    FaProjectiveInput input;

    // scratch of a frame
    float *linear, *weights;    // (nvert x 3), (nshape)
    float *lifted, *u, *anchor; // (nnode x 4), (nnode x 4), (2 nskin x 4)
    float *tet_rest, *work;     // 9 and 21 rows of tets
    int *count;                 // of chunks of tets
    float *skin;                // (nskin x 3)

    // the state
    float *last_weights; // that were numbers                                     (nshape)
} Volumetric;

// --- opening --------------------------------------------------------------------------------------------------------

static double smooth_to(double from, double to, double x) {
    const double t = fmin(fmax((x - from) / (to - from), 0), 1);
    return t * t * (3 - 2 * t);
}

// Thin flesh (lids, nostrils, ears) is skin and cartilage: it follows the rig. Lips are thin too, and are flesh.
static double kappa_of(const Volumetric *p, int i, double kappa) {
    const FaFace *f = p->face;
    const double mouth = fmin((double)f->region[FA_REGION_MOUTH][i] + (double)f->region[FA_REGION_LIP_UPPER][i] +
                                  (double)f->region[FA_REGION_LIP_LOWER][i],
                              1);
    const double thin = (1 - smooth_to(THIN, THICK, p->layered->depth[i])) * (1 - mouth);
    return kappa * (1 + FIRMER * (f->rim[i] ? 1 : thin));
}

static FaCode open_bodies(Volumetric *p, const FaParams *params, FaError *err) {
    FaLayeredBody body = {.strain = STRAIN,
                          .volume = fai_params_at(params, P_volume),
                          .muscle = fai_params_at(params, P_muscle),
                          .muscle_volume = 1,
                          .bone = BONE};
    FA_TRY(fai_layered_new(p->face, &p->layered, err));
    FA_TRY(fai_lift_new(p->layered, &(FaLiftOptions){.body = body, .iterations = LIFT}, &p->lift, err));
    FA_TRY(fai_range_new(p->m.rig, p->layered, p->lift, fai_params_at(params, P_margin) / 100, &p->range, err));
    double *skin = FA_PUSH(p->arena, p->layered->nskin, double);
    if (!skin) return FA_FAIL_MEMORY(err);
    const double kappa = fai_params_at(params, P_kappa);
    for (int i = 0; i < p->layered->nskin; i++) skin[i] = kappa_of(p, i, kappa);
    body.skin = skin;
    FA_TRY(fai_layered_elastic(p->layered, &body, &p->e, err));
    const FaProjectiveOptions options = {.inertia = INERTIA, .max_rows = MAX_ROWS, .nzone = p->nzone, .zone = p->zone};
    FA_TRY(fai_projective_new(&p->e, &options, &p->solver, err));
    return fai_tets_new(&p->e, &p->tets, err);
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
    const FaLayered *l = p->layered;
    const size_t skin = 3 * (size_t)l->nskin, n = 4 * (size_t)l->nnode, row = (size_t)p->range->stride;
    const struct {
        float **to;
        size_t size;
    } field[] = {{&p->linear, 3 * (size_t)p->m.rig->mesh.nvert},
                 {&p->weights, (size_t)p->m.rig->nshape},
                 {&p->last_weights, (size_t)p->m.rig->nshape},
                 {&p->lifted, n},
                 {&p->u, n},
                 {&p->anchor, 8 * (size_t)l->nskin},
                 {&p->tet_rest, 9 * row},
                 {&p->work, 21 * row},
                 {&p->skin, skin}};
    for (int i = 0; i < FA_COUNT(field); i++)
        if (!(*field[i].to = FA_PUSH(p->arena, field[i].size + 1, float))) return FA_FAIL_MEMORY(err);
    p->count = FA_PUSH(p->arena, fai_chunks(l->ntet, CHUNK) + 1, int);
    return p->count ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode volumetric_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    Volumetric *p = (Volumetric *)m;
    p->arena = fai_arena_new(0);
    if (!p->arena) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_method_face(m, setup, P_face, -1, err));
    p->face = m->face;
    FA_TRY(fa_blender_new(m->rig, &p->blender, err));
    FA_TRY(open_contact(p, setup->params, err));
    FA_TRY(open_bodies(p, setup->params, err));
    return open_buffers(p, err);
}

static void volumetric_close(FaMethod *m) {
    Volumetric *p = (Volumetric *)m;
    fai_projective_free(p->solver);
    fai_tets_free(p->tets);
    fai_arena_free(p->e.arena);
    fai_range_free(p->range);
    fai_lift_free(p->lift);
    fai_layered_free(p->layered);
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

static FaCode solve(Volumetric *p, int iterations, FaStats *stats, FaError *err) {
    FaProjectiveReport report;
    p->input.iterations = iterations;
    FaCode rc = fai_projective_solve(p->solver, &p->input, p->u, &report, err);
    stats->iterations += report.iterations;
    stats->residual = report.energy[FA_MIN(report.iterations, FA_SOLVE_LOG)];
    stats->unsolved += rc == FA_STALLED;
    return rc;
}

// The lift below the skin in p->lifted, what it is clamped to, and the flesh at rest under that: p->u.
static FaCode relax(Volumetric *p, FaStats *stats, FaError *err) {
    const size_t skin = 4 * (size_t)p->layered->nskin, all = 3 * skin;
    FaProjectiveReport report;
    FaCode rc = fai_lift(p->lift, p->weights, p->lifted, &report, err);
    if (rc < 0) return rc;
    stats->iterations += report.iterations;
    stats->unsolved += rc == FA_STALLED;
    memcpy(p->u, p->lifted, all * sizeof *p->u);
    memcpy(p->anchor, p->lifted, skin * sizeof *p->u);
    memcpy(p->anchor + skin, p->lifted + 2 * skin, skin * sizeof *p->u);
    int crushed;
    fai_tets_pose(p->tets, p->lifted, -1, p->tet_rest, &crushed);
    const int clamped = fai_range_clamp(p->range, p->tet_rest, p->work, p->count);
    p->input =
        (FaProjectiveInput){.y = p->lifted,
                            .inertia = INERTIA,
                            .frame = {.anchor = p->anchor, .tet_rest = p->tet_rest, .tet_stride = p->range->stride},
                            .tolerance = TOLERANCE};
    return clamped ? solve(p, RELAX, stats, err) : FA_OK; // as lifted: at rest to the bit
}

static int look(Volumetric *p) {
    skin_of(p, p->u, p->skin);
    return fai_contact_collect(p->contact, rest_of(p), p->skin);
}

static FaCode solve_rows(Volumetric *p, FaStats *stats, FaError *err) {
    p->input.row = fai_contact_rows(p->contact, &p->input.nrow);
    return solve(p, TOUCH, stats, err);
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
    fai_contact_own_pose(p->contact, p->lifted);
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

static FaCode pose(Volumetric *p, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    take_weights(p, in, stats);
    fa_blender_eval(p->blender, p->weights, p->linear);
    fai_face_skin_to(p->face, p->linear, p->lifted);
    if (is_still(p->lifted, p->face->nskin)) { // the neutral, to the bit
        memcpy(surface, p->linear, 3 * (size_t)p->m.rig->mesh.nvert * sizeof *surface);
        return FA_OK;
    }
    FaCode rc = relax(p, stats, err);
    if (rc < 0) return rc;
    if (p->contact)
        FA_TRY(touch(p, stats, err));
    else
        skin_of(p, p->u, p->skin);
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
