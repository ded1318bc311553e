#include "face/leave_out.h"

#include "face/tetra.h"
#include "mesh/mesh.h"

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

FaCode fai_leave_out_more(const FaFace *f, unsigned char *out, int *count, FaError *err) {
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

FaCode fai_leave_out(FaFace *f, const unsigned char *out, int *node, FaError *err) {
    int *tri_to = FA_NEW((size_t)f->ntri + (size_t)f->ntet + (size_t)f->stiff_edges, int), nskin = 0, ntri = 0, edges;
    int *tet_to = tri_to ? tri_to + f->ntri : NULL, *edge_to = tri_to ? tet_to + f->ntet : NULL;
    double *mass = FA_NEW(f->nnode, double);
    unsigned char *mark = FA_NEW(f->nnode, unsigned char);
    FaCode rc = tri_to && mass && mark ? number_edges(f, out, edge_to, &edges, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        number(f, out, tri_to, tet_to, node);
        weigh_again(f, tet_to, mark, mass);
        for (int i = 0; i < f->nskin; i++) nskin += node[i] >= 0;
        for (int t = 0; t < f->ntri; t++) ntri += tri_to[t] >= 0;
        const int *const to[FA_PERS] = {[FA_PER_SKIN] = node,
                                        [FA_PER_NODE] = node,
                                        [FA_PER_TRI] = tri_to,
                                        [FA_PER_TET] = tet_to,
                                        [FA_PER_EDGE] = edge_to};
        drop_riders(f, node);
        pack_arrays(f, to);
        f->nskin = nskin, f->nnode = nskin * (f->layers + 1);
        f->ntri = ntri, f->ntet = 3 * f->layers * ntri;
        f->stiff_edges = edges;
    }
    fa_free(tri_to);
    fa_free(mass);
    fa_free(mark);
    return rc;
}
