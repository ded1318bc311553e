// The fixed part of a search for pairs: points, triangles, edges, who owns what, trees, and what is left out.
#include "contact/pairs.h"

#include "base/simd.h"
#include "base/task.h"
#include "math/svd_kernels.h"
#include "mesh/intersect.h"

#include <math.h>
#include <stdlib.h>

#define TOUCHING 5e-8 // m: a few units in the last place of a head's coordinates; closer pairs at rest are left out

// --- points and triangles -----------------------------------------------------------------------------------------

static bool takes_part(const FaContactSurface *s, int tri) {
    const int *t = s->tri + 3 * (size_t)tri;
    if (t[0] == t[1] || t[1] == t[2] || t[2] == t[0]) return false;
    return !s->touch || (s->touch[t[0]] & 1 && s->touch[t[1]] & 1 && s->touch[t[2]] & 1);
}

static FaCode check_mesh(int nvert, int ntri, const float *x, const int *tri, const char *what, FaError *err) {
    if (nvert < 0 || ntri < 0 || (nvert > 0 && !x) || (ntri > 0 && !tri))
        return FA_FAIL(err, FA_E_ARG, what, "give positions and triangles", "a contact mesh without arrays");
    for (int i = 0; i < 3 * ntri; i++)
        if (tri[i] < 0 || tri[i] >= nvert)
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("%s, triangle %d", what, i / 3), "repair the mesh",
                           "corner %d is not one of the %d vertices", tri[i], nvert);
    for (int i = 0; i < 3 * nvert; i++)
        if (!isfinite(x[i]))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("%s, vertex %d", what, i / 3), "repair the mesh",
                           "the position is not a finite number");
    return FA_OK;
}

// Count what takes part, and number the surface's points. point_of: -1 = none (nnode).
static FaCode count(const FaContactSurface *s, int ncollider, const FaContactBody *collider, FaPairs *p, int *point_of,
                    FaError *err) {
    for (int i = 0; i < s->nnode; i++) point_of[i] = -1;
    for (int t = 0; t < s->ntri; t++) {
        if (!takes_part(s, t)) continue;
        p->nsurface_tri++;
        for (int c = 0; c < 3; c++) point_of[s->tri[3 * (size_t)t + c]] = 0;
    }
    for (int i = 0; i < s->nnode; i++)
        if (point_of[i] == 0) point_of[i] = p->nsurface++;
    int64_t npoint = p->nsurface, ntri = p->nsurface_tri;
    for (int c = 0; c < ncollider; c++) {
        FA_TRY(check_mesh(collider[c].nvert, collider[c].ntri, collider[c].x, collider[c].tri,
                          FA_PLACE("collider %d", c), err));
        npoint += collider[c].nvert;
        ntri += collider[c].ntri;
    }
    if (npoint > 1 << 28 || ntri > 1 << 28)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "decimate the colliders", "too many triangles for contact");
    p->npoint = (int)npoint;
    p->ntri = (int)ntri;
    return FA_OK;
}

static void fill(const FaContactSurface *s, int ncollider, const FaContactBody *collider, FaPairs *p,
                 const int *point_of) {
    for (int i = 0; i < s->nnode; i++) {
        if (point_of[i] < 0) continue;
        p->node[point_of[i]] = i;
        for (int k = 0; k < 3; k++) p->from[point_of[i]][k] = s->x0[3 * (size_t)i + k];
    }
    int n = 0, point = p->nsurface;
    for (int t = 0; t < s->ntri; t++) {
        if (!takes_part(s, t)) continue;
        for (int c = 0; c < 3; c++) p->tri[n][c] = point_of[s->tri[3 * (size_t)t + c]];
        n++;
    }
    for (int c = 0; c < ncollider; c++) {
        for (int t = 0; t < collider[c].ntri; t++, n++)
            for (int k = 0; k < 3; k++) p->tri[n][k] = point + collider[c].tri[3 * (size_t)t + k];
        for (int i = 0; i < collider[c].nvert; i++, point++)
            for (int k = 0; k < 3; k++) p->from[point][k] = collider[c].x[3 * (size_t)i + k];
    }
    memcpy(p->to, p->from, (size_t)p->npoint * sizeof *p->to);
}

