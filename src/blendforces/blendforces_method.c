// The method "blendforces": skin under forces in the span of the shapes (thesis 001 chapter 4), driven live by markers
// or by weights.
//
//     markers, by their names -> the map's order -> head taken out -> control -> surface
//     weights -------------------------------------> commands -----> control -> surface
//
// What drives a frame: its markers, where the input has any (FaInput.markers). Where none of them is usable the face is
// held and eases off. Without markers the weights are the commands; without either it is held as well. So a tracker
// that loses the face does not jump to weights that nobody meant, and one source may take over from the other.
//
// A reset under weights comes to rest. Under markers it is the first frame from the neutral, as near to rest as one
// solve brings it (0.3 mm at most on the shipped head, tests/test_blendforces_method.c).
// Markers are solved once per input, at whatever times they come. Weights are led from input to input in steps of
// 1/rate.
#include "base/base.h"
#include "blendforces/control.h"
#include "blendforces/head_refine.h"
#include "math/mat3.h"
#include "method/stepper.h"
#include "track/head_stabiliser.h"

#include <math.h>

#define BLENDFORCES_PARAMS(X)                                                                                          \
    X(TEXT, face, NAN, 0, 0, "", "FILE.face", "made by fascia build; not given: built from the rig with defaults")     \
    X(TEXT, map, NAN, 0, 0, "", "FILE.json",                                                                           \
      "where each marker sits: {\"name\": vertex, ...}; not given: as fascia markers chooses them")                    \
    X(CHOICE, solve, 0, 0, 3, "", "auto|bf|sbs|rsbs",                                                                  \
      "what moves the skin. auto, bf: forces. sbs: shapes alone. rsbs: few shapes")                                    \
    X(FLAG, literal, 0, 0, 1, "", NULL, "for comparison only: forces exactly as published")                            \
    X(CHOICE, jaw, 0, 0, 2, "", "auto|on|off", "the jaw turns as a bone does; auto: with forces")                      \
    X(CHOICE, residual, 0, 0, 2, "", "auto|on|off",                                                                    \
      "spread what the markers still miss over the skin; auto: with forces")                                           \
    X(FLAG, refine, 0, 0, 1, "", NULL, "sbs, rsbs: find shapes and what is spread together; with residual on")         \
    X(NUMBER, smooth, 1.5, 0, 100, "frames", NULL, "calms what is spread, against trembling markers; 0: not at all")   \
    X(INT, relinearise, 2, 1, 100, "", NULL, "of literal: rounds per frame")                                           \
    X(NUMBER, rate, 60, 10, 5000, "Hz", NULL,                                                                          \
      "simulation steps per second, at least; with markers: how many frames come, nearly")                             \
    X(FLAG, head_frame, 0, 0, 1, "", NULL, "the markers hold the head still already: no motion of it to take out")

FAI_PARAMS(blendforces_params, BLENDFORCES_PARAMS);

static const double BEYOND = 500; // m: no marker of a face is there

typedef struct Blendforces {
    FaMethod m;
    const FaFace *face;
    FaMarkerMap *own_map; // loaded or chosen here; NULL: the caller's
    const FaMarkerMap *map;
    FaControl *control;
    FaHeadStabiliser *stabiliser; // NULL: markers are in the rig's frame
    FaHeadRefine *refine;
    bool bring; // the map says how a take comes to the rig (markers in the rig's frame only)
    FaArena *arena;

    // of a frame
    float *x, *world;  // markers in the map's order, m: rig's frame, as they came         (count x 3)
    unsigned char *ok; // (count)

    // the state, beside the control's and the stabiliser's
    FaPose head;  // world from the rig's frame, of the last input
    bool by_head; // it was found in the markers
    bool by_markers;
    FaStepper stepper; // of weights
} Blendforces;

// --- opening ------------------------------------------------------------------------------------------------------

static FaDriveOptions options_of(const FaParams *p) {
    FaDriveOptions o = {.kind = (FaDriveKind)fai_params_at(p, P_solve),
                        .literal = fai_params_at(p, P_literal) != 0,
                        .refine = fai_params_at(p, P_refine) != 0,
                        .smooth = fai_params_at(p, P_smooth) > 0 ? fai_params_at(p, P_smooth) : -1,
                        .relinearise = (int)fai_params_at(p, P_relinearise),
                        .head_frame = fai_params_at(p, P_head_frame) != 0,
                        .fps = fai_params_at(p, P_rate)};
    if (o.literal) o.kind = FA_DRIVE_BF;
    bool forces = o.kind == FA_DRIVE_AUTO || o.kind == FA_DRIVE_BF;
    int jaw = (int)fai_params_at(p, P_jaw), residual = (int)fai_params_at(p, P_residual); // auto, on, off
    o.no_jaw = o.literal || (jaw ? jaw == 2 : !forces);
    o.no_residual = o.literal || (residual ? residual == 2 : !forces);
    return o;
}

