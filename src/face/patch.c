// Which part of a rig is simulated.
//
// Vertices are welded representatives throughout. What comes out is an orientable surface with one fan of triangles at
// each vertex, so that prisms below it neither overlap nor hang by an edge.
#include "face/patch.h"

#include "math/mat3.h"

static const double MOVES = 0.3e-3;   // m: a shape that moves a vertex less than this leaves it at rest
static const double HOLE_AREA = 0.10; // of the region: unmoved islands up to this size are closed

// --- distances along edges ------------------------------------------------------------------------------------------

typedef struct Heap { // vertices by distance, then by number: the order is a function of the input alone
    int n;
    int *item;  //                                     (n)
    int *place; // of each vertex in item, -1 = out    (nvert)
    const double *key;
} Heap;

static bool before(const Heap *h, int a, int b) { return h->key[a] < h->key[b] || (h->key[a] == h->key[b] && a < b); }

static void heap_put(Heap *h, int at, int v) {
    h->item[at] = v;
    h->place[v] = at;
}

static void heap_up(Heap *h, int v) {
    if (h->place[v] < 0) heap_put(h, h->n++, v);
    int at = h->place[v];
    while (at > 0 && before(h, v, h->item[(at - 1) / 2])) {
        heap_put(h, at, h->item[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_put(h, at, v);
}

static int heap_pop(Heap *h) {
    int top = h->item[0], v = h->item[--h->n], at = 0;
    h->place[top] = -1;
    if (h->n == 0) return top;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= h->n) break;
        if (child + 1 < h->n && before(h, h->item[child + 1], h->item[child])) child++;
        if (before(h, v, h->item[child])) break;
        heap_put(h, at, h->item[child]);
        at = child;
    }
    heap_put(h, at, v);
    return top;
}

static double between(const float *x, int a, int b) {
    double p[3], q[3];
    fai_v3_load(x, a, p);
    fai_v3_load(x, b, q);
    fai_v3_sub(p, q, p);
    return fai_v3_norm(p);
}

FaCode fai_spread_min(int n, const int *start, const int *around, const float *x, double slope, double *dist,
                      FaError *err) {
    int *room = FA_NEW(2 * (size_t)n, int);
    if (!room) return FA_FAIL_MEMORY(err);
    Heap heap = {0, room, room + n, dist};
    for (int v = 0; v < n; v++) heap.place[v] = -1;
    for (int v = 0; v < n; v++)
        if (isfinite(dist[v])) heap_up(&heap, v);
    while (heap.n > 0) {
        int v = heap_pop(&heap);
        for (int e = start[v]; e < start[v + 1]; e++) {
            int to = around[e];
            double d = dist[v] + slope * between(x, v, to);
            if (d < dist[to]) dist[to] = d, heap_up(&heap, to);
        }
    }
    fa_free(room);
    return FA_OK;
}

// --- the skin -------------------------------------------------------------------------------------------------------

static double tri_area(const float *x, const int t[3], double normal[3]) {
    double a[3], b[3], c[3];
    fai_v3_load(x, t[0], a);
    fai_v3_load(x, t[1], b);
    fai_v3_load(x, t[2], c);
    fai_v3_sub(b, a, b);
    fai_v3_sub(c, a, c);
    fai_v3_cross(b, c, normal);
    return 0.5 * fai_v3_norm(normal);
}

static void welded(const FaMesh *mesh, int t, int v[3]) {
    for (int k = 0; k < 3; k++) v[k] = fai_weld(mesh, mesh->tri[3 * (size_t)t + k]);
}

static void find_motion(const FaRig *rig, float *motion) {
    for (int i = 0; i < rig->nentry; i++) {
        const float *d = rig->delta + 3 * (size_t)i;
        int v = fai_weld(&rig->mesh, rig->row[i]);
        motion[v] = fmaxf(motion[v], sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
    }
    for (int v = 0; v < rig->mesh.nvert; v++) motion[v] = motion[fai_weld(&rig->mesh, v)];
}

// The part with most moving area; -1 if nothing moves.
static FaCode find_part(const FaRig *rig, const FaTopology *topo, const float *motion, int *part, double *area,
                        FaError *err) {
    double *sum = FA_NEW(2 * (size_t)topo->nparts, double), normal[3], best = 0;
    if (!sum) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < rig->mesh.ntri; t++) {
        int v[3];
        welded(&rig->mesh, t, v);
        int p = topo->part[v[0]];
        if (p < 0) continue;
        double a = tri_area(rig->mesh.x, v, normal);
        sum[2 * p + 1] += a;
        if (motion[v[0]] > MOVES || motion[v[1]] > MOVES || motion[v[2]] > MOVES) sum[2 * p] += a;
    }
    *part = -1;
    for (int p = 0; p < topo->nparts; p++)
        if (sum[2 * p] > best) best = sum[2 * p], *part = p;
    *area = *part >= 0 ? sum[2 * *part + 1] : 0;
    fa_free(sum);
    return FA_OK;
}

// --- the region -----------------------------------------------------------------------------------------------------

typedef struct Work {
    const FaRig *rig;
    const FaTopology *topo;
    const FaPatchOptions *options;
    int part;
    int ntri;
    unsigned char *in;   // triangles of the region                                  (ntri)
    unsigned char *turn; // to be turned round                                       (ntri)
    int *piece;          // scratch: connected pieces, or an order of visiting       (ntri)
    int *queue;          // scratch                                                  (ntri)
    int *next;           // triangle across each side, -1 = none                     (ntri x 3)
    unsigned char *same; // bit k: it runs the same way along side k                 (ntri)
    int dropped, flipped;
} Work;

static bool usable(const Work *w, int t) {
    int v[3];
    double normal[3];
    welded(&w->rig->mesh, t, v);
    if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0] || w->topo->part[v[0]] != w->part) return false;
    double longest = fmax(between(w->rig->mesh.x, v[0], v[1]),
                          fmax(between(w->rig->mesh.x, v[1], v[2]), between(w->rig->mesh.x, v[2], v[0])));
    // a height under a thousandth of the length gives prisms without volume
    return 2 * tri_area(w->rig->mesh.x, v, normal) > 1e-3 * longest * longest;
}

