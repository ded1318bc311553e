// Closest points and ray hits. The trees only choose which triangles to look at; what is closest is decided here.
//
// Based on: Woop, Benthin, Wald, Watertight Ray/Triangle Intersection, 2013 (here in double throughout).
#include "mesh/closest.h"

#include "base/task.h"
#include "math/mat3.h"
#include "mesh/box_tree.h"

#ifdef FA_HAVE_EMBREE
#include <embree3/rtcore.h>
#endif

struct FaClosest {
    int ntri;
    int *tri;       // (ntri x 3)
    float *x;       // (nvert x 3, and 4 more: Embree reads 16 bytes at a time)
    FaBoxTree tree; // empty where Embree has the tree
#ifdef FA_HAVE_EMBREE
    RTCDevice device;
    RTCScene scene;
#endif
};

enum { POINTS_PER_CHUNK = 256 };
static const FaHit MISS = {.tri = -1, .distance = INFINITY};

// --- one triangle -------------------------------------------------------------------------------------------------

typedef struct Triangle {
    double p[3][3];
} Triangle;

static Triangle triangle_of(const FaClosest *c, int t) {
    Triangle tri;
    for (int i = 0; i < 3; i++) fai_v3_load(c->x, c->tri[3 * (size_t)t + i], tri.p[i]);
    return tri;
}

static double distance2_at(const Triangle *t, const double bary[3], const double p[3]) {
    double d2 = 0;
    for (int k = 0; k < 3; k++) {
        double d = bary[0] * t->p[0][k] + bary[1] * t->p[1][k] + bary[2] * t->p[2][k] - p[k];
        d2 += d * d;
    }
    return d2;
}

// Closest point of the edge from corner i to corner j.
static double closest_on_edge(const Triangle *t, int i, int j, const double p[3], double bary[3]) {
    double edge[3], to_p[3];
    fai_v3_sub(t->p[j], t->p[i], edge);
    fai_v3_sub(p, t->p[i], to_p);
    double length2 = fai_v3_dot(edge, edge), along = fai_v3_dot(edge, to_p);
    double s = length2 > 0 ? fmin(fmax(along / length2, 0), 1) : 0;
    bary[0] = bary[1] = bary[2] = 0;
    bary[i] = 1 - s;
    bary[j] += s;
    return distance2_at(t, bary, p);
}

// Squared distance from p, and where. The foot of the perpendicular if it falls inside; else, and always for slivers
// whose plane is not to be trusted, the best of the edges.
static double closest_on_triangle(const Triangle *t, const double p[3], double bary[3]) {
    double u[3], v[3], to_p[3];
    fai_v3_sub(t->p[1], t->p[0], u);
    fai_v3_sub(t->p[2], t->p[0], v);
    fai_v3_sub(p, t->p[0], to_p);
    double uu = fai_v3_dot(u, u), uv = fai_v3_dot(u, v), vv = fai_v3_dot(v, v), pu = fai_v3_dot(to_p, u),
           pv = fai_v3_dot(to_p, v);
    double area2 = uu * vv - uv * uv, best = HUGE_VAL;
    double s = (vv * pu - uv * pv) / area2, r = (uu * pv - uv * pu) / area2;
    if (area2 > 0 && s >= 0 && r >= 0 && s + r <= 1) {
        bary[0] = 1 - s - r;
        bary[1] = s;
        bary[2] = r;
        best = distance2_at(t, bary, p);
        if (area2 > 1e-10 * uu * vv) return best;
    }
    for (int i = 0; i < 3; i++) {
        double edge_bary[3], d2 = closest_on_edge(t, i, (i + 1) % 3, p, edge_bary);
        if (d2 < best) {
            best = d2;
            memcpy(bary, edge_bary, sizeof edge_bary);
        }
    }
    return best;
}

// A ray in the frame where it runs along its largest component: x and y are sheared, z scaled.
typedef struct Ray {
    double origin[3], dir[3];
    double near, far;
    int x, y, z;
    double sx, sy, sz;
} Ray;