// Shapes alone need none.
static FaCode get_face(Blendforces *b, const FaMethodSetup *setup, const FaDriveOptions *o, FaError *err) {
    bool forces = o->kind == FA_DRIVE_AUTO || o->kind == FA_DRIVE_BF;
    bool given = setup->face || fai_params_text_at(setup->params, P_face)[0];
    if (!given && !forces && o->no_residual) return FA_OK;
    FA_TRY(fai_method_face(&b->m, setup, P_face, -1, err));
    b->face = b->m.face;
    return FA_OK;
}

static FaCode get_map(Blendforces *b, const char *path, const FaMarkerMap *given, FaError *err) {
    if (given)
        b->map = given;
    else if (path[0])
        FA_TRY(fa_marker_map_load(path, b->m.rig, &b->own_map, err));
    else
        FA_TRY(fa_markers_choose(b->m.rig, 0, &b->own_map, err));
    if (!given) b->map = b->own_map;
    b->m.inputs = fai_hash64(b->map->point, (size_t)b->map->count * sizeof *b->map->point, b->m.inputs);
    return FA_OK;
}

static bool is_identity(const FaPose *p) {
    FaPose none = fai_pose_identity();
    return !(fai_q_dot(p->q, p->q) > 0.5) || !memcmp(p, &none, sizeof none); // all 0: the map says nothing of it
}

static FaCode blendforces_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    Blendforces *b = (Blendforces *)m;
    FaDriveOptions o = options_of(setup->params);
    FA_TRY(get_face(b, setup, &o, err));
    FA_TRY(get_map(b, fai_params_text_at(setup->params, P_map), setup->markers, err));
    FA_TRY(fai_control_open(m->rig, b->face, b->map, &o, NULL, &b->control, err));
    if (!o.head_frame) {
        FA_TRY(fai_head_stabiliser_new(m->rig, b->map, &b->stabiliser, err));
        FA_TRY(fai_head_refine_new(m->rig, b->face, b->map, NULL, &b->refine, err));
    }
    b->bring = o.head_frame && !is_identity(&b->map->rig_from_take);
    size_t n = (size_t)b->map->count;
    b->arena = fai_arena_new(0);
    if (!b->arena) return FA_FAIL_MEMORY(err);
    b->x = FA_PUSH(b->arena, 3 * n, float);
    b->world = FA_PUSH(b->arena, 3 * n, float);
    b->ok = FA_PUSH(b->arena, n, unsigned char);
    if (!b->x || !b->world || !b->ok) return FA_FAIL_MEMORY(err);
    return fai_stepper_init(&b->stepper, m->rig, o.fps, 0, 1, b->arena, err);
}

static void blendforces_close(FaMethod *m) {
    Blendforces *b = (Blendforces *)m;
    fai_head_refine_free(b->refine);
    fai_head_stabiliser_free(b->stabiliser);
    fai_control_free(b->control);
    fa_marker_map_free(b->own_map);
    fai_arena_free(b->arena);
}

// --- markers ------------------------------------------------------------------------------------------------------

// The input's marker that is the map's i-th: the same place is the usual case. -1: it has none of that name.
static int row_of(const Blendforces *b, const FaMarkers *m, int i) {
    if (!m->name) return i < m->count ? i : -1;
    if (i < m->count && m->name[i] && !strcmp(m->name[i], b->map->name[i])) return i;
    for (int k = 0; k < m->count; k++)
        if (m->name[k] && !strcmp(m->name[k], b->map->name[i])) return k;
    return -1;
}

// Markers into the map's order; returns how many of those called seen have no place.
static int read_markers(Blendforces *b, const FaMarkers *m) {
    int bad = 0;
    for (int i = 0; i < b->map->count; i++) {
        int row = b->map->point[i].vert[0] < 0 ? -1 : row_of(b, m, i);
        bool seen = row >= 0 && (!m->ok || m->ok[row]);
        double x[3] = {0};
        if (seen) fai_v3_load(m->x, row, x);
        bool good = isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]) && fai_v3_norm(x) < BEYOND;
        bad += seen && !good;
        b->ok[i] = seen && good;
        if (b->ok[i] && b->bring) fai_pose_apply(&b->map->rig_from_take, x, x);
        for (size_t k = 0; k < 3; k++) b->x[3 * (size_t)i + k] = b->ok[i] ? (float)x[k] : 0;
    }
    return bad;
}

