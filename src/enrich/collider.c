// Frames. A collider's vertices are in the rig's frame. `stage` is where its motion puts it while the head is at rest;
// the head carries that along (FA_COLLIDER_HEAD), or the head's pose H (of the rig's own frame) is taken off:
// x = H^-1 L stage(t) c, with L the head at rest in the world: where its file leaves it, upright at the origin for
// files that do not say. Which clip plays has no say in it.
//
// Signs. Inside or outside is told by the closest feature's normal: of the triangle, the sum of two at an edge,
// weighted by angles at a vertex, which is exact for closed surfaces and the natural reading of open ones.
#include "enrich/collider.h"

#include "base/task.h"
#include "io/gltf/gltf.h"
#include "math/mat3.h"
#include "math/pose_curve.h"
#include "mesh/closest.h"
#include "mesh/mesh.h"
#include "rig/head_frame.h"

#include <math.h>
#include <stdlib.h>

static const double SPACING = 2.5e-3;     // m between samples
static const double REACH = 5e-4;         // m: rows also for what is outside, but nearly in
static const double GAP = 5e-5;           // m: how far outside skin is held
static const double SHEET = 15e-3;        // m: an open surface pushes what is less deep behind it
static const double TANGENT = 0.25;       // stiffness of what sticks, of the push's
static const double SLIP_LEAST = 1e-8;    // m
static const double TOUCHING = 1e-5;      // m: closer than this the direction is the surface's own
static const float CORNER = 1e-6f;        // of barycentric weights: this near is on the edge
static const double CORNERS_SHARE = 0.25; // of a triangle's area, for its nodes
enum { FINEST = 4, CHUNK = 512 };

typedef struct Sample {
    int node[3]; // of the skin; -1 = unused
    float weight[3];
    float area; // mm2
} Sample;

// A sample that touches: what the next step's friction knows of it.
typedef struct Hold {
    double force; // N, along the normal
    double at[3]; // m: the place that it sticks to, collider's own frame
    int sample, body;
} Hold;

typedef struct Made {
    int sample, body;
    double point[3]; // that the row's values are from
} Made;

typedef struct Hit {
    double point[3], normal[3]; // head frame
    double distance;            // m, negative inside
} Hit;

typedef struct Body {
    int nvert, ntri;
    float *x;                 // own frame                                                   (nvert x 3)
    int *tri;                 //                                                             (ntri x 3)
    double (*face_normal)[3]; //                                                             (ntri)
    double (*edge_normal)[3]; // of the edge across from each corner                         (ntri x 3)
    double (*node_normal)[3]; //                                                             (nvert)
    float low[3], high[3];
    bool closed;
    FaClosest *closest;
    FaPose placed;      // stage at rest: where its file puts it
    FaPose rest_head;   // L
    FaPoseCurve *curve; // of L stage(t), or of stage(t) in the head's frame; NULL: it stands still
    bool in_world;
    FaPose pose; // head from collider, of the present step
} Body;

struct FaColliders {
    const FaFace *face;
    double stiffness;
    int nbody, nsample;
    Body *body;
    Sample *sample;
    Hit *hit;             // of the search under way                                     (nsample)
    unsigned char *rowed; // bit b: has a row with body b + 8 k, one byte per 8 bodies    (nsample x 2)
    FaRow *row;           // first those of the first collect of a step                  (FA_COLLIDER_ROWS)
    int nrow, first;      // first: -1 before the first collect
    Made *made;           // what each row is of                                         (FA_COLLIDER_ROWS)
    double friction;
    int *held;  // number of a sample's hold on a body, -1: none               (nbody x nsample); NULL: no friction
    Hold *next; // while they are made                                          (FA_COLLIDER_ROWS)
    FaColliderForce force;
    FaArena *arena;
    const double *x, *d; // of the search under way: at x + d; d NULL: 0
    int at;

    // the state
    int nhold;
    Hold *hold; //                                                                         (FA_COLLIDER_ROWS)
};

// --- a mesh -------------------------------------------------------------------------------------------------------

typedef struct Place {
    float x[3];
    int vertex;
} Place;

