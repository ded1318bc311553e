// A face whose flesh is filled: built with prisms, then these are replaced (filled.h). Nodes: the skin's, those inside
// in the mesher's order, then, where a skin node is the corner of no tet ("lost": thin lids, folds), the deep ends of
// the prisms around it, which stay there. What nothing holds in the end is left out as shapes' folds are (leave_out.h).
#include "build/filled.h"
#include "face/leave_out.h"
#include "mesh/closest.h"
#include "mesh/mesh.h"

#include <math.h>

static const float HELD = 0.5f; // attachment from which the deep end of a prism is bone

typedef struct Fill {
    FaFace *face; // with prisms of one layer
    FaFilled filled;
    int *node_of_filled; // its new number                                       (filled.nnode)
    int *node_of_deep;   // of the deep end below a skin node, -1: gone          (nskin)
    int nnode, ntet, lost;
    float *x;
    int *tet, *above;
    unsigned char *carrier;
} Fill;

// Does a prism stay? It is below a triangle with a lost corner.
static bool stays(const Fill *w, int tri) {
    const int *v = w->face->tri + 3 * (size_t)tri;
    return w->filled.node_of_skin[v[0]] < 0 || w->filled.node_of_skin[v[1]] < 0 || w->filled.node_of_skin[v[2]] < 0;
}

static FaCode number(Fill *w, FaError *err) {
    const FaFace *f = w->face;
    const FaFilled *g = &w->filled;
    w->node_of_filled = FA_NEW(g->nnode, int);
    w->node_of_deep = FA_NEW(f->nskin, int);
    if (!w->node_of_filled || !w->node_of_deep) return FA_FAIL_MEMORY(err);
    w->nnode = f->nskin, w->ntet = g->ntet;
    for (int i = 0; i < g->nnode; i++) w->node_of_filled[i] = g->skin_of_node[i] >= 0 ? g->skin_of_node[i] : w->nnode++;
    for (int s = 0; s < f->nskin; s++) w->node_of_deep[s] = -1, w->lost += g->node_of_skin[s] < 0;
    for (int t = 0; t < f->ntri; t++) {
        if (!stays(w, t)) continue;
        w->ntet += 3;
        for (int k = 0; k < 3; k++) w->node_of_deep[f->tri[3 * (size_t)t + (size_t)k]] = 0;
    }
    for (int s = 0; s < f->nskin; s++)
        if (w->node_of_deep[s] == 0) w->node_of_deep[s] = w->nnode++;
    return FA_OK;
}

static void place(Fill *w) {
    const FaFace *f = w->face;
    const FaFilled *g = &w->filled;
    memcpy(w->x, f->x0, 3 * (size_t)f->nskin * sizeof(float));
    for (int i = 0; i < g->nnode; i++) {
        const int to = w->node_of_filled[i];
        if (to < f->nskin) continue;
        memcpy(w->x + 3 * (size_t)to, g->x + 3 * (size_t)i, 3 * sizeof(float));
        w->carrier[to] = g->kind[i]; // FaFilledKind and FaCarrier are the same numbers
    }
    for (int s = 0; s < f->nskin; s++) {
        const int to = w->node_of_deep[s];
        if (to < 0) continue;
        memcpy(w->x + 3 * (size_t)to, f->x0 + 3 * (size_t)(f->nskin + s), 3 * sizeof(float));
        w->carrier[to] = f->rim[s] || f->to_skull[s] >= HELD ? FA_CARRIER_SKULL
                         : f->to_jaw[s] >= HELD              ? FA_CARRIER_JAW
                                                             : FA_CARRIER_NONE;
    }
    memcpy(w->tet, g->tet, 4 * (size_t)g->ntet * sizeof(int));
    for (size_t k = 0; k < 4 * (size_t)g->ntet; k++) w->tet[k] = w->node_of_filled[w->tet[k]];
    int *out = w->tet + 4 * (size_t)g->ntet;
    for (int t = 0; t < f->ntri; t++)
        for (size_t k = 12 * (size_t)t; k < 12 * (size_t)(t + 1) && stays(w, t); k++)
            *out++ = f->tet[k] < f->nskin ? f->tet[k] : w->node_of_deep[f->tet[k] - f->nskin];
}

