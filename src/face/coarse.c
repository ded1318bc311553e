#include "face/coarse.h"

#include "math/dense.h"
#include "math/mat3.h"
#include "mesh/decimate.h"

enum { MODES = 16, GRAM_VERTS = 16384 };
static const double LIPS = 2.0, LIDS = 3.0, MOUTH = 1.0; // importance is 1 + these

// --- what the shapes do, in a few numbers ---------------------------------------------------------------------------

// Inner products of the shapes' motions over some of the patch's vertices, evenly taken.
static FaCode shape_gram(const FaRig *rig, const FaPatch *p, double *gram, FaError *err) {
    const int n = rig->nshape, step = p->nskin / GRAM_VERTS + 1, m = (p->nskin + step - 1) / step;
    float *rows = FA_NEW((size_t)n * 3 * (size_t)m, float);
    if (!rows) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < n; s++)
        for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++) {
            int node = p->node_of_vertex[rig->row[e]];
            if (node >= 0 && node % step == 0)
                memcpy(rows + 3 * ((size_t)s * (size_t)m + (size_t)(node / step)), rig->delta + 3 * (size_t)e,
                       3 * sizeof(float));
        }
    fai_gram(n, 3 * (size_t)m, rows, gram);
    fa_free(rows);
    return FA_OK;
}

// attr: the leading modes of the shapes' motion at each node, m                                   (nskin x 3 nmode)
static FaCode find_modes(const FaRig *rig, const FaPatch *p, int *nmode, float **attr, FaArena *arena, FaError *err) {
    const size_t n = (size_t)rig->nshape;
    *nmode = FA_MIN(MODES, rig->nshape);
    double *gram = FA_PUSH(arena, n * n, double), *value = FA_PUSH(arena, n, double);
    double *mode = FA_PUSH(arena, n * n, double);
    const size_t width = 3 * (size_t)*nmode;
    *attr = FA_PUSH(arena, (size_t)p->nskin * width, float);
    if (!gram || !value || !mode || !*attr) return FA_FAIL_MEMORY(err);
    FA_TRY(shape_gram(rig, p, gram, err));
    FA_TRY(fai_eigen_symmetric(rig->nshape, gram, value, mode, err));
    for (int s = 0; s < rig->nshape; s++)
        for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++) {
            int node = p->node_of_vertex[rig->row[e]];
            if (node < 0 || p->skin_vertex[node] != rig->row[e]) continue;
            for (int k = 0; k < *nmode; k++)
                for (int a = 0; a < 3; a++)
                    (*attr)[(size_t)node * width + (size_t)(3 * k + a)] +=
                        (float)mode[(size_t)k * n + (size_t)s] * rig->delta[3 * (size_t)e + (size_t)a];
        }
    return FA_OK;
}

// --- the coarse rig -------------------------------------------------------------------------------------------------

static FaCode copy_shapes(const FaRig *rig, const FaCoarse *c, const int *coarse_of, FaRig *out, FaError *err) {
    int n = 0;
    for (int e = 0; e < rig->nentry; e++) n += coarse_of[rig->row[e]] >= 0;
    out->nshape = rig->nshape;
    out->shape = FA_PUSH(c->arena, rig->nshape, FaShape);
    out->weight = FA_PUSH(c->arena, rig->nshape, float);
    out->row = FA_PUSH(c->arena, n, int);
    out->delta = FA_PUSH(c->arena, 3 * (size_t)n, float);
    if (!out->shape || !out->weight || !out->row || !out->delta) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < rig->nshape; s++) {
        const FaShape *from = &rig->shape[s];
        FaShape *to = &out->shape[s];
        *to = *from;
        to->name = fai_arena_strndup(c->arena, from->name, strlen(from->name));
        if (!to->name) return FA_FAIL_MEMORY(err);
        to->first = out->nentry;
        for (int e = from->first; e < from->first + from->count; e++) {
            int v = coarse_of[rig->row[e]];
            if (v < 0) continue;
            out->row[out->nentry] = v;
            memcpy(out->delta + 3 * (size_t)out->nentry++, rig->delta + 3 * (size_t)e, 3 * sizeof(float));
        }
        to->count = out->nentry - to->first;
        out->weight[s] = rig->weight[s];
    }
    return FA_OK;
}