// The head taken out of b->x, and its pose.
static FaCode take_head_out(Blendforces *b, FaError *err) {
    size_t n = (size_t)b->map->count;
    FaPose pose;
    bool known;
    memcpy(b->world, b->x, 3 * n * sizeof *b->x);
    bool found = fai_head_stabiliser_find(b->stabiliser, b->world, b->ok, &pose, &known);
    if (!known) { // where the face is nobody can say yet
        memset(b->ok, 0, n);
        return FA_OK;
    }
    fai_bring_to_head(&pose, (int)n, b->ok, b->x);
    if (found) {
        FA_TRY(fai_head_refine(b->refine, FA_HEAD_TURNS_LIVE, b->x, b->ok, &pose, err));
        fai_head_stabiliser_learn(b->stabiliser, b->world, b->ok, &pose);
    }
    b->head = pose;
    b->by_head = true;
    return FA_OK;
}

static FaCode by_markers(Blendforces *b, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    FaMarkers none = {0}, m = {.count = b->map->count, .name = b->map->name, .x = b->x, .ok = b->ok};
    FaControlFit fit = {0};
    b->head = in->head;
    b->by_head = false;
    b->by_markers = true;
    if (in->markers) stats->clamped += read_markers(b, in->markers);
    if (in->markers && b->stabiliser) FA_TRY(take_head_out(b, err));
    FaCode rc = fai_control_step(b->control, in->markers ? &m : &none, in->time, surface, NULL, &fit, err);
    stats->clamped += fit.held;
    stats->residual = fit.after;
    // where weights would go on from
    memcpy(b->stepper.last_weights, fai_control_weights(b->control), (size_t)b->m.rig->nshape * sizeof(float));
    return rc;
}

// --- the method ---------------------------------------------------------------------------------------------------

static bool driven_by_weights(const FaInput *in) { return !in->markers && in->weights; }

static void by_weights(Blendforces *b, const FaInput *in) {
    b->head = in->head;
    b->by_head = b->by_markers = false;
}

static FaCode blendforces_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    Blendforces *b = (Blendforces *)m;
    FaStats stats = {0};
    fai_stepper_reset(&b->stepper, m, in);
    if (b->stabiliser) fai_head_stabiliser_reset(b->stabiliser);
    fai_control_reset(b->control);
    if (!driven_by_weights(in)) return by_markers(b, in, surface, &stats, err);
    by_weights(b, in);
    fai_stepper_weights(&b->stepper, in, 1, NULL);
    fai_control_settle(b->control, b->stepper.weights, in->time, surface);
    fai_stepper_end(&b->stepper);
    return FA_OK;
}

static FaCode blendforces_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    Blendforces *b = (Blendforces *)m;
    if (!driven_by_weights(in)) return by_markers(b, in, surface, stats, err);
    by_weights(b, in);
    fai_stepper_weights(&b->stepper, in, 1, stats);
    FA_TRY(
        fai_control_follow(b->control, m->time, b->stepper.last_weights, in->time, b->stepper.weights, surface, err));
    fai_stepper_end(&b->stepper);
    return FA_OK;
}

static void blendforces_state(FaMethod *m, FaStream *s) {
    Blendforces *b = (Blendforces *)m;
    size_t size;
    fai_control_stream(b->control, s);
    fai_stream(s, &b->head, sizeof b->head);
    fai_stream(s, &b->by_head, sizeof b->by_head);
    fai_stream(s, &b->by_markers, sizeof b->by_markers);
    fai_stepper_stream(&b->stepper, s);
    if (!b->stabiliser) return;
    void *kept = fai_head_stabiliser_state(b->stabiliser, &size);
    fai_stream(s, kept, size);
}

static void blendforces_found(const FaMethod *m, FaInput *next) {
    const Blendforces *b = (const Blendforces *)m;
    if (b->by_markers) next->weights = fai_control_weights(b->control);
    if (b->by_head) next->head = fa_rig_head(m->rig, &b->head);
}

const FaMethodOps fai_method_blendforces = {
    .name = "blendforces",
    .help = "skin under forces, driven live by markers or by weights",
    .params = blendforces_params,
    .size = sizeof(Blendforces),
    .needs = FA_NEED_FACE,
    .takes = FA_TAKES_FACE | FA_TAKES_MARKERS,
    .open = blendforces_open,
    .reset = blendforces_reset,
    .step = blendforces_step,
    .state = blendforces_state,
    .found = blendforces_found,
    .close = blendforces_close,
};