static FaCode select_moved(Work *w, const float *motion, FaError *err) {
    const FaMesh *mesh = &w->rig->mesh;
    double *dist = FA_NEW(mesh->nvert, double);
    if (!dist) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < mesh->nvert; v++) dist[v] = w->topo->part[v] == w->part && motion[v] > MOVES ? 0 : INFINITY;
    FaCode rc = fai_spread_min(mesh->nvert, w->topo->around_start, w->topo->around, mesh->x, 1, dist, err);
    for (int t = 0; rc >= 0 && t < w->ntri; t++) {
        int v[3];
        welded(mesh, t, v);
        w->in[t] = w->topo->part[v[0]] == w->part &&
                   (w->options->whole || (dist[v[0]] <= w->options->margin && dist[v[1]] <= w->options->margin &&
                                          dist[v[2]] <= w->options->margin));
    }
    fa_free(dist);
    return rc;
}

// Neighbours across edges of the usable triangles. At an edge of more than two the first two count; the others are left
// out.
static void link(Work *w) {
    const FaTopology *topo = w->topo;
    for (size_t i = 0; i < 3 * (size_t)w->ntri; i++) w->next[i] = -1;
    for (int e = 0; e < topo->nedge; e++) {
        int a = topo->edge_tri[2 * e], b = topo->edge_tri[2 * e + 1];
        if (a < 0 || b < 0 || topo->edge_tris[e] < 2) continue;
        int side[2], way[2];
        for (int k = 0; k < 2; k++) {
            int v[3];
            welded(&w->rig->mesh, k ? b : a, v);
            side[k] = -1;
            for (int s = 0; s < 3; s++) {
                if (v[s] == topo->edge[e][0] && v[(s + 1) % 3] == topo->edge[e][1]) side[k] = s, way[k] = 0;
                if (v[s] == topo->edge[e][1] && v[(s + 1) % 3] == topo->edge[e][0]) side[k] = s, way[k] = 1;
            }
        }
        if (side[0] < 0 || side[1] < 0) continue;
        w->next[3 * (size_t)a + side[0]] = b;
        w->next[3 * (size_t)b + side[1]] = a;
        if (way[0] == way[1]) w->same[a] |= (unsigned char)(1 << side[0]), w->same[b] |= (unsigned char)(1 << side[1]);
    }
}

