// One shape's volume. What a shape leaves where it is, and is far from what it moves, is not part of its system: those
// nodes keep their place to the bit, columns stay sparse, and small shapes are quick.
#include "build/blendvolume.h"

#include "build/unfold.h"
#include "face/columns.h"
#include "face/patch.h"
#include "face/tetra.h"
#include "math/mat3.h"
#include "mesh/closest.h"
#include "mesh/mesh.h"
#include "solve/newton.h"

#include <stdlib.h>

static const double MU = 3000, LAMBDA = 100;                  // Pa
static const double MOVES = 5e-6;                             // m: less is no motion
static const double REACH = 18e-3;                            // m along the skin around what moves
static const double HELD = 0.5;                               // share from which bones hold a node
static const double SPRING[] = {2, 10, 50, 250, 2000, 20000}; // N/m, the steps of eq. 13
static const double BONE_SPRING[] = {20, 200, 2000};          // N/m, of the second solve
static const double FLOOR = 1e-7, TOLERANCE = 1e-4;
static const double NEXT_TO_BONE = 4e-3; // m: nodes closer to skull or jaw in the neutral lie on it
static const double SLIDES = 8e-3;       // m along a bone, at most
static const double SAME_SIDE = 0.2;     // cosine of the normals of a bone where a node was and is
static const double SWELLS = 3;          // ratio of volumes, at most
static const double FLAT = 0.06;         // J of a tet that is all but flat
static const double ONE_BONE = 0.9;      // share of what holds a node that one bone must have
enum { ITERATIONS = 40, VOLUME_LAST = 2, ROUNDS = 3, TRIES = 3 };

struct FaVolumeModel {
    const FaFace *face;
    const FaRig *rig;
    double *x0;      //                                                     (nnode x 3)
    FaTopology near; // of the skin
    FaMesh skin;
    int nheld;              // triangles of the flesh's floor that bones hold at all corners
    int *held;              // nodes                                               (nheld x 3)
    FaClosest *solid[2];    // closed teeth and bones that stay, that go with the jaw, in the neutral; NULL: none
    FaMesh bone[2];         // skull, jaw
    FaClosest *on[2];       // of them; NULL: none
    float *normal[2];       // of their vertices                                        (nvert x 3)
    signed char *bone_of;   // which of them a held node lies next to; -1: none         (nnode)
    double *stand_off;      // how far outside its surface, m, and what that leaves out: x0 - p - s n   (nnode x 4)
    unsigned char *in_bone; // nodes that are in one in the neutral already        (nnode)
    FaArena *arena;
};

// --- what bones there are -------------------------------------------------------------------------------------------

static bool is_solid(const FaBone *b) { return b->closed && b->kind != FA_BONE_EYE && b->kind != FA_BONE_OTHER; }
static bool is_skull_or_jaw(const FaBone *b) { return b->kind == FA_BONE_SKULL || b->kind == FA_BONE_JAW; }

// Bones of a kind that stay, or go with the jaw, as one surface.
static FaCode collect_bones(FaVolumeModel *m, bool with_jaw, bool (*wanted)(const FaBone *), FaMesh *whole,
                            FaClosest **out, FaError *err) {
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
            if (b->with_jaw != with_jaw || !wanted(b)) continue;
            if (pass) {
                memcpy(mesh.x + 3 * (size_t)nvert, b->x, 3 * (size_t)b->nvert * sizeof(float));
                for (size_t k = 0; k < 3 * (size_t)b->ntri; k++) mesh.tri[3 * (size_t)ntri + k] = b->tri[k] + nvert;
            }
            nvert += b->nvert;
            ntri += b->ntri;
        }
        if (pass && whole) *whole = mesh;
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

static bool held(const FaFace *f, int node) {
    const FaHold hold = fai_face_hold(f, node);
    return (double)hold.skull + (double)hold.jaw >= HELD;
}

