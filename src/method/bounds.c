// A frame is compared with the rig's own surface at the same weights (linear), e = x - linear:
//
//     far     |e| > FAR of the head's size (all of it where skin hangs free) + how far the rig itself moves the vertex
//     torn    an edge longer than TORN times its linear length, or its length at rest where the rig has it crushed
//
// An edge can only be torn where an end has left its linear place by more than a third of the edge's length at rest:
// one pass over the vertices settles nearly all of them. What is beyond is scaled, x' = linear + keep e, with keep
// rising evenly to 1 over RINGS edges around it; where that tears another edge, again with less. The last resort is
// linear. Methods without a face cost less than linear blending: for them only what is too far for any sum of their
// weights' shapes is compared at all.
#include "method/bounds.h"

#include "base/task.h"
#include "face/face.h"
#include "face/region_text.h"
#include "mesh/mesh.h"

#include <math.h>

static const double FAR = 0.1, TINY = 1.2e-3; // of the head's size; what is smaller than TINY cannot tear
static const double TORN = 3;                 // of an edge's length
static const double WILD = 0.25;              // of the head's size
static const double MOST = 1e4;               // a weight beyond this is none
enum { RINGS = 6, ROUNDS = 12, VERTICES = 2048 };

struct FaBounds {
    const FaRig *rig;
    FaTopology topo;
    FaBlender *blender;
    double size;    // m: of what the shapes move
    bool wild;      // a shape goes farther than any of a face does: nothing of it is taken on trust
    float *loose;   // 0..1: how much of a vertex hangs free; NULL: nothing does            (nvert)
    float *reach;   // m2: no edge of a vertex closer to its linear place is torn          (nvert)
    float *most;    // m: of the shapes: the farthest that a vertex goes                   (nshape)
    float *weights; // that were numbers                                                   (nshape)
    float *sane;    // of fai_bounds_weights                                               (nshape)
    float *linear;  // (nvert x 3)
    float *made;    // the frame as the method made it                                     (nvert x 3)
    float *keep;    // (nvert)
    bool *bad;      // of chunks of vertices
};

typedef struct Frame {
    const FaBounds *b;
    const float *linear, *x;
} Frame;

static double distance(const float *a, const float *b) {
    double d[3];
    for (int k = 0; k < 3; k++) d[k] = (double)a[k] - (double)b[k];
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

static const float *at(const float *x, int v) { return x + 3 * (size_t)v; }

static bool is_point(const float *x) { return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]); }

// --- opening ------------------------------------------------------------------------------------------------------

static double head_size(const FaRig *rig) {
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t i = 0; i < rig->nentry; i++)
        for (int k = 0; k < 3; k++) {
            lo[k] = fminf(lo[k], rig->mesh.x[3 * (size_t)rig->row[i] + (size_t)k]);
            hi[k] = fmaxf(hi[k], rig->mesh.x[3 * (size_t)rig->row[i] + (size_t)k]);
        }
    double size = rig->nentry ? distance(lo, hi) : 0;
    return isfinite(size) && size > 0.01 ? size : 0.25; // few vertices move, or none
}

static void measure(FaBounds *b) {
    const FaRig *rig = b->rig;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        double least = TORN * FAR * b->size;
        for (int n = b->topo.around_start[v]; n < b->topo.around_start[v + 1]; n++)
            least = fmin(least, distance(at(rig->mesh.x, v), at(rig->mesh.x, b->topo.around[n])));
        least = fmax(least, TINY * b->size) / TORN;
        b->reach[v] = (float)(least * least);
    }
    for (int s = 0; s < rig->nshape; s++)
        for (int64_t i = rig->shape[s].first; i < rig->shape[s].first + rig->shape[s].count; i++) {
            const float *d = rig->delta + 3 * i;
            b->most[s] = fmaxf(b->most[s], fmaxf(fmaxf(fabsf(d[0]), fabsf(d[1])), fabsf(d[2])));
        }
    for (int s = 0; s < rig->nshape; s++) b->wild |= (double)b->most[s] > WILD * b->size;
}

// By the face's regions; vertices that are no nodes of it take the most of their neighbours.
static FaCode find_loose(FaBounds *b, const FaFace *f, FaError *err) {
    const int n = b->rig->mesh.nvert;
    bool any = false;
    for (int i = 0; f && i < f->nskin; i++) any |= fai_face_hangs(f, i) > 0;
    if (!any || f->nvert != n) return FA_OK;
    if (!(b->loose = FA_NEW(n, float))) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < n; v++)
        if (f->node_of_vertex[v] >= 0) b->loose[v] = fai_face_hangs(f, f->node_of_vertex[v]);
    for (int pass = 0; pass < RINGS; pass++)
        for (int v = 0; v < n; v++)
            for (int k = b->topo.around_start[v]; f->node_of_vertex[v] < 0 && k < b->topo.around_start[v + 1]; k++)
                b->loose[v] = fmaxf(b->loose[v], b->loose[b->topo.around[k]]);
    return FA_OK;
}

