// Triangle meshes: triangulation, adjacency, parts, boundaries, areas, normals, volumes.
//
// Everything here is linear in the mesh but the ear clipping, which has a budget: files come from anywhere, and a
// polygon with a million corners must not hang the reader.
#include "mesh/mesh.h"

#include "math/mat3.h"

#include <float.h>
#include <limits.h>

// --- triangulation ------------------------------------------------------------------------------------------------

// Point-in-triangle tests that the ear clipping of one mesh may spend, about half a second. A million concave octagons
// need half of it; polygons that come after it is spent are fanned and counted as failed.
static const int64_t EAR_BUDGET = 200000000;
// Up to this many corners the best-shaped ear is cut each time; above, the first one found.
enum { EAR_BEST_MAX = 32 };

// One polygon flattened into its best-fit plane. Corners still to be cut form a ring by next/prev.
typedef struct Ring {
    double (*p)[2];   // corners in the plane                (n)
    int *next, *prev; //                                     (n)
    bool *reflex;     // turns right or not at all           (n)
    double tiny;      // twice the area that counts as none
    int64_t *budget;
} Ring;

static double cross2(const double a[2], const double b[2], const double c[2]) {
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

// Newell's normal: its length is twice the area of the projected polygon, for flat and warped ones alike.
// Returns the sum of squared edge lengths, a scale to judge that area by.
static double newell(const float *x, const int *corner, int n, double normal[3]) {
    double origin[3], a[3], b[3], side[3], turn[3], scale = 0;
    fai_v3_load(x, corner[0], origin);
    fai_v3_load(x, corner[n - 1], a);
    fai_v3_sub(a, origin, a);
    fai_v3_set(normal, 0, 0, 0);
    for (int i = 0; i < n; i++) {
        fai_v3_load(x, corner[i], b);
        fai_v3_sub(b, origin, b);
        fai_v3_sub(b, a, side);
        fai_v3_cross(a, b, turn);
        fai_v3_add(normal, turn, normal);
        scale += fai_v3_dot(side, side);
        memcpy(a, b, sizeof a);
    }
    return scale;
}

// Flatten the corners so that the polygon runs counter-clockwise. False for a polygon without area.
static bool flatten(const float *x, const int *corner, int n, double (*p)[2], double *tiny) {
    double normal[3], u[3], v[3], origin[3], q[3];
    double scale = newell(x, corner, n, normal);
    if (!(fai_v3_norm(normal) > 1e-12 * scale) || !fai_v3_normalize(normal)) return false;

    // a right-handed frame (u, v, normal): start from the axis the normal is furthest from
    int axis = fabs(normal[0]) <= fabs(normal[1]) ? 0 : 1;
    if (fabs(normal[2]) < fabs(normal[axis])) axis = 2;
    double side = sqrt(1 - normal[axis] * normal[axis]);
    for (int k = 0; k < 3; k++) u[k] = ((k == axis) - normal[axis] * normal[k]) / side;
    fai_v3_cross(normal, u, v);

    fai_v3_load(x, corner[0], origin);
    for (int i = 0; i < n; i++) {
        fai_v3_load(x, corner[i], q);
        fai_v3_sub(q, origin, q);
        p[i][0] = fai_v3_dot(u, q);
        p[i][1] = fai_v3_dot(v, q);
    }
    *tiny = 1e-12 * scale;
    return true;
}

// Strictly convex and once around: every corner turns left, and the edges' direction crosses the x axis twice.
// (A pentagram turns left everywhere but goes round twice.)
static bool is_convex(double (*p)[2], int n, double tiny) {
    int turns = 0;
    for (int i = 0; i < n; i++) {
        const double *a = p[i], *b = p[(i + 1) % n], *c = p[(i + 2) % n];
        if (!(cross2(a, b, c) > tiny)) return false;
        turns += (b[1] - a[1] >= 0) != (c[1] - b[1] >= 0);
    }
    return turns <= 2;
}

static bool same2(const double a[2], const double b[2]) { return a[0] == b[0] && a[1] == b[1]; }

// Does q lie between the directions from a to b and from a to c (less than half a turn, leftwards)?
static bool in_wedge(const double a[2], const double b[2], const double c[2], const double q[2]) {
    return cross2(a, b, q) > 0 && cross2(a, q, c) > 0;
}

// May corner i be cut off? Not if another corner lies in the cut triangle or on its rim. A corner at the very place of
// one of the triangle's own (a bridge to a hole, a pinch) only blocks it if the polygon enters the triangle there.
static bool is_ear(const Ring *r, int i) {
    int h = r->prev[i], j = r->next[i];
    const double *a = r->p[h], *b = r->p[i], *c = r->p[j];
    if (!(cross2(a, b, c) > r->tiny)) return false;
    double lo0 = fmin(a[0], fmin(b[0], c[0])), hi0 = fmax(a[0], fmax(b[0], c[0]));
    double lo1 = fmin(a[1], fmin(b[1], c[1])), hi1 = fmax(a[1], fmax(b[1], c[1]));
    for (int k = r->next[j]; k != h; k = r->next[k]) {
        --*r->budget;
        const double *q = r->p[k];
        if (!r->reflex[k] || q[0] < lo0 || q[0] > hi0 || q[1] < lo1 || q[1] > hi1) continue;
        if (same2(q, a) || same2(q, b) || same2(q, c)) {
            const double *from = r->p[r->prev[k]], *to = r->p[r->next[k]];
            bool enters = same2(q, a)   ? in_wedge(a, b, c, from) || in_wedge(a, b, c, to)
                          : same2(q, b) ? in_wedge(b, c, a, from) || in_wedge(b, c, a, to)
                                        : in_wedge(c, a, b, from) || in_wedge(c, a, b, to);
            if (enters) return false;
            continue;
        }
        if (cross2(a, b, q) >= 0 && cross2(b, c, q) >= 0 && cross2(c, a, q) >= 0) return false;
    }
    return true;
}

// The corner to cut next, or -1. Shape = area over squared sides: thin triangles come last.
static int find_ear(const Ring *r, int start, int left, bool best_shaped) {
    int best = -1, i = start;
    double best_shape = 0;
    for (int step = 0; step < left; step++, i = r->next[i]) {
        if (--*r->budget < 0) break;
        const double *a = r->p[r->prev[i]], *b = r->p[i], *c = r->p[r->next[i]];
        double sides = 0;
        for (int k = 0; k < 2; k++)
            sides += (b[k] - a[k]) * (b[k] - a[k]) + (c[k] - b[k]) * (c[k] - b[k]) + (a[k] - c[k]) * (a[k] - c[k]);
        double shape = cross2(a, b, c) / fmax(sides, DBL_MIN);
        if (shape > best_shape && is_ear(r, i)) {
            best = i;
            best_shape = shape;
            if (!best_shaped) break;
        }
    }
    return best;
}

// A corner that repeats its neighbour or ends a spike: it encloses nothing, is no ear, and is always safe to cut.
// (A corner on a straight side is left to the ears beside it.)
static bool is_folded(const Ring *r, int i) {
    const double *a = r->p[r->prev[i]], *b = r->p[i], *c = r->p[r->next[i]];
    bool turns_back = (a[0] - b[0]) * (c[0] - b[0]) + (a[1] - b[1]) * (c[1] - b[1]) >= 0;
    return turns_back && fabs(cross2(a, b, c)) <= r->tiny;
}

static void mark_reflex(Ring *r, int i) { r->reflex[i] = !(cross2(r->p[r->prev[i]], r->p[i], r->p[r->next[i]]) > 0); }

// Write the triangle of corner i and take the corner out of the ring.
static void cut_off(Ring *r, int i, int **tri) {
    int h = r->prev[i], j = r->next[i];
    int *t = *tri;
    t[0] = h;
    t[1] = i;
    t[2] = j;
    *tri += 3;
    r->next[h] = j;
    r->prev[j] = h;
    mark_reflex(r, h);
    mark_reflex(r, j);
}

// Cut ears until a triangle is left. tri: n - 2 triples of corner numbers. False: no ear was found (the polygon crosses
// itself) or the budget is spent; what was left then is fanned.
static bool clip_ears(Ring *r, int n, int *tri) {
    for (int i = 0; i < n; i++) {
        r->next[i] = i + 1 < n ? i + 1 : 0;
        r->prev[i] = i > 0 ? i - 1 : n - 1;
    }
    for (int i = 0; i < n; i++) mark_reflex(r, i);
    bool good = true;
    int at = 0, left = n, unfolded = 0; // that many corners before `at` are known not to be folded
    for (; left > 3 && good; left--) {
        while (unfolded < left && !is_folded(r, at)) {
            at = r->next[at];
            unfolded++;
        }
        int ear = unfolded < left ? at : find_ear(r, at, left, n <= EAR_BEST_MAX);
        good = ear >= 0;
        if (!good) break;
        // its two neighbours have changed, and are looked at again
        at = r->prev[ear];
        unfolded = unfolded < left ? FA_MAX(unfolded - 1, 0) : left - 3;
        cut_off(r, ear, &tri);
    }
    for (; left > 3; left--) cut_off(r, r->next[at], &tri);
    // all cuts turned left; of a polygon that crosses itself, what remains may not
    double rest = cross2(r->p[r->prev[at]], r->p[at], r->p[r->next[at]]);
    cut_off(r, r->next[at], &tri);
    return good && rest >= -r->tiny;
}

static void fan(int n, int *tri) {
    for (int i = 0; i + 2 < n; i++, tri += 3) {
        tri[0] = 0;
        tri[1] = i + 1;
        tri[2] = i + 2;
    }
}

// Triangles of one polygon, as corner numbers. False: fell back to a fan that may overlap itself.
static bool cut_polygon(const float *x, const int *corner, int n, Ring *ring, int *tri) {
    if (n == 3) {
        fan(n, tri);
        return true;
    }
    if (!flatten(x, corner, n, ring->p, &ring->tiny)) {
        fan(n, tri);
        return false;
    }
    if (is_convex(ring->p, n, ring->tiny)) {
        fan(n, tri);
        return true;
    }
    return clip_ears(ring, n, tri);
}

FaCode fai_mesh_triangulate(FaMesh *mesh, FaArena *arena, int *concave_failed, FaError *err) {
    int ntri = 0, most = 0, failed = 0;
    for (int f = 0; f < mesh->nface; f++) {
        int n = mesh->face_start[f + 1] - mesh->face_start[f];
        if (n > 2) ntri += n - 2;
        most = FA_MAX(most, n);
    }
    int *tri = FA_PUSH(arena, 3 * (size_t)ntri, int);
    int *tri_face = FA_PUSH(arena, ntri, int);
    int64_t budget = EAR_BUDGET;
    Ring ring = {.p = fai_alloc_array((size_t)most, 2 * sizeof(double)),
                 .next = FA_NEW(most, int),
                 .prev = FA_NEW(most, int),
                 .reflex = FA_NEW(most, bool),
                 .budget = &budget};
    bool room = tri && tri_face && ring.p && ring.next && ring.prev && ring.reflex;

    int t = 0;
    for (int f = 0; room && f < mesh->nface; f++) {
        const int *corner = mesh->face_vert + mesh->face_start[f];
        int n = mesh->face_start[f + 1] - mesh->face_start[f];
        if (n < 3) continue;
        failed += !cut_polygon(mesh->x, corner, n, &ring, tri + 3 * (size_t)t);
        for (int i = 0; i < n - 2; i++, t++) {
            for (int k = 0; k < 3; k++) tri[3 * (size_t)t + k] = corner[tri[3 * (size_t)t + k]];
            tri_face[t] = f;
        }
    }

    fa_free(ring.p);
    fa_free(ring.next);
    fa_free(ring.prev);
    fa_free(ring.reflex);
    if (!room) return FA_FAIL_MEMORY(err);
    mesh->ntri = ntri;
    mesh->tri = tri;
    mesh->tri_face = tri_face;
    if (concave_failed) *concave_failed = failed;
    return FA_OK;
}

// --- check --------------------------------------------------------------------------------------------------------

static FaCode check_faces(const FaMesh *mesh, FaError *err) {
    const char *remedy = "repair the faces in a modelling program and export again";
    if (mesh->nface == 0) return FA_OK;
    if (!mesh->face_start || mesh->face_start[0] != 0)
        return FA_FAIL(err, FA_E_MESH, "face 0", NULL, "the first face does not start at corner 0");
    for (int f = 0; f < mesh->nface; f++)
        if (mesh->face_start[f + 1] < mesh->face_start[f])
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("face %d", f), NULL, "the face ends before it starts");
    int ncorner = mesh->face_start[mesh->nface];
    if (ncorner > 0 && !mesh->face_vert)
        return FA_FAIL(err, FA_E_MESH, NULL, NULL, "the mesh has faces but no corners");
    for (int f = 0; f < mesh->nface; f++)
        for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++) {
            int v = mesh->face_vert[c], at = c - mesh->face_start[f];
            if (v < 0 || v >= mesh->nvert)
                return FA_FAIL(err, FA_E_MESH, FA_PLACE("face %d, corner %d", f, at), remedy,
                               "vertex %d does not exist: there are %d", v, mesh->nvert);
            int uv = mesh->face_uv ? mesh->face_uv[c] : -1;
            if (uv < -1 || uv >= mesh->nuv)
                return FA_FAIL(err, FA_E_MESH, FA_PLACE("face %d, corner %d", f, at), remedy,
                               "texture coordinate %d does not exist: there are %d", uv, mesh->nuv);
        }
    return FA_OK;
}

