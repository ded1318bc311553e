#include "muscle/fit.h"

#include "math/dense.h"
#include "math/mat3.h"
#include "mesh/closest.h"
#include "mesh/mesh.h"
#include "mesh/winding.h"

#include <math.h>
#include <stdlib.h>

enum { POINTS = 5000, MOST = 400000, NODES = 13, ROUNDS = 5, HITS = 64 };
static const double BENT = 1.35;      // way on the surface against the straight one
static const double LEAST_LONG = 1.2; // length against width
static const double LEAST_COVERED = 0.75, MOST_BEYOND = 0.2, MOST_FOLDED = 0.02;

typedef struct Work {
    const FaMesh *mesh;
    int ntri;
    int *tri; // of the largest piece, outwards       (ntri x 3)
    FaWinding *winding;
    int n;
    double *p;   // inside                           (n x 3)
    double *t;   // along the line, m                (n)
    double size; // of the box
    int degree;  // of the line
    int nnode;
    double node[NODES][3], at[NODES]; // at: m from the first
    double begin, end;                // of the mesh along the line
    int ncut, *cut;                   // triangles that meet the plane of the section at hand (ntri)
    FaArena *arena;
} Work;

// --- what is given ------------------------------------------------------------------------------------------------

static double signed_volume(const Work *w) {
    double sum = 0;
    for (int t = 0; t < w->ntri; t++) {
        double p[3][3], n[3];
        for (int k = 0; k < 3; k++) fai_v3_load(w->mesh->x, w->tri[3 * t + k], p[k]);
        fai_v3_cross(p[1], p[2], n);
        sum += fai_v3_dot(p[0], n) / 6;
    }
    return sum;
}

// The largest piece, facing outwards. Crumbs are left out, halves are not.
static FaCode take_piece(Work *w, double *volume, FaError *err) {
    const FaMesh *m = w->mesh;
    FaTopology topo;
    FA_TRY(fai_topology_build(m, &topo, err));
    int best = 0, open = topo.boundary;
    int *count = FA_PUSH(w->arena, topo.nparts + 1, int);
    w->tri = FA_PUSH(w->arena, 3 * (size_t)m->ntri + 1, int);
    FaCode rc = count && w->tri ? FA_OK : FA_FAIL_MEMORY(err);
    for (int t = 0; t < m->ntri && rc >= 0; t++) count[topo.part[m->tri[3 * t]]]++;
    for (int i = 1; i < topo.nparts && rc >= 0; i++)
        if (count[i] > count[best]) best = i;
    if (rc >= 0 && (m->ntri < 4 || open > 0))
        rc = FA_FAIL(err, FA_E_MESH, NULL, "close its holes in the tool that made it (fill holes, cap ends)",
                     "the mesh is not closed: %d edges have one triangle only", open);
    if (rc >= 0 && count[best] < 0.8 * m->ntri)
        rc = FA_FAIL(err, FA_E_MESH, NULL, "give each muscle a file of its own", "the mesh is of %d pieces",
                     topo.nparts);
    for (int t = 0; t < m->ntri && rc >= 0; t++)
        if (topo.part[m->tri[3 * t]] == best)
            memcpy(w->tri + 3 * (size_t)w->ntri++, m->tri + 3 * (size_t)t, 3 * sizeof(int));
    fai_topology_free(&topo);
    FA_TRY(rc);
    *volume = signed_volume(w);
    for (int t = 0; t < w->ntri && *volume < 0; t++) {
        int *v = w->tri + 3 * (size_t)t, swap = v[1];
        v[1] = v[2], v[2] = swap;
    }
    *volume = fabs(*volume);
    return FA_OK;
}