static bool tri_normal(const FaMesh *mesh, int tri, double n[3]) {
    fai_v3_tri_cross(mesh->x, mesh->tri + 3 * (size_t)tri, n);
    return fai_v3_normalize(n);
}

// The closest point of a bone's surface, in its own place, and the normal there, which varies smoothly.
static bool bone_point(const FaVolumeModel *m, int side, const double x[3], float reach, double point[3], double n[3]) {
    const float p[3] = {(float)x[0], (float)x[1], (float)x[2]};
    FaHit hit = fai_closest_point(m->on[side], p, reach);
    if (hit.tri < 0) return false;
    const int *t = m->bone[side].tri + 3 * (size_t)hit.tri;
    fai_v3_set(n, 0, 0, 0);
    for (size_t k = 0; k < 3; k++)
        for (size_t c = 0; c < 3; c++) n[c] += (double)hit.bary[k] * (double)m->normal[side][3 * (size_t)t[k] + c];
    fai_v3_set(point, (double)hit.point[0], (double)hit.point[1], (double)hit.point[2]);
    return fai_v3_normalize(n);
}

// Which held nodes lie next to skull or jaw, and how far off.
static FaCode find_bones(FaVolumeModel *m, FaError *err) {
    const FaFace *f = m->face;
    m->bone_of = FA_PUSH(m->arena, f->nnode, signed char);
    m->stand_off = FA_PUSH(m->arena, 4 * (size_t)f->nnode, double);
    if (!m->bone_of || !m->stand_off) return FA_FAIL_MEMORY(err);
    for (int side = 0; side < 2; side++) {
        FA_TRY(collect_bones(m, side == 1, is_skull_or_jaw, &m->bone[side], &m->on[side], err));
        if (!m->on[side]) continue;
        if (!(m->normal[side] = FA_PUSH(m->arena, 3 * (size_t)m->bone[side].nvert, float))) return FA_FAIL_MEMORY(err);
        fai_mesh_normals(&m->bone[side], m->bone[side].x, m->normal[side]);
    }
    for (int i = 0; i < f->nnode; i++) {
        const double *x = m->x0 + 3 * (size_t)i;
        const FaHold by = fai_face_hold(f, i);
        const double hold = (double)by.skull + (double)by.jaw, jaw = hold > 0 ? (double)by.jaw / hold : 0;
        const int side = jaw > ONE_BONE ? 1 : jaw < 1 - ONE_BONE ? 0 : -1;
        double point[3], n[3], d[3];
        m->bone_of[i] = -1;
        if (side < 0 || !m->on[side] || !held(f, i) || !bone_point(m, side, x, (float)NEXT_TO_BONE, point, n)) continue;
        fai_v3_sub(x, point, d);
        m->bone_of[i] = (signed char)side;
        double *off = m->stand_off + 4 * (size_t)i;
        off[0] = fai_v3_dot(d, n);
        for (int c = 0; c < 3; c++) off[c + 1] = d[c] - off[0] * n[c];
    }
    return FA_OK;
}

typedef struct Side {
    int v[3], key[3]; // corners as they are, and increasing
} Side;

static int by_corners(const void *p, const void *q) {
    const Side *a = p, *b = q;
    for (int k = 0; k < 3; k++)
        if (a->key[k] != b->key[k]) return a->key[k] < b->key[k] ? -1 : 1;
    return 0;
}

