// Half-edge collapse by quadrics. A vertex u may only go into a neighbour v, so what is left are original vertices with
// all their data untouched.
//
// Error of u -> v: the quadric of u, gathered over all it has swallowed, at v. A triangle's quadric is, times its area,
// the squared distance to its plane plus, for each carried number a, (g.p + d - a)^2 where g.p + d is its linear
// course over the triangle (Hoppe's form of attributes; Garland and Heckbert's of planes). Edges of the surface add
// planes that stand on them. A term in the length of the edge keeps triangles of even size where the surface is flat,
// since they will be the tops of prisms.
#include "mesh/decimate.h"

#include "math/mat3.h"

static const double EDGE_WEIGHT = 20; // of planes that stand on an open edge
static const double EVEN = 2e-3;      // of (length)^4 against squared error times area
static const double TURN = 0.35;      // cosine: no triangle turns further in one step
static const double SLENDER = 0.12;   // height over longest side: not under it, unless it was worse before
enum { FAN = 64 };                    // triangles at a vertex, at most

typedef struct Quadric {
    double a[6], b[3], c; // p'Ap + 2 b'p + c, all numbers' (g.p + d)^2 included; A: xx xy xz yy yz zz
    double w;             // sum of areas: weight of a^2
} Quadric;

typedef struct Work {
    const FaDecimateInput *in;
    int *tri;            // present corners                                              (ntri x 3)
    unsigned char *dead; // triangles                                                    (ntri)
    int *head, *tail;    // corners of each vertex, a list through next; -1 = none       (nvert)
    int *next;           //                                                              (ntri x 3)
    Quadric *q;          //                                                              (nvert)
    double *slope;       // per vertex and number: sum of area (g, d)                    (nvert x nattr x 4)
    unsigned char *edge; // 1: on an open edge                                           (nvert)
    double *normal;      // of the surface as it was                                     (nvert x 3)
    int *home;
    // collapses in waiting: the best of each vertex, by cost, then number
    double *cost;         // INFINITY: none                                               (nvert)
    int *into;            //                                                              (nvert)
    int *item, *place, n; // heap; place -1 = out                                         (nvert)
} Work;

// --- the surface ----------------------------------------------------------------------------------------------------

static void corners(const Work *w, int t, double p[3][3]) {
    for (int k = 0; k < 3; k++) fai_v3_load(w->in->x, w->tri[3 * (size_t)t + k], p[k]);
}

// Twice the area in *size; the normal has that length.
static void cross_of(double p[3][3], double n[3]) {
    double a[3], b[3];
    fai_v3_sub(p[1], p[0], a);
    fai_v3_sub(p[2], p[0], b);
    fai_v3_cross(a, b, n);
}

// Live triangles at v, dropping dead ones from its list; -1 if there are more than FAN.
static int fan_of(Work *w, int v, int *fan) {
    int n = 0, before = -1;
    for (int c = w->head[v]; c >= 0; c = w->next[c]) {
        if (w->dead[c / 3]) {
            if (before < 0)
                w->head[v] = w->next[c];
            else
                w->next[before] = w->next[c];
            if (w->tail[v] == c) w->tail[v] = before;
            continue;
        }
        before = c;
        if (n == FAN) return -1;
        fan[n++] = c / 3;
    }
    return n;
}

static bool has(const int *t, int v) { return t[0] == v || t[1] == v || t[2] == v; }

// Distinct neighbours of v (room 2 FAN), and how many triangles share each edge.
static int ring_of(Work *w, int v, const int *fan, int nfan, int *ring, int *shared) {
    int n = 0;
    for (int i = 0; i < nfan; i++)
        for (int k = 0; k < 3; k++) {
            int u = w->tri[3 * (size_t)fan[i] + k], j = 0;
            if (u == v) continue;
            while (j < n && ring[j] != u) j++;
            if (j == n) ring[n] = u, shared[n++] = 0;
            shared[j]++;
        }
    return n;
}

// --- quadrics -------------------------------------------------------------------------------------------------------

static void add_square(Quadric *q, double weight, const double g[3], double d) {
    const double m[6] = {g[0] * g[0], g[0] * g[1], g[0] * g[2], g[1] * g[1], g[1] * g[2], g[2] * g[2]};
    for (int i = 0; i < 6; i++) q->a[i] += weight * m[i];
    for (int i = 0; i < 3; i++) q->b[i] += weight * d * g[i];
    q->c += weight * d * d;
}

static void add_quadric(Quadric *to, const Quadric *q) {
    for (int i = 0; i < 6; i++) to->a[i] += q->a[i];
    for (int i = 0; i < 3; i++) to->b[i] += q->b[i];
    to->c += q->c;
    to->w += q->w;
}