static FaCode fill(Work *w, double volume, FaError *err) {
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, box = 1;
    for (int i = 0; i < 3 * w->ntri; i++)
        for (int k = 0; k < 3; k++) {
            double x = (double)w->mesh->x[3 * (size_t)w->tri[i] + (size_t)k];
            lo[k] = fmin(lo[k], x), hi[k] = fmax(hi[k], x);
        }
    for (int k = 0; k < 3; k++) box *= hi[k] - lo[k], w->size = fmax(w->size, hi[k] - lo[k]);
    if (!(volume > 1e-9 * w->size * w->size * w->size))
        return FA_FAIL(err, FA_E_MESH, NULL, "give it a thickness", "the mesh encloses nothing");
    FA_TRY(fai_winding_new(w->mesh->x, w->ntri, w->tri, &w->winding, err));
    double h = fmax(cbrt(volume / POINTS), cbrt(box / MOST));
    int n[3];
    for (int k = 0; k < 3; k++) n[k] = (int)((hi[k] - lo[k]) / h) + 1;
    size_t all = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    w->p = FA_PUSH(w->arena, 3 * all, double);
    w->t = FA_PUSH(w->arena, all, double);
    if (!w->p || !w->t) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < all; i++) {
        const size_t at[3] = {i % (size_t)n[0], i / (size_t)n[0] % (size_t)n[1], i / ((size_t)n[0] * (size_t)n[1])};
        double *p = w->p + 3 * (size_t)w->n;
        for (int k = 0; k < 3; k++) p[k] = lo[k] + ((double)at[k] + 0.5) * h;
        w->n += fai_winding_at(w->winding, p) > 0.5;
    }
    if (w->n < 200) return FA_FAIL(err, FA_E_MESH, NULL, "give it a thickness", "the mesh is too thin to be a muscle");
    return FA_OK;
}

// --- the line in the middle ---------------------------------------------------------------------------------------

// Axes of points by how far they spread: rows, the longest first. which: points whose t is in [from, to].
static int spread(const Work *w, double from, double to, double middle[3], double axis[9], double value[3]) {
    double a[9] = {0};
    int n = 0;
    fai_v3_set(middle, 0, 0, 0);
    for (int i = 0; i < w->n; i++)
        if (w->t[i] >= from && w->t[i] <= to) fai_v3_add(middle, w->p + 3 * (size_t)i, middle), n++;
    if (n == 0) return 0;
    fai_v3_scale(1.0 / n, middle, middle);
    for (int i = 0; i < w->n; i++) {
        double d[3];
        if (!(w->t[i] >= from && w->t[i] <= to)) continue;
        fai_v3_sub(w->p + 3 * (size_t)i, middle, d);
        for (int k = 0; k < 9; k++) a[k] += d[k / 3] * d[k % 3] / n;
    }
    FaError ignored = {0};
    return fai_eigen_symmetric(3, a, value, axis, &ignored) < 0 ? 0 : n;
}

typedef struct Front {
    double far;
    int vert;
} Front;