static bool make_ray(const float origin[3], const float dir[3], float near, float far, Ray *r) {
    double size = 0;
    r->z = 0;
    for (int k = 0; k < 3; k++) {
        r->origin[k] = (double)origin[k];
        r->dir[k] = (double)dir[k];
        if (!isfinite(origin[k]) || !isfinite(dir[k])) return false;
        if (fabs(r->dir[k]) > size) {
            size = fabs(r->dir[k]);
            r->z = k;
        }
    }
    r->near = (double)near;
    r->far = (double)far;
    if (size == 0 || !(near <= far)) return false;
    r->x = (r->z + 1) % 3;
    r->y = (r->z + 2) % 3;
    r->sz = 1 / r->dir[r->z];
    r->sx = r->dir[r->x] * r->sz;
    r->sy = r->dir[r->y] * r->sz;
    return true;
}

// Watertight: two triangles compute the same number for an edge they share, so no ray slips between them.
static bool ray_hits(const Triangle *t, const Ray *r, double *distance, double bary[3]) {
    double x[3], y[3], z[3];
    for (int i = 0; i < 3; i++) {
        double d[3];
        fai_v3_sub(t->p[i], r->origin, d);
        x[i] = d[r->x] - r->sx * d[r->z];
        y[i] = d[r->y] - r->sy * d[r->z];
        z[i] = r->sz * d[r->z];
    }
    double u = x[2] * y[1] - y[2] * x[1], v = x[0] * y[2] - y[0] * x[2], w = x[1] * y[0] - y[1] * x[0];
    if ((u < 0 || v < 0 || w < 0) && (u > 0 || v > 0 || w > 0)) return false;
    double sum = u + v + w;
    if (sum == 0) return false;
    bary[0] = u / sum;
    bary[1] = v / sum;
    bary[2] = w / sum;
    *distance = bary[0] * z[0] + bary[1] * z[1] + bary[2] * z[2];
    return *distance >= r->near && *distance <= r->far;
}

static FaHit make_hit(const FaClosest *c, int tri, const double bary[3], double distance) {
    FaHit hit = {.tri = tri, .distance = (float)distance};
    Triangle t = triangle_of(c, tri);
    for (int k = 0; k < 3; k++) {
        hit.bary[k] = (float)bary[k];
        hit.point[k] = (float)(bary[0] * t.p[0][k] + bary[1] * t.p[1][k] + bary[2] * t.p[2][k]);
    }
    return hit;
}

// --- the best so far ----------------------------------------------------------------------------------------------

typedef struct Nearest {
    const FaClosest *c;
    double p[3];
    double best2; // squared; at first what is within reach
    double bary[3];
    int tri; // -1: none yet
} Nearest;

static bool try_nearest(Nearest *n, int tri) {
    double bary[3];
    Triangle t = triangle_of(n->c, tri);
    double d2 = closest_on_triangle(&t, n->p, bary);
    bool better = d2 < n->best2 || (d2 == n->best2 && (n->tri < 0 || tri < n->tri));
    if (!better) return false;
    n->best2 = d2;
    n->tri = tri;
    memcpy(n->bary, bary, sizeof bary);
    return true;
}

// --- our own tree -------------------------------------------------------------------------------------------------

static double box_distance2(const FaBoxNode *node, const double p[3]) {
    double d2 = 0;
    for (int k = 0; k < 3; k++) {
        double d = fmax(fmax((double)node->lo[k] - p[k], p[k] - (double)node->hi[k]), 0);
        d2 += d * d;
    }
    return d2;
}

// Rounding must not hide a triangle that is as close as the best.
static bool too_far(double d2, double best2) { return d2 > best2 * (1 + 1e-12); }