static double square_at(const Quadric *q, const double p[3]) {
    return q->a[0] * p[0] * p[0] + q->a[3] * p[1] * p[1] + q->a[5] * p[2] * p[2] +
           2 * (q->a[1] * p[0] * p[1] + q->a[2] * p[0] * p[2] + q->a[4] * p[1] * p[2]) + 2 * fai_v3_dot(q->b, p) + q->c;
}

// The course of number `a` over a triangle: value g.p + d.
static void course(double p[3][3], const double n[3], double size2, const double a[3], double g[3], double *d) {
    double e1[3], e2[3], u[3], v[3];
    fai_v3_sub(p[1], p[0], e1);
    fai_v3_sub(p[2], p[0], e2);
    fai_v3_cross(e2, n, u); // u.e1 = size2, u.e2 = 0
    fai_v3_cross(n, e1, v); // v.e2 = size2, v.e1 = 0
    for (int k = 0; k < 3; k++) g[k] = ((a[1] - a[0]) * u[k] + (a[2] - a[0]) * v[k]) / size2;
    *d = a[0] - fai_v3_dot(g, p[0]);
}

static void add_triangle(Work *w, int t) {
    const int na = w->in->nattr;
    double p[3][3], n[3], unit[3], g[3], d;
    corners(w, t, p);
    cross_of(p, n);
    double size2 = fai_v3_dot(n, n), area = 0.5 * sqrt(size2);
    if (!(size2 > 0)) return;
    fai_v3_scale(1 / sqrt(size2), n, unit);
    const int *v = w->tri + 3 * (size_t)t;
    for (int k = 0; k < 3; k++) {
        Quadric *q = &w->q[v[k]];
        double f = area / 3;
        add_square(q, f, unit, -fai_v3_dot(unit, p[0]));
        q->w += f;
        for (int j = 0; j < 3; j++) w->normal[3 * (size_t)v[k] + j] += n[j];
    }
    for (int i = 0; i < na; i++) {
        const double a[3] = {(double)w->in->attr[(size_t)v[0] * (size_t)na + (size_t)i],
                             (double)w->in->attr[(size_t)v[1] * (size_t)na + (size_t)i],
                             (double)w->in->attr[(size_t)v[2] * (size_t)na + (size_t)i]};
        course(p, n, size2, a, g, &d);
        for (int k = 0; k < 3; k++) {
            double *s = w->slope + 4 * ((size_t)v[k] * (size_t)na + (size_t)i);
            add_square(&w->q[v[k]], area / 3, g, d);
            for (int j = 0; j < 3; j++) s[j] += area / 3 * g[j];
            s[3] += area / 3 * d;
        }
    }
}

// A plane on each open edge, upright on its triangle.
static void add_edges(Work *w, int v, const int *fan, int nfan, const int *ring, const int *shared, int nring) {
    for (int r = 0; r < nring; r++) {
        if (shared[r] != 1) continue;
        w->edge[v] = 1;
        int u = ring[r], t = 0;
        while (t < nfan && !has(w->tri + 3 * (size_t)fan[t], u)) t++;
        double p[3][3], n[3], a[3], b[3], side[3], out[3];
        corners(w, fan[t], p);
        cross_of(p, n);
        fai_v3_load(w->in->x, v, a);
        fai_v3_load(w->in->x, u, b);
        fai_v3_sub(b, a, side);
        fai_v3_cross(side, n, out);
        if (fai_v3_normalize(out)) add_square(&w->q[v], EDGE_WEIGHT * fai_v3_dot(side, side), out, -fai_v3_dot(out, a));
    }
}

static double error_at(const Work *w, int u, int v) {
    const int na = w->in->nattr;
    double p[3], sum;
    fai_v3_load(w->in->x, v, p);
    sum = square_at(&w->q[u], p);
    for (int i = 0; i < na; i++) {
        const double *s = w->slope + 4 * ((size_t)u * (size_t)na + (size_t)i);
        double a = (double)w->in->attr[(size_t)v * (size_t)na + (size_t)i];
        sum += a * (w->q[u].w * a - 2 * (fai_v3_dot(s, p) + s[3]));
    }
    return fmax(sum, 0);
}

// --- collapses ------------------------------------------------------------------------------------------------------