// Ways along edges from a vertex (Dijkstra, a heap); INFINITY: not reached. Returns the farthest reached.
static int ways(const Work *w, const FaTopology *topo, int from, Front *heap, double *far) {
    int n = 0, last = from;
    for (int v = 0; v < topo->nvert; v++) far[v] = INFINITY;
    far[from] = 0;
    heap[n++] = (Front){0, from};
    while (n > 0) {
        Front top = heap[0], move = heap[--n];
        int at = 0;
        for (int child = 1; child < n; child = 2 * at + 1) {
            if (child + 1 < n && heap[child + 1].far < heap[child].far) child++;
            if (!(heap[child].far < move.far)) break;
            heap[at] = heap[child], at = child;
        }
        heap[at] = move;
        if (top.far > far[top.vert]) continue;
        last = top.vert;
        for (int e = topo->around_start[top.vert]; e < topo->around_start[top.vert + 1]; e++) {
            int to = topo->around[e];
            double a[3], b[3];
            fai_v3_load(w->mesh->x, top.vert, a), fai_v3_load(w->mesh->x, to, b);
            fai_v3_sub(a, b, a);
            double next = top.far + fai_v3_norm(a);
            if (!(next < far[to])) continue;
            far[to] = next;
            int i = n++;
            for (; i > 0 && heap[(i - 1) / 2].far > next; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
            heap[i] = (Front){next, to};
        }
    }
    return last;
}

// Where it is bent: t of a point is by how much farther it is from one end than from the other.
static FaCode start_bent(Work *w, bool *bent, FaError *err) {
    FaTopology topo;
    FaClosest *closest = NULL;
    FA_TRY(fai_topology_build(w->mesh, &topo, err));
    double *far[2] = {FA_PUSH(w->arena, topo.nvert + 1, double), FA_PUSH(w->arena, topo.nvert + 1, double)};
    Front *heap = FA_PUSH(w->arena, 2 * (size_t)topo.nedge + 2, Front);
    FaMesh piece = *w->mesh;
    piece.tri = w->tri, piece.ntri = w->ntri, piece.tri_face = NULL, piece.nface = 0;
    FaCode rc = far[0] && far[1] && heap ? fai_closest_new(&piece, NULL, &closest, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        int a = ways(w, &topo, w->tri[0], heap, far[0]), b = ways(w, &topo, a, heap, far[0]);
        double p[3], q[3];
        ways(w, &topo, b, heap, far[1]);
        fai_v3_load(w->mesh->x, a, p), fai_v3_load(w->mesh->x, b, q);
        double middle[3], way[3];
        fai_v3_sub(p, q, way);
        fai_v3_mad(q, 0.5, way, middle); // outside of what is bent
        *bent = far[0][b] > BENT * fai_v3_norm(way) && fai_winding_at(w->winding, middle) < 0.5;
    }
    for (int i = 0; i < w->n && rc >= 0 && *bent; i++) {
        float p[3];
        for (int k = 0; k < 3; k++) p[k] = (float)w->p[3 * (size_t)i + (size_t)k];
        FaHit hit = fai_closest_point(closest, p, INFINITY);
        w->t[i] = 0;
        for (int k = 0; k < 3; k++) {
            int v = w->tri[3 * (size_t)hit.tri + (size_t)k];
            w->t[i] += (double)hit.bary[k] * 0.5 * (far[0][v] - far[1][v]);
        }
    }
    fai_closest_free(closest);
    fai_topology_free(&topo);
    return rc;
}

static void start_straight(Work *w) {
    double middle[3], axis[9], value[3], d[3];
    for (int i = 0; i < w->n; i++) w->t[i] = 0;
    spread(w, 0, 0, middle, axis, value);
    w->degree = value[0] > 12 * value[1] ? 4 : value[0] > 5 * value[1] ? 3 : 2;
    for (int i = 0; i < w->n; i++) {
        fai_v3_sub(w->p + 3 * (size_t)i, middle, d);
        w->t[i] = fai_v3_dot(d, axis);
    }
}

// Nearest place on the line, m; beyond its ends it goes straight on.
static double along(const Work *w, const double p[3]) {
    double best = INFINITY, t = 0;
    for (int i = 0; i + 1 < w->nnode; i++) {
        double way[3], d[3], long2, s;
        fai_v3_sub(w->node[i + 1], w->node[i], way);
        fai_v3_sub(p, w->node[i], d);
        long2 = fai_v3_dot(way, way);
        s = fai_v3_dot(way, d) / long2;
        if (i > 0) s = fmax(s, 0);
        if (i + 2 < w->nnode) s = fmin(s, 1);
        fai_v3_mad(d, -s, way, d);
        double off = fai_v3_dot(d, d);
        if (off < best) best = off, t = w->at[i] + s * (w->at[i + 1] - w->at[i]);
    }
    return t;
}

static void line_at(const Work *w, double t, double p[3]) {
    int i = 0;
    double way[3];
    while (i + 2 < w->nnode && t > w->at[i + 1]) i++;
    fai_v3_sub(w->node[i + 1], w->node[i], way);
    fai_v3_mad(w->node[i], (t - w->at[i]) / (w->at[i + 1] - w->at[i]), way, p);
}

static void line_way(const Work *w, double t, double way[3]) {
    const double step = 0.07 * (w->end - w->begin);
    double a[3], b[3];
    line_at(w, t - step, a), line_at(w, t + step, b);
    fai_v3_sub(b, a, way);
    fai_v3_normalize(way);
}

// A polynomial through the middles of slices, so that sections of a wide muscle do not turn against each other.
static FaCode straighten(Work *w, const int count[NODES], double (*sum)[3], FaError *err) {
    enum { MOST_TERMS = 7 };
    const int n = w->degree + 1;
    double a[MOST_TERMS * MOST_TERMS] = {0}, b[3][MOST_TERMS] = {{0}};
    for (int i = 0; i < NODES; i++) {
        double t = 2.0 * i / (NODES - 1) - 1, power[MOST_TERMS] = {1};
        for (int k = 1; k < n; k++) power[k] = power[k - 1] * t;
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++) a[j * n + k] += count[i] * power[j] * power[k];
            for (int k = 0; k < 3; k++) b[k][j] += power[j] * sum[i][k];
        }
    }
    if (!fai_dense_cholesky(n, n, a))
        return FA_FAIL(err, FA_E_MESH, NULL, "give a muscle in one piece", "the mesh has no line along its middle");
    for (int k = 0; k < 3; k++) {
        fai_dense_forward(n, n, a, b[k]);
        fai_dense_backward(n, n, a, b[k]);
        for (int i = 0; i < NODES; i++) {
            double t = 2.0 * i / (NODES - 1) - 1, x = 0;
            for (int j = n - 1; j >= 0; j--) x = x * t + b[k][j];
            w->node[i][k] = x;
        }
    }
    return FA_OK;
}

