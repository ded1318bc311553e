// Based on: Catmull and Clark, Recursively generated B-spline surfaces, 1978; limit masks after Halstead, Kass and
// DeRose, Efficient, fair interpolation using Catmull-Clark surfaces, 1993. Interpolation by fixed-point iteration: the
// limit operator is close enough to the identity that adding the residual converges, and no matrix is needed.
#include "head/subdivide.h"

typedef struct Edge {
    int a, b, f0, f1, next;
} Edge; // a < b; f1 = -1 on a boundary; next: in a chain, see step_mirror

typedef struct Edges {
    int n;
    Edge *edge;
    int *of_corner; // edge from each face corner to the next
} Edges;

// Edges are numbered by their first appearance in the faces, found through per-vertex chains.
static FaCode find_edges(FaArena *arena, const FaiQuads *m, Edges *out, FaError *err) {
    int nc = m->face_start[m->nface];
    int *head = FA_PUSH(arena, m->nvert, int), *next = FA_PUSH(arena, nc, int);
    out->edge = FA_PUSH(arena, nc, Edge);
    out->of_corner = FA_PUSH(arena, nc, int);
    if (!head || !next || !out->edge || !out->of_corner) return FA_FAIL_MEMORY(err);
    out->n = 0;
    for (int v = 0; v < m->nvert; v++) head[v] = -1;
    for (int f = 0; f < m->nface; f++) {
        int s = m->face_start[f], e = m->face_start[f + 1];
        for (int k = s; k < e; k++) {
            int i = m->face_vert[k], j = m->face_vert[k + 1 < e ? k + 1 : s];
            int a = FA_MIN(i, j), b = FA_MAX(i, j), q = head[a];
            while (q >= 0 && out->edge[q].b != b) q = next[q];
            if (q < 0) {
                q = out->n++;
                out->edge[q] = (Edge){a, b, f, -1, -1};
                next[q] = head[a];
                head[a] = q;
            } else {
                FA_ASSERT(out->edge[q].f1 < 0);
                out->edge[q].f1 = f;
            }
            out->of_corner[k] = q;
        }
    }
    return FA_OK;
}

static void add(double *to, const double *from, double w, int n) {
    for (int k = 0; k < n; k++) to[k] += w * from[k];
}

static FaCode step_values(FaArena *arena, const FaiQuads *in, const Edges *ed, double *out, FaError *err) {
    int nv = in->nvert, n = in->nchan;
    double *face = out + (size_t)(nv + ed->n) * n, *edge = out + (size_t)nv * n;
    int *valence = FA_PUSH(arena, nv, int), *rim = FA_PUSH(arena, nv, int);
    double *sum_f = FA_PUSH(arena, (size_t)nv * n, double), *sum_e = FA_PUSH(arena, (size_t)nv * n, double);
    double *sum_r = FA_PUSH(arena, (size_t)nv * n, double);
    if (!valence || !rim || !sum_f || !sum_e || !sum_r) return FA_FAIL_MEMORY(err);
    // faces: the mean of the corners
    for (int f = 0; f < in->nface; f++) {
        int s = in->face_start[f], e = in->face_start[f + 1];
        for (int k = s; k < e; k++) add(face + (size_t)f * n, in->val + (size_t)in->face_vert[k] * n, 1.0 / (e - s), n);
        for (int k = s; k < e; k++) add(sum_f + (size_t)in->face_vert[k] * n, face + (size_t)f * n, 1, n);
    }
    // edges: the mean of ends and adjacent faces; on a boundary of the ends
    for (int q = 0; q < ed->n; q++) {
        const Edge *g = ed->edge + q;
        const double *a = in->val + (size_t)g->a * n, *b = in->val + (size_t)g->b * n;
        bool inner = g->f1 >= 0;
        double w = inner ? 0.25 : 0.5, *x = edge + (size_t)q * n;
        add(x, a, w, n), add(x, b, w, n);
        if (inner) add(x, face + (size_t)g->f0 * n, 0.25, n), add(x, face + (size_t)g->f1 * n, 0.25, n);
        for (int k = 0; k < n; k++) {
            double mid = 0.5 * (a[k] + b[k]);
            sum_e[(size_t)g->a * n + k] += mid, sum_e[(size_t)g->b * n + k] += mid;
            if (!inner) sum_r[(size_t)g->a * n + k] += mid, sum_r[(size_t)g->b * n + k] += mid;
        }
        valence[g->a]++, valence[g->b]++;
        if (!inner) rim[g->a]++, rim[g->b]++;
    }
    for (int v = 0; v < nv; v++) {
        const double *p = in->val + (size_t)v * n;
        double *x = out + (size_t)v * n, m = valence[v];
        if (rim[v]) {
            add(x, p, 0.5, n), add(x, sum_r + (size_t)v * n, 0.25, n);
        } else {
            add(x, sum_f + (size_t)v * n, 1 / (m * m), n), add(x, sum_e + (size_t)v * n, 2 / (m * m), n),
                add(x, p, (m - 3) / m, n);
        }
    }
    return FA_OK;
}