static FaCode check_triangles(const FaMesh *mesh, FaError *err) {
    if (mesh->ntri > 0 && !mesh->tri) return FA_FAIL(err, FA_E_MESH, NULL, NULL, "the triangles are missing");
    for (int t = 0; t < mesh->ntri; t++) {
        for (int k = 0; k < 3; k++) {
            int v = mesh->tri[3 * (size_t)t + k];
            if (v < 0 || v >= mesh->nvert)
                return FA_FAIL(err, FA_E_MESH, FA_PLACE("triangle %d, corner %d", t, k),
                               "repair the faces in a modelling program and export again",
                               "vertex %d does not exist: there are %d", v, mesh->nvert);
        }
        if (mesh->tri_face && (mesh->tri_face[t] < 0 || mesh->tri_face[t] >= mesh->nface))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("triangle %d", t), NULL, "it belongs to face %d of %d",
                           mesh->tri_face[t], mesh->nface);
    }
    return FA_OK;
}

FaCode fai_mesh_check(const FaMesh *mesh, FaError *err) {
    if (mesh->nvert < 0 || mesh->nface < 0 || mesh->ntri < 0 || mesh->nuv < 0)
        return FA_FAIL(err, FA_E_MESH, NULL, NULL, "a count of the mesh is negative");
    if ((mesh->nvert > 0 && !mesh->x) || (mesh->nuv > 0 && !mesh->uv))
        return FA_FAIL(err, FA_E_MESH, NULL, NULL, "the mesh has counts but no arrays");
    for (size_t i = 0; i < 3 * (size_t)mesh->nvert; i++)
        if (!isfinite(mesh->x[i]))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("vertex %d, %c", (int)(i / 3), "xyz"[i % 3]),
                           "repair the vertex in a modelling program and export again",
                           "the position is not a finite number");
    for (size_t i = 0; i < 2 * (size_t)mesh->nuv; i++)
        if (!isfinite(mesh->uv[i]))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("texture coordinate %d", (int)(i / 2)), "unwrap the mesh again",
                           "the texture coordinate is not a finite number");
    FA_TRY(check_faces(mesh, err));
    FA_TRY(check_triangles(mesh, err));
    for (int v = 0; mesh->weld && v < mesh->nvert; v++) {
        int w = mesh->weld[v];
        if (w < 0 || w >= mesh->nvert || mesh->weld[w] != w)
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("vertex %d", v), NULL,
                           "it is welded to vertex %d, which does not stand for itself", w);
    }
    return FA_OK;
}