// Through the middles of slices.
static FaCode draw_line(Work *w, FaError *err) {
    double lo = INFINITY, hi = -INFINITY, sum[NODES][3] = {{0}};
    int count[NODES] = {0};
    for (int i = 0; i < w->n; i++) lo = fmin(lo, w->t[i]), hi = fmax(hi, w->t[i]);
    for (int i = 0; i < w->n; i++) {
        int slice = FA_MIN((int)((w->t[i] - lo) / (hi - lo) * NODES), NODES - 1);
        fai_v3_add(sum[slice], w->p + 3 * (size_t)i, sum[slice]);
        count[slice]++;
    }
    w->nnode = NODES;
    int full = 0;
    for (int i = 0; i < NODES; i++) full += count[i] > 2;
    if (full < 4 || !(hi > lo))
        return FA_FAIL(err, FA_E_MESH, NULL, "give a muscle in one piece", "the mesh has no line along its middle");
    FA_TRY(straighten(w, count, sum, err));
    for (int i = 1; i < w->nnode; i++) {
        double d[3];
        fai_v3_sub(w->node[i], w->node[i - 1], d);
        w->at[i] = w->at[i - 1] + fmax(fai_v3_norm(d), 1e-9 * w->size);
    }
    for (int i = 0; i < w->n; i++) w->t[i] = along(w, w->p + 3 * (size_t)i);
    w->begin = INFINITY, w->end = -INFINITY;
    for (int i = 0; i < 3 * w->ntri; i++) {
        double p[3];
        fai_v3_load(w->mesh->x, w->tri[i], p);
        double t = along(w, p);
        w->begin = fmin(w->begin, t), w->end = fmax(w->end, t);
    }
    return FA_OK;
}

// --- cross-sections -----------------------------------------------------------------------------------------------

