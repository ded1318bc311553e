#include "volumetric/physics.h"

#include "base/task.h"
#include "energy/bend.h"
#include "energy/membrane.h"
#include "energy/tet.h"
#include "math/mat3.h"
#include "mesh/laplacian.h"

#include <math.h>

enum { LIFT = 8, RELAX = 24, PAPER = 40, AGAIN = 32, CHUNK = 1024, ROUNDS = 12, HALVES = 6 };
static const double STRAIN = 6000;    // Pa: twice a shear modulus of 3 kPa; only what touches is compared with it
static const double BONE = 1000;      // 1/m: the skull layer is nearly where its bone is
static const double INERTIA = 1;      // 1/s2: next to nothing
static const double TOLERANCE = 1e-3; // of the gradient's fall in a solve
static const double THIN = 2e-3, THICK = 4e-3, FIRMER = 50; // m: thinner flesh than THIN gives so much less
static const float SOUND = 1e-3f;                           // of its volume: a tet with less is turned over
static const double BENDS = 2e-3;                           // m: of flesh, for a skull layer that is one

FaPhysicsOptions fai_physics_options(FaPhysicsKind kind) {
    if (kind == FA_PHYSICS_LIMITED)
        return (FaPhysicsOptions){.kind = kind, .kappa = 14, .muscle = 0.5, .volume = 1, .margin = 0.01};
    // table 2, lengths in cm
    return (FaPhysicsOptions){
        .kind = kind, .kappa = 140, .muscle = 0.1, .volume = 1, .skin = 1e-3, .skull = 1e-3, .curvature = 1e-8};
}

// --- opening --------------------------------------------------------------------------------------------------------

static double smooth_to(double from, double to, double x) {
    const double t = fmin(fmax((x - from) / (to - from), 0), 1);
    return t * t * (3 - 2 * t);
}

// Thin flesh (lids, nostrils, ears) is skin and cartilage: it follows the rig. Lips are thin too, and are flesh.
static double kappa_of(const FaPhysics *p, int i) {
    const FaFace *f = p->layered->face;
    const double mouth = fmin((double)f->region[FA_REGION_MOUTH][i] + (double)f->region[FA_REGION_LIP_UPPER][i] +
                                  (double)f->region[FA_REGION_LIP_LOWER][i],
                              1);
    double thin = (1 - smooth_to(THIN, THICK, p->layered->depth[i])) * (1 - mouth);
    if (p->options.kind == FA_PHYSICS_PAPER) thin = 0;
    return p->options.kappa * (1 + FIRMER * (f->rim[i] ? 1 : thin));
}

// Strain of skin and skull layer, but for triangles without area.
static FaCode add_membranes(FaPhysics *p, FaError *err) {
    const FaLayered *l = p->layered;
    const FaFace *f = l->face;
    FaElastic *e = &p->e;
    e->membrane = fai_arena_push(e->arena, 2 * (size_t)f->ntri, sizeof *e->membrane);
    e->membrane_weight = FA_PUSH(e->arena, 2 * (size_t)f->ntri, double);
    if (!e->membrane || !e->membrane_weight) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < 2 * f->ntri; k++) {
        const int *v = f->tri + 3 * (size_t)(k / 2), down = k % 2 ? 2 * l->nskin : 0;
        const int node[3] = {v[0] + down, v[1] + down, v[2] + down};
        double a[3], b[3], n[3];
        fai_v3_sub(l->x0 + 3 * (size_t)node[1], l->x0 + 3 * (size_t)node[0], a);
        fai_v3_sub(l->x0 + 3 * (size_t)node[2], l->x0 + 3 * (size_t)node[0], b);
        fai_v3_cross(a, b, n);
        const double area = fai_v3_norm(n) / 2, held = k % 2 ? (l->held[v[0]] + l->held[v[1]] + l->held[v[2]]) / 3 : 1;
        const double thick = k % 2 ? p->options.skull * held : p->options.skin;
        if (!(area > 1e-10) || !(thick > 0) || !fai_membrane_sound(l->x0, node)) continue;
        memcpy(e->membrane[e->nmembrane], node, sizeof node);
        e->membrane_weight[e->nmembrane++] = STRAIN * thick * area;
    }
    return FA_OK;
}