// --- sorting, once ------------------------------------------------------------------------------------------------

typedef struct Place {
    double x[3];
    int point;
} Place;

static int by_place(const void *a, const void *b) {
    const Place *p = a, *q = b;
    for (int k = 0; k < 3; k++)
        if (p->x[k] != q->x[k]) return p->x[k] < q->x[k] ? -1 : 1;
    return p->point < q->point ? -1 : p->point > q->point;
}

typedef struct Side {
    int lo, hi, at; // points, 3 triangle + corner
} Side;

static int by_ends(const void *a, const void *b) {
    const Side *p = a, *q = b;
    if (p->lo != q->lo) return p->lo < q->lo ? -1 : 1;
    if (p->hi != q->hi) return p->hi < q->hi ? -1 : 1;
    return p->at < q->at ? -1 : p->at > q->at;
}

// Nodes of edges that one triangle alone has.
static FaCode find_border(const FaContactSurface *s, unsigned char *border, FaError *err) {
    size_t n = 3 * (size_t)s->ntri;
    Side *side = FA_NEW(n + 1, Side);
    if (!side) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n; i++) {
        int a = s->tri[i], b = s->tri[i % 3 == 2 ? i - 2 : i + 1];
        side[i] = (Side){FA_MIN(a, b), FA_MAX(a, b), (int)i};
    }
    qsort(side, n, sizeof *side, by_ends);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && side[end].lo == side[i].lo && side[end].hi == side[i].hi;) end++;
        if (end == i + 1) border[side[i].lo] = border[side[i].hi] = 1;
    }
    fa_free(side);
    return FA_OK;
}

// At one place, looking the same way?
static bool are_one(const Place *a, const Place *b, const double (*normal)[3]) {
    const double *m = normal[a->point], *n = normal[b->point];
    return a->x[0] == b->x[0] && a->x[1] == b->x[1] && a->x[2] == b->x[2] &&
           m[0] * n[0] + m[1] * n[1] + m[2] * n[2] > 0;
}

// Points of the surface's border at one place at rest are one: formats split vertices at seams. Lips that lie on each
// other have no border there, or look at each other, and are two.
static FaCode weld(FaPairs *p, const FaContactSurface *s, FaError *err) {
    Place *place = FA_NEW(p->nsurface, Place);
    unsigned char *border = FA_NEW(s->nnode + 1, unsigned char);
    double(*normal)[3] = fai_alloc_array((size_t)p->npoint + 1, sizeof *normal);
    FaCode code = place && border && normal ? find_border(s, border, err) : FA_FAIL_MEMORY(err);
    int n = 0;
    for (int i = 0; i < p->nsurface && code >= 0; i++) {
        if (!border[p->node[i]]) continue;
        memcpy(place[n].x, p->from[i], sizeof place[n].x);
        place[n++].point = i;
    }
    if (code >= 0) qsort(place, (size_t)n, sizeof *place, by_place);
    for (int i = 0; i < p->npoint; i++) p->weld[i] = i;
    if (code >= 0) fai_pairs_normals(p, (const double(*)[3])p->from, normal);
    for (int i = 1; i < n; i++)
        if (are_one(&place[i - 1], &place[i], (const double(*)[3])normal))
            p->weld[place[i].point] = p->weld[place[i - 1].point];
    fa_free(place);
    fa_free(border);
    fa_free(normal);
    return code;
}

// Edges in the order of their points, so the surface's come first; the first triangle of each owns it.
static FaCode link_edges(FaPairs *p, FaError *err) {
    Side *side = FA_NEW(3 * (size_t)p->ntri, Side);
    if (!side) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < 3 * p->ntri; i++) {
        int a = p->tri[i / 3][i % 3], b = p->tri[i / 3][(i + 1) % 3];
        side[i] = (Side){FA_MIN(a, b), FA_MAX(a, b), i};
    }
    qsort(side, 3 * (size_t)p->ntri, sizeof *side, by_ends);
    double length = 0;
    for (int i = 0; i < 3 * p->ntri; i++) {
        const Side *s = &side[i];
        if (i == 0 || s->lo != side[i - 1].lo || s->hi != side[i - 1].hi) {
            p->edge[p->nedge][0] = s->lo;
            p->edge[p->nedge++][1] = s->hi;
            FaOwned *owned = &p->owned[s->at / 3];
            owned->edge[owned->nedge++] = p->nedge - 1;
            if (s->lo < p->nsurface) {
                const double *a = p->from[s->lo], *b = p->from[s->hi];
                double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
                length += sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
                p->nsurface_edge++;
            }
        }
        p->tri_edge[s->at / 3][s->at % 3] = p->nedge - 1;
    }
    p->edge_length = p->nsurface_edge ? length / p->nsurface_edge : 0;
    fa_free(side);
    return FA_OK;
}

