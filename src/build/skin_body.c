// Based on: thesis 001 sections 3.2, 5.1, 5.2. Constants: the prototype's.
#include "build/skin_body.h"

#include "energy/bend.h"
#include "face/region_text.h"
#include "math/mat3.h"
#include "mesh/laplacian.h"
#include "mesh/mesh.h"

#include <math.h>

static const double RIM = 36;    // the cut edge is held so much more firmly
static const double FREE = 1e-4; // of it holds what hangs free: as good as nothing, and the matrix stays regular

static FaCode add_edges(FaElastic *e, const FaTopology *topo, const double *area, double ke, FaError *err) {
    size_t n = (size_t)topo->nedge;
    e->edge = (int(*)[2])FA_PUSH(e->arena, 2 * n, int);
    e->edge_weight = FA_PUSH(e->arena, n, double);
    e->edge_weight2 = FA_PUSH(e->arena, n, double);
    if (!e->edge || !e->edge_weight || !e->edge_weight2) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n; i++) {
        int a = topo->edge[i][0], b = topo->edge[i][1];
        double d[3];
        fai_v3_sub(e->x0 + 3 * (size_t)a, e->x0 + 3 * (size_t)b, d);
        double length2 = fai_v3_dot(d, d), around = (area[a] + area[b]) / 6; // an edge's share: six meet in a vertex
        if (!(length2 > 1e-14) || !(around > 0)) continue;
        e->edge[e->nedge][0] = a;
        e->edge[e->nedge][1] = b;
        e->edge_weight[e->nedge++] = ke * around / length2;
    }
    e->biphasic = 0.1;
    return FA_OK;
}

static FaCode add_nodes(FaElastic *e, const FaFace *f, const double *area, double rho, double ks, FaError *err) {
    size_t n = (size_t)f->nskin;
    double mean = 0;
    e->nnode = e->nanchor = f->nskin;
    e->x0 = FA_PUSH(e->arena, 3 * n, double);
    e->mass = FA_PUSH(e->arena, n, double);
    e->anchor_node = FA_PUSH(e->arena, n, int);
    e->anchor_weight = FA_PUSH(e->arena, n, double);
    if (!e->x0 || !e->mass || !e->anchor_node || !e->anchor_weight) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < 3 * n; i++) e->x0[i] = (double)f->x0[i];
    for (size_t i = 0; i < n; i++) mean += area[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double a = fmax(area[i], 1e-3 * mean); // a node without area still has a place
        e->mass[i] = rho * a;
        e->anchor_node[i] = (int)i;
        const double held = fmax(1 - (double)fai_face_hangs(f, (int)i), FREE);
        e->anchor_weight[i] = ks * a * (f->rim[i] ? RIM : held);
    }
    return FA_OK;
}

FaCode fai_skin_body(const FaFace *f, const FaSkinBodyOptions *options, FaElastic *e, FaError *err) {
    static const FaSkinBodyOptions usual = {0};
    const FaSkinBodyOptions *o = options ? options : &usual;
    double rho = o->density > 0 ? o->density : 5, hz = o->frequency > 0 ? o->frequency : 10;
    double ks = rho * (2 * M_PI * hz) * (2 * M_PI * hz), le = o->edge > 0 ? o->edge : 0.004,
           lb = o->bend > 0 ? o->bend : 0.004;
    FaMesh mesh = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    FaTopology topo = {0};
    FaCsr l = {0};
    double *area = FA_NEW(f->nskin, double);
    *e = (FaElastic){.arena = fai_arena_new(0)};
    FaCode rc = area && e->arena ? fai_topology_build(&mesh, &topo, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_laplacian_build(&mesh, NULL, &l, area, NULL, err);
    if (rc >= 0) rc = add_nodes(e, f, area, rho, ks, err);
    if (rc >= 0) rc = add_edges(e, &topo, area, ks * le * le, err);
    if (rc >= 0) rc = fai_bend_rows(e, &l, area, f->rim, ks * lb * lb * lb * lb, err);
    if (rc >= 0) rc = fai_elastic_check(e, err);
    fai_csr_free(&l);
    fai_topology_free(&topo);
    fa_free(area);
    if (rc < 0) {
        fai_arena_free(e->arena);
        *e = (FaElastic){0};
    }
    return rc;
}