// The edge between a and b; first: heads of the chains of edges by their lower end.
static int edge_between(const Edges *ed, const int *first, int a, int b) {
    for (int q = first[FA_MIN(a, b)]; q >= 0; q = ed->edge[q].next)
        if (ed->edge[q].b == FA_MAX(a, b)) return q;
    return -1;
}

// Mirror images of edges and faces follow from those of their corners.
static FaCode step_mirror(FaArena *arena, const FaiQuads *in, Edges *ed, int *mirror, FaError *err) {
    int nv = in->nvert, *head = FA_PUSH(arena, nv, int);
    if (!head) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < nv; v++) head[v] = -1, mirror[v] = in->mirror[v];
    for (int q = 0; q < ed->n; q++) ed->edge[q].next = head[ed->edge[q].a], head[ed->edge[q].a] = q;
    for (int q = 0; q < ed->n; q++) {
        int m = edge_between(ed, head, in->mirror[ed->edge[q].a], in->mirror[ed->edge[q].b]);
        FA_ASSERT(m >= 0);
        mirror[nv + q] = nv + m;
    }
    // a face is known by one edge and the side of it; take the face of the mirrored edge that holds the mirrored corner
    for (int f = 0; f < in->nface; f++) {
        int s = in->face_start[f], q = mirror[nv + ed->of_corner[s]] - nv, found = -1;
        int third = in->mirror[in->face_vert[s + 2]];
        for (int side = 0; side < 2; side++) {
            int g = side ? ed->edge[q].f1 : ed->edge[q].f0;
            if (g < 0) continue;
            for (int k = in->face_start[g]; k < in->face_start[g + 1]; k++)
                if (in->face_vert[k] == third) found = g;
        }
        FA_ASSERT(found >= 0);
        mirror[nv + ed->n + f] = nv + ed->n + found;
    }
    return FA_OK;
}

FaCode fai_subdivide(FaArena *arena, const FaiQuads *in, FaiQuads *out, FaError *err) {
    Edges ed;
    FA_TRY(find_edges(arena, in, &ed, err));
    int nc = in->face_start[in->nface];
    *out = (FaiQuads){.nvert = in->nvert + ed.n + in->nface, .nface = nc, .nchan = in->nchan};
    out->val = FA_PUSH(arena, (size_t)out->nvert * out->nchan, double);
    out->mirror = FA_PUSH(arena, out->nvert, int);
    out->face_start = FA_PUSH(arena, nc + 1, int);
    out->face_vert = FA_PUSH(arena, (size_t)nc * 4, int);
    if (!out->val || !out->mirror || !out->face_start || !out->face_vert) return FA_FAIL_MEMORY(err);
    FA_TRY(step_values(arena, in, &ed, out->val, err));
    FA_TRY(step_mirror(arena, in, &ed, out->mirror, err));
    int k = 0;
    for (int f = 0; f < in->nface; f++) {
        int s = in->face_start[f], e = in->face_start[f + 1];
        for (int c = s; c < e; c++, k++) {
            int *q = out->face_vert + (size_t)k * 4;
            q[0] = in->face_vert[c];
            q[1] = in->nvert + ed.of_corner[c];
            q[2] = in->nvert + ed.n + f;
            q[3] = in->nvert + ed.of_corner[c > s ? c - 1 : e - 1];
            out->face_start[k + 1] = 4 * (k + 1);
        }
    }
    return FA_OK;
}

