#include "muscle/bspline.h"

#include "math/mat3.h"

#include <math.h>

static int degree_of(int n) { return FA_MIN(n - 1, 3); }

// --- basis --------------------------------------------------------------------------------------------------------

// Uniform cubic: control point i weighs most at i / n.
static int ring_basis(int n, double t, int index[4], double b[4], double slope[4]) {
    double at = (t - floor(t)) * n, f = at - floor(at), g = 1 - f;
    int i = (int)floor(at);
    for (int k = 0; k < 4; k++) index[k] = (i + k - 1 + n) % n;
    b[0] = g * g * g / 6, b[3] = f * f * f / 6;
    b[1] = (4 - 6 * f * f + 3 * f * f * f) / 6, b[2] = (4 - 6 * g * g + 3 * g * g * g) / 6;
    slope[0] = -0.5 * n * g * g, slope[3] = 0.5 * n * f * f;
    slope[1] = n * (1.5 * f * f - 2 * f), slope[2] = -n * (1.5 * g * g - 2 * g);
    return 4;
}

// Knots in units of their distance: 0 .. n - p, the ends repeated.
static int knot(int n, int p, int i) { return FA_MAX(0, FA_MIN(i - p, n - p)); }

// Cox and de Boor: degree by degree; slopes from those of one degree less.
int fai_bspline_basis(int n, bool ring, double t, int index[4], double b[4], double slope[4]) {
    if (ring) return ring_basis(n, t, index, b, slope);
    static const double over[4] = {0, 1, 0.5, 1.0 / 3};
    int p = degree_of(n), span = p + FA_MAX(0, FA_MIN((int)(t * (n - p)), n - p - 1));
    double lower[4] = {0}, at = t * (n - p);
    b[0] = 1;
    for (int d = 1; d <= p; d++) {
        double saved = 0;
        for (int r = 0; r < d; r++) {
            int right = knot(n, p, span + r + 1), left = knot(n, p, span + 1 - d + r);
            double share = b[r] * over[right - left];
            lower[r] = b[r];
            b[r] = saved + (right - at) * share;
            saved = (at - left) * share;
        }
        b[d] = saved;
    }
    for (int r = 0; r <= p; r++) {
        int k = index[r] = span - p + r;
        double up = r > 0 ? lower[r - 1] * over[knot(n, p, k + p) - knot(n, p, k)] : 0;
        double down = r < p ? lower[r] * over[knot(n, p, k + p + 1) - knot(n, p, k + 1)] : 0;
        slope[r] = p * (n - p) * (up - down);
    }
    return p + 1;
}

double fai_bspline_greville(int n, bool ring, int i) {
    if (ring) return (double)i / n;
    int p = degree_of(n);
    double sum = 0;
    for (int k = 1; k <= p; k++) sum += knot(n, p, i + k);
    return sum / (p * (n - p));
}

int fai_bspline_weights(const FaBspline *s, const double uvw[3], int point[FA_BSPLINE_WEIGHTS],
                        double weight[FA_BSPLINE_WEIGHTS]) {
    int index[3][4], count[3], n = 0;
    double b[3][4], slope[4];
    for (int a = 0; a < 3; a++) count[a] = fai_bspline_basis(s->n[a], a == 0 && s->ring, uvw[a], index[a], b[a], slope);
    for (int k = 0; k < count[2]; k++)
        for (int j = 0; j < count[1]; j++)
            for (int i = 0; i < count[0]; i++) {
                point[n] = (index[2][k] * s->n[1] + index[1][j]) * s->n[0] + index[0][i];
                weight[n++] = b[0][i] * b[1][j] * b[2][k];
            }
    return n;
}

