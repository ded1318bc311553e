// Surfaces that touch themselves, shared by the tests of contact. All memory is the arena's.
#ifndef TEST_CONTACT_SHAPES_H
#define TEST_CONTACT_SHAPES_H

#include "test.h"

#include "base/base.h"
#include "contact/contact.h"
#include "fascia/mesh.h"
#include "mesh/intersect.h"

static FaArena *arena;

static int set_up(void **state) {
    (void)state;
    arena = fai_arena_new(0);
    fa_threads_set(1); // the tests of threads set more; machines that run many tests at once gain nothing from it
    return arena ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    fai_arena_free(arena);
    fa_threads_set(0);
    return 0;
}

static float *copy(const FaMesh *m, const float *x) {
    float *to = FA_PUSH(arena, 3 * (size_t)m->nvert, float);
    memcpy(to, x, 3 * (size_t)m->nvert * sizeof *to);
    return to;
}

// Two sheets of n x n quads, `side` m wide, one above the other by `apart`, facing each other, with waves of `wave` m
// that follow each other, so that the distance is the same everywhere. Cells of the upper one are shifted by a third.
static inline FaMesh shape_lips(int n, double side, double apart, double wave) {
    int per = (n + 1) * (n + 1);
    FaMesh m = {.nvert = 2 * per, .ntri = 4 * n * n};
    m.x = FA_PUSH(arena, 3 * (size_t)m.nvert, float);
    m.tri = FA_PUSH(arena, 3 * (size_t)m.ntri, int);
    for (int v = 0; v < m.nvert; v++) {
        int upper = v / per, i = v % per % (n + 1), j = v % per / (n + 1);
        double x = side * (i + (upper ? 0.31 : 0)) / n, y = side * (j + (upper ? 0.17 : 0)) / n;
        m.x[3 * (size_t)v] = (float)x;
        m.x[3 * (size_t)v + 1] = (float)y;
        m.x[3 * (size_t)v + 2] = (float)((upper ? apart : 0) + wave * sin(500 * x) * cos(400 * y));
    }
    for (int t = 0, at = 0; t < 2 * n * n; t++) {
        int upper = t / (n * n), q = t % (n * n), v = upper * per + q / n * (n + 1) + q % n;
        int corner[6] = {v, v + 1, v + n + 2, v, v + n + 2, v + n + 1};
        for (int k = 0; k < 6; k++, at++) m.tri[at] = corner[upper ? 5 - k : k];
    }
    return m;
}

// One strip of 8 x n quads, `length` m long.
static inline FaMesh shape_strip(int n, double length) {
    FaMesh m = {.nvert = 9 * (n + 1), .ntri = 16 * n};
    m.x = FA_PUSH(arena, 3 * (size_t)m.nvert, float);
    m.tri = FA_PUSH(arena, 3 * (size_t)m.ntri, int);
    for (int v = 0; v < m.nvert; v++) {
        m.x[3 * (size_t)v] = (float)(length * (v / 9) / n);
        m.x[3 * (size_t)v + 1] = (float)(length * (v % 9) / n);
    }
    for (int q = 0, at = 0; q < 8 * n; q++) {
        int v = q / 8 * 9 + q % 8, corner[6] = {v, v + 9, v + 10, v, v + 10, v + 1};
        for (int k = 0; k < 6; k++) m.tri[at++] = corner[k];
    }
    return m;
}

static inline int crossings(const FaMesh *m, const float *x) {
    int count = 0;
    FaError err = {0};
    CHECK_OK(fai_self_intersections(m, x, NULL, NULL, 0, &count, &err), &err);
    return count;
}

static inline FaContact *contact_of(const FaMesh *m, const FaContactOptions *o, int ncollider,
                                    const FaContactBody *collider) {
    FaContactSurface s = {.nnode = m->nvert, .ntri = m->ntri, .tri = m->tri, .x0 = m->x};
    FaContact *c = NULL;
    FaError err = {0};
    CHECK_OK(fai_contact_new(&s, ncollider, collider, o, &c, &err), &err);
    return c;
}

// s(u) of a row at positions x.
static inline void row_value(const FaRow *r, const float *x0, const float *x, double s[3]) {
    for (int k = 0; k < 3; k++) {
        s[k] = r->offset[k];
        for (int i = 0; i < 4; i++)
            if (r->node[i] >= 0)
                s[k] += (double)r->weight[i] * ((double)x[3 * (size_t)r->node[i] + k] - x0[3 * (size_t)r->node[i] + k]);
    }
}

// A solver of the simplest kind: nodes want to be where they are; contact rows are made to hold by Gauss-Seidel, bonds
// give way by `pull` of their length per pass.
static inline void obey_rows(const FaRow *row, int nrow, const float *x0, float *x, int passes, double pull) {
    for (int pass = 0; pass < passes; pass++)
        for (int r = 0; r < nrow; r++) {
            double s[3], sum = 0, move[3];
            row_value(&row[r], x0, x, s);
            for (int i = 0; i < 4; i++) sum += row[r].node[i] < 0 ? 0 : (double)row[r].weight[i] * row[r].weight[i];
            if (row[r].kind == FA_ROW_PULL) {
                for (int k = 0; k < 3; k++) move[k] = -pull * s[k];
            } else {
                const float *n = row[r].normal;
                double lack = row[r].gap - (n[0] * s[0] + n[1] * s[1] + n[2] * s[2]);
                for (int k = 0; k < 3; k++) move[k] = lack > 0 ? lack * n[k] : 0;
            }
            for (int i = 0; i < 4 && sum > 0; i++)
                for (int k = 0; k < 3 && row[r].node[i] >= 0; k++)
                    x[3 * (size_t)row[r].node[i] + k] += (float)(row[r].weight[i] / sum * move[k]);
        }
}

#endif
