// Analytic dynamics of clips: each shape's weight is an oscillator that is drawn to the weight of the clip,
//     m y'' + c y' + k y = k w(t),   w linear between frames,
// and steps from frame to frame by the exact solution (math/oscillator.h): stable for every parameter and frame rate,
// and independent of the latter. The filtered weights go through the blender, so a frame costs what linear blending
// costs.
//
// The head's acceleration is affine in the position, a(x) = a0 + A x, and the oscillator is linear, so with one (m, c,
// k) the flesh's answer is gain(v) (u0 + U x_v) with 12 scalar oscillators u'' + c/m u' + k/m u = (a0, A). x_v is the
// neutral position: the few mm that an expression moves a vertex are nothing beside its distance from the axis.
//
// With an oscillator per vertex the surface itself is filtered (vertex_follow.c).
//
// Symbols: y -> y, y' -> v, w at the last frame -> w, u and u' -> u, du, (a0, A) at the last moment -> a.
#include "analytic/analytic.h"
#include "analytic/follow.h"
#include "analytic/handle.h"
#include "analytic/sculpt.h"
#include "analytic/sharp.h"
#include "analytic/vertex_follow.h"
#include "base/simd.h"
#include "base/task.h"
#include "math/mat3.h"
#include "method/felt_head.h"
#include "method/head_force.h"
#include "method/method.h"

#include <math.h>

#define ANALYTIC_PARAMS(X)                                                                                             \
    X(CHOICE, preset, 0, 0, 4, "", "soft|heavy|snappy|firm|jelly", "which spring to start from")                       \
    X(NUMBER, frequency, NAN, 0.01, 1000, "Hz", NULL,                                                                  \
      "how fast it swings; 3 is heavy, 16 is stiff (in place of the preset's)")                                        \
    X(NUMBER, ratio, NAN, 0, 100, "", NULL, "how fast the swing dies; 0.15 swings long, 1 does not swing past")        \
    X(NUMBER, mass, NAN, 1e-9, 1e9, "kg", NULL, "mass on the spring (in place of the preset's 1)")                     \
    X(NUMBER, damping, NAN, 0, 1e12, "kg/s", NULL, "damping of the spring (in place of the preset's)")                 \
    X(NUMBER, stiffness, NAN, 1e-9, 1e15, "kg/s2", NULL, "stiffness of the spring (in place of the preset's)")         \
    X(NUMBER, head, 0.2, 0, 100, "", NULL, "how much of the head's motion the face feels: 0 nothing, 1 all of it")     \
    X(NUMBER, gravity, 1, 0, 1, "", NULL,                                                                              \
      "1: the sculpts already sag, so only tilting the head adds sag. 0: full gravity on top of the sculpts")          \
    X(NUMBER, rate, 240, 10, 10000, "Hz", NULL, "how often the head's acceleration is sampled")                        \
    X(FLAG, regions, 1, 0, 1, "", NULL,                                                                                \
      "lids, lips, eyes, teeth and tongue keep the clip's timing; off: all of the face is equally soft")               \
    X(TEXT, maps, NAN, 0, 0, "", "FILE.json", "mass, damping, stiffness, gain and forces per shape, region or vertex") \
    X(TEXT, sculpt, NAN, 0, 0, "", "NAME=FORCE,...",                                                                   \
      "forces on shapes: constant:SIZE, linear:SIZE or sine:SIZE:HZ[:DEGREES]")

FAI_PARAMS(analytic_params, ANALYTIC_PARAMS);

enum { MOST_SUBSTEPS = 4096, PULL = 1024 };

