// Fast marching: vertices become final in the order of their distance, as in Dijkstra's algorithm; a vertex is updated
// from final edges across a triangle by the plane front that passes both ends in time, which is what makes it geodesic.
#include "face/geodesic.h"

#include "math/mat3.h"

// --- the surface --------------------------------------------------------------------------------------------------

static void corner_sums(FaSurface *s) {
    double total = 0;
    for (int t = 0; t < s->ntri; t++) {
        const int *c = s->tri + 3 * (size_t)t;
        double a[3], b[3], n[3];
        fai_v3_sub(s->x + 3 * (size_t)c[1], s->x + 3 * (size_t)c[0], a);
        fai_v3_sub(s->x + 3 * (size_t)c[2], s->x + 3 * (size_t)c[0], b);
        fai_v3_cross(a, b, n);
        double area = fai_v3_norm(n) / 6;
        fai_v3_sub(b, a, b);
        total += fai_v3_norm(a) + fai_v3_norm(b);
        for (int k = 0; k < 3; k++) {
            s->area[c[k]] += area;
            fai_v3_add(s->normal + 3 * (size_t)c[k], n, s->normal + 3 * (size_t)c[k]);
        }
    }
    for (int v = 0; v < s->n; v++)
        if (!fai_v3_normalize(s->normal + 3 * (size_t)v)) fai_v3_set(s->normal + 3 * (size_t)v, 0, 0, 0);
    s->edge = s->ntri ? total / (2.0 * s->ntri) : 0;
}

// An edge is open if no other triangle around its first end has its second.
static bool open_edge(const FaSurface *s, int t, int a, int b) {
    for (int i = s->tri_start[a]; i < s->tri_start[a + 1]; i++) {
        const int *c = s->tri + 3 * (size_t)s->tri_at[i];
        if (s->tri_at[i] != t && (c[0] == b || c[1] == b || c[2] == b)) return false;
    }
    return true;
}

FaCode fai_surface_build(int n, const double *x, int ntri, const int *tri, FaArena *arena, FaSurface *s, FaError *err) {
    *s = (FaSurface){.n = n, .ntri = ntri, .x = x, .tri = tri};
    s->tri_start = FA_PUSH(arena, n + 2, int);
    s->tri_at = FA_PUSH(arena, 3 * (size_t)ntri, int);
    s->area = FA_PUSH(arena, n, double);
    s->normal = FA_PUSH(arena, 3 * (size_t)n, double);
    s->border = FA_PUSH(arena, n, bool);
    if (!s->tri_start || !s->tri_at || !s->area || !s->normal || !s->border) return FA_FAIL_MEMORY(err);
    // counts two places on, then their sums: filling moves each start to its place
    for (int i = 0; i < 3 * ntri; i++) s->tri_start[tri[i] + 2]++;
    for (int v = 0; v <= n; v++) s->tri_start[v + 1] += s->tri_start[v];
    for (int i = 0; i < 3 * ntri; i++) s->tri_at[s->tri_start[tri[i] + 1]++] = i / 3;
    corner_sums(s);
    for (int t = 0; t < ntri; t++)
        for (int k = 0; k < 3; k++) {
            int a = tri[3 * (size_t)t + k], b = tri[3 * (size_t)t + (k + 1) % 3];
            if (a != b && open_edge(s, t, a, b)) s->border[a] = s->border[b] = true;
        }
    return FA_OK;
}

// --- marching -----------------------------------------------------------------------------------------------------

typedef struct Queue {
    double *key; // (room)
    int *item;   // (room)
    int n, room;
} Queue;

// Ties go to the smaller vertex, so that the order is a function of the surface alone.
static bool before(const Queue *q, int a, int b) {
    return q->key[a] < q->key[b] || (q->key[a] == q->key[b] && q->item[a] < q->item[b]);
}

static void exchange(Queue *q, int a, int b) {
    double k = q->key[a];
    int i = q->item[a];
    q->key[a] = q->key[b], q->item[a] = q->item[b];
    q->key[b] = k, q->item[b] = i;
}

static bool queue_push(Queue *q, double key, int item) {
    if (q->n == q->room) {
        int room = q->room, room2 = q->room;
        double *k = fai_grow_array(q->key, &room, q->n + 1, sizeof *k);
        if (k) q->key = k;
        int *i = k ? fai_grow_array(q->item, &room2, q->n + 1, sizeof *i) : NULL;
        if (i) q->item = i;
        if (!k || !i) return false;
        q->room = FA_MIN(room, room2);
    }
    q->key[q->n] = key;
    q->item[q->n] = item;
    for (int i = q->n++; i > 0 && before(q, i, (i - 1) / 2); i = (i - 1) / 2) exchange(q, i, (i - 1) / 2);
    return true;
}

static int queue_pop(Queue *q, double *key) {
    int item = q->item[0];
    *key = q->key[0];
    exchange(q, 0, --q->n);
    for (int i = 0;;) {
        int l = 2 * i + 1, r = l + 1, m = i;
        if (l < q->n && before(q, l, m)) m = l;
        if (r < q->n && before(q, r, m)) m = r;
        if (m == i) return item;
        exchange(q, i, m);
        i = m;
    }
}

// Arrival at c of the plane front that passes a at da and b at db; INFINITY where it does not enter through the edge.
static double front(const double a[3], const double b[3], const double c[3], double da, double db) {
    double ab[3], ac[3], h[3];
    fai_v3_sub(b, a, ab);
    fai_v3_sub(c, a, ac);
    double len = fai_v3_norm(ab);
    if (!(len > 0)) return INFINITY;
    double x = fai_v3_dot(ac, ab) / len, g = (db - da) / len;
    fai_v3_mad(ac, -x / len, ab, h);
    double y = fai_v3_norm(h);
    if (!(g > -1 && g < 1)) return INFINITY;
    double rise = sqrt(1 - g * g), foot = x - y * g / rise;
    return foot >= 0 && foot <= len ? da + g * x + rise * y : INFINITY;
}

FaCode fai_geodesic(const FaSurface *s, const bool *start, double reach, double *dist, FaError *err) {
    Queue q = {0};
    bool *done = FA_NEW(s->n, bool), ok = done != NULL;
    for (int v = 0; v < s->n; v++) {
        dist[v] = start[v] ? 0 : INFINITY;
        if (ok && start[v]) ok = queue_push(&q, 0, v);
    }
    while (ok && q.n) {
        double key;
        int v = queue_pop(&q, &key);
        if (done[v] || key > dist[v]) continue;
        done[v] = true;
        const double *p = s->x + 3 * (size_t)v;
        for (int i = s->tri_start[v]; ok && i < s->tri_start[v + 1]; i++) {
            const int *c = s->tri + 3 * (size_t)s->tri_at[i];
            for (int k = 0; ok && k < 3; k++) {
                int a = c[k], b = c[(k + 1) % 3] == v ? c[(k + 2) % 3] : c[(k + 1) % 3];
                if (a == v || done[a]) continue;
                const double *pa = s->x + 3 * (size_t)a, *pb = s->x + 3 * (size_t)b;
                double e[3], d;
                fai_v3_sub(pa, p, e);
                d = dist[v] + fai_v3_norm(e);
                if (b != v && b != a && done[b]) d = fmin(d, front(p, pb, pa, dist[v], dist[b]));
                if (!(d < dist[a]) || d > reach) continue;
                dist[a] = d;
                ok = queue_push(&q, d, a);
            }
        }
    }
    fa_free(done);
    fa_free(q.key);
    fa_free(q.item);
    return ok ? FA_OK : FA_FAIL_MEMORY(err);
}