typedef struct Section {
    double middle[3], across[3], deep[3]; // a point inside; unit, both square to the line
    double lo, hi;                        // along `across`
} Section;

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// All chords of a section lie in its plane: what does not meet that is never asked again.
static void cut_section(Work *w, const Section *c) {
    double normal[3];
    fai_v3_cross(c->across, c->deep, normal);
    w->ncut = 0;
    for (int t = 0; t < w->ntri; t++) {
        double lo = INFINITY, hi = -INFINITY;
        for (int k = 0; k < 3; k++) {
            double p[3];
            fai_v3_load(w->mesh->x, w->tri[3 * (size_t)t + (size_t)k], p);
            fai_v3_sub(p, c->middle, p);
            const double off = fai_v3_dot(p, normal);
            lo = fmin(lo, off), hi = fmax(hi, off);
        }
        if (lo <= 1e-5 * w->size && hi >= -1e-5 * w->size) w->cut[w->ncut++] = t;
    }
}

// Places where a straight line in the section's plane crosses the mesh, in order; an even number, or 0 where it grazes
// an edge.
static int crossings(const Work *w, const double from[3], const double way[3], double at[HITS]) {
    int n = 0;
    for (int i = 0; i < w->ncut && n < HITS; i++) {
        double p[3][3], e1[3], e2[3], h[3], s[3], q[3];
        for (int k = 0; k < 3; k++) fai_v3_load(w->mesh->x, w->tri[3 * (size_t)w->cut[i] + (size_t)k], p[k]);
        fai_v3_sub(p[1], p[0], e1), fai_v3_sub(p[2], p[0], e2);
        fai_v3_cross(way, e2, h);
        double det = fai_v3_dot(e1, h);
        if (det == 0) continue;
        fai_v3_sub(from, p[0], s);
        double u = fai_v3_dot(s, h) / det;
        if (u < 0 || u > 1) continue;
        fai_v3_cross(s, e1, q);
        double v = fai_v3_dot(way, q) / det;
        if (v < 0 || u + v > 1) continue;
        at[n++] = fai_v3_dot(e2, q) / det;
    }
    qsort(at, (size_t)n, sizeof *at, by_value);
    return n % 2 ? 0 : n;
}

// The chord of a section at a place across that goes on from the one beside it, or is nearest to the middle (beside
// NULL). False: there is none.
static bool chord(const Work *w, const Section *c, double aside, const double beside[2], double out[2]) {
    double at[HITS], from[3], best = INFINITY;
    int n = 0;
    for (int tries = 0; tries < 3 && n == 0; tries++) {
        fai_v3_mad(c->middle, aside + tries * 1e-6 * w->size, c->across, from);
        fai_v3_mad(from, -1.37e-7 * w->size * (tries + 1), c->deep, from);
        n = crossings(w, from, c->deep, at);
    }
    for (int i = 0; i + 1 < n; i += 2) {
        double off = beside ? fmax(at[i] - beside[1], beside[0] - at[i + 1]) : fmax(at[i], -at[i + 1]);
        if (beside && off > 0.02 * w->size) continue;
        if (off < best) best = off, out[0] = at[i], out[1] = at[i + 1];
    }
    return isfinite(best);
}

// How far the section goes to one side, and its chord there.
static double reach(const Work *w, const Section *c, double sign) {
    double step = 0.01 * w->size, at = 0, beside[2], next[2];
    if (!chord(w, c, 0, NULL, beside)) return 0;
    while (fabs(at) < 2 * w->size && chord(w, c, at + sign * step, beside, next)) {
        at += sign * step;
        memcpy(beside, next, sizeof beside);
    }
    for (int i = 0; i < 12; i++) {
        step *= 0.5;
        if (!chord(w, c, at + sign * step, beside, next)) continue;
        at += sign * step;
        memcpy(beside, next, sizeof beside);
    }
    return at;
}