FaCode fai_bounds_new(const FaRig *rig, const FaFace *face, FaBounds **bounds, FaError *err) {
    *bounds = NULL;
    FaBounds *b = FA_NEW(1, FaBounds);
    if (!b) return FA_FAIL_MEMORY(err);
    size_t n = (size_t)rig->mesh.nvert + 1, shapes = (size_t)rig->nshape + 1;
    b->rig = rig;
    b->size = head_size(rig);
    FaCode rc = fai_topology_build(&rig->mesh, &b->topo, err);
    if (rc >= 0) rc = find_loose(b, face, err);
    if (rc >= 0) rc = fa_blender_new(rig, &b->blender, err);
    if (rc >= 0 &&
        !((b->reach = FA_NEW(n, float)) && (b->most = FA_NEW(shapes, float)) && (b->weights = FA_NEW(shapes, float)) &&
          (b->sane = FA_NEW(shapes, float)) && (b->linear = FA_NEW(3 * n, float)) && (b->made = FA_NEW(3 * n, float)) &&
          (b->keep = FA_NEW(n, float)) && (b->bad = FA_NEW(fai_chunks(rig->mesh.nvert, VERTICES) + 1, bool))))
        rc = FA_FAIL_MEMORY(err);
    if (rc < 0) {
        fai_bounds_free(b);
        return rc;
    }
    measure(b);
    *bounds = b;
    return FA_OK;
}

void fai_bounds_free(FaBounds *b) {
    if (!b) return;
    fai_topology_free(&b->topo);
    fa_blender_free(b->blender);
    void *all[] = {b->reach, b->most, b->weights, b->sane, b->linear, b->made, b->keep, b->bad, b->loose};
    for (int i = 0; i < FA_COUNT(all); i++) fa_free(all[i]);
    fa_free(b);
}

// --- what is beyond -----------------------------------------------------------------------------------------------

static double longest(const FaBounds *b, const float *linear, int i, int j) {
    double rest = distance(at(b->rig->mesh.x, i), at(b->rig->mesh.x, j)), now = distance(at(linear, i), at(linear, j));
    double own = fmax(rest, TORN * now); // the rig's own surface may have it crushed
    return fmax(own, TORN * TINY * b->size);
}

static double farthest(const FaBounds *b, const float *linear, int v) {
    const double share = b->loose ? FAR + (1 - FAR) * (double)b->loose[v] : FAR;
    return share * b->size + distance(at(linear, v), at(b->rig->mesh.x, v));
}

static bool is_torn(const FaBounds *b, const float *linear, const float *x, int i, int j) {
    return distance(at(x, i), at(x, j)) > longest(b, linear, i, j);
}

static void look(void *ctx, int begin, int end, int chunk) {
    const Frame *f = ctx;
    const FaBounds *b = f->b;
    bool bad = false;
    for (int v = begin; v < end && !bad; v++) {
        const float *x = at(f->x, v), *to = at(f->linear, v);
        float d[3] = {x[0] - to[0], x[1] - to[1], x[2] - to[2]}, square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if (square <= b->reach[v]) continue;
        bad = !is_point(x) || distance(x, to) > farthest(b, f->linear, v);
        for (int n = b->topo.around_start[v]; n < b->topo.around_start[v + 1] && !bad; n++)
            bad = is_torn(b, f->linear, f->x, v, b->topo.around[n]);
    }
    b->bad[chunk] = bad;
}

static bool is_beyond(FaBounds *b, const float *linear, const float *x) {
    bool bad = false;
    fai_parallel(b->rig->mesh.nvert, VERTICES, look, &(Frame){b, linear, x});
    for (int c = 0; c < fai_chunks(b->rig->mesh.nvert, VERTICES); c++) bad |= b->bad[c];
    return bad;
}

// Without the rig's surface: can any sum of these weights' shapes be so far away?
static bool may_be_beyond(const FaBounds *b, const float *x) {
    float reach = (float)(FAR * b->size);
    size_t n = 3 * (size_t)b->rig->mesh.nvert;
    for (int s = 0; s < b->rig->nshape; s++) reach += 2 * fabsf(b->weights[s]) * b->most[s];
    const float *rest = b->rig->mesh.x;
    bool odd = false;
    for (size_t i = 0; i < n; i++) { odd |= !(fabsf(x[i] - rest[i]) <= reach); }
    return odd;
}

// --- back towards linear ------------------------------------------------------------------------------------------

// The most of its way that a vertex may keep by itself, and its edges.
static void start(FaBounds *b, const float *linear) {
    for (int v = 0; v < b->rig->mesh.nvert; v++) {
        double d = distance(at(b->made, v), at(linear, v)), limit = farthest(b, linear, v);
        b->keep[v] = !isfinite(d) ? 0 : d > limit ? (float)(limit / d) : 1;
    }
}