// --- topology -----------------------------------------------------------------------------------------------------

// One side of a triangle: it runs from a to b if `forward`, from b to a else; a < b.
typedef struct Side {
    int a, b;
    int tri;
    bool forward;
} Side;

// Stable counting sort of n items by a key in [0, nkey): `order` is permuted. start: nkey + 1, scratch: n.
typedef int KeyFn(const void *items, int i);
static void sort_by(const void *items, KeyFn *key, int n, int nkey, int *order, int *scratch, int *start) {
    memset(start, 0, ((size_t)nkey + 1) * sizeof *start);
    for (int i = 0; i < n; i++) start[key(items, i) + 1]++;
    for (int k = 0; k < nkey; k++) start[k + 1] += start[k];
    for (int i = 0; i < n; i++) scratch[start[key(items, order[i])]++] = order[i];
    memcpy(order, scratch, (size_t)n * sizeof *order);
}

static int side_a(const void *items, int i) { return ((const Side *)items)[i].a; }
static int side_b(const void *items, int i) { return ((const Side *)items)[i].b; }
static int triple_0(const void *items, int i) { return ((const int(*)[3])items)[i][0]; }
static int triple_1(const void *items, int i) { return ((const int(*)[3])items)[i][1]; }
static int triple_2(const void *items, int i) { return ((const int(*)[3])items)[i][2]; }