static bool section_at(Work *w, double t, const Section *before, Section *c) {
    double way[3], axis[9], value[3], line[3], best = INFINITY, d[3];
    const double half = 0.05 * (w->end - w->begin);
    line_way(w, t, way);
    line_at(w, t, line);
    int n = spread(w, t - half, t + half, c->middle, axis, value);
    if (n == 0) memcpy(c->middle, line, sizeof line);
    // in the plane of the section
    fai_v3_sub(line, c->middle, d);
    fai_v3_mad(c->middle, fai_v3_dot(d, way), way, c->middle);
    double across[3] = {0};
    for (int k = 0; k < 3 && n > 20; k++) { // the widest axis that is not along the line
        memcpy(across, axis + 3 * k, sizeof across);
        if (fabs(fai_v3_dot(across, way)) < 0.6) break;
    }
    fai_v3_mad(across, -fai_v3_dot(across, way), way, across);
    if (before) {
        double carried[3];
        memcpy(carried, before->across, sizeof carried);
        fai_v3_mad(carried, -fai_v3_dot(carried, way), way, carried);
        fai_v3_normalize(carried);
        if (fai_v3_dot(carried, across) < 0) fai_v3_scale(-1, across, across);
        // a round section has no widest axis, and one that turns at once is another axis
        if (!(fai_v3_norm(across) > 0.1) || fai_v3_dot(carried, across) < 0.8 * fai_v3_norm(across))
            memcpy(across, carried, sizeof across);
    }
    if (!fai_v3_normalize(across)) return false;
    memcpy(c->across, across, sizeof across);
    fai_v3_cross(way, c->across, c->deep);
    double out[2], start[3];
    memcpy(start, c->middle, sizeof start);
    cut_section(w, c);
    if (!chord(w, c, 0, NULL, out) || out[0] > 0 || out[1] < 0) { // the middle is outside: the nearest point inside
        for (int i = 0; i < w->n; i++) {
            double off[3];
            fai_v3_sub(w->p + 3 * (size_t)i, start, off);
            double ahead = fai_v3_dot(off, way), far = fai_v3_dot(off, off) + 8 * ahead * ahead;
            if (far < best) {
                best = far;
                fai_v3_mad(w->p + 3 * (size_t)i, -ahead, way, c->middle);
            }
        }
        if (!chord(w, c, 0, NULL, out)) return false;
    }
    c->lo = reach(w, c, -1), c->hi = reach(w, c, 1);
    return c->hi > c->lo;
}

// Points of a section: closer together at its edges, where it is round.
static bool fill_section(const Work *w, const Section *c, const FaBspline *s, int row) {
    static const double INSET = 0.012;
    double beside[2], chords[FA_FIT_ACROSS][2];
    for (int j = 0; j < s->n[1]; j++) {
        double v = fai_bspline_greville(s->n[1], false, j), round = 0.5 - 0.5 * cos(M_PI * v);
        v = INSET + (1 - 2 * INSET) * (0.45 * v + 0.55 * round);
        double aside = c->lo + v * (c->hi - c->lo), step = aside;
        // walk out from the middle so that each chord goes on from the last
        if (!chord(w, c, 0, NULL, beside)) return false;
        for (int k = 1; k <= 24; k++) {
            double next[2];
            step = aside * k / 24;
            if (chord(w, c, step, beside, next)) memcpy(beside, next, sizeof beside);
        }
        memcpy(chords[j], beside, sizeof beside);
        for (int k = 0; k < s->n[2]; k++) {
            double z = fai_bspline_greville(s->n[2], false, k), *x = fai_bspline_point(s, row, j, k);
            fai_v3_mad(c->middle, aside, c->across, x);
            fai_v3_mad(x, chords[j][0] + z * (chords[j][1] - chords[j][0]), c->deep, x);
        }
    }
    return true;
}