void fai_bspline_bends(const FaBspline *s, int axis, double k, double *matrix) {
    int n = fai_bspline_points(s), step = axis == 0 ? 1 : axis == 1 ? s->n[0] : s->n[0] * s->n[1];
    bool ring = axis == 0 && s->ring;
    for (int i = 0; i < n; i++) {
        int at = i / step % s->n[axis], len = s->n[axis], row = i - at * step;
        if (len < 3 || (!ring && (at == 0 || at == len - 1))) continue;
        int v[3] = {row + (at + len - 1) % len * step, i, row + (at + 1) % len * step};
        const double w[3] = {1, -2, 1};
        for (int p = 0; p < 3; p++)
            for (int q = 0; q < 3; q++) matrix[(size_t)n * (size_t)v[p] + (size_t)v[q]] += k * w[p] * w[q];
    }
}

void fai_bspline_couples(const FaBspline *s, double k, double *matrix) {
    size_t n = (size_t)fai_bspline_points(s), layer = (size_t)(s->n[0] * s->n[1]);
    for (size_t i = 0; i + layer < n; i++) {
        size_t j = i + layer;
        matrix[n * i + i] += k, matrix[n * j + j] += k, matrix[n * i + j] -= k, matrix[n * j + i] -= k;
    }
}

void fai_bspline_at(const FaBspline *s, const double uvw[3], double x[3], double J[9]) {
    int index[3][4], count[3];
    double b[3][4], slope[3][4];
    for (int a = 0; a < 3; a++)
        count[a] = fai_bspline_basis(s->n[a], a == 0 && s->ring, uvw[a], index[a], b[a], slope[a]);
    double sum[3] = {0}, d[9] = {0};
    for (int k = 0; k < count[2]; k++)
        for (int j = 0; j < count[1]; j++) {
            double along[3] = {0}, change[3] = {0}; // of u
            for (int i = 0; i < count[0]; i++) {
                const double *c = fai_bspline_point(s, index[0][i], index[1][j], index[2][k]);
                for (int a = 0; a < 3; a++) along[a] += b[0][i] * c[a], change[a] += slope[0][i] * c[a];
            }
            double bb = b[1][j] * b[2][k], sv = slope[1][j] * b[2][k], sw = b[1][j] * slope[2][k];
            for (int a = 0; a < 3; a++) {
                sum[a] += bb * along[a];
                d[3 * a] += bb * change[a], d[3 * a + 1] += sv * along[a], d[3 * a + 2] += sw * along[a];
            }
        }
    memcpy(x, sum, sizeof sum);
    if (J) memcpy(J, d, sizeof d);
}

// --- fitting ------------------------------------------------------------------------------------------------------

// Solves a x = b with partial pivoting; m right-hand sides in rows of b. Small and regular: spline matrices are.
static void solve_small(int n, double a[FA_BSPLINE_MAX][FA_BSPLINE_MAX], int m, double b[FA_BSPLINE_MAX][3]) {
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int r = k + 1; r < n; r++)
            if (fabs(a[r][k]) > fabs(a[best][k])) best = r;
        for (int c = 0; c < n; c++) {
            double swap = a[k][c];
            a[k][c] = a[best][c], a[best][c] = swap;
        }
        for (int c = 0; c < m; c++) {
            double swap = b[k][c];
            b[k][c] = b[best][c], b[best][c] = swap;
        }
        for (int r = k + 1; r < n; r++) {
            double f = a[r][k] / a[k][k];
            for (int c = k; c < n; c++) a[r][c] -= f * a[k][c];
            for (int c = 0; c < m; c++) b[r][c] -= f * b[k][c];
        }
    }
    for (int k = n - 1; k >= 0; k--)
        for (int c = 0; c < m; c++) {
            for (int r = k + 1; r < n; r++) b[k][c] -= a[k][r] * b[r][c];
            b[k][c] /= a[k][k];
        }
}

