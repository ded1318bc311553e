#include "face/leave_out.h"

#include "face/tetra.h"
#include "math/mat3.h"
#include "mesh/mesh.h"

#include <stdlib.h>

static int root(int *up, int i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

static void join(int *up, int a, int b) {
    const int p = root(up, a), q = root(up, b);
    up[FA_MAX(p, q)] = FA_MIN(p, q);
}

static int corner(const FaFace *f, int t, int v) {
    for (int k = 0; k < 3; k++)
        if (f->tri[3 * (size_t)t + (size_t)k] == v) return 3 * t + k;
    return 3 * t;
}

// One look: corners that hang together around a node are a fan, triangles that hang together by edges a piece. Marks
// what is not of the largest; whether there was any.
static bool mark_more(const FaFace *f, const FaTopology *topo, unsigned char *out, int *up, int *size, int *best) {
    const int ncorner = 3 * f->ntri;
    bool any = false;
    for (int pass = 0; pass < 2; pass++) { // pieces, fans: else the fans of a small piece might win
        for (int c = 0; c < ncorner; c++) up[c] = c, size[c] = 0;
        for (int e = 0; e < topo->nedge; e++) {
            const int a = topo->edge_tri[2 * e], b = topo->edge_tri[2 * e + 1];
            if (a < 0 || b < 0 || out[a] || out[b]) continue;
            for (int k = 0; k < 2; k++) join(up, corner(f, a, topo->edge[e][k]), corner(f, b, topo->edge[e][k]));
        }
        for (int c = 0; pass == 0 && c < ncorner; c++) join(up, c, c / 3 * 3);
        for (int c = 0; c < ncorner; c++)
            if (!out[c / 3]) size[root(up, c)]++;
        // the largest of all, or of each node; of equals the first
        for (int i = 0; i < f->nskin; i++) best[i] = -1;
        for (int c = 0; c < ncorner; c++) {
            const int at = pass ? f->tri[c] : 0, own = root(up, c);
            if (!out[c / 3] && (best[at] < 0 || size[own] > size[best[at]])) best[at] = own;
        }
        for (int c = 0; c < ncorner; c++)
            if (!out[c / 3] && best[pass ? f->tri[c] : 0] != root(up, c)) out[c / 3] = 1, any = true;
    }
    return any;
}

// --- filled flesh ---------------------------------------------------------------------------------------------------

typedef struct Side {
    int v[3], tet; // corners, increasing
} Side;

static int by_corners(const void *p, const void *q) {
    const Side *a = p, *b = q;
    for (int k = 0; k < 3; k++)
        if (a->v[k] != b->v[k]) return a->v[k] < b->v[k] ? -1 : 1;
    return a->tet < b->tet ? -1 : a->tet > b->tet;
}

static Side side_of(const int *v, int tet, int without) {
    Side s = {.tet = tet};
    for (int k = 0, n = 0; k < 4; k++)
        if (k != without) s.v[n++] = v[k];
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 2; j++)
            if (s.v[j] > s.v[j + 1]) {
                const int keep = s.v[j];
                s.v[j] = s.v[j + 1], s.v[j + 1] = keep;
            }
    return s;
}

typedef struct Filled {
    const FaFace *f;
    unsigned char *out, *tri_out;
    FaTopology topo;
    Side *side;
    int *part;                  // of tets: root of what hangs together by faces          (ntet)
    unsigned char *firm, *stay; // nodes that hold; parts that stay, by root             (nnode), (ntet)
    int *room;                  // of mark_more                                           (6 ntri + nskin)
    unsigned char *has;         // nodes with a tet, skin nodes with a triangle           (nnode)
} Filled;

static void find_parts(Filled *w) {
    int n = 0;
    for (int t = 0; t < w->f->ntet; t++) {
        w->part[t] = t;
        for (int k = 0; k < 4 && !w->out[t]; k++) w->side[n++] = side_of(w->f->tet + 4 * (size_t)t, t, k);
    }
    qsort(w->side, (size_t)n, sizeof *w->side, by_corners);
    for (int i = 1; i < n; i++)
        if (!memcmp(w->side[i].v, w->side[i - 1].v, sizeof w->side[i].v))
            join(w->part, w->side[i].tet, w->side[i - 1].tet);
}

