#include "math/csr.h"

#include "base/task.h"

#include <math.h>

enum { ROWS_PER_CHUNK = 512 };

static FaCode csr_alloc(int nrow, int ncol, int n, FaCsr *a, FaError *err) {
    *a = (FaCsr){.nrow = nrow,
                 .ncol = ncol,
                 .start = FA_NEW((size_t)nrow + 1, int),
                 .col = FA_NEW(n, int),
                 .val = FA_NEW(n, double)};
    if (a->start && a->col && a->val) return FA_OK;
    fai_csr_free(a);
    return FA_FAIL_MEMORY(err);
}

void fai_csr_free(FaCsr *a) {
    fa_free(a->start);
    fa_free(a->col);
    fa_free(a->val);
    *a = (FaCsr){0};
}

// Turn counts, kept one place ahead (start[k + 1] of k), into starts.
static void sum_up(int *start, int n) {
    for (int k = 0; k < n; k++) start[k + 1] += start[k];
}

FaCode fai_csr_from_triplets(int nrow, int ncol, int n, const FaTriplet *entry, FaCsr *out, FaError *err) {
    *out = (FaCsr){0};
    for (int i = 0; i < n; i++)
        if (entry[i].row < 0 || entry[i].row >= nrow || entry[i].col < 0 || entry[i].col >= ncol)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("entry %d", i), NULL, "row %d, column %d of a %d x %d matrix",
                           entry[i].row, entry[i].col, nrow, ncol);
    int *by_col = FA_NEW(n, int), *col_start = FA_NEW((size_t)ncol + 1, int), *next = FA_NEW((size_t)nrow + 1, int);
    FaCode code = by_col && col_start && next ? csr_alloc(nrow, ncol, n, out, err) : FA_FAIL_MEMORY(err);
    if (code < 0) goto done;

    // stable by column, then dealt out to the rows: every row gets its columns in order, equal ones as they were given
    for (int i = 0; i < n; i++) col_start[entry[i].col + 1]++;
    sum_up(col_start, ncol);
    for (int i = 0; i < n; i++) by_col[col_start[entry[i].col]++] = i;
    for (int i = 0; i < n; i++) out->start[entry[i].row + 1]++;
    sum_up(out->start, nrow);
    memcpy(next, out->start, ((size_t)nrow + 1) * sizeof *next);
    for (int i = 0; i < n; i++) {
        const FaTriplet *e = &entry[by_col[i]];
        out->col[next[e->row]] = e->col;
        out->val[next[e->row]++] = e->val;
    }

    // join equal columns, moving everything up
    int kept = 0;
    for (int r = 0; r < nrow; r++) {
        int begin = out->start[r], end = next[r];
        out->start[r] = kept;
        for (int i = begin; i < end; i++) {
            if (i > begin && out->col[i] == out->col[kept - 1]) {
                out->val[kept - 1] += out->val[i];
            } else {
                out->col[kept] = out->col[i];
                out->val[kept++] = out->val[i];
            }
        }
    }
    out->start[nrow] = kept;
done:
    fa_free(by_col);
    fa_free(col_start);
    fa_free(next);
    return code;
}

FaCode fai_csr_transpose(const FaCsr *a, FaCsr *out, FaError *err) {
    int n = a->start[a->nrow];
    FA_TRY(csr_alloc(a->ncol, a->nrow, n, out, err));
    for (int i = 0; i < n; i++) out->start[a->col[i] + 1]++;
    sum_up(out->start, a->ncol);
    for (int r = 0; r < a->nrow; r++)
        for (int i = a->start[r]; i < a->start[r + 1]; i++) {
            int at = out->start[a->col[i]]++;
            out->col[at] = r;
            out->val[at] = a->val[i];
        }
    // each start has moved to the next one's place
    for (int r = a->ncol; r > 0; r--) out->start[r] = out->start[r - 1];
    out->start[0] = 0;
    return FA_OK;
}

FaCode fai_csr_check(const FaCsr *a, FaError *err) {
    if (a->nrow < 0 || a->ncol < 0 || !a->start || a->start[0] != 0)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "a sparse matrix without rows that start at 0");
    for (int r = 0; r < a->nrow; r++) {
        if (a->start[r + 1] < a->start[r])
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("row %d", r), NULL, "the row ends before it starts");
        for (int i = a->start[r]; i < a->start[r + 1]; i++) {
            if (a->col[i] < 0 || a->col[i] >= a->ncol || (i > a->start[r] && a->col[i] <= a->col[i - 1]))
                return FA_FAIL(err, FA_E_ARG, FA_PLACE("row %d", r), NULL, "column %d is out of range or out of order",
                               a->col[i]);
            if (!isfinite(a->val[i]))
                return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("row %d, column %d", r, a->col[i]), NULL,
                               "the value is not finite");
        }
    }
    return FA_OK;
}

double fai_csr_at(const FaCsr *a, int row, int col) {
    int lo = a->start[row], hi = a->start[row + 1];
    while (lo < hi) {
        int middle = lo + (hi - lo) / 2;
        if (a->col[middle] < col)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < a->start[row + 1] && a->col[lo] == col ? a->val[lo] : 0;
}

// --- products -----------------------------------------------------------------------------------------------------

typedef struct MulJob {
    const FaCsr *a;
    const void *x;
    void *y;
} MulJob;

static void mul_rows(void *ctx, int begin, int end, int chunk) {
    const MulJob *job = ctx;
    const FaCsr *a = job->a;
    const double *x = job->x;
    double *y = job->y;
    (void)chunk;
    for (int r = begin; r < end; r++) {
        double sum = 0;
        for (int i = a->start[r]; i < a->start[r + 1]; i++) sum += a->val[i] * x[a->col[i]];
        y[r] = sum;
    }
}

static void mul3_rows(void *ctx, int begin, int end, int chunk) {
    const MulJob *job = ctx;
    const FaCsr *a = job->a;
    (void)chunk;
    for (int r = begin; r < end; r++) {
        double s0 = 0, s1 = 0, s2 = 0;
        for (int i = a->start[r]; i < a->start[r + 1]; i++) {
            const double *x = (const double *)job->x + 3 * (size_t)a->col[i];
            s0 += a->val[i] * x[0];
            s1 += a->val[i] * x[1];
            s2 += a->val[i] * x[2];
        }
        double *y = (double *)job->y + 3 * (size_t)r;
        y[0] = s0;
        y[1] = s1;
        y[2] = s2;
    }
}

void fai_csr_mul(const FaCsr *a, const double *x, double *y) {
    fai_parallel(a->nrow, ROWS_PER_CHUNK, mul_rows, &(MulJob){a, x, y});
}

void fai_csr_mul3(const FaCsr *a, const double *x, double *y) {
    fai_parallel(a->nrow, ROWS_PER_CHUNK, mul3_rows, &(MulJob){a, x, y});
}