// Vertices keep their order, so rows stay sorted. tri: over the patch's nodes.
static FaCode make_rig(const FaRig *rig, FaCoarse *c, const int *coarse_of, int ntri, const int *tri, const int *node,
                       FaError *err) {
    FaRig *out = c->rig;
    FaMesh *m = &out->mesh;
    m->nface = m->ntri = ntri;
    m->x = FA_PUSH(c->arena, 3 * (size_t)m->nvert, float);
    m->tri = FA_PUSH(c->arena, 3 * (size_t)ntri, int);
    m->face_vert = FA_PUSH(c->arena, 3 * (size_t)ntri, int);
    m->face_start = FA_PUSH(c->arena, ntri + 1, int);
    m->tri_face = FA_PUSH(c->arena, ntri, int);
    if (!m->x || !m->tri || !m->face_vert || !m->face_start || !m->tri_face) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < m->nvert; v++) memcpy(m->x + 3 * (size_t)v, rig->mesh.x + 3 * (size_t)c->vertex[v], 12);
    for (size_t i = 0; i < 3 * (size_t)ntri; i++) m->tri[i] = m->face_vert[i] = coarse_of[node[tri[i]]];
    for (int t = 0; t <= ntri; t++) m->face_start[t] = 3 * t;
    for (int t = 0; t < ntri; t++) m->tri_face[t] = t;
    memcpy(out->local, rig->local, sizeof out->local);
    memcpy(out->axes, rig->axes, sizeof out->axes);
    out->unit = rig->unit;
    out->file_unit = rig->file_unit;
    out->unit_how = out->axes_how = "as in the full rig";
    out->name = out->path = "";
    return copy_shapes(rig, c, coarse_of, out, err);
}

static FaCode choose(const FaRig *rig, const FaPatch *p, const float *const *region, int target, FaCoarse *c,
                     FaArena *scratch, FaError *err) {
    const size_t n = (size_t)p->nskin;
    FaDecimateInput in = {.nvert = p->nskin, .ntri = p->ntri, .tri = p->tri, .target = target};
    float *x = FA_PUSH(scratch, 3 * n, float), *importance = FA_PUSH(scratch, n, float), *attr;
    int *home = FA_PUSH(scratch, n, int), *tri = FA_PUSH(scratch, 3 * (size_t)p->ntri, int), ntri, left, nmode;
    int *coarse_of = FA_PUSH(scratch, rig->mesh.nvert, int);
    if (!x || !importance || !home || !tri || !coarse_of) return FA_FAIL_MEMORY(err);
    FA_TRY(find_modes(rig, p, &nmode, &attr, scratch, err));
    for (size_t i = 0; i < n; i++) {
        memcpy(x + 3 * i, rig->mesh.x + 3 * (size_t)p->skin_vertex[i], 12);
        double lips = region ? (double)FA_MAX(region[FA_REGION_LIP_UPPER][i], region[FA_REGION_LIP_LOWER][i]) : 0;
        double lids = region ? (double)region[FA_REGION_EYELIDS][i] : 0;
        double mouth = region ? (double)region[FA_REGION_MOUTH][i] : 0;
        importance[i] = (float)(1 + fmax(LIPS * lips, fmax(LIDS * lids, MOUTH * mouth)));
    }
    in.x = x;
    in.importance = importance;
    in.attr = attr;
    in.nattr = 3 * nmode;
    FA_TRY(fai_decimate(&in, home, tri, &ntri, &left, err));
    c->nvert = rig->mesh.nvert;
    c->vertex = FA_PUSH(c->arena, left, int);
    c->home = FA_PUSH(c->arena, c->nvert, int);
    if (!c->vertex || !c->home) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < c->nvert; v++) {
        int node = p->node_of_vertex[v];
        coarse_of[v] = -1;
        if (node < 0 || p->skin_vertex[node] != v || home[node] != node) continue;
        coarse_of[v] = c->rig->mesh.nvert;
        c->vertex[c->rig->mesh.nvert++] = v;
    }
    for (int v = 0; v < c->nvert; v++) {
        int node = p->node_of_vertex[v];
        c->home[v] = node < 0 ? -1 : coarse_of[p->skin_vertex[home[node]]];
    }
    return make_rig(rig, c, coarse_of, ntri, tri, p->skin_vertex, err);
}

FaCode fai_coarse_new(const FaRig *rig, const FaPatch *patch, const float *const *region, int target, FaCoarse *c,
                      FaError *err) {
    *c = (FaCoarse){0};
    FaArena *scratch = fai_arena_new(0);
    c->rig = FA_NEW(1, FaRig);
    if (c->rig) c->rig->arena = c->arena = fai_arena_new(0);
    FaCode rc = scratch && c->rig && c->arena ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = choose(rig, patch, region, target, c, scratch, err);
    if (rc >= 0) rc = fa_rig_check(c->rig, err);
    if (rc >= 0) rc = fai_topology_build(&c->rig->mesh, &c->topo, err);
    fai_arena_free(scratch);
    if (rc < 0) fai_coarse_free(c);
    return rc;
}

