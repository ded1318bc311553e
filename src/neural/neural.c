// The method `neural`: linear blending, what the network adds, and the contact of lips and lids.
//
//     weights -> small network -> K targets -> template -> rig      neural/rt.c, the core of libfascia-rt
//     where skin would cross on the way from the last frame: pushed apart or stopped short   contact/limit.c
//
// The state is where the last frame left the skin; without contact there is none.
#include "base/simd.h"
#include "fascia_rt.h"
#include "method/method.h"
#include "method/touching.h"
#include "neural/bind_net.h"

#include <math.h>

enum { MAX_ROWS = 4096, LEGS = 8 }; // rows: of what may be pushed at a time
static const float LEG = 2e-3f;     // m: lips that go farther in a frame are limited more than once on the way

#define NEURAL_PARAMS(X)                                                                                               \
    X(TEXT, net, NAN, 0, 0, "", "F.net", "made by fascia train; not given: the network that ships")                    \
    X(CHOICE, precision, 0, 0, 2, "", "int8|f16|f32", "of the basis that is read in every frame")                      \
    X(NUMBER, amount, 1, 0, 2, "", NULL, "how much of what the network adds")                                          \
    X(CHOICE, contact, 3, 0, 3, "", "mouth|face|off|openings",                                                         \
      "what may touch: the mouth; the whole face (slower); nothing; mouth, the skin around it and lids")               \
    X(TEXT, face, NAN, 0, 0, "", "FILE.face", "made by fascia build, for contact; not given: built from the rig")

FAI_PARAMS(neural_params, NEURAL_PARAMS);

typedef struct Neural {
    FaMethod m;
    FaArena *arena;
    FaNeural *bound;
    FaRt *rt;
    FaBlender *blender;
    float amount;
    float *weights; // those of the input that are numbers; others are 0   (nshape)
    float *linear;  // the rig's own surface                        (nvert x 3)
    float *targets; // (K)
    FaTouching touching;
    unsigned char *riding;             // vertices on skin that may touch              (nvert)
    float *rest, *skin_to, *leg, *own; // nskin x 3, x 3, x 3, x 4
    void *touch_state;
    float *skin; // the state: of the last frame                 (nskin x 3)
} Neural;

// --- opening ------------------------------------------------------------------------------------------------------

static void say_report(FaMethod *m, const FaNeuralReport *r) {
    if (r->chain > 0.15)
        fai_note(&m->notes, "neural-coarse", m->rig->path, "look at the result beside --physics limited",
                 "the network's face and this one fit loosely: %.0f %% of the shapes are lost on the way",
                 100 * r->chain);
    if (r->far > 4)
        fai_note(&m->notes, "neural-far", m->rig->path, "train one on faces like it: docs/guide/neural.md",
                 "this face is unlike all that the network was trained on (%.1f standard deviations)", r->far);
}

static FaCode bind(Neural *n, const FaParams *params, FaError *err) {
    static const FaNeuralPrecision precision[] = {FA_NEURAL_INT8, FA_NEURAL_F16, FA_NEURAL_F32};
    FaNeuralReport report;
    size_t size;
    FA_TRY(fa_neural_bind(n->m.rig, fai_params_text_at(params, P_net),
                          precision[(int)fai_params_at(params, P_precision)], &n->bound, &report, err));
    say_report(&n->m, &report);
    const void *data = fa_neural_bytes(n->bound, &size);
    size_t room = fa_rt_room(data, size);
    void *memory = fai_arena_push(n->arena, 1, room);
    n->targets = FA_PUSH(n->arena, report.targets, float);
    if (!memory || !n->targets) return FA_FAIL_MEMORY(err);
    char why[FA_RT_TEXT];
    if (fa_rt_place(data, size, memory, room, &n->rt, why) < 0)
        return FA_FAIL(err, FA_E_NUMERIC, n->m.rig->path, "check its shapes: fascia info",
                       "the network does not fit it: %s", why);
    fa_rt_simd(n->rt, fai_simd_wanted());
    n->m.inputs = fai_hash64(data, size, n->m.inputs);
    return FA_OK;
}

