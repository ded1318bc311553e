#include "muscle/muscle_shape.h"

#include "math/dense.h"
#include "math/mat3.h"

#include <math.h>

// --- lattices follow the flesh ------------------------------------------------------------------------------------

// Weights of what samples do not say, against those that they do: bending, and stretching so that all is defined.
static const double BENDS = 1e-2, STRETCHES = 1e-4;

// A combination of control points whose displacement should be b: its square, with a weight.
static void add_row(int n, double *a, double (*rhs)[3], int count, const int *index, const double *w, double weight,
                    const double b[3]) {
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) a[(size_t)index[i] * (size_t)n + (size_t)index[j]] += weight * w[i] * w[j];
        for (int k = 0; k < 3 && b; k++) rhs[index[i]][k] += weight * w[i] * b[k];
    }
}

static void add_sample(const FaMuscleModel *m, const FaBspline *s, int sample, const double *x, double scale, double *a,
                       double (*rhs)[3]) {
    const FaFibreSample *f = &m->samples.fibre[sample];
    const int *tet = m->flesh.tet + 4 * (size_t)f->tet;
    int index[3][4], count[3], all[64], n = 0;
    double b[3][4], slope[4], w[64], d[3] = {0};
    for (int k = 0; k < 3; k++)
        count[k] = fai_bspline_basis(s->n[k], k == 0 && s->ring, (double)m->samples.uvw[3 * sample + k], index[k], b[k],
                                     slope);
    for (int k = 0; k < count[2]; k++)
        for (int j = 0; j < count[1]; j++)
            for (int i = 0; i < count[0]; i++) {
                all[n] = (index[2][k] * s->n[1] + index[1][j]) * s->n[0] + index[0][i];
                w[n++] = b[0][i] * b[1][j] * b[2][k];
            }
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 3; i++)
            d[i] += (double)m->samples.bary[4 * sample + k] * (x[3 * tet[k] + i] - m->rest[3 * tet[k] + i]);
    add_row(fai_bspline_points(s), a, rhs, n, all, w, f->share / scale, d);
}

static void add_smoothness(const FaBspline *s, double *a) {
    const int n = fai_bspline_points(s), step[3] = {1, s->n[0], s->n[0] * s->n[1]};
    for (int p = 0; p < n; p++) {
        const int at[3] = {p % s->n[0], p / s->n[0] % s->n[1], p / step[2]};
        for (int k = 0; k < 3; k++) {
            bool ring = k == 0 && s->ring;
            int next = at[k] + 1 < s->n[k] ? p + step[k] : p - (s->n[k] - 1) * step[k];
            int after = at[k] + 2 < s->n[k] ? p + 2 * step[k] : p + (2 - s->n[k]) * step[k];
            if (ring || at[k] + 1 < s->n[k])
                add_row(n, a, NULL, 2, (int[]){p, next}, (double[]){1, -1}, STRETCHES, NULL);
            if (ring || at[k] + 2 < s->n[k])
                add_row(n, a, NULL, 3, (int[]){p, next, after}, (double[]){1, -2, 1}, BENDS, NULL);
        }
        a[(size_t)p * (size_t)n + (size_t)p] += 1e-9;
    }
}

FaCode fai_muscle_follow(const FaMuscleModel *m, int muscle, const double *x, double *c, FaError *err) {
    const FaBspline *s = &m->muscles.muscle[muscle].solid;
    const int n = fai_bspline_points(s), begin = m->samples.start[muscle], end = m->samples.start[muscle + 1];
    double *a = FA_NEW((size_t)n * (size_t)n, double), (*rhs)[3] = fai_alloc_array((size_t)n, sizeof *rhs);
    double *column = FA_NEW(n, double), scale = 0;
    FaCode rc = a && rhs && column ? FA_OK : FA_FAIL_MEMORY(err);
    memcpy(c, s->c, 3 * (size_t)n * sizeof *c);
    for (int i = begin; i < end; i++) scale += m->samples.fibre[i].share;
    if (rc >= 0 && scale > 0) {
        memset(rhs, 0, (size_t)n * sizeof *rhs);
        for (int i = begin; i < end; i++) add_sample(m, s, i, x, scale / n, a, rhs);
        add_smoothness(s, a);
        bool good = fai_dense_cholesky(n, n, a);
        for (int k = 0; k < 3 && good; k++) {
            for (int i = 0; i < n; i++) column[i] = rhs[i][k];
            fai_dense_forward(n, n, a, column);
            fai_dense_backward(n, n, a, column);
            for (int i = 0; i < n; i++) c[3 * i + k] += column[i];
        }
    }
    fa_free(a);
    fa_free(rhs);
    fa_free(column);
    return rc;
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

FaCode fai_muscle_shape_posed(const FaMuscleModel *m, int muscle, float *x, FaError *err) {
    const FaMuscleShape *shape = &m->shape[muscle];
    FaBspline s = m->muscles.muscle[muscle].solid;
    if (!m->posed) {
        memcpy(x, shape->mesh.x, 3 * (size_t)shape->mesh.nvert * sizeof *x);
        return FA_OK;
    }
    double *c = FA_NEW(3 * (size_t)fai_bspline_points(&s), double);
    FaCode rc = c ? fai_muscle_follow(m, muscle, m->x, c, err) : FA_FAIL_MEMORY(err);
    s.c = c;
    if (rc >= 0) points_at(&s, shape->mesh.nvert, shape->uvw, x);
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