// What fai_topology_build needs on the way; lives in its own arena.
typedef struct Scratch {
    Side *side; // (3 ntri)
    int nside;
    int (*triple)[3];   // welded corners, increasing           (ntri)
    int *order, *other; // (3 ntri)
    int *start;         // (nvert + 1)
    int *root;          // union-find                              (nvert)
} Scratch;

static int find_root(int *root, int v) {
    while (root[v] != v) {
        root[v] = root[root[v]];
        v = root[v];
    }
    return v;
}

// The smaller index becomes the root, so that parts are numbered by their first vertex.
static void join(int *root, int a, int b) {
    a = find_root(root, a);
    b = find_root(root, b);
    if (a < b)
        root[b] = a;
    else
        root[a] = b;
}

// Normal of a triangle, as long as twice its area.
static void double_area(const float *x, const int *v, double normal[3]) {
    double a[3], b[3], c[3];
    fai_v3_load(x, v[0], a);
    fai_v3_load(x, v[1], b);
    fai_v3_load(x, v[2], c);
    fai_v3_sub(b, a, b);
    fai_v3_sub(c, a, c);
    fai_v3_cross(b, c, normal);
}

static void bounds(const FaMesh *mesh, const float *x, double lo[3], double hi[3]) {
    for (int k = 0; k < 3; k++) lo[k] = hi[k] = mesh->nvert ? (double)x[k] : 0;
    for (int v = 0; v < mesh->nvert; v++)
        for (int k = 0; k < 3; k++) {
            double q = (double)x[3 * (size_t)v + k];
            if (q < lo[k]) lo[k] = q;
            if (q > hi[k]) hi[k] = q;
        }
}

