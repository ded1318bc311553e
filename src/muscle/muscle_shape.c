#include "muscle/muscle_shape.h"

#include "math/mat3.h"

#include <math.h>

// --- lattices follow the flesh ------------------------------------------------------------------------------------

// Where samples went.
static FaCode find_moves(FaMuscleModel *m, FaError *err) {
    const FaMuscleFlesh flesh = {m->flesh.nnode, m->flesh.ntet, m->rest, m->flesh.tet};
    if (!m->tracks.arena) FA_TRY(fai_muscle_tracks_new(&flesh, &m->muscles, &m->samples, &m->tracks, err));
    if (!m->moves) m->moves = FA_PUSH(m->arena, 6 * (size_t)m->samples.n + 6, double);
    if (!m->moves) return FA_FAIL_MEMORY(err);
    double *rest = m->moves + 3 * (size_t)m->samples.n;
    fai_muscle_tracks_sample(&m->tracks, m->x, m->moves);
    fai_muscle_tracks_sample(&m->tracks, m->rest, rest);
    for (int i = 0; i < 3 * m->samples.n; i++) m->moves[i] -= rest[i];
    return FA_OK;
}

// --- meshes -------------------------------------------------------------------------------------------------------

enum { AROUND = 24, ROWS = 30, TURN = 64 }; // vertices of a cross-section; cross-sections of a strap, of a ring

// A rectangle with round corners, so that a muscle does not look like a board.
static void cross_section(int i, double size, double vw[2]) {
    const double angle = 2 * M_PI * i / AROUND, c = cos(angle), s = sin(angle);
    vw[0] = 0.5 + 0.5 * size * copysign(sqrt(fabs(c)), c);
    vw[1] = 0.5 + 0.5 * size * copysign(sqrt(fabs(s)), s);
}

// Ends are round over a part of the length.
static double row_at(int row, double *size) {
    static const double ROUND = 0.05;
    double t = (row + 1.0) / (ROWS + 1), u = 0.5 - 0.5 * cos(M_PI * t), end = fmin(u, 1 - u) / ROUND;
    *size = end < 1 ? sqrt(1 - (1 - end) * (1 - end)) : 1;
    return u;
}

static void fill_uvw(bool ring, float *uvw) {
    const int rows = ring ? TURN : ROWS;
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < AROUND; i++) {
            double size = 1, u = ring ? (double)r / TURN : row_at(r, &size), vw[2];
            float *to = uvw + 3 * ((size_t)r * AROUND + (size_t)i);
            cross_section(i, size, vw);
            to[0] = (float)u, to[1] = (float)vw[0], to[2] = (float)vw[1];
        }
    for (int end = 0; end < 2 && !ring; end++) {
        float *to = uvw + 3 * (size_t)(ROWS * AROUND + end);
        to[0] = (float)end, to[1] = to[2] = 0.5f;
    }
}

static int fill_tri(bool ring, int (*tri)[3]) {
    const int rows = ring ? TURN : ROWS;
    int n = 0;
    for (int r = 0; r < (ring ? rows : rows - 1); r++)
        for (int i = 0; i < AROUND; i++) {
            int j = (i + 1) % AROUND, a = r * AROUND, b = (r + 1) % rows * AROUND;
            memcpy(tri[n++], (int[]){a + i, a + j, b + j}, sizeof *tri);
            memcpy(tri[n++], (int[]){a + i, b + j, b + i}, sizeof *tri);
        }
    for (int i = 0; i < AROUND && !ring; i++) {
        int j = (i + 1) % AROUND, last = (ROWS - 1) * AROUND;
        memcpy(tri[n++], (int[]){ROWS * AROUND, j, i}, sizeof *tri);
        memcpy(tri[n++], (int[]){ROWS * AROUND + 1, last + i, last + j}, sizeof *tri);
    }
    return n;
}

static void points_at(const FaBspline *s, int n, const float *uvw, float *x) {
    for (int v = 0; v < n; v++) {
        double at[3], p[3];
        fai_v3_load(uvw, v, at);
        fai_bspline_at(s, at, p, NULL);
        for (int k = 0; k < 3; k++) x[3 * v + k] = (float)p[k];
    }
}

static FaCode make_shape(FaMuscleModel *m, const FaBspline *s, FaMuscleShape *out, FaError *err) {
    const int nvert = s->ring ? TURN * AROUND : ROWS * AROUND + 2, most = 2 * AROUND * TURN;
    out->uvw = FA_PUSH(m->arena, 3 * (size_t)nvert, float);
    out->mesh.x = FA_PUSH(m->arena, 3 * (size_t)nvert, float);
    out->mesh.tri = FA_PUSH(m->arena, 3 * (size_t)most, int);
    if (!out->uvw || !out->mesh.x || !out->mesh.tri) return FA_FAIL_MEMORY(err);
    out->mesh.nvert = nvert;
    fill_uvw(s->ring, out->uvw);
    out->mesh.ntri = fill_tri(s->ring, (int(*)[3])out->mesh.tri);
    points_at(s, nvert, out->uvw, out->mesh.x);
    // one side's lattices are mirror images of the other's
    double x[3], J[9];
    fai_bspline_at(s, (double[]){0.5, 0.5, 0.5}, x, J);
    for (int t = 0; t < out->mesh.ntri && fai_m3_det(J) < 0; t++) {
        int *tri = out->mesh.tri + 3 * (size_t)t, swap = tri[1];
        tri[1] = tri[2], tri[2] = swap;
    }
    return FA_OK;
}

FaCode fai_muscle_shapes(FaMuscleModel *m, FaError *err) {
    if (m->shape) return FA_OK;
    FaMuscleShape *shape = FA_PUSH(m->arena, m->muscles.n + 1, FaMuscleShape);
    if (!shape) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < m->muscles.n; i++) FA_TRY(make_shape(m, &m->muscles.muscle[i].solid, &shape[i], err));
    m->shape = shape;
    return FA_OK;
}

FaCode fai_muscle_shape_posed(FaMuscleModel *m, int muscle, float *x, FaError *err) {
    const FaMuscleShape *shape = &m->shape[muscle];
    FaBspline s = m->muscles.muscle[muscle].solid;
    if (!m->posed) {
        memcpy(x, shape->mesh.x, 3 * (size_t)shape->mesh.nvert * sizeof *x);
        return FA_OK;
    }
    const int n = 3 * fai_bspline_points(&s);
    double *c = FA_NEW(n, double);
    FaCode rc = c ? find_moves(m, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fai_muscle_tracks_fit_one(&m->tracks, muscle, m->moves, c);
        for (int i = 0; i < n; i++) c[i] += s.c[i];
        s.c = c;
        points_at(&s, shape->mesh.nvert, shape->uvw, x);
    }
    fa_free(c);
    return rc;
}

// --- public -------------------------------------------------------------------------------------------------------

FaCode fa_muscle_mesh(FaMuscleModel *m, int muscle, FaMuscleMesh *out, FaError *err) {
    *out = (FaMuscleMesh){0};
    FA_TRY(fai_muscle_shapes(m, err));
    const FaMuscleShape *s = &m->shape[muscle];
    *out = (FaMuscleMesh){s->mesh.nvert, s->mesh.ntri, s->mesh.tri, s->mesh.x};
    return FA_OK;
}

FaCode fa_muscle_mesh_posed(FaMuscleModel *m, int muscle, float *x, FaError *err) {
    FA_TRY(fai_muscle_shapes(m, err));
    return fai_muscle_shape_posed(m, muscle, x, err);
}
