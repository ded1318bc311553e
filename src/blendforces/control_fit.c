#include "blendforces/control_fit.h"

struct FaCommandFit {
    int n, npoint;
    double *c;    // columns                                    (n x npoint x 3)
    double *wc;   // W C                                        (n x npoint x 3)
    double *g;    // Gram                                       (n x n)
    double *f;    // right-hand side                            (n)
    double *sort; // scratch                                    (n)
    FaNnls *nnls;
    FaArena *arena;
};

FaCode fai_command_fit_new(int nshape, int npoint, const double *columns, FaCommandFit **fit, FaError *err) {
    *fit = NULL;
    FaCommandFit *s = FA_NEW(1, FaCommandFit);
    if (!s) return FA_FAIL_MEMORY(err);
    size_t n = (size_t)nshape, all = 3 * n * (size_t)npoint;
    s->n = nshape;
    s->npoint = npoint;
    s->arena = fai_arena_new(0);
    if (s->arena) {
        s->c = FA_PUSH(s->arena, all, double);
        s->wc = FA_PUSH(s->arena, all, double);
        s->g = FA_PUSH(s->arena, n * n, double);
        s->f = FA_PUSH(s->arena, n, double);
        s->sort = FA_PUSH(s->arena, n, double);
    }
    FaCode rc = s->arena && s->c && s->wc && s->g && s->f && s->sort ? fai_nnls_new(nshape, &s->nnls, err)
                                                                     : FA_FAIL_MEMORY(err);
    if (rc < 0) {
        fai_command_fit_free(s);
        return rc;
    }
    memcpy(s->c, columns, all * sizeof *columns);
    *fit = s;
    return FA_OK;
}

void fai_command_fit_free(FaCommandFit *s) {
    if (!s) return;
    fai_nnls_free(s->nnls);
    fai_arena_free(s->arena);
    fa_free(s);
}

static void weigh_column(const FaCommandFit *s, const double *weight, const double *full, const double *c,
                         double *out) {
    size_t n = (size_t)s->npoint;
    memset(out, 0, 3 * n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        double v[3] = {c[3 * i], c[3 * i + 1], c[3 * i + 2]};
        if (v[0] == 0 && v[1] == 0 && v[2] == 0) continue;
        if (weight) {
            for (size_t k = 0; k < 3; k++) out[3 * i + k] = weight[i] * v[k];
            continue;
        }
        const double *row = full + i * n; // symmetric: row i is column i
        for (size_t p = 0; p < n; p++)
            for (size_t k = 0; k < 3; k++) out[3 * p + k] += row[p] * v[k];
    }
}

double fai_median(double *x, int n) {
    int low = 0, high = n - 1, want = n / 2;
    while (low < high) { // quickselect
        double pivot = x[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (x[i] < pivot) i++;
            while (x[j] > pivot) j--;
            if (i > j) break;
            double t = x[i];
            x[i++] = x[j];
            x[j--] = t;
        }
        if (want <= j)
            high = j;
        else if (want >= i)
            low = i;
        else
            break;
    }
    return x[want];
}

void fai_command_fit_metric(FaCommandFit *s, const double *weight, const double *full, double ridge) {
    size_t n = (size_t)s->n, row = 3 * (size_t)s->npoint;
    for (size_t j = 0; j < n; j++) weigh_column(s, weight, full, s->c + j * row, s->wc + j * row);
    int count = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            const double *a = s->wc + i * row, *b = s->c + j * row;
            double sum = 0;
            for (size_t k = 0; k < row; k++) sum += a[k] * b[k];
            s->g[i * n + j] = s->g[j * n + i] = sum;
        }
        if (s->g[i * n + i] > 0) s->sort[count++] = s->g[i * n + i];
    }
    if (ridge == 0 || !count) return;
    double add = ridge < 0 ? -ridge : ridge * fai_median(s->sort, count);
    for (size_t i = 0; i < n; i++) s->g[i * n + i] += add;
}

FaNnlsResult fai_command_fit_solve(FaCommandFit *s, const double *t, double l1, const double *lo, const double *hi,
                                   double *u) {
    size_t row = 3 * (size_t)s->npoint;
    for (int j = 0; j < s->n; j++) {
        const double *wc = s->wc + (size_t)j * row;
        double sum = 0;
        for (size_t k = 0; k < row; k++) sum += wc[k] * t[k];
        s->f[j] = sum;
    }
    FaNnlsProblem p = {.n = s->n, .g = s->g, .f = s->f, .l1 = l1 / 2, .lo = lo, .hi = hi};
    return fai_nnls_solve(s->nnls, &p, u);
}

void fai_command_fit_points(const FaCommandFit *s, const double *u, double *at) {
    size_t row = 3 * (size_t)s->npoint;
    memset(at, 0, row * sizeof *at);
    for (int j = 0; j < s->n; j++)
        for (size_t k = 0; k < row && u[j] != 0; k++) at[k] += u[j] * s->c[(size_t)j * row + k];
}

const double *fai_command_fit_gram(const FaCommandFit *s) { return s->g; }
const double *fai_command_fit_right(const FaCommandFit *s) { return s->f; }