typedef struct Analytic {
    FaMethod m;
    FaBlender *blender;
    FaOscillator o;        // of the head's motion, and of shapes without one of their own
    int ngroup;            // different oscillators among the shapes
    FaOscillator *group_o; // (ngroup)
    FaFollow *group;       // their coefficients for a step of coef_h     (ngroup)
    double coef_h;
    int *shape_group; // (nshape)
    double *least;    // weights below this move nothing by 0.5 um   (nshape)
    float *weights;   // filtered, for the blender                   (nshape)
    FaSculpts sculpts;
    FaHandles handles;

    double head_gain, share, rate, up[3];
    float *pull[4]; // gain, gain * x, y, z                        (nvert)
    bool *pulled;   // whether any vertex of a chunk feels it      (chunks of PULL)
    bool avx2;
    FaAffine *path; // acceleration along a frame                  (MOST_SUBSTEPS + 1)

    FaVertexFollow *vertex; // NULL: an oscillator per shape
    FaSharp *sharp;         // NULL: all of the face is equally soft

    // the state
    double h;          // step of the last frame
    double start;      // time of the reset: forces set in there
    double *y, *v, *w; // one block                                   (nshape)
    double u[12], du[12];
    FaAffine a;
    FaPoseTrail trail;
} Analytic;

// --- opening ------------------------------------------------------------------------------------------------------

static FaCode base_oscillator(const FaParams *p, FaOscillator *o, FaError *err) {
    static const char *const presets[] = {"soft", "heavy", "snappy", "firm", "jelly"};
    fa_oscillator_preset(presets[(int)fai_params_at(p, P_preset)], o);
    double f = fai_params_at(p, P_frequency), r = fai_params_at(p, P_ratio), m = fai_params_at(p, P_mass);
    double c = fai_params_at(p, P_damping), k = fai_params_at(p, P_stiffness);
    if ((!isnan(f) && !isnan(k)) || (!isnan(r) && !isnan(c)))
        return FA_FAIL(err, FA_E_ARG, NULL, "give frequency and ratio, or damping and stiffness",
                       "the spring is given twice: frequency says the same as stiffness, and ratio as damping");
    double ratio = isnan(r) ? fa_oscillator_ratio(o) : r;
    if (!isnan(f) || !isnan(r)) *o = fa_oscillator_of(o->mass, isnan(f) ? fa_oscillator_frequency(o) : f, ratio);
    // a frequency and a mass: that frequency, with that mass; a mass alone: the preset's spring with another mass on it
    if (!isnan(m) && !isnan(f))
        *o = fa_oscillator_of(m, f, ratio);
    else if (!isnan(m))
        o->mass = m;
    if (!isnan(c)) o->damping = c;
    if (!isnan(k)) o->stiffness = k;
    return fa_oscillator_check(o, err);
}

// Shapes with the same oscillator share their coefficients.
static FaCode group_shapes(Analytic *a, const FaOscillator *shape, FaError *err) {
    int n = a->m.rig->nshape;
    a->group_o = FA_NEW(n + 1, FaOscillator);
    a->group = FA_NEW(n + 1, FaFollow);
    a->shape_group = FA_NEW(n, int);
    if (!a->group_o || !a->group || !a->shape_group) return FA_FAIL_MEMORY(err);
    a->group_o[a->ngroup++] = a->o;
    for (int s = 0; shape && s < n; s++) {
        FA_TRY(fa_oscillator_check(&shape[s], err));
        int g = 0;
        while (g < a->ngroup && memcmp(&a->group_o[g], &shape[s], sizeof *shape)) g++;
        if (g == a->ngroup) a->group_o[a->ngroup++] = shape[s];
        a->shape_group[s] = g;
    }
    return FA_OK;
}

static FaCode least_weights(Analytic *a, FaError *err) {
    const FaRig *rig = a->m.rig;
    a->least = FA_NEW(rig->nshape, double);
    if (!a->least) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < rig->nshape; s++) {
        double most = 1e-9;
        for (int i = rig->shape[s].first; i < rig->shape[s].first + rig->shape[s].count; i++) {
            double d[3];
            fai_v3_load(rig->delta, i, d);
            most = fmax(most, fai_v3_norm(d));
        }
        a->least[s] = 0.5e-6 / most;
    }
    return FA_OK;
}