// Does a part hold on by three firm nodes that are not in a line, and has it skin? tets: of the part (n).
static bool hangs_on(const Filled *w, const int *tets, int n) {
    const FaFace *f = w->f;
    double a[3], b[3], x[3], way[3], most = 0, off = 0;
    bool skin = false;
    int first = -1;
    for (int pass = 0; pass < 3; pass++)
        for (int k = 0; k < 4 * n; k++) {
            const int i = f->tet[4 * (size_t)tets[k / 4] + (size_t)(k % 4)];
            skin |= i < f->nskin;
            if (!w->firm[i]) continue;
            fai_v3_load(f->x0, i, x);
            if (pass == 0 && first < 0) first = i, memcpy(a, x, sizeof a);
            fai_v3_sub(x, a, x);
            if (pass == 1 && fai_v3_norm(x) > most) most = fai_v3_norm(x), memcpy(b, x, sizeof b);
            if (pass == 2 && most > 0) {
                fai_v3_cross(b, x, way);
                off = fmax(off, fai_v3_norm(way) / most);
            }
        }
    return skin && off > 0.05 * most;
}

// Parts that hang on what holds them, or on parts that do. Whether tets were taken out.
static bool drop_loose(Filled *w, int *tets, int *start) {
    const FaFace *f = w->f;
    find_parts(w);
    for (int i = 0; i < f->nnode; i++) w->firm[i] = i < f->nskin ? f->rim[i] : f->carrier[i] != FA_CARRIER_NONE;
    // tets by part: counted, then laid down
    for (int t = 0; t <= f->ntet; t++) start[t] = 0;
    for (int t = 0; t < f->ntet; t++)
        if (!w->out[t]) start[root(w->part, t) + 1]++;
    for (int t = 0; t < f->ntet; t++) start[t + 1] += start[t];
    const int all = start[f->ntet];
    for (int t = f->ntet - 1; t >= 0; t--)
        if (!w->out[t]) tets[--start[root(w->part, t) + 1]] = t;
    // now start[p + 1] is where part p begins, and start[p + 2] where the next does
    memset(w->stay, 0, (size_t)f->ntet);
    for (bool changed = true; changed;) {
        changed = false;
        for (int p = 0; p < f->ntet; p++) {
            const int begin = start[p + 1], n = (p + 2 <= f->ntet ? start[p + 2] : all) - begin;
            if (n == 0 || w->stay[p] || !hangs_on(w, tets + begin, n)) continue;
            w->stay[p] = 1, changed = true;
            for (int k = 0; k < 4 * n; k++) w->firm[f->tet[4 * (size_t)tets[begin + k / 4] + (size_t)(k % 4)]] = 1;
        }
    }
    bool any = false;
    for (int t = 0; t < f->ntet; t++)
        if (!w->out[t] && !w->stay[root(w->part, t)]) w->out[t] = 1, any = true;
    return any;
}

// Triangles go with a corner that has no tet, tets with a skin node that has no triangle. Whether any did.
static bool drop_bare(Filled *w) {
    const FaFace *f = w->f;
    bool any = false;
    memset(w->has, 0, (size_t)f->nnode);
    for (int k = 0; k < 4 * f->ntet; k++)
        if (!w->out[k / 4]) w->has[f->tet[k]] = 1;
    for (int k = 0; k < 3 * f->ntri; k++)
        if (!w->has[f->tri[k]] && !w->tri_out[k / 3]) w->tri_out[k / 3] = 1, any = true;
    int *room = w->room;
    while (mark_more(f, &w->topo, w->tri_out, room, room + 3 * (size_t)f->ntri, room + 6 * (size_t)f->ntri)) any = true;
    memset(w->has, 0, (size_t)f->nskin);
    for (int k = 0; k < 3 * f->ntri; k++)
        if (!w->tri_out[k / 3]) w->has[f->tri[k]] = 1;
    for (int k = 0; k < 4 * f->ntet; k++)
        if (f->tet[k] < f->nskin && !w->has[f->tet[k]] && !w->out[k / 4]) w->out[k / 4] = 1, any = true;
    return any;
}