// Bending of the skull layer where it stands for a bone.
static FaCode add_bends(FaPhysics *p, FaError *err) {
    const FaLayered *l = p->layered;
    const FaFace *f = l->face;
    const size_t n = (size_t)l->nskin, skull = 2 * n;
    float *x = FA_NEW(3 * n, float);
    double *area = FA_NEW(n, double);
    unsigned char *without = FA_NEW(n, unsigned char);
    FaCsr lap = {0};
    FaCode rc = x && area && without ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (size_t i = 0; i < 3 * n; i++) x[i] = (float)l->x0[3 * skull + i];
        for (size_t i = 0; i < n; i++) without[i] = f->rim[i] || l->held[i] < 0.5 || l->depth[i] < BENDS;
        const FaMesh mesh = {.nvert = f->nskin, .ntri = f->ntri, .x = x, .tri = f->tri};
        rc = fai_laplacian_build(&mesh, NULL, &lap, area, NULL, err);
    }
    if (rc >= 0) rc = fai_bend_rows(&p->e, &lap, area, without, STRAIN * p->options.curvature, err);
    if (rc >= 0)
        for (int k = 0; k < p->e.bend_start[p->e.nbend]; k++) p->e.bend_node[k] += (int)skull;
    fai_csr_free(&lap);
    fa_free(x);
    fa_free(area);
    fa_free(without);
    return rc;
}

static FaCode open_body(FaPhysics *p, FaLayeredBody body, FaError *err) {
    const FaPhysicsOptions *o = &p->options;
    double *skin = FA_PUSH(p->arena, p->layered->nskin, double);
    if (!skin) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < p->layered->nskin; i++) skin[i] = kappa_of(p, i);
    body.skin = skin;
    FA_TRY(fai_layered_elastic(p->layered, &body, &p->e, err));
    if (o->kind == FA_PHYSICS_PAPER) {
        FA_TRY(add_membranes(p, err));
        FA_TRY(add_bends(p, err));
    }
    const FaProjectiveOptions options = {
        .inertia = INERTIA, .max_rows = o->max_rows, .nzone = o->nzone, .zone = o->zone};
    FA_TRY(fai_projective_new(&p->e, &options, &p->solver, err));
    return fai_tets_new(&p->e, &p->tets, err);
}

static FaCode open_buffers(FaPhysics *p, FaError *err) {
    const FaLayered *l = p->layered;
    const size_t n = 4 * (size_t)l->nnode, row = (size_t)(p->stride = (l->ntet + 7) / 8 * 8);
    const struct {
        float **to;
        size_t size;
    } field[] = {
        {&p->lifted, n}, {&p->u, n}, {&p->anchor, 8 * (size_t)l->nskin}, {&p->tet_rest, 9 * row}, {&p->work, 21 * row}};
    for (int i = 0; i < FA_COUNT(field); i++)
        if (!(*field[i].to = FA_PUSH(p->arena, field[i].size + 1, float))) return FA_FAIL_MEMORY(err);
    p->whole = FA_PUSH(p->arena, l->ntet + 1, unsigned char);
    p->back = FA_PUSH(p->arena, l->nnode, unsigned char);
    if (!p->whole || !p->back) return FA_FAIL_MEMORY(err);
    p->count = FA_PUSH(p->arena, fai_chunks(l->ntet, CHUNK) + 1, int);
    return p->count ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode open_physics(FaPhysics *p, const FaRig *rig, const FaFace *face, FaError *err) {
    const FaPhysicsOptions *o = &p->options;
    const FaLayeredBody body = {
        .strain = STRAIN, .volume = o->volume, .muscle = o->muscle, .muscle_volume = 1, .bone = BONE};
    p->arena = fai_arena_new(0);
    if (!p->arena) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_layered_new(face, &p->layered, err));
    FA_TRY(fai_lift_new(p->layered, &(FaLiftOptions){.body = body, .iterations = LIFT}, &p->lift, err));
    if (o->kind == FA_PHYSICS_LIMITED) FA_TRY(fai_range_new(rig, p->layered, p->lift, o->margin, &p->range, err));
    FA_TRY(open_body(p, body, err));
    return open_buffers(p, err);
}

FaCode fai_physics_new(const FaRig *rig, const FaFace *face, const FaPhysicsOptions *options, FaPhysics **physics,
                       FaError *err) {
    *physics = NULL;
    FaPhysics *p = FA_NEW(1, FaPhysics);
    if (!p) return FA_FAIL_MEMORY(err);
    p->options = *options;
    FaCode rc = open_physics(p, rig, face, err);
    if (rc < 0)
        fai_physics_free(p);
    else
        *physics = p;
    return rc;
}

void fai_physics_free(FaPhysics *p) {
    if (!p) return;
    fai_projective_free(p->solver);
    fai_tets_free(p->tets);
    fai_arena_free(p->e.arena);
    fai_range_free(p->range);
    fai_lift_free(p->lift);
    fai_layered_free(p->layered);
    fai_arena_free(p->arena);
    fa_free(p);
}

