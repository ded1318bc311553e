// Rigs made by the tests of faces: surfaces with one or two shapes, in metres, +y up, +z front.
#ifndef TEST_FACE_MADE_H
#define TEST_FACE_MADE_H

#include "test.h"

#include "base/base.h"
#include "rig/rig_build.h"

typedef struct Made {
    int nvert, ntri, room_v, room_t;
    float *x, *d; // d: the shape "move"
    int *tri;
} Made;

static inline int made_vert(Made *m, double x, double y, double z, double dx, double dy, double dz) {
    if (m->nvert == m->room_v) {
        m->room_v = 2 * m->room_v + 64;
        m->x = realloc(m->x, 12 * (size_t)m->room_v);
        m->d = realloc(m->d, 12 * (size_t)m->room_v);
        assert_true(m->x && m->d);
    }
    const double v[6] = {x, y, z, dx, dy, dz};
    for (int k = 0; k < 3; k++) m->x[3 * m->nvert + k] = (float)v[k], m->d[3 * m->nvert + k] = (float)v[3 + k];
    return m->nvert++;
}

static inline void made_tri(Made *m, int a, int b, int c) {
    if (m->ntri == m->room_t) {
        m->room_t = 2 * m->room_t + 64;
        assert_non_null(m->tri = realloc(m->tri, 12 * (size_t)m->room_t));
    }
    m->tri[3 * m->ntri] = a, m->tri[3 * m->ntri + 1] = b, m->tri[3 * m->ntri + 2] = c;
    m->ntri++;
}

static inline void made_quad(Made *m, int a, int b, int c, int d) {
    made_tri(m, a, b, c);
    made_tri(m, a, c, d);
}

static inline void made_free(Made *m) {
    free(m->x);
    free(m->d);
    free(m->tri);
    *m = (Made){0};
}

// With shapes that `shape` makes, nshape of them: "move0", ...; NULL: the one shape "move" that m has.
typedef void MadeShapeFn(const Made *m, int shape, float *d);
static inline FaRig *made_rig_shapes(const Made *m, int nshape, MadeShapeFn *shape) {
    FaError err = {0};
    FaRigDraft *draft = NULL;
    FaRig *rig = NULL;
    CHECK_OK(fai_draft_new(&draft, &err), &err);
    FaArena *arena = fai_draft_arena(draft);
    FaMesh mesh = {.nvert = m->nvert,
                   .nface = m->ntri,
                   .x = FA_PUSH(arena, 3 * m->nvert, float),
                   .face_start = FA_PUSH(arena, m->ntri + 1, int),
                   .face_vert = FA_PUSH(arena, 3 * m->ntri, int)};
    float *d = malloc(12 * (size_t)m->nvert);
    assert_true(mesh.x && mesh.face_start && mesh.face_vert && d);
    memcpy(mesh.x, m->x, 12 * (size_t)m->nvert);
    memcpy(mesh.face_vert, m->tri, 12 * (size_t)m->ntri);
    for (int t = 0; t <= m->ntri; t++) mesh.face_start[t] = 3 * t;
    fai_draft_mesh(draft, &mesh);
    if (!shape) CHECK_OK(fai_draft_shape_dense(draft, "move", m->d, 0, &err), &err);
    for (int s = 0; shape && s < nshape; s++) {
        char name[16];
        snprintf(name, sizeof name, "move%d", s);
        shape(m, s, d);
        CHECK_OK(fai_draft_shape_dense(draft, name, d, 0, &err), &err);
    }
    free(d);
    const FaRigHints hints = {.unit = 1, .up = FA_UP_Y, .name = "made", .path = ""};
    const FaRigOptions options = {.unit = FA_UNIT_M, .up = FA_UP_Y, .any_size = true};
    CHECK_OK(fai_draft_finish(draft, &hints, &options, &rig, &err), &err);
    return rig;
}

static inline FaRig *made_rig(const Made *m) { return made_rig_shapes(m, 1, NULL); }

// A sheet of n x n squares of side h in the plane z = 0, facing +z; the shape moves its middle by 2 mm.
static inline void made_sheet(Made *m, int n, double h) {
    for (int j = 0; j <= n; j++)
        for (int i = 0; i <= n; i++) {
            double x = (i - 0.5 * n) * h, y = (j - 0.5 * n) * h;
            made_vert(m, x, y, 0, 0, 0, hypot(x, y) < 0.35 * n * h ? 0.002 : 0);
        }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            made_quad(m, j * (n + 1) + i, j * (n + 1) + i + 1, (j + 1) * (n + 1) + i + 1, (j + 1) * (n + 1) + i);
}

