// One shape's volume. What a shape leaves where it is, and is far from what it moves, is not part of its system: those
// nodes keep their place to the bit, columns stay sparse, and small shapes are quick.
#include "method/blendvolume.h"

#include "face/columns.h"
#include "face/patch.h"
#include "face/tetra.h"
#include "math/mat3.h"
#include "mesh/closest.h"
#include "mesh/mesh.h"
#include "method/unfold.h"
#include "solve/newton.h"

static const double MU = 3000, LAMBDA = 100;     // Pa
static const double MOVES = 5e-6;                // m: less is no motion
static const double REACH = 18e-3;               // m along the skin around what moves
static const double HELD = 0.5;                  // share from which bones hold a node
static const double SPRING[] = {2, 10, 50, 250, 2000, 20000}; // N/m, the steps of eq. 13
static const double BONE_SPRING[] = {20, 200, 2000}; // N/m, of the second solve
static const double FLOOR = 1e-7, TOLERANCE = 1e-4;
enum { ITERATIONS = 40 };

struct FaVolumeModel {
    const FaFace *face;
    const FaRig *rig;
    double *x0;               //                                                     (nnode x 3)
    FaTopology near;          // of the skin
    FaMesh skin;
    int nheld;                // triangles of the deepest layer that bones hold at all corners
    int *held;                //                                                     (nheld x 3)
    FaClosest *solid[2];      // closed teeth and bones that stay, that go with the jaw, in the neutral; NULL: none
    unsigned char *in_bone;   // nodes that are in one in the neutral already        (nnode)
    FaArena *arena;
};

// --- what bones there are -------------------------------------------------------------------------------------------

// Closed teeth and bones that stay, or go with the jaw, as one surface.
static FaCode collect_bones(FaVolumeModel *m, bool with_jaw, FaClosest **out, FaError *err) {
    const FaFace *f = m->face;
    int nvert = 0, ntri = 0;
    for (int pass = 0; pass < 2; pass++) {
        FaMesh mesh = {.nvert = nvert, .ntri = ntri};
        if (pass && ntri == 0) return FA_OK;
        if (pass) {
            mesh.x = FA_PUSH(m->arena, 3 * (size_t)nvert, float);
            mesh.tri = FA_PUSH(m->arena, 3 * (size_t)ntri, int);
            if (!mesh.x || !mesh.tri) return FA_FAIL_MEMORY(err);
        }
        nvert = ntri = 0;
        for (int i = 0; i < f->nbone; i++) {
            const FaBone *b = &f->bone[i];
            if (b->with_jaw != with_jaw || !b->closed || b->kind == FA_BONE_EYE || b->kind == FA_BONE_OTHER) continue;
            if (pass) {
                memcpy(mesh.x + 3 * (size_t)nvert, b->x, 3 * (size_t)b->nvert * sizeof(float));
                for (size_t k = 0; k < 3 * (size_t)b->ntri; k++) mesh.tri[3 * (size_t)ntri + k] = b->tri[k] + nvert;
            }
            nvert += b->nvert;
            ntri += b->ntri;
        }
        if (pass) return fai_closest_new_own(&mesh, NULL, out, err);
    }
    return FA_OK;
}

// Inside a closed surface: rays in two directions leave it an odd number of times.
static bool inside(const FaClosest *c, const float p[3]) {
    static const float dir[2][3] = {{0.5773f, 0.5573f, 0.5969f}, {-0.61f, 0.7f, -0.371f}};
    for (int r = 0; r < 2; r++) {
        float from = 0;
        int hits = 0;
        for (; hits < 64; hits++) {
            FaHit h = fai_closest_ray(c, p, dir[r], from, 1);
            if (h.tri < 0) break;
            from = h.distance + 1e-6f;
        }
        if (!(hits & 1)) return false;
    }
    return true;
}

static bool held(const FaFace *f, int i) { return (double)f->to_skull[i] + (double)f->to_jaw[i] >= HELD; }