static int compare_places(const void *p, const void *q) {
    const Place *a = p, *b = q;
    for (int k = 0; k < 3; k++)
        if (a->x[k] != b->x[k]) return a->x[k] < b->x[k] ? -1 : 1;
    return (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

// The first vertex at each one's place: files split vertices at seams, and close caps and poles with copies.
static FaCode join_places(const FaMesh *mesh, int *first, FaError *err) {
    Place *place = FA_NEW(mesh->nvert, Place);
    if (!place) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < mesh->nvert; v++) {
        for (size_t k = 0; k < 3; k++) place[v].x[k] = mesh->x[3 * (size_t)v + k] + 0.0f; // -0 is 0
        place[v].vertex = v;
    }
    qsort(place, (size_t)mesh->nvert, sizeof *place, compare_places);
    for (int i = 0, of = 0; i < mesh->nvert; i++) {
        if (memcmp(place[i].x, place[of].x, sizeof place[i].x) != 0) of = i;
        first[place[i].vertex] = place[of].vertex;
    }
    fa_free(place);
    return FA_OK;
}

static FaCode copy_mesh(FaColliders *c, Body *b, const FaMesh *mesh, FaError *err) {
    b->nvert = mesh->nvert;
    b->x = FA_PUSH(c->arena, 3 * (size_t)b->nvert, float);
    b->tri = FA_PUSH(c->arena, 3 * (size_t)mesh->ntri, int);
    int *first = FA_PUSH(c->arena, b->nvert, int);
    if (!b->x || !b->tri || !first) return FA_FAIL_MEMORY(err);
    FA_TRY(join_places(mesh, first, err));
    memcpy(b->x, mesh->x, 3 * (size_t)b->nvert * sizeof(float));
    for (int k = 0; k < 3; k++) b->low[k] = INFINITY, b->high[k] = -INFINITY;
    for (int t = 0; t < mesh->ntri; t++) {
        int v[3];
        double p[3][3], n[3];
        for (int k = 0; k < 3; k++) {
            v[k] = first[mesh->tri[3 * (size_t)t + (size_t)k]];
            fai_v3_load(b->x, v[k], p[k]);
        }
        fai_v3_sub(p[1], p[0], p[1]);
        fai_v3_sub(p[2], p[0], p[2]);
        fai_v3_cross(p[1], p[2], n);
        if (!(fai_v3_norm(n) > 0)) continue; // no area, no side
        memcpy(b->tri + 3 * (size_t)b->ntri++, v, sizeof v);
        for (int k = 0; k < 9; k++) {
            float at = b->x[3 * (size_t)v[k / 3] + (size_t)(k % 3)];
            b->low[k % 3] = fminf(b->low[k % 3], at), b->high[k % 3] = fmaxf(b->high[k % 3], at);
        }
    }
    return b->ntri ? FA_OK
                   : FA_FAIL(err, FA_E_FORMAT, NULL, "give a surface of triangles or polygons",
                             "the collider has no faces");
}

// Closed or not; a closed one that faces inwards is turned round.
static FaCode orient(Body *b, const char *path, FaNotes *notes, FaError *err) {
    const FaMesh mesh = {.nvert = b->nvert, .ntri = b->ntri, .x = b->x, .tri = b->tri};
    FaTopology topo;
    FA_TRY(fai_topology_build(&mesh, &topo, err));
    b->closed = topo.boundary == 0 && topo.nonmanifold == 0;
    bool mixed = topo.flipped > 0;
    double six = 0;
    for (int t = 0; t < b->ntri; t++) {
        double p[3][3], n[3];
        for (int k = 0; k < 3; k++) fai_v3_load(b->x, b->tri[3 * (size_t)t + (size_t)k], p[k]);
        fai_v3_cross(p[1], p[2], n);
        six += fai_v3_dot(p[0], n);
    }
    fai_topology_free(&topo);
    if (mixed)
        fai_note(notes, "collider-mixed", path, "turn its faces outwards in a modelling program",
                 "faces of the collider disagree about which side is outside");
    if (!b->closed)
        fai_note(notes, "collider-open", path, "close it if it is a body",
                 "the collider is open: it pushes to the side that its faces show, from at most 15 mm behind them");
    if (b->closed && six < 0) {
        for (int t = 0; t < b->ntri; t++) {
            int *v = b->tri + 3 * (size_t)t, swap = v[1];
            v[1] = v[2], v[2] = swap;
        }
        fai_note(notes, "collider-turned", path, NULL, "the collider faced inwards: it was turned round");
    }
    return FA_OK;
}

typedef struct Edge {
    int a, b, tri, corner;
} Edge;

static int compare_edges(const void *p, const void *q) {
    const Edge *e = p, *f = q;
    if (e->a != f->a) return e->a < f->a ? -1 : 1;
    if (e->b != f->b) return e->b < f->b ? -1 : 1;
    int i = 3 * e->tri + e->corner, j = 3 * f->tri + f->corner;
    return (i > j) - (i < j);
}

static FaCode make_normals(FaColliders *c, Body *b, FaError *err) {
    size_t n = (size_t)b->ntri;
    b->face_normal = fai_arena_push(c->arena, n, sizeof *b->face_normal);
    b->edge_normal = fai_arena_push(c->arena, 3 * n, sizeof *b->edge_normal);
    b->node_normal = fai_arena_push(c->arena, (size_t)b->nvert, sizeof *b->node_normal);
    Edge *edge = FA_NEW(3 * n, Edge);
    if (!b->face_normal || !b->edge_normal || !b->node_normal || !edge) {
        fa_free(edge);
        return FA_FAIL_MEMORY(err);
    }
    for (int t = 0; t < b->ntri; t++) {
        const int *v = b->tri + 3 * (size_t)t;
        double p[3][3], e[2][3];
        for (int k = 0; k < 3; k++) fai_v3_load(b->x, v[k], p[k]);
        fai_v3_sub(p[1], p[0], e[0]);
        fai_v3_sub(p[2], p[0], e[1]);
        fai_v3_cross(e[0], e[1], b->face_normal[t]);
        fai_v3_normalize(b->face_normal[t]);
        for (int k = 0; k < 3; k++) {
            int i = v[(k + 1) % 3], j = v[(k + 2) % 3];
            double cross[3];
            fai_v3_sub(p[(k + 1) % 3], p[k], e[0]);
            fai_v3_sub(p[(k + 2) % 3], p[k], e[1]);
            fai_v3_cross(e[0], e[1], cross);
            double angle = atan2(fai_v3_norm(cross), fai_v3_dot(e[0], e[1]));
            for (int a = 0; a < 3; a++) b->node_normal[v[k]][a] += angle * b->face_normal[t][a];
            edge[3 * t + k] = (Edge){FA_MIN(i, j), FA_MAX(i, j), t, k};
        }
    }
    qsort(edge, 3 * n, sizeof *edge, compare_edges);
    for (size_t i = 0, end; i < 3 * n; i = end) {
        double sum[3] = {0};
        for (end = i; end < 3 * n && edge[end].a == edge[i].a && edge[end].b == edge[i].b; end++)
            for (int a = 0; a < 3; a++) sum[a] += b->face_normal[edge[end].tri][a];
        for (size_t j = i; j < end; j++) memcpy(b->edge_normal[3 * edge[j].tri + edge[j].corner], sum, sizeof sum);
    }
    fa_free(edge);
    return FA_OK;
}

// --- where it is --------------------------------------------------------------------------------------------------

static FaCode set_motion(Body *b, const FaRig *rig, const FaRig *own, const FaCollider *from, FaError *err) {
    const FaClip *motion = from->motion;
    FaPose axes = fai_head_axes(rig), back = fai_pose_inverse(&axes), head = fai_gltf_rest_pose(rig),
           out = fai_pose_inverse(&head), placed = fai_gltf_rest_pose(own);
    bool gltf = fai_gltf_of_rig(own) != NULL;
    b->placed = gltf ? fai_pose_mul(&out, &placed) : fai_pose_identity();
    b->rest_head = fai_gltf_of_rig(rig) ? head : axes;
    b->in_world = from->frame == FA_COLLIDER_WORLD || (from->frame == FA_COLLIDER_AUTO && motion);
    if (!motion) return FA_OK;
    if (!motion->head) {
        FaCode none = FA_FAIL(err, FA_E_ARG, NULL,
                              "give a CSV with head.q* and head.p* columns, a BVH, or a .glb whose node moves",
                              "the collider's motion has no poses");
        return motion->path ? fai_fail_in(err, none, motion->path) : none;
    }
    FaPose *pose = FA_NEW(motion->nframe, FaPose);
    if (!pose) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < motion->nframe; f++) {
        FaPose stage;
        if (from->in_file) {
            stage = fai_pose_mul(&out, &motion->head[f]);
        } else {
            stage = fai_pose_mul(&back, &motion->head[f]);
            stage = fai_pose_mul(&stage, &axes);
            stage = fai_pose_mul(&stage, &b->placed);
        }
        pose[f] = b->in_world ? fai_pose_mul(&b->rest_head, &stage) : stage;
    }
    FaCode rc = fai_pose_curve_new(motion->nframe, motion->time, pose, FA_ENDS_FREE, &b->curve, err);
    fa_free(pose);
    return rc < 0 && motion->path ? fai_fail_in(err, rc, motion->path) : rc;
}