// Would the surface stay a manifold? The vertices around both are those of the triangles that go, no others.
static bool links(Work *w, int u, int v, const int *ring, int nring, int shared) {
    int fan[FAN], other[2 * FAN], count[2 * FAN], both = 0, n = fan_of(w, v, fan);
    if (n < 0 || n + nring > FAN) return false;
    if (w->edge[u] && (!w->edge[v] || shared != 1)) return false;
    int nother = ring_of(w, v, fan, n, other, count);
    for (int i = 0; i < nring; i++)
        for (int j = 0; j < nother; j++) {
            if (ring[i] != other[j]) continue;
            both++;
            // a corner with two triangles left would hang by an edge
            int f = fan_of(w, ring[i], fan);
            if (f < 0 || f <= (w->edge[ring[i]] ? 1 : 3)) return false;
        }
    return both == shared && nother > 2;
}

static double slenderness(double p[3][3], const double n[3]) {
    double longest = 0, e[3];
    for (int k = 0; k < 3; k++) {
        fai_v3_sub(p[(k + 1) % 3], p[k], e);
        longest = fmax(longest, fai_v3_dot(e, e));
    }
    return longest > 0 ? fai_v3_norm(n) / longest : 0;
}

// No triangle may turn over, nor become a sliver.
static bool keeps_form(Work *w, int u, int v, const int *fan, int nfan) {
    for (int i = 0; i < nfan; i++) {
        const int *t = w->tri + 3 * (size_t)fan[i];
        if (has(t, v)) continue;
        double p[3][3], old[3], n[3];
        corners(w, fan[i], p);
        cross_of(p, old);
        double was = slenderness(p, old);
        for (int k = 0; k < 3; k++)
            if (t[k] == u) fai_v3_load(w->in->x, v, p[k]);
        cross_of(p, n);
        double size = fai_v3_norm(n);
        if (!(fai_v3_dot(n, old) > TURN * size * fai_v3_norm(old))) return false;
        if (slenderness(p, n) < fmin(SLENDER, was)) return false;
        for (int k = 0; k < 3; k++) {
            const double *m = w->normal + 3 * (size_t)t[k];
            if (fai_v3_dot(n, m) < 0.2 * size * fai_v3_norm(m)) return false;
        }
    }
    return true;
}

// The best neighbour for u to go into.
static void consider(Work *w, int u) {
    int fan[FAN], ring[2 * FAN], shared[2 * FAN], n = fan_of(w, u, fan);
    w->cost[u] = INFINITY;
    w->into[u] = -1;
    if (n <= 0) return;
    int nring = ring_of(w, u, fan, n, ring, shared);
    double f = w->in->importance ? (double)w->in->importance[u] : 1;
    for (int i = 0; i < nring; i++) {
        double a[3], b[3];
        fai_v3_load(w->in->x, u, a);
        fai_v3_load(w->in->x, ring[i], b);
        fai_v3_sub(a, b, a);
        double len2 = fai_v3_dot(a, a), cost = f * f * (error_at(w, u, ring[i]) + EVEN * len2 * len2);
        if (!(cost < w->cost[u] || (cost == w->cost[u] && ring[i] < w->into[u]))) continue;
        if (!links(w, u, ring[i], ring, nring, shared[i]) || !keeps_form(w, u, ring[i], fan, n)) continue;
        w->cost[u] = cost;
        w->into[u] = ring[i];
    }
}

// --- the queue ------------------------------------------------------------------------------------------------------

static bool before(const Work *w, int a, int b) {
    return w->cost[a] < w->cost[b] || (w->cost[a] == w->cost[b] && a < b);
}

static void put(Work *w, int at, int v) {
    w->item[at] = v;
    w->place[v] = at;
}

static void sift(Work *w, int at) {
    int v = w->item[at];
    for (; at > 0 && before(w, v, w->item[(at - 1) / 2]); at = (at - 1) / 2) put(w, at, w->item[(at - 1) / 2]);
    for (;;) {
        int child = 2 * at + 1;
        if (child >= w->n) break;
        if (child + 1 < w->n && before(w, w->item[child + 1], w->item[child])) child++;
        if (before(w, v, w->item[child])) break;
        put(w, at, w->item[child]);
        at = child;
    }
    put(w, at, v);
}

static void leave(Work *w, int v) {
    int at = w->place[v], last = w->item[--w->n];
    w->place[v] = -1;
    if (last == v) return;
    put(w, at, last);
    sift(w, at);
}

static void renew(Work *w, int v) {
    consider(w, v);
    sift(w, w->place[v]);
}