// Sides of tets whose corners are all held and that no other tet has: where filled flesh lies on bone.
static FaCode find_floor_filled(FaVolumeModel *m, FaError *err) {
    static const int corner[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    const FaFace *f = m->face;
    Side *side = FA_NEW(4 * (size_t)f->ntet, Side);
    int n = 0;
    if (!side) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < 4 * f->ntet; k++) {
        Side s;
        bool all = true;
        for (int c = 0; c < 3; c++) {
            s.v[c] = s.key[c] = f->tet[4 * (size_t)(k / 4) + (size_t)corner[k % 4][c]];
            all &= held(f, s.v[c]);
        }
        for (int c = 0; c < 3; c++)
            for (int j = 0; j < 2; j++)
                if (s.key[j] > s.key[j + 1]) {
                    const int keep = s.key[j];
                    s.key[j] = s.key[j + 1], s.key[j + 1] = keep;
                }
        if (all) side[n++] = s;
    }
    qsort(side, (size_t)n, sizeof *side, by_corners);
    m->held = FA_PUSH(m->arena, 3 * (size_t)n, int);
    for (int i = 0; m->held && i < n; i++) {
        if ((i && !by_corners(&side[i], &side[i - 1])) || (i + 1 < n && !by_corners(&side[i], &side[i + 1]))) continue;
        memcpy(m->held + 3 * (size_t)m->nheld++, side[i].v, 3 * sizeof(int));
    }
    fa_free(side);
    return m->held ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode find_floor(FaVolumeModel *m, FaError *err) {
    const FaFace *f = m->face;
    if (fai_face_filled(f)) return find_floor_filled(m, err);
    if (!(m->held = FA_PUSH(m->arena, 3 * (size_t)f->ntri, int))) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < f->ntri; t++) {
        int v[3];
        for (int k = 0; k < 3; k++) v[k] = f->nskin * f->layers + f->tri[3 * (size_t)t + (size_t)k];
        if (held(f, v[0]) && held(f, v[1]) && held(f, v[2]))
            memcpy(m->held + 3 * (size_t)m->nheld++, v, 3 * sizeof(int));
    }
    return FA_OK;
}

