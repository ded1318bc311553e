#include "solve/touch_zone.h"

#include "base/task.h"

#include <math.h>
#include <stdlib.h>

static const float REACH = 0.04f; // m: walls farther apart meet no sooner than any other two

typedef struct Wall {
    float x[3], n[3]; // rest position and normal
    float score;      // m; less is likelier
    int node;
} Wall;

typedef struct Search {
    int n;
    Wall *wall; // sorted along x[0]
} Search;

static int by_place(const void *a, const void *b) {
    const Wall *p = a, *q = b;
    if (p->x[0] != q->x[0]) return p->x[0] < q->x[0] ? -1 : 1;
    return p->node < q->node ? -1 : p->node > q->node;
}

static int by_score(const void *a, const void *b) {
    const Wall *p = a, *q = b;
    if (p->score != q->score) return p->score < q->score ? -1 : 1;
    return p->node < q->node ? -1 : p->node > q->node;
}

static float dot3(const float a[3], const float b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// How far q is from p, with half as much again where they stand at a right angle; INFINITY where they do not face each
// other.
static float score_of(const Wall *p, const Wall *q) {
    float d[3] = {q->x[0] - p->x[0], q->x[1] - p->x[1], q->x[2] - p->x[2]}, angle = dot3(p->n, q->n);
    if (!(angle < 0) || !(dot3(p->n, d) > 0) || !(dot3(q->n, d) < 0)) return INFINITY;
    return sqrtf(dot3(d, d)) * (1.5f + 0.5f * angle);
}

// Outwards from a node's own place, until nobody who follows can be nearer than the best.
static void search_walls(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Search *s = ctx;
    for (int i = begin; i < end; i++) {
        Wall *w = &s->wall[i];
        float best = REACH;
        for (int j = i + 1; j < s->n && s->wall[j].x[0] - w->x[0] < best; j++)
            best = fminf(best, score_of(w, &s->wall[j]));
        for (int j = i - 1; j >= 0 && w->x[0] - s->wall[j].x[0] < best; j--)
            best = fminf(best, score_of(w, &s->wall[j]));
        w->score = best;
    }
}

// Sums of the normals of a node's triangles, weighted by area, made unit.
static void add_normals(const FaContactSurface *s, float *normal) {
    for (int t = 0; t < s->ntri; t++) {
        const int *v = s->tri + 3 * (size_t)t;
        const float *x = s->x0 + 3 * (size_t)v[0], *y = s->x0 + 3 * (size_t)v[1], *z = s->x0 + 3 * (size_t)v[2];
        float a[3] = {y[0] - x[0], y[1] - x[1], y[2] - x[2]}, b[3] = {z[0] - x[0], z[1] - x[1], z[2] - x[2]};
        float n[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
        for (int j = 0; j < 3; j++)
            for (size_t k = 0; k < 3; k++) normal[3 * (size_t)v[j] + k] += n[k];
    }
    for (int i = 0; i < s->nnode; i++) {
        float *n = normal + 3 * (size_t)i, length = sqrtf(dot3(n, n));
        for (int k = 0; k < 3; k++) n[k] = length > 0 ? n[k] / length : 0;
    }
}

FaCode fai_touch_zone(const FaContactSurface *surface, int most, int *zone, int *nzone, FaError *err) {
    *nzone = 0;
    float *normal = FA_NEW(3 * (size_t)surface->nnode + 1, float);
    Search s = {0, FA_NEW((size_t)surface->nnode + 1, Wall)};
    if (normal && s.wall) {
        add_normals(surface, normal);
        for (int i = 0; i < surface->nnode; i++) {
            if (surface->touch && !(surface->touch[i] & 1)) continue;
            Wall *w = &s.wall[s.n++];
            memcpy(w->x, surface->x0 + 3 * (size_t)i, sizeof w->x);
            memcpy(w->n, normal + 3 * (size_t)i, sizeof w->n);
            w->node = i;
        }
        qsort(s.wall, (size_t)s.n, sizeof *s.wall, by_place);
        // each writes its own score, and reads only places and normals of others
        fai_parallel(s.n, 64, search_walls, &s);
        qsort(s.wall, (size_t)s.n, sizeof *s.wall, by_score);
        *nzone = FA_MIN(s.n, most);
        for (int i = 0; i < *nzone; i++) zone[i] = s.wall[i].node;
    }
    FaCode rc = normal && s.wall ? FA_OK : FA_FAIL_MEMORY(err);
    fa_free(normal);
    fa_free(s.wall);
    return rc;
}