// Shape s lifts, presses together or shears a round part of the sheet, each elsewhere.
static inline void made_move_sheet(const Made *m, int s, float *d) {
    double cx = 8e-3 * cos(2.4 * s), cy = 8e-3 * sin(2.4 * s);
    for (int v = 0; v < m->nvert; v++) {
        double x = (double)m->x[3 * v] - cx, y = (double)m->x[3 * v + 1] - cy, r = hypot(x, y) / 12e-3;
        double f = r < 1 ? pow(1 - r * r, 2) : 0;
        const double to[3] = {s % 3 == 1   ? -0.5 * x * f
                              : s % 3 == 2 ? 5e-3 * f
                                           : 0,
                              s % 3 == 1 ? -0.5 * y * f : 0, s % 3 == 0 ? 6e-3 * f : 1e-3 * f};
        for (int k = 0; k < 3; k++) d[3 * v + k] = (float)to[k];
    }
}

// A ball of radius r with `arms` tubes of length `length` and radius `thin` growing from a ring below its middle; the
// shape moves the front of the ball and no tube. arm_at: first vertex of the tubes' tips ring, for tests.
static inline void made_creature(Made *m, int rings, double r, int arms, double length, double thin) {
    const int around = 2 * rings;
    const double pi = 3.14159265358979323846;
    int top = made_vert(m, 0, r, 0, 0, 0, 0);
    for (int j = 1; j < rings; j++)
        for (int i = 0; i < around; i++) {
            double a = pi * j / rings, b = 2 * pi * i / around;
            double x = r * sin(a) * sin(b), y = r * cos(a), z = r * sin(a) * cos(b);
            bool front = z > 0.55 * r;
            made_vert(m, x, y, z, 0, front ? 0.004 : 0, 0);
        }
    int low = made_vert(m, 0, -r, 0, 0, 0, 0);
#define AT(j, i) (1 + ((j)-1) * around + (i) % around)
    // one quad of a ring below the equator is left open per arm, and a tube put on it
    int ring = (int)(0.68 * rings), every = around / arms;
    for (int i = 0; i < around; i++) {
        made_tri(m, top, AT(1, i), AT(1, i + 1));
        made_tri(m, low, AT(rings - 1, i + 1), AT(rings - 1, i));
        for (int j = 1; j < rings - 1; j++) {
            if (j == ring && i % every == 0) continue;
            made_quad(m, AT(j, i), AT(j + 1, i), AT(j + 1, i + 1), AT(j, i + 1));
        }
    }
    const int steps = 24;
    for (int k = 0; k < arms; k++) {
        int i = k * every, last[4] = {AT(ring, i), AT(ring + 1, i), AT(ring + 1, i + 1), AT(ring, i + 1)}, ringv[4];
        double mid[3] = {0}, out[3], size = 0;
        for (int c = 0; c < 4; c++)
            for (int a = 0; a < 3; a++) mid[a] += 0.25 * m->x[3 * last[c] + a];
        for (int a = 0; a < 3; a++) out[a] = mid[a], size += mid[a] * mid[a];
        for (int a = 0; a < 3; a++) out[a] /= sqrt(size);
        for (int s = 1; s <= steps; s++) {
            double t = (double)s / steps, shrink = t < 0.15 ? 1 - t / 0.15 * (1 - 0) : 0;
            for (int c = 0; c < 4; c++) {
                double p[3], radial[3], n = 0;
                for (int a = 0; a < 3; a++)
                    radial[a] = m->x[3 * (AT(ring, i) * 0 + (c == 0   ? AT(ring, i)
                                                             : c == 1 ? AT(ring + 1, i)
                                                             : c == 2 ? AT(ring + 1, i + 1)
                                                                      : AT(ring, i + 1))) +
                                     a] -
                                mid[a];
                for (int a = 0; a < 3; a++) n += radial[a] * radial[a];
                n = sqrt(n);
                double size_here = shrink * n + (1 - shrink) * thin * (1 - 0.5 * t);
                for (int a = 0; a < 3; a++) p[a] = mid[a] + out[a] * length * t + radial[a] / n * size_here;
                p[1] -= 0.5 * length * t * t; // they hang
                ringv[c] = made_vert(m, p[0], p[1], p[2], 0, 0, 0);
            }
            for (int c = 0; c < 4; c++) made_quad(m, last[c], last[(c + 1) % 4], ringv[(c + 1) % 4], ringv[c]);
            memcpy(last, ringv, sizeof last);
        }
        made_quad(m, last[0], last[1], last[2], last[3]);
    }
#undef AT
}

#endif