// u goes into v: its triangles, its quadric, its numbers' courses.
static void collapse(Work *w, int u, int v) {
    const int na = w->in->nattr;
    int fan[FAN], n = fan_of(w, u, fan);
    for (int i = 0; i < n; i++) {
        int *t = w->tri + 3 * (size_t)fan[i];
        if (has(t, v)) {
            w->dead[fan[i]] = 1;
            continue;
        }
        for (int k = 0; k < 3; k++)
            if (t[k] == u) t[k] = v;
    }
    if (w->head[u] >= 0) {
        if (w->head[v] < 0)
            w->head[v] = w->head[u];
        else
            w->next[w->tail[v]] = w->head[u];
        w->tail[v] = w->tail[u];
    }
    w->head[u] = w->tail[u] = -1;
    add_quadric(&w->q[v], &w->q[u]);
    for (size_t i = 0; i < 4 * (size_t)na; i++)
        w->slope[4 * (size_t)v * (size_t)na + i] += w->slope[4 * (size_t)u * (size_t)na + i];
    w->home[u] = v;
    leave(w, u);
}

// --- all of it ------------------------------------------------------------------------------------------------------

static FaCode start(Work *w, FaArena *arena, FaError *err) {
    const size_t n = (size_t)w->in->nvert, t = (size_t)w->in->ntri, a = (size_t)w->in->nattr;
    w->tri = FA_PUSH(arena, 3 * t, int);
    w->dead = FA_PUSH(arena, t, unsigned char);
    w->next = FA_PUSH(arena, 3 * t, int);
    w->q = FA_PUSH(arena, n, Quadric);
    w->slope = FA_PUSH(arena, 4 * n * a, double);
    w->edge = FA_PUSH(arena, n, unsigned char);
    w->normal = FA_PUSH(arena, 3 * n, double);
    w->cost = FA_PUSH(arena, n, double);
    int **list[] = {&w->head, &w->tail, &w->into, &w->item, &w->place};
    for (int i = 0; i < FA_COUNT(list); i++)
        if (!(*list[i] = FA_PUSH(arena, n, int))) return FA_FAIL_MEMORY(err);
    if (!w->tri || !w->dead || !w->next || !w->q || !w->slope || !w->edge || !w->normal || !w->cost)
        return FA_FAIL_MEMORY(err);
    memcpy(w->tri, w->in->tri, 3 * t * sizeof(int));
    for (size_t v = 0; v < n; v++) w->head[v] = w->tail[v] = -1, w->home[v] = (int)v;
    for (int c = 3 * w->in->ntri - 1; c >= 0; c--) {
        int v = w->tri[c];
        w->next[c] = w->head[v];
        if (w->head[v] < 0) w->tail[v] = c;
        w->head[v] = c;
    }
    for (int i = 0; i < w->in->ntri; i++) add_triangle(w, i);
    for (int v = 0; v < w->in->nvert; v++) {
        int fan[FAN], ring[2 * FAN], shared[2 * FAN], nfan = fan_of(w, v, fan);
        if (nfan < 0) w->edge[v] = 1; // a hub: stays
        if (nfan > 0) add_edges(w, v, fan, nfan, ring, shared, ring_of(w, v, fan, nfan, ring, shared));
    }
    for (int v = 0; v < w->in->nvert; v++) {
        consider(w, v);
        put(w, w->n++, v);
        sift(w, w->n - 1);
    }
    return FA_OK;
}

static void go(Work *w) {
    while (w->n > w->in->target && w->n > 0 && w->cost[w->item[0]] < INFINITY) {
        int u = w->item[0], v = w->into[u], fan[FAN], ring[2 * FAN], shared[2 * FAN];
        double cost = w->cost[u];
        renew(w, u); // two rings away something may have changed that forbids it now
        if (w->item[0] != u || w->into[u] != v || w->cost[u] != cost) continue;
        collapse(w, u, v);
        int n = fan_of(w, v, fan);
        if (n < 0) continue;
        int nring = ring_of(w, v, fan, n, ring, shared);
        renew(w, v);
        for (int i = 0; i < nring; i++) renew(w, ring[i]);
    }
}

FaCode fai_decimate(const FaDecimateInput *in, int *home, int *tri, int *ntri, int *left, FaError *err) {
    Work w = {.in = in, .home = home};
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? start(&w, arena, err) : FA_FAIL_MEMORY(err);
    *ntri = 0;
    if (rc >= 0) {
        go(&w);
        *left = w.n;
        for (int v = 0; v < in->nvert; v++) {
            int at = v;
            while (home[at] != at) at = home[at];
            for (int u = v, next; u != at; u = next) next = home[u], home[u] = at;
        }
        for (int t = 0; t < in->ntri; t++)
            if (!w.dead[t]) memcpy(tri + 3 * (size_t)(*ntri)++, w.tri + 3 * (size_t)t, 3 * sizeof(int));
    }
    fai_arena_free(arena);
    return rc;
}
