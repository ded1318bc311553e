#include "mesh/weld.h"

#include <math.h>
#include <stdlib.h>

// More faces than this at one edge are no surface: they are joined as they share vertices, and no further.
enum { MOST = 16 };
static const double FLAT = 0.999; // cosine: faces this near to one plane lie in one plane

typedef struct HalfEdge {
    int lo, hi;   // the two places, lo < hi
    int from, to; // its vertices: from is at lo
    int face;
    bool up; // it runs from lo to hi
} HalfEdge;

typedef struct Weld {
    const FaMesh *mesh;
    const int *same;
    HalfEdge *edge; // by place                        (nedge)
    int nedge;
    double *normal; // unit, 0 0 0: no area            (nface x 3)
    bool *doubled;  // places where sheets lie upon one another (nvert)
    int *weld;      // a tree towards the first         (nvert)
} Weld;

static void face_normal(const FaMesh *m, int face, double n[3]) {
    int first = m->face_start[face], end = m->face_start[face + 1];
    const float *o = m->x + 3 * (size_t)m->face_vert[first];
    double length;
    n[0] = n[1] = n[2] = 0;
    for (int c = first + 1; c + 1 < end; c++) {
        const float *p = m->x + 3 * (size_t)m->face_vert[c], *q = m->x + 3 * (size_t)m->face_vert[c + 1];
        double a[3], b[3];
        for (int k = 0; k < 3; k++) a[k] = (double)p[k] - (double)o[k], b[k] = (double)q[k] - (double)o[k];
        for (int k = 0; k < 3; k++) n[k] += a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
    }
    length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 3; k++) n[k] = length > 0 ? n[k] / length : 0;
}

static int by_place(const void *a, const void *b) {
    const HalfEdge *p = a, *q = b;
    if (p->lo != q->lo) return p->lo < q->lo ? -1 : 1;
    if (p->hi != q->hi) return p->hi < q->hi ? -1 : 1;
    if (p->face != q->face) return p->face < q->face ? -1 : 1;
    return (p->up > q->up) - (p->up < q->up);
}

// Half-edges with a place at an end where several vertices are.
static void gather(Weld *w, const bool *shared) {
    const FaMesh *m = w->mesh;
    for (int f = 0; f < m->nface; f++)
        for (int c = m->face_start[f], end = m->face_start[f + 1]; c < end; c++) {
            int from = m->face_vert[c], to = m->face_vert[c + 1 < end ? c + 1 : m->face_start[f]];
            int a = w->same[from], b = w->same[to];
            if (a == b || (!shared[a] && !shared[b])) continue;
            bool up = a < b;
            w->edge[w->nedge++] = up ? (HalfEdge){a, b, from, to, f, up} : (HalfEdge){b, a, to, from, f, up};
        }
    qsort(w->edge, (size_t)w->nedge, sizeof *w->edge, by_place);
}

static int group_end(const Weld *w, int first) {
    int i = first + 1;
    while (i < w->nedge && w->edge[i].lo == w->edge[first].lo && w->edge[i].hi == w->edge[first].hi) i++;
    return i;
}

// 1: the second face goes on from the first as a flat sheet does; -1: it lies upon it. What runs the same way along an
// edge is turned round first.
static double goes_on(const Weld *w, const HalfEdge *a, const HalfEdge *b) {
    const double *p = w->normal + 3 * (size_t)a->face, *q = w->normal + 3 * (size_t)b->face;
    double cosine = p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
    return a->up == b->up ? -cosine : cosine;
}

static void find_doubled(Weld *w) {
    for (int first = 0, end; first < w->nedge; first = end) {
        end = group_end(w, first);
        bool folded = end - first > MOST;
        for (int i = first; i < end && !folded; i++)
            for (int j = i + 1; j < end && !folded; j++) folded = goes_on(w, &w->edge[i], &w->edge[j]) < -FLAT;
        if (folded) w->doubled[w->edge[first].lo] = w->doubled[w->edge[first].hi] = true;
    }
}

static int root(int *weld, int v) {
    while (weld[v] != v) v = weld[v] = weld[weld[v]];
    return v;
}

static void join(int *weld, int a, int b) {
    a = root(weld, a);
    b = root(weld, b);
    if (a < b)
        weld[b] = a;
    else
        weld[a] = b;
}

// The faces at one edge, each with the one that it goes on into: those that share both vertices first, then the
// smoothest.
static void join_edge(Weld *w, HalfEdge *e, int n) {
    bool used[MOST] = {false};
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n && !used[i]; j++)
            if (!used[j] && e[i].up != e[j].up && e[i].from == e[j].from && e[i].to == e[j].to)
                used[i] = used[j] = true;
    for (;;) {
        double best = -FLAT;
        int a = -1, b = -1;
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n && !used[i]; j++) {
                double on = used[j] || e[i].up == e[j].up ? -1 : goes_on(w, &e[i], &e[j]);
                if (on > best) best = on, a = i, b = j;
            }
        if (a < 0) return;
        used[a] = used[b] = true;
        if (w->doubled[e->lo]) join(w->weld, e[a].from, e[b].from);
        if (w->doubled[e->hi]) join(w->weld, e[a].to, e[b].to);
    }
}

static void weld_all(Weld *w) {
    const FaMesh *m = w->mesh;
    for (int f = 0; f < m->nface; f++) face_normal(m, f, w->normal + 3 * (size_t)f);
    find_doubled(w);
    for (int v = 0; v < m->nvert; v++) w->weld[v] = w->doubled[w->same[v]] ? v : w->same[v];
    for (int first = 0, end; first < w->nedge; first = end) {
        end = group_end(w, first);
        const HalfEdge *e = &w->edge[first];
        if (end - first <= MOST && (w->doubled[e->lo] || w->doubled[e->hi])) join_edge(w, &w->edge[first], end - first);
    }
    for (int v = 0; v < m->nvert; v++) w->weld[v] = root(w->weld, v);
}

FaCode fai_weld_points(const FaMesh *mesh, const int *same, int *weld, FaError *err) {
    int corners = mesh->nface ? mesh->face_start[mesh->nface] : 0;
    bool *shared = FA_NEW(mesh->nvert, bool);
    Weld w = {.mesh = mesh,
              .same = same,
              .edge = FA_NEW(corners, HalfEdge),
              .normal = FA_NEW(3 * (size_t)mesh->nface, double),
              .doubled = FA_NEW(mesh->nvert, bool),
              .weld = weld};
    FaCode rc = shared && w.edge && w.normal && w.doubled ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (int v = 0; v < mesh->nvert; v++)
            if (same[v] != v) shared[same[v]] = true;
        gather(&w, shared);
        weld_all(&w);
    }
    fa_free(shared);
    fa_free(w.edge);
    fa_free(w.normal);
    fa_free(w.doubled);
    return rc;
}