// Sides, sorted triples, roots; counts degenerate triangles. A triangle with a repeated vertex has no sides: its two
// neighbours then meet directly, as they do on the surface.
static void collect(const FaMesh *mesh, Scratch *s, FaTopology *topo) {
    double lo[3], hi[3], diagonal2 = 0;
    bounds(mesh, mesh->x, lo, hi);
    for (int k = 0; k < 3; k++) diagonal2 += (hi[k] - lo[k]) * (hi[k] - lo[k]);
    double least = 2e-12 * diagonal2;
    for (int v = 0; v < mesh->nvert; v++) s->root[v] = v;
    for (int t = 0; t < mesh->ntri; t++) {
        const int *v = mesh->tri + 3 * (size_t)t;
        int w[3] = {fai_weld(mesh, v[0]), fai_weld(mesh, v[1]), fai_weld(mesh, v[2])};
        join(s->root, w[0], w[1]);
        join(s->root, w[0], w[2]);
        bool repeated = w[0] == w[1] || w[1] == w[2] || w[2] == w[0];
        double normal[3];
        double_area(mesh->x, v, normal);
        topo->degenerate += repeated || fai_v3_norm(normal) < least;
        int *triple = s->triple[t];
        triple[0] = FA_MIN(w[0], FA_MIN(w[1], w[2]));
        triple[2] = FA_MAX(w[0], FA_MAX(w[1], w[2]));
        triple[1] = repeated ? triple[0] : w[0] ^ w[1] ^ w[2] ^ triple[0] ^ triple[2];
        for (int k = 0; !repeated && k < 3; k++) {
            int a = w[k], b = w[(k + 1) % 3];
            s->side[s->nside++] = (Side){FA_MIN(a, b), FA_MAX(a, b), t, a < b};
        }
    }
}