// tri_out: which triangles go with the tets that do (ntri, out).
static FaCode settle_filled(const FaFace *f, unsigned char *out, unsigned char *tri_out, FaError *err) {
    const FaMesh skin = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    const size_t n = (size_t)f->ntet;
    int *ints = FA_NEW(3 * n + 2 + 6 * (size_t)f->ntri + (size_t)f->nskin, int);
    unsigned char *bytes = FA_NEW(n + 2 * (size_t)f->nnode, unsigned char);
    Filled w = {.f = f, .out = out, .tri_out = tri_out, .side = FA_NEW(4 * n, Side)};
    FaCode rc = ints && bytes && w.side ? fai_topology_build(&skin, &w.topo, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        memset(tri_out, 0, (size_t)f->ntri);
        w.part = ints, w.room = ints + 3 * n + 2;
        w.stay = bytes, w.firm = bytes + n, w.has = w.firm + f->nnode;
        for (bool more = true; more;) {
            more = drop_bare(&w);
            more |= drop_loose(&w, ints + n, ints + 2 * n);
        }
    }
    fai_topology_free(&w.topo);
    fa_free(w.side);
    fa_free(bytes);
    fa_free(ints);
    return rc;
}

static FaCode leave_out_more_filled(const FaFace *f, unsigned char *out, int *count, FaError *err) {
    unsigned char *tri_out = FA_NEW(f->ntri, unsigned char);
    FaCode rc = tri_out ? settle_filled(f, out, tri_out, err) : FA_FAIL_MEMORY(err);
    *count = 0;
    for (int t = 0; t < f->ntet; t++) *count += out[t];
    if (rc >= 0 && *count == f->ntet)
        rc = FA_FAIL(err, FA_E_MESH, NULL, "check the shapes with fascia info", "no flesh is left that anything holds");
    fa_free(tri_out);
    return rc;
}

// Nodes inside whose skin node goes go with the nearest that stays.
static void find_above(FaFace *f, const int *node) {
    for (int i = 0; i < f->nnode; i++) {
        double best = INFINITY, x[3], y[3];
        if (node[i] < 0 || node[f->above[i]] >= 0) continue;
        fai_v3_load(f->x0, i, x);
        for (int s = 0; s < f->nskin; s++) {
            if (node[s] < 0) continue;
            fai_v3_load(f->x0, s, y);
            fai_v3_sub(y, x, y);
            if (fai_v3_dot(y, y) < best) best = fai_v3_dot(y, y), f->above[i] = s;
        }
    }
}

FaCode fai_leave_out_more(const FaFace *f, unsigned char *out, int *count, FaError *err) {
    if (fai_face_filled(f)) return leave_out_more_filled(f, out, count, err);
    const FaMesh skin = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    FaTopology topo = {0};
    int *room = FA_NEW(6 * (size_t)f->ntri + (size_t)f->nskin, int);
    FaCode rc = room ? fai_topology_build(&skin, &topo, err) : FA_FAIL_MEMORY(err);
    while (rc >= 0 && mark_more(f, &topo, out, room, room + 3 * (size_t)f->ntri, room + 6 * (size_t)f->ntri)) continue;
    *count = 0;
    for (int t = 0; t < f->ntri; t++) *count += out[t];
    if (rc >= 0 && *count == f->ntri)
        rc = FA_FAIL(err, FA_E_MESH, NULL, "check the shapes with fascia info",
                     "no flesh is left: the shapes fold all of the skin");
    fai_topology_free(&topo);
    fa_free(room);
    return rc;
}

// --- taking out -----------------------------------------------------------------------------------------------------

// Keep what has a new number, in order. Arrays that are not there are passed over.
static void pack(void *array, size_t size, int n, const int *to) {
    char *a = array;
    for (int i = 0; a && i < n; i++)
        if (to[i] >= 0 && to[i] != i) memcpy(a + size * (size_t)to[i], a + size * (size_t)i, size);
}