static FaCode model_new(FaVolumeModel *m, FaError *err) {
    const FaFace *f = m->face;
    if (!(m->arena = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
    if (!(m->x0 = FA_PUSH(m->arena, 3 * (size_t)f->nnode, double))) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < 3 * (size_t)f->nnode; i++) m->x0[i] = (double)f->x0[i];
    m->skin = (FaMesh){.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    FA_TRY(fai_topology_build(&m->skin, &m->near, err));
    m->held = FA_PUSH(m->arena, 3 * (size_t)f->ntri, int);
    m->in_bone = FA_PUSH(m->arena, f->nnode, unsigned char);
    if (!m->held || !m->in_bone) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < f->ntri; t++) {
        const int *v = f->tri + 3 * (size_t)t;
        if (held(f, v[0]) && held(f, v[1]) && held(f, v[2])) memcpy(m->held + 3 * (size_t)m->nheld++, v, 3 * sizeof(int));
    }
    for (int side = 0; side < 2; side++) {
        FA_TRY(collect_bones(m, side == 1, &m->solid[side], err));
        for (int i = 0; m->solid[side] && i < f->nnode; i++) m->in_bone[i] |= inside(m->solid[side], f->x0 + 3 * (size_t)i);
    }
    return FA_OK;
}

FaCode fai_volume_model_new(const FaFace *face, const FaRig *rig, FaVolumeModel **model, FaError *err) {
    *model = NULL;
    FA_TRY(fa_face_fits(face, rig, err));
    FaVolumeModel *m = FA_NEW(1, FaVolumeModel);
    if (!m) return FA_FAIL_MEMORY(err);
    m->face = face;
    m->rig = rig;
    FaCode rc = model_new(m, err);
    if (rc < 0)
        fai_volume_model_free(m);
    else
        *model = m;
    return rc;
}

void fai_volume_model_free(FaVolumeModel *m) {
    if (!m) return;
    fai_topology_free(&m->near);
    fai_closest_free(m->solid[0]);
    fai_closest_free(m->solid[1]);
    fai_arena_free(m->arena);
    fa_free(m);
}

// --- the part of the flesh that a shape moves -----------------------------------------------------------------------

typedef struct Work {
    const FaVolumeModel *m;
    int shape;
    FaPose jaw;
    const float *base;    // of the shape it goes on top of; NULL: none             (nnode x 3)
    float *delta;         // of all nodes: the skin's known, the others' found      (nnode x 3)
    FaArena *arena;
    // the part; own numbers
    int n, ntet;
    int *node;            // of the face                                            (n)
    int *tet;             //                                                        (ntet x 4)
    unsigned char *still; // not solved for                                         (n)
    unsigned char *skin;  // on the skin, not still                                 (n)
    double *x0, *x;       //                                                        (n x 3)
    double *mu, *lambda;  //                                                        (ntet)
    FaSpring *spring;     //                                                        (n)
    FaSolid *solid;
    FaSolidRest *rest;
    FaMesh bone;          // what bone nodes slide on, as this shape has it         (nskin)
    FaClosest *surface;   // of it; NULL: nothing holds
    FaVolumeShape *report;
} Work;

// The rig's own deltas at the skin nodes; whether anything moves.
static bool skin_deltas(const Work *w, double *dist) {
    const FaFace *f = w->m->face;
    const FaShape *s = &w->m->rig->shape[w->shape];
    bool any = false;
    for (int i = 0; i < f->nskin; i++) dist[i] = INFINITY;
    for (size_t i = 0; w->base && i < 3 * (size_t)f->nskin; i++)
        if (fabs((double)w->base[i]) > MOVES) dist[i / 3] = 0, any = true;
    for (int e = s->first; e < s->first + s->count; e++) {
        int v = w->m->rig->row[e], i = f->node_of_vertex[v];
        if (i < 0 || f->skin_vertex[i] != v) continue;
        const float *d = w->m->rig->delta + 3 * (size_t)e;
        memcpy(w->delta + 3 * (size_t)i, d, 3 * sizeof *d);
        if (sqrt((double)d[0] * (double)d[0] + (double)d[1] * (double)d[1] + (double)d[2] * (double)d[2]) > MOVES)
            dist[i] = 0, any = true;
    }
    return any;
}

static FaCode choose_part(Work *w, const double *dist, FaError *err) {
    const FaFace *f = w->m->face;
    int *local = FA_PUSH(w->arena, f->nnode, int);
    if (!local || !(w->tet = FA_PUSH(w->arena, 4 * (size_t)f->ntet, int))) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < f->ntet; t++) {
        const int *v = f->tet + 4 * (size_t)t;
        bool active = false;
        for (int k = 0; k < 4; k++) active |= dist[v[k] % f->nskin] <= REACH;
        if (!active) continue;
        for (int k = 0; k < 4; k++) local[v[k]] = 1;
        memcpy(w->tet + 4 * (size_t)w->ntet++, v, 4 * sizeof(int));
    }
    for (int i = 0; i < f->nnode; i++)
        if (local[i]) local[i] = ++w->n;
    for (size_t k = 0; k < 4 * (size_t)w->ntet; k++) w->tet[k] = local[w->tet[k]] - 1;
    const size_t n = (size_t)w->n;
    w->node = FA_PUSH(w->arena, n, int);
    w->still = FA_PUSH(w->arena, n, unsigned char);
    w->skin = FA_PUSH(w->arena, n, unsigned char);
    w->x0 = FA_PUSH(w->arena, 3 * n, double);
    w->x = FA_PUSH(w->arena, 3 * n, double);
    w->mu = FA_PUSH(w->arena, w->ntet, double);
    w->lambda = FA_PUSH(w->arena, w->ntet, double);
    w->spring = FA_PUSH(w->arena, n, FaSpring);
    if (!w->node || !w->still || !w->skin || !w->x0 || !w->x || !w->mu || !w->lambda || !w->spring) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nnode; i++) {
        int k = local[i] - 1;
        if (k < 0) continue;
        w->node[k] = i;
        w->still[k] = !(dist[i % f->nskin] <= REACH);
        w->skin[k] = !w->still[k] && i < f->nskin;
        memcpy(w->x0 + 3 * (size_t)k, w->m->x0 + 3 * (size_t)i, 3 * sizeof(double));
        w->report->active += !w->still[k];
    }
    for (int t = 0; t < w->ntet; t++) w->mu[t] = MU, w->lambda[t] = LAMBDA;
    memcpy(w->x, w->x0, 3 * n * sizeof(double));
    FA_TRY(fai_solid_new(w->n, w->ntet, w->tet, w->x0, FA_SOLID_NEO, &w->solid, err));
    return fai_solid_rest_new(w->solid, &w->rest, err);
}