static FaCode open_contact(Neural *n, const FaMethodSetup *setup, FaError *err) {
    const FaTouchOptions o = {.what = (FaTouch)fai_params_at(setup->params, P_contact),
                              .stiffness = 1, // rows are not asked for
                              .max_rows = MAX_ROWS};
    if (o.what == FA_TOUCH_OFF) return FA_OK;
    FA_TRY(fai_method_face(&n->m, setup, P_face, -1, err));
    const FaFace *f = n->m.face;
    FA_TRY(fai_touching_new(f, &o, &n->touching, &n->m.notes, err));
    if (!n->touching.contact) return FA_OK;
    size_t size = 3 * (size_t)f->nskin;
    n->rest = n->touching.rest;
    n->skin = FA_PUSH(n->arena, size, float);
    n->skin_to = FA_PUSH(n->arena, size, float);
    n->leg = FA_PUSH(n->arena, size, float);
    n->own = FA_PUSH(n->arena, 4 * (size_t)f->nskin, float);
    n->riding = FA_PUSH(n->arena, f->nvert, unsigned char);
    n->touch_state = fai_arena_push(n->arena, 1, fai_contact_state_size(n->touching.contact));
    if (!n->skin || !n->skin_to || !n->leg || !n->own || !n->riding || !n->touch_state) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < f->nvert; v++)
        for (int j = 0; j < 3; j++) {
            int node = f->node_of_vertex[v], ride = f->ride_node[3 * (size_t)v + (size_t)j];
            n->riding[v] |= node >= 0 ? n->touching.touch[node] & 1 : ride >= 0 && n->touching.touch[ride] & 1;
        }
    memcpy(n->skin, n->rest, size * sizeof *n->skin);
    return FA_OK;
}

static FaCode neural_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    Neural *n = (Neural *)m;
    n->amount = (float)fai_params_at(setup->params, P_amount);
    n->arena = fai_arena_new(0);
    if (!n->arena) return FA_FAIL_MEMORY(err);
    FA_TRY(bind(n, setup->params, err));
    FA_TRY(fa_blender_new(m->rig, &n->blender, err));
    n->linear = FA_PUSH(n->arena, 3 * (size_t)m->rig->mesh.nvert, float);
    n->weights = FA_PUSH(n->arena, FA_MAX(m->rig->nshape, 1), float);
    if (!n->linear || !n->weights) return FA_FAIL_MEMORY(err);
    uint64_t inputs = m->inputs;
    FA_TRY(open_contact(n, setup, err)); // the face replaces inputs
    m->inputs = fai_hash64(&inputs, sizeof inputs, m->inputs);
    return FA_OK;
}

static void neural_close(FaMethod *m) {
    Neural *n = (Neural *)m;
    fa_neural_free(n->bound);
    fa_blender_free(n->blender);
    fai_touching_free(&n->touching);
    fai_arena_free(n->arena);
}

// --- a frame ------------------------------------------------------------------------------------------------------

static void at_node(const Neural *n, const float *x, int i, float out[3]) {
    const FaFace *f = n->m.face;
    for (int k = 0; k < 3; k++)
        out[k] = x[3 * (size_t)f->skin_vertex[i] + (size_t)k] +
                 (n->rest[3 * (size_t)i + (size_t)k] - f->x0[3 * (size_t)i + (size_t)k]);
}

// Skin that was stopped, and what rides on it, in the frame.
static void put_back(const Neural *n, float *surface) {
    const FaFace *f = n->m.face;
    for (int v = 0; v < f->nvert; v++) {
        int node = f->node_of_vertex[v];
        if (!n->riding[v] || node >= 0) continue;
        for (int j = 0; j < 3; j++) {
            int ride = f->ride_node[3 * (size_t)v + (size_t)j];
            float was[3];
            if (ride < 0) continue;
            at_node(n, surface, ride, was);
            for (int k = 0; k < 3; k++)
                surface[3 * (size_t)v + (size_t)k] +=
                    f->ride_weight[3 * (size_t)v + (size_t)j] * (n->skin_to[3 * (size_t)ride + (size_t)k] - was[k]);
        }
    }
    for (int v = 0; v < f->nvert; v++) {
        int node = f->node_of_vertex[v];
        if (n->riding[v] && node >= 0)
            memcpy(surface + 3 * (size_t)v, n->skin_to + 3 * (size_t)node, 3 * sizeof *surface);
    }
}

static int legs_of(const Neural *n) {
    float most = 0;
    for (int i = 0; i < n->m.face->nskin; i++)
        for (int k = 0; k < 3 && n->touching.touch[i] & 1; k++)
            most = fmaxf(most, fabsf(n->skin_to[3 * (size_t)i + (size_t)k] - n->skin[3 * (size_t)i + (size_t)k]));
    return (int)fminf(LEGS, 1 + most / LEG);
}

