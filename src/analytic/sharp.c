// Lids and lips that keep the clip's own timing. A lid that closes a frame late, or past its end, reads as a mistake;
// so does a B or P whose lips do not meet. Chin, cheeks and jowls may swing.
#include "analytic/sharp.h"

#include "face/patch.h"
#include "face/regions.h"
#include "math/mat3.h"
#include "mesh/closest.h"
#include "rig/mean_head.h"

#include <math.h>

// How far the change from sharp to soft reaches over the skin, m on a head of usual size: wide around the lips, whose
// jaw moves by centimetres, and narrow around lids, where brows and cheeks begin.
static const double LIP_REACH = 0.016, LID_REACH = 0.008;

typedef struct Find {
    const FaRig *rig;
    FaTopology topo;
    FaPatch skin;
    float *region[FA_REGIONS]; // of the nodes                              (nskin)
    float *node;               // result of the nodes                       (nskin)
    double size;
    FaArena *arena;
    FaNotes *notes;
    FaError *err;
} Find;

// Spread a region over the skin: 1 in it, 0 at `reach` from it along edges, straight between. Kept where it is more.
static FaCode spread(Find *f, const float *region, double reach) {
    const int nvert = f->rig->mesh.nvert;
    double *dist = FA_PUSH(f->arena, nvert, double);
    if (!dist) return FA_FAIL_MEMORY(f->err);
    for (int v = 0; v < nvert; v++) dist[v] = INFINITY;
    bool any = false;
    for (int i = 0; i < f->skin.nskin; i++) {
        if (region[i] <= 0) continue;
        any = true;
        dist[f->skin.skin_vertex[i]] = (1 - (double)region[i]) * reach;
    }
    if (!any) return FA_OK;
    FA_TRY(fai_spread_min(nvert, f->topo.around_start, f->topo.around, f->rig->mesh.x, 1, dist, f->err));
    for (int i = 0; i < f->skin.nskin; i++) {
        double u = fmin(1, fmax(0, 1 - dist[f->skin.skin_vertex[i]] / reach));
        u = (u * u * (3 - 2 * u)) * (1 - (double)f->region[FA_REGION_CHEEKS][i]);
        f->node[i] = fmaxf(f->node[i], (float)u);
    }
    return FA_OK;
}

static bool empty(const float *region, int n) {
    for (int i = 0; i < n; i++)
        if (region[i] > 0.5f) return false;
    return true;
}

static void note_missing(const Find *f) {
    bool lids = !empty(f->region[FA_REGION_EYELIDS], f->skin.nskin),
         lips = !empty(f->region[FA_REGION_LIP_UPPER], f->skin.nskin);
    if (lids && lips) return;
    fai_note(f->notes, "soft-everywhere", "", "name eyeBlink and jawOpen in a names file, or give --maps",
             "%s not found: %s soft as the rest is",
             lids   ? "lips are"
             : lips ? "lids are"
                    : "lids and lips are",
             lids || lips ? "there the motion is as" : "all of the face is as");
}

// Beside lips and cheeks two neighbours may take after skin that is far apart: no change is steeper than around lips.
static FaCode soften(Find *f, float *sharp) {
    const FaMesh *mesh = &f->rig->mesh;
    const double reach = LIP_REACH * f->size;
    double *dist = FA_PUSH(f->arena, mesh->nvert, double);
    if (!dist) return FA_FAIL_MEMORY(f->err);
    for (int v = 0; v < mesh->nvert; v++) dist[v] = INFINITY;
    for (int v = 0; v < mesh->nvert; v++) {
        int w = fai_weld(mesh, v);
        dist[w] = fmin(dist[w], (1 - (double)sharp[v]) * reach);
    }
    FA_TRY(fai_spread_min(mesh->nvert, f->topo.around_start, f->topo.around, mesh->x, 1, dist, f->err));
    for (int v = 0; v < mesh->nvert; v++) {
        int w = fai_weld(mesh, v);
        if (f->topo.part[w] != f->skin.part) sharp[v] = (float)fmin(1, fmax(0, 1 - dist[w] / reach));
    }
    return FA_OK;
}