static void goal_of(const Work *w, int k, double out[3]) {
    const size_t at = 3 * (size_t)w->node[k];
    for (size_t c = 0; c < 3; c++)
        out[c] = w->x0[3 * (size_t)k + c] + (w->base ? (double)w->base[at + c] : 0) + (double)w->delta[at + c];
}

// --- solves ---------------------------------------------------------------------------------------------------------

static FaCode solve(Work *w, FaNewton *newton, int nspring, FaError *err) {
    const FaNewtonInput in = {.rest = w->rest,
                              .nspring = nspring,
                              .spring = w->spring,
                              .iterations = ITERATIONS,
                              .tolerance = TOLERANCE,
                              .floor = FLOOR};
    FaNewtonReport report;
    FA_TRY(fai_newton_solve(newton, &in, w->x, &report, err));
    w->report->steps++;
    w->report->iterations += report.iterations;
    return FA_OK;
}

// Eq. 13: springs to the sculpted surface, stiffened step by step, the rest shape following.
static FaCode pull(Work *w, FaError *err) {
    const FaNewtonOptions how = {.kind = FA_NEWTON_PCG, .max_springs = w->n};
    FaNewton *newton = NULL;
    FaCode rc = fai_newton_new(w->solid, w->still, NULL, &how, &newton, err);
    for (int step = 0; rc >= 0 && step < FA_COUNT(SPRING); step++) {
        int n = 0;
        for (int k = 0; k < w->n; k++) {
            if (!w->skin[k]) continue;
            w->spring[n] = (FaSpring){.node = k, .stiffness = SPRING[step]};
            goal_of(w, k, w->spring[n++].to);
        }
        rc = fai_solid_rest_set(w->rest, w->x, w->mu, w->lambda, NULL, err);
        if (rc >= 0) rc = solve(w, newton, n, err);
    }
    fai_newton_free(newton);
    for (int k = 0; rc >= 0 && k < w->n; k++) {
        double goal[3], d[3];
        if (!w->skin[k]) continue;
        goal_of(w, k, goal);
        fai_v3_sub(w->x + 3 * (size_t)k, goal, d);
        w->report->gap = fmax(w->report->gap, fai_v3_norm(d));
        memcpy(w->x + 3 * (size_t)k, goal, sizeof goal);
    }
    return rc;
}