static void own_nearest(const FaBoxTree *tree, Nearest *n) {
    struct {
        int node;
        double d2;
    } stack[FA_BOX_TREE_STACK];
    int top = 0;
    if (tree->nnode == 0) return;
    stack[top].node = 0;
    stack[top++].d2 = box_distance2(&tree->node[0], n->p);
    while (top > 0) {
        top--;
        const FaBoxNode *node = &tree->node[stack[top].node];
        if (too_far(stack[top].d2, n->best2)) continue;
        for (int i = node->first; i < node->first + node->count; i++) try_nearest(n, tree->prim[i]);
        if (node->count > 0) continue;
        // the nearer child is looked at first
        int a = node->first, b = node->first + 1;
        double da = box_distance2(&tree->node[a], n->p), db = box_distance2(&tree->node[b], n->p);
        bool a_first = da <= db;
        stack[top].node = a_first ? b : a;
        stack[top++].d2 = a_first ? db : da;
        stack[top].node = a_first ? a : b;
        stack[top++].d2 = a_first ? da : db;
    }
}

// Where the ray enters the box, HUGE_VAL if it misses it; widened by a few rounding errors.
static double box_entry(const FaBoxNode *node, const Ray *r, double far) {
    double from = r->near, to = far;
    for (int k = 0; k < 3; k++) {
        double lo = (double)node->lo[k] - r->origin[k], hi = (double)node->hi[k] - r->origin[k];
        if (r->dir[k] == 0) {
            if (lo > 0 || hi < 0) return HUGE_VAL;
            continue;
        }
        double a = lo / r->dir[k], b = hi / r->dir[k];
        double first = fmin(a, b), last = fmax(a, b), slack = 1e-12 * fmax(fabs(a), fabs(b));
        from = fmax(from, first - slack);
        to = fmin(to, last + slack);
    }
    return from <= to ? from : HUGE_VAL;
}

static FaHit own_ray(const FaClosest *c, const Ray *r) {
    const FaBoxTree *tree = &c->tree;
    double best = r->far, best_bary[3] = {0, 0, 0};
    int best_tri = -1, stack[FA_BOX_TREE_STACK], top = 0;
    if (tree->nnode > 0) stack[top++] = 0;
    while (top > 0) {
        const FaBoxNode *node = &tree->node[stack[--top]];
        if (box_entry(node, r, best) == HUGE_VAL) continue;
        for (int i = node->first; i < node->first + node->count; i++) {
            int tri = tree->prim[i];
            Triangle t = triangle_of(c, tri);
            double distance, bary[3];
            if (!ray_hits(&t, r, &distance, bary)) continue;
            if (distance > best || (distance == best && best_tri >= 0 && tri > best_tri)) continue;
            best = distance;
            best_tri = tri;
            memcpy(best_bary, bary, sizeof bary);
        }
        if (node->count > 0) continue;
        double a = box_entry(&tree->node[node->first], r, best), b = box_entry(&tree->node[node->first + 1], r, best);
        int nearer = b < a;
        stack[top++] = node->first + !nearer;
        stack[top++] = node->first + nearer;
    }
    return best_tri < 0 ? MISS : make_hit(c, best_tri, best_bary, best);
}

// --- Embree's -----------------------------------------------------------------------------------------------------

#ifdef FA_HAVE_EMBREE

// Embree leaves out what is this large. It also culls by floats: the radius is kept a little too large for it.
static const float EMBREE_LARGE = 1e18f;
static const double EMBREE_SLACK = 1 + 4e-6;

static bool has_embree(const FaClosest *c) { return c->scene != NULL; }

static bool embree_visit(struct RTCPointQueryFunctionArguments *args) {
    Nearest *n = args->userPtr;
    if (!try_nearest(n, (int)args->primID)) return false;
    args->query->radius = (float)(sqrt(n->best2) * EMBREE_SLACK);
    return true;
}

static void embree_nearest(Nearest *n, const float p[3], float reach) {
    struct RTCPointQuery query = {.x = p[0], .y = p[1], .z = p[2], .radius = (float)((double)reach * EMBREE_SLACK)};
    struct RTCPointQueryContext context;
    rtcInitPointQueryContext(&context);
    rtcPointQuery(n->c->scene, &query, &context, embree_visit, n);
}