static bool same_edge(const Side *a, const Side *b) { return a->a == b->a && a->b == b->b; }

// Edges from the sorted sides, and the counts that follow from them.
static FaCode make_edges(Scratch *s, FaTopology *topo, FaError *err) {
    for (int i = 0; i < s->nside; i++) s->order[i] = i;
    sort_by(s->side, side_b, s->nside, topo->nvert, s->order, s->other, s->start);
    sort_by(s->side, side_a, s->nside, topo->nvert, s->order, s->other, s->start);
    for (int i = 0; i < s->nside; i++)
        topo->nedge += i == 0 || !same_edge(&s->side[s->order[i]], &s->side[s->order[i - 1]]);
    topo->edge = fai_arena_push(topo->arena, (size_t)topo->nedge, sizeof *topo->edge);
    topo->edge_tris = FA_PUSH(topo->arena, topo->nedge, int);
    topo->edge_tri = FA_PUSH(topo->arena, 2 * (size_t)topo->nedge, int);
    if (!topo->edge || !topo->edge_tris || !topo->edge_tri) return FA_FAIL_MEMORY(err);

    for (int i = 0, e = 0, end; i < s->nside; i = end, e++) {
        const Side *first = &s->side[s->order[i]];
        for (end = i + 1; end < s->nside && same_edge(first, &s->side[s->order[end]]);) end++;
        const Side *second = end - i > 1 ? &s->side[s->order[i + 1]] : NULL;
        topo->edge[e][0] = first->a;
        topo->edge[e][1] = first->b;
        topo->edge_tris[e] = end - i;
        topo->edge_tri[2 * (size_t)e] = first->tri;
        topo->edge_tri[2 * (size_t)e + 1] = second ? second->tri : -1;
        topo->boundary += end - i == 1;
        topo->nonmanifold += end - i > 2;
        topo->flipped += end - i == 2 && first->forward == second->forward;
    }
    return FA_OK;
}

// Neighbours of each vertex, increasing: the edges are sorted, so the smaller ones of a vertex are met first.
static FaCode make_around(FaTopology *topo, FaError *err) {
    int *start = FA_PUSH(topo->arena, (size_t)topo->nvert + 1, int);
    int *around = FA_PUSH(topo->arena, 2 * (size_t)topo->nedge, int);
    if (!start || !around) return FA_FAIL_MEMORY(err);
    for (int e = 0; e < topo->nedge; e++)
        for (int k = 0; k < 2; k++) start[topo->edge[e][k]]++;
    // the starts of all but the first are kept one place ahead while they are filled, and end where they belong
    for (int v = 0, sum = 0; v <= topo->nvert; v++) {
        int count = start[v];
        start[v] = sum;
        sum += count;
    }
    for (int e = 0; e < topo->nedge; e++)
        for (int k = 0; k < 2; k++) around[start[topo->edge[e][k]]++] = topo->edge[e][1 - k];
    for (int v = topo->nvert; v > 0; v--) start[v] = start[v - 1];
    start[0] = 0;
    topo->around_start = start;
    topo->around = around;
    return FA_OK;
}

static void count_duplicates(Scratch *s, int ntri, FaTopology *topo) {
    for (int t = 0; t < ntri; t++) s->order[t] = t;
    sort_by(s->triple, triple_2, ntri, topo->nvert, s->order, s->other, s->start);
    sort_by(s->triple, triple_1, ntri, topo->nvert, s->order, s->other, s->start);
    sort_by(s->triple, triple_0, ntri, topo->nvert, s->order, s->other, s->start);
    for (int i = 1; i < ntri; i++) {
        const int *a = s->triple[s->order[i - 1]], *b = s->triple[s->order[i]];
        topo->duplicate += b[0] != b[1] && memcmp(a, b, 3 * sizeof *a) == 0;
    }
}