static FaCode fill_pull(Analytic *a, const float *gain, FaError *err) {
    const FaMesh *mesh = &a->m.rig->mesh;
    size_t n = (size_t)mesh->nvert;
    a->pull[0] = FA_NEW(4 * n, float);
    a->pulled = FA_NEW(fai_chunks(mesh->nvert, PULL), bool);
    if (!a->pull[0] || !a->pulled) return FA_FAIL_MEMORY(err);
    for (int k = 1; k < 4; k++) a->pull[k] = a->pull[0] + (size_t)k * n;
    for (size_t v = 0; v < n; v++) {
        double g = a->head_gain * (double)gain[v];
        a->pull[0][v] = (float)g;
        for (size_t k = 0; k < 3; k++) a->pull[1 + k][v] = (float)(g * (double)mesh->x[3 * v + k]);
        a->pulled[v / PULL] |= g != 0;
    }
    return FA_OK;
}

// Lids, lips and what is no flesh follow the clip itself, and the head's motion does not swing them.
static FaCode keep_sharp(Analytic *a, float *gain, FaError *err) {
    const FaRig *rig = a->m.rig;
    bool any;
    float *sharp = FA_NEW(rig->mesh.nvert, float);
    if (!sharp) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_sharp_find(rig, sharp, &any, &a->m.notes, err);
    if (rc >= 0 && any) rc = fai_sharp_new(rig, sharp, &a->sharp, err);
    for (int v = 0; v < rig->mesh.nvert; v++) gain[v] *= 1 - sharp[v];
    fa_free(sharp);
    return rc;
}

// What the maps say, or defaults: groups of shapes or an oscillator per vertex, and who feels the head.
static FaCode use_maps(Analytic *a, const FaMaps *maps, bool regions, FaError *err) {
    const FaRig *rig = a->m.rig;
    if (maps->shape && maps->vertex)
        return FA_FAIL(err, FA_E_ARG, NULL, "give oscillators per shape, or per vertex (regions)",
                       "the maps hold both");
    FA_TRY(group_shapes(a, maps->shape, err));
    FA_TRY(fai_handles_new(rig, maps, &a->handles, err));
    float *gain = FA_NEW(rig->mesh.nvert, float);
    if (!gain) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    if (maps->gain)
        memcpy(gain, maps->gain, (size_t)rig->mesh.nvert * sizeof *gain);
    else if (a->head_gain > 0)
        fa_analytic_gain(rig, gain);
    if (rc >= 0 && regions) rc = keep_sharp(a, gain, err);
    if (rc >= 0 && maps->vertex) {
        for (int v = 0; v < rig->mesh.nvert; v++) gain[v] *= (float)a->head_gain;
        rc = fai_vertex_follow_new(rig, maps->vertex, gain, &a->vertex, err);
    } else if (rc >= 0)
        rc = fill_pull(a, gain, err);
    fa_free(gain);
    return rc;
}

static FaCode analytic_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    Analytic *a = (Analytic *)m;
    const FaParams *p = setup->params;
    const FaRig *rig = m->rig;
    FA_TRY(base_oscillator(p, &a->o, err));
    a->head_gain = fai_params_at(p, P_head);
    a->share = fai_params_at(p, P_gravity);
    a->rate = fai_params_at(p, P_rate);
    memcpy(a->up, rig->axes + 3, sizeof a->up);
    a->avx2 = fai_simd_wanted();
    a->y = FA_NEW(3 * (size_t)rig->nshape, double);
    a->weights = FA_NEW(rig->nshape, float);
    a->path = FA_NEW(MOST_SUBSTEPS + 1, FaAffine);
    if (!a->y || !a->weights || !a->path) return FA_FAIL_MEMORY(err);
    a->v = a->y + rig->nshape;
    a->w = a->v + rig->nshape;
    FA_TRY(fa_blender_new(rig, &a->blender, err));
    FA_TRY(least_weights(a, err));
    FA_TRY(fai_sculpts_parse(fai_params_text_at(p, P_sculpt), rig, &a->sculpts, err));
    const char *path = fai_params_text_at(p, P_maps);
    FaMaps read = {0};
    if (!setup->maps && path[0]) FA_TRY(fa_analytic_maps_load(path, rig, &a->o, &read, err));
    // whoever gives springs by place has said what is soft
    const FaMaps *maps = setup->maps ? setup->maps : &read;
    FaCode rc = use_maps(a, maps, fai_params_at(p, P_regions) != 0 && !maps->vertex && !maps->gain, err);
    fa_analytic_maps_free(&read);
    return rc;
}

