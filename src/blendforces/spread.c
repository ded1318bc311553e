// Based on: blendforces-notes (residual pass). Symbols as in spread.h. E is stored by markers, in floats: a frame reads
// it once.
#include "blendforces/spread.h"

#include "base/task.h"
#include "energy/kernel.h"
#include "math/chol.h"
#include "mesh/laplacian.h"

#include <math.h>

enum { TILE = 512, LANES = 8, TOGETHER = 4 }; // nodes of a chunk; of a register; markers that are added in one pass
typedef float V8 __attribute__((vector_size(32), may_alias));

struct FaSpread {
    int n, nskin;
    size_t stride; // of E: nskin rounded up to LANES
    bool wide;
    FaSpreadPoint *point; //                                                   (n)
    float *e;             // E by markers                                      (n x stride)
    double *g;            // G                                                 (n x n)
    double *w;            // W                                                 (n x n)
    double *noise;        // of W; -1: missing                                 (n)
    double *l;            // scratch of the factor, then its inverse           (n x n)
    int *use;             // markers in use                                    (n)
    bool fresh;           // no W was made yet
    FaArena *arena;
};

// --- making E -----------------------------------------------------------------------------------------------------

// H with the rim's rows and columns replaced by the identity's.
static FaCode build_operator(const FaFace *f, const FaSpreadOptions *o, FaCsr *h, FaError *err) {
    FaMesh mesh = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    double lm = o->membrane > 0 ? o->membrane : 0.02, lb = o->bending > 0 ? o->bending : 0.014;
    double m2 = lm * lm, b4 = lb * lb * lb * lb;
    FaCsr l = {0};
    double *mass = FA_NEW(f->nskin, double);
    FaCode rc = mass ? fai_laplacian_build(&mesh, NULL, &l, mass, NULL, err) : FA_FAIL_MEMORY(err);
    size_t most = 0;
    for (int i = 0; rc >= 0 && i < f->nskin; i++) {
        size_t row = (size_t)(l.start[i + 1] - l.start[i]);
        most += row * row + row + 1;
    }
    FaTriplet *t = rc >= 0 ? FA_NEW(most, FaTriplet) : NULL;
    if (rc >= 0 && (!t || most > INT32_MAX)) rc = FA_FAIL_MEMORY(err);
    int count = 0;
    for (int i = 0; rc >= 0 && i < f->nskin; i++) {
        bool held = f->rim[i] || !(mass[i] > 0);
        t[count++] = (FaTriplet){i, i, held ? 1 : mass[i]};
        for (int k = l.start[i]; k < l.start[i + 1]; k++) {
            if (f->rim[l.col[k]] || !(mass[i] > 0)) continue;
            if (!held) t[count++] = (FaTriplet){i, l.col[k], m2 * l.val[k]};
            if (f->rim[i]) continue; // no curvature is asked of the edge
            for (int q = l.start[i]; q < l.start[i + 1]; q++)
                if (!f->rim[l.col[q]]) t[count++] = (FaTriplet){l.col[k], l.col[q], b4 * l.val[k] * l.val[q] / mass[i]};
        }
    }
    if (rc >= 0) rc = fai_csr_from_triplets(f->nskin, f->nskin, count, t, h, err);
    fa_free(t);
    fa_free(mass);
    fai_csr_free(&l);
    return rc;
}

static bool on_skin(const FaSpread *s, int i) { return s->point[i].node[0] >= 0; }

