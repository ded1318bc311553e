// Based on: Bowyer 1981, Watson 1981: each point removes the tets whose sphere it lies in, and is joined to the faces
// around the hole. Points come along a space-filling curve, so that each is found a few steps from the last.
//
// Outside of the hull there are tets too, with one corner at infinity: GHOST. A point lies "in their sphere" if it lies
// strictly beyond the face, or in its plane and strictly inside the sphere of the tet behind it. With spheres taken
// strictly and signs exact, the hole is seen whole from the point, and no new tet is flat: a point in the plane of a
// face of the hole and inside the one sphere at it is inside the circle both spheres have in common, thus in both.
#include "mesh/delaunay.h"

#include "math/predicates.h"

#include <math.h>
#include <stdlib.h>

enum { GHOST = -1, GONE = -2 };

typedef struct Tet {
    int v[4];    // fai_orient3d > 0, a ghost taken as a point beyond the face; v[0] GONE: not in use
    int near[4]; // opposite to v[i]
    int mark;    // number of the point that removed it, or looked at it last
    bool hit;    // what it saw
} Tet;

typedef struct Face {
    int tet, side; // the new tet, and which of its corners is the new point
} Face;

typedef struct Edge {
    int a, b, stamp, tet, side;
} Edge;

typedef struct Work {
    const float *x;
    Tet *tet;
    int ntet, room, alive;
    int *unused, nunused, unused_room;
    int *hole, nhole, hole_room; // tets to remove: the list grows while it is walked
    Face *face;
    int nface, face_room;
    Edge *edge; // of the hole's faces, hashed; stale where the stamp is another
    int edge_bits, stamp;
    int last; // where to begin looking
} Work;

static const float *at(const Work *w, int v) { return w->x + 3 * (size_t)v; }

// --- order of insertion ---------------------------------------------------------------------------------------------

typedef struct Key {
    uint64_t code;
    int i;
} Key;

static int by_code(const void *p, const void *q) {
    const Key *a = p, *b = q;
    if (a->code != b->code) return a->code < b->code ? -1 : 1;
    return a->i < b->i ? -1 : a->i > b->i;
}

static uint64_t spread(uint64_t v) { // 21 bits, two zeros after each
    v = (v | v << 32) & 0x1f00000000ffffULL;
    v = (v | v << 16) & 0x1f0000ff0000ffULL;
    v = (v | v << 8) & 0x100f00f00f00f00fULL;
    v = (v | v << 4) & 0x10c30c30c30c30c3ULL;
    return (v | v << 2) & 0x1249249249249249ULL;
}

static FaCode sort_points(int n, const float *x, Key *key, FaError *err) {
    double lo[3] = {INFINITY, INFINITY, INFINITY}, size = 0;
    for (size_t i = 0; i < 3 * (size_t)n; i++) {
        if (!isfinite(x[i]))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("point %d", (int)(i / 3)), NULL, "a coordinate is not finite");
        lo[i % 3] = fmin(lo[i % 3], (double)x[i]);
    }
    for (size_t i = 0; i < 3 * (size_t)n; i++) size = fmax(size, (double)x[i] - lo[i % 3]);
    double scale = size > 0 ? 2097151 / size : 0;
    for (int i = 0; i < n; i++) {
        key[i] = (Key){.i = i};
        for (int k = 0; k < 3; k++)
            key[i].code |= spread((uint64_t)(((double)x[3 * (size_t)i + (size_t)k] - lo[k]) * scale)) << k;
    }
    qsort(key, (size_t)n, sizeof *key, by_code);
    return FA_OK;
}

// --- tets -----------------------------------------------------------------------------------------------------------

static int new_tet(Work *w) {
    w->alive++;
    if (w->nunused) return w->unused[--w->nunused];
    if (w->ntet == w->room) {
        Tet *more = fai_grow_array(w->tet, &w->room, w->ntet + 1, sizeof *more);
        if (!more) return -1;
        w->tet = more;
    }
    return w->ntet++;
}

static bool push(int **list, int *n, int *room, int value) {
    if (*n == *room) {
        int *more = fai_grow_array(*list, room, *n + 1, sizeof *more);
        if (!more) return false;
        *list = more;
    }
    (*list)[(*n)++] = value;
    return true;
}

static int ghost_side(const Tet *t) {
    for (int k = 0; k < 4; k++)
        if (t->v[k] == GHOST) return k;
    return -1;
}

// Side of p as seen from the face opposite to corner k: 1 on that corner's side.
static int side_of(const Work *w, const Tet *t, int k, const float *p) {
    const float *c[4];
    for (int i = 0; i < 4; i++) c[i] = i == k ? p : at(w, t->v[i]);
    return fai_orient3d(c[0], c[1], c[2], c[3]);
}

static bool in_sphere(const Work *w, int tet, const float *p) {
    const Tet *t = &w->tet[tet];
    int ghost = ghost_side(t);
    if (ghost >= 0) {
        int beyond = side_of(w, t, ghost, p);
        if (beyond) return beyond > 0;
        t = &w->tet[t->near[ghost]];
    }
    return fai_insphere(at(w, t->v[0]), at(w, t->v[1]), at(w, t->v[2]), at(w, t->v[3]), p) > 0;
}