static void hash_body(const Body *b, const FaCollider *from, uint64_t *key) {
    const int how[] = {b->nvert, b->ntri, b->in_world, from->in_file, from->motion ? from->motion->nframe : 0};
    *key = fai_hash64(how, sizeof how, *key);
    *key = fai_hash64(b->x, 3 * (size_t)b->nvert * sizeof(float), *key);
    *key = fai_hash64(b->tri, 3 * (size_t)b->ntri * sizeof(int), *key);
    *key = fai_hash64(&b->placed, sizeof b->placed, *key);
    if (!from->motion) return;
    *key = fai_hash64(from->motion->time, (size_t)from->motion->nframe * sizeof(double), *key);
    *key = fai_hash64(from->motion->head, (size_t)from->motion->nframe * sizeof(FaPose), *key);
}

static FaCode add_body(FaColliders *c, const FaRig *rig, const FaCollider *from, uint64_t *key, FaNotes *notes,
                       FaError *err) {
    const FaRig *own = from->mesh;
    if (!own) return FA_FAIL(err, FA_E_ARG, "mesh", "load it with fa_collider_load", "a collider has no mesh");
    const char *path = own->path ? own->path : "";
    Body *b = &c->body[c->nbody++];
    FaCode rc = copy_mesh(c, b, &own->mesh, err);
    if (rc >= 0) rc = orient(b, path, notes, err);
    if (rc >= 0) rc = make_normals(c, b, err);
    if (rc >= 0)
        rc = fai_closest_new_own(&(FaMesh){.nvert = b->nvert, .ntri = b->ntri, .x = b->x, .tri = b->tri}, NULL,
                                 &b->closest, err);
    if (rc >= 0) rc = set_motion(b, rig, own, from, err);
    if (rc >= 0) hash_body(b, from, key);
    return rc < 0 ? fai_fail_in(err, rc, path) : rc;
}