// Triangles at an edge of more than two that are not its first two.
static void drop_extras(Work *w) {
    for (int t = 0; t < w->ntri; t++) {
        if (!w->in[t]) continue;
        int v[3];
        welded(&w->rig->mesh, t, v);
        for (int s = 0; s < 3; s++) {
            if (w->next[3 * (size_t)t + s] >= 0) continue;
            int a = FA_MIN(v[s], v[(s + 1) % 3]), b = FA_MAX(v[s], v[(s + 1) % 3]), lo = 0, hi = w->topo->nedge;
            while (lo < hi) {
                int mid = (lo + hi) / 2;
                const int *e = w->topo->edge[mid];
                if (e[0] < a || (e[0] == a && e[1] < b))
                    lo = mid + 1;
                else
                    hi = mid;
            }
            if (lo < w->topo->nedge && w->topo->edge_tris[lo] > 1 && w->in[t]) w->in[t] = 0, w->dropped++;
        }
    }
}

static double patch_area(const Work *w, int t) {
    int v[3];
    double normal[3];
    welded(&w->rig->mesh, t, v);
    return tri_area(w->rig->mesh.x, v, normal);
}

// Number the pieces of triangles with in == value, connected by edges; returns how many. area: of each (room: ntri).
static int pieces(Work *w, int value, double *area) {
    int n = 0;
    for (int t = 0; t < w->ntri; t++) w->piece[t] = -1;
    for (int t = 0; t < w->ntri; t++) {
        if (w->piece[t] >= 0 || w->in[t] != value || !usable(w, t)) continue;
        int head = 0, tail = 0;
        area[n] = 0;
        w->queue[tail++] = t;
        w->piece[t] = n;
        while (head < tail) {
            int at = w->queue[head++];
            area[n] += patch_area(w, at);
            for (int s = 0; s < 3; s++) {
                int to = w->next[3 * (size_t)at + s];
                if (to < 0 || w->piece[to] >= 0 || w->in[to] != value || !usable(w, to)) continue;
                w->piece[to] = n;
                w->queue[tail++] = to;
            }
        }
        n++;
    }
    return n;
}

static void close_holes(Work *w, double *area) {
    int n = pieces(w, 0, area);
    double all = 0;
    for (int t = 0; t < w->ntri; t++)
        if (w->in[t]) all += patch_area(w, t);
    (void)n;
    for (int t = 0; t < w->ntri; t++)
        if (w->piece[t] >= 0 && area[w->piece[t]] < HOLE_AREA * all) w->in[t] = 1;
}

static void keep_largest(Work *w, double *area) {
    int n = pieces(w, 1, area), best = 0;
    for (int i = 1; i < n; i++)
        if (area[i] > area[best]) best = i;
    for (int t = 0; t < w->ntri; t++)
        if (w->piece[t] != best) w->in[t] = 0;
}

// One fan of triangles per vertex: where several meet in a point only the largest stays. around: triangles of each
// vertex. Returns how many triangles went.
static int drop_bow_ties(Work *w, const int *start, const int *list) {
    int gone = 0;
    for (int v = 0; v < w->rig->mesh.nvert; v++) {
        int first = start[v], n = start[v + 1] - first, fans = 0, best = -1, best_size = 0;
        for (int i = 0; i < n; i++) w->piece[list[first + i]] = -1;
        for (int i = 0; i < n; i++) {
            if (!w->in[list[first + i]] || w->piece[list[first + i]] >= 0) continue;
            int head = 0, tail = 0;
            w->queue[tail++] = list[first + i];
            w->piece[list[first + i]] = fans;
            while (head < tail) {
                int at = w->queue[head++], u[3];
                welded(&w->rig->mesh, at, u);
                for (int s = 0; s < 3; s++) {
                    int to = w->next[3 * (size_t)at + s];
                    if ((u[s] != v && u[(s + 1) % 3] != v) || to < 0 || !w->in[to] || w->piece[to] >= 0) continue;
                    w->piece[to] = fans;
                    w->queue[tail++] = to;
                }
            }
            if (tail > best_size) best_size = tail, best = fans;
            fans++;
        }
        for (int i = 0; fans > 1 && i < n; i++) {
            int t = list[first + i];
            if (w->in[t] && w->piece[t] != best) w->in[t] = 0, gone++;
        }
    }
    return gone;
}