static bool same_place(const float *p, const float *q) { return p[0] == q[0] && p[1] == q[1] && p[2] == q[2]; }

// A tet in whose sphere p lies, by walking towards it; or -1, and *twin: the corner at its place.
static int find(const Work *w, const float *p, int *twin) {
    int t = w->last, ghost = ghost_side(&w->tet[t]), next;
    if (ghost >= 0) t = w->tet[t].near[ghost];
    do {
        next = -1;
        for (int k = 0; k < 4 && next < 0; k++)
            if (side_of(w, &w->tet[t], k, p) < 0) next = w->tet[t].near[k];
        if (next < 0) break;
        t = next;
    } while (ghost_side(&w->tet[t]) < 0);
    for (int k = 0; k < 4; k++) {
        int v = w->tet[t].v[k];
        if (v != GHOST && same_place(at(w, v), p)) {
            *twin = v;
            return -1;
        }
    }
    return t;
}

// --- one point ------------------------------------------------------------------------------------------------------

static Edge *edge_at(Work *w, int a, int b) {
    const uint64_t key = (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
    const int mask = (1 << w->edge_bits) - 1;
    int i = (int)(key * 0x9e3779b97f4a7c15ULL >> (64 - w->edge_bits));
    while (w->edge[i].stamp == w->stamp && (w->edge[i].a != a || w->edge[i].b != b)) i = (i + 1) & mask;
    return &w->edge[i];
}

// The other three corners of a tet, so that they run one way round as seen from corner k.
static const int others[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

// Tets around the hole: p in place of the corner behind each of its faces.
static FaCode fill_faces(Work *w, int point, FaError *err) {
    w->nface = 0;
    for (int h = 0; h < w->nhole; h++)
        for (int k = 0; k < 4; k++) {
            int old = w->hole[h], out = w->tet[old].near[k];
            if (w->tet[out].mark == point && w->tet[out].hit) continue;
            int new = new_tet(w);
            if (new < 0) return FA_FAIL_MEMORY(err);
            if (w->nface == w->face_room) {
                Face *more = fai_grow_array(w->face, &w->face_room, w->nface + 1, sizeof *more);
                if (!more) return FA_FAIL_MEMORY(err);
                w->face = more;
            }
            w->face[w->nface++] = (Face){new, k};
            w->tet[new] = w->tet[old];
            w->tet[new].v[k] = point;
            w->tet[new].mark = -1;
            for (int j = 0; j < 4; j++)
                if (w->tet[out].near[j] == old) w->tet[out].near[j] = new;
        }
    return FA_OK;
}

static FaCode room_for_edges(Work *w, FaError *err) {
    int bits = FA_MAX(w->edge_bits, 8);
    while (1 << bits < 6 * w->nface) bits++;
    if (bits != w->edge_bits) {
        Edge *more = FA_NEW((size_t)1 << bits, Edge);
        if (!more) return FA_FAIL_MEMORY(err);
        fa_free(w->edge);
        w->edge = more;
        w->edge_bits = bits;
        w->stamp = 0;
    }
    w->stamp++;
    return FA_OK;
}

// New tets side by side: each edge of the hole's surface has two faces, which run along it in opposite ways.
static void join_faces(Work *w) {
    for (int f = 0; f < w->nface; f++) {
        Tet *t = &w->tet[w->face[f].tet];
        const int *ring = others[w->face[f].side];
        for (int k = 0; k < 3; k++) {
            int a = t->v[ring[k]], b = t->v[ring[(k + 1) % 3]], side = ring[(k + 2) % 3];
            Edge *twin = edge_at(w, b, a);
            if (twin->stamp == w->stamp) {
                t->near[side] = twin->tet;
                w->tet[twin->tet].near[twin->side] = w->face[f].tet;
            } else
                *edge_at(w, a, b) = (Edge){a, b, w->stamp, w->face[f].tet, side};
        }
    }
}

static FaCode insert(Work *w, int point, int *same, FaError *err) {
    const float *p = at(w, point);
    int first = find(w, p, same);
    if (first < 0) return FA_OK;
    w->nhole = 0;
    w->tet[first].mark = point, w->tet[first].hit = true;
    if (!push(&w->hole, &w->nhole, &w->hole_room, first)) return FA_FAIL_MEMORY(err);
    for (int h = 0; h < w->nhole; h++)
        for (int k = 0; k < 4; k++) {
            int n = w->tet[w->hole[h]].near[k];
            Tet *t = &w->tet[n];
            if (t->mark == point) continue;
            t->mark = point;
            t->hit = in_sphere(w, n, p);
            if (t->hit && !push(&w->hole, &w->nhole, &w->hole_room, n)) return FA_FAIL_MEMORY(err);
        }
    FA_TRY(fill_faces(w, point, err));
    FA_TRY(room_for_edges(w, err));
    join_faces(w);
    for (int h = 0; h < w->nhole; h++) {
        w->tet[w->hole[h]].v[0] = GONE;
        w->alive--;
        if (!push(&w->unused, &w->nunused, &w->unused_room, w->hole[h])) return FA_FAIL_MEMORY(err);
    }
    w->last = w->face[0].tet;
    return FA_OK;
}

// --- start and end --------------------------------------------------------------------------------------------------

static bool on_line(const float *a, const float *b, const float *c) {
    return fai_orient2d(a, b, c, 0, 1) == 0 && fai_orient2d(a, b, c, 1, 2) == 0 && fai_orient2d(a, b, c, 2, 0) == 0;
}

// The first four points, in the order of insertion, that span a tet. False: there are none.
static bool span(const Work *w, const Key *key, int n, int v[4]) {
    int found = 0;
    for (int i = 0; i < n && found < 4; i++) {
        const float *p = at(w, key[i].i);
        if (found == 1 && same_place(at(w, v[0]), p)) continue;
        if (found == 2 && on_line(at(w, v[0]), at(w, v[1]), p)) continue;
        if (found == 3 && fai_orient3d(at(w, v[0]), at(w, v[1]), at(w, v[2]), p) == 0) continue;
        v[found++] = key[i].i;
    }
    if (found == 4 && fai_orient3d(at(w, v[0]), at(w, v[1]), at(w, v[2]), at(w, v[3])) < 0) {
        int swap = v[0];
        v[0] = v[1], v[1] = swap;
    }
    return found == 4;
}

// The first tet and the four ghosts beyond its faces.
static FaCode begin(Work *w, const int v[4], FaError *err) {
    for (int i = 0; i < 5; i++)
        if (new_tet(w) != i) return FA_FAIL_MEMORY(err);
    w->tet[0] = (Tet){.v = {v[0], v[1], v[2], v[3]}, .near = {1, 2, 3, 4}, .mark = -1};
    for (int k = 0; k < 4; k++) {
        // a ghost in place of corner k would lie on the inner side: two other corners change places
        Tet *t = &w->tet[k + 1];
        *t = w->tet[0];
        t->v[k] = GHOST;
        t->near[k] = 0;
        for (int j = 0; j < 4; j++)
            if (j != k) t->near[j] = j + 1;
        int a = (k + 1) % 4, b = (k + 2) % 4, swap = t->v[a];
        t->v[a] = t->v[b], t->v[b] = swap;
        swap = t->near[a];
        t->near[a] = t->near[b], t->near[b] = swap;
    }
    return FA_OK;
}

static FaCode take(Work *w, FaDelaunay *out, FaError *err) {
    int *number = FA_NEW(w->ntet, int);
    out->tet = FA_NEW(4 * (size_t)w->alive, int);
    out->near = FA_NEW(4 * (size_t)w->alive, int);
    if (!number || !out->tet || !out->near) {
        fa_free(number);
        return FA_FAIL_MEMORY(err);
    }
    for (int t = 0; t < w->ntet; t++)
        number[t] = w->tet[t].v[0] == GONE || ghost_side(&w->tet[t]) >= 0 ? -1 : out->ntet++;
    for (int t = 0; t < w->ntet; t++)
        for (int k = 0; k < 4 && number[t] >= 0; k++) {
            out->tet[4 * (size_t)number[t] + (size_t)k] = w->tet[t].v[k];
            out->near[4 * (size_t)number[t] + (size_t)k] = number[w->tet[t].near[k]];
        }
    fa_free(number);
    return FA_OK;
}

static FaCode build(Work *w, int n, Key *key, FaDelaunay *out, FaError *err) {
    int v[4];
    FA_TRY(sort_points(n, w->x, key, err));
    for (int i = 0; i < n; i++) out->same[i] = i;
    if (span(w, key, n, v)) {
        FA_TRY(begin(w, v, err));
        for (int i = 0; i < n; i++) {
            int p = key[i].i;
            if (p != v[0] && p != v[1] && p != v[2] && p != v[3]) FA_TRY(insert(w, p, &out->same[p], err));
            out->repeated += out->same[p] != p;
        }
    }
    return take(w, out, err);
}

FaCode fai_delaunay(int n, const float *x, FaDelaunay *out, FaError *err) {
    Work w = {.x = x};
    *out = (FaDelaunay){.same = FA_NEW(n, int)};
    Key *key = FA_NEW(n, Key);
    FaCode rc = key && out->same ? build(&w, n, key, out, err) : FA_FAIL_MEMORY(err);
    fa_free(key);
    fa_free(w.tet);
    fa_free(w.unused);
    fa_free(w.hole);
    fa_free(w.face);
    fa_free(w.edge);
    if (rc < 0) fai_delaunay_free(out);
    return rc;
}

void fai_delaunay_free(FaDelaunay *d) {
    fa_free(d->tet);
    fa_free(d->near);
    fa_free(d->same);
    *d = (FaDelaunay){0};
}
