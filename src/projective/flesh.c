// Stiffness from what people can picture. Shear and bulk moduli make the weights of the elements: for small strain e
//     |F - R|^2 = |e|^2         ->  w_strain = 2 mu V
//     |F - P_vol|^2 = tr(e)^2/3 ->  w_vol = 3 lambda V
// A goal or an attachment of f Hz on a mass m is a spring of m (2 pi f)^2; blendforces-notes: 10 Hz, areal mass 5
// kg/m2.
#include "projective/flesh.h"

#include "base/task.h"
#include "build/equilibrium.h"
#include "energy/bend.h"
#include "face/skin_motion.h"
#include "math/mat3.h"
#include "mesh/laplacian.h"
#include "mesh/mesh.h"
#include "projective/deep_goal.h"

#include <math.h>

static const double TYPICAL_THICKNESS = 0.006; // m: where `goal` holds as given
static const double LID_FIRMNESS = 9;          // lids follow so much more firmly
static const double RIM_HZ = 60;               // the cut edge and the neck: held to the rig
static const double EDGE_LENGTH = 0.004;       // m: blendforces-notes, k_e = K_s l^2 and k_b = K_s l^4

enum { VERTICES = 2048 }; // of a task

static double spring(double mass, double hz) { return mass * (2 * M_PI * hz) * (2 * M_PI * hz); }

// Lids are muscle and cartilage of a millimetre on an eyeball: they do not swing, and where they lag they cross.
static double goal_hz(const FaFace *f, int i, const FaFleshOptions *o) {
    double t = fmax((double)f->thickness[i], 1e-4), lid = (double)f->region[FA_REGION_EYELIDS][i];
    return (o->firm ? (double)o->firm[i] : 1) * o->goal * fmin(fmax(TYPICAL_THICKNESS / t, 0.4), 1.5) *
           (1 + LID_FIRMNESS * lid);
}

// --- the body -----------------------------------------------------------------------------------------------------

static double tet_volume(const double *x0, const int t[4]) {
    double a[3], b[3], c[3], n[3];
    fai_v3_sub(x0 + 3 * (size_t)t[1], x0 + 3 * (size_t)t[0], a);
    fai_v3_sub(x0 + 3 * (size_t)t[2], x0 + 3 * (size_t)t[0], b);
    fai_v3_sub(x0 + 3 * (size_t)t[3], x0 + 3 * (size_t)t[0], c);
    fai_v3_cross(b, c, n);
    return fai_v3_dot(a, n) / 6;
}

static FaCode add_nodes(FaFlesh *fl, bool surface, FaError *err) {
    const FaFace *f = fl->face;
    FaElastic *e = &fl->e;
    size_t n = (size_t)(surface ? f->nskin : f->nnode);
    e->nnode = fl->nnode = (int)n;
    e->x0 = FA_PUSH(e->arena, 3 * n, double);
    e->mass = FA_PUSH(e->arena, n, double);
    fl->column = FA_PUSH(e->arena, (size_t)f->nskin, double);
    if (!e->x0 || !e->mass || !fl->column) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_face_column_mass(f, fl->column, err));
    for (size_t i = 0; i < 3 * n; i++) e->x0[i] = (double)f->x0[i];
    for (size_t i = 0; i < n; i++) e->mass[i] = surface ? fl->column[i] : (double)f->mass[i];
    return FA_OK;
}

// What a goal holds of a skin node's flesh. Thin lids hang on the whole mass of filled flesh around the eye, which
// would drag them across each other: there a goal holds as much as elsewhere.
static double held_mass(const FaFlesh *fl, int i, double mean) {
    const double lid = fai_face_filled(fl->face) ? (double)fl->face->region[FA_REGION_EYELIDS][i] : 0;
    return fmax(fl->column[i], lid * mean);
}