// The surface of the bones in this shape: the deepest layer where bones hold it, each node carried by as much of the
// jaw's motion as the jaw holds of it. (It lies on the bones where the face has some. Projected to the bones' own
// surface, nodes that lie off it in the neutral already, below thin walls, would be torn.)
static FaCode carry_bones(Work *w, FaError *err) {
    const FaFace *f = w->m->face;
    const float *deep = f->x0 + 3 * (size_t)f->nskin * (size_t)f->layers;
    const double none[4] = {0, 0, 0, 1}, *hinge = f->jaw.hinge;
    double at[3], slide[3];
    if (w->m->nheld == 0) return FA_OK;
    w->bone = (FaMesh){.nvert = f->nskin, .ntri = w->m->nheld, .tri = w->m->held};
    if (!(w->bone.x = FA_PUSH(w->arena, 3 * (size_t)f->nskin, float))) return FA_FAIL_MEMORY(err);
    fai_pose_apply(&w->jaw, hinge, at);
    fai_v3_sub(at, hinge, slide);
    for (int i = 0; i < f->nskin; i++) {
        const double hold = (double)f->to_skull[i] + (double)f->to_jaw[i], b = hold > 0 ? (double)f->to_jaw[i] / hold : 0;
        double q[4], x[3];
        fai_v3_load(deep, i, x);
        if (b > 0) {
            fai_q_slerp(none, w->jaw.q, b, q);
            fai_v3_sub(x, hinge, x);
            fai_q_rotate(q, x, x);
            for (int c = 0; c < 3; c++) x[c] += hinge[c] + b * slide[c];
        }
        for (size_t c = 0; c < 3; c++) w->bone.x[3 * (size_t)i + c] = (float)x[c];
    }
    return fai_closest_new_own(&w->bone, NULL, &w->surface, err);
}

// Where a bone node belongs: on the plane of the surface next to it, where it may slide.
static bool bone_goal(const Work *w, int k, double out[3], double normal[3]) {
    const FaFace *f = w->m->face;
    const int node = w->node[k];
    const double *x = w->x + 3 * (size_t)k;
    double a[3], b[3], c[3];
    if (node < f->nskin * f->layers || !held(f, node % f->nskin) || !w->surface) return false;
    const float p[3] = {(float)x[0], (float)x[1], (float)x[2]};
    FaHit hit = fai_closest_point(w->surface, p, INFINITY);
    if (hit.tri < 0) return false;
    fai_v3_set(out, (double)hit.point[0], (double)hit.point[1], (double)hit.point[2]);
    const int *t = w->bone.tri + 3 * (size_t)hit.tri;
    fai_v3_load(w->bone.x, t[0], a);
    fai_v3_load(w->bone.x, t[1], b);
    fai_v3_load(w->bone.x, t[2], c);
    fai_v3_sub(b, a, b);
    fai_v3_sub(c, a, c);
    fai_v3_cross(b, c, normal);
    return fai_v3_normalize(normal);
}