static const double FARTHEST = 1e4; // m: nothing comes from there

FaCode fa_collider_load(const char *path, const FaRig *rig, FaRig **mesh, FaError *err) {
    FaRigOptions options = {.unit = rig->file_unit, .any_size = true};
    FA_TRY(fa_rig_load(path, &options, mesh, err));
    for (int i = 0; i < 3 * (*mesh)->mesh.nvert; i++) {
        if (fabs((double)(*mesh)->mesh.x[i]) <= FARTHEST) continue;
        const double x = (double)(*mesh)->mesh.x[i];
        fa_rig_free(*mesh);
        *mesh = NULL;
        return fai_fail_in(err,
                           FA_FAIL(err, FA_E_FORMAT, FA_PLACE("vertex %d", i / 3),
                                   "mend the mesh; it is read in the rig's unit", "a collider %g m away", x),
                           path);
    }
    return FA_OK;
}

// --- samples of the skin ------------------------------------------------------------------------------------------

// In how many parts each side of a triangle is cut; its area, mm2.
static int parts_of(const FaFace *f, int t, double *area) {
    double p[3][3], e[3][3], n[3], longest = 0;
    for (int k = 0; k < 3; k++) fai_v3_load(f->x0, f->tri[3 * (size_t)t + (size_t)k], p[k]);
    for (int k = 0; k < 3; k++) {
        fai_v3_sub(p[(k + 1) % 3], p[k], e[k]);
        longest = fmax(longest, fai_v3_norm(e[k]));
    }
    fai_v3_cross(e[0], e[1], n);
    *area = 0.5e6 * fai_v3_norm(n);
    return (int)fmin(fmax(ceil(longest / SPACING), 1), FINEST);
}