FaCode fai_subdivide_limit(FaArena *arena, const FaiQuads *m, double *val, FaError *err) {
    Edges ed;
    FA_TRY(find_edges(arena, m, &ed, err));
    int n = m->nchan;
    int *valence = FA_PUSH(arena, m->nvert, int), *rim = FA_PUSH(arena, m->nvert, int);
    double *sum =
        FA_PUSH(arena, (size_t)m->nvert * n, double); // inside: 4 edges + diagonals; on the rim: rim neighbours
    if (!valence || !rim || !sum) return FA_FAIL_MEMORY(err);
    for (int q = 0; q < ed.n; q++)
        if (ed.edge[q].f1 < 0) rim[ed.edge[q].a] = rim[ed.edge[q].b] = 1;
    for (int q = 0; q < ed.n; q++) {
        const Edge *g = ed.edge + q;
        valence[g->a]++, valence[g->b]++;
        bool edge_rim = g->f1 < 0;
        if (!rim[g->a] || edge_rim) add(sum + (size_t)g->a * n, m->val + (size_t)g->b * n, rim[g->a] ? 1 : 4, n);
        if (!rim[g->b] || edge_rim) add(sum + (size_t)g->b * n, m->val + (size_t)g->a * n, rim[g->b] ? 1 : 4, n);
    }
    for (int f = 0; f < m->nface; f++) {
        const int *q = m->face_vert + (size_t)f * 4;
        for (int k = 0; k < 4; k++)
            if (!rim[q[k]]) add(sum + (size_t)q[k] * n, m->val + (size_t)q[(k + 2) % 4] * n, 1, n);
    }
    for (int v = 0; v < m->nvert; v++) {
        double k = valence[v], w = rim[v] ? 4 : k * k, all = rim[v] ? 6 : k * (k + 5);
        for (int c = 0; c < n; c++)
            val[(size_t)v * n + c] = (w * m->val[(size_t)v * n + c] + sum[(size_t)v * n + c]) / all;
    }
    return FA_OK;
}

FaCode fai_subdivide_interpolate(FaArena *arena, FaiQuads *control, const double *through, const int *steps,
                                 FaError *err) {
    // work on the three channels alone
    FaiQuads c = *control;
    c.nchan = 3;
    c.val = FA_PUSH(arena, (size_t)c.nvert * 3, double);
    if (!c.val) return FA_FAIL_MEMORY(err);
    memcpy(c.val, through, (size_t)c.nvert * 3 * sizeof(double));
    FaMark mark = fai_arena_mark(arena);
    int most = 0;
    for (int v = 0; v < c.nvert; v++) most = FA_MAX(most, steps[v]);
    for (int it = 0; it < most; it++) {
        FaiQuads fine;
        FA_TRY(fai_subdivide(arena, &c, &fine, err));
        double *lim = FA_PUSH(arena, (size_t)fine.nvert * 3, double);
        if (!lim) return FA_FAIL_MEMORY(err);
        FA_TRY(fai_subdivide_limit(arena, &fine, lim, err));
        for (int i = 0; i < 3 * c.nvert; i++)
            if (it < steps[i / 3]) c.val[i] += through[i] - lim[i];
        fai_arena_release(arena, mark);
    }
    for (int v = 0; v < c.nvert; v++)
        for (int k = 0; k < 3; k++) control->val[(size_t)v * control->nchan + k] = c.val[3 * v + k];
    return FA_OK;
}