static FaCode fill_lattice(Work *w, FaBspline *s, double *width, FaError *err) {
    static const double INSET = 0.012;
    Section c[FA_FIT_ALONG];
    *width = 0;
    for (int pass = 0; pass < 2; pass++) // from the middle to both ends, so that thin ends follow it
        for (int k = 0; k <= s->n[0] / 2; k++) {
            int i = pass ? s->n[0] / 2 - k : s->n[0] / 2 + k, from = pass ? i + 1 : i - 1;
            if (i < 0 || i >= s->n[0] || (pass && k == 0)) continue;
            const Section *before = k ? &c[from] : NULL;
            double u = INSET + (1 - 2 * INSET) * fai_bspline_greville(s->n[0], false, i);
            bool good =
                section_at(w, w->begin + u * (w->end - w->begin), before, &c[i]) && fill_section(w, &c[i], s, i);
            // at a tip that is cut aslant: a little further in
            for (int tries = 1; tries < 6 && !good && (i == 0 || i == s->n[0] - 1); tries++) {
                double in = 0.015 * tries;
                good = section_at(w, w->begin + (i ? 1 - in : in) * (w->end - w->begin), before, &c[i]) &&
                       fill_section(w, &c[i], s, i);
            }
            if (!good)
                return FA_FAIL(err, FA_E_MESH, NULL, "give straps and sheets; a ring as two halves",
                               "the mesh has no cross-section at %.0f %% of its length", 100 * u);
            *width = fmax(*width, c[i].hi - c[i].lo);
        }
    return FA_OK;
}

// A lattice that is inside out somewhere (sections of a ragged end that turn against each other) is smoothed along and
// across until it is not; ends stay.
static FaCode unfold(Work *w, FaBspline *s, double *folded, FaError *err) {
    const int n = fai_bspline_points(s), step[2] = {1, s->n[0]};
    double *at = FA_PUSH(w->arena, 3 * (size_t)n, double), *next = FA_PUSH(w->arena, 3 * (size_t)n, double);
    if (!at || !next) return FA_FAIL_MEMORY(err);
    memcpy(at, s->c, 3 * (size_t)n * sizeof *at);
    for (int round = 0; round <= 6; round++) {
        FA_TRY(fai_bspline_fit(s, at, err));
        fai_bspline_volume(s, folded);
        *folded = fmin(*folded, 1 - *folded);
        if (*folded < MOST_FOLDED) break;
        for (int axis = 0; axis < 2; axis++) {
            memcpy(next, at, 3 * (size_t)n * sizeof *at);
            for (int i = 0; i < n; i++) {
                int place = axis ? i / s->n[0] % s->n[1] : i % s->n[0];
                if (place == 0 || place == s->n[axis] - 1) continue;
                double g[3]; // its neighbours are not equally far
                for (int k = 0; k < 3; k++) g[k] = fai_bspline_greville(s->n[axis], false, place - 1 + k);
                double f = (g[1] - g[0]) / (g[2] - g[0]);
                for (int k = 0; k < 3; k++)
                    next[3 * i + k] = 0.5 * at[3 * i + k] +
                                      0.5 * ((1 - f) * at[3 * (i - step[axis]) + k] + f * at[3 * (i + step[axis]) + k]);
            }
            double *swap = at;
            at = next, next = swap;
        }
    }
    return FA_OK;
}

// --- how well it came out -----------------------------------------------------------------------------------------