// Nodes, and the middle of each of the n x n smaller triangles that a triangle is cut into.
static FaCode make_samples(FaColliders *c, FaError *err) {
    const FaFace *f = c->face;
    size_t count = (size_t)f->nskin;
    double area;
    for (int t = 0; t < f->ntri; t++) {
        int n = parts_of(f, t, &area);
        count += (size_t)(n * n);
    }
    c->sample = FA_PUSH(c->arena, count, Sample);
    c->hit = FA_PUSH(c->arena, count, Hit);
    c->rowed = FA_PUSH(c->arena, 2 * count, unsigned char);
    c->row = FA_PUSH(c->arena, FA_COLLIDER_ROWS, FaRow);
    c->made = FA_PUSH(c->arena, FA_COLLIDER_ROWS, Made);
    c->hold = FA_PUSH(c->arena, FA_COLLIDER_ROWS, Hold);
    c->next = FA_PUSH(c->arena, FA_COLLIDER_ROWS, Hold);
    if (!c->sample || !c->hit || !c->rowed || !c->row || !c->made || !c->hold || !c->next) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nskin; i++) c->sample[i] = (Sample){{i, -1, -1}, {1, 0, 0}, 0};
    c->nsample = f->nskin;
    for (int t = 0; t < f->ntri; t++) {
        const int *v = f->tri + 3 * (size_t)t;
        int n = parts_of(f, t, &area);
        for (int k = 0; k < 3; k++) c->sample[v[k]].area += (float)(CORNERS_SHARE * area / 3);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n - i; j++)
                for (int down = 0; down < (j < n - i - 1 ? 2 : 1); down++) {
                    double u = (i + (down ? 2.0 : 1.0) / 3) / n, w = (j + (down ? 2.0 : 1.0) / 3) / n;
                    c->sample[c->nsample++] = (Sample){{v[0], v[1], v[2]},
                                                       {(float)(1 - u - w), (float)u, (float)w},
                                                       (float)((1 - CORNERS_SHARE) * area / (n * n))};
                }
    }
    return FA_OK;
}

FaCode fai_colliders_new(const FaFace *face, const FaMethodSetup *o, double stiffness, double friction,
                         FaColliders **colliders, uint64_t *key, FaNotes *notes, FaError *err) {
    const FaRig *rig = o->rig;
    *colliders = NULL;
    if (o->ncollider == 0) return FA_OK;
    if (o->ncollider < 0 || o->ncollider > FA_COLLIDERS)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "join what moves together in one mesh", "%d colliders are more than %d",
                       o->ncollider, FA_COLLIDERS);
    FaColliders *c = FA_NEW(1, FaColliders);
    if (!c) return FA_FAIL_MEMORY(err);
    c->face = face;
    c->stiffness = stiffness;
    c->friction = friction;
    c->first = -1;
    c->arena = fai_arena_new(0);
    FaCode rc = c->arena && (c->body = FA_PUSH(c->arena, o->ncollider, Body)) ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = make_samples(c, err);
    if (rc >= 0 && friction > 0) {
        c->held = FA_PUSH(c->arena, (size_t)o->ncollider * (size_t)c->nsample + 1, int);
        if (!c->held) rc = FA_FAIL_MEMORY(err);
    }
    for (int i = 0; rc >= 0 && i < o->ncollider; i++) rc = add_body(c, rig, &o->collider[i], key, notes, err);
    if (rc >= 0) fai_colliders_reset(c);
    if (rc < 0)
        fai_colliders_free(c);
    else
        *colliders = c;
    return rc;
}

void fai_colliders_free(FaColliders *c) {
    if (!c) return;
    for (int i = 0; i < c->nbody; i++) {
        fai_closest_free(c->body[i].closest);
        fai_pose_curve_free(c->body[i].curve);
    }
    fai_arena_free(c->arena);
    fa_free(c);
}

// --- a step -------------------------------------------------------------------------------------------------------

void fai_colliders_begin(FaColliders *c, double time, const FaPose *head) {
    const bool still = !head;
    for (int i = 0; i < c->nbody; i++) {
        Body *b = &c->body[i];
        FaPose at = b->in_world ? fai_pose_mul(&b->rest_head, &b->placed) : b->placed;
        if (b->curve) {
            FaMotion motion;
            fai_pose_curve_eval(b->curve, time, &motion);
            at = motion.pose;
        }
        FaPose back = fai_pose_inverse(still ? &b->rest_head : head);
        b->pose = b->in_world ? fai_pose_mul(&back, &at) : at;
    }
    c->nrow = 0;
    c->first = -1;
    memset(c->rowed, 0, 2 * (size_t)c->nsample);
}