// The nearest corner of the nearest triangle of the skin.
static FaCode find_above(Fill *w, FaError *err) {
    const FaFace *f = w->face;
    const FaMesh skin = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    FaClosest *near = NULL;
    FA_TRY(fai_closest_new_own(&skin, NULL, &near, err));
    for (int i = 0; i < w->nnode; i++) {
        w->above[i] = i;
        if (i < f->nskin) continue;
        FaHit hit = fai_closest_point(near, w->x + 3 * (size_t)i, INFINITY);
        const int best = hit.bary[0] >= hit.bary[1] && hit.bary[0] >= hit.bary[2] ? 0
                         : hit.bary[1] >= hit.bary[2]                             ? 1
                                                                                  : 2;
        w->above[i] = hit.tri < 0 ? 0 : f->tri[3 * (size_t)hit.tri + (size_t)best];
    }
    for (int s = 0; s < f->nskin; s++)
        if (w->node_of_deep[s] >= 0) w->above[w->node_of_deep[s]] = s;
    fai_closest_free(near);
    return FA_OK;
}

// Parts that nothing holds go, and skin that is left without flesh.
static FaCode settle(FaFace *f, FaError *err) {
    unsigned char *out = FA_NEW(f->ntet, unsigned char);
    int *node = FA_NEW(f->nnode, int), count = 0, before = f->ntri;
    FaCode rc = out && node ? fai_leave_out_more(f, out, &count, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0 && count) rc = fai_leave_out(f, out, node, err);
    fa_free(out);
    fa_free(node);
    if (rc >= 0)
        fai_note_count(&f->notes, before - f->ntri, "flesh-left-out", "", NULL,
                       "%d triangles have no flesh below them that anything holds: they follow the shapes alone",
                       before - f->ntri);
    return rc;
}

static FaCode replace(Fill *w, double density, FaError *err) {
    FaFace *f = w->face;
    FA_TRY(number(w, err));
    const size_t n = (size_t)w->nnode;
    w->x = FA_PUSH(f->arena, 3 * n, float);
    w->tet = FA_PUSH(f->arena, 4 * (size_t)w->ntet, int);
    w->above = FA_PUSH(f->arena, n, int);
    w->carrier = FA_PUSH(f->arena, n, unsigned char);
    float *mass = FA_PUSH(f->arena, n, float);
    if (!w->x || !w->tet || !w->above || !w->carrier || !mass) return FA_FAIL_MEMORY(err);
    place(w);
    FA_TRY(find_above(w, err));
    f->x0 = w->x, f->tet = w->tet, f->above = w->above, f->carrier = w->carrier, f->mass = mass;
    f->nnode = w->nnode, f->ntet = w->ntet, f->layers = 0;
    FA_TRY(fai_face_weigh(f, density, err));
    w->filled.report.lost = 0; // they are not: said below
    fai_filled_notes(&w->filled, &f->notes);
    fai_note_count(&f->notes, w->lost, "flesh-thin", "", NULL,
                   "%d of %d vertices of the skin are at no piece of filled flesh: a layer lies below them", w->lost,
                   f->nskin);
    FA_TRY(settle(f, err));
    return fai_face_check(f, err);
}

FaCode fa_face_build(const FaRig *rig, const FaFaceOptions *options, FaFace **face, FaError *err) {
    if (!options || !options->filled) return fai_face_build_prisms(rig, options, face, err);
    FaFaceOptions one = *options;
    one.layers = 1;
    FA_TRY(fai_face_build_prisms(rig, &one, face, err));
    Fill w = {.face = *face};
    const FaFilledOptions how = {.size = options->flesh_size};
    FaCode rc = fai_filled_build(rig, *face, &how, &w.filled, err);
    if (rc >= 0) rc = replace(&w, options->density > 0 ? options->density : fa_face_options_default().density, err);
    fai_filled_free(&w.filled);
    fa_free(w.node_of_filled);
    fa_free(w.node_of_deep);
    if (rc < 0) {
        fa_face_free(*face);
        *face = NULL;
        return fai_fail_in(err, rc, rig->path ? rig->path : "");
    }
    return FA_OK;
}