// One direction after the other: a line of points becomes a line of control points.
static void fit_line(const FaBspline *s, int axis, double *first, size_t stride) {
    int n = s->n[axis];
    bool ring = axis == 0 && s->ring;
    double a[FA_BSPLINE_MAX][FA_BSPLINE_MAX] = {{0}}, b[FA_BSPLINE_MAX][3];
    for (int i = 0; i < n; i++) {
        int index[4];
        double w[4], slope[4];
        int count = fai_bspline_basis(n, ring, fai_bspline_greville(n, ring, i), index, w, slope);
        for (int k = 0; k < count; k++) a[i][index[k]] += w[k];
        memcpy(b[i], first + (size_t)i * stride, sizeof b[i]);
    }
    solve_small(n, a, 3, b);
    for (int i = 0; i < n; i++) memcpy(first + (size_t)i * stride, b[i], sizeof b[i]);
}

FaCode fai_bspline_fit(FaBspline *s, const double *at, FaError *err) {
    FA_ASSERT(s->n[0] <= FA_BSPLINE_MAX && s->n[1] <= FA_BSPLINE_MAX && s->n[2] <= FA_BSPLINE_MAX);
    FA_ASSERT(s->n[0] >= (s->ring ? 4 : 2) && s->n[1] >= 2 && s->n[2] >= 2);
    int n = fai_bspline_points(s), nu = s->n[0], nv = s->n[1];
    for (int i = 0; i < 3 * n; i++)
        if (!isfinite(at[i]))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("control point %d", i / 3), "check the skin's positions",
                           "a muscle is at a place that is not a number");
    if (s->c != at) memcpy(s->c, at, 3 * (size_t)n * sizeof *at);
    for (int k = 0; k < s->n[2]; k++)
        for (int j = 0; j < nv; j++) fit_line(s, 0, fai_bspline_point(s, 0, j, k), 3);
    for (int k = 0; k < s->n[2]; k++)
        for (int i = 0; i < nu; i++) fit_line(s, 1, fai_bspline_point(s, i, 0, k), 3 * (size_t)nu);
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < nu; i++) fit_line(s, 2, fai_bspline_point(s, i, j, 0), 3 * (size_t)nu * (size_t)nv);
    return FA_OK;
}

void fai_bspline_reverse(FaBspline *s) {
    for (int row = 0; row < s->n[1] * s->n[2]; row++)
        for (int i = 0; i < s->n[0] / 2; i++) {
            double *a = s->c + 3 * (size_t)(row * s->n[0] + i),
                   *b = s->c + 3 * (size_t)(row * s->n[0] + s->n[0] - 1 - i);
            for (int k = 0; k < 3; k++) {
                double swap = a[k];
                a[k] = b[k], b[k] = swap;
            }
        }
}

double fai_bspline_length(const FaBspline *s) {
    enum { N = 64 };
    double sum = 0, before[3] = {0}, x[3], d[3];
    for (int i = 0; i <= N; i++) {
        fai_bspline_at(s, (double[]){(double)i / N, 0.5, 0.5}, x, NULL);
        fai_v3_sub(x, before, d);
        if (i > 0) sum += fai_v3_norm(d);
        memcpy(before, x, sizeof x);
    }
    return sum;
}

double fai_bspline_volume(const FaBspline *s, double *folded) {
    enum { U = 32, V = 8, W = 4 };
    double sum = 0, negative = 0, x[3], J[9];
    for (int k = 0; k < U * V * W; k++) {
        double uvw[3] = {(k % U + 0.5) / U, (k / U % V + 0.5) / V, (k / (U * V) + 0.5) / W};
        fai_bspline_at(s, uvw, x, J);
        double det = fai_m3_det(J);
        sum += fabs(det);
        negative += det < 0 ? -det : 0;
    }
    if (folded) *folded = sum > 0 ? negative / sum : 0;
    return sum / (U * V * W);
}

// --- inverse ------------------------------------------------------------------------------------------------------