static void own_corners(FaPairs *p, int *owner) {
    for (int i = 0; i < p->npoint; i++) owner[i] = -1;
    for (int t = 0; t < p->ntri; t++)
        for (int c = 0; c < 3; c++) {
            if (owner[p->tri[t][c]] >= 0) continue;
            owner[p->tri[t][c]] = t;
            p->owned[t].point[p->owned[t].npoint++] = p->tri[t][c];
        }
}

static void link_neighbours(FaPairs *p) {
    for (int e = 0; e < p->nsurface_edge; e++)
        for (int k = 0; k < 2; k++) p->around_start[p->edge[e][k] + 1]++;
    for (int i = 0; i < p->nsurface; i++) p->around_start[i + 1] += p->around_start[i];
    for (int e = 0; e < p->nsurface_edge; e++) // starts move up by the lists' lengths, and back below
        for (int k = 0; k < 2; k++) p->around[p->around_start[p->edge[e][k]]++] = p->edge[e][1 - k];
    for (int i = p->nsurface; i > 0; i--) p->around_start[i] = p->around_start[i - 1];
    p->around_start[0] = 0;
}

static FaCode build_trees(FaPairs *p, FaError *err) {
    FaBox *box = FA_NEW(p->ntri, FaBox);
    if (!box) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < p->ntri; t++)
        for (int k = 0; k < 3; k++) {
            const double a = p->from[p->tri[t][0]][k], b = p->from[p->tri[t][1]][k], c = p->from[p->tri[t][2]][k];
            box[t].lo[k] = (float)fmin(a, fmin(b, c));
            box[t].hi[k] = (float)fmax(a, fmax(b, c));
        }
    FaCode code = fai_box_tree_build(p->nsurface_tri, box, &p->tree[0], err);
    if (code >= 0) code = fai_box_tree_build(p->ntri - p->nsurface_tri, box + p->nsurface_tri, &p->tree[1], err);
    fa_free(box);
    FA_TRY(code);
    for (int i = 0; i < p->tree[1].nprim; i++) p->tree[1].prim[i] += p->nsurface_tri;
    p->leaf = FA_NEW(p->nsurface_tri, int);
    if (!p->leaf) return FA_FAIL_MEMORY(err);
    for (int n = 0; n < p->tree[0].nnode; n++)
        if (p->tree[0].node[n].count > 0) p->leaf[p->nleaf++] = n;
    // children come after their parent, and the second child is last in the order
    p->node_end = FA_NEW(p->tree[0].nnode, int);
    if (!p->node_end) return FA_FAIL_MEMORY(err);
    for (int n = p->tree[0].nnode - 1; n >= 0; n--) {
        const FaBoxNode *node = &p->tree[0].node[n];
        p->node_end[n] = node->count > 0 ? node->first + node->count : p->node_end[node->first + 1];
    }
    p->nchunk = fai_chunks(p->nleaf, FA_PAIRS_LEAVES);
    p->hit = FA_NEW((size_t)p->nchunk * FA_PAIRS_HITS, FaPairHit);
    p->list = FA_NEW((size_t)p->nchunk * FA_PAIRS_LISTED, FaPairId);
    p->nlist = FA_NEW(2 * (size_t)p->nchunk, int);
    p->nhit = FA_NEW(p->nchunk, int);
    p->nover = FA_NEW(p->nchunk, int);
    p->ntest = FA_NEW(p->nchunk, int);
    p->nnear = FA_NEW(p->nchunk, int);
    p->nmeet = FA_NEW(p->nchunk, int64_t);
    return p->hit && p->list && p->nlist && p->nhit && p->nover && p->ntest && p->nnear && p->nmeet
               ? FA_OK
               : FA_FAIL_MEMORY(err);
}