static void analytic_close(FaMethod *m) {
    Analytic *a = (Analytic *)m;
    fa_blender_free(a->blender);
    fai_vertex_follow_free(a->vertex);
    fai_sharp_free(a->sharp);
    fai_sculpts_free(&a->sculpts);
    fai_handles_free(&a->handles);
    fa_free(a->group_o);
    fa_free(a->group);
    fa_free(a->shape_group);
    fa_free(a->least);
    fa_free(a->weights);
    fa_free(a->pull[0]);
    fa_free(a->pulled);
    fa_free(a->path);
    fa_free(a->y);
}

// --- shapes -------------------------------------------------------------------------------------------------------

// A weight that is not a number counts as the last one that was: one bad sample must not ring on.
static double good_weight(const Analytic *a, const FaInput *in, int s, FaStats *stats) {
    if (isfinite(in->weights[s])) return (double)in->weights[s];
    if (stats) stats->clamped++;
    return a->w[s];
}

static void prepare(Analytic *a, double h) {
    // times of even frames differ in their last digits; that must not cost new coefficients
    if (!(fabs(h - a->h) <= 1e-11 * a->h)) a->h = h;
    if (a->coef_h == a->h) return;
    a->coef_h = a->h;
    for (int g = 0; g < a->ngroup; g++) a->group[g] = fai_follow(&a->group_o[g], a->h);
}

static void step_shapes(Analytic *a, const FaInput *in, FaStats *stats) {
    for (int s = 0; s < a->m.rig->nshape; s++) {
        const FaFollow *f = &a->group[a->shape_group[s]];
        double w = good_weight(a, in, s, stats), e = a->y[s] - a->w[s], v = a->v[s], d = w - a->w[s];
        double left = f->xx * e + f->xv * v - f->lag * d;
        a->v[s] = f->vx * e + f->vv * v + f->push * d;
        if (fabs(left) < 1e-30 && fabs(a->v[s]) < 1e-30) left = a->v[s] = 0; // before numbers become denormal
        a->y[s] = w + left;
        a->w[s] = w;
    }
}

// Weights for the blender. One that moves nothing visibly is 0, so that shapes which have come to rest cost nothing.
static void output_weights(Analytic *a, const double *y) {
    for (int s = 0; s < a->m.rig->nshape; s++) a->weights[s] = fabs(y[s]) < a->least[s] ? 0 : (float)y[s];
}

// The clip's own weights where nothing may lag.
static void sharpen(Analytic *a, float *surface) {
    if (!a->sharp) return;
    for (int s = 0; s < a->m.rig->nshape; s++) {
        double e = a->w[s] - a->y[s];
        a->sharp->weight[s] = fabs(e) < a->least[s] ? 0 : (float)e;
    }
    fai_sharp_add(a->sharp, surface);
}

// A shape's answer to a force is added in closed form: to its weight, or, with an oscillator per vertex, to the surface
// (push_sculpts).
static void add_sculpts(Analytic *a, double time) {
    for (int i = 0; i < a->sculpts.count; i++) {
        const FaSculpt *sc = &a->sculpts.sculpt[i];
        const FaOscillator *o = &a->group_o[a->shape_group[sc->shape]];
        a->weights[sc->shape] += (float)fa_analytic_force(o, &sc->force, time - a->start);
    }
}

static void push_sculpts(const Analytic *a, double time, float *surface) {
    for (int i = 0; i < a->sculpts.count; i++) {
        const FaSculpt *sc = &a->sculpts.sculpt[i];
        fai_vertex_follow_push(a->vertex, a->m.rig, sc->shape, &sc->force, time - a->start, surface);
    }
}

// --- the head -----------------------------------------------------------------------------------------------------