static FaCode measure(Work *w, const FaBspline *s, FaFit *fit, FaError *err) {
    FaBsplineFinder finder;
    FaBsplineSurface surface;
    FaClosest *closest = NULL;
    double uvw[3], outside = 0, all = 0;
    int inside = 0, n = 0;
    FA_TRY(fai_bspline_finder(s, w->arena, &finder, err));
    for (int i = 0; i < w->n; i++) inside += fai_bspline_inside(&finder, w->p + 3 * (size_t)i, uvw);
    fit->covered = (double)inside / w->n;
    fit->volume_error = fai_bspline_volume(s, NULL) / fit->volume - 1;
    for (int k = 0; k < 24 * 10 * 6; k++) {
        double x[3], J[9], at[3] = {(k % 24 + 0.5) / 24, (k / 24 % 10 + 0.5) / 10, (k / 240 + 0.5) / 6};
        fai_bspline_at(s, at, x, J);
        double v = fabs(fai_m3_det(J));
        all += v;
        if (fai_winding_at(w->winding, x) < 0.5) outside += v;
    }
    fit->beyond = all > 0 ? outside / all : 1;
    FA_TRY(fai_bspline_surface(s, (int[]){56, 24, 8}, w->arena, &surface, err));
    const FaMesh mesh = {.nvert = surface.nvert, .ntri = surface.ntri, .x = surface.x, .tri = surface.tri};
    double *far = FA_PUSH(w->arena, 3 * (size_t)w->ntri, double);
    if (!far) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_closest_new(&mesh, NULL, &closest, err));
    int stride = FA_MAX(1, w->ntri / 3000);
    for (int t = 0; t < w->ntri; t += stride) {
        FaHit hit = fai_closest_point(closest, w->mesh->x + 3 * (size_t)w->tri[3 * (size_t)t], INFINITY);
        far[n++] = (double)hit.distance;
    }
    fai_closest_free(closest);
    qsort(far, (size_t)n, sizeof *far, by_value);
    fit->median = far[n / 2], fit->p95 = far[(int)(0.95 * (n - 1))];
    return FA_OK;
}

static FaCode fit_all(Work *w, FaArena *arena, FaBspline *s, FaFit *fit, FaError *err) {
    bool bent = false;
    double width, folded;
    FA_TRY(take_piece(w, &fit->volume, err));
    FA_TRY(fill(w, fit->volume, err));
    FA_TRY(start_bent(w, &bent, err));
    w->degree = 6;
    if (!bent) start_straight(w);
    for (int i = 0; i < ROUNDS; i++) FA_TRY(draw_line(w, err));
    *s = (FaBspline){{FA_FIT_ALONG, FA_FIT_ACROSS, FA_FIT_DEEP}, false, NULL};
    s->c = FA_PUSH(arena, 3 * (size_t)fai_bspline_points(s), double);
    w->cut = FA_PUSH(w->arena, w->ntri, int);
    if (!s->c || !w->cut) return FA_FAIL_MEMORY(err);
    FA_TRY(fill_lattice(w, s, &width, err));
    fit->length = w->end - w->begin;
    fit->elongation = fit->length / width;
    if (fit->elongation < LEAST_LONG)
        return FA_FAIL(err, FA_E_MESH, NULL, "split it along its fibres, so that each part is longer than wide",
                       "the mesh is about as wide as it is long (%.0f by %.0f mm): its fibres may run either way",
                       1e3 * fit->length, 1e3 * width);
    FA_TRY(unfold(w, s, &folded, err));
    FA_TRY(measure(w, s, fit, err));
    if (fit->covered < LEAST_COVERED || fit->beyond > MOST_BEYOND || folded > MOST_FOLDED)
        return FA_FAIL(
            err, FA_E_MESH, NULL, "give straps and sheets; a ring as two halves, a fork as its arms",
            "cross-sections along its length describe the mesh badly: %.0f %% of it is met, %.0f %% of the solid "
            "is outside of it, %.0f %% inside out",
            100 * fit->covered, 100 * fit->beyond, 100 * folded);
    return FA_OK;
}

FaCode fai_fit_solid(const FaMesh *mesh, FaArena *arena, FaBspline *solid, FaFit *fit, FaError *err) {
    *fit = (FaFit){0}, *solid = (FaBspline){0};
    Work w = {.mesh = mesh, .arena = fai_arena_new(0)};
    FaCode rc = w.arena ? fit_all(&w, arena, solid, fit, err) : FA_FAIL_MEMORY(err);
    fai_winding_free(w.winding);
    fai_arena_free(w.arena);
    return rc;
}
