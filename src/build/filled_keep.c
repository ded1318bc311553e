// Which Delaunay tets are flesh. In this order: not all corners carried; the middle inside of the skin and of no eye;
// no edge that leaves the flesh; no bridge between lips or lids; not flat; not a crumb. Then skull and jaw are parted.
#include "base/task.h"
#include "build/filled_work.h"
#include "face/tetra.h"
#include "math/mat3.h"

#include <stdlib.h>

static const double FLAT = 0.02;    // quality of a sliver
static const double OUTSIDE = 0.05; // lengths of an edge that its points may lie outside
static const double CRUMB = 0.005;  // share of all tets that a piece needs
static const double STEEP = 0.35;   // sine of the angle at which an edge goes through a wall, and does not graze it
static const double PARTED = 3;     // times its length: an edge that an opened jaw stretches so
static const double INSIDE = 0.4;   // sine of the angle at which skin is surely seen from inside
static const double BONE = 1e-3;    // m, of an adult: how deep the middle of a tet may lie in bone

typedef struct Work {
    const FaFilledDomain *d;
    FaFilledPoints *p;
    const FaDelaunay *t;
    unsigned char *keep;
    uint64_t *edge; // of tets kept so far, smaller point first, sorted          (nedge)
    unsigned char *bad;
    int nedge;
} Work;

static void load(const Work *w, int i, double p[3]) { fai_v3_load(w->p->x, i, p); }

// --- middles --------------------------------------------------------------------------------------------------------

// Points of the lattice are inside, and so is all that is nearer to them than the next wall.
static bool surely_inside(const Work *w, const int *v, const double p[3]) {
    for (int k = 0; k < 4; k++) {
        double to[3];
        if (v[k] < w->p->nsurface) continue;
        load(w, v[k], to);
        fai_v3_sub(p, to, to);
        if (fai_v3_norm(to) < 0.98 * (double)w->p->wall[v[k]]) return true;
    }
    return false;
}

static void middles(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Work *w = ctx;
    for (int t = begin; t < end; t++) {
        const int *v = w->t->tet + 4 * (size_t)t;
        double mid[3] = {0}, p[3];
        bool free = false, held = false;
        for (int k = 0; k < 4; k++) {
            load(w, v[k], p);
            fai_v3_mad(mid, 0.25, p, mid);
            free |= w->p->kind[v[k]] == FA_FILLED_FREE;
            held |= w->p->kind[v[k]] != FA_FILLED_FREE;
        }
        w->keep[t] = free; // else it is bone: not counted
        if (!free) continue;
        bool inside = surely_inside(w, v, mid) || fai_winding_at(w->d->winding, mid) > 0.5;
        if (!inside || fai_filled_in_eye(w->d, mid))
            w->keep[t] = 2;
        else if (held && fai_filled_bone(w->d, mid) > BONE * w->d->size)
            w->keep[t] = 0; // bone between the surfaces of bone
    }
}

// --- edges ----------------------------------------------------------------------------------------------------------

static int by_value(const void *p, const void *q) {
    uint64_t a = *(const uint64_t *)p, b = *(const uint64_t *)q;
    return a < b ? -1 : a > b;
}

static uint64_t edge_of(const int *v, int k) {
    static const int ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    int a = v[ends[k][0]], b = v[ends[k][1]];
    return (uint64_t)FA_MIN(a, b) << 32 | (uint64_t)FA_MAX(a, b);
}

static FaCode list_edges(Work *w, FaError *err) {
    int n = 0;
    for (int t = 0; t < w->t->ntet; t++) n += 6 * (w->keep[t] == 1);
    w->edge = FA_NEW(n, uint64_t);
    w->bad = FA_NEW(n, unsigned char);
    if (!w->edge || !w->bad) return FA_FAIL_MEMORY(err);
    n = 0;
    for (int t = 0; t < w->t->ntet; t++)
        for (int k = 0; k < 6 && w->keep[t] == 1; k++) w->edge[n++] = edge_of(w->t->tet + 4 * (size_t)t, k);
    qsort(w->edge, (size_t)n, sizeof *w->edge, by_value);
    for (int i = 0; i < n; i++)
        if (i == 0 || w->edge[i] != w->edge[i - 1]) w->edge[w->nedge++] = w->edge[i];
    return FA_OK;
}