// Other parts of the mesh take after the skin beside them: brows and beards what they sit on. A part that is by most of
// it in the mouth or behind the lids is teeth, tongue or eye, and all of it is sharp.
static FaCode other_parts(Find *f, float *sharp) {
    const FaMesh *mesh = &f->rig->mesh;
    const int nparts = f->topo.nparts;
    double *sum = FA_PUSH(f->arena, nparts, double);
    int *count = FA_PUSH(f->arena, nparts, int);
    float *x = FA_PUSH(f->arena, 3 * (size_t)f->skin.nskin, float);
    if (!sum || !count || !x) return FA_FAIL_MEMORY(f->err);
    for (int i = 0; i < f->skin.nskin; i++)
        memcpy(x + 3 * (size_t)i, mesh->x + 3 * (size_t)f->skin.skin_vertex[i], 3 * sizeof *x);
    FaClosest *near;
    FA_TRY(fai_closest_new(&(FaMesh){.nvert = f->skin.nskin, .x = x, .ntri = f->skin.ntri, .tri = f->skin.tri}, NULL,
                           &near, f->err));
    for (int v = 0; v < mesh->nvert; v++) {
        int part = f->topo.part[fai_weld(mesh, v)];
        if (part < 0 || part == f->skin.part) continue;
        FaHit hit = fai_closest_point(near, mesh->x + 3 * (size_t)v, INFINITY);
        if (hit.tri < 0) continue;
        const int *t = f->skin.tri + 3 * (size_t)hit.tri;
        for (int k = 0; k < 3; k++) sharp[v] = fmaxf(sharp[v], f->node[t[k]]);
        sum[part] += (double)sharp[v];
        count[part]++;
    }
    fai_closest_free(near);
    for (int v = 0; v < mesh->nvert; v++) {
        int part = f->topo.part[fai_weld(mesh, v)];
        if (part >= 0 && part != f->skin.part && count[part] && sum[part] > 0.5 * count[part]) sharp[v] = 1;
    }
    return soften(f, sharp);
}

static FaCode find(Find *f, float *sharp) {
    const FaMesh *mesh = &f->rig->mesh;
    FA_TRY(fai_topology_build(mesh, &f->topo, f->err));
    FA_TRY(fai_patch_find(f->rig, &f->topo, &(FaPatchOptions){.whole = true}, f->arena, &f->skin, f->err));
    for (int r = 0; r < FA_REGIONS; r++)
        if (!(f->region[r] = FA_PUSH(f->arena, f->skin.nskin, float))) return FA_FAIL_MEMORY(f->err);
    if (!(f->node = FA_PUSH(f->arena, f->skin.nskin, float))) return FA_FAIL_MEMORY(f->err);
    FA_TRY(fai_find_regions(f->rig, &f->skin, f->region, NULL, f->err));
    f->size = fai_mean_head_find(f->rig).size;
    const struct {
        int region;
        double reach;
    } part[] = {{FA_REGION_LIP_UPPER, LIP_REACH},
                {FA_REGION_LIP_LOWER, LIP_REACH},
                {FA_REGION_MOUTH, LIP_REACH},
                {FA_REGION_EYELIDS, LID_REACH}};
    for (int i = 0; i < FA_COUNT(part); i++) FA_TRY(spread(f, f->region[part[i].region], part[i].reach * f->size));
    for (int v = 0; v < mesh->nvert; v++) {
        int node = f->skin.node_of_vertex[v];
        if (node >= 0) sharp[v] = f->node[node];
    }
    note_missing(f);
    return f->topo.nparts > 1 ? other_parts(f, sharp) : FA_OK;
}

