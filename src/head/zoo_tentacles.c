// Six tentacles on cheeks and chin, grown out of the skin: the disc of quads around a vertex is pulled out into a tube
// of rings that bends from the skin's normal downwards and tapers. The shapes turn and move each as the disc at its
// root.
#include "head/zoo.h"
#include "math/mat3.h"
#include "math/procrustes.h"

#include <math.h>

enum { RING = 8, RINGS = 14, TENTACLES = 6 };
// Width of a ring against the disc: narrower soon, and then evenly.
static double width(double s) { return (1 - 0.3 * fmin(4 * s, 1)) * (1 - 0.5 * s); }

// Where they grow (the nearest vertex in the middle of four quads) and how long they are, m. Neighbours are not alike,
// so that they swing out of step and meet.
static const struct {
    double at[3], length;
} roots[TENTACLES] = {{{0.013, -0.075, 0.085}, 0.105}, {{-0.013, -0.075, 0.085}, 0.085},
                      {{0.032, -0.066, 0.070}, 0.085}, {{-0.032, -0.066, 0.070}, 0.105},
                      {{0.049, -0.052, 0.048}, 0.105}, {{-0.049, -0.052, 0.048}, 0.085}};

typedef struct Root {
    int vertex, ring[RING]; // counter-clockwise from outside
} Root;

// The eight vertices around v; false if it is not in the middle of four quads that leave each other alone.
static bool ring_of(const FaZooMesh *m, int v, const bool *taken, int ring[RING]) {
    int next[4][3], n = 0;
    for (int f = 0; f < m->nface; f++)
        for (int c = m->face_start[f], end = m->face_start[f + 1]; c < end; c++) {
            if (m->face_vert[c] != v) continue;
            if (n == 4 || end - m->face_start[f] != 4) return false;
            for (int k = 0; k < 3; k++)
                next[n][k] = m->face_vert[m->face_start[f] + (c - m->face_start[f] + 1 + k) % 4];
            n++;
        }
    if (n != 4) return false;
    for (int i = 0, at = 0; i < 4; i++) {
        ring[2 * i] = next[at][0], ring[2 * i + 1] = next[at][1];
        int to = -1;
        for (int k = 0; k < 4; k++)
            if (next[k][0] == next[at][2]) to = k;
        if (to < 0) return false;
        at = to;
    }
    for (int j = 0; j < RING; j++)
        if (taken[ring[j]]) return false;
    return true;
}

static bool find_root(const FaZooMesh *m, const double at[3], bool *taken, Root *root) {
    double best = INFINITY;
    for (int v = 0; v < m->nvert; v++) {
        double d[3];
        int ring[RING];
        fai_v3_load(m->x, v, d);
        fai_v3_sub(d, at, d);
        const double far = fai_v3_norm(d);
        if (far >= best || far > 0.03 || taken[v] || !ring_of(m, v, taken, ring)) continue;
        best = far;
        root->vertex = v;
        memcpy(root->ring, ring, sizeof ring);
    }
    for (int j = 0; j < RING && isfinite(best); j++) taken[root->ring[j]] = true;
    if (isfinite(best)) taken[root->vertex] = true;
    return isfinite(best);
}

typedef struct Disc {
    double middle[3], normal[3], out[RING][3], radius; // out: unit, from the middle, in the plane
} Disc;

static Disc disc_of(const FaZooMesh *m, const Root *root) {
    Disc d = {.radius = 0};
    double p[RING][3], n[3];
    for (int j = 0; j < RING; j++) {
        fai_v3_load(m->x, root->ring[j], p[j]);
        fai_v3_mad(d.middle, 1.0 / RING, p[j], d.middle);
    }
    for (int j = 0; j < RING; j++) {
        double a[3], b[3];
        fai_v3_sub(p[j], d.middle, a);
        fai_v3_sub(p[(j + 1) % RING], d.middle, b);
        fai_v3_cross(a, b, n);
        fai_v3_add(d.normal, n, d.normal);
        d.radius += fai_v3_norm(a) / RING;
    }
    fai_v3_scale(1 / fai_v3_norm(d.normal), d.normal, d.normal);
    for (int j = 0; j < RING; j++) {
        fai_v3_sub(p[j], d.middle, d.out[j]);
        fai_v3_mad(d.out[j], -fai_v3_dot(d.out[j], d.normal), d.normal, d.out[j]);
        fai_v3_scale(1 / fai_v3_norm(d.out[j]), d.out[j], d.out[j]);
    }
    return d;
}

// Turn v as the shortest turn takes unit a to unit b.
static void turn_along(const double a[3], const double b[3], double v[3]) {
    double axis[3], cross[3], c = fai_v3_dot(a, b);
    fai_v3_cross(a, b, axis);
    fai_v3_cross(axis, v, cross);
    const double along = fai_v3_dot(axis, v) / (1 + c);
    for (int k = 0; k < 3; k++) v[k] = c * v[k] + cross[k] + along * axis[k];
}