// From where the last frame left the skin. What the artist's own pose has crossing deeply stays so.
static void keep_apart(Neural *n, const float *weights, float *surface, FaStats *stats) {
    const FaFace *f = n->m.face;
    FaContact *contact = n->touching.contact;
    const size_t size = 3 * (size_t)f->nskin;
    FaPose pose[FA_TOUCH_COLLIDERS];
    for (int i = 0; i < f->nskin; i++) {
        float own[3];
        at_node(n, n->linear, i, own);
        at_node(n, surface, i, n->skin_to + 3 * (size_t)i);
        for (int k = 0; k < 3; k++) n->own[4 * (size_t)i + (size_t)k] = own[k] - n->rest[3 * (size_t)i + (size_t)k];
    }
    fai_touching_poses(&n->touching, f, weights, pose);
    fai_contact_begin(contact, 1 / 60.0, n->skin, pose);
    fai_contact_own_pose(contact, n->own);
    const int legs = legs_of(n);
    for (int leg = 1; leg <= legs; leg++) {
        const float share = 1 / (float)(legs - leg + 1); // of what is left of the way
        for (size_t i = 0; i < size; i++) n->leg[i] = n->skin[i] + share * (n->skin_to[i] - n->skin[i]);
        if (leg == legs) memcpy(n->leg, n->skin_to, size * sizeof *n->leg);
        fai_contact_limit(contact, n->skin, n->leg);
        if (stats) stats->held += fai_contact_stats(contact).held;
        memcpy(n->skin, n->leg, size * sizeof *n->leg);
    }
    memcpy(n->skin_to, n->skin, size * sizeof *n->skin);
    put_back(n, surface);
}

static FaCode neural_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    Neural *n = (Neural *)m;
    (void)err;
    for (int s = 0; s < m->rig->nshape; s++) {
        bool good = isfinite(in->weights[s]);
        n->weights[s] = good ? in->weights[s] : 0;
        if (!good && stats) stats->clamped++;
    }
    fa_blender_eval(n->blender, n->weights, n->linear);
    memcpy(surface, n->linear, 3 * (size_t)m->rig->mesh.nvert * sizeof *surface);
    fa_rt_network(n->rt, n->weights, n->targets);
    fa_rt_correct(n->rt, n->targets, n->amount, surface);
    if (!n->touching.contact) return FA_OK;
    bool still = true;
    for (int s = 0; s < m->rig->nshape; s++) still &= n->weights[s] == 0;
    if (still) { // the neutral is free, however lips were caught on the way
        memcpy(n->skin, n->rest, 3 * (size_t)m->face->nskin * sizeof *n->skin);
        fai_contact_reset(n->touching.contact, n->skin);
    } else
        keep_apart(n, n->weights, surface, stats);
    return FA_OK;
}

static FaCode neural_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    Neural *n = (Neural *)m;
    if (n->touching.contact) {
        memcpy(n->skin, n->rest, 3 * (size_t)m->face->nskin * sizeof *n->skin);
        fai_contact_reset(n->touching.contact, n->skin);
    }
    return neural_step(m, in, surface, NULL, err);
}

static void neural_state(FaMethod *m, FaStream *s) {
    Neural *n = (Neural *)m;
    FaContact *contact = n->touching.contact;
    FaError none = {0};
    if (!contact) return;
    fai_stream(s, n->skin, 3 * (size_t)m->face->nskin * sizeof *n->skin);
    if (s->mode == FA_STREAM_SAVE || s->mode == FA_STREAM_HASH) fai_contact_save(contact, n->touch_state);
    fai_stream(s, n->touch_state, fai_contact_state_size(contact));
    if (s->mode == FA_STREAM_LOAD) fai_contact_load(contact, n->touch_state, &none);
}

static const float *neural_linear(const FaMethod *m) { return ((const Neural *)m)->linear; }

const FaMethodOps fai_method_neural = {
    .name = "neural",
    .help = "flesh by a trained network: what physics adds, at the price of a few more shapes",
    .params = neural_params,
    .size = sizeof(Neural),
    .takes = FA_TAKES_FACE,
    .needs = FA_NEED_FACE,
    .open = neural_open,
    .reset = neural_reset,
    .step = neural_step,
    .state = neural_state,
    .linear = neural_linear,
    .close = neural_close,
};