FaCode fai_sharp_find(const FaRig *rig, float *sharp, bool *any, FaNotes *notes, FaError *err) {
    FaError own = {0};
    Find f = {.rig = rig, .arena = fai_arena_new(0), .notes = notes, .err = &own};
    memset(sharp, 0, (size_t)rig->mesh.nvert * sizeof *sharp);
    *any = false;
    FaCode rc = f.arena ? find(&f, sharp) : FA_FAIL_MEMORY(&own);
    fai_topology_free(&f.topo);
    fai_arena_free(f.arena);
    if (rc == FA_E_MESH) return FA_OK; // nothing that shapes move: nothing to tell apart either
    if (rc < 0) {
        if (err) *err = own;
        return rc;
    }
    for (int v = 0; v < rig->mesh.nvert && !*any; v++) *any = sharp[v] > 0;
    return FA_OK;
}

// --- their shapes -------------------------------------------------------------------------------------------------

static FaCode fill(FaSharp *s, const FaRig *rig, const float *sharp, FaError *err) {
    int *at = FA_PUSH(s->arena, rig->mesh.nvert, int), n = 0;
    s->vertex = FA_PUSH(s->arena, rig->mesh.nvert, int);
    FaRig *sub = s->rig = FA_PUSH(s->arena, 1, FaRig);
    if (!at || !s->vertex || !sub) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < rig->mesh.nvert; v++) {
        at[v] = sharp[v] > 0 ? n : -1;
        if (sharp[v] > 0) s->vertex[n++] = v;
    }
    s->n = n;
    *sub = (FaRig){.mesh.nvert = n, .nshape = rig->nshape, .weight = rig->weight, .name = "", .path = ""};
    memcpy(sub->axes, rig->axes, sizeof sub->axes);
    sub->mesh.x = FA_PUSH(s->arena, 3 * (size_t)n, float);
    sub->shape = FA_PUSH(s->arena, rig->nshape, FaShape);
    sub->row = FA_PUSH(s->arena, rig->nentry, int);
    sub->delta = FA_PUSH(s->arena, 3 * (size_t)rig->nentry, float);
    s->x = FA_PUSH(s->arena, 3 * (size_t)n, float);
    s->weight = FA_PUSH(s->arena, rig->nshape, float);
    if (!sub->mesh.x || !sub->shape || !sub->row || !sub->delta || !s->x || !s->weight) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < rig->nshape; i++) {
        const FaShape *from = &rig->shape[i];
        sub->shape[i] = *from;
        sub->shape[i].first = sub->nentry;
        for (int e = from->first; e < from->first + from->count; e++) {
            int v = rig->row[e];
            if (at[v] < 0) continue;
            sub->row[sub->nentry] = at[v];
            for (size_t k = 0; k < 3; k++)
                sub->delta[3 * (size_t)sub->nentry + k] = sharp[v] * rig->delta[3 * (size_t)e + k];
            sub->nentry++;
        }
        sub->shape[i].count = sub->nentry - sub->shape[i].first;
    }
    return fa_blender_new(sub, &s->blender, err);
}

FaCode fai_sharp_new(const FaRig *rig, const float *sharp, FaSharp **out, FaError *err) {
    *out = NULL;
    FaSharp *s = FA_NEW(1, FaSharp);
    if (!s) return FA_FAIL_MEMORY(err);
    s->arena = fai_arena_new(0);
    FaCode rc = s->arena ? fill(s, rig, sharp, err) : FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_sharp_free(s);
    else
        *out = s;
    return rc;
}

void fai_sharp_free(FaSharp *sharp) {
    if (!sharp) return;
    fa_blender_free(sharp->blender);
    fai_arena_free(sharp->arena);
    fa_free(sharp);
}

void fai_sharp_add(FaSharp *s, float *surface) {
    fa_blender_eval(s->blender, s->weight, s->x);
    for (int i = 0; i < s->n; i++)
        for (size_t k = 0; k < 3; k++) surface[3 * (size_t)s->vertex[i] + k] += s->x[3 * (size_t)i + k];
}