FaPose fai_colliders_pose(const FaColliders *c, int i) { return c->body[i].pose; }

static void sample_at(const Sample *s, const double *x, const double *d, double out[3]) {
    for (size_t k = 0; k < 3; k++) {
        out[k] = 0;
        for (int j = 0; j < 3 && s->node[j] >= 0; j++) {
            size_t at = 3 * (size_t)s->node[j] + k;
            out[k] += (double)s->weight[j] * (d ? x[at] + d[at] : x[at]);
        }
    }
}

// The normal of what is closest: a triangle, an edge, a corner.
static const double *feature_normal(const Body *b, const FaHit *hit) {
    int zeros = 0, zero = 0, other = 0;
    for (int k = 0; k < 3; k++)
        if (hit->bary[k] < CORNER)
            zeros++, zero = k;
        else
            other = k;
    if (zeros >= 2) return b->node_normal[b->tri[3 * (size_t)hit->tri + (size_t)other]];
    return zeros ? b->edge_normal[3 * hit->tri + zero] : b->face_normal[hit->tri];
}

// distance: INFINITY where a sample is far from the body.
static void search(void *ctx, int begin, int end, int chunk) {
    const FaColliders *c = ctx;
    const Body *b = &c->body[c->at];
    const FaPose back = fai_pose_inverse(&b->pose);
    (void)chunk;
    for (int i = begin; i < end; i++) {
        Hit *h = &c->hit[i];
        double x[3], p[3], d[3];
        bool out = false;
        sample_at(&c->sample[i], c->x, c->d, x);
        fai_pose_apply(&back, x, p);
        h->distance = INFINITY;
        for (int k = 0; k < 3; k++) out |= !(p[k] > (double)b->low[k] - REACH && p[k] < (double)b->high[k] + REACH);
        if (out) continue;
        const float at[3] = {(float)p[0], (float)p[1], (float)p[2]};
        FaHit hit = fai_closest_point(b->closest, at, INFINITY);
        if (hit.tri < 0) continue;
        const double *side = feature_normal(b, &hit);
        double point[3] = {(double)hit.point[0], (double)hit.point[1], (double)hit.point[2]},
               n[3] = {side[0], side[1], side[2]};
        fai_v3_sub(p, point, d);
        double length = fai_v3_norm(d), sign = fai_v3_dot(d, n) < 0 ? -1 : 1;
        if (length > TOUCHING)
            fai_v3_scale(sign / length, d, n);
        else if (!fai_v3_normalize(n))
            continue;
        if (!b->closed && sign < 0 && length > SHEET) continue;
        h->distance = sign * length;
        fai_pose_apply(&b->pose, point, h->point);
        fai_q_rotate(b->pose.q, n, h->normal);
    }
}

// What a sample sticks to, from where the row's values are; nothing where it did not touch before.
static void write_friction(const FaColliders *c, const Made *made, FaRow *row) {
    int at = c->held[(size_t)made->body * (size_t)c->nsample + (size_t)made->sample];
    if (at < 0) return;
    const Hold *hold = &c->hold[at];
    double place[3];
    fai_pose_apply(&c->body[made->body].pose, hold->at, place);
    row->friction = (float)(c->friction * hold->force);
    // the same stiffness whatever the force: one that came and went with it would drive what rocks on its contact
    row->slip = (float)fmax(2 * (double)row->friction / (TANGENT * (double)row->stiffness), SLIP_LEAST);
    for (int k = 0; k < 3; k++) row->stick[k] = (float)(place[k] - made->point[k]);
}

static void write_row(const FaColliders *c, const Sample *s, const Hit *h, FaRow *row) {
    *row = (FaRow){.node = {-1, -1, -1, -1},
                   .gap = (float)GAP,
                   .stiffness = (float)(c->stiffness * (double)s->area),
                   .kind = FA_ROW_PUSH};
    double offset[3];
    fai_v3_scale(-1, h->point, offset);
    for (int j = 0; j < 3 && s->node[j] >= 0; j++) {
        row->node[j] = s->node[j];
        row->weight[j] = s->weight[j];
        for (size_t k = 0; k < 3; k++)
            offset[k] += (double)s->weight[j] * (double)c->face->x0[3 * (size_t)s->node[j] + k];
    }
    for (int k = 0; k < 3; k++) row->offset[k] = (float)offset[k], row->normal[k] = (float)h->normal[k];
}