// x: RINGS x RING vertices and the tip.
static void grow(const Disc *disc, double length, float *x) {
    static const double down[3] = {0, -1, 0};
    double at[3], way[3], was[3], out[RING][3];
    memcpy(at, disc->middle, sizeof at);
    memcpy(was, disc->normal, sizeof was);
    memcpy(out, disc->out, sizeof out);
    for (int r = 0; r <= RINGS; r++) {
        const double s = (r + 1.0) / RINGS, bend = fmin(s / 0.5, 1), b = bend * bend * (3 - 2 * bend);
        for (int k = 0; k < 3; k++) way[k] = (1 - b) * disc->normal[k] + b * down[k];
        fai_v3_scale(1 / fai_v3_norm(way), way, way);
        fai_v3_mad(at, length / RINGS * (r < RINGS ? 1 : 0.5), way, at);
        if (r == RINGS) break;
        for (int j = 0; j < RING; j++) {
            turn_along(was, way, out[j]);
            for (int k = 0; k < 3; k++)
                x[3 * (RING * r + j) + k] = (float)(at[k] + disc->radius * width(s) * out[j][k]);
        }
        memcpy(was, way, sizeof was);
    }
    for (int k = 0; k < 3; k++) x[3 * RING * RINGS + k] = (float)at[k];
}

enum { VERTS = RING * RINGS + 1, FACES = RING * (RINGS + 1), CORNERS = 4 * RING * RINGS + 3 * RING };

static void faces(const Root *root, int *start, int *vert) {
    int n = 0, f = 0;
    for (int r = 0; r <= RINGS; r++)
        for (int j = 0; j < RING; j++) {
            const int next = (j + 1) % RING;
            start[f++] = n;
            vert[n++] = r ? RING * (r - 1) + j : -1 - root->ring[j];
            vert[n++] = r ? RING * (r - 1) + next : -1 - root->ring[next];
            vert[n++] = r < RINGS ? RING * r + next : RING * RINGS;
            if (r < RINGS) vert[n++] = RING * r + j;
        }
    start[f] = n;
}

// As stiff as one piece: what a puppet of plastic would do. first: of its vertices.
static void follow_root(FaZooMesh *m, const Root *root, int first) {
    for (int s = 0; s < m->nshape; s++) {
        float *delta = m->shape[s].delta;
        double from[RING][3], to[RING][3], x[3], y[3];
        for (int j = 0; j < RING; j++) {
            fai_v3_load(m->x, root->ring[j], from[j]);
            fai_v3_load(delta, root->ring[j], to[j]);
            fai_v3_add(from[j], to[j], to[j]);
        }
        const FaAlign a = fai_align(RING, from[0], to[0], NULL, false);
        for (int v = first; v < first + VERTS; v++) {
            fai_v3_load(m->x, v, x);
            fai_align_apply(&a, x, y);
            for (int k = 0; k < 3; k++) delta[3 * (size_t)v + (size_t)k] = (float)(y[k] - x[k]);
        }
    }
}

FaCode fai_zoo_tentacles(FaZoo *zoo, FaError *err) {
    FaZooMesh *m = &zoo->mesh[0];
    const int nface = m->nface;
    bool *taken = FA_PUSH(zoo->arena, m->nvert, bool), *keep = FA_PUSH(zoo->arena, nface + TENTACLES * FACES, bool);
    float x[3 * VERTS];
    int from[VERTS], start[FACES + 1], vert[CORNERS], middle[TENTACLES], n = 0;
    if (!taken || !keep) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < TENTACLES; t++) {
        Root root;
        if (!find_root(m, roots[t].at, taken, &root)) continue;
        const Disc disc = disc_of(m, &root);
        grow(&disc, roots[t].length, x);
        faces(&root, start, vert);
        for (int v = 0; v < VERTS; v++) from[v] = root.vertex;
        middle[n++] = root.vertex;
        const int was = m->nvert;
        FA_TRY(fai_zoo_append(zoo, m, &(FaZooExtra){VERTS, FACES, x, from, start, vert, m->region[0]}, err));
        bool *more = FA_PUSH(zoo->arena, m->nvert, bool);
        if (!more) return FA_FAIL_MEMORY(err);
        memcpy(more, taken, (size_t)was * sizeof *more);
        for (int v = was; v < m->nvert; v++) more[v] = true;
        follow_root(m, &root, was);
        taken = more;
    }
    // the discs that the tubes stand on
    for (int f = 0; f < m->nface; f++) {
        keep[f] = true;
        for (int c = m->face_start[f]; c < m->face_start[f + 1]; c++)
            for (int t = 0; t < n; t++) keep[f] &= m->face_vert[c] != middle[t];
    }
    return fai_zoo_keep_faces(zoo, m, keep, err);
}