void fai_coarse_free(FaCoarse *c) {
    fai_topology_free(&c->topo);
    fa_rig_free(c->rig); // its arena is the one of all
    *c = (FaCoarse){0};
}

// --- back to the full rig -------------------------------------------------------------------------------------------

FaCode fai_coarse_lift(const FaCoarse *c, const FaRig *rig, int full_part, FaArena *arena, FaPatch *p, FaError *err) {
    p->node_of_vertex = FA_PUSH(arena, c->nvert, int);
    if (!p->node_of_vertex) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < c->nvert; v++) p->node_of_vertex[v] = -1;
    for (int i = 0; i < p->nskin; i++) p->skin_vertex[i] = c->vertex[p->skin_vertex[i]];
    for (int i = 0; i < p->nskin; i++) p->node_of_vertex[p->skin_vertex[i]] = i;
    for (int v = 0; v < c->nvert; v++) p->node_of_vertex[v] = p->node_of_vertex[fai_weld(&rig->mesh, v)];
    p->part = full_part;
    return FA_OK;
}

// Weights of the point of a triangle below q, pulled to its inside; the squared distance to it.
static double onto(const float *x, const int t[3], const double q[3], double bary[3]) {
    double a[3], u[3], v[3], d[3], p[3], sum = 0;
    fai_v3_load(x, t[0], a);
    fai_v3_load(x, t[1], u);
    fai_v3_load(x, t[2], v);
    fai_v3_sub(u, a, u);
    fai_v3_sub(v, a, v);
    fai_v3_sub(q, a, d);
    double uu = fai_v3_dot(u, u), uv = fai_v3_dot(u, v), vv = fai_v3_dot(v, v), ud = fai_v3_dot(u, d),
           vd = fai_v3_dot(v, d);
    double det = uu * vv - uv * uv;
    bary[1] = det > 0 ? (vv * ud - uv * vd) / det : 0;
    bary[2] = det > 0 ? (uu * vd - uv * ud) / det : 0;
    bary[0] = 1 - bary[1] - bary[2];
    for (int k = 0; k < 3; k++) sum += bary[k] = fmax(bary[k], 0);
    for (int k = 0; k < 3; k++) bary[k] /= sum;
    for (int k = 0; k < 3; k++) p[k] = a[k] + bary[1] * u[k] + bary[2] * v[k] - q[k];
    return fai_v3_dot(p, p);
}

// The nearest triangle among those of node i and of its neighbours.
static void ride_near(const FaFace *f, const int *start, const int *list, int i, const float *at, int *ride,
                      float *weight) {
    double q[3], best = INFINITY, bary[3];
    fai_v3_load(at, 0, q);
    for (int e = start[i]; e < start[i + 1]; e++)
        for (int k = 0; k < 3; k++) {
            int j = f->tri[3 * (size_t)list[e] + (size_t)k];
            for (int g = start[j]; g < start[j + 1]; g++) {
                const int *t = f->tri + 3 * (size_t)list[g];
                double d = onto(f->x0, t, q, bary);
                if (!(d < best)) continue;
                best = d;
                for (int m = 0; m < 3; m++) ride[m] = t[m], weight[m] = (float)bary[m];
            }
        }
}

FaCode fai_coarse_ride(const FaCoarse *c, const FaRig *rig, FaFace *f, FaError *err) {
    int *start = FA_NEW(f->nskin + 2, int), *list = FA_NEW(3 * (size_t)f->ntri, int);
    if (!start || !list) {
        fa_free(start);
        fa_free(list);
        return FA_FAIL_MEMORY(err);
    }
    for (size_t k = 0; k < 3 * (size_t)f->ntri; k++) start[f->tri[k] + 2]++;
    for (int i = 1; i <= f->nskin; i++) start[i + 1] += start[i];
    for (size_t k = 0; k < 3 * (size_t)f->ntri; k++) list[start[f->tri[k] + 1]++] = (int)(k / 3);
    for (int v = 0; v < c->nvert; v++) {
        if (c->home[v] < 0 || f->node_of_vertex[v] >= 0) continue;
        int node = f->node_of_vertex[c->vertex[c->home[v]]];
        // where no flesh fits below the vertex it went into, a neighbour's will do
        const FaTopology *t = &c->topo;
        for (int e = t->around_start[c->home[v]]; node < 0 && e < t->around_start[c->home[v] + 1]; e++)
            node = f->node_of_vertex[c->vertex[t->around[e]]];
        if (node >= 0)
            ride_near(f, start, list, node, rig->mesh.x + 3 * (size_t)v, f->ride_node + 3 * (size_t)v,
                      f->ride_weight + 3 * (size_t)v);
    }
    fa_free(start);
    fa_free(list);
    return FA_OK;
}