// Columns of H^-1 S', four at a time.
static FaCode solve_columns(FaSpread *s, const FaFace *f, const FaCsr *h, FaError *err) {
    FaChol *chol = NULL;
    FaArena *arena = fai_arena_new(0);
    double *b = arena ? FA_PUSH(arena, 4 * (size_t)s->nskin, double) : NULL;
    FaCode rc = b ? fai_chol_analyze(h, NULL, &chol, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_chol_factor(chol, h, err);
    for (int first = 0; rc >= 0 && first < s->n; first += 4) {
        memset(b, 0, 4 * (size_t)s->nskin * sizeof *b);
        for (int i = first; i < FA_MIN(first + 4, s->n); i++)
            for (int k = 0; k < 3 && on_skin(s, i); k++) {
                int node = s->point[i].node[k];
                if (!f->rim[node]) b[4 * (size_t)node + (size_t)(i - first)] += (double)s->point[i].bary[k];
            }
        fai_chol_solve_d(chol, b, b);
        for (int i = first; i < FA_MIN(first + 4, s->n); i++)
            for (int v = 0; v < s->nskin; v++)
                s->e[(size_t)i * s->stride + (size_t)v] = (float)b[4 * (size_t)v + (size_t)(i - first)];
    }
    fai_chol_free(chol);
    fai_arena_free(arena);
    return rc;
}

static void scale_columns(FaSpread *s, const double *scale) {
    for (int i = 0; i < s->n; i++) {
        double own = 0;
        for (int k = 0; k < 3 && on_skin(s, i); k++) own += (double)s->point[i].bary[k] * scale[s->point[i].node[k]];
        for (int v = 0; v < s->nskin; v++) s->e[(size_t)i * s->stride + (size_t)v] *= (float)(own * scale[v]);
    }
}

// G from the stored columns, made symmetric, and everything scaled so that its mean diagonal is 1.
static void make_gram(FaSpread *s) {
    size_t n = (size_t)s->n, skin = s->stride;
    double mean = 0;
    int count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const FaSpreadPoint *p = &s->point[i];
            double sum = 0;
            for (int k = 0; k < 3 && on_skin(s, (int)i); k++)
                sum += (double)p->bary[k] * (double)s->e[j * skin + (size_t)p->node[k]];
            s->g[i * n + j] = sum;
        }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) s->g[i * n + j] = s->g[j * n + i] = 0.5 * (s->g[i * n + j] + s->g[j * n + i]);
        mean += s->g[i * n + i];
        count += s->g[i * n + i] > 0;
    }
    double scale = mean > 0 ? count / mean : 0;
    for (size_t i = 0; i < n * n; i++) s->g[i] *= scale;
    for (size_t i = 0; i < n * skin; i++) s->e[i] *= (float)scale;
}

static FaCode fill(FaSpread *s, const FaFace *face, const FaSpreadPoint *point, const FaSpreadOptions *o,
                   FaError *err) {
    size_t n = (size_t)s->n;
    s->point = FA_PUSH(s->arena, n, FaSpreadPoint);
    s->e = FA_PUSH(s->arena, n * s->stride, float);
    s->g = FA_PUSH(s->arena, n * n, double);
    s->w = FA_PUSH(s->arena, n * n, double);
    s->l = FA_PUSH(s->arena, n * n, double);
    s->noise = FA_PUSH(s->arena, n, double);
    s->use = FA_PUSH(s->arena, n, int);
    if (!s->point || !s->e || !s->g || !s->w || !s->l || !s->noise || !s->use) return FA_FAIL_MEMORY(err);
    memcpy(s->point, point, n * sizeof *point);
    FaCsr h = {0};
    FaCode rc = build_operator(face, o, &h, err);
    if (rc >= 0) rc = solve_columns(s, face, &h, err);
    if (rc >= 0 && o->scale) scale_columns(s, o->scale);
    if (rc >= 0) make_gram(s);
    fai_csr_free(&h);
    return rc;
}

FaCode fai_spread_new(const FaFace *face, int npoint, const FaSpreadPoint *point, const FaSpreadOptions *options,
                      FaSpread **spread, FaError *err) {
    *spread = NULL;
    FaSpreadOptions o = options ? *options : (FaSpreadOptions){0};
    FaSpread *s = FA_NEW(1, FaSpread);
    if (!s) return FA_FAIL_MEMORY(err);
    s->n = npoint;
    s->nskin = face->nskin;
    s->stride = ((size_t)face->nskin + LANES - 1) / LANES * LANES;
    s->wide = fai_simd_wanted();
    s->fresh = true;
    s->arena = fai_arena_new(0);
    FaCode rc = s->arena ? fill(s, face, point, &o, err) : FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_spread_free(s);
    else
        *spread = s;
    return rc;
}

void fai_spread_free(FaSpread *s) {
    if (!s) return;
    fai_arena_free(s->arena);
    fa_free(s);
}

const double *fai_spread_gram(const FaSpread *s) { return s->g; }
const double *fai_spread_metric(const FaSpread *s) { return s->w; }

// --- frames -------------------------------------------------------------------------------------------------------

// L of the m markers in use in place (lower, by rows of m). A pivot that rounding ate (two markers at one place without
// noise) is lifted: both then get half.
static void factor(double *l, int m) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            double *a = l + (size_t)i * (size_t)m, *b = l + (size_t)j * (size_t)m, sum = a[j];
            for (int k = 0; k < j; k++) sum -= a[k] * b[k];
            if (i == j)
                a[j] = sqrt(fmax(sum, 1e-10));
            else
                a[j] = sum / b[j];
        }
}