// --- triangles that share a corner ---------------------------------------------------------------------------------

// Triangles around each place: start (npoint + 1), tri (3 ntri).
typedef struct Corners {
    int *start, *tri;
    int *chunk; // of each place in tree 0's order                     (nsurface_tri)
    int *place; // of each triangle in tree 0's order                  (nsurface_tri)
    int *seen;  // last triangle that met this one                     (nsurface_tri)
} Corners;

static bool share_point(const FaPairs *p, FaPairKind kind, int a, int b) {
    int point[4], split = kind == FA_PAIR_VERTEX_TRIANGLE ? 1 : 2;
    fai_pair_points(p, kind, a, b, point);
    for (int i = 0; i < split; i++)
        for (int j = split; j < 4; j++)
            if (p->weld[point[i]] == p->weld[point[j]]) return true;
    return false;
}

// Into close if it is there; n: how many of each chunk and kind so far.
static void add_close(FaPairs *p, int slot, int a, int b, int *n) {
    if (share_point(p, (FaPairKind)(slot & 1), a, b)) return;
    if (p->close) p->close[p->close_start[slot] + n[slot]] = (FaPairId){a, b};
    n[slot]++;
}

static void add_across(FaPairs *p, int chunk, int i, int j, int *n) {
    const FaOwned *mine = &p->owned[i], *its = &p->owned[j];
    for (int c = 0; c < mine->npoint; c++) add_close(p, 2 * chunk, mine->point[c], j, n);
    for (int c = 0; c < its->npoint; c++) add_close(p, 2 * chunk, its->point[c], i, n);
    for (int c = 0; c < mine->nedge; c++)
        for (int d = 0; d < its->nedge; d++)
            add_close(p, 2 * chunk + 1, FA_MIN(mine->edge[c], its->edge[d]), FA_MAX(mine->edge[c], its->edge[d]), n);
}

static void find_close(FaPairs *p, Corners *c, int *n) {
    for (int t = 0; t < p->nsurface_tri; t++) c->seen[t] = -1;
    for (int at = 0; at < p->nsurface_tri; at++) {
        int i = p->tree[0].prim[at];
        for (int k = 0; k < 3; k++)
            for (int m = c->start[p->corner[i][k]]; m < c->start[p->corner[i][k] + 1]; m++) {
                int j = c->tri[m];
                if (c->place[j] <= at || c->seen[j] == i) continue;
                c->seen[j] = i;
                add_across(p, c->chunk[at], i, j, n);
            }
    }
}

static void fill_corners(FaPairs *p, Corners *c) {
    for (int t = 0; t < p->nsurface_tri; t++)
        for (int k = 0; k < 3; k++) c->start[p->corner[t][k] + 1]++;
    for (int i = 0; i < p->nsurface; i++) c->start[i + 1] += c->start[i];
    for (int t = 0; t < p->nsurface_tri; t++) // starts move up by the lists' lengths, and back below
        for (int k = 0; k < 3; k++) c->tri[c->start[p->corner[t][k]]++] = t;
    for (int i = p->nsurface; i > 0; i--) c->start[i] = c->start[i - 1];
    c->start[0] = 0;
    for (int l = 0; l < p->nleaf; l++) {
        const FaBoxNode *leaf = &p->tree[0].node[p->leaf[l]];
        for (int at = leaf->first; at < leaf->first + leaf->count; at++) c->chunk[at] = l / FA_PAIRS_LEAVES;
    }
    for (int at = 0; at < p->nsurface_tri; at++) c->place[p->tree[0].prim[at]] = at;
}