static FaCode model_new(FaVolumeModel *m, FaError *err) {
    const FaFace *f = m->face;
    if (!(m->arena = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
    if (!(m->x0 = FA_PUSH(m->arena, 3 * (size_t)f->nnode, double))) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < 3 * (size_t)f->nnode; i++) m->x0[i] = (double)f->x0[i];
    m->skin = (FaMesh){.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    FA_TRY(fai_topology_build(&m->skin, &m->near, err));
    m->in_bone = FA_PUSH(m->arena, f->nnode, unsigned char);
    if (!m->in_bone) return FA_FAIL_MEMORY(err);
    FA_TRY(find_floor(m, err));
    for (int side = 0; side < 2; side++) {
        FA_TRY(collect_bones(m, side == 1, is_solid, NULL, &m->solid[side], err));
        for (int i = 0; m->solid[side] && i < f->nnode; i++)
            m->in_bone[i] |= inside(m->solid[side], f->x0 + 3 * (size_t)i);
    }
    return find_bones(m, err);
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
    fai_closest_free(m->on[0]);
    fai_closest_free(m->on[1]);
    fai_arena_free(m->arena);
    fa_free(m);
}

// --- the part of the flesh that a shape moves -----------------------------------------------------------------------

typedef struct Work {
    const FaVolumeModel *m;
    int shape;
    FaPose jaw;
    const float *base; // of the shape it goes on top of; NULL: none             (nnode x 3)
    float *delta;      // of all nodes: the skin's known, the others' found      (nnode x 3)
    FaArena *arena;
    // the part; own numbers
    int n, ntet;
    int *node;            // of the face                                            (n)
    int *tet;             //                                                        (ntet x 4)
    unsigned char *still; // not solved for                                         (n)
    unsigned char *skin;  // on the skin, not still                                 (n)
    double *x0, *x;       //                                                        (n x 3)
    double *mu, *lambda;  //                                                        (ntet)
    double *force;        // N                                                      (n x 3)
    FaSpring *spring;     //                                                        (n)
    FaSolid *solid;
    FaSolidRest *rest;
    FaMesh bone;        // what bone nodes slide on, as this shape has it         (nnode)
    FaClosest *surface; // of it; NULL: nothing holds
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
        for (int k = 0; k < 4; k++) active |= dist[fai_face_above(f, v[k])] <= REACH;
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
    w->force = FA_PUSH(w->arena, 3 * n, double);
    if (!w->force || !w->node || !w->still || !w->skin || !w->x0 || !w->x || !w->mu || !w->lambda || !w->spring)
        return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nnode; i++) {
        int k = local[i] - 1;
        if (k < 0) continue;
        w->node[k] = i;
        w->still[k] = !(dist[fai_face_above(f, i)] <= REACH);
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

static FaCode solve(Work *w, FaNewton *newton, int nspring, const double *force, FaError *err) {
    const FaNewtonInput in = {.rest = w->rest,
                              .force = force,
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

// dV/dx of a tet's corners (4 x 3); its volume is returned.
static double volume_gradient(const double *x, const int t[4], double g[4][3]) {
    double e[3][3];
    for (int k = 0; k < 3; k++) fai_v3_sub(x + 3 * (size_t)t[k + 1], x + 3 * (size_t)t[0], e[k]);
    fai_v3_cross(e[1], e[2], g[1]);
    fai_v3_cross(e[2], e[0], g[2]);
    fai_v3_cross(e[0], e[1], g[3]);
    double volume = fai_v3_dot(e[0], g[1]) / 6;
    for (int c = 0; c < 3; c++) {
        for (int k = 1; k < 4; k++) g[k][c] /= 6;
        g[0][c] = -g[1][c] - g[2][c] - g[3][c];
    }
    return volume;
}

// Slivers change their volume by any factor; none of them may rule the rest.
static double within(double ratio) { return fmin(fmax(ratio, -SWELLS), SWELLS); }

// Eq. 13 has V(X) = V(X0): the rest shape follows, volumes do not. The solid measures both against the rest shape Xp,
// so what differs, lambda/2 [(V/V0 - 1)^2 - (V/Vp - 1)^2] per Vp, is added as the force that it has at x. With lambda a
// thirtieth of mu a second pass with the force at the new x leaves nothing of the error; the last two steps make one.
static void volume_force(const Work *w) {
    const double *rest = fai_solid_rest_volume(w->rest);
    memset(w->force, 0, 3 * (size_t)w->n * sizeof(double));
    for (int t = 0; t < w->ntet; t++) {
        const int *v = w->tet + 4 * (size_t)t;
        double g[4][3], V0 = volume_gradient(w->x0, v, g), V = volume_gradient(w->x, v, g),
                        r = fmin(rest[t] / V0, SWELLS);
        double pressure = w->lambda[t] * (r * (within(V / V0) - 1) - (within(V / rest[t]) - 1));
        for (int k = 0; k < 4; k++)
            for (size_t c = 0; c < 3; c++) w->force[3 * (size_t)v[k] + c] -= pressure * g[k][c];
    }
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
        for (int round = 0; rc >= 0 && round < (step < FA_COUNT(SPRING) - VOLUME_LAST ? 1 : 2); round++) {
            volume_force(w);
            rc = solve(w, newton, n, w->force, err);
        }
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

// What stands for the bones where there are none, or too far below: the deepest layer where something holds it, each
// node carried by as much of the jaw's motion as the jaw holds of it.
static FaCode carry_bones(Work *w, FaError *err) {
    const FaFace *f = w->m->face;
    const double none[4] = {0, 0, 0, 1}, *hinge = f->jaw.hinge;
    double at[3], slide[3];
    if (w->m->nheld == 0) return FA_OK;
    w->bone = (FaMesh){.nvert = f->nnode, .ntri = w->m->nheld, .tri = w->m->held};
    if (!(w->bone.x = FA_PUSH(w->arena, 3 * (size_t)f->nnode, float))) return FA_FAIL_MEMORY(err);
    fai_pose_apply(&w->jaw, hinge, at);
    fai_v3_sub(at, hinge, slide);
    for (int i = 0; i < f->nnode; i++) {
        const FaHold by = fai_face_hold(f, i);
        const double hold = (double)by.skull + (double)by.jaw, b = hold > 0 ? (double)by.jaw / hold : 0;
        double q[4], x[3];
        fai_v3_load(f->x0, i, x);
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

// The bone that a node lies next to; -1: none.
static int bone_of(const Work *w, int k) { return w->m->bone_of[w->node[k]]; }

// Where a bone node belongs: on the plane of the surface next to it, where it may slide.
static bool bone_goal(const Work *w, int k, double out[3], double normal[3]) {
    const FaFace *f = w->m->face;
    const int node = w->node[k], side = bone_of(w, k);
    const double *x = w->x + 3 * (size_t)k;
    if (side >= 0) {
        const FaPose pose = side ? w->jaw : fai_pose_identity(), back = fai_pose_inverse(&pose);
        const double *off = w->m->stand_off + 4 * (size_t)node, *neutral = w->m->x0 + 3 * (size_t)node;
        double q[3], d[3], point[3], n[3], n0[3];
        fai_pose_apply(&back, x, q);
        // no further from where the bone carries it than flesh slides
        fai_v3_sub(q, neutral, d);
        const double far = fai_v3_norm(d), part = far > SLIDES ? SLIDES / far : 1;
        for (int c = 0; c < 3; c++) q[c] = neutral[c] + part * d[c];
        if (!bone_point(w->m, side, q, INFINITY, point, n) || !bone_point(w->m, side, neutral, INFINITY, q, n0))
            return false;
        // a node that came so far into the bone that its other side is nearer goes where the bone carries it
        if (fai_v3_dot(n, n0) < SAME_SIDE) memcpy(point, q, sizeof q), memcpy(n, n0, sizeof n);
        for (int c = 0; c < 3; c++) point[c] += off[0] * n[c] + off[c + 1];
        fai_pose_apply(&pose, point, out);
        fai_q_rotate(pose.q, n, normal);
        return true;
    }
    if (!held(f, node) || !w->surface) return false;
    const float p[3] = {(float)x[0], (float)x[1], (float)x[2]};
    FaHit hit = fai_closest_point(w->surface, p, INFINITY);
    if (hit.tri < 0) return false;
    fai_v3_set(out, (double)hit.point[0], (double)hit.point[1], (double)hit.point[2]);
    return tri_normal(&w->bone, hit.tri, normal);
}

// Root mean square distance along the normal (they may slide) of bone nodes to where they belong: of those next to a
// bone's own surface where there are any, else of all.
static double off_bone(const Work *w) {
    double sum[2] = {0};
    int count[2] = {0};
    for (int k = 0; k < w->n; k++) {
        double goal[3], normal[3];
        if (w->still[k] || w->skin[k] || !bone_goal(w, k, goal, normal)) continue;
        fai_v3_sub(goal, w->x + 3 * (size_t)k, goal);
        const double d = fai_v3_dot(goal, normal);
        const int own = bone_of(w, k) >= 0;
        sum[own] += d * d;
        count[own]++;
    }
    const int which = count[1] > 0;
    return count[which] ? sqrt(sum[which] / count[which]) : 0;
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

// Nodes next to a bone are put on it, and what lies between them and the skin follows.
static FaCode project(Work *w, unsigned char *fixed, signed char *tooth, FaError *err) {
    const FaNewtonOptions how = {.kind = FA_NEWTON_PCG, .max_springs = w->n};
    FaNewton *newton = NULL;
    int n = 0;
    for (int k = 0; k < w->n; k++) {
        double goal[3], normal[3];
        if (fixed[k] || bone_of(w, k) < 0) continue;
        for (int round = 0; round < ROUNDS && bone_goal(w, k, goal, normal); round++)
            memcpy(w->x + 3 * (size_t)k, goal, sizeof goal);
        fixed[k] = 1;
        w->report->on_bone++;
    }
    if (w->report->on_bone == 0) return FA_OK;
    for (int k = 0; k < w->n; k++) {
        FaSpring s = {.node = k, .stiffness = BONE_SPRING[FA_COUNT(BONE_SPRING) - 1]};
        if (fixed[k] || (!tooth_goal(w, k, &tooth[k], s.to) && !bone_goal(w, k, s.to, s.normal))) continue;
        w->spring[n++] = s;
    }
    FaCode rc = fai_newton_new(w->solid, fixed, NULL, &how, &newton, err);
    if (rc >= 0) rc = solve(w, newton, n, NULL, err);
    fai_newton_free(newton);
    return rc;
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
            const bool before = tooth[k] >= 0, pushed = bone_of(w, k) < 0 && tooth_goal(w, k, &tooth[k], s.to);
            if (!pushed && !bone_goal(w, k, s.to, s.normal)) continue;
            w->report->pushed += pushed && !before;
            w->spring[n++] = s;
        }
        rc = solve(w, newton, n, NULL, err);
    }
    fai_newton_free(newton);
    return rc < 0 ? rc : project(w, fixed, tooth, err);
}

// --- a shape --------------------------------------------------------------------------------------------------------

// Prisms of tets that stay inverted are given up: the face leaves them out in the end, and the flesh around them need
// no longer make room for them.
static FaCode give_up(Work *w, const unsigned char *fixed, FaError *err) {
    const int below = fai_face_piece(w->m->face); // pieces are whole in the part, and in a row
    double F[9];
    int bad, left = w->report->inverted, *tet = FA_PUSH(w->arena, 4 * (size_t)w->ntet, int);
    unsigned char *gone = FA_PUSH(w->arena, w->ntet / below + 1, unsigned char);
    if (!tet || !gone) return FA_FAIL_MEMORY(err);
    FaUnfoldInput in = {.n = w->n, .tet = tet, .x0 = w->x0, .fixed = fixed};
    for (int round = 0; left && round < ROUNDS; round++) {
        in.ntet = 0;
        for (int t = 0; t < w->ntet; t++)
            gone[t / below] |= !(fai_tet_gradient(w->x0, w->x, w->tet + 4 * (size_t)t, F) > 0);
        for (int t = 0; t < w->ntet; t++)
            if (!gone[t / below]) memcpy(tet + 4 * (size_t)in.ntet++, w->tet + 4 * (size_t)t, 4 * sizeof(int));
        FA_TRY(fai_unfold(&in, w->x, &bad, &left, err));
    }
    return FA_OK;
}

// Local moves, first with the nodes on bones staying there; around tets that this leaves inverted or all but flat bone
// nodes may leave the bone; where tets stay inverted even so, all may.
static FaCode unfold(Work *w, unsigned char *fixed, FaError *err) {
    FaUnfoldInput in = {.n = w->n, .ntet = w->ntet, .tet = w->tet, .x0 = w->x0, .fixed = fixed};
    double F[9], *before = FA_PUSH(w->arena, 3 * (size_t)w->n, double);
    if (!before) return FA_FAIL_MEMORY(err);
    memcpy(before, w->x, 3 * (size_t)w->n * sizeof *before);
    for (int t = 0; t < w->ntet; t++)
        w->report->folded += !(fai_tet_gradient(w->x0, w->x, w->tet + 4 * (size_t)t, F) > 0);
    for (int k = 0; k < w->n; k++) fixed[k] = w->still[k] || w->skin[k] || bone_of(w, k) >= 0;
    for (int round = 0; round < 3; round++) {
        int bad, flat = 0;
        if (round == 2) memcpy(w->x, before, 3 * (size_t)w->n * sizeof *before);
        in.tries = round == 2 || w->report->on_bone == 0 ? TRIES : 0; // there is no other way left
        FA_TRY(fai_unfold(&in, w->x, &bad, &w->report->inverted, err));
        if (round == 0) w->report->unfolded = bad;
        for (int t = 0; t < w->ntet; t++) {
            const int *v = w->tet + 4 * (size_t)t;
            const bool is_flat = !(fai_tet_gradient(w->x0, w->x, v, F) > FLAT);
            flat += is_flat;
            for (int k = 0; (is_flat || round > 0) && k < 4; k++) fixed[v[k]] = w->still[v[k]] || w->skin[v[k]];
        }
        if (w->report->on_bone == 0 || (round == 0 ? flat : w->report->inverted) == 0) break;
    }
    return w->report->inverted ? give_up(w, fixed, err) : FA_OK;
}

static FaCode store(Work *w, FaError *err) {
    unsigned char *fixed = FA_PUSH(w->arena, w->n, unsigned char);
    if (!fixed) return FA_FAIL_MEMORY(err);
    FA_TRY(unfold(w, fixed, err));
    for (int k = 0; k < w->n; k++) fixed[k] = w->still[k] || w->skin[k];
    w->report->off_bone = off_bone(w);
    for (int k = 0; k < w->n; k++) {
        if (fixed[k]) continue;
        for (size_t c = 0; c < 3; c++)
            w->delta[3 * (size_t)w->node[k] + c] = (float)(w->x[3 * (size_t)k + c] - w->x0[3 * (size_t)k + c] -
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
    w->report->off_bone_first = off_bone(w);
    FA_TRY(settle(w, err));
    return store(w, err);
}

int fai_volume_base(const FaVolumeModel *m, int index) {
    const FaShape *s = &m->rig->shape[index];
    const int open = m->face->jaw.found ? m->face->jaw.shape[0] : -1;
    return s->arkit >= 0 && !strcmp(fa_arkit_name(s->arkit), "mouthClose") && open < m->rig->nshape && open != index
               ? open
               : -1;
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
        for (size_t i = 0; i < 3 * (size_t)m->face->nnode; i++)
            X[i] = m->x0[i] + (base ? (double)base[i] : 0) + (double)delta[i];
        FaVolumeQuality q = fai_volume_quality(m->face, X);
        fai_volume_change(m->face, X, &report->volume, &report->volume_rms);
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

void fai_volume_change(const FaFace *f, const double *X, double *volume, double *rms) {
    double before = 0, after = 0, square = 0;
    for (int t = 0; t < f->ntet; t++) {
        const int *v = f->tet + 4 * (size_t)t;
        double x0[4][3], x[4][3], g[4][3];
        bool same = true;
        for (int k = 0; k < 4; k++) {
            fai_v3_load(f->x0, v[k], x0[k]);
            memcpy(x[k], X + 3 * (size_t)v[k], sizeof x[k]);
            same &= !memcmp(x0[k], x[k], sizeof x[k]);
        }
        if (same) continue;
        const int own[4] = {0, 1, 2, 3};
        const double V0 = volume_gradient(x0[0], own, g), V = volume_gradient(x[0], own, g);
        before += V0;
        after += V;
        square += V0 * (V / V0 - 1) * (V / V0 - 1);
    }
    if (volume) *volume = before > 0 ? after / before : 1;
    if (rms) *rms = before > 0 ? sqrt(square / before) : 0;
}

FaVolumeQuality fai_volume_quality(const FaFace *f, const double *X) {
    FaVolumeQuality q = {.least = INFINITY, .most = 0};
    for (int t = 0; t < f->ntet; t++) {
        double m[9], d[9], inv[9], F[9], u[9], s[3], v[9];
        const int *c = f->tet + 4 * (size_t)t;
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 3; j++) {
                m[3 * j + k] =
                    (double)f->x0[3 * (size_t)c[k + 1] + (size_t)j] - (double)f->x0[3 * (size_t)c[0] + (size_t)j];
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