static bool feels_head(const Analytic *a, const FaInput *in) {
    return a->head_gain > 0 && !fai_head_still(a->m.motion, in);
}

// Fill path[0..n] with the acceleration from the last frame to this one; n.
static int head_path(Analytic *a, const FaInput *in) {
    FaMotion motion;
    a->path[0] = a->a;
    int n = 1;
    double from = a->m.time, span = in->time - from;
    if (a->m.motion) {
        n = (int)fmin(fmax(ceil(span * a->rate - 1e-6), 1), MOST_SUBSTEPS);
        for (int i = 1; i <= n; i++) {
            fai_pose_curve_eval(a->m.motion, i < n ? from + span * i / n : in->time, &motion);
            fai_head_force(&motion, a->up, a->share, &a->path[i]);
        }
    } else {
        FaPose pose = in->head;
        bool good = fai_q_normalize(pose.q);
        for (int k = 0; k < 3; k++) good &= (bool)isfinite(pose.p[k]);
        if (good) fai_trail_push(&a->trail, in->time, &pose);
        fai_trail_motion(&a->trail, &motion);
        fai_head_force(&motion, a->up, a->share, &a->path[1]);
    }
    a->a = a->path[n];
    return n;
}

static void step_head(Analytic *a, int n, double h) {
    FaFollow f = fai_follow(&a->o, h);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 12; i++) {
            double u = a->u[i], du = a->du[i], acc = a->path[j].f[i], rise = a->path[j + 1].f[i] - acc;
            a->u[i] = f.xx * u + f.xv * du + (f.x0 * acc + f.x1 * rise);
            a->du[i] = f.vx * u + f.vv * du + (f.v0 * acc + f.v1 * rise);
        }
}

typedef struct Pull {
    const Analytic *a;
    float u[12];
    float *x;
} Pull;

static inline __attribute__((always_inline)) void pull_vertices(const Pull *p, int begin, int end) {
    const float *restrict g = p->a->pull[0], *restrict gx = p->a->pull[1], *restrict gy = p->a->pull[2],
                          *restrict gz = p->a->pull[3];
    float u[12], *restrict x = p->x;
    memcpy(u, p->u, sizeof u);
    for (int v = begin; v < end; v++) {
        x[3 * v] += g[v] * u[0] + gx[v] * u[3] + gy[v] * u[4] + gz[v] * u[5];
        x[3 * v + 1] += g[v] * u[1] + gx[v] * u[6] + gy[v] * u[7] + gz[v] * u[8];
        x[3 * v + 2] += g[v] * u[2] + gx[v] * u[9] + gy[v] * u[10] + gz[v] * u[11];
    }
}

static void pull_ref(void *ctx, int begin, int end, int chunk) {
    const Pull *p = ctx;
    if (p->a->pulled[chunk]) pull_vertices(p, begin, end);
}

#if defined(__x86_64__)
// The same code for wider registers; nothing is fused, so the bits are the same.
__attribute__((target("avx2"))) static void pull_avx2(void *ctx, int begin, int end, int chunk) {
    const Pull *p = ctx;
    if (p->a->pulled[chunk]) pull_vertices(p, begin, end);
}
#else
#define pull_avx2 pull_ref
#endif

static void pull_surface(const Analytic *a, float *surface) {
    Pull p = {.a = a, .x = surface};
    bool any = false;
    for (int i = 0; i < 12; i++) {
        p.u[i] = (float)a->u[i];
        any |= fabs(a->u[i]) > 1e-12;
    }
    if (any) fai_parallel(a->m.rig->mesh.nvert, PULL, a->avx2 ? pull_avx2 : pull_ref, &p);
}

// --- frames -------------------------------------------------------------------------------------------------------