// Counted, then listed.
static FaCode list_close(FaPairs *p, FaError *err) {
    size_t tris = (size_t)p->nsurface_tri, slots = 2 * (size_t)p->nchunk;
    int *n = FA_NEW(slots, int);
    Corners c = {FA_NEW(p->nsurface + 1, int), FA_NEW(3 * tris, int), FA_NEW(tris, int), FA_NEW(tris, int),
                 FA_NEW(tris, int)};
    p->close_start = FA_NEW(slots + 1, int);
    bool made = n && c.start && c.tri && c.chunk && c.place && c.seen && p->close_start;
    if (made) {
        fill_corners(p, &c);
        find_close(p, &c, n);
        for (size_t s = 0; s < slots; s++) p->close_start[s + 1] = p->close_start[s] + n[s];
        p->close = FA_NEW(p->close_start[slots], FaPairId);
        made = p->close;
    }
    if (made) {
        memset(n, 0, slots * sizeof *n);
        find_close(p, &c, n);
    }
    int *all[] = {n, c.start, c.tri, c.chunk, c.place, c.seen};
    for (int i = 0; i < FA_COUNT(all); i++) fa_free(all[i]);
    return made ? FA_OK : FA_FAIL_MEMORY(err);
}

// --- what is left out ---------------------------------------------------------------------------------------------

static FaCode leave_out(FaPairs *p, uint64_t key, FaError *err) {
    if (fai_keys_put(&p->left_out, key, 0)) return FA_OK;
    FaKeys more;
    if (!fai_keys_new(&more, p->left_out.size)) {
        fai_keys_free(&more);
        return FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < p->left_out.size; i++)
        if (p->left_out.key[i]) fai_keys_put(&more, p->left_out.key[i], 0);
    fai_keys_put(&more, key, 0);
    fai_keys_free(&p->left_out);
    p->left_out = more;
    return FA_OK;
}

// All pairs of primitives across two triangles.
static FaCode leave_out_triangles(FaPairs *p, int i, int j, FaError *err) {
    for (int c = 0; c < 3; c++) {
        FA_TRY(leave_out(p, fai_pair_key(FA_PAIR_VERTEX_TRIANGLE, p->tri[i][c], j), err));
        FA_TRY(leave_out(p, fai_pair_key(FA_PAIR_VERTEX_TRIANGLE, p->tri[j][c], i), err));
        for (int d = 0; d < 3; d++) {
            int e = p->tri_edge[i][c], f = p->tri_edge[j][d];
            FA_TRY(leave_out(p, fai_pair_key(FA_PAIR_EDGE_EDGE, FA_MIN(e, f), FA_MAX(e, f)), err));
        }
    }
    return FA_OK;
}

static FaCode find_crossed(FaPairs *p, FaError *err) {
    float *x = FA_NEW(3 * (size_t)p->npoint, float);
    int(*pair)[2] = NULL, count = 0;
    if (!x) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < 3 * p->npoint; i++) x[i] = (float)p->from[i / 3][i % 3];
    FaMesh mesh = {.nvert = p->npoint, .ntri = p->ntri, .x = x, .tri = (int *)p->tri, .weld = p->weld};
    FaCode code = fai_self_intersections(&mesh, NULL, NULL, NULL, 0, &count, err);
    if (code >= 0 && count > 0) {
        pair = fai_alloc_array((size_t)count, sizeof *pair);
        code = pair ? fai_self_intersections(&mesh, NULL, NULL, pair, count, &count, err) : FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < count && code >= 0; i++) {
        if (pair[i][0] >= p->nsurface_tri) continue; // colliders may cross each other
        p->crossed++;
        for (int k = 0; k < 6; k++) p->in_crossed[p->tri[pair[i][k / 3]][k % 3]] = 1;
        code = leave_out_triangles(p, pair[i][0], pair[i][1], err);
    }
    fa_free(pair);
    fa_free(x);
    return code < 0 ? code : FA_OK;
}