static FaHit embree_ray(const FaClosest *c, const Ray *r, const float origin[3], const float dir[3]) {
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    struct RTCRayHit q = {.ray = {.org_x = origin[0],
                                  .org_y = origin[1],
                                  .org_z = origin[2],
                                  .dir_x = dir[0],
                                  .dir_y = dir[1],
                                  .dir_z = dir[2],
                                  .tnear = (float)r->near,
                                  .tfar = (float)r->far,
                                  .mask = UINT32_MAX},
                          .hit = {.geomID = RTC_INVALID_GEOMETRY_ID, .primID = RTC_INVALID_GEOMETRY_ID}};
    rtcIntersect1(c->scene, &context, &q);
    if (q.hit.geomID == RTC_INVALID_GEOMETRY_ID) return MISS;
    int tri = (int)q.hit.primID;
    Triangle t = triangle_of(c, tri);
    double distance, bary[3];
    // a hit on the very rim may be one for floats only
    if (!ray_hits(&t, r, &distance, bary)) {
        distance = (double)q.ray.tfar;
        bary[1] = (double)q.hit.u;
        bary[2] = (double)q.hit.v;
        bary[0] = 1 - bary[1] - bary[2];
    }
    return make_hit(c, tri, bary, distance);
}

// *opened false without a failure: Embree cannot be used here (an old processor, huge coordinates), and our own tree
// takes over.
static FaCode embree_open(FaClosest *c, int nvert, bool *opened, FaError *err) {
    *opened = false;
    for (size_t i = 0; i < 3 * (size_t)nvert; i++)
        if (fabsf(c->x[i]) > EMBREE_LARGE) return FA_OK;
    // one thread: trees are small, and the caller's threads are the ones the user asked for
    c->device = rtcNewDevice("threads=1,set_affinity=0");
    if (!c->device) return FA_OK;
    RTCGeometry geometry = rtcNewGeometry(c->device, RTC_GEOMETRY_TYPE_TRIANGLE);
    c->scene = rtcNewScene(c->device);
    if (geometry && c->scene) {
        rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, c->x, 0, 3 * sizeof(float),
                                   (size_t)nvert);
        rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, c->tri, 0, 3 * sizeof(int),
                                   (size_t)c->ntri);
        rtcCommitGeometry(geometry);
        rtcAttachGeometry(c->scene, geometry);
        rtcSetSceneFlags(c->scene, RTC_SCENE_FLAG_ROBUST);
        rtcCommitScene(c->scene);
    }
    if (geometry) rtcReleaseGeometry(geometry);
    enum RTCError error = rtcGetDeviceError(c->device);
    if (error == RTC_ERROR_OUT_OF_MEMORY) return FA_FAIL_MEMORY(err);
    if (error != RTC_ERROR_NONE || !c->scene)
        return FA_FAIL(err, FA_E_NUMERIC, NULL, NULL, "Embree could not build its tree (error %d)", (int)error);
    *opened = true;
    return FA_OK;
}

static void embree_close(FaClosest *c) {
    if (c->scene) rtcReleaseScene(c->scene);
    if (c->device) rtcReleaseDevice(c->device);
}

#else

static bool has_embree(const FaClosest *c) { return (void)c, false; }
static void embree_nearest(Nearest *n, const float p[3], float reach) { (void)n, (void)p, (void)reach; }
static FaHit embree_ray(const FaClosest *c, const Ray *r, const float origin[3], const float dir[3]) {
    (void)c, (void)r, (void)origin, (void)dir;
    return MISS;
}
static FaCode embree_open(FaClosest *c, int nvert, bool *opened, FaError *err) {
    (void)c, (void)nvert, (void)err;
    *opened = false;
    return FA_OK;
}
static void embree_close(FaClosest *c) { (void)c; }

#endif

// --- the calls ----------------------------------------------------------------------------------------------------