FaCode fai_bspline_finder(const FaBspline *s, FaArena *arena, FaBsplineFinder *f, FaError *err) {
    *f = (FaBsplineFinder){.s = s};
    for (int a = 0; a < 3; a++) f->n[a] = 3 * s->n[a] + 1, f->lo[a] = INFINITY, f->hi[a] = -INFINITY;
    f->x = FA_PUSH(arena, 3 * (size_t)f->n[0] * (size_t)f->n[1] * (size_t)f->n[2], double);
    if (!f->x) return FA_FAIL_MEMORY(err);
    // control points hold the solid
    for (int i = 0; i < 3 * fai_bspline_points(s); i++)
        f->lo[i % 3] = fmin(f->lo[i % 3], s->c[i]), f->hi[i % 3] = fmax(f->hi[i % 3], s->c[i]);
    double reach[3] = {0};
    for (int k = 0; k < f->n[0] * f->n[1] * f->n[2]; k++) {
        int at[3] = {k % f->n[0], k / f->n[0] % f->n[1], k / (f->n[0] * f->n[1])},
            step[3] = {1, f->n[0], f->n[0] * f->n[1]};
        double uvw[3], *x = f->x + 3 * (size_t)k, d[3];
        for (int a = 0; a < 3; a++) uvw[a] = (double)at[a] / (f->n[a] - 1);
        fai_bspline_at(s, uvw, x, NULL);
        for (int a = 0; a < 3; a++) {
            if (at[a] == 0) continue;
            fai_v3_sub(x, f->x + 3 * (size_t)(k - step[a]), d);
            reach[a] = fmax(reach[a], fai_v3_norm(d));
        }
    }
    f->reach = 0.6 * (reach[0] + reach[1] + reach[2]); // half of it would do where cells are not bent
    return FA_OK;
}

double fai_bspline_start(const FaBsplineFinder *f, const double x[3], double uvw[3]) {
    double best = INFINITY;
    int at = 0;
    for (int k = 0; k < f->n[0] * f->n[1] * f->n[2]; k++) {
        const double *y = f->x + 3 * (size_t)k;
        double d[3] = {x[0] - y[0], x[1] - y[1], x[2] - y[2]}, far = fai_v3_dot(d, d);
        if (far < best) best = far, at = k;
    }
    int where[3] = {at % f->n[0], at / f->n[0] % f->n[1], at / (f->n[0] * f->n[1])};
    for (int a = 0; a < 3; a++) uvw[a] = (double)where[a] / (f->n[a] - 1);
    return sqrt(best);
}

// The least-squares step over the parameters that are free to move. False: none is, or nothing is to be gained.
static bool inverse_step(const FaBspline *s, const double J[9], const double r[3], const double uvw[3],
                         double step[3]) {
    double g[3], A[9], inverse[9], trace = 0;
    bool hold[3];
    fai_m3_tmulv(J, r, g);
    for (int a = 0; a < 3; a++)
        hold[a] = !(a == 0 && s->ring) && ((uvw[a] <= 0 && g[a] <= 0) || (uvw[a] >= 1 && g[a] >= 0));
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            A[3 * a + b] = J[a] * J[b] + J[3 + a] * J[3 + b] + J[6 + a] * J[6 + b];
            if (hold[a] || hold[b]) A[3 * a + b] = 0;
            if (a == b) trace += A[3 * a + b];
        }
    if (!(trace > 0)) return false;
    for (int a = 0; a < 3; a++) {
        A[4 * a] = hold[a] ? trace : A[4 * a] + 1e-12 * trace;
        if (hold[a]) g[a] = 0;
    }
    if (!fai_m3_inverse(A, inverse)) return false;
    fai_m3_mulv(inverse, g, step);
    return true;
}