// Skin nodes to the rig's surface, deep nodes to their bones, the rim firmly to the rig.
static FaCode add_anchors(FaFlesh *fl, const FaFleshOptions *o, FaError *err) {
    const FaFace *f = fl->face;
    FaElastic *e = &fl->e;
    e->anchor_node = FA_PUSH(e->arena, (size_t)fl->nnode, int);
    e->anchor_weight = FA_PUSH(e->arena, (size_t)fl->nnode, double);
    fl->force = FA_PUSH(e->arena, (size_t)fl->nnode, double);
    if (!e->anchor_node || !e->anchor_weight || !fl->force) return FA_FAIL_MEMORY(err);
    double mean = 0;
    for (int i = 0; i < f->nskin; i++) mean += fl->column[i] / f->nskin;
    for (int i = 0; i < fl->nnode; i++) {
        const FaHold hold = fai_face_hold(f, i);
        double w = i < f->nskin ? spring(held_mass(fl, i, mean), goal_hz(f, i, o))
                                : spring(e->mass[i], o->bone) * ((double)hold.skull + (double)hold.jaw);
        if (fai_face_on_rim(f, i)) w += spring(e->mass[i], RIM_HZ);
        if (!(w > 0)) continue;
        e->anchor_node[e->nanchor] = i;
        e->anchor_weight[e->nanchor++] = w;
        fl->force[i] = w;
    }
    return FA_OK;
}

static FaCode add_tets(FaFlesh *fl, const FaFleshOptions *o, FaError *err) {
    const FaFace *f = fl->face;
    FaElastic *e = &fl->e;
    size_t n = (size_t)f->ntet;
    e->tet = (int(*)[4])FA_PUSH(e->arena, 4 * n, int);
    e->tet_strain = FA_PUSH(e->arena, n, double);
    e->tet_volume = FA_PUSH(e->arena, n, double);
    if (!e->tet || !e->tet_strain || !e->tet_volume) return FA_FAIL_MEMORY(err);
    memcpy(e->tet, f->tet, 4 * n * sizeof(int));
    for (size_t t = 0; t < n; t++) {
        double v = tet_volume(e->x0, e->tet[t]);
        e->tet_strain[t] = 2 * o->shear * v;
        e->tet_volume[t] = 3 * o->bulk * v;
    }
    e->ntet = f->ntet;
    return FA_OK;
}

// Springs along the skin's edges, scaled by the area around each, so that the density of the mesh does not matter.
static FaCode add_edges(FaFlesh *fl, const FaTopology *topo, const float *area, double ks, FaError *err) {
    FaElastic *e = &fl->e;
    size_t n = (size_t)topo->nedge;
    e->edge = (int(*)[2])FA_PUSH(e->arena, 2 * n, int);
    e->edge_weight = FA_PUSH(e->arena, n, double);
    e->edge_weight2 = FA_PUSH(e->arena, n, double);
    if (!e->edge || !e->edge_weight || !e->edge_weight2) return FA_FAIL_MEMORY(err);
    memcpy(e->edge, topo->edge, 2 * n * sizeof(int));
    for (size_t i = 0; i < n; i++) {
        int a = topo->edge[i][0], b = topo->edge[i][1];
        double d[3];
        fai_v3_sub(e->x0 + 3 * (size_t)a, e->x0 + 3 * (size_t)b, d);
        double around = ((double)area[a] + (double)area[b]) / 6; // an edge's share: six edges meet in a vertex
        e->edge_weight[i] = ks * EDGE_LENGTH * EDGE_LENGTH * around / fmax(fai_v3_dot(d, d), 1e-12);
        e->edge_weight2[i] = 4 * e->edge_weight[i];
    }
    e->nedge = topo->nedge;
    e->biphasic = 0.1;
    return FA_OK;
}