// Number the parts by their first vertex, and count the vertices that no face uses.
static FaCode make_parts(const FaMesh *mesh, Scratch *s, FaTopology *topo, FaError *err) {
    topo->part = FA_PUSH(topo->arena, topo->nvert, int);
    if (!topo->part) return FA_FAIL_MEMORY(err);
    bool *seen = (bool *)s->other; // (nvert) fits: see its allocation
    memset(seen, 0, (size_t)mesh->nvert);
    for (int v = 0; v < mesh->nvert; v++) topo->part[v] = -1;
    for (size_t i = 0; i < 3 * (size_t)mesh->ntri; i++) seen[fai_weld(mesh, mesh->tri[i])] = true;
    for (int v = 0; v < mesh->nvert; v++)
        if (fai_weld(mesh, v) == v && seen[v]) {
            int root = find_root(s->root, v);
            topo->part[v] = root == v ? topo->nparts++ : topo->part[root];
        }
    for (int v = 0; v < mesh->nvert; v++) topo->part[v] = topo->part[fai_weld(mesh, v)];

    memset(seen, 0, (size_t)mesh->nvert);
    for (size_t i = 0; i < 3 * (size_t)mesh->ntri; i++) seen[mesh->tri[i]] = true;
    for (int c = 0; mesh->nface > 0 && c < mesh->face_start[mesh->nface]; c++) seen[mesh->face_vert[c]] = true;
    for (int v = 0; v < mesh->nvert; v++) topo->unused += !seen[v];
    return FA_OK;
}

FaCode fai_topology_build(const FaMesh *mesh, FaTopology *topo, FaError *err) {
    *topo = (FaTopology){.nvert = mesh->nvert};
    if (mesh->ntri > INT_MAX / 6)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "split the mesh", "%d triangles are more than %d", mesh->ntri,
                       INT_MAX / 6);
    size_t nside = 3 * (size_t)mesh->ntri;
    size_t seen_ints = (size_t)mesh->nvert / sizeof(int) + 1;
    topo->arena = fai_arena_new(0);
    FaArena *work = fai_arena_new(0);
    FaCode rc = FA_OK;
    if (!topo->arena || !work) {
        rc = FA_FAIL_MEMORY(err);
        goto done;
    }
    Scratch s = {.side = FA_PUSH(work, nside, Side),
                 .triple = fai_arena_push(work, (size_t)mesh->ntri, 3 * sizeof(int)),
                 .order = FA_PUSH(work, nside, int),
                 .other = FA_PUSH(work, FA_MAX(nside, seen_ints), int),
                 .start = FA_PUSH(work, (size_t)mesh->nvert + 1, int),
                 .root = FA_PUSH(work, mesh->nvert, int)};
    if (!s.side || !s.triple || !s.order || !s.other || !s.start || !s.root) {
        rc = FA_FAIL_MEMORY(err);
        goto done;
    }
    collect(mesh, &s, topo);
    FA_TRY_GOTO(done, rc, make_edges(&s, topo, err));
    FA_TRY_GOTO(done, rc, make_around(topo, err));
    FA_TRY_GOTO(done, rc, make_parts(mesh, &s, topo, err));
    count_duplicates(&s, mesh->ntri, topo);
done:
    fai_arena_free(work);
    if (rc < 0) fai_topology_free(topo);
    return rc;
}

void fai_topology_free(FaTopology *topo) {
    if (!topo) return;
    fai_arena_free(topo->arena);
    *topo = (FaTopology){0};
}

// --- positions ----------------------------------------------------------------------------------------------------

// Stable radix sort of the vertex indices in `order` by 32-bit keys, 11 bits at a time.
static void radix_sort(const uint32_t *key, int n, int *order, int *scratch) {
    for (int shift = 0; shift < 33; shift += 11) {
        int start[2049] = {0};
        for (int i = 0; i < n; i++) start[(key[order[i]] >> shift & 2047) + 1]++;
        for (int k = 0; k < 2048; k++) start[k + 1] += start[k];
        for (int i = 0; i < n; i++) scratch[start[key[order[i]] >> shift & 2047]++] = order[i];
        memcpy(order, scratch, (size_t)n * sizeof *order);
    }
}