bool fai_bspline_inverse(const FaBspline *s, const double x[3], double uvw[3]) {
    const double close = 1e-7; // m
    double y[3], J[9], r[3], step[3], next[3];
    fai_bspline_at(s, uvw, y, J);
    fai_v3_sub(x, y, r);
    double far = fai_v3_norm(r);
    for (int round = 0; round < 30 && far > close; round++) {
        if (!inverse_step(s, J, r, uvw, step)) return false;
        double share = 1, before = far;
        for (int tries = 0; tries < 8; tries++, share *= 0.5) {
            for (int a = 0; a < 3; a++) {
                next[a] = uvw[a] + share * step[a];
                next[a] = a == 0 && s->ring ? next[a] - floor(next[a]) : fmin(fmax(next[a], 0), 1);
            }
            fai_bspline_at(s, next, y, J);
            fai_v3_sub(x, y, r);
            far = fai_v3_norm(r);
            if (far < before) break;
        }
        if (!(far < before)) return false;
        memcpy(uvw, next, sizeof next);
        if (far > close && before - far < 1e-2 * far) return false; // it comes no closer
    }
    return far <= close;
}

bool fai_bspline_inside(const FaBsplineFinder *f, const double x[3], double uvw[3]) {
    for (int a = 0; a < 3; a++)
        if (x[a] < f->lo[a] || x[a] > f->hi[a]) return false;
    if (fai_bspline_start(f, x, uvw) > f->reach) return false;
    return fai_bspline_inverse(f->s, x, uvw);
}

// --- pictures -----------------------------------------------------------------------------------------------------

// One side of the cube: two directions run, the third stands at 0 or 1.
static void add_side(const FaBspline *s, const int cells[3], int still, int end, FaBsplineSurface *out) {
    int a = (still + 1) % 3, b = (still + 2) % 3, first = out->nvert;
    for (int j = 0; j <= cells[b]; j++)
        for (int i = 0; i <= cells[a]; i++) {
            double uvw[3], x[3];
            uvw[still] = end, uvw[a] = (double)i / cells[a], uvw[b] = (double)j / cells[b];
            fai_bspline_at(s, uvw, x, NULL);
            for (int k = 0; k < 3; k++) {
                out->x[3 * (size_t)out->nvert + (size_t)k] = (float)x[k];
                out->uvw[3 * (size_t)out->nvert + (size_t)k] = (float)uvw[k];
            }
            out->nvert++;
        }
    for (int j = 0; j < cells[b]; j++)
        for (int i = 0; i < cells[a]; i++) {
            int v[4], at = first + j * (cells[a] + 1) + i;
            v[0] = at, v[1] = at + 1, v[2] = at + cells[a] + 2, v[3] = at + cells[a] + 1;
            for (int t = 0; t < 2; t++) {
                int *tri = out->tri + 3 * (size_t)out->ntri++;
                tri[0] = v[0], tri[1] = v[1 + t], tri[2] = v[2 + t];
                if (!end) tri[1] = v[2 + t], tri[2] = v[1 + t];
            }
        }
}

FaCode fai_bspline_surface(const FaBspline *s, const int cells[3], FaArena *arena, FaBsplineSurface *out,
                           FaError *err) {
    *out = (FaBsplineSurface){0};
    size_t nvert = 0, ntri = 0;
    for (int still = s->ring; still < 3; still++) {
        size_t a = (size_t)cells[(still + 1) % 3], b = (size_t)cells[(still + 2) % 3];
        nvert += 2 * (a + 1) * (b + 1), ntri += 4 * a * b;
    }
    out->x = FA_PUSH(arena, 3 * nvert, float);
    out->uvw = FA_PUSH(arena, 3 * nvert, float);
    out->tri = FA_PUSH(arena, 3 * ntri, int);
    if (!out->x || !out->uvw || !out->tri) return FA_FAIL_MEMORY(err);
    for (int still = s->ring; still < 3; still++)
        for (int end = 0; end < 2; end++) add_side(s, cells, still, end, out);
    // a lattice that is a mirror image has its inside out
    double x[3], J[9];
    fai_bspline_at(s, (double[]){0.5, 0.5, 0.5}, x, J);
    for (int t = 0; t < out->ntri && fai_m3_det(J) < 0; t++) {
        int *tri = out->tri + 3 * (size_t)t, swap = tri[1];
        tri[1] = tri[2], tri[2] = swap;
    }
    return FA_OK;
}