static FaCode add_skin(FaFlesh *fl, const FaFleshOptions *o, FaError *err) {
    const FaFace *f = fl->face;
    FaElastic *e = &fl->e;
    FaMesh mesh = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    FaTopology topo = {0};
    FaCsr l = {0};
    float *area = FA_NEW(f->nskin, float);
    double *mass = FA_NEW(f->nskin, double), total = 0, weight = 0;
    FaCode rc = area && mass ? fai_topology_build(&mesh, &topo, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_laplacian_build(&mesh, NULL, &l, mass, NULL, err);
    if (rc >= 0) {
        fai_mesh_areas(&mesh, mesh.x, area);
        for (int i = 0; i < f->nskin; i++) total += (double)area[i], weight += fl->column[i];
        double ks = spring(weight / fmax(total, 1e-12), o->goal); // N/m3: of the skin as a whole
        rc = add_edges(fl, &topo, area, ks, err);
        if (rc >= 0) rc = fai_bend_rows(e, &l, mass, f->rim, ks * pow(EDGE_LENGTH, 4), err);
        if (rc >= 0 && !o->plain) rc = fai_equilibrium_apply(f, e, err);
    }
    fai_csr_free(&l);
    fai_topology_free(&topo);
    fa_free(area);
    fa_free(mass);
    return rc;
}

FaCode fai_flesh_new(const FaRig *rig, const FaFace *face, const FaFleshOptions *o, FaFlesh **flesh, FaError *err) {
    *flesh = NULL;
    FaFlesh *fl = FA_NEW(1, FaFlesh);
    if (!fl) return FA_FAIL_MEMORY(err);
    fl->rig = rig;
    fl->face = face;
    fl->e.arena = fai_arena_new(0);
    fl->linear = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    fl->odd = FA_NEW(fai_chunks(rig->mesh.nvert, VERTICES) + 1, int);
    FaCode rc = fl->e.arena && fl->linear && fl->odd ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fa_blender_new(rig, &fl->blender, err);
    if (rc >= 0) rc = add_nodes(fl, o->surface, err);
    if (rc >= 0) rc = add_anchors(fl, o, err);
    if (rc >= 0) rc = o->surface ? add_skin(fl, o, err) : add_tets(fl, o, err);
    if (rc >= 0 && !o->surface) rc = fai_deep_goal_new(face, &fl->deep, err);
    if (rc >= 0) rc = fai_elastic_check(&fl->e, err);
    fl->anchor_node = fl->e.anchor_node;
    if (rc < 0)
        fai_flesh_free(fl);
    else
        *flesh = fl;
    return rc;
}

void fai_flesh_free(FaFlesh *fl) {
    if (!fl) return;
    fa_blender_free(fl->blender);
    fai_deep_goal_free(fl->deep);
    fa_free(fl->linear);
    fa_free(fl->odd);
    fai_arena_free(fl->e.arena);
    fa_free(fl);
}

// --- frames -------------------------------------------------------------------------------------------------------

// fl->linear is set: goals of all nodes.
static void goal_of_linear(FaFlesh *fl, const float *weights, float *goal) {
    fai_face_skin_to(fl->face, fl->linear, goal);
    if (fl->deep) fai_deep_goal(fl->deep, weights, goal);
}

void fai_flesh_goal(FaFlesh *fl, const float *weights, float *goal) {
    fa_blender_eval(fl->blender, weights, fl->linear);
    goal_of_linear(fl, weights, goal);
}

typedef struct Target {
    FaFlesh *fl;
    const float *target, *goal;
    double share;
    int *odd; // of each chunk
} Target;

static void linear_of_target(void *ctx, int begin, int end, int chunk) {
    const Target *t = ctx;
    FaFlesh *fl = t->fl;
    const FaFace *f = fl->face;
    const float *goal = t->goal;
    double share = t->share;
    int odd = 0;
    for (int v = begin; v < end; v++) {
        const float *to = t->target + 3 * (size_t)v;
        float *out = fl->linear + 3 * (size_t)v;
        bool good = isfinite(to[0]) && isfinite(to[1]) && isfinite(to[2]);
        int node = f->node_of_vertex[v];
        odd += !good;
        if (node < 0) {
            memcpy(out, good ? to : fl->rig->mesh.x + 3 * (size_t)v, 3 * sizeof *out);
            continue;
        }
        for (int k = 0; k < 3; k++) {
            float was = f->x0[3 * (size_t)node + (size_t)k] + goal[4 * (size_t)node + (size_t)k];
            out[k] = !good ? was : share == 1 ? to[k] : (float)((double)was + share * ((double)to[k] - (double)was));
        }
    }
    t->odd[chunk] = odd;
}

int fai_flesh_goal_at(FaFlesh *fl, const float *weights, const float *target, double share, float *goal) {
    int odd = 0, chunks = fai_chunks(fl->face->nvert, VERTICES);
    fai_parallel(fl->face->nvert, VERTICES, linear_of_target, &(Target){fl, target, goal, share, fl->odd});
    for (int c = 0; c < chunks; c++) odd += fl->odd[c];
    goal_of_linear(fl, weights, goal);
    return odd;
}

void fai_flesh_anchors(const FaFlesh *fl, const float *goal, float *anchor) {
    for (int i = 0; i < fl->e.nanchor; i++)
        memcpy(anchor + 4 * (size_t)i, goal + 4 * (size_t)fl->anchor_node[i], 4 * sizeof *anchor);
}

void fai_flesh_surface(const FaFlesh *fl, const float *skin, float *surface) {
    fai_face_surface(fl->face, fl->linear, skin, surface);
}