// Its inverse in place.
static void invert_lower(double *l, int m) {
    for (int j = 0; j < m; j++) {
        double *d = l + (size_t)j * (size_t)m + (size_t)j;
        *d = 1 / *d;
        for (int i = j + 1; i < m; i++) {
            double sum = 0, *row = l + (size_t)i * (size_t)m;
            for (int k = j; k < i; k++) sum += row[k] * l[(size_t)k * (size_t)m + (size_t)j];
            row[j] = -sum / row[i];
        }
    }
}

bool fai_spread_noise(FaSpread *s, const double *noise) {
    bool same = !s->fresh;
    int m = 0;
    size_t n = (size_t)s->n;
    for (int i = 0; i < s->n; i++) {
        bool used = isfinite(noise[i]) && noise[i] >= 0 && on_skin(s, i) && s->g[(size_t)i * n + (size_t)i] > 0;
        double now = used ? noise[i] : -1;
        same &= now == s->noise[i];
        s->noise[i] = now;
        if (used) s->use[m++] = i;
    }
    if (same) return false;
    s->fresh = false;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            s->l[(size_t)i * (size_t)m + (size_t)j] =
                s->g[(size_t)s->use[i] * n + (size_t)s->use[j]] + (i == j ? s->noise[s->use[i]] : 0);
    factor(s->l, m);
    invert_lower(s->l, m);
    memset(s->w, 0, n * n * sizeof *s->w);
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = i; k < m; k++)
                sum += s->l[(size_t)k * (size_t)m + (size_t)i] * s->l[(size_t)k * (size_t)m + (size_t)j];
            s->w[(size_t)s->use[i] * n + (size_t)s->use[j]] = s->w[(size_t)s->use[j] * n + (size_t)s->use[i]] = sum;
        }
    return true;
}

static void product(int n, const double *a, const double *x, double *y) {
    for (int i = 0; i < n; i++) {
        double sum[3] = {0};
        const double *row = a + (size_t)i * (size_t)n;
        for (int j = 0; j < n; j++)
            for (int k = 0; k < 3; k++) sum[k] += row[j] * x[3 * (size_t)j + (size_t)k];
        memcpy(y + 3 * (size_t)i, sum, sizeof sum);
    }
}

void fai_spread_coefficients(const FaSpread *s, const double *r, double *coef) { product(s->n, s->w, r, coef); }
void fai_spread_at_points(const FaSpread *s, const double *coef, double *at) { product(s->n, s->g, coef, at); }

typedef struct Add {
    const FaSpread *s;
    const double *coef;
    float *e;
} Add;

// The sums of a tile over the markers in order, TOGETHER of them in one pass: sums stay in registers.
FAI_BODY void add_body(const Add *a, int begin, int end) {
    _Alignas(32) float sum[3][TILE];
    const FaSpread *s = a->s;
    int m = end - begin;
    memset(sum, 0, sizeof sum);
    for (int first = 0; first < s->n; first += TOGETHER) {
        const float *e[TOGETHER];
        float c[TOGETHER][3];
        for (int i = 0; i < TOGETHER; i++) {
            bool is = first + i < s->n;
            e[i] = s->e + (size_t)(is ? first + i : first) * s->stride + (size_t)begin;
            for (int k = 0; k < 3; k++) c[i][k] = is ? (float)a->coef[3 * (first + i) + k] : 0;
        }
        for (int v = 0; v < m; v += LANES)
            for (int k = 0; k < 3; k++) {
                V8 x = *(const V8 *)(sum[k] + v);
                for (int i = 0; i < TOGETHER; i++) x += c[i][k] * *(const V8 *)(e[i] + v);
                *(V8 *)(sum[k] + v) = x;
            }
    }
    for (int v = 0; v < m; v++)
        for (int k = 0; k < 3; k++) a->e[4 * (size_t)(begin + v) + (size_t)k] += sum[k][v];
}

static void add_ref(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    add_body(ctx, begin, end);
}

FAI_WIDE static void add_wide(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    add_body(ctx, begin, end);
}

void fai_spread_add(const FaSpread *s, const double *coef, float *e) {
    fai_parallel(s->nskin, TILE, s->wide ? add_wide : add_ref, &(Add){s, coef, e});
}