// --- a pose ---------------------------------------------------------------------------------------------------------

static FaCode solve(FaPhysics *p, int iterations, FaStats *stats, FaError *err) {
    FaProjectiveReport report;
    p->input.iterations = iterations;
    FaCode rc = fai_projective_solve(p->solver, &p->input, p->u, &report, err);
    stats->iterations += report.iterations;
    stats->residual = report.energy[FA_MIN(report.iterations, FA_SOLVE_LOG)];
    stats->unsolved += rc == FA_STALLED;
    return rc;
}

FaCode fai_physics_again(FaPhysics *p, FaStats *stats, FaError *err) { return solve(p, AGAIN, stats, err); }

void fai_physics_gradients(FaPhysics *p) {
    int crushed;
    fai_tets_pose(p->tets, p->u, -1, p->tet_rest, &crushed);
}

// Begins at p->lifted, skin and skull layer drawn to where they are there.
static void begin(FaPhysics *p) {
    const size_t skin = 4 * (size_t)p->layered->nskin, all = 3 * skin;
    memcpy(p->u, p->lifted, all * sizeof *p->u);
    memcpy(p->anchor, p->lifted, skin * sizeof *p->u);
    memcpy(p->anchor + skin, p->lifted + 2 * skin, skin * sizeof *p->u);
    p->input =
        (FaProjectiveInput){.y = p->lifted, .inertia = INERTIA, .frame = {.anchor = p->anchor}, .tolerance = TOLERANCE};
}

static void rest_on_gradients(FaPhysics *p) {
    p->input.frame.tet_rest = p->tet_rest;
    p->input.frame.tet_stride = p->stride;
}

void fai_physics_hold(FaPhysics *p) {
    begin(p);
    fai_physics_gradients(p);
    rest_on_gradients(p);
}

static float det_of(const float *f, int stride, int t) {
    const size_t row = (size_t)stride, at = (size_t)t;
    const float *a = f + at;
    return a[0] * (a[4 * row] * a[8 * row] - a[5 * row] * a[7 * row]) -
           a[row] * (a[3 * row] * a[8 * row] - a[5 * row] * a[6 * row]) +
           a[2 * row] * (a[3 * row] * a[7 * row] - a[4 * row] * a[6 * row]);
}

static void note_whole(FaPhysics *p) {
    for (int t = 0; t < p->layered->ntet; t++) p->whole[t] = det_of(p->tet_rest, p->stride, t) > SOUND;
}

// A tet that relaxing has turned over, and the lift had not, goes back towards the lift, half of the way each round and
// all of it in the last ones. These are next to crushed in the lift already.
static void turn_back(FaPhysics *p) {
    const FaLayered *l = p->layered;
    for (int round = 0; round < ROUNDS; round++) {
        int crushed, turned = 0;
        memset(p->back, 0, (size_t)l->nnode);
        fai_tets_pose(p->tets, p->u, -1, p->work, &crushed);
        for (int t = 0; t < l->ntet; t++) {
            if (!p->whole[t] || det_of(p->work, p->stride, t) > SOUND) continue;
            for (int k = 0; k < 4; k++) p->back[l->tet[t][k]] = 1;
            turned++;
        }
        if (!turned) break;
        const float keep = round < HALVES ? 0.5f : 0;
        for (size_t i = 0; i < (size_t)l->nnode; i++)
            for (size_t k = 4 * i; p->back[i] && k < 4 * i + 3; k++)
                p->u[k] = p->lifted[k] + keep * (p->u[k] - p->lifted[k]);
    }
}

static FaCode pose_limited(FaPhysics *p, const float *weights, FaStats *stats, FaError *err) {
    FaProjectiveReport report;
    FaCode rc = fai_lift(p->lift, weights, p->lifted, &report, err);
    if (rc < 0) return rc;
    stats->iterations += report.iterations;
    stats->unsolved += rc == FA_STALLED;
    fai_physics_hold(p);
    note_whole(p);
    fai_range_pose(p->range, weights);
    p->clamped = fai_range_clamp(p->range, p->tet_rest, p->work, p->count);
    if (!p->clamped) return FA_OK; // as lifted: at rest to the bit
    FA_TRY(rc = solve(p, RELAX, stats, err));
    turn_back(p);
    return rc;
}

FaCode fai_physics_pose(FaPhysics *p, const float *weights, FaStats *stats, FaError *err) {
    if (p->options.kind == FA_PHYSICS_LIMITED) return pose_limited(p, weights, stats, err);
    fai_lift_start(p->lift, weights, p->lifted);
    begin(p);
    return solve(p, PAPER, stats, err);
}