// A node that came into a tooth or bone goes to its surface; *side says which it was, and is -1 before.
static bool tooth_goal(const Work *w, int k, signed char *in_side, double out[3]) {
    const FaPose pose[2] = {fai_pose_identity(), w->jaw};
    for (int side = 0; side < 2; side++) {
        if (!w->m->solid[side] || w->m->in_bone[w->node[k]] || (*in_side >= 0 && *in_side != side)) continue;
        const FaPose back = fai_pose_inverse(&pose[side]);
        double q[3];
        fai_pose_apply(&back, w->x + 3 * (size_t)k, q);
        const float p[3] = {(float)q[0], (float)q[1], (float)q[2]};
        if (*in_side < 0 && !inside(w->m->solid[side], p)) continue;
        FaHit hit = fai_closest_point(w->m->solid[side], p, INFINITY);
        if (hit.tri < 0) continue;
        fai_v3_set(q, (double)hit.point[0], (double)hit.point[1], (double)hit.point[2]);
        fai_pose_apply(&pose[side], q, out);
        *in_side = (signed char)side;
        return true;
    }
    return false;
}

// The second solve: the skin as sculpted, bone nodes drawn to the bones, measured against the neutral.
static FaCode settle(Work *w, FaError *err) {
    const FaNewtonOptions how = {.kind = FA_NEWTON_PCG, .max_springs = w->n};
    unsigned char *fixed = FA_PUSH(w->arena, w->n, unsigned char);
    signed char *tooth = FA_PUSH(w->arena, w->n, signed char);
    FaNewton *newton = NULL;
    if (!fixed || !tooth) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < w->n; k++) fixed[k] = w->still[k] || w->skin[k], tooth[k] = -1;
    FaCode rc = fai_solid_rest_set(w->rest, w->x0, w->mu, w->lambda, NULL, err);
    if (rc >= 0) rc = fai_newton_new(w->solid, fixed, NULL, &how, &newton, err);
    for (int step = 0; rc >= 0 && step < FA_COUNT(BONE_SPRING); step++) {
        int n = 0;
        for (int k = 0; k < w->n; k++) {
            FaSpring s = {.node = k, .stiffness = BONE_SPRING[step]};
            if (fixed[k]) continue;
            // who was in a tooth once stays at its surface; else it would come back in the next step
            const bool before = tooth[k] >= 0, pushed = tooth_goal(w, k, &tooth[k], s.to);
            if (!pushed && !bone_goal(w, k, s.to, s.normal)) continue;
            w->report->pushed += pushed && !before;
            w->spring[n++] = s;
        }
        rc = solve(w, newton, n, err);
    }
    fai_newton_free(newton);
    return rc;
}

// --- a shape --------------------------------------------------------------------------------------------------------

static FaCode store(Work *w, FaError *err) {
    unsigned char *fixed = FA_PUSH(w->arena, w->n, unsigned char);
    if (!fixed) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < w->n; k++) fixed[k] = w->still[k] || w->skin[k];
    const FaUnfoldInput in = {.n = w->n, .ntet = w->ntet, .tet = w->tet, .x0 = w->x0, .fixed = fixed};
    FA_TRY(fai_unfold(&in, w->x, &w->report->unfolded, &w->report->inverted, err));
    double sum = 0;
    int count = 0;
    for (int k = 0; k < w->n; k++) {
        double goal[3], normal[3];
        if (fixed[k] || !bone_goal(w, k, goal, normal)) continue;
        fai_v3_sub(goal, w->x + 3 * (size_t)k, goal);
        sum += fai_v3_dot(goal, goal);
        count++;
    }
    w->report->off_bone = count ? sqrt(sum / count) : 0;
    for (int k = 0; k < w->n; k++) {
        if (fixed[k]) continue;
        for (size_t c = 0; c < 3; c++)
            w->delta[3 * (size_t)w->node[k] + c] =
                (float)(w->x[3 * (size_t)k + c] - w->x0[3 * (size_t)k + c] -
                        (w->base ? (double)w->base[3 * (size_t)w->node[k] + c] : 0));
    }
    return FA_OK;
}