static bool on_skin(const FaFilledDomain *d, int a, int b) {
    for (int e = d->topo->around_start[a]; e < d->topo->around_start[a + 1]; e++)
        if (d->topo->around[e] == b) return true;
    return false;
}

// Through a wall, between these shares of the way; touching it at a flat angle does not count: the skin's triangles are
// not all faces of tets.
static bool pierces(const Work *w, const float *a, const float *b, double from, double to) {
    const float dir[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    const double way[3] = {(double)dir[0], (double)dir[1], (double)dir[2]};
    for (int tries = 0; tries < 8; tries++) {
        FaHit hit = fai_closest_ray(w->d->wall, a, dir, (float)from, (float)to);
        if (hit.tri < 0) return false;
        double n[3];
        fai_v3_tri_cross(w->d->x, w->d->tri + 3 * (size_t)hit.tri, n);
        double steep = fabs(fai_v3_dot(n, way)), size = fai_v3_norm(n) * fai_v3_norm(way);
        if (steep > STEEP * size) return true;
        from = (double)hit.distance + 1e-3;
        if (from >= to) return false;
    }
    return true;
}

// Skin to skin: no point of it well outside.
static bool leaves(const Work *w, const float *a, const float *b) {
    double p[3], q[3], way[3], at[3];
    fai_v3_load(a, 0, p);
    fai_v3_load(b, 0, q);
    fai_v3_sub(q, p, way);
    for (int k = 1; k < 4; k++) {
        fai_v3_mad(p, 0.25 * k, way, at);
        if (k == 2 && fai_filled_in_eye(w->d, at)) return true;
        if (fai_winding_at(w->d->winding, at) > 0.5) continue;
        const float f[3] = {(float)at[0], (float)at[1], (float)at[2]};
        if (fai_closest_point(w->d->wall, f, (float)(OUTSIDE * fai_v3_norm(way))).tri < 0) return true;
    }
    return false;
}

// From a point to the skin node that stands for it, m.
static double to_node(const Work *w, int i) {
    double x[3], y[3];
    load(w, i, x);
    fai_v3_load(w->d->face->x0, w->p->near[i], y);
    fai_v3_sub(y, x, y);
    return fai_v3_norm(y);
}

// Of opposite lips or lids, and no short way along the skin joins them, as it does around the corners.
static bool apart(const Work *w, const signed char *side, const signed char *skin_side, int a, int b) {
    const FaFilledDomain *d = w->d;
    const int na = w->p->near[a], nb = w->p->near[b];
    double x[3], y[3];
    if (side[a] * side[b] >= 0) return false;
    if (side[a] != skin_side[na] || side[b] != skin_side[nb]) return true; // lips cross: the skin near is the other's
    if (on_skin(d, na, nb)) return false;
    for (int e = d->topo->around_start[na]; e < d->topo->around_start[na + 1]; e++)
        if (on_skin(d, d->topo->around[e], nb)) return false;
    load(w, a, x);
    load(w, b, y);
    fai_v3_sub(y, x, y);
    return !fai_filled_near(d, na, nb, 2 * fai_v3_norm(y) + 1e-3 * d->size + to_node(w, a) + to_node(w, b));
}

// Skin to skin, and the jaw pulls the two apart: linings of the mouth that lie on each other.
static bool parted(const Work *w, int a, int b) {
    double x[3], y[3], da[3], db[3];
    load(w, a, x);
    load(w, b, y);
    fai_v3_sub(y, x, x);
    fai_v3_load(w->p->opening, a, da);
    fai_v3_load(w->p->opening, b, db);
    fai_v3_sub(db, da, y);
    fai_v3_add(x, y, y);
    double now = fai_v3_norm(x), then = fai_v3_norm(y);
    if (then < PARTED * now || then - now < 4e-3 * w->d->size) return false;
    const double reach = 2 * now + 1e-3 * w->d->size + to_node(w, a) + to_node(w, b);
    return !fai_filled_near(w->d, w->p->near[a], w->p->near[b], reach);
}

// From inside to inside: two balls without a wall cover the way between their middles.
static bool covered(const Work *w, int a, int b) {
    double x[3], y[3];
    load(w, a, x);
    load(w, b, y);
    fai_v3_sub(y, x, y);
    return fai_v3_norm(y) < 0.98 * ((double)w->p->wall[a] + (double)w->p->wall[b]);
}

// Does b see skin node a from the flesh? Where lips touch, what is in one lip sees the other's skin from outside.
static bool from_inside(const Work *w, int a, int b) {
    double x[3], y[3], n[3];
    load(w, a, x);
    load(w, b, y);
    fai_v3_sub(y, x, y);
    fai_v3_load(w->d->normal, w->p->near[a], n);
    return fai_v3_dot(n, y) < -INSIDE * fai_v3_norm(n) * fai_v3_norm(y);
}

static void try_edges(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Work *w = ctx;
    const int nskin = w->p->nskin, nsurface = w->p->nsurface;
    for (int e = begin; e < end; e++) {
        int a = (int)(w->edge[e] >> 32), b = (int)(w->edge[e] & 0xffffffff); // skin nodes have the smaller numbers
        const float *xa = w->p->x + 3 * (size_t)a, *xb = w->p->x + 3 * (size_t)b;
        if (b < nsurface)
            w->bad[e] = !(b < nskin && on_skin(w->d, a, b)) && (leaves(w, xa, xb) || pierces(w, xa, xb, 0.12, 0.88));
        else if (a < nsurface)
            w->bad[e] = pierces(w, xb, xa, 0, 0.93);
        else
            w->bad[e] = !covered(w, a, b) && pierces(w, xa, xb, 0, 1);
        if (w->bad[e]) continue;
        if (a >= nsurface || (b >= nsurface && from_inside(w, a, b))) continue; // no wall is between them
        if (apart(w, w->p->lip, w->d->lip, a, b) || (b < nsurface && parted(w, a, b))) w->bad[e] = 2;
        if (apart(w, w->p->lid, w->d->lid, a, b)) w->bad[e] = 3;
    }
}

static FaCode find_bad(Work *w, FaError *err) {
    FA_TRY(list_edges(w, err));
    fai_parallel(w->nedge, 256, try_edges, w);
    return FA_OK;
}

static FaCode drop_edges(Work *w, FaFilledReport *r, FaError *err) {
    FA_TRY(find_bad(w, err));
    for (int t = 0; t < w->t->ntet; t++) {
        if (w->keep[t] != 1) continue;
        int why = 0;
        for (int k = 0; k < 6; k++) {
            uint64_t key = edge_of(w->t->tet + 4 * (size_t)t, k);
            const uint64_t *at = bsearch(&key, w->edge, (size_t)w->nedge, sizeof key, by_value);
            int bad = w->bad[at - w->edge];
            if (bad && (why == 0 || bad > why)) why = bad;
        }
        if (why) w->keep[t] = 0;
        r->edges += why == 1;
        r->bridges += why == 2;
        r->lids += why == 3;
    }
    return FA_OK;
}

// --- pieces ---------------------------------------------------------------------------------------------------------

// By faces. A piece stays if it is large enough and something carries it.
static FaCode drop_crumbs(Work *w, FaFilledReport *r, FaError *err) {
    const FaDelaunay *d = w->t;
    int *queue = FA_NEW(d->ntet, int), all = 0;
    unsigned char *seen = FA_NEW(d->ntet, unsigned char);
    if (!queue || !seen) {
        fa_free(queue);
        fa_free(seen);
        return FA_FAIL_MEMORY(err);
    }
    for (int t = 0; t < d->ntet; t++) all += w->keep[t];
    for (int t = 0; t < d->ntet; t++) {
        if (!w->keep[t] || seen[t]) continue;
        int n = 0, carried = 0;
        queue[n++] = t;
        seen[t] = 1;
        for (int h = 0; h < n; h++)
            for (int k = 0; k < 4; k++) {
                int to = d->near[4 * (size_t)queue[h] + (size_t)k];
                carried += w->p->kind[d->tet[4 * (size_t)queue[h] + (size_t)k]] != FA_FILLED_FREE;
                if (to >= 0 && w->keep[to] && !seen[to]) seen[to] = 1, queue[n++] = to;
            }
        if (n >= CRUMB * all && carried >= 3) {
            r->pieces++;
            continue;
        }
        for (int h = 0; h < n; h++) w->keep[queue[h]] = 0;
        r->crumbs += n;
    }
    fa_free(queue);
    fa_free(seen);
    return FA_OK;
}

static bool mixed(const Work *w, int t) {
    unsigned kinds = 0;
    for (int k = 0; k < 4; k++) kinds |= 1u << w->p->kind[w->t->tet[4 * (size_t)t + (size_t)k]];
    return w->keep[t] && (kinds & 1u << FA_FILLED_SKULL) && (kinds & 1u << FA_FILLED_JAW);
}

// Where a tet joins skull and jaw, those corners are set free that most such tets have, of skull or of jaw, until there
// are none.
static FaCode part_bones(Work *w, FaFilledReport *r, FaError *err) {
    int *count = FA_NEW(w->p->n, int), most;
    if (!count) return FA_FAIL_MEMORY(err);
    do {
        most = -1;
        memset(count, 0, (size_t)w->p->n * sizeof *count);
        for (int t = 0; t < w->t->ntet; t++) {
            if (!mixed(w, t)) continue;
            for (int k = 0; k < 4; k++) count[w->t->tet[4 * (size_t)t + (size_t)k]]++;
        }
        for (int i = 0; i < w->p->n; i++)
            if (w->p->kind[i] != FA_FILLED_FREE && count[i] > (most < 0 ? 0 : count[most])) most = i;
        if (most < 0) break;
        const int kind = w->p->kind[most], worst = count[most];
        for (int i = most; i < w->p->n; i++)
            if (w->p->kind[i] == kind && count[i] == worst) w->p->kind[i] = FA_FILLED_FREE, r->parted++;
    } while (true);
    fa_free(count);
    return FA_OK;
}

FaCode fai_filled_left(const FaFilledDomain *d, FaFilledPoints *p, const FaDelaunay *t, FaFilledLeft *left,
                       FaError *err) {
    Work w = {.d = d, .p = p, .t = t, .keep = FA_NEW(t->ntet, unsigned char)};
    *left = (FaFilledLeft){0};
    FaCode rc = w.keep ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fai_parallel(t->ntet, 256, middles, &w);
        rc = find_bad(&w, err);
    }
    if (rc >= 0 && !(left->edge = (int(*)[2])fai_alloc_array((size_t)w.nedge + 1, sizeof *left->edge)))
        rc = FA_FAIL_MEMORY(err);
    for (int e = 0; e < w.nedge && rc >= 0; e++) {
        if (!w.bad[e]) continue;
        left->edge[left->n][0] = (int)(w.edge[e] >> 32);
        left->edge[left->n++][1] = (int)(w.edge[e] & 0xffffffff);
    }
    fa_free(w.keep);
    fa_free(w.edge);
    fa_free(w.bad);
    return rc;
}

FaCode fai_filled_keep(const FaFilledDomain *d, FaFilledPoints *p, const FaDelaunay *t, unsigned char *keep,
                       FaFilledReport *r, FaError *err) {
    Work w = {.d = d, .p = p, .t = t, .keep = keep};
    fai_parallel(t->ntet, 256, middles, &w);
    for (int i = 0; i < t->ntet; i++) r->outside += keep[i] == 2;
    for (int i = 0; i < t->ntet; i++)
        if (keep[i] == 2) keep[i] = 0;
    FaCode rc = FA_OK;
    FA_TRY_GOTO(done, rc, drop_edges(&w, r, err));
    for (int i = 0; i < t->ntet; i++)
        if (keep[i] && fai_tet_quality(p->x, t->tet + 4 * (size_t)i) < FLAT) keep[i] = 0, r->slivers++;
    FA_TRY_GOTO(done, rc, part_bones(&w, r, err));
    FA_TRY_GOTO(done, rc, drop_crumbs(&w, r, err));
done:
    fa_free(w.edge);
    fa_free(w.bad);
    return rc;
}