int fai_mesh_coincident(const FaMesh *mesh) {
    uint32_t *key = FA_NEW(mesh->nvert, uint32_t);
    int *order = FA_NEW(mesh->nvert, int), *scratch = FA_NEW(mesh->nvert, int);
    int n = 0, count = -1;
    if (!key || !order || !scratch) goto done;

    // only vertices that stand for themselves: copies at a seam are meant to coincide
    for (int v = 0; v < mesh->nvert; v++)
        if (fai_weld(mesh, v) == v) order[n++] = v;
    for (int k = 0; k < 3; k++) {
        for (int v = 0; v < mesh->nvert; v++) {
            float q = mesh->x[3 * (size_t)v + k] + 0.0f; // -0 and 0 are the same place
            memcpy(&key[v], &q, sizeof q);
        }
        radix_sort(key, n, order, scratch);
    }
    count = 0;
    for (int i = 1; i < n; i++) {
        const float *a = mesh->x + 3 * (size_t)order[i - 1], *b = mesh->x + 3 * (size_t)order[i];
        count += a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
    }
done:
    fa_free(key);
    fa_free(order);
    fa_free(scratch);
    return count;
}

void fai_mesh_normals(const FaMesh *mesh, const float *x, float *normal) {
    memset(normal, 0, 3 * (size_t)mesh->nvert * sizeof *normal);
    for (int t = 0; t < mesh->ntri; t++) {
        const int *v = mesh->tri + 3 * (size_t)t;
        double n[3];
        double_area(x, v, n);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) normal[3 * (size_t)fai_weld(mesh, v[i]) + k] += (float)n[k];
    }
    for (int v = 0; v < mesh->nvert; v++) {
        if (fai_weld(mesh, v) != v) continue;
        float *n = normal + 3 * (size_t)v;
        double length = sqrt((double)n[0] * n[0] + (double)n[1] * n[1] + (double)n[2] * n[2]);
        for (int k = 0; k < 3; k++) n[k] = length > 0 ? (float)(n[k] / length) : 0;
    }
    for (int v = 0; v < mesh->nvert; v++)
        memmove(normal + 3 * (size_t)v, normal + 3 * (size_t)fai_weld(mesh, v), 3 * sizeof *normal);
}

void fai_mesh_areas(const FaMesh *mesh, const float *x, float *area) {
    memset(area, 0, (size_t)mesh->nvert * sizeof *area);
    for (int t = 0; t < mesh->ntri; t++) {
        const int *v = mesh->tri + 3 * (size_t)t;
        double normal[3];
        double_area(x, v, normal);
        float third = (float)(fai_v3_norm(normal) / 6);
        for (int i = 0; i < 3; i++) area[v[i]] += third;
    }
}

void fai_mesh_volumes(const FaMesh *mesh, const FaTopology *topo, const float *x, double *volume, bool *closed) {
    for (int p = 0; p < topo->nparts; p++) {
        volume[p] = 0;
        closed[p] = true;
    }
    // an edge used an odd number of times leaves the surface open there
    for (int e = 0; e < topo->nedge; e++)
        if (topo->edge_tris[e] % 2 == 1) closed[topo->part[topo->edge[e][0]]] = false;

    // tetrahedra to the middle of the mesh: near enough that little cancels. Welded positions, since it is the welded
    // surface that is closed.
    double lo[3], hi[3];
    bounds(mesh, x, lo, hi);
    for (int t = 0; t < mesh->ntri; t++) {
        const int *v = mesh->tri + 3 * (size_t)t;
        double p[9];
        for (int i = 0; i < 3; i++) {
            fai_v3_load(x, fai_weld(mesh, v[i]), p + 3 * i);
            for (int k = 0; k < 3; k++) p[3 * i + k] -= (lo[k] + hi[k]) / 2;
        }
        volume[topo->part[v[0]]] += fai_m3_det(p) / 6;
    }
    for (int p = 0; p < topo->nparts; p++)
        if (!closed[p]) volume[p] = 0;
}

uint64_t fai_mesh_print(const FaMesh *mesh) {
    uint64_t print = fai_hash64(mesh->tri, 3 * (size_t)mesh->ntri * sizeof *mesh->tri, (uint64_t)mesh->nvert);
    return print ? print : 1;
}