static FaCode shape(Work *w, FaError *err) {
    const FaFace *f = w->m->face;
    double *dist = FA_PUSH(w->arena, f->nskin, double);
    float *weights = FA_PUSH(w->arena, w->m->rig->nshape, float);
    if (!dist || !weights) return FA_FAIL_MEMORY(err);
    if (!skin_deltas(w, dist)) return FA_OK;
    weights[w->shape] = 1;
    if (w->base) weights[fai_volume_base(w->m, w->shape)] = 1;
    w->jaw = fai_jaw_pose(&f->jaw, weights);
    FA_TRY(fai_spread_min(f->nskin, w->m->near.around_start, w->m->near.around, f->x0, 1, dist, err));
    FA_TRY(choose_part(w, dist, err));
    FA_TRY(pull(w, err));
    FA_TRY(carry_bones(w, err));
    FA_TRY(settle(w, err));
    return store(w, err);
}

int fai_volume_base(const FaVolumeModel *m, int index) {
    const FaShape *s = &m->rig->shape[index];
    const int open = m->face->jaw.found ? m->face->jaw.shape[0] : -1;
    return s->arkit >= 0 && !strcmp(fa_arkit_name(s->arkit), "mouthClose") && open < m->rig->nshape && open != index ? open : -1;
}

FaCode fai_volume_shape(const FaVolumeModel *m, int index, const float *base, float *delta, FaVolumeShape *report,
                        FaError *err) {
    Work w = {.m = m, .shape = index, .base = base, .delta = delta, .report = report, .arena = fai_arena_new(0)};
    double t0 = fai_seconds();
    *report = (FaVolumeShape){0};
    memset(delta, 0, 3 * (size_t)m->face->nnode * sizeof *delta);
    FaCode rc = w.arena ? shape(&w, err) : FA_FAIL_MEMORY(err);
    fai_closest_free(w.surface);
    fai_solid_rest_free(w.rest);
    fai_solid_free(w.solid);
    fai_arena_free(w.arena);
    if (rc >= 0) {
        double *X = FA_NEW(3 * (size_t)m->face->nnode, double);
        if (!X) return FA_FAIL_MEMORY(err);
        for (size_t i = 0; i < 3 * (size_t)m->face->nnode; i++) X[i] = m->x0[i] + (base ? (double)base[i] : 0) + (double)delta[i];
        FaVolumeQuality q = fai_volume_quality(m->face, X);
        report->least = q.least;
        report->inverted = q.inverted;
        fa_free(X);
    }
    report->seconds = fai_seconds() - t0;
    return rc < 0 ? rc : FA_OK;
}

// --- frames ---------------------------------------------------------------------------------------------------------

void fai_volume_at(const FaFace *f, const float *weights, double *X) {
    for (size_t i = 0; i < 3 * (size_t)f->nnode; i++) X[i] = (double)f->x0[i];
    fai_columns_add(&f->volumes, weights, X);
}

FaVolumeQuality fai_volume_quality(const FaFace *f, const double *X) {
    FaVolumeQuality q = {.least = INFINITY, .most = 0};
    for (int t = 0; t < f->ntet; t++) {
        double m[9], d[9], inv[9], F[9], u[9], s[3], v[9];
        const int *c = f->tet + 4 * (size_t)t;
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 3; j++) {
                m[3 * j + k] = (double)f->x0[3 * (size_t)c[k + 1] + (size_t)j] - (double)f->x0[3 * (size_t)c[0] + (size_t)j];
                d[3 * j + k] = X[3 * (size_t)c[k + 1] + (size_t)j] - X[3 * (size_t)c[0] + (size_t)j];
            }
        if (!fai_m3_inverse(m, inv)) continue;
        fai_m3_mul(d, inv, F);
        fai_m3_svd(F, u, s, v);
        q.least = fmin(q.least, s[2]);
        q.most = fmax(q.most, s[0]);
        q.inverted += !(s[2] > 0);
        q.clamped += s[2] < 0.2;
    }
    return q;
}