static FaCode analytic_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    (void)err;
    Analytic *a = (Analytic *)m;
    a->start = in->time;
    a->h = 0;
    a->trail = (FaPoseTrail){0};
    a->a = (FaAffine){{0}};
    memset(a->u, 0, sizeof a->u);
    memset(a->du, 0, sizeof a->du);
    for (int s = 0; s < m->rig->nshape; s++) {
        a->w[s] = 0;
        a->y[s] = a->w[s] = good_weight(a, in, s, NULL);
        a->v[s] = 0;
    }
    if (feels_head(a, in)) {
        m->time = in->time;
        head_path(a, in);
        double give = a->o.stiffness > 0 ? a->o.mass / a->o.stiffness : 0;
        for (int i = 0; i < 12; i++) a->u[i] = give * a->a.f[i];
    }
    output_weights(a, a->y);
    fa_blender_eval(a->blender, a->weights, surface);
    if (a->vertex)
        fai_vertex_follow_rest(a->vertex, surface, &a->a, surface);
    else
        pull_surface(a, surface);
    return FA_OK;
}

static FaCode analytic_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    (void)err;
    Analytic *a = (Analytic *)m;
    double span = in->time - m->time;
    bool head = feels_head(a, in);
    int n = head ? head_path(a, in) : 1;
    if (a->vertex) {
        for (int s = 0; s < m->rig->nshape; s++) a->w[s] = good_weight(a, in, s, stats);
        output_weights(a, a->w);
        fa_blender_eval(a->blender, a->weights, surface);
        fai_vertex_follow_prepare(a->vertex, span / n);
        fai_vertex_follow_step(a->vertex, surface, n, head ? a->path : NULL, surface);
        push_sculpts(a, in->time, surface);
        fai_handles_push(&a->handles, &a->o, fai_vertex_follow_springs(a->vertex), in->time - a->start, surface);
        return FA_OK;
    }
    prepare(a, span);
    step_shapes(a, in, stats);
    output_weights(a, a->y);
    add_sculpts(a, in->time);
    fa_blender_eval(a->blender, a->weights, surface);
    sharpen(a, surface);
    if (head) {
        step_head(a, n, span / n);
        pull_surface(a, surface);
    }
    fai_handles_push(&a->handles, &a->o, NULL, in->time - a->start, surface);
    return FA_OK;
}

// Shapes and the head's pull move all of a face: they keep what the vertex does that keeps least.
static void analytic_limited(FaMethod *m, const float *keep) {
    Analytic *a = (Analytic *)m;
    double least = 1;
    for (int v = 0; v < m->rig->mesh.nvert; v++) least = fmin(least, (double)keep[v]);
    for (int s = 0; s < m->rig->nshape; s++) {
        a->y[s] = a->w[s] + least * (a->y[s] - a->w[s]);
        a->v[s] *= least;
    }
    for (int i = 0; i < FA_COUNT(a->u); i++) {
        a->u[i] *= least;
        a->du[i] *= least;
    }
    if (a->vertex) fai_vertex_follow_calm(a->vertex, keep);
}

static void analytic_state(FaMethod *m, FaStream *s) {
    Analytic *a = (Analytic *)m;
    fai_stream(s, &a->h, sizeof a->h);
    fai_stream(s, &a->start, sizeof a->start);
    fai_stream(s, a->y, 3 * (size_t)m->rig->nshape * sizeof(double));
    fai_stream(s, a->u, sizeof a->u);
    fai_stream(s, a->du, sizeof a->du);
    fai_stream(s, &a->a, sizeof a->a);
    fai_stream(s, &a->trail, sizeof a->trail);
    if (a->vertex) fai_vertex_follow_state(a->vertex, s);
}

const double *fai_analytic_weights(const FaMethod *m) { return ((const Analytic *)m)->y; }
FaOscillator fai_analytic_oscillator(const FaMethod *m) { return ((const Analytic *)m)->o; }

const FaMethodOps fai_method_analytic = {
    .name = "analytic",
    .help = "soft motion without simulation: every shape is a weight on a spring",
    .params = analytic_params,
    .size = sizeof(Analytic),
    .takes = FA_TAKES_MAPS,
    .open = analytic_open,
    .reset = analytic_reset,
    .step = analytic_step,
    .state = analytic_state,
    .limited = analytic_limited,
    .close = analytic_close,
};