// Chunks have room for so many hits; what is left out already is not found again.
static FaCode find_touching(FaPairs *p, FaError *err) {
    fai_pairs_refit(p, TOUCHING);
    for (int over = 1; over > 0;) {
        fai_pairs_search(p, &(FaPairSearch){.gap = TOUCHING, .keep = 1}, &over);
        for (int c = 0; c < p->nchunk; c++)
            for (int i = 0; i < p->nhit[c]; i++) {
                FA_TRY(leave_out(p, fai_hit_key(fai_pairs_hit(p, c, i)), err));
                p->touching++;
            }
    }
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static bool allocate(FaPairs *p) {
    size_t points = (size_t)p->npoint, tris = (size_t)p->ntri;
    return (p->node = FA_NEW(p->nsurface, int)) && (p->weld = FA_NEW(points, int)) &&
           (p->from = fai_alloc_array(points + 1, sizeof *p->from)) &&
           (p->to = fai_alloc_array(points + 1, sizeof *p->to)) && (p->tri = fai_alloc_array(tris, sizeof *p->tri)) &&
           (p->in_crossed = FA_NEW(points, unsigned char)) && (p->parted = FA_NEW(p->nsurface, unsigned char)) &&
           (p->tri_edge = fai_alloc_array(tris, sizeof *p->tri_edge)) && (p->owned = FA_NEW(tris, FaOwned)) &&
           (p->corner = fai_alloc_array(tris, sizeof *p->corner)) && (p->moved = FA_NEW(points, unsigned char)) &&
           (p->wide_box = FA_NEW(points, FaSpan)) && (p->edge = fai_alloc_array(3 * tris, sizeof *p->edge)) &&
           (p->point_box = FA_NEW(points, FaSpan)) && (p->edge_box = FA_NEW(3 * tris, FaSpan)) &&
           (p->tri_box = FA_NEW(tris, FaSpan)) && (p->place_box = FA_NEW(tris, FaSpan)) &&
           (p->fit_inside = FA_NEW(points / FA_PAIRS_POINTS + 1, bool)) &&
           (p->fit_size = FA_NEW(points / FA_PAIRS_POINTS + 1, float)) &&
           (p->around_start = FA_NEW(p->nsurface + 1, int)) && (p->around = FA_NEW(6 * tris, int)) &&
           fai_keys_new(&p->left_out, 64);
}

// Who is whose neighbour, and trees to search in.
static FaCode link(const FaContactSurface *s, FaPairs *p, FaError *err) {
    FA_TRY(weld(p, s, err));
    for (int t = 0; t < p->ntri; t++)
        for (int k = 0; k < 3; k++) p->corner[t][k] = p->weld[p->tri[t][k]];
    FA_TRY(link_edges(p, err));
    int *owner = FA_NEW(p->npoint, int);
    if (!owner) return FA_FAIL_MEMORY(err);
    own_corners(p, owner);
    fa_free(owner);
    link_neighbours(p);
    FA_TRY(build_trees(p, err));
    p->simd = fai_simd_wanted();
    return list_close(p, err);
}

FaCode fai_pairs_new(const FaContactSurface *s, int ncollider, const FaContactBody *collider, FaPairs *p,
                     FaError *err) {
    *p = (FaPairs){0};
    FA_TRY(check_mesh(s->nnode, s->ntri, s->x0, s->tri, "surface", err));
    int *point_of = FA_NEW(s->nnode, int);
    FaCode code = point_of ? count(s, ncollider, collider, p, point_of, err) : FA_FAIL_MEMORY(err);
    if (code >= 0 && !allocate(p)) code = FA_FAIL_MEMORY(err);
    if (code >= 0) fill(s, ncollider, collider, p, point_of);
    fa_free(point_of);
    FA_TRY(code);
    FA_TRY(link(s, p, err));
    FA_TRY(fai_pairs_part(p, TOUCHING, err));
    FA_TRY(find_crossed(p, err));
    return find_touching(p, err);
}

void fai_pairs_free(FaPairs *p) {
    void *all[] = {p->moved,        p->fit_inside, p->fit_size, p->close,    p->close_start, p->place_box, p->wide_box,
                   p->list,         p->nlist,      p->node,     p->weld,     p->from,        p->to,        p->tri,
                   p->tri_edge,     p->owned,      p->corner,   p->edge,     p->point_box,   p->edge_box,  p->tri_box,
                   p->around_start, p->around,     p->leaf,     p->node_end, p->hit,         p->nhit,      p->nover,
                   p->ntest,        p->in_crossed, p->parted,   p->nmeet,    p->nnear};
    for (int i = 0; i < FA_COUNT(all); i++) fa_free(all[i]);
    fai_keys_free(&p->left_out);
    fai_box_tree_free(&p->tree[0]);
    fai_box_tree_free(&p->tree[1]);
    *p = (FaPairs){0};
}
