// Lips that lie on each other at rest, at a distance of exactly nothing, have no sides: they would cross as soon as
// flesh moves by a micrometre. They are parted by a little before all begins, each to its own side.
#include "contact/pairs.h"

#include <math.h>

#define PARTED 1e-5 // m: of each side; a tenth of a hair
#define ALIKE 0.3   // difference of unit normals: what lies on each other and looks the same way is not parted
#define SLIGHT 1e-3 // of a hit's weight

enum { ROUNDS = 8 };

void fai_pairs_normals(const FaPairs *p, const double (*x)[3], double (*n)[3]) {
    memset(n, 0, (size_t)p->npoint * sizeof *n);
    for (int t = 0; t < p->ntri; t++) {
        const double *a = x[p->tri[t][0]], *b = x[p->tri[t][1]], *d = x[p->tri[t][2]];
        double u[3], v[3];
        for (int k = 0; k < 3; k++) u[k] = b[k] - a[k], v[k] = d[k] - a[k];
        double cross[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) n[p->tri[t][i]][k] += cross[k];
    }
    for (int i = 0; i < p->npoint; i++) {
        double size = sqrt(n[i][0] * n[i][0] + n[i][1] * n[i][1] + n[i][2] * n[i][2]);
        for (int k = 0; k < 3; k++) n[i][k] = size > 0 ? n[i][k] / size : 0;
    }
}

// The way to part a hit, from its second side to its first: where two sheets lie on each other the normal of either,
// where they roll away from each other the mean of both. false: they look the same way, and there is none.
static bool away(const FaPairHit *h, const double (*normal)[3], double out[3]) {
    int split = h->kind == FA_PAIR_VERTEX_TRIANGLE ? 1 : 2;
    double side[2][3] = {0}, size[2] = {0}, length = 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) side[i >= split][k] += fabs(h->weight[i]) * normal[h->point[i]][k];
    for (int i = 0; i < 6; i++) size[i / 3] += side[i / 3][i % 3] * side[i / 3][i % 3];
    for (int k = 0; k < 3; k++) {
        out[k] = side[1][k] / sqrt(size[1]) - side[0][k] / sqrt(size[0]);
        length += out[k] * out[k];
    }
    for (int k = 0; k < 3; k++) out[k] /= sqrt(length);
    return length > ALIKE * ALIKE; // not so of what is no number, either
}

static void add(FaPairs *p, const FaPairHit *h, const double (*normal)[3], double (*way)[3]) {
    int split = h->kind == FA_PAIR_VERTEX_TRIANGLE ? 1 : 2;
    double out[3];
    if (!away(h, normal, out)) return;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3 && h->point[i] < p->nsurface; k++)
            way[h->point[i]][k] += (i < split ? 1 : -1) * fabs(h->weight[i]) * out[k];
}

// volatile: a method's positions are floats, and contact's are to be the same ones.
static void part(FaPairs *p, int i, const double way[3]) {
    double length = sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
    if (!(length > SLIGHT) || p->parted[i]) return;
    for (int k = 0; k < 3; k++) {
        volatile float x = (float)(p->from[i][k] + PARTED / length * way[k]);
        p->from[i][k] = p->to[i][k] = (double)x;
    }
    p->parted[i] = 1;
}

// Chunks have room for so many hits; what was parted is not found again.
FaCode fai_pairs_part(FaPairs *p, double gap, FaError *err) {
    double(*normal)[3] = fai_alloc_array((size_t)p->npoint + 1, sizeof *normal),
    (*way)[3] = fai_alloc_array((size_t)p->npoint + 1, sizeof *way);
    int over = normal && way ? 1 : 0;
    FaCode code = over ? FA_OK : FA_FAIL_MEMORY(err);
    if (over) fai_pairs_normals(p, (const double(*)[3])p->from, normal);
    for (int round = 0; round < ROUNDS && over > 0; round++) {
        fai_pairs_refit(p, gap);
        fai_pairs_search(p, &(FaPairSearch){.gap = gap, .keep = 1}, &over);
        memset(way, 0, (size_t)p->npoint * sizeof *way);
        for (int c = 0; c < p->nchunk; c++)
            for (int i = 0; i < p->nhit[c]; i++) add(p, fai_pairs_hit(p, c, i), (const double(*)[3])normal, way);
        for (int i = 0; i < p->nsurface; i++) part(p, i, way[i]);
    }
    fa_free(normal);
    fa_free(way);
    return code;
}