// Let all triangles run the same way round, outwards. Those that cannot (a one-sided strip) are dropped.
static void orient(Work *w) {
    for (int t = 0; t < w->ntri; t++) w->piece[t] = -1;
    double centre[3] = {0}, all = 0, outwards = 0, normal[3], p[3];
    for (int t = 0; t < w->ntri; t++) {
        if (!w->in[t] || w->piece[t] >= 0) continue;
        int head = 0, tail = 0;
        w->queue[tail++] = t;
        w->piece[t] = 0;
        while (head < tail) {
            int at = w->queue[head++];
            for (int s = 0; s < 3; s++) {
                int to = w->next[3 * (size_t)at + s];
                if (to < 0 || !w->in[to]) continue;
                unsigned char turn = (unsigned char)(w->turn[at] ^ ((w->same[at] >> s) & 1));
                if (w->piece[to] < 0) {
                    w->piece[to] = 0;
                    w->turn[to] = turn;
                    w->queue[tail++] = to;
                } else if (w->turn[to] != turn)
                    w->in[to] = 0, w->dropped++;
            }
        }
    }
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < w->ntri; t++) {
            if (!w->in[t]) continue;
            int v[3];
            welded(&w->rig->mesh, t, v);
            double area = tri_area(w->rig->mesh.x, v, normal), mid[3] = {0};
            for (int k = 0; k < 3; k++) {
                fai_v3_load(w->rig->mesh.x, v[k], p);
                fai_v3_mad(mid, 1.0 / 3, p, mid);
            }
            if (!pass)
                fai_v3_mad(centre, area, mid, centre), all += area;
            else {
                for (int k = 0; k < 3; k++) mid[k] -= centre[k] / all;
                outwards += (w->turn[t] ? -1 : 1) * fai_v3_dot(normal, mid);
            }
        }
    for (int t = 0; t < w->ntri; t++)
        if (w->in[t]) w->turn[t] ^= outwards < 0, w->flipped += w->turn[t];
}

// --- the result -----------------------------------------------------------------------------------------------------

static FaCode collect(const Work *w, FaArena *arena, FaPatch *p, FaError *err) {
    const FaMesh *mesh = &w->rig->mesh;
    p->node_of_vertex = FA_PUSH(arena, mesh->nvert, int);
    if (!p->node_of_vertex) return FA_FAIL_MEMORY(err);
    p->ntri = p->nskin = 0;
    for (int t = 0; t < w->ntri; t++)
        if (w->in[t]) {
            int v[3];
            welded(mesh, t, v);
            for (int k = 0; k < 3; k++) p->node_of_vertex[v[k]] = 1;
            p->ntri++;
            p->area += patch_area(w, t);
        }
    for (int v = 0; v < mesh->nvert; v++)
        p->node_of_vertex[v] = fai_weld(mesh, v) == v && p->node_of_vertex[v] ? p->nskin++ : -1;
    for (int v = 0; v < mesh->nvert; v++) p->node_of_vertex[v] = p->node_of_vertex[fai_weld(mesh, v)];
    p->skin_vertex = FA_PUSH(arena, p->nskin, int);
    p->tri = FA_PUSH(arena, 3 * (size_t)p->ntri, int);
    p->rig_tri = FA_PUSH(arena, p->ntri, int);
    p->rim = FA_PUSH(arena, p->nskin, unsigned char);
    if (!p->skin_vertex || !p->tri || !p->rig_tri || !p->rim) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < mesh->nvert; v++)
        if (fai_weld(mesh, v) == v && p->node_of_vertex[v] >= 0) p->skin_vertex[p->node_of_vertex[v]] = v;
    for (int t = 0, n = 0; t < w->ntri; t++) {
        if (!w->in[t]) continue;
        int v[3], back = w->turn[t];
        welded(mesh, t, v);
        for (int k = 0; k < 3; k++) p->tri[3 * (size_t)n + k] = p->node_of_vertex[v[back ? 2 - k : k]];
        p->rig_tri[n++] = t;
        for (int s = 0; s < 3; s++) {
            int to = w->next[3 * (size_t)t + s];
            // a hole where a fold was left out is no edge: the corners around it are simulated all the same
            if (to >= 0 && (w->in[to] || (w->options->banned && w->options->banned[to]))) continue;
            p->rim[p->node_of_vertex[v[s]]] = p->rim[p->node_of_vertex[v[(s + 1) % 3]]] = 1;
        }
    }
    p->dropped = w->dropped;
    p->flipped = w->flipped;
    return FA_OK;
}