// Lowers keep where an edge is torn; how many are.
static int mend(FaBounds *b, const float *linear, const float *x, float share) {
    int torn = 0;
    for (int e = 0; e < b->topo.nedge; e++) {
        int i = b->topo.edge[e][0], j = b->topo.edge[e][1];
        if (!is_torn(b, linear, x, i, j)) continue;
        b->keep[i] = b->keep[j] = share * fminf(b->keep[i], b->keep[j]);
        torn++;
    }
    return torn;
}

// Neighbours differ by 1 / RINGS at most.
static void spread(FaBounds *b) {
    const int n = b->rig->mesh.nvert;
    for (int pass = 0; pass < 2 * RINGS; pass++)
        for (int i = 0; i < n; i++) {
            int v = pass % 2 ? n - 1 - i : i;
            for (int k = b->topo.around_start[v]; k < b->topo.around_start[v + 1]; k++)
                b->keep[v] = fminf(b->keep[v], b->keep[b->topo.around[k]] + 1.0f / RINGS);
        }
    for (int v = 0; v < n; v++) b->keep[v] = fminf(b->keep[v], b->keep[fai_weld(&b->rig->mesh, v)]);
}

static void blend(const FaBounds *b, const float *linear, float *x) {
    for (int v = 0; v < b->rig->mesh.nvert; v++)
        for (int k = 0; k < 3; k++) {
            size_t i = 3 * (size_t)v + (size_t)k;
            float g = b->keep[v];
            x[i] = g == 1 ? b->made[i] : g == 0 ? linear[i] : linear[i] + g * (b->made[i] - linear[i]);
        }
}

static void limit(FaBounds *b, const float *linear, float *x, FaStats *stats) {
    int n = b->rig->mesh.nvert;
    memcpy(b->made, x, 3 * (size_t)n * sizeof *x);
    start(b, linear);
    for (int round = 0; round < ROUNDS; round++) {
        if (!mend(b, linear, x, 0.6f) && round > 0) break;
        if (round == ROUNDS - 1) memset(b->keep, 0, (size_t)n * sizeof *b->keep);
        spread(b);
        blend(b, linear, x);
    }
    for (int v = 0; v < n; v++) {
        double d = distance(at(b->made, v), at(linear, v));
        stats->limited += b->keep[v] < 1;
        stats->worst = fmax(stats->worst, isfinite(d) ? d : 1e3);
    }
    stats->clamped++;
}

// --- a frame ------------------------------------------------------------------------------------------------------

static const float *linear_of(FaBounds *b, const FaMethod *m, const float *x) {
    if (m->ops->linear) return m->ops->linear(m);
    if (!m->ops->needs && !b->wild && !may_be_beyond(b, x)) return NULL;
    fa_blender_eval(b->blender, b->weights, b->linear);
    return b->linear;
}

static bool is_finite(const FaBounds *b, const float *x) {
    for (int v = 0; v < b->rig->mesh.nvert; v++)
        if (!is_point(at(x, v))) return false;
    return true;
}

static FaCode bring_back(FaBounds *b, FaMethod *m, const FaInput *in, const float *linear, float *surface,
                         FaStats *stats, FaError *err) {
    bool lost = !is_finite(b, surface);
    limit(b, linear, surface, stats);
    if (!lost && m->ops->limited) m->ops->limited(m, b->keep);
    if (!lost) return FA_OK;
    // a state with what is no number in it is not worth keeping
    memcpy(b->made, surface, 3 * (size_t)b->rig->mesh.nvert * sizeof *surface);
    FA_TRY(m->ops->reset(m, in, surface, err));
    memcpy(surface, b->made, 3 * (size_t)b->rig->mesh.nvert * sizeof *surface);
    return FA_OK;
}

const float *fai_bounds_weights(FaBounds *b, const float *weights, FaStats *stats) {
    int n = weights ? b->rig->nshape : 0, odd = 0;
    for (int s = 0; s < n; s++) odd += isfinite(weights[s]) && fabs((double)weights[s]) > MOST;
    if (!odd) return weights;
    for (int s = 0; s < n; s++) b->sane[s] = fabs((double)weights[s]) > MOST ? NAN : weights[s];
    stats->limited += odd;
    return b->sane;
}

FaCode fai_bounds_check(FaBounds *b, FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    FaInput found = *in; // markers drive without weights: those that were found in them
    if (m->ops->found) m->ops->found(m, &found);
    for (int s = 0; found.weights && s < b->rig->nshape; s++)
        if (isfinite(found.weights[s])) b->weights[s] = found.weights[s];
    const float *linear = linear_of(b, m, surface);
    if (!linear || !is_beyond(b, linear, surface) || !is_finite(b, linear)) return FA_OK;
    return bring_back(b, m, in, linear, surface, stats, err);
}