static void pack_columns(FaColumns *c, const int *to) {
    int n = 0;
    for (int s = 0, e = 0; s < c->nshape; s++) {
        for (const int end = c->first[s + 1]; e < end; e++) {
            if (to[c->item[e]] < 0) continue;
            c->item[n] = to[c->item[e]];
            memmove(c->value + (size_t)n * (size_t)c->width, c->value + (size_t)e * (size_t)c->width,
                    (size_t)c->width * sizeof(float));
            n++;
        }
        c->first[s + 1] = n;
    }
}

// Edges are sorted by their nodes, whose order stays: what is left of them is theirs. to: (stiff_edges).
static FaCode number_edges(const FaFace *f, const unsigned char *out, int *to, int *count, FaError *err) {
    const FaMesh skin = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    FaTopology topo;
    *count = 0;
    if (f->stiff_edges == 0) return FA_OK;
    FA_TRY(fai_topology_build(&skin, &topo, err));
    for (int e = 0; e < f->stiff_edges; e++) {
        const int *t = topo.edge_tri + 2 * (size_t)e;
        const bool stays = e < topo.nedge && ((t[0] >= 0 && !out[t[0]]) || (t[1] >= 0 && !out[t[1]]));
        to[e] = stays ? (*count)++ : -1;
    }
    fai_topology_free(&topo);
    return FA_OK;
}

// Nodes of prisms that go weigh what is left at them: rho V / 4 of each tet, rho that of the whole. mark: of such
// nodes, scratch (nnode).
static void weigh_again(FaFace *f, const int *tet_to, unsigned char *mark, double *mass) {
    double whole = 0, volume = 0;
    for (int i = 0; i < f->nnode; i++) whole += (double)f->mass[i];
    for (int t = 0; t < f->ntet; t++) {
        const double V = fai_tet_volume(f->x0, f->tet + 4 * (size_t)t);
        volume += V;
        for (int k = 0; k < 4; k++) {
            const int i = f->tet[4 * (size_t)t + (size_t)k];
            if (tet_to[t] < 0)
                mark[i] = 1;
            else
                mass[i] += V / 4;
        }
    }
    for (int i = 0; i < f->nnode; i++)
        if (mark[i]) f->mass[i] = (float)(whole / volume * mass[i]);
}

// New numbers of triangles, tets and nodes; -1: gone.
static void number_filled(const FaFace *f, const unsigned char *out, const unsigned char *tri_out, int *tri_to,
                          int *tet_to, int *node) {
    int n = 0;
    for (int i = 0; i < f->nnode; i++) node[i] = -1;
    for (int t = 0; t < f->ntri; t++) tri_to[t] = tri_out[t] ? -1 : n++;
    n = 0;
    for (int t = 0; t < f->ntet; t++) {
        tet_to[t] = out[t] ? -1 : n++;
        for (int k = 0; k < 4 && !out[t]; k++) node[f->tet[4 * (size_t)t + (size_t)k]] = 0;
    }
    n = 0;
    for (int i = 0; i < f->nnode; i++)
        if (node[i] == 0) node[i] = n++;
}

static void number(const FaFace *f, const unsigned char *out, int *tri_to, int *tet_to, int *node) {
    const int below = 3 * f->layers;
    int ntri = 0, nskin = 0;
    for (int i = 0; i < f->nnode; i++) node[i] = -1;
    for (int t = 0; t < f->ntri; t++) {
        tri_to[t] = out[t] ? -1 : ntri++;
        for (int k = 0; k < below; k++) tet_to[below * t + k] = out[t] ? -1 : below * tri_to[t] + k;
        for (int k = 0; !out[t] && k < 3; k++) node[f->tri[3 * (size_t)t + (size_t)k]] = 0;
        for (int k = 0; !out[t] && k < 4 * below; k++)
            node[f->tet[4 * (size_t)below * (size_t)t + (size_t)k] % f->nskin] = 0;
    }
    for (int i = 0; i < f->nskin; i++)
        if (node[i] >= 0) node[i] = nskin++;
    for (int i = f->nskin; i < f->nnode; i++)
        if (node[i % f->nskin] >= 0) node[i] = i / f->nskin * nskin + node[i % f->nskin];
}