// Triangles around each welded vertex, as lists.
static FaCode triangle_lists(const FaMesh *mesh, FaArena *arena, int **start, int **list, FaError *err) {
    *start = FA_PUSH(arena, mesh->nvert + 1, int);
    *list = FA_PUSH(arena, 3 * (size_t)mesh->ntri, int);
    if (!*start || !*list) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < 3 * (size_t)mesh->ntri; i++) (*start)[fai_weld(mesh, mesh->tri[i]) + 1]++;
    for (int v = 0; v < mesh->nvert; v++) (*start)[v + 1] += (*start)[v];
    for (int i = 3 * mesh->ntri - 1; i >= 0; i--) {
        int v = fai_weld(mesh, mesh->tri[i]);
        (*list)[--(*start)[v + 1]] = i / 3; // the ends run down to the starts
    }
    for (int v = 0; v < mesh->nvert; v++) (*start)[v] = (*start)[v + 1];
    (*start)[mesh->nvert] = 3 * mesh->ntri;
    return FA_OK;
}

static FaCode find_region(Work *w, FaPatch *p, FaArena *arena, FaArena *scratch, FaError *err) {
    int *start, *list;
    double *area = FA_PUSH(scratch, w->ntri, double);
    w->in = FA_PUSH(scratch, w->ntri, unsigned char);
    w->turn = FA_PUSH(scratch, w->ntri, unsigned char);
    w->same = FA_PUSH(scratch, w->ntri, unsigned char);
    w->piece = FA_PUSH(scratch, w->ntri, int);
    w->queue = FA_PUSH(scratch, w->ntri, int);
    w->next = FA_PUSH(scratch, 3 * (size_t)w->ntri, int);
    if (!area || !w->in || !w->turn || !w->same || !w->piece || !w->queue || !w->next) return FA_FAIL_MEMORY(err);
    FA_TRY(triangle_lists(&w->rig->mesh, scratch, &start, &list, err));
    FA_TRY(select_moved(w, p->motion, err));
    link(w);
    close_holes(w, area);
    for (int t = 0; t < w->ntri; t++) {
        if (w->in[t] && !usable(w, t)) w->in[t] = 0, w->dropped++;
        if (w->options->banned && w->options->banned[t]) w->in[t] = 0;
    }
    drop_extras(w);
    keep_largest(w, area);
    orient(w);
    for (int round = 0; round < 100 && drop_bow_ties(w, start, list); round++) keep_largest(w, area);
    keep_largest(w, area);
    return collect(w, arena, p, err);
}

FaCode fai_patch_find(const FaRig *rig, const FaTopology *topo, const FaPatchOptions *options, FaArena *arena,
                      FaPatch *p, FaError *err) {
    *p = (FaPatch){0};
    p->motion = FA_PUSH(arena, rig->mesh.nvert, float);
    if (!p->motion) return FA_FAIL_MEMORY(err);
    find_motion(rig, p->motion);
    FA_TRY(find_part(rig, topo, p->motion, &p->part, &p->part_area, err));
    if (p->part < 0)
        return FA_FAIL(err, FA_E_MESH, NULL, "give a rig with blendshapes, or choose its face with --mesh",
                       "no shape moves any part of the mesh by more than 0.3 mm: there is no skin to simulate");
    FaArena *scratch = fai_arena_new(0);
    if (!scratch) return FA_FAIL_MEMORY(err);
    Work w = {.rig = rig, .topo = topo, .options = options, .part = p->part, .ntri = rig->mesh.ntri};
    FaCode rc = find_region(&w, p, arena, scratch, err);
    fai_arena_free(scratch);
    if (rc >= 0 && p->ntri == 0)
        return FA_FAIL(err, FA_E_MESH, NULL, "check the mesh with fascia info", "the skin has no usable triangles");
    return rc;
}