int fai_colliders_collect(FaColliders *c, const double *x, FaRow *row) {
    c->x = x;
    c->d = NULL;
    for (c->at = 0; c->at < c->nbody; c->at++) {
        fai_parallel(c->nsample, CHUNK, search, c);
        for (int i = 0; i < c->nsample && c->nrow < FA_COLLIDER_ROWS; i++) {
            unsigned char *has = &c->rowed[2 * (size_t)i + (size_t)(c->at / 8)], bit = (unsigned char)(1 << c->at % 8);
            if (!(c->hit[i].distance < REACH) || (*has & bit) || !(c->sample[i].area > 0)) continue;
            *has |= bit;
            Made *made = &c->made[c->nrow];
            *made = (Made){.sample = i, .body = c->at};
            memcpy(made->point, c->hit[i].point, sizeof made->point);
            write_row(c, &c->sample[i], &c->hit[i], &c->row[c->nrow]);
            if (c->held) write_friction(c, made, &c->row[c->nrow]);
            c->nrow++;
        }
    }
    if (c->first < 0) c->first = c->nrow;
    memcpy(row, c->row, (size_t)c->first * sizeof *row);
    return c->first;
}

int fai_colliders_late(const FaColliders *c, FaRow *row) {
    memcpy(row, c->row + c->first, (size_t)(c->nrow - c->first) * sizeof *row);
    return c->nrow - c->first;
}

// --- what sticks --------------------------------------------------------------------------------------------------

// c->held of c->hold.
static void index_holds(FaColliders *c) {
    size_t n = (size_t)c->nbody * (size_t)c->nsample;
    for (size_t i = 0; i < n; i++) c->held[i] = -1;
    for (int i = 0; i < c->nhold; i++)
        c->held[(size_t)c->hold[i].body * (size_t)c->nsample + (size_t)c->hold[i].sample] = i;
}

void fai_colliders_reset(FaColliders *c) {
    c->nhold = 0;
    c->force = (FaColliderForce){0};
    if (c->held) index_holds(c);
}

// A row where the step ended: forces, and the hold that it leaves. False: it does not touch.
static bool hold_of(FaColliders *c, const Made *made, const FaRow *row, const double *X, const double *d, Hold *hold) {
    FaColliderForce *f = &c->force;
    double s[3], t[3], n[3], depth = (double)row->gap, away = 0, size = 0;
    sample_at(&c->sample[made->sample], X, d, s);
    for (int k = 0; k < 3; k++) {
        n[k] = (double)row->normal[k];
        s[k] -= made->point[k];
        depth -= n[k] * s[k];
        t[k] = s[k] - (double)row->stick[k];
        away += n[k] * t[k];
    }
    for (int k = 0; k < 3; k++) t[k] -= away * n[k], size += t[k] * t[k];
    size = sqrt(size);
    bool rubs = row->friction > 0;
    double slip = (double)row->slip, y = rubs ? size / slip : 0,
           rub = !rubs ? 0 : (double)row->friction * (y < 1 ? y * (2 - y) : 1);
    double push = fmax((double)row->stiffness * depth, 0);
    for (int k = 0; k < 3; k++) {
        f->push[k] += push * n[k];
        if (size > 0) f->drag[k] -= rub * t[k] / size;
    }
    f->normal += push;
    f->friction += rub;
    f->limit += rubs ? (double)row->friction : 0;
    if (!(push > 0)) return false;
    f->touching++;
    f->sliding += rubs && y >= 1;
    // what did not touch before sticks where it is; what slid drags its place along behind it
    int at = c->held[(size_t)made->body * (size_t)c->nsample + (size_t)made->sample];
    *hold = rubs && at >= 0 ? c->hold[at] : (Hold){.sample = made->sample, .body = made->body};
    hold->force = push;
    if (rubs && y <= 1) return true;
    double place[3];
    for (int k = 0; k < 3; k++) place[k] = made->point[k] + s[k] - (rubs ? t[k] * slip / size : 0);
    FaPose back = fai_pose_inverse(&c->body[made->body].pose);
    fai_pose_apply(&back, place, hold->at);
    return true;
}