static FaCode open_tree(FaClosest *c, int nvert, bool allow_embree, FaError *err) {
    FaBox *box = FA_NEW(c->ntri, FaBox);
    if (!box) return FA_FAIL_MEMORY(err);
    int bad;
    bool opened = false;
    FaCode code = FA_OK;
    fai_triangle_boxes(c->ntri, c->tri, c->x, box, &bad);
    if (bad >= 0)
        code = FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("vertex %d", bad), "repair the vertex, or leave the frame out",
                       "the position is not a finite number");
    if (code >= 0 && allow_embree && c->ntri > 0) code = embree_open(c, nvert, &opened, err);
    if (code >= 0 && !opened) code = fai_box_tree_build(c->ntri, box, &c->tree, err);
    fa_free(box);
    return code;
}

static FaCode closest_new(const FaMesh *mesh, const float *x, bool allow_embree, FaClosest **closest, FaError *err) {
    *closest = NULL;
    FaClosest *c = FA_NEW(1, FaClosest);
    if (!c) return FA_FAIL_MEMORY(err);
    c->ntri = mesh->ntri;
    c->tri = FA_NEW(3 * (size_t)mesh->ntri, int);
    c->x = FA_NEW(3 * (size_t)mesh->nvert + 4, float);
    FaCode code = c->tri && c->x ? FA_OK : FA_FAIL_MEMORY(err);
    if (code >= 0) {
        if (!x) x = mesh->x;
        if (mesh->ntri) memcpy(c->tri, mesh->tri, 3 * (size_t)mesh->ntri * sizeof *c->tri);
        if (mesh->nvert) memcpy(c->x, x, 3 * (size_t)mesh->nvert * sizeof *c->x);
        code = open_tree(c, mesh->nvert, allow_embree, err);
    }
    if (code < 0)
        fai_closest_free(c);
    else
        *closest = c;
    return code;
}

FaCode fai_closest_new(const FaMesh *mesh, const float *x, FaClosest **closest, FaError *err) {
    return closest_new(mesh, x, true, closest, err);
}

FaCode fai_closest_new_own(const FaMesh *mesh, const float *x, FaClosest **closest, FaError *err) {
    return closest_new(mesh, x, false, closest, err);
}

void fai_closest_free(FaClosest *c) {
    if (!c) return;
    embree_close(c);
    fai_box_tree_free(&c->tree);
    fa_free(c->tri);
    fa_free(c->x);
    fa_free(c);
}

FaHit fai_closest_point(const FaClosest *c, const float p[3], float reach) {
    if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]) || !(reach >= 0)) return MISS;
    Nearest n = {.c = c, .p = {(double)p[0], (double)p[1], (double)p[2]}, .tri = -1};
    n.best2 = (double)reach * (double)reach;
    if (has_embree(c))
        embree_nearest(&n, p, reach);
    else
        own_nearest(&c->tree, &n);
    return n.tri < 0 ? MISS : make_hit(c, n.tri, n.bary, sqrt(n.best2));
}

FaHit fai_closest_ray(const FaClosest *c, const float origin[3], const float dir[3], float near, float far) {
    Ray r;
    if (!make_ray(origin, dir, near, far, &r)) return MISS;
    return has_embree(c) ? embree_ray(c, &r, origin, dir) : own_ray(c, &r);
}

typedef struct PointsJob {
    const FaClosest *closest;
    const float *p;
    float reach;
    FaHit *hits;
} PointsJob;

static void points_chunk(void *ctx, int begin, int end, int chunk) {
    const PointsJob *job = ctx;
    (void)chunk;
    for (int i = begin; i < end; i++)
        job->hits[i] = fai_closest_point(job->closest, job->p + 3 * (size_t)i, job->reach);
}

void fai_closest_points(const FaClosest *c, int n, const float *p, float reach, FaHit *hits) {
    fai_parallel(n, POINTS_PER_CHUNK, points_chunk, &(PointsJob){c, p, reach, hits});
}