// Riders one of whose nodes goes are linear from now on.
static void drop_riders(FaFace *f, const int *node) {
    for (size_t v = 0; v < 3 * (size_t)f->nvert; v += 3) {
        int *ride = f->ride_node + v;
        if (ride[0] < 0 || (node[ride[0]] >= 0 && node[ride[1]] >= 0 && node[ride[2]] >= 0)) continue;
        for (int k = 0; k < 3; k++) ride[k] = -1, f->ride_weight[v + (size_t)k] = 0;
    }
}

// Every array of the table: indices get their new numbers, entries move up. to: of each count, NULL: nothing goes.
static void pack_arrays(FaFace *f, const int *const to[FA_PERS]) {
    for (int i = 0; i < FA_FACE_NARRAY; i++) {
        const FaFaceArray *a = &fai_face_array[i];
        const int *index = a->values.of < FA_PERS ? to[a->values.of] : NULL;
        void *data = fai_face_array_get(f, a);
        int *v = data;
        for (size_t k = 0, n = fai_face_numbers(f, a); data && index && k < n; k++)
            if (v[k] >= 0) v[k] = index[v[k]];
        if (to[a->per]) pack(data, a->size * (size_t)a->width, fai_face_count(f, a->per), to[a->per]);
    }
    for (int i = 0; i < FA_FACE_NCOLUMNS; i++) {
        const FaFaceColumns *c = &fai_face_columns[i];
        if (to[c->per]) pack_columns(fai_face_columns_get(f, c), to[c->per]);
    }
}

static int kept(const int *to, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) count += to[i] >= 0;
    return count;
}

// Which triangles go: of prisms those marked, of filled flesh those that the marked tets leave bare.
static FaCode triangles_out(const FaFace *f, const unsigned char *out, unsigned char *tri_out, FaError *err) {
    if (!fai_face_filled(f)) return memcpy(tri_out, out, (size_t)f->ntri), FA_OK;
    unsigned char *same = FA_NEW(f->ntet, unsigned char);
    if (!same) return FA_FAIL_MEMORY(err);
    memcpy(same, out, (size_t)f->ntet);
    FaCode rc = settle_filled(f, same, tri_out, err);
    fa_free(same);
    return rc;
}

FaCode fai_leave_out(FaFace *f, const unsigned char *out, int *node, FaError *err) {
    int *tri_to = FA_NEW((size_t)f->ntri + (size_t)f->ntet + (size_t)f->stiff_edges, int), edges = 0;
    int *tet_to = tri_to ? tri_to + f->ntri : NULL, *edge_to = tri_to ? tet_to + f->ntet : NULL;
    double *mass = FA_NEW(f->nnode, double);
    unsigned char *mark = FA_NEW(f->nnode, unsigned char), *tri_out = FA_NEW(f->ntri, unsigned char);
    FaCode rc = tri_to && mass && mark && tri_out ? triangles_out(f, out, tri_out, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = number_edges(f, tri_out, edge_to, &edges, err);
    if (rc >= 0) {
        if (fai_face_filled(f)) {
            number_filled(f, out, tri_out, tri_to, tet_to, node);
            find_above(f, node);
        } else
            number(f, out, tri_to, tet_to, node);
        weigh_again(f, tet_to, mark, mass);
        const int nskin = kept(node, f->nskin), nnode = kept(node, f->nnode), ntri = kept(tri_to, f->ntri),
                  ntet = kept(tet_to, f->ntet);
        const int *const to[FA_PERS] = {[FA_PER_SKIN] = node,
                                        [FA_PER_NODE] = node,
                                        [FA_PER_TRI] = tri_to,
                                        [FA_PER_TET] = tet_to,
                                        [FA_PER_EDGE] = edge_to};
        drop_riders(f, node);
        pack_arrays(f, to);
        f->nskin = nskin, f->nnode = nnode;
        f->ntri = ntri, f->ntet = ntet;
        f->stiff_edges = edges;
    }
    fa_free(tri_to);
    fa_free(mass);
    fa_free(mark);
    fa_free(tri_out);
    return rc;
}