void fai_colliders_end(FaColliders *c, const double *X, const double *d) {
    if (!c->held) return;
    Hold *hold = c->next;
    int n = 0;
    c->force = (FaColliderForce){0};
    for (int i = 0; i < c->nrow; i++) n += hold_of(c, &c->made[i], &c->row[i], X, d, &hold[n]);
    memcpy(c->hold, hold, (size_t)n * sizeof *hold);
    c->nhold = n;
    index_holds(c);
}

FaColliderForce fai_colliders_force(const FaColliders *c) { return c->force; }

size_t fai_colliders_state_size(const FaColliders *c) {
    return c->held ? sizeof(int64_t) + FA_COLLIDER_ROWS * sizeof(Hold) : 0;
}

void fai_colliders_save(const FaColliders *c, void *state) {
    int64_t n = c->nhold;
    if (!c->held) return;
    memset(state, 0, fai_colliders_state_size(c));
    memcpy(state, &n, sizeof n);
    memcpy((unsigned char *)state + sizeof n, c->hold, (size_t)n * sizeof *c->hold);
}

// Could it be a hold of these colliders?
static bool hold_is_sound(const FaColliders *c, const Hold *h) {
    bool good = h->sample >= 0 && h->sample < c->nsample && h->body >= 0 && h->body < c->nbody && h->force > 0 &&
                isfinite(h->force);
    for (int k = 0; k < 3; k++) good = good && isfinite(h->at[k]);
    return good;
}

bool fai_colliders_load(FaColliders *c, const void *state) {
    int64_t n;
    if (!c->held) return true;
    fai_colliders_reset(c);
    memcpy(&n, state, sizeof n);
    if (n < 0 || n > FA_COLLIDER_ROWS) return false;
    memcpy(c->hold, (const unsigned char *)state + sizeof n, (size_t)n * sizeof *c->hold);
    for (int i = 0; i < n; i++)
        if (!hold_is_sound(c, &c->hold[i])) return false;
    c->nhold = (int)n;
    index_holds(c);
    return true;
}

// How deep a hold's sample is, as its force tells, m.
static double depth_of(const FaColliders *c, const Hold *h) {
    return h->force / (c->stiffness * (double)c->sample[h->sample].area);
}

// Places apart, depths apart; what sticks here and not there counts by its depth: a bare touch is no difference.
double fai_colliders_distance(const FaColliders *c, const void *state) {
    int64_t n;
    double worst = 0;
    int met = 0;
    if (!c->held) return 0;
    memcpy(&n, state, sizeof n);
    if (n < 0 || n > FA_COLLIDER_ROWS) return INFINITY;
    for (int64_t i = 0; i < n; i++) {
        Hold was;
        memcpy(&was, (const unsigned char *)state + sizeof n + (size_t)i * sizeof was, sizeof was);
        if (!hold_is_sound(c, &was)) return INFINITY;
        int at = c->held[(size_t)was.body * (size_t)c->nsample + (size_t)was.sample];
        if (at < 0) {
            worst = fmax(worst, depth_of(c, &was));
            continue;
        }
        const Hold *is = &c->hold[at];
        met++;
        worst = fmax(worst, fabs(depth_of(c, &was) - depth_of(c, is)));
        for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(was.at[k] - is->at[k]));
    }
    // and the other way round
    for (int i = 0; i < c->nhold && met < c->nhold; i++) {
        bool there = false;
        for (int64_t k = 0; k < n && !there; k++) {
            Hold was;
            memcpy(&was, (const unsigned char *)state + sizeof n + (size_t)k * sizeof was, sizeof was);
            there = was.sample == c->hold[i].sample && was.body == c->hold[i].body;
        }
        if (!there) worst = fmax(worst, depth_of(c, &c->hold[i]));
    }
    return worst;
}

FaColliderStats fai_colliders_measure(FaColliders *c, const double *X, const double *d) {
    FaColliderStats stats = {0};
    double inside = 0, all = 0;
    c->x = X;
    c->d = d;
    for (c->at = 0; c->at < c->nbody; c->at++) {
        fai_parallel(c->nsample, CHUNK, search, c);
        for (int i = 0; i < c->nsample; i++) {
            stats.depth = fmax(stats.depth, -c->hit[i].distance);
            if (c->hit[i].distance < 0) inside += (double)c->sample[i].area;
            if (c->at == 0) all += (double)c->sample[i].area;
        }
    }
    stats.inside = all > 0 ? inside / all : 0;
    return stats;
}
